"""Natural order of names, with f2 before f10."""

from __future__ import annotations

import re
from collections.abc import Iterable

import polars as pl


def sort_naturally(names: Iterable[str]) -> list[str]:
    """Return names in natural order: f2 before f10."""

    def key(part: str) -> tuple[bool, int, str, str]:
        digits = "".join(str(int(digit)) for digit in part) if part.isdecimal() else ""
        digits = digits.lstrip("0")
        return part.isdecimal(), len(digits), digits, part

    return sorted(names, key=lambda name: [key(part) for part in re.split(r"(\d+)", name)])


def in_order(values: pl.Series) -> pl.Series:
    """Return the sorted distinct values, null first and texts in natural order."""
    each = values.unique().sort()
    if each.dtype not in (pl.String, pl.Categorical):
        return each
    texts = each.cast(pl.String)
    ordered = pl.Series(texts.name, sort_naturally(texts.drop_nulls()), dtype=pl.String)
    return pl.concat([texts.filter(texts.is_null()), ordered]).cast(each.dtype)
