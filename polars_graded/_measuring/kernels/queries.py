"""What a kernel is given: the ranked and the judged grades of some queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from polars_graded._measuring.kernels.errors import UnusableDataError

if TYPE_CHECKING:
    from collections.abc import Callable

    from polars_graded._measuring.kernels.ragged import Floats, Integers, Mask, Ragged

Over: TypeAlias = Literal["relevant", "cutoff"]
Ties: TypeAlias = Literal["order", "average"]
TIE_RULES: tuple[str, ...] = get_args(Ties)


ROUNDING = 1e-9
"""How far above 1 a share may come out: its sums are added up in another order."""


def over_ideal(reached: Floats, ideal: Floats) -> Floats:
    """What was reached over the most there is to reach; NaN where there is nothing.

    Rounding may lift it above 1, where it is put back. More than that is a defect, which nothing
    must hide.
    """
    excess = reached > ideal * (1 + ROUNDING) + np.finfo(np.float64).tiny
    if excess.any():
        worst = (reached[excess] / ideal[excess]).max()
        msg = f"what was reached is {worst:g} of the ideal in {excess.sum()} places"
        raise ArithmeticError(msg)
    return np.minimum(reached / ideal, 1.0)


@dataclass(frozen=True)
class Queries:
    """Some queries: what was retrieved for them, in which order, and what could have been."""

    ranked: Ragged
    """Grades in rank order, as deep as a measure looks; NaN for an unjudged document."""
    judged: Ragged
    """Grades of all judged documents, highest first, as deep as a measure looks; at least one."""
    top: Floats
    """Highest judged grade of each query; NaN where none is judged."""
    ties: Ragged
    """For each ranked document a number that those tied with it share; empty if not asked for."""
    irrelevant: float
    """The grade that means not relevant."""
    highest: float | None
    """The highest grade of the scale, if it was given."""

    def relevance(self, grades: Floats) -> Floats:
        """Grades above irrelevant as what they are above it; 0 for the others and the unjudged."""
        return np.fmax(grades - self.irrelevant if self.irrelevant else grades, 0)

    def relevant(self, grades: Floats, threshold: float | None) -> Mask:
        """Which grades reach the threshold, or are above irrelevant where there is none."""
        return grades > self.irrelevant if threshold is None else grades >= threshold

    def n_relevant(self, threshold: float | None) -> Integers:
        """R: how many judged documents of each query are relevant."""
        return self.judged.count(self.relevant(self.judged.values, threshold))

    def most_hits(self, n: int | None, threshold: float | None, over: str) -> Integers:
        """R, or with `over="cutoff"` how many of those there is room for in the top n."""
        total = self.n_relevant(threshold)
        return total if n is None or over == "relevant" else np.minimum(total, n)

    @property
    def best(self) -> Floats:
        """The highest grade that a document of each query can have."""
        return self.top if self.highest is None else np.full_like(self.top, self.highest)

    def share_of_best(self, grades: Ragged) -> Floats:
        """Relevance over the highest that the query can have: ngain of equation 5."""
        best = np.repeat(self.relevance(self.best), grades.lengths)
        return np.where(best > 0, self.relevance(grades.values) / best, 0.0)

    def first(self, n: int | None, worth: Callable[[Ragged], Floats | Mask], ties: str) -> Ragged:
        """What each of the first `n` documents is worth, by `worth`.

        With `ties="average"` a document is worth the mean of those it is tied with: its expected
        worth over all orders of them.
        """
        if ties == "average":
            starts = self.tie_starts()
            sizes = np.diff(starts, append=len(self.ranked.values))
            sums = np.add.reduceat(worth(self.ranked), starts, dtype=np.float64)
            return self.ranked.of(np.repeat(sums / sizes, sizes)).head(n)
        ranked = self.ranked.head(n)
        return ranked.of(worth(ranked).astype(np.float64, copy=False))

    def tie_starts(self) -> Integers:
        """The first of each set of tied documents."""
        new = np.diff(self.ties.values, prepend=np.nan) != 0
        new[self.ties.offsets[:-1][self.ties.lengths > 0]] = True
        return np.flatnonzero(new)

    def check_grades_within_scale(self) -> None:
        """Raise where a grade is above the highest that the scale was said to have."""
        if self.highest is not None and (above := self.top > self.highest).any():
            rule = f"grades must not be above `highest`, {self.highest:g}"
            raise UnusableDataError(rule, int(above.sum()))
