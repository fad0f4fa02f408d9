"""Cumulated gain: plain, discounted and normalised."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import numpy as np

from polars_graded._measuring.kernels.errors import UnusableDataError
from polars_graded._measuring.kernels.gains import (
    DISCOUNTS,
    GAINS,
    MAX_EXP2_RELEVANCE,
    Discount,
    Gain,
    look_up_gains,
    look_up_highest_gains,
)
from polars_graded._measuring.kernels.queries import Queries, divide_by_ideal
from polars_graded._measuring.kernels.ragged import Documents, Floats, Integers, Ragged, repeat_each

EXP2_RULE = (
    f"`gain='exp2'` takes relevance up to {MAX_EXP2_RELEVANCE}, since sums of larger gains may "
    "overflow, got more\n\nHint: phi_relevance converts popularity and other scores to grades from "
    "0 to 1; gain='linear' takes grades as they are"
)
"""Error text for relevance that is too high for the gain "exp2". Linear gains are always finite."""

GainFunction: TypeAlias = Callable[[Queries, Ragged, Gain], Floats]
"""Function that returns the gains of documents: `compute_gains` or `compute_normalised_gains`."""


def compute_gains(queries: Queries, documents: Ragged, gain: Gain) -> Floats:
    """Return the gain of each document; 0 if the document is not relevant."""
    if isinstance(gain, str):
        result = GAINS[gain](queries.relevance(documents.values))
        rule = EXP2_RULE
        grades_without_gain = np.empty(0)
    else:
        is_relevant = queries.is_relevant(documents.values, None)
        result = np.where(is_relevant, look_up_gains(documents.values, gain), 0.0)
        rule = "`gain` must map each relevant grade to a gain, got none for"
        grades_without_gain = np.unique(documents.values[~np.isfinite(result)])
    is_finite = np.isfinite(result)
    if not is_finite.all():
        raise UnusableDataError(rule, documents.count(~is_finite) > 0, grades_without_gain.tolist())
    return result


def compute_normalised_gains(queries: Queries, documents: Ragged, gain: Gain) -> Floats:
    """Return the gains of NDCNG, by default 2^ngain - 1 with ngain = rel / rel(m_q).

    (Scheel et al. 2011, equation 5.) m_q is `max_grade`, or without it the highest judged grade of
    the query. rel is the grade minus the irrelevant grade. With `"linear"`, the gain is ngain
    itself. With a mapping of grades to gains, ngain is the gain of the grade divided by the gain of
    the top grade. The top grade is the highest grade of the mapping that is not above m_q.
    """
    if isinstance(gain, str):
        return GAINS[gain](queries.share_of_best(documents))
    of_queries = look_up_highest_gains(queries.judgments.best_grades, gain)
    highest = repeat_each(of_queries, documents.lengths)
    gains = compute_gains(queries, documents, gain)
    return GAINS["exp2"](np.where(gains > 0, gains / highest, 0.0))


# Measures. The numbers of equations are those of Scheel et al. (2011). With the gain function
# `compute_gains`, measures follow equation 3; with `compute_normalised_gains`, equation 5.


def dcg(
    queries: Queries,
    n: int | None,
    gain: Gain,
    discount: Discount,
    base: float,
    ties: str,
    gain_function: GainFunction = compute_gains,
) -> Floats:
    """Return DCG: Σ_i gain(i) · discount(i) over the top n (equation 3)."""
    gains = queries.compute_hit_gains(n, lambda hits: gain_function(queries, hits, gain), ties)
    discounted = apply_discount(gains, discount, base)
    return discounted.sum()


def ideal_dcg(
    queries: Queries,
    n: int | None,
    gain: Gain,
    discount: Discount,
    base: float,
    gain_function: GainFunction = compute_gains,
) -> Floats:
    """Return the DCG of judged documents in the best order.

    In equation 3, N_n is the reciprocal of this value.
    """
    gains = discount_ideal(queries, n, gain_function, gain, discount, base)
    return gains.sum()


def ndcg(
    queries: Queries,
    n: int | None,
    gain: Gain,
    discount: Discount,
    base: float,
    ties: str,
    gain_function: GainFunction = compute_gains,
) -> Floats:
    """Return NDCG: DCG divided by ideal DCG (equations 3 and 5)."""
    reached = dcg(queries, n, gain, discount, base, ties, gain_function)
    return divide_by_ideal(reached, ideal_dcg(queries, n, gain, discount, base, gain_function))


def dcg_curve(
    queries: Queries, n: int | None, gain: Gain, discount: Discount, base: float, ties: str
) -> Ragged:
    """Return DCG at each of the first `n` ranks.

    Without `n`, there are as many ranks as ranked documents.
    """
    gains = queries.compute_all_gains(n, partial(compute_gains, queries, gain=gain), ties)
    return sum_so_far(
        apply_discount(gains, discount, base), find_curve_lengths(queries.ranked.lengths, n)
    )


def ideal_dcg_curve(
    queries: Queries, n: int | None, gain: Gain, discount: Discount, base: float
) -> Ragged:
    """Return the ideal DCG at each of the first `n` ranks.

    Without `n`, there are as many ranks as judged documents.
    """
    gains = discount_ideal(queries, n, compute_gains, gain, discount, base)
    return sum_so_far(gains, find_curve_lengths(queries.judgments.n_judged, n))


def ndcg_curve(
    queries: Queries,
    n: int | None,
    gain: Gain,
    discount: Discount,
    base: float,
    ties: str,
    gain_function: GainFunction = compute_gains,
    lengths: Integers | None = None,
) -> Ragged:
    """Return NDCG at each rank of each query.

    `lengths` has the number of ranks of each query. Without `lengths`, each query has `n` ranks.
    Without `lengths` and `n`, a query has as many ranks as ranked documents.
    """
    if lengths is None:
        lengths = find_curve_lengths(queries.ranked.lengths, n)
    gains = queries.compute_all_gains(n, lambda ranked: gain_function(queries, ranked, gain), ties)
    reached = sum_so_far(apply_discount(gains, discount, base), lengths)
    best = sum_so_far(discount_ideal(queries, n, gain_function, gain, discount, base), lengths)
    return reached.with_values(divide_by_ideal(reached.values, best.values))


def ndcg_area(
    queries: Queries,
    n: int | None,
    gain: Gain,
    discount: Discount,
    base: float,
    ties: str,
    gain_function: GainFunction = compute_gains,
) -> Floats:
    """Return the area under the NDCG curve: the mean of NDCG over all ranks.

    A query without ranks gets 0. If `n` exceeds both the number of ranked documents and the number
    of judged documents, the curve keeps its last value up to rank `n`.
    """
    ranks = find_curve_lengths(queries.ranked.lengths, n)
    lengths = np.minimum(ranks, np.maximum(queries.ranked.lengths, queries.judgments.n_judged))
    # The curve is computed only up to the rank from which it is constant. Each later rank adds the
    # last value of the curve.
    curve = ndcg_curve(queries, n, gain, discount, base, ties, gain_function, lengths)
    total = curve.sum() + (ranks - lengths) * curve.last_values()
    return np.where(ranks > 0, total / ranks, 0.0)


# Parts of the measures.


def sum_so_far(gains: Ragged, lengths: Integers) -> Ragged:
    """Return the running sum at each rank; query i has `lengths[i]` ranks."""
    return gains.with_values(gains.accumulate(np.add, gains.values)).extend(lengths)


def find_curve_lengths(lengths: Integers, n: int | None) -> Integers:
    """Return the number of ranks at which each curve has a value."""
    return lengths if n is None else np.full_like(lengths, n)


def discount_ideal(
    queries: Queries,
    n: int | None,
    gain_function: GainFunction,
    gain: Gain,
    discount: Discount,
    base: float,
) -> Documents:
    """Return discounted gains of the `n` best documents in ideal order."""
    best = queries.judgments.ideal(n)
    return apply_discount(best.with_values(gain_function(queries, best, gain)), discount, base)


def apply_discount(gains: Documents, discount: Discount, base: float) -> Documents:
    """Return the gain of each document times the discount of its rank."""
    at_rank = DISCOUNTS[discount](np.arange(1, gains.rank.max(initial=0) + 1), base)
    return gains.with_values(gains.values * at_rank[gains.rank - 1])
