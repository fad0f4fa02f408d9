"""What the numbers say, in sentences: who leads, whether that is settled, how sure the order is.

A sentence is a list of texts and of places of strategies, which the page shows by name and colour.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from polars_graded._report.contents import ALPHA, p_name
from polars_graded._report.packing import rounded
from polars_graded._report.words import written
from polars_graded._results.power import queries_needed
from polars_graded._results.reliability import order_stability
from polars_graded._results.significance import CORRECTIONS, TESTS, hold_together
from polars_graded._sentences import counted, p_said, percent, together

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polars_graded._measuring.kernels.ragged import Floats
    from polars_graded._results.per_query import Grid, Results
    from polars_graded._results.significance import CorrectionName, TestName

Said: TypeAlias = "list[str | int]"
Pair: TypeAlias = "dict[str, Any]"
"""What a comparison says of two strategies: a row of it."""

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


def pairs_of_rows(comparison: Mapping[str, Any]) -> list[list[Pair]]:
    """The pairs of each measure of a comparison as the page has it."""
    columns = comparison["columns"]
    return [[dict(zip(columns, row, strict=True)) for row in rows] for rows in comparison["rows"]]


def _is_settled(pair: Pair) -> bool:
    """Whether the difference is significant."""
    return pair["p_corrected"] is not None and pair["p_corrected"] <= ALPHA


# The verdict


class Tested(NamedTuple):
    """How pairs were tested."""

    baseline: int | None
    """The strategy that all others are compared with."""
    p: str
    """What a p value is called."""
    together: int
    """How many differences are tested together."""
    held: str
    """What is said of the intervals, where these are more than one."""


def tested(comparison: Mapping[str, Any], test: TestName, correction: CorrectionName) -> Tested:
    """How the pairs of a comparison were tested."""
    n = len(comparison["rows"][0]) if comparison["rows"] else 0
    baseline, p = comparison["baseline"], p_name(test, correction)
    if n < 2 or (correction == "none" and not TESTS[test].simultaneous):  # noqa: PLR2004
        return Tested(baseline, p, 1, "")
    joint = hold_together(test, correction)
    held = together(n, "pairs") if joint else CORRECTIONS[correction].words
    return Tested(baseline, p, n, f", {held}")


def verdict(grid: Grid, measure: Mapping[str, Any], pairs: Sequence[Pair], how: Tested) -> Said:
    """Who leads in a measure and by how much, and whether that is settled."""
    baseline = how.baseline
    name, n, means = measure["name"], measure["queries"], measure["means"]
    if not n or means[0] is None:
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
    leader = leaders[0]
    second = _second(means, measure["best"], leader)
    other = second if baseline in (None, leader) else baseline
    both = {leader, other}
    found = [pair for pair in pairs if both == {pair["strategy"], pair["baseline"]}]
    said: Said = [leader, f" leads: its mean {name} {over} is {written(means[leader])}, "]
    side = "below" if measure["best"] == "lowest" else "above"
    gap = written(abs(means[leader] - means[other]))
    role = " of the baseline " if other == baseline else " of "
    said += [f"{gap} {side} that{role}", other]
    if not found:
        return [*said, "."]
    said += [f"{_interval(found[0], leader, side, how.held)}. "]
    said += _settled(grid, name, found[0], leader, n, how)
    return [*said, *_others(pairs, leader, baseline, measure["best"])]


def _second(means: Sequence[float], best: str, leader: int) -> int:
    """The strategy that comes next after the leader."""
    sign = -1 if best == "lowest" else 1
    others = [place for place in range(len(means)) if place != leader]
    return max(others, key=lambda place: sign * means[place])


def _listed(places: Sequence[int]) -> Said:
    """Some strategies in a sentence."""
    if len(places) == 1:
        return [*places]
    shown, more = places[:MOST_LEADERS], len(places) - MOST_LEADERS
    said: Said = [shown[0]]
    for place in shown[1:-1] if more <= 0 else shown[1:]:
        said += [", ", place]
    return [*said, " and ", shown[-1]] if more <= 0 else [*said, f" and {more} more"]


def _interval(pair: Pair, leader: int, side: str, held: str) -> str:
    """The interval of a lead, of which more is better: that which agrees with p, or the plain."""
    low, high = pair["simultaneous_low"], pair["simultaneous_high"]
    if low is None or high is None:
        low, high, held = pair["ci_low"], pair["ci_high"], ""
    if low is None or high is None:
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
        return [f"That is settled ({p}). ", *counts]
    return [f"That is not settled ({p}). ", *counts, *_more(grid, name, pair, n, how.together)]


def _more(grid: Grid, name: str, pair: Pair, n: int, count: int) -> Said:
    """How many more queries would settle a difference that is as large as it seems."""
    both, difference = [pair["strategy"], pair["baseline"]], abs(pair["difference"] or 0)
    needed = _needed(grid.results(name), both, difference, ALPHA / count)
    if needed is None:
        return []
    total = needed["queries_needed"]
    level = f"{ALPHA:g} / {count}" if count > 1 else f"{ALPHA:g}"
    chance = f"with a probability of {POWER * 100:.0f} % (paired t test at {level})"
    if total is None:
        return [f"{SUPPOSED} no number of queries to be had would settle it. "]
    if total <= n:
        return []
    needs = f"{total:,} queries would settle it {chance}: {total - n:,} more. "
    return [f"{SUPPOSED} {needs}"]


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
) -> list[dict[str, Any]]:
    """What the queries at hand can show, of each measure of which one side is better."""
    rows = []
    for measure, of_measure in zip(measures, pairs, strict=True):
        if measure["best"] == "none" or not measure["queries"]:
            continue
        results = grid.results(measure["name"])
        every = range(len(results.values))
        step = SHARE * abs(measure["means"][measure["bests"][0]])
        found = _needed(results, every, step or 1.0, ALPHA)
        if found is None:
            continue
        smallest, needed = found["smallest_difference"], found["queries_needed"]
        takes = "more queries than there are" if needed is None else counted(needed, "queries")
        share = f"; one of {written(step)}, {percent(SHARE)} of the best mean, takes {takes}"
        rows.append(
            {
                "measure": measure["name"],
                "queries": results.n,
                "smallest_difference": rounded(smallest),
                "difference": rounded(step) or None,
                "queries_needed": needed if step else None,
                "told_apart": sum(map(_is_settled, of_measure)),
                "pairs": len(of_measure),
                **_stability(results),
                "note": f"With {counted(results.n, 'queries')}, {measure['name']} shows a "
                f"difference of {written(smallest)} or more with a probability of "
                f"{percent(POWER)}{share if step else ''} (paired t test of one pair at "
                f"{ALPHA:g}, with the variance that these strategies have).",
            }
        )
    return rows


def _needed(
    results: Results, strategies: Sequence[int], difference: float, level: float
) -> dict[str, Any] | None:
    """What `trust.queries_needed` says of some strategies, if it has something to go by."""
    values = results.values[list(strategies)]
    varied = values - values[:1]
    if not difference or results.n < 2 or not np.ptp(varied, axis=1).any():  # noqa: PLR2004
        return None
    keyed = _frame(values)
    try:
        found = queries_needed(
            keyed, "value", difference=difference, power=POWER, confidence=1 - level
        )
    except ValueError:  # what varies does so by rounding alone
        return None
    return found.row(0, named=True)


def _stability(results: Results) -> dict[str, float | None]:
    """How alike the order from half of the queries is to that from all: tau and its ends."""
    half, count = results.n // 2, len(results.values)
    draws = min(DRAWS, MOST_DRAWN // results.n)
    if half < 2 or count < FEWEST or draws < DRAWS // 4:  # noqa: PLR2004
        return dict.fromkeys(TAU)
    keyed = _frame(results.values)
    found = order_stability(keyed, {"value": "highest"}, sizes=half, samples=draws)
    values = found.select(TAU).row(0)
    return (
        dict.fromkeys(TAU) if None in values else dict(zip(TAU, map(rounded, values), strict=True))
    )


def _frame(values: Floats) -> pl.DataFrame:
    """Values as `evaluate` returns them, keys being places."""
    count, n = values.shape
    keys = {"strategy": np.repeat(np.arange(count), n), "query": np.tile(np.arange(n), count)}
    return pl.DataFrame(keys | {"value": values.ravel()})
