"""Pictures: what a reader sees of charts, measured on the marks that Vega draws."""

from __future__ import annotations

import re
from functools import partial
from itertools import pairwise
from typing import Any

import altair as alt
import numpy as np
import polars as pl
import pytest
from chart_registry import LONG_NAMES, ROWS, hard_results
from helpers import simulated
from scenes import boxes_of, marks_of, scene_of

from polars_graded import charts, compare, summarise
from polars_graded._drawing.lines import NAME_HEIGHT

pytestmark = pytest.mark.slow  # pictures of every chart

pytest.importorskip("vl_convert", reason="vl-convert is not installed")

SHORT_NAMES = tuple("abcdefghi")
short, long = (partial(hard_results, names, 45) for names in (SHORT_NAMES, tuple(LONG_NAMES)))


@pytest.mark.parametrize("mean", [0, 0.25, 0.5, 0.73, -0.5, 1234.5])
def test_the_only_tick_of_equal_means_has_the_mean_as_its_label(mean):
    results = pl.DataFrame({"strategy": ["a", "b"] * 2, "query": [1, 1, 2, 2], "value": mean})
    summary = summarise(results.cast({"value": pl.Float64}), {"value": "highest"})
    scene = scene_of(charts.strategy_bars(summary))
    label = f"{mean:,}".replace("-", "\N{MINUS SIGN}")
    assert label in [box.text for box in boxes_of(scene["scenegraph"], *scene["origin"])]


@pytest.mark.parametrize("name", ["comparison_forest of all pairs", "strategy_bars"])
def test_numbers_under_neighbouring_panels_stand_apart(name):
    """A digit is about 0.56 of the size of its font wide, and its box is half of that size high."""
    scene = scene_of(ROWS[name].of(3, 20))
    boxes = [*boxes_of(scene["scenegraph"], *scene["origin"])]
    numbers = [box for box in boxes if re.fullmatch(r"\N{MINUS SIGN}?\d\.\d+", box.text)]
    bottom = max(box.bottom for box in numbers)
    row = sorted((box for box in numbers if box.bottom == bottom), key=lambda box: box.left)
    assert len(row) >= 6
    for one, other in pairwise(row):
        between = (other.left + other.right - one.left - one.right) / 2
        widths = [1.12 * len(each.text) * (each.bottom - each.top) for each in (one, other)]
        assert between - sum(widths) / 2 >= 4, (one, other)


@pytest.mark.parametrize("measures", [["ndcg"], ["ndcg", "ap"]])
def test_worse_and_better_stand_on_both_sides_of_zero(measures):
    scene = scene_of(charts.comparison_forest(compare(short(), *measures, baseline="f")))
    zeros = {
        round(mark.x)
        for mark in marks_of(scene)
        if mark.kind == "rule" and mark.item.get("stroke") == "gray"
    }
    texts = [mark for mark in marks_of(scene) if mark.kind == "text"]
    for word, side in (("← worse", -1), ("better →", 1)):
        places = [mark.x + mark.item["dx"] for mark in texts if mark.item.get("text") == word]
        assert len(places) == len(measures)
        assert {round(place - 5 * side) for place in places} == zeros


@pytest.mark.parametrize("n", [1, 5, 45])
def test_bars_of_queries_do_not_overlap(n):
    frame = hard_results(("a", "b"), n).drop("dcg_curve@20")
    views = marks_of(scene_of(charts.explore(frame, "a", "b", "ndcg")))
    bars = sorted(
        (mark.x, mark.item["width"])
        for mark in views
        if mark.item.get("description", "").startswith("queries, sorted by difference")
    )
    assert len(bars) == n
    for (left, width), (right, _) in pairwise(bars):
        assert left + width < right


NAMES = ["bm25", "dense", "fusion", "hybrid", "ltr", "rm3", "splade", "tilde"]


def curves_of(ends: list[float]) -> pl.DataFrame:
    """Return straight lines from 0 to each end."""
    rows = [
        (name, 1, [end * rank / 5 for rank in range(1, 6)])
        for name, end in zip(NAMES, ends, strict=False)
    ]
    return pl.DataFrame(rows, ["strategy", "query", "dcg"], orient="row")


def list_names(chart: Any) -> list[tuple[float, str]]:
    """Return the height of each name in pixels, from the top, and the name."""
    texts = [mark.item for mark in marks_of(scene_of(chart)) if mark.kind == "text"]
    return sorted((each["y"] + each["dy"], each["text"]) for each in texts if each["text"] in NAMES)


def assert_apart(names: list[tuple[float, str]], ends: list[float]) -> None:
    assert [name for _, name in names] == [
        name for _, name in sorted(zip(ends, NAMES, strict=False), key=lambda each: -each[0])
    ]
    for (upper, _), (lower, _) in pairwise(names):
        assert lower - upper >= NAME_HEIGHT - 0.01


RANDOM = np.random.default_rng(0)
ENDS = {
    "apart": [1.0, 2.0, 3.0, 4.0],
    "close": [3.0, 3.01, 3.02, 3.03, 3.04],
    "at the bottom": [5.0, 0.01, 0.02, 0.03],
    "at the top": [9.9, 9.91, 9.92, 9.93, 9.94, 9.95, 9.96, 9.97],
    **{f"random {n}": RANDOM.gamma(1, 1, n).tolist() for n in range(2, 9)},
}
FEW_ENDS = ("apart", "close", "at the top", "random 8")
OTHER_ENDS = [name for name in ENDS if name not in FEW_ENDS]
CALLS = {
    "default": lambda chart: chart,
    "low": lambda chart: chart.properties(height=120),
    "narrow": lambda chart: chart.properties(width=150),
    "interactive": lambda chart: chart.interactive(),
    "zoomed": lambda chart: chart.encode(y=alt.Y("value:Q", scale=alt.Scale(domain=[-30, 30]))),
    "beside": lambda chart: chart | alt.Chart(pl.DataFrame({"a": [1]})).mark_point(),
    "under": lambda chart: chart + alt.Chart(pl.DataFrame({"a": [2]})).mark_rule().encode(y="a:Q"),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("case", [*FEW_ENDS, *simulated(*OTHER_ENDS)])
def test_names_are_apart_and_in_the_order_of_their_lines(case, call):
    chart = charts.dcg_curves(curves_of(ENDS[case]), "dcg", panel=None)
    assert_apart(list_names(CALLS[call](chart)), ENDS[case])
