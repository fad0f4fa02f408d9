"""The order of tied documents: by columns, by document, or as in other tools."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import polars as pl

from polars_graded._checks import check_column_name, check_column_names, first_few
from polars_graded._measuring.list_columns import Lists, convert_to_physical

Tool: TypeAlias = Literal["trec_eval", "pytrec_eval"]
"""Name of a tool whose order of tied documents can be chosen."""

TiesArgument: TypeAlias = "str | Sequence[str] | Mapping[Tool, str] | None"
"""Type of the argument `ties` of `evaluate`."""

BITS: Mapping[Tool, Literal[32, 64]] = {"trec_eval": 64, "pytrec_eval": 32}
"""Precision in which each tool compares scores; it orders documents with equal scores by name,
descending. trec_eval is version 10; pytrec_eval and trec_eval 9 store scores as 32-bit floats."""


def round_scores(scores: Lists, bits: Literal[32, 64]) -> Lists:
    """Return the scores rounded to 32 or 64 bits."""
    rounded = convert_to_physical(scores.flat, scores.flat.dtype).cast(pl.Float64)
    if bits == 32:  # noqa: PLR2004
        # pytrec_eval rounds doubles, so a direct cast from Decimal or Int64 would differ.
        rounded = rounded.cast(pl.Float32).cast(pl.Float64)
    return Lists(rounded, scores.offsets)


@dataclass(frozen=True)
class Ties:
    """Order of tied documents: the checked argument `ties`, and for a frame the order it has."""

    are_passed: bool = False
    """True if the caller chose an order."""
    columns: tuple[str, ...] = ()
    """Columns that break ties; none if `ties` is not passed, is "order" or names a tool."""
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
            if len(ties) != 1 or not {*ties} <= {*BITS}:
                msg = (
                    f"`ties` must map one of {' or '.join(BITS)} to the column of documents, got "
                    f"{ties!r}"
                )
                raise ValueError(msg)
            [(tool, column)] = ties.items()
            return cls(are_passed=True, tool=tool, document=check_column_name("ties", column))
        if isinstance(ties, str) and ties in BITS:
            return cls(are_passed=True, tool=next(tool for tool in BITS if tool == ties))
        is_order = isinstance(ties, str) and ties == "order"
        columns = [] if is_order else check_column_names("ties", ties)
        return cls(are_passed=True, columns=tuple(columns))

    @property
    def keep_row_order(self) -> bool:
        """Return whether the caller chose that tied documents keep the order of their rows."""
        return self.are_passed and self.tool is None and not self.columns

    @property
    def bits(self) -> Literal[32, 64] | None:
        """Return the precision in which scores are compared; None compares them exactly.

        This differs from 64 bits for decimals and for integers above 2**53.
        """
        return None if self.tool is None else BITS[self.tool]

    def resolve(
        self, schema: Mapping[str, pl.DataType], document: str | None, others: Collection[str]
    ) -> Ties:
        """Return the order for a frame, whose column of documents may break ties.

        This column breaks ties in two cases:

        - `ties` names a tool. If `ties` also names a column, this is the column of
          documents. Raise if it is missing, or its values cannot be compared as text.
        - `ties` is not passed, the values can be compared as text, and the column is not among the
          `others`, which are keys, grades and scores.
        """
        column = self.document or document
        dtype = schema.get(column or "")
        if self.tool is not None and dtype is None:
            msg = (
                f"ties={self.tool!r} needs the column of documents, got no {column or 'doc'!r} "
                f"among {first_few(list(schema))}\n\n"
                f"Hint: ties={{{self.tool!r}: 'item'}} names the column"
            )
            raise ValueError(msg)
        if (self.tool is not None or column in self.columns) and not can_be_text(dtype):
            argument = "`ties`" if self.tool is None else f"ties={self.tool!r}"
            msg = f"{argument} needs documents that are texts or numbers, got {dtype} in {column!r}"
            raise TypeError(msg)
        if self.tool is None:
            is_free = dtype is not None and can_be_text(dtype) and column not in others
            column = column if is_free and not self.are_passed else None
        return replace(self, document=column)


def can_be_text(dtype: pl.DataType | None) -> bool:
    """Return whether values of a type can be compared as text. A missing column has no type."""
    if dtype is None:
        return True
    return not (dtype.is_nested() or dtype in (pl.Object, pl.Binary, pl.Duration, pl.Null))
