"""How far results can be trusted: power, samples of queries, and orders of strategies."""

from __future__ import annotations

import itertools
import math

import numpy as np
import polars as pl
import pytest
import scipy.integrate
import scipy.stats
from chart_registry import ROWS
from helpers import needed
from hypothesis import given
from hypothesis import strategies as st
from results import close, drawn, frame_of, of_few, rng

from polars_graded import charts, similarity, summarise
from polars_graded._results.reliability import compute_power
from polars_graded.trust import order_stability, power_curve, queries_needed, rank_correlation

pytestmark = of_few


def frame_with(std, n_queries=20, shift=0.0):
    """Two strategies whose differences have this standard deviation."""
    d = rng(1).standard_normal(n_queries)
    d = (d - d.mean()) / d.std(ddof=1) * std + shift
    return frame_of({"a": d, "b": np.zeros(n_queries)})


def of_statsmodels(n, effect, alpha):
    """The power of the two-sided paired t test."""
    solver = needed("statsmodels.stats.power").TTestPower()
    power = solver.power(effect, n, alpha, alternative="two-sided")
    if np.isnan(power):  # as scipy's lower tail is where it is next to nothing
        margin = scipy.stats.t.isf(alpha / 2, n - 1)
        power = scipy.stats.nct.sf(margin, n - 1, effect * math.sqrt(n))
    return power


@pytest.mark.parametrize("n", [2, 5, 25, 106, 1000])
@pytest.mark.parametrize("effect", [0.01, 0.1, 0.5, 1.2])
@pytest.mark.parametrize("alpha", [0.001, 0.05, 0.2])
def test_power_is_that_of_statsmodels(n, effect, alpha):
    expected = of_statsmodels(n, effect, alpha)
    assert compute_power(n, effect, alpha) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_cohen_1988_section_2_4():
    """A medium effect of 0.5 is found with power 0.80 at 0.05 by 34 pairs (G*Power says so too)."""
    [row] = queries_needed(frame_with(0.1), difference=0.05).rows(named=True)
    assert row["queries_needed"] == 34
    [small] = queries_needed(frame_with(0.1), difference=0.02).rows(named=True)
    assert small["queries_needed"] == 199
    [large] = queries_needed(frame_with(0.1), difference=0.08).rows(named=True)
    assert large["queries_needed"] == 15


@pytest.mark.parametrize("power", [0.5, 0.8, 0.99])
@pytest.mark.parametrize("alpha", [0.05, 0.001])
def test_the_queries_needed_are_the_fewest_and_the_difference_the_smallest(power, alpha):
    [row] = queries_needed(frame_with(0.3), power=power, confidence=1 - alpha, difference=0.1).rows(
        named=True
    )
    assert row["std"] == close(0.3)
    n = row["queries_needed"]
    assert of_statsmodels(n, 1 / 3, alpha) >= power > of_statsmodels(n - 1, 1 / 3, alpha)
    assert row["power"] == pytest.approx(of_statsmodels(20, 1 / 3, alpha), rel=1e-9)
    at_hand = of_statsmodels(20, row["smallest_difference"] / 0.3, alpha)
    assert at_hand == pytest.approx(power, abs=1e-9)


def test_the_variance_is_that_of_an_analysis_of_variance():
    """Averaged over all pairs it is twice the residual variance of strategies and queries."""
    values = drawn(30, 5)
    table = np.array(list(values.values()))
    residual = table - table.mean(axis=0) - table.mean(axis=1, keepdims=True) + table.mean()
    variance = (residual**2).sum() / (4 * 29)
    [row] = queries_needed(frame_of(values)).rows(named=True)
    assert row["std"] == close(math.sqrt(2 * variance))


@pytest.mark.parametrize("n_queries", [25, 50, 250])
def test_the_promised_power_is_held(n_queries):
    """By trying: 4000 experiments with the smallest difference that so many queries show."""
    [row] = queries_needed(frame_with(0.3, n_queries)).rows(named=True)
    generator = rng(2)
    d = row["smallest_difference"] + 0.3 * generator.standard_normal((4000, n_queries))
    found = (scipy.stats.ttest_1samp(d, 0, axis=1).pvalue <= 0.05).mean()
    assert abs(found - 0.8) < 3 * math.sqrt(0.8 * 0.2 / 4000)


def test_the_power_curve_goes_through_what_is_at_hand_and_what_is_needed():
    frame = frame_with(0.3).with_columns(ndcg=pl.col("ap") / 2)
    [of_ap, of_ndcg] = queries_needed(frame, difference=0.1).rows(named=True)
    curve = power_curve(frame, difference=0.1)
    assert curve["measure"].unique(maintain_order=True).to_list() == ["ap", "ndcg"]
    for part, row in zip(curve.partition_by("measure"), (of_ap, of_ndcg), strict=True):
        at_hand = part.filter("at_hand")
        assert at_hand.select("queries", "power").rows() == [(20, close(row["power"]))]
        assert part["power"].is_sorted()
        assert part["queries"].is_sorted()
        assert part["queries"][0] == 5
        assert part["queries"][-1] == 80
    needed = of_ap["queries_needed"]
    asked = power_curve(frame, "ap", difference=0.1, queries=[needed, needed - 1])
    assert asked["queries"].to_list() == [20, needed - 1, needed]
    assert asked["power"][2] >= 0.8 > asked["power"][1]


def test_a_line_crosses_the_power_where_queries_needed_says():
    per_query = ROWS["dcg_curves"].frame(4, 30).select("strategy", "query", "mu_ap")
    [needed] = queries_needed(per_query, difference=0.05)["queries_needed"]
    curve = power_curve(per_query, queries=[needed - 1, needed], difference=0.05)
    drawn = charts.sample_size_curves(curve).data.sort("queries")
    assert drawn.filter(queries=needed - 1)["power"].item() < 0.8
    assert drawn.filter(queries=needed)["power"].item() >= 0.8


# Samples of the queries, beside drawing all samples there are.


def test_the_order_of_fewer_queries_is_near_the_mean_of_all_samples():
    values = drawn(7, 5, seed=3)
    frame = frame_of(values)
    table = np.array(list(values.values()))
    taus = []
    for some in itertools.combinations(range(7), 3):
        means = table[:, list(some)].mean(axis=1)
        taus.append(scipy.stats.kendalltau(means, table.mean(axis=1)).statistic)
    [row] = order_stability(frame, sizes=3, samples=10_000).rows(named=True)
    assert (row["measure"], row["queries"]) == ("ap", 3)
    assert row["tau"] == pytest.approx(np.mean(taus), abs=0.02)
    assert min(taus) - 1e-12 <= row["tau_low"] < row["tau"] < row["tau_high"] <= 1 + 1e-12


VALUES = st.lists(
    st.tuples(*[st.sampled_from([0.0, 0.1, 0.2, 0.5, 1.0])] * 3), min_size=2, max_size=9
)


@given(VALUES)
def test_the_order_from_all_queries_is_that_of_all_queries(rows):
    frame = frame_of(dict(zip("abc", map(list, zip(*rows, strict=True)), strict=True)))
    found = order_stability(frame, sizes=len(rows), samples=2)
    assert found["tau"].item() in (None, pytest.approx(1))
    assert found["tau_low"].item() == found["tau_high"].item()


@pytest.mark.parametrize(
    ("call", "options", "sentence"),
    [
        (order_stability, {"sizes": 6}, "`sizes` must"),
        (order_stability, {"sizes": [2, 6]}, "`sizes` must"),
        (order_stability, {"samples": 0}, "`samples` must"),
        (queries_needed, {"difference": 0}, "`difference` must"),
        (queries_needed, {"power": 0}, "`power` must"),
        (power_curve, {"queries": [1]}, "`queries` must"),
    ],
)
def test_what_is_out_of_bounds_is_refused(call, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        call(frame_of(drawn(5, 3)), **options)


# Orders of strategies.


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


def test_ap_correlation_of_a_measure_whose_lowest_value_is_best_by_hand():
    frame = orders(ap=[0.2, 0.6, 0.9]).with_columns(e_measure=1 - pl.col("ap"))
    best_first = pl.when(best="lowest").then(-pl.col("mean")).otherwise("mean")
    lists = summarise(frame).select("measure", doc="strategy", query=pl.lit("all"), mean=best_first)
    of_lists = similarity(lists, "tau_ap", by="mean", strategy="measure")
    assert of_lists["tau_ap"].item() == 1


def test_correlation_is_null_where_there_is_no_order():
    one = orders(x=[1], y=[2])
    for frame in (orders(x=[1, 1, 1], y=[1, 1, 1]), one, one.clear()):
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
