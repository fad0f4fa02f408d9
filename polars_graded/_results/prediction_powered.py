"""Prediction-powered inference: people judge some queries, and a model judges all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from polars_graded._checks import check_choice, check_confidence
from polars_graded._frames.arguments import Columns
from polars_graded._frames.strategies import find_pairs
from polars_graded._frames.tables import GRADER
from polars_graded._measuring.kernels.ragged import Floats, Integers
from polars_graded._measuring.keywords import checks_call
from polars_graded._results.keys import PassedKeys, check_independence
from polars_graded._results.measure_values import (
    MeasureColumns,
    MeasureMatrix,
    compute_mean_and_std,
    name_pairs,
)
from polars_graded._results.results import (
    Missing,
    Results,
    ResultsByGrader,
    check_same_strategies,
    make_measure_table,
    open_results,
)
from polars_graded._results.significance import CORRECTIONS, CorrectionName, Estimate, compute_tests
from polars_graded._sentences import format_count, format_p
from polars_graded._warnings import DataWarning, warn_the_caller

__all__ = ["prediction_powered_differences", "prediction_powered_means"]

MIN_TRUSTED_QUERIES = 10
"""Minimum number of queries with trusted values for a reliable interval. A note reports fewer."""

MIN_FITTED_QUERIES = 4
"""Minimum number of queries with trusted values. With fewer, the weight of the model is 0."""

MIN_COMPARED_QUERIES = 5
"""Minimum number of queries with trusted values, and minimum number of other queries.

With fewer, `_warn_of_selection` does not test whether the trusted queries are a random sample.
"""

MAX_SELECTION_P = 0.001
"""Maximum corrected p value for a warning that queries are hardly a random sample."""


@checks_call
def prediction_powered_means(
    per_query: pl.DataFrame | pl.LazyFrame,
    *measures: MeasureColumns,
    trusted: str,
    segments: Columns | None = None,
    confidence: float = 0.95,
    query: Columns | None = None,
    strategy: str | None = None,
    missing: Missing = "error",
    grader: str | None = None,
) -> pl.DataFrame:
    """Estimate what people would find in all queries, of which a model judged all.

    A trusted grader judged some queries, which must be **a random sample of all queries**, and a
    model judged all. The estimate uses both graders' values (prediction-powered inference, PPI++).
    `DataWarning.selection` warns if the model's values of the judged queries differ clearly from
    its other values. The notebook "A model judged all queries" of the documentation has the
    formulas.

    Parameters
    ----------
    per_query, *measures, query, strategy, segments, missing
        As for `summarise`. The column `grader` distinguishes the graders.
    trusted
        The grader whose grades count.
    confidence
        The confidence of the intervals, between 0 and 1.
    grader
        The model; by default each grader other than `trusted` is one.

    Returns
    -------
    DataFrame
        One row per model, measure, segment and strategy. Columns are Float64 unless stated
        otherwise:

        - `grader` (String), the model; `measure` (String), the segments and the strategy;
        - `queries`, the number that both graders judged, and `model_queries`, the number that the
          model alone judged (UInt32);
        - `best` (String), as for `compare`;
        - `trusted_mean` and `model_mean`, from either grader's grades, with intervals;
        - the `weight` of the model, the `correlation` of both graders, and the `worth` of the
          model's grades in further queries;
        - `confidence`, and `mean`, the estimate of what the trusted grader would find in all
          queries, with `ci_low` and `ci_high`;
        - `note` (String), null or warnings.

    Raises
    ------
    ValueError
        If `trusted` or `grader` is no grader, if there is no other grader, if two graders have
        different strategies, or if they have no query of a measure in common.

    See Also
    --------
    prediction_powered_differences : The same for pairs of strategies.
    charts.comparison_forest : Chart of these estimates.

    References
    ----------
    Angelopoulos, Duchi, Zrnic: PPI++: efficient prediction-powered inference, 2023.

    Examples
    --------
    A model grades all forty queries, and its values are 0.25 too high. People grade every fifth
    query. By chance, these queries are harder than the others:

    >>> model = pl.DataFrame({"query": range(40)}).with_columns(ap=pl.col("query") / 52 + 0.25)
    >>> people = model.filter(pl.col("query") % 5 == 0).with_columns(pl.col("ap") - 0.25)
    >>> both = pl.concat(
    ...     each.select(pl.lit(name).alias("grader"), pl.lit("bm25").alias("strategy"), "*")
    ...     for name, each in {"people": people, "model": model}.items()
    ... )
    >>> prediction_powered_means(both, trusted="people").select(
    ...     "trusted_mean", "model_mean", "weight", "mean"
    ... )
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
    passed = PassedKeys(query, strategy, segments=segments)
    by_grader = open_results(per_query, measures, passed, missing, dependence="ignore")
    return _estimate_values(by_grader, trusted, grader, confidence)


@checks_call
def prediction_powered_differences(
    per_query: pl.DataFrame | pl.LazyFrame,
    *measures: MeasureColumns,
    trusted: str,
    baseline: Any = None,
    correction: CorrectionName = "holm",
    segments: Columns | None = None,
    confidence: float = 0.95,
    query: Columns | None = None,
    strategy: str | None = None,
    missing: Missing = "error",
    grader: str | None = None,
) -> pl.DataFrame:
    """Estimate the differences that people would find in all queries, of which a model judged all.

    This is `prediction_powered_means` for the differences of pairs of strategies, with t tests.

    Parameters
    ----------
    per_query, *measures, trusted, query, strategy, segments, confidence, missing, grader
        As for `prediction_powered_means`.
    baseline
        The strategy with which all others are compared, or a list of several; by default all pairs
        are compared.
    correction
        The correction of all p values of a model and a measure, as for `compare`.

    Returns
    -------
    DataFrame
        One row per model, measure, segment and pair, with the columns of
        `prediction_powered_means`. `trusted_difference`, `model_difference` and `difference`
        replace the means. `baseline`, and the columns from `test` to `simultaneous_high` are those
        of `compare`.

    Raises
    ------
    ValueError
        In the same cases as for `prediction_powered_means`.

    Examples
    --------
    >>> generator = np.random.default_rng(0)
    >>> model = pl.DataFrame({"query": range(80), "ap": generator.random(80)})
    >>> results = {
    ...     ("model", "bm25"): model,
    ...     ("model", "ours"): model.with_columns(pl.col("ap") + 0.25),
    ...     ("people", "bm25"): model.head(40),
    ...     ("people", "ours"): model.head(40).with_columns(pl.col("ap") + 0.125),
    ... }
    >>> both = pl.concat(
    ...     frame.select(pl.lit(grader).alias("grader"), pl.lit(strategy).alias("strategy"), "*")
    ...     for (grader, strategy), frame in results.items()
    ... )
    >>> prediction_powered_differences(both, trusted="people", baseline="bm25").select(
    ...     "strategy", "baseline", "trusted_difference", "model_difference"
    ... )
    shape: (1, 4)
    ┌──────────┬──────────┬────────────────────┬──────────────────┐
    │ strategy ┆ baseline ┆ trusted_difference ┆ model_difference │
    │ ---      ┆ ---      ┆ ---                ┆ ---              │
    │ str      ┆ str      ┆ f64                ┆ f64              │
    ╞══════════╪══════════╪════════════════════╪══════════════════╡
    │ ours     ┆ bm25     ┆ 0.125              ┆ 0.25             │
    └──────────┴──────────┴────────────────────┴──────────────────┘
    """
    check_choice("correction", correction, CORRECTIONS)
    passed = PassedKeys(query, strategy, segments=segments)
    by_grader = open_results(per_query, measures, passed, missing, dependence="ignore")
    return _estimate_values(by_grader, trusted, grader, confidence, baseline, correction)


def _estimate_means(values: Floats) -> Estimate:
    """Return the estimate of the mean of each row."""
    return Estimate.of(*compute_mean_and_std(values), values.shape[1])


class Corrected(NamedTuple):
    """Three estimates of means: from both graders, from the trusted one, and from the model.

    `both` estimates the means that the trusted grader would have found for all queries. `weight`
    and `correlation` have one number per mean.
    """

    both: Estimate
    trusted: Estimate
    model: Estimate
    weight: Floats
    correlation: Floats


def compute_corrected_means(y: Floats, f: Floats, other_f: Floats) -> Corrected:
    """Return prediction-powered means (PPI++), one per row; columns are queries.

    Trusted values are y. The model's values are f for the same queries, and `other_f` for the
    queries without a trusted value. The estimate is the mean of y - w (f - mean(other_f)) over the
    queries with trusted values. Each of these queries has its own weight w, from 0 to 1. The weight
    depends on the covariance of y and f over all other queries with trusted values. The query
    itself is left out, because the standard error would otherwise be too small. The order of
    queries has no effect.
    """
    n, others = y.shape[1], other_f.shape[1]
    trusted, model = _estimate_means(y), _estimate_means(np.concatenate([f, other_f], axis=1))
    shared_model, other_model = _estimate_means(f), _estimate_means(other_f)
    varies = (trusted.error > 0) & (shared_model.error > 0)
    weights = np.zeros_like(y)
    centred = [each - compute_mean_and_std(each)[0][:, np.newaxis] for each in (y, f)]
    if n >= MIN_FITTED_QUERIES and others:
        scale = ((1 + n / others) * model.error**2 * model.n)[:, np.newaxis]
        fitted = _compute_jackknife_covariances(*centred)
        ratio = np.divide(fitted, scale, out=weights, where=varies[:, np.newaxis])
        weights = np.clip(ratio, 0, 1)
    weight = weights.sum(axis=1) / max(n, 1)
    # Without other queries, all weights are 0, and this mean is NaN. NaN is replaced by 0, because
    # 0 times NaN would be NaN.
    other_mean = np.nan_to_num(other_model.mean)[:, np.newaxis]
    estimate = _estimate_means(y - weights * (f - other_mean))
    error = np.hypot(np.nan_to_num(estimate.error), weight * np.nan_to_num(other_model.error))
    correlation = np.full(len(y), np.nan)
    covariance = np.einsum("ij,ij->i", *centred) / max(n - 1, 1)
    np.divide(covariance, trusted.error * shared_model.error * n, out=correlation, where=varies)
    # Without variation of the trusted values there is no interval, even if the model's values vary.
    has_errors = (trusted.error > 0) & (error > 0)
    both = Estimate(estimate.mean, np.where(has_errors, error, np.nan), n)
    return Corrected(both, trusted, model, weight, correlation)


def _compute_jackknife_covariances(x: Floats, y: Floats) -> Floats:
    """Return the covariances of rows of x and y, whose means are 0, without one column.

    Entry (i, j) of the result is the covariance of row i of x and row i of y without column j.
    """
    n, products = x.shape[1], x * y
    # Removing a column also changes the means, so the sum of products falls by n / (n - 1) times
    # the product in that column.
    sums = products.sum(axis=1, keepdims=True) - products * (n / (n - 1))
    covariances: Floats = sums / (n - 2)
    return covariances


def _estimate_values(
    by_grader: ResultsByGrader,
    trusted: str,
    model_name: str | None,
    confidence: float,
    baseline: Any = None,
    correction: CorrectionName | None = None,
) -> pl.DataFrame:
    """Return the estimates of means, or, with a correction, of differences."""
    judged = by_grader.get(trusted, "trusted")
    names = [*by_grader.by_name] if model_name is None else [model_name]
    models = {str(name): by_grader.get(str(name)) for name in names if name != trusted}
    if not models:
        msg = f"`per_query` must have the results of another grader than {trusted!r}, got none"
        raise ValueError(msg)
    hint = "\n\nHint: judge and average the queries that belong together"
    check_independence(judged.rows, judged.keys, remedy=f". Intervals may be too short{hint}")
    statistic = "mean" if correction is None else "difference"
    error_rate, tables = check_confidence(confidence), []
    for model, strategies, parts in _find_shared_values(judged, trusted, models):
        strategy_columns = [strategies]
        if correction is not None:
            a, b = find_pairs(strategies, baseline)
            strategy_columns = name_pairs(strategies, a, b)
            parts = [shared.compare_pairs(a, b) for shared in parts]  # noqa: PLW2901
        _warn_of_selection(trusted, model, parts)
        estimates = [
            compute_corrected_means(*(each.values for each in shared.matrices)) for shared in parts
        ]
        tests: list[dict[str, Any]] = [{} for _ in parts]
        if correction is not None:
            outcomes = [means.both.outcome for means in estimates]
            test = {"test": "t", "correction": correction}
            tests = [test | columns for columns in compute_tests(outcomes, correction, error_rate)]
        for shared, means, columns_of_test in zip(parts, estimates, tests, strict=True):
            y, _, other = shared.matrices
            worth = y.n * (means.trusted.error / means.both.error) ** 2 - y.n
            statistics = {
                "queries": y.n,
                "model_queries": other.n,
                "best": y.best,
                **_make_interval_columns(
                    f"trusted_{statistic}", "trusted", means.trusted, error_rate
                ),
                **_make_interval_columns(f"model_{statistic}", "model", means.model, error_rate),
                "weight": means.weight,
                "correlation": means.correlation,
                "worth": worth,
                "confidence": confidence,
                **columns_of_test,
                **_make_interval_columns(statistic, "ci", means.both, error_rate),
                "note": _describe_values(trusted, shared, worth),
            }
            table = make_measure_table(y.measure, strategy_columns, shared.segment, statistics)
            tables.append(table.select(pl.lit(model).alias(GRADER), "*"))
    return pl.concat(tables)


def _make_interval_columns(
    name: str, prefix: str, estimate: Estimate, error_rate: float
) -> dict[str, Floats]:
    """Return the columns of an estimate and its interval."""
    low, high = estimate.compute_ends(error_rate)
    return {name: estimate.mean, f"{prefix}_low": low, f"{prefix}_high": high}


class SharedValues(NamedTuple):
    """Values of a measure in a segment, from the trusted grader and a model."""

    segment: pl.DataFrame
    """Value of each column of segments, in one row."""
    matrices: tuple[MeasureMatrix, ...]
    """Three sets of values. The first two contain the trusted values and the model's values for the
    queries that both judged. The third contains the model's values for all other queries."""
    n_trusted_only: int
    """Number of queries that only the trusted grader judged."""

    def compare_pairs(self, a: Integers, b: Integers) -> SharedValues:
        """Return a copy with one row of differences per pair of strategies."""
        matrices = (replace(each, values=each.compute_differences(a, b)) for each in self.matrices)
        return self._replace(matrices=tuple(matrices))


def _find_shared_values(
    judged: Results, trusted: str, models: Mapping[str, Results]
) -> Iterator[tuple[str, pl.Series, list[SharedValues]]]:
    """Yield each model with its strategies and values, once per measure.

    The values are a list with one item per segment of the model.
    """
    for model, results in models.items():
        order = check_same_strategies(model, trusted, results.strategies, judged.strategies)
        for measure in results.measures:
            of_segments = {tuple(key.rows()): y for key, y in judged.split_segments(measure)}
            none_judged = judged.get_matrix(measure).select(np.arange(0))
            parts = []
            for segment, f in results.split_segments(measure):
                y = of_segments.get(tuple(segment.rows()), none_judged)
                y = replace(y, values=y.values[order])
                shared_y = y.restrict(f.queries)
                other_f = f.restrict(y.queries, inside=False)
                matrices = shared_y, f.restrict(y.queries), other_f
                if segment.height:
                    parts.append(SharedValues(segment, matrices, y.n - shared_y.n))
            if not any(each.matrices[0].n for each in parts):
                msg = f"{trusted!r} and {model!r} must have a query of {measure!r} in common"
                raise ValueError(msg)
            yield model, results.strategies, parts


def _warn_of_selection(trusted: str, model: str, parts: Sequence[SharedValues]) -> None:
    """Warn if the queries that the trusted grader judged are hardly a random sample.

    If the sample is random, the model's values for trusted queries and for other queries differ
    only by chance. Mann and Whitney's test compares these two groups of values, for each row of
    each segment. The p values are corrected by Bonferroni's method.
    """
    from scipy.stats import mannwhitneyu

    p_values = []
    for _, (_, f, other), _ in parts:
        if f.n >= MIN_COMPARED_QUERIES and other.n >= MIN_COMPARED_QUERIES:
            p = mannwhitneyu(f.values, other.values, axis=1).pvalue
            p_values += np.nan_to_num(p, nan=1.0).tolist()
    smallest_p = min(p_values, default=1.0) * len(p_values)
    if p_values and smallest_p <= MAX_SELECTION_P:
        measure = parts[0].matrices[0].measure
        warn_the_caller(
            DataWarning.selection,
            f"queries that {trusted!r} judged are hardly a random sample: {model!r} has other "
            f"values of {measure!r} in them than in the other queries (p {format_p(smallest_p)} "
            "by Mann and Whitney's test), so that means and intervals may be wrong\n\n"
            "Hint: draw queries at random, then judge them",
        )


def _describe_values(trusted: str, shared: SharedValues, worths: Floats) -> list[str | None]:
    """Return one text per row with its notes; None for a row without notes."""
    y, _, other = shared.matrices
    texts = []
    if y.n < MIN_TRUSTED_QUERIES:
        count = format_count(y.n, "queries")
        texts.append(f"{trusted!r} judged {count}, too few for a reliable interval")
    if shared.n_trusted_only:
        count = format_count(shared.n_trusted_only, "queries")
        texts.append(f"left out: {count} that the model did not judge")
    if not other.n:
        texts.append("the model judged no other queries, so it adds nothing")
    imprecise = [*texts, "the model makes the estimate less precise"]
    return ["; ".join(imprecise if worth < 0 else texts) or None for worth in worths]
