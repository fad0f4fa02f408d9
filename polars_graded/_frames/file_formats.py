"""Formats of files of runs and judgments, and the names of their fields."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import polars as pl

BLANKS = " \t"

NUMBERS = {"grade": pl.Float64(), "score": pl.Float64(), "rank": pl.Int64()}
"""Types of the fields that contain numbers."""

NAMES = {
    "query": ("query_id", "query-id", "qid", "topic_id", "query"),
    "doc": ("doc_id", "docid", "docno", "corpus_id", "corpus-id", "document_id", "pid", "doc"),
    "score": ("score",),
    "grade": ("grade", "relevance", "rel", "label", "score"),
    "rank": ("rank",),
    "tag": ("strategy", "tag"),
}
"""Names of each field in headers and in JSON. If several names occur, the first one is used."""


@dataclass(frozen=True)
class LineFormat:
    """A format of lines with the same fields."""

    line: str
    """Name of a line in messages."""
    fields: tuple[str, ...]
    """Names of the fields. Ignored fields below a header have names such as ":0"."""
    has_rest: bool = False
    """True if text may follow the last field, as in trec_eval."""

    @property
    def numbers(self) -> list[str]:
        """Return the fields that must be numbers.

        A rank beside a score need not be a number, since trec_eval ignores it.
        """
        ignored = "rank" if "score" in self.fields else None
        return [name for name in self.fields if name in NUMBERS and name != ignored]


@dataclass(frozen=True)
class FileKind:
    """The formats of a file of runs, or of a file of judgments."""

    number: str
    """The field with a score or a grade."""
    fields: tuple[str, ...]
    """The fields that are read below a header and from JSON."""
    lines: LineFormat
    """The format of files that match no other format."""
    lines_with_tabs: LineFormat | None
    """Another format, with tabs between the fields, of which the last is a whole number."""

    @property
    def json(self) -> str:
        """Return the forms of JSON, for error messages."""
        return (
            f"{{query: {{doc: {self.number}}}}}, {{query: [doc, ...]}}, or objects with query, doc "
            f"and {self.number}"
        )

    def suggest(self, file: str, line: str) -> str:
        """Return a hint for a file of another format: a call of Polars that reads it, if any."""
        names = ["query", "doc", self.number]
        separator = next((each for each in "\t,; " if line.count(each) > 1), None)
        *others, last = (part.strip() for part in line.split(separator))
        is_complete = len(others) + 1 == len(names)
        has_number = is_complete and re.fullmatch(r"[-+.\deE]+", last)
        if separator not in {",", ";"} and not has_number:
            return self._describe_formats()
        options = "" if separator == "," else f", separator={separator!r}"
        if has_number:
            options += f", has_header=False, new_columns={names}"
        columns = f"the columns {', '.join(names[:-1])} and {names[-1]}"
        return f"join_judgments takes a frame with {columns}: pl.read_csv({file!r}{options})"

    def _describe_formats(self) -> str:
        tabs = self.lines_with_tabs
        others = f"lines of {' '.join(tabs.fields)} with tabs, " if tabs else ""
        return (
            f"the formats are lines of {' '.join(self.lines.fields)}, {others}lines below a header "
            f"such as query-id corpus-id score, and JSON such as {self.json}"
        )

    def add_number(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return the rows with a number: the negative rank as score, or 1 as grade."""
        if self.number in rows.columns:
            return rows
        number = -pl.col("rank").cast(pl.Float64) if self.number == "score" else pl.lit(1.0)
        return rows.with_columns(number.alias(self.number))


JUDGMENTS = FileKind(
    number="grade",
    fields=("query", "doc", "grade"),
    lines=LineFormat("a judgment", ("query", "iteration", "doc", "grade")),
    lines_with_tabs=None,
)

RUNS = FileKind(
    number="score",
    fields=("query", "doc", "score", "rank", "tag"),
    lines=LineFormat(
        "a retrieved document", ("query", "Q0", "doc", "rank", "score", "tag"), has_rest=True
    ),
    # MS MARCO's runs
    lines_with_tabs=LineFormat("a retrieved document", ("query", "doc", "rank")),
)


def build_schema(names: Iterable[str]) -> pl.Schema:
    """Return the types of fields."""
    return pl.Schema({name: NUMBERS.get(name, pl.String()) for name in names})


def find_names(kind: FileKind, columns: Collection[str]) -> dict[str, str]:
    """Map the columns of a header or of JSON objects to fields."""
    names = {
        field: next((name for name in NAMES[field] if name in columns), None)
        for field in kind.fields
    }
    return {name: field for field, name in names.items() if name is not None}


def find_format(first_line: str, kind: FileKind) -> tuple[LineFormat, bool]:
    """Return the format of a file, and whether its first line is a header."""
    line = first_line.strip()
    for parts in (split_at_tabs(line), line.split()):
        names = find_names(kind, [part.lower() for part in parts])
        fields = tuple(names.get(part.lower(), f":{n}") for n, part in enumerate(parts))
        if {"query", "doc"} <= {*fields} and not {kind.number, "rank"}.isdisjoint(fields):
            return LineFormat(f"a line below the header {line!r}", fields), True
    parts, tabs = split_at_tabs(line), kind.lines_with_tabs
    if tabs is not None and len(parts) == len(tabs.fields) and parts[-1].isdecimal():
        return tabs, False
    return kind.lines, False


def split_at_tabs(line: str) -> Sequence[str]:
    """Return the parts of a line between tabs that are not blank."""
    return [part.strip() for part in re.findall(r"[^\t]*[^\t ][^\t]*", line)]
