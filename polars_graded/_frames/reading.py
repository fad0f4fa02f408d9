"""Runs, judgments and features from the files they come in: TREC's and LETOR's formats.

A file is read a block of lines at a time. A tidy block, with one blank or one tab between its
fields, is what Polars reads as CSV. Any other is taken apart with expressions, so a good file is
never looped over in Python. What is wrong with a line is an expression too: every rule picks the
rows that break it, and the first such line is the error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, NoReturn, TypeAlias

import polars as pl

from polars_graded._checks import check_choice, check_whole_number
from polars_graded._frames.files import Block, TextFile, blocks_of, check_paths, text_files
from polars_graded._frames.noticing import warn_the_caller
from polars_graded._frames.sources import read_later

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from polars_graded._frames.files import Paths

__all__ = ["read_letor", "read_qrels", "read_run", "scan_letor", "scan_qrels", "scan_run"]

Runs: TypeAlias = "Paths | Mapping[str, Paths]"
NamedBy: TypeAlias = Literal["tag", "file"]

_BLANKS = " \t"
_FIELD = rf"([^{_BLANKS}]+)"
_SHOWN_CHARACTERS = 200

_EXACT = 2**53
"""Up to here every whole number is a Float64, in which measures are computed."""


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
_JUDGMENT_OF_BEIR = _Layout(
    line="a judgment below BEIR's header",
    fields=("query", "doc", "grade"),
    numbers={"grade": pl.Float64()},
)
_HEADER_OF_BEIR = re.compile(rb"[ \t]*query-id[ \t]+corpus-id[ \t]+score[ \t\r]*(?=\n|$)")
_RETRIEVED = _Layout(
    line="a retrieved document",
    fields=("query", "Q0", "doc", "rank", "score", "tag"),
    numbers={"rank": pl.Int64(), "score": pl.Float64()},
    # trec_eval skips what stands after the tag.
    rest=f"(?:[{_BLANKS}].*)?",
)

_JUDGMENT_SCHEMA = pl.Schema({"query": pl.String, "doc": pl.String, "grade": pl.Float64})
_RUN_SCHEMA = pl.Schema(
    {
        "query": pl.String,
        "doc": pl.String,
        "score": pl.Float64,
        "rank": pl.Int64,
        "strategy": pl.String,
    }
)

_LETOR_FIELDS = ("grade", "query", "features", "comment")
# No character can belong to two groups, so one pass over the line finds them: three times as fast.
_LETOR_LINE = (
    rf"^([^{_BLANKS}#]+)[{_BLANKS}]+qid:([^{_BLANKS}#]+)((?:[{_BLANKS}][^#]*)?)(?:#(.*))?$"
)
_LETOR_DOC = rf"(?:^|[{_BLANKS}])docid[{_BLANKS}]*=[{_BLANKS}]*{_FIELD}"
_MOST_FEATURES = 2**16 - 1
# Every feature number up to the highest is a column. What one may cost is bounded: half a gigabyte,
# or more where the values fill at least a sixteenth of it.
_FREE_CELLS = 2**26
_CELLS_PER_VALUE = 16
# A slice is exploded into one row per feature, about a hundred bytes each: this many lines at a
# time bounds that to some tens of megabytes, and is within a few percent of the fastest size.
_LETOR_SLICE = 4096


def read_letor(paths: Paths) -> pl.DataFrame:
    r"""Read LETOR files: graded documents with their features, in SVMlight's format.

    A row is a judged document of a query, with a column for every feature. Each feature is a
    strategy to rank by. Rows are in the order of the lines, one file after the other.

    A line is ``grade qid:query number:value … # comment``. The format is sparse: a feature that a
    line leaves out is 0. Numbers may come in any order, from 1 to 65535, each once in a line.
    Blank lines, and lines that are only a comment, are skipped. A line ends in LF or CR LF.

    Parameters
    ----------
    paths
        A file, or several: paths, patterns such as `"runs/*.gz"`, open files, or text as bytes.
        Plain text in UTF-8 or compressed with gzip, told by content.

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
        If a file does not exist, or a pattern has none.
    TypeError
        If `paths` is neither a file nor several.
    ValueError
        If no file is given, or a line is malformed: file, line number, rule and the line are named.
        Grades and features must be finite, and a grade that is written whole below 2**53, to be
        exact. A feature number must not leave nearly all values out where that takes more than half
        a gigabyte, since every number up to the highest becomes a column.

    See Also
    --------
    scan_letor : the same as a lazy frame.

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
    empty = pl.DataFrame(schema=_JUDGMENT_SCHEMA)
    frame = pl.concat([empty, *_documents(_files(paths), _Columns())], how="diagonal")
    return _with_whole_grades(frame).with_columns(pl.col("^f[0-9]+$").fill_null(0.0))


def read_qrels(paths: Paths) -> pl.DataFrame:
    r"""Read TREC judgments (qrels).

    A row is a judged document of a query. Rows are in the order of the lines, one file after the
    other. A line is ``query iteration doc grade``, between any number of blanks or tabs; the
    iteration is not kept. Below the header of BEIR's files, ``query-id corpus-id score``, it is
    these three. Blank lines are skipped. A line ends in LF or CR LF. A grade may be negative: it is
    below irrelevant, as NIST marks spam and documents that were pooled but not judged.

    Parameters
    ----------
    paths
        A file, or several: paths, patterns such as `"runs/*.gz"`, open files, or text as bytes.
        Plain text in UTF-8 or compressed with gzip, told by content.

    Returns
    -------
    DataFrame
        ``query`` and ``doc`` (String), ``grade`` (Int64, or Float64 where a grade in any file is
        not whole).

    Raises
    ------
    FileNotFoundError
        If a file does not exist, or a pattern has none.
    TypeError
        If `paths` is neither a file nor several.
    ValueError
        If no file is given, or a line is malformed: file, line number, rule and the line are named.
        A grade must be finite, and one that is written whole below 2**53, to be exact.

    See Also
    --------
    scan_qrels : the same as a lazy frame.

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
    empty = pl.DataFrame(schema=_JUDGMENT_SCHEMA)
    return _with_whole_grades(pl.concat([empty, *_judgments(_files(paths))]))


def read_run(paths: Runs, *, named_by: NamedBy = "tag") -> pl.DataFrame:
    r"""Read TREC runs: what a strategy retrieved.

    A row is a document that a strategy retrieved for a query. Rows are in the order of the lines,
    one file after the other. A line is ``query Q0 doc rank score tag``, between any number of
    blanks or tabs; the second field is not kept, nor is text after the tag. Blank lines are
    skipped. A line ends in LF or CR LF.

    Parameters
    ----------
    paths
        A file, or several: paths, patterns such as `"runs/*.gz"`, open files, or text as bytes.
        Plain text in UTF-8 or compressed with gzip, told by content.
        A mapping of names to files names the strategies itself.
    named_by
        What a strategy is called: by the `"tag"` in its lines, or by the name of its `"file"`
        (its whole path where two files have one name), which tells runs with the same tag apart.

    Returns
    -------
    DataFrame
        ``query`` and ``doc`` (String), ``score`` (Float64), ``rank`` (Int64) and ``strategy``
        (String), which is the run's tag unless `named_by` or a mapping says otherwise. Scores and
        ranks are as the file has them: they need not agree, and trec_eval ranks by score.

    Raises
    ------
    FileNotFoundError
        If a file does not exist, or a pattern has none.
    TypeError
        If `paths` is neither a file nor several.
    ValueError
        If no file is given, or a line is malformed: file, line number, rule and the line are named.
        A rank must be whole and a score finite. If a file whose strategy is not named by its tag
        has several tags.

    See Also
    --------
    scan_run : the same as a lazy frame.

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

    Text instead of a file, under a name of its own:

    >>> pg.read_run({"ours": b"301 Q0 CR93E-1282 1 0.5 tag\n"})
    shape: (1, 5)
    ┌───────┬────────────┬───────┬──────┬──────────┐
    │ query ┆ doc        ┆ score ┆ rank ┆ strategy │
    │ ---   ┆ ---        ┆ ---   ┆ ---  ┆ ---      │
    │ str   ┆ str        ┆ f64   ┆ i64  ┆ str      │
    ╞═══════╪════════════╪═══════╪══════╪══════════╡
    │ 301   ┆ CR93E-1282 ┆ 0.5   ┆ 1    ┆ ours     │
    └───────┴────────────┴───────┴──────┴──────────┘
    """
    empty = pl.DataFrame(schema=_RUN_SCHEMA)
    return pl.concat([empty, *_runs(_named_files(paths, named_by))])


def scan_letor(paths: Paths, *, n_features: int | None = None) -> pl.LazyFrame:
    r"""Read LETOR files lazily: as `read_letor`, a slice of lines at a time, when it is collected.

    Files may be larger than memory where what is done with them needs less. A malformed line is an
    error when it is reached.

    Parameters
    ----------
    paths
        A file, or several: paths, or patterns such as `"fold*/test.txt.gz"`.
    n_features
        How many features there are, which a lazy frame has to know before it reads. By default the
        highest number in the first 4096 lines of the first file.

    Returns
    -------
    LazyFrame
        As `read_letor`, but ``grade`` is Float64 always, and the columns are ``f1`` to ``fm`` for
        m = `n_features`.

    Raises
    ------
    FileNotFoundError
        If a file does not exist, or a pattern has none.
    TypeError
        If `paths` is neither a path nor several, or `n_features` not a whole number.
    ValueError
        If no file is given. When it is collected, if a line is malformed or has a feature beyond
        the last: file, line number, rule and the line are named (within a ComputeError, in Polars
        before 2).

    See Also
    --------
    read_letor : the same at once.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import polars_graded as pg
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "fold1.txt"
    ...     _ = path.write_text("2 qid:1 1:3.0 2:0.5 #docid = 40626\n0 qid:1 2:0.25\n")
    ...     pg.scan_letor(path).select("query", "grade", "f2").collect()
    shape: (2, 3)
    ┌───────┬───────┬──────┐
    │ query ┆ grade ┆ f2   │
    │ ---   ┆ ---   ┆ ---  │
    │ str   ┆ f64   ┆ f64  │
    ╞═══════╪═══════╪══════╡
    │ 1     ┆ 2.0   ┆ 0.5  │
    │ 1     ┆ 0.0   ┆ 0.25 │
    └───────┴───────┴──────┘
    """
    files = _scanned_files(paths)
    if n_features is None:
        first = next(_documents(files, _Columns()), pl.DataFrame())
        n_features = sum(name not in _JUDGMENT_SCHEMA for name in first.columns)
    check_whole_number("n_features", n_features, at_least=0, at_most=_MOST_FEATURES)
    features = {f"f{number}": pl.Float64() for number in range(1, n_features + 1)}
    schema = pl.Schema({**_JUDGMENT_SCHEMA, **features})

    def frames(_: Collection[str]) -> Iterator[pl.DataFrame]:
        for frame in _documents(files, _Columns(n_features)):
            absent = [pl.lit(None, dtype).alias(name) for name, dtype in features.items()]
            absent = absent[frame.width - len(_JUDGMENT_SCHEMA) :]
            yield frame.with_columns(absent).with_columns(pl.col(list(features)).fill_null(0.0))

    return read_later(schema, frames)


def scan_qrels(paths: Paths) -> pl.LazyFrame:
    r"""Read TREC judgments lazily: as `read_qrels`, a block of lines at a time, when collected.

    A malformed line is an error when it is reached.

    Parameters
    ----------
    paths
        A file, or several: paths, or patterns such as `"qrels/*.gz"`.

    Returns
    -------
    LazyFrame
        As `read_qrels`, but ``grade`` is Float64 always, since a lazy frame has to know before it
        reads.

    Raises
    ------
    FileNotFoundError
        If a file does not exist, or a pattern has none.
    TypeError
        If `paths` is neither a path nor several.
    ValueError
        If no file is given. When it is collected, if a line is malformed: file, line number, rule
        and the line are named (within a ComputeError, in Polars before 2).

    See Also
    --------
    read_qrels : the same at once.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import polars as pl
    >>> import polars_graded as pg
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "qrels.txt"
    ...     _ = path.write_text("301 0 FBIS3-10082 1\n301 0 CR93E-1282 -1\n")
    ...     pg.scan_qrels(path).filter(pl.col("grade") > 0).collect()
    shape: (1, 3)
    ┌───────┬─────────────┬───────┐
    │ query ┆ doc         ┆ grade │
    │ ---   ┆ ---         ┆ ---   │
    │ str   ┆ str         ┆ f64   │
    ╞═══════╪═════════════╪═══════╡
    │ 301   ┆ FBIS3-10082 ┆ 1.0   │
    └───────┴─────────────┴───────┘
    """
    files = _scanned_files(paths)
    return read_later(_JUDGMENT_SCHEMA, lambda _: _judgments(files))


def scan_run(paths: Runs, *, named_by: NamedBy = "tag") -> pl.LazyFrame:
    r"""Read TREC runs lazily: as `read_run`, a block of lines at a time, when it is collected.

    Files may be larger than memory where what is done with them needs less. A malformed line is an
    error when it is reached.

    Parameters
    ----------
    paths
        A file, or several: paths, or patterns such as `"runs/*.gz"`. A mapping of names to files
        names the strategies itself.
    named_by
        What a strategy is called: by the `"tag"` in its lines, or by the name of its `"file"`.

    Returns
    -------
    LazyFrame
        The columns of `read_run`.

    Raises
    ------
    FileNotFoundError
        If a file does not exist, or a pattern has none.
    TypeError
        If `paths` is neither a path nor several.
    ValueError
        If no file is given. When it is collected, if a line is malformed: file, line number, rule
        and the line are named; if a file that names its strategy has several tags (within a
        ComputeError, in Polars before 2).

    See Also
    --------
    read_run : the same at once.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import polars as pl
    >>> import polars_graded as pg
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "bm25.run"
    ...     _ = path.write_text("301 Q0 FBIS3-10082 1 2.5 a\n301 Q0 CR93E-1282 2 1.75 a\n")
    ...     run = pg.scan_run(path, named_by="file")
    ...     run.group_by("strategy", "query").agg(retrieved=pl.len()).collect()
    shape: (1, 3)
    ┌──────────┬───────┬───────────┐
    │ strategy ┆ query ┆ retrieved │
    │ ---      ┆ ---   ┆ ---       │
    │ str      ┆ str   ┆ u32       │
    ╞══════════╪═══════╪═══════════╡
    │ bm25.run ┆ 301   ┆ 2         │
    └──────────┴───────┴───────────┘
    """
    files = _named_files(paths, named_by)
    _check_scanned(named.file for named in files)
    return read_later(_RUN_SCHEMA, lambda _: _runs(files))


# Reading


def _scanned_files(paths: Paths) -> list[TextFile]:
    files = _files(paths)
    _check_scanned(files)
    return files


def _check_scanned(files: Iterable[TextFile]) -> None:
    """Raise where a file is not there, or can be read only once."""
    for file in files:
        if not isinstance(file.source, Path):
            msg = f"`paths` of a lazy frame must be paths, which can be read again, got {file.name}"
            raise TypeError(msg)
        with file.source.open("rb"):
            pass


class _Named(NamedTuple):
    """A file of a run, and what its strategy is called where its tag does not say."""

    file: TextFile
    strategy: str | None = None


def _files(paths: Paths) -> list[TextFile]:
    return text_files(check_paths("paths", paths))


def _named_files(paths: Runs, named_by: NamedBy) -> list[_Named]:
    check_choice("named_by", named_by, ("tag", "file"))
    if isinstance(paths, Mapping):
        if not paths:
            msg = "`paths` must name at least one file, got none"
            raise ValueError(msg)
        for name in paths:
            if not isinstance(name, str):
                msg = f"`paths` must name each strategy by a string, got {name!r}"
                raise TypeError(msg)
        return [_Named(file, name) for name, of_it in paths.items() for file in _files(of_it)]
    files = _files(paths)
    if named_by == "tag":
        return [_Named(file) for file in files]
    names = [file.source.name if isinstance(file.source, Path) else file.name for file in files]
    if len(set(names)) < len(names):
        names = [file.name for file in files]
    return [_Named(file, name) for file, name in zip(files, names, strict=True)]


def _tables(files: Iterable[TextFile], layout: _Layout) -> Iterator[pl.DataFrame]:
    """The rows of files whose lines all have the same fields, a block after the other."""
    for file in files:
        for block in blocks_of(file):
            yield _table(block, layout)


def _judgments(files: Iterable[TextFile]) -> Iterator[pl.DataFrame]:
    for file in files:
        layout = _JUDGMENT
        for block in blocks_of(file):
            if block.first == 1 and (header := _HEADER_OF_BEIR.match(block.text)):
                layout = _JUDGMENT_OF_BEIR
                # Its line stays, empty, so that lines are counted right.
                block = block._replace(text=block.text[header.end() :])  # noqa: PLW2901
            yield _table(block, layout).select("query", "doc", "grade")


def _runs(files: Iterable[_Named]) -> Iterator[pl.DataFrame]:
    files = [*files]
    for file, strategy in files:
        tag, n_rows = None, 0
        for table in _tables([file], _RETRIEVED):
            run = table.select("query", "doc", "score", "rank", strategy="tag")
            n_rows += run.height
            if strategy is None:
                yield run
                continue
            if run.is_empty():
                continue
            if tag is None:
                tag = run["strategy"][0]
            others = run["strategy"].filter(run["strategy"] != tag)
            if others.len():
                msg = (
                    f"{file.name} must have one tag to be named {strategy!r},"
                    f" got {tag!r} and {others[0]!r}"
                )
                raise ValueError(msg)
            yield run.with_columns(strategy=pl.lit(strategy))
        if not n_rows and len(files) > 1:
            warn_the_caller(f"{file.name} has no line, and is no strategy beside the others")


def _documents(files: Iterable[TextFile], columns: _Columns) -> Iterator[pl.DataFrame]:
    """The documents of LETOR files, each slice with the features that it has."""
    lines_before = 0
    for file in files:
        last = 0
        for block in blocks_of(file):
            lines = _lines(block)
            last = block.first + lines.height - 1
            for part in lines.iter_slices(_LETOR_SLICE):
                yield _letor(block.file, part, lines_before, columns)
        lines_before += last


def _lines(block: Block) -> pl.DataFrame:
    """Every line, without blanks around it, its number, and what is wrong with it as text."""
    # An empty line goes before: what begins like a compressed file would be unpacked.
    text, wrong_byte = b"\n" + block.text, pl.lit(None, pl.String)
    try:
        text.decode()
    except UnicodeDecodeError as error:
        number = block.first + text.count(b"\n", 0, error.start) - 1
        sentence = f"text must be UTF-8, got byte 0x{text[error.start]:02x}"
        wrong_byte = pl.when(number=number).then(pl.lit(sentence))
        text = text.decode(errors="replace").encode()
    # Marked unstable, yet the one reader without separators and quotes, and it keeps empty lines.
    lines = pl.read_lines(
        text, name="line", row_index_name="number", row_index_offset=block.first - 1
    )
    # A file of an old Macintosh is one such line; what stood after the first would be lost.
    line = pl.col("line").str.strip_chars_end("\r").str.strip_chars(_BLANKS)
    within = pl.when(line.str.contains("\r", literal=True)).then(
        pl.lit(r"a line ends in \n or \r\n, got \r within it")
    )
    return lines.slice(1).with_columns(line, fault=pl.coalesce(wrong_byte, within))


def _table(block: Block, layout: _Layout) -> pl.DataFrame:
    """The rows of a block whose lines all have the same fields."""
    table = _tidy_table(block.text, layout)
    if table is None:
        table = _tidy_table(_tidied(block.text), layout)
    return _any_table(block, layout) if table is None else table


def _tidied(text: bytes) -> bytes:
    """The same lines with one blank between their fields, and none that is empty."""
    text = text.replace(b"\r\n", b"\n").replace(b"\t", b" ")
    for twice, once in ((b"  ", b" "), (b" \n", b"\n"), (b"\n ", b"\n"), (b"\n\n", b"\n")):
        while twice in text:
            text = text.replace(twice, once)
    return text.strip(b" \n")


def _tidy_table(text: bytes, layout: _Layout) -> pl.DataFrame | None:
    """The rows as Polars reads them as CSV; None where it might not read what `_any_table` does."""
    blank, other = (" ", b"\t") if b" " in text else ("\t", b" ")
    if other in text or b"\r" in text:
        return None
    schema = {name: layout.numbers.get(name, pl.String()) for name in layout.fields}
    try:
        # An empty line goes before: what begins like a compressed file would be unpacked.
        table = pl.read_csv(
            b"\n" + text,
            separator=blank,
            has_header=False,
            skip_lines=1,
            quote_char=None,
            schema=schema,
        )
    except (pl.exceptions.PolarsError, OSError):
        return None
    numbers = [pl.col(name).is_finite().all() for name in layout.numbers]
    fine = table.null_count().sum_horizontal().item() == 0
    fine = fine and table.select(pl.all_horizontal(numbers)).item()
    if "grade" in layout.numbers:
        fine = fine and table.select((pl.col("grade").abs() < _EXACT).all()).item()
    return table if fine else None


def _any_table(block: Block, layout: _Layout) -> pl.DataFrame:
    """The rows of any block, or the first line that is malformed."""
    lines = _lines(block).filter((pl.col("line") != "") | pl.col("fault").is_not_null())
    fields = f"[{_BLANKS}]+".join([_FIELD] * len(layout.fields))
    rows = _take_apart(lines, f"^{fields}{layout.rest}$", layout.fields)
    rule = f"{layout.line} has {len(layout.fields)} fields, {' '.join(layout.fields)}, got "
    count = pl.col("line").str.count_matches(_FIELD)
    _check_lines(
        block.file,
        rows,
        _complaints(rows, pl.col("fault").is_not_null(), pl.col("fault")),
        _complaints(rows, pl.col("query").is_null(), rule, count),
        *(_not_numbers(rows, name, dtype) for name, dtype in layout.numbers.items()),
        *([_inexact_grades(rows)] if "grade" in layout.numbers else []),
    )
    numbers = [pl.col(name).cast(dtype) for name, dtype in layout.numbers.items()]
    return rows.select(layout.fields).with_columns(numbers)


class _Columns:
    """How many columns the features take, which a slip of the pen must not make thousands of."""

    def __init__(self, most: int = _MOST_FEATURES) -> None:
        self.most = most
        self.highest = self.lines = self.values = 0
        self.place: tuple[str, int, str] = ("", 0, "")

    def add(self, file: str, rows: pl.DataFrame, features: pl.DataFrame) -> None:
        """Count some lines; raise where a feature number would make columns of nothing."""
        self.lines += rows.height
        self.values += features.height
        highest = features.select(pl.col("index").max().fill_null(0)).item()
        if highest > self.highest:
            self.highest = highest
            row = features.filter(index=highest)["row"][0]
            self.place = file, rows["number"][row], rows["line"][row]
        cells = self.lines * self.highest
        if cells > max(_FREE_CELLS, _CELLS_PER_VALUE * self.values):
            file, number, line = self.place
            sentence = (
                f"a feature number must not leave more than {_CELLS_PER_VALUE - 1} in"
                f" {_CELLS_PER_VALUE} values out, got {self.highest}, so many columns"
                f" for the {self.values} values of {self.lines} lines"
            )
            _raise(file, number, sentence, line)


def _letor(file: str, lines: pl.DataFrame, lines_before: int, columns: _Columns) -> pl.DataFrame:
    """The documents of some lines of a file, with the features that they have."""
    has_document = (pl.col("line") != "") & ~pl.col("line").str.starts_with("#")
    lines = lines.filter(has_document | pl.col("fault").is_not_null())
    rows = _take_apart(lines, _LETOR_LINE, _LETOR_FIELDS)
    features = _letor_features(rows)
    _check_lines(
        file,
        rows,
        _complaints(rows, pl.col("fault").is_not_null(), pl.col("fault")),
        _complaints(rows, pl.col("query").is_null(), "a line begins with a grade and qid:query"),
        _not_numbers(rows, "grade", pl.Float64()),
        _inexact_grades(rows),
        *_feature_complaints(features, columns.most),
    )
    columns.add(file, rows, features)
    doc = pl.col("comment").str.extract(_LETOR_DOC)
    number = (pl.col("number") + lines_before).cast(pl.String)
    grade = pl.col("grade").cast(pl.Float64)
    documents = rows.select("query", pl.coalesce(doc, number).alias("doc"), grade)
    return documents.hstack(_dense(features, documents.height))


def _letor_features(rows: pl.DataFrame) -> pl.DataFrame:
    """One row per feature: its text and its two numbers, null where they are none."""
    text = pl.col("features").str.replace_all("\t", " ", literal=True)
    parts = pl.col("feature").str.splitn(":", 2).struct.rename_fields(["index", "value"])
    return (
        rows.select("row", feature=text.str.split(" "))
        .explode("feature", empty_as_null=False)
        .filter(pl.col("feature") != "")
        .with_columns(parts.struct.unnest())
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


def _inexact_grades(rows: pl.DataFrame) -> pl.DataFrame:
    number = pl.col("grade").cast(pl.Float64, strict=False).abs()
    return _complaints(
        rows,
        pl.col("grade").str.contains(r"^[+-]?[0-9]+$") & (number >= _EXACT),
        f"a grade that is written whole is below {_EXACT}, to be exact, got '",
        pl.col("grade").str.head(_SHOWN_CHARACTERS),
        "'",
    )


def _feature_complaints(features: pl.DataFrame, most: int) -> list[pl.DataFrame]:
    fine = (pl.col("index") > 0) & pl.col("value").is_finite()
    place = pl.col("row").cast(pl.Int64) * 2**16 + pl.col("index")
    # Counting distinct places is many times faster than finding the ones that come again.
    again = features.clear()
    if features.select(place.n_unique()).item() < features.height:
        again = features.filter(place.is_duplicated())
    shown = pl.col("feature").str.head(_SHOWN_CHARACTERS)
    return [
        _complaints(
            features,
            ~fine.fill_null(value=False),
            f"a feature is number:value, a number from 1 to {_MOST_FEATURES} and a finite value,"
            " got '",
            shown,
            "'",
        ),
        _complaints(
            features,
            pl.col("index") > most,
            f"a feature number is at most `n_features`, {most}, got '",
            shown,
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


def _check_lines(file: str, rows: pl.DataFrame, *complaints: pl.DataFrame) -> None:
    """Raise for the first line with a complaint; where it has several, the first that is given."""
    found = pl.concat(complaints).sort("row", maintain_order=True)
    if found.height:
        row, sentence = found.row(0)
        _raise(file, rows["number"][row], sentence, rows["line"][row])


def _raise(file: str, number: int, sentence: str, line: str) -> NoReturn:
    if len(line) > _SHOWN_CHARACTERS:
        line = line[:_SHOWN_CHARACTERS] + "..."
    msg = f"{file}, line {number}: {sentence}: {line!r}"
    raise ValueError(msg)
