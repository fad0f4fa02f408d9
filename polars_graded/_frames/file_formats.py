"""Formats of files of runs and judgments.

The first line of a file shows its format. Polars reads every format. If a line of a file without a
header is malformed, a loop over the lines finds the first of them for the error.
"""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, NoReturn

import polars as pl
import polars.selectors as cs

from polars_graded._checks import first_few
from polars_graded._frames.inputs import build_judgment_table, build_run_table
from polars_graded._measuring.document_columns import DOCUMENT_NAMES, normalise_name

NAMES = {
    "query": (
        *("query_id", "qid", "q_id", "topic_id", "question_id", "query", "topic", "question"),
        *("user_id", "user"),
    ),
    "doc": DOCUMENT_NAMES,
    "score": ("score",),
    "grade": ("grade", "relevance", "rel", "label", "score"),
    "rank": ("rank",),
    "tag": ("strategy", "tag"),
}
"""Names of each field in tables and in JSON; an earlier name goes first. Upper case, and hyphens or
blanks in place of underscores, make no difference: "query-id", "productId"."""

MAX_EXACT = 2**53
"""Whole numbers below this limit are exact as Float64, the type of grades in measures."""

TIMES = (10**8, 10**10)
"""Seconds since 1970, of the years 1973 to 2286. Numbers that all lie between are no grades."""

MAX_SHOWN_CHARACTERS = 200
"""Maximum length of a line in an error."""

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")

_FIRST_LINE = re.compile(rb"^[ \t\r]*([^ \t\r\n#][^\n]*)", re.MULTILINE)
"""Pattern of the first line that is neither blank nor a comment."""


@dataclass(frozen=True)
class FileKind:
    """The formats of files of runs, or of files of judgments."""

    number: str
    """The field with a score or a grade."""
    line: str
    """Name of a line in messages."""
    fields: tuple[str, ...]
    """The fields of TREC's lines."""

    @property
    def forms(self) -> str:
        """Return the formats, for error messages."""
        return (
            f"lines of {' '.join(self.fields)}, a table with columns such as query-id, corpus-id "
            f"and {self.number}, or JSON such as {{query: {{doc: {self.number}}}}}"
        )


JUDGMENTS = FileKind(
    number="grade",
    line="a judgment",
    fields=("query", "iteration", "doc", "grade"),
)
RUNS = FileKind(
    number="score",
    line="a retrieved document",
    fields=("query", "Q0", "doc", "rank", "score", "tag"),
)
MS_MARCO = ("query", "doc", "rank")
"""Fields of MS MARCO's runs, which are separated by tabs."""


def parse_file(file: str, content: bytes, kind: FileKind) -> pl.DataFrame:
    """Return the rows of a file, in the format of its first line."""
    if content.startswith(b"PAR1"):
        return _select_fields(file, pl.read_parquet(content), kind)
    text = content.replace(b"\r\n", b"\n")
    first = _FIRST_LINE.search(text)
    if first is None:
        return _make_empty_table(kind)
    line = first[1].decode(errors="replace").strip()
    if line.startswith(("{", "[")):
        return _select_fields(file, _read_json(file, text, line, kind), kind)
    for separator in "\t,; ":
        header = [name.strip().strip('"') for name in line.split(separator)]
        names = _find_names(header, kind)
        if {"query", "doc"} <= {*names} and not {kind.number, "rank"}.isdisjoint(names):
            table = _read_table(file, text[first.start(1) :], separator)
            return _select_fields(file, table, kind)
    return _parse_lines(file, text, line, kind)


# Tables and JSON


def _find_names(columns: Collection[str], kind: FileKind) -> dict[str, str]:
    """Return the column of each field."""
    columns_by_name = {normalise_name(name): name for name in columns}
    names = {
        field: next((each for each in NAMES[field] if each in columns_by_name), "")
        for field in kind.fields
        if field in NAMES
    }
    return {field: columns_by_name[name] for field, name in names.items() if name}


def _read_table(file: str, text: bytes, separator: str) -> pl.DataFrame:
    """Return the columns below a header, as texts."""
    quote = '"' if separator in ",;" else None
    try:
        table = pl.read_csv(text, separator=separator, quote_char=quote, infer_schema=False)
    except pl.exceptions.PolarsError as error:
        reason = str(error).partition("\n")[0]
        msg = f"{file} must have the fields of its header in each line, got {reason}"
        raise ValueError(msg) from None
    texts = pl.all().str.strip_chars(" ")
    table = table.rename(str.strip).with_columns(pl.when(texts != "").then(texts))
    return table.filter(pl.any_horizontal(pl.all().is_not_null()))  # without empty lines


def _read_json(file: str, text: bytes, first_line: str, kind: FileKind) -> pl.DataFrame:
    """Return the rows of JSON: a list of objects, an object per line, or a mapping of queries."""
    try:
        if first_line.startswith("["):
            return _spread_lists(pl.read_json(io.BytesIO(text), infer_schema_length=None), kind)
        if _is_record(first_line, kind):
            return _spread_lists(pl.read_ndjson(io.BytesIO(text), infer_schema_length=None), kind)
        mapping = json.loads(text)
        if kind is RUNS:
            table = build_run_table(mapping, "query", "doc", None).table
        else:
            table = build_judgment_table(mapping, "query", "doc", "grade")
        return table.lazy().collect()
    except (ValueError, TypeError, pl.exceptions.PolarsError) as error:
        reason = str(error).partition("\n")[0]
        number = kind.number
        msg = (
            f"{file} must be JSON such as {{query: {{doc: {number}}}}}, {{query: [doc, ...]}}, or "
            f"objects with query, doc and {number}: {reason}"
        )
        raise ValueError(msg) from None


def _is_record(line: str, kind: FileKind) -> bool:
    """Return whether a line is a JSON object of a document, or of a query and its documents."""
    try:
        record = json.loads(line)
    except ValueError:
        return False
    names = _find_names(record, kind)
    return "query" in names and ("doc" in names or any(map(_is_list_of_objects, record.values())))


def _is_list_of_objects(value: object) -> bool:
    """Return whether a value of JSON is a list of objects."""
    return isinstance(value, list) and all(isinstance(each, dict) for each in value)


def _spread_lists(table: pl.DataFrame, kind: FileKind) -> pl.DataFrame:
    """Return one row per document, also if each row has a query and the list of its documents."""
    of_objects = cs.list(cs.struct())
    lists = table.select(of_objects).columns
    if len(lists) != 1 or "doc" in _find_names(table.columns, kind):
        return table
    return table.explode(lists, empty_as_null=False, keep_nulls=False).unnest(lists)


def _make_empty_table(kind: FileKind) -> pl.DataFrame:
    """Return a table without rows."""
    types = {name: pl.Float64 if name == kind.number else pl.String for name in kind.fields}
    return pl.DataFrame(schema=types)


def _select_fields(file: str, table: pl.DataFrame, kind: FileKind) -> pl.DataFrame:
    """Return the columns of the fields; raise if one lacks values or has the wrong type."""
    if table.is_empty():
        return _make_empty_table(kind)
    names = _find_names(table.columns, kind)
    is_list_of_relevant = kind is JUDGMENTS and table.width == len(names) == len(["query", "doc"])
    table = table.select(pl.col(column).alias(field) for field, column in names.items())
    if is_list_of_relevant:
        table = table.with_columns(grade=1.0)
    elif kind is RUNS and "rank" in names and "score" not in names:
        table = table.with_columns(score=-pl.col("rank").cast(pl.Float64, strict=False))
    for field in ("query", "doc", kind.number):
        if field not in table.columns:
            msg = f"{file} must have a column of {field!r}, got none\n\nHint: the formats are "
            raise ValueError(msg + kind.forms)
    for field in ("query", "doc"):
        dtype = table.schema[field]
        if not (dtype.is_integer() or dtype in (pl.String, pl.Categorical, pl.Null)):
            msg = f"{file} must have texts or whole numbers as {field!r}, got {dtype}"
            raise ValueError(msg)
    given = table
    table = table.cast({"query": pl.String, "doc": pl.String})
    table = table.with_columns(pl.col(kind.number).cast(pl.Float64, strict=False))
    for field in ("query", "doc", kind.number):
        is_fine = pl.col(field).is_not_null()
        if field == kind.number:
            is_fine &= pl.col(field).is_finite()
        wrong = table.select((~is_fine).arg_true()).to_series()
        if len(wrong):
            rule = "a finite number" if field == kind.number else "a value"
            value = given[field][wrong[0]]
            got = f"{value!r} in row {wrong[0] + 1}"
            msg = f"{file} must have {rule} as {field!r} in each row, got {got}"
            raise ValueError(msg)
    return table


# Lines without a header


def _parse_lines(file: str, text: bytes, first_line: str, kind: FileKind) -> pl.DataFrame:
    """Return the rows of TREC's or MS MARCO's lines; raise for the first malformed line.

    If tabs separate all fields of all lines, ids may contain blanks.
    """
    fields = kind.fields
    parts = first_line.split("\t")
    if kind is RUNS and len(parts) == len(MS_MARCO) and parts[-1].strip().isdecimal():
        fields = MS_MARCO
    separators = "\t" if fields is MS_MARCO else "\t " if b"\t" in text else " "
    tables = (_parse_fields(text, separator, fields) for separator in separators)
    table = next((each for each in tables if each is not None), None)
    if table is None or b"\r" in text:
        _refuse_first_line(file, text, fields, kind)
    if fields is MS_MARCO:
        _check_ranks(file, table)
        table = table.with_columns(score=-pl.col("rank").cast(pl.Float64))
    if kind is JUDGMENTS and table.height and table["grade"].is_between(*TIMES).all():
        msg = (
            f"{file} must have a grade as the last field, got times such as "
            f"{table['grade'][0]:.0f}\n\n"
            "Hint: pl.read_csv(...) reads ratings, whose fields are often user, item, rating, time"
        )
        raise ValueError(msg)
    return table


def _keep_fields(text: bytes, separator: str, fields: tuple[str, ...]) -> bytes:
    """Return lines of fields, without comments, empty lines and text after the tag."""
    at = b"\t" if separator == "\t" else None  # any number of blanks and tabs
    n = len(fields) if fields[-1] == "tag" else None  # trec_eval ignores text after the tag
    lines = (line.strip(b" \t") for line in text.split(b"\n"))
    kept = (line.split(at)[:n] for line in lines if line and not line.startswith(b"#"))
    return b"\n".join(map(separator.encode().join, kept))


def _parse_fields(text: bytes, separator: str, fields: tuple[str, ...]) -> pl.DataFrame | None:
    """Return the fields of lines; None if a line is malformed."""
    is_mixed = separator == " " and b"\t" in text
    table = None if is_mixed else _read_fields(text, separator, fields)
    if table is None:
        table = _read_fields(_keep_fields(text, separator, fields), separator, fields)
    return table


def _read_fields(text: bytes, separator: str, fields: tuple[str, ...]) -> pl.DataFrame | None:
    """Return the fields of lines with one separator between them."""
    types = {name: pl.Float64 if name in ("score", "grade") else pl.String for name in fields}
    try:
        table = pl.read_csv(
            # Some text, such as "x^", begins like a compressed file, which Polars would decompress.
            b"\n" + text,
            skip_lines=1,
            separator=separator,
            has_header=False,
            quote_char=None,
            comment_prefix="#" if b"#" in text else None,
            schema=types,
        )
    except (pl.exceptions.PolarsError, OSError):
        return None
    if separator == "\t" and b" " in text:
        table = table.with_columns(cs.string().str.strip_chars(" ").replace("", None))
        if "tag" in fields:  # a single word, since trec_eval ignores the text behind it
            table = table.with_columns(pl.col("tag").str.extract("([^ ]+)"))
    is_fine = [pl.all().is_not_null().all(), cs.float().is_finite().all()]
    if "grade" in fields:
        is_fine.append((pl.col("grade").abs() < MAX_EXACT).all())
    if not table.select(pl.all_horizontal(is_fine)).item():
        return None
    if "rank" not in fields:
        return table
    rank = table["rank"].cast(pl.Int64, strict=False)
    if rank.null_count():
        rank = table["rank"].str.replace(r"\.0*$", "").cast(pl.Int64, strict=False)
    # Beside a score, trec_eval ignores the rank, which need not be a number.
    return None if fields is MS_MARCO and rank.null_count() else table.with_columns(rank)


def _check_ranks(file: str, table: pl.DataFrame) -> None:
    """Raise if the ranks of the first query do not begin at 1 or 0, as scores may."""
    ranks = table.filter(pl.col("query") == pl.col("query").first())["rank"]
    if ranks.min() not in (0, 1) or ranks.is_duplicated().any():
        msg = (
            f"{file} must have a rank in its last column, from 1 or 0 on in each query, got "
            f"{first_few(ranks.to_list())} for query {table['query'][0]!r}\n\n"
            "Hint: a header, query doc score, makes the last column a score"
        )
        raise ValueError(msg)


def _refuse_first_line(file: str, text: bytes, fields: tuple[str, ...], kind: FileKind) -> NoReturn:
    """Raise for the first malformed line."""
    n, has_rest, separator = len(fields), fields[-1] == "tag", None
    hint = f"\n\nHint: the formats are {kind.forms}"
    for number, line in decode_lines(file, text):
        if separator is None:
            n_at_tabs = len(line.split("\t"))
            is_at_tabs = n_at_tabs >= n if has_rest else n_at_tabs == n
            separator = "\t" if is_at_tabs else ""
        parts = line.split(separator) if separator else re.split("[ \t]+", line)
        sentence = ""
        if len(parts) < n or (len(parts) > n and not has_rest):
            names = " ".join(fields)
            sentence = f"{kind.line} has {n} fields, {names}, got {len(parts)}"
        for name, part in zip(fields, parts, strict=False):
            if not part.strip(" "):
                sentence = sentence or f"a {name} is not empty, got {part!r}"
            if name in ("score", "grade"):
                sentence = sentence or find_wrong_number(name, part.strip(" "))
        if fields is MS_MARCO and not sentence and not parts[-1].strip().isdecimal():
            sentence = f"a rank is a whole number, got {parts[-1]!r}"
        if sentence:
            refuse_line(file, number, sentence, line, hint)
        hint = ""
    msg = f"{file} must have {kind.forms}, got something else"
    raise ValueError(msg)


def decode_lines(file: str, text: bytes, first: int = 1) -> Any:
    """Yield the number and the stripped text of each line with content; raise for other bytes."""
    for number, raw in enumerate(text.split(b"\n"), first):
        try:
            line = raw.decode().rstrip("\r").strip(" \t")
        except UnicodeDecodeError as error:
            sentence = f"text must be UTF-8, got byte 0x{raw[error.start]:02x}"
            refuse_line(file, number, sentence, raw.decode(errors="replace").strip(" \t\r"))
        if "\r" in line:
            refuse_line(file, number, r"a line ends in \n or \r\n, got \r within it", line)
        if line and not line.startswith("#"):
            yield number, line


def find_wrong_number(name: str, text: str) -> str:
    """Return the error of a score or a grade; an empty text if it is fine."""
    shown = text[:MAX_SHOWN_CHARACTERS]
    if not NUMBER.fullmatch(text) or not math.isfinite(float(text)):
        return f"a {name} is a finite number, got '{shown}'"
    if name == "grade" and abs(float(text)) >= MAX_EXACT:
        return f"a grade has a magnitude below {MAX_EXACT}, to be exact as Float64, got '{shown}'"
    return ""


def refuse_line(file: str, number: int, sentence: str, line: str, hint: str = "") -> NoReturn:
    """Raise for a malformed line."""
    if len(line) > MAX_SHOWN_CHARACTERS:
        line = line[:MAX_SHOWN_CHARACTERS] + "..."
    msg = f"{file}, line {number}: {sentence}: {line!r}{hint}"
    raise ValueError(msg)
