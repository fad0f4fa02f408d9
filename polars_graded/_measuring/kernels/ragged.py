"""Lists of numbers, one list per query, end to end in one array."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import accumulate
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]
Number = TypeVar("Number", bound=np.generic)

MAX_EXACT_INTEGER = 1 << 53
"""Number n such that a double can hold every integer from -n to n, but not n + 1."""

MAX_COUNTED_LEVELS, MAX_COUNTS = 64, 1 << 21
"""Maximum number of levels (distinct values), and maximum product of levels and lists.

Within both limits, values are sorted by counting how many values equal each level.
"""


@dataclass(frozen=True, eq=False)
class Ragged:
    """One list per query, end to end in one array.

    List `i` is `values[offsets[i]:offsets[i + 1]]`; NaN stands for null.
    """

    values: Floats
    offsets: Integers
    _heads: dict[int, Any] = field(default_factory=dict, repr=False, compare=False)
    """The results of `head` by their cutoff, each made once."""

    @cached_property
    def lengths(self) -> Integers:
        """Return the number of values in each list."""
        return np.diff(self.offsets)

    @cached_property
    def query_index(self) -> Integers:
        """Return the index of the list that each value belongs to, from 0."""
        return repeat_each(np.arange(len(self.lengths)), self.lengths)

    @cached_property
    def position(self) -> Integers:
        """Return the position of each value in its list, from 1."""
        return np.arange(1, len(self.values) + 1) - repeat_each(self.offsets[:-1], self.lengths)

    @cached_property
    def position_as_float(self) -> Floats:
        """Return `position` as floats, converted only once."""
        return self.position.astype(np.float64)

    def head(self, n: int | None) -> Ragged:
        """Return the first `n` values of each list; all for None."""
        if n is None or self.lengths.max(initial=0) <= n:
            return self
        if n not in self._heads:
            lengths = np.minimum(self.lengths, n)
            offsets = offsets_of(lengths)
            # Lists lie end to end in the old and in the new array, so all values of a list shift by
            # the same amount.
            shift = repeat_each(self.offsets[:-1] - offsets[:-1], lengths)
            self._heads[n] = Ragged(self.values[np.arange(offsets[-1]) + shift], offsets)
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
        is_filled = self.lengths > 0
        last[is_filled] = self.values[self.offsets[1:][is_filled] - 1]
        return last

    def find_true(self, mask: Mask) -> tuple[Integers, Integers]:
        """Return the indices of true values, and offsets in these indices.

        The true values of list `i` have the indices `indices[offsets[i]:offsets[i + 1]]`.
        """
        indices = np.flatnonzero(mask)
        return indices, np.searchsorted(indices, self.offsets)

    def keep(self, mask: Mask) -> Ragged:
        """Return the values where `mask` is true, each in its list."""
        if mask.all():
            return self
        indices, offsets = self.find_true(mask)
        return Ragged(self.values[indices], offsets)

    def select_documents(self, mask: Mask) -> Documents:
        """Return the values where `mask` is true, each in its list with its rank."""
        indices, offsets = self.find_true(mask)
        rank = indices + 1 - repeat_each(self.offsets[:-1], np.diff(offsets))
        return Documents(self.values[indices], offsets, rank=rank)

    def all_documents(self) -> Documents:
        """Return all values with their ranks."""
        return Documents(self.values, self.offsets, rank=self.position)

    @cached_property
    def level_counts(self) -> Levels | None:
        """Return the counts of each level (distinct value) in each list, or None.

        If all values are integers in a small range, each integer of the range is a level. The
        result is None if there are no values, or if there are more levels than `MAX_COUNTED_LEVELS`
        and `MAX_COUNTS` allow.
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
        counts = np.bincount(level * size[1] + self.query_index, minlength=size[0] * size[1])
        return Levels(levels, counts.reshape(size))

    def sort_descending(self, n: int | None = None) -> Ragged:
        """Return the `n` highest values of each list (all for None), descending."""
        if self.level_counts is None:
            falling = -self.map_rows(np.sort, -self.values, np.inf)
            # Return no `Documents`: their ranks would not fit the sorted values.
            return Ragged(falling, self.offsets).head(n)
        levels, counts = self.level_counts.values[::-1], self.level_counts.counts[::-1]
        if n is not None and self.lengths.max() > n:
            # Count the values of each list at or above each level, with counts limited to n. The
            # count at a level minus the count at the next higher level is the number of values to
            # keep on this level.
            counts = np.diff(np.minimum(_accumulate_rows(counts), n), axis=0, prepend=0)
        falling = repeat_each(np.tile(levels, len(self.lengths)), counts.T.ravel())
        return Ragged(falling, offsets_of(counts.sum(axis=0)))

    def sort_ascending(self) -> Ragged:
        """Return the values of each list in ascending order, without NaN."""
        numbers = self.keep(~np.isnan(self.values))
        return numbers.with_values(numbers.map_rows(np.sort, numbers.values, np.inf))

    def compare_with_previous(self, compare: np.ufunc) -> Mask:
        """Return the mask of values for which `compare(value, previous value)` is true.

        It is false for the first value of each list.
        """
        mask = np.zeros(len(self.values), bool)
        compare(self.values[1:], self.values[:-1], out=mask[1:])
        mask[self.offsets[:-1][self.lengths > 0]] = False
        return mask

    def argsort(self, *, descending: bool = False) -> tuple[Integers, Mask]:
        """Return the stable sort order of each list, and a mask.

        All values must be finite. The order holds indices in `values`, list by list; the mask marks
        the first value of each tie group in this order.
        """
        # NumPy sorts integers with SIMD, but not pairs of a value and its index. So the lowest bits
        # of each value are replaced by its index, which also makes the order stable.
        bits = len(self.values).bit_length()
        index_mask = (1 << bits) - 1
        keys = _convert_to_integers(self.values, descending=descending) & ~index_mask
        keys |= np.arange(len(keys))
        keys = self.map_rows(np.sort, keys, np.iinfo(np.int64).max)
        order = keys & index_mask
        keys >>= bits
        is_first = np.ones(len(order), bool)
        np.not_equal(keys[1:], keys[:-1], out=is_first[1:])
        is_first[self.offsets[:-1][self.lengths > 0]] = True
        repeated = np.flatnonzero(~is_first)
        if (self.values[order[repeated]] != self.values[order[repeated - 1]]).any():
            self._sort_by_lowest_bits(order, is_first, descending=descending)
        return order, is_first

    def _sort_by_lowest_bits(self, order: Integers, is_first: Mask, *, descending: bool) -> None:
        """Sort the values of each tie group, and split the group where its values differ.

        `order` and `is_first` are changed. Values of a group are equal but for their lowest bits.
        """
        is_grouped = _mask_tie_groups(is_first)
        indices, starts = order[is_grouped], np.flatnonzero(is_first[is_grouped])
        groups = Ragged(self.values[indices], np.append(starts, len(indices)))
        # Doubles hold differences of such values exactly, and with few bits.
        differences = groups.values - repeat_each(groups.values[starts], groups.lengths)
        by_value, is_first[is_grouped] = groups.with_values(differences).argsort(
            descending=descending
        )
        order[is_grouped] = indices[by_value]

    def mask_tied(self) -> Mask:
        """Return the mask of values that occur more than once in their list.

        NaN never counts as equal to another value.
        """
        is_tied = np.zeros(len(self.values), bool)
        is_tied[self.find_ties()[0]] = True
        return is_tied

    def find_ties(self) -> tuple[Integers, Integers]:
        """Return the indices and the tie groups of tied values.

        Indices are sorted by tie group, and ascend within a tie group. NaN never counts as equal to
        another value.
        """
        is_number = ~np.isnan(self.values)
        order, is_first = self.keep(is_number).argsort()
        is_tied = _mask_tie_groups(is_first)
        indices: Integers = np.flatnonzero(is_number)[order[is_tied]]
        return indices, np.cumsum(is_first, dtype=np.int64)[is_tied]

    def map_rows(
        self, function: Callable[..., npt.NDArray[Any]], numbers: npt.NDArray[Any], padding: float
    ) -> npt.NDArray[Any]:
        """Apply a function to each list of `numbers`, and join the results.

        The function takes lists of similar lengths as the rows of one array, with `padding` after
        the shorter ones. Sorting rows is many times faster than sorting all values by their list
        and then by value.
        """
        longest = int(self.lengths.max(initial=1))
        if longest * len(self.lengths) == len(numbers):
            return function(numbers.reshape(-1, longest), axis=1).ravel()
        result = np.empty(len(numbers), function(numbers[:1]).dtype)
        for is_in_array, is_in_row in self.row_masks:
            rows = np.full(is_in_row.shape, padding, numbers.dtype)
            rows[is_in_row] = numbers[is_in_array]
            result[is_in_array] = function(rows, axis=1)[is_in_row]
        return result

    @cached_property
    def row_masks(self) -> list[tuple[Mask | slice, Mask]]:
        """Return pairs of masks that put values into arrays with a row per list.

        The first mask of a pair selects the values that go into an array (or is a slice that
        selects all values). The second mask selects the cells that these values fill. The longest
        list of an array is less than twice as long as the shortest, so less than half of the cells
        are padding.
        """
        # Lists of at least 2^(e-1) and fewer than 2^e values share an array; e is the exponent.
        exponent = np.frexp(self.lengths)[1].astype(np.int8)
        exponents = np.unique(exponent[self.lengths > 0])
        exponent_of_value = repeat_each(exponent, self.lengths)
        return [
            (
                exponent_of_value == each if len(exponents) > 1 else slice(None),
                np.arange(self.lengths[exponent == each].max())
                < self.lengths[exponent == each, np.newaxis],
            )
            for each in exponents
        ]

    def with_values(self, values: Floats) -> Ragged:
        """Return other values in lists of the same lengths."""
        return Ragged(values, self.offsets)

    def extend(self, lengths: Integers) -> Ragged:
        """Return lists of new lengths, cut or padded with their last value.

        List i gets `lengths[i]` values. An empty list is padded with zeros.
        """
        offsets = offsets_of(lengths)
        query = repeat_each(np.arange(len(lengths)), lengths)
        number = np.arange(1, offsets[-1] + 1) - offsets[query]
        old_length = self.lengths[query]
        indices = self.offsets[query] + np.minimum(number, old_length) - 1
        padded = np.append(self.values, 0.0)
        return Ragged(padded[np.where(old_length > 0, indices, len(self.values))], offsets)

    def accumulate(self, ufunc: np.ufunc, numbers: Floats) -> Floats:
        """Accumulate `numbers` by `ufunc` from the first value of each list.

        Rounding errors do not carry over from list to list, as they would in differences of one
        long cumulative sum.
        """
        accumulate = partial(ufunc.accumulate, dtype=np.float64)
        return self.map_rows(accumulate, numbers, padding=0.0)

    def accumulate_backwards(self, ufunc: np.ufunc, numbers: Floats) -> Floats:
        """Accumulate `numbers` by `ufunc` from the last value of each list."""
        backwards = Ragged(numbers[::-1], self.offsets[-1] - self.offsets[::-1])
        return backwards.accumulate(ufunc, backwards.values)[::-1]

    def accumulate_before(self, ufunc: np.ufunc, numbers: Floats, nothing: float) -> Floats:
        """Accumulate, for each value, the numbers of earlier values of its list.

        The first value of a list gets `nothing`, the identity of `ufunc`.
        """
        before = np.empty(len(numbers))
        before[1:] = self.accumulate(ufunc, numbers)[:-1]
        before[self.offsets[:-1][self.lengths > 0]] = nothing
        return before

    def sum(self, numbers: npt.NDArray[Any] | None = None) -> Floats:
        """Return the sum of each list, or of `numbers` (one per value); 0 if empty."""
        # Sum each list by itself: differences of one long cumulative sum would carry rounding
        # errors from query to query.
        numbers = self.values if numbers is None else numbers
        return self._reduce(np.add, numbers.astype(np.float64, copy=False))

    def max(self, numbers: Floats) -> Floats:
        """Return the maximum of `numbers` (one per value) per list; 0 if empty."""
        return self._reduce(np.maximum, numbers)

    def _reduce(self, ufunc: np.ufunc, numbers: Floats) -> Floats:
        is_empty = self.lengths == 0
        if not is_empty.any():
            return ufunc.reduceat(numbers, self.offsets[:-1]) if len(is_empty) else np.zeros(0)
        # For an empty list, `reduceat` returns the number at its offset. It is replaced by 0 below.
        # If the last list is empty, its offset is the end of `numbers`, so a 0 is appended there.
        numbers = np.append(numbers, 0.0) if is_empty[-1] else numbers
        reduced: Floats = ufunc.reduceat(numbers, self.offsets[:-1])
        reduced[is_empty] = 0.0
        return reduced

    def count(self, mask: Mask) -> Integers:
        """Return the number of values in each list where `mask` is true."""
        return self.lengths if mask.all() else np.diff(self.find_true(mask)[1])

    def count_so_far(self, mask: Mask) -> npt.NDArray[np.int32]:
        """Return the number of true values of `mask` so far in each list.

        The count at a value includes the value itself.
        """
        counts = count_before(mask)
        # Subtract the true values of the previous lists, which the running count includes.
        counts[1:] -= repeat_each(counts[self.offsets[:-1]], self.lengths)
        return counts[1:]


@dataclass(frozen=True, eq=False)
class Documents(Ragged):
    """Some documents of each query, with their ranks in the whole ranking.

    The inherited `position` counts only these documents, from 1. Documents that come from a list
    without an order have ranks without a meaning.
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
        indices, offsets = self.find_true(mask)
        return Documents(self.values[indices], offsets, rank=self.rank[indices])

    def with_values(self, values: Floats) -> Documents:
        """Return other values at the same ranks."""
        return Documents(values, self.offsets, rank=self.rank)


@dataclass(frozen=True)
class Levels:
    """Levels (distinct values), and the number of values per level and list."""

    values: Floats
    """Levels in ascending order."""
    counts: Integers
    """Counts with a row per level and a column per list."""

    @cached_property
    def n_reaching(self) -> Integers:
        """Return the number of values at or above each level, per list."""
        return _accumulate_rows(self.counts[::-1])[::-1]


def _convert_to_integers(values: Floats, *, descending: bool) -> Integers:
    """Return integers that sort like the values, or in the opposite order.

    The bits of doubles that are not negative, read as integers, sort like the doubles. Integers of
    negative doubles sort the wrong way round, so all their bits but the sign are flipped.
    """
    integers = values.view(np.int64)
    if integers.min(initial=0) < 0:
        integers = (values + 0.0).view(np.int64)  # -0 becomes 0
        integers = integers ^ ((integers >> 63) & np.iinfo(np.int64).max)
    return ~integers if descending else integers


def _accumulate_rows(rows: Integers) -> Integers:
    """Return the running sum over the rows (axis 0).

    `np.cumsum(rows, axis=0)` gives the same but takes longer, because it adds up one column after
    another.
    """
    return np.array([*accumulate(rows, np.add)])


def is_integer(values: Floats) -> bool:
    """Return whether all values are integers."""
    return bool((values == np.floor(values)).all())


def _mask_tie_groups(is_first: Mask) -> Mask:
    """Return the mask of tied values.

    `is_first` marks the first value of each tie group.
    """
    # A value is not tied if both this value and the next one start a group.
    is_before_first = np.ones(len(is_first), bool)
    is_before_first[:-1] = is_first[1:]
    return ~(is_first & is_before_first)


def count_before(mask: Mask) -> npt.NDArray[np.int32]:
    """Return the number of true values before each value, then the total."""
    counts = np.zeros(len(mask) + 1, np.int32)
    # Cast first: a cumsum from bool to int32 would hold the interpreter's lock.
    np.cumsum(mask.astype(np.int32), out=counts[1:])
    return counts


def repeat_each(values: npt.NDArray[Number], times: Integers) -> npt.NDArray[Number]:
    """Return each value as many times as `times` specifies.

    The result must not be changed. If `values` has one value, as in a batch of one long query, the
    result is a read-only view that takes no memory.
    """
    return np.broadcast_to(values, times[0]) if len(values) == 1 else np.repeat(values, times)


def list_rows(offsets: Integers, lists: Integers) -> Integers:
    """Return the indices of the values in some lists.

    -1 in `lists` stands for an empty list.
    """
    starts, lengths = offsets[lists], np.append(np.diff(offsets), 0)[lists]
    ends = np.cumsum(lengths)
    rows: Integers = np.arange(lengths.sum()) + repeat_each(starts - ends + lengths, lengths)
    return rows


def number_in_groups(order: npt.NDArray[Any], is_first: Mask) -> Integers:
    """Return the number of each value in its group, from 1.

    `order` sorts the values by group, and `is_first` marks the first value of each group in this
    order.
    """
    index = np.arange(len(order))
    numbers = np.empty(len(order), np.int64)
    numbers[order] = index - np.maximum.accumulate(np.where(is_first, index, 0)) + 1
    return numbers


EMPTY = Ragged(np.empty(0), np.zeros(1, np.int64))


def offsets_of(lengths: Integers) -> Integers:
    """Return the offsets of lists that lie end to end, and the total length."""
    return np.concatenate(([0], np.cumsum(lengths)))
