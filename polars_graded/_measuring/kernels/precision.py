"""Counts of relevant documents among the first ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polars_graded._measuring.kernels.queries import over_ideal
from polars_graded._measuring.kernels.ragged import Ragged

if TYPE_CHECKING:
    from collections.abc import Callable

    from polars_graded._measuring.kernels.queries import Queries
    from polars_graded._measuring.kernels.ragged import Floats, Integers


def precision(
    queries: Queries, n: int | None, threshold: float | None, ties: str = "order"
) -> Floats:
    """Hits in the top n over n; over all that was retrieved where there is no n."""
    found = hits(queries, n, threshold, ties)
    return found / n if n else or_0(found / queries.ranked.lengths)


def recall(
    queries: Queries,
    n: int | None,
    threshold: float | None,
    over: str = "relevant",
    ties: str = "order",
) -> Floats:
    """Hits in the top n over R, or over min(n, R)."""
    return hits(queries, n, threshold, ties) / queries.most_hits(n, threshold, over)


def f_measure(queries: Queries, n: int | None, beta: float, threshold: float | None) -> Floats:
    """(1 + β²) P R / (β² P + R)."""
    p, r = precision(queries, n, threshold), recall(queries, n, threshold)
    return or_0((1 + beta**2) * p * r / (beta**2 * p + r))


def e_measure(queries: Queries, n: int | None, b: float, threshold: float | None) -> Floats:
    """1 - (1 + b²) / (b² / R + 1 / P), which is 1 - F."""
    return 1 - f_measure(queries, n, b, threshold)


def r_precision(queries: Queries, threshold: float | None) -> Floats:
    """Hits in the top R over R."""
    ranked, total = queries.ranked, queries.n_relevant(threshold)
    hit = queries.relevant(ranked.values, threshold)
    return ranked.count(hit & (ranked.rank <= np.repeat(total, ranked.lengths))) / total


def reciprocal_rank(queries: Queries, n: int | None, threshold: float | None, ties: str) -> Floats:
    """1 / the rank of the first hit; 0 without one in the top n."""
    if ties == "average":
        return expected_at_first_hit(queries, n, threshold, lambda rank: 1 / rank)
    ranked = queries.ranked.head(n)
    return ranked.max(queries.relevant(ranked.values, threshold) / ranked.depth)


def success(queries: Queries, n: int | None, threshold: float | None, ties: str) -> Floats:
    """1 with a hit in the top n, 0 without."""
    if ties == "average":
        return expected_at_first_hit(queries, n, threshold, np.ones_like)
    return (hits(queries, n, threshold, ties) > 0).astype(np.float64)


def expected_at_first_hit(
    queries: Queries, n: int | None, threshold: float | None, worth: Callable[[Floats], Floats]
) -> Floats:
    """The expected worth of the rank of the first hit, over all orders of tied documents.

    The first hit is in the first set of tied documents that has one. With r of its m documents
    relevant it is the first of them in r/m of the orders, and after j misses the next one in
    r / (m - j) of those that are left.
    """
    ranked, starts = queries.ranked, queries.tie_starts()
    hit = queries.relevant(ranked.values, threshold)
    hits_in_set = np.add.reduceat(hit, starts, dtype=np.int64)
    with_hit = np.flatnonzero(hits_in_set)
    of_query = ranked.query[starts[with_hit]]
    first = with_hit[np.diff(of_query, prepend=-1) > 0]

    query, rank, relevant = (
        ranked.query[starts[first]],
        ranked.depth[starts[first]],
        hits_in_set[first],
    )
    left = np.diff(starts, append=len(ranked.values))[first]
    expected, not_yet = np.zeros(len(ranked.lengths)), np.ones(len(first))
    while not_yet.any():
        chance = not_yet * np.minimum(relevant / left, 1.0)
        expected[query] += chance * worth(rank) * (rank <= (np.inf if n is None else n))
        not_yet = np.where(left > relevant, not_yet - chance, 0.0)
        rank, left = rank + 1, np.maximum(left - 1, relevant)
    return expected


def roc_auc(queries: Queries, threshold: float | None) -> Floats:
    """The share of pairs of a relevant and another judged document in the right order."""
    ranked, judged = queries.ranked, queries.judged
    hit = queries.relevant(ranked.values, threshold)
    other = ~hit & ~np.isnan(ranked.values)
    n_relevant = queries.n_relevant(threshold)
    n_other = judged.lengths - n_relevant
    # Not retrieved is tied at the end: what was not seen by then counts half.
    below = np.repeat(n_other, ranked.lengths) - ranked.count_so_far(other)
    starts = queries.tie_starts()
    sizes = np.diff(starts, append=len(hit))
    ends = np.repeat(starts + sizes - 1, sizes)
    tied = np.repeat(np.add.reduceat(other, starts, dtype=np.float64), sizes)
    right = ranked.sum(hit * (below[ends] + tied / 2))
    missed = (n_relevant - ranked.count(hit)) * (n_other - ranked.count(other)) / 2
    return (right + missed) / (n_relevant * n_other)


def bpref(queries: Queries, threshold: float | None) -> Floats:
    """(1/R) Σ over hits of 1 - (judged others above it, at most R) / min(R, judged others)."""
    ranked, n_relevant = queries.ranked, queries.n_relevant(threshold)
    hit = queries.relevant(ranked.values, threshold)
    above = ranked.count_so_far(~hit & ~np.isnan(ranked.values))
    most = np.repeat(n_relevant, ranked.lengths)
    bound = np.minimum(n_relevant, queries.judged.lengths - n_relevant)
    share = np.minimum(above, most) / np.maximum(np.repeat(bound, ranked.lengths), 1)
    return ranked.sum(hit * (1 - share)) / n_relevant


def judged(queries: Queries, n: int | None) -> Floats:
    """The share of judged documents among the top n."""
    ranked = queries.ranked.head(n)
    return or_0(ranked.count(~np.isnan(ranked.values)) / ranked.lengths)


def generalized_precision(queries: Queries, n: int | None) -> Floats:
    """Σ of relevance over the highest, in the top n, over n."""
    ranked = queries.ranked.head(n)
    found = ranked.sum(queries.share_of_best(ranked))
    return found / n if n else or_0(found / ranked.lengths)


def generalized_recall(queries: Queries, n: int | None) -> Floats:
    """Σ of relevance in the top n over Σ of all that was judged."""
    ranked, judged = queries.ranked.head(n), queries.judged
    found = ranked.sum(queries.relevance(ranked.values))
    return over_ideal(found, judged.sum(queries.relevance(judged.values)))


def precision_curve(queries: Queries, n: int | None, threshold: float | None) -> Ragged:
    """Precision at every rank."""
    found = hits_curve(queries, n, threshold)
    return found.of(found.values / found.rank)


def recall_curve(queries: Queries, n: int | None, threshold: float | None) -> Ragged:
    """Recall at every rank."""
    found = hits_curve(queries, n, threshold)
    return found.of(found.values / np.repeat(queries.n_relevant(threshold), found.lengths))


def interpolated_precision(
    queries: Queries, recall_levels: int | tuple[float, ...], threshold: float | None
) -> Ragged:
    """P(r) = max of the precision at recall r and above."""
    levels = levels_of_recall(recall_levels)
    ranked, n_relevant = queries.ranked, queries.n_relevant(threshold)
    hit = queries.relevant(ranked.values, threshold)
    found = ranked.count_so_far(hit)
    at_hits = hit * found / ranked.depth
    values = np.empty((len(ranked.lengths), len(levels)))
    for column, level in enumerate(levels):
        # The least number of hits that reaches the level: rounding must not ask for one more.
        needed = np.ceil(level * n_relevant - 1e-9)
        values[:, column] = ranked.max(at_hits * (found >= np.repeat(needed, ranked.lengths)))
    offsets = np.arange(len(values) + 1) * len(levels)
    return Ragged(values.ravel(), offsets)


def levels_of_recall(recall_levels: int | tuple[float, ...]) -> tuple[float, ...]:
    """The levels as they are, or so many from 0 to 1."""
    if isinstance(recall_levels, int):
        return tuple(level / (recall_levels - 1) for level in range(recall_levels))
    return recall_levels


def n_retrieved(queries: Queries) -> Integers:
    """How many documents were retrieved."""
    return queries.ranked.lengths


def n_relevant(queries: Queries, threshold: float | None) -> Integers:
    """R: how many documents were judged relevant."""
    return queries.n_relevant(threshold)


def n_relevant_retrieved(queries: Queries, n: int | None, threshold: float | None) -> Integers:
    """How many of the first n documents are relevant."""
    ranked = queries.ranked.head(n)
    return ranked.count(queries.relevant(ranked.values, threshold))


def hits(queries: Queries, n: int | None, threshold: float | None, ties: str) -> Floats:
    """Hits in the top n, as many as are expected where ties are averaged."""
    if ties == "order":
        return n_relevant_retrieved(queries, n, threshold).astype(np.float64)
    worth = queries.first(n, lambda ranked: queries.relevant(ranked.values, threshold), ties)
    return worth.sum(worth.values)


def hits_curve(queries: Queries, n: int | None, threshold: float | None) -> Ragged:
    """Hits so far at every rank."""
    ranked = queries.ranked.head(n)
    found = ranked.count_so_far(queries.relevant(ranked.values, threshold)).astype(np.float64)
    lengths = ranked.lengths if n is None else np.full_like(ranked.lengths, n)
    return ranked.of(found).spread(lengths)


def or_0(ratio: Floats) -> Floats:
    """0 where there was nothing to divide by."""
    return np.nan_to_num(ratio, nan=0.0)
