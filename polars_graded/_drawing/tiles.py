"""Draw rankings side by side: a column per strategy, a tile per document."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from polars_graded._drawing import axis_ends, chart_rows, style
from polars_graded._sentences import shorten_names

TILE_WIDTH, TILE_GAP, BAR_WIDTH = 0.5, 0.02, 0.18
"""Widths of a tile, the gap to the right of a tile, and the longest bar, as shares of a column.

A bar shows the amount that a document adds to the measure.
"""

TIE_POSITION = -TILE_GAP
"""Horizontal position of the line at the left of tied tiles, as a share of a column."""

BAR_START, BAR_END = round(TILE_WIDTH + TILE_GAP, 2), round(TILE_WIDTH + TILE_GAP + BAR_WIDTH, 2)
"""Both ends of the longest bar beside a tile, as shares of a column."""

MAX_COLOURED_GRADES = 6
"""Up to this many relevant grades have a colour each. More relevant grades share four colours."""

UNJUDGED_LEVEL = "unjudged"
"""Level of documents without a grade."""

GRADE_COLOURS, GRADE_COLOURS_ON_DARK = ("#8fbfe6", "#103a66"), ("#1c4a73", "#a8d3f0")
"""Colours of the lowest and the highest relevant grade. A higher grade contrasts more with the
background, also when printed in grey."""

IRRELEVANT_COLOUR, UNJUDGED_COLOUR = style.fade(style.DOUBT, 0.2), "transparent"
"""Colours of documents that are not relevant, and of documents without a grade."""

MAX_MISSED_DOCUMENTS = 10
"""Maximum number of tiles that a strategy has below its first n documents."""

TILE_LETTER_WIDTH = 6
"""Approximate width of a letter on or beside a tile, in pixels."""

MIN_TEXT_WIDTH, MIN_NUMBER_WIDTH, MIN_CAPTION_WIDTH = 108, 165, 120
"""Minimum widths of a column with names on tiles, numbers beside them, and a caption in words."""

ROW_HEIGHT = 18
"""Height of a row of tiles, in pixels."""

TILE_FONT_SIZE = 10
"""Font size of texts on tiles, in pixels."""

MAX_JOINED_COLUMNS = 4
"""Maximum number of columns that lines connect. Lines between more columns are hard to follow."""

MIN_HORIZONTAL_NAME_WIDTH = 60
"""Minimum width of a column with a horizontal name, in pixels."""

BOLD_LETTER_WIDTH = 7
"""Approximate width of a letter of a bold name, in pixels."""

MAX_NUMBERED_RANKS = 25
"""Maximum number of ranks for which the axis shows every number."""

LABELS_ONLY: dict[str, Any] = {"grid": False, "domain": False, "ticks": False}
"""Settings of an axis that consists of labels only."""

TILE_EDGES = {"top": "datum.y - 0.44", "bottom": "datum.y + 0.44"}
"""Vega expressions for the upper and the lower edge of a tile."""

MAX_TOOLTIP_LETTERS = 300
"""Maximum number of letters of a title in a tooltip."""


def compute_column_width(n: int) -> int:
    """Return the width of each of n columns, in pixels."""
    return max(24, min(280, 700 // n))


def build_tile_rows(documents: pl.DataFrame, values: pl.DataFrame, n: int) -> pl.DataFrame:
    """Return the rows to draw, each a tile, a line or the head of a column.

    `values` has the `value` of the measure for each query and strategy. `part` is "document" for a
    tile, "line" for a line between two tiles and "strategy" for a head. `column` is the number of
    the strategy. For one of the first n documents, `y` is the rank. For any other document, `y` is
    a position below the first n documents of all queries.
    """
    names = values["strategy"].unique(maintain_order=True)
    places = pl.DataFrame({"strategy": names}).with_row_index("column")
    places = places.with_columns(pl.col("column").cast(pl.Int64))
    heads = values.join(places, on="strategy", maintain_order="left")
    documents = documents.join(heads, on=["query", "strategy"], maintain_order="left")
    y = pl.col("rank").cast(pl.Float64).alias("y")
    top_documents = documents.filter(pl.col("rank") <= n).with_columns(y)
    max_rank: Any = top_documents["rank"].max()
    documents_below, counts_below = _list_documents_below(
        documents, top_documents, n, (max_rank or 0) + 2.0
    )
    share = pl.when(pl.col("value") > 0).then(pl.col("adds") / pl.col("value"))
    tiles = pl.concat([top_documents, documents_below], how="diagonal")
    tiles = tiles.with_columns(part=pl.lit("document"), share=share).drop("value")
    heads = heads.join(counts_below, on=["query", "strategy"], how="left", maintain_order="left")
    heads = heads.with_columns(part=pl.lit("strategy"))
    return pl.concat([tiles, _build_lines(tiles), heads], how="diagonal")


def _list_documents_below(
    documents: pl.DataFrame, top_documents: pl.DataFrame, n: int, first_y: float
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """List the relevant documents outside the first n, and count them.

    The first frame contains at most `MAX_MISSED_DOCUMENTS` such documents of each strategy. If a
    strategy has more, those in the first n of another strategy take precedence. The second frame
    contains the number of all such documents of each strategy.
    """
    missed_documents = documents.filter(
        pl.col("relevant"), (pl.col("rank") > n) | pl.col("rank").is_null()
    )
    in_top = top_documents.select("query", "doc", is_in_top=True).unique()
    listed_documents = missed_documents.join(
        in_top, on=["query", "doc"], how="left", maintain_order="left"
    ).sort(
        *("is_in_top", "grade", "rank", "doc"),
        descending=[True, True, False, False],
        nulls_last=True,
    )
    listed_documents = (
        listed_documents.drop("is_in_top")
        .group_by("query", "strategy", maintain_order=True)
        .head(MAX_MISSED_DOCUMENTS)
    )
    by_rank = listed_documents.sort(
        "column", "rank", "grade", "doc", descending=[False, False, True, False], nulls_last=True
    )
    position = pl.int_range(pl.len()).over("query", "strategy") + first_y
    rank = pl.when(pl.col("rank").is_null()).then(pl.lit("no rank"))
    documents_below = by_rank.with_columns(
        position.cast(pl.Float64).alias("y"),
        rank.otherwise(pl.format("rank {}", "rank")).alias("label"),
        pl.lit(None, pl.Float64).alias("adds"),
    )
    counts = missed_documents.group_by("query", "strategy").agg(below=pl.len())
    return documents_below, counts


def _build_lines(tiles: pl.DataFrame) -> pl.DataFrame:
    """Return a line for each document that also has a tile in the next column.

    With more than `MAX_JOINED_COLUMNS` columns, there are no lines.
    """
    if tiles["column"].n_unique() > MAX_JOINED_COLUMNS:
        tiles = tiles.clear()
    starts = tiles.select("query", "strategy", "column", "y", "doc", "relevant", "adds", "label")
    ends = starts.select("query", pl.col("column") - 1, pl.col("y").alias("y_next"), "doc")
    lines = starts.join(ends, on=["query", "column", "doc"], maintain_order="left")
    return lines.with_columns(pl.lit("line").alias("part"))


def add_levels(documents: pl.DataFrame, irrelevant: float) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Return the rows with a column `level`, and the colour of each level.

    All irrelevant grades are one level, and unjudged documents are another. Up to
    `MAX_COLOURED_GRADES` relevant grades are a level each. More relevant grades are divided into
    four ranges, and each range is a level. The colours are in ascending order of the levels, and
    "unjudged" is last. A level without documents is left out.
    """
    grade = pl.col("grade")
    grades = documents["grade"].drop_nulls()
    relevant = grades.filter(grades > irrelevant).unique().sort().to_list()
    low_grades = grades.filter(grades <= irrelevant)
    if len(relevant) <= MAX_COLOURED_GRADES:
        ends = relevant
        names = [_format_grade(end) for end in ends]
    else:
        width = (relevant[-1] - irrelevant) / 4
        limits = (float(f"{irrelevant + width * step:.4g}") for step in (1, 2, 3))
        ends = [*sorted({limit for limit in limits if limit < relevant[-1]}), relevant[-1]]
        names = [f"up to {_format_grade(end)}" for end in ends]
    lowest_level = _format_grade(irrelevant)
    if not (low_grades == irrelevant).all():
        lowest_level += " or below"
    # Each grade gets the level whose range contains it; a range includes its upper end.
    judged_grades = documents["grade"].fill_null(irrelevant).to_numpy()
    level = pl.Series([lowest_level, *names])[
        np.searchsorted([irrelevant, *ends][:-1], judged_grades)
    ]
    graded_documents = documents.with_columns(
        level=pl.when(grade.is_null()).then(pl.lit(UNJUDGED_LEVEL)).otherwise(level)
    )
    ramps = (style.build_ramp(*ends, len(names)) for ends in (GRADE_COLOURS, GRADE_COLOURS_ON_DARK))
    colours: dict[str, Any] = {lowest_level: IRRELEVANT_COLOUR}
    colours |= dict(zip(names, map(style.choose_by_background, *ramps), strict=True))
    colours[UNJUDGED_LEVEL] = UNJUDGED_COLOUR
    used_levels = set(graded_documents["level"])
    return graded_documents, {
        name: colour for name, colour in colours.items() if name in used_levels
    }


def _format_grade(grade: float) -> str:
    """Return the shortest text that only this number has, such as "2" or "0.5"."""
    return repr(grade).removesuffix(".0")


def draw_tiles(  # noqa: PLR0915 (one layer after the other)
    table: pl.DataFrame, n: int, colours: Mapping[str, Any], grade: str, measure: str
) -> tuple[list[alt.Chart], dict[str, Any]]:
    """Return the layers of the chart, and its shared encoding, width and height.

    Layers are the lines between tiles, the tiles, the bars beside them and the texts. `table` has
    the rows of `build_tile_rows` and a column `name`, the text on a tile. `colours` maps each level
    of `add_levels` to its colour.
    """
    documents, heads = table.filter(part="document"), table.filter(part="strategy")
    names = heads["strategy"].unique(maintain_order=True).to_list()
    last_rank, lowest, max_added = documents.select(
        pl.col("rank").filter(pl.col("rank") <= n).max().fill_null(0),
        pl.col("y").max().fill_null(0),
        pl.col("adds").max().fill_null(0),
    ).row(0)
    width = compute_column_width(len(names))
    # Names are vertical if columns are narrow.
    max_letters = style.MAX_LABEL_LETTERS
    is_upright = width < MIN_HORIZONTAL_NAME_WIDTH
    if not is_upright:
        max_letters = min(max_letters, int(width / BOLD_LETTER_WIDTH))
    short_names = dict(zip(names, shorten_names(names, max_letters), strict=True))
    letters = max(map(len, short_names.values())) + len("  0.0000")
    top = -0.3 - letters * TILE_LETTER_WIDTH / ROW_HEIGHT if is_upright else -1.2
    columns, rows = (2 * TIE_POSITION, len(names) - 1 + BAR_END + 0.1), (top, lowest + 0.6)
    ranks = axis_ends.choose_rank_ticks(last_rank)
    if last_rank <= MAX_NUMBERED_RANKS:
        ranks = [*range(1, last_rank + 1)]
    y_axis: dict[str, Any] = {"labelOverlap": False, "titleAngle": 0, "titleY": 22}
    across = style.bound_axis(columns, zero=False, labels=False, **LABELS_ONLY)
    down = style.bound_axis(
        rows, zero=False, reverse=True, values=ranks, format="d", **y_axis, **LABELS_ONLY
    )
    shared = alt.Encoding(
        x=alt.X("column:Q", title=None, **across), y=alt.Y("y:Q", title="rank", **down)
    )
    # The sizes of texts follow the size of the chart. Texts in narrow columns are not drawn.
    column_width = f"(item.mark.group.width / {columns[1] - columns[0]:.4g})"
    font_size = f"min({TILE_FONT_SIZE}, 0.6 * item.mark.group.height / {rows[1] - rows[0]:.4g})"
    ink: Any = style.TEXT_COLOUR

    def draw_text(chart: alt.Chart, min_width: float = 0, **look: Any) -> alt.Chart:
        """Draw texts in columns that are at least `min_width` pixels wide."""
        size = alt.ExprRef(f"{column_width} >= {min_width:g} ? {font_size} : 0")
        options: dict[str, Any] = {"align": "left", "fontSize": size, "color": ink}
        return chart.mark_text(**(options | look))

    # The pointer selects a document in all columns. While it does, other documents are faint.
    selected = style.build_pointer(chart_rows.build_selection_name("document", table), "doc")
    fading = {"opacity": style.choose_value(alt.OpacityValue, selected, 1, 0.15)}
    tooltip = _list_tooltips(table, grade)
    line_start = f"datum.adds > 0 || isValid(datum.label) ? {BAR_END} : {TILE_WIDTH}"
    line = _select_part(
        "line", x="start", start=f"datum.column + ({line_start})", end="datum.column + 1"
    )
    is_relevant = "datum.relevant"
    stroke = style.choose_value(alt.StrokeValue, is_relevant, ink, style.DOUBT)
    opacity = style.choose_value(alt.StrokeOpacityValue, is_relevant, 0.55, 0.35)
    # The text "rank 42" is longer than a bar.
    line = line.mark_rule(xOffset=alt.ExprRef("isValid(datum.label) ? 14 : 0")).encode(
        x2=alt.X2("end"), y2=alt.Y2("y_next"), stroke=stroke, strokeOpacity=opacity
    )
    # The fill shows grades, since `color` encodes strategies in all charts.
    tiles = _select_part("document", y="top", right=f"datum.column + {TILE_WIDTH}", **TILE_EDGES)
    tiles = tiles.encode(x2=alt.X2("right"), y2=alt.Y2("bottom"), **fading)
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    symbols = style.build_legend(symbolStrokeColor=style.REST, symbolType="square")
    fill = alt.Fill("level:N", title=grade, scale=scale, legend=symbols)
    filled = style.add_selection(tiles.mark_rect().encode(fill=fill, tooltip=tooltip), selected)
    layers = [line.encode(**fading), filled]
    if UNJUDGED_LEVEL in colours:
        # Unjudged tiles have the colour of the background, so they need an outline.
        unjudged = tiles.transform_filter(f"datum.level === '{UNJUDGED_LEVEL}'")
        layers.append(unjudged.mark_rect(fill=None, stroke=style.DOUBT, strokeDash=[3, 2]))
    if documents["tied"].any():
        # The lines of adjacent tied tiles join into one.
        edges = {"top": "datum.y - 0.5", "bottom": "datum.y + 0.5"}
        place = f"datum.column + {TIE_POSITION}"
        tied = _select_part("document", "datum.tied", x="at", y="top", at=place, **edges)
        layers.append(tied.mark_rule(strokeWidth=3, color=ink).encode(y2=alt.Y2("bottom")))
    if max_added:
        start = f"datum.column + {BAR_START}"
        end = f"{start} + {BAR_WIDTH} * datum.adds / {max_added}"
        added = {"x": "start", "y": "top", "start": start, "end": end, **TILE_EDGES}
        # This colour contrasts about equally with light and dark backgrounds.
        bars = _select_part("document", "datum.adds > 0", **added)
        bars = bars.mark_rect(color=style.DOUBT, fillOpacity=0.35)
        layers.append(bars.encode(x2=alt.X2("end"), y2=alt.Y2("bottom"), tooltip=tooltip))
    # The colours of relevant grades cover the background.
    opaque = [level for level, colour in colours.items() if isinstance(colour, alt.ExprRef)]
    fills = ", ".join(f"{json.dumps(level)}: {colours[level].expr}" for level in opaque)
    below = f"isDefined({{{fills}}}[datum.level]) ? {{{fills}}}[datum.level] : {style.PAPER}"
    is_dark = f"luminance({below}) < {style.MIDDLE_LUMINANCE}"
    limit = alt.ExprRef(f"max(1, {column_width} * {TILE_WIDTH} - 8)")
    on_tile = draw_text(_select_part("document"), MIN_TEXT_WIDTH, dx=4, limit=limit)
    fill_of_text = style.choose_value(alt.FillValue, is_dark, "white", "black")
    layers.append(on_tile.encode(text=alt.Text("name:N"), fill=fill_of_text, tooltip=tooltip))
    for condition, colour, text in (
        ("datum.adds > 0", ink, alt.Text("adds:Q", format="+.3f")),
        ("isValid(datum.label)", style.DOUBT, alt.Text("label:N")),
    ):
        beside = f"datum.column + {BAR_START}"
        beside_tile = _select_part("document", condition, x="beside", beside=beside)
        words = draw_text(beside_tile, MIN_NUMBER_WIDTH, dx=2, color=colour)
        layers.append(words.encode(text=text))
    # The name and the value of each strategy are above its column.
    name = f"{json.dumps(short_names)}[datum.strategy]"
    value_tooltip = style.list_tooltips("strategy:N", *style.format_decimals("value"))
    if is_upright:
        value = "(isValid(datum.value) ? '  ' + format(datum.value, '.4f') : '')"
        middle = f"datum.column + {TILE_WIDTH / 2}"
        head = _select_part(
            "strategy", x="middle", y="above", middle=middle, above="0.3", head=f"{name} + {value}"
        )
        layers.append(draw_text(head, angle=270, fontWeight="bold", fontSize=11))
    else:
        head = _select_part("strategy", y="above", above="-0.75", head=name)
        limit = alt.ExprRef(f"0.95 * {column_width}")
        layers.append(draw_text(head, fontWeight="bold", fontSize=11, limit=limit))
        value_text = _select_part("strategy", "isValid(datum.value)", y="at", at="0")
        fits = f"{column_width} >= {TILE_LETTER_WIDTH * len(f'{measure} 0.0000')}"
        number = f"{json.dumps(measure)} + format(datum.value, ' .4f')"
        fitting = alt.ExprRef(f"{fits} ? {number} : format(datum.value, '.3f')")
        layers.insert(-1, draw_text(value_text, text=fitting))
    layers[-1] = layers[-1].encode(text=alt.Text("head:N"), tooltip=value_tooltip)
    if lowest > last_rank:
        # A line separates the first n documents from the tiles below. A caption under the line
        # shows the number of relevant documents outside the first n.
        separator = style.build_one_row().transform_calculate(y=f"{last_rank + 0.5}")
        ends: dict[str, Any] = {"x": alt.XValue(0), "x2": alt.X2Value("width")}
        separator = separator.mark_rule(color="gray").encode(y=alt.Y("y:Q"), **ends)
        counts = _select_part("strategy", "datum.below > 0", y="at", at=f"{last_rank + 1}")
        unit = f"{column_width} >= {MIN_CAPTION_WIDTH} ? ' relevant below' : "
        unit += f"{column_width} >= {MIN_HORIZONTAL_NAME_WIDTH} ? ' below' : ''"
        caption = alt.ExprRef(f"datum.below + ({unit})")
        layers += [separator, draw_text(counts, color=style.DOUBT, text=caption)]
    size = {"width": width * len(names), "height": ROW_HEIGHT * (rows[1] - rows[0])}
    return layers, size | {"encoding": shared}


def _list_tooltips(table: pl.DataFrame, grade: str) -> list[alt.Tooltip]:
    """Return the tooltips of a document."""
    titles = ["title:N"] if "title" in table.columns else []
    gains = ["gain"] if "gain" in table.columns else []
    tooltips: list[Any] = ["strategy:N", "rank:Q", "doc:N", *titles]
    tooltips += [alt.Tooltip("grade:Q", title=grade), "tied:N"]
    tooltips += [*style.format_decimals(*gains, "adds"), alt.Tooltip("share:Q", format=".1%")]
    return style.list_tooltips(*tooltips)


def _select_part(
    name: str, *filters: str, x: str = "column", y: str = "y", **calculated: str
) -> alt.Chart:
    """Return a chart of filtered rows of one `part`, with calculated fields, at x and y."""
    chart: Any = alt.Chart().transform_filter(f"datum.part === '{name}'")
    for condition in filters:
        chart = chart.transform_filter(condition)
    if calculated:
        chart = chart.transform_calculate(**calculated)
    return chart.encode(x=alt.X(f"{x}:Q"), y=alt.Y(f"{y}:Q"))
