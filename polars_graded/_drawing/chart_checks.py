"""Check the frames of charts: types of columns, counts of rows and panels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

from polars_graded._sentences import format_count

MAX_DRAWN_ROWS = 3000
"""Maximum number of rows that a chart can draw."""

MAX_PANELS = 60
"""Maximum number of panels of a chart."""

UNNAMED_DTYPES = (pl.List, pl.Array, pl.Struct, pl.Object, pl.Duration, pl.Binary)
"""Types of columns whose values cannot be written as names."""


def check_numbers(
    argument: str, frame: pl.DataFrame, columns: Iterable[str], *, lists: bool = False
) -> None:
    """Raise if a column has a type other than numbers, Boolean or Null.

    With `lists`, lists of these types are allowed, too.
    """
    for column in columns:
        dtype: Any = frame.schema[column]
        inner = dtype.inner if lists and isinstance(dtype, pl.List) else dtype
        if not (inner.is_numeric() or inner in (pl.Boolean, pl.Null)):
            msg = f"`{argument}` must have numbers in {column!r}, got {dtype}"
            raise TypeError(msg)


def check_names(frame: pl.DataFrame, columns: Iterable[str]) -> None:
    """Raise if the values of a column cannot be written as names.

    A column that does not exist is ignored.
    """
    for column in columns:
        if isinstance(dtype := frame.schema.get(column), UNNAMED_DTYPES):
            msg = f"column {column!r} must hold texts, numbers or dates to be shown, got {dtype}"
            raise TypeError(msg)


def check_row_count(argument: str, table: pl.DataFrame) -> None:
    """Raise if there are more rows than a chart can draw."""
    if table.height > MAX_DRAWN_ROWS:
        rule = f"`{argument}` must have at most {MAX_DRAWN_ROWS} rows to draw"
        msg = f"{rule}, got {table.height}; filter it"
        raise ValueError(msg)


def check_lines(argument: str, table: pl.DataFrame, keys: Sequence[str], position: str) -> None:
    """Raise if a line has two points at one position. `keys` are the columns of lines."""
    if repeated := table.height - table.n_unique([*keys, position]):
        msg = (
            f"`{argument}` must have each {position} of a line once, got "
            f"{format_count(repeated, 'rows')} too many; "
            "`panel` names the columns that distinguish repeated rows"
        )
        raise ValueError(msg)


def check_not_repeated(
    argument: str, table: pl.DataFrame, name: str, panel: Any, columns: Sequence[str] = ()
) -> None:
    """Raise if two rows of a panel have the same name.

    A chart would draw these rows as one. The name of a row is its value in the column `name`. If
    `columns` are passed, the name consists of the values in these columns, and `name` is only a
    word of the message. If `panel` is None, nothing is checked.
    """
    if panel and (repeated := table.height - table.n_unique([*(columns or [name]), "panel"])):
        msg = (
            f"`{argument}` must have each {name} once in a panel, got "
            f"{format_count(repeated, 'rows')} too many; "
            "`panel` names the columns that distinguish repeated rows"
        )
        if panel != "measure" and "measure" in table.columns and table["measure"].n_unique() > 1:
            msg += f"\n\nHint: .filter(measure={table['measure'][0]!r}) leaves one measure"
        raise ValueError(msg)


def check_count(what: str, n: int, maximum: int) -> None:
    """Raise if there are more than `maximum` things to draw."""
    if n > maximum:
        msg = f"at most {maximum} {what} can be drawn, got {n}; filter the frame"
        raise ValueError(msg)


def check_not_empty(argument: str, table: pl.DataFrame, *values: str) -> None:
    """Raise if there is no row to draw."""
    if table.is_empty():
        quantifier = "both " if len(values) > 1 else "a value in "
        names = " and ".join(map(repr, values))
        msg = f"`{argument}` must have a row with {quantifier}{names}, got none"
        raise ValueError(msg)


def check_panels(table: pl.DataFrame, panel: str | None) -> None:
    """Raise if there are more than `MAX_PANELS` panels."""
    if panel is not None and (n := table["panel"].n_unique()) > MAX_PANELS:
        msg = f"`panel` must have at most {MAX_PANELS} values, got {n} in {panel!r}; filter them"
        raise ValueError(msg)
