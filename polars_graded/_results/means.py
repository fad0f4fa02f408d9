"""Means of strategies over queries: summaries of measures, and averages of curves."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from polars_graded._checks import check_column_names, check_columns, check_level
from polars_graded._frames.arguments import Columns
from polars_graded._frames.evaluating import evaluate
from polars_graded._frames.tables import GRADER
from polars_graded._measuring.keywords import checks_call, returns_lazy_for_lazy
from polars_graded._measuring.measures import Measure
from polars_graded._results.keys import WEIGHT, Keys, PassedKeys, check_segment_columns, read_units
from polars_graded._results.measure_values import (
    MeasureColumns,
    MeasureMatrix,
    compute_mean_and_std,
    compute_mean_intervals,
    compute_weighted_medians,
)
from polars_graded._results.results import (
    Missing,
    Results,
    check_free_names,
    count_units,
    make_measure_table,
    open_results,
)

__all__ = ["average_curves", "summarise"]


GEOMETRIC_FLOOR = 1e-5
"""Value that replaces smaller ones in a geometric mean, as in trec_eval."""


@checks_call
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
    keys = PassedKeys(query, strategy, segments=segments, cluster=cluster, weights=weights)
    results = open_results(per_query, measures, keys, missing, grader)
    return results.stack(lambda each: summarise_results(each, confidence))


def summarise_results(results: Results, confidence: float) -> pl.DataFrame:
    """Return the table of `summarise` for one grader."""
    return pl.concat(
        make_measure_table(
            measure, [results.strategies], segment, _compute_summary(matrix, confidence)
        )
        for measure in results.measures
        for segment, matrix in results.split_segments(measure)
    )


def _compute_summary(matrix: MeasureMatrix, confidence: float) -> dict[str, Any]:
    """Return the statistics of each strategy."""
    values, n, shares = matrix.values, matrix.n, matrix.shares
    mean, low, high = compute_mean_intervals(matrix, confidence)
    # numpy warns if it averages no values. So without queries, average a NaN: the result is NaN.
    samples = values if n else np.full((len(values), 1), np.nan)
    logarithms = np.log(np.maximum(samples, GEOMETRIC_FLOOR))
    if shares is None:
        median, log_mean = np.median(samples, axis=1), logarithms.mean(axis=1)
    else:
        median, log_mean = compute_weighted_medians(samples, shares), logarithms @ shares
    return {
        "queries": n,
        **count_units(matrix),
        "median": median,
        "geometric_mean": np.exp(log_mean),
        "best": matrix.best,
        "confidence": confidence,
        "mean": mean,
        "std": compute_mean_and_std(values, shares)[1],
        "ci_low": low,
        "ci_high": high,
    }


# Averages of curves


@returns_lazy_for_lazy  # type: ignore[arg-type]
@partial(checks_call, forwarded_to=evaluate)
def average_curves(
    frame: Any,
    *curves: str,
    segments: str | Sequence[str] | None = None,
    weights: str | None = None,
    **options: Any,
) -> pl.DataFrame | pl.LazyFrame:
    """Average curves over queries: one row per strategy and rank.

    The value at each rank is the mean over all queries for which the curve is not null. For a
    normalised curve, this is a mean of ratios. For the ratio of means, divide the mean curve by the
    mean ideal curve, as in the example.

    Parameters
    ----------
    frame
        Any data frame, as for `evaluate`. For a LazyFrame, the result is a LazyFrame.
    *curves
        Names of curves. All curves have the same cutoff, such as `"dcg_curve@20"` and
        `"ndcg_curve(gain=linear)@20"`. Alternatively, all are interpolated precisions with the same
        recall levels, such as `"interpolated_precision"`.
    segments
        One or more columns whose values divide the queries into segments. Each segment is averaged
        separately.
    weights
        The column of `frame` that states how much each query counts, as for `summarise`. The means
        are then weighted. A LazyFrame is read once for its weights.
    **options
        The keywords of `evaluate`.

    Returns
    -------
    DataFrame or LazyFrame
        The strategy, the segments, `rank` (UInt32, from 1) and one column per curve. For
        interpolated precision, the column `recall` (Float64) replaces `rank`. Strategies come in
        the order of `evaluate`. With several columns of grades, the first column is `grader`.

    References
    ----------
    Chen, B. Retrieval evaluation (slides), CG and DCG curves.

    Examples
    --------
    >>> df = pl.DataFrame(
    ...     {"query": ["a", "a", "b", "b"], "grade": [1, 0, 0, 3], "score": [2, 1, 2, 1]}
    ... )
    >>> curves = average_curves(
    ...     df, "cg_curve(gain=linear)@2", "ideal_dcg_curve(gain=linear, discount=none)@2"
    ... )
    >>> curves.select("strategy", "rank", ncg=pl.nth(2) / pl.nth(3))
    shape: (2, 3)
    ┌──────────┬──────┬──────┐
    │ strategy ┆ rank ┆ ncg  │
    │ ---      ┆ ---  ┆ ---  │
    │ str      ┆ u32  ┆ f64  │
    ╞══════════╪══════╪══════╡
    │ score    ┆ 1    ┆ 0.25 │
    │ score    ┆ 2    ┆ 1.0  │
    └──────────┴──────┴──────┘
    """
    parsed_curves = [Measure.parse(curve) for curve in curves]
    positions, columns = (
        _find_curve_positions(parsed_curves),
        [curve.name for curve in parsed_curves],
    )
    segment_columns = check_segment_columns(segments)
    query = options.get("query", "query")
    strategy = options.get("strategy") or "strategy"
    check_free_names([positions.name], segments=segments, strategy=strategy)
    if segment_columns:
        queries = [query] if isinstance(query, str) else query
        others = [each for each in queries if each not in segment_columns]
        options["query"] = query = [*segment_columns, *(others or queries)]
    per_query = evaluate(frame, *curves, **options)
    names, rows = per_query.collect_schema().names(), per_query.lazy()
    has_graders = names[0] == GRADER and strategy != GRADER
    keys = [*names[: 2 if has_graders else 1], *segment_columns]
    if has_graders:
        rows = rows.drop_nulls(columns)
    values = pl.col(columns)
    means = values.mean()
    if weights is not None:
        units = _average_weights(frame, queries := check_column_names("query", query), weights)
        rows = rows.join(units, on=queries, nulls_equal=True, maintain_order="left")
        weight = pl.col(WEIGHT)
        sums = pl.when(values.is_not_null()).then(weight).sum()
        means = (values * weight).sum() / pl.when(sums > 0).then(sums)
    points = rows.with_columns(pl.lit(positions).implode().alias(positions.name)).explode(
        positions.name, *columns, empty_as_null=False
    )
    averages: pl.LazyFrame = points.group_by(*keys, positions.name, maintain_order=True).agg(means)
    return averages if isinstance(frame, pl.LazyFrame) else averages.collect()


def _average_weights(
    frame: pl.DataFrame | pl.LazyFrame, queries: Sequence[str], weights: str
) -> pl.LazyFrame:
    """Return the weight of each query, without queries of weight 0."""
    check_columns("frame", [weights], frame.collect_schema(), argument="weights")
    rows = frame.lazy().select({*queries, weights}).collect()
    units = read_units(rows, Keys(queries, weights=weights))
    return (units.unnest(units.columns[0]) if len(queries) > 1 else units).lazy()


def _find_curve_positions(curves: Sequence[Measure]) -> pl.Series:
    """Return the positions that all curves share, named "rank" or "recall"."""
    if not curves:
        msg = "name at least one curve, such as 'dcg_curve@20'"
        raise ValueError(msg)
    for curve in curves:
        if not curve.is_curve:
            msg = f"{curve.name} is not a curve: it has one value per query"
            raise ValueError(msg)
    positions = [curve.positions for curve in curves]
    if positions[0] is None or None in positions:
        msg = "a curve needs a cutoff to be averaged, such as 'dcg_curve@20'"
        raise ValueError(msg)
    if len(set(positions)) > 1:
        msg = f"curves must have the same cutoff, got {', '.join(curve.name for curve in curves)}"
        raise ValueError(msg)
    name, position_values = positions[0]
    return pl.Series(name, position_values, dtype=pl.UInt32 if name == "rank" else pl.Float64)
