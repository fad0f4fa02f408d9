"""Tests of significance and corrections: equal to scipy by hand, right under a true null."""

from __future__ import annotations

import itertools
import math
import re
import warnings
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import scipy.stats
from book_numbers import table_after
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from results import close, compared, drawn, frame_of, of_few, rng

from polars_graded import DataWarning, compare
from polars_graded._frames.strategies import find_pairs
from polars_graded._results.measure_values import MeasureMatrix, Pairs
from polars_graded._results.significance import CORRECTIONS, TESTS, Options, compute_agreeing_rates

pytestmark = of_few

# Equal to scipy, pair by pair.


@pytest.mark.parametrize("decimals", [15, 1], ids=["without ties", "with ties"])
@pytest.mark.parametrize("n_queries", [5, 30, 80])
def test_t_is_scipys(n_queries, decimals):
    values = drawn(n_queries, 4, decimals=decimals)
    rows = compared(values, confidence=0.9)
    assert len(rows) == 6
    for row in rows:
        t = scipy.stats.ttest_rel(values[row["strategy"]], values[row["baseline"]])
        interval = t.confidence_interval(0.9)
        assert row["p_value"] == close(t.pvalue)
        assert (row["ci_low"], row["ci_high"]) == (close(interval.low), close(interval.high))


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


@pytest.mark.parametrize("seed", range(4))
def test_the_simultaneous_interval_of_permutation_holds_what_is_not_rejected(seed):
    """By trying: all signs of what is left when a difference is taken off."""
    values = drawn(10, seed=seed)
    d = np.array(values["s0"]) - np.array(values["s1"])
    [row] = compared(values, test="permutation", confidence=0.9)
    signs = np.array(list(itertools.product([1, -1], repeat=10)))

    def p_of(taken_off):
        left = d - taken_off
        return np.mean(np.abs(signs @ left) >= abs(left.sum()) - 1e-12)

    ends = row["simultaneous_low"], row["simultaneous_high"]
    for end, outward in zip(ends, (-1, 1), strict=True):
        assert p_of(end - outward * 1e-9) > 0.1
        assert p_of(end + outward * 1e-9) <= 0.1


def test_permutation_with_random_signs_is_near_the_exact_value():
    values = drawn(11, 4)
    exact = compared(values, test="permutation")
    for seed in range(3):
        for row, of_all in zip(
            compared(values, test="permutation", resamples=2000, seed=seed), exact, strict=True
        ):
            p = of_all["p_value"]
            assert abs(row["p_value"] - p) < 4 * math.sqrt(p * (1 - p) / 2000) + 1 / 2000


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


@pytest.mark.parametrize("test", ["permutation", "randomised_tukey"])
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
    return CORRECTIONS[correction].correct(np.array(p, dtype=float)).tolist()


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


# Intervals that agree with corrected p values.


def clear_of_0(row):
    low, high = row["simultaneous_low"], row["simultaneous_high"]
    return (low is not None and low > 0) or (high is not None and high < 0)


@pytest.mark.parametrize("correction", CORRECTIONS)
@pytest.mark.parametrize("test", TESTS)
def test_a_simultaneous_interval_is_clear_of_0_where_p_is_small_and_nowhere_else(test, correction):
    found = set()
    for seed in range(2):
        for decimals in (15, 1):
            values = drawn(25, 6, seed=seed, decimals=decimals)
            for row in compared(values, test=test, correction=correction, resamples=1000):
                assert clear_of_0(row) == (row["p_corrected"] <= 0.05)
                found.add(clear_of_0(row))
    assert found == {True, False}


def test_bonferronis_intervals_are_students_at_a_part_of_the_level():
    values = drawn(20, 4)
    for row in compared(values, correction="bonferroni", confidence=0.9):
        d = np.array(values[row["strategy"]]) - np.array(values[row["baseline"]])
        expected = scipy.stats.ttest_1samp(d, 0).confidence_interval(1 - 0.1 / 6)
        assert row["simultaneous_low"] == close(expected.low)
        assert row["simultaneous_high"] == close(expected.high)


@pytest.mark.simulation
@pytest.mark.parametrize("n_queries", [25, 250])
@pytest.mark.parametrize("shifts", [[0.0] * 4, [0.0, 0.0, 0.2, 0.2], [0.0, 0.1, 0.2, 0.3]])
@pytest.mark.parametrize("correction", ["bonferroni", "holm"])
def test_simultaneous_intervals_hold_all_true_differences(correction, shifts, n_queries):
    """Bonferroni's do at 0.95 and more; Holm's, trimmed where it believes more, hardly less."""
    frame = replicates(n_queries, shifts, normal).select(pl.nth(range(402)))
    truth = pl.DataFrame({"strategy": [f"s{i}" for i in range(4)], "true": shifts})
    result = (
        compare(frame, correction=correction)
        .join(truth, on="strategy")
        .join(truth, left_on="baseline", right_on="strategy", suffix="_baseline")
        .with_columns(true=pl.col("true") - pl.col("true_baseline"))
        .with_columns(
            held=(pl.col("simultaneous_low") <= pl.col("true"))
            & (pl.col("true") <= pl.col("simultaneous_high"))
        )
    )
    share = result.group_by("measure").agg(pl.col("held").all())["held"].mean()
    allowed = 0.95 if correction == "bonferroni" else 0.94
    assert share > allowed - 3 * math.sqrt(0.05 * 0.95 / 400)


# A true null, a true difference: each replicate is a measure, and all are compared at once.

REPLICATES = 1000
LEVEL = 0.05
# Three standard errors of a share of 0.05 among 2000.
SAMPLING = 3 * math.sqrt(LEVEL * (1 - LEVEL) / REPLICATES)


def replicates(n_queries, shifts, draw):
    """A frame of independent measures, where strategies differ by these shifts on average."""
    generator = rng(11)
    hardness = generator.random((n_queries, REPLICATES))
    rows = [hardness + shift + draw(generator, (n_queries, REPLICATES)) for shift in shifts]
    frame = pl.DataFrame(np.concatenate(rows), schema=[f"ap@{i + 1}" for i in range(REPLICATES)])
    keys = [(f"s{i}", query) for i in range(len(shifts)) for query in range(n_queries)]
    return pl.DataFrame(keys, schema=["strategy", "query"], orient="row").hstack(frame)


def normal(generator, shape):
    return 0.3 * generator.standard_normal(shape)


def skewed(generator, shape):
    return generator.exponential(0.3, shape)


@pytest.mark.simulation
@pytest.mark.parametrize(("test", "draw"), [("t", normal), ("permutation", skewed)])
def test_each_test_rejects_at_its_level_and_covers_at_its_confidence(test, draw):
    frame = replicates(100, [0.5, 0.5], draw)
    result = compare(frame, test=test, resamples=500, correction="none")
    assert result.height == REPLICATES
    missed = (result["ci_low"] > 0) | (result["ci_high"] < 0)
    assert abs((result["p_value"] <= LEVEL).mean() - LEVEL) < SAMPLING
    assert abs(missed.mean() - LEVEL) < SAMPLING


@pytest.mark.simulation
def test_randomised_tukey_rejects_any_pair_at_its_level():
    frame = replicates(20, [0.5, 0.5, 0.5], normal)
    result = compare(frame, test="randomised_tukey", resamples=200, correction="none")
    least = result.group_by("measure").agg(
        pl.col("p_value").min(), covers=((pl.col("ci_low") <= 0) & (pl.col("ci_high") >= 0)).all()
    )
    assert abs((least["p_value"] <= LEVEL).mean() - LEVEL) < SAMPLING
    assert abs(1 - least["covers"].mean() - LEVEL) < SAMPLING


@pytest.mark.simulation
def test_corrections_keep_the_chance_of_any_false_finding():
    frame = replicates(20, [0.5] * 4, normal).select(pl.nth(range(402)))
    p = compare(frame, correction="none")["p_value"].to_numpy().reshape(400, 6)
    assert (p.min(axis=1) <= LEVEL).mean() > 0.15
    for correction in ("bonferroni", "holm", "benjamini_hochberg"):
        least = np.array([min(corrected(correction, family)) for family in p])
        assert (least <= LEVEL).mean() < LEVEL + 3 * math.sqrt(LEVEL * (1 - LEVEL) / 400)


@pytest.mark.parametrize("test", ["t", "permutation"])
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


# What is claimed of many intervals, and of skewed differences.


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "means", "baseline", "n"),
    [
        (0, [0, *(2 + i / 10 for i in range(9)), 0], 0, 50),
        (1, [0, 0, 2, 4], None, 25),
        (2, [0, 0, 0, 0], None, 25),
    ],
)
def test_what_intervals_cover_together_is_what_is_printed(place, means, baseline, n):
    printed = [
        float(cell) for cell in table_after("### Intervals that hold together")[place][-5:-1]
    ]
    draws, k = 2000, len(means)
    values = np.array(means)[:, np.newaxis] + rng(5).standard_normal((draws, k, n))
    a, b = find_pairs(pl.Series("strategy", range(k)), baseline)
    differences = values[:, a] - values[:, b]
    true = np.array(means)[a] - np.array(means)[b]
    error = differences.std(axis=2, ddof=1) / math.sqrt(n)
    mean = differences.mean(axis=2)
    p = 2 * scipy.stats.t.sf(np.abs(mean / error), n - 1)
    missed = np.abs(mean - true) / error
    found = {}
    for correction in ("holm", "bonferroni", "benjamini_hochberg"):
        error_rates = np.array([compute_agreeing_rates(correction, row, 0.05) for row in p])
        covered = missed <= scipy.stats.t.isf(error_rates / 2, n - 1)
        found[correction] = covered.all(axis=1).mean()
        is_significant = np.array([CORRECTIONS[correction].correct(row) for row in p]) <= 0.05
        rate = (is_significant & ~covered).sum(axis=1) / np.maximum(is_significant.sum(axis=1), 1)
    # Both were drawn, among 3,000 and 2,000: it is two to four errors of their difference.
    assert [*found.values(), rate.mean()] == pytest.approx(printed, abs=0.03)
    assert found["bonferroni"] >= 0.95 - 0.012
    if place < 2:
        assert found["holm"] < 0.94
        assert found["benjamini_hochberg"] < 0.88


@pytest.mark.simulation
def test_the_permutation_test_supposes_symmetry():
    """At 10 queries skewed differences are found far too often, symmetric ones at their level."""
    row = table_after("### What a skew does")[0]
    generator = rng(6)
    for column, values in (
        (1, generator.standard_exponential((1500, 10)) ** 2 - 2),
        (3, generator.laplace(size=(1500, 10))),
    ):
        results = MeasureMatrix("ap", pl.Series("query", range(10)), np.zeros((2, 10)))
        ps = []
        for differences in values:
            both = replace(results, values=np.array([differences, np.zeros(10)]))
            pairs = Pairs(both, np.array([0]), np.array([1]))
            ps.append(TESTS["permutation"].run(pairs, Options("permutation", "holm")).p[0])
        assert (np.array(ps) <= 0.05).mean() == pytest.approx(float(row[column]), abs=0.04)


# What is told of tests that can find nothing


def told(values, **options):
    """What is told of a comparison."""
    with warnings.catch_warnings(record=True, action="always", category=DataWarning) as caught:
        compared(values, **options)
    assert {each.category for each in caught} <= {DataWarning.tests}
    return [str(each.message) for each in caught]


@pytest.mark.parametrize("test", sorted({*TESTS} - {"t"}))
@pytest.mark.parametrize("correction", sorted(CORRECTIONS))
@pytest.mark.parametrize(("n", "k"), [(2, 2), (4, 2), (5, 2), (6, 2), (6, 3), (8, 3), (9, 4)])
def test_it_is_told_where_no_p_value_can_be_small_enough(test, correction, n, k):
    """By the most that strategies can differ: each better than the one before by far, always."""
    values = {f"s{i}": [10.0 * i + 0.01 * (i + q) ** 2 for q in range(n)] for i in range(k)}
    options = {"test": test, "correction": correction, "resamples": 2000}
    found = min(row["p_corrected"] for row in compared(values, **options))
    said = any("however large" in each for each in told(values, **options))
    assert abs(found - 0.05) > 0.005, "a p value that is drawn may be to either side"
    assert said == (found > 0.05)


@pytest.mark.parametrize(
    ("n", "k", "resamples", "remedies"),
    [
        (3, 2, 10_000, "more queries"),
        (6, 3, 10_000, "more queries, fewer pairs"),
        (40, 2, 15, "more resamples"),
        (40, 3, 30, "more resamples, fewer pairs"),
    ],
)
def test_a_hint_for_larger_p_values_names_only_what_helps(n, k, resamples, remedies):
    [message] = told(drawn(n, k), test="permutation", resamples=resamples)
    assert message.endswith(f"\n\nHint: {remedies} or test='t' can show a difference")


def test_differences_that_do_not_vary_are_told_and_the_hint_leads_to_a_p_value():
    rows = [(name, query, value) for name, value in (("a", 0.5), ("b", 0.6)) for query in range(30)]
    frame = pl.DataFrame(rows, schema=["strategy", "query", "ap"], orient="row")
    with pytest.warns(DataWarning.tests, match="1 difference is the same in every query") as caught:
        assert compare(frame)["p_value"].to_list() == [None]
    hint = re.search("test='(.*)'", str(caught[0].message))
    assert compare(frame, test=hint[1])["p_value"].item() < 0.001
