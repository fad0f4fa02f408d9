"""Amounts that ranks add to a measure, if it is a sum over ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from polars_graded._checks import (
    check_column_name,
    check_columns,
    check_comparable,
    check_whole_number,
)
from polars_graded._frames.ranking_checks import group_rankings
from polars_graded._frames.request import Request
from polars_graded._frames.strategies import in_order
from polars_graded._measuring.definitions import DEFINITIONS
from polars_graded._measuring.expression import measure_one, rank_rows
from polars_graded._measuring.measures import Measure

RETRIEVED_RANK = "rank among the retrieved"
"""Name of the added column of ranks. A column of the frame is unlikely to have this name."""

TIED = "tied with another"
"""Name of the added column that is true for rows tied with another row of their ranking."""


def check_sum(measure: str) -> Measure:
    """Return the named measure; raise unless it is a sum over ranks.

    Raise also if the value depends on which documents are tied, as with an option `ties` other than
    `"order"`.
    """
    parsed = Measure.parse(measure)
    if not parsed.definition.is_sum:
        sums = ", ".join(name for name, definition in DEFINITIONS.items() if definition.is_sum)
        msg = f"`measure` must be a sum over ranks, one of {sums}, got {measure!r}"
        raise ValueError(msg)
    if parsed.options.get("over") == "retrieved":
        msg = (
            f"`measure` must be a sum over ranks, got {measure!r}, which divides by the number "
            "of relevant documents retrieved"
        )
        raise ValueError(msg)
    if parsed.function == "sdcg" and parsed.n is None:
        msg = f"`measure` must have a cutoff, which divides the sum, got {measure!r}"
        raise ValueError(msg)
    if parsed.needs_ties:
        msg = f"`measure` must leave tied documents in their order, got {measure!r}"
        raise ValueError(msg)
    return parsed


def rank_rows_of_strategies(
    request: Request, rows: pl.DataFrame
) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield the name of each strategy and its rows with `RETRIEVED_RANK` and `TIED`.

    Names are text. Rows are sorted by query and rank. Rows without a rank are last in their query.
    """
    stacked = request.strategy
    names = pl.Series(list(request.by)) if stacked is None else in_order(rows.get_column(stacked))
    for name, text in zip(names, names.cast(pl.String).fill_null("null"), strict=True):
        strategy_rows = rows if stacked is None else rows.filter(pl.col(stacked).eq_missing(name))
        ranks, tied = (
            rank_rows(each).over(request.query)
            for each in (request.build_document_ranking(name), request.build_ranking(name))
        )
        ranked = strategy_rows.with_columns(
            ranks.struct.field("rank").alias(RETRIEVED_RANK), tied.struct.field("tied").alias(TIED)
        )
        yield (
            text,
            ranked.sort(*request.query, RETRIEVED_RANK, nulls_last=True, maintain_order=True),
        )


def compute_added_by_rank(
    frame: Any,
    queries: Sequence[Any],
    measure: Measure,
    n: int,
    *,
    doc: str,
    others: dict[str, str],
    **options: Any,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the documents of some queries, with what each adds at its rank, and the values.

    The first result has one row per query, strategy and document, with these columns: `query` (as
    text), `strategy`, `rank` (null if the document was not retrieved), `doc`, `grade`, the keys of
    `others`, and the Booleans `tied` and `relevant`. `adds` is the amount that the rank adds to the
    measure. For measures with a gain, `gain` is the amount that the rank adds to the cumulated
    gain. Both are null for documents not in the first n ranks. The second result has the `value`
    of the measure for each `query` and `strategy`.
    """
    check_whole_number("n", n)
    request, schema = Request.of(frame, [measure.name], **options), frame.collect_schema()
    for argument, column in others.items():
        check_columns("frame", [check_column_name(argument, column)], schema, argument=argument)
    doc = request.choose_document(doc, schema)
    check_comparable([doc], schema)
    rows = select_queries(request, frame, queries)
    texts = (pl.col(column).cast(pl.String).fill_null("null") for column in request.query)
    query = pl.concat_str(*texts, separator=", ").alias("query")
    parts, values = [], []
    for name, ranked in rank_rows_of_strategies(request, rows):
        # Documents with equal scores count as tied, even if other columns decide their order.
        by_score = request.unsorted_ranking.ranked_by(
            request.find_columns(name)[:1], descending=request.find_directions(name)[:1]
        )
        tied = rank_rows(by_score).struct.field("tied").over(request.query)
        table = ranked.select(
            query,
            pl.lit(name).alias("strategy"),
            pl.col(RETRIEVED_RANK).alias("rank"),
            pl.col(doc).alias("doc"),
            pl.col(request.grade).cast(pl.Float64).alias("grade"),
            (tied & pl.col(RETRIEVED_RANK).is_not_null()).alias("tied"),
            *(pl.col(column).alias(argument) for argument, column in others.items()),
        )
        table = table.filter(~pl.all_horizontal(pl.col("rank", "grade").is_null()))
        if repeated := table.height - table.select("query", "doc").n_unique():
            msg = f"{doc!r} must name each document of a query once, got {repeated} repeated"
            raise ValueError(msg)
        measures = [measure]
        if "gain" in measure.options:
            measures.append(Measure.of("cg", measure.n, gain=_format_gain(measure.options["gain"])))
        value = measure_one(measure, request.build_ranking(name)).alias("value")
        of_queries = ranked.group_by(query, maintain_order=True).agg(value)
        values.append(of_queries.insert_column(1, pl.lit(name).alias("strategy")))
        added = _compute_added(table, request, measures, n)
        parts.append(table.join(added, on=["query", "rank"], how="left", maintain_order="left"))
    if not sum(part.height for part in parts):
        msg = "the query must have a document with a score or a grade, got none"
        raise ValueError(msg)
    documents = pl.concat(parts).with_columns(
        request.scale.is_relevant(pl.col("grade")).fill_null(value=False).alias("relevant")
    )
    return documents, pl.concat(values)


def select_queries(
    request: Request, frame: pl.DataFrame | pl.LazyFrame, queries: Sequence[Any]
) -> pl.DataFrame:
    """Return the rows of some queries; raise if there are none.

    Raise also if `descending` does not fit a column that looks like ranks.
    """
    columns, schema = ", ".join(map(repr, request.query)), frame.collect_schema()
    keys = []
    for of in queries:
        key = of if len(request.query) > 1 else (of,)
        if not (isinstance(key, tuple) and len(key) == len(request.query)):
            msg = f"`of` must be a tuple with one value for each of {columns}, got {of!r}"
            raise TypeError(msg)
        types = {name: schema[name] for name in request.query}
        try:
            values = {name: [value] for name, value in zip(types, key, strict=True)}
            keys.append(pl.DataFrame(values, schema=types))
        except (pl.exceptions.PolarsError, TypeError, OverflowError):
            kinds = ", ".join(map(str, types.values()))
            msg = f"`of` must be a value of {columns}, which is of type {kinds}, got {of!r}"
            raise TypeError(msg) from None
    selected = frame.lazy().join(
        pl.concat(keys).lazy(),
        on=request.query,
        how="semi",
        nulls_equal=True,
        maintain_order="left",
    )
    rows = request.add_computed_columns(selected.collect())
    # One query shows nothing about ranks, so all queries are read.
    all_rows = request.add_computed_columns(frame.lazy().select(request.needed_columns).collect())
    group_rankings(request, all_rows)
    if rows.is_empty():
        msg = f"`frame` must have a row of the query, got none for {queries[0]!r} in {columns}"
        raise ValueError(msg)
    return rows


def _format_gain(gain: Any) -> Any:
    """Return a gain in the form that users pass; pairs become a mapping."""
    return dict(gain) if isinstance(gain, tuple) else gain


def _compute_added(
    table: pl.DataFrame, request: Request, measures: list[Measure], n: int
) -> pl.DataFrame:
    """Return the amounts that each of the first n ranks adds to the measures.

    The amount of rank r is the value for the first r documents, minus the value for the first
    r - 1 documents. The other documents keep their grades but count as not retrieved, so that the
    divisor of the measure (such as R or the ideal gain) stays the same.
    """
    ranking = replace(request.unsorted_ranking, grade=pl.col("grade")).ranked_by(
        ["kept"], descending=False
    )
    names = ["adds", "gain"][: len(measures)]
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
        .agg(measure_one(m, ranking).alias(name) for m, name in zip(measures, names, strict=True))
        .sort("query", "cut")
    )
    added = pl.col(names).diff().over("query")
    return values.select("query", pl.col("cut").alias("rank"), added).filter(pl.col("rank") > 0)
