"""Time to read runs and to join them with judgments."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from polars_graded import join_judgments, read_run

from .table import Case, Row, Sizes, at_most, compared, timed

if TYPE_CHECKING:
    from collections.abc import Iterator

TITLE = "files and joins: a run of half the rows read; all rows judged, by names as ids"

PAIR = ["query", "doc"]


def run_of(rows: int) -> pl.DataFrame:
    """A run of so many rows, a thousand per query, as its file has them."""
    row = pl.int_range(rows)
    return pl.select(
        query=pl.format("q{}", row // 1000),
        q0=pl.lit("Q0"),
        doc=pl.format("FBIS3-{}", row * 7919 % 1_000_003),
        rank=row % 1000,
        score=1 / (1 + row % 1000),
        tag=pl.lit("bm25"),
    )


def judgments_of(run: pl.DataFrame) -> pl.DataFrame:
    """A judgment for a twentieth of the run, and as many of documents that it lacks, shuffled."""
    found = run.select(PAIR).gather_every(20)
    both = pl.concat([found, found.with_columns(pl.col("doc") + "-missed")])
    grades = both.with_columns(grade=pl.int_range(pl.len()) % 3)
    return grades.sample(fraction=1, shuffle=True, seed=0)


def joins(run: pl.DataFrame, judgments: pl.DataFrame) -> None:
    run.join(judgments, on=PAIR, how="left")
    judgments.join(run, on=PAIR, how="anti")


def read_csv(path: Path) -> pl.DataFrame:
    return pl.read_csv(path, separator=" ", has_header=False, quote_char=None)


def rows(sizes: Sizes) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        single, aligned = Path(folder) / "single.run", Path(folder) / "aligned.run"
        run_of(sizes.rows // 2).write_csv(single, separator=" ", include_header=False)
        aligned.write_bytes(single.read_bytes().replace(b" ", b" \t "))
        yield from compared(
            [
                Case("read_csv, single blanks", timed(partial(read_csv, single))),
                Case("read_run, single blanks", timed(partial(read_run, single)), at_most(5)),
                Case("read_run, three blanks", timed(partial(read_run, aligned))),
            ],
            sizes.repeat,
        )
    run = run_of(sizes.rows).select(*PAIR, "score")
    judgments = judgments_of(run)
    yield from compared(
        [
            Case("a left and an anti join", timed(partial(joins, run, judgments))),
            Case("join_judgments", timed(partial(join_judgments, run, judgments)), at_most(2)),
        ],
        sizes.repeat,
    )
