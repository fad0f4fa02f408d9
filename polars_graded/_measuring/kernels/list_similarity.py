"""Compare two rankings of a query.

Agreement at depth d compares the first d documents of both lists. Without ties, it is the number of
common documents divided by d. A tie group that contains rank d may reach below depth d. The option
`ties` decides how its documents count (Corsi and Urbano 2024):

- `"order"`: tied documents keep their ranks, as if they were not tied.
- `"w"`: the whole group counts as being among the first d. The divisor is (m_a + m_b) / 2. m_a and
  m_b are the numbers of documents of each list that count.
- `"a"`: a document counts with the probability p that a random order of the group puts it among the
  first d. The divisor is d.
- `"b"`: documents count as with `"a"`, but the divisor is √(S_a S_b). S_a and S_b are the sums of
  p² over the documents of each list (p = 1 above the tie group).

Below its end, a list counts in the divisor as if it continued without ties.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from polars_graded._measuring.kernels.queries import Judgments, Queries, divide_by_ideal
from polars_graded._measuring.kernels.ragged import (
    Floats,
    Integers,
    Mask,
    Ragged,
    offsets_of,
    repeat_each,
)

Numbers: TypeAlias = npt.NDArray[Any]

TieVariant: TypeAlias = Literal["a", "b", "w", "order"]
TIE_VARIANTS: tuple[str, ...] = get_args(TieVariant)


@dataclass(frozen=True)
class RankedLists:
    """Ranked documents of one strategy, numbered from 0 within the chunk."""

    documents: npt.NDArray[np.int64]
    ranks: Ragged
    """Rank of each document, from 1."""
    starts: Integers
    """Index of the first document of each tie group."""
    has_ties: Mask
    """Mask of queries with tied documents at any rank, even below the depth of the measures."""
    grades: Floats
    judgments: Judgments
    n_documents: int
    """Documents of the chunk, retrieved or not, have numbers from 0 to `n_documents` - 1."""

    @classmethod
    def of(cls, queries: Queries, first: float, n: int) -> RankedLists:
        """Return the lists of a ranking, with document numbers minus `first`.

        The input `number` contains the numbers of documents. `first` and `n` come from `find_span`.
        The numbers rise from query to query. So those of a chunk are close together, which keeps
        arrays of `n` values small.
        """
        documents = (queries.inputs["number"].values - first).astype(np.int64)
        ranks = queries.ranked.with_values(queries.ranked.position_as_float)
        has_ties = np.zeros(len(ranks.lengths), bool)
        if (full_queries := queries.full) is not None:
            is_first = np.zeros(len(full_queries.ranked.values), bool)
            is_first[full_queries.tie_starts] = True
            has_ties = full_queries.ranked.count(is_first) < full_queries.ranked.lengths
        # All rankings of a chunk are in memory at once, so only the needed arrays are kept.
        grades, starts = queries.ranked.values, queries.tie_starts
        return cls(documents, ranks, starts, has_ties, grades, queries.judgments, n)

    @property
    def are_tied(self) -> bool:
        """Return whether any tie group has several documents."""
        return len(self.starts) < len(self.documents)

    @cached_property
    def tops(self) -> Integers:
        """Return for each document the first rank of its tie group."""
        ranks = self.ranks.position
        sizes = np.diff(self.starts, append=len(ranks))
        return repeat_each(ranks[self.starts], sizes) if self.are_tied else ranks

    @cached_property
    def bottoms(self) -> Integers:
        """Return for each document the last rank of its tie group."""
        ranks, ends = self.ranks.position, np.append(self.starts, len(self.ranks.position))
        return repeat_each(ranks[ends[1:] - 1], np.diff(ends)) if self.are_tied else ranks

    def by_document(self, values: Numbers) -> Numbers:
        """Return an array of the values by document number; 0 if not retrieved."""
        result = np.zeros(self.n_documents, values.dtype)
        result[self.documents] = values
        return result

    def at_depths(self, values: Integers, depths: Ragged) -> Integers:
        """Return the value at each depth; below a list's end, the depth itself.

        `values` are `tops` or `bottoms`. Each depth below the end counts as a tie group of one
        document.
        """
        if np.array_equal(self.ranks.lengths, depths.lengths):
            return values
        result = depths.position.copy()
        result[result <= repeat_each(self.ranks.lengths, depths.lengths)] = values
        return result


def find_span(numbers: Iterable[Ragged]) -> tuple[float, int]:
    """Return the lowest number, and highest - lowest + 1."""
    arrays = [each.values for each in numbers if len(each.values)]
    if not arrays:
        return 0.0, 0
    first = min(values.min() for values in arrays)
    return first, int(max(values.max() for values in arrays) - first) + 1


@dataclass(frozen=True)
class Agreement:
    """Agreement of two lists at each depth down to the end of the longer one."""

    by_depth: Ragged
    """Agreement at each depth, as if the shorter list had no further documents."""
    extrapolated: Floats
    """Estimate of the agreement at each depth, if the shorter list continued. The share of common
    documents in the continuation is assumed to equal the agreement at the end of the shorter list.
    """
    highest: Floats
    """Highest agreement at each depth that a continuation of the shorter list can give."""
    last: Floats
    """Extrapolated agreement at the end of the longer list."""


@dataclass(frozen=True)
class ListPair:
    """Two rankings of the same queries."""

    a: RankedLists
    b: RankedLists
    _agreements: dict[str, Agreement] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def common(self) -> Mask:
        """Return the mask of the documents of `a` that `b` retrieved too."""
        return self.b.by_document(np.ones(len(self.b.documents), bool))[self.a.documents]

    @cached_property
    def n_common(self) -> Integers:
        """Return the number of common documents of each query."""
        return self.a.ranks.count(self.common)

    @cached_property
    def ranks(self) -> tuple[Integers, Integers]:
        """Return the ranks of common documents in both lists, in the order of `a`."""
        return self.select_common(self.a.ranks.position, self.b.ranks.position)

    def select_common(self, of_a: Numbers, of_b: Numbers) -> tuple[Numbers, Numbers]:
        """Return two values of each common document, in the order of `a`.

        `of_a` contains a value for each document of `a`, and `of_b` a value for each document of
        `b`. Both are in rank order.
        """
        in_b = self.b.by_document(of_b)[self.a.documents]
        return (of_a, in_b) if self.common.all() else (of_a[self.common], in_b[self.common])

    @cached_property
    def depths(self) -> Ragged:
        """Return one list per query, with one place per depth of the longer list.

        The places have no meaningful values; `depths.position` contains the depths.
        """
        offsets = offsets_of(np.maximum(self.a.ranks.lengths, self.b.ranks.lengths))
        return Ragged(np.empty(offsets[-1]), offsets)

    def count_reached(self, depth: Integers) -> Integers:
        """Return for each depth the number of common documents that count.

        `depth` contains the first depth at which each common document counts. The document also
        counts at all greater depths.
        """
        depths = self.depths
        all_indices = depth - 1 + repeat_each(depths.offsets[:-1], self.n_common)
        indices = all_indices[depth <= repeat_each(depths.lengths, self.n_common)]
        counts: Integers = np.cumsum(np.bincount(indices, minlength=len(depths.values)))
        before = np.append(0, counts)[depths.offsets[:-1]]
        counts -= repeat_each(before, depths.lengths)
        return counts

    def agreement(self, ties: str) -> Agreement:
        """Return the agreement at each depth; `ties` is a `TieVariant`."""
        if ties != "order" and not (self.a.are_tied or self.b.are_tied):
            ties = "order"
        if ties not in self._agreements:
            self._agreements[ties] = self._compute_agreement(ties)
        return self._agreements[ties]

    def _compute_agreement(self, ties: str) -> Agreement:
        """Return the agreement at each depth by section 4 of Corsi and Urbano 2024."""
        depths, number = self.depths, self.depths.position_as_float
        n_a, n_b = self.a.ranks.lengths, self.b.ranks.lengths
        # These values are for lists without ties, in which each document is a tie group of its own.
        norm: Any = number
        tops: Any = (number, number)
        bottoms = tops
        shares: Any = (1.0, 1.0)
        if ties == "order":
            expected_overlap: Any = self.count_reached(np.maximum(*self.ranks))
            reached, before = expected_overlap, (expected_overlap, expected_overlap)
        else:
            tops, bottoms = (
                tuple(each.at_depths(getattr(each, end), depths) for each in (self.a, self.b))
                for end in ("tops", "bottoms")
            )
            top_a, top_b = self.select_common(self.a.tops, self.b.tops)
            bottom_a, bottom_b = self.select_common(self.a.bottoms, self.b.bottoms)
            reached = self.count_reached(np.maximum(top_a, top_b))
            # At depth d, each list has a tie group that contains rank d. `reached` counts the
            # common documents that are below neither group. `before` counts how many of them are
            # above the group of `a`, and how many above the group of `b`. `both` counts how many
            # are above both groups.
            before = (
                self.count_reached(np.maximum(bottom_a + 1, top_b)),
                self.count_reached(np.maximum(top_a, bottom_b + 1)),
            )
            both = self.count_reached(np.maximum(bottom_a, bottom_b) + 1)
            sizes = [bottom - top + 1 for top, bottom in zip(tops, bottoms, strict=True)]
            # Share of the tie group at depth d that counts.
            shares = tuple(
                np.ones(len(number)) if ties == "w" else (number - top + 1) / size
                for top, size in zip(tops, sizes, strict=True)
            )
            share_a, share_b = shares
            expected_overlap = (1 - share_a) * ((1 - share_b) * both + share_b * before[0])
            expected_overlap += share_a * ((1 - share_b) * before[1] + share_b * reached)
            squares = [
                top - 1 + size * share**2
                for top, size, share in zip(tops, sizes, shares, strict=True)
            ]
            norm = {
                "a": number,
                "b": np.sqrt(squares[0] * squares[1]),
                "w": (bottoms[0] + bottoms[1]) / 2,
            }[ties]
        # The overlap never exceeds `norm`. With "b", the Cauchy-Schwarz inequality ensures this.
        agreement = divide_by_ideal(expected_overlap, norm)
        if np.array_equal(n_a, n_b):
            last = depths.with_values(agreement).last_values()
            return Agreement(depths.with_values(agreement), agreement, agreement, last)
        # The shorter list may continue with documents that only the longer list has. At each depth,
        # `missing` counts such documents above the tie group of the longer list, and `crossing`
        # counts such documents in this group.
        shorter, longer = np.minimum(n_a, n_b), np.maximum(n_a, n_b)
        further = np.maximum(number - repeat_each(shorter, longer), 0)
        b_is_longer = repeat_each(n_b > n_a, longer)
        top, bottom, share, shared = (
            np.where(b_is_longer, of_b, of_a) for of_a, of_b in (tops, bottoms, shares, before)
        )
        missing = top - 1 - shared
        crossing = bottom - reached - missing
        ends = np.append(agreement, 0.0)[np.maximum(depths.offsets[:-1] + shorter - 1, 0)]
        at_end = np.where(shorter > 0, ends, 0.0)
        agreeing_share = (missing + share * crossing) / np.maximum(missing + crossing, 1)
        extrapolated = (
            expected_overlap + further * repeat_each(at_end, longer) * agreeing_share
        ) / norm
        added = np.minimum(further, missing) + share * np.clip(further - missing, 0, crossing)
        last = (self.n_common + (longer - shorter) * at_end) / np.maximum(longer, 1)
        return Agreement(
            depths.with_values(agreement), extrapolated, (expected_overlap + added) / norm, last
        )

    def mask_empty(self, values: Numbers) -> Floats:
        """Return the values, with NaN where both lists are empty."""
        return np.where(self.depths.lengths > 0, values, np.nan)


# Overlap


def overlap(pair: ListPair, n: int | None, ties: str) -> Floats:
    """Compute A_n, the agreement at depth n.

    If both lists are shorter than n, return the agreement at the end of the longer list.
    """
    head = pair.agreement(ties).by_depth.head(n)
    return pair.mask_empty(head.last_values())


def overlap_curve(pair: ListPair, n: int | None, ties: str) -> Ragged:
    """Compute the agreement at each depth from 1 to n.

    Below the end of the longer list, the last value is repeated. If `n` is None, the curve ends at
    the end of the longer list.
    """
    head = pair.agreement(ties).by_depth.head(n)
    return head if n is None else head.extend(np.full(len(head.lengths), n))


def average_overlap(pair: ListPair, n: int | None, ties: str) -> Floats:
    """Compute (1 / n) Σ_{d ≤ n} A_d, the mean agreement at depths 1 to n.

    If the longer list has fewer than n documents, its length replaces n.
    """
    head = pair.agreement(ties).by_depth.head(n)
    return pair.mask_empty(head.sum() / np.maximum(head.lengths, 1))


def jaccard(pair: ListPair, n: int | None, ties: str) -> Floats:
    """Compute |A ∩ B| / |A ∪ B| of A and B, the top n of the two lists."""
    of_a, of_b = (each.ranks.head(n).lengths for each in (pair.a, pair.b))
    shared = pair.agreement(ties).by_depth.head(n)
    common = np.rint(shared.last_values() * shared.lengths)
    return pair.mask_empty(common / np.maximum(of_a + of_b - common, 1))


def top_changed(pair: ListPair, ties: str) -> Floats:
    """Compute 1 - A_1: 1 if the first documents differ, otherwise 0.

    With ties, the value may be between 0 and 1.
    """
    return 1 - overlap(pair, 1, ties)


# Relevance of changed documents


def relevant_entered(pair: ListPair, n: int | None, threshold: float | None) -> Integers:
    """Count the relevant documents in the first n of `a` that `b` does not have there."""
    return _count_new_relevant(pair.a, pair.b, n, threshold)


def relevant_left(pair: ListPair, n: int | None, threshold: float | None) -> Integers:
    """Count the relevant documents in the first n of `b` that `a` does not have there."""
    return _count_new_relevant(pair.b, pair.a, n, threshold)


def _count_new_relevant(
    lists: RankedLists, others: RankedLists, n: int | None, threshold: float | None
) -> Integers:
    """Count the relevant documents in the first n of `lists` that `others` lack there."""
    is_first, is_first_of_others = (
        np.ones(len(each.documents), bool) if n is None else each.ranks.position <= n
        for each in (lists, others)
    )
    is_relevant = lists.judgments.is_relevant(lists.grades, threshold)
    is_shared = others.by_document(is_first_of_others)[lists.documents]
    return lists.ranks.count(is_relevant & is_first & ~is_shared)


# Rank-biased overlap


def _weigh(pair: ListPair, p: float) -> Floats:
    """Return the weight (1 - p) p^{d-1} of each depth d."""
    longest = int(pair.depths.lengths.max(initial=0))
    weights: Numbers = (1 - p) * p ** np.arange(longest)
    return weights[pair.depths.position - 1]


def rbo(pair: ListPair, p: float, ties: str) -> Floats:
    """Compute RBO: A_l + (1 - p) Σ_d p^{d-1} (A_d - A_l), with extrapolated A.

    l is the length of the longer list.
    """
    agreement = pair.agreement(ties)
    differences = agreement.extrapolated - repeat_each(agreement.last, pair.depths.lengths)
    values = agreement.last + pair.depths.sum(_weigh(pair, p) * differences)
    return pair.mask_empty(np.maximum(values, 0.0))  # rounding may give less than 0


def rbo_min(pair: ListPair, p: float, ties: str) -> Floats:
    """Compute RBO with no further overlap: A_d = X_l / d at depths d > l.

    l is the length of the longer list, and X_l is the number of common documents.
    """
    agreement, longer = pair.agreement(ties), pair.depths.lengths
    tail = -np.log1p(-p) - _sum_harmonic(p, longer)
    seen = pair.depths.sum(_weigh(pair, p) * agreement.by_depth.values)
    return pair.mask_empty(seen + (1 - p) / p * pair.n_common * np.maximum(tail, 0))


def rbo_max(pair: ListPair, p: float, ties: str) -> Floats:
    """Compute RBO with the most overlap: agreement is 1 from depth f on.

    f is |A ∪ B|, where A and B are the sets of documents of the two lists.
    """
    agreement, longer = pair.agreement(ties), pair.depths.lengths
    f = (pair.a.ranks.lengths + pair.b.ranks.lengths - pair.n_common).astype(np.int64)
    # Σ_{l < d ≤ f} (2 - f / d) p^d + Σ_{d > f} p^d
    tail: Numbers = (2 * p ** (longer + 1.0) - p ** (f + 1.0)) / (1 - p)
    tail -= f * (_sum_harmonic(p, f) - _sum_harmonic(p, longer))
    seen = pair.depths.sum(_weigh(pair, p) * agreement.highest)
    return pair.mask_empty(np.minimum(seen + (1 - p) / p * tail, 1.0))


def _sum_harmonic(p: float, n: Integers) -> Floats:
    """Return Σ_{d ≤ n} p^d / d."""
    d = np.arange(1, int(n.max(initial=0)) + 1)
    sums: Floats = np.append(0.0, np.cumsum(p**d / d))[n]
    return sums


# Correlation of the ranks of common documents


def _correlate_common(pair: ListPair, numerator: Numbers, divisor: Numbers) -> Floats:
    """Return the quotient, or NaN where it is undefined.

    It is undefined with fewer than two common documents. It is also undefined if all common
    documents are tied in one list: then the divisor is 0.
    """
    is_defined = (pair.n_common > 1) & (divisor > 0)
    return np.where(is_defined, numerator / np.where(is_defined, divisor, 1), np.nan)


def _number_common(pair: ListPair) -> Numbers:
    """Return the position in `b` of each common document, in the order of `a`.

    Positions count common documents only, from 0.
    """
    if pair.common.all() and len(pair.common) == len(pair.b.documents):
        return pair.ranks[1] - 1
    in_a = pair.a.by_document(pair.common)[pair.b.documents]
    numbers = np.zeros(len(in_a), np.int64)
    numbers[in_a] = pair.b.ranks.keep(in_a).position - 1
    return pair.select_common(pair.a.ranks.position, numbers)[1]


def tau_ap(pair: ListPair, ties: str) -> Floats:  # noqa: ARG001, always "order"
    """Compute τ_AP = 2 / (N - 1) Σ_{i > 1} C(i) / (i - 1) - 1.

    Only the N common documents count. Let x be the document at rank i of `a`. C(i) is the number of
    documents that both lists rank above x (Yilmaz, Aslam and Robertson 2008).
    """
    common = Ragged(_number_common(pair), offsets_of(pair.n_common))
    above = count_lower_before(common)
    shares = above / np.maximum(common.position - 1, 1)
    n = pair.n_common - 1.0
    return _correlate_common(pair, 2 * common.sum(shares) - n, n)


def kendall_tau(pair: ListPair) -> Floats:
    """Compute τ_b of common documents: (C - D) / √((n₀ - n₁)(n₀ - n₂)).

    Of the n₀ pairs, C are in the same order in both lists and D in opposite orders; n₁ are tied in
    `a`, and n₂ in `b`.
    """
    offsets, n = offsets_of(pair.n_common), pair.n_common
    pairs = n * (n - 1) / 2
    tied_a: Numbers = np.zeros(len(n))
    tied_b = tied_both = tied_a
    numbers = _number_common(pair)
    if pair.a.are_tied or pair.b.are_tied:
        top_a, top_b = pair.select_common(pair.a.tops, pair.b.tops)
        # Tied pairs must not count as discordant. So documents are sorted by `a` and then by `b`,
        # and documents tied in `b` get rising numbers.
        keys = Ragged(top_a * (top_b.max(initial=0) + 1.0) + top_b, offsets)
        order, _ = keys.argsort()
        in_b = keys.with_values(top_b[order].astype(np.float64))
        order_by_b, _ = in_b.argsort()
        numbers = np.empty(len(order_by_b), np.int64)
        numbers[order_by_b] = keys.position - 1
        tied_a = _count_tied_pairs(keys.with_values(top_a.astype(np.float64)))
        tied_b = _count_tied_pairs(keys.with_values(in_b.values[order_by_b]))
        tied_both = _count_tied_pairs(keys.with_values(keys.values[order]))
    in_order = Ragged(numbers, offsets)
    discordant = pairs - in_order.sum(count_lower_before(in_order))
    concordant = pairs - tied_a - tied_b + tied_both - discordant
    spread = np.sqrt((pairs - tied_a) * (pairs - tied_b))
    return np.clip(_correlate_common(pair, concordant - discordant, spread), -1, 1)


def spearman(pair: ListPair) -> Floats:
    """Compute the correlation of the ranks of common documents.

    Ranks count common documents only. Tied documents get the mean of their ranks.
    """
    in_a = pair.a.by_document(pair.common)[pair.b.documents]
    of_a = _average_ranks(pair.a, pair.common)
    in_order: Numbers = np.zeros(len(in_a))
    in_order[in_a] = _average_ranks(pair.b, in_a)
    common = Ragged(of_a, offsets_of(pair.n_common))
    _, of_b = pair.select_common(pair.a.ranks.position, in_order)
    middle = repeat_each((pair.n_common + 1) / 2, pair.n_common)
    a, b = of_a - middle, of_b - middle
    spread = np.sqrt(common.sum(a * a)) * np.sqrt(common.sum(b * b))
    return np.clip(_correlate_common(pair, common.sum(a * b), spread), -1, 1)


def _average_ranks(lists: RankedLists, is_kept: Mask) -> Floats:
    """Return the rank of each kept document among the kept ones.

    Documents of a tie group get the mean of their ranks.
    """
    ranks = lists.ranks.keep(is_kept)
    if not lists.are_tied or not len(ranks.values):
        return ranks.position_as_float
    tops = ranks.with_values(lists.tops[is_kept].astype(np.float64))
    starts = np.flatnonzero(~tops.compare_with_previous(np.equal))
    sizes = np.diff(starts, append=len(tops.values))
    return repeat_each(ranks.position[starts] + (sizes - 1) / 2, sizes)


def max_displacement(pair: ListPair, n: int | None, ties: str) -> Floats:  # noqa: ARG001
    """Compute the maximum |rank in a - rank in b| of common documents.

    Only those in the top n of either list count; the result is NaN if there are none.
    """
    in_a, in_b = pair.ranks
    distances = np.abs(in_a - in_b).astype(np.float64)
    if n is not None:
        distances[np.minimum(in_a, in_b) > n] = 0
    lists = Ragged(distances, offsets_of(pair.n_common))
    counts = pair.n_common if n is None else lists.count(np.minimum(in_a, in_b) <= n)
    return np.where(counts > 0, lists.max(distances), np.nan)


MAX_COMPARED_LENGTH = 2048
"""Maximum length of lists in which `_count_lower_in_rows` compares all pairs of values. For longer
lists, partitioning by bits is faster."""


def count_lower_before(lists: Ragged) -> Floats:
    """Return for each value the number of lower values before it in its list.

    A list of n values holds each number from 0 to n - 1 once.
    """
    counts: Floats = lists.map_rows(_count_lower_in_rows, lists.values, padding=np.inf)
    return counts


def _count_lower_in_rows(rows: Floats, axis: int = -1) -> Numbers:
    """Return the number of lower values before each value of a row.

    Long rows are partitioned stably by one bit after another, from the highest. In each step,
    numbers with the same higher bits form a block. A number with bit 1 is higher than all numbers
    with bit 0 in its block. Its count therefore rises by the number of earlier numbers with bit 0
    in the block.
    """
    rows = np.atleast_2d(rows)
    column, width = np.arange(rows.shape[axis], dtype=np.int32), rows.shape[axis]
    if width <= MAX_COMPARED_LENGTH:
        # NumPy compares columns of small integers fast: one instruction compares many lists.
        columns = np.ascontiguousarray(np.minimum(rows, width).T.astype(np.int16))
        lower = np.zeros(columns.shape, np.int16)
        for number in range(1, width):
            (columns[:number] < columns[number]).sum(axis=0, out=lower[number])
        return lower.T
    numbers = original = np.where(np.isinf(rows), column, rows).astype(np.int64)
    counts = np.zeros_like(numbers)
    for bit in reversed(range((width - 1).bit_length())):
        is_high = (numbers >> bit) % 2 > 0
        start = numbers >> (bit + 1) << (bit + 1)
        low: Numbers = np.cumsum(~is_high, axis=1) - ~is_high
        low -= np.take_along_axis(low, start, axis=1)
        target = np.where(is_high, column - low + (1 << bit), start + low)
        counts += low * is_high
        moved, carried = np.empty_like(numbers), np.empty_like(counts)
        np.put_along_axis(moved, target, numbers, axis=1)
        np.put_along_axis(carried, target, counts, axis=1)
        numbers, counts = moved, carried
    return np.take_along_axis(counts, original, axis=1)


def _count_tied_pairs(numbers: Ragged) -> Integers:
    """Return the number of pairs of equal numbers in each sorted list."""
    values, row = numbers.values, np.arange(len(numbers.values))
    is_new = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=is_new[1:])
    is_new[numbers.offsets[:-1][numbers.lengths > 0]] = True
    # Each number makes a pair with each equal number before it.
    equal_before = row - np.maximum.accumulate(np.where(is_new, row, 0))
    return numbers.sum(equal_before).astype(np.int64)
