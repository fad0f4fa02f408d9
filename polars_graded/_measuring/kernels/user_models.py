"""Measures that model how far a user reads the list."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from polars_graded._measuring.kernels.cumulated_gain import compute_gains
from polars_graded._measuring.kernels.gains import Gain
from polars_graded._measuring.kernels.precision import replace_nan
from polars_graded._measuring.kernels.queries import Queries, divide_by_ideal, make_sort_key
from polars_graded._measuring.kernels.ragged import (
    Documents,
    Floats,
    Integers,
    Ragged,
    number_in_groups,
    repeat_each,
)

MIN_LOG = -746.0
"""Natural logarithm of a number so small that it becomes 0 as a double."""

MAX_TOTAL_ERROR = 1e-12
"""Maximum relative error of a total of decimal grades, or of the target times the highest grade. A
total that is lower than the target by less than this error counts as equal. Whole grades up to a
total of 1e12 are therefore compared exactly, since their totals are exact."""

N_TERMS = 24
"""Number of terms that `sum_inverse_squares` adds one by one. After so many terms, an asymptotic
expansion gives the rest of the sum to the last bit of a double."""


def err(queries: Queries, n: int | None) -> Floats:
    """Return ERR, the expected value of 1 / r for a user who stops at rank r.

    A user who stops at none of the first n ranks counts as 0.
    """
    return compute_err(queries, queries.hits(n, None))


def nerr(queries: Queries, n: int | None) -> Floats:
    """Return ERR divided by the ERR of the best order."""
    best = compute_err(queries, queries.judgments.ideal(n))
    return divide_by_ideal(compute_err(queries, queries.hits(n, None)), best)


def compute_err(queries: Queries, hits: Documents) -> Floats:
    """Return Σ_r (1/r) R_r Π_{i<r} (1 - R_i) with R = (2^g - 1) / 2^{g_max}.

    Documents that are not hits have R = 0 and add nothing.
    """
    best = repeat_each(queries.relevance(queries.judgments.best_grades), hits.lengths)
    p_stop = compute_stop_probability(queries.relevance(hits.values), best)
    p_reach = hits.accumulate_before(np.multiply, 1 - p_stop, 1.0)
    return hits.sum(p_stop * p_reach / hits.rank)


def compute_stop_probability(relevance: Floats, best: Floats) -> Floats:
    """Return R = (2^g - 1) / 2^{g_max}, the probability that a user stops."""
    # Near 0, 2^g - 1 would lose digits; for large grades, 2^g would overflow.
    near_0 = np.expm1(np.minimum(relevance, 1) * np.log(2)) * np.exp2(-best)
    return np.where(relevance < 1, near_0, np.exp2(relevance - best) - np.exp2(-best))


def rbp(
    queries: Queries, n: int | None, p: float, *, graded: bool, threshold: float | None, ties: str
) -> Floats:
    """Return RBP: (1 - p) Σ_i rel(i) p^{i-1}.

    The user continues to the next document with probability p.
    """

    def relevance(documents: Ragged) -> Floats:
        hit = queries.is_relevant(documents.values, threshold)
        return np.where(hit, queries.share_of_best(documents) if graded else 1.0, 0.0)

    gains = queries.compute_hit_gains(n, relevance, ties)
    # Computing a power that underflows is slow, so all ranks whose power is 0 share one 0.
    n_powers = min(int(gains.rank.max(initial=0)), int(MIN_LOG / np.log(p)) + 1)
    continuing = p ** np.arange(n_powers + 1, dtype=np.float64)
    return (1 - p) * gains.sum(gains.values * continuing[np.minimum(gains.rank - 1, n_powers)])


def q_measure(queries: Queries, n: int | None, beta: float, gain: Gain, over: str) -> Floats:
    """Return Q: (1/R) Σ_r rel(r) (hits(r) + β cg(r)) / (r + β cg_ideal(r))."""
    hits, ideal = queries.hits(n, None), queries.judgments.ideal()
    best = ideal.accumulate(np.add, compute_gains(queries, ideal, gain))
    # The ideal order contains only relevant documents, so it may be shorter than the ranking. Its
    # cumulated gain is constant after its last document.
    last = np.minimum(hits.rank, ideal.lengths[hits.query_index])
    reached = hits.position + beta * hits.accumulate(np.add, compute_gains(queries, hits, gain))
    blended = reached / (hits.rank + beta * best[ideal.offsets[hits.query_index] + last - 1])
    return hits.sum(blended) / queries.count_possible_hits(n, None, over)


# Measures of the C/W/L framework (Moffat, Bailey, Scholer and Thomas 2017): a user continues from
# rank i with probability C_i, so rank i has the weight W_i = Π_{j<i} C_j. The value is the mean
# gain of the documents that the user looks at, Σ_i W_i g_i / Σ_i W_i. A gain is a grade divided by
# the highest grade.


def sdcg(queries: Queries, n: int | None, ties: str) -> Floats:
    """Return Σ_i W_i g_i / Σ_i W_i with W_i = 1 / log2(i + 1) down to rank n."""
    gains = queries.compute_hit_gains(n, queries.share_of_best, ties)
    lengths = queries.ranked.lengths
    weights = 1 / np.log2(np.arange(2, max(n or 0, int(lengths.max(initial=0))) + 2))
    total = np.append(0, np.cumsum(weights))[lengths if n is None else n]
    return replace_nan(gains.sum(gains.values * weights[gains.rank - 1]) / total)


def insq(queries: Queries, n: int | None, target: float) -> Floats:
    """Return the mean gain with C_i = ((i + 2T - 1) / (i + 2T))² for a target gain T."""
    hits, double_target = queries.hits(n, None), 2 * target
    # The product of C_1 to C_{i-1} telescopes to W_i = (2T)² / (2T + i - 1)²; (2T)² cancels out.
    weights = (double_target + hits.rank - 1.0) ** -2
    total = sum_inverse_squares(np.full(1, double_target), n)
    return hits.sum(weights * queries.share_of_best(hits)) / total


def inst(queries: Queries, n: int | None, target: float) -> Floats:
    """Return the mean gain with C_i = ((i + T + T_i - 1) / (i + T + T_i))².

    T_i = T - Σ_{j≤i} g_j is the gain that is still missing at rank i.
    """

    def continuing(ranked: Ragged, gains: Floats) -> Floats:
        reached = ranked.position + 2 * target - ranked.accumulate(np.add, gains)
        return np.square((reached - 1) / reached)

    def weigh_rest(length: Integers, gain: Floats, n_left: Integers | None) -> Floats:
        # Beyond the list T_i is constant, so the weights telescope as in INSQ.
        first = 2 * target - gain + length
        return first**2 * sum_inverse_squares(first, n_left)

    return compute_mean_gain(queries, n, continuing, weigh_rest)


def bpm(queries: Queries, n: int | None, target: float) -> Floats:
    """Return the mean gain of a user who stops at a total gain of T.

    A user who does not reach T stops at rank n or, if n is None, at the end of the list.
    """
    hits = queries.hits(n, None)
    # Shares such as 1/3 are rounded, so sums of relevance are compared instead of sums of gains.
    relevance = queries.relevance(hits.values)
    needed = target * queries.relevance(queries.judgments.best_grades) * (1 - MAX_TOTAL_ERROR)
    needed = repeat_each(needed, hits.lengths)
    so_far = hits.accumulate(np.add, relevance)
    last = queries.ranked.lengths.copy() if n is None else np.full(len(hits.lengths), n)
    # `is_before_target` marks the hits down to the one at which the user stops. At most one hit of
    # a query takes the gain from below the target to the target or above.
    is_before_target = hits.accumulate_before(np.add, relevance, 0.0) < needed
    reaching_hits = hits.keep(is_before_target & (so_far >= needed))
    last[reaching_hits.lengths > 0] = reaching_hits.rank
    return replace_nan(hits.sum(queries.share_of_best(hits) * is_before_target) / last)


def nerr8(queries: Queries, n: int | None) -> Floats:
    """Return the mean gain with C_i = 1 - g_i (Azzopardi et al. 2021, equation 8)."""

    def weigh_rest(length: Integers, _: Floats, n_left: Integers | None) -> Floats:
        return np.zeros(len(length)) if n_left is None else n_left.astype(np.float64)

    return compute_mean_gain(queries, n, lambda _, gains: 1 - gains, weigh_rest)


def nerr9(queries: Queries, n: int | None) -> Floats:
    """Return the mean gain with C_i = i / (i + 1) · (1 - g_i) (equation 9)."""

    def weigh_rest(length: Integers, _: Floats, n_left: Integers | None) -> Floats:
        if n_left is None:
            return np.zeros(len(length))
        harmonic = np.append(0, np.cumsum(1 / np.arange(1.0, (length + n_left).max(initial=0) + 1)))
        # Without gains, the product of C_1 to C_(i-1) is 1 / i. Relative to rank length + 1, rank i
        # therefore has the weight (length + 1) / i.
        rest: Floats = (length + 1) * (harmonic[length + n_left] - harmonic[length])
        return rest

    def continuing(ranked: Ragged, gains: Floats) -> Floats:
        return ranked.position / (ranked.position_as_float + 1) * (1 - gains)

    return compute_mean_gain(queries, n, continuing, weigh_rest)


def nerr10(queries: Queries, n: int | None, p: float) -> Floats:
    """Return the mean gain with C_i = p (1 - g_i) (equation 10)."""

    def weigh_rest(length: Integers, _: Floats, n_left: Integers | None) -> Floats:
        # The geometric series 1 + p + p² + … of n_left terms, or of infinitely many.
        rest = np.zeros(len(length)) if n_left is None else p ** n_left.astype(np.float64)
        lost: Floats = (1 - rest) / (1 - p)
        return lost

    return compute_mean_gain(queries, n, lambda _, gains: p * (1 - gains), weigh_rest)


def nerr11(queries: Queries, n: int | None, target: float) -> Floats:
    """Return the mean gain with C_i = ((i + 2T - 1) / (i + 2T))² (1 - g_i) (equation 11)."""

    def continuing(ranked: Ragged, gains: Floats) -> Floats:
        reached = ranked.position_as_float + 2 * target
        return np.square((reached - 1) / reached) * (1 - gains)

    def weigh_rest(length: Integers, _: Floats, n_left: Integers | None) -> Floats:
        # Beyond the list gains are 0, so the weights telescope as in INSQ.
        first: Floats = 2 * target + length.astype(np.float64)
        return first**2 * sum_inverse_squares(first, n_left)

    return compute_mean_gain(queries, n, continuing, weigh_rest)


def compute_mean_gain(
    queries: Queries,
    n: int | None,
    continuing: Callable[[Ragged, Floats], Floats],
    weigh_rest: Callable[[Integers, Floats, Integers | None], Floats],
) -> Floats:
    """Return Σ_i W_i g_i / Σ_i W_i, the mean gain of a document that the user looks at.

    `continuing` returns C_i for the ranks of a list. The user may continue beyond the end of a list
    of m documents, where the gain is 0. `weigh_rest` returns the sum of W_i / W_{m+1} over the
    ranks beyond the end: from m + 1 to n, or to ∞ without a cutoff. If the sum is infinite,
    `weigh_rest` returns 0, so that only the ranks of the list count. The arguments of `weigh_rest`
    are m, the total gain of the list, and n - m (None without a cutoff).
    """
    ranked = queries.ranked.head(n)
    gains = queries.share_of_best(ranked)
    continuation = continuing(ranked, gains)
    weights = ranked.accumulate_before(np.multiply, continuation, 1.0)
    weight_after = np.where(
        ranked.lengths > 0, ranked.with_values(weights * continuation).last_values(), 1.0
    )
    n_left = None if n is None else n - ranked.lengths
    rest = weight_after * weigh_rest(ranked.lengths, ranked.sum(gains), n_left)
    return replace_nan(ranked.sum(weights * gains) / (ranked.sum(weights) + rest))


def sum_inverse_squares(first: Floats, n: Integers | int | None = None) -> Floats:
    """Return Σ_{0≤j<n} 1 / (first + j)², with n = ∞ for None.

    The infinite sum is the trigamma function of `first`: `N_TERMS` terms are added one by one, and
    the asymptotic expansion (with Bernoulli numbers) gives the sum of the other terms.
    """
    if n is not None:
        return sum_inverse_squares(first) - sum_inverse_squares(first + n)
    x = first + N_TERMS
    total = 1 / x + 1 / (2 * x**2)
    for power, bernoulli in zip((3, 5, 7, 9), (1 / 6, -1 / 30, 1 / 42, -1 / 30), strict=True):
        total = total + bernoulli / x**power
    for j in range(N_TERMS):
        total = total + 1 / (first + j) ** 2
    return total


def compat(queries: Queries, p: float, *, normalised: bool) -> Floats:
    """Return the overlap with the ideal ranking, Σ_i p^{i-1} |I_i ∩ R_i| / i.

    I_i and R_i are the first i documents of the ideal ranking and of the ranking. The sum ends with
    the longer of the two rankings. With `normalised`, the sum is divided by its value for the ideal
    ranking, otherwise by Σ_i p^{i-1}. The ideal ranking keeps equally relevant documents in the
    order of the ranking.
    """
    hits, ideal = queries.hits(None, None), queries.judgments.ideal()
    depth = np.maximum(queries.ranked.lengths, ideal.lengths)
    power = p ** np.arange(depth.max(initial=0), dtype=np.float64)
    power_sums = np.append(0, np.cumsum(power))
    shares = np.append(0, np.cumsum(power / np.arange(1, len(power) + 1)))
    n_better = np.searchsorted(
        make_sort_key(ideal.query_index, ideal.values), make_sort_key(hits.query_index, hits.values)
    ) - repeat_each(ideal.offsets[:-1], hits.lengths)
    order, is_first = hits.argsort(descending=True)
    number_in_grade = number_in_groups(order, is_first)
    # The k-th hit of a grade in the ranking has an ideal rank of k plus the number of better
    # documents. The hit is in both I_i and R_i if i is at least its rank and at least its ideal
    # rank.
    first_common_rank = np.maximum(n_better + number_in_grade, hits.rank)
    overlap = hits.sum(shares[repeat_each(depth, hits.lengths)] - shares[first_common_rank - 1])
    if not normalised:
        share: Floats = overlap / power_sums[depth]
        return share
    n = ideal.lengths
    # The ideal ranking has n documents. Its overlap with itself, |I_i ∩ I_i|, is i for i ≤ n, and n
    # for i > n.
    return divide_by_ideal(overlap, power_sums[n] + n * (shares[depth] - shares[n]))
