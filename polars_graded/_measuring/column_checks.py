"""Checks of columns: of types, also when Polars plans a query, and of values in lists."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import polars as pl
import polars.selectors as cs

from polars_graded._measuring.list_columns import Lists, are_exact, count_not_finite

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


# Values


def check_grades(name: str, grades: Lists, unit: str = "queries") -> None:
    """Raise if grades are not finite numbers that doubles can hold.

    `unit` is the word for what the column has one list for.
    """
    check_grade(name, grades.flat.dtype)
    _check_exact(name, grades.flat)
    _check_finite(name, grades, unit, ", which means unjudged")


def check_sort_columns(
    names: Sequence[str], sort_columns: Sequence[Lists], grades: Lists, unit: str = "queries"
) -> None:
    """Raise if the sort columns do not fit the grades, or if a number is not finite."""
    for name, column in zip(names, sort_columns, strict=True):
        is_score = column is sort_columns[0]
        if is_score:
            check_score(name, column.flat.dtype)
        check_as_long(name, column, grades)
        _check_finite(name, column, unit, ", which means not retrieved" if is_score else "")


def _check_finite(name: str, column: Lists, unit: str, meaning_of_null: str) -> None:
    """Raise if a number is NaN or infinite."""
    if n := count_not_finite(column):
        remedy = ".fill_nan(None) makes NaN null"
        if column.flat.is_infinite().any():
            remedy = "pl.when(c.is_finite()).then(c) makes infinity and NaN of a column c null"
        msg = (
            f"{name} must be finite, got NaN or infinity in {n} of {len(column)} {unit}\n\n"
            f"Hint: {remedy}{meaning_of_null}"
        )
        raise ValueError(msg)


def check_as_long(name: str, column: Lists, grades: Lists) -> None:
    """Raise unless a column has one value per grade in each query."""
    if not np.array_equal(column.offsets, grades.offsets):
        msg = (
            f"{name} must have one value per row, got {len(column.flat)} for "
            f"{len(grades.flat)} rows"
        )
        raise ValueError(msg)


def _check_exact(name: str, grade: pl.Series) -> None:
    """Raise if a double cannot hold an integer of a column.

    Kernels use doubles.
    """
    if not grade.dtype.is_integer() or are_exact(grade):
        return
    doubles = grade.cast(pl.Float64).cast(grade.dtype, strict=False)
    if (is_rounded := doubles.ne_missing(grade)).any():
        first = grade.filter(is_rounded)[0]
        msg = f"{name} must be a number that a double can hold, got {first}"
        raise ValueError(msg)
