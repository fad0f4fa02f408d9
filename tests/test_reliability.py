"""What fewer queries would have said: equal to drawing all samples there are."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from results import close, drawn, frame_of

from polars_graded.trust import order_stability, swap_rate


def halves(values, size):
    """The means of both samples, for all ways to draw two that share no query."""
    table = np.array(list(values.values()))
    queries = range(table.shape[1])
    for first in itertools.combinations(queries, size):
        rest = [query for query in queries if query not in first]
        for second in itertools.combinations(rest, size):
            yield table[:, list(first)].mean(axis=1), table[:, list(second)].mean(axis=1)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_swap_rate_is_near_that_of_all_samples(size):
    values = drawn(7, 3, seed=2)
    counts = {}
    for first, second in halves(values, size):
        for i, j in itertools.combinations(range(3), 2):
            x, y = first[i] - first[j], second[i] - second[j]
            counts.setdefault(int(abs(x) / 0.2), []).append(x * y < 0)
    result = swap_rate(frame_of(values), sizes=size, width=0.2, samples=20_000)
    assert result["comparisons"].sum() == 3 * 20_000
    assert result["difference_from"].to_list() == close([0.2 * each for each in sorted(counts)])
    every = sum(map(len, counts.values()))
    for row, each in zip(result.iter_rows(named=True), sorted(counts), strict=True):
        assert row["difference_to"] == close(0.2 * each + 0.2)
        assert row["comparisons"] / 60_000 == pytest.approx(len(counts[each]) / every, abs=0.015)
        assert row["swap_rate"] == pytest.approx(np.mean(counts[each]), abs=0.04)
        assert row["swap_rate"] == row["swaps"] / row["comparisons"]


def test_the_order_of_fewer_queries_is_near_the_mean_of_all_samples():
    values = drawn(7, 5, seed=3)
    frame = frame_of(values)
    table = np.array(list(values.values()))
    taus = []
    for some in itertools.combinations(range(7), 3):
        means = table[:, list(some)].mean(axis=1)
        taus.append(scipy.stats.kendalltau(means, table.mean(axis=1)).statistic)
    [row] = order_stability(frame, sizes=3, samples=10_000).rows(named=True)
    assert (row["measure"], row["queries"]) == ("ap", 3)
    assert row["tau"] == pytest.approx(np.mean(taus), abs=0.02)
    assert min(taus) - 1e-12 <= row["tau_low"] < row["tau"] < row["tau_high"] <= 1 + 1e-12


VALUES = st.lists(
    st.tuples(*[st.sampled_from([0.0, 0.1, 0.2, 0.5, 1.0])] * 3), min_size=2, max_size=9
)


@given(VALUES, st.integers(0, 9))
def test_every_pair_of_every_sample_is_a_comparison_and_halving_a_class_moves_none(rows, seed):
    frame = frame_of(dict(zip("abc", map(list, zip(*rows, strict=True)), strict=True)))
    size = len(rows) // 2
    options = {"sizes": size, "samples": 7, "seed": seed}
    wide, narrow = (swap_rate(frame, width=width, **options) for width in (0.25, 0.125))
    for rates in (wide, narrow):
        assert rates["comparisons"].sum() == 7 * 3
        assert (rates["swaps"] <= rates["comparisons"]).all()
    assert wide["swaps"].sum() == narrow["swaps"].sum()
    # A measure that is best at its lowest swaps as often: only signs are counted.
    mirrored = frame.select("strategy", "query", (1 - pl.col("ap")).alias("ap"))
    assert swap_rate(mirrored, width=9, **options).equals(swap_rate(frame, width=9, **options))


@given(VALUES)
def test_the_order_from_all_queries_is_that_of_all_queries(rows):
    frame = frame_of(dict(zip("abc", map(list, zip(*rows, strict=True)), strict=True)))
    found = order_stability(frame, sizes=len(rows), samples=2)
    assert found["tau"].item() in (None, pytest.approx(1))
    assert found["tau_low"].item() == found["tau_high"].item()


@pytest.mark.parametrize(
    ("call", "options", "sentence"),
    [
        (swap_rate, {"sizes": 3}, "`sizes` must"),
        (order_stability, {"sizes": [2, 6]}, "`sizes` must"),
        (swap_rate, {"width": 0}, "`width` must"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        call(frame_of(drawn(5, 3)), **options)
