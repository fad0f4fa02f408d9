"""The marks of charts of trust: what measures tell apart, how sure an order is, what is judged.

As in `marks`, nothing here looks at rows. Lines of measures have their names beside their ends,
and no legend: so their colours stay their own where charts stand side by side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from polars_graded._drawing import chart_data
from polars_graded._drawing.style import (
    DOUBT,
    INK,
    decimals,
    in_order,
    interval,
    means_axis,
    once,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_graded._drawing.chart_data import Ends


def level(value: float) -> alt.Chart:
    """A dashed line at a level that is looked at."""
    dashed: alt.Chart = once().mark_rule(color=DOUBT, strokeDash=[4, 3])
    return dashed.encode(alt.YDatum(value))


def measure_lines(
    x: alt.X, y: alt.Y, title: str, colour: alt.Color, tooltip: Sequence[Any], *, few: bool
) -> list[alt.Chart]:
    """A line for each measure, with points that say their values, and its name at its end.

    Rows have `measure`, the fields of `x` and `y`, and of the last point `label` and `label_at`.
    """
    base = alt.Chart().encode(x=x, y=y, color=colour, detail="measure:N")
    names = alt.Chart().transform_filter("isValid(datum.label_at)")
    names = names.mark_text(align="left", dx=7, fontSize=11, limit=250)
    return [
        base.mark_line(),
        base.mark_point(filled=True, size=25, opacity=1 if few else 0).encode(tooltip=tooltip),
        names.encode(
            x=x,
            y=alt.Y("label_at:Q", title=title),
            text="label:N",
            color=colour,
        ),
    ]


def band(x: alt.X, title: str, colour: alt.Color) -> alt.Chart:
    """Where a share of samples lies, of rows with `tau_low` and `tau_high`."""
    area: alt.Chart = (
        alt.Chart()
        .mark_area(opacity=0.2)
        .encode(
            x=x,
            y=alt.Y("tau_low:Q", title=title),
            y2="tau_high:Q",
            color=colour,
            detail="measure:N",
        )
    )
    return area


def at_hand(x: alt.X, y: alt.Y, colour: alt.Color, tooltip: Sequence[Any]) -> alt.Chart:
    """A large point where the queries at hand are, of rows that say so in `at_hand`."""
    points: alt.Chart = (
        alt.Chart()
        .transform_filter("datum.at_hand")
        .mark_point(filled=True, size=90, opacity=1)
        .encode(x=x, y=y, color=colour, tooltip=tooltip)
    )
    return points


def swap_lines(
    x_title: str, sizes: list[int], shades: list[str], rate: float, most: float
) -> list[alt.Chart]:
    """A line for each number of queries, the more the darker, its number where it falls low.

    Rows have `queries`, `difference`, `swap_rate`, and where the number stands `label_x` and
    `label_y`.
    """
    shade = alt.Stroke(
        "queries:O", title="queries", scale=alt.Scale(domain=sizes, range=shades), legend=None
    )
    x = alt.X("difference:Q", title=x_title)
    step = chart_data.round_step(most / 5)
    ticks = sorted({rate, *(round(step * place, 9) for place in range(11))})
    y = alt.Y(
        "swap_rate:Q",
        title="swap rate",
        scale=alt.Scale(domain=[0, most]),
        axis=alt.Axis(format="~%", values=ticks),
    )
    base = alt.Chart().encode(x=x, y=y, detail="queries:O")
    tooltip = [
        *("measure:N", "queries:O", "difference_from:Q", "difference_to:Q"),
        *("comparisons:Q", "swaps:Q", *decimals("swap_rate")),
    ]
    labels = alt.Chart().transform_filter("isValid(datum.label_x)")
    labels = labels.encode(
        x=alt.X("label_x:Q", title=x_title),
        y=alt.Y("label_y:Q", title="swap rate"),
        text="queries:O",
    )
    at: dict[str, Any] = {"align": "left", "baseline": "bottom", "dx": 2, "dy": -1}
    return [
        base.mark_line().encode(stroke=shade),
        base.mark_point(filled=True, opacity=0).encode(tooltip=tooltip),
        # White behind a number sets it off from the lines.
        labels.mark_text(**at, stroke="white", strokeWidth=4, color="white"),
        labels.mark_text(**at, color=INK),
    ]


def grading_lines(
    names: list[str],
    title: str,
    height: str,
    ends: Ends | None,
    look: dict[str, Any],
    *,
    upright: bool,
    labels: bool,
) -> list[alt.Chart]:
    """A line for each strategy over the gradings, and above how alike their orders are.

    Rows have `strategy`, `grading`, the field of the `height`, once for each grading `correlation`,
    and where names stand beside lines `label_at`.
    """
    axis = alt.Axis(labelAngle=0 if upright else -40, labelLimit=200)
    x = alt.X("grading:N", title="grading, τ to the order as given", axis=axis, **in_order(names))
    places = [] if ends is None else chart_data.round_ranks(int(ends[1]))
    domain: dict[str, Any] = {} if ends is None else {"domain": list(ends)}
    # Above the lines there is room for what stands there.
    scale = alt.Scale(nice=False, zero=False, padding=20, reverse=height == "place", **domain)
    ticks = alt.Axis(format="d", values=places) if height == "place" else alt.Axis()
    y = alt.Y(f"{height}:Q", title=title, scale=scale, axis=ticks)
    base = alt.Chart().encode(x=x, y=y, detail="strategy:N", **look)
    tooltip = [
        *("measure:N", "grading:N", "strategy:N", *decimals("mean"), "place:Q"),
        *(*decimals("tau", "tau_ap"), "lost:Q", "gained:Q", "reversed:Q"),
    ]
    points = base.mark_point(filled=True, size=40, opacity=1)
    above = alt.Chart().transform_filter("isValid(datum.correlation)")
    above = above.mark_text(baseline="top", fontSize=10, color=INK)
    layers = [
        base.mark_line(),
        points.encode(tooltip=tooltip),
        above.encode(x=x, y=alt.value(3), text="correlation:N"),
    ]
    if labels:
        beside = alt.Chart().transform_filter("isValid(datum.label_at)")
        beside = beside.mark_text(align="left", dx=8, fontSize=11, limit=200)
        y = alt.Y("label_at:Q", title=title)
        layers.append(beside.encode(x=x, y=y, text="strategy:N", color=look["color"]))
    return layers


def whiskers(
    title: str | list[str], names: list[str], colour: dict[str, Any], *, beyond: bool
) -> list[alt.Chart]:
    """A point at the mean of each strategy, and a line from its lowest to its highest value.

    Rows have `strategy`, `measure`, `mean`, `low`, `high`, and up to where a thin line goes on
    `beyond`, which may be null.
    """
    y = alt.Y("strategy:N", title=None, axis=alt.Axis(labelLimit=300), **in_order(names))
    tooltip = ["measure:N", "strategy:N", *decimals("mean", "low", "high"), "queries:Q"]
    base = alt.Chart().encode(y=y, tooltip=tooltip, **colour)
    scale = alt.Scale(zero=False)
    x = alt.X("mean:Q", title=title, scale=scale, axis=means_axis())
    layers = [
        interval(base, title, "low", "high", size=3, scale=scale),
        base.mark_point(filled=True, size=70, opacity=1).encode(x=x),
    ]
    if not beyond:
        return layers
    # An axis needs two ends, in a panel where nothing lies beyond too.
    there = base.transform_calculate(end="isValid(datum.beyond) ? datum.beyond : datum.high")
    return [interval(there, title, "low", "end", size=1, scale=scale), *layers]


def cells(names: list[str], headings: dict[int, list[str]], width: int) -> list[alt.Chart]:
    """A table whose cells are bars and text, a line for each strategy under the headings.

    Rows have `strategy`, and of a cell `start`, `end`, `fill` (a colour, of what is filled up to
    `end`) and `text`. The headings are over the places, in pixels, where their cells begin.
    """
    y = alt.Y(
        "strategy:N",
        title=None,
        axis=alt.Axis(labelLimit=300, ticks=False, domain=False),
        **in_order(names, paddingInner=0.15),
    )
    quoted = {at: str(lines) for at, lines in headings.items()}
    label = " : ".join(f"datum.value === {at} ? {lines}" for at, lines in quoted.items())
    axis = alt.Axis(
        orient="top",
        values=list(headings),
        labelExpr=f"{label} : ''",
        labelAlign="left",
        # A label of several lines begins at its first, which is to stand above the others.
        labelLineHeight=12,
        labelPadding=28,
        labelOverlap=False,
        grid=False,
        ticks=False,
        domain=False,
    )
    x = alt.X("start:Q", title=None, scale=alt.Scale(domain=[0, width], nice=False), axis=axis)
    tooltip = ["strategy:N", "what:N", "text:N"]
    base = alt.Chart().encode(y=y, tooltip=tooltip)
    return [
        base.mark_bar().encode(
            x=x, x2="end:Q", fill=alt.Fill("fill:N", title="fill", scale=None, legend=None)
        ),
        base.transform_filter("isValid(datum.text)")
        .mark_text(align="left", dx=3, fontSize=10, color=INK)
        .encode(x=x, text="text:N"),
    ]
