"""Cost of the checks for ranks and for duplicate documents, relative to measuring without them.

Joined runs are also measured by plain Polars.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from polars_graded import DataWarning, evaluate, graded

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
        ("ids under a name that may be that of queries", texts.rename({"doc": "id"})),
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
    joined = join(texts)
    groups = joined.group_by("strategy", "query")
    ranking = graded("grade").ranked_by("score")
    cases = [
        Case(
            "joined runs: group_by and measures",
            timed(lambda: groups.agg(ranking.measures(*EIGHT))),
        ),
        Case("joined runs", timed(partial(evaluate, joined, *EIGHT, strategy="strategy"))),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning.unjudged)
        yield from compared(cases, sizes.repeat)


def join(rankings: pl.DataFrame) -> pl.DataFrame:
    """Rankings of 20 strategies as `join_judgments` returns them.

    Most documents are unjudged, and the rows of judged documents that were not retrieved are last.
    """
    number, chance = pl.int_range(pl.len()), pl.struct("query", "doc").hash(seed=0)
    stacked = rankings.select(
        pl.format("s{}", pl.col("query") % 20).alias("strategy"),
        pl.format("q{}", pl.col("query") // 20).alias("query"),
        "doc",
        "score",
    ).with_columns(grade=pl.when(chance % 7 < 2).then(chance % 5))
    is_missed = (number % 3 == 0) & pl.col("grade").is_not_null()
    missed = stacked.filter(is_missed).with_columns(score=pl.lit(None, pl.Float64))
    return pl.concat([stacked.filter(~is_missed), missed])
