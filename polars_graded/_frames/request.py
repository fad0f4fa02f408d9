"""Checked arguments of an `evaluate` call, in a form that can be pickled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import polars as pl

from polars_graded._checks import check_flag
from polars_graded._frames.arguments import Descending, Measures, parse_graders, parse_measures
from polars_graded._frames.columns import FrameColumns
from polars_graded._frames.directions import Directions
from polars_graded._frames.tables import GRADER
from polars_graded._measuring.definitions import DEFINITIONS, Definition
from polars_graded._measuring.measures import Measure, check_measures
from polars_graded._measuring.ranking import Ranking
from polars_graded._measuring.scale import Scale, Undefined
from polars_graded._measuring.ties import Ties, TiesArgument
from polars_graded._warnings import DataWarning

JUDGMENTS, DOCUMENTS, SETTINGS = "judgments", "documents", "settings"
"""Columns of results that record what was measured: hashes of the judgments and of the properties
of judged documents, and the settings."""

RECORDS = (JUDGMENTS, DOCUMENTS, SETTINGS)

STACKED_HINT = "pass strategy='strategy', or drop the column"
"""Remedy for several strategies that would be ranked as one."""


@dataclass(frozen=True)
class Request:
    """Checked arguments of an `evaluate` call."""

    measures: Mapping[str, Measure]
    """The measure of each result column, by the name of the column."""
    columns: FrameColumns
    directions: Directions
    scale: Scale
    ties: Ties
    condensed: bool = False
    """True if unjudged documents are dropped from the rankings."""

    @classmethod
    def of(
        cls,
        frame: pl.DataFrame | pl.LazyFrame,
        measures: Sequence[Measures],
        *,
        among: Mapping[str, Definition] = DEFINITIONS,
        stacked_hint: str = STACKED_HINT,
        strategy: str | None = None,
        ties: TiesArgument = None,
        descending: Descending = None,
        irrelevant: float = 0.0,
        max_grade: float | None = None,
        relevant_from: float | None = None,
        undefined_as: Undefined = "default",
        condensed: bool = False,
        fingerprint: str | bool | None = None,
        **column_arguments: Any,
    ) -> Self:
        """Check the arguments of `evaluate` for a frame, and return their request.

        `among` contains the definitions of the measures that the call can request, and
        `column_arguments` the arguments of `FrameColumns.of`. Columns that no argument names, such
        as that of documents, are found in the frame. Raise if a column is missing or the frame does
        not fit.
        """
        __tracebackhide__ = True
        schema = frame.collect_schema()
        columns = FrameColumns.of(schema, strategy=strategy, **column_arguments)
        directions = Directions.of(descending, columns.by, strategy)
        scale = Scale().with_grades(irrelevant, max_grade, relevant_from)
        request = cls(
            measures=parse_measures(measures, among),
            columns=columns,
            directions=directions,
            scale=scale.with_undefined(undefined_as),
            ties=Ties.of(ties),
            condensed=check_flag("condensed", condensed),
        )
        check_measures([*request.measures.values()], scale, columns.inputs)
        # Among these columns is the default one of documents, which also orders tied documents.
        request = request.resolve(schema, fingerprint=fingerprint)
        request.check_names()
        request.check_not_stacked(frame, stacked_hint)
        return request

    @classmethod
    def of_graders(
        cls, frame: pl.DataFrame | pl.LazyFrame, measures: Sequence[Measures], **options: Any
    ) -> list[Self]:
        """Return one request per grader, or one if `grade` is a single column."""
        __tracebackhide__ = True
        graders = parse_graders(options.get("grade", "grade"))
        if graders is None:
            return [cls.of(frame, measures, **options)]
        grades = ({"grade": {grader: column}} for grader, column in graders.items())
        return [cls.of(frame, measures, **options | grade) for grade in grades]

    def resolve(self, schema: Mapping[str, pl.DataType], *, fingerprint: str | bool | None) -> Self:
        """Return the request with the columns that are found in a frame.

        Raise if a column is missing or of the wrong type.
        """
        __tracebackhide__ = True
        types = self.columns.check_schema(schema, self.ties.columns)
        columns = self.columns.resolve(schema, self.ties.columns, fingerprint=fingerprint)
        ties = self.ties.resolve(schema, columns.document, columns.other_than_documents)
        columns = columns.negate_scores(self.directions.ascending_strategies, types)
        return replace(self, columns=columns, ties=ties)

    def check_names(self) -> None:
        """Raise if columns of the result would share a name."""
        query, strategy = self.columns.query, self.columns.strategy_key
        if strategy in query:
            msg = f"`query` must not be the column of strategies, got {strategy!r} for both"
            raise ValueError(msg)
        if self.columns.grader is not None and GRADER in self.measures:
            msg = f"a measure must not have the name of the column of graders, got {GRADER!r}"
            raise ValueError(msg)
        for argument, name in (("strategy", strategy), *(("query", name) for name in query)):
            if name == GRADER and self.columns.grader is not None:
                msg = f"`{argument}` must not be the result column of graders, got {name!r}"
                raise ValueError(msg)
            if name in self.measures:
                msg = f"`{argument}` must not have the name of a measure, got {name!r}"
                raise ValueError(msg)
        for name in (*self.columns.result_keys, *self.measures) if self.record_columns else ():
            if name in RECORDS:
                msg = (
                    f"`fingerprint` adds the columns {', '.join(map(repr, RECORDS))}, "
                    f"so no other column may have these names, got {name!r}"
                )
                raise ValueError(msg)

    @property
    def unsorted_ranking(self) -> Ranking:
        """The ranking without sort columns, which `build_ranking` adds for a strategy."""
        return Ranking(pl.col(self.columns.grade), scale=self.scale, condensed=self.condensed)

    @property
    def unused_warnings(self) -> set[type[DataWarning]]:
        """The kinds of warnings that do not concern the result."""
        measures = self.measures.values()
        # Dropping unjudged documents changes ranks, so with `condensed` every measure needs grades.
        uses_grades = self.condensed or any(each.definition.needs_grades for each in measures)
        grade_warnings = {DataWarning.scale, DataWarning.unjudged, DataWarning.join}
        return set() if self.columns.is_graded and uses_grades else grade_warnings

    @property
    def depends_on_missed(self) -> bool:
        """Return whether a measure depends on judged documents that were not retrieved."""
        return any(measure.definition.depends_on_missed for measure in self.measures.values())

    @property
    def order_dependent_measures(self) -> list[Measure]:
        """Return the measures that may depend on the order of ties; none if `ties` is passed."""
        if self.ties.are_passed:
            return []
        return [measure for measure in self.measures.values() if not measure.needs_ties]

    @property
    def measures_without_scale(self) -> list[str]:
        """Return the names of measures that lack the `max_grade` they need.

        Without it, they use the highest grade of each query as the highest of the scale.
        """
        if self.scale.max_grade is not None:
            return []
        return [
            name
            for name, measure in self.measures.items()
            if measure.definition.is_of_a_scale or measure.options.get("graded")
        ]

    @property
    def value_columns(self) -> list[str]:
        """The distinct columns of grades, scores, ties and inputs of measures."""
        columns = self.columns
        names = (*columns.sort_columns, *self.ties.columns, *columns.inputs.values())
        return list(dict.fromkeys([columns.grade, *names]))

    @property
    def row_columns(self) -> list[str]:
        """The distinct columns that describe a document, including its name."""
        columns = self.columns
        others = (columns.document, self.ties.document, columns.rank, columns.fingerprint)
        return list(dict.fromkeys([*self.value_columns, *(name for name in others if name)]))

    @property
    def used_columns(self) -> list[str]:
        """The distinct columns that are used, including computed columns."""
        return list(dict.fromkeys([*self.columns.ranking_keys, *self.row_columns]))

    @property
    def needed_columns(self) -> list[str]:
        """The columns that a frame must have, among them those that expressions read."""
        return self.columns.find_sources(self.used_columns)

    def read_rows(self, frame: pl.DataFrame | pl.LazyFrame) -> pl.DataFrame:
        """Return the needed columns of all rows, and the computed columns."""
        rows = frame.lazy().select(self.needed_columns).collect()
        return self.columns.add_computed_columns(rows)

    @property
    def record_columns(self) -> list[str]:
        """The columns of the result that record what was measured."""
        if self.columns.fingerprint is None:
            return []
        return [name for name in RECORDS if name != DOCUMENTS or self.columns.inputs]

    def check_not_stacked(self, frame: pl.DataFrame | pl.LazyFrame, hint: str) -> None:
        """Raise if several strategies would be ranked as one.

        This concerns a column "strategy" that is no key, grade or sort column of the request. In an
        eager frame, it must have a single value. In a lazy frame, the number of values is unknown,
        so the column is never allowed.
        """
        used = {*self.columns.ranking_keys, self.columns.grade, *self.columns.sort_columns}
        if "strategy" in used or "strategy" not in frame.collect_schema():
            return
        if isinstance(frame, pl.DataFrame):
            n = frame.get_column("strategy").n_unique()
            if n <= 1:
                return
            problem = f"has {n} strategies in its column 'strategy', which would be ranked as one"
        else:
            problem = (
                "has a column 'strategy' that no argument names; its strategies would be ranked as "
                "one"
            )
        msg = f"`frame` {problem}\n\nHint: {hint}"
        raise ValueError(msg)

    def build_schema(self, schema: Mapping[str, pl.DataType]) -> pl.Schema:
        """Return the schema of the result, given the schema of the frame."""
        keys: dict[str, Any] = {} if self.columns.grader is None else {GRADER: pl.String()}
        keys |= {name: schema.get(name, pl.String()) for name in self.columns.result_keys}
        if self.columns.strategy is None:
            keys[self.columns.strategy_key] = pl.String()
        values = {name: measure.definition.dtype for name, measure in self.measures.items()}
        return pl.Schema(keys | values | dict.fromkeys(self.record_columns, pl.String()))

    def find_directions(self, strategy: str) -> tuple[bool, ...]:
        """Return a flag per sort column of a strategy: True for highest first."""
        entry = self.columns.find_entry(strategy)
        return self.directions.passed.get(entry, (True,) * len(self.columns.by[entry]))

    def build_ranking(self, strategy: str) -> Ranking:
        """Return the ranking of a strategy by its sort columns and `ties`."""
        ties = [self.columns.as_text(name, pl.col(name)) for name in self.ties.columns]
        flags = [*self.find_directions(strategy), *(True for _ in ties)]
        return self.unsorted_ranking.ranked_by(
            [*self.columns.find_sort_columns(strategy), *ties], descending=flags
        )

    def build_document_ranking(self, strategy: str) -> Ranking:
        """Return the ranking of a strategy, with documents as the last sort column.

        If documents break no ties, as with `ties="order"`, the result is that of `build_ranking`.
        """
        ranking = self.build_ranking(strategy)
        if self.ties.document is None:
            return ranking
        score, *further = ranking.by
        if self.ties.bits is not None:
            # The tools store scores as floats, so nearly equal scores are tied.
            is_32_bit = self.ties.bits == 32  # noqa: PLR2004
            score = score.cast(pl.Float64).cast(pl.Float32 if is_32_bit else pl.Float64)
        by = [score, *further, pl.col(self.ties.document).cast(pl.String)]
        return self.unsorted_ranking.ranked_by(by, descending=[*ranking.descending, True])
