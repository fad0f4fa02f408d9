"""Orders of tied documents: by document name, and as in other tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import polars as pl

from polars_graded._measuring.batches import Lists
from polars_graded._measuring.kernels.ragged import Floats, Integers
from polars_graded._measuring.names import Measure

Tool: TypeAlias = Literal["trec_eval", "pytrec_eval", "ir_measures", "ranx"]
"""Name of a tool whose order of tied documents can be chosen."""


@dataclass(frozen=True)
class TieOrder:
    """Rule that orders documents with equal scores; they still count as tied."""

    sort: Literal["descending", "ascending", "rows", "ranx"]
    """Order of tied documents: by name as text, by row, or as the sort of ranx leaves them."""
    bits: Literal[32, 64] | None = None
    """Precision to which scores are rounded before they are compared. None compares them exactly,
    which makes a difference to 64 bits for decimals and for integers above 2**53."""

    @property
    def needs_documents(self) -> bool:
        """Return whether the rule compares documents."""
        return self.sort in ("descending", "ascending")


BY_DOCUMENT = TieOrder("descending")
"""Default order: by document as in trec_eval, but with scores compared exactly."""

DOCUMENT_TOOLS: Mapping[Tool, TieOrder] = {
    "trec_eval": TieOrder("descending", bits=64),
    "pytrec_eval": TieOrder("descending", bits=32),
}
"""Tools that order tied documents by name for all measures. trec_eval is version 10; pytrec_eval
and trec_eval 9 store scores as 32-bit floats."""

ASCENDING, BY_ROW = TieOrder("ascending"), TieOrder("rows")

TOOLS: Mapping[Tool, str] = {
    "trec_eval": "by document, descending, with scores compared in 64 bits, as in version 10",
    "pytrec_eval": "by document, descending, with scores compared in 32 bits",
    "ir_measures": "as the library behind each of its measures does",
    "ranx": "as the unstable sort of ranx leaves them",
}
"""Orders of tied documents in words, by tool."""


KEPT_BY_ROW = (
    *("rbp", "dcg", "roc_auc", "pairwise_accuracy", "sdcg", "insq", "inst", "bpm"),
    *("nerr8", "nerr9", "nerr10", "nerr11"),
)
"""Measures for which ir_measures keeps the order of tied rows. `dcg` and `roc_auc` are not measures
of ir_measures. They get the same order as the related measures `sdcg` and `pairwise_accuracy`, but
`dcg` with the gain "exp2" is ordered by document."""


def find_order(tool: Tool, measure: Measure) -> TieOrder:
    """Return the order in which a tool ranks tied documents for a measure.

    ir_measures passes most measures to pytrec_eval, and `ERR` and `nDCG(dcg='exp-log2')` to gdeval,
    which compares scores in 64 bits. For `Judged`, `RR@k`, `Compat` and measures of subtopics,
    ir_measures sorts by document, ascending. For `Accuracy` and the measures of cwl-eval, it keeps
    the order of rows.
    """
    if tool == "ranx":
        return TieOrder("ranx")
    if tool in DOCUMENT_TOOLS:
        return DOCUMENT_TOOLS[tool]
    if measure.function == "err" or measure.options.get("gain") == "exp2":
        return BY_DOCUMENT
    is_rr_at_k = measure.function == "reciprocal_rank" and measure.n is not None
    if is_rr_at_k or measure.function in ("judged", "compat") or measure.definition.inputs:
        return ASCENDING
    return BY_ROW if measure.function in KEPT_BY_ROW else DOCUMENT_TOOLS["pytrec_eval"]


def round_scores(scores: Lists, bits: Literal[32, 64]) -> Lists:
    """Return the scores rounded to 32 or 64 bits."""
    numbers = scores.flat if scores.flat.dtype.is_decimal() else scores.flat.to_physical()
    rounded = numbers.cast(pl.Float64)
    if bits == 32:  # noqa: PLR2004
        # pytrec_eval rounds doubles, so a direct cast from Decimal or Int64 would differ.
        rounded = rounded.cast(pl.Float32).cast(pl.Float64)
    return Lists(rounded, scores.offsets)


def sort_as_ranx(scores: Lists, *, descending: bool) -> Integers:
    """Return all rows, with the retrieved rows of each list sorted as by ranx.

    Rows that were not retrieved stay in place. ranx sorts with Numba's quicksort, which is not
    stable: documents of equal score get an order that depends neither on their names nor on their
    grades.
    """
    try:
        from numba import njit
    except ImportError:
        msg = (
            "ties='ranx' needs numba, since ranx sorts with it, and numba is not installed\n\n"
            "Hint: pip install numba, or pass ties='doc', the order of trec_eval"
        )
        raise ImportError(msg) from None
    argsort = njit(_argsort)
    values = scores.flat.cast(pl.Float64).to_numpy()
    keys = -values if descending else values
    rows = np.arange(len(values))
    is_retrieved = scores.flat.is_not_null().to_numpy()
    for start, stop in zip(scores.offsets[:-1], scores.offsets[1:], strict=True):
        retrieved_rows = start + np.flatnonzero(is_retrieved[start:stop])
        rows[retrieved_rows] = retrieved_rows[argsort(keys[retrieved_rows])]
    return rows


def _argsort(values: Floats) -> Integers:
    return np.argsort(values)


def group_by_order(
    tool: Tool | None, measures: Sequence[Measure]
) -> list[tuple[TieOrder, list[Measure]]]:
    """Return the measures grouped by their order of tied documents."""
    groups: dict[TieOrder, list[Measure]] = {}
    for measure in measures:
        order = BY_DOCUMENT if tool is None else find_order(tool, measure)
        groups.setdefault(order, []).append(measure)
    return [*groups.items()]
