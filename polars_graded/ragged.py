"""Where Polars meets NumPy: columns of lists as flat arrays, kernels run over them in chunks."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_graded.errors import UnusableDataError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]
Result = TypeVar("Result")

CHUNK_ROWS = 1 << 18
"""Rows that a kernel sees at once: few enough that the arrays it makes of them stay in cache."""


@dataclass(frozen=True)
class Ragged:
    """One list a query, end to end in one array.

    List `i` is `values[offsets[i]:offsets[i + 1]]`; a null of the list is NaN.
    """

    values: Floats
    offsets: Integers
    _heads: dict[int, Ragged] = field(default_factory=dict, repr=False, compare=False)

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
            lengths = np.minimum(self.lengths, n)
            offsets = offsets_of(lengths)
            # Both lists lie end to end, so that a list's values move by a constant.
            move = np.repeat(self.offsets[:-1] - offsets[:-1], lengths)
            self._heads[n] = Ragged(self.values[np.arange(offsets[-1]) + move], offsets)
        return self._heads[n]

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

    def keep(self, mask: Mask) -> Ragged:
        """The values where `mask` is true, each still in its list."""
        return Ragged(self.values[mask], offsets_of(self.count(mask)))

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

        It goes down all lists in step or along each list in turn, whichever takes fewer steps.
        Lists do not mix, as they would in differences of one long cumulative sum.
        """
        result = np.array(numbers, dtype=np.float64)
        starts, lengths = self.offsets[:-1], self.lengths
        if len(lengths) < lengths.max(initial=0):
            for start, stop in pairwise(self.offsets.tolist()):
                ufunc.accumulate(result[start:stop], out=result[start:stop])
            return result
        for step in range(1, int(lengths.max(initial=0))):
            rows = starts[lengths > step] + step
            result[rows] = ufunc(result[rows - 1], result[rows])
        return result

    def sum(self, numbers: npt.NDArray[Any]) -> Floats:
        """The sum over each list of `numbers`, one a value; 0 for an empty list."""
        total = np.zeros(len(self.lengths))
        filled = self.lengths > 0
        if filled.any():
            # Sums list by list, where differences of one long cumulative sum would mix queries.
            total[filled] = np.add.reduceat(numbers, self.offsets[:-1][filled], dtype=np.float64)
        return total

    def max(self, numbers: Floats) -> Floats:
        """The highest over each list of `numbers`, one a value; 0 for an empty list."""
        highest = np.zeros(len(self.lengths))
        filled = self.lengths > 0
        if filled.any():
            highest[filled] = np.maximum.reduceat(numbers, self.offsets[:-1][filled])
        return highest

    def count(self, mask: Mask) -> Integers:
        """How often `mask` is true in each list."""
        return np.diff(_counted(mask)[self.offsets]).astype(np.int64)

    def count_so_far(self, mask: Mask) -> npt.NDArray[np.int32]:
        """How often `mask` is true in each list down to each of its values."""
        counted = _counted(mask)
        counted[1:] -= np.repeat(counted[self.offsets[:-1]], self.lengths)
        return counted[1:]


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


def list_column(values: pl.Series, lengths: pl.Series) -> pl.Series:
    """Lists of these lengths, end to end in `values`."""
    ends = lengths.cast(pl.Int64).cum_sum()
    rows = pl.int_ranges(ends - lengths, ends, eager=True)
    take = pl.element().map_batches(values.gather, return_dtype=values.dtype, is_elementwise=True)
    return rows.list.eval(take)


class Lists:
    """A column of lists, whose stretches are handed out as `Ragged`."""

    def __init__(self, column: pl.Series) -> None:
        self.flat = column.explode(empty_as_null=False, keep_nulls=False)
        self.offsets = offsets_of(column.list.len().fill_null(0).to_numpy().astype(np.int64))

    def between(self, first: int, last: int) -> Ragged:
        """The lists of the queries `first` to `last - 1`."""
        start, stop = self.offsets[first], self.offsets[last]
        values = self.flat.slice(start, stop - start).cast(pl.Float64).to_numpy()
        return Ragged(values, self.offsets[first : last + 1] - start)


def run(
    columns: Sequence[pl.Series], kernel: Callable[..., Result], *, made: int = 0
) -> list[Result]:
    """Call `kernel` with the lists of some queries at a time, in threads; results in order.

    `columns` hold one list a query each; `kernel` takes a `Ragged` of each. It sees whole queries,
    and about `CHUNK_ROWS` values of a column unless one query alone has more; one that it makes
    `made` values of counts as at least so many. NumPy releases the interpreter's lock while it
    computes, so threads are enough to use every core.
    """
    lists = [Lists(column) for column in columns]

    def work(chunk: tuple[int, int]) -> Result | UnusableDataError:
        try:
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                return kernel(*(column.between(*chunk) for column in lists))
        except UnusableDataError as error:
            return error

    chunks = _chunks(lists, made)
    if len(chunks) == 1:
        results = [work(chunks[0])]
    else:
        _have_freed_memory_kept()
        with ThreadPoolExecutor(min(len(chunks), pl.thread_pool_size())) as pool:
            results = list(pool.map(work, chunks))
    if errors := [result for result in results if isinstance(result, UnusableDataError)]:
        raise UnusableDataError.of_all(errors)
    return [result for result in results if not isinstance(result, UnusableDataError)]


def _have_freed_memory_kept() -> None:
    """Have the C library keep the arrays of one chunk for the next.

    glibc hands freed memory back to the system beyond twice the largest block freed so far that
    it had mapped alone, at most 32 MiB; a kernel's arrays would be paged in anew for every chunk,
    at half of its time. An untouched block costs nothing.
    """
    np.empty(31 << 20, np.uint8)


def _chunks(lists: Sequence[Lists], made: int) -> list[tuple[int, int]]:
    """Stretches of queries, so long that the longest column has `CHUNK_ROWS` values in each.

    A query that has fewer values than are `made` of it counts as so many.
    """
    ends = max((column.offsets for column in lists), key=lambda offsets: int(offsets[-1]))
    ends = offsets_of(np.maximum(np.diff(ends), min(made, CHUNK_ROWS)))
    edges = np.searchsorted(ends, np.arange(CHUNK_ROWS, ends[-1], CHUNK_ROWS))
    return list(pairwise([0, *np.unique(edges[edges < len(ends) - 1]).tolist(), len(ends) - 1]))
