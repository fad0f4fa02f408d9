"""How far a user goes down the list, and what they have found by then."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polars_graded._measuring.kernels.cumulated_gain import gains
from polars_graded._measuring.kernels.queries import over_ideal

if TYPE_CHECKING:
    from polars_graded._measuring.kernels.gains import Gain
    from polars_graded._measuring.kernels.queries import Queries
    from polars_graded._measuring.kernels.ragged import Floats, Ragged


def err(queries: Queries, n: int | None) -> Floats:
    """Σ_r (1/r) R_r Π_{i<r} (1 - R_i): one over the rank at which the user is satisfied."""
    return expected_reciprocal_rank(queries, queries.ranked.head(n))


def nerr(queries: Queries, n: int | None) -> Floats:
    """ERR over that of the best order."""
    best = expected_reciprocal_rank(queries, queries.judged.head(n))
    return over_ideal(expected_reciprocal_rank(queries, queries.ranked.head(n)), best)


def expected_reciprocal_rank(queries: Queries, documents: Ragged) -> Floats:
    """Σ_r (1/r) R_r Π_{i<r} (1 - R_i) with R = (2^g - 1) / 2^{g_max}."""
    hit = np.flatnonzero(queries.relevant(documents.values, None))
    hits, rank = documents.at(hit), documents.depth[hit]  # others satisfy nobody
    best = np.repeat(queries.relevance(queries.best), hits.lengths)
    satisfied = chance_to_satisfy(queries.relevance(hits.values), best)
    not_before = hits.before(np.multiply, 1 - satisfied, 1.0)
    return hits.sum(satisfied * not_before / rank)


def chance_to_satisfy(relevance: Floats, best: Floats) -> Floats:
    """R = (2^g - 1) / 2^{g_max}."""
    # Near 0 the difference would lose what little there is; far from it the quotient overflows.
    near_0 = np.expm1(np.minimum(relevance, 1) * np.log(2)) * np.exp2(-best)
    return np.where(relevance < 1, near_0, np.exp2(relevance - best) - np.exp2(-best))


def rbp(
    queries: Queries, n: int | None, p: float, *, graded: bool, threshold: float | None, ties: str
) -> Floats:
    """(1 - p) Σ_i rel(i) p^{i-1}: the user goes on to the next document with probability p."""

    def relevance(ranked: Ragged) -> Floats:
        hit = queries.relevant(ranked.values, threshold)
        return np.where(hit, queries.share_of_best(ranked) if graded else 1.0, 0.0)

    worth = queries.first(n, relevance, ties)
    still_there = p ** np.arange(worth.lengths.max(initial=0), dtype=np.float64)
    return (1 - p) * worth.sum(worth.values * still_there[worth.rank - 1])


def q_measure(queries: Queries, n: int | None, beta: float, gain: Gain, over: str) -> Floats:
    """(1/R) Σ_r rel(r) (hits(r) + β cg(r)) / (r + β cg of the best order(r))."""
    ranked = queries.ranked.head(n)
    hit = np.flatnonzero(queries.relevant(ranked.values, None))
    hits, rank = ranked.at(hit), ranked.rank[hit]
    wanted = queries.judged.keep(queries.relevant(queries.judged.values, None))
    best = wanted.accumulated(np.add, gains(queries, wanted, gain))
    # The best order has gained all there is at its last relevant document.
    last = np.minimum(rank, wanted.lengths[hits.query])
    reached = hits.rank + beta * hits.accumulated(np.add, gains(queries, hits, gain))
    blended = reached / (rank + beta * best[wanted.offsets[hits.query] + last - 1])
    return hits.sum(blended) / queries.most_hits(n, None, over)
