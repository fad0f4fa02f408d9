"""Build the sections of a page: for each measure its sentences, charts and tables.

`Figures` collects the charts of a page, `RankedFrame` draws the rankings of queries in the
evaluated frame, and `Contents` puts both together with the tables.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import Any, NamedTuple

import altair as alt
import numpy as np
import polars as pl

from polars_graded import charts
from polars_graded._checks import check_column_name, check_column_names, check_columns, check_frame
from polars_graded._drawing import chart_rows
from polars_graded._drawing.panels import Chart
from polars_graded._drawing.style import INK, LIGHT_INK
from polars_graded._frames.arguments import Columns, parse_by, selects_columns
from polars_graded._frames.inspecting import check_sum, overview
from polars_graded._frames.request import Request
from polars_graded._frames.strategies import find_index
from polars_graded._measuring.document_columns import DEFAULT_DOC
from polars_graded._report import tables
from polars_graded._results.comparing import (
    compare_results,
    compute_interactions,
    differences,
    rank_results,
    summarise_results,
)
from polars_graded._results.findings import describe_test
from polars_graded._results.keys import (
    CLUSTER,
    WEIGHT,
    Keys,
    add_units,
    check_independence,
    list_unit_columns,
)
from polars_graded._results.results import Results, ResultsByGrader
from polars_graded._results.significance import TESTS, Options
from polars_graded._sentences import format_count, shorten_names
from polars_graded._sentences.verdicts import MAX_P, Facts, write_headline, write_variation
from polars_graded.charts._rankings import draw_rankings, title_rankings

PAGE_KEYS = ("strategy", "query")
"""Columns of strategies and of queries on the page."""

FONT = "system-ui, -apple-system, 'Segoe UI', 'Liberation Sans', sans-serif"


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
    """The name of its specifications in `Figures`."""
    description: str
    """Text for screen readers."""
    is_filled: bool
    """True if the chart is as wide as its place."""


class Figures:
    """The specifications of all charts of a page, and their rows."""

    def __init__(self) -> None:
        self.specs: dict[str, dict[str, Any]] = {}
        """The specification of each chart, and the name of its data set."""
        self.datasets: dict[str, list[dict[str, Any]]] = {}

    def draw(self, chart: Chart, height: int | None = None) -> Figure:
        """Add a chart, and return its figure.

        If a height is passed, the script makes the chart as wide as its place.
        """
        is_filled = height is not None and isinstance(chart, alt.LayerChart)
        shown: Any = chart.properties(height=height) if is_filled else chart
        # The chart is valid by construction, and validation by Altair takes much time.
        spec = shown.to_dict(validate=False)
        datasets, number = spec.pop("datasets", {}), f"chart-{len(self.specs) + 1}"
        self.datasets |= datasets
        self.specs[number] = {"spec": spec, "data": [*datasets]}
        return Figure(number, spec["description"], is_filled)

    def pack(self) -> str:
        """Return all specifications, rows and settings as compressed JSON in Base64."""
        page = {"charts": self.specs, "datasets": self.datasets, "configs": CONFIGS}
        text = json.dumps(page, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode("ascii")


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
    keywords: dict[str, Any]
    """The keywords of `evaluate` for this frame."""
    document: str | None
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
        **keywords: Any,
    ) -> RankedFrame:
        """Check the frame and return it, with one column of queries as text.

        With a single score in `by`, the strategies are the values in the column `strategy`, if the
        frame has this column. In all other cases, the strategies are the scores in `by`.
        """
        frame = check_frame("frame", frame)
        schema = frame.collect_schema()
        by = keywords["by"]
        if not selects_columns(by) and len(parse_by(by)) == 1 and strategy in schema:
            keywords["strategy"] = strategy
        request = Request.of(frame, ["n_relevant"], query=query, **keywords)
        if titles is not None:
            check_columns("frame", [check_column_name("titles", titles)], schema, argument="titles")
        if doc == DEFAULT_DOC and request.columns.document is None:
            doc = None
        if doc is not None:
            doc = request.columns.choose_document(doc, schema)
        used = {*request.needed_columns, doc, titles} - {None}
        rows = frame.lazy().select(*used).collect()
        rows, query = chart_rows.join_columns("frame", rows, check_column_names("query", query))
        rows = rows.with_columns(pl.col(query).cast(pl.String).fill_null("null"))
        return cls(rows, {**keywords, "query": query}, doc, titles)

    def build_overview(self) -> tables.Table:
        """Return the numbers of ranked, judged and tied documents of each strategy.

        Documents with equal scores count as tied, even if a column in `ties` breaks their ties.
        """
        return tables.build_overview(overview(self.frame, **self.keywords | {"ties": None}))

    def draw_rankings(
        self, figures: Figures, queries: Sequence[str], names: Sequence[str], results: Results
    ) -> RankedQueries | None:
        """Draw the rankings of queries.

        The first `MAX_SHOWN_RANKINGS` of the strategies in `names` are drawn, with what each
        document adds to the first measure that is a sum over ranks. Without a column of documents,
        nothing is drawn.
        """
        if self.document is None:
            return None
        available = {*self.frame[self.keywords["query"]]}
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
            titles=self.titles,
            strategies=names,
            max_strategies=MAX_SHOWN_RANKINGS,
            **self.keywords,
        )
        table: Any = chart.data
        counts = dict(table.filter(part="strategy")["query"].value_counts().iter_rows())
        titles = {
            name: title_rankings(f"query {name}", counts[key], measure)
            for name, key in zip(shown, chart_rows.format_names(shown), strict=True)
            if key in counts
        }
        return RankedQueries(figures.draw(chart), titles)


def _find_sum(results: Results) -> str | None:
    """Return the first measure to which each document adds an amount."""
    for name in results.measures:
        try:
            return check_sum(results.formulas.get(name, name)).name
        except ValueError:
            continue
    return None


# Contents

MAX_PAIRED_STRATEGIES = 4
"""Maximum number of strategies for which a page without a baseline shows all pairs. With more, all
are compared with the best one."""

MAX_HISTOGRAMS = 24
"""Maximum number of histograms of all measures. Each measure has at least one."""

FOREST_PADDING = {"left": 5, "top": 5, "right": 30, "bottom": 5}
"""Padding of a forest in pixels. A page clips a chart at its edge, and if all differences are below
0, the word "better" is to the right of the plot."""

MAX_SEGMENT_PAIRS = 100
"""Maximum number of differences in segments that are drawn."""

MAX_RANKED_QUERIES = 20
"""Maximum number of queries whose rankings are drawn."""

CHART_HEIGHT = 280
"""Height of a histogram and of a chart of curves, in pixels."""

UNDEFINED = "If a measure is undefined for a query, the query is left out of that measure."
MISSING = {
    "error": "",
    "drop": "If a strategy lacks the value of a measure for a query, the query is left out of that "
    "measure.",
    "zero": "Missing values count as 0.",
}
"""Sentences on missing values, by the argument `missing`."""


class Contents:
    """The contents of a page, computed from the values of measures and curves."""

    def __init__(
        self,
        results: Results,
        baseline: Any,
        options: Options,
        segments: Sequence[str],
        ranked_frame: RankedFrame | None,
    ) -> None:
        self.ranked_frame, self.figures = ranked_frame, Figures()
        self.options, self.strategy_column = options, results.keys.strategy
        # A segment must not have the name of another column of the page.
        used_names = {*PAGE_KEYS, *results.measures, *results.curves}
        segment_names: dict[str, str] = {}
        for name in segments:
            new_name = name
            while new_name in used_names:
                new_name = f"segment {new_name}"
            segment_names[name] = new_name
            used_names.add(new_name)
        self.segments = [*segment_names.values()]
        self.results = _rename_keys(results, segment_names)
        """The results with the columns `strategy` and `query`; the strategies are texts."""
        units = self.results.rows.select("query", *list_unit_columns(self.results.rows)).unique()
        self.per_query = self.results.frame.join(
            units, on="query", nulls_equal=True, maintain_order="left"
        )
        """A row per strategy and query, with the columns of `add_units`."""
        self.unit_columns: dict[str, Any] = {
            "cluster": self.results.keys.cluster,
            "weights": self.results.keys.weights,
        }
        """Keywords of functions that take clusters and weights."""
        self.names: list[str] = self.results.strategies.to_list()
        self.short_names = shorten_names(self.names)
        queries = format_count(len(self.results.queries), "queries")
        self.about = f"{format_count(len(self.names), 'strategies')}, {queries}"
        if self.results.clusters is not None:
            n_clusters = len(np.unique(self.results.clusters))
            self.about += f" in {format_count(n_clusters, 'clusters')}"
        if self.results.weights is not None:
            self.about += ", weighted"
        self.baseline = None if baseline is None else find_index(results.strategies, baseline)
        self.baseline_name = None if self.baseline is None else self.names[self.baseline]
        self.comparison, n_pairs = None, 0
        if results.measures and (len(self.names) > 1 or baseline is not None):
            self.comparison = compare_results(self.results, options, self.baseline_name)
            n_pairs = self.comparison.height // len(results.measures)
        single = "query" if len(self.results.queries) == 1 else None
        self.tested = describe_test(
            options.test, options.correction, self.baseline, n_pairs, single
        )
        self.summary = pl.DataFrame()
        if results.measures:
            self.summary = summarise_results(self.results, 1 - MAX_P)
        self.facts = [
            tables.collect_facts(self.results, name, self.summary, self.comparison, self.tested)
            for name in results.measures
        ]

    def build(self, by_grader: ResultsByGrader) -> dict[str, Any]:
        """Return the contents of the page by their names in its template."""
        measures = [facts for facts in self.facts if facts.best != "none"]
        contents_of_segments = self._build_segments() if self.segments and self.facts else {}
        sections = [
            self._build_measure(facts, len(measures), contents_of_segments.get(facts.name))
            for facts in measures or self.facts[:1]
        ]
        return {
            "about": self.about,
            "sections": sections,
            "rankings": self._draw_rankings(sections),
            "overview": None if self.ranked_frame is None else self.ranked_frame.build_overview(),
            "curves": [*map(self._draw_curve, self.results.curves)],
            "graders": self._draw_graders(by_grader),
            "charts": self.figures.pack(),
        }

    @property
    def settings(self) -> dict[str, str]:
        """Return the settings of the comparison as names and texts."""
        test = self.tested.settings(self.names) if self.comparison is not None else {}
        lacks_values = any(self.results.frame[name].null_count() for name in self.results.measures)
        missing = MISSING[self.results.missing] or UNDEFINED * lacks_values or "none are allowed"
        settings = {"Data": self.about, **test, "Missing values": missing}
        formulas = self.results.formulas.items()
        return settings | {name: formula for name, formula in formulas if name != formula}

    def _draw_graders(self, by_grader: ResultsByGrader) -> Figure | None:
        """Draw the places of strategies under several graders, if there are several."""
        directed = [name for name in self.results.measures if self.results.best[name] != "none"]
        if not directed or len(by_grader.by_name) == 1:
            return None
        means = by_grader.stack(
            lambda results: summarise_results(replace(results, measures=directed), 1 - MAX_P)
        )
        profile = charts.grading_profile(means, show="places", strategy=self.strategy_column)
        return self.figures.draw(profile)

    def _build_segments(self) -> dict[str, dict[str, Any]]:
        """Return the means and the differences in segments by measure, and whether these vary.

        Up to `MAX_SEGMENT_PAIRS` differences of a measure are drawn.
        """
        keys, contents, pairs = replace(self.results.keys, segments=self.segments), {}, None
        results = replace(self.results, keys=keys)
        means = summarise_results(results, 1 - MAX_P)
        if self.comparison is not None:
            is_simultaneous = TESTS[self.options.test].simultaneous
            correction = "holm" if is_simultaneous else self.options.correction
            pairs = compare_results(results, self.options, self.baseline_name)
            variations = compute_interactions(results, self.baseline_name, correction)
        for facts in self.facts:
            name, figure, variation = facts.name, None, ""
            if pairs is not None and facts.best != "none" and facts.n_queries:
                shown = self._select_pairs(pairs.filter(measure=name), facts.order[0])
                if shown["difference"].count() and shown.height <= MAX_SEGMENT_PAIRS:
                    figure = self.figures.draw(charts.comparison_forest(shown))
                interactions = tables.list_pairs(
                    variations.filter(measure=name), self.results.strategies
                )
                sentence = write_variation(interactions, is_corrected=correction != "none")
                variation = self._join(sentence)
            table = tables.build_segments(means.filter(measure=name), self.segments)
            contents[name] = {"table": table, "figure": figure, "variation": variation}
        return contents

    def _build_measure(
        self, facts: Facts, n_measures: int, contents_of_segments: dict[str, Any] | None
    ) -> dict[str, Any]:
        """Return the section of one measure."""
        facts_of_others = [each for each in self.facts if each is not facts]
        section: dict[str, Any] = {
            **dict.fromkeys(["forest", "ranks"]),
            "name": facts.name,
            "pairs": [],
            "notes": [],
            "segments": contents_of_segments,
            "headline": self._join(write_headline(facts)),
            "tables": [tables.build_means(facts, facts_of_others, self.names, self.summary)],
        }
        if facts.pairs and facts.n_queries and facts.best != "none":
            focus = facts.order[0] if self.baseline is None else self.baseline
            self._add_differences(section, facts, focus)
            self._add_queries(section, facts, focus, max(1, MAX_HISTOGRAMS // n_measures))
        return section

    def _join(self, sentence: Sequence[str | int]) -> str:
        """Return a sentence with the names of strategies in place of their indices."""
        texts = (self.short_names[each] if isinstance(each, int) else each for each in sentence)
        return "".join(texts).strip()

    def _select_pairs(self, pairs: pl.DataFrame, focus: int) -> pl.DataFrame:
        """Return the pairs to show: those of one strategy if all pairs of many are compared."""
        if self.baseline is not None or len(self.names) <= MAX_PAIRED_STRATEGIES:
            return pairs
        return tables.compare_all_with(pairs, self.names[focus])

    def _add_differences(self, section: dict[str, Any], facts: Facts, focus: int) -> None:
        """Add the differences of a measure to its section.

        `focus` is the index of the strategy with which many others are compared.
        """
        comparison: Any = self.comparison
        all_pairs = comparison.filter(measure=facts.name)
        pairs = self._select_pairs(all_pairs, focus)
        if pairs.height < all_pairs.height:
            count = f"All {format_count(all_pairs.height, 'pairs')} were compared"
            section["notes"].append(f"{count}; those of {self.short_names[focus]} are shown.")
        height = _choose_height(pairs.height)
        forest = charts.comparison_forest(pairs).properties(padding=FOREST_PADDING)
        section["forest"] = self.figures.draw(forest, height)
        shown = tables.list_pairs(pairs, self.results.strategies)
        section["tables"].append(tables.build_differences(facts, shown, self.names))

    def _add_queries(self, section: dict[str, Any], facts: Facts, focus: int, n_shown: int) -> None:
        """Add histograms and ranks to the section of a measure.

        The histograms compare the strategy at the index `focus` with the first of the others.
        """
        others = [index for index in facts.order if index != focus]
        name, values = facts.name, self.results.get_matrix(facts.name)
        filled = pl.col(name).fill_null(0) if self.results.missing == "zero" else name
        frame = self.per_query.select(
            "strategy", "query", filled, *list_unit_columns(self.per_query)
        )
        frame = frame.filter(pl.col("query").is_in(values.queries.implode(), nulls_equal=True))
        best: Any = {name: values.best}
        if n_shown < len(others):
            note = f"Histograms are shown for the first {n_shown} of {len(others)} pairs."
            section["notes"].append(note)
        for other in others[:n_shown]:
            both = (other, focus) if self.baseline is not None else (focus, other)
            pair = [self.names[index] for index in both]
            bars = differences(frame, best, *pair, query="query", strategy="strategy")
            bars = bars.with_columns(pl.col("query").cast(pl.String).fill_null("null"))
            row = tables.find_pair(facts.pairs, *both)
            ends = tables.find_interval(row)
            if ends is not None and row["strategy"] != both[0]:
                ends = -ends[1], -ends[0]
            chart = charts.precision_histogram(
                frame, best, *pair, interval=ends, **self.unit_columns
            )
            figure = self.figures.draw(chart, CHART_HEIGHT)
            is_weighted = values.weights is not None
            table = tables.build_extremes(bars.drop("winner"), pair, name, is_weighted=is_weighted)
            label = " \N{MINUS SIGN} ".join(self.short_names[index] for index in both)
            shown = {"label": label, "figure": figure, "table": table, "names": pair}
            section["pairs"].append({**shown, "queries": bars["query"].to_list()})
        if len(self.names) > 2 and values.n > 1:  # noqa: PLR2004
            ranks = rank_results(replace(self.results, measures=[name]), self.options)
            height = _choose_height(ranks.height)
            section["ranks"] = self.figures.draw(charts.strategy_ranks(ranks), height)

    def _draw_rankings(self, sections: Sequence[dict[str, Any]]) -> RankedQueries | None:
        """Draw the rankings of the queries with the largest differences."""
        if self.ranked_frame is None:
            return None
        pairs = [section["pairs"][0] for section in sections if section["pairs"]]
        queries = [_alternate_ends(pair["queries"]) for pair in pairs]
        queries = queries or [self.results.queries.cast(pl.String).drop_nulls().to_list()]
        # The queries of all measures take turns.
        turns = filter(None, chain.from_iterable(zip_longest(*queries)))
        order = self.facts[0].order if self.facts else range(len(self.names))
        names = [*(pairs[0]["names"] if pairs else []), *(self.names[index] for index in order)]
        shown = [*dict.fromkeys(turns)][:MAX_RANKED_QUERIES]
        return self.ranked_frame.draw_rankings(
            self.figures, shown, [*dict.fromkeys(names)], self.results
        )

    def _draw_curve(self, name: str) -> Figure | str:
        """Draw the means of a curve over the queries with a curve of every strategy.

        Without such a query, the result is a sentence. It is "" for an ideal curve.
        """
        kind = chart_rows.find_curve_kind(name)
        if not kind:
            return ""
        ideal = chart_rows.find_ideal(name, self.results.curves) if kind == "rank" else None
        used = self.results.find_queries_with_curve(name)
        length: Any = self.results.frame[name].list.len().max() or 0
        if not used.any() or not length:
            return f"No query has a value of {name} for every strategy."
        frame = self.per_query.filter(np.tile(used, len(self.names)))
        if self.results.missing == "zero":
            frame = frame.with_columns(pl.col(pl.List).fill_null(pl.lit([0.0] * length)))
        options: dict[str, Any] = {"confidence": 1 - MAX_P if used.sum() > 1 else None}
        options |= self.unit_columns
        draw: Any = charts.recall_precision_curves
        if kind == "rank":
            draw, options["ideal"] = charts.dcg_curves, ideal or False
        return self.figures.draw(draw(frame, name, **options), CHART_HEIGHT)


def _rename_keys(results: Results, segment_names: Mapping[str, str]) -> Results:
    """Return the results with the columns of `PAGE_KEYS`, and with texts as strategies.

    `segment_names` has the new name of each column of segments.
    """
    keys, strategies = results.keys, results.strategies
    check_independence(results.rows, keys)
    rows, query = chart_rows.join_columns("per_query", results.rows, keys.query_columns)
    rows = add_units(rows, replace(keys, query=query))
    if rows.is_empty():
        msg = "`per_query` must have a row per strategy and query to show, got none"
        raise ValueError(msg)
    # The rows of each strategy become adjacent, so that the texts stay in the order of strategies.
    rows = strategies.to_frame().join(
        rows, on=keys.strategy, how="left", maintain_order="left_right"
    )
    unit_columns = list_unit_columns(rows)
    rows = rows.select(
        pl.col(keys.strategy).cast(pl.String).alias("strategy"),
        pl.col(query).alias("query"),
        *results.measures,
        *results.curves,
        *(pl.col(name).alias(new_name) for name, new_name in segment_names.items()),
        *unit_columns,
    )
    cluster, weights = (name if name in unit_columns else None for name in (CLUSTER, WEIGHT))
    return replace(results, rows=rows, keys=Keys(cluster=cluster, weights=weights))


def _choose_height(n: int) -> int:
    """Return the height of a chart with n names, in pixels."""
    return n * max(16, min(40, 240 // n))


def _alternate_ends(queries: Sequence[str]) -> list[str]:
    """Return the first query, the last, the second, the last but one, and so on."""
    return [*chain.from_iterable(zip(queries, reversed(queries), strict=True))]
