"""Reduce notes of rankings to counts and a few examples.

A note is a fact about a ranking that a data warning may need, such as its number of judged
documents. A large frame is measured in parts, which contain whole queries. The notes of a part have
one row per strategy and query. After each part, its notes are reduced to a size that does not
depend on the number of queries. A few notes, which warnings need for each query, are kept beside
the values of the measures. One of these notes is the number of judged documents, which a warning
compares between graders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import polars as pl

from polars_graded._checks import MAX_SHOWN_VALUES
from polars_graded._frames.request import Request

NOTES = "polars_graded: notes"
"""Name of the column of notes beside the values; no column of a frame has this name."""

KEY_TEMPLATE = "polars_graded: {}"
"""Template of names for key columns in the table of notes. No note has such a name."""

SUMMARIES: Mapping[str, tuple[pl.Expr, str]] = {
    "queries": (pl.len(), "sum"),
    "answered": ((pl.col("retrieved") > 0).sum(), "sum"),
    "unjudged": ((pl.col("judged") == 0).sum(), "sum"),
    "some_retrieved_are_unjudged": (
        (pl.col("retrieved") > pl.col("retrieved_and_judged")).any(),
        "any",
    ),
    "all_judged_are_retrieved": ((pl.col("judged") == pl.col("retrieved_and_judged")).all(), "all"),
    "depends_on_ties": (pl.col("depends_on_ties").sum(), "sum"),
    "judged_share_of_first_ten": (
        pl.col("judged_share_of_first_ten").filter(pl.col("retrieved") > 0).sum(),
        "sum",
    ),
    "first_ten": (pl.col("retrieved").clip(upper_bound=10).sum(), "sum"),
    "judged_of_first_ten": (
        (pl.col("judged_share_of_first_ten") * pl.col("retrieved").clip(upper_bound=10)).sum(),
        "sum",
    ),
    "lowest_maximum_grade": (pl.col("maximum_grade").min(), "min"),
    "highest_maximum_grade": (pl.col("maximum_grade").max(), "max"),
    "queries_with_relevant": (pl.col("maximum_grade").count(), "sum"),
}
"""Summaries of the notes of a strategy, by name: an expression and a function.

The expression computes the summary of one part. The function combines the summaries of all parts.
The maximum grade of a query is the highest grade of its relevant documents.
"""

LOWEST, HIGHEST, HALVES = "lowest_grade", "highest_grade", "grades_are_halves"
BELOW_ZERO = "grades_below_zero"
GRADE_NOTES: Mapping[str, str] = {
    LOWEST: "min",
    HIGHEST: "max",
    HALVES: "all",
    BELOW_ZERO: "sum",
}
"""Functions that combine the notes about the grades of all parts, by the name of the note."""

AT_MAXIMUM = "queries_at_maximum"
"""Name of a count of queries, for each strategy.

Let g be the highest grade of all relevant documents, in all queries of the strategy. The count is
the number of queries with a relevant document of grade g.
"""

DEPENDS_ON_TIES = "depends_on_ties"
"""Name of a note: True if a value of the ranking depends on the order of tied documents."""


def list_kept_notes(request: Request) -> list[str]:
    """Return the names of the notes that are kept beside the values."""
    kept = [] if request.grader is None else ["judged"]
    if request.strategy is not None and depends_on_missed(request):
        kept += ["n_relevant", "sum_of_relevant"]
    return kept


def depends_on_missed(request: Request) -> bool:
    """Return whether a measure depends on judged documents that were not retrieved."""
    return any(measure.definition.judged for measure in request.measures.values())


class Notes:
    """Notes of all parts of a frame, reduced part by part."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.strategy, *self.query = (KEY_TEMPLATE.format(key) for key in request.result_keys)
        self.n_dependent = 0
        """Number of queries with a value that depends on ties. If strategies are stacked, each
        strategy of a query counts separately."""
        self._counts: list[pl.DataFrame] = []
        self._unjudged: list[pl.DataFrame] = []
        self._without_key: list[pl.DataFrame] = []

    def add(self, notes_of_entries: Sequence[pl.DataFrame], grades: Mapping[str, Any]) -> None:
        """Add the notes of a part.

        `notes_of_entries` has one frame per entry of `by`. `grades` has the notes about all grades.
        """
        grade_notes = [pl.lit(grades[name]).alias(name) for name in GRADE_NOTES]
        summaries = {name: expr for name, (expr, _) in SUMMARIES.items()}
        is_at_maximum = pl.col("maximum_grade") == pl.col("maximum_grade").max()
        is_dependent = pl.Series([False])
        for entry, notes_of_entry in enumerate(notes_of_entries):
            notes = notes_of_entry
            if self.request.grader is not None:  # leave out queries that the grader did not judge
                notes = notes.filter(pl.col("judged").max().over(self.query) > 0)
            by_strategy = notes.group_by(self.strategy, maintain_order=True)
            self._counts.append(
                by_strategy.agg(**summaries, **{AT_MAXIMUM: is_at_maximum.sum()}).with_columns(
                    grade_notes
                )
            )
            is_dependent = is_dependent | notes.get_column("depends_on_ties")
            if entry == 0:  # further entries have the same queries and grades
                unjudged = notes.lazy().filter(judged=0).select(self.query)
                self._unjudged.append(
                    unjudged.unique().sort(self.query).head(MAX_SHOWN_VALUES + 1).collect()
                )
                self._without_key.append(self._count_rows_without_key(notes))
        self.n_dependent += int(is_dependent.sum())

    @cached_property
    def strategies(self) -> pl.DataFrame:
        """Return the counts of each strategy, in order of first occurrence."""
        maximum = pl.col("highest_maximum_grade")
        combined = {name: getattr(pl.col(name), how)() for name, (_, how) in SUMMARIES.items()}
        combined |= {name: getattr(pl.col(name), how)() for name, how in GRADE_NOTES.items()}
        combined[AT_MAXIMUM] = pl.col(AT_MAXIMUM).filter(maximum == maximum.max()).sum()
        counts = pl.concat(self._counts, how="vertical_relaxed")
        return counts.group_by(self.strategy, maintain_order=True).agg(**combined)

    @cached_property
    def unjudged(self) -> list[tuple[Any, ...]]:
        """Return the first few queries without judged documents, in sorted order."""
        queries = pl.concat(self._unjudged).unique().sort(self.query)
        return queries.head(MAX_SHOWN_VALUES + 1).rows()

    @cached_property
    def rows_without_key(self) -> dict[tuple[str, str], int]:
        """Return the number of rows for each kind of missing key.

        For example, the number at `("query", "null")` counts rows with a null query.
        """
        counts = pl.concat(self._without_key).sum().row(0, named=True)
        return {
            (name, missing_as): n
            for key, n in counts.items()
            for name, missing_as in [key.split(" ")]
        }

    def _count_rows_without_key(self, notes: pl.DataFrame) -> pl.DataFrame:
        """Count the rows with a null query or strategy, and those with NaN.

        If several columns form a query, it counts as null only if all of them are null, and as NaN
        only if all of them are NaN.
        """
        keys = {"query": self.query}
        if self.request.strategy is not None:
            keys["strategy"] = [self.strategy]
        conditions = {}
        for key, columns in keys.items():
            conditions[f"{key} null"] = pl.all_horizontal(pl.col(columns).is_null())
            if all(notes.schema[column].is_float() for column in columns):
                conditions[f"{key} NaN"] = pl.all_horizontal(pl.col(columns).is_nan())
        rows = pl.col("rows")
        return notes.select(
            rows.filter(is_missing).sum().alias(name) for name, is_missing in conditions.items()
        )
