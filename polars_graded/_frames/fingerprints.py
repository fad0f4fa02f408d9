"""Fingerprints of judgments and the settings that results record."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from polars_graded._checks import check_column_name, check_columns
from polars_graded._frames.inputs import GRADER
from polars_graded._frames.request import Request
from polars_graded._measuring.kernels.fingerprints import hash_judgments, hash_texts
from polars_graded._versions import __version__

JUDGMENTS, SETTINGS = "judgments", "settings"
"""The columns of results that record what was measured."""

DEFAULT_CHUNK_ROWS = 1 << 16
"""Number of rows that are hashed at once, so that their texts stay in the cache."""


def check_fingerprint(requests: Sequence[Request], doc: Any, schema: pl.Schema) -> None:
    """Raise if the column of documents is missing, or a key has the name of a new column."""
    column = check_column_name("fingerprint", doc)
    check_columns("frame", [column], schema, argument="fingerprint")
    if schema[column].is_nested():
        msg = f"`fingerprint` must name a column of ids, got {schema[column]} in {column!r}"
        raise TypeError(msg)
    for name in (*requests[0].result_keys, *requests[0].measures):
        if name in (JUDGMENTS, SETTINGS):
            msg = (
                f"`fingerprint` adds the columns {JUDGMENTS!r} and {SETTINGS!r}, "
                f"so no other column may have these names, got {name!r}"
            )
            raise ValueError(msg)


def add_fingerprints(
    values: pl.DataFrame | pl.LazyFrame,
    requests: Sequence[Request],
    frame: pl.DataFrame | pl.LazyFrame,
    doc: str,
) -> pl.DataFrame | pl.LazyFrame:
    """Return the values of `evaluate` with a fingerprint of the judgments, and the settings."""
    first = requests[0]
    settings = describe_settings(first, frame.collect_schema())
    parts = [
        compute_fingerprints(each, each.add_computed_columns(frame.lazy()), doc)
        for each in requests
    ]
    on = [*([] if first.grader is None else [GRADER]), *first.keys]
    none = pl.lit(_format_numbers(pl.Series([0], dtype=pl.UInt64))[0])
    described = (
        values.lazy()
        .join(pl.concat(parts), on=on, how="left", nulls_equal=True, maintain_order="left")
        .with_columns(pl.col(JUDGMENTS).fill_null(none), pl.lit(settings).alias(SETTINGS))
    )
    if isinstance(values, pl.DataFrame):
        return described.collect()
    return described


def compute_fingerprints(request: Request, frame: pl.LazyFrame, doc: str) -> pl.LazyFrame:
    """Return the fingerprint of the judged documents of each query."""
    judgment = pl.struct(
        pl.col(doc).cast(pl.String).fill_null("").alias("doc"),
        pl.col(request.grade).cast(pl.Float64).alias("grade"),
    )
    hashed = judgment.map_batches(_hash_judgments, return_dtype=pl.UInt64(), is_elementwise=True)
    rows = frame.filter(pl.col(request.grade).is_not_null()).select(
        *request.keys, hashed.alias(JUDGMENTS)
    )
    text = pl.col(JUDGMENTS).map_batches(
        _format_numbers, return_dtype=pl.String(), is_elementwise=True
    )
    # The sum wraps around at 2**64.
    hashes = rows.group_by(request.keys).agg(pl.col(JUDGMENTS).sum()).with_columns(text)
    if request.grader is None:
        return hashes
    return hashes.select(pl.lit(request.grader).alias(GRADER), "*")


def _hash_judgments(judgments: pl.Series) -> pl.Series:
    """Return a hash of each document and its grade."""
    parts = []
    for first in range(0, len(judgments), DEFAULT_CHUNK_ROWS):
        part = judgments.slice(first, DEFAULT_CHUNK_ROWS).struct.unnest()
        texts = part["doc"].cast(pl.Binary).cast(pl.List(pl.UInt8))
        lengths = texts.list.len().to_numpy().astype(np.int64)
        characters = texts.explode(empty_as_null=False, keep_nulls=False).to_numpy()
        grades = part["grade"].to_numpy().astype(np.float64)
        parts.append(hash_judgments(hash_texts(characters, lengths), grades))
    return pl.Series(judgments.name, np.concatenate(parts) if parts else [], dtype=pl.UInt64)


def _format_numbers(hashes: pl.Series) -> pl.Series:
    """Return 64-bit numbers as text, which tables do not average and all files preserve."""
    return pl.Series(hashes.name, [f"{each:016x}" for each in hashes], dtype=pl.String)


def describe_settings(request: Request, schema: Mapping[str, pl.DataType]) -> str:
    """Return the settings of a measurement as JSON."""
    scale = request.scale
    last = [
        name if name == request.document else _describe_tie_order(name, schema)
        for name in request.ties or ()
    ]
    if request.tie_column is not None or request.tool is not None:
        last = [each for each in (request.tool, request.tie_column) if each is not None]
    # The direction of a score is not a setting, since the score of a strategy may be a rank. The
    # direction of a column that breaks ties is one.
    further = {
        name: [
            *(
                _describe_tie_order(column, schema) + ("" if highest_first else " ascending")
                for column, highest_first in zip(
                    columns[1:], request.find_directions(name)[1:], strict=True
                )
            ),
            *last,
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
            "condensed": scale.condensed,
            "ties": _collapse_equal(further),
        },
        ensure_ascii=False,
    )


def _describe_tie_order(column: str, schema: Mapping[str, pl.DataType]) -> str:
    """Return the name of a column that breaks ties, with a note if it holds numbers."""
    return f"{column} (as numbers)" if schema[column].is_numeric() else column


def _collapse_equal(settings: Mapping[str, list[Any]]) -> list[Any] | dict[str, list[Any]]:
    """Return the setting that all strategies share, or one per strategy."""
    first, *others = settings.values()
    return first if all(each == first for each in others) else dict(settings)
