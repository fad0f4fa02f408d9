"""From a request and a frame of whole queries to one row per strategy and query.

This knows of no engine. What is too large for one frame is cut into parts of whole queries, whose
values are put together before they are finished.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from polars_graded._frames import noticing
from polars_graded._frames.noticing import JUDGED_AT_THE_TOP, NOTES
from polars_graded._frames.sorting import in_order
from polars_graded._measuring.expression import check_usable, several

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polars_graded._frames.request import Request

VALUES = "polars_graded: values"
UNUSABLE = "polars_graded: unusable"
"""Columns under names that no frame has."""


MOST_ROWS = 1 << 19
"""Strategies that have so many rows in all are measured at once: queries are grouped once."""


def values_of(request: Request, frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """For each entry of `by` the values of a frame of whole queries, with notes beside them."""
    strategies = [*request.by.items()]
    size = max(1, MOST_ROWS // max(1, frame.height))
    for first in range(0, len(strategies), size):
        some = strategies[first : first + size]
        groups = frame.lazy().group_by(request.keys)
        both = (_values_and_notes(request, frame, score) for _, score in some)
        numbered = (
            expr.alias(f"{kind} {number}")
            for number, pair in enumerate(both)
            for kind, expr in zip((VALUES, NOTES), pair, strict=True)
        )
        values = groups.agg(*numbered).collect()
        for number, (name, _) in enumerate(some):
            yield _of_strategy(request, values, name, number)


def _values_and_notes(
    request: Request, frame: pl.DataFrame, score: tuple[str, ...]
) -> tuple[pl.Expr, pl.Expr]:
    """The values of a query, and what is to be known of it, each as a struct."""
    ranking = request.ranking(score)
    ranking = replace(ranking, looked_at=ranking.is_usable(frame))
    top = [JUDGED_AT_THE_TOP] if _are_compared(request) else []
    measures = {measure.name: measure for measure in [*request.measures.values(), *top]}
    values = several(measures.values(), ranking, unchecked=True)
    return values, noticing.notes(request, score, frame)


def _of_strategy(request: Request, values: pl.DataFrame, name: str, number: int) -> pl.DataFrame:
    """The columns of one strategy out of those of some."""
    field = pl.col(f"{VALUES} {number}").struct.field
    at_the_top = (
        field(JUDGED_AT_THE_TOP.name) if _are_compared(request) else pl.lit(None, pl.Float64)
    )
    return values.select(
        (pl.lit(name) if request.strategy is None else pl.col(request.strategy)).alias(request.key),
        *request.query,
        *(field(measure.name).alias(column) for column, measure in request.measures.items()),
        field("unusable").alias(UNUSABLE),
        pl.col(f"{NOTES} {number}").struct.with_fields(judged_at_the_top=at_the_top).alias(NOTES),
    )


def _are_compared(request: Request) -> bool:
    """Whether there may be several strategies."""
    return len(request.by) > 1 or request.strategy is not None


def finished(request: Request, values: pl.DataFrame) -> pl.DataFrame:
    """What the caller gets of the values of all queries: checked, looked at, in order."""
    for name, score in request.by.items():
        of_it = values if request.strategy else values.filter(pl.col(request.key) == name)
        each = "rankings" if request.strategy else "queries"
        check_usable(request.ranking(score), of_it.get_column(UNUSABLE), each)
    values = values.drop(UNUSABLE)
    strategies = pl.Series(request.key, [*request.by])
    if request.strategy is not None:
        strategies = in_order(values.get_column(request.key))
    values = strategies.to_frame().join(
        values.sort(request.query), on=request.key, nulls_equal=True, maintain_order="left_right"
    )
    noticing.warn(request, values)
    return values.drop(NOTES)
