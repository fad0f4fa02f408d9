"""Time and memory of evaluating rows of a file, beside plain Polars."""

from __future__ import annotations

import multiprocessing
import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import polars as pl

import polars_graded  # noqa: F401 (registers `.graded`)
from polars_graded import evaluate

from .memory import STATUS, status
from .table import Case, Row, Sizes, Target, at_most, compared, timed
from .work import DOCUMENTS, EIGHT, rankings, write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TITLE = "Eight measures of rows in a Parquet file, in multiples of reading them at once"

NEARLY_AS_FAST = at_most(1.43)
"""No less than 70 % of the rows a second."""

TEN_TIMES = at_most(16)
"""Of that, with an exponent of 1.05 over ten times the rows."""

Measured: TypeAlias = "Callable[[Path], pl.DataFrame]"


def at_once(file: Path) -> pl.DataFrame:
    return evaluate(pl.read_parquet(file), *EIGHT, ties="order")


def plain(file: Path) -> pl.DataFrame:
    """Return the measures as Polars' streaming engine alone computes them."""
    g = pl.col("grade").graded.ranked_by("score")
    groups = pl.scan_parquet(file).group_by("query").agg(g.measures(*EIGHT))
    return groups.collect(engine="streaming")


def lazy(file: Path) -> pl.DataFrame:
    return evaluate(pl.scan_parquet(file), *EIGHT, ties="order").collect()


def streamed(file: Path) -> pl.DataFrame:
    rows = pl.scan_parquet(file)
    return evaluate(rows, *EIGHT, ties="order", consecutive=True).collect()


def rows(sizes: Sizes) -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="polars_graded-") as name:
        folder = Path(name)
        by_query, larger = folder / "rows.parquet", folder / "ten_times.parquet"
        shuffled = folder / "shuffled.parquet"
        write(by_query, sizes.rows, _batch)
        write(larger, 10 * sizes.rows, _batch)
        pl.read_parquet(by_query).sample(fraction=1, shuffle=True, seed=1).write_parquet(shuffled)
        cases: list[tuple[str, Measured, Path, Target | None]] = [
            ("at once", at_once, by_query, None),
            ("plain Polars", plain, by_query, None),
            ("a LazyFrame", lazy, by_query, None),
            ("streamed, sorted by query", streamed, by_query, NEARLY_AS_FAST),
            ("shuffled, plain Polars", plain, shuffled, None),
            ("shuffled, a LazyFrame", lazy, shuffled, None),
            ("ten times the rows, streamed", streamed, larger, TEN_TIMES),
        ]
        repeat = min(sizes.repeat, 2)
        yield from compared(
            [Case(what, timed(partial(run, file)), target) for what, run, file, target in cases],
            repeat,
        )
        if STATUS.exists():
            peaks = [
                Case(f"{what}: peak", partial(_peak, run, file)) for what, run, file, _ in cases
            ]
            yield from compared(peaks, 1, lambda n: f"{n / 1e6:,.0f} MB")


def _batch(n: int, first: int) -> pl.DataFrame:
    return rankings(n).with_columns(pl.col("query") + first // DOCUMENTS)


def _peak(run: Measured, file: Path) -> float:
    """The peak of a process that has never held anything else."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=context) as pool:
        return pool.submit(_peak_here, run, file).result()


def _peak_here(run: Measured, file: Path) -> float:
    run(file)
    return float(status("VmHWM"))
