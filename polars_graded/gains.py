"""What a document is worth: grade → gain, rank → discount."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

if TYPE_CHECKING:
    from polars_graded.ragged import Floats, Integers

GainName: TypeAlias = Literal["exp2", "linear"]
Discount: TypeAlias = Literal["log2", "jarvelin", "zipf", "none"]
GAINS: tuple[str, ...] = get_args(GainName)
DISCOUNTS: tuple[str, ...] = get_args(Discount)

GradeGains: TypeAlias = tuple[tuple[float, float], ...]
"""Pairs of a grade and its gain, by rising grade."""
Gain: TypeAlias = str | GradeGains

HIGHEST_EXP2 = 1000
"""Relevance up to which sums of 2^g stay within the range of a double."""


def gain_of_relevance(relevance: Floats, gain: str) -> Floats:
    """2^g - 1 or g; infinite where 2^g would leave the range of a double."""
    if gain == "linear":
        return relevance
    if relevance.max(initial=0) > HIGHEST_EXP2:
        relevance = np.where(relevance > HIGHEST_EXP2, np.inf, relevance)
    # Near 0 the difference would lose what little there is.
    return np.where(relevance < 1, np.expm1(relevance * np.log(2)), np.exp2(relevance) - 1)


def gain_of_grade(grades: Floats, pairs: GradeGains) -> Floats:
    """The gain that `pairs` give each grade; NaN for a grade that they lack."""
    known, gains = _columns(pairs)
    place = np.minimum(np.searchsorted(known, grades), len(known) - 1)
    return np.where(known[place] == grades, gains[place], np.nan)


def highest_gain(best: Floats, pairs: GradeGains) -> Floats:
    """The gain of the highest grade in `pairs` that is not above the best grade there is."""
    known, gains = _columns(pairs)
    return gains[np.maximum(np.searchsorted(known, best, side="right") - 1, 0)]


def _columns(pairs: GradeGains) -> tuple[Floats, Floats]:
    table = np.array(pairs, dtype=np.float64)
    return table[:, 0], table[:, 1]


def discounts(ranks: Integers, discount: str, base: float) -> Floats:
    """What the gain at each rank, counted from 1, is multiplied by."""
    if discount == "zipf":
        return 1 / ranks
    if discount == "none":
        return np.ones(len(ranks))
    shifted = ranks + 1 if discount == "log2" else np.maximum(ranks, base)
    weights: Floats = np.log2(base) / np.log2(shifted)
    return weights
