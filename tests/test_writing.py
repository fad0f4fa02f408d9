"""Files are there whole or not at all, whatever happens to who writes them."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from helpers import needed

import polars_graded
from polars_graded import datasets, evaluate, report
from polars_graded._writing import check_writable

ROOM = Path(polars_graded.__file__).parent / "_writing.py"

# Writes the file whole, again and again: a thousand lines of one number, then of the next.
WRITER = """
import pathlib, runpy, sys
write_atomically = runpy.run_path(sys.argv[1])["write_atomically"]
path, number = pathlib.Path(sys.argv[2]), int(sys.argv[3])
print("begun", flush=True)
while True:
    number += 1
    with write_atomically(path) as part, part.open("w") as file:
        for _ in range(1000):
            file.write(f"{number}\\n")
            file.flush()
"""


def killed_writer(path: Path, number: int, seconds: float) -> None:
    """Begin to write, and kill the writer after some time."""
    with subprocess.Popen(  # noqa: S603
        [sys.executable, "-S", "-I", "-c", WRITER, str(ROOM), str(path), str(number)],
        stdout=subprocess.PIPE,
    ) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(seconds)
        writer.kill()
    assert writer.returncode == -signal.SIGKILL


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kills its writers by a signal")
def test_a_writer_killed_at_any_moment_leaves_the_old_file_or_the_whole_new_one(tmp_path):
    path = tmp_path / "values.csv"
    path.write_text("0\n" * 1000)
    rng = random.Random(1)
    numbers = set()
    for _ in range(40):
        killed_writer(path, max(numbers, default=0), rng.random() * 0.02)
        lines = path.read_text().splitlines()
        assert len(lines) == 1000
        assert len(set(lines)) == 1
        numbers.add(int(lines[0]))
        for part in {*tmp_path.iterdir()} - {path}:
            assert part.name.endswith(".part")
            part.unlink()
    assert len(numbers) > 5


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("absent/values.csv", FileNotFoundError),
        ("folder", IsADirectoryError),
        ("a\0b.csv", ValueError),
        ("input.csv", ValueError),
        ("link.csv", ValueError),
        ("folder/../input.csv", ValueError),
    ],
)
def test_what_cannot_be_written_is_refused_beforehand(tmp_path, name, error):
    given = tmp_path / "input.csv"
    given.touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "link.csv").symlink_to(given)
    with pytest.raises(error):
        check_writable(tmp_path / name, [tmp_path / "absent.csv", given])
    check_writable(tmp_path / "values.csv", [given])


def test_a_folder_or_file_without_the_right_to_write_is_refused_beforehand(tmp_path, monkeypatch):
    path = tmp_path / "values.csv"
    path.touch()
    for without in (path, tmp_path):
        # Whoever runs the tests may have every right.
        monkeypatch.setattr(os, "access", lambda place, _, without=without: place != without)
        with pytest.raises(PermissionError, match=r"values\.csv"):
            check_writable(path)


def test_a_report_leaves_the_page_that_was_there_where_it_cannot_be_written(tmp_path, monkeypatch):
    needed("vl_convert")
    path = tmp_path / "page.html"
    path.write_text("what was there")
    per_query = evaluate(datasets.example(), "ap", by=["strong", "weak"])

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device"):
        report(per_query, path)
    assert [each.read_text() for each in tmp_path.iterdir()] == ["what was there"]
