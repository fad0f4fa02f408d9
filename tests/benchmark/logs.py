"""Time and memory of the functions of click logs, in multiples of a bare `group_by`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from polars_graded import clicks

from .memory import STATUS, in_fresh_process, megabytes
from .table import Case, Row, Sizes, at_most, compared, timed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TITLE = "Logs of ten times the rows, in multiples of a bare group_by of queries and documents"

TIMES = 10
"""With the default of ten million rows, the log has a hundred million."""

LENGTH = 10
DOCUMENTS = 25
REPEAT = 2


def click_log(rows: int) -> pl.DataFrame:
    """Lists of ten random documents of 25, of queries whose frequencies are skewed."""
    random, lists = np.random.default_rng(0), rows // LENGTH
    query = (random.zipf(1.3, lists) % 20_000).astype(np.uint32)
    orders = np.argsort(random.random((4096, DOCUMENTS)), axis=1)[:, :LENGTH].astype(np.uint32)
    rank = np.tile(np.arange(1, LENGTH + 1, dtype=np.uint8), lists)
    return pl.DataFrame(
        {
            "session": np.repeat(np.arange(lists, dtype=np.uint32), LENGTH),
            "query": np.repeat(query, LENGTH),
            "doc": orders[random.integers(len(orders), size=lists)].ravel(),
            "rank": rank,
            "clicked": random.random(len(rank), dtype=np.float32) < 0.35 / rank,
        }
    )


def bare(log: pl.DataFrame) -> pl.DataFrame:
    counts = log.lazy().group_by("query", "doc").agg(pl.col("clicked").sum(), pl.len())
    return counts.collect(engine="streaming")


FUNCTIONS = (clicks.estimate_ctr, clicks.estimate_sdbn, clicks.describe_log)


def rows(sizes: Sizes) -> Iterator[Row]:
    log = click_log(TIMES * sizes.rows)
    cases = [
        Case(each.__name__, timed(partial(each, log)), None if each is bare else at_most(2.5))
        for each in (bare, *FUNCTIONS)
    ]
    yield from compared(cases, min(sizes.repeat, REPEAT))
    if not STATUS.exists():
        yield Row("peak memory", f"needs {STATUS}")
        return
    cases = [
        Case(
            f"memory of {each.__name__} and the log",
            partial(_memory, each, TIMES * sizes.rows),
            None if each is bare else at_most(1.5),
        )
        for each in (bare, *FUNCTIONS)
    ]
    yield from compared(cases, 1, megabytes)


def _memory(function: Callable[[pl.DataFrame], object], rows: int) -> float:
    bytes_per_row = click_log(1000).estimated_size() / 1000
    return in_fresh_process(function, rows, click_log) + bytes_per_row * rows
