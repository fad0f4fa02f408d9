"""Columns of lists, whose values lie end to end."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import polars as pl

from polars_graded._measuring.kernels.labels import Labels, Vectors
from polars_graded._measuring.kernels.ragged import (
    MAX_EXACT_INTEGER,
    Integers,
    Ragged,
    count_before,
    list_rows,
    offsets_of,
)

Values = TypeVar("Values", pl.Expr, pl.Series)


def convert_to_physical(values: Values, dtype: pl.DataType) -> Values:
    """Return dates, times and enums as the integers that represent them, and numbers as they are.

    A decimal stays a decimal, because its integer lacks the decimal point.
    """
    return values if dtype.is_decimal() else values.to_physical()


def make_list_column(values: pl.Series, lengths: pl.Series) -> pl.Series:
    """Return a column of lists; `values` contains the lists end to end."""
    if lengths.n_unique() == 1 and lengths[0]:
        return values.reshape((-1, lengths[0])).arr.to_list()
    ends = lengths.cast(pl.Int64).cum_sum()
    rows = pl.int_ranges(ends - lengths, ends, eager=True)
    gather = pl.element().map_batches(values.gather, return_dtype=values.dtype, is_elementwise=True)
    return rows.list.eval(gather)


@dataclass(frozen=True, eq=False)
class Lists:
    """Column of lists, which lie end to end in `flat`.

    A column is equal only to itself. If several strategies use the same object, such as the grades
    of a frame, a chunk of it is converted to an array once, and its relevant documents are found
    once.
    """

    flat: pl.Series
    offsets: Integers
    labels: Labels | Vectors | None = None
    """Table of labels or vectors, if the values of the lists are indices into it."""

    @classmethod
    def of(cls, column: pl.Series) -> Lists:
        """Return the lists of a column."""
        flat = column.explode(empty_as_null=False, keep_nulls=False)
        return cls(flat, offsets_of(column.list.len().fill_null(0).to_numpy().astype(np.int64)))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def at(self, rows: Integers) -> Lists:
        """Return lists of the same lengths, filled with the values at `rows`."""
        return Lists(self.flat.gather(rows), self.offsets, self.labels)

    def select(self, indices: Integers) -> Lists:
        """Return the lists with these indices; -1 stands for an empty list."""
        if np.array_equal(indices, np.arange(len(self))):
            return self
        lengths = np.append(np.diff(self.offsets), 0)[indices]
        rows = list_rows(self.offsets, indices)
        return Lists(self.flat.gather(rows), offsets_of(lengths), self.labels)

    def count(self, mask: pl.Series) -> Integers:
        """Count the true values of `mask` in each list.

        `mask` has one value for each value in `flat`.
        """
        if not mask.any():
            return np.zeros(len(self), np.int64)
        if mask.all(ignore_nulls=False):
            return np.diff(self.offsets)
        so_far = count_before(mask.fill_null(value=False).to_numpy())
        # Beyond 2^31 the counts wrap around, but their differences are still right.
        return np.diff(so_far[self.offsets]).astype(np.int64)

    def as_numbers(self) -> Lists:
        """Return the lists as numbers that doubles hold exactly.

        Dates, times and enums become their physical numbers. If doubles might not hold the values
        exactly, as for decimals and very large integers, all values become dense ranks. The order
        of the values is the same.
        """
        flat = convert_to_physical(self.flat, self.flat.dtype)
        if flat.dtype.is_integer():
            is_exact = are_exact(flat)
        else:
            is_exact = flat.dtype.is_float() or flat.dtype in (pl.Boolean, pl.Null)
        return Lists(flat if is_exact else flat.rank("dense"), self.offsets)

    def between(self, first: int, last: int) -> Ragged:
        """Return the lists of the queries `first` to `last - 1`; null becomes NaN."""
        start, stop = self.offsets[first], self.offsets[last]
        values = self.flat.slice(start, stop - start).cast(pl.Float64).to_numpy()
        offsets = self.offsets[first : last + 1] - start
        return Ragged(values, offsets)


def are_exact(numbers: pl.Series) -> bool:
    """Return whether whole numbers are small enough to be exact as doubles."""
    ends = numbers.to_frame().select(pl.first().min(), highest=pl.first().max()).row(0)
    return all(end is None or abs(end) <= MAX_EXACT_INTEGER for end in ends)


def is_finite(column: pl.Series) -> bool:
    """Return whether a column contains neither NaN nor infinity."""
    if not column.dtype.is_float():
        return True
    # Summing is faster than checking each value, and NaN or infinity makes the sum not finite.
    return math.isfinite(column.sum()) or column.is_finite().all()


def count_not_finite(column: Lists) -> int:
    """Return the number of queries in which a column contains NaN or infinity."""
    if is_finite(column.flat):
        return 0
    return int((column.count(~column.flat.is_finite()) > 0).sum())
