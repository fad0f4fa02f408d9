"""Detection of lists of numbers that count their documents, as ranks do."""

from __future__ import annotations

import numpy as np

from polars_graded._measuring.kernels.ragged import Mask, Ragged, repeated


def find_rank_lists(values: Ragged) -> tuple[Mask, Mask, Mask]:
    """Return masks of lists with numbers, of ranks, and of conclusive ranks.

    A list of ranks contains 1 to n, or 0 to n - 1. NaN counts as no number. A single number, and 0
    beside 1, count their documents by chance: they are not conclusive.
    """
    known = ~np.isnan(values.values)
    n = values.count(known)
    lowest = -values.max(np.where(known, -values.values, -np.inf))
    lowest = np.where(np.isfinite(lowest), lowest, 0)
    slot = values.values - repeated(lowest, values.lengths)
    is_slot = known & (slot >= 0) & (slot < repeated(n, values.lengths)) & (slot == np.floor(slot))
    taken = np.zeros(len(slot), bool)
    places = repeated(values.offsets[:-1], values.lengths)[is_slot] + slot[is_slot].astype(np.int64)
    taken[places] = True
    # n numbers in n slots, of which none is left free, are all of them once.
    counts = (n > 0) & (values.count(taken) == n) & ((lowest == 0) | (lowest == 1))
    return n > 0, counts, counts & (n >= np.where(lowest == 0, 3, 2))
