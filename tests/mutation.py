"""Run the tests against a random sample of mutants, which cosmic-ray makes.

    python -m tests.mutation --sample 200              a sample of all files of `TESTS`
    python -m tests.mutation --sample 40 --only gating significance
    python -m tests.mutation --sample 200 --seed 7     another sample

A mutant is the package with one operator, number or keyword changed, in a copy of the project. The
tests kill it or it survives. A survivor needs a test, unless it computes the same as the original.
The table counts the mutants of each file; every survivor is printed as a diff. The exit code is 0
whatever survives, because a sample contains mutants that equal the original. This needs the extra
`mutation` and a system that can fork.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import importlib
import os
import random
import shutil
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

ROOT = Path(__file__).parents[1]
MAX_SECONDS = 300
"""Time after which a mutant counts as killed: its loop may never end."""

TESTS = {
    "_measuring/kernels/fingerprints.py": "kernels",
    "_measuring/kernels/phi.py": "phi",
    "_measuring/kernels/*.py": "papers kernels unjudged_bounds namespace contracts ties",
    "_results/agreement.py": "agreement",
    "_results/careful_intervals.py": "gating",
    "_results/gating.py": "gating",
    "_results/significance.py": "clusters significance comparing",
    "_results/prediction_powered.py": "prediction_powered",
}
"""Patterns of files, each with its tests, the fastest first. The first pattern that fits counts."""


class Mutant(NamedTuple):
    """One change: the occurrence of an operator of cosmic-ray in a file of the package."""

    file: str
    operator: str
    occurrence: int

    def change(self, source: str) -> str:
        """Return the source with the change."""
        changed = mutate_code(source, get_operator(self.operator)(), self.occurrence)
        if changed is None:
            msg = f"cosmic-ray does not make {self}"
            raise ValueError(msg)
        return changed


def find_tests() -> dict[str, list[str]]:
    """Return the files that are mutated, each with the files of its tests."""
    package = ROOT / "polars_graded"
    files: dict[str, list[str]] = {}
    for pattern, names in TESTS.items():
        for path in sorted(package.glob(pattern)):
            tests = [f"tests/test_{name}.py" for name in names.split()]
            files.setdefault(path.relative_to(package).as_posix(), tests)
    return files


def find_mutants(file: str) -> list[Mutant]:
    """Return all mutants of a file, except those of annotations, which nothing evaluates."""
    source = (ROOT / "polars_graded" / file).read_text(encoding="utf-8")
    annotations = [
        ((part.lineno, part.col_offset), (part.end_lineno, part.end_col_offset))
        for node in ast.walk(ast.parse(source))
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None))
        if part is not None
    ]
    nodes = list(ast_nodes(get_ast(source)))
    return [
        Mutant(file, name, occurrence)
        for name in operator_names()
        if not get_operator(name).arguments()
        for occurrence, (start, stop) in enumerate(
            position for node in nodes for position in get_operator(name)().mutation_positions(node)
        )
        if not any(first <= start and stop <= last for first, last in annotations)
    ]


def run_tests(copy: Path, tests: list[str]) -> int:
    """Return the exit code of the tests in a copy of the project, in a fork of this process."""
    child = os.fork()
    if child == 0:
        signal.alarm(MAX_SECONDS)
        os.chdir(copy)
        sys.path.insert(0, str(copy))
        output = os.open(copy / "output.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os._exit(pytest.main(["-q", "-x", "-n0", "-p", "no:cacheprovider", *tests]))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main() -> None:
    """Draw a sample with a fixed seed, run it, and print the table and the survivors."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=200, help="number of mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", default=[""], help="parts of the names of files")
    options = parser.parse_args()
    tests = {
        file: names
        for file, names in find_tests().items()
        if any(part in file for part in options.only)
    }
    order = random.Random(options.seed)
    mutants: list[Mutant] = []
    for file in tests:
        of_file = find_mutants(file)
        mutants += order.sample(of_file, len(of_file))
    size = min(options.sample, len(mutants))
    sample = [mutants[i * len(mutants) // size] for i in range(size)]  # as many of each file

    os.environ["HYPOTHESIS_PROFILE"] = "planted"
    for library in ("altair", "polars", "scipy.stats"):
        importlib.import_module(library)  # once here, so that no mutant has to import it again
    results: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name)
        os.environ["PYTHONPATH"] = name
        ignored = shutil.ignore_patterns("__pycache__", ".git", ".venv", "build", "dist")
        shutil.copytree(ROOT, copy, ignore=ignored, dirs_exist_ok=True)
        every_test = list(dict.fromkeys(test for names in tests.values() for test in names))
        if run_tests(copy, every_test):  # which also writes the bytecode of all other files
            sys.exit("The tests fail without a mutant:\n" + (copy / "output.txt").read_text())
        sys.dont_write_bytecode = True
        for mutant in sample:
            original, path = (base / "polars_graded" / mutant.file for base in (ROOT, copy))
            source = original.read_text(encoding="utf-8")
            changed = mutant.change(source)
            path.write_text(changed, encoding="utf-8")
            code = run_tests(copy, tests[mutant.file])
            shutil.copy2(original, path)
            result = {0: "survived", -signal.SIGALRM: "timed out"}.get(code, "killed")
            results[mutant.file, result] += 1
            if result != "killed":
                lines = (source.splitlines(), changed.splitlines())
                diff = difflib.unified_diff(
                    *lines, mutant.file, f"{result} {mutant}", "", "", 2, ""
                )
                print("\n".join(diff), flush=True)
    print(
        f"\n{'file':46} {'mutants':>7} {'sample':>7} {'killed':>7} {'timed out':>9} {'survived':>8}"
    )
    for file in tests:
        counts = [results[file, result] for result in ("killed", "timed out", "survived")]
        generated = sum(mutant.file == file for mutant in mutants)
        print(f"{file:46} {generated:7} {sum(counts):7} {counts[0]:7} {counts[1]:9} {counts[2]:8}")
    totals = Counter(result for _, result in results.elements())
    print(f"{len(mutants)} mutants, {len(sample)} in the sample: {dict(totals)}")


if __name__ == "__main__":
    main()
