"""Recognise columns of ranks, whose lowest value is the best.

A column looks like ranks if its values are whole numbers, and those above 0 begin at 1, are at most
four times the length of the longest ranking, and differ within at least ten queries and 98 % of
all. Rows in descending order, of the frame or of its column `rank`, show that the highest value is
the best.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl

from polars_graded._measuring.chunks import map_chunks
from polars_graded._measuring.document_columns import normalise_name
from polars_graded._measuring.kernels.ragged import MAX_EXACT_INTEGER, Ragged
from polars_graded._measuring.list_columns import Lists

RANK = "rank"
"""Name of the column of ranks in runs that `read_run` and `join_judgments` return."""

MIN_QUERIES = 10
"""Minimum number of queries with several values; fewer queries show nothing."""

MIN_SHARE = 0.98
"""Minimum share of queries without repeated values, and of neighbours in descending order."""

SAMPLE_STEP = 20
"""Distance of the lists of a sample: every twentieth list is in it."""

MAX_RATIO = 4
"""Maximum ratio of the highest value to the length of the longest ranking."""

STRATEGY, QUERY = "strategy", "query"


def collect_rank_facts(
    lists: Lists,
    strategies: pl.Series | None = None,
    ranks: pl.Series | None = None,
    *,
    are_all: bool = True,
) -> pl.DataFrame:
    """Return facts about the values above 0, one or two rows per strategy.

    `strategies` has one value per list. `ranks` has one value for each value of the lists, and
    gives their order. Scores are recognised early, which saves time: the other values are not
    looked at if the first value of any list of a strategy is not whole, or, if these `are_all`
    lists, if so many lists of a sample repeat values that all lists exceed the limit.
    """
    filled = np.flatnonzero(np.diff(lists.offsets) * lists.flat.dtype.is_numeric())
    first = lists.flat.gather(lists.offsets[filled]).cast(pl.Float64)
    names = pl.lit(None) if strategies is None else strategies.gather(filled)
    queries = pl.DataFrame([pl.Series(QUERY, filled), (first % 1 == 0).alias("are_whole")])
    queries = queries.with_columns(names.alias(STRATEGY))
    by_strategy = queries.group_by(STRATEGY, maintain_order=True).agg(pl.col("are_whole").all())
    queries = queries.filter(pl.col("are_whole").all().over(STRATEGY))

    def find_facts(queries: pl.DataFrame) -> pl.DataFrame:
        numbers = queries.get_column(QUERY).to_numpy()
        columns = [lists] if ranks is None else [lists, Lists(ranks, lists.offsets)]
        chunks = map_chunks([column.select(numbers) for column in columns], _find_facts)
        return pl.concat(chunks).with_columns(queries.get_column(STRATEGY))

    if are_all and queries.height:
        sample = find_facts(queries.gather_every(SAMPLE_STEP))
        repeating = sample.filter(pl.col("queries") & ~pl.col("different"))
        counts = repeating.group_by(STRATEGY).agg(pl.len().alias("repeating"))
        queries = queries.join(
            counts, on=STRATEGY, how="left", nulls_equal=True, maintain_order="left"
        ).filter(pl.col("repeating").fill_null(0) <= (1 - MIN_SHARE) * pl.len().over(STRATEGY))
    return pl.concat([by_strategy, _combine(find_facts(queries))], how="diagonal")


def _find_facts(values: Ragged, ranks: Ragged | None = None) -> pl.DataFrame:
    """Return the facts of each query."""
    if ranks is not None:
        order, _ = ranks.with_values(np.nan_to_num(ranks.values, nan=-MAX_EXACT_INTEGER)).argsort()
        values = values.with_values(values.values[order])
    is_broken = values.values != np.floor(values.values)  # also true for NaN
    positive = values.keep(values.values > 0)
    ordered, n = positive.sort_ascending(), positive.lengths
    is_repeated = ordered.compare_with_previous(np.equal)
    is_lower = positive.compare_with_previous(np.less)
    return pl.DataFrame(
        {
            "are_whole": values.count(is_broken) == values.count(np.isnan(values.values)),
            "lowest": pl.Series(ordered.first_values(), nan_to_null=True),
            "highest": pl.Series(np.where(n, ordered.last_values(), np.nan), nan_to_null=True),
            "longest": n,
            "queries": n > 1,
            "different": (n > 1) & (ordered.count(is_repeated) == 0),
            "neighbours": np.maximum(n, 1) - 1,
            "falls": positive.count(is_lower),
            "below_one": values.count(values.values <= 0),
        }
    )


def _combine(facts: pl.DataFrame) -> pl.DataFrame:
    """Return one row per strategy with the facts of all its rows."""
    return facts.group_by(STRATEGY, maintain_order=True).agg(
        pl.col("are_whole").all(),
        pl.col("lowest").min(),
        pl.col("highest", "longest").max(),
        pl.col("queries", "different", "neighbours", "falls", "below_one").sum(),
    )


def is_called_rank(column: str) -> bool:
    """Return whether a column has the name of ranks, in upper or lower case."""
    return normalise_name(column) == RANK


def find_rank_strategies(
    facts: Iterable[pl.DataFrame], *, is_named_rank: bool = False
) -> dict[Any, str]:
    """Return the strategies whose values look like ranks.

    `facts` has a frame for each part of the column. The values of the result are clauses that
    follow the name of the column. A column `rank` has ranks by definition, so one query suffices.
    """
    min_queries = 1 if is_named_rank else MIN_QUERIES
    looks_like_ranks = (
        pl.col("are_whole")
        & (pl.col("lowest") == 1)
        & (pl.col("highest") <= MAX_RATIO * pl.col("longest"))
        & (pl.col("queries") >= min_queries)
        & (pl.col("different") >= MIN_SHARE * pl.col("queries"))
        & (pl.col("falls") < MIN_SHARE * pl.col("neighbours"))
    )
    return {
        row[STRATEGY]: _describe_ranks(row)
        for row in _combine(pl.concat(facts)).filter(looks_like_ranks).iter_rows(named=True)
    }


def _describe_ranks(facts: dict[str, Any]) -> str:
    """Return the facts about a column of ranks as a clause."""
    clause = (
        f"looks like ranks (1 = best): whole numbers from 1 to {facts['highest']:.0f}, which "
        f"differ within {facts['different']} of {facts['queries']} queries"
    )
    if facts["below_one"]:
        clause += (
            f" ({facts['below_one']} are below 1: make them null if they mean not retrieved, but "
            "not if ranks begin at 0)"
        )
    return clause


def write_directions(lowest: str, highest: str) -> str:
    """Return the hint that explains both values of `descending`."""
    return (
        f"descending={lowest} ranks the lowest value first, as for ranks; "
        f"descending={highest} ranks the highest value first"
    )
