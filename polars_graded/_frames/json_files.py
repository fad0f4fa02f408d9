"""Read runs and judgments from JSON files.

A file contains mappings from queries to documents, or objects with named fields. The file is one
JSON value, or each line is one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import polars as pl

from polars_graded._frames.file_formats import NUMBERS, FileKind, build_schema, find_names
from polars_graded._frames.files import Block

LISTS = ("results", "hits", "candidates", "retrieved", "docs", "relevant", "relevant_docs")
"""Names of lists of documents in objects."""


def read_json(blocks: Iterable[Block], first_line: str, kind: FileKind) -> Iterator[pl.DataFrame]:
    """Yield the rows of a file, block by block if its first line is a JSON object."""
    try:
        first_value = json.loads(first_line)
    except ValueError:
        first_value = None
    is_by_line = isinstance(first_value, Mapping)
    if not is_by_line:
        parts = [*blocks]
        blocks = [parts[0]._replace(text=b"".join(part.text for part in parts))]
    for block in blocks:
        try:
            if first_line.startswith("["):
                frame = _flatten(pl.read_json(block.text, infer_schema_length=None))
            elif isinstance(first_value, Mapping) and _has_fields(first_value):
                frame = _flatten(pl.read_ndjson(block.text, infer_schema_length=None))
            else:
                texts = block.text.split(b"\n") if is_by_line else [block.text]
                frame = _read_mappings(texts, kind)
            yield _select_fields(frame, kind)
        except (ValueError, pl.exceptions.PolarsError) as error:
            location = _locate(block) if is_by_line else block.file
            reason = str(error).partition("\n")[0]
            msg = f"{location} must be JSON such as {kind.json}, got {reason}"
            raise ValueError(msg) from None


def _has_fields(value: Mapping[str, Any]) -> bool:
    """Return whether an object has named fields instead of mapping queries to documents."""
    has_list = "query" in value and any(name in value for name in LISTS)
    return has_list or not all(isinstance(each, dict | list) for each in value.values())


def _locate(block: Block) -> str:
    """Return the name of the file and, if a line is no JSON, its number."""
    for number, line in enumerate(block.text.split(b"\n"), block.first):
        try:
            json.loads(line.strip() or b"{}")
        except ValueError:
            return f"{block.file}, line {number}"
    return block.file


def _read_mappings(texts: Iterable[bytes], kind: FileKind) -> pl.DataFrame:
    """Return the rows of mappings from queries to lists or mappings of documents."""
    rows: list[tuple[str, Any, Any, int | None]] = []
    for text in filter(bytes.strip, texts):
        for query, documents in json.loads(text, object_pairs_hook=_build_mapping).items():
            if isinstance(documents, Mapping):
                rows += [(query, doc, number, None) for doc, number in documents.items()]
            elif isinstance(documents, list):
                rows += [(query, doc, None, rank) for rank, doc in enumerate(documents, 1)]
            else:
                msg = f"{type(documents).__name__} for {query!r}"
                raise ValueError(msg)  # noqa: TRY004, an error of the file
    for index, field in ((1, "doc"), (2, kind.number)):
        wrong = {type(row[index]) for row in rows} - {str, int, float, bool, type(None)}
        if wrong:
            msg = f"{field!r} of type {wrong.pop().__name__}"
            raise ValueError(msg)
    columns = ("query", "doc", kind.number, "rank")
    frame = pl.DataFrame(rows, columns, orient="row", infer_schema_length=None, strict=False)
    from_rank = kind.add_number(frame.drop(kind.number)).get_column(kind.number)
    is_listed = pl.col("rank").is_not_null()
    number = pl.when(is_listed).then(from_rank).otherwise(kind.number)
    return frame.with_columns(number.alias(kind.number))


def _build_mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the mapping of a JSON object; raise if a key repeats."""
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        keys = [key for key, _ in pairs]
        msg = f"{next(key for key in keys if keys.count(key) > 1)!r} twice"
        raise ValueError(msg)
    return mapping


def _flatten(frame: pl.DataFrame) -> pl.DataFrame:
    """Return one row per document, with the fields of nested objects as columns.

    Documents of a list without scores get their rank.
    """
    lists = next((name for name in LISTS if isinstance(frame.schema.get(name), pl.List)), None)
    nested = ["query"] if lists is None else ["query", lists]
    if lists is not None:
        rank = pl.int_ranges(1, pl.col(lists).list.len() + 1).alias("rank")
        frame = frame.with_columns(rank).explode(
            lists, "rank", empty_as_null=False, keep_nulls=False
        )
    for name in nested:
        if isinstance(dtype := frame.schema.get(name), pl.Struct):
            fields = {field.name for field in dtype.fields} - {name}
            frame = frame.drop(fields, strict=False).unnest(name)
        elif name == lists:
            frame = frame.rename({name: "doc"})
    return frame


def _select_fields(frame: pl.DataFrame, kind: FileKind) -> pl.DataFrame:
    """Return the columns of the fields; raise if values are missing or of a wrong type."""
    if frame.is_empty():
        return build_schema(["query", "doc", kind.number]).to_frame()
    names = find_names(kind, frame.columns)
    frame = frame.select(pl.col(name).alias(field) for name, field in names.items())
    if kind.number in frame.columns or kind.number == "grade" or "rank" in frame.columns:
        frame = kind.add_number(frame)
    for name in ("query", "doc", kind.number):
        if name not in frame.columns:
            msg = f"objects without {name!r}"
            raise ValueError(msg)
        column = frame.get_column(name)
        is_number = column.dtype.is_numeric() or column.dtype == pl.Boolean
        is_id = column.dtype == pl.String or column.dtype.is_integer()
        if not (is_number if name in NUMBERS else is_id) and column.dtype != pl.Null:
            msg = f"{name!r} of type {column.dtype}"
            raise ValueError(msg)
        n = (
            column.null_count() + (~column.is_finite()).sum()
            if column.dtype.is_float()
            else column.null_count()
        )
        if n:
            msg = f"{n} of {len(column)} values of {name!r} that are missing or not finite"
            raise ValueError(msg)
    return frame.cast(build_schema(frame.columns))
