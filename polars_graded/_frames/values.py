"""Compute one row per strategy and query from a frame of whole queries.

This module does not depend on any engine, such as Spark. Data too large for one frame are cut into
parts of whole queries. The values of all parts are concatenated before the result is built. Notes
are facts about the data that warnings may need (see the module `data_warnings`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from polars_graded._frames.data_warnings import Notes, note_grades, warn_of_notes
from polars_graded._frames.records import build_records
from polars_graded._frames.request import Request
from polars_graded._frames.rows import TEMPORARY_NAME_TEMPLATE, Groups, are_sorted
from polars_graded._frames.strategies import in_order
from polars_graded._frames.tables import GRADER
from polars_graded._measuring.computing import Computation, MeasureValues, write_error
from polars_graded._measuring.documents import (
    DocumentLists,
    check_grades,
    check_sort_columns,
    read_input,
)
from polars_graded._measuring.kernels.errors import UnusableDataError
from polars_graded._measuring.list_columns import Lists
from polars_graded._measuring.measures import Measure

IS_JUDGED = TEMPORARY_NAME_TEMPLATE.format("judged")

MAX_SHARED_ROWS = 1 << 24
"""Maximum of (number of rows) × (number of strategies measured together).

Strategies that are measured together share work. If the product for all strategies exceeds the
maximum, they are measured in groups of at least one strategy.
"""


@dataclass(frozen=True)
class Part:
    """Rows of whole queries, and the request for the values that are computed from them."""

    request: Request
    groups: Groups

    def compute(self, names: Sequence[str]) -> list[MeasureValues]:
        """Return the values of strategies that are measured together.

        Raise if a kernel cannot use the data.
        """
        request, groups, measures = self.request, self.groups, [*self.measures.values()]
        documents = [
            list_documents(request, groups, name, self.grades, self.inputs) for name in names
        ]
        ranking, checked = request.build_ranking(names[0]), request.order_dependent_measures
        try:
            return Computation.of(measures, ranking, documents, checked).compute()
        except UnusableDataError as error:
            ranking = ranking.with_inputs(**request.inputs)
            msg = write_error(ranking, error, groups.n_groups, request.unit)
            raise ValueError(msg) from None

    @cached_property
    def measures(self) -> dict[str, Measure]:
        """Return the distinct measures to compute, by name."""
        return {measure.name: measure for measure in self.request.measures.values()}

    @cached_property
    def grades(self) -> Lists:
        """Return the checked grades, which all entries of `by` share."""
        grades = self.groups.lists(self.request.grade)
        check_grades(self.request.unsorted_ranking, grades)
        return grades

    @cached_property
    def inputs(self) -> dict[str, Lists]:
        """Return the inputs of measures, such as `popularity`, by name.

        All entries of `by` share these inputs.
        """
        request = self.request
        column = request.ties.document or request.document
        ranking = request.unsorted_ranking.with_inputs(**request.inputs)
        names = None
        if column is not None and request.inputs:
            names = self.groups.frame.get_column(column)
        return {
            name: read_input(ranking, name, self.groups.lists(each), names)
            for name, each in request.inputs.items()
        }

    @cached_property
    def records(self) -> list[pl.Series]:
        """Return the columns that record what was measured, which all entries of `by` share."""
        return build_records(self.request, self.groups)

    def build_values(self, name: str, values: MeasureValues) -> pl.DataFrame:
        """Return the values of a strategy with their keys: strategies only if they are stacked."""
        columns = dict(zip(self.measures, values.columns, strict=True))
        return pl.DataFrame(
            [
                *self.list_keys(name)[0 if self.request.strategy else 1 :],
                *(columns[m.name].alias(column) for column, m in self.request.measures.items()),
                *self.records,
            ]
        )

    def build_notes(self, name: str, values: MeasureValues) -> pl.DataFrame:
        """Return the notes about the rankings of a strategy, with their keys."""
        keys = {TEMPORARY_NAME_TEMPLATE.format(key.name): key for key in self.list_keys(name)}
        rows = pl.Series(self.groups.lengths, dtype=pl.UInt32)
        return pl.DataFrame({**keys, "rows": rows, **values.notes})

    def list_keys(self, name: str) -> list[pl.Series]:
        """Return the columns of the strategy and of the queries."""
        request, keys = self.request, self.groups.keys
        if request.strategy is None:
            strategy = pl.Series([name]).new_from_index(0, self.groups.n_groups)
        else:
            strategy = keys.get_column(request.strategy)
        return [strategy.alias(request.strategy_key), *map(keys.get_column, request.query)]


def list_documents(
    request: Request, groups: Groups, name: str, grades: Lists, inputs: Mapping[str, Lists]
) -> DocumentLists:
    """Check the sort columns of a strategy, and return the documents of each query."""
    ranking, columns = request.build_ranking(name), request.find_columns(name)
    sort_columns = [*map(groups.lists, columns)]
    for column in request.ties.columns or ():
        values = groups.lists(column)
        sort_columns.append(Lists(request.as_text(column, values.flat), values.offsets))
    check_sort_columns(ranking, grades, sort_columns, request.unit)
    document = request.ties.document
    documents = None if document is None else groups.frame.get_column(document)
    return DocumentLists.of(
        ranking, grades, sort_columns, request.ties.bits, documents, inputs, len(columns)
    )


class Gathered:
    """Values and notes of a request, collected part by part."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self._values: dict[str, list[pl.DataFrame]] = {name: [] for name in request.by}
        self._notes: list[pl.DataFrame] = []
        self._grades: list[pl.DataFrame] = []

    def add(self, groups: Groups) -> None:
        """Measure a part of whole queries."""
        part, names = Part(self.request, groups), [*self.request.by]
        size = max(1, MAX_SHARED_ROWS // max(1, groups.frame.height))
        for first in range(0, len(names), size):
            together = names[first : first + size]
            for name, values in zip(together, part.compute(together), strict=True):
                self._values[name].append(part.build_values(name, values))
                self._notes.append(part.build_notes(name, values))
        self._grades.append(note_grades(groups.frame.get_column(self.request.grade)))

    @cached_property
    def notes(self) -> Notes:
        """Return the notes of all rankings."""
        return Notes.of(self.request, self._notes, self._grades)

    def sort_values(self) -> pl.DataFrame:
        """Return the values of all queries, sorted by strategy and query."""
        request = self.request
        strategies = [_sort_by_query(request, pl.concat(parts)) for parts in self._values.values()]
        if request.strategy is not None:
            [values] = strategies
            names = in_order(values.get_column(request.strategy)).to_frame()
            return names.join(
                values, on=request.strategy, nulls_equal=True, maintain_order="left_right"
            )
        return pl.concat(
            values.select(pl.lit(name).alias(request.strategy_key), pl.all())
            for name, values in zip(request.by, strategies, strict=True)
        )

    def finish(self) -> pl.DataFrame:
        """Return the result of the request, and warn of what the notes show.

        Values of queries that the grader did not judge become null.
        """
        request, notes, values = self.request, self.notes, self.sort_values()
        if request.grader is None:
            warn_of_notes(notes)
            return values
        warn_of_notes(notes.of_judged_queries)
        judged = notes.of_judged_queries.of_queries.select(
            pl.col(column).alias(name)
            for column, name in zip(notes.query, request.query, strict=True)
        ).unique()
        is_judged = judged.with_columns(pl.lit(value=True).alias(IS_JUDGED))
        return values.join(
            is_judged, on=request.query, how="left", nulls_equal=True, maintain_order="left"
        ).select(
            pl.lit(request.grader).alias(GRADER),
            *request.result_keys,
            *(pl.when(IS_JUDGED).then(pl.col(name)).alias(name) for name in request.measures),
            *request.record_columns,
        )


def _sort_by_query(request: Request, values: pl.DataFrame) -> pl.DataFrame:
    """Return values sorted by query."""
    return values if are_sorted(values.select(request.query)) else values.sort(request.query)
