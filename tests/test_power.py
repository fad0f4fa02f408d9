"""What a measure can show: power equal to statsmodels', shares counted by hand."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
import scipy.integrate
import scipy.stats
from helpers import needed
from results import close, drawn, frame_of, of_few, rng

from polars_graded import compare
from polars_graded._results.reliability import compute_power
from polars_graded.trust import power_curve, queries_needed

pytestmark = of_few


def frame_with(std, n_queries=20, shift=0.0):
    """Two strategies whose differences have this standard deviation."""
    d = rng(1).standard_normal(n_queries)
    d = (d - d.mean()) / d.std(ddof=1) * std + shift
    return frame_of({"a": d, "b": np.zeros(n_queries)})


# Power and queries.


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


@pytest.mark.parametrize(
    ("call", "options", "sentence"),
    [
        (queries_needed, {"difference": 0}, "`difference` must"),
        (queries_needed, {"power": 0}, "`power` must"),
        (power_curve, {"queries": [1]}, "`queries` must"),
        (compare, {"test": "randomised_tukey", "correction": "holm"}, "`correction` must"),
    ],
)
def test_what_is_out_of_bounds_is_refused(call, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        call(frame_of(drawn(5, 3)), **options)
