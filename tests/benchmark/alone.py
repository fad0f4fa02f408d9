"""Measurement of one tool on one file of rankings, in a separate process.

`python -m tests.benchmark.alone TOOL FILE ANSWER` writes the result as JSON. The environment needs
only the tool and Polars.
"""

from __future__ import annotations

import json
import platform
import sys
import time
import warnings
from importlib import import_module
from importlib.metadata import packages_distributions, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from .memory import status
from .peers import PEERS, WARM_UP_ROWS, Peer, ours
from .recommenders import RECOMMENDERS
from .table import TURN

if TYPE_CHECKING:
    from .peers import Values

PEAK = Path("/proc/self/clear_refs")
"""What makes the kernel forget the peak of memory so far."""


def streamed(frame: pl.LazyFrame) -> pl.DataFrame:
    return ours(frame).collect()


def as_it_is(frame: Any) -> Any:
    return frame


def our_values(values: pl.DataFrame) -> Values:
    return values.select("query", pl.col(pl.Float64)).rows()


OURS = Peer("polars_graded", "polars_graded", as_it_is, ours, our_values)
STREAMED = Peer("polars_graded, streamed", "polars_graded", as_it_is, streamed, our_values)
TOOLS = {tool.name: tool for tool in (OURS, STREAMED, *PEERS, *RECOMMENDERS)}


def main() -> None:
    name, file, answer = sys.argv[1:]
    warnings.simplefilter("ignore")
    try:
        found = measured(TOOLS[name], Path(file), ready_of(Path(answer)))
    except Exception as error:
        found = {"stopped": " ".join(f"{type(error).__name__}: {error}".split())}
    Path(answer).write_text(json.dumps(found), encoding="utf-8")


def ready_of(answer: Path) -> Path:
    """The file that is there as soon as the clock runs."""
    return answer.with_suffix(".ready")


def measured(tool: Peer, file: Path, ready: Path) -> dict[str, Any]:
    """Seconds of the quickest try, the peak of the first one, and the means.

    The rows are at hand before the clock runs, unless they are streamed; code is compiled before
    on a few of them.
    """
    frame = pl.scan_parquet(file) if tool is STREAMED else pl.read_parquet(file)
    tool.score(tool.convert(frame.head(WARM_UP_ROWS)))
    PEAK.write_text("5")
    ready.touch()
    tries: list[tuple[float, float]] = []
    peak = 0
    while sum(map(sum, tries)) < TURN:
        start = time.perf_counter()
        converted = tool.convert(frame)
        middle = time.perf_counter()
        scores = tool.score(converted)
        tries.append((middle - start, time.perf_counter() - middle))
        peak = peak or status("VmHWM")
    convert, evaluate = min(tries, key=sum)
    values = pl.DataFrame(tool.values(scores), ["query", "ap", "ndcg"], orient="row")
    return {
        "convert": convert,
        "evaluate": evaluate,
        "gigabytes": peak / 1e9,
        "version": version_of(tool.module),
        "python": platform.python_version(),
        "polars": pl.__version__,
        "means": values.select("ap", "ndcg").mean().row(0),
    }


def version_of(module: str) -> str:
    found = getattr(import_module(module), "__version__", None)
    return found or version(packages_distributions()[module][0])


if __name__ == "__main__":
    main()
