"""Check rankings, part by part: directions of columns that look like ranks, and documents.

A ranking must not contain a document twice, and a document must not have two grades.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from polars_graded._checks import did_you_mean, first_few
from polars_graded._frames.request import RANK, Request
from polars_graded._frames.rows import TEMPORARY_NAME_TEMPLATE, Groups
from polars_graded._frames.strategies import sort_naturally
from polars_graded._frames.tables import describe_nulls, hash_keys
from polars_graded._measuring.document_columns import (
    may_identify_documents,
    may_identify_queries,
    normalise_name,
)
from polars_graded._measuring.kernels.ragged import Ragged
from polars_graded._measuring.list_columns import Lists, run_in_chunks
from polars_graded._measuring.rank_columns import (
    collect_rank_facts,
    find_rank_strategies,
    write_directions,
)


def group_rankings(request: Request, rows: pl.DataFrame) -> Groups:
    """Return the rows of each ranking, from rows with computed columns.

    Raise if `descending` does not fit columns that look like ranks.
    """
    groups = Groups.of(rows, request.ranking_keys, request.document_columns)
    directions = Directions(request)
    directions.add(groups)
    directions.check()
    return groups


def name_columns(request: Request, frame: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Return the rows with computed columns, and keywords that name columns.

    The keywords are arguments of `evaluate`. Directions are checked here, because a single False
    for all strategies becomes a mapping.
    """
    rows = request.add_computed_columns(frame)
    group_rankings(request, rows)
    keywords = {
        "by": {name: [*columns] for name, columns in request.by.items()},
        "descending": {name: [*request.find_directions(name)] for name in request.by},
        "grade": request.grade,
    }
    return rows, keywords


@dataclass
class Directions:
    """Facts about sort columns that may hold ranks, collected from the parts of a frame."""

    request: Request
    facts: dict[tuple[str, str], list[pl.DataFrame]] = field(default_factory=dict)
    """For each entry of `by` and each of its columns, the facts of every part."""
    are_parts: bool = False
    """True if `add` is called for several parts of a frame."""
    strategies: set[str] = field(default_factory=set)
    """Stacked strategies."""

    def add(self, groups: Groups) -> None:
        """Add the facts of a part, in which each query is complete."""
        request, strategies, ranks = self.request, None, None
        if request.strategy is not None:
            strategies = groups.keys.get_column(request.strategy).cast(pl.String)
            self.strategies.update(map(str, strategies.unique()))
        if request.rank_column is not None:
            ranks = groups.frame.get_column(request.rank_column)
        for name, columns in request.by.items():
            if name in request.descending and not request.all_ascending:
                continue
            for position, column in enumerate(columns):
                if position and (column == request.document or may_identify_documents(column)):
                    continue  # ids may be any numbers, and only break ties
                others = None if column == request.rank_column else ranks
                lists, are_all = groups.lists(column), not self.are_parts
                facts = collect_rank_facts(lists, strategies, others, are_all=are_all)
                self.facts.setdefault((name, column), []).append(facts)

    def check(self, *, are_all: bool = True) -> None:
        """Raise if a column looks like ranks and no direction is passed for it.

        Raise also if a single `descending=False` covers ranks and scores alike, or if `descending`
        names a strategy that the frame lacks, unless the parts are not all parts of the frame.
        """
        if are_all:
            self._check_strategies_exist()
        clauses = self._find_ranks()
        if self.request.all_ascending:
            self._check_all_are_ranks(clauses)
        elif clauses:
            (strategy, name, column), clause = next(iter(clauses.items()))
            of_strategy = "" if self.request.strategy is None else f" of strategy {strategy!r}"
            lowest, highest = (
                self._write_flags(strategy, name, column, flag=flag) for flag in (False, True)
            )
            msg = (
                f"`descending` must be passed for score {column!r}{of_strategy}, which {clause}\n\n"
                f"Hint: {write_directions(lowest, highest)}"
            )
            raise ValueError(msg)

    def _check_strategies_exist(self) -> None:
        """Raise if `descending` names a stacked strategy that the frame lacks."""
        strategies = sort_naturally(self.strategies)
        for name in self.request.stacked_directions:
            if strategies and name not in strategies:
                msg = (
                    f"`descending` must name strategies of {self.request.strategy!r}, which are "
                    f"{first_few(strategies)}, got {name!r}{did_you_mean(name, strategies)}"
                )
                raise ValueError(msg)

    def _find_ranks(self) -> dict[tuple[str, str, str], str]:
        """Return a clause for each column that looks like ranks, for errors.

        The keys are the strategy, its entry of `by`, and the column. Stacked strategies whose
        direction is passed are left out.
        """
        request, clauses = self.request, {}
        for (name, column), facts in self.facts.items():
            is_named_rank = normalise_name(column) == RANK and column == request.by[name][0]
            clause_by_strategy = find_rank_strategies(facts, is_named_rank=is_named_rank)
            for stacked in sorted(clause_by_strategy, key=str):
                strategy = name if request.strategy is None else str(stacked)
                if strategy not in request.stacked_directions:
                    clauses[strategy, name, column] = clause_by_strategy[stacked]
        return clauses

    def _check_all_are_ranks(self, clauses: Iterable[tuple[str, str, str]]) -> None:
        """Raise if only some of the strategies that `descending=False` covers have ranks."""
        is_stacked = self.request.strategy is not None
        strategies = sort_naturally(self.strategies) if is_stacked else [*self.request.by]
        first_columns = {columns[0] for columns in self.request.by.values()}
        with_ranks = {strategy for strategy, _, column in clauses if column in first_columns}
        ranked = [strategy for strategy in strategies if strategy in with_ranks]
        others = [strategy for strategy in strategies if strategy not in with_ranks]
        if ranked and others:
            msg = (
                "`descending=False` must not cover ranks and scores alike, got ranks in "
                f"{first_few(ranked)}, but not in {first_few(others)}\n\n"
                f"Hint: descending={dict.fromkeys(ranked, False)} ranks the lowest value first "
                f"for these alone; descending={dict.fromkeys(strategies, False)} for all"
            )
            raise ValueError(msg)

    def _write_flags(self, strategy: str, name: str, column: str, *, flag: bool) -> str:
        """Return the value of `descending` that gives one column a direction."""
        columns = self.request.by[name]
        if len(self.strategies) > 1 and column == columns[0]:
            return f"{{{strategy!r}: {flag}}}"
        flags = [flag if each == column else True for each in columns]
        value = str(flags if len(columns) > 1 else flag)
        return value if len(self.request.by) == len(columns) == 1 else f"{{{name!r}: {value}}}"


# Documents

SUM = TEMPORARY_NAME_TEMPLATE.format("sum of hashes")


@dataclass(frozen=True)
class Duplicates:
    """Check that no ranking contains a document twice, or with two grades."""

    requests: Sequence[Request]

    def add(self, groups: Groups) -> None:
        """Raise if a ranking repeats a document, or a document of a query has two grades.

        Hashes are compared first. Two documents may have one hash, so that the documents themselves
        are compared if two hashes are equal.
        """
        request = self.requests[0]
        if request.document is None or not groups.n_groups:
            return
        document = pl.col(request.document)
        hashes = groups.frame.select(
            pl.when(document.is_not_null()).then(document.hash(seed=0))
        ).to_series()
        if any(run_in_chunks([Lists(hashes, groups.offsets)], _has_repeats)):
            check_documents_are_unique(request, groups.to_rows(request.columns))
        if request.strategy is None:
            return
        for each in self.requests:
            if _have_unlike_judgments(each, hashes, groups):
                rows = groups.to_rows([*each.ranking_keys, request.document, each.grade])
                if _has_two_grades(each, rows):
                    check_one_grade(each, rows)


def _has_repeats(hashes: Ragged) -> bool:
    """Return whether a list has a hash twice. Null, which is NaN here, does not count."""
    return bool(hashes.sort_ascending().compare_with_previous(np.equal).any())


def _have_unlike_judgments(request: Request, hashes: pl.Series, groups: Groups) -> bool:
    """Return whether the judged documents of a query, or their grades, differ between strategies.

    If they are the same, no document has two grades. A sum of hashes for each ranking shows this in
    a fraction of the time of comparing grades. It does not depend on the order of documents.
    `hashes` are those of the documents.
    """
    grades = groups.frame.get_column(request.grade).cast(pl.Float64)
    is_judged = hashes.is_not_null() & grades.is_not_null()
    combined = hashes.fill_null(0).to_numpy() ^ grades.hash(seed=1).to_numpy()
    sums = groups.reduce_groups(np.add, pl.Series(np.where(is_judged, combined, np.uint64(0))))
    query = [*request.query]
    by_query = groups.keys.select(query).with_columns(sums.alias(SUM)).group_by(query)
    return bool(by_query.agg(pl.col(SUM).n_unique()).get_column(SUM).max() != 1)


def _count_unique(hashes: pl.Series) -> int:
    """Return the number of distinct hashes."""
    ordered = np.sort(hashes.to_numpy())  # `n_unique` takes five times as long
    return int(np.count_nonzero(ordered[1:] != ordered[:-1])) + min(1, len(ordered))


def select_repeated_rows(request: Request, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows whose document occurs in another row of the ranking.

    Rows with neither a grade nor a score, and rows without a document, are left out.
    """
    has_grade_or_score = pl.any_horizontal(
        pl.col(request.grade, *request.sort_columns).is_not_null()
    )
    rows = rows.filter(has_grade_or_score, pl.col(request.document or "").is_not_null())
    return rows.filter(pl.struct(*request.ranking_keys, request.document).is_duplicated())


def check_documents_are_unique(request: Request, rows: pl.DataFrame) -> None:
    """Raise an error with a count and examples if a ranking repeats documents."""
    repeated = select_repeated_rows(request, rows)
    if repeated.is_empty() or _identifies_queries(request, rows):
        return
    doc, query = request.document or "", list(request.query)
    columns = [*request.ranking_keys, doc]
    first = repeated.unique(columns).sort(columns)
    surplus = repeated.height - first.height
    queries, all_queries = repeated.select(query).n_unique(), rows.select(query).n_unique()
    noun = "row" if surplus == 1 else "rows"
    msg = (
        f"`frame` must have each document of {doc!r} once per ranking, got {surplus} {noun} too "
        f"many in {queries} of {all_queries} queries: "
        f"{first_few(first.select(*query, doc).rows())}{describe_nulls(repeated, query)}\n\n"
        f"Hint: {_write_repair(request, repeated)}if {doc!r} does not identify "
        "documents, doc='...' names another column, or None"
    )
    raise ValueError(msg)


def _identifies_queries(request: Request, rows: pl.DataFrame) -> bool:
    """Return whether a column `id` that was not passed has one value for each ranking."""
    if not (request.finds_document and may_identify_queries(request.document or "")):
        return False
    counts = rows.group_by(request.ranking_keys).agg(pl.col(request.document or "").n_unique())
    return bool((counts.get_column(request.document or "") == 1).all())


def _write_repair(request: Request, repeated: pl.DataFrame) -> str:
    """Return the first part of the hint about repeated documents.

    Dropping rows is suggested only if the repeated rows agree in grade and scores.
    """
    columns = [*request.ranking_keys, request.document or ""]
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
    grades = judged.group_by(columns).agg(grade.unique().sort())
    with_several = grades.filter(grade.list.len() > 1).sort(columns)
    if with_several.is_empty():
        return
    msg = (
        f"`frame` must have one {request.grade!r} for a document of a query, got several for "
        f"{with_several.height} of {grades.height} documents: {first_few(with_several.rows())}\n\n"
        "Hint: join_judgments(run, judgments) gives each strategy the same grades; doc= names "
        "another column of documents; doc=None does not compare grades"
    )
    raise ValueError(msg)
