"""What the figures of two papers show."""

from __future__ import annotations

import math

import polars as pl
import pytest

from polars_graded import evaluate, read_letor
from polars_graded.datasets import (
    ad_hoc_grade,
    popularity_rankings,
    reference_rankings,
    swapped_rankings,
    worked_example,
)

GRADED = {"mu_ap": "mu_ap", "ndcg": "ndcg(gain=exp2)", "ndcng": "ndcng"}


def means_of(values, key, **constants):
    """The mean of each measure, one row per strategy and measure."""
    names = [name for name in values.columns if name not in (key, "query")]
    means = values.group_by(key).agg(pl.col(names).mean())
    long = means.unpivot(names, index=key, variable_name="measure", value_name="mean")
    return long.with_columns(**constants)


def compare_relevance(frame, by, cutoffs):
    """NDCG of ad-hoc grades and NDCG^φ of each query."""
    rows = frame.with_columns(phi=PHI)
    parts = []
    for n in cutoffs:
        by_grade, by_phi = (
            evaluate(rows, {name: f"ndcg(gain=exp2)@{n}"}, by=by, grade=grade)
            for name, grade in (("ndcg", "grade"), ("ndcg_phi", "phi"))
        )
        both = by_grade.join(by_phi, on=["strategy", "query"])
        parts.append(both.with_columns(n=n, difference=pl.col("ndcg") - pl.col("ndcg_phi")))
    return pl.concat(parts).sort("strategy", "query", "n")


# Scheel, Lommatzsch and Albayrak (2011), figures 4 and 5: rankings that go wrong alike.

LEVELS, SWAPS, MEASURES = [2, 10, 20, 50], [5, 10, 20, 40, 80], ["mu_ap", "ndcg", "ndcng"]


@pytest.fixture(scope="module", params=[True, False], ids=["figure 4", "figure 5"])
def robustness(request):
    parts = []
    for levels in LEVELS:
        ideal = reference_rankings(100, levels=levels, uniform=request.param)
        values = evaluate(swapped_rankings(ideal, SWAPS), GRADED, strategy="swaps")
        parts.append(means_of(values, "swaps", levels=levels))
    return pl.concat(parts)


def spread_over_levels(frame: pl.DataFrame) -> dict[str, float]:
    """How far apart the curves of the numbers of levels lie, by measure."""
    apart = frame.group_by("measure", "swaps").agg(pl.col("mean").max() - pl.col("mean").min())
    return dict(apart.group_by("measure").agg(pl.col("mean").mean()).iter_rows())


def test_scheel_figures_4_and_5_only_the_curves_of_ndcg_lie_apart(robustness):
    spread = spread_over_levels(robustness)
    assert spread["ndcg"] > 3 * spread["mu_ap"]
    assert spread["ndcg"] > 3 * spread["ndcng"]


def test_scheel_figures_4_and_5_ndcg_falls_with_the_number_of_levels(robustness):
    for swaps in (20, 40, 80):
        ndcg = robustness.filter(measure="ndcg", swaps=swaps).sort("levels")["mean"]
        assert ndcg.is_sorted(descending=True)
        assert ndcg[0] > ndcg[-1] + 0.1


def test_scheel_figures_4_and_5_every_measure_falls_with_the_number_of_swaps(robustness):
    for _, curve in robustness.group_by("measure", "levels"):
        means = curve.sort("swaps")["mean"]
        assert means.is_sorted(descending=True)
        assert 1 > means[0] > means[-1] > 0


# Figures 6 to 8: the features of OHSUMED as strategies, and two of them as who grades.

STRATEGIES = [f"f{number}" for number in (1, 5, 9, 11, 15, 19, 21, 22)]


@pytest.fixture(scope="module")
def ohsumed(data):
    return read_letor([data / f"ohsumed/fold{fold}.testset.txt.gz" for fold in range(1, 6)])


@pytest.fixture(scope="module")
def by_virtual_users(ohsumed):
    """Figures 7 and 8."""
    return {
        (grade, strategy, name): mean
        for grade in ("f1", "f9")
        for strategy, name, mean in means_of(
            evaluate(ohsumed, GRADED, by=STRATEGIES, grade=grade, ties="order"), "strategy"
        ).iter_rows()
    }


def test_scheel_figure_6_has_the_published_means_of_average_precision(data, ohsumed):
    values = evaluate(ohsumed, "ap(threshold=1)", by=STRATEGIES, ties="order")
    published = pl.read_csv(data / "ohsumed/published_single_feature.csv")
    mean_ap = dict(published.select("feature", "MAP").iter_rows())
    for strategy, mean in means_of(values, "strategy").select("strategy", "mean").iter_rows():
        assert mean == pytest.approx(mean_ap[int(strategy[1:])], abs=1e-6)


@pytest.mark.parametrize("user", ["f1", "f9"])
def test_scheel_figures_7_and_8_a_strategy_that_is_its_own_reference_scores_1(
    by_virtual_users, user
):
    for name in MEASURES:
        assert by_virtual_users[user, user, name] == pytest.approx(1, rel=1e-14)


def test_scheel_figures_7_and_8_of_strategy_5(by_virtual_users):
    found = {
        name: [round(by_virtual_users[user, "f5", name], 4) for user in ("f1", "f9")]
        for name in MEASURES
    }
    assert found == {"ndcg": [0.6426, 0.3083], "mu_ap": [0.3288, 0.3263], "ndcng": [0.7382, 0.7333]}


def test_scheel_figures_7_and_8_ndcg_falls_and_the_others_barely_move(by_virtual_users):
    for strategy in set(STRATEGIES) - {"f1", "f9"}:
        fall, *others = (
            by_virtual_users["f1", strategy, name] - by_virtual_users["f9", strategy, name]
            for name in ("ndcg", "mu_ap", "ndcng")
        )
        assert fall > 0.1
        assert all(abs(other) < fall / 5 for other in others)


# Moniz, Torgo and Vinagre (2016), figures 2 to 4.

PHI = pl.col("popularity").graded.phi_relevance().over("query")


@pytest.fixture(scope="module")
def scenarios():
    by = ["scenario_1", "scenario_2"]
    return pl.concat(
        compare_relevance(popularity_rankings(300, imbalance=share), by, [10]).with_columns(
            imbalance=share
        )
        for share in (0.0, 0.1, 0.2)
    )


def test_moniz_figure_2_ndcg_is_constant(scenarios):
    for strategy, ndcg in [("scenario_1", 0.9636), ("scenario_2", 1.0)]:
        found = scenarios.filter(strategy=strategy)["ndcg"]
        assert found.to_list() == pytest.approx([ndcg] * 3 * 300, abs=5e-5)
        assert found.max() - found.min() < 1e-14


def test_moniz_figure_2_ndcg_mostly_over_estimates_the_swap_and_under_estimates_the_inversion(
    scenarios,
):
    for _, of_scenario in scenarios.group_by("imbalance"):
        swapped, inverted = (
            of_scenario.filter(strategy=strategy)["difference"]
            for strategy in ("scenario_1", "scenario_2")
        )
        # An error that is over-estimated makes NDCG lower than NDCG^φ.
        assert (swapped < 0).mean() > 0.95
        assert (inverted > 0).all()


def test_moniz_table_1_only_ndcg_phi_punishes_the_second_day_more():
    grade = ad_hoc_grade("popularity", cuts=[1, 2, 3]).over("query")
    days = worked_example("moniz").with_columns(grade)
    one, two = compare_relevance(days, "score", [5]).iter_rows(named=True)
    # The grades 3, 2 and 1 stand at ranks 1, 3 and 2 on either day.
    best = 7 + 3 / math.log2(3) + 1 / 2
    assert one["ndcg"] == two["ndcg"] == pytest.approx((7 + 1 / math.log2(3) + 3 / 2) / best)
    assert one["ndcg_phi"] > two["ndcg_phi"] + 0.02
    assert one["difference"] < two["difference"]
