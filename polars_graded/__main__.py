"""`python -m polars_graded`: rankings in files, or a built-in example, to a table of measures."""

from __future__ import annotations

import argparse
import errno
import os
import signal
import sys
import threading
import unicodedata
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, get_args

import polars as pl
import polars.selectors as cs

from polars_graded import __version__, datasets
from polars_graded._checks import check_columns, said
from polars_graded._frames.evaluating import evaluate
from polars_graded._frames.frame_files import SEPARATORS, read_frame
from polars_graded._frames.judging import judge
from polars_graded._frames.memory import memory_at_hand
from polars_graded._frames.reading import names_apart, read_letor, read_qrels, read_run, scan_run
from polars_graded._measuring.definitions import DEFINITIONS, Best
from polars_graded._measuring.names import Measure
from polars_graded._measuring.ranking import Undefined
from polars_graded._measuring.tie_orders import TOOLS
from polars_graded._report.page import drawing_scripts, report
from polars_graded._results.comparability import CHANGES, Change, NotComparableError
from polars_graded._results.comparing import compare, summarise
from polars_graded._results.forms import WRITERS, paper_table
from polars_graded._results.gating import BAD, gate_summary, held_against, verdicts_of
from polars_graded._results.keys import GRADER, Keys, split_by_grader
from polars_graded._results.per_query import bests, curve_means
from polars_graded._results.result_files import write_results
from polars_graded._results.significance import CORRECTIONS, TESTS, Options, TestName, correction_of
from polars_graded._sentences import listed, p_said
from polars_graded._writing import check_writable, whole_file

MEASURES = ["mu_ap", "ndcng@10", "ndcg@10", "ap", "precision@10"]
SUFFIXES: dict[str, tuple[str, ...]] = {
    "--per-query": (".csv", ".parquet"),
    "--report": (".html", ".htm"),
    "--chart": (".svg", ".png", ".html"),
    "--markdown": (".md", ".markdown"),
}
EXIT_STATUS: dict[str, int] = {**dict.fromkeys(BAD, 1), "undecided": 3}
"""Exit status of the worst verdict of a gate; it is 0 if all pass."""
OF_REPORT = ["r_precision", "dcg_curve@20", "ideal_dcg_curve@20", "interpolated_precision"]
"""What a report shows beside the measures that are asked for."""
SCALE = ("highest", "undefined_as", "condensed")
"""Options that `evaluate` takes under the same names."""
MOST_RANKS = 10_000
"""Each is a column of the table that is printed."""
BYTES_OF_A_BYTE = 8
"""How many bytes of memory one of a file may take, be it compressed, and what is made of it."""
STOPPED, UNREAD = 130, 141
"""What a shell reports of a program that Ctrl-C ended, and of one whose output nobody reads."""
LINES, PLAIN = "UTF8_FULL_CONDENSED", "ASCII_FULL_CONDENSED"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; exit with code 2 and one sentence where it cannot."""
    parser = _parser()
    _let_ctrl_c_end_a_read()
    try:
        status = _run(parser, parser.parse_args(arguments))
    except OSError as error:
        named = error.strerror and error.filename
        parser.fail(_printable(f"{error.strerror}: {error.filename}" if named else str(error)))
    except (ValueError, TypeError, pl.exceptions.PolarsError) as error:
        parser.error(_printable(said(error).split("\n", maxsplit=1)[0]))
    except ImportError as error:
        parser.fail(str(error))
    except KeyboardInterrupt:
        print("polars-graded: stopped", file=sys.stderr)
        status = STOPPED
    if status:
        sys.exit(status)


class _Parser(argparse.ArgumentParser):
    """What says in one sentence why it cannot, without its whole usage before."""

    def fail(self, sentence: str) -> NoReturn:
        """Exit where what was asked for cannot be done."""
        self.exit(2, f"{self.prog}: error: {sentence}\n")

    def error(self, message: str) -> NoReturn:
        """Exit where something else can be asked for."""
        self.fail(f"{message}\nsee {self.prog} --help")


def _let_ctrl_c_end_a_read() -> None:
    """Have Ctrl-C end a read of a pipe that nobody writes to.

    Polars handles the signal before Python does, and has the system begin such a read again.
    """
    if hasattr(signal, "siginterrupt") and threading.current_thread() is threading.main_thread():
        signal.siginterrupt(signal.SIGINT, True)  # noqa: FBT003 (its only form)


def _run(parser: _Parser, options: argparse.Namespace) -> int:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        measures = _check_options(options)
        added = [name for name in OF_REPORT if options.report and name not in measures]
        frame, ranked = _ranked(options)
        scale = {name: vars(options)[name] for name in SCALE}
        shown = {name: measure.name for name, measure in measures.items()}
        shown |= dict(zip(added, added, strict=True))
        files = options.per_query or options.gate
        doc = "doc" if files and "doc" in frame.collect_schema() else None
        evaluated = evaluate(frame, shown, **ranked, **scale, fingerprint=doc).lazy().collect()
        per_query = evaluated.drop(added)
        printed = _printed(per_query, measures, options)
        status = 0
        if options.gate:
            told = [said(warning.message) for warning in caught]
            verdicts, status = _gated(per_query, measures, options, told)
            printed += f"\n\n{verdicts}"
        if options.per_query:
            _write(per_query, options)
        if options.chart:
            _draw(per_query, measures, options)
        if options.report:
            with _named(options.report):
                about = _shown_too(frame, ranked | scale, measures, options)
                page = report(evaluated, options.report, shown, **about)
            printed += f"\n\nReport: {_printable(str(page))}"
    for warning in caught:
        print(f"warning: {_printable(said(warning.message))}", file=sys.stderr)
    _print(parser, printed)
    return status


def _print(parser: _Parser, text: str) -> None:
    """To standard output, in the characters that it has; in silence where nobody reads it."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)
    except OSError as error:
        # What is left in the buffer would fail once more when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if error.errno in (errno.EPIPE, errno.EINVAL):  # the latter on Windows
            sys.exit(UNREAD)
        parser.fail(f"{error.strerror}: standard output")


def _printable(text: str) -> str:
    """The text, its control characters spelt out, which could move the cursor or turn a line."""
    return "".join(
        char.encode("unicode_escape").decode()
        if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")
        else char
        for char in text
    )


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Name the file in an error of writing it: Polars says what went wrong, not where."""
    try:
        yield
    except (OSError, pl.exceptions.ComputeError) as error:
        if isinstance(error, OSError) and error.filename:
            raise
        msg = f"{path} could not be written, and is as it was: {error}"
        raise OSError(msg) from None


HELP = {
    "--frame": "a frame of rankings in .csv, .tsv or .parquet files, one row per query and "
    "document with its grade and a score per strategy; --query, --grade and --by name the columns",
    "--query": "the column of a --frame that names the query, or several; query by default",
    "--by": "the columns of a --frame to rank by, each a strategy, also under a name of its own, "
    "as in ours=new_score; score by default",
    "--descending": "whether the highest value of --by is ranked first: true (by default) or "
    "false, for ranks; or for each strategy, as in old_rank=false",
    "--doc": "the column of a --frame that names the document, which breaks ties; doc by default",
    "--letor": "LETOR (SVMlight) files, plain or gzip, or .parquet files with columns query, grade "
    "and scores",
    "--qrels": "a TREC judgment file and the runs to judge, plain or gzip, or .parquet files with "
    "columns query, doc and grade or score; of several graders: --qrels people=FILE --qrels "
    "model=FILE RUN",
    "--trusted": "the grader whose grades count, where they judged a random sample of the queries: "
    "means and differences as they would have them of all queries",
    "--strategy": "the features of a LETOR file to rank by, such as f1 f9; all by default; of a "
    "--frame the column that tells stacked strategies apart",
    "--grade": "the column of grades in a LETOR file or a --frame",
    "--measure": "what to measure, also under a name of its own, as in 'AP=ap(threshold=2)'; "
    f"{' '.join(MEASURES)} by default",
    "--irrelevant": "the grade that means not relevant, 0 by default; 1 for stars from 1 to 5",
    "--highest": "the highest grade that the scale has",
    "--relevant-from": "the lowest grade that is relevant, for measures with gains too, which "
    "lower grades do not have; any above irrelevant by default",
    "--undefined-as": "what a query without a relevant document gets; 0 by default, and none for "
    "roc_auc; none leaves it out of means and comparisons",
    "--condensed": "drop documents that were not judged from the rankings",
    "--unjudged-below": "a judgment with a lower grade is none, as in trec_eval with 0, where -1 "
    "marks documents that were pooled and not judged",
    "--ties": "what breaks ties: the document, descending (by default, with a warning where that "
    "decides a value), the order of rows, or what another tool does",
    "--baseline": "the strategy to compare all others with; all pairs with --test or --correction "
    "alone; with --gate also a .parquet or .csv file that --per-query wrote",
    "--gate": "the measures by which to say whether each strategy is no worse than the --baseline; "
    "the exit status is then 0 if all pass, 1 if one is worse, 3 if one is undecided",
    "--margin": "by how much a mean may be worse and still count as no worse; 0.01 by default",
    "--missing": "drop allows --gate to leave out queries that one of both lacks",
    "--judgments": "changed allows --gate a baseline measured with other judgments",
    "--formulas": "changed allows --gate a baseline whose measures have other formulas",
    "--scale": "changed allows --gate a baseline on another scale, or with another order of ties",
    "--markdown": "write what --gate says to a .md file, with the queries that lost most",
    "--test": "how to test differences; t by default",
    "--correction": "how to correct p values for their number; holm by default",
    "--format": "how to print what is measured: as text, or as a paper's table in Markdown, LaTeX "
    "or HTML, with the best in bold and letters for what is significantly worse",
    "--per-query": "write the values of every strategy and query to a .csv or .parquet file",
    "--chart": "draw a .svg, .png or .html file: differences to the --baseline with their "
    "intervals, what --trusted grades say, or else the mean of each strategy",
    "--report": "write one .html page that shows which strategy leads and how sure that is, with "
    "differences, curves, queries and their documents, linked; it needs no network; beside what is "
    f"measured it has {', '.join(OF_REPORT)}",
}
"""What each option is for."""


def _parser() -> _Parser:
    named = [name for name, definition in DEFINITIONS.items() if not definition.known]
    parser = _Parser(
        prog="polars-graded",
        description="Measure rankings with graded relevance. Without files, artificial rankings "
        "of known quality are measured: 100 documents per query, grades 0 to 4, and strategies "
        "that swap 5, 20 and 60 pairs of the ideal order.",
        epilog=f"Measures: {', '.join(named)}. A cutoff follows an @, options stand in "
        "brackets: 'ndcg@10', 'ap(threshold=2)@100', 'dcg(gain=linear, discount=zipf)'.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    files = parser.add_mutually_exclusive_group()

    def option(name: str, to: Any = parser, **settings: Any) -> None:
        to.add_argument(name, help=HELP[name], **settings)

    option("--frame", to=files, nargs="+", metavar="FILE")
    option("--letor", to=files, nargs="+", metavar="FILE")
    option("--qrels", to=files, nargs="+", action="append", metavar=("FILE", "RUN"))
    option("--query", nargs="+", metavar="COLUMN")
    option("--by", nargs="+", metavar="COLUMN")
    option("--descending", nargs="+", metavar="BOOLEAN")
    option("--doc", metavar="COLUMN")
    option("--trusted", metavar="NAME")
    option("--strategy", nargs="+", metavar="COLUMN")
    option("--grade", default="grade", metavar="COLUMN")
    option("--measure", nargs="+", metavar="NAME")
    option("--irrelevant", type=float, default=0.0, metavar="GRADE")
    option("--highest", type=float, metavar="GRADE")
    option("--relevant-from", type=float, metavar="GRADE")
    option("--undefined-as", type=_undefined, default="default", metavar="VALUE")
    option("--condensed", action="store_true")
    option("--unjudged-below", type=float, metavar="GRADE")
    option("--ties", choices=("doc", "order", *TOOLS))
    option("--baseline", metavar="NAME")
    option("--gate", nargs="+", metavar="NAME")
    option("--margin", type=float, default=0.01, metavar="DIFFERENCE")
    option("--missing", choices=("error", "drop"))
    for change in CHANGES:
        option(f"--{change}", choices=get_args(Change))
    option("--markdown", type=Path, metavar="FILE")
    option("--test", choices=TESTS)
    option("--correction", choices=CORRECTIONS)
    option("--format", choices=("text", *WRITERS), default="text")
    option("--per-query", type=Path, metavar="FILE")
    option("--chart", type=Path, metavar="FILE")
    option("--report", type=Path, metavar="FILE")
    return parser


def _under_names(measures: Iterable[str]) -> dict[str, Measure]:
    """The measures under their names, or the names of their own: `AP=ap(threshold=2)`."""
    found: dict[str, Measure] = {}
    for text in measures:
        own, is_named, meant = text.partition("=")
        if not is_named or "(" in own:
            own = meant = text
        if not own:
            msg = f"--measure must have a name before its '=', got {text!r}"
            raise ValueError(msg)
        if own in found:
            msg = f"each measure must be named once, got {own} more often"
            raise ValueError(msg)
        found[own] = measure = Measure.parse(meant)
        if own != meant and measure.is_curve:
            msg = f"a curve keeps its name, got {text!r}"
            raise ValueError(msg)
    return found


def _check_options(options: argparse.Namespace) -> dict[str, Measure]:
    """The measures that are asked for; what is wrong is said before large files are read."""
    measures = _under_names(options.measure or options.gate or MEASURES)
    files = _check_graders(options)
    _check_gate(measures, options)
    for measure in measures.values():
        if measure.is_curve and (measure.n or 0) > MOST_RANKS:
            msg = f"a curve to print has a cutoff of at most {MOST_RANKS}, got '{measure.name}'"
            raise ValueError(msg)
        if measure.is_curve and measure.positions is None:
            msg = f"a curve needs a cutoff to be averaged, such as '{measure.function}@20'"
            raise ValueError(msg)
    if options.format != "text" and all(measure.is_curve for measure in measures.values()):
        msg = f"--format {options.format} needs a measure with one value per query, got curves"
        raise ValueError(msg)
    for option, suffixes in SUFFIXES.items():
        path = vars(options)[option.strip("-").replace("-", "_")]
        if path and path.suffix.lower() not in suffixes:
            kinds = " or a ".join(suffixes)
            msg = f"{option} takes a {kinds} file, got {str(path)!r}"
            raise ValueError(msg)
        if path:
            check_writable(path, [*(options.letor or options.frame or []), *files])
    _check_drawn(measures, options)
    if options.unjudged_below is not None and not options.qrels:
        msg = "--unjudged-below is of judgments, so it needs --qrels"
        raise ValueError(msg)
    if (options.strategy or options.grade != "grade") and not (options.letor or options.frame):
        msg = "--strategy and --grade name columns of files, so they need --frame or --letor"
        raise ValueError(msg)
    _check_frame_options(options)
    if repeated := [name for name, n in Counter(options.strategy or []).items() if n > 1]:
        msg = f"--strategy takes each column once, got {', '.join(repeated)} more often"
        raise ValueError(msg)
    return measures


def _check_drawn(measures: Mapping[str, Measure], options: argparse.Namespace) -> None:
    """Raise where a report or a chart cannot be drawn."""
    if options.report or options.chart:
        drawing_scripts()
    if options.chart and all(measure.is_curve for measure in measures.values()):
        msg = "--chart needs a measure with one value per query, got curves"
        raise ValueError(msg)
    if options.report and options.ties in TOOLS:
        msg = f"--report shows documents in one order, so it takes --ties doc, got {options.ties}"
        raise ValueError(msg)


def _check_frame_options(options: argparse.Namespace) -> None:
    """Raise where an option is of a --frame, and there is none, or of something else."""
    of_frame = {f"--{name}": vars(options)[name] for name in ("query", "by", "descending", "doc")}
    given = [name for name, value in of_frame.items() if value is not None]
    if given and not options.frame:
        msg = f"{given[0]} is of a frame of rankings, so it needs --frame"
        raise ValueError(msg)
    if options.descending is not None:
        _descending(options.descending)
    if options.frame and len(options.strategy or []) > 1:
        msg = (
            "--strategy takes the one column of a --frame that tells stacked strategies apart, got "
            f"{', '.join(options.strategy)}; --by takes columns to rank by"
        )
        raise ValueError(msg)
    columns = [name for file in options.letor or [] for name in SEPARATORS if name in file.lower()]
    if columns:
        msg = f"--letor takes lines of LETOR's format; a {columns[0]} file is read by --frame"
        raise ValueError(msg)


def _columns_by_name(texts: Sequence[str], option: str) -> dict[str, str]:
    """Return what stands behind each name of an option, as in `ours=new_score`."""
    named: dict[str, str] = {}
    for text in texts:
        name, separator, value = text.partition("=")
        value = value if separator else name
        if not (name and value) or name in named:
            msg = f"{option} takes each name once, as COLUMN or NAME=COLUMN, got {text!r}"
            raise ValueError(msg)
        named[name] = value
    return named


def _descending(texts: Sequence[str]) -> bool | dict[str, bool]:
    """Return whether the highest value comes first, of all strategies or of each that is named."""
    flags = {"true": True, "false": False}
    if len(texts) == 1 and texts[0].lower() in flags:
        return flags[texts[0].lower()]
    named = [text.rpartition("=") for text in texts]
    if not all(name and flag.lower() in flags for name, _, flag in named):
        msg = f"--descending takes true, false or NAME=false, got {' '.join(texts)}"
        raise ValueError(msg)
    return {name: flags[flag.lower()] for name, _, flag in named}


def _framed(options: argparse.Namespace) -> tuple[pl.DataFrame, dict[str, Any]]:
    """The rows of a --frame, and which of their columns say what."""
    names = {} if options.doc is None else {options.doc: "doc"}
    ranked: dict[str, Any] = {"query": options.query or ["query"], "grade": options.grade}
    if options.strategy:
        names[options.strategy[0]] = ranked["strategy"] = "strategy"
    frame = read_frame(options.frame, names)
    _check_not_empty(frame, *options.frame)
    by = _columns_by_name(options.by or ["score"], "--by")
    check_columns(", ".join(options.frame), [*ranked["query"], options.grade], frame.schema)
    check_columns(", ".join(options.frame), by.values(), frame.schema)
    if options.descending is not None:
        ranked["descending"] = _descending(options.descending)
    return frame, ranked | {"by": by}


def _check_gate(measures: Mapping[str, Measure], options: argparse.Namespace) -> None:
    """Raise where a gate lacks something, or something lacks its gate."""
    if options.gate and options.baseline is None:
        msg = "--gate needs a --baseline to hold strategies against"
        raise ValueError(msg)
    if missing := [name for name in _under_names(options.gate or []) if name not in measures]:
        msg = f"--gate takes what --measure names, got {', '.join(missing)}"
        raise ValueError(msg)
    if not options.gate and any(vars(options)[name] for name in (*CHANGES, "missing")):
        msg = "--missing, --judgments, --formulas and --scale allow what --gate refuses, so need it"
        raise ValueError(msg)
    if not options.gate and (options.markdown or _is_file(options.baseline)):
        msg = "--markdown, and a file as --baseline, need --gate with the measures that decide"
        raise ValueError(msg)


def _is_file(baseline: str | None) -> bool:
    """Whether a baseline is a file of results."""
    return baseline is not None and Path(baseline).suffix.lower() in SUFFIXES["--per-query"]


def _check_graders(options: argparse.Namespace) -> list[str]:
    """The files of judgments and runs; raise where no grader is called as the trusted one."""
    qrels, runs = _graders_and_runs(options)
    graders = [name for name in qrels if name]
    if options.trusted is not None and (options.trusted not in graders or len(graders) < 2):  # noqa: PLR2004
        msg = (
            f"--trusted must be one of several graders, got {options.trusted!r} of "
            f"{', '.join(graders) or 'none'}"
        )
        raise ValueError(msg)
    if len(graders) > 1 and options.gate:
        msg = (
            f"--gate goes by the judgments of one grader, got those of {', '.join(graders)}: "
            "pass the file of one, as in --qrels FILE RUN"
        )
        raise ValueError(msg)
    given = {"--report": options.report, "--chart": options.chart}
    given[f"--format {options.format}"] = options.format != "text"
    if len(graders) > 1 and options.trusted is None and any(given.values()):
        option = next(name for name, is_given in given.items() if is_given)
        msg = f"{option} goes by the grades of one grader, so it needs --trusted to name one"
        raise ValueError(msg)
    return [*qrels.values(), *runs]


def _undefined(text: str) -> Undefined:
    if text == "default":
        return "default"
    return None if text.lower() == "none" else float(text)


def _ranked(options: argparse.Namespace) -> tuple[pl.DataFrame | pl.LazyFrame, dict[str, Any]]:
    """The rows to measure, and which of their columns say what."""
    ranked = {name: vars(options)[name] for name in ("irrelevant", "relevant_from")}
    frame: pl.DataFrame | pl.LazyFrame
    if options.frame:
        frame, of_frame = _framed(options)
        ranked |= of_frame
    elif options.qrels:
        qrels, runs = _graders_and_runs(options)
        frame = _judged(qrels, runs, unjudged_below=options.unjudged_below)
        # A run's highest score comes first, whatever numbers its scores are.
        ranked |= {"by": ["score"], "strategy": "strategy", "descending": True}
        if None not in qrels:
            ranked["grade"] = [*qrels]
    else:
        frame = _features(options.letor) if options.letor else datasets.example()
        _check_not_empty(frame, *(options.letor or []))
        keys = ("query", "doc", "grade", options.grade)
        features = [name for name in frame.columns if name not in keys]
        ranked |= {"by": options.strategy or features, "grade": options.grade}
    if not ranked["by"]:
        msg = f"{', '.join(options.letor)} must have a feature to rank by, got none"
        raise ValueError(msg)
    ranked["ties"] = options.ties
    return frame, ranked


def _shown_too(
    frame: pl.DataFrame | pl.LazyFrame,
    ranked: Mapping[str, Any],
    measures: Mapping[str, Measure],
    options: argparse.Namespace,
) -> dict[str, Any]:
    """What a report is told beside the values: how to compare them, and what was ranked."""
    how = _comparing(options) | {"trusted": options.trusted}
    if isinstance(frame, pl.LazyFrame):
        msg = "the runs may exceed memory, so the report shows no documents"
        warnings.warn(msg, stacklevel=2)
        return how
    settings = {}
    if options.unjudged_below is not None:
        settings["Judgments"] = f"none below grade {options.unjudged_below:g}"
    if options.undefined_as == "default":
        settings["Queries without a relevant document"] = _counted_as(measures)
    if options.trusted is not None:
        ranked = {**ranked, "grade": options.trusted}
    return {
        **how,
        "strategy": "strategy",
        **ranked,
        "frame": frame,
        "doc": "doc" if "doc" in frame.columns else None,
        "settings": settings,
    }


def _counted_as(measures: Mapping[str, Measure]) -> str:
    """What a query without a relevant document gets, where nothing is said of it."""
    undefined = [name for name, measure in measures.items() if measure.definition.needs_pairs]
    return f"count as 0, and are left out of {undefined[0]}" if undefined else "count as 0"


def _features(files: Sequence[str]) -> pl.DataFrame:
    """The documents of LETOR files, or of Parquet files, whose numbers are features."""
    if not any(map(_is_parquet, files)):
        return read_letor(files)
    if not all(map(_is_parquet, files)):
        msg = f"--letor takes text or .parquet files, not both, got {', '.join(files)}"
        raise ValueError(msg)
    parts = [_parquet(file, ["query", "grade"]).collect() for file in files]
    frame = pl.concat(parts, how="diagonal")
    return frame.select(cs.by_name("query", "doc", require_all=False) | cs.numeric())


def _graders_and_runs(options: argparse.Namespace) -> tuple[dict[str | None, str], list[str]]:
    """The judgment file of each grader, under their name, and the runs; one file has no name."""
    given = options.qrels or []
    runs = [run for _, *of_it in given for run in of_it]
    qrels: dict[str | None, str] = {}
    for file, *_ in given:
        name, named, path = file.partition("=")
        if len(given) == 1 and (not named or Path(file).exists()):
            return {None: file}, runs
        if not (name and path):
            msg = f"--qrels takes each of several judgment files as NAME=FILE, got {file!r}"
            raise ValueError(msg)
        if name in qrels:
            msg = f"--qrels must name each grader once, got {name!r} again"
            raise ValueError(msg)
        qrels[name] = path
    return qrels, runs


def _judgments(file: str) -> pl.DataFrame:
    """The judgments in a file."""
    columns = ["query", "doc", "grade"]
    parquet = _is_parquet(file)
    judgments = _parquet(file, columns).select(columns).collect() if parquet else read_qrels(file)
    _check_not_empty(judgments, file)
    return judgments


def _judged(
    qrels: Mapping[str | None, str], runs: Sequence[str], unjudged_below: float | None
) -> pl.DataFrame | pl.LazyFrame:
    """Runs joined with their judgments, later where they may exceed memory; a tag is a strategy."""
    if not runs:
        msg = "--qrels takes a judgment file and at least one run, got no run"
        raise ValueError(msg)
    each = {name: _judgments(file) for name, file in qrels.items()}
    judgments = each.get(None, each)
    large = BYTES_OF_A_BYTE * sum(Path(run).stat().st_size for run in runs) > memory_at_hand()
    frames = [_run_of(run, large=large) for run in runs]
    tags = []
    for frame, run in zip(frames, runs, strict=True):
        of_it = frame.select("strategy").unique().collect(engine="streaming")
        _check_not_empty(of_it, run)
        tags.append(of_it.to_series())
    names = [Path(run).name for run in runs]
    names = names if len(set(names)) == len(runs) else list(runs)
    called = zip(frames, names_apart(tags, names), strict=True)
    stacked = pl.concat([frame.with_columns(name) for frame, name in called])
    return judge(
        stacked if large else stacked.collect(),
        judgments,
        strategy="strategy",
        unjudged_below=unjudged_below,
    )


def _run_of(file: str, *, large: bool) -> pl.LazyFrame:
    """The documents that a run retrieved; one in Parquet may be named by its file alone."""
    columns = ["query", "doc", "score", "strategy"]
    if not _is_parquet(file):
        return (scan_run(file) if large else read_run(file).lazy()).select(columns)
    frame = _parquet(file, columns[:3], large=large)
    schema = frame.collect_schema()
    if not schema["score"].is_numeric():
        msg = f"{file} must have numbers in its column 'score', got {schema['score']}"
        raise ValueError(msg)
    if "strategy" not in schema:
        frame = frame.with_columns(strategy=pl.lit(Path(file).stem))
    return frame.select(columns).cast({"score": pl.Float64, "strategy": pl.String})


def _is_parquet(file: str) -> bool:
    return Path(file).suffix.lower() == ".parquet"


def _parquet(file: str, columns: Sequence[str], *, large: bool = False) -> pl.LazyFrame:
    """A file that has the columns; queries and documents are strings, as in text."""
    try:
        with Path(file).open("rb") as opened:
            frame = pl.scan_parquet(file, glob=False) if large else pl.read_parquet(opened).lazy()
        schema = frame.collect_schema()
    except pl.exceptions.ComputeError as error:
        msg = f"{file} must be a whole Parquet file: {error}"
        raise ValueError(msg) from None
    check_columns(file, columns, schema)
    keys = [name for name in ("query", "doc") if name in schema]
    for name in keys:
        if schema[name].is_nested():
            msg = f"{file} must have names or numbers in its column {name!r}, got {schema[name]}"
            raise ValueError(msg)
    return frame.cast(dict.fromkeys(keys, pl.String()))


def _check_not_empty(frame: pl.DataFrame, *files: str) -> None:
    if frame.is_empty():
        msg = f"{', '.join(files)} must have at least one line, got none"
        raise ValueError(msg)


def _write(per_query: pl.DataFrame, options: argparse.Namespace) -> None:
    with _named(options.per_query):
        write_results(per_query, options.per_query, query=options.query or "query")


def _draw(
    per_query: pl.DataFrame, measures: Mapping[str, Measure], options: argparse.Namespace
) -> None:
    """Write the chart that shows what is compared."""
    from polars_graded import charts

    numbers = {name: m.definition.best for name, m in measures.items() if not m.is_curve}
    how = _comparing(options)
    if options.trusted is not None:
        chart = charts.trusted_forest(summarise(per_query, numbers, trusted=options.trusted))
    elif how["baseline"] is not None:
        chart = charts.comparison_forest(compare(per_query, numbers, **how))
    else:
        keys = {name: how[name] for name in ("query", "missing")}
        chart = charts.strategy_bars(summarise(per_query, numbers, **keys))
    kind = options.chart.suffix.lower().removeprefix(".")
    with _named(options.chart), whole_file(options.chart) as part:
        chart.save(str(part), format=kind, inline=True)


def _printed(
    per_query: pl.DataFrame, measures: Mapping[str, Measure], options: argparse.Namespace
) -> str:
    """The means of each strategy, by each grader's grades; and how strategies compare."""
    numbers = {name: m.definition.best for name, m in measures.items() if not m.is_curve}
    if options.format != "text":
        how = _comparing(options) | {"format": options.format, "trusted": options.trusted}
        if options.trusted is None:
            return paper_table(per_query, numbers, **how)
        models = per_query[GRADER].unique(maintain_order=True).to_list()
        models.remove(options.trusted)
        return "\n\n".join(paper_table(per_query, numbers, grader=each, **how) for each in models)
    tables = []
    for grader, rows in split_by_grader(per_query, {"measures": [[*measures]]}).items():
        first, *others = _means(rows, measures, numbers)
        tables += [f"Grades of {grader}\n{first}" if grader else first, *others]
    if numbers and options.trusted is not None:
        tables.append(_as_trusted(per_query, numbers, options.trusted))
    compared = options.baseline is not None or options.test or options.correction
    if compared and not options.gate:
        tables.append(_comparison(per_query, numbers, options))
    return "\n\n".join(tables)


def _means(
    per_query: pl.DataFrame, measures: Mapping[str, Measure], numbers: Mapping[str, Best]
) -> Iterator[str]:
    """The mean of each measure per strategy, the best of each marked; a table for each curve."""
    left_out = []
    if numbers:
        of_each = per_query.group_by("strategy", maintain_order=True)
        means = of_each.agg(pl.len().alias("queries"), pl.col(*numbers).mean())
        yield _shown(_marked_best(means, numbers))
        for column in of_each.agg(pl.col(*numbers).is_null().sum())[:, 1:]:
            few, most = min(column), max(column)
            count = f"{most}" if few == most else f"{few} to {most}"
            left_out += [f"{count} of {column.name}"] if most else []
    for name, measure in measures.items():
        if measure.is_curve:
            yield _curve_table(per_query, measure, name)
    said = "Means over the queries, the best of each column in brackets."
    if left_out:
        said += f"\nQueries without a value are left out: {', '.join(left_out)}."
    yield said


def _as_trusted(per_query: pl.DataFrame, numbers: Mapping[str, Best], trusted: str) -> str:
    """The means that the trusted grader would find in all queries."""
    found = summarise(per_query, numbers, trusted=trusted)
    keys = ["grader", "measure", "strategy"]
    values = ["mean", "ci_low", "ci_high", "trusted_mean", "model_mean"]
    shown = found.select(*keys, *(_written(found[name]) for name in values), "worth")
    shown = shown.with_columns(pl.col("worth").round(1))
    said = f"Means as {trusted} would have them of all queries, if theirs are a random sample."
    notes = []
    for (note,), rows in found.drop_nulls("note").group_by("note", maintain_order=True):
        means = [" of ".join(row) for row in rows.select("measure", "strategy").iter_rows()]
        of = f" on {listed(means)}" if rows.height < found.height else ""
        notes.append(_printable(f"Note{of}: {note}."))
    return "\n".join([_shown(shown), said, *notes])


def _curve_table(per_query: pl.DataFrame, curve: Measure, column: str) -> str:
    """The mean of a curve at each of its positions."""
    name, places = curve.positions or ("", ())
    positions = pl.Series("at", places)
    means = curve_means(per_query.lazy(), [column], positions, ["strategy"]).collect()
    wide = means.pivot("at", index="strategy", values=column)
    wide.columns = ["strategy", *(f"{place:g}" for place in places)]
    best = dict.fromkeys(wide.columns[1:], curve.definition.best)
    return f"{column} by {name}\n{_shown(_marked_best(wide, best))}"


def _comparison(
    per_query: pl.DataFrame, numbers: Mapping[str, Best], options: argparse.Namespace
) -> str:
    """Each strategy against the baseline, or all pairs."""
    how = _comparing(options)
    if options.trusted is not None:
        how |= {"trusted": options.trusted}
    result = compare(per_query, numbers, **how)
    differences, p_values = ["difference", "ci_low", "ci_high"], ["p_value", "p_corrected"]
    counts = [] if options.trusted is not None else ["wins", "ties", "losses"]
    keys = [name for name in ("grader", "measure", "strategy", "baseline") if name in result]
    shown = result.select(*keys, *differences, *p_values, *counts)
    written = shown.with_columns(
        *(_written(shown[name]) for name in differences),
        *(pl.Series(name, [p_said(p) for p in shown[name]]) for name in p_values),
    )
    return (
        f"{_shown(written)}\n"
        f"Differences with their 95 % intervals, test {how['test']}, "
        f"correction {how['correction']}."
    )


def _comparing(options: argparse.Namespace) -> dict[str, Any]:
    """How strategies are compared."""
    test: TestName = options.test or "t"
    return {
        "baseline": None if _is_file(options.baseline) else options.baseline,
        "test": test,
        "correction": correction_of(test, options.correction),
        "query": options.query or "query",
        "missing": "error" if isinstance(options.undefined_as, float) else "drop",
    }


def _gated(
    per_query: pl.DataFrame,
    measures: Mapping[str, Measure],
    options: argparse.Namespace,
    told: Sequence[str],
) -> tuple[str, int]:
    """Return what a gate says of each strategy, and the exit status."""
    how = _comparing(options)
    best = {name: measures[name].definition.best for name in _under_names(options.gate)}
    baseline = Path(options.baseline) if _is_file(options.baseline) else options.baseline
    # Queries without a relevant document have no value on either side, and are left out.
    keys: Keys = {"strategy": "strategy", "query": how["query"], "missing": how["missing"]}
    changes = {name: getattr(options, name) or "same" for name in CHANGES}
    changes["missing"] = options.missing or "error"
    try:
        held = held_against(per_query, [best], baseline, None, keys, changes)
    except NotComparableError as error:
        difference = error.difference.replace("`per_query`", "the runs")
        difference = difference.replace("`baseline`", "the --baseline")
        msg = (
            f"--gate refuses what is not comparable: {difference}; "
            f"--{error.argument} {error.value} allows it"
        )
        raise ValueError(msg) from None
    verdicts = verdicts_of(held, options.margin, Options(how["test"], "none"))
    if options.markdown:
        with _named(options.markdown), whole_file(options.markdown) as part:
            part.write_text(gate_summary(held, verdicts, told), encoding="utf-8")
    found = {*verdicts["verdict"]}
    status = next((EXIT_STATUS[each] for each in BAD if each in found), 0)
    return "\n".join(map(_printable, verdicts["sentence"])), status


def _marked_best(means: pl.DataFrame, best: Mapping[str, Best]) -> pl.DataFrame:
    """Strategies in the order of the first measure, the best of each measure marked."""
    first, which = next(iter(best.items()))
    order = pl.col(first).round(12)
    means = means.sort(order, "strategy", descending=[which != "lowest", False])
    return means.with_columns(_marked(means[name], which) for name, which in best.items())


def _marked(means: pl.Series, which: Best) -> pl.Series:
    """The numbers as text, the best of them in brackets: a star would speak of significance."""
    best = bests(means, which)
    written = enumerate(_written(means))
    cells = [f"[{text}]" if place in best else f"{text} " for place, text in written]
    return pl.Series(means.name, cells, dtype=pl.String)


def _written(numbers: pl.Series) -> pl.Series:
    """Numbers with four decimals; an empty cell for null."""
    cells = ["" if number is None else f"{number:.4f}" for number in numbers]
    return pl.Series(numbers.name, cells, dtype=pl.String)


def _shown(table: pl.DataFrame) -> str:
    """A whole table, in lines or, where the output cannot show them, in plain characters."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    text = [name for name, dtype in table.schema.items() if dtype == pl.String]
    table = table.with_columns(
        pl.Series(name, [None if cell is None else _printable(cell) for cell in table[name]])
        for name in text
    )
    drawn = _drawn(table, LINES)
    try:
        drawn.encode(encoding)
    except UnicodeEncodeError:
        return _drawn(table, PLAIN)
    return drawn


def _drawn(table: pl.DataFrame, formatting: Any) -> str:
    with pl.Config(
        tbl_rows=-1,
        tbl_cols=-1,
        tbl_width_chars=-1,
        fmt_str_lengths=2**31,
        tbl_formatting=formatting,
        tbl_hide_column_data_types=True,
        tbl_hide_dataframe_shape=True,
        tbl_cell_alignment="RIGHT",
    ):
        return str(table)


if __name__ == "__main__":
    main()
