"""Lazy frames whose rows are computed when the frame is collected."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import TypeAlias

import polars as pl
import polars.selectors as cs
from polars.io.plugins import register_io_source

ReadParts: TypeAlias = "Callable[[Collection[str], pl.Expr | None], Iterator[pl.DataFrame]]"


def scan_frames(schema: pl.Schema, read_parts: ReadParts) -> pl.LazyFrame:
    """Return a lazy frame that gets its rows from `read_parts` when collected.

    The arguments of `read_parts` are the needed columns and the filter of rows (None for all rows).
    `read_parts` may yield more columns than needed, and rows that the filter excludes.
    """

    def source(
        columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, _: int | None
    ) -> Iterator[pl.DataFrame]:
        wanted = schema.names() if columns is None else columns
        if n_rows == 0:
            yield schema.to_frame().select(cs.by_name(wanted))
            return
        # With `n_rows`, the filter applies only to the first `n_rows` rows. So `read_parts` must
        # return unfiltered rows, and the filter follows below.
        for part in read_parts(wanted, predicate if n_rows is None else None):
            frame = part if n_rows is None else part.head(n_rows)
            if n_rows is not None:
                n_rows -= frame.height
            frame = frame.select(cs.by_name(wanted))
            yield frame if predicate is None else frame.filter(predicate)
            if n_rows == 0:
                return

    return register_io_source(source, schema=schema)
