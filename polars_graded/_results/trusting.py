"""What people would say had they judged every query: their grades of some, a model's of all."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from polars_graded._checks import check_level
from polars_graded._frames.inputs import GRADER
from polars_graded._results.keys import by_grader, check_same_strategies
from polars_graded._results.pairs import Pairs, mean_and_std, pairs_of
from polars_graded._results.per_query import (
    Results,
    check_free_names,
    check_per_query,
    mean_margin,
    table,
)
from polars_graded._results.significance import agreeing_levels, corrected, students_p

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from polars_graded._measuring.kernels.ragged import Floats
    from polars_graded._results.per_query import Named
    from polars_graded._results.significance import CorrectionName

FEW = 10
"""Of fewer trusted queries it is said that they are few."""

HALVED = 4
"""From so many trusted queries on either half has a covariance."""


class Estimate(NamedTuple):
    """Means of n queries with their standard errors, NaN where nothing varies."""

    mean: Floats
    error: Floats
    n: int

    @classmethod
    def of(cls, values: Floats) -> Estimate:
        """The means of rows of values."""
        (mean, std), n = mean_and_std(values), values.shape[1]
        return cls(mean, np.where(std > 0, std, np.nan) / np.sqrt(max(n, 1)), n)

    def ends(self, level: Any) -> tuple[Floats, Floats]:
        """Student's interval with a chance of error; NaN where nothing is known of it."""
        margin = mean_margin(self.error * np.sqrt(self.n), self.n, 1 - level)
        margin = np.where(np.isfinite(margin), margin, np.nan)
        return self.mean - margin, self.mean + margin

    def p(self) -> Floats:
        """The p value of Student's test of 0."""
        if self.n < 2:  # noqa: PLR2004
            return np.full(len(self.mean), np.nan)
        return students_p(self.mean, self.error, self.n)


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
    trusted, model = Estimate.of(y), Estimate.of(np.concatenate([f, rest], axis=1))
    own, of_rest = Estimate.of(f), Estimate.of(rest)
    varies = (trusted.error > 0) & (own.error > 0)
    weights = np.zeros_like(y)
    if n >= HALVED and others:
        scale = (1 + n / others) * model.error**2 * model.n
        for half in (0, 1):
            fitted = _covariance(y[:, 1 - half :: 2], f[:, 1 - half :: 2])
            ratio = np.divide(fitted, scale, out=np.zeros_like(fitted), where=varies)
            weights[:, half::2] = np.clip(ratio, 0, 1)[:, np.newaxis]
    weight = weights.mean(axis=1)
    moved = np.nan_to_num(of_rest.mean)[:, np.newaxis]  # of no other queries, whose weight is 0
    found = Estimate.of(y - weights * (f - moved))
    error = np.hypot(np.nan_to_num(found.error), weight * np.nan_to_num(of_rest.error))
    correlation = np.full(len(y), np.nan)
    product = trusted.error * own.error * n
    np.divide(_covariance(y, f), product, out=correlation, where=varies)
    known = (trusted.error > 0) & (error > 0)
    both = Estimate(found.mean, np.where(known, error, np.nan), n)
    return Corrected(both, trusted, model, weight, correlation)


def _covariance(x: Floats, y: Floats) -> Floats:
    """The covariance of the values of each row."""
    x, y = (each - each.mean(axis=1, keepdims=True) for each in (x, y))
    covariance: Floats = np.einsum("ij,ij->i", x, y) / max(x.shape[1] - 1, 1)
    return covariance


def trusted_table(
    per_query: pl.DataFrame | pl.LazyFrame,
    measures: Sequence[Named],
    trusted: str,
    keys: Mapping[str, Any],
    confidence: float,
    compared: tuple[Any, CorrectionName] | None = None,
) -> pl.DataFrame:
    """What `summarise` says with a trusted grader, or `compare`, by its baseline and correction."""
    tables = []
    for model, strategies, (y, f, rest), left_out in _results(per_query, measures, trusted, keys):
        names, tested, last = {strategies.name: strategies}, {}, {}
        what, level = "mean", check_level(confidence)
        if compared is None:
            found = corrected_means(y.values, f.values, rest.values)
        else:
            what, (baseline, correction) = "difference", compared
            a, b = pairs_of(strategies, baseline)
            names = {strategies.name: strategies.gather(a), "baseline": strategies.gather(b)}
            pairs = (Pairs(each, a, b).differences(slice(None)) for each in (y, f, rest))
            found = corrected_means(*pairs)
            p = found.both.p()
            low, high = found.both.ends(agreeing_levels(correction, p, level))
            tested = {"p_value": p, "simultaneous_low": low, "simultaneous_high": high}
            last = {"p_corrected": corrected(correction, p)}
        columns = {
            GRADER: model,
            "measure": y.measure,
            **names,
            "queries": y.n,
            "model_queries": rest.n,
            "best": y.best,
            **_with_ends(f"trusted_{what}", "trusted", found.trusted, level),
            **_with_ends(f"model_{what}", "model", found.model, level),
            "weight": found.weight,
            "correlation": found.correlation,
            "worth": y.n * (found.trusted.error / found.both.error) ** 2 - y.n,
            "confidence": confidence,
            **tested,
            **_with_ends(what, "ci", found.both, level),
            **last,
            "note": _notes(trusted, y.n, rest.n, left_out, found.correlation),
        }
        tables.append(table(columns, best=pl.String(), note=pl.String()))
    check_free_names({*columns} - {strategies.name}, strategy=strategies.name)
    return pl.concat(tables)


def _with_ends(name: str, ends: str, found: Estimate, level: float) -> dict[str, Floats]:
    """The columns of an estimate and its interval."""
    low, high = found.ends(level)
    return {name: found.mean, f"{ends}_low": low, f"{ends}_high": high}


def _results(
    per_query: pl.DataFrame | pl.LazyFrame,
    measures: Sequence[Named],
    trusted: str,
    keys: Mapping[str, Any],
) -> Iterator[tuple[str, pl.Series, tuple[Results, Results, Results], int]]:
    """For each model and measure the strategies, and the values of the trusted grader.

    Beside these are the model's of the same queries, and of all others; and how many queries the
    trusted grader alone has, which are left out.
    """
    parts = by_grader(per_query, {**keys, "measures": measures})
    own = check_per_query(parts.pop(trusted), measures, **keys)
    if not parts:
        msg = f"`per_query` must have the results of another grader than {trusted!r}, got none"
        raise ValueError(msg)
    for model, rows in parts.items():
        grid = check_per_query(rows, measures, **keys)
        order = check_same_strategies(model, trusted, grid.strategies, own.strategies)
        for measure in grid.measures:
            y, f = own.results(measure), grid.results(measure)
            known = y.queries.is_in(f.queries.implode())
            judged = f.queries.is_in(y.queries.implode())
            if not known.any():
                msg = f"{trusted!r} and {model!r} must have a query of {measure!r} in common"
                raise ValueError(msg)
            shared = _of_queries(replace(y, values=y.values[order]), known)
            of_model = _of_queries(f, judged), _of_queries(f, ~judged)
            yield model, grid.strategies, (shared, *of_model), y.n - shared.n


def _of_queries(results: Results, wanted: pl.Series) -> Results:
    """The results of some queries."""
    values = results.values[:, wanted.to_numpy()]
    return replace(results, queries=results.queries.filter(wanted), values=values)


def _notes(
    trusted: str, n: int, others: int, left_out: int, correlations: Floats
) -> list[str | None]:
    """What is to be known of each row, in a sentence."""
    shared = []
    if n < FEW:
        shared.append(f"only {n} queries judged by {trusted!r}, which is few")
    if left_out:
        shared.append(f"{left_out} queries that the model did not judge are left out")
    if not others:
        shared.append("the model judged no other queries, so it adds nothing")
    needed = 1 / np.sqrt(n - 2) if n > 2 else 1.0  # noqa: PLR2004
    notes: list[str | None] = []
    for correlation in correlations:
        told = "unknown" if np.isnan(correlation) else f"{correlation:.2f}"
        said = f"no gain is to be had: correlation {told}, gains from {needed:.2f} on"
        no_gain = [said] if others and not correlation > needed else []
        notes.append("; ".join([*shared, *no_gain]) or None)
    return notes
