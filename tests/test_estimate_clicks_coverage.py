"""How often intervals of `estimate_clicks` hold the true value: what the book's table says."""

from __future__ import annotations

import math
import warnings

import numpy as np
import polars as pl
import pytest
from coverage_tables import assert_same_share, read_book_table, read_book_text

from polars_graded import DataWarning
from polars_graded.clicks import estimate_clicks
from polars_graded.datasets import _simulate_clicks

QUERIES, DOCUMENTS = 5, 4

LENGTHS = {"item_position": 4, "cascade": 4, "list": 3}
"""How many documents a list has, by the method."""

MODELS = {"item_position": "pbm", "cascade": "dbn", "list": "dbn"}
"""The users of whom the assumption of a method is true."""

KINDS = {
    "estimated": {},
    "given": {"propensity": "p"},
    "given, self-normalised": {"propensity": "p", "weights": "self_normalised"},
}

REPEATS = 1000

TRUTH = np.random.default_rng(3)
ATTRACTIVENESS = TRUTH.random((QUERIES, DOCUMENTS)) ** 2
SATISFACTION = TRUTH.uniform(0.1, 0.9, (QUERIES, DOCUMENTS))
ORDER = np.argsort(-ATTRACTIVENESS, axis=1)
"""The new ranking, by attractiveness."""

TRAFFIC = 1 / np.arange(1, QUERIES + 1)
TRAFFIC /= TRAFFIC.sum()


def frame_of(query, docs, **columns):
    """Rows of lists."""
    n, length = docs.shape
    ranks = np.tile(np.arange(1, length + 1), n)
    query = np.repeat(query, length)
    return pl.DataFrame({"query": query, "doc": docs.ravel(), "rank": ranks, **columns})


def draw_log(method, lists, generator):
    """A log of lists in random order, with the true propensities."""
    length = LENGTHS[method]
    query = generator.choice(QUERIES, lists, p=TRAFFIC)
    docs = np.argsort(generator.random((lists, DOCUMENTS)), axis=1)[:, :length]
    a, s = ATTRACTIVENESS[query[:, None], docs], SATISFACTION[query[:, None], docs]
    clicked = _simulate_clicks(generator, a, s, MODELS[method], 1.0, 1.0)
    p = {
        "item_position": [1 / DOCUMENTS] * length,
        "cascade": [1 / math.perm(DOCUMENTS, rank) for rank in range(1, length + 1)],
        "list": [1 / math.perm(DOCUMENTS, length)] * length,
    }[method]
    session = np.repeat(np.arange(lists), length)
    p = np.tile(p, lists)
    return frame_of(query, docs, session=session, clicked=clicked.ravel(), p=p)


def expected_clicks(method):
    """The exact clicks per list of the new ranking."""
    order = ORDER[:, : LENGTHS[method]]
    a, s = (np.take_along_axis(each, order, axis=1) for each in (ATTRACTIVENESS, SATISFACTION))
    if MODELS[method] == "pbm":
        examined = np.broadcast_to(1 / np.arange(1, a.shape[1] + 1), a.shape)
    else:
        stays = np.cumprod(1 - a * s, axis=1)
        examined = np.concatenate([np.ones((QUERIES, 1)), stays[:, :-1]], axis=1)
    return TRAFFIC @ (a * examined).sum(axis=1)


def simulate(method, kind, lists, repeats):
    """The coverage, the share of results with an interval, and of those with complete support."""
    generator, truth = np.random.default_rng(lists), expected_clicks(method)
    order = ORDER[:, : LENGTHS[method]]
    rows = []
    for _ in range(repeats):
        log = draw_log(method, lists, generator)
        shown = frame_of(np.arange(QUERIES), order).filter(
            pl.col("query").is_in(log["query"].unique().implode())
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning.support)
            try:
                [row] = estimate_clicks(log, shown, method, **KINDS[kind]).rows(named=True)
            except ValueError:  # nothing matches
                row = dict.fromkeys(("ci_low", "ci_high", "estimate"), None) | {"support": 0}
        rows.append([row[name] for name in ("ci_low", "ci_high", "estimate", "support")])
    low, high, estimate, support = np.array(rows, dtype=float).T
    there = ~np.isnan(low)
    held = (low <= truth) & (truth <= high)
    width = (high - low)[there].mean() / 2 / (1.96 * np.nanstd(estimate[there]))
    return held[there].mean(), there.mean(), (support == 1).mean(), width


TABLE = read_book_table("Clicks of a ranking that was not shown") if __name__ != "__main__" else {}


@pytest.mark.simulation
@pytest.mark.parametrize(("method", "kind", "lists"), TABLE)
def test_intervals_hold_the_true_clicks_as_often_as_is_printed(method, kind, lists):
    *printed, width = TABLE[method, kind, lists]
    *found, found_width = simulate(method.strip("`"), kind, int(lists), REPEATS)
    for share, expected, n in zip(
        found, printed, (REPEATS * max(printed[1], 0.01), REPEATS, REPEATS), strict=True
    ):
        assert_same_share(share, expected, n)
    assert found_width == pytest.approx(width, rel=4 / math.sqrt(REPEATS))


def test_the_book_states_the_lowest_and_the_highest_coverage():
    shares = [row[0] for row in TABLE.values() if row[1] > 0.05]
    stated = f"{100 * min(shares):.0f} to {100 * max(shares):.0f} % of the 95 % intervals"
    assert stated in read_book_text()


if __name__ == "__main__":
    for method in LENGTHS:
        for kind in KINDS:
            for lists in (100, 300, 1000):
                shares = simulate(method, kind, lists, REPEATS)
                cells = " | ".join(f"{each:.3f}" for each in shares)
                print(f"| `{method}` | {kind} | {lists} | {cells} |", flush=True)
