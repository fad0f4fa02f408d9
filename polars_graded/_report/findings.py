"""Collect what the tests found about each measure, for the sentences of a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from polars_graded._results.measure_values import check_best, find_best_places
from polars_graded._results.results import Results
from polars_graded._results.significance import find_undefeated, is_significant
from polars_graded._sentences.titles import name_measure
from polars_graded._sentences.verdicts import MAX_P, Facts, Tested

Pair = Mapping[str, Any]
"""A row of `compare`, in which `strategy` and `baseline` are indices of strategies."""

EXCHANGED = (
    *(("strategy", "baseline"), ("mean", "baseline_mean"), ("wins", "losses")),
    ("probability_better", "probability_worse"),
)
"""Pairs of columns with the same meaning. The first column of a pair is about the strategy, and the
second is about the baseline."""

ENDS = (("ci_low", "ci_high"), ("simultaneous_low", "simultaneous_high"))
"""Pairs of columns with the ends of intervals."""


def collect_facts(
    results: Results,
    name: str,
    summary: pl.DataFrame,
    comparison: pl.DataFrame | None,
    tested: Tested,
) -> Facts:
    """Return the findings about a measure.

    `summary` and `comparison` are the tables of `summarise` and `compare` for the results.
    `comparison` is None if there are no pairs.
    """
    best, rows = check_best(name, results.best[name]), summary.filter(measure=name)
    sort_keys = rows["mean"].round(12).to_numpy() * (1 if best == "lowest" else -1)
    measure = {
        "name": name,
        "title": name_measure(name),
        "best": best,
        "queries": rows["queries"][0],
        "means": rows["mean"].to_list(),
        "margins": (rows["ci_high"] - rows["mean"]).to_list(),
        "best_strategies": find_best_places(rows["mean"], best),
        "order": np.argsort(sort_keys, kind="stable").tolist(),
    }
    pairs: list[Pair] = []
    if comparison is not None:
        pairs = list_pairs(comparison.filter(measure=name), results.strategies)
    lead_pair = _find_leading_pair(measure, pairs, tested)
    may_be_first = find_undefeated(rows.height, pairs, best)
    return Facts(measure, pairs, tested, lead_pair, may_be_first)


def list_pairs(comparison: pl.DataFrame, strategies: pl.Series) -> list[Pair]:
    """Return the rows of `compare` with indices of strategies, and whether each is significant."""
    places = {name: place for place, name in enumerate(strategies.to_list())}
    significant = is_significant(MAX_P).alias("significant")
    return [
        row | {"strategy": places[row[strategies.name]], "baseline": places[row["baseline"]]}
        for row in comparison.with_columns(significant).iter_rows(named=True)
    ]


def find_interval(pair: Pair) -> tuple[float, float] | None:
    """Return the interval of a difference, simultaneous if all intervals are; None without one."""
    for low, high in reversed(ENDS):
        if pair[low] is not None and pair[high] is not None:
            return pair[low], pair[high]
    return None


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


def compare_all_with(pairs: pl.DataFrame, strategy: str) -> pl.DataFrame:
    """Return the pairs of one strategy, which becomes the baseline of each."""
    is_first = pl.col("strategy") == strategy
    pairs = pairs.filter(is_first | (pl.col("baseline") == strategy))
    changed = {name: -pl.col(name) for name in ("difference", "d_z")}
    ratio = -pl.col("difference") / pl.col("mean")
    changed["relative_difference"] = pl.when(pl.col("mean") != 0).then(ratio)
    for one, other in ENDS:
        changed |= {one: -pl.col(other), other: -pl.col(one)}
    for one, other in EXCHANGED:
        changed |= {one: pl.col(other), other: pl.col(one)}
    return pairs.with_columns(
        pl.when(is_first).then(value).otherwise(name).alias(name)
        for name, value in changed.items()
        if name in pairs.columns
    )
