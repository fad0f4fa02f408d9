"""`charts.rankings`: what each document adds, and where it stands, beside values made by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from polars_graded import charts, datasets, evaluate, side_by_side
from polars_graded._measuring.definitions import DEFINITIONS

SUMS = [name for name, definition in DEFINITIONS.items() if definition.is_sum]

# What bm25 has first is of grade 1, what ours has first of grade 2; z is unjudged.
SMALL = pl.DataFrame(
    {
        "query": ["q1", "q1", "q1"],
        "doc": ["x", "y", "z"],
        "grade": [1, 2, None],
        "title": ["on x", "on y", None],
        "bm25": [3.0, None, 1.0],
        "ours": [0.1, 0.9, None],
    }
)
BOTH = ["bm25", "ours"]
IDEAL = 3 + 1 / math.log2(3)


def documents(chart: Any) -> pl.DataFrame:
    return chart.data.filter(part="document")


def added(
    frame: pl.DataFrame, of: Any, measure: str | None = None, **options: Any
) -> dict[str, Any]:
    """What is added at each rank, a list for each strategy."""
    rows = documents(charts.rankings(frame, of, measure, **options)).drop_nulls("adds")
    return {name: rows.filter(strategy=name)["adds"].to_list() for name in rows["strategy"]}


def random_query(seed: int, n: int = 12) -> pl.DataFrame:
    """A query with ties, unjudged documents, grades of -1 and documents that were not retrieved."""
    rng = np.random.default_rng(seed)
    grade = rng.choice([-1, 0, 1, 2, 4], n).tolist()
    return pl.DataFrame(
        {
            "query": 7,
            "doc": [f"d{place}" for place in range(n)],
            "grade": [value if rng.random() > 0.2 else None for value in grade],
            "score": [float(rng.integers(0, 5)) if rng.random() > 0.2 else None for _ in range(n)],
        }
    )


@pytest.mark.parametrize(
    ("measure", "bm25", "ours"),
    [
        (None, [1 / IDEAL, 0], [3 / IDEAL, 1 / math.log2(3) / IDEAL]),
        ("dcg", [1, 0], [3, 1 / math.log2(3)]),
        ("ap", [1 / 2, 0], [1 / 2, 1 / 2]),
        # Equation 4: of both levels, that of 1 has two relevant documents, that of 2 one.
        ("mu_ap", [1 / 4, 0], [(1 / 2 + 1) / 2, 1 / 4]),
        ("reciprocal_rank", [1, 0], [1, 0]),
        ("rbp(p=0.5)", [1 / 2, 0], [1 / 2, 1 / 4]),
        ("recall@1", [1 / 2, 0], [1 / 2, 0]),
    ],
)
def test_a_document_adds_what_its_term_of_the_sum_is(measure, bm25, ours):
    got = added(SMALL, "q1", measure, by=BOTH)
    assert got["bm25"] == pytest.approx(bm25)
    assert got["ours"] == pytest.approx(ours)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* below 0 count")
@pytest.mark.parametrize("function", [f"{each}@12" if each == "sdcg" else each for each in SUMS])
@pytest.mark.parametrize("seed", range(2))
def test_what_is_added_sums_up_to_the_value(function, seed):
    frame = random_query(seed)
    chart = charts.rankings(frame, 7, function, n=12)
    [expected] = evaluate(frame, function, ties="doc")[function]
    assert chart.data.filter(part="strategy")["value"].to_list() == [expected]
    rows = documents(chart)
    assert rows["adds"].sum() == pytest.approx(expected)
    if expected > 0:
        assert rows["share"].sum() == pytest.approx(1)


@pytest.mark.slow
@pytest.mark.parametrize("function", [f"{each}@12" if each == "sdcg" else each for each in SUMS])
def test_what_is_added_does_not_depend_on_what_stands_below(function):
    frame = random_query(5).with_columns(score=12.0 - pl.int_range(pl.len()))
    [before] = added(frame, 7, function, n=12).values()
    turned = frame.with_columns(
        score=pl.when(pl.int_range(pl.len()) < 6).then("score").otherwise(-pl.col("score"))
    )
    [after] = added(turned, 7, function, n=12).values()
    assert before[:6] == pytest.approx(after[:6])


REFUSED = [
    *(name for name, each in DEFINITIONS.items() if not each.inputs and name not in SUMS),
    *("ap(over=retrieved)", "ndcg(ties=average)", "mu_ap(ties=optimistic)", "sdcg"),
]


@pytest.mark.parametrize("measure", REFUSED)
def test_what_is_no_sum_over_ranks_is_refused(measure):
    with pytest.raises(
        ValueError, match=r"`measure` must (be a sum over ranks|leave tied|have a cutoff)"
    ):
        charts.rankings(SMALL, "q1", measure, by=BOTH)


def test_gain_is_there_where_a_measure_is_made_of_it():
    rows = documents(charts.rankings(SMALL, "q1", by=BOTH))
    assert rows.filter(strategy="ours").sort("rank")["gain"].to_list() == [3, 1]
    linear = documents(charts.rankings(SMALL, "q1", "dcg(gain=linear)", by=BOTH))
    assert linear.filter(strategy="ours").sort("rank")["gain"].to_list() == [2, 1]
    assert "gain" not in charts.rankings(SMALL, "q1", "mu_ap", by=BOTH).data.columns


@pytest.mark.parametrize("seed", range(3))
def test_documents_stand_where_side_by_side_has_them(seed):
    frame = random_query(seed, 30)
    rows = documents(charts.rankings(frame, 7, n=10)).filter(pl.col("rank") <= 10)
    table = side_by_side(frame, 7, n=10)
    assert rows.sort("rank")["doc"].to_list() == table["score"].to_list()
    assert rows.sort("rank")["grade"].to_list() == table["grade of score"].to_list()


def test_stacked_strategies_are_drawn_as_several_columns_are():
    names = {"bm25": "bm25", "ours": "ours"}
    stacked = SMALL.unpivot(BOTH, index=["query", "doc", "grade"], variable_name="strategy")
    one = charts.rankings(SMALL, "q1", by=names).data
    other = charts.rankings(stacked, "q1", by="value", strategy="strategy").data
    assert_frame_equal(one, other)


def test_ties_are_broken_as_is_said():
    frame = SMALL.with_columns(score=1.0)
    for ties, expected in (("order", "xyz"), ("doc", "zyx"), (None, "zyx"), ("trec_eval", "zyx")):
        rows = documents(charts.rankings(frame, "q1", ties=ties)).sort("rank")
        assert rows["doc"].to_list() == [*expected]


@pytest.mark.slow
def test_it_is_said_which_documents_have_the_score_of_another():
    frame = SMALL.with_columns(score=pl.Series([1.0, 2.0, 1.0]))
    for order in ({}, {"ties": "doc"}, {"ties": "trec_eval"}, {"by": [["score", "doc"]]}):
        chart = charts.rankings(frame, "q1", "ap", **order)
        assert documents(chart).sort("doc")["tied"].to_list() == [True, False, True]
        # A line marks them, which a note explains.
        [lines] = [
            layer["transform"]
            for layer in chart.to_dict()["layer"]
            if {"filter": "datum.tied"} in layer.get("transform", [])
        ]
        assert lines
        assert "bar at the left" in str(chart.to_dict()["title"])
    assert "line at the left" not in str(charts.rankings(SMALL, "q1", by=BOTH).to_dict()["title"])
    # Unjudged documents have no rank in a condensed ranking, so none is tied with them.
    unjudged = frame.with_columns(grade=pl.Series([None, 1, 2]))
    drawn = documents(charts.rankings(unjudged, "q1", "ap", condensed=True))
    assert not drawn["tied"].any()


def test_a_run_ranked_by_its_rank_is_drawn():
    frame = SMALL.with_columns(rank=pl.Series([2, 1, 3])).drop(BOTH)
    rows = documents(charts.rankings(frame, "q1", by="rank", descending=False)).sort("rank")
    assert rows["doc"].to_list() == ["y", "x", "z"]


def test_relevant_documents_that_were_missed_stand_below_the_line():
    frame = pl.DataFrame(
        {
            "query": 1,
            "doc": [f"d{place}" for place in range(40)],
            "grade": [1] * 20 + [0] * 20,
            "score": [float(40 - place) if place < 18 else None for place in range(40)],
            "other": [float(place) if place > 14 else None for place in range(40)],
        }
    )
    chart = charts.rankings(frame, 1, by=["score", "other"], n=5)
    heads = chart.data.filter(part="strategy")
    assert dict(heads.select("strategy", "below").iter_rows()) == {"score": 15, "other": 20}
    below = documents(chart).filter((pl.col("rank") > 5) | pl.col("rank").is_null())
    assert below.group_by("strategy").len()["len"].to_list() == [10, 10]
    # First those that the other strategy has in its first five, then by rank.
    other = below.filter(strategy="other").sort("y")
    assert other["doc"].to_list()[-5:] == ["d0", "d1", "d2", "d3", "d4"]
    assert other["label"].to_list()[-5:] == ["no rank"] * 5
    score = below.filter(strategy="score").sort("y")
    assert score["label"].to_list() == [f"rank {rank}" for rank in range(6, 16)]
    assert score["adds"].null_count() == 10
    assert score["y"].to_list() == [7.0 + place for place in range(10)]


def test_a_line_joins_a_document_to_itself_in_the_next_column():
    lines = charts.rankings(SMALL, "q1", by=BOTH).data.filter(part="line")
    rows = lines.select("strategy", "doc", "y", "y_next", "relevant").sort("doc")
    assert rows.rows() == [("bm25", "x", 1.0, 2.0, True), ("bm25", "y", 4.0, 1.0, True)]


@pytest.mark.parametrize(
    ("grades", "irrelevant", "levels"),
    [
        ([0, 1, 2, None], 0, ["0", "1", "2", "unjudged"]),
        ([-1, 0, 1, 1], 0, ["0 or below", "0 or below", "1", "1"]),
        ([1, 3, 5, None], 1, ["1", "3", "5", "unjudged"]),
        ([None] * 4, 0, ["unjudged"] * 4),
        (
            [100 + step / 10 for step in range(1, 10)],
            100,
            [
                *["up to 100.2"] * 2,
                *["up to 100.5"] * 3,
                *["up to 100.7"] * 2,
                *["up to 100.9"] * 2,
            ],
        ),
        (
            [0.0, *(0.1 * step for step in range(1, 11))],
            0,
            ["0", *["up to 0.25"] * 2, *["up to 0.5"] * 3, *["up to 0.75"] * 2, *["up to 1"] * 3],
        ),
    ],
)
def test_a_grade_has_a_level_and_of_many_grades_ranges_have_one(grades, irrelevant, levels):
    frame = pl.DataFrame({"query": 1, "doc": range(len(grades)), "grade": grades})
    frame = frame.with_columns(score=-pl.col("doc"))
    rows = documents(charts.rankings(frame, 1, irrelevant=irrelevant)).sort("rank")
    assert rows["level"].to_list() == levels


def test_titles_stand_on_tiles_and_ids_without_them():
    chart = charts.rankings(SMALL, "q1", by=BOTH, title="title")
    rows = documents(chart).filter(strategy="ours").sort("rank")
    assert rows["name"].to_list() == ["on y", "on x"]
    assert rows["doc"].to_list() == ["y", "x"]
    long = SMALL.with_columns(title=pl.lit("word " * 1000))
    assert (
        documents(charts.rankings(long, "q1", title="title", by=BOTH))["title"]
        .str.len_chars()
        .max()
        == 300
    )


@pytest.mark.parametrize(
    ("change", "of", "options", "sentence"),
    [
        (None, "q2", {}, "`frame` must have a row of the query, got none for 'q2' in 'query'"),
        (
            pl.lit("x").alias("doc"),
            "q1",
            {},
            "'doc' must name each document of a query once, got 2 repeated",
        ),
        (pl.lit(math.nan).alias("bm25"), "q1", {}, "score 'bm25' must be finite"),
        (
            [
                pl.lit(None, pl.Int64).alias("grade"),
                *(pl.lit(None, pl.Float64).alias(name) for name in BOTH),
            ],
            "q1",
            {},
            "the query must have a document with a score or a grade, got none",
        ),
    ],
)
def test_a_wrong_value_is_an_error_that_says_what_is_wrong(change, of, options, sentence):
    frame = SMALL if change is None else SMALL.with_columns(change)
    with pytest.raises(ValueError) as error:  # noqa: PT011
        charts.rankings(frame, of, by=BOTH, **options)
    assert sentence in str(error.value)


# What is said as it is to evaluate.


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"relevant_from": 2},
        {"irrelevant": 1, "max_grade": 5, "relevant_from": 3},
        {"condensed": True},
        {"undefined_as": None, "ties": "doc"},
    ],
)
@pytest.mark.parametrize("measure", ["ndcg@10", "ap", "err@10", "rbp"])
def test_what_documents_add_is_the_value_however_rows_are_read(measure, options):
    frame = datasets.example(4).with_columns(
        pl.when(pl.col("doc").hash() % 5 > 0).then("grade").alias("grade")
    )
    options = {"max_grade": 4, "by": ["strong", "weak"]} | options
    values = dict(
        evaluate(frame, measure, **options, query="query")
        .filter(query=1)
        .select("strategy", measure)
        .iter_rows()
    )
    drawn = charts.rankings(frame, 1, measure, n=100, **options).data
    for strategy, value in values.items():
        adds = drawn.filter(part="document", strategy=strategy)["adds"]
        assert adds.sum() == pytest.approx(value, abs=1e-9)


def test_a_query_of_several_columns_is_a_tuple():
    frame = datasets.example(3).with_columns(country=pl.lit("DE"))
    both = pl.concat([frame, frame.with_columns(country=pl.lit("FR"))])
    keys = {"by": ["strong", "weak"], "query": ["country", "query"]}
    chart = charts.rankings(both, ("FR", 2), "ap", **keys)
    of_one = charts.rankings(frame, 2, "ap", by=keys["by"]).data
    assert chart.data.drop("query").equals(of_one.drop("query"))
    assert chart.data["query"].unique().to_list() == ["FR, 2"]
    assert (
        chart.to_dict()["title"]["text"] == "2 rankings of country FR, query 2, average precision"
    )
    expected = side_by_side(frame, 2, by=keys["by"])
    assert side_by_side(both, ("FR", 2), **keys).equals(expected)
    with pytest.raises(
        TypeError, match="must be a tuple with one value for each of 'country', 'query'"
    ):
        charts.rankings(both, 2, **keys)
