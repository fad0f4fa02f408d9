"""Run the command: read rankings, print tables and write files."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from inspect import signature
from pathlib import Path
from typing import Any

import polars as pl

from polars_graded._command.files import read_rows
from polars_graded._command.parser import REPORT_MEASURES, Arguments, Parser, find_summary_file
from polars_graded._command.rules import check_options
from polars_graded._command.sentences import write_for_the_shell
from polars_graded._command.tables import (
    escape_control_characters,
    find_output_encoding,
    write_tables,
)
from polars_graded._frames.evaluating import evaluate
from polars_graded._frames.list_pairs import similarity
from polars_graded._frames.request import Request
from polars_graded._measuring.ranking import DOCUMENT_INPUTS
from polars_graded._report.page import report
from polars_graded._results.comparability import CHANGES, NotComparableError
from polars_graded._results.comparing import compare, summarise
from polars_graded._results.gating import (
    DEFAULT_MARGIN,
    FAILING_VERDICTS,
    decide_verdicts,
    pair_with_baseline,
    write_gate_summary,
)
from polars_graded._results.keys import Keys
from polars_graded._results.result_files import write_results
from polars_graded._results.significance import Options
from polars_graded._sentences import join_words
from polars_graded._sentences.gates import write_refusal
from polars_graded._warnings import DataWarning
from polars_graded._writing import write_atomically

EXIT_STATUS: dict[str, int] = {**dict.fromkeys(FAILING_VERDICTS, 1), "undecided": 3}
"""Exit status of the gate for each failing verdict. If strategies have different verdicts, the
worst verdict decides. The status is 0 if all strategies pass."""

INTERRUPTED_STATUS, UNREAD_STATUS = 130, 141
"""Exit status that a shell reports after Ctrl-C, and after a write to a closed pipe."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; on an error, print one sentence and exit with status 2."""
    parser = Parser()
    arguments = sys.argv[1:] if arguments is None else arguments
    _let_interrupts_end_reads()
    try:
        with _write_refusal_on_error(find_summary_file(arguments)):
            status = _run(parser, parser.parse(arguments))
    except (OSError, ImportError) as error:
        parser.fail(escape_control_characters(write_for_the_shell(error)))
    except (ValueError, TypeError, pl.exceptions.PolarsError) as error:
        sentence = escape_control_characters(write_for_the_shell(error))
        parser.fail(f"{sentence}\nsee {parser.prog} --help")
    except KeyboardInterrupt:
        print("polars-graded: stopped", file=sys.stderr)
        status = INTERRUPTED_STATUS
    if status:
        sys.exit(status)


def _let_interrupts_end_reads() -> None:
    """Let Ctrl-C end a read of a pipe that nothing writes to.

    Polars handles the signal before Python does. Without this setting, the system would restart
    the read after Polars has handled the signal.
    """
    if hasattr(signal, "siginterrupt") and threading.current_thread() is threading.main_thread():
        signal.siginterrupt(signal.SIGINT, True)  # noqa: FBT003 (its only form)


@contextmanager
def _write_refusal_on_error(markdown: Path | None) -> Iterator[None]:
    """Write an error into the Markdown summary of the gate, and raise it again.

    A CI pipeline publishes the summary. If the error were not written, the file could still contain
    the summary of an earlier run, whose verdict is about another change to the code.
    """
    try:
        yield
    except (OSError, ValueError, TypeError, ImportError, pl.exceptions.PolarsError) as error:
        if markdown is not None:
            reason = write_for_the_shell(error)
            with _name_file_in_errors(markdown), write_atomically(markdown) as output:
                output.write_text(write_refusal(reason), encoding="utf-8")
        raise


def _run(parser: Parser, arguments: Arguments) -> int:
    """Run the command and return the exit status."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        if arguments.qrels:
            # `DataWarning.join` says that a join may have lost judged documents that were not
            # retrieved. The join of the runs with --qrels loses no judged documents.
            warnings.simplefilter("ignore", DataWarning.join)
        if arguments.unjudged_below is not None:
            warnings.filterwarnings("ignore", ".* below 0 counts? as judged", DataWarning.scale)
        check_options(arguments)
        printed, status = _evaluate(arguments, caught)
    for warning in dict.fromkeys(write_for_the_shell(each.message) for each in caught):
        print(f"warning: {escape_control_characters(warning)}", file=sys.stderr)
    _print(parser, printed)
    return status


def _evaluate(arguments: Arguments, caught: Sequence[warnings.WarningMessage]) -> tuple[str, int]:
    """Write the requested files; return the text to print and the exit status."""
    frame, columns = read_rows(arguments)
    inputs_of_files = {name: columns.pop(name) for name in DOCUMENT_INPUTS if name in columns}
    scale = {name: vars(arguments)[name] for name in ("max_grade", "undefined_as", "condensed")}
    names = {name: measure.name for name, measure in arguments.measures.items()}
    report_measures = [name for name in REPORT_MEASURES if arguments.report and name not in names]
    names |= dict(zip(report_measures, report_measures, strict=True))
    doc = None
    if arguments.similarity:
        keys = {name: columns[name] for name in signature(similarity).parameters if name in columns}
        evaluated: Any = similarity(frame, names, **keys, baseline=arguments.baseline)
    elif arguments.per_query or arguments.gate:
        request, *_ = Request.of_graders(["n_retrieved"], **columns)
        doc = request.with_document_column(frame.collect_schema()).document
    if not arguments.similarity:
        inputs = {name: vars(arguments)[name] for name in DOCUMENT_INPUTS} | inputs_of_files
        evaluated = evaluate(frame, names, **columns, **scale, **inputs, fingerprint=doc)
    evaluated = evaluated.lazy().collect()
    per_query = evaluated.drop(report_measures)
    printed, status = write_tables(per_query, arguments), 0
    if arguments.gate:
        messages = [write_for_the_shell(warning.message) for warning in caught]
        verdicts, status = _compare_with_baseline(per_query, arguments, messages)
        printed += f"\n\n{verdicts}"
    if arguments.per_query:
        with _name_file_in_errors(arguments.per_query):
            write_results(per_query, arguments.per_query, query=arguments.query_columns)
    if arguments.chart:
        _write_chart(per_query, arguments, arguments.chart)
    if arguments.report:
        with _name_file_in_errors(arguments.report):
            options = _report_options(frame, columns | scale, arguments)
            page = report(evaluated, arguments.report, names, **options)
        printed += f"\n\nReport: {escape_control_characters(str(page))}"
    return printed, status


def _print(parser: Parser, text: str) -> None:
    """Print to standard output in its encoding; exit silently if the pipe is closed."""
    encoding = find_output_encoding()
    try:
        print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)
    except OSError as error:
        # Python flushes standard output at exit. This flush would fail like the write above, so
        # standard output is redirected to the null device.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if error.errno in (errno.EPIPE, errno.EINVAL):  # Windows reports EINVAL
            sys.exit(UNREAD_STATUS)
        parser.fail(f"{error.strerror}: standard output")


@contextmanager
def _name_file_in_errors(path: Path) -> Iterator[None]:
    """Add the name of a file to an error that occurs while writing the file.

    Errors of Polars do not name the file.
    """
    try:
        yield
    except (OSError, pl.exceptions.ComputeError) as error:
        if isinstance(error, OSError) and error.filename:
            raise
        msg = f"{path} could not be written, and is unchanged: {error}"
        raise OSError(msg) from None


def _compare_with_baseline(
    per_query: pl.DataFrame,
    arguments: Arguments,
    messages: Sequence[str],
) -> tuple[str, int]:
    """Return the verdicts of the gate and the exit status.

    If --markdown names a file, also write the summary of the gate to this file.
    """
    best = {name: arguments.scalar_measures[name] for name in arguments.gate_measures}
    # If --undefined-as is not a number, a measure may be undefined for a query and its value null.
    # `missing_values` is then "drop", so the comparison leaves out this query.
    keys: Keys = {
        "strategy": "strategy",
        "query": arguments.query_columns,
        "missing": arguments.missing_values,
    }
    changes = {name: vars(arguments)[name] or "same" for name in CHANGES}
    changes["missing"] = arguments.missing or "error"
    baseline = arguments.baseline_file or arguments.baseline
    try:
        matched = pair_with_baseline(
            per_query, [best], baseline, None, keys, changes, arguments.cluster
        )
    except NotComparableError as error:
        difference = error.difference.replace("`per_query` lacks", "the runs lack").replace(
            "`per_query`", "the runs"
        )
        difference = difference.replace("`baseline`", "the --baseline")
        msg = (
            f"--gate refuses what is not comparable: {difference}; "
            f"--{error.argument} {error.value} allows it"
        )
        raise ValueError(msg) from None
    verdicts = decide_verdicts(
        matched,
        DEFAULT_MARGIN if arguments.margin is None else arguments.margin,
        Options(arguments.comparison["test"], "none"),
    )
    if arguments.markdown:
        with (
            _name_file_in_errors(arguments.markdown),
            write_atomically(arguments.markdown) as output,
        ):
            output.write_text(write_gate_summary(matched, verdicts, messages), encoding="utf-8")
    status = next(
        (EXIT_STATUS[each] for each in FAILING_VERDICTS if each in {*verdicts["verdict"]}), 0
    )
    return "\n".join(map(escape_control_characters, verdicts["sentence"])), status


def _write_chart(per_query: pl.DataFrame, arguments: Arguments, file: Path) -> None:
    """Write the chart of the comparison or of the means."""
    from polars_graded import charts

    options = arguments.comparison
    if arguments.trusted is not None:
        means = summarise(per_query, arguments.scalar_measures, trusted=arguments.trusted)
        chart: Any = charts.comparison_forest(means)
    elif options["baseline"] is not None:
        chart = charts.comparison_forest(compare(per_query, arguments.scalar_measures, **options))
    else:
        keys = {name: options[name] for name in ("query", "missing", "cluster")}
        chart = charts.strategy_bars(summarise(per_query, arguments.scalar_measures, **keys))
    with _name_file_in_errors(file), write_atomically(file) as output:
        kind = file.suffix.lower().removeprefix(".")
        chart.save(str(output), format=kind, **({"inline": True} if kind == "html" else {}))


def _report_options(
    frame: pl.DataFrame | pl.LazyFrame, columns: Mapping[str, Any], arguments: Arguments
) -> dict[str, Any]:
    """Return the keywords of `report`: how to compare strategies, and the ranked rows."""
    options = arguments.comparison | {"trusted": arguments.trusted}
    del options["cluster"]  # a rule refuses --cluster with --report
    if isinstance(frame, pl.LazyFrame):
        msg = "the runs may exceed memory, so the report shows no documents"
        warnings.warn(msg, stacklevel=2)
        return options
    settings = {}
    if arguments.unjudged_below is not None:
        settings["Judgments"] = f"none below grade {arguments.unjudged_below:g}"
    if arguments.undefined_as == "default":
        measures = arguments.measures.items()
        undefined = [name for name, measure in measures if measure.definition.needs_pairs]
        texts = ["count as 0"] if len(undefined) < len(measures) else []
        texts += [f"are left out of {join_words(undefined)}"] if undefined else []
        settings["Queries without a relevant document"] = join_words(texts)
    if arguments.trusted is not None:
        columns = {**columns, "grade": arguments.trusted}
    return {
        **options,
        "strategy": "strategy",
        **columns,
        "frame": frame,
        "doc": columns.get("doc", "doc" if "doc" in frame.columns else None),
        "settings": settings,
    }
