"""Draw lines with their names: curves of strategies and of measures."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from operator import and_
from typing import Any

import altair as alt
import polars as pl

from polars_graded._drawing import chart_rows, style
from polars_graded._drawing.axis_ends import AxisEnds
from polars_graded._drawing.style import MAX_COLOURS, Chart, LayerChart
from polars_graded._frames.arguments import Columns
from polars_graded._frames.sorting import sort_naturally
from polars_graded._sentences import shorten_names
from polars_graded._sentences.titles import name_measure

BAND_OPACITY = 0.2
"""Opacity of a band around a line."""

MAX_BANDS = 3
"""Maximum number of overlapping bands that are drawn at once."""

MAX_MARKED_POINTS = 30
"""A curve with more points than this is a line without marks at its points."""

MAX_LABELS = 12
"""Maximum number of lines or points that all have a name, even if some of them are grey."""

NAME_HEIGHT = 12
"""Minimum distance between the names of two lines, in pixels."""

NAME_OFFSET = 17
"""Distance from the end of a line to its name, in pixels."""

POINT_NAME_OFFSET = 8
"""Horizontal and vertical distance between a point and its name, in pixels."""

LETTER_WIDTH = 6
"""Mean width of a letter of a name, in pixels."""

MAX_NAME_WIDTH = 300
"""Maximum width of a name, in pixels. Vega truncates longer names."""

MAX_LISTED_LINES = 3
"""Maximum number of coinciding lines that a note names."""


def draw_lines(
    table: pl.DataFrame,
    panel: Columns | None,
    words: style.Words,
    *,
    x: alt.X,
    y: alt.Y,
    ends: AxisEnds,
    names: Collection[str],
    best: Sequence[str],
    title: str,
    field: str = "strategy",
    labels: Mapping[str, str] | None = None,
    height: str | None = None,
    band: tuple[str, str] | None = None,
    tooltips: Sequence[Any] = (),
    under: Sequence[alt.Chart] = (),
    colours: Mapping[str, str] | None = None,
    highlight: Any = None,
) -> Chart:
    """Draw a line for each name, with the name at its end, or with panels and a legend.

    Parameters
    ----------
    table
        The points, sorted along each line.
    x, y
        The axes, whose shorthands name the fields of a point. `ends` are the ends of the y axis.
    names, best
        All names, which determine the colours, and the names of the drawn lines, the most important
        first. Of more than `MAX_COLOURS` lines, only the most important have a colour.
    title, field
        The title of a legend, and the field of names.
    labels
        The texts at the ends of lines, by name; by default the names.
    height
        A field with the height of a point on a linear scale, if the y axis is not linear.
    band
        The fields of the ends of a band around each line.
    tooltips
        The tooltips of a point after its name and its x.
    under
        Layers below the lines.
    """
    has_panels = chart_rows.has_panels(table)
    drawn = table[field].unique().to_list()
    keys = ["panel", field] if has_panels else [field]
    x_field, y_field = (each.shorthand.partition(":")[0] for each in (x, y))
    notes = [*words.notes, *write_coinciding(table, x_field, y_field, keys)]
    labelled = choose_labelled(best, colours, highlight)
    if has_panels or len(labelled) < len(drawn):
        notes += style.write_rest_note(drawn)
    words = words._replace(notes=notes)
    if len(drawn) > MAX_COLOURS or highlight is not None:
        table = sort_to_front(table, field, labelled)
    color = style.encode_names(
        sort_naturally({*names}),
        title,
        field=field,
        prioritised=best,
        colours=colours,
        highlight=highlight,
        legend=has_panels and bool((table["panel"] != table[field]).any()),
    )
    selections = _build_selections(table, field, legend=has_panels)
    # In a chart without panels, a strategy has a line for each measure.
    detail = [f"{key}:N" for key in dict.fromkeys((field, "measure")) if key in table.columns]
    base = alt.Chart().encode(x=alt.X(x.shorthand), y=alt.Y(f"{y_field}:Q"), detail=detail)
    layers = [*under, base.mark_line().encode(**fade_others(selections, 1))]
    # With a selection, a tooltip shows a text only if a function such as toString formats it.
    name: Any = alt.Tooltip(f"{field}:N", format="", formatType="toString")
    tooltip = [name if selections else f"{field}:N", x.shorthand, *tooltips]
    points = base
    if band is not None:
        points, interval = style.add_interval(points, *band)
        tooltip.append(interval)
        area = base.mark_area(opacity=BAND_OPACITY, clip=True)
        area = area.encode(y=alt.Y(f"{band[0]}:Q"), y2=alt.Y2(band[1]))
        layers.insert(0, area.encode(**_show_bands(selections, len(drawn), field, highlight)))
    are_marked = len(drawn) <= MAX_COLOURS and table[x_field].n_unique() <= MAX_MARKED_POINTS
    opacity = 1 if are_marked else 0
    points = points.mark_point(filled=True, opacity=opacity)
    tooltip = style.list_tooltips(*tooltip)
    points = points.encode(tooltip=tooltip, **fade_others(selections, opacity))
    # Without a selection, points are in front, since lines would hide their tooltips. With a
    # selection, points must be the first layer, at the back: if a chart with panels is beside
    # another chart, Altair looks for the selection in the first layer. The tooltips still work:
    # if a chart has a selection, Vega-Lite ignores the pointer on layers that have neither a
    # selection nor a tooltip, such as the lines.
    if selections:
        layers.insert(0, style.add_selection(points, *selections))
    else:
        layers.append(points)
    shared = alt.Encoding(x=x, y=y, color=color)
    if has_panels:
        return style.draw_panels(layers, table, panel, words, encoding=shared)
    table = _add_labels(table, x_field, field, labelled, labels)
    names_ = _draw_names(x.shorthand, y_field, height, ends, field, labelled, table)
    layers += [each.encode(**fade_others(selections, 1)) for each in names_]
    chart = style.draw_layers(layers, table, words, encoding=shared)
    return _reserve_width(chart, table["label"])


def choose_labelled(
    best: Sequence[str], colours: Mapping[str, str] | None, highlight: Any
) -> list[str]:
    """Return the names that are drawn beside their marks, the most important first.

    All names are drawn if there are at most `MAX_LABELS`. Otherwise, only those of coloured marks
    are drawn, since most of the grey marks are close to another one.
    """
    coloured = style.choose_coloured(best, colours, highlight)
    return coloured if len(best) > MAX_LABELS else [*dict.fromkeys([*coloured, *best])]


def sort_to_front(table: pl.DataFrame, field: str, labelled: Sequence[str]) -> pl.DataFrame:
    """Sort the rows so that Vega draws grey marks first, and the first labelled name last."""
    front = {name: -place for place, name in enumerate(labelled)}
    order = pl.col(field).replace_strict(front, default=-len(front), return_dtype=pl.Int64)
    return table.sort(order, maintain_order=True)


def find_best_lines(table: pl.DataFrame, x: str | None, y: str = "value") -> list[str]:
    """Return the strategies by their value at the last x, the highest first.

    If `x` is None, the strategies are sorted by their mean values.
    """
    last = table if x is None else table.filter(pl.col(x) == pl.col(x).max())
    heights = last.group_by("strategy").agg(pl.col(y).mean())
    return heights.sort(y, "strategy", descending=[True, False])["strategy"].to_list()


def write_coinciding(table: pl.DataFrame, x: str, y: str, keys: Sequence[str]) -> list[str]:
    """Write a note for each group of lines that have the same points."""
    points = table.group_by(keys, maintain_order=True).agg(
        path=pl.struct(x, pl.col(y).round(12)).sort_by(x)
    )
    same = points.group_by(*keys[:-1], "path", maintain_order=True).agg(names=pl.col(keys[-1]))
    several = same.filter(pl.col("names").list.len() > 1)
    panels = several["panel"].to_list() if "panel" in keys else [""] * several.height
    notes = []
    for panel, names in zip(panels, several["names"].to_list(), strict=True):
        short = shorten_names([*map(name_measure, names)] if keys[-1] == "measure" else names)
        more = len(short) - MAX_LISTED_LINES
        listed = short if more <= 0 else [*short[:MAX_LISTED_LINES], f"{more} more"]
        where = f"{panel}: " if panel else ""
        notes.append(f"{where}{', '.join(listed[:-1])} and {listed[-1]} coincide")
    return notes


def fade_others(selections: Sequence[alt.Parameter], opacity: float) -> dict[str, Any]:
    """Return the encoding that fades unselected lines; {} if there are no selections."""
    if not selections:
        return {}
    is_selected: Any = reduce(and_, selections)
    faded = style.choose_value(alt.OpacityValue, is_selected, opacity, opacity * 0.15)
    return {"opacity": faded}


def _show_bands(
    selections: Sequence[alt.Parameter], n: int, field: str, highlight: Any
) -> dict[str, Any]:
    """Return the encoding that shows bands: all of a few, or those that a reader chooses.

    With more than `MAX_BANDS` lines, the bands of the highlighted line and of the line under the
    pointer are visible.
    """
    if n <= MAX_BANDS:
        return fade_others(selections, BAND_OPACITY)
    is_chosen: Any = {"param": selections[0].name, "empty": False}
    if highlight is not None:
        is_highlighted = alt.FieldEqualPredicate(field=field, equal=str(highlight)).to_dict()
        is_chosen = {"or": [is_chosen, is_highlighted]}
    shown: Any = {"test": is_chosen, "value": BAND_OPACITY}
    return {"opacity": alt.OpacityValue(0, condition=shown)}


def _build_selections(table: pl.DataFrame, field: str, *, legend: bool) -> list[alt.Parameter]:
    """Return the selections of lines: by the pointer, and by a legend.

    A single line has no selection. More than `MAX_COLOURS` lines cannot be selected by the legend.
    """
    n = table[field].n_unique()
    if n == 1:
        return []
    name = chart_rows.build_selection_name("line", table)
    selections = [style.build_pointer(name, field, nearest=True)]
    if legend and n <= MAX_COLOURS:
        legend_name = f"legend_{name}"
        selections.append(alt.selection_point(name=legend_name, fields=[field], bind="legend"))
    return selections


def _add_labels(
    table: pl.DataFrame,
    x: str,
    field: str,
    labelled: Collection[str],
    labels: Mapping[str, str] | None,
) -> pl.DataFrame:
    """Add the column `label`: the name of a line in its last row, null in other rows."""
    last = pl.col(x).max() if table.schema[x].is_numeric() else pl.col(x).last()
    ends = table.group_by(field).agg(last).filter(pl.col(field).is_in([*labelled]))
    names = ends[field].to_list()
    texts = shorten_names([(labels or {}).get(name, name) for name in names])
    ends = ends.with_columns(pl.Series("label", texts, dtype=pl.String))
    return table.join(ends, on=[field, x], how="left", maintain_order="left")


def _draw_names(
    x: str,
    y: str,
    height: str | None,
    ends: AxisEnds,
    field: str,
    labelled: Sequence[str],
    table: pl.DataFrame,
) -> list[alt.Chart]:
    """Draw the texts in the column `label`, to the right of their points.

    A name is a text in the colour of other texts, which is legible where the colour of the line is
    not. A rule in the colour of the line joins both.
    """
    base, move = spread_names(alt.Chart(), y, height, ends, field, labelled, table)
    base = base.encode(x=alt.X(x), y=alt.Y(f"{y}:Q"))
    leader = base.mark_rule(
        xOffset=3, x2Offset=NAME_OFFSET - 3, y2Offset=move, strokeWidth=1.5, clip=False
    ).encode(x2=alt.X2(x.partition(":")[0]), y2=alt.Y2(y))
    text = base.mark_text(align="left", dx=NAME_OFFSET, dy=move, limit=MAX_NAME_WIDTH, clip=False)
    return [leader, text.encode(text=alt.Text("label:N"), color=style.draw_ink())]


def spread_names(
    base: alt.Chart,
    y: str,
    height: str | None,
    ends: AxisEnds,
    field: str,
    labelled: Sequence[str],
    table: pl.DataFrame,
    label: str = "label",
) -> tuple[alt.Chart, alt.ExprRef]:
    """Return the rows with a label, and the move of each name down from its point, in pixels.

    Vega moves the names apart for the height that is drawn. A name moves by the weighted mean of
    two moves. The first moves names down, starting with the highest name. The second moves names
    up, starting with the lowest. Neighbours are at least `NAME_HEIGHT` pixels apart after each of
    the two moves, and thus after their mean. The weight is the mean height of the names, so that
    names at the top of the frame move down, and names at its bottom move up.
    """
    neighbours, at = range(1, MAX_LABELS), height or y
    fields: Any = [
        alt.WindowFieldDef(op=op, field=at, param=k, **{"as": f"{op}_{k}"})
        for op in ("lag", "lead")
        for k in neighbours
    ]
    order: Any = [alt.SortField(at, "descending"), alt.SortField("order", "ascending")]
    place = f"indexof({json.dumps([*labelled])}, datum['{field}'])"
    base = base.transform_filter(f"isValid(datum['{label}'])").transform_calculate(order=place)
    # Without `groupby`, Vega-Lite cannot draw the transform in panels.
    base = base.transform_window(fields, sort=order, groupby=[])
    # A mark reads the height of its own group, because the signal `height` has other names in
    # panels and concatenated charts. `domain('y')` is the axis after a change by the caller.
    span = repr(ends[1] - ends[0])
    if height is None:
        span = f"abs((domain('y')[1] - domain('y')[0]) || {span})"
    pixels = f"(item.mark.group.height / {span})"
    # The k-th name above pushes this name down, and the k-th name below pushes it up.
    down, up = (
        [
            f"(isValid(datum.{op}_{k}) ? {sign * k * NAME_HEIGHT} + "
            f"{pixels} * (datum['{at}'] - datum.{op}_{k}) : 0)"
            for k in neighbours
        ]
        for op, sign in (("lag", 1), ("lead", -1))
    )
    mean: Any = table.filter(pl.col(label).is_not_null())[at].mean()
    weight = round(min(1.0, max(0.0, (mean - ends[0]) / (ends[1] - ends[0]))), 2)
    move_down, move_up = f"max(0, {', '.join(down)})", f"min(0, {', '.join(up)})"
    move = alt.ExprRef(f"{weight} * {move_down} + {1 - weight:.2f} * {move_up}")
    return base, move


def draw_point_names(
    base: alt.Chart,
    *,
    x: str,
    y: str,
    side: str,
    ends: AxisEnds,
    field: str,
    labelled: Sequence[str],
    table: pl.DataFrame,
    label: str = "label",
    rise: int = POINT_NAME_OFFSET,
) -> list[alt.Chart]:
    """Draw the name of each point above and beside it, with a line to the point.

    `side` is the Vega expression of 1 for a name to the right of its point, and -1 for the left. A
    name is `rise` pixels above its point, if no other name is near.
    """
    base, move = spread_names(base, y, None, ends, field, labelled, table, label)
    base = base.encode(x=alt.X(f"{x}:Q"), y=alt.Y(f"{y}:Q"))
    across = alt.ExprRef(f"{side} * {POINT_NAME_OFFSET}")
    up = alt.ExprRef(f"({move.expr}) - {rise}")
    leader = base.mark_rule(x2Offset=across, y2Offset=up, opacity=0.6, clip=False)
    align = alt.ExprRef(f"{side} < 0 ? 'right' : 'left'")
    look: dict[str, Any] = {"align": align, "dx": across, "dy": up, "limit": MAX_NAME_WIDTH}
    base = base.encode(text=alt.Text(f"{label}:N"))
    # The colour of the background around a name separates it from points and lines below.
    halo = base.mark_text(
        stroke=alt.ExprRef(style.PAPER), strokeWidth=3, clip=False, aria=False, **look
    )
    text = base.mark_text(clip=False, **look).encode(color=style.draw_ink())
    return [leader.encode(x2=alt.X2(x), y2=alt.Y2(y)), halo.encode(color=style.draw_paper()), text]


def _reserve_width(chart: LayerChart, labels: pl.Series) -> LayerChart:
    """Return the chart with an empty axis to the right, as wide as the names.

    Vega places legends and titles beside axes, but over marks that extend beyond the frame. The
    first layer draws the y axis, and every other layer must have a field of y.
    """
    longest: Any = labels.str.len_chars().max()
    width = NAME_OFFSET + min(MAX_NAME_WIDTH, LETTER_WIDTH * (longest or 0))
    for layer in chart.layer[1:]:
        layer.encoding.y.axis = None
    look: dict[str, Any] = dict.fromkeys(("labels", "ticks", "domain", "grid"), False)
    y = chart.layer[0].encoding.y.copy()
    y.axis = alt.Axis(orient="right", title=None, minExtent=width, **look)
    chart.layer = [*chart.layer, alt.Chart().mark_point(opacity=0).encode(y=y)]
    return chart.resolve_axis(y="independent")
