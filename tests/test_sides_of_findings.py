"""Which differences count as found: the direction of the test is that of the claim."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest
import scipy.stats
from helpers import simulated
from report_page import Report
from results import close, frame_of

from polars_graded import (
    charts,
    compare,
    datasets,
    evaluate,
    paper_table,
    rank_strategies,
    report,
    summarise,
)
from polars_graded._results.significance import TESTS
from polars_graded.trust import discriminative_power, significance_levels

pytestmark = pytest.mark.usefixtures("charts_undrawn")

GAINS = np.concatenate([np.full(30, 0.02), np.full(4, -0.5)]) + np.arange(34) * 1e-4
"""Thirty small gains and four large losses of a: its mean is lower, its ranks are higher."""

SKEWED = frame_of({"a": (0.5 + GAINS).tolist(), "b": [0.5] * 34})


def test_compare_says_which_way_the_ranks_lie():
    [row] = compare(SKEWED, test="wilcoxon").rows(named=True)
    ranks = scipy.stats.rankdata(np.abs(GAINS)) * np.sign(GAINS)
    assert row["rank_biserial"] == close(ranks.sum() / np.abs(ranks).sum())
    assert row["p_corrected"] < 0.05
    assert row["difference"] < 0 < row["rank_biserial"]
    assert "rank_biserial" not in compare(SKEWED).columns
    turned = compare(SKEWED, baseline="a", test="wilcoxon")["rank_biserial"]
    assert turned.to_list() == close([-row["rank_biserial"]])


def test_no_table_and_no_rank_claims_what_ranks_contradict():
    table = paper_table(SKEWED, test="wilcoxon")
    assert "ᵃ" not in table
    assert "ᵇ" not in table
    assert "which compares ranks, not means" in table.replace("\n", " ")
    with pytest.raises(ValueError, match=r"`test` must be a test of means, .*, got 'wilcoxon'"):
        rank_strategies(SKEWED, test="wilcoxon")
    with pytest.raises(ValueError, match="`test` must be a test of means"):
        paper_table(SKEWED, test="wilcoxon", letters="groups")


def test_no_chart_and_no_page_claims_what_ranks_contradict(tmp_path):
    comparison = compare(SKEWED, test="wilcoxon")
    forest = charts.comparison_forest(comparison)
    assert forest.data["significance"].to_list() == ["not significant"]
    assert charts.comparison_matrix(comparison).data["mark"].to_list() == ["", ""]
    [part] = Report(report(SKEWED, tmp_path / "page.html", test="wilcoxon")).parts
    assert "undecided: the signed ranks favour the other strategy" in part.details
    assert not any(part.tables["Differences of ap from b"].bold)


@pytest.mark.parametrize("test", [name for name in TESTS if name != "wilcoxon"])
@pytest.mark.parametrize("seed", range(3))
def test_every_other_test_is_of_means(test, seed):
    """What is found lies on the side of the mean: intervals that agree are clear of 0 there."""
    rng = np.random.default_rng(seed)
    values = {f"s{i}": (rng.exponential(1, 40) ** 2 + 2.0 * i).tolist() for i in range(4)}
    found = compare(frame_of(values), test=test, resamples=1000).filter(
        pl.col("p_corrected") <= 0.05
    )
    assert found.height
    sides = pl.when(pl.col("simultaneous_low") > 0).then(1).otherwise(-1)
    assert found.select((sides == pl.col("difference").sign()).all()).item()


def missed_ranks(test, repeats, n=200):
    """The share of worlds of skewed differences in which a true rank lies outside of its ends."""
    rng, missed = np.random.default_rng(5), 0
    for _ in range(repeats):
        # Both have the same mean, so that either may have rank 1 and 2.
        a = rng.exponential(1, n) - 1
        comparison = compare(frame_of({"a": a.tolist(), "b": [0.0] * n}), test=test)
        missed += comparison["p_corrected"][0] <= 0.05
    return missed / repeats


@pytest.mark.parametrize("repeats", [40, *simulated(400)])
def test_true_ranks_are_missed_by_ranks_and_not_by_means(repeats):
    """Why ranks by Wilcoxon's test are refused; the book has these numbers."""
    room = 3 * (0.05 * 0.95 / repeats) ** 0.5
    assert missed_ranks("t", repeats) <= 0.05 + room + 0.01
    assert missed_ranks("wilcoxon", repeats) > 0.5


# One count, and the name of its test.


@pytest.fixture(scope="module")
def results():
    names = ["strong", "fair", "weak"]
    return evaluate(datasets.example(14), "ndcg@10", "precision@5", by=names)


def test_report_matrix_and_power_count_the_same(results, tmp_path):
    comparison = compare(results)
    marked = charts.comparison_matrix(comparison).data
    power = discriminative_power(results)
    levels = significance_levels(results)
    parts = {part.name: part for part in Report(report(results, tmp_path / "page.html")).parts}
    for name in ("ndcg@10", "precision@5"):
        count = comparison.filter(pl.col("p_corrected") <= 0.05, measure=name).height
        assert marked.filter(pl.col("mark") != "", measure=name).height == 2 * count
        [row] = power.filter(measure=name).rows(named=True)
        assert (row["significant_pairs"], row["test"], row["correction"]) == (count, "t", "holm")
        assert levels.filter(pl.col("p_corrected") <= 0.05, measure=name).height == count
        table = parts[name].tables[f"Differences of {name}"]
        assert sum(map(bool, table.bold)) == count
    old = discriminative_power(results, test="randomised_tukey")
    assert old["correction"].unique().to_list() == ["none"]


def title_of(chart):
    title = chart.to_dict()["title"]["text"]
    return title if isinstance(title, str) else " ".join(title)


@pytest.mark.slow
@pytest.mark.parametrize("test", ["t", "wilcoxon", *simulated(*{*TESTS} - {"t", "wilcoxon"})])
def test_of_one_query_no_chart_claims_a_test_or_an_interval(test):
    values = {"a": [0.5], "b": [0.25], "c": [0.75]}
    frame = frame_of(values).with_columns(curve=pl.concat_list("ap", pl.col("ap") / 2))
    comparison = compare(frame, "ap", test=test)
    drawn = [charts.comparison_forest(comparison), charts.comparison_matrix(comparison)]
    if test != "wilcoxon":
        ranks = rank_strategies(frame, "ap", test=test)
        drawn.append(charts.strategy_ranks(ranks))
        line = "line: all ranks, since one query cannot be tested"
        assert line in " ".join(drawn[2].title["subtitle"])
    for chart in drawn:
        assert title_of(chart).endswith("(one query cannot be tested)")
    drawn += [charts.dcg_curves(frame, "curve", baseline="a")]
    drawn += [charts.dcg_curves(frame, "curve", confidence=0.95)]
    drawn += [charts.explore(frame, "a", "b", "ap"), charts.strategy_bars(summarise(frame, "ap"))]
    for chart in drawn:
        written = str(chart.title) + str([*find_titles(chart.to_dict())])
        assert not re.search("t test|Holm|randomis|bootstrap|Wilcoxon|95 %|band", written), written


def find_titles(spec):
    """Each title of an axis or a legend."""
    if isinstance(spec, dict):
        for key, value in spec.items():
            if key == "title":
                yield value
            elif key not in ("datasets", "data"):
                yield from find_titles(value)
    elif isinstance(spec, list):
        for each in spec:
            yield from find_titles(each)


def test_of_one_query_the_report_claims_no_test_and_no_interval(tmp_path):
    frame = frame_of({"a": [0.5], "b": [0.25], "c": [0.75]})
    page = Report(report(frame, tmp_path / "page.html"))
    [part] = page.parts
    assert not re.search("t test|Holm|interval", part.headline + part.details)
    assert page.settings["Test"] == "none, since one query cannot be tested"
    assert set(part.tables["Differences of ap"].column("95 % interval").values()) == {"–"}


# What a caption and a page say.
