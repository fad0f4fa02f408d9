"""Simulated changes, and what a gate says of them: the tables of the book about `gate`.

`python tests/gate_simulations.py` prints them.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
from scipy.optimize import brentq

from polars_graded import rank_strategies
from polars_graded._results.gating import PASSING_VERDICTS, Limits, decide_pairs
from polars_graded._results.measure_values import MeasureMatrix, Pairs
from polars_graded._results.significance import Options, run_test
from polars_graded._sentences.gates import BEYOND

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MARGIN, LEVEL = 0.01, 0.05

FAILING_VERDICTS = ("worse", BEYOND)

RANKS = np.array([[1, 2], [2, 1], [1, 3], [3, 1], [2, 3], [3, 2], [1, 10], [10, 1]])
"""The first relevant document moves from one rank to another."""


def normal(rng, effect, shape):
    """Draw from a normal distribution."""
    return effect + 0.1 * rng.normal(size=shape)


def t3(rng, effect, shape):
    """Draw from Student's distribution with three degrees of freedom."""
    return np.clip(effect + 0.1 * rng.standard_t(3, size=shape) / 3**0.5, -1, 1)


def skewed(rng, effect, shape):
    """Draw small gains and a tail of losses: an exponential distribution, skewness -2."""
    return effect + np.maximum(0.1 * (1 - rng.exponential(size=shape)), -0.9)


def reciprocal_rank(rng, effect, shape):
    """Draw differences of reciprocal ranks in a tenth of the queries."""
    steps = 1 / RANKS[:, 1] - 1 / RANKS[:, 0]

    def chances(tilt):
        weights = np.exp(tilt * steps)
        return weights / weights.sum()

    tilt = brentq(lambda tilt: chances(tilt) @ steps - effect / 0.1, -50, 50)
    drawn = steps[rng.choice(len(steps), size=shape, p=chances(tilt))]
    return np.where(rng.random(shape) < 0.1, drawn, 0)


def success(rng, effect, shape):
    """Draw 1 in 2 % of the queries, and -1 in as many but for the effect."""
    drawn = rng.random(shape)
    return np.select([drawn < 0.02, drawn < 0.04 - effect], [1.0, -1.0], 0.0)


def success_lost(rng, effect, shape):
    """Draw -1 in a share of the queries, and no gain."""
    return np.where(rng.random(shape) < -effect, -1.0, 0.0)


def rare_losses(rng, effect, shape):
    """Draw small differences in half of the queries, and -1 in a share of the others."""
    small = np.where(rng.random(shape) < 0.5, 0.01 * rng.normal(size=shape), 0)
    return np.where(rng.random(shape) < -effect, -1.0, small)


KINDS = {
    "normal": normal,
    "t₃": t3,
    "skewed": skewed,
    "reciprocal rank": reciprocal_rank,
    "success": success,
    "success, losses only": success_lost,
    "rare losses": rare_losses,
}


def all_or_nothing(rng, effect, shape):
    """Draw 1 or -1."""
    return np.where(rng.random(shape) < (1 + effect) / 2, 1.0, -1.0)


def two_losses_per_gain(rng, effect, shape):
    """Draw losses of 0.5 in two thirds of the queries, and gains of 1 in the others."""
    return np.where(rng.random(shape) < (1 + 2 * effect) / 3, 1.0, -0.5)


def equal_losses(rng, effect, shape):
    """Draw the same small loss in nearly all queries, and rare large gains."""
    return np.where(rng.random(shape) < 0.02 + effect, 0.98, -0.02)


FEW_KINDS = {
    "all or nothing": all_or_nothing,
    "two losses per gain": two_losses_per_gain,
    "equal losses, rare gains": equal_losses,
    **{name: KINDS[name] for name in ("normal", "skewed", "success")},
}
"""Differences of which a few queries may all be equal, and others."""
FEW_QUERIES = (1, 2, 3, 4, 5, 10, 25)


def lognormal(rng, effect, shape):
    """Draw small gains and a long tail of losses: skewness -6."""
    sigma = 0.985  # (exp(sigma²) + 2) sqrt(exp(sigma²) - 1) = 6
    variance = np.exp(sigma**2)
    drawn = (np.exp(sigma * rng.normal(size=shape)) / variance**0.5 - 1) / (variance - 1) ** 0.5
    return np.clip(effect - 0.02 * drawn, -1, 1)


SKEWED_KINDS = {"skewed": skewed, "lognormal": lognormal}
SKEWED_QUERIES = (25, 30, 50, 200)

RARE_CHANGES = [(0.01, -1.0), (0.02, -0.5), (0.04, -0.5), (0.04, -0.2), (0.1, -0.2), (0.04, 0.5)]
"""Shares of the queries that change much, and their change."""
RARE_QUERIES = (30, 50, 100, 200)


def stopped_of_few(kind, queries, changes):
    """Return the share of changes without an effect that are stopped as worse."""
    rng = np.random.default_rng([zlib.crc32(kind.encode()), queries])
    found = verdicts(FEW_KINDS[kind](rng, 0, (changes, queries)), 1)
    return float(np.isin(found, FAILING_VERDICTS).mean())


def passed_of_skewed(kind, queries, changes):
    """Return the share of changes that pass although they lose the margin."""
    rng = np.random.default_rng([zlib.crc32(kind.encode()), queries])
    found = verdicts(SKEWED_KINDS[kind](rng, -MARGIN, (changes, queries)), 1)
    return float(np.isin(found, PASSING_VERDICTS).mean())


def wrong_of_rare(share, change, queries, changes):
    """Return the share of wrong verdicts, and of samples without a rare change.

    All other queries change little, so that the mean loss is the margin or, with rare gains, 0. A
    verdict is wrong if it passes a loss of the margin or stops a change without an effect.
    """
    rng = np.random.default_rng([round(1000 * share), round(-10 * change) % 100, queries])
    effect, wrong = (-MARGIN, PASSING_VERDICTS) if change < 0 else (0, FAILING_VERDICTS)
    small = (effect - share * change) / (1 - share) + 0.01 * rng.normal(size=(changes, queries))
    is_rare = rng.random((changes, queries)) < share
    found = verdicts(np.where(is_rare, change, small), 1)
    return float(np.isin(found, wrong).mean()), float(1 - is_rare.any(axis=1).mean())


class Shares(NamedTuple):
    """Shares of changes."""

    unchanged: float
    """No query changed."""
    passed: float
    """Passed, of those that changed a query."""
    stopped: float
    """Shown to be worse, of all."""


def pair_differences(differences, clusters=None, weights=None):
    """Return pairs with these differences, one per row."""
    count, n = differences.shape
    values = np.concatenate([np.zeros((1, n)), differences])
    return Pairs(
        MeasureMatrix(
            "ap", pl.int_range(n, eager=True), values, clusters=clusters, weights=weights
        ),
        np.arange(1, count + 1),
        np.zeros(count, np.int64),
    )


def verdicts(differences, measures, clusters=None, weights=None):
    """Return the verdict on each row of differences, of one of several measures."""
    pairs = pair_differences(differences, clusters, weights)
    *_, found = decide_pairs(pairs, Limits(MARGIN, LEVEL / measures, 1.0))
    return found


def shares(kind, effect, queries, measures, changes):
    """Return what becomes of changes with this effect on the first measure.

    For `passed` all other measures pass for certain, for `stopped` they have no effect: no other
    cases give more.
    """
    rng = np.random.default_rng([zlib.crc32(kind.encode()), queries, measures])
    stopped = np.zeros(changes, bool)
    for number in range(measures):
        drawn = KINDS[kind](rng, effect if number == 0 else 0, (changes, queries))
        found = verdicts(drawn, measures)
        stopped |= np.isin(found, FAILING_VERDICTS)
        if number == 0:
            touched = drawn.any(axis=1)
            passes = np.isin(found, PASSING_VERDICTS) & touched
    unchanged = 1 - touched.mean()
    return Shares(unchanged, passes.sum() / max(touched.sum(), 1), stopped.mean())


CLUSTER_WORLDS = [(30, "12"), (80, "12"), (300, "12"), (80, "1 to 23")]
"""Numbers of clusters, and of queries per cluster."""

CORRELATION = 0.8
"""Correlation of the differences of two queries of a cluster."""


def draw_clusters(rng, clusters, size):
    """Return the cluster of each query."""
    sizes = 12 if size == "12" else rng.integers(1, 24, clusters)
    return np.repeat(np.arange(clusters), sizes)


def draw_clustered(rng, effect, changes, numbers):
    """Draw normal differences that correlate within clusters."""
    common = rng.normal(size=(changes, numbers.max() + 1))[:, numbers]
    alone = rng.normal(size=(changes, len(numbers)))
    return effect + 0.1 * (CORRELATION**0.5 * common + (1 - CORRELATION) ** 0.5 * alone)


def shares_of_clusters(clusters, size, changes, worlds):
    """Return the shares of wrong results, each without and with clusters.

    These are the losses of the margin that pass a gate, the changes without an effect that are
    stopped, the differences of equal strategies that `compare` finds significant, and the worlds of
    four equal strategies in which `rank_strategies` excludes a rank.
    """
    rng = np.random.default_rng([clusters, len(size)])
    wrong = np.zeros((4, 2))
    for _ in range(changes // 100):
        numbers = draw_clusters(rng, clusters, size)
        worse = draw_clustered(rng, -MARGIN, 100, numbers)
        for place, given in enumerate((None, numbers)):
            passed = np.isin(verdicts(worse, 1, given), PASSING_VERDICTS)
            found = verdicts(worse + MARGIN, 1, given)
            pairs = pair_differences(worse + MARGIN, given)
            p = run_test(pairs, Options("t", "none")).p
            shares = passed, np.isin(found, FAILING_VERDICTS), p <= LEVEL
            wrong[:3, place] += [share.sum() / changes for share in shares]
    for _ in range(worlds // 100):
        numbers = draw_clusters(rng, clusters, size)
        names = [f"ap@{number + 1}" for number in range(100)]
        frame = pl.concat(
            pl.DataFrame(draw_clustered(rng, 0, 100, numbers).T, schema=names).with_columns(
                strategy=pl.lit(strategy), cluster=pl.Series(numbers)
            )
            for strategy in "abcd"
        ).with_columns(query=pl.int_range(pl.len()).over("strategy"))
        for place, given in enumerate((None, "cluster")):
            ranks = rank_strategies(frame, *names, cluster=given)
            excluded = (pl.col("rank_low") > 1) | (pl.col("rank_high") < 4)
            found = ranks.group_by("measure").agg(excluded.any())["rank_low"]
            wrong[3, place] += found.sum() / worlds
    return wrong


WEIGHT_WORLDS = [
    (kind, queries)
    for kind in ("normal", "skewed", "reciprocal rank")
    for queries in (50, 200, 1000)
]
"""Kinds of differences, and numbers of queries."""


def draw_traffic(rng, queries):
    """Return weights by Zipf's law in random order: the k-th query is searched 1 / k as often."""
    return rng.permutation(1 / np.arange(1, queries + 1))


def shares_of_weights(kind, queries, changes):
    """Return the shares of wrong results with weights.

    These are equal strategies that the t test and the randomisation test find different, losses of
    the margin that pass a gate, and changes without an effect that are stopped.
    """
    rng = np.random.default_rng([zlib.crc32(kind.encode()), queries, 7])
    weights = draw_traffic(rng, queries)
    worse = KINDS[kind](rng, -MARGIN, (changes, queries))
    same = KINDS[kind](rng, 0, (changes, queries))
    found = []
    for test, n in (("t", changes), ("permutation", changes // 5)):
        options = Options(test, "none", resamples=999)
        p = run_test(pair_differences(same[:n], weights=weights), options).p
        found.append(np.mean(p <= LEVEL))
    passed = np.isin(verdicts(worse, 1, weights=weights), PASSING_VERDICTS).mean()
    stopped = np.isin(verdicts(same, 1, weights=weights), FAILING_VERDICTS).mean()
    return [*found, passed, stopped]


def share_of_weighted_clusters(clusters, size, changes):
    """Return the share of losses of the margin that pass a gate with clusters and weights."""
    rng = np.random.default_rng([clusters, len(size), 1])
    passed = 0
    for _ in range(changes // 100):
        numbers = draw_clusters(rng, clusters, size)
        worse = draw_clustered(rng, -MARGIN, 100, numbers)
        found = verdicts(worse, 1, numbers, draw_traffic(rng, len(numbers)))
        passed += np.isin(found, PASSING_VERDICTS).sum()
    return passed / changes


def percent(share):
    """Return a share as the book shows it."""
    return f"{100 * share:.1f}"


# The cells of the tables in the book, row by row.


def cells_of_changes(kind, queries):
    """Return what becomes of changes."""
    changes = 20_000 if queries < 1000 else 5000
    cells = []
    for measures in (1, 5):
        worse = shares(kind, -MARGIN, queries, measures, changes)
        same = shares(kind, 0, queries, measures, changes)
        cells += [worse.unchanged] * (measures == 1) + [worse.passed, same.stopped]
    return [kind, f"{queries:,}", *map(percent, cells)]


def cells_of_few(kind):
    """Return how often a change without an effect is stopped, by the number of queries."""
    return [kind, *(percent(stopped_of_few(kind, n, 20_000)) for n in FEW_QUERIES)]


def cells_of_skewed(kind):
    """Return how often a loss of the margin passes, by the number of queries."""
    return [kind, *(percent(passed_of_skewed(kind, n, 20_000)) for n in SKEWED_QUERIES)]


def cells_of_rare(share, change):
    """Return how often a verdict is wrong, and how often a sample lacks the rare changes."""
    cells = [f"{100 * share:g} % {'gain' if change > 0 else 'lose'} {abs(change):g}"]
    for n in RARE_QUERIES:
        wrong, missing = wrong_of_rare(share, change, n, 20_000)
        cells.append(f"{percent(wrong)} ({percent(missing)})")
    return cells


def cells_of_clusters(clusters, size):
    """Return how often results are wrong, without and with clusters."""
    wrong = shares_of_clusters(clusters, size, 10_000, 2000)
    return [clusters, size, *map(percent, wrong.ravel())]


def cells_of_weights(kind, queries):
    """Return the effective number of queries, and how often results are wrong."""
    traffic = draw_traffic(np.random.default_rng(0), queries)
    effective = traffic.sum() ** 2 / (traffic**2).sum()
    wrong = shares_of_weights(kind, queries, 10_000)
    return [kind, f"{queries:,}", f"{effective:.0f}", *map(percent, wrong)]


class Table(NamedTuple):
    """A table of the book."""

    words: str
    """Words in the page before the table."""
    heads: Sequence[object]
    compute_cells: Callable[..., list[object]]
    """Returns the cells of a row."""
    rows: Sequence[tuple[object, ...]]
    """The arguments of each row."""


TESTS = ["t", "permutation"]
TABLES = [
    Table(
        "shares of losses are one percentage point lower, so that there is no",
        [
            *("differences", "queries", "unchanged", "passed", "stopped"),
            *("passed, five measures", "stopped, five measures"),
        ],
        cells_of_changes,
        [(kind, queries) for kind in KINDS for queries in (50, 200, 1000)],
    ),
    Table(
        "loses 0.02 in 98 % of the queries",
        ["differences", *FEW_QUERIES],
        cells_of_few,
        [(kind,) for kind in FEW_KINDS],
    ),
    Table(
        "Skewed differences pass more often.",
        ["differences", *SKEWED_QUERIES],
        cells_of_skewed,
        [(kind,) for kind in SKEWED_KINDS],
    ),
    Table("number in parentheses is", ["rare changes", *RARE_QUERIES], cells_of_rare, RARE_CHANGES),
    Table(
        "2,000) should be at most 5",
        ["clusters", "queries", *["alone", "clusters"] * 4],
        cells_of_clusters,
        CLUSTER_WORLDS,
    ),
    Table(
        "weights by Zipf's law",
        ["differences", "queries", "effective", *TESTS, "passed", "stopped"],
        cells_of_weights,
        WEIGHT_WORLDS,
    ),
]


if __name__ == "__main__":
    for table in TABLES:
        for cells in (table.heads, ["---"] * len(table.heads)):
            print("|", " | ".join(map(str, cells)), "|")
        for row in table.rows:
            print("|", " | ".join(map(str, table.compute_cells(*row))), "|", flush=True)
        print()
