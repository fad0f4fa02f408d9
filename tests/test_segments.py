"""Whether differences differ between segments: Welch's tests, as scipy has them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from report_page import Report, number
from results import close, rng

from polars_graded import compare_segments, report, summarise

pytestmark = pytest.mark.usefixtures("charts_undrawn")


def segmented(sizes, seed=0, strategies=("a", "b", "c"), decimals=15):
    """Random results of strategies in segments of these sizes, the last of which vary most."""
    draw = rng(seed)
    return pl.concat(
        pl.DataFrame(
            {
                "strategy": name,
                "query": [f"{place} {q}" for q in range(n)],
                "country": place,
                "ap": np.round(draw.normal(0.1 * i * place, 1 + place, n), decimals),
            }
        )
        for i, name in enumerate(strategies)
        for place, n in enumerate(sizes)
    )


def differences_of(frame, a, b, country):
    ours, theirs = (frame.filter(strategy=name, country=country).sort("query") for name in (a, b))
    return (ours["ap"] - theirs["ap"]).to_numpy()


@given(sizes=st.lists(st.integers(2, 9), min_size=2, max_size=5), seed=st.integers(0, 99))
def test_it_is_scipys_test_of_the_differences(sizes, seed):
    frame = segmented(sizes, seed)
    for row in compare_segments(frame, segments="country").iter_rows(named=True):
        groups = [
            differences_of(frame, row["strategy"], row["baseline"], place)
            for place in range(len(sizes))
        ]
        means = [each.mean() for each in groups]
        assert (row["segments"], row["queries"]) == (len(sizes), sum(sizes))
        assert (row["smallest"], row["largest"]) == (close(min(means)), close(max(means)))
        if len(sizes) == 2:
            welch = scipy.stats.ttest_ind(*groups, equal_var=False)
            assert row["f"] == pytest.approx(welch.statistic**2, rel=1e-9)
            assert row["df"] == pytest.approx(welch.df, rel=1e-9)
            assert row["p_value"] == pytest.approx(welch.pvalue, rel=1e-9)
        anova = scipy.stats.f_oneway(*groups, equal_var=False)
        assert row["f"] == pytest.approx(anova.statistic, rel=1e-9)
        assert row["p_value"] == pytest.approx(anova.pvalue, rel=1e-9)


def test_p_values_are_corrected_for_the_pairs_of_a_measure():
    frame = segmented([8, 12], seed=3)
    found = compare_segments(frame, segments="country", correction="bonferroni")
    assert found["p_corrected"].to_list() == close([min(1, 3 * p) for p in found["p_value"]])
    [*rows] = compare_segments(frame, segments="country", baseline="b").iter_rows(named=True)
    assert [(row["strategy"], row["baseline"]) for row in rows] == [("a", "b"), ("c", "b")]
    plain = compare_segments(frame, segments="country", baseline="b", correction="none")
    assert plain["p_corrected"].equals(plain["p_value"])


def test_the_same_interaction_is_found_rarely_without_one():
    """At 0.05 among pairs that have none, however unlike the segments are."""
    worlds = [segmented([12, 30, 20], seed, ("a", "b"))["ap"] for seed in range(200)]
    frame = (
        segmented([12, 30, 20], 0, ("a", "b"))
        .drop("ap")
        .with_columns(
            (world - 0.1 * pl.col("country") * (pl.col("strategy") == "b")).alias(f"world {number}")
            for number, world in enumerate(worlds)
        )
    )
    names = dict.fromkeys((f"world {number}" for number in range(200)), "highest")
    found = compare_segments(frame, names, segments="country")["p_value"]
    assert 2 <= sum(p <= 0.05 for p in found) <= 20


@pytest.mark.parametrize(("sizes", "counted"), [([5, 1], 1), ([1, 1], 0), ([5], 1), ([5, 1, 4], 2)])
def test_segments_of_one_query_say_nothing(sizes, counted):
    found = compare_segments(segmented(sizes), segments="country")
    assert found["segments"].to_list() == [counted] * 3
    assert found["p_value"].is_null().all() == (counted < 2)
    assert found["largest"].is_null().all() == (counted == 0)


def test_what_is_missing_is_counted_in_all_segments_each_query_once():
    frame = segmented([6, 9]).with_columns(
        pl.when(pl.col("query").str.ends_with("2") & (pl.col("strategy") == "a"))
        .then(None)
        .otherwise("ap")
        .alias("ap")
    )
    with pytest.raises(ValueError, match="in 2 of 15 queries: query '0 2' of 'a', query '1 2' of"):
        summarise(frame, segments="country")
    again = pl.concat([frame, frame.with_columns(country=pl.lit(7))], how="vertical_relaxed")
    with pytest.raises(ValueError, match="in 2 of 15 queries"):
        summarise(again, segments="country")


def test_a_report_has_the_means_of_segments(tmp_path):
    pytest.importorskip("vl_convert", reason="vl-convert is not installed")
    frame = segmented([30, 40], seed=5)
    [section] = Report(report(frame, tmp_path / "page.html", segments="country")).sections
    table, summary = section.tables["Means of ap in segments"], summarise(frame, segments="country")
    assert table.heads == ["country", "queries", "a", "b", "c"]
    for place, row in enumerate(table.rows):
        expected = summary.filter(country=place)["mean"].to_list()
        assert row[:2] == [str(place), str(30 + 10 * place)]
        assert [*map(number, row[2:])] == pytest.approx(expected, abs=5.1e-5)
    without = Report(report(frame.drop("country"), tmp_path / "page.html"))
    assert "Means of ap in segments" not in without.sections[0].tables


def test_segments_may_be_columns_of_the_query_but_not_all_of_them():
    frame = segmented([4, 4])
    found = summarise(frame, query=["country", "query"], segments="country")
    assert_frame_equal(found, summarise(frame, segments="country"))
    for segments in ("query", "strategy", ["country", "query"]):
        query = ["country", "query"] if isinstance(segments, list) else "query"
        with pytest.raises(ValueError, match="each column must be named once"):
            summarise(frame, query=query, segments=segments)


def test_segments_may_be_structs():
    frame = segmented([4, 5])
    structs = frame.with_columns(pl.struct("country", device=pl.lit("phone")).alias("country"))
    found, expected = (summarise(each, segments="country") for each in (structs, frame))
    countries = pl.col("country").struct.field("country").alias("country")
    assert_frame_equal(found.with_columns(countries), expected)


def test_no_queries_have_no_means_in_segments():
    frame = segmented([4, 4])
    found = summarise(frame.clear(), segments="country")
    assert found.schema == summarise(frame, segments="country").schema
    assert found.is_empty()


def test_a_measure_whose_segments_have_one_cluster_each_is_not_tested():
    frame = segmented([2, 1, 1], strategies="ab").with_columns(
        cluster="query", few=pl.when(query="0 0").then("ap")
    )
    options = {"segments": "country", "cluster": "cluster", "missing": "drop"}
    table = compare_segments(frame, "ap", "few", **options)
    assert table.select("measure", "segments", "clusters").rows() == [("ap", 1, 2), ("few", 0, 0)]
