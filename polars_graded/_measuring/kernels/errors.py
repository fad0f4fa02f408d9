"""What can be wrong with data that only a kernel sees."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class UnusableDataError(ValueError):
    """A rule that data break: in how many queries, and which grades do it if that matters."""

    def __init__(self, rule: str, queries: int, grades: Iterable[float] = ()) -> None:
        super().__init__(rule, queries, grades)
        self.rule = rule
        self.queries = queries
        self.grades = frozenset(grades)

    def __str__(self) -> str:
        """The rule, and the grades after it."""
        return " ".join(
            [self.rule, ", ".join(f"{grade:g}" for grade in sorted(self.grades))]
        ).strip()

    @classmethod
    def of_all(cls, errors: Sequence[UnusableDataError]) -> UnusableDataError:
        """The first of errors, with what the others of its rule found in other queries."""
        rule = errors[0].rule
        same = [error for error in errors if error.rule == rule]
        grades = frozenset[float]().union(*(error.grades for error in same))
        return cls(rule, sum(error.queries for error in same), grades)
