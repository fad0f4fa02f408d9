"""Checked arguments of an `evaluate` call, in a form that can be pickled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeVar

import polars as pl

from polars_graded._checks import (
    TEXT_TYPES,
    check_column_name,
    check_column_names,
    check_columns,
    check_comparable,
    check_flag,
)
from polars_graded._frames.arguments import (
    NO_GRADE,
    By,
    Column,
    Columns,
    Descending,
    Grade,
    Measures,
    add_direction,
    parse_by,
    parse_descending,
    parse_grade,
    parse_graders,
    parse_inputs,
    parse_measures,
    parse_stacked_directions,
    select_scores,
    selects_columns,
)
from polars_graded._frames.rows import FrameT, add_computed_columns
from polars_graded._frames.tables import GRADER
from polars_graded._measuring.computing import check_measures
from polars_graded._measuring.definitions import DEFINITIONS, Definition
from polars_graded._measuring.document_columns import DEFAULT_DOC, find_document_column
from polars_graded._measuring.measures import Measure
from polars_graded._measuring.ranking import Ranking, check_grade, check_input_type, check_score
from polars_graded._measuring.scale import Scale, Undefined
from polars_graded._measuring.ties import Ties, TiesArgument
from polars_graded._warnings import DataWarning

Values = TypeVar("Values", pl.Expr, pl.Series)


RANK = "rank"
"""Name of the column of ranks in runs that `read_run` and `join_judgments` return."""

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
    by: Mapping[str, tuple[str, ...]]
    """The sort columns of each strategy, by its name. If `strategy` names a column, there is a
    single entry for all its strategies."""
    query: tuple[str, ...]
    grade: str
    strategy: str | None
    """The column that names the strategy of each row, or None. Strategies in such a column are
    called stacked."""
    ties: Ties
    descending: Mapping[str, tuple[bool, ...]]
    """For each strategy that `descending` covers, a flag per sort column: True for highest
    first."""
    scale: Scale
    condensed: bool = False
    """True if unjudged documents are dropped from the rankings."""
    expressions: Mapping[str, pl.Expr] = field(default_factory=dict)
    """Expressions that were passed as arguments, by the name of the column that each computes."""
    inputs: Mapping[str, str] = field(default_factory=dict)
    """Columns for the inputs of measures, by the name of the input, such as `known`."""
    document: str | None = None
    """The column of documents, or None."""
    finds_document: bool = False
    """True if the frame was searched for a column of documents, because none was passed."""
    rank_column: str | None = None
    """The column `rank` of the frame, or None. It may show in which direction a score ranks."""
    stacked_directions: Mapping[str, bool] = field(default_factory=dict)
    """Directions of stacked strategies, by strategy: False for those whose lowest value is
    first. The computed sort column of these strategies is negated."""
    all_ascending: bool = False
    """True if a single `descending=False` covers several entries of `by`, or stacked strategies."""
    grader: str | None = None
    """Name of the grader; None if `grade` is a single column, not a list or a mapping."""
    fingerprint: str | bool | None = None
    """The column of ids for fingerprints. True means the column of documents, None none."""

    @classmethod
    def of(
        cls,
        frame: pl.DataFrame | pl.LazyFrame,
        measures: Sequence[Measures],
        *,
        among: Mapping[str, Definition] = DEFINITIONS,
        stacked_hint: str = STACKED_HINT,
        query: Columns = "query",
        grade: Grade = "grade",
        by: By = "score",
        strategy: str | None = None,
        ties: TiesArgument = None,
        descending: Descending = None,
        doc: str | None = DEFAULT_DOC,
        irrelevant: float = 0.0,
        max_grade: float | None = None,
        relevant_from: float | None = None,
        undefined_as: Undefined = "default",
        condensed: bool = False,
        fingerprint: str | bool | None = None,
        **inputs: Column | None,
    ) -> Self:
        """Check the arguments of `evaluate` for a frame, and return their request.

        `among` contains the definitions of the measures that the call can request, and `inputs`
        the columns of `DOCUMENT_INPUTS`. Columns that no argument names, such as that of documents,
        are found in the frame. Raise if a column is missing or the frame does not fit.
        """
        __tracebackhide__ = True
        schema = frame.collect_schema()
        expressions: dict[str, pl.Expr] = {}
        grader, grade = parse_grade(grade, expressions)
        queries = check_column_names("query", query)
        if strategy is not None:
            check_column_name("strategy", strategy)
        if selects_columns(by):
            by = select_scores(by, schema, {*queries, strategy, grade})
        strategies = parse_by(by, expressions)
        stacked_directions = parse_stacked_directions(descending, strategies, strategy)
        if stacked_directions and strategy is not None:
            descending = None
            strategies = add_direction(strategies, stacked_directions, strategy, expressions)
        scale = Scale().with_grades(irrelevant, max_grade, relevant_from)
        finds_document = isinstance(doc, str) and doc == DEFAULT_DOC
        chosen = parse_measures(measures, among)
        columns = parse_inputs(expressions, **inputs)
        request = cls(
            chosen,
            strategies,
            tuple(queries),
            grade,
            strategy,
            Ties.of(ties),
            parse_descending(descending, strategies),
            scale.with_undefined(undefined_as),
            check_flag("condensed", condensed),
            expressions,
            columns,
            None if doc is None or finds_document else check_column_name("doc", doc),
            finds_document=finds_document,
            stacked_directions=stacked_directions,
            all_ascending=(descending is False and len(strategies) > 1)
            or (strategy is not None and descending in (False, dict.fromkeys(strategies, False))),
            grader=grader,
            fingerprint=fingerprint,
        )
        check_measures([*chosen.values()], request.unsorted_ranking, columns)
        request.check_names()
        request.check_schema(schema)
        request.check_not_stacked(frame, stacked_hint)
        return request.with_document_column(schema).with_fingerprint(schema)

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

    def check_names(self) -> None:
        """Raise if columns of the result would share a name.

        Raise also if `strategy` is passed and `by` has several entries.
        """
        if self.strategy is not None and len(self.by) > 1:
            names = ", ".join(self.by)
            msg = f"`by` must have one entry if `strategy` is passed, got {names}"
            raise ValueError(msg)
        if self.strategy_key in self.query:
            msg = (
                f"`query` must not be the column of strategies, got {self.strategy_key!r} for both"
            )
            raise ValueError(msg)
        if self.grader is not None and GRADER in self.measures:
            msg = f"a measure must not have the name of the column of graders, got {GRADER!r}"
            raise ValueError(msg)
        for argument, name in (
            ("strategy", self.strategy_key),
            *(("query", name) for name in self.query),
        ):
            if name == GRADER and self.grader is not None:
                msg = f"`{argument}` must not be the result column of graders, got {name!r}"
                raise ValueError(msg)
            if name in self.measures:
                msg = f"`{argument}` must not have the name of a measure, got {name!r}"
                raise ValueError(msg)

    @property
    def unsorted_ranking(self) -> Ranking:
        """The ranking without sort columns, which `build_ranking` adds for a strategy."""
        return Ranking(pl.col(self.grade), scale=self.scale, condensed=self.condensed)

    @property
    def strategy_key(self) -> str:
        """The column of strategies in the result."""
        return "strategy" if self.strategy is None else self.strategy

    @property
    def ranking_keys(self) -> list[str]:
        """The columns whose values identify a ranking."""
        return [*self.query] if self.strategy is None else [self.strategy, *self.query]

    @property
    def result_keys(self) -> list[str]:
        """The columns of strategies and queries in the result."""
        return [self.strategy_key, *self.query]

    @property
    def unit(self) -> str:
        """The word for what errors count: rankings, or queries if each has one ranking."""
        return "queries" if self.strategy is None else "rankings"

    @property
    def is_graded(self) -> bool:
        """Return whether rows have grades; False for `NO_GRADE`."""
        grade = self.expressions.get(self.grade)
        return grade is None or not grade.meta.eq(NO_GRADE)

    @property
    def unused_warnings(self) -> set[type[DataWarning]]:
        """The kinds of warnings that do not concern the result."""
        measures = self.measures.values()
        # Dropping unjudged documents changes ranks, so with `condensed` every measure needs grades.
        uses_grades = self.condensed or any(each.definition.needs_grades for each in measures)
        grade_warnings = {DataWarning.scale, DataWarning.unjudged, DataWarning.join}
        return set() if self.is_graded and uses_grades else grade_warnings

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

    def find_columns(self, strategy: str) -> tuple[str, ...]:
        """Return the columns to rank a strategy by; stacked strategies share them."""
        return self.by[strategy] if self.strategy is None else next(iter(self.by.values()))

    def find_directions(self, strategy: str) -> tuple[bool, ...]:
        """Return a flag per sort column of a strategy: True for highest first."""
        name = strategy if self.strategy is None else next(iter(self.by))
        return self.descending.get(name, (True,) * len(self.by[name]))

    @property
    def columns(self) -> list[str]:
        """Return the distinct columns that are used, including computed columns."""
        return list(dict.fromkeys([*self.ranking_keys, *self.document_columns]))

    @property
    def document_columns(self) -> list[str]:
        """Return the distinct columns that describe a document, including its name."""
        others = (self.document, self.ties.document, self.rank_column, *self.fingerprint_columns)
        return list(dict.fromkeys([*self.row_columns, *(name for name in others if name)]))

    @property
    def fingerprint_columns(self) -> list[str]:
        """Return the column of ids for fingerprints, if there is one."""
        return [self.fingerprint] if isinstance(self.fingerprint, str) else []

    @property
    def record_columns(self) -> list[str]:
        """Return the columns of the result that record what was measured."""
        if not self.fingerprint_columns:
            return []
        return [name for name in RECORDS if name != DOCUMENTS or self.inputs]

    @property
    def needed_columns(self) -> list[str]:
        """Return the columns that a frame must have.

        Each computed column is replaced by the columns that its expression reads.
        """
        names = []
        for name in self.columns:
            expr = self.expressions.get(name)
            names += [name] if expr is None else expr.meta.root_names()
        return list(dict.fromkeys(names))

    @property
    def row_columns(self) -> list[str]:
        """The distinct columns of grades, scores, ties and inputs of measures."""
        columns = [
            self.grade,
            *self.sort_columns,
            *(self.ties.columns or ()),
            *self.inputs.values(),
        ]
        return list(dict.fromkeys(columns))

    @property
    def sort_columns(self) -> list[str]:
        """Return all columns in `by`: scores, and the columns after them, which break ties."""
        return [name for columns in self.by.values() for name in columns]

    def choose_document(self, doc: str, schema: Mapping[str, Any]) -> str:
        """Return the column to show for a document: `doc`, by default that of documents."""
        default = self.document or "doc"
        column = default if doc == DEFAULT_DOC else check_column_name("doc", doc)
        check_columns("frame", [column], schema, argument="doc")
        return column

    def with_document_column(self, schema: Mapping[str, pl.DataType]) -> Self:
        """Return the request with the column of documents of a frame."""
        request, others = (
            self,
            {*self.ranking_keys, self.grade, *(each[0] for each in self.by.values())},
        )
        if self.finds_document:
            column = find_document_column(schema, others) or self.find_text_tie_column(schema)
            request = replace(self, document=column)
        has_ranks = RANK not in self.ranking_keys and RANK in schema and schema[RANK].is_numeric()
        return replace(
            request,
            ties=request.ties.of_frame(schema, request.document, others),
            rank_column=RANK if has_ranks else None,
        )

    def find_text_tie_column(self, schema: Mapping[str, pl.DataType]) -> str | None:
        """Return the last tie-breaking column if it can be the document column.

        The columns in `ties` follow the tie-breaking columns in `by`. The last column must contain
        texts and must not be a key. Otherwise, the result is None.
        """
        columns = [
            *(name for by in self.by.values() for name in by[1:]),
            *(self.ties.columns or ()),
        ]
        is_text = columns and schema.get(columns[-1]) in TEXT_TYPES
        return columns[-1] if is_text and columns[-1] not in self.ranking_keys else None

    def add_computed_columns(self, frame: FrameT) -> FrameT:
        """Return the frame with computed columns, each evaluated within each ranking."""
        return add_computed_columns(frame, self.expressions, self.ranking_keys)

    def check_schema(self, schema: Mapping[str, pl.DataType]) -> None:
        """Raise if a column is missing or of the wrong type."""
        __tracebackhide__ = True
        strategy_columns = [] if self.strategy is None else [self.strategy]
        check_columns("frame", self.query, schema, argument="query")
        check_columns("frame", strategy_columns, schema, argument="strategy")
        arguments = {column: argument for argument, column in self.inputs.items()}
        arguments[self.grade] = "grade"
        for name, expr in self.expressions.items():
            argument = arguments.get(name, "by")
            check_columns("frame", expr.meta.root_names(), schema, argument=argument)
        doc_columns = [] if self.document is None else [self.document]
        for argument, names in (
            ("grade", [self.grade]),
            ("by", self.sort_columns),
            ("ties", self.ties.columns or []),
            ("doc", doc_columns),
            *((argument, [column]) for argument, column in self.inputs.items()),
        ):
            wanted = [name for name in names if name not in self.expressions]
            check_columns("frame", wanted, schema, argument=argument)
        schema = self.add_computed_columns(pl.LazyFrame(schema=schema)).collect_schema()
        check_comparable([*self.ranking_keys, *(self.ties.columns or ()), *doc_columns], schema)
        check_grade(f"grade {self.grade!r}", schema[self.grade])
        for name, column in self.inputs.items():
            check_input_type(f"{name} {column!r}", name, schema[column])
        for first, *_ in self.by.values():
            if schema[first] == pl.String:
                msg = (
                    f"score {first!r} must be a number to rank by, got String\n\n"
                    f"Hint: if the texts are numbers, cast them: pl.col({first!r}).cast(pl.Float64)"
                )
                if len(self.by) > 1:
                    msg += (
                        f"; if they are ids that break ties, pass ties={first!r}, or a list in "
                        "`by`: by=[['score', 'doc']]"
                    )
                raise TypeError(msg)
            check_score(f"score {first!r}", schema[first])

    def check_not_stacked(self, frame: pl.DataFrame | pl.LazyFrame, hint: str) -> None:
        """Raise if several strategies would be ranked as one.

        This concerns a column "strategy" that is no key, grade or sort column of the request. In an
        eager frame, it must have a single value. In a lazy frame, the number of values is unknown,
        so the column is never allowed.
        """
        used = {*self.ranking_keys, self.grade, *self.sort_columns}
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
        keys: dict[str, Any] = {} if self.grader is None else {GRADER: pl.String()}
        keys |= {name: schema.get(name, pl.String()) for name in self.result_keys}
        keys[self.strategy_key] = pl.String() if self.strategy is None else schema[self.strategy]
        values = {name: measure.definition.dtype for name, measure in self.measures.items()}
        return pl.Schema(keys | values | dict.fromkeys(self.record_columns, pl.String()))

    def with_fingerprint(self, schema: Mapping[str, pl.DataType]) -> Self:
        """Return the request with its column of ids, or None without fingerprints.

        Raise if this column does not hold ids, or if another column of the result is in `RECORDS`.
        """
        column = self.fingerprint
        if isinstance(column, bool):
            column = self.document if column else None
        if column is None:
            return replace(self, fingerprint=None)
        check_column_name("fingerprint", column)
        check_columns("frame", [column], schema, argument="fingerprint")
        if schema[column].is_nested() or schema[column] in (pl.Duration, pl.Binary):
            msg = f"`fingerprint` must name a column of ids, got {schema[column]} in {column!r}"
            raise TypeError(msg)
        for name in (*self.result_keys, *self.measures):
            if name in RECORDS:
                msg = (
                    f"`fingerprint` adds the columns {', '.join(map(repr, RECORDS))}, "
                    f"so no other column may have these names, got {name!r}"
                )
                raise ValueError(msg)
        return replace(self, fingerprint=column)

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

    def as_text(self, name: str, values: Values) -> Values:
        """Return a tie-breaking column, cast to text if it holds documents."""
        return values.cast(pl.String) if name == self.document else values

    def build_ranking(self, strategy: str) -> Ranking:
        """Return the ranking of a strategy by its sort columns and `ties`."""
        ties = [self.as_text(name, pl.col(name)) for name in self.ties.columns or ()]
        flags = [*self.find_directions(strategy), *(True for _ in ties)]
        return self.unsorted_ranking.ranked_by(
            [*self.find_columns(strategy), *ties], descending=flags
        )
