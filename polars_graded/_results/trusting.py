"""What people would say had they judged every query: their grades of some, a model's of all."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

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
from polars_graded._results.significance import agreeing_levels, corrected

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from polars_graded._measuring.kernels.ragged import Floats
    from polars_graded._results.per_query import Grid, Named
    from polars_graded._results.significance import Options

FEW = 10
"""Of fewer trusted queries it is said that they are few."""

HALVED = 4
"""From so many trusted queries on either half has a covariance."""


class Corrected(NamedTuple):
    """Means of each row as the trusted grader would have them, and what they are made of."""

    mean: Floats
    error: Floats
    """The standard error of the mean, NaN where nothing varies."""
    weight: Floats
    correlation: Floats
    trusted: tuple[Floats, Floats]
    """The mean of the trusted values alone, and its standard error."""
    model: tuple[Floats, Floats]
    """The mean of all of the model's values, and its standard error."""


def corrected_means(y: Floats, f: Floats, rest: Floats) -> Corrected:
    """Prediction-powered means (PPI++): a row per mean, a column per query.

    Trusted values are y, the model's are f for the same queries and `rest` for all others. The
    weight of the model is fitted on one half of the queries and used on the other: fitted where it
    is used, it would make errors look smaller than they are.
    """
    (rows, n), others = y.shape, rest.shape[1]
    every = np.concatenate([f, rest], axis=1)
    (mean, std), (model_mean, model_std), (rest_mean, rest_std) = map(
        mean_and_std, (y, every, rest)
    )
    _, own_std = mean_and_std(f)
    varies = (std > 0) & (own_std > 0)
    weights = np.zeros_like(y)
    if n >= HALVED and others:
        for half in (0, 1):
            fitted = _covariance(y[:, 1 - half :: 2], f[:, 1 - half :: 2])
            scale = np.where(varies, (1 + n / others) * model_std**2, 1)
            weights[:, half::2] = np.where(varies, np.clip(fitted / scale, 0, 1), 0)[:, np.newaxis]
    weight = weights.mean(axis=1)
    used = weight > 0
    moved = np.where(used, rest_mean, 0)[:, np.newaxis]
    estimates = y - weights * (f - moved)
    corrected_mean, corrected_std = mean_and_std(estimates)
    of_rest = np.where(used, weight * rest_std, 0) ** 2 / max(others, 1)
    error = np.sqrt(corrected_std**2 / max(n, 1) + of_rest)
    correlation = np.full(rows, np.nan)
    np.divide(_covariance(y, f), std * own_std, out=correlation, where=varies)
    return Corrected(
        corrected_mean,
        np.where(std > 0, error, np.nan),
        weight,
        correlation,
        (mean, std / np.sqrt(max(n, 1))),
        (model_mean, model_std / np.sqrt(max(n + others, 1))),
    )


def _covariance(x: Floats, y: Floats) -> Floats:
    """The covariance of the values of each row."""
    x, y = (each - each.mean(axis=1, keepdims=True) for each in (x, y))
    covariance: Floats = np.einsum("ij,ij->i", x, y) / max(x.shape[1] - 1, 1)
    return covariance


def trusted_means(
    per_query: pl.DataFrame | pl.LazyFrame,
    measures: Sequence[Named],
    trusted: str,
    confidence: float,
    keys: Mapping[str, Any],
) -> pl.DataFrame:
    """What `summarise` says with a trusted grader."""
    tables = []
    for model, grid, both in _both(per_query, measures, trusted, keys):
        found = corrected_means(*(each.values for each in both[:3]))
        n, others = both.own.n, both.rest.n
        names = {GRADER: model, "measure": both.own.measure, grid.strategies.name: grid.strategies}
        low, high = _ends(found.mean, found.error, n, 1 - confidence)
        tables.append(
            _table(names, both, found, "mean", confidence, n, others)
            | {"mean": found.mean, "ci_low": low, "ci_high": high, "note": _notes(both, found)}
        )
    return _finished(tables, grid.strategies.name)


def trusted_differences(
    per_query: pl.DataFrame | pl.LazyFrame,
    measures: Sequence[Named],
    trusted: str,
    baseline: Any,
    options: Options,
    keys: Mapping[str, Any],
) -> pl.DataFrame:
    """What `compare` says with a trusted grader."""
    from scipy.special import stdtr

    tables = []
    level = 1 - options.confidence
    for model, grid, both in _both(per_query, measures, trusted, keys):
        a, b = pairs_of(grid.strategies, baseline)
        found = corrected_means(*(Pairs(each, a, b).differences(slice(None)) for each in both[:3]))
        n, others = both.own.n, both.rest.n
        t = np.full(len(a), np.nan)
        np.divide(found.mean, found.error, out=t, where=found.error > 0)
        t[np.isnan(found.error) & (found.mean == 0)] = 0
        p = 2 * stdtr(n - 1, -np.abs(t)) if n > 1 else np.full(len(a), np.nan)
        levels = agreeing_levels(options.correction, p, level)
        low, high = _ends(found.mean, found.error, n, level)
        simultaneous_low, simultaneous_high = _ends(found.mean, found.error, n, levels)
        names = {
            GRADER: model,
            "measure": both.own.measure,
            grid.strategies.name: grid.strategies.gather(a),
            "baseline": grid.strategies.gather(b).alias("baseline"),
        }
        tables.append(
            _table(names, both, found, "difference", options.confidence, n, others)
            | {
                "p_value": p,
                "simultaneous_low": simultaneous_low,
                "simultaneous_high": simultaneous_high,
                "difference": found.mean,
                "ci_low": low,
                "ci_high": high,
                "p_corrected": corrected(options.correction, p),
                "note": _notes(both, found),
            }
        )
    return _finished(tables, grid.strategies.name)


class _Both(NamedTuple):
    """The results of a measure: of queries both judged by each, then what the model alone has."""

    own: Results
    models: Results
    rest: Results
    left_out: int
    """How many trusted queries the model has no values of."""
    trusted: str


def _both(
    per_query: pl.DataFrame | pl.LazyFrame,
    measures: Sequence[Named],
    trusted: str,
    keys: Mapping[str, Any],
) -> Iterator[tuple[str, Grid, _Both]]:
    """For each model and measure the results of the trusted grader beside those of the model."""
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
            known, judged = (
                y.queries.is_in(f.queries.implode()),
                f.queries.is_in(y.queries.implode()),
            )
            if not known.any():
                msg = f"{trusted!r} and {model!r} must have a query of {measure!r} in common"
                raise ValueError(msg)
            shared = _of_queries(replace(y, values=y.values[order]), known)
            left_out = y.n - shared.n
            yield (
                model,
                grid,
                _Both(shared, _of_queries(f, judged), _of_queries(f, ~judged), left_out, trusted),
            )


def _of_queries(results: Results, wanted: pl.Series) -> Results:
    """The results of some queries."""
    return replace(
        results,
        queries=results.queries.filter(wanted),
        values=results.values[:, wanted.to_numpy()],
    )


def _ends(mean: Floats, error: Floats, n: int, level: Any) -> tuple[Floats, Floats]:
    """Student's interval with a chance of error; NaN where nothing is known of it."""
    levels = np.broadcast_to(level, mean.shape)
    margin = np.full(mean.shape, np.nan)
    known = (levels > 0) & (n > 1)
    # `mean_margin` divides what is given as a standard deviation by the root of n.
    confidence: Any = 1 - levels[known]
    margin[known] = mean_margin((error * np.sqrt(n))[known], n, confidence)
    return mean - margin, mean + margin


def _table(
    names: Mapping[str, Any],
    both: _Both,
    found: Corrected,
    what: str,
    confidence: float,
    n: int,
    others: int,
) -> dict[str, Any]:
    """The columns that means and differences share."""
    count = len(found.mean)
    spread = found.trusted[1] * np.sqrt(n)
    worth = np.full(count, np.nan)
    np.divide(spread**2, found.error**2, out=worth, where=found.error > 0)
    columns: dict[str, Any] = {
        name: [each] * count if isinstance(each, str) else each for name, each in names.items()
    }
    columns |= {
        "queries": np.full(count, n),
        "model_queries": np.full(count, others),
        "best": [both.own.best] * count,
    }
    for who, (mean, error) in (("trusted", found.trusted), ("model", found.model)):
        size = n if who == "trusted" else n + others
        low, high = _ends(mean, np.where(error > 0, error, np.nan), size, 1 - confidence)
        columns |= {f"{who}_{what}": mean, f"{who}_low": low, f"{who}_high": high}
    return columns | {
        "weight": found.weight,
        "correlation": found.correlation,
        "worth": worth - n,
        "confidence": np.full(count, confidence),
    }


def _notes(both: _Both, found: Corrected) -> list[str | None]:
    """What is to be known of each row, in a sentence."""
    n = both.own.n
    shared = []
    if n < FEW:
        shared.append(f"only {n} queries judged by {both.trusted!r}, which is few")
    if both.left_out:
        shared.append(f"{both.left_out} queries that the model did not judge are left out")
    if not both.rest.n:
        shared.append("the model judged no other queries, so it adds nothing")
    needed = 1 / np.sqrt(n - 2) if n > 2 else 1.0  # noqa: PLR2004
    notes = []
    for correlation in found.correlation:
        own = [*shared]
        if both.rest.n and not correlation > needed:
            told = "unknown" if np.isnan(correlation) else f"{correlation:.2f}"
            own.append(f"no gain is to be had: correlation {told}, gains from {needed:.2f} on")
        notes.append("; ".join(own) or None)
    return notes


def _finished(tables: Sequence[Mapping[str, Any]], strategy: str) -> pl.DataFrame:
    """All rows, the names of whose columns are free for strategies."""
    check_free_names([name for name in tables[0] if name != strategy], strategy=strategy)
    types: dict[str, Any] = {"best": pl.String(), "note": pl.String()}
    return pl.concat([table(each, **types) for each in tables])
