"""Which rows of a frame are of one ranking, found once for all of its columns and strategies."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from polars_graded._measuring.batches import Lists
from polars_graded._measuring.kernels.ragged import Integers, Mask, offsets_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

RUN = "polars_graded: run"
"""A column under a name that no frame has."""


@dataclass(frozen=True)
class Groups:
    """The rows of each group of a frame, in the order of the frame.

    Those of group `i` are `rows[offsets[i]:offsets[i + 1]]`; without `rows` they stand together in
    the frame, where nothing has to be moved.
    """

    keys: pl.DataFrame
    """What tells the groups apart, a row per group."""
    offsets: Integers
    rows: pl.Series | None = None

    @classmethod
    def of(cls, frame: pl.DataFrame, keys: Sequence[str]) -> Groups:
        """The rows that have the same keys.

        Rows that follow each other with the same keys are grouped as one. In files and in what
        `judge` returns these are all rows of a query, so that there is little to group.
        """
        frame = frame.select(keys)
        starts = starts_of_runs(frame)
        runs, offsets = frame[starts], np.append(starts, frame.height)
        if are_sorted(runs):
            return cls(runs, offsets)  # in which no key comes twice
        if len(starts) > 0.75 * frame.height:
            # They stand apart, so that each row may as well be a run of its own.
            runs, offsets = _without_claims(frame), np.arange(frame.height + 1)
        groups = runs.with_row_index(RUN).group_by(keys).agg(RUN)
        if groups.height == runs.height:
            return cls(runs, offsets)
        order = groups.get_column(RUN).explode()
        ends = offsets_of(groups.get_column(RUN).list.len().to_numpy().astype(np.int64))
        if len(order) == frame.height:
            return cls(groups.drop(RUN), ends, order)
        return cls(groups.drop(RUN), *_rows_of_runs(order.to_numpy(), offsets, ends))

    @cached_property
    def lengths(self) -> Integers:
        """How many rows each group has."""
        return np.diff(self.offsets)

    @property
    def n(self) -> int:
        """How many groups there are."""
        return len(self.offsets) - 1

    @cached_property
    def number(self) -> pl.Series:
        """The number of the group of each row, in the order of the groups."""
        return pl.Series(np.repeat(np.arange(self.n, dtype=np.uint32), self.lengths))

    def lists(self, column: pl.Series) -> Lists:
        """The values of a column of the frame, a list per group."""
        # Of many chunks each value would be looked for in all of them.
        return Lists(column.rechunk(), self.offsets, self.rows)

    def rows_beside(self, row: int, frame: pl.DataFrame) -> pl.DataFrame:
        """The rows of the frame that are in the group of one."""
        place = row if self.rows is None else self.rows.index_of(row) or 0
        group = np.searchsorted(self.offsets, place, side="right") - 1
        start, stop = self.offsets[group : group + 2]
        if self.rows is None:
            return frame.slice(start, stop - start)
        return frame[self.rows.slice(start, stop - start)]

    def any(self, mask: pl.Series) -> Mask:
        """Whether any row of each group is so; null is not."""
        if not mask.any():
            return np.zeros(self.n, bool)
        if mask.all(ignore_nulls=False):
            return np.ones(self.n, bool)
        found: Mask = self.reduced(np.logical_or, mask.fill_null(value=False))
        return found

    def reduced(self, ufunc: np.ufunc, column: pl.Series) -> npt.NDArray[Any]:
        """What `ufunc` makes of the values of each group, none of which is null."""
        values = self.lists(column).in_order().to_numpy()
        return ufunc.reduceat(values, self.offsets[:-1]) if self.n else values

    def aggregated(self, column: pl.Series, expr: pl.Expr) -> pl.Series:
        """What an expression of "value" makes of the values of a column in each group."""
        values = self.lists(column).in_order().alias("value")
        by_group = pl.DataFrame([values, self.number.alias("group")]).group_by("group").agg(expr)
        return by_group.sort("group").to_series(1)


def _without_claims(keys: pl.DataFrame) -> pl.DataFrame:
    """The same keys, which Polars groups as they are, whatever `set_sorted` said of them."""
    claimed = any(column.flags.get(f"SORTED_{way}") for column in keys for way in ("ASC", "DESC"))
    return keys[np.arange(keys.height)] if claimed else keys


def are_sorted(keys: pl.DataFrame) -> bool:
    """Whether it can be told at once that keys rise."""
    return keys.width == 1 and not keys.dtypes[0].is_nested() and keys.to_series().is_sorted()


def constant(value: object, dtype: pl.DataType, n: int) -> pl.Series:
    """A column of one value n times."""
    return pl.Series([value], dtype=dtype).new_from_index(0, n)


def starts_of_runs(frame: pl.DataFrame) -> Integers:
    """The rows that differ from the one above, and the first."""
    if frame.is_empty():
        return np.empty(0, np.int64)
    upper, lower = frame.head(-1), frame.slice(1)
    changes = lower.select(
        pl.any_horizontal(
            column.ne_missing(above).alias(str(number))
            for number, (column, above) in enumerate(
                zip(lower.get_columns(), upper.get_columns(), strict=True)
            )
        ).arg_true()
    )
    return np.append(0, changes.to_series().to_numpy().astype(np.int64) + 1)


def _rows_of_runs(order: Integers, offsets: Integers, ends: Integers) -> tuple[Integers, pl.Series]:
    """Where groups of runs end in rows, and the rows of all runs in that order."""
    lengths = np.diff(offsets)[order]
    places = offsets_of(lengths)
    rows = np.repeat(offsets[order] - places[:-1], lengths) + np.arange(places[-1])
    return places[ends], pl.Series(rows.astype(np.uint32 if places[-1] < 1 << 32 else np.uint64))
