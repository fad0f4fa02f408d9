"""Columns of documents that measures can need besides the grade, such as their popularity.

The columns contain numbers, labels or vectors. Kernels get numbers, or indices into a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from polars_graded._checks import first_few
from polars_graded._measuring.kernels.labels import Labels, Vectors
from polars_graded._measuring.kernels.ragged import offsets_of
from polars_graded._measuring.list_columns import Lists, is_finite

WHOLE_NUMBERS = (
    *(pl.Int8, pl.Int16, pl.Int32, pl.Int64),
    *(pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64),
)
LABELS = (pl.List, pl.String, pl.Categorical, pl.Enum, *WHOLE_NUMBERS, pl.Null)
"""Data types of labels and of lists of labels."""

REAL_NUMBERS = (*WHOLE_NUMBERS, pl.Float32, pl.Float64, pl.Decimal, pl.Null)


class Input(NamedTuple):
    """Description of a column that a measure can need besides the grade."""

    meaning: str
    kind: str
    """The allowed data types in words, for errors."""
    types: tuple[type[pl.DataType], ...]
    hint: str
    """Hint at a conversion of other data types."""
    is_of_labels: bool = False
    """True if a document has a label or a list of labels."""
    may_be_vectors: bool = False
    """True if a document may have a vector, which is a list or an array of floats."""
    minimum: tuple[float, str] | None = None
    """The lowest allowed number, and the rule in words for errors."""
    true_is: int | None = None
    """The number that true stands for; false is null. None if Booleans stay as they are."""

    @property
    def planned_types(self) -> tuple[type[pl.DataType], ...]:
        """Return the data types that pass when Polars plans a query."""
        return (*self.types, pl.Array) if self.may_be_vectors else self.types


DOCUMENT_INPUTS: Mapping[str, Input] = {
    "known": Input(
        "a column that is true for documents that the user knew",
        "a Boolean",
        (pl.Boolean, pl.Null),
        "cast(pl.Boolean) converts 0 and 1",
    ),
    "subtopics": Input(
        "a column of the subtopics for which the document is relevant",
        "a label or a list of labels",
        LABELS,
        "pl.concat_list makes lists of several columns",
        is_of_labels=True,
    ),
    "popularity": Input(
        "a column of the popularity of documents, such as the share of users who chose each",
        "a number",
        REAL_NUMBERS,
        ".cast(pl.Float64) reads numbers that are texts",
        minimum=(0, "at least 0"),
    ),
    "features": Input(
        "a column of categories, of lists of categories or of vectors",
        "a category, a list of categories or a vector of floats",
        LABELS,
        ".cast(pl.List(pl.Float64)) converts lists and arrays of numbers to vectors",
        is_of_labels=True,
        may_be_vectors=True,
    ),
    "reference": Input(
        "a column of the ranks that a reference gives to documents, or a Boolean one that is true "
        "for documents that the reference recommends",
        "a rank or a Boolean",
        (pl.Boolean, *REAL_NUMBERS),
        ".cast(pl.Int64) reads ranks that are texts",
        minimum=(1, "ranks of at least 1"),
        true_is=1,
    ),
}
"""Columns that measures can need besides the grade. The keys are keywords of measures."""


def is_vector(dtype: pl.DataType) -> bool:
    """Return whether a data type is a list or an array of floats."""
    return isinstance(dtype, pl.List | pl.Array) and dtype.inner in (pl.Float32, pl.Float64)


def check_input_type(column: str, name: str, dtype: pl.DataType) -> None:
    """Raise if a column cannot be the input `name` of measures."""
    if DOCUMENT_INPUTS[name].may_be_vectors and is_vector(dtype):
        return
    types = DOCUMENT_INPUTS[name].types
    inner = dtype.inner if isinstance(dtype, pl.List) else dtype
    if dtype not in types or inner not in types or isinstance(inner, pl.List):
        expected = DOCUMENT_INPUTS[name]
        msg = f"{column} must be {expected.kind}, got {dtype}\n\nHint: {expected.hint}"
        raise TypeError(msg)


def read_input(
    subject: str, name: str, column: Lists, document_ids: pl.Series | None = None
) -> Lists:
    """Return a checked column of numbers, or a column with a table of labels.

    `subject` stands for the column in errors, and `name` is a key of `DOCUMENT_INPUTS`.

    Labels and vectors go to the attribute `labels` of the result, a table with one row per
    document. The column itself then contains row numbers of this table.

    A table of labels also holds the order in which the ideal ranking takes documents of the same
    gain. With `document_ids`, the order is by id, descending. Otherwise, it is by the text of the
    labels, ascending.
    """
    if not DOCUMENT_INPUTS[name].is_of_labels:
        return _check_numbers(subject, name, column)
    labels = column.flat
    if DOCUMENT_INPUTS[name].may_be_vectors and is_vector(labels.dtype):
        indices = pl.int_range(len(labels), eager=True)
        return Lists(indices, column.offsets, _read_vectors(subject, labels))
    if labels.dtype != pl.List:
        labels = pl.select(pl.concat_list(labels)).to_series().set(labels.is_null(), None)
    if n := int(labels.list.eval(pl.element().is_null().any()).list.first().sum() or 0):
        msg = (
            f"{subject} must have no null inside its lists, got {n} with null\n\n"
            "Hint: .list.drop_nulls() drops them"
        )
        raise ValueError(msg)
    # `list.sort` would take fifty times as long.
    labels = labels.list.unique().list.eval(pl.element().sort())
    lengths = labels.list.len().fill_null(0).to_numpy()
    flat = labels.explode(empty_as_null=False, keep_nulls=False)
    if document_ids is None:
        text = labels.cast(pl.List(pl.String)).list.join("\n").fill_null("")
        order = text.rank("dense")
    else:
        order = document_ids.cast(pl.String).rank("dense", descending=True)
    table = Labels(
        flat.rank("dense").to_numpy().astype(np.int64),
        offsets_of(lengths.astype(np.int64)),
        order.fill_null(0).to_numpy().astype(np.int64),
    )
    indices = pl.int_range(len(labels), eager=True)
    return Lists(indices, column.offsets, table)


def _check_numbers(subject: str, name: str, column: Lists) -> Lists:
    """Return the column; raise if a number is not finite or is too low."""
    values, rules = column.flat, DOCUMENT_INPUTS[name]
    if not is_finite(values):
        n = int((~values.is_finite()).sum())
        msg = (
            f"{subject} must be finite, got NaN or infinity in {n} of {len(values)} rows\n\n"
            "Hint: .fill_nan(None) makes NaN null"
        )
        raise ValueError(msg)
    if rules.true_is is not None and values.dtype == pl.Boolean:
        numbers = values.to_frame().select(pl.when(values).then(rules.true_is)).to_series()
        return Lists(numbers, column.offsets)
    if rules.minimum is not None:
        minimum, rule = rules.minimum
        if n := int((values.cast(pl.Float64) < minimum).sum()):
            msg = f"{subject} must be {rule}, got lower numbers in {n} of {len(values)} rows"
            raise ValueError(msg)
    return column


def _read_vectors(subject: str, column: pl.Series) -> Vectors:
    """Return the vectors of documents; null becomes a vector of zeros.

    An empty list raises an error if other lists are not empty.
    """
    lists = column.arr.to_list() if isinstance(column.dtype, pl.Array) else column
    lengths = lists.list.len()
    usual_length: Any = lengths.drop_nulls().mode().max() or 0
    if n := int((lengths != usual_length).sum()):
        others = first_few(lengths.filter(lengths != usual_length).unique().sort().to_list())
        msg = (
            f"{subject} must have vectors of one length, got {n} of {len(lists)} rows with other "
            f"lengths than {usual_length}: {others}"
        )
        raise ValueError(msg)
    flat = lists.explode(empty_as_null=False, keep_nulls=False)
    if not is_finite(flat) or flat.null_count():
        n = int(lists.list.eval(~pl.element().is_finite().fill_null(value=False)).list.any().sum())
        msg = (
            f"{subject} must have vectors of finite numbers, got null, NaN or infinity in {n} of "
            f"{len(lists)} rows"
        )
        raise ValueError(msg)
    values = flat.to_numpy().reshape(-1, usual_length or 1)
    if len(values) < len(lists):
        with_zeros = np.zeros((len(lists), values.shape[1]), values.dtype)
        with_zeros[(lengths > 0).fill_null(value=False).to_numpy()] = values
        values = with_zeros
    return Vectors(values, np.sqrt(np.einsum("ij,ij->i", values, values, dtype=np.float64)))
