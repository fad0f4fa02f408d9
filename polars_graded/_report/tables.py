"""Build the tables of a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from polars_graded._report.findings import Pair
from polars_graded._drawing.chart_rows import build_name_column
from polars_graded._results.comparing import pair_values, summarise_grid
from polars_graded._results.keys import check_segment_columns
from polars_graded._results.per_query import (
    Grid,
    Results,
    check_per_query,
    find_best_places,
)
from polars_graded._results.segments import compute_interactions
from polars_graded._sentences import format_number, format_p, list_names
from polars_graded._sentences.verdicts import ALPHA, Facts

MISSING_VALUE = "–"
"""Text of a cell without a value."""


class Cell(NamedTuple):
    """A cell of a table: its text, and its classes in the style of the page."""

    text: str
    look: str = ""


class Table(NamedTuple):
    """A table; the first cell of each row is its head."""

    caption: str
    file: str
    """Name of the file in which the table is saved, without its suffix."""
    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    names_queries: bool = False
    """True if the first cell of a row is a query, whose rankings the page can show."""


def build_cell(value: float | None, *, is_best: bool = False) -> Cell:
    """Return a cell with a number of four decimals."""
    text = MISSING_VALUE if value is None else format_number(value)
    return Cell(text, "number best" if is_best else "number")


def build_count(value: float | None) -> Cell:
    """Return a cell with a count, or with a mean of counts, which has one decimal."""
    if value is None:
        return Cell(MISSING_VALUE, "number")
    return Cell(f"{value:,}" if isinstance(value, int) else f"{value:,.1f}", "number")


def build_interval(low: float | None, high: float | None) -> Cell:
    """Return a cell with an interval."""
    if low is None or high is None:
        return Cell(MISSING_VALUE, "number")
    return Cell(f"{format_number(low)} to {format_number(high)}", "number")


def build_means(
    facts: Facts,
    others: Sequence[Facts],
    names: Sequence[str],
    summary: pl.DataFrame,
    best_means: Mapping[str, Sequence[float | None]],
) -> Table:
    """Return the table of means, in the order of one measure.

    `others` are the findings about further measures, and `summary` is the table of `summarise`. If
    a measure has no best value, as a count, its means have one decimal. `best_means` has a mean per
    strategy for measures that could be higher if unjudged documents had the highest grade.
    """
    measure = facts.measure
    name = measure["name"]
    rows = summary.filter(measure=name).select("ci_low", "ci_high").rows()
    heads = ["strategy", f"mean {name}", "95 % interval"]
    if name in best_means:
        heads.append("mean if unjudged documents had the highest grade")
    heads += [f"mean {other.measure['name']}" for other in others]

    def build_row(place: int) -> list[Cell]:
        """Return the row of a strategy."""
        cells = [Cell(names[place]), _build_mean(facts, place), build_interval(*rows[place])]
        if name in best_means:
            cells.append(build_cell(best_means[name][place]))
        return cells + [_build_mean(other, place) for other in others]

    return Table(f"Means, ordered by {name}", "means", heads, [*map(build_row, measure["order"])])


def _build_mean(facts: Facts, place: int) -> Cell:
    """Return the cell of a mean."""
    measure = facts.measure
    mean, best_places = measure["means"][place], measure["best_strategies"]
    if measure["best"] == "none":
        return build_count(mean)
    is_best = place in best_places and len(measure["means"]) > 1
    return build_cell(mean, is_best=is_best)


def build_differences(facts: Facts, pairs: Sequence[Pair], names: Sequence[str]) -> Table:
    """Return the table of differences; `pairs` are rows of `compare`.

    The column of baselines is left out if all pairs have the same one, which the caption names.
    """
    baselines = {pair["baseline"] for pair in pairs}
    sides = ["strategy"] if len(baselines) == 1 else ["strategy", "baseline"]
    caption = f"Differences of {facts.measure['name']}"
    if len(baselines) == 1:
        caption += f" from {names[baselines.pop()]}"
    heads = [*sides, "difference", "95 % interval", facts.tested.p, "better in", "equal", "worse"]
    rows = []
    for pair in sorted(pairs, key=lambda pair: pair["difference"], reverse=True):
        low, high = pair["simultaneous_low"], pair["simultaneous_high"]
        if low is None:
            low, high = pair["ci_low"], pair["ci_high"]
        look = "number best" if pair["significant"] else "number"
        rows.append(
            [
                *(Cell(names[pair[side]]) for side in sides),
                Cell(format_number(pair["difference"]), look),
                build_interval(low, high),
                Cell(format_p(pair["p_corrected"]), "number"),
                *(build_count(pair[count]) for count in ("wins", "ties", "losses")),
            ]
        )
    return Table(caption, "differences", heads, rows)


def build_extremes(rows: pl.DataFrame, names: Sequence[str], measure: str, n: int) -> Table:
    """Return the queries with the largest differences in each direction, up to n.

    `rows` has `query`, `value_a`, `value_b` and `difference`, the largest difference first.
    """
    above, below = (rows.filter(sign) for sign in (pl.col("difference") > 0, pl.col("difference") < 0))
    cells = [
        [Cell(query), *map(build_cell, values)]
        for query, *values in pl.concat([above.head(n), below.tail(n)]).iter_rows()
    ]
    caption = f"Queries with the largest differences of {measure}"
    return Table(caption, "queries", ["query", *names, "difference"], cells, names_queries=True)


def list_differences(results: Results, strategies: pl.Series, a: int, b: int) -> pl.DataFrame:
    """Return the names and values of queries, the largest difference of two strategies first."""
    rows = pair_values(results, strategies, a, b)
    names = build_name_column(rows.columns[0]).alias("query")
    rows = rows.select(names, "value_a", "value_b", "difference")
    return rows.sort("difference", descending=True, maintain_order=True)


def build_segments(
    per_query: pl.DataFrame, grid: Grid, segments: Any, keys: Mapping[str, Any]
) -> dict[str, Table]:
    """Return the means of each segment by measure, without segments {}."""
    columns = check_segment_columns(segments)
    if not columns or not grid.measures:
        return {}
    strategies = grid.strategies.cast(pl.String).to_list()
    parts = check_per_query(per_query, [grid.get_directions(grid.measures)], segments, **keys)
    means = summarise_grid(parts, 1 - ALPHA)
    interactions = None if len(strategies) < 2 else compute_interactions(parts)  # noqa: PLR2004
    tables = {}
    for name in grid.measures:
        rows = []
        for segment, of_segment in means.filter(measure=name).group_by(columns, maintain_order=True):
            by_name = dict(of_segment.select(pl.col(keys["strategy"]).cast(pl.String), "mean").rows())
            values = pl.Series([by_name[strategy] for strategy in strategies], dtype=pl.Float64)
            best = find_best_places(values, grid.best[name])
            cells = [build_cell(value, is_best=i in best) for i, value in enumerate(values)]
            queries = build_count(of_segment["queries"][0])
            rows.append([Cell(", ".join(map(str, segment))), queries, *cells])
        note = "" if interactions is None else _write_interactions(interactions, name, keys)
        heads = [", ".join(columns), "queries", *strategies]
        tables[name] = Table(f"Means of {name} in segments", "segments", heads, rows, note)
    return tables


def _write_interactions(interactions: pl.DataFrame, name: str, keys: Mapping[str, Any]) -> str:
    """Name the pairs whose difference varies between segments."""
    rows = interactions.filter(pl.col("measure") == name, pl.col("p_corrected") <= ALPHA)
    pairs = rows.sort("p_corrected").select(keys["strategy"], "baseline").iter_rows()
    varying = [f"{one} \N{MINUS SIGN} {other}" for one, other in pairs]
    return (
        "Differences that vary significantly between segments: "
        f"{list_names(varying) if varying else 'none'} (Welch's analysis of variance of the "
        f"per-query differences; p at most {ALPHA:g} after Holm's correction)."
    )
