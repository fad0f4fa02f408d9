"""Means as people would find them: their grades of some queries, a model's of all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from polars_graded._checks import check_level
from polars_graded._frames.inputs import GRADER
from polars_graded._measuring.kernels.ragged import Floats, Integers
from polars_graded._results.pairs import find_pairs, name_pairs
from polars_graded._results.per_query import (
    ROUNDING,
    Grid,
    Results,
    check_same_strategies,
    compute_mean_and_std,
    make_measure_table,
)
from polars_graded._results.significance import CorrectionName, Estimate, compute_tests
from polars_graded._sentences import format_count, format_p, format_short
from polars_graded._warnings import DataWarning, warn_the_caller

NORMAL_QUANTILE = 1.959963984540054
"""The quantile of the normal distribution for 0.95 on two sides."""

MIN_TRUSTED_QUERIES = 10
"""Minimum number of trusted queries; a note warns of fewer."""

MIN_FITTED_QUERIES = 4
"""From so many trusted queries on a weight is fitted on all but one of them."""

MIN_COMPARED_QUERIES = 5
"""From so many trusted queries on they are compared with the others."""

MAX_SELECTION_P = 0.001
"""How probable it is at most that a random sample of queries is warned of."""


def _estimate_means(values: Floats) -> Estimate:
    """Return the means of rows of values."""
    return Estimate.of(*compute_mean_and_std(values), values.shape[1])


class Corrected(NamedTuple):
    """Means of each row as the trusted grader would have them, and what they are made of."""

    both: Estimate
    trusted: Estimate
    model: Estimate
    weight: Floats
    correlation: Floats


def compute_corrected_means(y: Floats, f: Floats, rest: Floats) -> Corrected:
    """Prediction-powered means (PPI++): a row per mean, a column per query.

    Trusted values are y, the model's are f for the same queries and `rest` for all others. The
    weight of the model for a query is fitted on all others: fitted where it is used, it would make
    errors look smaller than they are. No order or name of queries changes it.
    """
    n, others = y.shape[1], rest.shape[1]
    trusted, model = _estimate_means(y), _estimate_means(np.concatenate([f, rest], axis=1))
    own, of_rest = _estimate_means(f), _estimate_means(rest)
    varies = (trusted.error > 0) & (own.error > 0)
    weights = np.zeros_like(y)
    if n >= MIN_FITTED_QUERIES and others:
        scale = ((1 + n / others) * model.error**2 * model.n)[:, np.newaxis]
        fitted = _compute_jackknife_covariances(y, f)
        ratio = np.divide(fitted, scale, out=weights, where=varies[:, np.newaxis])
        weights = np.clip(ratio, 0, 1)
    weight = weights.sum(axis=1) / max(n, 1)
    moved = np.nan_to_num(of_rest.mean)[:, np.newaxis]  # of no other queries, whose weight is 0
    estimate = _estimate_means(y - weights * (f - moved))
    error = np.hypot(np.nan_to_num(estimate.error), weight * np.nan_to_num(of_rest.error))
    correlation = np.full(len(y), np.nan)
    product = trusted.error * own.error * n
    np.divide(_compute_covariance(y, f), product, out=correlation, where=varies)
    has_errors = (trusted.error > 0) & (error > 0)
    both = Estimate(estimate.mean, np.where(has_errors, error, np.nan), n)
    return Corrected(both, trusted, model, weight, correlation)


def _compute_covariance(x: Floats, y: Floats) -> Floats:
    """Return the covariance of the values of each row."""
    x, y = (each - compute_mean_and_std(each)[0][:, np.newaxis] for each in (x, y))
    covariance: Floats = np.einsum("ij,ij->i", x, y) / max(x.shape[1] - 1, 1)
    return covariance


def _compute_jackknife_covariances(x: Floats, y: Floats) -> Floats:
    """Return the covariance of each row without each of its values in turn."""
    n = x.shape[1]
    x, y = (each - compute_mean_and_std(each)[0][:, np.newaxis] for each in (x, y))
    products = x * y
    sums = products.sum(axis=1, keepdims=True) - products * (n / (n - 1))
    covariances: Floats = sums / (n - 2)
    return covariances


def make_trusted_table(
    graders: Mapping[str, Grid],
    trusted: str,
    confidence: float,
    compared: tuple[Any, CorrectionName] | None = None,
) -> pl.DataFrame:
    """Return the table of `summarise`, or of `compare`, with a trusted grader."""
    what = "mean" if compared is None else "difference"
    level, tables = check_level(confidence), []
    for model, strategies, segments in _find_shared(graders, trusted):
        names, each = [strategies], segments
        if compared is not None:
            a, b = find_pairs(strategies, compared[0])
            names = name_pairs(strategies, a, b)
            each = [shared.compare_pairs(a, b) for shared in segments]
        corrected = [
            compute_corrected_means(*(of.values for of in shared.results)) for shared in each
        ]
        selection_note = _describe_selection(trusted, model, each)
        if selection_note is not None:
            warn_the_caller(DataWarning.selection, selection_note)
        tests: list[dict[str, Any]] = [{} for _ in each]
        if compared is not None:
            test_names = {"test": "t", "correction": compared[1]}
            tests = [
                test_names | of
                for of in compute_tests([of.both.outcome for of in corrected], compared[1], level)
            ]
        for shared, of, tested in zip(each, corrected, tests, strict=True):
            y, _, rest = shared.results
            worth = y.n * (of.trusted.error / of.both.error) ** 2 - y.n
            columns = {
                "queries": np.full(len(of.weight), y.n),
                "model_queries": rest.n,
                "best": y.best,
                **_make_interval_columns(f"trusted_{what}", "trusted", of.trusted, level),
                **_make_interval_columns(f"model_{what}", "model", of.model, level),
                "weight": of.weight,
                "correlation": of.correlation,
                "worth": worth,
                "confidence": confidence,
                **tested,
                **_make_interval_columns(what, "ci", of.both, level),
                "note": _describe_values(
                    trusted, shared, of.correlation, worth, is_selected=bool(selection_note)
                ),
            }
            rows = make_measure_table(y.measure, shared.segment, names, columns)
            tables.append(rows.select(pl.lit(model).alias(GRADER), "*"))
    return pl.concat(tables)


def compute_median_width_change(estimates: pl.DataFrame) -> float | None:
    """Return the median of width of both over width of trusted grades alone, minus 1."""
    widths = pl.col("ci_high") - pl.col("ci_low")
    alone = pl.col("trusted_high") - pl.col("trusted_low")
    changes = estimates.filter(alone > 0).select(widths / alone - 1).to_series().drop_nulls()
    median: Any = changes.median()
    return None if median is None else float(median)


def _make_interval_columns(
    name: str, ends: str, estimate: Estimate, level: float
) -> dict[str, Floats]:
    """Return the columns of an estimate and its interval."""
    low, high = estimate.compute_ends(level)
    return {name: estimate.mean, f"{ends}_low": low, f"{ends}_high": high}


class Shared(NamedTuple):
    """Values of both graders by a measure in a segment."""

    segment: pl.DataFrame
    results: tuple[Results, ...]
    """The trusted grader's values, the model's of the same queries, and its other ones."""
    left_out: int
    """How many queries the trusted grader alone has."""

    def compare_pairs(self, a: Integers, b: Integers) -> Shared:
        """Return the same with differences of pairs instead of values."""
        results = (replace(each, values=each.compute_differences(a, b)) for each in self.results)
        return self._replace(results=tuple(results))


def _find_shared(
    graders: Mapping[str, Grid], trusted: str
) -> Iterator[tuple[str, pl.Series, list[Shared]]]:
    """For each model and measure the strategies, and what both have in each segment."""
    own = graders[trusted]
    models = {name: grid for name, grid in graders.items() if name != trusted}
    if not models:
        msg = f"`per_query` must have the results of another grader than {trusted!r}, got none"
        raise ValueError(msg)
    for model, grid in models.items():
        order = check_same_strategies(model, trusted, grid.strategies, own.strategies)
        for measure in grid.measures:
            people, guesses = (
                {tuple(key.rows()): (key, results) for key, results in each.split_segments(measure)}
                for each in (own, grid)
            )
            shared = []
            for key, (segment, _) in (guesses | people).items():
                y, f = (
                    each[key][1]
                    if key in each
                    else source.get_results(measure).select(np.arange(0))
                    for each, source in ((people, own), (guesses, grid))
                )
                y = replace(y, values=y.values[order])
                is_shared = y.restrict(f.queries)
                both = is_shared, f.restrict(y.queries), f.restrict(y.queries, inside=False)
                if segment.height:
                    shared.append(Shared(segment, both, y.n - is_shared.n))
            if not any(each.results[0].n for each in shared):
                msg = f"{trusted!r} and {model!r} must have a query of {measure!r} in common"
                raise ValueError(msg)
            yield model, grid.strategies, shared


def _describe_selection(trusted: str, model: str, segments: list[Shared]) -> str | None:
    """Say that the model's values of trusted queries differ from its others, if they do.

    Of a random sample they differ by chance alone: each row by the test of Mann and Whitney, and
    the smallest p value after Bonferroni.
    """
    from scipy.stats import mannwhitneyu

    least, where, rows = 1.0, None, 0
    for shared in segments:
        _, f, rest = shared.results
        if f.n < MIN_COMPARED_QUERIES or rest.n < MIN_COMPARED_QUERIES:
            continue
        p = np.nan_to_num(mannwhitneyu(f.values, rest.values, axis=1).pvalue, nan=1.0)
        rows += len(p)
        if p.min() < least:
            least, where = float(p.min()), (shared, int(p.argmin()))
    if where is None or least * rows > MAX_SELECTION_P:
        return None
    (_, (_, f, rest), _), row = where
    inside, elsewhere = (format_short(of.values[row].mean()) for of in (f, rest))
    return (
        f"queries that {trusted!r} judged are hardly a random sample: by {f.measure!r}, {model!r} "
        f"has a mean of {inside} there and of {elsewhere} in "
        f"{format_count(rest.n, 'other queries')} "
        f"(p {format_p(least * rows)} by Mann and Whitney's "
        "test), so that means and intervals may be wrong\n\n"
        "Hint: queries that are drawn at random and then judged have none of this"
    )


def _describe_gain(correlation: float, n: int) -> str | None:
    """Say that a gain by the model is none, or not certain, as its correlation has it."""
    needed = 1 / np.sqrt(n - 2) if n > 2 else 1.0  # noqa: PLR2004
    if not correlation > needed:
        text = "unknown" if np.isnan(correlation) else f"{correlation:.2f}"
        return f"no gain is to be had: correlation {text}, gains from {needed:.2f} on"
    if n > 3 and correlation < 1 - ROUNDING:  # noqa: PLR2004
        z, margin = np.arctanh(correlation), NORMAL_QUANTILE / np.sqrt(n - 3)
        low, high = np.tanh([z - margin, z + margin])
        if low > needed:
            return None
        return (
            f"a gain is not certain: correlation {correlation:.2f} ({low:.2f} to {high:.2f} with "
            f"95 % confidence), gains from {needed:.2f} on"
        )
    return None


def _describe_values(
    trusted: str, shared: Shared, correlations: Floats, worths: Floats, *, is_selected: bool
) -> list[str | None]:
    """Return the notes of each row in a sentence."""
    y, _, rest = shared.results
    counts = []
    if is_selected:
        counts.append(f"the queries that {trusted!r} judged are hardly a random sample")
    if y.n < 2:  # noqa: PLR2004
        subject = "no query was" if y.n == 0 else "only one query was"
        counts.append(f"{subject} judged by {trusted!r}, so there is no interval")
    elif y.n < MIN_TRUSTED_QUERIES:
        counts.append(f"only {y.n} queries judged by {trusted!r}, which is few")
    if shared.left_out:
        count = format_count(shared.left_out, "queries")
        counts.append(f"left out: {count} that the model did not judge")
    if not rest.n:
        counts.append("the model judged no other queries, so it adds nothing")
    notes: list[str | None] = []
    for correlation, worth in zip(correlations, worths, strict=True):
        own = [_describe_gain(correlation, y.n)] if rest.n and y.n > 1 else []
        if worth < 0:
            own.append("the model makes the answer less sure")
        notes.append("; ".join([*counts, *filter(None, own)]) or None)
    return notes
