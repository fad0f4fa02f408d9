"""Detection of columns of ranks, whose lowest value is the best.

The numbers of a column decide whether it may hold ranks; the name of the column and the order of
the rows do not matter. Ranks hardly repeat within a query. This is still true if documents were
removed or repeated, if the ranks are those of a second page of results, or if a few documents share
a rank. Such ranks are therefore detected, too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import polars as pl

from polars_graded._measuring.batches import Lists
from polars_graded._measuring.kernels.ragged import Integers
from polars_graded._measuring.kernels.rank_numbers import RankNumbers, find_rank_numbers

MIN_QUERIES = 10
"""Minimum number of queries that have the numbers 1 to n, each once. A query with n = 1 does not
count."""

MIN_INFORMATIVE_QUERIES = 3
"""Minimum number of informative queries (see `RankNumbers`). Ties are counted only in them."""

MIN_SHARE = 0.9
"""Minimum share of queries whose numbers may be ranks, among all queries that have numbers."""

MAX_TIED_RATIO = 0.75
"""Maximum ratio of the tied pairs to the tied pairs that are expected by chance."""

MIN_DEVIATIONS = 5
"""Minimum of (e - t) / √e, for t tied pairs and e tied pairs expected by chance."""

MAX_OFFSET = 2
"""Maximum of (sum of `lowest`) / (sum of `slots`), over the queries (see `RankNumbers`). The ranks
11 to 20 of a second page of results pass (11 / 10). Scores of the form 100 - rank, such as 90 to
99, do not pass (90 / 10)."""

MAX_ROWS = 1 << 20
"""Maximum number of rows of a column for which all queries are checked. In a longer column, about a
quarter of this number of rows is checked: whole queries that are spread over the column."""

DOCUMENTS = "doc"
"""Default name of the column of documents. If this column breaks ties, its numbers are taken for
ids, and it is not checked for ranks."""


@dataclass(frozen=True)
class RankEvidence:
    """Evidence that a column may hold ranks: sums of `RankNumbers` over queries."""

    queries: int = 0
    """Number of queries that have numbers."""
    n_from_one: int = 0
    n_several_from_one: int = 0
    n_spread: int = 0
    lowest: float = 0.0
    slots: float = 0.0
    n_informative: int = 0
    tied_pairs: int = 0
    expected_pairs: float = 0.0
    n_low: int = 0
    n_high: int = 0

    def __add__(self, other: RankEvidence) -> RankEvidence:
        """Return the evidence of both sets of queries."""
        mine, others = vars(self), vars(other)
        return RankEvidence(**{name: mine[name] + others[name] for name in mine})

    @classmethod
    def of(cls, lists: Lists) -> RankEvidence:
        """Return the evidence of a column of lists."""
        return cls(*(each.sum().item() for each in find_evidence(sample_lists(lists)[0])))

    @property
    def has_counts_from_one(self) -> bool:
        """Return whether nearly all queries count their documents from 1, or 0."""
        return (
            self.n_several_from_one >= MIN_QUERIES and self.n_from_one >= MIN_SHARE * self.queries
        )

    @property
    def has_few_repeats(self) -> bool:
        """Return whether ranks are plausible because numbers rarely repeat."""
        return (
            self.n_informative >= MIN_INFORMATIVE_QUERIES
            and self.n_spread >= MIN_SHARE * self.queries
            and self.lowest <= MAX_OFFSET * self.slots
            and self.tied_pairs <= MAX_TIED_RATIO * self.expected_pairs
            and self.expected_pairs - self.tied_pairs
            >= MIN_DEVIATIONS * math.sqrt(self.expected_pairs)
        )

    @property
    def is_conclusive(self) -> bool:
        """Return whether the numbers of the column look like ranks."""
        return self.has_counts_from_one or self.has_few_repeats

    def __str__(self) -> str:
        """Return the evidence as a clause that follows the name of the column."""
        if self.has_counts_from_one:
            return (
                f"whose values count the documents from 1, or 0, in {self.n_from_one} of "
                f"{self.queries} queries, as ranks do{self._code_clause}"
            )
        return (
            f"whose numbers hardly repeat within a query, as ranks do: {self.tied_pairs} pairs of "
            f"documents share a number, and {self.expected_pairs:.0f} are expected by chance"
            f"{self._code_clause}"
        )

    @property
    def _code_clause(self) -> str:
        """Return the clause about ignored numbers, which may mean "not retrieved"."""
        codes = [f"{self.n_low} numbers below 1"] if self.n_low else []
        codes += [f"{self.n_high} equal to the highest number"] if self.n_high else []
        if not codes:
            return ""
        return f" (ignored: {' and '.join(codes)}; if they mean not retrieved, make them null)"


def write_directions(lowest: str, highest: str) -> str:
    """Return the hint that explains both values of `descending`."""
    return (
        f"descending={lowest} ranks the lowest value first, as for ranks; "
        f"descending={highest} ranks the highest value first"
    )


def may_hold_ranks(dtype: pl.DataType) -> bool:
    """Return whether a column of this type may hold ranks."""
    return dtype.is_numeric()


def sample_lists(lists: Lists) -> tuple[Lists, Integers]:
    """Return the lists to check, spread over the column, and their indices."""
    n, rows = len(lists), len(lists.flat)
    if rows <= MAX_ROWS:
        return lists, np.arange(n)
    indices = np.unique(
        np.linspace(0, n - 1, max(MIN_QUERIES, n * MAX_ROWS // (4 * rows))).astype(int)
    )
    return lists.select(indices), indices


def find_evidence(lists: Lists) -> RankNumbers:
    """Return the evidence of each list.

    To save time with columns of scores, a list is skipped if its first value is a number that
    cannot be a rank, such as 0.37.
    """
    has_numbers = np.diff(lists.offsets) > 0
    indices = np.flatnonzero(has_numbers)
    if not may_hold_ranks(lists.flat.dtype):
        indices = indices[:0]
    first = lists.flat.gather(lists.offsets[indices]).cast(pl.Float64)
    may_be_rank = (2 * first % 1 == 0).fill_null(value=True).to_numpy()
    indices = indices[may_be_rank]
    candidates = lists if len(indices) == len(lists) else lists.select(indices)
    of_candidates = find_rank_numbers(candidates.between(0, len(candidates)))
    evidence = RankNumbers._make(np.zeros(len(lists), each.dtype) for each in of_candidates)
    evidence.has_number[:] = has_numbers
    for values, values_of_candidates in zip(evidence, of_candidates, strict=True):
        values[indices] = values_of_candidates
    return evidence
