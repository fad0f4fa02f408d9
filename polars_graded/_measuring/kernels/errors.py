"""Errors in the data that only a kernel can notice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class UnusableDataError(ValueError):
    """Rule that the data break, with the number of queries and the grades affected.

    `column` is the input of a measure that breaks the rule; by default the grade.
    """

    def __init__(
        self, rule: str, queries: int, grades: Iterable[float] = (), column: str | None = None
    ) -> None:
        super().__init__(rule, queries, grades, column)
        self.rule = rule
        self.queries = queries
        self.grades = frozenset(grades)
        self.column = column

    def __str__(self) -> str:
        """Return the rule, followed by the grades."""
        return " ".join(
            [self.rule, ", ".join(f"{grade:g}" for grade in sorted(self.grades))]
        ).strip()

    @classmethod
    def of_all(cls, errors: Sequence[UnusableDataError]) -> UnusableDataError:
        """Return the first of several errors, with the counts of its rule summed.

        The kernels ran over separate chunks, so no query is counted twice.
        """
        rule = errors[0].rule
        same = [error for error in errors if error.rule == rule]
        grades = frozenset[float]().union(*(error.grades for error in same))
        return cls(rule, sum(error.queries for error in same), grades, errors[0].column)
