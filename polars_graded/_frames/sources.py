"""Lazy frames whose rows are made in Python when they are collected, some at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import TypeAlias

import polars as pl
import polars.selectors as cs
from polars.io.plugins import register_io_source

Frames: TypeAlias = "Callable[[Collection[str], pl.Expr | None], Iterator[pl.DataFrame]]"


def scan_frames(schema: pl.Schema, frames: Frames) -> pl.LazyFrame:
    """Return a lazy frame of `frames`, called at each collection with the wanted columns.

    That is the columns, and which rows, or None for all; `frames` may give more than these.
    """

    def source(
        columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, _: int | None
    ) -> Iterator[pl.DataFrame]:
        wanted = schema.names() if columns is None else columns
        if n_rows == 0:
            yield schema.to_frame().select(cs.by_name(wanted))
            return
        # What is to be chosen is so among the first rows, where these alone are wanted.
        for part in frames(wanted, predicate if n_rows is None else None):
            frame = part if n_rows is None else part.head(n_rows)
            if n_rows is not None:
                n_rows -= frame.height
            frame = frame.select(cs.by_name(wanted))
            yield frame if predicate is None else frame.filter(predicate)
            if n_rows == 0:
                return

    return register_io_source(source, schema=schema)
