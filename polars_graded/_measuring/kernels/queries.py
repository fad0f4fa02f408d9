"""Input of the kernels: the ranked and the judged grades of some queries."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias, TypeVar, get_args

import numpy as np
import numpy.typing as npt

from polars_graded._measuring.kernels.errors import UnusableDataError
from polars_graded._measuring.kernels.ragged import (
    EMPTY,
    Documents,
    Floats,
    Integers,
    Mask,
    Ragged,
    repeat_each,
)

Over: TypeAlias = Literal["relevant", "cutoff"]
"""Divisor of a measure. With R relevant documents, "relevant" means R, and "cutoff" means
min(R, cutoff). `ap` also has "retrieved"."""

StrictTieRule: TypeAlias = Literal["order", "pessimistic", "optimistic"]
TieRule: TypeAlias = Literal["order", "average", "pessimistic", "optimistic"]
STRICT_TIE_RULES: tuple[str, ...] = get_args(StrictTieRule)
TIE_RULES: tuple[str, ...] = get_args(TieRule)

Shared = TypeVar("Shared")


MAX_RELEVANCE = 1e300
"""Maximum relevance or gain for which sums over documents stay within a double's range."""
BELOW_ALL_GRADES = -np.finfo(np.float64).max
"""Number that stands for the grade of unjudged documents, which come after or before all grades."""
MAX_SUM_ERROR = 1e-9
"""Maximum relative difference that rounding may cause between two sums of the same numbers."""


def divide_by_ideal(reached: Floats, ideal: Floats) -> Floats:
    """Return the reached value divided by the ideal; NaN where the ideal is 0.

    Rounding may lift the quotient slightly above 1; such quotients are set to 1. A larger quotient
    is a defect and raises an error.
    """
    is_above = reached > ideal * (1 + MAX_SUM_ERROR) + np.finfo(np.float64).tiny
    if is_above.any():
        worst = (reached[is_above] / ideal[is_above]).max()
        msg = f"the ranking reaches {worst:g} times the ideal in {is_above.sum()} places"
        raise ArithmeticError(msg)
    return np.minimum(reached / ideal, 1.0)


@dataclass(frozen=True)
class Judgments:
    """Grades of all documents of some queries, independent of any ranking."""

    grades: Ragged
    """Grades of all documents, retrieved or not, in any order; NaN for an unjudged document."""
    irrelevant: float
    """Grade that means not relevant."""
    max_grade: float | None = None
    """Highest grade of the scale; None if it was not passed."""
    inputs: Mapping[str, Ragged] = field(default_factory=dict)
    """Further columns of the documents, by input name, such as `popularity`."""
    labels: Mapping[str, Any] = field(default_factory=dict)
    """Tables of labels or vectors, by input name. The column of the same name in `inputs` contains
    indices into the table."""
    _shared: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """The results of `compute_once` by their keys."""

    def with_relevant_from(self, lowest: float) -> Judgments:
        """Return the judgments with grades below `lowest` made irrelevant.

        Grades below the irrelevant grade stay: for `infap`, such a grade marks a pooled document
        that nobody judged.
        """
        values = self.grades.values
        is_below = (values < lowest) & (values >= self.irrelevant)
        return replace(
            self, grades=self.grades.with_values(np.where(is_below, self.irrelevant, values))
        )

    @cached_property
    def n_judged(self) -> Integers:
        """Return the number of judged documents of each query."""
        return self.grades.count(~np.isnan(self.grades.values))

    def relevance(self, grades: Floats) -> Floats:
        """Return grades minus the irrelevant grade; 0 if lower or unjudged."""
        return np.fmax(grades - self.irrelevant if self.irrelevant else grades, 0)

    def is_relevant(self, grades: Floats, threshold: float | None) -> Mask:
        """Return the mask of relevant grades, or of grades that reach the threshold.

        Every threshold is above the irrelevant grade, as `check_measures` ensures.
        """
        return grades > self.irrelevant if threshold is None else grades >= threshold

    @cached_property
    def relevant(self) -> Documents:
        """Return the relevant documents.

        Their ranks have a meaning only if these are judgments in rank order.
        """
        return self.grades.select_documents(self.grades.values > self.irrelevant)

    def n_relevant(self, threshold: float | None) -> Integers:
        """Return R, the number of relevant documents of each query."""
        if threshold is None:
            return self.relevant.lengths
        return self.relevant.count(self.relevant.values >= threshold)

    @cached_property
    def highest_relevant(self) -> Floats:
        """Return the highest relevant grade of each query; NaN if none is relevant."""
        highest = self.relevant.max(self.relevant.values)
        return np.where(self.relevant.lengths > 0, highest, np.nan)

    @property
    def best_grades(self) -> Floats:
        """Return m_q: `max_grade`, or else the highest relevant grade of each query."""
        highest = self.highest_relevant
        return highest if self.max_grade is None else np.full_like(highest, self.max_grade)

    def check_within_scale(self) -> None:
        """Raise if a grade is above the scale, or too large for sums of doubles."""
        highest = self.highest_relevant
        if (is_above := self.relevance(highest) > MAX_RELEVANCE).any():
            rule = f"grades must not be more than {MAX_RELEVANCE:g} above irrelevant"
            raise UnusableDataError(rule, is_above)
        if self.max_grade is not None and (is_above := highest > self.max_grade).any():
            rule = f"grades must not be above `max_grade`, {self.max_grade:g}, got"
            raise UnusableDataError(rule, is_above, highest[is_above].tolist())

    def ideal(self, n: int | None = None) -> Documents:
        """Return the `n` best relevant documents in the ideal order."""
        return self.compute_once(
            ("ideal", n), lambda: self.relevant.sort_descending(n).all_documents()
        )

    def compute_once(self, key: Hashable, compute: Callable[[], Shared]) -> Shared:
        """Return the result of `compute`, which runs once per key.

        All rankings that use these judgments share the result.
        """
        if key not in self._shared:
            self._shared[key] = compute()
        shared: Shared = self._shared[key]
        return shared


@dataclass(frozen=True)
class Queries:
    """Retrieved documents of some queries in rank order, and all documents with their grades.

    Examples
    --------
    The first query has four documents. One is unjudged, and one was not retrieved. The second query
    has one document.

    >>> from polars_graded._measuring.kernels.cumulated_gain import ndcg
    >>> offsets = np.array([0, 4, 5])
    >>> grades = Ragged(np.array([2.0, 0.0, np.nan, 1.0, 3.0]), offsets)
    >>> scores = Ragged(np.array([0.9, 0.5, 0.7, np.nan, 0.4]), offsets)
    >>> queries = Queries.ranked_by(Judgments(grades, irrelevant=0.0), scores)
    >>> queries.ranked
    Ragged(values=array([ 2., nan,  0.,  3.]), offsets=array([0, 3, 4]))

    The relevant documents that were retrieved, and all relevant documents in the best order, each
    with its rank:

    >>> queries.all_hits
    Documents(values=array([2., 3.]), offsets=array([0, 1, 2]), rank=array([1, 1]))
    >>> queries.judgments.ideal()
    Documents(values=array([2., 1., 3.]), offsets=array([0, 2, 3]), rank=array([1, 2, 1]))

    NDCG of the first query is (2² - 1) / (2² - 1 + 1 / log₂ 3):

    >>> ndcg(queries, n=None, gain="exp2", discount="log2", base=2.0, ties="order")
    array([0.82623466, 1.        ])
    """

    ranked: Ragged
    """Grades in rank order, down to the depth of the measure; NaN for an unjudged document."""
    judgments: Judgments
    tie_groups: Ragged
    """A number for each ranked document, such as its score. The documents of a tie group have the
    same number, and different tie groups of a query have different numbers. Empty if no documents
    are tied, or if ties do not matter."""
    inputs: Mapping[str, Ragged] = field(default_factory=dict)
    """Further columns of the ranked documents, by input name, such as `popularity`."""
    full: Queries | None = None
    """The same queries at full depth, for `find_dependence_on_ties` and for similarities, which
    look at whole tie groups. None if no documents are tied, if ties do not matter, and in `full`
    itself."""

    @classmethod
    def in_row_order(cls, judgments: Judgments, depth: int | None, *, condensed: bool) -> Queries:
        """Return queries whose documents are in rank order already; see `ranked_by`."""

        def rank(column: Ragged) -> Ragged:
            return (column.keep(is_judged) if condensed else column).head(depth)

        is_judged = ~np.isnan(judgments.grades.values)
        inputs = {name: rank(column) for name, column in judgments.inputs.items()}
        return cls(rank(judgments.grades), judgments, EMPTY, inputs)

    @classmethod
    def ranked_by(
        cls,
        judgments: Judgments,
        scores: Ragged,
        tie_groups: Ragged | None = None,
        depth: int | None = None,
        *,
        descending: bool = True,
        condensed: bool = False,
    ) -> Queries:
        """Return queries with their documents ranked by scores, the first `depth` of each.

        The score of a document that was not retrieved is NaN. Documents of equal scores keep their
        order. With `condensed`, unjudged documents are left out.
        """
        full_order, is_first = sort_ranked(
            judgments.grades, scores, descending=descending, condensed=condensed
        )

        def make_queries(order: Ragged, tie_groups: Ragged, full: Queries | None = None) -> Queries:
            def rank(column: Ragged) -> Ragged:
                return order.with_values(column.values[order.values])

            inputs = {name: rank(column) for name, column in judgments.inputs.items()}
            return cls(rank(judgments.grades), judgments, tie_groups, inputs, full)

        # Tied documents always have equal scores, so if no scores are equal, there are no ties.
        if tie_groups is None or is_first.all():
            return make_queries(full_order.head(depth), EMPTY)
        ranked_groups = full_order.with_values(tie_groups.values[full_order.values])
        full = make_queries(full_order, ranked_groups)
        return make_queries(full_order.head(depth), ranked_groups.head(depth), full)

    def with_judgments_in_rank_order(self) -> Queries:
        """Return the queries with judgments that are sorted like the ranked documents.

        The relevant documents are then found only once, in `all_hits` and for the judgments. This
        is possible if the ranked lists contain all documents; otherwise, the judgments stay.
        """
        if len(self.ranked.values) < len(self.judgments.grades.values):
            return self
        in_order = replace(self.judgments, grades=self.ranked, inputs=self.inputs)
        return replace(self, judgments=in_order)

    def relevance(self, grades: Floats) -> Floats:
        """Return grades minus the irrelevant grade; 0 if lower or unjudged."""
        return self.judgments.relevance(grades)

    def is_relevant(self, grades: Floats, threshold: float | None) -> Mask:
        """Return the mask of relevant grades; see `Judgments.is_relevant`."""
        return self.judgments.is_relevant(grades, threshold)

    def count_possible_hits(self, n: int | None, threshold: float | None, over: str) -> Integers:
        """Return R, or min(n, R) with `over="cutoff"` and a cutoff n."""
        total = self.judgments.n_relevant(threshold)
        return total if n is None or over == "relevant" else np.minimum(total, n)

    def share_of_best(self, grades: Ragged) -> Floats:
        """Return relevance divided by the relevance of `best_grades`; 0 if not relevant.

        (ngain of Scheel et al. 2011, equation 5.)
        """
        best = repeat_each(self.relevance(self.judgments.best_grades), grades.lengths)
        return np.where(best > 0, self.relevance(grades.values) / best, 0.0)

    @cached_property
    def all_hits(self) -> Documents:
        """Return the relevant documents that were retrieved."""
        # The same object: see `with_judgments_in_rank_order`.
        if self.ranked is self.judgments.grades:
            return self.judgments.relevant
        return self.ranked.select_documents(self.is_relevant(self.ranked.values, None))

    def count_judged_so_far(self, documents: Documents) -> Integers:
        """Return the number of judged documents at or above each document's rank."""
        is_judged = ~np.isnan(self.ranked.values)
        if is_judged.all():
            return documents.rank
        starts = repeat_each(self.ranked.offsets[:-1], documents.lengths)
        counts: Integers = self.ranked.count_so_far(is_judged)[starts + documents.rank - 1]
        return counts

    def hits(self, n: int | None, threshold: float | None) -> Documents:
        """Return the relevant documents among the first `n`."""
        hits = self.all_hits.head(n)
        return hits if threshold is None else hits.keep(self.is_relevant(hits.values, threshold))

    def with_relevance(self, relevant: Documents) -> Documents:
        """Return the documents with their relevance in place of grades."""
        if not self.judgments.irrelevant:
            return relevant
        return relevant.with_values(self.relevance(relevant.values))

    def compute_hit_gains(
        self, n: int | None, gains_of: Callable[[Ragged], Floats | Mask], ties: str
    ) -> Documents:
        """Return the gains of the first `n` documents; gains of 0 may be left out.

        The function `gains_of` computes the gains from grades. It must return 0 for documents that
        are not relevant, because the result may leave out these documents.
        """
        if ties == "average":
            return self.compute_all_gains(n, gains_of, ties)
        hits = self.hits(n, None)
        return hits.with_values(gains_of(hits).astype(np.float64, copy=False))

    def compute_all_gains(
        self, n: int | None, gains_of: Callable[[Ragged], Floats | Mask], ties: str
    ) -> Documents:
        """Return the gain of each of the first `n` documents, even if it is 0.

        With `ties="average"`, each document gets the mean gain of its tie group. This is the
        expected gain at its rank if all orders of the group are equally probable.
        """
        if ties == "average":
            sums = np.add.reduceat(gains_of(self.ranked), self.tie_starts, dtype=np.float64)
            means = repeat_each(sums / self.tie_sizes, self.tie_sizes)
            return self.ranked.with_values(means).head(n).all_documents()
        ranked = self.ranked.head(n)
        return ranked.with_values(gains_of(ranked).astype(np.float64, copy=False)).all_documents()

    def with_ties(self, ties: str) -> tuple[Queries, str]:
        """Return the queries, and the rule for ties that the kernel must follow.

        The pessimistic and the optimistic rule reorder the ties here. The kernel's rule is
        `"average"` if it must average over tied documents, otherwise `"order"`.
        """
        # Each document is a tie group if no two are tied.
        if ties != "order" and len(self.tie_starts) == len(self.ranked.values):
            return self, "order"
        if ties == "pessimistic":
            return self.pessimistic, "order"
        if ties == "optimistic":
            return self.optimistic, "order"
        return self, ties

    @cached_property
    def optimistic(self) -> Queries:
        """Return the queries with each tie group in the order best to worst, unjudged last."""
        grades = np.nan_to_num(self.ranked.values, nan=BELOW_ALL_GRADES)
        by_grade, _ = self.ranked.with_values(grades).argsort(descending=True)
        groups = repeat_each(np.arange(len(self.tie_sizes), dtype=np.float64), self.tie_sizes)
        # A stable sort by tie group keeps the documents of a group in the order of their grades.
        by_group, _ = self.ranked.with_values(groups[by_grade]).argsort()
        return self._reorder(by_grade[by_group])

    @cached_property
    def pessimistic(self) -> Queries:
        """Return the queries with each tie group in the order worst to best, unjudged first."""
        ends = 2 * self.tie_starts + self.tie_sizes - 1
        backwards = repeat_each(ends, self.tie_sizes) - np.arange(len(self.ranked.values))
        return self.optimistic._reorder(backwards)  # noqa: SLF001 (of the same class)

    def _reorder(self, order: Integers) -> Queries:
        """Return the queries with their ranked documents in another order, without tie groups."""
        inputs = {
            name: column.with_values(column.values[order]) for name, column in self.inputs.items()
        }
        ranked = self.ranked.with_values(self.ranked.values[order])
        return replace(self, ranked=ranked, inputs=inputs, tie_groups=EMPTY)

    def keep_queries(self, chosen: Mask) -> Queries:
        """Return the queries, with empty lists for queries that are not chosen."""
        is_kept = repeat_each(chosen, self.ranked.lengths)
        inputs = {name: column.keep(is_kept) for name, column in self.inputs.items()}
        has_ties = len(self.tie_groups.values) > 0
        tie_groups = self.tie_groups.keep(is_kept) if has_ties else self.tie_groups
        ranked = self.ranked.keep(is_kept)
        return replace(self, ranked=ranked, tie_groups=tie_groups, inputs=inputs, full=None)

    @cached_property
    def tie_starts(self) -> Integers:
        """Return the index of the first document of each tie group."""
        if not len(self.tie_groups.values):
            return np.arange(len(self.ranked.values))
        return np.flatnonzero(~self.is_tied_with_previous)

    @cached_property
    def is_tied_with_previous(self) -> Mask:
        """Return the mask of documents that are tied with the previous document."""
        return self.tie_groups.compare_with_previous(np.equal)

    @cached_property
    def tie_sizes(self) -> Integers:
        """Return the number of documents of each tie group."""
        return np.diff(self.tie_starts, append=len(self.ranked.values))


def sort_ranked(
    grades: Ragged, scores: Ragged, *, descending: bool, condensed: bool
) -> tuple[Ragged, Mask]:
    """Return the indices of the ranked documents in rank order, and a mask.

    Documents of equal scores keep their order. The mask is in rank order, and true for the first of
    the documents that have equal scores.
    """
    is_ranked = ~np.isnan(scores.values)
    if condensed:
        is_ranked &= ~np.isnan(grades.values)
    ranked_scores = scores.keep(is_ranked)
    order, is_first = ranked_scores.argsort(descending=descending)
    indices: npt.NDArray[Any] = order
    if len(order) < len(is_ranked):
        indices = np.flatnonzero(is_ranked)[order]
    return Ragged(indices, ranked_scores.offsets), is_first


def rank_documents(grades: Ragged, scores: Ragged, *, descending: bool, condensed: bool) -> Ragged:
    """Return the rank of each document, from 1; NaN without a rank."""
    order, _ = sort_ranked(grades, scores, descending=descending, condensed=condensed)
    ranks = np.full(len(grades.values), np.nan)
    ranks[order.values] = order.position
    return grades.with_values(ranks)


def make_sort_key(query: Integers, grades: Floats) -> npt.NDArray[np.complex128]:
    """Return a key that sorts by query, then from the highest grade down."""
    key = np.empty(len(query), np.complex128)  # NumPy sorts by the real, then the imaginary part
    key.real, key.imag = query, -grades
    return key
