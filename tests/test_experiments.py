"""The experiments of two papers: what their figures show, and the frames that draw them."""

from __future__ import annotations

import math

import polars as pl
import pytest

from polars_graded import evaluate, read_letor
from polars_graded.datasets import worked_example
from polars_graded.experiments import (
    ad_hoc_grade,
    ndcg_by_relevance,
    popularity_scenarios,
    reference_rankings,
    robustness_to_levels,
    swapped_rankings,
    threshold_profile,
)

# Scheel, Lommatzsch and Albayrak (2011), figures 4 and 5: rankings that go wrong alike.

LEVELS, SWAPS, MEASURES = [2, 10, 20, 50], [5, 10, 20, 40, 80], ["mu_ap", "ndcg", "ndcng"]


@pytest.fixture(scope="module", params=[True, False], ids=["figure 4", "figure 5"])
def robustness(request):
    return robustness_to_levels(LEVELS, SWAPS, uniform=request.param)


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
    frame = threshold_profile(
        ohsumed, by=STRATEGIES, grade=["f1", "f9"], thresholds=[1, 2], ties="order"
    )
    return {(grade, strategy, name): mean for grade, strategy, name, mean in frame.iter_rows()}


def test_scheel_figure_6_has_both_thresholds_beside_the_measures_that_need_none(data, ohsumed):
    frame = threshold_profile(ohsumed, by=STRATEGIES, ties="order")
    names = ["ap(threshold=1)", "ap(threshold=2)", *MEASURES]
    assert frame.columns == ["grade", "strategy", "measure", "mean"]
    assert frame.select("grade", "strategy", "measure").rows() == [
        ("grade", strategy, name) for strategy in sorted(STRATEGIES) for name in names
    ]
    published = pl.read_csv(data / "ohsumed/published_single_feature.csv")
    mean_ap = dict(published.select("feature", "MAP").iter_rows())
    for strategy, mean in (
        frame.filter(measure="ap(threshold=1)").select("strategy", "mean").iter_rows()
    ):
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


JUDGED = pl.DataFrame(
    {
        "topic": ["a", "a", "b", "b"],
        "judge": [1, 2, 0, 1],
        "other": [2, 0, 1, None],
        "score": [2, 1, 4, 3],
    }
)
# AP at 1 and 2: of topic a (1, 1/2), of b (1/2, undefined).
PROFILE = {"query": "topic", "grade": "judge", "by": "score", "measures": "mu_ap"}


def test_a_profile_is_the_mean_over_queries():
    expected = [
        ("judge", "score", "ap(threshold=1)", (1 + 1 / 2) / 2),
        ("judge", "score", "ap(threshold=2)", (1 / 2 + 0) / 2),
        ("judge", "score", "mu_ap", ((1 + 1 / 2) / 2 + 1 / 2) / 2),
    ]
    assert threshold_profile(JUDGED, **PROFILE).rows() == expected
    assert threshold_profile(JUDGED.lazy(), **PROFILE).rows() == expected


# Moniz, Torgo and Vinagre (2016), figures 2 to 4.

PHI = pl.col("popularity").graded.phi_relevance().over("query")


@pytest.fixture(scope="module")
def scenarios():
    return popularity_scenarios(300, imbalances=[0, 0.1, 0.2])


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


def test_moniz_figures_3_and_4_have_both_measures_and_their_difference_at_every_cutoff():
    grade = ad_hoc_grade("popularity", cuts=[1, 2, 3]).over("query")
    days = worked_example("moniz").with_columns(grade)
    frame = ndcg_by_relevance(days, by=["score", "popularity"], cutoffs=[5, 1])
    assert frame.schema == {
        "strategy": pl.String,
        "query": pl.String,
        "n": pl.Int64,
        "ndcg": pl.Float64,
        "ndcg_phi": pl.Float64,
        "difference": pl.Float64,
    }
    assert frame.select("strategy", "query", "n").rows() == [
        (strategy, day, n)
        for strategy in ("popularity", "score")
        for day in ("day 1", "day 2")
        for n in (1, 5)
    ]
    assert frame["difference"].to_list() == (frame["ndcg"] - frame["ndcg_phi"]).to_list()
    perfect = frame.filter(strategy="popularity")
    assert perfect.select("ndcg", "ndcg_phi").rows() == [(1.0, 1.0)] * 4


def test_moniz_table_1_only_ndcg_phi_punishes_the_second_day_more():
    grade = ad_hoc_grade("popularity", cuts=[1, 2, 3]).over("query")
    days = worked_example("moniz").with_columns(grade)
    one, two = ndcg_by_relevance(days, by="score", cutoffs=5).iter_rows(named=True)
    # The grades 3, 2 and 1 stand at ranks 1, 3 and 2 on either day.
    best = 7 + 3 / math.log2(3) + 1 / 2
    assert one["ndcg"] == two["ndcg"] == pytest.approx((7 + 1 / math.log2(3) + 3 / 2) / best)
    assert one["ndcg_phi"] > two["ndcg_phi"] + 0.02
    assert one["difference"] < two["difference"]


def test_ndcg_phi_is_ndcg_of_phi():
    frame = popularity_scenarios(5, imbalances=0.2, n=7)
    assert set(frame["n"]) == {7}
    days = worked_example("moniz").with_columns(grade=1, phi=PHI)
    expected = evaluate(days, "ndcg@2", grade="phi")["ndcg@2"]
    found = ndcg_by_relevance(days.lazy(), by="score", cutoffs=2)["ndcg_phi"]
    assert found.to_list() == expected.to_list()


# Refusals.

ColumnNotFound = pl.exceptions.ColumnNotFoundError

DAYS = worked_example("moniz").with_columns(grade=1)
NAMED_NDCG = {"query": "ndcg", "measures": ["ndcg"]}

REFUSED = [
    (lambda: robustness_to_levels(1), ValueError, "`levels` must"),
    (lambda: robustness_to_levels(2, -1), ValueError, "`swaps` must"),
    (lambda: robustness_to_levels(2, 0, measures=[]), ValueError, "name at least one measure"),
    (
        lambda: robustness_to_levels(2, 0, measures=["ap", "dcg_curve@5"]),
        ValueError,
        "`measures` must",
    ),
    (lambda: threshold_profile(JUDGED, by="score"), ColumnNotFound, "no column 'grade'; it has"),
    (
        lambda: threshold_profile(JUDGED, **(PROFILE | {"grade": ["judge", "ohter"]})),
        ColumnNotFound,
        "no column 'ohter'; it has .*\n\nHint: did you mean 'other'",
    ),
    (
        lambda: ndcg_by_relevance(JUDGED, by="score", query="topic", grade="judge"),
        ColumnNotFound,
        "no column 'popularity'; it has topic, judge",
    ),
    (lambda: popularity_scenarios(1, n=0), ValueError, "`n` must"),
    # Nothing to do.
    (lambda: robustness_to_levels([], 0), ValueError, "`levels`"),
    (lambda: threshold_profile(JUDGED, **(PROFILE | {"grade": []})), ValueError, "`grade`"),
    (lambda: popularity_scenarios(1, imbalances=[]), ValueError, "`imbalances`"),
    (
        lambda: swapped_rankings(
            reference_rankings(documents=2).rename({"query": "score"}), 1, query="score"
        ),
        ValueError,
        "`query` and `grade` must",
    ),
    (
        lambda: ndcg_by_relevance(worked_example("moniz"), by="score", grade="doc", cutoffs=[]),
        ValueError,
        "`cutoffs`",
    ),
]


@pytest.mark.parametrize(
    ("call", "exception", "sentence"), REFUSED, ids=[sentence for *_, sentence in REFUSED]
)
@pytest.mark.filterwarnings("ignore:grades are stars from 1 to 5:UserWarning")
def test_a_wrong_argument_is_refused(call, exception, sentence):
    with pytest.raises(exception, match=sentence):
        call()
