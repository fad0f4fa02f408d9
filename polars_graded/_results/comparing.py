"""Strategies against each other: what goes into a paper.

Everything starts from the frame that `evaluate` returns, one row per strategy and query and one
column per measure. A measure of it becomes one array, a row per strategy and a column per query,
and every statistic is read off that.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from polars_graded._checks import check_choice, check_number, check_whole_number
from polars_graded._results.per_query import (
    Floats,
    Missing,
    Results,
    check_per_query,
    collected_keys,
    listed,
    mean_margin,
    mean_of,
    measures_and_curves,
    place_of,
    ratio_of,
    std_of,
)
from polars_graded._results.significance import (
    CORRECTIONS,
    TESTS,
    CorrectionName,
    Options,
    Outcome,
    Progress,
    TestName,
    check_progress,
    prepared,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

__all__ = ["compare", "differences", "summarise"]

GEOMETRIC_FLOOR = 1e-5
"""What a value below it counts as in a geometric mean, as in trec_eval."""


def compare(
    per_query: pl.DataFrame | pl.LazyFrame,
    *measures: str,
    query: str = "query",
    strategy: str = "strategy",
    baseline: Any = None,
    test: TestName = "t",
    correction: CorrectionName = "holm",
    confidence: float = 0.95,
    missing: Missing = "error",
    seed: int = 0,
    resamples: int = 10_000,
    progress: Progress | None = None,
) -> pl.DataFrame:
    r"""Compare strategies pair by pair: how much better, and can it be believed.

    A row of the result is a measure and a pair: every strategy against the baseline, or without one
    each pair once. Differences are strategy minus baseline, paired by query.

    .. math:: d_q = x_q - y_q \qquad \bar d = \frac{1}{n} \sum_q d_q
        \qquad s^2 = \frac{1}{n - 1} \sum_q (d_q - \bar d)^2 \qquad d_z = \bar d / s

    Parameters
    ----------
    per_query
        One row a strategy and query with a column a measure, as `evaluate` returns it. A LazyFrame
        is collected.
    *measures
        The columns to compare, in the order in which they are wanted; by default every column of
        numbers but `query` and `strategy`.
    query
        The column that tells the queries apart.
    strategy
        The column that tells the strategies apart.
    baseline
        The strategy that all others are compared with. Without it each pair is compared, in sorted
        order: the first of two is the strategy, the second stands in the column `baseline`.
    test
        How the p value and the interval of :math:`\bar d` come about; every test is two-sided.

        - `"t"`: the paired t test (`scipy.stats.ttest_rel`) and its interval
          :math:`\bar d \pm t_{n-1} s / \sqrt n`.
        - `"wilcoxon"`: the signed rank test (`scipy.stats.wilcoxon`), which leaves out ties
          (`zero_method="wilcox"`) and is exact or normal as scipy's `method="auto"` decides.
          Interval as for `"t"`.
        - `"permutation"`: Fisher's randomisation test: how often :math:`|\bar d|` is as large or
          larger when the sign of each difference is tossed. All :math:`2^n` signs where these are
          at most `resamples`; else so many random ones, with p = (larger + 1) / (resamples + 1).
          Interval as for `"t"`.
        - `"bootstrap"`: the percentile interval from resampled queries, as
          `scipy.stats.bootstrap(method="percentile")` has it. The p value is 1 minus the confidence
          whose interval ends at 0, counted as for `"permutation"`. Both are a little too sure of
          themselves with fewer than some fifty queries.
        - `"randomised_tukey"`: all strategies at once. Each query's values are shuffled among the
          strategies, and p is how often the best and the worst mean are at least
          :math:`|\bar d|` apart, counted as for `"permutation"`. The p values hold for all pairs
          together, so `correction` must be `"none"`; the intervals do too: :math:`\bar d` plus and
          minus the quantile of that range at `confidence`.
    correction
        How p values are corrected for their number, which is that of all rows of one measure:
        `"bonferroni"` and `"holm"` bound the chance of any false finding, `"benjamini_hochberg"`
        the share of false ones among the findings (`scipy.stats.false_discovery_control`).
        Intervals are not corrected.
    confidence
        The confidence of the interval, between 0 and 1.
    missing
        What to do where a strategy lacks a query, or a value is null or NaN: raise an `"error"`,
        `"drop"` the query of that measure for all strategies, or count it as `"zero"`.
    seed
        The same seed gives the same result, whichever measures stand beside.
    resamples
        How many resamples a test draws.
    progress
        What shows how far a measure's resamples are: called with the sequence of their blocks, it
        returns an iterable of them, as `tqdm.tqdm` does.

    Returns
    -------
    DataFrame
        In the order of measures and then strategies, with Float64 columns but where said:

        - `measure` (String), `strategy` (under the name of that column) and `baseline`;
        - `queries` (UInt32), `mean`, `baseline_mean`;
        - `difference`, and `relative_difference`, which is `difference` over `baseline_mean` and
          null where that is 0;
        - `ci_low`, `ci_high`: the interval of `difference`;
        - `d_z`: Cohen's effect size for pairs, the mean difference over its standard deviation;
        - `wins`, `ties`, `losses` (UInt32): queries where the strategy is better, the same, worse.
          Better is higher, but for measures known to be best at their lowest, as `e_measure`;
        - `p_value`, `p_corrected`.

    Raises
    ------
    ColumnNotFoundError
        If a column is not there.
    TypeError
        If a measure is not a number a query, as a curve is not.
    ValueError
        If no measure is left, or one is named twice; if there are fewer than two strategies or no
        such baseline; if a strategy is null or has a query twice; if a value is infinite, or
        missing as `missing` does not allow; if `correction` is not `"none"` where it must be.

    Notes
    -----
    With fewer than two queries nothing can be tested: interval, `d_z`, `p_value` and `p_corrected`
    are null. Where all queries tie, `p_value` is 1. Where all differences are the same, `d_z` is
    null and so is the interval, which knows of no variation, except for `"randomised_tukey"`;
    unless they are 0, `p_value` is null for `"t"` and `"bootstrap"` too. A row whose `p_value` is
    null does not count in the correction.

    Two values closer than 1e-12 of the measure's largest are a tie: they are the same sum in
    another order. So are two differences in the ranks of `"wilcoxon"`, where 0.3 - 0.2 is 0.1.

    A frame of one measure with a column a strategy becomes what is wanted here by
    ``wide.unpivot(index="query", variable_name="strategy", value_name="ndcg@10")``.

    References
    ----------
    Smucker, Allan, Carterette: A comparison of statistical significance tests for information
    retrieval evaluation, 2007. Phipson, Smyth: Permutation p-values should never be zero, 2010.
    Efron, Tibshirani: An introduction to the bootstrap, 1993, chapter 13. Carterette: Multiple
    testing in statistical analysis of systems-based information retrieval experiments, 2012.
    Cohen: Statistical power analysis for the behavioral sciences, 1988, section 2.3.5. Holm: A
    simple sequentially rejective multiple test procedure, 1979. Benjamini, Hochberg: Controlling
    the false discovery rate, 1995.

    Examples
    --------
    >>> per_query = pl.DataFrame(
    ...     {
    ...         "strategy": ["bm25"] * 4 + ["ours"] * 4,
    ...         "query": ["a", "b", "c", "d"] * 2,
    ...         "ap": [0.25, 0.5, 0.5, 0.75, 0.5, 0.75, 0.5, 1.0],
    ...     }
    ... )
    >>> result = compare(per_query, baseline="bm25", test="permutation")
    >>> result.select("strategy", "mean", "baseline_mean", "difference", "relative_difference")
    shape: (1, 5)
    ┌──────────┬────────┬───────────────┬────────────┬─────────────────────┐
    │ strategy ┆ mean   ┆ baseline_mean ┆ difference ┆ relative_difference │
    │ ---      ┆ ---    ┆ ---           ┆ ---        ┆ ---                 │
    │ str      ┆ f64    ┆ f64           ┆ f64        ┆ f64                 │
    ╞══════════╪════════╪═══════════════╪════════════╪═════════════════════╡
    │ ours     ┆ 0.6875 ┆ 0.5           ┆ 0.1875     ┆ 0.375               │
    └──────────┴────────┴───────────────┴────────────┴─────────────────────┘

    Of the 16 ways to sign the differences 0.25, 0.25, 0 and 0.25, four are as far from 0:

    >>> result.select("queries", "wins", "ties", "losses", "d_z", "p_value")
    shape: (1, 6)
    ┌─────────┬──────┬──────┬────────┬─────┬─────────┐
    │ queries ┆ wins ┆ ties ┆ losses ┆ d_z ┆ p_value │
    │ ---     ┆ ---  ┆ ---  ┆ ---    ┆ --- ┆ ---     │
    │ u32     ┆ u32  ┆ u32  ┆ u32    ┆ f64 ┆ f64     │
    ╞═════════╪══════╪══════╪════════╪═════╪═════════╡
    │ 4       ┆ 3    ┆ 1    ┆ 0      ┆ 1.5 ┆ 0.25    │
    └─────────┴──────┴──────┴────────┴─────┴─────────┘
    """
    check_choice("test", test, TESTS)
    check_choice("correction", correction, CORRECTIONS)
    if test == "randomised_tukey" and correction != "none":
        msg = (
            "`correction` must be 'none' for the test 'randomised_tukey', whose p values hold for "
            f"all pairs together, got {correction!r}"
        )
        raise ValueError(msg)
    options = Options(
        check_number("confidence", confidence, above=0, below=1),
        check_whole_number("seed", seed, at_least=0),
        check_whole_number("resamples", resamples),
        check_progress(progress),
    )
    grid = check_per_query(per_query, measures, query=query, strategy=strategy, missing=missing)
    strategies, pairs = grid.strategies, _pairs(grid.strategies, baseline)
    return pl.concat(
        pl.DataFrame(
            [
                _names("measure", result.measure, len(pairs)),
                strategies[[i for i, _ in pairs]].alias(strategy),
                strategies[[j for _, j in pairs]].alias("baseline"),
                *_statistics(result, pairs, prepared(test, result, options), correction),
            ]
        )
        for result in map(grid.results, grid.measures)
    )


def summarise(
    per_query: pl.DataFrame | pl.LazyFrame,
    *measures: str,
    query: str = "query",
    strategy: str = "strategy",
    confidence: float = 0.95,
    missing: Missing = "error",
) -> pl.DataFrame:
    r"""Sum up each strategy's results: what goes into a paper's table.

    .. math:: \bar x = \frac{1}{n} \sum_q x_q \qquad
        s^2 = \frac{1}{n - 1} \sum_q (x_q - \bar x)^2 \qquad
        g = \exp \Big( \frac{1}{n} \sum_q \ln \max(x_q, 0.00001) \Big)

    Parameters
    ----------
    per_query, *measures, query, strategy, missing
        As for `compare`.
    confidence
        The confidence of the interval, between 0 and 1.

    Returns
    -------
    DataFrame
        A row a measure and strategy, in the order of measures and then sorted by strategy, with
        Float64 columns but where said:

        - `measure` (String), the strategy (under the name of its column), `queries` (UInt32);
        - `mean`, `std` (:math:`s`, null for one query) and `median`;
        - `geometric_mean` (:math:`g`), which for `ap` is GMAP; a value below 0.00001 counts as
          that, as in trec_eval, for else one 0 would make it 0;
        - `ci_low`, `ci_high`: Student's interval of the mean,
          :math:`\bar x \pm t_{n-1} s / \sqrt n`, null where there are fewer than two queries or
          all values are the same.

    Raises
    ------
    ColumnNotFoundError, TypeError, ValueError
        As `compare`, but any number of strategies will do.

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
    """
    check_number("confidence", confidence, above=0, below=1)
    grid = check_per_query(per_query, measures, query=query, strategy=strategy, missing=missing)
    return pl.concat(
        pl.DataFrame(
            [
                _names("measure", result.measure, len(grid.strategies)),
                grid.strategies,
                *_columns([_summary(values, confidence) for values in result.values], SUMMARY),
            ]
        )
        for result in map(grid.results, grid.measures)
    )


def differences(
    per_query: pl.DataFrame | pl.LazyFrame,
    measure: str,
    a: Any,
    b: Any,
    *,
    query: str = "query",
    strategy: str = "strategy",
    missing: Missing = "error",
    order: Literal["difference", "query"] = "difference",
) -> pl.DataFrame:
    """Set two strategies side by side query by query, as a precision histogram draws them.

    .. math:: RP_{A/B}(q) = RP_A(q) - RP_B(q)

    Parameters
    ----------
    per_query, query, strategy, missing
        As for `compare`; strategies other than the two are of no account.
    measure
        The column to compare; for a precision histogram `"r_precision"`.
    a, b
        The two strategies.
    order
        Whether rows come by falling `"difference"`, and where that is the same by query, or by
        `"query"` alone.

    Returns
    -------
    DataFrame
        A row a query: the query (under the name of its column), `value_a`, `value_b`, `difference`
        (a minus b, all Float64) and `winner`, the better of the two strategies, null for a tie.
        Better and tie are as for `compare`.

    Raises
    ------
    ColumnNotFoundError, TypeError, ValueError
        As `compare`; also if there is no strategy `a` or `b`, or they are the same.

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
    measures_and_curves(per_query, [measure], query=query, strategy=strategy)
    frame = collected_keys(per_query, [measure], query=query, strategy=strategy)
    known = frame[strategy].unique().sort()
    if place_of(known, a) == place_of(known, b):
        msg = f"`a` and `b` must be two strategies, got {a!r} twice"
        raise ValueError(msg)
    chosen = known[[place_of(known, a), place_of(known, b)]]
    both = frame.filter(pl.col(strategy).is_in(chosen.implode()))
    grid = check_per_query(both, [measure], query=query, strategy=strategy, missing=missing)
    strategies, result = grid.strategies, grid.results(measure)
    i, j = place_of(strategies, a), place_of(strategies, b)
    difference = result.differences(i, j)
    better = np.sign(difference) * (1 if result.higher_is_better else -1)
    # 0, 1 and -1 pick the place of no strategy, a and b.
    winner = pl.Series([None, i, j], dtype=pl.UInt32)[better.astype(np.int64)]
    table = pl.DataFrame(
        [
            result.queries,
            pl.Series("value_a", result.values[i]),
            pl.Series("value_b", result.values[j]),
            pl.Series("difference", difference),
            strategies.gather(winner).alias("winner"),
        ]
    )
    if order == "query":
        return table
    return table.sort("difference", descending=True, maintain_order=True)


def _pairs(strategies: pl.Series, baseline: Any) -> list[tuple[int, int]]:
    """The places of both strategies of each pair."""
    places = range(len(strategies))
    if len(strategies) < 2:  # noqa: PLR2004
        msg = f"there must be at least two strategies to compare, got {listed(strategies)}"
        raise ValueError(msg)
    if baseline is None:
        return list(combinations(places, 2))
    base = place_of(strategies, baseline)
    return [(i, base) for i in places if i != base]


# From arrays to a frame

STATISTICS = {
    "queries": pl.UInt32,
    "mean": pl.Float64,
    "baseline_mean": pl.Float64,
    "difference": pl.Float64,
    "relative_difference": pl.Float64,
    "ci_low": pl.Float64,
    "ci_high": pl.Float64,
    "d_z": pl.Float64,
    "wins": pl.UInt32,
    "ties": pl.UInt32,
    "losses": pl.UInt32,
    "p_value": pl.Float64,
}

SUMMARY = {
    "queries": pl.UInt32,
    "mean": pl.Float64,
    "std": pl.Float64,
    "median": pl.Float64,
    "geometric_mean": pl.Float64,
    "ci_low": pl.Float64,
    "ci_high": pl.Float64,
}


def _columns(
    rows: Iterable[Sequence[float]], schema: Mapping[str, type[pl.DataType]]
) -> list[pl.Series]:
    """Rows as columns of these names and types; NaN is null."""
    frame = pl.DataFrame(list(rows), schema=schema, orient="row")
    return frame.with_columns(pl.col(pl.Float64).fill_nan(None)).get_columns()


def _names(name: str, value: str, height: int) -> pl.Series:
    return pl.Series(name, [value] * height, dtype=pl.String)


def _statistics(
    results: Results,
    pairs: Iterable[tuple[int, int]],
    test: Callable[[int, int], Outcome],
    correction: CorrectionName,
) -> list[pl.Series]:
    """What is to be said of each pair."""
    columns = _columns((_pair(results, i, j, test) for i, j in pairs), STATISTICS)
    p = columns[-1].to_numpy()
    corrected = np.full(len(p), np.nan)
    corrected[~np.isnan(p)] = CORRECTIONS[correction](p[~np.isnan(p)])
    return [*columns, pl.Series("p_corrected", corrected, nan_to_null=True)]


def _pair(
    results: Results, i: int, j: int, test: Callable[[int, int], Outcome]
) -> tuple[float, ...]:
    """The statistics of one pair, NaN where there is none."""
    differences = results.differences(i, j)
    mean, baseline_mean = mean_of(results.values[i]), mean_of(results.values[j])
    difference = mean_of(differences)
    higher, lower = int((differences > 0).sum()), int((differences < 0).sum())
    wins, losses = (higher, lower) if results.higher_is_better else (lower, higher)
    p, low, high = test(i, j)
    return (
        results.n,
        mean,
        baseline_mean,
        difference,
        ratio_of(difference, baseline_mean),
        low,
        high,
        ratio_of(difference, std_of(differences)),
        wins,
        results.n - higher - lower,
        losses,
        p,
    )


def _summary(values: Floats, confidence: float) -> tuple[float, ...]:
    """The statistics of one strategy, NaN where there is none."""
    n, mean, std = len(values), mean_of(values), std_of(values)
    margin = mean_margin(std, n, confidence) if std > 0 else np.nan
    median = float(np.median(values)) if n else np.nan
    geometric = float(np.exp(mean_of(np.log(np.maximum(values, GEOMETRIC_FLOOR)))))
    return n, mean, std, median, geometric, mean - margin, mean + margin
