"""Draw lines with their names: curves of strategies and of measures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from polars_graded._drawing import chart_rows, panels, style
from polars_graded._drawing.panels import Chart
from polars_graded._drawing.style import MAX_COLOURS, AxisEnds
from polars_graded._frames.arguments import Columns
from polars_graded._frames.strategies import sort_naturally
from polars_graded._sentences import shorten_names
from polars_graded._sentences.titles import name_measure

BAND_OPACITY = 0.15
"""Opacity of a band around a line, where up to eight bands may overlap."""

MAX_MARKED_POINTS = 30
"""A curve with more points than this is a line without marks at its points."""

MAX_LABELS = 12
"""Maximum number of lines that all have a name, even if some of them are grey."""

NAME_HEIGHT = 12
"""Minimum distance between the names of two lines, in pixels."""

NAME_OFFSET = 17
"""Distance from the end of a line to its name, in pixels."""

MAX_NAME_WIDTH = 300
"""Maximum width of a name, in pixels. Vega truncates longer names."""


def draw_lines(
    table: pl.DataFrame,
    panel: Columns | None,
    headline: str,
    notes: Sequence[str],
    *,
    x: alt.X,
    y: alt.Y,
    ends: AxisEnds,
    prioritised: Sequence[str],
    title: str,
    field: str = "strategy",
    band: tuple[str, str] | None = None,
    tooltips: Sequence[Any] = (),
    under: Sequence[alt.Chart] = (),
    colours: Mapping[str, str] | None = None,
) -> Chart:
    """Draw a line for each name, with the name at its end, or with panels and a legend.

    On a web page, the line next to the pointer stays and the others fade.

    Parameters
    ----------
    table
        The points, sorted along each line.
    x, y
        The axes, whose shorthands name the fields of a point. `ends` are the values at the bottom
        and at the top of the y axis.
    prioritised
        The names of the lines that reach the end, the most important first. Of more than
        `MAX_COLOURS` lines, only the most important have a colour.
    title, field
        The title of a legend, and the field of names.
    band
        The fields of the ends of a band around each line.
    tooltips
        The tooltips of a point after its name and its x.
    under
        Layers below the lines.
    """
    has_panels = chart_rows.has_panels(table)
    line_names = table[field].unique().to_list()
    x_field, y_field = (each.shorthand.partition(":")[0] for each in (x, y))
    labelled = _choose_labelled(prioritised, colours)
    if has_panels or len(labelled) < len(line_names):
        notes = [*notes, *style.write_rest_note(line_names)]
    if len(line_names) > MAX_COLOURS or colours:
        table = _sort_to_front(table, field, labelled)
    labels = {name: name_measure(name) if field == "measure" else name for name in prioritised}
    legend = None
    if has_panels and (table["panel"] != table[field]).any():
        legend = style.build_legend(labelExpr=style.shorten_labels(labels))
    color = style.encode_names(
        sort_naturally(line_names),
        title,
        colours,
        field=field,
        prioritised=prioritised,
        legend=legend,
    )
    # In a chart without panels, a strategy has a line for each measure.
    detail = [f"{key}:N" for key in dict.fromkeys((field, "measure")) if key in table.columns]
    base = alt.Chart().encode(x=alt.X(x.shorthand), y=alt.Y(f"{y_field}:Q"), detail=detail)
    pointer = None
    if len(line_names) > 1:
        name = chart_rows.build_selection_name("line", table)
        pointer = style.build_pointer(name, field, nearest=True)
    layers = [*under, base.mark_line().encode(**_fade_others(pointer, 1))]
    # With a selection, a tooltip shows a text only if a function such as toString formats it.
    name_tooltip: Any = alt.Tooltip(f"{field}:N", format="", formatType="toString")
    tooltip = [name_tooltip if pointer else f"{field}:N", x.shorthand, *tooltips]
    points = base
    if band is not None:
        points, interval = style.add_interval(points, *band)
        tooltip.append(interval)
        area = base.mark_area(opacity=BAND_OPACITY, clip=True)
        area = area.encode(y=alt.Y(f"{band[0]}:Q"), y2=alt.Y2(band[1]))
        layers.insert(0, area.encode(**_fade_others(pointer, BAND_OPACITY)))
    are_marked = len(line_names) <= MAX_COLOURS and table[x_field].n_unique() <= MAX_MARKED_POINTS
    opacity = 1 if are_marked else 0
    points = points.mark_point(filled=True, opacity=opacity)
    tooltip = style.list_tooltips(*tooltip)
    points = points.encode(tooltip=tooltip, **_fade_others(pointer, opacity))
    # Without a selection, points are in front, since lines would hide their tooltips. With a
    # selection, points must be the first layer, at the back: if a chart with panels is beside
    # another chart, Altair looks for the selection in the first layer. The tooltips still work:
    # if a chart has a selection, Vega-Lite ignores the pointer on layers that have neither a
    # selection nor a tooltip, such as the lines.
    if pointer is not None:
        layers.insert(0, style.add_selection(points, pointer))
    else:
        layers.append(points)
    shared = alt.Encoding(x=x, y=y, color=color)
    if has_panels:
        return panels.draw_panels(layers, table, panel, headline, notes, encoding=shared)
    table = _add_labels(table, x_field, field, {name: labels[name] for name in labelled})
    name_layers = _draw_names(x.shorthand, y_field, ends, field, labelled, table)
    layers += [each.encode(**_fade_others(pointer, 1)) for each in name_layers]
    return panels.draw_panels(layers, table, None, headline, notes, encoding=shared)


def sort_lines(table: pl.DataFrame, x_field: str | None) -> list[str]:
    """Return the strategies by their value at the last x, the highest first.

    If `x_field` is None, the strategies are sorted by their mean values.
    """
    last = table if x_field is None else table.filter(pl.col(x_field) == pl.col(x_field).max())
    heights = last.group_by("strategy").agg(pl.col("value").mean())
    return heights.sort("value", "strategy", descending=[True, False])["strategy"].to_list()


def _choose_labelled(prioritised: Sequence[str], colours: Mapping[str, str] | None) -> list[str]:
    """Return the names that are drawn at their lines, the most important first.

    All names are drawn if there are at most `MAX_LABELS`. Otherwise, only those of coloured lines
    are drawn, since most of the grey lines are close to another one.
    """
    coloured = style.choose_coloured(prioritised, colours)
    others = prioritised if len(prioritised) <= MAX_LABELS else ()
    return [*dict.fromkeys([*coloured, *others])][:MAX_LABELS]


def _sort_to_front(table: pl.DataFrame, field: str, labelled: Sequence[str]) -> pl.DataFrame:
    """Sort the rows so that Vega draws grey lines first, and the first labelled name last."""
    front = {name: -place for place, name in enumerate(labelled)}
    order = pl.col(field).replace_strict(front, default=-len(front), return_dtype=pl.Int64)
    return table.sort(order, maintain_order=True)


def _fade_others(pointer: alt.Parameter | None, opacity: float) -> dict[str, Any]:
    """Return the encoding that fades the lines that are not next to the pointer."""
    if pointer is None:
        return {}
    return {"opacity": style.choose_value(alt.OpacityValue, pointer, opacity, opacity * 0.15)}


def _add_labels(
    table: pl.DataFrame, x_field: str, field: str, labels: Mapping[str, str]
) -> pl.DataFrame:
    """Add the column `label`: the name of a line in its last row, null in other rows."""
    last = pl.col(x_field).max() if table.schema[x_field].is_numeric() else pl.col(x_field).last()
    ends = table.group_by(field).agg(last).filter(pl.col(field).is_in([*labels]))
    texts = shorten_names([labels[name] for name in ends[field]])
    ends = ends.with_columns(pl.Series("label", texts, dtype=pl.String))
    return table.join(ends, on=[field, x_field], how="left", maintain_order="left")


def _draw_names(
    x_shorthand: str,
    y_field: str,
    ends: AxisEnds,
    field: str,
    labelled: Sequence[str],
    table: pl.DataFrame,
) -> list[alt.Chart]:
    """Draw the texts in the column `label`, to the right of their points.

    A name is a text in the colour of other texts, which is legible where the colour of the line is
    not. A rule in the colour of the line joins both.
    """
    base, move = _spread_names(y_field, ends, field, labelled, table)
    base = base.encode(x=alt.X(x_shorthand), y=alt.Y(f"{y_field}:Q"))
    leader = base.mark_rule(
        xOffset=3, x2Offset=NAME_OFFSET - 3, y2Offset=move, strokeWidth=1.5, clip=False
    ).encode(x2=alt.X2(x_shorthand.partition(":")[0]), y2=alt.Y2(y_field))
    text = base.mark_text(align="left", dx=NAME_OFFSET, dy=move, limit=MAX_NAME_WIDTH, clip=False)
    return [leader, text.encode(text=alt.Text("label:N"), color=style.draw_ink())]


def _spread_names(
    y_field: str, ends: AxisEnds, field: str, labelled: Sequence[str], table: pl.DataFrame
) -> tuple[alt.Chart, alt.ExprRef]:
    """Return the rows with a label, and the move of each name down from its point, in pixels.

    Vega moves the names apart for the height that is drawn. A name moves by the weighted mean of
    two moves. The first moves names down, starting with the highest name. The second moves names
    up, starting with the lowest. Neighbours are at least `NAME_HEIGHT` pixels apart after each of
    the two moves, and thus after their mean. The weight is the mean height of the names, so that
    names at the top of the frame move down, and names at its bottom move up.
    """
    neighbours, (bottom, top) = range(1, MAX_LABELS), ends
    fields: Any = [
        alt.WindowFieldDef(op=op, field=y_field, param=k, **{"as": f"{op}_{k}"})
        for op in ("lag", "lead")
        for k in neighbours
    ]
    highest_first: Any = "descending" if bottom < top else "ascending"
    order: Any = [alt.SortField(y_field, highest_first), alt.SortField("order", "ascending")]
    place = f"indexof({json.dumps([*labelled])}, datum['{field}'])"
    base = alt.Chart().transform_filter("isValid(datum.label)").transform_calculate(order=place)
    # Without `groupby`, Vega-Lite cannot draw the transform in panels.
    base = base.transform_window(fields, sort=order, groupby=[])
    # A mark reads the height of its own group, because the signal `height` has other names in
    # panels and concatenated charts. `domain('y')` is the axis after a change by the caller.
    span = f"((domain('y')[1] - domain('y')[0]) || {top - bottom!r})"
    pixels = f"(item.mark.group.height / {span})"
    # The k-th name above pushes this name down, and the k-th name below pushes it up.
    down, up = (
        [
            f"(isValid(datum.{op}_{k}) ? {sign * k * NAME_HEIGHT} + "
            f"{pixels} * (datum['{y_field}'] - datum.{op}_{k}) : 0)"
            for k in neighbours
        ]
        for op, sign in (("lag", 1), ("lead", -1))
    )
    mean: Any = table.filter(pl.col("label").is_not_null())[y_field].mean()
    weight = round(min(1.0, max(0.0, (mean - bottom) / (top - bottom))), 2)
    move_down, move_up = f"max(0, {', '.join(down)})", f"min(0, {', '.join(up)})"
    return base, alt.ExprRef(f"{weight} * {move_down} + {1 - weight:.2f} * {move_up}")
