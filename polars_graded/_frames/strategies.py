"""Find strategies and pairs of strategies by their names."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from polars_graded._checks import did_you_mean
from polars_graded._measuring.kernels.ragged import Integers


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
