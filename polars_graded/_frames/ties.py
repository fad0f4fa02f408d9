"""Ties that further columns break: only rows that are tied are put in order."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from polars_graded._measuring import batches
from polars_graded._measuring.batches import Lists
from polars_graded._measuring.kernels.ragged import Ragged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_graded._frames.grouping import Groups


def with_ties_broken(
    groups: Groups, scores: Lists, keys: Sequence[pl.Series], descending: Sequence[bool]
) -> tuple[Groups, Lists]:
    """Groups with rows of one score in the order of further keys, nulls last.

    Beside them numbers, which those rows of a group share that are equal in these keys too.
    """
    places = np.flatnonzero(np.concatenate(batches.run([scores], Ragged.tied)))
    if not len(places):
        return groups, scores
    rows = groups.rows if groups.rows is not None else pl.Series(np.arange(len(scores.flat)))
    tied = pl.DataFrame(
        [
            pl.Series("group", np.searchsorted(groups.offsets, places, side="right")),
            *(
                column.gather(rows.gather(places)).alias(str(number))
                for number, column in enumerate((scores.flat, *keys))
            ),
        ]
    )
    order = tied.select(
        pl.arg_sort_by(
            tied.columns,
            descending=[False, False, *descending],
            nulls_last=True,
            maintain_order=True,
        )
    ).to_series()
    # Where rows of a group that are tied stood, they stand in their new order.
    sets = tied[order].to_struct().rle_id().to_numpy()
    numbers = np.arange(len(rows))
    numbers[places] = places[np.flatnonzero(np.diff(sets, prepend=sets[0] + 1))[sets]]
    moved = rows.to_numpy().copy()
    moved[places] = moved[places][order.to_numpy()]
    return replace(groups, rows=pl.Series(moved)), Lists(pl.Series(numbers), groups.offsets)
