"""Build the parts of a page: for each measure its sentences, charts and tables."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from itertools import chain, zip_longest
from typing import Any

import numpy as np
import polars as pl

from polars_graded import charts
from polars_graded._drawing import chart_rows, curve_rows, pair_rows
from polars_graded._drawing.chart_checks import MAX_DRAWN_ROWS
from polars_graded._measuring.names import Measure
from polars_graded._report import tables
from polars_graded._report.documents import RankedFrame
from polars_graded._report.drawing import Charts, Figure
from polars_graded._report.findings import collect_facts, describe_power
from polars_graded._report.tables import Table
from polars_graded._results.comparing import compare, compare_grid, summarise, summarise_grid
from polars_graded._results.findings import describe_test, is_significant
from polars_graded._results.keys import GRADER
from polars_graded._results.per_query import Grid, find_best_places, find_index
from polars_graded._results.ranks import rank_strategies
from polars_graded._results.significance import Options
from polars_graded._sentences import (
    conjugate,
    format_count,
    list_names,
    shorten_names,
)
from polars_graded._sentences.verdicts import (
    ALPHA,
    Facts,
    Sentence,
    write_details,
    write_headline,
)
from polars_graded.namespace import Graded

MAX_PAIRED_STRATEGIES = 4
"""Maximum number of strategies for which a page without a baseline shows all pairs. With more, all
are compared with the best one."""

MAX_HISTOGRAMS = 30
"""Maximum number of histograms of all measures. Each measure has at least one."""

MAX_BARS = 40_000
"""Maximum number of bars of all histograms, if a measure has more than one."""

MAX_RANKED_QUERIES = 20
"""Maximum number of queries whose rankings are drawn."""

MAX_EXTREMES = 5
"""Maximum number of queries with the largest differences in each direction in a table."""

MIN_RANKED_STRATEGIES = 3
"""Minimum number of strategies for which a page shows intervals of ranks."""

UNDEFINED = "If a measure is undefined for a query, the query is left out of that measure."
MISSING = {
    "error": "",
    "drop": "If a strategy lacks the value of a measure for a query, the query is left out of that "
    "measure.",
    "zero": "Missing values count as 0.",
}
"""Sentences on missing values, by the argument `missing`."""


def explain_measure(name: str, formula: str | None = None) -> str:
    """Explain a measure or curve in a line; return "" for a column that is not a measure.

    `formula` is the measure that the column contains, such as "ndcg@10". If the column has another
    name, the formula precedes the explanation.
    """
    measure = Measure.parsed(formula or name)
    method = measure and getattr(Graded, measure.function, None)
    line = (inspect.getdoc(method) or "").split("\n", maxsplit=1)[0] if method else ""
    line = line.removeprefix("Return ")  # a page describes the value, not the call
    line = line[:1].upper() + line[1:]
    return f"{formula}: {line}" if formula and formula != name else line


class Contents:
    """The contents of a page, computed from the values of measures and curves."""

    def __init__(
        self,
        grid: Grid,
        curves: Grid,
        documents: RankedFrame | None,
        baseline: Any,
        tests: Options,
    ) -> None:
        self.grid, self.curves, self.documents, self.tests = grid, curves, documents, tests
        self.charts = Charts()
        self.names = chart_rows.format_names(grid.strategies)
        self.short_names = shorten_names(self.names)
        self.baseline = None if baseline is None else find_index(grid.strategies, baseline)
        self.graders: dict[str, str] = {}
        self.sections: list[dict[str, Any]] = []
        """Parts below the measures that are closed when the page opens."""
        self.segments: dict[str, Table] = {}
        has_pairs = bool(grid.measures) and (len(self.names) > 1 or baseline is not None)
        comparison = compare_grid(grid, tests, baseline) if has_pairs else None
        n_pairs = 0 if comparison is None else comparison.height // len(grid.measures)
        single = "query" if len(grid.queries) == 1 else None
        self.tested = describe_test(tests.test, tests.correction, self.baseline, n_pairs, single)
        self.facts: list[Facts] = []
        if grid.measures:
            self.summary = summarise_grid(grid, 1 - ALPHA)
            self.facts = collect_facts(grid, self.summary, comparison, self.tested)
        if comparison is not None:
            names = {"strategy": grid.strategies.name, "baseline": "baseline"}
            comparison = comparison.with_columns(chart_rows.build_name_columns(names))
        self.comparison = comparison
        self.best_means = {} if documents is None else documents.compute_best_means(grid)

    @property
    def about(self) -> str:
        """Return the numbers of strategies and queries."""
        queries = format_count(len(self.grid.queries), "queries")
        return f"{format_count(len(self.names), 'strategies')}, {queries}"

    @property
    def settings(self) -> dict[str, str]:
        """Return the settings of the comparison as names and texts."""
        tested = self.tested.settings(self.names) if self.comparison is not None else {}
        lacks_values = any(self.grid.frame[name].null_count() for name in self.grid.measures)
        missing = MISSING[self.grid.missing] or UNDEFINED * lacks_values
        return {"Data": self.about, **tested, "Missing values": missing or "none are allowed"}

    def add_segments(self, per_query: pl.DataFrame, segments: Any, keys: Mapping[str, Any]) -> None:
        """Add the means of segments to each measure."""
        self.segments = tables.build_segments(per_query, self.grid, segments, keys)

    def add_graders(
        self, results: pl.DataFrame, grader: str, trusted: str | None, keys: Mapping[str, Any]
    ) -> None:
        """Add sentences on graders to the measures, and charts of graders.

        Each measure gets a sentence that all results are based on the grades of `grader`. For each
        other grader, a further sentence names the strategies with the best mean by this grader,
        unless all or none of the strategies have it. If there is only one grader, no charts are
        added.
        """
        best = {name: best for name, best in self.grid.best.items() if best != "none"}
        self.graders = dict.fromkeys(best, f" All results are based on the grades of {grader}.")
        if not best or results[GRADER].n_unique() == 1:
            return
        means = summarise(results, best, **keys)  # type: ignore[arg-type]
        others = means.filter(pl.col(GRADER) != grader)
        for (name, other), rows in others.group_by("measure", GRADER, maintain_order=True):
            strategies = rows[keys["strategy"]].cast(pl.String).to_list()
            leaders = [strategies[place] for place in find_best_places(rows["mean"], best[name])]
            if len(leaders) not in (0, len(strategies)):
                leads = f"{list_names(leaders)} {conjugate(len(leaders), 'have')} the best mean"
                self.graders[name] += f" By those of {other}, {leads}."
        strategy = keys["strategy"]
        drawn = [lambda: charts.grader_orders(means, strategy=strategy)]
        if trusted is not None:
            # Two graders: one panel per measure. More graders: one panel per grader, and only the
            # first measure is drawn.
            panel = "measure" if results[GRADER].n_unique() == 2 else GRADER  # noqa: PLR2004
            measures: Any = best if panel == "measure" else dict([*best.items()][:1])
            estimates = [summarise(results, measures, trusted=trusted, **keys)]
            if len(self.names) > 1:
                baseline = None if self.baseline is None else self.grid.strategies[self.baseline]
                estimates.append(
                    compare(results, measures, trusted=trusted, baseline=baseline, **keys)
                )
            drawn += [
                lambda table=table: charts.trusted_forest(table, panel=panel, strategy=strategy)  # type: ignore[misc]
                for table in estimates
            ]
        note = (
            "Means over the queries that each grader judged. Where lines cross, graders order the "
            "strategies differently."
        )
        figures = [self.charts.draw(build, fill=False) for build in drawn]
        self.sections.append(build_section("Graders", note=note, figures=figures))

    def build(self) -> dict[str, Any]:
        """Return the parts of the page by their names in its template."""
        measures = [facts for facts in self.facts if facts.measure["best"] != "none"]
        parts = [self._build_measure(facts, len(measures)) for facts in measures or self.facts[:1]]
        rankings = self._draw_rankings(parts)
        curves, notes = self._draw_curves()
        if self.documents is not None:
            leader = self.facts[0].measure["order"][0] if self.facts else 0
            reference = leader if self.baseline is None else self.baseline
            similarity = self.documents.build_similarity(self.names, self.names[reference])
            self.sections += [
                build_section(table.caption, note=table.note, tables=[table])
                for table in (self.documents.build_overview(), similarity)
                if table is not None
            ]
        columns = {**self.grid.formulas, **self.curves.formulas}
        names = [*self.grid.measures, *self.curves.measures]
        definitions = {name: explain_measure(name, columns.get(name)) for name in names}
        return {
            "about": self.about,
            "parts": parts,
            "rankings": rankings,
            "curves": curves,
            "curve_notes": notes,
            "sections": self.sections,
            "definitions": {name: text for name, text in definitions.items() if text},
        }

    def _build_measure(self, facts: Facts, n_measures: int) -> dict[str, Any]:
        """Return the part of one measure."""
        name, order = facts.measure["name"], facts.measure["order"]
        others = [each for each in self.facts if each is not facts]
        means = tables.build_means(facts, others, self.names, self.summary, self.best_means)
        part: dict[str, Any] = {
            "name": name,
            "headline": self._join(write_headline(facts)),
            "details": self._join(write_details(facts)) + self.graders.get(name, ""),
            "forest": None,
            "pairs": [],
            "notes": [],
            "tables": [means],
            "sections": [],
        }
        if self.documents is not None:
            part["details"] = self.documents.warn_of_ties() + part["details"]
        if facts.pairs and facts.measure["queries"] and facts.measure["best"] != "none":
            reference = order[0] if self.baseline is None else self.baseline
            self._add_pairs(part, facts, reference, n_measures)
        if name in self.segments:
            table = self.segments[name]
            part["sections"].append(build_section("Segments", note=table.note, tables=[table]))
        return part

    def _join(self, sentence: Sentence) -> str:
        """Return a sentence with the names of strategies in place of their indices."""
        return "".join(
            self.short_names[each] if isinstance(each, int) else each for each in sentence
        ).strip()

    def _add_pairs(
        self, part: dict[str, Any], facts: Facts, reference: int, n_measures: int
    ) -> None:
        """Add the charts and tables of differences to the part of a measure.

        `reference` is the index of the strategy with which all others are compared.
        """
        name, results = part["name"], self.grid.get_results(part["name"])
        pairs = self.comparison.filter(measure=name)  # type: ignore[union-attr]
        if self.baseline is None and len(self.names) > MAX_PAIRED_STRATEGIES:
            n_tested = format_count(pairs.height, "pairs")
            part["notes"].append(
                f"All {n_tested} were tested; those of {self.short_names[reference]} are shown."
            )
            pairs = pair_rows.compare_all_with(pairs, self.names[reference])
        part["forest"] = self.charts.draw(
            lambda: charts.comparison_forest(pairs), height=_choose_height(pairs.height)
        )
        places = {each: place for place, each in enumerate(self.names)}
        shown = [
            row | {side: places[row[side]] for side in ("strategy", "baseline")}
            for row in pairs.with_columns(
                is_significant(pairs.columns, ALPHA).alias("significant")
            ).iter_rows(named=True)
        ]
        part["tables"].append(tables.build_differences(facts, shown, self.names))
        queries = results.queries.alias("query")
        frame = pl.DataFrame(
            {
                "strategy": np.repeat(self.names, results.n),
                "query": pl.concat([queries] * len(self.names)),
                name: results.values.ravel(),
            }
        )
        best: Any = {name: results.best}
        others = [place for place in facts.measure["order"] if place != reference]
        bars = min(results.n, MAX_DRAWN_ROWS)
        n_shown = max(1, min(MAX_HISTOGRAMS // n_measures, MAX_BARS // (bars * n_measures)))
        if n_shown < len(others):
            part["notes"].append(
                f"Histograms are shown for {n_shown} of {format_count(len(others), 'pairs')}, "
                f"those of {self.short_names[reference]} and the best others."
            )
        for other in others[:n_shown]:
            both = (other, reference) if self.baseline is not None else (reference, other)
            a, b = (self.names[place] for place in both)
            rows = tables.list_differences(results, self.grid.strategies, *both)
            part["pairs"].append(
                {
                    "label": " − ".join(self.short_names[place] for place in both),
                    "figure": self.charts.draw(
                        lambda a=a, b=b: charts.precision_histogram(frame, best, a, b)  # type: ignore[misc]
                    ),
                    "table": tables.build_extremes(rows, [a, b], name, MAX_EXTREMES),
                    "names": [a, b],
                    "queries": rows["query"].to_list(),
                }
            )
        figures = []
        if len(self.names) >= MIN_RANKED_STRATEGIES and not self.tested.of_ranks and results.n > 1:
            ranks = rank_strategies(
                frame, best, test=self.tests.test, correction=self.tests.correction
            )
            figures = [
                self.charts.draw(
                    lambda: charts.strategy_ranks(ranks), height=_choose_height(ranks.height)
                )
            ]
        note = describe_power(self.grid, facts)
        if figures or note:
            part["sections"].append(build_section("Certainty", note=note, figures=figures))

    def _draw_rankings(self, parts: Sequence[dict[str, Any]]) -> dict[str, Figure]:
        """Draw the rankings of the queries with the largest differences."""
        if self.documents is None:
            return {}
        pairs = [part["pairs"][0] for part in parts if part["pairs"]]
        by_measure = [_alternate_ends(pair["queries"]) for pair in pairs] or [
            chart_rows.format_names(self.grid.queries)
        ]
        # The queries of all measures take turns.
        turns = (query for turn in zip_longest(*by_measure) for query in turn if query is not None)
        queries = [*dict.fromkeys(turns)][:MAX_RANKED_QUERIES]
        order = self.facts[0].measure["order"] if self.facts else range(len(self.names))
        names = [*(pairs[0]["names"] if pairs else []), *(self.names[place] for place in order)]
        unique_names = [*dict.fromkeys(names)]
        return self.documents.draw_rankings(self.charts, queries, unique_names, self.grid)

    def _draw_curves(self) -> tuple[list[Figure], list[str]]:
        """Draw the means of each curve over the queries with a curve of every strategy."""
        names, figures, notes = self.curves.measures, [], []
        for name in names:
            kind = curve_rows.find_curve_kind(name)
            if not kind:
                continue
            ideal = curve_rows.find_ideal(name, names) if kind == "rank" else None
            both = [name] if ideal is None else [name, ideal]
            length = self.curves.check_curve_length(*both)
            points = {each: self.curves.get_curve(each, length) for each in both}
            used = np.isfinite(points[name]).all(axis=(0, 2))
            if not used.any() or not length:
                notes.append(f"No query has a value of {name} for every strategy.")
                continue
            n_queries = int(used.sum())
            frame = pl.DataFrame(
                {
                    "strategy": np.repeat(self.names, n_queries),
                    "query": np.tile(np.arange(n_queries), len(self.names)),
                    **{
                        each: pl.Series(values[:, used].reshape(-1, length).tolist()).list.eval(
                            pl.element().fill_nan(None)
                        )
                        for each, values in points.items()
                    },
                }
            )
            options: dict[str, Any] = {"confidence": 0.95 if n_queries > 1 else None}
            draw: Any = charts.recall_precision_curves
            if kind == "rank":
                draw = charts.dcg_curves
                options["ideal"] = ideal or False
            figures.append(
                self.charts.draw(
                    lambda draw=draw, frame=frame, name=name, options=options: draw(  # type: ignore[misc]
                        frame, name, **options
                    )
                )
            )
        return figures, notes


def build_section(
    heading: str,
    *,
    note: str = "",
    figures: Sequence[Figure] = (),
    tables: Sequence[Table] = (),
) -> dict[str, Any]:
    """Return a part that is closed when the page opens."""
    return {"heading": heading, "note": note, "figures": figures, "tables": tables}


def _choose_height(n: int) -> int:
    """Return the height of a chart with n names, in pixels."""
    return n * max(16, min(40, 240 // n))


def _alternate_ends(queries: Sequence[str]) -> list[str]:
    """Return the first query, the last, the second, the last but one, and so on."""
    return [*chain.from_iterable(zip(queries, reversed(queries), strict=True))]
