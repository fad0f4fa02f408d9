"""The meaning of grades, and the value of queries without a relevant document."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import polars as pl

from polars_graded._checks import check_number

Undefined: TypeAlias = float | Literal["default"] | None
"""Value of undefined queries: a number, None for null, or "default" for the measure's own."""


@dataclass(frozen=True)
class Scale:
    """A scale of grades, which measures of one ranking share."""

    irrelevant: float = 0.0
    """The grade that means not relevant."""
    max_grade: float | None = None
    """The highest grade; None for the highest judged grade of each query."""
    relevant_from: float | None = None
    """The lowest relevant grade; None for any grade above `irrelevant`."""
    undefined: Undefined = "default"
    """Value of a query without a relevant document."""

    def with_grades(
        self, irrelevant: float, max_grade: float | None, relevant_from: float | None
    ) -> Scale:
        """Return the scale with other grades."""
        low = check_number("irrelevant", irrelevant)
        high = None if max_grade is None else check_number("max_grade", max_grade, above=low)
        lowest_relevant = None
        if relevant_from is not None:
            lowest_relevant = check_number("relevant_from", relevant_from, above=low, at_most=high)
        return replace(self, irrelevant=low, max_grade=high, relevant_from=lowest_relevant)

    def with_undefined(self, value: Undefined) -> Scale:
        """Return the scale with a value for undefined queries."""
        if value is None or value == "default":
            return replace(self, undefined=value)
        if isinstance(value, str):
            msg = (
                f"`undefined_as` must be a number or None, got {value!r}\n\n"
                "Hint: undefined_as=None leaves queries without a relevant document out of means"
            )
            raise TypeError(msg)
        return replace(self, undefined=check_number("undefined_as", value))

    def rounded(self, round_grade: Callable[[float], float]) -> Scale:
        """Return the scale with its grades rounded as the column of grades is."""
        ends = self.max_grade, self.relevant_from
        high, lowest_relevant = (None if end is None else round_grade(end) for end in ends)
        return replace(
            self,
            irrelevant=round_grade(self.irrelevant),
            max_grade=high,
            relevant_from=lowest_relevant,
        )

    @property
    def levels(self) -> tuple[float, ...]:
        """Return the levels above `irrelevant`, in steps of 1.

        Without `max_grade`, the result is empty.
        """
        if self.max_grade is None:
            return ()
        # 2.3 - 0.3 is slightly below 2.
        steps = range(1, math.floor(self.max_grade - self.irrelevant + 1e-9) + 1)
        return tuple(self.irrelevant + step for step in steps)

    def is_relevant(self, grade: pl.Expr) -> pl.Expr:
        """Return an expression that is true for relevant grades."""
        if self.relevant_from is None:
            return grade > self.irrelevant
        return grade >= self.relevant_from
