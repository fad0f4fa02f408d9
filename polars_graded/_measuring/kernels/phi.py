"""Kernels of φ: control points from scores, and the curve through them.

φ turns scores such as popularity into relevance. Between two control points, φ is a monotone cubic
polynomial. The method is called PCHIP: piecewise cubic Hermite interpolating polynomial.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from polars_graded._measuring.kernels.ragged import Floats, Integers, Mask, Ragged, offsets_of

Exponents: TypeAlias = npt.NDArray[np.int32]

MAX_SLOPE = 1e300
"""Maximum slope of φ over scaled scores (see `scale_scores`), so that no slope is infinite."""

MAX_LIMIT_ERROR = 4 * np.finfo(np.float64).eps
"""Maximum rounding error of the limit of a whisker, relative to the size of its terms."""

BLOCK_SCORES = 1 << 15
"""Number of scores that are interpolated at once, so that the arrays stay in the cache."""


@dataclass(frozen=True)
class Points:
    """Control points of φ: each query's ascending scores, with relevance."""

    scores: Ragged
    relevance: Floats


def repeat_points(ascending: Ragged, scores: Floats, relevance: Floats) -> Points:
    """Return the same control points for each query that has scores."""
    has_scores = ascending.lengths > 0
    offsets = offsets_of(has_scores * len(scores))
    return Points(
        Ragged(np.tile(scores, has_scores.sum()), offsets), np.tile(relevance, has_scores.sum())
    )


def make_box_plot_points(
    ascending: Ragged, whisker: float, floor: float | None, direction: str
) -> Points:
    """Return the control points of a box plot.

    They are (min, 1), (lower whisker, 1 - α), (median, 0), (upper whisker, 1 - α), (max, 1). Each
    whisker has its own α: the distance to min or max on its side, divided by max - min. A whisker
    that equals min, median or max is left out.

    With direction "high", only the maximum is relevant: the minimum has relevance 0, and the lower
    whisker is left out. With "low", only the minimum is relevant. A minimum or maximum that equals
    the median is left out, with one exception. With "high" or "low", the relevant end is always
    kept. If it equals the median, two points have this score: φ jumps between 0 and 1 there, and
    is 1 at the score itself.

    With a floor, only scores above the floor are used, and min is the floor. A query has no points
    if all its scores are equal, or if no score is above the floor.
    """
    has_different_scores = np.zeros(len(ascending.lengths), np.bool_)
    lowest, highest = find_ends(ascending)
    has_different_scores[ascending.lengths > 0] = lowest < highest
    ascending = ascending.keep(np.repeat(has_different_scores, ascending.lengths))
    if floor is not None:
        ascending = ascending.keep(ascending.values > floor)
    lowest, highest = find_ends(ascending)
    if floor is not None:
        lowest = np.full_like(highest, floor)
    median, upper = find_median_and_upper_whisker(ascending, whisker)
    is_low, is_high = direction != "high", direction != "low"
    lower = lowest
    if is_low:  # Mirroring reverses the order of the queries as well.
        lower = -find_median_and_upper_whisker(mirror_scores(ascending), whisker)[1][::-1]
    spread = highest / 2 - lowest / 2
    below, above = (lower / 2 - lowest / 2) / spread, (highest / 2 - upper / 2) / spread
    return select_points(
        ascending.lengths > 0,
        [
            (lowest < median) | (not is_high),
            is_low & (lowest < lower) & (lower < median),
            np.ones(len(median), np.bool_),
            is_high & (median < upper) & (upper < highest),
            (median < highest) | (not is_low),
        ],
        [lowest, lower, median, upper, highest],
        [
            np.full_like(median, is_low),
            1 - below,
            np.zeros_like(median),
            1 - above,
            np.full_like(median, is_high),
        ],
    )


def select_points(
    has_scores: Mask,
    is_selected: Sequence[Mask],
    scores: Sequence[Floats],
    relevance: Sequence[Floats],
) -> Points:
    """Return the selected points of each query, in the order of the arrays.

    `is_selected`, `scores` and `relevance` have one array per possible point. Each array has one
    value per query that has scores.
    """
    is_chosen = np.stack(is_selected, axis=1)
    lengths = np.zeros(len(has_scores), np.int64)
    lengths[has_scores] = is_chosen.sum(axis=1)
    x, y = np.stack(scores, axis=1), np.stack(relevance, axis=1)
    return Points(Ragged(x[is_chosen], offsets_of(lengths)), y[is_chosen])


def find_median_and_upper_whisker(ascending: Ragged, whisker: float) -> tuple[Floats, Floats]:
    """Return the median and the upper whisker of each query with scores."""
    scores, has_scores = ascending.values, ascending.lengths > 0
    start, n = ascending.offsets[:-1][has_scores], ascending.lengths[has_scores]
    half = (n + 1) // 2
    lower_hinge = compute_median(scores, start, half)
    upper_hinge = compute_median(scores, start + n - half, half)
    # Halves are subtracted, since the difference of two doubles may overflow.
    limit = upper_hinge + 2 * whisker * (upper_hinge / 2 - lower_hinge / 2)
    # A decimal score that equals the limit must not be above it because of rounding.
    size = np.abs(upper_hinge) / 2 + np.abs(lower_hinge) / 2
    limit += 2 * MAX_LIMIT_ERROR * (1 + whisker) * size
    n_within = ascending.count(scores <= np.repeat(limit, n))[has_scores]
    return compute_median(scores, start, n), scores[start + n_within - 1]


def mirror_scores(ascending: Ragged) -> Ragged:
    """Return the negated scores, ascending, from the last query to the first."""
    return Ragged(-ascending.values[::-1], ascending.offsets[-1] - ascending.offsets[::-1])


def compute_median(scores: Floats, start: Integers, n: Integers) -> Floats:
    """Return the medians of `n` ascending scores from each `start` on."""
    below, above = scores[start + (n - 1) // 2], scores[start + n // 2]
    median: Floats = np.clip(below / 2 + above / 2, below, above)
    return median


def make_equal_steps(ascending: Ragged, n: int) -> Ragged:
    """Return `n` equally spaced scores over the range of each query's scores."""
    exponent = find_exponent(ascending)
    steps = np.linspace(*find_ends(scale_scores(ascending, exponent)), n, axis=1)
    return scale_scores(Ragged(steps.ravel(), offsets_of((ascending.lengths > 0) * n)), -exponent)


def interpolate(points: Points, scores: Ragged) -> Floats:
    """Return φ of each score: PCHIP through the control points of its query.

    Let (x_k, y_k) be the last point with x_k <= score, and t = (score - x_k) / h_k. Then

        φ = y_k + t p + t² (3 Δ - 2 p - q) + t³ (p + q - 2 Δ),

    where h_k = x_{k+1} - x_k and Δ = y_{k+1} - y_k. The slopes of φ at the points k and k + 1 are
    p / h_k and q / h_k. Below the first point and above the last point, φ is constant.
    """
    exponent = find_exponent(points.scores)
    x, y = scale_scores(points.scores, exponent), points.relevance
    h, rise, p, q = compute_pieces(x, y)
    quadratic, cubic = 3 * rise - 2 * p - q, p + q - 2 * rise
    lowest, highest = np.minimum(y, y + rise), np.maximum(y, y + rise)
    phi = np.empty_like(scores.values)
    for start in range(0, len(phi), BLOCK_SCORES):
        block = slice(start, start + BLOCK_SCORES)
        score, query = scores.values[block], scores.query_index[block]
        k = find_point_before(points.scores, score, query)
        t = np.fmin(np.fmax((np.ldexp(score, -exponent[query]) - x.values[k]) / h[k], 0), 1)
        value = y[k] + t * (p[k] + t * (quadratic[k] + t * cubic[k]))
        phi[block] = np.clip(value, lowest[k], highest[k])  # undo rounding
    return phi


def find_point_before(points: Ragged, scores: Floats, query: Integers) -> Integers:
    """Return the last control point that is not above each score; `query` has one value per score.

    A score below all points gets the first point. So does a score equal to the first point, even if
    the second point has the same score. For example, with the points (1, 1), (1, 0) and (5, 0), φ
    is 1 at the score 1.

    The function is a binary search with steps of ..., 4, 2 and 1 points. A step is taken if it does
    not lead to a point above the score. Example: points 0 to 4 are 1, 2, 5, 9 and 12, and the score
    is 10. A step of 4 from point 0 would lead to 12, so it is not taken. A step of 2 leads to 5
    (point 2). A step of 1 leads from there to 9 (point 3).
    """
    first, last = points.offsets[query], points.offsets[query + 1] - 1
    point, is_above_first = first, scores > points.values[first]
    n_bits = int(points.lengths.max(initial=1) - 1).bit_length()
    for bit in reversed(range(n_bits)):
        ahead = np.minimum(point + (1 << bit), last)
        point = np.where(is_above_first & (points.values[ahead] <= scores), ahead, point)
    return point


def compute_pieces(x: Ragged, y: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return h, Δ, p and q of `interpolate` for each control point."""
    d = compute_slopes(x, y)
    k = np.flatnonzero(x.position < np.repeat(x.lengths, x.lengths))
    h, rise, p, q = np.ones_like(y), np.zeros_like(y), np.zeros_like(y), np.zeros_like(y)
    h[k], rise[k] = x.values[k + 1] - x.values[k], y[k + 1] - y[k]
    p[k], q[k] = d[k] * h[k], d[k + 1] * h[k]
    return h, rise, p, q


def compute_slopes(x: Ragged, y: Floats) -> Floats:
    """Return the slope of PCHIP at each control point.

    It is computed from `delta`, the slopes of the lines between neighbouring points.
    """
    h = np.diff(x.values)
    delta = np.where(h > 0, np.clip(np.diff(y) / h, -MAX_SLOPE, MAX_SLOPE), 0.0)
    d = np.zeros_like(y)
    first, last = x.offsets[:-1], x.offsets[1:] - 1
    inside = np.flatnonzero((x.position > 1) & (x.position < np.repeat(x.lengths, x.lengths)))
    d[inside] = compute_inner_slope(h[inside - 1], h[inside], delta[inside - 1], delta[inside])
    has_two, has_more = last - first == 1, last - first > 1
    d[first[has_two]] = d[last[has_two]] = delta[first[has_two]]
    k = first[has_more]
    d[k] = compute_end_slope(h[k], h[k + 1], delta[k], delta[k + 1])
    k = last[has_more]
    d[k] = compute_end_slope(h[k - 1], h[k - 2], delta[k - 1], delta[k - 2])
    return d


def compute_inner_slope(h_0: Floats, h_1: Floats, delta_0: Floats, delta_1: Floats) -> Floats:
    """Return the weighted harmonic mean of the slopes of two secants.

    The result is 0 unless both secants rise or both fall.
    """
    weight = (h_0 + 2 * h_1) / (3 * (h_0 + h_1))
    mean = 1 / (weight / delta_0 + (1 - weight) / delta_1)
    return np.where(np.sign(delta_0) * np.sign(delta_1) > 0, mean, 0.0)


def compute_end_slope(h_0: Floats, h_1: Floats, delta_0: Floats, delta_1: Floats) -> Floats:
    """Return the slope at an end point, by the three-point rule.

    `delta_0` is the slope of the secant next to the end, and `delta_1` of the following secant. The
    result is 0 if the rule gives a slope with another sign than `delta_0`. If `delta_0` and
    `delta_1` have opposite signs, the result is at most three times as steep as `delta_0`.
    """
    slope = ((2 * h_0 + h_1) * delta_0 - h_0 * delta_1) / (h_0 + h_1)
    changes_sign = np.sign(delta_0) * np.sign(delta_1) < 0
    slope = np.where(changes_sign & (np.abs(slope) > 3 * np.abs(delta_0)), 3 * delta_0, slope)
    return np.where(np.sign(slope) == np.sign(delta_0), slope, 0.0)


def find_exponent(ascending: Ragged) -> Exponents:
    """Return the binary exponent e of each query's largest absolute score.

    Scores divided by 2^e lie between -1 and 1. Their differences do not overflow a double, and
    neither does the reciprocal of their range, if the range is not 0. The division is exact, except
    for scores that are negligible compared with the largest. These may lose digits or become 0.
    """
    exponent = np.zeros(len(ascending.lengths), np.int32)
    has_scores = ascending.lengths > 0
    lowest, highest = find_ends(ascending)
    exponent[has_scores] = np.frexp(np.maximum(np.abs(lowest), np.abs(highest)))[1]
    return exponent


def find_ends(ascending: Ragged) -> tuple[Floats, Floats]:
    """Return the lowest and the highest score of each query that has scores."""
    has_scores = ascending.lengths > 0
    lowest = ascending.values[ascending.offsets[:-1][has_scores]]
    return lowest, ascending.values[ascending.offsets[1:][has_scores] - 1]


def scale_scores(scores: Ragged, exponent: Exponents) -> Ragged:
    """Return the scores divided by 2^e; e is the exponent of their query."""
    return Ragged(np.ldexp(scores.values, -np.repeat(exponent, scores.lengths)), scores.offsets)
