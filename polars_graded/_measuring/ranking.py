"""Describe how rows of a query form a ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import polars as pl
import polars.selectors as cs

from polars_graded._checks import check_column, check_number
from polars_graded._measuring.document_inputs import DOCUMENT_INPUTS
from polars_graded._measuring.kernels.errors import UnusableDataError
from polars_graded._measuring.scale import Scale


@dataclass(frozen=True)
class Ranking:
    """Columns and options that define a ranking, and the scale of its grades."""

    grade: pl.Expr
    by: tuple[pl.Expr, ...] = ()
    descending: tuple[bool, ...] = ()
    direction_is_passed: bool = False
    """True if `descending` was passed; otherwise columns that look like ranks raise an error."""
    scale: Scale = field(default_factory=Scale)
    condensed: bool = False
    is_used: pl.Expr | None = None
    """Mask of the rows to use; None for all."""
    inputs: Mapping[str, pl.Expr] = field(default_factory=dict)
    """Columns that measures need besides the grade. Keywords such as `known` name them."""

    def ranked_by(
        self, by: Sequence[str | pl.Expr], *, descending: bool | Sequence[bool] | None = None
    ) -> Ranking:
        """Return the ranking ordered by columns."""
        if not by:
            msg = "`ranked_by` needs at least one column to rank by, got none"
            raise TypeError(msg)
        columns = tuple(check_column("ranked_by", column) for column in by)
        passed = descending is not None
        value: Any = True if descending is None else descending
        value = [value] * len(columns) if isinstance(value, bool) else value
        flags = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
        for flag in flags:
            if not isinstance(flag, bool):
                msg = f"`descending` must be True, False or a list of them, got {flag!r}"
                raise TypeError(msg)
        if len(flags) != len(columns):
            msg = (
                f"`descending` must have one entry per column, got {len(flags)} for {len(columns)}"
            )
            raise ValueError(msg)
        return replace(self, by=columns, descending=tuple(flags), direction_is_passed=passed)

    def only_grade(self, grade: float) -> Ranking:
        """Return the ranking in which only this grade is relevant."""
        wanted = check_number("grade", grade)
        # Adding 0 times the grade keeps NaN and infinity, which are errors in any ranking.
        is_wanted = (self.grade == wanted).cast(pl.Float64) + 0 * self.grade
        scale = self.scale.with_grades(0.0, None, None)
        return replace(self, grade=is_wanted, scale=scale)

    def keep_rows(self) -> Ranking:
        """Return the ranking with only the rows that its mask `is_used` selects."""
        if self.is_used is None:
            return self
        if not self.by:
            inputs = {name: column.filter(self.is_used) for name, column in self.inputs.items()}
            return replace(self, grade=self.grade.filter(self.is_used), inputs=inputs, is_used=None)
        # Unwanted rows are not filtered out. They get a null grade and a null score, so measures
        # ignore them. With filters, Polars 1 would sort one group by the rows of another.
        first, *others = self.by
        grade, first = (pl.when(self.is_used).then(column) for column in (self.grade, first))
        return replace(self, grade=grade, by=(first, *others), is_used=None)

    def with_inputs(self, **columns: str | pl.Expr | None) -> Ranking:
        """Return the ranking with the input columns that are not None."""
        inputs = {}
        for name, value in columns.items():
            if value is not None:
                column = check_column(name, value)
                # A literal has a single value; a condition on the grade repeats it for each row.
                repeated = pl.when(self.grade.is_null()).then(column).otherwise(column)
                inputs[name] = column if column.meta.is_column() else repeated
        return replace(self, inputs=inputs)

    def name_column(self, number: int) -> str:
        """Return the name of a column, as errors state it.

        Column 1 is the grade, column 2 the first score, and so on.
        """
        name = (self.grade, *self.by)[number - 1].meta.output_name(raise_if_undetermined=False)
        kind = "grade" if number == 1 else "score"
        return f"{kind} {name!r}" if name else kind

    def name_input(self, name: str) -> str:
        """Return an input such as `known` with its column, as errors state it."""
        column = self.inputs[name].meta.output_name(raise_if_undetermined=False)
        return f"{name} {column!r}" if column else name

    def write_error(self, error: UnusableDataError, n: int, unit: str = "queries") -> str:
        """Return an error message: column, rule and number of queries affected."""
        rule, *hint = str(error).split("\n\n")
        subject = (
            f"{self.name_column(1)}:"
            if error.input_name is None
            else self.name_input(error.input_name)
        )
        msg = f"{subject} {rule}, in {error.n_queries} of {n} {unit}"
        return "\n\n".join([msg, *hint])

    def check_single(self) -> None:
        """Raise if an expression other than that of the grades selects several columns."""
        kinds = [*("scores" for _ in self.by), *(f"`{name}`" for name in self.inputs)]
        for kind, expr in zip(kinds, (*self.by, *self.inputs.values()), strict=True):
            if expr.meta.has_multiple_outputs():
                msg = (
                    f"an expression of {kind} must be one column, got {expr}\n\n"
                    "Hint: make one measure for each column"
                )
                raise ValueError(msg)

    def make_planned_dtype(self, dtype: pl.DataType) -> pl.DataType | pl.DataTypeExpr:
        """Return `dtype` with checks that make Polars refuse unsuitable columns."""
        rules = [(self.grade, NUMBER_RULE.format(self.name_column(1)), NUMERIC_TYPES)]
        for number, column in enumerate(self.by, 2):
            # Only objects are refused here, since Polars cannot make lists of them. Other types of
            # scores are checked when the query runs.
            rules.append(
                (
                    column,
                    f"{self.name_column(number)} must be a number to rank by",
                    COMPARABLE_TYPES,
                )
            )
        for name, column in self.inputs.items():
            kind, types = DOCUMENT_INPUTS[name].kind, DOCUMENT_INPUTS[name].planned_types
            rules.append((column, f"{self.name_input(name)} must be {kind}", cs.by_dtype(*types)))
        return plan_dtype(dtype, rules)


NUMBER_RULE = "{} must be a number or a Boolean"
"""Rule for the column of grades."""

NUMERIC_TYPES = cs.numeric() | cs.boolean() | cs.by_dtype(pl.Null)
COMPARABLE_TYPES = ~cs.by_dtype(pl.Object)


def plan_dtype(
    dtype: pl.DataType, rules: Sequence[tuple[pl.Expr, str, cs.Selector]]
) -> pl.DataType | pl.DataTypeExpr:
    """Return `dtype` with checks of the types of columns.

    If a column has a type that its rule does not allow, Polars raises an error with the rule while
    it plans the query. To make the plan fail, the returned type is the type of an expression that
    reads a missing field of a struct. The text of the rule is the name of the field, since Polars
    writes it into the error: "grade 'g' must be a number or a Boolean" is such a field if `g` has
    texts. If `g` has numbers, the struct has the field, with a value of `dtype`. Computed columns
    are checked when the query runs.
    """
    checked_rules = [each for each in rules if each[0].meta.is_column()]
    expr = pl.lit(None, dtype=dtype)
    for column, rule, types in checked_rules:
        allowed = cs.by_name(column.meta.output_name()) & types  # no column if the type is refused
        rule_field = pl.when(allowed.is_null()).then(expr).name.map(partial(_return_rule, rule))
        expr = pl.struct(pl.lit(None).alias(""), rule_field).struct.field(rule)
    return pl.dtype_of(expr) if checked_rules else dtype


def _return_rule(rule: str, _name: str) -> str:
    return rule


def is_number(dtype: pl.DataType) -> bool:
    """Return whether a data type is numeric, Boolean or Null."""
    return dtype.is_numeric() or dtype in (pl.Boolean, pl.Null)


def check_grade(name: str, dtype: pl.DataType) -> None:
    """Raise if a column cannot hold grades."""
    if not is_number(dtype):
        msg = f"{NUMBER_RULE.format(name)}, got {dtype}"
        if dtype == pl.String:
            msg += (
                "\n\nHint: pl.read_csv(..., null_values=['NA']) reads the text NA as null; "
                "cast(pl.Float64) reads numbers that are texts"
            )
        raise TypeError(msg)


def check_score(name: str, dtype: pl.DataType) -> None:
    """Raise if a column of scores has an unsuitable type, such as text."""
    if not (is_number(dtype) or dtype.is_temporal() or dtype == pl.Enum):
        msg = f"{name} must be a number to rank by, got {dtype}"
        raise TypeError(msg)
