"""What the order of rows decides is told: by shuffling rows in every way that there is."""

from __future__ import annotations

import datetime as dt
import math
import random
import re
import warnings
from itertools import permutations

import polars as pl
import pytest
from helpers import FURTHER_TYPES, alike, assert_none, frame_of
from hypothesis import given
from hypothesis import strategies as st
from registry import FURTHER_COLUMNS, ROWS, Row

from polars_graded import DataWarning, evaluate

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
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
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


@pytest.mark.parametrize("ties", [None, "order"])
def test_a_document_that_another_order_would_put_above_the_cutoff_is_no_error(ties):
    frame = pl.DataFrame({"query": [1, 1], "grade": [1, 3], "score": [1, 1], "share": [0.5, None]})
    expected = {"popularity@1": 0.5, "dcg(gain={1:1})@1": 1}
    for name, value in expected.items():
        column = {"popularity": "share"} if name == "popularity@1" else {}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
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
