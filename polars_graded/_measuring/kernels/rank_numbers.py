"""Evidence in lists of numbers that they are ranks of their documents."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from polars_graded._measuring.kernels.ragged import Floats, Integers, Mask, Ragged, repeat_each

MAX_SLOTS = 50
"""Maximum number of ranks per document of a list; most documents may be missing from it."""


class RankNumbers(NamedTuple):
    """Evidence of each list that its numbers are ranks."""

    queries: Mask
    """True if the list has a number."""
    counting: Mask
    """True if its numbers are 1 to n, each once, with at most one below 1."""
    telling: Mask
    """True if it counts so many documents that chance is unlikely."""
    spread: Mask
    """True if its numbers are whole or halves, from 0, of at most `MAX_SLOTS` ranks each."""
    lowest: Floats
    """Lowest of these numbers, rounded down."""
    slots: Floats
    """Whole numbers from the lowest to the highest of them."""
    informative: Mask
    """True if ties are counted: in lists of three numbers or more that are not all equal."""
    tied: Integers
    """Pairs of equal numbers in the list."""
    expected: Floats
    """Expected pairs of equal numbers if they were unrelated."""
    low: Integers
    """Numbers below 1, where a list has several, which may mean that a document was not shown."""
    high: Integers
    """Numbers that are the highest of all lists, where a list has several."""

    @classmethod
    def empty(cls, n: int) -> RankNumbers:
        """Return the evidence of n lists without numbers."""
        queries, counting, telling, spread, informative = np.zeros((5, n), bool)
        lowest, slots, expected = np.zeros((3, n))
        tied, low, high = np.zeros((3, n), np.int64)
        evidence = queries, counting, telling, spread, lowest, slots, informative, tied, expected
        return cls(*evidence, low, high)


def find_rank_numbers(values: Ragged) -> RankNumbers:
    """Return the evidence of each list; NaN counts as no number.

    Numbers below 1 are left out, as is the highest of all where a list repeats it: they may stand
    for documents that were not shown. A single number counts its documents by chance.
    """
    is_number = ~np.isnan(values.values)
    low = is_number & (values.values < 1)
    n_low = values.count(low)
    positive = values.keep(is_number & ~low)
    is_highest = positive.values == positive.values.max(initial=0)
    n_highest = positive.count(is_highest)
    repeats = is_highest & (repeat_each(n_highest, positive.lengths) > 1)
    numbers = positive.keep(~repeats).sort_ascending()

    # Some tools give documents that share ranks the mean of them, as 5.5 for the fifth and sixth.
    ranks = numbers.of(np.floor(numbers.values))
    n, lowest = numbers.lengths, ranks.first_values()
    has_halves = numbers.count(numbers.values != ranks.values) > 0
    with np.errstate(invalid="ignore"):  # infinity is not a rank
        is_rank = (n > 0) & (values.count(2 * values.values % 1 != 0) == values.count(~is_number))
        slots = ranks.last_values() - lowest + 1
        spread = is_rank & (slots <= MAX_SLOTS * n)
    tied = _count_tied_pairs(ranks)
    counting = spread & (tied == 0) & (slots == n) & (lowest == 1) & ~has_halves
    informative = spread & (n > 2) & (slots > 1)  # noqa: PLR2004, the lowest and highest
    expected = np.zeros(len(n))
    expected[informative] = _expect_tied_pairs(n[informative], slots[informative])
    return RankNumbers(
        values.count(is_number) > 0,
        counting,
        counting & (n > 1),
        spread,
        np.where(spread, lowest, 0),
        np.where(spread, slots, 0),
        informative,
        np.where(informative, tied, 0),
        expected,
        np.where(n_low > 1, n_low, 0),
        np.where(n_highest > 1, n_highest, 0),
    )


def _count_tied_pairs(numbers: Ragged) -> Integers:
    """Return the pairs of equal numbers in each sorted list."""
    values, place = numbers.values, np.arange(len(numbers.values))
    is_new = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=is_new[1:])
    is_new[numbers.offsets[:-1][numbers.lengths > 0]] = True
    # Each number makes a pair with each of the equal ones before it.
    equal_before = place - np.maximum.accumulate(np.where(is_new, place, 0))
    return numbers.sum(equal_before).astype(np.int64)


def _expect_tied_pairs(n: Integers, slots: Floats) -> Floats:
    """Return the expected pairs of equal numbers among `n` that fall on `slots` at random.

    Given that the first and last slot are taken, that is n (n - 1) / 2 times S(n - 1) / S(n), where
    S(n) = slots^n - 2 (slots - 1)^n + (slots - 2)^n lists of n numbers take both. Numbers that are
    not spread evenly have more ties.
    """

    def share_that_takes_both(n: Integers) -> Floats:
        share: Floats = 1 - 2 * (1 - 1 / slots) ** n + (1 - 2 / slots) ** n
        return share

    pairs = n * (n - 1) / 2
    expected: Floats = pairs / slots * share_that_takes_both(n - 1) / share_that_takes_both(n)
    return expected
