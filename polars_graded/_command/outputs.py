"""Print tables, warnings and errors, and write the files of a subcommand."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import polars.selectors as cs
from cyclopts import Parameter

import polars_graded as pg
from polars_graded._checks import format_on_one_line
from polars_graded._writing import check_writable, write_atomically

RESULTS, CHARTS, TABLES = (".csv", ".parquet"), (".svg", ".png", ".html"), (".md", ".tex")
"""Suffixes of files with rows, of charts, and of tables for a paper."""

Outputs = Annotated[list[Path] | None, Parameter(name=("--output", "-o"), consume_multiple=True)]
"""Type of the option for files to write, whose suffixes decide what they contain."""

Writers = dict[str, Callable[[Path], object]]
"""Functions that write a file, by its suffix."""

ARGUMENT = re.compile(
    r"\b(baseline|cluster|formulas|judgments|missing|named_by|scale|strategy|ties)=('[^']+'|\[[^\]]+\])"
)
"""Arguments in messages of functions, which are options here."""


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
    """Return an error or a warning with its hint on one line, and arguments as options."""
    if isinstance(message, OSError) and message.strerror and message.filename:
        return f"{message.strerror}: {message.filename}"
    sentence = format_on_one_line(message).split("\n", maxsplit=1)[0]
    return ARGUMENT.sub(_write_option, sentence)


def _write_option(argument: re.Match[str]) -> str:
    """Return an option in place of an argument, such as `--cluster term device`."""
    name, values = argument.groups()
    values = re.sub(r"[\[\]',]", "", values)
    return f"--{name.replace('_', '-')} {values}"


def format_table(table: pl.DataFrame) -> str:
    """Return a whole table as text, with four digits of numbers."""
    with pl.Config(
        tbl_rows=-1,
        tbl_cols=-1,
        tbl_width_chars=-1,
        fmt_str_lengths=2**31,
        tbl_hide_column_data_types=True,
        tbl_hide_dataframe_shape=True,
        tbl_formatting="UTF8_FULL_CONDENSED",
    ):
        return str(table.with_columns(cs.float().round_sig_figs(4)))


def write_summary(headline: str, lines: Iterable[str]) -> str:
    """Return a headline and a list in Markdown, for the page of a CI run."""
    listed = "\n".join(re.sub(r"([\\`*_\[\]<>|~#])", r"\\\1", f"- {line}") for line in lines)
    return f"## {headline}\n\n{listed}\n\npolars_graded {pg.__version__}"


def check_outputs(outputs: Outputs, inputs: Collection[Path], *suffixes: str) -> None:
    """Raise if a file cannot be written, before the rankings are measured."""
    for file in outputs or ():
        if file.suffix.lower() not in suffixes:
            msg = f"`output` must end in {', '.join(suffixes)}, got {str(file)!r}"
            raise ValueError(msg)
        check_writable(file, inputs)


def write_outputs(outputs: Outputs, writers: Writers) -> None:
    """Write each file by the function for its suffix."""
    for file in outputs or ():
        try:
            writers[file.suffix.lower()](file)
        except (OSError, pl.exceptions.ComputeError) as error:
            msg = f"{file} could not be written, and is unchanged: {error}"
            raise OSError(msg) from None


def write_text(text: str, file: Path) -> None:
    """Write a text atomically."""
    with write_atomically(file) as part:
        part.write_text(f"{text}\n", encoding="utf-8")


def write_charts(draw: Callable[[], Any]) -> Writers:
    """Return functions that write a chart atomically; an HTML file needs no network."""

    def write(file: Path) -> None:
        kind = file.suffix.lower()[1:]
        with write_atomically(file) as part:
            draw().save(str(part), format=kind, **({"inline": True} if kind == "html" else {}))

    return dict.fromkeys(CHARTS, write)


def write_tables(tabulate: Callable[..., str]) -> Writers:
    """Return functions that write a table for a paper."""

    def write(file: Path) -> None:
        form = "latex" if file.suffix.lower() == ".tex" else "markdown"
        write_text(tabulate(format=form), file)

    return dict.fromkeys(TABLES, write)


def write_rows(rows: pl.DataFrame, file: Path) -> None:
    """Write rows atomically to a CSV or Parquet file."""
    with write_atomically(file) as part:
        (rows.write_csv if file.suffix.lower() == ".csv" else rows.write_parquet)(part)


def write_run(rows: pl.DataFrame, query: list[str], doc: str, score: str, file: Path) -> None:
    """Write a ranking atomically as a run of TREC, with tabs, since ids may contain blanks."""
    order = [*([False] * len(query)), True, True]
    rows = rows.drop_nulls(score).sort(*query, score, doc, descending=order)
    rank = pl.int_range(1, pl.len() + 1).over(query).alias("rank")
    name = pl.concat_str(query, separator=", ")
    run = rows.select(name, pl.lit("Q0"), doc, rank, score, pl.lit(score).alias("tag"))
    with write_atomically(file) as part:
        run.write_csv(part, include_header=False, separator="\t", quote_style="never")
