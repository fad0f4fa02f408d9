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
from polars_graded._frames.columns import DIRECTION_SUFFIX, FrameColumns
from polars_graded._frames.directions import Directions
from polars_graded._frames.request import Request
from polars_graded._frames.rows import TEMPORARY_NAME_TEMPLATE, Groups
from polars_graded._frames.strategies import sort_naturally
from polars_graded._frames.tables import describe_nulls, hash_keys
from polars_graded._measuring.chunks import map_chunks
from polars_graded._measuring.document_columns import may_identify_documents
from polars_graded._measuring.kernels.ragged import Ragged
from polars_graded._measuring.list_columns import Lists
from polars_graded._measuring.rank_columns import (
    collect_rank_facts,
    find_rank_strategies,
    is_called_rank,
    write_directions,
)


def group_rankings(request: Request, rows: pl.DataFrame) -> Groups:
    """Return the rows of each ranking, from rows with computed columns.

    Raise if `descending` does not fit columns that look like ranks.
    """
    groups = Groups.of(rows, request.columns.ranking_keys, request.row_columns)
    check = RankCheck(request.columns, request.directions)
    check.add(groups)
    check.finish()
    return groups


def name_columns(request: Request, frame: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Return the rows with computed columns, and keywords that name columns.

    The keywords are arguments of `evaluate`. Directions are checked here, because a single False
    for all strategies becomes a mapping.
    """
    rows = request.columns.add_computed_columns(frame)
    group_rankings(request, rows)
    keywords = {
        "by": {name: [*columns] for name, columns in request.columns.by.items()},
        "descending": {name: [*request.find_directions(name)] for name in request.columns.by},
        "grade": request.columns.grade,
    }
    return rows, keywords


@dataclass
class RankCheck:
    """Check that no column of ranks is read as scores, by facts from the parts of a frame."""

    columns: FrameColumns
    directions: Directions
    facts: dict[tuple[str, str], list[pl.DataFrame]] = field(default_factory=dict)
    """For each entry of `by` and each of its columns, the facts of every part."""
    are_parts: bool = False
    """True if `add` is called for several parts of a frame."""
    strategies: set[str] = field(default_factory=set)
    """Stacked strategies."""

    def add(self, groups: Groups) -> None:
        """Add the facts of a part, in which each query is complete."""
        columns, strategies, ranks = self.columns, None, None
        if columns.strategy is not None:
            strategies = groups.keys.get_column(columns.strategy).cast(pl.String)
            self.strategies.update(map(str, strategies.unique()))
        if columns.rank is not None:
            ranks = groups.frame.get_column(columns.rank)
        for name, sort_columns in columns.by.items():
            if name in self.directions.passed and not self.directions.are_all_ascending:
                continue
            for position, column in enumerate(sort_columns):
                if position and (column == columns.document or may_identify_documents(column)):
                    continue  # ids may be any numbers, and only break ties
                others = None if column == columns.rank else ranks
                lists, are_all = groups.lists(column), not self.are_parts
                facts = collect_rank_facts(lists, strategies, others, are_all=are_all)
                self.facts.setdefault((name, column), []).append(facts)

    def finish(self, *, are_all: bool = True) -> None:
        """Raise if a column looks like ranks and no direction is passed for it.

        Raise also if a single `descending=False` covers ranks and scores alike, or if `descending`
        names a strategy that the frame lacks, unless the parts are not all parts of the frame.
        """
        if are_all:
            self._check_strategies_exist()
        clauses = self._find_ranks()
        if self.directions.are_all_ascending:
            self._check_all_are_ranks(clauses)
        elif clauses:
            (strategy, name, column), clause = next(iter(clauses.items()))
            of_strategy = "" if self.columns.strategy is None else f" of strategy {strategy!r}"
            lowest, highest = (
                self._write_flags(strategy, name, column, flag=flag) for flag in (False, True)
            )
            msg = (
                f"`descending` must be passed for score {column.removesuffix(DIRECTION_SUFFIX)!r}"
                f"{of_strategy}, which {clause}\n\n"
                f"Hint: {write_directions(lowest, highest)}"
            )
            raise ValueError(msg)

    def _check_strategies_exist(self) -> None:
        """Raise if `descending` names a stacked strategy that the frame lacks."""
        strategies = sort_naturally(self.strategies)
        for name in self.directions.of_stacked:
            if strategies and name not in strategies:
                msg = (
                    f"`descending` must name strategies of {self.columns.strategy!r}, which are "
                    f"{first_few(strategies)}, got {name!r}{did_you_mean(name, strategies)}"
                )
                raise ValueError(msg)

    def _find_ranks(self) -> dict[tuple[str, str, str], str]:
        """Return a clause for each column that looks like ranks, for errors.

        The keys are the strategy, its entry of `by`, and the column. Stacked strategies whose
        direction is passed are left out.
        """
        clauses = {}
        for (name, column), facts in self.facts.items():
            passed_name = column.removesuffix(DIRECTION_SUFFIX)
            is_score = column == self.columns.by[name][0]
            is_named_rank = is_score and is_called_rank(passed_name)
            clause_by_strategy = find_rank_strategies(facts, is_named_rank=is_named_rank)
            for stacked in sorted(clause_by_strategy, key=str):
                strategy = name if self.columns.strategy is None else str(stacked)
                if strategy not in self.directions.of_stacked:
                    clauses[strategy, name, column] = clause_by_strategy[stacked]
        return clauses

    def _check_all_are_ranks(self, clauses: Iterable[tuple[str, str, str]]) -> None:
        """Raise if only some of the strategies that `descending=False` covers have ranks."""
        is_stacked = self.columns.strategy is not None
        strategies = sort_naturally(self.strategies) if is_stacked else [*self.columns.by]
        with_ranks = {strategy for strategy, _, column in clauses if column in self.columns.scores}
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
        columns = self.columns.by[name]
        if len(self.strategies) > 1 and column == columns[0]:
            return repr({**self.directions.of_stacked, strategy: flag})
        flags = [flag if each == column else True for each in columns]
        value = str(flags if len(columns) > 1 else flag)
        return value if len(self.columns.by) == len(columns) == 1 else f"{{{name!r}: {value}}}"


# Documents

SUM = TEMPORARY_NAME_TEMPLATE.format("sum of hashes")


@dataclass(frozen=True)
class DocumentCheck:
    """Check, part by part, that no ranking contains a document twice, or with two grades."""

    requests: Sequence[Request]
    """Requests that differ only in their graders."""

    def add(self, groups: Groups) -> None:
        """Raise if a ranking repeats a document, or a document of a query has two grades.

        Hashes are compared first. Two documents may have one hash, so that the documents themselves
        are compared if two hashes are equal.
        """
        request, columns = self.requests[0], self.requests[0].columns
        if columns.document is None or not groups.n_groups:
            return
        document = pl.col(columns.document)
        hashes = groups.frame.select(
            pl.when(document.is_not_null()).then(document.hash(seed=0))
        ).to_series()
        has_repeats = any(map_chunks([Lists(hashes, groups.offsets)], _has_repeats))
        if has_repeats and columns.find_documents(groups):
            rows = groups.to_rows(request.used_columns)
            _check_documents_are_unique(request, columns.document, rows)
        if columns.strategy is None:
            return
        key = [*columns.query, columns.document]
        for grade in [each.columns.grade for each in self.requests]:
            if _have_unlike_judgments(columns.query, grade, hashes, groups):
                rows = groups.to_rows([*key, grade])
                judged = rows.filter(document.is_not_null(), pl.col(grade).is_not_null())
                if _has_two_grades(key, grade, judged):
                    _check_one_grade(key, grade, judged)


def _has_repeats(hashes: Ragged) -> bool:
    """Return whether a list has a hash twice. Null, which is NaN here, does not count."""
    return bool(hashes.sort_ascending().compare_with_previous(np.equal).any())


def _have_unlike_judgments(
    query: Sequence[str], grade: str, hashes: pl.Series, groups: Groups
) -> bool:
    """Return whether the judged documents of a query, or their grades, differ between strategies.

    If they are the same, no document has two grades. A sum of hashes for each ranking shows this in
    a fraction of the time of comparing grades. It does not depend on the order of documents.
    `hashes` are those of the documents.
    """
    grades = groups.frame.get_column(grade).cast(pl.Float64)
    is_judged = hashes.is_not_null() & grades.is_not_null()
    combined = hashes.fill_null(0).to_numpy() ^ grades.hash(seed=1).to_numpy()
    sums = groups.reduce_groups(np.add, pl.Series(np.where(is_judged, combined, np.uint64(0))))
    by_query = groups.keys.select(*query).with_columns(sums.alias(SUM)).group_by(*query)
    return bool(by_query.agg(pl.col(SUM).n_unique()).get_column(SUM).max() != 1)


def _count_unique(hashes: pl.Series) -> int:
    """Return the number of distinct hashes."""
    ordered = np.sort(hashes.to_numpy())  # `n_unique` takes five times as long
    return int(np.count_nonzero(ordered[1:] != ordered[:-1])) + min(1, len(ordered))


def _check_documents_are_unique(request: Request, doc: str, rows: pl.DataFrame) -> None:
    """Raise an error with a count and examples if a ranking repeats documents.

    Rows with neither a grade nor a score, and rows without a document, are left out.
    """
    columns, query = request.columns, [*request.columns.query]
    key = [*columns.ranking_keys, doc]
    has_grade_or_score = pl.any_horizontal(
        pl.col(columns.grade, *columns.sort_columns).is_not_null()
    )
    used_rows = rows.filter(has_grade_or_score, pl.col(doc).is_not_null())
    repeated = used_rows.filter(pl.struct(key).is_duplicated())
    if repeated.is_empty():
        return
    first = repeated.unique(key).sort(key)
    surplus = repeated.height - first.height
    queries, all_queries = repeated.select(query).n_unique(), rows.select(query).n_unique()
    noun = "row" if surplus == 1 else "rows"
    msg = (
        f"`frame` must have each document of {doc!r} once per ranking, got {surplus} {noun} too "
        f"many in {queries} of {all_queries} queries: "
        f"{first_few(first.select(*query, doc).rows())}{describe_nulls(repeated, query)}\n\n"
        f"Hint: {_write_repair(request, key, repeated)}if {doc!r} does not identify "
        "documents, doc='...' names another column, or None"
    )
    raise ValueError(msg)


def _write_repair(request: Request, key: list[str], repeated: pl.DataFrame) -> str:
    """Return the first part of the hint about rows that repeat the `key`, a document of a ranking.

    Dropping rows is suggested only if the repeated rows agree in grade and scores.
    """
    used = list(dict.fromkeys([*key, *request.value_columns]))
    if repeated.select(used).n_unique() == repeated.select(key).n_unique():
        return (
            f".unique({key!r}, keep='first', maintain_order=True) keeps the first row of a "
            "document in each ranking; "
        )
    columns = request.columns
    hint = f"query={[*columns.query, '...']!r} names all columns that tell queries apart; "
    return hint if columns.strategy else f"{hint}strategy='...' names a column of strategies; "


def _has_two_grades(key: Sequence[str], grade: str, judged: pl.DataFrame) -> bool:
    """Return whether two rows of a query seem to grade a document differently."""
    graded = hash_keys(judged, [*key, grade])
    return _count_unique(graded) > _count_unique(hash_keys(judged, key))


def _check_one_grade(key: Sequence[str], grade: str, judged: pl.DataFrame) -> None:
    """Raise if a document of a query has different grades for two strategies."""
    grades = judged.group_by(key).agg(pl.col(grade).unique().sort())
    with_several = grades.filter(pl.col(grade).list.len() > 1).sort(key)
    if with_several.is_empty():
        return
    msg = (
        f"`frame` must have one {grade!r} for a document of a query, got several for "
        f"{with_several.height} of {grades.height} documents: {first_few(with_several.rows())}\n\n"
        "Hint: join_judgments(run, judgments) gives each strategy the same grades; doc= names "
        "another column of documents; doc=None does not compare grades"
    )
    raise ValueError(msg)
