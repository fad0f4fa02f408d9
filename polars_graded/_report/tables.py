"""Collect what the tests found about each measure, and build the tables of a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from polars_graded._results.findings import find_undefeated, is_significant
from polars_graded._results.measure_values import check_best, find_best_indices
from polars_graded._results.results import Results
from polars_graded._sentences import format_key, format_number, format_p, format_percent
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
    best, means = check_best(name, results.best[name]), summary.filter(measure=name)
    sort_keys = means["mean"].round(12).to_numpy() * (1 if best == "lowest" else -1)
    leaders = find_best_indices(means["mean"], best)
    order = np.argsort(sort_keys, kind="stable").tolist()
    pairs: list[Pair] = []
    if comparison is not None:
        pairs = list_pairs(comparison.filter(measure=name), results.strategies)
    return Facts(
        name=name,
        title=name_measure(name),
        best=best,
        n_queries=means["queries"][0],
        means=means["mean"].to_list(),
        margins=(means["ci_high"] - means["mean"]).to_list(),
        leaders=leaders,
        order=order,
        pairs=pairs,
        tested=tested,
        lead_pair=_find_leading_pair(leaders, order, pairs, tested.baseline),
        may_be_first=find_undefeated(means.height, pairs, best),
    )


def list_pairs(comparison: pl.DataFrame, strategies: pl.Series) -> list[Pair]:
    """Return the rows of `compare` with indices of strategies, and whether each is significant."""
    indices = {name: index for index, name in enumerate(strategies.to_list())}
    significant = is_significant(MAX_P).alias("significant")
    return [
        row | {"strategy": indices[row[strategies.name]], "baseline": indices[row["baseline"]]}
        for row in comparison.with_columns(significant).iter_rows(named=True)
    ]


def find_pair(pairs: Sequence[Pair], one: int, other: int) -> Pair:
    """Return the row of two strategies, in either order."""
    [pair] = (each for each in pairs if {one, other} == {each["strategy"], each["baseline"]})
    return pair


def find_interval(pair: Pair) -> tuple[float, float] | None:
    """Return the interval of a difference, simultaneous if all intervals are; None without one."""
    for low, high in reversed(ENDS):
        if pair[low] is not None and pair[high] is not None:
            return pair[low], pair[high]
    return None


def _find_leading_pair(
    leaders: Sequence[int], order: Sequence[int], pairs: Sequence[Pair], baseline: int | None
) -> Pair | None:
    """Return the pair of the leader and the strategy to compare it with.

    The leader is compared with the baseline. If there is no baseline, or if the baseline itself
    leads, the leader is compared with the second strategy. The result is None if several strategies
    or none lead, or if there is only one strategy.
    """
    if len(leaders) != 1 or len(order) == 1:
        return None
    leader, other = order[:2]
    if baseline not in (None, leader):
        other = baseline
    return find_pair(pairs, leader, other)


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


# Tables


class Cell(NamedTuple):
    """A cell of a table: its text, and its classes in the style of the page."""

    text: str
    look: str = ""


class Table(NamedTuple):
    """A table; the first cell of each row is its head."""

    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    names_queries: bool = False
    """True if the first cell of a row is a query, whose rankings the page can show."""


def build_cell(value: float | None, *, is_best: bool = False) -> Cell:
    """Return a cell with a number of four decimals."""
    text = "–" if value is None else format_number(value)
    return Cell(text, "number best" if is_best else "number")


def build_interval(low: float | None, high: float | None) -> Cell:
    """Return a cell with an interval."""
    if low is None or high is None:
        return Cell("–", "number")
    return Cell(f"{format_number(low)} to {format_number(high)}", "number")


OVERVIEW = {
    "queries": "queries",
    "median": "documents (median)",
    "retrieved": "judged documents that are retrieved",
    "judged": "retrieved documents that are judged",
    "judged@10": "top 10 that are judged",
    "tied": "tied",
    "none_judged": "queries without a judged document",
    "none_relevant": "without a relevant one",
    "none_retrieved": "with nothing retrieved",
}
"""Columns of `overview` that are shown, and their heads."""


def build_overview(overview: pl.DataFrame) -> Table:
    """Return the table of `overview`, with shares in percent."""
    names = overview.to_series().cast(pl.String).fill_null("null")

    def build_number(value: float | None, column: str) -> Cell:
        is_share = overview.schema[column].is_float() and column != "median"
        if value is None:
            return Cell("–", "number")
        return Cell(format_percent(value, 0) if is_share else f"{value:,.10g}", "number")

    rows = [
        [Cell(name), *(build_number(row[column], column) for column in OVERVIEW)]
        for name, row in zip(names, overview.rows(named=True), strict=True)
    ]
    return Table("Ranked and judged documents", ["strategy", *OVERVIEW.values()], rows)


def build_means(
    facts: Facts, others: Sequence[Facts], names: Sequence[str], summary: pl.DataFrame
) -> Table:
    """Return the means of one measure, in its order, and of other measures.

    `summary` is the table of `summarise`.
    """
    name = facts.name
    ends = summary.filter(measure=name).select("ci_low", "ci_high").rows()

    def build_mean(facts: Facts, index: int) -> Cell:
        """Return the cell of the mean of a strategy."""
        return build_cell(facts.means[index], is_best=index in facts.leaders and len(names) > 1)

    heads = ["strategy", f"mean {name}", "95 % interval"]
    heads += [f"mean {other.name}" for other in others]
    rows = [
        [
            Cell(names[index]),
            build_mean(facts, index),
            build_interval(*ends[index]),
            *(build_mean(other, index) for other in others),
        ]
        for index in facts.order
    ]
    return Table(f"Means, ordered by {name}", heads, rows)


def build_differences(facts: Facts, pairs: Sequence[Pair], names: Sequence[str]) -> Table:
    """Return the table of differences; `pairs` are rows of `compare` with indices of strategies.

    The column of baselines is left out if all pairs have the same one, which the caption names.
    """
    baselines = {pair["baseline"] for pair in pairs}
    sides = ["strategy"] if len(baselines) == 1 else ["strategy", "baseline"]
    caption = f"Differences of {facts.name}"
    if len(baselines) == 1:
        caption += f" from {names[baselines.pop()]}"
    heads = [*sides, "difference", "95 % interval", facts.tested.p_name]
    heads += ["better in", "equal", "worse"]
    rows = [
        [
            *(Cell(names[pair[side]]) for side in sides),
            build_cell(pair["difference"], is_best=pair["significant"]),
            build_interval(*(find_interval(pair) or (None, None))),
            Cell(format_p(pair["p_corrected"]), "number"),
            *(Cell(f"{pair[count]:,}", "number") for count in ("wins", "ties", "losses")),
        ]
        for pair in sorted(pairs, key=lambda pair: pair["difference"], reverse=True)
    ]
    return Table(caption, heads, rows)


def build_extremes(
    rows: pl.DataFrame, names: Sequence[str], measure: str, *, is_weighted: bool, n: int = 5
) -> Table:
    """Return the queries with the largest differences in each direction, up to n.

    `rows` has `query`, `value_a`, `value_b` and `difference`, the largest difference first. If the
    results are weighted, the caption states that these differences are not.
    """
    above, below = rows.filter(pl.col("difference") > 0), rows.filter(pl.col("difference") < 0)
    cells = [
        [Cell(query), *map(build_cell, values)]
        for query, *values in pl.concat([above.head(n), below.tail(n)]).iter_rows()
    ]
    caption = f"Queries with the largest differences of {measure}"
    caption += ", without weights" if is_weighted else ""
    return Table(caption, ["query", *names, "difference"], cells, names_queries=True)


def build_segments(means: pl.DataFrame, segments: Sequence[str]) -> Table:
    """Return the means of one measure in each segment, from the table of `summarise`."""
    wide = means.pivot("strategy", index=[*segments, "queries"], values="mean")
    n_keys = len(segments)
    rows = [
        [
            Cell(", ".join(map(format_key, row[:n_keys]))),
            Cell(f"{row[n_keys]:,}", "number"),
            *map(build_cell, row[n_keys + 1 :]),
        ]
        for row in wide.iter_rows()
    ]
    heads = [", ".join(segments), *wide.columns[n_keys:]]
    return Table(f"Means of {means['measure'][0]} in segments", heads, rows)
