"""Values of results as arrays: one row per strategy, one column per query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import polars as pl

from polars_graded._checks import check_choice
from polars_graded._frames import sorting
from polars_graded._measuring.definitions import Best
from polars_graded._measuring.kernels.ragged import Floats, Integers, Mask
from polars_graded._results.best_values import (
    ROUNDING,
    MeasureColumns,
    check_direction,
    find_direction,
    list_declared_measures,
    parse_direction,
)
from polars_graded._results.means import check_list_length, compute_mean_and_std, spread_lists
from polars_graded._results.units import (
    compute_deviation_factor,
    compute_effective_number,
    number_clusters,
)

Missing: TypeAlias = Literal["error", "drop", "zero"]

MAX_VALUE = 1e150
"""Maximum magnitude of a value, so that sums of squares do not overflow."""


ALL_QUERIES = pl.DataFrame(height=1)
"""Key of the only segment if the caller names no segments: a frame of one row without columns."""


MAX_NAMED_KEYS = 3
"""Maximum number of pairs of a strategy and a query that an error lists."""


def check_same_strategies(grader: str, other: str, own: pl.Series, others: pl.Series) -> list[int]:
    """Return the index in `others` of each strategy in `own`.

    Raise if the two graders do not have the same strategies.
    """
    if not own.sort().equals(others.sort(), check_names=False):
        msg = f"{grader!r} and {other!r} must have results of the same strategies"
        raise ValueError(msg)
    indices = {name: index for index, name in enumerate(others.to_list())}
    return [indices[name] for name in own.to_list()]


def order_strategies(strategies: pl.Series) -> pl.Series:
    """Return each strategy once.

    Strategies keep the order of rows if the rows of each strategy are adjacent; otherwise they are
    sorted.
    """
    runs = strategies.rle().struct.field("value").alias(strategies.name)
    return runs if runs.n_unique() == len(runs) else sorting.in_order(strategies)


def format_first_keys(keys: pl.DataFrame) -> str:
    """Return the first few strategies and queries in words."""
    listed = keys.head(MAX_NAMED_KEYS).iter_rows()
    texts = [f"query {query!r} of {strategy!r}" for strategy, query, *_ in listed]
    return ", ".join(texts if keys.height <= MAX_NAMED_KEYS else [*texts, "..."])


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
            if (n := len(results.cluster_sizes)) < 2:  # noqa: PLR2004
                units = "queries" if self.clusters is None else "clusters"
                msg = f"measure {measure!r} must have at least 2 {units}, got {n}"
                raise ValueError(msg)
            yield results

    def check_curve_length(self, *curves: str) -> int:
        """Return the length of the lists of curves; 0 if all lists are missing."""
        return check_list_length(self.frame, curves, " and ".join(map(repr, curves)))

    def get_curve(self, curve: str, length: int) -> Floats:
        """Return the values of a curve, with a third axis for its points."""
        points = spread_lists(self.frame[curve], length)
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
            msg = f"{name} {rule} in {count}: {format_first_keys(rows)}"
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
