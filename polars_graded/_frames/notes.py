"""Facts about rankings that data warnings need, one row per strategy and query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from polars_graded._frames.request import Request
from polars_graded._frames.rows import TEMPORARY_NAME_TEMPLATE, Groups
from polars_graded._measuring.kernels.ragged import Integers
from polars_graded._measuring.list_columns import Lists
from polars_graded._measuring.measures import Measure

DEPENDS_ON_TIES = "depends_on_ties"
"""Name of a note: True if a value of the ranking depends on the order of tied documents."""

TIED_PAIR = TEMPORARY_NAME_TEMPLATE.format("depends on ties")
"""Name of a column beside the values of pairs: True if these depend on the order of ties."""

_FIRST_TEN = pl.col("retrieved").clip(upper_bound=10).cast(pl.Int64)

SUMMARIES: Mapping[str, pl.Expr] = {
    "queries": pl.len(),
    "answered": (pl.col("retrieved") > 0).sum(),
    "some_retrieved_are_unjudged": (pl.col("retrieved") > pl.col("retrieved_and_judged")).any(),
    "all_judged_are_retrieved": (pl.col("judged") == pl.col("retrieved_and_judged")).all(),
    "depends_on_ties": pl.col(DEPENDS_ON_TIES).sum(),
    "first_ten": _FIRST_TEN.sum(),
    "judged_of_first_ten": (pl.col("judged_share_of_first_ten") * _FIRST_TEN).sum(),
    "lowest_maximum_grade": pl.col("maximum_grade").min(),
    "highest_maximum_grade": pl.col("maximum_grade").max(),
    "queries_with_relevant": pl.col("maximum_grade").count(),
}
"""Summaries of the notes of a strategy, by name.

The maximum grade of a query is the highest grade of its relevant documents.
"""

JUDGED_AT_THE_TOP = Measure.of("judged", 10)

MIN_HALF_STAR = 0.5
"""Lowest grade of a scale of half stars."""

LOWEST, HIGHEST, HALVES = "lowest_grade", "highest_grade", "grades_are_halves"
BELOW_ZERO = "grades_below_zero"
"""Names of notes about all grades."""


@dataclass(frozen=True)
class Notes:
    """Notes of all rankings of a request, and of their grades."""

    request: Request
    table: pl.DataFrame
    """Strategy and query, named by `TEMPORARY_NAME_TEMPLATE`, and the notes."""
    grades: Mapping[str, Any]

    @property
    def strategy(self) -> str:
        """The column of strategies in the table."""
        return TEMPORARY_NAME_TEMPLATE.format(self.request.key)

    @property
    def query(self) -> list[str]:
        """The columns of queries in the table."""
        return [TEMPORARY_NAME_TEMPLATE.format(key) for key in self.request.query]

    @cached_property
    def of_judged_queries(self) -> Notes:
        """The notes without queries that the grader did not judge for any strategy."""
        is_judged = pl.col("judged").max().over(self.query) > 0
        return Notes(self.request, self.table.filter(is_judged), self.grades)

    @cached_property
    def of_queries(self) -> pl.DataFrame:
        """The rows of the first entry of `by`. Further entries have the same queries and grades."""
        if self.request.strategy is not None:
            return self.table
        return self.table.filter(pl.col(self.strategy) == next(iter(self.request.by)))

    @cached_property
    def strategies(self) -> pl.DataFrame:
        """The summaries of each strategy, in order of first occurrence."""
        return self.table.group_by(self.strategy, maintain_order=True).agg(**SUMMARIES)

    @cached_property
    def n_dependent(self) -> int:
        """Number of queries for which a value of a strategy depends on ties."""
        return self.table.filter(DEPENDS_ON_TIES).select(self.query).n_unique()

    @cached_property
    def unjudged(self) -> list[tuple[Any, ...]]:
        """The queries for which a strategy has no judged document, in sorted order."""
        queries = self.of_queries.filter(judged=0).select(self.query)
        return queries.unique().sort(self.query).rows()

    @property
    def rows_without_key(self) -> dict[str, int]:
        """The number of rows without a query, and without a strategy.

        If several columns form a query, it is null only if all of them are null.
        """
        keys = {"query": self.query}
        if self.request.strategy is not None:
            keys["strategy"] = [self.strategy]
        rows = pl.col("rows").cast(pl.Int64)
        n_rows = self.of_queries.select(
            rows.filter(pl.all_horizontal(pl.col(columns).is_null())).sum().alias(kind)
            for kind, columns in keys.items()
        )
        return n_rows.row(0, named=True)


def note_queries(request: Request, groups: Groups, grades: Lists) -> dict[str, pl.Series]:
    """Return the notes that all entries of `by` share, by name.

    Each note has one value per query.
    """
    noted = {
        "rows": _count(groups.lengths),
        "judged": _count(grades.count(grades.flat.is_not_null())),
        "maximum_grade": pl.Series([None], dtype=pl.Float64).new_from_index(0, groups.n_groups),
    }
    if request.measures_without_scale:
        doubles = grades.flat.cast(pl.Float64).fill_null(float("nan"))
        highest = groups.reduce_groups(np.fmax, doubles)
        relevant = request.scale.is_relevant(pl.col("highest"))
        noted["maximum_grade"] = highest.to_frame("highest").select(
            pl.when(relevant).then("highest")
        )["highest"]
    if request.strategy is not None and request.depends_on_missed:
        # Each of these notes is equal for all strategies of a query, unless judgments were lost.
        grade = pl.col("grade")
        relevant = request.scale.is_relevant(grade)
        relevant_grade = pl.when(relevant).then(grade.cast(pl.Float64)).otherwise(0.0)
        rows = grades.flat.to_frame("grade").select(
            relevant=relevant, relevant_grade=relevant_grade
        )
        noted["n_relevant"] = _count(grades.count(rows["relevant"]))
        noted["sum_of_relevant"] = groups.reduce_groups(np.add, rows["relevant_grade"])
    return noted


def note_grades(grades: pl.Series) -> pl.DataFrame:
    """Return the notes about all grades of a part, such as the lowest and the highest."""
    ends = grades.to_frame("grade").select(
        pl.col("grade").min().cast(pl.Float64).alias(LOWEST),
        pl.col("grade").max().cast(pl.Float64).alias(HIGHEST),
    )
    low = ends.get_column(LOWEST).item()
    are_halves = False
    if low is not None and low >= MIN_HALF_STAR:  # half-star scales start at 0.5
        doubled = 2 * grades.cast(pl.Float64)
        are_halves = bool((doubled == doubled.floor()).all())
    n_below = int((grades < 0).sum()) if low is not None and low < 0 else 0
    return ends.with_columns(
        pl.lit(are_halves).alias(HALVES), pl.lit(n_below, pl.Int64).alias(BELOW_ZERO)
    )


def note_scores(scores: Lists, grades: Lists) -> dict[str, pl.Series]:
    """Return those notes of a strategy that do not depend on measures.

    Each note has one value per query.
    """
    is_retrieved = scores.flat.is_not_null()
    return {
        "retrieved": _count(scores.count(is_retrieved)),
        "retrieved_and_judged": _count(scores.count(is_retrieved & grades.flat.is_not_null())),
    }


def _count(counts: Integers) -> pl.Series:
    """Return counts of rows of queries in little memory."""
    return pl.Series(counts.astype(np.uint32))
