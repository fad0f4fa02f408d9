"""Weights of queries: statsmodels, sign flips by hand, equal weights, and simulated traffic."""

from __future__ import annotations

import json
from functools import partial
from itertools import product
from typing import Any

import gate_simulations
import numpy as np
import polars as pl
import pytest
from book_numbers import table_after
from helpers import needed
from polars.testing import assert_frame_equal

from polars_graded import (
    charts,
    compare,
    compare_segments,
    gate,
    paper_table,
    rank_strategies,
    summarise,
    trust,
)
from polars_graded._results.gating import compute_stringer_interval
from polars_graded._results.significance import Options, run_test

FUNCTIONS: dict[str, Any] = {
    "summarise": summarise,
    "compare": compare,
    "rank_strategies": rank_strategies,
    "paper_table": paper_table,
    "gate": lambda results, *measures, **options: gate(
        results, *measures, baseline="s0", margin=0.1, **options
    ),
    "compare_segments": lambda results, *measures, **options: compare_segments(
        results, *measures, segments="country", **options
    ),
}
every_function = pytest.mark.parametrize("name", FUNCTIONS)


def world(seed: int, n: int = 60, strategies: int = 2) -> pl.DataFrame:
    """Return results with the traffic of each query by Zipf's law."""
    rng = np.random.default_rng(seed)
    queries = pl.DataFrame(
        {
            "query": range(n),
            "searches": (10_000 / rng.permutation(np.arange(1, n + 1))).astype(int),
            "term": np.arange(n) // 3,
            "country": np.where(np.arange(n) % 2, "DE", "FR"),
        }
    )
    values = pl.concat(
        pl.DataFrame({"strategy": f"s{k}", "query": range(n), "ap": rng.random(n) + 0.05 * k})
        for k in range(strategies)
    )
    return values.join(queries, on="query", maintain_order="left")


def differences(results: pl.DataFrame) -> pl.DataFrame:
    wide = results.pivot("strategy", index=["query", "searches", "term"], values="ap")
    return wide.with_columns(d=pl.col("s0") - pl.col("s1"))


# References


@pytest.mark.parametrize("seed", range(4))
def test_means_and_standard_errors_are_those_of_statsmodels(seed):
    models = needed("statsmodels.regression.linear_model", "statsmodels")
    stats = needed("statsmodels.stats.weightstats", "statsmodels")
    results = world(seed)
    wide = differences(results)
    weights = wide["searches"].to_numpy().astype(float)
    row = compare(results, "ap", weights="searches").row(0, named=True)
    assert row["difference"] == pytest.approx(stats.DescrStatsW(wide["d"], weights).mean)
    fitted = models.WLS(wide["d"].to_numpy(), np.ones(len(wide)), weights).fit(cov_type="HC0")
    shares = weights / weights.sum()
    effective = 1 / (shares**2).sum()
    # The linearised variance, without its bias if all differences have the same variance.
    unbiased = fitted.bse[0] / np.sqrt(1 - 2 * effective * (shares**3).sum() + 1 / effective)
    assert row["effective_queries"] == pytest.approx(effective)
    scipy_stats = needed("scipy.stats")
    margin = scipy_stats.t.ppf(0.975, effective - 1) * unbiased
    assert row["ci_high"] - row["difference"] == pytest.approx(margin)
    p = 2 * scipy_stats.t.sf(abs(row["difference"]) / unbiased, effective - 1)
    assert row["p_value"] == pytest.approx(p)
    means = summarise(results, weights="searches")
    described = stats.DescrStatsW(wide["s0"], weights)
    assert means["mean"][0] == pytest.approx(described.mean)
    assert means["std"][0] == pytest.approx(described.std / np.sqrt(1 - 1 / effective))
    assert means["geometric_mean"][0] == pytest.approx(np.exp(np.log(wide["s0"]) @ shares))
    assert means["median"][0] == described.quantile(0.5, return_pandas=False).item()


UNWEIGHTED = {"measure", "strategy", "queries", "best", "confidence"}
"""Columns of `summarise` that do not depend on weights."""


@pytest.mark.parametrize(
    "column",
    [name for name in summarise(world(0), weights="searches").columns if name not in UNWEIGHTED],
)
def test_each_statistic_of_summarise_depends_on_the_weights(column):
    results = world(0)
    one, other = (summarise(results, "ap", weights=name) for name in ("searches", "term"))
    assert (one[column] != other[column]).all()


def test_with_clusters_the_weight_of_a_cluster_is_the_sum():
    models = needed("statsmodels.regression.linear_model", "statsmodels")
    results = world(5)
    wide = differences(results)
    weights = wide["searches"].to_numpy().astype(float)
    fitted = models.WLS(wide["d"].to_numpy(), np.ones(len(wide)), weights).fit(
        cov_type="cluster", cov_kwds={"groups": wide["term"].to_numpy(), "use_correction": False}
    )
    shares = np.bincount(wide["term"], weights) / weights.sum()
    effective = 1 / (shares**2).sum()
    unbiased = fitted.bse[0] / np.sqrt(1 - 2 * effective * (shares**3).sum() + 1 / effective)
    row = compare(results, "ap", weights="searches", cluster="term").row(0, named=True)
    assert (row["clusters"], row["effective_queries"]) == (20, pytest.approx(effective))
    margin = needed("scipy.stats").t.ppf(0.975, effective - 1) * unbiased
    assert row["ci_high"] - row["difference"] == pytest.approx(margin)


@pytest.mark.parametrize("cluster", [None, "term"])
def test_permutation_turns_the_signs_of_weighted_differences(cluster):
    results = world(1, n=10 if cluster is None else 27)
    wide = differences(results)
    key = wide["query" if cluster is None else "term"]
    weighted = np.bincount(key, wide["d"] * wide["searches"])
    signs = np.array(list(product([1, -1], repeat=len(weighted))))
    extreme = np.abs(signs @ weighted) >= abs(weighted.sum()) - 1e-9
    options: dict[str, Any] = {"cluster": cluster, "weights": "searches"}
    row = compare(results, "ap", test="permutation", **options).row(0, named=True)
    assert row["p_value"] == pytest.approx(extreme.mean())
    # The ends of the simultaneous interval are those of the differences that are not rejected.
    for end, step in (("simultaneous_low", -1), ("simultaneous_high", 1)):
        for shift, is_inside in ((1e-6, False), (-1e-6, True)):
            moved = wide["d"] - row[end] - step * shift
            sums = np.bincount(key, moved * wide["searches"])
            p = (np.abs(signs @ sums) >= abs(sums.sum()) - 1e-9).mean()
            assert (p > 0.05) == is_inside


@every_function
@pytest.mark.parametrize("cluster", [None, "term"])
def test_equal_weights_give_the_results_without_weights(name, cluster):
    results = world(2).with_columns(searches=pl.lit(7))
    options = {} if cluster is None else {"cluster": cluster}
    weighted = FUNCTIONS[name](results, "ap", weights="searches", **options)
    plain = FUNCTIONS[name](results, "ap", **options)
    if isinstance(plain, str):
        assert weighted.replace(", weighted (", "") != plain
        return
    if name != "compare_segments":
        assert weighted["effective_queries"][0] == results[cluster or "query"].n_unique()
    added = [column for column in weighted.columns if column not in plain.columns]
    # Further queries may have other weights, so a gate does not say how many are needed.
    unlike = ["sentence"]
    plain = plain.drop(unlike, strict=False)
    weighted = weighted.drop(*unlike, *added, strict=False)
    assert_frame_equal(weighted, plain, check_exact=True)


@every_function
def test_a_multiple_of_all_weights_changes_nothing(name):
    results = world(3)
    other = results.with_columns(pl.col("searches") * 0.001)
    both = [FUNCTIONS[name](each, "ap", weights="searches") for each in (results, other)]
    if isinstance(both[0], str):
        assert both[0] == both[1]
    else:
        assert_frame_equal(*both)


@every_function
def test_queries_of_weight_0_are_left_out(name):
    results = world(4).with_columns(
        searches=pl.when(pl.col("query") < 40).then("searches").otherwise(0)
    )
    left = FUNCTIONS[name](results.filter(pl.col("query") < 40), "ap", weights="searches")
    found = FUNCTIONS[name](results, "ap", weights="searches")
    if isinstance(left, str):
        assert found == left
    else:
        assert_frame_equal(found, left)


# Rules


WRONG = [
    (pl.lit(None, pl.Int64), ValueError, "got None for 60 queries: 0, 1, 2, ...\n\nHint: .with_"),
    (pl.col("searches") * -1, ValueError, "must be finite and at least 0, got -"),
    (pl.lit(float("nan")), ValueError, "must be finite and at least 0, got nan"),
    (pl.lit(float("inf")), ValueError, "must be finite and at least 0, got inf"),
    (pl.lit(0), ValueError, "must be above 0 for a query, got 0 for all queries"),
    (pl.lit("many"), TypeError, "weights 'searches' must be numbers, got String"),
    (pl.int_range(pl.len()), ValueError, "each query must have one weight, got several in"),
]


@every_function
@pytest.mark.parametrize(("searches", "error", "sentence"), WRONG)
def test_wrong_weights_are_refused_everywhere(name, searches, error, sentence):
    results = world(0).with_columns(searches=searches)
    with pytest.raises(error) as raised:
        FUNCTIONS[name](results, "ap", weights="searches")
    assert sentence in str(raised.value)


def test_a_missing_column_and_a_test_without_weights_are_refused():
    for argument in ("strategy", "query", "segments", "cluster", "weights"):
        with pytest.raises(pl.exceptions.ColumnNotFoundError, match=f"{argument}= names the col"):
            summarise(world(0), "ap", **{argument: "visits"})
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match="cluster= names the column"):
        charts.dcg_curves(pl.DataFrame({"query": 1, "strategy": "a", "c": [[1]]}), "c", cluster="x")
    with pytest.raises(ValueError, match="'t' or 'permutation' if `weights` differ"):
        compare(world(0), "ap", weights="searches", test="randomised_tukey")


def test_the_column_of_weights_is_neither_a_key_nor_a_measure(recwarn):
    results = world(0).select("strategy", pl.col("query").alias("text"), "searches", "ap")
    found = summarise(results, weights="searches")
    assert found["measure"].unique().to_list() == ["ap"]
    assert found["queries"][0] == 60
    floats = results.with_columns(pl.col("searches").cast(pl.Float64))
    assert_frame_equal(summarise(floats, weights="searches"), found)
    assert not recwarn.list
    relevant = world(0).rename({"searches": "n_relevant"})
    assert_frame_equal(
        compare(relevant, "ap", weights="n_relevant"), compare(world(0), "ap", weights="searches")
    )


def test_segments_have_their_own_effective_numbers():
    results = world(6)
    found = summarise(results, "ap", segments="country", weights="searches")
    for (country,), rows in results.partition_by("country", as_dict=True).items():
        alone = summarise(rows, "ap", weights="searches")
        assert_frame_equal(found.filter(country=country).drop("country"), alone)
    varies = compare_segments(results, "ap", segments="country", weights="searches")
    both = compare(results, "ap", segments="country", weights="searches")
    whole = compare(results, "ap", weights="searches")
    assert varies["effective_queries"][0] == pytest.approx(whole["effective_queries"][0])
    assert varies["largest"][0] == pytest.approx(both["difference"].max())


def test_fewer_than_two_effective_queries_have_neither_interval_nor_p():
    """One query has nearly all of the traffic: what the others say hardly counts."""
    results = world(0).with_columns(searches=pl.when(query=0).then(10_000).otherwise(1))
    row = compare(results, "ap", weights="searches", rope=0.1).row(0, named=True)
    assert row["effective_queries"] < 2
    empty = "ci_low ci_high simultaneous_low simultaneous_high p_value p_corrected"
    assert {row[name] for name in (*empty.split(), "probability_better")} == {None}
    assert summarise(results, "ap", weights="searches")["ci_low"].is_null().all()
    chart = charts.precision_histogram(results, "ap", "s1", "s0", weights="searches")
    assert "interval" not in json.dumps(chart.to_dict()["title"])


@every_function
def test_one_weighted_cluster_has_neither_interval_nor_p(name):
    """As if a column is the segment and the cluster."""
    results = world(5).with_columns(place=pl.lit("here"))
    table = FUNCTIONS[name](results, "ap", cluster="place", weights="searches")
    if isinstance(table, str):
        assert "has no p value" in table or "cannot be tested" in table
        return
    for column in {"ci_low", "p_value"} & {*table.columns}:
        assert table[column].null_count() == table.height


def test_the_gate_of_weighted_queries_is_as_precise_as_that_of_as_many_equal_ones():
    """The differences are 0.3 up to a little noise."""
    rng = np.random.default_rng(0)

    def gate_of(weights: Any) -> dict[str, Any]:
        n = len(weights)
        values = np.append(np.zeros(n), 0.3 + 0.03 * rng.standard_normal(n))
        strategies, queries = ["s0"] * n + ["s1"] * n, [*range(n)] * 2
        columns = {"strategy": strategies, "query": queries, "ap": values, "w": [*weights] * 2}
        return gate(pl.DataFrame(columns), "ap", baseline="s0", weights="w").row(0, named=True)

    equal, zipf = gate_of(np.ones(24)), gate_of(1 / np.arange(1, 320))
    assert 24 <= zipf["effective_queries"] < 25
    assert zipf["verdict"] == equal["verdict"] == "better"
    assert [zipf["low"], zipf["high"]] == pytest.approx([equal["low"], equal["high"]], abs=0.02)


def test_stringers_interval_with_equal_shares_is_that_without_and_turns_with_the_sign():
    differences = np.random.default_rng(1).uniform(-1, 1, (5, 12))
    plain = compute_stringer_interval(differences, 0.05, 1.0)
    equal = compute_stringer_interval(differences, 0.05, 1.0, np.full(12, 1 / 12))
    assert equal == pytest.approx(plain)
    shares = 1 / np.arange(1, 13) / (1 / np.arange(1, 13)).sum()
    low, high = compute_stringer_interval(differences, 0.05, 1.0, shares)
    turned = compute_stringer_interval(-differences, 0.05, 1.0, shares)
    assert np.array([-turned[1], -turned[0]]) == pytest.approx(np.array([low, high]))
    assert (low <= differences @ shares).all()
    assert (high >= differences @ shares).all()


def test_a_gate_takes_the_weights_of_the_new_results():
    results = world(7)
    options: dict[str, Any] = {"margin": 0.3, "weights": "searches"}
    results = results.with_columns(pl.col("ap").clip(0, 1))
    new, old = (results.filter(strategy=name) for name in ("s1", "s0"))
    together = gate(results, "ap", baseline="s0", **options)
    changed = old.with_columns(pl.col("searches") % 7)
    for older in (old, old.drop("searches"), changed, old.cast({"searches": pl.Float32})):
        found = gate(new, "ap", baseline=older, **options)
        assert_frame_equal(found.drop("notes", "sentence"), together.drop("notes", "sentence"))
    fewer = new.filter(pl.col("query") > 3)
    found = gate(fewer, "ap", baseline=old, missing="drop", **options)
    assert found["lost"].item() == 4
    sentence = together["sentence"].item()
    assert f"weighted, as precise as {together['effective_queries'].item():.1f} " in sentence
    assert "60 changed, as precise as " in sentence


# Samples of queries


TABLES_OF_SAMPLES: dict[str, Any] = {
    "queries_needed": trust.queries_needed,
    "power_curve": partial(trust.power_curve, queries=[20, 50]),
    "order_stability": partial(trust.order_stability, sizes=[10, 20], samples=50),
}


@pytest.mark.parametrize("name", TABLES_OF_SAMPLES)
def test_samples_of_equal_weight_are_those_without_weights(name):
    results, function = world(2, strategies=3), TABLES_OF_SAMPLES[name]
    plain = function(results, "ap")
    weighted = function(results.with_columns(searches=pl.lit(0.3)), "ap", weights="searches")
    new = {"effective_queries_needed": "queries_needed"}
    if "queries" not in weighted.columns:
        new["effective_queries"] = "queries"
    weighted = weighted.rename(new, strict=False).drop("effective_queries", strict=False)
    assert_frame_equal(weighted, plain, check_dtypes=False, rel_tol=1e-12)
    two = function(results, "ap", weights="searches")
    doubled = results.with_columns(pl.col("searches") * 2)
    assert_frame_equal(function(doubled, "ap", weights="searches"), two, rel_tol=1e-12)


@pytest.mark.parametrize("cluster", [None, "term"])
def test_needed_queries_agree_with_the_weighted_t_test(cluster):
    results = world(3)
    needs = trust.queries_needed(
        results, "ap", weights="searches", cluster=cluster, difference=0.2
    ).row(0, named=True)
    row = compare(results, "ap", weights="searches", cluster=cluster).row(0, named=True)
    n = row["effective_queries"]
    assert needs["effective_queries"] == pytest.approx(n)
    schema = trust.queries_needed(results, "ap", weights="searches").schema
    assert schema["effective_queries_needed"] == pl.UInt64
    stats = needed("scipy.stats")
    error = (row["ci_high"] - row["difference"]) / stats.t.ppf(0.975, n - 1)
    assert needs["std"] == pytest.approx(error * np.sqrt(n))
    limit = stats.t.ppf(0.975, n - 1)
    power = stats.nct.sf(limit, n - 1, 0.2 / error) + stats.nct.cdf(-limit, n - 1, 0.2 / error)
    assert needs["power"] == pytest.approx(power)
    curve = trust.power_curve(results, "ap", weights="searches", cluster=cluster, difference=0.2)
    at_hand = curve.filter("at_hand").row(0, named=True)
    assert at_hand["power"] == pytest.approx(power)
    assert at_hand["effective_queries"] == pytest.approx(n)
    chart = charts.sample_size_curves(curve).to_dict()
    assert "the effective queries at hand" in str(chart["title"])


# Charts


def curves(seed: int = 4) -> pl.DataFrame:
    """Return results with lists of three points, one of which lacks a point."""
    results = world(seed)
    points = np.random.default_rng(seed).random((results.height, 3)).cumsum(axis=1)
    frame = results.with_columns(pl.Series("dcg_curve@3", points.tolist()))
    shorter = pl.col("dcg_curve@3").list.eval(
        pl.when(pl.int_range(pl.len()) < 2).then(pl.element())
    )
    is_cut = (pl.col("query") == 5) & (pl.col("strategy") == "s1")
    return frame.with_columns(
        pl.when(is_cut).then(shorter).otherwise("dcg_curve@3").alias("dcg_curve@3")
    )


@pytest.mark.parametrize("cluster", [None, "term"])
@pytest.mark.parametrize("weights", [None, "searches"])
@pytest.mark.parametrize("draw", [charts.dcg_curves, charts.recall_precision_curves])
def test_each_point_of_a_curve_is_a_mean_of_summarise(draw, weights, cluster):
    frame = curves()
    units: dict[str, Any] = {"cluster": cluster, "weights": weights}
    chart = draw(frame, "dcg_curve@3", confidence=0.9, **units)
    position = "rank" if draw is charts.dcg_curves else "recall"
    for index, rows in enumerate(chart.data.partition_by(position, maintain_order=True)):
        values = frame.with_columns(ap=pl.col("dcg_curve@3").list.get(index))
        for row in rows.rows(named=True):
            mine = values.filter(strategy=row["strategy"]).drop_nulls("ap")
            expected = summarise(mine, "ap", confidence=0.9, **units).row(0, named=True)
            found = row["value"], row["ci_low"], row["ci_high"]
            assert found == pytest.approx([expected[e] for e in ("mean", "ci_low", "ci_high")])
    subtitle = str(chart.to_dict()["title"]["subtitle"])
    assert ("weighted queries" in subtitle) == (weights is not None)
    assert ("in 20 clusters" in subtitle) == (cluster is not None)


@pytest.mark.parametrize("cluster", [None, "term"])
def test_differences_of_bars_are_those_of_compare(cluster):
    values = curves().filter(pl.col("query") != 5)
    values = values.with_columns(ap=pl.col("dcg_curve@3").list.last())
    units: dict[str, Any] = {"cluster": cluster, "weights": "searches"}
    expected = compare(values, "ap", baseline="s0", **units).row(0, named=True)
    numbers = [expected[name] for name in ("difference", "ci_low", "ci_high")]
    bars = charts.precision_histogram(values, "ap", "s1", "s0", **units)
    drawn = bars.data.row(0, named=True)
    assert [drawn["mean"], drawn["ci_low"], drawn["ci_high"]] == pytest.approx(numbers)
    assert "weighted mean difference" in str(bars.to_dict()["title"])
    by_country = charts.precision_histogram(values, "ap", "s1", "s0", panel="country", **units)
    table = compare(values, "ap", baseline="s0", segments="country", **units)
    for row in table.rows(named=True):
        [mean, low] = by_country.data.filter(panel=row["country"]).select("mean", "ci_low").row(0)
        assert (mean, low) == pytest.approx((row["difference"], row["ci_low"]))


@pytest.mark.parametrize("cluster", [None, "term"])
def test_explored_means_are_weighted(cluster):
    results = world(9)
    units: dict[str, Any] = {"cluster": cluster, "weights": "searches"}
    chart = charts.explore(results, "s1", "s0", "ap", **units)
    data = chart.data
    row = compare(results, "ap", baseline="s0", **units).row(0, named=True)
    mean = (data["weight"] * data["difference"]).sum() / data["weight"].sum()
    assert mean == pytest.approx(row["difference"])
    assert f"{row['ci_low']:.4f}".replace("-", "−") in str(chart.to_dict()["title"])


# Simulations


def test_losses_of_the_margin_seldom_pass_with_weights_or_clusters():
    """The tables of the book are those of the simulations, which another test runs."""
    passed = [float(row[5]) for row in table_after("weights by Zipf's law")]
    passed += [float(row[3]) for row in table_after("2,000) should be at most 5")]
    assert len(passed) == 9 + 4
    assert max(passed) <= 3


@pytest.mark.simulation
@pytest.mark.parametrize("world", gate_simulations.CLUSTER_WORLDS)
def test_losses_of_the_margin_seldom_pass_with_clusters_and_weights(world):
    assert gate_simulations.share_of_weighted_clusters(*world, 10_000) <= 0.03


def test_weighted_intervals_keep_their_level_where_the_usual_ones_do_not():
    rng = np.random.default_rng(0)
    weights = gate_simulations.draw_traffic(rng, 50)
    drawn = rng.normal(size=(4000, 50))
    pairs = gate_simulations.pair_differences(drawn, weights=weights)
    p = run_test(pairs, Options("t", "none")).p
    assert 0.035 < np.mean(p <= 0.05) < 0.065
    shares = weights / weights.sum()
    means = drawn @ shares
    error = np.sqrt(50 / 49 * (drawn - means[:, np.newaxis]) ** 2 @ shares**2)
    assert np.mean(np.abs(means) > 2.0096 * error) > 0.09
