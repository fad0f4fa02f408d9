"""Whole frames: one row per strategy and query out."""

from __future__ import annotations

import datetime as dt
import inspect
import math
import re
import warnings
from pathlib import Path

import polars as pl
import pytest
from helpers import GRADED, ODD_QUERIES, frame_of, random_queries, values
from polars.testing import assert_frame_equal

from polars_graded import (
    average_curves,
    charts,
    compare,
    count_retrieved,
    evaluate,
    join_judgments,
    overview,
    side_by_side,
    summarise,
)
from polars_graded._measuring.definitions import DEFINITIONS
from polars_graded.datasets import worked_example

# Query b comes first, so that sorting shows; `worse` ranks the relevant document of each last, and
# `tied` is a number for x and y of query a alike.
FRAME = pl.DataFrame(
    {
        "query": ["b", "b", "a", "a", "a"],
        "doc": ["x", "y", "x", "y", "z"],
        "grade": [0, 1, 2, 0, 0],
        "score": [1.0, 2.0, 7.0, 6.0, 5.0],
        "worse": [2.0, 1.0, 1.0, 7.0, 5.0],
        "tied": [1.0, 2.0, 7.0, 7.0, 5.0],
        "rank": [2, 1, 1, 2, 3],
    }
)

STACKED = pl.DataFrame(
    {
        "run": ["two", "two", "two", "one", "one", "one"],
        "topic": [1, 2, 2, 2, 2, 1],
        "judgment": [1, 1, 0, 1, 0, 1],
        "value": [1.0, 3.0, 2.0, 2.0, 3.0, 1.0],
    }
)
STACKED_COLUMNS = {"query": "topic", "grade": "judgment", "by": "value", "strategy": "run"}


def test_one_row_per_strategy_and_query_strategies_as_named_and_queries_sorted():
    expected = pl.DataFrame(
        {
            "strategy": ["worse", "worse", "score", "score"],
            "query": ["a", "b", "a", "b"],
            "reciprocal_rank": [1 / 3, 1 / 2, 1.0, 1.0],
            "cg@1": [0.0, 0.0, 3.0, 1.0],
            "n_relevant": pl.Series([1, 1, 1, 1], dtype=pl.UInt32),
        }
    )
    result = evaluate(FRAME, "reciprocal_rank", "cg@1", "n_relevant", by=["worse", "score"])
    assert_frame_equal(result, expected)


def test_one_column_is_one_strategy_named_after_it():
    for by in ("score", ["score"], [["score"]], ("score",)):
        result = evaluate(FRAME, "ap", by=by)
        assert result.rows() == [("score", "a", 1.0), ("score", "b", 1.0)]
    assert_frame_equal(evaluate(FRAME, "ap"), evaluate(FRAME, "ap", by="score"))


def test_a_lazy_frame_gives_a_lazy_frame():
    for frame, options in [(FRAME, {"by": ["score", "worse"]}), (STACKED, STACKED_COLUMNS)]:
        lazy = evaluate(frame.lazy(), "ap", "n_relevant", **options)
        assert isinstance(lazy, pl.LazyFrame)
        eager = evaluate(frame, "ap", "n_relevant", **options)
        assert lazy.collect_schema() == eager.schema
        assert_frame_equal(lazy.collect(), eager)
        assert_frame_equal(lazy.collect(engine="streaming"), eager)


def test_a_list_in_the_list_breaks_ties():
    # Query a has x and y tied, of which y comes first by its name.
    tied = {"score": 1.0, "doc": 1 / 2, "worse": 1 / 2, "rank": 1 / 2}
    for tie_break, reciprocal_rank in tied.items():
        result = evaluate(FRAME, "reciprocal_rank", by=[["tied", tie_break]])
        assert result.row(0) == ("tied", "a", reciprocal_rank)
    together = evaluate(FRAME, "reciprocal_rank", by=["worse", ["tied", "doc"]])
    assert together["reciprocal_rank"].to_list() == [1 / 3, 1 / 2, 1 / 2, 1.0]


def test_a_strategy_column_tells_stacked_rankings_apart():
    result = evaluate(STACKED, "reciprocal_rank", **STACKED_COLUMNS)
    expected = pl.DataFrame(
        {
            "run": ["one", "one", "two", "two"],
            "topic": [1, 2, 1, 2],
            "reciprocal_rank": [1.0, 1 / 2, 1.0, 1.0],
        }
    )
    assert_frame_equal(result, expected)


def test_a_scale_and_a_value_for_undefined_queries_are_passed_on():
    queries = [*ODD_QUERIES.values(), *random_queries(0, 20)]
    frame = frame_of(queries)
    g = GRADED.scaled(irrelevant=1, max_grade=10).undefined_as(None)
    with pytest.warns(UserWarning, match="no document is judged in 4 of 33 queries"):
        result = evaluate(
            *(frame, "ndcng@3", "mu_ap"),
            irrelevant=1,
            max_grade=10,
            undefined_as=None,
            ties="order",
        )
    assert result["ndcng@3"].to_list() == values(g.ndcng(3), frame)
    assert result["mu_ap"].to_list() == values(g.mu_ap(), frame)
    assert None in result["mu_ap"]


@pytest.mark.filterwarnings("ignore:.* below 0 count")
def test_condensed_rankings_are_without_the_unjudged():
    frame = frame_of([*ODD_QUERIES.values(), *random_queries(0, 20)])
    with pytest.warns(UserWarning, match="no document is judged in 4 of 33 queries"):
        result = evaluate(frame, "ndcng@3", "n_retrieved", condensed=True, ties="order")
    all_of_them = evaluate(frame, "n_retrieved")  # uses no grades, so nothing is warned of
    with pytest.warns(UserWarning, match="no document is judged in 4 of 33 queries"):
        evaluate(frame, "n_retrieved", condensed=True, ties="order")
    assert result["ndcng@3"].to_list() == values(GRADED.condensed().ndcng(3), frame)
    assert result["n_retrieved"].to_list() == values(GRADED.condensed().n_retrieved(), frame)
    assert result["n_retrieved"].sum() < all_of_them["n_retrieved"].sum()


def test_a_curve_is_a_list_a_query():
    names = [
        "precision_curve@2",
        "cg_curve(gain=linear)",
        "interpolated_precision(recall_levels=3)",
    ]
    result = evaluate(FRAME, *names, by="worse")
    expected = pl.DataFrame(
        {
            "strategy": ["worse", "worse"],
            "query": ["a", "b"],
            names[0]: [[0.0, 0.0], [0.0, 1 / 2]],
            names[1]: [[0.0, 0.0, 2.0], [0.0, 1.0]],
            names[2]: [[1 / 3] * 3, [1 / 2] * 3],
        }
    )
    assert_frame_equal(result, expected)
    lazy = evaluate(FRAME.lazy(), *names, by="worse")
    assert lazy.collect_schema() == expected.schema
    assert_frame_equal(lazy.collect(), expected)


def test_names_of_columns_do_not_collide_with_ours():
    frame = FRAME.rename({"query": "measures", "grade": "ranked", "score": "ap"})
    result = evaluate(frame, "mu_ap", query="measures", grade="ranked", by="ap")
    assert result.columns == ["strategy", "measures", "mu_ap"]
    assert result.rows() == [("ap", "a", 1.0), ("ap", "b", 1.0)]
    stacked = STACKED.rename({"run": "measures"})
    columns = STACKED_COLUMNS | {"strategy": "measures"}
    assert evaluate(stacked, "ap", **columns).columns == ["measures", "topic", "ap"]


QUERY_IDS = {
    "Int64": pl.Series([9, 9, 10, None]),
    "Date": pl.Series([dt.date(2024, 1, 9)] * 2 + [dt.date(2024, 1, 10), None]),
    "Enum": pl.Series(["b", "b", "a", None], dtype=pl.Enum(["b", "a"])),
}


@pytest.mark.parametrize("name", QUERY_IDS)
def test_a_query_id_may_have_any_type_and_null_is_one_too(name):
    ids = QUERY_IDS[name].alias("query")
    frame = pl.DataFrame([ids]).with_columns(grade=pl.lit(1), score=pl.lit(1.0))
    with pytest.warns(UserWarning, match="^query 'query' is null in 1 row"):
        result = evaluate(frame.reverse(), "n_retrieved")
    assert result["query"].dtype == ids.dtype
    assert result["query"].to_list() == [None, ids[0], ids[2]]
    assert result["n_retrieved"].to_list() == [1, 2, 1]


def test_an_empty_frame_has_no_row_and_the_same_columns():
    for by in ("score", ["score", "worse"]):
        empty = evaluate(FRAME.clear(), "ap", "n_relevant", by=by)
        assert empty.height == 0
        assert empty.schema == evaluate(FRAME, "ap", "n_relevant", by=by).schema
    empty = evaluate(STACKED.clear(), "ap", **STACKED_COLUMNS)
    assert empty.schema == evaluate(STACKED, "ap", **STACKED_COLUMNS).schema
    assert empty.height == 0


def test_a_strategy_without_scores_for_a_query_retrieved_nothing():
    frame = FRAME.with_columns(score=pl.col("score").replace([7.0, 6.0, 5.0], None))
    result = evaluate(frame, "n_retrieved", "ndcg", "n_relevant")
    assert result.rows() == [("score", "a", 0, 0.0, 1), ("score", "b", 2, 1.0, 1)]


# Curves averaged over queries.

# In rank order 1 0 3 and, with a document that was not retrieved, 0 2.
CURVES = pl.DataFrame(
    {
        "query": ["a", "a", "a", "b", "b", "b"],
        "grade": [1, 0, 3, 0, 2, 2],
        "score": [3, 2, 1, 2, 1, None],
    }
)
CG, IDEAL_CG = "cg_curve(gain=linear)@3", "ideal_dcg_curve(gain=linear, discount=none)@3"

AVERAGES = {
    CG: [(1 + 0) / 2, (1 + 2) / 2, (4 + 2) / 2],
    IDEAL_CG: [(3 + 2) / 2, (4 + 4) / 2, (4 + 4) / 2],
    "precision_curve@3": [(1 / 1 + 0 / 1) / 2, (1 / 2 + 1 / 2) / 2, (2 / 3 + 1 / 3) / 2],
    "recall_curve@3": [(1 / 2 + 0) / 2, (1 / 2 + 1 / 2) / 2, (2 / 2 + 1 / 2) / 2],
}


def test_curves_are_averaged_over_queries_at_every_rank():
    expected = pl.DataFrame({"strategy": ["score"] * 3, "rank": [1, 2, 3], **AVERAGES})
    found = average_curves(CURVES, *AVERAGES)
    assert_frame_equal(found, expected.cast({"rank": pl.UInt32}))


def test_interpolated_precision_is_averaged_at_every_level_of_recall():
    name = "interpolated_precision(recall_levels=[0.25, 0.5, 1])"
    expected = pl.DataFrame(
        {
            "strategy": ["score"] * 3,
            "recall": [0.25, 0.5, 1.0],
            name: [(1 / 1 + 1 / 2) / 2, (1 / 1 + 1 / 2) / 2, (2 / 3 + 0) / 2],
        }
    )
    assert_frame_equal(average_curves(CURVES, name), expected)
    eleven = average_curves(CURVES, "interpolated_precision", "interpolated_precision(threshold=2)")
    assert eleven["recall"].to_list() == [level / 10 for level in range(11)]
    assert eleven.columns[2:] == ["interpolated_precision", "interpolated_precision(threshold=2)"]


def test_every_strategy_has_its_own_averages():
    reverse = CURVES.with_columns(worse=-pl.col("score"))
    found = average_curves(reverse, CG, by=["worse", "score"])
    assert found["strategy"].to_list() == ["worse"] * 3 + ["score"] * 3
    assert found["rank"].to_list() == [1, 2, 3] * 2
    assert found[CG].to_list()[:3] == [(3 + 2) / 2, (3 + 2) / 2, (4 + 2) / 2]
    stacked = average_curves(STACKED, "recall_curve@2", **STACKED_COLUMNS)
    assert stacked.rows() == [("one", 1, 1 / 2), ("one", 2, 1.0), ("two", 1, 1.0), ("two", 2, 1.0)]


def test_a_query_without_a_relevant_document_is_averaged_as_said():
    more = pl.concat([CURVES, pl.DataFrame({"query": ["c"], "grade": [0], "score": [1]})])
    assert average_curves(more, CG)[CG].to_list() == pytest.approx([1 / 3, 3 / 3, 6 / 3])
    left_out = average_curves(more, CG, undefined_as=None)
    assert_frame_equal(left_out, average_curves(CURVES, CG))


def test_averaged_curves_of_a_lazy_frame_are_lazy():
    for frame, curves, options in [
        (CURVES, [CG, IDEAL_CG], {}),
        (CURVES, ["interpolated_precision"], {"condensed": True}),
        (STACKED, ["dcg_curve@20"], STACKED_COLUMNS),
        (CURVES.clear(), ["ndcg_curve@5"], {}),
    ]:
        eager = average_curves(frame, *curves, **options)
        lazy = average_curves(frame.lazy(), *curves, **options)
        assert isinstance(lazy, pl.LazyFrame)
        assert lazy.collect_schema() == eager.schema
        assert_frame_equal(lazy.collect(), eager)
        assert_frame_equal(lazy.collect(engine="streaming"), eager)


NOT_AVERAGED = [
    ([], ValueError, "name at least one curve, such as 'dcg_curve@20'"),
    (["dcg_curve"], ValueError, "a curve needs a cutoff to be averaged, such as 'dcg_curve@20'"),
    (["cg_curve@5", "dcg_curve@6"], ValueError, "the same cutoff, got cg_curve@5, dcg_curve@6"),
    (
        ["cg_kurve@5"],
        ValueError,
        "there is no measure 'cg_kurve@5'\n\nHint: did you mean 'cg_curve@5'",
    ),
]


@pytest.mark.parametrize(
    ("curves", "exception", "sentence"), NOT_AVERAGED, ids=[str(row[0]) for row in NOT_AVERAGED]
)
@pytest.mark.parametrize("frame", [CURVES, CURVES.lazy()], ids=["eager", "lazy"])
def test_only_curves_of_one_cutoff_are_averaged(frame, curves, exception, sentence):
    with pytest.raises(exception, match=sentence):
        average_curves(frame, *curves)


# What all queries together retrieved.


def test_a_summary_table_has_the_sums_over_queries():
    expected = pl.DataFrame(
        {
            "strategy": ["score"],
            "queries": [2],
            "retrieved": [5],
            "relevant": [4],
            "relevant_retrieved": [3],
        }
    ).cast({pl.Int64: pl.UInt32})
    assert_frame_equal(count_retrieved(CURVES), expected)
    assert_frame_equal(count_retrieved(CURVES.lazy()).collect(), expected)
    assert count_retrieved(CURVES.lazy()).collect_schema() == expected.schema


@pytest.mark.parametrize(
    ("options", "counts"),
    [
        ({"threshold": 2}, (2, 5, 3, 2)),
        ({"threshold": 2.5}, (2, 5, 1, 1)),
        ({"threshold": 0, "irrelevant": -1}, (2, 5, 6, 5)),
        ({"irrelevant": 1}, (2, 5, 3, 2)),
    ],
)
def test_a_summary_table_counts_as_relevant_what_it_is_told(options, counts):
    assert count_retrieved(CURVES, **options).row(0) == ("score", *counts)


def test_grades_of_a_threshold_must_be_relevant_on_the_scale():
    """Otherwise grades of the threshold or more would not all be relevant."""
    with pytest.raises(ValueError, match="`threshold` of n_relevant must be above `irrelevant`, 0"):
        count_retrieved(CURVES, threshold=0)
    for options, sentence in (
        ({}, "must be above `irrelevant`, 0, got 0"),
        ({"irrelevant": 1}, "must be above `irrelevant`, 1, got 0"),
        ({"irrelevant": -1, "relevant_from": 1}, "must be at least `relevant_from`, 1, got 0"),
    ):
        with pytest.raises(ValueError, match=f"`threshold` of ap {sentence}"):
            evaluate(CURVES, "ap(threshold=0)", **options)
    assert evaluate(CURVES, "ap(threshold=0)", irrelevant=-1).height


def test_a_summary_table_has_a_row_a_strategy():
    some = pl.when(pl.col("score") > 1).then("score")
    found = count_retrieved(CURVES.with_columns(fewer=some), by=["score", "fewer"])
    assert found.rows() == [("score", 2, 5, 4, 3), ("fewer", 2, 3, 4, 1)]
    assert count_retrieved(STACKED, **STACKED_COLUMNS).rows() == [
        ("one", 2, 3, 2, 2),
        ("two", 2, 3, 2, 2),
    ]


def test_a_condensed_summary_table_does_not_count_the_unjudged():
    unjudged = CURVES.with_columns(grade=pl.when(pl.col("grade") > 0).then("grade"))
    assert count_retrieved(unjudged).row(0) == ("score", 2, 5, 4, 3)
    assert count_retrieved(unjudged, condensed=True).row(0) == ("score", 2, 3, 4, 3)


def test_chen_method_4_summary_table_of_both_examples():
    assert count_retrieved(worked_example("chen")).row(0) == ("score", 2, 15 + 15, 10 + 3, 5 + 3)


# Warnings.


WITHOUT_A_QUERY = STACKED.filter(~((pl.col("run") == "one") & (pl.col("topic") == 1)))


@pytest.mark.parametrize(
    ("function", "names"), [(evaluate, ["ap"]), (average_curves, [CG]), (count_retrieved, [])]
)
def test_a_query_that_a_stacked_strategy_lacks_is_warned_of(function, names):
    with pytest.warns(
        UserWarning,
        match=r"are missing from their means: 'one' lacks 1 of 2\n\nHint: join_judgments",
    ) as caught:
        function(WITHOUT_A_QUERY, *names, **STACKED_COLUMNS)
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_a_query_that_a_stacked_strategy_lacks_is_left_out():
    with pytest.warns(UserWarning, match="missing from their means"):
        result = evaluate(WITHOUT_A_QUERY, "ap", **STACKED_COLUMNS)
    assert result.select("run", "topic").rows() == [("one", 2), ("two", 1), ("two", 2)]


def test_there_is_no_warning_where_every_strategy_has_every_query():
    with warnings.catch_warnings(action="error"):
        evaluate(STACKED, "ap", **STACKED_COLUMNS)
        evaluate(STACKED.clear(), "ap", **STACKED_COLUMNS)


# Refusals.

ColumnNotFound = pl.exceptions.ColumnNotFoundError

ERRORS = [
    (
        ["ap"],
        {"grade": "grades"},
        ColumnNotFound,
        "no column 'grades'; it has .*\\n\\nHint: did you mean 'grade'",
    ),
    (
        ["ap"],
        {"by": "scores"},
        ColumnNotFound,
        "no column 'scores'; it has .*\\n\\nHint: did you mean 'score'",
    ),
    (
        ["ap"],
        {"by": ["score", "wrose"]},
        ColumnNotFound,
        "no column 'wrose'; it has .*\\n\\nHint: did you mean 'worse'",
    ),
    (["ap"], {"strategy": "run"}, ColumnNotFound, "no column 'run'.*; it has query, doc, grade"),
    (["ndcg@0"], {}, ValueError, "`n` must be at least 1, got 0"),
    (
        ["ap"],
        {"by": 3},
        TypeError,
        "`by` must be column names, expressions or lists of them, got 3",
    ),
    (["ap"], {"by": ["score", "score"]}, ValueError, "`by` must name a different first column"),
    (
        ["ap"],
        {"by": ["score", "worse"], "strategy": "doc"},
        ValueError,
        "`by` must have one entry if `strategy` is passed, got score, worse",
    ),
    (["ap"], {"descending": [True, True]}, ValueError, "one entry per strategy, got 2 for 1"),
    (["ap"], {"descending": {"scores": True}}, ValueError, "got 'scores'\\n\\nHint: did you mean"),
    (["ap"], {"doc": 3}, TypeError, "`doc` must be the name of a column, got 3"),
    (["ap"], {"doc": "docs"}, ColumnNotFound, "no column 'docs'; it has .*"),
    (["ap"], {"by": pl.col("score", "worse") * 2}, ValueError, "an expression of `by` must be one"),
    (["ap"], {"grade": pl.all()}, ValueError, "an expression of `grade` must be one column"),
    (["ap", "novelty_ratio"], {}, ValueError, "novelty_ratio needs `known`, a column .*, got none"),
    (["ap"], {"known": "seen"}, ValueError, "`known` is for the measures coverage_ratio, .*, got"),
    (["coverage_ratio"], {"known": 3}, TypeError, "`known` must be .*, got 3"),
    (["coverage_ratio"], {"known": "score"}, TypeError, "known 'score' must be a Boolean, got"),
]


@pytest.mark.parametrize(
    ("measures", "options", "exception", "sentence"),
    ERRORS,
    ids=[re.sub(" at 0x\\w+", "", f"{names} {options}") for names, options, *_ in ERRORS],
)
@pytest.mark.parametrize("frame", [FRAME, FRAME.lazy()], ids=["eager", "lazy"])
def test_wrong_arguments_are_refused_before_anything_runs(
    frame, measures, options, exception, sentence
):
    with pytest.raises(exception, match=sentence):
        evaluate(frame, *measures, **options)


def test_stacked_strategies_are_not_ranked_as_one():
    stacked = FRAME.with_columns(strategy=pl.col("doc"))
    two = stacked.filter(pl.col("strategy") != pl.col("strategy").max())
    for n, frame in ((3, stacked), (2, two)):
        with pytest.raises(
            ValueError, match=rf"`frame` has {n} strategies (.|\n)* pass strategy='strategy'"
        ):
            evaluate(frame, "ap")
    one = evaluate(FRAME.with_columns(strategy=pl.lit("mine")), "ap")
    assert_frame_equal(one, evaluate(FRAME, "ap"))


def test_what_is_wrong_with_stacked_strategies_is_counted_in_rankings():
    """Two strategies answer two queries, of one of which both have a grade that is too high."""
    one = pl.DataFrame({"query": ["a", "b"], "grade": [9.0, 1.0], "score": [1.0, 1.0]})
    stacked = pl.concat([one.with_columns(strategy=pl.lit(name)) for name in "AB"])
    for frame, reason in (
        (stacked, "above `max_grade`, 3, got 9, in 2 of 4 rankings"),
        (stacked.with_columns(pl.col("grade").replace(9, math.nan)), "finite.* in 2 of 4 rankings"),
    ):
        with pytest.raises(ValueError, match=reason):
            evaluate(frame, "ndcng", strategy="strategy", max_grade=3)


def test_a_forgotten_list_around_a_column_that_breaks_ties_is_pointed_out():
    frame = pl.DataFrame({"query": [1], "doc": ["d"], "grade": [1], "score": [0.5]})
    with pytest.raises(
        TypeError, match=r"score 'doc' must be a number(.|\n)*ties='doc'.*\[\['score', 'doc'\]\]"
    ):
        evaluate(frame, "ap", by=["score", "doc"])


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        ({"query": 3}, TypeError, "`query` must be the name of a column, got 3"),
        ({"query": []}, ValueError, "`query` must not be empty"),
        ({"query": ["query"] * 2}, ValueError, "`query` must name each column once, got .*"),
        ({"query": "strategy"}, ValueError, "`query` must not be the column of strategies.*"),
    ],
)
def test_what_cannot_tell_queries_apart_is_refused(arguments, error, sentence):
    frame = pl.DataFrame({"strategy": ["a"], "query": [1], "grade": [1], "score": [0.5]})
    with pytest.raises(error, match=sentence):
        evaluate(frame, "ap", **arguments)


# What is handed on in the place of something else


@pytest.mark.parametrize(
    ("keyword", "hint"),
    [
        ("treshold", "write threshold in the name of a measure: 'ap(threshold=2)'"),
        ("relevant", "did you mean 'relevant_from'?"),
        ("ascending", "descending=False means ascending"),
        ("metrics", "pass measures after the frame without a keyword: 'ap', 'ndcg@10'"),
        ("qrels", "join_judgments(run, judgments) joins the two into the frame to evaluate"),
        ("topic", "did you mean 'query'?"),
        ("max_rel", "did you mean 'max_grade'?"),
    ],
)
def test_a_keyword_that_is_none_is_answered_with_what_is_meant(keyword, hint):
    sentence = f"there is no argument {keyword!r}\n\nHint: {hint}"
    with pytest.raises(TypeError, match=f"^{re.escape(sentence)}$"):
        evaluate(FRAME, "ap", **{keyword: 2})


def test_no_hint_names_the_opposite_or_what_is_no_argument():
    calls = [evaluate, join_judgments, overview, side_by_side, compare, summarise]
    options = {name for each in DEFINITIONS.values() for name in each.options}
    words = ["relevant", "unjudged", "ascending", "baseline", "bases", "by", "parts_", "tiles", "b"]
    for call in calls:
        known = {*inspect.signature(call).parameters}
        for word in {*words, *options} - known:
            with pytest.raises(TypeError) as error:
                call(FRAME, "ap", **{word: 2})
            hint = str(error.value).partition("Hint: ")[2]
            # Results have no options of measures.
            assert call in (evaluate, join_judgments) or "in the name of a measure" not in hint
            if meant := re.search("did you mean '(.*)'", hint):
                assert meant[1] in known
                assert meant[1] not in (f"ir{word}", f"un{word}", f"de{word[1:]}")


RUN_OF_DICTS, QRELS_OF_DICTS = {"q": {"d": 0.3}}, {"q": {"d": 1}}
JOINED = "\n\nHint: join_judgments(run, judgments) joins the two into the frame to evaluate"
READ = "\n\nHint: {} reads a file"


@pytest.mark.parametrize(
    ("call", "sentence", "hint"),
    [
        (lambda: evaluate(QRELS_OF_DICTS, RUN_OF_DICTS, "ap"), "got dict", JOINED),
        (lambda: evaluate(FRAME, FRAME, "ap"), "got DataFrame", JOINED),
        (
            lambda: evaluate(FRAME.drop("grade"), "ap"),
            "has no column 'grade'",
            "\n\nHint: grade= names the column, which join_judgments(run, judgments) adds to a run",
        ),
        (
            lambda: evaluate("a.run", "ap"),
            "got str",
            READ.format("join_judgments(read_run(path), read_qrels(path)) or read_letor(path)"),
        ),
        (
            lambda: join_judgments(Path("a.run"), FRAME),
            "`run` must be",
            READ.format("read_run(path)"),
        ),
        (
            lambda: join_judgments({"a": "a.run"}, FRAME),
            "`run['a']` must",
            READ.format("read_run(path)"),
        ),
        (
            lambda: join_judgments(FRAME, "q.txt"),
            "`judgments` must",
            READ.format("read_qrels(path)"),
        ),
    ],
)
def test_what_is_no_frame_to_evaluate_is_answered_with_what_makes_one(call, sentence, hint):
    with pytest.raises((TypeError, pl.exceptions.ColumnNotFoundError)) as error:
        call()
    assert sentence in str(error.value)
    assert str(error.value).endswith(hint)


RAW = FRAME.with_columns(strategy=pl.lit("a"))
PER_QUERY = pl.DataFrame({"strategy": ["a", "b"], "query": [1, 1], "ap": [0.1, 0.2]})


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        (lambda: compare(RAW), "`per_query` is what evaluate(frame, 'ap', ...) returns"),
        (lambda: summarise(FRAME), "`per_query` is what evaluate(frame, 'ap', ...) returns"),
        (lambda: charts.strategy_bars(PER_QUERY), "`summary` is what summarise(per_query) returns"),
        (
            lambda: charts.comparison_forest(PER_QUERY),
            "`comparison` is what compare(per_query) returns",
        ),
    ],
)
def test_a_frame_of_another_kind_is_answered_with_what_makes_the_one_that_is_meant(call, hint):
    with pytest.raises((ValueError, pl.exceptions.ColumnNotFoundError)) as error:
        call()
    assert re.search(rf"\n\nHint: (.*; )?{re.escape(hint)}$", str(error.value))


def test_popularity_as_a_grade_is_answered_with_what_makes_grades_of_it():
    frame = pl.DataFrame({"query": [1, 1], "grade": [52_000, 3], "score": [1.0, 2.0]})
    said = (
        "grade 'grade': `gain='exp2'` takes relevance up to 1000, since sums of larger gains may "
        "overflow, got more, in 1 of 1 queries\n\nHint: phi_relevance converts popularity"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(said)}"):
        evaluate(frame, "ndcg")
    with pytest.raises(ValueError, match=f"^{re.escape(said)}"):
        frame.select(GRADED.ndcg())
