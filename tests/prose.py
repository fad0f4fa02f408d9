"""Numbers that a text states, beside those that its code prints."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

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
