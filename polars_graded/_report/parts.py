"""Build the parts of a page: for each measure its sentences, charts and tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, zip_longest
from typing import Any

import numpy as np
import polars as pl

from polars_graded import charts
from polars_graded._drawing import chart_rows
from polars_graded._report import tables
from polars_graded._report.documents import RankedFrame, RankedQueries
from polars_graded._report.drawing import Charts, Figure, use_own_theme
from polars_graded._report.findings import (
    collect_facts,
    compare_all_with,
    find_interval,
    list_pairs,
)
from polars_graded._results.comparing import (
    compare_results,
    compute_interactions,
    differences,
    rank_strategies,
)
from polars_graded._results.keys import CLUSTER, WEIGHT
from polars_graded._results.means import summarise_results
from polars_graded._results.results import Results, ResultsByGrader
from polars_graded._results.significance import TESTS, Options, describe_test
from polars_graded._sentences import format_count, shorten_names
from polars_graded._sentences.verdicts import MAX_P, Facts, write_headline, write_variation

MAX_PAIRED_STRATEGIES = 4
"""Maximum number of strategies for which a page without a baseline shows all pairs. With more, all
are compared with the best one."""

MAX_HISTOGRAMS = 24
"""Maximum number of histograms of all measures. Each measure has at least one."""

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
    """The contents of a page, computed from the values of measures and curves.

    The results have the columns `strategy` and `query`, and the strategies are texts.
    """

    def __init__(
        self,
        results: Results,
        baseline: int | None,
        tests: Options,
        units: pl.DataFrame,
    ) -> None:
        self.results, self.baseline = results, baseline
        self.units = units
        """A row per query, with the columns of `add_units`."""
        self.unit_columns: dict[str, Any] = {
            keyword: name if name in units.columns else None
            for keyword, name in (("cluster", CLUSTER), ("weights", WEIGHT))
        }
        """Keywords of functions that take clusters and weights."""
        self.options = tests
        self.tests: Any = {"test": tests.test, "correction": tests.correction}
        self.charts = Charts()
        self.names: list[str] = results.strategies.to_list()
        self.short_names = shorten_names(self.names)
        self.documents: RankedFrame | None = None
        self.segments: dict[str, dict[str, Any]] = {}
        """The means and the differences in segments by measure, and whether these vary."""
        self.graders: Figure | None = None
        """The places of strategies under several graders."""
        queries = format_count(len(results.queries), "queries")
        self.about = f"{format_count(len(self.names), 'strategies')}, {queries}"
        if results.clusters is not None:
            self.about += f" in {format_count(len(np.unique(results.clusters)), 'clusters')}"
        if results.weights is not None:
            self.about += ", weighted"
        self.comparison, n_pairs = None, 0
        if results.measures and (len(self.names) > 1 or baseline is not None):
            name = None if baseline is None else self.names[baseline]
            self.comparison = compare_results(results, tests, name)
            n_pairs = self.comparison.height // len(results.measures)
        options = baseline, n_pairs, "query" if len(results.queries) == 1 else None
        self.tested = describe_test(tests.test, tests.correction, *options)
        self.summary = summarise_results(results, 1 - MAX_P) if results.measures else pl.DataFrame()
        self.facts = [
            collect_facts(results, name, self.summary, self.comparison, self.tested)
            for name in results.measures
        ]

    @property
    def settings(self) -> dict[str, str]:
        """Return the settings of the comparison as names and texts."""
        tested = self.tested.settings(self.names) if self.comparison is not None else {}
        lacks_values = any(self.results.frame[name].null_count() for name in self.results.measures)
        missing = MISSING[self.results.missing] or UNDEFINED * lacks_values
        settings = {"Data": self.about, **tested, "Missing values": missing or "none are allowed"}
        formulas = self.results.formulas.items()
        return settings | {name: formula for name, formula in formulas if name != formula}

    @use_own_theme()
    def add_graders(self, graders: ResultsByGrader) -> None:
        """Add a chart of graders, if there are several."""
        directed = [name for name in self.results.measures if self.results.best[name] != "none"]
        if not directed or len(graders.by_grader) == 1:
            return

        def summarise_grader(results: Results) -> pl.DataFrame:
            columns = replace(results.columns, numbers=directed)
            return summarise_results(results.replace(columns=columns), 1 - MAX_P)

        means = graders.stack(summarise_grader)
        strategy = next(iter(graders.by_grader.values())).keys.strategy
        chart = charts.grading_profile(means, show="places", strategy=strategy)
        self.graders = self.charts.draw(chart)

    @use_own_theme()
    def add_segments(self, results: Results, columns: Sequence[str], baseline: Any) -> None:
        """Add the means of each segment, and up to `MAX_SEGMENT_PAIRS` differences per measure."""
        if not columns or not self.results.measures:
            return
        results = results.replace(keys=replace(results.keys, segments=columns))
        best, strategy = results.best, results.keys.strategy
        means = summarise_results(results, 1 - MAX_P)
        pairs = None
        if self.comparison is not None:
            correction = (
                "holm" if TESTS[self.options.test].simultaneous else self.options.correction
            )
            pairs, variations = (
                table.rename({strategy: "strategy"}).with_columns(
                    pl.col("strategy", "baseline").cast(pl.String)
                )
                for table in (
                    compare_results(results, self.options, baseline),
                    compute_interactions(results, baseline, correction),
                )
            )
        for facts in self.facts:
            name, figure, variation = facts.measure["name"], None, ""
            if pairs is not None and best[name] != "none" and facts.measure["queries"]:
                drawn = self._select_pairs(pairs.filter(measure=name), facts.measure["order"][0])
                if drawn["difference"].count() and drawn.height <= MAX_SEGMENT_PAIRS:
                    figure = self.charts.draw(charts.comparison_forest(drawn))
                rows = list_pairs(variations.filter(measure=name), self.results.strategies)
                variation = self._join(write_variation(rows, is_corrected=correction != "none"))
            table = tables.build_segments(means.filter(measure=name), columns, strategy)
            self.segments[name] = {"table": table, "figure": figure, "variation": variation}

    @use_own_theme()
    def build(self) -> dict[str, Any]:
        """Return the parts of the page by their names in its template."""
        measures = [facts for facts in self.facts if facts.measure["best"] != "none"]
        parts = [self._build_measure(facts, len(measures)) for facts in measures or self.facts[:1]]
        rankings = self._draw_rankings(parts)
        return {
            "about": self.about,
            "parts": parts,
            "rankings": rankings,
            "overview": None if self.documents is None else self.documents.build_overview(),
            "curves": [*map(self._draw_curve, self.results.columns.curves)],
            "graders": self.graders,
        }

    def _build_measure(self, facts: Facts, n_measures: int) -> dict[str, Any]:
        """Return the part of one measure."""
        name = facts.measure["name"]
        facts_of_others = [each for each in self.facts if each is not facts]
        part: dict[str, Any] = {
            **dict.fromkeys(["forest", "ranks"]),
            "name": name,
            "pairs": [],
            "notes": [],
            "segments": self.segments.get(name),
            "headline": self._join(write_headline(facts)),
            "tables": [tables.build_means(facts, facts_of_others, self.names, self.summary)],
        }
        if facts.pairs and facts.measure["queries"] and facts.measure["best"] != "none":
            reference = facts.measure["order"][0] if self.baseline is None else self.baseline
            self._add_differences(part, facts, reference)
            self._add_queries(part, facts, reference, max(1, MAX_HISTOGRAMS // n_measures))
        return part

    def _join(self, sentence: Sequence[str | int]) -> str:
        """Return a sentence with the names of strategies in place of their indices."""
        texts = (self.short_names[each] if isinstance(each, int) else each for each in sentence)
        return "".join(texts).strip()

    def _select_pairs(self, pairs: pl.DataFrame, reference: int) -> pl.DataFrame:
        """Return the pairs to show: those of one strategy if all pairs of many are compared."""
        if self.baseline is not None or len(self.names) <= MAX_PAIRED_STRATEGIES:
            return pairs
        return compare_all_with(pairs, self.names[reference])

    def _add_differences(self, part: dict[str, Any], facts: Facts, reference: int) -> None:
        """Add the differences of a measure to its part.

        `reference` is the index of the strategy with which many others are compared.
        """
        comparison: Any = self.comparison
        tested = comparison.filter(measure=part["name"])
        pairs = self._select_pairs(tested, reference)
        if pairs.height < tested.height:
            all_pairs = f"All {format_count(tested.height, 'pairs')} were tested"
            part["notes"].append(f"{all_pairs}; those of {self.short_names[reference]} are shown.")
        height = _choose_height(pairs.height)
        part["forest"] = self.charts.draw(charts.comparison_forest(pairs), height)
        rows = list_pairs(pairs, self.results.strategies)
        part["tables"].append(tables.build_differences(facts, rows, self.names))

    def _add_queries(
        self, part: dict[str, Any], facts: Facts, reference: int, n_shown: int
    ) -> None:
        """Add histograms and ranks to the part of a measure.

        The histograms compare `reference`, an index of a strategy, with the first of the others.
        """
        others = [place for place in facts.measure["order"] if place != reference]
        intervals = {}
        for row in facts.pairs:
            one, other, ends = row["strategy"], row["baseline"], find_interval(row)
            intervals[one, other] = ends
            intervals[other, one] = ends and (-ends[1], -ends[0])
        name, values = part["name"], self.results.get_results(part["name"])
        filled = pl.col(name).fill_null(0) if self.results.missing == "zero" else name
        frame = self.results.frame.select("strategy", "query", filled)
        frame = frame.filter(pl.col("query").is_in(values.queries.implode(), nulls_equal=True))
        frame = frame.join(self.units, on="query", nulls_equal=True, maintain_order="left")
        best: Any = {name: values.best}
        if n_shown < len(others):
            note = f"Histograms are shown for the first {n_shown} of {len(others)} pairs."
            part["notes"].append(note)
        for other in others[:n_shown]:
            both = (other, reference) if self.baseline is not None else (reference, other)
            pair = [self.names[place] for place in both]
            rows = differences(frame, best, *pair, query="query", strategy="strategy")
            rows = rows.with_columns(pl.col("query").cast(pl.String).fill_null("null"))
            interval = intervals.get(both)
            chart = charts.precision_histogram(
                frame, best, *pair, interval=interval, **self.unit_columns
            )
            figure = self.charts.draw(chart, CHART_HEIGHT)
            is_weighted = values.weights is not None
            table = tables.build_extremes(rows.drop("winner"), pair, name, is_weighted=is_weighted)
            label = " \N{MINUS SIGN} ".join(self.short_names[place] for place in both)
            shown = {"label": label, "figure": figure, "table": table, "names": pair}
            part["pairs"].append({**shown, "queries": rows["query"].to_list()})
        if len(self.names) > 2 and values.n > 1:  # noqa: PLR2004
            keys: Any = {"query": "query", "strategy": "strategy"}
            ranks = rank_strategies(frame, best, **keys, **self.unit_columns, **self.tests)
            height = _choose_height(ranks.height)
            part["ranks"] = self.charts.draw(charts.strategy_ranks(ranks), height)

    def _draw_rankings(self, parts: Sequence[dict[str, Any]]) -> RankedQueries | None:
        """Draw the rankings of the queries with the largest differences."""
        if self.documents is None:
            return None
        pairs = [part["pairs"][0] for part in parts if part["pairs"]]
        queries = [_alternate_ends(pair["queries"]) for pair in pairs]
        queries = queries or [self.results.queries.cast(pl.String).drop_nulls().to_list()]
        # The queries of all measures take turns.
        turns = filter(None, chain.from_iterable(zip_longest(*queries)))
        order = self.facts[0].measure["order"] if self.facts else range(len(self.names))
        names = [*(pairs[0]["names"] if pairs else []), *(self.names[place] for place in order)]
        shown = [*dict.fromkeys(turns)][:MAX_RANKED_QUERIES]
        return self.documents.draw_rankings(
            self.charts, shown, [*dict.fromkeys(names)], self.results
        )

    def _draw_curve(self, name: str) -> Figure | str:
        """Draw the means of a curve over the queries with a curve of every strategy.

        Without such a query, the result is a sentence. It is "" for an ideal curve.
        """
        kind = chart_rows.find_curve_kind(name)
        if not kind:
            return ""
        ideal = chart_rows.find_ideal(name, self.results.columns.curves) if kind == "rank" else None
        used = self.results.find_queries_with_curve(name)
        length: Any = self.results.frame[name].list.len().max() or 0
        if not used.any() or not length:
            return f"No query has a value of {name} for every strategy."
        frame = self.results.frame.filter(np.tile(used, len(self.names)))
        if self.results.missing == "zero":
            frame = frame.with_columns(pl.col(pl.List).fill_null(pl.lit([0.0] * length)))
        frame = frame.join(self.units, on="query", nulls_equal=True, maintain_order="left")
        options: dict[str, Any] = {"confidence": 1 - MAX_P if used.sum() > 1 else None}
        options |= self.unit_columns
        draw: Any = charts.recall_precision_curves
        if kind == "rank":
            draw, options["ideal"] = charts.dcg_curves, ideal or False
        return self.charts.draw(draw(frame, name, **options), CHART_HEIGHT)


def _choose_height(n: int) -> int:
    """Return the height of a chart with n names, in pixels."""
    return n * max(16, min(40, 240 // n))


def _alternate_ends(queries: Sequence[str]) -> list[str]:
    """Return the first query, the last, the second, the last but one, and so on."""
    return [*chain.from_iterable(zip(queries, reversed(queries), strict=True))]
