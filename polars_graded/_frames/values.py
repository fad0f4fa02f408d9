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
    from polars_graded._frames.request import Request

VALUES = "polars_graded: values"
UNUSABLE = "polars_graded: unusable"
"""Columns under names that no frame has."""


def values_of(request: Request, frame: pl.DataFrame) -> list[pl.LazyFrame]:
    """For each entry of `by` the values of a frame of whole queries, with notes beside them."""
    return [_values(request, frame, name, score) for name, score in request.by.items()]


def _values(
    request: Request, frame: pl.DataFrame, name: str, score: tuple[str, ...]
) -> pl.LazyFrame:
    measures = {measure.name: measure for measure in request.measures.values()}
    compared = len(request.by) > 1 or request.strategy is not None
    top = [JUDGED_AT_THE_TOP] if compared else []
    chosen = {measure.name: measure for measure in [*measures.values(), *top]}
    ranking = request.ranking(score)
    ranking = replace(ranking, looked_at=ranking.is_usable(frame))
    notes = noticing.notes(request, score, frame)
    values = several(chosen.values(), ranking, unchecked=True)
    groups = frame.lazy().group_by(request.keys)
    part = groups.agg(values.alias(VALUES), notes.alias(NOTES))
    field = pl.col(VALUES).struct.field
    strategy = pl.lit(name) if request.strategy is None else pl.col(request.strategy)
    return part.select(
        strategy.alias(request.key),
        *request.query,
        *(field(measure.name).alias(column) for column, measure in request.measures.items()),
        field("unusable").alias(UNUSABLE),
        pl.col(NOTES).struct.with_fields(
            judged_at_the_top=field(JUDGED_AT_THE_TOP.name)
            if compared
            else pl.lit(None, pl.Float64),
        ),
    )


def finished(request: Request, values: pl.DataFrame) -> pl.DataFrame:
    """What the caller gets of the values of all queries: checked, looked at, in order."""
    for name, score in request.by.items():
        of_it = values if request.strategy else values.filter(pl.col(request.key) == name)
        check_usable(request.ranking(score), of_it.get_column(UNUSABLE))
    values = values.drop(UNUSABLE)
    strategies = pl.Series(request.key, [*request.by])
    if request.strategy is not None:
        strategies = in_order(values.get_column(request.key))
    values = strategies.to_frame().join(
        values.sort(request.query), on=request.key, nulls_equal=True, maintain_order="left_right"
    )
    noticing.warn(request, values)
    return values.drop(NOTES)
