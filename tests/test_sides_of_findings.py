"""Which differences count as found: the direction of the test is that of the claim."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest
from helpers import simulated
from report_page import Report
from results import frame_of

from polars_graded import charts, compare, datasets, evaluate, rank_strategies, report, summarise
from polars_graded._results.significance import TESTS

pytestmark = pytest.mark.usefixtures("charts_undrawn")


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("seed", range(3))
def test_every_test_is_of_means(test, seed):
    """What is found lies on the side of the mean: intervals that agree are clear of 0 there."""
    rng = np.random.default_rng(seed)
    values = {f"s{i}": (rng.exponential(1, 40) ** 2 + 2.0 * i).tolist() for i in range(4)}
    found = compare(frame_of(values), test=test, resamples=1000).filter(
        pl.col("p_corrected") <= 0.05
    )
    assert found.height
    sides = pl.when(pl.col("simultaneous_low") > 0).then(1).otherwise(-1)
    assert found.select((sides == pl.col("difference").sign()).all()).item()


# One count, and the name of its test.


@pytest.fixture(scope="module")
def results():
    names = ["strong", "fair", "weak"]
    return evaluate(datasets.example(14), "ndcg@10", "precision@5", by=names)


def test_report_and_matrix_count_the_same(results, tmp_path):
    comparison = compare(results)
    marked = charts.comparison_matrix(comparison).data
    parts = {part.name: part for part in Report(report(results, tmp_path / "page.html")).parts}
    for name in ("ndcg@10", "precision@5"):
        count = comparison.filter(pl.col("p_corrected") <= 0.05, measure=name).height
        assert marked.filter(pl.col("mark") != "", measure=name).height == 2 * count
        table = parts[name].tables[f"Differences of {name}"]
        assert sum(map(bool, table.bold)) == count


def title_of(chart):
    title = chart.to_dict()["title"]["text"]
    return title if isinstance(title, str) else " ".join(title)


@pytest.mark.slow
@pytest.mark.parametrize("test", ["t", *simulated(*{*TESTS} - {"t"})])
def test_of_one_query_no_chart_claims_a_test_or_an_interval(test):
    values = {"a": [0.5], "b": [0.25], "c": [0.75]}
    frame = frame_of(values).with_columns(curve=pl.concat_list("ap", pl.col("ap") / 2))
    comparison = compare(frame, "ap", test=test)
    drawn = [charts.comparison_forest(comparison), charts.comparison_matrix(comparison)]
    ranks = rank_strategies(frame, "ap", test=test)
    drawn.append(charts.strategy_ranks(ranks))
    line = "line: all ranks, since one query cannot be tested"
    assert line in " ".join(drawn[2].title["subtitle"])
    for chart in drawn:
        assert title_of(chart).endswith("(only one query)")
    drawn += [charts.dcg_curves(frame, "curve", confidence=0.95)]
    drawn += [charts.explore(frame, "a", "b", "ap"), charts.strategy_bars(summarise(frame, "ap"))]
    for chart in drawn:
        written = str(chart.title) + str([*find_titles(chart.to_dict())])
        assert not re.search(r"\bt test|Holm|randomis|95 %|band", written), written


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
    assert not re.search(r"\bt test|Holm|interval", part.headline + part.details)
    assert page.settings["Test"] == "none, since one query cannot be tested"
    assert set(part.tables["Differences of ap"].column("95 % interval").values()) == {"–"}
