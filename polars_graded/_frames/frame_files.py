"""Read frames of rankings from CSV and Parquet files, for the command."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import IO

import polars as pl

from polars_graded._checks import check_columns
from polars_graded._frames.document_columns import find_document_column

SEPARATORS = {".csv": ",", ".tsv": "\t"}
"""Separator of columns for each extension of a text file; `.csv.gz` counts as `.csv`."""


def read_frame(
    files: Sequence[str], names: Mapping[str, str], ids: Collection[str] = ()
) -> pl.DataFrame:
    """Read several files with the same columns, and concatenate their rows.

    `names` maps old to new column names. A column that already has one of the new names is dropped,
    unless it is renamed too. `ids` are columns of ids, besides the column of documents. In a text
    file, ids become numbers only if no text would change: "001" and "1" stay different ids.

    Raises
    ------
    ValueError
        If a file has an unsupported extension or cannot be parsed, if its separator does not match
        its extension, or if its columns differ from those of the first file.
    ColumnNotFoundError
        If a file lacks a column that `names` renames.
    """
    frames = [_read(file, ids) for file in files]
    first = frames[0]
    for file, frame in zip(files, frames, strict=True):
        check_columns(file, [*names], frame.schema)
        if {*frame.columns} != {*first.columns}:
            unshared = sorted({*frame.columns} ^ {*first.columns})
            msg = (
                f"{file} must have the same columns as {files[0]}; only one of them has: "
                f"{', '.join(unshared)}"
            )
            raise ValueError(msg)
    frame = pl.concat([each.select(first.columns) for each in frames], how="vertical_relaxed")
    replaced = [new for new in names.values() if new not in names and new in frame.columns]
    return frame.drop(replaced).rename(dict(names))


def _read(file: str, ids: Collection[str]) -> pl.DataFrame:
    """Read one file.

    The types of columns in a text file are inferred from all rows.
    """
    path = Path(file)
    ending = Path(path.stem).suffix if path.suffix.lower() == ".gz" else path.suffix
    separator = SEPARATORS.get(ending.lower())
    if path.suffix.lower() != ".parquet" and separator is None:
        msg = f"--frame takes .csv, .tsv (both also as .gz) and .parquet files, got {file!r}"
        raise ValueError(msg)
    try:
        with path.open("rb") as opened:
            if separator is None:
                return pl.read_parquet(opened)
            _check_separator(file, opened, separator)
            check_line_lengths(file, opened, separator)
            frame = pl.read_csv(opened, separator=separator, infer_schema_length=None)
            doc = find_document_column(frame.schema)
            columns = [
                name
                for name, dtype in frame.schema.items()
                if dtype != pl.String and (name in ids or name == doc)
            ]
            if not columns:
                return frame
            opened.seek(0)
            texts = pl.read_csv(opened, separator=separator, infer_schema=False, columns=columns)
            return frame.with_columns(
                each for each in texts if not each.equals(frame[each.name].cast(pl.String))
            )
    except (pl.exceptions.ComputeError, pl.exceptions.NoDataError) as error:
        msg = f"{file} could not be read: {error}"
        raise ValueError(msg) from None


def check_line_lengths(file: str, opened: IO[bytes], separator: str) -> None:
    """Raise if a line has fewer values than the header.

    Polars reads missing values as null, so the last line of a file that was cut off would change
    its meaning. A file with quotes is not checked: its values can contain separators.
    """
    lines = pl.read_csv(
        opened,
        separator="\x1f",
        has_header=False,
        quote_char=None,
        infer_schema=False,
        truncate_ragged_lines=True,
    ).to_series()
    opened.seek(0)
    if lines.str.contains('"', literal=True).any():
        return
    counts = lines.str.count_matches(separator, literal=True) + 1
    for index in (counts < counts[0]).arg_true().head(1):
        msg = (
            f"{file} must have {counts[0]} values in each line, as in its header, got "
            f"{counts[index]} in line {index + 1}: {lines[index]!r}"
        )
        raise ValueError(msg)


def _check_separator(file: str, opened: IO[bytes], separator: str) -> None:
    """Raise if the header seems to be divided by another separator."""
    header = pl.read_csv(opened, separator=separator, n_rows=0, infer_schema=False).columns
    opened.seek(0)
    others = [each for each in ";\t,|" if each in header[0]]
    if len(header) == 1 and others:
        msg = (
            f"{file} must have {separator!r} between its columns, got {others[0]!r}\n\n"
            f"Hint: read it with pl.read_csv({file!r}, separator={others[0]!r}) (and "
            "decimal_comma=True for decimal commas), then save it with write_csv or write_parquet "
            "and pass the new file"
        )
        raise ValueError(msg)
