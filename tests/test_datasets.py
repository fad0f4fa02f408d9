"""The papers' artificial rankings, and the examples that they work out."""

from __future__ import annotations

from itertools import accumulate

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polars_graded import graded
from polars_graded.datasets import example, worked_example
from polars_graded.experiments import (
    ad_hoc_grade,
    popularity_rankings,
    reference_rankings,
    swapped_rankings,
)

GRADES = graded("grade")
PHI = graded("popularity").phi_relevance().graded


def values(frame, ranking, by, name, *keys):
    """A measure of each query, one after the other."""
    expr = ranking.ranked_by(by).measures(name).struct.field(name)
    keys = keys or ("query",)
    return frame.group_by(*keys).agg(expr.alias("value")).sort(*keys).get_column("value")


# Reference rankings


@pytest.mark.parametrize("levels", [2, 10, 20, 50, 7])
def test_uniform_levels_have_almost_the_same_number_of_documents(levels):
    frame = reference_rankings(3, levels=levels)
    counts = frame.group_by("query", "grade").len()
    assert counts.height == 3 * levels
    assert set(counts["len"]) <= {100 // levels, -(-100 // levels)}
    assert sorted(set(frame["grade"])) == list(range(levels))


@pytest.mark.parametrize("levels", [2, 10, 20, 50])
def test_random_levels_differ_between_queries_and_some_are_unused(levels):
    frame = reference_rankings(200, levels=levels, uniform=False, seed=3)
    counts = frame.group_by("query", "grade").len()
    assert counts.height < 200 * levels
    assert counts["len"].n_unique() > 10
    assert frame["grade"].is_between(0, levels - 1).all()
    # Every level is as likely as another.
    assert frame["grade"].mean() == pytest.approx((levels - 1) / 2, rel=0.1)


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


# Swaps


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


def test_a_swap_moves_two_documents_and_any_two_as_likely():
    frame = swapped_rankings(reference_rankings(6000, documents=4, levels=2), 1)
    scores = frame["score"].to_numpy().reshape(-1, 4)
    moved = scores != [0.4, 0.3, 0.2, 0.1]
    assert set(moved.sum(axis=1)) == {2}
    pairs, counts = np.unique(moved, axis=0, return_counts=True)
    assert len(pairs) == 6
    assert counts == pytest.approx(1000, rel=0.15)


def test_each_number_of_swaps_starts_from_the_ideal_order():
    frame = swapped_rankings(reference_rankings(50, documents=30, levels=5), [1, 2])
    moved = frame.with_columns(ideal=(31 - pl.col("doc")) / 10).filter(
        (pl.col("score") - pl.col("ideal")).abs() > 0.01
    )
    first, second = (set(moved.filter(pl.col("swaps") == n)["doc"].head(4)) for n in (1, 2))
    assert first != second
    assert moved.group_by("swaps", "query").len().group_by("swaps").max().sort("swaps").rows() == [
        (1, 50, 2),
        (2, 50, 4),
    ]


def test_more_swaps_are_worse():
    frame = swapped_rankings(reference_rankings(100, levels=10), [0, 5, 20, 99])
    mu_ap = values(frame, GRADES, "score", "mu_ap", "swaps", "query").to_numpy().reshape(4, 100)
    assert mu_ap[0] == pytest.approx(1)
    assert (np.diff(mu_ap.mean(axis=1)) < -0.05).all()


def test_swaps_keep_other_columns_and_take_other_names():
    frame = pl.DataFrame(
        {
            "topic": ["b", "a", "b"],
            "gain": [0.0, None, 1.5],
            "url": ["x", "y", "z"],
            "score": [9, 9, 9],
        }
    )
    got = swapped_rankings(frame, 0, query="topic", grade="gain")
    assert got.rows() == [
        (0, "a", None, "y", 0.1),
        (0, "b", 1.5, "z", 0.2),
        (0, "b", 0.0, "x", 0.1),
    ]


def test_the_seed_decides():
    def all_of(seed):
        reference = reference_rankings(5, uniform=False, seed=seed)
        return (
            reference,
            swapped_rankings(reference_rankings(5), [3, 9], seed=seed),
            example(5, seed=seed),
            popularity_rankings(5, seed=seed),
            popularity_rankings(5, imbalance=0.1, seed=seed),
        )

    for first, again, other in zip(all_of(1), all_of(1), all_of(2), strict=True):
        assert first.equals(again)
        assert not first.equals(other)


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda: reference_rankings(uniform=False, seed=-1), ValueError, "`seed` must be at least"),
        (lambda: swapped_rankings(example(1), [1, 1]), ValueError, r"once, got \[1, 1\]"),
        (lambda: popularity_rankings(documents=10), ValueError, "`documents` must be at least 11"),
        (lambda: popularity_rankings(imbalance=0.3), ValueError, "`imbalance` must be at most 0.2"),
        (lambda: ad_hoc_grade("score", [2, 1]), ValueError, "`cuts` must increase, got 1 after 2"),
        (lambda: worked_example("moritz"), ValueError, "did you mean 'moniz'"),
    ],
)
def test_arguments_are_checked(call, error, sentence):
    with pytest.raises(error, match=sentence):
        call()


# The built-in example


def test_the_strategies_of_the_example_differ_clearly():
    frame = example()
    assert frame.columns == ["query", "doc", "grade", "strong", "fair", "weak"]
    assert frame.height == 300 * 100
    assert set(frame["grade"]) == {0, 1, 2, 3, 4}
    for name in ("mu_ap", "ndcng@10", "ndcg@10", "precision@10"):
        strong, fair, weak = (values(frame, GRADES, by, name).mean() for by in frame.columns[3:])
        assert strong > fair + 0.04 > weak + 0.08


# Popularity


def test_ad_hoc_grades_are_3_2_1_and_0():
    frame = popularity_rankings(2)
    assert frame["grade"].to_list() == ([3] * 10 + [2] * 15 + [1] * 25 + [0] * 50) * 2
    assert frame["popularity"].head(100).is_sorted(descending=True)


def test_ad_hoc_grades_of_an_expression_keep_nulls():
    frame = pl.DataFrame({"q": [1, 1, 1, 2], "s": [5, None, 7, 1]})
    got = frame.select(ad_hoc_grade(pl.col("s") * -1, [1]).over("q"))
    assert got.to_dict(as_series=False) == {"grade": [1, None, 0, 1]}


@pytest.mark.parametrize("imbalance", [0, 0.1, 0.2])
def test_popularity_is_balanced_or_not(imbalance):
    scores = popularity_rankings(200, imbalance=imbalance)["popularity"].to_numpy().reshape(200, -1)
    assert scores.min() >= 1
    assert scores.max() <= 1000
    if imbalance:
        assert set((scores > 500).sum(axis=1)) == {100 * imbalance}
        lower, upper = np.quantile(scores, [0.25, 0.75], axis=1, method="midpoint")
        assert (scores.max(axis=1) > upper + 1.5 * (upper - lower)).all()
    else:
        assert scores.mean() == pytest.approx(500.5, rel=0.02)


def test_scenarios_are_permutations_of_the_first_ranks():
    frame = popularity_rankings(1, documents=12)
    assert frame["scenario_1"].to_list() == [
        n / 10 for n in (12, 11, 10, 9, 8, 7, 6, 5, 4, 2, 3, 1)
    ]
    assert frame["scenario_2"].to_list() == [
        n / 10 for n in (3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 2, 1)
    ]


def scenario(imbalance, number):
    """NDCG@10 and NDCG^φ@10 of 1000 samples."""
    frame = popularity_rankings(1000, imbalance=imbalance)
    by = f"scenario_{number}"
    return values(frame, GRADES, by, "ndcg@10"), values(frame, PHI, by, "ndcg@10")


@pytest.mark.parametrize(
    ("number", "imbalance", "ndcg", "ndcg_phi"),
    [
        (1, 0, 0.9636, 0.9975),
        (1, 0.1, 0.9636, 0.9927),
        (1, 0.2, 0.9636, 0.9964),
        (2, 0, 1, 0.902),
        (2, 0.1, 1, 0.767),
        (2, 0.2, 1, 0.894),
    ],
)
def test_figure_2_ndcg_is_constant_where_phi_sees_the_scores(number, imbalance, ndcg, ndcg_phi):
    by_grade, by_phi = scenario(imbalance, number)
    assert by_grade.to_list() == pytest.approx([ndcg] * 1000, abs=5e-5)
    assert by_phi.mean() == pytest.approx(ndcg_phi, abs=0.005)
    assert by_phi.std() > 0.001


# Worked examples


def test_scheel_table_1():
    frame = worked_example("scheel")
    assert frame.columns == ["query", "doc", "grade", "score"]
    assert values(frame, GRADES, "score", "mu_ap").to_list() == [pytest.approx(0.4478174603)]


def test_moniz_table_1():
    frame = worked_example("moniz")
    graded = frame.with_columns(ad_hoc_grade("popularity", [1, 2, 3]).over("query"))
    first, second = values(graded, GRADES, "score", "ndcg")
    assert first == second < 1
    first, second = values(frame, PHI, "score", "ndcg")
    assert second < first < 1
    all_relevant = frame.with_columns(ad_hoc_grade("popularity").over("query"))
    assert values(all_relevant, GRADES, "score", "ndcg").to_list() == [1, 1]


def test_chen_examples():
    frame = worked_example("chen")
    ranked = frame.filter(pl.col("score").is_not_null())
    lists = dict(
        ranked.group_by("query").agg(pl.col("grade").sort_by("score", descending=True)).iter_rows()
    )
    assert lists["example 3.2"] == [1, 0, 1, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 0, 3]
    assert lists["example 3.3"] == [0, 0, 2, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 3]
    ideal = {
        query: sorted(grades, reverse=True)[:15]
        for query, grades in frame.group_by("query").agg("grade").iter_rows()
    }
    assert ideal["example 3.2"] == [3, 3, 3, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0, 0]
    assert ideal["example 3.3"] == [3, 2, 1] + [0] * 12
    assert [*accumulate(lists["example 3.2"])][-1] == 10
    for name, first, second in [
        ("n_relevant", 10, 3),
        ("recall", 0.5, 1),
        ("r_precision", 4 / 10, 1 / 3),
        ("ap", (1 + 2 / 3 + 3 / 6 + 4 / 10 + 5 / 15) / 10, (1 / 3 + 2 / 8 + 3 / 15) / 3),
    ]:
        assert values(frame, GRADES, "score", name).to_list() == pytest.approx([first, second])
