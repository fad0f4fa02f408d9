"""Strategies against each other: tests, intervals, corrections, and what goes into a paper.

Everything starts from the frame that `evaluate` returns, a row a strategy and query and a column a
measure. A measure of it becomes one array, a row a strategy and a column a query, and every
statistic is read off that.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_graded import arguments
from polars_graded.measure import Measure

__all__ = ["compare", "differences", "rank_correlation", "summarise"]

Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]
Missing: TypeAlias = Literal["error", "drop", "zero"]
Outcome: TypeAlias = tuple[float, float, float]
"""A p value and both ends of an interval, NaN where there is none."""
Progress: TypeAlias = Callable[[Sequence[int]], Iterable[int]]

GEOMETRIC_FLOOR = 1e-5
"""What a value below it counts as in a geometric mean, as in trec_eval."""

ROUNDING = 1e-12
"""Values that lie closer than this share of the largest are the same number, rounded otherwise."""

BLOCK = 2**20
"""How many numbers are drawn at a time, 8 MB."""

SHOWN = 3
"""How many of the keys that are in the way an error names."""


def compare(
    per_query: pl.DataFrame | pl.LazyFrame,
    *measures: str,
    query: str = "query",
    strategy: str = "strategy",
    baseline: Any = None,
    test: Literal["t", "wilcoxon", "permutation", "bootstrap", "randomised_tukey"] = "t",
    correction: Literal["none", "bonferroni", "holm", "benjamini_hochberg"] = "holm",
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
    arguments.choice("test", test, TESTS)
    arguments.choice("correction", correction, CORRECTIONS)
    if test == "randomised_tukey" and correction != "none":
        msg = (
            "`correction` must be 'none' for the test 'randomised_tukey', whose p values hold for "
            f"all pairs together, got {correction!r}"
        )
        raise ValueError(msg)
    options = _Options(
        arguments.number("confidence", confidence, above=0, below=1),
        arguments.whole_number("seed", seed, at_least=0),
        arguments.whole_number("resamples", resamples),
        _progress(progress),
    )
    strategies, results = _results(per_query, measures, query, strategy, missing)
    pairs = _pairs(strategies, baseline)
    return pl.concat(
        pl.DataFrame(
            [
                _names("measure", result.measure, len(pairs)),
                strategies[[i for i, _ in pairs]].alias(strategy),
                strategies[[j for _, j in pairs]].alias("baseline"),
                *_statistics(result, pairs, _prepared(test, result, options), correction),
            ]
        )
        for result in results
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
    arguments.number("confidence", confidence, above=0, below=1)
    strategies, results = _results(per_query, measures, query, strategy, missing)
    return pl.concat(
        pl.DataFrame(
            [
                _names("measure", result.measure, len(strategies)),
                strategies,
                *_columns([_summary(values, confidence) for values in result.values], SUMMARY),
            ]
        )
        for result in results
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
    arguments.choice("order", order, ("difference", "query"))
    frame = _checked(per_query, [measure], query, strategy)
    known = frame[strategy].unique().sort()
    if _place(known, a) == _place(known, b):
        msg = f"`a` and `b` must be two strategies, got {a!r} twice"
        raise ValueError(msg)
    chosen = known[[_place(known, a), _place(known, b)]]
    both = frame.filter(pl.col(strategy).is_in(chosen.implode()))
    strategies, [result] = _results(both, [measure], query, strategy, missing)
    i, j = _place(strategies, a), _place(strategies, b)
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


def rank_correlation(
    per_query: pl.DataFrame | pl.LazyFrame,
    *measures: str,
    reference: str | None = None,
    method: Literal["kendall", "ap"] = "kendall",
    query: str = "query",
    strategy: str = "strategy",
    missing: Missing = "error",
) -> pl.DataFrame:
    r"""Say how alike two measures order the strategies by their means: 1 the same, -1 reversed.

    Kendall's :math:`\tau` counts every pair of strategies alike. AP correlation counts those near
    the top more: it goes down one order, from the second of its N strategies, and takes the share
    of those above the i-th that the other order puts above it too, :math:`C(i)` of them:

    .. math:: \tau_{AP} = \frac{2}{N - 1} \sum_{i=2}^{N} \frac{C(i)}{i - 1} - 1

    Parameters
    ----------
    per_query, *measures, query, strategy, missing
        As for `compare`, with at least two measures.
    reference
        The measure whose order is the true one, for the others to be compared with; it is among
        the measures, or is added to them. Without it each pair of measures is compared once.
    method
        `"kendall"` (`scipy.stats.kendalltau`, which is :math:`\tau_b`) or `"ap"`. AP correlation
        goes down the order of the measure that is compared with the reference; without a
        reference it is the mean of both directions.

    Returns
    -------
    DataFrame
        `measure`, `reference` (both String), `strategies` (UInt32) and `tau` (Float64), from -1 to
        1, null where a measure gives all strategies the same mean, or there are fewer than two.

    Raises
    ------
    ColumnNotFoundError, TypeError, ValueError
        As `compare`, but any number of strategies will do; also if there are fewer than two
        measures.

    Notes
    -----
    Strategies whose means are tied in the order that is gone down count as one place there: each is
    compared with those above the tie, and those at the top with none, as in Urbano and Marrero's
    :math:`\tau_{AP,b}`, which is what the mean of both directions is. A tie in one order where the
    other has none counts as disagreement.

    A measure known to be best at its lowest, as `e_measure`, orders the strategies from there.
    `scipy.stats.weightedtau` is another coefficient.

    References
    ----------
    Kendall: A new measure of rank correlation, 1938. Yilmaz, Aslam, Robertson: A new rank
    correlation coefficient for information retrieval, 2008. Urbano, Marrero: The treatment of ties
    in AP correlation, 2017.

    Examples
    --------
    Both measures agree but for the two best of four strategies, which is one pair of six:

    >>> per_query = pl.DataFrame(
    ...     {
    ...         "strategy": ["w", "x", "y", "z"],
    ...         "query": "a",
    ...         "ap": [0.75, 0.5, 0.25, 0.0],
    ...         "ndcg": [0.5, 1.0, 0.25, 0.0],
    ...     }
    ... )
    >>> pl.concat([rank_correlation(per_query, method=method) for method in ("kendall", "ap")])
    shape: (2, 4)
    ┌─────────┬───────────┬────────────┬──────────┐
    │ measure ┆ reference ┆ strategies ┆ tau      │
    │ ---     ┆ ---       ┆ ---        ┆ ---      │
    │ str     ┆ str       ┆ u32        ┆ f64      │
    ╞═════════╪═══════════╪════════════╪══════════╡
    │ ap      ┆ ndcg      ┆ 4          ┆ 0.666667 │
    │ ap      ┆ ndcg      ┆ 4          ┆ 0.333333 │
    └─────────┴───────────┴────────────┴──────────┘
    """
    arguments.choice("method", method, ("kendall", "ap"))
    if reference is not None and measures and reference not in measures:
        measures = (*measures, reference)
    strategies, results = _results(per_query, measures, query, strategy, missing)
    order = {result.measure: result.order for result in results}
    if len(order) < 2:  # noqa: PLR2004
        msg = f"name at least two measures to correlate, got {', '.join(order)}"
        raise ValueError(msg)
    if reference is None:
        pairs = list(combinations(order, 2))
    elif reference in order:
        pairs = [(name, reference) for name in order if name != reference]
    else:
        msg = f"`reference` must be one of {', '.join(order)}, got {reference!r}"
        raise ValueError(msg)
    correlation = _kendall if method == "kendall" else _tau_ap
    tau = [correlation(order[x], order[y]) for x, y in pairs]
    if method == "ap" and reference is None:
        tau = [(t + _tau_ap(order[y], order[x])) / 2 for t, (x, y) in zip(tau, pairs, strict=True)]
    return pl.DataFrame(
        [
            pl.Series("measure", [name for name, _ in pairs], dtype=pl.String),
            pl.Series("reference", [name for _, name in pairs], dtype=pl.String),
            pl.Series("strategies", [len(strategies)] * len(pairs), dtype=pl.UInt32),
            pl.Series("tau", tau, dtype=pl.Float64).fill_nan(None),
        ]
    )


# From a frame to arrays


@dataclass(frozen=True)
class _Options:
    """How a test is carried out."""

    confidence: float
    seed: int
    resamples: int
    progress: Progress


@dataclass(frozen=True)
class _Results:
    """The results of one measure: a row a strategy, a column a query."""

    measure: str
    queries: pl.Series
    values: Floats

    @property
    def n(self) -> int:
        """How many queries there are."""
        return len(self.queries)

    @cached_property
    def rounding(self) -> float:
        """How far apart two values can be that are the same."""
        return ROUNDING * float(np.abs(self.values).max(initial=0))

    @property
    def higher_is_better(self) -> bool:
        """Whether a higher value is better: of the measures known, some are best at the lowest."""
        measure = Measure.parsed(self.measure)
        return measure is None or measure.definition.best != "lowest"

    @property
    def order(self) -> Floats:
        """Where the means put the strategies, the best highest; rounding does not part them."""
        means = self.values.sum(axis=1) / (self.n or np.nan)
        steps: Floats = np.rint(means / (self.rounding or 1))
        return steps if self.higher_is_better else -steps

    def differences(self, i: int, j: int) -> Floats:
        """The differences between two strategies, without what rounding adds to them."""
        differences: Floats = self.values[i] - self.values[j]
        if self.n and np.ptp(differences) <= self.rounding:
            differences[:] = differences[0]
        differences[np.abs(differences) <= self.rounding] = 0
        return differences


def _results(
    per_query: pl.DataFrame | pl.LazyFrame,
    measures: Sequence[str],
    query: str,
    strategy: str,
    missing: Missing,
) -> tuple[pl.Series, list[_Results]]:
    """The strategies, sorted, and the results of each measure."""
    arguments.choice("missing", missing, ("error", "drop", "zero"))
    frame = _checked(per_query, measures, query, strategy)
    grid = (
        frame.select(pl.col(strategy).unique().sort())
        .join(frame.select(pl.col(query).unique().sort()), how="cross")
        .join(frame, on=[strategy, query], how="left", nulls_equal=True, maintain_order="left")
    )
    strategies, queries = (grid[name].unique(maintain_order=True) for name in (strategy, query))
    results = []
    for measure in frame.columns[2:]:
        values = grid[measure].fill_null(np.nan).to_numpy()
        _refuse(grid, np.isinf(values), measure, "must be finite, got infinity")
        absent = np.isnan(values)
        if missing == "error":
            rule = "must have a value for each strategy and query, got none, null or NaN"
            hint = "; missing='drop' or missing='zero' allows it"
            _refuse(grid, absent, measure, rule, hint)
        values = np.where(absent, 0.0, values).reshape(len(strategies), len(queries))
        whole = ~absent.reshape(values.shape).any(axis=0) | (missing == "zero")
        results.append(_Results(measure, queries.filter(pl.Series(whole)), values[:, whole]))
    return strategies, results


def _checked(
    per_query: pl.DataFrame | pl.LazyFrame, measures: Sequence[str], query: str, strategy: str
) -> pl.DataFrame:
    """The strategy, the query and the measures as Float64, or the error of a frame without them."""
    schema = arguments.a_frame("per_query", per_query).collect_schema()
    keys = [strategy, query]
    for name in [*keys, *measures]:
        if not isinstance(name, str):
            msg = f"a column must be named by a string, got {name!r}"
            raise TypeError(msg)
        if name not in schema:
            hint = arguments.did_you_mean(name, schema)
            msg = f"there is no column {name!r}{hint}; there are {', '.join(schema)}"
            raise pl.exceptions.ColumnNotFoundError(msg)
    chosen = list(measures) or [
        name for name, dtype in schema.items() if dtype.is_numeric() and name not in keys
    ]
    if not chosen:
        msg = f"`per_query` must have a column of numbers to compare, got {', '.join(schema)}"
        raise ValueError(msg)
    for name in chosen:
        if not (schema[name].is_numeric() or schema[name] == pl.Boolean):
            curve = ": name the measure at one rank instead of its curve"
            msg = f"measure {name!r} must be a number a query, got {schema[name]}"
            raise TypeError(msg + curve if schema[name].is_nested() else msg)
    if len({*keys, *chosen}) < len([*keys, *chosen]):
        msg = f"each column must be named once, got {', '.join([*keys, *chosen])}"
        raise ValueError(msg)
    frame = per_query.lazy().select(*keys, pl.col(chosen).cast(pl.Float64)).collect()
    if nulls := frame[strategy].null_count():
        msg = f"strategy {strategy!r} must not be null, got {nulls} nulls"
        raise ValueError(msg)
    repeated = frame.select(keys).is_duplicated()
    if repeated.any():
        again = frame.filter(repeated).select(keys).unique().sort(keys)
        msg = (
            f"each strategy must have each query once, got {again.height} more often: "
            f"{_first(again)}"
        )
        raise ValueError(msg)
    return frame


def _refuse(
    grid: pl.DataFrame, wrong: npt.NDArray[np.bool_], measure: str, rule: str, hint: str = ""
) -> None:
    """Raise where a value is wrong, with how many queries have one and some of them."""
    if wrong.any():
        keys = grid[:, :2]
        rows = keys.filter(pl.Series(wrong))
        count = f"{rows.to_series(1).n_unique()} of {keys.to_series(1).n_unique()} queries"
        msg = f"measure {measure!r} {rule} in {count}: {_first(rows)}{hint}"
        raise ValueError(msg)


def _first(keys: pl.DataFrame) -> str:
    """The first few strategies and queries."""
    shown = [f"query {query!r} of {strategy!r}" for strategy, query in keys.head(SHOWN).iter_rows()]
    return ", ".join(shown if keys.height <= SHOWN else [*shown, "..."])


def _pairs(strategies: pl.Series, baseline: Any) -> list[tuple[int, int]]:
    """The places of both strategies of each pair."""
    places = range(len(strategies))
    if len(strategies) < 2:  # noqa: PLR2004
        msg = f"there must be at least two strategies to compare, got {_listed(strategies)}"
        raise ValueError(msg)
    if baseline is None:
        return list(combinations(places, 2))
    base = _place(strategies, baseline)
    return [(i, base) for i in places if i != base]


def _place(strategies: pl.Series, name: Any) -> int:
    """Where a strategy stands among them."""
    known = strategies.to_list()
    if name in known:
        return known.index(name)
    texts = [str(each) for each in known]
    meant = isinstance(name, str) and name not in texts
    hint = arguments.did_you_mean(name, texts) if meant else ""
    msg = f"there is no strategy {name!r}{hint}; there are {_listed(strategies)}"
    raise ValueError(msg)


def _listed(strategies: pl.Series) -> str:
    return ", ".join(map(repr, strategies.to_list())) or "none"


def _progress(progress: Progress | None) -> Progress:
    if progress is None:
        return lambda blocks: blocks
    if not callable(progress):
        msg = f"`progress` must be called with a sequence, as tqdm is, got {progress!r}"
        raise TypeError(msg)
    return progress


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
    results: _Results,
    pairs: Iterable[tuple[int, int]],
    test: Callable[[int, int], Outcome],
    correction: str,
) -> list[pl.Series]:
    """What is to be said of each pair."""
    columns = _columns((_pair(results, i, j, test) for i, j in pairs), STATISTICS)
    p = columns[-1].to_numpy()
    corrected = np.full(len(p), np.nan)
    corrected[~np.isnan(p)] = CORRECTIONS[correction](p[~np.isnan(p)])
    return [*columns, pl.Series("p_corrected", corrected, nan_to_null=True)]


def _pair(
    results: _Results, i: int, j: int, test: Callable[[int, int], Outcome]
) -> tuple[float, ...]:
    """The statistics of one pair, NaN where there is none."""
    differences = results.differences(i, j)
    mean, baseline_mean = _mean(results.values[i]), _mean(results.values[j])
    difference = _mean(differences)
    higher, lower = int((differences > 0).sum()), int((differences < 0).sum())
    wins, losses = (higher, lower) if results.higher_is_better else (lower, higher)
    p, low, high = test(i, j)
    return (
        results.n,
        mean,
        baseline_mean,
        difference,
        _ratio(difference, baseline_mean),
        low,
        high,
        _ratio(difference, _std(differences)),
        wins,
        results.n - higher - lower,
        losses,
        p,
    )


def _summary(values: Floats, confidence: float) -> tuple[float, ...]:
    """The statistics of one strategy, NaN where there is none."""
    n, mean, std = len(values), _mean(values), _std(values)
    margin = mean_margin(std, n, confidence) if std > 0 else np.nan
    median = float(np.median(values)) if n else np.nan
    geometric = float(np.exp(_mean(np.log(np.maximum(values, GEOMETRIC_FLOOR)))))
    return n, mean, std, median, geometric, mean - margin, mean + margin


def mean_margin(std: Any, n: Any, confidence: float) -> Any:
    """How far Student's interval of the mean of n values reaches to either side of it."""
    from scipy.special import stdtrit

    return stdtrit(n - 1, (1 + confidence) / 2) * std / np.sqrt(n)


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else np.nan


def _std(values: Floats) -> float:
    """The standard deviation, NaN for fewer than two values."""
    if len(values) < 2:  # noqa: PLR2004
        return np.nan
    return float(values.std(ddof=1)) if np.ptp(values) else 0.0


def _ratio(above: float, below: float) -> float:
    """One number over another, NaN where that is 0."""
    return above / below if below else np.nan


# Tests: each prepares what all pairs of a measure share, and returns what tests one of them


def _prepared(test: str, results: _Results, options: _Options) -> Callable[[int, int], Outcome]:
    """What tests a pair; fewer than two queries say nothing."""
    if results.n < 2:  # noqa: PLR2004
        return lambda _i, _j: (np.nan, np.nan, np.nan)
    return TESTS[test](results, options)


def _t(results: _Results, options: _Options) -> Callable[[int, int], Outcome]:
    """The paired t test."""
    from scipy.stats import ttest_rel

    def test(i: int, j: int) -> Outcome:
        differences = results.differences(i, j)
        if not np.ptp(differences):
            return np.nan if differences[0] else 1.0, np.nan, np.nan
        found = ttest_rel(results.values[i], results.values[j])
        interval = found.confidence_interval(options.confidence)
        return float(found.pvalue), float(interval.low), float(interval.high)

    return test


def _wilcoxon(results: _Results, options: _Options) -> Callable[[int, int], Outcome]:
    """The signed rank test, with the interval of the t test."""
    from scipy.stats import wilcoxon

    t = _t(results, options)

    def test(i: int, j: int) -> Outcome:
        differences = results.differences(i, j)
        _, low, high = t(i, j)
        if not differences.any():
            return 1.0, low, high
        # Only ranks count: whole steps, so that differences which rounding sets apart are tied.
        steps = np.rint(differences / results.rounding)
        with warnings.catch_warnings(action="ignore"):  # that a sample is small, in older versions
            return float(wilcoxon(steps, zero_method="wilcox").pvalue), low, high

    return test


def _permutation(results: _Results, options: _Options) -> Callable[[int, int], Outcome]:
    """Fisher's randomisation test, with the interval of the t test.

    The sign that a query's difference of any pair takes is the sign that all its values take.
    """
    exact = 2**results.n <= options.resamples
    blocks = _all_signs(results.n) if exact else _random_signs(results.n, options)
    means = _weighted_means(results, blocks)
    t = _t(results, options)

    def test(i: int, j: int) -> Outcome:
        observed = results.differences(i, j).mean()
        larger = np.abs(means[:, i] - means[:, j]) >= abs(observed) - results.rounding
        _, low, high = t(i, j)
        return _share(larger, exact=exact), low, high

    return test


def _bootstrap(results: _Results, options: _Options) -> Callable[[int, int], Outcome]:
    """The percentile interval, and where it ends at 0."""
    means = _weighted_means(results, _resampled_queries(results.n, options))
    tails = np.array([1 - options.confidence, 1 + options.confidence]) / 2

    def test(i: int, j: int) -> Outcome:
        differences = results.differences(i, j)
        if not np.ptp(differences):
            return np.nan if differences[0] else 1.0, np.nan, np.nan
        resampled = means[:, i] - means[:, j]
        low, high = np.quantile(resampled, tails)
        not_above = _share(resampled <= results.rounding, exact=False)
        not_below = _share(resampled >= -results.rounding, exact=False)
        return min(1.0, 2 * not_above, 2 * not_below), float(low), float(high)

    return test


def _randomised_tukey(results: _Results, options: _Options) -> Callable[[int, int], Outcome]:
    """The range of all means when each query's values are shuffled among the strategies."""
    rng = np.random.default_rng(options.seed)
    ranges = np.concatenate(
        [
            np.ptp(rng.permuted(np.tile(results.values.T, (n, 1, 1)), axis=2).mean(axis=1), axis=1)
            for n in _blocks(results.values.size, options)
        ]
    )
    margin = np.quantile(ranges, options.confidence)

    def test(i: int, j: int) -> Outcome:
        mean = float(results.differences(i, j).mean())
        larger = ranges >= abs(mean) - results.rounding
        return _share(larger, exact=False), mean - margin, mean + margin

    return test


TESTS: Mapping[str, Callable[[_Results, _Options], Callable[[int, int], Outcome]]] = {
    "t": _t,
    "wilcoxon": _wilcoxon,
    "permutation": _permutation,
    "bootstrap": _bootstrap,
    "randomised_tukey": _randomised_tukey,
}


def _weighted_means(results: _Results, blocks: Iterable[Integers]) -> Floats:
    """The means of each strategy with weighted queries: a row a set of weights, in blocks."""
    return np.concatenate(
        [weights.astype(np.float64) @ results.values.T / results.n for weights in blocks]
    )


def _all_signs(n: int) -> Iterator[Integers]:
    """Every way to sign n differences."""
    yield 2 * (np.arange(2**n)[:, np.newaxis] >> np.arange(n) & 1) - 1


def _random_signs(n: int, options: _Options) -> Iterator[Integers]:
    """Random ways to sign n differences."""
    rng = np.random.default_rng(options.seed)
    for rows in _blocks(n, options):
        yield 2 * rng.integers(0, 2, (rows, n)) - 1


def _resampled_queries(n: int, options: _Options) -> Iterator[Integers]:
    """How often each of n queries is drawn when n are drawn with replacement."""
    rng = np.random.default_rng(options.seed)
    for rows in _blocks(n, options):
        drawn = rng.integers(0, n, (rows, n)) + n * np.arange(rows)[:, np.newaxis]
        yield np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n)


def _blocks(size: int, options: _Options) -> Iterator[int]:
    """How many resamples of so many numbers to draw at a time."""
    step = max(1, BLOCK // size)
    for start in options.progress(range(0, options.resamples, step)):
        yield min(step, options.resamples - start)


def _share(larger: npt.NDArray[np.bool_], *, exact: bool) -> float:
    """The share of resamples; of random ones the data itself is one more (Phipson, Smyth 2010)."""
    return float(larger.mean() if exact else (larger.sum() + 1) / (len(larger) + 1))


# Corrections of the p values of one family


def _bonferroni(p: Floats) -> Floats:
    return np.minimum(1, p * len(p))


def _holm(p: Floats) -> Floats:
    """The i-th smallest p value times m - i + 1, and no smaller than those before."""
    order = np.argsort(p)
    corrected = np.empty(len(p))
    corrected[order] = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return np.minimum(1, corrected)


def _benjamini_hochberg(p: Floats) -> Floats:
    from scipy.stats import false_discovery_control

    return np.asarray(false_discovery_control(p, method="bh"))


CORRECTIONS: Mapping[str, Callable[[Floats], Floats]] = {
    "none": lambda p: p,
    "bonferroni": _bonferroni,
    "holm": _holm,
    "benjamini_hochberg": _benjamini_hochberg,
}


# Rank correlations


def _kendall(x: Floats, y: Floats) -> float:
    """Kendall's tau-b, NaN where all of one order are tied."""
    from scipy.stats import kendalltau

    return float(kendalltau(x, y).statistic) if _vary(x) and _vary(y) else np.nan


def _vary(means: Floats) -> bool:
    return len(np.unique(means)) > 1


def _tau_ap(x: Floats, reference: Floats) -> float:
    """Going down x: the share of those above that the reference puts above too, doubled, less 1."""
    above = x > x[:, np.newaxis]
    agree = above & (reference > reference[:, np.newaxis])
    n_above, n_agree = above.sum(axis=1), agree.sum(axis=1)
    below_top = n_above > 0
    return 2 * _mean(n_agree[below_top] / n_above[below_top]) - 1
