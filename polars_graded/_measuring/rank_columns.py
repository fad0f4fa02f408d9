"""Detection of columns of ranks, whose lowest value is the best.

The numbers of a column decide whether it may hold ranks, independent of its name and the order of
its rows. Ranks hardly repeat within a query. This can be seen even if documents were removed or
repeated, if the ranks are those of a second page of results, or if a few documents share a rank.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import polars as pl

from polars_graded._measuring.batches import Lists
from polars_graded._measuring.kernels.ragged import Integers, offsets_of
from polars_graded._measuring.kernels.rank_numbers import RankNumbers, find_rank_numbers

MIN_QUERIES = 10
"""Minimum number of queries that have several documents and numbers that count from 1."""

MIN_INFORMATIVE_QUERIES = 3
"""Minimum number of queries in which ties are counted."""

MIN_SHARE = 0.9
"""Minimum share of the queries whose numbers may be ranks."""

MAX_TIED_RATIO = 0.75
"""Maximum ratio of the tied pairs to those expected among unrelated numbers."""

MIN_DEVIATIONS = 5
"""Minimum number of standard deviations by which tied pairs are fewer than expected."""

MAX_OFFSET = 2
"""Maximum ratio of the lowest number to the count of whole numbers from it to the highest. Ranks on
the second page of results pass; scores of the form 100 - rank do not."""

MAX_ROWS = 1 << 20
"""Maximum number of rows for which all queries are checked. Of more rows, about a quarter of this
number is checked, in whole queries that are spread over the column."""

DOCUMENTS = "doc"
"""Default name of the column of documents, whose numbers have no direction."""


@dataclass(frozen=True)
class RankEvidence:
    """Sums of `RankNumbers` over queries, which show whether a column may hold ranks."""

    queries: int = 0
    n_from_one: int = 0
    n_several_from_one: int = 0
    spread: int = 0
    lowest: float = 0.0
    slots: float = 0.0
    informative: int = 0
    tied: int = 0
    expected: float = 0.0
    low: int = 0
    high: int = 0

    def __add__(self, other: RankEvidence) -> RankEvidence:
        """Return the evidence of both sets of queries."""
        mine, others = vars(self), vars(other)
        return RankEvidence(**{name: mine[name] + others[name] for name in mine})

    @classmethod
    def of(cls, lists: Lists) -> RankEvidence:
        """Return the evidence of a column of lists."""
        return cls(*(each.sum().item() for each in find_evidence(sample_lists(lists)[0])))

    @property
    def counts_documents(self) -> bool:
        """Return whether nearly all queries count their documents from 1, or 0."""
        return (
            self.n_several_from_one >= MIN_QUERIES and self.n_from_one >= MIN_SHARE * self.queries
        )

    @property
    def hardly_repeats(self) -> bool:
        """Return whether nearly all queries hold whole numbers that rarely repeat."""
        return (
            self.informative >= MIN_INFORMATIVE_QUERIES
            and self.spread >= MIN_SHARE * self.queries
            and self.lowest <= MAX_OFFSET * self.slots
            and self.tied <= MAX_TIED_RATIO * self.expected
            and self.expected - self.tied >= MIN_DEVIATIONS * math.sqrt(self.expected)
        )

    @property
    def is_conclusive(self) -> bool:
        """Return whether the column may hold ranks, so that it needs a direction."""
        return self.counts_documents or self.hardly_repeats

    def __str__(self) -> str:
        """Return the evidence as a clause after the name of the column."""
        if self.counts_documents:
            return (
                f"whose values count the documents from 1, or 0, in {self.n_from_one} of "
                f"{self.queries} queries, as ranks do{self._codes}"
            )
        return (
            f"whose numbers hardly repeat within a query, as ranks do: {self.tied} pairs of "
            f"documents share a number, and {self.expected:.0f} are expected by chance{self._codes}"
        )

    @property
    def _codes(self) -> str:
        """Return the clause on numbers that may be codes for documents that were not shown."""
        codes = [f"{self.low} numbers below 1"] if self.low else []
        codes += [f"{self.high} equal to the highest number"] if self.high else []
        if not codes:
            return ""
        return f" (ignored: {' and '.join(codes)}; if they mean not retrieved, make them null)"


def write_directions(lowest: str, highest: str) -> str:
    """Return the hint at the values of `descending` for both directions."""
    return (
        f"descending={lowest} ranks its lowest value first, as for ranks; "
        f"descending={highest} ranks its highest value first"
    )


def may_hold_ranks(dtype: pl.DataType) -> bool:
    """Return whether a column of this type may hold ranks."""
    return dtype.is_numeric()


def sample_lists(lists: Lists) -> tuple[Lists, Integers]:
    """Return the lists to check, spread over the column, and their places."""
    n, rows = len(lists), len(lists.flat)
    if rows <= MAX_ROWS:
        return lists, np.arange(n)
    places = np.unique(
        np.linspace(0, n - 1, max(MIN_QUERIES, n * MAX_ROWS // (4 * rows))).astype(int)
    )
    return _select(lists, places), places


def find_evidence(lists: Lists) -> RankNumbers:
    """Return the evidence of each list.

    The first number of each list rules out most columns of scores at once.
    """
    filled = np.diff(lists.offsets) > 0
    places = np.flatnonzero(filled)
    if not may_hold_ranks(lists.flat.dtype):
        places = places[:0]
    first = lists.flat.gather(lists.offsets[places]).cast(pl.Float64)
    is_rank = (2 * first % 1 == 0).fill_null(value=True).to_numpy()
    places = places[is_rank]
    candidates = _select(lists, places)
    of_candidates = find_rank_numbers(candidates.between(0, len(candidates)))
    evidence = RankNumbers.empty(len(lists))
    evidence.queries[:] = filled
    for values, values_of_candidates in zip(evidence, of_candidates, strict=True):
        values[places] = values_of_candidates
    return evidence


def _select(lists: Lists, places: Integers) -> Lists:
    """Return the lists at some places."""
    if len(places) == len(lists):
        return lists
    lengths = np.diff(lists.offsets)[places]
    offsets = offsets_of(lengths)
    rows = np.arange(offsets[-1]) + np.repeat(lists.offsets[places] - offsets[:-1], lengths)
    return Lists(lists.flat.gather(rows), offsets)
