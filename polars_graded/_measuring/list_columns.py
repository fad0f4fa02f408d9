"""Columns of lists as flat arrays, which kernels process in chunks."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

import numpy as np
import polars as pl

from polars_graded._measuring.kernels.errors import UnusableDataError
from polars_graded._measuring.kernels.labels import Labels, Vectors
from polars_graded._measuring.kernels.ragged import (
    MAX_EXACT_INTEGER,
    Integers,
    Ragged,
    count_before,
    list_rows,
    offsets_of,
)

ChunkResult = TypeVar("ChunkResult")

CHUNK_ROWS = 1 << 19
"""Target number of rows of a chunk: small enough that a kernel's arrays stay in cache, and large
enough that threads seldom wait for the interpreter's lock."""

SCRATCH_ARRAYS = 15
"""Number of arrays for which a thread holds memory, as `_hold_memory` explains. Each array has
`CHUNK_ROWS` numbers (4 MiB). All arrays (60 MiB) fit into one heap of glibc (64 MiB)."""

SCRATCH_BLOCK = 1 << 14
"""Number of doubles in the block that `_hold_memory` allocates after the scratch arrays. A smaller
block might fill a gap before the arrays. It would then not keep their memory from being returned to
the system."""


def make_list_column(values: pl.Series, lengths: pl.Series) -> pl.Series:
    """Return a column of lists; `values` contains the lists end to end."""
    if lengths.n_unique() == 1 and lengths[0]:
        return values.reshape((-1, lengths[0])).arr.to_list()
    ends = lengths.cast(pl.Int64).cum_sum()
    rows = pl.int_ranges(ends - lengths, ends, eager=True)
    gather = pl.element().map_batches(values.gather, return_dtype=values.dtype, is_elementwise=True)
    return rows.list.eval(gather)


class Lists:
    """Column of lists, which lie end to end in `flat`."""

    def __init__(
        self, flat: pl.Series, offsets: Integers, labels: Labels | Vectors | None = None
    ) -> None:
        self.flat, self.offsets = flat, offsets
        self.labels = labels
        """Table of labels or vectors, if the values of the lists are indices into it."""

    @classmethod
    def of(cls, column: pl.Series) -> Lists:
        """Return the lists of a column."""
        flat = column.explode(empty_as_null=False, keep_nulls=False)
        return cls(flat, offsets_of(column.list.len().fill_null(0).to_numpy().astype(np.int64)))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def at(self, rows: Integers) -> Lists:
        """Return lists of the same lengths, filled with the values at `rows`."""
        return Lists(self.flat.gather(rows), self.offsets, self.labels)

    def select(self, indices: Integers) -> Lists:
        """Return the lists with these indices; -1 stands for an empty list."""
        if np.array_equal(indices, np.arange(len(self))):
            return self
        lengths = np.append(np.diff(self.offsets), 0)[indices]
        rows = list_rows(self.offsets, indices)
        return Lists(self.flat.gather(rows), offsets_of(lengths), self.labels)

    def count(self, mask: pl.Series) -> Integers:
        """Count the true values of `mask` in each list.

        `mask` has one value for each value in `flat`.
        """
        if not mask.any():
            return np.zeros(len(self), np.int64)
        if mask.all(ignore_nulls=False):
            return np.diff(self.offsets)
        so_far = count_before(mask.fill_null(value=False).to_numpy())
        # Beyond 2^31 the counts wrap around, but their differences are still right.
        return np.diff(so_far[self.offsets]).astype(np.int64)

    def as_numbers(self) -> Lists:
        """Return the lists as numbers that doubles hold exactly.

        Dates, times and enums become their physical numbers. If doubles might not hold the values
        exactly, as for decimals and very large integers, all values become dense ranks. The order
        of the values is the same.
        """
        flat = self.flat if self.flat.dtype.is_decimal() else self.flat.to_physical()
        if flat.dtype.is_integer():
            is_exact = are_exact(flat)
        else:
            is_exact = flat.dtype.is_float() or flat.dtype in (pl.Boolean, pl.Null)
        return Lists(flat if is_exact else flat.rank("dense"), self.offsets)

    def between(self, first: int, last: int) -> Ragged:
        """Return the lists of the queries `first` to `last - 1`."""
        start, stop = self.offsets[first], self.offsets[last]
        values = self.flat.slice(start, stop - start).cast(pl.Float64).to_numpy()
        offsets = self.offsets[first : last + 1] - start
        return Ragged(values, offsets)


def are_exact(numbers: pl.Series) -> bool:
    """Return whether whole numbers are small enough to be exact as doubles."""
    ends = numbers.to_frame().select(pl.first().min(), highest=pl.first().max()).row(0)
    return all(end is None or abs(end) <= MAX_EXACT_INTEGER for end in ends)


def is_finite(column: pl.Series) -> bool:
    """Return whether a column contains neither NaN nor infinity."""
    if not column.dtype.is_float():
        return True
    # Summing is faster than checking each value, and NaN or infinity makes the sum not finite.
    return math.isfinite(column.sum()) or column.is_finite().all()


def count_not_finite(column: Lists) -> int:
    """Return the number of queries in which a column contains NaN or infinity."""
    if is_finite(column.flat):
        return 0
    return int((column.count(~column.flat.is_finite()) > 0).sum())


def map_chunks(
    lists: Sequence[Lists], compute: Callable[..., ChunkResult], *, values_per_query: int = 0
) -> list[ChunkResult]:
    """Call `compute` on chunks of queries; return the results in order.

    `lists` are columns of one list per query. `compute` takes one `Ragged` per column. A chunk
    contains whole queries. No column has many more than `CHUNK_ROWS` values in a chunk, unless a
    query is very long. Some functions return or need more values per query than a column has.
    For such a function, pass `values_per_query`: each query then counts as at least this number of
    values. Several chunks run in threads, which can use every core, since NumPy releases the
    interpreter's lock while it computes.
    """

    def work(chunk: tuple[int, int]) -> ChunkResult | UnusableDataError:
        try:
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                return compute(*(column.between(*chunk) for column in lists))
        except UnusableDataError as error:
            return error

    chunks, threads = _split_into_chunks(lists, values_per_query), pl.thread_pool_size()
    if len(chunks) == 1:
        results = [work(chunks[0])]
    else:
        # Threads hold memory between chunks if there are more chunks than threads.
        scratch = threading.local() if len(chunks) > threads else None
        with ThreadPoolExecutor(threads, initializer=_hold_memory, initargs=(scratch,)) as pool:
            results = list(pool.map(work, chunks))
    if errors := [result for result in results if isinstance(result, UnusableDataError)]:
        raise UnusableDataError.of_all(errors)
    return [result for result in results if not isinstance(result, UnusableDataError)]


def _hold_memory(scratch: threading.local | None) -> None:
    """Hold memory for the chunks of this thread while `scratch` exists.

    The C library returns free memory at the end of its heap to the system at once. Each chunk would
    then request this memory again, which takes a tenth of a kernel's time. The library does not
    return free memory if a used block comes after it. Therefore this function allocates arrays of
    the size that a chunk needs, and then a block. It frees the arrays and keeps the block.
    """
    if scratch is not None:
        arrays = [np.empty(CHUNK_ROWS) for _ in range(SCRATCH_ARRAYS)]
        scratch.block = np.empty(SCRATCH_BLOCK)
        del arrays


def _split_into_chunks(lists: Sequence[Lists], values_per_query: int) -> list[tuple[int, int]]:
    """Return ranges of queries with about the same number of values in each.

    Values are counted in the longest column. A query counts as at least `values_per_query` values,
    but this minimum is never above `CHUNK_ROWS`. The values are divided into equal shares of at
    most `CHUNK_ROWS` values. With more than `CHUNK_ROWS // 4` values, the number of shares is a
    multiple of the number of threads. If a share ends within a query, the chunk contains the whole
    query and can exceed `CHUNK_ROWS`. If a query spans several shares, there are fewer chunks than
    shares.
    """
    ends = max((column.offsets for column in lists), key=lambda offsets: int(offsets[-1]))
    ends = offsets_of(np.maximum(np.diff(ends), min(values_per_query, CHUNK_ROWS)))
    total, threads = int(ends[-1]), pl.thread_pool_size()
    n_chunks = -(-total // CHUNK_ROWS)
    if total > CHUNK_ROWS // 4:
        n_chunks = -(-n_chunks // threads) * threads
    edges = np.searchsorted(ends, np.arange(1, n_chunks) * total / max(n_chunks, 1))
    return list(pairwise([0, *np.unique(edges[edges < len(ends) - 1]).tolist(), len(ends) - 1]))
