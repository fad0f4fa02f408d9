"""Test where the names of lines are, in the picture that Vega draws."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import altair as alt
import numpy as np
import polars as pl
import pytest
from helpers import simulated
from scenes import marks_of, scene_of

from polars_graded import charts
from polars_graded._drawing.lines import NAME_HEIGHT

pytestmark = pytest.mark.slow  # pictures of every chart

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
