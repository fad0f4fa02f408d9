"""Hold documents as columns of lists, with one list per query.

This module also checks the columns and finds tied documents.

Expressions get these lists from Polars, and `evaluate` makes them from the rows of a frame. Kernels
then rank the documents in the same way for both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import polars as pl

from polars_graded._measuring.document_columns import may_identify_documents
from polars_graded._measuring.kernels.labels import Labels, Vectors
from polars_graded._measuring.kernels.ragged import Integers, Ragged
from polars_graded._measuring.list_columns import Lists, are_exact, count_not_finite, map_chunks
from polars_graded._measuring.rank_columns import (
    collect_rank_facts,
    find_rank_strategies,
    write_directions,
)
from polars_graded._measuring.ranking import Ranking, check_grade, check_score
from polars_graded._measuring.ties import round_scores


@dataclass(frozen=True, eq=False)
class DocumentLists:
    """Grades and sort columns of documents, as columns with one list per query."""

    grades: Lists
    scores: Lists | None
    """Scores, null for a document that was not retrieved. None if rows are in rank order, or if
    no measure needs a ranking."""
    tie_groups: Lists | None
    """A score or an index for each document. Documents of a query are tied if their numbers are
    equal. None if rows are in rank order, or if no measure needs ties."""
    original_rows: Integers | None = None
    """Original row of each document. None if rows were not reordered, and in the result of
    `select`."""
    descending: bool = True
    """True if the highest score comes first."""
    inputs: Mapping[str, Lists] = field(default_factory=dict)
    """Further columns of the documents, by input name, such as `popularity`."""

    @classmethod
    def of(
        cls,
        ranking: Ranking,
        grades: Lists,
        sort_columns: Sequence[Lists],
        bits: Literal[32, 64] | None = None,
        document_ids: pl.Series | None = None,
        inputs: Mapping[str, Lists] | None = None,
        n_tie_columns: int | None = None,
    ) -> DocumentLists:
        """Return documents made from checked grades, sort columns and inputs.

        If `bits` is passed, scores are compared in this precision. Documents that are equal in all
        columns are ordered by the text of `document_ids`, descending, if this column is passed.
        Such documents still count as tied. With `n_tie_columns`, documents that are equal in this
        number of first columns count as tied too; the other columns only order them.
        """
        inputs = inputs or {}
        if not sort_columns:
            return cls(grades, None, None, inputs=inputs)
        scores, *further = sort_columns
        scores = scores.as_numbers() if bits is None else round_scores(scores, bits)
        order = None
        if further or document_ids is not None:
            descending = [*ranking.descending[1:], True]
            order = _Order.of(scores, further, descending, document_ids, n_tie_columns)
        if order is None:
            return cls(grades, scores, scores, None, ranking.descending[0], inputs)
        # The order swaps only documents with equal scores, so the column of scores stays the same.
        rows, tie_groups = order.original_rows, Lists(pl.Series(order.tie_groups), scores.offsets)
        inputs = {name: each.at(rows) for name, each in inputs.items()}
        return cls(grades.at(rows), scores, tie_groups, rows, ranking.descending[0], inputs)

    def select(self, indices: Integers) -> DocumentLists:
        """Return the documents of some queries; index -1 gives no documents."""
        lists: dict[Any, Any] = {each: each.select(indices) for each in self.lists}
        inputs = {name: lists[each] for name, each in self.inputs.items()}
        scores, tie_groups = lists.get(self.scores), lists.get(self.tie_groups)
        grades = lists[self.grades]
        return replace(
            self,
            grades=grades,
            scores=scores,
            tie_groups=tie_groups,
            original_rows=None,
            inputs=inputs,
        )

    @property
    def labels(self) -> dict[str, Labels | Vectors]:
        """Return the tables of labels or vectors, by input name."""
        return {name: each.labels for name, each in self.inputs.items() if each.labels is not None}

    @cached_property
    def lists(self) -> list[Lists]:
        """Return each column of lists once, even if it is used twice."""
        lists = (self.grades, self.scores, self.tie_groups, *self.inputs.values())
        return [each for each in dict.fromkeys(lists) if each is not None]


@dataclass(frozen=True)
class _Order:
    """Order of documents after further columns have broken the ties of scores."""

    original_rows: Integers
    """For each new row: the old row of its document."""
    tie_groups: Integers
    """For each new row: the index of the tie group of its document. Documents of a tie group are
    equal in all columns."""

    @classmethod
    def of(
        cls,
        scores: Lists,
        further: Sequence[Lists],
        descending: Sequence[bool],
        document_ids: pl.Series | None,
        n_tie_columns: int | None = None,
    ) -> _Order | None:
        """Return the order by further columns, or None if no scores are tied.

        Nulls come last. If `document_ids` is passed, documents that are equal in all columns are
        ordered by its text. These documents still count as tied. With `n_tie_columns`, documents
        count as tied if they are equal in the score and the first `n_tie_columns` - 1 further
        columns.
        """
        ties_of_chunks, start = [], 0
        for length, indices, groups in map_chunks([scores], Ragged.find_ties):
            # Groups of a chunk are numbered from 1 to at most `length`. With `start` added, no two
            # chunks share a number.
            ties_of_chunks.append((indices + start, groups + start))
            start += length
        tied_rows, groups = (np.concatenate(each) for each in zip(*ties_of_chunks, strict=True))
        if not len(tied_rows):
            return None
        columns = (each.flat.gather(tied_rows).alias(str(n)) for n, each in enumerate(further))
        values = pl.DataFrame([pl.Series("equal scores", groups), *columns])
        by = values
        if document_ids is not None:
            ids = document_ids.gather(tied_rows).cast(pl.String)
            by = values.with_columns(ids.alias("document"))
        flags = [False, *descending][: by.width]
        order = by.select(
            pl.arg_sort_by(by.columns, descending=flags, nulls_last=True, maintain_order=True)
        ).to_series()
        # The tied documents fill the same rows as before, but in their new order.
        rows, tie_groups = np.arange(len(scores.flat)), np.arange(len(scores.flat))
        rows[tied_rows] = tied_rows[order.to_numpy()]
        # Documents that are still tied are now neighbours. The first of them, by its new row, is
        # the index of their tie group.
        number = (
            values.select(values.columns[:n_tie_columns])[order].to_struct().rle_id().to_numpy()
        )
        firsts = np.flatnonzero(np.diff(number, prepend=-1))
        tie_groups[tied_rows] = tied_rows[firsts[number]]
        return cls(rows, tie_groups)


# Checks of the data


def check_grades(ranking: Ranking, grades: Lists) -> None:
    """Raise if grades are not numbers, or if a double cannot hold a grade."""
    check_grade(ranking.name_column(1), grades.flat.dtype)
    check_exact(ranking.name_column(1), grades.flat)


def check_sort_columns(
    ranking: Ranking, grades: Lists, sort_columns: Sequence[Lists], unit: str = "queries"
) -> None:
    """Raise if the sort columns do not fit the grades, or if a number is not finite.

    `unit` is the word for what the columns have one list for.
    """
    if sort_columns:
        check_score(ranking.name_column(2), sort_columns[0].flat.dtype)
    for number, column in enumerate(sort_columns, 2):
        check_as_long(ranking.name_column(number), column, grades)
    for number, column in reversed([*enumerate([grades, *sort_columns], 1)]):
        if n := count_not_finite(column):
            meaning = {1: ", which means unjudged", 2: ", which means not retrieved"}.get(
                number, ""
            )
            remedy = ".fill_nan(None) makes NaN null"
            if column.flat.is_infinite().any():
                remedy = "pl.when(c.is_finite()).then(c) makes infinity and NaN of a column c null"
            msg = (
                f"{ranking.name_column(number)} must be finite, got NaN or infinity in {n} of "
                f"{len(column)} {unit}\n\nHint: {remedy}{meaning}"
            )
            raise ValueError(msg)


def check_as_long(name: str, column: Lists, grades: Lists) -> None:
    """Raise unless a column has one value per grade in each query."""
    if not np.array_equal(column.offsets, grades.offsets):
        msg = (
            f"{name} must have one value per row, got {len(column.flat)} for "
            f"{len(grades.flat)} rows"
        )
        raise ValueError(msg)


def check_exact(name: str, grade: pl.Series) -> None:
    """Raise if a double cannot hold an integer of a column.

    Kernels use doubles.
    """
    if not grade.dtype.is_integer() or are_exact(grade):
        return
    doubles = grade.cast(pl.Float64).cast(grade.dtype, strict=False)
    if (is_rounded := doubles.ne_missing(grade)).any():
        first = grade.filter(is_rounded)[0]
        msg = f"{name} must be a number that a double can hold, got {first}"
        raise ValueError(msg)


def check_directions(ranking: Ranking, sort_columns: Sequence[Lists]) -> None:
    """Raise if a sort column looks like ranks and no directions were passed.

    A column that breaks ties is not checked if it may contain row or document numbers.
    """
    if ranking.direction_is_passed:
        return
    for position, column in enumerate(sort_columns):
        if position and _may_number_documents(ranking.by[position]):
            continue
        for clause in find_rank_strategies([collect_rank_facts(column)]).values():
            flags = [True] * len(sort_columns)
            highest = str(flags if len(sort_columns) > 1 else True)
            flags[position] = False
            lowest = str(flags if len(sort_columns) > 1 else False)
            msg = (
                f"`descending` must be passed for {ranking.name_column(position + 2)}, which "
                f"{clause}\n\nHint: {write_directions(lowest, highest)}"
            )
            raise ValueError(msg)


def _may_number_documents(column: pl.Expr) -> bool:
    """Return whether a tie-breaking column may be row or document numbers."""
    return not column.meta.is_column() or may_identify_documents(column.meta.output_name())
