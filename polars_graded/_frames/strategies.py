"""Names of strategies: their natural order, with f2 before f10, and how they are found."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl

from polars_graded._checks import did_you_mean
from polars_graded._measuring.kernels.ragged import Integers


def sort_naturally(names: Iterable[str]) -> list[str]:
    """Return names in natural order: f2 before f10."""

    def key(part: str) -> tuple[bool, int, str, str]:
        # Python converts no texts of more than 4300 digits to integers, so digits are compared.
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


def find_index(strategies: pl.Series, name: Any) -> int:
    """Return the index of a strategy; raise if no strategy has this name."""
    names = strategies.to_list()
    if name in names:
        return names.index(name)
    texts = [str(each) for each in names]
    is_other_name = isinstance(name, str) and name not in texts
    hint = did_you_mean(name, texts) if is_other_name else ""
    if is_other_name and name.endswith((".parquet", ".csv")):
        hint = f"\n\nHint: gate(..., baseline=Path({name!r})) takes a file of results"
    if isinstance(name, list | tuple):
        first = name[0] if name else name
        hint = f"\n\nHint: pass one name, such as baseline={first!r}"
    msg = f"there is no strategy {name!r}; there are {quote_names(strategies)}{hint}"
    raise ValueError(msg)


def quote_names(strategies: pl.Series) -> str:
    """Return the quoted names of strategies for a sentence."""
    return ", ".join(map(repr, strategies.to_list())) or "none"


def find_pairs(
    strategies: pl.Series, baseline: Any = None, *, hint: str = ""
) -> tuple[Integers, Integers]:
    """Return the indices of the first and of the second strategy of each pair.

    Without `baseline`, the result has all pairs. With `baseline`, the second strategy of each pair
    is a baseline. Each pair occurs once. If both strategies of a pair are baselines, the second
    strategy is the one that comes earlier in `baseline`.
    """
    count = len(strategies)
    if count < 2:  # noqa: PLR2004
        msg = (
            f"there must be at least two strategies to compare, got {quote_names(strategies)}{hint}"
        )
        raise ValueError(msg)
    if baseline is None:
        a, b = np.triu_indices(count, 1)
        return a.astype(np.int64), b.astype(np.int64)
    is_list = isinstance(baseline, list | tuple | pl.Series)
    bases = [find_index(strategies, name) for name in (baseline if is_list else [baseline])]
    if not bases or len(set(bases)) < len(bases):
        msg = f"`baseline` must name at least one strategy, and none twice, got {baseline!r}"
        raise ValueError(msg)
    pairs = [
        (i, base)
        for rank, base in enumerate(bases)
        for i in range(count)
        if i != base and i not in bases[:rank]
    ]
    a, b = np.array(pairs, dtype=np.int64).T
    return a, b
