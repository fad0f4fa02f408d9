"""Values of measures over columns of lists, computed chunk by chunk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_graded._measuring.chunks import map_chunks
from polars_graded._measuring.definitions import ALL
from polars_graded._measuring.documents import DocumentLists
from polars_graded._measuring.kernels.queries import Judgments, Queries
from polars_graded._measuring.kernels.ragged import Floats, Mask, Ragged
from polars_graded._measuring.list_columns import Lists, make_list_column
from polars_graded._measuring.measures import Measure
from polars_graded._measuring.scale import Scale
from polars_graded._measuring.tie_dependence import Compute, find_dependence_on_ties

ChunkNotes: TypeAlias = Mapping[str, npt.NDArray[Any]]
"""Facts about the ranking of each query, by name."""
ChunkValues: TypeAlias = tuple[list[Floats | Ragged], ChunkNotes]
"""The values of each measure for the queries of a chunk, and notes about these queries."""

DEPENDS_ON_TIES = "depends_on_ties"
"""Name of a note: true if the order of tied documents changes a value."""

N_FIRST = 10
"""Number of first documents whose judgments are noted."""


@dataclass(frozen=True)
class MeasureValues:
    """Values of the measures for one strategy or pair, in chunks of queries."""

    measures: Sequence[Measure]
    chunks: Sequence[ChunkValues]

    @property
    def columns(self) -> list[pl.Series]:
        """Return the values of each measure; NaN becomes null."""
        return [
            _make_series(measure, [values[number] for values, _ in self.chunks])
            for number, measure in enumerate(self.measures)
        ]

    @property
    def notes(self) -> dict[str, pl.Series]:
        """Return the notes about each query, by name; NaN becomes null."""
        tables = [notes for _, notes in self.chunks]
        return {
            name: pl.Series(np.concatenate([table[name] for table in tables]), nan_to_null=True)
            for name in tables[0]
        }


def find_depth(measures: Sequence[Measure]) -> int | None:
    """Return the deepest rank that any measure needs; None for all ranks."""
    depths = [measure.ranked_depth for measure in measures]
    numbers = [depth for depth in depths if depth is not None]
    return max(numbers) if len(numbers) == len(depths) else None


@dataclass(frozen=True)
class Computation:
    """Measures with the arguments of their kernels, and the documents of all strategies."""

    measures: Sequence[Measure]
    arguments: Sequence[Mapping[str, Any]]
    """For each measure, its cutoff and its options."""
    scale: Scale
    """The scale of all strategies, in the precision of the grades."""
    condensed: bool
    """True if unjudged documents are dropped from the rankings."""
    strategies: Sequence[DocumentLists]
    """The documents of each strategy."""
    takes_notes: bool
    """True if facts about the rankings are noted, for warnings."""
    tie_checked: Sequence[Measure]
    """Measures for which it is noted whether the order of tied documents changes a value."""

    @classmethod
    def of(
        cls,
        measures: Sequence[Measure],
        scale: Scale,
        strategies: Sequence[DocumentLists],
        *,
        condensed: bool = False,
        takes_notes: bool = False,
        tie_checked: Sequence[Measure] = (),
    ) -> Computation:
        """Return a computation whose arguments have the precision of the grades.

        If no measure needs ties or is `tie_checked`, tie groups are dropped to save time.
        """
        if not (tie_checked or any(measure.needs_ties for measure in measures)):
            strategies = [replace(documents, tie_groups=None) for documents in strategies]
        round_grade = _make_grade_rounder(strategies[0].grades.flat.dtype)
        scale = scale.rounded(round_grade)
        arguments = [_collect_arguments(each, scale, round_grade) for each in measures]
        return cls(measures, arguments, scale, condensed, strategies, takes_notes, tie_checked)

    def compute(self) -> list[MeasureValues]:
        """Return the values of each strategy."""
        chunks = map_chunks(self.lists, self.compute_chunk, values_per_query=self.values_per_query)
        return [MeasureValues(self.measures, each) for each in zip(*chunks, strict=True)]

    def compute_chunk(self, *chunk: Ragged) -> list[ChunkValues]:
        """Return the values and the notes of each strategy for the queries of a chunk.

        `chunk` has one `Ragged` for each column in `lists`.
        """
        columns = dict(zip(self.lists, chunk, strict=True))
        ranked = self.rank_queries(columns, self.find_judgments(columns))
        return [
            (self._measure(queries), self._take_notes(documents, columns, queries))
            for documents, queries in zip(self.strategies, ranked, strict=True)
        ]

    @property
    def values_per_query(self) -> int:
        """Return the number of values that each query has at least in memory."""
        return max(measure.values_per_query for measure in self.measures)

    @cached_property
    def lists(self) -> list[Lists]:
        """Return the columns of all strategies; those that strategies share occur once."""
        return [*dict.fromkeys(each for documents in self.strategies for each in documents.lists)]

    def find_judgments(self, columns: Mapping[Lists, Ragged]) -> dict[Lists, Judgments]:
        """Return the judgments for each column of grades, which strategies may share.

        `columns` are the columns of a chunk.
        """
        scale, judgments = self.scale, dict[Lists, Judgments]()
        for documents in self.strategies:
            grades = documents.grades
            if grades in judgments:
                continue
            inputs = {name: columns[column] for name, column in documents.inputs.items()}
            judged = Judgments(
                columns[grades], scale.irrelevant, scale.max_grade, inputs, documents.labels
            )
            if scale.relevant_from is not None:
                judged = judged.with_relevant_from(scale.relevant_from)
            judgments[grades] = judged
        return judgments

    def rank_queries(
        self, columns: Mapping[Lists, Ragged], judgments: Mapping[Lists, Judgments]
    ) -> Iterator[Queries]:
        """Yield the ranked queries of each strategy, so that only one is in memory at a time."""
        depth = find_depth(self.measures)
        if self.takes_notes and depth is not None:
            depth = max(depth, N_FIRST)
        n_sharing = Counter(documents.grades for documents in self.strategies)
        for documents in self.strategies:
            grades, scores, ties = documents.grades, documents.scores, documents.tie_groups
            if scores is None:
                yield Queries.in_row_order(judgments[grades], depth, condensed=self.condensed)
                continue
            queries = Queries.ranked_by(
                judgments[grades],
                columns[scores],
                None if ties is None else columns[ties],
                depth,
                descending=documents.descending,
                condensed=self.condensed,
            )
            # Judgments that strategies share stay unsorted, so that they are looked at only once.
            yield queries if n_sharing[grades] > 1 else queries.with_judgments_in_rank_order()

    @cached_property
    def value_functions(self) -> list[tuple[Measure, Compute]]:
        """Return each measure with the function that computes its values."""
        return [
            (
                measure,
                partial(_compute_values, measure, arguments, measure.find_undefined(self.scale)),
            )
            for measure, arguments in zip(self.measures, self.arguments, strict=True)
        ]

    def _measure(self, queries: Queries) -> list[Floats | Ragged]:
        """Return the values of each measure for one strategy."""
        queries.judgments.check_within_scale()
        return [compute(queries) for _, compute in self.value_functions]

    def _take_notes(
        self, documents: DocumentLists, columns: Mapping[Lists, Ragged], queries: Queries
    ) -> ChunkNotes:
        """Return the facts about the rankings of one strategy that warnings need."""
        if not self.takes_notes or documents.scores is None:
            return {}
        judgments, grades = queries.judgments, columns[documents.grades]
        is_retrieved = ~np.isnan(columns[documents.scores].values)
        is_judged, first = ~np.isnan(grades.values), queries.ranked.head(N_FIRST)
        counts = {
            "retrieved": grades.count(is_retrieved),
            "judged": judgments.n_judged,
            "retrieved_and_judged": grades.count(is_retrieved & is_judged),
            "judged_of_first_ten": first.count(~np.isnan(first.values)),
            "n_relevant": judgments.n_relevant(None),
        }
        checked = [pair for pair in self.value_functions if pair[0] in self.tie_checked]
        return {
            **{name: count.astype(np.uint32) for name, count in counts.items()},
            "sum_of_relevant": judgments.relevant.sum(),
            "maximum_grade": judgments.highest_relevant,
            DEPENDS_ON_TIES: find_dependence_on_ties(checked, queries),
        }


def _make_grade_rounder(dtype: pl.DataType) -> Callable[[float], float]:
    """Return a function that rounds a number to the precision of the grades.

    Before Polars compares a number with a column of floats, it rounds the number to the precision
    of the column. Measures must compare with the same rounded number. If grades are not floats, the
    number stays a double.
    """
    if not dtype.is_float():
        return float
    # If a number is too large for `dtype`, it becomes infinity.
    return lambda number: float(pl.Series([number], dtype=pl.Float64).cast(dtype)[0])


def _collect_arguments(
    measure: Measure, scale: Scale, round_grade: Callable[[float], float]
) -> Mapping[str, Any]:
    """Return the arguments of a measure's kernel: the cutoff and the options."""
    arguments = {
        name: option.convert_grades(measure.options[name], round_grade)
        for name, option in measure.definition.options.items()
    }
    if arguments.get("levels") == ALL:
        arguments["levels"] = scale.levels
    if measure.definition.has_cutoff:
        arguments["n"] = measure.n
    return arguments


def _compute_values(
    measure: Measure, arguments: Mapping[str, Any], undefined: float | None, queries: Queries
) -> Floats | Ragged:
    """Return the values of a measure, filled with the value `undefined` where it is undefined.

    The values of a measure that needs no relevant document are not filled, so they can be NaN.
    """
    definition, fill_value = measure.definition, np.nan if undefined is None else undefined
    options = dict(arguments)
    if "ties" in options:
        queries, ties = queries.with_ties(options.pop("ties"))
        if definition.averages_ties:
            options["ties"] = ties
    values: Floats | Ragged = definition.kernel(queries, **options)
    if not definition.needs_relevant:
        return values
    # Without a relevant document, the highest relevant grade is NaN, and NaN is not relevant.
    defined = queries.is_relevant(queries.judgments.highest_relevant, arguments.get("threshold"))
    if isinstance(values, Ragged):
        defined = np.repeat(defined, values.lengths)
        return values.with_values(_fill_undefined(measure, defined, values.values, fill_value))
    return _fill_undefined(measure, defined, values, fill_value)


def _fill_undefined(measure: Measure, defined: Mask, values: Floats, fill_value: float) -> Floats:
    """Return the values with the fill value where the measure is undefined.

    `defined` marks the queries with a relevant document. For the other queries, the measure is
    undefined. For a marked query, NaN also means undefined if the measure `can_be_undefined`. For
    other measures, NaN for a marked query is a defect of the formula, and an error is raised.
    """
    missing = defined & np.isnan(values)
    if missing.any() and not measure.definition.can_be_undefined:
        msg = f"{measure.name} is NaN in {missing.sum()} places, which is a defect of its formula"
        raise ArithmeticError(msg)
    return np.where(defined & ~missing, values, measure.definition.if_undefined(fill_value))


def _make_series(measure: Measure, chunks: Sequence[Any]) -> pl.Series:
    """Return the values of all chunks as a column; NaN becomes null."""
    if isinstance(chunks[0], Ragged):
        # Convert chunk by chunk: building a column of lists needs several times its own memory.
        lists = (
            make_list_column(pl.Series(chunk.values, nan_to_null=True), pl.Series(chunk.lengths))
            for chunk in chunks
        )
        return pl.concat(lists).alias(measure.name)
    return pl.Series(
        measure.name,
        np.concatenate(chunks),
        dtype=measure.definition.dtype,
        nan_to_null=measure.definition.dtype == pl.Float64,
    )
