"""Draw the marks that several charts share.

The functions need names, titles and the limits of axes, but no rows. A chart attaches a table to
the marks. The docstring of a function lists the fields that the rows need. Most marks that only one
chart uses are in the module of that chart.
"""

from __future__ import annotations

from typing import Any

import altair as alt

from polars_graded._drawing import axis_ends
from polars_graded._drawing.axis_ends import AxisEnds
from polars_graded._drawing.style import UNFLUSHED_LABELS, bound_axis, build_one_row


def build_place_axis(field: str, title: str, last: float) -> alt.X:
    """Return an axis of whole numbers from 1 to `last`, such as ranks."""
    # An axis needs two different ends, so an axis of a single rank extends to 2.
    last = max(2, int(last))
    ticks = axis_ends.choose_rank_ticks(last)
    return alt.X(field, title=title, **bound_axis((1, last), format=",d", values=ticks))


def build_recall_axis(title: str) -> alt.X:
    """Return the axis of recall, from 0 to 1."""
    values = [step / 10 for step in range(11)]
    axis = alt.Axis(values=values, format=".1f", **UNFLUSHED_LABELS)
    return alt.X("recall:Q", title=title, scale=alt.Scale(domain=[0, 1]), axis=axis)


def draw_level(field: str, value: float = 0, colour: str = "gray", **look: Any) -> alt.Chart:
    """Draw a line over the whole width at a value of a field."""
    line = build_one_row().transform_calculate(**{field: repr(value)}).mark_rule(**look)
    y, color = alt.Y(f"{field}:Q"), alt.ColorValue(colour)
    return line.encode(x=alt.XValue(0), x2=alt.X2Value("width"), y=y, color=color)


def draw_diagonal(ends: AxisEnds) -> alt.Chart:
    """Draw the line on which x equals y, between the ends that both axes share."""
    low, high = ends
    x, y = (channel(low, type="quantitative") for channel in (alt.XDatum, alt.YDatum))
    line = build_one_row().mark_rule(clip=True)
    line = line.encode(x=x, x2=alt.X2Datum(high), y=y, y2=alt.Y2Datum(high))
    return line.encode(color=alt.ColorValue("gray"))
