"""Recognise columns of ranks, whose lowest value is the best.

A column looks like ranks if its values above 0 are whole numbers from 1 on, none above four times
the length of the longest ranking, and differ within at least ten queries and 98 % of all. Rows that
already come in descending order, or a column `rank` that counts in this order, show that the
highest value is the best.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
import polars as pl

from polars_graded._measuring.batches import Lists
from polars_graded._measuring.kernels.ragged import list_rows

MIN_QUERIES = 10
"""Minimum number of queries with several values; fewer queries show nothing."""

MIN_SHARE = 0.98
"""Minimum share of queries without repeated values, and of neighbours in descending order."""

MAX_RATIO = 4
"""Maximum ratio of the highest value to the length of the longest ranking."""

DOCUMENTS = "doc"
"""Default name of the column of documents. If this column breaks ties, its numbers are taken for
ids, and it is not checked for ranks."""

STRATEGY, QUERY, VALUE, RANK = "strategy", "query", "value", "rank"

FACTS = {
    "has_fractions": "any",
    "lowest": "min",
    "highest": "max",
    "longest": "max",
    "queries": "sum",
    "queries_with_repeats": "sum",
    "neighbours": "sum",
    "falls": "sum",
    "ranked_neighbours": "sum",
    "ranked_falls": "sum",
    "below_one": "sum",
}
"""Functions that combine facts of several queries, by the name of the fact."""


@dataclass(frozen=True)
class RankEvidence:
    """Facts about the values of a column, over all queries of a strategy.

    Values of 0 and below count only in `below_one`. A neighbour is a value with a value before it
    in the same query.
    """

    has_fractions: bool
    lowest: float | None
    highest: float | None
    longest: int
    """Maximum number of values of a query."""
    queries: int
    """Number of queries with several values."""
    queries_with_repeats: int
    neighbours: int
    falls: int
    """Number of neighbours that are lower than the value before, in the order of the rows."""
    ranked_neighbours: int
    ranked_falls: int
    """The same number in the order of the column `rank`."""
    below_one: int

    @classmethod
    def by_strategy(cls, facts: Iterable[pl.DataFrame]) -> dict[object, Self]:
        """Combine the facts of several parts of a column into the evidence of each strategy."""
        rows = _combine_facts(pl.concat(facts)).rows(named=True)
        return {row.pop(STRATEGY): cls(**row) for row in rows}

    @property
    def looks_like_ranks(self) -> bool:
        """Return whether the values look like ranks, and no order of rows contradicts this."""
        return (
            not self.has_fractions
            and self.lowest == 1
            and (self.highest or 0) <= MAX_RATIO * self.longest
            and self.queries >= MIN_QUERIES
            and self.queries_with_repeats <= (1 - MIN_SHARE) * self.queries
            and not _are_nearly_all(self.falls, self.neighbours)
            and not _are_nearly_all(self.ranked_falls, self.ranked_neighbours)
        )

    def __str__(self) -> str:
        """Return the evidence as a clause that follows the name of the column."""
        n = self.queries - self.queries_with_repeats
        clause = (
            f"looks like ranks (1 = best): whole numbers from 1 to {self.highest:.0f}, which "
            f"differ within {n} of {self.queries} queries"
        )
        if self.below_one:
            clause += f" ({self.below_one} values below 1 are ignored)"
        return clause


def _are_nearly_all(n: int, total: int) -> bool:
    return total > 0 and n >= MIN_SHARE * total


def write_directions(lowest: str, highest: str) -> str:
    """Return the hint that explains both values of `descending`."""
    return (
        f"descending={lowest} ranks the lowest value first, as for ranks; "
        f"descending={highest} ranks the highest value first"
    )


def collect_facts(
    lists: Lists, strategies: pl.Series | None = None, ranks: pl.Series | None = None
) -> pl.DataFrame:
    """Return the facts of `RankEvidence`, one row per strategy.

    `strategies` has one value per list. `ranks` has one value for each value of the lists. If the
    first value of a list is not whole, the facts of its strategy are not collected any further,
    which saves time with columns of scores.
    """
    names = pl.Series([None]).new_from_index(0, len(lists)) if strategies is None else strategies
    filled = np.flatnonzero(np.diff(lists.offsets))
    if not lists.flat.dtype.is_numeric():
        filled = filled[:0]
    heads = pl.DataFrame({STRATEGY: names[filled], QUERY: filled}).with_columns(
        lists.flat.gather(lists.offsets[filled]).cast(pl.Float64).alias(VALUE)
    )
    is_fraction = (pl.col(VALUE) % 1 != 0).fill_null(value=False)
    has_fractions = is_fraction.any().over(STRATEGY)
    with_fractions = heads.filter(has_fractions).select(STRATEGY, has_fractions=True)
    candidates = heads.filter(~has_fractions).drop(VALUE)
    chosen = candidates.get_column(QUERY).to_numpy()
    row_numbers = list_rows(lists.offsets, chosen)
    rows = pl.DataFrame(
        [
            pl.Series(QUERY, np.repeat(chosen, np.diff(lists.offsets)[chosen])).set_sorted(),
            lists.flat.gather(row_numbers).cast(pl.Float64).alias(VALUE),
            pl.Series(RANK, [None], pl.Null).new_from_index(0, len(row_numbers))
            if ranks is None
            else ranks.gather(row_numbers).alias(RANK),
        ]
    ).drop_nulls(VALUE)
    value, rank = pl.col(VALUE).filter(pl.col(VALUE) > 0), pl.col(RANK)
    ranked = pl.col(VALUE).filter(pl.col(VALUE) > 0, rank.is_not_null())
    order = rank.filter(pl.col(VALUE) > 0, rank.is_not_null())
    per_query = rows.group_by(QUERY, maintain_order=True).agg(
        (value % 1 != 0).any().alias("has_fractions"),
        value.min().alias("lowest"),
        value.max().alias("highest"),
        value.len().alias("longest"),
        value.n_unique().alias("distinct"),
        (value.diff() < 0).sum().alias("falls"),
        ranked.len().alias("ranked"),
        ((ranked.sort_by(order).diff() < 0) & (order.sort().diff() > 0)).sum().alias("in_order"),
        (pl.col(VALUE) <= 0).sum().alias("below_one"),
    )
    n, has_several = pl.col("longest"), pl.col("longest") > 1
    facts = per_query.join(candidates, on=QUERY, maintain_order="left").select(
        STRATEGY,
        *("has_fractions", "lowest", "highest", "longest", "falls", "below_one"),
        queries=has_several,
        queries_with_repeats=pl.col("distinct") < n,
        neighbours=pl.when(has_several).then(n - 1).otherwise(0),
        ranked_neighbours=pl.when(pl.col("ranked") > 1).then(pl.col("ranked") - 1).otherwise(0),
        ranked_falls="in_order",
    )
    return _combine_facts(pl.concat([facts, with_fractions], how="diagonal"))


def _combine_facts(facts: pl.DataFrame) -> pl.DataFrame:
    """Return one row per strategy with the facts of all its rows."""
    return facts.group_by(STRATEGY, maintain_order=True).agg(
        getattr(pl.col(name), function)() for name, function in FACTS.items()
    )
