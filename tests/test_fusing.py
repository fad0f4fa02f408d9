"""Fused scores: by hand, equal to ranx, and ranked like any other score."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import polars as pl
import pytest
from helpers import COLLECTED, needed
from polars.testing import assert_frame_equal

import polars_graded as pg

FRAME = pl.DataFrame(
    {
        "query": [1, 1, 1, 1, 2],
        "doc": ["u", "v", "w", "nobody", "u"],
        "x": [4.0, 2.0, 0.0, None, 7.0],
        "y": [None, 1.0, 5.0, None, None],
    }
)
BY = ["x", "y"]

# The scores of u, v and w in query 1, and of u in query 2, which only x retrieved. Scaled to 0 and
# 1, the scores of x are 1, 1/2 and 0, those of y are 0 for v and 1 for w; the only score of query 2
# is 0. Ranks are 1, 2 and 3, and 2 and 1.
HAND: dict[str, tuple[dict[str, Any], list[float]]] = {
    "rrf": ({}, [1 / 61, 1 / 62 + 1 / 62, 1 / 63 + 1 / 61, 1 / 61]),
    "rrf, k": ({"method": "rrf", "k": 0}, [1, 1 / 2 + 1 / 2, 1 / 3 + 1, 1]),
    "rrf, weights": (
        {"weights": {"y": 3, "x": 1}},
        [1 / 61, 1 / 62 + 3 / 62, 1 / 63 + 3 / 61, 1 / 61],
    ),
    # x gives 3, 2 and 1 points, y gives 3 to w, 2 to v, and the last point to u.
    "borda": ({"method": "borda"}, [3 + 1, 2 + 2, 1 + 3, 1 + 1]),
    "comb_sum": ({"method": "comb_sum"}, [1, 1 / 2, 1, 0]),
    "comb_mnz": ({"method": "comb_mnz"}, [1, 2 * 1 / 2, 2, 0]),
    "comb_anz": ({"method": "comb_anz"}, [1, 1 / 4, 1 / 2, 0]),
    "comb_max": ({"method": "comb_max"}, [1, 1 / 2, 1, 0]),
    "comb_min": ({"method": "comb_min"}, [1, 0, 0, 0]),
    "comb_med": ({"method": "comb_med"}, [1, 1 / 4, 1 / 2, 0]),
    "weighted_sum": ({"method": "weighted_sum", "weights": [1, 4]}, [1, 1 / 2, 4, 0]),
    "raw scores": ({"method": "comb_sum", "normalise": None}, [4, 3, 5, 7]),
    # The deviation of 4, 2 and 0 is √(8 / 3), that of 1 and 5 is 2.
    "z": (
        {"method": "comb_sum", "normalise": "z"},
        [2 / (8 / 3) ** 0.5, -1, -2 / (8 / 3) ** 0.5 + 1, 0],
    ),
    "sum": ({"method": "comb_sum", "normalise": "sum"}, [4 / 6, 2 / 6, 1, 0]),
    "rank": ({"method": "comb_sum", "normalise": "rank"}, [1, 2 / 3 + 1 / 2, 1 / 3 + 1, 1]),
}


@pytest.mark.parametrize("name", HAND)
def test_scores_equal_those_by_hand(name):
    options, expected = HAND[name]
    fused = pg.fuse(FRAME, by=BY, **options)
    assert fused.columns == [*FRAME.columns, "fused"]
    assert_frame_equal(fused.drop("fused"), FRAME)
    u, v, w, nobody, alone = fused["fused"]
    assert nobody is None
    assert [u, v, w, alone] == pytest.approx(expected)


@pytest.mark.slow
def test_all_methods_and_normalisations_equal_those_of_ranx():
    ranx = needed("ranx")
    rng = np.random.default_rng(0)
    runs = {
        name: {
            f"q{query}": {
                f"d{doc:02}": float(rng.normal() * 10)
                for doc in rng.choice(40, rng.integers(1, 30), replace=False)
            }
            for query in range(5)
        }
        for name in "xyz"
    }
    rows = [
        (name, query, doc, score)
        for name, queries in runs.items()
        for query, docs in queries.items()
        for doc, score in docs.items()
    ]
    stacked = pl.DataFrame(rows, ["strategy", "query", "doc", "score"], orient="row")
    frame = stacked.pivot("strategy", index=["query", "doc"], values="score")
    norms = {None: None, "min_max": "min-max", "z": "zmuv", "sum": "sum", "rank": "rank"}
    methods = {f"comb_{end}": end for end in ("sum", "mnz", "anz", "max", "min", "med")}
    methods |= {"weighted_sum": "wsum", "rrf": "rrf", "borda": "bordafuse"}
    for method, theirs in methods.items():
        options: dict[str, Any] = {"weights": [0.5, 0.3, 0.2]} if method == "weighted_sum" else {}
        for normalise, norm in norms.items():
            if method in ("rrf", "borda") and normalise:
                continue
            fused = pg.fuse(frame, by=[*"xyz"], method=method, normalise=normalise, **options)
            each = [ranx.Run(run, name=name) for name, run in runs.items()]
            expected = ranx.fuse(each, norm=norm, method=theirs, params=options).run
            assert fused.height == sum(map(len, expected.values()))
            for query, doc, score in fused.select("query", "doc", "fused").iter_rows():
                assert score == pytest.approx(expected[query][doc], abs=1e-12), (method, normalise)


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"by": ["x"]}, "there must be at least two strategies to fuse"),
        ({"method": "rff"}, "`method` must"),
        ({"normalise": "z"}, "`normalise` is"),
        ({"method": "comb_sum", "normalise": "zz"}, "`normalise` must"),
        ({"method": "weighted_sum"}, "`weights` must"),
        ({"weights": {"x": 1}}, "`weights` must"),
        ({"weights": [0, 0]}, "`weights` must not all be 0"),
        ({"weights": [1, -1]}, "`weights['y']` must be at least 0, got -1"),
        ({"method": "borda", "weights": [1, 1]}, "`weights` must"),
        ({"k": -1}, "`k` must"),
        ({"name": "x"}, "`name` must"),
        ({"name": "doc"}, "`name` must"),
    ],
)
def test_wrong_arguments_raise(options, rule):
    with pytest.raises(ValueError, match=re.escape(rule)):
        pg.fuse(FRAME, **{"by": BY, **options})


@pytest.mark.parametrize(
    ("columns", "rule"),
    [
        ({"doc": pl.lit("u")}, "must have each document of 'doc' once per ranking"),
        ({"y": pl.lit(float("inf"))}, "score 'y' must be finite"),
        ({"y": pl.lit(1e308)}, "scores of `by` must not be so large or small"),
    ],
)
def test_unusable_frames_raise_eager_and_lazy(columns, rule):
    frame = FRAME.with_columns(**columns)
    options: dict[str, Any] = {"method": "comb_sum", "normalise": None}
    if "so large" in rule:
        frame = frame.with_columns(x=pl.col("y"))
    with pytest.raises(ValueError, match=re.escape(rule)):
        pg.fuse(frame, by=BY, **options)
    with pytest.raises(COLLECTED, match=re.escape(rule)):
        pg.fuse(frame.lazy(), by=BY, **options).collect()


def test_the_hint_for_stacked_strategies_leads_to_a_fusion():
    rows = [(1, doc, name, n) for name in "xy" for n, doc in enumerate("ab")]
    frame = pl.DataFrame(rows, schema=["query", "doc", "strategy", "score"], orient="row")
    with pytest.raises(ValueError, match="pivot") as caught:
        pg.fuse(frame, by="score")
    pivot = re.search(r"Hint: (frame\.pivot\(.*?\)) ", str(caught.value))
    wide = eval(pivot[1], {"frame": frame})  # noqa: S307 (a test of the hint)
    assert pg.fuse(wide, by=["x", "y"]).height == 2
