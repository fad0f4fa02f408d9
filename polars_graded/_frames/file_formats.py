"""Files of runs, judgments and features: paths, lines, tables and JSON.

The first line of a file shows its format: JSON, a header, or lines of fields. Polars reads all of
them.
"""

from __future__ import annotations

import glob
import gzip
import json
import math
import os
import re
import zlib
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple, NoReturn, TypeAlias

import numpy as np
import polars as pl
import polars.selectors as cs

from polars_graded._checks import TEXT_TYPES, first_few
from polars_graded._frames.tables import (
    Frame,
    build_run_table,
    build_table,
    is_collection,
    maps_queries,
)
from polars_graded._measuring.document_columns import DOCUMENT_NAMES, normalise_name

Source: TypeAlias = "str | os.PathLike[str] | bytes | IO[str] | IO[bytes]"
Paths: TypeAlias = "Source | Iterable[Source]"

MAX_SHOWN_CHARACTERS = 200
"""Maximum length of a line in an error."""

_GZIP = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

NAMES = {
    "query": (
        *("query_id", "qid", "q_id", "topic_id", "question_id", "query", "topic", "question"),
        *("user_id", "user", "id"),
    ),
    "doc": DOCUMENT_NAMES,
    "score": ("score",),
    "grade": ("grade", "relevance", "rel", "label", "rating", "score"),
    "rank": ("rank",),
    "tag": ("strategy", "tag"),
}
"""Names of each field in tables and in JSON; an earlier name goes first. Upper case, and hyphens or
blanks in place of underscores, make no difference: "query-id", "productId"."""

MAX_EXACT = 2**53
"""Whole numbers below this limit are exact as Float64, the type of grades in measures."""

TIMES = (10**8, 10**10)
"""Seconds since 1970, of the years 1973 to 2286. Numbers that all lie between are no grades."""

_FIRST_LINE = re.compile(rb"^[ \t\r]*([^ \t\r\n#][^\n]*)", re.MULTILINE)
"""Pattern of the first line that is neither blank nor a comment."""


class File(NamedTuple):
    """A file: its path, its content as bytes, or an open file."""

    source: Path | bytes | IO[str] | IO[bytes]

    @property
    def name(self) -> str:
        """Return the name of the file in messages."""
        if isinstance(self.source, Path):
            return str(self.source)
        name = getattr(self.source, "name", None)
        return name if isinstance(name, str) else f"<{type(self.source).__name__}>"

    @property
    def short_name(self) -> str:
        """Return the name of the file without its folder."""
        return self.source.name if isinstance(self.source, Path) else self.name

    def read(self) -> bytes:
        """Return the content, decompressed if it is gzip."""
        if isinstance(self.source, bytes):
            content = self.source
        elif isinstance(self.source, Path):
            content = self.source.read_bytes()
        else:
            given = self.source.read()
            content = given.encode() if isinstance(given, str) else given
        if content.startswith(_GZIP):
            try:
                content = gzip.decompress(content)
            except (gzip.BadGzipFile, EOFError, zlib.error) as error:
                msg = f"{self.name} must be a complete gzip file, got a damaged one: {error}"
                raise ValueError(msg) from None
        return content.removeprefix(_BYTE_ORDER_MARK)


def list_files(paths: Any) -> list[File]:
    """Return the files that `paths` names.

    A path with `*`, `?` or `[` is a pattern, unless a file or folder has exactly this name.
    """
    is_single = isinstance(paths, str | os.PathLike | bytes) or hasattr(paths, "read")
    sources = [paths] if is_single or not isinstance(paths, Iterable) else list(paths)
    if not sources:
        msg = "`paths` must name at least one file, got none"
        raise ValueError(msg)
    return [file for source in sources for file in _list_files_of_path(source)]


def _list_files_of_path(source: Any) -> list[File]:
    if isinstance(source, bytes) or hasattr(source, "read"):
        return [File(source)]
    if not isinstance(source, str | os.PathLike):
        msg = f"`paths` must be a path, an open file or a list of them, got {source!r}"
        raise TypeError(msg)
    path = os.fspath(source)
    if Path(path).is_dir():
        msg = (
            f"`paths` must name files, got the folder {path!r}\n\n"
            f"Hint: {str(Path(path) / '*')!r} names all files in it, and a list names some"
        )
        raise IsADirectoryError(msg)
    is_pattern = glob.has_magic(path) and not Path(path).exists()
    matches = sorted(glob.glob(path, recursive=True)) if is_pattern else [path]  # noqa: PTH207
    if not matches:
        msg = f"no file has a name like {path!r}"
        raise FileNotFoundError(msg)
    return [File(Path(each)) for each in matches]


class LineFormat(NamedTuple):
    """A format of lines with one document each, of fields between blanks or tabs."""

    reader: str
    """The function that reads such files."""
    fields: tuple[str, ...]
    """Names of the fields. Text after a tag is ignored, as in trec_eval."""
    number: str
    """The field that must be a number."""

    @property
    def forms(self) -> str:
        """Return the formats of all files that the reader reads, for error messages."""
        return (
            f"lines of {' '.join(self.fields)}, a table whose first line names its columns, such "
            f"as 'query,doc,{self.number}', or JSON such as {{query: {{doc: {self.number}}}}}"
        )

    def make_pattern(self, separators: str) -> str:
        """Return the pattern of a line, with a group for each field.

        Tabs separate the fields, or any number of blanks and tabs.
        """
        fields = [f"(?P<{field}>[^{separators}]+)" for field in self.fields]
        if self.fields[-1] == "tag":
            fields[-1] = r"(?P<tag>[^ \t]+)(?:[ \t].*)?"
        between = "\t" if separators == "\t" else f"[{separators}]+"
        return f"^{between.join(fields)}$"


JUDGMENT_LINES = LineFormat("read_qrels", ("query", "iteration", "doc", "grade"), "grade")
RUN_LINES = LineFormat("read_run", ("query", "Q0", "doc", "rank", "score", "tag"), "score")
MS_MARCO_LINES = LineFormat("read_run", ("query", "doc", "rank"), "rank")
COLBERT_LINES = LineFormat("read_run", ("query", "doc", "rank", "score"), "score")

LINES_WITH_TABS = {
    r"[^\t]*\t[^\t]*\t *[0-9]+": MS_MARCO_LINES,
    r"[^\t]*\t(?!Q?0\t)[^\t]*\t *[0-9]+\t *[-+0-9.eE]+": COLBERT_LINES,
    r"[^\t]*\t[^\t]*\t *[0-9]+\t *-?[0-9]*\.[-+0-9eE]+": COLBERT_LINES,
}
"""Formats of runs other than `RUN_LINES`, by the pattern of their first line.

The second field of judgments is usually 0, and their grades are usually whole.
"""

LINE_PATTERNS = {
    "read_letor": ("LETOR", r"\S+[ \t]+qid:.*"),
    "read_qrels": ("judgments", r"\S+[ \t]+(?:Q?[0-9]+)[ \t]+\S+[ \t]+-?[0-9]+"),
    "read_run": ("a run", r"(?:\S+[ \t]+){4}-?[0-9.e-]+[ \t]+.*"),
}
"""Names and patterns of lines by the function that reads them, for hints."""


def parse_file(file: File, line_format: LineFormat) -> pl.DataFrame:
    """Return the rows of a run or of judgments, in the format of the first line.

    The columns are `query`, `doc`, a number and other fields. A run of ranks has no score.
    """
    content = file.read()
    if content.startswith(b"PAR1"):
        read: Callable[[], pl.DataFrame] = partial(pl.read_parquet, content)
        return _parse_table(file.name, line_format, "be a complete Parquet file", read)
    check_text(file.name, content)
    first = _FIRST_LINE.search(content)
    start, line = (first.start(1), first[1].decode().strip()) if first else (0, "")
    number = line_format.number
    if line.startswith(("{", "[")):
        rule = (
            f"be JSON such as {{query: {{doc: {number}}}}}, {{query: [doc, ...]}}, or objects with "
            f"query, doc and {number}"
        )
        read = partial(_read_json, content, line, line_format)
        return _parse_table(file.name, line_format, rule, read)
    for separator in "\t,; ":
        names = [name.strip().strip('"') for name in line.split(separator)]
        columns = _find_fields(names, line_format)
        has_number = not {number, "rank"}.isdisjoint(columns)
        # Between blanks, "query" and "doc" may be ids; between commas, they are names.
        if {"query", "doc"} <= {*columns} and (has_number or separator in ",;"):
            rule = "have the fields of its header in each line"
            read = partial(_read_table, content[start:], separator)
            return _parse_table(file.name, line_format, rule, read)
    return _parse_lines(file.name, content, line, line_format)


# Tables and JSON


def _find_fields(columns: Iterable[str], line_format: LineFormat) -> dict[str, str]:
    """Return the column of each field; no column has two fields."""
    columns_by_name = {normalise_name(name): name for name in columns}
    columns_by_field = {}
    for field in ("query", "doc", line_format.number, *line_format.fields):
        name = next((each for each in NAMES.get(field, ()) if each in columns_by_name), None)
        if name is not None and field not in columns_by_field:
            columns_by_field[field] = columns_by_name.pop(name)
    return columns_by_field


def _read_table(content: bytes, separator: str) -> pl.DataFrame:
    """Return the columns below a header, as texts."""
    if b"\r" in content:  # lines of Python's csv on Windows may end in CR CR LF
        content = re.sub(rb"\r+(?=\n|$)", b"", content)
    if separator == " ":  # any number of blanks and tabs
        content = re.sub(rb"[ \t]+", b" ", re.sub(rb"(?m)^[ \t]+|[ \t\r]+$", b"", content))
    quote = '"' if separator in ",;" or content.startswith(b'"') else None
    table = pl.read_csv(content, separator=separator, quote_char=quote, infer_schema=False)
    texts = pl.all().str.strip_chars(" ")
    table = table.rename(str.strip).with_columns(pl.when(texts != "").then(texts))
    return table.filter(pl.any_horizontal(pl.all().is_not_null()))  # without empty lines


def _read_json(content: bytes, first_line: str, line_format: LineFormat) -> pl.DataFrame:
    """Return the rows of JSON: a list of objects, an object per line, or a mapping of queries."""
    if first_line.startswith("["):
        return _flatten(pl.read_json(content, infer_schema_length=None), line_format)
    if _is_document_object(first_line, line_format):
        return _flatten(pl.read_ndjson(content, infer_schema_length=None), line_format)
    return _read_mapping(json.loads(content), line_format)


def _read_mapping(mapping: Any, line_format: LineFormat) -> pl.DataFrame:
    """Return the rows of a mapping from queries to documents, or from strategies to such mappings.

    Documents that all have the names of fields are the fields of one document.
    """
    for documents in mapping.values():
        if documents is not None and not is_collection(documents):
            msg = f"a query must have a list or a mapping of documents, got {documents!r}"
            raise TypeError(msg)
    table: Frame
    if line_format.number == "score":
        table, *_ = build_run_table(mapping, "query", "doc", None)
    elif maps_queries(mapping):
        table = build_table("judgments", mapping, "query", "doc", "grade", is_run=False)
    else:
        msg = "documents must have a grade, got objects"
        raise TypeError(msg)
    rows = table.lazy().collect()
    documents = rows["doc"].unique().head(len(NAMES) + 1) if "doc" in rows.columns else ()
    ids = [str(document) for document in documents]
    fields = _find_fields(ids, line_format)
    if fields and len(fields) == len(ids):
        names = ", ".join(fields.values())
        msg = f"documents must have a {line_format.number}, got objects with {names}"
        raise TypeError(msg)
    return rows


def _is_document_object(line: str, line_format: LineFormat) -> bool:
    """Return whether a line is a JSON object of a document, or of a query and its documents."""
    try:
        record = json.loads(line)
    except ValueError:
        return False
    names = _find_fields(record, line_format)
    lists = [value for value in record.values() if isinstance(value, list)]
    has_objects = any(all(isinstance(each, dict) for each in values) for values in lists)
    return "query" in names and ("doc" in names or has_objects)


def _flatten(table: pl.DataFrame, line_format: LineFormat) -> pl.DataFrame:
    """Return one row per document, with the fields of its query and of itself as columns."""
    if isinstance(table.schema.get("query"), pl.Struct):
        table = _unnest(table, "query")
    lists = table.select(cs.list(cs.struct())).columns
    if len(lists) != 1 or "doc" in _find_fields(table.select(~cs.nested()).columns, line_format):
        return table
    return _unnest(table.explode(lists, empty_as_null=False, keep_nulls=False), lists[0])


def _unnest(table: pl.DataFrame, column: str) -> pl.DataFrame:
    """Return the fields of a struct as columns, in place of columns with their names."""
    fields = table.get_column(column).struct.unnest()
    return table.drop(column).with_columns(fields.get_columns())


def _parse_table(
    file: str, line_format: LineFormat, rule: str, read: Callable[[], pl.DataFrame]
) -> pl.DataFrame:
    """Return the columns of the fields in a table; raise if one is missing or lacks values.

    `rule` states what must hold for the file, so that `read` can read it.
    """
    try:
        table = read()
    except (ValueError, TypeError, OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).partition("\n")[0]
        msg = f"{file} must {rule}: {reason}"
        raise ValueError(msg) from None
    if table.is_empty():
        return _parse_lines(file, b"", "", line_format)
    columns = _find_fields(table.select(~cs.nested()).columns, line_format)
    number, names = line_format.number, table.columns
    if number == "grade" and {*columns} == {"query", "doc"} and len(names) == 2:  # noqa: PLR2004
        table, columns = table.with_columns(grade=1.0), columns | {"grade": "grade"}
    if number == "score" and "score" not in columns and "rank" in columns:
        number = "rank"
    table = table.select(pl.col(column).alias(field) for field, column in columns.items())
    types = {"query": pl.String, "doc": pl.String, number: pl.Float64}
    for field, dtype in types.items():
        if field not in columns:
            others = ", ".join(names) or "none"
            msg = f"{file} must have a column of {field!r}, got {others}\n\nHint: the formats are "
            raise ValueError(msg + line_format.forms)
        values = table[field]
        is_id = values.dtype.is_integer() or values.dtype in (*TEXT_TYPES, pl.Null)
        if dtype == pl.String and not is_id:
            msg = f"{file} must have texts or whole numbers as {field!r}, got {values.dtype}"
            raise ValueError(msg)
        is_fine = is_valid(field) if dtype == pl.Float64 else pl.col(field).is_not_null()
        wrong = table.select((~is_fine).arg_true()).to_series()
        if len(wrong):
            limit = f" with a magnitude below {MAX_EXACT}" if field == "grade" else ""
            rule = f"a finite number{limit}" if dtype == pl.Float64 else "a value"
            got = f"{values[wrong[0]]!r} in row {wrong[0] + 1}"
            msg = f"{file} must have {rule} as {field!r} in each row, got {got}"
            raise ValueError(msg)
    return table.cast(types, strict=False)  # type: ignore[arg-type]


# Lines


def check_text(file: str, content: bytes) -> None:
    """Raise for the first line that is not UTF-8."""
    try:
        if not content.isascii():
            content.decode()
    except UnicodeDecodeError as error:
        number = content.count(b"\n", 0, error.start)
        line = content.split(b"\n")[number].decode(errors="replace").strip(" \t\r")
        sentence = f"text must be UTF-8, got byte 0x{content[error.start]:02x}"
        refuse_line(file, number + 1, sentence, line)


def scan_lines(file: str, content: bytes) -> pl.LazyFrame:
    """Return the `number` and the stripped text of each `line`, without blanks and comments.

    Raise if CR occurs within a line: as the end of a line, it would hide the lines behind it.
    """
    # Some text, such as "x^", begins like a compressed file, which Polars would decompress.
    lines = pl.scan_lines(b"\n" + content, name="line", row_index_name="number").slice(1)
    line = pl.col("line").str.strip_chars_end(" \t\r").str.strip_chars_start(" \t")
    lines = lines.with_columns(line)
    if b"\r" in content:
        has_return = pl.col("line").str.contains("\r", literal=True)
        wrong_lines = lines.filter(has_return).head(1).collect()
        if wrong_lines.height:
            sentence = r"a line ends in \n or \r\n, got \r within it"
            refuse_line(file, wrong_lines["number"][0], sentence, wrong_lines["line"][0])
    return lines.filter(pl.col("line") != "", ~pl.col("line").str.starts_with("#"))


def refuse_line(file: str, number: int, sentence: str, line: str, hint: str = "") -> NoReturn:
    """Raise for a malformed line."""
    if len(line) > MAX_SHOWN_CHARACTERS:
        line = line[:MAX_SHOWN_CHARACTERS] + "..."
    msg = f"{file}, line {number}: {sentence}: {line!r}{hint}"
    raise ValueError(msg)


def _parse_lines(
    file: str, content: bytes, first_line: str, line_format: LineFormat
) -> pl.DataFrame:
    """Return the rows of TREC's or MS MARCO's lines; raise for the first malformed line.

    If tabs separate all fields of all lines, ids may contain blanks.
    """
    if line_format is RUN_LINES:
        with_tabs = (
            LINES_WITH_TABS[each] for each in LINES_WITH_TABS if re.fullmatch(each, first_line)
        )
        line_format = next(with_tabs, RUN_LINES)
    number = line_format.number
    lines, line = scan_lines(file, content), pl.col("line")
    may_have_blanks = "\t" in first_line and b" " in content
    malformed_lines = []
    for separators in ("\t", " \t") if may_have_blanks else (" \t",):
        text = line.str.replace_all(" *\t *", "\t") if separators == "\t" else line
        fields = text.str.extract_groups(line_format.make_pattern(separators)).struct.unnest()
        parts = lines.with_columns(fields)
        numbers = pl.col(number).cast(pl.Float64, strict=False)
        # The streaming engine parses batches of lines, so there is no column of all lines.
        rows = parts.select(line_format.fields).with_columns(numbers).collect(engine="streaming")
        if rows.select(is_valid(number).all()).item():
            _check_ranks_and_times(file, rows, line_format)
            return rows
        malformed = parts.filter(~is_valid(number)).head(1).collect().row(0, named=True)
        malformed_lines.append((malformed, separators))
    row, separators = max(malformed_lines, key=lambda each: each[0]["number"])
    sentence = _explain(row, line_format, separators)
    hint = _hint_at_format(first_line, line_format) if row["line"] == first_line else ""
    return refuse_line(file, row["number"], sentence, row["line"], hint)


def is_valid(number: str) -> pl.Expr:
    """Return the mask of finite numbers; grades must also be exact as Float64."""
    limit = MAX_EXACT if number == "grade" else math.inf
    values = pl.col(number).cast(pl.Float64, strict=False)
    return (values.abs() < limit).fill_null(value=False)


def _check_ranks_and_times(file: str, rows: pl.DataFrame, line_format: LineFormat) -> None:
    """Raise if other numbers stand in place of ranks, or times in place of grades."""
    if line_format in (MS_MARCO_LINES, COLBERT_LINES):
        first = rows.filter(pl.col("query") == pl.col("query").first())
        ranks = first["rank"].cast(pl.Float64, strict=False)
        is_whole = rows["rank"].cast(pl.Float64, strict=False) % 1 == 0
        wrong = rows.filter(~is_whole.fill_null(value=False)).head(1)
        if (
            ranks.min() not in (0, 1)
            or ranks.is_duplicated().any()
            or first["doc"].is_duplicated().any()
        ):
            wrong = first
        if wrong.height:
            msg = (
                f"{file} must have a document in its second column and its rank in the third, from "
                f"1 or 0 on in each query, got {first_few(wrong.select('doc', 'rank').rows())} for "
                f"query {wrong['query'][0]!r}\n\n"
                "Hint: a first line 'query\\tdoc\\tscore' makes the third column a score"
            )
            raise ValueError(msg)
    if line_format is JUDGMENT_LINES and rows.height and rows["grade"].is_between(*TIMES).all():
        msg = (
            f"{file} must have a grade as the last field, got times such as "
            f"{rows['grade'][0]:.0f}\n\n"
            "Hint: pl.read_csv(...) reads ratings, whose fields are often user, item, rating, time"
        )
        raise ValueError(msg)


def _explain(row: dict[str, Any], line_format: LineFormat, separators: str) -> str:
    """Return the rule that a line breaks."""
    number, names = line_format.number, line_format.fields
    if row[number] is not None:
        return explain_number(number, row[number])
    n_fields = sum(bool(text.strip(" ")) for text in re.split(f"[{separators}]", row["line"]))
    return f"a line has {len(names)} fields, {' '.join(names)}, got {n_fields}"


def _hint_at_format(line: str, line_format: LineFormat) -> str:
    """Return a hint for a file whose first line is malformed, such as one of another reader."""
    for reader, (name, pattern) in LINE_PATTERNS.items():
        if reader != line_format.reader and re.fullmatch(pattern, line):
            return f"\n\nHint: the line has the format of {name}; {reader}(paths) reads such lines"
    return f"\n\nHint: the formats are {line_format.forms}"


def explain_number(name: str, text: str) -> str:
    """Return the rule that a score, a rank or a grade breaks."""
    value = pl.Series([text]).cast(pl.Float64, strict=False).item()
    rule = "is a finite number"
    if value is not None and math.isfinite(value):
        rule = f"has a magnitude below {MAX_EXACT}, to be exact as Float64"
    return f"a {name} {rule}, got {text[:MAX_SHOWN_CHARACTERS]!r}"


# LETOR

LETOR_LINE = (
    r"^(?P<grade>[^ \t#]+)[ \t]+qid:(?P<query>[^ \t#]+)(?P<features>(?:[ \t][^#]*)?)"
    r"(?:#(?P<comment>.*))?$"
)
"""Pattern of a line in SVMlight's format. No character can belong to two groups, so one pass finds
all of them, which takes a third of the time of a pattern with overlapping groups."""

DOCUMENT_ID = r"(?:^|[ \t])docid[ \t]*=[ \t]*([^ \t]+)"
"""Pattern of a document's id in a comment."""

SLICE_LINES = 1 << 11
"""Number of lines that are parsed at once.

A slice is exploded into one row per feature of a line. Such a row takes about a hundred bytes, so a
slice with a hundred features takes some tens of megabytes.
"""


def parse_features(files: Iterable[File]) -> pl.DataFrame:
    """Return the documents of LETOR's files. Features beyond the highest of a slice are null."""
    slices = [pl.DataFrame(schema={"query": pl.String, "doc": pl.String, "grade": pl.Float64})]
    lines_before = 0
    for file in files:
        content = file.read()
        check_text(file.name, content)
        lines = scan_lines(file.name, content).collect()
        slices += [
            _parse_slice(file.name, each, lines_before) for each in lines.iter_slices(SLICE_LINES)
        ]
        lines_before += content.count(b"\n") + (content[-1:] not in b"\n")
    return pl.concat(slices, how="diagonal")


def _parse_slice(file: str, lines: pl.DataFrame, lines_before: int) -> pl.DataFrame:
    """Return the documents of some lines with their features; raise for the first malformed one."""
    rows = lines.with_columns(pl.col("line").str.extract_groups(LETOR_LINE).struct.unnest())
    rows = rows.with_row_index("row")
    parts = pl.col("feature").str.splitn(":", 2).struct.rename_fields(["index", "value"])
    features = (
        rows.select("row", feature=pl.col("features").str.replace_all("\t", " ").str.split(" "))
        .explode("feature", empty_as_null=False)
        .filter(pl.col("feature") != "")
        .with_columns(parts.struct.unnest())
        .cast({"index": pl.UInt16, "value": pl.Float64}, strict=False)
    )
    cell = pl.col("row").cast(pl.Int64) * 2**16 + pl.col("index")
    is_feature = (pl.col("index") > 0) & is_valid("value") & cell.is_first_distinct()
    wrong_features = features.filter(~is_feature.fill_null(value=False))
    last_wrong = wrong_features.select("row", "feature").unique("row", keep="last")
    wrong_rows = rows.join(last_wrong, on="row", how="left", maintain_order="left").filter(
        ~is_valid("grade") | pl.col("feature").is_not_null()
    )
    if wrong_rows.height:
        row = wrong_rows.row(0, named=True)
        hint = ""
        if row["feature"] is not None and row["feature"].startswith("0:"):
            hint = "\n\nHint: dump_svmlight_file(..., zero_based=False) numbers features from 1"
        refuse_line(file, row["number"], _explain_features(row), row["line"], hint)
    numbers = (pl.col("number") + lines_before).cast(pl.String)
    doc = pl.coalesce(pl.col("comment").str.extract(DOCUMENT_ID), numbers)
    documents = rows.select("query", doc.alias("doc"), pl.col("grade").cast(pl.Float64))
    width: int = features.select(pl.col("index").max().fill_null(0)).item()
    cells = np.zeros((rows.height, width))
    cells[features["row"], features["index"] - 1] = features["value"]
    return documents.hstack(pl.DataFrame(cells, [f"f{i + 1}" for i in range(width)]))


def _explain_features(row: dict[str, Any]) -> str:
    """Return the rule that a line of LETOR breaks."""
    if row["query"] is None:
        return "a line begins with a grade and qid:query"
    if row["feature"] is None:
        return explain_number("grade", row["grade"])
    rule = "a feature is number:value, once in a line, a number from 1 to 65535 and a finite value"
    return f"{rule}, got {row['feature']!r}"
