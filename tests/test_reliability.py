"""What fewer queries would have said: equal to drawing all samples there are."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from results import drawn, frame_of

from polars_graded.trust import order_stability


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


@given(VALUES)
def test_the_order_from_all_queries_is_that_of_all_queries(rows):
    frame = frame_of(dict(zip("abc", map(list, zip(*rows, strict=True)), strict=True)))
    found = order_stability(frame, sizes=len(rows), samples=2)
    assert found["tau"].item() in (None, pytest.approx(1))
    assert found["tau_low"].item() == found["tau_high"].item()


@pytest.mark.parametrize(
    ("call", "options", "sentence"),
    [
        (order_stability, {"sizes": 6}, "`sizes` must"),
        (order_stability, {"sizes": [2, 6]}, "`sizes` must"),
        (order_stability, {"samples": 0}, "`samples` must"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        call(frame_of(drawn(5, 3)), **options)
