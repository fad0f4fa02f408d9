"""φ in numbers: control points from scores, and the monotone curve through them.

Between two control points φ is a cubic whose slopes at the ends keep it monotone: a piecewise cubic
Hermite interpolating polynomial, PCHIP for short.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from polars_graded._measuring.kernels.ragged import Ragged, offsets_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from polars_graded._measuring.kernels.ragged import Floats, Integers

    Exponents: TypeAlias = npt.NDArray[np.int32]

STEEPEST = 1e300
"""A bound on slopes, in units of the highest score: a step is steep but not infinitely so."""


@dataclass(frozen=True)
class Points:
    """Points of φ: for each query its scores, rising, and the relevance of each."""

    scores: Ragged
    relevance: Floats


def given_points(ascending: Ragged, scores: Floats, relevance: Floats) -> Points:
    """The same control points for each query that has scores."""
    filled = ascending.lengths > 0
    offsets = offsets_of(filled * len(scores))
    return Points(Ragged(np.tile(scores, filled.sum()), offsets), np.tile(relevance, filled.sum()))


def box_plot_points(ascending: Ragged, whisker: float) -> Points:
    """(min, 0), (median, 0), (upper whisker, 1 - α), (max, 1) of each query that has scores.

    Median and maximum may be one score: φ then steps up there, as the later point counts.
    """
    scores, filled = ascending.values, ascending.lengths > 0
    start, n = ascending.offsets[:-1][filled], ascending.lengths[filled]
    half = (n + 1) // 2
    lower_hinge = median_of(scores, start, half)
    upper_hinge = median_of(scores, start + n - half, half)
    # Halves are subtracted, as the difference of two doubles may be too large for one.
    limit = upper_hinge + 2 * whisker * (upper_hinge / 2 - lower_hinge / 2)
    n_within = ascending.count(scores <= np.repeat(limit, n))[filled]

    median, upper_whisker = median_of(scores, start, n), scores[start + n_within - 1]
    lowest, highest = ends_of(ascending)
    alpha = (highest / 2 - upper_whisker / 2) / (highest / 2 - lowest / 2)

    zero, one = np.zeros(len(n)), np.ones(len(n))
    x = np.stack([lowest, median, upper_whisker, highest], axis=1)
    y = np.stack([zero, zero, 1 - alpha, one], axis=1)
    between = (median < upper_whisker) & (upper_whisker < highest)
    counts = np.stack([lowest < median, one, between, one], axis=1).astype(bool)
    lengths = np.zeros_like(ascending.lengths)
    lengths[filled] = counts.sum(axis=1)
    return Points(Ragged(x[counts], offsets_of(lengths)), y[counts])


def median_of(scores: Floats, start: Integers, n: Integers) -> Floats:
    """The median of each stretch of `n` ascending scores from `start` on."""
    below, above = scores[start + (n - 1) // 2], scores[start + n // 2]
    median: Floats = np.clip(below / 2 + above / 2, below, above)
    return median


def equal_steps(ascending: Ragged, n: int) -> Ragged:
    """`n` scores in equal steps from the lowest to the highest of each query that has scores."""
    unit = unit_of(ascending)
    steps = np.linspace(*ends_of(in_units(ascending, unit)), n, axis=1)
    return in_units(Ragged(steps.ravel(), offsets_of((ascending.lengths > 0) * n)), -unit)


def interpolated(points: Points, scores: Ragged) -> Floats:
    """φ of each score: PCHIP through the control points of its query.

    With x_k the last point not above the score and t = (score - x_k) / h_k,

        φ = y_k + t p + t² (3 Δ - 2 p - q) + t³ (p + q - 2 Δ),

    where Δ is what φ rises by until the next point, and p and q are its slopes at both, times h_k.
    """
    unit = unit_of(points.scores)
    x, y = in_units(points.scores, unit), points.relevance
    h, rise, p, q = pieces(x, y)
    k = point_before(points.scores, scores)
    t = np.fmin(np.fmax((in_units(scores, unit).values - x.values[k]) / h[k], 0), 1)
    square, cube = 3 * rise - 2 * p - q, p + q - 2 * rise
    phi = y[k] + t * (p[k] + t * (square[k] + t * cube[k]))
    return np.clip(phi, y[k], (y + rise)[k])  # what rounding may add


def point_before(points: Ragged, scores: Ragged) -> Integers:
    """The last control point not above each score; the first one if all are."""
    place, last = points.offsets[:-1][scores.query], (points.offsets[1:] - 1)[scores.query]
    n_bits = int(points.lengths.max(initial=1) - 1).bit_length()
    for bit in reversed(range(n_bits)):
        ahead = np.minimum(place + (1 << bit), last)
        place = np.where(points.values[ahead] <= scores.values, ahead, place)
    return place


def pieces(x: Ragged, y: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """h, Δ, p and q from each control point to the next; φ stays level after the last one."""
    d = slopes(x, y)
    k = np.flatnonzero(x.rank < np.repeat(x.lengths, x.lengths))
    h, rise, p, q = np.ones_like(y), np.zeros_like(y), np.zeros_like(y), np.zeros_like(y)
    h[k], rise[k] = x.values[k + 1] - x.values[k], y[k + 1] - y[k]
    p[k], q[k] = d[k] * h[k], d[k + 1] * h[k]
    return h, rise, p, q


def slopes(x: Ragged, y: Floats) -> Floats:
    """The slope of PCHIP at each control point, from the secants δ between neighbours."""
    h = np.diff(x.values)
    delta = np.where(h > 0, np.minimum(np.diff(y) / h, STEEPEST), 0.0)
    d = np.zeros_like(y)
    first, last = x.offsets[:-1], x.offsets[1:] - 1
    inside = np.flatnonzero((x.rank > 1) & (x.rank < np.repeat(x.lengths, x.lengths)))
    d[inside] = slope_inside(h[inside - 1], h[inside], delta[inside - 1], delta[inside])
    two, more = last - first == 1, last - first > 1
    d[first[two]] = d[last[two]] = delta[first[two]]
    k = first[more]
    d[k] = slope_at_end(h[k], h[k + 1], delta[k], delta[k + 1])
    k = last[more]
    d[k] = slope_at_end(h[k - 1], h[k - 2], delta[k - 1], delta[k - 2])
    return d


def slope_inside(h_0: Floats, h_1: Floats, delta_0: Floats, delta_1: Floats) -> Floats:
    """The weighted harmonic mean of the secants on both sides; 0 where one of them is level."""
    weight = (h_0 + 2 * h_1) / (3 * (h_0 + h_1))
    mean = 1 / (weight / delta_0 + (1 - weight) / delta_1)
    return np.where((delta_0 > 0) & (delta_1 > 0), mean, 0.0)


def slope_at_end(h_0: Floats, h_1: Floats, delta_0: Floats, delta_1: Floats) -> Floats:
    """The three-point rule for the end beside secant 0, where 0 takes the place of a fall.

    Its other bound, three times that secant, cannot matter as long as no secant falls.
    """
    return np.fmax(((2 * h_0 + h_1) * delta_0 - h_0 * delta_1) / (h_0 + h_1), 0.0)


def unit_of(ascending: Ragged) -> Exponents:
    """The binary exponent of each query's largest score.

    In units of that power of two, which changes no digit, no difference of scores is too large for
    a double, nor one over their range. Differences that are nothing beside the range may vanish.
    """
    unit = np.zeros(len(ascending.lengths), np.int32)
    filled = ascending.lengths > 0
    lowest, highest = ends_of(ascending)
    unit[filled] = np.frexp(np.maximum(np.abs(lowest), np.abs(highest)))[1]
    return unit


def ends_of(ascending: Ragged) -> tuple[Floats, Floats]:
    """The lowest and the highest score of each query that has scores."""
    filled = ascending.lengths > 0
    lowest = ascending.values[ascending.offsets[:-1][filled]]
    return lowest, ascending.values[ascending.offsets[1:][filled] - 1]


def in_units(scores: Ragged, unit: Exponents) -> Ragged:
    """The scores in units of two to the power of `unit`, one a query."""
    return Ragged(np.ldexp(scores.values, -np.repeat(unit, scores.lengths)), scores.offsets)
