"""Gate: verdicts on whether a strategy is worse than a baseline.

The verdicts come from cautious intervals of the mean difference. Student's interval is too short if
few differences are nonzero, or if the differences are skewed. With such an interval, `gate` would
pass changes with hardly any evidence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import polars as pl

from polars_graded._checks import check_choice, check_confidence, check_number
from polars_graded._frames.arguments import Columns
from polars_graded._measuring.kernels.ragged import Floats, Integers
from polars_graded._measuring.keywords import checks_call
from polars_graded._measuring.measures import Measure
from polars_graded._results.baselines import Matched, pair_with_baseline
from polars_graded._results.keys import PassedKeys
from polars_graded._results.measure_values import (
    ROUNDING,
    MeasureColumns,
    MeasureMatrix,
    Pairs,
    check_has_best,
    compute_effective_number,
)
from polars_graded._results.results import EFFECTIVE, Missing, make_measure_table, open_results
from polars_graded._results.significance import estimate_differences
from polars_graded._sentences import shorten_names
from polars_graded._sentences.gates import (
    BEYOND,
    EFFECTIVE_CHANGED,
    MIN_CHANGED_QUERIES,
    UNCHANGED,
    WITHIN,
    write_sentence,
)

__all__ = ["gate"]

Change: TypeAlias = Literal["same", "changed"]

PASSING_VERDICTS = ("better", UNCHANGED, "no worse", WITHIN)

DEFAULT_MARGIN = 0.01
"""Default margin: the largest accepted loss of a mean, in the unit of the measure."""


@checks_call
def gate(
    per_query: pl.DataFrame | pl.LazyFrame,
    *measures: MeasureColumns,
    baseline: Any,
    margin: float | Mapping[str, float] = DEFAULT_MARGIN,
    segments: str | Sequence[str] | None = None,
    confidence: float = 0.95,
    judgments: Change = "same",
    formulas: Change = "same",
    scale: Change = "same",
    cluster: Columns | None = None,
    weights: str | None = None,
    query: Columns | None = None,
    strategy: str | None = None,
    missing: Missing = "error",
    grader: str | None = None,
) -> pl.DataFrame:
    r"""Decide for each strategy whether it is better, no worse or worse.

    Each strategy is compared with the baseline. The verdict depends on the interval of the mean
    difference, strategy minus baseline, and on the margin :math:`\delta` by which a strategy may be
    worse. These verdicts pass: **better** (the interval is above 0), **unchanged** (no query
    changed), **no worse** (it is above :math:`-\delta` and includes 0), and **worse, by less than
    the margin** (it is between). These do not: **worse, perhaps by more than the margin**,
    **worse** (below :math:`-\delta`) and **undecided**.

    If the lowest value of a measure is best, all signs are reversed. All verdicts of a call are
    right simultaneously with the probability `confidence` (Bonferroni), except if rare queries
    change much more than the others. The page "Gate a change" of the documentation has all rules.

    Parameters
    ----------
    per_query, *measures, query, strategy, missing, grader, segments
        As for `compare`, but if there are several graders, `grader` is required.
    baseline
        The strategy with which all others are compared; or earlier results, as a frame or the
        `Path` of a Parquet or CSV file that `write_results` wrote. If they contain several
        strategies, each strategy is compared with the older strategy of the same name.
    margin
        The largest loss of the mean that you accept, at least 0 and less than the range of the
        measure; or a mapping with the margin of each measure: `{"ap": 0.01, "ndcg@10": 0.02}`.
    confidence
        Probability that all verdicts are right simultaneously, between 0 and 1.
    cluster
        The columns of clusters, as for `compare`. If several columns identify a query and none does
        so alone, pass the column of independent units or all columns of `query`.
    weights
        The column of weights, as for `summarise`. If the baseline is another frame or file, the
        weights of `per_query` count for both.
    judgments, formulas, scale
        With `"changed"`, the baseline may have other judgments or columns that measures need (only
        in other results), other formulas under the same name, or another scale or order of ties.
        Differences are detected if `evaluate(..., fingerprint=...)` made the results.

    Returns
    -------
    DataFrame
        One row per measure, segment and strategy, in this order. Columns are Float64 unless stated:

        - `measure` (String), the segments, the strategy (under the name of its column), `baseline`;
        - numbers of queries (UInt32): `queries` (compared), `strategy_queries` and
          `baseline_queries` (with a value), `lost` (with a value on one side), `undefined` (on
          neither), `changed` (with a difference);
        - `best` (String), `baseline_mean`, `mean`;
        - with `cluster`: `clusters` and `changed_clusters` (UInt32);
        - with `weights`: `effective_queries` and `effective_changed`, the effective numbers of
          queries and of queries with a difference;
        - `confidence`, and `level`, the error rate of this interval alone;
        - `margin`, `difference` (strategy minus baseline), and its interval, `low` to `high`;
        - `verdict` (String), `passes` (Boolean), `notes` (String) on what was allowed or not
          checked, and `sentence` (String), which states the row in words.

    Raises
    ------
    ValueError
        In the same cases as for `compare`. If the two results differ in queries, judgments,
        formulas or scale, and no argument allows this.

    See Also
    --------
    trust.queries_needed : The number of queries that shows a difference as large as the margin.

    References
    ----------
    Piaggio, Elbourne, Pocock, Evans, Altman: Reporting of noninferiority and equivalence randomized
    trials, 2012.

    Examples
    --------
    >>> per_query = pl.DataFrame(
    ...     {
    ...         "strategy": ["main"] * 40 + ["new"] * 40,
    ...         "query": [*range(40)] * 2,
    ...         "ap": [0.5] * 40 + [0.48, 0.52, 0.47, 0.51] * 10,
    ...     }
    ... )
    >>> verdicts = gate(per_query, "ap", baseline="main", margin=0.05)
    >>> verdicts.select("strategy", "difference", "low", "high", "verdict")
    shape: (1, 5)
    ┌──────────┬────────────┬───────────┬──────────┬──────────┐
    │ strategy ┆ difference ┆ low       ┆ high     ┆ verdict  │
    │ ---      ┆ ---        ┆ ---       ┆ ---      ┆ ---      │
    │ str      ┆ f64        ┆ f64       ┆ f64      ┆ str      │
    ╞══════════╪════════════╪═══════════╪══════════╪══════════╡
    │ new      ┆ -0.005     ┆ -0.011677 ┆ 0.001677 ┆ no worse │
    └──────────┴────────────┴───────────┴──────────┴──────────┘
    """
    check_confidence(confidence)
    changes: dict[str, str] = {"judgments": judgments, "formulas": formulas, "scale": scale}
    for argument, change in changes.items():
        check_choice(argument, change, get_args(Change))
    passed = PassedKeys(query, strategy, segments=segments, cluster=cluster, weights=weights)
    by_grader = open_results(per_query, measures, passed, missing, grader, "refuse")
    matched = pair_with_baseline(
        by_grader.only.with_best_values(), baseline, {**changes, "missing": missing}
    )
    return decide_verdicts(matched, margin, confidence)


def decide_verdicts(
    matched: Matched, margin: float | Mapping[str, float], confidence: float
) -> pl.DataFrame:
    """Return the verdicts of `gate` on strategies and their baselines."""
    results, tables = matched.results, []
    # Bonferroni: all verdicts are right together at the requested confidence.
    n_verdicts = len(matched.a) * len(results.segment_indices) * len(results.measures)
    error_rate = check_confidence(confidence) / n_verdicts
    for measure in results.measures:
        check_has_best(measure, results.best[measure], "decide which strategy is worse")
        all_values = results.get_all_values(measure)
        maximum = find_maximum(results.formulas.get(measure, measure), all_values.values)
        limits = Limits(_check_margin(measure, margin, maximum), error_rate, maximum)
        parts = zip(results.split_segments(measure), results.segment_indices, strict=True)
        for (segment, matrix), (_, indices) in parts:
            pairs = Pairs(matrix, matched.a, matched.b)
            statistics = _compute_verdicts(pairs, all_values.select(indices), limits, confidence)
            tables.append(make_measure_table(measure, matched.pair_columns, segment, statistics))
    table = pl.concat(tables).with_columns(
        pl.col("verdict").is_in(PASSING_VERDICTS).alias("passes"),
        pl.lit(matched.notes).alias("notes"),
    )
    strategy, segments = matched.pair_columns[0].name, results.keys.segments
    rows = table.rows(named=True)
    names = sorted({str(row[column]) for row in rows for column in (strategy, "baseline")})
    short_names = dict(zip(names, shorten_names(names), strict=True))
    sentences = [write_sentence(row, strategy, segments, short_names) for row in rows]
    return table.with_columns(pl.Series("sentence", sentences, dtype=pl.String))


# Verdicts


def _check_margin(
    measure: str, margin: float | Mapping[str, float], maximum: float | None
) -> float:
    """Return the margin of a measure; raise unless it is below the range."""
    if isinstance(margin, Mapping):
        if measure not in margin:
            msg = (
                f"`margin` must have a margin for {measure!r}, got margins for {', '.join(margin)}"
            )
            raise ValueError(msg)
        margin = margin[measure]
    margin = check_number("margin", margin, at_least=0)
    if maximum is not None and margin >= maximum:
        msg = (
            f"`margin` must be less than {maximum:g}, the range of {measure!r}, got {margin:g}: "
            "no change could exceed it"
        )
        raise ValueError(msg)
    return margin


def find_maximum(formula: str, values: Floats) -> float | None:
    """Return 1 if a measure ranges from 0 to 1, and None otherwise.

    The result is also None if the range of the measure is unknown, or if any of `values` is below 0
    or above 1.
    """
    parsed = Measure.try_parse(formula)
    if parsed is None or parsed.is_curve or not parsed.definition.is_bounded:
        return None
    numbers = values[~np.isnan(values)]
    return 1.0 if ((numbers >= 0) & (numbers <= 1)).all() else None


class Limits(NamedTuple):
    """Margin, error rate and maximum of the verdicts on a measure."""

    margin: float
    error_rate: float
    """Error rate of each interval."""
    maximum: float | None
    """Largest possible value of the measure; None if unknown."""


def _compute_verdicts(
    pairs: Pairs, with_missing: MeasureMatrix, limits: Limits, confidence: float
) -> dict[str, Any]:
    """Return statistics and verdicts of pairs of strategy and baseline."""
    mean, _, higher, lower = pairs.statistics
    low, high, verdict = decide_pairs(pairs, limits)
    has_value = ~np.isnan(with_missing.values)
    lost = (has_value[pairs.a] != has_value[pairs.b]).sum(axis=1)
    # If one side of a pair lacks a query, the missing value is replaced by the least favourable
    # value. The pair passes only if it also passes with these values.
    is_overturned = np.zeros(len(pairs), bool)
    for index in np.flatnonzero((lost > 0) & np.isin(verdict, PASSING_VERDICTS)).tolist():
        *_, [verdict_with_worst] = decide_pairs(
            _fill_with_worst(pairs, with_missing, index, limits.maximum), limits
        )
        is_overturned[index] = verdict_with_worst not in PASSING_VERDICTS
    verdict[is_overturned] = "undecided"
    means, baseline_means = pairs.means
    counts: dict[str, Any] = {}
    if pairs.matrix.clusters is not None:
        counts = {"clusters": pairs.units.n, "changed_clusters": pairs.changed_units.number}
    if pairs.matrix.weights is not None:
        counts[EFFECTIVE] = float(pairs.matrix.effective_number)
        counts[EFFECTIVE_CHANGED] = pairs.changed_units.effective
    return {
        "queries": pairs.n,
        "strategy_queries": has_value[pairs.a].sum(axis=1),
        "baseline_queries": has_value[pairs.b].sum(axis=1),
        "lost": lost,
        "undefined": (~has_value[pairs.a] & ~has_value[pairs.b]).sum(axis=1),
        "changed": higher + lower,
        "best": pairs.matrix.best,
        "baseline_mean": baseline_means,
        "mean": means,
        **counts,
        "confidence": confidence,
        "level": limits.error_rate,
        "margin": limits.margin,
        "difference": mean,
        "low": low,
        "high": high,
        "verdict": verdict,
    }


def decide_pairs(pairs: Pairs, limits: Limits) -> tuple[Floats, Floats, Any]:
    """Return each pair's interval and verdict."""
    low, high = compute_careful_intervals(pairs, limits.error_rate, limits.maximum)
    lowest_gain, highest_gain = (low, high) if pairs.matrix.higher_is_better else (-high, -low)
    # A loss of exactly the margin may exceed it by a rounding error, as 0.8 - 0.7 exceeds 0.1.
    tolerance = ROUNDING * max(limits.margin, pairs.matrix.floor)
    verdicts = {
        UNCHANGED: (pairs.changed_units.number == 0) & (pairs.n > 0),
        "better": lowest_gain > 0,
        "worse": highest_gain < -limits.margin - tolerance,
        WITHIN: (highest_gain < 0) & (lowest_gain > -limits.margin + tolerance),
        BEYOND: highest_gain < 0,
        "no worse": lowest_gain > -limits.margin + tolerance,
    }
    verdict = np.select([*verdicts.values()], [*verdicts], "undecided").astype(object)
    return low, high, verdict


def _fill_with_worst(
    pairs: Pairs, with_missing: MeasureMatrix, index: int, maximum: float | None
) -> Pairs:
    """Return the pair at an index, whose missing values are filled unfavourably.

    Missing values of the strategy become the worst value, and those of the baseline the best.
    Queries that both sides lack are left out.
    """
    values = with_missing.values[[pairs.a[index], pairs.b[index]]]
    has_value = ~np.isnan(values)
    has_either = has_value.any(axis=0)
    value_range = (
        (0.0, maximum)
        if maximum is not None
        else (np.nanmin(with_missing.values), np.nanmax(with_missing.values))
    )
    worst_value, best_value = value_range if pairs.matrix.higher_is_better else value_range[::-1]
    filled = np.where(has_value, values, [[worst_value], [best_value]])[:, has_either]
    matrix = with_missing.select(np.flatnonzero(has_either))
    return Pairs(replace(matrix, values=filled), np.array([0]), np.array([1]))


# Cautious intervals


def compute_careful_intervals(
    pairs: Pairs, error_rate: float, max_difference: float | None
) -> tuple[Floats, Floats]:
    """Return intervals of the mean difference with the error rate `error_rate`.

    `max_difference` is the largest possible absolute difference, or None if there is no limit. A
    pair with differences in few queries, or with equal differences in all queries, gets Stringer's
    interval. If there is no limit, Stringer's interval does not exist, and the ends are NaN. A pair
    without any difference has the interval from 0 to 0. All other pairs get Student's interval,
    widened to cover Johnson's interval as well.

    With clusters of queries, each cluster has one value and takes the place of a query. With
    weights, the effective number of changed queries decides whether few have a difference, and
    Stringer's interval is that of the effective number of queries.
    """
    units = pairs.units
    mean, std, *_ = units.statistics
    low, high = estimate_differences(pairs).compute_ends(error_rate)
    if units.n > 1:
        johnson_low, johnson_high = compute_johnson_interval(pairs, error_rate)
        low, high = np.fmin(low, johnson_low), np.fmax(high, johnson_high)
    # If few queries have a difference, the interval of the test is too short. Stringer's interval
    # replaces the interval of the test for these pairs.
    is_sparse = (pairs.changed_units.effective < MIN_CHANGED_QUERIES) | (std == 0)
    low[is_sparse] = high[is_sparse] = np.nan
    if max_difference is not None and units.n and is_sparse.any():
        sparse = np.flatnonzero(is_sparse)
        low[sparse], high[sparse] = _compute_sparse_intervals(
            pairs, sparse, mean[sparse], error_rate, max_difference
        )
    if max_difference is not None:
        low, high = np.fmax(low, -max_difference), np.fmin(high, max_difference)
    is_unchanged = (pairs.changed_units.number == 0) & (pairs.n > 0)
    low[is_unchanged] = high[is_unchanged] = 0
    return low, high


def _compute_sparse_intervals(
    pairs: Pairs, sparse: Integers, means: Floats, error_rate: float, max_difference: float
) -> Floats:
    """Return Stringer's interval of some pairs, with a value per unit."""
    matrix = pairs.matrix
    if matrix.shares is None:
        units, sizes, shares = pairs.units.matrix, 1, None
        # A cluster whose size is r times the mean size has the value r (m - d) + d, where m is its
        # mean difference and d that of all queries (see `MeasureMatrix.units`).
        ratio = matrix.unit_sizes.max() * units.n / pairs.n
        reach = ratio * max_difference + (ratio - 1) * np.abs(means)
    else:
        # With weights, a unit has its mean difference and its share in the sum of weights.
        units, sizes, shares = pairs.totals.matrix, matrix.unit_sizes, matrix.unit_shares
        reach = np.full(len(sparse), max_difference)
    selected = Pairs(units, pairs.a[sparse], pairs.b[sparse])
    differences = selected.compute_differences() / sizes
    return compute_stringer_interval(differences, error_rate, reach, shares)


def compute_stringer_interval(
    differences: Floats,
    error_rate: float,
    max_difference: float | Floats,
    shares: Floats | None = None,
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
        sign * _compute_lower_end(sign * differences, error_rate, max_difference, shares)
        for sign in (1, -1)
    )
    return np.array([low, high])


def _compute_lower_end(
    differences: Floats, error_rate: float, max_difference: float | Floats, shares: Floats | None
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
    bounds = betaincinv(counts + 1, n - counts, 1 - error_rate / 2)
    steps = np.diff(bounds, axis=-1, append=1)
    lower: Floats = (ascending * steps).sum(axis=1) - bounds[..., 0] * max_difference
    return lower


def compute_johnson_interval(pairs: Pairs, error_rate: float) -> tuple[Floats, Floats]:
    """Return Student's interval of each pair's mean, shifted for the skewness of the mean.

    The effective number of units, minus 1, is the number of degrees of freedom.

    Johnson: Modified t tests and confidence intervals for asymmetrical populations, 1978.
    """
    from scipy.special import stdtrit

    mean, std, *_ = pairs.units.statistics
    error = std / np.sqrt(pairs.units.n)
    t = stdtrit(pairs.matrix.effective_number - 1, 1 - error_rate / 2)
    # Johnson's correction: the mean moves by mu3 (1 + 2 t²) / (6 s² n).
    center = mean + error * _compute_skewness(pairs) * (1 + 2 * t**2) / 6
    return center - t * error, center + t * error


def _compute_skewness(pairs: Pairs) -> Floats:
    """Return the skewness of each pair's mean difference; NaN if all differences are equal.

    The mean of n values with the skewness γ has the skewness γ / sqrt(n), and a weighted mean has
    the skewness γ Σ p³ / (Σ p²)^1.5. γ is that of all units alike, because the few units of large
    weight do not show it.
    """
    matrix = pairs.matrix
    if matrix.shares is None:
        differences, factor = pairs.units.compute_differences(), 1 / np.sqrt(pairs.units.n)
        divisor = pairs.units.n - 1  # as in Johnson's paper
    else:
        differences = pairs.totals.compute_differences() / matrix.unit_sizes
        factor = (matrix.unit_shares**3).sum() / (matrix.unit_shares**2).sum() ** 1.5
        divisor = pairs.totals.n
    deviations = differences - differences.mean(axis=1, keepdims=True)
    std = np.sqrt((deviations**2).sum(axis=1, keepdims=True) / divisor)
    with np.errstate(divide="ignore", invalid="ignore"):
        skewness: Floats = factor * ((deviations / std) ** 3).mean(axis=1)
    return skewness
