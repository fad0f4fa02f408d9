"""Every measure as its paper's loop, in plain Python: slow, obvious, what tests compare with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations, groupby, permutations, product
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

from scipy.special import zeta

Grade: TypeAlias = "float | None"


class Lists(NamedTuple):
    """A query."""

    ranked: Sequence[Grade]
    """The grades of what was retrieved in rank order, None for an unjudged document."""
    judged: Sequence[float]
    """Every judged grade, retrieved or not, in any order."""
    tied: Sequence[int] = ()
    """For each ranked document a number that it shares with those tied with it."""
    ranked_rows: Sequence[Row] = ()
    """The documents of `ranked`, with their further columns."""
    judged_rows: Sequence[Row] = ()
    """The documents of `judged`, with their further columns."""


class Scale(NamedTuple):
    """What grades mean, and what a query without a relevant document gets."""

    irrelevant: float = 0
    max_grade: float | None = None
    relevant_from: float | None = None
    undefined: float | None = 0
    undefined_is_passed: bool = False


PLAIN = Scale()


def fractions(numbers):
    """The numbers as exact fractions of their decimals; fractions and None stay."""
    return [
        each if each is None or isinstance(each, Fraction) else Fraction(str(each))
        for each in numbers
    ]


# From rows to lists.


class Row(NamedTuple):
    """A row of a frame: what it is ranked by, the first key None if it was not retrieved."""

    keys: Sequence[Any]
    grade: Grade
    known: bool | None = None
    subtopics: Sequence[str] | None = None
    popularity: float | None = None
    features: Sequence[Any] | None = None
    reference: float | None = None


def lists(rows, descending, *, condensed=False):
    """A query as lists; `descending` has a flag a key, `condensed` leaves out the unjudged."""
    order = [row for row in rows if row.grade is not None] if condensed else list(rows)
    # Python's sort keeps the order of equals, so the first key, which decides, is sorted by last.
    for place in reversed(range(len(descending))):
        given = [row for row in order if row.keys[place] is not None]
        missing = [row for row in order if row.keys[place] is None]
        given.sort(key=lambda row: row.keys[place], reverse=descending[place])
        order = given + missing
    ranked = [row for row in order if row.keys[0] is not None]
    judged = [row for row in rows if row.grade is not None]
    keys = [tuple(row.keys[: len(descending)]) for row in ranked]
    return Lists(
        ranked=[row.grade for row in ranked],
        judged=[row.grade for row in judged],
        tied=[keys.index(key) for key in keys],
        ranked_rows=ranked,
        judged_rows=judged,
    )


# What a grade is worth, and what a rank.


def relevance(grade, scale):
    """How far a grade is above irrelevant; 0 for a document that is not relevant or unjudged."""
    return height(grade, scale) if relevant(grade, None, scale) else 0


def height(grade, scale):
    """How far a level is above irrelevant; 0 below it."""
    return max(grade - scale.irrelevant, 0)


def relevant(grade, threshold, scale):
    """Whether a grade reaches the threshold; without one, whether it is above irrelevant."""
    return (
        grade is not None
        and grade > scale.irrelevant
        and (threshold is None or grade >= threshold)
        and (scale.relevant_from is None or grade >= scale.relevant_from)
    )


def best_relevance(query, scale):
    """The relevance of the highest grade: of the scale if it has one, else of the query."""
    return height(max(query.judged) if scale.max_grade is None else scale.max_grade, scale)


def gain_of(grade, gain, scale):
    """What a document of a grade is worth."""
    if not relevant(grade, None, scale):
        return 0
    if isinstance(gain, Mapping):
        return gain[grade]
    return relevance(grade, scale) if gain == "linear" else 2 ** relevance(grade, scale) - 1


def discount_of(rank, discount, base):
    """What a gain at a rank is multiplied by."""
    if discount == "log2":
        return 1 / math.log(rank + 1, base)
    if discount == "jarvelin":
        return 1 if rank < base else 1 / math.log(rank, base)
    return 1 / rank if discount == "zipf" else 1


def best_first(query):
    """What was judged, from the highest grade to the lowest."""
    return sorted(query.judged, reverse=True)


# Ties: the expected value over all orders of the tied documents.


def orders(query):
    """The query in every order that its ties leave open."""
    places = zip(query.tied, query.ranked, strict=True)
    sets = [[grade for _, grade in tied] for _, tied in groupby(places, key=itemgetter(0))]
    for arranged in product(*map(permutations, sets)):
        yield query._replace(ranked=[grade for tied in arranged for grade in tied])


def expected(measure, query):
    """The mean of a measure over all orders."""
    found = [measure(order) for order in orders(query)]
    if found[0] is None:
        return None
    if isinstance(found[0], list):
        return [sum(at_rank) / len(found) for at_rank in zip(*found, strict=True)]
    return sum(found) / len(found)


def broken(query, ties):
    """The query with the worst of tied documents first, or with `ties="optimistic"` the best."""
    sign = 1 if ties == "pessimistic" else -1
    places = list(zip(query.tied, query.ranked, strict=True))
    places.sort(key=lambda place: (place[0], sign * (-math.inf if place[1] is None else place[1])))
    ranked = [grade for _, grade in places]
    return query._replace(ranked=ranked, tied=list(range(len(ranked))))


def shared(worth, query, ties):
    """What each ranked document is worth: with `ties="average"` the mean of those it is tied with.

    Where a measure adds up what documents are worth, that is its expected value.
    """
    if ties == "order":
        return list(worth)
    means = []
    for own in query.tied:
        tied = [w for w, other in zip(worth, query.tied, strict=True) if other == own]
        means.append(sum(tied) / len(tied))
    return means


def first_hits(query, threshold, ties, scale):
    """The rank of the first hit in each of the equally likely orders; empty without a hit."""
    hits = [rank for rank, g in enumerate(query.ranked, 1) if relevant(g, threshold, scale)]
    if ties == "order" or not hits:
        return hits[:1]
    first = query.tied[hits[0] - 1]
    places = [rank for rank, number in enumerate(query.tied, 1) if number == first]
    # The hits among these documents may stand at any so many of their places.
    return [min(chosen) for chosen in combinations(places, len({*hits} & {*places}))]


# Counts.


def n_retrieved(query, *, scale=PLAIN):
    """How many documents were retrieved."""
    return len(query.ranked)


def n_relevant(query, *, threshold=None, scale=PLAIN):
    """R, how many documents were judged relevant."""
    return sum(relevant(grade, threshold, scale) for grade in query.judged)


def n_relevant_retrieved(query, n=None, *, threshold=None, scale=PLAIN):
    """How many relevant documents are in the top n."""
    return sum(relevant(grade, threshold, scale) for grade in query.ranked[:n])


def popularity(query, n=None, *, popularity, scale=PLAIN):
    """The mean popularity of the first n documents."""
    first = [row.popularity for row in query.ranked_rows[:n]]
    return sum(first) / len(first) if first else None


def novelty(query, n=None, *, popularity, scale=PLAIN):
    """The mean self-information of the first n documents."""
    first = [-math.log2(row.popularity) for row in query.ranked_rows[:n]]
    return sum(first) / len(first) if first else None


def distance(one, other):
    """Jaccard's distance of categories, or the cosine distance of vectors."""
    if isinstance(one[0], str):
        return 1 - len({*one} & {*other}) / len({*one} | {*other})
    dot = sum(a * b for a, b in zip(one, other, strict=True))
    return 1 - dot / math.hypot(*one) / math.hypot(*other)


def diversity(query, n=None, *, features, scale=PLAIN):
    """The mean distance of the pairs of the first n documents."""
    pairs = list(combinations([row.features for row in query.ranked_rows[:n]], 2))
    return sum(distance(*pair) for pair in pairs) / len(pairs) if pairs else None


def is_unexpected(row, n):
    """Whether the reference does not have a document among its first n."""
    return row.reference is None or (n is not None and row.reference > n)


def unexpectedness(query, n=None, *, reference, scale=PLAIN):
    """The share of the first n documents that the reference does not have."""
    first = [is_unexpected(row, n) for row in query.ranked_rows[:n]]
    return sum(first) / len(first) if first else None


def serendipity(query, n=None, *, reference, threshold=None, scale=PLAIN):
    """The relevant documents among the first n that the reference does not have, over n."""
    if not any(relevant(row.grade, threshold, scale) for row in query.judged_rows):
        return scale.undefined
    first = query.ranked_rows[:n]
    hits = [row for row in first if relevant(row.grade, threshold, scale) and is_unexpected(row, n)]
    return len(hits) / (n or len(first) or 1)


def judged(query, n=None, *, ties="order", scale=PLAIN):
    """The share of judged documents in the top n."""
    top = shared([grade is not None for grade in query.ranked], query, ties)[:n]
    return sum(top) / len(top) if top else 0


# Precision and recall.


def precision(query, n=None, *, threshold=None, ties="order", scale=PLAIN):
    """Hits in the top n over n, or over all that was retrieved."""
    if n_relevant(query, threshold=threshold, scale=scale) == 0:
        return scale.undefined
    hits = shared([relevant(grade, threshold, scale) for grade in query.ranked], query, ties)
    divisor = len(query.ranked) if n is None else n
    return sum(hits[:n]) / divisor if divisor else 0


def recall(query, n=None, *, threshold=None, over="relevant", ties="order", scale=PLAIN):
    """Hits in the top n over R, or over min(n, R)."""
    total = n_relevant(query, threshold=threshold, scale=scale)
    if total == 0:
        return scale.undefined
    hits = shared([relevant(grade, threshold, scale) for grade in query.ranked], query, ties)
    return sum(hits[:n]) / (min(n, total) if over == "cutoff" and n is not None else total)


def f_measure(query, n=None, *, beta=1, threshold=None, ties="order", scale=PLAIN):
    """(1 + β²) P R / (β² P + R)."""
    if n_relevant(query, threshold=threshold, scale=scale) == 0:
        return scale.undefined
    p = precision(query, n, threshold=threshold, ties=ties, scale=scale)
    r = recall(query, n, threshold=threshold, ties=ties, scale=scale)
    return (1 + beta**2) * p * r / (beta**2 * p + r) if p and r else 0


def e_measure(query, n=None, *, b=1, threshold=None, ties="order", scale=PLAIN):
    """1 - (1 + b²) / (b² / R + 1 / P)."""
    if n_relevant(query, threshold=threshold, scale=scale) == 0:
        return None if scale.undefined is None else 1 - scale.undefined
    p = precision(query, n, threshold=threshold, ties=ties, scale=scale)
    r = recall(query, n, threshold=threshold, ties=ties, scale=scale)
    return 1 - (1 + b**2) / (b**2 / r + 1 / p) if p and r else 1


def max_f_measure(query, n=None, **options):
    """The highest F at ranks 1 to n of the list."""
    ranks = range(1, len(query.ranked[:n]) + 1)
    if f_measure(query, 1, **options) is None:
        return None
    return max((f_measure(query, k, **options) for k in ranks), default=f_measure(query, **options))


def precision_at_hit(query, *, k=1, threshold=None, scale=PLAIN):
    """Precision at the rank of the k-th hit."""
    if n_relevant(query, threshold=threshold, scale=scale) == 0:
        return scale.undefined
    hits = [rank for rank, g in enumerate(query.ranked, 1) if relevant(g, threshold, scale)]
    if len(hits) < k:
        return 0
    return precision(query, hits[k - 1], threshold=threshold, scale=scale)


def r_precision(query, *, threshold=None, ties="order", scale=PLAIN):
    """Precision at R."""
    total = n_relevant(query, threshold=threshold, scale=scale)
    if total == 0:
        return scale.undefined
    return precision(query, total, threshold=threshold, ties=ties, scale=scale)


def reciprocal_rank(query, n=None, *, threshold=None, ties="order", scale=PLAIN):
    """One over the rank of the first hit, 0 if that is below n."""
    if n_relevant(query, threshold=threshold, scale=scale) == 0:
        return scale.undefined
    ranks = first_hits(query, threshold, ties, scale)
    found = [1 / rank if n is None or rank <= n else 0 for rank in ranks]
    return sum(found) / len(found) if found else 0


def success(query, n=None, *, threshold=None, ties="order", scale=PLAIN):
    """1 with a hit in the top n, else 0."""
    if n_relevant(query, threshold=threshold, scale=scale) == 0:
        return scale.undefined
    ranks = first_hits(query, threshold, ties, scale)
    found = [n is None or rank <= n for rank in ranks]
    return sum(found) / len(found) if found else 0


def bpref(query, *, threshold=None, scale=PLAIN):
    """(1/R) Σ over hits of 1 - min(judged others above, R) / min(R, judged others)."""
    total = n_relevant(query, threshold=threshold, scale=scale)
    if total == 0:
        return scale.undefined
    others = len(query.judged) - total
    preferences = above = 0
    for grade in query.ranked:
        if relevant(grade, threshold, scale):
            preferences += 1 - min(above, total) / min(total, others) if above else 1
        elif grade is not None:
            above += 1
    return preferences / total


def roc_auc(query, *, threshold=None, ties="average", scale=PLAIN):
    """The share of pairs of a relevant and another judged document in the right order."""
    where = query.tied if ties == "average" else range(len(query.ranked))
    found = [(g, place) for g, place in zip(query.ranked, where, strict=True) if g is not None]
    missed = list(query.judged)
    for grade, _ in found:
        missed.remove(grade)
    # What was not retrieved is tied below all that was.
    places = [*found, *((grade, math.inf) for grade in missed)]
    hits = [place for grade, place in places if relevant(grade, threshold, scale)]
    others = [place for grade, place in places if not relevant(grade, threshold, scale)]
    if not hits or not others:
        return scale.undefined if scale.undefined_is_passed else None
    right = sum(1 if hit < other else 1 / 2 for hit in hits for other in others if hit <= other)
    return right / (len(hits) * len(others))


def generalized_precision(query, n=None, *, ties="order", scale=PLAIN):
    """The mean of the grades over the highest in the top n."""
    if n_relevant(query, scale=scale) == 0:
        return scale.undefined
    best = best_relevance(query, scale)
    found = sum(shared([relevance(g, scale) / best for g in query.ranked], query, ties)[:n])
    divisor = len(query.ranked) if n is None else n
    return found / divisor if divisor else 0


def generalized_recall(query, n=None, *, ties="order", scale=PLAIN):
    """Grades in the top n over all that were judged."""
    if n_relevant(query, scale=scale) == 0:
        return scale.undefined
    found = sum(shared([relevance(grade, scale) for grade in query.ranked], query, ties)[:n])
    return found / sum(relevance(grade, scale) for grade in query.judged)


def interpolated_precision(query, *, recall_levels=11, threshold=None, scale=PLAIN):
    """P(r) = max of the precision at ranks where recall is at least r."""
    if isinstance(recall_levels, int):
        recall_levels = [level / (recall_levels - 1) for level in range(recall_levels)]
    if n_relevant(query, threshold=threshold, scale=scale) == 0:
        return [scale.undefined] * len(recall_levels)
    pairs = [
        (
            recall(query, rank, threshold=threshold, scale=scale),
            precision(query, rank, threshold=threshold, scale=scale),
        )
        for rank in range(1, len(query.ranked) + 1)
    ]
    return [max((p for r, p in pairs if r >= level), default=0) for level in recall_levels]


# What the user knew: U are the relevant documents among it, R_k those of them retrieved, R_u the
# others retrieved, A all that was retrieved.


def known_grades(rows):
    """The grades of the documents that the user knew."""
    return [row.grade for row in rows if row.known]


def coverage_ratio(query, *, known, threshold=None, scale=PLAIN):
    """|R_k| / |U|."""
    u = sum(relevant(grade, threshold, scale) for grade in known_grades(query.judged_rows))
    r_k = sum(relevant(grade, threshold, scale) for grade in known_grades(query.ranked_rows))
    return r_k / u if u else scale.undefined


def novelty_ratio(query, *, known, threshold=None, scale=PLAIN):
    """|R_u| / (|R_u| + |R_k|)."""
    if n_relevant(query, threshold=threshold, scale=scale) == 0:
        return scale.undefined
    r_k = sum(relevant(grade, threshold, scale) for grade in known_grades(query.ranked_rows))
    r_u = sum(relevant(grade, threshold, scale) for grade in query.ranked) - r_k
    return r_u / (r_u + r_k) if r_u + r_k else 0


def relative_recall(query, *, known, threshold=None, scale=PLAIN):
    """(|R_k| + |R_u|) / |U|."""
    u = sum(relevant(grade, threshold, scale) for grade in known_grades(query.judged_rows))
    found = sum(relevant(grade, threshold, scale) for grade in query.ranked)
    return found / u if u else scale.undefined


def recall_effort(query, *, known, threshold=None, scale=PLAIN):
    """|U| / |A|."""
    if n_relevant(query, threshold=threshold, scale=scale) == 0 or not query.ranked:
        return scale.undefined
    u = sum(relevant(grade, threshold, scale) for grade in known_grades(query.judged_rows))
    return u / len(query.ranked)


# Subtopics: a document has those of its row if it is relevant.


def subtopics_of(row, threshold, scale):
    """The subtopics for which a document counts."""
    return set(row.subtopics or ()) if relevant(row.grade, threshold, scale) else set()


def new_gains(documents, alpha):
    """What each document adds: 1 for each subtopic, less for each document above that has it."""
    return [
        sum((1 - alpha) ** sum(s in above for above in documents[:place]) for s in subtopics)
        for place, subtopics in enumerate(documents)
    ]


def greedy(documents, alpha):
    """The ideal ranking: the document with the highest gain at each rank, or by its labels."""
    left, order = sorted(documents, key=lambda each: "\n".join(sorted(each))), []
    while left:
        gains = [new_gains([*order, each], alpha)[-1] for each in left]
        # The first of those that are equal but for rounding.
        best = next(i for i, gain in enumerate(gains) if gain >= max(gains) * (1 - 1e-12))
        order.append(left.pop(best))
    return order


def of_subtopics(query, threshold, scale, value):
    """A value of the ranked documents, the relevant ones and the subtopics; none without any."""
    ranked = [subtopics_of(row, threshold, scale) for row in query.ranked_rows]
    wanted = [subtopics_of(row, threshold, scale) for row in query.judged_rows]
    every = set().union(*wanted)
    if n_relevant(query, threshold=threshold, scale=scale) == 0 or not every:
        return scale.undefined
    return value(ranked, [each for each in wanted if each], every)


def sum_of_first(gains, n, discount):
    """The sum of the first n gains, each with the discount of its rank."""
    return sum(gain * discount(rank) for rank, gain in enumerate(gains[:n], 1))


def by_log(rank):
    """The discount of DCG."""
    return 1 / math.log2(rank + 1)


def over_all_at_all_ranks(query, n, alpha, threshold, scale, discount):
    """The discounted gain over that of documents with all subtopics at all ranks."""

    def value(ranked: list[set[str]], _: list[set[str]], every: set[str]) -> float:
        best = sum_of_first(new_gains([every] * (n or len(ranked)), alpha), n, discount)
        return sum_of_first(new_gains(ranked, alpha), n, discount) / best if best else 0

    return of_subtopics(query, threshold, scale, value)


def over_greedy(query, n, alpha, threshold, scale, discount):
    """The discounted gain over that of the greedy ideal ranking."""

    def value(ranked: list[set[str]], wanted: list[set[str]], _: set[str]) -> float:
        best = sum_of_first(new_gains(greedy(wanted, alpha), alpha), n, discount)
        # A ranking that exceeds the greedy one is ideal.
        return min(1.0, sum_of_first(new_gains(ranked, alpha), n, discount) / best)

    return of_subtopics(query, threshold, scale, value)


def alpha_dcg(query, n=None, *, subtopics, alpha=0.5, threshold=None, scale=PLAIN):
    """By the discount of DCG."""
    return over_all_at_all_ranks(query, n, alpha, threshold, scale, by_log)


def err_ia(query, n=None, *, subtopics, alpha=0.5, threshold=None, scale=PLAIN):
    """By the discount of ERR."""
    return over_all_at_all_ranks(query, n, alpha, threshold, scale, lambda rank: 1 / rank)


def alpha_ndcg(query, n=None, *, subtopics, alpha=0.5, threshold=None, scale=PLAIN):
    """By the discount of DCG."""
    return over_greedy(query, n, alpha, threshold, scale, by_log)


def nerr_ia(query, n=None, *, subtopics, alpha=0.5, threshold=None, scale=PLAIN):
    """By the discount of ERR."""
    return over_greedy(query, n, alpha, threshold, scale, lambda rank: 1 / rank)


def nrbp(query, n=None, *, subtopics, alpha=0.5, beta=0.5, threshold=None, scale=PLAIN):
    """(1 - (1 - α) β) / N Σ gain β^{i - 1}."""

    def value(ranked: list[set[str]], _: list[set[str]], every: set[str]) -> float:
        gain = sum_of_first(new_gains(ranked, alpha), n, lambda rank: beta ** (rank - 1))
        return (1 - (1 - alpha) * beta) / len(every) * gain

    return of_subtopics(query, threshold, scale, value)


def nnrbp(query, n=None, *, subtopics, alpha=0.5, beta=0.5, threshold=None, scale=PLAIN):
    """By the discount of RBP."""
    return over_greedy(query, n, alpha, threshold, scale, lambda rank: beta ** (rank - 1))


def subtopic_recall(query, n=None, *, subtopics, threshold=None, scale=PLAIN):
    """The share of the subtopics that are covered."""
    return of_subtopics(
        query, threshold, scale, lambda ranked, _, every: len(set().union(*ranked[:n])) / len(every)
    )


def precision_ia(query, n=None, *, subtopics, threshold=None, scale=PLAIN):
    """The mean precision of the subtopics."""

    def value(ranked: list[set[str]], _: list[set[str]], every: set[str]) -> float:
        ranks = n or len(ranked)
        return sum(sum(s in each for each in ranked[:n]) / ranks for s in every if ranks) / len(
            every
        )

    return of_subtopics(query, threshold, scale, value)


def ap_ia(query, n=None, *, subtopics, threshold=None, scale=PLAIN):
    """The mean AP of the subtopics."""

    def value(ranked: list[set[str]], wanted: list[set[str]], every: set[str]) -> float:
        total = 0.0
        for s in every:
            hits = [rank for rank, each in enumerate(ranked[:n], 1) if s in each]
            precisions = [number / rank for number, rank in enumerate(hits, 1)]
            total += sum(precisions) / sum(s in each for each in wanted)
        return total / len(every)

    return of_subtopics(query, threshold, scale, value)


# A user who goes on from rank i with probability C_i looks at rank i with probability W_i.


def mean_gain(query, n, scale, goes_on, rest=lambda *_: 0.0):
    """The mean gain of what is looked at down to rank n, with nothing beyond the list.

    Without a cutoff `rest` is how much is looked at beyond, over the weight of the next rank.
    """
    if n_relevant(query, scale=scale) == 0:
        return scale.undefined
    best = best_relevance(query, scale)
    gains = [relevance(grade, scale) / best for grade in query.ranked[:n]]
    weight, so_far, total, reached = 1, 0, 0, 0  # whole, so that fractions stay exact
    for rank in range(1, (len(gains) if n is None else n) + 1):
        gain = gains[rank - 1] if rank <= len(gains) else 0
        so_far += gain
        reached += weight * gain
        total += weight
        weight *= goes_on(rank, gain, so_far)
    total += weight * rest(len(gains), so_far) if n is None else 0.0
    return reached / total if total else 0.0


def inverse_squares(first):
    """Σ 1 / (first + j)² over all j from 0, times first²: Hurwitz' zeta function."""
    return first**2 * float(zeta(2, first))


def insq(query, n=None, *, target=1.0, ties="order", scale=PLAIN):
    """Moffat, Scholer and Thomas (2012)."""
    two = 2 * target
    return mean_gain(
        query,
        n,
        scale,
        lambda i, _g, _s: ((i + two - 1) / (i + two)) ** 2,
        lambda length, _: inverse_squares(length + two),
    )


def inst(query, n=None, *, target=1.0, ties="order", scale=PLAIN):
    """Bailey and others (2015)."""

    def goes_on(i: int, _: float, so_far: float) -> float:
        wanted = target + (target - so_far)
        return ((i + wanted - 1) / (i + wanted)) ** 2

    return mean_gain(
        query,
        n,
        scale,
        goes_on,
        lambda length, so_far: inverse_squares(length + 2 * target - so_far),
    )


def bpm(query, n=None, *, target=1.0, ties="order", scale=PLAIN):
    """Zhang and others (2017), static, in fractions: a rounded total may miss its target."""
    exact = query._replace(ranked=fractions(query.ranked), judged=fractions(query.judged))
    ends = fractions([scale.irrelevant, scale.max_grade, scale.relevant_from])
    scale = scale._replace(irrelevant=ends[0], max_grade=ends[1], relevant_from=ends[2])
    (wanted,) = fractions([target])
    value = mean_gain(exact, n, scale, lambda _i, _g, so_far: int(so_far < wanted))
    return None if value is None else float(value)


def nerr8(query, n=None, *, ties="order", scale=PLAIN):
    """Azzopardi, Mackenzie and Moffat (2021), equation 8."""
    return mean_gain(query, n, scale, lambda _i, g, _s: 1 - g)


def nerr9(query, n=None, *, ties="order", scale=PLAIN):
    """Equation 9."""
    return mean_gain(query, n, scale, lambda i, g, _s: i / (i + 1) * (1 - g))


def nerr10(query, n=None, *, p=0.9, ties="order", scale=PLAIN):
    """Equation 10."""
    return mean_gain(query, n, scale, lambda _i, g, _s: p * (1 - g), lambda *_: 1 / (1 - p))


def nerr11(query, n=None, *, target=1.0, ties="order", scale=PLAIN):
    """Equation 11."""
    two = 2 * target
    return mean_gain(
        query,
        n,
        scale,
        lambda i, g, _s: ((i + two - 1) / (i + two)) ** 2 * (1 - g),
        lambda length, _: inverse_squares(length + two),
    )


def sdcg(query, n=None, *, ties="order", scale=PLAIN):
    """DCG of shares of the highest grade over that of n documents of the highest grade."""
    if n_relevant(query, scale=scale) == 0:
        return scale.undefined
    best = best_relevance(query, scale)
    gains = shared([relevance(grade, scale) / best for grade in query.ranked], query, ties)
    ideal = sum_of_first([1.0] * (len(gains) if n is None else n), n, by_log)
    return sum_of_first(gains, n, by_log) / ideal if ideal else 0.0


def compat(query, *, p=0.95, normalised=True, ties="order", scale=PLAIN):
    """The overlap of the first i documents with those of the ideal order, for each i."""
    grades = [relevance(grade, scale) for grade in query.ranked]
    lost = list(map(itemgetter(0), _without(query, scale)))
    documents = sorted(range(len(grades) + len(lost)), key=lambda i: -[*grades, *lost][i])
    ideal = [i for i in documents if [*grades, *lost][i] > 0]
    if not ideal:
        return scale.undefined
    ranking, depth = range(len(grades)), max(len(grades), len(ideal))

    def overlap(one: Sequence[int], other: Sequence[int]) -> float:
        return sum(p ** (i - 1) * len({*one[:i]} & {*other[:i]}) / i for i in range(1, depth + 1))

    whole = overlap(ideal, ideal) if normalised else sum(p**i for i in range(depth))
    return overlap(ranking, ideal) / whole


def _without(query, scale):
    """The relevance of what was judged and not retrieved."""
    left = [relevance(grade, scale) for grade in query.judged]
    for grade in query.ranked:
        if grade is not None:
            left.remove(relevance(grade, scale))
    return [(each,) for each in left]


def pairwise_accuracy(query, n=None, *, threshold=None, ties="order", scale=PLAIN):
    """The share of pairs of a hit and another document with the hit above."""
    hits = [relevant(grade, threshold, scale) for grade in query.ranked[:n]]
    pairs = [(i, j) for i, j in product(range(len(hits)), repeat=2) if hits[i] and not hits[j]]
    if not pairs or n_relevant(query, threshold=threshold, scale=scale) == 0:
        return scale.undefined if scale.undefined_is_passed else None
    return sum(i < j for i, j in pairs) / len(pairs)


def infap(query, n=None, *, threshold=None, ties="order", scale=PLAIN):
    """The mean of the expected precisions at hits, as trec_eval computes them."""
    total = n_relevant(query, threshold=threshold, scale=scale)
    if total == 0:
        return scale.undefined
    value = pooled = hits = others = 0.0
    for rank, grade in enumerate(query.ranked[:n], 1):
        if relevant(grade, threshold, scale):
            share = (hits + 0.00001) / (hits + others + 0.00002)
            value += 1 / rank + pooled / rank * share
            hits += 1
        elif grade is not None and grade >= scale.irrelevant:
            others += 1
        pooled += grade is not None
    return value / total


# Average precision.


def ap(query, n=None, *, threshold=None, over="relevant", ties="order", scale=PLAIN):
    """Equations 1 and 2: Σ_p P@p · rel(p) / R."""
    total = n_relevant(query, threshold=threshold, scale=scale)
    if total == 0:
        return scale.undefined
    if ties == "average":
        precisions = expected_precisions(query, n, threshold, scale)
        return precisions / (min(n, total) if over == "cutoff" and n is not None else total)
    hits = precisions = 0
    for p, grade in enumerate(query.ranked[:n], 1):
        if relevant(grade, threshold, scale):
            hits += 1
            precisions += hits / p
    if over == "retrieved":
        return precisions / hits if hits else 0
    if over == "cutoff" and n is not None:
        return precisions / min(n, total)
    return precisions / total


def expected_precisions(query, n, threshold, scale):
    """Σ_p P@p · rel(p) over the top n, set by set of tied documents: its mean over their orders."""
    total = above = 0.0
    start = 0
    for _, tied in groupby(zip(query.tied, query.ranked, strict=True), key=itemgetter(0)):
        hits = [relevant(grade, threshold, scale) for _, grade in tied]
        # The hits among them may stand at any so many of their places.
        chances = list(combinations(range(start + 1, start + len(hits) + 1), sum(hits)))
        for ranks in chances:
            for number, rank in enumerate(ranks, 1):
                if n is None or rank <= n:
                    total += (above + number) / rank / len(chances)
        above, start = above + sum(hits), start + len(hits)
    return total


def mu_ap(query, n=None, *, levels=None, scale=PLAIN):
    """Equation 4: Σ_t AP_t · d_t / Σ_t d_t over the levels t."""
    if n_relevant(query, scale=scale) == 0:
        return scale.undefined
    used = levels
    if levels is None:
        used = sorted({grade for grade in query.judged if relevant(grade, None, scale)})
    above_irrelevant = Lists(
        [relevance(grade, scale) for grade in query.ranked],
        [relevance(grade, scale) for grade in query.judged],
    )
    weighted = distances = before = 0
    for t in (height(level, scale) for level in used):
        distance, before = t - before, t
        weighted += distance * ap(above_irrelevant, n, threshold=t)
        distances += distance
    return weighted / distances if distances else scale.undefined


def gap(query, n=None, *, levels=None, scale=PLAIN):
    """Σ_p (1/p) Σ_{j ≤ p} min(V_j, V_p) / Σ V, with V(g) the chance that grade g is enough."""

    def chance(grade: Grade) -> float:
        if levels is None:
            return relevance(grade, scale)
        return sum(relevance(grade, scale) >= height(t, scale) > 0 for t in levels)

    total = sum(chance(grade) for grade in query.judged)
    if n_relevant(query, scale=scale) == 0 or total == 0:
        return scale.undefined
    v = [chance(grade) for grade in query.ranked[:n]]
    return sum(sum(min(v[j], v[p]) for j in range(p + 1)) / (p + 1) for p in range(len(v))) / total


# Cumulated gain.


def discounted(gains, n, discount="none", base=2):
    """Σ_i gain(i) · discount(i) over the top n."""
    return sum(gain * discount_of(rank, discount, base) for rank, gain in enumerate(gains[:n], 1))


def cg(query, n=None, *, gain="exp2", ties="order", scale=PLAIN):
    """Σ_i gain(i) over the top n."""
    return dcg(query, n, gain=gain, discount="none", ties=ties, scale=scale)


def dcg(query, n=None, *, gain="exp2", discount="log2", base=2, ties="order", scale=PLAIN):
    """Equation 3 without N: Σ_i gain(i) · discount(i) over the top n."""
    if n_relevant(query, scale=scale) == 0:
        return scale.undefined
    gains = shared([gain_of(grade, gain, scale) for grade in query.ranked], query, ties)
    return discounted(gains, n, discount, base)


def ideal_dcg(query, n=None, *, gain="exp2", discount="log2", base=2, scale=PLAIN):
    """The DCG of the judged documents from the best to the worst."""
    best = query._replace(ranked=best_first(query))
    return dcg(best, n, gain=gain, discount=discount, base=base, scale=scale)


def ndcg(query, n=None, *, gain="exp2", discount="log2", base=2, ties="order", scale=PLAIN):
    """Equation 3: DCG over the ideal DCG."""
    found = shared([gain_of(grade, gain, scale) for grade in query.ranked], query, ties)
    best = [gain_of(grade, gain, scale) for grade in best_first(query)]
    ideal = discounted(best, n, discount, base)
    return discounted(found, n, discount, base) / ideal if ideal else scale.undefined


def ncg(query, n=None, **options):
    """CG over the ideal CG."""
    return ndcg(query, n, discount="none", **options)


def ideal_cg(query, n=None, **options):
    """The CG of the judged documents from the best to the worst."""
    return ideal_dcg(query, n, discount="none", **options)


def ndcng(query, n=None, *, gain="exp2", discount="log2", base=2, ties="order", scale=PLAIN):
    """Equation 5: NDCG of gains over m_q, the highest that can be reached."""
    if n_relevant(query, scale=scale) == 0:
        return scale.undefined
    m_q = best_relevance(query, scale)
    if isinstance(gain, Mapping):
        best = max(query.judged) if scale.max_grade is None else scale.max_grade
        m_q = max((worth for grade, worth in gain.items() if grade <= best), default=0)

    def ngain(grade: Grade) -> float:
        worth = gain_of(grade, gain if isinstance(gain, Mapping) else "linear", scale)
        return worth / m_q if m_q > 0 else 0

    def normalised(grade: Grade) -> float:
        return ngain(grade) if gain == "linear" else 2 ** ngain(grade) - 1

    found = shared([normalised(grade) for grade in query.ranked], query, ties)
    ideal = discounted([normalised(grade) for grade in best_first(query)], n, discount, base)
    return discounted(found, n, discount, base) / ideal if ideal else scale.undefined


def ndcg_area(query, n=None, **options):
    """The mean of the NDCG curve."""
    return mean_of(ndcg_curve(query, n, **options), query, **options)


def ndcng_area(query, n=None, **options):
    """The mean of the NDCNG curve."""
    return mean_of(ndcng_curve(query, n, **options), query, **options)


def mean_of(values, query, *, scale=PLAIN, **_):
    """The mean of a curve, 0 for an empty one."""
    if n_relevant(query, scale=scale) == 0:
        return scale.undefined
    return sum(values) / len(values) if values else 0


# Models of the user.


def err(query, n=None, *, scale=PLAIN):
    """Σ_r (1/r) R_r Π_{i<r} (1 - R_i) with R = (2^g - 1) / 2^{g_max}."""
    if n_relevant(query, scale=scale) == 0:
        return scale.undefined
    best = best_relevance(query, scale)
    found, not_yet = 0, 1
    for r, grade in enumerate(query.ranked[:n], 1):
        satisfied = (2 ** relevance(grade, scale) - 1) / 2**best
        found += not_yet * satisfied / r
        not_yet *= 1 - satisfied
    return found


def nerr(query, n=None, *, scale=PLAIN):
    """ERR over that of the judged documents from the best to the worst."""
    if n_relevant(query, scale=scale) == 0:
        return scale.undefined
    ideal = err(query._replace(ranked=best_first(query)), n, scale=scale)
    return err(query, n, scale=scale) / ideal


def rbp(query, n=None, *, p=0.8, graded=False, threshold=None, ties="order", scale=PLAIN):
    """(1 - p) Σ_i rel(i) p^{i-1}, rel the grade over the highest one if graded."""
    if n_relevant(query, threshold=threshold, scale=scale) == 0:
        return scale.undefined
    best = best_relevance(query, scale)
    worth = [
        (relevance(grade, scale) / best if graded else 1) * relevant(grade, threshold, scale)
        for grade in query.ranked
    ]
    found = sum(w * p ** (i - 1) for i, w in enumerate(shared(worth, query, ties)[:n], 1))
    return (1 - p) * found


def q_measure(query, n=None, *, beta=1, gain="linear", over="relevant", scale=PLAIN):
    """(1/R) Σ_r rel(r) (hits(r) + β cg(r)) / (r + β cg of the best order(r))."""
    total = n_relevant(query, scale=scale)
    if total == 0:
        return scale.undefined
    blended = 0
    for r, grade in enumerate(query.ranked[:n], 1):
        if relevant(grade, None, scale):
            hits = n_relevant_retrieved(query, r, scale=scale)
            reached = cg(query, r, gain=gain, scale=scale)
            best = ideal_dcg(query, r, gain=gain, discount="none", scale=scale)
            blended += (hits + beta * reached) / (r + beta * best)
    return blended / (min(n, total) if over == "cutoff" and n is not None else total)


# Curves: the measure at every cutoff.


def at_every_rank(measure, query, n=None, **options):
    """The values at cutoffs 1 to n, or to the length of the list."""
    # An ideal ranking has all judged documents.
    documents = query.judged if measure is ideal_dcg else query.ranked
    length = len(documents) if n is None else n
    return [measure(query, k, **options) for k in range(1, length + 1)]


precision_curve, recall_curve = partial(at_every_rank, precision), partial(at_every_rank, recall)
f_measure_curve = partial(at_every_rank, f_measure)
e_measure_curve = partial(at_every_rank, e_measure)
cg_curve, dcg_curve = partial(at_every_rank, cg), partial(at_every_rank, dcg)
ideal_dcg_curve = partial(at_every_rank, ideal_dcg)
ndcg_curve, ndcng_curve = partial(at_every_rank, ndcg), partial(at_every_rank, ndcng)
