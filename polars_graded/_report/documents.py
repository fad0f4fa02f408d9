"""Build the overview and the documents of the page from the evaluated frame."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from polars_graded._checks import check_comparable, check_frame
from polars_graded._drawing.chart_rows import join_query_columns
from polars_graded._drawing.curve_rows import choose_equal_steps
from polars_graded._frames.contributions import RANK, rank_rows_of_strategies
from polars_graded._frames.directions import name_columns
from polars_graded._frames.overview import overview
from polars_graded._frames.request import Request, parse_by, selects_columns
from polars_graded._measuring.names import Measure
from polars_graded._report.packing import format_cell, round_number, round_numbers
from polars_graded._report.payload import Overview, PageRankings
from polars_graded._results.per_query import Grid
from polars_graded._results.regrading import unjudged_bounds
from polars_graded._sentences import capitalise, format_count
from polars_graded._sentences.titles import MANY_TIED, title_gaps, write_many_ties

MAX_SHOWN_RANKS = 10
"""Maximum number of documents of a ranking that are shown."""

MAX_DOCUMENT_NAME_LETTERS = 160
"""Maximum number of letters of a document's name or title."""

MAX_SHOWN_DOCUMENTS = 300_000
"""Maximum number of documents that are shown, over all strategies and queries."""

MAX_REGRADED_ROWS = 20_000_000
"""Maximum size of a frame in `compute_unjudged_means`.

The size is the number of rows times the number of scores in `by`.
"""

MAX_DOCUMENT_LETTERS = 3_000_000
"""Maximum number of letters in the JSON of all shown documents."""

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

DOCUMENT_COLUMNS = {"doc": "document", "titles": "title"}
"""Titles of columns in the table of documents.

Each key is an argument of `report` that names a column of the frame. Its value is the title of this
column in the page.
"""

UNBROKEN_TIES = "the order of rows decides"
"""Description of the order of tied documents if no column breaks the ties."""


@dataclass(frozen=True)
class RankedFrame:
    """The evaluated frame, after checks, and the roles of its columns."""

    frame: pl.DataFrame
    options: dict[str, Any]
    """The keywords of `evaluate` from which the request was built."""
    request: Request
    shown: dict[str, str]
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

    def build_overview(self) -> Overview:
        """Return the table of `overview` with a note on rows, ties and gaps."""
        table = self.table
        key, *columns = table.columns
        strategy = pl.col(key).cast(pl.String).fill_null("null").alias("strategy")
        gaps = title_gaps(table.select(strategy, *columns).rows(named=True))
        rows = table.with_columns(pl.col(key).cast(pl.String)).iter_rows()
        return {
            "note": f"{format_count(self.frame.height, 'rows')} of documents. {gaps}.",
            "columns": [OVERVIEW_COLUMNS[name] for name in columns],
            "mostTies": MANY_TIED,
            "rows": [[*map(format_cell, row)] for row in rows],
        }

    def warn_of_ties(self) -> str:
        """Return a warning about strategies with more than half of scores tied.

        Without such a strategy, the result is "".
        """
        names = self.table.to_series().cast(pl.String).fill_null("null")
        ties = write_many_ties(dict(zip(names, self.table["tied"], strict=True)))
        return f"{capitalise(ties)}: the order of ties decides the means." if ties else ""

    def compute_unjudged_means(
        self, grid: Grid, names: Sequence[str]
    ) -> dict[str, list[list[float | None]]]:
        """Return two means per measure and strategy.

        The first mean counts unjudged documents as irrelevant. The second mean gives unjudged
        documents the best grade. The result maps each measure to a list with one pair of means per
        strategy. Queries without a value for some strategy are left out of the means.

        A measure is left out

        - if giving unjudged documents the best grade leaves all of its values unchanged;
        - if its formula is unknown, or needs further columns of documents;
        - if its values in `grid` differ from those of the frame, for example because `grid` was
          evaluated with other keywords.

        The result is empty if all retrieved documents are judged, if the frame is too large, or if
        unjudged documents are dropped.
        """
        formulas = {name: grid.formulas.get(name, name) for name in names}
        parsed = {name: Measure.parsed(formula) for name, formula in formulas.items()}
        measures = {
            name: formulas[name]
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
        texts = pl.nth(0, 1).cast(pl.String)
        keys, bounds = grid.frame.select(texts), bounds.with_columns(pl.nth(1, 2).cast(pl.String))
        by_measure = {}
        for name in measures:
            bounds_of_measure = bounds.filter(measure=name).drop("measure")
            rows = keys.join(
                bounds_of_measure,
                on=keys.columns,
                how="left",
                nulls_equal=True,
                maintain_order="left",
            )
            values = grid.get_values(name)
            is_complete = np.isfinite(values).all(axis=0)
            columns = rows.select("value", "value_if_best").to_numpy().reshape(*grid.shape, 2)
            columns = columns[:, is_complete]
            has_moved = np.nanmax(np.ptp(columns, axis=2), initial=0) > 1e-12  # noqa: PLR2004
            if has_moved and np.allclose(columns[:, :, 0], values[:, is_complete], 1e-9, 1e-12):
                by_measure[name] = [round_numbers(each) for each in columns.mean(axis=1)]
        return by_measure

    def build_rankings(
        self, strategies: Sequence[str], queries: pl.Series, size: int
    ) -> PageRankings | None:
        """Return the first documents of each strategy and query.

        Return None if the argument `doc` was None.

        Each shown query has an entry. In an entry, "documents" lists the shown documents of all
        strategies, each once, with titles and grades. "ranked" has an item per strategy: a list of
        indices in "documents", in rank order. The item is None if the strategy retrieved no
        document. If no strategy retrieved a document, the entry is `EMPTY_ENTRY`.

        With too many documents, or with more than `size` letters in all entries, only some queries
        are shown. These queries are evenly spaced.
        """
        if "doc" not in self.shown:
            return None
        n_queries = MAX_SHOWN_DOCUMENTS // (MAX_SHOWN_RANKS * len(strategies))
        inspected = choose_equal_steps(len(queries), max(2, n_queries)).to_list()
        texts = queries.cast(pl.String).gather(inspected)
        found_entries = self._find_entries(strategies, texts)
        if not any(found_entries.values()):
            msg = (
                "`frame` must have the strategies and queries of `per_query`, got none of "
                f"{', '.join(map(repr, strategies[:3]))} for {texts.to_list()[:3]}"
            )
            raise ValueError(msg)
        entries = [found_entries.get(text, EMPTY_ENTRY) for text in texts]
        sizes = pl.Series([len(json.dumps(entry, ensure_ascii=False)) for entry in entries])
        kept, allowed = len(entries), max(0, min(size, MAX_DOCUMENT_LETTERS))
        while sizes[kept_entries := choose_equal_steps(len(entries), kept)].sum() > allowed:
            kept = int(kept * 0.9)
        return {
            "ranks": MAX_SHOWN_RANKS,
            "columns": [*(DOCUMENT_COLUMNS[argument] for argument in self.shown), "grade"],
            "inspected": [inspected[index] for index in kept_entries],
            "entries": [entries[index] for index in kept_entries],
        }

    def _find_entries(
        self, strategies: Sequence[str], texts: pl.Series
    ) -> dict[str | None, dict[str, Any]]:
        """Return a mapping from the text of a query to its entry.

        A query has no entry if no strategy retrieved a document for this query.
        """
        [query] = self.request.query
        text = pl.col(query).cast(pl.String)
        rows = self.frame.filter(text.is_in(texts.implode(), nulls_equal=True))
        grade = pl.col(self.request.grade).cast(pl.Float64)
        entries: dict[str | None, dict[str, Any]] = {}
        for strategy, ranked in rank_rows_of_strategies(self.request, rows):
            if strategy not in strategies:
                continue
            strategy_index = strategies.index(strategy)
            first_rows = ranked.filter(pl.col(RANK) <= MAX_SHOWN_RANKS).select(
                text=text, **self.shown, last=grade
            )
            for query_text, *names, value in first_rows.iter_rows():
                empty_entry = {"documents": {}, "ranked": [None] * len(strategies)}
                entry = entries.setdefault(query_text, empty_entry)
                document_numbers, document = (
                    entry["documents"],
                    (*map(_shorten_text, names), round_number(value)),
                )
                ranked_documents = entry["ranked"][strategy_index] = (
                    entry["ranked"][strategy_index] or []
                )
                ranked_documents.append(
                    document_numbers.setdefault(document, len(document_numbers))
                )
        for entry in entries.values():
            entry["documents"] = list(entry["documents"])
        return entries


EMPTY_ENTRY: dict[str, Any] = {"documents": [], "ranked": []}
"""The entry of a query for which no strategy of the page retrieved a document."""


def _shorten_text(value: Any) -> str | None:
    """Return a name or title as text, shortened to `MAX_DOCUMENT_NAME_LETTERS`."""
    text = "null" if value is None else str(value)
    return (
        text
        if len(text) <= MAX_DOCUMENT_NAME_LETTERS
        else f"{text[: MAX_DOCUMENT_NAME_LETTERS - 1]}…"
    )
