"""Means, standard deviations and their intervals."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from polars_graded._measuring.kernels.ragged import Floats

MIN_VALUES = 2
"""Minimum number of values, or effective number of weighted values, for an interval or a test."""


def check_list_length(frame: pl.DataFrame, columns: Sequence[str], argument: str) -> int:
    """Return the common length of the lists in columns; 0 without lists."""
    lengths: Any = pl.concat([frame[column].list.len().drop_nulls() for column in columns])
    if lengths.n_unique() > 1:
        msg = (
            f"the lists of {argument} must all have the same length, as for a curve with a cutoff, "
            f"got {lengths.min()} to {lengths.max()}"
        )
        raise ValueError(msg)
    return lengths.max() or 0


def spread_lists(lists: pl.Series, length: int) -> Any:
    """Return lists of one length as rows of an array; NaN for null, and for a missing list."""
    has_list = lists.is_not_null().to_numpy()
    rows = lists.drop_nulls().cast(pl.List(pl.Float64))
    points = np.full((len(lists), length), np.nan)
    flat = rows.explode(empty_as_null=False).fill_null(np.nan).to_numpy()
    points[has_list] = flat.reshape(-1, length) if length else flat.reshape(len(rows), 0)
    return points


def compute_mean(values: Floats) -> float:
    """Return the mean of values, NaN if there are none."""
    return float(values.mean()) if len(values) else np.nan


def compute_central_interval(values: Floats, confidence: float) -> Floats:
    """Return the ends of the central interval of values.

    With `confidence=0.95`, the interval contains the central 95 % of the values. The ends are
    quantiles along the first axis.
    """
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # if all are NaN
        ends: Floats = np.nanquantile(values, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    return ends


def compute_mean_and_std(values: Floats, shares: Floats | None = None) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of each row, NaN if undefined.

    With the shares of columns in a sum of weights, both are weighted. The divisor of the variance
    is 1 - Σ share², which makes it unbiased. With equal shares, it is that of n - 1 values.
    """
    count, n = values.shape
    if shares is not None:
        # The deviations from one of the values are exactly 0 if all values are equal.
        first = values[:, :1]
        mean = first[:, 0] + (values - first) @ shares
    else:
        mean = values.mean(axis=1) if n else np.full(count, np.nan)
    if n < 2:  # noqa: PLR2004
        return mean, np.full(count, np.nan)
    deviations = values - mean[:, np.newaxis]
    highest, lowest = deviations.max(axis=1), deviations.min(axis=1)
    largest = np.maximum(highest, -lowest)
    # The squares of tiny deviations would underflow to 0. If all deviations of a row are tiny, they
    # are multiplied by a power of 2, which is exact.
    scale = np.where(largest < 1e-100, 2.0**400, 1.0)  # noqa: PLR2004
    if (scale > 1).any():
        deviations *= scale[:, np.newaxis]
    if shares is not None:
        variance = deviations**2 @ shares / (1 - (shares**2).sum())
    else:
        variance = np.einsum("ij,ij->i", deviations, deviations) / (n - 1)
    std = np.sqrt(variance) / scale
    std[highest == lowest] = 0
    return mean, std


def divide(above: Floats, below: Floats) -> Floats:
    """Return the quotient of two arrays, NaN where the divisor is 0."""
    result: Floats = np.full(len(above), np.nan)
    np.divide(above, below, out=result, where=below != 0)
    return result


def compute_mean_margin(std: Any, n: Any, confidence: float) -> Any:
    """Return half the width of Student's interval of a mean; NaN for fewer than two values."""
    from scipy.special import stdtrit

    t = stdtrit(np.maximum(n - 1, 1), (1 + confidence) / 2)
    return np.where(np.asarray(n) >= MIN_VALUES, t * std / np.sqrt(n), np.nan)
