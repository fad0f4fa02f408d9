"""Build expressions that compute measures and ranks of many queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import polars as pl

from polars_graded._measuring.chunks import map_chunks
from polars_graded._measuring.column_checks import check_as_long, check_grades, check_sort_columns
from polars_graded._measuring.computing import Computation, MeasureValues
from polars_graded._measuring.document_columns import may_identify_documents
from polars_graded._measuring.document_inputs import check_input_type, read_input
from polars_graded._measuring.documents import DocumentLists
from polars_graded._measuring.kernels.errors import UnusableDataError
from polars_graded._measuring.kernels.queries import rank_documents
from polars_graded._measuring.kernels.ragged import Floats, Ragged
from polars_graded._measuring.list_columns import Lists, make_list_column
from polars_graded._measuring.measures import Measure, check_distinct_names, check_measures
from polars_graded._measuring.rank_columns import (
    collect_rank_facts,
    find_rank_strategies,
    is_called_rank,
    write_directions,
)
from polars_graded._measuring.ranking import Ranking


def measure_one(measure: Measure, ranking: Ranking) -> pl.Expr:
    """Return the values of a measure as an expression with the measure's name.

    If the grades are several columns, there is one value per column, with the column's name.
    """
    dtype = measure.definition.dtype
    return _make_expression(
        [measure], ranking, lambda values: values.columns[0], dtype, measure.name
    )


def measure_several(measures: Iterable[Measure], ranking: Ranking) -> pl.Expr:
    """Return an expression of a struct with one field per measure.

    Polars may pass the queries in several batches. If an error message contains "in 2 of 50
    queries", these numbers are counts of queries in one batch.
    """
    chosen = list(measures)
    check_distinct_names([measure.name for measure in chosen])
    dtype = pl.Struct({measure.name: measure.definition.dtype for measure in chosen})

    def make_struct(values: MeasureValues) -> pl.Series:
        return pl.DataFrame(values.columns).to_struct().cast(dtype)

    return _make_expression(chosen, ranking, make_struct, dtype, "measures")


def _make_expression(
    measures: Sequence[Measure],
    ranking: Ranking,
    make_series: Callable[[MeasureValues], pl.Series],
    dtype: pl.DataType,
    name: str,
) -> pl.Expr:
    """Return an expression that calls the kernels once per batch of queries.

    Two expressions share no work, because Polars shares none between Python functions, and this
    package stores no data between calls. The expression is elementwise, because the value of a
    query depends only on the lists of this query: a row of its input is a query.
    """
    ranking.check_single()
    return_dtype = ranking.make_planned_dtype(dtype)  # also refuses columns of unsuitable types
    ranking = ranking.keep_rows()  # those of `Graded.where`
    check_measures(measures, ranking.scale, ranking.inputs)

    def compute_values(columns: Sequence[pl.Series]) -> pl.Series:
        documents = _read_documents(ranking, columns)
        try:
            [values] = Computation.of(
                measures, ranking.scale, [documents], condensed=ranking.condensed
            ).compute()
        except UnusableDataError as error:
            raise ValueError(ranking.write_error(error, len(documents.grades))) from None
        return make_series(values)

    values = pl.map_batches(
        _implode_columns(ranking), compute_values, is_elementwise=True, return_dtype=return_dtype
    )
    return values if ranking.grade.meta.has_multiple_outputs() else values.alias(name)


def _implode_columns(ranking: Ranking) -> list[pl.Expr]:
    """Return an expression per column of a ranking, with one list per query."""
    # The grade comes first, since `.name.keep()` restores the name of the first column.
    columns = [ranking.grade, *ranking.by, *ranking.inputs.values()]
    return [column.implode() for column in columns]


def _read_documents(ranking: Ranking, columns: Sequence[pl.Series]) -> DocumentLists:
    """Check the columns of `_implode_columns`, and return them as documents."""
    grades, *others = map(Lists.of, columns)
    sort_columns = others[: len(ranking.by)]
    inputs = dict(zip(ranking.inputs, others[len(ranking.by) :], strict=True))
    check_grades(ranking.grade_name, grades)
    check_sort_columns(ranking.sort_names, sort_columns, grades)
    _check_directions(ranking, sort_columns)
    for name, column in inputs.items():
        subject = ranking.name_input(name)
        check_input_type(subject, name, column.flat.dtype)
        check_as_long(subject, column, grades)
        inputs[name] = read_input(subject, name, column)
    return DocumentLists.of(ranking, grades, sort_columns, inputs=inputs)


def rank_rows(ranking: Ranking) -> pl.Expr:
    """Return an expression of structs with the `rank` of each row, and `tied`.

    The rank is null for a row that was not retrieved. If the ranking is condensed, it is also null
    for an unjudged row. `tied` is true if another row of the query has equal sort columns and both
    rows have a rank.
    """
    if not ranking.by:
        # Without sort columns, rows are in rank order, so they are sorted by their positions.
        ranking = ranking.ranked_by([pl.int_range(pl.len())], descending=False)
    ranking.check_single()
    ranking = ranking.keep_rows()

    def compute_ranks(columns: Sequence[pl.Series]) -> pl.Series:
        documents = _read_documents(ranking, columns)
        table = np.concatenate(map_chunks(documents.lists, rank_with_ties), axis=1)
        if documents.original_rows is not None:
            # Documents were moved to break ties. Put each result back into its document's row.
            table[:, documents.original_rows] = table.copy()
        rank = pl.Series("rank", table[0], nan_to_null=True).cast(pl.UInt32)
        rows = pl.DataFrame([rank, pl.Series("tied", table[1] > 0)]).to_struct()
        return make_list_column(rows, columns[0].list.len())

    def rank_with_ties(grades: Ragged, scores: Ragged, *tie_groups: Ragged) -> Floats:
        descending, condensed = ranking.descending[0], ranking.condensed
        rank = rank_documents(grades, scores, descending=descending, condensed=condensed).values
        # A document without a rank is not tied with any other.
        groups = tie_groups[0] if tie_groups else scores
        tied = groups.with_values(np.where(np.isnan(rank), np.nan, groups.values)).mask_tied()
        return np.stack([rank, tied])

    dtype = pl.List(pl.Struct({"rank": pl.UInt32(), "tied": pl.Boolean()}))
    lists = pl.map_batches(
        _implode_columns(ranking),
        compute_ranks,
        is_elementwise=True,
        return_dtype=ranking.make_planned_dtype(dtype),
    )
    return lists.explode(empty_as_null=False)


def _check_directions(ranking: Ranking, sort_columns: Sequence[Lists]) -> None:
    """Raise if a sort column looks like ranks and no directions were passed.

    A column that breaks ties is not checked if it may contain row or document numbers.
    """
    if ranking.direction_is_passed:
        return
    for position, column in enumerate(sort_columns):
        if position and _may_number_documents(ranking.by[position]):
            continue
        by = ranking.by[position]
        is_named_rank = (
            not position and by.meta.is_column() and is_called_rank(by.meta.output_name())
        )
        facts = [collect_rank_facts(column)]
        for clause in find_rank_strategies(facts, is_named_rank=is_named_rank).values():
            flags = [True] * len(sort_columns)
            highest = str(flags if len(sort_columns) > 1 else True)
            flags[position] = False
            lowest = str(flags if len(sort_columns) > 1 else False)
            msg = (
                f"`descending` must be passed for {ranking.sort_names[position]}, which "
                f"{clause}\n\nHint: {write_directions(lowest, highest)}"
            )
            raise ValueError(msg)


def _may_number_documents(column: pl.Expr) -> bool:
    """Return whether a tie-breaking column may be row or document numbers."""
    return not column.meta.is_column() or may_identify_documents(column.meta.output_name())
