"""Describe how rows of a query form a ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl
import polars.selectors as cs

from polars_graded._checks import check_column, check_number
from polars_graded._measuring.column_checks import (
    COMPARABLE_TYPES,
    NUMBER_RULE,
    NUMERIC_TYPES,
    plan_dtype,
)
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

    @property
    def grade_name(self) -> str:
        """The column of grades, as errors state it."""
        return _name_column("grade", self.grade)

    @property
    def sort_names(self) -> list[str]:
        """The sort columns, as errors state them."""
        return [_name_column("score", column) for column in self.by]

    def name_input(self, name: str) -> str:
        """Return an input such as `known` with its column, as errors state it."""
        return _name_column(name, self.inputs[name])

    def write_error(self, error: UnusableDataError, n: int, unit: str = "queries") -> str:
        """Return an error message: column, rule and number of queries affected."""
        rule, *hint = str(error).split("\n\n")
        subject = (
            f"{self.grade_name}:" if error.input_name is None else self.name_input(error.input_name)
        )
        msg = f"{subject} {rule}, in {error.is_unusable.sum()} of {n} {unit}"
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
        rules = [(self.grade, NUMBER_RULE.format(self.grade_name), NUMERIC_TYPES)]
        for name, column in zip(self.sort_names, self.by, strict=True):
            # Only objects are refused here, since Polars cannot make lists of them. Other types of
            # scores are checked when the query runs.
            rules.append((column, f"{name} must be a number to rank by", COMPARABLE_TYPES))
        for name, column in self.inputs.items():
            kind, types = DOCUMENT_INPUTS[name].kind, DOCUMENT_INPUTS[name].planned_types
            rules.append((column, f"{self.name_input(name)} must be {kind}", cs.by_dtype(*types)))
        return plan_dtype(dtype, rules)


def _name_column(kind: str, column: pl.Expr) -> str:
    """Return the name of a column after its kind, such as "grade 'rel'"."""
    name = column.meta.output_name(raise_if_undetermined=False)
    return f"{kind} {name!r}" if name else kind
