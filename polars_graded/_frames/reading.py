"""Runs, judgments and features from the files they come in: TREC's and LETOR's formats.

A reader keeps the lines of a file in one column of strings and takes them apart with Polars
expressions, so a good file is never looped over in Python. What is wrong with a line is an
expression too: every rule picks the rows that break it, and the first such line is the error.
"""

from __future__ import annotations

import gzip
import os
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn, TypeAlias

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["read_letor", "read_qrels", "read_run"]

Paths: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"

_GZIP = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BLANKS = " \t\r"
_FIELD = rf"([^{_BLANKS}]+)"
_SHOWN_CHARACTERS = 200


class _Layout(NamedTuple):
    """A line of a fixed number of fields between blanks."""

    line: str
    fields: tuple[str, ...]
    numbers: dict[str, pl.DataType]
    rest: str = ""
    """What may follow the last field."""


_JUDGMENT = _Layout(
    line="a judgment",
    fields=("query", "iteration", "doc", "grade"),
    numbers={"grade": pl.Float64()},
)
_RETRIEVED = _Layout(
    line="a retrieved document",
    fields=("query", "Q0", "doc", "rank", "score", "tag"),
    numbers={"rank": pl.Int64(), "score": pl.Float64()},
    # trec_eval skips what stands after the tag.
    rest=f"(?:[{_BLANKS}].*)?",
)

_LETOR_FIELDS = ("grade", "query", "features", "comment")
# No character can belong to two groups, so one pass over the line finds them: three times as fast.
_LETOR_LINE = (
    rf"^([^{_BLANKS}#]+)[{_BLANKS}]+qid:([^{_BLANKS}#]+)((?:[{_BLANKS}][^#]*)?)(?:#(.*))?$"
)
_LETOR_DOC = rf"(?:^|[{_BLANKS}])docid[{_BLANKS}]*=[{_BLANKS}]*{_FIELD}"
# A slice is exploded into one row a feature, about a hundred bytes each: this many lines at a time
# bounds that to some tens of megabytes, and is within a few percent of the fastest size.
_LETOR_SLICE = 4096


def read_letor(paths: Paths) -> pl.DataFrame:
    r"""Read LETOR files: graded documents with their features, in SVMlight's format.

    A row is a judged document of a query, with a column for every feature. Each feature is a
    strategy to rank by. Rows are in the order of the lines, one file after the other.

    A line is ``grade qid:query number:value … # comment``. The format is sparse: a feature that a
    line leaves out is 0. Numbers may come in any order, from 1 to 65535, each once in a line.
    Blank lines, and lines that are only a comment, are skipped.

    Parameters
    ----------
    paths
        A file, or several. Plain text in UTF-8 or compressed with gzip, told by content.

    Returns
    -------
    DataFrame
        ``query`` and ``doc`` (String), ``grade`` (Int64, or Float64 where a grade in any file is
        not whole), ``f1`` to ``fm`` (Float64), where m is the highest feature number in any file.
        ``doc`` is X where the comment says ``docid = X``. Elsewhere it is the number of the line,
        counted from 1 and on through all files, so that no two such documents are the same.

    Raises
    ------
    FileNotFoundError
        If a file does not exist.
    ValueError
        If no file is given, or a line is malformed: file, line number, rule and the line are named.
        Grades and features must be finite.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import polars_graded as pg
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "fold1.txt"
    ...     _ = path.write_text(
    ...         "2 qid:1 1:3.0 2:0.5 #docid = 40626\n"
    ...         "0 qid:1 2:0.25 #docid = 7612\n"
    ...     )
    ...     pg.read_letor(path)
    shape: (2, 5)
    ┌───────┬───────┬───────┬─────┬──────┐
    │ query ┆ doc   ┆ grade ┆ f1  ┆ f2   │
    │ ---   ┆ ---   ┆ ---   ┆ --- ┆ ---  │
    │ str   ┆ str   ┆ i64   ┆ f64 ┆ f64  │
    ╞═══════╪═══════╪═══════╪═════╪══════╡
    │ 1     ┆ 40626 ┆ 2     ┆ 3.0 ┆ 0.5  │
    │ 1     ┆ 7612  ┆ 0     ┆ 0.0 ┆ 0.25 │
    └───────┴───────┴───────┴─────┴──────┘
    """
    parts = [pl.DataFrame(schema={"query": pl.String, "doc": pl.String, "grade": pl.Float64})]
    lines_before = 0
    for path in _files(paths):
        lines = _read_lines(path)
        parts += [_letor(path, part, lines_before) for part in lines.iter_slices(_LETOR_SLICE)]
        lines_before += lines.height
    frame = pl.concat(parts, how="diagonal")
    return _with_whole_grades(frame).with_columns(pl.col("^f[0-9]+$").fill_null(0.0))


def read_qrels(paths: Paths) -> pl.DataFrame:
    r"""Read TREC judgments (qrels).

    A row is a judged document of a query. Rows are in the order of the lines, one file after the
    other. A line is ``query iteration doc grade``, between any number of blanks or tabs; the
    iteration is not kept. Blank lines are skipped. A grade may be negative: it is below irrelevant,
    as NIST marks spam and documents that were pooled but not judged.

    Parameters
    ----------
    paths
        A file, or several. Plain text in UTF-8 or compressed with gzip, told by content.

    Returns
    -------
    DataFrame
        ``query`` and ``doc`` (String), ``grade`` (Int64, or Float64 where a grade in any file is
        not whole).

    Raises
    ------
    FileNotFoundError
        If a file does not exist.
    ValueError
        If no file is given, or a line is malformed: file, line number, rule and the line are named.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import polars_graded as pg
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "qrels.txt"
    ...     _ = path.write_text("301 0 FBIS3-10082 1\n301 0 CR93E-1282 -1\n")
    ...     pg.read_qrels(path)
    shape: (2, 3)
    ┌───────┬─────────────┬───────┐
    │ query ┆ doc         ┆ grade │
    │ ---   ┆ ---         ┆ ---   │
    │ str   ┆ str         ┆ i64   │
    ╞═══════╪═════════════╪═══════╡
    │ 301   ┆ FBIS3-10082 ┆ 1     │
    │ 301   ┆ CR93E-1282  ┆ -1    │
    └───────┴─────────────┴───────┘
    """
    frame = pl.concat([_table(path, _JUDGMENT) for path in _files(paths)])
    return _with_whole_grades(frame.select("query", "doc", "grade"))


def read_run(paths: Paths) -> pl.DataFrame:
    r"""Read TREC runs: what a strategy retrieved.

    A row is a document that a strategy retrieved for a query. Rows are in the order of the lines,
    one file after the other. A line is ``query Q0 doc rank score tag``, between any number of
    blanks or tabs; the second field is not kept, nor is text after the tag. Blank lines are
    skipped.

    Parameters
    ----------
    paths
        A file, or several. Plain text in UTF-8 or compressed with gzip, told by content.

    Returns
    -------
    DataFrame
        ``query`` and ``doc`` (String), ``score`` (Float64), ``rank`` (Int64) and ``strategy``
        (String), which is the run's tag. Scores and ranks are as the file has them: they need
        not agree, and trec_eval ranks by score.

    Raises
    ------
    FileNotFoundError
        If a file does not exist.
    ValueError
        If no file is given, or a line is malformed: file, line number, rule and the line are named.
        A rank must be whole and a score finite.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import polars_graded as pg
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "run.txt"
    ...     _ = path.write_text("301 Q0 FBIS3-10082 1 2.5 bm25\n301 Q0 CR93E-1282 2 1.75 bm25\n")
    ...     pg.read_run(path)
    shape: (2, 5)
    ┌───────┬─────────────┬───────┬──────┬──────────┐
    │ query ┆ doc         ┆ score ┆ rank ┆ strategy │
    │ ---   ┆ ---         ┆ ---   ┆ ---  ┆ ---      │
    │ str   ┆ str         ┆ f64   ┆ i64  ┆ str      │
    ╞═══════╪═════════════╪═══════╪══════╪══════════╡
    │ 301   ┆ FBIS3-10082 ┆ 2.5   ┆ 1    ┆ bm25     │
    │ 301   ┆ CR93E-1282  ┆ 1.75  ┆ 2    ┆ bm25     │
    └───────┴─────────────┴───────┴──────┴──────────┘
    """
    frame = pl.concat([_table(path, _RETRIEVED) for path in _files(paths)])
    return frame.select("query", "doc", "score", "rank", strategy="tag")


# Reading


def _files(paths: Paths) -> list[Path]:
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not given:
        msg = "`paths` must name at least one file, got none"
        raise ValueError(msg)
    return [Path(path) for path in given]


def _read_lines(path: Path) -> pl.DataFrame:
    """Every line of a file, without blanks around it, and its number."""
    data = path.read_bytes()
    if data.startswith(_GZIP):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            msg = f"{path} must be a whole gzip file, got a damaged one: {error}"
            raise ValueError(msg) from None
    data = data.removeprefix(_BYTE_ORDER_MARK)
    # Marked unstable, yet the one reader without separators and quotes, and it keeps empty lines.
    try:
        lines = pl.read_lines(data, name="line", row_index_name="number", row_index_offset=1)
    except pl.exceptions.ComputeError:
        _check_encoding(path, data)
        raise
    return lines.with_columns(pl.col("line").str.strip_chars(_BLANKS))


def _check_encoding(path: Path, data: bytes) -> None:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        start, byte = error.start, data[error.start]
    else:
        return
    number = data.count(b"\n", 0, start) + 1
    line = data[data.rfind(b"\n", 0, start) + 1 :].split(b"\n", 1)[0].decode(errors="replace")
    _raise(path, number, f"text must be UTF-8, got byte 0x{byte:02x}", line)


def _table(path: Path, layout: _Layout) -> pl.DataFrame:
    """The rows of a file whose lines all have the same fields."""
    lines = _read_lines(path).filter(pl.col("line") != "")
    fields = f"[{_BLANKS}]+".join([_FIELD] * len(layout.fields))
    rows = _take_apart(lines, f"^{fields}{layout.rest}$", layout.fields)
    rule = f"{layout.line} has {len(layout.fields)} fields, {' '.join(layout.fields)}, got "
    _check_lines(
        path,
        rows,
        _complaints(
            rows, pl.col("query").is_null(), rule, pl.col("line").str.count_matches(_FIELD)
        ),
        *(_not_numbers(rows, name, dtype) for name, dtype in layout.numbers.items()),
    )
    numbers = [pl.col(name).cast(dtype) for name, dtype in layout.numbers.items()]
    return rows.select(layout.fields).with_columns(numbers)


def _letor(path: Path, lines: pl.DataFrame, lines_before: int) -> pl.DataFrame:
    """The documents of some lines of a file, with the features that they have."""
    lines = lines.filter(pl.col("line") != "", ~pl.col("line").str.starts_with("#"))
    rows = _take_apart(lines, _LETOR_LINE, _LETOR_FIELDS)
    features = _letor_features(rows)
    _check_lines(
        path,
        rows,
        _complaints(rows, pl.col("query").is_null(), "a line begins with a grade and qid:query"),
        _not_numbers(rows, "grade", pl.Float64()),
        *_feature_complaints(features),
    )
    doc = pl.col("comment").str.extract(_LETOR_DOC)
    number = (pl.col("number") + lines_before).cast(pl.String)
    grade = pl.col("grade").cast(pl.Float64)
    documents = rows.select("query", pl.coalesce(doc, number).alias("doc"), grade)
    return documents.hstack(_dense(features, documents.height))


def _letor_features(rows: pl.DataFrame) -> pl.DataFrame:
    """One row a feature, as it stands in the line and as two numbers, null where they are none."""
    text = pl.col("features").str.replace_all("\t", " ", literal=True)
    parts = pl.col("feature").str.splitn(":", 2).struct.rename_fields(["index", "value"])
    return (
        rows.select("row", feature=text.str.split(" "))
        .explode("feature", empty_as_null=False)
        .filter(pl.col("feature") != "")
        .with_columns(parts.struct.unnest())
        # Every feature number up to the highest is a column: 16 bits are enough for any data made
        # for ranking, and keep a slip of the pen from asking for a billion columns.
        .cast({"index": pl.UInt16, "value": pl.Float64}, strict=False)
    )


def _dense(features: pl.DataFrame, height: int) -> pl.DataFrame:
    """Columns f1 to fm of so many rows, null where a row does not have the feature."""
    width = features.select(pl.col("index").max().fill_null(0)).item()
    places = features.select(pl.col("row").cast(pl.Int64) * width + pl.col("index") - 1).to_series()
    cells = pl.repeat(None, height * width, dtype=pl.Float64, eager=True)
    cells = cells.scatter(places, features["value"])
    return pl.DataFrame([cells.gather_every(width, i).alias(f"f{i + 1}") for i in range(width)])


def _take_apart(lines: pl.DataFrame, pattern: str, fields: Sequence[str]) -> pl.DataFrame:
    """A column for every group of the pattern, all null where a line does not match."""
    groups = pl.col("line").str.extract_groups(pattern).struct.rename_fields(fields)
    return lines.with_columns(groups.struct.unnest()).with_row_index("row")


def _with_whole_grades(frame: pl.DataFrame) -> pl.DataFrame:
    grades = frame["grade"]
    whole = grades.cast(pl.Int64, strict=False)
    same = (whole.cast(pl.Float64) == grades).fill_null(value=False)
    return frame.with_columns(whole) if same.all() else frame


# Malformed lines: a complaint is a row number and a sentence


def _complaints(rows: pl.DataFrame, wrong: pl.Expr, *sentence: str | pl.Expr) -> pl.DataFrame:
    # Not `pl.format`: it panics where the first chunk of a column is empty (Polars issue 25525).
    parts = [pl.lit(part) if isinstance(part, str) else part for part in sentence]
    return rows.filter(wrong).select("row", pl.concat_str(parts).alias("sentence"))


def _not_numbers(rows: pl.DataFrame, name: str, dtype: pl.DataType) -> pl.DataFrame:
    number = pl.col(name).cast(dtype, strict=False)
    kind = "whole" if dtype.is_integer() else "finite"
    return _complaints(
        rows,
        pl.col(name).is_not_null() & ~number.is_finite().fill_null(value=False),
        f"a {name} is a {kind} number, got '",
        pl.col(name).str.head(_SHOWN_CHARACTERS),
        "'",
    )


def _feature_complaints(features: pl.DataFrame) -> list[pl.DataFrame]:
    fine = (pl.col("index") > 0) & pl.col("value").is_finite()
    place = pl.col("row").cast(pl.Int64) * 2**16 + pl.col("index")
    # Counting distinct places is many times faster than finding the ones that come again.
    again = features.clear()
    if features.select(place.n_unique()).item() < features.height:
        again = features.filter(place.is_duplicated())
    return [
        _complaints(
            features,
            ~fine.fill_null(value=False),
            "a feature is number:value, a number from 1 to 65535 and a finite value, got '",
            pl.col("feature").str.head(_SHOWN_CHARACTERS),
            "'",
        ),
        _complaints(
            again,
            pl.col("index").is_not_null(),
            "a line has a feature once, got number ",
            pl.col("index"),
            " again",
        ),
    ]


def _check_lines(path: Path, rows: pl.DataFrame, *complaints: pl.DataFrame) -> None:
    """Raise for the first line with a complaint; where it has several, the first that is given."""
    found = pl.concat(complaints).sort("row", maintain_order=True)
    if found.height:
        row, sentence = found.row(0)
        _raise(path, rows["number"][row], sentence, rows["line"][row])


def _raise(path: Path, number: int, sentence: str, line: str) -> NoReturn:
    if len(line) > _SHOWN_CHARACTERS:
        line = line[:_SHOWN_CHARACTERS] + "..."
    msg = f"{path}, line {number}: {sentence}: {line!r}"
    raise ValueError(msg)
