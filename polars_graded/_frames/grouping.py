"""Group the rows of a frame by query, once for all columns and strategies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from polars_graded._measuring.batches import Lists
from polars_graded._measuring.kernels.ragged import Integers

TEMPORARY_NAME_TEMPLATE = "polars_graded: {}"
"""Pattern of the names of temporary columns; no column of a frame has such a name."""

ROW = TEMPORARY_NAME_TEMPLATE.format("row")

MAX_RUNS_PER_ROW = 0.75
"""Limit of the ratio of runs to rows. A run consists of adjacent rows with equal keys.

Below the limit, `Groups.of` checks whether all equal keys are already adjacent. From the limit on,
they probably are not, so unsorted rows are grouped without the check.
"""


@dataclass(frozen=True)
class Groups:
    """Frame in which rows with the same keys are adjacent.

    Group `i` consists of the rows `offsets[i]` to `offsets[i + 1] - 1` of `frame`. The rows of a
    group have the same order as in `source`.
    """

    frame: pl.DataFrame
    """The needed columns, with their rows in the order of the groups."""
    keys: pl.DataFrame
    """Keys of the groups, one row per group."""
    offsets: Integers
    source: pl.DataFrame
    """The original frame, with all of its columns."""
    rows: Integers | None = None
    """Row numbers in `source`, one per row of `frame`; None if both have the same order."""

    @classmethod
    def of(cls, frame: pl.DataFrame, keys: Sequence[str], columns: Sequence[str]) -> Groups:
        """Group rows with equal keys.

        Rows stay in place if the keys are sorted. Unsorted rows stay in place if there are few runs
        (see `MAX_RUNS_PER_ROW`), and all rows with the same keys form a single run.
        """
        values, keyed = frame.select(columns), frame.select(keys)
        starts = find_run_starts(keyed)
        runs = keyed[starts]
        # If there are as many runs as distinct keys, every run is a whole group. With many runs,
        # equal keys are probably apart, so the distinct keys are not counted.
        has_few_runs = len(starts) < MAX_RUNS_PER_ROW * frame.height
        if are_sorted(runs) or (has_few_runs and runs.group_by(keys).agg().height == runs.height):
            return cls(values, runs, np.append(starts, frame.height), frame)
        key_columns = [
            column.alias(TEMPORARY_NAME_TEMPLATE.format(column.name))
            for column in _drop_sorted_flags(keyed)
        ]
        row = pl.int_range(pl.len(), dtype=pl.get_index_type()).alias(ROW)
        groups = (
            values.with_columns(*key_columns, row)
            .group_by([key.name for key in key_columns])
            .agg(*columns, ROW)
        )
        lists = [Lists.of(groups.get_column(name)) for name in columns]
        found_keys = groups.select(
            pl.col(TEMPORARY_NAME_TEMPLATE.format(key)).alias(key) for key in keys
        )
        rows = Lists.of(groups.get_column(ROW)).flat.to_numpy()
        flat = pl.DataFrame([each.flat for each in lists])
        return cls(flat, found_keys, lists[0].offsets, frame, rows)

    @property
    def n(self) -> int:
        """Return the number of groups."""
        return len(self.offsets) - 1

    def lists(self, column: str) -> Lists:
        """Return the values of a column as one list per group."""
        # Slicing a column searches its chunks, so many chunks would be slow.
        return Lists(self.frame.get_column(column).rechunk(), self.offsets)

    def at(self, column: str, row_numbers: Integers) -> pl.Series:
        """Return values from a column of `source`.

        `row_numbers` are row numbers of `frame`.
        """
        rows = row_numbers if self.rows is None else self.rows[row_numbers]
        return self.source.get_column(column).gather(rows)

    def reduce_groups(self, ufunc: np.ufunc, values: pl.Series) -> pl.Series:
        """Return the result of a NumPy reduction for each group, with null for NaN."""
        numbers = values.to_numpy()
        results = ufunc.reduceat(numbers, self.offsets[:-1]) if self.n else numbers
        return pl.Series(results, nan_to_null=True)


def _drop_sorted_flags(keys: pl.DataFrame) -> pl.DataFrame:
    """Return the same keys without the flags of `set_sorted`.

    A user may have set such a flag on unsorted keys. Polars would then group them wrongly.
    """
    has_flag = any(
        column.flags.get(f"SORTED_{direction}") for column in keys for direction in ("ASC", "DESC")
    )
    return keys[np.arange(keys.height)] if has_flag else keys


def are_sorted(keys: pl.DataFrame) -> bool:
    """Return whether the keys are sorted.

    The result is False for several columns and for a nested column.
    """
    return keys.width == 1 and not keys.dtypes[0].is_nested() and keys.to_series().is_sorted()


def find_run_starts(frame: pl.DataFrame) -> Integers:
    """Return the row numbers at which runs of equal rows begin."""
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
