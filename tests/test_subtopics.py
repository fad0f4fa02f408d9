"""Subtopics of documents: from files to measures, and what is refused."""

from __future__ import annotations

import math
import re

import polars as pl
import pytest
from helpers import COLLECTED

from polars_graded import evaluate, graded, join_judgments, read_qrels

QRELS = b"1 a d1 1\n1 b d1 0\n1 a d2 2\n1 b d3 1\n2 a d1 0\n2 x d4 1\n"
RUN = {"1": {"d1": 3.0, "d2": 2.0, "d3": 1.0}, "2": {"d1": 5.0}}
FRAME = pl.DataFrame(
    {
        "query": [1, 1, 1, 2],
        "doc": ["a", "b", "c", "a"],
        "grade": [1, 1, 0, 1],
        "score": [3.0, 2.0, 1.0, 1.0],
        "labels": [["x"], ["x", "y"], ["z"], ["x"]],
    }
)


def test_files_keep_their_subtopics_where_they_are_asked_for():
    assert read_qrels(QRELS).columns == ["query", "doc", "grade"]
    judgments = read_qrels(QRELS, subtopics=True)
    assert judgments["subtopic"].to_list() == ["a", "b", "a", "b", "a", "x"]


def test_a_document_has_its_highest_grade_and_what_it_is_relevant_for():
    rows = join_judgments(RUN, read_qrels(QRELS, subtopics=True), subtopic="subtopic")
    assert rows.select("query", "doc", "score", "grade", "subtopics").rows() == [
        ("1", "d1", 3.0, 1, ["a"]),
        ("1", "d2", 2.0, 2, ["a"]),
        ("1", "d3", 1.0, 1, ["b"]),
        ("2", "d1", 5.0, 0, []),
        ("2", "d4", None, 1, ["x"]),
    ]
    values = evaluate(rows, "alpha_ndcg@3", "subtopic_recall@2", subtopics="subtopics")
    # d1 gains 1, d2 a half of it and d3 1 again; best would be d3 or d1, then the other.
    by_log = [1 / math.log2(rank + 1) for rank in (1, 2, 3)]
    reached = by_log[0] + by_log[1] / 2 + by_log[2]
    ideal = by_log[0] + by_log[1] + by_log[2] / 2
    assert values["alpha_ndcg@3"].to_list() == pytest.approx([reached / ideal, 0.0])
    assert values["subtopic_recall@2"].to_list() == [0.5, 0.0]


def test_ignored_judgments_leave_no_subtopic():
    docs, grades = ["d1", "d1", "d2"], [-1, 1, -1]
    judgments = pl.DataFrame({"query": "1", "doc": docs, "grade": grades, "subtopic": [*"aba"]})
    run = {"1": RUN["1"]}
    rows = join_judgments(run, judgments, subtopic="subtopic", unjudged_below=0)
    found = rows.filter(query="1").select("doc", "grade", "subtopics").rows()
    assert found == [("d1", 1, ["b"]), ("d2", None, None), ("d3", None, None)]


@pytest.mark.parametrize(
    ("judgments", "error", "sentence"),
    [
        ({"subtopic": ["a", "a"]}, ValueError, "each (query, doc, subtopic) once, got 1 more"),
        ({"topic": ["a", "b"]}, pl.exceptions.ColumnNotFoundError, "no column 'subtopic'"),
        ({"subtopic": ["a", None]}, ValueError, '"subtopic" must not be null in `judgments`'),
        ({"subtopic": ["a", "b"], "grader": ["p", "p"]}, ValueError, "not have a column 'grader'"),
        ({"subtopic": ["a", "b"], "subtopics": [1, 2]}, ValueError, "a column 'subtopics'"),
        ({"subtopic": ["a", "b"], "grade": ["1", "2"]}, TypeError, "'grade' must be a number"),
    ],
)
def test_judgments_by_subtopic_that_mean_nothing_are_refused(judgments, error, sentence):
    frame = pl.DataFrame({"query": ["1", "1"], "doc": ["d1", "d1"], "grade": [1, 2]} | judgments)
    with pytest.raises(error, match=re.escape(sentence)):
        join_judgments(RUN, frame, subtopic="subtopic")


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        (pl.lit(1.5), "subtopics 'labels' must be a label or a list of labels"),
        (pl.lit([[1]]), r"subtopics 'labels' must be .*, got List\(List\(Int"),
        (pl.lit(value=True), "subtopics 'labels' must be a label or a list of labels"),
        (
            pl.lit([None, "x"], pl.List(pl.String)),
            "subtopics 'labels' must have no null inside its lists, got 4 with null\n\nHint: ",
        ),
    ],
)
@pytest.mark.parametrize("way", ["evaluate", "lazy", "agg"])
def test_labels_that_are_none_are_refused(labels, sentence, way):
    frame = FRAME.with_columns(labels.alias("labels"))
    expr = graded("grade").ranked_by("score", descending=True).alpha_ndcg(subtopics="labels")
    calls = {
        "agg": lambda: frame.group_by("query").agg(expr),
        "evaluate": lambda: evaluate(frame, "alpha_ndcg", subtopics="labels"),
        "lazy": lambda: evaluate(frame.lazy(), "alpha_ndcg", subtopics="labels").collect(),
    }
    with pytest.raises((TypeError, *COLLECTED, pl.exceptions.PolarsError), match=sentence):
        calls[way]()


def test_a_ranking_better_than_the_greedy_one_is_ideal():
    """With α = 1, the greedy ranking c, a gains 4 + 1 / log2(3), and a, b gains 3 + 3 / log2(3)."""
    labels = {"a": ["1", "2", "3"], "b": ["4", "5", "6"], "c": ["1", "2", "4", "5"]}
    frame = pl.DataFrame({"doc": list(labels), "labels": list(labels.values()), "grade": 1})
    graded = pl.col("grade").graded
    ranked = frame.select(
        *(
            measure(2, subtopics="labels", alpha=1.0)
            for measure in (graded.alpha_ndcg, graded.nerr_ia, graded.nnrbp)
        ),
        of_maximum=graded.alpha_dcg(2, subtopics="labels", alpha=1.0),
    )
    assert ranked.row(0)[:3] == (1, 1, 1)
    assert ranked["of_maximum"].item() == pytest.approx((3 + 3 / math.log2(3)) / 6)
    greedy = frame[[2, 0, 1]].select(graded.alpha_ndcg(2, subtopics="labels", alpha=1.0))
    assert greedy.item() == 1
