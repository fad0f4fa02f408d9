"""Averages of curves over queries, and counts of documents over all queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import polars as pl

from polars_graded._checks import check_frame, check_number
from polars_graded._frames.evaluating import evaluate
from polars_graded._frames.inputs import GRADER
from polars_graded._measuring.keywords import checks_keywords, returns_lazy_for_lazy
from polars_graded._measuring.names import Measure
from polars_graded._results.keys import Keys, check_segment_columns
from polars_graded._results.mean_intervals import WEIGHT
from polars_graded._results.tables import check_free_names
from polars_graded._results.units import read_weights

__all__ = ["average_curves", "count_retrieved"]


@returns_lazy_for_lazy  # type: ignore[arg-type]
@partial(checks_keywords, forwarded_to=evaluate)
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
    _check_no_fingerprint(options)
    name, positions = _find_positions([Measure.parse(curve) for curve in curves])
    segment_columns = check_segment_columns(segments)
    query = options.get("query", "query")
    check_free_names([name], segments=segments, strategy=options.get("strategy") or "strategy")
    if segment_columns:
        queries = [query] if isinstance(query, str) else query
        others = [each for each in queries if each not in segment_columns]
        options["query"] = query = [*segment_columns, *(others or queries)]
    per_query = check_frame("per_query", evaluate(frame, *curves, **options))
    names = per_query.collect_schema().names()
    strategy_columns = _find_strategy_columns(names, options)
    keys, columns = [*strategy_columns, *segment_columns], names[-len(curves) :]
    if len(strategy_columns) > 1:
        per_query = per_query.drop_nulls(columns)
    if weights is not None:
        per_query = _add_weights(per_query, check_frame("frame", frame), weights, query)
    means = _compute_means(per_query.lazy(), columns, positions, keys, weights)
    return means if isinstance(per_query, pl.LazyFrame) else means.collect()


def _add_weights(
    per_query: pl.DataFrame | pl.LazyFrame,
    frame: pl.DataFrame | pl.LazyFrame,
    weights: str,
    query: Any,
) -> pl.DataFrame | pl.LazyFrame:
    """Add the weight of each query, and leave out queries of weight 0."""
    keys = Keys(query, weights=weights)
    numbers = read_weights(frame, keys)
    one, weight = numbers.columns
    numbers = numbers.rename({weight: WEIGHT})
    on = keys.queries
    numbers = numbers.unnest(one) if len(on) > 1 else numbers
    together = per_query.lazy().join(numbers.lazy(), on=on, nulls_equal=True, maintain_order="left")
    return together if isinstance(per_query, pl.LazyFrame) else together.collect()


def _compute_means(
    curves: pl.LazyFrame,
    columns: Sequence[str],
    positions: pl.Series,
    keys: Sequence[str],
    weights: str | None,
) -> pl.LazyFrame:
    """Return the means of curves over queries, one row per key and position.

    Curves are lists of the same length.
    """
    position = pl.lit(positions).implode().alias(positions.name)
    further, values = [] if weights is None else [WEIGHT], pl.col(columns)
    points = curves.select(*keys, *further, position, *columns).explode(
        positions.name, *columns, empty_as_null=False
    )
    means = values.mean()
    if further:
        weight = pl.col(WEIGHT)
        sums = pl.when(values.is_not_null()).then(weight).sum()
        means = (values * weight).sum() / pl.when(sums > 0).then(sums)
    return points.group_by(*keys, positions.name, maintain_order=True).agg(means)


def _check_no_fingerprint(options: Mapping[str, Any]) -> None:
    """Raise if a fingerprint is requested; only results by query have one."""
    if options.get("fingerprint") is not None:
        msg = (
            f"`fingerprint` must be None for results of all queries together, got "
            f"{options['fingerprint']!r}\n\n"
            "Hint: evaluate(..., fingerprint='doc') adds it to the results of each query"
        )
        raise ValueError(msg)


def _find_strategy_columns(columns: Sequence[str], options: Mapping[str, Any]) -> list[str]:
    """Return the column of graders, if present, and that of strategies."""
    has_graders = columns[0] == GRADER and options.get("strategy") != GRADER
    return [*columns[: 2 if has_graders else 1]]


def _find_positions(curves: Sequence[Measure]) -> tuple[str, pl.Series]:
    """Return "rank" or "recall", and the positions that all curves share."""
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
    return name, pl.Series(name, position_values, dtype=pl.UInt32 if name == "rank" else pl.Float64)


@returns_lazy_for_lazy  # type: ignore[arg-type]
@partial(checks_keywords, forwarded_to=evaluate)
def count_retrieved(
    frame: Any, *, threshold: float | None = None, **options: Any
) -> pl.DataFrame | pl.LazyFrame:
    """Count retrieved and relevant documents over all queries.

    Parameters
    ----------
    frame
        Any data frame, as for `evaluate`. For a LazyFrame, the result is a LazyFrame.
    threshold
        The lowest relevant grade. By default it is `relevant_from`. Without `relevant_from`, any
        grade above `irrelevant` is relevant.
    **options
        The keywords of `evaluate`.

    Returns
    -------
    DataFrame or LazyFrame
        One row per strategy, in the order of `evaluate`. The columns are the strategy; the number
        of `queries`; and the sums over the queries of the `retrieved`, `relevant` and
        `relevant_retrieved` documents. All numbers are UInt32. With several columns of grades,
        there is one row per grader and strategy, and `grader` is the first column.

    References
    ----------
    Chen, B. Retrieval evaluation (slides), method 4.

    Examples
    --------
    >>> df = pl.DataFrame(
    ...     {"query": ["a", "a", "b"], "grade": [1, 0, 1], "score": [0.5, 0.2, None]}
    ... )
    >>> count_retrieved(df)
    shape: (1, 5)
    ┌──────────┬─────────┬───────────┬──────────┬────────────────────┐
    │ strategy ┆ queries ┆ retrieved ┆ relevant ┆ relevant_retrieved │
    │ ---      ┆ ---     ┆ ---       ┆ ---      ┆ ---                │
    │ str      ┆ u32     ┆ u32       ┆ u32      ┆ u32                │
    ╞══════════╪═════════╪═══════════╪══════════╪════════════════════╡
    │ score    ┆ 2       ┆ 2         ┆ 2        ┆ 1                  │
    └──────────┴─────────┴───────────┴──────────┴────────────────────┘
    """
    _check_no_fingerprint(options)
    counts = ("retrieved", "relevant", "relevant_retrieved")
    threshold_suffix = (
        "" if threshold is None else f"(threshold={check_number('threshold', threshold)!r})"
    )
    requested = [f"n_{count}{threshold_suffix if count != 'retrieved' else ''}" for count in counts]
    names = [Measure.parse(name).name for name in requested]
    per_query = check_frame("per_query", evaluate(frame, *names, **options))
    keys = _find_strategy_columns(per_query.collect_schema().names(), options)
    check_free_names(["queries", *counts], strategy=keys[-1])
    sums = [pl.col(old).sum().alias(new) for old, new in zip(names, counts, strict=True)]
    groups = per_query.lazy().group_by(keys, maintain_order=True)
    table = groups.agg(pl.col(names[0]).count().alias("queries"), *sums)
    return table if isinstance(per_query, pl.LazyFrame) else table.collect()
