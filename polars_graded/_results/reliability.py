"""Reliability of results: orders of strategies in samples of queries, power, numbers of queries."""

from __future__ import annotations

import math
import warnings
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from polars_graded._checks import (
    check_choice,
    check_confidence,
    check_list,
    check_number,
    check_whole_number,
)
from polars_graded._frames.arguments import Columns
from polars_graded._measuring.kernels.ragged import Floats, Integers
from polars_graded._measuring.keywords import checks_call
from polars_graded._results.keys import PassedKeys
from polars_graded._results.measure_values import (
    MeasureColumns,
    MeasureMatrix,
    Pairs,
    collect_measures,
    split_into_parts,
)
from polars_graded._results.results import (
    EFFECTIVE,
    Missing,
    Results,
    ResultsByGrader,
    check_same_strategies,
    count_units,
    make_table,
    open_results,
)

__all__ = ["order_stability", "power_curve", "queries_needed", "rank_correlation"]

MAX_QUERIES = 2**40
"""Maximum number of queries to search for, far more than any data set contains."""

DEFAULT_SIZE_COUNT = 10
"""Maximum number of sizes of samples if the caller passes none."""


@checks_call
def order_stability(
    per_query: pl.DataFrame | pl.LazyFrame,
    *measures: MeasureColumns,
    sizes: int | Sequence[int] | None = None,
    samples: int = 1000,
    confidence: float = 0.95,
    cluster: Columns | None = None,
    weights: str | None = None,
    seed: int = 0,
    query: Columns | None = None,
    strategy: str | None = None,
    missing: Missing = "error",
    grader: str | None = None,
) -> pl.DataFrame:
    r"""Correlate orders of strategies in samples with the order in all queries.

    Parameters
    ----------
    per_query, *measures, query, strategy, missing, grader
        As for `compare`.
    sizes
        The numbers of queries to draw; by default up to ten numbers from 5 to all.
    samples
        The number of samples for each size.
    confidence
        The share of samples whose correlation τ lies between `tau_low` and `tau_high`.
    cluster
        The columns of clusters, as for `compare`. Whole clusters are then drawn, sizes are numbers
        of clusters, and the column `clusters` takes the place of `queries`.
    weights
        The column of weights of queries, as for `compare`, for weighted means of the samples.
    seed
        The seed of the samples. Measures with values for the same queries get the same samples.

    Returns
    -------
    DataFrame
        One row per measure and size:

        - `measure` (String), `strategies` and `queries` (UInt32), the numbers of strategies and of
          queries in a sample;
        - `tau` (Float64, from -1 to 1), Kendall's correlation, the mean over the samples;
        - `tau_low` and `tau_high` (Float64, from -1 to 1), quantiles of the correlation;
        - `confidence` (Float64), as passed.

        Samples in which all strategies are tied are left out. `tau` is null if no sample remains,
        or if all strategies have the same mean over all queries. With two strategies, the τ of each
        sample is 1 or -1.

    See Also
    --------
    trust.rank_correlation : Correlation of the orders by two measures.
    charts.sample_size_curves : Chart of the correlations, one line per measure.

    References
    ----------
    Buckley, Voorhees: Evaluating evaluation measure stability, SIGIR 2000.

    Examples
    --------
    One of three queries reverses the order of the two strategies, but no mean of two queries does:

    >>> per_query = pl.DataFrame(
    ...     {
    ...         "strategy": ["bm25"] * 3 + ["ours"] * 3,
    ...         "query": ["a", "b", "c"] * 2,
    ...         "ap": [0.25, 0.5, 0.75, 0.5, 0.75, 0.625],
    ...     }
    ... )
    >>> order_stability(per_query, "ap", sizes=[2, 3])
    shape: (2, 7)
    ┌─────────┬────────────┬─────────┬─────┬─────────┬──────────┬────────────┐
    │ measure ┆ strategies ┆ queries ┆ tau ┆ tau_low ┆ tau_high ┆ confidence │
    │ ---     ┆ ---        ┆ ---     ┆ --- ┆ ---     ┆ ---      ┆ ---        │
    │ str     ┆ u32        ┆ u32     ┆ f64 ┆ f64     ┆ f64      ┆ f64        │
    ╞═════════╪════════════╪═════════╪═════╪═════════╪══════════╪════════════╡
    │ ap      ┆ 2          ┆ 2       ┆ 1.0 ┆ 1.0     ┆ 1.0      ┆ 0.95       │
    │ ap      ┆ 2          ┆ 3       ┆ 1.0 ┆ 1.0     ┆ 1.0      ┆ 0.95       │
    └─────────┴────────────┴─────────┴─────┴─────────┴──────────┴────────────┘
    """
    draws = check_whole_number("samples", samples)
    check_confidence(confidence)
    check_whole_number("seed", seed, at_least=0)
    passed = PassedKeys(query, strategy, cluster=cluster, weights=weights)
    by_grader = open_results(per_query, measures, passed, missing, grader)
    return by_grader.stack_measures(
        lambda matrix: make_table(
            [
                _compute_stability(matrix, size, draws, confidence, seed)
                for size in _choose_sizes(sizes, matrix.units.n)
            ]
        )
    )


def _compute_stability(
    matrix: MeasureMatrix, size: int, draws: int, confidence: float, seed: int
) -> dict[str, Any]:
    """Return the row of `order_stability` for one measure and one size."""
    tau = np.concatenate(
        [
            _compute_taus_b(_compute_differences(matrix, indices) * matrix.sign, matrix.ordinals)
            for indices in _draw_samples(matrix, size, draws, seed)
        ]
    )
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # if all are NaN
        low, high = np.nanquantile(tau, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
        mean = np.mean(tau[~np.isnan(tau)])
    return {
        "measure": matrix.measure,
        "strategies": len(matrix.values),
        matrix.unit_name: size,
        "tau": mean,
        "tau_low": low,
        "tau_high": high,
        "confidence": float(confidence),
    }


def _choose_sizes(sizes: int | Sequence[int] | None, max_size: int) -> list[int]:
    """Return the requested sizes of samples, or default ones up to `max_size`.

    A requested size above `max_size` is an error.
    """
    if sizes is None:
        spread = np.geomspace(min(5, max_size), max_size, DEFAULT_SIZE_COUNT).round()
        return [int(size) for size in np.unique(spread)]
    return [
        check_whole_number("sizes", size, at_most=max_size) for size in check_list("sizes", sizes)
    ]


def _draw_samples(matrix: MeasureMatrix, size: int, samples: int, seed: int) -> Iterator[Integers]:
    """Yield blocks of samples: indices of units, drawn without replacement."""
    rng = np.random.default_rng(seed)
    n, count = matrix.units.n, len(matrix.values)
    for block in split_into_parts(samples, max(n, count * count)):
        indices = np.broadcast_to(np.arange(n), (block.stop - block.start, n))
        yield rng.permuted(indices, axis=1)[:, :size]


def _compute_differences(matrix: MeasureMatrix, indices: Integers) -> Floats:
    """Return the difference of means of each pair, with one row per sample of units.

    A difference within rounding errors is exactly 0.
    """
    totals, sizes = matrix.totals.values, matrix.unit_sizes
    is_drawn = np.zeros((len(indices), len(sizes)))
    np.put_along_axis(is_drawn, indices, 1.0, axis=1)
    size_of_sample = (is_drawn @ sizes)[:, np.newaxis]
    means = is_drawn @ totals.T / size_of_sample
    tolerance = (is_drawn @ matrix.totals.max_tolerances)[:, np.newaxis] / size_of_sample
    a, b = np.triu_indices(len(matrix.values), 1)
    differences: Floats = means[:, a] - means[:, b]
    differences[np.abs(differences) <= tolerance] = 0
    return differences


# Correlations of orders


@checks_call
def rank_correlation(
    per_query: pl.DataFrame | pl.LazyFrame,
    *measures: MeasureColumns,
    reference: str | None = None,
    query: Columns | None = None,
    strategy: str | None = None,
    missing: Missing = "error",
    grader: str | None = None,
) -> pl.DataFrame:
    r"""Return the correlation of the orders of strategies by two measures.

    Kendall's :math:`\tau_b` (`scipy.stats.kendalltau`) is 1 for equal orders and -1 for reversed
    orders.

    Parameters
    ----------
    per_query, *measures, query, strategy, missing, grader
        As for `compare`. At least two measures are needed, unless graders are compared.
    reference
        The measure whose order is compared with all other orders; it need not be among `measures`.
        By default each pair of measures is compared once. If graders are compared, pass a grader
        instead of a measure.

    Returns
    -------
    DataFrame
        `measure`, `reference` (both String), `strategies` (UInt32) and `tau` (Float64, from -1 to
        1). `tau` is null if one of the two measures gives all strategies the same mean, or if there
        are fewer than two strategies.

        If there are several graders and `grader` is None, graders are compared instead of measures:
        one row per measure and pair of graders. The columns `grader` and `reference` (String) name
        the two graders, and `queries` (UInt32) is the number of queries with a value from both.

    Notes
    -----
    If the lowest value of a measure is best, as for `e_measure`, the strategy with the lowest mean
    is first.

    References
    ----------
    Kendall: A new measure of rank correlation, 1938.

    Examples
    --------
    The measures disagree on the order of w and x. This is one of the six pairs of strategies:

    >>> per_query = pl.DataFrame(
    ...     {
    ...         "strategy": ["w", "x", "y", "z"],
    ...         "query": "a",
    ...         "ap": [0.75, 0.5, 0.25, 0.0],
    ...         "ndcg": [0.5, 1.0, 0.25, 0.0],
    ...     }
    ... )
    >>> rank_correlation(per_query)
    shape: (1, 4)
    ┌─────────┬───────────┬────────────┬──────────┐
    │ measure ┆ reference ┆ strategies ┆ tau      │
    │ ---     ┆ ---       ┆ ---        ┆ ---      │
    │ str     ┆ str       ┆ u32        ┆ f64      │
    ╞═════════╪═══════════╪════════════╪══════════╡
    │ ap      ┆ ndcg      ┆ 4          ┆ 0.666667 │
    └─────────┴───────────┴────────────┴──────────┘
    """
    is_further = reference not in collect_measures(measures)
    if measures and is_further and reference in per_query.collect_schema():
        measures = (*measures, str(reference))
    passed = PassedKeys(query, strategy)
    by_grader = open_results(per_query, measures, passed, missing, grader, "ignore")
    if len(by_grader.by_name) > 1:
        return _correlate_graders(by_grader, reference)
    return _correlate_measures(by_grader.only, reference)


def _correlate_measures(results: Results, reference: str | None) -> pl.DataFrame:
    """Return a row for each pair of measures."""
    ordinals = {measure: results.get_matrix(measure).ordinals for measure in results.measures}
    if len(ordinals) < 2:  # noqa: PLR2004
        msg = f"name at least two measures to correlate, got {', '.join(ordinals)}"
        raise ValueError(msg)
    rows = []
    for one, other in _pair_names([*ordinals], reference):
        row = {"measure": one, "reference": other, "strategies": len(results.strategies)}
        rows.append(row | {"tau": compute_tau_b(ordinals[one], ordinals[other])})
    return make_table(rows)


def _correlate_graders(by_grader: ResultsByGrader, reference: str | None) -> pl.DataFrame:
    """Return a row for each measure and pair of graders.

    Queries that only one of the two graders judged are left out.
    """
    rows = []
    for one, other in _pair_names([str(name) for name in by_grader.by_name], reference):
        both = by_grader.get(one), by_grader.get(other)
        order = check_same_strategies(one, other, *(each.strategies for each in both))
        for measure in both[0].measures:
            of_one, of_other = (each.get_matrix(measure) for each in both)
            of_one, of_other = of_one.restrict(of_other.queries), of_other.restrict(of_one.queries)
            row = {"measure": measure, "grader": one, "reference": other, "queries": of_one.n}
            tau = compute_tau_b(of_one.ordinals, of_other.ordinals[order])
            rows.append(row | {"strategies": len(order), "tau": tau})
    return make_table(rows).sort("measure", maintain_order=True)


def _pair_names(names: Sequence[str], reference: str | None) -> list[tuple[str, str]]:
    """Return pairs of names: each name with the reference, or each pair once."""
    if reference is None:
        return list(combinations(names, 2))
    check_choice("reference", reference, names)
    return [(name, reference) for name in names if name != reference]


def compute_tau_b(x: Floats, y: Floats) -> float:
    """Return Kendall's tau-b of two orders; NaN if one of them consists of ties only.

    An order may have many thousand strategies. Unlike `_compute_taus_b`, this function therefore
    does not list their pairs.
    """
    if min(len(np.unique(order)) for order in (x, y)) <= 1:
        return float("nan")
    from scipy.stats import kendalltau

    # scipy divides by a square root, so tau of equal orders may miss 1 by a rounding error.
    return round(float(kendalltau(x, y).statistic), 15)


def compute_correlations(x: pl.Series, y: pl.Series) -> tuple[float, float]:
    """Return Kendall's tau-b and Pearson's r; NaN if all values of x or of y are equal."""
    tau = compute_tau_b(x.to_numpy(), y.to_numpy())
    return tau, tau if math.isnan(tau) else float(np.corrcoef(x, y)[0, 1])


def _compute_taus_b(gains: Floats, reference: Floats) -> Floats:
    """Return Kendall's tau-b of many orders with a reference.

    Each order is a row of `gains`, with one number per pair of strategies: above 0 if the first is
    better, below 0 if the second is, and 0 for a tie. The value is NaN if the order or the
    reference consists of ties only.
    """
    signs = np.sign(gains)
    a, b = np.triu_indices(len(reference), 1)
    others = np.sign(reference[a] - reference[b])
    n_pairs = np.sqrt(np.count_nonzero(others) * np.count_nonzero(signs, axis=1).astype(np.float64))
    tau = np.full(len(signs), np.nan)
    np.divide(signs @ others, n_pairs, out=tau, where=n_pairs > 0)
    return tau


# Power and numbers of queries


@checks_call
def queries_needed(
    per_query: pl.DataFrame | pl.LazyFrame,
    *measures: MeasureColumns,
    difference: float = 0.02,
    power: float = 0.8,
    confidence: float = 0.95,
    cluster: Columns | None = None,
    weights: str | None = None,
    query: Columns | None = None,
    strategy: str | None = None,
    missing: Missing = "error",
    grader: str | None = None,
) -> pl.DataFrame:
    r"""Return the number of queries that make a difference significant.

    The result also contains the smallest difference that the given queries can show.

    The test is the paired t test. For strategies i and j, :math:`s_{ij}^2` is the variance, over
    the queries, of the difference between i and j. The mean of these variances over all pairs is
    :math:`s^2`. For a difference :math:`\delta`, the power of n queries follows from the noncentral
    t distribution with n - 1 degrees of freedom:

    .. math:: P \big( |T| > t_{n-1, 1 - \alpha / 2} \big) \qquad
        T \sim t_{n-1} (\delta \sqrt n / s) \qquad s^2 = \operatorname{mean}_{i < j} s_{ij}^2

    As text: ``P(|T| > t(1 - alpha / 2, n - 1)), T ~ noncentral t(n - 1, difference * sqrt(n) / s)``

    Parameters
    ----------
    per_query, *measures, query, strategy, missing, grader
        As for `compare`.
    difference
        The difference of means to look for, above 0, in the unit of the measure.
    power
        The probability that such a difference is found significant, between 0 and 1.
    confidence
        1 - α, where α is the level of significance. For m comparisons with Bonferroni's correction,
        pass 1 - α / m.
    cluster
        The columns of clusters, as for `compare`. Clusters then take the place of queries: n is
        their number, and :math:`s / \sqrt n` is the cluster-robust standard error. The result has
        the numbers of `clusters` (UInt32) and of `clusters_needed` in place of `queries_needed`.
    weights
        The column of weights of queries, as for `compare`. Then n is the effective number of
        queries, and the result has `effective_queries` (Float64) and `effective_queries_needed`,
        queries of equal weight, in place of `queries_needed`.

    Returns
    -------
    DataFrame
        One row per measure, in the order of the measures:

        - `measure` (String);
        - `queries` (UInt32), the number of given queries;
        - `std` (Float64), the value of s;
        - `difference` (Float64), as passed;
        - `queries_needed` (UInt64), the smallest number of queries that shows `difference` with the
          requested power;
        - `power` (Float64), the power of the given queries for `difference`;
        - `smallest_difference` (Float64), the smallest difference that the given queries show with
          the requested power.

        `queries_needed` is null above :math:`2^{40}` queries. `smallest_difference` is null if
        `confidence` is so high and the queries are so few that the power cannot be computed.

    See Also
    --------
    trust.power_curve : The power of any number of queries.

    Notes
    -----
    A variance estimated from few queries is uncertain. With 25 queries, the standard error of s is
    about 15 %, and the standard error of `queries_needed` is about 30 %. Do not pass the observed
    difference as `difference`, but the smallest difference that would matter. The power for an
    observed difference adds nothing to the p value of this difference (Hoenig, Heisey 2001).

    References
    ----------
    Sakai: Topic set size design, Information Retrieval Journal, 2016. Webber, Moffat, Zobel:
    Statistical power in retrieval experimentation, 2008. Cohen: Statistical power analysis for the
    behavioral sciences, 1988. Hoenig, Heisey: The abuse of power, 2001.

    Examples
    --------
    The differences are 0.25, 0.25, 0 and 0.25, with a standard deviation of 0.125. The difference
    to detect is half of this deviation:

    >>> per_query = pl.DataFrame(
    ...     {
    ...         "strategy": ["bm25"] * 4 + ["ours"] * 4,
    ...         "query": ["a", "b", "c", "d"] * 2,
    ...         "ap": [0.25, 0.5, 0.5, 0.75, 0.5, 0.75, 0.5, 1.0],
    ...     }
    ... )
    >>> queries_needed(per_query, "ap", difference=0.0625).select(
    ...     "std", "queries_needed", pl.col("power", "smallest_difference").round(4)
    ... )
    shape: (1, 4)
    ┌───────┬────────────────┬────────┬─────────────────────┐
    │ std   ┆ queries_needed ┆ power  ┆ smallest_difference │
    │ ---   ┆ ---            ┆ ---    ┆ ---                 │
    │ f64   ┆ u64            ┆ f64    ┆ f64                 │
    ╞═══════╪════════════════╪════════╪═════════════════════╡
    │ 0.125 ┆ 34             ┆ 0.1113 ┆ 0.266               │
    └───────┴────────────────┴────────┴─────────────────────┘
    """
    target = check_number("difference", difference, above=0)
    target_power = check_number("power", power, above=0, below=1)
    error_rate = check_confidence(confidence)
    passed = PassedKeys(query, strategy, cluster=cluster, weights=weights)
    by_grader = open_results(per_query, measures, passed, missing, grader)
    return by_grader.stack_measures(
        lambda matrix: _compute_needs(matrix, target, target_power, error_rate)
    )


def _name_units(matrix: MeasureMatrix) -> str:
    """Return the name of the units whose number decides, as in columns of results."""
    return matrix.unit_name if matrix.weights is None else EFFECTIVE


def _compute_needs(
    matrix: MeasureMatrix, difference: float, power: float, error_rate: float
) -> pl.DataFrame:
    """Return the row of a measure in the result of `queries_needed`."""
    std, n = _compute_pooled_std(matrix)
    effect, needed = difference / std, f"{_name_units(matrix)}_needed"
    columns = {
        "measure": [matrix.measure],
        "queries": matrix.n,
        **count_units(matrix),
        "std": std,
        "difference": difference,
        needed: find_min_queries(effect, power, error_rate),
        "power": float(compute_power(n, effect, error_rate)),
        "smallest_difference": _find_smallest_effect(n, power, error_rate) * std,
    }
    return make_table(columns, **{needed: pl.UInt64()})


@checks_call
def power_curve(
    per_query: pl.DataFrame | pl.LazyFrame,
    *measures: MeasureColumns,
    queries: Sequence[int] | None = None,
    difference: float = 0.02,
    confidence: float = 0.95,
    cluster: Columns | None = None,
    weights: str | None = None,
    query: Columns | None = None,
    strategy: str | None = None,
    missing: Missing = "error",
    grader: str | None = None,
) -> pl.DataFrame:
    """Return the power to show a difference, for several numbers of queries.

    The power is the probability that the difference is found significant.

    Parameters
    ----------
    per_query, *measures, query, strategy, difference, confidence, missing, grader
        As for `queries_needed`.
    queries
        The numbers of queries, each at least 2. Let n be the number of given queries. The default
        is up to thirty numbers, from 5 to the larger of 20 and 4 n. The result always contains n,
        too.
    cluster, weights
        As for `queries_needed`. The numbers are then those of clusters, or of queries of equal
        weight, and the column `clusters` or `effective_queries` takes the place of `queries`.

    Returns
    -------
    DataFrame
        One row per measure and number of queries:

        - `measure` (String), `queries` (UInt64) and `power` (Float64);
        - `at_hand` (Boolean), true for the number of given queries;
        - `difference` (Float64), as passed.

    See Also
    --------
    charts.sample_size_curves : Chart of the power, with the number of given queries marked.

    Examples
    --------
    >>> per_query = pl.DataFrame(
    ...     {
    ...         "strategy": ["bm25"] * 4 + ["ours"] * 4,
    ...         "query": ["a", "b", "c", "d"] * 2,
    ...         "ap": [0.25, 0.5, 0.5, 0.75, 0.5, 0.75, 0.5, 1.0],
    ...     }
    ... )
    >>> curve = power_curve(per_query, "ap", queries=[33, 34], difference=0.0625)
    >>> curve.drop("measure").with_columns(pl.col("power").round(4))
    shape: (3, 4)
    ┌─────────┬────────┬─────────┬────────────┐
    │ queries ┆ power  ┆ at_hand ┆ difference │
    │ ---     ┆ ---    ┆ ---     ┆ ---        │
    │ u64     ┆ f64    ┆ bool    ┆ f64        │
    ╞═════════╪════════╪═════════╪════════════╡
    │ 4       ┆ 0.1113 ┆ true    ┆ 0.0625     │
    │ 33      ┆ 0.7954 ┆ false   ┆ 0.0625     │
    │ 34      ┆ 0.8078 ┆ false   ┆ 0.0625     │
    └─────────┴────────┴─────────┴────────────┘
    """
    error_rate = check_confidence(confidence)
    target = check_number("difference", difference, above=0)
    counts = [
        check_whole_number("queries", number, at_least=2, at_most=MAX_QUERIES)
        for number in ([] if queries is None else check_list("queries", queries))
    ]
    passed = PassedKeys(query, strategy, cluster=cluster, weights=weights)
    by_grader = open_results(per_query, measures, passed, missing, grader)
    return by_grader.stack_measures(lambda matrix: _list_powers(matrix, counts, target, error_rate))


def _list_powers(
    matrix: MeasureMatrix, counts: Sequence[int], difference: float, error_rate: float
) -> pl.DataFrame:
    """Return the power of a measure at several numbers of queries."""
    std, n = _compute_pooled_std(matrix)
    all_counts = np.unique([*(counts or np.geomspace(5, max(20, 4 * n), 30).astype(int)), n])
    units = _name_units(matrix)
    columns = {
        "measure": [matrix.measure] * len(all_counts),
        units: all_counts,
        "power": compute_power(all_counts, difference / std, error_rate),
        "at_hand": all_counts == n,
        "difference": difference,
    }
    return make_table(columns, **{units: pl.Float64() if units == EFFECTIVE else pl.UInt64()})


def compute_power(n: Any, effect: Any, error_rate: float) -> Any:
    """Return the power of the two-sided paired t test with n queries.

    The effect is in standard deviations. With the error rate α, the power is
    P(|T| > t(1 - α/2, n - 1)), where T follows the noncentral t distribution with n - 1 degrees of
    freedom and the shift effect · √n.
    """
    from scipy.special import nctdtr, stdtrit  # faster to import than scipy.stats

    n = np.asarray(n, dtype=np.float64)
    limit = stdtrit(n - 1, error_rate / 2)
    shift = effect * np.sqrt(n)
    # The power is P(T > -limit) + P(T < limit); `limit` is negative. The first probability equals
    # P(T < limit) for `-shift`. scipy may return NaN for the second if it is close to 0, so NaN
    # counts as 0.
    return nctdtr(n - 1, -shift, limit) + np.nan_to_num(nctdtr(n - 1, shift, limit))


def _compute_pooled_std(matrix: MeasureMatrix) -> tuple[float, float]:
    """Return s, the square root of the mean variance of all pairs, and the number of units n.

    The variance of a pair is n times the squared standard error of its mean difference. So it is
    the variance of its differences over queries or clusters. With weights, n is the effective
    number of units.
    """
    units = Pairs(matrix, *np.triu_indices(len(matrix.values), 1)).units
    n = matrix.effective_number
    std = float(np.sqrt(n / units.n * (units.statistics.std**2).mean()))
    if not std:
        msg = (
            f"measure {matrix.measure!r} must have differences that vary, to compute the "
            "number of queries that it needs, got the same differences for all queries"
        )
        raise ValueError(msg)
    return std, n


def find_min_queries(effect: float, power: float, error_rate: float) -> int | None:
    """Return the smallest number of queries with at least this power.

    Return None if `MAX_QUERIES` queries have less power.
    """
    numbers = range(2, MAX_QUERIES + 1)
    index = bisect_left(numbers, power, key=lambda n: compute_power(n, effect, error_rate))
    return numbers[index] if index < len(numbers) else None


def _find_smallest_effect(n: float, power: float, error_rate: float) -> float:
    """Return the smallest effect that n queries show with this power.

    The effect is in standard deviations. Return NaN if the power cannot be computed.
    """
    from scipy.optimize import brentq

    if power <= error_rate:  # if the effect is 0, the power is the error rate
        return 0.0
    upper = 1.0  # doubled until the effect is between 0 and `upper`
    while (achieved := compute_power(n, upper, error_rate)) < power:
        upper *= 2
    if np.isnan(achieved):  # scipy has no value for so small an error rate with so few queries
        return float("nan")
    return float(
        brentq(lambda effect: compute_power(n, effect, error_rate) - power, 0, upper, xtol=1e-13)
    )
