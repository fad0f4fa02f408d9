"""One measure or many as one expression: Polars calls it once, with all queries."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from polars_graded._measuring.batches import Lists
from polars_graded._measuring.computing import (
    GRADES,
    SCORES,
    TIES,
    check_finite,
    check_measures,
    computed,
    depth_of,
    need_ties,
    sentence,
)
from polars_graded._measuring.kernels.errors import UnusableDataError
from polars_graded._measuring.names import check_once

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from polars_graded._measuring.kernels.ragged import Integers
    from polars_graded._measuring.names import Measure
    from polars_graded._measuring.ranking import Ranking


def one(measure: Measure, ranking: Ranking, known: pl.Expr | None = None) -> pl.Expr:
    """The values of a measure, named after it."""
    dtype = measure.definition.dtype
    expr = _expression([measure], ranking, lambda series: series[0], dtype, known)
    return expr.alias(measure.name)


def several(measures: Iterable[Measure], ranking: Ranking) -> pl.Expr:
    """The values of measures over one ranking as a struct, one field each.

    Polars may hand the queries over in several batches, so an error counts those of one batch.
    """
    chosen = list(measures)
    check_once([measure.name for measure in chosen])
    dtype = pl.Struct({measure.name: measure.definition.dtype for measure in chosen})
    struct = partial(_struct, dtype=dtype)
    return _expression(chosen, ranking, struct, dtype).alias("measures")


def _struct(series: Sequence[pl.Series], dtype: pl.Struct) -> pl.Series:
    return pl.DataFrame(series).to_struct().cast(dtype)


def _expression(
    measures: Sequence[Measure],
    ranking: Ranking,
    gather: Callable[[Sequence[pl.Series]], pl.Series],
    dtype: pl.DataType,
    known: pl.Expr | None = None,
) -> pl.Expr:
    """One kernel call over the rankings of all queries, as deep as any of the measures looks."""
    of_known = None if known is None else ranking.where(known).kept()
    ranking = ranking.kept()
    check_measures(measures, ranking, known=known is not None)
    # The grade comes first: its name is the one that `.name.keep()` goes back to. What is wrong
    # with it comes before what Polars would say of it.
    inputs = [ranking.unusable(), _documents(measures, ranking)]
    if of_known is not None:
        inputs.append(_documents(measures, of_known))

    def kernel(columns: Sequence[pl.Series]) -> pl.Series:
        unusable = _numbers_of_columns(columns[0])
        check_finite(ranking, unusable)
        ties = need_ties(measures)
        each, *of_known_alone = (_lists(column, ties=ties) for column in columns[1:])
        try:
            return gather(computed(measures, ranking, [each], *of_known_alone)[0].values)
        except UnusableDataError as error:
            raise ValueError(sentence(ranking, error, len(unusable))) from None

    return pl.map_batches(inputs, kernel, is_elementwise=True, return_dtype=dtype)


def _documents(measures: Sequence[Measure], ranking: Ranking) -> pl.Expr:
    """What measures have to know of the documents of each query, as a list."""
    if depth_of(measures) == 0:
        return ranking.grade.implode()
    return ranking.documents(ties=need_ties(measures))


def _lists(documents: pl.Series, *, ties: bool) -> Mapping[str, Lists]:
    """What stands in lists of grades, or of structs of a grade and what documents are ranked by."""
    lists = Lists.of(documents)
    if not isinstance(lists.flat.dtype, pl.Struct):
        return {GRADES: lists}
    grades, *keys = lists.fields()
    scores = keys[0].as_numbers()
    if not ties:
        return {GRADES: grades, SCORES: scores}
    tied = scores if len(keys) == 1 else Lists.numbered_runs(keys)
    return {GRADES: grades, SCORES: scores, TIES: tied}


def _numbers_of_columns(unusable: pl.Series) -> Integers:
    """For each query the number of a column with NaN or infinity in it, or 0."""
    return unusable.explode(empty_as_null=False).fill_null(0).to_numpy()
