"""Look into a frame: counts of what it contains, rankings side by side, and what each rank adds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import polars as pl
import polars.selectors as cs

from polars_graded._checks import (
    check_column_name,
    check_columns,
    check_comparable,
    check_whole_number,
)
from polars_graded._frames.arguments import By, Columns, Descending, Grade
from polars_graded._frames.ranking_checks import group_rankings
from polars_graded._frames.request import Request
from polars_graded._frames.strategies import in_order
from polars_graded._frames.values import ValueCollector
from polars_graded._measuring.computing import N_FIRST
from polars_graded._measuring.definitions import DEFINITIONS
from polars_graded._measuring.document_columns import DEFAULT_DOC
from polars_graded._measuring.expression import measure_one, rank_rows
from polars_graded._measuring.keywords import checks_call
from polars_graded._measuring.measures import Measure
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

RETRIEVED_RANK = "rank among the retrieved"
"""Name of the added column of ranks. A column of the frame is unlikely to have this name."""

TIED = "tied with another"
"""Name of the added column that is true for rows tied with another row of their ranking."""


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
        ["n_relevant"],
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
    rows = request.read_rows(frame)
    groups = group_rankings(request, rows)
    collector = ValueCollector(request)
    collector.add(groups)
    notes, values = collector.notes, collector.sort_values()
    columns = request.columns
    columns_of_notes = dict(zip(columns.result_keys, [notes.strategy, *notes.query], strict=True))
    queries = (
        values.select(columns.result_keys)
        .rename(columns_of_notes)
        .join(notes.table, on=[*columns_of_notes.values()], nulls_equal=True, maintain_order="left")
        .rename({notes.strategy: STRATEGY_KEY})
    )
    is_retrieved, n_first = pl.col("retrieved") > 0, pl.col("retrieved").clip(upper_bound=N_FIRST)
    counts = queries.group_by(STRATEGY_KEY, maintain_order=True).agg(
        queries=pl.len(),
        least=pl.col("retrieved").min(),
        median=pl.col("retrieved").median(),
        most=pl.col("retrieved").max(),
        **{
            "retrieved": _divide_sums(pl.col("retrieved_and_judged").sum(), pl.col("judged").sum()),
            "judged": _divide_sums(pl.col("retrieved_and_judged").sum(), pl.col("retrieved").sum()),
            "judged@10": (pl.col("judged_of_first_ten") / n_first).filter(is_retrieved).mean(),
            "none_judged": (pl.col("judged") == 0).sum(),
            "none_relevant": ((pl.col("judged") > 0) & (pl.col("n_relevant") == 0)).sum(),
            "only_relevant": (
                (pl.col("judged") > 0) & (pl.col("n_relevant") == pl.col("judged"))
            ).sum(),
            "none_retrieved": (pl.col("retrieved") == 0).sum(),
        },
    )
    row_counts = pl.concat([_count_rows(request, rows, name) for name in columns.by])
    table = counts.join(
        row_counts, on=STRATEGY_KEY, how="left", nulls_equal=True, maintain_order="left"
    )
    whole_numbers = cs.integer() & ~cs.by_name(STRATEGY_KEY)
    table = table.with_columns(whole_numbers.cast(pl.UInt32))
    return table.select(pl.col(STRATEGY_KEY).alias(columns.strategy_key), *OVERVIEW_COLUMNS)


def _count_rows(request: Request, rows: pl.DataFrame, name: str) -> pl.DataFrame:
    """Count duplicates, ties and grades in the rankings of one entry of `by`.

    The result has one row, or one row per strategy if strategies are stacked.
    """
    columns = request.columns
    strategy = pl.lit(name) if columns.strategy is None else pl.col(columns.strategy)
    tied = rank_rows(request.build_ranking(name)).over(columns.ranking_keys).struct.field("tied")
    doc = pl.lit(None) if columns.document is None else pl.col(columns.document)
    documents = pl.when(doc.is_not_null()).then(
        pl.struct(*columns.ranking_keys, doc.alias(DOCUMENT))
    )
    counted = rows.select(
        documents.alias(DOCUMENT),
        strategy.alias(STRATEGY_KEY),
        pl.col(columns.grade).cast(pl.Float64).alias(GRADE),
        pl.col(columns.by[name][0]).is_not_null().alias(RETRIEVED),
        tied.alias(TIED),
    ).filter(pl.col(RETRIEVED) | pl.col(GRADE).is_not_null())
    return counted.group_by(STRATEGY_KEY).agg(
        pl.lit(None, pl.Int64).alias("duplicates")
        if columns.document is None
        else (pl.col(DOCUMENT).count() - pl.col(DOCUMENT).drop_nulls().n_unique()).alias(
            "duplicates"
        ),
        _divide_sums(pl.col(TIED).sum(), pl.col(RETRIEVED).sum()).alias("tied"),
        pl.col(GRADE).alias("grade").value_counts(name="rows").sort().alias("grades"),
    )


def _divide_sums(part: pl.Expr, total: pl.Expr) -> pl.Expr:
    """Return the ratio of two sums, null if the divisor is 0."""
    return pl.when(total > 0).then(part / total)


# Rankings of some queries


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
    condensed: bool = False,
) -> pl.DataFrame:
    """Return the rankings of one query by several strategies side by side.

    Parameters
    ----------
    frame
        Any data frame, as for `evaluate`.
    of
        The query to show: a value of the column `query`, or a tuple of values of several columns.
    query, grade, by, strategy, ties, descending, condensed
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
        condensed=condensed,
    )
    check_whole_number("n", n)
    doc = request.columns.choose_document(doc, frame.collect_schema())
    rows = select_queries(request, frame, [of])
    ranked, tied = [*rank_rows_of_strategies(request, rows)], {}
    last = min(n, max(rows.get_column(RETRIEVED_RANK).count() for _, rows in ranked))
    table = pl.int_range(1, last + 1, dtype=pl.UInt32, eager=True).alias("rank").to_frame()
    for name, ranked_rows in ranked:
        grade = pl.col(request.columns.grade).alias(f"grade of {name}")
        column = ranked_rows.select(
            pl.col(RETRIEVED_RANK).alias("rank"), pl.col(doc).alias(name), grade
        )
        table = table.join(column, on="rank", how="left", maintain_order="left")
        tied[name] = ranked_rows.filter(pl.col(RETRIEVED_RANK) <= n).get_column(TIED).sum()
    by_row = not request.ties.are_passed and request.ties.document is None
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


def rank_rows_of_strategies(
    request: Request, rows: pl.DataFrame
) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield the name of each strategy and its rows with `RETRIEVED_RANK` and `TIED`.

    Names are text. Rows are sorted by query and rank. Rows without a rank are last in their query.
    """
    query, stacked = request.columns.query, request.columns.strategy
    strategies = pl.Series([*request.columns.by])
    if stacked is not None:
        strategies = in_order(rows.get_column(stacked))
    for name, text in zip(strategies, strategies.cast(pl.String).fill_null("null"), strict=True):
        strategy_rows = rows if stacked is None else rows.filter(pl.col(stacked).eq_missing(name))
        ranks, tied = (
            rank_rows(each).over(query)
            for each in (request.build_document_ranking(name), request.build_ranking(name))
        )
        ranked = strategy_rows.with_columns(
            ranks.struct.field("rank").alias(RETRIEVED_RANK), tied.struct.field("tied").alias(TIED)
        )
        yield text, ranked.sort(*query, RETRIEVED_RANK, nulls_last=True, maintain_order=True)


def select_queries(
    request: Request, frame: pl.DataFrame | pl.LazyFrame, queries: Sequence[Any]
) -> pl.DataFrame:
    """Return the rows of some queries; raise if there are none.

    Raise also if `descending` does not fit a column that looks like ranks.
    """
    query, schema = request.columns.query, frame.collect_schema()
    quoted_columns = ", ".join(map(repr, query))
    keys = []
    for of in queries:
        key = of if len(query) > 1 else (of,)
        if not (isinstance(key, tuple) and len(key) == len(query)):
            msg = f"`of` must be a tuple with one value for each of {quoted_columns}, got {of!r}"
            raise TypeError(msg)
        types = {name: schema[name] for name in query}
        try:
            values = {name: [value] for name, value in zip(types, key, strict=True)}
            keys.append(pl.DataFrame(values, schema=types))
        except (pl.exceptions.PolarsError, TypeError, OverflowError):
            dtypes = ", ".join(map(str, types.values()))
            msg = f"`of` must be a value of {quoted_columns}, which is of type {dtypes}, got {of!r}"
            raise TypeError(msg) from None
    selected = frame.lazy().join(
        pl.concat(keys).lazy(),
        on=query,
        how="semi",
        nulls_equal=True,
        maintain_order="left",
    )
    rows = request.columns.add_computed_columns(selected.collect())
    # One query shows nothing about ranks, so all queries are read.
    group_rankings(request, request.read_rows(frame))
    if rows.is_empty():
        msg = (
            f"`frame` must have a row of the query, got none for {queries[0]!r} in {quoted_columns}"
        )
        raise ValueError(msg)
    return rows


# Amounts that ranks add to a measure


def check_sum(measure: str) -> Measure:
    """Return the named measure; raise unless its value is a sum over ranks."""
    parsed = Measure.parse(measure)
    divides_by_retrieved = parsed.options.get("over") == "retrieved"
    lacks_divisor = parsed.function == "sdcg" and parsed.n is None
    is_sum = parsed.definition.is_sum and not (divides_by_retrieved or lacks_divisor)
    if not is_sum or parsed.needs_ties:
        sums = ", ".join(name for name, definition in DEFINITIONS.items() if definition.is_sum)
        msg = (
            f"`measure` must be a sum over ranks, one of {sums} (sdcg with a cutoff, and none with "
            f"ties= or over='retrieved'), got {measure!r}"
        )
        raise ValueError(msg)
    return parsed


def compute_added_by_rank(
    frame: Any,
    queries: Sequence[Any],
    measure: Measure,
    n: int,
    *,
    doc: str,
    titles: str | None,
    **options: Any,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the documents of some queries, with what each adds at its rank, and the values.

    The first result has one row per query, strategy and document, with these columns: `query` (as
    text), `strategy`, `rank` (null if the document was not retrieved), `doc`, `title` if there is a
    column of `titles`, `grade`, the Booleans `tied` and `relevant`, and `adds`, the amount that the
    rank adds to the measure, null for documents not in the first n ranks. The second result has the
    `value` of the measure for each `query` and `strategy`.
    """
    check_whole_number("n", n)
    request, schema = Request.of(frame, [measure.name], **options), frame.collect_schema()
    if titles is not None:
        check_columns("frame", [check_column_name("titles", titles)], schema, argument="titles")
    columns = request.columns
    doc = columns.choose_document(doc, schema)
    check_comparable([doc], schema)
    rows = select_queries(request, frame, queries)
    texts = (pl.col(column).cast(pl.String).fill_null("null") for column in columns.query)
    query = pl.concat_str(*texts, separator=", ").alias("query")
    parts, values = [], []
    for name, ranked in rank_rows_of_strategies(request, rows):
        # Documents with equal scores count as tied, even if other columns decide their order.
        by_score = request.unsorted_ranking.ranked_by(
            columns.find_sort_columns(name)[:1], descending=request.find_directions(name)[:1]
        )
        tied = rank_rows(by_score).struct.field("tied").over(columns.query)
        table = ranked.select(
            query,
            pl.lit(name).alias("strategy"),
            pl.col(RETRIEVED_RANK).alias("rank"),
            pl.col(doc).alias("doc"),
            pl.col(columns.grade).cast(pl.Float64).alias("grade"),
            (tied & pl.col(RETRIEVED_RANK).is_not_null()).alias("tied"),
            *([] if titles is None else [pl.col(titles).alias("title")]),
        )
        table = table.filter(~pl.all_horizontal(pl.col("rank", "grade").is_null()))
        if repeated := table.height - table.select("query", "doc").n_unique():
            msg = f"{doc!r} must name each document of a query once, got {repeated} repeated"
            raise ValueError(msg)
        value = measure_one(measure, request.build_ranking(name)).alias("value")
        of_queries = ranked.group_by(query, maintain_order=True).agg(value)
        values.append(of_queries.insert_column(1, pl.lit(name).alias("strategy")))
        added = _compute_added(table, request, measure, n)
        parts.append(table.join(added, on=["query", "rank"], how="left", maintain_order="left"))
    if not sum(part.height for part in parts):
        msg = "the query must have a document with a score or a grade, got none"
        raise ValueError(msg)
    documents = pl.concat(parts).with_columns(
        request.scale.is_relevant(pl.col("grade")).fill_null(value=False).alias("relevant")
    )
    return documents, pl.concat(values)


def _compute_added(table: pl.DataFrame, request: Request, measure: Measure, n: int) -> pl.DataFrame:
    """Return the amount that each of the first n ranks adds to the measure.

    The amount of rank r is the value for the first r documents, minus the value for the first
    r - 1 documents. The other documents keep their grades but count as not retrieved, so that the
    divisor of the measure (such as R or the ideal gain) stays the same.
    """
    ranking = replace(request.unsorted_ranking, grade=pl.col("grade")).ranked_by(
        ["kept"], descending=False
    )
    counts: Any = table.group_by("query").agg(pl.col("rank").count())["rank"].max()
    last = min(n, counts or 0)
    cuts = pl.DataFrame({"cut": range(last + 1)}, schema={"cut": pl.UInt32})
    # The table is repeated for each cut from 0 to `last`. Documents at ranks after the cut get a
    # null score, so they count as not retrieved.
    kept = pl.when(pl.col("rank") <= pl.col("cut")).then("rank").alias("kept")
    values = (
        cuts.join(table, how="cross")
        .with_columns(kept)
        .group_by("query", "cut")
        .agg(measure_one(measure, ranking).alias("adds"))
        .sort("query", "cut")
    )
    added = pl.col("adds").diff().over("query")
    return values.select("query", pl.col("cut").alias("rank"), added).filter(pl.col("rank") > 0)
