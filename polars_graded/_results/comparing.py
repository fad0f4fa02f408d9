"""Comparisons of strategies, and summaries of each strategy.

Each measure in the frame that `evaluate` returns becomes an array with one row per strategy and one
column per query. All statistics are computed from these arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Unpack

import numpy as np
import polars as pl

from polars_graded._checks import check_choice, check_level, check_list, check_number
from polars_graded._results.keys import Columns, Keys, Missing, takes_results
from polars_graded._results.pairs import Pairs, find_pairs, name_pairs
from polars_graded._results.per_query import (
    Grid,
    MeasureColumns,
    Results,
    check_clustered_results,
    check_free_names,
    check_graders,
    collect_rows,
    compute_mean_and_std,
    compute_mean_margin,
    count_clusters,
    divide,
    find_index,
    find_measures_and_curves,
    find_places,
    make_measure_table,
)
from polars_graded._results.significance import (
    CorrectionName,
    Options,
    Progress,
    TestName,
    compute_tests,
    estimate_differences,
    find_missing_intervals,
    find_weak_tests,
    run_test,
    warn_of_tests,
)
from polars_graded._results.trusting import check_trusted_options, make_trusted_table

__all__ = ["compare", "differences", "summarise"]

GEOMETRIC_FLOOR = 1e-5
"""Value that replaces smaller ones in a geometric mean, as in trec_eval."""


@takes_results()
def compare(
    per_query: pl.DataFrame | pl.LazyFrame,
    *measures: MeasureColumns,
    segments: str | Sequence[str] | None = None,
    trusted: str | None = None,
    baseline: Any = None,
    test: TestName = "t",
    correction: CorrectionName | None = None,
    confidence: float = 0.95,
    rope: float | None = None,
    cluster: Columns | None = None,
    seed: int = 0,
    resamples: int = 10_000,
    progress: Progress | None = None,
    **keys: Unpack[Keys],
) -> pl.DataFrame:
    r"""Compare strategies in pairs: differences, intervals and p values.

    Each row of the result is one pair by one measure. With a baseline, each strategy is paired with
    it; otherwise each pair occurs once. Differences are strategy minus baseline, paired by query.

    .. math:: d_q = x_q - y_q \qquad \bar d = \frac{1}{n} \sum_q d_q
        \qquad s^2 = \frac{1}{n - 1} \sum_q (d_q - \bar d)^2 \qquad d_z = \bar d / s

    As text: ``d(q) = x(q) - y(q); d = ∑ d(q) / n; s² = ∑ (d(q) - d)² / (n - 1); d_z = d / s``

    Parameters
    ----------
    per_query
        One row per strategy and query with one column per measure, as `evaluate` returns it. A
        LazyFrame is collected.
    *measures
        The columns to compare, in the order of the result; by default all columns with the name of
        a measure. A mapping specifies the measure of a column with another name, as for `evaluate`:
        `{"E": "e_measure(b=2)@10"}`. A mapping can also state which value of a column is best,
        `"highest"`, `"lowest"` or `"none"`: `{"seconds": "lowest"}`.
    query
        The column of queries, or several columns. By default `"query"`, or the only other column
        that could be the query. If the column `"query"` alone identifies a query, no other column
        is used. Otherwise all columns that could identify a query are used together, if every
        strategy has each combination of their values exactly once, as in the result of `evaluate`.
        If they cannot be used together and there is no column `"query"`, an error asks for `query`.
        Rows that a join seems to have copied, for example once per tag of a query, also raise an
        error. Such copies differ in their tags, but have the same values of all measures.
    strategy
        The column of strategies. By default `"strategy"`, or the only other column that could be
        the strategy. If the frame has neither a column `"query"` nor a column `"strategy"`, pass
        both.
    segments
        The column of segments of queries, such as countries, or several columns. A column of
        `query` can also be a column of segments. Each segment is compared separately.
    trusted
        The grader whose grades count, such as people who judged some queries while a model judged
        all. The result estimates the means and differences that people would find in all queries;
        `summarise` states the conditions. The test must be `"t"`, without `rope` and `cluster`.
    baseline
        The strategy with which all others are compared, or a list of several. Without a baseline,
        each pair is compared. The strategy that comes first in the order of strategies is in the
        strategy column of the result, and the other one in `baseline`.
    test
        The test of the differences, which returns p values and intervals. Every test is two-sided.

        - `"t"`: the paired t test (`scipy.stats.ttest_rel`) and its interval
          :math:`\bar d \pm t_{n-1} s / \sqrt n`.
        - `"wilcoxon"`: the signed rank test (`scipy.stats.wilcoxon`), which leaves out ties
          (`zero_method="wilcox"`) and is exact or normal as scipy's `method="auto"` decides.
          `ci_low` and `ci_high` are those of `"t"`. The test compares ranks, **not means**: if
          differences are skewed, the ranks can favour one strategy and the mean the other. Charts,
          tables and the report do not count such a difference as a finding. `rank_strategies`
          refuses this test.
        - `"permutation"`: Fisher's randomisation test. The signs of the differences are chosen at
          random, and p is the share of choices for which :math:`|\bar d|` is at least as large as
          observed. It assumes that differences are symmetric about 0 if strategies do not differ.
          All :math:`2^n` combinations of signs are used if there are at most `resamples` of them;
          otherwise `resamples` random ones, with p = (larger + 1) / (resamples + 1), where `larger`
          counts those with :math:`|\bar d|` at least as large as observed. `ci_low` and `ci_high`
          are those of `"t"`.
        - `"bootstrap"`: the studentised bootstrap. p is the share of resamples of the queries for
          which :math:`|\bar d^* - \bar d| \sqrt n / s^*` is at least :math:`|\bar d| \sqrt n / s`,
          counted as for `"permutation"`. The interval is :math:`\bar d \pm q s / \sqrt n`, where q
          is the quantile of the resampled statistics at `confidence`.
        - `"randomised_tukey"`: all strategies at once. Each query's values are shuffled among the
          strategies. p is the share of shuffles whose best and worst mean are at least
          :math:`|\bar d|` apart, counted as for `"permutation"`. The p values and the intervals
          hold for all pairs of a segment simultaneously, so there is no `correction`. The intervals
          are :math:`\bar d \pm q`, where q is the quantile at `confidence` of the distance between
          the best and the worst mean.
    correction
        The correction of p values for multiple tests: all rows of a measure are corrected together.
        `"bonferroni"` and `"holm"` bound the probability of any false finding,
        `"benjamini_hochberg"` the share of false findings among all findings
        (`scipy.stats.false_discovery_control`). The default is `"holm"`; for `"randomised_tukey"`
        it is `"none"`, the only valid value.
    confidence
        The confidence of the intervals, between 0 and 1.
    rope
        Half the width of the region of practical equivalence: a mean difference of at most this
        size, in either direction, is negligible in practice. The result then has the probabilities
        that the strategy is better, practically equal and worse.
    cluster
        The column of clusters of queries, or several. For example, if a query is a search term on
        one device, the term is the cluster. Clusters are independent, and the queries of a cluster
        may depend on each other. The columns may be some of `query`. The tests are `"t"`, with
        cluster-robust standard errors (Notes), `"permutation"`, which changes the signs of
        clusters, and `"bootstrap"`, which draws clusters.
    missing
        The treatment of a missing query of a strategy, or of a null or NaN. `"error"` raises an
        error. `"drop"` leaves the query out of that measure for all strategies. `"zero"` counts the
        value as 0, and raises an error if the lowest value is best. If a query has null for all
        strategies, `"error"` raises no error but leaves the query out of that measure, as `"drop"`
        does. Such nulls come from `evaluate(undefined_as=None)`, if the measure is undefined.
        `queries` counts the remaining queries.
    grader
        The grader whose results are compared, if there are several. With `trusted`, it is the other
        grader, such as the model. By default the results of each grader are compared separately,
        with a first column `"grader"`. A query without any value of a grader counts as not judged
        by this grader.
    seed
        The same seed gives the same result for a measure, independent of the other measures.
    resamples
        The number of resamples of a test.
    progress
        The progress bar of the resamples of a measure, such as `tqdm.tqdm`: a function that takes
        a sequence of blocks of resamples, and returns an iterable of the same blocks.

    Returns
    -------
    DataFrame
        In the order of measures, segments and pairs. Columns are Float64 unless stated otherwise:

        - `measure` (String), the segments, `strategy` (under the name of that column) and
          `baseline`; `queries` (UInt32), and with `cluster` the number of `clusters` (UInt32);
        - `best` (String): whether the `"highest"` or the `"lowest"` value is best, or `"none"`;
        - `mean`, `baseline_mean`, and `relative_difference`, which is `difference` divided by
          `baseline_mean`, or null if `baseline_mean` is 0;
        - `d_z`: Cohen's effect size for pairs, the mean of the differences divided by their
          standard deviation;
        - `wins`, `ties`, `losses` (UInt32): queries where the strategy is better, the same, worse;
        - with `rope`: `rope`, `probability_better`, `probability_equal`, `probability_worse`;
        - `test` and `correction` (String) of the following columns;
        - with the test `"wilcoxon"`: `rank_biserial`, from -1 to 1: the rank sum of positive
          differences minus that of negative ones, divided by the sum of both. Its sign is the
          direction of the test, which may differ from that of `difference`;
        - `p_value`, and `simultaneous_low` to `simultaneous_high`, the interval that agrees with
          `p_corrected`: it excludes 0 if, and only if, `p_corrected` is at most 1 - `confidence`.
          The correction decides whether these intervals hold simultaneously (Notes);
        - `confidence` of the intervals;
        - `difference`, and the interval of this difference alone, `ci_low` to `ci_high`;
        - `p_corrected`.

        With `trusted`, other columns replace means and counts: `grader` (the model), the columns of
        `summarise(trusted=...)`, `trusted_difference` and `model_difference`. `difference`
        estimates the difference that the trusted grader would find in all queries, and p values and
        intervals refer to it.

    Raises
    ------
    ValueError
        If a strategy is null or has a query twice; if a value is infinite, further from 0 than
        1e150, or missing although `missing` does not allow that; if fingerprints show that the
        judgments of a query differ between strategies.

    See Also
    --------
    summarise : Means of each strategy.
    compare_segments : Tests whether a difference varies between segments.
    trust.discriminative_power : The share of all pairs that a measure distinguishes.
    trust.queries_needed : The number of queries that show a difference.

    Notes
    -----
    **Little data.** With fewer than two queries nothing can be tested: intervals, `d_z`, `p_value`
    and `p_corrected` are null. If all queries tie, `p_value` is 1. If all differences are equal,
    there is no variation: `d_z` is null. `ci_low` and `ci_high` are then null for all tests except
    `"randomised_tukey"`. If the equal differences are not 0, the probabilities of `rope` are null,
    and so is `p_value` for `"t"` and `"bootstrap"`. A row with a null `p_value` does not count in
    the correction. If `"permutation"` uses all combinations of signs of n queries, its p value is
    at least 2 / 2ⁿ, which is 0.0625 with five. A test with resamples has p values of at least 1 /
    (`resamples` + 1). With m pairs, `"bonferroni"` and `"holm"` multiply the smallest possible p
    value by m. If it then exceeds the level, no difference can be significant, however large.
    `DataWarning.tests` reports this. It also reports differences that are all equal and therefore
    have no p value.

    **Much data.** With many queries nearly every difference is significant: with 10,000 queries,
    even a mean difference of 0.02 standard deviations is. So look also at the size of the
    difference (`d_z` and the interval) and at its relevance (`rope`; Ihemelandu, Ekstrand 2023).

    **Ties.** Two values x and y are tied if their distance is at most 1e-12 max(abs(x), abs(y),
    min(1, M)), where M is the largest absolute value of the measure. Such values may be the same
    sum, added in another order. M matters for values near 0. Such a value may be the difference of
    two larger numbers, and then has their rounding errors. In the ranks of `"wilcoxon"`,
    differences are tied in the same way, so that 0.3 - 0.2 equals 0.1.

    **Simultaneous intervals.** The interval of one difference has the level :math:`\alpha`, which
    is 1 - `confidence`. With m pairs, the level of a simultaneous interval is

    - :math:`\alpha / m` for `"bonferroni"`. All intervals hold simultaneously at `confidence`;
    - :math:`\alpha / m` for `"holm"` as well, except for a difference that is significant after
      Holm's correction and not after Bonferroni's. Such a difference has the level of its step in
      Holm's procedure, :math:`\alpha / (m - k + 1)` for the k-th smallest p value. Each interval
      agrees with Holm's decision. For the differences that Holm finds and Bonferroni does not,
      nothing but the sign is certain at `confidence` (Strassburger, Bretz 2008), so the intervals
      do **not** hold simultaneously;
    - :math:`\alpha R / m` for `"benjamini_hochberg"`, where R is the number of differences that it
      finds, or 1 if it finds none. Of the intervals of these R differences, on average at most a
      share of :math:`\alpha` misses the true difference (the false coverage rate of Benjamini and
      Yekutieli, 2005). These intervals do not hold simultaneously either;
    - :math:`\alpha` for `"none"`. With `"randomised_tukey"` all intervals hold simultaneously.

    For a statement about all differences at once, use `"bonferroni"` or `"randomised_tukey"`.

    For `"permutation"`, the simultaneous interval contains each number v for which the test of
    :math:`d_q - v` is not significant. For `"wilcoxon"` the simultaneous interval is null, since
    no interval of the mean always agrees with a test that compares ranks.

    An interval of a test with resamples is null if the test rejects no mean difference at its
    level, however large. For any of these tests, the reason may be few queries or few `resamples`.
    For `"bootstrap"`, it may also be that nearly all queries tie: then all queries of many
    resamples tie. `DataWarning.tests` reports null intervals.

    **Clusters.** With G clusters, n queries in total, and :math:`S_g` the sum of
    :math:`d_q - \bar d` over the queries of cluster g,

    .. math:: SE^2 = \frac{G}{G - 1} \frac{1}{n^2} \sum_g S_g^2

    As text: ``SE² = G / (G - 1) ∑ S(g)² / n²``, and Student's distribution has G - 1 degrees of
    freedom. statsmodels computes the same with ``cov_type="cluster"``. Means are still over
    queries, not over clusters. With one query per cluster, all numbers equal those without
    `cluster`. If G is small, or one cluster has most of the queries, the t test finds differences
    too often; `"permutation"` does not. With fewer than two clusters nothing is tested.

    **Practical equivalence.** By Bayes' rule with a flat prior, the mean difference is distributed
    as Student's t about :math:`\bar d`. With the half-width r of the region,

    .. math:: P(\text{better}) = F_{n-1} \Big( \frac{\bar d - r}{s / \sqrt n} \Big) \qquad
        P(\text{worse}) = F_{n-1} \Big( \frac{-\bar d - r}{s / \sqrt n} \Big)

    As text: ``P(better) = F((d - r) / (s / sqrt(n)), n - 1)``, and P(worse) is the same with -d.

    **Skewed differences** matter with few queries. Tests then too often find a difference between
    strategies with equal means; the bootstrap does so least often. The page "Speed and tests" of
    the documentation has tables of how often this happens, and of how often intervals hold
    simultaneously.

    If a frame has the values of one measure in one column per strategy, convert it by
    ``wide.unpivot(index="query", variable_name="strategy", value_name="ndcg@10")``.

    References
    ----------
    Smucker, Allan, Carterette: A comparison of statistical significance tests for information
    retrieval evaluation, 2007. Phipson, Smyth: Permutation p-values should never be zero, 2010.
    Efron, Tibshirani: An introduction to the bootstrap, 1993, section 12.5. Hall: The bootstrap and
    Edgeworth expansion, 1992. Carterette: Multiple testing in statistical analysis of systems-based
    information retrieval experiments, 2012. Hartigan: Using subsample values as typical values,
    1969. Benavoli, Corani, Demšar, Zaffalon: Time for a change: a tutorial for comparing multiple
    classifiers through Bayesian analysis, 2017. Ihemelandu, Ekstrand: Inference at scale, 2023.
    Strassburger, Bretz: Compatible simultaneous lower confidence bounds for the Holm procedure,
    2008. Benjamini, Yekutieli: False discovery rate-adjusted multiple confidence intervals, 2005.
    Cohen: Statistical power analysis for the behavioral sciences, 1988, section 2.3.5. Holm: A
    simple sequentially rejective multiple test procedure, 1979. Benjamini, Hochberg: Controlling
    the false discovery rate, 1995. Kerby: The simple difference formula: an approach to teaching
    nonparametric correlation, 2014 (the rank-biserial correlation). Liang, Zeger: Longitudinal data
    analysis using generalized linear models, 1986.

    Examples
    --------
    The differences 0.25, 0.25, 0 and 0.25 have 16 choices of signs. In four of these choices, the
    mean is as far from 0 as the observed mean:

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
    options = Options(test, correction, confidence, seed, resamples, progress)
    margin = None if rope is None else check_number("rope", rope, at_least=0)
    if trusted is not None:
        check_trusted_options(rope=(rope, None), cluster=(cluster, None), test=(test, "t"))
        graders = check_graders(per_query, measures, segments, **keys)
        return make_trusted_table(graders, trusted, confidence, (baseline, options.correction))
    grid = check_clustered_results(per_query, measures, segments, cluster, **keys)
    return compare_grid(grid, options, baseline, margin)


@takes_results()
def summarise(
    per_query: pl.DataFrame | pl.LazyFrame,
    *measures: MeasureColumns,
    segments: str | Sequence[str] | None = None,
    trusted: str | None = None,
    confidence: float = 0.95,
    cluster: Columns | None = None,
    **keys: Unpack[Keys],
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
    trusted
        The grader whose grades count. This grader judged some queries, and a model judged all
        (Notes). The queries of the trusted grader must be **a random sample of all queries**: with
        easy, disputed or hand-picked queries the result is wrong. `DataWarning.selection` warns if
        the model's values of these queries differ clearly from its other values.
    confidence
        The confidence of the interval, between 0 and 1.

    Returns
    -------
    DataFrame
        One row per measure, segment and strategy, in this order. Columns are Float64 unless stated
        otherwise:

        - `measure` (String), the segments, the strategy (under the name of its column), `queries`
          and with `cluster` the number of `clusters` (UInt32), and `median`;
        - `geometric_mean` (:math:`g`), which for `ap` is GMAP; values below 0.00001 count as
          0.00001, as in trec_eval, since a single 0 would otherwise make the result 0;
        - `best` (String, null if unknown), which value is best, as for `compare`; `confidence`;
        - `mean`, and `std` (:math:`s`, null for one query);
        - `ci_low`, `ci_high`: Student's interval of the mean,
          :math:`\bar x \pm t_{n-1} s / \sqrt n`, null if there are fewer than two queries or all
          values are equal.

        With `trusted` one row per model, measure, segment and strategy:

        - `grader` (String), the model that judged all queries; `measure`, the segments, the
          strategy; `queries`, the number of queries that both graders judged, and `model_queries`,
          the number that only the model judged (UInt32); `best`;
        - two means and their intervals: `trusted_mean`, `trusted_low` and `trusted_high` from the
          trusted grader's grades; `model_mean`, `model_low` and `model_high` from the model's
          grades of all queries;
        - `weight` of the model, from 0 to 1, and the `correlation` of both graders' values;
        - the `worth` of the model's grades: an estimate of how many more queries the trusted grader
          would have to judge for an equally precise mean without the model (below 0 if the model
          makes the mean less precise); `confidence`;
        - `mean`, the estimate of what the trusted grader would find in all queries, `ci_low` and
          `ci_high`;
        - `note` (String), null or one or more warnings: there are fewer than ten trusted queries
          (with fewer than two, there is no interval); the correlation is too low for a gain in
          precision, or a gain is not certain; the model makes the mean less precise; the trusted
          queries are hardly a random sample; the model judged only trusted queries; queries are
          left out because the model did not judge them.

    Notes
    -----
    **A trusted grader.** People judged n queries, with the values y of the measure. A model judged
    these queries, with the values f, and N others, with the values F. The estimate of the mean that
    people would find is (Angelopoulos, Duchi and Zrnic)

    .. math:: \theta = \lambda \bar F + \frac{1}{n} \sum_q (y_q - \lambda f_q) \qquad
        \lambda = \frac{\mathrm{cov}(y, f)}{(1 + n / N) \, \mathrm{Var}(f \cup F)} \qquad
        SE^2 = \frac{\lambda^2 \mathrm{Var}(F)}{N} + \frac{\mathrm{Var}(y - \lambda f)}{n}

    As text: ``θ = λ mean(F) + mean(y - λ f); λ = cov(y, f) / ((1 + n / N) Var(f and F)), within 0
    and 1; SE² = λ² Var(F) / N + Var(y - λ f) / n``. This corrects for the bias of the model. If the
    model does not predict people's values, λ is near 0 and only people's queries count. Each of the
    n queries has its own λ, with cov(y, f) computed from the other n - 1 queries. `weight` is the
    mean of the n λ. With fewer than four queries, λ is 0. The interval is Student's with n - 1
    degrees of freedom. The usual intervals, with one λ for all queries and normal quantiles,
    contain the mean too seldom if queries are few.

    **A random sample.** If the trusted queries are a random sample, the model's values for them
    differ from its values for the other queries only by chance. Mann and Whitney's test compares
    both groups of values. A warning is given if p is at most 0.001, after Bonferroni's correction
    for all rows of a measure. The test cannot notice a selection that is unrelated to the model's
    values.

    The model can make the mean more precise only if the correlation exceeds
    :math:`1 / \sqrt{n - 2}`. Measures such as NDCG are not linear in grades, so people must have
    judged **complete queries**: all documents that the model judged. `evaluate` warns if they did
    not.

    With 10 queries or more, intervals contain the true mean as often as `confidence` states,
    however good or bad the model is. If values are skewed, intervals contain it less often. With a
    correlation of 0.9, intervals are about half as wide as without the model, if the model judged
    many more queries than people did. The page "Speed and tests" of the documentation has the
    table.

    References
    ----------
    Robertson: On GMAP, and other transformations, 2006. Angelopoulos, Duchi, Zrnic: PPI++:
    efficient prediction-powered inference, 2023.

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

    A model grades all forty queries, and its values are 0.25 too high. People grade every fifth
    query. By chance, these queries are harder than the others:

    >>> model = pl.DataFrame({"query": range(40)}).with_columns(ap=pl.col("query") / 52 + 0.25)
    >>> people = model.filter(pl.col("query") % 5 == 0).with_columns(pl.col("ap") - 0.25)
    >>> both = pl.concat(
    ...     each.select(pl.lit(name).alias("grader"), pl.lit("bm25").alias("strategy"), "*")
    ...     for name, each in {"people": people, "model": model}.items()
    ... )
    >>> summarise(both, trusted="people").select("trusted_mean", "model_mean", "weight", "mean")
    shape: (1, 4)
    ┌──────────────┬────────────┬──────────┬──────────┐
    │ trusted_mean ┆ model_mean ┆ weight   ┆ mean     │
    │ ---          ┆ ---        ┆ ---      ┆ ---      │
    │ f64          ┆ f64        ┆ f64      ┆ f64      │
    ╞══════════════╪════════════╪══════════╪══════════╡
    │ 0.336538     ┆ 0.625      ┆ 0.873693 ┆ 0.378543 │
    └──────────────┴────────────┴──────────┴──────────┘

    The mean of all forty, as people would have judged them, is 0.375.
    """
    check_level(confidence)
    if trusted is not None:
        check_trusted_options(cluster=(cluster, None))
        graders = check_graders(per_query, measures, segments, **keys)
        return make_trusted_table(graders, trusted, confidence)
    grid = check_clustered_results(per_query, measures, segments, cluster, **keys)
    return summarise_grid(grid, confidence)


@takes_results()
def differences(
    per_query: pl.DataFrame | pl.LazyFrame,
    measures: MeasureColumns | Sequence[MeasureColumns],
    a: Any,
    b: Any,
    *,
    order: Literal["difference", "query"] = "difference",
    query: Columns = "query",
    strategy: str = "strategy",
    missing: Missing = "error",
    grader: str | None = None,  # noqa: ARG001 takes_results selects it
) -> pl.DataFrame:
    """Return the values of two strategies and their difference, by query.

    A precision histogram shows these differences.

    .. math:: d(q) = value_a(q) - value_b(q)

    As text: ``d(q) = value_a(q) - value_b(q)``

    Parameters
    ----------
    per_query, query, strategy, missing, grader
        As for `compare`. Strategies other than the two are ignored.
    measures
        The column to compare, such as `"r_precision"` for a precision histogram; or a list of
        columns. A mapping names the measure of a column, as for `compare`.
    a, b
        The two strategies.
    order
        Order of the rows: by descending `"difference"`, and by query if differences are equal; or
        by `"query"` alone.

    Returns
    -------
    DataFrame
        One row per query: the query (under the name of its column or columns); `value_a`,
        `value_b` and `difference`, which is `value_a` minus `value_b` (all three Float64); and
        `winner`, the better of the two strategies, null for a tie. If no value of the measure is
        best, as with `measures={"clicks": "none"}`, the strategy with the higher value wins. Ties
        are defined as for `compare`. For a list of measures, or a mapping of several, there is one
        row per measure and query, with the measure in a first column `measure`.

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
    check_choice("order", order, ("difference", "query"))
    alone = isinstance(measures, str | Mapping)
    measure_list: list[MeasureColumns] = check_list("measures", [measures] if alone else measures)
    check_free_names(["measure", "value_a", "value_b", "difference", "winner"], query=query)
    names, _ = find_measures_and_curves(per_query, measure_list, query=query, strategy=strategy)
    rows = collect_rows(per_query, names, query=query, strategy=strategy)
    available = rows[strategy].unique().sort()
    both = available[[find_index(available, a), find_index(available, b)]]
    if both.n_unique() == 1:
        msg = f"`a` and `b` must be two strategies, got {a!r} twice"
        raise ValueError(msg)
    rows = rows.filter(pl.col(strategy).is_in(both.implode()))
    grid = Grid(rows, missing, measures=measure_list)
    i, j = find_index(grid.strategies, a), find_index(grid.strategies, b)
    tables = [pair_values(grid.get_results(name), grid.strategies, i, j) for name in names]
    if order == "difference":
        tables = [
            each.sort(find_places(each["difference"]), descending=True, maintain_order=True)
            for each in tables
        ]
    if alone and len(names) == 1:
        return tables[0]
    first = (pl.lit(name).alias("measure") for name in names)
    return pl.concat(each.select(name, "*") for name, each in zip(first, tables, strict=True))


def pair_values(results: Results, strategies: pl.Series, i: int, j: int) -> pl.DataFrame:
    """Return the values of two strategies for each query, and the better strategy."""
    [difference] = results.compute_differences(np.array([i]), np.array([j]))
    better = np.sign(difference) * results.sign
    # The sign is an index into this list: 0 gives None (a tie), 1 gives i, -1 (the last item) j.
    winner = pl.Series([None, i, j], dtype=pl.UInt32)[better.astype(np.int64)]
    several = results.queries.dtype == pl.Struct
    return pl.DataFrame(
        [
            *(results.queries.struct.unnest() if several else [results.queries]),
            pl.Series("value_a", results.values[i]),
            pl.Series("value_b", results.values[j]),
            pl.Series("difference", difference),
            strategies.gather(winner).alias("winner"),
        ]
    )


# From arrays to a frame


def compare_grid(
    grid: Grid,
    options: Options,
    baseline: Any = None,
    rope: float | None = None,
) -> pl.DataFrame:
    """Return the result of `compare` for a grid."""
    a, b = find_pairs(grid.strategies, baseline)
    names = name_pairs(grid.strategies, a, b)
    tables, messages = [], dict[str, None]()
    for measure in grid.measures:
        segments, results_of_segments = zip(*grid.split_segments(measure), strict=True)
        pairs = [Pairs(results, a, b) for results in results_of_segments]
        statistics = [*_compute_statistics(pairs, options, rope)]
        tables += [
            make_measure_table(measure, segment, names, columns)
            for segment, columns in zip(segments, statistics, strict=True)
        ]
        warnings = [*find_weak_tests(pairs, options)]
        messages |= dict.fromkeys(warnings or find_missing_intervals(pairs, statistics, options))
    warn_of_tests(messages)
    return pl.concat(tables)


def summarise_grid(grid: Grid, confidence: float, *measures: str) -> pl.DataFrame:
    """Return the table of `summarise` for `measures`, by default for all."""
    return pl.concat(
        make_measure_table(
            measure, segment, [grid.strategies], _compute_summary(results, confidence)
        )
        for measure in measures or grid.measures
        for segment, results in grid.split_segments(measure)
    )


def _compute_statistics(
    pairs: Sequence[Pairs], options: Options, rope: float | None
) -> Iterator[dict[str, Any]]:
    """Yield the statistics of the pairs of each segment, with the main results last."""
    outcomes = [run_test(segment, options) for segment in pairs]
    tests = compute_tests(outcomes, options.correction, options.level)
    for segment, outcome, test_columns in zip(pairs, outcomes, tests, strict=True):
        difference, std, higher, lower = segment.statistics
        mean, baseline_mean = segment.means
        low, high = outcome.interval(np.full(len(segment), options.level))
        better = segment.results.higher_is_better
        statistics = {
            "queries": np.full(len(segment), segment.n),
            **count_clusters(segment.results, len(segment)),
            "best": segment.results.best,
            "mean": mean,
            "baseline_mean": baseline_mean,
            "relative_difference": divide(difference, baseline_mean),
            "d_z": divide(difference, std),
            "wins": higher if better else lower,
            "ties": segment.n - higher - lower,
            "losses": lower if better else higher,
            **({} if rope is None else _compute_equivalence(segment, rope)),
            "test": options.test,
            "correction": options.correction,
            **test_columns,
            "confidence": options.confidence,
            "difference": difference,
            "ci_low": low,
            "ci_high": high,
        }
        yield statistics | {"p_corrected": statistics.pop("p_corrected")}


def _compute_equivalence(pairs: Pairs, rope: float) -> dict[str, Any]:
    """Return the probabilities that a strategy is better, equal in practice or worse."""
    from scipy.special import stdtr

    mean, std, *_ = pairs.statistics
    estimate = estimate_differences(pairs)
    # If all queries tie, the difference is certain to be 0.
    error, ties = estimate.error, (std == 0) & (mean == 0)
    up = mean * pairs.results.sign
    better, worse = (
        np.where(ties, 0, stdtr(estimate.n - 1, (direction - rope) / error))
        for direction in (up, -up)
    )
    return {
        "rope": rope,
        "probability_better": better,
        "probability_equal": 1 - better - worse,
        "probability_worse": worse,
    }


def _compute_summary(results: Results, confidence: float) -> dict[str, Any]:
    """Return the statistics of each strategy."""
    values, n = results.values, results.n
    mean, std = compute_mean_and_std(values)
    _, std_of_units = compute_mean_and_std(results.units.values)
    margin = compute_mean_margin(
        np.where(std_of_units > 0, std_of_units, np.nan), results.units.n, confidence
    )
    # numpy warns if it averages no values. So without queries, average a NaN: the result is NaN.
    samples = values if n else np.full((len(values), 1), np.nan)
    return {
        "queries": np.full(len(values), n),
        **count_clusters(results, len(values)),
        "median": np.median(samples, axis=1),
        "geometric_mean": np.exp(np.log(np.maximum(samples, GEOMETRIC_FLOOR)).mean(axis=1)),
        "best": [results.best] * len(values),
        "confidence": np.full(len(values), confidence),
        "mean": mean,
        "std": std,
        "ci_low": mean - margin,
        "ci_high": mean + margin,
    }
