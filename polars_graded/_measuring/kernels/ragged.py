"""Lists of numbers, one per query, end to end in one array."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]

SHORT = 8
"""Of lists with fewer values on average it is quicker to count along all values than to search."""

FEW_COUNTS = 8
"""Up to so many counts per value it is quicker to count levels than to sort values."""


@dataclass(frozen=True)
class Ragged:
    """One list per query, end to end in one array.

    List `i` is `values[offsets[i]:offsets[i + 1]]`; a null of the list is NaN.
    """

    values: Floats
    offsets: Integers
    _heads: dict[int, Any] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def lengths(self) -> Integers:
        """How many values each list has."""
        return np.diff(self.offsets)

    @cached_property
    def query(self) -> Integers:
        """The number of the list that each value is in, from 0."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    @cached_property
    def rank(self) -> Integers:
        """The place of each value in its list, from 1."""
        return np.arange(1, len(self.values) + 1) - np.repeat(self.offsets[:-1], self.lengths)

    @cached_property
    def depth(self) -> Floats:
        """`rank` as a float, to divide by."""
        return self.rank.astype(np.float64)

    def head(self, n: int | None) -> Ragged:
        """The first `n` values of each list; all for None."""
        if n is None or self.lengths.max(initial=0) <= n:
            return self
        if n not in self._heads:
            self._heads[n] = self.firsts(np.minimum(self.lengths, n))
        head: Ragged = self._heads[n]
        return head

    def first(self) -> Floats:
        """The first value of each list; NaN for an empty one."""
        first = np.full(len(self.lengths), np.nan)
        filled = self.lengths > 0
        first[filled] = self.values[self.offsets[:-1][filled]]
        return first

    def last(self) -> Floats:
        """The last value of each list; 0 for an empty one."""
        last = np.zeros(len(self.lengths))
        filled = self.lengths > 0
        last[filled] = self.values[self.offsets[1:][filled] - 1]
        return last

    def firsts(self, lengths: Integers) -> Ragged:
        """As many of the first values of each list as `lengths` says; no list has fewer."""
        if np.array_equal(lengths, self.lengths):
            return self
        offsets = offsets_of(lengths)
        # Both lists lie end to end, so that a list's values move by a constant.
        move = np.repeat(self.offsets[:-1] - offsets[:-1], lengths)
        return Ragged(self.values[np.arange(offsets[-1]) + move], offsets)

    def places(self, mask: Mask) -> tuple[Integers, Integers]:
        """Where in the array `mask` is true, and where each list begins among these places."""
        places = np.flatnonzero(mask)
        if len(mask) < SHORT * len(self.offsets):
            return places, _counted(mask)[self.offsets].astype(np.int64)
        return places, np.searchsorted(places, self.offsets)

    def keep(self, mask: Mask) -> Ragged:
        """The values where `mask` is true, each still in its list."""
        if mask.all():
            return self
        places, offsets = self.places(mask)
        return Ragged(self.values[places], offsets)

    def documents(self, mask: Mask) -> Documents:
        """The values where `mask` is true, each still in its list, and their ranks in it."""
        places, offsets = self.places(mask)
        ranks = places + 1 - np.repeat(self.offsets[:-1], np.diff(offsets))
        return Documents(self.values[places], offsets, ranks=ranks)

    def all_documents(self) -> Documents:
        """All values, and their ranks."""
        return Documents(self.values, self.offsets, ranks=self.rank)

    def falling(self) -> Ragged:
        """The values of each list from the highest down."""
        values, n_lists = self.values, len(self.lengths)
        if not len(values):
            return self
        highest = values.max()
        n_levels = highest - values.min() + 1
        if n_levels * n_lists <= FEW_COUNTS * len(values) and is_whole(values):
            # Few levels are counted more quickly than values are sorted.
            levels = highest - np.arange(n_levels)
            of_list = self.query * len(levels) + (highest - values).astype(np.int64)
            counts = np.bincount(of_list, minlength=n_lists * len(levels))
            return self.of(np.repeat(np.tile(levels, n_lists), counts))
        order = np.argsort(-values)
        # NumPy sorts small integers by their digits.
        of_list = self.query.astype(np.min_scalar_type(n_lists))[order]
        return self.of(values[order[np.argsort(of_list, kind="stable")]])

    def of(self, values: Floats) -> Ragged:
        """Other values in lists of the same lengths."""
        return Ragged(values, self.offsets)

    def spread(self, lengths: Integers) -> Ragged:
        """Lists of other lengths: one that ends before keeps its last value, 0 if it has none."""
        offsets = offsets_of(lengths)
        query = np.repeat(np.arange(len(lengths)), lengths)
        rank = np.arange(1, offsets[-1] + 1) - offsets[query]
        own = self.lengths[query]
        last = self.offsets[query] + np.minimum(rank, own) - 1
        padded = np.append(self.values, 0.0)
        return Ragged(padded[np.where(own > 0, last, len(self.values))], offsets)

    def accumulated(self, ufunc: np.ufunc, numbers: Floats) -> Floats:
        """`numbers` run through `ufunc` from the first of each list down to each of its values.

        It goes along each of the longest lists in turn and down all others in step. Of `n` values
        no more than √n lists can be longer than √n, so that either takes few steps, however uneven
        the lists are. Lists do not mix, as they would in differences of one long cumulative sum.
        """
        result = np.array(numbers, dtype=np.float64)
        longest_first = np.argsort(-self.lengths, kind="stable")
        starts, lengths = self.offsets[:-1][longest_first], self.lengths[longest_first]
        n_long = int((lengths > np.arange(1, len(lengths) + 1)).sum())
        for start, length in zip(starts[:n_long].tolist(), lengths[:n_long].tolist(), strict=True):
            ufunc.accumulate(result[start : start + length], out=result[start : start + length])
        starts, lengths = starts[n_long:], lengths[n_long:]
        for step in range(1, int(lengths.max(initial=0))):
            rows = starts[: np.searchsorted(-lengths, -step)] + step
            result[rows] = ufunc(result[rows - 1], result[rows])
        return result

    def accumulated_from_the_end(self, ufunc: np.ufunc, numbers: Floats) -> Floats:
        """`numbers` run through `ufunc` from the last of each list up to each of its values."""
        backwards = Ragged(numbers[::-1], self.offsets[-1] - self.offsets[::-1])
        return backwards.accumulated(ufunc, backwards.values)[::-1]

    def before(self, ufunc: np.ufunc, numbers: Floats, nothing: float) -> Floats:
        """`accumulated` without the value itself, which for the first of a list is `nothing`."""
        so_far = self.accumulated(ufunc, numbers)
        return np.where(self.rank > 1, np.roll(so_far, 1), nothing)

    def sum(self, numbers: npt.NDArray[Any]) -> Floats:
        """The sum over each list of `numbers`, one per value; 0 for an empty list."""
        total = np.zeros(len(self.lengths))
        filled = self.lengths > 0
        if filled.any():
            # Sums list by list, where differences of one long cumulative sum would mix queries.
            total[filled] = np.add.reduceat(numbers, self.offsets[:-1][filled], dtype=np.float64)
        return total

    def max(self, numbers: Floats) -> Floats:
        """The highest over each list of `numbers`, one per value; 0 for an empty list."""
        highest = np.zeros(len(self.lengths))
        filled = self.lengths > 0
        if filled.any():
            highest[filled] = np.maximum.reduceat(numbers, self.offsets[:-1][filled])
        return highest

    def count(self, mask: Mask) -> Integers:
        """How often `mask` is true in each list."""
        return np.diff(self.places(mask)[1])

    def count_so_far(self, mask: Mask) -> npt.NDArray[np.int32]:
        """How often `mask` is true in each list down to each of its values."""
        counted = _counted(mask)
        counted[1:] -= np.repeat(counted[self.offsets[:-1]], self.lengths)
        return counted[1:]


@dataclass(frozen=True)
class Documents(Ragged):
    """Some documents of each query: `rank` counts them, `ranks` says at which rank they stand."""

    ranks: Integers = field(kw_only=True)

    def head(self, n: int | None) -> Documents:
        """Those among the first `n` ranks; all for None."""
        if n is None:
            return self
        if n not in self._heads:
            self._heads[n] = self.keep(self.ranks <= n)
        head: Documents = self._heads[n]
        return head

    def keep(self, mask: Mask) -> Documents:
        """Those where `mask` is true."""
        if mask.all():
            return self
        places, offsets = self.places(mask)
        return Documents(self.values[places], offsets, ranks=self.ranks[places])

    def of(self, values: Floats) -> Documents:
        """Other values at the same ranks."""
        return Documents(values, self.offsets, ranks=self.ranks)


def is_whole(values: Floats) -> bool:
    """Whether all are whole numbers."""
    return bool((values == np.floor(values)).all())


def _counted(mask: Mask) -> npt.NDArray[np.int32]:
    """How often `mask` is true before each place and, last, in all."""
    counted = np.zeros(len(mask) + 1, np.int32)
    # Cast, then add up: NumPy would hold the interpreter's lock while it did both at once.
    np.cumsum(mask.astype(np.int32), out=counted[1:])
    return counted


EMPTY = Ragged(np.empty(0), np.zeros(1, np.int64))


def offsets_of(lengths: Integers) -> Integers:
    """Where lists of these lengths begin when laid end to end, and where the last one ends."""
    return np.concatenate(([0], np.cumsum(lengths)))
