"""Expressions of one or several measures, which Polars calls once for all queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import polars as pl

from polars_graded._measuring import batches
from polars_graded._measuring.batches import Lists
from polars_graded._measuring.computing import Computed, check_measures, compute, write_error
from polars_graded._measuring.documents import (
    DocumentLists,
    check_directions,
    check_finite,
    check_grades,
    check_ranked_by,
    find_not_finite,
)
from polars_graded._measuring.kernels.errors import UnusableDataError
from polars_graded._measuring.kernels.queries import rank_documents
from polars_graded._measuring.kernels.ragged import Floats, Ragged
from polars_graded._measuring.names import Measure, check_once
from polars_graded._measuring.ranking import Ranking


def measure_one(measure: Measure, ranking: Ranking, known_items: pl.Expr | None = None) -> pl.Expr:
    """Return the values of a measure as an expression with the measure's name."""
    dtype = measure.definition.dtype
    return _make_expression(
        [measure], ranking, lambda computed: computed.column(0), dtype, known_items
    ).alias(measure.name)


def measure_several(measures: Iterable[Measure], ranking: Ranking) -> pl.Expr:
    """Return the values of measures over one ranking as a struct with one field each.

    Polars may pass the queries in several batches, so an error counts those of one batch.
    """
    chosen = list(measures)
    check_once([measure.name for measure in chosen])
    dtype = pl.Struct({measure.name: measure.definition.dtype for measure in chosen})

    def make_struct(computed: Computed) -> pl.Series:
        return pl.DataFrame(computed.columns).to_struct().cast(dtype)

    return _make_expression(chosen, ranking, make_struct, dtype, None).alias("measures")


def _make_expression(
    measures: Sequence[Measure],
    ranking: Ranking,
    gather: Callable[[Computed], pl.Series],
    dtype: pl.DataType,
    known_items: pl.Expr | None,
) -> pl.Expr:
    """Return an expression that calls each kernel once over all queries.

    Polars shares no work between Python expressions, and neither does this package: a value depends
    only on the lists that the kernel receives.
    """
    ranking.check_single()
    return_dtype = ranking.make_planned_dtype(dtype)
    known_ranking = None if known_items is None else ranking.where(known_items).keep_rows()
    ranking = ranking.keep_rows()
    check_measures(measures, ranking, has_known=known_items is not None)
    # The grade comes first: its name is the one that `.name.keep()` goes back to.
    inputs = [ranking.grade, *ranking.by]
    if known_ranking is not None:
        inputs.append(known_ranking.grade)

    def kernel(columns: Sequence[pl.Series]) -> pl.Series:
        documents, known_grades = _read_documents(ranking, [*map(Lists.of, columns)])
        try:
            [values] = compute(measures, ranking, [documents], known_grades)
        except UnusableDataError as error:
            raise ValueError(write_error(ranking, error, len(documents.grades))) from None
        return gather(values)

    return pl.map_batches(
        [column.implode() for column in inputs],
        kernel,
        is_elementwise=True,
        return_dtype=return_dtype,
    )


def _read_documents(ranking: Ranking, lists: Sequence[Lists]) -> tuple[DocumentLists, Lists | None]:
    """Return the documents of a ranking and, if passed, the known items' grades."""
    grades, *others = lists
    keys, known_grades = others[: len(ranking.by)], others[len(ranking.by) :]
    check_grades(ranking, grades)
    check_ranked_by(ranking, grades, keys)
    check_finite(ranking, find_not_finite([grades, *keys]))
    check_directions(ranking, keys)
    documents = DocumentLists.of(ranking, grades, keys)
    if not known_grades:
        return documents, None
    return documents, known_grades[0] if documents.rows is None else known_grades[0].at(
        documents.rows
    )


def rank_rows(ranking: Ranking) -> pl.Expr:
    """Return an expression of each row's `rank`, null if not retrieved, and `tied`."""

    def kernel(columns: Sequence[pl.Series]) -> pl.Series:
        documents, _ = _read_documents(ranking, [*map(Lists.of, columns)])
        table = np.concatenate(batches.run(documents.lists, rank_with_ties), axis=1)
        if documents.rows is not None:
            table[:, documents.rows] = table.copy()
        rank = pl.Series("rank", table[0], nan_to_null=True).cast(pl.UInt32)
        rows = pl.DataFrame([rank, pl.Series("tied", table[1] > 0)]).to_struct()
        return batches.make_list_column(rows, columns[0].list.len())

    def rank_with_ties(grades: Ragged, scores: Ragged, *ties: Ragged) -> Floats:
        falling, condensed = ranking.descending[0], ranking.condensed
        rank = rank_documents(grades, scores, descending=falling, condensed=condensed).values
        # A document that was not retrieved has no score, so it is not tied with any other.
        tied = (ties[0] if ties else scores).mask_tied() & ~np.isnan(scores.values)
        return np.stack([rank, tied])

    dtype = pl.List(pl.Struct({"rank": pl.UInt32(), "tied": pl.Boolean()}))
    lists = pl.map_batches(
        [column.implode() for column in (ranking.grade, *ranking.by)],
        kernel,
        is_elementwise=True,
        return_dtype=ranking.make_planned_dtype(dtype),
    )
    return lists.explode(empty_as_null=False)
