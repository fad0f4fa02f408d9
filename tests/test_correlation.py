"""How alike measures order strategies: equal to scipy, and to a published example."""

from __future__ import annotations

import polars as pl
import pytest
import scipy.stats
from results import close, rng

from polars_graded import similarity, summarise
from polars_graded.trust import rank_correlation


def orders(**means):
    """A frame of one query where strategies have these means."""
    return pl.DataFrame(means).with_row_index("strategy").with_columns(query=pl.lit(1))


def correlated(frame, *measures, **options):
    """The correlation of columns of which the highest value is best, unless they are measures."""
    named = measures or [name for name in frame.columns if name not in ("strategy", "query")]
    of_measures = [name if "measure" in name else {name: "highest"} for name in named]
    return rank_correlation(frame, *of_measures, **options)


def test_kendalls_tau_is_scipys():
    generator = rng(0)
    frame = orders(**{name: generator.random(12).round(1) for name in "xyz"})
    result = correlated(frame)
    assert result.select("measure", "reference").rows() == [("x", "y"), ("x", "z"), ("y", "z")]
    assert result["strategies"].to_list() == [12] * 3
    for x, y, _, tau in result.iter_rows():
        assert tau == close(scipy.stats.kendalltau(frame[x], frame[y]).statistic)


def test_ap_correlation_is_that_of_similarity_by_hand():
    """The lists of documents that `similarity` compares are the orders of strategies."""
    # The estimate puts 3 first: of 1 none, of 2 one of two, of 4 three of three stand above.
    frame = orders(estimate=[3, 2, 4, 1], truth=[4, 3, 2, 1])
    means = summarise(frame, {"estimate": "highest", "truth": "highest"})
    lists = means.select("measure", "mean", doc="strategy", query=pl.lit("all"))
    of_lists = similarity(lists, "tau_ap", by="mean", strategy="measure", baseline="truth")
    assert of_lists["tau_ap"].item() == close(2 / 3 * (0 / 1 + 1 / 2 + 3 / 3) - 1)


def test_correlation_is_null_where_there_is_no_order():
    for frame in (
        orders(x=[1, 1, 1], y=[1, 1, 1]),
        orders(x=[1], y=[2]),
        orders(x=[1], y=[2]).clear(),
    ):
        assert correlated(frame, "x", "y")["tau"].to_list() == [None]
    none = orders(x=[1.0, None], y=[None, 2.0])
    assert correlated(none, missing="drop")["tau"].to_list() == [None]


def test_a_reference_is_added_and_stands_against_all():
    frame = orders(ap=[1, 2], ndcg=[1, 2], rbp=[2, 1])
    result = rank_correlation(frame, "rbp", "ap", reference="ndcg")
    assert result.select("measure", "reference").rows() == [("rbp", "ndcg"), ("ap", "ndcg")]
    assert result["tau"].to_list() == close([-1, 1])
    with pytest.raises(ValueError, match="`reference` must be one of 'ap', 'ndcg', 'rbp', got 'w'"):
        rank_correlation(frame, reference="w")
    with pytest.raises(ValueError, match="name at least two measures to correlate, got ap"):
        rank_correlation(frame, "ap")


@pytest.mark.parametrize("n", [3, 8, 19, 46])
def test_equal_orders_with_ties_correlate_by_just_1(n):
    order = [place // 2 for place in range(n)]
    frame = orders(x=order, y=[0.1 * place for place in order], z=[-place for place in order])
    assert correlated(frame, reference="x")["tau"].to_list() == [1, -1]
