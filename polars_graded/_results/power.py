"""Power of measures: significant pairs, and numbers of queries needed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from polars_graded._checks import (
    check_choice,
    check_level,
    check_list,
    check_number,
    check_whole_number,
)
from polars_graded._frames.arguments import Columns
from polars_graded._frames.strategies import find_pairs
from polars_graded._measuring.kernels.ragged import Floats
from polars_graded._measuring.keywords import checks_keywords
from polars_graded._results.best_values import ROUNDING, MeasureColumns
from polars_graded._results.findings import find_agreeing_pairs
from polars_graded._results.grid import ALL_QUERIES, Grid, Missing, Results
from polars_graded._results.pairs import Pairs, name_pairs
from polars_graded._results.result_sets import ResultSet, open_results
from polars_graded._results.significance import (
    CorrectionName,
    Options,
    Progress,
    TestName,
    correct_p_values,
    find_weak_tests,
    run_test,
    warn_of_tests,
)
from polars_graded._results.tables import EFFECTIVE, count_units, make_measure_table, make_table

__all__ = ["discriminative_power", "power_curve", "queries_needed", "significance_levels"]

MIN_STRATEGIES = 3
"""Minimum number of strategies. With two, the share of significant pairs could only be 0 or 1."""

Unit: TypeAlias = Literal["measure", "range"]

MAX_QUERIES = 2**40
"""Maximum number of queries to search for, far more than any data set contains."""


@checks_keywords
def discriminative_power(
    per_query: pl.DataFrame | pl.LazyFrame,
    *measures: MeasureColumns,
    test: TestName = "t",
    correction: CorrectionName | None = None,
    confidence: float = 0.95,
    cluster: Columns | None = None,
    weights: str | None = None,
    seed: int = 0,
    resamples: int = 10_000,
    progress: Progress | None = None,
    query: Columns | None = None,
    strategy: str | None = None,
    missing: Missing = "error",
    grader: str | None = None,
) -> pl.DataFrame:
    """Return the share of pairs that each measure distinguishes.

    A large share does not show that a measure is right: the measure may reward something that no
    user cares about.

    Parameters
    ----------
    per_query, *measures, query, strategy, missing, grader
        As for `compare`, with at least three strategies.
    test, correction, cluster, weights, seed, resamples, progress
        As for `compare`. The default is the paired t test with Holm's correction, as in the report
        and in `charts.comparison_matrix`, so `significant_pairs` agrees with them. Carterette
        (2012) proposes `"randomised_tukey"`.
    confidence
        A pair is distinguished if its corrected p value is at most 1 - `confidence`. With
        `test="wilcoxon"`, the ranks must also favour the same strategy as the means.

    Returns
    -------
    DataFrame
        One row per measure, in the order of the measures: `measure` (String), `test` and
        `correction` (String), `strategies`, `pairs` and `significant_pairs` (UInt32), and
        `discriminative_power`, the share of `pairs` that differ significantly (Float64, from 0 to
        1).

    See Also
    --------
    trust.significance_levels : The p values of all pairs, in order.
    trust.queries_needed : The number of queries that a measure needs.

    References
    ----------
    Sakai: Evaluating evaluation metrics based on the bootstrap, SIGIR 2006. Carterette: Multiple
    testing in statistical analysis of systems-based information retrieval experiments, 2012.
    Sakai: Metrics, statistics, tests, 2014.

    Examples
    --------
    Average precision distinguishes all three strategies; precision distinguishes only the worst
    from the others:

    >>> per_query = pl.DataFrame(
    ...     {
    ...         "strategy": ["x"] * 6 + ["y"] * 6 + ["z"] * 6,
    ...         "query": [1, 2, 3, 4, 5, 6] * 3,
    ...         "ap": [0.9, 0.8, 0.9, 0.7, 0.8, 0.9, 0.6, 0.5, 0.5, 0.4, 0.6, 0.5]
    ...         + [0.1, 0.2, 0.2, 0.1, 0.0, 0.1],
    ...         "precision@1": [1, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0],
    ...     }
    ... )
    >>> discriminative_power(per_query).drop("test", "correction")
    shape: (2, 5)
    ┌─────────────┬────────────┬───────┬───────────────────┬──────────────────────┐
    │ measure     ┆ strategies ┆ pairs ┆ significant_pairs ┆ discriminative_power │
    │ ---         ┆ ---        ┆ ---   ┆ ---               ┆ ---                  │
    │ str         ┆ u32        ┆ u32   ┆ u32               ┆ f64                  │
    ╞═════════════╪════════════╪═══════╪═══════════════════╪══════════════════════╡
    │ ap          ┆ 3          ┆ 3     ┆ 3                 ┆ 1.0                  │
    │ precision@1 ┆ 3          ┆ 3     ┆ 2                 ┆ 0.666667             │
    └─────────────┴────────────┴───────┴───────────────────┴──────────────────────┘
    """
    options = Options(test, correction, confidence, seed, resamples, progress)
    results = open_results(
        per_query,
        measures,
        query=query,
        strategy=strategy,
        cluster=cluster,
        weights=weights,
        missing=missing,
        grader=grader,
    )
    return results.stack(lambda each: _count_findings(each.read_grid(), options))


def _count_findings(grid: Grid, options: Options) -> pl.DataFrame:
    """Return the numbers of pairs, and of significant pairs, by measure."""
    rows, messages = [], dict[str, None]()
    for pairs, p in _compute_p_values(grid, options):
        messages |= dict.fromkeys(find_weak_tests([pairs], options))
        n_significant = int(np.count_nonzero(p <= options.level))
        rows.append(
            {
                "measure": pairs.results.measure,
                "test": options.test,
                "correction": options.correction,
                "strategies": len(grid.strategies),
                "pairs": len(pairs),
                "significant_pairs": n_significant,
                "discriminative_power": n_significant / len(pairs),
            }
        )
    warn_of_tests(messages)
    return make_table(rows)


@checks_keywords
def significance_levels(
    per_query: pl.DataFrame | pl.LazyFrame,
    *measures: MeasureColumns,
    test: TestName = "t",
    correction: CorrectionName | None = None,
    cluster: Columns | None = None,
    weights: str | None = None,
    seed: int = 0,
    resamples: int = 10_000,
    progress: Progress | None = None,
    query: Columns | None = None,
    strategy: str | None = None,
    missing: Missing = "error",
    grader: str | None = None,
) -> pl.DataFrame:
    """Return the p values of all pairs of strategies, in descending order.

    Draw `p_corrected` against `place`, with one line per measure. If the line of a measure is below
    all other lines at each place, this measure distinguishes the most pairs at any level of
    significance.

    Parameters
    ----------
    per_query, *measures, query, strategy, missing, grader
        As for `compare`, with at least three strategies.
    test, correction, cluster, weights, seed, resamples, progress
        As for `discriminative_power`.

    Returns
    -------
    DataFrame
        One row per measure and pair, by descending p value: `measure` (String), `place` (UInt32,
        from 1), the strategy (under the name of its column), `baseline`, `test` and `correction`
        (String), and `p_corrected` (Float64). `p_corrected` is 1 for a pair without a p value. With
        `test="wilcoxon"`, it is also 1 for a pair if the ranks and the means favour different
        strategies.

    References
    ----------
    Sakai: Evaluating evaluation metrics based on the bootstrap, SIGIR 2006, figure 4.

    Examples
    --------
    >>> per_query = pl.DataFrame(
    ...     {
    ...         "strategy": ["x"] * 4 + ["y"] * 4 + ["z"] * 4,
    ...         "query": ["a", "b", "c", "d"] * 3,
    ...         "ap": [0.5, 0.75, 0.5, 1.0, 0.25, 0.5, 0.5, 0.75, 0.5, 0.75, 0.25, 0.5],
    ...     }
    ... )
    >>> levels = significance_levels(
    ...     per_query, "ap", test="permutation", correction="none"
    ... )
    >>> levels.drop("test", "correction")
    shape: (3, 5)
    ┌─────────┬───────┬──────────┬──────────┬─────────────┐
    │ measure ┆ place ┆ strategy ┆ baseline ┆ p_corrected │
    │ ---     ┆ ---   ┆ ---      ┆ ---      ┆ ---         │
    │ str     ┆ u32   ┆ str      ┆ str      ┆ f64         │
    ╞═════════╪═══════╪══════════╪══════════╪═════════════╡
    │ ap      ┆ 1     ┆ y        ┆ z        ┆ 1.0         │
    │ ap      ┆ 2     ┆ x        ┆ z        ┆ 0.5         │
    │ ap      ┆ 3     ┆ x        ┆ y        ┆ 0.25        │
    └─────────┴───────┴──────────┴──────────┴─────────────┘
    """
    options = Options(test, correction, seed=seed, resamples=resamples, progress=progress)
    results = open_results(
        per_query,
        measures,
        query=query,
        strategy=strategy,
        cluster=cluster,
        weights=weights,
        missing=missing,
        grader=grader,
    )
    return results.stack(lambda each: _list_p_values(each.read_grid(), options))


def _list_p_values(grid: Grid, options: Options) -> pl.DataFrame:
    """Return the p values of all pairs, the largest of each measure first."""
    tables = []
    for pairs, p in _compute_p_values(grid, options):
        order = np.argsort(-p, kind="stable")
        names = name_pairs(grid.strategies, pairs.a[order], pairs.b[order])
        columns = {
            "place": np.arange(1, len(p) + 1),
            "test": options.test,
            "correction": options.correction,
            "p_corrected": p[order],
        }
        rows = make_measure_table(pairs.results.measure, ALL_QUERIES, names, columns)
        tables.append(rows.select("measure", "place", pl.exclude("measure", "place")))
    return pl.concat(tables)


def _compute_p_values(grid: Grid, options: Options) -> Iterator[tuple[Pairs, Floats]]:
    """Yield all pairs for each measure, with their corrected p values.

    The corrected p value is 1 if the test of a pair has no p value, or if the test and the means
    favour different strategies.
    """
    for pairs in _list_pairs(grid, MIN_STRATEGIES):
        outcome = run_test(pairs, options)
        p = np.nan_to_num(correct_p_values(options.correction, outcome.p), nan=1.0)
        yield pairs, np.where(find_agreeing_pairs(pairs, outcome), p, 1.0)


def _list_pairs(grid: Grid, min_strategies: int) -> Iterator[Pairs]:
    """Yield all pairs for each measure; raise if strategies are too few."""
    for results in grid.list_results(min_strategies):
        yield Pairs(results, *find_pairs(grid.strategies))


# Numbers of queries


@checks_keywords
def queries_needed(
    per_query: pl.DataFrame | pl.LazyFrame,
    *measures: MeasureColumns,
    difference: float = 0.02,
    unit: Unit = "measure",
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
        The difference of means to look for, above 0.
    unit
        The unit of `difference`. With `"measure"`, a difference of 0.02 is 0.02 in the values of
        the measure. With `"range"`, 0.02 is 2 % of the range of the means: the highest mean of a
        strategy minus the lowest mean. Use `"range"` to compare measures with different scales.
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
        - `difference` (Float64), in the unit of the measure;
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
    target_power = check_number("power", power, above=0, below=1)
    level = check_level(confidence)
    results = open_results(
        per_query,
        measures,
        query=query,
        strategy=strategy,
        cluster=cluster,
        weights=weights,
        missing=missing,
        grader=grader,
    )

    def list_needs(each: ResultSet) -> pl.DataFrame:
        grid = each.read_grid()
        rows = [
            compute_needs(
                pairs, _find_target_difference(pairs, difference, unit)[0], target_power, level
            )
            for pairs in _list_pairs(grid, 2)
        ]
        return make_table(rows, **{f"{_name_units(grid)}_needed": pl.UInt64()})

    return results.stack(list_needs)


def _name_units(grid: Grid | Results) -> str:
    """Return the name of the units whose number decides, as in columns of results."""
    if grid.weights is not None:
        return EFFECTIVE
    return "queries" if grid.clusters is None else "clusters"


def compute_needs(pairs: Pairs, difference: float, power: float, level: float) -> dict[str, Any]:
    """Return the row of a measure in the result of `queries_needed`."""
    std, n = _compute_pooled_std(pairs)
    effect = difference / std
    return {
        "measure": pairs.results.measure,
        "queries": pairs.n,
        **{name: numbers.item() for name, numbers in count_units(pairs.results, 1).items()},
        "std": std,
        "difference": difference,
        f"{_name_units(pairs.results)}_needed": find_min_queries(effect, power, level),
        "power": float(compute_power(n, effect, level)),
        "smallest_difference": _find_smallest_effect(n, power, level) * std,
    }


@checks_keywords
def power_curve(
    per_query: pl.DataFrame | pl.LazyFrame,
    *measures: MeasureColumns,
    queries: Sequence[int] | None = None,
    difference: float = 0.02,
    unit: Unit = "measure",
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
    per_query, *measures, query, strategy, difference, unit, confidence, missing, grader
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
        - `difference` (Float64), the difference to detect, in the unit of the measure;
        - `share_of_range` (Float64), this difference divided by the range of the means; null if all
          means are equal.

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
    shape: (3, 5)
    ┌─────────┬────────┬─────────┬────────────┬────────────────┐
    │ queries ┆ power  ┆ at_hand ┆ difference ┆ share_of_range │
    │ ---     ┆ ---    ┆ ---     ┆ ---        ┆ ---            │
    │ u64     ┆ f64    ┆ bool    ┆ f64        ┆ f64            │
    ╞═════════╪════════╪═════════╪════════════╪════════════════╡
    │ 4       ┆ 0.1113 ┆ true    ┆ 0.0625     ┆ 0.333333       │
    │ 33      ┆ 0.7954 ┆ false   ┆ 0.0625     ┆ 0.333333       │
    │ 34      ┆ 0.8078 ┆ false   ┆ 0.0625     ┆ 0.333333       │
    └─────────┴────────┴─────────┴────────────┴────────────────┘
    """
    level = check_level(confidence)
    numbers = None
    if queries is not None:
        numbers = [
            check_whole_number("queries", number, at_least=2, at_most=MAX_QUERIES)
            for number in check_list("queries", queries)
        ]
    results = open_results(
        per_query,
        measures,
        query=query,
        strategy=strategy,
        cluster=cluster,
        weights=weights,
        missing=missing,
        grader=grader,
    )
    return results.stack(
        lambda each: _list_powers(each.read_grid(), numbers, difference, unit, level)
    )


def _list_powers(
    grid: Grid, numbers: Sequence[int] | None, difference: float, unit: Unit, level: float
) -> pl.DataFrame:
    """Return the power at several numbers of queries, by measure."""
    tables, units = [], _name_units(grid)
    for pairs in _list_pairs(grid, 2):
        std, n = _compute_pooled_std(pairs)
        target, share = _find_target_difference(pairs, difference, unit)
        counts = np.geomspace(5, max(20, 4 * n), 30).astype(int) if numbers is None else numbers
        all_counts = np.unique([*counts, n])
        columns = {
            "measure": [pairs.results.measure] * len(all_counts),
            units: all_counts,
            "power": compute_power(all_counts, target / std, level),
            "at_hand": all_counts == n,
            "difference": [target] * len(all_counts),
            "share_of_range": [share] * len(all_counts),
        }
        dtypes = {units: pl.UInt64() if grid.weights is None else pl.Float64()}
        tables.append(make_table(columns, **dtypes, share_of_range=pl.Float64()))
    return pl.concat(tables)


def _find_target_difference(
    pairs: Pairs, difference: float, unit: Unit
) -> tuple[float, float | None]:
    """Return the difference to detect, and its share of the range.

    The difference is in the unit of the measure. The range is the highest mean of a strategy minus
    the lowest mean. If all means are equal, the share is None.
    """
    amount = check_number("difference", difference, above=0)
    check_choice("unit", unit, ("measure", "range"))
    span = float(np.ptp(pairs.results.compute_means(pairs.results.values)))
    span = span if span > ROUNDING * pairs.results.floor else 0.0
    if unit == "measure":
        return amount, amount / span if span else None
    if not span:
        msg = (
            f"measure {pairs.results.measure!r} must have different means for unit='range', got "
            "the same mean for all strategies"
        )
        raise ValueError(msg)
    return amount * span, amount


def compute_power(n: Any, effect: Any, alpha: float) -> Any:
    """Return the power of the two-sided paired t test with n queries.

    The effect is in standard deviations. The power is P(|T| > t(1 - α/2, n - 1)), where T follows
    the noncentral t distribution with n - 1 degrees of freedom and the shift effect · √n.
    """
    from scipy.special import nctdtr, stdtrit  # faster to import than scipy.stats

    n = np.asarray(n, dtype=np.float64)
    limit = stdtrit(n - 1, alpha / 2)
    shift = effect * np.sqrt(n)
    # The power is P(T > -limit) + P(T < limit); `limit` is negative. The first probability equals
    # P(T < limit) for `-shift`. scipy may return NaN for the second if it is close to 0, so NaN
    # counts as 0.
    return nctdtr(n - 1, -shift, limit) + np.nan_to_num(nctdtr(n - 1, shift, limit))


def _compute_pooled_std(pairs: Pairs) -> tuple[float, float]:
    """Return s, the square root of the mean variance of all pairs, and the number of units n.

    The variance of a pair is n times the squared standard error of its mean difference. So it is
    the variance of its differences over queries or clusters. With weights, n is the effective
    number of units.
    """
    units, n = pairs.units, pairs.results.effective_number
    std = float(np.sqrt(n / units.n * (units.statistics.std**2).mean()))
    if not std:
        msg = (
            f"measure {pairs.results.measure!r} must have differences that vary, to compute the "
            "number of queries that it needs, got the same differences for all queries"
        )
        raise ValueError(msg)
    return std, n


def find_min_queries(effect: float, power: float, alpha: float) -> int | None:
    """Return the smallest number of queries with at least this power.

    Return None if `MAX_QUERIES` queries have less power.
    """
    numbers = range(2, MAX_QUERIES + 1)
    index = bisect_left(numbers, power, key=lambda n: compute_power(n, effect, alpha))
    return numbers[index] if index < len(numbers) else None


def _find_smallest_effect(n: float, power: float, alpha: float) -> float:
    """Return the smallest effect that n queries show with this power.

    The effect is in standard deviations. Return NaN if the power cannot be computed.
    """
    from scipy.optimize import brentq

    if power <= alpha:  # if the effect is 0, the power is alpha
        return 0.0
    upper = 1.0  # doubled until the effect is between 0 and `upper`
    while (achieved := compute_power(n, upper, alpha)) < power:
        upper *= 2
    if np.isnan(achieved):  # scipy has no value for so small an alpha with so few queries
        return float("nan")
    return float(
        brentq(lambda effect: compute_power(n, effect, alpha) - power, 0, upper, xtol=1e-13)
    )
