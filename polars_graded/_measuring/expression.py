"""One measure or many as one expression: Polars calls it once, with all queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import polars as pl

from polars_graded._measuring import batches
from polars_graded._measuring.batches import Lists
from polars_graded._measuring.computing import Computed, check_measures, computed, sentence
from polars_graded._measuring.documents import (
    DocumentLists,
    check_directions,
    check_finite,
    check_grades,
    check_ranked_by,
    not_finite,
)
from polars_graded._measuring.kernels.errors import UnusableDataError
from polars_graded._measuring.kernels.queries import ranks
from polars_graded._measuring.kernels.ragged import Floats, Ragged
from polars_graded._measuring.names import Measure, check_once
from polars_graded._measuring.ranking import Ranking


def one(measure: Measure, ranking: Ranking, known: pl.Expr | None = None) -> pl.Expr:
    """Return the values of a measure as an expression with the measure's name."""
    dtype = measure.definition.dtype
    return _expression([measure], ranking, lambda computed: computed.column(0), dtype, known).alias(
        measure.name
    )


def several(measures: Iterable[Measure], ranking: Ranking) -> pl.Expr:
    """Return the values of measures over one ranking as a struct with one field each.

    Polars may pass the queries in several batches, so an error counts those of one batch.
    """
    chosen = list(measures)
    check_once([measure.name for measure in chosen])
    dtype = pl.Struct({measure.name: measure.definition.dtype for measure in chosen})

    def struct(computed: Computed) -> pl.Series:
        return pl.DataFrame(computed.columns).to_struct().cast(dtype)

    return _expression(chosen, ranking, struct, dtype, None).alias("measures")


def _expression(
    measures: Sequence[Measure],
    ranking: Ranking,
    gather: Callable[[Computed], pl.Series],
    dtype: pl.DataType,
    known: pl.Expr | None,
) -> pl.Expr:
    """Return one kernel call over the rankings of all queries.

    Polars shares no work between Python expressions, and neither do we: a value depends on the
    lists that the kernel receives alone.
    """
    ranking.check_single()
    return_dtype = ranking.as_planned(dtype)
    of_known = None if known is None else ranking.where(known).kept()
    ranking = ranking.kept()
    check_measures(measures, ranking, known=known is not None)
    # The grade comes first: its name is the one that `.name.keep()` goes back to.
    inputs = [ranking.grade, *ranking.by]
    if of_known is not None:
        inputs.append(of_known.grade)

    def kernel(columns: Sequence[pl.Series]) -> pl.Series:
        documents, known = _documents(ranking, [*map(Lists.of, columns)])
        try:
            [values] = computed(measures, ranking, [documents], known)
        except UnusableDataError as error:
            raise ValueError(sentence(ranking, error, len(documents.grades))) from None
        return gather(values)

    return pl.map_batches(
        [column.implode() for column in inputs],
        kernel,
        is_elementwise=True,
        return_dtype=return_dtype,
    )


def _documents(ranking: Ranking, lists: Sequence[Lists]) -> tuple[DocumentLists, Lists | None]:
    """The documents of a ranking and, where there is one list more, the grades of known ones."""
    grades, *others = lists
    keys, known = others[: len(ranking.by)], others[len(ranking.by) :]
    check_grades(ranking, grades)
    check_ranked_by(ranking, grades, keys)
    check_finite(ranking, not_finite([grades, *keys]))
    check_directions(ranking, keys)
    documents = DocumentLists.of(ranking, grades, keys)
    if not known:
        return documents, None
    return documents, known[0] if documents.rows is None else known[0].at(documents.rows)


def places(ranking: Ranking) -> pl.Expr:
    """Where each row stands in its query: its `rank`, null if not retrieved, and whether `tied`."""

    def kernel(columns: Sequence[pl.Series]) -> pl.Series:
        documents, _ = _documents(ranking, [*map(Lists.of, columns)])
        found = np.concatenate(batches.run(documents.lists, ranks_and_ties), axis=1)
        if documents.rows is not None:
            found[:, documents.rows] = found.copy()
        rank = pl.Series("rank", found[0], nan_to_null=True).cast(pl.UInt32)
        rows = pl.DataFrame([rank, pl.Series("tied", found[1] > 0)]).to_struct()
        return batches.list_column(rows, columns[0].list.len())

    def ranks_and_ties(grades: Ragged, scores: Ragged, *ties: Ragged) -> Floats:
        falling, condensed = ranking.descending[0], ranking.condensed
        rank = ranks(grades, scores, descending=falling, condensed=condensed).values
        # What was not retrieved is tied with nothing, and has no score.
        tied = (ties[0] if ties else scores).mask_tied() & ~np.isnan(scores.values)
        return np.stack([rank, tied])

    dtype = pl.List(pl.Struct({"rank": pl.UInt32(), "tied": pl.Boolean()}))
    lists = pl.map_batches(
        [column.implode() for column in (ranking.grade, *ranking.by)],
        kernel,
        is_elementwise=True,
        return_dtype=ranking.as_planned(dtype),
    )
    return lists.explode(empty_as_null=False)
