"""Detection of columns of ranks, of which the lowest comes first.

The numbers of a column decide whether it holds ranks, independent of its name and the order of its
rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from polars_graded._measuring.batches import CHUNK_ROWS, Lists
from polars_graded._measuring.kernels.ragged import Integers, Mask, offsets_of
from polars_graded._measuring.kernels.rank_numbers import find_rank_lists

MIN_QUERIES = 10
"""Minimum number of queries of several documents that must count from 1."""

MIN_SHARE = 0.9
"""Minimum share of the queries that must count from 1."""

PROBES = (1, 4, 16)
"""Numbers of a list that are checked before the complete list, in turn."""

STRETCHES = 8
"""Parts of the queries of a column that are checked in turn."""

MIN_ADDED_SHARE = 0.1
"""Minimum share of candidate lists for which all sums are computed."""

DOCUMENTS = "doc"
"""Default name of the column of documents, whose numbers have no direction."""


@dataclass(frozen=True)
class RankEvidence:
    """Numbers of queries that show whether a column holds ranks."""

    queries: int = 0
    """Queries with a retrieved document."""
    counting: int = 0
    """Queries whose numbers are 1 to n, or 0 to n - 1, each once."""
    telling: int = 0
    """Counting queries with so many documents that chance is unlikely."""

    def __add__(self, other: RankEvidence) -> RankEvidence:
        """Return the evidence of both sets of queries."""
        return RankEvidence(
            self.queries + other.queries,
            self.counting + other.counting,
            self.telling + other.telling,
        )

    @classmethod
    def of_all(cls, lists: Lists) -> RankEvidence:
        """Return the evidence of all queries, stopping once it is inconclusive.

        A column of scores shows that in little more than a tenth of its queries. The remaining
        queries are then assumed to count, which is an upper bound.
        """
        n = len(lists)
        queries = int(np.count_nonzero(np.diff(lists.offsets)))
        total, left = cls(), queries
        for first, last in pairwise(np.linspace(0, n, STRETCHES + 1).astype(np.int64).tolist()):
            start, stop = lists.offsets[first], lists.offsets[last]
            offsets = lists.offsets[first : last + 1] - start
            total += RankLists.of(Lists(lists.flat.slice(start, stop - start), offsets)).evidence()
            left -= int(np.count_nonzero(np.diff(offsets)))
            if total.counting + left < MIN_SHARE * queries:
                return cls(queries, total.counting + left, total.telling)
        return total

    @property
    def is_conclusive(self) -> bool:
        """Return whether the column may hold ranks, so that it needs a direction."""
        return self.telling >= MIN_QUERIES and self.counting >= MIN_SHARE * self.queries

    def __str__(self) -> str:
        """Return the evidence as a clause after the name of the column."""
        return (
            f"whose values count the documents from 1, or 0, in {self.counting} of "
            f"{self.queries} queries, as ranks do"
        )


@dataclass(frozen=True)
class RankLists:
    """Masks of queries by the fields of `RankEvidence`."""

    queries: Mask
    counting: Mask
    telling: Mask

    @classmethod
    def of(cls, lists: Lists) -> RankLists:
        """Return the masks of lists that hold ranks.

        A few numbers of each query rule out most columns of scores. Only queries that pass are
        checked completely.
        """
        filled = np.diff(lists.offsets) > 0
        masks = filled.copy(), np.zeros(len(lists), bool), np.zeros(len(lists), bool)
        if may_hold_ranks(lists.flat.dtype) and len(candidates := _find_candidates(lists, filled)):
            for places in _split_into_chunks(candidates, np.diff(lists.offsets)):
                some = _select(lists, places)
                with np.errstate(invalid="ignore"):  # infinity is not a rank
                    results = find_rank_lists(some.between(0, len(some)))
                for mask, values in zip(masks, results, strict=True):
                    mask[places] = values
        return cls(*masks)

    def evidence(self) -> RankEvidence:
        """Return the number of queries of each kind."""
        return RankEvidence(*(int(mask.sum()) for mask in vars(self).values()))


def may_hold_ranks(dtype: pl.DataType) -> bool:
    """Return whether a column of this type may hold ranks."""
    return dtype.is_numeric()


def _find_candidates(lists: Lists, filled: Mask) -> Integers:
    """Return the lists whose first numbers may be ranks.

    The more numbers are probed, the fewer lists remain: no rank comes twice in a list.
    """
    lists_left = np.flatnonzero(filled)
    for probes in PROBES:
        if probes == PROBES[-1]:
            lists_left = lists_left[_find_rank_sums(lists, lists_left)]
        first, last = lists.offsets[lists_left], lists.offsets[lists_left + 1] - 1
        probed = lists_left[last - first >= probes - 1]
        if not len(probed):
            continue
        first, length = lists.offsets[probed], np.diff(lists.offsets)[probed]
        places = first[:, np.newaxis] + np.arange(probes)
        numbers = lists.flat.gather(places.ravel()).cast(pl.Float64).to_numpy().reshape(-1, probes)
        is_rank = (numbers == np.floor(numbers)) & (numbers >= 0)
        is_rank &= numbers <= length[:, np.newaxis]
        passes = (is_rank | np.isnan(numbers)).all(axis=1)
        numbers = np.sort(numbers, axis=1)  # NaN equals nothing
        passes &= (numbers[:, 1:] != numbers[:, :-1]).all(axis=1)
        lists_left = lists_left[~np.isin(lists_left, probed[~passes], assume_unique=True)]
    return lists_left


def _find_rank_sums(lists: Lists, places: Integers) -> Mask:
    """Return the mask of lists that have the sum of ranks, or nulls."""
    n = np.diff(lists.offsets)
    if len(places) < MIN_ADDED_SHARE * len(n) or lists.flat.null_count() or not n.all():
        return np.ones(len(places), bool)
    values = lists.flat.cast(pl.Float64).to_numpy()
    with np.errstate(invalid="ignore", over="ignore"):  # infinity is not a rank
        sums, n = np.add.reduceat(values, lists.offsets[:-1])[places], n[places]
    is_sum: Mask = (sums == n * (n + 1) / 2) | (sums == n * (n - 1) / 2)
    return is_sum


def _split_into_chunks(places: Integers, lengths: Integers) -> list[Integers]:
    """Return the lists in parts of about `CHUNK_ROWS` values, to bound memory."""
    ends = np.cumsum(lengths[places])
    return np.split(places, np.searchsorted(ends, np.arange(CHUNK_ROWS, ends[-1], CHUNK_ROWS)))


def _select(lists: Lists, places: Integers) -> Lists:
    """Return the lists at some places."""
    if len(places) == len(lists):
        return lists
    lengths = np.diff(lists.offsets)[places]
    offsets = offsets_of(lengths)
    rows = np.arange(offsets[-1]) + np.repeat(lists.offsets[places] - offsets[:-1], lengths)
    return Lists(lists.flat.gather(rows), offsets)
