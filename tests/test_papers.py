"""The numbers that papers and tools print."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest
from helpers import GRADED, Query, frame_of, mean_curves, values
from papers import (
    CG,
    CHEN,
    CHEN_CURVES,
    CHEN_MEANS,
    CUMULATED,
    DCG,
    EXAMPLE_3_2,
    EXAMPLE_3_3,
    ICG,
    IDCG,
    SCHEEL,
    TABLE_1,
    as_printed,
    cut_to,
    entries,
    in_rank_order,
)

from polars_graded import evaluate, graded
from polars_graded.datasets import (
    ad_hoc_grade,
    popularity_rankings,
    reference_rankings,
    swapped_rankings,
    worked_example,
)


def value(expr: pl.Expr, query: Query) -> Any:
    """The value of one query."""
    return values(expr, frame_of([query]))[0]


# Scheel, Lommatzsch and Albayrak (2011), table 1.

EVERY_GRADE = GRADED.scaled(irrelevant=-1)
"""Grade 0 is relevant too, as in the table's last column."""


@pytest.mark.parametrize(("threshold", "printed"), TABLE_1.items())
def test_scheel_table_1_average_precision_at_a_threshold(threshold, printed):
    assert value(EVERY_GRADE.ap(threshold=threshold), SCHEEL) == as_printed(printed)


def test_scheel_table_1_mean_of_all_six():
    every = [value(EVERY_GRADE.ap(threshold=t), SCHEEL) for t in TABLE_1]
    assert sum(every) / 6 == as_printed("0.465")


def test_scheel_table_1_mean_of_the_levels_is_mu_ap():
    mu_ap = value(GRADED.mu_ap(), SCHEEL)
    assert mu_ap == as_printed("0.448")
    assert mu_ap == pytest.approx(0.4478174603, abs=1e-10)
    used = [value(GRADED.ap(threshold=t), SCHEEL) for t in (1, 2, 3, 4)]
    assert mu_ap == pytest.approx(sum(used) / 4, rel=1e-14)


def test_scheel_section_3_distances_of_levels_are_their_weights():
    query = in_rank_order([0.3, 0.0, 1.0, 0.3])
    lower, upper = (value(GRADED.ap(threshold=t), query) for t in (0.3, 1.0))
    assert lower == pytest.approx((1 / 1 + 2 / 3 + 3 / 4) / 3)
    assert upper == pytest.approx((1 / 3) / 1)
    assert value(GRADED.mu_ap(), query) == pytest.approx(0.3 * lower + 0.7 * upper, rel=1e-14)


# Table 2: the same ranking with three gains, at every rank.

SCORED = graded("grade").ranked_by("score")
DOUBLED = (pl.col("grade") * 2).graded.ranked_by("score")
QUARTERED = (pl.col("grade") / 4).graded.ranked_by("score")

TABLE_2 = {
    "one: dcg": (SCORED.dcg_curve(base=10), "3.32 3.32 14.95 24.96 28.82 28.82 29.93 45.65"),
    "one: dcg of the ideal": (
        SCORED.ideal_dcg_curve(base=10),
        "49.83 64.50 76.13 80.42 81.70 82.89 82.89 82.89",
    ),
    "one: ndcg": (SCORED.ndcg_curve(), "0.07 0.05 0.20 0.31 0.35 0.35 0.36 0.55"),
    "two: dcg": (DOUBLED.dcg_curve(base=10), "9.97 9.97 114 204 224 224 227 494"),
    "two: dcg of the ideal": (
        DOUBLED.ideal_dcg_curve(base=10),
        "847 979 1083 1105 1109 1112 1112 1112",
    ),
    "two: ndcg": (DOUBLED.ndcg_curve(), "0.01 0.01 0.11 0.19 0.20 0.20 0.20 0.44"),
    "three: dcg": (QUARTERED.dcg_curve(base=10), "0.63 0.63 1.76 2.74 3.27 3.27 3.48 4.53"),
    "three: dcg of the ideal": (
        QUARTERED.ideal_dcg_curve(base=10),
        "3.32 4.75 5.88 6.48 6.72 6.94 6.94 6.94",
    ),
    "three: ndcng": (SCORED.ndcng_curve(), "0.19 0.13 0.30 0.42 0.49 0.47 0.50 0.65"),
}


@pytest.mark.parametrize("line", TABLE_2)
def test_scheel_table_2(line):
    curve, printed = TABLE_2[line]
    # Whole numbers are cut there: 114 stands for 114.6.
    expected = [as_printed(n) if "." in n else cut_to(n) for n in entries(printed)]
    assert value(curve, SCHEEL) == expected


@pytest.mark.parametrize(
    ("area", "printed"),
    [
        (SCORED.ndcg_area(), "0.28"),
        (SCORED.ndcg_area(base=10), "0.28"),
        (DOUBLED.ndcg_area(), "0.17"),
        (SCORED.ndcng_area(), "0.39"),
        (QUARTERED.ndcng_area(), "0.39"),
    ],
    ids=["one", "one, base 10", "two", "three", "three, of quarters"],
)
def test_scheel_table_2_mean_of_a_row(area, printed):
    assert value(area, SCHEEL) == as_printed(printed)


# Chen's slides, examples 3.2 and 3.3: one ranking, judged for two requests.


def at_every_hit(query: Query) -> list[tuple[float, float]]:
    """Precision and recall at every rank where recall rises."""
    recalls = value(GRADED.recall_curve(), query)
    pairs = zip(value(GRADED.precision_curve(), query), recalls, [0, *recalls], strict=False)
    return [(precision, recall) for precision, recall, before in pairs if recall > before]


def percents(numbers: list[float], decimals: int = 0) -> list[str]:
    """Percents as the slides print them: cut after so many decimals."""
    cut = (math.floor(100 * number * 10**decimals + 1e-9) / 10**decimals for number in numbers)
    return [f"{number:.{decimals}f}" for number in cut]


def test_chen_example_3_2_precision_and_recall_at_every_hit():
    ranks = [1, 3, 6, 10, 15]
    expected = [(hits / rank, hits / 10) for hits, rank in enumerate(ranks, 1)]
    pairs = at_every_hit(EXAMPLE_3_2)
    assert pairs == [pytest.approx(pair) for pair in expected]
    assert percents([precision for precision, _ in pairs]) == entries("100 66 50 40 33")
    assert percents([recall for _, recall in pairs]) == entries("10 20 30 40 50")


def test_chen_example_3_2_interpolated_precision_at_eleven_levels_of_recall():
    curve = value(GRADED.interpolated_precision(), EXAMPLE_3_2)
    assert curve == pytest.approx([1, 1, 2 / 3, 3 / 6, 4 / 10, 5 / 15, 0, 0, 0, 0, 0])
    assert percents(curve) == entries("100 100 66 50 40 33 0 0 0 0 0")


def test_chen_example_3_2_average_precision_at_seen_relevant_documents():
    expected = (1 / 1 + 2 / 3 + 3 / 6 + 4 / 10 + 5 / 15) / 5
    seen = value(GRADED.ap(over="retrieved"), EXAMPLE_3_2)
    assert seen == pytest.approx(expected, rel=1e-14)
    assert seen == as_printed("0.58")
    assert value(GRADED.ap(), EXAMPLE_3_2) == pytest.approx(expected * 5 / 10, rel=1e-14)


def test_chen_example_3_2_r_precision():
    assert value(GRADED.r_precision(), EXAMPLE_3_2) == 4 / 10


def test_chen_example_3_3_precision_and_recall_at_every_hit():
    pairs = at_every_hit(EXAMPLE_3_3)
    assert pairs == [
        pytest.approx(pair) for pair in [(1 / 3, 1 / 3), (2 / 8, 2 / 3), (3 / 15, 3 / 3)]
    ]
    assert percents([precision for precision, _ in pairs], 1) == entries("33.3 25.0 20.0")
    assert percents([recall for _, recall in pairs], 1) == entries("33.3 66.6 100.0")


def test_chen_example_3_3_interpolated_precision_at_eleven_levels_of_recall():
    curve = value(GRADED.interpolated_precision(recall_levels=11), EXAMPLE_3_3)
    assert curve == pytest.approx([1 / 3] * 4 + [2 / 8] * 3 + [3 / 15] * 4)
    assert percents(curve, 1) == ["33.3"] * 4 + ["25.0"] * 3 + ["20.0"] * 4


def test_chen_example_3_3_r_precision():
    assert value(GRADED.r_precision(), EXAMPLE_3_3) == pytest.approx(1 / 3)


def test_chen_average_precision_of_hits_at_ranks_1_5_and_10():
    query = in_rank_order([1, 0, 0, 0, 1, 0, 0, 0, 0, 1])
    expected = (1 / 1 + 2 / 5 + 3 / 10) / 3
    assert value(GRADED.ap(), query) == pytest.approx(expected, rel=1e-14)
    assert value(GRADED.ap(over="retrieved"), query) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    ("query", "precision", "recall"),
    [(EXAMPLE_3_2, 5 / 15, 5 / 10), (EXAMPLE_3_3, 3 / 15, 3 / 3)],
    ids=["example 3.2", "example 3.3"],
)
def test_chen_harmonic_mean_and_e_measure(query, precision, recall):
    assert value(GRADED.f_measure(), query) == pytest.approx(2 / (1 / recall + 1 / precision))
    for b in (0.5, 1, 2):
        e = 1 - (1 + b**2) / (b**2 / recall + 1 / precision)
        assert value(GRADED.e_measure(b=b), query) == pytest.approx(e)
        assert value(GRADED.f_measure(beta=b), query) == pytest.approx(1 - e)


def test_chen_precision_where_the_k_th_relevant_document_is_seen():
    # Printed: 100, 66, 50, 40 and 33 % at the five hits of the example's list.
    ranks = [1, 3, 6, 10, 15]
    for k, rank in enumerate(ranks, 1):
        assert value(GRADED.precision_at_hit(k=k), EXAMPLE_3_2) == pytest.approx(k / rank)
    assert value(GRADED.precision_at_hit(k=6), EXAMPLE_3_2) == 0


def test_chen_f_and_e_at_every_rank_and_the_highest_f():
    # Of 10 relevant documents, at rank k with h hits F = 2h / (k + 10).
    hits = [1, 1, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4, 5]
    by_hand = [2 * h / (k + 10) for k, h in enumerate(hits, 1)]
    assert value(GRADED.f_measure_curve(), EXAMPLE_3_2) == pytest.approx(by_hand)
    assert value(GRADED.e_measure_curve(), EXAMPLE_3_2) == pytest.approx([1 - f for f in by_hand])
    assert value(GRADED.max_f_measure(), EXAMPLE_3_2) == pytest.approx(8 / 20)
    assert value(GRADED.max_f_measure(5), EXAMPLE_3_2) == pytest.approx(4 / 13)


def test_chen_user_oriented_measures_of_example_3_2():
    relevant = set(entries("d3 d5 d9 d25 d39 d44 d56 d71 d89 d123"))
    u, a = set(entries("d3 d5 d56 d71")), set(CHEN)
    r_k, r_u = u & a, (relevant - u) & a
    documents = [*CHEN, *sorted(relevant - a)]
    frame = pl.DataFrame(
        {
            "grade": [doc in relevant for doc in documents],
            "score": [-documents.index(doc) if doc in a else None for doc in documents],
            "known": [doc in u for doc in documents],
        }
    )
    expected = {
        GRADED.coverage_ratio: len(r_k) / len(u),
        GRADED.novelty_ratio: len(r_u) / (len(r_u) + len(r_k)),
        GRADED.relative_recall: (len(r_k) + len(r_u)) / len(u),
        GRADED.recall_effort: len(u) / len(a),
    }
    assert list(expected.values()) == [2 / 4, 3 / 5, 5 / 4, 4 / 15]
    for measure, ratio in expected.items():
        assert frame.select(measure(known="known")).item() == pytest.approx(ratio)


@pytest.mark.parametrize("line", CHEN_CURVES)
def test_chen_cumulated_gain(line):
    name, query, printed = CHEN_CURVES[line]
    curve = evaluate(frame_of(CUMULATED), name)[name][query]
    assert curve.to_list() == [as_printed(number) for number in entries(printed)]


@pytest.mark.parametrize("line", CHEN_MEANS)
@pytest.mark.parametrize(
    "frame", [frame_of(CUMULATED), frame_of(CUMULATED).lazy()], ids=["eager", "lazy"]
)
def test_chen_means_over_queries_and_their_ratios(frame, line):
    expr, printed = CHEN_MEANS[line]
    curves = mean_curves(frame, CG, DCG, ICG, IDCG).lazy().collect()
    assert curves["rank"].to_list() == list(range(1, 16))
    assert curves.select(expr).to_series().to_list() == list(map(as_printed, entries(printed)))


# OHSUMED: LETOR's published table, and the figures of Scheel, Lommatzsch and Albayrak (2011).

FEATURES = [f"f{number}" for number in range(1, 26)]
STRATEGIES = [f"f{number}" for number in (1, 5, 9, 11, 15, 19, 21, 22)]


def means(per_query: pl.DataFrame) -> dict[str, dict[str, float]]:
    """The mean of every measure over queries, by strategy."""
    rows = per_query.drop("query").group_by("strategy").mean()
    return {row.pop("strategy"): row for row in rows.iter_rows(named=True)}


def test_letor_published_numbers_of_every_single_feature(data, ohsumed):
    published = pl.read_csv(data / "ohsumed/published_single_feature.csv")
    names = {
        **{f"NDCG@{n}": f"ndcg(discount=jarvelin)@{n}" for n in range(1, 11)},
        **{f"P@{n}": f"precision@{n}" for n in range(1, 11)},
        "MAP": "ap",
    }
    found = means(evaluate(ohsumed, *names.values(), by=FEATURES, ties="order"))
    compared = 0
    for row in published.iter_rows(named=True):
        for printed, ours in names.items():
            assert found[f"f{row['feature']}"][ours] == pytest.approx(row[printed], abs=1e-6)
            compared += 1
    assert compared == 525


def test_scheel_figure_6_mu_ap_of_two_levels_is_the_mean_of_ap_at_both(ohsumed):
    names = ["ap(threshold=1)", "ap(threshold=2)", "mu_ap(levels=[1, 2])", "mu_ap"]
    for row in means(evaluate(ohsumed, *names, by=STRATEGIES, ties="order")).values():
        of_thresholds = (row["ap(threshold=1)"] + row["ap(threshold=2)"]) / 2
        assert row["mu_ap(levels=[1, 2])"] == pytest.approx(of_thresholds, rel=1e-12)
        # Five queries have no document of grade 2, and so one level less.
        assert row["mu_ap"] > of_thresholds


def test_scheel_figure_6_mu_ap_of_shared_levels_beside_that_of_each_query(ohsumed):
    ranked = graded("grade").ranked_by("f1").scaled(max_grade=2)
    per_query = ohsumed.group_by("query").agg(ranked.mu_ap(levels="all"), equation_4=ranked.mu_ap())
    found = per_query.select(pl.col("mu_ap(levels=all)", "equation_4").mean()).row(0)
    assert found == (as_printed("0.3425"), as_printed("0.3438"))


def test_scheel_section_2_2_both_virtual_users_agree(ohsumed):
    assert ohsumed.select(pl.corr("f1", "f9")).item() == as_printed("0.9598")


def test_chen_area_under_the_ratio_of_means_beside_the_mean_of_ratios():
    frame = frame_of(CUMULATED)
    # The slides' area is the mean of the row NDCG as printed, rounded to 0.005 a value.
    printed = [float(value) for value in entries(CHEN_MEANS["NDCG"][1])]
    curves = mean_curves(frame, DCG, IDCG).lazy().collect()
    ratio_of_means = curves.select((pl.col(DCG) / pl.col(IDCG)).mean()).item()
    assert ratio_of_means == pytest.approx(sum(printed) / 15, abs=0.005)
    area = graded("grade").ranked_by("score").ndcg_area(15, gain="linear", discount="jarvelin")
    by_query = [
        [float(value) for value in entries(CHEN_CURVES[name][2])]
        for name in ("DCG1", "IDCG1", "DCG2", "IDCG2")
    ]
    of_ratios = [
        sum(a / b for a, b in zip(by_query[at], by_query[at + 1], strict=True)) / 15
        for at in (0, 2)
    ]
    found = frame.group_by("query", maintain_order=True).agg(area).to_series(1)
    assert found.to_list() == pytest.approx(of_ratios, abs=0.01)
    assert found.mean() == as_printed("0.25")
    assert ratio_of_means == as_printed("0.24")


CHEN_MEANS_OF_ROUNDED_VALUES = {
    "mean DCG": (pl.col(DCG), "0.5 0.5 1.5 1.5 1.5 2.1 2.1 2.2 2.2 2.5 2.5 2.5 2.5 2.5 3.3"),
    "NDCG": (
        pl.col(DCG) / pl.col(IDCG),
        "0.17 0.09 0.21 0.20 0.19 0.25 0.25 0.26 0.26 0.29 0.29 0.29 0.29 0.29 0.38",
    ),
}


@pytest.mark.parametrize("line", CHEN_MEANS_OF_ROUNDED_VALUES)
def test_chen_means_are_printed_as_those_of_rounded_values(line):
    expr, printed = CHEN_MEANS_OF_ROUNDED_VALUES[line]
    each = evaluate(frame_of(CUMULATED), DCG, IDCG).with_columns(rank=pl.int_range(1, 16).implode())
    rounded = each.explode("rank", DCG, IDCG).with_columns(pl.col(DCG, IDCG).round(1))
    curves = rounded.group_by("rank", maintain_order=True).agg(pl.col(DCG, IDCG).mean())
    assert curves.select(expr).to_series().to_list() == list(map(as_printed, entries(printed)))


def test_chen_example_3_2_average_precision_is_printed_as_that_of_terms_that_were_cut():
    terms = entries("1 0.66 0.5 0.4 0.3")
    for (precision, _), term in zip(at_every_hit(EXAMPLE_3_2), terms, strict=True):
        unit = 10 ** -len(term.partition(".")[2])
        assert float(term) <= precision + 1e-9 < float(term) + unit
    assert sum(map(float, terms)) / 5 == as_printed("0.57")


@pytest.mark.parametrize(
    ("name", "query", "gains"),
    [
        (CG, 0, "1 0 1 0 0 3 0 0 0 2 0 0 0 0 3"),
        (CG, 1, "0 0 2 0 0 0 0 1 0 0 0 0 0 0 3"),
        (ICG, 0, "3 3 3 2 2 2 1 1 1 1 0 0 0 0 0"),
        (ICG, 1, "3 2 1 0 0 0 0 0 0 0 0 0 0 0 0"),
    ],
    ids=["G1", "G2", "IG1", "IG2"],
)
def test_chen_gains_are_the_steps_of_cumulated_gain(name, query, gains):
    curve = evaluate(frame_of(CUMULATED), name)[name][query]
    assert curve.diff().fill_null(curve[0]).to_list() == list(map(float, entries(gains)))


OF_GRADES = {"mu_ap": "mu_ap", "ndcg": "ndcg(gain=exp2)", "ndcng": "ndcng"}


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
        values = evaluate(swapped_rankings(ideal, SWAPS), OF_GRADES, strategy="swaps")
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


@pytest.fixture(scope="module")
def by_virtual_users(ohsumed):
    """Figures 7 and 8."""
    return {
        (grade, strategy, name): mean
        for grade in ("f1", "f9")
        for strategy, name, mean in means_of(
            evaluate(ohsumed, OF_GRADES, by=STRATEGIES, grade=grade, ties="order"), "strategy"
        ).iter_rows()
    }


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
