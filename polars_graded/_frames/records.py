"""Records of what was measured: fingerprints of the judgments of each ranking, and settings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from itertools import pairwise

import numpy as np
import polars as pl

from polars_graded._frames.request import DOCUMENTS, JUDGMENTS, SETTINGS, Request
from polars_graded._frames.rows import Groups
from polars_graded._measuring.document_inputs import is_vector
from polars_graded._measuring.kernels.ragged import Integers
from polars_graded._versions import __version__

HASHED_ROWS = 1 << 16
"""Number of rows whose texts are in memory at once. Rows of one ranking may be more."""


def build_records(request: Request, groups: Groups) -> list[pl.Series]:
    """Return the columns of `request.record_columns`, with one text for each ranking.

    The column `JUDGMENTS` contains a hash of the judged documents and their grades. If measures
    have inputs such as subtopics, the column `DOCUMENTS` contains a hash of the judged documents
    and their inputs.
    """
    if request.columns.fingerprint is None:
        return []
    rows, offsets = groups.frame, groups.offsets
    firsts = np.searchsorted(offsets, np.arange(0, max(1, rows.height), HASHED_ROWS))
    hashes = pl.concat(
        _hash_rankings(
            _write_documents(request, rows[offsets[first] : offsets[last]]),
            groups.lengths[first:last],
        )
        for first, last in pairwise([*np.unique(firsts).tolist(), groups.n_groups])
    )
    settings = _describe_settings(request, rows.schema)
    return [*hashes, pl.Series(SETTINGS, [settings]).new_from_index(0, groups.n_groups)]


def _write_documents(request: Request, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the text of each judged document for each hash; null for other documents."""
    ids = request.columns.fingerprint or ""
    id_ = _write_ids(ids, rows.schema[ids]).fill_null("")
    numbers = rows[request.columns.grade].cast(pl.Float64).fill_null(0).to_numpy()
    bits = (numbers + 0.0).view(np.int64)  # adding 0.0 turns -0.0 into 0.0
    texts: dict[str, pl.Expr] = {JUDGMENTS: pl.lit(pl.Series(bits)).cast(pl.String)}
    if request.columns.inputs:
        inputs = (
            _unify_values(rows.schema[column], column).alias(name)
            for name, column in sorted(request.columns.inputs.items())
        )
        texts[DOCUMENTS] = pl.struct(*inputs).struct.json_encode()
    is_judged = pl.col(request.columns.grade).is_not_null()
    return rows.select(
        pl.when(is_judged).then(pl.concat_str(id_, text, separator="\0")).alias(name)
        for name, text in texts.items()
    )


def _describe_settings(request: Request, schema: Mapping[str, pl.DataType]) -> str:
    """Return the settings of a measurement as JSON."""
    columns, ties = request.columns, request.ties

    def describe(column: str) -> str:
        name = str(columns.expressions.get(column, column))
        return f"{name} (as numbers)" if schema[column].is_numeric() else name

    last = [name if name == columns.document else describe(name) for name in ties.columns]
    if ties.document is not None or ties.tool is not None:
        last = [each for each in (ties.tool, ties.document) if each is not None]
    # Directions are recorded only for columns that break ties. The first sort column is left
    # out, since it may hold scores for one strategy and ranks for another.
    tie_orders = {}
    for name, (_, *further) in columns.by.items():
        flags = request.find_directions(name)[1:]
        order = [
            f"{describe(column)}{'' if highest_first else ' ascending'}"
            for column, highest_first in zip(further, flags, strict=True)
        ]
        tie_orders[name] = [*order, *(each for each in last if each not in further)]
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


def _hash_rankings(texts: pl.DataFrame, lengths: Integers) -> pl.DataFrame:
    """Return a hash for each ranking of the texts of its documents, in any order; null is left out.

    It is BLAKE2, since the hashes of Polars may change with its version. It is a text, since texts
    are never averaged by mistake, and every file format stores them exactly.
    """
    number = np.repeat(np.arange(len(lengths)), lengths)
    joined = (
        texts.with_columns(number=number)
        .group_by("number", maintain_order=True)
        .agg(pl.col(texts.columns).sort().str.join("\n"))
    )
    return joined.select(
        pl.Series(
            name,
            [blake2b(text.encode(), digest_size=8).hexdigest() for text in joined[name]],
            pl.String,
        )
        for name in texts.columns
    )
