"""The figures beside other tools: the picture and the table show them, and bounds are kept."""

from __future__ import annotations

import pytest
from benchmark import compared, drawn
from benchmark.alone import OURS, STREAMED, TOOLS, measured
from benchmark.memory import STATUS
from benchmark.work import named_rankings, write
from pictures import assert_drawn_alike

on_linux = pytest.mark.skipif(not STATUS.exists(), reason=f"needs {STATUS}")


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
