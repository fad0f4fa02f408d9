"""Comparison with other tools, with more and more rows: `python -m tests.benchmark.compared`.

Each tool runs on the same rows in a separate process, with the Python that `--python` names, if
any. The results are in `compared.csv`, from which the picture and the table of the book are made.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_graded import evaluate

from . import drawn
from .alone import TOOLS, ready_of
from .work import named_rankings, write

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parents[2]
SIZES = [10**power for power in range(4, 9)]
LOOK = 0.05
"""Seconds between two looks at a process."""
TO_BE_READY = 300
"""Seconds for imports, rows and a first call, which are not measured."""
SAME = 1e-6


def main() -> None:
    options = arguments()
    if not options.draw:
        with tempfile.TemporaryDirectory(prefix="polars_graded-", dir=options.scratch) as folder:
            measure(options, Path(folder))
    drawn.draw(drawn.PICTURE)
    drawn.write_table()


def measure(options: argparse.Namespace, folder: Path) -> None:
    """Put what is found into the file of figures, one size after the other."""
    facts = {
        "cores": os.cpu_count(),
        "memory": round(of_pages(os.sysconf("SC_PHYS_PAGES")) / 1e9),
        "load": round(os.getloadavg()[0], 1),
    }
    pythons = dict(options.python)
    rows = drawn.figures().filter(~pl.col("tool").is_in(options.only)).rows(named=True)
    left = list(options.only)
    for size in options.sizes:
        file = folder / "rows.parquet"
        write(file, size, named_rankings)
        expected = {binary: means(file, binary=binary) for binary in (False, True)}
        for tool in list(left):
            print(f"{tool}, {size:,} rows …", end=" ", file=sys.stderr, flush=True)
            python = pythons.get(tool, sys.executable)
            found = measured(tool, file, python, options.seconds, options.gigabytes)
            found = checked(found, expected[TOOLS[tool].binary])
            print(found, file=sys.stderr)
            if "stopped" in found:
                left.remove(tool)
            rows.append({"tool": tool, "rows": size, **facts, **found})
            drawn.keep(sorted(rows, key=place))


def place(row: dict[str, Any]) -> tuple[int, int]:
    """Where a row stands among the figures, whatever was measured anew."""
    return row["rows"], list(TOOLS).index(row["tool"])


def means(file: Path, *, binary: bool) -> tuple[float, ...]:
    """Ours of both measures, which all are held to."""
    grade = pl.col("grade")
    frame = pl.scan_parquet(file).with_columns(
        grade=(grade > 0).cast(pl.Int64) if binary else grade
    )
    values = evaluate(frame, "ap", "ndcg(gain=linear)@10", consecutive=True).collect()
    return values.select(pl.col(pl.Float64).mean()).row(0)


def checked(found: dict[str, Any], expected: Sequence[float]) -> dict[str, Any]:
    """What was found without its means, which must be ours."""
    if "stopped" in found:
        return found
    got = found.pop("means")
    difference = max(abs(one - other) for one, other in zip(got, expected, strict=True))
    return found if difference <= SAME else {"stopped": f"differs from ours by {difference:.1g}"}


def measured(
    tool: str, file: Path, python: str, seconds: float, gigabytes: float
) -> dict[str, Any]:
    """What a process says of a tool, or why it was ended."""
    with tempfile.TemporaryDirectory() as name:
        answer = Path(name) / "answer.json"
        command = [python, "-m", "tests.benchmark.alone", tool, str(file), str(answer)]
        with (Path(name) / "said.txt").open("w") as said:
            process = subprocess.Popen(command, cwd=ROOT, stdout=said, stderr=said)  # noqa: S603
            try:
                stopped = watched(process, ready_of(answer), seconds, gigabytes)
            finally:
                process.kill()
                process.wait()
        if stopped:
            return {"stopped": stopped}
        if not answer.exists():
            last = (Path(name) / "said.txt").read_text().strip().rpartition("\n")[-1]
            return {"stopped": last or f"ended with {process.returncode}"}
        return json.loads(answer.read_text(encoding="utf-8"))


def watched(
    process: subprocess.Popen[bytes], ready: Path, seconds: float, gigabytes: float
) -> str | None:
    """Wait until a process ends, or exceeds a bound, which is said."""
    began = time.monotonic()
    clock_runs = False
    while process.poll() is None:
        if not clock_runs and ready.exists():
            clock_runs, began = True, time.monotonic()
        if time.monotonic() - began > (seconds if clock_runs else TO_BE_READY):
            return f"more than {seconds:g} s" if clock_runs else "never begins"
        if resident(process.pid) > gigabytes * 1e9:
            return f"more than {gigabytes:g} GB"
        time.sleep(LOOK)
    return None


def resident(process: int) -> int:
    """Bytes of memory that a process holds; none once it has ended."""
    _, pages, *_ = Path(f"/proc/{process}/statm").read_text().split()
    return of_pages(int(pages))


def of_pages(pages: int) -> int:
    return pages * os.sysconf("SC_PAGE_SIZE")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmark.compared",
        description="Measure every tool with more and more rows until it exceeds a limit; write "
        "the numbers, the picture and the table of the book. Needs Linux, and vl-convert to draw.",
    )
    add = parser.add_argument
    add("--sizes", type=int, nargs="+", default=SIZES, metavar="ROWS", help="%(default)s")
    add("--seconds", type=float, default=120, help="maximum seconds of a run (%(default)s)")
    add("--gigabytes", type=float, default=12, help="maximum memory of a run (%(default)s)")
    add(
        "--python",
        type=lambda text: text.split("=", maxsplit=1),
        action="extend",
        nargs="+",
        default=[],
        metavar="TOOL=PATH",
        help="the Python of a tool that is not installed in this environment",
    )
    add(
        "--only",
        nargs="+",
        choices=TOOLS,
        default=list(TOOLS),
        metavar="TOOL",
        help=f"tools to measure again: {'; '.join(TOOLS)} (all)",
    )
    add("--scratch", help="folder for the rows; 100 million rows take 0.5 GB")
    add("--draw", action="store_true", help="draw the stored results without measuring")
    return parser.parse_args()


if __name__ == "__main__":
    main()
