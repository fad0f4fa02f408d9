"""Sentences about results and charts, and the format of names, counts and numbers in them.

Functions take results that were computed elsewhere, and return words. The module `verdicts` writes
about the results of tests, `gates` about the verdicts of a gate, and `titles` about the contents of
charts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

MAX_NAME_LETTERS = 40
"""Maximum number of letters of a shortened name, unless a caller passes another."""


MIN_WITH_DECIMALS, MIN_NUMBER = 0.001, 1e-12
"""Lowest number above 0 that is written with four decimals, and lowest one that may not be due to
rounding errors."""

BOTH = 2
"""Number of things for which sentences say "both"."""

SINGULAR_NOUNS = {
    "queries": "query",
    "strategies": "strategy",
    "pairs of strategies": "pair of strategies",
    "more queries": "more query",
}
"""Singulars of nouns whose plural does not just add an s at the end."""


def shorten_name(name: Any, max_letters: int = MAX_NAME_LETTERS) -> str:
    """Return a name in one line, without its middle if it is long."""
    line = " ".join(str(name).split()) or "''"
    if len(line) <= max_letters:
        return line
    # Names of runs often begin alike and differ at their ends.
    end = max_letters // 2
    return f"{line[: max_letters - end - 1]}…{line[-end:]}"


def shorten_names(names: Sequence[Any], max_letters: int = MAX_NAME_LETTERS) -> list[str]:
    """Return names in one line each, shortened so that different names stay different.

    Names that differ only in the middle keep the part where they differ. If that is not enough, all
    names stay as they are.
    """
    lines = [" ".join(str(name).split()) or "''" for name in names]
    short_names = {line: shorten_name(line, max_letters) for line in lines}
    lines_by_short = {
        short: [line for line in short_names if short_names[line] == short]
        for short in short_names.values()
    }
    for alike in lines_by_short.values():
        if len(alike) > 1:
            in_all = takewhile(lambda letters: len({*letters}) == 1, zip(*alike, strict=False))
            start = len([*in_all]) - max_letters // 3
            short_names |= {line: _cut_ends(line, start, max_letters) for line in alike}
    is_distinct = len({*short_names.values()}) == len(short_names)
    return [short_names[line] for line in lines] if is_distinct else lines


def _cut_ends(line: str, start: int, max_letters: int) -> str:
    """Return a part of a long line from about `start`, with an ellipsis for each end cut off."""
    start = max(0, min(start, len(line) - max_letters + 1))
    before = "…" if start else ""
    if len(before) + len(line) - start <= max_letters:
        return before + line[start:]
    return f"{before}{line[start : start + max_letters - len(before) - 1]}…"


def escape_markdown(text: Any) -> str:
    """Return a text in one line, escaped for Markdown, also within tables."""
    return re.sub(r"([\\|*`<>\[\]~]|(?<![^\W_])_)", r"\\\1", " ".join(str(text).split()))


def format_number(value: float) -> str:
    """Format a number with four decimals, as the tables of the report do.

    A number that these decimals would not show has three significant digits.
    """
    is_small = MIN_NUMBER < abs(value) < MIN_WITH_DECIMALS
    return f"{value:{'.3g' if is_small else '.4f'}}".replace("-", "\N{MINUS SIGN}")


def format_key(value: Any) -> str:
    """Format a value of a key column; a missing value is "null"."""
    return "null" if value is None else str(value)


def capitalise(text: str) -> str:
    """Return the text with a capital first letter."""
    return text[:1].upper() + text[1:]


def format_short(value: float) -> str:
    """Format a number to three significant digits.

    Large numbers become whole numbers: 1234.6 becomes "1,235".
    """
    # From 999.5 on, three digits would be "1e+03".
    return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:.3g}"  # noqa: PLR2004


def name_one(things: str) -> str:
    """Return the singular of a noun."""
    if things in SINGULAR_NOUNS:
        return SINGULAR_NOUNS[things]
    before, space, noun = things.rpartition(" ")
    return before + space + SINGULAR_NOUNS.get(noun, noun.removesuffix("s"))


def format_count(n: int, things: str) -> str:
    """Return a count with its noun: "1 query", "3,000 queries"."""
    return f"{n:,} {name_one(things) if n == 1 else things}"


def format_range(counts: Sequence[int], things: str) -> str:
    """Return text such as "50 queries" or "40 to 50 queries"."""
    lowest, highest = min(counts), max(counts)
    return ("" if lowest == highest else f"{lowest:,} to ") + format_count(highest, things)


def format_any(n: int, things: str) -> str:
    """Return "either measure" for two measures, and "any of 3 measures" for three."""
    return f"either {name_one(things)}" if n == 2 else f"any of {n:,} {things}"  # noqa: PLR2004


def format_part(n: int, total: int, things: str) -> str:
    """Return a share in words: "3 of 4 measures", "none of 4 measures", "the measure"."""
    if total == 1:
        return f"{'the' if n else 'no'} {name_one(things)}"
    if n < total:
        return f"{f'{n:,}' if n else 'none'} of {total:,} {things}"
    return f"both {things}" if total == BOTH else f"all {total:,} {things}"


SINGULAR_VERBS = {"are": "is", "have": "has", "retrieved": "retrieved"}
"""Singular forms of verbs whose singular does not just add an s."""


def conjugate(n: int, verb: str) -> str:
    """Return the singular of a verb if n is 1: "leads at" for "lead at"."""
    first, *others = verb.split(" ")
    return verb if n != 1 else " ".join([SINGULAR_VERBS.get(first, f"{first}s"), *others])


SMALLEST_P = 0.001
"""Smaller p values are printed as "< 0.001"."""

LARGEST_P = 0.99995
"""Larger p values would round to 1.0000 and are printed as 1."""


def format_p(p: float | None) -> str:
    """Return a p value as text: "0.0123", "< 0.001" or "1"; "–" for None."""
    if p is None:
        return "–"
    if p > LARGEST_P:
        return "1"
    return f"< {SMALLEST_P:g}" if p < SMALLEST_P else f"{p:.4f}"


def name_interval(confidence: float | None) -> str:
    """Return "95 % interval", or "interval" without a confidence."""
    return "interval" if confidence is None else f"{format_percent(confidence)} interval"


def format_percent(share: float, decimals: int = 1) -> str:
    """Return a share as a percentage.

    Only a share of exactly 0 becomes "0 %", and only a share of exactly 1 becomes "100 %". With one
    decimal, 0.0001 becomes "< 0.1 %", and 0.9999 becomes "> 99.9 %".
    """
    step, percentage = 10.0**-decimals, round(100 * share, decimals)
    if share > 0 and percentage == 0:
        return f"< {step:g} %"
    if share < 1 and percentage == 100:  # noqa: PLR2004
        return f"> {100 - step:g} %"
    return f"{percentage:g} %"
