"""Charts of trust and the overview: what they say is what the frames say, worked out by hand."""

from __future__ import annotations

import html
import re
from typing import Any

import altair as alt
import numpy as np
import polars as pl
import pytest
import vl_convert
from chart_registry import ROWS, levels_of, spec_of

import polars_graded as pg
from polars_graded import charts, datasets, evaluate, trust
from polars_graded._drawing import chart_checks, style
from polars_graded._sentences import format_percent
from polars_graded.charts import _overview


def text_of(chart: Any) -> list[str]:
    """Every line of text that a browser would show."""
    version = alt.SCHEMA_VERSION.removeprefix("v").rpartition(".")[0]
    options = {} if version not in vl_convert.get_vegalite_versions() else {"vl_version": version}
    svg = vl_convert.vegalite_to_svg(spec_of(chart), **options)
    return [html.unescape(found) for found in re.findall(r">([^<>]+)<", svg)]


def layer_of(chart: Any, mark: str) -> dict[str, Any]:
    """The first layer with a mark."""
    spec = spec_of(chart)
    return next(each for each in spec.get("spec", spec)["layer"] if each["mark"]["type"] == mark)


# What measures tell apart


def levels(**p_of: list[float]) -> pl.DataFrame:
    """Falling p values of the pairs of four strategies."""
    pairs = [("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d")]
    rows = [
        (measure, place, *pair, p)
        for measure, values in p_of.items()
        for place, (pair, p) in enumerate(zip(pairs, values, strict=True), 1)
    ]
    names = ["measure", "place", "strategy", "baseline", "p_corrected"]
    return pl.DataFrame(rows, names, orient="row")


def test_beside_a_measure_stands_the_share_of_pairs_at_most_at_alpha():
    frame = levels(ap=[1.0, 0.3, 0.05, 0.04, 0.0, 0.0], ndcg=[1.0, 0.9, 0.8, 0.06, 0.051, 0.0])
    drawn = charts.significance_curves(frame).data.drop_nulls("label")
    # Four of six, the third just so; and one of six.
    assert drawn["label"].to_list() == ["average precision: 4 of 6", "NDCG: 1 of 6"]
    assert drawn["place"].to_list() == [6, 6]
    wider = charts.significance_curves(frame, confidence=0.94).data["label"].drop_nulls()
    assert wider.to_list() == ["average precision: 4 of 6", "NDCG: 3 of 6"]


def test_the_shares_are_those_of_discriminative_power():
    per_query = ROWS["dcg_curves"].frame(7, 106).select("strategy", "query", "mu_ap", "ndcg")
    found = pg.trust.significance_levels(per_query, test="t")
    shares = pg.trust.discriminative_power(per_query, test="t")["discriminative_power"]
    drawn = charts.significance_curves(found).data.drop_nulls("label")["label"]
    assert drawn.to_list() == [
        f"{name}: {round(21 * share)} of 21"
        for name, share in zip(["μAP", "NDCG"], shares, strict=True)
    ]
    assert 0 < shares.min() < 1


def test_of_1035_pairs_those_that_are_drawn_do_not_change_the_share():
    frame = levels_of(46, 5)
    few = charts.significance_curves(frame)
    assert few.data.height <= chart_checks.MAX_DRAWN_ROWS < 5 * 1035
    # exp(-place / 10) is at most 0.05 from the 30th pair on.
    assert few.data["label"].drop_nulls().to_list() == [
        f"{name}: {1035 - 29} of 1035" for name in ("μAP", "NDCG")
    ]
    three = pl.concat([frame, frame.with_columns(pl.col("measure") + " again")])
    drawn = charts.significance_curves(three)
    assert drawn.data.height <= chart_checks.MAX_DRAWN_ROWS
    assert drawn.data["place"].max() == 1035


# How many queries


def test_a_line_crosses_the_power_where_queries_needed_says():
    per_query = ROWS["dcg_curves"].frame(4, 30).select("strategy", "query", "mu_ap")
    [needed] = pg.trust.queries_needed(per_query, difference=0.05)["queries_needed"]
    curve = pg.trust.power_curve(per_query, queries=[needed - 1, needed], difference=0.05)
    drawn = charts.sample_size_curves(curve).data.sort("queries")
    assert drawn.filter(queries=needed - 1)["power"].item() < 0.8
    assert drawn.filter(queries=needed)["power"].item() >= 0.8


# How sure the order is


# What other judgments would have said


def test_above_a_grading_stands_its_correlation_once():
    chart = ROWS["grading_profile"].of(4, 4)
    drawn = chart.data.drop_nulls("correlation")
    assert drawn.group_by("measure").len()["len"].to_list() == [3, 3]
    assert drawn["correlation"].unique(maintain_order=True).to_list() == [
        *("τ 0.89", "τ 0.78", "τ 0.67")  # 1 - 1/9, 1 - 2/9, 1 - 3/9
    ]
    null = ROWS["grading_profile"].frame(4, 4).with_columns(tau=pl.lit(None, pl.Float64))
    assert charts.grading_profile(null).data["correlation"].null_count() == 32


def test_equal_means_of_a_grader_share_the_mean_of_their_places():
    frame = pl.DataFrame(
        {
            "grader": ["people"] * 3 + ["model"] * 3,
            "measure": "ap",
            "strategy": [*"abc"] * 2,
            "mean": [0.5, 0.5, 0.25, 0.25, 0.5, 0.75],
            "best": "highest",
        }
    )
    drawn = charts.grading_profile(frame, show="places").data
    assert drawn["place"].to_list() == [1.5, 1.5, 3, 3, 2, 1]
    lowest = charts.grading_profile(frame.with_columns(best=pl.lit("lowest"))).data
    assert lowest["place"].to_list() == [2.5, 2.5, 1, 1, 2, 3]


def test_a_grading_that_swaps_two_strategies_is_seen_as_a_crossing():
    df = pl.DataFrame({"query": "a", "grade": [2, 1, 1, 0], "x": [4, 1, 2, 3], "y": [1, 4, 3, 2]})
    found = pg.trust.robustness_to_grading(
        df, "precision@2", by=["x", "y"], gradings={"1 is 0": {1: 0}}
    )
    means = charts.grading_profile(found).data.pivot("grading", index="strategy", values="mean")
    # x has grades 2 and 0 at the top, y 1 and 1.
    assert means.rows() == [("x", 0.5, 0.5), ("y", 1.0, 0.0)]
    less = charts.grading_profile(found, show="differences")
    crossed = less.data.pivot("grading", index="strategy", values="difference")
    # The means of both are 0.75 and 0.25.
    assert crossed.rows() == [("x", -0.25, 0.25), ("y", 0.25, -0.25)]
    assert layer_of(less, "line")["encoding"]["y"]["field"] == "difference"
    assert "τ −1.00" in text_of(charts.grading_profile(found))


def test_bounds_are_means_over_the_queries_that_have_a_value():
    frame = pl.DataFrame(
        {
            "measure": "rbp",
            "strategy": "a",
            "query": [1, 2, 3],
            "value": [0.5, 0.25, None],
            "value_if_best": [0.75, 0.5, None],
            "residual": [0.375, 0.5, None],
        }
    )
    [row] = charts.strategy_bars(frame).data.rows(named=True)
    assert row == {
        "measure": "rbp",
        "strategy": "a",
        "mean": 0.375,
        "if_best": 0.625,
        "low": 0.375,
        "high": 0.625,
        # 0.5 + 0.375 and 0.25 + 0.5
        "beyond": 0.8125,
        "queries": 2,
    }


# What there is to measure


def joined() -> pl.DataFrame:
    """A left join of a run of four queries, of which judgments know one."""
    run = pl.DataFrame(
        {
            "query": [1, 1, 1, 1, 2, 2, 3, 3, 4, 4],
            "doc": ["a", "b", "c", "d", *"abababab"[:6]],
            "score": [4.0, 3, 3, 1, 2, 1, 2, 1, 2, 1],
        }
    )
    judged = pl.DataFrame({"query": [1, 1, 1], "doc": ["a", "b", "x"], "grade": [2, 0, 1]})
    return run.join(judged, on=["query", "doc"], how="left")


def fill_of(colour: str) -> str:
    """Return the colour of a filled cell."""
    return style.fade(colour, _overview.FILLED_SHARE)


def cells_of(chart: Any) -> dict[str, str]:
    """What is printed in each cell."""
    return dict(chart.data.drop_nulls("text").select("what", "text").rows())


def filled(chart: Any) -> dict[str, tuple[float, str]]:
    """How much of each cell is filled, and in which colour."""
    rows = chart.data.drop_nulls("text").select("what", "start", "end", "fill").rows()
    return {what: ((end - start) / _overview.CELL_WIDTH, fill) for what, start, end, fill in rows}


def test_a_left_join_shows_for_what_it_is():
    chart = charts.overview(pg.overview(joined()))
    assert cells_of(chart) == {
        "queries": "4",
        "documents": "2 (2–4)",
        "retrieved": "100 %",  # x, which was not retrieved, is lost
        "judged": "20 %",  # 2 of 10
        "judged@10": "12 %",  # a half of the first query, nothing of three: an eighth
        "tied": "20 %",  # b and c
        "none_judged": "3",
        "none_relevant": "0",
        "only_relevant": "0",
        "none_retrieved": "0",
        "duplicates": "0",
    }
    bars = filled(chart)
    assert bars["none_judged"] == (0.75, fill_of(_overview.RED))
    assert bars["judged"] == (pytest.approx(0.2), fill_of(_overview.BLUE))
    assert bars["retrieved"][0] == 1


def test_what_judge_makes_of_it_has_nothing_in_red():
    run = joined().drop("grade")
    judged = pl.DataFrame({"query": [1, 1, 1], "doc": ["a", "b", "x"], "grade": [2, 0, 1]})
    with pytest.warns(UserWarning, match="left out"):
        whole = pg.join_judgments(run, judged)
    chart = charts.overview(pg.overview(whole))
    assert cells_of(chart)["retrieved"] == "67 %"
    assert all(
        share == 0 for share, fill in filled(chart).values() if fill == fill_of(_overview.RED)
    )


def test_grades_are_pieces_of_one_bar_by_how_many_rows_have_them():
    chart = charts.overview(pg.overview(joined()))
    pieces = chart.data.filter(pl.col("what").str.starts_with("grade"))
    # Of ten rows eight have no grade, one has 0 and one 2.
    assert pieces["what"].to_list() == ["grade –: 8 rows", "grade 0: 1 rows", "grade 2: 1 rows"]
    width = _overview.CELL_WIDTHS["grades"]
    assert (pieces["end"] - pieces["start"]).to_list() == pytest.approx(
        [0.8 * width, 0.1 * width, 0.1 * width]
    )
    lowest, highest = (style.fade(_overview.BLUE, share) for share in (_overview.EMPTY_SHARE, 1))
    assert pieces["fill"].to_list() == [fill_of(_overview.YELLOW), lowest, highest]
    assert {"none, 0, 2", "rows by grade:"} <= set(text_of(chart))


@pytest.mark.parametrize(
    ("share", "text"),
    [
        *((0.0, "0 %"), (0.001, "< 1 %"), (0.125, "12 %"), (0.5, "50 %")),
        *((0.994, "99 %"), (0.999, "> 99 %"), (1.0, "100 %")),
    ],
)
def test_nearly_all_is_not_all_and_hardly_any_is_not_none(share, text):
    assert format_percent(share, decimals=0) == text


def test_a_strategy_that_retrieved_nothing_has_no_shares():
    df = pl.DataFrame({"query": [1, 1], "grade": [1, 0], "x": [1.0, 2.0], "y": [None, None]})
    df = df.with_columns(pl.col("y").cast(pl.Float64))
    drawn = charts.overview(pg.overview(df, by=["x", "y"])).data.filter(strategy="y")
    said = dict(drawn.drop_nulls("text").select("what", "text").rows())
    assert said["judged"] == said["tied"] == "–"
    assert (said["retrieved"], said["none_retrieved"]) == ("0 %", "1")


# Panels and errors


# Comparisons


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99, 0.999])
def test_the_forest_says_how_sure_its_intervals_are(confidence):
    per_query = ROWS["dcg_curves"].frame(4, 30).select("strategy", "query", "mu_ap")
    comparison = pg.compare(per_query, confidence=confidence)
    line = charts.comparison_forest(comparison).encoding.x["title"][1]
    assert line == f"line: {100 * confidence:g} % interval, corrected as p is"
    plain = comparison.drop("simultaneous_low", "simultaneous_high")
    line = charts.comparison_forest(plain).encoding.x["title"][1]
    assert line == f"line: {100 * confidence:g} % interval of each difference alone"


def test_where_intervals_do_not_say_their_level_the_forest_does_not():
    per_query = ROWS["dcg_curves"].frame(4, 30).select("strategy", "query", "mu_ap")
    comparison = pg.compare(per_query)
    two_levels = pl.concat([comparison[:1], pg.compare(per_query, confidence=0.9)[1:]])
    for other in (comparison.drop("confidence"), two_levels):
        title = charts.comparison_forest(other).encoding.x["title"]
        assert title[1] == "line: interval, corrected as p is"


def test_segments_are_panels_of_one_measure():
    frame = (
        ROWS["dcg_curves"]
        .frame(3, 30)
        .with_columns(
            country=pl.when(pl.col("query") % 2 == 0).then(pl.lit("at")).otherwise(pl.lit("de"))
        )
    )
    summary = pg.summarise(frame, "mu_ap", "ndcg", segments="country")
    comparison = pg.compare(frame, "mu_ap", "ndcg", segments="country")
    for draw, table in (
        (charts.strategy_bars, summary),
        (charts.comparison_forest, comparison),
        (charts.comparison_matrix, comparison),
    ):
        chart = draw(table.filter(measure="ndcg"), panel="country")
        assert spec_of(chart)["facet"]["sort"] == ["at", "de"]
        with pytest.raises(ValueError, match="once in a panel") as error:
            draw(table, panel="country")
        assert str(error.value).endswith("Hint: .filter(measure='mu_ap') leaves one measure")
    curves = pg.evaluate(
        pg.datasets.example(queries=6).with_columns(half=pl.col("query") % 2),
        "dcg_curve@5",
        by=["strong", "weak"],
        query=["half", "query"],
        ties="order",
    )
    drawn = charts.dcg_curves(curves, panel="half").data
    for half, rows in drawn.group_by("panel"):
        of_half = curves.filter(half=int(half[0]), strategy="weak")["dcg_curve@5"].to_list()
        got = rows.filter(strategy="weak")["value"].to_list()
        assert got == pytest.approx(np.mean(of_half, axis=0).tolist())


# The queries that differ most


def pair_of(differences: list[float]) -> pl.DataFrame:
    """Two strategies that differ so much with queries called q1, q2 …"""
    names = [f"q{place}" for place in range(1, len(differences) + 1)]
    return pl.DataFrame(
        {
            "strategy": ["a"] * len(names) + ["b"] * len(names),
            "query": names * 2,
            "ap": [0.5 + each / 2 for each in differences]
            + [0.5 - each / 2 for each in differences],
        }
    )


def labels_of(chart: Any) -> dict[str, str]:
    """Return the texts at bars, by the queries of these bars."""
    return dict(chart.data.drop_nulls("label").select("query", "label").iter_rows())


@pytest.mark.parametrize("n", [61, 299, 5000])
def test_the_queries_that_differ_most_are_named_at_their_bars(n):
    differences = [0.01] * n
    for place, value in {7: 0.9, 3: 0.8, 40: 0.7, 11: -0.9, 50: -0.5, 60: -0.6}.items():
        differences[place - 1] = value
    chart = charts.precision_histogram(pair_of(differences), "ap", "a", "b")
    assert labels_of(chart) == {"q7": "q7, q3 and q40", "q11": "q11, q60 and q50"}
    names = {"q7": "q7", "q11": "q11"}
    ordered = charts.precision_histogram(pair_of(differences), "ap", "a", "b", order="query")
    assert labels_of(ordered).items() <= names.items()
    if n < 5000:
        assert labels_of(ordered) == names


def test_measures_of_one_panel_are_not_joined():
    frame = datasets.example()
    profiles = trust.robustness_to_grading(frame, "ap", "ndcg@10", by=["strong", "weak"])
    drawn = charts.grading_profile(profiles, panel=None).to_dict()["layer"]
    lines = [each for each in drawn if "detail" in str(each)]
    assert lines
    for line in lines:
        assert {each["field"] for each in line["encoding"]["detail"]} >= {"measure"}


def test_two_results_are_no_single_line():
    values = evaluate(datasets.example(30), "ap", by=["strong", "fair", "weak"])
    levels = [trust.significance_levels(values, "ap", test=test) for test in ("t", "permutation")]
    with pytest.raises(ValueError, match=r"`frame` must have each .* of a line once, got"):
        charts.significance_curves(pl.concat(levels, how="diagonal_relaxed"))
