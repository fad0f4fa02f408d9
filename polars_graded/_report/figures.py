"""Collect the charts of a page, and draw the rankings of queries in the evaluated frame."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import altair as alt
import polars as pl
from altair.utils import schemapi

from polars_graded._checks import check_column_name, check_column_names, check_columns, check_frame
from polars_graded._drawing.chart_rows import format_names, join_columns
from polars_graded._drawing.panels import Chart
from polars_graded._drawing.style import INK, LIGHT_INK
from polars_graded._frames.arguments import Columns, parse_by, selects_columns
from polars_graded._frames.inspecting import check_sum, overview
from polars_graded._frames.request import Request
from polars_graded._measuring.document_columns import DEFAULT_DOC
from polars_graded._report.tables import Table, build_overview
from polars_graded._results.results import Results
from polars_graded.charts._rankings import draw_rankings, title_rankings

FONT = "system-ui, -apple-system, 'Segoe UI', 'Liberation Sans', sans-serif"
THEME = "polars_graded report"


def _build_config(paper: str, ink: str, line: str) -> dict[str, Any]:
    """Return the settings of charts on a page with these colours."""
    return {
        # The page describes each chart in a sentence, so marks need no labels for screen readers.
        "aria": False,
        "background": paper,
        "font": FONT,
        "axis": {"gridColor": line, "domainColor": line, "tickColor": line},
        "header": {"labelColor": ink, "titleColor": ink},
        "style": {"guide-label": {"fill": ink}, "guide-title": {"fill": ink}},
        "text": {"color": ink},
        "title": {"color": ink, "subtitleColor": ink},
        "view": {"stroke": line},
    }


CONFIGS = (_build_config("#ffffff", INK, "#d0d7de"), _build_config("#14181d", LIGHT_INK, "#3a424b"))
"""Settings of charts on a light and on a dark screen. `page.css` has the same backgrounds. The
colours of a chart follow its background, so that one specification serves both screens."""


class Figure(NamedTuple):
    """A chart of the page."""

    id: str
    """The name of its specifications in `Charts`."""
    description: str
    """Text for screen readers."""
    is_filled: bool
    """True if the chart is as wide as its place."""


class Charts:
    """The specifications of all charts of a page, and their rows."""

    def __init__(self) -> None:
        self.specs: dict[str, dict[str, Any]] = {}
        """The specification of each chart, and the names of its data sets. The first of these
        contains the rows of the chart."""
        self.datasets: dict[str, list[dict[str, Any]]] = {}

    def draw(self, chart: Chart, height: int | None = None) -> Figure:
        """Add a chart, and return its figure.

        If a height is passed, the script makes the chart as wide as its place.
        """
        is_filled = height is not None and isinstance(chart, alt.LayerChart)
        shown: Any = chart.properties(height=height) if is_filled else chart
        # The chart is valid by construction, and validation by Altair takes much time.
        spec = shown.to_dict(validate=False)
        datasets = spec.pop("datasets", {})
        self.datasets |= datasets
        number, first = f"chart-{len(self.specs) + 1}", spec.get("data", {}).get("name")
        names = sorted(datasets, key=lambda name: name != first)
        self.specs[number] = {"spec": spec, "data": names}
        return Figure(number, spec.get("description", ""), is_filled)

    def pack(self) -> str:
        """Return all specifications, rows and settings as compressed JSON in Base64."""
        page = {"charts": self.specs, "datasets": self.datasets, "configs": CONFIGS}
        text = json.dumps(page, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode("ascii")


@contextmanager
def use_own_theme() -> Iterator[None]:
    """Build charts without the user's theme, and without validation."""
    theme: Any = {}
    alt.theme.register(THEME, enable=False)(lambda: theme)
    try:
        with alt.theme.enable(THEME), schemapi.debug_mode(arg=False):
            yield
    finally:
        alt.theme.unregister(THEME)


# Rankings


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
    document: str | None
    """The column of documents; None if there is none."""
    title: str | None
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
        request = Request.of(frame, ["n_relevant"], query=query, **options)
        if titles is not None:
            check_columns("frame", [check_column_name("titles", titles)], schema, argument="titles")
        if doc == DEFAULT_DOC and request.document is None:
            doc = None
        if doc is not None:
            doc = request.choose_document(doc, schema)
        used = {*request.needed_columns, doc, titles} - {None}
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
        if self.document is None:
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
            doc=self.document,
            title=self.title,
            strategies=names,
            max_strategies=MAX_SHOWN_RANKINGS,
            **self.options,
        )
        table: Any = chart.data
        counts = dict(table.filter(part="strategy")["query"].value_counts().iter_rows())
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
