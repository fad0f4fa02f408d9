"""Pictures: what a reader sees of charts, measured on the marks that Vega draws."""

from __future__ import annotations

import re
from functools import partial
from itertools import pairwise

import polars as pl
import pytest
from chart_registry import LONG_NAMES, ROWS, hard_results
from scenes import boxes_of, marks_of, scene_of

from polars_graded import charts, compare, summarise

pytestmark = pytest.mark.slow  # pictures of every chart

pytest.importorskip("vl_convert", reason="vl-convert is not installed")

SHORT_NAMES = tuple("abcdefghi")
short, long = (partial(hard_results, names, 45) for names in (SHORT_NAMES, tuple(LONG_NAMES)))


# Axes


@pytest.mark.parametrize("mean", [0, 0.25, 0.5, 0.73, -0.5, 1234.5])
def test_the_only_tick_of_equal_means_has_the_mean_as_its_label(mean):
    results = pl.DataFrame({"strategy": ["a", "b"] * 2, "query": [1, 1, 2, 2], "value": mean})
    summary = summarise(results.cast({"value": pl.Float64}), {"value": "highest"})
    scene = scene_of(charts.strategy_bars(summary))
    label = f"{mean:,}".replace("-", "\N{MINUS SIGN}")
    assert label in [box.text for box in boxes_of(scene["scenegraph"], *scene["origin"])]


# Panels


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


# Forests


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


# Graders, ties and gaps


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
