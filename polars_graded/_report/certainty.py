"""Collect facts for the verdicts of a report, and for its certainty table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from polars_graded._report.packing import round_number
from polars_graded._report.payload import Certainty, Pair
from polars_graded._results.findings import find_undefeated
from polars_graded._results.pairs import Pairs, find_pairs
from polars_graded._results.per_query import Grid, Results
from polars_graded._results.power import compute_needs
from polars_graded._results.reliability import compute_stability
from polars_graded._sentences.verdicts import (
    ALPHA,
    POWER,
    Facts,
    FindingCounts,
    QueriesNeeded,
    Tested,
    write_power,
)

DEFAULT_DIFFERENCE_SHARE = 0.05
"""Difference for which the number of needed queries is computed, as a share of the best mean."""

MAX_DRAWN_QUERIES = 2_000_000
"""Maximum product of the number of queries and the number of draws (see `MAX_DRAWS`)."""

MAX_DRAWS = 200
"""Maximum number of times that half of the queries are drawn."""

TAU_COLUMNS = ("tau", "tau_low", "tau_high")
"""Columns of the certainty table that state how stable the order of strategies is."""

MIN_ORDERED_STRATEGIES = 3
"""Minimum number of strategies for which the stability of their order is estimated."""


def collect_verdict_facts(
    grid: Grid,
    measures: Sequence[Mapping[str, Any]],
    pairs: Sequence[Sequence[Pair]],
    tested: Tested,
) -> list[Facts]:
    """Return the facts of the verdict of each measure."""
    with_best = [each for each in zip(measures, pairs, strict=True) if each[0]["best"] != "none"]
    first_places = [
        _find_first_places(measure, pairs_of_measure) for measure, pairs_of_measure in with_best
    ]
    n_measures_with_better = sum(
        _count_directions(measure, pairs_of_measure).better > 0
        for measure, pairs_of_measure in with_best
    )
    facts = []
    for measure, pairs_of_measure in zip(measures, pairs, strict=True):
        lead_pair = _find_leading_pair(measure, pairs_of_measure, tested)
        leader = measure["order"][:1]
        n_supporting = (
            n_measures_with_better if tested.baseline is not None else first_places.count(leader)
        )
        needed = (
            None if lead_pair is None else _find_needed_queries(grid, measure, lead_pair, tested)
        )
        directions = _count_directions(measure, pairs_of_measure)
        may_be_first = _find_first_places(measure, pairs_of_measure)
        facts.append(
            Facts(
                *(measure, pairs_of_measure, tested, lead_pair, needed, directions, may_be_first),
                *(n_supporting, len(with_best)),
            )
        )
    return facts


def _find_first_places(measure: Mapping[str, Any], pairs: Sequence[Pair]) -> list[int]:
    """Return the strategies that are significantly worse than no other."""
    return find_undefeated(len(measure["means"]), pairs, measure["best"])


def _count_directions(measure: Mapping[str, Any], pairs: Sequence[Pair]) -> FindingCounts:
    """Count the pairs whose first strategy is better, worse, or neither.

    Pairs without a significant difference count as neither.
    """
    is_lower_better = measure["best"] == "lowest"
    significant = [pair for pair in pairs if pair["significant"]]
    n_better = sum(((pair["difference"] or 0) > 0) != is_lower_better for pair in significant)
    return FindingCounts(n_better, len(significant) - n_better, len(pairs) - len(significant))


def _find_leading_pair(
    measure: Mapping[str, Any], pairs: Sequence[Pair], tested: Tested
) -> Pair | None:
    """Return the pair of the leader and the strategy to compare it with.

    The leader is compared with the baseline. If there is no baseline, or if the baseline itself
    leads, the leader is compared with the second strategy. The result is None if several strategies
    or none lead, or if there is only one strategy.
    """
    if len(measure["best_strategies"]) != 1 or len(measure["order"]) == 1:
        return None
    leader, other = measure["order"][:2]
    if tested.baseline not in (None, leader):
        other = tested.baseline
    [pair] = (each for each in pairs if {leader, other} == {each["strategy"], each["baseline"]})
    return pair


def _find_needed_queries(
    grid: Grid, measure: Mapping[str, Any], pair: Pair, tested: Tested
) -> QueriesNeeded | None:
    """Return the number of queries that would show the observed difference."""
    lead_pair = Pairs(
        grid.get_results(measure["name"]), *np.array([[pair["strategy"]], [pair["baseline"]]])
    )
    needed = _compute_power(
        lead_pair, abs(pair["difference"] or 0), ALPHA / tested.n_tested_together
    )
    return None if needed is None else QueriesNeeded(needed["queries_needed"])


def build_certainty(
    grid: Grid, measures: Sequence[Mapping[str, Any]], pairs: Sequence[Sequence[Pair]]
) -> list[Certainty]:
    """Return a row of the table of certainty for each measure.

    A measure has no row if its `best` is "none", if it has no pairs or fewer than two queries, or
    if no difference varies between queries.
    """
    rows: list[Certainty] = []
    for measure, pairs_of_measure in zip(measures, pairs, strict=True):
        if measure["best"] == "none" or not pairs_of_measure or not measure["queries"]:
            continue
        results = grid.get_results(measure["name"])
        difference = DEFAULT_DIFFERENCE_SHARE * abs(measure["means"][measure["best_strategies"][0]])
        powers = _compute_power(
            Pairs(results, *find_pairs(grid.strategies)), difference or 1.0, ALPHA
        )
        if powers is None:
            continue
        smallest, needed = powers["smallest_difference"], powers["queries_needed"]
        stability = _estimate_stability(results)
        rows.append(
            {
                "measure": measure["name"],
                "queries": results.n,
                "smallest_difference": round_number(smallest),
                "difference": round_number(difference) or None,
                "queries_needed": needed if difference else None,
                "significant_pairs": sum(pair["significant"] for pair in pairs_of_measure),
                "pairs": len(pairs_of_measure),
                "tau": stability["tau"],
                "tau_low": stability["tau_low"],
                "tau_high": stability["tau_high"],
                "note": write_power(
                    measure["name"],
                    results.n,
                    smallest,
                    difference,
                    DEFAULT_DIFFERENCE_SHARE,
                    needed,
                ),
            }
        )
    return rows


def _compute_power(pairs: Pairs, difference: float, level: float) -> dict[str, Any] | None:
    """Return the row of `trust.queries_needed` for some pairs, or None.

    The result is None if `difference` is 0, if there are fewer than two queries, or if no
    difference varies between queries.
    """
    if not difference or pairs.n < 2 or not pairs.statistics.std.any():  # noqa: PLR2004
        return None
    return compute_needs(pairs, difference, POWER, level)


def _estimate_stability(results: Results) -> dict[str, float | None]:
    """Estimate how stable the order of strategies is.

    In each draw, τ correlates the order by a random half of the queries with the order by all
    queries. `tau` is the mean of τ over the draws. `tau_low` and `tau_high` are the ends of the
    central interval of τ. All values are None if there are too few strategies or queries, or too
    many queries for enough draws.
    """
    half, draws = results.n // 2, min(MAX_DRAWS, MAX_DRAWN_QUERIES // results.n)
    if half < 2 or len(results.values) < MIN_ORDERED_STRATEGIES or draws < MAX_DRAWS // 4:  # noqa: PLR2004
        return dict.fromkeys(TAU_COLUMNS)
    stability = compute_stability(results, half, draws)
    return {name: round_number(stability[name]) for name in TAU_COLUMNS}
