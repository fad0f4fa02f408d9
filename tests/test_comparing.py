"""Comparing strategies: equal to scipy by hand, right under a true null, defined at every edge."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal, assert_series_equal

from polars_graded import compare, differences, evaluate, rank_correlation, read_letor, summarise
from polars_graded._results import significance
from polars_graded._results.significance import CORRECTIONS, TESTS

COLUMNS = [
    *("measure", "strategy", "baseline", "queries", "mean", "baseline_mean"),
    *("difference", "relative_difference", "ci_low", "ci_high", "d_z"),
    *("wins", "ties", "losses", "p_value", "p_corrected"),
]


def frame_of(values, measure="ap"):
    """A frame of one measure from a mapping of strategies to their results, query by query."""
    return pl.concat(
        pl.DataFrame({"strategy": name, "query": range(len(row)), measure: row}).cast(
            {measure: pl.Float64}
        )
        for name, row in values.items()
    )


def drawn(n_queries, n_strategies=2, seed=0, decimals=15):
    """Random results of strategies that are a little better one than the other."""
    rng = np.random.default_rng(seed)
    hardness = rng.random(n_queries)
    return {
        f"s{i}": np.round(
            hardness + 0.1 * i + 0.3 * rng.standard_normal(n_queries), decimals
        ).tolist()
        for i in range(n_strategies)
    }


def compared(values, **options):
    """The rows of a comparison of one measure."""
    if options.get("test") == "randomised_tukey":
        options["correction"] = "none"
    return compare(frame_of(values), **options).rows(named=True)


def close(value):
    return pytest.approx(value, rel=1e-12, abs=1e-15)


# Equal to scipy, pair by pair.


@pytest.mark.parametrize("decimals", [15, 1], ids=["without ties", "with ties"])
@pytest.mark.parametrize("n_queries", [5, 30, 80])
def test_t_and_wilcoxon_are_scipys(n_queries, decimals):
    values = drawn(n_queries, 4, decimals=decimals)
    by_t = compared(values, confidence=0.9)
    by_wilcoxon = compared(values, confidence=0.9, test="wilcoxon")
    assert len(by_t) == len(by_wilcoxon) == 6
    for t_row, wilcoxon_row in zip(by_t, by_wilcoxon, strict=True):
        x, y = np.array(values[t_row["strategy"]]), np.array(values[t_row["baseline"]])
        t = scipy.stats.ttest_rel(x, y)
        assert t_row["p_value"] == close(t.pvalue)
        interval = t.confidence_interval(0.9)
        for row in (t_row, wilcoxon_row):
            assert (row["ci_low"], row["ci_high"]) == (close(interval.low), close(interval.high))
        # 0.3 - 0.2 is 0.1 in its ranks.
        wilcoxon = scipy.stats.wilcoxon(x - y if decimals > 1 else np.round(x - y, 1))
        assert wilcoxon_row["p_value"] == close(wilcoxon.pvalue)


def test_what_is_said_of_a_pair():
    values = drawn(30)
    [row] = compared(values, baseline="s0")
    x, y = np.array(values["s1"]), np.array(values["s0"])
    d = x - y
    assert list(row) == COLUMNS
    assert (row["measure"], row["strategy"], row["baseline"]) == ("ap", "s1", "s0")
    assert (row["mean"], row["baseline_mean"]) == (close(x.mean()), close(y.mean()))
    assert row["difference"] == close(d.mean())
    assert row["relative_difference"] == close(d.mean() / y.mean())
    assert row["d_z"] == close(d.mean() / d.std(ddof=1))
    assert (row["wins"], row["losses"]) == ((d > 0).sum(), (d < 0).sum())
    assert (row["queries"], row["ties"]) == (30, 0)


@pytest.mark.parametrize("n_queries", [2, 5, 11])
@pytest.mark.parametrize("decimals", [15, 1], ids=["without ties", "with ties"])
def test_permutation_is_exact_where_that_is_small(n_queries, decimals):
    values = drawn(n_queries, 3, decimals=decimals)
    for row in compared(values, test="permutation"):
        d = np.array(values[row["strategy"]]) - np.array(values[row["baseline"]])
        sums = [
            abs(sum(s * v for s, v in zip(signs, d, strict=True)))
            for signs in itertools.product([1, -1], repeat=n_queries)
        ]
        enumerated = sum(total >= abs(d.sum()) - 1e-9 for total in sums) / 2**n_queries
        assert row["p_value"] == close(enumerated)
        of_scipy = scipy.stats.permutation_test(
            (d,), np.mean, permutation_type="samples", n_resamples=10_000
        )
        assert row["p_value"] == close(of_scipy.pvalue)
        t = scipy.stats.ttest_1samp(d, 0).confidence_interval()
        assert (row["ci_low"], row["ci_high"]) == (close(t.low), close(t.high))


def test_permutation_with_random_signs_is_near_the_exact_value():
    values = drawn(11, 4)
    exact = compared(values, test="permutation")
    for seed in range(3):
        for row, of_all in zip(
            compared(values, test="permutation", resamples=2000, seed=seed), exact, strict=True
        ):
            p = of_all["p_value"]
            assert abs(row["p_value"] - p) < 4 * math.sqrt(p * (1 - p) / 2000) + 1 / 2000


def test_permutation_never_says_impossible():
    apart = {"a": [0.0] * 40, "b": [1.0 + i / 100 for i in range(40)]}
    [row] = compared(apart, test="permutation", resamples=499)
    assert row["p_value"] == 1 / 500


@pytest.mark.parametrize("confidence", [0.8, 0.95])
@pytest.mark.parametrize("seed", [0, 7])
def test_bootstrap_interval_is_scipys(seed, confidence):
    values = drawn(30, 3)
    options = {"confidence": confidence, "resamples": 1000, "seed": seed}
    for row in compared(values, test="bootstrap", **options):
        d = np.array(values[row["strategy"]]) - np.array(values[row["baseline"]])
        interval = scipy.stats.bootstrap(
            (d,),
            np.mean,
            n_resamples=1000,
            confidence_level=confidence,
            method="percentile",
            random_state=rng(seed),
        ).confidence_interval
        assert (row["ci_low"], row["ci_high"]) == (close(interval.low), close(interval.high))


def rng(seed):
    return np.random.default_rng(seed)


def test_bootstrap_blocks_draw_as_one(monkeypatch):
    values = drawn(30, 3)
    whole = compared(values, test="bootstrap", resamples=500)
    monkeypatch.setattr(significance, "BLOCK", 1000)
    assert compared(values, test="bootstrap", resamples=500) == whole


def test_bootstrap_p_is_where_the_interval_ends_at_0():
    for seed in range(5):
        values = drawn(25, seed=seed)
        [row] = compared(values, test="bootstrap")
        p = row["p_value"]
        assert 0.0005 < p < 0.999
        [there] = compared(values, test="bootstrap", confidence=1 - p)
        nearest = min(abs(there["ci_low"]), abs(there["ci_high"]))
        assert nearest < 0.02 * (there["ci_high"] - there["ci_low"])


def test_randomised_tukey_is_near_the_enumeration_of_all_shuffles():
    values = {"a": [0.1, 0.5, 0.2], "b": [0.3, 0.6, 0.6], "c": [0.2, 0.9, 0.7]}
    queries = [list(itertools.permutations(query)) for query in zip(*values.values(), strict=True)]
    ranges = [np.ptp(np.mean(shuffled, axis=0)) for shuffled in itertools.product(*queries)]
    assert len(ranges) == 6**3
    for row in compared(values, test="randomised_tukey"):
        p = np.mean(np.array(ranges) >= abs(row["difference"]) - 1e-12)
        assert abs(row["p_value"] - p) < 4 * math.sqrt(p * (1 - p) / 10_000) + 1e-4
        margin = np.quantile(ranges, 0.95)
        assert row["ci_high"] - row["difference"] == pytest.approx(margin, abs=0.02)
        assert row["difference"] - row["ci_low"] == pytest.approx(margin, abs=0.02)


def test_randomised_tukey_of_two_strategies_is_the_permutation_test():
    values = drawn(11)
    [tukey] = compared(values, test="randomised_tukey")
    [permutation] = compared(values, test="permutation")
    p = permutation["p_value"]
    assert abs(tukey["p_value"] - p) < 4 * math.sqrt(p * (1 - p) / 10_000) + 1e-4


@pytest.mark.parametrize("test", ["permutation", "bootstrap", "randomised_tukey"])
def test_a_seed_gives_one_result_whatever_measures_stand_beside(test):
    frame = frame_of(drawn(40, 3)).with_columns(ndcg=pl.col("ap") ** 2)
    options = {"test": test, "correction": "none", "resamples": 200}
    both = compare(frame, seed=1, **options)
    assert_frame_equal(both, compare(frame, seed=1, **options))
    assert_frame_equal(both.filter(measure="ndcg"), compare(frame, "ndcg", seed=1, **options))
    assert both["p_value"].to_list() != compare(frame, seed=2, **options)["p_value"].to_list()


# Corrections.

WIKIPEDIA = [0.01, 0.04, 0.03, 0.005]
HOCHBERG = [
    *(0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344),
    *(0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000),
]


def corrected(correction, p):
    return CORRECTIONS[correction](np.array(p, dtype=float)).tolist()


def test_corrections_of_worked_examples():
    assert corrected("none", WIKIPEDIA) == WIKIPEDIA
    assert corrected("bonferroni", WIKIPEDIA) == close([0.04, 0.16, 0.12, 0.02])
    # In order: 4 · 0.005, 3 · 0.01, 2 · 0.03, and 1 · 0.04, which must not be below 0.06.
    assert corrected("holm", WIKIPEDIA) == close([0.03, 0.06, 0.06, 0.02])
    # From the largest: 0.04, 4/3 · 0.03 = 0.04, 4/2 · 0.01 = 0.02, 4 · 0.005 = 0.02.
    assert corrected("benjamini_hochberg", WIKIPEDIA) == close([0.02, 0.04, 0.04, 0.02])
    assert corrected("bonferroni", [0.6, 0.3]) == [1.0, 0.6]
    assert corrected("holm", [0.6, 0.7]) == [1.0, 1.0]


def test_benjamini_and_hochberg_1995_section_3_2():
    """Bonferroni finds three of the fifteen, the paper's procedure one more."""
    found = {name: sum(p <= 0.05 for p in corrected(name, HOCHBERG)) for name in CORRECTIONS}
    assert found == {"none": 9, "bonferroni": 3, "holm": 3, "benjamini_hochberg": 4}


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_corrections_are_those_of_statsmodels(p):
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    names = {"bonferroni": "bonferroni", "holm": "holm", "benjamini_hochberg": "fdr_bh"}
    for ours, theirs in names.items():
        assert corrected(ours, p) == close(multitest.multipletests(p, method=theirs)[1].tolist())


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_the_family_is_all_rows_of_one_measure_that_have_a_p_value(correction):
    values = drawn(20, 4) | {"same": [v + 0.25 for v in drawn(20, 4)["s0"]]}
    frame = frame_of(values).with_columns(ndcg=pl.col("ap") ** 2)
    result = compare(frame, correction=correction)
    assert result["p_value"].null_count() == 1
    for part in result.partition_by("measure"):
        expected = corrected(correction, part["p_value"].drop_nulls().to_list())
        assert part["p_corrected"].drop_nulls().to_list() == close(expected)
        assert (part["p_corrected"].is_null() == part["p_value"].is_null()).all()


# A true null, a true difference: each replicate is a measure, and all are compared at once.

REPLICATES = 2000
LEVEL = 0.05
# Three standard errors of a share of 0.05 among 2000.
SAMPLING = 3 * math.sqrt(LEVEL * (1 - LEVEL) / REPLICATES)


def replicates(n_queries, shifts, draw):
    """A frame of independent measures, where strategies differ by these shifts on average."""
    generator = rng(11)
    hardness = generator.random((n_queries, REPLICATES))
    rows = [hardness + shift + draw(generator, (n_queries, REPLICATES)) for shift in shifts]
    frame = pl.DataFrame(np.concatenate(rows), schema=[f"m{i}" for i in range(REPLICATES)])
    keys = [(f"s{i}", query) for i in range(len(shifts)) for query in range(n_queries)]
    return pl.DataFrame(keys, schema=["strategy", "query"], orient="row").hstack(frame)


def normal(generator, shape):
    return 0.3 * generator.standard_normal(shape)


def skewed(generator, shape):
    return generator.exponential(0.3, shape)


@pytest.mark.parametrize(
    ("test", "draw"),
    [
        ("t", normal),
        ("wilcoxon", normal),
        ("permutation", skewed),
        ("bootstrap", skewed),
    ],
)
def test_each_test_rejects_at_its_level_and_covers_at_its_confidence(test, draw):
    frame = replicates(100, [0.5, 0.5], draw)
    result = compare(frame, test=test, resamples=500, correction="none")
    assert result.height == REPLICATES
    missed = (result["ci_low"] > 0) | (result["ci_high"] < 0)
    assert abs((result["p_value"] <= LEVEL).mean() - LEVEL) < SAMPLING
    assert abs(missed.mean() - LEVEL) < SAMPLING


def test_randomised_tukey_rejects_any_pair_at_its_level():
    frame = replicates(20, [0.5, 0.5, 0.5], normal)
    result = compare(frame, test="randomised_tukey", resamples=200, correction="none")
    least = result.group_by("measure").agg(
        pl.col("p_value").min(), covers=((pl.col("ci_low") <= 0) & (pl.col("ci_high") >= 0)).all()
    )
    assert abs((least["p_value"] <= LEVEL).mean() - LEVEL) < SAMPLING
    assert abs(1 - least["covers"].mean() - LEVEL) < SAMPLING


def test_corrections_keep_the_chance_of_any_false_finding():
    frame = replicates(20, [0.5] * 4, normal).select(pl.nth(range(402)))
    p = compare(frame, correction="none")["p_value"].to_numpy().reshape(400, 6)
    assert (p.min(axis=1) <= LEVEL).mean() > 0.15
    for correction in ("bonferroni", "holm", "benjamini_hochberg"):
        least = np.array([min(corrected(correction, family)) for family in p])
        assert (least <= LEVEL).mean() < LEVEL + 3 * math.sqrt(LEVEL * (1 - LEVEL) / 400)


@pytest.mark.parametrize("test", TESTS)
def test_a_difference_that_is_there_is_found(test):
    generator = rng(3)
    hardness = generator.random(100)
    values = {
        "base": hardness,
        "same": hardness + normal(generator, 100),
        "better": hardness + 0.2 + normal(generator, 100),
    }
    same, better = sorted(
        compared(values, baseline="base", test=test), key=lambda row: row["strategy"] == "better"
    )
    assert better["p_corrected"] < 0.001
    assert 0.05 < better["ci_low"] < 0.2 < better["ci_high"] < 0.35
    assert same["p_value"] > 0.05
    assert same["ci_low"] < 0 < same["ci_high"]


# Shape, order, names.


def test_pairs_are_all_with_the_baseline_or_each_once():
    frame = frame_of(drawn(9, 3)).with_columns(ndcg=pl.col("ap") / 2)
    of_baseline = compare(frame.reverse(), baseline="s1")
    assert of_baseline.select("measure", "strategy", "baseline").rows() == [
        ("ap", "s0", "s1"),
        ("ap", "s2", "s1"),
        ("ndcg", "s0", "s1"),
        ("ndcg", "s2", "s1"),
    ]
    of_all = compare(frame, "ndcg", "ap")
    assert of_all["measure"].to_list() == ["ndcg"] * 3 + ["ap"] * 3
    pairs = [("s0", "s1"), ("s0", "s2"), ("s1", "s2")]
    assert of_all.select("strategy", "baseline").rows() == pairs * 2
    assert of_all.columns == COLUMNS
    floats = of_all.drop("measure", "strategy", "baseline", "queries", "wins", "ties", "losses")
    assert set(floats.dtypes) == {pl.Float64}
    assert set(of_all.select("queries", "wins", "ties", "losses").dtypes) == {pl.UInt32}


@pytest.mark.parametrize(
    "dtype", [pl.String, pl.Enum(["b", "a"]), pl.Categorical, pl.Int32], ids=str
)
def test_columns_have_the_callers_names_and_types(dtype):
    names = ["7", "9"] if dtype == pl.Int32 else ["a", "b"]
    frame = frame_of(dict(zip(names, ([1.0, 2, 3], [1.0, 1, 1]), strict=True)))
    frame = frame.cast({"strategy": dtype}).rename({"strategy": "run", "query": "topic"})
    keys = {"query": "topic", "strategy": "run"}
    base = 9 if dtype == pl.Int32 else "b"
    other = 7 if dtype == pl.Int32 else "a"
    result = compare(frame, baseline=base, **keys)
    assert result.select("run", "baseline").rows() == [(other, base)]
    assert result.schema["run"] == result.schema["baseline"] == dtype
    assert summarise(frame, **keys).schema["run"] == dtype
    by_query = differences(frame, "ap", other, base, order="query", **keys)
    assert by_query["winner"].to_list() == [None, other, other]
    assert by_query.schema["winner"] == dtype
    assert by_query["topic"].to_list() == [0, 1, 2]


def test_lazy_frames_and_shuffled_rows_give_the_same():
    frame = frame_of(drawn(12, 3)).with_columns(curve=pl.concat_list("ap", "ap"), note=pl.lit("x"))
    for call in (
        lambda frame: compare(frame, test="permutation"),
        summarise,
        lambda frame: differences(frame, "ap", "s2", "s0"),
        lambda frame: rank_correlation(frame.with_columns(ndcg=-pl.col("ap"))),
    ):
        expected = call(frame)
        assert_frame_equal(call(frame.lazy()), expected)
        assert_frame_equal(call(frame.sample(fraction=1, shuffle=True, seed=1)), expected)


def test_numbers_of_every_kind_are_compared_and_lists_are_left_out():
    frame = frame_of({"a": [1, 0, 1], "b": [0, 0, 1]}).with_columns(
        n=pl.col("ap").cast(pl.UInt32), hit=pl.col("ap") > 0, curve=pl.concat_list("ap")
    )
    assert compare(frame)["measure"].to_list() == ["ap", "n"]
    named = compare(frame, "n", "hit")
    assert named["difference"].to_list() == close([1 / 3, 1 / 3])


def test_a_query_may_be_null_as_in_evaluate():
    frame = frame_of(drawn(6)).with_columns(
        pl.when(pl.col("query") > 0).then(pl.col("query")).alias("query")
    )
    assert compare(frame)["queries"].to_list() == [6]
    assert differences(frame, "ap", "s1", "s0", order="query")["query"][0] is None


def test_a_measure_that_is_best_at_its_lowest_is_won_by_the_lower():
    values = {"a": [0.1, 0.1, 0.5], "b": [0.3, 0.2, 0.5]}
    frame = frame_of(values, "e_measure(b=2)@10")
    [row] = compare(frame).rows(named=True)
    assert (row["wins"], row["ties"], row["losses"]) == (2, 1, 0)
    assert row["difference"] == close(-0.1)
    by_query = differences(frame, "e_measure(b=2)@10", "a", "b", order="query")
    assert by_query["winner"].to_list() == ["a", "a", None]


@pytest.mark.parametrize("test", ["t", "wilcoxon", "permutation"])
@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=2, max_size=9))
def test_the_other_way_round_is_the_mirror_image(test, pairs):
    x, y = zip(*pairs, strict=True)
    [there] = compared({"a": x, "b": y}, baseline="b", test=test)
    [back] = compared({"a": x, "b": y}, baseline="a", test=test)
    assert there["difference"] == close(-back["difference"])
    assert (there["wins"], there["losses"]) == (back["losses"], back["wins"])
    assert there["wins"] + there["ties"] + there["losses"] == len(pairs)
    for name in ("p_value", "d_z", "ci_low"):
        other = back["ci_high" if name == "ci_low" else name]
        if there[name] is None:
            assert other is None
        else:
            assert abs(there[name]) == pytest.approx(abs(other), rel=1e-9, abs=1e-12)
    if there["p_value"] is not None:
        assert 0 <= there["p_value"] <= 1


def test_progress_is_given_the_blocks_of_resamples(monkeypatch):
    monkeypatch.setattr(significance, "BLOCK", 100 * 20)
    frame = frame_of(drawn(20)).with_columns(ndcg=pl.col("ap"))
    for test in ("permutation", "bootstrap"):
        seen = []

        def bar(blocks, seen=seen):
            seen.append(len(blocks))
            return blocks

        compare(frame, test=test, resamples=1000, progress=bar)
        assert seen == [10, 10]


def test_importing_does_not_load_scipy():
    code = "import sys, polars_graded; print('scipy' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)  # noqa: S603
    assert run.stdout.split() == [b"False"]


# Edges. Warnings are errors, so none leaks.

NOTHING = ("ci_low", "ci_high", "d_z", "p_value", "p_corrected")


@pytest.mark.parametrize("test", TESTS)
def test_fewer_than_two_queries_say_nothing(test):
    [row] = compared({"a": [0.5], "b": [0.25]}, test=test)
    assert (row["queries"], row["difference"], row["wins"]) == (1, 0.25, 1)
    assert [row[name] for name in NOTHING] == [None] * 5
    [row] = compared({"a": [0.5, None], "b": [None, 0.25]}, test=test, missing="drop")
    assert (row["queries"], row["wins"], row["ties"], row["losses"]) == (0, 0, 0, 0)
    means = ("mean", "baseline_mean", "difference", "relative_difference")
    assert [row[name] for name in (*means, *NOTHING)] == [None] * 9


@pytest.mark.parametrize("n_queries", [2, 10, 60])
@pytest.mark.parametrize("test", TESTS)
def test_all_ties_have_p_1(test, n_queries):
    same = [i / n_queries for i in range(n_queries)]
    [row] = compared({"a": same, "b": same}, test=test)
    assert (row["difference"], row["ties"], row["d_z"]) == (0, n_queries, None)
    assert (row["p_value"], row["p_corrected"]) == (1, 1)
    if test == "randomised_tukey":
        assert (row["ci_low"], row["ci_high"]) == (0, 0)
    else:
        assert (row["ci_low"], row["ci_high"]) == (None, None)


CONSTANT = {"t": None, "bootstrap": None, "wilcoxon": 2 / 2**8, "permutation": 2 / 2**8}


@pytest.mark.parametrize("test", CONSTANT)
def test_differences_that_are_all_the_same(test):
    # Binary fractions of a tenth are not quite the same.
    values = {"a": [0.1 * i + 0.1 for i in range(8)], "b": [0.1 * i for i in range(8)]}
    [row] = compared(values, test=test)
    assert (row["wins"], row["d_z"], row["ci_low"], row["ci_high"]) == (8, None, None, None)
    assert row["p_value"] == (None if CONSTANT[test] is None else close(CONSTANT[test]))


def test_randomised_tukey_of_differences_that_are_all_the_same():
    [row] = compared({"a": [0.75] * 8, "b": [0.25] * 8}, test="randomised_tukey")
    p = 2 / 2**8
    assert abs(row["p_value"] - p) < 4 * math.sqrt(p / 10_000)
    assert row["d_z"] is None
    assert row["ci_low"] == 0.5 - row["ci_high"] + 0.5


def test_rounding_is_not_a_win():
    thirds = [(0.1 + 0.2) + 0.3, 0.5, 0.7]
    other = [0.1 + (0.2 + 0.3), 0.5, 0.6]
    assert thirds[0] != other[0]
    [row] = compared({"a": thirds, "b": other})
    assert (row["wins"], row["ties"], row["losses"]) == (1, 2, 0)


def test_a_baseline_of_mean_0_has_no_relative_difference():
    [row] = compared({"a": [0.5, 0.25], "b": [0.0, 0.0]})
    assert (row["difference"], row["relative_difference"]) == (0.375, None)


def test_no_p_value_at_all_needs_no_correction():
    for correction in CORRECTIONS:
        [row] = compared({"a": [0.5], "b": [0.25]}, correction=correction)
        assert row["p_corrected"] is None


# Missing.

WITH_HOLES = pl.DataFrame(
    {
        "strategy": ["a", "a", "a", "a", "b", "b", "b"],
        "query": [1, 2, 3, 4, 1, 2, 3],
        "ap": [0.5, 0.75, None, 0.25, 0.25, 0.5, 1.0],
        "ndcg": [0.5, 0.75, 0.5, 0.25, math.nan, 0.5, 1.0],
    }
)


def test_missing_results_are_an_error_that_names_them():
    rule = "must have a value for each strategy and query, got none, null or NaN in 2 of 4 queries"
    hint = "; missing='drop' or missing='zero' allows it"
    for call in (compare, summarise, rank_correlation):
        with pytest.raises(
            ValueError, match=f"^measure 'ap' {rule}: query 3 of 'a', query 4 of 'b'{hint}$"
        ):
            call(WITH_HOLES)
        with pytest.raises(
            ValueError, match=f"'ndcg' {rule}: query 1 of 'b', query 4 of 'b'{hint}"
        ):
            call(WITH_HOLES.drop("ap"))
    with pytest.raises(ValueError, match=f"'ap' {rule}"):
        differences(WITH_HOLES, "ap", "a", "b")


def test_many_missing_results_are_counted():
    frame = frame_of({"a": [0.5] * 9, "b": [None] * 9})
    with pytest.raises(
        ValueError,
        match=r"in 9 of 9 queries: query 0 of 'b', query 1 of 'b', query 2 of 'b', \.\.\.",
    ):
        compare(frame)


def test_missing_results_are_dropped_for_all_strategies_measure_by_measure():
    result = compare(WITH_HOLES, missing="drop")
    assert result["queries"].to_list() == [2, 2]
    assert result["mean"].to_list() == [0.625, 0.625]
    assert result["baseline_mean"].to_list() == [0.375, 0.75]
    third = WITH_HOLES.vstack(WITH_HOLES[:2].with_columns(strategy=pl.lit("c")))
    assert summarise(third, "ap", missing="drop")["queries"].to_list() == [2, 2, 2]
    of_two = differences(third, "ap", "a", "b", missing="drop", order="query")
    assert of_two["query"].to_list() == [1, 2]


def test_missing_results_are_zero():
    result = compare(WITH_HOLES, missing="zero")
    assert result["queries"].to_list() == [4, 4]
    assert result["mean"].to_list() == [0.375, 0.5]
    assert result["baseline_mean"].to_list() == [1.75 / 4, 1.5 / 4]


@pytest.mark.parametrize("missing", ["error", "drop", "zero"])
def test_infinity_is_refused(missing):
    frame = frame_of({"a": [0.5, math.inf], "b": [0.5, 0.5]})
    sentence = "'ap' must be finite, got infinity in 1 of 2 queries: query 1 of 'a'$"
    with pytest.raises(ValueError, match=sentence):
        compare(frame, missing=missing)


# Refusals.

FRAME = frame_of(drawn(5, 3)).with_columns(curve=pl.concat_list("ap", "ap"), note=pl.lit("x"))
ColumnNotFound = pl.exceptions.ColumnNotFoundError

ERRORS = [
    (["app"], {}, ColumnNotFound, "no column 'app'; did you mean 'ap'.*; it has strategy, quer"),
    ([3], {}, TypeError, "`measures` must be the name of a column, got 3"),
    ([["ap"]], {}, TypeError, r"`measures` must be the name of a column, got \['ap'\]"),
    ([], {"strategy": None}, TypeError, "`strategy` must be the name of a column, got None"),
    ([], {"query": "topic"}, ColumnNotFound, "no column 'topic'; it has"),
    ([], {"strategy": "run"}, ColumnNotFound, "no column 'run'; it has"),
    (
        ["curve"],
        {},
        TypeError,
        r"'curve' must be one number per query, got List.*: name the measure at",
    ),
    (["note"], {}, TypeError, "measure 'note' must be one number per query, got String$"),
    (["ap", "ap"], {}, ValueError, "each column must be named once, got strategy, query, ap, ap"),
    (["query"], {}, ValueError, "each column must be named once, got strategy, query, query"),
    ([], {"strategy": "query"}, ValueError, "each column must be named once, got query, query"),
    ([], {"missing": "skip"}, ValueError, "`missing` must be one of 'error', 'drop', 'zero', got"),
]

ERRORS_OF_COMPARE = [
    *ERRORS,
    ([], {"baseline": "s9"}, ValueError, "no strategy 's9'.*; there are 's0', 's1', 's2'"),
    ([], {"baseline": 3}, ValueError, "no strategy 3; there are 's0', 's1', 's2'"),
    ([], {"test": "z"}, ValueError, "`test` must be one of 't', 'wilcoxon', .*, got 'z'"),
    ([], {"test": None}, TypeError, "`test` must be one of 't', 'wilcoxon', .*, got None"),
    ([], {"correction": "hom"}, ValueError, "`correction` must be .*, got 'hom'; did you mean 'ho"),
    (
        [],
        {"test": "randomised_tukey"},
        ValueError,
        "`correction` must be 'none' for the test .*, whose p values hold for all pairs together",
    ),
    ([], {"confidence": 95}, ValueError, "`confidence` must be below 1, got 95"),
    ([], {"confidence": 0}, ValueError, "`confidence` must be above 0, got 0"),
    ([], {"seed": -1}, ValueError, "`seed` must be at least 0, got -1"),
    ([], {"resamples": 0}, ValueError, "`resamples` must be at least 1, got 0"),
    ([], {"resamples": 1e4}, TypeError, "`resamples` must be a whole number, got 10000.0"),
    ([], {"progress": True}, TypeError, "`progress` must be called .*, as tqdm is, got True"),
]


@pytest.mark.parametrize(("measures", "options", "exception", "sentence"), ERRORS_OF_COMPARE)
def test_compare_refuses_what_it_cannot_take(measures, options, exception, sentence):
    with pytest.raises(exception, match=sentence):
        compare(FRAME, *measures, **options)


@pytest.mark.parametrize("call", [summarise, rank_correlation])
@pytest.mark.parametrize(("measures", "options", "exception", "sentence"), ERRORS)
def test_the_others_refuse_the_same(call, measures, options, exception, sentence):
    with pytest.raises(exception, match=sentence):
        call(FRAME, *measures, **options)


@pytest.mark.parametrize("call", [compare, summarise, rank_correlation])
def test_frames_that_are_none(call):
    with pytest.raises(TypeError, match="`per_query` must be a DataFrame or a LazyFrame, got dict"):
        call({"ap": []})
    with pytest.raises(ValueError, match="must have a column of numbers, got strategy"):
        call(FRAME.drop("ap"))
    with pytest.raises(
        ValueError, match=r"have each query once, got 15 more often: query 0 of 's0', "
    ):
        call(pl.concat([FRAME, FRAME]))
    with pytest.raises(ValueError, match="strategy 'strategy' must not be null, got 5 nulls"):
        call(FRAME.with_columns(pl.col("strategy").replace("s1", None)))


def test_one_strategy_is_not_compared():
    with pytest.raises(ValueError, match="at least two strategies to compare, got 's0'"):
        compare(FRAME.filter(strategy="s0"))
    with pytest.raises(ValueError, match="at least two strategies to compare, got none"):
        compare(FRAME.clear())


def test_a_column_of_strategies_must_not_be_called_like_a_statistic():
    with pytest.raises(pl.exceptions.DuplicateError, match="mean"):
        compare(FRAME.rename({"strategy": "mean"}), strategy="mean")


# Summaries.


def test_a_summary_is_what_numpy_and_scipy_say():
    values = drawn(20, 3)
    frame = frame_of(values).with_columns(ndcg=pl.col("ap") ** 2)
    result = summarise(frame, "ndcg", "ap", confidence=0.9)
    of_strategies = ["mean", "std", "median", "geometric_mean", "ci_low", "ci_high"]
    assert result.columns == ["measure", "strategy", "queries", *of_strategies]
    assert result["measure"].to_list() == ["ndcg"] * 3 + ["ap"] * 3
    for row in result.filter(measure="ap").iter_rows(named=True):
        x = np.array(values[row["strategy"]])
        interval = scipy.stats.ttest_1samp(x, 0).confidence_interval(0.9)
        assert row["queries"] == 20
        assert row["mean"] == close(x.mean())
        assert row["std"] == close(x.std(ddof=1))
        assert row["median"] == close(np.median(x))
        assert row["geometric_mean"] == close(scipy.stats.gmean(np.maximum(x, 1e-5)))
        assert (row["ci_low"], row["ci_high"]) == (close(interval.low), close(interval.high))


def test_the_geometric_mean_counts_0_as_trec_eval_does():
    [row] = summarise(frame_of({"a": [0.0, 0.1]})).rows(named=True)
    assert row["geometric_mean"] == close(math.sqrt(0.00001 * 0.1))


def test_summaries_of_little():
    one = summarise(frame_of({"a": [0.5]})).row(0, named=True)
    assert [one[name] for name in ("mean", "median", "geometric_mean")] == close([0.5] * 3)
    assert [one[name] for name in ("std", "ci_low", "ci_high")] == [None] * 3
    same = summarise(frame_of({"a": [0.1, 0.1, 0.1]})).row(0, named=True)
    assert [same[name] for name in ("std", "ci_low", "ci_high")] == [0, None, None]
    empty = summarise(FRAME.clear())
    assert empty.height == 0
    assert empty.schema == summarise(FRAME).schema
    none = summarise(frame_of({"a": [None], "b": [0.5]}), missing="drop")
    assert none.select("queries", "mean", "std", "median").rows() == [(0, None, None, None)] * 2


# Differences query by query.


def test_differences_come_largest_first_or_by_query():
    values = {"a": [0.5, 0.25, 1.0, 0.5], "b": [0.5, 0.5, 0.25, 0.5], "c": [9.0] * 4}
    largest = differences(frame_of(values), "ap", "a", "b")
    assert largest.rows() == [
        (2, 1.0, 0.25, 0.75, "a"),
        (0, 0.5, 0.5, 0.0, None),
        (3, 0.5, 0.5, 0.0, None),
        (1, 0.25, 0.5, -0.25, "b"),
    ]
    by_query = differences(frame_of(values), "ap", "b", "a", order="query")
    assert by_query["difference"].to_list() == [0.0, 0.25, -0.75, 0.0]
    assert_series_equal(by_query["query"], pl.Series("query", [0, 1, 2, 3]))


@pytest.mark.parametrize(
    ("a", "b", "options", "sentence"),
    [
        ("s1", "s1", {}, "`a` and `b` must be two strategies, got 's1' twice"),
        ("s1", "s4", {}, "there is no strategy 's4'.*; there are 's0', 's1', 's2'"),
        ("s1", "s0", {"order": "size"}, "`order` must be one of 'difference', 'query', got 'size'"),
    ],
)
def test_differences_refuses_what_it_cannot_take(a, b, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        differences(FRAME, "ap", a, b, **options)


# Rank correlation.


def orders(**means):
    """A frame of one query where strategies have these means."""
    return pl.DataFrame(means).with_row_index("strategy").with_columns(query=pl.lit(1))


def test_kendalls_tau_is_scipys():
    generator = rng(0)
    frame = orders(**{name: generator.random(12).round(1) for name in "xyz"})
    result = rank_correlation(frame)
    assert result.select("measure", "reference").rows() == [("x", "y"), ("x", "z"), ("y", "z")]
    assert result["strategies"].to_list() == [12] * 3
    for x, y, _, tau in result.iter_rows():
        assert tau == close(scipy.stats.kendalltau(frame[x], frame[y]).statistic)


def test_ap_correlation_by_hand():
    # The estimate puts 3 first: of 1 none, of 2 one of two, of 4 three of three stand above.
    frame = orders(estimate=[3, 2, 4, 1], truth=[4, 3, 2, 1])
    result = rank_correlation(frame, method="ap", reference="truth")
    assert result.row(0) == ("estimate", "truth", 4, close(2 / 3 * (0 / 1 + 1 / 2 + 3 / 3) - 1))
    # The other way: of 2 one of one, of 3 none of two, of 4 three of three.
    back = 2 / 3 * (1 / 1 + 0 / 2 + 3 / 3) - 1
    assert rank_correlation(frame, method="ap", reference="estimate")["tau"].item() == close(back)
    both = rank_correlation(frame, method="ap")["tau"].item()
    assert both == close((2 / 3 * 1.5 - 1 + back) / 2)


def test_ap_correlation_weighs_the_top_where_kendall_does_not():
    frame = orders(truth=[5, 4, 3, 2, 1], top=[4, 5, 3, 2, 1], bottom=[5, 4, 3, 1, 2])
    kendall = rank_correlation(frame, reference="truth")["tau"].to_list()
    assert kendall == close([0.8, 0.8])
    ap = rank_correlation(frame, reference="truth", method="ap")["tau"].to_list()
    assert ap == close([2 / 4 * (0 + 1 + 1 + 1) - 1, 2 / 4 * (1 + 1 + 1 + 3 / 4) - 1])


def test_ap_correlation_with_ties_is_that_of_urbano_and_marrero():
    """What the examples of their R package ircor print."""
    x = np.array([0.67, 0.45, 0.29, 0.12, 0.57, 0.24, 0.94, 0.75, 0.08, 0.54])
    y = np.array([0.48, 0.68, 0.32, 0.09, 0.06, 0.61, 0.87, 0.22, 0.44, 0.84])
    one_way = rank_correlation(orders(y=y, x=x), method="ap", reference="x")["tau"].item()
    assert one_way == pytest.approx(0.3928571, abs=5e-8)
    for tied, printed in ((x, 0.3317019), (x.round(1), 0.339418)):
        found = rank_correlation(orders(x=tied, y=y.round(1)), method="ap")["tau"].item()
        assert found == pytest.approx(printed, abs=5e-7)


@pytest.mark.parametrize("method", ["kendall", "ap"])
def test_correlation_of_the_same_and_the_reversed_order(method):
    frame = orders(x=[1, 2, 3, 5, 8], same=[1, 4, 9, 16, 25], back=[5, 4, 3, 2, 1])
    found = rank_correlation(frame, method=method).select("measure", "reference", "tau").rows()
    assert [row[:2] for row in found] == [("x", "same"), ("x", "back"), ("same", "back")]
    assert [row[2] for row in found] == close([1, -1, -1])
    lowest = frame.rename({"back": "e_measure@10"})
    assert rank_correlation(lowest, "x", "e_measure@10", method=method)["tau"].item() == close(1)
    # Means that differ by rounding are tied.
    tied = orders(x=[0.1 + 0.2 + 0.3, 0.1 + (0.2 + 0.3), 0.1], y=[0.6, 0.6, 0.1])
    assert rank_correlation(tied, method=method)["tau"].item() == close(1)


@pytest.mark.parametrize("method", ["kendall", "ap"])
def test_correlation_is_null_where_there_is_no_order(method):
    for frame in (
        orders(x=[1, 1, 1], y=[1, 1, 1]),
        orders(x=[1], y=[2]),
        orders(x=[1], y=[2]).clear(),
    ):
        assert rank_correlation(frame, "x", "y", method=method)["tau"].to_list() == [None]
    none = orders(x=[1.0, None], y=[None, 2.0])
    assert rank_correlation(none, method=method, missing="drop")["tau"].to_list() == [None]


@pytest.mark.parametrize("method", ["kendall", "ap"])
def test_correlation_is_null_where_only_one_measure_has_no_order(method):
    frame = orders(x=[1, 1, 1], y=[1, 2, 3])
    assert rank_correlation(frame, method=method)["tau"].to_list() == [None]


def test_a_reference_is_added_and_stands_against_all():
    frame = orders(x=[1, 2], y=[1, 2], z=[2, 1])
    result = rank_correlation(frame, "z", "x", reference="y")
    assert result.select("measure", "reference").rows() == [("z", "y"), ("x", "y")]
    assert result["tau"].to_list() == close([-1, 1])
    with pytest.raises(ValueError, match="`reference` must be one of x, y, z, got 'w'"):
        rank_correlation(frame, reference="w")
    with pytest.raises(ValueError, match="name at least two measures to correlate, got x"):
        rank_correlation(frame, "x")
    with pytest.raises(ValueError, match="`method` must be one of 'kendall', 'ap', got 'rho'"):
        rank_correlation(frame, method="rho")


# Real data.

OHSUMED = ["mu_ap", "ndcng@10", "ndcg@10", "ap"]


def test_ohsumed_strategies_against_5(data):
    frame = read_letor([data / f"ohsumed/fold{fold}.testset.txt.gz" for fold in range(1, 6)])
    per_query = evaluate(frame, *OHSUMED, by=["f1", "f9", "f21", "f5"])
    result = compare(per_query, baseline="f5")
    assert result.height == 3 * len(OHSUMED)
    assert set(result["queries"]) == {106}
    by_permutation = compare(per_query, baseline="f5", test="permutation")
    for part in result.partition_by("measure"):
        p = []
        for row in part.iter_rows(named=True):
            x, y = (
                per_query.filter(strategy=row[side])[row["measure"]].to_numpy()
                for side in ("strategy", "baseline")
            )
            t = scipy.stats.ttest_rel(x, y)
            p.append(t.pvalue)
            assert row["p_value"] == close(t.pvalue)
            assert row["ci_low"] == close(t.confidence_interval().low)
            assert row["difference"] == close(x.mean() - y.mean())
        order = np.argsort(p)
        assert part["p_corrected"][order.tolist()].to_list() == close(
            np.minimum(1, np.maximum.accumulate(np.sort(p) * [3, 2, 1])).tolist()
        )
    near = (result["p_value"] - by_permutation["p_value"]).abs()
    assert near.max() < 0.02


def test_the_table_of_the_readme_is_what_comes_out(data):
    frame = read_letor([data / f"ohsumed/fold{fold}.testset.txt.gz" for fold in range(1, 6)])
    per_query = evaluate(frame, "mu_ap", "ndcng@10", by=["f1", "f5", "f9", "f21"])
    result = compare(per_query, baseline="f5")
    readme = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
    assert result["p_corrected"].max() < 0.0001
    for row in result.iter_rows(named=True):
        numbers = [f"{row[name]:.3f}" for name in ("mean", "baseline_mean", "difference")]
        interval = f"{row['ci_low']:.3f} to {row['ci_high']:.3f}"
        counts = f"{row['wins']}, {row['ties']}, {row['losses']}"
        cells = [row["measure"], row["strategy"], *numbers, interval, f"{row['d_z']:.3f}", counts]
        assert f"| {' | '.join(cells)} |" in readme
