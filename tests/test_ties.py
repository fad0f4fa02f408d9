"""What the order of rows decides is told: by shuffling rows in every way that there is."""

from __future__ import annotations

import math
import random
import re
import warnings
from itertools import permutations

import polars as pl
from helpers import Query, alike, assert_none, frame_of
from hypothesis import given
from hypothesis import strategies as st
from registry import ROWS

from polars_graded import evaluate

NAMED = [row for row in ROWS if not row.columns]
DRAWN = st.lists(
    st.lists(
        st.tuples(st.sampled_from([None, 1, 1, 2]), st.sampled_from([None, 0, 1, 2, 4])),
        min_size=1,
        max_size=3,
    ),
    min_size=1,
    max_size=3,
)


def told(frame: pl.DataFrame, *names: str) -> tuple[int, int]:
    """In how many queries ties are said to be decided by the order of rows, and of how many."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        evaluate(frame, *names, descending=True)
    said = "have different grades in (\\d+) of (\\d+) queries .* the order of rows decides"
    found = [match for each in caught if (match := re.search(said, str(each.message)))]
    assert len(found) <= 1
    return tuple(map(int, found[0].groups())) if found else (0, frame["query"].n_unique())


def changed(queries: list[Query]) -> dict[str, int]:
    """By measure, of how many queries the value changes in any other order of rows."""
    frames = [
        frame_of([[*order] for order in permutations(query)]).with_columns(
            pl.format("{}, {}", pl.lit(number), "query").alias("query"), pl.lit(number).alias("of")
        )
        for number, query in enumerate(queries)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values = evaluate(
            pl.concat(frames), [row.name for row in NAMED], ties="order", descending=True
        )
    of_query = values.with_columns(pl.col("query").str.split(", ").list.first().cast(int))
    found = dict.fromkeys((row.name for row in NAMED), 0)
    for part in of_query.partition_by("query"):
        for name in found:
            first, *others = part[name].to_list()
            found[name] += not all(alike(value, first) for value in others)
    return found


@given(DRAWN)
def test_ties_are_told_of_exactly_the_queries_in_which_any_measure_changes(queries):
    everything = [row.name for row in NAMED]
    of_each = changed(queries)
    expected = max(of_each[name] for name in everything)
    assert told(frame_of(queries), *everything) == (expected, len(queries))


def test_no_measure_changes_without_a_word():
    rng, wrong = random.Random(4), []
    queries = [
        [(rng.choice([None, 1, 1, 2]), rng.choice([None, 0, 1, 2, 4])) for _ in range(3)]
        for _ in range(60)
    ]
    frame, of_each = frame_of(queries), changed(queries)
    for row in NAMED:
        (n, _), expected = told(frame, row.name), of_each[row.name]
        if n != expected:
            wrong.append(f"{row.name} changes in {expected} queries, and {n} are told of")
    assert_none(wrong)


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


def test_there_are_ties_of_every_kind_among_those_drawn():
    """A property that never meets a tie would hold of anything."""
    assert changed([[(1, 0), (1, 4)], [(1, 0), (2, 4)], [(1, 1), (1, 1)]])["ndcg"] == 1
    assert math.isclose(changed([[(1, None), (1, 2), (2, 0)]])["ap"], 1)
