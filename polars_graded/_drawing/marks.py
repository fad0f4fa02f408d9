"""Draw the marks that several charts share.

The functions need names, titles and the limits of axes, but no rows. A chart attaches a table to
the marks. The docstring of a function lists the fields that the rows need. Most marks that only one
chart uses are in the module of that chart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import and_
from typing import Any

import altair as alt

from polars_graded._drawing import axis_ends, pair_rows
from polars_graded._drawing.axis_ends import AxisEnds
from polars_graded._drawing.style import (
    DOUBT,
    INTERVAL_PADDING,
    UNFLUSHED_LABELS,
    add_p,
    bound_axis,
    build_one_row,
    draw_interval,
    draw_rule,
    find_ink,
    find_ink_and_paper,
    format_decimals,
    list_tooltips,
    write_short_label,
)

IDEAL_DASH = [5, 4]
"""Dash pattern of an ideal curve, in pixels."""


# Curves


NAME_OFFSET = 14
"""Pixels between the end of a line and its name."""


def build_place_axis(field: str, title: str, last: float, end: alt.ExprRef | None = None) -> alt.X:
    """Return an axis of whole numbers from 1, such as ranks.

    The axis ends at `last`, unless `end` is given. An `end` beyond `last` leaves room for names.
    """
    # An axis needs two different ends, so an axis of a single rank extends to 2.
    last = max(2, int(last))
    ends = (1, last if end is None else end)
    return alt.X(
        field,
        title=title,
        **bound_axis(ends, format=",d", values=axis_ends.choose_rank_ticks(last)),
    )


BAND_OPACITY = 0.2
"""Opacity of a band around a line."""


def build_recall_axis(
    title: str, start: float | alt.ExprRef = 0, end: float | alt.ExprRef = 1
) -> alt.X:
    """Return the axis of recall, from 0 to 1 by default.

    A `start` below 0 or an `end` above 1 leaves room for names.
    """
    values = [step / 10 for step in range(11)]
    axis = alt.Axis(values=values, format=".1f", **UNFLUSHED_LABELS)
    return alt.X("recall:Q", title=title, scale=alt.Scale(domain=[start, end]), axis=axis)


def draw_line_names(
    x: alt.X | Any,
    title: Any,
    name: str,
    colour: Any,
    *,
    end: str = "value",
    side: int | alt.ExprRef = 1,
    limit: int = 250,
    names: Iterable[str] | None = None,
) -> list[alt.Chart]:
    """Draw the names of lines at `label_at`, with thin rules to their lines.

    `end` names the field with the height of the line's end, and the field `label_at` contains the
    height of the name. The names are to the left of the lines if the `side` is -1, and to the right
    if it is 1.
    """
    align: Any = {-1: "right", 1: "left"}.get(side) if isinstance(side, int) else None
    if isinstance(side, alt.ExprRef):
        align = alt.ExprRef(f"{side.expr} < 0 ? 'right' : 'left'")
    labelled = alt.Chart().transform_filter("isValid(datum.label_at)")
    labelled = labelled.transform_calculate(shown=write_short_label(f"datum.{name}", names))
    is_constant = not isinstance(x, alt.X)
    x2: Any = x if is_constant else alt.X2(x.shorthand.partition(":")[0])
    leader = labelled.mark_rule(
        xOffset=_multiply(3, side), x2Offset=_multiply(NAME_OFFSET - 2, side), strokeWidth=0.8
    )
    leader = leader.encode(
        x=x, x2=x2, y=alt.Y(f"{end}:Q", title=title), y2=alt.Y2("label_at:Q"), color=colour
    )
    texts: alt.Chart = labelled.mark_text(
        align=align, dx=_multiply(NAME_OFFSET, side), fontSize=11, limit=limit
    )
    y = alt.Y("label_at:Q", title=title)
    return [leader, texts.encode(x=x, y=y, text=alt.Text("shown:N"), color=colour)]


def _multiply(length: int, side: int | alt.ExprRef) -> Any:
    """Return `length * side`; the side is -1 or 1, or a signal with this value."""
    return length * side if isinstance(side, int) else alt.ExprRef(f"{length} * {side.expr}")


def fade_others(selections: Sequence[alt.Parameter], opacity: float) -> dict[str, Any]:
    """Return the encoding that fades unselected lines.

    The encoding is {} if there are no selections.
    """
    if not selections:
        return {}
    is_selected: Any = reduce(and_, selections)
    return {"opacity": alt.condition(is_selected, alt.value(opacity), alt.value(opacity * 0.15))}


def draw_zero(field: str) -> alt.Chart:
    """Draw a line over the whole width at the value 0 of a field."""
    line = build_one_row().transform_calculate(**{field: "0"}).mark_rule()
    y, grey = alt.Y(f"{field}:Q"), alt.value("gray")
    return line.encode(x=alt.value(0), x2=alt.value("width"), y=y, color=grey)


# Queries

BAR_ENDS = {"start": "datum.position - 0.5", "end": "datum.last + 0.5"}
"""Expressions of the left and right edge of a bar, which shows one query or more."""


def draw_diagonal(ends: AxisEnds, *, nice: bool = False) -> alt.Chart:
    """Draw the line on which x equals y, between the ends that both axes share."""
    low, high = ends
    options: dict[str, Any] = {"scale": alt.Scale(domain=[low, high], nice=nice)}
    x, y = (channel(low, type="quantitative", **options) for channel in (alt.XDatum, alt.YDatum))
    line = build_one_row().mark_rule(color="gray")
    return line.encode(x=x, x2=alt.X2Datum(high), y=y, y2=alt.Y2Datum(high))


# Means


def draw_forest(
    title: str,
    pairs: list[str] | alt.ExprRef,
    axis: alt.Axis,
    significant: str,
    size: int,
    ends: tuple[str, str] = pair_rows.AGREEING_ENDS,
    rope: float = 0,
    sides: tuple[str, str] | None = None,
    p_title: str = "corrected p",
) -> list[alt.Chart]:
    """Draw a point and an interval for each pair.

    If a difference is not significant, its interval is grey, and its point is grey and hollow. If
    `rope` is above 0, a band shows the region of practical equivalence, from -`rope` to `rope`.
    `sides` are the words above the plot to the left and to the right of 0.

    Rows have `pair`, `measure`, `strategy`, `baseline`, `difference`, `p_corrected` and
    `significance`. They also have the two fields that `ends` names, the ends of the interval.
    """
    y = alt.Y("pair:N", title=None, axis=axis, sort=None, scale=alt.Scale(domain=pairs))
    scale = alt.Scale(padding=INTERVAL_PADDING)
    x_axis = alt.Axis(titleLimit=300, tickCount=6, **UNFLUSHED_LABELS)
    x = alt.X("difference:Q", title=title, axis=x_axis, scale=scale)
    base, p = add_p(alt.Chart(), p_title)
    tooltip = list_tooltips(
        "measure:N", "strategy:N", "baseline:N", *format_decimals("difference", *ends), p
    )
    base = base.encode(y=y, tooltip=tooltip)
    is_significant = alt.FieldEqualPredicate(field="significance", equal=significant)
    # A hollow point is filled with the background colour, so that its interval does not show in it.
    ink, paper = find_ink_and_paper()
    colour, fill_colour = (
        alt.condition(is_significant, alt.value(ink), alt.value(other)) for other in (DOUBT, paper)
    )
    # A thin outline keeps a small point hollow.
    point = base.mark_point(size=size, strokeWidth=2 if size > MAX_SMALL_DOT else 1, opacity=1)
    line = draw_interval(base, title, ends, scale=scale).encode(fill=colour)
    layers = [draw_rule(x=0), line, point.encode(x=x, fill=fill_colour, stroke=colour)]
    if rope:
        region = build_one_row().mark_rect(color=DOUBT, opacity=0.2)
        layers.insert(0, region.encode(alt.XDatum(-rope), alt.X2Datum(rope)))
    return layers + ([] if sides is None else _draw_side_labels(*sides, y))


MAX_SMALL_DOT = 30
"""Maximum area of a point with a thin outline, in square pixels."""


def _draw_side_labels(left: str, right: str, y: alt.Y) -> list[alt.Chart]:
    """Draw words above the plot to the left and to the right of 0."""
    first_pair: Any = y["scale"]["domain"][0]
    top_edge = alt.YDatum(first_pair, type="nominal", bandPosition=0)
    sides: Any = ("right", -5, f"← {left}"), ("left", 5, f"{right} →")
    return [
        build_one_row()
        .mark_text(align=align, dx=dx, dy=-9, fontSize=11, color=find_ink())
        .encode(x=alt.XDatum(0), y=top_edge, text=alt.value(text))
        for align, dx, text in sides
    ]


def write_significance_key(significant: str, insignificant: str) -> str:
    """Write a line that explains the marks of `draw_forest`."""
    return f"● {significant}, ○ {insignificant}"
