"""φ: relevance from scores such as popularity, sales or dwell time, after Moniz, Torgo and Vinagre.

φ runs through control points of a query's scores. Between two of them it is a cubic whose slopes at
the ends keep it monotone: a piecewise cubic Hermite interpolating polynomial, PCHIP for short.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from polars_graded._checks import check_columns, check_increasing, check_number, check_whole_number
from polars_graded._measuring import batches
from polars_graded._measuring.kernels.phi import (
    Points,
    box_plot_points,
    equal_steps,
    given_points,
    interpolated,
)

if TYPE_CHECKING:
    from polars_graded._measuring.kernels.ragged import Floats, Ragged

__all__ = ["phi_control_points", "phi_curve", "phi_relevance"]

ControlPoints: TypeAlias = Sequence[tuple[float, float]]


def phi_relevance(
    expr: pl.Expr, control_points: ControlPoints | None = None, whisker: float = 1.5
) -> pl.Expr:
    """Give φ of every score of a query, as `Graded.phi_relevance` says."""
    kernel = partial(_relevance, points_of=_chosen_points(control_points, whisker))
    scores = _numbers(expr)
    lists = pl.map_batches(
        [scores.implode(), _ascending(scores)],
        kernel,
        is_elementwise=True,
        return_dtype=pl.List(pl.Float64),
    )
    # An empty group has no row, where `explode` alone would give it one of null.
    return lists.explode(empty_as_null=False)


def phi_control_points(
    frame: pl.DataFrame | pl.LazyFrame,
    score: str,
    *,
    query: str | None = None,
    control_points: ControlPoints | None = None,
    whisker: float = 1.5,
) -> pl.DataFrame:
    """Give the control points that φ runs through, for each query.

    Parameters
    ----------
    frame
        A row is a score of a query.
    score
        The column of scores.
    query
        The column that tells queries apart; None if all rows are one query.
    control_points, whisker
        As in `phi_relevance`.

    Returns
    -------
    DataFrame
        Query, score and `relevance`, a row a control point, by rising score; queries in the order
        in which they first appear. A query without any score has no row. Where the median is the
        highest score, that score has two rows: φ steps up there.

    Raises
    ------
    TypeError, ValueError
        As in `phi_relevance`; also if a column is called "relevance", as one of the result is.

    See Also
    --------
    phi_curve : What lies between the points.

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
    return _tidy(frame, score, query, _chosen_points(control_points, whisker))


def phi_curve(
    frame: pl.DataFrame | pl.LazyFrame,
    score: str,
    *,
    query: str | None = None,
    points: int = 200,
    control_points: ControlPoints | None = None,
    whisker: float = 1.5,
) -> pl.DataFrame:
    """Give φ from the lowest to the highest score, for each query.

    Parameters
    ----------
    frame
        A row is a score of a query.
    score
        The column of scores.
    query
        The column that tells queries apart; None if all rows are one query.
    points
        How many scores to give φ at, in equal steps; at least 2.
    control_points, whisker
        As in `phi_relevance`.

    Returns
    -------
    DataFrame
        Query, score and `relevance`, as many rows a query as there are `points`, by rising score;
        queries in the order in which they first appear. A query without any score has no row.

    Raises
    ------
    TypeError, ValueError
        As in `phi_control_points`, and if `points` is not a whole number or below 2.

    See Also
    --------
    phi_control_points : The points that the curve runs through.

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
    points_of = _chosen_points(control_points, whisker)

    def kernel(ascending: Ragged) -> Points:
        scores = equal_steps(ascending, n_points)
        return Points(scores, interpolated(points_of(ascending), scores))

    return _tidy(frame, score, query, kernel)


# From expressions and frames to lists of scores, and back.


def _numbers(expr: pl.Expr) -> pl.Expr:
    """The scores as floats; the sum has Polars refuse what is no number when it plans the query."""
    return expr + 0.0


def _ascending(scores: pl.Expr) -> pl.Expr:
    """The scores that are there, the lowest first, as a list."""
    return scores.drop_nulls().sort().implode()


def _relevance(columns: Sequence[pl.Series], points_of: Callable[[Ragged], Points]) -> pl.Series:
    """φ of every score, a list a query; null where the score is."""
    scores, ascending = columns
    _check_scores(ascending)

    def kernel(scores: Ragged, ascending: Ragged) -> Floats:
        relevance = scores.values.copy()
        known = ~np.isnan(relevance)
        relevance[known] = interpolated(points_of(ascending), scores.keep(known))
        return relevance

    relevance = np.concatenate(batches.run([scores, ascending], kernel))
    return batches.list_column(pl.Series(relevance, nan_to_null=True), scores.list.len())


def _check_scores(ascending: pl.Series) -> None:
    """Raise where scores are no numbers or not finite; of sorted ones an end then is not."""
    inner = getattr(ascending.dtype, "inner", None)
    if not (isinstance(inner, pl.DataType) and inner.is_float()):
        msg = f"score {ascending.name!r} must be a number, got {inner}"
        raise TypeError(msg)
    finite = ascending.list.first().is_finite() & ascending.list.last().is_finite()
    if not finite.all():
        msg = (
            f"score {ascending.name!r} must be finite, got NaN or infinity "
            f"in {(~finite).sum()} of {len(finite)} queries"
        )
        raise ValueError(msg)


def _tidy(
    frame: pl.DataFrame | pl.LazyFrame,
    score: str,
    query: str | None,
    kernel: Callable[[Ragged], Points],
) -> pl.DataFrame:
    """The points that `kernel` makes of each query's ascending scores, a row each."""
    wanted = [score] if query is None else [query, score]
    check_columns("frame", wanted, frame.lazy().collect_schema())
    if "relevance" in wanted:
        msg = "`score` and `query` must not be 'relevance', which is a column of the result"
        raise ValueError(msg)
    ascending = _ascending(_numbers(pl.col(score)))
    if query is None:
        queries = frame.lazy().select(ascending).collect()
    else:
        queries = frame.lazy().group_by(query, maintain_order=True).agg(ascending).collect()
    lists = queries.get_column(score)
    _check_scores(lists)
    chunks = batches.run([lists], kernel)
    lengths = np.concatenate([chunk.scores.lengths for chunk in chunks])
    row = np.repeat(np.arange(len(lengths)), lengths)
    return pl.DataFrame(
        [
            *([] if query is None else [queries.get_column(query).gather(row)]),
            pl.Series(score, np.concatenate([chunk.scores.values for chunk in chunks])),
            pl.Series("relevance", np.concatenate([chunk.relevance for chunk in chunks])),
        ]
    )


# Control points.


def _chosen_points(
    control_points: ControlPoints | None, whisker: float
) -> Callable[[Ragged], Points]:
    """What makes the control points of some queries of their ascending scores."""
    factor = check_number("whisker", whisker, at_least=0)
    if control_points is None:
        return partial(box_plot_points, whisker=factor)
    scores, relevance = _check_control_points(control_points)
    return partial(given_points, scores=scores, relevance=relevance)


def _check_control_points(control_points: Any) -> tuple[Floats, Floats]:
    """The scores and the relevance of control points that a user gave."""
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
    for before, after in pairwise(relevance):
        if after < before:
            msg = f"`control_points` must not fall in relevance, got {after:g} after {before:g}"
            raise ValueError(msg)
    return np.array(scores), np.array(relevance)
