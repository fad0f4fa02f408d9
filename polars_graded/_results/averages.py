"""Averages of curves over queries."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import polars as pl

from polars_graded._checks import check_column_names, check_columns
from polars_graded._frames.evaluating import evaluate
from polars_graded._frames.inputs import GRADER
from polars_graded._measuring.keywords import checks_call, returns_lazy_for_lazy
from polars_graded._measuring.names import Measure
from polars_graded._results.keys import WEIGHT, Keys, check_segment_columns, read_units
from polars_graded._results.results import check_free_names

__all__ = ["average_curves"]


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
    positions, columns = _find_positions(parsed_curves), [curve.name for curve in parsed_curves]
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
        units = _read_weights(frame, queries := check_column_names("query", query), weights)
        rows = rows.join(units, on=queries, nulls_equal=True, maintain_order="left")
        weight = pl.col(WEIGHT)
        sums = pl.when(values.is_not_null()).then(weight).sum()
        means = (values * weight).sum() / pl.when(sums > 0).then(sums)
    points = rows.with_columns(pl.lit(positions).implode().alias(positions.name)).explode(
        positions.name, *columns, empty_as_null=False
    )
    averages: pl.LazyFrame = points.group_by(*keys, positions.name, maintain_order=True).agg(means)
    return averages if isinstance(frame, pl.LazyFrame) else averages.collect()


def _read_weights(
    frame: pl.DataFrame | pl.LazyFrame, queries: Sequence[str], weights: str
) -> pl.LazyFrame:
    """Return the weight of each query, without queries of weight 0."""
    check_columns("frame", [weights], frame.collect_schema(), argument="weights")
    rows = frame.lazy().select({*queries, weights}).collect()
    units = read_units(rows, Keys(queries, weights=weights))
    return (units.unnest(units.columns[0]) if len(queries) > 1 else units).lazy()


def _find_positions(curves: Sequence[Measure]) -> pl.Series:
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
