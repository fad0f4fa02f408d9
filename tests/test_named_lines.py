"""Test where the names of lines are, in the picture that Vega draws."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import altair as alt
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scenes import marks_of, scene_of

from polars_graded import charts, datasets, evaluate
from polars_graded._drawing.lines import NAME_HEIGHT

pytestmark = pytest.mark.slow  # pictures of every chart

NAMES = ["bm25", "dense", "fusion", "hybrid", "ltr", "rm3", "splade", "tilde"]


def curves_of(ends: list[float], group: str = "g") -> pl.DataFrame:
    """Return straight lines from 0 to each end."""
    rows = [
        (name, rank, end * rank / 5, group)
        for name, end in zip(NAMES, ends, strict=False)
        for rank in range(1, 6)
    ]
    return pl.DataFrame(rows, ["strategy", "rank", "dcg", "group"], orient="row")


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
@pytest.mark.parametrize("case", ENDS)
def test_names_are_apart_and_in_the_order_of_their_lines(case, call):
    chart = charts.dcg_curves(curves_of(ENDS[case]), "dcg", panel=None)
    assert_apart(list_names(CALLS[call](chart)), ENDS[case])


def test_names_in_facets_are_apart_in_each_panel():
    one, other = [3.0, 3.01, 3.02], [1.0, 1.02, 1.01]
    frame = pl.concat([curves_of(one, "x"), curves_of(other, "y")])
    frame = frame.with_columns(pl.concat_str("strategy", "group").alias("strategy"))
    chart = charts.dcg_curves(frame, "dcg", panel=None).facet("group:N")
    texts = [mark.item for mark in marks_of(scene_of(chart)) if mark.kind == "text"]
    for group, ends in (("x", one), ("y", other)):
        names = sorted(
            (each["y"] + each["dy"], each["text"][:-1])
            for each in texts
            if each["text"][:-1] in NAMES and each["text"][-1] == group
        )
        assert_apart(names, ends)


def test_names_of_lines_that_meet_are_in_the_order_of_their_means():
    frame = pl.DataFrame(
        {"strategy": [*"aabbcc"], "recall": [0.0, 1.0] * 3, "p": [0.5, 0, 0.9, 0, 0.7, 0]}
    )
    texts = [
        mark.item
        for mark in marks_of(scene_of(charts.recall_precision_curves(frame, "p")))
        if mark.kind == "text" and mark.item["text"] in "abc"
    ]
    assert "".join(each["text"] for each in sorted(texts, key=lambda each: each["dy"])) == "bca"
    # The lines end at the bottom of the frame, so the names move up.
    assert all(each["dy"] <= 0 for each in texts)


def test_a_line_of_ten_documents_is_noted_as_flat():
    lists = [[1.0, 2.0, 2.0, 2.0, 2.0, 2.0], [1.0, 1.5, 1.75, 2.0, 2.25, 2.5]]
    frame = pl.DataFrame({"strategy": ["short", "long"], "query": 1, "dcg_curve@6": lists})
    labels = charts.dcg_curves(frame).data["label"].drop_nulls()
    assert sorted(labels) == ["long", "short (flat from rank 2)"]


@pytest.mark.parametrize("n", [3, 4])
def test_the_axis_encloses_drawn_marks_alone(n):
    rng = np.random.default_rng(1)
    values = rng.normal(2, 3, (n, 5)).clip(0)
    frame = pl.DataFrame(
        {
            "strategy": [f"s{i}" for i in range(n) for _ in range(5)],
            "query": [*range(5)] * n,
            "dcg_curve@1": [[value] for value in values.ravel()],
        }
    )
    chart = charts.dcg_curves(frame, confidence=0.99)
    low, high = chart.to_dict()["encoding"]["y"]["scale"]["domain"]
    drawn = (
        chart.data.select("value", "ci_high").max() if n <= 3 else chart.data.select("value").max()
    )
    highest = max(drawn.row(0))
    assert low == 0
    assert highest <= high <= highest * 1.25


def test_curves_of_queries_that_several_columns_identify():
    frame = datasets.example(12).with_columns(market=pl.col("query") % 3, term=pl.col("query") % 4)
    measures = ("dcg_curve@10", "interpolated_precision")
    one = evaluate(frame, *measures, by=["weak", "strong"])
    other = evaluate(
        frame.drop("query"), *measures, by=["weak", "strong"], query=["term", "market"]
    )
    for draw in (charts.dcg_curves, charts.recall_precision_curves):
        # Sums of values in another order can differ in their last bits.
        assert_frame_equal(draw(one).data, draw(other).data, check_exact=False)
        assert draw(one).title["subtitle"] == draw(other).title["subtitle"] == ["12 queries"]


@pytest.mark.parametrize("call", CALLS)
def test_names_of_points_are_apart(call):
    names = [*"abcdefgh"]
    values = [0.5, 0.5001, 0.5002, 0.5, 0.9, 0.9001, 0.1, 0.1]
    means = pl.DataFrame({"measure": ["x"] * 8 + ["y"] * 8, "strategy": names * 2})
    means = means.with_columns(mean=pl.Series(values + values[::-1]))
    chart = CALLS[call](charts.trade_off(means, "x", "y"))
    texts = [mark.item for mark in marks_of(scene_of(chart)) if mark.kind == "text"]
    # A name and its halo are two texts at one place.
    heights = sorted({each["y"] + each["dy"] for each in texts if each["text"] in names})
    assert len(heights) == len(names)
    assert min(np.diff(heights)) > 11.5
