"""Several graders in a frame, in judgments and in results: what each of them says, and no more."""

from __future__ import annotations

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_graded as pg

pytestmark = pytest.mark.usefixtures("charts_undrawn")

FRAME = pl.DataFrame(
    {
        "query": ["a", "a", "b", "b", "c", "c"],
        "doc": [1, 2] * 3,
        "people": [0, 2, None, None, 0, 0],
        "model": [0, 2, 1, 0, 0, 1],
        "bm25": [3.0, 2.0, 9.0, 4.0, 1.0, 2.0],
        "ours": [0.1, 0.7, 0.2, 0.3, 0.5, 0.1],
    }
)
BY = ["bm25", "ours"]
GRADERS = ["people", "model"]


def evaluated(*measures, frame=FRAME, grade=GRADERS, **options):
    return pg.evaluate(frame, *(measures or ["ndcg", "recall"]), by=BY, grade=grade, **options)


@pytest.mark.parametrize("lazy", [False, True])
def test_each_grader_has_what_their_grades_alone_say(lazy):
    """People judged nothing of "b", which is null; of "c" nothing relevant, which counts as 0."""
    frame = FRAME.lazy() if lazy else FRAME
    result = evaluated(frame=frame).lazy().collect()
    assert result.columns[:3] == ["grader", "strategy", "query"]
    for grader in GRADERS:
        judged = FRAME.filter(pl.col(grader).is_not_null())
        alone = pg.evaluate(judged, "ndcg", "recall", by=BY, grade=grader)
        found = result.filter(grader=grader).drop("grader")
        assert_frame_equal(found.drop_nulls("ndcg"), alone)
        assert found.filter(query="b")["recall"].is_null().all() == (grader == "people")
    named = evaluated(frame=frame, grade={"P": "people", "M": "model"}).lazy().collect()
    assert_frame_equal(
        named, result.with_columns(pl.col("grader").replace({"people": "P", "model": "M"}))
    )


@pytest.mark.parametrize(
    "call",
    [
        pg.summarise,
        pg.compare,
        lambda results, **given: pg.differences(results, "ndcg", *BY, **given),
        lambda results, **given: pg.trust.order_stability(results, sizes=1, samples=5, **given),
    ],
)
def test_what_is_worked_out_of_results_is_that_of_each_grader(call):
    results = evaluated()
    every = call(results)
    for grader in GRADERS:
        alone = call(results.filter(grader=grader).drop_nulls("ndcg").drop("grader"))
        assert_frame_equal(every.filter(grader=grader).drop("grader"), alone)
        assert_frame_equal(call(results, grader=grader), alone)
    assert every.columns[0] == "grader"


def test_results_of_graders_without_rows_are_refused():
    with pytest.raises(ValueError, match="the name of a grader in each row, got no rows"):
        pg.summarise(evaluated().clear())


def test_the_order_of_strategies_under_each_grader_is_correlated():
    """As of two measures: the graders' values of the queries that both judged, side by side."""
    frame = FRAME.with_columns(third=pl.col("bm25") * pl.col("ours"), fourth=-pl.col("ours"))
    by = [*BY, "third", "fourth"]
    results = pg.evaluate(frame, "ndcg", "reciprocal_rank", by=by, grade=GRADERS)
    both = results.filter(pl.col("query") != "b")
    found = pg.trust.rank_correlation(results)
    assert found.select("measure", "grader", "reference").rows() == [
        *[("ndcg", *GRADERS), ("reciprocal_rank", *GRADERS)]
    ]
    assert set(found["queries"]) == {2}
    reference = pg.trust.rank_correlation(results, reference="people")
    rows = zip(found["measure"], found["tau"], reference["tau"], strict=True)
    for measure, tau, directed in rows:
        side_by_side = both.pivot("grader", index=["strategy", "query"], values=measure)
        named = [{name: "highest"} for name in GRADERS]
        assert tau == pg.trust.rank_correlation(side_by_side, *named)["tau"].item()
        expected = pg.trust.rank_correlation(side_by_side, *named, reference="people")
        assert directed == expected["tau"].item()
    by_measures = pg.trust.rank_correlation(results, grader="people")
    assert by_measures["reference"].to_list() == ["reciprocal_rank"]
    with pytest.raises(ValueError, match="`reference` must be one of 'people', 'model', got 'gpt'"):
        pg.trust.rank_correlation(results, reference="gpt")


@pytest.mark.parametrize(
    "draw",
    [
        lambda results: pg.charts.precision_histogram(results, "ndcg", *BY),
        lambda results: pg.charts.explore(results, *BY, "ndcg"),
        lambda results: pg.charts.measure_agreement(results, "ndcg", "recall"),
        lambda results: pg.charts.sample_size_curves(pg.trust.order_stability(results, samples=5)),
    ],
)
def test_no_chart_mixes_graders(draw):
    """Each draws one, and asks which."""
    results = evaluated().drop_nulls("ndcg")
    with pytest.raises(ValueError, match=r"(rows|results) of one grader"):
        draw(results)
    draw(results.filter(grader="people"))


def test_titles_of_axes_fit_beside_small_panels():
    table = pg.summarise(evaluated().drop_nulls("ndcg"), "ndcg", "recall")
    lines = pg.charts.grading_profile(table).to_dict()["spec"]["encoding"]["y"]["title"]
    assert max(map(len, lines)) <= 25


@pytest.mark.parametrize(
    ("compute", "draw"),
    [
        (pg.summarise, pg.charts.strategy_bars),
        (pg.rank_strategies, pg.charts.strategy_ranks),
        (pg.compare, pg.charts.comparison_matrix),
    ],
)
@pytest.mark.parametrize("measures", [["ndcg"], ["ndcg", "recall"]])
def test_each_grader_has_panels(compute, draw, measures):
    table = compute(evaluated().drop_nulls("ndcg"), *measures)
    panels = draw(table).data["panel"].unique(maintain_order=True).to_list()
    graders = table["grader"].unique(maintain_order=True).to_list()
    by_measure = [f"{measure}, {grader}" for measure in measures for grader in graders]
    assert sorted(panels) == sorted(graders if len(measures) == 1 else by_measure)
    with pytest.raises(ValueError, match=r"Hint: \.filter\(grader='\w+'\)"):
        draw(table, panel=None)
    draw(table.filter(grader=graders[0]), panel=None)


@pytest.mark.parametrize(
    "call", [pg.overview, lambda *a, **o: pg.trust.unjudged_bounds(*a, "ap", **o)]
)
def test_what_looks_at_grades_asks_for_those_of_one(call):
    said = "must (name one grader here|be the name of a column), got"
    with pytest.raises((ValueError, TypeError), match=said):
        call(FRAME, by=BY, grade=GRADERS)


@pytest.mark.parametrize(
    ("grade", "said"),
    [
        ([], "must not be empty"),
        (["people"] * 2, "each column once"),
        ({"a": "x"}, "no column 'x'"),
    ],
)
def test_graders_that_cannot_be_are_refused(grade, said):
    with pytest.raises((ValueError, pl.exceptions.ColumnNotFoundError), match=said):
        evaluated(grade=grade)
    with pytest.raises(ValueError, match="must not be the result column of graders"):
        evaluated(frame=FRAME.rename({"query": "grader"}), query="grader")


def test_a_query_with_a_value_of_another_measure_is_judged():
    """`missing="zero"` counts it, also if only the other measure is not null."""
    frame = pl.DataFrame(
        {
            "grader": ["p", "p", "m", "m"],
            "strategy": "s",
            "query": [1, 2, 1, 2],
            "ap": [0.5, None, 0.5, 1.0],
            "e_measure": [0.5, 0.25, 0.5, None],
        }
    )
    found = pg.summarise(frame, "ap", missing="zero")
    assert found.select("grader", "queries", "mean").rows() == [("p", 2, 0.25), ("m", 2, 0.75)]


def test_a_number_selects_a_grader_whom_it_names():
    values = evaluated("ndcg").with_columns(
        pl.col("grader").replace_strict({"people": 1, "model": 2})
    )
    for number, name in ((1, "people"), (2, "model")):
        found = pg.summarise(values, grader=number)
        assert found.equals(pg.summarise(evaluated("ndcg"), grader=name))
