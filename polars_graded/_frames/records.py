"""Records of what was measured: fingerprints of the judgments of each ranking, and settings.

A multilinear function hashes texts [1]. The hashes of a query's documents are added modulo 2^64
[2], so the order of the documents does not matter. This module uses no hash function of a library,
because a new version of the library could return other values.

[1] Lemire, Kaser: Strongly universal string hashing is fast, 2014.
[2] Bellare, Micciancio: A new paradigm for collision-free hashing, 1997.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_graded._frames.request import DOCUMENTS, JUDGMENTS, SETTINGS, Request
from polars_graded._frames.rows import Groups
from polars_graded._measuring.kernels.ragged import Floats, Integers
from polars_graded._measuring.ranking import is_vector
from polars_graded._versions import __version__

Hashes: TypeAlias = npt.NDArray[np.uint64]

GOLDEN_STEP = np.uint64(0x9E3779B97F4A7C15)
MIX_FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
"""Constants of SplitMix64 (Steele, Lea, Flood 2014)."""

HASHED_ROWS = 1 << 16
"""Number of rows that are hashed at once, so that their texts stay in the cache."""


def build_records(request: Request, groups: Groups) -> list[pl.Series]:
    """Return the columns of `request.record_columns`, with one text for each ranking.

    The column `JUDGMENTS` contains a hash of the judged documents and their grades. If measures
    have inputs such as subtopics, the column `DOCUMENTS` contains a hash of the judged documents
    and their inputs.
    """
    if not request.fingerprint_columns:
        return []
    [doc] = request.fingerprint_columns
    rows = groups.frame
    is_judged = rows.get_column(request.grade).is_not_null()
    judged = rows.filter(is_judged)
    ids = judged.select(_write_ids(doc, rows.schema[doc]).fill_null("")).to_series()
    values = {JUDGMENTS: judged.get_column(request.grade).cast(pl.Float64)}
    if request.inputs:
        inputs = (
            _unify_values(rows.schema[column], column).alias(name)
            for name, column in sorted(request.inputs.items())
        )
        values[DOCUMENTS] = judged.select(pl.struct(*inputs).struct.json_encode()).to_series()
    records = []
    for name, each in values.items():
        hashes = np.zeros(rows.height, np.uint64)
        hashes[is_judged.to_numpy()] = _hash_documents(ids, each)
        # The sum of hashes does not depend on the order of documents. It wraps around at 2**64.
        sums = groups.reduce_groups(np.add, pl.Series(hashes))
        records.append(_format_numbers(sums.alias(name)))
    settings = _describe_settings(request, rows.schema)
    return [*records, pl.Series(SETTINGS, [settings]).new_from_index(0, groups.n_groups)]


def _describe_settings(request: Request, schema: Mapping[str, pl.DataType]) -> str:
    """Return the settings of a measurement as JSON."""

    def describe(column: str) -> str:
        name = str(request.computed.get(column, column))
        return f"{name} (as numbers)" if schema[column].is_numeric() else name

    last = [
        name if name == request.document else describe(name) for name in request.ties.columns or ()
    ]
    if request.ties.document is not None or request.ties.tool is not None:
        last = [each for each in (request.ties.tool, request.ties.document) if each is not None]
    # Directions are recorded only for columns that break ties. The first sort column is left
    # out, since it may hold scores for one strategy and ranks for another.
    tie_orders = {}
    for name, (_, *columns) in request.by.items():
        flags = request.find_directions(name)[1:]
        order = [
            f"{describe(column)}{'' if highest_first else ' ascending'}"
            for column, highest_first in zip(columns, flags, strict=True)
        ]
        tie_orders[name] = [*order, *(each for each in last if each not in columns)]
    first, *others = tie_orders.values()
    settings = {
        "polars_graded": __version__,
        "measures": {column: measure.formula for column, measure in request.measures.items()},
        "irrelevant": request.scale.irrelevant,
        "max_grade": request.scale.max_grade,
        "relevant_from": request.scale.relevant_from,
        "undefined_as": request.scale.undefined,
        "condensed": request.condensed,
        "ties": first if all(each == first for each in others) else tie_orders,
    }
    return json.dumps(settings, ensure_ascii=False)


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


def _hash_documents(ids: pl.Series, values: pl.Series) -> Hashes:
    """Return a hash of each document and its value: the grade, or the inputs as text."""
    parts = [np.empty(0, np.uint64)]
    for first in range(0, len(ids), HASHED_ROWS):
        part = values.slice(first, HASHED_ROWS)
        is_text = part.dtype == pl.String
        hashes = (
            _hash_text_column(part) if is_text else hash_grades(part.to_numpy().astype(np.float64))
        )
        parts.append(combine_hashes(_hash_text_column(ids.slice(first, HASHED_ROWS)), hashes))
    return np.concatenate(parts)


def _hash_text_column(texts: pl.Series) -> Hashes:
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


def mix_bits(numbers: Hashes) -> Hashes:
    """Return the output of SplitMix64 with each number as the state.

    Each bit of the output depends on all bits of the number.
    """
    z = numbers + GOLDEN_STEP
    z = (z ^ (z >> np.uint64(30))) * MIX_FACTORS[0]
    z = (z ^ (z >> np.uint64(27))) * MIX_FACTORS[1]
    return z ^ (z >> np.uint64(31))


def hash_texts(characters: npt.NDArray[np.uint8], lengths: Integers) -> Hashes:
    """Return the hash of each text; `characters` are the bytes of all texts."""
    hashes = np.zeros(len(lengths), np.uint64)
    is_filled = lengths > 0
    if is_filled.any():
        starts = np.concatenate(([0], np.cumsum(lengths[is_filled])[:-1]))
        position = np.arange(len(characters)) - np.repeat(starts, lengths[is_filled])
        weights = mix_bits(np.arange(lengths.max(), dtype=np.uint64))
        # Plus 1, so that a NUL byte adds something and "a\0" differs from "a".
        terms = (characters.astype(np.uint64) + np.uint64(1)) * weights[position]
        hashes[is_filled] = np.add.reduceat(terms, starts)
    return mix_bits(hashes)


def hash_grades(grades: Floats) -> Hashes:
    """Return the hash of each grade."""
    return mix_bits((grades + 0.0).view(np.uint64))  # adding 0.0 turns -0.0 into 0.0


def combine_hashes(documents: Hashes, values: Hashes) -> Hashes:
    """Combine the hash of each document with the hash of its value.

    The value is the grade of the document, or the inputs of measures.
    """
    return mix_bits(documents ^ values)
