"""Options of the command: their definitions, parser and values."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, get_args

from polars_graded._measuring.definitions import DEFINITIONS, SIMILARITIES, Best, Definition
from polars_graded._measuring.names import Measure
from polars_graded._measuring.ranking import DOCUMENT_INPUTS
from polars_graded._measuring.scale import Undefined
from polars_graded._measuring.tie_orders import TOOLS
from polars_graded._results.comparability import Change
from polars_graded._results.forms import WRITERS
from polars_graded._results.significance import CORRECTIONS, TESTS
from polars_graded._sentences import join_words
from polars_graded._versions import __version__

MEASURES = ["mu_ap", "ndcng@10", "ndcg@10", "ap", "precision@10"]

REPORT_MEASURES = ["r_precision", "dcg_curve@20", "ideal_dcg_curve@20", "interpolated_precision"]
"""Measures that a report adds to the requested ones."""

FRAME, LETOR, QRELS, RUNS = "--frame", "--letor", "--qrels", "--runs"


class Option(NamedTuple):
    """Define an option of the command, and the options that it needs."""

    help: str
    settings: Mapping[str, Any]
    """Arguments of `argparse.ArgumentParser.add_argument`."""
    needs: tuple[str, ...] = ()
    """If not empty, a call with this option must also pass at least one of these options."""
    suffixes: tuple[str, ...] = ()
    """Allowed suffixes of the file that the option writes. Empty if the option writes no file."""


FILES, COLUMNS, NAMES = ({"nargs": "+", "metavar": name} for name in ("FILE", "COLUMN", "NAME"))
ONE_FILE, GRADE = {"type": Path, "metavar": "FILE"}, {"type": float, "metavar": "GRADE"}


def _parse_undefined(text: str) -> Undefined:
    """Return the value of --undefined-as."""
    if text == "default":
        return "default"
    try:
        value = None if text.lower() == "none" else float(text)
    except ValueError:
        value = math.nan
    if value is None or math.isfinite(value):
        return value
    msg = f"must be a finite number, none or default, got {text!r}"
    raise argparse.ArgumentTypeError(msg)


def _describe_input(name: str) -> Option:
    """Return the option for an input of measures, such as `known`."""
    measures = [each for each, definition in DEFINITIONS.items() if name in definition.inputs]
    help_text = f"with --frame, {DOCUMENT_INPUTS[name].meaning}, for {join_words(measures)}"
    if name == "subtopics":
        help_text += "; with --qrels, these measures read the second field of a line"
    return Option(help_text, {"metavar": "COLUMN"}, needs=(FRAME,))


INPUTS = {
    FRAME: Option(
        "a frame of rankings in .csv, .tsv or .parquet files, one row per query and document with "
        "its grade and a score per strategy; --query, --grade and --by name the columns",
        FILES,
    ),
    LETOR: Option(
        "LETOR (SVMlight) files, plain or gzip, or .parquet files with columns query, grade and "
        "scores",
        FILES,
    ),
    QRELS: Option(
        "a judgment file and the runs to judge, plain or gzip, in the formats of TREC, MS MARCO or "
        "BEIR or in JSON, or .parquet files with columns query, doc and grade or score; for "
        "several graders: --qrels people=FILE --qrels model=FILE RUN",
        {"nargs": "+", "action": "append", "metavar": ("FILE", "RUN")},
    ),
    RUNS: Option(
        "runs to judge by --qrels, or to compare by --similarity without judgments", FILES
    ),
}
"""Options for the input, by name. A call passes at most one of these options, but --qrels and
--runs may be combined. Without an input, the command measures an example."""

OPTIONS = {
    "--named-by": Option(
        "the source of a strategy's name: the tags in a run (by default), or the name of its file",
        {"choices": ("tag", "file"), "default": "tag"},
        needs=(QRELS, RUNS),
    ),
    "--query": Option(
        "the column of a --frame that names the query, or several; query by default",
        COLUMNS,
        needs=(FRAME,),
    ),
    "--by": Option(
        "the columns of a --frame to rank by, one per strategy, optionally renamed, as in "
        "ours=new_score; score by default",
        COLUMNS,
        needs=(FRAME,),
    ),
    "--descending": Option(
        "whether the highest value of --by is ranked first: true by default; false if the values "
        "are ranks; or a value for each strategy, as in old_rank=false",
        {"nargs": "+", "metavar": "BOOLEAN"},
        needs=(FRAME, LETOR),
    ),
    "--doc": Option(
        "the column of a --frame that names the document, which breaks ties; doc by default",
        {"metavar": "COLUMN"},
        needs=(FRAME,),
    ),
    "--trusted": Option(
        "the grader whose grades are trusted and who judged a random sample of the queries; the "
        "results are estimates of this grader's means and differences over all queries",
        {"metavar": "NAME"},
    ),
    "--strategy": Option(
        "the features of a LETOR file to rank by, such as f1 f9; all by default; for a --frame, "
        "the column that names the strategy of each row",
        COLUMNS,
        needs=(FRAME, LETOR),
    ),
    "--grade": Option(
        "the column of grades in a LETOR file or a --frame",
        {"default": "grade", "metavar": "COLUMN"},
        needs=(FRAME, LETOR),
    ),
    "--measure": Option(
        "the measures, optionally renamed, as in 'AP=ap(threshold=2)'; "
        f"{' '.join(MEASURES)} by default",
        NAMES,
    ),
    "--similarity": Option(
        "the measures of the similarity of two rankings, such as rbo or overlap@10, to compare "
        "strategies with each other, or with the --baseline; only relevant_entered and "
        "relevant_left need grades",
        NAMES,
    ),
    "--irrelevant": Option(
        "the grade that means not relevant, 0 by default; 1 for stars from 1 to 5",
        {"type": float, "default": 0.0, "metavar": "GRADE"},
    ),
    "--max-grade": Option("the highest grade of the scale", GRADE),
    "--relevant-from": Option(
        "the lowest relevant grade; lower grades have no gain; by default any grade above "
        "irrelevant is relevant",
        GRADE,
    ),
    "--undefined-as": Option(
        "the value of a query without a relevant document; by default 0, but 1 for e_measure and "
        "none for roc_auc and pairwise_accuracy; none leaves the query out of means and "
        "comparisons",
        {"type": _parse_undefined, "default": "default", "metavar": "VALUE"},
    ),
    "--condensed": Option("drop unjudged documents from the rankings", {"action": "store_true"}),
    **{f"--{name}": _describe_input(name) for name in DOCUMENT_INPUTS},
    "--unjudged-below": Option(
        "ignore judgments with a grade below this one; with 0, documents with grade -1 (pooled but "
        "not judged) count as unjudged, as in trec_eval",
        GRADE,
        needs=(QRELS,),
    ),
    "--ties": Option(
        "the order of tied documents: by document, descending (by default, with a warning if it "
        "changes a value), by row, or as in another tool",
        {"choices": ("doc", "order", *TOOLS)},
    ),
    "--baseline": Option(
        "the strategy to compare all others with; with --gate, this may instead be a .parquet or "
        ".csv file that --per-query wrote; without --baseline, --test or --correction compares all "
        "pairs",
        {"metavar": "NAME"},
    ),
    "--gate": Option(
        "the measures that test whether each strategy is no worse than the --baseline; the exit "
        "status is 0 if all pass, 1 if any fails as worse, otherwise 3 (undecided)",
        NAMES,
        needs=("--baseline",),
    ),
    "--margin": Option(
        "the margin by which a mean may be worse and still count as no worse; 0.01 by default",
        {"type": float, "metavar": "DIFFERENCE"},
        needs=("--gate",),
    ),
    "--missing": Option(
        "with drop, --gate leaves out queries that the runs or the --baseline lack",
        {"choices": ("error", "drop")},
        needs=("--gate",),
    ),
    "--judgments": Option(
        "with changed, --gate accepts a --baseline measured with other judgments",
        {"choices": get_args(Change)},
        needs=("--gate",),
    ),
    "--formulas": Option(
        "with changed, --gate accepts a --baseline whose measures have other formulas",
        {"choices": get_args(Change)},
        needs=("--gate",),
    ),
    "--scale": Option(
        "with changed, --gate accepts a --baseline measured on another scale, or with another "
        "order of ties",
        {"choices": get_args(Change)},
        needs=("--gate",),
    ),
    "--markdown": Option(
        "write the verdicts of --gate to a .md file, with the queries that lost most",
        ONE_FILE,
        needs=("--gate",),
        suffixes=(".md", ".markdown"),
    ),
    "--test": Option("how to test differences; t by default", {"choices": TESTS}),
    "--correction": Option(
        "how to correct p values for the number of tests; holm by default, or none for "
        "randomised_tukey",
        {"choices": CORRECTIONS},
    ),
    "--cluster": Option(
        "the columns of --query that identify independent units, such as the search term if the "
        "--query is a term on a device; all columns of --query if each query is independent",
        COLUMNS,
        needs=("--query",),
    ),
    "--format": Option(
        "the form of the printed results: text, or a table for a paper in Markdown, LaTeX or HTML, "
        "with the best in bold and letters for significantly worse values",
        {"choices": ("text", *WRITERS), "default": "text"},
    ),
    "--per-query": Option(
        "write the values of every strategy and query to a .csv or .parquet file",
        ONE_FILE,
        suffixes=(".csv", ".parquet"),
    ),
    "--chart": Option(
        "draw a .svg, .png or .html file: differences to the --baseline with their intervals, "
        "estimates from --trusted grades, or else the mean of each strategy",
        ONE_FILE,
        suffixes=(".svg", ".png", ".html"),
    ),
    "--report": Option(
        "write one .html page that shows which strategy leads and how sure that is, with charts "
        "of differences, curves and rankings; the page needs no network; this option "
        f"adds the measures {', '.join(REPORT_MEASURES)}",
        ONE_FILE,
        suffixes=(".html", ".htm"),
    ),
}


class Arguments(argparse.Namespace):
    """Values of the options, and values derived from them."""

    def get_value(self, option: str) -> Any:
        """Return the value of an option, or None if it is the default."""
        value = vars(self)[option.removeprefix("--").replace("-", "_")]
        return None if value == (INPUTS | OPTIONS)[option].settings.get("default") else value

    @cached_property
    def measures(self) -> dict[str, Measure]:
        """Return the measures by name, including curves."""
        if self.similarity:
            return parse_measures(self.similarity, SIMILARITIES)
        return parse_measures(self.measure or self.gate or MEASURES)

    @property
    def gate_measures(self) -> list[str]:
        """Return the names of the measures of --gate."""
        texts = self.gate or []
        return [text if text in self.measures else text.partition("=")[0] for text in texts]

    @property
    def needs_grades(self) -> bool:
        """Return whether any measure needs grades."""
        return any(each.definition.needs_grades for each in self.measures.values())

    @property
    def needed_inputs(self) -> set[str]:
        """Return the names of inputs that measures need, such as `known`."""
        return {name for each in self.measures.values() for name in each.definition.inputs}

    @cached_property
    def scalar_measures(self) -> dict[str, Best]:
        """Map each scalar measure to "highest", "lowest" or "none".

        For example, "lowest" means that a lower value of the measure is better.
        """
        measures = self.measures.items()
        return {name: m.definition.best for name, m in measures if not m.is_curve}

    @cached_property
    def qrels_by_grader(self) -> dict[str | None, str]:
        """Return the judgment file of each grader.

        A single file without the name of a grader has the key None.
        """
        files: dict[str | None, str] = {}
        for file, *_ in self.qrels or []:
            name, separator, path = file.partition("=")
            if len(self.qrels) == 1 and (not separator or Path(file).exists()):
                return {None: file}
            if not (name and path):
                msg = f"--qrels takes each of several judgment files as NAME=FILE, got {file!r}"
                raise ValueError(msg)
            if name in files:
                msg = f"--qrels must name each grader once, got {name!r} again"
                raise ValueError(msg)
            files[name] = path
        return files

    @property
    def graders(self) -> list[str]:
        """Return the names of graders."""
        return [name for name in self.qrels_by_grader if name]

    @property
    def run_files(self) -> list[str]:
        """Return the files of runs."""
        return [*(self.runs or []), *(run for _, *runs in self.qrels or [] for run in runs)]

    @property
    def inputs(self) -> list[str]:
        """Return all files that the command reads."""
        baseline = [] if self.baseline_file is None else [str(self.baseline_file)]
        frames = self.letor or self.frame or []
        return [*frames, *self.qrels_by_grader.values(), *self.run_files, *baseline]

    @cached_property
    def is_descending(self) -> bool | dict[str, bool] | None:
        """Return --descending as one bool or one bool per strategy."""
        if self.descending is None:
            return None
        flags = {"true": True, "false": False}
        first, *_ = texts = self.descending
        if len(texts) == 1 and first.lower() in flags:
            return flags[first.lower()]
        parts = [text.rpartition("=") for text in texts]
        if not all(name and flag.lower() in flags for name, _, flag in parts):
            msg = f"--descending takes true, false or NAME=false, got {' '.join(texts)}"
            raise ValueError(msg)
        return {name: flags[flag.lower()] for name, _, flag in parts}

    @property
    def baseline_file(self) -> Path | None:
        """Return the path of the baseline if it is a file of results, else None."""
        if self.baseline is None:
            return None
        path = Path(self.baseline)
        return path if path.suffix.lower() in OPTIONS["--per-query"].suffixes else None

    @property
    def is_compared(self) -> bool:
        """Return whether the command prints a table of differences."""
        is_requested = self.baseline is not None or self.test or self.correction
        return bool(is_requested and not (self.gate or self.similarity))

    @property
    def query_columns(self) -> Any:
        """Return the name or names of the columns that identify a query."""
        return self.query or "query"

    @property
    def missing_values(self) -> Any:
        """Return the value of `missing` for `compare` and the gate.

        A numeric --undefined-as fills undefined values, so a missing value is then an error.
        """
        return "error" if isinstance(self.undefined_as, float) else "drop"

    @property
    def comparison(self) -> dict[str, Any]:
        """Return the keywords of `compare`."""
        return {
            "baseline": None if self.baseline_file or self.similarity else self.baseline,
            "test": self.test or "t",
            "correction": self.correction,
            "query": self.query_columns,
            "cluster": self.cluster,
            "missing": self.missing_values,
        }


def parse_measures(
    texts: Iterable[str], among: Mapping[str, Definition] = DEFINITIONS
) -> dict[str, Measure]:
    """Return the measures in texts such as `AP=ap(threshold=2)`, by name."""
    measures: dict[str, Measure] = {}
    for text in texts:
        name, separator, formula = text.partition("=")
        if not separator or "(" in name:
            name = formula = text
        if not name:
            msg = f"a measure must have a name before its '=', got {text!r}"
            raise ValueError(msg)
        if name in measures:
            msg = f"each measure must be named once, got {name} several times"
            raise ValueError(msg)
        measures[name] = measure = Measure.parse(formula, among)
        if name != formula and measure.is_curve:
            msg = f"a curve must not be renamed, got {text!r}"
            raise ValueError(msg)
    return measures


class Parser(argparse.ArgumentParser):
    """Parser that reports an error in one sentence, without the usage."""

    def __init__(self) -> None:
        super().__init__(
            prog="polars-graded",
            description="Measure rankings with graded relevance. Without files, artificial "
            "rankings of known quality are measured: 100 documents per query, grades 0 to 4, and "
            "strategies that swap 5, 20 and 60 pairs of the ideal order.",
            epilog=f"Measures: {', '.join(DEFINITIONS)}. Measures of --similarity: "
            f"{', '.join(SIMILARITIES)}. A cutoff follows @, and options are in "
            "brackets: 'ndcg@10', 'ap(threshold=2)@100', 'dcg(gain=linear, discount=zipf)'.",
        )
        self.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
        inputs = self.add_mutually_exclusive_group()
        for name, option in (INPUTS | OPTIONS).items():
            group: Any = inputs if name in INPUTS and name != RUNS else self
            group.add_argument(name, help=option.help, **option.settings)

    def parse(self, arguments: Sequence[str]) -> Arguments:
        """Parse the arguments of the command line."""
        return self.parse_args(arguments, namespace=Arguments())

    def fail(self, sentence: str) -> NoReturn:
        """Exit with status 2 and an error."""
        self.exit(2, f"{self.prog}: error: {sentence}\n")

    def error(self, message: str) -> NoReturn:
        """Raise an error that `argparse` found."""
        raise ValueError(message)


def find_summary_file(arguments: Sequence[str]) -> Path | None:
    """Return the file of --markdown for a gate, even if other arguments are wrong.

    Return None if the file has a wrong extension, or if it is another argument too, such as an
    input. Nothing may be written to such a file.
    """
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--gate", nargs="*")
    try:
        summary, others = parser.parse_known_args(arguments)
    except argparse.ArgumentError:
        return None
    file, suffixes = summary.markdown, OPTIONS["--markdown"].suffixes
    if summary.gate is None or file is None or file.suffix.lower() not in suffixes:
        return None
    # An input may follow "=", as in --qrels=judgments.md and in people=judgments.md.
    inputs = [text for each in (*summary.gate, *others) for text in (each, each.partition("=")[2])]
    return None if file.resolve() in {Path(each).resolve() for each in inputs} else file
