"""Frames to measure, and the work that is timed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from polars_graded import evaluate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

EIGHT = (
    "mu_ap",
    "ndcng@10",
    "ndcg@10",
    "ap",
    "precision@10",
    "recall@10",
    "r_precision",
    "reciprocal_rank",
)

TWENTY_FIVE = (
    *EIGHT,
    *("f_measure@10", "success@10", "bpref", "roc_auc", "gap", "q_measure", "rbp"),
    *("generalized_precision@10", "generalized_recall@10", "judged@10"),
    *("cg@10", "dcg@10", "ideal_dcg@10", "err@20", "nerr@20"),
    *("n_retrieved", "n_relevant"),
)

BELOW_GRADE = np.array([0.52, 0.84, 0.97, 0.99])
"""The shares of documents below grades 1 to 4: half are irrelevant, few are perfect."""


DOCUMENTS = 100


def rankings(rows: int, documents: int = DOCUMENTS, *, real_grades: bool = False) -> pl.DataFrame:
    """Queries of so many documents, one after the other, with five grades or with a level each."""
    random = np.random.default_rng(0)
    grade = random.random(rows)
    return pl.DataFrame(
        {
            "query": np.arange(rows) // documents,
            "grade": grade if real_grades else np.searchsorted(BELOW_GRADE, grade, side="right"),
            "score": random.random(rows),
        }
    )


def named_rankings(rows: int, first: int = 0) -> pl.DataFrame:
    """`rankings` with names as ids, which is what peers take, and what files give.

    Names are of one length, since ranx compiles its code anew for every length, and count from
    `first` on, so that rows are sorted by query. Scores are whole numbers below 0, each once,
    since trec_eval holds them in single precision and would see ties.
    """
    query = pl.col("query") + first // DOCUMENTS
    return rankings(rows).select(
        query=_name("q{}", query),
        doc=_name("d{}", pl.int_range(first, first + rows)),
        grade="grade",
        score=-pl.col("score").rank("ordinal", descending=True).cast(pl.Float64),
    )


def _name(form: str, number: pl.Expr) -> pl.Expr:
    return pl.format(form, number.cast(pl.String).str.zfill(9))


BATCH = 1_000_000


def write(file: Path, rows: int, batch: Callable[[int, int], pl.DataFrame]) -> None:
    """So many rows, with no more than a few batches of them in memory.

    `batch` makes so many rows, the first of which has this number.
    """

    def batches(*_: object) -> Iterator[pl.DataFrame]:
        for first in range(0, rows, BATCH):
            yield batch(min(BATCH, rows - first), first)

    schema = batch(1, 0).schema
    register_io_source(batches, schema=schema).sink_parquet(file, engine="streaming")


def floor(frame: pl.DataFrame) -> pl.DataFrame:
    """The least that any of these measures needs: the rankings and the ideal rankings."""
    grade = pl.col("grade")
    return frame.group_by("query").agg(
        ranked=grade.sort_by("score", maintain_order=True).implode(), ideal=grade.sort().implode()
    )


def eight(frame: pl.DataFrame) -> pl.DataFrame:
    return evaluate(frame, *EIGHT)
