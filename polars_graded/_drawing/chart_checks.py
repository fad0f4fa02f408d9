"""Checks of frames to draw: numbers, names, no more rows than are seen, one grader."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

MAX_DRAWN_ROWS = 3000
"""How many rows a chart draws."""

MAX_PANELS = 60
"""How many panels are still looked at."""

UNNAMED_DTYPES = (pl.List, pl.Array, pl.Struct, pl.Object, pl.Duration, pl.Binary)
"""What holds no names: nothing that could be written beside a line."""


def check_numbers(
    argument: str, frame: pl.DataFrame, columns: Iterable[str], *, lists: bool = False
) -> None:
    """Raise where a column that is drawn is not of numbers, nor of lists of them where these do."""
    for column in columns:
        dtype: Any = frame.schema[column]
        of = dtype.inner if lists and isinstance(dtype, pl.List) else dtype
        if not (of.is_numeric() or of in (pl.Boolean, pl.Null)):
            msg = f"`{argument}` must have numbers in {column!r}, got {dtype}"
            raise TypeError(msg)


def check_names(frame: pl.DataFrame, columns: Iterable[str]) -> None:
    """Raise where one of the columns that are there holds what cannot be written as a name."""
    for column in columns:
        if isinstance(dtype := frame.schema.get(column), UNNAMED_DTYPES):
            msg = f"column {column!r} must hold texts, numbers or dates to be shown, got {dtype}"
            raise TypeError(msg)


def check_row_count(argument: str, table: pl.DataFrame) -> None:
    """Raise where there are more rows than can be drawn."""
    if table.height > MAX_DRAWN_ROWS:
        rule = f"`{argument}` must have at most {MAX_DRAWN_ROWS} rows to draw"
        msg = f"{rule}, got {table.height}; filter it"
        raise ValueError(msg)


def check_not_repeated(
    argument: str, table: pl.DataFrame, name: str, panel: str | None, of: Sequence[str] = ()
) -> None:
    """Raise where a panel has something twice, which would be drawn as one.

    It is a column, or what it is made `of`.
    """
    if panel and (repeated := table.height - table.n_unique([*(of or [name]), "panel"])):
        msg = (
            f"`{argument}` must have each {name} once in a panel, got {repeated} again; "
            "`panel` names the column that sets them apart"
        )
        if panel != "measure" and "measure" in table.columns and table["measure"].n_unique() > 1:
            msg += f"\n\nHint: .filter(measure={table['measure'][0]!r}) leaves one measure"
        raise ValueError(msg)


def check_count(what: str, n: int, most: int) -> None:
    """Raise where there are more than can be drawn."""
    if n > most:
        msg = f"at most {most} {what} can be drawn, got {n}; filter the frame"
        raise ValueError(msg)


def check_not_empty(argument: str, table: pl.DataFrame, *values: str) -> None:
    """Raise where there is nothing to draw."""
    if table.is_empty():
        both = "both " if len(values) > 1 else "a value in "
        wanted = " and ".join(map(repr, values))
        msg = f"`{argument}` must have a row with {both}{wanted}, got none"
        raise ValueError(msg)


def check_panels(table: pl.DataFrame, panel: str | None) -> None:
    """Raise where there are more panels than can be looked at."""
    if panel is not None and (n := table["panel"].n_unique()) > MAX_PANELS:
        msg = f"`panel` must have at most {MAX_PANELS} values, got {n} in {panel!r}; filter them"
        raise ValueError(msg)
