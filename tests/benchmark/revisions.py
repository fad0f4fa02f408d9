"""Time and memory of two revisions: ratios of a few measurements that must not grow.

`python -m tests.benchmark.revisions BASE` compares the working tree with an older revision, which
git checks out into a temporary folder. Each measurement runs in a separate process. The revisions
take turns, so that other load on the machine affects both alike.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from .table import Row, Target, at_most, written

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

FIGURES = {
    "evaluate": "evaluate of eight, 100 a query",
    "shuffled": "evaluate of eight, shuffled",
    "method": "one method in agg",
    "methods": "eight methods side by side",
    "measures": "the eight by measures()",
    "phi": "φ of each query",
    "stacked": "three stacked strategies, a fifth of the rows",
    "judge": "judge, a fifth of the rows",
    "compare": "compare of 60 strategies x 1,000 queries",
    "streamed": "streamed, 5 a query",
    "similarity": "similarity of two, a fifth of the rows",
    "fuse": "fuse of two, a fifth of the rows",
    "columns": "subtopics and categories, a twentieth",
    "report": "report of 5 x 1,000 queries and documents",
}
"""What is measured; `figure.py` has the code, which uses public names alone."""

TIME, MEMORY = at_most(1.15), at_most(1.1)


def main() -> None:
    options = arguments()
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder) / "base"
        _git("worktree", "add", "--quiet", "--detach", str(base), options.base)
        try:
            rows = [
                row
                for name in options.only
                for row in compared(name, base, options.rows, options.repeat)
            ]
        finally:
            _git("worktree", "remove", "--force", str(base))
    commit = _git("rev-parse", "--short", options.base)
    load = os.getloadavg()[0]
    print(f"{options.rows:,} rows, median of {options.repeat} runs, load {load:.1f} at the end\n")
    print(written([(f"Time and peak memory, in multiples of those at {commit}", rows)]))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmark.revisions")
    parser.add_argument("base", help="the older revision, as git names it")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=FIGURES, default=[*FIGURES])
    return parser.parse_args()


def compared(name: str, base: Path, rows: int, repeat: int) -> Iterator[Row]:
    """Yield the ratio of seconds and of peak memory of a figure."""
    pairs = [(measured(name, ROOT, rows), measured(name, base, rows)) for _ in range(repeat)]
    for unit, what, form, target in (
        ("seconds", FIGURES[name], "{:.3f} s", TIME),
        ("megabytes", "  its memory", "{:,.0f} MB", MEMORY),
    ):
        now, before = (median(pair[place][unit] for pair in pairs) for place in (0, 1))
        yield _row(what, form.format(now), now / before, target)


def _row(what: str, measured: str, ratio: float, target: Target) -> Row:
    return Row(what, measured, ratio, str(target), target.met_by(ratio))


def measured(name: str, root: Path, rows: int) -> dict[str, float]:
    """Return the seconds and the peak megabytes of a figure with the package in a folder."""
    command = [sys.executable, str(HERE / "figure.py"), name, str(rows)]
    environment = os.environ | {"PYTHONPATH": str(root)}
    answer = subprocess.run(  # noqa: S603, a script of ours
        command, env=environment, check=True, capture_output=True, text=True
    )
    figures: dict[str, float] = json.loads(answer.stdout)
    return figures


def _git(*arguments: str) -> str:
    answer = subprocess.run(  # noqa: S603
        ["git", "-C", str(ROOT), *arguments],  # noqa: S607
        check=True,
        capture_output=True,
        text=True,
    )
    return answer.stdout.strip()


if __name__ == "__main__":
    main()
