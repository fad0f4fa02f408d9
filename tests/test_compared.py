"""The figures beside other tools: the picture and the table show them, and bounds are kept."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from benchmark import compared, drawn
from benchmark.alone import OURS, STREAMED, TOOLS, measured
from benchmark.memory import STATUS
from benchmark.work import named_rankings, write
from pictures import assert_drawn_alike

on_linux = pytest.mark.skipif(not STATUS.exists(), reason=f"needs {STATUS}")


def run_of(tool: str, rows: int, convert: float, evaluate: float, polars: str = "2.1.0"):
    return beginning(tool, rows) | {
        "version": "1.0",
        "python": "3.11.7",
        "polars": polars,
        "convert": convert,
        "evaluate": evaluate,
        "gigabytes": 0.34,
    }


def stop_of(tool: str, rows: int, why: str):
    return beginning(tool, rows) | {"stopped": why}


def beginning(tool: str, rows: int):
    machine = {"cores": 2, "memory": 8, "load": 0.1}
    return dict.fromkeys(drawn.SCHEMA) | {"tool": tool, "rows": rows} | machine


SOME = [
    run_of("a", 10_000, 0.25, 0.5),
    run_of("b", 10_000, 3, 9.4, polars="1.9.0"),
    run_of("c", 10_000, 0.2, 0.2),
    run_of("a", 1_000_000, 0.25, 0.5),
    stop_of("b", 1_000_000, "more than 12 GB"),
    stop_of("c", 1_000_000, "more than 12 GB"),
]


# What is committed


@pytest.mark.slow
def test_the_picture_is_drawn_from_the_figures(tmp_path):
    assert_drawn_alike(drawn.PICTURE, drawn.draw, tmp_path)


def test_the_page_has_the_table_of_the_figures():
    [written] = drawn.TABLE.findall(drawn.PAGE.read_text(encoding="utf-8"))
    assert written == drawn.table()


def test_each_tool_is_measured_at_every_size_until_it_stops():
    found = drawn.figures()
    sizes = found["rows"].unique().sort().to_list()
    assert set(found["tool"]) == set(TOOLS)
    for (tool,), runs in found.group_by("tool"):
        assert runs["rows"].to_list() == sizes[: len(runs)], tool
        assert len(runs) == len(sizes) or runs["stopped"][-1], tool
        assert runs["stopped"][:-1].null_count() == len(runs) - 1, tool


# How it is shown


def test_a_cell_has_seconds_with_conversion_and_memory_or_why_there_are_none(monkeypatch):
    monkeypatch.setattr(drawn, "figures", lambda: pl.DataFrame(SOME, drawn.SCHEMA))
    machine = (
        "Measured on 2 cores and 8 GB of memory with nothing else to do; "
        "Python 3.11.7, Polars 2.1.0, a 1.0, b 1.0 with Polars 1.9.0, c 1.0."
    )
    assert drawn.table().splitlines() == [
        "|  | 10 thousand | 1 million | conversion |",
        "| --- | --- | --- | --- |",
        "| a | 0.75 s<br>0.3 GB | 0.75 s<br>0.3 GB | 33% |",
        "| b | 12 s<br>0.3 GB | *more than 12 GB* | 24% |",
        "| c | 0.40 s<br>0.3 GB | *more than 12 GB* | 50% |",
        "",
        "At 1 million rows b and c stop: more than 12 GB.",
        machine,
    ]


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.00644, "0.0064 s"), (1, "1.0 s"), (9.94, "9.9 s"), (9.96, "10 s"), (118.4, "118 s")],
)
def test_seconds_have_two_digits_or_are_whole(value, said):
    assert drawn.seconds(value) == said


def test_names_stand_apart_in_the_order_of_what_a_row_costs():
    found = pl.DataFrame(SOME, drawn.SCHEMA).with_columns(
        seconds=pl.col("convert") + pl.col("evaluate")
    )
    labels = drawn.with_labels(found, (0.1, 100))
    assert labels.select("tool", "rows", "stops", "words").rows() == [
        ("a", 1_000_000, False, "1 million rows: 0.75 s, 0.3 GB"),
        ("c", 10_000, True, "1 million rows: more than 12 GB"),
        ("b", 10_000, True, "1 million rows: more than 12 GB"),
    ]
    # The first two have room where their lines end, and would go on to: 100 times 0.4 s. The
    # third would stand at 1,240 s, far above.
    heights = labels["label"].to_list()
    assert heights[:2] == pytest.approx([0.75, 40])
    assert 75 < heights[2] < 100


# How it is measured


@on_linux
@pytest.mark.parametrize("tool", [OURS, STREAMED])
def test_ours_are_measured_with_the_means_that_all_are_held_to(tool, tmp_path, monkeypatch):
    monkeypatch.setattr("benchmark.alone.TURN", 1e-9)
    file = tmp_path / "rows.parquet"
    write(file, 2000, named_rankings)
    found = measured(tool, file, tmp_path / "ready")
    assert compared.checked(found, compared.means(file, binary=False)) == found
    assert found["evaluate"] > 0
    assert 0.01 < found["gigabytes"] < 100


@pytest.mark.parametrize(("off", "said"), [(1e-7, None), (0.02, "differs from ours by 0.02")])
def test_what_has_other_values_is_not_compared(off, said):
    found = compared.checked({"means": [0.5, 0.25 + off], "evaluate": 1}, (0.5, 0.25))
    assert found == ({"evaluate": 1} if said is None else {"stopped": said})


@on_linux
@pytest.mark.parametrize(
    ("seconds", "gigabytes", "said"),
    [(0.01, 8, "more than 0.01 s"), (100, 0.001, "more than 0.001 GB"), (100, 8, None)],
)
def test_a_process_is_watched(seconds, gigabytes, said, tmp_path):
    code = "import sys; sys.stdin.read()"
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:  # noqa: S603
        if said is None:
            process.stdin.close()
        assert compared.watched(process, tmp_path, seconds, gigabytes) == said


@on_linux
def test_a_process_that_dies_has_stopped():
    found = compared.measured("a", Path("rows.parquet"), shutil.which("false"), 100, 8)
    assert found == {"stopped": "ended with 1"}


def test_rows_that_are_written_are_those_of_one_frame(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmark.work.BATCH", 300)
    write(tmp_path / "rows.parquet", 700, named_rankings)
    frame = pl.read_parquet(tmp_path / "rows.parquet")
    names = frame.select("query", "doc")
    assert names.equals(named_rankings(700).select("query", "doc"))
    assert names["query"].is_sorted()
    assert names["query"].unique_counts().to_list() == [100] * 7
