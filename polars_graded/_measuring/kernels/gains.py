"""Gains of grades and discounts of ranks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

import numpy as np

from polars_graded._measuring.kernels.ragged import Floats, Integers

GainName: TypeAlias = Literal["exp2", "linear"]
Discount: TypeAlias = Literal["log2", "jarvelin", "zipf", "none"]

GradeGains: TypeAlias = tuple[tuple[float, float], ...]
"""Pairs of a grade and its gain, in ascending order of grades."""
Gain: TypeAlias = GainName | GradeGains

MAX_EXP2_RELEVANCE = 1000
"""Maximum relevance g for which sums of 2^g stay within the range of a double."""


def exp2_gain(relevance: Floats) -> Floats:
    """Return 2^g - 1; infinity for g above `MAX_EXP2_RELEVANCE`."""
    if relevance.max(initial=0) > MAX_EXP2_RELEVANCE:
        relevance = np.where(relevance > MAX_EXP2_RELEVANCE, np.inf, relevance)
    # Near 0, subtracting 1 from a number near 1 would lose digits; `expm1` keeps them.
    return np.where(relevance < 1, np.expm1(relevance * np.log(2)), np.exp2(relevance) - 1)


def linear_gain(relevance: Floats) -> Floats:
    """Return the relevance itself."""
    return relevance


GAINS: Mapping[GainName, Callable[[Floats], Floats]] = {"exp2": exp2_gain, "linear": linear_gain}
"""Functions from relevance to gain, by name."""


def look_up_gains(grades: Floats, pairs: GradeGains) -> Floats:
    """Return the gain of each grade; NaN for a grade that `pairs` lacks."""
    mapped, gains = _split_pairs(pairs)
    index = np.minimum(np.searchsorted(mapped, grades), len(mapped) - 1)
    return np.where(mapped[index] == grades, gains[index], np.nan)


def look_up_highest_gains(best: Floats, pairs: GradeGains) -> Floats:
    """Return the gain of the highest grade of each query.

    `best` contains the highest grades. If `pairs` lacks such a grade, the result is the gain of the
    next lower grade in `pairs`. If `pairs` has no lower grade, the result is the gain of the lowest
    grade in `pairs`.
    """
    grades, gains = _split_pairs(pairs)
    return gains[np.maximum(np.searchsorted(grades, best, side="right") - 1, 0)]


def _split_pairs(pairs: GradeGains) -> tuple[Floats, Floats]:
    """Return the grades and the gains of pairs."""
    table = np.array(pairs, dtype=np.float64)
    return table[:, 0], table[:, 1]


def log2_discount(ranks: Integers, base: float) -> Floats:
    """Return 1 / log_b(i + 1) for each rank i.

    Base 2 gives equation 3 of Scheel et al. (2011).
    """
    return _invert_log(ranks + 1, base)


def jarvelin_discount(ranks: Integers, base: float) -> Floats:
    """Return 1 for ranks i up to b, and 1 / log_b(i) for other ranks.

    The base is b (Järvelin and Kekäläinen 2002).
    """
    return _invert_log(np.maximum(ranks, base), base)


def zipf_discount(ranks: Integers, _base: float) -> Floats:
    """Return 1 / i for each rank i."""
    return 1 / ranks


def no_discount(ranks: Integers, _base: float) -> Floats:
    """Return 1 at every rank."""
    return np.ones(len(ranks))


def _invert_log(numbers: Integers | Floats, base: float) -> Floats:
    """Return 1 / log_b(x) for each number x, where b is `base`."""
    weights: Floats = np.log2(base) / np.log2(numbers)
    return weights


DISCOUNTS: Mapping[Discount, Callable[[Integers, float], Floats]] = {
    "log2": log2_discount,
    "jarvelin": jarvelin_discount,
    "zipf": zipf_discount,
    "none": no_discount,
}
"""Functions that compute the discounts of ranks for a base of the logarithm."""
