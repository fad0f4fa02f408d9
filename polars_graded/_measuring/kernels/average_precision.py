"""Average precision, at one threshold and over all levels of relevance."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from polars_graded._measuring.kernels.queries import Queries, divide_by_ideal, make_sort_key
from polars_graded._measuring.kernels.ragged import (
    Documents,
    Floats,
    Integers,
    Levels,
    Ragged,
    repeat_each,
)


def ap(queries: Queries, n: int | None, threshold: float | None, over: str, ties: str) -> Floats:
    """Return AP: the sum of precisions at hits, divided by R by default.

    (Scheel et al. 2011, equations 1 and 2.) With `over="retrieved"`, the divisor is the number of
    hits; with `over="cutoff"`, it is the smaller of R and n.
    """
    if ties == "average":
        expected = expect_precisions(queries, threshold).head(n)
        return expected.sum() / queries.count_possible_hits(n, threshold, over)
    hits = queries.hits(n, threshold)
    total = hits.sum(compute_precisions(hits))
    if over == "retrieved":
        return np.where(hits.lengths > 0, total / hits.lengths, 0.0)
    return total / queries.count_possible_hits(n, threshold, over)


def compute_precisions(hits: Documents) -> Floats:
    """Return P@p for each hit: the number of hits at ranks 1 to p, over p."""
    return hits.position / hits.rank


INFERRED_PRIOR = 0.00001
"""ε in the formula of `infap`, with the same value as in trec_eval."""


def infap(queries: Queries, n: int | None, threshold: float | None) -> Floats:
    """Return infAP: (1/R) Σ_hits E[P@k], the expected precision at hits.

    At rank k, E[P@k] = 1/k + (pooled / k) (rel + ε) / (rel + other + 2ε), where pooled, rel and
    other are the numbers of pooled, relevant and other judged documents above rank k (Yilmaz and
    Aslam 2006, equation 1, smoothed as in trec_eval). A grade below irrelevant marks a pooled
    document that nobody judged.
    """
    hits = queries.hits(n, threshold)
    pooled, relevant = queries.count_judged_so_far(hits) - 1, hits.position - 1
    unjudged = queries.ranked.count_so_far(queries.ranked.values < queries.judgments.irrelevant)
    starts = repeat_each(queries.ranked.offsets[:-1], hits.lengths)
    other = pooled - relevant - unjudged[starts + hits.rank - 1]
    share = (relevant + INFERRED_PRIOR) / (relevant + other + 2 * INFERRED_PRIOR)
    return hits.sum((1 + pooled * share) / hits.rank) / queries.judgments.n_relevant(threshold)


def expect_precisions(queries: Queries, threshold: float | None) -> Ragged:
    """Return the mean of P@p · rel(p) over all orders of ties, at every rank.

    A tie group has m documents, of which r are relevant; h hits rank above the group. The i-th
    document of the group is relevant in r/m of the orders. In these orders, the i - 1 documents
    before it in the group contain (i - 1) (r - 1) / (m - 1) hits on average.
    """
    ranked, starts = queries.ranked, queries.tie_starts
    is_hit = queries.is_relevant(ranked.values, threshold)
    m = queries.tie_sizes
    r = np.add.reduceat(is_hit, starts, dtype=np.float64)
    h = ranked.count_so_far(is_hit)[starts] - is_hit[starts]
    i = np.arange(1, len(is_hit) + 1) - repeat_each(starts, m)
    hits_in_group = (i - 1) * repeat_each((r - 1) / np.maximum(m - 1, 1), m)
    hits = repeat_each(h, m) + 1 + hits_in_group
    return ranked.with_values(repeat_each(r / m, m) * hits / ranked.position_as_float)


def mu_ap(queries: Queries, n: int | None, levels: tuple[float, ...] | None) -> Floats:
    """Return μAP: the mean of AP over levels t, weighted by d_t.

    (Scheel et al. 2011, equation 4.)

    d_t is the distance of level t from the next lower level; R_t documents reach level t. A
    document of grade g counts in AP at every level up to g, so its weight is
    W(g) = Σ_{t ≤ g} d_t / R_t. W_j is the weight of the document at rank j. The documents at ranks
    j and p both count at each level up to the lower of their grades. Over these levels, d_t / R_t
    adds up to min(W_j, W_p), so Σ_t d_t AP_t = Σ_p (1/p) Σ_{j ≤ p} min(W_j, W_p).
    """
    ranked = queries.with_relevance(queries.hits(n, None))
    relevant = queries.with_relevance(queries.judgments.relevant)
    highest = queries.relevance(queries.judgments.highest_relevant)
    if levels is not None:
        # Each grade is replaced by the highest level t ≤ grade, or by 0 if there is none. This does
        # not change AP at any level.
        steps = np.concatenate(([0.0], queries.relevance(np.array(levels))))

        def find_level(grades: Floats) -> Floats:
            return steps[np.searchsorted(steps, grades, side="right") - 1]

        ranked = ranked.with_values(find_level(ranked.values))
        relevant = relevant.with_values(find_level(relevant.values))
        highest = np.full_like(highest, steps[-1])
    return divide_by_ideal(sum_minima(ranked, relevant, divide_by_count=True), highest)


def gap(queries: Queries, n: int | None, levels: tuple[float, ...] | None) -> Floats:
    """Return GAP: Σ_p (1/p) Σ_{j ≤ p} min(V_j, V_p) / Σ V.

    V(g) is proportional to the probability that grade g satisfies a user. The constant factor
    cancels out. Σ V is over all judged documents.
    """
    ranked = queries.with_relevance(queries.hits(n, None))
    relevant = queries.with_relevance(queries.judgments.relevant)
    if levels is not None:
        # Each level is equally likely to be the lowest that satisfies a user (equal g_i in
        # Robertson et al. 2010). So V(g) is the number of levels up to g.
        steps = queries.relevance(np.array(levels))
        steps = steps[steps > 0]

        def count_levels(grades: Floats) -> Floats:
            return np.searchsorted(steps, grades, side="right").astype(np.float64)

        ranked = ranked.with_values(count_levels(ranked.values))
        relevant = relevant.with_values(count_levels(relevant.values))
    return divide_by_ideal(sum_minima(ranked, relevant, divide_by_count=False), relevant.sum())


def sum_minima(ranked: Documents, relevant: Ragged, *, divide_by_count: bool) -> Floats:
    """Return Σ_p (1/p) Σ_{j ≤ p} min(W_j, W_p) over the ranked documents.

    W(g) is the sum of the distances d_t = t - (next lower level) over the levels t ≤ g that occur
    among the relevant documents. With `divide_by_count`, each distance is divided by R_t, the
    number of documents that reach its level.
    """
    if relevant.level_counts is None:
        return _sum_by_bit(ranked, relevant.sort_descending(), divide_by_count=divide_by_count)
    return _sum_by_level(ranked, relevant.level_counts, divide_by_count=divide_by_count)


def _sum_by_level(ranked: Documents, relevant: Levels, *, divide_by_count: bool) -> Floats:
    """Return Σ_t d_t · (Σ_p P@p · rel_t(p)), by one pass per level t.

    With `divide_by_count`, d_t is divided by R_t. The levels are those that occur in any query. A
    level t that a query lacks does not change the sum of the query. Let a < t < b, where a and b
    are the query's nearest levels. Then t selects the same documents as b, and the distances t - a
    and b - t add up to b - a. A document that does not reach one level cannot reach the next, so
    each pass drops the documents below its level.
    """
    is_used = relevant.counts.any(axis=1) & (relevant.values > 0)
    levels, n_relevant = relevant.values[is_used], relevant.n_reaching[is_used]
    total = np.zeros(len(ranked.lengths))
    for number, distance in enumerate(np.diff(levels, prepend=0.0)):
        ranked = ranked.keep(ranked.values >= levels[number])
        at_level = distance * ranked.sum(compute_precisions(ranked))
        total += at_level / np.maximum(n_relevant[number], 1) if divide_by_count else at_level
    return total


def _sum_by_bit(ranked: Documents, relevant: Ragged, *, divide_by_count: bool) -> Floats:
    """Return the result of `sum_minima`, by one pass per bit of C.

    C(g) is the number of judged documents at least as good as g, so a higher C is worse. Passes go
    from the highest bit of C to the lowest. Documents of a query with equal bits so far form a
    group of adjacent rows. If document x of a group has a 1 in the next bit and document y has a 0,
    then x is worse than y, so the pass adds min(W_x, W_y) = W_x for this pair. Then the pass splits
    each group by the bit. Both parts stay in rank order.

    Example: grades 10 30 20 at ranks 1 2 3, and nothing else judged, have C = 3 1 2, in bits 11 01
    10. By the first bit, ranks 1 and 3 are worse than rank 2. The pair of ranks 1 and 2 adds W(10),
    and the pair of ranks 2 and 3 adds W(20). Ranks 1 and 3 have the same first bit. By the second
    bit, rank 1 is worse than rank 3, so this pair adds W(10). Then each document adds its own W for
    the pair j = p. Each W that a pair of ranks j ≤ p adds is divided by p.
    """
    next_lower = np.append(relevant.values[1:], 0.0)
    next_lower[relevant.offsets[1:][relevant.lengths > 0] - 1] = 0.0
    steps = relevant.values - next_lower
    weights = relevant.accumulate_backwards(
        np.add, steps / relevant.position if divide_by_count else steps
    )

    documents = ranked.keep(ranked.values > 0)
    query, rank = documents.query_index, documents.rank
    last_as_good = np.searchsorted(
        make_sort_key(relevant.query_index, relevant.values),
        make_sort_key(query, documents.values),
        side="right",
    )
    weight = weights[last_as_good - 1]
    as_good = last_as_good - relevant.offsets[query]

    total = np.zeros(len(ranked.lengths))
    row = np.arange(len(query))
    node = documents.offsets[query]  # first row with the same query and bits so far
    for bit in reversed(range(int(as_good.max(initial=0)).bit_length())):
        is_worse = (as_good >> bit & 1).astype(bool)
        n_worse = np.concatenate(([0], np.cumsum(is_worse)))
        n_worse_before = n_worse[:-1] - n_worse[node]
        n_better_before = row - node - n_worse_before
        weight_of_worse = documents.accumulate_before(np.add, np.where(is_worse, weight, 0.0), 0.0)
        minima = np.where(
            is_worse, weight * n_better_before, weight_of_worse - weight_of_worse[node]
        )
        total += documents.sum(minima / rank)
        starts = np.flatnonzero(row == node)
        sizes = np.diff(starts, append=len(row))
        better_node = node + repeat_each(n_worse[starts + sizes] - n_worse[starts], sizes)
        new_index = np.where(is_worse, node + n_worse_before, better_node + n_better_before)
        node = _move(np.where(is_worse, node, better_node), new_index)
        rank, weight, as_good = (_move(each, new_index) for each in (rank, weight, as_good))
    # Documents of a query with equal bits have the same grade. For example, the third document with
    # this grade adds its weight three times: for itself and for the two before it.
    equals = row - node + 1
    return total + documents.sum(weight * equals / rank)


def _move(values: npt.NDArray[Any], new_index: Integers) -> npt.NDArray[Any]:
    """Return the values moved to their new indices."""
    result = np.empty_like(values)
    result[new_index] = values
    return result
