"""Precision, recall and other measures that count documents or pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from polars_graded._measuring.kernels.cumulated_gain import find_curve_lengths, sum_so_far
from polars_graded._measuring.kernels.queries import Queries, divide_by_ideal
from polars_graded._measuring.kernels.ragged import (
    MAX_EXACT_INTEGER,
    Documents,
    Floats,
    Integers,
    Ragged,
    offsets_of,
    repeat_each,
)


def precision(
    queries: Queries, n: int | None, threshold: float | None, ties: str = "order"
) -> Floats:
    """Return P@n: hits in the top n over n.

    Without `n`, it is the number of all hits over the number of retrieved documents.
    """
    n_hits = count_hits(queries, n, threshold, ties)
    return n_hits / n if n else replace_nan(n_hits / queries.ranked.lengths)


def recall(
    queries: Queries,
    n: int | None,
    threshold: float | None,
    over: str = "relevant",
    ties: str = "order",
) -> Floats:
    """Return R@n: hits in the top n over R.

    With `over="cutoff"` and a cutoff n, the divisor is min(n, R).
    """
    return count_hits(queries, n, threshold, ties) / queries.count_possible_hits(n, threshold, over)


def f_measure(
    queries: Queries, n: int | None, beta: float, threshold: float | None, ties: str = "order"
) -> Floats:
    """Return F of the top n; `compute_f` has the formula."""
    n_hits = count_hits(queries, n, threshold, ties)
    ranks = n or queries.ranked.lengths
    return compute_f(n_hits, ranks, queries.judgments.n_relevant(threshold), beta)


def e_measure(
    queries: Queries, n: int | None, b: float, threshold: float | None, ties: str
) -> Floats:
    """Return E = 1 - F of the top n, with β = b."""
    return 1 - f_measure(queries, n, b, threshold, ties)


def max_f_measure(queries: Queries, n: int | None, beta: float, threshold: float | None) -> Floats:
    """Return the highest F at any of the first n ranks."""
    # F can rise from one rank to the next only at a hit, so the highest F is at a hit.
    hits = queries.hits(n, threshold)
    total = repeat_each(queries.judgments.n_relevant(threshold), hits.lengths)
    return hits.max(compute_f(hits.position, hits.rank, total, beta))


def compute_f(
    hits: npt.NDArray[Any], ranks: npt.NDArray[Any] | int, total: Integers, beta: float
) -> Floats:
    """Return (1 + β²) P R / (β² P + R) with P = hits / ranks, R = hits / total.

    P and R have the same numerator, so F equals (1 + β²) hits / (ranks + β² total), which is not
    0 / 0 if P = R = 0. F is 0 if `ranks` and `total` are 0.
    """
    return replace_nan((1 + beta**2) * hits / (ranks + beta**2 * total))


def precision_at_hit(queries: Queries, k: int, threshold: float | None) -> Floats:
    """Return k over the rank of the k-th hit; 0 if there are fewer than k hits."""
    hits = queries.hits(None, threshold)
    kth = hits.keep(hits.position == k)
    return kth.sum(k / kth.rank)


def r_precision(queries: Queries, threshold: float | None, ties: str) -> Floats:
    """Return hits in the top R over R."""
    total = queries.judgments.n_relevant(threshold)
    gains = queries.compute_hit_gains(
        None, lambda documents: queries.is_relevant(documents.values, threshold), ties
    )
    return gains.sum(gains.values * (gains.rank <= repeat_each(total, gains.lengths))) / total


def reciprocal_rank(queries: Queries, n: int | None, threshold: float | None, ties: str) -> Floats:
    """Return 1 over the rank of the first hit; 0 if the top n contain no hit."""
    if ties == "average":
        return expect_at_first_hit(queries, n, threshold, lambda rank: 1 / rank)
    hits = queries.hits(n, threshold)
    return replace_nan(1 / hits.with_values(hits.rank.astype(np.float64)).first_values())


def success(queries: Queries, n: int | None, threshold: float | None, ties: str) -> Floats:
    """Return 1 if the top n contain a hit, else 0."""
    if ties == "average":
        return expect_at_first_hit(queries, n, threshold, np.ones_like)
    return (count_hits(queries, n, threshold, ties) > 0).astype(np.float64)


def expect_at_first_hit(
    queries: Queries,
    n: int | None,
    threshold: float | None,
    value_of_rank: Callable[[Floats], Floats],
) -> Floats:
    """Return the mean of value_of_rank(rank of the first hit) over all orders of ties.

    A query without a hit gets 0. The first hit is in the first tie group with a relevant document.
    Of the m documents of this group, r are relevant. If the group begins with j - 1 misses, its
    next document is relevant with probability r / (m - j + 1). At most m - r misses can come before
    the first hit. Example: one document is above the group, r = 1 and m = 2. The first hit is at
    rank 2 with probability 1/2, and at rank 3 with probability (1 - 1/2) · 1/1.
    """
    ranked, starts = queries.ranked, queries.tie_starts
    is_hit = queries.is_relevant(ranked.values, threshold)
    hits_in_group = np.add.reduceat(is_hit, starts, dtype=np.int64)
    groups_with_hit = np.flatnonzero(hits_in_group)
    of_query = ranked.query_index[starts[groups_with_hit]]
    first_groups = groups_with_hit[np.diff(of_query, prepend=-1) > 0]

    query = ranked.query_index[starts[first_groups]]
    rank = ranked.position_as_float[starts[first_groups]]
    relevant, size = hits_in_group[first_groups], queries.tie_sizes[first_groups]
    n_possible = size - relevant + 1
    if n is not None:
        # Only positions in the group down to rank n count.
        n_possible = np.clip(n - rank + 1, 0, n_possible).astype(np.int64)
    offsets = offsets_of(n_possible)
    possible = Ragged(np.empty(offsets[-1]), offsets)
    # The first hit can be at `n_possible` positions of a group. `rank` and `n_left` have one
    # value per position: its rank, and the number of the group's documents from there to the end.
    rank = repeat_each(rank, n_possible) + possible.position - 1
    n_left = repeat_each(size, n_possible) - possible.position + 1
    chance = repeat_each(relevant, n_possible) / n_left
    chance_of_first = chance * possible.accumulate_before(np.multiply, 1 - chance, 1.0)
    expected = np.zeros(len(ranked.lengths))
    expected[query] = possible.sum(chance_of_first * value_of_rank(rank))
    return expected


def roc_auc(queries: Queries, threshold: float | None, ties: str) -> Floats:
    """Return the share of pairs that are in the right order.

    A pair is a relevant document and a judged one that is not relevant. The share is Mann and
    Whitney's U over the number of pairs. With `ties="average"`, tied pairs count half.
    """
    ranked, hits = queries.ranked, queries.hits(None, threshold)
    n_relevant = queries.judgments.n_relevant(threshold)
    n_other = queries.judgments.n_judged - n_relevant
    is_judged = ~np.isnan(ranked.values)
    if ties == "average":
        is_hit = queries.is_relevant(ranked.values, threshold)
        is_other, starts, sizes = ~is_hit & is_judged, queries.tie_starts, queries.tie_sizes
        tied = np.add.reduceat(is_other, starts, dtype=np.float64)
        # Judged, irrelevant documents above a hit: all in earlier tie groups, and half of those in
        # the tie group of the hit.
        above = ranked.count_so_far(is_other)[starts + sizes - 1] - tied / 2
        n_right = ranked.sum(
            is_hit * (repeat_each(n_other, ranked.lengths) - repeat_each(above, sizes))
        )
    else:
        n_right = hits.sum(repeat_each(n_other, hits.lengths) - count_others_above(queries, hits))
    # All documents that were not retrieved are tied at the end, so each pair of them counts half.
    n_missed = (n_relevant - hits.lengths) * (n_other - ranked.count(is_judged) + hits.lengths) / 2
    return (n_right + n_missed) / (n_relevant * n_other)  # NaN if there is no pair


def pairwise_accuracy(queries: Queries, n: int | None, threshold: float | None) -> Floats:
    """Return the share of pairs in the top n that are in the right order.

    A pair is a hit and a document that is no hit.
    """
    hits = queries.hits(n, threshold)
    n_ranked = np.minimum(queries.ranked.lengths, n or MAX_EXACT_INTEGER)
    n_pairs = hits.lengths * (n_ranked - hits.lengths)
    # `rank - number` is the number of documents above a hit that are not hits. Each of these
    # documents and the hit are a pair in the wrong order. The share is NaN if there is no pair.
    return 1 - hits.sum(hits.rank - hits.position) / np.where(n_pairs > 0, n_pairs, np.nan)


def bpref(queries: Queries, threshold: float | None) -> Floats:
    """Return (1/R) Σ_hits (1 - min(others above, R) / min(R, judged others)).

    Others are judged documents that are not relevant.
    """
    hits, n_relevant = queries.hits(None, threshold), queries.judgments.n_relevant(threshold)
    bound = np.minimum(n_relevant, queries.judgments.n_judged - n_relevant)
    above = np.minimum(count_others_above(queries, hits), repeat_each(n_relevant, hits.lengths))
    # If there are no judged others, `above` and `bound` are 0. The divisor 1 avoids 0 / 0.
    share = above / np.maximum(repeat_each(bound, hits.lengths), 1)
    return hits.sum(1 - share) / n_relevant


def count_others_above(queries: Queries, hits: Documents) -> Integers:
    """Return the number of judged, irrelevant documents above each hit."""
    return queries.count_judged_so_far(hits) - hits.position


def judged(queries: Queries, n: int | None, ties: str) -> Floats:
    """Return the share of judged documents among the top n."""
    judged = queries.compute_all_gains(n, lambda ranked: ~np.isnan(ranked.values), ties)
    return replace_nan(judged.sum() / judged.lengths)


def generalized_precision(queries: Queries, n: int | None, ties: str) -> Floats:
    """Return the sum of `share_of_best` over the top n, divided by n.

    `Queries.share_of_best` divides the relevance of a document by the relevance of the best grade.
    Without `n`, the divisor is the number of retrieved documents.
    """
    gains = queries.compute_hit_gains(n, queries.share_of_best, ties)
    total = gains.sum()
    return total / n if n else replace_nan(total / queries.ranked.lengths)


def generalized_recall(queries: Queries, n: int | None, ties: str) -> Floats:
    """Return Σ of relevance in the top n over Σ of all judged relevance."""
    relevant = queries.judgments.relevant
    gains = queries.compute_hit_gains(
        n, lambda documents: queries.relevance(documents.values), ties
    )
    return divide_by_ideal(gains.sum(), relevant.sum(queries.relevance(relevant.values)))


def precision_curve(queries: Queries, n: int | None, threshold: float | None, ties: str) -> Ragged:
    """Return precision at each of the first n ranks, or at all ranks."""
    so_far = count_hits_so_far(queries, n, threshold, ties)
    return so_far.with_values(so_far.values / so_far.position)


def recall_curve(queries: Queries, n: int | None, threshold: float | None, ties: str) -> Ragged:
    """Return recall at each of the first n ranks, or at all ranks."""
    so_far = count_hits_so_far(queries, n, threshold, ties)
    n_relevant = repeat_each(queries.judgments.n_relevant(threshold), so_far.lengths)
    return so_far.with_values(so_far.values / n_relevant)


def f_measure_curve(
    queries: Queries, n: int | None, beta: float, threshold: float | None, ties: str
) -> Ragged:
    """Return F at each of the first n ranks, or at all ranks."""
    so_far = count_hits_so_far(queries, n, threshold, ties)
    total = repeat_each(queries.judgments.n_relevant(threshold), so_far.lengths)
    return so_far.with_values(compute_f(so_far.values, so_far.position_as_float, total, beta))


def e_measure_curve(
    queries: Queries, n: int | None, b: float, threshold: float | None, ties: str
) -> Ragged:
    """Return E at each of the first n ranks, or at all ranks."""
    f = f_measure_curve(queries, n, b, threshold, ties)
    return f.with_values(1 - f.values)


def interpolated_precision(
    queries: Queries, recall_levels: int | tuple[float, ...], threshold: float | None
) -> Ragged:
    """Return the highest precision at or above each level of recall."""
    levels = list_recall_levels(recall_levels)
    hits, n_relevant = queries.hits(None, threshold), queries.judgments.n_relevant(threshold)
    best_from = hits.accumulate_backwards(np.maximum, hits.position / hits.rank)
    best_or_0, no_hit_index = np.append(best_from, 0.0), len(best_from)
    values = np.empty((len(n_relevant), len(levels)))
    for number, level in enumerate(levels):
        # Minimum number of hits for this recall. Without the margin, rounding could add a hit.
        needed = np.maximum(np.ceil(level * n_relevant - 1e-9), 1).astype(np.int64)
        index = np.where(needed <= hits.lengths, hits.offsets[:-1] + needed - 1, no_hit_index)
        values[:, number] = best_or_0[index]
    offsets = np.arange(len(values) + 1) * len(levels)
    return Ragged(values.ravel(), offsets)


def list_recall_levels(recall_levels: int | tuple[float, ...]) -> tuple[float, ...]:
    """Return the recall levels; 3 stands for the levels 0, 0.5 and 1."""
    if isinstance(recall_levels, int):
        return tuple(level / (recall_levels - 1) for level in range(recall_levels))
    return recall_levels


def n_retrieved(queries: Queries) -> Integers:
    """Return the number of retrieved documents."""
    return queries.ranked.lengths


def n_relevant(queries: Queries, threshold: float | None) -> Integers:
    """Return R, the number of documents judged relevant."""
    return queries.judgments.n_relevant(threshold)


def n_relevant_retrieved(queries: Queries, n: int | None, threshold: float | None) -> Integers:
    """Return the number of relevant documents among the first n."""
    return queries.hits(n, threshold).lengths


def count_hits(queries: Queries, n: int | None, threshold: float | None, ties: str) -> Floats:
    """Return the number of hits in the top n.

    With `ties="average"`, it is the mean over all orders of ties.
    """
    if ties == "order":
        return n_relevant_retrieved(queries, n, threshold).astype(np.float64)
    gains = queries.compute_hit_gains(
        n, lambda documents: queries.is_relevant(documents.values, threshold), ties
    )
    return gains.sum()


def count_hits_so_far(
    queries: Queries, n: int | None, threshold: float | None, ties: str
) -> Ragged:
    """Return the number of hits down to each rank.

    With `ties="average"`, it is the mean over all orders of ties.
    """
    if ties == "order":
        ranked = queries.ranked.head(n)
        so_far = ranked.count_so_far(queries.is_relevant(ranked.values, threshold))
        return ranked.with_values(so_far.astype(np.float64)).extend(
            find_curve_lengths(queries.ranked.lengths, n)
        )
    gains = queries.compute_all_gains(
        n, lambda ranked: queries.is_relevant(ranked.values, threshold), ties
    )
    return sum_so_far(gains, find_curve_lengths(queries.ranked.lengths, n))


def replace_nan(ratio: Floats) -> Floats:
    """Return the ratio with NaN, the value of 0 / 0, replaced by 0."""
    return np.nan_to_num(ratio, nan=0.0)
