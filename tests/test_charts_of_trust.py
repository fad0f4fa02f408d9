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
from chart_registry import ROWS, levels_of, power_of, spec_of, stability_of
from test_charts import assert_drawn

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
    assert drawn["label"].to_list() == ["ap: 4 of 6", "ndcg: 1 of 6"]
    assert drawn["place"].to_list() == [6, 6]
    wider = charts.significance_curves(frame, confidence=0.94).data["label"].drop_nulls()
    assert wider.to_list() == ["ap: 4 of 6", "ndcg: 3 of 6"]


def test_the_shares_are_those_of_discriminative_power():
    per_query = ROWS["dcg_curves"].frame(7, 106).select("strategy", "query", "mu_ap", "ndcg")
    found = pg.trust.significance_levels(per_query, test="t")
    shares = pg.trust.discriminative_power(per_query, test="t")["discriminative_power"]
    drawn = charts.significance_curves(found).data.drop_nulls("label")["label"]
    assert drawn.to_list() == [
        f"{name}: {round(21 * share)} of 21"
        for name, share in zip(["mu_ap", "ndcg"], shares, strict=True)
    ]
    assert 0 < shares.min() < 1


def test_of_1035_pairs_those_that_are_drawn_do_not_change_the_share():
    frame = levels_of(46, 5)
    few = charts.significance_curves(frame)
    assert few.data.height <= chart_checks.MAX_DRAWN_ROWS < 5 * 1035
    # exp(-place / 10) is at most 0.05 from the 30th pair on.
    assert few.data["label"].drop_nulls().to_list() == [
        f"{name}: {1035 - 29} of 1035" for name in ("mu_ap", "ndcg")
    ]
    three = pl.concat([frame, frame.with_columns(pl.col("measure") + " again")])
    drawn = charts.significance_curves(three)
    assert drawn.data.height <= chart_checks.MAX_DRAWN_ROWS
    assert drawn.data["place"].max() == 1035


def test_alpha_is_a_tick_of_the_axis_and_a_rule():
    chart = charts.significance_curves(levels_of(3, 5), confidence=0.98)
    assert spec_of(chart)["encoding"]["y"]["axis"]["values"] == [0, 0.001, 0.01, 0.02, 0.1, 1]
    level = layer_of(chart, "rule")["transform"][-1]
    assert level == {"as": "p_corrected", "calculate": "0.02"}
    assert "0.02" in text_of(chart)


LINES_OF_MEASURES = [
    "significance_curves",
    "sample_size_curves of power",
    "sample_size_curves of stability",
]


@pytest.mark.parametrize("name", LINES_OF_MEASURES)
def test_of_more_measures_than_colours_the_first_have_one_and_a_name(name):
    frame = ROWS[name].frame(3, 5).filter(measure="ndcg")
    many = pl.concat(frame.with_columns(measure=pl.lit(f"m{i}")) for i in range(10))
    chart = ROWS[name].draw(many)
    named = chart.data.drop_nulls("label")["measure"].to_list()
    assert sorted(named) == [f"m{i}" for i in range(8)]
    colour = spec_of(chart)["encoding"]["color"]
    assert colour["value"] == style.REST_COLOUR.to_dict()
    assert set(colour["condition"]["test"]["oneOf"]) == set(named)


# How many queries


def test_the_queries_at_hand_are_marked_once_on_each_line():
    chart = charts.sample_size_curves(power_of(6, 40))
    assert chart.data.filter("at_hand")["queries"].to_list() == [40, 40]
    hand = [each for each in spec_of(chart)["layer"] if each["mark"].get("size") == 90]
    assert [each["transform"] for each in hand] == [[{"filter": "datum.at_hand"}]]


def test_the_line_of_the_power_that_is_wanted_is_where_it_is_said():
    chart = charts.sample_size_curves(power_of(6, 40), power=0.9)
    assert layer_of(chart, "rule")["transform"][-1] == {"as": "power", "calculate": "0.9"}
    assert "0.9" in text_of(chart)


def test_a_line_crosses_the_power_where_queries_needed_says():
    per_query = ROWS["dcg_curves"].frame(4, 30).select("strategy", "query", "mu_ap")
    [needed] = pg.trust.queries_needed(per_query, difference=0.05)["queries_needed"]
    curve = pg.trust.power_curve(per_query, queries=[needed - 1, needed], difference=0.05)
    drawn = charts.sample_size_curves(curve).data.sort("queries")
    assert drawn.filter(queries=needed - 1)["power"].item() < 0.8
    assert drawn.filter(queries=needed)["power"].item() >= 0.8


# How sure the order is


@pytest.mark.parametrize(("count", "lowest"), [(3, 0.0), (4, 0.2)])
def test_the_axis_encloses_only_bands_that_are_drawn(count, lowest):
    frame = stability_of(3, 8).filter(measure="ndcg")
    some = pl.concat(frame.with_columns(measure=pl.lit(f"m{i}")) for i in range(count))
    chart = charts.sample_size_curves(some)
    # Of 2, 5 and 8 of 8 queries τ is 1/4 at the lowest, and 1/4 - 0.2 the end of the band.
    assert spec_of(chart)["encoding"]["y"]["scale"]["domain"][0] == lowest
    panels = charts.sample_size_curves(some, panel="measure")
    assert layer_of(panels, "area")["encoding"]["y2"]["field"] == "tau_high"
    assert "label" not in panels.data.columns


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


def test_means_of_measures_have_their_own_heights_and_places_have_one():
    means = spec_of(ROWS["grading_profile"].of(4, 4))
    assert means["resolve"]["scale"]["y"] == "independent"
    axis = spec_of(ROWS["grading_profile of places"].of(12, 4))["spec"]["encoding"]["y"]
    assert axis["scale"]["reverse"] is True
    assert axis["axis"]["values"] == [1, 5, 10]


def test_names_stand_beside_the_last_grading_where_there_is_one_panel():
    frame = ROWS["grading_profile"].frame(5, 4).filter(measure="ndcg")
    drawn = charts.grading_profile(frame).data.drop_nulls("label")
    assert drawn["grading"].unique().to_list() == ["10 % moved"]
    assert drawn.height == 5
    many = ROWS["grading_profile"].frame(25, 4).filter(measure="ndcg")
    assert charts.grading_profile(many).data["label"].count() == style.MAX_COLOURS


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


def test_every_cell_has_its_heading():
    shown = text_of(charts.overview(pg.overview(joined())))
    for lines in _overview.CELL_HEADINGS.values():
        assert set(filter(None, lines)) <= set(shown)


@pytest.mark.parametrize(
    ("share", "text"),
    [
        *((0.0, "0 %"), (0.001, "< 1 %"), (0.125, "12 %"), (0.5, "50 %")),
        *((0.994, "99 %"), (0.999, "> 99 %"), (1.0, "100 %")),
    ],
)
def test_nearly_all_is_not_all_and_hardly_any_is_not_none(share, text):
    assert format_percent(share, decimals=0) == text


@pytest.mark.parametrize("count", [1, 5, 46])
def test_any_number_of_strategies_is_drawn_in_the_order_of_the_table(count, capfd):
    table = pg.overview(
        pl.DataFrame(
            {"query": [1, 1, 2], "doc": [1, 2, 1], "grade": [0, 1, None]}
            | {f"s{i}": [0.5, i, 1.0] for i in range(count, 0, -1)}
        ),
        by=[f"s{i}" for i in range(count, 0, -1)],
    )
    chart = charts.overview(table)
    assert chart.data.height <= chart_checks.MAX_DRAWN_ROWS
    assert spec_of(chart)["encoding"]["y"]["scale"]["domain"] == [
        f"s{i}" for i in range(count, 0, -1)
    ]
    assert_drawn(chart, capfd)


def test_a_strategy_that_retrieved_nothing_has_no_shares():
    df = pl.DataFrame({"query": [1, 1], "grade": [1, 0], "x": [1.0, 2.0], "y": [None, None]})
    df = df.with_columns(pl.col("y").cast(pl.Float64))
    drawn = charts.overview(pg.overview(df, by=["x", "y"])).data.filter(strategy="y")
    said = dict(drawn.drop_nulls("text").select("what", "text").rows())
    assert said["judged"] == said["tied"] == "–"
    assert (said["retrieved"], said["none_retrieved"]) == ("0 %", "1")


def test_a_strategy_without_a_score_and_a_grade_has_an_empty_line():
    df = pl.DataFrame(
        {"run": ["a", "b"], "query": [1, 1], "grade": [1, None], "score": [0.5, None]}
    )
    table = pg.overview(df, strategy="run")
    assert table["grades"].null_count() == 1
    drawn = charts.overview(table, strategy="run").data.filter(strategy="b")
    assert not drawn["what"].str.starts_with("grade").any()
    unjudged = pg.overview(df.with_columns(grade=pl.lit(None, pl.Float64)), strategy="run")
    assert "none" in text_of(charts.overview(unjudged, strategy="run"))


def test_many_grades_are_named_by_their_ends():
    df = pl.DataFrame({"query": 1, "grade": range(9), "score": range(9)})
    shown = text_of(charts.overview(pg.overview(df)))
    assert "0, 1 … 8" in shown


def test_tables_of_several_collections_have_a_panel_each():
    tables = pl.concat(
        pg.overview(joined()).with_columns(collection=pl.lit(name)) for name in ("b", "a")
    )
    chart = charts.overview(tables, panel="collection")
    assert spec_of(chart)["facet"]["sort"] == ["b", "a"]
    assert set(chart.data["panel"]) == {"a", "b"}
    with pytest.raises(ValueError, match="`table` must have each strategy once in a panel"):
        charts.overview(pl.concat([tables, tables]), panel="collection")


# Panels and errors


def test_panels_are_drawn_in_the_order_in_which_they_come():
    measures = ["ndcng", "mu_ap", "it's", 'a "b"', "two\nlines", "constructor", "\\"]
    frame = pl.DataFrame({"strategy": "s", "measure": measures, "mean": 0.5})
    shown = text_of(charts.strategy_bars(frame))
    wanted = ["ndcng", "mu_ap", "it's", 'a "b"', "constructor\u200b", "\\"]
    assert [text for text in shown if text in wanted] == wanted


ERRORS = {
    "significance_curves": ({"confidence": 1}, "`confidence` must be below 1, got 1"),
    "sample_size_curves of power": ({"power": 0}, "`power` must be above 0, got 0"),
    "grading_profile": (
        {"show": "mean"},
        "`show` must be one of 'means', 'differences', 'places', got 'mean'",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_a_wrong_value_is_an_error_that_says_what_is_wrong(name):
    options, sentence = ERRORS[name]
    with pytest.raises(ValueError) as error:  # noqa: PT011
        ROWS[name].draw(ROWS[name].frame(4, 5), **options)
    assert str(error.value).partition("\n")[0] == sentence


NUMBERS = {
    "significance_curves": ("levels", "place"),
    "sample_size_curves of power": ("curve", "queries"),
    "sample_size_curves of stability": ("curve", "tau_low"),
    "grading_profile": ("robustness", "place"),
    "overview": ("table", "judged@10"),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_column_of_text_is_an_error_where_numbers_are_drawn(name):
    argument, column = NUMBERS[name]
    frame = ROWS[name].frame(4, 5).with_columns(pl.lit("x").alias(column))
    with pytest.raises(TypeError) as error:
        ROWS[name].draw(frame)
    assert str(error.value) == f"`{argument}` must have numbers in {column!r}, got String"


@pytest.mark.parametrize("name", NUMBERS)
def test_a_missing_column_is_named(name):
    argument, column = NUMBERS[name]
    with pytest.raises(pl.exceptions.ColumnNotFoundError) as error:
        ROWS[name].draw(ROWS[name].frame(4, 5).drop(column))
    assert str(error.value).startswith(f"`{argument}` has no column {column!r}")


def test_grades_that_overview_did_not_make_are_refused():
    table = pg.overview(joined()).with_columns(grades=pl.lit(3))
    with pytest.raises(TypeError) as error:
        charts.overview(table)
    assert str(error.value) == "`table` must have the lists of overview() in 'grades', got Int32"


@pytest.mark.parametrize("name", NUMBERS)
def test_a_chart_says_in_words_what_it_is_of(name):
    chart = ROWS[name].of(4, 5)
    described = spec_of(chart)["description"]
    assert any(word in described for word in ("mu_ap", "4 strategies"))


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


def test_where_one_strategy_never_wins_only_the_other_side_has_names():
    for low, high, labels in ((0.1, 0.2, {"q61": "q61, q62 and q1"}), (0.0, 0.0, {})):
        chart = charts.precision_histogram(pair_of([low] * 60 + [high] * 2), "ap", "a", "b")
        assert labels_of(chart) == labels


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
