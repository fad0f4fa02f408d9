"""A look inside the rankings of one query."""

from __future__ import annotations

from typing import Any, Unpack

import altair as alt
import polars as pl

from polars_graded._checks import check_list, check_number, check_whole_number
from polars_graded._drawing import chart_checks, chart_rows, style, tiles
from polars_graded._drawing.chart_rows import Frame
from polars_graded._frames.contributions import check_sum, ranks_added
from polars_graded._frames.request import Request, RequestOptions, parse_grade
from polars_graded._measuring.keywords import takes_options_of
from polars_graded._sentences import format_count, titles


@takes_options_of(Request.of)
def rankings(
    frame: Frame,
    of: Any,
    measure: str | None = None,
    *,
    n: int = 20,
    doc: str = "doc",
    title: str | None = None,
    **options: Unpack[RequestOptions],
) -> alt.LayerChart:
    r"""Draw the rankings of one query side by side: where each document stands, and what it adds.

    A column is a strategy, a tile a document in the colour of its grade, white and dashed where it
    is unjudged. A line joins a document to itself in the next column, dark where it is relevant.
    Beside a tile stands what it adds to the measure at its rank; the sum over all ranks is the
    value above the column. Below the line are relevant documents that are not in the first n, with
    their ranks where they were retrieved. In a page, the document under the pointer stays and the
    others fade.

    Parameters
    ----------
    frame
        A row is a document of a query, with its grade and its scores, as for `evaluate`.
    of
        The query to look at, a value of the column `query`, or a tuple of one of each of several.
    measure
        What documents add to, by default `ndcg` at n. It has to be a sum over ranks, so that
        what a document adds does not depend on those below it:

        .. math:: M = \sum_{i=1}^{n} m_i, \quad m_i = M(d_1 \dots d_i) - M(d_1 \dots d_{i-1})

        As text: ``M = m_1 + … + m_n``, and m_i is by how much the i-th document raises M.

        These are `ndcg`, `ndcng`, `ncg`, `dcg`, `cg`, `mu_ap`, `ap`, `gap`, `q_measure`, `err`,
        `nerr`, `rbp`, `recall`, `generalized_recall`, `r_precision` and `reciprocal_rank`, with or
        without a cutoff. Not those that divide by how many documents were retrieved, nor with
        `ties`, which have no order of their own.
    query, grade, by, strategy, ties, descending
        As for `evaluate`.
    irrelevant, highest, relevant_from, undefined_as, condensed
        As for `evaluate`.
    n
        How many ranks.
    doc
        The column of the documents' ids, each once in a query.
    title
        A column of titles or texts, written on the tiles in place of the ids and in tooltips.

    Returns
    -------
    LayerChart
        Of rows whose `part` is what they draw. A `document` has `strategy`, `rank` (null where it
        was not retrieved), `doc`, `title`, `grade` (null where it is unjudged), `level` (the grade,
        or the range of grades that has its colour), `relevant`, `tied` (whether another document
        has its score), `adds`, its `share` of the value, and for measures that have a gain, `gain`.
        A `strategy` has its `value`, and how many relevant documents are `below` the line, of which
        ten are drawn: first those that another strategy has in its first n. `column`, `y` and
        `y_next` say where it stands.

    See Also
    --------
    polars_graded.side_by_side : The same as a table.

    Examples
    --------
    A relevant document adds :math:`(2^g - 1) / \log_2(i + 1)` over the best that can be had, which
    here is 3 + 1 / log2(3):

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
    check_whole_number("n", n)
    irrelevant = check_number("irrelevant", options.get("irrelevant", 0))
    chosen = check_sum(f"ndcg@{n}" if measure is None else measure)
    documents, values = ranks_added(
        frame, of, chosen, n, doc=doc, others={} if title is None else {"title": title}, **options
    )
    strategy = options.get("strategy") or "strategy"
    _, grade = parse_grade(options.get("grade", "grade"))
    query_columns = check_list("query", options.get("query", "query"))
    values_of = of if len(query_columns) > 1 else [of]
    query = ", ".join(
        f"{name} {value}" for name, value in zip(query_columns, values_of, strict=True)
    )
    texts = ["strategy", "doc", *(["title"] if title is not None else [])]
    documents = documents.with_columns(chart_rows.build_name_column(name) for name in texts)
    documents, colours = tiles.add_levels(documents, irrelevant)
    values = dict(zip(chart_rows.format_names(values), values.values(), strict=True))
    table = tiles.build_tile_rows(documents, values, n, chosen.name)
    chart_checks.check_row_count("frame", table)
    names = pl.col("doc" if title is None else "title").str.slice(0, 80)
    table = table.with_columns(
        names.alias("name"), pl.col("^title$").str.slice(0, tiles.MAX_TOOLTIP_LETTERS)
    )
    titles_of_columns = {"measure": chosen.name, "grade": grade, "strategy": strategy}
    layers, size = tiles.draw_tiles(table, n, colours, **titles_of_columns)
    described = style.list_values(f"rankings of {query}, {chosen.name}", values.items())
    columns = format_count(len(values), "rankings")
    number = f"+: what a document adds to {titles.measure_in_words(chosen.name)}"
    words = style.Words(f"{columns} of {query}, {chosen.name}", [number], described)
    return style.draw_layers(layers, table, words, apart=["fill"], **size, **style.FRAMELESS)
