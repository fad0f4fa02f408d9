"""Intervals that allow for few units, such as queries or users, which decide a value."""

from __future__ import annotations

import math

import numpy as np

from polars_graded._measuring.kernels.ragged import Floats
from polars_graded._results.best_values import ROUNDING

__all__ = ["SAME_VALUE", "compute_jackknife_margin", "compute_margin"]

SAME_VALUE = (
    "the value is the same whichever {unit} is left out, or is undefined without one of them, so "
    "there is no interval"
)
"""Reason for a missing interval."""


def compute_jackknife_margin(without: Floats, level: float) -> float | None:
    """Return half the width of an interval; None if it is unknown.

    `without` contains the value without each of n units. With the deviations d from the mean of
    these values, the standard error is sqrt((n - 1) / n Σ d²).
    """
    n = len(without)
    if n < 2:  # noqa: PLR2004
        return None
    deviations = (n - 1) * (without - without.mean())
    scale = max(1.0, float(np.abs(without).max()))
    return compute_margin(deviations, np.ones(n), level, scale)


def compute_margin(
    deviations: Floats, counts: Floats, level: float, scale: float = 1.0
) -> float | None:
    """Return half the width of an interval of a mean; None if it is unknown.

    A deviation d of a unit's value from the mean of all n units occurs `counts` times. The standard
    error is sqrt(Σ d² / (n (n - 1))). The margin is this error times a quantile of Student's
    distribution with (Σ d²)² / Σ d⁴ degrees of freedom, but at most n - 1. If all deviations have
    the same size, this is n - 1, and if one unit has the only deviation, it is 1. Always n - 1
    would be right for normal deviations, but those of few units are often skewed.

    An error of 1e-12 times `scale` or less may be due to rounding, so the margin is then unknown.
    """
    from scipy.special import stdtrit

    n, squares = float(counts.sum()), deviations**2
    total = float(counts @ squares)
    error = math.sqrt(total / (n * (n - 1))) if n > 1 else 0.0
    # NaN, which is a value that is undefined without a unit, makes the comparison false.
    if not error > ROUNDING * scale:
        return None
    freedom = min(total**2 / float(counts @ squares**2), n - 1)
    return float(-stdtrit(freedom, level / 2) * error)
