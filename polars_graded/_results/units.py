"""Clusters and weights of queries: what counts as one independent unit, and how much.

The same search term on two devices does not make two independent queries. Statistics of results
with clusters assume that clusters are independent; the queries of a cluster may depend on each
other in any way. A weight states how much a query counts, such as the number of its searches.

`Results.units` replaces the values of queries by one value per unit: by linearised values, whose
plain mean is the (weighted) mean, and whose plain standard error is that of this mean. So every
statistic of units is right for clusters and weights.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from polars_graded._checks import check_column_name, check_column_names, check_columns, first_few
from polars_graded._measuring.kernels.ragged import Floats, Integers
from polars_graded._results.keys import Keys
from polars_graded._sentences import format_count
from polars_graded._warnings import DataWarning, warn_the_caller


def read_clusters(rows: pl.DataFrame | pl.LazyFrame, keys: Keys) -> pl.DataFrame:
    """Return the cluster of each query from one or several columns of results.

    The frame has the query as its first column, then the segments and the cluster. A query in two
    segments counts as two queries. Each query must have exactly one cluster.
    """
    columns = check_column_names("cluster", keys.cluster or [])
    check_columns("per_query", columns, rows.collect_schema(), argument="cluster")
    distinct = read_query_columns(rows, "cluster", columns, keys)
    is_null = pl.all_horizontal(pl.col(distinct.columns[-len(columns) :]).is_null())
    if n_nulls := distinct.filter(is_null).height:
        names = ", ".join(map(repr, columns))
        msg = f"cluster {names} must not be null, got null for {format_count(n_nulls, 'queries')}"
        raise ValueError(msg)
    return distinct


def read_query_columns(
    rows: pl.DataFrame | pl.LazyFrame, noun: str, columns: Sequence[str], keys: Keys
) -> pl.DataFrame:
    """Return what the columns state about each query, such as its cluster or its weight.

    The frame has the query as its first column, then the segments and the columns, called by the
    noun and a number. Raise if a query has several values in a segment.
    """
    numbered = [pl.col(name).alias(f"{noun} {place}") for place, name in enumerate(columns)]
    stated = rows.lazy().select(keys.one, *keys.segments, *numbered)
    distinct = stated.unique(maintain_order=True).collect()
    query, *segments = distinct.columns[: -len(columns)]
    is_repeated = pl.struct(query, *segments).is_duplicated()
    unclear = distinct.filter(is_repeated).get_column(query).unique()
    if len(unclear):
        msg = (
            f"each query must have one {noun}, got several in {', '.join(map(repr, columns))} for "
            f"{format_count(len(unclear), 'queries')}: {first_few(unclear.to_list())}\n\n"
            "Hint: query=[...] distinguishes queries of several segments that have one name"
        )
        raise ValueError(msg)
    return distinct


def number_clusters(queries: pl.DataFrame, clusters: pl.DataFrame) -> Integers:
    """Return a number for each query, which the queries of a cluster share.

    The number is the index of the first query of the cluster.
    """
    on = queries.columns
    joined = queries.join(clusters, on=on, how="left", nulls_equal=True, maintain_order="left")
    parts = clusters.columns[len(on) :]
    indices = joined.select(parts).with_row_index("index")
    first = indices.select(pl.col("index").cast(pl.Int64).min().over(parts))
    numbers: Integers = first.to_series().to_numpy()
    return numbers


class Repetition(NamedTuple):
    """Repetition of a value in several queries, which probably depend on each other."""

    column: str
    words: str


def find_repetition(
    rows: pl.DataFrame | pl.LazyFrame, queries: Sequence[str], fixed: Sequence[str] = ()
) -> Repetition | None:
    """Return the column of queries whose values repeat, or None if one identifies a query alone.

    An example is a search term on several devices. Rows that differ in the `fixed` columns, such as
    the strategy, are no repetition.
    """
    if len(queries) == 1:
        return None
    distinct = rows.lazy().select({*fixed, *queries}).unique().collect()
    if any(distinct.select({*fixed, name}).n_unique() == distinct.height for name in queries):
        return None
    # A column that others determine, such as the traffic of a query, is no unit.
    needed = [*queries]
    for name in reversed(queries):
        rest = {*fixed, *needed} - {name}
        if rest != {*fixed} and distinct.select(rest).n_unique() == distinct.height:
            needed.remove(name)
    counts = [distinct.get_column(name).n_unique() for name in needed]
    name, count = needed[int(np.argmax(counts))], max(counts)
    n = distinct.select(queries).n_unique()
    return Repetition(
        name, f"{format_count(count, 'values')} of {name!r} for {format_count(n, 'queries')}"
    )


def warn_of_dependence(repetition: Repetition | None, remedy: str) -> None:
    """Warn of queries that probably depend on each other, if a value repeats."""
    if repetition is not None:
        warn_the_caller(
            DataWarning.clusters,
            "queries are tested as independent, but several may depend on each other: there are "
            f"{repetition.words}{remedy}",
        )


def check_independence(
    rows: pl.DataFrame | pl.LazyFrame,
    keys: Keys,
    segments: Sequence[str] = (),
    *,
    decides: bool = False,
) -> None:
    """Warn if queries probably depend on each other and `cluster` is not passed.

    If `decides` is True, raise instead.
    """
    if keys.cluster is not None:
        return
    repetition = find_repetition(rows, keys.queries, [keys.strategy, *segments])
    if repetition is None:
        return
    name = repetition.column
    hint = (
        f"\n\nHint: cluster={name!r} counts all queries with the same {name!r} as one independent "
        f"unit; cluster={keys.queries!r} counts each query as independent"
    )
    if decides:
        msg = (
            "`cluster` must be passed if several columns identify a query and none of them does so "
            f"alone, got {repetition.words}{hint}"
        )
        raise ValueError(msg)
    warn_of_dependence(repetition, hint)


def read_weights(rows: pl.DataFrame | pl.LazyFrame, keys: Keys) -> pl.DataFrame:
    """Return the weight of each query with a positive weight, from a column of results.

    The frame has the query as its first column, then the segments and the weight as Float64. Raise
    if a weight is null, NaN, infinite or negative, or if all weights are 0.
    """
    name = check_column_name("weights", keys.weights)
    schema = rows.collect_schema()
    check_columns("per_query", [name], schema, argument="weights")
    if not schema[name].is_numeric():
        msg = f"weights {name!r} must be numbers, got {schema[name]}"
        raise TypeError(msg)
    stated = read_query_columns(rows, "weight", [name], keys)
    key, weight = stated.columns[0], stated.columns[-1]
    stated = stated.with_columns(pl.col(weight).cast(pl.Float64))
    is_wrong = ~(pl.col(weight).is_finite() & (pl.col(weight) >= 0))
    wrong = stated.filter(is_wrong.fill_null(value=True))
    if wrong.height:
        hint = f".with_columns(pl.col({name!r}).fill_null(0)) leaves out queries without a weight"
        msg = (
            f"weights {name!r} must be finite and at least 0, got {wrong[weight][0]} for "
            f"{format_count(wrong.height, 'queries')}: {first_few(wrong[key].to_list())}"
        )
        raise ValueError(f"{msg}\n\nHint: {hint}" if wrong[weight].null_count() else msg)
    positive = stated.filter(pl.col(weight) > 0)
    if stated.height and positive.is_empty():
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
