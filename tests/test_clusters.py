"""Clusters of queries: statsmodels, all signs of whole clusters by hand, and simulated worlds."""

from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl
import pytest
from helpers import needed, slow
from polars.testing import assert_frame_equal

import polars_graded as pg
from polars_graded import compare


def world(
    seed: int, clusters: int, *, spread: float = 1.0, shift: float = 0.0, strategies: int = 2
):
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


def test_few_clusters_are_warned_of_with_the_t_test_alone():
    few, enough = world(0, clusters=2), world(0, clusters=40)
    with pytest.warns(pg.DataWarning.tests, match="with 2 clusters the t test finds"):
        compare(few, "ap", cluster="term")
    compare(enough, "ap", cluster="term")


@pytest.mark.filterwarnings("ignore:with .* clusters the t test")
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("confidence", [0.95, 0.8])
def test_t_is_that_of_statsmodels(seed, confidence):
    api = needed("statsmodels.api", "statsmodels")
    results = world(seed, clusters=4 + 6 * seed, shift=0.3)
    difference, term = differences(results)
    fitted = api.OLS(difference, np.ones(len(difference))).fit(
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


@pytest.mark.parametrize("test", ["t", "permutation"])
def test_clusters_of_one_query_change_nothing(test):
    results = world(1, clusters=30, strategies=3).with_columns(alone=pl.col("query"))
    plain = compare(results, "ap", test=test, rope=0.1)
    alone = compare(results, "ap", test=test, rope=0.1, cluster="alone")
    assert alone["clusters"].to_list() == plain["queries"].to_list()
    assert_frame_equal(alone.drop("clusters"), plain, rel_tol=1e-9)


def test_a_query_asked_twice_is_worth_no_more_than_once():
    once = world(2, clusters=25, shift=0.5).unique(["strategy", "term"], maintain_order=True)
    devices = [once.with_columns(device=pl.lit(name)) for name in ("desk", "phone", "tablet")]
    often = pl.concat(devices)
    plain = compare(once, "ap")
    keys = {"query": ["device", "query"]}
    for test in ("t", "permutation"):
        clustered = compare(often, "ap", cluster="term", test=test, **keys)
        expected = compare(once, "ap", test=test)
        for name in ("difference", "p_value", "simultaneous_low", "simultaneous_high"):
            assert clustered[name].item() == pytest.approx(expected[name].item(), rel=1e-6)
    naive = compare(often, "ap", **keys)
    assert naive["p_value"].item() < plain["p_value"].item() / 3
    # A cluster may be one of the columns that tell queries apart.
    one_of = compare(often, "ap", cluster="query", **keys)
    assert one_of["p_value"].item() == pytest.approx(plain["p_value"].item(), rel=1e-9)


def test_clusters_within_segments_and_with_a_region_of_equivalence():
    results = world(3, clusters=40, shift=0.2).with_columns(land=pl.col("term") % 2)
    found = compare(results, "ap", cluster="term", segments="land", rope=0.1)
    for part in results.partition_by("land"):
        alone = compare(part, "ap", cluster="term", correction="none", rope=0.1)
        same = found.filter(pl.col("land") == part["land"][0])
        for name in ("clusters", "difference", "ci_low", "p_value", "probability_better"):
            assert same[name].item() == pytest.approx(alone[name].item(), rel=1e-12)


def test_what_clusters_cannot_be_is_refused():
    results = world(4, clusters=8)
    for options, said in (
        ({"cluster": "term", "test": "wilcoxon"}, "must be 't' or 'permutation' if `cluster`"),
        ({"cluster": "term", "test": "bootstrap"}, "must be 't' or 'permutation' if `cluster`"),
    ):
        with pytest.raises(ValueError, match=said):
            compare(results, "ap", **options)
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match="no column 'terms'"):
        compare(results, "ap", cluster="terms")
    gap = results.with_columns(term=pl.when(pl.col("term") > 0).then("term"))
    with pytest.raises(ValueError, match="cluster 'term' must not be null, got null for"):
        compare(gap, "ap", cluster="term")
    apart = results.with_columns(term=pl.col("term") + (pl.col("strategy") == "s1"))
    with pytest.raises(ValueError, match="each query must have one cluster, got several in 'term'"):
        compare(apart, "ap", cluster="term")


def test_too_few_clusters_say_nothing_or_cannot_find_a_thing():
    results = world(5, clusters=4, shift=1)
    one = compare(results.with_columns(term=1), "ap", cluster="term").row(0, named=True)
    assert [one[name] for name in ("p_value", "ci_low", "ci_high")] == [None] * 3
    with pytest.warns(pg.DataWarning.tests, match="with 4 clusters the smallest p value .* 0.125"):
        compare(results, "ap", cluster="term", test="permutation")
    both = pl.concat(results.with_columns(grader=pl.lit(name)) for name in ("people", "model"))
    with pytest.raises(ValueError, match="`cluster` must be None if `trusted` is passed"):
        compare(both, "ap", cluster="term", trusted="people")


@slow
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
