"""Clusters of queries: which queries depend on each other.

The same search term on two devices does not make two independent queries. Statistics of results
with clusters assume that clusters are independent; the queries of a cluster may depend on each
other in any way. `Results.units` replaces the values of queries by one value per cluster.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from polars_graded._checks import check_column_names, check_columns, first_few
from polars_graded._measuring.kernels.ragged import Integers
from polars_graded._results.keys import Columns
from polars_graded._sentences import format_count
from polars_graded._warnings import DataWarning, warn_the_caller


def read_clusters(
    per_query: pl.DataFrame | pl.LazyFrame,
    cluster: Columns,
    query: Columns,
    segments: Sequence[str],
) -> pl.DataFrame:
    """Return the cluster of each query from one or several columns of results.

    The frame has the query as its first column, then the segments and the cluster. A query in two
    segments counts as two queries. Each query must have exactly one cluster.
    """
    columns = check_column_names("cluster", cluster)
    check_columns("per_query", columns, per_query.collect_schema(), argument="cluster")
    distinct = read_query_columns(per_query, "cluster", columns, query, segments)
    is_null = pl.all_horizontal(pl.col(distinct.columns[-len(columns) :]).is_null())
    if n_nulls := distinct.filter(is_null).height:
        names = ", ".join(map(repr, columns))
        msg = f"cluster {names} must not be null, got null for {format_count(n_nulls, 'queries')}"
        raise ValueError(msg)
    return distinct


def read_query_columns(
    per_query: pl.DataFrame | pl.LazyFrame,
    noun: str,
    columns: Sequence[str],
    query: Columns,
    segments: Sequence[str],
) -> pl.DataFrame:
    """Return what the columns state about each query, such as its cluster or its weight.

    The frame has the query as its first column, then the segments and the columns, called by the
    noun and a number. Raise if a query has several values in a segment.
    """
    queries = check_column_names("query", query)
    one = pl.col(queries[0]) if len(queries) == 1 else pl.struct(queries).alias(", ".join(queries))
    numbered = [pl.col(name).alias(f"{noun} {place}") for place, name in enumerate(columns)]
    rows = per_query.lazy().select(one, *segments, *numbered)
    distinct = rows.unique(maintain_order=True).collect()
    keys = distinct.columns[: -len(columns)]
    unclear = distinct.filter(pl.struct(keys).is_duplicated()).get_column(keys[0]).unique()
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


def check_independence(
    per_query: pl.DataFrame | pl.LazyFrame,
    *,
    query: Columns,
    strategy: str,
    segments: Sequence[str] = (),
    decides: bool = False,
) -> None:
    """Warn if several columns identify a query, and none of them does so alone.

    One of these columns is then repeated, such as a search term on several devices, and the queries
    with the same term probably depend on each other. If `decides` is True, raise instead.
    """
    queries = check_column_names("query", query)
    if len(queries) == 1:
        return
    fixed = [strategy, *segments]
    keys = per_query.lazy().select({*fixed, *queries}).collect()
    if any(keys.select({*fixed, name}).n_unique() == keys.height for name in queries):
        return
    counts = [keys.get_column(name).n_unique() for name in queries]
    name, count = queries[int(np.argmax(counts))], max(counts)
    repetition = (
        f"{format_count(count, 'values')} of {name!r} for "
        f"{format_count(keys.select(queries).n_unique(), 'queries')}"
    )
    hint = (
        f"\n\nHint: cluster={name!r} counts all queries with the same {name!r} as one independent "
        f"unit; cluster={queries!r} counts each query as independent"
    )
    if decides:
        msg = (
            "`cluster` must be passed if several columns identify a query and none of them does so "
            f"alone, got {repetition}{hint}"
        )
        raise ValueError(msg)
    warn_the_caller(
        DataWarning.clusters,
        f"queries are tested as independent, but several may depend on each other: there are "
        f"{repetition}{hint}",
    )
