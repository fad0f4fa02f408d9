"""Cost of the checks for ranks and for duplicate documents, relative to measuring without them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from polars_graded import evaluate

from .table import Case, Row, Sizes, at_most, compared, timed
from .work import DOCUMENTS, EIGHT, rankings

if TYPE_CHECKING:
    from collections.abc import Iterator

TITLE = "The checks of ranks and duplicates, in multiples of eight measures without them"

MAX_COST = 1.1
"""The checks cost a tenth of the time of eight measures at most."""


def rows(sizes: Sizes) -> Iterator[Row]:
    numbers = rankings(sizes.rows).with_columns(doc=pl.int_range(pl.len()) % DOCUMENTS)
    texts = numbers.with_columns(doc=pl.format("d{}", "doc"))
    whole = numbers.with_columns(score=(pl.col("score") * DOCUMENTS).round())
    for what, frame in (
        ("ids that are numbers", numbers),
        ("ids that are texts", texts),
        ("ids under a name that does not show it", texts.rename({"doc": "x"})),
        ("scores that are whole numbers up to the number of documents", whole),
    ):
        without = partial(evaluate, frame, *EIGHT, ties="order", descending=True, doc=None)
        checked = partial(evaluate, frame, *EIGHT, ties="order")
        cases = [
            Case(f"{what}: without the checks", timed(without)),
            Case(what, timed(checked), at_most(MAX_COST)),
        ]
        yield from compared(cases, sizes.repeat)
