"""Columns of a frame, by what they hold: passed by the caller, computed, or found by name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Self

import polars as pl

from polars_graded._checks import (
    TEXT_TYPES,
    check_column_name,
    check_column_names,
    check_columns,
    check_comparable,
)
from polars_graded._frames.arguments import (
    NO_GRADE,
    By,
    Column,
    Columns,
    Grade,
    parse_by,
    parse_grade,
    parse_inputs,
    select_scores,
    selects_columns,
)
from polars_graded._frames.rows import FrameT, Groups, add_computed_columns
from polars_graded._measuring.column_checks import check_grade, check_score
from polars_graded._measuring.document_columns import (
    DEFAULT_DOC,
    find_document_column,
    may_identify_queries,
)
from polars_graded._measuring.document_inputs import check_input_type
from polars_graded._measuring.list_columns import Values, convert_to_physical
from polars_graded._measuring.rank_columns import RANK

DIRECTION_SUFFIX = " (in the direction of its strategy)"
"""End of the name of a computed score that is negated for some strategies."""


@dataclass(frozen=True)
class FrameColumns:
    """Columns of a frame, by what they hold."""

    query: tuple[str, ...]
    grade: str
    by: Mapping[str, tuple[str, ...]]
    """The sort columns of each strategy, by its name. If `strategy` names a column, there is a
    single entry for all its strategies."""
    strategy: str | None = None
    """The column that names the strategy of each row, or None. Strategies in such a column are
    called stacked."""
    grader: str | None = None
    """Name of the grader; None if `grade` is a single column, not a list or a mapping."""
    inputs: Mapping[str, str] = field(default_factory=dict)
    """Columns for the inputs of measures, by the name of the input, such as `known`."""
    expressions: Mapping[str, pl.Expr] = field(default_factory=dict)
    """Expressions that were passed as arguments, by the name of the column that each computes."""
    document: str | None = None
    """The column of documents, or None."""
    doc_is_default: bool = False
    """True if the column of documents is the default, found in the frame if it has one."""
    rank: str | None = None
    """The column `rank` of the frame, or None. It may show in which direction a score ranks."""
    fingerprint: str | None = None
    """The column of ids for fingerprints; None without fingerprints."""

    @classmethod
    def of(
        cls,
        schema: Mapping[str, pl.DataType],
        *,
        query: Columns = "query",
        grade: Grade = "grade",
        by: By = "score",
        strategy: str | None = None,
        doc: str | None = DEFAULT_DOC,
        **inputs: Column | None,
    ) -> Self:
        """Return the columns that arguments of `evaluate` name.

        `inputs` are the columns of `DOCUMENT_INPUTS`.
        """
        __tracebackhide__ = True
        expressions: dict[str, pl.Expr] = {}
        grader, grade = parse_grade(grade, expressions)
        queries = tuple(check_column_names("query", query))
        if strategy is not None:
            check_column_name("strategy", strategy)
        if selects_columns(by):
            by = select_scores(by, schema, {*queries, strategy, grade})
        entries = parse_by(by, expressions)
        if strategy is not None and len(entries) > 1:
            msg = f"`by` must have one entry if `strategy` is passed, got {', '.join(entries)}"
            raise ValueError(msg)
        is_found = isinstance(doc, str) and doc == DEFAULT_DOC
        return cls(
            query=queries,
            grade=grade,
            by=entries,
            strategy=strategy,
            grader=grader,
            inputs=parse_inputs(expressions, **inputs),
            expressions=expressions,
            document=None if doc is None or is_found else check_column_name("doc", doc),
            doc_is_default=is_found,
        )

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
    def sort_columns(self) -> list[str]:
        """All columns in `by`: scores, and the columns after them, which break ties."""
        return [name for columns in self.by.values() for name in columns]

    @property
    def scores(self) -> list[str]:
        """The first sort column of each entry of `by`."""
        return [columns[0] for columns in self.by.values()]

    @property
    def is_graded(self) -> bool:
        """Return whether rows have grades; False for `NO_GRADE`."""
        grade = self.expressions.get(self.grade)
        return grade is None or not grade.meta.eq(NO_GRADE)

    @property
    def other_than_documents(self) -> set[str]:
        """The columns that cannot be the column of documents: keys, grades and scores."""
        return {*self.ranking_keys, self.grade, *self.scores}

    def find_documents(self, groups: Groups) -> str | None:
        """Return the column of documents, or None without documents.

        A column `id` that was not passed, with one value for each ranking, identifies queries.
        """
        name = self.document
        if name is None or not (self.doc_is_default and may_identify_queries(name)):
            return name
        return None if groups.have_one_value(name) else name

    def find_entry(self, strategy: str) -> str:
        """Return the name of a strategy in `by`; stacked strategies share one entry."""
        return strategy if self.strategy is None else next(iter(self.by))

    def find_sort_columns(self, strategy: str) -> tuple[str, ...]:
        """Return the columns to rank a strategy by."""
        return self.by[self.find_entry(strategy)]

    def find_sources(self, names: Iterable[str]) -> list[str]:
        """Return the columns of the frame from which columns are computed, or these themselves."""
        sources: list[str] = []
        for name in names:
            expr = self.expressions.get(name)
            sources += [name] if expr is None else expr.meta.root_names()
        return list(dict.fromkeys(sources))

    def add_computed_columns(self, frame: FrameT) -> FrameT:
        """Return the frame with computed columns, each evaluated within each ranking."""
        return add_computed_columns(frame, self.expressions, self.ranking_keys)

    def negate_scores(self, strategies: Collection[str], schema: Mapping[str, pl.DataType]) -> Self:
        """Return the columns with scores that are negated for some stacked strategies.

        `schema` is the result of `check_schema`.
        """
        if not strategies:
            return self
        [(name, (score, *others))] = self.by.items()
        expressions = {**self.expressions}
        values = expressions.pop(score, pl.col(score))
        values = convert_to_physical(values, schema[score]).cast(pl.Float64)
        is_negated = pl.col(self.strategy_key).cast(pl.String).is_in([*strategies])
        alias = score + DIRECTION_SUFFIX
        expressions[alias] = pl.when(is_negated).then(-values).otherwise(values)
        return replace(self, by={name: (alias, *others)}, expressions=expressions)

    def resolve(
        self,
        schema: Mapping[str, pl.DataType],
        tie_columns: Collection[str],
        *,
        fingerprint: str | bool | None,
    ) -> Self:
        """Return the columns with those that are found in a frame: documents, ranks and ids."""
        document = self.document
        if self.doc_is_default:
            document = find_document_column(schema, self.other_than_documents)
            document = document or self._find_text_tie_column(schema, tie_columns)
        has_ranks = RANK not in self.ranking_keys and RANK in schema and schema[RANK].is_numeric()
        ids = fingerprint
        if isinstance(ids, bool):
            ids = document if ids else None
        if ids is not None:
            check_column_name("fingerprint", ids)
            check_columns("frame", [ids], schema, argument="fingerprint")
            if schema[ids].is_nested() or schema[ids] in (pl.Duration, pl.Binary):
                msg = f"`fingerprint` must name a column of ids, got {schema[ids]} in {ids!r}"
                raise TypeError(msg)
        return replace(self, document=document, rank=RANK if has_ranks else None, fingerprint=ids)

    def _find_text_tie_column(
        self, schema: Mapping[str, pl.DataType], tie_columns: Collection[str]
    ) -> str | None:
        """Return the last tie-breaking column if it can be the document column.

        The columns in `ties` follow the tie-breaking columns in `by`. The last column must contain
        texts and must not be a key. Otherwise, the result is None.
        """
        columns = [*(name for by in self.by.values() for name in by[1:]), *tie_columns]
        is_text = columns and schema.get(columns[-1]) in TEXT_TYPES
        return columns[-1] if is_text and columns[-1] not in self.ranking_keys else None

    def check_schema(
        self, schema: Mapping[str, pl.DataType], tie_columns: Collection[str]
    ) -> pl.Schema:
        """Return the types of all columns, also of computed ones.

        Raise if a column is missing or of the wrong type.
        """
        __tracebackhide__ = True
        strategies = [] if self.strategy is None else [self.strategy]
        documents = [] if self.document is None else [self.document]
        for argument, names in (
            ("query", self.query),
            ("strategy", strategies),
            ("grade", [self.grade]),
            ("by", self.sort_columns),
            ("ties", tie_columns),
            ("doc", documents),
            *((argument, [column]) for argument, column in self.inputs.items()),
        ):
            check_columns("frame", self.find_sources(names), schema, argument=argument)
        types = self.add_computed_columns(pl.LazyFrame(schema=schema)).collect_schema()
        check_comparable([*self.ranking_keys, *tie_columns, *documents], types)
        check_grade(f"grade {self.grade!r}", types[self.grade])
        for name, column in self.inputs.items():
            check_input_type(f"{name} {column!r}", name, types[column])
        for score in self.scores:
            if types[score] == pl.String:
                msg = (
                    f"score {score!r} must be a number to rank by, got String\n\n"
                    f"Hint: if the texts are numbers, cast them: pl.col({score!r}).cast(pl.Float64)"
                )
                if len(self.by) > 1:
                    msg += (
                        f"; if they are ids that break ties, pass ties={score!r}, or a list in "
                        "`by`: by=[['score', 'doc']]"
                    )
                raise TypeError(msg)
            check_score(f"score {score!r}", types[score])
        return types

    def choose_document(self, doc: str, schema: Mapping[str, pl.DataType]) -> str:
        """Return the column to show for a document: `doc`, by default that of documents."""
        default = self.document or "doc"
        column = default if doc == DEFAULT_DOC else check_column_name("doc", doc)
        check_columns("frame", [column], schema, argument="doc")
        return column

    def as_text(self, name: str, values: Values) -> Values:
        """Return a tie-breaking column, cast to text if it holds documents."""
        return values.cast(pl.String) if name == self.document else values
