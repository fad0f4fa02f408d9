"""Measures that model how far a user reads the list."""

from __future__ import annotations

import numpy as np

from polars_graded._measuring.kernels.cumulated_gain import compute_gains
from polars_graded._measuring.kernels.gains import Gain
from polars_graded._measuring.kernels.queries import Queries, divide_by_ideal
from polars_graded._measuring.kernels.ragged import Documents, Floats, Ragged, repeat_each

MIN_LOG = -746.0
"""Logarithm below which a power underflows to 0 in a double."""


def err(queries: Queries, n: int | None) -> Floats:
    """Return ERR, the expected value of 1 over the rank at which the user stops."""
    return compute_err(queries, queries.hits(n, None))


def nerr(queries: Queries, n: int | None) -> Floats:
    """Return ERR over the ERR of the best order."""
    best = compute_err(queries, queries.judged.ideal(n))
    return divide_by_ideal(compute_err(queries, queries.hits(n, None)), best)


def compute_err(queries: Queries, hits: Documents) -> Floats:
    """Return Σ_r (1/r) R_r Π_{i<r} (1 - R_i) with R = (2^g - 1) / 2^{g_max}.

    Documents that are not hits have R = 0 and add nothing.
    """
    best = repeat_each(queries.relevance(queries.best), hits.lengths)
    satisfied = compute_stop_probability(queries.relevance(hits.values), best)
    not_before = hits.accumulate_before(np.multiply, 1 - satisfied, 1.0)
    return hits.sum(satisfied * not_before / hits.rank)


def compute_stop_probability(relevance: Floats, best: Floats) -> Floats:
    """Return R = (2^g - 1) / 2^{g_max}, the probability that a user stops."""
    # Near 0, 2^g - 1 would lose digits; for large grades, 2^g would overflow.
    near_0 = np.expm1(np.minimum(relevance, 1) * np.log(2)) * np.exp2(-best)
    return np.where(relevance < 1, near_0, np.exp2(relevance - best) - np.exp2(-best))


def rbp(
    queries: Queries, n: int | None, p: float, *, graded: bool, threshold: float | None, ties: str
) -> Floats:
    """Return RBP: (1 - p) Σ_i rel(i) p^{i-1}.

    The user goes on to the next document with probability p.
    """

    def relevance(documents: Ragged) -> Floats:
        hit = queries.relevant(documents.values, threshold)
        return np.where(hit, queries.share_of_best(documents) if graded else 1.0, 0.0)

    worth = queries.compute_worths(n, relevance, ties)
    # Computing a power that underflows is slow, so all ranks from there on share one 0.
    n_powers = min(int(worth.rank.max(initial=0)), int(MIN_LOG / np.log(p)) + 1)
    continuing = p ** np.arange(n_powers + 1, dtype=np.float64)
    return (1 - p) * worth.sum(worth.values * continuing[np.minimum(worth.rank - 1, n_powers)])


def q_measure(queries: Queries, n: int | None, beta: float, gain: Gain, over: str) -> Floats:
    """Return Q: (1/R) Σ_r rel(r) (hits(r) + β cg(r)) / (r + β cg_ideal(r))."""
    hits, wanted = queries.hits(n, None), queries.judged.ideal()
    best = wanted.accumulate(np.add, compute_gains(queries, wanted, gain))
    # The ideal order may be shorter than the ranking: after its last relevant document, its
    # cumulated gain is constant.
    last = np.minimum(hits.rank, wanted.lengths[hits.query])
    reached = hits.number + beta * hits.accumulate(np.add, compute_gains(queries, hits, gain))
    blended = reached / (hits.rank + beta * best[wanted.offsets[hits.query] + last - 1])
    return hits.sum(blended) / queries.count_possible_hits(n, None, over)
