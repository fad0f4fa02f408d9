"""Time of lists of very different lengths, relative to as many rows in lists of one length.

Only the kernels are timed, because Polars needs more time for a million groups than for ten
thousand.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from polars_graded._measuring.computing import Computation
from polars_graded._measuring.definitions import DEFINITIONS
from polars_graded._measuring.documents import DocumentLists
from polars_graded._measuring.kernels.ragged import offsets_of
from polars_graded._measuring.list_columns import Lists
from polars_graded._measuring.measures import Measure
from polars_graded._measuring.ranking import Ranking

from .table import Case, Row, Sizes, at_most, compared, timed

if TYPE_CHECKING:
    from collections.abc import Iterator

TITLE = "Kernels of every measure on uneven lists, tied and not, in multiples of lists of 100"

RANKING = Ranking(pl.col("grade")).ranked_by(("score",))
UNEVEN = at_most(3)
LONG_LISTS = 6


def rows(sizes: Sizes) -> Iterator[Row]:
    n_rows = sizes.rows // 10
    even = np.full(n_rows // 100, 100)
    long = np.full(LONG_LISTS, n_rows // (2 * LONG_LISTS))
    uneven = np.concatenate((long, np.ones(n_rows - long.sum(), np.int64)))
    steps = np.full(int((n_rows / 4) ** 0.5), 1).cumsum() * 8  # every length there is
    shapes = {"lists of 100": even, "half in six lists": uneven, "of all lengths": steps}
    frames = {shape: lists(lengths) for shape, lengths in shapes.items()}
    for measure in measures():
        expr = partial(value, measure)
        first, *others = (
            Case(f"{measure.name}, {shape}", timed(partial(expr, of_shape)), target)
            for (shape, of_shape), target in zip(
                frames.items(), (None, UNEVEN, UNEVEN), strict=True
            )
        )
        yield from compared([first, *others], sizes.repeat)


def measures() -> Iterator[Measure]:
    """Each measure, and where it knows how, with ties averaged."""
    for function, definition in DEFINITIONS.items():
        if definition.input_names:
            continue
        yield Measure.of(function)
        if definition.averages_ties and function != "roc_auc":
            yield Measure.of(function, ties="average")


def lists(lengths: np.ndarray) -> DocumentLists:
    """Documents of so many queries, with five grades, and four documents to a score."""
    random = np.random.default_rng(0)
    n_rows, offsets = int(lengths.sum()), offsets_of(lengths)
    grades = Lists(pl.Series(random.integers(0, 5, n_rows)), offsets)
    scores = Lists(pl.Series(random.integers(0, max(n_rows // 4, 1), n_rows)), offsets)
    return DocumentLists.of(RANKING, grades, [scores])


def value(measure: Measure, documents: DocumentLists) -> list[pl.Series]:
    return Computation.of([measure], RANKING.scale, [documents]).compute()[0].columns
