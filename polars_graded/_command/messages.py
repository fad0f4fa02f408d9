"""Print tables, warnings and errors of the command."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias

import polars as pl

from polars_graded._checks import format_on_one_line

Style: TypeAlias = Literal["UTF8_FULL_CONDENSED", "MARKDOWN"]


def print_text(text: str) -> None:
    """Print to standard output, whose encoding may lack characters."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)
    except OSError:
        # Python writes to standard output again at exit, which would fail like this write.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


@contextmanager
def print_warnings() -> Iterator[list[str]]:
    """Print each warning once, on one line of standard error, and yield the list of warnings."""
    sentences: list[str] = []

    def show(warning: Warning | str, *_: Any, **__: Any) -> None:
        sentence = write_sentence(warning)
        if sentence not in sentences:
            sentences.append(sentence)
            print(f"warning: {sentence}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show  # type: ignore[assignment]
        yield sentences


def write_sentence(message: Exception | Warning | str) -> str:
    """Return an error or a warning with its hint on one line."""
    if isinstance(message, OSError) and message.strerror and message.filename:
        return escape_control_characters(f"{message.strerror}: {message.filename}")
    return escape_control_characters(format_on_one_line(message).split("\n", maxsplit=1)[0])


def escape_control_characters(text: str) -> str:
    """Return the text with escaped characters that could move the cursor or reorder the text."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def format_table(table: pl.DataFrame, style: Style = "UTF8_FULL_CONDENSED") -> str:
    """Return a table as text, with four decimals and escaped control characters."""

    def format_cell(value: Any) -> str:
        if isinstance(value, float):
            return f"{value:.0e}" if 0 < abs(value) < 0.0001 else f"{value:.4f}"  # noqa: PLR2004
        return "" if value is None else escape_control_characters(str(value))

    texts = pl.DataFrame({name: [*map(format_cell, table[name])] for name in table.columns})
    with pl.Config(
        tbl_rows=-1,
        tbl_cols=-1,
        tbl_width_chars=-1,
        fmt_str_lengths=2**31,
        tbl_hide_column_data_types=True,
        tbl_hide_dataframe_shape=True,
        tbl_cell_alignment="RIGHT",
        tbl_formatting=style,
    ):
        return str(texts)
