"""Draw the overview, similarities and rankings of the evaluated frame for a page."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import polars as pl

from polars_graded import charts
from polars_graded._checks import check_comparable, check_frame
from polars_graded._drawing.chart_rows import format_names, join_query_columns
from polars_graded._frames.arguments import parse_by, selects_columns
from polars_graded._frames.contributions import check_sum
from polars_graded._frames.directions import name_columns
from polars_graded._frames.overview import overview
from polars_graded._frames.request import Request
from polars_graded._frames.similarities import similarity
from polars_graded._measuring.document_columns import DEFAULT_DOC
from polars_graded._report.drawing import Charts, Figure
from polars_graded._results.grid import Grid
from polars_graded._sentences import capitalise
from polars_graded._sentences.titles import write_many_ties
from polars_graded.charts._rankings import describe_rankings, draw_rankings

MAX_SHOWN_RANKS = 10
"""Maximum number of documents of a ranking that are shown."""

MAX_SHOWN_RANKINGS = 4
"""Maximum number of rankings side by side."""

MAX_COMPARED_ROWS = 50_000_000
"""Maximum of (number of rows) × (number of scores in `by`) × (number of strategies) for which
similarities are computed."""

RANKING_OPTIONS = ("query", "by", "descending", "strategy")
"""Keywords of `evaluate` that define the rankings. `ties` is not among them, so that documents with
equal scores remain tied."""


class Rankings(NamedTuple):
    """The rankings of several queries in one figure, which shows one query at a time."""

    figure: Figure
    words: dict[str, tuple[str, str]]
    """The title and the description of the rankings of each query."""


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
        columns = {} if titles is None else {"titles": titles}
        request, opened = request.open_frame(frame, **columns)
        if doc is not None and not (doc == DEFAULT_DOC and request.document is None):
            columns["doc"] = request.choose_document(doc, opened.collect_schema())
        check_comparable(columns.values(), opened.collect_schema())
        used = dict.fromkeys([*request.input_columns, *columns.values()])
        rows, keywords = name_columns(request, opened.lazy().select(*used).collect())
        rows, query = join_query_columns("frame", rows, request.query, strategy)
        if request.strategy is not None:
            names = pl.col(request.strategy).cast(pl.String).fill_null("null")
            rows = rows.with_columns(names)
        options |= {**keywords, "query": query}
        return cls(rows, options, replace(request, query=(query,), computed={}), columns)

    @cached_property
    def table(self) -> pl.DataFrame:
        """Return the table of `overview`.

        Documents with equal scores count as tied, even if a column in `ties` breaks their ties.
        """
        return overview(self.frame, **self.options | {"ties": None})

    @property
    def settings(self) -> dict[str, str]:
        """Return the settings of the evaluation as texts, by their names.

        The order of ties is always included. Other settings are included if they differ from their
        defaults.
        """
        ties, scale = self.request.ties, self.request.scale
        columns = ties.columns or ([ties.document] if ties.document else [])
        tie_order = f"broken by {', '.join(columns)}, the highest first"
        low, high, lowest_relevant = scale.irrelevant, scale.max_grade, scale.relevant_from
        undefined = self.options.get("undefined_as", "default")
        settings = {
            "Ties": tie_order if columns else "the order of rows decides",
            "Irrelevant": low and f"grades up to {low:g}",
            "Relevant": lowest_relevant is not None and f"grades from {lowest_relevant:g} on",
            "Highest grade": high is not None and f"{high:g}",
            "Unjudged documents": self.request.condensed and "dropped from the rankings",
            "Queries without a relevant document": undefined != "default"
            and ("are left out" if undefined is None else f"count as {undefined:g}"),
        }
        return {name: text for name, text in settings.items() if text}

    def warn_of_ties(self) -> str:
        """Return a warning about strategies with more than half of scores tied.

        Without such a strategy, the result is "".
        """
        names = self.table.to_series().cast(pl.String).fill_null("null")
        ties = write_many_ties(dict(zip(names, self.table["tied"], strict=True)))
        return f"{capitalise(ties)}: the order of ties decides the means. " if ties else ""

    def find_strategies(self, names: Sequence[str]) -> list[str]:
        """Return those of the strategies that the frame ranks."""
        available = {*self.request.by}
        if self.request.strategy is not None:
            available = {*self.frame[self.request.strategy]}
        return [name for name in names if name in available]

    def draw_sections(self, page: Charts, names: Sequence[str]) -> dict[str, list[Figure]]:
        """Draw the numbers of judged documents, and the similarity of rankings.

        The similarity is left out if the frame has fewer than two of the strategies, if it has a
        column of strategies but no column of documents, or if it is too large.
        """
        table, strategy = self.table, self.request.strategy
        figure = page.draw(charts.overview(table, strategy=table.columns[0]))
        sections = {"Ranked and judged documents": [figure]}
        doc, shared = self.request.document or self.columns.get("doc"), self.find_strategies(names)
        is_large = self.frame.height * len(self.request.by) * len(shared) > MAX_COMPARED_ROWS
        if len(shared) < 2 or is_large or (strategy is not None and doc is None):  # noqa: PLR2004
            return sections
        options = {name: self.options[name] for name in RANKING_OPTIONS if name in self.options}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the evaluation has already warned
            values = similarity(self.frame, "rbo", doc=doc, **options)
        values = values.filter(*(pl.col(side).is_in(shared) for side in "ab"))
        figure = page.draw(charts.similarity_matrix(values, "rbo"))
        return sections | {"Similarity of the rankings": [figure]}

    def draw_rankings(
        self, page: Charts, queries: Sequence[str], names: Sequence[str], grid: Grid
    ) -> Rankings | None:
        """Draw the rankings of queries.

        The first `MAX_SHOWN_RANKINGS` of the strategies in `names` are drawn, with what each
        document adds to the first measure that is a sum over ranks. Without a column of documents,
        nothing is drawn.
        """
        if "doc" not in self.columns:
            return None
        [query], strategy = self.request.query, self.request.strategy
        shown = self.find_strategies(names)[:MAX_SHOWN_RANKINGS]
        rows = self.frame.filter(pl.col(query).cast(pl.String).is_in(queries))
        if not shown or rows.is_empty():
            both = f"{', '.join(map(repr, names[:3]))} for {[*queries[:3]]}"
            msg = f"`frame` must have the strategies and queries of `per_query`, got none of {both}"
            raise ValueError(msg)
        options = {**self.options, "n": MAX_SHOWN_RANKS, "doc": self.columns["doc"]}
        options["title"] = self.columns.get("titles")
        if strategy is None:
            options |= {
                option: {name: options[option][name] for name in shown}
                for option in ("by", "descending")
            }
        else:
            rows = rows.filter(pl.col(strategy).is_in(shown))
        measure = _find_sum(grid) or f"ndcg@{MAX_SHOWN_RANKS}"
        chart = draw_rankings(
            rows, rows[query].unique(maintain_order=True).to_list(), measure, **options
        )
        heads: Any = chart.data
        values = heads.filter(part="strategy").partition_by("query", as_dict=True)
        words = {
            name: describe_rankings(f"{query} {name}", values[key], measure)
            for name, key in zip(queries, ((each,) for each in format_names(queries)), strict=True)
            if key in values
        }
        return Rankings(page.draw(chart), words)


def _find_sum(grid: Grid) -> str | None:
    """Return the first measure to which each document adds an amount."""
    for name in grid.measures:
        try:
            return check_sum(grid.formulas.get(name, name)).name
        except ValueError:
            continue
    return None
