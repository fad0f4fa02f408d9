"""Means of strategies, their comparisons in pairs, in segments and by query, and their ranks.

Each measure in the frame that `evaluate` returns becomes an array with one row per strategy and one
column per query. All statistics are computed from these arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from polars_graded._checks import check_choice, check_confidence, check_number
from polars_graded._frames.arguments import Columns
from polars_graded._frames.strategies import find_index, find_pairs
from polars_graded._measuring.kernels.ragged import Floats, Integers, Mask
from polars_graded._measuring.keywords import checks_call
from polars_graded._results.findings import is_significant
from polars_graded._results.keys import PassedKeys, check_independence
from polars_graded._results.measure_values import (
    MIN_VALUES,
    MeasureColumns,
    MeasureMatrix,
    Pairs,
    check_has_best,
    compute_mean_and_std,
    compute_mean_intervals,
    compute_weighted_medians,
    divide,
    name_pairs,
    rank_densely,
)
from polars_graded._results.results import (
    ALL_QUERIES,
    EFFECTIVE,
    Missing,
    Results,
    check_free_names,
    count_units,
    make_measure_table,
    open_results,
)
from polars_graded._results.significance import (
    CORRECTIONS,
    CorrectionName,
    Options,
    TestName,
    compute_tests,
    correct_p_values,
    estimate_differences,
    find_weak_tests,
    run_test,
)
from polars_graded._warnings import DataWarning, warn_the_caller

__all__ = ["compare", "compare_segments", "differences", "rank_strategies", "summarise"]

MAX_CONDITION = 1e12
"""Maximum condition number of covariances; with a larger one they count as singular."""

RANK_COLUMNS = ("untested", "rank", "rank_low", "rank_high", "group")
"""Columns of `rank_strategies` that neither `summarise` nor `compare` has."""

GEOMETRIC_FLOOR = 1e-5
"""Value that replaces smaller ones in a geometric mean, as in trec_eval."""

LETTERS = "abcdefghijklmnoprstuvwxyz"
"""Names of groups, and of strategies in a table. "q" is left out: it has no superscript form."""


# Means of strategies


@checks_call
def summarise(
    per_query: pl.DataFrame | pl.LazyFrame,
    *measures: MeasureColumns,
    segments: str | Sequence[str] | None = None,
    confidence: float = 0.95,
    cluster: Columns | None = None,
    weights: str | None = None,
    query: Columns | None = None,
    strategy: str | None = None,
    missing: Missing = "error",
    grader: str | None = None,
) -> pl.DataFrame:
    r"""Summarise each strategy's results: mean, interval, median and deviation.

    .. math:: \bar x = \frac{1}{n} \sum_q x_q \qquad
        s^2 = \frac{1}{n - 1} \sum_q (x_q - \bar x)^2 \qquad
        g = \exp \Big( \frac{1}{n} \sum_q \ln \max(x_q, 0.00001) \Big)

    As text: ``mean = ∑ x(q) / n; s² = ∑ (x(q) - mean)² / (n - 1);
    g = exp(∑ ln(max(x(q), 0.00001)) / n)``

    Parameters
    ----------
    per_query, *measures, query, strategy, segments, missing, grader, cluster
        As for `compare`. With `cluster`, intervals use cluster-robust standard errors.
    weights
        The column that states how much each query counts, such as its number of searches. All
        statistics are then weighted. A query of weight 0 is left out, and its weight must not be
        null or negative. The page "Compare strategies" has the formulas.
    confidence
        The confidence of the interval, between 0 and 1.

    Returns
    -------
    DataFrame
        One row per measure, segment and strategy, in this order. Columns are Float64 unless stated
        otherwise:

        - `measure` (String), the segments, the strategy (under the name of its column), `queries`
          and with `cluster` the number of `clusters` (UInt32), with `weights` Kish's effective
          number of queries, `effective_queries`, and `median`;
        - `geometric_mean` (:math:`g`), which for `ap` is GMAP; values below 0.00001 count as
          0.00001, as in trec_eval, since a single 0 would otherwise make the result 0;
        - `best` (String, null if unknown), which value is best, as for `compare`; `confidence`;
        - `mean`, and `std` (:math:`s`, null for one query);
        - `ci_low`, `ci_high`: Student's interval of the mean,
          :math:`\bar x \pm t_{n-1} s / \sqrt n`, null if there are fewer than two queries or all
          values are equal.

    References
    ----------
    Robertson: On GMAP, and other transformations, 2006.

    Examples
    --------
    >>> per_query = pl.DataFrame(
    ...     {"strategy": "bm25", "query": ["a", "b", "c"], "ap": [0.25, 0.5, 1.0]}
    ... )
    >>> summarise(per_query, "ap").select("strategy", "queries", "median", "geometric_mean")
    shape: (1, 4)
    ┌──────────┬─────────┬────────┬────────────────┐
    │ strategy ┆ queries ┆ median ┆ geometric_mean │
    │ ---      ┆ ---     ┆ ---    ┆ ---            │
    │ str      ┆ u32     ┆ f64    ┆ f64            │
    ╞══════════╪═════════╪════════╪════════════════╡
    │ bm25     ┆ 3       ┆ 0.5    ┆ 0.5            │
    └──────────┴─────────┴────────┴────────────────┘

    The traffic of each query, joined to the results, gives its weight:

    >>> traffic = pl.DataFrame({"query": ["a", "b", "c"], "searches": [200, 100, 100]})
    >>> summarise(per_query.join(traffic, on="query"), "ap", weights="searches").select(
    ...     "strategy", "queries", "effective_queries", "median", "mean"
    ... )
    shape: (1, 5)
    ┌──────────┬─────────┬───────────────────┬────────┬──────┐
    │ strategy ┆ queries ┆ effective_queries ┆ median ┆ mean │
    │ ---      ┆ ---     ┆ ---               ┆ ---    ┆ ---  │
    │ str      ┆ u32     ┆ f64               ┆ f64    ┆ f64  │
    ╞══════════╪═════════╪═══════════════════╪════════╪══════╡
    │ bm25     ┆ 3       ┆ 2.666667          ┆ 0.375  ┆ 0.5  │
    └──────────┴─────────┴───────────────────┴────────┴──────┘
    """
    check_confidence(confidence)
    passed = PassedKeys(query, strategy, segments=segments, cluster=cluster, weights=weights)
    by_grader = open_results(per_query, measures, passed, missing, grader)
    return by_grader.stack(lambda results: summarise_results(results, confidence))


def summarise_results(results: Results, confidence: float) -> pl.DataFrame:
    """Return the table of `summarise` for one grader."""
    return pl.concat(
        make_measure_table(
            measure, [results.strategies], segment, _compute_summary(matrix, confidence)
        )
        for measure in results.measures
        for segment, matrix in results.split_segments(measure)
    )


def _compute_summary(matrix: MeasureMatrix, confidence: float) -> dict[str, Any]:
    """Return the statistics of each strategy."""
    values, n, shares = matrix.values, matrix.n, matrix.shares
    mean, low, high = compute_mean_intervals(matrix, confidence)
    # numpy warns if it averages no values. So without queries, average a NaN: the result is NaN.
    samples = values if n else np.full((len(values), 1), np.nan)
    logarithms = np.log(np.maximum(samples, GEOMETRIC_FLOOR))
    if shares is None:
        median, log_mean = np.median(samples, axis=1), logarithms.mean(axis=1)
    else:
        median, log_mean = compute_weighted_medians(samples, shares), logarithms @ shares
    return {
        "queries": n,
        **count_units(matrix),
        "median": median,
        "geometric_mean": np.exp(log_mean),
        "best": matrix.best,
        "confidence": confidence,
        "mean": mean,
        "std": compute_mean_and_std(values, shares)[1],
        "ci_low": low,
        "ci_high": high,
    }


# Differences of pairs


@checks_call
def compare(
    per_query: pl.DataFrame | pl.LazyFrame,
    *measures: MeasureColumns,
    segments: str | Sequence[str] | None = None,
    baseline: Any = None,
    test: TestName = "t",
    correction: CorrectionName | None = None,
    confidence: float = 0.95,
    rope: float | None = None,
    cluster: Columns | None = None,
    weights: str | None = None,
    seed: int = 0,
    resamples: int = 10_000,
    query: Columns | None = None,
    strategy: str | None = None,
    missing: Missing = "error",
    grader: str | None = None,
) -> pl.DataFrame:
    r"""Compare strategies in pairs: differences, intervals and p values.

    Each row of the result is one pair by one measure. With a baseline, each strategy is paired with
    it; otherwise each pair occurs once. Differences are strategy minus baseline, paired by query.
    The page "Compare strategies" of the documentation has all formulas and rules.

    Parameters
    ----------
    per_query
        One row per strategy and query with one column per measure, as `evaluate` returns it.
    *measures
        The columns to compare, or lists of them; by default all columns with the name of a measure.
        A mapping specifies the measure, or the best value, of a column with another name: `{"E":
        "e_measure(b=2)@10", "seconds": "lowest"}`.
    query, strategy
        The columns of queries (one or several) and of strategies; by default `"query"` and
        `"strategy"`, or the only columns that could be these keys.
    segments
        The column of segments of queries, such as countries, or several. Each segment is compared
        separately.
    baseline
        The strategy with which all others are compared, or a list of several.
    test
        `"t"` (paired), `"permutation"` or `"randomised_tukey"` (all strategies at once). The page
        "Compare strategies" has the calls of SciPy for other tests.
    correction
        The correction of all p values of a measure: `"holm"` (the default), `"bonferroni"`,
        `"benjamini_hochberg"` or `"none"`.
    confidence
        The confidence of the intervals, between 0 and 1.
    rope
        The largest mean difference, in either direction, that is negligible in practice.
    cluster
        The column of independent units, such as the search term of queries on several devices, or
        several columns. The test must be `"t"` or `"permutation"`.
    weights
        The column of weights of queries, as for `summarise`. The tests are those for `cluster`.
    missing
        The treatment of a missing query of a strategy, or of a null or NaN: `"error"`, `"drop"`
        (leaves out the query) or `"zero"`. A query with null for all strategies is left out.
    grader
        The grader whose results are compared; by default each grader separately.
    seed
        The same seed gives the same result for a measure, independent of the other measures.
    resamples
        The number of resamples of a test.

    Returns
    -------
    DataFrame
        In the order of measures, segments and pairs. Columns are Float64 unless stated otherwise:

        - `measure` (String), the segments, `strategy` (under the name of that column) and
          `baseline`; `queries` (UInt32), with `cluster` the number of `clusters` (UInt32), and with
          `weights` the `effective_queries`;
        - `best` (String): `"highest"`, `"lowest"` or `"none"`;
        - `mean`, `baseline_mean`, and `relative_difference`, `difference` over `baseline_mean`;
        - `d_z`, Cohen's effect size for pairs; `wins`, `ties`, `losses` (UInt32) count queries;
        - with `rope`: `rope`, `probability_better`, `probability_equal`, `probability_worse`;
        - `test` and `correction` (String) of the following columns;
        - `p_value`, and `simultaneous_low` to `simultaneous_high`, the interval that agrees with
          `p_corrected`: it excludes 0 if, and only if, `p_corrected` is at most 1 - `confidence`;
        - `confidence`; `difference`, and its own interval, `ci_low` to `ci_high`; `p_corrected`.

        If a difference is the same in every query, and not 0, p values and intervals of the t test
        are null, with a warning.

    Raises
    ------
    ValueError
        If a strategy is null or has a query twice; if a value is infinite, or missing although
        `missing` does not allow that; if the judgments of a query differ between strategies.

    See Also
    --------
    summarise : Means of each strategy.
    compare_segments : Tests whether a difference varies between segments.

    References
    ----------
    Smucker, Allan, Carterette: A comparison of statistical significance tests for information
    retrieval evaluation, 2007.

    Examples
    --------
    >>> per_query = pl.DataFrame(
    ...     {
    ...         "strategy": ["bm25"] * 4 + ["ours"] * 4,
    ...         "query": ["a", "b", "c", "d"] * 2,
    ...         "ap": [0.25, 0.5, 0.5, 0.75, 0.5, 0.75, 0.5, 1.0],
    ...     }
    ... )
    >>> result = compare(per_query, baseline="bm25", test="permutation", confidence=0.8)
    >>> result.select("mean", "baseline_mean", "difference", "wins", "ties", "d_z", "p_value")
    shape: (1, 7)
    ┌────────┬───────────────┬────────────┬──────┬──────┬─────┬─────────┐
    │ mean   ┆ baseline_mean ┆ difference ┆ wins ┆ ties ┆ d_z ┆ p_value │
    │ ---    ┆ ---           ┆ ---        ┆ ---  ┆ ---  ┆ --- ┆ ---     │
    │ f64    ┆ f64           ┆ f64        ┆ u32  ┆ u32  ┆ f64 ┆ f64     │
    ╞════════╪═══════════════╪════════════╪══════╪══════╪═════╪═════════╡
    │ 0.6875 ┆ 0.5           ┆ 0.1875     ┆ 3    ┆ 1    ┆ 1.5 ┆ 0.25    │
    └────────┴───────────────┴────────────┴──────┴──────┴─────┴─────────┘
    """
    options = Options(test, correction, confidence, seed, resamples)
    margin = None if rope is None else check_number("rope", rope, at_least=0)
    passed = PassedKeys(query, strategy, segments=segments, cluster=cluster, weights=weights)
    by_grader = open_results(per_query, measures, passed, missing, grader)
    return by_grader.stack(lambda results: compare_results(results, options, baseline, margin))


@checks_call
def differences(
    per_query: pl.DataFrame | pl.LazyFrame,
    measure: MeasureColumns,
    a: Any,
    b: Any,
    *,
    query: Columns | None = None,
    strategy: str | None = None,
    missing: Missing = "error",
    grader: str | None = None,
) -> pl.DataFrame:
    """Return the values of two strategies and their difference, by query.

    A precision histogram shows these differences.

    .. math:: d(q) = value_a(q) - value_b(q)

    As text: ``d(q) = value_a(q) - value_b(q)``

    Parameters
    ----------
    per_query, query, strategy, missing, grader
        As for `compare`. Strategies other than the two are ignored.
    measure
        The column to compare, such as `"r_precision"` for a precision histogram. A mapping names
        the measure of a column, as for `compare`.
    a, b
        The two strategies.

    Returns
    -------
    DataFrame
        One row per query, by descending difference, and by query if differences are equal: the
        query (under the name of its column or columns); `value_a`, `value_b` and `difference`,
        which is `value_a` minus `value_b` (all three Float64); and `winner`, the better of the two
        strategies, null for a tie. If no value of the measure is best, as with
        `measure={"clicks": "none"}`, the strategy with the higher value wins. Ties are defined as
        for `compare`.

    References
    ----------
    Chen, B. Retrieval evaluation (slides), precision histograms.

    Examples
    --------
    >>> per_query = pl.DataFrame(
    ...     {
    ...         "strategy": ["bm25"] * 3 + ["ours"] * 3,
    ...         "query": ["a", "b", "c"] * 2,
    ...         "r_precision": [0.5, 1.0, 0.25, 0.5, 0.75, 0.75],
    ...     }
    ... )
    >>> differences(per_query, "r_precision", "ours", "bm25")
    shape: (3, 5)
    ┌───────┬─────────┬─────────┬────────────┬────────┐
    │ query ┆ value_a ┆ value_b ┆ difference ┆ winner │
    │ ---   ┆ ---     ┆ ---     ┆ ---        ┆ ---    │
    │ str   ┆ f64     ┆ f64     ┆ f64        ┆ str    │
    ╞═══════╪═════════╪═════════╪════════════╪════════╡
    │ c     ┆ 0.75    ┆ 0.25    ┆ 0.5        ┆ ours   │
    │ a     ┆ 0.5     ┆ 0.5     ┆ 0.0        ┆ null   │
    │ b     ┆ 0.75    ┆ 1.0     ┆ -0.25      ┆ bm25   │
    └───────┴─────────┴─────────┴────────────┴────────┘
    """
    passed = PassedKeys(query, strategy)
    by_grader = open_results(per_query, [measure], passed, missing, grader, "ignore")
    return by_grader.stack(lambda results: _list_differences(results, a, b))


def _list_differences(results: Results, a: Any, b: Any) -> pl.DataFrame:
    """Return the values of two strategies for each query, and the better strategy."""
    keys = results.keys
    check_free_names(["value_a", "value_b", "difference", "winner"], query=keys.query)
    if len(results.measures) > 1:
        msg = f"`measure` must name one column, got {', '.join(results.measures)}"
        raise ValueError(msg)
    both = results.strategies[[find_index(results.strategies, name) for name in (a, b)]]
    if both.n_unique() == 1:
        msg = f"`a` and `b` must be two strategies, got {a!r} twice"
        raise ValueError(msg)
    # Values that other strategies lack do not matter.
    results = replace(
        results, rows=results.rows.filter(pl.col(keys.strategy).is_in(both.implode()))
    )
    i, j = (find_index(results.strategies, name) for name in (a, b))
    matrix = results.get_matrix(results.measures[0])
    [difference] = matrix.compute_differences(np.array([i]), np.array([j]))
    better = np.sign(difference) * matrix.sign
    # The sign is an index into this list: 0 gives None (a tie), 1 gives i, -1 (the last item) j.
    winner = pl.Series([None, i, j], dtype=pl.UInt32)[better.astype(np.int64)]
    queries = matrix.queries
    table = queries.to_frame() if len(keys.query_columns) == 1 else queries.struct.unnest()
    table = table.with_columns(
        value_a=matrix.values[i],
        value_b=matrix.values[j],
        difference=difference,
        winner=results.strategies.gather(winner),
    )
    return table.sort(rank_densely(table["difference"]), descending=True, maintain_order=True)


# From arrays to a frame


def compare_results(
    results: Results,
    options: Options,
    baseline: Any = None,
    rope: float | None = None,
) -> pl.DataFrame:
    """Return the result of `compare` for one grader."""
    a, b = find_pairs(results.strategies, baseline)
    pair_columns = name_pairs(results.strategies, a, b)
    tables, messages = [], dict[str, None]()
    for measure in results.measures:
        segments, matrices = zip(*results.split_segments(measure), strict=True)
        by_segment = [Pairs(matrix, a, b) for matrix in matrices]
        statistics = _compute_statistics(by_segment, options, rope)
        tables += [
            make_measure_table(measure, pair_columns, segment, columns)
            for segment, columns in zip(segments, statistics, strict=True)
        ]
        messages |= dict.fromkeys(find_weak_tests(by_segment, options))
    for message in messages:
        warn_the_caller(DataWarning.tests, message)
    return pl.concat(tables)


def _compute_statistics(
    by_segment: Sequence[Pairs], options: Options, rope: float | None
) -> Iterator[dict[str, Any]]:
    """Yield the statistics of the pairs of each segment, with the main results last."""
    outcomes = [run_test(pairs, options) for pairs in by_segment]
    tests = compute_tests(outcomes, options.correction, options.error_rate)
    for pairs, outcome, columns_of_test in zip(by_segment, outcomes, tests, strict=True):
        difference, std, higher, lower = pairs.statistics
        mean, baseline_mean = pairs.means
        low, high = outcome.interval(np.full(len(pairs), options.error_rate))
        wins, losses = (higher, lower) if pairs.matrix.higher_is_better else (lower, higher)
        p_corrected = columns_of_test.pop("p_corrected")
        yield {
            "queries": pairs.n,
            **count_units(pairs.matrix),
            "best": pairs.matrix.best,
            "mean": mean,
            "baseline_mean": baseline_mean,
            "relative_difference": divide(difference, baseline_mean),
            "d_z": divide(difference, std),
            "wins": wins,
            "ties": pairs.n - higher - lower,
            "losses": losses,
            **({} if rope is None else _compute_equivalence(pairs, rope)),
            "test": options.test,
            "correction": options.correction,
            **columns_of_test,
            "confidence": options.confidence,
            "difference": difference,
            "ci_low": low,
            "ci_high": high,
            "p_corrected": p_corrected,
        }


def _compute_equivalence(pairs: Pairs, rope: float) -> dict[str, Any]:
    """Return the probabilities that a strategy is better, equal in practice or worse."""
    from scipy.special import stdtr

    mean, std, *_ = pairs.statistics
    estimate = estimate_differences(pairs)
    # If all queries tie, the difference is certain to be 0.
    error, ties = estimate.error, (std == 0) & (mean == 0)
    up = mean * pairs.matrix.sign
    better, worse = (
        np.where(ties, 0, stdtr(estimate.n - 1, (gain - rope) / error)) for gain in (up, -up)
    )
    return {
        "rope": rope,
        "probability_better": better,
        "probability_equal": 1 - better - worse,
        "probability_worse": worse,
    }


# Differences that vary between segments


@checks_call
def compare_segments(
    per_query: pl.DataFrame | pl.LazyFrame,
    *measures: MeasureColumns,
    segments: str | Sequence[str],
    baseline: Any = None,
    correction: CorrectionName = "holm",
    cluster: Columns | None = None,
    weights: str | None = None,
    query: Columns | None = None,
    strategy: str | None = None,
    missing: Missing = "error",
    grader: str | None = None,
) -> pl.DataFrame:
    r"""Test whether a difference of two strategies varies between segments.

    If a difference is significant in one country and not in another, it may still be the same in
    both (Gelman, Stern 2006). Welch's analysis of variance tests whether the mean difference of the
    two strategies varies between segments; for two segments it is Welch's t test. There are k
    segments. Segment j has :math:`n_j` queries, whose differences have the mean :math:`\bar d_j`
    and the standard deviation :math:`s_j`. The statistic is

    .. math:: w_j = \frac{n_j}{s_j^2} \qquad
        \bar d = \frac{\sum_j w_j \bar d_j}{\sum_j w_j} \qquad
        \Lambda = \sum_j \frac{(1 - w_j / \sum_i w_i)^2}{n_j - 1}

        F = \frac{\sum_j w_j (\bar d_j - \bar d)^2 / (k - 1)}
        {1 + 2 \Lambda (k - 2) / (k^2 - 1)} \qquad \nu = \frac{k^2 - 1}{3 \Lambda}

    If the mean difference is the same in all segments, F approximately follows the F distribution
    with k - 1 and :math:`\nu` degrees of freedom.

    As text: ``w(j) = n(j) / s(j)²; d = ∑ w(j) d(j) / ∑ w(j);
    L = ∑ (1 - w(j) / ∑ w)² / (n(j) - 1);
    F = (∑ w(j) (d(j) - d)² / (k - 1)) / (1 + 2 L (k - 2) / (k² - 1)); ν = (k² - 1) / (3 L)``

    Parameters
    ----------
    per_query, *measures, query, strategy, baseline, missing, grader
        As for `compare`.
    segments
        The column that contains the segment of each query, or several such columns. A segment with
        fewer than two queries, or fewer than two clusters, is left out.
    correction
        The correction of p values, as for `compare`. The p values of all pairs of a measure are
        corrected together.
    cluster, weights
        The columns of clusters, and the column of weights, as for `compare` (Notes).

    Returns
    -------
    DataFrame
        One row per measure and pair, in the order of `compare`. The first columns are `measure`
        (String), the strategy (under the name of its column) and `baseline`. `segments` and
        `queries` (UInt32) are the numbers of segments and of queries in the test, and with
        `cluster`, `clusters` is the number of clusters (UInt32). `smallest` and
        `largest` are the smallest and the largest mean difference of a segment. `f` is the
        statistic F, and `df` is :math:`\nu`. The last columns are `p_value` and `p_corrected`. All
        columns from `smallest` on are Float64. `f`, `df`, `p_value` and `p_corrected` are null with
        fewer than two segments, or if a segment has the same difference in all of its queries.

    See Also
    --------
    compare : With `segments`, the differences in each segment.

    Notes
    -----
    With `cluster`, :math:`n_j` is the number of clusters of segment j, and :math:`s_j / \sqrt{n_j}`
    is the cluster-robust standard error of :math:`\bar d_j`, as for `compare`. If clusters have
    queries in several segments, Hotelling's test with the cluster-robust covariances of all
    :math:`\bar d_j` replaces Welch's. Its numbers of degrees of freedom are k - 1 and `df`, which
    is m - k + 1 if the segment with the fewest clusters has m of them.

    With `weights`, :math:`n_j` is effective, and the result has the `effective_queries` of all.

    References
    ----------
    Hotelling: The generalization of Student's ratio, 1931.
    Welch: On the comparison of several mean values: an alternative approach, Biometrika, 1951.
    Gelman, Stern: The difference between "significant" and "not significant" is not itself
    statistically significant, 2006.

    Examples
    --------
    With two segments, F is the squared t of Welch: (0.4 - 0.1)² / (0.01 / 3 + 0.01 / 3):

    >>> per_query = pl.DataFrame(
    ...     {
    ...         "strategy": ["bm25"] * 6 + ["ours"] * 6,
    ...         "country": ["DE", "DE", "DE", "FR", "FR", "FR"] * 2,
    ...         "query": [1, 2, 3, 4, 5, 6] * 2,
    ...         "ap": [0.5] * 6 + [0.5, 0.6, 0.7, 0.8, 0.9, 1.0],
    ...     }
    ... )
    >>> compare_segments(per_query, segments="country", baseline="bm25").select(
    ...     "strategy", pl.col("smallest", "largest", "f", "df", "p_value").round(4)
    ... )
    shape: (1, 6)
    ┌──────────┬──────────┬─────────┬──────┬─────┬─────────┐
    │ strategy ┆ smallest ┆ largest ┆ f    ┆ df  ┆ p_value │
    │ ---      ┆ ---      ┆ ---     ┆ ---  ┆ --- ┆ ---     │
    │ str      ┆ f64      ┆ f64     ┆ f64  ┆ f64 ┆ f64     │
    ╞══════════╪══════════╪═════════╪══════╪═════╪═════════╡
    │ ours     ┆ 0.1      ┆ 0.4     ┆ 13.5 ┆ 4.0 ┆ 0.0213  │
    └──────────┴──────────┴─────────┴──────┴─────┴─────────┘
    """
    check_choice("correction", correction, CORRECTIONS)
    passed = PassedKeys(query, strategy, segments=segments, cluster=cluster, weights=weights)
    by_grader = open_results(per_query, measures, passed, missing, grader, "ignore")
    for results in by_grader.by_name.values():  # queries of two segments may depend on each other
        check_independence(results.rows, replace(results.keys, segments=()))
    return by_grader.stack(lambda results: compute_interactions(results, baseline, correction))


def compute_interactions(
    results: Results, baseline: Any = None, correction: CorrectionName = "holm"
) -> pl.DataFrame:
    """Return the table of `compare_segments` for one grader, with segments."""
    a, b = find_pairs(results.strategies, baseline)
    pair_columns, tables = name_pairs(results.strategies, a, b), []
    for measure in results.measures:
        by_segment = [
            Pairs(matrix, a, b)
            for _, matrix in results.split_segments(measure)
            if matrix.effective_number >= MIN_VALUES
        ]
        shape = len(by_segment), len(a)
        mean, std = (
            np.reshape([getattr(pairs.units.statistics, name) for pairs in by_segment], shape)
            for name in ("mean", "std")
        )
        n = np.reshape([pairs.units.n for pairs in by_segment], (-1, 1))
        effective = np.reshape([pairs.matrix.effective_number for pairs in by_segment], (-1, 1))
        clusters = _list_clusters(by_segment)
        if clusters is not None and len(clusters) < n.sum():
            f, df, p = _compute_hotelling(by_segment, clusters, mean, std)
        else:
            f, df, p = _compute_welch(effective, mean, std * np.sqrt(effective / n))
        means = mean if by_segment else np.full((1, len(a)), np.nan)
        counts = count_units(results.get_matrix(measure))
        if "clusters" in counts:
            counts["clusters"] = 0 if clusters is None else len(clusters)
        statistics = {
            "segments": len(by_segment),
            "queries": sum(pairs.n for pairs in by_segment),
            **counts,
            "smallest": means.min(axis=0),
            "largest": means.max(axis=0),
            "f": f,
            "df": df,
            "p_value": p,
            "p_corrected": correct_p_values(correction, p),
        }
        tables.append(make_measure_table(measure, pair_columns, ALL_QUERIES, statistics))
    return pl.concat(tables)


def _list_clusters(by_segment: Sequence[Pairs]) -> Any:
    """Return the numbers of all clusters of some segments; None without clusters."""
    numbers = [pairs.matrix.clusters for pairs in by_segment if pairs.matrix.clusters is not None]
    return np.unique(np.concatenate(numbers)) if numbers else None


def _compute_hotelling(
    by_segment: Sequence[Pairs], clusters: Integers, mean: Floats, std: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return F, the degrees of freedom and the p value of each pair, for dependent segments.

    The results of a pair are NaN if one of its standard deviations is 0, or if the covariances of
    its segments are singular.
    """
    from scipy.special import fdtrc

    k, n_pairs = mean.shape
    # Each cluster adds its share to the error of the mean difference of each segment.
    contributions = np.zeros((n_pairs, k, len(clusters)))
    for j, pairs in enumerate(by_segment):
        own_clusters = np.searchsorted(clusters, _list_clusters([pairs]))
        for part in pairs.split(pairs.n):
            deviations = pairs.compute_differences(part) - mean[j, part, np.newaxis]
            contributions[part, j, own_clusters] = pairs.matrix.linearise(deviations)
    # All segments are compared with the first one, in units of the smallest standard deviation.
    unit = np.where(std.min(axis=0) > 0, std.min(axis=0), np.nan)
    effects = (mean[1:] - mean[0]).T / unit[:, np.newaxis]
    contrasts = (contributions[:, 1:] - contributions[:, :1]) / unit[:, np.newaxis, np.newaxis]
    size, smallest = len(clusters), min(pairs.matrix.effective_number for pairs in by_segment)
    covariances = size / (size - 1) * contrasts @ contrasts.swapaxes(1, 2)
    f, df, p = np.full((3, n_pairs), np.nan)
    for index in np.flatnonzero(~np.isnan(unit) & (smallest >= k)):
        if np.linalg.cond(covariances[index]) < MAX_CONDITION:
            squared = effects[index] @ np.linalg.solve(covariances[index], effects[index])
            df[index] = smallest - k + 1
            f[index] = squared * df[index] / ((k - 1) * (smallest - 1))
            p[index] = fdtrc(k - 1, df[index], f[index])
    return f, df, p


def _compute_welch(n: Floats, mean: Floats, std: Floats) -> tuple[Floats, Floats, Floats]:
    """Return F, the degrees of freedom ν and the p value of each pair.

    Rows of the arguments are segments, and columns are pairs. The results of a pair are NaN if one
    of its standard deviations is 0, or if there are fewer than two segments.
    """
    from scipy.special import fdtrc

    k, n_pairs = mean.shape
    f, df, p = np.full((3, n_pairs), np.nan)
    is_varied = (std > 0).all(axis=0) & (k > 1)
    if is_varied.any():
        mean, std = mean[:, is_varied], std[:, is_varied]
        # All numbers are divided by the smallest standard deviation, because the square of a very
        # small standard deviation would underflow to 0.
        unit = std.min(axis=0)
        # Welch 1951, with the weights w_j = n_j / s_j².
        w = n / (std / unit) ** 2
        share = w / w.sum(axis=0)
        between = (w * ((mean - (share * mean).sum(axis=0)) / unit) ** 2).sum(axis=0) / (k - 1)
        spread = ((1 - share) ** 2 / (n - 1)).sum(axis=0)
        f[is_varied] = between / (1 + 2 * spread * (k - 2) / (k**2 - 1))
        df[is_varied] = (k**2 - 1) / (3 * spread)
        p[is_varied] = fdtrc(k - 1, df[is_varied], f[is_varied])
    return f, df, p


# Ranks of strategies


@checks_call
def rank_strategies(
    per_query: pl.DataFrame | pl.LazyFrame,
    *measures: MeasureColumns,
    segments: str | Sequence[str] | None = None,
    test: TestName = "t",
    correction: CorrectionName | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    resamples: int = 10_000,
    cluster: Columns | None = None,
    weights: str | None = None,
    query: Columns | None = None,
    strategy: str | None = None,
    missing: Missing = "error",
    grader: str | None = None,
) -> pl.DataFrame:
    r"""Rank strategies by mean, with intervals of ranks and groups.

    `compare` tests each pair of strategies. A pair with a significant difference is distinguished:
    the strategy with the better mean counts as better than the other, and the other as worse. There
    are N strategies. :math:`B_i` contains all that count as better than the i-th strategy, and
    :math:`W_i` all that count as worse:

    .. math:: \mathrm{rank\_low}_i = 1 + |B_i| \qquad \mathrm{rank\_high}_i = N - |W_i|

    As text: ``rank_low = 1 + number of better ones; rank_high = N - number of worse ones``

    Parameters
    ----------
    per_query, *measures, query, strategy, missing, grader, segments, test, correction, confidence
        As for `compare`, which compares all pairs.
    seed, resamples, cluster, weights
        As for `compare`.

    Returns
    -------
    DataFrame
        One row per measure, segment and strategy. Measures and segments keep their order, and the
        best strategy is first:

        - `measure` (String), the segments, the strategy (under the name of its column), `queries`
          (UInt32), with `cluster` the number of `clusters` (UInt32), with `weights`
          `effective_queries` (Float64), `best` (which value is best), `test` and `correction`
          (String), `untested` (UInt32), the number of other strategies whose difference has no p
          value, `confidence`, `mean`, and `ci_low` to `ci_high`, as in `summarise` (Float64);
        - `rank` (UInt32), from 1; strategies with the same mean share the best of their ranks;
        - `rank_low`, `rank_high` (UInt32): the ends of an interval of the true rank. Corrections
          such as `"holm"` bound the probability of any false finding. With such a correction, all
          intervals of a measure contain the true ranks with a probability of at least
          `confidence`. Two equal best strategies both have the true ranks 1 and 2, and both
          intervals must contain 1 and 2;
        - `group` (String): the letters of the groups of a strategy. Two strategies share a letter
          if they are not distinguished. Distinguished strategies share no letter, as in a compact
          letter display. Groups are in the order of their best strategies. If there are more than
          25 groups, numbers separated by commas replace letters.

    See Also
    --------
    compare : The differences behind the ranks.
    charts.strategy_ranks : Chart of the ranks with their intervals.

    Notes
    -----
    In simulations of several settings (four or ten strategies; all, some or none of them with the
    same mean; 50 queries, t test and Holm at 0.95), all true ranks lay within their intervals in at
    least 94.8 % of the 2,000 simulations of each setting. The page "Speed and tests" of the
    documentation has the table.

    A group is a clique: no two of its strategies are distinguished. A greedy search finds a small
    number of cliques. Each pair that is not distinguished is in at least one of them. If all
    intervals contain all ranks, nothing is known about the ranks.

    References
    ----------
    Al Mohamad, Goeman, van Zwet: Simultaneous confidence intervals for ranks with application to
    ranking institutions, 2021. Mogstad, Romano, Shaikh, Wilhelm: Inference for ranks with
    applications to mobility across neighbourhoods and academic achievement across countries, 2024.
    Piepho: An algorithm for a letter-based representation of all-pairwise comparisons, 2004.

    Examples
    --------
    Differences between `a` and the others are large compared with their variation; differences
    between `b` and `c` are not:

    >>> per_query = pl.DataFrame(
    ...     {
    ...         "strategy": ["a"] * 4 + ["b"] * 4 + ["c"] * 4,
    ...         "query": [1, 2, 3, 4] * 3,
    ...         "ap": [0.8, 0.9, 0.8, 0.9, 0.3, 0.5, 0.4, 0.4, 0.4, 0.3, 0.3, 0.5],
    ...     }
    ... )
    >>> ranks = rank_strategies(per_query, "ap")
    >>> ranks.select("strategy", "mean", "rank", "rank_low", "rank_high", "group")
    shape: (3, 6)
    ┌──────────┬───────┬──────┬──────────┬───────────┬───────┐
    │ strategy ┆ mean  ┆ rank ┆ rank_low ┆ rank_high ┆ group │
    │ ---      ┆ ---   ┆ ---  ┆ ---      ┆ ---       ┆ ---   │
    │ str      ┆ f64   ┆ u32  ┆ u32      ┆ u32       ┆ str   │
    ╞══════════╪═══════╪══════╪══════════╪═══════════╪═══════╡
    │ a        ┆ 0.85  ┆ 1    ┆ 1        ┆ 1         ┆ a     │
    │ b        ┆ 0.4   ┆ 2    ┆ 2        ┆ 3         ┆ b     │
    │ c        ┆ 0.375 ┆ 3    ┆ 2        ┆ 3         ┆ b     │
    └──────────┴───────┴──────┴──────────┴───────────┴───────┘
    """
    options = Options(test, correction, confidence, seed, resamples)
    passed = PassedKeys(query, strategy, segments=segments, cluster=cluster, weights=weights)
    by_grader = open_results(per_query, measures, passed, missing, grader)
    return by_grader.stack(lambda results: rank_results(results.with_best_values(), options))


def rank_results(results: Results, options: Options) -> pl.DataFrame:
    """Return the ranks of strategies by all pairwise comparisons."""
    means = summarise_results(results, options.confidence)
    comparison = compare_results(results, options)
    strategy, segments = results.strategies.name, results.keys.segments
    check_free_names(RANK_COLUMNS, strategy=strategy, segments=segments or None)
    parts = (table.partition_by("measure", *segments) for table in (means, comparison))
    return pl.concat(
        _rank_segment(means_of_part, comparison_of_part, segments, strategy, options.error_rate)
        for means_of_part, comparison_of_part in zip(*parts, strict=True)
    )


def _rank_segment(
    means: pl.DataFrame,
    comparison: pl.DataFrame,
    segments: Sequence[str],
    strategy: str,
    error_rate: float,
) -> pl.DataFrame:
    """Return the ranked strategies of one measure and segment, best first."""
    best = means["best"][0]
    check_has_best(means["measure"][0], best, "rank strategies")
    # Means that differ only by rounding errors share a rank.
    rank = rank_densely(means["mean"]).rank("min", descending=best == "highest")
    ranks = rank.fill_null(0).to_numpy()
    is_apart = _fill_square(means.height, comparison.select(is_significant(error_rate)).to_series())
    is_untested = _fill_square(means.height, comparison["p_corrected"].is_null())
    is_better = is_apart & (ranks[:, np.newaxis] < ranks)
    """`is_better[i, j]` is true if strategy i is significantly better than strategy j."""
    order = np.argsort(ranks, kind="stable")
    cliques = find_cliques((is_better | is_better.T)[np.ix_(order, order)])
    ranked = means.select(
        *("measure", *segments, strategy),
        *(name for name in ("queries", "clusters", EFFECTIVE, "best") if name in means.columns),
        *(pl.lit(comparison[name][0]).alias(name) for name in ("test", "correction")),
        pl.Series("untested", is_untested.sum(axis=1), pl.UInt32),
        *("confidence", "mean", "ci_low", "ci_high"),
        rank=rank.cast(pl.UInt32),
        # rank_low = 1 + |B|, rank_high = N - |W| (Al Mohamad, Goeman, van Zwet 2021).
        rank_low=pl.Series(1 + is_better.sum(axis=0), dtype=pl.UInt32),
        rank_high=pl.Series(len(is_better) - is_better.sum(axis=1), dtype=pl.UInt32),
    )
    return ranked[order].with_columns(group=pl.Series(name_sets(cliques, means.height)))


def _fill_square(n: int, of_pairs: pl.Series) -> Mask:
    """Return a symmetric mask of n strategies from a mask of their pairs, in order."""
    square = np.zeros((n, n), dtype=bool)
    square[np.triu_indices(n, 1)] = of_pairs.to_numpy()
    return square | square.T


def find_cliques(is_apart: Mask) -> list[Integers]:
    """Return sets of similar strategies that cover each similar pair.

    `is_apart` is the mask of distinguished pairs; all other pairs are similar. All pairs within a
    set are similar, and each similar pair is in at least one set. A strategy that is not similar to
    any other strategy forms a set alone.

    Strategies are in the order of their means, the best first. A similar pair is open until a set
    contains both strategies. A new set begins with an open pair (i, j): i is the smallest index in
    any open pair, and j is the largest index that forms an open pair with i. The other strategies
    are then tried in the order i + 1, i + 2, ..., n - 1, 0, ..., i - 1. A strategy that is similar
    to all members of the set is added to the set.
    """
    n = len(is_apart)
    open_pairs = np.triu(~is_apart, 1)
    groups = []
    for first in range(n):
        while len(others := np.flatnonzero(open_pairs[first])):
            members = [first, int(others[-1])]
            for other in (*range(first + 1, n), *range(first)):
                if other not in members and not is_apart[other, members].any():
                    members.append(other)
            members.sort()
            open_pairs[np.ix_(members, members)] = False
            groups.append(np.array(members))
    isolated = set(range(n)).difference(*map(np.ndarray.tolist, groups))
    return sorted(
        [*groups, *(np.array([each]) for each in isolated)], key=lambda each: each.tolist()
    )


def name_sets(sets: Sequence[Integers], n: int) -> list[str]:
    """Return, for each of n strategies, the names of the sets that contain it."""
    are_letters = len(sets) <= len(LETTERS)
    names: list[list[str]] = [[] for _ in range(n)]
    for index, members in enumerate(sets):
        for member in members:
            names[member].append(LETTERS[index] if are_letters else str(index + 1))
    return [("" if are_letters else ",").join(each) for each in names]
