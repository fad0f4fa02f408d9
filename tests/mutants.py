"""Bugs that are planted one at a time: which of them do the tests find?

    python -m tests.mutants                  what plain `pytest` finds, in a selection of its files
    python -m tests.mutants --all            what the slow tests find as well
    python -m tests.mutants --only 7 12      some of the bugs, by their number

A line of `MUTANTS` is a file of the package, a piece of it, what stands there instead, and the test
files that are to notice. A piece must be there exactly once, as `test_mutants.py` checks. Every
bug is planted in a copy of the project, so nothing here is touched. One that survives needs a test,
or is none: then the line goes. It takes a few seconds per bug, and is no part of `pytest`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
QUICK = "not (slow or browser or spark or ray)"
ALL = "not (browser or spark or ray)"


class Mutant(NamedTuple):
    """A bug."""

    file: str
    piece: str
    instead: str
    tests: str


KERNELS = "kernels namespace contracts"
FRAMES = "grouping evaluating data_warnings streaming contracts"
JUDGED = "judging judging_later any_frame"
TESTED = "significance comparing"

RANKS = "_measuring/rank_columns.py"
VALUES, GROUPING, NOTICING = (f"_frames/{n}.py" for n in ("values", "grouping", "data_warnings"))
COMPARING, STRATEGIES = "_results/comparing.py", "_frames/strategies.py"

MUTANTS = [
    # Formulas
    Mutant("_measuring/definitions.py", '{"discount": "none"', '{"discount": "log2"', KERNELS),
    # Frames
    Mutant(
        GROUPING,
        "has_few_runs and count_distinct(runs) == runs.height",
        "has_few_runs",
        FRAMES,
    ),
    Mutant(
        GROUPING, "return keys[np.arange(keys.height)] if has_flag else keys", "return keys", FRAMES
    ),
    Mutant(
        GROUPING, "column.ne_missing(above)", "(column != above).fill_null(value=False)", FRAMES
    ),
    Mutant(VALUES, 'maintain_order="left_right"', 'maintain_order="right"', FRAMES),
    Mutant(
        "_measuring/computing.py",
        "orders = [with_ties.optimistic, *(",
        "orders = [with_ties.pessimistic, *(",
        "ties",
    ),
    Mutant(RANKS, 'pl.col("lowest") == 1', 'pl.col("lowest") == 0', "directions"),
    Mutant(NOTICING, "shares[0][0] >= MIN_SHARE_DIFFERENCE", "shares[0][0] > 1", "data_warnings"),
    Mutant(
        NOTICING, '["queries"] < self.queries', '["queries"] < self.queries - 1', "data_warnings"
    ),
    Mutant("_frames/joining.py", 'how="anti", nulls_equal', 'how="left", nulls_equal', JUDGED),
    Mutant(
        "_frames/joining.py",
        'self.joined.join(self.queries, on=self.query, how="semi", maintain_order="left")',
        "self.joined",
        JUDGED,
    ),
    Mutant(
        "_frames/streaming.py",
        "held.append(batch.slice(start))",
        "held.append(batch.slice(start) if start else batch.head(0))",
        FRAMES,
    ),
    Mutant(
        "_measuring/ranking.py",
        "first, *others = self.by\n",
        "*others, first = self.by\n",
        "namespace contracts",
    ),
    Mutant(
        "_measuring/scale.py",
        "self.irrelevant + step for step in steps",
        "self.irrelevant + step - 1 for step in steps",
        "namespace contracts",
    ),
    # Statistics
    Mutant(COMPARING, '"wins": higher if better else lower', '"wins": higher', TESTED),
    Mutant(COMPARING, "for direction in (up, -up)", "for direction in (mean, -mean)", TESTED),
    Mutant(COMPARING, "GEOMETRIC_FLOOR = 1e-5", "GEOMETRIC_FLOOR = 1e-6", f"{TESTED} peers"),
    Mutant("_results/means.py", "deviations) / (n - 1)", "deviations) / n", TESTED),
    Mutant(STRATEGIES, "if i != base and i not in bases[:rank]", "if i != base", TESTED),
    Mutant(
        "_results/reliability.py",
        "others = np.sign(reference[a] - reference[b])",
        "others = np.sign(reference[a] - reference[b] + 1e-9)",
        "correlation reliability",
    ),
    Mutant(
        "_results/power.py",
        "limit = stdtrit(n - 1, alpha / 2)",
        "limit = stdtrit(n - 1, alpha)",
        "power",
    ),
    Mutant("_results/power.py", "range(2, MAX_QUERIES", "range(3, MAX_QUERIES", "power"),
    Mutant("_results/reliability.py", "first * second < 0", "first * second <= 0", "reliability"),
    Mutant(
        "_results/reliability.py",
        "second = _compute_differences(results, samples_of_block[:, size:])",
        "second = _compute_differences(results, samples_of_block[:, : size // 2 + 1])",
        "reliability",
    ),
    Mutant(
        "_results/regrading.py",
        "rows.get_column(grade).max() if max_grade is None else max_grade",
        "rows.get_column(grade).max()",
        "regrading",
    ),
    Mutant(
        "_results/grid.py",
        "return ranks * self.sign",
        "return ranks",
        "correlation per_query reliability",
    ),
    Mutant(
        "_results/best_values.py",
        "np.diff(ascending) > ROUNDING * scale",
        "np.diff(ascending) > 0",
        "forms per_query verdicts findings",
    ),
]


def outcome(mutant: Mutant, marks: str) -> str:
    """What the tests make of a bug: found, by which test, or not."""
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name)
        for folder in ("polars_graded", "tests"):
            left = shutil.ignore_patterns("__pycache__", "benchmark")
            shutil.copytree(ROOT / folder, copy / folder, ignore=left)
        (copy / "notebooks" / "book").mkdir(parents=True)
        pages = ("notebooks/book/rows.md", "notebooks/book/testing.md")
        for file in ("pyproject.toml", "README.md", *pages):
            shutil.copy(ROOT / file, copy / file)
        path = copy / "polars_graded" / mutant.file
        code = path.read_text(encoding="utf-8")
        if code.count(mutant.piece) != 1:
            return f"STALE: the piece is there {code.count(mutant.piece)} times"
        path.write_text(code.replace(mutant.piece, mutant.instead), encoding="utf-8")
        files = [f"tests/test_{each}.py" for each in mutant.tests.split()]
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-n0", "-m", marks]
        run = subprocess.run(  # noqa: S603 of our own making
            [
                *command,
                "-p",
                "no:cacheprovider",
                *(file for file in files if (copy / file).exists()),
            ],
            cwd=copy,
            env=os.environ | {"PYTHONPATH": str(copy), "HYPOTHESIS_PROFILE": "planted"},
            capture_output=True,
            text=True,
            check=False,
        )
    if run.returncode == 0:
        return "SURVIVES"
    failed = [line for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    if not failed:
        return f"NOT RUN: {run.stdout[-300:]} {run.stderr[-300:]}"
    return "found by " + failed[0].split(" ")[1].removeprefix("tests/").split("[")[0]


def main() -> None:
    """Plant the bugs one by one and print what became of each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="run the slow tests as well")
    parser.add_argument("--only", type=int, nargs="+", help="numbers of bugs")
    asked = parser.parse_args()
    found = 0
    numbers = asked.only or range(len(MUTANTS))
    for number in numbers:
        started = time.monotonic()
        said = outcome(MUTANTS[number], ALL if asked.all else QUICK)
        found += said.startswith("found")
        seconds = time.monotonic() - started
        print(f"{number:3}  {MUTANTS[number].file:40} {said}  ({seconds:.0f} s)", flush=True)
    print(f"{found} of {len(numbers)} are found.")


if __name__ == "__main__":
    main()
