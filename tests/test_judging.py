"""A run and its judgments in any form, joined: nothing lost, nothing wrong in silence."""

from __future__ import annotations

import math
import re
import warnings

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from polars_graded import DataWarning, evaluate, join_judgments


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


LACKING = "judged queries without a row in `run` count as failures: "
ASKED_ALIKE = "Hint: if strategies ran on different queries, .filter("
expected_to_lack = pytest.mark.filterwarnings(f"ignore:{LACKING}")


@expected_to_lack
def test_several_strategies_are_not_merged_in_silence():
    judged = join_judgments(TWO, JUDGMENTS)
    assert_frame_equal(judged, join_judgments(TWO, JUDGMENTS, strategy="strategy"))
    with pytest.raises(ValueError, match="2 strategies in its column 'strategy', which would be"):
        evaluate(judged, "ap")


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([("q1", "d1")], "got 1 more than once: ('q1', 'd1'); the first is in rows 2, 3, "),
        (
            [("q1", "d9"), ("q1", "d1"), ("q1", "d1")],
            "got 2 more than once: ('q1', 'd1'), ('q1', 'd9'); the first is in rows 2, 4, 5, ",
        ),
    ],
)
def test_a_document_twice_is_refused_in_either_frame(rows, sentence):
    more = frame_of("query doc score", *((*row, 0.5) for row in rows))
    run = pl.concat([RETRIEVED, more])
    sentence = f"must have each (query, doc) once, {sentence}"
    with pytest.raises(ValueError, match=f"^{re.escape(f'`run` {sentence}')}"):
        join_judgments(run, JUDGMENTS)
    judgments = run.rename({"score": "grade"})
    with pytest.raises(ValueError, match=f"^{re.escape(f'`judgments` {sentence}')}.*\n\nHint: "):
        join_judgments(RETRIEVED, judgments)


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
    with warnings.catch_warnings(action="ignore", category=UserWarning):
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
    with pytest.warns(DataWarning.missing, match=f"^{LACKING}2 of 2 "):
        judged = join_judgments(run, judgments).lazy().collect()
    with pytest.warns(DataWarning, match="'score' retrieved nothing for any query"):
        values = evaluate(judged, "ap", "ndcg@10", "success@1")
    assert [row[1:] for row in values.rows()] == [(query, 0, 0, 0) for query in judgments]
    named = {"a": {query: list(docs) for query, docs in judgments.items()}, "b": run}
    with pytest.warns(DataWarning, match="'b' lacks 2 of 2"):
        judged = join_judgments(named, judgments).lazy().collect()
    with pytest.warns(DataWarning, match="'b' retrieved nothing for any query"):
        values = evaluate(judged, "success@1", strategy="strategy")
    assert values["success@1"].to_list() == [1, 1, 0, 0]


ANSWERED_BY = {"all": range(1, 7), "few": [1], "most": range(1, 6)}


def test_judged_queries_that_some_strategies_alone_answer_are_told():
    runs = {name: {f"q{i}": {"d": 1.0} for i in its} for name, its in ANSWERED_BY.items()}
    judgments = {f"q{i}": {"d": 1, "e": 0} for i in range(1, 7)}
    sentence = (
        f"{LACKING}'few' lacks 5 of 6 ('q2', 'q3', 'q4', ...); 'most' lacks 1 of 6 ('q6')\n\n"
        f"{ASKED_ALIKE}"
    )
    with pytest.warns(UserWarning, match=f"^{re.escape(sentence)}") as caught:
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
    sentence = "in 3 of 5 queries no retrieved document is judged; 2 of 10 retrieved documents "
    with pytest.warns(UserWarning, match=f"^{re.escape(sentence)}"):
        join_judgments(run, judgments)


# Other forms

RUNS = {"b": {"q1": {"d1": 0.9, "d2": 0.6}, "q2": {"d7": 0.7}}, "a": {"q2": {"d1": 0.8}}}
QRELS = {"q1": {"d1": 2, "d2": 1}, "q2": {"d1": 1}}


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


@pytest.mark.parametrize(
    ("run", "sentence"),
    [
        ({"q": {"a": 1, 1: 2}}, "'doc' of `run` must hold texts or numbers, .* got int, str"),
        ({"q": {"a": 10**40}}, "'score' of `run` must hold .* of at most 128 bits"),
        ({"q": {"a": 1}, "r": ["bc"]}, "`run` must"),
        ({"q": ["a"], "r": "bc"}, "`run` must have a list of documents, got 'bc' for 'r'"),
        ({"q": {"a", "b"}}, "`run` must"),
        ({"A": {"q": {"a", "b"}}}, r"`run\['A'\]` must have documents in rank order, got a set"),
    ],
)
def test_mappings_of_what_is_no_ranking_are_refused(run, sentence):
    """Documents of a set came in another order each time that Python was started."""
    with pytest.raises((TypeError, ValueError), match=f"^{sentence}"):
        join_judgments(run, {"q": {"a", "b"}})


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


@pytest.mark.parametrize("form", [np.array, pl.Series, tuple])
def test_documents_of_a_query_may_be_an_array_or_a_series(form):
    run = {1: form(["c", "a"]), 2: form(["b"])}
    assert_frame_equal(join_judgments(run, {1: form(["a", "b"]), 2: form(["b"])}), ANSWERED)
    named = join_judgments({"x": run, "y": run}, ANSWERS, strategy="strategy")
    assert named.filter(strategy="x").drop("strategy").height == ANSWERED.height


def test_rows_of_an_array_are_lists_of_ids():
    """As an index of vectors returns the nearest documents of each query."""
    arrays = pl.DataFrame({"query": [1, 2], "doc": np.array([[3, 1], [2, 4]])})
    lists = arrays.with_columns(pl.col("doc").arr.to_list())
    judgments = {1: {1: 1}, 2: {4: 2}}
    assert_frame_equal(join_judgments(arrays, judgments), join_judgments(lists, judgments))


def test_lists_of_structs_bring_their_scores_and_grades():
    run = pl.DataFrame({"query": [1], "retrieved": [[{"doc": "c", "score": 0.2}]]})
    relevant = pl.DataFrame(
        {"query": [1], "relevant": [[{"doc": "a", "grade": 3}, {"doc": "c", "grade": 1}]]}
    )
    expected = frame_of("query doc score rank grade", (1, "c", 0.2, 1, 1), (1, "a", None, None, 3))
    assert_frame_equal(join_judgments(run, relevant), expected)


def test_structs_may_have_a_rank():
    ranked = pl.DataFrame({"query": [1], "relevant": [[{"doc": "c", "rank": 7}]]})
    expected = frame_of("query doc score rank grade", (1, "c", 0.2, 7, 1))
    assert_frame_equal(join_judgments({1: {"c": 0.2}}, ranked), expected)
    run = ranked.rename({"relevant": "retrieved"})
    expected = frame_of("query doc rank score grade", (1, "c", 7, -7, 2))
    assert_frame_equal(join_judgments(run, {1: {"c": 2}}), expected)


POOLED = frame_of("query doc grade", ("q", "x", -1), ("q", "a", 1), ("q", "n", 0), ("q", "b", 1))


@pytest.mark.filterwarnings("ignore:.* below 0 count")
def test_grades_below_the_least_are_no_judgments():
    run = frame_of("query doc score", *(("q", doc, -i) for i, doc in enumerate("xanb")))
    judged = join_judgments(run, POOLED)
    assert judged["grade"].to_list() == [-1, 1, 0, 1]
    with pytest.warns(
        UserWarning, match=r"(?s)^1 grade below 0 counts .*join_judgments\(\.\.\., unj"
    ):
        evaluate(judged, "bpref")
    assert join_judgments(run, POOLED, unjudged_below=0)["grade"].to_list() == [None, 1, 0, 1]
    assert join_judgments(run, POOLED, unjudged_below=1)["grade"].to_list() == [None, 1, None, 1]
    few = join_judgments(run.head(2), POOLED, unjudged_below=0)
    assert few["doc"].to_list() == ["x", "a", "n", "b"]
    # Judged, x stands above both relevant documents and n above one of them.
    for least, bpref in ((-1, (1 / 2 + 0) / 2), (0, (1 + 0) / 2)):
        value = evaluate(join_judgments(run, POOLED, unjudged_below=least), "bpref")["bpref"].item()
        assert value == pytest.approx(bpref)
    with pytest.raises(TypeError, match=r"^`unjudged_below` must be a number, got '0'$"):
        join_judgments(run, POOLED, unjudged_below="0")


def test_a_run_and_judgments_that_are_swapped_are_told():
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match=r"but `run` has: are the two swap"):
        join_judgments(JUDGMENTS, RETRIEVED)


SMALL_RUN = pl.DataFrame({"query": ["1", "1", "2"], "doc": ["a", "b", "a"], "score": [3.0, 2, 1]})
SMALL_JUDGMENTS = pl.DataFrame({"query": ["1", "2"], "doc": ["b", "a"], "grade": [1, 2]})


LISTED = SMALL_JUDGMENTS.group_by("query").agg("doc", "grade")
OF_TEXTS = SMALL_JUDGMENTS.cast({"grade": pl.String})
NAN_RUN = SMALL_RUN.with_columns(m=math.nan)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"judgments": LISTED}, "got a column 'grade' beside 'doc'\n\nHint: .explode('doc', 'grad"),
        ({"judgments": OF_TEXTS, "unjudged_below": 0}, "must be a number or a Bool"),
        ({"run": NAN_RUN, "strategy": "m"}, '"m" must not be NaN in `run`, got '),
        ({"strategy": "query"}, "`strategy` must"),
        ({"strategy": "doc"}, "`strategy` must"),
        ({"grade": "query"}, "`grade` must name a column that no other"),
        ({"doc": "query"}, "`doc` must name a column that no other"),
        ({"subtopic": "doc"}, "`subtopic` must name a column that no"),
        ({"judgments": {"doc": SMALL_JUDGMENTS}}, "may have the name of a column, got 'doc'"),
    ],
)
def test_what_cannot_be_joined_is_refused_in_a_sentence(arguments, sentence):
    with pytest.raises((ValueError, TypeError), match=re.escape(sentence)):
        join_judgments(**{"run": SMALL_RUN, "judgments": SMALL_JUDGMENTS} | arguments)


@pytest.mark.parametrize("column", ["query", "doc", "grade"])
@pytest.mark.parametrize(
    ("name", "arrange"),
    [
        ("judgments", lambda rows: rows),
        ("judgments", lambda rows: rows.with_columns(grader=pl.lit("people"))),
        ("judgments['people']", lambda rows: {"people": rows}),
    ],
    ids=["one grader", "column of graders", "mapping of graders"],
)
def test_a_missing_column_of_judgments_is_named(column, name, arrange):
    judgments = arrange(SMALL_JUDGMENTS.rename({column: "x"}))
    with pytest.raises(pl.exceptions.ColumnNotFoundError) as error:
        join_judgments(SMALL_RUN, judgments)
    assert str(error.value).startswith(f"`{name}` has no column {column!r}; it has ")
    assert str(error.value).endswith(f"{column}= names the column")
    named = {column: "x"} | ({"run": SMALL_RUN.rename({column: "x"})} if column != "grade" else {})
    join_judgments(**{"run": SMALL_RUN, "judgments": judgments} | named)


@pytest.mark.parametrize("name", ["run", "judgments"])
def test_lists_of_documents_need_the_column_of_queries(name):
    lists = pl.DataFrame({"topic": ["1"], "doc": [["a", "b"]]})
    tables = {"run": SMALL_RUN, "judgments": SMALL_JUDGMENTS} | {name: lists}
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match=f"`{name}` has no column 'query'"):
        join_judgments(**tables)


def test_runs_may_have_different_categories():
    runs = {
        name: SMALL_RUN.with_columns(pl.col("doc").cast(pl.Enum([*categories])))
        for name, categories in (("x", "ab"), ("y", "ba"))
    }
    texts = join_judgments({"x": SMALL_RUN, "y": SMALL_RUN}, SMALL_JUDGMENTS)
    assert_frame_equal(join_judgments(runs, SMALL_JUDGMENTS), texts)


def test_runs_without_rows_have_names_and_a_column_of_null_names_no_strategy():
    with pytest.warns(DataWarning.missing, match="'a' lacks 1 of 1"):
        empty = join_judgments({"a": {}, "b": {}}, {"q": {"d": 1}}, strategy="strategy")
    assert empty["strategy"].to_list() == ["a", "b"]
    run = pl.DataFrame({"query": "q", "doc": ["d", "e"], "score": [2.0, 1.0]})
    unnamed = run.with_columns(strategy=pl.lit(None, pl.String))
    judgments = pl.DataFrame({"query": ["q"], "doc": ["d"], "grade": [1]})
    joined = join_judgments(unnamed, judgments)
    assert joined.drop("strategy").equals(join_judgments(run, judgments))


def test_an_empty_mapping_of_runs_lacks_the_column_of_strategies():
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match="`run` has no column 'strategy'"):
        join_judgments({}, {"q": {"d": 1}}, strategy="strategy")


def test_null_is_no_name_of_a_grader():
    judgments = SMALL_JUDGMENTS.with_columns(grader=pl.Series(["people", None]))
    with pytest.raises(ValueError, match=r'^"grader" must not be null in `judgments`, got 1 null$'):
        join_judgments(SMALL_RUN, judgments)
