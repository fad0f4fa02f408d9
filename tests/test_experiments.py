"""The experiments of two papers: what their figures show, and the frames that draw them."""

from __future__ import annotations

import math
from functools import partial

import polars as pl
import pytest

from polars_graded import DataWarning, evaluate, read_letor
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


def test_scheel_figure_4_without_the_noise_of_random_levels_the_others_lie_together():
    spread = spread_over_levels(robustness_to_levels(LEVELS, SWAPS))
    assert spread["ndcg"] > 10 * spread["mu_ap"]
    assert spread["ndcg"] > 10 * spread["ndcng"]


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


def test_robustness_has_a_row_a_measure_number_of_levels_and_number_of_swaps():
    names = ["precision@5", "ap(threshold=2)"]
    frame = robustness_to_levels([3, 2], [1, 0], measures=names, runs=3, documents=10)
    assert frame.schema == {
        "levels": pl.Int64,
        "swaps": pl.Int64,
        "measure": pl.String,
        "mean": pl.Float64,
    }
    assert frame.select("measure", "levels", "swaps").rows() == [
        (name, levels, swaps) for name in sorted(names) for levels in (2, 3) for swaps in (0, 1)
    ]


def test_the_seed_decides():
    one, again, other = (robustness_to_levels(10, 5, runs=3, seed=seed) for seed in (1, 1, 2))
    assert one.equals(again)
    assert not one.equals(other)


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


def test_the_thresholds_of_figure_7_are_the_grades_that_its_user_gives(ohsumed):
    frame = threshold_profile(ohsumed, by="f5", grade="f1", measures=[], ties="order")
    used = sorted(set(ohsumed["f1"]) - {0})
    assert len(used) == 9 - 1  # levels by the paper's count, of which 0 is no threshold
    assert frame["measure"].to_list() == [f"ap(threshold={level:.15g})" for level in used]


def test_the_user_of_figure_8_has_too_many_grades_for_a_table(ohsumed):
    sentence = r"'f9' must have at most 20 grades above 0, got \d+\n\nHint: pass `thresholds`"
    with pytest.raises(ValueError, match=sentence):
        threshold_profile(ohsumed, by="f5", grade="f9", ties="order")


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


def test_every_judge_has_thresholds_of_its_own_unless_they_are_given():
    judges = PROFILE | {"grade": ["judge", "other"], "measures": []}
    own = threshold_profile(JUDGED.filter(topic="b"), **judges)
    assert own.select("grade", "measure").rows() == [
        ("judge", "ap(threshold=1)"),
        ("other", "ap(threshold=1)"),
    ]
    given = threshold_profile(JUDGED, **judges, thresholds=[0.5, 2])
    assert given["measure"].to_list() == ["ap(threshold=0.5)", "ap(threshold=2)"] * 2
    one = threshold_profile(JUDGED, **judges, thresholds=2)
    assert one["measure"].to_list() == ["ap(threshold=2)"] * 2


def test_a_profile_breaks_ties_as_evaluate_does():
    tied = JUDGED.with_columns(score=1, doc=pl.Series(["x", "y"] * 2))
    profile = PROFILE | {"measures": ["ndcg"], "thresholds": 2}
    for by in ([["score", "doc"]], [("score", "doc")], ["doc_score", ["score", "doc"]]):
        frame = tied.with_columns(doc_score=pl.col("doc") == "y")
        expected = evaluate(frame, "ap(threshold=2)", "ndcg", query="topic", grade="judge", by=by)
        found = threshold_profile(frame, **(profile | {"by": by}))
        assert found["strategy"].unique(maintain_order=True).to_list() == sorted(
            set(expected["strategy"])
        )
        assert found["mean"].to_list() == [
            means[name].mean()
            for _, means in expected.group_by("strategy", maintain_order=True)
            for name in ("ap(threshold=2)", "ndcg")
        ]
        # The document "y" comes first, which at threshold 2 is the relevant one of topic a.
        assert found["mean"][0] == (1 + 0) / 2


def test_a_judge_may_say_yes_or_no():
    yes = JUDGED.with_columns(pl.col("judge") > 0)
    found = threshold_profile(yes, **PROFILE)
    assert found["measure"].to_list() == ["ap(threshold=1)", "mu_ap"]
    assert found["mean"].to_list() == [(1 + 1 / 2) / 2] * 2


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


def test_moniz_figure_2_ndcg_phi_varies(scenarios):
    for _, of_scenario in scenarios.group_by("imbalance", "strategy"):
        assert of_scenario["ndcg_phi"].n_unique() == 300
        assert of_scenario["ndcg_phi"].is_between(0, 1).all()


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


def test_moniz_figure_2_the_effect_is_larger_where_popularity_is_imbalanced(scenarios):
    inverted = scenarios.filter(strategy="scenario_2").group_by("imbalance")
    effect = dict(inverted.agg(pl.col("difference").mean()).iter_rows())
    # The paper prints a tenth of the documents as popular, its authors' runs have a fifth.
    assert effect[0.1] > 2 * effect[0.0]
    assert effect[0.2] > effect[0.0]


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


def test_ndcg_by_relevance_breaks_ties_as_evaluate_does():
    days = worked_example("moniz").with_columns(-pl.col("score"), grade=1, tied=1, phi=PHI)
    by = [["tied", "score"]]
    expected = evaluate(days, "ndcg@2", grade="phi", by=by)
    found = ndcg_by_relevance(days, by=by, cutoffs=2)
    assert found["strategy"].to_list() == ["tied"] * 2
    assert found["ndcg_phi"].to_list() == expected["ndcg@2"].to_list()
    assert not found.equals(ndcg_by_relevance(days, by="tied", cutoffs=2, ties="order"))
    with pytest.warns(DataWarning.ties):
        ndcg_by_relevance(days, by="tied", cutoffs=2)


def test_a_threshold_profile_breaks_ties_as_evaluate_does():
    """In the order of rows, the best grade first, all ties would be in a strategy's favour."""
    judged = pl.DataFrame(
        {"query": [1] * 4, "doc": list("abcd"), "grade": [3, 2, 1, 0], "score": [1.0] * 4}
    )
    with pytest.warns(DataWarning.ties):
        by_document = threshold_profile(judged, by="score", measures="ap")
    by_row = threshold_profile(judged, by="score", measures="ap", ties="order")
    means = [table.filter(measure="ap")["mean"].item() for table in (by_document, by_row)]
    assert means == pytest.approx([(1 / 2 + 2 / 3 + 3 / 4) / 3, 1])


@pytest.mark.parametrize("name", ["n", "ndcg", "ndcg_phi", "difference"])
@pytest.mark.parametrize("argument", ["by", "popularity", "grade"])
def test_columns_may_have_the_names_of_results(argument, name):
    columns = {"by": "score", "popularity": "popularity", "grade": "grade"}
    days = worked_example("moniz").with_columns(grade=pl.col("popularity") // 40)
    expected = ndcg_by_relevance(days, **columns, cutoffs=3)
    renamed = days.rename({columns[argument]: name})
    found = ndcg_by_relevance(renamed, **(columns | {argument: name}), cutoffs=3)
    assert found.drop("strategy").equals(expected.drop("strategy"))


def test_scenarios_have_a_row_a_sample_and_scenario_of_every_imbalance():
    frame = popularity_scenarios(2, imbalances=[0.1, 0])
    assert frame.select("imbalance", "strategy", "query", "n").rows() == [
        (imbalance, strategy, query, 10)
        for imbalance in (0.1, 0.0)
        for strategy in ("scenario_1", "scenario_2")
        for query in (1, 2)
    ]
    assert frame.equals(popularity_scenarios(2, imbalances=[0.1, 0]))
    assert not frame.equals(popularity_scenarios(2, imbalances=[0.1, 0], seed=1))


# Refusals.

ColumnNotFound = pl.exceptions.ColumnNotFoundError

DAYS = worked_example("moniz").with_columns(grade=1)
NAMED_NDCG = {"query": "ndcg", "measures": ["ndcg"]}

REFUSED = [
    (lambda: robustness_to_levels(1), ValueError, "`levels` must be at least 2, got 1"),
    (lambda: robustness_to_levels(2, -1), ValueError, "`swaps` must be at least 0, got -1"),
    (lambda: robustness_to_levels(2, 0, measures=[]), ValueError, "name at least one measure"),
    (
        lambda: robustness_to_levels(2, 0, measures=["ap", "dcg_curve@5"]),
        ValueError,
        "`measures` must have one value per query, got the curve dcg_curve@5",
    ),
    (lambda: threshold_profile(JUDGED, by="score"), ColumnNotFound, "no column 'query'; it has"),
    (
        lambda: threshold_profile(JUDGED, **(PROFILE | {"grade": ["judge", "ohter"]})),
        ColumnNotFound,
        "no column 'ohter'; it has .*\n\nHint: did you mean 'other'",
    ),
    (
        lambda: threshold_profile(JUDGED, **PROFILE, thresholds=[2, 1]),
        ValueError,
        "`thresholds` must increase, got 1 after 2",
    ),
    (
        lambda: ndcg_by_relevance(JUDGED, by="score", query="topic", grade="judge"),
        ColumnNotFound,
        "no column 'popularity'; it has topic, judge",
    ),
    *(
        (
            partial(ndcg_by_relevance, DAYS.rename({"query": name}), by="score", query=name),
            ValueError,
            f"`query` must not be the name of another column of the result, got '{name}'",
        )
        for name in ("strategy", "n", "ndcg", "ndcg_phi", "difference")
    ),
    (
        lambda: threshold_profile(JUDGED.rename({"topic": "ndcg"}), **(PROFILE | NAMED_NDCG)),
        ValueError,
        "`query` must not have the name of a measure, got 'ndcg'",
    ),
    (lambda: popularity_scenarios(1, n=0), ValueError, "`n` must be at least 1, got 0"),
    # Nothing to do.
    (lambda: robustness_to_levels([], 0), ValueError, "`levels`"),
    (lambda: threshold_profile(JUDGED, **(PROFILE | {"grade": []})), ValueError, "`grade`"),
    (lambda: popularity_scenarios(1, imbalances=[]), ValueError, "`imbalances`"),
    (
        lambda: swapped_rankings(
            reference_rankings(documents=2).rename({"query": "score"}), 1, query="score"
        ),
        ValueError,
        "`query` must not be the name of another column of the result, got 'score'",
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


@pytest.mark.parametrize(
    ("scores", "error", "sentence"),
    [
        ([1.0, math.nan], ValueError, "score 'x' must not be NaN, got 1 NaN"),
        (["9", "10"], TypeError, "score 'x' must be a number, got String"),
    ],
)
def test_grades_of_scores_that_are_none_are_refused(scores, error, sentence):
    frame = pl.DataFrame({"query": 1, "x": scores})
    for rows in (frame, frame.lazy()):
        with pytest.raises((error, pl.exceptions.ComputeError), match=sentence):
            rows.with_columns(ad_hoc_grade("x", [1, 2]).over("query")).lazy().collect()
    grades = {"x": "grade"}
    with pytest.raises((ValueError, TypeError), match="grade 'grade' must be"):
        swapped_rankings(frame.rename(grades), 0)


def test_phi_of_equal_popularity_is_undefined():
    rows = pl.DataFrame({"query": [1, 1, 2, 2], "doc": list("abab"), "popularity": [7, 7, 1, 9]})
    rows = rows.with_columns(grade=pl.Series([1, 0, 0, 1]), score=pl.Series([2.0, 1, 1, 2]))
    table = ndcg_by_relevance(rows, by="score")
    assert table["ndcg"].to_list() == [1, 1]
    assert table["ndcg_phi"].to_list() == [None, 1]
    assert table["difference"].to_list() == [None, 0]
