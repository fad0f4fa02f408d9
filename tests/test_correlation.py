"""How alike measures order strategies: equal to scipy, and to a published example."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import scipy.stats
from results import close, rng

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


def test_ap_correlation_by_hand():
    # The estimate puts 3 first: of 1 none, of 2 one of two, of 4 three of three stand above.
    frame = orders(estimate=[3, 2, 4, 1], truth=[4, 3, 2, 1])
    result = correlated(frame, method="ap", reference="truth")
    assert result.row(0) == ("estimate", "truth", 4, close(2 / 3 * (0 / 1 + 1 / 2 + 3 / 3) - 1))
    # The other way: of 2 one of one, of 3 none of two, of 4 three of three.
    back = 2 / 3 * (1 / 1 + 0 / 2 + 3 / 3) - 1
    assert correlated(frame, method="ap", reference="estimate")["tau"].item() == close(back)
    both = correlated(frame, method="ap")["tau"].item()
    assert both == close((2 / 3 * 1.5 - 1 + back) / 2)


def test_ap_correlation_with_ties_is_that_of_urbano_and_marrero():
    """What the examples of their R package ircor print."""
    x = np.array([0.67, 0.45, 0.29, 0.12, 0.57, 0.24, 0.94, 0.75, 0.08, 0.54])
    y = np.array([0.48, 0.68, 0.32, 0.09, 0.06, 0.61, 0.87, 0.22, 0.44, 0.84])
    one_way = correlated(orders(y=y, x=x), method="ap", reference="x")["tau"].item()
    assert one_way == pytest.approx(0.3928571, abs=5e-8)
    for tied, printed in ((x, 0.3317019), (x.round(1), 0.339418)):
        found = correlated(orders(x=tied, y=y.round(1)), method="ap")["tau"].item()
        assert found == pytest.approx(printed, abs=5e-7)


@pytest.mark.parametrize("method", ["kendall", "ap"])
def test_correlation_is_null_where_there_is_no_order(method):
    for frame in (
        orders(x=[1, 1, 1], y=[1, 1, 1]),
        orders(x=[1], y=[2]),
        orders(x=[1], y=[2]).clear(),
    ):
        assert correlated(frame, "x", "y", method=method)["tau"].to_list() == [None]
    none = orders(x=[1.0, None], y=[None, 2.0])
    assert correlated(none, method=method, missing="drop")["tau"].to_list() == [None]


def test_a_reference_is_added_and_stands_against_all():
    frame = orders(ap=[1, 2], ndcg=[1, 2], rbp=[2, 1])
    result = rank_correlation(frame, "rbp", "ap", reference="ndcg")
    assert result.select("measure", "reference").rows() == [("rbp", "ndcg"), ("ap", "ndcg")]
    assert result["tau"].to_list() == close([-1, 1])
    with pytest.raises(ValueError, match="`reference` must be one of ap, ndcg, rbp, got 'w'"):
        rank_correlation(frame, reference="w")
    with pytest.raises(ValueError, match="name at least two measures to correlate, got ap"):
        rank_correlation(frame, "ap")
    with pytest.raises(ValueError, match="`method` must be one of 'kendall', 'ap', got 'rho'"):
        rank_correlation(frame, method="rho")


@pytest.mark.parametrize("n", [3, 8, 19, 46])
def test_equal_orders_with_ties_correlate_by_just_1(n):
    order = [place // 2 for place in range(n)]
    frame = orders(x=order, y=[0.1 * place for place in order], z=[-place for place in order])
    assert correlated(frame, reference="x")["tau"].to_list() == [1, -1]
