"""Reduce notes of rankings to counts and a few examples, part by part.

Notes have one row per strategy and query, and are taken while a part of a frame is measured. They
are reduced to a size that does not depend on the number of queries. Only notes that rules compare
between rankings of different parts are kept with the values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import polars as pl

from polars_graded._checks import MAX_SHOWN_VALUES
from polars_graded._frames.request import Request

NOTES = "polars_graded: notes"
"""Name of the column of the notes that are kept with values; no column of a frame has it."""

KEY = "polars_graded: {}"
"""Name of a key in the table of notes; no note has such a name."""

COUNTS: Mapping[str, tuple[pl.Expr, str]] = {
    "queries": (pl.len(), "sum"),
    "answered": ((pl.col("retrieved") > 0).sum(), "sum"),
    "unjudged": ((pl.col("judged") == 0).sum(), "sum"),
    "retrieved_unjudged": ((pl.col("retrieved") > pl.col("retrieved_and_judged")).any(), "any"),
    "retrieved_all_judged": ((pl.col("judged") == pl.col("retrieved_and_judged")).all(), "all"),
    "some_count_up": (pl.col("counts_up").any(), "any"),
    "decided_by_order": (pl.col("decided_by_order").sum(), "sum"),
    "judged_at_the_top": (pl.col("judged_at_the_top").filter(pl.col("retrieved") > 0).sum(), "sum"),
    "first_ten": (pl.col("retrieved").clip(upper_bound=10).sum(), "sum"),
    "judged_of_first_ten": (
        (pl.col("judged_at_the_top") * pl.col("retrieved").clip(upper_bound=10)).sum(),
        "sum",
    ),
    "lowest_relevant_highest": (pl.col("relevant_highest").min(), "min"),
    "highest": (pl.col("relevant_highest").max(), "max"),
    "relevant": (pl.col("relevant_highest").count(), "sum"),
}
"""Expression of each count of a strategy's rankings, and the way to combine counts of parts."""

LOWEST, HIGHEST, HALVES = "lowest_grade", "highest_grade", "grades_are_halves"
BELOW_ZERO = "grades_below_zero"
AT_CODE, BELOW_CODE = "grades_at_code", "highest_below_code"
GRADES: Mapping[str, str] = {
    LOWEST: "min",
    HIGHEST: "max",
    HALVES: "all",
    BELOW_ZERO: "sum",
    AT_CODE: "sum",
    BELOW_CODE: "max",
}
"""Way to combine the notes of parts, for each note about all grades of a part."""

AT_HIGHEST = "relevant_at_highest"
DECIDED_BY_ORDER = "decided_by_order"


def list_kept_notes(request: Request) -> list[str]:
    """Return the notes that are kept with values."""
    kept = [] if request.grader is None else ["judged"]
    if request.strategy is not None and counts_missed(request):
        kept += ["relevant", "worth"]
    return kept


def counts_missed(request: Request) -> bool:
    """Return whether a measure counts judged documents that were not retrieved."""
    return any(measure.definition.judged for measure in request.measures.values())


class Notes:
    """Notes of all parts of a frame, reduced part by part."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.strategy, *self.query = (KEY.format(key) for key in request.result_keys)
        self.n_decided = 0
        """Number of rankings whose values depend on the order of rows. If strategies are columns of
        the same rows, a query counts once."""
        self._counts: list[pl.DataFrame] = []
        self._unjudged: list[pl.DataFrame] = []
        self._without_key: list[pl.DataFrame] = []

    def add(self, rankings: Sequence[pl.DataFrame], grades: Mapping[str, Any]) -> None:
        """Add the notes of a part: of the rankings for each entry of `by`, and of all grades."""
        of_part = [pl.lit(grades[name]).alias(name) for name in GRADES]
        counts = {name: expr for name, (expr, _) in COUNTS.items()}
        at_highest = pl.col("relevant_highest") == pl.col("relevant_highest").max()
        decided = pl.Series([False])
        for entry, every in enumerate(rankings):
            notes = every
            if self.request.grader is not None:  # the grader judged no other queries
                notes = every.filter(pl.col("judged").max().over(self.query) > 0)
            by_strategy = notes.group_by(self.strategy, maintain_order=True)
            self._counts.append(
                by_strategy.agg(**counts, **{AT_HIGHEST: at_highest.sum()}).with_columns(of_part)
            )
            decided = decided | notes.get_column("decided_by_order")
            if entry == 0:  # further entries have the same queries and grades
                unjudged = notes.lazy().filter(judged=0).select(self.query)
                self._unjudged.append(
                    unjudged.unique().sort(self.query).head(MAX_SHOWN_VALUES + 1).collect()
                )
                self._without_key.append(self._count_rows_without_key(notes))
        self.n_decided += int(decided.sum())

    @cached_property
    def strategies(self) -> pl.DataFrame:
        """Return the counts of each strategy, in the order of their first rows."""
        highest = pl.col("highest")
        combined = {name: getattr(pl.col(name), how)() for name, (_, how) in COUNTS.items()}
        combined |= {name: getattr(pl.col(name), how)() for name, how in GRADES.items()}
        combined[AT_HIGHEST] = pl.col(AT_HIGHEST).filter(highest == highest.max()).sum()
        counts = pl.concat(self._counts, how="vertical_relaxed")
        return counts.group_by(self.strategy, maintain_order=True).agg(**combined)

    @cached_property
    def unjudged(self) -> list[tuple[Any, ...]]:
        """Return the first few queries without a judged document."""
        queries = pl.concat(self._unjudged).unique().sort(self.query)
        return queries.head(MAX_SHOWN_VALUES + 1).rows()

    @cached_property
    def rows_without_key(self) -> dict[tuple[str, str], int]:
        """Return the number of rows whose query or strategy is null or NaN."""
        counts = pl.concat(self._without_key).sum().row(0, named=True)
        return {(name, lack): n for key, n in counts.items() for name, lack in [key.split(" ")]}

    def _count_rows_without_key(self, notes: pl.DataFrame) -> pl.DataFrame:
        """Return the number of rows with null in all columns of the key."""
        kinds = {"query": self.query}
        if self.request.strategy is not None:
            kinds["strategy"] = [self.strategy]
        counts = {}
        for kind, columns in kinds.items():
            counts[f"{kind} null"] = pl.all_horizontal(pl.col(columns).is_null())
            if all(notes.schema[column].is_float() for column in columns):
                counts[f"{kind} NaN"] = pl.all_horizontal(pl.col(columns).is_nan())
        rows = pl.col("rows")
        return notes.select(rows.filter(lacks).sum().alias(key) for key, lacks in counts.items())
