"""Cautious intervals of a mean difference, for verdicts of `gate`.

Student's interval is too short if few differences are nonzero, or if the differences are skewed.
With such an interval, `gate` would pass changes with hardly any evidence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polars_graded._measuring.kernels.ragged import Floats, Integers
from polars_graded._results.pairs import Pairs
from polars_graded._results.power import find_min_queries
from polars_graded._results.significance import Options, run_test
from polars_graded._results.units import compute_effective_number

MIN_CHANGED_QUERIES = 25
"""Minimum number of queries with a difference. If there are fewer, the interval of the test is not
used."""

SPARE_CHANGED_QUERIES = 9
"""Number of changed queries that `count_deciding_queries` adds to `MIN_CHANGED_QUERIES` if a small
share of all queries changes. Samples vary: if 25 + 9 queries change on average, at least 25 queries
change in 19 of 20 samples."""

DECIDING_POWER = 0.8
"""Probability that a gate reaches a decision with the recommended number of queries."""


@dataclass(frozen=True)
class CarefulIntervals:
    """Intervals of the mean difference of each pair, and the evidence behind them."""

    low: Floats
    high: Floats
    changed: Integers
    """Number of queries, or of clusters of queries, with a difference."""


def compute_careful_intervals(
    pairs: Pairs, options: Options, level: float, max_difference: float | None
) -> CarefulIntervals:
    """Return intervals of the mean difference with the error rate `level`.

    `max_difference` is the largest possible absolute difference, or None if there is no limit. A
    pair with differences in few queries, or with equal differences in all queries, gets Stringer's
    interval. If there is no limit, Stringer's interval does not exist, and the ends are NaN. A pair
    without any difference has the interval from 0 to 0. All other pairs get the interval of the
    test. For the t test, this interval is widened to cover Johnson's interval as well.

    With clusters of queries, each cluster has one value and takes the place of a query. With
    weights, the effective number of changed queries decides whether few have a difference, and
    Stringer's interval is that of the effective number of queries.
    """
    units, n_changed = pairs.units, pairs.changed_units
    mean, std, *_ = units.statistics
    low, high = run_test(pairs, options).agreeing(np.full(len(pairs), level))
    if options.test == "t" and units.n > 1:
        for part in units.split(units.n):
            is_weighted, effective = (
                pairs.results.shares is not None,
                pairs.results.effective_number,
            )
            skewness = _compute_weighted_skewness(pairs, part) if is_weighted else None
            differences = units.compute_differences(part)
            johnson = compute_johnson_interval(differences, level, effective, skewness)
            low[part], high[part] = np.fmin(low[part], johnson[0]), np.fmax(high[part], johnson[1])
    # If few queries have a difference, the interval of the test is too short. Stringer's interval
    # replaces the interval of the test for these pairs.
    is_sparse = (pairs.count_effective_changes() < MIN_CHANGED_QUERIES) | (std == 0)
    low[is_sparse] = high[is_sparse] = np.nan
    if max_difference is not None and units.n and is_sparse.any():
        sparse = np.flatnonzero(is_sparse)
        low[sparse], high[sparse] = _compute_sparse_intervals(
            pairs, sparse, mean[sparse], level, max_difference
        )
    if max_difference is not None:
        low, high = np.fmax(low, -max_difference), np.fmin(high, max_difference)
    is_unchanged = (n_changed == 0) & (pairs.n > 0)
    low[is_unchanged] = high[is_unchanged] = 0
    return CarefulIntervals(low, high, n_changed)


def _compute_sparse_intervals(
    pairs: Pairs, sparse: Integers, means: Floats, level: float, max_difference: float
) -> Floats:
    """Return Stringer's interval of some pairs, with a value per unit."""
    results = pairs.results
    if results.shares is None:
        units, sizes, shares = pairs.units.results, 1, None
        # A cluster whose size is r times the mean size has the value r (m - d) + d, where m is its
        # mean difference and d that of all queries (see `Results.units`).
        ratio = results.unit_sizes.max() * units.n / pairs.n
        reach = ratio * max_difference + (ratio - 1) * np.abs(means)
    else:
        # With weights, a unit has its mean difference and its share in the sum of weights.
        units, sizes, shares = pairs.totals.results, results.unit_sizes, results.unit_shares
        reach = np.full(len(sparse), max_difference)
    selected = Pairs(units, pairs.a[sparse], pairs.b[sparse])
    ends = [
        compute_stringer_interval(
            selected.compute_differences(part) / sizes, level, reach[part], shares
        )
        for part in selected.split(units.n)
    ]
    return np.concatenate(ends, axis=1)


def compute_stringer_interval(
    differences: Floats, level: float, max_difference: float | Floats, shares: Floats | None = None
) -> Floats:
    r"""Return both ends of Stringer's interval of the mean of each row.

    Let w be `max_difference`, one number or one per row. All values are between -w and w. Let
    :math:`d_{(1)}` to :math:`d_{(n)}` be the values of a row in ascending order. Let :math:`p_j` be
    the upper Clopper-Pearson bound of the probability of an event that occurred in j of n trials.
    The lower end is :math:`-p_0 w + \sum_j (p_j - p_{j-1}) d_{(j)}`. The upper end is minus the
    lower end of the negated values.

    The first term assumes that a share :math:`p_0` of all values is -w, the worst possible value,
    although no such value was observed. If all values are 0 or -w, the lower end is the exact
    binomial bound. For other values, the lower end is conservative in practice. This is proven for
    large n (de Jager, Pap, van Zuijlen: Facts, phantasies, and a new proposal concerning the
    Stringer bound, 1997).

    With weights, `shares` are the shares of the values in their sum. n is then the effective number
    of values, and j is n times the share of the j lowest values.
    """
    low, high = (
        sign * _compute_lower_end(sign * differences, level, max_difference, shares)
        for sign in (1, -1)
    )
    return np.array([low, high])


def _compute_lower_end(
    differences: Floats, level: float, max_difference: float | Floats, shares: Floats | None
) -> Floats:
    """Return the lower end of Stringer's interval."""
    from scipy.special import betaincinv

    n: float = differences.shape[1]
    if shares is None:
        ascending, counts = np.sort(differences, axis=1), np.arange(n)
    else:
        order, n = np.argsort(differences, axis=1), compute_effective_number(shares)
        ascending = np.take_along_axis(differences, order, axis=1)
        # Sums of shares may be off by a rounding error.
        below = np.cumsum(shares[order], axis=1) - shares[order]
        counts = np.clip(n * below, 0, n * (1 - 1e-12))
    # Clopper-Pearson bounds p_j; the last one, p_n, is 1.
    bounds = betaincinv(counts + 1, n - counts, 1 - level / 2)
    steps = np.diff(bounds, axis=-1, append=1)
    lower: Floats = (ascending * steps).sum(axis=1) - bounds[..., 0] * max_difference
    return lower


def count_deciding_queries(
    effect: float, level: float, skewness: float, changed_share: float
) -> int | None:
    """Return the number of queries with which a gate decides in 80 % of cases.

    The number is None if it is larger than any realistic number of queries, or if `effect` or
    `changed_share` is 0.

    `effect` is the distance from the mean difference to the nearest boundary between verdicts,
    divided by the standard deviation of the differences. `skewness` is at least 0. It is the
    absolute skewness of the differences, or 0 if their skewness does not widen the interval towards
    this boundary. `changed_share` is the share of queries with a difference.
    """
    from scipy.special import stdtrit

    can_decide = effect > 0 and changed_share > 0
    n = find_min_queries(effect, DECIDING_POWER, level) if can_decide else None
    if n is None:
        return None
    # With N queries, Johnson's interval reaches c / sqrt(N) standard errors further towards the
    # boundary. Without skewness, n queries suffice: the boundary is then a = sqrt(n) * effect
    # standard errors away. With skewness, x = sqrt(N) solves x * effect = a + c / x.
    c = skewness * (1 + 2 * stdtrit(max(n - 1, 1), 1 - level / 2) ** 2) / 6
    root = (np.sqrt(n) + np.sqrt(n + 4 * c / effect)) / 2
    # The number of changed queries is binomial. If its mean is fixed, its standard deviation is
    # proportional to sqrt(1 - changed_share), and so is the number of spare queries.
    spare = SPARE_CHANGED_QUERIES * np.sqrt(1 - changed_share)
    return max(int(np.ceil(root**2)), int(np.ceil((MIN_CHANGED_QUERIES + spare) / changed_share)))


def compute_skewness(differences: Floats) -> Floats:
    """Return the skewness of each row; 0 if all its values are equal."""
    deviations = differences - differences.mean(axis=1, keepdims=True)
    # Cubes of large numbers would overflow.
    deviations /= np.maximum(np.abs(deviations).max(axis=1, keepdims=True), 1e-300)
    cubes = (deviations**2).mean(axis=1) ** 1.5
    third = (deviations**3).mean(axis=1)
    skewness: Floats = np.divide(third, cubes, out=np.zeros(len(cubes)), where=cubes > 0)
    return skewness


def _compute_weighted_skewness(pairs: Pairs, part: slice) -> Floats:
    """Return the skewness of the weighted mean of the differences of some pairs.

    A weighted mean of values with the skewness γ has the skewness γ Σ p³ / (Σ p²)^1.5. The skewness
    of all units alike is used, because the few units of large weight do not show it.
    """
    shares = pairs.results.unit_shares
    means = pairs.totals.compute_differences(part) / pairs.results.unit_sizes
    skewness: Floats = compute_skewness(means) * (shares**3).sum() / (shares**2).sum() ** 1.5
    return skewness


def compute_johnson_interval(
    differences: Floats, level: float, effective_number: float, skewness: Floats | None = None
) -> tuple[Floats, Floats]:
    """Return Student's interval of each row's mean, shifted for the skewness of the mean.

    The effective number of values, minus 1, is the number of degrees of freedom. By default, the
    skewness is that of a mean of equal weights.

    Johnson: Modified t tests and confidence intervals for asymmetrical populations, 1978.
    """
    from scipy.special import stdtrit

    n = differences.shape[1]
    mean = differences.mean(axis=1)
    deviations = differences - mean[:, np.newaxis]
    std = np.sqrt((deviations**2).sum(axis=1) / (n - 1))
    if skewness is None:
        with np.errstate(divide="ignore", invalid="ignore"):
            of_values = ((deviations / std[:, np.newaxis]) ** 3).mean(axis=1)
        skewness = of_values / np.sqrt(n)
    t, error = stdtrit(effective_number - 1, 1 - level / 2), std / np.sqrt(n)
    # Johnson's correction: the mean moves by mu3 (1 + 2 t²) / (6 s² n).
    center = mean + error * skewness * (1 + 2 * t**2) / 6
    return center - t * error, center + t * error
