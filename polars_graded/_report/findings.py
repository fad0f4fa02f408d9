"""Collect what the tests found about each measure, for the sentences of a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from polars_graded._results.findings import find_undefeated, is_significant
from polars_graded._results.pairs import Pairs, find_pairs
from polars_graded._results.per_query import Grid, find_best_places
from polars_graded._results.power import compute_needs
from polars_graded._sentences.titles import name_measure
from polars_graded._sentences.verdicts import (
    ALPHA,
    POWER,
    Facts,
    FindingCounts,
    QueriesNeeded,
    Tested,
    write_power,
)

DIFFERENCE_SHARE = 0.05
"""Difference for which the number of needed queries is computed, as a share of the best mean."""

Pair = Mapping[str, Any]
"""A row of `compare`, in which `strategy` and `baseline` are indices of strategies."""


def collect_facts(
    grid: Grid, summary: pl.DataFrame, comparison: pl.DataFrame | None, tested: Tested
) -> list[Facts]:
    """Return the findings about each measure of a grid.

    `summary` and `comparison` are the tables of `summarise` and `compare` for the grid.
    `comparison` is None if there are no pairs.
    """
    measures = [
        _describe_means(name, best, summary.filter(measure=name))
        for name, best in grid.get_directions(grid.measures).items()
    ]
    pairs = [_list_pairs(grid, name, comparison) for name in grid.measures]
    with_best = [each for each in zip(measures, pairs, strict=True) if each[0]["best"] != "none"]
    first_places = [_find_first_places(*each) for each in with_best]
    n_with_better = sum(_count_directions(*each).better > 0 for each in with_best)
    facts = []
    for measure, pairs_of_measure in zip(measures, pairs, strict=True):
        lead_pair = _find_leading_pair(measure, pairs_of_measure, tested)
        is_undecided = lead_pair is not None and not lead_pair["significant"]
        facts.append(
            Facts(
                measure,
                pairs_of_measure,
                tested,
                lead_pair,
                _find_needed_queries(grid, measure, lead_pair, tested) if is_undecided else None,
                _count_directions(measure, pairs_of_measure),
                _find_first_places(measure, pairs_of_measure),
                first_places.count(measure["order"][:1])
                if tested.baseline is None
                else n_with_better,
                len(with_best),
            )
        )
    return facts


def _describe_means(name: str, best: str, rows: pl.DataFrame) -> dict[str, Any]:
    """Return the means of a measure as `Facts` has them."""
    sort_keys = rows["mean"].round(12).to_numpy() * (1 if best == "lowest" else -1)
    return {
        "name": name,
        "title": name_measure(name),
        "best": best,
        "queries": rows["queries"][0],
        "means": rows["mean"].to_list(),
        "margins": (rows["ci_high"] - rows["mean"]).to_list(),
        "best_strategies": find_best_places(rows["mean"], best),  # type: ignore[arg-type]
        "order": np.argsort(sort_keys, kind="stable").tolist(),
    }


def _list_pairs(grid: Grid, measure: str, comparison: pl.DataFrame | None) -> list[Pair]:
    """Return the pairs of a measure, with indices of strategies."""
    if comparison is None:
        return []
    places = {name: place for place, name in enumerate(grid.strategies.to_list())}
    strategy, significant = grid.strategies.name, is_significant(comparison.columns, ALPHA)
    rows = comparison.filter(measure=measure).with_columns(significant.alias("significant"))
    return [
        row | {"strategy": places[row[strategy]], "baseline": places[row["baseline"]]}
        for row in rows.iter_rows(named=True)
    ]


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
    both = Pairs(
        grid.get_results(measure["name"]), *np.array([[pair["strategy"]], [pair["baseline"]]])
    )
    needed = _compute_power(both, abs(pair["difference"] or 0), ALPHA / tested.n_tested_together)
    return None if needed is None else QueriesNeeded(needed["queries_needed"])


def describe_power(grid: Grid, facts: Facts) -> str:
    """State the smallest difference in a measure that the queries can show.

    The text is "" if the measure has no best value, no pairs, fewer than two queries, or values
    that do not vary between queries.
    """
    measure = facts.measure
    if measure["best"] == "none" or not facts.pairs or not measure["queries"]:
        return ""
    results = grid.get_results(measure["name"])
    difference = DIFFERENCE_SHARE * abs(measure["means"][measure["best_strategies"][0]])
    powers = _compute_power(Pairs(results, *find_pairs(grid.strategies)), difference or 1.0, ALPHA)
    if powers is None:
        return ""
    smallest, needed = powers["smallest_difference"], powers["queries_needed"]
    return write_power(
        measure["title"], results.n, smallest, difference, DIFFERENCE_SHARE, needed
    )


def _compute_power(pairs: Pairs, difference: float, level: float) -> dict[str, Any] | None:
    """Return the row of `trust.queries_needed` for some pairs, or None.

    The result is None if `difference` is 0, if there are fewer than two queries, or if no
    difference varies between queries.
    """
    if not difference or pairs.n < 2 or not pairs.statistics.std.any():  # noqa: PLR2004
        return None
    return compute_needs(pairs, difference, POWER, level)
