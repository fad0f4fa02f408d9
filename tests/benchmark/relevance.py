"""Time of φ, in multiples of sorting the scores of each query, and compared with SciPy."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from polars_graded import graded

from .table import Case, Row, Sizes, at_least, at_most, compared, timed
from .work import rankings

if TYPE_CHECKING:
    from collections.abc import Iterator

TITLE = "φ of a tenth of the rows, 100 a query, in multiples of sort().over(query)"


def sorted_scores(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select(pl.col("score").sort().over("query"))


def phi(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select(graded("score").phi_relevance().over("query"))


def scipy_a_query(frame: pl.DataFrame) -> list[np.ndarray]:
    """Only the interpolation, through the points that φ has without an outlier."""
    from scipy.interpolate import PchipInterpolator

    scores = frame.group_by("query").agg("score").get_column("score")
    return [
        PchipInterpolator([values.min(), np.median(values), values.max()], [0, 0, 1])(values)
        for values in map(pl.Series.to_numpy, scores)
    ]


def rows(sizes: Sizes) -> Iterator[Row]:
    frame = rankings(sizes.rows // 10)
    yield from compared(
        [
            Case("sort().over(query)", timed(partial(sorted_scores, frame))),
            Case("φ", timed(partial(phi, frame)), at_most(6)),
        ],
        sizes.repeat,
    )
    scipy_a_query(rankings(100))  # its first import is not what is measured
    yield from compared(
        [
            Case("φ again", timed(partial(phi, frame))),
            Case("scipy, a call a query", timed(partial(scipy_a_query, frame)), at_least(8)),
        ],
        1,
    )
