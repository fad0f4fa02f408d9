"""Read runs, judgments and features from files.

The first line of a file of runs or judgments shows its format (`file_formats`). A file is read in
blocks of lines. If single blanks or single tabs separate the fields, Polars reads a block as CSV.
If a block cannot be read as CSV, Polars expressions parse it and check each line. Blocks of LETOR
files are always parsed by expressions. If lines are malformed, an error reports the first of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from operator import itemgetter
from pathlib import Path
from typing import Literal, NoReturn, TypeAlias

import polars as pl
import polars.selectors as cs

from polars_graded._checks import check_choice, check_flag, check_whole_number, first_few
from polars_graded._frames.file_formats import (
    BLANKS,
    JUDGMENTS,
    NUMBERS,
    RUNS,
    FileKind,
    LineFormat,
    build_schema,
    find_format,
)
from polars_graded._frames.files import Block, Paths, TextFile, list_files
from polars_graded._frames.json_files import read_json
from polars_graded._frames.rows import scan_frames
from polars_graded._measuring.keywords import checks_keywords
from polars_graded._warnings import DataWarning, warn_the_caller

__all__ = ["read_letor", "read_qrels", "read_run", "scan_letor", "scan_qrels", "scan_run"]

Runs: TypeAlias = "Paths | Mapping[str, Paths]"
NamedBy: TypeAlias = Literal["tag", "file"]

_FIELD = rf"([^{BLANKS}]+)"
_SHOWN_CHARACTERS = 200

_MAX_EXACT = 2**53
"""Whole numbers below this limit are exact as Float64, the type of grades in measures."""


_JUDGMENT_SCHEMA = build_schema(["query", "doc", "grade"])
_RUN_SCHEMA = build_schema(["query", "doc", "score", "rank", "strategy"])

_SECONDS = (1e8, 1e10)
"""Range of times in seconds since 1970, from 1973 to 2286."""

_FIRST_LINE = re.compile(rb"^[ \t\r]*([^ \t\r\n#][^\n]*)", re.MULTILINE)
"""Pattern of the first line that is neither blank nor a comment."""

# No character can belong to two groups, so one pass over the line finds all groups. This takes a
# third of the time of a pattern with overlapping groups.
_LETOR_LINE = rf"^([^{BLANKS}#]+)[{BLANKS}]+qid:([^{BLANKS}#]+)((?:[{BLANKS}][^#]*)?)(?:#(.*))?$"
_LETOR_FIELDS = ("grade", "query", "features", "comment")
_LETOR_DOC = rf"(?:^|[{BLANKS}])docid[{BLANKS}]*=[{BLANKS}]*{_FIELD}"
_MAX_FEATURES = 2**16 - 1
# Every feature number up to the highest becomes a column. These columns may have 2**26 cells, which
# take half a gigabyte. They may have more cells if at least one cell in 16 has a value.
_FREE_CELLS = 2**26
_CELLS_PER_VALUE = 16
# Number of lines in a slice. A slice is exploded into one row per feature of a line. Such a row
# takes about a hundred bytes, so a slice takes some tens of megabytes. Another number of lines
# would make reading faster by at most a few percent.
_LETOR_SLICE = 4096


@checks_keywords
def read_letor(paths: Paths) -> pl.DataFrame:
    r"""Read LETOR files: graded documents with their features, in SVMlight's format.

    A row is a judged document of a query, with a column for every feature. Each feature can serve
    as a score to rank by. Rows are in the order of the lines, one file after the other.

    A line is ``grade qid:query number:value … # comment``. The format is sparse: a feature that a
    line leaves out is 0. Feature numbers are from 1 to 65535. A line may have them in any order,
    but each number only once. Blank lines, and lines that are only a comment, are skipped. A line
    ends in LF or CR LF.

    Parameters
    ----------
    paths
        One source, or several: paths, patterns such as `"runs/*.gz"`, open files, or bytes. Each
        source contains UTF-8 text, plain or gzipped.

    Returns
    -------
    DataFrame
        ``query`` and ``doc`` (String), ``grade`` (Int64, or Float64 if any grade is not
        whole), ``f1`` to ``fm`` (Float64), where m is the highest feature number in any file.
        ``doc`` is X if the comment contains ``docid = X``. Otherwise ``doc`` is the line number.
        Line numbers continue from one file to the next, so no two lines have the same number.

    Raises
    ------
    ValueError
        If a line is malformed: the message gives the file, the line number, the rule and the line.
        Grades and features must be finite. The absolute value of a grade that is written as a whole
        number must be below 2**53, so that Float64 holds it exactly. The columns of features must
        not exceed half a gigabyte if fewer than one in 16 of their cells have a value.

    See Also
    --------
    scan_letor : The same as a lazy frame.

    Examples
    --------
    >>> lines = b"2 qid:1 1:3.0 2:0.5 #docid = 40626\n0 qid:1 2:0.25 #docid = 7612\n"
    >>> read_letor(lines)
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
    frame = _concatenate(_JUDGMENT_SCHEMA, _read_letor_slices(list_files(paths), _FeatureLimit()))
    return _cast_whole_grades(frame).with_columns(pl.col("^f[0-9]+$").fill_null(0.0))


@checks_keywords
def read_qrels(paths: Paths, *, subtopics: bool = False) -> pl.DataFrame:
    r"""Read judgments (qrels) of TREC, MS MARCO or BEIR, or from JSON.

    A row is a judged document of a query, in the order of the lines, one file after the other. The
    format of each file is recognised by its first line:

    - TREC and MS MARCO: lines of ``query iteration doc grade``.
    - Columns below a header with names such as ``query-id corpus-id score``, as in BEIR.
    - JSON: ``{query: {doc: grade}}``, or ``{query: [doc, ...]}`` for relevant documents of grade
      1, or objects with fields such as ``query_id``, ``doc_id`` and ``relevance``, one per line or
      in a list.

    Fields are separated by any number of blanks or tabs. If tabs separate all fields of a line,
    its ids may contain blanks. A line that begins with ``#`` is a comment, as in trec_eval 10. A
    grade may be negative: NIST uses negative grades for spam and for documents that were pooled but
    not judged.

    Parameters
    ----------
    paths
        One source, or several: paths, patterns such as `"runs/*.gz"`, open files, or bytes. Each
        source contains UTF-8 text, plain or gzipped.
    subtopics
        If True, the second field of each line is returned as the column ``subtopic``. TREC's
        judgments of diversity have the subtopic in this field. By default the field is dropped.

    Returns
    -------
    DataFrame
        ``query`` and ``doc`` (String), ``grade`` (Int64, or Float64 if any grade is not
        whole). With `subtopics` also ``subtopic`` (String).

    Raises
    ------
    ValueError
        If a line is malformed: the message gives the file, the line number, the rule and the line.
        A grade must be finite. If it is written as a whole number, its absolute value must be below
        2**53, so that Float64 holds it exactly. With `subtopics`, lines must have four fields.

    See Also
    --------
    scan_qrels : The same as a lazy frame.

    Examples
    --------
    >>> read_qrels(b"301 0 FBIS3-10082 1\n301 0 CR93E-1282 -1\n")
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
    schema = _choose_judgment_schema(subtopics)
    return _cast_whole_grades(
        _concatenate(schema, _read_judgment_blocks(list_files(paths), schema))
    )


def _choose_judgment_schema(subtopics: bool) -> pl.Schema:  # noqa: FBT001, an argument to check
    """Return the columns of judgments, with or without subtopics."""
    extra = ["subtopic"] if check_flag("subtopics", subtopics) else []
    return build_schema([*_JUDGMENT_SCHEMA, *extra])


@checks_keywords
def read_run(paths: Runs, *, named_by: NamedBy = "tag") -> pl.DataFrame:
    r"""Read runs of TREC, MS MARCO or BEIR, or from JSON.

    A row is a document that a strategy retrieved for a query, in the order of the lines, one file
    after the other. The format of each file is recognised by its first line:

    - TREC: lines of ``query Q0 doc rank score tag``. Text after the tag is ignored.
    - MS MARCO: lines of ``query doc rank``, with tabs. The ranks of a query begin at 1 or 0.
    - Columns below a header with names such as ``query-id corpus-id score``, as in BEIR.
    - JSON: ``{query: {doc: score}}``, ``{query: [doc, ...]}`` in rank order, or objects with fields
      such as ``query_id``, ``doc_id`` and ``score``, or with a list ``results`` of such objects.
      Objects stand one per line, or in a list.

    Fields are separated by any number of blanks or tabs. If tabs separate all fields of a line,
    its ids may contain blanks. A line that begins with ``#`` is a comment, as in trec_eval 10.

    Parameters
    ----------
    paths
        One source, or several: paths, patterns such as `"runs/*.gz"`, open files, or bytes. Each
        source contains UTF-8 text, plain or gzipped. A mapping gives names to the strategies:
        `{"ours": "a.run"}`.
    named_by
        Source of a strategy's name: the `"tag"` in its lines, or its `"file"` (the whole path, if
        two files have the same name), as for files without tags. The page "Files and judgments" of
        the documentation has rules for several tags in a file, or files with one tag.

    Returns
    -------
    DataFrame
        ``query`` and ``doc`` (String), ``score`` (Float64), ``rank`` (Int64) and ``strategy``
        (String), the name of the strategy. Scores and ranks are those of the file. They may
        contradict each other; trec_eval ranks by score and ignores the rank. ``rank`` is null if
        the file has none, or something else in its place. If a file has only ranks, as in MS MARCO,
        ``score`` is the negative rank.

    Raises
    ------
    ValueError
        If a line is malformed: the message gives the file, the line number, the rule and the line.
        A score must be finite.

    See Also
    --------
    scan_run : The same as a lazy frame.

    Examples
    --------
    Here, text takes the place of a file. To name the strategy, pass `{"ours": text}`:

    >>> read_run(b"301 Q0 FBIS3-10082 1 2.5 bm25\n301 Q0 CR93E-1282 2 1.75 bm25\n")
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
    files = _name_files(paths, named_by)
    runs = [
        _merge_tags(file, _concatenate(_RUN_SCHEMA, _read_run_blocks([file], len(files))))
        for file in files
    ]
    names = _name_strategies(files, runs)
    return pl.concat([run.with_columns(name) for run, name in zip(runs, names, strict=True)])


@checks_keywords
def scan_letor(paths: Paths, *, n_features: int | None = None) -> pl.LazyFrame:
    r"""Read LETOR files lazily in slices of lines, in the format of `read_letor`.

    Files may be larger than memory if later steps do not need all rows at once. A malformed line
    raises an error when it is read (a ComputeError in Polars before 2).

    Parameters
    ----------
    paths
        A file, or several: paths, or patterns such as `"fold*/test.txt.gz"`.
    n_features
        The number of features, which must be known before the files are read. By default, it is the
        highest feature number in the first slice of lines that contains a document: 4096 lines, or
        fewer if these exceed 16 MiB. A higher number in a later line raises an error.

    Returns
    -------
    LazyFrame
        As `read_letor`, but ``grade`` is always Float64, and m is `n_features`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "fold1.txt"
    ...     _ = path.write_text("2 qid:1 1:3.0 2:0.5 #docid = 40626\n0 qid:1 2:0.25\n")
    ...     scan_letor(path).select("query", "grade", "f2").collect()
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
    files = _list_rereadable_files(list_files(paths))
    if n_features is None:
        slices = _read_letor_slices(files, _FeatureLimit())
        first = next((each for each in slices if each.height), pl.DataFrame())
        n_features = sum(name not in _JUDGMENT_SCHEMA for name in first.columns)
    check_whole_number("n_features", n_features, at_least=0, at_most=_MAX_FEATURES)
    features = {f"f{number}": pl.Float64() for number in range(1, n_features + 1)}
    schema = pl.Schema({**_JUDGMENT_SCHEMA, **features})

    def frames(*_: object) -> Iterator[pl.DataFrame]:
        for frame in _read_letor_slices(files, _FeatureLimit(n_features)):
            yield _concatenate(schema, [frame]).with_columns(pl.col(list(features)).fill_null(0.0))

    return scan_frames(schema, frames)


@checks_keywords
def scan_qrels(paths: Paths, *, subtopics: bool = False) -> pl.LazyFrame:
    r"""Read judgments lazily in blocks, in the formats of `read_qrels`.

    A malformed line raises an error when it is read (a ComputeError in Polars before 2).

    Parameters
    ----------
    paths
        A file, or several: paths, or patterns such as `"qrels/*.gz"`.
    subtopics
        If True, the second field of a line is the subtopic, as in `read_qrels`.

    Returns
    -------
    LazyFrame
        As `read_qrels`, but ``grade`` is always Float64.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "qrels.txt"
    ...     _ = path.write_text("301 0 FBIS3-10082 1\n301 0 CR93E-1282 -1\n")
    ...     scan_qrels(path).filter(pl.col("grade") > 0).collect()
    shape: (1, 3)
    ┌───────┬─────────────┬───────┐
    │ query ┆ doc         ┆ grade │
    │ ---   ┆ ---         ┆ ---   │
    │ str   ┆ str         ┆ f64   │
    ╞═══════╪═════════════╪═══════╡
    │ 301   ┆ FBIS3-10082 ┆ 1.0   │
    └───────┴─────────────┴───────┘
    """
    files = _list_rereadable_files(list_files(paths))
    schema = _choose_judgment_schema(subtopics)
    return scan_frames(schema, lambda *_: _read_judgment_blocks(files, schema))


@checks_keywords
def scan_run(paths: Runs, *, named_by: NamedBy = "tag") -> pl.LazyFrame:
    r"""Read runs lazily in blocks of lines, in the formats of `read_run`.

    Files may be larger than memory if later steps do not need all rows at once. Only a JSON file
    that is a single value is read as a whole. A malformed line raises an error when it is read (a
    ComputeError in Polars before 2).

    Parameters
    ----------
    paths
        A file, or several: paths, or patterns such as `"runs/*.gz"`. A mapping gives names to the
        strategies: `{"ours": "a.run"}`.
    named_by
        As for `read_run`, but several tags in a file, and files with the same tag, are compared
        only in the first block of each file, of about 16 MiB.

    Returns
    -------
    LazyFrame
        The columns of `read_run`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "bm25.run"
    ...     _ = path.write_text("301 Q0 FBIS3-10082 1 2.5 a\n301 Q0 CR93E-1282 2 1.75 a\n")
    ...     run = scan_run(path, named_by="file")
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
    files = _name_files(paths, named_by)
    _list_rereadable_files(files)

    def frames(*_: object) -> Iterator[pl.DataFrame]:
        starts = (
            _merge_tags(
                file,
                _concatenate(_RUN_SCHEMA, islice(_read_run_blocks([file], 1), 1)),
                warns=False,
            )
            for file in files
        )
        for file, name in zip(files, _name_strategies(files, starts), strict=True):
            is_one_ranking = None
            for block in _read_run_blocks([file], len(files)):
                run = block
                if is_one_ranking is None:
                    run = _merge_tags(file, block)
                    is_one_ranking = run is not block
                elif is_one_ranking:
                    run = block.with_columns(strategy=pl.lit(file.default_strategy))
                yield run.with_columns(name)

    return scan_frames(_RUN_SCHEMA, frames)


# Reading


def _concatenate(schema: pl.Schema, frames: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Return the concatenated frames, with all columns of the schema."""
    return pl.concat([schema.to_frame(), *frames], how="diagonal")


def _list_rereadable_files(files: list[TextFile]) -> list[TextFile]:
    """Return the files; raise if one is missing or is not a path."""
    for file in files:
        if not isinstance(file.source, Path):
            msg = f"`paths` of a lazy frame must be paths, which can be read again, got {file.name}"
            raise TypeError(msg)
        with file.source.open("rb"):
            pass
    return files


def _name_files(paths: Runs, named_by: NamedBy) -> list[TextFile]:
    """Return the files; set `strategy` from a mapping or a file name.

    With `named_by="tag"` and no mapping, `strategy` stays None, and `default_strategy` is the name
    of the file.
    """
    check_choice("named_by", named_by, ("tag", "file"))
    if isinstance(paths, Mapping):
        for name in paths:
            if not isinstance(name, str):
                msg = f"`paths` must name each strategy by a string, got {name!r}"
                raise TypeError(msg)
        files = [replace(file, strategy=name) for name in paths for file in list_files(paths[name])]
        return files or list_files([])  # raises an error if there are none
    files = list_files(paths)
    named_files = zip(files, _list_file_names(files), strict=True)
    if named_by == "file":
        return [replace(file, strategy=name) for file, name in named_files]
    return [replace(file, default_strategy=name) for file, name in named_files]


def _list_file_names(files: Sequence[TextFile]) -> list[str]:
    """Return the names of files, or whole paths if two names are equal."""
    names = [file.source.name if isinstance(file.source, Path) else file.name for file in files]
    return names if len(set(names)) == len(names) else [file.name for file in files]


def _name_strategies(files: Sequence[TextFile], runs: Iterable[pl.DataFrame]) -> list[pl.Expr]:
    """Return, for each file, an expression for the names of its strategies.

    If two files have a tag, a query and a document in common, file names replace the tags. All
    names stay if a source is not a path, or if the caller has named the strategies.
    """
    names, unchanged = _list_file_names(files), [pl.col("strategy")] * len(files)
    named_by_tag = all(isinstance(file.source, Path) and file.strategy is None for file in files)
    if not named_by_tag or len(set(names)) < len(names) or len(names) == 1:
        return unchanged
    keys = [run.select("strategy", "query", "doc").unique() for run in runs]
    tags = [keys_of_file.get_column("strategy").unique().sort() for keys_of_file in keys]
    if pl.concat(tags).is_unique().all() or pl.concat(keys).is_unique().all():
        return unchanged
    return make_names_distinct(tags, names)


def make_names_distinct(tags: Sequence[pl.Series], names: Sequence[str]) -> list[pl.Expr]:
    """Return, for each file, an expression for the names of its strategies.

    The names are tags. If two files share a tag, files give the names, and a warning reports this.
    """
    counts = Counter(tag for tags_of_file in tags for tag in tags_of_file)
    repeated_tags = [tag for tag, n in counts.items() if n > 1]
    if not repeated_tags:
        return [pl.col("strategy")] * len(names)
    warn_the_caller(
        DataWarning.files,
        f"the tag {repeated_tags[0]!r} occurs in {counts[repeated_tags[0]]} files, so strategies "
        f"are named after files: {first_few(names)}\n\n"
        "Hint: named_by='file' confirms this; a mapping names strategies, and a strategy may have "
        "several files: {'bm25': ['part1.run', 'part2.run']}",
    )
    return [
        _name_after_file(tags_of_file, name) for tags_of_file, name in zip(tags, names, strict=True)
    ]


def _name_after_file(tags: pl.Series, name: str) -> pl.Expr:
    """Return an expression that names the strategies of a file after it.

    With several tags, the names are "file:tag". `scan_run` knows only the tags of the first block.
    If this block has one tag, its rows get the name of the file. Rows with another tag in a later
    block get "file:tag", so that they form a strategy of their own.
    """
    with_tag = pl.concat_str(pl.lit(f"{name}:"), "strategy")
    if len(tags) == 1:
        with_tag = pl.when(strategy=tags[0]).then(pl.lit(name)).otherwise(with_tag)
    return with_tag.alias("strategy")


def _read_blocks(file: TextFile, kind: FileKind) -> Iterator[pl.DataFrame]:
    """Yield the rows of a file of runs or judgments, block by block."""
    table_format = None
    blocks = file.blocks()
    for block in blocks:
        if table_format is None and (first := _FIRST_LINE.search(block.text)):
            line = first[1].decode(errors="replace")
            if line.startswith(("{", "[")):
                yield from read_json(chain([block], blocks), line, kind)
                return
            table_format, is_header = find_format(line, kind)
            if is_header:
                # An empty line replaces the header, so that line numbers stay correct.
                text = block.text[: first.start()] + block.text[first.end() :]
                block = block._replace(text=text)  # noqa: PLW2901
        table = _parse_as_csv(block.text, table_format or kind.lines)
        if table is None:
            table = _parse_block(block, table_format or kind.lines, kind)
        if table_format is not None and table_format is kind.lines_with_tabs and block.first == 1:
            _check_first_rank(file, table)
        yield kind.add_number(table)


def _check_first_rank(file: TextFile, table: pl.DataFrame) -> None:
    """Raise if the ranks of the first query do not begin at 1 or 0."""
    ranks = table.filter(pl.col("query") == pl.col("query").first()).get_column("rank")
    if len(ranks) and (ranks.min() not in (0, 1) or ranks.is_duplicated().any()):
        msg = (
            f"{file.name} must have a rank in its last column, from 1 or 0 on in each query, got "
            f"{first_few(ranks.to_list())} for query {table['query'][0]!r}\n\n"
            "Hint: a header, query doc score, makes the last column a score"
        )
        raise ValueError(msg)


def _check_no_times(file: TextFile, table: pl.DataFrame) -> None:
    """Raise if the grades are times, as in files of ratings: query, doc, rating, time."""
    grades = table.get_column("grade")
    if grades.is_between(*_SECONDS).all() and len(grades):
        msg = (
            f"{file.name} must have a grade in its last column, got times such as "
            f"{grades[0]:.0f}\n\n"
            f"Hint: join_judgments takes a frame of ratings: pl.read_csv({file.name!r}, separator="
            "'\\t', has_header=False, new_columns=['query', 'doc', 'grade', 'time'])"
        )
        raise ValueError(msg)


def _read_judgment_blocks(files: Iterable[TextFile], schema: pl.Schema) -> Iterator[pl.DataFrame]:
    for file in files:
        for table in _read_blocks(file, JUDGMENTS):
            _check_no_times(file, table)
            judgments = table.rename({"iteration": "subtopic"}, strict=False)
            if "subtopic" in schema and "subtopic" not in judgments.columns:
                msg = f"{file.name} must have lines of four fields with subtopics, got other fields"
                raise ValueError(msg)
            yield judgments.select(schema.names())


def _read_run_blocks(files: Sequence[TextFile], n_files: int) -> Iterator[pl.DataFrame]:
    for file in files:
        has_rows = False
        for table in _read_blocks(file, RUNS):
            has_rows |= table.height > 0
            if file.strategy is None and "tag" in table.columns:
                strategy = pl.col("tag")
            else:
                name = file.default_strategy if file.strategy is None else file.strategy
                strategy = pl.lit(name)
            run = table.with_columns(strategy=strategy)
            yield _concatenate(
                _RUN_SCHEMA, [run.select(cs.by_name(*_RUN_SCHEMA, require_all=False))]
            )
        if not has_rows and n_files > 1:
            sentence = f"{file.name} has no lines, so it contains no strategy"
            warn_the_caller(DataWarning.files, sentence)


def _merge_tags(file: TextFile, run: pl.DataFrame, *, warns: bool = True) -> pl.DataFrame:
    """Return the run, named after its file if its tags are parts of one ranking.

    The tags of a file are strategies if two of them retrieved the same document for a query. If
    they share queries but no document, the file is nearly always one ranking.
    """
    tags = run.get_column("strategy").unique(maintain_order=True)
    if file.strategy is not None or len(tags) <= 1:
        return run
    keys = run.select("query", "doc", "strategy").unique(maintain_order=True)
    tags_of_query = keys.group_by("query", maintain_order=True).agg(
        pl.col("strategy").unique(maintain_order=True)
    )
    lengths = tags_of_query.get_column("strategy").list.len()
    shared = tags_of_query.filter(lengths > 1)
    if shared.is_empty() or keys.select(pl.struct("query", "doc").is_duplicated().any()).item():
        return run
    is_one_ranking = (lengths < len(tags)).any()
    if warns:
        query, names = shared.row(0)
        decision = "they are read as one ranking" if is_one_ranking else "each tag is a strategy"
        hint = "confirms this" if is_one_ranking else "reads them as one ranking"
        warn_the_caller(
            DataWarning.files,
            f"the lines of {file.name} for query {query!r} have the tags {first_few(names)}, and "
            f"no document is under two tags, as in one ranking; {decision}\n\n"
            f"Hint: named_by='file' {hint}",
        )
    return run.with_columns(strategy=pl.lit(file.default_strategy)) if is_one_ranking else run


def _read_letor_slices(files: Iterable[TextFile], limit: _FeatureLimit) -> Iterator[pl.DataFrame]:
    """Yield the documents of LETOR files in slices, each with its own features."""
    lines_before = 0
    for file in files:
        last = 0
        for block in file.blocks():
            lines = _split_lines(block)
            last = block.first + lines.height - 1
            for part in lines.iter_slices(_LETOR_SLICE):
                yield _parse_documents(file.name, part, lines_before, limit)
        lines_before += last


# Lines with the same fields


def _parse_as_csv(text: bytes, table_format: LineFormat) -> pl.DataFrame | None:
    """Parse text as CSV; return None if `_parse_block` must parse it."""
    text = text.replace(b"\r\n", b"\n").strip(b"\n")
    has_tabs = b"\t" in text
    if b"\r" in text:
        return None
    # Some text, such as "x^", begins like a compressed file. Polars would decompress this text, so
    # an empty line is put before it.
    text = b"\n" + text
    has_comments = b"#" in text and b"\n#" in text  # one byte is found ten times as fast as two
    try:
        table = pl.read_csv(
            text,
            separator="\t" if has_tabs else " ",
            has_header=False,
            skip_lines=1,
            quote_char=None,
            comment_prefix="#" if has_comments else None,
            schema=build_schema(table_format.fields),
        )
    except (pl.exceptions.PolarsError, OSError):
        return None
    if has_tabs and b" " in text:
        table = _strip_fields(table, table_format)
    are_fine = [pl.all().is_not_null().all(), cs.float().is_finite().all()]
    if "grade" in table_format.fields:
        are_fine.append((pl.col("grade").abs() < _MAX_EXACT).all())
    return table if table.select(pl.all_horizontal(are_fine)).item() else None


def _parse_block(block: Block, table_format: LineFormat, kind: FileKind) -> pl.DataFrame:
    """Parse a block with expressions; raise for the first malformed line."""
    names, n = table_format.fields, len(table_format.fields)
    line, parts = pl.col("line"), pl.col("parts")
    is_content = (line != "") & ~line.str.starts_with("#")
    lines = _split_lines(block).filter(is_content | pl.col("fault").is_not_null())
    at_blanks = line.str.replace_all("\t", " ", literal=True).str.split(" ")
    rows = lines.with_columns(parts=at_blanks.list.filter(pl.element() != "")).with_row_index("row")
    has_tabs = b"\t" in block.text
    if has_tabs:
        # Fields between tabs may contain blanks.
        at_tabs = line.str.split("\t").list.filter(pl.element().str.strip_chars(" ") != "")
        count = at_tabs.list.len()
        is_complete = count >= n if table_format.has_rest else count == n
        rows = rows.with_columns(parts=pl.when(is_complete).then(at_tabs).otherwise("parts"))
    rows = rows.with_columns(
        parts.list.get(i, null_on_oob=True).alias(name) for i, name in enumerate(names)
    )
    rows = _strip_fields(rows, table_format) if has_tabs else rows
    count = parts.list.len()
    is_wrong = count < n if table_format.has_rest else count != n
    sentence = f"{table_format.line} has {n} fields, {' '.join(names)}, got {{}}"
    rules = [(is_wrong, pl.format(sentence, count)), *_find_wrong_numbers(table_format.numbers)]
    is_first = block.first == 1 and table_format is kind.lines
    hint = kind.suggest(block.file, rows["line"][0]) if is_first and rows.height else ""
    _check_lines(block.file, rows, rules, hint=hint)
    if "rank" in names:
        rows = rows.with_columns(pl.col("rank").str.replace(r"\.0*$", ""))
    return rows.select(names).cast(build_schema(names), strict=False)


def _strip_fields(rows: pl.DataFrame, table_format: LineFormat) -> pl.DataFrame:
    """Remove blanks around texts; an empty text becomes null.

    A TREC tag is a single word, since trec_eval ignores the text behind it.
    """
    texts = cs.by_name(table_format.fields) & cs.string()
    rows = rows.with_columns(texts.str.strip_chars(" "))
    if table_format.has_rest:
        rows = rows.with_columns(pl.col("tag").str.extract(_FIELD))
    return rows.with_columns(pl.when(texts != "").then(texts))


def _split_lines(block: Block) -> pl.DataFrame:
    """Return each stripped line, its number and its fault, if any.

    A fault is a byte that is not UTF-8, or a carriage return that is not at the end of the line.
    """
    # As in `_parse_as_csv`, the empty line keeps Polars from decompressing the text.
    text, wrong_byte = b"\n" + block.text, pl.lit(None, pl.String)
    try:
        text.decode()
    except UnicodeDecodeError as error:
        number = block.first + text.count(b"\n", 0, error.start) - 1
        sentence = f"text must be UTF-8, got byte 0x{text[error.start]:02x}"
        wrong_byte = pl.when(number=number).then(pl.lit(sentence))
        text = text.decode(errors="replace").encode()
    # Polars marks `read_lines` as unstable, but other readers split lines at separators, interpret
    # quotes or drop empty lines.
    lines = pl.read_lines(
        text, name="line", row_index_name="number", row_index_offset=block.first - 1
    )
    # `read_lines` reads a file with old Macintosh line ends (\r) as a single line. Its second
    # and later lines would be lost, so a \r within a line is a fault.
    line = pl.col("line").str.strip_chars_end("\r").str.strip_chars(BLANKS)
    inner_return = pl.when(line.str.contains("\r", literal=True)).then(
        pl.lit(r"a line ends in \n or \r\n, got \r within it")
    )
    return lines.slice(1).with_columns(line, fault=pl.coalesce(wrong_byte, inner_return))


def _match_fields(lines: pl.DataFrame, pattern: str, fields: Sequence[str]) -> pl.DataFrame:
    """Add a column per group of the pattern, null if a line does not match."""
    groups = pl.col("line").str.extract_groups(pattern).struct.rename_fields(fields)
    return lines.with_columns(groups.struct.unnest()).with_row_index("row")


# LETOR's lines


class _FeatureLimit:
    """Limit the number of features, since a typo could fill the memory."""

    def __init__(self, max_features: int = _MAX_FEATURES) -> None:
        self.max_features = max_features
        self.highest = self.lines = self.values = 0
        self.location: tuple[str, int, str] = ("", 0, "")

    def add(self, file: str, rows: pl.DataFrame, features: pl.DataFrame) -> None:
        """Count lines; raise if columns would be large and almost empty."""
        self.lines += rows.height
        self.values += features.height
        highest = _find_highest(features)
        if highest > self.highest:
            self.highest = highest
            row = features.filter(index=highest)["row"][0]
            self.location = file, rows["number"][row], rows["line"][row]
        cells = self.lines * self.highest
        if cells > max(_FREE_CELLS, _CELLS_PER_VALUE * self.values):
            file, number, line = self.location
            sentence = (
                "a feature number must not be so high that more than"
                f" {_CELLS_PER_VALUE - 1} in {_CELLS_PER_VALUE} values are missing, got"
                f" {self.highest} with the {self.values} values of {self.lines} lines"
            )
            _refuse(file, number, sentence, line)


def _parse_documents(
    file: str, lines: pl.DataFrame, lines_before: int, limit: _FeatureLimit
) -> pl.DataFrame:
    """Return the documents of some lines of a file, with their features."""
    has_document = (pl.col("line") != "") & ~pl.col("line").str.starts_with("#")
    lines = lines.filter(has_document | pl.col("fault").is_not_null())
    rows = _match_fields(lines, _LETOR_LINE, _LETOR_FIELDS)
    features = _parse_features(rows)
    incomplete = pl.col("query").is_null(), pl.lit("a line begins with a grade and qid:query")
    wrong_features = _find_wrong_features(features, limit.max_features)
    _check_lines(file, rows, [incomplete, *_find_wrong_numbers(["grade"])], wrong_features)
    limit.add(file, rows, features)
    doc = pl.col("comment").str.extract(_LETOR_DOC)
    number = (pl.col("number") + lines_before).cast(pl.String)
    grade = pl.col("grade").cast(pl.Float64)
    documents = rows.select("query", pl.coalesce(doc, number).alias("doc"), grade)
    return documents.hstack(_spread_features(features, documents.height))


def _parse_features(rows: pl.DataFrame) -> pl.DataFrame:
    """Return one row per feature: its text, number and value.

    A malformed number or value is null.
    """
    text = pl.col("features").str.replace_all("\t", " ", literal=True)
    parts = pl.col("feature").str.splitn(":", 2).struct.rename_fields(["index", "value"])
    return (
        rows.select("row", feature=text.str.split(" "))
        .explode("feature", empty_as_null=False)
        .filter(pl.col("feature") != "")
        .with_columns(parts.struct.unnest())
        .cast({"index": pl.UInt16, "value": pl.Float64}, strict=False)
    )


def _find_highest(features: pl.DataFrame) -> int:
    highest: int = features.select(pl.col("index").max().fill_null(0)).item()
    return highest


def _spread_features(features: pl.DataFrame, height: int) -> pl.DataFrame:
    """Return columns f1 to the highest number, null for missing features."""
    width = _find_highest(features)
    cell_numbers = features.select(
        pl.col("row").cast(pl.Int64) * width + pl.col("index") - 1
    ).to_series()
    cells = pl.repeat(None, height * width, dtype=pl.Float64, eager=True)
    cells = cells.scatter(cell_numbers, features["value"])
    return pl.DataFrame([cells.gather_every(width, i).alias(f"f{i + 1}") for i in range(width)])


def _cast_whole_grades(frame: pl.DataFrame) -> pl.DataFrame:
    grades = frame["grade"]
    integers = grades.cast(pl.Int64, strict=False)
    is_whole = (integers.cast(pl.Float64) == grades).fill_null(value=False)
    return frame.with_columns(integers) if is_whole.all() else frame


# Errors of lines

Rule: TypeAlias = tuple[pl.Expr, pl.Expr]
"""Condition of a wrong line, and the text of its error."""

Fault: TypeAlias = tuple[int, str]
"""Number of a row, and the text of its error."""


def _find_wrong_numbers(names: Iterable[str]) -> Iterator[Rule]:
    for name in names:
        text, dtype = pl.col(name), NUMBERS[name]
        number, shown = text.cast(dtype, strict=False), text.str.head(_SHOWN_CHARACTERS)
        is_wrong = text.is_not_null() & ~number.is_finite().fill_null(value=False)
        kind = "whole" if dtype.is_integer() else "finite"
        yield is_wrong, pl.format(f"a {name} is a {kind} number, got '{{}}'", shown)
        if name == "grade":
            is_inexact = text.str.contains(r"^[+-]?[0-9]+$") & (number.abs() >= _MAX_EXACT)
            rule = (
                f"a grade that is written whole has a magnitude below {_MAX_EXACT}, to be exact as "
                "Float64"
            )
            yield is_inexact, pl.format(f"{rule}, got '{{}}'", shown)


def _find_wrong_features(features: pl.DataFrame, max_features: int) -> list[Fault]:
    index, shown = pl.col("index"), pl.col("feature").str.head(_SHOWN_CHARACTERS)
    is_fine = (index > 0) & pl.col("value").is_finite()
    rule = f"a feature is number:value, a number from 1 to {_MAX_FEATURES} and a finite value"
    wrong_feature = ~is_fine.fill_null(value=False), pl.format(f"{rule}, got '{{}}'", shown)
    rule = f"a feature number is at most `n_features`, {max_features}, got '{{}}'"
    faults = _find_first_fault(
        features, [wrong_feature, (index > max_features, pl.format(rule, shown))]
    )
    cell = pl.col("row").cast(pl.Int64) * 2**16 + index
    # Counting distinct cells is many times faster than finding the repeated ones.
    if features.select(cell.n_unique()).item() < features.height:
        repeated = features.filter(index.is_not_null() & cell.is_duplicated())
        sentence = pl.format("a line has a feature once, got number {} again", index)
        faults += _find_first_fault(repeated, [(pl.lit(value=True), sentence)])
    return faults


def _find_first_fault(rows: pl.DataFrame, rules: Sequence[Rule]) -> list[Fault]:
    """Return a list with the first fault; empty if no row breaks a rule."""
    first_row = rows.filter(pl.any_horizontal(is_wrong for is_wrong, _ in rules)).head(1)
    sentences = [pl.when(is_wrong).then(sentence) for is_wrong, sentence in rules]
    return first_row.select("row", pl.coalesce(sentences)).rows()


def _check_lines(
    file: str,
    rows: pl.DataFrame,
    rules: Sequence[Rule],
    others: Sequence[Fault] = (),
    *,
    hint: str = "",
) -> None:
    """Raise for the first line with a fault, and name its first fault.

    The hint is for the first row.
    """
    encoding = pl.col("fault").is_not_null(), pl.col("fault")
    if faults := [*_find_first_fault(rows, [encoding, *rules]), *others]:
        row, sentence = min(faults, key=itemgetter(0))
        hint = f"\n\nHint: {hint}" if hint and row == 0 else ""
        _refuse(file, rows["number"][row], sentence, rows["line"][row], hint)


def _refuse(file: str, number: int, sentence: str, line: str, hint: str = "") -> NoReturn:
    if len(line) > _SHOWN_CHARACTERS:
        line = line[:_SHOWN_CHARACTERS] + "..."
    msg = f"{file}, line {number}: {sentence}: {line!r}{hint}"
    raise ValueError(msg)
