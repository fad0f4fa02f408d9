"""The command: thin subcommands over the public functions of the package.

Each subcommand reads rankings, calls public functions, and prints or writes. Options that several
subcommands have are fields of a class, with the names of the public functions' arguments.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from functools import cache, partial
from inspect import signature
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

import polars as pl
import polars.selectors as cs
from cyclopts import App, CycloptsError, Group, Parameter, UnknownOptionError

import polars_graded as pg
from polars_graded._checks import (
    MAX_SHOWN_VALUES,
    check_choice,
    check_columns,
    first_few,
    format_on_one_line,
)
from polars_graded._measuring.definitions import DEFINITIONS
from polars_graded._measuring.document_columns import find_document_column
from polars_graded._measuring.document_inputs import DOCUMENT_INPUTS
from polars_graded._measuring.measures import Measure
from polars_graded._writing import check_writable, write_atomically

DEFAULT_MEASURES = ["mu_ap", "ndcng@10", "ndcg@10", "ap", "precision@10"]
DEFAULT_CURVES = ["dcg_curve@20", "ideal_dcg_curve@20", "interpolated_precision"]
DEFAULT_SIMILARITIES = ["rbo", "overlap@10", "top_changed"]
"""Default measures: of rankings with grades, also of their report, and of two rankings."""

SHOWN_STATISTICS = ("queries", "median", "mean", "ci_low", "ci_high")
"""Columns of `summarise` that `similarity` prints."""

COMPARED = (
    *("baseline", "queries", "clusters", "effective_queries", "difference", "ci_low", "ci_high"),
    *("p_value", "p_corrected", "wins", "ties", "losses"),
)
"""Columns of `compare` that are printed."""

SEPARATORS = {".csv": ",", ".tsv": "\t"}
"""Separator of columns for each extension of a text file; `.csv.gz` counts as `.csv`."""

RESULTS, CHARTS, TABLES = (".csv", ".parquet"), (".svg", ".png", ".html"), (".md", ".tex")
"""Suffixes of files with rows, of charts, and of tables for a paper."""

WRONG_CALL, INTERRUPTED, UNREAD = 2, 130, 141
"""Exit statuses. A shell reports the last two after Ctrl-C and after a write to a closed pipe."""

HEADLINES = {
    0: "The gate passes",
    1: "The gate fails: worse than the baseline",
    2: "The gate was refused",
    3: "The gate is undecided: perhaps worse than the baseline",
}
"""Headline of the summary of a gate, for each exit status."""

ERRORS = (OSError, ImportError, ValueError, TypeError, pl.exceptions.PolarsError)
"""Errors whose message is meant for the caller."""

KEYWORDS_OF_RUNS: dict[str, Any] = {"strategy": "strategy", "descending": True}
"""Keywords of `evaluate` for stacked runs, in which the highest score is the best."""

NONE_TEXTS = ("none", "None")
"""Texts of an option that mean Python's None."""

ChangeOption = Literal["same", "changed"]

Texts = list[str] | None
"""Type of an option with several texts, such as `--by old new`."""

MeasureTexts = Annotated[list[str], Parameter(show_default=" ".join)]

Outputs = Annotated[list[Path] | None, Parameter(name=("--output", "-o"))]
"""Type of the option for files to write, whose suffixes decide what they contain."""


def _describe_input(name: str) -> str:
    """Describe a column of documents, and name the measures that need it."""
    measures = ", ".join(each for each in DEFINITIONS if name in DEFINITIONS[each].input_names)
    return f"{name} ({measures}): {DOCUMENT_INPUTS[name].meaning}."


HELP_OF_COLUMNS = (
    "The columns that measures need, by other names if necessary, as in known=seen. With --qrels, "
    "subtopics are the second field of its lines. "
    + " ".join(map(_describe_input, DOCUMENT_INPUTS))
)
HELP_OF_UNDEFINED_AS = (
    "The value of a query without a relevant document; by default 0, but 1 for e_measure, and none "
    f"for {' and '.join(name for name in DEFINITIONS if DEFINITIONS[name].is_null_by_default)}. "
    "With none, means leave the query out."
)

# Options


@Parameter(name="*", group=Group("Comparison"))
@dataclass(frozen=True)
class ComparisonOptions:
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
class GateOptions:
    """Options for the verdicts of a gate."""

    baseline: str
    """A strategy, or a .parquet or .csv file of results that --output wrote."""
    margin: float = 0.01
    """The largest loss of the mean that you accept."""
    missing: str = "error"
    """With drop, queries that one side lacks are left out."""
    judgments: ChangeOption = "same"
    """With changed, the baseline may be measured with other judgments."""
    formulas: ChangeOption = "same"
    """With changed, the measures of the baseline may have other formulas."""
    scale: ChangeOption = "same"
    """With changed, the baseline may be measured on another scale or with another order of ties."""


RANKINGS = Group("Rankings")


@Parameter(name="*", group=RANKINGS)
@dataclass(frozen=True)
class RankingOptions:
    """Options for files of rankings that are fused."""

    files: list[Path] | None = None
    """Rankings, plain or gzip; built-in ones by default. Rows: .csv, .tsv and .parquet files with
    one row per query and document; ids such as 001, 1.10 or 1e5 are texts. LETOR (SVMlight): each
    feature is a score. Runs: TREC, MS MARCO, BEIR or JSON."""
    _: KW_ONLY
    named_by: Literal["tag", "file"] | None = None
    """The source of the name of a run's strategy; its tag by default."""
    query: Texts = None
    """The column of queries, or several; query by default."""
    doc: str | None = None
    """The column of documents; doc, or another usual name, by default. With none, each row is a
    document."""
    by: Texts = None
    """The columns of scores, one per strategy, optionally renamed, as in old=bm25. By default
    score, or all features of LETOR files."""
    strategy: str | None = None
    """The column of strategies, if their rows are stacked."""
    descending: Texts = None
    """true, the default, ranks the highest score first, and false the lowest, as for ranks; or a
    value for each strategy, as in old_rank=false."""
    ties: Texts = None
    """The columns that order tied documents, highest first; order for the order of rows; or a tool,
    such as trec_eval or trec_eval=COLUMN. By default the documents."""

    @property
    def keys(self) -> dict[str, Any]:
        """Return the keywords for the keys of results."""
        return {"query": self.query or ["query"], "strategy": self.strategy or "strategy"}

    @property
    def doc_column(self) -> str | None:
        """Return the column of documents that is passed."""
        return None if self.doc in NONE_TEXTS else self.doc

    @property
    def id_columns(self) -> list[str]:
        """Return the columns of tables whose values are ids, even if they look like numbers."""
        return [*filter(None, [*(self.query or ["query"]), self.doc_column, self.strategy])]

    @property
    def sources(self) -> dict[str, list[Path]]:
        """Return the files that are read, by the arguments of public functions for their rows."""
        return {"run": self.files or []}

    @property
    def inputs(self) -> dict[str, str]:
        """Return the columns that measures need, by keywords of `evaluate`."""
        return {}

    @property
    def have_columns(self) -> bool:
        """Return whether the first file is a table of rows."""
        return _find_suffix((self.files or [Path()])[0]) in (*SEPARATORS, ".parquet")

    def read(self, function: Callable[..., Any]) -> tuple[pl.DataFrame, dict[str, Any]]:
        """Return the rows, and the keywords that describe them to a public function."""
        passed = {name: value for name, value in vars(self).items() if value is not None}
        passed |= self.inputs
        for name in {"undefined_as", "doc"} & {*passed}:
            passed[name] = None if passed[name] in NONE_TEXTS else passed[name]
        if self.by:
            passed["by"] = parse_names("--by", self.by)
        if self.descending:
            passed["descending"] = _parse_directions(self.descending)
        if self.ties:
            ties = parse_names("--ties", self.ties)
            is_tool_with_column = [*ties] != [*ties.values()]
            passed["ties"] = (
                ties if is_tool_with_column else self.ties[0] if len(ties) == 1 else self.ties
            )
        for file in self.files or ():
            if not file.exists() and Measure.try_parse(str(file)):
                msg = f"there is no file {file}\n\nHint: --measure {file} names the measure"
                raise FileNotFoundError(msg)
        frame, keywords = self.read_files()
        return frame, select_keywords(function, keywords | passed)

    def read_files(self) -> tuple[pl.DataFrame, dict[str, Any]]:
        """Return the rows, and keywords for what no option specifies."""
        if not self.files:
            return pg.datasets.example(), {"by": ["strong", "fair", "weak"]}
        if self.have_columns:
            return self.read_tables(), {}
        if _has_features(self.files[0]):
            frame = pg.read_letor(self.files)
            return frame, {"by": frame.columns[3:]}
        return self.read_runs()

    def read_tables(self, *, are_runs: bool = False) -> pl.DataFrame:
        """Return the rows of tables. A run without a column `strategy` is named after its file."""
        tables: list[pl.DataFrame] = []
        for file in self.files or ():
            rows = _read_rows(file, self.id_columns)
            if are_runs and "strategy" not in rows.columns:
                rows = rows.with_columns(strategy=pl.lit(file.name))
            columns = tables[0].columns if tables else rows.columns
            if {*columns} != {*rows.columns}:
                msg = (
                    f"{file} must have the columns of {(self.files or [])[0]}, which are "
                    f"{', '.join(columns)}, got {', '.join(rows.columns)}"
                )
                raise ValueError(msg)
            tables.append(rows.select(columns))
        return pl.concat(tables, how="vertical_relaxed")

    def read_runs(self) -> tuple[pl.DataFrame, dict[str, Any]]:
        """Return the rows of runs, and keywords for stacked strategies."""
        read = partial(pg.read_run, named_by=self.named_by or "tag")
        runs = read(self.files or [])
        check_repeated(runs, ["strategy", "query", "doc"], self.files or [], read)
        return runs, {**KEYWORDS_OF_RUNS}


@Parameter(name="*", group=RANKINGS)
@dataclass(frozen=True)
class JudgedRankingOptions(RankingOptions):
    """Options for files of rankings, and for relevance."""

    qrels: Annotated[Texts, Parameter(consume_multiple=False)] = None
    """The judgments of runs, in a file of the same formats. All other files are then runs: also
    tables with columns query, doc and score, or the columns of --by. For several graders, repeat
    the option: --qrels people=FILE --qrels model=FILE."""
    unjudged_below: float | None = None
    """Ignore judgments below this grade. With 0, documents with grade -1 (pooled but not judged)
    are unjudged, as in trec_eval."""
    grade: str | None = None
    """The column of grades; grade by default. With several graders, one of them, such as
    people."""
    irrelevant: float | None = None
    """The grade that means not relevant; 0 by default, 1 for stars from 1 to 5."""
    relevant_from: float | None = None
    """The lowest relevant grade; by default any grade above irrelevant is relevant."""
    cluster: Texts = None
    """The columns that identify independent units, such as the search term if the query is a term
    on a device."""
    weights: str | None = None
    """The column that states how much each query counts, such as its number of searches."""
    segments: Texts = None
    """The columns that divide the queries into segments with results of their own, such as the
    market."""

    @property
    def keys(self) -> dict[str, Any]:
        """Return the keywords for the keys of results, and for columns with a value per query."""
        columns = {"cluster": self.cluster, "weights": self.weights, "segments": self.segments}
        return super().keys | columns

    @property
    def captions(self) -> list[str]:
        """Return sentences to print below a table of means."""
        return [] if self.weights is None else [f"Queries are weighted by {self.weights}."]

    @property
    def sources(self) -> dict[str, list[Path]]:
        """Return the files that are read, by the arguments of public functions for their rows."""
        texts = self.qrels or ()
        files = [text if Path(text).exists() else text.partition("=")[2] for text in texts]
        return super().sources | {"judgments": [*map(Path, files)]}

    @property
    def scores_are_default(self) -> bool:
        """Return whether the scores are those of a run."""
        return self.by in (None, ["score"])

    @property
    def names_columns(self) -> bool:
        """Return whether an option names a column that `read_run` does not find."""
        keys = ((self.query or ["query"])[0], self.doc_column or "doc", self.strategy or "strategy")
        inputs = {*self.inputs} - {"subtopics"}  # judgments have the subtopics
        are_default = keys == ("query", "doc", "strategy") and self.scores_are_default
        return not are_default or bool(inputs)

    @property
    def columns_of_queries(self) -> list[str]:
        """Return the columns with a value per query: segments, clusters and weights."""
        names = (*(self.segments or ()), *(self.cluster or ()), *filter(None, [self.weights]))
        return list(dict.fromkeys(names))

    @property
    def id_columns(self) -> list[str]:
        """Return the columns of tables whose values are ids, even if they look like numbers."""
        return [*super().id_columns, *(self.segments or ()), *(self.cluster or ())]

    def read_files(self) -> tuple[pl.DataFrame, dict[str, Any]]:
        """Return the rows, joined with judgments, and keywords for what no option specifies."""
        if self.qrels is None:
            frame, keywords = super().read_files()
            if self.unjudged_below is not None:
                grade = self.grade or "grade"
                check_columns("frame", [grade], frame.columns, argument="grade")
                is_judged = pl.col(grade) >= self.unjudged_below
                frame = frame.with_columns(pl.when(is_judged).then(grade))
            return frame, keywords
        if not self.files:
            msg = "--qrels needs files of runs"
            raise ValueError(msg)
        query, doc = "query", "doc"
        if self.have_columns and self.names_columns:
            runs, keywords, query, doc = self.read_named_columns()
            rows = runs
        else:
            runs, keywords = self.read_runs()
            runs = runs.drop("rank")
            # `read_run` returns no further columns.
            has_others = self.have_columns and self.columns_of_queries
            rows = self.read_tables() if has_others else runs
        judgments = self.read_judgments(query, doc)
        if len(judgments) > 1:
            keywords["grade"] = [*judgments]
        elif self.grade not in (None, "grade"):
            msg = f"--grade must name one of several graders with --qrels, got {self.grade}"
            raise ValueError(msg)
        joined = pg.join_judgments(
            runs,
            judgments if len(judgments) > 1 else next(iter(judgments.values())),
            query=query,
            doc=doc,
            strategy=keywords.get("strategy", self.strategy),
            subtopic="subtopic" if "subtopics" in self.inputs else None,
            unjudged_below=self.unjudged_below,
        )
        return self.add_columns_of_queries(joined, rows, query), keywords

    def read_named_columns(self) -> tuple[pl.DataFrame, dict[str, Any], str, str]:
        """Return tables of runs, keywords, and the columns of the query and of documents.

        As with `read_run`, the ids are texts.
        """
        if len(self.query or ()) > 1:
            msg = f"--query must name one column with --qrels, got {' '.join(self.query or ())}"
            raise ValueError(msg)
        are_runs = self.strategy is None and self.scores_are_default
        runs = self.read_tables(are_runs=are_runs)
        [query] = self.keys["query"]
        doc = self.doc_column or find_document_column(runs.schema, [query]) or "doc"
        check_columns("frame", [query, doc], runs.columns)
        keywords = {**KEYWORDS_OF_RUNS} if are_runs else {}
        return runs.with_columns(pl.col(query, doc).cast(pl.String)), keywords, query, doc

    def read_judgments(self, query: str, doc: str) -> dict[str, pl.DataFrame]:
        """Return the judgments of each grader, with these names of columns."""
        judgments = {}
        for name, file in parse_names("--qrels", self.qrels or ()).items():
            read = partial(pg.read_qrels, subtopics="subtopics" in self.inputs)
            rows = read(file)
            key = [name for name in rows.columns if name != "grade"]
            check_repeated(rows, key, [Path(file)], read)
            judgments[name] = rows.rename({"query": query, "doc": doc})
        return judgments

    def add_columns_of_queries(
        self, joined: pl.DataFrame, rows: pl.DataFrame, query: str
    ) -> pl.DataFrame:
        """Add the segments, clusters and weights in `rows`, also for rows that a run lacks."""
        check_columns("frame", [query], rows.columns, argument="query")
        names = [name for name in self.columns_of_queries if name in rows.columns and name != query]
        rows = rows.with_columns(pl.col(query).cast(pl.String))
        of_queries = list_query_values(rows, [query], names)
        others = joined.drop(names, strict=False)
        return others.join(of_queries, on=query, how="left", maintain_order="left")


@Parameter(name="*", group=RANKINGS)
@dataclass(frozen=True)
class MeasuredRankingOptions(JudgedRankingOptions):
    """Options for files of rankings, and for measures of them."""

    max_grade: float | None = None
    """The highest grade of the scale; by default the highest judged grade of each query."""
    undefined_as: Annotated[
        float | Literal["none"] | None, Parameter(help=HELP_OF_UNDEFINED_AS)
    ] = None
    condensed: bool | None = None
    """Drop unjudged documents from the rankings."""
    columns: Annotated[Texts, Parameter(help=HELP_OF_COLUMNS)] = None

    @property
    def inputs(self) -> dict[str, str]:
        """Return the columns that measures need, by keywords of `evaluate`."""
        columns = parse_names("--columns", self.columns or ())
        return {check_choice("columns", name, DOCUMENT_INPUTS): columns[name] for name in columns}


def select_keywords(function: Callable[..., Any], keywords: dict[str, Any]) -> dict[str, Any]:
    """Return the keywords that a function takes."""
    names = signature(function).parameters
    return {name: value for name, value in keywords.items() if name in names}


def parse_names(option: str, texts: Iterable[str]) -> dict[str, str]:
    """Return the values of an option by name, from texts such as `old=bm25` or `bm25`.

    A text with brackets, as in `ap(threshold=2)`, and an existing file have no name.
    """
    values_by_name: dict[str, str] = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator or "(" in name or Path(text).exists():
            name = value = text
        if not (name and value) or name in values_by_name:
            msg = f"{option} must give each value its own name, as in NAME=VALUE, got {text!r}"
            raise ValueError(msg)
        values_by_name[name] = value
    return values_by_name


def _parse_directions(texts: Sequence[str]) -> Any:
    """Return --descending as one Boolean, or as one per strategy."""
    flags = {"true": True, "false": False}
    directions = {
        name: flags.get(text) for name, text in parse_names("--descending", texts).items()
    }
    if None in directions.values():
        msg = f"--descending must be true, false or NAME=false, got {' '.join(texts)}"
        raise ValueError(msg)
    return next(iter(directions.values())) if {*directions} <= {*flags} else directions


# Rankings


def _find_suffix(file: Path) -> str:
    """Return the suffix of a file, without `.gz`."""
    return Path(file.name.lower().removesuffix(".gz")).suffix


def _has_features(file: Path) -> bool:
    """Return whether the first line of a file is one of LETOR's."""
    if file.is_dir():  # refused by the reader
        return False
    with _open_file(file) as lines:
        return b" qid:" in next((line for line in lines if not line.startswith(b"#")), b"")


def _open_file(file: Path) -> Any:
    """Open a file, plain or gzip, as lines of bytes."""
    return (gzip.open if file.suffix.lower() == ".gz" else open)(file, "rb")


def _read_rows(file: Path, id_columns: Sequence[str]) -> pl.DataFrame:
    """Return the rows of a CSV, TSV or Parquet file. Types are inferred from all rows.

    Ids stay as they are written: a column of whole numbers with leading zeros is text, and so are
    `id_columns`, and the column of documents, if their numbers are not whole.
    """
    suffix = _find_suffix(file)
    if suffix not in (*SEPARATORS, ".parquet"):
        msg = (
            f"{file} must be a .csv, .tsv or .parquet file, as the first file is\n\n"
            f"Hint: judgments are passed as --qrels {file}"
        )
        raise ValueError(msg)
    try:
        if suffix == ".parquet":
            return pl.read_parquet(file)
        read = partial(pl.read_csv, file, separator=SEPARATORS[suffix])
        texts = read(infer_schema=False)
        zeros = texts.select(pl.all().str.contains(r"^\s*0\d+\s*$").any()).row(0, named=True)
        types = {name: pl.String for name, has_zeros in zeros.items() if has_zeros}
        rows = read(infer_schema_length=None, schema_overrides=types)
        ids = {*id_columns, find_document_column(texts.schema, id_columns)}
        floats = [name for name in rows.select(cs.float()).columns if name in ids]
        return rows.with_columns(texts.select(floats))
    except pl.exceptions.PolarsError as error:
        msg = f"{file} cannot be read: {format_on_one_line(error)}"
        raise ValueError(msg) from None


def check_repeated(
    rows: pl.DataFrame, key: Sequence[str], files: Sequence[Path], read: Callable[..., pl.DataFrame]
) -> None:
    """Raise if a file repeats a key, and name the file. Rows of several files may share keys."""
    if rows.select(pl.struct(key).hash().n_unique()).item() == rows.height:
        return
    for file in files:
        keys = read(file).select(key)
        repeated = keys.filter(keys.is_duplicated()).unique(maintain_order=True)
        if repeated.height:
            pairs = repeated.select("query", "doc").head(MAX_SHOWN_VALUES + 1).rows()
            msg = (
                f"{file} must have each document of a query once, got several of {first_few(pairs)}"
            )
            raise ValueError(msg)


def add_query_columns(
    values: pl.DataFrame, frame: pl.DataFrame, rankings: JudgedRankingOptions
) -> pl.DataFrame:
    """Add clusters, weights and segments of the files to the values of queries."""
    key: list[str] = rankings.keys["query"]
    lacking: list[str] = []
    for option in ("cluster", "weights", "segments"):
        names = rankings.keys[option] or ()
        columns = [names] if isinstance(names, str) else names
        lacking += [name for name in columns if name not in (*values.columns, *lacking)]
        check_columns("frame", lacking, frame.columns, argument=option)
    of_queries = list_query_values(frame, key, lacking)
    return values.join(of_queries, on=key, how="left", nulls_equal=True, maintain_order="left")


def list_query_values(rows: pl.DataFrame, key: list[str], names: list[str]) -> pl.DataFrame:
    """Return one row per query with its values in some columns; raise if a query has several."""
    of_queries = rows.select(*key, *names).unique(maintain_order=True)
    unclear = of_queries.filter(pl.struct(key).is_duplicated()).select(key).unique().sort(key)
    if unclear.height:
        msg = (
            f"{first_few(names)} must have one value per query, got several, or nulls in "
            f"some rows, in {unclear.height} of {of_queries.n_unique(key)} queries: "
            f"{first_few(unclear.rows())}"
        )
        raise ValueError(msg)
    return of_queries


@dataclass(frozen=True)
class Evaluation:
    """Values of every query, and the rankings that were measured."""

    values: pl.DataFrame
    all_measures: dict[str, str]
    """All measures, by the names of their columns."""
    frame: pl.DataFrame
    keywords: dict[str, Any]
    """Keywords that describe the frame to `evaluate`."""

    @property
    def measures(self) -> dict[str, str]:
        """Return the measures with one value for each query; raise if there are none."""
        return drop_curves(self.all_measures, self.values)


def drop_curves(
    measures: dict[str, str], values: pl.DataFrame, example: str = "ndcg@10"
) -> dict[str, str]:
    """Return the measures with one value for each query; raise if there are none."""
    scalar_measures = {
        name: text for name, text in measures.items() if values.schema[name] != pl.List
    }
    if not scalar_measures:
        msg = (
            f"--measure must name a measure with one value per query, such as {example}, got only "
            "curves"
        )
        raise ValueError(msg)
    return scalar_measures


def measure_rankings(rankings: MeasuredRankingOptions, measures: Sequence[str]) -> Evaluation:
    """Evaluate rankings; the results know how they were measured."""
    all_measures = parse_names("--measure", measures)
    frame, keywords = rankings.read(pg.evaluate)
    if "grade" not in (*keywords, *frame.columns):
        scores = " with the columns of scores as --by" * rankings.have_columns
        msg = (
            f"pass judgments as --qrels{scores}, or the column of grades as --grade; columns are "
            f"{', '.join(frame.columns)}"
        )
        raise ValueError(msg)
    if frame.is_empty():
        msg = "there must be a ranking to measure, got files without rows"
        raise ValueError(msg)
    values = pg.evaluate(frame, all_measures, **keywords, fingerprint=True)
    values = add_query_columns(values, frame, rankings)
    return Evaluation(values, all_measures, frame, keywords)


# Texts and files


VALUE = r"'[^']*'|\[[^\[\]]*\]|\{[^}\[]*\}|-?\d+(?:\.\d+)?|True|False|None"
ARGUMENT = re.compile(
    rf"(?P<call>[\w.]+\([\w.]+, )?\b(?P<name>\w+)=(?P<value>{VALUE}|(?=[\s,;]))(?(call)\))"
)
"""Pattern of an argument in a message of a function, alone or as the last one of a call."""

PYTHON_CODE = re.compile(r"[\w\]]\(|\bpl\.|\w=|\{''")
"""Pattern of what only Python understands."""

JOIN_CLAUSE = ", which join_judgments(run, judgments) adds to a run"
"""End of a hint of a function, in place of which the command has the option --qrels."""

OF_JUDGMENTS = "the line has the format of judgments"
"""Beginning of a hint of readers, which then name `read_qrels`."""

OTHER_NAMES = {"grader": "grade"}
"""Options by the names of arguments that differ from them."""


def print_text(text: str) -> None:
    """Print to standard output."""
    try:
        print(text, flush=True)
    except OSError:
        # Python writes to standard output again at exit, which would fail like this write.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


@contextmanager
def print_warnings(subcommand: str, rankings: RankingOptions) -> Iterator[list[str]]:
    """Print each warning once, on one line of standard error, and yield the list of warnings."""
    sentences: list[str] = []

    def show(warning: Warning | str, *_: Any, **__: Any) -> None:
        sentence = write_message(warning, subcommand, rankings)
        if sentence not in sentences:
            sentences.append(sentence)
            print(f"warning: {sentence}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show  # type: ignore[assignment]
        yield sentences


@cache
def list_options(subcommand: str) -> set[str]:
    """Return the options of a subcommand, such as `--max-grade`."""
    if subcommand not in app:
        return set()
    arguments = app[subcommand].assemble_argument_collection()
    return {name for argument in arguments for name in argument.names}


def write_message(
    message: Exception | Warning | str, subcommand: str, rankings: RankingOptions | None = None
) -> str:
    """Return an error or a warning with its hint on one line, and arguments as options or files.

    Clauses of the hint that contain other code of Python are left out.
    """
    if isinstance(message, OSError) and message.strerror and message.filename:
        return f"{message.strerror}: {message.filename}"
    options = list_options(subcommand)
    inputs = DOCUMENT_INPUTS if "--columns" in options else ()
    if isinstance(message, UnknownOptionError):
        token = message.token.keyword or message.token.value
        name = token.removeprefix("--").partition("=")[0]
        if name in inputs:
            return f"Unknown option: --{name}. Did you mean --columns {name}=COLUMN?"

    def write_option(argument: re.Match[str]) -> str:
        name, value = OTHER_NAMES.get(argument["name"], argument["name"]), argument["value"]
        option = f"--{name.replace('_', '-')}"
        if name in inputs:
            return f"--columns {argument[0]}"
        if option not in options:
            return argument[0]
        if option == "--condensed":
            return option
        value = re.sub(r"\b(True|False|None)\b", lambda word: word[0].lower(), value)
        values = re.sub(r"[\[\]{}',]", "", value.replace("': ", "="))
        return f"{option} {values}".rstrip()

    def needs_python(clause: str) -> bool:
        rest = ARGUMENT.sub(lambda each: "" if write_option(each) != each[0] else each[0], clause)
        return bool(PYTHON_CODE.search(re.sub("'[^']*'", "''", rest)))

    names = {option[2:].replace("-", "_"): option for option in options}
    names |= {name: f"--columns {name}" for name in inputs}
    sources = {} if rankings is None else rankings.sources
    names |= {name: ", ".join(map(str, files)) for name, files in sources.items() if files}
    names |= {"frame": names.get("run", "the rankings"), "per_query": "the evaluation"}
    names |= {"n": "the cutoff", "paths": "files"}
    remedy = "" if sources.get("judgments") else ", or pass --qrels"
    text = str(message).replace(JOIN_CLAUSE, remedy)
    text = text.replace(f"{OF_JUDGMENTS}; read_qrels(paths)", f"{OF_JUDGMENTS}; --qrels FILE")
    sentence, *others = text.split("\n\n")
    hint = others[0].removeprefix("Hint: ") if others and others[0].startswith("Hint: ") else ""
    clauses = [clause for clause in hint.split("; ") if clause and not needs_python(clause)]
    text = ARGUMENT.sub(write_option, "; ".join([sentence.split("\n")[0], *clauses]))
    return re.sub(r"`(\w+)`", lambda name: names.get(name[1], name[0]), text)


def format_table(table: pl.DataFrame) -> str:
    """Return a whole table as text, with four digits of numbers."""
    with pl.Config(
        tbl_rows=-1,
        tbl_cols=-1,
        tbl_width_chars=-1,
        fmt_str_lengths=2**31,
        tbl_hide_column_data_types=True,
        tbl_hide_dataframe_shape=True,
        tbl_formatting="UTF8_FULL_CONDENSED",
    ):
        return str(table.with_columns(cs.float().round_sig_figs(4)))


def write_summary(status: int, lines: Iterable[str]) -> str:
    """Return the headline of a gate and a list in Markdown, for the page of a CI run."""
    listed = "\n".join(re.sub(r"([\\`*_\[\]<>|~#])", r"\\\1", f"- {line}") for line in lines)
    return f"## {HEADLINES[status]}\n\n{listed}\n\npolars_graded {pg.__version__}"


def check_outputs(outputs: Outputs, sources: dict[str, list[Path]], *suffixes: str) -> None:
    """Raise if a file cannot be written, before the rankings are measured."""
    for file in outputs or ():
        if file.suffix.lower() not in suffixes:
            msg = f"--output must end in {', '.join(suffixes)}, got {str(file)!r}"
            raise ValueError(msg)
        check_writable(file, chain(*sources.values()))


def write_outputs(
    outputs: Outputs, values: pl.DataFrame, make: Callable[[str], Any] = lambda _: ""
) -> None:
    """Write each file: values, or the text or the chart that `make` returns for the suffix."""
    for file in outputs or ():
        suffix = file.suffix.lower()
        try:
            if suffix in RESULTS:
                pg.write_results(values, file)
                continue
            content = make(suffix)
            with write_atomically(file) as part:
                if isinstance(content, str):
                    part.write_text(f"{content}\n", encoding="utf-8")
                else:
                    content.save(str(part), format=suffix[1:], inline=suffix == ".html")
        except (OSError, pl.exceptions.ComputeError) as error:
            msg = f"{file} could not be written, and is unchanged: {error}"
            raise OSError(msg) from None


# Subcommands


app = App(
    name="polars-graded",
    help="Evaluate rankings with graded relevance. Without files, a subcommand uses built-in "
    "rankings: 100 documents per query with grades from 0 to 4, and strategies that swap 5, 20 "
    "and 60 pairs of the ideal order.",
    version=pg.__version__,
    default_parameter=Parameter(negative=(), consume_multiple=True),
    help_format="markdown",
)


BUILT_IN, DEFAULT_COMPARISON = MeasuredRankingOptions(), ComparisonOptions()


@app.command
def evaluate(
    rankings: MeasuredRankingOptions = BUILT_IN,
    *,
    measure: MeasureTexts = DEFAULT_MEASURES,
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
        chart of the means.
    """
    check_outputs(output, rankings.sources, *RESULTS, *CHARTS)
    results, keys = measure_rankings(rankings, measure), rankings.keys
    are_curves = all(results.values.schema[name] == pl.List for name in results.all_measures)
    if are_curves and output and all(file.suffix.lower() in RESULTS for file in output):
        write_outputs(output, results.values)  # curves have no means to print
        return
    # Means do not depend on clusters, so queries of several columns need no choice.
    unclustered = keys | {"cluster": rankings.cluster or keys["query"]}
    means = pg.summarise(results.values, results.measures, **unclustered, missing="drop")
    groups = ["grader", *(rankings.segments or ()), keys["strategy"]]
    key_columns = [name for name in groups if name in means.columns]
    print_text("\n\n".join([format_means(means, key_columns), *rankings.captions]))

    def draw_means(_: str) -> Any:
        summary = pg.summarise(results.values, results.measures, **keys, missing="drop")
        return pg.charts.strategy_bars(summary, strategy=keys["strategy"])

    write_outputs(output, results.values, draw_means)


def format_means(summary: pl.DataFrame, key_columns: list[str]) -> str:
    """Return a table of means, the best strategy by the first measure first.

    `queries` is the lowest number of queries with a value, if it varies between measures.
    """
    means = summary.group_by(key_columns).agg(pl.col("queries").min())
    pivoted = summary.pivot("measure", index=key_columns, values="mean")
    means = means.join(pivoted, on=key_columns, nulls_equal=True)
    first, is_falling = summary["measure"][0], summary["best"][0] != "lowest"
    order = [*key_columns[:-1], first, key_columns[-1]]
    descending = [name == first and is_falling for name in order]
    return format_table(means.sort(order, descending=descending))


@app.command
def compare(
    rankings: MeasuredRankingOptions = BUILT_IN,
    *,
    comparison_options: ComparisonOptions = DEFAULT_COMPARISON,
    measure: MeasureTexts = DEFAULT_MEASURES,
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
    check_outputs(output, rankings.sources, *RESULTS, *CHARTS, *TABLES)
    results, strategy = measure_rankings(rankings, measure), rankings.keys["strategy"]
    options = vars(comparison_options) | rankings.keys
    compared = pg.compare(results.values, results.measures, **options)
    groups = ["grader", "measure", *(rankings.segments or ()), strategy]
    columns = [name for name in (*groups, *COMPARED) if name in compared.columns]
    tests = compared.select("test", "correction").unique(maintain_order=True).rows()
    captions = [f"Test {test}, correction {correction}." for test, correction in tests]
    print_text("\n".join([format_table(compared.select(columns)), *captions, *rankings.captions]))

    def make(suffix: str) -> Any:
        if suffix not in TABLES:
            return pg.charts.comparison_forest(compared, strategy=strategy)
        form: Any = "latex" if suffix == ".tex" else "markdown"
        return pg.paper_table(results.values, results.measures, format=form, **options)

    write_outputs(output, results.values, make)


@app.command
def gate(
    rankings: MeasuredRankingOptions = BUILT_IN,
    *,
    gate_options: GateOptions,
    measure: MeasureTexts = DEFAULT_MEASURES,
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
    earlier = Path(gate_options.baseline)
    check_outputs(output, rankings.sources | {"baseline": [earlier]}, *RESULTS, ".md")
    baseline = earlier if earlier.suffix.lower() in RESULTS else gate_options.baseline
    with print_warnings("gate", rankings) as warned:
        try:
            results = measure_rankings(rankings, measure)
            keywords = vars(gate_options) | {"baseline": baseline} | rankings.keys
            verdicts = pg.gate(results.values, results.measures, **keywords)
        except ERRORS as error:
            # A summary of an earlier gate must not stay.
            summaries = [file for file in output or () if file.suffix.lower() not in RESULTS]
            refusal = write_summary(WRONG_CALL, [write_message(error, "gate", rankings)])
            write_outputs(summaries, pl.DataFrame(), lambda _: refusal)
            raise
    failed = {*verdicts.filter(~pl.col("passes"))["verdict"]}
    status = 0 if not failed else 3 if failed == {"undecided"} else 1
    print_text("\n".join(verdicts["sentence"]))
    lines = [*verdicts["sentence"], *(f"Warning: {each}" for each in warned)]
    write_outputs(output, results.values, lambda _: write_summary(status, lines))
    return status


@app.command
def report(
    rankings: MeasuredRankingOptions = BUILT_IN,
    *,
    comparison_options: ComparisonOptions = DEFAULT_COMPARISON,
    title: str = "Strategies compared",
    measure: MeasureTexts = [*DEFAULT_MEASURES, "r_precision", *DEFAULT_CURVES],  # noqa: B006 (never changed)
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
    check_outputs(outputs, rankings.sources, ".html", *RESULTS)
    results = measure_rankings(rankings, measure)
    keywords = results.keywords | vars(comparison_options) | rankings.keys
    keywords = select_keywords(pg.report, keywords) | {"frame": results.frame, "title": title}
    pages = [file for file in outputs if file.suffix.lower() not in RESULTS]
    for page in pages:
        pg.report(results.values, page, results.all_measures, **keywords)
    write_outputs([file for file in outputs if file not in pages], results.values)
    print_text(f"Report: {', '.join(map(str, outputs))}")


@app.command
def similarity(
    rankings: JudgedRankingOptions = BUILT_IN,
    *,
    baseline: str | None = None,
    measure: MeasureTexts = DEFAULT_SIMILARITIES,
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
    check_outputs(output, rankings.sources, *RESULTS, *CHARTS)
    measures, keys = parse_names("--measure", measure), rankings.keys
    frame, keywords = rankings.read(pg.similarity)
    if rankings.strategy is None and "strategy" in keywords and frame["strategy"].n_unique() == 1:
        msg = f"similarity needs runs of several strategies, got only {frame['strategy'][0]!r}"
        raise ValueError(msg)
    values = pg.similarity(frame, measures, baseline=baseline, **keywords)
    values = add_query_columns(values, frame, rankings)
    measures = drop_curves(measures, values, "overlap@10")
    # Pairs are not compared with each other, so the means of a pair are over its own queries.
    pairs = values.partition_by(keys["strategy"], maintain_order=True)
    options = keys | {"missing": "drop"}
    summary = pl.concat([pg.summarise(pair, measures, **options) for pair in pairs])
    columns = [keys["strategy"], "measure", *(rankings.segments or []), *SHOWN_STATISTICS]
    print_text("\n".join([format_table(summary.select(columns)), *rankings.captions]))
    chart = partial(pg.charts.strategy_bars, summary, strategy=keys["strategy"])
    write_outputs(output, values, lambda _: chart())


@app.command
def fuse(
    rankings: RankingOptions = BUILT_IN,
    *,
    method: str = "rrf",
    normalise: str = "min_max",
    weights: list[float] | None = None,
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
    if not output:
        msg = "fuse needs a file to write: --output fused.run or --output fused.parquet"
        raise ValueError(msg)
    check_outputs(output, rankings.sources, ".run", *RESULTS)
    frame, keywords = rankings.read(pg.fuse)
    query, strategy = rankings.keys["query"], rankings.keys["strategy"]
    is_stacked = rankings.strategy is not None or strategy in frame.columns
    doc = rankings.doc or find_document_column(frame.schema, query) or "doc"
    if is_stacked or any(file.suffix.lower() not in RESULTS for file in output):
        check_columns("frame", [doc], frame.columns, argument="doc")
    if is_stacked:
        check_columns("frame", [strategy], frame.columns, argument="strategy")
        key, scores = [*query, doc], [*keywords.get("by", {"score": "score"}).values()]
        rows = frame.pivot(strategy, index=key, values=scores)
        keywords["by"] = [name for name in rows.columns if name not in key]
        others = [
            name
            for name in frame.columns
            if name not in (strategy, "rank", *scores, *rows.columns)
            and frame.n_unique([*key, name]) == rows.height  # one value per document
        ]
        documents = frame.select(*key, *others).unique(key, keep="first", maintain_order=True)
        frame = documents.join(rows, on=key, nulls_equal=True, maintain_order="left")
    if "by" not in keywords:
        msg = "fuse needs columns of scores, --by old new, or stacked strategies, --strategy NAME"
        raise ValueError(msg)
    keywords |= {"method": method, "normalise": normalise, "weights": weights, "k": k}
    fused = pg.fuse(frame, **keywords)

    def write_run(_: str) -> str:
        """Return a run of TREC, with tabs, since ids may contain blanks."""
        order = [*([False] * len(query)), True, True]
        rows = fused.drop_nulls("fused").sort(*query, "fused", doc, descending=order)
        rank = pl.int_range(1, pl.len() + 1).over(query).alias("rank")
        name = pl.concat_str(query, separator=", ")
        run = rows.select(name, pl.lit("Q0"), doc, rank, "fused", pl.lit("fused").alias("tag"))
        broken = run.filter(pl.any_horizontal(cs.string().str.contains(r"[\t\r\n]")))
        if broken.height:
            pairs = broken.select(name, doc).head(MAX_SHOWN_VALUES + 1).rows()
            msg = (
                "a run must have ids without tabs and ends of lines, got "
                f"{first_few(pairs)}; a .csv or .parquet file may have them"
            )
            raise ValueError(msg)
        return run.write_csv(include_header=False, separator="\t", quote_style="never").rstrip()

    write_outputs(output, fused, write_run)


for name in ("evaluate", "compare", "gate", "report", "similarity", "fuse"):
    # Options with several values would take the files that follow them.
    required = "--baseline STR " if name == "gate" else ""
    app[name].usage = f"Usage: polars-graded {name} [FILES] {required}[OPTIONS]"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; on an error, print one sentence and exit with status 2."""
    tokens = sys.argv[1:] if arguments is None else arguments
    subcommand, rankings = next(iter(tokens), ""), BUILT_IN
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # its encoding may lack characters
    try:
        command, bound, _ = app.parse_args(tokens, exit_on_error=False, print_error=False)
        rankings = bound.arguments.get("rankings", BUILT_IN)
        with print_warnings(subcommand, rankings):
            status = command(*bound.args, **bound.kwargs)
    except BrokenPipeError:
        status = UNREAD
    except (CycloptsError, *ERRORS) as error:
        print(
            f"polars-graded: error: {write_message(error, subcommand, rankings)}", file=sys.stderr
        )
        status = WRONG_CALL
    except KeyboardInterrupt:
        print("polars-graded: stopped", file=sys.stderr)
        status = INTERRUPTED
    if status:
        sys.exit(status)
