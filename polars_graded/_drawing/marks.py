"""The marks of each chart, from the facts that they need: names, ends and titles.

Nothing here looks at rows: which fields they must have is said in each function, so that a chart
draws a table and a page the rows that it has itself, both alike.
"""

from __future__ import annotations

import json
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any

import altair as alt

from polars_graded._drawing import chart_data
from polars_graded._drawing.style import (
    DOUBT,
    INK,
    LINE_SYMBOL,
    PALETTE,
    REST,
    choosing,
    decimals,
    in_order,
    interval,
    means_axis,
    named,
    names_axis,
    once,
    rule,
    unit_scale,
    whole_labels,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_graded._drawing.chart_data import Ends

IDEAL_DASH = [5, 4]
"""How an ideal curve is drawn."""


# Curves


def rank_axis(title: str, last: int) -> alt.X:
    """From rank 1 to the last."""
    # A single rank has a place on an axis that goes on to the second.
    last = max(2, last)
    return alt.X(
        "rank:Q",
        title=title,
        scale=alt.Scale(domain=[1, last], nice=False),
        axis=alt.Axis(format="d", values=chart_data.round_ranks(last)),
    )


def recall_axis(title: str) -> alt.X:
    """From no recall to all."""
    return alt.X("recall:Q", title=title, scale=alt.Scale(domain=[0, 1]), axis=whole_labels())


def curves(
    x: alt.X,
    title: str,
    look: dict[str, Any],
    *,
    unit: bool,
    few: bool,
    band: float = 0,
    ideal: bool = False,
    labels: bool = False,
    ends: Ends | None = None,
    seen: Sequence[alt.Parameter] = (),
) -> list[alt.Chart]:
    """A line for each strategy in its look, and points that say their values.

    What is `seen` stays where other lines fade.
    Rows have `strategy`, the field of `x` and `value`; `ci_low` and `ci_high` where there is a
    band, `ideal` where there is an ideal curve, and `label_at` where names stand beside lines.
    """
    scale = unit_scale(unit) if ends is None else alt.Scale(domain=list(ends), nice=False)
    y = alt.Y("value:Q", title=title, scale=scale)
    field = x.shorthand.removesuffix(":Q")
    colour = {"color": look["color"], "detail": "strategy:N"}
    base = alt.Chart().encode(x=x, y=y, **colour)
    tooltip = ["strategy:N", f"{field}:Q", *decimals("value")]
    points = base.mark_point(filled=True, opacity=1 if few else 0).encode(tooltip=tooltip)
    points = points.encode(**_fading(seen, 1 if few else 0))
    layers = [base.mark_line().encode(**look, **_fading(seen, 1))]
    if band:
        low = alt.Y("ci_low:Q", title=title)
        area = alt.Chart().mark_area(opacity=band, clip=True)
        bands = area.encode(x=x, y=low, y2="ci_high:Q", **colour, **_fading(seen, band))
        layers.insert(0, bands)
    if ideal:
        symbol = {**LINE_SYMBOL, "symbolDash": IDEAL_DASH, "symbolStrokeColor": "gray"}
        line = named(alt.Opacity, alt.Chart(), "ideal", **symbol)
        line = line.mark_line(color="gray", strokeDash=IDEAL_DASH)
        layers.insert(0, line.encode(x=x, y=alt.Y("ideal:Q", title=title), detail="strategy:N"))
    if labels:
        names = alt.Chart().transform_filter("isValid(datum.label_at)")
        names = names.mark_text(align="left", dx=7, fontSize=11, limit=200)
        y = alt.Y("label_at:Q", title=title)
        names = names.encode(x=x, y=y, text="strategy:N", color=look["color"])
        layers.append(names.encode(**_fading(seen, 1)))
    # At the back, for of panels that stand beside another chart, Altair looks for what is chosen in
    # the first layer. What lies above it lets the pointer through.
    return [choosing(points, *seen) if seen else points, *layers]


def _fading(seen: Sequence[alt.Parameter], opacity: float) -> dict[str, Any]:
    """The opacity of what is seen, and a fraction of it for the others."""
    if not seen:
        return {}
    kept: Any = reduce(and_, seen)
    return {"opacity": alt.condition(kept, alt.value(opacity), alt.value(opacity * 0.15))}


def robustness(
    x_title: str, y_title: str, numbers: list[Any], levels: str, *, unit: bool, few: bool
) -> list[alt.Chart]:
    """A line for each number of levels, of rows with `levels`, `swaps` and `mean`."""
    # Not `color`, which is the strategies' where charts stand side by side.
    lines = alt.Chart().mark_line(point={"fill": "white"} if few else False)
    lines = lines.encode(
        x=alt.X("swaps:Q", title=x_title),
        y=alt.Y("mean:Q", title=y_title, scale=unit_scale(unit)),
        stroke=alt.Stroke("levels:O", title=levels, scale=alt.Scale(domain=numbers)),
        tooltip=["levels:O", "swaps:Q", *decimals("mean")],
    )
    return [lines]


# Queries


def named_bars(
    title: Any, names: list[str] | alt.ExprRef, y_title: str, colour: alt.Color, axis: alt.Axis
) -> list[alt.Chart]:
    """A bar for each query over its name.

    Rows have `query`, `queries`, `difference` and `better`, or what gives the colour.
    """
    x = alt.X("query:N", title=title, axis=axis, **in_order(names))
    return [_bars(y_title, colour).encode(x=x), rule(y=0)]


def placed_bars(
    title: Any, end: float | alt.ExprRef, y_title: str, colour: alt.Color
) -> list[alt.Chart]:
    """A bar from its first query to its last, up to the `end`.

    Rows have `position` and `last` beside what `named_bars` needs.
    """
    x = alt.X(
        "start:Q",
        title=title,
        scale=alt.Scale(domain=[0.5, end], nice=False),
        axis=alt.Axis(format="d", tickCount=6, titleLimit=400),
    )
    # A thin stroke closes the seams between bars that do not end at a pixel.
    same: Any = colour.to_dict()
    bars = _bars(y_title, colour).mark_bar(strokeWidth=0.5)
    bars = bars.transform_calculate(start="datum.position - 0.5", end="datum.last + 0.5")
    bars = bars.encode(x=x, x2="end:Q", y2=alt.Y2Datum(0), stroke=alt.Stroke(**same))
    return [bars, rule(y=0)]


def extremes(title: Any, y_title: str, *, falling: bool) -> list[alt.Chart]:
    """The names of the queries that differ most, beyond the ends of their bars.

    Rows have `name`, `name_at` and `difference`; by falling difference names stand at the edges.
    """
    base = alt.Chart().encode(
        x=alt.X("name_at:Q", title=title),
        # Beyond the longest bars there is room for names.
        y=alt.Y("difference:Q", title=y_title, scale=alt.Scale(padding=14, zero=True)),
        text="name:N",
    )
    named = "isValid(datum.name) && datum.difference"
    sides: Any = [(">", "left", "bottom", -3), ("<", "right", "top", 3)]
    return [
        base.transform_filter(f"{named} {side} 0").mark_text(
            align=align if falling else "center", baseline=baseline, dy=dy, fontSize=10, color=INK
        )
        for side, align, baseline, dy in sides
    ]


def _bars(y_title: str, colour: alt.Color) -> alt.Chart:
    y = alt.Y("difference:Q", title=y_title, axis=alt.Axis(titleLimit=300), stack=None)
    tooltip = ["query:N", "queries:Q", *decimals("difference"), "better:N"]
    bars: alt.Chart = alt.Chart().mark_bar().encode(y=y, color=colour, tooltip=tooltip)
    return bars


def points(
    titles: tuple[str, str],
    ends: tuple[Ends, Ends],
    colour: dict[str, Any],
    keys: Sequence[str],
    most_queries: int | None,
) -> alt.Chart:
    """A point for each row with `x` and `y`.

    Where a point stands for `queries`, at most so many, it is the larger for it.
    """
    scales = [alt.Scale(domain=list(each), nice=False) for each in ends]
    tooltip = [*(f"{name}:N" for name in keys), *decimals("x", "y")]
    points: alt.Chart = (
        alt.Chart()
        .mark_point(filled=True, opacity=0.6)
        .encode(
            x=alt.X("x:Q", title=titles[0], scale=scales[0], axis=whole_labels()),
            y=alt.Y("y:Q", title=titles[1], scale=scales[1]),
            tooltip=tooltip,
            **colour,
        )
    )
    if most_queries is not None:
        points = points.encode(
            size=alt.Size(
                "queries:Q",
                title="queries",
                scale=alt.Scale(domain=[0, most_queries], range=[8, 360]),
                legend=alt.Legend(values=chart_data.round_counts(most_queries)),
            ),
            tooltip=[*tooltip, "queries:Q"],
        )
    return points


def diagonal(ends: Ends) -> alt.Chart:
    """The line on which both axes, which have these ends, are the same."""
    low, high = ends
    scale = alt.Scale(domain=[low, high], nice=False)
    line: alt.Chart = (
        once()
        .mark_rule(color="gray")
        .encode(
            x=alt.XDatum(low, scale=scale, type="quantitative"),
            x2=alt.X2Datum(high),
            y=alt.YDatum(low, scale=scale, type="quantitative"),
            y2=alt.Y2Datum(high),
        )
    )
    return line


def counts(title: str, colour: dict[str, Any]) -> list[alt.Chart]:
    """The bars of a histogram, of rows with `low`, `high` and `queries`."""
    tooltip = ["strategy:N"] if colour else []
    tooltip += decimals("low", "high")
    bars = (
        alt.Chart()
        .mark_bar()
        .encode(
            x=alt.X("low:Q", title=title, bin="binned"),
            x2="high:Q",
            y=alt.Y("queries:Q", title="queries", axis=alt.Axis(format="d", tickMinStep=1)),
            tooltip=[*tooltip, "queries:Q"],
            **colour,
        )
    )
    return [bars, rule(x=0)]


# Distributions and φ


def boxes(
    titles: tuple[str, str],
    groups: list[str],
    ends: Ends,
    step: int,
    reference: str | None,
) -> list[alt.Chart]:
    """A lying box for each group, of rows with the columns of a box or an `outlier`."""
    y = alt.Y("group:N", title=titles[0], axis=alt.Axis(labelLimit=300), **in_order(groups))
    # Each layer says so, for else the bars among them would have 0 on the axis.
    scale = alt.Scale(domain=list(ends), nice=False, zero=False)
    low, q1, q3, median, outlier, line_at = (
        alt.X(f"{name}:Q", title=titles[1], scale=scale, axis=whole_labels())
        for name in ("whisker_low", "q1", "q3", "median", "outlier", "reference")
    )
    base = alt.Chart().encode(y=y)
    tooltip = ["group:N", "samples:Q", *decimals(*chart_data.BOX)]
    box = base.transform_filter("datum.median !== null").encode(tooltip=tooltip)
    # Bars have the colour of the theme, which rules have not.
    layers = [
        box.mark_bar(size=1.5).encode(x=low, x2="q1:Q"),
        box.mark_bar(size=1.5).encode(x=q3, x2="whisker_high:Q"),
        box.mark_bar(size=step * 0.6, fillOpacity=0.3).encode(x=q1, x2="q3:Q"),
        box.mark_tick(orient="vertical", size=step * 0.6, thickness=4, color=INK).encode(x=median),
        base.transform_filter("datum.outlier !== null")
        .mark_point(size=15)
        .encode(x=outlier, tooltip=["group:N", *decimals("outlier")]),
    ]
    if reference is not None:
        # Not `opacity`, which is the ideal curve's where charts stand side by side.
        symbol = {"symbolType": "square", "symbolFillColor": "firebrick"}
        lines = named(alt.FillOpacity, box, reference, **symbol)
        lines = lines.mark_tick(orient="vertical", size=step * 0.9, thickness=2, color="firebrick")
        layers.append(lines.encode(x=line_at))
    return layers


PHI_PARTS = {"φ": PALETTE[0], "score": REST, "control point": INK}
"""What the chart of φ has, and its colours."""


def phi(title: str | list[str], scale: alt.Scale, axis: alt.Axis) -> list[alt.Chart]:
    """φ as a line, scores as ticks and control points, of rows with `part` and where it is.

    What a control point is called stands beside it, as `name`.
    """
    base = alt.Chart().encode(
        x=alt.X("score:Q", title=title, scale=scale, axis=axis),
        y=alt.Y("relevance:Q", title="relevance φ", scale=alt.Scale(domain=[0, 1])),
        tooltip=["part:N", "score:Q", *decimals("relevance")],
    )
    # Literal colours, so that no chart beside this one has a say in them.
    line, cloud, controls = (
        base.transform_filter(f"datum.part === '{name}'") for name in PHI_PARTS
    )
    return [
        cloud.mark_tick(orient="vertical", size=10, color=PHI_PARTS["score"]),
        line.mark_line(color=PHI_PARTS["φ"]),
        controls.mark_point(filled=True, size=80, opacity=1, color=PHI_PARTS["control point"]),
        # The lowest needs no name, which would run into that of the median.
        controls.transform_filter("datum.name !== 'lowest'")
        .mark_text(align="right", dx=-8, dy=-8, color=PHI_PARTS["control point"])
        .encode(text="name:N"),
    ]


# Means


def profile(
    title: str, under: dict[float, str], step: int, look: dict[str, Any], *, unit: bool
) -> list[alt.Chart]:
    """Points over what stands `under` the axis at which place, a line through thresholds.

    Rows have `place`, `mean` and what is `joined`.
    """
    places = list(under)
    gap = (places[-1] - places[0]) / max(1, len(places) - 1) or 1
    said = " : ".join(f"datum.value === {at!r} ? {json.dumps(name)}" for at, name in under.items())
    x = alt.X(
        "place:Q",
        title=title,
        scale=alt.Scale(domain=[places[0] - gap / 2, places[-1] + gap / 2], nice=False),
        axis=names_axis(
            under.values(),
            step,
            values=places,
            labelExpr=f"{said} : ''",
            grid=False,
            labelOverlap="greedy",
        ),
    )
    y, y_joined = (
        alt.Y(f"{name}:Q", title="mean", scale=unit_scale(unit)) for name in ("mean", "joined")
    )
    base = alt.Chart().encode(x=x, detail="strategy:N", **look)
    tooltip = ["strategy:N", "measure:N", *decimals("mean")]
    return [
        base.mark_line().encode(y=y_joined),
        base.mark_point(filled=True, size=40, opacity=1).encode(y=y, tooltip=tooltip),
    ]


def means(
    title: str, names: list[str], colour: dict[str, Any], *, intervals: bool, bars: bool = False
) -> list[alt.Chart]:
    """A point or a bar for each strategy, its interval, and its mean in print at the right.

    Rows have `strategy`, `measure`, `mean` and where there are intervals their ends.
    """
    y = alt.Y("strategy:N", title=None, axis=alt.Axis(labelLimit=300), **in_order(names))
    ends = ["ci_low", "ci_high"] if intervals else []
    tooltip = ["measure:N", "strategy:N", *decimals("mean", *ends)]
    base = alt.Chart().encode(y=y, tooltip=tooltip, **colour)
    scale = alt.Scale(zero=bars)
    x = alt.X("mean:Q", title=title, scale=scale, axis=means_axis(), stack=None)
    printed = (
        alt.Chart()
        .mark_text(align="left", dx=6)
        .encode(x=alt.value("width"), y=y, text=alt.Text("mean:Q", format=".4f"))
    )
    lines = [interval(base, title, scale=scale)] if intervals else []
    if bars:
        return [base.mark_bar(fillOpacity=0.5).encode(x=x), *lines, printed]
    return [*lines, base.mark_point(filled=True, size=70, opacity=1).encode(x=x), printed]


def matrix(
    titles: tuple[str, str], names: list[str], furthest: float, step: int
) -> list[alt.Chart]:
    """A field for each ordered pair, in the colour of its difference, marked where it is believed.

    Rows have `strategy`, `baseline`, `difference`, `mark` and what is in a tooltip.
    """
    order = in_order(names)
    labels = alt.Axis(labelLimit=200)
    upright = alt.Axis(labelLimit=200, labelAngle=-90, orient="top")
    numbers = decimals("difference", "p_corrected")
    base = alt.Chart().encode(
        x=alt.X("baseline:N", title=titles[1], axis=upright, **order),
        y=alt.Y("strategy:N", title=titles[0], axis=labels, **order),
        tooltip=["measure:N", "strategy:N", "baseline:N", *numbers],
    )
    # Orange to blue are told apart by every eye; not `color`, which is the strategies'.
    # Two ends alone, of which charts side by side make ends for both.
    scale = alt.Scale(domain=[-furthest, furthest], scheme="blueorange", reverse=True)
    fill = alt.Fill("difference:Q", title="difference", scale=scale)
    on_dark = f"abs(datum.difference) > {0.6 * furthest}"
    marked = base.mark_text(fontSize=max(12, step * 0.7)).encode(
        text="mark:N", color=alt.condition(on_dark, alt.value("white"), alt.value(INK))
    )
    return [base.mark_rect().encode(fill=fill), marked]


def forest(
    title: str | list[str],
    pairs: list[str] | alt.ExprRef,
    axis: alt.Axis,
    believed: str,
    size: int,
    *,
    simultaneous: bool = False,
) -> list[alt.Chart]:
    """A point and an interval for each pair, grey and hollow unless its `significance` is believed.

    Where there is a `simultaneous` interval, it is drawn thin, and the plain one thick.
    Rows have `pair`, `difference`, `ci_low`, `ci_high`, `significance` and what is in a tooltip.
    """
    y = alt.Y("pair:N", title=None, axis=axis, **in_order(pairs))
    x = alt.X("difference:Q", title=title, axis=alt.Axis(titleLimit=300, tickCount=6))
    numbers = decimals("difference", "ci_low", "ci_high", "p_corrected")
    tooltip = ["measure:N", "strategy:N", "baseline:N", *numbers]
    base = alt.Chart().encode(y=y, tooltip=tooltip)
    is_believed = alt.FieldEqualPredicate(field="significance", equal=believed)
    colour, inside = (
        alt.condition(is_believed, alt.value(INK), alt.value(other))
        for other in (DOUBT, "transparent")
    )
    point = base.mark_point(size=size, strokeWidth=2, opacity=1)
    layers = [rule(x=0), interval(base, title, size=5 if simultaneous else 2).encode(fill=colour)]
    if simultaneous:
        thin = interval(base, title, "simultaneous_low", "simultaneous_high", size=1)
        layers.insert(1, thin.encode(fill=colour))
    return [*layers, point.encode(x=x, fill=inside, stroke=colour)]


def significance_key(believed: str, doubted: str) -> str:
    """What says in a line how `forest` draws what."""
    return f"● {believed}   ○ {doubted}"
