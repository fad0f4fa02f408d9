"""Read the rows to measure: a frame, features, or runs joined with judgments."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import polars.selectors as cs

from polars_graded import datasets
from polars_graded._checks import check_columns
from polars_graded._command.parser import Arguments
from polars_graded._frames.frame_files import read_frame
from polars_graded._frames.inputs import SUBTOPICS
from polars_graded._frames.judging import join_judgments
from polars_graded._frames.memory import find_free_memory
from polars_graded._frames.reading import (
    make_names_distinct,
    read_letor,
    read_qrels,
    read_run,
    scan_run,
)
from polars_graded._measuring.ranking import DOCUMENT_INPUTS

Rows = tuple[pl.DataFrame | pl.LazyFrame, dict[str, Any]]
"""Rows to measure, and keywords of `evaluate` for their columns, scale and ties."""

MEMORY_PER_BYTE = 8
"""Estimated bytes of memory per byte of a run's file, compressed or not.

The memory holds the rows of the run and the joined frame.
"""


def read_rows(arguments: Arguments) -> Rows:
    """Return the rows to measure and the keywords of `evaluate` for them.

    If no files are passed, the rows are those of `datasets.example`.
    """
    if arguments.frame:
        frame, columns = _read_frame(arguments, arguments.frame)
    elif arguments.run_files:
        frame, columns = _read_runs(arguments)
    else:
        frame, columns = _read_features(arguments)
    names = ("irrelevant", "relevant_from", "ties")
    columns = {**{name: vars(arguments)[name] for name in names}, **columns}
    if columns["ties"] == "doc":
        columns["ties"] = columns.get("doc", "doc")
    return frame, columns


def _read_frame(arguments: Arguments, files: Sequence[str]) -> Rows:
    """Return the rows of a --frame and the keywords for its columns."""
    names: dict[str, str] = {}
    columns: dict[str, Any] = {"query": arguments.query or ["query"], "grade": arguments.grade}
    if arguments.strategy:
        names[arguments.strategy[0]] = columns["strategy"] = "strategy"
    if arguments.is_descending is not None:
        columns["descending"] = arguments.is_descending
    columns["by"] = _parse_columns(arguments.by or ["score"])
    labels = [vars(arguments)[name] for name, each in DOCUMENT_INPUTS.items() if each.is_of_labels]
    docs = [] if arguments.doc is None else [arguments.doc]
    columns |= {} if arguments.doc is None else {"doc": arguments.doc}
    frame = read_frame(files, names, [*columns["query"], *docs, *names, *labels])
    _check_not_empty(frame, *files)
    inputs = [vars(arguments)[name] for name in DOCUMENT_INPUTS]
    grade = [arguments.grade] if arguments.needs_grades else []
    values = [*grade, *columns["by"].values(), *filter(None, inputs)]
    needed_columns = [*columns["query"], *docs, *values]
    for old, new in names.items():
        if old != new and new in needed_columns:
            msg = (
                f"column {new!r} is needed, so no other column can take its place, got --{new} "
                f"{old}\n\nHint: rename column {new!r} in the file"
            )
            raise ValueError(msg)
    check_columns(", ".join(files), needed_columns, frame.schema)
    return frame, columns


def _parse_columns(texts: Sequence[str]) -> dict[str, str]:
    """Return the column of each strategy, from texts such as `ours=new_score`."""
    columns: dict[str, str] = {}
    for text in texts:
        name, separator, column = text.partition("=")
        column = column if separator else name
        if not (name and column) or name in columns:
            msg = f"--by takes each name once, as COLUMN or NAME=COLUMN, got {text!r}"
            raise ValueError(msg)
        columns[name] = column
    return columns


def _read_features(arguments: Arguments) -> Rows:
    """Return the rows of LETOR or Parquet files, or else of the example."""
    files = arguments.letor or []
    are_parquet = [*map(_is_parquet, files)]
    if not files:
        frame = datasets.example()
    elif not any(are_parquet):
        frame = read_letor(files)
    elif all(are_parquet):
        numbers = cs.by_name("query", "doc", require_all=False) | cs.numeric() | cs.boolean()
        numbers |= cs.by_dtype(pl.Null)
        parts = [
            _read_parquet(file, ["query", "grade"]).select(numbers).collect() for file in files
        ]
        for file, part in zip(files, parts, strict=True):
            if {*part.columns} != {*parts[0].columns}:
                msg = f"{file} must have the same columns as {files[0]}"
                raise ValueError(msg)
        frame = pl.concat(parts, how="diagonal_relaxed")
    else:
        msg = f"--letor takes text or .parquet files, not both, got {', '.join(files)}"
        raise ValueError(msg)
    _check_not_empty(frame, *files)
    keys = ("query", "doc", "grade", arguments.grade)
    by = arguments.strategy or [name for name in frame.columns if name not in keys]
    if not by:
        msg = f"{', '.join(files)} must have a feature to rank by, got none"
        raise ValueError(msg)
    columns: dict[str, Any] = {"by": by, "grade": arguments.grade}
    if arguments.is_descending is not None:
        columns["descending"] = arguments.is_descending
    return frame, columns


def _read_runs(arguments: Arguments) -> Rows:
    """Return the rows of runs, joined with judgments if any are passed.

    The rows are lazy if they may exceed memory. The name of a strategy is its tag. With --named-by
    file, or if a file has no tags, it is the name of the file. If two files share a tag, the name
    of every strategy is the name of its file, or FILE:TAG if the file has several tags. If two
    files have the same name, paths replace file names.
    """
    # Only measures of subtopics need judgments by subtopic.
    subtopic = "subtopic" if "subtopics" in arguments.needed_inputs else None
    judgments = {
        name: _read_judgments(file, subtopic) for name, file in arguments.qrels_by_grader.items()
    }
    runs = arguments.run_files
    is_large = MEMORY_PER_BYTE * sum(Path(run).stat().st_size for run in runs) > find_free_memory()
    names = [Path(run).name for run in runs]
    names = names if len(set(names)) == len(runs) else list(runs)
    passed_names = names if arguments.named_by == "file" else [None] * len(runs)
    frames = [
        _read_run(run, name, is_large=is_large)
        for run, name in zip(runs, passed_names, strict=True)
    ]
    tags = []
    for frame, run in zip(frames, runs, strict=True):
        tag = frame.select("strategy").unique().collect(engine="streaming")
        _check_not_empty(tag, run)
        tags.append(tag.to_series())
    named_runs = zip(frames, make_names_distinct(tags, names), strict=True)
    stacked = pl.concat([frame.with_columns(name) for frame, name in named_runs])
    # The highest score of a run ranks first, even if the scores look like ranks.
    columns = {"by": ["score"], "strategy": "strategy", "descending": True}
    if not judgments:
        return stacked if is_large else stacked.collect(), columns
    judged = join_judgments(
        stacked if is_large else stacked.collect(),
        judgments.get(None, judgments),
        strategy="strategy",
        subtopic=subtopic,
        unjudged_below=arguments.unjudged_below,
    )
    columns |= {"grade": arguments.graders} if arguments.graders else {}
    return judged, columns | ({"subtopics": SUBTOPICS} if subtopic else {})


def _read_judgments(file: str, subtopic: str | None) -> pl.DataFrame:
    """Return the judgments in a file."""
    columns = ["query", "doc", "grade", *([subtopic] if subtopic else [])]
    if _is_parquet(file):
        judgments = _read_parquet(file, columns).select(columns).collect()
    else:
        judgments = read_qrels(file, subtopics=subtopic is not None)
    _check_not_empty(judgments, file)
    return judgments


def _read_run(file: str, name: str | None, *, is_large: bool) -> pl.LazyFrame:
    """Return the documents of a run, with a passed name as their strategy.

    In a Parquet file without a column of strategies, the strategy is named after the file.
    """
    columns = ["query", "doc", "score", "strategy"]
    if not _is_parquet(file):
        source = file if name is None else {name: file}
        return (scan_run(source) if is_large else read_run(source).lazy()).select(columns)
    frame = _read_parquet(file, columns[:3], is_large=is_large)
    schema = frame.collect_schema()
    if not schema["score"].is_numeric():
        msg = f"{file} must have numbers in its column 'score', got {schema['score']}"
        raise ValueError(msg)
    if name is not None or "strategy" not in schema:
        frame = frame.with_columns(strategy=pl.lit(name or Path(file).stem))
    return frame.select(columns).cast({"score": pl.Float64, "strategy": pl.String})


def _is_parquet(file: str) -> bool:
    """Return whether the name of a file ends in .parquet."""
    return Path(file).suffix.lower() == ".parquet"


def _read_parquet(file: str, columns: Sequence[str], *, is_large: bool = False) -> pl.LazyFrame:
    """Return the rows of a Parquet file; queries and documents become strings."""
    try:
        with Path(file).open("rb") as opened:
            frame = (
                pl.scan_parquet(file, glob=False) if is_large else pl.read_parquet(opened).lazy()
            )
        schema = frame.collect_schema()
    except pl.exceptions.ComputeError as error:
        msg = f"{file} must be a complete Parquet file: {error}"
        raise ValueError(msg) from None
    check_columns(file, columns, schema)
    keys = [name for name in ("query", "doc") if name in schema]
    for name in keys:
        if schema[name].is_nested():
            msg = f"{file} must have names or numbers in its column {name!r}, got {schema[name]}"
            raise ValueError(msg)
    return frame.cast(dict.fromkeys(keys, pl.String()))


def _check_not_empty(frame: pl.DataFrame, *files: str) -> None:
    """Raise if files have no rows."""
    if frame.is_empty():
        msg = f"{', '.join(files)} must have at least one row, got none"
        raise ValueError(msg)
