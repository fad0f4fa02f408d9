"""A test with resamples that has no interval says so."""

from __future__ import annotations

import warnings

import polars as pl
import pytest

from polars_graded import DataWarning, compare, paper_table


def frame_of(**gains):
    """Results of strategies and of a baseline of 0, whose queries have segments."""
    frames = [
        pl.DataFrame({"strategy": name, "query": range(len(values)), "ap": values})
        for name, values in {**gains, "base": [0.0] * len(next(iter(gains.values())))}.items()
    ]
    return pl.concat(frames)


TIED = [0.5, 0.25] + [0.0] * 18
VARIED = [0.1, 0.2, -0.1, 0.3] * 5


def test_a_bootstrap_of_queries_that_nearly_all_tie_warns_of_the_missing_interval():
    """A resample has none of the two changed queries with the probability 0.9²⁰ = 0.12."""
    with pytest.warns(DataWarning.tests, match="the difference has no interval for 'ap'") as caught:
        result = compare(frame_of(new=TIED), test="bootstrap", baseline="base")
    assert result["ci_low"].null_count() == 1
    assert len(caught) == 1
    assert "the bootstrap rejects no mean difference, however large\n\nHint: " in str(
        caught[0].message
    )


@pytest.mark.parametrize("call", [compare, paper_table])
def test_no_warning_without_a_missing_interval(call):
    with warnings.catch_warnings(action="error"):
        call(frame_of(new=VARIED), test="bootstrap", baseline="base")
        call(frame_of(new=TIED), test="t", baseline="base")
        call(frame_of(new=[0.0] * 20), test="bootstrap", baseline="base")


def test_a_small_segment_without_an_interval_is_reported():
    """With four queries, a permutation test has p values of at least 0.125."""
    frame = frame_of(new=VARIED).with_columns(
        segment=pl.when(pl.col("query") < 4).then(pl.lit("few")).otherwise(pl.lit("many"))
    )
    options = {"baseline": "base", "segments": "segment", "test": "permutation"}
    with pytest.warns(DataWarning.tests, match="1 of 2 differences has no interval for 'ap'"):
        result = compare(frame, **options)
    assert result.filter(segment="few")["simultaneous_low"].null_count() == 1
    assert result.filter(segment="many")["simultaneous_low"].null_count() == 0
