"""Read frames of rankings from CSV and Parquet files, for the command."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

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
    first, are_texts = frames[0], [not _is_parquet(file) for file in files]
    for file, frame in zip(files, frames, strict=True):
        check_columns(file, [*names], frame.schema)
        if {*frame.columns} != {*first.columns}:
            unshared = sorted({*frame.columns} ^ {*first.columns})
            msg = (
                f"{file} must have the same columns as {files[0]}; only one of them has: "
                f"{', '.join(unshared)}"
            )
            raise ValueError(msg)
    if not all(are_texts):
        frames = [
            _infer_ids(frame, ids) if is_text else frame
            for frame, is_text in zip(frames, are_texts, strict=True)
        ]
    frame = pl.concat([each.select(first.columns) for each in frames], how="vertical_relaxed")
    frame = _infer_ids(frame, ids) if all(are_texts) else frame
    replaced = [new for new in names.values() if new not in names and new in frame.columns]
    return frame.drop(replaced).rename(dict(names))


def _is_parquet(file: str) -> bool:
    """Return whether the name of a file ends in .parquet."""
    return Path(file).suffix.lower() == ".parquet"


def _find_id_columns(schema: Mapping[str, pl.DataType], ids: Collection[str]) -> list[str]:
    """Return the columns of ids: those in `ids`, and the column of documents."""
    doc = find_document_column(schema)
    return [name for name in schema if name in ids or name == doc]


def _infer_ids(frame: pl.DataFrame, ids: Collection[str]) -> pl.DataFrame:
    """Return the frame with numbers in place of ids that are written as numbers are."""
    for name in _find_id_columns(frame.schema, ids):
        for dtype in (pl.Int64, pl.Float64):
            numbers = frame[name].cast(dtype, strict=False)
            if numbers.cast(pl.String).equals(frame[name]):
                frame = frame.with_columns(numbers)
                break
    return frame


def _read(file: str, ids: Collection[str]) -> pl.DataFrame:
    """Read one file.

    The types of columns in a text file are inferred from all rows. Ids are texts.
    """
    path = Path(file)
    ending = Path(path.stem).suffix if path.suffix.lower() == ".gz" else path.suffix
    separator = SEPARATORS.get(ending.lower())
    if separator is None and not _is_parquet(file):
        msg = f"--frame takes .csv, .tsv (both also as .gz) and .parquet files, got {file!r}"
        raise ValueError(msg)
    try:
        with path.open("rb") as opened:
            if separator is None:
                return pl.read_parquet(opened)
            _check_separator(file, opened, separator)
            check_line_lengths(file, opened, separator)
            frame = pl.read_csv(opened, separator=separator, infer_schema_length=None)
            columns = _find_id_columns(frame.schema, ids)
            if not columns:
                return frame
            opened.seek(0)
            texts = pl.read_csv(opened, separator=separator, infer_schema=False, columns=columns)
            return frame.with_columns(texts)
    except (pl.exceptions.ComputeError, pl.exceptions.NoDataError) as error:
        msg = f"{file} could not be read: {error}"
        raise ValueError(msg) from None


def check_line_lengths(file: str, opened: IO[bytes], separator: str) -> None:
    """Raise if a line has fewer values than the header.

    Polars reads missing values as null, so the last line of a file that was cut off would change
    its meaning. In a file with quotes, only the last line is checked, since a quoted value can
    contain separators and line ends.
    """
    options: Any = {"infer_schema": False, "truncate_ragged_lines": True}
    width = pl.read_csv(opened, separator=separator, n_rows=0, **options).width
    opened.seek(0)
    lines = pl.read_csv(opened, separator="\x1f", has_header=False, quote_char=None, **options)
    lines = lines.select(pl.first().alias("line")).with_row_index("number", 1).drop_nulls("line")
    opened.seek(0)
    n_values = pl.col("line").str.count_matches(separator, literal=True) + 1
    quotes = pl.col("line").str.count_matches('"', literal=True)
    if lines.select(quotes.sum() > 0).item():
        is_within_quotes = lines.head(-1).select(quotes.sum() % 2 == 1).item()
        lines = lines.clear() if is_within_quotes or lines.height == 1 else lines.tail(1)
        n_values = pl.col("line").map_elements(
            lambda line: (
                pl.read_csv(line.encode(), separator=separator, has_header=False, **options).width
            ),
            return_dtype=pl.UInt32,
        )
    short = lines.with_columns(n_values.alias("values")).filter(pl.col("values") < width)
    for number, line, n in short.head(1).iter_rows():
        msg = (
            f"{file} must have {width} values in each line, as in its header, got {n} in line "
            f"{number}: {line!r}"
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
