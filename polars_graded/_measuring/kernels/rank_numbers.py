"""Collect evidence that the numbers of lists are ranks of documents."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from polars_graded._measuring.kernels.ragged import Floats, Integers, Mask, Ragged, repeat_each

MAX_SLOTS = 50
"""Maximum number of ranks per document of a list; most documents may be missing from it."""


class RankNumbers(NamedTuple):
    """Evidence that the numbers of each list are ranks, with one entry per list."""

    queries: Mask
    """True if the list has a number."""
    counts_from_one: Mask
    """True if its numbers are 1 to n, each once, with at most one below 1."""
    counts_several: Mask
    """True if it counts at least two documents; a single 1 may be there by chance."""
    spread: Mask
    """True if its numbers are whole or halves, with at most `MAX_SLOTS` ranks per number."""
    lowest: Floats
    """Lowest of these numbers, rounded down."""
    slots: Floats
    """Number of whole numbers from the lowest to the highest of them."""
    informative: Mask
    """True if ties are counted: in lists of three numbers or more that are not all equal."""
    tied: Integers
    """Number of pairs of equal numbers in the list."""
    expected: Floats
    """Expected number of such pairs if the numbers were unrelated."""
    low: Integers
    """Count of numbers below 1 if a list has several; they may stand for documents not shown."""
    high: Integers
    """Count of numbers that are the highest of all lists, if a list has several."""

    @classmethod
    def empty(cls, n: int) -> RankNumbers:
        """Return the evidence of n lists without numbers."""
        queries, counts_from_one, several, spread, informative = np.zeros((5, n), bool)
        lowest, slots, expected = np.zeros((3, n))
        tied, low, high = np.zeros((3, n), np.int64)
        evidence = (
            queries,
            counts_from_one,
            several,
            spread,
            lowest,
            slots,
            informative,
            tied,
            expected,
        )
        return cls(*evidence, low, high)


def find_rank_numbers(values: Ragged) -> RankNumbers:
    """Return the evidence of each list; NaN counts as no number.

    Numbers below 1 are left out, and so is the highest number of all lists if a list repeats it:
    both may stand for documents that were not shown.
    """
    is_number = ~np.isnan(values.values)
    low = is_number & (values.values < 1)
    n_low = values.count(low)
    positive = values.keep(is_number & ~low)
    is_highest = positive.values == positive.values.max(initial=0)
    n_highest = positive.count(is_highest)
    repeats = is_highest & (repeat_each(n_highest, positive.lengths) > 1)
    numbers = positive.keep(~repeats).sort_ascending()

    # Some tools give tied documents the mean of their ranks, such as 5.5 for the fifth and sixth.
    ranks = numbers.of(np.floor(numbers.values))
    n, lowest = numbers.lengths, ranks.first_values()
    has_halves = numbers.count(numbers.values != ranks.values) > 0
    with np.errstate(invalid="ignore"):  # infinity is not a rank
        is_rank = (n > 0) & (values.count(2 * values.values % 1 != 0) == values.count(~is_number))
        slots = ranks.last_values() - lowest + 1
        spread = is_rank & (slots <= MAX_SLOTS * n)
    tied = count_tied_pairs(ranks)
    counts_from_one = spread & (tied == 0) & (slots == n) & (lowest == 1) & ~has_halves
    informative = spread & (n > 2) & (slots > 1)  # noqa: PLR2004, the lowest and highest
    expected = np.zeros(len(n))
    expected[informative] = _expect_tied_pairs(n[informative], slots[informative])
    return RankNumbers(
        values.count(is_number) > 0,
        counts_from_one,
        counts_from_one & (n > 1),
        spread,
        np.where(spread, lowest, 0),
        np.where(spread, slots, 0),
        informative,
        np.where(informative, tied, 0),
        expected,
        np.where(n_low > 1, n_low, 0),
        np.where(n_highest > 1, n_highest, 0),
    )


def count_tied_pairs(numbers: Ragged) -> Integers:
    """Return the number of pairs of equal numbers in each sorted list."""
    values, place = numbers.values, np.arange(len(numbers.values))
    is_new = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=is_new[1:])
    is_new[numbers.offsets[:-1][numbers.lengths > 0]] = True
    # Each number makes a pair with each of the equal ones before it.
    equal_before = place - np.maximum.accumulate(np.where(is_new, place, 0))
    return numbers.sum(equal_before).astype(np.int64)


def _expect_tied_pairs(n: Integers, slots: Floats) -> Floats:
    """Return the expected pairs of equal numbers among `n` that fall on `slots` at random.

    Given that some number takes the first slot and some number the last, it is n (n - 1) / 2 times
    S(n - 1) / S(n), with S(n) = slots^n - 2 (slots - 1)^n + (slots - 2)^n the number of lists of n
    numbers that take both slots. Numbers that are not spread evenly have more ties.
    """

    def share_that_takes_both(n: Integers) -> Floats:
        share: Floats = 1 - 2 * (1 - 1 / slots) ** n + (1 - 2 / slots) ** n
        return share

    pairs = n * (n - 1) / 2
    expected: Floats = pairs / slots * share_that_takes_both(n - 1) / share_that_takes_both(n)
    return expected
