"""Find documents that a ranking repeats, and documents with two grades."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from polars_graded._checks import first_few
from polars_graded._frames.distinct_keys import hash_keys
from polars_graded._frames.request import Request
from polars_graded._frames.rows import Groups
from polars_graded._measuring.document_columns import may_identify_queries

MAX_CHECKED_ROWS = 1_000_000
"""Maximum number of rows of a frame in which all rows are checked for repeated documents.

In a larger frame, a sample of about half this number of rows, or more, is checked.
"""

STRETCH_ROWS = 1 << 14
"""Approximate number of rows that are checked at once, so that they fit in the cache."""

CHECKED_SHARE = 0.05
"""Approximate minimum share of checked rows in each part of a frame (see `Duplicates`).

All rows of a part are checked if this part and the parts before it have at most `MAX_CHECKED_ROWS`
rows in total.
"""

MIXER = np.uint64(0x9E3779B97F4A7C15)
"""Odd factor that spreads the bits of a group number before it is combined with a hash."""


@dataclass
class Duplicates:
    """Check, part by part, that no ranking contains a document twice.

    A part of a frame consists of all rows of some queries.
    """

    requests: Sequence[Request]
    rows: int = 0
    """Number of rows of all parts so far."""

    def add(self, groups: Groups) -> None:
        """Raise if a ranking repeats a document, or a document of a query has two grades."""
        request, rows_before, n = self.requests[0], self.rows, groups.frame.height
        self.rows += n
        if request.document is None or not n:
            return
        max_rows = n
        if self.rows > MAX_CHECKED_ROWS:
            max_rows = max(MAX_CHECKED_ROWS // 2 - rows_before, math.ceil(CHECKED_SHARE * n))
        if any(_find_repeats(groups.frame.get_column(request.document), groups, max_rows)):
            check_documents_are_unique(request, groups.to_rows(request.columns))
        if request.strategy is not None:
            sample = groups if n <= max_rows else _sample_queries(request, groups, max_rows)
            for each in self.requests:
                columns = [*request.keys, request.document, each.grade]
                if _has_two_grades(each, sample.to_rows(columns)):
                    check_one_grade(each, groups.to_rows(columns))


def _find_repeats(documents: pl.Series, groups: Groups, max_rows: int) -> Iterator[bool]:
    """Yield True for a stretch that seems to repeat a document, else False.

    A document is repeated if it occurs twice in a group. A stretch is a series of consecutive
    groups with about `STRETCH_ROWS` rows. If there are more than `max_rows` rows, only some
    stretches are checked, evenly spaced over the rows. Only hashes are compared, so two different
    documents may seem equal. After a True, the caller compares the documents.
    """
    edges = np.searchsorted(groups.offsets, np.arange(0, len(documents), STRETCH_ROWS))
    stretches = [*pairwise([*np.unique(edges).tolist(), groups.n])]
    stretches = [(first, last) for first, last in stretches if first < last]
    n = max(1, len(stretches) * min(max_rows, len(documents)) // len(documents))
    for index in np.unique(np.linspace(0, len(stretches) - 1, n).astype(np.int64)).tolist():
        first, last = stretches[index]
        offsets = groups.offsets[first : last + 1]
        values = documents.slice(offsets[0], offsets[-1] - offsets[0])
        number = np.repeat(np.arange(last - first, dtype=np.uint64), np.diff(offsets))
        hashes = values.hash(seed=0).to_numpy() ^ (number * MIXER)
        if values.null_count():
            hashes = hashes[values.is_not_null().to_numpy()]
        hashes.sort()
        yield bool((hashes[1:] == hashes[:-1]).any())


def _sample_queries(request: Request, groups: Groups, max_rows: int) -> Groups:
    """Return all rankings of a sample of queries, chosen by the hash of the query.

    The sample contains at least one query.
    """
    hashes = hash_keys(groups.keys, request.query).to_numpy()
    order = np.argsort(hashes, kind="stable")
    n = int(np.searchsorted(np.cumsum(groups.lengths[order]), max_rows, side="right"))
    return groups.select(np.flatnonzero(hashes <= hashes[order[max(n, 1) - 1]]))


def _count_unique(hashes: pl.Series) -> int:
    """Return the number of distinct hashes."""
    ordered = np.sort(hashes.to_numpy())  # `n_unique` takes five times as long
    return int(np.count_nonzero(ordered[1:] != ordered[:-1])) + min(1, len(ordered))


def select_repeated_rows(request: Request, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows whose document occurs in another row of the ranking.

    Rows with neither a grade nor a score, and rows without a document, are left out.
    """
    has_grade_or_score = pl.any_horizontal(pl.col(request.grade, *request.scores).is_not_null())
    rows = rows.filter(has_grade_or_score, pl.col(request.document or "").is_not_null())
    return rows.filter(pl.struct(*request.keys, request.document).is_duplicated())


def check_documents_are_unique(request: Request, rows: pl.DataFrame) -> None:
    """Raise an error with a count and examples if a ranking repeats documents."""
    repeated = select_repeated_rows(request, rows)
    if repeated.is_empty() or _identifies_queries(request, rows):
        return
    doc, query = request.document or "", list(request.query)
    columns = [*request.keys, doc]
    first = repeated.unique(columns, keep="first", maintain_order=True)
    surplus = repeated.height - first.height
    queries, all_queries = repeated.select(query).n_unique(), rows.select(query).n_unique()
    msg = (
        f"`frame` must have each document of {doc!r} once per ranking, got {surplus} rows too many "
        f"in {queries} of {all_queries} queries: {first_few(first.select(*query, doc).rows())}\n\n"
        f"Hint: {_write_repair(request, repeated)}if {doc!r} does not identify "
        "documents, doc='...' names another column, or None"
    )
    raise ValueError(msg)


def _identifies_queries(request: Request, rows: pl.DataFrame) -> bool:
    """Return whether a column `id` that was not passed has one value for each ranking."""
    if not (request.finds_document and may_identify_queries(request.document or "")):
        return False
    counts = rows.group_by(request.keys).agg(pl.col(request.document or "").n_unique())
    return bool((counts.get_column(request.document or "") == 1).all())


def _write_repair(request: Request, repeated: pl.DataFrame) -> str:
    """Return the first part of the hint about repeated documents.

    Dropping rows is suggested only if the repeated rows agree in grade and scores.
    """
    columns = [*request.keys, request.document or ""]
    used = list(dict.fromkeys([*columns, *request.row_columns]))
    if repeated.select(used).n_unique() == repeated.select(columns).n_unique():
        return (
            f".unique({columns!r}, keep='first', maintain_order=True) keeps the first row of a "
            "document in each ranking; "
        )
    hint = f"query={[*request.query, '...']!r} names all columns that tell queries apart; "
    return hint if request.strategy else f"{hint}strategy='...' names a column of strategies; "


def _has_two_grades(request: Request, rows: pl.DataFrame) -> bool:
    """Return whether two rows of a query seem to grade a document differently."""
    columns = [*request.query, request.document or ""]
    judged = rows.filter(pl.col(request.grade).is_not_null(), pl.col(columns[-1]).is_not_null())
    graded = hash_keys(judged, [*columns, request.grade])
    return _count_unique(graded) > _count_unique(hash_keys(judged, columns))


def check_one_grade(request: Request, rows: pl.DataFrame) -> None:
    """Raise if a document of a query has different grades for two strategies."""
    columns, grade = [*request.query, request.document or ""], pl.col(request.grade)
    judged = rows.filter(grade.is_not_null(), pl.col(columns[-1]).is_not_null())
    grades = judged.group_by(columns, maintain_order=True).agg(grade.unique().sort())
    with_several = grades.filter(grade.list.len() > 1)
    if with_several.is_empty():
        return
    msg = (
        f"`frame` must have one {request.grade!r} for a document of a query, got several for "
        f"{with_several.height} of {grades.height} documents: {first_few(with_several.rows())}\n\n"
        "Hint: join_judgments(run, judgments) gives each strategy the same grades; doc= names "
        "another column of documents; doc=None does not compare grades"
    )
    raise ValueError(msg)
