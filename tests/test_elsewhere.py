"""What the book says of the numbers of tools that no test installs, by their definitions."""

from __future__ import annotations

from math import log2

import hypothesis.strategies as st
import polars as pl
import pytest
from hypothesis import given

import polars_graded as pg

IDS = [f"d{number}" for number in range(8)]


@given(st.permutations(IDS), st.integers(1, 8), st.sets(st.sampled_from(IDS), min_size=1))
def test_numbers_of_sentence_transformers(order, length, relevant):
    """Its evaluator has sets of relevant documents, and its mean average precision ends at k."""
    k, found, judgments = 3, order[:length], {"q": relevant}
    hits = [float(doc in relevant) for doc in found[:k]]
    ranks = [rank for rank, hit in enumerate(hits, 1) if hit]
    best = min(k, len(relevant))
    expected = {
        f"success@{k}": float(any(hits)),
        f"reciprocal_rank@{k}": 1 / ranks[0] if ranks else 0.0,
        f"ndcg@{k}": sum(1 / log2(rank + 1) for rank in ranks)
        / sum(1 / log2(rank + 1) for rank in range(1, best + 1)),
        f"ap(over=cutoff)@{k}": sum(n / rank for n, rank in enumerate(ranks, 1)) / best,
    }
    assert_measured({"q": found}, judgments, expected)


@given(st.permutations(IDS), st.integers(1, 8), st.sets(st.sampled_from(IDS), min_size=1))
def test_numbers_of_ragas(order, length, relevant):
    """Its metrics of ids are shares of what was retrieved and of what is relevant."""
    found = order[:length]
    both = len({*found} & relevant)
    expected = {"precision": both / len(found), "recall": both / len(relevant)}
    assert_measured({"q": found}, {"q": relevant}, expected)


def assert_measured(run, judgments, expected):
    table = pl.DataFrame(
        [(query, doc, -rank) for query, docs in run.items() for rank, doc in enumerate(docs)],
        schema=["query", "doc", "score"],
        orient="row",
    )
    grades = pl.DataFrame(
        [(query, doc, 1) for query, docs in judgments.items() for doc in sorted(docs)],
        schema=["query", "doc", "grade"],
        orient="row",
    )
    joined = table.join(grades, on=["query", "doc"], how="full", coalesce=True)
    values = pg.evaluate(joined, *expected).row(0, named=True)
    assert {name: values[name] for name in expected} == pytest.approx(expected)
