"""From a request and a frame of whole queries to one row per strategy and query.

This knows of no engine. What is too large for one frame is cut into parts of whole queries, whose
values are put together before they are finished.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from polars_graded._frames import noticing
from polars_graded._frames.grouping import Groups, are_sorted, constant
from polars_graded._frames.noticing import JUDGED_AT_THE_TOP, NOTES
from polars_graded._frames.sorting import in_order
from polars_graded._frames.ties import with_ties_broken
from polars_graded._measuring.computing import (
    GRADES,
    SCORES,
    TIES,
    Computed,
    check_finite,
    check_measures,
    computed,
    depth_of,
    need_ties,
    sentence,
)
from polars_graded._measuring.kernels.errors import UnusableDataError
from polars_graded._measuring.ranking import check_exact, is_finite, unusable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from polars_graded._frames.request import Request
    from polars_graded._measuring.batches import Lists
    from polars_graded._measuring.kernels.ragged import Integers
    from polars_graded._measuring.names import Measure
    from polars_graded._measuring.ranking import Ranking

UNUSABLE = "polars_graded: unusable"
"""A column under a name that no frame has."""

WHAT_IS_UNUSABLE = pl.Struct(
    {
        "column": pl.UInt32(),
        "rule": pl.String(),
        "queries": pl.UInt32(),
        "grades": pl.List(pl.Float64),
    }
)
"""What is wrong with the data of a query: the number of a column with NaN or infinity in it; or the
rule that queries of a part break, in how many of them and by which grades, at the first of all."""


MOST_ROWS = 1 << 24
"""Strategies that have no more rows in all are measured together, so that what they share is found
once; of more, progress shows in between."""


def values_of(request: Request, frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """For each entry of `by` the values of a frame of whole queries, with notes beside them."""
    part = Part(request, frame, Groups.of(frame, request.keys))
    noticing.warn_of_doubles(request, frame, part.groups)
    names = [*request.by]
    size = max(1, MOST_ROWS // max(1, frame.height))
    for first in range(0, len(names), size):
        yield from part.values(names[first : first + size])


@dataclass(frozen=True)
class Part:
    """A frame of whole queries, and what is asked of it."""

    request: Request
    frame: pl.DataFrame
    groups: Groups

    @cached_property
    def measures(self) -> dict[str, Measure]:
        """What is measured, each once."""
        top = [JUDGED_AT_THE_TOP] if self.has_unjudged else []
        measures = {measure.name: measure for measure in [*self.request.measures.values(), *top]}
        check_measures([*measures.values()], self.request.scale, known=False)
        return measures

    @cached_property
    def has_unjudged(self) -> bool:
        """Whether strategies may differ in how much of what they retrieved is judged."""
        grades = self.frame.get_column(self.request.grade)
        return _are_compared(self.request) and grades.null_count() > 0

    @cached_property
    def grades(self) -> Lists:
        """The grades of each query, which all strategies share."""
        grades = self.frame.get_column(self.request.grade)
        check_exact(grades)
        return self.groups.lists(grades)

    @cached_property
    def notes(self) -> dict[str, pl.Series]:
        """What is to be known of each query, whatever the strategy."""
        return noticing.notes_of_queries(self.request, self.frame, self.groups)

    def values(self, names: Sequence[str]) -> Iterator[pl.DataFrame]:
        """The values of some strategies; null where data are unusable, with what is wrong."""
        not_finite = {name: self.not_finite(name) for name in names}
        usable = [name for name, numbers in not_finite.items() if not numbers.any()]
        measures, error, found = [*self.measures.values()], None, {}
        try:
            documents = [self.documents(name) for name in usable]
            if documents:
                ranking = self.ranking(usable[0])
                found = dict(zip(usable, computed(measures, ranking, documents), strict=True))
        except UnusableDataError as caught:
            error = caught
        nothing = Computed(
            [self.constant(None, measure.definition.dtype) for measure in measures],
            self.constant(value=False, dtype=pl.Boolean()),
        )
        for name in names:
            wrong = self.constant(None, WHAT_IS_UNUSABLE)
            if name not in found:
                wrong = _wrong(not_finite[name], error)
            yield self.of_strategy(name, found.get(name, nothing), wrong)

    def constant(self, value: object, dtype: pl.DataType) -> pl.Series:
        """A column of one value for each query."""
        return constant(value, dtype, self.groups.n)

    def ranking(self, name: str) -> Ranking:
        """How a strategy is ranked."""
        return self.request.ranking(self.request.columns_of(name))

    def columns(self, name: str) -> list[pl.Series]:
        """The grade, and what a strategy is ranked by."""
        by = [*self.request.columns_of(name), *(self.request.ties or ())]
        return [self.frame.get_column(column) for column in (self.request.grade, *by)]

    def not_finite(self, name: str) -> Integers:
        """For each query the number of a column of the strategy with NaN or infinity, or 0."""
        columns = self.columns(name)
        if all(map(is_finite, columns)):
            return np.zeros(self.groups.n, np.int64)
        return self.groups.reduced(np.maximum, unusable(columns)).astype(np.int64)

    def documents(self, name: str) -> Mapping[str, Lists]:
        """What measures have to know of the documents of each query."""
        _, *keys = self.columns(name)
        measures = [*self.measures.values()]
        if depth_of(measures) == 0:
            return {GRADES: self.grades}
        groups, grades = self.groups, self.grades
        scores = ties = groups.lists(keys[0]).as_numbers()
        if len(keys) > 1:
            descending = self.ranking(name).descending[1:]
            groups, ties = with_ties_broken(groups, scores, keys[1:], descending)
        if groups is not self.groups:
            grades, scores = groups.lists(grades.flat), groups.lists(scores.flat)
        documents = {GRADES: grades, SCORES: scores}
        if need_ties(measures) or noticing.looks_at_order(self.request):
            documents[TIES] = ties
        return documents

    def of_strategy(self, name: str, found: Computed, wrong: pl.Series) -> pl.DataFrame:
        """The columns of a strategy: keys, values, what is wrong and what is to be known."""
        request, of_measure = self.request, dict(zip(self.measures, found.values, strict=True))
        strategy = self.constant(name, pl.String())
        if request.strategy is not None:
            strategy = self.groups.keys.get_column(request.strategy)
        at_the_top = self.constant(1.0, pl.Float64())
        if self.has_unjudged:
            at_the_top = of_measure[JUDGED_AT_THE_TOP.name]
        score = request.columns_of(name)
        notes = self.notes | noticing.notes_of_strategy(request, score, self.frame, self.groups)
        notes["judged_at_the_top"] = at_the_top
        notes["tied"] = self.constant(value=False, dtype=pl.Boolean())
        if noticing.looks_at_order(request):
            notes["tied"] = found.decided_by_order
        return pl.DataFrame(
            [
                strategy.alias(request.key),
                *map(self.groups.keys.get_column, request.query),
                *(of_measure[m.name].alias(column) for column, m in request.measures.items()),
                wrong.alias(UNUSABLE),
                pl.DataFrame(notes).to_struct(NOTES),
            ]
        )


def _wrong(numbers: Integers, error: UnusableDataError | None) -> pl.Series:
    """What is wrong with each query: a column, by its number; or, at the first, an error."""
    wrong: list[dict[str, object]] = [{"column": number} for number in numbers.tolist()]
    if error is not None:
        wrong[0] |= {"rule": error.rule, "queries": error.queries, "grades": [*error.grades]}
    return pl.Series(wrong, dtype=WHAT_IS_UNUSABLE)


def _check_usable(ranking: Ranking, wrong: pl.Series, each: str) -> None:
    """Raise what is wrong with any of the queries, or what `each` is called, all counted."""
    fields = wrong.struct.unnest()
    check_finite(ranking, fields.get_column("column").fill_null(0).to_numpy(), each)
    broken = fields.drop_nulls("rule").select("rule", "queries", "grades").iter_rows()
    if errors := [UnusableDataError(*row) for row in broken]:
        error = UnusableDataError.of_all(errors)
        raise ValueError(sentence(ranking, error, len(wrong), each))


def _are_compared(request: Request) -> bool:
    """Whether there may be several strategies."""
    return len(request.by) > 1 or request.strategy is not None


def finished(request: Request, values: pl.DataFrame) -> pl.DataFrame:
    """What the caller gets of the values of all queries: checked, looked at, in order."""
    names = [*request.by] if values.get_column(UNUSABLE).count() else []
    for name in names:
        of_it = values if request.strategy else values.filter(pl.col(request.key) == name)
        each = "rankings" if request.strategy else "queries"
        _check_usable(request.ranking(request.columns_of(name)), of_it.get_column(UNUSABLE), each)
    values = values.drop(UNUSABLE)
    if not are_sorted(values.select(request.query)):
        values = values.sort(request.query)
    if _are_compared(request):
        strategies = pl.Series(request.key, [*request.by])
        if request.strategy is not None:
            strategies = in_order(values.get_column(request.key))
        values = strategies.to_frame().join(
            values, on=request.key, nulls_equal=True, maintain_order="left_right"
        )
    noticing.warn(request, values)
    return values.drop(NOTES)
