"""Hold documents as columns of lists, with one list per query, and order tied documents.

Expressions get these lists from Polars, and `evaluate` makes them from the rows of a frame. Kernels
then rank the documents in the same way for both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from polars_graded._measuring.chunks import map_chunks
from polars_graded._measuring.kernels.labels import Labels, Vectors
from polars_graded._measuring.kernels.ragged import Integers, Ragged
from polars_graded._measuring.list_columns import Lists
from polars_graded._measuring.ranking import Ranking


@dataclass(frozen=True, eq=False)
class DocumentLists:
    """Grades and sort columns of documents, as columns with one list per query."""

    grades: Lists
    scores: Lists | None
    """Scores, null for a document that was not retrieved. None if rows are in rank order."""
    tie_groups: Lists | None
    """A score or an index for each document. Documents of a query are tied if their numbers are
    equal. None if rows are in rank order, or after `Computation.of`, if no measure needs ties."""
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
        document_ids: pl.Series | None = None,
        inputs: Mapping[str, Lists] | None = None,
        n_tie_columns: int | None = None,
    ) -> DocumentLists:
        """Return documents made from checked grades, sort columns and inputs.

        Documents that are equal in all columns are ordered by the text of `document_ids`,
        descending, if this column is passed. Such documents still count as tied. With
        `n_tie_columns`, documents that are equal in this number of first columns count as tied too;
        the other columns only order them.
        """
        inputs = inputs or {}
        if not sort_columns:
            return cls(grades, None, None, inputs=inputs)
        scores, further = sort_columns[0].as_numbers(), sort_columns[1:]
        descending, *directions = ranking.descending
        order = None
        if further or document_ids is not None:
            # None if no scores are tied.
            order = _order_ties(scores, further, directions, document_ids, n_tie_columns)
        if order is None:
            return cls(grades, scores, scores, None, descending, inputs)
        # The order swaps only documents with equal scores, so the column of scores stays the same.
        # The other columns are new, so a strategy with tied scores shares no work with others.
        rows, tie_groups = order
        inputs = {name: each.at(rows) for name, each in inputs.items()}
        return cls(grades.at(rows), scores, tie_groups, rows, descending, inputs)

    def select(self, indices: Integers) -> DocumentLists:
        """Return the documents of some queries; index -1 gives no documents."""
        lists: dict[Any, Any] = {each: each.select(indices) for each in self.lists}
        inputs = {name: lists[each] for name, each in self.inputs.items()}
        return replace(
            self,
            grades=lists[self.grades],
            scores=lists.get(self.scores),
            tie_groups=lists.get(self.tie_groups),
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


def _order_ties(
    scores: Lists,
    further: Sequence[Lists],
    descending: Sequence[bool],
    document_ids: pl.Series | None,
    n_tie_columns: int | None,
) -> tuple[Integers, Lists] | None:
    """Return the order after further columns have broken ties, or None if no scores are tied.

    The order is the old row of the document in each new row. The column of lists contains the index
    of the tie group of each of these documents.

    Nulls come last. If `document_ids` is passed, documents that are equal in all columns are
    ordered by its text. These documents still count as tied. With `n_tie_columns`, documents count
    as tied if they are equal in the score and the first `n_tie_columns` - 1 further columns.
    """
    ties_of_chunks, start = [], 0

    def find_ties(chunk: Ragged) -> tuple[int, Integers, Integers]:
        return len(chunk.values), *chunk.find_ties()

    for length, indices, groups in map_chunks([scores], find_ties):
        # Groups of a chunk are numbered from 1 to at most `length`. With `start` added, no two
        # chunks share a number.
        ties_of_chunks.append((indices + start, groups + start))
        start += length
    tied_rows, groups = (np.concatenate(each) for each in zip(*ties_of_chunks, strict=True))
    if not len(tied_rows):
        return None
    columns = (each.flat.gather(tied_rows).alias(str(n)) for n, each in enumerate(further))
    values = pl.DataFrame([pl.Series("equal scores", groups), *columns])
    by, flags = values, [False, *descending]
    if document_ids is not None:
        ids = document_ids.gather(tied_rows).cast(pl.String)
        by, flags = values.with_columns(ids.alias("document")), [*flags, True]
    order = by.select(
        pl.arg_sort_by(by.columns, descending=flags, nulls_last=True, maintain_order=True)
    ).to_series()
    # The tied documents fill the same rows as before, but in their new order.
    rows, tie_groups = np.arange(len(scores.flat)), np.arange(len(scores.flat))
    rows[tied_rows] = tied_rows[order.to_numpy()]
    # Documents that are still tied are now neighbours. The first of them, by its new row, is
    # the index of their tie group.
    number = values.select(values.columns[:n_tie_columns])[order].to_struct().rle_id().to_numpy()
    firsts = np.flatnonzero(np.diff(number, prepend=-1))
    tie_groups[tied_rows] = tied_rows[firsts[number]]
    return rows, Lists(pl.Series(tie_groups), scores.offsets)
