"""From the rows of a query to its rankings: order, ties, missing and unjudged, the scale.

| score | grade | meaning |
|---|---|---|
| value | value | retrieved and judged |
| value | null | retrieved, unjudged: takes its rank, is not relevant |
| null | value | judged, not retrieved: no rank, but could have been found |
| null | null | ignored |
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import polars as pl

from polars_graded._checks import check_number
from polars_graded._columns import column_named
from polars_graded._measuring.batches import are_exact

Undefined: TypeAlias = float | Literal["default"] | None
"""What a query gets for which a measure is undefined: a number, null, or what is usual for it."""


@dataclass(frozen=True)
class Ranking:
    """How the rows of a query become a ranking, and what its grades mean.

    Every expression it makes is imploded, one list per query: Polars then calls a kernel once
    with all queries, where it would call it once per query for an aggregated value.
    """

    grade: pl.Expr
    by: tuple[pl.Expr, ...] = ()
    descending: tuple[bool, ...] = ()
    irrelevant: float = 0.0
    highest: float | None = None
    undefined: float | None = 0.0
    undefined_is_said: bool = False
    condensed: bool = False
    rows: pl.Expr | None = None
    """Which rows there are; all where it is None."""

    def ranked_by(
        self, by: Sequence[str | pl.Expr], *, descending: bool | Sequence[bool] = True
    ) -> Ranking:
        """The same, ordered by columns."""
        if not by:
            msg = "`ranked_by` needs at least one column to rank by, got none"
            raise TypeError(msg)
        for key in by:
            if not isinstance(key, str | pl.Expr):
                msg = f"`ranked_by` takes column names and expressions, got {key!r}"
                raise TypeError(msg)
        keys = tuple(column_named(key) for key in by)
        given = [descending] * len(keys) if isinstance(descending, bool) else descending
        flags = given if isinstance(given, Sequence) and not isinstance(given, str) else [given]
        for flag in flags:
            if not isinstance(flag, bool):
                msg = f"`descending` must be True, False or a list of them, got {flag!r}"
                raise TypeError(msg)
        if len(flags) != len(keys):
            msg = f"`descending` must have one entry per column, got {len(flags)} for {len(keys)}"
            raise ValueError(msg)
        return replace(self, by=keys, descending=tuple(flags))

    @property
    def levels(self) -> tuple[float, ...]:
        """The levels of the scale: from one above irrelevant to the highest, in steps of one."""
        if self.highest is None:
            return ()
        steps = range(1, math.floor(self.highest - self.irrelevant) + 1)
        return tuple(self.irrelevant + step for step in steps)

    def scaled(self, irrelevant: float, highest: float | None) -> Ranking:
        """The same, on a scale of grades."""
        low = check_number("irrelevant", irrelevant)
        high = None if highest is None else check_number("highest", highest, above=low)
        return replace(self, irrelevant=low, highest=high)

    def undefined_as(self, value: Undefined) -> Ranking:
        """The same, with a value for queries without a relevant document."""
        if value == "default":
            return replace(self, undefined=0.0, undefined_is_said=False)
        said = None if value is None else check_number("value", value)
        return replace(self, undefined=said, undefined_is_said=True)

    def exactly(self, grade: float) -> Ranking:
        """The same, with one grade that is relevant and all others irrelevant."""
        wanted = check_number("grade", grade)
        return replace(self, grade=self.grade == wanted, irrelevant=0.0, highest=None)

    def kept(self) -> Ranking:
        """The same, of the rows that are kept alone."""
        if self.rows is None:
            return self
        if not self.by:
            return replace(self, grade=self.grade.filter(self.rows), rows=None)
        # A row without score and grade is ignored. To leave it out of both would have Polars 1
        # sort one group by the rows of another.
        first, *others = self.by
        grade, first = (pl.when(self.rows).then(column) for column in (self.grade, first))
        return replace(self, grade=grade, by=(first, *others), rows=None)

    def where(self, known: pl.Expr) -> Ranking:
        """The same, with the judgments of some documents only."""
        # Looked for in a list of True, a null is False, and Polars refuses what is neither Boolean
        # nor Null when it plans the query.
        is_known = pl.lit([True]).list.contains(known)
        return replace(self, grade=pl.when(is_known).then(self.grade))

    def documents(self, *, ties: bool = False) -> pl.Expr:
        """All rows in a list: the grade or, where there is something to rank by, a struct.

        It has the grade and the score. Where further columns break ties the structs are in rank
        order, and with `ties` these columns are in them too.
        """
        if not self.by:
            return self.grade.implode()
        keys = [*map(_refused_without_order, self.by)]
        # Polars 1 panics over a struct of a column and what has one value per query, where it has
        # an error for a condition on the one and the other.
        row = self.grade.is_null() | self.grade.is_not_null()
        to_rank_by = keys if ties else keys[:1]
        fields = [self.grade, *(pl.when(row).then(key) for key in to_rank_by)]
        rows = pl.struct(field.alias(str(number)) for number, field in enumerate(fields))
        if len(keys) > 1:
            rows = rows.sort_by(
                keys, descending=list(self.descending), nulls_last=True, maintain_order=True
            )
        return rows.implode()

    def put_in_order(self, frame: pl.DataFrame, queries: Sequence[str]) -> pl.DataFrame:
        """The rows of a frame query by query, each in rank order, then what was not retrieved."""
        descending = [*(False for _ in queries), *self.descending]
        first, *others = self.by
        if self.condensed:
            first = pl.when(self.grade.is_not_null()).then(first)
        return frame.sort(
            [*map(pl.col, queries), first, *others],
            descending=descending,
            nulls_last=True,
            maintain_order=True,
        )

    def unusable(self) -> pl.Expr:
        """The number, from 1, of a column with NaN or infinity in the query, or 0, as a list."""
        numbers = pl.map_batches(
            [self.grade, *self.by], unusable, is_elementwise=True, return_dtype=pl.UInt32
        )
        return (numbers.max() + self._nothing_if_numbers()).implode()

    def _nothing_if_numbers(self) -> pl.Expr:
        """0; where grades are no numbers, what Polars refuses with our sentence as it plans.

        A function without a `return_dtype` is called with dummy rows when the query is planned. An
        error in it would be swallowed, so what is wrong is the name of a field of what it returns:
        `not_` refuses a struct, and quotes it.
        """
        # A maximum asks once. What takes one row of each query is moved by Polars to before the
        # function, which is then called once per query.
        return pl.map_batches([self.grade], _refused_by_not, is_elementwise=True).not_().max()

    def column(self, number: int) -> str:
        """What to call the column of that number in an error."""
        kind = "grade" if number == 1 else "score"
        name = (self.grade, *self.by)[number - 1].meta.output_name(raise_if_undetermined=False)
        return _named(kind, name or "")


def _refused_without_order(key: pl.Expr) -> pl.Expr:
    """A key that is refused if it has no order."""
    return pl.map_batches([key], _sortable, is_elementwise=True, return_dtype=pl.dtype_of(key))


def _sortable(columns: Sequence[pl.Series]) -> pl.Series:
    """A column to rank by, which must have an order: Polars panics where it sorts objects."""
    (column,) = columns
    if column.dtype == pl.Object:
        msg = f"{_named('score', column.name)} must be a number to rank by, got {column.dtype}"
        raise TypeError(msg)
    return column


def _named(kind: str, name: str) -> str:
    """What to call a column in an error; one made of no column has no name."""
    return f"{kind} {name!r}" if name else kind


def check_grade(name: str, dtype: pl.DataType) -> None:
    """Raise where a column cannot hold grades."""
    if not (dtype.is_numeric() or dtype in (pl.Boolean, pl.Null)):
        msg = f"{_named('grade', name)} must be a number or a Boolean, got {dtype}"
        raise TypeError(msg)


def _refused_by_not(columns: Sequence[pl.Series]) -> pl.Series:
    """True for each row of grades; of what cannot be grades, a struct that says so by its field."""
    (grade,) = columns
    values = pl.repeat(value=True, n=len(grade), eager=True)
    try:
        check_grade(grade.name, grade.dtype)
    except TypeError as error:
        return values.cast(pl.Struct({str(error): pl.Boolean}))
    return values


def check_exact(grade: pl.Series) -> None:
    """Raise where a whole number is so large that kernels, which take doubles, would round it."""
    if not grade.dtype.is_integer() or are_exact(grade):
        return
    doubles = grade.cast(pl.Float64).cast(grade.dtype, strict=False)
    if (rounded := doubles.ne_missing(grade)).any():
        first = grade.filter(rounded)[0]
        msg = f"{_named('grade', grade.name)} must be a number that a double can hold, got {first}"
        raise ValueError(msg)


def check_score(name: str, dtype: pl.DataType) -> None:
    """Raise where a column cannot be the first one to rank by: text has no useful order."""
    if not (dtype.is_numeric() or dtype.is_temporal() or dtype in (pl.Boolean, pl.Null, pl.Enum)):
        msg = f"{_named('score', name)} must be a number to rank by, got {dtype}"
        raise TypeError(msg)


def _check_ranked(columns: Sequence[pl.Series]) -> None:
    """Raise where a grade and what it is ranked by are not what they must be."""
    grade, *by = columns
    check_grade(grade.name, grade.dtype)
    check_exact(grade)
    if by:
        check_score(by[0].name, by[0].dtype)
    for column in by:
        if len(column) != len(grade):
            named = _named("score", column.name)
            msg = f"{named} must have one value per row, got {len(column)} in all"
            raise ValueError(msg)


def is_finite(column: pl.Series) -> bool:
    """Whether a column is without NaN and infinity."""
    if not column.dtype.is_float():
        return True
    # What is not finite has no finite sum, which is quicker to find.
    return math.isfinite(column.sum()) or column.is_finite().all()


def unusable(columns: Sequence[pl.Series]) -> pl.Series:
    """For each row the number, from 1, of a column with NaN or infinity; 0 without.

    The columns are a grade and what it is ranked by; raise where they are not what they must be.
    """
    _check_ranked(columns)
    result = pl.zeros(len(columns[0]), dtype=pl.UInt32, eager=True)
    for number, column in enumerate(columns, 1):
        if not is_finite(column):
            finite = column.is_finite().fill_null(value=True)
            flags = pl.repeat(number, len(column), dtype=pl.UInt32, eager=True)
            result = result.zip_with(finite, flags)
    return result
