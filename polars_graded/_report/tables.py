"""Build the tables of a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from polars_graded._report.findings import find_interval
from polars_graded._sentences import format_number, format_p, format_percent
from polars_graded._sentences.verdicts import Facts


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

    `summary` is the table of `summarise`. If a measure has no best value, as a count, its means
    have one decimal.
    """
    name = facts.measure["name"]
    ends = summary.filter(measure=name).select("ci_low", "ci_high").rows()

    def build_mean(facts: Facts, place: int) -> Cell:
        """Return the cell of the mean of a strategy."""
        measure, mean = facts.measure, facts.measure["means"][place]
        if measure["best"] == "none" and mean is not None:
            return Cell(f"{mean:,.1f}", "number")
        is_best = place in measure["best_strategies"] and len(names) > 1
        return build_cell(mean, is_best=is_best)

    heads = ["strategy", f"mean {name}", "95 % interval"]
    heads += [f"mean {other.measure['name']}" for other in others]
    rows = [
        [
            Cell(names[place]),
            build_mean(facts, place),
            build_interval(*ends[place]),
            *(build_mean(other, place) for other in others),
        ]
        for place in facts.measure["order"]
    ]
    return Table(f"Means, ordered by {name}", heads, rows)


def build_differences(
    facts: Facts, pairs: Sequence[Mapping[str, Any]], names: Sequence[str]
) -> Table:
    """Return the table of differences; `pairs` are rows of `compare` with indices of strategies.

    The column of baselines is left out if all pairs have the same one, which the caption names.
    """
    baselines = {pair["baseline"] for pair in pairs}
    sides = ["strategy"] if len(baselines) == 1 else ["strategy", "baseline"]
    caption = f"Differences of {facts.measure['name']}"
    if len(baselines) == 1:
        caption += f" from {names[baselines.pop()]}"
    heads = [*sides, "difference", "95 % interval", facts.tested.p, "better in", "equal", "worse"]
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


def build_segments(means: pl.DataFrame, segments: Sequence[str], strategy: str) -> Table:
    """Return the means of one measure in each segment, from the table of `summarise`."""
    wide = means.pivot(strategy, index=[*segments, "queries"], values="mean")
    n_keys = len(segments)
    rows = [
        [
            Cell(", ".join(map(str, row[:n_keys]))),
            Cell(f"{row[n_keys]:,}", "number"),
            *map(build_cell, row[n_keys + 1 :]),
        ]
        for row in wide.iter_rows()
    ]
    heads = [", ".join(segments), *wide.columns[n_keys:]]
    return Table(f"Means of {means['measure'][0]} in segments", heads, rows)
