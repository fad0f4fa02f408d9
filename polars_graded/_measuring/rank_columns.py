"""Columns whose numbers may be ranks, of which the lowest comes first, or scores.

Whether a column holds ranks is decided by its numbers, whatever it is called and however its rows
stand.
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
"""Queries of several documents that must count from 1 before a column may hold ranks."""

MIN_SHARE = 0.9
"""Share of the queries that must count from 1 before a column may hold ranks."""

PROBES = (1, 4, 16)
"""Numbers of a list that are looked at before the list as a whole, in turn."""

STRETCHES = 8
"""Parts of the queries of a column that are looked at in turn."""

MIN_ADDED_SHARE = 0.1
"""Share of the lists that must be left to add up all of them."""

DOCUMENTS = "doc"
"""The column of documents by default: numbers that name documents have no direction to be wrong."""


@dataclass(frozen=True)
class RankEvidence:
    """Numbers of queries that show whether a column holds ranks."""

    queries: int = 0
    """Queries with a retrieved document."""
    counting: int = 0
    """Those of them whose numbers are 1 to n, or 0 to n - 1, each once."""
    telling: int = 0
    """Those of these with so many documents that it is hardly chance."""

    def __add__(self, other: RankEvidence) -> RankEvidence:
        """The evidence of other queries beside it."""
        return RankEvidence(
            self.queries + other.queries,
            self.counting + other.counting,
            self.telling + other.telling,
        )

    @classmethod
    def of_all(cls, lists: Lists) -> RankEvidence:
        """Return the evidence of all queries, which stops once it cannot be conclusive.

        A column of scores shows that in little more than a tenth of its queries. The other queries
        are then taken to count, which is no more than they can.
        """
        n = len(lists)
        queries = int(np.count_nonzero(np.diff(lists.offsets)))
        found, left = cls(), queries
        for first, last in pairwise(np.linspace(0, n, STRETCHES + 1).astype(np.int64).tolist()):
            start, stop = lists.offsets[first], lists.offsets[last]
            offsets = lists.offsets[first : last + 1] - start
            found += RankLists.of(Lists(lists.flat.slice(start, stop - start), offsets)).evidence()
            left -= int(np.count_nonzero(np.diff(offsets)))
            if found.counting + left < MIN_SHARE * queries:
                return cls(queries, found.counting + left, found.telling)
        return found

    @property
    def is_conclusive(self) -> bool:
        """Whether the column may hold ranks, so that its direction must be passed."""
        return self.telling >= MIN_QUERIES and self.counting >= MIN_SHARE * self.queries

    def __str__(self) -> str:
        """The evidence, to follow the name of the column."""
        return (
            f"whose values count the documents from 1, or 0, in {self.counting} of "
            f"{self.queries} queries, as ranks do"
        )


@dataclass(frozen=True)
class RankLists:
    """For each query whether its numbers count documents, as the fields of `RankEvidence` say."""

    queries: Mask
    counting: Mask
    telling: Mask

    @classmethod
    def of(cls, lists: Lists) -> RankLists:
        """Return which lists of a column hold ranks.

        Most columns of scores are ruled out by a few of their numbers in each query. Only queries
        that pass are looked at as a whole.
        """
        filled = np.diff(lists.offsets) > 0
        masks = filled.copy(), np.zeros(len(lists), bool), np.zeros(len(lists), bool)
        if may_hold_ranks(lists.flat.dtype) and len(candidates := _candidates(lists, filled)):
            for places in _in_chunks(candidates, np.diff(lists.offsets)):
                some = _at(lists, places)
                with np.errstate(invalid="ignore"):  # infinity is no slot
                    found = find_rank_lists(some.between(0, len(some)))
                for mask, values in zip(masks, found, strict=True):
                    mask[places] = values
        return cls(*masks)

    def evidence(self) -> RankEvidence:
        """The number of queries of each kind."""
        return RankEvidence(*(int(mask.sum()) for mask in vars(self).values()))


def may_hold_ranks(dtype: pl.DataType) -> bool:
    """Return whether a column of this type may hold ranks."""
    return dtype.is_numeric()


def _candidates(lists: Lists, filled: Mask) -> Integers:
    """Return the lists of which the first numbers are such as ranks are.

    The more numbers are looked at, the fewer lists are left: in a list of ranks none comes twice.
    """
    found = np.flatnonzero(filled)
    for probes in PROBES:
        if probes == PROBES[-1]:
            found = found[_add_up(lists, found)]
        first, last = lists.offsets[found], lists.offsets[found + 1] - 1
        probed = found[last - first >= probes - 1]
        if not len(probed):
            continue
        first, length = lists.offsets[probed], np.diff(lists.offsets)[probed]
        places = first[:, np.newaxis] + np.arange(probes)
        numbers = lists.flat.gather(places.ravel()).cast(pl.Float64).to_numpy().reshape(-1, probes)
        is_rank = (numbers == np.floor(numbers)) & (numbers >= 0)
        is_rank &= numbers <= length[:, np.newaxis]
        passes = (is_rank | np.isnan(numbers)).all(axis=1)
        numbers = np.sort(numbers, axis=1)  # what is NaN has no equal
        passes &= (numbers[:, 1:] != numbers[:, :-1]).all(axis=1)
        found = found[~np.isin(found, probed[~passes], assume_unique=True)]
    return found


def _add_up(lists: Lists, places: Integers) -> Mask:
    """Return which of some lists have the sum of ranks; those with nulls may have it."""
    n = np.diff(lists.offsets)
    if len(places) < MIN_ADDED_SHARE * len(n) or lists.flat.null_count() or not n.all():
        return np.ones(len(places), bool)
    values = lists.flat.cast(pl.Float64).to_numpy()
    with np.errstate(invalid="ignore", over="ignore"):  # infinity is no rank
        sums, n = np.add.reduceat(values, lists.offsets[:-1])[places], n[places]
    is_sum: Mask = (sums == n * (n + 1) / 2) | (sums == n * (n - 1) / 2)
    return is_sum


def _in_chunks(places: Integers, lengths: Integers) -> list[Integers]:
    """Return some lists in stretches of about `CHUNK_ROWS` values, to bound memory."""
    ends = np.cumsum(lengths[places])
    return np.split(places, np.searchsorted(ends, np.arange(CHUNK_ROWS, ends[-1], CHUNK_ROWS)))


def _at(lists: Lists, places: Integers) -> Lists:
    """Return some of the lists."""
    if len(places) == len(lists):
        return lists
    lengths = np.diff(lists.offsets)[places]
    offsets = offsets_of(lengths)
    rows = np.arange(offsets[-1]) + np.repeat(lists.offsets[places] - offsets[:-1], lengths)
    return Lists(lists.flat.gather(rows), offsets)
