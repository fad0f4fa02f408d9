"""Draw the marks that several charts share.

The functions need names, titles and the limits of axes, but no rows. A chart attaches a table to
the marks. The docstring of a function lists the fields that the rows need. Most marks that only one
chart uses are in the module of that chart.
"""

from __future__ import annotations

import altair as alt

from polars_graded._drawing import axis_ends
from polars_graded._drawing.axis_ends import AxisEnds
from polars_graded._drawing.style import UNFLUSHED_LABELS, bound_axis, build_one_row

IDEAL_DASH = [5, 4]
"""Dash pattern of an ideal curve, in pixels."""


# Curves


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


def build_recall_axis(
    title: str, start: float | alt.ExprRef = 0, end: float | alt.ExprRef = 1
) -> alt.X:
    """Return the axis of recall, from 0 to 1 by default.

    A `start` below 0 or an `end` above 1 leaves room for names.
    """
    values = [step / 10 for step in range(11)]
    axis = alt.Axis(values=values, format=".1f", **UNFLUSHED_LABELS)
    return alt.X("recall:Q", title=title, scale=alt.Scale(domain=[start, end]), axis=axis)


def draw_zero(field: str) -> alt.Chart:
    """Draw a line over the whole width at the value 0 of a field."""
    line = build_one_row().transform_calculate(**{field: "0"}).mark_rule()
    y, grey = alt.Y(f"{field}:Q"), alt.value("gray")
    return line.encode(x=alt.value(0), x2=alt.value("width"), y=y, color=grey)


def draw_diagonal(ends: AxisEnds) -> alt.Chart:
    """Draw the line on which x equals y, between the ends that both axes share."""
    low, high = ends
    x, y = (channel(low, type="quantitative") for channel in (alt.XDatum, alt.YDatum))
    line = build_one_row().mark_rule(clip=True)
    line = line.encode(x=x, x2=alt.X2Datum(high), y=y, y2=alt.Y2Datum(high))
    return line.encode(color=alt.value("gray"))


# Means
