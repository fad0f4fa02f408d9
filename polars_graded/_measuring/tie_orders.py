"""Orders of tied documents: by document name, and as in other tools."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from polars_graded._checks import check_column_name, check_column_names, first_few
from polars_graded._measuring.batches import Lists
from polars_graded._measuring.kernels.ragged import Floats, Integers
from polars_graded._measuring.names import Measure

Tool: TypeAlias = Literal["trec_eval", "pytrec_eval", "ir_measures", "ranx"]
"""Name of a tool whose order of tied documents can be chosen."""

TiesArgument: TypeAlias = "str | Sequence[str] | Mapping[Tool, str] | None"
"""Type of the argument `ties` of `evaluate`."""


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


@dataclass(frozen=True)
class Ties:
    """Checked argument `ties` of `evaluate`."""

    columns: tuple[str, ...] | None = None
    """Columns that break ties. Empty for `ties="order"`; None if `ties` is not passed or names a
    tool."""
    tool: Tool | None = None
    """The tool that `ties` names, or None. Tied documents are in the order of this tool."""
    document: str | None = None
    """The column of documents, if it breaks ties by default or for a tool; otherwise None."""

    @classmethod
    def of(cls, ties: Any) -> Ties:
        """Check the argument `ties`."""
        if ties is None:
            return cls()
        if isinstance(ties, Mapping):
            if len(ties) != 1 or not {*ties} <= {*TOOLS}:
                msg = (
                    f"`ties` must map one of {', '.join(TOOLS)} to the column of documents, got "
                    f"{ties!r}"
                )
                raise ValueError(msg)
            [(tool, column)] = ties.items()
            return cls(tool=tool, document=check_column_name("ties", column))
        if isinstance(ties, str) and ties in TOOLS:
            return cls(tool=next(tool for tool in TOOLS if tool == ties))
        is_order = isinstance(ties, str) and ties == "order"
        return cls(() if is_order else tuple(check_column_names("ties", ties)))

    @property
    def are_passed(self) -> bool:
        """Return whether the caller chose an order."""
        return self.columns is not None or self.tool is not None

    def of_frame(
        self, schema: Mapping[str, pl.DataType], document: str | None, others: Collection[str]
    ) -> Ties:
        """Return the order for a frame, whose column of documents may break ties.

        This column breaks ties in two cases:

        - `ties` names a tool other than ranx. If `ties` also names a column, this is the column of
          documents. Raise if it is missing, or its values cannot be compared as text.
        - `ties` is not passed, the values can be compared as text, and the column is not among the
          `others`, which are keys, grades and scores.
        """
        dtype = schema.get(document or "")
        if document in (self.columns or ()) and not can_be_text(dtype):
            msg = f"`ties` needs documents that are texts or numbers, got {dtype} in {document!r}"
            raise TypeError(msg)
        if self.columns is not None or self.tool == "ranx":
            return replace(self, document=None)
        column = self.document or document
        dtype = schema.get(column or "")
        if self.tool is None:
            breaks_ties = dtype is not None and can_be_text(dtype) and column not in others
            return replace(self, document=column if breaks_ties else None)
        if dtype is None:
            msg = (
                f"ties={self.tool!r} needs the column of documents, got no {column or 'doc'!r} "
                f"among {first_few(list(schema))}\n\n"
                f"Hint: ties={{{self.tool!r}: 'item'}} names the column"
            )
            raise ValueError(msg)
        if not can_be_text(dtype):
            msg = (
                f"ties={self.tool!r} needs documents that are texts or numbers, got {dtype} in "
                f"{column!r}"
            )
            raise TypeError(msg)
        return replace(self, document=column)


def can_be_text(dtype: pl.DataType | None) -> bool:
    """Return whether values of a type can be compared as text. A missing column has no type."""
    if dtype is None:
        return True
    return not (dtype.is_nested() or dtype in (pl.Object, pl.Binary, pl.Duration, pl.Null))
