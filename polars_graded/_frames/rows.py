"""Rows of a frame, read in batches and grouped by ranking."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import polars as pl

from polars_graded._measuring.kernels.ragged import Integers, list_rows, offsets_of
from polars_graded._measuring.list_columns import Lists

FrameT = TypeVar("FrameT", pl.DataFrame, pl.LazyFrame)

TEMPORARY_NAME_TEMPLATE = "polars_graded: {}"
"""Pattern of the names of temporary columns; no column of a frame has such a name."""

BLOCK_NUMBER = TEMPORARY_NAME_TEMPLATE.format("number of a block")

MAX_BLOCKS_PER_ROW = 0.5
"""Limit of the ratio of blocks to rows. A block consists of adjacent rows with equal keys.

Below the limit, blocks are grouped by their keys, and not rows.
"""

BATCH_ROWS = 1 << 18
"""Number of rows of a batch. Larger batches are hardly faster, but need more memory."""

FIRST_ROWS = 1 << 16
"""Number of rows at the beginning of a frame that show whether it may be unsorted."""


def add_computed_columns(
    frame: FrameT, expressions: Mapping[str, pl.Expr], keys: Sequence[str]
) -> FrameT:
    """Return the frame with computed columns, each evaluated within all rows with equal keys."""
    return frame.with_columns(
        (expr if expr.meta.is_literal() else expr.over(keys)).alias(name)
        for name, expr in expressions.items()
    )


@dataclass(frozen=True)
class Groups:
    """Rows of a frame, with those of a group adjacent.

    Group `i` consists of the rows `offsets[i]` to `offsets[i + 1] - 1` of `frame`. The rows of a
    group have the same order as in the frame from which they come.
    """

    frame: pl.DataFrame
    """The needed columns, with their rows in the order of the groups."""
    keys: pl.DataFrame
    """Keys of the groups, one row per group."""
    offsets: Integers

    @classmethod
    def of(
        cls, frame: pl.DataFrame | pl.LazyFrame, keys: Sequence[str], columns: Sequence[str]
    ) -> Groups:
        """Group rows with equal keys.

        Rows of a DataFrame stay in place if all equal keys are adjacent. If blocks of equal keys
        are long, whole blocks are moved. Polars groups all others, and never holds the rows of a
        LazyFrame before they are grouped.
        """
        if isinstance(frame, pl.DataFrame):
            keyed = frame.select(keys)
            starts = _find_long_blocks(keyed)
            if starts is not None:
                offsets = np.append(starts, frame.height)
                return cls(frame.select(columns), keyed[starts], offsets).merge_equal_keys()
            # Polars would group rows wrongly by a flag that is wrong.
            frame = frame.with_columns(_drop_sorted_flags(keyed))
        key_names = [TEMPORARY_NAME_TEMPLATE.format(key) for key in keys]
        groups = (
            frame.lazy()
            .group_by(pl.col(key).alias(name) for key, name in zip(keys, key_names, strict=True))
            .agg(*columns)
            .collect(engine="streaming")
        )
        keys_of_groups = groups.select(key_names).rename(dict(zip(key_names, keys, strict=True)))
        # Each column is dropped as soon as its values lie end to end, to save memory.
        lists = {name: Lists.of(groups.drop_in_place(name)) for name in columns}
        flat = pl.DataFrame([each.flat.alias(name) for name, each in lists.items()])
        return cls(flat, keys_of_groups, next(iter(lists.values())).offsets)

    @property
    def n_groups(self) -> int:
        """Return the number of groups."""
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Integers:
        """Return the number of rows of each group."""
        return np.diff(self.offsets)

    def lists(self, column: str) -> Lists:
        """Return the values of a column as one list per group."""
        # Slicing a column searches its chunks, so many chunks would be slow.
        return Lists(self.frame.get_column(column).rechunk(), self.offsets)

    def have_one_value(self, column: str) -> bool:
        """Return whether each group has a single value in a column.

        The first rows are looked at before the others, since most other columns differ there.
        """
        values = self.frame.select(column)
        return all(
            np.isin(find_block_starts(rows), self.offsets[self.offsets < rows.height]).all()
            for rows in (values.head(FIRST_ROWS), values)
        )

    def select(self, numbers: Integers) -> Groups:
        """Return the groups with these numbers."""
        rows = list_rows(self.offsets, numbers)
        offsets = offsets_of(self.lengths[numbers])
        return Groups(self.frame[rows], self.keys[numbers], offsets)

    def merge_equal_keys(self) -> Groups:
        """Return groups of distinct keys, from groups whose keys may be equal."""
        names = self.keys.columns
        if are_sorted(self.keys):
            return self
        blocks = self.keys.with_row_index(BLOCK_NUMBER)
        by_key = blocks.group_by(names, maintain_order=True).agg(BLOCK_NUMBER)
        if by_key.height == self.n_groups:
            return self
        numbers = Lists.of(by_key.get_column(BLOCK_NUMBER))
        ordered = self.select(numbers.flat.to_numpy().astype(np.int64))
        return replace(ordered, keys=by_key.select(names), offsets=ordered.offsets[numbers.offsets])

    def to_rows(self, columns: Sequence[str]) -> pl.DataFrame:
        """Return the rows of all groups with these columns, which may be keys."""
        number = np.repeat(np.arange(self.n_groups), self.lengths)
        return pl.DataFrame(
            [
                self.keys.get_column(name).gather(number)
                if name in self.keys.columns
                else self.frame.get_column(name)
                for name in columns
            ]
        )

    def reduce_groups(self, ufunc: np.ufunc, values: pl.Series) -> pl.Series:
        """Return the result of a NumPy reduction for each group, with null for NaN."""
        numbers = values.to_numpy()
        results = ufunc.reduceat(numbers, self.offsets[:-1]) if self.n_groups else numbers
        return pl.Series(results, nan_to_null=True)


def _find_long_blocks(keys: pl.DataFrame) -> Integers | None:
    """Return the rows at which blocks begin, or None if they are short and keys are not sorted.

    The first rows are looked at before the others, since most unsorted frames are unsorted there.
    """
    for rows in (keys.head(FIRST_ROWS), keys) if keys.height > FIRST_ROWS else (keys,):
        starts = find_block_starts(rows)
        has_long_blocks = len(starts) < MAX_BLOCKS_PER_ROW * rows.height
        if not (has_long_blocks or are_sorted(rows[starts])):
            return None
    return starts


def _drop_sorted_flags(keys: pl.DataFrame) -> pl.DataFrame:
    """Return the same keys without the flags of `set_sorted`.

    A user may have set such a flag on unsorted keys.
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


def find_block_starts(frame: pl.DataFrame) -> Integers:
    """Return the row numbers at which blocks of equal rows begin."""
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


def read_whole_queries(frame: pl.LazyFrame, query: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Yield batches that end where a query ends.

    The rows of a query must be consecutive. This function does not notice a query whose rows are in
    two batches, so the caller must check the result.
    """
    held = [frame.head(0).collect()]
    batches = frame.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True, engine="streaming")
    for batch in filter(len, batches):
        start = int(find_block_starts(batch.select(query))[-1])
        if start:
            yield pl.concat([*held, batch.slice(0, start)])
            held = []
        held.append(batch.slice(start))
    yield pl.concat(held)
