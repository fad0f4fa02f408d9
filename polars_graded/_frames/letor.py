"""Read LETOR's lines: graded documents with their features, in SVMlight's format."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NoReturn

import polars as pl

from polars_graded._frames.file_formats import (
    MAX_EXACT,
    decode_lines,
    find_wrong_number,
    refuse_line,
)
from polars_graded._frames.files import File

BLOCK_BYTES = 1 << 22
"""Approximate size of a block of lines, in bytes.

A block is exploded into one row per feature of a line. Such a row takes about a hundred bytes, so a
block takes some tens of megabytes.
"""

MAX_FEATURES = 2**16 - 1
"""Maximum number of a feature, since each number up to the highest becomes a column."""

# No character can belong to two groups, so one pass over the line finds all groups. This takes a
# third of the time of a pattern with overlapping groups.
_LINE = r"^([^ \t#]+)[ \t]+qid:([^ \t#]+)((?:[ \t][^#]*)?)(?:#(.*))?$"
_DOC = r"(?:^|[ \t])docid[ \t]*=[ \t]*([^ \t]+)"


def read_documents(files: Iterable[File]) -> pl.DataFrame:
    """Return the documents of files, with null for missing features."""
    schema = {"query": pl.String, "doc": pl.String, "grade": pl.Float64}
    return pl.concat([pl.DataFrame(schema=schema), *_read_blocks(files)], how="diagonal")


def _read_blocks(files: Iterable[File]) -> Iterator[pl.DataFrame]:
    """Yield the documents of each block of lines, each block with its own features."""
    lines_before = 0
    for file in files:
        first, block = 1, b"\n"
        for block in file.read_blocks(BLOCK_BYTES):
            documents = _parse_block(block, lines_before + first)
            if documents is None:
                _refuse_first_line(file.name, block, first)
            yield documents
            first += block.count(b"\n")
        # The last line may lack a line end.
        lines_before += first - 1 if block.endswith(b"\n") else first


def _parse_block(block: bytes, first: int) -> pl.DataFrame | None:
    """Return the documents of some lines, with their features; None if a line is malformed."""
    try:
        text = block.decode()
    except UnicodeDecodeError:
        return None
    line = pl.col("line")
    groups = line.str.extract_groups(_LINE).struct.rename_fields(
        ["grade", "query", "features", "comment"]
    )
    rows = (
        pl.DataFrame({"line": text.split("\n")})
        .with_row_index("number", first)
        .with_columns(line.str.strip_chars_end("\r").str.strip_chars(" \t"))
        .filter((line != "") & ~line.str.starts_with("#"))
        .with_columns(groups.struct.unnest())
        .with_columns(pl.col("grade").cast(pl.Float64, strict=False))
        .with_row_index("row")
    )
    parts = pl.col("feature").str.splitn(":", 2).struct.rename_fields(["index", "value"])
    features = (
        rows.select("row", feature=pl.col("features").str.replace_all("\t", " ").str.split(" "))
        .explode("feature")
        .filter(pl.col("feature") != "")
        .select("row", parts)
        .unnest("feature")
        .cast({"index": pl.UInt16, "value": pl.Float64}, strict=False)
    )
    # Text before a carriage return would look like a whole line.
    is_fine = ~line.str.contains("\r", literal=True) & pl.col("query").is_not_null()
    is_fine &= pl.col("grade").abs().fill_null(MAX_EXACT) < MAX_EXACT
    is_feature = (pl.col("index") > 0) & pl.col("value").is_finite()
    cell = pl.col("row").cast(pl.Int64) * 2**16 + pl.col("index")
    if not (
        rows.select(is_fine.all()).item()
        and features.select(is_feature.fill_null(value=False).all()).item()
        and features.select(cell.n_unique()).item() == features.height
    ):
        return None
    doc = pl.coalesce(pl.col("comment").str.extract(_DOC), pl.col("number").cast(pl.String))
    documents = rows.select("query", doc.alias("doc"), "grade")
    return documents.hstack(_spread_features(features, documents.height))


def _spread_features(features: pl.DataFrame, height: int) -> pl.DataFrame:
    """Return columns f1 to the highest number, null for missing features."""
    width: int = features.select(pl.col("index").max().fill_null(0)).item()
    cell_numbers = features.select(
        pl.col("row").cast(pl.Int64) * width + pl.col("index") - 1
    ).to_series()
    cells = pl.repeat(None, height * width, dtype=pl.Float64, eager=True)
    cells = cells.scatter(cell_numbers, features["value"])
    return pl.DataFrame([cells.gather_every(width, i).alias(f"f{i + 1}") for i in range(width)])


def _refuse_first_line(file: str, block: bytes, first: int) -> NoReturn:
    """Raise for the first malformed line of a block."""
    for number, line in decode_lines(file, block, first):
        matched = re.fullmatch(_LINE[1:-1], line)
        if matched is None:
            refuse_line(file, number, "a line begins with a grade and qid:query", line)
        if sentence := find_wrong_number("grade", matched[1]):
            refuse_line(file, number, sentence, line)
        seen = set()
        for feature in filter(None, re.split("[ \t]+", matched[3])):
            index, _, value = feature.partition(":")
            is_index = re.fullmatch(r"\+?[0-9]+", index) and 0 < int(index) <= MAX_FEATURES
            if not is_index or find_wrong_number("feature", value):
                sentence = f"a feature is number:value, a number from 1 to {MAX_FEATURES} and a "
                refuse_line(file, number, f"{sentence}finite value, got '{feature}'", line)
            if int(index) in seen:
                sentence = f"a line has a feature once, got number {int(index)} again"
                refuse_line(file, number, sentence, line)
            seen.add(int(index))
    msg = f"{file} must have lines of LETOR, grade qid:query number:value, got something else"
    raise ValueError(msg)
