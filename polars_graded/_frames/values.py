"""Compute one row per strategy and query from a frame of whole queries.

This module does not depend on any engine, such as Spark. Data too large for one frame are cut into
parts of whole queries. The values of all parts are concatenated before the result is built. Notes
are facts about the data that warnings may need (see the module `data_warnings`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, singledispatch
from itertools import chain
from typing import Any

import polars as pl

from polars_graded._frames.data_warnings import (
    BELOW_ZERO,
    HALVES,
    HIGHEST,
    LOWEST,
    TIED_PAIR,
    Notes,
    note_grades,
    warn_of_notes,
)
from polars_graded._frames.records import build_records
from polars_graded._frames.request import Request
from polars_graded._frames.rows import TEMPORARY_NAME_TEMPLATE, Groups, are_sorted
from polars_graded._frames.strategies import in_order
from polars_graded._frames.tables import GRADER
from polars_graded._measuring.computing import Computation, Computed, write_error
from polars_graded._measuring.documents import (
    DocumentLists,
    check_grades,
    check_sort_columns,
    read_input,
)
from polars_graded._measuring.kernels.errors import UnusableDataError
from polars_graded._measuring.list_columns import Lists
from polars_graded._measuring.measures import Measure
from polars_graded._measuring.ranking import Ranking

IS_JUDGED = TEMPORARY_NAME_TEMPLATE.format("judged")

MAX_SHARED_ROWS = 1 << 24
"""Maximum of (number of rows) × (number of strategies measured together).

Strategies that are measured together share work. If the product for all strategies exceeds the
maximum, they are measured in groups of at least one strategy.
"""


@dataclass(frozen=True)
class StrategyValues:
    """Values and notes of all queries in a part, for one entry of `by`."""

    name: str
    values: pl.DataFrame
    """Keys and measures. The strategy is a key only if strategies are stacked."""
    notes: pl.DataFrame
    """All notes, with the strategy and the query as keys."""


@dataclass(frozen=True)
class Part:
    """Frame of whole queries, and the request for values that are computed from it."""

    request: Request
    groups: Groups

    def measure_rankings(self) -> Iterator[StrategyValues]:
        """Yield the values and notes of whole queries for each entry of `by`."""
        names = [*self.request.by]
        size = max(1, MAX_SHARED_ROWS // max(1, self.groups.frame.height))
        for first in range(0, len(names), size):
            together = names[first : first + size]
            for name, computed in zip(together, self.compute(together), strict=True):
                yield self.build_strategy_values(name, computed)

    def compute(self, names: Sequence[str]) -> list[Computed]:
        """Return the values of strategies that are measured together.

        Raise if a kernel cannot use the data.
        """
        request, documents = self.request, [self.list_documents(name) for name in names]
        ranking = request.build_ranking(names[0])
        try:
            return self.make_computation(ranking, documents).run()
        except UnusableDataError as error:
            ranking = ranking.with_inputs(**request.inputs)
            msg = write_error(ranking, error, self.groups.n_groups, request.unit)
            raise ValueError(msg) from None

    def make_computation(self, ranking: Ranking, documents: Sequence[DocumentLists]) -> Computation:
        """Return the computation of all measures for some strategies."""
        checked = self.request.order_dependent_measures
        return Computation.of([*self.measures.values()], ranking, documents, checked)

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
        column = self.request.ties.document or self.request.document
        ranking = self.request.unsorted_ranking
        names = None
        if column is not None and self.request.inputs:
            names = self.groups.frame.get_column(column)
        ranking = ranking.with_inputs(**self.request.inputs)
        return {
            name: read_input(ranking, name, self.groups.lists(each), names)
            for name, each in self.request.inputs.items()
        }

    @cached_property
    def records(self) -> list[pl.Series]:
        """Return the columns that record what was measured, which all entries of `by` share."""
        return build_records(self.request, self.groups)

    def list_sort_columns(self, name: str) -> list[Lists]:
        """Return the sort columns of a strategy, as one list per query."""
        lists = [*map(self.groups.lists, self.request.find_columns(name))]
        for column in self.request.ties.columns or ():
            values = self.groups.lists(column)
            lists.append(Lists(self.request.as_text(column, values.flat), values.offsets))
        return lists

    def list_documents(self, name: str) -> DocumentLists:
        """Check the sort columns of a strategy, and return the documents of each query."""
        ranking, sort_columns = self.request.build_ranking(name), self.list_sort_columns(name)
        check_sort_columns(ranking, self.grades, sort_columns, self.request.unit)
        return DocumentLists.of(
            ranking,
            self.grades,
            sort_columns,
            self.request.ties.bits,
            self.tie_documents,
            self.ranked_inputs,
            len(self.request.find_columns(name)),
        )

    @property
    def ranked_inputs(self) -> Mapping[str, Lists]:
        """Return the columns that are ranked with the grades, by name."""
        return self.inputs

    @property
    def tie_documents(self) -> pl.Series | None:
        """Return the column of documents if it breaks ties, or None."""
        column = self.request.ties.document
        return None if column is None else self.groups.frame.get_column(column)

    def make_constant(self, value: object) -> pl.Series:
        """Return a column that repeats one value for all queries."""
        return pl.Series([value]).new_from_index(0, self.groups.n_groups)

    def build_strategy_values(self, name: str, computed: Computed) -> StrategyValues:
        """Return the values and the notes of a strategy."""
        columns = dict(zip(self.measures, computed.columns, strict=True))
        keys = self.list_keys(name)
        values = [
            *keys[0 if self.request.strategy else 1 :],
            *(columns[m.name].alias(column) for column, m in self.request.measures.items()),
            *self.records,
        ]
        return StrategyValues(name, pl.DataFrame(values), self.build_notes(name, computed.notes))

    def list_keys(self, name: str) -> list[pl.Series]:
        """Return the columns of the strategy and of the queries."""
        request, keys = self.request, self.groups.keys
        strategy = (
            keys.get_column(request.strategy_key) if request.strategy else self.make_constant(name)
        )
        return [strategy.alias(request.strategy_key), *map(keys.get_column, request.query)]

    def build_notes(self, name: str, notes: Mapping[str, pl.Series]) -> pl.DataFrame:
        """Return the notes about the rankings of a strategy, with their keys."""
        keys = {TEMPORARY_NAME_TEMPLATE.format(key.name): key for key in self.list_keys(name)}
        rows = pl.Series(self.groups.lengths, dtype=pl.UInt32)
        return pl.DataFrame({**keys, "rows": rows, **notes})


class Gathered:
    """Values and notes of a request, collected part by part."""

    part: type[Part] = Part

    def __init__(self, request: Request) -> None:
        self.request = request
        self.measured: dict[str, list[StrategyValues]] = {name: [] for name in request.by}
        self._grades: list[pl.DataFrame] = []

    def add(self, groups: Groups) -> None:
        """Measure a part of whole queries."""
        for each in self.part(self.request, groups).measure_rankings():
            self.measured[each.name].append(each)
        self._grades.append(note_grades(groups.frame.get_column(self.request.grade)))

    @cached_property
    def notes(self) -> Notes:
        """Return the notes of all rankings."""
        grades = pl.concat(self._grades).select(
            pl.col(LOWEST).min(),
            pl.col(HIGHEST).max(),
            pl.col(HALVES).all(),
            pl.col(BELOW_ZERO).sum(),
        )
        notes = pl.concat(each.notes for each in chain(*self.measured.values()))
        return Notes(self.request, notes, grades.row(0, named=True))

    def sort_values(self) -> pl.DataFrame:
        """Return the values of all queries, sorted by strategy and query."""
        request = self.request
        strategies = [
            sort_by_query(request, pl.concat(each.values for each in measured))
            for measured in self.measured.values()
        ]
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


def sort_by_query(request: Request, values: pl.DataFrame) -> pl.DataFrame:
    """Return values sorted by query."""
    return values if are_sorted(values.select(request.query)) else values.sort(request.query)


@singledispatch
def gather(request: Request) -> Gathered:
    """Return an object that gathers the values of a request. A kind of request may have its own."""
    return Gathered(request)


def finish_requests(gathered: Sequence[Gathered]) -> pl.DataFrame:
    """Return the result of all requests, and warn of what the notes show."""
    values = [each.sort_values() for each in gathered]
    return pl.concat(map(_finish_request, gathered, values)).drop(TIED_PAIR, strict=False)


def _finish_request(gathered: Gathered, values: pl.DataFrame) -> pl.DataFrame:
    """Warn of what the notes show. Values of queries that a grader did not judge become null."""
    request, notes = gathered.request, gathered.notes
    if request.grader is None:
        warn_of_notes(notes, values)
        return values
    judged = notes.of_judged_queries.of_queries.select(
        pl.col(column).alias(name) for column, name in zip(notes.query, request.query, strict=True)
    ).unique()
    on: Any = {"on": request.query, "nulls_equal": True, "maintain_order": "left"}
    warn_of_notes(notes.of_judged_queries, values.join(judged, how="semi", **on))
    return values.join(
        judged.with_columns(pl.lit(value=True).alias(IS_JUDGED)), how="left", **on
    ).select(
        pl.lit(request.grader).alias(GRADER),
        *request.result_keys,
        *(pl.when(IS_JUDGED).then(pl.col(name)).alias(name) for name in request.measures),
        *request.record_columns,
    )
