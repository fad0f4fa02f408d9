"""Draw names at the ends of lines, and note lines that coincide."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from polars_graded._drawing import marks, style
from polars_graded._drawing.axis_ends import AxisEnds
from polars_graded._sentences import shorten_names

NAME_HEIGHT = 12
"""Minimum distance between the names of two lines, in pixels."""

NAME_OFFSET = 17
"""Distance from the end of a line to its name, in pixels."""

LETTER_WIDTH = 6
"""Mean width of a letter of a name, in pixels."""

MAX_NAME_WIDTH = 300
"""Maximum width of a name, in pixels. Vega truncates longer names."""


def draw_names(
    x: str, y: str, ends: AxisEnds, selections: Sequence[alt.Parameter] = ()
) -> list[alt.Chart]:
    """Draw the texts in the column `label`, to the right of their points.

    Vega moves the names apart for the height that is drawn. A name moves by the mean of two moves.
    The first moves names down, starting with the highest name. The second moves names up, starting
    with the lowest. Neighbours are at least `NAME_HEIGHT` pixels apart after each of the two moves,
    and thus after their mean. A name is a text in the colour of the axes, which is legible where
    the colour of the line is not; a rule in the colour of the line joins both.
    """
    neighbours = range(1, style.MAX_COLOURS)
    fields: Any = [
        alt.WindowFieldDef(op=op, field=y, param=k, **{"as": f"{op}_{k}"})
        for op in ("lag", "lead")
        for k in neighbours
    ]
    order: Any = [alt.SortField(y, "descending"), alt.SortField("label", "ascending")]
    base = alt.Chart().transform_filter("isValid(datum.label)")
    # Without `groupby`, Vega-Lite cannot draw the transform in panels.
    base = base.transform_window(fields, sort=order, groupby=[])
    # A mark reads the height of its own group, because the signal `height` has other names in
    # panels and concatenated charts. `domain('y')` knows an axis that the caller changed.
    span = f"abs((domain('y')[1] - domain('y')[0]) || {ends[1] - ends[0]!r})"
    pixels = f"(item.mark.group.height / {span})"
    # The k-th name above pushes this name down, and the k-th name below pushes it up.
    down, up = (
        [
            f"(isValid(datum.{op}_{k}) ? {sign * k * NAME_HEIGHT} + "
            f"{pixels} * (datum['{y}'] - datum.{op}_{k}) : 0)"
            for k in neighbours
        ]
        for op, sign in (("lag", 1), ("lead", -1))
    )
    move = alt.ExprRef(f"(max(0, {', '.join(down)}) + min(0, {', '.join(up)})) / 2")
    base = base.encode(x=alt.X(f"{x}:Q"), y=alt.Y(f"{y}:Q"))
    leader = base.mark_rule(
        xOffset=3, x2Offset=NAME_OFFSET - 3, y2Offset=move, strokeWidth=1.5, clip=False
    ).encode(x2=x, y2=y)
    text = base.mark_text(align="left", dx=NAME_OFFSET, dy=move, limit=MAX_NAME_WIDTH, clip=False)
    text = text.encode(text="label:N", color=alt.value(style.find_ink()))
    return [each.encode(**marks.fade_others(selections, 1)) for each in (leader, text)]


def estimate_width(names: pl.Series) -> int:
    """Return the width of the longest name with its rule, in pixels."""
    longest: Any = names.str.len_chars().max()
    return NAME_OFFSET + min(MAX_NAME_WIDTH, LETTER_WIDTH * (longest or 0))


def reserve_width(chart: style.LayerChart, width: int) -> style.LayerChart:
    """Return the chart with an empty axis to the right, as wide as the names.

    Vega places legends and titles beside axes, but over marks that extend beyond the frame. The
    first layer draws the y axis, and every other layer must have a field of y.
    """
    for layer in chart.layer[1:]:
        layer.encoding.y.axis = None
    look: dict[str, Any] = dict.fromkeys(("labels", "ticks", "domain", "grid"), False)
    axis = alt.Axis(orient="right", title=None, minExtent=width, **look)
    y = chart.layer[0].encoding.y.copy()
    y.axis = axis
    chart.layer = [*chart.layer, alt.Chart().mark_point(opacity=0).encode(y=y)]
    return chart.resolve_axis(y="independent")


MAX_LISTED_LINES = 3
"""Maximum number of coinciding lines that a note names."""

LABEL_SHARE = 0.045
"""Height of a name beside a line, relative to the height of the axis."""


def choose_place(
    table: pl.DataFrame,
    position: str,
    height: str,
    ends: AxisEnds,
    lines: Sequence[str] = ("strategy",),
) -> Any:
    """Return the position on the x axis that is best for the names of lines.

    Names must not overlap, so `spread_heights` moves some names up or down from their lines. The
    best position has the smallest sum of these moves. Among positions with the same sum, the last
    position of the axis is preferred, then the position where the two closest lines are farthest
    apart. Positions at which a line has no point are left out. Return None if no position remains.
    """
    table = table.drop_nulls(height)
    n, penalties = table.select(lines).n_unique(), {}
    for (place,), rows in table.sort(position, descending=True).group_by(
        position, maintain_order=True
    ):
        if rows.select(lines).n_unique() < n:
            continue
        panels = rows.partition_by("panel") if "panel" in lines else [rows]
        heights = [panel[height].sort().to_list() for panel in panels]
        pairs = [zip(spread_heights(each, ends), each, strict=True) for each in heights]
        distance = round(sum(abs(name - line) for pair in pairs for name, line in pair), 9)
        gap = min((b - a for each in heights for a, b in pairwise(each)), default=0)
        penalties[place] = distance, place != table[position].max(), -gap
    return min(penalties, key=penalties.__getitem__, default=None)


def write_coinciding(
    table: pl.DataFrame, position: str, height: str, lines: Sequence[str] = ("strategy",)
) -> list[str]:
    """Write a note for each group of lines that have the same points."""
    points = table.group_by(lines, maintain_order=True).agg(
        path=pl.struct(position, pl.col(height).round(12)).sort_by(position)
    )
    same = points.group_by(*lines[:-1], "path", maintain_order=True).agg(names=pl.col(lines[-1]))
    several = same.filter(pl.col("names").list.len() > 1)
    panels = several["panel"].to_list() if "panel" in lines else [""] * several.height
    notes = []
    for panel, names in zip(panels, several["names"].to_list(), strict=True):
        short = shorten_names(names)
        more = len(short) - MAX_LISTED_LINES
        listed = short if more <= 0 else [*short[:MAX_LISTED_LINES], f"{more} more"]
        where = f"{panel}: " if panel else ""
        notes.append(f"{where}{', '.join(listed[:-1])} and {listed[-1]} coincide")
    return notes


def find_crossing(x: pl.Series, y: pl.Series, height: float) -> tuple[int, float]:
    """Return the index of a point and the x at which a line falls to a height.

    Point i is the last point above `height`. The returned index is i + 1, and x is interpolated
    between the points i and i + 1. If the line ends above `height`, return the index and the x of
    its last point. If no point is above `height`, return 0 and the x of the first point.
    """
    above = (y > height).arg_true()
    if y[-1] > height:
        return y.len() - 1, float(x[-1])
    end = int(above[-1]) + 1 if len(above) else 0
    near = slice(max(0, end - 1), end + 1)
    return end, float(np.interp(-height, -y[near].to_numpy(), x[near].to_numpy()))


def find_best_lines(table: pl.DataFrame, position: str | None, n: int) -> list[str]:
    """Return the n strategies with the highest values at the last position.

    If `position` is None, return the n strategies with the highest means.
    """
    last = table if position is None else table.filter(pl.col(position) == pl.col(position).max())
    heights = last.group_by("strategy").agg(pl.col("value").mean())
    best = heights.sort("value", "strategy", descending=[True, False])
    return best["strategy"].to_list()[:n]


def add_labels(
    table: pl.DataFrame,
    is_last: pl.Expr,
    by: Sequence[str | pl.Expr],
    ends: AxisEnds,
    labelled: Collection[str],
    lines: Sequence[str] = ("strategy",),
) -> pl.DataFrame:
    """Add a column `label_at`, the height of a name beside its line.

    `is_last` marks the row in which a line gets its name. `by[0]` is the height of the line in this
    row. Further entries of `by` order lines with the same height. In all other rows, and for lines
    that are not in `labelled`, `label_at` is null.
    """
    is_last &= pl.col(lines[-1]).is_in([*labelled])
    last = table.filter(is_last).sort(*by, lines[-1])
    last = last.unique(lines, keep="first", maintain_order=True)
    several = "panel" in lines and not last.is_empty()
    placed = [
        group.select(*lines, label_at=pl.Series(spread_heights(heights, ends), dtype=pl.Float64))
        for group in (last.partition_by("panel") if several else [last])
        for heights in [group.select(by[0]).to_series()]
    ]
    table = table.join(pl.concat(placed), on=lines, how="left", maintain_order="left")
    return table.with_columns(pl.when(is_last).then("label_at").alias("label_at"))


def spread_heights(heights: Iterable[float], ends: AxisEnds) -> list[float]:
    """Return heights of names that do not overlap.

    `heights` are the heights of the lines and must ascend. The results ascend too, and the sum of
    the squared moves is as small as possible. Names of height s do not overlap if neighbours are at
    least s apart. Three steps move them apart: subtract i * s from `heights[i]`, make the results
    ascend by isotonic regression, and add i * s again. Names stay within the axis. If
    there are too many names, they are evenly spaced and overlap.
    """
    from scipy.optimize import isotonic_regression

    wanted = np.fromiter(heights, np.float64)
    if len(wanted) == 0:
        return []
    length = ends[1] - ends[0]
    step = min(length * LABEL_SHARE, length / max(1, len(wanted) - 1))
    offsets = step * np.arange(len(wanted))
    fitted = isotonic_regression(wanted - offsets).x
    places: list[float] = (np.clip(fitted, ends[0], ends[1] - offsets[-1]) + offsets).tolist()
    return places
