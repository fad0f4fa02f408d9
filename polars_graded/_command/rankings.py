"""Options that describe files of rankings, and the frame in these files."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass
from inspect import signature
from pathlib import Path
from typing import Annotated, Any, Literal

import polars as pl
from cyclopts import Group, Parameter

import polars_graded as pg

SEPARATORS = {".csv": ",", ".tsv": "\t"}
"""Separator of columns for each extension of a text file; `.csv.gz` counts as `.csv`."""

FILE_OPTIONS = ("files", "named_by", "qrels", "unjudged_below", "strategy")
"""Options that are not for a public function, but for reading files."""

DOCUMENT_OPTIONS = ("known", "subtopics", "popularity", "features", "reference")
"""Options that name columns with properties of documents."""

Texts = Annotated[list[str] | None, Parameter(consume_multiple=True)]
"""Type of an option with several texts, such as `--by old new`."""


@Parameter(name="*", group=Group("Rankings"))
@dataclass(frozen=True)
class RankingOptions:
    """Options for files of rankings, with the names of the public functions' arguments."""

    files: list[Path] | None = None
    """Rankings, plain or gzip; built-in ones by default. Rows: .csv, .tsv and .parquet files with
    one row per query and document. LETOR (SVMlight): each feature is a score. Runs: TREC, MS MARCO,
    BEIR, JSON, or with --qrels any files with columns query, doc and score."""
    _: KW_ONLY
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
        return frame, select_keywords(function, keywords | passed)

    def _read_files(self) -> tuple[pl.DataFrame, dict[str, Any]]:
        """Return the rows, and keywords for what no option specifies."""
        if self.unjudged_below is not None and not self.qrels:
            msg = "--unjudged-below needs --qrels"
            raise ValueError(msg)
        if not self.files:
            return pg.datasets.example(), {"by": ["strong", "fair", "weak"]}
        if not self.qrels and _find_suffix(self.files[0]) in (*SEPARATORS, ".parquet"):
            return pl.concat(map(_read_table, self.files), how="vertical_relaxed"), {}
        if not self.qrels and _has_features(self.files[0]):
            frame = pg.read_letor(self.files)
            return frame, {"by": frame.columns[3:]}
        rows = pg.read_run(self.files, named_by=self.named_by or "tag")
        keywords: dict[str, Any] = {"strategy": "strategy", "descending": True}
        if not self.qrels:
            return rows, keywords
        judgments = {
            name: pg.read_qrels(file, subtopics=bool(self.subtopics))
            for name, file in parse_names(self.qrels).items()
        }
        if len(judgments) > 1:
            keywords["grade"] = [*judgments]
        return pg.join_judgments(
            rows.drop("rank"),
            judgments if len(judgments) > 1 else next(iter(judgments.values())),
            strategy="strategy",
            subtopic="subtopic" if self.subtopics else None,
            unjudged_below=self.unjudged_below,
        ), keywords


def select_keywords(function: Callable[..., Any], keywords: dict[str, Any]) -> dict[str, Any]:
    """Return the keywords that a function takes."""
    names = signature(function).parameters
    return {name: value for name, value in keywords.items() if name in names}


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


def _read_table(file: Path) -> pl.DataFrame:
    """Return the rows of a CSV, TSV or Parquet file. Types are inferred from all rows."""
    suffix = _find_suffix(file)
    if suffix == ".parquet":
        return pl.read_parquet(file)
    return pl.read_csv(file, separator=SEPARATORS[suffix], infer_schema_length=None)
