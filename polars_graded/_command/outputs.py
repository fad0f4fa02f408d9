"""Write the files of a subcommand."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Annotated, Any

import polars as pl
from cyclopts import Parameter

from polars_graded._writing import check_writable, write_atomically

RESULTS, CHARTS, TABLES = (".csv", ".parquet"), (".svg", ".png", ".html"), (".md", ".tex")
"""Suffixes of files with rows, of charts, and of tables for a paper."""

Outputs = Annotated[list[Path] | None, Parameter(name=("--output", "-o"), consume_multiple=True)]
"""Type of the option for files to write, whose suffixes decide what they contain."""


def check_outputs(outputs: Outputs, inputs: Collection[Path], *suffixes: str) -> None:
    """Raise if a file cannot be written, before the rankings are measured."""
    for file in outputs or ():
        if file.suffix.lower() not in suffixes:
            msg = f"`output` must end in {', '.join(suffixes)}, got {str(file)!r}"
            raise ValueError(msg)
        check_writable(file, inputs)


def write_outputs(
    outputs: Outputs,
    others: Mapping[str, Callable[[Path], object]],
    chart: Callable[[], Any] | None = None,
    table: Callable[..., str] | None = None,
) -> None:
    """Write each file: a chart, a table for a paper, or by the function for its suffix."""
    for file in outputs or ():
        suffix = file.suffix.lower()
        try:
            if suffix in others:
                others[suffix](file)
            elif chart and suffix in CHARTS:
                write_chart(chart(), file)
            elif table:
                write_text(table(format="latex" if suffix == ".tex" else "markdown"), file)
        except (OSError, pl.exceptions.ComputeError) as error:
            msg = f"{file} could not be written, and is unchanged: {error}"
            raise OSError(msg) from None


def write_text(text: str, file: Path) -> None:
    """Write a text atomically."""
    with write_atomically(file) as part:
        part.write_text(f"{text}\n", encoding="utf-8")


def write_chart(chart: Any, file: Path) -> None:
    """Write a chart atomically; an HTML file needs no network."""
    kind = file.suffix.lower()[1:]
    with write_atomically(file) as part:
        chart.save(str(part), format=kind, **({"inline": True} if kind == "html" else {}))


def write_rows(rows: pl.DataFrame, file: Path) -> None:
    """Write rows atomically to a CSV or Parquet file."""
    with write_atomically(file) as part:
        (rows.write_csv if file.suffix.lower() == ".csv" else rows.write_parquet)(part)


def write_run(rows: pl.DataFrame, query: str, doc: str, score: str, file: Path) -> None:
    """Write a ranking atomically as a run of TREC, with tabs, since ids may contain blanks."""
    rows = rows.drop_nulls(score).sort(query, score, doc, descending=[False, True, True])
    rank, tag = pl.int_range(1, pl.len() + 1).over(query), pl.lit(score)
    run = rows.select(query, pl.lit("Q0"), doc, rank.alias("rank"), score, tag.alias("tag"))
    with write_atomically(file) as part:
        run.write_csv(part, include_header=False, separator="\t", quote_style="never")
