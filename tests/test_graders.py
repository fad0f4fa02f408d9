"""Several graders in a frame, in judgments and in results: what each of them says, and no more."""

from __future__ import annotations

import warnings

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


def test_what_is_wanted_of_a_lazy_frame_of_graders_alone_is_found():
    later = evaluated(frame=FRAME.lazy())
    assert later.collect_schema() == evaluated().schema
    wanted = later.filter(pl.col("grader") == "model", pl.col("query") != "a").select("recall")
    now = evaluated().filter(pl.col("grader") == "model", pl.col("query") != "a").select("recall")
    assert_frame_equal(wanted.collect(), now)


def test_stacked_strategies_and_curves_have_graders_too():
    long = FRAME.unpivot(
        BY, index=["query", "doc", *GRADERS], variable_name="strategy", value_name="score"
    )
    stacked = pg.evaluate(long, "ndcg", "recall", strategy="strategy", grade=GRADERS)
    assert_frame_equal(stacked, evaluated())
    curves = evaluated("dcg_curve@2")
    assert curves["dcg_curve@2"].null_count() == 2
    means = pg.average_curves(FRAME, "dcg_curve@2", by=BY, grade=GRADERS)
    judged = FRAME.drop_nulls("people")
    alone = pg.average_curves(judged, "dcg_curve@2", by=BY, grade="people")
    assert_frame_equal(means.filter(grader="people").drop("grader"), alone)
    counts = pg.count_retrieved(FRAME, by=BY, grade=GRADERS)
    assert counts.filter(grader="people")["queries"].to_list() == [2, 2]


@pytest.mark.parametrize(
    "call",
    [
        pg.summarise,
        pg.compare,
        pg.long_form,
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


def test_a_column_of_graders_may_be_another_key():
    results = evaluated().drop_nulls("ndcg")
    by_segment = pg.summarise(results, "ndcg", segments="grader", missing="drop")
    assert by_segment["grader"].to_list() == ["model", "model", "people", "people"]
    as_strategy = pg.summarise(
        results.filter(strategy="ours").drop("strategy"), strategy="grader", missing="drop"
    )
    assert as_strategy["grader"].unique(maintain_order=True).to_list() == GRADERS


@pytest.mark.parametrize("method", ["kendall", "ap"])
def test_the_order_of_strategies_under_each_grader_is_correlated(method):
    """As of two measures: the graders' values of the queries that both judged, side by side."""
    frame = FRAME.with_columns(third=pl.col("bm25") * pl.col("ours"), fourth=-pl.col("ours"))
    by = [*BY, "third", "fourth"]
    results = pg.evaluate(frame, "ndcg", "reciprocal_rank", by=by, grade=GRADERS)
    both = results.filter(pl.col("query") != "b")
    found = pg.trust.rank_correlation(results, method=method)
    assert found.select("measure", "grader", "reference").rows() == [
        *[("ndcg", *GRADERS), ("reciprocal_rank", *GRADERS)]
    ]
    assert set(found["queries"]) == {2}
    reference = pg.trust.rank_correlation(results, method=method, reference="people")
    rows = zip(found["measure"], found["tau"], reference["tau"], strict=True)
    for measure, tau, directed in rows:
        side_by_side = both.pivot("grader", index=["strategy", "query"], values=measure)
        named = [{name: "highest"} for name in GRADERS]
        assert tau == pg.trust.rank_correlation(side_by_side, *named, method=method)["tau"].item()
        expected = pg.trust.rank_correlation(
            side_by_side, *named, method=method, reference="people"
        )
        assert directed == expected["tau"].item()
    by_measures = pg.trust.rank_correlation(results, grader="people", method=method)
    assert by_measures["reference"].to_list() == ["reciprocal_rank"]
    with pytest.raises(ValueError, match="`reference` must be one of people, model, got 'gpt'"):
        pg.trust.rank_correlation(results, reference="gpt")


def test_orders_of_graders_are_of_the_queries_that_both_have_values_of():
    """The model lacks a value for "c", without which people would put the strategies otherwise."""
    people = pl.DataFrame(
        {
            "grader": "people",
            "strategy": ["x"] * 3 + ["y"] * 3,
            "query": [*"abc"] * 2,
            "ap": [0.5, 0.5, 0.0, 0.4, 0.4, 1.0],
        }
    )
    lacking = pl.when(strategy="x", query="c").then(None).otherwise("ap").alias("ap")
    both = pl.concat([people, people.with_columns(lacking, grader=pl.lit("model"))])
    with pytest.raises(ValueError, match="in 1 of 3 queries: query 'c' of 'x'"):
        pg.trust.rank_correlation(both)
    [row] = pg.trust.rank_correlation(both, missing="drop").rows(named=True)
    assert (row["queries"], row["tau"]) == (2, 1)


def test_what_shows_one_grader_asks_which(tmp_path):
    results = evaluated()
    said = r"the results of one grader, got 'people', 'model'\n\nHint: grader='people'"
    with pytest.raises(ValueError, match=said):
        pg.paper_table(results)
    with pytest.raises(ValueError, match=said):
        pg.report(results, tmp_path / "page.html")
    assert not [*tmp_path.iterdir()]
    page = pg.report(results, tmp_path / "page.html", grader="people").read_text(encoding="utf-8")
    assert "<dt>Grades</dt><dd>of people</dd>" in page
    alone = results.filter(grader="people").drop_nulls("ndcg").drop("grader")
    assert pg.paper_table(results, grader="people") == pg.paper_table(alone)
    with pytest.raises(ValueError, match="`grader` must be one of 'people', 'model', got 'gpt'"):
        pg.summarise(results, grader="gpt")
    with pytest.raises(ValueError, match="must have a column 'grader' to distinguish graders"):
        pg.summarise(alone, grader="people")


@pytest.mark.parametrize(
    "draw",
    [
        lambda results: pg.charts.precision_histogram(results, "ndcg", *BY),
        lambda results: pg.charts.explore(results, *BY, "ndcg"),
        lambda results: pg.charts.measure_agreement(results, "ndcg", "recall"),
        lambda results: pg.charts.sample_quantiles(results, "ndcg"),
        lambda results: pg.charts.strategy_bars(pg.summarise(results)),
        lambda results: pg.charts.comparison_matrix(pg.compare(results)),
        lambda results: pg.charts.sample_size_curves(pg.trust.order_stability(results, samples=5)),
    ],
)
def test_no_chart_mixes_graders(draw):
    """Each draws one, and asks which; panels of graders are drawn."""
    results = evaluated().drop_nulls("ndcg")
    with pytest.raises(ValueError, match=r"(rows|results) of one grader"):
        draw(results)
    draw(results.filter(grader="people"))


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
        (["people", "people"], "each column once"),
        ({"a": "x"}, "no column 'x'"),
    ],
)
def test_graders_that_cannot_be_are_refused(grade, said):
    with pytest.raises((ValueError, pl.exceptions.ColumnNotFoundError), match=said):
        evaluated(grade=grade)
    with pytest.raises(ValueError, match="must not be the result column of graders"):
        evaluated(frame=FRAME.rename({"query": "grader"}), query="grader")


def test_what_is_wrong_by_the_grades_of_one_is_said_to_be_so():
    tied = pl.DataFrame({"query": 1, "score": [1, 1], "people": [1, 1], "model": [0, 1]})
    with pytest.warns(pg.DataWarning.ties) as caught:
        pg.evaluate(tied, "ap", grade=GRADERS)
    [warning] = caught
    assert str(warning.message).startswith(
        "by the grades of 'model': documents with the same score"
    )


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("stacked", [False, True])
def test_a_grader_who_judged_a_part_of_a_query_is_told(lazy, stacked):
    frame = pl.DataFrame(
        {"query": [1] * 5 + [2] * 5, "score": range(10), "model": [1, 0] * 5}
    ).with_columns(people=pl.Series([1, 0, None, None, None, 1, 0, 0, None, None]))
    options = {}
    if stacked:
        frame = pl.concat(frame.with_columns(strategy=pl.lit(name)) for name in "ab")
        options = {"strategy": "strategy"}
    given, told = frame.lazy() if lazy else frame, "'people' judged fewer .* in 1 of 2 queries.*: 1"
    with pytest.warns(pg.DataWarning.unjudged, match=told):
        pg.evaluate(given, "ap", grade=GRADERS, **options).lazy().collect()


def test_judgments_of_graders_come_in_any_form():
    """A mapping, a long frame, and frames joined by hand: one row per document."""
    runs = {"x": {"a": {"d": 2, "e": 1}, "b": {"d": 1}}, "y": {"a": {"f": 2}, "b": {"e": 1}}}
    given = {"people": {"a": {"d": 0, "f": 2}}, "model": {"a": {"d": 1, "e": 1}, "b": {"e": 1}}}
    rows = [
        (query, doc, grader, grade)
        for grader, judgments in given.items()
        for query, grades in judgments.items()
        for doc, grade in grades.items()
    ]
    long = pl.DataFrame(rows, ["query", "doc", "grader", "grade"], orient="row")
    wide = long.pivot("grader", index=["query", "doc"], values="grade")
    expected = pg.join_judgments(runs, wide.drop("people"), grade="model").drop("model").unique()
    judged = pg.join_judgments(runs, given)
    assert judged.columns == ["strategy", "query", "doc", "score", "people", "model"]
    assert_frame_equal(pg.join_judgments(runs, long), judged)
    frames = {name: long.filter(grader=name).drop("grader") for name in given}
    assert_frame_equal(pg.join_judgments(runs, frames), judged)
    keys = ["strategy", "query", "doc", "score"]
    retrieved = judged.drop_nulls("score").select(keys)
    assert_frame_equal(retrieved, expected.drop_nulls("score").select(keys), check_row_order=False)
    grades = judged.select("query", "doc", *given).unique().sort("query", "doc")
    assert grades.drop_nulls("model").select("query", "doc", "model").rows() == [
        *[("a", "d", 1), ("a", "e", 1), ("b", "e", 1)]
    ]
    assert judged.filter(query="a", doc="f").select("strategy", "score", "people").rows() == [
        *[("y", 2, 2), ("x", None, 2)]
    ]


def test_a_lazy_run_is_judged_by_graders_later():
    run = pl.DataFrame({"query": ["q", "q", "r"], "doc": ["d", "e", "d"], "score": [2, 1, 1]})
    given = {"people": {"q": {"d": 1}}, "model": {"q": {"d": 1, "e": 0}, "r": {"f": 2}}}
    later = pg.join_judgments(run.lazy(), given)
    assert isinstance(later, pl.LazyFrame)
    assert_frame_equal(later.collect(), pg.join_judgments(run, given))
    values = pg.evaluate(later, "recall", grade=GRADERS, ties="doc").collect()
    assert values["recall"].to_list() == [1, None, 1, 0]


def test_a_bound_of_what_is_judged_holds_for_each_grader():
    run = {"a": {"d": 2, "e": 1, "f": 0}}
    given = {"people": {"a": {"d": -1, "e": 1}}, "model": {"a": {"d": 1, "e": -2, "f": -1}}}
    with pytest.warns(pg.DataWarning.scale, match="3 of 5 judgments have a grade below 0"):
        pg.join_judgments(run, given)
    judged = pg.join_judgments(run, given, unjudged_below=0)
    assert judged.select("doc", "people", "model").rows() == [
        ("d", None, 1),
        ("e", 1, None),
        ("f", None, None),
    ]


def test_judgments_of_a_grader_that_come_twice_are_refused():
    long = pl.DataFrame({"query": "a", "doc": "d", "grader": ["x", "x"], "grade": [0, 1]})
    with pytest.raises(ValueError, match="once, got 1 more than once"):
        pg.join_judgments({"a": {"d": 1}}, long)


def test_no_grader_is_called_as_a_key():
    with pytest.raises(ValueError, match=r"no grader .* the name of a column, got 'doc'"):
        pg.join_judgments({"a": {"d": 1}}, {"doc": {"a": {"d": 1}}})
    with pytest.raises(ValueError, match=r"only \"query\" and \"doc\"|got \"score\""):
        pg.join_judgments({"a": {"d": 1}}, {"score": {"a": {"d": 1}}})


def test_queries_of_one_name_in_two_segments_are_judged_apart():
    """Grader p judged q2 of one country only."""
    rows = pl.DataFrame(
        {
            "country": ["DE"] * 4 + ["FR"] * 4,
            "query": ["q1", "q1", "q2", "q2"] * 2,
            "doc": ["a", "b"] * 4,
            "p": [1, 0, 1, 0, 1, 0, None, None],
            "m": [1, 0] * 4,
            "s": [2.0, 1.0] * 4,
        }
    )
    with warnings.catch_warnings(action="ignore"):
        values = pg.evaluate(rows, "ap", by="s", query=["country", "query"], grade=["p", "m"])
    for keys in ({}, {"query": ["country", "query"]}):
        table = pg.summarise(values, "ap", segments="country", grader="p", missing="zero", **keys)
        assert table.select("country", "queries", "mean").rows() == [("DE", 2, 1), ("FR", 1, 1)]
