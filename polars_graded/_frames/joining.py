"""A run beside its judgments: joined once, since joining millions of ids is what takes the time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

PLACE = "polars_graded: place"
"""The row of a judgment, under a name that no frame has."""


def are_distinct(frame: pl.DataFrame, key: Sequence[str]) -> bool:
    """Whether no two rows have the same values in the columns of the key.

    Rows whose hashes differ do. Finding that out takes a fifth of the time of comparing rows, which
    is left to frames where hashes come twice.
    """
    if all(dtype == pl.String or dtype.is_integer() for dtype in frame.select(key).dtypes):
        first, *others = (frame.get_column(name).hash(seed) for seed, name in enumerate(key))
        for hashes in others:
            first ^= hashes
        if first.n_unique() == frame.height:
            return True
    return frame.select(key).n_unique() == frame.height


def retrieved_and_missed(
    run: pl.DataFrame,
    judged: pl.DataFrame,
    pair: Sequence[str],
    strategies: pl.Series | None = None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows of a run with their judgments, and the judgments that it lacks, by strategy.

    Which judgments a run has is known once it is joined, as numbers of rows: what it lacks is found
    by these.
    """
    placed = judged.with_row_index(PLACE)
    retrieved = run.join(placed, on=pair, how="left", maintain_order="left")
    due, by = placed, [PLACE]
    if strategies is not None:
        due, by = strategies.to_frame().join(placed, how="cross"), [strategies.name, PLACE]
    found = retrieved.select(by).drop_nulls(PLACE)
    missed = due.join(found, on=by, how="anti", maintain_order="left")
    return retrieved.drop(PLACE), missed.drop(PLACE)
