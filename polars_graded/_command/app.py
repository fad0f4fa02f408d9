"""The subcommands: each reads rankings, calls public functions, and prints or writes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import polars as pl
from cyclopts import App, CycloptsError, Group, Parameter

import polars_graded as pg
from polars_graded._checks import check_columns, first_few
from polars_graded._command.outputs import (
    CHARTS,
    RESULTS,
    TABLES,
    Outputs,
    Writers,
    check_outputs,
    format_table,
    print_text,
    print_warnings,
    write_charts,
    write_outputs,
    write_rows,
    write_run,
    write_sentence,
    write_summary,
    write_tables,
    write_text,
)
from polars_graded._command.rankings import (
    DOCUMENT_OPTIONS,
    RankingOptions,
    Texts,
    parse_names,
    select_keywords,
)

MEASURES = ["mu_ap", "ndcng@10", "ndcg@10", "ap", "precision@10"]
CURVES = ["dcg_curve@20", "ideal_dcg_curve@20", "interpolated_precision"]
SIMILARITIES = ["rbo", "overlap@10", "top_changed"]
"""Default measures: of rankings with grades, also of their report, and of two rankings."""

SHOWN_STATISTICS = ("queries", "median", "mean", "ci_low", "ci_high")
"""Columns of `summarise` that `similarity` prints."""

Measures = Annotated[list[str], Parameter(consume_multiple=True, show_default=" ".join)]

WRONG_CALL, INTERRUPTED, UNREAD = 2, 130, 141
"""Exit statuses. A shell reports the last two after Ctrl-C and after a write to a closed pipe."""

SUMMARY, PAGE, RUN = ".md", ".html", ".run"
"""Suffixes of the summary of a gate, the page of a report and a fused run."""

HEADLINES = {
    0: "The gate passes",
    1: "The gate fails: worse than the baseline",
    3: "The gate is undecided: perhaps worse than the baseline",
}
"""Headline of the summary of a gate, for each exit status."""

ERRORS = (OSError, ImportError, ValueError, TypeError, pl.exceptions.PolarsError)
"""Errors whose message is meant for the caller."""

app = App(
    name="polars-graded",
    help="Evaluate rankings with graded relevance. Without files, a subcommand uses built-in "
    "rankings: 100 documents per query with grades from 0 to 4, and strategies that swap 5, 20 "
    "and 60 pairs of the ideal order.",
    version=pg.__version__,
    default_parameter=Parameter(negative=()),
    help_format="markdown",
)


@Parameter(name="*", group=Group("Comparison"))
@dataclass(frozen=True)
class Comparison:
    """Options for the comparison of strategies."""

    baseline: str | None = None
    """The strategy to compare all others with; by default all pairs are compared."""
    test: str = "t"
    """The test of differences: t, permutation or randomised_tukey."""
    correction: str | None = None
    """The correction of p values for the number of tests: bonferroni, holm (by default),
    benjamini_hochberg or none."""
    missing: str = "error"
    """The treatment of a query that a strategy lacks: error; drop leaves it out; zero counts 0."""


@Parameter(name="*", group=Group("Gate"))
@dataclass(frozen=True)
class Gate:
    """Options for the verdicts of a gate."""

    baseline: str
    """A strategy, or a .parquet or .csv file of results that --output wrote."""
    margin: float = 0.01
    """The largest loss of the mean that you accept."""
    missing: str = "error"
    """With drop, queries that one side lacks are left out."""
    judgments: str = "same"
    """With changed, the baseline may be measured with other judgments."""
    formulas: str = "same"
    """With changed, the measures of the baseline may have other formulas."""
    scale: str = "same"
    """With changed, the baseline may be measured on another scale or with another order of ties."""


@Parameter(name="*", group=Group("Queries"))
@dataclass(frozen=True)
class QueryOptions:
    """Options for columns of the files that have one value per query."""

    cluster: Texts = None
    """The columns that identify independent units, such as the search term if the query is a term
    on a device."""
    weights: str | None = None
    """The column that states how much each query counts, such as its number of searches."""
    segments: Texts = None
    """The columns that divide the queries into segments with results of their own, such as the
    market."""

    def add_to(self, values: pl.DataFrame, frame: pl.DataFrame, key: list[str]) -> pl.DataFrame:
        """Add columns of the files that the values of queries lack."""
        columns = [
            *(("cluster", name) for name in self.cluster or ()),
            *(("weights", name) for name in [self.weights] if name is not None),
            *(("segments", name) for name in self.segments or ()),
        ]
        for option, name in columns:
            if name in values.columns:
                continue
            if name not in frame.columns:
                msg = f"--{option} must name a column of the rankings, got {name!r}"
                raise ValueError(msg)
            rows = frame.select(*key, name).unique(maintain_order=True)
            unclear = rows.filter(pl.struct(key).is_duplicated()).select(key).unique()
            if unclear.height:
                msg = (
                    f"column {name!r} must have one value per query, got several, or nulls in some "
                    f"rows, in {unclear.height} of {rows.n_unique(key)} queries: "
                    f"{first_few(unclear.sort(key).rows())}"
                )
                raise ValueError(msg)
            values = values.join(rows, on=key, how="left", nulls_equal=True, maintain_order="left")
        return values


BUILT_IN, ALL_PAIRS, ALIKE = RankingOptions(), Comparison(), QueryOptions()


@dataclass(frozen=True)
class Evaluation:
    """Values of every query, and how they were measured."""

    values: pl.DataFrame
    measures: dict[str, str]
    """Measures with one value for each query, by name."""
    curves: list[str]
    keys: dict[str, Any]
    """Keywords for the columns of queries and strategies."""
    frame: pl.DataFrame
    keywords: dict[str, Any]
    """Keywords that describe the frame to `evaluate`."""

    @classmethod
    def measure(
        cls, rankings: RankingOptions, measures: Sequence[str], queries: QueryOptions
    ) -> Evaluation:
        """Evaluate rankings; the results know how they were measured."""
        names = parse_names(measures)
        frame, keywords = rankings.read(pg.evaluate)
        if "grade" not in (*keywords, *frame.columns):
            msg = "pass the judgments of runs as --qrels, or the column of grades as --grade"
            raise ValueError(msg)
        values = pg.evaluate(frame, names, **keywords, fingerprint=True)
        values = queries.add_to(values, frame, rankings.keys["query"])
        curves = [name for name in names if values.schema[name] == pl.List]
        numbers = {name: measure for name, measure in names.items() if name not in curves}
        return cls(values, numbers, curves, rankings.keys, frame, keywords)

    @property
    def writers(self) -> Writers:
        """Return the functions that write values, by suffix."""
        write = partial(pg.write_results, self.values)
        return dict.fromkeys(RESULTS, write)


@app.command
def evaluate(
    rankings: RankingOptions = BUILT_IN,
    *,
    queries: QueryOptions = ALIKE,
    measure: Measures = MEASURES,
    output: Outputs = None,
) -> None:
    """Measure rankings, and print the means of each strategy.

    Parameters
    ----------
    measure
        Measures, optionally renamed, as in 'AP=ap(threshold=2)'. A cutoff follows @, and options
        are in brackets: 'ndcg(gain=linear)@10'.
    output
        Files to write: .csv or .parquet for the values of each query, .svg, .png or .html for a
        chart of the means, .md or .tex for a table with significant differences.
    """
    check_outputs(output, rankings.inputs, *RESULTS, *CHARTS, *TABLES)
    results = Evaluation.measure(rankings, measure, queries)
    keys, keywords = results.keys, results.keywords
    texts, options = [], keys | vars(queries)

    def summarise(**further: Any) -> pl.DataFrame:
        options_of_means = options | {"missing": "drop"} | further
        return pg.summarise(results.values, results.measures, **options_of_means)

    if results.measures:
        # Means do not depend on clusters, so queries of several columns need no choice.
        means = summarise(cluster=queries.cluster or keys["query"])
        texts.append(format_means(means, ["grader", *(queries.segments or ()), keys["strategy"]]))
    further: dict[str, Any] = {"weights": queries.weights, "segments": queries.segments}
    # Curves take no properties of documents.
    options_of_curves = {name: keywords[name] for name in keywords if name not in DOCUMENT_OPTIONS}
    for curve in results.curves:
        points = pg.average_curves(results.frame, curve, **options_of_curves, **further)
        texts.append(format_table(points))
    print_text("\n\n".join(texts))
    tabulate = partial(pg.paper_table, results.values, results.measures, **options)
    charts = write_charts(lambda: pg.charts.strategy_bars(summarise()))
    write_outputs(output, results.writers | charts | write_tables(tabulate))


def format_means(summary: pl.DataFrame, index: list[str]) -> str:
    """Return a table of means, the best strategy by the first measure first.

    `queries` is the lowest number of queries with a value, if it varies between measures.
    """
    index = [name for name in index if name in summary.columns]
    means = summary.group_by(index).agg(pl.col("queries").min())
    means = means.join(summary.pivot("measure", index=index, values="mean"), on=index)
    first, is_falling = summary["measure"][0], summary["best"][0] != "lowest"
    order = [*index[:-1], first, index[-1]]
    descending = [name == first and is_falling for name in order]
    return format_table(means.sort(order, descending=descending))


@app.command
def compare(
    rankings: RankingOptions = BUILT_IN,
    *,
    comparison: Comparison = ALL_PAIRS,
    queries: QueryOptions = ALIKE,
    measure: Measures = MEASURES,
    output: Outputs = None,
) -> None:
    """Compare strategies in pairs: differences, 95 % intervals and p values.

    Parameters
    ----------
    measure
        Measures, as for evaluate.
    output
        Files to write: .csv or .parquet for the values of each query, .svg, .png or .html for a
        chart of the differences, .md or .tex for a table with significant differences.
    """
    check_outputs(output, rankings.inputs, *RESULTS, *CHARTS, *TABLES)
    results = Evaluation.measure(rankings, measure, queries)
    options = vars(comparison) | vars(queries) | results.keys
    table = pg.compare(results.values, results.measures, **options)
    columns = ["grader", "measure", *(queries.segments or []), results.keys["strategy"]]
    columns += ["baseline", "queries", "clusters", "effective_queries"]
    columns += ["difference", "ci_low", "ci_high", "p_value", "p_corrected"]
    columns += ["wins", "ties", "losses"]
    shown = format_table(table.select(name for name in columns if name in table.columns))
    tests = table.select("test", "correction").unique(maintain_order=True)
    print_text("\n".join([shown, *(f"Test {a}, correction {b}." for a, b in tests.rows())]))
    tabulate = partial(pg.paper_table, results.values, results.measures, **options)
    charts = write_charts(lambda: pg.charts.comparison_forest(table))
    write_outputs(output, results.writers | charts | write_tables(tabulate))


@app.command
def gate(
    rankings: RankingOptions = BUILT_IN,
    *,
    options: Gate,
    queries: QueryOptions = ALIKE,
    measure: Measures = MEASURES,
    output: Outputs = None,
) -> int:
    """Decide whether each strategy is no worse than a baseline.

    The exit status is 0 if every verdict passes, 1 if any is worse, otherwise 3 (undecided); and 2
    for a wrong call, or for results that are not comparable.

    Parameters
    ----------
    measure
        Measures, as for evaluate.
    output
        Files to write: .csv or .parquet for the values of each query, .md for a summary of the
        verdicts.
    """
    check_outputs(output, [*rankings.inputs, Path(options.baseline)], *RESULTS, SUMMARY)
    is_file = Path(options.baseline).suffix.lower() in RESULTS
    baseline = Path(options.baseline) if is_file else options.baseline
    try:
        with print_warnings() as warnings:
            results = Evaluation.measure(rankings, measure, queries)
            keywords = vars(options) | vars(queries) | {"baseline": baseline} | results.keys
            verdicts = pg.gate(results.values, results.measures, **keywords)
    except ERRORS as error:
        refusal = write_summary("The gate was refused", [write_sentence(error)])
        summaries = [file for file in output or () if file.suffix.lower() == SUMMARY]
        write_outputs(summaries, {SUMMARY: partial(write_text, refusal)})
        raise
    failed = {*verdicts.filter(~pl.col("passes"))["verdict"]}
    status = 0 if not failed else 3 if failed == {"undecided"} else 1
    lines = [*verdicts["sentence"], *(f"Warning: {each}" for each in warnings)]
    summary = partial(write_text, write_summary(HEADLINES[status], lines))
    print_text("\n".join(verdicts["sentence"]))
    write_outputs(output, results.writers | {SUMMARY: summary})
    return status


@app.command
def report(
    rankings: RankingOptions = BUILT_IN,
    *,
    comparison: Comparison = ALL_PAIRS,
    queries: QueryOptions = ALIKE,
    title: str = "Strategies compared",
    measure: Measures = [*MEASURES, "r_precision", *CURVES],  # noqa: B006 (never changed)
    output: Outputs = None,
) -> None:
    """Write one HTML page that shows which strategy leads, and how sure that is.

    Parameters
    ----------
    title
        The title of the page.
    measure
        Measures, as for evaluate.
    output
        Files to write: .html for the page, report.html by default; .csv or .parquet for the values
        of each query.
    """
    outputs = output or [Path("report.html")]
    check_outputs(outputs, rankings.inputs, PAGE, *RESULTS)
    results = Evaluation.measure(rankings, measure, queries)
    keywords = results.keywords | vars(comparison) | vars(queries) | results.keys
    keywords["title"] = title
    keywords = select_keywords(pg.report, keywords) | {"frame": results.frame}

    def write_page(file: Path) -> None:
        pg.report(results.values, file, results.measures, *results.curves, **keywords)

    write_outputs(outputs, results.writers | {PAGE: write_page})
    print_text(f"Report: {', '.join(map(str, outputs))}")


@app.command
def similarity(
    rankings: RankingOptions = BUILT_IN,
    *,
    baseline: str | None = None,
    queries: QueryOptions = ALIKE,
    measure: Measures = SIMILARITIES,
    output: Outputs = None,
) -> None:
    """Compare the rankings of strategies, without judgments.

    Parameters
    ----------
    baseline
        The strategy to compare all others with; by default all pairs are compared.
    measure
        Measures of two rankings. Only relevant_entered and relevant_left need grades.
    output
        Files to write: .csv or .parquet for the values of each query, .svg, .png or .html for a
        chart of the means.
    """
    check_outputs(output, rankings.inputs, *RESULTS, *CHARTS)
    names, keys = parse_names(measure), rankings.keys
    frame, keywords = rankings.read(pg.similarity)
    values = pg.similarity(frame, names, baseline=baseline, **keywords)
    values = queries.add_to(values, frame, keys["query"])
    numbers = {name: each for name, each in names.items() if values.schema[name] != pl.List}
    # Pairs are not compared with each other, so the means of a pair are over its own queries.
    pairs = values.partition_by(keys["strategy"], maintain_order=True)
    options = keys | vars(queries) | {"missing": "drop"}
    summary = pl.concat([pg.summarise(pair, numbers, **options) for pair in pairs])
    columns = [keys["strategy"], "measure", *(queries.segments or [])]
    print_text(format_table(summary.select(*columns, *SHOWN_STATISTICS)))
    results = Evaluation(values, numbers, [], keys, frame, keywords)
    write_outputs(output, results.writers | write_charts(lambda: pg.charts.strategy_bars(summary)))


@app.command
def fuse(
    rankings: RankingOptions = BUILT_IN,
    *,
    method: str = "rrf",
    normalise: str = "min_max",
    weights: Annotated[list[float] | None, Parameter(consume_multiple=True)] = None,
    k: float = 60,
    output: Outputs = None,
) -> None:
    """Fuse the scores of several strategies into one score per document.

    Parameters
    ----------
    method
        rrf, borda, comb_sum, comb_max, comb_min, comb_med, comb_mnz, comb_anz or weighted_sum.
    normalise
        How to make scores comparable: min_max (by default), z, sum or rank.
    weights
        The weight of each strategy, for weighted_sum and rrf.
    k
        The constant of rrf; a higher value makes the top ranks less important.
    output
        Files to write: .csv or .parquet for the rows with a column fused, .run for a run of TREC.
    """
    check_outputs(output, rankings.inputs, *RESULTS, RUN)
    if not output:
        msg = "fuse needs a file to write: --output fused.run or --output fused.parquet"
        raise ValueError(msg)
    frame, keywords = rankings.read(pg.fuse)
    query, doc = rankings.keys["query"], rankings.doc or "doc"
    if any(file.suffix.lower() == RUN for file in output):
        check_columns("frame", [doc], frame.columns, argument="doc")
    if (strategy := rankings.keys["strategy"]) in frame.columns:
        scores = [*keywords.get("by", {"score": "score"}).values()]
        frame = frame.pivot(strategy, index=[*query, doc], values=scores)
        keywords["by"] = [name for name in frame.columns if name not in (*query, doc)]
    keywords |= {"method": method, "normalise": normalise, "weights": weights, "k": k}
    fused = pg.fuse(frame, **keywords)
    writers: Writers = dict.fromkeys(RESULTS, partial(write_rows, fused))
    writers[RUN] = partial(write_run, fused, query, doc, "fused")
    write_outputs(output, writers)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; on an error, print one sentence and exit with status 2."""
    tokens = sys.argv[1:] if arguments is None else arguments
    options: dict[str, Any] = {"exit_on_error": False, "print_error": False}
    try:
        with print_warnings():
            status = app(tokens, **options, result_action="return_value")
    except BrokenPipeError:
        status = UNREAD
    except (CycloptsError, *ERRORS) as error:
        print(f"polars-graded: error: {write_sentence(error)}", file=sys.stderr)
        status = WRONG_CALL
    except KeyboardInterrupt:
        print("polars-graded: stopped", file=sys.stderr)
        status = INTERRUPTED
    if status:
        sys.exit(status)
