"""Chunks of queries, which kernels compute in threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

import numpy as np
import polars as pl

from polars_graded._measuring.kernels.errors import UnusableDataError
from polars_graded._measuring.kernels.ragged import offsets_of
from polars_graded._measuring.list_columns import Lists

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
