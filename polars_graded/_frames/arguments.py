"""Arguments of `evaluate` and of functions that share them: their types and parsers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import polars as pl

from polars_graded._checks import (
    check_column_name,
    check_column_names,
    check_list,
    check_not_series,
)
from polars_graded._measuring.definitions import DEFINITIONS, Definition
from polars_graded._measuring.measures import Measure, check_distinct_names

Columns: TypeAlias = "str | Sequence[str]"
SortColumns: TypeAlias = "str | pl.Expr | Sequence[str | pl.Expr]"
Column: TypeAlias = "str | pl.Expr"
By: TypeAlias = "SortColumns | Sequence[SortColumns] | Mapping[str, SortColumns]"
Grade: TypeAlias = "str | pl.Expr | Sequence[str | pl.Expr] | Mapping[str, str | pl.Expr]"
Descending: TypeAlias = "bool | Sequence[Flags] | Mapping[str, Flags] | None"
Flags: TypeAlias = "bool | Sequence[bool]"
Measures: TypeAlias = "str | Iterable[str] | Mapping[str, str]"

NO_GRADE = pl.lit(None).alias("no grade")
"""Value of `grade` in calls that use rankings without grades."""


def parse_measures(
    entries: Sequence[Measures], among: Mapping[str, Definition] = DEFINITIONS
) -> dict[str, Measure]:
    """Return the measure of each result column, by the name of the column.

    An entry is a measure such as `"ap"`, a list of measures such as `["ap", "ndcg"]`, or a mapping
    from columns to measures such as `{"nDCG": "ndcg@10"}`.
    """
    __tracebackhide__ = True
    columns: list[tuple[str, Measure]] = []
    for entry in entries:
        _check_no_frame(entry)
        if isinstance(entry, Mapping):
            for column, text in entry.items():
                columns.append((check_column_name("measures", column), Measure.parse(text, among)))
        else:
            is_single = isinstance(entry, str) or not isinstance(entry, Iterable)
            texts: Iterable[Any] = [entry] if is_single else entry
            for text in texts:
                measure = Measure.parse(text, among)
                columns.append((measure.name, measure))
    check_distinct_names([column for column, _ in columns], among)
    return dict(columns)


def parse_scalar_measures(entries: Sequence[Measures]) -> dict[str, Measure]:
    """Return the measure of each column; raise for curves, which have several values per query."""
    measures = parse_measures(entries)
    for measure in measures.values():
        if measure.is_curve:
            msg = f"`measures` must have one value per query, got the curve {measure.name}"
            raise ValueError(msg)
    return measures


def parse_graders(grade: Grade) -> dict[str, str | pl.Expr] | None:
    """Map each grader to a column; return None if `grade` is a single column."""
    if isinstance(grade, str | pl.Expr):
        return None
    check_not_series("grade", grade)
    columns: Any = grade
    if not isinstance(grade, Mapping):
        entries = check_list("grade", grade)
        names = [_find_name(entry) for entry in entries]
        check_column_names("grade", names)
        columns = dict(zip(names, entries, strict=True))
    check_column_names("grade", [*columns])
    return {
        name: column if isinstance(column, pl.Expr) else check_column_name("grade", column)
        for name, column in columns.items()
    }


def parse_grade(
    grade: Grade, expressions: dict[str, pl.Expr] | None = None
) -> tuple[str | None, str]:
    """Return the name of the grader, or None, and the column of grades.

    If the grades are an expression, add it to `expressions`.
    """
    graders = parse_graders(grade)
    expressions = {} if expressions is None else expressions
    columns: dict[str, Any] = {_find_name(grade): grade} if graders is None else graders
    if len(columns) > 1:
        msg = f"`grade` must name one grader here, got {len(columns)}: {', '.join(columns)}"
        raise ValueError(msg)
    [(name, entry)] = columns.items()
    column = parse_column("grade", entry, f"{name} (expression of grade)", expressions)
    return None if graders is None else name, column


def _find_name(column: Any) -> Any:
    """Return `column` if it is a name, or the name of an expression's result."""
    if not isinstance(column, pl.Expr):
        return column
    return column.meta.output_name(raise_if_undetermined=False) or "expression"


def parse_column(argument: str, column: Any, alias: str, expressions: dict[str, pl.Expr]) -> str:
    """Return the name of a column; add an expression to `expressions` under its alias."""
    if not isinstance(column, pl.Expr):
        return check_column_name(argument, column)
    if column.meta.has_multiple_outputs():
        msg = f"an expression of `{argument}` must be one column, got {column}"
        raise ValueError(msg)
    expressions[alias] = column
    return alias


def parse_inputs(expressions: dict[str, pl.Expr], **columns: Column | None) -> dict[str, str]:
    """Return the column of each input that is passed, such as `known`."""
    return {
        name: parse_column(
            name, column, f"{_find_name(column)} (expression of {name})", expressions
        )
        for name, column in columns.items()
        if column is not None
    }


def _check_no_frame(entry: Any) -> None:
    """Raise if a run or judgments are passed in place of a measure."""
    texts = entry.values() if isinstance(entry, Mapping) else []
    if hasattr(entry, "columns") or any(isinstance(each, Mapping | list) for each in texts):
        msg = (
            f"a measure must be named by a string such as 'ndcg@10', got {type(entry).__name__}\n\n"
            "Hint: join_judgments(run, judgments) joins the two into the frame to evaluate"
        )
        raise TypeError(msg)


def parse_by(by: Any, expressions: dict[str, pl.Expr] | None = None) -> dict[str, tuple[str, ...]]:
    """Return the columns to rank each strategy by; add expressions to `expressions`."""
    expressions = {} if expressions is None else expressions
    check_not_series("by", by)
    if isinstance(by, Mapping):
        entries = [*by.items()]
    else:
        is_sequence = isinstance(by, Sequence) and not isinstance(by, str)
        entries = [(None, each) for each in (by if is_sequence else [by])]
    if not entries:
        msg = "`by` must name at least one column, got none"
        raise ValueError(msg)
    strategies = {}
    for name, entry in entries:
        if isinstance(by, Mapping) and not isinstance(name, str):
            msg = f"`by` must name each strategy by a string, got {name!r}"
            raise TypeError(msg)
        columns = [entry] if isinstance(entry, str | pl.Expr) else entry
        is_filled = isinstance(columns, list | tuple) and len(columns) > 0
        if not is_filled or not all(isinstance(column, str | pl.Expr) for column in columns):
            msg = f"`by` must be column names, expressions or lists of them, got {by!r}"
            raise TypeError(msg)
        strategy = _find_name(columns[0]) if name is None else name
        strategies[strategy] = tuple(
            parse_column("by", column, f"{strategy} (expression {number} of by)", expressions)
            for number, column in enumerate(columns, 1)
        )
    if len(strategies) < len(entries):
        msg = (
            f"`by` must name a different first column for each strategy, got {by!r}\n\n"
            "Hint: a mapping names the strategies: by={'a': 'score', 'b': ['score', 'doc']}"
        )
        raise ValueError(msg)
    return strategies


def selects_columns(by: Any) -> bool:
    """Return whether `by` selects columns: a selector, several columns or a pattern."""
    entries = by if isinstance(by, list | tuple) else [by]
    return any(
        (
            isinstance(each, pl.Expr)
            and each.meta.is_column_selection()
            and not each.meta.is_column()
        )
        or (isinstance(each, str) and each.startswith("^") and each.endswith("$"))
        for each in entries
    )


def select_scores(
    by: Any, schema: Mapping[str, pl.DataType], others: Collection[str | None]
) -> list[str]:
    """Return the columns of a frame that `by` selects, without `others`."""
    try:
        names = pl.LazyFrame(schema=schema).select(by).collect_schema().names()
    except pl.exceptions.ColumnNotFoundError as error:
        problem = str(error).partition("\n")[0]
        msg = f"`by` must select columns of `frame`, which has {', '.join(schema)}: {problem}"
        raise pl.exceptions.ColumnNotFoundError(msg) from None
    scores = [name for name in names if name not in others]
    if not scores:
        msg = f"`by` must select at least one column of `frame`, got none of {', '.join(schema)}"
        raise ValueError(msg)
    return scores
