"""What the page calls things: tests, corrections, measures and axes, numbers and counts."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import NamedTuple

from polars_graded._measuring.names import Measure
from polars_graded._results.findings import name_of_test
from polars_graded._results.significance import (
    CORRECTIONS,
    TESTS,
    CorrectionName,
    TestName,
    hold_together,
)
from polars_graded._sentences import percent
from polars_graded.namespace import Graded

MISSING = {
    "error": "",
    "drop": "A query in which any strategy lacks a value is left out of that measure.",
    "zero": "A value that is missing counts as 0.",
}
ALPHA = 0.05
"""The level of significance; intervals have the confidence that goes with it."""

ACRONYMS = ("cg", "dcg", "ndcg", "ncg", "ndcng")
"""What is read letter by letter."""


def explained(name: str, formula: str | None = None) -> str:
    """Explain a measure or curve in a line; nothing for a column that is no measure.

    A column with a name of its own has its formula before that.
    """
    measure = Measure.parsed(formula or name)
    method = measure and getattr(Graded, measure.function, None)
    line = (inspect.getdoc(method) or "").split("\n", maxsplit=1)[0] if method else ""
    return f"{formula}: {line}" if formula and formula != name else line


def axis_title(name: str) -> str:
    """What stands beside the axis of a curve: its measure in words, or the name of a column."""
    measure = Measure.parsed(name)
    if measure is None or not measure.is_curve:
        return name
    words = measure.function.removesuffix("_curve").split("_")
    said = " ".join(word.upper() if word in ACRONYMS else word for word in words)
    return f"{said} at rank" if measure.function.endswith("_curve") else said


def written(value: float) -> str:
    """A number as the tables of the page have it."""
    return f"{value:.4f}".replace("-", "\N{MINUS SIGN}")


class Tested(NamedTuple):
    """How the pairs of each measure are tested, and how that is said."""

    test: TestName
    correction: CorrectionName
    baseline: int | None
    """The strategy that all others are compared with."""
    pairs: int
    """How many there are of each measure."""

    @property
    def name(self) -> str:
        """What test and correction are called where findings are counted."""
        return name_of_test(self.test, self.correction)

    @property
    def of_ranks(self) -> bool:
        """Whether the test is of ranks, so that it may disagree with means."""
        return TESTS[self.test].of_ranks

    @property
    def p(self) -> str:
        """What a p value is called."""
        return "p" if self.correction == "none" else "corrected p"

    @property
    def corrected(self) -> str:
        """What is said of p values; those that hold for all pairs are corrected by nothing else."""
        return "none" if TESTS[self.test].simultaneous else CORRECTIONS[self.correction].words

    @property
    def is_joint(self) -> bool:
        """Whether the intervals that agree with p hold for several pairs together."""
        return self.pairs > 1 and hold_together(self.test, self.correction)

    @property
    def together(self) -> int:
        """How many pairs are tested together."""
        return self.pairs if self.is_joint or self.correction != "none" else 1

    @property
    def words(self) -> str:
        """By what differences are tested, and what became of p values."""
        words, corrected = TESTS[self.test].words, self.corrected
        if corrected == "none":
            return words
        each = f" for the {self.pairs} pairs of each measure" if self.together > 1 else ""
        return f"{words}; p values {corrected}{each}"

    def settings(self, strategies: Sequence[str]) -> dict[str, str]:
        """What a page was made with, each under its name."""
        one = self.baseline
        return {
            "Compared": "every pair" if one is None else f"all with {strategies[one]}",
            "Test": TESTS[self.test].words,
            "Correction": self.corrected,
            "Level": f"p ≤ {ALPHA:g}; intervals of {percent(1 - ALPHA)} confidence",
        }
