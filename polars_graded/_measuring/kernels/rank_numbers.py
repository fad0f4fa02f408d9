"""Collect evidence that the numbers in lists are ranks of documents."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from polars_graded._measuring.kernels.ragged import Floats, Integers, Mask, Ragged, repeat_each

MAX_SLOTS = 50
"""Maximum ratio of the slots of a list to its numbers. The slots are all whole numbers from the
lowest to the highest number of the list. The maximum is high, because most of the documents of a
ranking may be missing."""


class RankNumbers(NamedTuple):
    """Evidence that the numbers of each list are ranks, with one entry per list.

    Numbers below 1 are left out. If a list contains the highest number of all lists more than once,
    this number is left out of the list, too. The numbers left out count only in `has_number`,
    `n_low` and `n_high`; but if one of them is neither whole nor a half, `is_spread` is false.
    """

    has_number: Mask
    """True if the list has a number."""
    is_from_one: Mask
    """True if its numbers are 1 to n, each once."""
    is_several_from_one: Mask
    """True if its numbers are 1 to n and n is at least 2: a single 1 may be there by chance."""
    is_spread: Mask
    """True if its numbers are whole or halves, with at most `MAX_SLOTS` slots per number."""
    lowest: Floats
    """Lowest number of the list, rounded down; 0 if `is_spread` is false."""
    slots: Floats
    """Number of whole numbers from `lowest` to the highest number; 0 if `is_spread` is false."""
    is_informative: Mask
    """True if ties are counted. They are if `is_spread` is true and the list has three or more
    numbers with at least two different integer parts."""
    tied_pairs: Integers
    """Number of pairs of numbers that are equal when rounded down; 0 if ties are not counted."""
    expected_pairs: Floats
    """Number of tied pairs to expect if numbers were random; 0 if ties are not counted."""
    n_low: Integers
    """Count of numbers below 1, perhaps codes for documents not shown; 0 if there is only one."""
    n_high: Integers
    """Count of numbers equal to the highest of all lists, which may also be codes for documents not
    shown; 0 if there is only one."""


def find_rank_numbers(values: Ragged) -> RankNumbers:
    """Return the evidence of each list; NaN counts as no number.

    Numbers below 1 are left out. If a list contains the highest number of all lists more than once,
    this number is left out of the list, too. Both kinds of numbers may stand for documents that
    were not shown.
    """
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
    # Two numbers with different integer parts are never tied, so they show nothing about ties.
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

    Each number takes one of the `slots`, all with the same probability. Given that some number
    takes the first slot and some number the last, the expectation is n (n - 1) / 2 times
    S(n - 1) / S(n), where S(n) = slots^n - 2 (slots - 1)^n + (slots - 2)^n is the number of lists
    of n numbers that take both slots. Numbers with another distribution have more ties.
    """

    def share_both(n: Integers) -> Floats:
        share: Floats = 1 - 2 * (1 - 1 / slots) ** n + (1 - 2 / slots) ** n
        return share

    pairs = n * (n - 1) / 2
    expected_pairs: Floats = pairs / slots * share_both(n - 1) / share_both(n)
    return expected_pairs
