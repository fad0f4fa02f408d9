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

MIN_SEARCHED_LENGTH = 8
"""Minimum mean number of values per list for which searching is faster than counting them all."""

PLACE_BITS = 40
"""Bits of an integer that hold the place of a value; the rest hold the number of its tie group."""

MAX_EXACT_INTEGER = 1 << 53
"""Maximum integer up to which a double holds every integer."""

MIN_THREADED_VALUES = 1 << 20
"""Minimum number of values in a list that threads sort in pieces."""

MAX_COUNTED_LEVELS, MAX_COUNTS = 64, 1 << 21
"""Maximum numbers of levels, and of levels times lists, that are counted rather than sorted."""


@dataclass(frozen=True)
class Ragged:
    """One list per query, end to end in one array.

    List `i` is `values[offsets[i]:offsets[i + 1]]`; a null in a list is NaN.
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
        """Return the index of the list that each value belongs to, from 0."""
        return repeat_each(np.arange(len(self.lengths)), self.lengths)

    @cached_property
    def number(self) -> Integers:
        """Return the place of each value in its list, from 1."""
        return np.arange(1, len(self.values) + 1) - repeat_each(self.offsets[:-1], self.lengths)

    @cached_property
    def number_as_float(self) -> Floats:
        """Return `number` as floats, to divide by."""
        return self.number.astype(np.float64)

    def head(self, n: int | None) -> Ragged:
        """Return the first `n` values of each list; all for None."""
        if n is None or self.lengths.max(initial=0) <= n:
            return self
        if n not in self._heads:
            self._heads[n] = self.truncate(np.minimum(self.lengths, n))
        head: Ragged = self._heads[n]
        return head

    def first_values(self) -> Floats:
        """Return the first value of each list; NaN for an empty one."""
        first = np.append(self.values, np.nan)[self.offsets[:-1]]
        first[self.lengths == 0] = np.nan
        return first

    def last_values(self) -> Floats:
        """Return the last value of each list; 0 for an empty one."""
        last = np.zeros(len(self.lengths))
        filled = self.lengths > 0
        last[filled] = self.values[self.offsets[1:][filled] - 1]
        return last

    def truncate(self, lengths: Integers) -> Ragged:
        """Return the first `lengths` values of each list; no list has fewer."""
        if np.array_equal(lengths, self.lengths):
            return self
        offsets = offsets_of(lengths)
        # Lists lie end to end in the old and in the new array, so all values of a list shift by the
        # same amount.
        shift = repeat_each(self.offsets[:-1] - offsets[:-1], lengths)
        return Ragged(self.values[np.arange(offsets[-1]) + shift], offsets)

    def places(self, mask: Mask) -> tuple[Integers, Integers]:
        """Return the places where `mask` is true, and each list's offset in them."""
        places = np.flatnonzero(mask)
        # Either count the true places before each offset, or search the places for each offset.
        if len(mask) < MIN_SEARCHED_LENGTH * len(self.offsets):
            return places, count_before(mask)[self.offsets].astype(np.int64)
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
        rank = places + 1 - repeat_each(self.offsets[:-1], np.diff(offsets))
        return Documents(self.values[places], offsets, rank=rank)

    def all_documents(self) -> Documents:
        """Return all values with their ranks."""
        return Documents(self.values, self.offsets, rank=self.number)

    @cached_property
    def level_counts(self) -> Levels | None:
        """Return the counts of each distinct value in each list, or None.

        It is None if there are no values, or too many distinct ones to count.
        """
        values = self.values
        if not len(values):
            return None
        low, high = values.min(), values.max()
        if (
            high - low < MAX_COUNTED_LEVELS
            and max(high, -low) < MAX_EXACT_INTEGER
            and is_integer(values)
        ):
            levels, level = np.arange(low, high + 1), (values - low).astype(np.int64)
        else:
            levels, level = np.unique(values, return_inverse=True)
        size = len(levels), len(self.lengths)
        if size[0] > MAX_COUNTED_LEVELS or size[0] * size[1] > MAX_COUNTS:
            return None
        counts = np.bincount(level * size[1] + self.query, minlength=size[0] * size[1])
        return Levels(levels, counts.reshape(size))

    def sort_descending(self, n: int | None = None) -> Ragged:
        """Return the `n` highest values of each list, all for None, descending."""
        if self.level_counts is None:
            falling = -self.map_rows(np.sort, -self.values, np.inf)
            # A plain `Ragged` even for `Documents`, whose ranks do not fit sorted values.
            return Ragged(falling, self.offsets).head(n)
        levels, counts = self.level_counts.values[::-1], self.level_counts.counts[::-1]
        if n is not None and self.lengths.max() > n:
            # Limiting the running count of values from the highest level down to n keeps the n
            # highest values; its differences are the counts that are left of each level.
            counts = np.diff(np.minimum(_sum_rows_above(counts), n), axis=0, prepend=0)
        falling = repeat_each(np.tile(levels, len(self.lengths)), counts.T.ravel())
        return Ragged(falling, offsets_of(counts.sum(axis=0)))

    def sort_ascending(self) -> Ragged:
        """Return the values of each list in ascending order, without NaN."""
        numbers = self.keep(~np.isnan(self.values))
        return numbers.of(numbers.map_rows(np.sort, numbers.values, np.inf))

    def argsort(self) -> tuple[npt.NDArray[Any], Mask]:
        """Return the stable ascending sort order of each list, and tie starts.

        All values must be finite. The mask marks the first value of each tie group.
        """
        places, new = self.argsort_unstable()
        if not new.all():
            tied = np.flatnonzero(_mask_tie_groups(new))
            numbers = np.cumsum(new)[tied]
            # One integer holds tie group and place, since NumPy sorts integers with SIMD.
            together = np.sort(numbers << PLACE_BITS | places[tied])
            places[tied] = together & ((1 << PLACE_BITS) - 1)
        return places, new

    def mask_tied(self) -> Mask:
        """Return the mask of values that occur more than once in their list.

        NaN never counts as equal to another value.
        """
        tied, is_number = np.zeros(len(self.values), bool), ~np.isnan(self.values)
        places, new = self.keep(is_number).argsort_unstable()
        tied[np.flatnonzero(is_number)[places]] = _mask_tie_groups(new)
        return tied

    def find_unlike_ties(self, other: Ragged) -> tuple[Integers, Integers]:
        """Return the places and tie groups of tied values that differ in `other`.

        The places are those of all values in tie groups whose members differ in `other`, ordered by
        tie group and then by place. The second result is the tie group of each place. NaN is not
        tied with anything here, but counts as one value in `other`.
        """
        numbered = np.flatnonzero(~np.isnan(self.values))
        places, new = self.keep(~np.isnan(self.values)).argsort_unstable()
        places = numbered[places]
        if not len(places):
            return places, places
        values, numbers = other.values[places], np.cumsum(new) - 1
        differ = values[1:] != values[:-1]
        differ &= ~(np.isnan(values[1:]) & np.isnan(values[:-1])) & ~new[1:]
        is_unlike = np.zeros(numbers[-1] + 1, bool)
        is_unlike[numbers[1:][differ]] = True
        chosen = is_unlike[numbers]
        # One integer holds tie group and place, so that one sort orders both.
        both = np.sort(numbers[chosen] * len(self.values) + places[chosen])
        return both % len(self.values), both // len(self.values)

    def argsort_unstable(self) -> tuple[npt.NDArray[Any], Mask]:
        """Return an ascending sort order of each list, and tie starts."""
        rising = partial(_argsort_rows, threads=self.threads)
        places = self.map_rows(rising, self.values, np.inf)
        places += repeat_each(self.offsets[:-1], self.lengths)
        ordered = self.values[places]
        new = np.ones(len(places), bool)
        np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
        new[self.offsets[:-1][self.lengths > 0]] = True
        return places, new

    def map_rows(
        self, function: Callable[..., npt.NDArray[Any]], numbers: Floats, padding: float
    ) -> npt.NDArray[Any]:
        """Return the results of a function over each list of `numbers`, end to end.

        The function takes lists as the rows of one array, which NumPy handles all at once. Sorting
        rows is many times faster than sorting by two keys.
        """
        longest = int(self.lengths.max(initial=1))
        if longest * len(self.lengths) == len(numbers):
            return function(numbers.reshape(-1, longest), axis=1).ravel()
        result = np.empty(len(numbers), function(numbers[:1]).dtype)
        for chosen, inside in self.rows:
            rows = np.full(inside.shape, padding)
            rows[inside] = numbers[chosen]
            result[chosen] = function(rows, axis=1)[inside]
        return result

    @cached_property
    def rows(self) -> list[tuple[Mask | slice, Mask]]:
        """Return pairs of masks that place the values in arrays with a row per list.

        The first mask selects the values of an array, the second their cells in it. The longest
        list of an array is less than twice as long as the shortest, which bounds the padding.
        """
        # The exponent e of the power of two above each length: lists of at least 2^(e-1) and fewer
        # than 2^e values share an array.
        size = np.frexp(self.lengths)[1].astype(np.int8)
        sizes = np.unique(size[self.lengths > 0])
        of_value = repeat_each(size, self.lengths)
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

    def extend(self, lengths: Integers) -> Ragged:
        """Return lists of other lengths, cut or continued with their last value.

        An empty list is filled with zeros.
        """
        offsets = offsets_of(lengths)
        query = repeat_each(np.arange(len(lengths)), lengths)
        number = np.arange(1, offsets[-1] + 1) - offsets[query]
        old_length = self.lengths[query]
        place = self.offsets[query] + np.minimum(number, old_length) - 1
        padded = np.append(self.values, 0.0)
        return Ragged(padded[np.where(old_length > 0, place, len(self.values))], offsets)

    def accumulate(self, ufunc: np.ufunc, numbers: Floats) -> Floats:
        """Return `numbers` accumulated by `ufunc` along each list, from its first.

        Rounding errors do not carry over from list to list, as they would in differences of one
        long cumulative sum.
        """
        accumulate = partial(ufunc.accumulate, dtype=np.float64)
        return self.map_rows(accumulate, numbers, padding=0.0)

    def accumulate_backwards(self, ufunc: np.ufunc, numbers: Floats) -> Floats:
        """Return `numbers` accumulated by `ufunc` from each list's last."""
        backwards = Ragged(numbers[::-1], self.offsets[-1] - self.offsets[::-1])
        return backwards.accumulate(ufunc, backwards.values)[::-1]

    def accumulate_before(self, ufunc: np.ufunc, numbers: Floats, nothing: float) -> Floats:
        """Return `numbers` accumulated over the values before each one in its list.

        The first value of a list gets `nothing`, the identity of `ufunc`.
        """
        before = np.empty(len(numbers))
        before[1:] = self.accumulate(ufunc, numbers)[:-1]
        before[self.offsets[:-1][self.lengths > 0]] = nothing
        return before

    def sum(self, numbers: npt.NDArray[Any]) -> Floats:
        """Return the sum of `numbers` (one per value) in each list; 0 if empty."""
        # Sum each list by itself: differences of one long cumulative sum would carry rounding
        # errors from query to query.
        return self._reduced(np.add, numbers.astype(np.float64, copy=False))

    def max(self, numbers: Floats) -> Floats:
        """Return the maximum of `numbers` (one per value) in each list; 0 if empty."""
        return self._reduced(np.maximum, numbers)

    def _reduced(self, ufunc: np.ufunc, numbers: Floats) -> Floats:
        empty = self.lengths == 0
        if not empty.any():
            return ufunc.reduceat(numbers, self.offsets[:-1]) if len(empty) else np.zeros(0)
        # `reduceat` reads the number at the offset of an empty list, so one must be there even
        # after the last list; the result is replaced by 0.
        numbers = np.append(numbers, 0.0) if empty[-1] else numbers
        reduced: Floats = ufunc.reduceat(numbers, self.offsets[:-1])
        reduced[empty] = 0.0
        return reduced

    def count(self, mask: Mask) -> Integers:
        """Return the number of places in each list where `mask` is true."""
        return np.diff(self.places(mask)[1])

    def count_so_far(self, mask: Mask) -> npt.NDArray[np.int32]:
        """Return the number of true places in a list, including each value's own."""
        counts = count_before(mask)
        # Subtract the true places of the lists before, which the running count includes.
        counts[1:] -= repeat_each(counts[self.offsets[:-1]], self.lengths)
        return counts[1:]


@dataclass(frozen=True)
class Documents(Ragged):
    """Some documents of each query, with their ranks in its whole ranking.

    `number` counts these documents only, from 1.
    """

    rank: Integers = field(kw_only=True)
    """Rank of each document in the ranking of its query, from 1."""

    def head(self, n: int | None) -> Documents:
        """Return the documents among the first `n` ranks; all for None."""
        if n is None:
            return self
        if n not in self._heads:
            self._heads[n] = self.keep(self.rank <= n)
        head: Documents = self._heads[n]
        return head

    def keep(self, mask: Mask) -> Documents:
        """Return the documents where `mask` is true."""
        if mask.all():
            return self
        places, offsets = self.places(mask)
        return Documents(self.values[places], offsets, rank=self.rank[places])

    def of(self, values: Floats) -> Documents:
        """Return other values at the same ranks."""
        return Documents(values, self.offsets, rank=self.rank)


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
        return _sum_rows_above(self.counts[::-1])[::-1]


def _argsort_rows(rows: Floats, axis: int = -1, threads: int = 1) -> npt.NDArray[np.int64]:
    """Return the ascending sort order of each row.

    A single long row is cut at quantiles into pieces that threads sort in parallel.
    """
    # A sample of about 1000 values per million gives the quantiles.
    if len(rows) > 1 or rows.size < MIN_THREADED_VALUES or threads == 1:
        return np.argsort(rows, axis=axis)
    numbers = rows.ravel()
    steps = np.linspace(0, 1, threads + 1)[1:-1]
    pivots = np.unique(np.quantile(numbers[:: MIN_THREADED_VALUES // 1000], steps))

    def between(ends: tuple[float, float]) -> npt.NDArray[np.int64]:
        above, up_to = ends
        places = np.flatnonzero((numbers > above) & (numbers <= up_to))
        return places[np.argsort(numbers[places])]

    with ThreadPoolExecutor(threads) as pool:
        pieces = pool.map(between, pairwise([-np.inf, *pivots, np.inf]))
        return np.concatenate([*pieces]).reshape(rows.shape)


def _sum_rows_above(rows: Integers) -> Integers:
    """Return the running sum over the rows (axis 0).

    `np.cumsum(rows, axis=0)` gives the same but takes longer, because it adds up one column after
    another.
    """
    return np.array([*accumulate(rows, np.add)])


def is_integer(values: Floats) -> bool:
    """Return whether all values are integers."""
    return bool((values == np.floor(values)).all())


def _mask_tie_groups(new: Mask) -> Mask:
    """Return the mask of tied values; `new` marks the first value of each tie group."""
    # A value is alone in its group if it starts one and the next value starts one too.
    before_new = np.ones(len(new), bool)
    before_new[:-1] = new[1:]
    return ~(new & before_new)


def count_before(mask: Mask) -> npt.NDArray[np.int32]:
    """Return the number of true places before each place, followed by the total."""
    counts = np.zeros(len(mask) + 1, np.int32)
    # Cast first: a cumsum from bool to int32 would hold the interpreter's lock.
    np.cumsum(mask.astype(np.int32), out=counts[1:])
    return counts


def repeat_each(values: npt.NDArray[Number], times: Integers) -> npt.NDArray[Number]:
    """Return each value as many times as `times` specifies, as a read-only array.

    A single value is broadcast, which takes no memory: the only query of a batch may have very many
    documents.
    """
    return np.broadcast_to(values, times[0]) if len(values) == 1 else np.repeat(values, times)


def list_rows(offsets: Integers, places: Integers) -> Integers:
    """Return the rows of the lists at `places`, end to end; -1 stands for an empty list."""
    starts, lengths = offsets[places], np.append(np.diff(offsets), 0)[places]
    ends = np.cumsum(lengths)
    rows: Integers = np.arange(lengths.sum()) + repeat_each(starts - ends + lengths, lengths)
    return rows


def number_in_groups(order: npt.NDArray[Any], new: Mask) -> Integers:
    """Return the number of each value in its group, from 1.

    `order` sorts the values by group, and `new` marks the first value of each group in it.
    """
    place = np.arange(len(order))
    numbers = np.empty(len(order), np.int64)
    numbers[order] = place - np.maximum.accumulate(np.where(new, place, 0)) + 1
    return numbers


EMPTY = Ragged(np.empty(0), np.zeros(1, np.int64))


def offsets_of(lengths: Integers) -> Integers:
    """Return the offset of each list laid end to end, and the end of the last."""
    return np.concatenate(([0], np.cumsum(lengths)))
