"""Draw the rankings of one query: a column per strategy, a tile per document."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from polars_graded._checks import check_list, check_number, check_whole_number
from polars_graded._drawing import chart_rows, panels, style
from polars_graded._drawing.panels import Chart
from polars_graded._frames.arguments import By, Columns, Descending, Grade, parse_grade
from polars_graded._frames.inspecting import check_sum, compute_added_by_rank
from polars_graded._frames.tables import Frame
from polars_graded._measuring.document_columns import DEFAULT_DOC
from polars_graded._measuring.keywords import checks_call
from polars_graded._measuring.scale import Undefined
from polars_graded._measuring.ties import TiesArgument
from polars_graded._sentences import MAX_NAME_LETTERS, format_count, shorten_names
from polars_graded._sentences.titles import name_measure

TILE_WIDTH, TEXT_END, COLUMN_WIDTH = 0.5, 0.72, 0.8
"""Right ends of a tile, of the text beside it, and of the last column, as shares of the distance
between two columns."""

MAX_MISSED_DOCUMENTS = 10
"""Maximum number of tiles that a strategy has below its first n documents."""

MAX_JOINED_COLUMNS = 4
"""Maximum number of columns that lines connect. Lines between more columns are hard to follow."""

MIN_TEXT_WIDTH, MIN_NUMBER_WIDTH, MIN_VALUE_WIDTH = 108, 165, 60
"""Minimum widths of a column with names on tiles, with numbers beside them, and with a horizontal
name and a value of four decimals, in pixels."""

ROW_HEIGHT, TILE_FONT_SIZE, TILE_LETTER_WIDTH = 18, 10, 6.2
"""Height of a row of tiles, font size of texts, and width of a letter on a tile, in pixels."""

MAX_NUMBERED_RANKS = 25
"""Maximum number of ranks for which the axis shows every number."""

MAX_TITLE_LETTERS = 300
"""Maximum number of letters of a title in a tooltip. A tile shows as many as fit."""


@checks_call
def rankings(
    frame: Frame,
    of: Any,
    measure: str | None = None,
    *,
    n: int = 20,
    doc: str = DEFAULT_DOC,
    titles: str | None = None,
    query: Columns = "query",
    grade: Grade = "grade",
    by: By = "score",
    strategy: str | None = None,
    ties: TiesArgument = None,
    descending: Descending = None,
    irrelevant: float = 0.0,
    max_grade: float | None = None,
    relevant_from: float | None = None,
    undefined_as: Undefined = "default",
    condensed: bool = False,
) -> Chart:
    r"""Draw rankings of one query, and what each document adds to a measure.

    Strategies are columns, side by side. Each tile is a document; a darker tile has a higher grade,
    and an unjudged document has a dashed outline. A line connects the tiles of a document in
    neighbouring columns, and is dark if the document is relevant; with more than four columns,
    there are no such lines. The number beside a tile is the amount that the document adds to the
    measure at its rank, and the sum over all ranks is the value above the column. Below the
    horizontal line are relevant documents outside the first n, with their ranks if they were
    retrieved. On a web page, the document under the pointer stays and the others fade.

    The amount that a document adds does not depend on the documents below it:

    .. math:: M = \sum_{i=1}^{n} m_i, \quad m_i = M(d_1 \dots d_i) - M(d_1 \dots d_{i-1})

    As text: ``M = m_1 + … + m_n``, where m_i is what the i-th document adds to M.

    Such measures are `ndcg`, `ndcng`, `ncg`, `dcg`, `cg`, `mu_ap`, `ap`, `gap`, `q_measure`, `err`,
    `nerr`, `rbp`, `insq`, `recall`, `generalized_recall` and `reciprocal_rank`, with or without a
    cutoff, `sdcg` with a cutoff, and `r_precision`. Other measures raise an error. So does
    `ap(over=retrieved)`, because it divides by the number of relevant documents retrieved, and a
    measure with an option `ties` other than `order`, because it ignores the order of tied
    documents.

    Parameters
    ----------
    frame
        One row per document of a query, with its grade and its scores, as for `evaluate`.
    of
        The query to draw: a value of the column `query`. If several columns form the query, a tuple
        with their values, such as `("q1", "de")`.
    measure
        The measure to which documents add, by default `ndcg` at n. It must be a sum over ranks, as
        above.
    query, grade, by, strategy, ties, descending
        As for `evaluate`.
    irrelevant, max_grade, relevant_from, undefined_as, condensed
        As for `evaluate`.
    n
        The number of ranks to draw.
    doc
        The column of the documents' ids, which must be unique in a ranking; by default a column
        called "doc", "product_id" or another usual name.
    titles
        A column of titles or texts. Tiles show them instead of ids; tooltips show both.

    Returns
    -------
    LayerChart
        In the data of the chart, the column `part` names what a row of the `query` draws: a
        `document`, a `line` or a `strategy`. A `document` has `strategy`, `rank` (null if it was
        not retrieved), `doc`, with `titles` the `title`, `grade` (null if it is unjudged),
        `relevant`, `tied` (whether another document has the same score), `adds` (the amount that it
        adds to the measure, null below rank n) and its `share` of the value. A `strategy` has its
        `value`. At most ten documents per strategy are drawn below the horizontal line; documents
        in the first n of another strategy have priority. `column`, `y` and `y_next` are positions.

    See Also
    --------
    polars_graded.side_by_side : The same as a table.

    Examples
    --------
    A relevant document adds :math:`(2^g - 1) / \log_2(i + 1)`, divided by the DCG of the ideal
    ranking, which here is 3 + 1 / log2(3):

    >>> df = pl.DataFrame({"query": "q1", "doc": ["x", "y", "z"], "grade": [1, 2, None]})
    >>> df = df.with_columns(bm25=pl.Series([3, None, 1]), ours=pl.Series([0.1, 0.9, None]))
    >>> drawn = rankings(df, "q1", by=["bm25", "ours"]).data.filter(part="document")
    >>> drawn.select("strategy", "rank", "doc", "grade", "adds")
    shape: (5, 5)
    ┌──────────┬──────┬─────┬───────┬──────────┐
    │ strategy ┆ rank ┆ doc ┆ grade ┆ adds     │
    │ ---      ┆ ---  ┆ --- ┆ ---   ┆ ---      │
    │ str      ┆ u32  ┆ str ┆ f64   ┆ f64      │
    ╞══════════╪══════╪═════╪═══════╪══════════╡
    │ bm25     ┆ 1    ┆ x   ┆ 1.0   ┆ 0.275412 │
    │ bm25     ┆ 2    ┆ z   ┆ null  ┆ 0.0      │
    │ ours     ┆ 1    ┆ y   ┆ 2.0   ┆ 0.826235 │
    │ ours     ┆ 2    ┆ x   ┆ 1.0   ┆ 0.173765 │
    │ bm25     ┆ null ┆ y   ┆ 2.0   ┆ null     │
    └──────────┴──────┴─────┴───────┴──────────┘
    """
    return draw_rankings(
        frame,
        [of],
        measure,
        n=n,
        doc=doc,
        titles=titles,
        query=query,
        grade=grade,
        by=by,
        strategy=strategy,
        ties=ties,
        descending=descending,
        irrelevant=irrelevant,
        max_grade=max_grade,
        relevant_from=relevant_from,
        undefined_as=undefined_as,
        condensed=condensed,
    )


def draw_rankings(
    frame: Frame,
    queries: Sequence[Any],
    measure: str | None,
    *,
    n: int,
    doc: str,
    titles: str | None,
    strategies: Sequence[str] = (),
    max_strategies: int | None = None,
    **options: Any,
) -> Chart:
    """Draw the rankings of queries over each other, with the title of the first one.

    The rows of a query have its name in the column `query`. A page shows one query at a time, and
    the first of some strategies.
    """
    check_whole_number("n", n)
    irrelevant = check_number("irrelevant", options.get("irrelevant", 0))
    parsed_measure = check_sum(f"ndcg@{n}" if measure is None else measure)
    documents, heads = compute_added_by_rank(
        frame,
        queries,
        parsed_measure,
        n,
        doc=doc,
        titles=titles,
        **options,
    )
    if strategies:
        available = heads["strategy"].unique(maintain_order=True).to_list()
        shown = [name for name in strategies if name in available][:max_strategies]
        if not shown:
            expected, got = map(", ".join, (strategies, available))
            msg = f"`frame` must have the strategies {expected}, got {got}"
            raise ValueError(msg)
        is_shown = pl.col("strategy").is_in(shown)
        documents, heads = documents.filter(is_shown), heads.filter(is_shown)
    _, grade = parse_grade(options.get("grade", "grade"))
    query_columns = check_list("query", options.get("query", "query"))
    query_parts = queries[0] if len(query_columns) > 1 else queries[:1]
    query = ", ".join(
        f"{name} {value}" for name, value in zip(query_columns, query_parts, strict=True)
    )
    texts = ["query", "strategy", "doc", *(["title"] if titles is not None else [])]
    documents = documents.with_columns(chart_rows.build_name_column(name) for name in texts)
    heads = heads.with_columns(map(chart_rows.build_name_column, ("query", "strategy")))
    table = _build_parts(documents, heads, n)
    chart_rows.check_count("rows", table.height)
    table = table.with_columns(pl.col("^title$").str.slice(0, MAX_TITLE_LETTERS))
    table = table.with_columns(name="doc" if titles is None else "title")
    n_strategies = heads["strategy"].n_unique()
    grades = irrelevant, options.get("max_grade")
    layers, settings = _draw_tiles(table, *grades, grade)
    notes = []
    if settings["width"] >= MIN_NUMBER_WIDTH * n_strategies:
        notes.append(f"+: what a document adds to {name_measure(parsed_measure.name)}")
    if table.filter(part="document")["grade"].has_nulls():
        notes.append("dashed: unjudged")
    if (documents["relevant"] & (documents["rank"].fill_null(n + 1) > n)).any():
        notes.append(f"below the line: up to {MAX_MISSED_DOCUMENTS} further relevant documents")
    headline = title_rankings(query, n_strategies, parsed_measure.name)
    return panels.draw_panels(
        layers, table, None, headline, notes, independent=["fill"], **settings
    )


def title_rankings(query: str, n: int, measure: str) -> str:
    """Return the title of the rankings of a query by n strategies."""
    return f"{format_count(n, 'rankings')} of {query}, {name_measure(measure)}"


def _build_parts(documents: pl.DataFrame, heads: pl.DataFrame, n: int) -> pl.DataFrame:
    """Return the rows to draw, each a tile, a line or the value of a strategy.

    `heads` has the `value` of the measure for each query and strategy. `part` is "document" for a
    tile, "line" for a line between two tiles and "strategy" for a value. `column` is the number of
    the strategy. For one of the first n documents, `y` is the rank. For any other document, `y` is
    a position below the first n documents of all queries.
    """
    names = heads["strategy"].unique(maintain_order=True)
    column_numbers = pl.DataFrame({"strategy": names}).with_row_index("column")
    heads = heads.join(column_numbers, on="strategy", maintain_order="left").with_columns(
        pl.col("column").cast(pl.Int64)
    )
    documents = documents.join(heads, on=["query", "strategy"], maintain_order="left")
    top = documents.filter(pl.col("rank") <= n).with_columns(y=pl.col("rank").cast(pl.Float64))
    missed = documents.filter("relevant", (pl.col("rank") > n) | pl.col("rank").is_null())
    # Documents in the first n of another strategy have priority.
    is_in_top = top.select("query", "doc", is_in_top=True).unique()
    missed = missed.join(is_in_top, on=["query", "doc"], how="left", maintain_order="left").sort(
        *("is_in_top", "grade", "rank", "doc"),
        descending=[True, True, False, False],
        nulls_last=True,
    )
    by_strategy = missed.drop("is_in_top").group_by("query", "strategy", maintain_order=True)
    below = by_strategy.head(MAX_MISSED_DOCUMENTS).sort(
        "column", "rank", "grade", "doc", descending=[False, False, True, False], nulls_last=True
    )
    last: Any = top["rank"].max() or 0
    place = pl.int_range(pl.len()).over("query", "strategy") + last + 1.5
    rank = pl.when(pl.col("rank").is_null()).then(pl.lit("no rank"))
    below = below.with_columns(
        y=place.cast(pl.Float64),
        label=rank.otherwise(pl.format("rank {}", "rank")),
        adds=pl.lit(None, pl.Float64),
    )
    tiles = pl.concat([top, below], how="diagonal")
    share = pl.when(pl.col("value") > 0).then(pl.col("adds") / pl.col("value"))
    tiles = tiles.with_columns(part=pl.lit("document"), share=share).drop("value")
    heads = heads.with_columns(part=pl.lit("strategy"))
    return pl.concat([tiles, _build_lines(tiles), heads], how="diagonal")


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


def _draw_tiles(
    table: pl.DataFrame, irrelevant: float, max_grade: float | None, grade: str
) -> tuple[list[alt.Chart], dict[str, Any]]:
    """Return the layers of the chart, and its shared encoding, width and height."""
    documents, heads = table.filter(part="document"), table.filter(part="strategy")
    names = heads["strategy"].unique(maintain_order=True).to_list()
    last: Any = documents.filter(pl.col("label").is_null())["rank"].max() or 0
    lowest: Any = documents["y"].max() or 0
    highest: Any = documents["grade"].max() if max_grade is None else max_grade
    highest = irrelevant + 1 if highest is None or highest <= irrelevant else highest
    width = max(24, min(280, 700 // len(names)))
    bottom, right = lowest + 0.6, len(names) - 1 + COLUMN_WIDTH
    ink: Any = style.TEXT_COLOUR
    # The pointer selects a document in all columns. While it does, other documents are faint.
    selected = style.build_pointer(chart_rows.build_selection_name("document", table), "doc")
    fading = {"opacity": style.choose_value(alt.OpacityValue, selected, 1, 0.15)}
    tooltip = _list_document_tooltips(table, grade)
    tiles = _select_part(
        "document",
        y="top",
        right=f"datum.column + {TILE_WIDTH}",
        top="datum.y - 0.44",
        bottom="datum.y + 0.44",
        shade=f"isValid(datum.grade) ? max(datum.grade, {irrelevant!r}) : {irrelevant!r}",
    ).encode(**fading)
    ends: dict[str, Any] = {"x2": alt.X2("right"), "y2": alt.Y2("bottom")}
    # The fill shows grades, since `color` encodes strategies in all charts.
    scale = style.build_cell_scale(highest)
    scale.domain = [irrelevant, highest]
    # Without these values, the legend of the grades 0 and 1 would also show 0.5.
    are_whole = (documents["grade"] % 1 == 0).all()
    ticks = _choose_grade_ticks(irrelevant, highest)
    legend = alt.Legend(values=ticks) if are_whole else alt.Legend(tickCount=5)
    fill = alt.Fill("shade:Q", title=grade, scale=scale, legend=legend)
    judged = "isValid(datum.grade)"
    filled = tiles.mark_rect(strokeWidth=0.7).encode(
        **ends,
        fill=fill,
        stroke=style.choose_value(alt.StrokeValue, judged, style.DOUBT, "transparent"),
        tooltip=tooltip,
    )
    dashed = tiles.transform_filter(f"!{judged}").encode(**ends)
    dashed = dashed.mark_rect(fill=None, stroke=style.DOUBT, strokeDash=[3, 2])
    column_width = f"(item.mark.group.width / {right})"
    limit = alt.ExprRef(f"max(1, {column_width} * {TILE_WIDTH} - 8)")
    share = f"((datum.shade - {irrelevant!r}) / {highest - irrelevant!r})"
    # Ids often begin alike, so a long name loses its middle and not its end.
    letters = f"max(2, floor({column_width} * {TILE_WIDTH} - 8) / {TILE_LETTER_WIDTH})"
    ends_of_name = (
        f"slice(datum.name, 0, floor({letters} / 2) - 1) + '…' + "
        f"slice(datum.name, -floor({letters} / 2))"
    )
    shown = alt.ExprRef(f"length(datum.name) > {letters} ? {ends_of_name} : datum.name")
    on_tiles = tiles.mark_text(
        align="left", dx=4, limit=limit, fontSize=TILE_FONT_SIZE, text=shown
    ).encode(
        y=alt.Y("y:Q"),
        fill=alt.FillValue(style.contrast_with_cell(share)),
        tooltip=tooltip,
    )
    stroke = style.choose_value(alt.StrokeValue, "datum.relevant", ink, style.DOUBT)
    has_text = "datum.adds > 0 || isValid(datum.label)"
    start = f"datum.column + ({has_text} ? {TEXT_END} : {TILE_WIDTH})"
    lines = _select_part("line", x="start", start=start, end="datum.column + 1")
    lines = lines.mark_rule(strokeOpacity=0.5).encode(
        x2=alt.X2("end"), y2=alt.Y2("y_next"), stroke=stroke, **fading
    )
    layers = [lines, style.add_selection(filled, selected), dashed]
    if width >= MIN_TEXT_WIDTH:
        layers.append(on_tiles)
    if width >= MIN_NUMBER_WIDTH:
        text = (
            "isValid(datum.label) ? datum.label : datum.adds > 0 ? format(datum.adds, '+.3f') : ''"
        )
        beside = _select_part(
            "document", x="right", right=f"datum.column + {TILE_WIDTH}", text=text
        )
        beside = beside.mark_text(align="left", dx=5, fontSize=TILE_FONT_SIZE, color=ink)
        layers.append(beside.encode(text=alt.Text("text:N")))
    layers.append(_draw_values(width))
    if lowest > last:
        layers.append(style.draw_rule("y", "y", last + 0.75))
    size = {"width": width * len(names), "height": ROW_HEIGHT * (bottom + 0.5)}
    encoding = _encode_places(names, last, right, bottom, width)
    return layers, size | {"encoding": encoding, "view": alt.ViewBackground(stroke=None)}


def _draw_values(width: int) -> alt.Chart:
    """Draw the value of each strategy above its column."""
    number = f"format(datum.value, '{'.4f' if width >= MIN_VALUE_WIDTH else '.2f'}')"
    values = _select_part(
        "strategy", y="top", top="0", text=f"isValid(datum.value) ? {number} : ''"
    )
    ink: Any = style.TEXT_COLOUR
    values = values.mark_text(align="left", fontSize=TILE_FONT_SIZE, color=ink)
    return values.encode(text=alt.Text("text:N"))


def _encode_places(
    names: list[str], last: int, right: float, bottom: float, width: int
) -> alt.Encoding:
    """Return the axes: names of strategies above their columns, and ranks beside the tiles."""
    is_narrow = width < MIN_VALUE_WIDTH
    limit = 300 if is_narrow else int(0.95 * width)
    short_names = shorten_names(names, min(MAX_NAME_LETTERS, limit // style.LETTER_WIDTH))
    column_axis: dict[str, Any] = {
        "values": [*range(len(names))],
        "labelExpr": f"{json.dumps(short_names)}[datum.value]",
        "labelAngle": -90 if is_narrow else 0,
        "labelAlign": "left",
        "labelFontWeight": "bold",
        "labelLimit": limit,
        "labelOverlap": False,
        "orient": "top",
    }
    ranks = range(1, last + 1) if last <= MAX_NUMBERED_RANKS else style.choose_rank_ticks(last)
    rank_axis: dict[str, Any] = {"values": [*ranks], "format": "d", "titleAngle": 0}
    rank_axis |= {"titleY": 4, "titleX": -16}
    labels_only: dict[str, Any] = {"grid": False, "domain": False, "ticks": False}
    return alt.Encoding(
        x=alt.X(
            "column:Q", title=None, **style.bound_axis((0, right), **column_axis, **labels_only)
        ),
        y=alt.Y(
            "y:Q", title="rank", **style.bound_axis((bottom, -0.5), **rank_axis, **labels_only)
        ),
    )


def _list_document_tooltips(table: pl.DataFrame, grade: str) -> list[alt.Tooltip]:
    """Return the tooltips of a document."""
    tooltips: list[Any] = ["strategy:N", "rank:Q", "doc:N"]
    tooltips += ["title:N"] if "title" in table.columns else []
    tooltips += [alt.Tooltip("grade:Q", title=grade), "tied:N"]
    tooltips += [*style.format_decimals("adds"), alt.Tooltip("share:Q", format=".1%")]
    return style.list_tooltips(*tooltips)


def _choose_grade_ticks(lowest: float, highest: float) -> list[float]:
    """Return up to 6 values for the legend of whole grades, with both ends of the scale."""
    step = math.ceil((highest - lowest) / 5)
    inner = (lowest + step * i for i in range(5))
    # A value just below the highest one would touch it.
    return [*(value for value in inner if value < highest - step / 2), highest]


def _select_part(name: str, *, x: str = "column", y: str = "y", **calculated: str) -> alt.Chart:
    """Return a chart of the rows of one `part`, with calculated fields, at x and y."""
    chart: Any = alt.Chart().transform_filter(f"datum.part === '{name}'")
    if calculated:
        chart = chart.transform_calculate(**calculated)
    return chart.encode(x=alt.X(f"{x}:Q"), y=alt.Y(f"{y}:Q"))
