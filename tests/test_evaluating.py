"""Whole frames: one row per strategy and query out."""

from __future__ import annotations

import datetime as dt
import inspect
import re

import numpy as np
import polars as pl
import pytest
from helpers import GRADED
from polars.testing import assert_frame_equal

from polars_graded import compare, evaluate, join_judgments, overview, side_by_side, summarise
from polars_graded._frames.rows import Groups
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


def test_grades_of_a_threshold_must_be_relevant_on_the_scale():
    """Otherwise grades of the threshold or more would not all be relevant."""
    for options, sentence in (
        ({}, "must be above `irrelevant`, 0, got 0"),
        ({"irrelevant": 1}, "must be above `irrelevant`, 1, got 0"),
        ({"irrelevant": -1, "relevant_from": 1}, "must be at least `relevant_from`, 1, got 0"),
    ):
        with pytest.raises(ValueError, match=f"`threshold` of ap {sentence}"):
            evaluate(FRAME, "ap(threshold=0)", **options)
    assert evaluate(FRAME, "ap(threshold=0)", irrelevant=-1).height


def test_chen_method_4_summary_table_of_both_examples():
    counts = evaluate(worked_example("chen"), "n_retrieved", "n_relevant", "n_relevant_retrieved")
    assert counts.drop("strategy", "query").sum().row(0) == (15 + 15, 10 + 3, 5 + 3)


WITHOUT_A_QUERY = STACKED.filter(~((pl.col("run") == "one") & (pl.col("topic") == 1)))


def test_a_query_that_a_stacked_strategy_lacks_is_warned_of():
    with pytest.warns(
        UserWarning,
        match=r"are missing from their means: 'one' lacks 1 of 2\n\nHint: join_judgments",
    ) as caught:
        evaluate(WITHOUT_A_QUERY, "ap", **STACKED_COLUMNS)
    assert len(caught) == 1
    assert caught[0].filename == __file__


ColumnNotFound = pl.exceptions.ColumnNotFoundError

ERRORS = [
    (["ap"], {"grade": "grades"}, ColumnNotFound, "no column 'grades'; .*did you mean 'grade'"),
    (["ap"], {"by": "scores"}, ColumnNotFound, "no column 'scores'; .*did you mean 'score'"),
    (["ap"], {"by": ["score", "wrose"]}, ColumnNotFound, "'wrose'; .*did you mean 'worse'"),
    (["ap"], {"strategy": "run"}, ColumnNotFound, "no column 'run'.*; it has query, doc, grade"),
    (["ndcg@0"], {}, ValueError, "`n` must"),
    (["ap"], {"by": 3}, TypeError, "`by` must"),
    (["ap"], {"by": ["score", "score"]}, ValueError, "`by` must"),
    (["ap"], {"by": ["score", "worse"], "strategy": "doc"}, ValueError, "`by` must"),
    (
        ["ap"],
        {"by": ["score", "worse"], "strategy": "doc", "descending": {"d1": False}},
        ValueError,
        "`by` must have one entry if `strategy` is passed, got score, worse",
    ),
    (["ap"], {"descending": [True, True]}, ValueError, "one entry per strategy, got 2 for 1"),
    (["ap"], {"descending": {"scores": True}}, ValueError, "got 'scores'\\n\\nHint: did you mean"),
    (["ap"], {"doc": 3}, TypeError, "`doc` must"),
    (["ap"], {"doc": "docs"}, ColumnNotFound, "no column 'docs'; it has .*"),
    (["ap"], {"by": pl.col("score", "worse") * 2}, ValueError, "an expression of `by` must be one"),
    (["ap"], {"grade": pl.all()}, ValueError, "an expression of `grade` must be one column"),
    (["ap", "novelty_ratio"], {}, ValueError, "novelty_ratio needs `known`, a column .*, got none"),
    (["ap"], {"known": "seen"}, ValueError, "`known` is"),
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
    with pytest.raises(exception, match=f"(?s){sentence}"):
        evaluate(frame, *measures, **options)


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        ({"query": 3}, TypeError, "`query` must"),
        ({"query": []}, ValueError, "`query` must not be empty"),
        ({"query": ["query"] * 2}, ValueError, "`query` must"),
        ({"query": "strategy"}, ValueError, "`query` must"),
    ],
)
def test_what_cannot_tell_queries_apart_is_refused(arguments, error, sentence):
    frame = pl.DataFrame({"strategy": ["a"], "query": [1], "grade": [1], "score": [0.5]})
    with pytest.raises(error, match=sentence):
        evaluate(frame, "ap", **arguments)


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


def test_popularity_as_a_grade_is_answered_with_what_makes_grades_of_it():
    frame = pl.DataFrame({"query": [1, 1], "grade": [52_000, 3], "score": [1.0, 2.0]})
    said = (
        "grade 'grade': `gain='exp2'` takes relevance up to 1000, since sums of larger gains may "
    )
    with pytest.raises(ValueError, match=f"^{re.escape(said)}"):
        evaluate(frame, "ndcg")
    with pytest.raises(ValueError, match=f"^{re.escape(said)}"):
        frame.select(GRADED.ndcg())


# Which rows are of one ranking, however they stand.

KEYS = {
    "numbers": [3, 1, 2],
    "numbers and null": [3, None, 2],
    "texts": ["q10", "a text that is longer than twelve bytes", ""],
    "texts and null": ["b", None, "a"],
    "floats": [0.0, float("nan"), -1.5],
    "Booleans": [True, None, False],
    "days": [dt.date(2020, 1, 2), dt.date(2019, 1, 1), None],
    "durations": [dt.timedelta(1), dt.timedelta(0), dt.timedelta(2)],
    "Enum": pl.Series(["b", "a", "c"], dtype=pl.Enum(["c", "b", "a"])),
    "Categorical": pl.Series(["b", "a", "c"], dtype=pl.Categorical),
    "lists": [[1], [], [1, 2]],
}
PLACES = {
    "together": [0, 0, 0, 1, 2, 2],
    "in turn": [0, 1, 2, 0, 1, 2],
    "in runs": [0, 0, 1, 1, 0, 0, 2, 2, 1, 1],
    "of one row each": [2, 0, 1],
    "two by two": [1, 1, 0, 0, 2, 2],
}


def groups_of(frame, keys):
    """The numbers of the rows of each group by its keys, as a reader would find them."""
    found = {}
    for number, row in enumerate(frame.select(keys).rows()):
        found.setdefault(str(row), []).append(number)
    return found


def as_found(frame, keys):
    """The numbers of the rows of each group that `Groups` finds, in their order."""
    groups = Groups.of(frame.with_row_index("row"), keys, ["row"])
    rows = groups.lists("row").flat.to_list()
    parts = [rows[a:b] for a, b in zip(groups.offsets, groups.offsets[1:], strict=False)]
    return dict(zip([str(row) for row in groups.keys.rows()], parts, strict=True))


@pytest.mark.parametrize("places", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("keys", KEYS.values(), ids=KEYS)
def test_rows_of_one_key_are_one_group_wherever_they_stand(keys, places):
    key = pl.Series("key", keys).gather(places)
    frame = pl.DataFrame([key, pl.Series("other", places) % 2])
    for names in (["key"], ["key", "other"]):
        assert as_found(frame, names) == groups_of(frame, names)


def test_strategies_are_measured_together_as_alone():
    """Ties of one strategy are broken in rows that all of them share."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "query": rng.integers(0, 9, 400),
            "grade": rng.integers(0, 4, 400),
            "doc": rng.permutation(400),
            **{
                name: rng.integers(0, levels, 400)
                for name, levels in zip("abc", (2, 400, 9), strict=True)
            },
        }
    )
    measures = ["ap", "ndcg", "mu_ap", "roc_auc", "ndcg(ties=average)", "precision@3"]
    for ties in ("order", "doc"):
        together = evaluate(frame, measures, by=["a", "b", "c"], ties=ties)
        alone = [evaluate(frame, measures, by=name, ties=ties) for name in "abc"]
        assert_frame_equal(together, pl.concat(alone), abs_tol=1e-12)
