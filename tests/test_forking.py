"""Processes beside the one that used the library: forked, started anew, forked before its use."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import multiprocessing, sys, warnings
import polars as pl
import polars_graded as pg

def evaluated():
    frame = pl.DataFrame({"query": [1, 1, 2], "grade": [0, 1, 2], "score": [3.0, 2.0, 1.0]})
    return pg.evaluate(frame, "ap")["ap"].to_list()

WORK = {
    "evaluate": evaluated,
    "expression": lambda: pl.col("grade").graded.ap(),
    "read": lambda: pg.read_run(b"q Q0 d 1 2.5 tag"),
    "data set": lambda: pg.datasets.example(2).height,
    "Polars alone": lambda: pl.select(pl.lit(1)).height,
}

def work(name, queue):
    try:
        queue.put(WORK[name]())
    except RuntimeError as error:
        queue.put(str(error))

def child(name, method):
    context = multiprocessing.get_context(method)
    queue = context.SimpleQueue()
    process = context.Process(target=work, args=(name, queue))
    process.start()
    process.join(40)
    if process.is_alive():
        process.kill()
        return "hangs"
    return queue.get()

if __name__ == "__main__":
    # From Python 3.12 on a fork of a process with threads is warned of.
    warnings.simplefilter("ignore", DeprecationWarning)
    before, name, method = sys.argv[1:]
    expected = evaluated() if before == "used" else None
    value = child(name, method)
    print("the same" if value == (expected or evaluated()) else value)
"""

only_on_linux = pytest.mark.skipif(
    not Path("/proc/self/task").is_dir(), reason="threads are not listed as Linux does"
)
SENTENCE = "this process was forked from one that had used Polars, whose threads it lacks: it would"


@pytest.mark.parametrize(
    ("before", "name", "method", "expected"),
    [
        pytest.param("used", "evaluate", "fork", SENTENCE, marks=only_on_linux),
        pytest.param("used", "expression", "fork", SENTENCE, marks=only_on_linux),
        pytest.param("used", "read", "fork", SENTENCE, marks=only_on_linux),
        pytest.param("used", "data set", "fork", SENTENCE, marks=only_on_linux),
        pytest.param("used", "Polars alone", "fork", "1", marks=only_on_linux),
        ("used", "evaluate", "spawn", "the same"),
        pytest.param("used", "evaluate", "forkserver", "the same", marks=only_on_linux),
        pytest.param("unused", "evaluate", "fork", "the same", marks=only_on_linux),
    ],
)
def test_another_process_gives_the_same_or_says_what_to_do(
    tmp_path, before, name, method, expected
):
    """A forked process waited without end for the threads of the first."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    finished = subprocess.run(  # noqa: S603
        [sys.executable, str(program), before, name, method],
        capture_output=True,
        check=False,
        text=True,
        timeout=120,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert finished.stderr == ""
    assert finished.stdout.startswith(expected)
    if expected == SENTENCE:
        assert "\n\nHint: multiprocessing.get_context('spawn')" in finished.stdout
