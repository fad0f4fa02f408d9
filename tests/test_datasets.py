"""The papers' artificial rankings, and the examples that they work out."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polars_graded import evaluate
from polars_graded.datasets import (
    ad_hoc_grade,
    example,
    popularity_rankings,
    reference_rankings,
    swapped_rankings,
    worked_example,
)


@pytest.mark.parametrize("levels", [2, 10, 20, 50, 7])
def test_uniform_levels_have_almost_the_same_number_of_documents(levels):
    frame = reference_rankings(3, levels=levels)
    counts = frame.group_by("query", "grade").len()
    assert counts.height == 3 * levels
    assert set(counts["len"]) <= {100 // levels, -(-100 // levels)}
    assert sorted(set(frame["grade"])) == list(range(levels))


@settings(deadline=None)
@given(
    st.integers(1, 5), st.integers(1, 20), st.integers(2, 30), st.booleans(), st.integers(0, 10**9)
)
def test_reference_rankings_are_ideal_and_have_something_relevant(
    queries, documents, levels, uniform, seed
):
    frame = reference_rankings(
        queries, documents=documents, levels=levels, uniform=uniform, seed=seed
    )
    assert frame.schema == {"query": pl.Int64, "doc": pl.Int64, "grade": pl.Int64}
    assert frame["query"].to_list() == [q + 1 for q in range(queries) for _ in range(documents)]
    assert frame["doc"].to_list() == [*range(1, documents + 1)] * queries
    for (_,), ranking in frame.group_by("query"):
        assert ranking["grade"].is_sorted(descending=True)
        assert 0 < ranking["grade"].max() < levels


@settings(deadline=None)
@given(
    st.lists(st.lists(st.one_of(st.none(), st.integers(0, 3)), min_size=1, max_size=8), max_size=5),
    st.lists(st.integers(0, 6), unique=True, max_size=4),
    st.integers(0, 10**9),
)
def test_every_number_of_swaps_ranks_all_documents_of_every_query(queries, swaps, seed):
    frame = pl.DataFrame(
        {
            "query": [name for name, grades in enumerate(queries) for _ in grades],
            "doc": [doc for grades in queries for doc in range(len(grades))],
            "grade": [grade for grades in queries for grade in grades],
        },
        schema={"query": pl.Int64, "doc": pl.Int64, "grade": pl.Int64},
    )
    got = swapped_rankings(frame, swaps, seed=seed)
    assert got.columns == ["swaps", "query", "doc", "grade", "score"]
    assert got.height == frame.height * len(swaps)
    for (number, query), ranking in got.group_by("swaps", "query", maintain_order=True):
        n = len(queries[query])
        assert number in swaps
        assert sorted(ranking["score"]) == [rank / 10 for rank in range(1, n + 1)]
        grades = [-1 if grade is None else grade for grade in queries[query]]
        assert ranking["doc"].to_list() == sorted(range(n), key=lambda doc: -grades[doc])
        assert ranking["grade"].fill_null(-1).to_list() == sorted(grades, reverse=True)
        if number == 0 or n == 1:
            assert ranking["score"].to_list() == [rank / 10 for rank in range(n, 0, -1)]


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda: reference_rankings(uniform=False, seed=-1), ValueError, "`seed` must be at least"),
        (lambda: swapped_rankings(example(1), [1, 1]), ValueError, r"once, got \[1, 1\]"),
        (lambda: popularity_rankings(documents=10), ValueError, "`documents` must"),
        (lambda: popularity_rankings(imbalance=0.3), ValueError, "`imbalance` must"),
        (lambda: ad_hoc_grade("score", [2, 1]), ValueError, "`cuts` must"),
        (lambda: worked_example("moritz"), ValueError, "did you mean 'moniz'"),
    ],
)
def test_arguments_are_checked(call, error, sentence):
    with pytest.raises(error, match=sentence):
        call()


def test_ad_hoc_grades_are_3_2_1_and_0():
    frame = popularity_rankings(2)
    assert frame["grade"].to_list() == ([3] * 10 + [2] * 15 + [1] * 25 + [0] * 50) * 2
    assert frame["popularity"].head(100).is_sorted(descending=True)


def test_scheel_table_1():
    frame = worked_example("scheel")
    assert frame.columns == ["query", "doc", "grade", "score"]
    assert evaluate(frame, "mu_ap")["mu_ap"].to_list() == [pytest.approx(0.4478174603)]
