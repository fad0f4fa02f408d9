"""What people would say had they judged every query: their grades of some, a model's of all."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from polars_graded._checks import check_level
from polars_graded._frames.inputs import GRADER
from polars_graded._results.keys import by_grader, check_same_strategies
from polars_graded._results.pairs import mean_and_std, pairs_of
from polars_graded._results.per_query import (
    check_segments,
    of_measure,
    table,
)
from polars_graded._results.significance import Estimate, tests_of
from polars_graded._sentences import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from polars_graded._measuring.kernels.ragged import Floats
    from polars_graded._results.keys import Columns
    from polars_graded._results.per_query import Grid, Named, Results
    from polars_graded._results.significance import CorrectionName

FEW = 10
"""Of fewer trusted queries it is said that they are few."""

HALVED = 4
"""From so many trusted queries on either half has a covariance."""


def _estimated(values: Floats) -> Estimate:
    """The means of rows of values."""
    return Estimate.of(*mean_and_std(values), values.shape[1])


class Corrected(NamedTuple):
    """Means of each row as the trusted grader would have them, and what they are made of."""

    both: Estimate
    trusted: Estimate
    model: Estimate
    weight: Floats
    correlation: Floats


def corrected_means(y: Floats, f: Floats, rest: Floats) -> Corrected:
    """Prediction-powered means (PPI++): a row per mean, a column per query.

    Trusted values are y, the model's are f for the same queries and `rest` for all others. The
    weight of the model is fitted on one half of the queries and used on the other: fitted where it
    is used, it would make errors look smaller than they are.
    """
    n, others = y.shape[1], rest.shape[1]
    trusted, model = _estimated(y), _estimated(np.concatenate([f, rest], axis=1))
    own, of_rest = _estimated(f), _estimated(rest)
    varies = (trusted.error > 0) & (own.error > 0)
    weights = np.zeros_like(y)
    if n >= HALVED and others:
        scale = (1 + n / others) * model.error**2 * model.n
        for half in (0, 1):
            fitted = _covariance(y[:, 1 - half :: 2], f[:, 1 - half :: 2])
            ratio = np.divide(fitted, scale, out=np.zeros_like(fitted), where=varies)
            weights[:, half::2] = np.clip(ratio, 0, 1)[:, np.newaxis]
    weight = weights.sum(axis=1) / max(n, 1)
    moved = np.nan_to_num(of_rest.mean)[:, np.newaxis]  # of no other queries, whose weight is 0
    found = _estimated(y - weights * (f - moved))
    error = np.hypot(np.nan_to_num(found.error), weight * np.nan_to_num(of_rest.error))
    correlation = np.full(len(y), np.nan)
    product = trusted.error * own.error * n
    np.divide(_covariance(y, f), product, out=correlation, where=varies)
    known = (trusted.error > 0) & (error > 0)
    both = Estimate(found.mean, np.where(known, error, np.nan), n)
    return Corrected(both, trusted, model, weight, correlation)


def _covariance(x: Floats, y: Floats) -> Floats:
    """The covariance of the values of each row."""
    x, y = (each - mean_and_std(each)[0][:, np.newaxis] for each in (x, y))
    covariance: Floats = np.einsum("ij,ij->i", x, y) / max(x.shape[1] - 1, 1)
    return covariance


def trusted_table(
    per_query: pl.DataFrame | pl.LazyFrame,
    measures: Sequence[Named],
    trusted: str,
    segments: Columns | None,
    keys: Mapping[str, Any],
    confidence: float,
    compared: tuple[Any, CorrectionName] | None = None,
) -> pl.DataFrame:
    """What `summarise` says with a trusted grader, or `compare`, by its baseline and correction."""
    what = "mean" if compared is None else "difference"
    level, tables = check_level(confidence), []
    for model, strategies, each in _shared(per_query, measures, trusted, segments, keys):
        tests: list[dict[str, Floats]] = [{} for _ in each]
        if compared is None:
            names = [strategies]
            found = [corrected_means(*(of.values for of in shared.results)) for shared in each]
        else:
            a, b = pairs_of(strategies, compared[0])
            names = [strategies.gather(a), strategies.gather(b).alias("baseline")]
            found = [
                corrected_means(*(of.differences(a, b) for of in shared.results)) for shared in each
            ]
            p, ends = [of.both.p() for of in found], [of.both.ends for of in found]
            tests = tests_of(p, ends, compared[1], level)
        for shared, of, tested in zip(each, found, tests, strict=True):
            y, _, rest = shared.results
            columns = {
                "queries": np.full(len(of.weight), y.n),
                "model_queries": rest.n,
                "best": y.best,
                **_with_ends(f"trusted_{what}", "trusted", of.trusted, level),
                **_with_ends(f"model_{what}", "model", of.model, level),
                "weight": of.weight,
                "correlation": of.correlation,
                "worth": y.n * (of.trusted.error / of.both.error) ** 2 - y.n,
                "confidence": confidence,
                **tested,
                **_with_ends(what, "ci", of.both, level),
                "p_corrected": tested.get("p_corrected"),
                "note": _notes(trusted, shared, of.correlation),
            }
            statistics = table(columns, best=pl.String(), note=pl.String())
            if compared is None:
                statistics = statistics.drop("p_corrected")
            rows = of_measure(y.measure, shared.segment, names, statistics)
            tables.append(rows.select(pl.lit(model).alias(GRADER), "*"))
    return pl.concat(tables)


def _with_ends(name: str, ends: str, found: Estimate, level: float) -> dict[str, Floats]:
    """The columns of an estimate and its interval."""
    low, high = found.ends(level)
    return {name: found.mean, f"{ends}_low": low, f"{ends}_high": high}


class Shared(NamedTuple):
    """What both graders have by a measure in a segment."""

    segment: pl.DataFrame
    results: tuple[Results, Results, Results]
    """The trusted grader's values, the model's of the same queries, and its other ones."""
    left_out: int
    """How many queries the trusted grader alone has."""


def _shared(
    per_query: pl.DataFrame | pl.LazyFrame,
    measures: Sequence[Named],
    trusted: str,
    segments: Columns | None,
    keys: Mapping[str, Any],
) -> Iterator[tuple[str, pl.Series, list[Shared]]]:
    """For each model and measure the strategies, and what both have in each segment."""
    parts = by_grader(per_query, {**keys, "measures": measures})
    own = _by_segment(parts.pop(trusted), measures, segments, keys)
    if not parts:
        msg = f"`per_query` must have the results of another grader than {trusted!r}, got none"
        raise ValueError(msg)
    for model, rows in parts.items():
        of_model = _by_segment(rows, measures, segments, keys)
        (_, people), (_, guesses) = (next(iter(each.values())) for each in (own, of_model))
        order = check_same_strategies(model, trusted, guesses.strategies, people.strategies)
        every = {key: segment for key, (segment, _) in (of_model | own).items() if segment.height}
        for measure in guesses.measures:
            found = []
            for key, segment in every.items():
                y, f = (_results_in(each, key, measure) for each in (own, of_model))
                y = replace(y, values=y.values[order])
                known = y.among(f.queries)
                both = known, f.among(y.queries), f.among(y.queries, inside=False)
                found.append(Shared(segment, both, y.n - known.n))
            if not any(shared.results[0].n for shared in found):
                msg = f"{trusted!r} and {model!r} must have a query of {measure!r} in common"
                raise ValueError(msg)
            yield model, guesses.strategies, found


def _by_segment(
    rows: pl.DataFrame,
    measures: Sequence[Named],
    segments: Columns | None,
    keys: Mapping[str, Any],
) -> dict[tuple[Any, ...], tuple[pl.DataFrame, Grid]]:
    """The results of one grader by the values of each segment's columns."""
    found = check_segments(rows, measures, segments, **keys)
    return {tuple(segment.rows()): (segment, grid) for segment, grid in found}


def _results_in(grids: Mapping[Any, tuple[pl.DataFrame, Grid]], key: Any, measure: str) -> Results:
    """The results of a segment, of no query where a grader has none there."""
    _, grid = grids.get(key) or next(iter(grids.values()))
    results = grid.results(measure)
    return results if key in grids else results.among(results.queries.clear())


def _notes(trusted: str, shared: Shared, correlations: Floats) -> list[str | None]:
    """What is to be known of each row, in a sentence."""
    y, _, rest = shared.results
    known = []
    if y.n < 2:  # noqa: PLR2004
        said = "no query was" if y.n == 0 else "only one query was"
        known.append(f"{said} judged by {trusted!r}, so there is no interval")
    elif y.n < FEW:
        known.append(f"only {y.n} queries judged by {trusted!r}, which is few")
    if shared.left_out:
        count = counted(shared.left_out, "queries")
        known.append(f"left out: {count} that the model did not judge")
    if not rest.n:
        known.append("the model judged no other queries, so it adds nothing")
    needed = 1 / np.sqrt(y.n - 2) if y.n > 2 else 1.0  # noqa: PLR2004
    notes: list[str | None] = []
    for correlation in correlations:
        told = "unknown" if np.isnan(correlation) else f"{correlation:.2f}"
        said = f"no gain is to be had: correlation {told}, gains from {needed:.2f} on"
        no_gain = [said] if rest.n and y.n > 1 and not correlation > needed else []
        notes.append("; ".join([*known, *no_gain]) or None)
    return notes
