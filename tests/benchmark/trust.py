"""Seconds of the statistics of trust: 25 strategies, 5 measures, 106 queries."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from polars_graded import compare
from polars_graded.trust import order_stability, power_curve

from .table import Row, Sizes, timed

if TYPE_CHECKING:
    from collections.abc import Iterator

TITLE = "Statistics of trust: 25 strategies, 5 measures, 106 queries"

STRATEGIES, MEASURES, QUERIES = 25, 5, 106

SECONDS = 3
"""What 10,000 resamples may take."""

STATISTICS = {
    "compare, permutation test, 10,000 resamples": (partial(compare, test="permutation"), SECONDS),
    "power_curve": (power_curve, SECONDS),
    "order_stability, 10 sizes, 1,000 samples": (order_stability, None),
}


def rows(sizes: Sizes) -> Iterator[Row]:
    frame = results()
    for what, (statistic, most) in STATISTICS.items():
        measure = timed(partial(statistic, frame))
        seconds = min(measure() for _ in range(sizes.repeat))
        if most is None:
            yield Row(what, f"{seconds:.3f} s")
        else:
            yield Row(what, f"{seconds:.3f} s", None, f"≤ {most} s", seconds <= most)


def results() -> pl.DataFrame:
    """What `evaluate` gives, of strategies that differ less than queries do."""
    random = np.random.default_rng(0)
    query = random.random((1, QUERIES, 1))
    better = np.linspace(0, 0.1, STRATEGIES)[:, np.newaxis, np.newaxis]
    values = query + better + 0.15 * random.standard_normal((STRATEGIES, QUERIES, MEASURES))
    flat = values.reshape(-1, MEASURES)
    return pl.DataFrame(
        {
            "strategy": np.repeat([f"s{place}" for place in range(STRATEGIES)], QUERIES),
            "query": np.tile(np.arange(QUERIES), STRATEGIES),
        }
        | {f"measure {place}": flat[:, place] for place in range(MEASURES)}
    )
