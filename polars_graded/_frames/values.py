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

from polars_graded._frames.columns import FrameColumns
from polars_graded._frames.data_warnings import Notes, note_grades, warn_of_notes
from polars_graded._frames.records import build_records
from polars_graded._frames.request import Request
from polars_graded._frames.rows import TEMPORARY_NAME_TEMPLATE, Groups, are_sorted
from polars_graded._frames.strategies import in_order
from polars_graded._frames.tables import GRADER
from polars_graded._measuring.column_checks import check_grades, check_sort_columns
from polars_graded._measuring.computing import Computation, MeasureValues
from polars_graded._measuring.document_inputs import read_input
from polars_graded._measuring.documents import DocumentLists
from polars_graded._measuring.kernels.errors import UnusableDataError
from polars_graded._measuring.list_columns import Lists
from polars_graded._measuring.measures import Measure
from polars_graded._measuring.ties import round_scores

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

    @property
    def columns(self) -> FrameColumns:
        """The columns of the frame, by what they hold."""
        return self.request.columns

    def compute(self, names: Sequence[str]) -> list[MeasureValues]:
        """Return the values of strategies that are measured together.

        Raise if a kernel cannot use the data.
        """
        request, groups, measures = self.request, self.groups, [*self.measures.values()]
        documents = [
            list_documents(request, groups, name, self.grades, self.inputs) for name in names
        ]
        try:
            return Computation.of(
                measures,
                request.scale,
                documents,
                condensed=request.condensed,
                takes_notes=True,
                tie_checked=request.order_dependent_measures,
            ).compute()
        except UnusableDataError as error:
            ranking = request.unsorted_ranking.with_inputs(**self.columns.inputs)
            msg = ranking.write_error(error, groups.n_groups, self.columns.unit)
            raise ValueError(msg) from None

    @cached_property
    def measures(self) -> dict[str, Measure]:
        """Return the distinct measures to compute, by name."""
        return {measure.name: measure for measure in self.request.measures.values()}

    @cached_property
    def grades(self) -> Lists:
        """Return the checked grades, which all entries of `by` share."""
        grades = self.groups.lists(self.columns.grade)
        check_grades(self.request.unsorted_ranking.grade_name, grades, self.columns.unit)
        return grades

    @cached_property
    def inputs(self) -> dict[str, Lists]:
        """Return the inputs of measures, such as `popularity`, by name.

        All entries of `by` share these inputs.
        """
        columns, groups = self.columns, self.groups
        # In an ideal ranking of subtopics, documents of equal gains are in the order of their ids.
        document = self.request.ties.document or columns.document
        ranking = self.request.unsorted_ranking.with_inputs(**columns.inputs)
        document_ids = None if document is None else groups.frame.get_column(document)
        return {
            name: read_input(ranking.name_input(name), name, groups.lists(column), document_ids)
            for name, column in columns.inputs.items()
        }

    @cached_property
    def records(self) -> list[pl.Series]:
        """Return the columns that record what was measured, which all entries of `by` share."""
        return build_records(self.request, self.groups)

    def build_values(self, name: str, values: MeasureValues) -> pl.DataFrame:
        """Return the values of a strategy with their keys: strategies only if they are stacked."""
        strategy, *queries = self.list_keys(name)
        keys = [strategy, *queries] if self.columns.strategy else queries
        by_measure = dict(zip(self.measures, values.columns, strict=True))
        results = [by_measure[m.name].alias(name) for name, m in self.request.measures.items()]
        return pl.DataFrame([*keys, *results, *self.records])

    def build_notes(self, name: str, values: MeasureValues) -> pl.DataFrame:
        """Return the notes about the rankings of a strategy, with their keys."""
        keys = {TEMPORARY_NAME_TEMPLATE.format(key.name): key for key in self.list_keys(name)}
        rows = pl.Series(self.groups.lengths, dtype=pl.UInt32)
        return pl.DataFrame({**keys, "rows": rows, **values.notes})

    def list_keys(self, name: str) -> list[pl.Series]:
        """Return the columns of the strategy and of the queries."""
        columns, keys = self.columns, self.groups.keys
        if columns.strategy is None:
            strategy = pl.Series([name]).new_from_index(0, self.groups.n_groups)
        else:
            strategy = keys.get_column(columns.strategy)
        return [strategy.alias(columns.strategy_key), *map(keys.get_column, columns.query)]


def list_documents(
    request: Request, groups: Groups, name: str, grades: Lists, inputs: Mapping[str, Lists]
) -> DocumentLists:
    """Check the sort columns of a strategy, and return the documents of each query."""
    columns, ranking = request.columns, request.build_ranking(name)
    by = columns.find_sort_columns(name)
    sort_columns = [*map(groups.lists, by)]
    for column in request.ties.columns:
        values = groups.lists(column)
        sort_columns.append(Lists(columns.as_text(column, values.flat), values.offsets))
    check_sort_columns(ranking.sort_names, sort_columns, grades, columns.unit)
    if request.ties.bits is not None:
        sort_columns[0] = round_scores(sort_columns[0], request.ties.bits)
    document = request.ties.document
    document_ids = None if document is None else groups.frame.get_column(document)
    return DocumentLists.of(ranking, grades, sort_columns, document_ids, inputs, len(by))


class ValueCollector:
    """Values and notes of a request, collected part by part."""

    def __init__(self, request: Request) -> None:
        self.request, self.columns = request, request.columns
        self._values: dict[str, list[pl.DataFrame]] = {name: [] for name in request.columns.by}
        self._notes: list[pl.DataFrame] = []
        self._grade_notes: list[pl.DataFrame] = []
        self._documents = set[str | None]()

    def add(self, groups: Groups) -> None:
        """Measure a part of whole queries."""
        part, names = Part(self.request, groups), [*self.columns.by]
        # Strategies that share work are in memory together.
        size = max(1, MAX_SHARED_ROWS // max(1, groups.frame.height))
        for first in range(0, len(names), size):
            together = names[first : first + size]
            for name, values in zip(together, part.compute(together), strict=True):
                self._values[name].append(part.build_values(name, values))
                self._notes.append(part.build_notes(name, values))
        self._grade_notes.append(note_grades(groups.frame.get_column(self.columns.grade)))
        self._documents.add(self.columns.find_documents(groups))

    @cached_property
    def notes(self) -> Notes:
        """Return the notes of all rankings."""
        document = next(filter(None, self._documents), None)
        return Notes.of(self.request, self._notes, self._grade_notes, document)

    def sort_values(self) -> pl.DataFrame:
        """Return the values of all queries, sorted by strategy and query."""
        query, strategy = [*self.columns.query], self.columns.strategy
        tables = [_sort_rows(pl.concat(parts), query) for parts in self._values.values()]
        if strategy is not None:
            [values] = tables
            names = in_order(values.get_column(strategy)).to_frame()
            return names.join(values, on=strategy, nulls_equal=True, maintain_order="left_right")
        return pl.concat(
            values.select(pl.lit(name).alias(self.columns.strategy_key), pl.all())
            for name, values in zip(self.columns.by, tables, strict=True)
        )

    def finish(self) -> pl.DataFrame:
        """Return the result of the request, and warn of what the notes show."""
        values = self.sort_values()
        if self.columns.grader is None:
            warn_of_notes(self.notes)
            return values
        warn_of_notes(self.notes.of_judged_queries)
        return self._keep_judged_queries(values)

    def _keep_judged_queries(self, values: pl.DataFrame) -> pl.DataFrame:
        """Return the values of the grader; null for queries that the grader did not judge."""
        columns, notes = self.columns, self.notes
        judged = notes.of_judged_queries.of_queries.select(
            pl.col(column).alias(name)
            for column, name in zip(notes.query, columns.query, strict=True)
        ).unique()
        is_judged = judged.with_columns(pl.lit(value=True).alias(IS_JUDGED))
        return values.join(
            is_judged, on=columns.query, how="left", nulls_equal=True, maintain_order="left"
        ).select(
            pl.lit(columns.grader).alias(GRADER),
            *columns.result_keys,
            *(pl.when(IS_JUDGED).then(pl.col(name)).alias(name) for name in self.request.measures),
            *self.request.record_columns,
        )


def _sort_rows(frame: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Return the rows sorted by the keys."""
    return frame if are_sorted(frame.select(keys)) else frame.sort(keys)
