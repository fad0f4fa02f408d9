"""Read a frame that is larger than memory in batches of rows or of whole queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from polars_graded._checks import first_few
from polars_graded._frames.grouping import find_run_starts

BATCH_ROWS = 1 << 18
"""Number of rows of a batch. Larger batches are hardly faster, but need more memory."""


def read_batches(frame: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """Return nonempty batches of the rows, in their order."""
    batches = frame.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True, engine="streaming")
    return (batch for batch in batches if batch.height)


def read_whole_queries(frame: pl.LazyFrame, query: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Yield batches that end where a query ends.

    The rows of a query must be consecutive. This function does not notice a query whose rows are in
    two batches, so the caller checks the result with `check_queries_are_together`.
    """
    held = [frame.head(0).collect()]
    for batch in read_batches(frame):
        start = int(find_run_starts(batch.select(query))[-1])
        if start:
            yield pl.concat([*held, batch.head(start)])
            held = []
        held.append(batch.slice(start))
    yield pl.concat(held)


def check_queries_are_together(values: pl.DataFrame, keys: Sequence[str]) -> None:
    """Raise if the rows of a query were apart, so that it has several rows of values."""
    # Counting the values of one column takes much less memory than comparing whole keys.
    varying = [key for key in keys if values.get_column(key).n_unique() > 1]
    if values.height <= 1 or (varying and values.select(varying).n_unique() == values.height):
        return
    scattered = values.select(keys).filter(pl.struct(keys).is_duplicated())
    if scattered.height:
        scattered = scattered.unique(maintain_order=True)
        msg = (
            "`consecutive` and `set_sorted` need rows of each query that are consecutive, got "
            f"{scattered.height} of {values.select(keys).n_unique()} queries in several places: "
            f"{first_few(scattered.rows())}\n\nHint: leave them out, or sort the rows by query"
        )
        raise ValueError(msg)
