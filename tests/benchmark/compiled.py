"""Time of NumPy relative to a compiled loop over the same arrays."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from polars_graded._measuring.computing import Computation
from polars_graded._measuring.documents import DocumentLists
from polars_graded._measuring.list_columns import Lists
from polars_graded._measuring.measures import Measure
from polars_graded._measuring.ranking import Ranking

from .table import Case, Row, Sizes, at_most, compared, timed
from .work import rankings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TITLE = "AP and NDCG@10 of rows in rank order, in multiples of one compiled loop on one core"

RANKING = Ranking(pl.col("grade"))
MEASURES = [Measure.parse("ap"), Measure.parse("ndcg(gain=linear)@10")]
SAME = at_most(1e-12)


def rows(sizes: Sizes) -> Iterator[Row]:
    if not find_spec("numba"):
        return iter([Row("compiled loop", "numba is not installed")])
    return measured(sizes)


def measured(sizes: Sizes) -> Iterator[Row]:
    ranked = pl.col("grade").sort_by("score", descending=True)
    frame = rankings(sizes.rows).group_by("query").agg(ranked.implode())
    grades = Lists.of(frame.to_series(1))
    loop = partial(compiled(), grades.flat.to_numpy(), grades.offsets)
    loop()
    ours = partial(kernels, grades)
    yield from compared(
        [Case("compiled loop", timed(loop)), Case("kernels", timed(ours), at_most(3))], sizes.repeat
    )
    difference = max(
        float(np.abs(theirs - mine.to_numpy()).max())
        for theirs, mine in zip(loop(), ours(), strict=True)
    )
    yield Row(
        "largest difference", f"{difference:.1e}", target=str(SAME), met=SAME.met_by(difference)
    )


def kernels(grades: Lists) -> list[pl.Series]:
    return (
        Computation.of(MEASURES, RANKING.scale, [DocumentLists(grades, None, None)])
        .compute()[0]
        .columns
    )


def compiled() -> Callable[..., Any]:
    """AP and NDCG@10 of whole grades up to 9, every document retrieved and judged."""
    from numba import njit

    @njit(cache=False)  # type: ignore[misc, unused-ignore]
    def loop(grades: Any, offsets: Any) -> Any:
        n_queries = len(offsets) - 1
        ap, ndcg = np.zeros(n_queries), np.zeros(n_queries)
        counts = np.zeros(10, np.int64)
        for query in range(n_queries):
            counts[:] = 0
            hits, precisions, dcg = 0, 0.0, 0.0
            start = offsets[query]
            for row in range(start, offsets[query + 1]):
                grade = grades[row]
                counts[grade] += 1
                if grade > 0:
                    hits += 1
                    precisions += hits / (row - start + 1)
                    if row - start < 10:
                        dcg += grade / np.log2(row - start + 2)
            ideal, place = 0.0, 0
            for grade in range(9, 0, -1):
                for _ in range(min(counts[grade], 10 - place)):
                    ideal += grade / np.log2(place + 2)
                    place += 1
            if hits:
                ap[query], ndcg[query] = precisions / hits, dcg / ideal
        return ap, ndcg

    return loop
