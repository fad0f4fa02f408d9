"""Options that describe files of rankings, and the frame in these files."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from inspect import signature
from pathlib import Path
from typing import Annotated, Any, Literal

import polars as pl
from cyclopts import Group, Parameter

import polars_graded as pg
from polars_graded._checks import check_columns

SEPARATORS = {".csv": ",", ".tsv": "\t"}
"""Separator of columns for each extension of a text file; `.csv.gz` counts as `.csv`."""

TABLES_OF_RUNS = (".csv", ".parquet")
"""Extensions of runs and judgments with named columns; a .tsv file may be a run of MS MARCO."""

LETOR_KEYS = ("query", "doc", "grade")
"""Columns of LETOR files that are not features."""

FILE_OPTIONS = ("files", "runs", "named_by", "qrels", "unjudged_below", "strategy")
"""Options that are not for a public function, but for reading files."""

Texts = Annotated[list[str] | None, Parameter(consume_multiple=True)]
"""Type of an option with several texts, such as `--by old new`."""


@Parameter(name="*", group=Group("Rankings"))
@dataclass(frozen=True)
class Rankings:
    """Options for files of rankings, with the names of the public functions' arguments."""

    files: list[Path] | None = None
    """Rankings, plain or gzip; built-in ones by default. Rows: .csv, .tsv and .parquet files with
    one row per query and document. LETOR (SVMlight): each feature is a score. Runs: TREC, MS MARCO,
    BEIR, JSON, or .csv and .parquet files with columns query, doc and score."""
    _: KW_ONLY
    runs: bool | None = None
    """Read the files as runs, whatever their names. With --qrels, they are always runs."""
    named_by: Literal["tag", "file"] | None = None
    """The source of the name of a run's strategy; its tag by default."""
    qrels: list[str] | None = None
    """The judgments of runs, in a file of the same formats. For several graders, repeat the option:
    --qrels people=FILE --qrels model=FILE."""
    unjudged_below: float | None = None
    """Ignore judgments below this grade. With 0, documents with grade -1 (pooled but not judged)
    are unjudged, as in trec_eval."""
    query: Texts = None
    """The column of queries, or several; query by default."""
    doc: str | None = None
    """The column of documents; doc, or another usual name, by default."""
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
    such as trec_eval. By default the documents, with a warning if they decide a value."""
    grade: str | None = None
    """The column of grades; grade by default."""
    irrelevant: float | None = None
    """The grade that means not relevant; 0 by default, 1 for stars from 1 to 5."""
    relevant_from: float | None = None
    """The lowest relevant grade; by default any grade above irrelevant is relevant."""
    max_grade: float | None = None
    """The highest grade of the scale; by default the highest judged grade of each query."""
    undefined_as: float | Literal["none"] | None = None
    """The value of a query without a relevant document; by default 0, but 1 for e_measure, and none
    for roc_auc and pairwise_accuracy. With none, means leave the query out."""
    condensed: bool | None = None
    """Drop unjudged documents from the rankings."""
    known: str | None = None
    """The column that is true for documents that the user knew, for coverage_ratio and others."""
    subtopics: str | None = None
    """The column of subtopics, for measures of diversity. With --qrels, pass subtopics: they are
    the second field of each line of the judgments."""
    popularity: str | None = None
    """The column of the popularity of documents, for popularity and novelty."""
    features: str | None = None
    """The column of vectors or categories, for diversity."""
    reference: str | None = None
    """The column of the ranks of a reference, or true for expected documents, for serendipity."""

    @property
    def inputs(self) -> list[Path]:
        """Return all files that are read."""
        return [*(self.files or ()), *map(Path, parse_names(self.qrels or ()).values())]

    @property
    def keys(self) -> dict[str, Any]:
        """Return the keywords for the keys of results."""
        return {"query": self.query or ["query"], "strategy": self.strategy or "strategy"}

    def read(self, function: Callable[..., Any]) -> tuple[pl.DataFrame, dict[str, Any]]:
        """Return the rows, and the keywords that describe them to a public function.

        Raise if an option was passed that the function does not take.
        """
        passed = {name: value for name, value in vars(self).items() if value is not None}
        for name in passed.keys() - {*signature(function).parameters, *FILE_OPTIONS}:
            msg = f"{function.__name__} takes no --{name.replace('_', '-')}"
            raise ValueError(msg)
        if self.undefined_as == "none":
            passed["undefined_as"] = None
        if self.by:
            passed["by"] = parse_names(self.by)
        if self.descending:
            passed["descending"] = _parse_directions(self.descending)
        if self.ties and len(self.ties) == 1:
            passed["ties"] = self.ties[0]
        frame, keywords = self._read_files()
        for name in ("query", "by", "ties"):
            check_no_commas(name, getattr(self, name) or [], frame.columns)
        return frame, select_keywords(function, keywords | passed)

    def _read_files(self) -> tuple[pl.DataFrame, dict[str, Any]]:
        """Return the rows, and keywords for what no option specifies."""
        if self.qrels:
            return self._read_judged_runs(self.qrels)
        if self.unjudged_below is not None:
            msg = "--unjudged-below needs --qrels"
            raise ValueError(msg)
        if not self.files:
            return pg.datasets.example(), {"by": ["strong", "fair", "weak"]}
        are_tables = all(_find_suffix(file) in (*SEPARATORS, ".parquet") for file in self.files)
        if self.runs or not (are_tables or _has_features(self.files[0])):
            return self._read_runs(), {"strategy": "strategy", "descending": True}
        if not are_tables:
            frame = pg.read_letor(self.files)
            return frame, {"by": [name for name in frame.columns if name not in LETOR_KEYS]}
        ids = (*self.keys["query"], self.doc or "doc", self.keys["strategy"])
        frames = [_read_table(file, *ids) for file in self.files]
        for file, frame in zip(self.files, frames, strict=True):
            check_columns(str(file), frames[0].columns, frame.columns)
        return pl.concat(frames, how="diagonal_relaxed"), {}

    def _read_judged_runs(self, qrels: Sequence[str]) -> tuple[pl.DataFrame, dict[str, Any]]:
        """Return runs joined with their judgments."""
        judgments = {
            name: _read_table(Path(file), "query", "doc", needs="grade")
            if _find_suffix(Path(file)) in TABLES_OF_RUNS
            else pg.read_qrels(file, subtopics=bool(self.subtopics))
            for name, file in parse_names(qrels).items()
        }
        rows = pg.join_judgments(
            self._read_runs(),
            judgments if len(judgments) > 1 else next(iter(judgments.values())),
            strategy="strategy",
            subtopic="subtopic" if self.subtopics else None,
            unjudged_below=self.unjudged_below,
        )
        graders = {"grade": [*judgments]} if len(judgments) > 1 else {}
        return rows, {"strategy": "strategy", "descending": True, **graders}

    def _read_runs(self) -> pl.DataFrame:
        """Return the documents of all runs, with the names of their strategies."""
        tables = [file for file in self.files or () if _find_suffix(file) in TABLES_OF_RUNS]
        texts = [file for file in self.files or () if file not in tables]
        runs = [pg.read_run(texts, named_by=self.named_by or "tag")] if texts or not tables else []
        for file in tables:
            run = _read_table(file, "query", "doc", needs="score")
            if self.named_by == "file" or "strategy" not in run.columns:
                run = run.with_columns(strategy=pl.lit(file.stem))
            runs.append(run)
        columns = ["query", "doc", "score", "strategy"]
        return pl.concat([run.select(columns) for run in runs], how="vertical_relaxed")


def select_keywords(function: Callable[..., Any], keywords: dict[str, Any]) -> dict[str, Any]:
    """Return the keywords that a function takes."""
    names = signature(function).parameters
    return {name: value for name, value in keywords.items() if name in names}


def check_no_commas(option: str, names: Sequence[str], columns: Collection[str]) -> None:
    """Raise if columns of an option are separated by commas in place of blanks."""
    for name in names:
        parts = name.split(",")
        if len(parts) > 1 and name not in columns and {*parts} <= {*columns}:
            msg = (
                f"the columns of --{option} must be separated by blanks, got {name!r}\n\n"
                f"Hint: --{option} {' '.join(parts)}"
            )
            raise ValueError(msg)


def parse_names(texts: Iterable[str]) -> dict[str, str]:
    """Return values by name, from texts such as `old=bm25` or `bm25`.

    An option in brackets, as in `ap(threshold=2)`, and an existing file are no names.
    """
    values: dict[str, str] = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator or "(" in name or Path(text).exists():
            name = value = text
        if not (name and value) or name in values:
            msg = f"each of several values must have its own name, as in NAME=VALUE, got {text!r}"
            raise ValueError(msg)
        values[name] = value
    return values


def _parse_directions(texts: Iterable[str]) -> bool | dict[str, bool]:
    """Return --descending as one Boolean, or as one per strategy."""
    flags = {"true": True, "false": False}
    names = parse_names(texts)
    if not {*names.values()} <= {*flags}:
        msg = f"`descending` must be true, false or NAME=false, got {' '.join(names.values())}"
        raise ValueError(msg)
    directions = {name: flags[value] for name, value in names.items()}
    return next(iter(directions.values())) if {*names} <= {*flags} else directions


def _find_suffix(file: Path) -> str:
    """Return the suffix of a file, without `.gz`."""
    return Path(file.name.lower().removesuffix(".gz")).suffix


def _has_features(file: Path) -> bool:
    """Return whether the first line of a file is one of LETOR's."""
    with (gzip.open if file.suffix.lower() == ".gz" else open)(file, "rb") as lines:
        return b" qid:" in next((line for line in lines if not line.startswith(b"#")), b"")


def _read_table(file: Path, *ids: str, needs: str | None = None) -> pl.DataFrame:
    """Return the rows of a CSV, TSV or Parquet file.

    The types of columns in a text file are inferred from all rows. Ids become numbers only if no
    text would change: "001" and "1" stay different ids. For a run or judgments, which need a
    column besides the ids, ids are texts.
    """
    suffix = _find_suffix(file)
    with file.open("rb") as opened:
        if suffix == ".parquet":
            frame = pl.read_parquet(opened)
        else:
            options: Any = {"separator": SEPARATORS[suffix], "infer_schema_length": None}
            frame = pl.read_csv(opened, schema_overrides=dict.fromkeys(ids, pl.String), **options)
            _check_last_line(file, frame, SEPARATORS[suffix])
    if needs:
        check_columns(str(file), (*ids, needs), frame.columns)
        return frame.cast(dict.fromkeys(ids, pl.String))
    for name in {*ids} & {*frame.columns} if suffix != ".parquet" else ():
        numbers = frame[name].cast(pl.Int64, strict=False)
        if numbers.cast(pl.String).equals(frame[name]):
            frame = frame.with_columns(numbers)
    return frame


def _check_last_line(file: Path, frame: pl.DataFrame, separator: str) -> None:
    """Raise if the last line was cut off: its missing score would mean not retrieved."""
    if not frame.is_empty() and frame.row(-1)[-1] is None:
        lines = pl.read_csv(file, has_header=False, separator="\x1f", quote_char=None)
        line = str(lines.row(-1)[0])
        if line.count(separator) < frame.width - 1:
            msg = f"{file} must have {frame.width} values in each line, got {line!r} in the last"
            raise ValueError(msg)
