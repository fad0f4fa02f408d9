"""φ: relevance from scores such as popularity, sales or dwell time.

The function of Moniz, Torgo and Vinagre runs through control points. Each point is a score and its
relevance. Between two control points, φ is a cubic whose slopes at both points keep it monotone: a
piecewise cubic Hermite interpolating polynomial (PCHIP).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import polars as pl

from polars_graded._checks import (
    check_choice,
    check_column_names,
    check_columns,
    check_increasing,
    check_number,
    check_whole_number,
)
from polars_graded._measuring.chunks import map_chunks
from polars_graded._measuring.column_checks import NUMERIC_TYPES, is_number, plan_dtype
from polars_graded._measuring.kernels.phi import (
    Points,
    interpolate,
    make_box_plot_points,
    make_equal_steps,
    repeat_points,
)
from polars_graded._measuring.kernels.ragged import Floats, Ragged
from polars_graded._measuring.keywords import checks_call
from polars_graded._measuring.list_columns import Lists, count_not_finite, make_list_column

__all__ = ["phi_control_points", "phi_curve", "phi_relevance"]

ControlPoints: TypeAlias = "Sequence[tuple[float, float]]"
Direction: TypeAlias = Literal["high", "low", "both"]
PointFunction: TypeAlias = Callable[[Ragged], Points]
"""Function that returns the control points of queries, given their ascending scores."""


def phi_relevance(
    expr: pl.Expr,
    control_points: ControlPoints | None = None,
    whisker: float = 1.5,
    *,
    floor: float | None = None,
    direction: Direction = "high",
    undefined: float | None = None,
) -> pl.Expr:
    """Return φ of every score of a query; see `Graded.phi_relevance`."""
    points_of = _choose_points(control_points, whisker, floor, direction)
    compute = partial(_compute_relevance, points_of=points_of, undefined=undefined)
    rule = f"score {expr.meta.output_name(raise_if_undetermined=False)!r} must be a number"
    lists = pl.map_batches(
        [expr.implode()],
        compute,
        is_elementwise=True,
        return_dtype=plan_dtype(pl.List(pl.Float64()), [(expr, rule, NUMERIC_TYPES)]),
    )
    # An empty group must have no row; by default `explode` would add a row with null.
    return lists.explode(empty_as_null=False)


@checks_call
def phi_control_points(
    frame: pl.DataFrame | pl.LazyFrame,
    score: str,
    *,
    query: str | Sequence[str] | None = None,
    control_points: ControlPoints | None = None,
    whisker: float = 1.5,
    floor: float | None = None,
    direction: Direction = "high",
) -> pl.DataFrame:
    """Return the control points that φ runs through, for each query.

    Parameters
    ----------
    frame
        One row per score of a query.
    score
        The column of scores.
    query
        The columns that identify queries; None if all rows are one query.
    control_points, whisker, floor, direction
        As in `phi_relevance`.

    Returns
    -------
    DataFrame
        Query, score and `relevance`, one row per control point, by rising score; queries in the
        order in which they first appear. A query for which φ is undefined has no row.

        Without `control_points`, the highest score has two rows, with relevance 0 and 1, if it
        equals the median and `direction` is "high". The same holds for the lowest score if
        `direction` is "low". φ jumps between 0 and 1 at this score, and is 1 at the score itself.

    See Also
    --------
    phi_curve : The curve through the points.

    Examples
    --------
    >>> df = pl.DataFrame({"popularity": [10, 15, 20, 30, 100]})
    >>> phi_control_points(df, "popularity")
    shape: (4, 2)
    ┌────────────┬───────────┐
    │ popularity ┆ relevance │
    │ ---        ┆ ---       │
    │ f64        ┆ f64       │
    ╞════════════╪═══════════╡
    │ 10.0       ┆ 0.0       │
    │ 20.0       ┆ 0.0       │
    │ 30.0       ┆ 0.222222  │
    │ 100.0      ┆ 1.0       │
    └────────────┴───────────┘
    """
    points_of = _choose_points(control_points, whisker, floor, direction)
    return _tabulate(frame, score, query, points_of)


@checks_call
def phi_curve(
    frame: pl.DataFrame | pl.LazyFrame,
    score: str,
    *,
    query: str | Sequence[str] | None = None,
    points: int = 200,
    control_points: ControlPoints | None = None,
    whisker: float = 1.5,
    floor: float | None = None,
    direction: Direction = "high",
) -> pl.DataFrame:
    """Return φ from the lowest to the highest score, for each query.

    Parameters
    ----------
    frame
        One row per score of a query.
    score
        The column of scores.
    query
        The columns that identify queries; None if all rows are one query.
    points
        Number of equally spaced scores at which φ is computed; at least 2.
    control_points, whisker, floor, direction
        As in `phi_relevance`.

    Returns
    -------
    DataFrame
        Query, score and `relevance`, with `points` rows per query by rising score. The order of
        queries, and the queries that are left out, are as for `phi_control_points`.

    Examples
    --------
    >>> df = pl.DataFrame({"popularity": [10, 15, 20, 30, 100]})
    >>> phi_curve(df, "popularity", points=4)
    shape: (4, 2)
    ┌────────────┬───────────┐
    │ popularity ┆ relevance │
    │ ---        ┆ ---       │
    │ f64        ┆ f64       │
    ╞════════════╪═══════════╡
    │ 10.0       ┆ 0.0       │
    │ 40.0       ┆ 0.382344  │
    │ 70.0       ┆ 0.799011  │
    │ 100.0      ┆ 1.0       │
    └────────────┴───────────┘
    """
    n_points = check_whole_number("points", points, at_least=2)
    points_of = _choose_points(control_points, whisker, floor, direction)

    def compute(ascending: Ragged) -> Points:
        control = points_of(ascending)
        is_defined = np.repeat(control.scores.lengths > 0, ascending.lengths)
        scores = make_equal_steps(ascending.keep(is_defined), n_points)
        return Points(scores, interpolate(control, scores))

    return _tabulate(frame, score, query, compute)


# Conversion of expressions and frames to lists of scores, and back.


def _compute_relevance(
    columns: Sequence[pl.Series], points_of: PointFunction, undefined: float | None
) -> pl.Series:
    """Return φ of every score, one list per query.

    If the score is null, the value is null. If φ is undefined, the value is the argument
    `undefined`, where None means null.
    """
    [column] = columns

    def compute(scores: Ragged) -> Floats:
        points = points_of(scores.sort_ascending())
        relevance = np.full_like(scores.values, np.nan)
        is_score = ~np.isnan(scores.values)
        is_defined = np.repeat(points.scores.lengths > 0, scores.lengths)
        relevance[is_score & is_defined] = interpolate(points, scores.keep(is_score & is_defined))
        if undefined is not None:
            relevance[is_score & ~is_defined] = undefined
        return relevance

    relevance = np.concatenate(map_chunks([_read_scores(column)], compute))
    return make_list_column(pl.Series(relevance, nan_to_null=True), column.list.len())


def _read_scores(column: pl.Series) -> Lists:
    """Return lists of scores; raise if a score is not a finite number."""
    lists = Lists.of(column)
    if not is_number(lists.flat.dtype):
        msg = f"score {column.name!r} must be a number, got {lists.flat.dtype}"
        raise TypeError(msg)
    if n := count_not_finite(lists):
        msg = (
            f"score {column.name!r} must be finite, got NaN or infinity "
            f"in {n} of {len(lists)} queries"
        )
        raise ValueError(msg)
    return lists


def _tabulate(
    frame: pl.DataFrame | pl.LazyFrame,
    score: str,
    query: str | Sequence[str] | None,
    compute: PointFunction,
) -> pl.DataFrame:
    """Return the points that `compute` returns per query, one row per point."""
    keys = [] if query is None else check_column_names("query", query)
    columns = [*keys, score]
    check_columns("frame", columns, frame.collect_schema())
    if score in keys:
        msg = f"`score` and `query` must be different columns, got {score!r} for both"
        raise ValueError(msg)
    if "relevance" in columns:
        msg = "`score` and `query` must not be 'relevance', which is a column of the result"
        raise ValueError(msg)
    rows = frame.lazy()
    if keys:
        queries = rows.group_by(keys, maintain_order=True).agg(score).collect()
    else:
        queries = rows.select(pl.col(score).implode()).collect()
    lists = _read_scores(queries.get_column(score))
    chunks = map_chunks([lists], lambda scores: compute(scores.sort_ascending()))
    lengths = np.concatenate([chunk.scores.lengths for chunk in chunks])
    row = np.repeat(np.arange(len(lengths)), lengths)
    return pl.DataFrame(
        [
            *(queries.get_column(key).gather(row) for key in keys),
            pl.Series(score, np.concatenate([chunk.scores.values for chunk in chunks])),
            pl.Series("relevance", np.concatenate([chunk.relevance for chunk in chunks])),
        ]
    )


# Control points.


def _choose_points(
    control_points: ControlPoints | None, whisker: float, floor: float | None, direction: Direction
) -> PointFunction:
    """Return the function that computes control points for arguments of `phi_relevance`."""
    factor = check_number("whisker", whisker, at_least=0)
    lowest = None if floor is None else check_number("floor", floor)
    check_choice("direction", direction, get_args(Direction))
    if lowest is not None and direction != "high":
        msg = f"`floor` is for direction 'high' only, got direction {direction!r}"
        raise ValueError(msg)
    if control_points is None:
        return partial(make_box_plot_points, whisker=factor, floor=lowest, direction=direction)
    scores, relevance = _check_control_points(control_points)
    return partial(repeat_points, scores=scores, relevance=relevance)


def _check_control_points(control_points: Any) -> tuple[Floats, Floats]:
    """Return the scores and the relevance of control points, checked."""
    try:
        pairs = [(score, relevance) for score, relevance in control_points]
    except (TypeError, ValueError):
        msg = f"`control_points` must be pairs (score, relevance), got {control_points!r}"
        raise TypeError(msg) from None
    if not pairs[1:]:
        msg = f"`control_points` must have at least two points, got {len(pairs)}"
        raise ValueError(msg)
    scores = check_increasing("control_points", [score for score, _ in pairs])
    relevance = [
        check_number("control_points", relevance, at_least=0, at_most=1) for _, relevance in pairs
    ]
    return np.array(scores), np.array(relevance)
