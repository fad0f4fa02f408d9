"""Read runs, judgments and features from files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import polars as pl

from polars_graded._checks import check_choice, check_flag, first_few
from polars_graded._frames.file_formats import (
    JUDGMENT_LINES,
    RUN_LINES,
    File,
    Paths,
    list_files,
    parse_features,
    parse_file,
)
from polars_graded._measuring.keywords import checks_call
from polars_graded._warnings import DataWarning, warn_the_caller

__all__ = ["read_letor", "read_qrels", "read_run"]

RunPaths: TypeAlias = "Paths | Mapping[str, Paths]"
NamedBy: TypeAlias = Literal["tag", "file"]


@checks_call
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
        One source, or several: paths, patterns such as `"runs/*.gz"`, open files, or bytes. Text is
        UTF-8, plain or gzipped.

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
        Grades and features must be finite, and the absolute value of a grade must be below 2**53,
        so that Float64 holds it exactly.

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
    frame = parse_features(list_files(paths))
    return _cast_whole_grades(frame).with_columns(pl.col("^f[0-9]+$").fill_null(0.0))


@checks_call
def read_qrels(paths: Paths, *, subtopics: bool = False) -> pl.DataFrame:
    r"""Read judgments (qrels) of TREC, MS MARCO or BEIR, or from JSON.

    A row is a judged document of a query, in the order of the lines, one file after the other. The
    format of each file is recognised by its first line:

    - TREC and MS MARCO: lines of ``query iteration doc grade``.
    - Parquet, and columns below a header, with names such as ``query-id corpus-id score``, as in
      BEIR. The columns of a text file are separated by tabs, commas, semicolons or blanks.
    - JSON: ``{query: {doc: grade}}``, or ``{query: [doc, ...]}`` for relevant documents of grade
      1, or objects with fields such as ``query_id``, ``doc_id`` and ``relevance``, one per line or
      in a list.

    The fields of lines are separated by any number of blanks or tabs. If tabs separate all fields
    of a file, its ids may contain blanks. A line that begins with ``#`` is a comment, as in
    trec_eval 10. A grade may be negative: NIST uses negative grades for spam and for documents that
    were pooled but not judged.

    Parameters
    ----------
    paths
        One source, or several: paths, patterns such as `"runs/*.gz"`, open files, or bytes. Text is
        UTF-8, plain or gzipped.
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
        The absolute value of a grade must be below 2**53, so that Float64 holds it exactly.
        With `subtopics`, lines must have four fields.

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
    columns = {"query": "query", "doc": "doc", "grade": "grade"}
    if check_flag("subtopics", subtopics):
        columns["iteration"] = "subtopic"
    tables = []
    for file in list_files(paths):
        table = parse_file(file, JUDGMENT_LINES)
        if "iteration" in columns and "iteration" not in table.columns:
            msg = f"{file.name} must have lines of four fields with subtopics, got other fields"
            raise ValueError(msg)
        tables.append(table.select(pl.col(field).alias(name) for field, name in columns.items()))
    return _cast_whole_grades(pl.concat(tables))


@checks_call
def read_run(paths: RunPaths, *, named_by: NamedBy = "tag") -> pl.DataFrame:
    r"""Read runs of TREC, MS MARCO, ColBERT or BEIR, or from JSON.

    A row is a document that a strategy retrieved for a query, in the order of the lines, one file
    after the other. The format of each file is recognised by its first line:

    - TREC: lines of ``query Q0 doc rank score tag``. Text after the tag is ignored.
    - MS MARCO and ColBERT: lines of ``query doc rank`` or ``query doc rank score``, with tabs. The
      ranks of a query begin at 1 or 0.
    - Parquet, and columns below a header, with names such as ``query-id corpus-id score``, as in
      BEIR. The columns of a text file are separated by tabs, commas, semicolons or blanks.
    - JSON: ``{query: {doc: score}}``, ``{query: [doc, ...]}`` in rank order, or objects with fields
      such as ``query_id``, ``doc_id`` and ``score``, one per line or in a list. The documents of a
      query may be a list of objects, as Sentence Transformers and rank_llm write them.

    The fields of lines are separated by any number of blanks or tabs. If tabs separate all fields
    of a file, its ids may contain blanks. A line that begins with ``#`` is a comment, as in
    trec_eval 10.

    Parameters
    ----------
    paths
        One source, or several: paths, patterns such as `"runs/*.gz"`, open files, or bytes. Text is
        UTF-8, plain or gzipped. A mapping gives names to the strategies:
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
    check_choice("named_by", named_by, ("tag", "file"))
    if isinstance(paths, Mapping):
        for name in paths:
            if not isinstance(name, str):
                msg = f"`paths` must name each strategy by a string, got {name!r}"
                raise TypeError(msg)
        files = [(name, file) for name, each in paths.items() for file in list_files(each)]
        if not files:
            msg = "`paths` must name at least one file, got none"
            raise ValueError(msg)
        return pl.concat([_read_run(file, name) for name, file in files])
    sources = list_files(paths)
    file_names = _list_file_names(sources)
    if named_by == "file":
        return pl.concat(map(_read_run, sources, file_names))
    return _name_by_tags([_read_run(file) for file in sources], file_names)


def _read_run(file: File, strategy: str | None = None) -> pl.DataFrame:
    """Return the rows of a run, of one strategy or named by tags."""
    table = parse_file(file, RUN_LINES)
    if table.is_empty():
        # A strategy without rows would be missing from all results.
        sentence = f"{file.name} has no lines, so it contains no strategy"
        warn_the_caller(DataWarning.files, sentence)
    if "rank" not in table.columns:
        table = table.with_columns(rank=None)
    if "score" not in table.columns:
        table = table.with_columns(score=-pl.col("rank"))
    name = file.short_name if strategy is None else strategy
    if strategy is not None or "tag" not in table.columns or _is_one_ranking(file, table):
        table = table.with_columns(tag=pl.lit(name))
    # Beside a score, trec_eval ignores the rank, which need not be a whole number.
    rank = pl.col("rank").cast(pl.String).str.replace(r"\.0*$", "").cast(pl.Int64, strict=False)
    return table.select("query", "doc", "score", rank, strategy=pl.col("tag").cast(pl.String))


def _is_one_ranking(file: File, table: pl.DataFrame) -> bool:
    """Return whether several tags form one ranking, and warn if they do.

    The tags of a file are strategies if a document of a query is under two of them.
    """
    tags = table["tag"].unique(maintain_order=True)
    if len(tags) < 2 or table.select("query", "doc").is_duplicated().any():  # noqa: PLR2004
        return False
    warn_the_caller(
        DataWarning.files,
        f"{file.name} has the tags {first_few(tags.to_list())}, and no document of a query is "
        "under two of them, so it is read as one ranking, as in trec_eval\n\n"
        "Hint: named_by='file' confirms this",
    )
    return True


def _list_file_names(files: Sequence[File]) -> list[str]:
    """Return the names of files, or whole paths if two names are equal."""
    file_names = [file.short_name for file in files]
    return file_names if len(set(file_names)) == len(file_names) else [file.name for file in files]


def _name_by_tags(runs: Sequence[pl.DataFrame], file_names: Sequence[str]) -> pl.DataFrame:
    """Return the rows of files, named after the files if two with one tag share a document."""
    counts = Counter(tag for run in runs for tag in run["strategy"].unique(maintain_order=True))
    repeated_tags = [tag for tag, n in counts.items() if n > 1]
    if repeated_tags:
        keys = [run.select("strategy", "query", "doc").unique() for run in runs]
        if pl.concat(keys).is_duplicated().any():
            tag = repeated_tags[0]
            warn_the_caller(
                DataWarning.files,
                f"the tag {tag!r} occurs in {counts[tag]} files, so strategies are named after "
                f"files: {first_few(file_names)}\n\n"
                "Hint: named_by='file' confirms this; a mapping names strategies, and a strategy "
                "may have several files: {'bm25': ['part1.run', 'part2.run']}",
            )
            named_runs = zip(runs, file_names, strict=True)
            runs = [run.with_columns(strategy=pl.lit(name)) for run, name in named_runs]
    return pl.concat(runs)


def _cast_whole_grades(frame: pl.DataFrame) -> pl.DataFrame:
    """Return whole grades as integers."""
    grades = frame["grade"]
    integers = grades.cast(pl.Int64, strict=False)
    is_whole = (integers.cast(pl.Float64) == grades).fill_null(value=False)
    return frame.with_columns(integers) if is_whole.all() else frame
