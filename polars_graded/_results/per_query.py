"""Frames of results: one row per strategy and query, one column per measure.

This module checks such a frame and finds its measures. It determines whether the highest or the
lowest value of a measure is best. It fills missing values, and computes means and intervals. All
statistics, charts and pages use this module.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias, Unpack, get_args

import numpy as np
import polars as pl
import polars.selectors as cs

from polars_graded._checks import (
    HINT,
    check_choice,
    check_column_name,
    check_column_names,
    check_columns,
    check_comparable,
    first_few,
    hint_at_maker,
)
from polars_graded._frames import sorting, strategies
from polars_graded._frames.fingerprints import DOCUMENTS, JUDGMENTS, SETTINGS
from polars_graded._measuring.definitions import Best
from polars_graded._measuring.kernels.ragged import Floats, Integers, Mask
from polars_graded._measuring.names import ALL_DEFINITIONS, Measure
from polars_graded._results.clusters import check_independence, number_clusters, read_clusters
from polars_graded._results.keys import (
    Columns,
    Keys,
    check_segment_columns,
    collect_column_names,
    split_by_grader,
)
from polars_graded._results.keys import Missing as Missing  # noqa: PLC0414, a re-export
from polars_graded._results.weights import (
    compute_deviation_factor,
    compute_effective_number,
    read_weights,
)
from polars_graded._sentences import conjugate, format_count
from polars_graded._warnings import DataWarning, warn_the_caller

MeasureColumns: TypeAlias = "str | Mapping[str, str]"
"""The name of a column, or a mapping with the measure or the best value of each column. An example
of a mapping is `{"E": "e_measure@10", "seconds": "lowest"}`."""

ROUNDING = 1e-12
"""Maximum relative distance of two values that count as equal."""

MAX_VALUE = 1e150
"""Maximum magnitude of a value, so that sums of squares do not overflow."""

ALL_QUERIES = pl.DataFrame(height=1)
"""Key of the only segment if the caller names no segments: a frame of one row without columns."""

EFFECTIVE = "effective_queries"
"""Column of the effective number of weighted queries, or of weighted clusters."""

MAX_NAMED_KEYS = 3
"""Maximum number of pairs of a strategy and a query that an error lists."""


# Checks of a frame


def check_per_query(
    per_query: pl.DataFrame | pl.LazyFrame,
    measures: Sequence[MeasureColumns],
    segments: Columns | None = None,
    *,
    query: Columns = "query",
    strategy: str = "strategy",
    missing: Missing = "error",
    grader: str | None = None,  # noqa: ARG001 takes_results has selected the grader's rows
    cluster: Columns | None = None,
    weights: str | None = None,
) -> Grid:
    """Return the grid of the named measures; by default of all measures.

    `segments` names columns other than `strategy` and `query`, with one exception: if several
    columns form the query, `segments` may also name some of them, but not all. `cluster` names the
    columns of clusters of queries; they may also be key columns. `weights` names the column of
    weights of queries. Queries of weight 0 are left out.
    """
    keys: dict[str, Any] = {"query": query, "strategy": strategy}
    keys["segments"] = check_segment_columns(segments)
    numbers, _ = find_measures_and_curves(per_query, measures, **keys, weights=weights)
    used = collect_column_names(query, strategy, keys["segments"])
    fingerprints = _find_fingerprints(per_query.collect_schema(), used)
    rows = collect_rows(per_query, [*numbers, *fingerprints], **keys)
    _check_equal_judgments(rows.drop(strategy, *numbers), fingerprints)
    clusters = (
        None if cluster is None else read_clusters(per_query, cluster, query, keys["segments"])
    )
    weighted = None
    if weights is not None:
        weighted = read_weights(per_query, weights, query, keys["segments"])
        rows = rows.join(
            weighted,
            on=weighted.columns[:-1],
            how="semi",
            nulls_equal=True,
            maintain_order="left",
        )
    return Grid(
        rows.drop(fingerprints),
        missing,
        measures=measures,
        segments=keys["segments"],
        clusters=clusters,
        weights=weighted,
    )


def check_clustered_results(
    per_query: pl.DataFrame | pl.LazyFrame,
    measures: Sequence[MeasureColumns],
    segments: Columns | None,
    cluster: Columns | None,
    weights: str | None = None,
    *,
    apart: bool = True,
    **keys: Unpack[Keys],
) -> Grid:
    """Return the grid of the named measures with its clusters, made by `check_per_query`.

    Warn if queries probably depend on each other and `cluster` is not passed. If segments are not
    kept apart, the queries of different segments count as well.
    """
    grid = check_per_query(per_query, measures, segments, cluster=cluster, weights=weights, **keys)
    if cluster is None:
        within = check_segment_columns(segments) if apart else []
        check_independence(
            per_query, query=keys["query"], strategy=keys["strategy"], segments=within
        )
    return grid


def _find_fingerprints(schema: pl.Schema, keys: Collection[str]) -> list[str]:
    """Return the fingerprint columns of `evaluate`, except key columns."""
    if SETTINGS not in schema:
        return []
    names = (JUDGMENTS, DOCUMENTS)
    return [each for each in names if schema.get(each) == pl.String and each not in keys]


def _check_equal_judgments(rows: pl.DataFrame, fingerprints: Sequence[str]) -> None:
    """Raise if the judgments of a query differ between strategies.

    Different fingerprints mean different judgments. `rows` has the columns of queries, segments and
    fingerprints.
    """
    if not fingerprints:
        return
    keys = [each for each in rows.columns if each not in fingerprints]
    counts = rows.group_by(keys).agg(pl.col(fingerprints).drop_nulls().n_unique())
    if n := counts.filter(pl.any_horizontal(pl.col(fingerprints) > 1)).height:
        msg = (
            f"`per_query` must have the same judgments for all strategies, got other judgments in "
            f"{n} of {format_count(counts.height, 'queries')}\n\n"
            "Hint: evaluate all strategies with the same judgments; "
            f".drop({', '.join(map(repr, fingerprints))}) compares them nevertheless"
        )
        raise ValueError(msg)


def check_graders(
    per_query: pl.DataFrame | pl.LazyFrame,
    measures: Sequence[MeasureColumns],
    segments: Columns | None = None,
    **keys: Unpack[Keys],
) -> dict[str, Grid]:
    """Return the grid of each grader by name, made by `check_per_query`."""
    results_by_grader = split_by_grader(
        per_query, {**keys, "measures": measures, "segments": segments}
    )
    return {
        str(name): check_per_query(rows, measures, segments, **keys)
        for name, rows in results_by_grader.items()
    }


def check_same_strategies(grader: str, other: str, own: pl.Series, others: pl.Series) -> list[int]:
    """Return the index in `others` of each strategy in `own`.

    Raise if the two graders do not have the same strategies.
    """
    if not own.sort().equals(others.sort(), check_names=False):
        msg = f"{grader!r} and {other!r} must have results of the same strategies"
        raise ValueError(msg)
    indices = {name: index for index, name in enumerate(others.to_list())}
    return [indices[name] for name in own.to_list()]


def check_named_once(columns: Sequence[str]) -> None:
    """Raise if a column is named more than once."""
    if len({*columns}) < len(columns):
        msg = f"each column must be named once, got {', '.join(columns)}"
        raise ValueError(msg)


def check_free_names(reserved: Iterable[str], **keys: Columns | None) -> None:
    """Raise if a key column has the name of another column of the result."""
    columns = {*reserved}
    for argument, key_columns in keys.items():
        for name in [] if key_columns is None else check_column_names(argument, key_columns):
            if name in columns:
                msg = (
                    f"`{argument}` must not have the name of a column of the result, got {name!r}"
                    "\n\nHint: rename the column"
                )
                raise ValueError(msg)


def find_measures_and_curves(
    per_query: pl.DataFrame | pl.LazyFrame,
    measures: Sequence[MeasureColumns],
    *,
    query: Columns,
    strategy: str,
    segments: Sequence[str] = (),
    curves: bool = False,
    weights: str | None = None,
) -> tuple[list[str], list[str]]:
    """Return the columns of measures, and the columns of curves.

    If `measures` names no column of numbers, every column of numbers with the name of a measure is
    returned. Other columns of numbers are left out, since they may describe a query. If `measures`
    names no curve, every list of numbers is returned as a curve. A Boolean column is a measure only
    if `measures` names the column.

    Raise if there is no column of a measure; with `curves`, a curve is enough. Without `curves`,
    also raise if `measures` names a curve.
    """
    schema = per_query.collect_schema()
    queries, requested = check_column_names("query", query), list_named_columns(measures)
    # If there are several query columns, some of them may define segments, but not all.
    query_segments = queries if {*queries} - {*segments} else []
    other_segments = [name for name in segments if name not in query_segments]
    keys = [check_column_name("strategy", strategy), *queries, *other_segments]
    check_columns("per_query", [*keys, *requested], schema)
    check_comparable(keys, schema)
    _check_scalar_keys(keys[: 1 + len(queries)], schema)
    check_named_once([*keys, *requested])

    def find_column_kind(name: str) -> str | None:
        dtype = schema[name]
        if dtype.is_numeric() or (dtype == pl.Boolean and name in requested):
            return "number"
        inner = getattr(dtype, "inner", None)
        return "curve" if isinstance(dtype, pl.List) and inner and inner.is_numeric() else None

    kinds = ("number", "curve") if curves else ("number",)
    for name in requested:
        if find_column_kind(name) not in kinds:
            rule = "a number or a list of them" if curves else "one number per query"
            hint = "\n\nHint: name the measure at one rank instead of its curve"
            msg = f"measure {name!r} must be {rule}, got {schema[name]}"
            raise TypeError(msg + hint if schema[name].is_nested() and not curves else msg)
    numbers = [name for name in schema if name not in keys and find_column_kind(name) == "number"]
    lists = [name for name in schema if name not in keys and find_column_kind(name) == "curve"]
    measure_columns = [name for name in numbers if Measure.parsed(name)]
    chosen = [name for name in requested if name in numbers] or measure_columns
    chosen_curves = [name for name in requested if name in lists] or lists
    ignored = [
        name
        for name in numbers
        if name not in chosen and schema[name].is_float() and name != weights
    ]
    if ignored and measure_columns and not requested:
        warn_the_caller(
            DataWarning.measures,
            f"columns of numbers are ignored, since their names are not those of measures: "
            f"{', '.join(map(repr, ignored))}\n\n"
            f"Hint: pass the columns with their best values, such as {{{ignored[0]!r}: "
            "'highest'}; or drop them",
        )
    check_columns("per_query", [*chosen, *chosen_curves], schema)
    if chosen or (curves and chosen_curves):
        return chosen, chosen_curves
    if not numbers:
        msg = f"`per_query` must have a column of numbers, got {', '.join(schema)}"
        raise ValueError(msg)
    example = f"{{{numbers[0]!r}: 'highest'}}"
    beginning = f"{HINT} pass each column with its best value, such as {example}"
    msg = (
        "`per_query` must have a column with the name of a measure, unless `measures` names "
        f"columns, got {first_few(numbers)}{hint_at_maker('per_query', beginning)}"
    )
    raise ValueError(msg)


def _check_scalar_keys(keys: Sequence[str], schema: Mapping[str, pl.DataType]) -> None:
    """Raise if the values of a key column are lists or arrays.

    The first key is the strategy, which must not be a struct either.
    """
    for index, name in enumerate(keys):
        dtype = schema[name]
        if isinstance(dtype, pl.List | pl.Array) or (index == 0 and dtype.is_nested()):
            msg = f"column {name!r} must hold single values that distinguish rows, got {dtype}"
            raise TypeError(msg)


def collect_rows(
    per_query: pl.DataFrame | pl.LazyFrame,
    columns: Sequence[str],
    *,
    query: Columns,
    strategy: str,
    segments: Sequence[str] = (),
) -> pl.DataFrame:
    """Collect strategy, query and segment columns, followed by `columns`.

    Several query columns become one struct. Raise if a strategy is null, or has a query twice in a
    segment.
    """
    queries = check_column_names("query", query)
    one = pl.col(queries[0]) if len(queries) == 1 else pl.struct(queries).alias(", ".join(queries))
    frame = per_query.lazy().select(strategy, one, *segments, *columns).collect()
    keys = frame.columns[: 2 + len(segments)]
    if nulls := frame[strategy].null_count():
        msg = f"strategy {strategy!r} must not be null, got {nulls} nulls"
        raise ValueError(msg)
    if frame.select(keys).n_unique() < frame.height:
        again = frame.select(keys).filter(frame.select(keys).is_duplicated()).unique().sort(keys)
        occur = conjugate(again.height, "occur")
        msg = (
            f"each strategy must have each query once, but {again.height} {occur} several times: "
            f"{_format_first_keys(again)}{hint_at_maker('per_query')}"
        )
        raise ValueError(msg)
    return frame


find_index, sort_naturally = strategies.find_index, sorting.sort_naturally


def order_strategies(strategies: pl.Series) -> pl.Series:
    """Return each strategy once.

    Strategies keep the order of rows if the rows of each strategy are adjacent; otherwise they are
    sorted.
    """
    runs = strategies.rle().struct.field("value").alias(strategies.name)
    return runs if runs.n_unique() == len(runs) else sorting.in_order(strategies)


def _format_first_keys(keys: pl.DataFrame) -> str:
    """Return the first few strategies and queries in words."""
    listed = keys.head(MAX_NAMED_KEYS).iter_rows()
    texts = [f"query {query!r} of {strategy!r}" for strategy, query, *_ in listed]
    return ", ".join(texts if keys.height <= MAX_NAMED_KEYS else [*texts, "..."])


# Grid of strategies and queries


class Grid:
    """Values of all strategies for all queries, with null for missing ones.

    A query in two segments counts as two queries. Each segment has all strategies.
    """

    def __init__(
        self,
        frame: pl.DataFrame,
        missing: Missing,
        strategies: pl.Series | None = None,
        measures: Sequence[MeasureColumns] = (),
        segments: Sequence[str] = (),
        clusters: pl.DataFrame | None = None,
        weights: pl.DataFrame | None = None,
    ) -> None:
        check_choice("missing", missing, get_args(Missing))
        strategy, query, *others = frame.columns
        # The frame has the columns strategy, query, segments and measures, in this order.
        self.segment_columns, self.measures = [*segments], others[len(segments) :]
        declared = list_declared_measures(measures)
        self.best = {name: find_direction(name) for name in self.measures}
        self.best |= {name: parse_direction(text) for name, text in declared.items()}
        self.formulas = {
            name: text for name, text in declared.items() if text not in get_args(Best)
        }
        """Measures that the caller passed by column, such as `{"E": "e_measure@10"}`."""
        self.strategies = order_strategies(frame[strategy]) if strategies is None else strategies
        queries = frame.select(query, *segments).unique().sort(*segments, query)
        self.queries = queries[query]
        self.clusters = None if clusters is None else number_clusters(queries, clusters)
        """The number of the cluster of each query; None without clusters."""
        self.weights = None
        """The weight of each query; None without weights."""
        if weights is not None:
            on = queries.columns
            joined = queries.join(
                weights, on=on, how="left", nulls_equal=True, maintain_order="left"
            )
            self.weights = joined.to_series(-1).to_numpy()
        self.missing = missing
        keys = self.strategies.to_frame().join(queries, how="cross")
        on = keys.columns
        # Frames of `evaluate` usually have the rows of `keys` in this order, and need no join.
        self.frame = (
            frame
            if keys.equals(frame.select(on))
            else keys.join(frame, on=on, how="left", nulls_equal=True, maintain_order="left")
        )
        self.segments = _find_segments(queries, segments)
        """A pair for each segment: the key as a frame of one row, and the indices of queries."""

    @property
    def shape(self) -> tuple[int, int]:
        """Return the numbers of strategies and queries."""
        return len(self.strategies), len(self.queries)

    def get_given_values(self, measure: str) -> Floats:
        """Return an array of one row per strategy and one column per query; NaN if missing."""
        return self.frame[measure].cast(pl.Float64).to_numpy().reshape(self.shape)

    def get_values(self, measure: str) -> Floats:
        """Return the values; missing values are 0 with `missing="zero"`."""
        return self._fill_missing(self.get_given_values(measure), measure)

    def get_results(self, measure: str) -> Results:
        """Return a measure's values, without queries that have a missing value."""
        results, is_complete = self._get_all_values(measure)
        return results.select(np.flatnonzero(is_complete))

    def split_segments(self, measure: str) -> list[tuple[pl.DataFrame, Results]]:
        """Return the key of each segment, and the values of its queries.

        A query is left out if a strategy has no value for the query.
        """
        results, is_complete = self._get_all_values(measure)
        return [(key, results.select(places[is_complete[places]])) for key, places in self.segments]

    def _get_all_values(self, measure: str) -> tuple[Results, Mask]:
        """Return the values of a measure, and the mask of queries without a missing value."""
        values = self.get_values(measure)
        name = f"measure {measure!r}"
        self._check(np.isinf(values), name, "must be finite, got infinity")
        rule = f"must be within {MAX_VALUE:g} of 0, since it is squared, got a larger value"
        self._check(np.abs(values) > MAX_VALUE, name, rule)
        is_missing = np.isnan(values)
        self._check_present(is_missing, measure, name)
        is_complete = np.logical_not(is_missing.any(axis=0))
        best, clusters, weights = self.best[measure], self.clusters, self.weights
        results = Results(measure, self.queries, values, best, clusters, weights)
        return results, is_complete

    def get_directions(self, measures: Sequence[str]) -> dict[str, Best]:
        """Return which value of each measure is best; raise if that is unknown."""
        return {name: check_direction(name, self.best[name]) for name in measures}

    def list_results(self, min_strategies: int = 2) -> Iterator[Results]:
        """Yield the values of each measure; raise if there are too few strategies or queries."""
        if len(self.strategies) < min_strategies:
            msg = f"there must be at least {min_strategies} strategies, got {len(self.strategies)}"
            raise ValueError(msg)
        for measure in self.measures:
            results = self.get_results(measure)
            if results.n < 2:  # noqa: PLR2004
                msg = f"measure {measure!r} must have at least 2 queries, got {results.n}"
                raise ValueError(msg)
            yield results

    def check_curve_length(self, *curves: str) -> int:
        """Return the length of the lists of curves; 0 if all lists are missing."""
        return check_list_length(self.frame, curves, " and ".join(map(repr, curves)))

    def get_curve(self, curve: str, length: int) -> Floats:
        """Return the values of a curve, with a third axis for its points."""
        lists = self.frame[curve]
        has_list = lists.is_not_null().to_numpy()
        rows = lists.drop_nulls().cast(pl.List(pl.Float64))
        points = np.full((len(lists), length), np.nan)
        flat = rows.explode(empty_as_null=False).fill_null(np.nan).to_numpy()
        points[has_list] = flat.reshape(-1, length) if length else flat.reshape(len(rows), 0)
        name = f"curve {curve!r}"
        self._check(np.isinf(points).any(axis=1), name, "must be finite, got infinity")
        self._check_present(np.isnan(points).any(axis=1), curve, name)
        return self._fill_missing(points, curve).reshape(*self.shape, length)

    def _fill_missing(self, values: Floats, measure: str) -> Floats:
        """Fill missing values with 0 if `missing` is "zero".

        With "zero", missing values raise an error if the lowest value is best, since 0 would be a
        good value. They also raise an error if it is unknown which value is best.
        """
        if self.missing != "zero" or not np.isnan(values).any():
            return values
        if check_direction(measure, self.best[measure]) == "lowest":
            msg = (
                f"`missing` must be 'error' or 'drop' for {measure!r}, whose lowest value is best, "
                "got 'zero'"
            )
            raise ValueError(msg)
        return np.nan_to_num(values, posinf=np.inf, neginf=-np.inf)

    def _check_present(self, is_missing: Mask, column: str, name: str) -> None:
        """Raise if a required value is missing.

        A query with null for all strategies is accepted, because `evaluate` writes null if the
        measure is undefined for the query.
        """
        if self.missing == "error":
            is_undefined = _find_nulls(self.frame[column]).reshape(self.shape).all(axis=0)
            rule = "must have a value for each strategy and query, got no row, null or NaN"
            hint = (
                "missing='drop' leaves such a query out for all strategies, missing='zero' counts "
                "the value as 0"
            )
            self._check(is_missing.reshape(self.shape) & ~is_undefined, name, rule, hint)

    def _check(self, is_wrong: Mask, name: str, rule: str, hint: str = "") -> None:
        """Raise if values are wrong; the error counts the queries and names a few."""
        if is_wrong.any():
            rows = self.frame[:, :2].filter(pl.Series(is_wrong.ravel())).unique(maintain_order=True)
            count = f"{rows.to_series(1).n_unique()} of {self.queries.n_unique()} queries"
            msg = f"{name} {rule} in {count}: {_format_first_keys(rows)}"
            raise ValueError(f"{msg}\n\nHint: {hint}" if hint else msg)


def _find_nulls(values: pl.Series) -> Mask:
    """Return the mask of nulls, and of lists with a null."""
    are_null = values.is_null()
    if isinstance(values.dtype, pl.List):
        are_null |= values.list.len() > values.list.drop_nulls().list.len()
    return are_null.to_numpy()


def _find_segments(
    queries: pl.DataFrame, segments: Sequence[str]
) -> list[tuple[pl.DataFrame, Integers]]:
    """Return the key of each segment, and the indices of its queries."""
    indices = np.arange(queries.height)
    if not segments:
        return [(ALL_QUERIES, indices)]
    parts = queries.select(segments).partition_by(segments) or [queries.select(segments)]
    ends = np.cumsum([part.height for part in parts])
    return [*zip((part.head(1) for part in parts), np.split(indices, ends[:-1]), strict=True)]


@dataclass(frozen=True)
class Results:
    """Values of one measure: a row per strategy and a column per query."""

    measure: str
    queries: pl.Series
    values: Floats
    best: Best | None = "highest"
    """Best value: "highest", "lowest" or "none"; None if unknown."""
    clusters: Integers | None = None
    """The number of the cluster of each query; None if all queries are independent."""
    weights: Floats | None = None
    """The weight of each query; None if all queries count alike."""

    @property
    def n(self) -> int:
        """Return the number of queries."""
        return len(self.queries)

    def select(self, indices: Integers) -> Results:
        """Return the values of the queries at these indices."""
        return replace(
            self,
            queries=self.queries[indices],
            values=self.values[:, indices],
            clusters=None if self.clusters is None else self.clusters[indices],
            weights=None if self.weights is None else self.weights[indices],
        )

    @cached_property
    def shares(self) -> Floats | None:
        """Return the share of each query in the sum of weights; None if all are equal."""
        if self.weights is None or not self.n or (self.weights == self.weights[0]).all():
            return None
        shares: Floats = self.weights / self.weights.sum()
        return shares

    @cached_property
    def cluster_sizes(self) -> Integers:
        """Return the number of queries of each cluster; without clusters, 1 for each query."""
        if self.clusters is None:
            return np.ones(self.n, np.int64)
        return np.unique(self.clusters, return_counts=True)[1]

    @property
    def has_clusters(self) -> bool:
        """Return whether a cluster has several queries."""
        return len(self.cluster_sizes) < self.n

    @cached_property
    def units(self) -> Results:
        r"""Return one value per independent unit: a cluster, or a query without clusters.

        The units have neither clusters nor weights. Let G be the number of clusters, and n the
        number of queries. The value of a cluster is

        .. math:: u_g = \bar x + \frac{G}{n} \sum_{q \in g} (x_q - \bar x)

        The mean of these values is the mean :math:`\bar x` of all queries. Their standard deviation
        divided by :math:`\sqrt G` is the cluster-robust standard error of this mean (Liang, Zeger
        1986). If all clusters have the same size, :math:`u_g` is the mean of the cluster. With
        weights, :math:`\bar x` is the weighted mean, the share of a query replaces 1 / n, and
        `compute_deviation_factor` multiplies the sum. This is the linearised value of a ratio.
        """
        if not self.has_units:
            return replace(self, clusters=None, weights=None)
        mean = self.compute_means(self.values)[:, np.newaxis]
        return self._merge(mean + len(self.cluster_sizes) * self.linearise(self.values - mean))

    @property
    def has_units(self) -> bool:
        """Return whether units differ from queries: by clusters, or by weights."""
        return self.has_clusters or self.shares is not None

    def linearise(self, deviations: Floats) -> Floats:
        """Return what each unit adds to the mean, from deviations of queries from the mean."""
        if self.shares is None:
            sums: Floats = self.sum_clusters(deviations) / self.n
            return sums
        factor = compute_deviation_factor(self.unit_shares)
        weighted: Floats = factor * self.sum_clusters(self.shares * deviations)
        return weighted

    @cached_property
    def unit_sizes(self) -> Any:
        """Return the number of queries of each unit, or its sum of weights of mean 1."""
        if self.shares is None:
            return self.cluster_sizes
        return self.sum_clusters(self.n * self.shares[np.newaxis])[0]

    @property
    def unit_shares(self) -> Floats:
        """Return the share of each unit in the sum of weights."""
        shares: Floats = self.unit_sizes / self.n
        return shares

    @cached_property
    def effective_number(self) -> float:
        """Return the number of units; with weights, Kish's effective number of units."""
        if self.shares is None:
            return len(self.cluster_sizes)
        return compute_effective_number(self.unit_shares)

    def compute_means(self, values: Floats) -> Floats:
        """Return the mean of each row of an array with one column per query."""
        return compute_mean_and_std(values, self.shares)[0]

    @cached_property
    def totals(self) -> Results:
        """Return the sum of each cluster, or the value of each query without clusters.

        With weights, values are multiplied by weights of mean 1.
        """
        if self.shares is not None:
            return self._merge(self.sum_clusters(self.n * self.shares * self.values))
        if not self.has_clusters:
            return replace(self, clusters=None, weights=None)
        return self._merge(self.sum_clusters(self.values))

    def sum_clusters(self, values: Any) -> Any:
        """Return sums of an array with one column per query: one column per cluster."""
        if self.clusters is None:
            return values
        starts = np.cumsum(self.cluster_sizes) - self.cluster_sizes
        return np.add.reduceat(values[:, self._cluster_order], starts, axis=1)

    @cached_property
    def _cluster_order(self) -> Integers:
        """Return the indices of queries, sorted by cluster."""
        return np.argsort(self.clusters, kind="stable")  # type: ignore[arg-type]

    def _merge(self, values: Floats) -> Results:
        """Return results with one value per cluster."""
        numbers = pl.Series(np.arange(values.shape[1]))
        return replace(self, queries=numbers, values=values, clusters=None, weights=None)

    def restrict(self, queries: pl.Series, *, inside: bool = True) -> Results:
        """Keep only the given queries, or drop them if `inside` is False."""
        is_selected = self.queries.is_in(queries.implode(), nulls_equal=True) == inside
        return self.select(is_selected.arg_true().to_numpy())

    @cached_property
    def floor(self) -> float:
        """Return the minimum magnitude from which a tolerance is computed.

        The tolerance of two values is `ROUNDING` times the larger magnitude of the two, or times
        the floor if both magnitudes are below the floor. Values near 0 need a floor, since they may
        be rounding errors of larger numbers. For example, 0.1 + 0.2 - 0.3 is 5.6e-17 instead of 0.
        The floor is the largest magnitude of all values, but at most 1.
        """
        return min(1.0, float(np.abs(self.values).max(initial=0)))

    @cached_property
    def rounding(self) -> Floats:
        """Return the largest tolerance of each query.

        Two values of the query that are further apart never count as equal.
        """
        largest: Floats = np.abs(self.values).max(axis=0, initial=0)
        return np.multiply(ROUNDING, np.maximum(self.floor, largest))

    @property
    def higher_is_better(self) -> bool:
        """Return whether a higher value is better; True if no value is best.

        Raise if the best value is unknown.
        """
        return check_direction(self.measure, self.best) != "lowest"

    @property
    def sign(self) -> int:
        """Return the factor that turns differences into gains: 1, or -1 if lower is better."""
        return 1 if self.higher_is_better else -1

    @property
    def order(self) -> Floats:
        """Return a number for each strategy, higher for a better mean.

        Means that are equal up to rounding share a number. Without queries, all numbers are NaN.
        """
        count = len(self.values)
        if not count or not self.n:
            return np.full(count, np.nan)
        # Mean differences from the first strategy are compared instead of means. If a query
        # has the values 1e9 + 1 and 1e9 + 2, the large number 1e9 cancels in the difference. In
        # means, 1e9 would add rounding error.
        all_indices, first_indices = np.arange(count), np.zeros(count, dtype=np.int64)
        means = self.compute_means(self.compute_differences(all_indices, first_indices))
        rounding = self.compute_means(self.compute_tolerances(all_indices, first_indices))
        ascending = np.argsort(means)
        is_higher = np.diff(means[ascending]) > np.maximum(
            rounding[ascending[1:]], rounding[ascending[:-1]]
        )
        ranks = np.empty(count)
        ranks[ascending] = np.concatenate([[0], np.cumsum(is_higher)])
        return ranks * self.sign

    def compute_tolerances(self, a: Integers, b: Integers) -> Floats:
        """Return a tolerance per query, with one row per pair of strategies.

        Two values are tied if they differ by at most their tolerance (see `floor`). The difference
        of tied values counts as exactly 0, so 0 is returned in place of their tolerance.
        """
        x, y = self.values[a], self.values[b]
        size = np.maximum(np.maximum(np.abs(x), np.abs(y)), self.floor)
        tolerances: Floats = np.multiply(ROUNDING, size)
        tolerances[np.abs(x - y) <= tolerances] = 0
        return tolerances

    def compute_differences(self, a: Integers, b: Integers) -> Floats:
        """Return the differences of strategies, with one row per pair; 0 for ties."""
        differences: Floats = self.values[a] - self.values[b]
        # No tolerance is larger than `rounding`. So values can only be tied if their difference is
        # at most `rounding`. Tolerances are computed only for pairs with such a nonzero difference.
        may_be_tied = (np.abs(differences) <= self.rounding) & (differences != 0)
        if len(rows := np.flatnonzero(may_be_tied.any(axis=1))):
            differences[rows] *= self.compute_tolerances(a[rows], b[rows]) > 0
        return differences


# Best values


def find_direction(column: str) -> Best | None:
    """Return which value of a column is best; None if the column is not a measure."""
    parsed = Measure.parsed(column)
    return None if parsed is None else parsed.definition.best


def find_direction_of_rows(rows: pl.DataFrame) -> Best:
    """Return which value is best for rows of one measure.

    If there is a column `best`, it states which value is best, and null means "none". Otherwise,
    the name of the measure determines the best value. If no measure has this name, the highest
    value is best.
    """
    if "best" in rows.columns:
        return rows["best"][0] or "none"
    return find_direction(rows["measure"][0]) or "highest"


def list_named_columns(measures: Sequence[MeasureColumns]) -> list[str]:
    """Return the columns that `measures` names."""
    name_lists = [[*each] if isinstance(each, Mapping) else [each] for each in measures]
    return [check_column_name("measures", name) for names in name_lists for name in names]


def list_declared_measures(measures: Sequence[MeasureColumns]) -> dict[str, str]:
    """Return the measures and directions that the caller passed, by column.

    A direction states which value is best. Columns that are passed by name alone are left out.
    """
    return {
        column: text
        for each in measures
        if isinstance(each, Mapping)
        for column, text in each.items()
    }


def parse_direction(text: str) -> Best:
    """Convert a measure to its direction; return a direction unchanged.

    A direction is "highest", "lowest" or "none". For example, "ndcg@10" becomes "highest", and
    "lowest" stays "lowest".
    """
    values: dict[str, Best] = {best: best for best in get_args(Best)}
    return values.get(text) or Measure.parse(text, ALL_DEFINITIONS).definition.best


def check_direction(column: str, best: Best | None) -> Best:
    """Return which value of a column is best; raise if that is unknown."""
    if best is None:
        msg = (
            f"`measures` must specify the best value of {column!r}, since no measure has this name"
            f"\n\nHint: pass the best value: {{{column!r}: 'highest'}} or {{{column!r}: 'lowest'}}"
        )
        raise ValueError(msg)
    return best


def check_has_best(column: str, best: Best | None, why: str) -> None:
    """Raise if neither the highest nor the lowest value of a column is best."""
    if best not in ("highest", "lowest"):
        msg = f"the best value of measure {column!r} must be 'highest' or 'lowest' to {why}"
        raise ValueError(msg)


def find_places(numbers: pl.Series) -> pl.Series:
    """Return the place of each number in ascending order, from 0.

    Numbers that differ only by rounding errors share a place. A null has none.
    """
    values = numbers.cast(pl.Float64).fill_null(float("nan")).to_numpy()
    order = np.argsort(values)  # NaN is last
    ascending = values[order]
    magnitudes = np.abs(ascending)
    floor = min(1.0, float(np.nanmax(magnitudes, initial=0)))
    scale = np.maximum(np.maximum(magnitudes[1:], magnitudes[:-1]), floor)
    places = np.empty(len(values))
    places[order] = np.append(0, np.cumsum(np.diff(ascending) > ROUNDING * scale))[: len(values)]
    places[np.isnan(values)] = np.nan
    return pl.Series(numbers.name, places).fill_nan(None)


def find_best_places(means: pl.Series, which: Best | None) -> list[int]:
    """Return the indices of the best means, including ties up to rounding.

    The list is empty if neither the highest nor the lowest mean is best.
    """
    places = find_places(means)
    top = {"highest": places.max(), "lowest": places.min()}.get(which or "none")
    return [] if top is None else (places == top).fill_null(value=False).arg_true().to_list()


# Tables

TEXTS = dict.fromkeys(("best", "verdict", "note", "test", "correction"), pl.String())
"""Types of text columns of statistics. Polars cannot infer these types if all values are null."""


def make_table(
    statistics: Mapping[str, Any] | Sequence[Mapping[str, Any]], **dtypes: pl.DataType
) -> pl.DataFrame:
    """Return statistics as a frame, with UInt32 counts and null for NaN.

    `dtypes` specifies the types of columns that are not in `TEXTS`.
    """
    frame = pl.DataFrame(statistics, schema_overrides={**TEXTS, **dtypes}, infer_schema_length=None)
    return frame.with_columns(cs.signed_integer().cast(pl.UInt32), cs.float().fill_nan(None))


def make_measure_table(
    measure: str,
    segment: pl.DataFrame,
    names: Sequence[pl.Series],
    statistics: Mapping[str, Any],
    **dtypes: pl.DataType,
) -> pl.DataFrame:
    """Return the statistics of a measure in a segment, preceded by key columns."""
    strategy, *others = (each.name for each in names)
    reserved = ["measure", *others, *statistics]
    check_free_names(reserved, strategy=strategy, segments=segment.columns or None)
    columns = make_table(statistics, **dtypes)
    first = segment.select(pl.lit(measure).alias("measure"), *segment.columns)
    repeated = first[[0] * columns.height].get_columns()
    return pl.DataFrame([*repeated, *names, *columns])


def count_units(results: Results, length: int) -> dict[str, Any]:
    """Return the columns `clusters` and `effective_queries` of a table with `length` rows.

    Without clusters or weights, the column is left out.
    """
    counts: dict[str, Any] = {}
    if results.clusters is not None:
        counts["clusters"] = np.full(length, len(results.cluster_sizes))
    if results.weights is not None:
        counts[EFFECTIVE] = np.full(length, float(results.effective_number))
    return counts


# Means


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
    """Return half the width of Student's interval of a mean."""
    from scipy.special import stdtrit

    return stdtrit(n - 1, (1 + confidence) / 2) * std / np.sqrt(n)


def compute_mean_interval(values: Floats) -> tuple[float, float | None, float | None]:
    """Return the mean of values and its 95 % interval.

    The interval is Student's. Its ends are None if all values are equal, or if there are fewer than
    two values.
    """
    [mean], [std] = compute_mean_and_std(values[np.newaxis])
    if not std > 0:
        return float(mean), None, None
    margin = compute_mean_margin(std, len(values), 0.95)
    return float(mean), float(mean - margin), float(mean + margin)


def compute_curve_means(
    curves: pl.LazyFrame, columns: Sequence[str], positions: pl.Series, keys: Sequence[str]
) -> pl.LazyFrame:
    """Return the means of curves over queries, one row per key and position.

    Curves are lists of the same length. The column "queries of …" contains the number of values,
    and "std of …" contains the standard deviation of the values.
    """
    position = pl.lit(positions).implode().alias(positions.name)
    points = curves.select(*keys, position, *columns).explode(
        positions.name, *columns, empty_as_null=False
    )
    values = pl.col(columns)
    return points.group_by(*keys, positions.name, maintain_order=True).agg(
        values.mean(),
        values.count().name.prefix("queries of "),
        values.std().name.prefix("std of "),
    )
