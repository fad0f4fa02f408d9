"""Weights of queries: how much each query counts, such as the number of its searches.

With weights, every mean is a weighted mean. `Results.units` replaces the values of queries by
linearised values, whose plain mean is the weighted mean and whose plain standard error is that of
the weighted mean. So every statistic of units is right for weights too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl

from polars_graded._checks import check_column_name, check_columns, first_few
from polars_graded._measuring.kernels.ragged import Floats
from polars_graded._results.clusters import read_query_columns
from polars_graded._results.keys import Columns
from polars_graded._sentences import format_count


def read_weights(
    per_query: pl.DataFrame | pl.LazyFrame, weights: str, query: Columns, segments: Sequence[str]
) -> pl.DataFrame:
    """Return the weight of each query with a positive weight, from a column of results.

    The frame has the query as its first column, then the segments and the weight as Float64. Raise
    if a weight is null, NaN, infinite or negative, or if all weights are 0.
    """
    name = check_column_name("weights", weights)
    schema = per_query.collect_schema()
    check_columns("per_query", [name], schema, argument="weights")
    if not schema[name].is_numeric():
        msg = f"weights {name!r} must be numbers, got {schema[name]}"
        raise TypeError(msg)
    rows = read_query_columns(per_query, "weight", [name], query, segments)
    key, weight = rows.columns[0], rows.columns[-1]
    rows = rows.with_columns(pl.col(weight).cast(pl.Float64))
    is_wrong = ~(pl.col(weight).is_finite() & (pl.col(weight) >= 0))
    wrong = rows.filter(is_wrong.fill_null(value=True))
    if wrong.height:
        hint = f".with_columns(pl.col({name!r}).fill_null(0)) leaves out queries without a weight"
        msg = (
            f"weights {name!r} must be finite and at least 0, got {wrong[weight][0]} for "
            f"{format_count(wrong.height, 'queries')}: {first_few(wrong[key].to_list())}"
        )
        raise ValueError(f"{msg}\n\nHint: {hint}" if wrong[weight].null_count() else msg)
    positive = rows.filter(pl.col(weight) > 0)
    if rows.height and positive.is_empty():
        msg = f"weights {name!r} must be above 0 for a query, got 0 for all queries"
        raise ValueError(msg)
    return positive


def compute_effective_number(shares: Floats) -> float:
    """Return Kish's effective number of units: 1 / Σ p², for shares p that sum to 1.

    A mean of so many values of equal weight has the same variance as the weighted mean.
    """
    return 1 / float((shares**2).sum())


def compute_deviation_factor(shares: Floats) -> float:
    r"""Return the factor of linearised deviations that makes the variance of the mean unbiased.

    The variance of a weighted mean of values of equal variance is :math:`\sigma^2 \sum p^2`. The
    expected value of its linearised estimate :math:`\sum p^2 e^2`, with the deviations e from the
    mean, is smaller by the factor :math:`1 - 2 \sum p^3 / \sum p^2 + \sum p^2`. The standard error
    of a mean of G plain values contains the factor G / (G - 1), which the result takes off.
    """
    squares, n = float((shares**2).sum()), len(shares)
    expected = 1 - 2 * float((shares**3).sum()) / squares + squares
    return math.sqrt((n - 1) / n / expected)


def compute_weighted_medians(values: Floats, shares: Floats) -> Floats:
    """Return the median of each row: half of the weight is on either side of it."""
    order = np.argsort(values, axis=1)
    ascending = np.take_along_axis(values, order, axis=1)
    below = np.cumsum(shares[order], axis=1)
    # If exactly half of the weight is at or below a value, the median is the mean of two values.
    rounding = 1e-12
    first, last = (
        np.take_along_axis(ascending, np.argmax(below >= limit, axis=1)[:, np.newaxis], axis=1)
        for limit in (0.5 - rounding, 0.5 + rounding)
    )
    medians: Floats = (first[:, 0] + last[:, 0]) / 2
    return medians
