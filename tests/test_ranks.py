"""Ranks of strategies with their intervals, and groups that do not differ significantly."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl
import pytest
import scipy.stats
from book_numbers import table_after
from hypothesis import given
from hypothesis import strategies as st
from results import frame_of

from polars_graded import compare, rank_strategies
from polars_graded._results.comparing import find_cliques


def per_query(values, measure="ap"):
    """One row per strategy and query of an array."""
    return frame_of({f"s{i}": row for i, row in enumerate(values)}, measure)


@pytest.mark.parametrize("test", ["t", "permutation", "randomised_tukey"])
@pytest.mark.parametrize("measure", ["ap", "e_measure@5"])
@pytest.mark.parametrize("seed", range(4))
def test_ranks_and_groups_say_what_compare_finds(test, measure, seed):
    rng = np.random.default_rng(seed)
    values = rng.choice([0, 0.25, 0.5, 1.0], (6, 12)) + np.linspace(0, 1, 6)[:, np.newaxis]
    values[1] = values[0]
    frame = per_query(values, measure)
    options = {"test": test, "resamples": 2000}
    ranks = {row["strategy"]: row for row in rank_strategies(frame, **options).rows(named=True)}
    better, worse = dict.fromkeys(ranks, 0), dict.fromkeys(ranks, 0)
    sign = 1 if measure == "ap" else -1
    for row in compare(frame, **options).rows(named=True):
        a, b = row["strategy"], row["baseline"]
        found = row["p_corrected"] <= 0.05
        shared = set(ranks[a]["group"]) & set(ranks[b]["group"])
        assert bool(shared) != found
        if found:
            above, below = (a, b) if sign * row["difference"] > 0 else (b, a)
            better[below] += 1
            worse[above] += 1
    means = {name: sign * frame.filter(strategy=name)[measure].mean() for name in ranks}
    for name, row in ranks.items():
        higher = sum(round(mean - means[name], 9) > 0 for mean in means.values())
        assert (row["rank"], row["rank_low"]) == (1 + higher, 1 + better[name])
        assert row["rank_high"] == len(ranks) - worse[name]
        assert row["rank_low"] <= row["rank"] <= row["rank_high"]
    assert [row["rank"] for row in ranks.values()] == sorted(row["rank"] for row in ranks.values())


@given(
    st.integers(1, 7).flatmap(
        lambda n: st.tuples(
            st.just(n),
            st.sets(
                st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(
                    lambda pair: pair[0] < pair[1]
                )
            ),
        )
    )
)
def test_two_are_in_a_set_together_where_they_are_not_apart(drawn):
    n, apart = drawn
    matrix = np.zeros((n, n), dtype=bool)
    for a, b in apart:
        matrix[a, b] = matrix[b, a] = True
    sets = [{*each.tolist()} for each in find_cliques(matrix)]
    assert set().union(*sets) == set(range(n))
    for a, b in combinations(range(n), 2):
        assert any({a, b} <= each for each in sets) == ((a, b) not in apart)
    assert not any(one < other for one in sets for other in sets)


def test_segments_are_ranked_by_themselves():
    values = np.random.default_rng(2).random((3, 20))
    frame = per_query(values).with_columns(device=pl.col("query") % 2)
    ranks = rank_strategies(frame, segments="device")
    assert ranks["device"].to_list() == [0] * 3 + [1] * 3
    for device in (0, 1):
        alone = rank_strategies(frame.filter(device=device).drop("device"))
        columns = ["strategy", "mean", "rank"]
        assert ranks.filter(device=device)[columns].equals(alone[columns])


WORLDS = {
    "all equal": np.zeros,
    "two groups": lambda n: np.repeat([0.0, 1.0], n // 2),
    "ladder": lambda n: np.arange(n) * 0.2,
}
"""True means, in standard deviations of a difference of two strategies."""


def worlds_that_hold(kind, strategies, worlds, queries=50, seed=0, *, is_skewed=False, **options):
    """Whether all true ranks of a world lie within their intervals."""
    rng, true = np.random.default_rng(seed), WORLDS[kind](strategies)
    shape = (worlds, strategies, queries)
    noise = rng.exponential(size=shape) if is_skewed else rng.normal(size=shape)
    values = noise / 2**0.5 + true[:, np.newaxis] + rng.normal(size=(worlds, 1, queries))
    frame = per_query(values[0]).select("strategy", "query")
    columns = {f"world {i}": values[i].ravel() for i in range(worlds)}
    own = rank_strategies(frame.with_columns(**columns), dict.fromkeys(columns, "ap"), **options)
    first = {f"s{i}": 1 + (true > mean).sum() for i, mean in enumerate(true)}
    last = {f"s{i}": (true >= mean).sum() for i, mean in enumerate(true)}
    strategy = pl.col("strategy")
    within = (pl.col("rank_low") <= strategy.replace_strict(first)) & (
        pl.col("rank_high") >= strategy.replace_strict(last)
    )
    return own.group_by("measure", maintain_order=True).agg(within.all())["rank_low"].to_numpy()


def cells_of_ranks(strategies):
    """A row of the book about `rank_strategies`: the share of worlds that hold, by their kind."""
    shares = [
        np.mean([worlds_that_hold(kind, strategies, 500, seed=seed) for seed in range(4)])
        for kind in WORLDS
    ]
    return [f"{strategies}", *(f"{share:.3f}" for share in shares)]


EQUAL_WORLDS = [("normal", 50), ("normal", 10), ("exponential", 50), ("exponential", 10)]


def cells_of_corrections(values, queries):
    """A row of the book about nine equal strategies, of one measure and of four."""
    cells = []
    for correction in ("none", "benjamini_hochberg", "holm"):
        options = {"is_skewed": values == "exponential", "correction": correction}
        hold = np.array(
            [
                worlds_that_hold("all equal", 9, 500, queries, seed=measure, **options)
                for measure in range(4)
            ]
        )
        cells += [f"{hold.mean():.3f}", f"{hold.all(axis=0).mean():.3f}"]
    return [values, f"{queries}", *cells]


@pytest.mark.simulation
@pytest.mark.parametrize("kind", WORLDS)
def test_true_ranks_lie_within_their_intervals_together(kind):
    hold = worlds_that_hold(kind, 4, 500)
    assert hold.mean() >= 0.95 - 3 * (0.95 * 0.05 / 500) ** 0.5


@pytest.mark.simulation
def test_the_tables_of_ranks_are_those_of_the_simulations():
    printed = table_after("by 0.2 standard\ndeviations. The standard")
    found = [cells_of_ranks(n) for n in (4, 10)]
    printed += table_after("all of nine strategies have the same")
    found += [cells_of_corrections(*world) for world in EQUAL_WORLDS]
    for row, cells in zip(printed, found, strict=True):
        for cell, value in zip(row, cells, strict=True):
            is_number = cell.strip().replace(".", "").isdigit()
            assert float(cell) == pytest.approx(float(value), abs=0.003) if is_number else True


SKEWED = {
    "exponential": lambda draw, shape: draw.exponential(size=shape) - 1,
    "squared": lambda draw, shape: draw.exponential(size=shape) ** 2 - 2,
}


def find_rejected_shares(n: int, replicates: int = 4000) -> list[str]:
    """Shares of tests at 0.05 that find a difference of equal means: a row of the book's table."""
    shares = [str(n)]
    for make in SKEWED.values():
        names = [f"ap@{number + 1}" for number in range(replicates)]
        differences = pl.DataFrame(make(np.random.default_rng(n), (n, replicates)), schema=names)
        keys = pl.DataFrame({"query": range(n)})
        frame = pl.concat(
            [
                keys.with_columns(strategy=pl.lit("a")).hstack(differences),
                keys.with_columns(strategy=pl.lit("b")).hstack(differences * 0),
            ]
        )
        ranks = scipy.stats.wilcoxon(differences.to_numpy(), axis=0).pvalue
        p_values = compare(frame, correction="none")["p_value"].to_numpy(), ranks
        shares += [f"{(p <= 0.05).mean():.3f}" for p in p_values]
    return shares


@pytest.mark.simulation
def test_the_table_of_wilcoxon_is_that_of_the_simulations():
    for row in table_after("finds a difference of equal means"):
        expected = find_rejected_shares(int(row[0]))
        assert [float(cell) for cell in row] == pytest.approx([*map(float, expected)], abs=0.001)


@pytest.mark.slow
def test_without_correction_equal_strategies_seldom_hold_together():
    """What the chart says of them: with Holm's correction they do, by one measure."""
    none = worlds_that_hold("all equal", 9, 100, correction="none")
    assert none.mean() < 0.7
    assert worlds_that_hold("all equal", 9, 100).mean() > 0.85


if __name__ == "__main__":  # the tables of the book about `rank_strategies`
    for n in (4, 10):
        print("|", " | ".join(cells_of_ranks(n)), "|")
    for world in EQUAL_WORLDS:
        print("|", " | ".join(cells_of_corrections(*world)), "|")
