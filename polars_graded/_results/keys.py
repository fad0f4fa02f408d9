"""Key columns of results, and what the columns of clusters and weights state about each query.

The same search term on two devices does not make two independent queries. Statistics of results
with clusters assume that clusters are independent; the queries of a cluster may depend on each
other in any way. A weight states how much a query counts, such as the number of its searches.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, TypeAlias

import polars as pl

from polars_graded._checks import (
    HINT,
    check_column_name,
    check_column_names,
    check_columns,
    check_list,
    first_few,
    hint_at_maker,
)
from polars_graded._frames.arguments import Columns
from polars_graded._frames.request import RECORDS
from polars_graded._frames.tables import GRADER
from polars_graded._measuring.measures import Measure
from polars_graded._sentences import format_count
from polars_graded._warnings import DataWarning, warn_the_caller

COLUMNS_OF_LONG_TABLES = ("measure", "cutoff", "rank")
"""Columns of tables with a row per value that distinguish values of one query, not queries."""

COLUMNS_OF_MEANS = ("measure", "strategy", "mean", "ci_low")
"""Columns that show that a frame is a table of `summarise` or `compare`, not results per query."""

CLUSTER, WEIGHT = "cluster of the query", "weight of the query"
"""Columns with the number of the cluster and with the weight of each query."""

Dependence: TypeAlias = Literal["warn", "refuse", "ignore"]
"""Treatment of queries that probably depend on each other, if `cluster` is not passed."""


@dataclass(frozen=True)
class Keys:
    """The key columns of results, and the columns that state something about each query."""

    query: Columns = "query"
    strategy: str = "strategy"
    _: KW_ONLY
    segments: Sequence[str] = ()
    cluster: Columns | None = None
    """The columns of clusters of queries, which may also be key columns."""
    weights: str | None = None

    @property
    def queries(self) -> list[str]:
        """Return the columns that identify a query."""
        return check_column_names("query", self.query)

    @property
    def one(self) -> pl.Expr:
        """Return the query as one column: a struct if several columns identify it."""
        first, *others = self.queries
        return pl.struct(first, *others).alias(", ".join(self.queries)) if others else pl.col(first)

    @property
    def identity(self) -> list[str]:
        """Return the distinct columns that identify a query in a segment."""
        return [*dict.fromkeys([*self.queries, *self.segments])]


@dataclass(frozen=True)
class PassedKeys:
    """The key columns as the caller passed them; None for columns to be found."""

    query: Columns | None = None
    strategy: str | None = None
    _: KW_ONLY
    segments: Columns | None = None
    cluster: Columns | None = None
    weights: str | None = None

    def find(self, rows: pl.DataFrame, measures: Sequence[Any] = ()) -> Keys:
        """Return the key columns of results, passed or found.

        If the caller does not pass a key, the column named "strategy" or "query" is used, if it
        exists. Other columns are candidates if no argument names them and if their name and type
        fit a key:

        1. If the strategy is known and the query is not passed, several columns may identify a
           query together: all candidates, and the column "query" if it exists. They are used if
           every strategy has each combination of their values once, and if the column "query" alone
           does not distinguish the rows of a strategy.
        2. Otherwise, if one key is missing and there is one candidate, the candidate is the key.
        3. If a key is missing and there are several candidates, an error asks for the key. The
           order of columns does not show which column is meant.
        """
        schema, segments = rows.schema, check_segment_columns(self.segments)
        strategy, query = self.strategy, self.query
        if strategy is None and "strategy" in schema:
            strategy = "strategy"
        if query is None and "query" in schema:
            query = "query"
        if query is None and {*COLUMNS_OF_MEANS} <= {*schema}:
            msg = (
                "`per_query` must have one row per strategy and query, got a table of means"
                f"{hint_at_maker('per_query')}"
            )
            raise ValueError(msg)
        columns = collect_column_names(*check_list("measures", measures or [None]))
        others = collect_column_names(query, strategy, segments, self.weights)
        used = {GRADER, *columns, *others}
        candidates = [
            name for name, dtype in schema.items() if name not in used and can_be_key(name, dtype)
        ]
        if self.query is None and candidates and strategy in (names := schema.names()):
            fixed = [strategy, *({GRADER} & {*names} - others)]
            if len(candidates) > 1:
                # A column with one value per strategy describes it, such as `a` and `b` of a pair.
                n_fixed = rows.n_unique(fixed)
                varying = [name for name in candidates if rows.n_unique([*fixed, name]) > n_fixed]
                candidates = varying or candidates
            several = [name for name in names if name in (*candidates, query)]
            parts = [name for name in segments if name in names]
            if len(several) > 1 and _identify_queries(rows, fixed, parts, query, several):
                query = several
        missing = {"strategy": strategy, "query": query}
        missing_keys = [key for key, column in missing.items() if column is None]
        if missing_keys and len(candidates) > 1:
            hints = (f"{key}=... names {NAMES_OF_KEYS[key]}" for key in missing_keys)
            hint = hint_at_maker("per_query", f"{HINT} {', '.join(hints)}")
            msg = (
                f"{' and '.join(f'`{key}`' for key in missing_keys)} must be passed if there is no "
                f"column {' or '.join(map(repr, missing_keys))} and several columns are possible, "
                f"got {', '.join(candidates)}{hint}"
            )
            raise ValueError(msg)
        if len(candidates) == len(missing_keys) == 1:
            [only] = candidates
            strategy = only if strategy is None else strategy
            query = only if query is None else query
        return Keys(
            "query" if query is None else query,
            "strategy" if strategy is None else strategy,
            segments=segments,
            cluster=self.cluster,
            weights=self.weights,
        )


NAMES_OF_KEYS = {
    "strategy": "the column of strategies",
    "query": "the columns that identify a query",
}


def _identify_queries(
    rows: pl.DataFrame,
    strategies: list[str],
    segments: list[str],
    query: Any,
    several: list[str],
) -> bool:
    """Return whether each strategy has each combination of the columns `several` once.

    Return False if the column "query" alone distinguishes the rows of a strategy, since the other
    columns are then not needed.
    """
    if query is not None and rows.n_unique([*strategies, *segments, query]) == rows.height:
        return False
    queries = [*several, *segments]
    n_pairs = rows.n_unique(strategies) * rows.n_unique(queries)
    return rows.n_unique([*strategies, *queries]) == rows.height == n_pairs


def can_be_key(name: str, dtype: pl.DataType) -> bool:
    """Return whether a column may be a key, by its name and type."""
    if name in RECORDS or name in COLUMNS_OF_LONG_TABLES:
        return False
    holds_values = dtype.is_float() or dtype.is_decimal() or dtype.is_nested()
    return not holds_values and dtype not in (pl.Boolean, pl.Object) and not Measure.try_parse(name)


def collect_column_names(*given: Any) -> set[str]:
    """Return all column names from single names, lists and mappings."""
    columns = set[str]()
    for value in given:
        if isinstance(value, str):
            columns.add(value)
        elif isinstance(value, Iterable):
            columns |= {name for name in value if isinstance(name, str)}
    return columns


def check_segment_columns(segments: Columns | None) -> list[str]:
    """Return the list of the columns of segments, empty without segments."""
    return [] if segments is None else check_column_names("segments", segments)


def check_named_once(columns: Sequence[str]) -> None:
    """Raise if a column is named more than once."""
    if len({*columns}) < len(columns):
        msg = f"each column must be named once, got {', '.join(columns)}"
        raise ValueError(msg)


# Clusters and weights


def read_units(rows: pl.DataFrame, keys: Keys) -> pl.DataFrame:
    """Return the cluster and the weight of each query, without queries of weight 0.

    The frame has the query as its first column, then the segments, `CLUSTER` with `keys.cluster`,
    and `WEIGHT` with `keys.weights`. It is sorted by segment and query. A query in two segments
    counts as two queries. The number of a cluster is the index of its first query.
    """
    queries = rows.select(keys.one, *keys.segments).unique()
    on = queries.columns
    queries = queries.sort(*on[1:], on[0])
    if keys.weights is not None:
        weights = _read_weights(rows, check_column_name("weights", keys.weights), keys)
        queries = queries.join(weights, on=on, nulls_equal=True, maintain_order="left")
    if keys.cluster is not None:
        clusters = _read_clusters(rows, check_column_names("cluster", keys.cluster), keys)
        joined = queries.join(clusters, on=on, how="left", nulls_equal=True, maintain_order="left")
        numbered = joined.with_columns(pl.int_range(pl.len()).alias(CLUSTER))
        number = pl.col(CLUSTER).min().over(clusters.columns[len(on) :])
        queries = numbered.select(*queries.columns, number)
    return queries


def _read_clusters(rows: pl.DataFrame, columns: Sequence[str], keys: Keys) -> pl.DataFrame:
    """Return the cluster of each query from one or several columns of results.

    Raise if a query has no cluster, or several.
    """
    check_columns("per_query", columns, rows.schema, argument="cluster")
    stated = _read_query_columns(rows, "cluster", columns, keys)
    is_null = pl.all_horizontal(pl.col(stated.columns[-len(columns) :]).is_null())
    if n_nulls := stated.filter(is_null).height:
        names = ", ".join(map(repr, columns))
        msg = f"cluster {names} must not be null, got null for {format_count(n_nulls, 'queries')}"
        raise ValueError(msg)
    return stated


def _read_weights(rows: pl.DataFrame, name: str, keys: Keys) -> pl.DataFrame:
    """Return the weight of each query with a positive weight, as Float64.

    Raise if a weight is null, NaN, infinite or negative, or if all weights are 0.
    """
    check_columns("per_query", [name], rows.schema, argument="weights")
    if not rows.schema[name].is_numeric():
        msg = f"weights {name!r} must be numbers, got {rows.schema[name]}"
        raise TypeError(msg)
    stated = _read_query_columns(rows, "weight", [name], keys)
    key, *segments, weight = stated.columns
    stated = stated.select(key, *segments, pl.col(weight).cast(pl.Float64).alias(WEIGHT))
    is_right = pl.col(WEIGHT).is_finite() & (pl.col(WEIGHT) >= 0)
    wrong = stated.filter(~is_right.fill_null(value=False))
    if wrong.height:
        hint = f".with_columns(pl.col({name!r}).fill_null(0)) leaves out queries without a weight"
        msg = (
            f"weights {name!r} must be finite and at least 0, got {wrong[WEIGHT][0]} for "
            f"{format_count(wrong.height, 'queries')}: {first_few(wrong[key].to_list())}"
        )
        raise ValueError(f"{msg}\n\nHint: {hint}" if wrong[WEIGHT].null_count() else msg)
    positive = stated.filter(pl.col(WEIGHT) > 0)
    if stated.height and positive.is_empty():
        msg = f"weights {name!r} must be above 0 for a query, got 0 for all queries"
        raise ValueError(msg)
    return positive


def _read_query_columns(
    rows: pl.DataFrame, noun: str, columns: Sequence[str], keys: Keys
) -> pl.DataFrame:
    """Return what the columns state about each query, such as its cluster or its weight.

    The frame has the query as its first column, then the segments and the columns, called by the
    noun and a number. Raise if a query has several values in a segment.
    """
    numbered = [pl.col(name).alias(f"{noun} {place}") for place, name in enumerate(columns)]
    stated = rows.select(keys.one, *keys.segments, *numbered).unique(maintain_order=True)
    query, *segments = stated.columns[: -len(columns)]
    is_repeated = pl.struct(query, *segments).is_duplicated()
    unclear = stated.filter(is_repeated).get_column(query).unique()
    if len(unclear):
        msg = (
            f"each query must have one {noun}, got several in {', '.join(map(repr, columns))} for "
            f"{format_count(len(unclear), 'queries')}: {first_few(unclear.to_list())}\n\n"
            "Hint: query=[...] distinguishes queries of several segments that have one name"
        )
        raise ValueError(msg)
    return stated


def add_units(rows: pl.DataFrame, keys: Keys) -> pl.DataFrame:
    """Add the columns `CLUSTER` and `WEIGHT` to rows of queries; leave out queries of weight 0.

    One column identifies a query. Without `keys.cluster` or `keys.weights`, the rows lack the
    column.
    """
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
    if any(distinct.n_unique([*fixed, name]) == distinct.height for name in keys.queries):
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
