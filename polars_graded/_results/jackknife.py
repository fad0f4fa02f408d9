"""Intervals by the jackknife: a value is computed again without each query or user."""

from __future__ import annotations

import math

import numpy as np

from polars_graded._measuring.kernels.ragged import Floats
from polars_graded._results.per_query import ROUNDING

__all__ = ["SAME_VALUE", "compute_jackknife_margin"]

SAME_VALUE = (
    "the value is the same whichever {unit} is left out, or is undefined without one of them, so "
    "there is no interval"
)
"""Reason for a missing interval."""


def compute_jackknife_margin(without: Floats, level: float) -> float | None:
    """Return half the width of an interval; None if it is unknown.

    `without` contains the value without each of n units. With deviations d from the mean of these
    values, the standard error is sqrt((n - 1) / n Σ d²). The margin is this error times a quantile
    of Student's distribution. Its degrees of freedom are (Σ d²)² / Σ d⁴, but at most n - 1. If all
    deviations have the same size, this is n, and if one unit has the only deviation, it is 1.
    Student's n - 1 would be right for normal deviations, but those of few units are often skewed.
    """
    from scipy.special import stdtrit

    n = len(without)
    if n < 2:  # noqa: PLR2004
        return None
    squares = (without - without.mean()) ** 2
    total = float(squares.sum())
    error = math.sqrt((n - 1) / n * total)
    # NaN, which is a value that is undefined without a unit, makes the comparison false.
    if not error > ROUNDING * max(1.0, float(np.abs(without).max())):
        return None
    freedom = min(total**2 / float((squares**2).sum()), n - 1)
    return float(-stdtrit(freedom, level / 2) * error)
