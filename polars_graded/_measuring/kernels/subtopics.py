"""Measures of how well a list covers the subtopics, or intents, of its query.

A document counts for a subtopic if it is relevant and carries the subtopic as a label.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from polars_graded._measuring.kernels.queries import Queries, divide_by_ideal
from polars_graded._measuring.kernels.ragged import (
    Documents,
    Floats,
    Integers,
    Ragged,
    list_rows,
    number_in_groups,
    repeat_each,
)

MAX_RELATIVE_TIE = 1e-12
"""Maximum relative difference of two gains that count as equal in the greedy ideal ranking. Such
gains may be sums of the same numbers, added in another order."""

MIN_WEIGHT = 1e-18
"""Minimum weight of a rank in the ideal ranking; lower weights change no digit of the sum."""


@dataclass(frozen=True)
class Subtopics:
    """Subtopics of the relevant documents of some queries.

    Each hit makes a pair with each of its subtopics. Pairs are in rank order.
    """

    hits: Documents
    """Relevant documents among the first n."""
    document: Integers
    """Index of the hit in each pair."""
    subtopic: Integers
    """Number of the subtopic in each pair. A subtopic has a different number in each query."""
    relevant_subtopics: Integers
    """Distinct numbers of the subtopics of all relevant documents, retrieved or not, ascending."""
    n_relevant: Integers
    """Number of relevant documents of each subtopic in `relevant_subtopics`."""
    n_subtopics: Integers
    """Number of subtopics of each query. Only subtopics of relevant documents count."""

    @classmethod
    def of(cls, queries: Queries, n: int | None, threshold: float | None) -> Subtopics:
        """Return the subtopics of each query, with hits among the first `n`."""
        labels = queries.judgments.labels["subtopics"]
        ranked = queries.ranked.head(n)
        is_hit = queries.is_relevant(ranked.values, threshold)
        hits = ranked.select_documents(is_hit)
        documents_of_hits = queries.inputs["subtopics"].head(n).values[is_hit].astype(np.int64)
        document, codes = labels.find(documents_of_hits)
        all_relevant, all_documents = find_relevant(queries, threshold)
        document_of_all, all_codes = labels.find(all_documents)
        relevant_subtopics, counts = np.unique(
            all_relevant.query_index[document_of_all] * labels.code_bound + all_codes,
            return_counts=True,
        )
        n_subtopics = np.bincount(
            relevant_subtopics // labels.code_bound, minlength=len(hits.lengths)
        )
        numbers = hits.query_index[document] * labels.code_bound + codes
        return cls(hits, document, numbers, relevant_subtopics, counts, n_subtopics)

    @cached_property
    def n_before(self) -> Integers:
        """Return, for each pair, the number of higher hits with its subtopic."""
        order = np.argsort(self.subtopic, kind="stable")
        is_first = np.diff(self.subtopic[order], prepend=-1) != 0
        return number_in_groups(order, is_first) - 1

    def sum_by_hit(self, values: Floats) -> Floats:
        """Return, for each hit, the sum of the values of its subtopics.

        `values` has one entry for each entry of `subtopic`.
        """
        sums = np.bincount(self.document, values, minlength=len(self.hits.values))
        return sums.astype(np.float64, copy=False)

    def compute_gains(self, alpha: float) -> Floats:
        """Return the gain Σ_s (1 - α)^{hits above with s} of each hit."""
        return self.sum_by_hit((1 - alpha) ** self.n_before.astype(np.float64))


def find_relevant(queries: Queries, threshold: float | None) -> tuple[Ragged, Integers]:
    """Return all relevant documents, retrieved or not, and their indices in the labels."""
    documents = queries.judgments.grades
    is_relevant = queries.is_relevant(documents.values, threshold)
    indices = queries.judgments.inputs["subtopics"].values[is_relevant]
    return documents.keep(is_relevant), indices.astype(np.int64)


# Weights of ranks


def discount_by_log(n: int) -> Floats:
    """Return 1 / log2(i + 1) for the ranks 1 to n."""
    return 1 / np.log2(np.arange(2, n + 2))


def discount_by_rank(n: int) -> Floats:
    """Return 1 / i for the ranks 1 to n."""
    return 1 / np.arange(1, n + 1)


def sum_ideal_gains(
    queries: Queries, weights: Floats, alpha: float, threshold: float | None
) -> Floats:
    """Return Σ_i w_i gain_i of the ideal ranking of each query.

    The ideal ranking is greedy: each rank gets the document with the highest gain, given the
    documents above (Clarke et al. 2008). If several documents have the highest gain, the document
    with the lowest `Labels.order` gets the rank. Each pass of the loop fills the next rank of all
    queries.
    """
    labels = queries.judgments.labels["subtopics"]
    documents, label_indices = find_relevant(queries, threshold)
    order = np.lexsort((labels.order[label_indices], documents.query_index))
    query, label_indices = documents.query_index[order], label_indices[order]
    document, codes = labels.find(label_indices)
    _, subtopic = np.unique(query[document] * labels.code_bound + codes, return_inverse=True)
    ends = np.searchsorted(document, np.arange(len(label_indices) + 1))
    next_gains = np.ones(len(subtopic) and subtopic.max() + 1)
    starts = documents.offsets[:-1][documents.lengths > 0]
    is_left = np.ones(len(label_indices), bool)
    total = np.zeros(len(documents.lengths))
    for weight in weights[: documents.lengths.max(initial=0)]:
        gains = np.bincount(document, next_gains[subtopic], minlength=len(label_indices)) * is_left
        highest = np.maximum.reduceat(gains, starts)
        is_best = gains >= repeat_each(highest, documents.lengths[documents.lengths > 0]) * (
            1 - MAX_RELATIVE_TIE
        )
        candidates = np.where(is_best & is_left, np.arange(len(label_indices)), len(label_indices))
        best = np.minimum.reduceat(candidates, starts)
        best = best[best < len(label_indices)]
        total[query[best]] += weight * gains[best]
        is_left[best] = False
        next_gains[subtopic[list_rows(ends, best)]] *= 1 - alpha
    return total


# Measures


def alpha_dcg(queries: Queries, n: int | None, alpha: float, threshold: float | None) -> Floats:
    """Return α-DCG: Σ_i gain_i / log2(i + 1) over its maximum.

    The maximum is the sum for a list in which every document has all subtopics.
    """
    return compute_over_maximum(queries, n, alpha, threshold, discount_by_log)


def err_ia(queries: Queries, n: int | None, alpha: float, threshold: float | None) -> Floats:
    """Return ERR-IA: Σ_i gain_i / i over its maximum, as for α-DCG."""
    return compute_over_maximum(queries, n, alpha, threshold, discount_by_rank)


def alpha_ndcg(queries: Queries, n: int | None, alpha: float, threshold: float | None) -> Floats:
    """Return α-NDCG: Σ_i gain_i / log2(i + 1) over the ideal ranking's sum."""
    return compute_over_ideal(queries, n, alpha, threshold, discount_by_log)


def nerr_ia(queries: Queries, n: int | None, alpha: float, threshold: float | None) -> Floats:
    """Return nERR-IA: Σ_i gain_i / i over the ideal ranking's sum."""
    return compute_over_ideal(queries, n, alpha, threshold, discount_by_rank)


def nrbp(
    queries: Queries, n: int | None, alpha: float, beta: float, threshold: float | None
) -> Floats:
    """Return NRBP: (1 - (1 - α) β) (Σ_i gain_i β^{i-1}) / N for N subtopics.

    (Clarke et al. 2009.)
    """
    subtopics = Subtopics.of(queries, n, threshold)
    gains = subtopics.compute_gains(alpha) * beta ** (subtopics.hits.rank - 1.0)
    return (1 - (1 - alpha) * beta) * divide_by_subtopics(
        subtopics.hits.sum(gains), subtopics.n_subtopics
    )


def nnrbp(
    queries: Queries, n: int | None, alpha: float, beta: float, threshold: float | None
) -> Floats:
    """Return NRBP over the NRBP of the ideal ranking."""
    n_weights = 1 + int(np.log(MIN_WEIGHT) / np.log(beta))
    return compute_over_ideal(
        queries,
        n,
        alpha,
        threshold,
        lambda n: beta ** np.arange(min(n, n_weights), dtype=np.float64),
    )


def compute_over_maximum(
    queries: Queries,
    n: int | None,
    alpha: float,
    threshold: float | None,
    discount: Callable[[int], Floats],
) -> Floats:
    """Return Σ_i w_i gain_i over its maximum.

    The maximum for N subtopics is N Σ_i (1 - α)^{i-1} w_i.
    """
    subtopics = Subtopics.of(queries, n, threshold)
    ranks = queries.ranked.lengths if n is None else np.full(len(subtopics.n_subtopics), n)
    weights = discount(int(ranks.max(initial=0)))
    repeated = (1 - alpha) ** np.arange(len(weights), dtype=np.float64)
    maximum = np.append(0, np.cumsum(repeated * weights))[ranks]
    gains = subtopics.hits.sum(subtopics.compute_gains(alpha) * weights[subtopics.hits.rank - 1])
    # The maximum is 0 only if nothing was retrieved. The gain is then 0 as well.
    return divide_by_subtopics(gains / np.where(maximum > 0, maximum, 1), subtopics.n_subtopics)


def compute_over_ideal(
    queries: Queries,
    n: int | None,
    alpha: float,
    threshold: float | None,
    discount: Callable[[int], Floats],
) -> Floats:
    """Return Σ_i w_i gain_i over the ideal ranking's sum."""
    subtopics = Subtopics.of(queries, n, threshold)
    deepest = queries.judgments.grades.lengths.max(initial=0)
    weights = discount(int(deepest) if n is None else min(n, int(deepest)))
    hits = subtopics.hits.keep(subtopics.hits.rank <= len(weights))
    gains = subtopics.compute_gains(alpha)[subtopics.hits.rank <= len(weights)]
    reached = hits.sum(gains * weights[hits.rank - 1])
    ideal = queries.judgments.compute_once(
        ("subtopics", alpha, threshold, weights.tobytes()),
        lambda: sum_ideal_gains(queries, weights, alpha, threshold),
    )
    # The greedy ideal ranking is not always the best one. A ranking that exceeds it counts as
    # ideal.
    return divide_by_ideal(reached, np.maximum(reached, ideal))


def subtopic_recall(queries: Queries, n: int | None, threshold: float | None) -> Floats:
    """Return the share of the subtopics that the first n documents cover (Zhai et al. 2003)."""
    subtopics = Subtopics.of(queries, n, threshold)
    is_new = (subtopics.n_before == 0).astype(np.float64)
    return divide_by_subtopics(
        subtopics.hits.sum(subtopics.sum_by_hit(is_new)), subtopics.n_subtopics
    )


def precision_ia(queries: Queries, n: int | None, threshold: float | None) -> Floats:
    """Return the precision of the first n documents, averaged over subtopics."""
    subtopics = Subtopics.of(queries, n, threshold)
    counts = subtopics.sum_by_hit(np.ones(len(subtopics.document)))
    ranks = np.maximum(queries.ranked.lengths, 1) if n is None else n
    return divide_by_subtopics(subtopics.hits.sum(counts) / ranks, subtopics.n_subtopics)


def ap_ia(queries: Queries, n: int | None, threshold: float | None) -> Floats:
    """Return average precision, averaged over subtopics."""
    subtopics = Subtopics.of(queries, n, threshold)
    n_relevant = subtopics.n_relevant[
        np.searchsorted(subtopics.relevant_subtopics, subtopics.subtopic)
    ]
    precisions = (subtopics.n_before + 1) / subtopics.hits.rank[subtopics.document]
    return divide_by_subtopics(
        subtopics.hits.sum(subtopics.sum_by_hit(precisions / n_relevant)), subtopics.n_subtopics
    )


def divide_by_subtopics(total: Floats, n_subtopics: Integers) -> Floats:
    """Divide totals by numbers of subtopics; 0 subtopics give NaN."""
    return total / np.where(n_subtopics > 0, n_subtopics, np.nan)
