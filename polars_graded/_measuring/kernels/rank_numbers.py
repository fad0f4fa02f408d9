"""Collect evidence that the numbers in lists are ranks of documents."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from polars_graded._measuring.kernels.ragged import Floats, Integers, Mask, Ragged, repeat_each

MAX_SLOTS = 50
"""Maximum ratio of slots to numbers in a list.

The slots of a list are all whole numbers from its lowest to its highest number. Example: the two
numbers 3 and 7 have the five slots 3 to 7, or 2.5 per number. The maximum is high, because a list
may contain only a few documents of a ranking.
"""


class RankNumbers(NamedTuple):
    """Evidence that the numbers of each list are ranks, with one entry per list.

    Numbers below 1 are left out, because they may be codes for documents that were not shown. Let m
    be the highest number of all lists. If a list contains m more than once, m may be such a code
    too, and is left out of this list. `n_low` and `n_high` count numbers left out. `has_number` is
    true even if all numbers were left out. `is_spread` is false if any number, even one left out,
    is not a multiple of 0.5.
    """

    has_number: Mask
    """True if the list has a number."""
    is_from_one: Mask
    """True if the list contains each number from 1 to n once, and no other number."""
    is_several_from_one: Mask
    """True if `is_from_one` is true and n is at least 2. A single 1 may be there by chance."""
    is_spread: Mask
    """True if all numbers are multiples of 0.5, with at most `MAX_SLOTS` slots per number."""
    lowest: Floats
    """Lowest number of the list, rounded down; 0 if `is_spread` is false."""
    slots: Floats
    """Number of whole numbers from `lowest` to the highest number; 0 if `is_spread` is false."""
    is_informative: Mask
    """True if the list can show whether ties are rare.

    Such a list has at least three numbers and at least two slots, and `is_spread` is true.
    """
    tied_pairs: Integers
    """Number of pairs of numbers with the same floor; 0 if `is_informative` is false."""
    expected_pairs: Floats
    """Expected `tied_pairs` of random numbers; 0 if `is_informative` is false."""
    n_low: Integers
    """Count of numbers below 1; a count of 1 is replaced by 0."""
    n_high: Integers
    """Count of numbers equal to the highest number of all lists; a count of 1 is replaced by 0."""


def find_rank_numbers(values: Ragged) -> RankNumbers:
    """Return the evidence of each list; NaN counts as no number."""
    is_number = ~np.isnan(values.values)
    is_low = is_number & (values.values < 1)
    n_low = values.count(is_low)
    at_least_one = values.keep(is_number & ~is_low)
    is_highest = at_least_one.values == at_least_one.values.max(initial=0)
    n_highest = at_least_one.count(is_highest)
    is_repeated_highest = is_highest & (repeat_each(n_highest, at_least_one.lengths) > 1)
    numbers = at_least_one.keep(~is_repeated_highest).sort_ascending()

    # Some tools give tied documents the mean of their ranks, such as 5.5 for ranks 5 and 6.
    ranks = numbers.of(np.floor(numbers.values))
    n, lowest = numbers.lengths, ranks.first_values()
    has_halves = numbers.count(numbers.values != ranks.values) > 0
    with np.errstate(invalid="ignore"):  # infinity is not a rank
        is_rank = (n > 0) & (values.count(2 * values.values % 1 != 0) == values.count(~is_number))
        slots = ranks.last_values() - lowest + 1
        is_spread = is_rank & (slots <= MAX_SLOTS * n)
    tied_pairs = count_tied_pairs(ranks)
    is_from_one = is_spread & (tied_pairs == 0) & (slots == n) & (lowest == 1) & ~has_halves
    # With one slot, all numbers are tied. With two numbers in several slots, none are. Such lists
    # show nothing about ties.
    is_informative = is_spread & (n > 2) & (slots > 1)  # noqa: PLR2004
    expected_pairs = np.zeros(len(n))
    expected_pairs[is_informative] = _expect_tied_pairs(n[is_informative], slots[is_informative])
    return RankNumbers(
        values.count(is_number) > 0,
        is_from_one,
        is_from_one & (n > 1),
        is_spread,
        np.where(is_spread, lowest, 0),
        np.where(is_spread, slots, 0),
        is_informative,
        np.where(is_informative, tied_pairs, 0),
        expected_pairs,
        np.where(n_low > 1, n_low, 0),
        np.where(n_highest > 1, n_highest, 0),
    )


def count_tied_pairs(numbers: Ragged) -> Integers:
    """Return the number of pairs of equal numbers in each sorted list."""
    values, row = numbers.values, np.arange(len(numbers.values))
    is_new = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=is_new[1:])
    is_new[numbers.offsets[:-1][numbers.lengths > 0]] = True
    # Each number makes a pair with each equal number before it.
    equal_before = row - np.maximum.accumulate(np.where(is_new, row, 0))
    return numbers.sum(equal_before).astype(np.int64)


def _expect_tied_pairs(n: Integers, slots: Floats) -> Floats:
    """Return the expected number of tied pairs among `n` random numbers.

    Each number takes any of the `slots` with the same probability. The first and the last slot are
    taken, because slots range from the lowest to the highest number. Let S(n) be the number of
    lists of n numbers that take both slots: S(n) = slots^n - 2 (slots - 1)^n + (slots - 2)^n. Two
    tied numbers act as one number, so a given pair is tied in S(n - 1) of these lists. The expected
    number of tied pairs is therefore n (n - 1) / 2 times S(n - 1) / S(n).
    """

    def share_both(n: Integers) -> Floats:
        share: Floats = 1 - 2 * (1 - 1 / slots) ** n + (1 - 2 / slots) ** n
        return share

    pairs = n * (n - 1) / 2
    expected_pairs: Floats = pairs / slots * share_both(n - 1) / share_both(n)
    return expected_pairs
