"""Chart of the data behind measures, drawn from a table of `overview`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import altair as alt
import polars as pl

from polars_graded._checks import check_collected, check_columns
from polars_graded._drawing import chart_checks, chart_rows, style
from polars_graded._drawing.chart_rows import Frame
from polars_graded._drawing.style import Chart
from polars_graded._frames.arguments import Columns
from polars_graded._measuring.keywords import checks_keywords
from polars_graded._sentences import format_count, format_percent, titles

CELL_HEADINGS = {
    "queries": ("", "", "queries"),
    "documents": ("documents", "retrieved,", "median (range)"),
    "retrieved": ("judged", "that are", "retrieved"),
    "judged": ("retrieved", "that are", "judged"),
    "judged@10": ("top 10", "that are", "judged"),
    "tied": ("retrieved", "that are", "tied"),
    "none_judged": ("queries,", "none", "judged"),
    "none_relevant": ("queries,", "none", "relevant"),
    "only_relevant": ("queries,", "all", "relevant"),
    "duplicates": ("rows that", "repeat a", "document"),
    "none_retrieved": ("queries,", "none", "retrieved"),
}
"""Lines of the heading above each column of cells."""

SHARE_COLUMNS = ("retrieved", "judged", "judged@10", "tied")
"""The columns that are shares of documents."""

QUERY_COLUMNS = ("none_judged", "none_relevant", "only_relevant", "none_retrieved")
"""The columns that are numbers of queries."""

ROW_COLUMNS = ("duplicates",)
"""The columns that are numbers of rows."""

HARMFUL_COLUMNS = {"none_judged", "none_retrieved", "duplicates"}
"""Columns that count defects of the data. Defects make means wrong, however good the ranking."""

BLUE, RED, YELLOW = "#2f7bbf", "#d9534a", "#e0a72e"
"""Colours of cells, through which the background shows: of shares and grades, of shares that warn
of wrong means, and of rows without a grade."""

EMPTY_SHARE, FILLED_SHARE = 0.15, 0.4
"""Shares of a colour in an empty cell, or in the lowest grade, and in a filled cell. The rest is
the background."""

CELL_WIDTHS = {"queries": 40, "documents": 84, "grades": 90}
CELL_WIDTH, CELL_GAP = 50, 6
"""Width of cells of columns not in `CELL_WIDTHS`, and space between cells, in pixels."""

MAX_FULL_HEIGHT_STRATEGIES = 20
"""Maximum number of strategies for rows of the full height; with more, all rows are lower."""

MAX_NAMED_GRADES = 5
"""Maximum number of grades that a heading lists completely."""


@checks_keywords
def overview(table: Frame, *, panel: Columns | None = None, strategy: str = "strategy") -> Chart:
    """Draw the data behind measures as a table of bars, one row per strategy.

    The filled part of a cell shows the share of documents or queries that the heading describes.
    Red warns that means of measures may be wrong. The shares of queries without a judged document
    and without a retrieved document are red, because most measures count these queries as 0 by
    default. For rows that repeat a document, a single row fills the cell with red. `evaluate`
    raises an error if it finds such a row. If more than half of the retrieved documents are tied,
    the order of ties decides much of the ranking. The share of ties is then red, and the title
    states it.

    Parameters
    ----------
    table
        One row per strategy, as `polars_graded.overview` returns it.
    panel
        The columns of panels, such as collections. By default, there are no panels.
    strategy
        The column of strategies.

    Returns
    -------
    LayerChart or FacetChart
        The chart contains one row per bar, with `strategy`, `what`, `text` (printed on the bar, or
        null), `start` and `end` (of the bar, in pixels) and `fill` (its colour). `what` is the
        column of the table; "documents" stands for the columns `least`, `median` and `most`. For a
        bar of `grades`, `what` is the grade and its number of rows. Strategies are in the order of
        the table. If panels are drawn, there is a column `panel`.

    Examples
    --------
    >>> import polars_graded
    >>> run = pl.DataFrame(
    ...     {"query": [1, 1, 2], "doc": ["a", "b", "a"], "score": [0.9, 0.5, 0.7]}
    ... )
    >>> qrels = pl.DataFrame({"query": [1, 1], "doc": ["b", "c"], "grade": [1, 2]})
    >>> joined = run.join(qrels, on=["query", "doc"], how="left")
    >>> chart = overview(polars_graded.overview(joined))
    >>> judged = pl.col("what").is_in(["judged", "none_judged"])
    >>> chart.data.drop_nulls("text").filter(judged).select("strategy", "what", "text")
    shape: (2, 3)
    ┌──────────┬─────────────┬──────┐
    │ strategy ┆ what        ┆ text │
    │ ---      ┆ ---         ┆ ---  │
    │ str      ┆ str         ┆ str  │
    ╞══════════╪═════════════╪══════╡
    │ score    ┆ judged      ┆ 33 % │
    │ score    ┆ none_judged ┆ 1    │
    └──────────┴─────────────┴──────┘
    """
    table = check_collected("table", table).with_row_index("row of the table")
    check_columns("table", [strategy, "grades"], table.columns)
    if (dtype := table.schema["grades"]) != GRADES_DTYPE:
        msg = f"`table` must have the lists of overview() in 'grades', got {dtype}"
        raise TypeError(msg)
    counts = ["queries", "least", "median", "most", *SHARE_COLUMNS, *QUERY_COLUMNS, *ROW_COLUMNS]
    strategy_rows = chart_rows.build_result_rows(
        "table", table, *counts, texts=(), strategy=strategy, panel=panel, unique_column="strategy"
    )
    names = strategy_rows["strategy"].unique(maintain_order=True).to_list()
    # Without scores and grades, a strategy has no list of grades.
    graded = table["grades"].filter(table["grades"].list.len() > 0)
    levels = graded.explode().struct.field("grade").unique().sort().to_list()
    left_edges = _place_cells()
    rows = []
    for strategy_row in strategy_rows.rows(named=True):
        grades = table["grades"][strategy_row["row of the table"]]
        cells = [
            *_build_cells(strategy_row, left_edges),
            *_build_grade_cells(grades, levels, left_edges["grades"]),
        ]
        rows += [
            {name: strategy_row.get(name) for name in ("strategy", "panel")} | cell
            for cell in cells
        ]
    cell_rows = pl.DataFrame(rows, schema=CELL_SCHEMA)
    if panel is None:
        cell_rows = cell_rows.drop("panel")
    chart_checks.check_row_count("table", cell_rows)
    headings = {left_edges[column]: list(lines) for column, lines in CELL_HEADINGS.items()}
    headings[left_edges["grades"]] = ["", "rows by grade:", _list_grades(levels)]
    width = left_edges["grades"] + CELL_WIDTHS["grades"]
    line_height = 18 if len(names) <= MAX_FULL_HEIGHT_STRATEGIES else 13
    layers, shared = _draw_cells(names, headings, width)
    description = (
        f"what was retrieved, judged and relevant, of {format_count(len(names), 'strategies')}"
    )
    words = style.Words(titles.title_gaps(strategy_rows.rows(named=True)), described=description)
    size: dict[str, Any] = {"width": width, "height": alt.Step(line_height), **style.FRAMELESS}
    return style.draw_panels(layers, cell_rows, panel, words, columns=1, encoding=shared, **size)


def _draw_cells(
    names: list[str], headings: dict[int, list[str]], width: int
) -> tuple[list[alt.Chart], alt.Encoding]:
    """Draw cells as bars and texts, one line per strategy, below headings.

    `headings` maps the left edge of a column of cells to the lines of its heading.
    """
    look: dict[str, Any] = {"ticks": False, "domain": False}
    y = style.build_names_axis("strategy", names, **look)
    y["scale"].paddingInner = 0.15
    labels = style.write_labels({at: str(lines) for at, lines in headings.items()})
    # Vega-Lite draws the first line of a heading `labelPadding` pixels above the cells, and the
    # other two lines below the first. The padding makes room for these two lines.
    look |= {"orient": "top", "values": list(headings), "labelExpr": labels, "grid": False}
    look |= {"labelAlign": "left", "labelLineHeight": 12, "labelPadding": 28, "labelOverlap": False}
    shared = alt.Encoding(
        x=alt.X("start:Q", title=None, **style.bound_axis((0, width), **look)), y=y
    )
    tooltip = style.list_tooltips("strategy:N", alt.Tooltip("what:N", title="column"), "text:N")
    base = alt.Chart().encode(x=alt.X("start:Q"), y=alt.Y("strategy:N"), tooltip=tooltip)
    printed = base.transform_filter("isValid(datum.text)")
    printed = printed.mark_text(align="left", dx=3, fontSize=10, color=style.TEXT_COLOUR)
    # A thin gap separates grades whose colours look alike in grey print.
    bars = base.mark_bar(stroke=alt.ExprRef(style.PAPER), strokeWidth=0.5)
    fill = alt.Fill("fill:N", scale=None, legend=None)
    return [bars.encode(x2="end", fill=fill), printed.encode(text="text:N")], shared


GRADES_DTYPE = pl.List(pl.Struct({"grade": pl.Float64, "rows": pl.UInt32}))
"""Type of the column `grades` of `overview`."""

CELL_TEXTS, CELL_PLACES = ("strategy", "panel", "what", "fill", "text"), ("start", "end")
CELL_SCHEMA: dict[str, Any] = dict.fromkeys(CELL_TEXTS, pl.String) | dict.fromkeys(
    CELL_PLACES, pl.Float64
)
"""Columns and types of the rows that draw a cell."""


def _place_cells() -> dict[str, int]:
    """Return the left edge of each column of cells, in pixels."""
    starts, left_edge = {}, 0
    for what in (*CELL_HEADINGS, "grades"):
        starts[what] = left_edge
        left_edge += CELL_WIDTHS.get(what, CELL_WIDTH) + CELL_GAP
    return starts


def _build_cells(
    strategy_row: dict[str, Any], left_edges: dict[str, int]
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a strategy's cells.

    A cell has a row for its background, and one for its filled part and its text. The cells of
    queries and documents have no filled part, and their backgrounds have the text.
    """
    queries = strategy_row["queries"]
    empty = style.fade(style.DOUBT, EMPTY_SHARE)
    low, median, high = (_format_number(strategy_row[name]) for name in ("least", "median", "most"))
    spread = median if low == high else f"{median} ({low}–{high})"
    for what, text in (("queries", _format_number(queries)), ("documents", spread)):
        yield _build_cell(what, left_edges[what], CELL_WIDTHS[what], empty, text)
    for what in (*SHARE_COLUMNS, *QUERY_COLUMNS, *ROW_COLUMNS):
        start, value = left_edges[what], strategy_row[what]
        share, text = value or 0, _format_number(value)
        if what in SHARE_COLUMNS and value is not None:
            text = format_percent(value, decimals=0)
        elif what in QUERY_COLUMNS:
            share /= queries
        share = min(1, share)  # one row that repeats a document fills the cell
        is_alarm = what in HARMFUL_COLUMNS or (what == "tied" and share > titles.MANY_TIED)
        fill = style.fade(RED if is_alarm else BLUE, FILLED_SHARE)
        yield _build_cell(what, start, CELL_WIDTH, empty)
        yield _build_cell(what, start, CELL_WIDTH * share, fill, text)


def _build_cell(
    what: str, start: float, width: float, fill: str, text: str | None = None
) -> dict[str, Any]:
    """Return the row of a bar and its text."""
    return {"what": what, "start": start, "end": start + width, "fill": fill, "text": text}


def _build_grade_cells(
    grades: pl.Series | None, levels: list[float | None], start: float
) -> Iterator[dict[str, Any]]:
    """Yield a bar for each grade, as wide as the grade's share of rows."""
    if grades is None:
        return  # the rows of the strategy have neither a score nor a grade
    total = sum(each["rows"] for each in grades)
    values = [level for level in levels if level is not None]
    unjudged = style.fade(YELLOW, FILLED_SHARE)
    for each in grades:
        grade, fill = each["grade"], unjudged
        if grade is not None:
            share = values.index(grade) / max(1, len(values) - 1)
            fill = style.fade(BLUE, EMPTY_SHARE + (1 - EMPTY_SHARE) * share)
        width = CELL_WIDTHS["grades"] * each["rows"] / total
        yield _build_cell(
            f"grade {_format_number(grade)}: {each['rows']:,} rows", start, width, fill
        )
        start += width


def _list_grades(levels: list[float | None]) -> str:
    """List the grades in one line.

    If there are more than `MAX_NAMED_GRADES`, list only the first two and the last.
    """
    names = ["none" if level is None else f"{level:g}" for level in levels]
    return (
        ", ".join(names)
        if len(names) <= MAX_NAMED_GRADES
        else f"{names[0]}, {names[1]} … {names[-1]}"
    )


def _format_number(value: float | None) -> str:
    """Format a count or a grade."""
    return "–" if value is None else f"{value:,.10g}"
