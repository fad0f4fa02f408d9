"""Draw the rankings of one query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from polars_graded._checks import check_list, check_number, check_whole_number
from polars_graded._drawing import chart_checks, chart_rows, style, tiles
from polars_graded._drawing.chart_rows import Frame
from polars_graded._frames.arguments import By, Column, Columns, Descending, Grade, parse_grade
from polars_graded._frames.contributions import check_sum, compute_added_by_rank
from polars_graded._measuring.document_columns import DEFAULT_DOC
from polars_graded._measuring.keywords import checks_keywords
from polars_graded._measuring.scale import Undefined
from polars_graded._measuring.ties import TiesArgument
from polars_graded._sentences import format_count, titles


@checks_keywords
def rankings(
    frame: Frame,
    of: Any,
    measure: str | None = None,
    *,
    n: int = 20,
    doc: str = DEFAULT_DOC,
    title: str | None = None,
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
    where: Column | None = None,
) -> alt.LayerChart:
    r"""Draw rankings of one query, and what each document adds to a measure.

    Strategies are columns, side by side. Each tile is a document in the colour of its grade; an
    unjudged document has only a dashed outline. A thick bar at the left of a tile marks a
    document with the same score as another. A line connects the tiles of a document in neighbouring
    columns, and is strong if the document is relevant; with more than four columns, there are no
    such lines. The number beside a tile is the amount that the document adds to the measure at its
    rank, and the sum over all ranks is the value above the column. Below the horizontal line are
    relevant documents outside the first n, with their ranks if they were retrieved. On a web page,
    the document under the pointer stays and the others fade.

    The amount that a document adds does not depend on the documents below it:

    .. math:: M = \sum_{i=1}^{n} m_i, \quad m_i = M(d_1 \dots d_i) - M(d_1 \dots d_{i-1})

    As text: ``M = m_1 + … + m_n``, where m_i is what the i-th document adds to M.

    Such measures are `ndcg`, `ndcng`, `ncg`, `dcg`, `cg`, `mu_ap`, `ap`, `gap`, `q_measure`, `err`,
    `nerr`, `rbp`, `sdcg`, `insq`, `recall`, `generalized_recall` and `reciprocal_rank`, with or
    without a cutoff, and `r_precision`. Other measures raise an error. So does
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
    irrelevant, max_grade, relevant_from, undefined_as, condensed, where
        As for `evaluate`.
    n
        The number of ranks to draw.
    doc
        The column of the documents' ids, which must be unique in a ranking; by default a column
        called "doc", "product_id" or another usual name.
    title
        A column of titles or texts. Tiles show them instead of ids; tooltips show both.

    Returns
    -------
    LayerChart
        In the data of the chart, the column `part` names what a row of the `query` draws: a
        `document`, a `line` or a `strategy`. A `document` has `strategy`, `rank` (null if it was
        not retrieved), `doc`, `title`, `grade` (null if it is unjudged), `level` (the grade, or the
        range of grades with the same colour), `relevant`, `tied` (whether another document has the
        same score), `adds` (the amount that it adds to the measure, null below rank n), its `share`
        of the value, and for measures with a gain, its `gain`. A `strategy` has its `value` and the
        number of relevant documents `below` the horizontal line. At most ten documents per strategy
        are drawn there; documents in the first n of another strategy have priority. `column`, `y`
        and `y_next` are positions.

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
    >>> drawn.select("strategy", "rank", "doc", "level", "adds")
    shape: (5, 5)
    ┌──────────┬──────┬─────┬──────────┬──────────┐
    │ strategy ┆ rank ┆ doc ┆ level    ┆ adds     │
    │ ---      ┆ ---  ┆ --- ┆ ---      ┆ ---      │
    │ str      ┆ u32  ┆ str ┆ str      ┆ f64      │
    ╞══════════╪══════╪═════╪══════════╪══════════╡
    │ bm25     ┆ 1    ┆ x   ┆ 1        ┆ 0.275412 │
    │ bm25     ┆ 2    ┆ z   ┆ unjudged ┆ 0.0      │
    │ ours     ┆ 1    ┆ y   ┆ 2        ┆ 0.826235 │
    │ ours     ┆ 2    ┆ x   ┆ 1        ┆ 0.173765 │
    │ bm25     ┆ null ┆ y   ┆ 2        ┆ null     │
    └──────────┴──────┴─────┴──────────┴──────────┘
    """
    return draw_rankings(
        frame,
        [of],
        measure,
        n=n,
        doc=doc,
        title=title,
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
        where=where,
    )


def draw_rankings(
    frame: Frame,
    queries: Sequence[Any],
    measure: str | None,
    *,
    n: int,
    doc: str,
    title: str | None,
    **options: Any,
) -> alt.LayerChart:
    """Draw the rankings of queries over each other, with the words of the first one.

    The rows of a query have its name in the column `query`. A page shows one query at a time.
    """
    check_whole_number("n", n)
    irrelevant = check_number("irrelevant", options.get("irrelevant", 0))
    parsed_measure = check_sum(f"ndcg@{n}" if measure is None else measure)
    documents, values = compute_added_by_rank(
        frame,
        queries,
        parsed_measure,
        n,
        doc=doc,
        others={} if title is None else {"title": title},
        **options,
    )
    _, grade = parse_grade(options.get("grade", "grade"))
    query_columns = check_list("query", options.get("query", "query"))
    query_values = queries[0] if len(query_columns) > 1 else queries[:1]
    query = ", ".join(
        f"{name} {value}" for name, value in zip(query_columns, query_values, strict=True)
    )
    text_columns = ["query", "strategy", "doc", *(["title"] if title is not None else [])]
    documents = documents.with_columns(chart_rows.build_name_column(name) for name in text_columns)
    documents, colours = tiles.add_levels(documents, irrelevant)
    values = values.with_columns(map(chart_rows.build_name_column, ("query", "strategy")))
    table = tiles.build_tile_rows(documents, values, n)
    chart_checks.check_row_count("frame", table)
    names = pl.col("doc" if title is None else "title").str.slice(0, 80)
    table = table.with_columns(
        names.alias("name"), pl.col("^title$").str.slice(0, tiles.MAX_TOOLTIP_LETTERS)
    )
    measure_name = titles.name_measure(parsed_measure.name)
    layers, look = tiles.draw_tiles(table, n, colours, grade, measure_name)
    notes = [f"+: what a document adds to {titles.measure_in_words(parsed_measure.name)}"]
    if documents["tied"].any():
        notes.append("bar at the left: tied")
    if (table["below"] > tiles.MAX_MISSED_DOCUMENTS).any():
        notes.append(f"below the line: {tiles.MAX_MISSED_DOCUMENTS} of the relevant documents")
    of_first = values.filter(pl.col("query") == values["query"][0])
    finding, described = describe_rankings(query, of_first, parsed_measure.name)
    words = style.Words(finding, notes, described)
    return style.draw_layers(layers, table, words, independent=["fill"], **look, **style.FRAMELESS)


def describe_rankings(query: str, values: pl.DataFrame, measure: str) -> tuple[str, str]:
    """Return the title and the description of the rankings of a query.

    `values` has the `value` of the query for each `strategy`.
    """
    columns, measure = format_count(values.height, "rankings"), titles.name_measure(measure)
    pairs = values.select("strategy", "value").rows()
    described = style.list_values(f"rankings of {query}, {measure}", pairs)
    return f"{columns} of {query}, {measure}", described
