"""Build the overview, similarities and rankings of a page from the evaluated frame."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from polars_graded._checks import check_comparable, check_frame
from polars_graded._drawing.chart_rows import build_name_column, format_names, join_query_columns
from polars_graded._frames.contributions import check_sum
from polars_graded._frames.directions import name_columns
from polars_graded._frames.list_pairs import similarity
from polars_graded._frames.overview import overview
from polars_graded._frames.request import Request, parse_by, selects_columns
from polars_graded._measuring.names import Measure
from polars_graded._report.drawing import Charts, Figure
from polars_graded._report.tables import MISSING_VALUE, Cell, Table, build_cell, build_count
from polars_graded._results.per_query import Grid
from polars_graded._results.regrading import unjudged_bounds
from polars_graded._sentences import capitalise, format_count, format_percent
from polars_graded._sentences.titles import MANY_TIED, title_gaps, write_many_ties
from polars_graded.charts import rankings

MAX_SHOWN_RANKS = 10
"""Maximum number of documents of a ranking that are shown."""

MAX_SHOWN_RANKINGS = 4
"""Maximum number of rankings side by side."""

MAX_REGRADED_ROWS = 20_000_000
"""Maximum size of a frame in `compute_best_means`.

The size is the number of rows times the number of scores in `by`.
"""

MAX_COMPARED_ROWS = 50_000_000
"""Maximum of (number of rows) × (number of scores in `by`) × (number of strategies) for which
similarities are computed."""

MAX_PAIRED_STRATEGIES = 10
"""Maximum number of strategies for which the similarity of every pair is shown."""

RANKING_OPTIONS = ("query", "by", "descending", "strategy")
"""Keywords of `evaluate` that define the rankings. `ties` is not among them, so that documents with
equal scores remain tied."""

SIMILARITY_NOTE = (
    "Means over {queries}. Overlap is the share of the first ten documents that both strategies "
    "have. Rank-biased overlap compares whole rankings, and the top ranks count most (p = 0.9). Both "
    "are 1 for equal rankings and 0 without a common document, and use no grades. The rankings that "
    "differ most come first."
)

OVERVIEW_COLUMNS = {
    "queries": ("queries", "count"),
    "least": ("fewest retrieved per query", "count"),
    "median": ("median retrieved per query", "count"),
    "most": ("most retrieved per query", "count"),
    "retrieved": ("judged documents that were retrieved", "share"),
    "judged": ("retrieved documents that are judged", "share"),
    "judged@10": ("first ten documents that are judged", "share"),
    "tied": ("retrieved documents with the score of another", "ties"),
    "none_judged": ("queries with nothing judged", "count"),
    "none_relevant": ("queries with nothing relevant", "count"),
    "only_relevant": ("queries with only relevant documents", "count"),
    "duplicates": ("rows that repeat a document", "count"),
    "none_retrieved": ("queries with nothing retrieved", "count"),
    "grades": ("rows of each grade", "grades"),
}
"""Titles of the columns of `overview` in the page, and the formats of their values."""

UNBROKEN_TIES = "the order of rows decides"
"""Description of the order of tied documents if no column breaks the ties."""


@dataclass(frozen=True)
class RankedFrame:
    """The evaluated frame, after checks, and the roles of its columns."""

    frame: pl.DataFrame
    options: dict[str, Any]
    """The keywords of `evaluate` from which the request was built."""
    request: Request
    columns: dict[str, str]
    """The arguments `doc` and `titles`, mapped to column names. An argument of None is left out."""

    @classmethod
    def of(
        cls, frame: Any, doc: str | None, titles: str | None, *, strategy: str, **options: Any
    ) -> RankedFrame:
        """Check the frame and return it with the roles of its columns.

        With a single score in `by`, the strategies are the values in the column `strategy`, if the
        frame has this column. In all other cases, the strategies are the scores in `by`.
        """
        frame = check_frame("frame", frame)
        by = options.get("by", "score")
        has_one_score = not selects_columns(by) and len(parse_by(by)) == 1
        if has_one_score and strategy in frame.collect_schema():
            options["strategy"] = strategy
        request = Request.of(["n_relevant"], **options)
        columns_passed = {"doc": doc, "titles": titles}
        columns = {argument: name for argument, name in columns_passed.items() if name is not None}
        request, opened = request.open_frame(frame, **columns)
        check_comparable(columns.values(), opened.collect_schema())
        used = dict.fromkeys([*request.input_columns, *columns.values()])
        rows, keywords = name_columns(request, opened.lazy().select(*used).collect())
        rows, query = join_query_columns("frame", rows, request.query, strategy)
        options |= {**keywords, "query": query}
        return cls(rows, options, replace(request, query=(query,), computed={}), columns)

    @cached_property
    def table(self) -> pl.DataFrame:
        """Return the table of `overview`.

        Documents with equal scores count as tied, even if a column in `ties` breaks their ties.
        """
        table = overview(self.frame, **self.options)
        if not self.request.ties:
            return table
        return table.with_columns(overview(self.frame, **self.options | {"ties": None})["tied"])

    @property
    def settings(self) -> dict[str, str]:
        """Return the settings of the evaluation as texts, by their names.

        The order of ties is always included. Other settings are included if they differ from their
        defaults.
        """
        ties, ranking = self.request.ties, self.request.unsorted_ranking
        tie_order = UNBROKEN_TIES
        if self.request.tie_column is not None:
            tie_order = f"broken by {self.request.tie_column}, the highest first"
        low, high, lowest_relevant = ranking.irrelevant, ranking.max_grade, ranking.relevant_from
        undefined = self.options.get("undefined_as", "default")
        omission = "are left out" if undefined is None else ""
        settings = {
            "Ties": f"broken by {', '.join(ties)}, the highest first" if ties else tie_order,
            "Irrelevant": low and f"grades up to {low:g}",
            "Relevant": lowest_relevant is not None and f"grades from {lowest_relevant:g} on",
            "Highest grade": high is not None and f"{high:g}",
            "Unjudged documents": ranking.condensed and "dropped from the rankings",
            "Queries without a relevant document": omission
            or (undefined != "default" and f"count as {undefined:g}"),
        }
        return {name: text for name, text in settings.items() if text}

    def build_overview(self) -> Table:
        """Return the table of `overview` with a note on rows, ties and gaps."""
        key, *columns = self.table.columns
        names = pl.col(key).cast(pl.String).fill_null("null")
        gaps = title_gaps(self.table.select(names.alias("strategy"), *columns).rows(named=True))
        formats = [OVERVIEW_COLUMNS[name][1] for name in columns]
        rows = [
            [Cell(name), *map(_format_overview, formats, values)]
            for name, *values in self.table.with_columns(names).iter_rows()
        ]
        heads = ["strategy", *(OVERVIEW_COLUMNS[name][0] for name in columns)]
        note = f"{format_count(self.frame.height, 'rows')} of documents. {gaps}."
        return Table("Ranked and judged documents", "overview", heads, rows, note)

    def warn_of_ties(self) -> str:
        """Return a warning about strategies with more than half of scores tied.

        Without such a strategy, the result is "".
        """
        names = self.table.to_series().cast(pl.String).fill_null("null")
        ties = write_many_ties(dict(zip(names, self.table["tied"], strict=True)))
        return f"{capitalise(ties)}: the order of ties decides the means. " if ties else ""

    def compute_best_means(self, grid: Grid) -> dict[str, list[float | None]]:
        """Return the means if all unjudged documents had the highest grade.

        The result maps a measure to a mean per strategy, over the queries with a value for every
        strategy. A measure is left out

        - if the highest grade leaves all of its values unchanged;
        - if its formula is unknown, or needs further columns of documents;
        - if its values in `grid` differ from those of the frame, for example because `grid` was
          evaluated with other keywords.

        The result is empty if all retrieved documents are judged, if the frame is too large, or if
        unjudged documents are dropped.
        """
        parsed = {name: Measure.parsed(grid.formulas.get(name, name)) for name in grid.measures}
        measures = {
            name: grid.formulas.get(name, name)
            for name, measure in parsed.items()
            if measure and not measure.definition.inputs
        }
        is_large = self.frame.height * len(self.request.by) > MAX_REGRADED_ROWS
        is_judged = (self.table["judged"].fill_null(1) == 1).all()
        if not measures or is_large or is_judged or self.request.unsorted_ranking.condensed:
            return {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the evaluation has already warned
            bounds = unjudged_bounds(self.frame, measures, **self.options)
        keys = grid.frame.select(pl.nth(0, 1).cast(pl.String))
        names = dict(zip(bounds.columns[1:3], keys.columns, strict=True))
        bounds = bounds.rename(names).with_columns(pl.col(keys.columns).cast(pl.String))
        options: dict[str, Any] = {"on": keys.columns, "nulls_equal": True}
        means = {}
        for name in measures:
            rows = keys.join(
                bounds.filter(measure=name), how="left", maintain_order="left", **options
            )
            given, best = (
                rows[column].to_numpy().reshape(grid.shape) for column in ("value", "value_if_best")
            )
            values = grid.get_values(name)
            used = np.isfinite(values).all(axis=0)
            if not used.any() or not np.allclose(given[:, used], values[:, used], 1e-9, 1e-12):
                continue
            if not np.allclose(best[:, used], given[:, used], 0, 1e-12):
                means[name] = best[:, used].mean(axis=1).tolist()
        return means

    def build_similarity(self, names: Sequence[str], baseline: str) -> Table | None:
        """Return the mean similarities of the rankings of each pair of strategies.

        With more than `MAX_PAIRED_STRATEGIES` strategies, each is compared with `baseline`. The
        result is None if the frame has fewer than two of the strategies, if it has a column of
        strategies but no column of documents, or if it is too large.
        """
        doc, frame = self.request.document or self.columns.get("doc"), self.frame
        shared = self.find_strategies(names)
        strategy = self.request.strategy
        has_many = len(shared) > MAX_PAIRED_STRATEGIES
        n_rows = frame.height * len(self.request.by) * (1 if has_many else len(shared))
        is_unknown = (strategy is not None and doc is None) or (has_many and baseline not in shared)
        if len(shared) < 2 or is_unknown or n_rows > MAX_COMPARED_ROWS:  # noqa: PLR2004
            return None
        if strategy is not None:
            frame = frame.with_columns(pl.col(strategy).cast(pl.String).fill_null("null"))
        options = {name: self.options[name] for name in RANKING_OPTIONS if name in self.options}
        options |= {"doc": doc, "baseline": baseline if has_many else None, "progress": False}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the evaluation has already warned
            values = similarity(frame, {"overlap": "overlap@10", "rbo": "rbo"}, **options)
        values = values.filter(*(pl.col(side).is_in(shared) for side in "ab"))
        means = values.group_by("a", "b", maintain_order=True).agg(pl.col("overlap", "rbo").mean())
        rows = [
            [Cell(a), Cell(b), *map(build_cell, pair)]
            for a, b, *pair in means.sort("rbo", nulls_last=True).iter_rows()
        ]
        queries = format_count(values[self.request.query[0]].n_unique(), "queries")
        heads = ["strategy", "and", "overlap@10", "rank-biased overlap"]
        note = SIMILARITY_NOTE.format(queries=queries)
        return Table("Similarity of the rankings", "similarity", heads, rows, note)

    def find_strategies(self, names: Sequence[str]) -> list[str]:
        """Return those of the strategies that the frame ranks."""
        strategy = self.request.strategy
        if strategy is None:
            return [name for name in names if name in self.request.by]
        available = {*self.frame[strategy].cast(pl.String).fill_null("null")}
        return [name for name in names if name in available]

    def draw_rankings(
        self, charts: Charts, queries: Sequence[str], names: Sequence[str], grid: Grid
    ) -> dict[str, Figure]:
        """Draw the rankings of queries, and return their figures.

        The first `MAX_SHOWN_RANKINGS` of the strategies in `names` are drawn, with what each
        document adds to the first measure that is a sum over ranks. Without a column of
        documents, nothing is drawn.
        """
        if "doc" not in self.columns:
            return {}
        [query], strategy = self.request.query, self.request.strategy
        shown = self.find_strategies(names)[:MAX_SHOWN_RANKINGS]
        is_drawn = pl.col(query).is_not_null() & build_name_column(query).is_in(queries)
        rows = self.frame.filter(is_drawn)
        if not shown or rows.is_empty():
            first = ", ".join(map(repr, names[:3]))
            msg = (
                "`frame` must have the strategies and queries of `per_query`, got none of "
                f"{first} for {[*queries[:3]]}"
            )
            raise ValueError(msg)
        options = dict(self.options)
        if strategy is None:
            options["by"] = {name: options["by"][name] for name in shown}
            options["descending"] = {name: options["descending"][name] for name in shown}
        else:
            rows = rows.filter(pl.col(strategy).cast(pl.String).fill_null("null").is_in(shown))
        options |= {"n": MAX_SHOWN_RANKS, "doc": self.columns["doc"]}
        options |= {"title": self.columns.get("titles"), "measure": _find_sum(grid)}
        by_query = rows.partition_by(query, as_dict=True)
        found = {name: value for (value,) in by_query for name in format_names([value])}

        def draw(name: str) -> Figure:
            """Draw the rankings of the query with a name."""
            value = found[name]
            return charts.draw(lambda: rankings(by_query[value,], value, **options), fill=False)

        return {name: draw(name) for name in queries if name in found}


def _find_sum(grid: Grid) -> str | None:
    """Return the first measure to which each document adds an amount."""
    for name in grid.measures:
        try:
            return check_sum(grid.formulas.get(name, name)).name
        except ValueError:
            continue
    return None


def _format_overview(kind: str, value: Any) -> Cell:
    """Return a cell of the overview; `kind` is its format in `OVERVIEW_COLUMNS`."""
    if value is None:
        return Cell(MISSING_VALUE, "number")
    if kind == "count":
        return build_count(value)
    if kind == "grades":
        counts = ((row["grade"], row["rows"]) for row in value)
        grades = [f"{'unjudged' if grade is None else f'{grade:g}'}: {n:,}" for grade, n in counts]
        return Cell("; ".join(grades), "wide")
    is_alarming = kind == "ties" and value > MANY_TIED
    return Cell(format_percent(value), "number alarm" if is_alarming else "number")
