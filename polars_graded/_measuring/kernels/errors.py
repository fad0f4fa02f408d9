"""Define the error for unusable data that only a kernel can detect."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from polars_graded._measuring.kernels.ragged import Mask

MAX_SHOWN_GRADES = 5
"""Maximum number of grades that an error lists."""


class UnusableDataError(ValueError):
    """Error that names a rule which the data of some queries break.

    `is_unusable` is the mask of these queries. `grades` are grades to list after the rule.
    `input_name` is the name of the input that breaks the rule; None stands for the grade.
    """

    def __init__(
        self,
        rule: str,
        is_unusable: Mask,
        grades: Iterable[float] = (),
        input_name: str | None = None,
    ) -> None:
        super().__init__(rule, is_unusable, grades, input_name)
        self.rule = rule
        self.is_unusable = is_unusable
        self.grades = frozenset(grades)
        self.input_name = input_name

    def __str__(self) -> str:
        """Return the rule, followed by the first of the grades."""
        grades = [f"{grade:g}" for grade in sorted(self.grades)]
        if len(grades) > MAX_SHOWN_GRADES:
            grades = [*grades[:MAX_SHOWN_GRADES], "..."]
        return f"{self.rule} {', '.join(grades)}".strip()

    @classmethod
    def of_all(cls, errors: Sequence[UnusableDataError]) -> UnusableDataError:
        """Merge the errors that have the rule of the first error; drop the others.

        Each error must come from a different chunk of queries, so that no query is counted twice.
        """
        rule = errors[0].rule
        same_rule = [error for error in errors if error.rule == rule]
        grades = frozenset[float]().union(*(error.grades for error in same_rule))
        is_unusable = np.concatenate([error.is_unusable for error in same_rule])
        return cls(rule, is_unusable, grades, errors[0].input_name)
