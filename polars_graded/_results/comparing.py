"""Comparisons of strategies, and summaries of each strategy.

Each measure in the frame that `evaluate` returns becomes an array with one row per strategy and one
column per query. All statistics are computed from these arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import polars as pl

from polars_graded._checks import check_choice, check_level, check_list, check_number
from polars_graded._frames.arguments import Columns
from polars_graded._frames.strategies import find_index, find_pairs
from polars_graded._measuring.keywords import checks_keywords
from polars_graded._results.best_values import MeasureColumns, find_places
from polars_graded._results.grid import Grid, Missing, Results
from polars_graded._results.mean_intervals import compute_mean_intervals
from polars_graded._results.means import compute_mean_and_std, divide
from polars_graded._results.pairs import Pairs, name_pairs
from polars_graded._results.result_sets import ResultSet, collect_rows, open_results
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
from polars_graded._results.tables import check_free_names, count_units, make_measure_table
from polars_graded._results.units import compute_weighted_medians

__all__ = ["compare", "differences", "summarise"]

GEOMETRIC_FLOOR = 1e-5
"""Value that replaces smaller ones in a geometric mean, as in trec_eval."""


@checks_keywords
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
    progress: Progress | None = None,
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
        The columns to compare; by default all columns with the name of a measure. A mapping
        specifies the measure, or the best value, of a column with another name: `{"E":
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
        `"t"` (paired), `"wilcoxon"` (of ranks, **not means**), `"permutation"`, `"bootstrap"` or
        `"randomised_tukey"` (all strategies at once).
    correction
        The correction of all p values of a measure: `"holm"` (the default), `"bonferroni"`,
        `"benjamini_hochberg"` or `"none"`.
    confidence
        The confidence of the intervals, between 0 and 1.
    rope
        The largest mean difference, in either direction, that is negligible in practice.
    cluster
        The column of independent units, such as the search term of queries on several devices, or
        several columns. The test must be `"t"`, `"permutation"` or `"bootstrap"`.
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
    progress
        The progress bar of the resamples, such as `tqdm.tqdm`.

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
        - with `"wilcoxon"`: `rank_biserial`, from -1 to 1, the direction of the test;
        - `p_value`, and `simultaneous_low` to `simultaneous_high`, the interval that agrees with
          `p_corrected`: it excludes 0 if, and only if, `p_corrected` is at most 1 - `confidence`;
        - `confidence`; `difference`, and its own interval, `ci_low` to `ci_high`; `p_corrected`.

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
    options = Options(test, correction, confidence, seed, resamples, progress)
    margin = None if rope is None else check_number("rope", rope, at_least=0)
    results = open_results(
        per_query,
        measures,
        query=query,
        strategy=strategy,
        segments=segments,
        cluster=cluster,
        weights=weights,
        missing=missing,
        grader=grader,
    )
    return results.stack(lambda each: compare_grid(each.read_grid(), options, baseline, margin))


@checks_keywords
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
    check_level(confidence)
    results = open_results(
        per_query,
        measures,
        query=query,
        strategy=strategy,
        segments=segments,
        cluster=cluster,
        weights=weights,
        missing=missing,
        grader=grader,
    )
    return results.stack(lambda each: summarise_grid(each.read_grid(), confidence))


@checks_keywords
def differences(
    per_query: pl.DataFrame | pl.LazyFrame,
    measures: MeasureColumns | Sequence[MeasureColumns],
    a: Any,
    b: Any,
    *,
    order: Literal["difference", "query"] = "difference",
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
    is_alone = isinstance(measures, str | Mapping)
    results = open_results(
        per_query,
        check_list("measures", [measures] if is_alone else measures),
        query=query,
        strategy=strategy,
        missing=missing,
        grader=grader,
    )
    return results.stack(lambda each: _list_differences(each, a, b, order, is_alone=is_alone))


def _list_differences(
    results: ResultSet, a: Any, b: Any, order: str, *, is_alone: bool
) -> pl.DataFrame:
    """Return the differences of one grader, without a column of measures if there is one alone."""
    keys = results.keys
    check_free_names(["measure", "value_a", "value_b", "difference", "winner"], query=keys.query)
    names, _ = results.find_measures()
    rows = collect_rows(results.rows, names, keys)
    available = rows[keys.strategy].unique().sort()
    both = available[[find_index(available, a), find_index(available, b)]]
    if both.n_unique() == 1:
        msg = f"`a` and `b` must be two strategies, got {a!r} twice"
        raise ValueError(msg)
    # Values that other strategies lack do not matter.
    rows = rows.filter(pl.col(keys.strategy).is_in(both.implode()))
    grid = Grid(rows, results.missing, measures=results.measures)
    i, j = find_index(grid.strategies, a), find_index(grid.strategies, b)
    tables = [pair_values(grid.get_results(name), grid.strategies, i, j) for name in names]
    if order == "difference":
        tables = [
            each.sort(find_places(each["difference"]), descending=True, maintain_order=True)
            for each in tables
        ]
    if is_alone and len(names) == 1:
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
            **count_units(segment.results, len(segment)),
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
    values, n, shares = results.values, results.n, results.shares
    mean, low, high = compute_mean_intervals(results, confidence)
    # numpy warns if it averages no values. So without queries, average a NaN: the result is NaN.
    samples = values if n else np.full((len(values), 1), np.nan)
    logarithms = np.log(np.maximum(samples, GEOMETRIC_FLOOR))
    if shares is None:
        median, log_mean = np.median(samples, axis=1), logarithms.mean(axis=1)
    else:
        median, log_mean = compute_weighted_medians(samples, shares), logarithms @ shares
    return {
        "queries": np.full(len(values), n),
        **count_units(results, len(values)),
        "median": median,
        "geometric_mean": np.exp(log_mean),
        "best": [results.best] * len(values),
        "confidence": np.full(len(values), confidence),
        "mean": mean,
        "std": compute_mean_and_std(values, shares)[1],
        "ci_low": low,
        "ci_high": high,
    }
