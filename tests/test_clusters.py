"""Clusters of queries: statsmodels, all signs of whole clusters by hand, and simulated worlds."""

from __future__ import annotations

from itertools import product

import gate_simulations
import numpy as np
import polars as pl
import pytest
from helpers import needed
from polars.testing import assert_frame_equal

import polars_graded as pg
from polars_graded import (
    compare,
    compare_segments,
    gate,
    paper_table,
    rank_strategies,
    summarise,
    trust,
)


def world(seed, clusters, *, spread=1.0, shift=0.0, strategies=2):
    """Return results whose differences share an effect within each cluster of one to five."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, clusters)
    term = np.repeat(np.arange(clusters), sizes)
    rows = []
    for number in range(strategies):
        effect = spread * rng.standard_normal(clusters)[term]
        value = effect + rng.standard_normal(len(term)) + shift * number
        rows.append(
            pl.DataFrame(
                {"strategy": f"s{number}", "query": range(len(term)), "term": term, "ap": value}
            )
        )
    return pl.concat(rows)


def differences(results: pl.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    wide = results.pivot("strategy", index=["query", "term"], values="ap")
    return (wide["s0"] - wide["s1"]).to_numpy(), wide["term"].to_numpy()


@pytest.mark.filterwarnings("ignore:with .* clusters the t test")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("confidence", [0.95, 0.8])
def test_t_is_that_of_statsmodels(seed, confidence):
    models = needed("statsmodels.regression.linear_model", "statsmodels")
    results = world(seed, clusters=4 + 6 * seed, shift=0.3)
    difference, term = differences(results)
    fitted = models.OLS(difference, np.ones(len(difference))).fit(
        cov_type="cluster", cov_kwds={"groups": term}, use_t=True
    )
    found = compare(results, "ap", cluster="term", confidence=confidence).row(0, named=True)
    assert found["difference"] == pytest.approx(fitted.params[0], rel=1e-12)
    assert found["p_value"] == pytest.approx(fitted.pvalues[0], rel=1e-9)
    [(low, high)] = fitted.conf_int(1 - confidence)
    assert (found["ci_low"], found["ci_high"]) == pytest.approx((low, high), rel=1e-9)
    assert (found["queries"], found["clusters"]) == (len(difference), len(np.unique(term)))


@pytest.mark.parametrize("seed", range(4))
def test_permutation_turns_the_signs_of_whole_clusters(seed):
    results = world(seed, clusters=7, shift=0.4)
    difference, term = differences(results)
    sums, sizes = np.bincount(term, difference), np.bincount(term)
    signs = np.array([*product([-1, 1], repeat=7)])
    larger = np.abs(signs @ sums) >= abs(sums.sum()) - 1e-12
    found = compare(results, "ap", cluster="term", test="permutation", confidence=0.8)
    assert found["p_value"].item() == pytest.approx(larger.mean())

    # The interval that agrees holds the shifts that the test does not reject.
    def p_of(shift: float) -> float:
        left = sums - shift * sizes
        return (np.abs(signs @ left) >= abs(left.sum()) - 1e-12).mean()

    low, high = found["simultaneous_low"].item(), found["simultaneous_high"].item()
    assert low < found["difference"].item() < high
    for inside, outside in ((low + 1e-6, low - 1e-6), (high - 1e-6, high + 1e-6)):
        assert p_of(inside) > 0.2 >= p_of(outside)
    # Drawn signs come near to all.
    drawn = compare(results, "ap", cluster="term", test="permutation", resamples=100)
    assert drawn["p_value"].item() == pytest.approx(larger.mean(), abs=0.15)


def test_what_clusters_cannot_be_is_refused():
    said = "must be 't' or 'permutation' if a `cluster` has several queries, got"
    with pytest.raises(ValueError, match=said):
        compare(world(4, clusters=8), "ap", cluster="term", test="randomised_tukey")


def test_too_few_clusters_say_nothing_or_cannot_find_a_thing():
    results = world(5, clusters=4, shift=1)
    one = compare(results.with_columns(term=1), "ap", cluster="term").row(0, named=True)
    assert [one[name] for name in ("p_value", "ci_low", "ci_high")] == [None] * 3
    with pytest.warns(
        pg.DataWarning.tests, match="with 4 clusters, .* smallest corrected p value is 0.125"
    ):
        compare(results, "ap", cluster="term", test="permutation")


FUNCTIONS = {
    "compare": lambda frame, **options: compare(frame, "ap", rope=0.1, **options),
    "compare_permutation": lambda frame, **options: compare(
        frame, "ap", test="permutation", resamples=500, **options
    ),
    "compare_segments": lambda frame, **options: compare_segments(
        frame, "ap", segments="land", **options
    ),
    "gate": lambda frame, **options: gate(frame, "ap", baseline="s0", **options),
    "gate_bounded": lambda frame, **options: gate(
        frame.with_columns(pl.col("ap") / 20 + 0.5), "ap", baseline="s0", segments="land", **options
    ),
    "rank_strategies": lambda frame, **options: rank_strategies(frame, "ap", **options),
    "summarise": lambda frame, **options: summarise(frame, "ap", **options),
    "queries_needed": lambda frame, **options: trust.queries_needed(frame, "ap", **options),
} | {
    name: lambda frame, function=function, options=given, **further: function(
        frame, "ap", **options, **further
    ).rename({"clusters": "queries"}, strict=False)
    for name, function, given in (
        ("power_curve", trust.power_curve, {}),
        ("order_stability", trust.order_stability, {"sizes": [7, 20], "samples": 50}),
    )
}
"""Functions that return a table and take clusters."""

OWN_COLUMNS = ("clusters", "changed_clusters", "sentence")
RENAMED = {"clusters_needed": "queries_needed"}


def make_terms(clusters: int = 40, devices: int = 3, seed: int = 7) -> pl.DataFrame:
    """Return results of three strategies whose terms are searched on each of several devices."""
    often = [
        world(seed, clusters, strategies=3)
        .unique(["strategy", "term"], keep="first", maintain_order=True)
        .with_columns(device=pl.lit(number), land=pl.col("term") % 2)
        .drop("query")
        for number in range(devices)
    ]
    noise = np.random.default_rng(seed).normal(size=3 * clusters * devices)
    return pl.concat(often).with_columns(pl.col("ap") + 0.5 * pl.Series(noise))


KEYS = {"query": ["term", "device"]}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_clusters_of_one_query_give_the_results_without_clusters(name):
    results = make_terms(devices=1).rename({"term": "query"}).with_columns(unit=-pl.col("query"))
    plain = FUNCTIONS[name](results, query="query")
    for cluster in ("query", "unit", ["query", "unit"]):
        clustered = FUNCTIONS[name](results, query="query", cluster=cluster).rename(
            RENAMED, strict=False
        )
        same = [each for each in plain.columns if each not in OWN_COLUMNS]
        # Resamples of clusters are drawn in the order of queries.
        assert_frame_equal(clustered.select(same), plain.select(same), rel_tol=1e-9)
        if "clusters" in clustered:
            assert clustered["clusters"].to_list() == plain["queries"].to_list()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_clusters_of_equal_size_are_averaged_first(name):
    results = make_terms()
    by_hand = results.group_by("strategy", "term", "land", maintain_order=True).agg(
        pl.col("ap").mean()
    )
    if name == "gate_bounded":
        by_hand = by_hand.with_columns(pl.col("ap"))
    plain = FUNCTIONS[name](by_hand, query="term")
    clustered = FUNCTIONS[name](results, cluster="term", **KEYS).rename(RENAMED, strict=False)
    columns = ("difference", "mean", "ci_low", "ci_high", "p_value", "low", "high", "verdict")
    columns += ("queries_needed", "std", "f", "df", "rank_low", "rank_high")
    columns += ("simultaneous_low", "simultaneous_high", "probability_better")
    if name == "summarise":  # the deviation is that of all queries
        columns = tuple(each for each in columns if each != "std")
    columns += ("power", "smallest_difference", "p_corrected", "tau", "tau_low")
    same = [each for each in columns if each in plain.columns]
    assert_frame_equal(clustered.select(same), plain.select(same), rel_tol=1e-9, abs_tol=1e-12)
    if "queries" in plain:
        units = clustered["clusters" if "clusters" in clustered else "queries"]
        assert units.to_list() == plain["queries"].to_list()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_cluster_of_several_columns_and_of_any_type_is_one_unit(name):
    results = make_terms()
    plain = FUNCTIONS[name](results, cluster="term", **KEYS)
    text = pl.format("term {}", "term")
    for column in (text, text.cast(pl.Categorical), -pl.col("term").cast(pl.Float64)):
        other = results.with_columns(group=column)
        found = FUNCTIONS[name](other, cluster="group", **KEYS)
        assert_frame_equal(found, plain, rel_tol=1e-9)
        assert_frame_equal(FUNCTIONS[name](other, cluster=["land", "group"], **KEYS), found)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_wrong_clusters_are_refused_everywhere(name):
    function, results = FUNCTIONS[name], make_terms()
    gap = results.with_columns(group=pl.when(pl.col("term") > 0).then("term"))
    with pytest.raises(ValueError, match="cluster 'group' must not be null, got null for 3 queri"):
        function(gap, cluster="group", **KEYS)
    apart = results.with_columns(group=pl.col("term") + (pl.col("strategy") == "s1"))
    with pytest.raises(
        ValueError, match="each query must have one cluster, got several in 'group'"
    ):
        function(apart, cluster="group", **KEYS)
    with pytest.raises(
        ValueError, match="each query must have one cluster, got several in 'group' for"
    ):
        function(apart.with_columns(often=1), cluster="group", weights="often", **KEYS)
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match="no column 'terms'"):
        function(results, cluster="terms", **KEYS)


def test_hotelling_of_two_segments_is_the_paired_t_test():
    stats = needed("scipy.stats", "scipy")
    results = make_terms(devices=2).filter(pl.col("strategy") != "s2")
    found = compare_segments(results, "ap", segments="device", cluster="term", **KEYS)
    wide = results.pivot("strategy", index=["device", "term"], values="ap").sort("term")
    first, second = (
        rows["s0"] - rows["s1"] for rows in wide.partition_by("device", maintain_order=True)
    )
    expected = stats.ttest_rel(first, second)
    assert found["p_value"].item() == pytest.approx(expected.pvalue, rel=1e-9)
    assert found["f"].item() == pytest.approx(expected.statistic**2, rel=1e-9)
    assert (found["df"].item(), found["clusters"].item()) == (39, 40)


def test_a_gate_needs_clusters_if_no_column_identifies_a_query():
    results = make_terms()
    message = (
        "(?s)`cluster` must be passed if several columns identify a query and none of them does so "
        "alone, got 40 values of 'term' for 120 queries.*cluster='term' counts all.*"
        "cluster=\\['term', 'device'\\] counts each query as independent"
    )
    with pytest.raises(ValueError, match=message):
        gate(results.drop("land"), "ap", baseline="s0")
    with pytest.raises(ValueError, match=message):
        gate(results, "ap", baseline="s0", **KEYS)
    older = results.filter(strategy="s0")
    with pytest.raises(ValueError, match=message):
        gate(results, "ap", baseline=older, **KEYS)
    found = gate(results, "ap", baseline=older, cluster=["term", "device"], **KEYS)
    assert found["clusters"].to_list() == found["queries"].to_list()
    # In one segment, each term is searched once.
    assert gate(results, "ap", baseline="s0", segments="device", **KEYS).height == 6


@pytest.mark.parametrize(
    "name", [each for each in FUNCTIONS if not each.startswith("gate")] + ["paper_table"]
)
def test_other_functions_warn_once_if_no_column_identifies_a_query(name):
    results = make_terms()
    function = FUNCTIONS.get(name, paper_table)
    with pytest.warns(
        pg.DataWarning.clusters, match="there are 40 values of 'term' for 120"
    ) as all_:
        function(results.drop("land") if name == "paper_table" else results, **KEYS)
    assert len(all_) == 1
    function(results, cluster=["term", "device"], **KEYS)


def test_a_column_that_the_key_determines_is_no_cluster():
    results = make_terms(devices=2).drop("land")
    searches = results.with_columns(searches=10 * (pl.col("term") // 2) + pl.col("device"))
    with pytest.warns(pg.DataWarning.clusters, match="there are 40 values of 'term' for 80"):
        summarise(searches, "ap")


def test_lost_queries_count_in_their_clusters():
    results = make_terms().with_columns(pl.col("ap") / 20 + 0.5)
    is_lost = (pl.col("strategy") == "s1") & (pl.col("term") < 2)
    kept = results.filter(~is_lost, pl.col("strategy") != "s2")
    found = gate(kept, "ap", baseline="s0", margin=0.2, missing="drop", cluster="term", **KEYS)
    assert found.select("queries", "clusters", "lost").row(0) == (114, 38, 6)


def test_unequal_clusters_widen_the_bound_of_few_changes():
    sizes = np.array([1] * 39 + [21])
    term = np.repeat(range(40), sizes)
    new = pl.DataFrame({"query": range(60), "term": term, "ap": np.where(term < 3, 0.4, 0.5)})
    both = pl.concat(
        [new.with_columns(strategy=pl.lit("new")), new.with_columns(strategy=pl.lit("old"), ap=0.5)]
    )
    found = gate(both, "ap", baseline="old", cluster="term").row(0, named=True)
    alone = gate(both, "ap", baseline="old", cluster="query").row(0, named=True)
    assert (found["changed_clusters"], found["changed"]) == (3, 3)
    assert found["low"] < 5 * alone["low"] < 0


def test_losses_of_the_margin_seldom_pass_with_clusters():
    (alone, clustered), *_ = gate_simulations.shares_of_clusters(80, "12", 1000, 0)
    assert clustered <= 0.035
    assert alone > 0.2


@pytest.mark.simulation
def test_clustered_tests_keep_their_level_where_plain_ones_do_not():
    found: dict[str, list[float]] = {"plain": [], "t": [], "permutation": []}
    covered = []
    for seed in range(600):
        results = world(seed, clusters=30, spread=2)
        found["plain"].append(compare(results, "ap")["p_value"].item())
        for test in ("t", "permutation"):
            of_it = compare(results, "ap", cluster="term", test=test, resamples=999)
            found[test].append(of_it["p_value"].item())
        covered.append(of_it["ci_low"].item() <= 0 <= of_it["ci_high"].item())
    rates = {name: np.mean(np.array(ps) <= 0.05) for name, ps in found.items()}
    assert rates["plain"] > 0.15
    assert 0.025 < rates["permutation"] < 0.075
    assert 0.03 < rates["t"] < 0.09
    assert np.mean(covered) > 0.91
