"""Request of an `evaluate` call in one checked form, which can be pickled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, TypedDict, TypeVar

import polars as pl

from polars_graded._checks import (
    check_column_name,
    check_column_names,
    check_columns,
    check_comparable,
    check_flag,
    check_frame,
    check_list,
    did_you_mean,
    first_few,
)
from polars_graded._frames.document_columns import DEFAULT_DOC, find_document_column
from polars_graded._frames.inputs import GRADER
from polars_graded._measuring.keywords import checks_keywords
from polars_graded._measuring.names import Measure, check_once
from polars_graded._measuring.ranking import Ranking, Undefined, check_grade, check_score
from polars_graded._measuring.tie_orders import TOOLS, Tool

Columns: TypeAlias = "str | Sequence[str]"
Keys: TypeAlias = "str | pl.Expr | Sequence[str | pl.Expr]"
By: TypeAlias = "Keys | Sequence[Keys] | Mapping[str, Keys]"
Grade: TypeAlias = "str | pl.Expr | Sequence[str | pl.Expr] | Mapping[str, str | pl.Expr]"
Descending: TypeAlias = "bool | Sequence[Flags] | Mapping[str, Flags] | None"
Flags: TypeAlias = "bool | Sequence[bool]"
Ties: TypeAlias = "Columns | Mapping[Tool, str] | None"
Measures: TypeAlias = "str | Iterable[str] | Mapping[str, str]"


Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)


class RowOptions(TypedDict, total=False):
    """Arguments of `evaluate` that define the meaning of rows, without the graders."""

    grade: Grade
    by: By
    ties: Ties
    descending: Descending
    irrelevant: float
    highest: float | None
    relevant_from: float | None
    undefined_as: Undefined
    condensed: bool


class RequestOptions(RowOptions, total=False):
    """Arguments of `evaluate` that define the meaning of rows."""

    query: Columns
    strategy: str | None


@dataclass(frozen=True)
class Request:
    """Request of an `evaluate` call, checked."""

    measures: Mapping[str, Measure]
    """The measure of each column that comes out, under the column's name."""
    by: Mapping[str, tuple[str, ...]]
    """The columns to rank by of each strategy, under its name; one entry where they are stacked."""
    query: tuple[str, ...]
    grade: str
    strategy: str | None
    """The column of stacked strategies."""
    ties: tuple[str, ...] | None
    """The columns that break ties, none to keep the order of rows; None where none was named."""
    descending: Mapping[str, tuple[bool, ...]]
    """Whether the highest value of each column comes first, for the strategies of which this was
    passed."""
    scale: Ranking
    """What the grades mean; the columns to rank by are those of `by`."""
    computed: Mapping[str, pl.Expr] = field(default_factory=dict)
    """The expressions of `by` and `grade`, under the names of the columns that they make."""
    doc: str | None = DEFAULT_DOC
    """The column of documents; None for none, and the default until a frame is known."""
    grader: str | None = None
    """Whose grades these are, where there may be others: they judged what they judged."""
    tool: Tool | None = None
    """The tool whose order of tied documents is meant."""
    tie_column: str | None = None
    """The column of documents that orders what is tied, where no column is named to break ties."""

    @classmethod
    @checks_keywords
    def of(
        cls,
        measures: Sequence[Measures],
        *,
        query: Columns = "query",
        grade: Grade = "grade",
        by: By = "score",
        strategy: str | None = None,
        ties: Ties = None,
        descending: Descending = None,
        doc: str | None = DEFAULT_DOC,
        irrelevant: float = 0.0,
        highest: float | None = None,
        relevant_from: float | None = None,
        undefined_as: Undefined = "default",
        condensed: bool = False,
    ) -> Request:
        """Return the request of these arguments of `evaluate`."""
        computed: dict[str, pl.Expr] = {}
        grader, grade = settled_grade(grade, computed)
        strategies = settled_by(by, computed)
        tool, tie_column = settled_tool(ties)
        scale = Ranking(pl.col(grade))
        scale = replace(scale, condensed=check_flag("condensed", condensed))
        request = cls(
            settled_measures(measures),
            strategies,
            tuple(check_column_names("query", query)),
            grade,
            None if strategy is None else check_column_name("strategy", strategy),
            None if tool is not None else settled_ties(ties),
            settled_descending(descending, strategies),
            scale.scaled(irrelevant, highest, relevant_from).undefined_as(undefined_as),
            computed,
            None if doc is None else check_column_name("doc", doc),
            grader,
            tool=tool,
            tie_column=tie_column,
        )
        request._check_names()
        return request

    @classmethod
    def of_graders(cls, measures: Sequence[Measures], **options: Any) -> list[Request]:
        """Return the request of each grader that these arguments name."""
        graders = settled_graders(options.get("grade", "grade"))
        if graders is None:
            return [cls.of(measures, **options)]
        each = ({"grade": {grader: column}} for grader, column in graders.items())
        return [cls.of(measures, **options | grade) for grade in each]

    def _check_names(self) -> None:
        """Raise where two columns of what comes out would have one name."""
        if self.strategy is not None and len(self.by) > 1:
            names = ", ".join(self.by)
            msg = f"`by` must name one column where `strategy` is given, got {names}"
            raise ValueError(msg)
        if self.key in self.query:
            msg = (
                "`query` must be another column than the one of strategies, "
                f"got {self.key!r} for both"
            )
            raise ValueError(msg)
        for argument, name in (("strategy", self.key), *(("query", name) for name in self.query)):
            if name == GRADER and self.grader is not None:
                msg = f"`{argument}` must be another column than that of graders, got {name!r}"
                raise ValueError(msg)
            if name in self.measures:
                msg = f"`{argument}` must not have the name of a measure, got {name!r}"
                raise ValueError(msg)

    @property
    def key(self) -> str:
        """The column of strategies in what comes out."""
        return "strategy" if self.strategy is None else self.strategy

    @property
    def keys(self) -> list[str]:
        """The columns whose values tell rankings apart."""
        return [*self.query] if self.strategy is None else [self.strategy, *self.query]

    @property
    def keys_of_values(self) -> list[str]:
        """The columns of strategies and queries in what comes out."""
        return [self.key, *self.query]

    def columns_of(self, strategy: str) -> tuple[str, ...]:
        """Return the columns to rank a strategy by, which are the same for all that are stacked."""
        return self.by[strategy] if self.strategy is None else next(iter(self.by.values()))

    def directions_of(self, strategy: str) -> tuple[bool, ...]:
        """Return whether the highest value comes first, for each column of a strategy."""
        name = strategy if self.strategy is None else next(iter(self.by))
        return self.descending.get(name, (True,) * len(self.by[name]))

    @property
    def document(self) -> str | None:
        """The column of documents, once it is known."""
        return None if self.doc == DEFAULT_DOC else self.doc

    @property
    def columns(self) -> list[str]:
        """The columns of a frame that are looked at, each once."""
        documents = [name for name in (self.document, self.tie_column) if name is not None]
        return list(dict.fromkeys([*self.keys, *self.columns_of_rows, *documents]))

    @property
    def given_columns(self) -> list[str]:
        """The columns that a frame must have: in place of computed ones those they are made of."""
        names = []
        for name in self.columns:
            expr = self.computed.get(name)
            names += [name] if expr is None else expr.meta.root_names()
        return list(dict.fromkeys(names))

    @property
    def columns_of_rows(self) -> list[str]:
        """Those of them that say something of each document, each once."""
        return list(dict.fromkeys([self.grade, *self.scores, *(self.ties or ())]))

    @property
    def scores(self) -> list[str]:
        """The columns to rank by of all strategies."""
        return [name for columns in self.by.values() for name in columns]

    def opened(self, frame: Any, **others: str) -> pl.DataFrame | pl.LazyFrame:
        """Return the frame as a Polars frame with the requested columns."""
        checked = check_frame("frame", frame)
        schema = checked.collect_schema()
        self.check_schema(schema)
        for argument, column in others.items():
            check_columns("frame", [check_column_name(argument, column)], schema, argument=argument)
        self.check_not_stacked(checked)
        return checked

    def of_documents(self, schema: Mapping[str, pl.DataType]) -> Request:
        """Return the request with the column of documents of a frame, which orders ties by default.

        It orders ties where it holds texts or numbers, and no other column was named to do so.
        """
        request = self
        if self.doc == DEFAULT_DOC:
            others = {*self.keys, self.grade, *(columns[0] for columns in self.by.values())}
            doc = find_document_column(schema, others) or self._last_text_of_ties(schema)
            request = replace(self, doc=doc)
        return replace(request, tie_column=request.column_of_ties(schema))

    def _last_text_of_ties(self, schema: Mapping[str, pl.DataType]) -> str | None:
        """Return the last column that breaks ties if it holds texts, as ids of documents do."""
        columns = [*(self.ties or ()), *(name for by in self.by.values() for name in by[1:])]
        is_text = columns and schema.get(columns[-1]) in (pl.String, pl.Categorical, pl.Enum)
        return columns[-1] if is_text and columns[-1] not in self.keys else None

    def column_of_ties(self, schema: Mapping[str, pl.DataType]) -> str | None:
        """Return the column of documents that orders what is tied."""
        if self.ties is not None or self.tool == "ranx":
            return None
        column = self.tie_column or self.document
        dtype = None if column is None else schema.get(column)
        if self.tool is not None and dtype is None:
            msg = (
                f"ties={self.tool!r} needs the column of documents, got no {column or 'doc'!r} "
                f"among {first_few(list(schema))}\n\n"
                f"Hint: ties={{{self.tool!r}: 'item'}} names the column"
            )
            raise ValueError(msg)
        is_key = column in (*self.keys, *self.columns_of_rows)
        if dtype is None or (is_key and self.tool is None) or not can_be_text(dtype):
            return None
        return column

    def completed(self, frame: Frame) -> Frame:
        """Return the frame with the columns that expressions make of the rows of each ranking."""
        if not self.computed:
            return frame
        exprs = (expr.over(self.keys).alias(name) for name, expr in self.computed.items())
        return frame.with_columns(*exprs)

    def check_schema(self, schema: Mapping[str, pl.DataType]) -> None:
        """Raise where a column is missing or of the wrong kind."""
        stacked = [] if self.strategy is None else [self.strategy]
        check_columns("frame", self.query, schema, argument="query")
        check_columns("frame", stacked, schema, argument="strategy")
        for name, expr in self.computed.items():
            argument = "grade" if name == self.grade else "by"
            check_columns("frame", expr.meta.root_names(), schema, argument=argument)
        schema = self.completed(pl.LazyFrame(schema=schema)).collect_schema()
        doc = [] if self.document is None else [self.document]
        for argument, names in (
            ("query", self.query),
            ("grade", [self.grade]),
            ("by", self.scores),
            ("strategy", [] if self.strategy is None else [self.strategy]),
            ("ties", self.ties or []),
            ("doc", doc),
        ):
            check_columns("frame", names, schema, argument=argument)
        check_comparable([*self.keys, *(self.ties or ()), *doc], schema)
        check_grade(f"grade {self.grade!r}", schema[self.grade])
        for first, *_ in self.by.values():
            if schema[first] == pl.String and len(self.by) > 1:
                msg = (
                    f"score {first!r} must be a number to rank by, got String\n\n"
                    f"Hint: a column that breaks ties is named by ties={first!r}, or in a list: "
                    "by=[['score', 'doc']]"
                )
                raise TypeError(msg)
            check_score(f"score {first!r}", schema[first])

    def check_not_stacked(self, frame: pl.DataFrame | pl.LazyFrame) -> None:
        """Raise where several strategies would be ranked as one.

        A column "strategy" that no argument names may hold one value only; how many it holds cannot
        be seen in a lazy frame, so there it must be named.
        """
        used = {*self.keys, self.grade, *self.scores}
        if "strategy" in used or "strategy" not in frame.collect_schema():
            return
        if isinstance(frame, pl.DataFrame):
            n = frame.get_column("strategy").n_unique()
            if n <= 1:
                return
            holds = f"{n} strategies in its column 'strategy'"
        else:
            holds = "a column 'strategy', of which no argument speaks: strategies"
        msg = (
            f"`frame` has {holds}, which would be ranked as one\n\n"
            "Hint: say strategy='strategy', or drop the column"
        )
        raise ValueError(msg)

    def schema(self, given: Mapping[str, pl.DataType]) -> pl.Schema:
        """Return the schema of the result for a frame of that schema."""
        keys: dict[str, Any] = {} if self.grader is None else {GRADER: pl.String()}
        keys |= {name: given.get(name, pl.String()) for name in self.keys_of_values}
        keys[self.key] = pl.String() if self.strategy is None else given[self.strategy]
        return pl.Schema(keys | {c: m.definition.dtype for c, m in self.measures.items()})

    def ranking_by_document(self, strategy: str) -> Ranking:
        """Return the ranking of a strategy, whose ties the document breaks.

        It is that of `ranking` where columns were named to break ties, or the order of rows.
        """
        if self.tool not in (None, "trec_eval"):
            msg = (
                f"`ties` must name a column or 'trec_eval' where documents are shown, got "
                f"{self.tool!r}, whose order depends on more than documents"
            )
            raise ValueError(msg)
        plain = self.ranking(strategy)
        if self.tie_column is None:
            return plain
        first, *others = plain.by
        single = first.cast(pl.Float32) if self.tool else first
        by = [single, *others, pl.col(self.tie_column).cast(pl.String)]
        return self.scale.ranked_by(by, descending=[*plain.descending, True])

    def ranking(self, strategy: str) -> Ranking:
        """Return the ranking of a strategy by its columns."""
        ties = self.ties or ()
        flags = [*self.directions_of(strategy), *(True for _ in ties)]
        return self.scale.ranked_by([*self.columns_of(strategy), *ties], descending=flags)


# Arguments, each settled in one form


def settled_measures(given: Sequence[Measures]) -> dict[str, Measure]:
    """Return the measure of each column: `"ap"`, `["ap", "ndcg"]` or `{"nDCG": "ndcg@10"}`."""
    columns: list[tuple[str, Measure]] = []
    for entry in given:
        _check_no_frame(entry)
        if isinstance(entry, Mapping):
            for column, text in entry.items():
                columns.append((check_column_name("measures", column), Measure.parse(text)))
        else:
            alone = isinstance(entry, str) or not isinstance(entry, Iterable)
            texts: Iterable[Any] = [entry] if alone else entry
            columns += [(measure.name, measure) for measure in map(Measure.parse, texts)]
    check_once([column for column, _ in columns])
    return dict(columns)


def of_one_value(given: Sequence[Measures]) -> dict[str, Measure]:
    """Return the measure of each column, which must have one value per query."""
    measures = settled_measures(given)
    for measure in measures.values():
        if measure.is_curve:
            msg = f"`measures` must have one value per query, got the curve {measure.name}"
            raise ValueError(msg)
    return measures


def settled_graders(given: Grade) -> dict[str, str | pl.Expr] | None:
    """Return the grades of each grader by name; None for a single grader."""
    if isinstance(given, str | pl.Expr):
        return None
    columns: Any = given
    if not isinstance(given, Mapping):
        every = check_list("grade", given)
        check_column_names("grade", [_name_of(each) for each in every])
        columns = dict(zip(map(_name_of, every), every, strict=True))
    check_column_names("grade", [*columns])
    return {
        name: each if isinstance(each, pl.Expr) else check_column_name("grade", each)
        for name, each in columns.items()
    }


def settled_grade(
    given: Grade, computed: dict[str, pl.Expr] | None = None
) -> tuple[str | None, str]:
    """Return the column of grades, and the name of the grader if there is one."""
    graders = settled_graders(given)
    computed = {} if computed is None else computed
    if graders is None:
        graders = {_name_of(given): given}  # type: ignore[dict-item]
        name: str | None = None
    elif len(graders) > 1:
        msg = f"`grade` must name the grades of one grader here, got {', '.join(graders)}"
        raise ValueError(msg)
    else:
        name = next(iter(graders))
    [(called, column)] = graders.items()
    return name, _column("grade", column, f"{called} (expression of grade)", computed)


def _name_of(given: Any) -> Any:
    """Return the name of a column, or of the result of an expression."""
    if not isinstance(given, pl.Expr):
        return given
    return given.meta.output_name(raise_if_undetermined=False) or "expression"


def _column(argument: str, given: Any, called: str, computed: dict[str, pl.Expr]) -> str:
    """Return the name of a column; an expression is stored under `called` to be computed."""
    if not isinstance(given, pl.Expr):
        return check_column_name(argument, given)
    if given.meta.has_multiple_outputs():
        msg = f"an expression of `{argument}` must be one column, got {given}"
        raise ValueError(msg)
    computed[called] = given
    return called


def _check_no_frame(entry: Any) -> None:
    """Raise where a run or judgments stand in the place of a measure."""
    texts = entry.values() if isinstance(entry, Mapping) else []
    if hasattr(entry, "columns") or any(isinstance(each, Mapping | list) for each in texts):
        msg = (
            f"a measure must be named by a string such as 'ndcg@10', got {type(entry).__name__}\n\n"
            "Hint: judge(run, judgments) joins the two into the frame to evaluate"
        )
        raise TypeError(msg)


DOCUMENT = "doc"
"""The column of documents, where no argument names another."""


def can_be_text(dtype: pl.DataType) -> bool:
    """Return whether values are compared as text, as a tool does with documents."""
    return not (dtype.is_nested() or dtype in (pl.Object, pl.Binary, pl.Null))


def settled_tool(given: Any) -> tuple[Tool | None, str | None]:
    """Return the tool whose order of ties is meant, and the column that it is given, if any."""
    if isinstance(given, str):
        return next((tool for tool in TOOLS if tool == given), None), None
    if not isinstance(given, Mapping):
        return None, None
    if len(given) != 1 or not {*given} <= {*TOOLS}:
        msg = (
            f"`ties` takes a mapping of one of {', '.join(TOOLS)} to the column of documents, "
            f"got {given!r}"
        )
        raise ValueError(msg)
    [(tool, column)] = given.items()
    return tool, check_column_name("ties", column)


def settled_ties(given: Any) -> tuple[str, ...] | None:
    """Return the columns that break ties, none for row order; None if nothing is passed."""
    if given is None:
        return None
    is_order = isinstance(given, str) and given == "order"
    return () if is_order else tuple(check_column_names("ties", given))


def settled_by(by: Any, computed: dict[str, pl.Expr] | None = None) -> dict[str, tuple[str, ...]]:
    """Return the columns to rank each strategy by; expressions go to `computed`."""
    computed = {} if computed is None else computed
    several = isinstance(by, Sequence) and not isinstance(by, str)
    entries = (
        by.items() if isinstance(by, Mapping) else [(None, c) for c in (by if several else [by])]
    )
    if not entries:
        msg = "`by` must name at least one column, got none"
        raise ValueError(msg)
    strategies = {}
    for name, given in entries:
        if isinstance(by, Mapping) and not isinstance(name, str):
            msg = f"`by` must name each strategy by a string, got {name!r}"
            raise TypeError(msg)
        columns = [given] if isinstance(given, str | pl.Expr) else given
        of_columns = isinstance(columns, list | tuple) and len(columns) > 0
        if not of_columns or not all(isinstance(column, str | pl.Expr) for column in columns):
            msg = f"`by` takes column names, expressions and lists of them, got {by!r}"
            raise TypeError(msg)
        called = _name_of(columns[0]) if name is None else name
        strategies[called] = tuple(
            _column("by", column, f"{called} (expression {place} of by)", computed)
            for place, column in enumerate(columns, 1)
        )
    if len(strategies) < len(entries):
        msg = (
            f"`by` must name each strategy's first column once, got {by!r}\n\n"
            "Hint: a mapping gives strategies names of their own: by={'a': 'score', 'b': ['score', "
            "'doc']}"
        )
        raise ValueError(msg)
    return strategies


def settled_descending(
    given: Any, by: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[bool, ...]]:
    """Return whether the highest value comes first, for each column where it is passed."""
    if given is None:
        return {}
    if isinstance(given, bool):
        given = dict.fromkeys(by, given)
    elif isinstance(given, Mapping):
        for name in given:
            if name not in by:
                msg = (
                    f"`descending` must map strategies of `by`, {', '.join(map(repr, by))}, to "
                    f"True or False, got {name!r}"
                )
                raise ValueError(msg + (did_you_mean(name, by) if isinstance(name, str) else ""))
    elif isinstance(given, list | tuple):
        if len(given) != len(by):
            msg = f"`descending` must have one entry per strategy, got {len(given)} for {len(by)}"
            raise ValueError(msg)
        given = dict(zip(by, given, strict=True))
    else:
        msg = f"`descending` must be True, False, a list of them or a mapping, got {given!r}"
        raise TypeError(msg)
    return {name: _flags(name, flags, len(by[name])) for name, flags in given.items()}


def _flags(name: str, given: Any, n: int) -> tuple[bool, ...]:
    """Return whether the highest value comes first, for each of n columns."""
    flags = given if isinstance(given, list | tuple) else [given] * n
    if not all(isinstance(flag, bool) for flag in flags):
        msg = f"`descending` of {name!r} must be True, False or a list of them, got {given!r}"
        raise TypeError(msg)
    if len(flags) != n:
        msg = f"`descending` of {name!r} must have one entry per column, got {len(flags)} for {n}"
        raise ValueError(msg)
    return tuple(flags)
