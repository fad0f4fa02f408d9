"""Means that start from rankings, segment by segment."""

from __future__ import annotations

import polars as pl
from polars.testing import assert_frame_equal

from polars_graded import average_curves

CG = "cg_curve(gain=linear)@2"

FRAME = pl.DataFrame(
    {
        "query": ["a", "a", "b", "b", "c", "c"],
        "country": ["de", "de", "at", "at", "de", "de"],
        "grade": [1, 0, 0, 3, 2, 1],
        "score": [2, 1, 2, 1, 2, 1],
    }
)


def test_curves_are_averaged_in_each_segment():
    found = average_curves(FRAME, CG, segments="country")
    assert found.columns == ["strategy", "country", "rank", CG]
    # In Austria b gains 0, then 3; in Germany a gains 1 and c 2, then c 1 more.
    assert found.rows() == [
        ("score", "at", 1, 0.0),
        ("score", "at", 2, 3.0),
        ("score", "de", 1, 1.5),
        ("score", "de", 2, 2.0),
    ]
    assert_frame_equal(average_curves(FRAME.lazy(), CG, segments=["country"]).collect(), found)


def test_segments_of_a_curve_are_those_of_frames_apart():
    options = {"by": ["score", "other"], "query": "query"}
    frame = FRAME.with_columns(other=-pl.col("score"))
    found = average_curves(frame, CG, segments="country", **options)
    for country in ("de", "at"):
        part = average_curves(frame.filter(country=country), CG, **options)
        assert_frame_equal(found.filter(country=country).drop("country"), part)
