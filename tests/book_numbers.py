"""Numbers of the book: of its tables, which simulations print, and of its sentences."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

PAGE = Path(__file__).parents[1] / "notebooks" / "book" / "testing.md"
"""The page with the tables."""


def read_book_text() -> str:
    """The page of the tables, with its words separated by single blanks."""
    return " ".join(PAGE.read_text(encoding="utf-8").split())


def table_after(words: str) -> list[list[str]]:
    """The rows of the table on the page about testing that comes after these words."""
    after = PAGE.read_text(encoding="utf-8").split(words)[1].strip().split("\n\n")[1]
    return [re.findall(r"[^|]+", line.strip("| ")) for line in after.splitlines()[2:]]


def read_book_table(heading: str) -> dict[tuple[str, ...], list[float]]:
    """The first table under a heading of the book: the numbers of each row, by its texts.

    Cells with a number of three decimals are numbers. The cells before them are texts.
    """
    after = PAGE.read_text(encoding="utf-8").split(f"\n### {heading}\n")[1]
    lines = re.findall(r"^\|.*\|$", after.split("\n### ")[0], re.MULTILINE)[2:]
    rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    is_number = re.compile(r"\d\.\d{3}").fullmatch
    return {
        tuple(cell for cell in row if not is_number(cell)): [
            float(cell) for cell in row if is_number(cell)
        ]
        for row in rows
    }


def assert_same_share(found: float, printed: float, repeats: int) -> None:
    """A share of simulations is the printed one, within four standard errors of both.

    The printed share has about as many simulations, or more.
    """
    error = (2 * max(printed * (1 - printed), 0.005) / repeats) ** 0.5
    assert abs(found - printed) < 4 * error + 0.0005, (found, printed)


NUMBER = re.compile(r"(?<![\w.@])\d+(?:\.\d+)?(?:e-?\d+)?(?!\w|\.\d)")

YEARS = range(1900, 2100)


def not_printed(text: str, printed: Iterable[str], free: int) -> list[str]:
    """The numbers of a text that nothing printed has, rounded or as a percentage.

    Whole numbers up to `free`, and years, stand by themselves.
    """
    known = [abs(float(found)) for source in printed for found in NUMBER.findall(source)]
    missing = []
    for written in NUMBER.findall(text):
        number, decimals = abs(float(written)), len(written.partition(".")[2])
        near = 0.5 * 10**-decimals + 1e-9
        alone = not decimals and (number <= free or number in YEARS)
        if not alone and not any(
            abs(x - number) <= near or abs(100 * x - number) <= near for x in known
        ):
            missing.append(written)
    return missing
