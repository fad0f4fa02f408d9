"""Time of our measures, in multiples of ranking the rows alone."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from polars_graded import evaluate

from .table import Case, Row, Sizes, at_most, compared, timed
from .work import EIGHT, TWENTY_FIVE, eight, floor, rankings

if TYPE_CHECKING:
    from collections.abc import Iterator

TITLE = "Our measures, in multiples of the floor: group_by, sort_by, sort and implode"

TARGETS = {"mu_ap": at_most(1.3)}


def rows(sizes: Sizes) -> Iterator[Row]:
    frame = rankings(sizes.rows)
    return compared(
        [
            Case("floor", timed(partial(floor, frame))),
            *(
                Case(name, timed(partial(evaluate, frame, name)), TARGETS.get(name))
                for name in EIGHT
            ),
            Case("the eight together", timed(partial(eight, frame)), at_most(1.5)),
            Case("twenty-five together", timed(partial(evaluate, frame, *TWENTY_FIVE)), at_most(3)),
        ],
        sizes.repeat,
    )
