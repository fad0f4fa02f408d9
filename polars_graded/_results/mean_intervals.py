"""Means of rows of queries and their intervals, with clusters and weights of the queries."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from polars_graded._measuring.kernels.ragged import Floats
from polars_graded._results.grid import Results
from polars_graded._results.keys import Keys
from polars_graded._results.means import compute_mean_and_std, compute_mean_margin
from polars_graded._results.units import number_clusters, read_clusters, read_weights

CLUSTER, WEIGHT = "cluster of the query", "weight of the query"
"""Columns with the number of the cluster and with the weight of each query."""


def add_units(rows: pl.DataFrame, keys: Keys) -> pl.DataFrame:
    """Add the columns `CLUSTER` and `WEIGHT` to rows of queries; leave out queries of weight 0.

    One column identifies a query. Without `keys.cluster` or `keys.weights`, the rows lack the
    column.
    """
    on = keys.identity
    if keys.cluster is not None:
        clusters = read_clusters(rows, keys)
        numbers = pl.Series(CLUSTER, number_clusters(clusters.select(on), clusters))
        rows = _join(rows, clusters.select(on).with_columns(numbers), on)
    if keys.weights is not None:
        weights = read_weights(rows, keys)
        weight = pl.col(weights.columns[-1]).alias(WEIGHT)
        rows = _join(rows, weights.select(*on, weight), on)
    return rows


def _join(rows: pl.DataFrame, units: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    rows = rows.drop(units.columns[-1], strict=False)
    return rows.join(units, on=keys, nulls_equal=True, maintain_order="left")


def list_unit_columns(rows: pl.DataFrame) -> list[str]:
    """Return the columns that `add_units` added."""
    return [name for name in (CLUSTER, WEIGHT) if name in rows.columns]


def make_results(values: Floats, rows: pl.DataFrame) -> Results:
    """Return values with the units in `rows`: a row of values per mean, and a column per query."""
    clusters, weights = (
        rows[name].to_numpy() if name in rows.columns else None for name in (CLUSTER, WEIGHT)
    )
    numbers = pl.Series(np.arange(values.shape[1]))
    return Results("", numbers, values, clusters=clusters, weights=weights)


def compute_mean_intervals(results: Results, confidence: float) -> tuple[Floats, Floats, Floats]:
    """Return the mean of each row of values, and both ends of its interval.

    The standard error is that of all units, and Student's quantile that of their effective number.
    The ends are NaN if there are fewer than two units, or if all values are equal.
    """
    mean = results.compute_means(results.values)
    _, std = compute_mean_and_std(results.units.values)
    effective = results.effective_number
    std *= np.sqrt(effective / max(1, results.units.n))
    margin = compute_mean_margin(np.where(std > 0, std, np.nan), effective, confidence)
    return mean, mean - margin, mean + margin


def compute_mean_interval(
    column: str, rows: pl.DataFrame, confidence: float = 0.95
) -> tuple[float, float | None, float | None]:
    """Return the mean of a column and its interval; the ends are None if there is no interval."""
    results = make_results(rows[column].to_numpy()[np.newaxis], rows)
    mean, low, high = (ends.item() for ends in compute_mean_intervals(results, confidence))
    return mean, None if np.isnan(low) else low, None if np.isnan(high) else high


def average_points(
    points: Floats, rows: pl.DataFrame, confidence: float | None
) -> tuple[Floats, Floats, Floats]:
    """Return the mean of each row of points and its interval; NaN points are left out.

    `points` has a column per query, and `rows` has the units of these queries. Without a
    confidence, the ends of intervals are NaN.
    """
    averages = np.full((3, len(points)), np.nan)
    # Rows with values for the same queries are averaged together.
    is_known, groups = ~np.isnan(points), dict[bytes, list[int]]()
    for place, mask in enumerate(is_known):
        groups.setdefault(mask.tobytes(), []).append(place)
    for places in groups.values():
        results = make_results(points[places], rows).select(np.flatnonzero(is_known[places[0]]))
        if confidence is not None:
            averages[:, places] = compute_mean_intervals(results, confidence)
        elif results.n:
            averages[0, places] = results.compute_means(results.values)
    mean, low, high = averages
    return mean, low, high
