"""Lazy frames whose rows are made in Python when they are collected, some at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars.selectors as cs
from polars.io.plugins import register_io_source

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    import polars as pl


def read_later(
    schema: pl.Schema, frames: Callable[[Collection[str]], Iterator[pl.DataFrame]]
) -> pl.LazyFrame:
    """A lazy frame of what `frames` gives, called at each collection with the columns wanted."""

    def source(
        columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, _: int | None
    ) -> Iterator[pl.DataFrame]:
        wanted = schema.names() if columns is None else columns
        if n_rows == 0:
            yield schema.to_frame().select(cs.by_name(wanted))
            return
        for whole in frames(wanted):
            frame = whole if n_rows is None else whole.head(n_rows)
            if n_rows is not None:
                n_rows -= frame.height
            frame = frame.select(cs.by_name(wanted))
            yield frame if predicate is None else frame.filter(predicate)
            if n_rows == 0:
                return

    return register_io_source(source, schema=schema)
