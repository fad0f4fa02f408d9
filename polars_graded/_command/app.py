"""The subcommands: each reads rankings, calls public functions, and prints or writes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import polars as pl
from cyclopts import App, CycloptsError, Group, Parameter

import polars_graded as pg
from polars_graded._checks import check_columns, first_few
from polars_graded._command.gate_summary import HEADLINES, find_status, write_losses, write_summary
from polars_graded._command.messages import format_table, print_text, print_warnings, write_sentence
from polars_graded._command.outputs import (
    CHARTS,
    RESULTS,
    TABLES,
    Outputs,
    check_outputs,
    write_outputs,
    write_rows,
    write_run,
    write_text,
)
from polars_graded._command.rankings import (
    Rankings,
    Texts,
    check_no_commas,
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
    """The test of differences: t, wilcoxon, permutation, bootstrap or randomised_tukey."""
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
    test: str = "t"
    """The test that gives the intervals: t, permutation or bootstrap."""
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
class Queries:
    """Options for columns of the files that have one value per query."""

    cluster: Texts = None
    """The columns that identify independent units, such as the search term if the query is a term
    on a device."""
    weights: str | None = None
    """The column that states how much each query counts, such as its number of searches."""
    segments: Texts = None
    """The columns that divide the queries into segments with results of their own, such as the
    market."""

    @property
    def columns(self) -> dict[str, list[str]]:
        """Return the columns by option."""
        weights = [] if self.weights is None else [self.weights]
        return {"cluster": self.cluster or [], "weights": weights, "segments": self.segments or []}


BUILT_IN, ALL_PAIRS, ALIKE = Rankings(), Comparison(), Queries()


class Results(NamedTuple):
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

    @property
    def writers(self) -> dict[str, Callable[[Path], None]]:
        """Return the functions that write values, by suffix."""
        return dict.fromkeys(
            RESULTS, partial(pg.write_results, self.values, query=self.keys["query"])
        )


def evaluate_rankings(rankings: Rankings, measures: Sequence[str], queries: Queries) -> Results:
    """Evaluate rankings; the results know how they were measured."""
    names = parse_names(measures)
    frame, keywords = rankings.read(pg.evaluate)
    if "grade" not in (*keywords, *frame.columns):
        msg = "pass the judgments of runs as --qrels, or the column of grades as --grade"
        raise ValueError(msg)
    values = pg.evaluate(frame, names, **keywords, fingerprint=True)
    values = add_columns_of_queries(values, frame, rankings.keys["query"], queries)
    curves = [name for name in names if values.schema[name] == pl.List]
    numbers = {name: measure for name, measure in names.items() if name not in curves}
    return Results(values, numbers, curves, rankings.keys, frame, keywords)


def add_columns_of_queries(
    values: pl.DataFrame, frame: pl.DataFrame, key: list[str], queries: Queries
) -> pl.DataFrame:
    """Add columns of the files that the values of queries lack."""
    for option, names in queries.columns.items():
        for name in names:
            if name in values.columns:
                continue
            if name not in frame.columns:
                check_no_commas(option, names, frame.columns)
                msg = f"--{option} must name a column of the files, got {name!r}; there are "
                raise ValueError(msg + ", ".join(frame.columns))
            rows = frame.select(*key, name).unique(maintain_order=True)
            unclear = rows.filter(pl.struct(key).is_duplicated())
            if unclear.height:
                given = unclear.select(key).unique(maintain_order=True)
                is_filled = unclear.drop_nulls(name).height == given.height
                columns = ", ".join(map(repr, key))
                hint = f"\n\nHint: pl.col({name!r}).max().over({columns}) fills the nulls"
                msg = (
                    f"--{option} must name a column with one value per query, got "
                    f"{'nulls in some rows' if is_filled else 'several values'} of {name!r} in "
                    f"{given.height} of {rows.n_unique(key)} queries: {first_few(given.rows())}"
                    f"{hint if is_filled else ''}"
                )
                raise ValueError(msg)
            values = values.join(rows, on=key, how="left", nulls_equal=True, maintain_order="left")
    return values


@app.command
def evaluate(
    rankings: Rankings = BUILT_IN,
    *,
    queries: Queries = ALIKE,
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
    results = evaluate_rankings(rankings, measure, queries)
    values, measures, curves, keys, frame, keywords = results
    texts, options = [], keys | vars(queries)

    def summarise(**further: Any) -> pl.DataFrame:
        return pg.summarise(values, measures, **options | {"missing": "drop"} | further)

    if measures:
        # Means do not depend on clusters, so queries of several columns need no choice.
        independent = queries.cluster or keys["query"]
        texts.append(
            format_means(summarise(cluster=independent), keys["strategy"], queries.segments or [])
        )
    further: dict[str, Any] = {"weights": queries.weights, "segments": queries.segments}
    for curve in curves:
        points = pg.average_curves(frame, curve, **keywords, **further)
        *index, position, _ = points.columns
        if len(index) > 1:
            points = points.with_columns(pl.concat_str(index, separator=", ").alias(index[0]))
        wide = points.pivot(index[0], index=position, values=curve)
        texts.append(f"{curve}\n{format_table(wide)}")
    print_text("\n\n".join(texts))
    tabulate = partial(pg.paper_table, values, measures, **options)
    write_outputs(output, results.writers, lambda: pg.charts.strategy_bars(summarise()), tabulate)


def format_means(summary: pl.DataFrame, strategy: str, segments: Sequence[str]) -> str:
    """Return a table of means, the best strategy by the first measure first."""
    index = [name for name in ("grader", *segments, strategy) if name in summary.columns]
    means = summary.group_by(index).agg(pl.col("queries").max())
    means = means.join(summary.pivot("measure", index=index, values="mean"), on=index)
    first, is_falling = summary["measure"][0], summary["best"][0] != "lowest"
    order = [*index[:-1], first, index[-1]]
    means = means.sort(order, descending=[each == first and is_falling for each in order])
    counts = summary.group_by("measure", maintain_order=True).agg(pl.col("queries").min())
    notes = [
        f"{measure} has a value of every strategy for {n} queries."
        for measure, n in counts.rows()
        if not segments and n < summary["queries"].max()
    ]
    return "\n".join([format_table(means), *notes])


@app.command
def compare(
    rankings: Rankings = BUILT_IN,
    *,
    comparison: Comparison = ALL_PAIRS,
    queries: Queries = ALIKE,
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
    results = evaluate_rankings(rankings, measure, queries)
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
    write_outputs(output, results.writers, lambda: pg.charts.comparison_forest(table), tabulate)


@app.command
def gate(
    rankings: Rankings = BUILT_IN,
    *,
    options: Gate,
    queries: Queries = ALIKE,
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
        verdicts with the queries that lost most.
    """
    check_outputs(output, [*rankings.inputs, Path(options.baseline)], *RESULTS, SUMMARY)
    is_file = Path(options.baseline).suffix.lower() in RESULTS
    baseline = Path(options.baseline) if is_file else options.baseline
    try:
        with print_warnings() as warnings:
            values, measures, _, keys, *_ = results = evaluate_rankings(rankings, measure, queries)
            keywords = vars(options) | vars(queries) | {"baseline": baseline} | keys
            verdicts = pg.gate(values, measures, **keywords)
    except ERRORS as error:
        refusal = write_summary("The gate was refused", [write_sentence(error)])
        write_outputs(output, {SUMMARY: partial(write_text, refusal)})
        raise
    status = find_status(verdicts)

    def write_verdicts(file: Path) -> None:
        lines = [*verdicts["sentence"], *(f"Warning: {each}" for each in warnings)]
        older = pg.read_results(baseline) if is_file else values
        segments = queries.segments or []
        losses = write_losses(verdicts, values, older, keys, segments, queries.weights)
        write_text(write_summary(HEADLINES[status], lines, *losses), file)

    print_text("\n".join(verdicts["sentence"]))
    write_outputs(output, results.writers | {SUMMARY: write_verdicts})
    return status


@app.command
def report(
    rankings: Rankings = BUILT_IN,
    *,
    comparison: Comparison = ALL_PAIRS,
    queries: Queries = ALIKE,
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
    results = evaluate_rankings(rankings, measure, queries)
    keywords = results.keywords | vars(comparison) | vars(queries) | results.keys
    keywords["title"] = title
    keywords = select_keywords(pg.report, keywords) | {"frame": results.frame}

    def write_page(file: Path) -> None:
        pg.report(results.values, file, results.measures, *results.curves, **keywords)

    write_outputs(outputs, results.writers | {PAGE: write_page})
    print_text(f"Report: {', '.join(map(str, outputs))}")


@app.command
def similarity(
    rankings: Rankings = BUILT_IN,
    *,
    baseline: str | None = None,
    queries: Queries = ALIKE,
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
    values = add_columns_of_queries(values, frame, keys["query"], queries)
    numbers = {name: each for name, each in names.items() if values.schema[name] != pl.List}
    # Pairs are not compared with each other, so the means of a pair are over its own queries.
    pairs = values.partition_by(keys["strategy"], maintain_order=True)
    options = keys | vars(queries) | {"missing": "drop"}
    summary = pl.concat([pg.summarise(pair, numbers, **options) for pair in pairs])
    columns = [keys["strategy"], "measure", *(queries.segments or [])]
    print_text(format_table(summary.select(*columns, *SHOWN_STATISTICS)))
    results = Results(values, numbers, [], keys, frame, keywords)
    write_outputs(output, results.writers, lambda: pg.charts.strategy_bars(summary))


@app.command
def fuse(
    rankings: Rankings = BUILT_IN,
    *,
    method: str = "rrf",
    normalise: str = "default",
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
    query, doc = rankings.keys["query"], keywords.get("doc", "doc")
    if any(file.suffix.lower() == RUN for file in output):
        check_columns("frame", [doc], frame.columns, argument="doc")
        if len(query) > 1:
            msg = (
                f"a run has one column of queries, got {', '.join(query)}\n\n"
                "Hint: --output fused.parquet writes all columns"
            )
            raise ValueError(msg)
    if (strategy := rankings.keys["strategy"]) in frame.columns:
        scores = [*keywords.get("by", {"score": "score"}).values()]
        frame = frame.pivot(strategy, index=[*query, doc], values=scores)
        keywords["by"] = [name for name in frame.columns if name not in (*query, doc)]
    keywords |= {"method": method, "normalise": normalise, "weights": weights, "k": k}
    fused = pg.fuse(frame, **keywords)
    writers = dict.fromkeys(RESULTS, partial(write_rows, fused))
    write_outputs(output, writers | {RUN: partial(write_run, fused, query[0], doc, "fused")})


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
