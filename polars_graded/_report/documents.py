"""Count the documents of the evaluated frame, and draw rankings of queries, for a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

from polars_graded._checks import check_column_name, check_column_names, check_columns, check_frame
from polars_graded._drawing.chart_rows import format_names, join_columns
from polars_graded._frames.arguments import Columns, parse_by, selects_columns
from polars_graded._frames.inspecting import check_sum, overview
from polars_graded._frames.request import Request
from polars_graded._measuring.document_columns import DEFAULT_DOC
from polars_graded._report.drawing import Charts, Figure
from polars_graded._report.tables import Table, build_overview
from polars_graded._results.results import Results
from polars_graded.charts._rankings import draw_rankings, title_rankings

MAX_SHOWN_RANKS = 10
"""Maximum number of documents of a ranking that are shown."""

MAX_SHOWN_RANKINGS = 4
"""Maximum number of rankings side by side."""


class RankedQueries(NamedTuple):
    """The rankings of several queries in one figure, which shows one query at a time."""

    figure: Figure
    titles: dict[str, str]
    """The title of the rankings of each query."""


@dataclass(frozen=True)
class RankedFrame:
    """The evaluated frame, after checks."""

    frame: pl.DataFrame
    options: dict[str, Any]
    """The keywords of `evaluate` for this frame."""
    doc: str | None
    """The column of documents; None if there is none."""
    titles: str | None
    """The column of titles of documents."""

    @classmethod
    def of(
        cls,
        frame: Any,
        doc: str | None,
        titles: str | None,
        *,
        query: Columns,
        strategy: str,
        **options: Any,
    ) -> RankedFrame:
        """Check the frame and return it, with one column of queries as text.

        With a single score in `by`, the strategies are the values in the column `strategy`, if the
        frame has this column. In all other cases, the strategies are the scores in `by`.
        """
        frame = check_frame("frame", frame)
        schema = frame.collect_schema()
        by = options["by"]
        if not selects_columns(by) and len(parse_by(by)) == 1 and strategy in schema:
            options["strategy"] = strategy
        columns = {} if titles is None else {"titles": titles}
        request = Request.of(frame, ["n_relevant"], query=query, **options)
        for column in columns.values():
            check_columns("frame", [check_column_name("titles", column)], schema, argument="titles")
        if doc == DEFAULT_DOC and request.document is None:
            doc = None
        if doc is not None:
            doc = columns["doc"] = request.choose_document(doc, schema)
        used = dict.fromkeys([*request.needed_columns, *columns.values()])
        rows = frame.lazy().select(*used).collect()
        rows, query = join_columns("frame", rows, check_column_names("query", query))
        rows = rows.with_columns(pl.col(query).cast(pl.String).fill_null("null"))
        return cls(rows, {**options, "query": query}, doc, titles)

    def build_overview(self) -> Table:
        """Return the numbers of ranked, judged and tied documents of each strategy.

        Documents with equal scores count as tied, even if a column in `ties` breaks their ties.
        """
        return build_overview(overview(self.frame, **self.options | {"ties": None}))

    def draw_rankings(
        self, page: Charts, queries: Sequence[str], names: Sequence[str], results: Results
    ) -> RankedQueries | None:
        """Draw the rankings of queries.

        The first `MAX_SHOWN_RANKINGS` of the strategies in `names` are drawn, with what each
        document adds to the first measure that is a sum over ranks. Without a column of documents,
        nothing is drawn.
        """
        if self.doc is None:
            return None
        available = {*self.frame[self.options["query"]]}
        shown = [name for name in queries if name in available]
        if not shown:
            msg = f"`frame` must have the queries of `per_query`, got none of {[*queries[:3]]}"
            raise ValueError(msg)
        measure = _find_sum(results) or f"ndcg@{MAX_SHOWN_RANKS}"
        chart = draw_rankings(
            self.frame,
            shown,
            measure,
            n=MAX_SHOWN_RANKS,
            doc=self.doc,
            title=self.titles,
            strategies=names,
            max_strategies=MAX_SHOWN_RANKINGS,
            **self.options,
        )
        rows: Any = chart.data
        counts = dict(rows.filter(part="strategy")["query"].value_counts().iter_rows())
        titles = {
            name: title_rankings(f"query {name}", counts[key], measure)
            for name, key in zip(shown, format_names(shown), strict=True)
            if key in counts
        }
        return RankedQueries(page.draw(chart), titles)


def _find_sum(results: Results) -> str | None:
    """Return the first measure to which each document adds an amount."""
    for name in results.measures:
        try:
            return check_sum(results.formulas.get(name, name)).name
        except ValueError:
            continue
    return None
