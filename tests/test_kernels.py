"""Lists end to end in one array: sorted and counted list by list."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from polars_graded._measuring.kernels.queries import divide_by_ideal
from polars_graded._measuring.kernels.ragged import Ragged, offsets_of

FEW_WHOLE = st.integers(-3, 3).map(float)
REAL = st.floats(-1e300, 1e300)
LISTS = st.lists(st.lists(FEW_WHOLE, max_size=20) | st.lists(REAL, max_size=20), max_size=8)


def laid_out(lists: list[list[float]]) -> Ragged:
    values = np.array([value for each in lists for value in each], dtype=np.float64)
    return Ragged(values, offsets_of(np.array([len(each) for each in lists], dtype=np.int64)))


@given(LISTS)
def test_values_are_sorted_within_their_list_and_equal_ones_stay(lists):
    laid = laid_out(lists)
    places, _ = laid.argsort()
    for first, own in zip(laid.offsets, lists, strict=False):
        expected = sorted(range(len(own)), key=own.__getitem__)  # which is stable
        assert (places[first : first + len(own)] - first).tolist() == expected


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("step", [2.0**-52, 2.0**-40, 0.25])
@pytest.mark.parametrize("lengths", [[3000], [4, 2500, 0, 1], [100] * 30])
def test_values_that_differ_in_their_last_bits_are_sorted(lengths, step, sign, descending):
    numbers = np.random.default_rng(0).integers(0, 200, sum(lengths))
    values = sign * (1 + numbers * step)
    values[numbers == 0] = -0.0
    values[numbers == 1] = 0.0
    lists = Ragged(values, offsets_of(np.array(lengths)))
    order, is_first = lists.argsort(descending=descending)
    expected = np.lexsort((-values if descending else values, lists.query_index))  # which is stable
    assert order.tolist() == expected.tolist()
    in_order, query = values[expected], lists.query_index[expected]
    changes = (in_order[1:] != in_order[:-1]) | (query[1:] != query[:-1])
    assert is_first.tolist() == [True, *changes.tolist()]


@given(LISTS)
def test_values_are_compared_with_the_previous_of_their_list(lists):
    expected = [
        bool(number and own[number] < own[number - 1])
        for own in lists
        for number in range(len(own))
    ]
    assert laid_out(lists).compare_with_previous(np.less).tolist() == expected


@given(LISTS)
def test_a_sum_is_that_of_its_list_alone_to_the_last_bit(lists):
    alone = [laid_out([each]).sum(laid_out([each]).values).item() for each in lists]
    assert laid_out(lists).sum(laid_out(lists).values).tolist() == alone
    largest = [sum(map(abs, each)) for each in lists]
    for found, each, size in zip(alone, lists, largest, strict=True):
        assert abs(found - math.fsum(each)) <= 1e-14 * size
    highest = [max(each, default=0.0) for each in lists]
    assert laid_out(lists).max(laid_out(lists).values).tolist() == highest


@given(LISTS.filter(any))
@example([[2.0**53]])  # the next double is 2 above it
@example([[-(2.0**53) - 4]])
def test_levels_are_counted(lists):
    levels = laid_out(lists).level_counts
    for own, counts in zip(lists, levels.counts.T.tolist(), strict=True):
        found = {level: n for level, n in zip(levels.values, counts, strict=True) if n}
        assert found == Counter(own)
    reached = [[sum(v >= level for v in own) for level in levels.values] for own in lists]
    assert levels.n_reaching.T.tolist() == reached


def test_more_than_the_ideal_is_an_error_and_rounding_is_not():
    assert divide_by_ideal(np.array([1 + 1e-12, 0.5]), np.ones(2)).tolist() == [1, 0.5]
    with pytest.raises(ArithmeticError, match="the ranking reaches 2 times the ideal in 1 places"):
        divide_by_ideal(np.array([1.0, 2.0]), np.ones(2))
