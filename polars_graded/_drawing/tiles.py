"""Draw rankings side by side: a column per strategy, a tile per document."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from polars_graded._drawing import axis_ends, chart_rows
from polars_graded._drawing.style import (
    DOUBT,
    INK,
    MAX_LABEL_LETTERS,
    REST,
    add_selection,
    bound_axis,
    build_legend,
    build_one_row,
    build_pointer,
    build_ramp,
    choose_few_colours,
    find_ink,
    format_decimals,
    list_tooltips,
    split_colour,
    write_short_label,
)
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

IRRELEVANT_COLOUR, UNJUDGED_LEVEL = "#e6e8eb", "unjudged"
LOWEST_GRADE_COLOUR, HIGHEST_GRADE_COLOUR = "#8fbfe6", "#103a66"
"""Colours of the lowest and the highest relevant grade. Higher grades are darker, also when printed
in grey."""

MAX_MISSED_DOCUMENTS = 10
"""Maximum number of tiles that a strategy has below its first n documents."""

TILE_LETTER_WIDTH = 6
"""Approximate width of a letter on or beside a tile, in pixels."""

ROW_HEIGHT = 18
"""Height of a row of tiles, in pixels."""

TILE_FONT_SIZE = 10
"""Font size of texts on tiles, in pixels."""

MAX_JOINED_COLUMNS = 4
"""Maximum number of columns that lines connect. Lines between more columns are hard to follow."""

MIN_HORIZONTAL_NAME_WIDTH = 60
"""Minimum width of a column with a horizontal name, in pixels."""

MIN_HORIZONTAL_NAME_LETTERS = 10
"""Number of letters that a horizontal name may have, even if fewer fit in the column."""

BOLD_LETTER_WIDTH = 7
"""Approximate width of a letter of a bold name, in pixels."""

MAX_NUMBERED_RANKS = 25
"""Maximum number of ranks for which the axis shows every number."""

COUNT_WORDS = " relevant below", " below"
"""Texts after the number of relevant documents outside the first n, as in "7 relevant below".

The first text that fits into the width of a column is drawn.
"""

LABELS_ONLY: dict[str, Any] = {"grid": False, "domain": False, "ticks": False}
"""Settings of an axis that consists of labels only."""

TILE_EDGES = {"top": "datum.y - 0.44", "bottom": "datum.y + 0.44"}
"""Vega expressions for the upper and the lower edge of a tile."""

MAX_TOOLTIP_LETTERS = 300
"""Maximum number of letters of a title in a tooltip."""


def compute_column_width(n: int) -> int:
    """Return the width of each of n columns, in pixels."""
    return max(24, min(280, 700 // n))


def build_tile_rows(
    documents: pl.DataFrame, values: Mapping[str, float | None], n: int, label: str
) -> pl.DataFrame:
    """Return the rows to draw, each a tile, a line or the head of a column.

    `part` is "document" for a tile, "line" for a line between two tiles and "strategy" for a head.
    `column` is the number of the strategy. For one of the first n documents, `y` is the rank. For
    any other document, `y` is a position below the first n documents.
    """
    value_labels = ["" if value is None else f"{label} {value:.4f}" for value in values.values()]
    heads = pl.DataFrame(
        [[*values], [*values.values()], value_labels, [*range(len(values))]],
        {"strategy": pl.String, "value": pl.Float64, "label": pl.String, "column": pl.Int64},
    )
    documents = documents.join(heads.drop("label"), on="strategy", maintain_order="left")
    y = pl.col("rank").cast(pl.Float64).alias("y")
    top_documents = documents.filter(pl.col("rank") <= n).with_columns(y)
    max_rank: Any = top_documents["rank"].max()
    documents_below, counts_below = _list_documents_below(
        documents, top_documents, n, (max_rank or 0) + 2.0
    )
    share = pl.when(pl.col("value") > 0).then(pl.col("adds") / pl.col("value"))
    tiles = pl.concat([top_documents, documents_below], how="diagonal")
    tiles = tiles.with_columns(part=pl.lit("document"), share=share).drop("value")
    heads = heads.join(counts_below, on="strategy", how="left").with_columns(
        part=pl.lit("strategy")
    )
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
    is_in_top = pl.col("doc").is_in(top_documents["doc"].unique().implode())
    listed_documents = missed_documents.sort(
        is_in_top, "grade", "rank", "doc", descending=[True, True, False, False], nulls_last=True
    )
    listed_documents = listed_documents.group_by("strategy", maintain_order=True).head(
        MAX_MISSED_DOCUMENTS
    )
    by_rank = listed_documents.sort(
        "column", "rank", "grade", "doc", descending=[False, False, True, False], nulls_last=True
    )
    position = pl.int_range(pl.len()).over("strategy") + first_y
    rank = pl.when(pl.col("rank").is_null()).then(pl.lit("no rank"))
    documents_below = by_rank.with_columns(
        position.cast(pl.Float64).alias("y"),
        rank.otherwise(pl.format("rank {}", "rank")).alias("label"),
        pl.lit(None, pl.Float64).alias("adds"),
    )
    counts = missed_documents.group_by("strategy").agg(below=pl.len())
    return documents_below, counts


def _build_lines(tiles: pl.DataFrame) -> pl.DataFrame:
    """Return a line for each document that also has a tile in the next column.

    With more than `MAX_JOINED_COLUMNS` columns, there are no lines.
    """
    if tiles["column"].n_unique() > MAX_JOINED_COLUMNS:
        tiles = tiles.clear()
    starts = tiles.select("strategy", "column", "y", "doc", "relevant", "adds", "label")
    ends = starts.select(pl.col("column") - 1, pl.col("y").alias("y_next"), "doc")
    lines = starts.join(ends, on=["column", "doc"], maintain_order="left")
    return lines.with_columns(pl.lit("line").alias("part"))


def add_levels(documents: pl.DataFrame, irrelevant: float) -> tuple[pl.DataFrame, dict[str, str]]:
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
        lowest_level, *names = format_distinct([irrelevant, *ends])
    else:
        width = (relevant[-1] - irrelevant) / 4
        ends = [irrelevant + width * step for step in (1, 2, 3)] + [relevant[-1]]
        lowest_level = f"{irrelevant:g}"
        names = [f"up to {_format_limit(end, relevant)}" for end in ends]
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
    colours = {lowest_level: IRRELEVANT_COLOUR} | dict(
        zip(names, build_ramp(LOWEST_GRADE_COLOUR, HIGHEST_GRADE_COLOUR, len(names)), strict=True)
    )
    colours[UNJUDGED_LEVEL] = "#ffffff"
    used_levels = set(graded_documents["level"])
    return graded_documents, {
        name: colour for name, colour in colours.items() if name in used_levels
    }


def format_distinct(values: Sequence[float]) -> list[str]:
    """Format different numbers with six digits, or more if two texts would be equal."""
    digits = range(6, 18)
    texts = ([f"{value:.{n}g}" for value in values] for n in digits)
    # Integers above 2**53 may differ in further digits.
    return next((each for each in texts if len({*each}) == len(each)), [*map(str, values)])


def _format_limit(limit: float, grades: Sequence[float]) -> str:
    """Format a limit with three digits, or more if needed.

    The rounded limit must divide the grades at the same place as the exact limit.
    """
    n_within = bisect_right(grades, limit)
    texts = (f"{limit:.{digits}g}" for digits in range(3, 18))
    is_within = (each for each in texts if bisect_right(grades, float(each)) == n_within)
    return next(is_within, str(limit))


def is_dark(colour: str) -> bool:
    """Return whether text on a colour must be white."""
    red, green, blue = split_colour(colour)
    return 0.299 * red + 0.587 * green + 0.114 * blue < 140  # noqa: PLR2004


def draw_tiles(  # noqa: PLR0915 (one layer after the other)
    table: pl.DataFrame,
    n: int,
    colours: Mapping[str, str],
    *,
    grade: str,
    strategy: str,
) -> tuple[list[alt.Chart], dict[str, Any]]:
    """Return the layers of the chart, and its width and height.

    Layers are the lines between tiles, the tiles, the bars beside them and the texts. `table` has
    the rows of `build_tile_rows` and a column `name`, the text on a tile. `colours` maps each level
    of `add_levels` to its colour.
    """
    documents, heads = table.filter(part="document"), table.filter(part="strategy")
    names, labels = heads["strategy"].to_list(), heads["label"].to_list()
    last_rank, lowest, max_added = documents.select(
        pl.col("rank").filter(pl.col("rank") <= n).max().fill_null(0),
        pl.col("y").max().fill_null(0),
        pl.col("adds").max().fill_null(0),
    ).row(0)
    # The pointer selects a document in all columns.
    selected = build_pointer(chart_rows.build_selection_name("document", table), "doc")
    look = choose_few_colours(names, strategy)
    width = compute_column_width(len(names))
    last = round(len(names) - 1 + BAR_END + 0.1, 2)
    all_ranks = list(range(1, last_rank + 1))
    labelled_ranks = (
        all_ranks if last_rank <= MAX_NUMBERED_RANKS else axis_ends.choose_rank_ticks(last_rank)
    )
    x_options = {"labels": False, "titleAnchor": "start", **LABELS_ONLY}
    y_options: dict[str, Any] = {
        "format": "d",
        "labelOverlap": False,
        "titleAngle": 0,
        "titleY": 22,
    }
    columns = bound_axis((2 * TIE_POSITION, last), zero=False, **x_options)
    # Names are vertical if columns are narrow, or if names cannot be shortened to fit.
    max_letters = max(MIN_HORIZONTAL_NAME_LETTERS, int(width / BOLD_LETTER_WIDTH))
    short_names = dict(zip(names, shorten_names(names, max_letters), strict=True))
    is_upright = (
        width < MIN_HORIZONTAL_NAME_WIDTH or max(map(len, short_names.values())) > max_letters
    )
    letters = min(MAX_LABEL_LETTERS, max(len(name) for name in names)) + len("  0.0000")
    top_y = -0.3 - letters * TILE_LETTER_WIDTH / ROW_HEIGHT if is_upright else -1.2
    ranks = bound_axis(
        (top_y, lowest + 0.6),
        reverse=True,
        zero=False,
        values=labelled_ranks,
        **y_options,
        **LABELS_ONLY,
    )

    def encode_across(field: str) -> alt.X:
        """Return the x channel of a field."""
        return alt.X(f"{field}:Q", title=None, **columns)

    def encode_down(field: str) -> alt.Y:
        """Return the y channel of a field."""
        return alt.Y(f"{field}:Q", title="rank", **ranks)

    extra_columns = [name for name in ("title", "tied", "gain") if name in table.columns]
    tooltip = list_tooltips(
        *(
            "strategy:N",
            "rank:Q",
            "doc:N",
            *(f"{name}:N" for name in extra_columns if name == "title"),
        ),
        alt.Tooltip("grade:Q", title=grade),
        *(f"{name}:N" for name in extra_columns if name == "tied"),
        *format_decimals(*(name for name in extra_columns if name == "gain"), "adds"),
        alt.Tooltip("share:Q", format=".1%"),
    )
    # While the pointer selects a document, the tiles and lines of other documents are faint.
    fading = {"opacity": alt.condition(selected, alt.value(1), alt.value(0.15))}
    has_numbers = width * BAR_WIDTH >= 5 * TILE_LETTER_WIDTH
    bar = f"{BAR_START} + {BAR_WIDTH} * datum.adds / {max_added}"

    # A line begins to the right of the bar or the text beside a tile. Without a bar and a text, the
    # line begins at the right edge of the tile.
    line_start = f"datum.adds > 0 ? {bar} : {TILE_WIDTH}"
    if has_numbers:
        line_start = f"datum.adds > 0 || isValid(datum.label) ? {BAR_END} : {TILE_WIDTH}"
    lines = _select_part(
        "line", start=f"datum.column + ({line_start})", end="datum.column + 1"
    ).mark_rule()
    stroke, stroke_opacity, stroke_width = (
        alt.condition("datum.relevant", alt.value(full), alt.value(else_))
        for full, else_ in ((find_ink(), DOUBT), (0.55, 0.35), (1, 1))
    )
    look_of_line = {"stroke": stroke, "strokeOpacity": stroke_opacity, "strokeWidth": stroke_width}
    line_position = {
        "x": encode_across("start"),
        "x2": alt.X2("end:Q"),
        "y": encode_down("y"),
        "y2": alt.Y2("y_next:Q"),
    }
    layers = [lines.encode(**line_position, **look_of_line, **fading)]
    # The fill shows grades, since `color` encodes strategies in all charts.
    sides = {"right": f"datum.column + {TILE_WIDTH}", **TILE_EDGES}
    shape = {
        "x": encode_across("column"),
        "x2": alt.X2("right:Q"),
        "y": encode_down("top"),
        "y2": alt.Y2("bottom:Q"),
    }
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    symbols = build_legend(symbolStrokeColor=REST, symbolType="square")
    fill = alt.Fill("level:N", title=grade, scale=scale, legend=symbols)
    filled = _select_part("document", **sides).mark_rect()
    filled = filled.encode(**shape, **fading, fill=fill, tooltip=tooltip)
    layers.append(add_selection(filled, selected))
    if UNJUDGED_LEVEL in colours:
        # Unjudged tiles are white, so they need an outline.
        unjudged = _select_part("document", f"datum.level === '{UNJUDGED_LEVEL}'", **sides)
        outline = unjudged.mark_rect(fill=None, stroke=DOUBT, strokeDash=[3, 2])
        layers.append(outline.encode(**shape, **fading))
    if documents["tied"].any():
        # The lines of adjacent tied tiles join into one.
        edges = {"top": "datum.y - 0.5", "bottom": "datum.y + 0.5"}
        tie_line = _select_part(
            "document", "datum.tied", at=f"datum.column + {TIE_POSITION}", **edges
        )
        tie_line = tie_line.mark_rule(strokeWidth=3, color=find_ink())
        down = {"y": encode_down("top"), "y2": alt.Y2("bottom:Q")}
        layers.append(tie_line.encode(x=encode_across("at"), **down))
    if max_added:
        ends = {
            "start": f"datum.column + {BAR_START}",
            "end": f"datum.column + {bar}",
            **TILE_EDGES,
        }
        # This colour contrasts about equally with light and dark backgrounds.
        bars = _select_part("document", "datum.adds > 0", **ends).mark_rect(
            color=DOUBT, fillOpacity=0.35
        )
        shape = {
            "x": encode_across("start"),
            "x2": alt.X2("end:Q"),
            "y": encode_down("top"),
            "y2": alt.Y2("bottom:Q"),
        }
        layers.append(bars.encode(**shape, tooltip=tooltip))
    # Texts are drawn only in columns that are wide enough.
    if width * TILE_WIDTH >= 9 * TILE_LETTER_WIDTH:
        dark = [name for name, colour in colours.items() if is_dark(colour)]
        on_dark = alt.FieldOneOfPredicate(field="level", oneOf=dark)
        text_colour = alt.condition(on_dark, alt.value("white"), alt.value(INK))
        room = width * TILE_WIDTH - 8
        words = _select_part("document").mark_text(
            align="left", dx=4, limit=room, fontSize=TILE_FONT_SIZE
        )
        position = {"x": encode_across("column"), "y": encode_down("y")}
        layers.append(
            words.encode(**position, text=alt.Text("name:N"), fill=text_colour, tooltip=tooltip)
        )
    if has_numbers:
        adds = alt.Text("adds:Q", format=".3f")
        for condition, colour, text in (
            ("datum.adds > 0", find_ink(), adds),
            ("isValid(datum.label)", DOUBT, alt.Text("label:N")),
        ):
            words = _select_part("document", condition, beside=f"datum.column + {BAR_START}")
            words = words.mark_text(align="left", dx=2, fontSize=TILE_FONT_SIZE, color=colour)
            layers.append(words.encode(x=encode_across("beside"), y=encode_down("y"), text=text))
    # The name and the value of each strategy are above its column.
    value_tooltip = list_tooltips("strategy:N", *format_decimals("value"))
    if is_upright:
        label = (
            f"({write_short_label('datum.strategy', names)}) + "
            "(isValid(datum.value) ? '  ' + format(datum.value, '.4f') : '')"
        )
        bold = _select_part(
            "strategy", middle=f"datum.column + {TILE_WIDTH / 2}", above="0.3", head=label
        )
        bold = bold.mark_text(align="left", angle=270, fontWeight="bold", color=find_ink())
        position = {"x": encode_across("middle"), "y": encode_down("above")}
    else:
        label = f"{json.dumps(short_names)}[datum.strategy]"
        bold = _select_part("strategy", above="-0.75", head=label)
        bold = bold.mark_text(align="left", fontWeight="bold", limit=width * 0.95, color=find_ink())
        position = {"x": encode_across("column"), "y": encode_down("above")}
    head = alt.Text("head:N")
    layers.append(bold.encode(**position, text=head, tooltip=value_tooltip, **look))
    if not is_upright:
        fits = width >= TILE_LETTER_WIDTH * max(len(label) for label in labels)
        text = alt.Text("label:N") if fits else alt.Text("value:Q", format=".3f")
        numbers = _select_part("strategy", "isValid(datum.value)", at="0")
        numbers = numbers.mark_text(align="left", fontSize=TILE_FONT_SIZE, color=find_ink())
        layers.append(numbers.encode(x=encode_across("column"), y=encode_down("at"), text=text))
    if lowest > last_rank:
        # A line separates the first n documents from the tiles below. A caption under the line
        # shows the number of relevant documents outside the first n.
        unit = next(
            (unit for unit in COUNT_WORDS if width >= (5 + len(unit)) * TILE_LETTER_WIDTH), ""
        )
        count_text = f"datum.below + '{unit}'"
        caption_fields = {"at": f"{last_rank + 1}", "caption": f"'' + {count_text}"}
        counts = _select_part("strategy", "datum.below > 0", **caption_fields)
        caption = counts.mark_text(align="left", fontSize=TILE_FONT_SIZE, color=DOUBT)
        line = alt.YDatum(last_rank + 0.5, title="rank", **ranks)
        layers += [
            build_one_row().mark_rule(color="gray").encode(line),
            caption.encode(
                x=encode_across("column"), y=encode_down("at"), text=alt.Text("caption:N")
            ),
        ]
    return layers, {"width": width * len(names), "height": ROW_HEIGHT * (lowest + 0.6 - top_y)}


def _select_part(name: str, *filters: str, **calculated: str) -> alt.Chart:
    """Return a chart of filtered rows of one `part`, with calculated fields."""
    chart: Any = alt.Chart().transform_filter(f"datum.part === '{name}'")
    for condition in filters:
        chart = chart.transform_filter(condition)
    return chart.transform_calculate(**calculated) if calculated else chart
