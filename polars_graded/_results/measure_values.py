"""Values of one measure as an array, their means and the differences of pairs of strategies.

A row of the array is a strategy, and a column is a query. Independent units are queries, or
clusters of queries. `MeasureMatrix.units` replaces the values of queries by one value per unit: by
linearised values, whose plain mean is the (weighted) mean, and whose plain standard error is that
of this mean. So every statistic of units is right for clusters and weights.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple, TypeAlias, get_args

import numpy as np
import polars as pl

from polars_graded._checks import check_column_name
from polars_graded._measuring.definitions import Best
from polars_graded._measuring.kernels.ragged import Floats, Integers
from polars_graded._measuring.measures import ALL_DEFINITIONS, Measure
from polars_graded._results.keys import CLUSTER, WEIGHT, check_named_once

MeasureColumns: TypeAlias = "str | Sequence[str] | Mapping[str, str]"
"""The name of a column, a list of names, or a mapping with the measure or the best value of each
column. An example of a mapping is `{"E": "e_measure@10", "seconds": "lowest"}`."""

ROUNDING = 1e-12
"""Maximum relative distance of two values that count as equal."""

MIN_VALUES = 2
"""Minimum number of values, or effective number of weighted values, for an interval or a test."""

MAX_PART_NUMBERS = 2**16
"""Maximum number of values in a part, half a megabyte."""


@dataclass(frozen=True)
class MeasureMatrix:
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

    def select(self, indices: Integers) -> MeasureMatrix:
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
    def unit_name(self) -> str:
        """Return "clusters", or "queries" without clusters."""
        return "queries" if self.clusters is None else "clusters"

    @property
    def has_clusters(self) -> bool:
        """Return whether a cluster has several queries."""
        return len(self.cluster_sizes) < self.n

    @cached_property
    def units(self) -> MeasureMatrix:
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
        mean = self.means[:, np.newaxis]
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

    @cached_property
    def means(self) -> Floats:
        """Return the mean of each strategy."""
        return compute_mean_and_std(self.values, self.shares)[0]

    @cached_property
    def totals(self) -> MeasureMatrix:
        """Return the sum of each cluster, or the value of each query without clusters.

        With weights, values are multiplied by weights of mean 1.
        """
        values = self.values if self.shares is None else self.n * self.shares * self.values
        return self._merge(self.sum_clusters(values))

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

    def _merge(self, values: Floats) -> MeasureMatrix:
        """Return results with one value per cluster."""
        numbers = pl.Series(np.arange(values.shape[1]))
        return replace(self, queries=numbers, values=values, clusters=None, weights=None)

    def restrict(self, queries: pl.Series, *, inside: bool = True) -> MeasureMatrix:
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
    def max_tolerances(self) -> Floats:
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
        return check_best(self.measure, self.best) != "lowest"

    @property
    def sign(self) -> int:
        """Return the factor that turns differences into gains: 1, or -1 if lower is better."""
        return 1 if self.higher_is_better else -1

    @property
    def ordinals(self) -> Floats:
        """Return a number for each strategy, higher for a better mean.

        Means that are equal up to rounding share a number. Without queries, all numbers are NaN.
        """
        ordinals: Floats = rank_densely(pl.Series(self.means)).to_numpy() * self.sign
        return ordinals

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
        # Values can only be tied if their difference is at most `max_tolerances`. Tolerances are
        # computed only for pairs with such a nonzero difference.
        may_be_tied = (np.abs(differences) <= self.max_tolerances) & (differences != 0)
        if len(rows := np.flatnonzero(may_be_tied.any(axis=1))):
            differences[rows] *= self.compute_tolerances(a[rows], b[rows]) > 0
        return differences


# Means and intervals of arrays


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
    if shares is not None:
        variance = deviations**2 @ shares / (1 - (shares**2).sum())
    else:
        variance = np.einsum("ij,ij->i", deviations, deviations) / (n - 1)
    std = np.sqrt(variance)
    std[deviations.max(axis=1) == deviations.min(axis=1)] = 0
    return mean, std


def divide(above: Floats, below: Floats) -> Floats:
    """Return the quotient of two arrays, NaN where the divisor is 0."""
    result: Floats = np.full(len(above), np.nan)
    np.divide(above, below, out=result, where=below != 0)
    return result


def compute_margin(
    deviations: Floats, counts: Floats, error_rate: float, magnitude: float = 1.0
) -> float | None:
    """Return half the width of an interval of a mean; None if it is unknown.

    A deviation d of a unit's value from the mean of all n units occurs `counts` times. The standard
    error is sqrt(Σ d² / (n (n - 1))). The margin is this error times a quantile of Student's
    distribution with (Σ d²)² / Σ d⁴ degrees of freedom, but at most n - 1. If all deviations have
    the same size, this is n - 1, and if one unit has the only deviation, it is 1. Always n - 1
    would be right for normal deviations, but those of few units are often skewed.

    An error of 1e-12 times `magnitude` or less may be due to rounding: the margin is then unknown.
    """
    from scipy.special import stdtrit

    n, squares = float(counts.sum()), deviations**2
    total = float(counts @ squares)
    error = math.sqrt(total / (n * (n - 1))) if n > 1 else 0.0
    # NaN, which is a value that is undefined without a unit, makes the comparison false.
    if not error > ROUNDING * magnitude:
        return None
    freedom = min(total**2 / float(counts @ squares**2), n - 1)
    return float(-stdtrit(freedom, error_rate / 2) * error)


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
    of a mean of G plain values contains the factor G / (G - 1), which the result takes off. A
    single value has no variance, and no factor.
    """
    squares, n = float((shares**2).sum()), len(shares)
    if n < MIN_VALUES:
        return 1.0
    expected = 1 - 2 * float((shares**3).sum()) / squares + squares
    return math.sqrt((n - 1) / n / expected)


def compute_weighted_medians(values: Floats, shares: Floats) -> Floats:
    """Return the median of each row: half of the weight is on either side of it."""
    order = np.argsort(values, axis=1)
    ascending = np.take_along_axis(values, order, axis=1)
    below = np.cumsum(shares[order], axis=1)
    # If exactly half of the weight is at or below a value, the median is the mean of two values.
    first, last = (
        np.take_along_axis(ascending, np.argmax(below >= limit, axis=1)[:, np.newaxis], axis=1)
        for limit in (0.5 - ROUNDING, 0.5 + ROUNDING)
    )
    return (first[:, 0] + last[:, 0]) / 2


def make_matrix(values: Floats, rows: pl.DataFrame) -> MeasureMatrix:
    """Return values with the units in `rows`: a row of values per mean, and a column per query."""
    clusters, weights = (
        rows[name].to_numpy() if name in rows.columns else None for name in (CLUSTER, WEIGHT)
    )
    numbers = pl.Series(np.arange(values.shape[1]))
    return MeasureMatrix("", numbers, values, clusters=clusters, weights=weights)


def compute_mean_intervals(
    matrix: MeasureMatrix, confidence: float
) -> tuple[Floats, Floats, Floats]:
    """Return the mean of each row of values, and both ends of its interval.

    The standard error is that of all units, and Student's quantile that of their effective number.
    The ends are NaN if there are fewer than two units, or if all values are equal up to rounding.
    """
    from scipy.special import stdtrit

    mean, n = matrix.means, matrix.effective_number
    _, std = compute_mean_and_std(matrix.units.values)
    std *= np.sqrt(n / max(1, matrix.units.n))
    tolerance = ROUNDING * np.abs(matrix.units.values).max(axis=1, initial=0.0)
    std[(std <= tolerance) | (n < MIN_VALUES)] = np.nan
    margin = stdtrit(max(n - 1, 1), (1 + confidence) / 2) * std / np.sqrt(n)
    return mean, mean - margin, mean + margin


def compute_mean_interval(
    column: str, rows: pl.DataFrame, confidence: float = 0.95
) -> tuple[float, float | None, float | None]:
    """Return the mean of a column and its interval; the ends are None if there is no interval."""
    matrix = make_matrix(rows[column].to_numpy()[np.newaxis], rows)
    mean, low, high = (ends.item() for ends in compute_mean_intervals(matrix, confidence))
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
    for index, mask in enumerate(is_known):
        groups.setdefault(mask.tobytes(), []).append(index)
    for indices in groups.values():
        matrix = make_matrix(points[indices], rows).select(np.flatnonzero(is_known[indices[0]]))
        if confidence is not None:
            averages[:, indices] = compute_mean_intervals(matrix, confidence)
        elif matrix.n:
            averages[0, indices] = matrix.means
    mean, low, high = averages
    return mean, low, high


# Pairs of strategies, whose differences are computed in parts that fit into the cache

ALL_PAIRS = slice(None)


class Statistics(NamedTuple):
    """Statistics of the differences of each pair; an undefined `mean` or `std` is NaN."""

    mean: Floats
    std: Floats
    higher: Integers
    lower: Integers


class ChangedUnits(NamedTuple):
    """Numbers of units with a difference, for each pair."""

    number: Integers
    effective: Floats
    """With weights, the effective numbers; otherwise the same numbers."""


@dataclass(frozen=True)
class Pairs:
    """Pairs of a strategy and its baseline, with the values of a measure.

    `a` contains the indices of the strategies, `b` those of their baselines.
    """

    matrix: MeasureMatrix
    a: Integers
    b: Integers

    @property
    def n(self) -> int:
        """Return the number of queries."""
        return self.matrix.n

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.a)

    @cached_property
    def units(self) -> Pairs:
        """Return the pairs with one value per independent unit: a cluster or a query."""
        return replace(self, matrix=self.matrix.units) if self.matrix.has_units else self

    @property
    def totals(self) -> Pairs:
        """Return the pairs with one sum per cluster, or one value per query."""
        return replace(self, matrix=self.matrix.totals)

    def split(self, per_pair: int, max_numbers: int = MAX_PART_NUMBERS) -> Iterator[slice]:
        """Yield slices of the pairs with at most `max_numbers` numbers each.

        Each pair takes `per_pair` numbers. A slice has at least one pair, even if
        `per_pair` exceeds `max_numbers`.
        """
        return split_into_parts(len(self), per_pair, max_numbers)

    def compute_differences(self, part: slice = ALL_PAIRS) -> Floats:
        """Return the differences of some pairs, with one row per pair."""
        return self.matrix.compute_differences(self.a[part], self.b[part])

    def compute_tolerances(self, part: slice) -> Floats:
        """Return the tolerances of the differences of some pairs.

        A difference within its tolerance may be a rounding error, so `compute_differences` returns
        exactly 0 for it. This 0 has no rounding error, so its tolerance is 0 here.
        """
        return self.matrix.compute_tolerances(self.a[part], self.b[part])

    @cached_property
    def changed_units(self) -> ChangedUnits:
        """Return each pair's number of clusters, or of queries, with a difference."""
        number, effective = np.zeros(len(self), dtype=np.int64), np.zeros(len(self))
        weights = 1 if self.matrix.shares is None else self.matrix.unit_sizes
        for part in self.split(self.n):
            is_changed = self.matrix.sum_clusters(self.compute_differences(part) != 0) > 0
            sizes = weights * is_changed.astype(np.float64)
            number[part] = np.count_nonzero(is_changed, axis=1)
            effective[part] = divide(sizes.sum(axis=1) ** 2, (sizes**2).sum(axis=1))
        return ChangedUnits(number, np.nan_to_num(effective))

    @property
    def means(self) -> tuple[Floats, Floats]:
        """Return the means of both strategies of each pair."""
        return self.matrix.means[self.a], self.matrix.means[self.b]

    @cached_property
    def statistics(self) -> Statistics:
        """Return each pair's mean, standard deviation, and counts above and below 0."""
        mean, std = np.full((2, len(self)), np.nan)
        higher, lower = np.zeros((2, len(self)), dtype=np.int64)
        for part in self.split(self.n) if self.n else ():
            differences = self.compute_differences(part)
            mean[part], std[part] = compute_mean_and_std(differences, self.matrix.shares)
            if self.n > 1:
                # The standard deviation becomes 0 if the spread of a pair's differences is within
                # their largest tolerance. No tolerance exceeds the maximum of `max_tolerances`, so
                # tolerances are computed only for pairs whose spread is at most this maximum.
                spread = np.ptp(differences, axis=1)
                near = np.flatnonzero(spread <= self.matrix.max_tolerances.max())
                a, b = self.a[part][near], self.b[part][near]
                same = spread[near] <= self.matrix.compute_tolerances(a, b).max(axis=1, initial=0)
                std[part][near[same]] = 0
            higher[part] = np.count_nonzero(differences > 0, axis=1)
            lower[part] = np.count_nonzero(differences < 0, axis=1)
        return Statistics(mean, std, higher, lower)


MAX_BLOCK_NUMBERS = 2**20
"""Default maximum of numbers in one array of a part, 8 MB."""


def split_into_parts(
    count: int, size: int, max_numbers: int = MAX_BLOCK_NUMBERS
) -> Iterator[slice]:
    """Yield slices of `count` items, with at most `max_numbers` numbers each.

    Each item has `size` numbers. A slice has at least one item, even if `size` exceeds
    `max_numbers`.
    """
    step = max(1, max_numbers // max(1, size))
    for start in range(0, count, step):
        yield slice(start, min(count, start + step))


def name_pairs(names: pl.Series, a: Integers, b: Integers) -> list[pl.Series]:
    """Return the names of both strategies of each pair.

    The first series contains the strategies, and the second contains their baselines.
    """
    return [names.gather(a), names.gather(b).alias("baseline")]


# Best values of measures: the highest, the lowest, or none


def find_best(column: str) -> Best | None:
    """Return which value of a column is best; None if the column is not a measure."""
    parsed = Measure.try_parse(column)
    return None if parsed is None else parsed.definition.best


def find_best_of_rows(rows: pl.DataFrame) -> Best:
    """Return which value is best for rows of one measure.

    If there is a column `best`, it states which value is best, and null means "none". Otherwise,
    the name of the measure determines the best value. If no measure has this name, the highest
    value is best.
    """
    if "best" in rows.columns:
        return rows["best"][0] or "none"
    return find_best(rows["measure"][0]) or "highest"


def collect_measures(measures: Sequence[MeasureColumns]) -> dict[str, str | None]:
    """Return the columns that the caller named, each with its measure or best value, if passed."""
    entries = chain.from_iterable(
        each if isinstance(each, list | tuple) else [each] for each in measures
    )
    pairs: list[tuple[str, str | None]] = []
    for each in entries:
        pairs += [*each.items()] if isinstance(each, Mapping) else [(each, None)]
    check_named_once([check_column_name("measures", name) for name, _ in pairs])
    return dict(pairs)


def parse_best(text: str) -> Best:
    """Return which value of a measure is best; return "highest", "lowest" and "none" unchanged.

    For example, "ndcg@10" becomes "highest", and "lowest" stays "lowest".
    """
    values: dict[str, Best] = {best: best for best in get_args(Best)}
    return values.get(text) or Measure.parse(text, ALL_DEFINITIONS).definition.best


def check_best(column: str, best: Best | None) -> Best:
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


def rank_densely(numbers: pl.Series) -> pl.Series:
    """Return the dense rank of each number in ascending order, from 0.

    Numbers that differ only by rounding errors share a rank. A null has none.
    """
    values = numbers.cast(pl.Float64).fill_null(float("nan")).to_numpy()
    order = np.argsort(values)  # NaN is last
    ascending = values[order]
    magnitudes = np.abs(ascending)
    floor = min(1.0, float(np.nanmax(magnitudes, initial=0)))
    scale = np.maximum(np.maximum(magnitudes[1:], magnitudes[:-1]), floor)
    ranks = np.empty(len(values))
    ranks[order] = np.append(0, np.cumsum(np.diff(ascending) > ROUNDING * scale))[: len(values)]
    ranks[np.isnan(values)] = np.nan
    return pl.Series(numbers.name, ranks).fill_nan(None)


def find_best_indices(means: pl.Series, which: Best | None) -> list[int]:
    """Return the indices of the best means, including ties up to rounding.

    The list is empty if neither the highest nor the lowest mean is best.
    """
    ranks = rank_densely(means)
    top = {"highest": ranks.max(), "lowest": ranks.min()}.get(which or "none")
    return [] if top is None else (ranks == top).fill_null(value=False).arg_true().to_list()
