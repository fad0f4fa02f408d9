"""Pictures: what a reader sees of charts, measured on the marks that Vega draws."""

from __future__ import annotations

import re
from functools import partial
from itertools import pairwise
from typing import Any

import polars as pl
import pytest
from chart_registry import ROWS
from hard_results import LONG_NAMES, graded_twice, hard_results, scores_of_documents
from scenes import boxes_of, marks_of, scene_of, texts_of

from polars_graded import charts, compare, overview, summarise, trust
from polars_graded._drawing import style
from polars_graded.trust import order_stability, robustness_to_grading

pytestmark = pytest.mark.slow  # pictures of every chart

pytest.importorskip("vl_convert", reason="vl-convert is not installed")

SHORT_NAMES = tuple("abcdefghi")
short, long = (partial(hard_results, names, 45) for names in (SHORT_NAMES, tuple(LONG_NAMES)))


def subtitle_of(chart: Any) -> str:
    """Return the notes below the title in one line."""
    return " ".join(chart.to_dict()["title"]["subtitle"])


def title_of(chart: Any) -> str:
    """Return the title in one line."""
    title = chart.to_dict()["title"]["text"]
    return " ".join([title] if isinstance(title, str) else title)


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


def test_both_sides_of_zero_are_named_for_pairs_and_where_less_is_better():
    pairs = charts.comparison_forest(compare(short(), "ndcg"))
    assert {"← second better", "first better →"} <= {*texts_of(scene_of(pairs))}
    less = compare(short(), {"ndcg": "lowest"}, baseline="f")
    assert {"← better", "worse →"} <= {*texts_of(scene_of(charts.comparison_forest(less)))}


@pytest.mark.parametrize(
    "draw",
    [
        lambda: charts.comparison_forest(
            trust.prediction_powered_differences(
                graded_twice(long()), "ndcg", trusted="people", baseline=LONG_NAMES[3]
            )
        ),
        lambda: charts.comparison_forest(
            trust.prediction_powered_differences(graded_twice(long()), "ndcg", trusted="people")
        ),
        lambda: charts.comparison_forest(compare(long(), "ndcg", baseline=LONG_NAMES[3])),
        lambda: charts.comparison_forest(compare(long(), "ndcg")),
        lambda: charts.grading_profile(summarise(graded_twice(long()), "ndcg")),
    ],
)
def test_labels_of_long_names_differ_and_are_not_cut_twice(draw):
    chart = draw()
    names = chart.data[next(name for name in ("name", "pair", "strategy") if name in chart.data)]
    labels = [text for text in texts_of(scene_of(chart)) if text.startswith(("…k1", "elastic"))]
    assert len({*labels}) >= min(names.n_unique(), style.MAX_COLOURS)
    assert max(map(len, labels)) < 60


# Graders, ties and gaps


def test_a_line_stands_beside_tied_documents():
    chart = charts.rankings(scores_of_documents(["a", "b"]), 1, "mu_ap", by=["a", "b"])
    tied = chart.data.filter(pl.col("tied")).height
    lines = [
        mark
        for mark in marks_of(scene_of(chart))
        if mark.kind == "rule" and mark.item.get("strokeWidth") == 3
    ]
    assert len(lines) == tied > 0
    assert "bar at the left: tied" in subtitle_of(chart)


def test_the_severest_gap_comes_first():
    frame = pl.DataFrame({"query": [1, 1, 2], "grade": [1, 2, 0], "a": [1.0, 1.0, 1.0]})
    chart = charts.overview(overview(frame, by="a"))
    assert title_of(chart).startswith("67 % of the scores of a are tied; 1 of 2 queries has")


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


# Names of lines


@pytest.mark.parametrize("panel", [None, "measure"])
def test_lines_that_hide_each_other_are_named_in_a_note(panel):
    curves = pl.DataFrame({"strategy": [*"aabbcc"], "rank": [1, 2] * 3, "cg": [1, 2] * 2 + [1, 3]})
    curves = curves.with_columns(measure=pl.lit("m"))
    chart = charts.dcg_curves(curves, "cg", panel=panel)
    assert "a and b coincide" in subtitle_of(chart)
    apart = curves.filter(pl.col("strategy") != "a")
    assert "one line" not in str(charts.dcg_curves(apart, "cg").to_dict()["title"])
    many = pl.concat(curves[:2].with_columns(strategy=pl.lit(name)) for name in SHORT_NAMES)
    assert "a, b, c and 6 more coincide" in subtitle_of(charts.dcg_curves(many, "cg"))


def test_names_above_rankings_differ():
    chart = charts.rankings(scores_of_documents(LONG_NAMES), 1, "mu_ap", by=LONG_NAMES, n=10)
    heads = [
        mark.item
        for mark in marks_of(scene_of(chart))
        if mark.kind == "text" and mark.item.get("fontWeight") == "bold"
    ]
    names = [head["text"] for head in heads if str(head["text"]).startswith(("elas", "…"))]
    assert len({*names}) == len(LONG_NAMES)
    limits = [head.get("limit") for head in heads if head["text"] in names]
    assert all(7 * len(name) <= limit * 1.1 for name, limit in zip(names, limits, strict=True))
    assert "below the line: 10 of the relevant documents" in subtitle_of(chart)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "are_joined"), [(2, True), (4, True), (5, False), (9, False)])
def test_rankings_are_joined_while_lines_can_be_followed(n, are_joined):
    names = LONG_NAMES[:n]
    chart = charts.rankings(scores_of_documents(names), 1, "mu_ap", by=names, n=10)
    assert ((chart.data["part"] == "line").any()) == are_joined
    # The number of documents below the line has its word.
    words = " relevant below" if n <= 5 else " below"
    texts = [text for text in texts_of(scene_of(chart)) if text.endswith(words)]
    assert texts


def test_notes_explain_what_a_picture_cannot_show():
    levels = pl.DataFrame(
        {
            "query": "a",
            "doc": [*"abcd"],
            "grade": [2, 1, 1, 0],
            "x": [4, 1, 2, 3],
            "y": [1, 4, 3, 2],
        }
    )
    gradings = robustness_to_grading(levels, "ndcg@2", by=["x", "y"])
    moved = "10 % moved: random documents get the next grade"
    assert moved in subtitle_of(charts.grading_profile(gradings))
    as_given = gradings.filter(pl.col("grading") != "10 % moved")
    assert "moved" not in subtitle_of(charts.grading_profile(as_given))


# Bands, lines and letters


@pytest.mark.parametrize("n", [3, 4])
def test_only_few_bands_are_drawn_at_once(n):
    frame = hard_results(SHORT_NAMES[:n], 20)
    chart = charts.dcg_curves(frame, "dcg_curve@20", confidence=0.9)
    areas = [mark.item for mark in marks_of(scene_of(chart)) if mark.kind == "area"]
    assert areas
    assert {area["opacity"] > 0 for area in areas} == {n == 3}
    pointed = "" if n == 3 else ", at the pointer"
    assert f"band: pointwise 90 % interval of the mean{pointed}" in subtitle_of(chart)


@pytest.mark.parametrize("most", range(12, 60))
@pytest.mark.parametrize(
    "text",
    [
        "6 of 16 differences to dpr are better, 5 are worse, 5 undecided (paired t test, Holm)",
        "p values of all pairs by 4 measures, 95 % intervals over 2,000 queries, 1 is worse",
    ],
)
def test_no_line_ends_between_a_number_and_its_word(text, most):
    lines = style._wrap_evenly(text, most)
    assert " ".join(lines) == text
    assert not any(re.search(r"\d( are| is)?$", line) for line in lines[:-1])


# Many strategies and many points

MANY_NAMES = tuple(f"run-{number}" for number in range(25))


def test_the_best_of_many_strategies_have_colours_and_a_legend():
    summary = summarise(hard_results(MANY_NAMES, 50), "ndcg", "ap")
    chart = charts.trade_off(summary, "ndcg", "ap")
    best = summary.filter(measure="ap").top_k(style.MAX_COLOURS, by="mean")["strategy"]
    assert {*best} <= {*texts_of(scene_of(chart))}
    assert "grey: 17 others, with lower average precision" in subtitle_of(chart)
    steps = [0.0, 0.5, 1.0]
    curves = pl.concat(
        pl.DataFrame(
            {"strategy": name, "items": steps, "recommendations": [0.0, 0.02 * place, 1.0]}
        )
        for place, name in enumerate(MANY_NAMES)
    )
    texts = texts_of(scene_of(charts.catalogue_curves(curves)))
    assert {*MANY_NAMES} & {*texts} == {*MANY_NAMES[-style.MAX_COLOURS :]}


def test_a_page_of_many_queries_is_small():
    chart = charts.explore(hard_results(("a", "b"), 2000), "a", "b", "ndcg")
    assert len(chart.to_json(indent=None)) < 1_300_000


def test_the_band_of_stability_names_its_confidence():
    for confidence in (0.95, 0.8):
        stability = order_stability(short(), "ndcg", samples=20, confidence=confidence)
        note = subtitle_of(charts.sample_size_curves(stability))
        assert f"band: {100 * confidence:g} % of samples" in note
    note = subtitle_of(charts.sample_size_curves(stability.drop("confidence")))
    assert "band: most of samples" in note


@pytest.mark.parametrize("scale", ["linear", "symlog"])
@pytest.mark.parametrize("scores", [[10, 15, 20, 30, 100], [1, 2, 3, 4, 5, 6, 7, 8, 9, 1000]])
def test_the_name_of_a_control_point_stands_at_its_point(scores, scale):
    chart = charts.relevance_function(pl.DataFrame({"s": scores}), "s", scale=scale)
    scene = scene_of(chart)
    texts = texts_of(scene)
    marks = [mark for mark in marks_of(scene) if mark.kind == "symbol"]
    for name in ("median", "whisker", "highest"):
        text = texts[name]
        assert min(abs(text.x - mark.x) + abs(text.y - mark.y) for mark in marks) < 1
        width = 5.5 * len(name)
        left = text.item["dx"] - (width if text.item["align"] == "right" else 0)
        # The name begins or ends at its point, and does not cover the axis of relevance.
        assert min(abs(left), abs(left + width)) < 10
        assert text.x + left >= min(mark.x for mark in marks) - 5
