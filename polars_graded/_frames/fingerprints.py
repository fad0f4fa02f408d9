"""Record in results what was measured.

Fingerprints identify the judgments and the judged documents. A text contains the settings.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from polars_graded._checks import check_column_name, check_columns
from polars_graded._frames.inputs import GRADER
from polars_graded._frames.request import Request
from polars_graded._measuring.kernels.fingerprints import (
    Hashes,
    combine_hashes,
    hash_grades,
    hash_texts,
)
from polars_graded._measuring.ranking import is_vector
from polars_graded._versions import __version__

JUDGMENTS, DOCUMENTS, SETTINGS = "judgments", "documents", "settings"
"""The columns of results that record what was measured."""

RECORDS = (JUDGMENTS, DOCUMENTS, SETTINGS)

DEFAULT_CHUNK_ROWS = 1 << 16
"""Number of rows that are hashed at once, so that their texts stay in the cache."""


def check_fingerprint(requests: Sequence[Request], doc: Any, schema: pl.Schema) -> None:
    """Raise if the document column or a name in the result is unsuitable.

    The document column must be in the frame, and must hold ids. No key or measure of the result may
    have a name in `RECORDS`.
    """
    column = check_column_name("fingerprint", doc)
    check_columns("frame", [column], schema, argument="fingerprint")
    if schema[column].is_nested() or schema[column] in (pl.Duration, pl.Binary):
        msg = f"`fingerprint` must name a column of ids, got {schema[column]} in {column!r}"
        raise TypeError(msg)
    for name in (*requests[0].result_keys, *requests[0].measures):
        if name in RECORDS:
            msg = (
                f"`fingerprint` adds the columns {', '.join(map(repr, RECORDS))}, "
                f"so no other column may have these names, got {name!r}"
            )
            raise ValueError(msg)


def add_fingerprints(
    values: pl.DataFrame | pl.LazyFrame,
    requests: Sequence[Request],
    frame: pl.DataFrame | pl.LazyFrame,
    doc: str,
) -> pl.DataFrame | pl.LazyFrame:
    """Add fingerprints and settings to the values of `evaluate`."""
    first = requests[0]
    rows = [each.add_computed_columns(frame.lazy()) for each in requests]
    settings = describe_settings(first, rows[0].collect_schema())
    parts = [
        compute_fingerprints(each, own_rows, doc)
        for each, own_rows in zip(requests, rows, strict=True)
    ]
    keys = [*([] if first.grader is None else [GRADER]), *first.keys]
    empty_hash = pl.lit(_format_numbers(pl.Series([0], dtype=pl.UInt64))[0])
    hashes = [JUDGMENTS, *([DOCUMENTS] if first.inputs else [])]
    with_records = (
        values.lazy()
        .join(pl.concat(parts), on=keys, how="left", nulls_equal=True, maintain_order="left")
        .with_columns(pl.col(hashes).fill_null(empty_hash), pl.lit(settings).alias(SETTINGS))
    )
    if isinstance(values, pl.DataFrame):
        return with_records.collect()
    return with_records


def compute_fingerprints(request: Request, frame: pl.LazyFrame, doc: str) -> pl.LazyFrame:
    """Return fingerprints, in one row per combination of `request.keys`.

    The column `JUDGMENTS` contains a hash of the judged documents and their grades. If measures
    have inputs such as subtopics, the column `DOCUMENTS` contains a hash of the judged documents
    and their inputs. Combinations of keys without judged documents are left out.
    """
    schema = frame.collect_schema()
    text = _write_ids(doc, schema[doc]).fill_null("").alias("doc")
    values = {JUDGMENTS: pl.col(request.grade).cast(pl.Float64)}
    if request.inputs:
        values[DOCUMENTS] = pl.struct(
            _unify_values(schema[column], column).alias(name)
            for name, column in sorted(request.inputs.items())
        ).struct.json_encode()
    rows = frame.filter(pl.col(request.grade).is_not_null()).select(
        *request.keys,
        *(
            pl.struct(text, value.alias("value"))
            .map_batches(_hash_documents, return_dtype=pl.UInt64(), is_elementwise=True)
            .alias(name)
            for name, value in values.items()
        ),
    )
    formatted = pl.col(*values).map_batches(
        _format_numbers, return_dtype=pl.String(), is_elementwise=True
    )
    # The sum of hashes does not depend on the order of documents. It wraps around at 2**64.
    hashes = rows.group_by(request.keys).agg(pl.col(*values).sum()).with_columns(formatted)
    if request.grader is None:
        return hashes
    return hashes.select(pl.lit(request.grader).alias(GRADER), "*")


def _write_ids(doc: str, dtype: pl.DataType) -> pl.Expr:
    """Return ids as text. The id 7 has the same text in columns of integers and floats."""
    ids = pl.col(doc)
    text = ids.cast(pl.String)
    if not dtype.is_float():
        return text
    integer = ids.cast(pl.Int64, strict=False)
    return pl.when(integer == ids).then(integer.cast(pl.String)).otherwise(text)


def _unify_values(dtype: pl.DataType, column: str) -> pl.Expr:
    """Return an input column, converted so that equal values give equal text.

    The number 1 may be an integer in one file and a float in another, so numbers become floats. Two
    files may list the same labels in different orders, so labels are sorted. Vectors are not.
    """
    is_list = isinstance(dtype, pl.List | pl.Array)
    inner = dtype.inner if isinstance(dtype, pl.List | pl.Array) else dtype
    inner_type = pl.Float64 if inner.is_numeric() or inner == pl.Boolean else pl.String
    values = pl.col(column).cast(pl.List(inner_type) if is_list else inner_type)
    return values if is_vector(dtype) or not is_list else values.list.eval(pl.element().sort())


def _hash_documents(documents: pl.Series) -> pl.Series:
    """Return a hash of each document and its value.

    The value is the grade, or the inputs of measures as text.
    """
    parts = []
    for first in range(0, len(documents), DEFAULT_CHUNK_ROWS):
        part = documents.slice(first, DEFAULT_CHUNK_ROWS).struct.unnest()
        value = part["value"]
        hashes = (
            _hash_texts(value)
            if value.dtype == pl.String
            else hash_grades(value.to_numpy().astype(np.float64))
        )
        parts.append(combine_hashes(_hash_texts(part["doc"]), hashes))
    return pl.Series(documents.name, np.concatenate(parts) if parts else [], dtype=pl.UInt64)


def _hash_texts(texts: pl.Series) -> Hashes:
    """Return a hash of each text."""
    characters = texts.cast(pl.Binary).cast(pl.List(pl.UInt8))
    lengths = characters.list.len().to_numpy().astype(np.int64)
    flat = characters.explode(empty_as_null=False, keep_nulls=False).to_numpy()
    return hash_texts(flat, lengths)


def _format_numbers(hashes: pl.Series) -> pl.Series:
    """Return hashes as hexadecimal text.

    Unlike numbers, texts are never averaged by mistake, and every file format stores them exactly.
    """
    return pl.Series(hashes.name, [f"{each:016x}" for each in hashes], dtype=pl.String)


def describe_settings(request: Request, schema: Mapping[str, pl.DataType]) -> str:
    """Return the settings of a measurement as JSON."""
    scale = request.scale
    last_keys = [
        name if name == request.document else _describe_tie_order(request, name, schema)
        for name in request.ties.columns or ()
    ]
    if request.ties.document is not None or request.ties.tool is not None:
        last_keys = [
            each for each in (request.ties.tool, request.ties.document) if each is not None
        ]
    # Directions are recorded only for columns that break ties. The first sort column is left out,
    # since it may hold scores for one strategy and ranks for another.
    tie_orders = {
        name: [
            *(
                _describe_tie_order(request, column, schema)
                + ("" if highest_first else " ascending")
                for column, highest_first in zip(
                    columns[1:], request.find_directions(name)[1:], strict=True
                )
            ),
            *(each for each in last_keys if each not in columns[1:]),
        ]
        for name, columns in request.by.items()
    }
    undefined = scale.undefined if scale.undefined_is_passed else "default"
    return json.dumps(
        {
            "polars_graded": __version__,
            "measures": {column: measure.formula for column, measure in request.measures.items()},
            "irrelevant": scale.irrelevant,
            "max_grade": scale.max_grade,
            "relevant_from": scale.relevant_from,
            "undefined_as": undefined,
            "condensed": request.condensed,
            "ties": _collapse_equal(tie_orders),
        },
        ensure_ascii=False,
    )


def _describe_tie_order(request: Request, column: str, schema: Mapping[str, pl.DataType]) -> str:
    """Describe a tie-breaking column by its name or its expression.

    For a column of numbers, the text ends with "(as numbers)".
    """
    name = str(request.computed.get(column, column))
    return f"{name} (as numbers)" if schema[column].is_numeric() else name


def _collapse_equal(settings: Mapping[str, list[Any]]) -> list[Any] | dict[str, list[Any]]:
    """Return one list if all lists are equal; otherwise, return all of them."""
    first, *others = settings.values()
    return first if all(each == first for each in others) else dict(settings)
