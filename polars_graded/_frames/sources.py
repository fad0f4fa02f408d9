"""Lazy frames with rows that Python generates part by part when they are collected."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import TypeAlias

import polars as pl
import polars.selectors as cs
from polars.io.plugins import register_io_source

Frames: TypeAlias = "Callable[[Collection[str], pl.Expr | None], Iterator[pl.DataFrame]]"


def scan_frames(schema: pl.Schema, frames: Frames) -> pl.LazyFrame:
    """Return a lazy frame that calls `frames` at each collection.

    The arguments of `frames` are the needed columns and the filter of rows (None for all rows).
    `frames` may yield more columns and rows than needed.
    """

    def source(
        columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, _: int | None
    ) -> Iterator[pl.DataFrame]:
        wanted = schema.names() if columns is None else columns
        if n_rows == 0:
            yield schema.to_frame().select(cs.by_name(wanted))
            return
        # With `n_rows`, the filter applies only to the first rows, so `frames` must not filter.
        for part in frames(wanted, predicate if n_rows is None else None):
            frame = part if n_rows is None else part.head(n_rows)
            if n_rows is not None:
                n_rows -= frame.height
            frame = frame.select(cs.by_name(wanted))
            yield frame if predicate is None else frame.filter(predicate)
            if n_rows == 0:
                return

    return register_io_source(source, schema=schema)
