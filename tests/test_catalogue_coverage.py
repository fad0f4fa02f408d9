"""How often intervals of `catalogue` hold the expected value: what the book's table says."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from coverage_tables import assert_same_share, read_book_table, read_book_text

from polars_graded._results.catalogues import MIN_USERS, Recommendations
from polars_graded._results.jackknife import compute_jackknife_margin

ITEMS, LENGTH, POPULATION = 1000, 10, 20_000

NAMES = ("catalogue_coverage", "gini_index", "entropy", "popularity")

KINDS = {
    "personal, Zipf 1": (0, 1.0, None),
    "personal, Zipf 1.5": (0, 1.5, None),
    "personal, Zipf 2": (0, 2.0, None),
    "most popular, all users rated 20 items or more": (30, 1.0, (4.2, 0.9, 20)),
    "most popular, most users rated few items": (10, 1.0, (1.5, 1.3, 1)),
}
"""The weight of item j is (j + shift)^-power. The last entry is about the items that a user has
rated, which are not recommended: the mean and the deviation of the logarithm of their number, and
the lowest number. Without it, the weights draw the lists themselves."""

REPEATS = 3000


@cache
def population(kind):
    """The lists of very many users."""
    shift, power, rated = KINDS[kind]
    generator = np.random.default_rng(1)
    weights = -power * np.log(np.arange(1, ITEMS + 1) + shift)
    lists = []
    for _ in range(POPULATION // 1000):
        noisy = generator.gumbel(size=(1000, ITEMS)) + weights
        if rated is None:
            lists.append(np.argpartition(-noisy, LENGTH, axis=1)[:, :LENGTH])
            continue
        mean, deviation, lowest = rated
        drawn = generator.lognormal(mean, deviation, 1000).astype(int)
        number = np.clip(drawn, lowest, ITEMS // 2)
        edge = -np.sort(-noisy, axis=1)[np.arange(1000), number]
        is_new = noisy <= edge[:, np.newaxis]
        is_listed = is_new & (np.cumsum(is_new, axis=1) <= LENGTH)
        lists.append(np.nonzero(is_listed)[1].reshape(-1, LENGTH))
    return np.concatenate(lists)


def simulate(kind, users, repeats):
    """The coverage of the intervals of each measure."""
    generator = np.random.default_rng(users)
    lists, shift, power = population(kind), *KINDS[kind][:2]
    popularity = 1000 * (np.arange(1, ITEMS + 1) + shift) ** -power
    index = np.repeat(np.arange(users), LENGTH)
    values, margins = np.empty((2, repeats, len(NAMES)))
    for row in range(repeats):
        chosen = lists[generator.integers(0, POPULATION, users)]
        means = {"popularity": popularity[chosen].mean(axis=1)}
        sample = Recommendations(index, chosen.ravel(), users, ITEMS, means)
        measured, without = sample.measure(), sample.leave_out_each_user()
        values[row] = [measured[name] for name in NAMES]
        margins[row] = [compute_jackknife_margin(without[name], 0.05) for name in NAMES]
    return (np.abs(values - values.mean(axis=0)) <= margins).mean(axis=0)


TABLE = read_book_table("Catalogues") if __name__ != "__main__" else {}


@pytest.mark.simulation
@pytest.mark.parametrize(("kind", "users"), TABLE)
def test_intervals_hold_the_expected_value_as_often_as_is_printed(kind, users):
    found = simulate(kind, int(users), REPEATS)
    for share, expected in zip(found, TABLE[kind, users], strict=True):
        assert_same_share(share, expected, REPEATS)


def test_the_table_begins_with_the_fewest_users_that_have_an_interval():
    assert {kind for kind, _ in TABLE} == {*KINDS}
    assert min(int(users) for _, users in TABLE) == MIN_USERS


@pytest.mark.parametrize(
    ("is_sparse", "words"),
    [
        (False, "50 to 500 users, {} % of the 95 % intervals"),
        (True, "few users chose many: {} % do"),
    ],
)
def test_the_book_states_the_lowest_and_the_highest_coverage(is_sparse, words):
    rows = [row for (kind, _), row in TABLE.items() if ("few items" in kind) == is_sparse]
    stated = words.format(f"{100 * np.min(rows):.0f} to {100 * np.max(rows):.0f}")
    assert stated in read_book_text()


if __name__ == "__main__":
    for kind in KINDS:
        for users in (MIN_USERS, 100, 500):
            shares = " | ".join(f"{each:.3f}" for each in simulate(kind, users, REPEATS))
            print(f"| {kind} | {users} | {shares} |", flush=True)
