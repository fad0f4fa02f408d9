"""φ: relevance from scores such as popularity, sales or dwell time, after Moniz, Torgo and Vinagre.

φ runs through control points of a query's scores. Between two of them it is a cubic whose slopes at
the ends keep it monotone: a piecewise cubic Hermite interpolating polynomial, PCHIP for short.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from polars_graded import arguments, ragged
from polars_graded.ragged import Ragged, offsets_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from polars_graded.ragged import Floats, Integers

    Exponents: TypeAlias = npt.NDArray[np.int32]

__all__ = ["phi_control_points", "phi_curve", "phi_relevance"]

ControlPoints: TypeAlias = Sequence[tuple[float, float]]

STEEPEST = 1e300
"""A bound on slopes, in units of the highest score: a step is steep but not infinitely so."""


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
    n_points = arguments.whole_number("points", points, at_least=2)
    points_of = _chosen_points(control_points, whisker)

    def kernel(ascending: Ragged) -> _Points:
        scores = _range(ascending, n_points)
        return _Points(scores, _interpolated(points_of(ascending), scores))

    return _tidy(frame, score, query, kernel)


# From expressions and frames to lists of scores, and back.


def _numbers(expr: pl.Expr) -> pl.Expr:
    """The scores as floats; the sum has Polars refuse what is no number when it plans the query."""
    return expr + 0.0


def _ascending(scores: pl.Expr) -> pl.Expr:
    """The scores that are there, the lowest first, as a list."""
    return scores.drop_nulls().sort().implode()


def _relevance(columns: Sequence[pl.Series], points_of: Callable[[Ragged], _Points]) -> pl.Series:
    """φ of every score, a list a query; null where the score is."""
    scores, ascending = columns
    _refuse_unusable(ascending)

    def kernel(scores: Ragged, ascending: Ragged) -> Floats:
        relevance = scores.values.copy()
        known = ~np.isnan(relevance)
        relevance[known] = _interpolated(points_of(ascending), scores.keep(known))
        return relevance

    relevance = np.concatenate(ragged.run([scores, ascending], kernel))
    return ragged.list_column(pl.Series(relevance, nan_to_null=True), scores.list.len())


def _refuse_unusable(ascending: pl.Series) -> None:
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
    kernel: Callable[[Ragged], _Points],
) -> pl.DataFrame:
    """The points that `kernel` makes of each query's ascending scores, a row each."""
    wanted = [score] if query is None else [query, score]
    arguments.columns_of("frame", wanted, frame.lazy().collect_schema())
    if "relevance" in wanted:
        msg = "`score` and `query` must not be 'relevance', which is a column of the result"
        raise ValueError(msg)
    ascending = _ascending(_numbers(pl.col(score)))
    if query is None:
        queries = frame.lazy().select(ascending).collect()
    else:
        queries = frame.lazy().group_by(query, maintain_order=True).agg(ascending).collect()
    lists = queries.get_column(score)
    _refuse_unusable(lists)
    chunks = ragged.run([lists], kernel)
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


@dataclass(frozen=True)
class _Points:
    """Points of φ: for each query its scores, rising, and the relevance of each."""

    scores: Ragged
    relevance: Floats


def _chosen_points(
    control_points: ControlPoints | None, whisker: float
) -> Callable[[Ragged], _Points]:
    """What makes the control points of some queries of their ascending scores."""
    factor = arguments.number("whisker", whisker, at_least=0)
    if control_points is None:
        return partial(_box_plot_points, whisker=factor)
    scores, relevance = _checked(control_points)
    return partial(_given_points, scores=scores, relevance=relevance)


def _checked(control_points: Any) -> tuple[Floats, Floats]:
    """The scores and the relevance of control points that a user gave."""
    try:
        pairs = [(score, relevance) for score, relevance in control_points]
    except (TypeError, ValueError):
        msg = f"`control_points` must be pairs (score, relevance), got {control_points!r}"
        raise TypeError(msg) from None
    if not pairs[1:]:
        msg = f"`control_points` must have at least two points, got {len(pairs)}"
        raise ValueError(msg)
    scores = arguments.increasing("control_points", [score for score, _ in pairs])
    relevance = [
        arguments.number("control_points", relevance, at_least=0, at_most=1)
        for _, relevance in pairs
    ]
    for before, after in pairwise(relevance):
        if after < before:
            msg = f"`control_points` must not fall in relevance, got {after:g} after {before:g}"
            raise ValueError(msg)
    return np.array(scores), np.array(relevance)


def _given_points(ascending: Ragged, scores: Floats, relevance: Floats) -> _Points:
    """The same control points for each query that has scores."""
    filled = ascending.lengths > 0
    offsets = offsets_of(filled * len(scores))
    return _Points(Ragged(np.tile(scores, filled.sum()), offsets), np.tile(relevance, filled.sum()))


def _box_plot_points(ascending: Ragged, whisker: float) -> _Points:
    """(min, 0), (median, 0), (upper whisker, 1 - α), (max, 1) of each query that has scores.

    Median and maximum may be one score: φ then steps up there, as the later point counts.
    """
    scores, filled = ascending.values, ascending.lengths > 0
    start, n = ascending.offsets[:-1][filled], ascending.lengths[filled]
    half = (n + 1) // 2
    lower_hinge = _median(scores, start, half)
    upper_hinge = _median(scores, start + n - half, half)
    # Halves are subtracted, as the difference of two doubles may be too large for one.
    limit = upper_hinge + 2 * whisker * (upper_hinge / 2 - lower_hinge / 2)
    n_within = ascending.count(scores <= np.repeat(limit, n))[filled]

    median, upper_whisker = _median(scores, start, n), scores[start + n_within - 1]
    lowest, highest = _ends(ascending)
    alpha = (highest / 2 - upper_whisker / 2) / (highest / 2 - lowest / 2)

    zero, one = np.zeros(len(n)), np.ones(len(n))
    x = np.stack([lowest, median, upper_whisker, highest], axis=1)
    y = np.stack([zero, zero, 1 - alpha, one], axis=1)
    between = (median < upper_whisker) & (upper_whisker < highest)
    counts = np.stack([lowest < median, one, between, one], axis=1).astype(bool)
    lengths = np.zeros_like(ascending.lengths)
    lengths[filled] = counts.sum(axis=1)
    return _Points(Ragged(x[counts], offsets_of(lengths)), y[counts])


def _median(scores: Floats, start: Integers, n: Integers) -> Floats:
    """The median of each stretch of `n` ascending scores from `start` on."""
    below, above = scores[start + (n - 1) // 2], scores[start + n // 2]
    median: Floats = np.clip(below / 2 + above / 2, below, above)
    return median


def _range(ascending: Ragged, n: int) -> Ragged:
    """`n` scores in equal steps from the lowest to the highest of each query that has scores."""
    unit = _unit(ascending)
    steps = np.linspace(*_ends(_in_units(ascending, unit)), n, axis=1)
    return _in_units(Ragged(steps.ravel(), offsets_of((ascending.lengths > 0) * n)), -unit)


# Interpolation.


def _interpolated(points: _Points, scores: Ragged) -> Floats:
    """φ of each score: PCHIP through the control points of its query.

    With x_k the last point not above the score and t = (score - x_k) / h_k,

        φ = y_k + t p + t² (3 Δ - 2 p - q) + t³ (p + q - 2 Δ),

    where Δ is what φ rises by until the next point, and p and q are its slopes at both, times h_k.
    """
    unit = _unit(points.scores)
    x, y = _in_units(points.scores, unit), points.relevance
    h, rise, p, q = _pieces(x, y)
    k = _point_before(points.scores, scores)
    t = np.fmin(np.fmax((_in_units(scores, unit).values - x.values[k]) / h[k], 0), 1)
    square, cube = 3 * rise - 2 * p - q, p + q - 2 * rise
    phi = y[k] + t * (p[k] + t * (square[k] + t * cube[k]))
    return np.clip(phi, y[k], (y + rise)[k])  # what rounding may add


def _point_before(points: Ragged, scores: Ragged) -> Integers:
    """The last control point not above each score; the first one if all are."""
    place, last = points.offsets[:-1][scores.query], (points.offsets[1:] - 1)[scores.query]
    n_bits = int(points.lengths.max(initial=1) - 1).bit_length()
    for bit in reversed(range(n_bits)):
        ahead = np.minimum(place + (1 << bit), last)
        place = np.where(points.values[ahead] <= scores.values, ahead, place)
    return place


def _pieces(x: Ragged, y: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """h, Δ, p and q from each control point to the next; φ stays level after the last one."""
    d = _slopes(x, y)
    k = np.flatnonzero(x.rank < np.repeat(x.lengths, x.lengths))
    h, rise, p, q = np.ones_like(y), np.zeros_like(y), np.zeros_like(y), np.zeros_like(y)
    h[k], rise[k] = x.values[k + 1] - x.values[k], y[k + 1] - y[k]
    p[k], q[k] = d[k] * h[k], d[k + 1] * h[k]
    return h, rise, p, q


def _slopes(x: Ragged, y: Floats) -> Floats:
    """The slope of PCHIP at each control point, from the secants δ between neighbours."""
    h = np.diff(x.values)
    delta = np.where(h > 0, np.minimum(np.diff(y) / h, STEEPEST), 0.0)
    d = np.zeros_like(y)
    first, last = x.offsets[:-1], x.offsets[1:] - 1
    inside = np.flatnonzero((x.rank > 1) & (x.rank < np.repeat(x.lengths, x.lengths)))
    d[inside] = _slope_inside(h[inside - 1], h[inside], delta[inside - 1], delta[inside])
    two, more = last - first == 1, last - first > 1
    d[first[two]] = d[last[two]] = delta[first[two]]
    k = first[more]
    d[k] = _slope_at_end(h[k], h[k + 1], delta[k], delta[k + 1])
    k = last[more]
    d[k] = _slope_at_end(h[k - 1], h[k - 2], delta[k - 1], delta[k - 2])
    return d


def _slope_inside(h_0: Floats, h_1: Floats, delta_0: Floats, delta_1: Floats) -> Floats:
    """The weighted harmonic mean of the secants on both sides; 0 where one of them is level."""
    weight = (h_0 + 2 * h_1) / (3 * (h_0 + h_1))
    mean = 1 / (weight / delta_0 + (1 - weight) / delta_1)
    return np.where((delta_0 > 0) & (delta_1 > 0), mean, 0.0)


def _slope_at_end(h_0: Floats, h_1: Floats, delta_0: Floats, delta_1: Floats) -> Floats:
    """The three-point rule for the end beside secant 0, where 0 takes the place of a fall.

    Its other bound, three times that secant, cannot matter as long as no secant falls.
    """
    return np.fmax(((2 * h_0 + h_1) * delta_0 - h_0 * delta_1) / (h_0 + h_1), 0.0)


def _unit(ascending: Ragged) -> Exponents:
    """The binary exponent of each query's largest score.

    In units of that power of two, which changes no digit, no difference of scores is too large for
    a double, nor one over their range. Differences that are nothing beside the range may vanish.
    """
    unit = np.zeros(len(ascending.lengths), np.int32)
    filled = ascending.lengths > 0
    lowest, highest = _ends(ascending)
    unit[filled] = np.frexp(np.maximum(np.abs(lowest), np.abs(highest)))[1]
    return unit


def _ends(ascending: Ragged) -> tuple[Floats, Floats]:
    """The lowest and the highest score of each query that has scores."""
    filled = ascending.lengths > 0
    lowest = ascending.values[ascending.offsets[:-1][filled]]
    return lowest, ascending.values[ascending.offsets[1:][filled] - 1]


def _in_units(scores: Ragged, unit: Exponents) -> Ragged:
    """The scores in units of two to the power of `unit`, one a query."""
    return Ragged(np.ldexp(scores.values, -np.repeat(unit, scores.lengths)), scores.offsets)
