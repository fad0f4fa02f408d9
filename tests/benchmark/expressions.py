"""Expressions in `agg` and `over`, and the README's first example, compared with `evaluate`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from polars_graded import graded
from polars_graded._measuring.measures import Measure

from .table import Case, Row, Sizes, Target, at_most, compared, timed
from .work import EIGHT, eight, floor, rankings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from polars_graded import Graded

TITLE = "Expressions beside evaluate, in multiples of the floor of the same frame"


def rows(sizes: Sizes) -> Iterator[Row]:
    frame = rankings(sizes.rows)
    together = rankings(sizes.rows, documents=1000)
    for what, each, ways in (
        ("100 a query", frame, WAYS),
        ("1,000 a query", together, SOME),
        ("shuffled", frame.sample(fraction=1.0, shuffle=True, seed=0), SOME),
    ):
        cases = [Case(f"{what}: floor", timed(partial(floor, each)))]
        cases += [Case(f"  {name}", timed(partial(run, each)), most) for name, run, most in ways]
        yield from compared(cases, sizes.repeat)


def ranked() -> Graded:
    return graded("grade").ranked_by("score")


def methods() -> list[pl.Expr]:
    """The eight measures, each by a method of its own."""
    g = ranked()
    parsed = map(Measure.parse, EIGHT)
    return [getattr(g, each.function)(*[each.n] * (each.n is not None)) for each in parsed]


def one(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.group_by("query").agg(ranked().ap())


def side_by_side(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.group_by("query").agg(methods())


def collected(frame: pl.DataFrame, engine: str) -> pl.DataFrame:
    return frame.lazy().group_by("query").agg(methods()).collect(engine=engine)  # type: ignore[call-overload]


def one_struct(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.group_by("query").agg(ranked().measures(*EIGHT))


def over(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select(ranked().ap().over("query"))


def phi(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.group_by("query").agg(graded("score").phi_relevance())


def implodes(frame: pl.DataFrame) -> pl.DataFrame:
    """What Polars does alone for the eight methods: two lists for each."""
    return frame.group_by("query").agg(
        pl.col(name).implode().alias(f"{name}{number}")
        for number in range(len(EIGHT))
        for name in ("grade", "score")
    )


def ordered(frame: pl.DataFrame) -> pl.DataFrame:
    """A sort of the same rows, and nothing else."""
    return frame.sort("query", "score", descending=[False, True])


Way = tuple[str, "Callable[[pl.DataFrame], pl.DataFrame]", Target | None]

SOME: list[Way] = [
    ("evaluate of the eight", eight, at_most(0.7)),
    ("a sort by query and score", ordered, None),
    ("sixteen implodes", implodes, None),
    ("one method", one, at_most(0.45)),
    ("the eight methods side by side", side_by_side, at_most(3.5)),
    ("the eight by measures()", one_struct, at_most(0.7)),
]
WAYS: list[Way] = [
    *SOME,
    ("the eight methods, lazily", partial(collected, engine="in-memory"), at_most(3.5)),
    ("the eight methods, streaming", partial(collected, engine="streaming"), at_most(3.5)),
    ("one method over the query", over, at_most(0.6)),
    ("φ of each query", phi, at_most(1.0)),
]
