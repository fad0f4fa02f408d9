"""One measurement of one revision in a separate process: `python figure.py NAME ROWS` prints JSON.

PYTHONPATH determines the package, which may be older than this file, so only long-standing public
names are used.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from work import EIGHT, rankings  # this folder is first on the path

import polars_graded as pg

if TYPE_CHECKING:
    from collections.abc import Callable

TRIES = 3


def ranked() -> pg.Graded:
    return pg.graded("grade").ranked_by("score")


def of_agg(rows: int, exprs: Callable[[], list[pl.Expr]]) -> Callable[[], object]:
    frame = rankings(rows)
    return lambda: frame.group_by("query").agg(exprs())


def methods() -> list[pl.Expr]:
    g = ranked()
    exprs = [g.mu_ap(), g.ndcng(10), g.ndcg(10), g.ap(), g.precision(10), g.recall(10)]
    return [*exprs, g.r_precision(), g.reciprocal_rank()]


def evaluated(rows: int, *, shuffled: bool = False) -> Callable[[], object]:
    frame = rankings(rows)
    frame = frame.sample(fraction=1.0, shuffle=True, seed=0) if shuffled else frame
    return lambda: pg.evaluate(frame, *EIGHT)


def stacked(rows: int) -> Callable[[], object]:
    frame = rankings(rows // 5)
    one = [frame.with_columns(pl.lit(name).alias("strategy")) for name in "abc"]
    every = pl.concat(one)
    return lambda: pg.evaluate(every, "ap", "ndcg@10", strategy="strategy")


def judged(rows: int) -> Callable[[], object]:
    frame = rankings(rows // 5).with_columns(doc=pl.int_range(pl.len()))
    return lambda: pg.join_judgments(frame.drop("grade"), frame.drop("score"))


def compared(_rows: int) -> Callable[[], object]:
    random = np.random.default_rng(0)
    values = pl.DataFrame(
        {
            "strategy": np.repeat([f"s{number:02}" for number in range(60)], 1000),
            "query": np.tile(np.arange(1000), 60),
            "ap": random.random(60_000),
        }
    )
    return lambda: pg.compare(values, "ap")


def streamed(rows: int) -> Callable[[], object]:
    with tempfile.NamedTemporaryFile(suffix=".parquet", delete=False) as file:
        path = Path(file.name)
    rankings(rows, documents=5).write_parquet(path)
    frame = pl.scan_parquet(path)

    def run() -> None:
        pg.evaluate(frame, "ap", "ndcg@10").collect()

    return run


def two_scores(rows: int) -> pl.DataFrame:
    """Return rankings with documents and the scores of a second strategy."""
    frame = rankings(rows // 5).with_columns(doc=pl.int_range(pl.len()))
    noise = np.random.default_rng(1).random(frame.height)
    return frame.with_columns(second=pl.col("score") + noise)


def similar(rows: int) -> Callable[[], object]:
    frame = two_scores(rows)
    return lambda: pg.similarity(frame, "rbo", "overlap@10", by=["score", "second"])


def fused(rows: int) -> Callable[[], object]:
    frame = two_scores(rows)
    return lambda: pg.fuse(frame, by=["score", "second"])


def of_columns(rows: int) -> Callable[[], object]:
    """Return measures of subtopics and of categories, of rankings with many ties."""
    place = pl.int_range(pl.len())
    lists = pl.Series([["a"], ["b", "a"], ["a", "c"], ["d", "b", "e"], []])
    frame = rankings(rows // 20).with_columns(
        doc=place,
        score=(20 * pl.col("score").rank() / pl.len()).round(),
        subtopics=pl.lit(lists).gather(place * 7 % len(lists)),
        genre=(place % 7).cast(pl.String),
    )
    columns = {"subtopics": "subtopics", "features": "genre"}
    return lambda: pg.evaluate(frame, "alpha_ndcg@10", "err_ia", "diversity@10", **columns)


def reported(_rows: int) -> Callable[[], object]:
    frame = rankings(100_000).with_columns(doc=pl.int_range(pl.len()))
    random = np.random.default_rng(1)
    names = [f"s{number}" for number in range(5)]
    frame = frame.with_columns(pl.Series(name, random.random(frame.height)) for name in names)
    per_query = pg.evaluate(frame, "ap", "ndcg@10", by=names)

    def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            pg.report(per_query, Path(folder) / "report.html", frame=frame, by=names)

    return run


FIGURES: dict[str, Callable[[int], Callable[[], object]]] = {
    "evaluate": evaluated,
    "shuffled": lambda rows: evaluated(rows, shuffled=True),
    "method": lambda rows: of_agg(rows, lambda: [ranked().ap()]),
    "methods": lambda rows: of_agg(rows, methods),
    "measures": lambda rows: of_agg(rows, lambda: [ranked().measures(*EIGHT)]),
    "phi": lambda rows: of_agg(rows, lambda: [pg.graded("score").phi_relevance()]),
    "stacked": stacked,
    "judge": judged,
    "compare": compared,
    "streamed": streamed,
    "similarity": similar,
    "fuse": fused,
    "columns": of_columns,
    "report": reported,
}


def main() -> None:
    name, rows = sys.argv[1], int(sys.argv[2])
    warnings.simplefilter("ignore")
    run = FIGURES[name](rows)
    Path("/proc/self/clear_refs").write_text("5")  # the kernel forgets the peak so far
    seconds = []
    peak = 0
    for _ in range(TRIES):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
        peak = peak or int(re.search(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text())[1])
    print(json.dumps({"seconds": min(seconds), "megabytes": peak / 1e3}))


if __name__ == "__main__":
    main()
