"""Key columns of results, and what the columns of clusters and weights state about each query.

The same search term on two devices does not make two independent queries. Statistics of results
with clusters assume that clusters are independent; the queries of a cluster may depend on each
other in any way. A weight states how much a query counts, such as the number of its searches.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np
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
from polars_graded._frames.inputs import GRADER
from polars_graded._frames.request import RECORDS
from polars_graded._measuring.kernels.ragged import Integers
from polars_graded._measuring.names import Measure
from polars_graded._sentences import format_count
from polars_graded._warnings import DataWarning, warn_the_caller

COLUMNS_OF_LONG_TABLES = ("measure", "cutoff", "rank")
"""Columns of tables with a row per value that distinguish values of one query, not queries."""

COLUMNS_OF_MEANS = ("measure", "strategy", "mean", "ci_low")
"""Columns that show that a frame is a table of `summarise` or `compare`, not results per query."""

CLUSTER, WEIGHT = "cluster of the query", "weight of the query"
"""Columns with the number of the cluster and with the weight of each query."""


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

    def find(self, frame: pl.DataFrame | pl.LazyFrame, measures: Sequence[Any] = ()) -> Keys:
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
        schema = frame.collect_schema()
        segments = check_segment_columns(self.segments)
        passed = {"strategy": self.strategy, "query": self.query}
        keys: dict[str, Any] = {
            key: key if column is None else column
            for key, column in passed.items()
            if column is not None or key in schema
        }
        missing_keys = [key for key in passed if key not in keys]
        columns = collect_column_names(*check_list("measures", measures or [None]))
        used = {GRADER, *columns, *collect_column_names(*keys.values(), segments, self.weights)}
        candidates = [
            name for name in schema if name not in used and can_be_key(name, schema[name])
        ]
        if "query" in missing_keys and {*COLUMNS_OF_MEANS} <= {*schema}:
            msg = (
                "`per_query` must have one row per strategy and query, got a table of means"
                f"{hint_at_maker('per_query')}"
            )
            raise ValueError(msg)
        if candidates and self.query is None and "strategy" in keys:
            several = [name for name in schema if name in {*candidates, keys.get("query")}]
            if len(several) > 1 and _identify_queries(frame, several, keys, segments):
                missing_keys, keys["query"] = [], several
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
            keys[missing_keys[0]] = candidates[0]
        return Keys(
            keys.get("query", "query"),
            keys.get("strategy", "strategy"),
            segments=segments,
            cluster=self.cluster,
            weights=self.weights,
        )


NAMES_OF_KEYS = {
    "strategy": "the column of strategies",
    "query": "the columns that identify a query",
}


def _identify_queries(
    frame: pl.DataFrame | pl.LazyFrame,
    several: Sequence[str],
    keys: dict[str, Any],
    segments: Sequence[str],
) -> bool:
    """Return whether each strategy has each combination of the columns `several` once.

    Return False if the column "query" alone distinguishes the rows of a strategy, since the other
    columns are then not needed.
    """
    schema = frame.collect_schema()
    parts = [name for name in segments if name in schema]
    has_graders = GRADER in schema and GRADER not in {*parts, *collect_column_names(*keys.values())}
    strategies = [keys["strategy"], *([GRADER] if has_graders else [])]
    queries = [*dict.fromkeys([*several, *parts])]
    if not {*strategies} <= {*schema}:
        return False
    rows = frame.lazy().select({*strategies, *queries}).collect()
    query = keys.get("query")
    if query is not None:
        alone = rows.select({*strategies, *parts, query})
        if alone.n_unique() == rows.height:
            return False
    n_pairs = rows.select(strategies).n_unique() * rows.select(queries).n_unique()
    return bool(rows.n_unique() == rows.height == n_pairs)


def can_be_key(name: str, dtype: pl.DataType) -> bool:
    """Return whether a column may be a key, by its name and type."""
    if name in RECORDS or name in COLUMNS_OF_LONG_TABLES:
        return False
    holds_values = dtype.is_float() or dtype.is_decimal() or dtype.is_nested()
    return not holds_values and dtype not in (pl.Boolean, pl.Object) and not Measure.parsed(name)


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
    counts = [distinct.get_column(name).n_unique() for name in queries]
    name, count = queries[int(np.argmax(counts))], max(counts)
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
