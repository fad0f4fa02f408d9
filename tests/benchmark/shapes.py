"""Time of the eight measures on frames of other shapes, relative to the floor of the same frame."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from polars_graded import evaluate

from .table import Case, Row, Sizes, at_most, compared, timed
from .work import EIGHT, eight, floor, rankings

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

TITLE = "The eight measures on frames of other shapes, in multiples of the floor of the same frame"

N_STRATEGIES = 25


def rows(sizes: Sizes) -> Iterator[Row]:
    one = rankings(sizes.rows, documents=sizes.rows)
    pairs = rankings(sizes.rows, documents=2)
    many = strategies(sizes.rows // N_STRATEGIES)
    for what, run, of_floor, most in (
        ("one query", partial(eight, one), partial(floor, one), 1.5),
        ("queries of two documents", partial(eight, pairs), partial(floor, pairs), 0.7),
        (
            f"{N_STRATEGIES} strategies of one frame",
            partial(evaluate, many, *EIGHT, by=NAMES),
            partial(floors, many),
            1.2,
        ),
    ):
        cases = [Case(f"{what}: floor", timed(of_floor)), Case(what, timed(run), at_most(most))]
        yield from compared(cases, sizes.repeat)


NAMES = [f"f{number}" for number in range(1, N_STRATEGIES + 1)]


def strategies(rows: int) -> pl.DataFrame:
    """One frame of rankings with a score of each strategy."""
    random = np.random.default_rng(1)
    return rankings(rows).with_columns(**{name: random.random(rows) for name in NAMES})


def floors(frame: pl.DataFrame) -> None:
    for name in NAMES:
        floor(frame.select("query", "grade", score=name))
