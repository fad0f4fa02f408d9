"""Overview of a frame before measuring, and rankings side by side."""

from __future__ import annotations

from typing import Any

import polars as pl
import polars.selectors as cs

from polars_graded._checks import check_whole_number
from polars_graded._frames.arguments import By, Columns, Descending, Grade
from polars_graded._frames.contributions import (
    RETRIEVED_RANK,
    TIED,
    rank_rows_of_strategies,
    select_queries,
)
from polars_graded._frames.data_warnings import JUDGED_AT_THE_TOP
from polars_graded._frames.ranking_checks import group_rankings
from polars_graded._frames.request import Request
from polars_graded._frames.values import Gathered
from polars_graded._measuring.document_columns import DEFAULT_DOC
from polars_graded._measuring.expression import rank_rows
from polars_graded._measuring.keywords import checks_call
from polars_graded._measuring.scale import Undefined
from polars_graded._measuring.ties import TiesArgument
from polars_graded._warnings import DataWarning, warn_the_caller

__all__ = ["overview", "side_by_side"]

OVERVIEW_COLUMNS = (
    *("queries", "retrieved", "judged", "least", "median", "most", "grades", "only_relevant"),
    *("duplicates", "none_retrieved", "judged@10", "tied", "none_judged", "none_relevant"),
)
"""Columns of `overview`. Polars prints only the first and the last columns of a wide table, so the
most important columns are at both ends."""

STRATEGY_KEY, GRADE, RETRIEVED, DOCUMENT = (
    f"polars_graded: {name}" for name in ("strategy", "grade", "retrieved", "document")
)
"""Names of temporary columns, which no frame has."""


@checks_call
def overview(
    frame: Any,
    *,
    query: Columns = "query",
    grade: Grade = "grade",
    by: By = "score",
    strategy: str | None = None,
    ties: TiesArgument = None,
    descending: Descending = None,
    doc: str | None = DEFAULT_DOC,
    irrelevant: float = 0.0,
    max_grade: float | None = None,
    relevant_from: float | None = None,
    undefined_as: Undefined = "default",
    condensed: bool = False,
) -> pl.DataFrame:
    """Count what was retrieved, judged and relevant in a frame, before measuring.

    Each row of the result is a strategy. The counts show common reasons for wrong means: judgments
    that a join lost, queries without judgments, strategies that did not run, and ties.

    Parameters
    ----------
    frame
        Any data frame, as for `evaluate`. A LazyFrame is collected.
    query, grade, by, strategy, ties, descending, doc
        As for `evaluate`.
    irrelevant, max_grade, relevant_from, undefined_as, condensed
        As for `evaluate`.

    Returns
    -------
    DataFrame
        One row per strategy, in the order of `evaluate`. Shares are Float64 from 0 to 1, or null if
        the divisor is 0. Numbers of queries and of rows are UInt32. The columns are:

        - the strategy (under the name of its column) and `queries`;
        - `retrieved`: the share of judged documents that were retrieved. A left or inner join of a
          run with judgments loses all judged documents that were not retrieved. The share is then
          1;
        - `judged`: the share of retrieved documents that are judged;
        - `least`, `median` (Float64) and `most`: the lowest, median and highest number of documents
          retrieved for a query;
        - `grades`: a list with one struct per grade, in ascending order. The fields are `grade`
          (Float64, null for unjudged documents) and `rows`, the number of rows with this grade;
        - `only_relevant` and `none_retrieved`: the numbers of queries whose judged documents are
          all relevant, and of queries for which nothing was retrieved;
        - `duplicates`: the number of rows that repeat a document of the same query and strategy;
          null if no column of documents was found. `evaluate` raises an error for such rows;
        - `judged@10`: the share of judged documents among the first ten, averaged over the queries
          for which documents were retrieved;
        - `tied`: the share of retrieved documents that are tied. Two documents of a query are tied
          if they have equal values in all columns of `by` (the score and any further columns) and
          in all columns of `ties`;
        - `none_judged` and `none_relevant`: the numbers of queries without a judged document, and
          of queries with judged but no relevant documents.

    Raises
    ------
    ValueError
        If `descending` is not passed for a score that looks like ranks, as for `evaluate`.

    See Also
    --------
    evaluate : Measures of the frame, with warnings about some of these counts.
    join_judgments : Join a run and its judgments without loss.

    Examples
    --------
    A left join keeps queries without judgments, and loses judged documents that were not retrieved:

    >>> run = pl.DataFrame(
    ...     {"query": [1, 1, 2], "doc": ["a", "b", "a"], "score": [0.9, 0.5, 0.7]}
    ... )
    >>> qrels = pl.DataFrame({"query": [1, 1], "doc": ["b", "c"], "grade": [1, 2]})
    >>> shown = ["queries", "retrieved", "judged", "none_judged"]
    >>> overview(run.join(qrels, on=["query", "doc"], how="left")).select("strategy", *shown)
    shape: (1, 5)
    ┌──────────┬─────────┬───────────┬──────────┬─────────────┐
    │ strategy ┆ queries ┆ retrieved ┆ judged   ┆ none_judged │
    │ ---      ┆ ---     ┆ ---       ┆ ---      ┆ ---         │
    │ str      ┆ u32     ┆ f64       ┆ f64      ┆ u32         │
    ╞══════════╪═════════╪═══════════╪══════════╪═════════════╡
    │ score    ┆ 2       ┆ 1.0       ┆ 0.333333 ┆ 1           │
    └──────────┴─────────┴───────────┴──────────┴─────────────┘
    """
    request = Request.of(
        frame,
        ["n_relevant", JUDGED_AT_THE_TOP.name],
        query=query,
        grade=grade,
        by=by,
        strategy=strategy,
        ties=ties,
        descending=descending,
        doc=doc,
        irrelevant=irrelevant,
        max_grade=max_grade,
        relevant_from=relevant_from,
        undefined_as=undefined_as,
        condensed=condensed,
    )
    rows = request.add_computed_columns(frame.lazy().select(request.needed_columns).collect())
    groups = group_rankings(request, rows)
    gathered = Gathered(request)
    gathered.add(groups)
    notes, values = gathered.notes, gathered.sort_values()
    names = dict(zip(request.result_keys, [notes.strategy, *notes.query], strict=True))
    queries = (
        values.rename(names)
        .join(notes.table, on=[*names.values()], nulls_equal=True, maintain_order="left")
        .rename({notes.strategy: STRATEGY_KEY})
    )
    counts = queries.group_by(STRATEGY_KEY, maintain_order=True).agg(
        queries=pl.len(),
        least=pl.col("retrieved").min(),
        median=pl.col("retrieved").median(),
        most=pl.col("retrieved").max(),
        **{
            "retrieved": _divide_sums(pl.col("retrieved_and_judged").sum(), pl.col("judged").sum()),
            "judged": _divide_sums(pl.col("retrieved_and_judged").sum(), pl.col("retrieved").sum()),
            "judged@10": pl.col("judged@10").filter(pl.col("retrieved") > 0).mean(),
            "none_judged": (pl.col("judged") == 0).sum(),
            "none_relevant": ((pl.col("judged") > 0) & (pl.col("n_relevant") == 0)).sum(),
            "only_relevant": (
                (pl.col("judged") > 0) & (pl.col("n_relevant") == pl.col("judged"))
            ).sum(),
            "none_retrieved": (pl.col("retrieved") == 0).sum(),
        },
    )
    row_counts = pl.concat([_count_rows(request, rows, name) for name in request.by])
    table = counts.join(
        row_counts, on=STRATEGY_KEY, how="left", nulls_equal=True, maintain_order="left"
    )
    whole_numbers = cs.integer() & ~cs.by_name(STRATEGY_KEY)
    table = table.with_columns(whole_numbers.cast(pl.UInt32))
    return table.select(pl.col(STRATEGY_KEY).alias(request.key), *OVERVIEW_COLUMNS)


def _count_rows(request: Request, rows: pl.DataFrame, name: str) -> pl.DataFrame:
    """Count duplicates, ties and grades in the rankings of one entry of `by`.

    The result has one row, or one row per strategy if strategies are stacked.
    """
    strategy = pl.lit(name) if request.strategy is None else pl.col(request.strategy)
    grade, tied = pl.col(request.grade), rank_rows(request.build_ranking(name)).over(request.keys)
    doc = pl.lit(None) if request.document is None else pl.col(request.document)
    documents = pl.when(doc.is_not_null()).then(pl.struct(*request.keys, doc.alias(DOCUMENT)))
    counted = rows.select(
        documents.alias(DOCUMENT),
        strategy.alias(STRATEGY_KEY),
        grade.cast(pl.Float64).alias(GRADE),
        pl.col(request.by[name][0]).is_not_null().alias(RETRIEVED),
        tied.struct.field("tied").alias(TIED),
    ).filter(pl.col(RETRIEVED) | pl.col(GRADE).is_not_null())
    return counted.group_by(STRATEGY_KEY).agg(
        pl.lit(None, pl.Int64).alias("duplicates")
        if request.document is None
        else (pl.col(DOCUMENT).count() - pl.col(DOCUMENT).drop_nulls().n_unique()).alias(
            "duplicates"
        ),
        _divide_sums(pl.col(TIED).sum(), pl.col(RETRIEVED).sum()).alias("tied"),
        pl.col(GRADE).alias("grade").value_counts(name="rows").sort().alias("grades"),
    )


def _divide_sums(part: pl.Expr, total: pl.Expr) -> pl.Expr:
    """Return the ratio of two sums, null if the divisor is 0."""
    return pl.when(total > 0).then(part / total)


@checks_call
def side_by_side(
    frame: Any,
    of: Any,
    *,
    n: int = 10,
    doc: str = DEFAULT_DOC,
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
) -> pl.DataFrame:
    """Return the rankings of one query by several strategies side by side.

    Parameters
    ----------
    frame
        Any data frame, as for `evaluate`.
    of
        The query to show: a value of the column `query`, or a tuple of values of several columns.
    query, grade, by, strategy, ties, descending
        As for `evaluate`.
    irrelevant, max_grade, relevant_from, undefined_as, condensed
        As for `evaluate`.
    n
        The number of ranks.
    doc
        The column that is shown for a document, such as its id or title; by default its id, in a
        column called "doc", "product_id" or another usual name.

    Returns
    -------
    DataFrame
        One row per rank: `rank` (UInt32, from 1), and two columns per strategy, in the order of
        `evaluate`: the document, in a column with the strategy's name, and its grade, in
        `grade of ...`. A null grade means unjudged. If the longest ranking has m documents, the
        table has m rows, but at most `n`. The columns of a shorter ranking end in nulls.

    Warns
    -----
    DataWarning
        If the order of rows decides ranks of the first `n` documents. This occurs if scores are
        equal, `ties` is not passed, and no column of documents is found that can break the ties.

    Examples
    --------
    >>> df = pl.DataFrame({"query": "q1", "doc": ["x", "y", "z"], "grade": [0, 2, None]})
    >>> df = df.with_columns(bm25=pl.Series([3, 2, 1]), ours=pl.Series([0.1, 0.9, None]))
    >>> side_by_side(df, "q1", by=["bm25", "ours"])
    shape: (3, 5)
    ┌──────┬──────┬───────────────┬──────┬───────────────┐
    │ rank ┆ bm25 ┆ grade of bm25 ┆ ours ┆ grade of ours │
    │ ---  ┆ ---  ┆ ---           ┆ ---  ┆ ---           │
    │ u32  ┆ str  ┆ i64           ┆ str  ┆ i64           │
    ╞══════╪══════╪═══════════════╪══════╪═══════════════╡
    │ 1    ┆ x    ┆ 0             ┆ y    ┆ 2             │
    │ 2    ┆ y    ┆ 2             ┆ x    ┆ 0             │
    │ 3    ┆ z    ┆ null          ┆ null ┆ null          │
    └──────┴──────┴───────────────┴──────┴───────────────┘
    """
    request = Request.of(
        frame,
        ["n_relevant"],
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
    check_whole_number("n", n)
    doc = request.choose_document(doc, frame.collect_schema())
    rows = select_queries(request, frame, [of])
    ranked, tied = [*rank_rows_of_strategies(request, rows)], {}
    last = min(n, max(rows.get_column(RETRIEVED_RANK).count() for _, rows in ranked))
    table = pl.int_range(1, last + 1, dtype=pl.UInt32, eager=True).alias("rank").to_frame()
    for name, ranked_rows in ranked:
        grade = pl.col(request.grade).alias(f"grade of {name}")
        column = ranked_rows.select(
            pl.col(RETRIEVED_RANK).alias("rank"), pl.col(doc).alias(name), grade
        )
        table = table.join(column, on="rank", how="left", maintain_order="left")
        tied[name] = ranked_rows.filter(pl.col(RETRIEVED_RANK) <= n).get_column(TIED).sum()
    by_row = request.ties.columns is None and request.ties.document is None
    if by_row and any(tied.values()):
        counts = [f"{count} of {name!r}" for name, count in tied.items() if count]
        warn_the_caller(
            DataWarning.ties,
            f"the order of rows decides the ranks of some of the first {n} documents, whose scores "
            f"are equal: {', '.join(counts)}\n\n"
            f"Hint: ties={doc!r} ranks them by that column; ties='order' confirms the order of "
            "rows",
        )
    return table
