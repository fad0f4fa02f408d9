"""What the numbers say, in sentences: who leads, whether that is settled, how sure the order is.

A sentence is a list of texts and of places of strategies, which the page shows by name and colour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from polars_graded._report.packing import rounded
from polars_graded._report.payload import Certainty
from polars_graded._report.words import ALPHA, Tested, written
from polars_graded._results.pairs import Pairs, pairs_of
from polars_graded._results.per_query import Grid, Results
from polars_graded._results.power import what_is_needed
from polars_graded._results.reliability import stability_of
from polars_graded._sentences import counted, p_said, percent, together

Said: TypeAlias = "list[str | int]"
Pair: TypeAlias = "Mapping[str, Any]"

POWER = 0.8
"""How probable it is to be that a difference is found."""

SHARE = 0.05
"""The share of the best mean that is asked about beside the smallest difference."""

SUPPOSED = "If the difference is as large as it seems,"
"""What a number of queries that would settle it goes by."""

MOST_LEADERS = 3
"""Up to this many strategies that share the best mean are named."""

MOST_DRAWN = 2_000_000
"""How many queries are drawn for each measure, to see how stable the order is."""

DRAWS = 200
"""How many times half of the queries are drawn."""

TAU = ("tau", "tau_low", "tau_high")
"""What is said of how stable the order is."""

FEWEST = 3
"""With fewer strategies there is no order to look at."""


def _is_settled(pair: Pair) -> bool:
    """Whether the difference is significant."""
    return bool(pair["found"])


# The verdict


def verdict(grid: Grid, measure: Mapping[str, Any], pairs: Sequence[Pair], how: Tested) -> Said:
    """Who leads in a measure and by how much, and whether that is settled."""
    name, n, means = measure["name"], measure["queries"], measure["means"]
    if not n:
        return [f"There is no query in which every strategy has a value of {name}."]
    over = f"over {counted(n, 'queries')}"
    if measure["best"] == "none":
        return [f"{name} says how many, not how good: higher is not better."]
    leaders = measure["bests"]
    if len(means) == 1:
        margin = measure["margins"][0]
        reach = "" if margin is None else f" ± {written(margin)} (95 % interval)"
        mean = f"{written(means[0])}{reach} {over}"
        return [0, f" is the only strategy: its mean {name} is {mean}."]
    if len(leaders) > 1:
        best = f"{written(means[leaders[0]])} {over}"
        open_end = f" share the best mean {name}, {best}: which of them is better is open."
        return [*_listed(leaders), open_end]
    leader, other = measure["order"][:2]
    if how.baseline not in (None, leader):
        other = how.baseline
    [pair] = (each for each in pairs if {leader, other} == {each["strategy"], each["baseline"]})
    side = "below" if measure["best"] == "lowest" else "above"
    role = "the baseline " if other == how.baseline else ""
    gap = f"{written(abs(means[leader] - means[other]))} {side} that of {role}"
    return [
        leader,
        f" leads: its mean {name} {over} is {written(means[leader])}, {gap}",
        other,
        f"{_interval(pair, leader, side, how)}. ",
        *_settled(grid, name, pair, leader, n, how),
        *_others(pairs, leader, how.baseline, measure["best"]),
    ]


def _listed(places: Sequence[int]) -> Said:
    """Some strategies in a sentence."""
    more = len(places) - MOST_LEADERS
    shown: Said = [*places[:MOST_LEADERS], *([f"{more} more"] if more > 0 else [])]
    said = shown[:1]
    for place, each in enumerate(shown[1:], start=2):
        said += [" and " if place == len(shown) else ", ", each]
    return said


def _interval(pair: Pair, leader: int, side: str, how: Tested) -> str:
    """The interval of a lead, of which more is better: that which agrees with p, or the plain."""
    low, high = pair["simultaneous_low"], pair["simultaneous_high"]
    held = together(how.pairs, "pairs") if how.is_joint else how.corrected
    held = f", {held}" if how.together > 1 and low is not None else ""
    if low is None:
        low, high = pair["ci_low"], pair["ci_high"]
    if low is None:
        return ""
    if (side == "below") == (leader == pair["strategy"]):
        low, high = -high, -low
    return f" (95 % interval {written(low)} to {written(high)}{held})"


def _settled(grid: Grid, name: str, pair: Pair, leader: int, n: int, how: Tested) -> Said:
    """Whether a lead is settled, in how many queries it is one, and how many more it takes."""
    more, fewer = pair["wins"], pair["losses"]
    if leader != pair["strategy"]:
        more, fewer = fewer, more
    queries = counted(more, "queries")
    counts: Said = [
        leader,
        f" is better in {queries}, worse in {fewer}, and as good in {pair['ties']}. ",
    ]
    if pair["p_corrected"] is None:
        why = "one query cannot be tested" if n == 1 else "there is no test of it"
        return [f"That is not settled: {why}. ", *counts]
    p = p_said(pair["p_corrected"])
    p = f"{how.p} {p}" if p.startswith("<") else f"{how.p} = {p}"
    if _is_settled(pair):
        by = ", of ranks and not of means" if how.of_ranks else ""
        return [f"That is settled ({p}{by}). ", *counts]
    if pair["p_corrected"] <= ALPHA:
        why = f"the ranks of differences lie on the other side ({p})"
        return [f"That is not settled: {why}. ", *counts]
    return [f"That is not settled ({p}). ", *counts, *_more(grid, name, pair, n, how.together)]


def _more(grid: Grid, name: str, pair: Pair, n: int, count: int) -> Said:
    """How many more queries would settle a difference that is as large as it seems."""
    both = Pairs(grid.results(name), *np.array([[pair["strategy"]], [pair["baseline"]]]))
    needed = _needed(both, abs(pair["difference"] or 0), ALPHA / count)
    if needed is None:
        return []
    total = needed["queries_needed"]
    level = f"{ALPHA:g} / {count}" if count > 1 else f"{ALPHA:g}"
    chance = f"with a probability of {percent(POWER)} (paired t test at {level})"
    if total is None:
        return [f"{SUPPOSED} no number of queries to be had would settle it. "]
    if total <= n:
        return []
    return [f"{SUPPOSED} {total:,} queries would settle it {chance}: {total - n:,} more. "]


def _others(pairs: Sequence[Pair], leader: int, baseline: int | None, best: str) -> Said:
    """How many strategies the leader, or the baseline, is told apart from."""
    if len(pairs) < 2:  # noqa: PLR2004
        return []
    if baseline is None:
        mine = [pair for pair in pairs if leader in (pair["strategy"], pair["baseline"])]
        apart = sum(map(_is_settled, mine))
        said = f" is significantly better than {apart} of the {len(mine)} others"
        sharing = [
            pair["baseline"] if pair["strategy"] == leader else pair["strategy"]
            for pair in mine
            if not _is_settled(pair)
        ]
        if not sharing:
            return [leader, f"{said}."]
        return [leader, f"{said}; it shares the lead with ", *_listed(sharing), "."]
    sign = -1 if best == "lowest" else 1
    sides = [sign * (pair["difference"] or 0) for pair in pairs if _is_settled(pair)]
    better, worse = sum(side > 0 for side in sides), sum(side < 0 for side in sides)
    said = f"Significantly better than the baseline: {better} of {len(pairs)} strategies; worse: "
    return [f"{said}{worse}."]


# How sure the order is


def certainty(
    grid: Grid, measures: Sequence[Mapping[str, Any]], pairs: Sequence[Sequence[Pair]]
) -> list[Certainty]:
    """What the queries at hand can show, of each measure of which one side is better."""
    rows: list[Certainty] = []
    for measure, of_measure in zip(measures, pairs, strict=True):
        if measure["best"] == "none" or not of_measure or not measure["queries"]:
            continue
        results = grid.results(measure["name"])
        step = SHARE * abs(measure["means"][measure["bests"][0]])
        found = _needed(Pairs(results, *pairs_of(grid.strategies)), step or 1.0, ALPHA)
        if found is None:
            continue
        smallest, needed = found["smallest_difference"], found["queries_needed"]
        takes = "more queries than there are" if needed is None else counted(needed, "queries")
        share = f"; one of {written(step)}, {percent(SHARE)} of the best mean, takes {takes}"
        stability = _stability(results)
        rows.append(
            {
                "measure": measure["name"],
                "queries": results.n,
                "smallest_difference": rounded(smallest),
                "difference": rounded(step) or None,
                "queries_needed": needed if step else None,
                "told_apart": sum(map(_is_settled, of_measure)),
                "pairs": len(of_measure),
                "tau": stability["tau"],
                "tau_low": stability["tau_low"],
                "tau_high": stability["tau_high"],
                "note": f"With {counted(results.n, 'queries')}, {measure['name']} shows a "
                f"difference of {written(smallest)} or more with a probability of "
                f"{percent(POWER)}{share if step else ''} (paired t test of one pair at "
                f"{ALPHA:g}, with the variance that these strategies have).",
            }
        )
    return rows


def _needed(pairs: Pairs, difference: float, level: float) -> dict[str, Any] | None:
    """What `trust.queries_needed` says of pairs, if it has something to go by."""
    if not difference or pairs.n < 2 or not pairs.statistics.std.any():  # noqa: PLR2004
        return None
    return what_is_needed(pairs, difference, POWER, level)


def _stability(results: Results) -> dict[str, float | None]:
    """How alike the order from half of the queries is to that from all: tau and its ends."""
    half, draws = results.n // 2, min(DRAWS, MOST_DRAWN // results.n)
    if half < 2 or len(results.values) < FEWEST or draws < DRAWS // 4:  # noqa: PLR2004
        return dict.fromkeys(TAU)
    found = stability_of(results, half, draws)
    return {name: rounded(found[name]) for name in TAU}
