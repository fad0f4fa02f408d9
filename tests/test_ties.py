"""Ties: the queries that the order of rows decides are counted, and each tool has its own order."""

from __future__ import annotations

import datetime as dt
import math
import random
import re
import warnings
from itertools import permutations
from typing import Any

import polars as pl
import pytest
from helpers import FURTHER_TYPES, alike, assert_none, frame_of, needed
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from registry import FURTHER_COLUMNS, ROWS, Row

from polars_graded import DataWarning, evaluate, join_judgments, side_by_side

# What the order of rows decides, by shuffling rows in every way that there is.


NAMED = [row for row in ROWS if not row.columns]
OF_COLUMNS = [row for row in ROWS if row.columns and row.options.get("ties", "order") == "order"]
DRAWN = st.lists(
    st.lists(
        st.tuples(st.sampled_from([None, 1, 1, 2]), st.sampled_from([None, 0, 1, 2, 4])),
        min_size=1,
        max_size=3,
    ),
    min_size=1,
    max_size=3,
)


def told(frame: pl.DataFrame, *names: str, **columns: str) -> tuple[int, int]:
    """In how many queries ties are said to be decided by the order of rows, and of how many."""
    with warnings.catch_warnings(record=True, action="always") as caught:
        evaluate(frame, *names, descending=True, **columns)
    said = "have different grades.* in (\\d+) of (\\d+) queries .* the order of rows decides"
    found = [match for each in caught if (match := re.search(said, str(each.message)))]
    assert len(found) <= 1
    return tuple(map(int, found[0].groups())) if found else (0, frame["query"].n_unique())


def changed(frame: pl.DataFrame, rows: list[Row], **columns: str) -> dict[str, int]:
    """By measure, of how many queries the value changes in any other order of rows."""
    frames = [
        query[[*order]].with_columns(pl.format("{}, {}", "query", pl.lit(number)).alias("query"))
        for query in frame.partition_by("query")
        for number, order in enumerate(permutations(range(query.height)))
    ]
    names = [row.name for row in rows]
    with warnings.catch_warnings(action="ignore"):
        values = evaluate(pl.concat(frames), names, ties="order", descending=True, **columns)
    of_query = values.with_columns(pl.col("query").str.split(", ").list.first().cast(int))
    found = dict.fromkeys(names, 0)
    for part in of_query.partition_by("query"):
        for name in found:
            first, *others = part[name].to_list()
            found[name] += not all(alike(value, first) for value in others)
    return found


@pytest.mark.slow
@given(DRAWN)
def test_ties_are_told_of_exactly_the_queries_in_which_any_measure_changes(queries):
    everything = [row.name for row in NAMED]
    of_each = changed(frame_of(queries), NAMED)
    expected = max(of_each[name] for name in everything)
    assert told(frame_of(queries), *everything) == (expected, len(queries))


def test_ties_are_told_of_all_queries_in_which_a_measure_of_columns_changes():
    """No order bounds these measures, so they are told wherever tied documents differ."""
    rng, wrong, depth = random.Random(5), [], 4
    frame = pl.concat(
        frame_of([[(1, rng.choice([None, 0, 1, 2])) for _ in range(depth)]]).with_columns(
            query=pl.lit(query),
            score=pl.Series([float(rng.choice([1, 1, 2])) for _ in range(depth)]),
            **{
                name: pl.col(name).gather([rng.randrange(depth) for _ in range(depth)])
                for name in FURTHER_TYPES
            },
        )
        for query in range(60)
    )
    of_each = changed(frame, OF_COLUMNS, **FURTHER_COLUMNS)
    for row in OF_COLUMNS:
        (n, _), expected = told(frame, row.name, **row.columns), of_each[row.name]
        if not expected <= n:
            wrong.append(f"{row.name} changes in {expected} queries, and {n} are told of")
    assert_none(wrong)
    of_numbers = ["grade", "known", "share", "expected"]
    equal = frame.with_columns(pl.col(of_numbers).first().over("query", "score"))
    assert told(equal, "popularity@2", popularity="share") == (0, 60)
    assert told(equal, "serendipity@2", reference="expected") == (0, 60)
    in_the_set = pl.DataFrame(
        {"query": 1, "grade": 1, "score": [2, 2, 1], "share": [0.1, 0.2, 0.3]}
    )
    assert told(in_the_set, "popularity@2", popularity="share") == (0, 1)
    assert told(in_the_set, "popularity@1", popularity="share") == (1, 1)
    of_labels = in_the_set.with_columns(subtopic=pl.Series([["x", "y"], ["y", "x"], []]))
    assert told(of_labels, "alpha_ndcg@3", subtopics="subtopic") == (0, 1)
    others = of_labels.with_columns(subtopic=pl.Series([["x"], ["y"], []]))
    assert told(others, "alpha_ndcg@3", subtopics="subtopic") == (1, 1)
    assert told(
        in_the_set.with_columns(grade=pl.Series([0, 3, 1])), "popularity@2", popularity="grade"
    ) == (0, 1)


def test_ties_are_told_of_measures_whose_value_may_fall():
    query = {"query": 1, "grade": [1, 1, 1, 0, 0], "score": [2, 2, 1, 1, 1]}
    assert told(pl.DataFrame(query), "ap(over=retrieved)@4") == (1, 1)
    assert told(pl.DataFrame({**query, "grade": [0, 0, 1, 1, 1]}), "ap(over=retrieved)@4") == (0, 1)


@pytest.mark.parametrize("ties", [None, "order"])
def test_a_document_that_another_order_would_put_above_the_cutoff_is_no_error(ties):
    frame = pl.DataFrame({"query": [1, 1], "grade": [1, 3], "score": [1, 1], "share": [0.5, None]})
    expected = {"popularity@1": 0.5, "dcg(gain={1:1})@1": 1}
    for name, value in expected.items():
        column = {"popularity": "share"} if name == "popularity@1" else {}
        with warnings.catch_warnings(record=True, action="always") as caught:
            found = evaluate(frame, name, ties=ties, **column)
        assert found[name].item() == value
        of_ties = [each for each in caught if each.category is DataWarning.ties]
        assert len(of_ties) == (ties is None)


@given(DRAWN)
def test_nothing_is_told_where_ties_are_averaged_bounded_or_broken(queries):
    frame = frame_of(queries).with_columns(doc=pl.int_range(pl.len()))
    averaged = [row.name for row in NAMED if row.options.get("ties") not in (None, "order")]
    assert told(frame, *averaged) == (0, len(queries))
    with warnings.catch_warnings():
        warnings.filterwarnings("error", ".*the order of rows decides")
        warnings.filterwarnings(
            "ignore", "no document|all documents|.* uses? the|.* nothing for|grades"
        )
        evaluate(frame, "ndcg", "ap", ties="doc", descending=True)


@pytest.mark.parametrize(
    "options",
    [
        {"ties": "doc"},
        {"ties": "day"},
        {"ties": ["day", "doc"]},
        {"ties": "trec_eval"},
        {"ties": "pytrec_eval"},
        {"by": [["score", "price"]], "ties": "doc"},
    ],
)
def test_ties_orders_documents_that_still_count_as_tied(options):
    frame = pl.DataFrame({"query": "q", "doc": list("abcd"), "grade": [1, 0, 2, 0], "price": 1})
    frame = frame.with_columns(score=pl.Series([2.0, 2, 1, 1]), day=pl.Series([4, 3, 2, 1]))
    measures = ["roc_auc", "ndcg(ties=average)", "success(ties=average)@1"]
    values = evaluate(frame, measures, **options).row(0)[2:]
    ideal = 3 + 1 / math.log2(3)
    mean = (1 + 1 / math.log2(3)) / 2 + 3 * (1 / 2 + 1 / math.log2(5)) / 2
    assert values == pytest.approx((0.5, mean / ideal, 0.5))


@pytest.mark.parametrize("ids", [[b"2", b"10", b"9"], [dt.timedelta(n) for n in range(3)]])
def test_a_tool_is_not_asked_to_order_what_is_no_text(ids):
    frame = pl.DataFrame({"query": 1, "doc": ids, "grade": [1, 0, 0], "score": 1.0})
    with pytest.raises(TypeError, match="ties='trec_eval' needs documents that are texts or num"):
        evaluate(frame, "ap", ties="trec_eval")
    assert evaluate(frame, "ap", ties="order")["ap"].item() == 1


# The orders of other tools, and the default.


TREC_EVAL = {
    "map": "ap",
    "P_5": "precision@5",
    "recip_rank": "reciprocal_rank",
    "Rprec": "r_precision",
    "bpref": "bpref",
    "ndcg_cut_10": "ndcg(gain=linear)@10",
}


of_a_pool = pytest.mark.filterwarnings("ignore:the judged share of the first ten")
"""A quarter of the documents is unjudged."""


@pytest.fixture(scope="module", params=["f4", "f12"])
def tied(request, ohsumed):
    """A heavily tied run of OHSUMED in an order of its own, and the judgments of three quarters."""
    frame = ohsumed.select("query", "doc", "grade", score=pl.col(request.param))
    run = (
        frame.filter(pl.col("doc").hash(seed=3) % 9 != 0)
        .drop("grade")
        .sample(fraction=1, shuffle=True, seed=7)
    )
    judgments = frame.drop("score").filter(pl.col("doc").hash(seed=1) % 4 != 0)
    relevant = judgments.filter((pl.col("grade") > 0).any().over("query"))
    return run.join(relevant.select("query").unique(), on="query", how="semi"), relevant


def nested(frame: pl.DataFrame, column: str) -> dict[str, dict[str, Any]]:
    result: dict[str, dict[str, Any]] = {}
    for query, doc, value in frame.select("query", "doc", column).iter_rows():
        result.setdefault(query, {})[doc] = value
    return result


def ours(tied, measures: dict[str, str], ties: Any) -> pl.DataFrame:
    """Our values, in columns with the names of the other tool."""
    with warnings.catch_warnings(action="ignore", category=DataWarning.ties):
        return evaluate(join_judgments(*tied), measures, ties=ties)


def differing(theirs: dict[str, dict[str, float]], found: pl.DataFrame) -> dict[str, int]:
    """The number of queries whose value differs, by the name of the measure."""
    values = found.rows_by_key("query", named=True, unique=True)
    assert all(set(by_query) == set(values) for by_query in theirs.values())
    return {
        name: sum(abs(value - values[query][name]) > 1e-9 for query, value in by_query.items())
        for name, by_query in theirs.items()
    }


@of_a_pool
def test_pytrec_eval_on_tied_runs_with_scores_that_differ_beyond_32_bits(tied):
    pytrec_eval = needed("pytrec_eval", ".[peers]")
    run, judgments = tied
    # No two scores of a query are equal now; in 32 bits most of the ties are there again.
    row = pl.int_range(pl.len()).over("query")
    run = run.with_columns(score=1 + pl.col("score") + row * 1e-12)
    assert not run.select(pl.struct("query", "score").is_duplicated().any()).item()
    single = run.with_columns(pl.col("score").cast(pl.Float32))
    assert single.select(pl.struct("query", "score").is_duplicated().mean()).item() > 0.5
    asked = {name.replace("P_", "P.").replace("cut_", "cut.") for name in TREC_EVAL}
    evaluator = pytrec_eval.RelevanceEvaluator(nested(judgments, "grade"), asked)
    values = evaluator.evaluate(nested(run, "score"))
    theirs = {name: {query: found[name] for query, found in values.items()} for name in TREC_EVAL}
    of_ties = {
        ties: differing(theirs, ours((run, judgments), TREC_EVAL, ties))
        for ties in ("pytrec_eval", "doc", "trec_eval")
    }
    assert of_ties["pytrec_eval"] == dict.fromkeys(TREC_EVAL, 0)
    assert all(of_ties["doc"].values())
    assert all(of_ties["trec_eval"].values())


@of_a_pool
def test_default_order_is_that_of_the_document_as_text_whatever_the_order_of_rows(tied):
    run, judgments = tied
    names = ["ap", "precision@10", "ndcg@10"]
    with pytest.warns(DataWarning.ties, match="and 'doc' decides which comes first"):
        by_default = evaluate(join_judgments(run, judgments), names)
    with warnings.catch_warnings(action="ignore", category=DataWarning.ties):
        shuffled = join_judgments(run.sample(fraction=1, shuffle=True, seed=1), judgments)
        assert_frame_equal(evaluate(shuffled, names), by_default)
        assert_frame_equal(evaluate(shuffled.lazy(), names).collect(), by_default)
        apart = shuffled.sample(fraction=1, shuffle=True, seed=2)
        assert_frame_equal(evaluate(apart, names), by_default)
        # Documents that are numbers are compared as text, as the command reads them.
        number = pl.col("doc").cast(pl.Int64)
        assert_frame_equal(evaluate(shuffled.with_columns(number), names), by_default)
    assert_frame_equal(evaluate(shuffled, names, ties="doc"), by_default)
    with warnings.catch_warnings(action="error", category=DataWarning.ties):
        by_row = evaluate(join_judgments(run, judgments), names, ties="order")
    assert (by_row["ap"] - by_default["ap"]).abs().max() > 0.01


def test_column_of_documents_of_a_tool_is_named():
    frame = pl.DataFrame({"query": 1, "item": ["a", "b"], "grade": [0, 1], "score": [1.0, 1.0]})
    found = evaluate(frame, "success@1", ties={"trec_eval": "item"})
    assert found["success@1"].item() == 1
    assert evaluate(frame, "success@1", ties="trec_eval").equals(found)
    with pytest.raises(ValueError, match="ties='trec_eval' needs the column of documents, got no"):
        evaluate(frame.rename({"item": "thing"}), "success@1", ties="trec_eval")
    with pytest.raises(ValueError, match="`ties` must map one of trec_eval or pytrec_eval"):
        evaluate(frame, "success@1", ties={"ndeval": "item"})
    shown = side_by_side(frame, 1, doc="item", ties={"trec_eval": "item"})
    assert shown["score"].to_list() == ["b", "a"]
