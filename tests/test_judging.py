"""A run and its judgments in any form, joined: nothing lost, nothing wrong in silence."""

from __future__ import annotations

import math
import re
import warnings

import polars as pl
import pytest
from helpers import needed
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from polars_graded import DataWarning, datasets, evaluate, join_judgments, read_qrels, read_run


def frame_of(columns: str, *rows: tuple[object, ...]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=columns.split(), orient="row")


JUDGMENTS = frame_of("query doc grade", ("q1", "d1", 2), ("q1", "d2", 1), ("q2", "d1", 1))
RETRIEVED = frame_of("query doc score", ("q1", "d9", 0.4), ("q1", "d1", 0.9))
TWO = frame_of(
    "strategy query doc score",
    ("b", "q1", "d1", 0.9),
    ("a", "q2", "d1", 0.8),
    ("b", "q2", "d7", 0.7),
    ("b", "q1", "d2", 0.6),
)


STRATEGY_NAMES = "\n\nHint: strategy= names the column"
UNANSWERED = "judged queries have no row in `run`, and count as failures"
expected_to_miss = pytest.mark.filterwarnings(f"ignore:. of . {UNANSWERED}")
LACKING = (
    "some strategies have no row for judged queries that others answered; these queries count as "
)
ASKED_ALIKE = "Hint: if strategies ran on different queries, keep the queries that all answered"
expected_to_lack = pytest.mark.filterwarnings(f"ignore:{LACKING}")


@expected_to_miss
def test_every_row_says_whether_it_was_retrieved_and_whether_it_was_judged():
    expected = frame_of(
        "query doc score grade",
        ("q1", "d9", 0.4, None),
        ("q1", "d1", 0.9, 2),
        ("q1", "d2", None, 1),
        ("q2", "d1", None, 1),
    )
    assert_frame_equal(join_judgments(RETRIEVED, JUDGMENTS), expected)


@expected_to_lack
def test_every_strategy_gets_every_judged_document_of_every_judged_query():
    expected = frame_of(
        "strategy query doc score grade",
        ("b", "q1", "d1", 0.9, 2),
        ("a", "q2", "d1", 0.8, 1),
        ("b", "q2", "d7", 0.7, None),
        ("b", "q1", "d2", 0.6, 1),
        ("b", "q2", "d1", None, 1),
        ("a", "q1", "d1", None, 2),
        ("a", "q1", "d2", None, 1),
    )
    assert_frame_equal(join_judgments(TWO, JUDGMENTS, strategy="strategy"), expected)


@expected_to_miss
def test_columns_of_the_run_come_first_then_what_judgments_add():
    run = RETRIEVED.with_columns(rank=pl.Series([2, 1]), title=pl.lit("t"))
    judgments = JUDGMENTS.select("grade", "doc", "query", assessor=pl.lit("A"))
    frame = join_judgments(run, judgments)
    assert frame.columns == ["query", "doc", "score", "rank", "title", "grade", "assessor"]
    assert frame.row(0) == ("q1", "d9", 0.4, 2, "t", None, None)
    assert frame.row(-1) == ("q2", "d1", None, None, None, 1, "A")


@expected_to_lack
def test_columns_may_have_any_name():
    run = TWO.rename({"query": "topic", "doc": "url", "strategy": "system"})
    judgments = JUDGMENTS.rename({"query": "topic", "doc": "url", "grade": "stars"})
    frame = join_judgments(
        run, judgments, query="topic", doc="url", grade="stars", strategy="system"
    )
    expected = join_judgments(TWO, JUDGMENTS, strategy="strategy")
    assert_frame_equal(
        frame, expected.rename(dict(zip(expected.columns, frame.columns, strict=True)))
    )


@expected_to_miss
@pytest.mark.parametrize("dtype", [pl.Categorical(), pl.Enum(["q1", "q2", "d1", "d2", "d9"])])
def test_keys_may_be_categories(dtype):
    keys = {"query": dtype, "doc": dtype}
    frame = join_judgments(RETRIEVED.cast(keys), JUDGMENTS.cast(keys))
    assert_frame_equal(frame, join_judgments(RETRIEVED, JUDGMENTS).cast(keys))


def test_order_of_the_run_is_kept_in_a_long_frame():
    n = 200_000
    run = pl.select(query=pl.int_range(n) * 7919 % 1009, doc=pl.int_range(n), score=pl.lit(1.0))
    found, missed = run.tail(n // 2), run.select("query", pl.col("doc") + n).tail(n // 2)
    judgments = pl.concat([found.select("query", "doc"), missed]).with_columns(grade=pl.lit(1))
    frame = join_judgments(run, judgments.sample(fraction=1.0, shuffle=True, seed=1))
    assert_frame_equal(frame.head(n).select(run.columns), run)
    assert frame["score"].tail(-n).null_count() == frame.height - n == n // 2


def test_a_judgment_without_a_grade_is_none():
    judgments = frame_of(
        "query doc grade note",
        ("q1", "d9", None, "x"),
        ("q1", "d1", 1, "y"),
        ("q1", "d3", None, "z"),
        ("q2", "d1", None, "z"),
    )
    expected = frame_of(
        "query doc score grade note", ("q1", "d9", 0.4, None, None), ("q1", "d1", 0.9, 1, "y")
    )
    assert_frame_equal(join_judgments(RETRIEVED, judgments), expected)


@expected_to_miss
@pytest.mark.parametrize(
    ("unjudged", "sentence"),
    [
        (["q9", "q9", "q7"], "got 2: 'q9', 'q7'"),
        (["q9", "q8", "q7", "q6"], "got 4: 'q9', 'q8', 'q7', ..."),
    ],
)
def test_queries_without_judgments_are_left_out_with_a_warning(unjudged, sentence):
    more = [(query, f"d{i}", 0.1) for i, query in enumerate(unjudged)]
    run = pl.concat([frame_of("query doc score", *more), RETRIEVED])
    sentence = f"queries without any judgment are left out of the result, {sentence}"
    with pytest.warns(UserWarning, match=f"^{re.escape(sentence)}$") as caught:
        frame = join_judgments(run, JUDGMENTS)
    assert {warning.filename for warning in caught} == {__file__}
    assert_frame_equal(frame, join_judgments(RETRIEVED, JUDGMENTS))


def test_a_strategy_that_answered_only_unjudged_queries_is_still_judged():
    run = pl.concat([TWO, frame_of("strategy query doc score", ("c", "q7", "d1", 0.1))])
    with pytest.warns(UserWarning, match="judged queries|without any judgment") as caught:
        frame = join_judgments(run, JUDGMENTS, strategy="strategy")
    assert [str(warning.message) for warning in caught] == [
        "queries without any judgment are left out of the result, got 1: 'q7'",
        "'c' answered none of the judged queries, so all of these count as failures",
        f"{LACKING}failures: 'a' lacks 1 of 2 ('q1')\n\n{ASKED_ALIKE}",
    ]
    assert frame.filter(strategy="c").select("query", "doc", "score").rows() == [
        ("q1", "d1", None),
        ("q1", "d2", None),
        ("q2", "d1", None),
    ]


def test_a_single_strategy_is_kept_in_added_rows():
    run = TWO.filter(strategy="b")
    assert_frame_equal(
        join_judgments(run, JUDGMENTS), join_judgments(run, JUDGMENTS, strategy="strategy")
    )
    assert join_judgments(run, JUDGMENTS)["strategy"].to_list() == ["b"] * 4


def test_several_strategies_are_not_merged_in_silence():
    sentence = (
        '`run` must be one ranking per query, got 2 strategies in its column "strategy":'
        ' pass strategy="strategy" to keep them apart, or drop the column to merge them'
    )
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        join_judgments(TWO, JUDGMENTS)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([("q1", "d1")], "got 1 more than once: ('q1', 'd1')"),
        (
            [("q1", "d9"), ("q1", "d1"), ("q1", "d1")],
            "got 2 more than once: ('q1', 'd1'), ('q1', 'd9')",
        ),
    ],
)
def test_a_document_twice_is_refused_in_either_frame(rows, sentence):
    more = frame_of("query doc score", *((*row, 0.5) for row in rows))
    run = pl.concat([RETRIEVED, more])
    sentence = f"must have each (query, doc) once, {sentence}"
    with pytest.raises(ValueError, match=f"^{re.escape(f'`run` {sentence}')}(\n|$)"):
        join_judgments(run, JUDGMENTS)
    judgments = run.rename({"score": "grade"})
    with pytest.raises(ValueError, match=f"^{re.escape(f'`judgments` {sentence}')}\n\nHint: "):
        join_judgments(RETRIEVED, judgments)


@expected_to_lack
def test_a_document_twice_is_refused_within_a_strategy_only():
    run = pl.concat([TWO, TWO.head(1)])
    sentence = (
        "`run` must have each (strategy, query, doc) once, got 1 more than once: ('b', 'q1', 'd1')"
        "\n\nHint: "
    )
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}.unique") as caught:
        join_judgments(run, JUDGMENTS, strategy="strategy")
    call = str(caught.value).partition("Hint: ")[2].partition(" drops")[0]
    followed = join_judgments(eval(f"run{call}"), JUDGMENTS, strategy="strategy")  # noqa: S307
    assert_frame_equal(followed, join_judgments(TWO, JUDGMENTS, strategy="strategy"))
    other = pl.concat([TWO, TWO.head(1).with_columns(pl.col("score") + 1)])
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}read_run"):
        join_judgments(other, JUDGMENTS, strategy="strategy")
    same_document = TWO.with_columns(doc=pl.lit("d1")).unique(["strategy", "query"])
    assert join_judgments(same_document, JUDGMENTS, strategy="strategy").height == 3 + 3


def test_hints_for_repeated_documents_lead_to_the_right_rows():
    docs = ["a", "b", "a"]
    judgments = frame_of("query doc grade", ("q1", "a", 1), ("q1", "b", 0))
    with pytest.raises(ValueError, match=r"Hint: (list.*) keeps the first place") as caught:
        join_judgments({"q1": docs}, judgments)
    call = str(caught.value).partition("Hint: ")[2].partition(" keeps")[0]
    followed = join_judgments({"q1": eval(call)}, judgments)  # noqa: S307
    assert_frame_equal(followed, join_judgments({"q1": ["a", "b"]}, judgments))
    twice = pl.concat([judgments, judgments])
    with pytest.raises(ValueError, match=r"Hint: \.unique\(maintain_order=True\) drops"):
        join_judgments({"q1": ["a"]}, twice)
    other = pl.concat([judgments, judgments.with_columns(pl.col("grade") + 1)])
    with pytest.raises(
        ValueError, match=r"Hint: .*\.max\(\)\) keeps .*; if documents are judged once per subtopic"
    ):
        join_judgments({"q1": ["a"]}, other)


def test_keys_of_different_types_are_refused():
    sentence = '"query" must have one data type, got Int64 in `run` and String in `judgments`'
    with pytest.raises(TypeError, match=f"^{re.escape(sentence)}: cast one of them$"):
        join_judgments(RETRIEVED.with_columns(query=pl.lit(301, pl.Int64)), JUDGMENTS)
    sentence = '"doc" must have one data type, got String in `run` and UInt32 in `judgments`'
    with pytest.raises(TypeError, match=f"^{re.escape(sentence)}: cast one of them$"):
        join_judgments(RETRIEVED, JUDGMENTS.with_columns(doc=pl.lit(1, pl.UInt32)))


@pytest.mark.parametrize("column", ["strategy", "query", "doc"])
def test_nulls_in_keys_of_the_run_are_refused(column):
    run = TWO.with_columns(pl.when(pl.col("score") > 0.7).then(column))
    with pytest.raises(ValueError, match=f'^"{column}" must not be null in `run`, got 2 nulls$'):
        join_judgments(run, JUDGMENTS, strategy="strategy")


@pytest.mark.parametrize("column", ["query", "doc"])
def test_nulls_in_keys_of_judgments_are_refused(column):
    judgments = JUDGMENTS.with_columns(pl.when(pl.col("grade") > 1).then(column))
    sentence = f'"{column}" must not be null in `judgments`, got 2 nulls'
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        join_judgments(RETRIEVED, judgments)


@pytest.mark.parametrize(
    ("run", "judgments", "sentence"),
    [
        (
            RETRIEVED.drop("query"),
            JUDGMENTS,
            "`run` has no column 'query'; it has doc, score\n\nHint: query= names the column",
        ),
        (
            RETRIEVED,
            JUDGMENTS,
            "`run` has no column 'strategy'; it has query, doc, score" + STRATEGY_NAMES,
        ),
    ],
)
def test_a_missing_column_is_named_beside_those_present(run, judgments, sentence):
    strategy = None if "score" in run.columns and "query" not in run.columns else "strategy"
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match=f"^{re.escape(sentence)}$"):
        join_judgments(run, judgments, strategy=strategy)


def test_a_column_in_both_frames_is_refused():
    sentence = 'only "query", "doc" may be in both `run` and `judgments`, got "grade":'
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}"):
        join_judgments(RETRIEVED.with_columns(grade=1), JUDGMENTS)
    with pytest.raises(ValueError, match='got "grade", "score": drop or rename'):
        join_judgments(
            RETRIEVED.with_columns(grade=1),
            JUDGMENTS.select("query", "doc", "grade", score="grade"),
        )


@pytest.mark.parametrize("columns", [["query", "doc"], ["strategy", "query", "doc"]])
def test_a_run_without_anything_to_rank_by_is_refused(columns):
    sentence = "`run` must have a column to rank by, such as a score, got "
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}"):
        join_judgments(TWO.filter(strategy="b").select(columns), JUDGMENTS)


def slowly_judged(run: pl.DataFrame, judgments: pl.DataFrame) -> list[tuple[object, ...]]:
    """The rows of a run and its misses, one at a time: strategy, query, doc, score, grade."""
    grades = {(q, d): g for q, d, g in judgments.rows() if g is not None}
    queries = {q for q, _ in grades}
    retrieved = {row[:3] for row in run.rows()}
    return [
        *((*row, grades.get(row[1:3])) for row in run.rows() if row[1] in queries),
        *(
            (strategy, q, d, None, grade)
            for strategy in dict.fromkeys(run["strategy"])
            for (q, d), grade in grades.items()
            if (strategy, q, d) not in retrieved
        ),
    ]


KEYS = st.tuples(st.integers(0, 3), st.integers(0, 4))


@settings(deadline=None)
@given(
    run=st.dictionaries(st.tuples(st.sampled_from("abc"), KEYS), st.floats(-1, 1)),
    judgments=st.dictionaries(KEYS, st.sampled_from([None, 0, 1, 2])),
)
def test_judging_is_as_a_slow_loop_does_it(run, judgments):
    run = pl.DataFrame(
        [(strategy, *key, score) for (strategy, key), score in run.items()],
        schema={"strategy": pl.String, "query": pl.Int64, "doc": pl.Int64, "score": pl.Float64},
        orient="row",
    )
    judgments = pl.DataFrame(
        [(*key, grade) for key, grade in judgments.items()],
        schema={"query": pl.Int64, "doc": pl.Int64, "grade": pl.Int64},
        orient="row",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        frame = join_judgments(run, judgments, strategy="strategy")
    assert frame.rows() == slowly_judged(run, judgments)


# What is too little in common


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (["msmarco_1", "msmarco_2"], ["1", "2"]),
        (["1", "2"], ["D1", "D2"]),
        (["001", "022"], ["1", "22"]),
        (["1.0", "2.0"], ["1", "2"]),
    ],
)
@pytest.mark.parametrize("column", ["query", "doc"])
def test_ids_of_different_forms_are_refused_with_one_of_each_side(ours, theirs, column):
    run = pl.DataFrame({"query": "q", "doc": "d", "score": 1.0, column: ours})
    judgments = pl.DataFrame({"query": "q", "doc": "d", "grade": 1, column: theirs})
    sentence = (
        f"`run` and `judgments` must write {column!r} in the same form, got, for example, "
        f"{ours[0]!r} in `run` and {theirs[0]!r} in `judgments`"
    )
    for each in (run, run.cast({column: pl.Categorical()})):
        same = judgments.cast({column: each.schema[column]})
        with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
            join_judgments(each, same)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (["x", "y"], ["a", "b"]),
        (["7", "8"], ["1", "2"]),
        (["FT1", "7"], ["1", "2"]),  # both sides have whole numbers
        (["a7", "b8"], ["LA1", "2"]),
        ([7, 8], [1, 2]),
    ],
)
def test_a_run_that_finds_no_judged_document_is_0(ours, theirs):
    """Judgments for answers of language models hold only what is relevant."""
    run = pl.DataFrame({"query": ["q", "q"], "doc": ours, "score": [2.0, 1.0]})
    judgments = pl.DataFrame({"query": ["q", "q"], "doc": theirs, "grade": 1})
    said = "in 1 of 1 queries no retrieved document is judged; 0 of 2 retrieved documents are"
    for each in (run, run.lazy()):
        with pytest.warns(DataWarning.ids, match=f"^{said}"):
            judged = join_judgments(each, judgments).lazy().collect()
        assert judged.height == 4
    assert evaluate(judged, "ap", "recall@10").row(0)[2:] == (0, 0)


def test_a_document_of_another_query_shows_that_ids_have_one_form():
    run = {"q1": {"1.0": 1.0, "1": 0.5}, "q2": {"3": 1}}
    with pytest.warns(DataWarning.ids):
        join_judgments(run, {"q1": {"2": 1}, "q2": {"1": 1}})


def test_a_run_of_other_queries_is_0_with_the_queries_of_both_sides():
    with pytest.warns(DataWarning) as caught:
        judged = join_judgments({"topic 1": {"d1": 1.0}}, {"q1": {"d1": 1}})
    assert [str(each.message) for each in caught] == [
        "queries without any judgment are left out of the result, got 1: 'topic 1'",
        f"1 of 1 {UNANSWERED}: 'q1'",
    ]
    assert judged.rows() == [("q1", "d1", None, 1)]


NOTHING = [
    {},
    {"q1": {}},
    pl.DataFrame(),
    pl.DataFrame({"query": ["q1", "q2"], "retrieved": [[], None]}),
    pl.DataFrame({"query": [1], "doc": [2], "score": [1.0]}).clear(),
    pl.DataFrame({"query": [], "doc": [], "score": []}).to_pandas(),
]


@pytest.mark.parametrize("run", NOTHING)
@pytest.mark.parametrize("judgments", [{"q1": {"d1": 1}, "q2": {"d2": 2}}, {1: [7], 2: [8]}])
def test_nothing_retrieved_is_0_with_a_warning(run, judgments):
    with pytest.warns(DataWarning.missing, match=f"^2 of 2 {UNANSWERED}: "):
        judged = join_judgments(run, judgments).lazy().collect()
    with pytest.warns(DataWarning, match="'score' retrieved nothing for any query"):
        values = evaluate(judged, "ap", "ndcg@10", "success@1")
    assert [row[1:] for row in values.rows()] == [(query, 0, 0, 0) for query in judgments]
    named = {"a": {query: list(docs) for query, docs in judgments.items()}, "b": run}
    with pytest.warns(DataWarning, match="'b' answered none of the judged queries"):
        judged = join_judgments(named, judgments).lazy().collect()
    with pytest.warns(DataWarning, match="'b' retrieved nothing for any query"):
        values = evaluate(judged, "success@1", strategy="strategy")
    assert values["success@1"].to_list() == [1, 1, 0, 0]


def test_strategies_that_all_retrieved_nothing_are_named_if_strategy_is_passed():
    with pytest.warns(DataWarning.missing) as caught:
        judged = join_judgments({"a": {}, "b": {}}, {"q": {"d": 1}}, strategy="system")
    assert str(caught[1].message).startswith("'a', 'b' answered none of the judged queries")
    assert judged.rows() == [("a", "q", "d", None, 1), ("b", "q", "d", None, 1)]


def test_judgments_without_any_document_judge_no_query():
    for judgments in ({}, {"q1": []}, pl.DataFrame({"query": [], "doc": [], "grade": []})):
        with pytest.warns(DataWarning.topics, match="got 1: 'q1'$"):
            assert join_judgments({"q1": {"d": 1.0}}, judgments).is_empty()


ANSWERED_BY = {"all": range(1, 7), "few": [1], "most": range(1, 6)}


def test_judged_queries_that_some_strategies_alone_answer_are_told():
    runs = {name: {f"q{i}": {"d": 1.0} for i in its} for name, its in ANSWERED_BY.items()}
    judgments = {f"q{i}": {"d": 1, "e": 0} for i in range(1, 7)}
    sentence = (
        f"{LACKING}failures: 'few' lacks 5 of 6 ('q2', 'q3', 'q4', ...); 'most' lacks 1 of 6 "
        f"('q6')\n\n{ASKED_ALIKE}"
    )
    with pytest.warns(UserWarning, match=f"^{re.escape(sentence)}$") as caught:
        judged = join_judgments(runs, judgments)
    assert [warning.filename for warning in caught] == [__file__]
    # Each counts as 0, which a mean over the queries that were answered would hide.
    means = (
        evaluate(judged, "ap", strategy="strategy").group_by("strategy").agg(pl.col("ap").mean())
    )
    assert dict(means.rows()) == {"all": 1, "few": 1 / 6, "most": 5 / 6}
    with warnings.catch_warnings(action="error"):
        join_judgments({"all": runs["all"]}, judgments)
        join_judgments({"a": runs["few"], "b": runs["few"]}, {"q1": {"d": 1}})


def test_little_that_is_judged_is_warned_of_with_ids_of_each_side():
    # Of five queries two find a judged document, the others have ids of another kind.
    run = pl.select(query=pl.int_range(10) // 2, score=pl.int_range(10)).with_columns(
        doc=pl.when(pl.col("query") < 2).then(pl.format("d{}", "score")).otherwise(pl.lit("D7")),
        score=-pl.col("score"),
    )
    run = run.with_columns(
        doc=pl.when(pl.col("query") < 2).then("doc").otherwise(pl.format("D{}", -pl.col("score")))
    )
    judgments = pl.select(query=pl.int_range(5)).with_columns(
        doc=pl.format("d{}", 2 * pl.col("query")), grade=pl.lit(1)
    )
    sentence = (
        "in 3 of 5 queries no retrieved document is judged; 2 of 10 retrieved documents "
        "are judged (20.0%)\n\nHint: check that 'doc' means the same in `run` ('d1') and "
        "`judgments` ('d4')"
    )
    with pytest.warns(UserWarning, match=f"^{re.escape(sentence)}"):
        join_judgments(run, judgments)


def test_identifiers_that_are_written_differently_are_told_though_some_match():
    """Each query has one document that both name alike, of a hundred."""
    run = pl.select(query=pl.int_range(300) // 100, n=pl.int_range(300)).with_columns(
        doc=pl.when(pl.col("n") % 100 == 0)
        .then(pl.format("{}", "n"))
        .otherwise(pl.format("D{}", "n"))
    )
    run = run.with_columns(score=-pl.col("n"))
    judgments = run.select("query", doc=pl.format("{}", "n"), grade=1)
    said = (
        "the run and the judgments have few documents in common; 3 of 300 retrieved documents "
        "are judged (1.0%)\n\nHint: check that 'doc' means the same in `run` ('D1') and "
        "`judgments` ('1')"
    )
    with pytest.warns(UserWarning, match=f"^{re.escape(said)}"):
        join_judgments(run.drop("n"), judgments)
    # As many are judged where users have other items each, of the same: that is what it is.
    with warnings.catch_warnings(action="error"):
        others = judgments.with_columns(
            doc=pl.when(pl.int_range(300) % 100 == 0)
            .then("doc")
            .otherwise(pl.format("D{}", (pl.int_range(300) + 100) % 300))
        )
        assert join_judgments(run.drop("n"), others)["grade"].count() == 300


# Other forms

RUNS = {"b": {"q1": {"d1": 0.9, "d2": 0.6}, "q2": {"d7": 0.7}}, "a": {"q2": {"d1": 0.8}}}
QRELS = {"q1": {"d1": 2, "d2": 1}, "q2": {"d1": 1}}


def test_mappings_of_mappings_are_runs_and_judgments():
    expected = join_judgments(TWO.filter(strategy="b").drop("strategy"), JUDGMENTS)
    assert_frame_equal(join_judgments(RUNS["b"], QRELS), expected, check_row_order=False)
    topics = join_judgments(RUNS["b"], QRELS, query="topic", doc="url", grade="stars")
    assert topics.columns == ["topic", "url", "score", "stars"]


@expected_to_lack
def test_a_mapping_of_names_stacks_strategies():
    expected = join_judgments(TWO, JUDGMENTS, strategy="strategy")
    assert_frame_equal(join_judgments(RUNS, QRELS), expected, check_row_order=False)
    frames = {name: TWO.filter(strategy=name).drop("strategy") for name in ("b", "a")}
    assert_frame_equal(join_judgments(frames, JUDGMENTS), expected, check_row_order=False)
    # What a frame calls its strategy gives way to the name.
    named = {"b": TWO.filter(strategy="b"), "a": RUNS["a"]}
    assert_frame_equal(join_judgments(named, QRELS), expected, check_row_order=False)
    systems = join_judgments(RUNS, QRELS, strategy="system")
    assert systems["system"].unique().sort().to_list() == ["a", "b"]


def test_scores_and_grades_of_mappings_may_be_whole_or_not():
    judged = join_judgments({"q": {"a": 2, "b": 0.5, "c": None}}, {"q": {"a": 1, "b": 0.5}})
    assert judged.rows() == [("q", "a", 2.0, 1.0), ("q", "b", 0.5, 0.5), ("q", "c", None, None)]


@pytest.mark.parametrize(
    ("run", "sentence"),
    [
        ({"q": {"a": 1, 1: 2}}, "'doc' of `run` must hold texts or numbers, .* got int, str"),
        ({"q": {"a": 10**40}}, "'score' of `run` must hold numbers of at most 128 bits"),
        ({"q": {"a": 1}, "r": ["bc"]}, "`run` must have mappings for all queries or lists for all"),
        ({"q": {"a", "b"}}, "`run` must have documents in rank order, got a set of them for 'q'"),
        ({"A": {"q": {"a", "b"}}}, r"`run\['A'\]` must have documents in rank order, got a set"),
    ],
)
def test_mappings_of_what_is_no_ranking_are_refused(run, sentence):
    """Documents of a set came in another order each time that Python was started."""
    with pytest.raises((TypeError, ValueError), match=f"^{sentence}"):
        join_judgments(run, {"q": {"a", "b"}})


def test_objects_of_ranx_are_taken():
    ranx = needed("ranx", ".[peers]")
    assert_frame_equal(
        join_judgments(ranx.Run(RUNS["b"]), ranx.Qrels(QRELS)),
        join_judgments(RUNS["b"], QRELS),
        check_row_order=False,
    )


ANSWERS = pl.DataFrame(
    {"query": [1, 2], "retrieved": [["c", "a"], ["b"]], "relevant": [["a", "b"], ["b"]]}
)
ANSWERED = frame_of(
    "query doc rank score grade",
    (1, "c", 1, -1, None),
    (1, "a", 2, -2, 1),
    (2, "b", 1, -1, 1),
    (1, "b", None, None, 1),
)


@pytest.mark.parametrize(
    ("run", "judgments"),
    [
        (ANSWERS, ANSWERS),
        (ANSWERS.select("query", doc="retrieved"), ANSWERS.select("query", doc="relevant")),
        ({1: ["c", "a"], 2: ("b",)}, {1: ["a", "b"], 2: {"b"}}),
    ],
    ids=["named as in retrieval", "of documents", "mappings"],
)
def test_lists_of_ids_are_in_rank_order(run, judgments):
    assert_frame_equal(join_judgments(run, judgments), ANSWERED)


def test_lists_of_structs_bring_their_scores_and_grades():
    run = pl.DataFrame({"query": [1], "retrieved": [[{"doc": "c", "score": 0.2}]]})
    relevant = pl.DataFrame(
        {"query": [1], "relevant": [[{"doc": "a", "grade": 3}, {"doc": "c", "grade": 1}]]}
    )
    expected = frame_of("query doc score rank grade", (1, "c", 0.2, 1, 1), (1, "a", None, None, 3))
    assert_frame_equal(join_judgments(run, relevant), expected)


def test_lists_of_several_strategies_are_stacked():
    stacked = pl.concat([ANSWERS.with_columns(strategy=pl.lit(name)) for name in ("x", "y")])
    found = join_judgments(stacked, ANSWERS, strategy="strategy")
    for name in ("x", "y"):
        assert_frame_equal(found.filter(strategy=name).drop("strategy"), ANSWERED)


# Grades that are no judgments

POOLED = frame_of("query doc grade", ("q", "x", -1), ("q", "a", 1), ("q", "n", 0), ("q", "b", 1))


@pytest.mark.filterwarnings("ignore:.* below 0 count")
def test_grades_below_the_least_are_no_judgments():
    run = frame_of("query doc score", *(("q", doc, -i) for i, doc in enumerate("xanb")))
    with pytest.warns(UserWarning, match="^1 of 4 judgments have a grade below 0, and count as"):
        assert join_judgments(run, POOLED)["grade"].to_list() == [-1, 1, 0, 1]
    assert join_judgments(run, POOLED, unjudged_below=0)["grade"].to_list() == [None, 1, 0, 1]
    assert join_judgments(run, POOLED, unjudged_below=1)["grade"].to_list() == [None, 1, None, 1]
    assert join_judgments(run.head(2), POOLED, unjudged_below=0)["doc"].to_list() == [
        "x",
        "a",
        "n",
        "b",
    ]
    # Judged, x stands above both relevant documents and n above one of them.
    for least, bpref in ((-1, (1 / 2 + 0) / 2), (0, (1 + 0) / 2)):
        value = evaluate(join_judgments(run, POOLED, unjudged_below=least), "bpref")["bpref"].item()
        assert value == pytest.approx(bpref)
    with pytest.raises(TypeError, match=r"^`unjudged_below` must be a number, got '0'$"):
        join_judgments(run, POOLED, unjudged_below="0")


# Real data


@expected_to_miss
def test_a_query_that_trec_eval_results_lack_is_there_once_judged(data):
    run = read_run(data / "trec_eval/results.trunc.gz")
    judgments = read_qrels(data / "trec_eval/qrels.test.gz")
    assert run.height == 584
    frame = join_judgments(run, judgments)
    counts = frame.group_by("query").agg(
        retrieved=pl.col("score").count(), relevant=(pl.col("grade") > 0).sum()
    )
    assert counts.sort("query").rows() == [("301", 500, 474), ("302", 0, 77), ("303", 84, 10)]
    assert frame["strategy"].unique().to_list() == ["STANDARD"]


@pytest.mark.filterwarnings("ignore:.* below 0 count")
def test_documents_that_were_pooled_and_not_judged_are_as_in_trec_eval(data):
    pytrec_eval = needed("pytrec_eval", ".[peers]")
    run = read_run(data / "trec_eval/results.test.gz")
    judgments = read_qrels(data / "trec_eval/qrels.rel_level.gz")
    # Few that the file marks were retrieved: every other document that is not relevant is marked.
    marked = pl.when((pl.col("grade") == 0) & (pl.int_range(pl.len()) % 2 == 0)).then(-1)
    judgments = judgments.with_columns(grade=marked.otherwise("grade"))

    def nested(frame, value):
        return {q: dict(rows.select("doc", value).rows()) for (q,), rows in frame.group_by("query")}

    evaluator = pytrec_eval.RelevanceEvaluator(nested(judgments, "grade"), {"bpref"})
    theirs = {q: row["bpref"] for q, row in evaluator.evaluate(nested(run, "score")).items()}
    judged = join_judgments(run, judgments, unjudged_below=0)
    ours = evaluate(judged, "bpref", by=[["score", "doc"]]).select("query", "bpref").rows()
    assert dict(ours) == pytest.approx(theirs)
    meant = join_judgments(run, judgments, unjudged_below=-1)
    plainly = evaluate(meant, "bpref", by=[["score", "doc"]])["bpref"]
    assert plainly.to_list() != pytest.approx([theirs[q] for q, _ in ours], abs=0.01)


def test_a_run_and_judgments_that_are_swapped_are_told():
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match=r"but `run` has: are the two swap"):
        join_judgments(JUDGMENTS, RETRIEVED)


def test_scores_beside_lists_of_documents_are_not_lost():
    run = pl.DataFrame({"query": ["a"], "retrieved": [["x", "y"]], "score": [[0.1, 0.9]]})
    with pytest.raises(ValueError, match="got a column 'score' beside 'retrieved'"):
        join_judgments(run, {"a": {"y": 1}})
    rows = run.explode("retrieved", "score").rename({"retrieved": "doc"})
    assert join_judgments(rows, {"a": {"y": 1}})["score"].to_list() == [0.1, 0.9]


SMALL_RUN = pl.DataFrame({"query": ["1", "1", "2"], "doc": ["a", "b", "a"], "score": [3.0, 2, 1]})
SMALL_JUDGMENTS = pl.DataFrame({"query": ["1", "2"], "doc": ["b", "a"], "grade": [1, 2]})


@pytest.mark.parametrize(
    ("run", "judgments", "options", "sentence"),
    [
        (
            SMALL_RUN,
            SMALL_JUDGMENTS.group_by("query").agg("doc", "grade"),
            {},
            "got a column 'grade' beside 'doc'\n\nHint: .explode('doc', 'grade') gives one row per",
        ),
        (
            SMALL_RUN,
            SMALL_JUDGMENTS.cast({"grade": pl.String}),
            {"unjudged_below": 0},
            "must be a number or a Bool",
        ),
        (
            SMALL_RUN.with_columns(m=math.nan),
            SMALL_JUDGMENTS,
            {"strategy": "m"},
            '"m" must not be NaN in `run`, got ',
        ),
        (
            SMALL_RUN,
            SMALL_JUDGMENTS,
            {"strategy": "query"},
            "`strategy` must name a column that no other arg",
        ),
    ],
)
def test_what_cannot_be_joined_is_refused_in_a_sentence(run, judgments, options, sentence):
    with pytest.raises((ValueError, TypeError), match=re.escape(sentence)):
        join_judgments(run, judgments, **options)


def test_runs_may_have_different_categories():
    runs = {
        name: SMALL_RUN.with_columns(pl.col("doc").cast(pl.Enum([*categories])))
        for name, categories in (("x", "ab"), ("y", "ba"))
    }
    texts = join_judgments({"x": SMALL_RUN, "y": SMALL_RUN}, SMALL_JUDGMENTS)
    assert_frame_equal(join_judgments(runs, SMALL_JUDGMENTS), texts)


@pytest.mark.filterwarnings("ignore:3 of 11 judged queries")
@pytest.mark.parametrize("lazy", [False, True])
def test_several_columns_name_a_query(lazy):
    df = datasets.example(12).filter((pl.col("query") * pl.col("doc")) % 7 > 0)
    df = df.with_columns(term=(pl.col("query") % 4).cast(pl.String), market=pl.col("query") % 3)
    run = df.filter(pl.col("term") != "0", pl.col("doc") % 3 > 0).rename({"strong": "score"})
    one, several = (
        join_judgments(*frames, query=query)
        for query in ("query", ["term", "market"])
        for frames in [
            [
                each.select(*([query] if query == "query" else query), "doc", column)
                for each, column in ((run, "score"), (df, "grade"))
            ]
        ]
        for frames in [[each.lazy() if lazy else each for each in frames]]
    )
    keys = df.select("query", "term", "market").unique()
    expected = one.lazy().collect().join(keys, on="query").drop("query")
    several = several.lazy().collect()
    assert several.columns == ["term", "market", "doc", "score", "grade"]
    assert_frame_equal(several, expected.select(several.columns), check_row_order=False)


def test_a_part_of_a_query_is_neither_null_nor_missing():
    row = {"term": "a", "market": pl.Series([None], dtype=pl.String), "doc": "x", "score": 1.0}
    run = pl.DataFrame(row)
    judgments = pl.DataFrame({"term": ["a"], "market": ["de"], "doc": ["x"], "grade": [1]})
    with pytest.raises(ValueError, match="null"):
        join_judgments(run, judgments, query=["term", "market"])
    with pytest.raises(
        pl.exceptions.ColumnNotFoundError, match="`judgments` has no column 'market'"
    ):
        join_judgments(
            run.with_columns(market=pl.lit("de")),
            judgments.drop("market"),
            query=["term", "market"],
        )
    with pytest.raises(TypeError, match="`run` must be a data frame"):
        join_judgments({"q": {"x": 1.0}}, judgments, query=["term", "market"])
