"""Lists of numbers, one per query, end to end in one array."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import accumulate, pairwise
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]
Number = TypeVar("Number", bound=np.generic)

SHORT = 8
"""Of lists with fewer values on average it is quicker to count along all values than to search."""

PLACE_BITS = 40
"""Bits of an integer that hold the place of a value; the rest hold its set."""

EXACT = 1 << 53
"""Up to here a double holds every whole number."""

LONG = 1 << 20
"""A list of so many values is cut into pieces that threads sort beside each other."""

MOST_LEVELS, MOST_COUNTS = 64, 1 << 21
"""So many levels, and so many counts of lists on levels, are counted rather than sorted."""


@dataclass(frozen=True)
class Ragged:
    """One list per query, end to end in one array.

    List `i` is `values[offsets[i]:offsets[i + 1]]`; a null of the list is NaN.
    """

    values: Floats
    offsets: Integers
    threads: int = field(default=1, kw_only=True, compare=False)
    """Maximum number of threads that may sort a long list."""
    _heads: dict[int, Any] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def lengths(self) -> Integers:
        """Return the number of values in each list."""
        return np.diff(self.offsets)

    @cached_property
    def query(self) -> Integers:
        """Return the number of each value's list, from 0."""
        return repeated(np.arange(len(self.lengths)), self.lengths)

    @cached_property
    def rank(self) -> Integers:
        """Return the place of each value in its list, from 1."""
        return np.arange(1, len(self.values) + 1) - repeated(self.offsets[:-1], self.lengths)

    @cached_property
    def depth(self) -> Floats:
        """Return `rank` as floats, to divide by."""
        return self.rank.astype(np.float64)

    def head(self, n: int | None) -> Ragged:
        """Return the first `n` values of each list; all for None."""
        if n is None or self.lengths.max(initial=0) <= n:
            return self
        if n not in self._heads:
            self._heads[n] = self.firsts(np.minimum(self.lengths, n))
        head: Ragged = self._heads[n]
        return head

    def first(self) -> Floats:
        """Return the first value of each list; NaN for an empty one."""
        first = np.append(self.values, np.nan)[self.offsets[:-1]]
        first[self.lengths == 0] = np.nan
        return first

    def last(self) -> Floats:
        """Return the last value of each list; 0 for an empty one."""
        last = np.zeros(len(self.lengths))
        filled = self.lengths > 0
        last[filled] = self.values[self.offsets[1:][filled] - 1]
        return last

    def firsts(self, lengths: Integers) -> Ragged:
        """Return the first `lengths` values of each list; no list has fewer."""
        if np.array_equal(lengths, self.lengths):
            return self
        offsets = offsets_of(lengths)
        # Both lists lie end to end, so that a list's values move by a constant.
        move = repeated(self.offsets[:-1] - offsets[:-1], lengths)
        return Ragged(self.values[np.arange(offsets[-1]) + move], offsets)

    def places(self, mask: Mask) -> tuple[Integers, Integers]:
        """Return the places where `mask` is true, and each list's offset in them."""
        places = np.flatnonzero(mask)
        if len(mask) < SHORT * len(self.offsets):
            return places, counted_so_far(mask)[self.offsets].astype(np.int64)
        return places, np.searchsorted(places, self.offsets)

    def keep(self, mask: Mask) -> Ragged:
        """Return the values where `mask` is true, each in its list."""
        if mask.all():
            return self
        places, offsets = self.places(mask)
        return Ragged(self.values[places], offsets, threads=self.threads)

    def documents(self, mask: Mask) -> Documents:
        """Return the values where `mask` is true, each in its list with its rank."""
        places, offsets = self.places(mask)
        ranks = places + 1 - repeated(self.offsets[:-1], np.diff(offsets))
        return Documents(self.values[places], offsets, ranks=ranks)

    def all_documents(self) -> Documents:
        """Return all values with their ranks."""
        return Documents(self.values, self.offsets, ranks=self.rank)

    @cached_property
    def counted(self) -> Levels | None:
        """Return the counts of each value per list, or None for too many values."""
        values = self.values
        if not len(values):
            return None
        low, high = values.min(), values.max()
        if high - low < MOST_LEVELS and max(high, -low) < EXACT and is_whole(values):
            levels, level = np.arange(low, high + 1), (values - low).astype(np.int64)
        else:
            levels, level = np.unique(values, return_inverse=True)
        size = len(levels), len(self.lengths)
        if size[0] > MOST_LEVELS or size[0] * size[1] > MOST_COUNTS:
            return None
        counts = np.bincount(level * size[1] + self.query, minlength=size[0] * size[1])
        return Levels(levels, counts.reshape(size))

    def falling(self, n: int | None = None) -> Ragged:
        """Return the `n` highest values of each list, all for None, descending."""
        if self.counted is None:
            falling = -self.row_by_row(np.sort, -self.values, np.inf)
            return Ragged(falling, self.offsets).head(n)  # not at the ranks that documents have
        levels, counts = self.counted.values[::-1], self.counted.counts[::-1]
        if n is not None and self.lengths.max() > n:
            counts = np.diff(np.minimum(_added_up(counts), n), axis=0, prepend=0)
        falling = repeated(np.tile(levels, len(self.lengths)), counts.T.ravel())
        return Ragged(falling, offsets_of(counts.sum(axis=0)))

    def ascending(self) -> Ragged:
        """Return the values of each list in ascending order, without NaN."""
        known = self.keep(~np.isnan(self.values))
        return known.of(known.row_by_row(np.sort, known.values, np.inf))

    def rising(self) -> tuple[npt.NDArray[Any], Mask]:
        """Return the stable ascending sort order of each list, and tie starts.

        All values must be finite. The mask marks the first of each set of equal values.
        """
        places, new = self.rising_in_sets()
        if not new.all():
            tied = np.flatnonzero(_in_sets(new))
            numbers = np.cumsum(new)[tied]
            # Both numbers in one, for NumPy sorts whole numbers several at a time.
            together = np.sort(numbers << PLACE_BITS | places[tied])
            places[tied] = together & ((1 << PLACE_BITS) - 1)
        return places, new

    def tied(self) -> Mask:
        """Return the mask of values that have an equal in their list; not NaN."""
        tied, known = np.zeros(len(self.values), bool), ~np.isnan(self.values)
        places, new = self.keep(known).rising_in_sets()
        tied[np.flatnonzero(known)[places]] = _in_sets(new)
        return tied

    def tied_unlike(self, other: Ragged) -> tuple[Integers, Integers]:
        """Return the places of tied values whose set differs in `other`, and sets.

        The numbers of sets rise, and so do the places in each set. NaN is not tied with anything
        here, but counts as one value in `other`.
        """
        known = np.flatnonzero(~np.isnan(self.values))
        places, new = self.keep(~np.isnan(self.values)).rising_in_sets()
        places = known[places]
        if not len(places):
            return places, places
        values, numbers = other.values[places], np.cumsum(new) - 1
        differ = values[1:] != values[:-1]
        differ &= ~(np.isnan(values[1:]) & np.isnan(values[:-1])) & ~new[1:]
        is_unlike = np.zeros(numbers[-1] + 1, bool)
        is_unlike[numbers[1:][differ]] = True
        chosen = is_unlike[numbers]
        # Each set in the order of its places, by one sort of whole numbers.
        both = np.sort(numbers[chosen] * len(self.values) + places[chosen])
        return both % len(self.values), both // len(self.values)

    def rising_in_sets(self) -> tuple[npt.NDArray[Any], Mask]:
        """Return an ascending sort order of each list, and tie starts."""
        rising = partial(_places_rising, threads=self.threads)
        places = self.row_by_row(rising, self.values, np.inf)
        places += repeated(self.offsets[:-1], self.lengths)
        ordered = self.values[places]
        new = np.ones(len(places), bool)
        np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
        new[self.offsets[:-1][self.lengths > 0]] = True
        return places, new

    def row_by_row(
        self, function: Callable[..., npt.NDArray[Any]], numbers: Floats, padding: float
    ) -> npt.NDArray[Any]:
        """Return the results of a function over each list of `numbers`, end to end.

        The function takes lists as the rows of one array, which NumPy handles all at once: sorting
        rows is many times as fast as sorting by two keys.
        """
        longest = int(self.lengths.max(initial=1))
        if longest * len(self.lengths) == len(numbers):
            return function(numbers.reshape(-1, longest), axis=1).ravel()
        result = np.empty(len(numbers), function(numbers[:1]).dtype)
        for of_such, inside in self.rows:
            rows = np.full(inside.shape, padding)
            rows[inside] = numbers[of_such]
            result[of_such] = function(rows, axis=1)[inside]
        return result

    @cached_property
    def rows(self) -> list[tuple[Mask | slice, Mask]]:
        """Return pairs of masks that place the values in arrays with a row per list.

        The first mask selects the values of an array, the second their cells in it. Lists in one
        array are at most twice as long as each other, which bounds the padding.
        """
        size = np.frexp(self.lengths)[1].astype(np.int8)
        sizes = np.unique(size[self.lengths > 0])
        of_value = repeated(size, self.lengths)
        return [
            (
                of_value == each if len(sizes) > 1 else slice(None),
                np.arange(self.lengths[size == each].max())
                < self.lengths[size == each, np.newaxis],
            )
            for each in sizes
        ]

    def of(self, values: Floats) -> Ragged:
        """Return other values in lists of the same lengths."""
        return Ragged(values, self.offsets, threads=self.threads)

    def spread(self, lengths: Integers) -> Ragged:
        """Return lists of other lengths, each extended by its last value.

        An empty list is extended by 0."""
        offsets = offsets_of(lengths)
        query = repeated(np.arange(len(lengths)), lengths)
        rank = np.arange(1, offsets[-1] + 1) - offsets[query]
        own = self.lengths[query]
        last = self.offsets[query] + np.minimum(rank, own) - 1
        padded = np.append(self.values, 0.0)
        return Ragged(padded[np.where(own > 0, last, len(self.values))], offsets)

    def accumulated(self, ufunc: np.ufunc, numbers: Floats) -> Floats:
        """Return `numbers` accumulated by `ufunc` along each list, from its first.

        Lists do not mix, as they would in differences of one long cumulative sum.
        """
        accumulate = partial(ufunc.accumulate, dtype=np.float64)
        return self.row_by_row(accumulate, numbers, padding=0.0)

    def accumulated_from_the_end(self, ufunc: np.ufunc, numbers: Floats) -> Floats:
        """Return `numbers` accumulated by `ufunc` from each list's last."""
        backwards = Ragged(numbers[::-1], self.offsets[-1] - self.offsets[::-1])
        return backwards.accumulated(ufunc, backwards.values)[::-1]

    def before(self, ufunc: np.ufunc, numbers: Floats, nothing: float) -> Floats:
        """Return `accumulated` without the value itself.

        The first value of a list gets `nothing`, the identity of `ufunc`."""
        before = np.empty(len(numbers))
        before[1:] = self.accumulated(ufunc, numbers)[:-1]
        before[self.offsets[:-1][self.lengths > 0]] = nothing
        return before

    def sum(self, numbers: npt.NDArray[Any]) -> Floats:
        """Return the sum over each list of `numbers`, one per value; 0 if empty."""
        # Sums list by list, where differences of one long cumulative sum would mix queries.
        return self._reduced(np.add, numbers.astype(np.float64, copy=False))

    def max(self, numbers: Floats) -> Floats:
        """Return the maximum over each list of `numbers`, one per value; 0 if empty."""
        return self._reduced(np.maximum, numbers)

    def _reduced(self, ufunc: np.ufunc, numbers: Floats) -> Floats:
        empty = self.lengths == 0
        if not empty.any():
            return ufunc.reduceat(numbers, self.offsets[:-1]) if len(empty) else np.zeros(0)
        # An empty list gets the number that stands where it would begin, which behind the last list
        # there may not be.
        numbers = np.append(numbers, 0.0) if empty[-1] else numbers
        reduced: Floats = ufunc.reduceat(numbers, self.offsets[:-1])
        reduced[empty] = 0.0
        return reduced

    def count(self, mask: Mask) -> Integers:
        """Return the number of places in each list where `mask` is true."""
        return np.diff(self.places(mask)[1])

    def count_so_far(self, mask: Mask) -> npt.NDArray[np.int32]:
        """Return the number of true places in each list up to each value."""
        counted = counted_so_far(mask)
        counted[1:] -= repeated(counted[self.offsets[:-1]], self.lengths)
        return counted[1:]


@dataclass(frozen=True)
class Documents(Ragged):
    """Documents of each query: `rank` numbers them, `ranks` are their ranks in the ranking."""

    ranks: Integers = field(kw_only=True)

    def head(self, n: int | None) -> Documents:
        """Return the documents among the first `n` ranks; all for None."""
        if n is None:
            return self
        if n not in self._heads:
            self._heads[n] = self.keep(self.ranks <= n)
        head: Documents = self._heads[n]
        return head

    def keep(self, mask: Mask) -> Documents:
        """Return the documents where `mask` is true."""
        if mask.all():
            return self
        places, offsets = self.places(mask)
        return Documents(self.values[places], offsets, ranks=self.ranks[places])

    def of(self, values: Floats) -> Documents:
        """Return other values at the same ranks."""
        return Documents(values, self.offsets, ranks=self.ranks)


@dataclass(frozen=True)
class Levels:
    """Counts of the values of each list on each level."""

    values: Floats
    """Levels in ascending order."""
    counts: Integers
    """Counts with a row per level and a column per list."""

    @cached_property
    def at_least(self) -> Integers:
        """Return the number of values of each list that reach each level."""
        return _added_up(self.counts[::-1])[::-1]


def _places_rising(rows: Floats, axis: int = -1, threads: int = 1) -> npt.NDArray[np.int64]:
    """Return the ascending sort order of each row.

    A single long row is cut at quantiles into pieces that threads sort in parallel."""
    if len(rows) > 1 or rows.size < LONG or threads == 1:
        return np.argsort(rows, axis=axis)
    numbers = rows.ravel()
    steps = np.linspace(0, 1, threads + 1)[1:-1]
    pivots = np.unique(np.quantile(numbers[:: LONG // 1000], steps))

    def between(ends: tuple[float, float]) -> npt.NDArray[np.int64]:
        above, up_to = ends
        places = np.flatnonzero((numbers > above) & (numbers <= up_to))
        return places[np.argsort(numbers[places])]

    with ThreadPoolExecutor(threads) as pool:
        pieces = pool.map(between, pairwise([-np.inf, *pivots, np.inf]))
        return np.concatenate([*pieces]).reshape(rows.shape)


def _added_up(rows: Integers) -> Integers:
    """Return the running sum down the rows.

    `np.cumsum` would go down the columns, which takes far longer."""
    return np.array([*accumulate(rows, np.add)])


def is_whole(values: Floats) -> bool:
    """Return whether all values are whole numbers."""
    return bool((values == np.floor(values)).all())


def _in_sets(new: Mask) -> Mask:
    """Return the mask of values in sets of several; `new` marks each set's first."""
    before_new = np.ones(len(new), bool)
    before_new[:-1] = new[1:]
    return ~(new & before_new)


def counted_so_far(mask: Mask) -> npt.NDArray[np.int32]:
    """Return the number of true places before each place and, last, in all."""
    counted = np.zeros(len(mask) + 1, np.int32)
    # Cast, then add up: NumPy would hold the interpreter's lock while it did both at once.
    np.cumsum(mask.astype(np.int32), out=counted[1:])
    return counted


def repeated(values: npt.NDArray[Number], times: Integers) -> npt.NDArray[Number]:
    """Return each value as many times as `times` specifies, as a read-only array.

    A single value is broadcast, which takes no memory: a single query may be as long as all others
    together.
    """
    return np.broadcast_to(values, times[0]) if len(values) == 1 else np.repeat(values, times)


EMPTY = Ragged(np.empty(0), np.zeros(1, np.int64))


def offsets_of(lengths: Integers) -> Integers:
    """Return the offset of each list laid end to end, and the end of the last."""
    return np.concatenate(([0], np.cumsum(lengths)))
