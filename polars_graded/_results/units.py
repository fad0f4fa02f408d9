"""Clusters and weights of queries, the independent units of statistics.

The same search term on two devices does not make two independent queries. Statistics of results
with clusters assume that clusters are independent; the queries of a cluster may depend on each
other in any way. A weight states how much a query counts, such as the number of its searches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import polars as pl

from polars_graded._checks import check_columns, first_few
from polars_graded._results.keys import Keys, count_keys, list_columns
from polars_graded._sentences import format_count
from polars_graded._warnings import DataWarning, warn_the_caller

CLUSTER, WEIGHT = "cluster of the query", "weight of the query"
"""Columns with the number of the cluster and with the weight of each query."""

NUMBER = "number of the query"
"""Column of the index of each query, while clusters are numbered."""

Dependence: TypeAlias = Literal["warn", "refuse", "ignore"]
"""Treatment of queries that probably depend on each other, if `cluster` is not passed."""


def read_units(rows: pl.DataFrame, keys: Keys) -> pl.DataFrame:
    """Return the cluster and the weight of each query, without queries of weight 0.

    The frame has the query as its first column, then the segments, `CLUSTER` with `keys.cluster`,
    and `WEIGHT` with `keys.weights`. It is sorted by segment and query. A query in two segments
    counts as two queries. The number of a cluster is the index of its first query.
    """
    identity = rows.select(keys.one, *keys.segments)
    query, *segments = identity.columns
    units, clusters = identity, list_columns(keys.cluster)
    if clusters:
        units = units.with_columns(rows.select(pl.struct(clusters).alias(CLUSTER)))
    if keys.weights is not None:
        if not rows.schema[keys.weights].is_numeric():
            msg = f"weights {keys.weights!r} must be numbers, got {rows.schema[keys.weights]}"
            raise TypeError(msg)
        units = units.with_columns(rows[keys.weights].cast(pl.Float64).alias(WEIGHT))
    units = units.unique().sort(*segments, query)
    if clusters:
        _check_one_each(units, identity.columns, CLUSTER, clusters)
        is_null = pl.all_horizontal(pl.col(CLUSTER).struct.field(clusters).is_null())
        if n_nulls := units.filter(is_null).height:
            names, count = ", ".join(map(repr, clusters)), format_count(n_nulls, "queries")
            msg = f"cluster {names} must not be null, got null for {count}"
            raise ValueError(msg)
    if keys.weights is not None:
        _check_one_each(units, identity.columns, WEIGHT, [keys.weights])
        units = _select_weighted(units, keys.weights)
    if clusters:
        number = pl.col(NUMBER).min().over(CLUSTER).alias(CLUSTER)
        units = units.with_row_index(NUMBER).with_columns(number).drop(NUMBER)
    return units


def _check_one_each(
    units: pl.DataFrame, identity: Sequence[str], column: str, names: Sequence[str]
) -> None:
    """Raise if a query has several clusters, or several weights, in a segment."""
    distinct = units.select(*identity, column).unique(maintain_order=True)
    unclear = distinct.filter(pl.struct(identity).is_duplicated()).to_series().unique().sort()
    if len(unclear):
        noun = column.partition(" ")[0]
        msg = (
            f"each query must have one {noun}, got several in {', '.join(map(repr, names))} for "
            f"{format_count(len(unclear), 'queries')}: {first_few(unclear.to_list())}\n\n"
            "Hint: query=[...] distinguishes queries of several segments that have one name"
        )
        raise ValueError(msg)


def _select_weighted(units: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return the queries with a positive weight.

    Raise if a weight is null, NaN, infinite or negative, or if all weights are 0.
    """
    is_right = pl.col(WEIGHT).is_finite() & (pl.col(WEIGHT) >= 0)
    wrong = units.filter(~is_right.fill_null(value=False)).sort(units.columns[0])
    if wrong.height:
        hint = f".with_columns(pl.col({name!r}).fill_null(0)) leaves out queries without a weight"
        msg = (
            f"weights {name!r} must be finite and at least 0, got {wrong[WEIGHT][0]} for "
            f"{format_count(wrong.height, 'queries')}: {first_few(wrong.to_series().to_list())}"
        )
        raise ValueError(f"{msg}\n\nHint: {hint}" if wrong[WEIGHT].null_count() else msg)
    positive = units.filter(pl.col(WEIGHT) > 0)
    if units.height and positive.is_empty():
        msg = f"weights {name!r} must be above 0 for a query, got 0 for all queries"
        raise ValueError(msg)
    return positive


def add_units(rows: pl.DataFrame, keys: Keys) -> pl.DataFrame:
    """Add the columns `CLUSTER` and `WEIGHT` to rows of queries; leave out queries of weight 0.

    One column identifies a query. Without `keys.cluster` or `keys.weights`, the rows lack the
    column.
    """
    for argument, columns in (("cluster", keys.cluster), ("weights", keys.weights)):
        check_columns("per_query", list_columns(columns), rows.columns, argument=argument)
    units = read_units(rows, keys)
    rows = rows.drop(list_unit_columns(units), strict=False)
    return rows.join(units, on=keys.identity, nulls_equal=True, maintain_order="left")


def list_unit_columns(rows: pl.DataFrame) -> list[str]:
    """Return the columns that `add_units` added."""
    return [name for name in (CLUSTER, WEIGHT) if name in rows.columns]


def check_independence(
    rows: pl.DataFrame, keys: Keys, dependence: Dependence = "warn", remedy: str | None = None
) -> None:
    """Warn or raise if queries probably depend on each other and `cluster` is not passed.

    They probably do if several columns identify a query, and no column does so alone. An example is
    a search term on several devices. Rows of other strategies and segments are no repetition.
    """
    if len(keys.queries) == 1 or keys.cluster is not None or dependence == "ignore":
        return
    fixed = [name for name in (keys.strategy, *keys.segments) if name in rows.columns]
    distinct = rows.select({*fixed, *keys.queries}).unique()
    if any(count_keys(distinct, [*fixed, name]) == distinct.height for name in keys.queries):
        return
    counts = {name: distinct.n_unique(name) for name in keys.queries}
    name = max(counts, key=counts.__getitem__)
    n = format_count(distinct.n_unique(keys.queries), "queries")
    words = f"{format_count(counts[name], 'values')} of {name!r} for {n}"
    if remedy is None:
        remedy = (
            f"\n\nHint: cluster={name!r} counts all queries with the same {name!r} as one "
            f"independent unit; cluster={keys.queries!r} counts each query as independent"
        )
    if dependence == "refuse":
        msg = (
            "`cluster` must be passed if several columns identify a query and none of them does so "
            f"alone, got {words}{remedy}"
        )
        raise ValueError(msg)
    warn_the_caller(
        DataWarning.clusters,
        "queries are tested as independent, but several may depend on each other: there are "
        f"{words}{remedy}",
    )
