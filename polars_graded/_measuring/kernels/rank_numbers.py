"""Detection of lists of numbers that count their documents, as ranks do."""

from __future__ import annotations

import numpy as np

from polars_graded._measuring.kernels.ragged import Mask, Ragged, repeat_each


def find_rank_lists(values: Ragged) -> tuple[Mask, Mask, Mask]:
    """Return masks of lists with numbers, of ranks, and of conclusive ranks.

    A list of ranks contains 1 to n, or 0 to n - 1. NaN counts as no number. A single number, and 0
    beside 1, count their documents by chance: they are not conclusive.
    """
    is_number = ~np.isnan(values.values)
    n = values.count(is_number)
    lowest = -values.max(np.where(is_number, -values.values, -np.inf))
    lowest = np.where(np.isfinite(lowest), lowest, 0)
    slot = values.values - repeat_each(lowest, values.lengths)
    is_slot = (
        is_number & (slot >= 0) & (slot < repeat_each(n, values.lengths)) & (slot == np.floor(slot))
    )
    taken = np.zeros(len(slot), bool)
    places = repeat_each(values.offsets[:-1], values.lengths)[is_slot] + slot[is_slot].astype(
        np.int64
    )
    taken[places] = True
    # n numbers that fill n slots take each slot once.
    counts = (n > 0) & (values.count(taken) == n) & ((lowest == 0) | (lowest == 1))
    return n > 0, counts, counts & (n >= np.where(lowest == 0, 3, 2))
