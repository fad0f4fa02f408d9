"""What people would say had they judged every query: their grades of some, a model's of all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from polars_graded._checks import check_level
from polars_graded._frames.inputs import GRADER
from polars_graded._measuring.kernels.ragged import Floats, Integers
from polars_graded._results.pairs import names_of_pairs, pairs_of
from polars_graded._results.per_query import (
    Grid,
    Results,
    check_same_strategies,
    mean_and_std,
    of_measure,
)
from polars_graded._results.significance import CorrectionName, Estimate, tests_of
from polars_graded._sentences import counted

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
    graders: Mapping[str, Grid],
    trusted: str,
    confidence: float,
    compared: tuple[Any, CorrectionName] | None = None,
) -> pl.DataFrame:
    """What `summarise` says with a trusted grader, or `compare`, by its baseline and correction."""
    what = "mean" if compared is None else "difference"
    level, tables = check_level(confidence), []
    for model, strategies, segments in _shared(graders, trusted):
        names, each = [strategies], segments
        if compared is not None:
            a, b = pairs_of(strategies, compared[0])
            names = names_of_pairs(strategies, a, b)
            each = [shared.compared(a, b) for shared in segments]
        found = [corrected_means(*(of.values for of in shared.results)) for shared in each]
        tests: list[dict[str, Floats]] = [{} for _ in each]
        if compared is not None:
            tests = tests_of([of.both.outcome for of in found], compared[1], level)
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
                "note": _notes(trusted, shared, of.correlation),
            }
            rows = of_measure(y.measure, shared.segment, names, columns)
            tables.append(rows.select(pl.lit(model).alias(GRADER), "*"))
    return pl.concat(tables)


def _with_ends(name: str, ends: str, found: Estimate, level: float) -> dict[str, Floats]:
    """The columns of an estimate and its interval."""
    low, high = found.ends(level)
    return {name: found.mean, f"{ends}_low": low, f"{ends}_high": high}


class Shared(NamedTuple):
    """What both graders have by a measure in a segment."""

    segment: pl.DataFrame
    results: tuple[Results, ...]
    """The trusted grader's values, the model's of the same queries, and its other ones."""
    left_out: int
    """How many queries the trusted grader alone has."""

    def compared(self, a: Integers, b: Integers) -> Shared:
        """The same with the differences of pairs in the place of values."""
        results = (replace(each, values=each.differences(a, b)) for each in self.results)
        return self._replace(results=tuple(results))


def _shared(
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
                {tuple(key.rows()): (key, found) for key, found in each.in_segments(measure)}
                for each in (own, grid)
            )
            shared = []
            for key, (segment, _) in (guesses | people).items():
                y, f = (
                    each[key][1] if key in each else whole.results(measure).at(np.arange(0))
                    for each, whole in ((people, own), (guesses, grid))
                )
                y = replace(y, values=y.values[order])
                known = y.among(f.queries)
                both = known, f.among(y.queries), f.among(y.queries, inside=False)
                if segment.height:
                    shared.append(Shared(segment, both, y.n - known.n))
            if not any(each.results[0].n for each in shared):
                msg = f"{trusted!r} and {model!r} must have a query of {measure!r} in common"
                raise ValueError(msg)
            yield model, grid.strategies, shared


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
