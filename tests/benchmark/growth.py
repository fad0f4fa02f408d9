"""Growth of the time of μAP if every document has a different grade."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from polars_graded import evaluate

from .table import Case, Row, Sizes, at_most, compared, timed
from .work import rankings

if TYPE_CHECKING:
    from collections.abc import Iterator

TITLE = "mu_ap of real-valued grades, in multiples of a tenth of the rows, 100 a query"

CASES = [
    ("100 a query", 1, 100, None),
    ("1,000 a query", 1, 1000, at_most(1.3)),
    ("100 a query, twice the rows", 2, 100, at_most(2.2)),
]


def rows(sizes: Sizes) -> Iterator[Row]:
    tenth = sizes.rows // 10
    return compared(
        [
            Case(
                what,
                timed(partial(evaluate, rankings(times * tenth, n, real_grades=True), "mu_ap")),
                target,
            )
            for what, times, n, target in CASES
        ],
        sizes.repeat,
    )
