"""Key columns of results, and what the columns of clusters and weights state about each query.

The same search term on two devices does not make two independent queries. Statistics of results
with clusters assume that clusters are independent; the queries of a cluster may depend on each
other in any way. A weight states how much a query counts, such as the number of its searches.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, TypeAlias

import polars as pl

from polars_graded._checks import (
    HINT,
    check_column_name,
    check_column_names,
    check_columns,
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

MEANINGS_OF_KEYS = {
    "strategy": "the column of strategies",
    "query": "the columns that identify a query",
}

CLUSTER, WEIGHT = "cluster of the query", "weight of the query"
"""Columns with the number of the cluster and with the weight of each query."""

NUMBER = "number of the query"
"""Column of the index of each query, while clusters are numbered."""

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
    grader: str | None = None
    """The column of graders, if there are any."""

    @property
    def query_columns(self) -> list[str]:
        """Return the columns that identify a query."""
        return list_columns(self.query)

    @property
    def one(self) -> pl.Expr:
        """Return the query as one column: a struct if several columns identify it."""
        first, *others = self.query_columns
        together = pl.struct(first, *others).alias(", ".join(self.query_columns))
        return together if others else pl.col(first)

    @property
    def identity(self) -> list[str]:
        """Return the distinct columns that identify a query in a segment."""
        return [*dict.fromkeys([*self.query_columns, *self.segments])]

    @property
    def unit_columns(self) -> list[str]:
        """Return the columns of clusters and of weights."""
        return [*list_columns(self.cluster), *list_columns(self.weights)]


@dataclass(frozen=True)
class PassedKeys:
    """The key columns as the caller passed them; None for columns to be found."""

    query: Columns | None = None
    strategy: str | None = None
    _: KW_ONLY
    segments: Columns | None = None
    cluster: Columns | None = None
    weights: str | None = None

    def __post_init__(self) -> None:
        """Raise if an argument does not name columns."""
        for argument, columns in vars(self).items():
            if columns is not None and argument in ("strategy", "weights"):
                check_column_name(argument, columns)
            elif columns is not None:
                check_column_names(argument, columns)

    def find(self, rows: pl.DataFrame, requested: Collection[str] = ()) -> Keys:
        """Return the key columns of results, passed or found.

        If the caller does not pass a key, the column named "strategy" or "query" is used, if it
        exists. Other columns are candidates if no argument names them, if they are no requested
        measures, and if their name and type fit a key:

        1. If the strategy is known and the query is not passed, several columns may identify a
           query together: all candidates, and the column "query" if it exists. They are used if
           every strategy has each combination of their values once, and if the column "query" alone
           does not distinguish the rows of a strategy.
        2. Otherwise, if one key is missing and there is one candidate, the candidate is the key.
        3. If a key is missing and there are several candidates, an error asks for the key. The
           order of columns does not show which column is meant.
        """
        schema, segments = rows.schema, list_columns(self.segments)
        strategy = self.strategy or ("strategy" if "strategy" in schema else None)
        query = self.query or ("query" if "query" in schema else None)
        if query is None and {*COLUMNS_OF_MEANS} <= {*schema}:
            msg = (
                "`per_query` must have one row per strategy and query, got a table of means"
                f"{hint_at_maker('per_query')}"
            )
            raise ValueError(msg)
        others = {*list_columns(query), strategy, *segments, self.weights}
        grader = GRADER if GRADER in {*schema} - others else None
        others |= {GRADER, *requested}
        candidates = [name for name in {**schema} if name not in others]
        candidates = [name for name in candidates if can_be_key(name, schema[name])]
        if candidates and self.query is None and strategy is not None and strategy in schema:
            fixed = [strategy, *list_columns(grader)]
            # A column with one value per strategy describes it, such as `a` and `b` of a pair.
            n_fixed = rows.n_unique(fixed)
            varying = [name for name in candidates if count_keys(rows, [*fixed, name]) > n_fixed]
            candidates = varying or candidates
            own_segments = [name for name in segments if name in schema]
            query = _find_joint_query(rows, fixed, own_segments, candidates, query)
        missing_keys = [
            key for key, name in {"strategy": strategy, "query": query}.items() if name is None
        ]
        if missing_keys and len(candidates) > 1:
            hints = (f"{key}=... names {MEANINGS_OF_KEYS[key]}" for key in missing_keys)
            hint = hint_at_maker("per_query", f"{HINT} {', '.join(hints)}")
            msg = (
                f"{' and '.join(f'`{key}`' for key in missing_keys)} must be passed if there is no "
                f"column {' or '.join(map(repr, missing_keys))} and several columns are possible, "
                f"got {', '.join(candidates)}{hint}"
            )
            raise ValueError(msg)
        [only] = candidates if len(candidates) == len(missing_keys) == 1 else [None]
        if strategy is None:
            strategy = "strategy" if only is None else only
        if query is None:
            query = "query" if only is None else only
        return Keys(
            query,
            strategy,
            segments=segments,
            cluster=self.cluster,
            weights=self.weights,
            grader=grader,
        )


def _find_joint_query(
    rows: pl.DataFrame, fixed: Sequence[str], segments: Sequence[str], candidates: Any, query: Any
) -> Any:
    """Return the candidates and `query` if they identify a query together, and else `query`.

    Each strategy must have each combination of their values once. The candidates are not needed if
    `query` alone distinguishes the rows of a strategy.
    """
    together = [name for name in rows.columns if name in (*candidates, query)]
    if query is not None and count_keys(rows, [*fixed, *segments, query]) == rows.height:
        return query
    n_pairs = count_keys(rows, fixed) * count_keys(rows, [*together, *segments]) if together else 0
    are_unique = count_keys(rows, [*fixed, *together, *segments]) == rows.height == n_pairs
    return together if are_unique and len(together) > 1 else query


def count_keys(rows: pl.DataFrame, columns: Sequence[str]) -> int:
    """Return the number of different keys; a column may be named twice."""
    return rows.n_unique([*dict.fromkeys(columns)])


def can_be_key(name: str, dtype: pl.DataType) -> bool:
    """Return whether a column may be a key, by its name and type."""
    if name in RECORDS or name in COLUMNS_OF_LONG_TABLES:
        return False
    holds_values = dtype.is_float() or dtype.is_decimal() or dtype.is_nested()
    return not holds_values and dtype not in (pl.Boolean, pl.Object) and not Measure.try_parse(name)


def check_keys(schema: pl.Schema, keys: Keys, requested: Collection[str] = ()) -> None:
    """Raise if a column does not exist, has two roles, or is a key with lists.

    If several columns form the query, segments may be some of them, but not all.
    """
    common = keys.query_columns if {*keys.query_columns} - {*keys.segments} else []
    segments = [name for name in keys.segments if name not in common]
    key_columns = [keys.strategy, *keys.query_columns, *segments]
    check_named_once([*key_columns, *requested])
    for argument, names in (
        ("strategy", [keys.strategy]),
        ("query", keys.query_columns),
        ("segments", segments),
        ("cluster", list_columns(keys.cluster)),
        ("weights", list_columns(keys.weights)),
        (None, requested),
    ):
        check_columns("per_query", names, schema, argument=argument)
    for name in (*key_columns, *list_columns(keys.grader)):
        is_struct = name in keys.identity and isinstance(schema[name], pl.Struct)
        if not is_struct and (schema[name].is_nested() or schema[name] == pl.Object):
            msg = (
                f"column {name!r} must hold single values that distinguish rows, got {schema[name]}"
            )
            raise TypeError(msg)


def list_columns(columns: Columns | None) -> list[str]:
    """Return the names of columns as a list, empty for None."""
    return [] if columns is None else [columns] if isinstance(columns, str) else [*columns]


def collect_column_names(*arguments: Any) -> set[str]:
    """Return all column names from single names, lists and mappings."""
    columns = set[str]()
    for value in arguments:
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
    columns, clusters = [keys.one, *map(pl.col, keys.segments)], list_columns(keys.cluster)
    if clusters:
        columns.append(pl.struct(clusters).alias(CLUSTER))
    if keys.weights is not None:
        if not rows.schema[keys.weights].is_numeric():
            msg = f"weights {keys.weights!r} must be numbers, got {rows.schema[keys.weights]}"
            raise TypeError(msg)
        columns.append(pl.col(keys.weights).cast(pl.Float64).alias(WEIGHT))
    units = rows.select(columns).unique()
    query, *segments = identity = units.columns[: 1 + len(keys.segments)]
    units = units.sort(*segments, query)
    for column in list_unit_columns(units):
        distinct = units.select(*identity, column).unique()
        is_repeated = distinct.select(identity).is_duplicated()
        if is_repeated.any():
            unclear = distinct.filter(is_repeated)[query].unique().sort()
            names = clusters if column == CLUSTER else list_columns(keys.weights)
            msg = (
                f"each query must have one {column.partition(' ')[0]}, got several in "
                f"{', '.join(map(repr, names))} for "
                f"{format_count(len(unclear), 'queries')}: {first_few(unclear.to_list())}\n\n"
                "Hint: query=[...] distinguishes queries of several segments that have one name"
            )
            raise ValueError(msg)
    if {*clusters} - {*keys.query_columns}:  # a query that is null is a query by itself
        is_null = pl.all_horizontal(pl.col(CLUSTER).struct.field(clusters).is_null())
        if n_nulls := units.filter(is_null).height:
            msg = (
                f"cluster {', '.join(map(repr, clusters))} must not be null, got null for "
                f"{format_count(n_nulls, 'queries')}"
            )
            raise ValueError(msg)
    if keys.weights is not None:
        units = _select_weighted(units, keys.weights)
    if clusters:
        number = pl.col(NUMBER).min().over(CLUSTER).alias(CLUSTER)
        units = units.with_row_index(NUMBER).with_columns(number).drop(NUMBER)
    return units


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
    if len(keys.query_columns) == 1 or keys.cluster is not None or dependence == "ignore":
        return
    fixed = [name for name in (keys.strategy, *keys.segments) if name in rows.columns]
    distinct = rows.select({*fixed, *keys.query_columns}).unique()
    if any(count_keys(distinct, [*fixed, name]) == distinct.height for name in keys.query_columns):
        return
    counts = {name: distinct.n_unique(name) for name in keys.query_columns}
    name = max(counts, key=counts.__getitem__)
    n = format_count(distinct.n_unique(keys.query_columns), "queries")
    words = f"{format_count(counts[name], 'values')} of {name!r} for {n}"
    if remedy is None:
        remedy = (
            f"\n\nHint: cluster={name!r} counts all queries with the same {name!r} as one "
            f"independent unit; cluster={keys.query_columns!r} counts each query as independent"
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
