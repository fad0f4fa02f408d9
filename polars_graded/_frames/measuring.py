"""Evaluate a request on this machine."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, TypeVar

import polars as pl

from polars_graded._door import find_engine
from polars_graded._frames.directions import Directions, check_stacked_names
from polars_graded._frames.duplicates import Duplicates
from polars_graded._frames.inputs import GRADER
from polars_graded._frames.progress import progress
from polars_graded._frames.request import FrameT, Request
from polars_graded._frames.sources import scan_frames
from polars_graded._frames.streaming import check_queries_are_together, read_whole_queries
from polars_graded._frames.values import finish_requests, gather, group_rows

RequestT = TypeVar("RequestT", bound=Request)


def measure_eagerly(
    requests: Sequence[Request],
    frame: pl.DataFrame | pl.LazyFrame,
    *,
    consecutive: bool = False,
    shown: bool = False,
) -> pl.DataFrame:
    """Return the values of all queries.

    `requests` has one request for each grader. If the rows of each query are `consecutive`, the
    rows of a LazyFrame are read batch by batch.
    """
    requests = [each.with_strategies(frame) for each in requests]
    request = requests[0]
    is_lazy = isinstance(frame, pl.LazyFrame)
    if is_lazy:
        frame = frame.select(
            *dict.fromkeys(name for each in requests for name in each.input_columns)
        )
    parts: Iterable[Any] = [frame]
    if isinstance(frame, pl.LazyFrame) and consecutive:
        parts = read_whole_queries(frame, request.query)
    gathered = [gather(each) for each in requests]
    directions = Directions(request)
    duplicates = Duplicates(requests)
    with progress(shown=shown) as count_rows:
        for part in parts:
            rows = add_computed_columns(requests, part)
            groups = group_rows(requests, rows)
            directions.add(groups)
            duplicates.check(groups, rows if isinstance(rows, pl.DataFrame) else None)
            for each in gathered:
                each.add(groups, count_rows)
    directions.check()
    result = finish_requests(gathered)
    if is_lazy:
        keys = [*([] if request.grader is None else [GRADER]), *request.result_keys]
        check_queries_are_together(result, keys)
    return result


def open_frame(
    requests: Sequence[RequestT], frame: Any
) -> tuple[list[RequestT], pl.DataFrame | pl.LazyFrame | Any]:
    """Convert a frame to Polars, and find its document column.

    Return the requests with this column, and the converted frame. For a frame of Spark or Ray,
    return the requests and the frame unchanged.
    """
    __tracebackhide__ = True
    if find_engine(frame) is not None:
        return [*requests], frame
    opened = []
    for request in requests:
        request_of_frame, frame = request.open_frame(frame)
        opened.append(request_of_frame)
    return opened, frame


def measure_frame(
    requests: Sequence[Request], frame: Any, *, consecutive: bool = False, shown: bool = False
) -> Any:
    """Measure a frame that `open_frame` returned.

    The result is a frame of the same kind: a DataFrame, a LazyFrame, or a frame of Spark or Ray.
    """
    engine = find_engine(frame)
    if engine is not None:
        if consecutive:
            msg = "`consecutive` must be False for frames of Spark and Ray, got True"
            raise ValueError(msg)
        each = [engine.evaluate_rows(request, frame) for request in requests]
        return reduce(lambda one, other: one.union(other), each)
    if isinstance(frame, pl.LazyFrame):
        return measure_lazily(requests, frame, consecutive=consecutive, shown=shown)
    measured = measure_eagerly(requests, frame, shown=shown)
    check_stacked_names(requests[0], measured)
    return measured


def add_computed_columns(requests: Sequence[Request], frame: FrameT) -> FrameT:
    """Add the columns that the requests compute.

    `frame` must contain all rows of each of its queries.
    """
    computed = {name: expr for each in requests for name, expr in each.computed.items()}
    return replace(requests[0], computed=computed).add_computed_columns(frame)


def measure_lazily(
    requests: Sequence[Request], frame: pl.LazyFrame, *, consecutive: bool, shown: bool
) -> pl.LazyFrame:
    """Return a LazyFrame that measures `frame` when it is collected.

    Only the measures that the caller selects are computed. A filter that uses only `part_keys` is
    applied before measuring.
    """

    def values(columns: Collection[str], wanted: pl.Expr | None) -> Iterator[pl.DataFrame]:
        rows = frame
        if wanted is not None and {*wanted.meta.root_names()} <= {*requests[0].part_keys}:
            rows = frame.filter(wanted)
        # The names of strategies come from the unfiltered frame. Even if a filter removes all rows
        # of a strategy, the same pairs of strategies are compared.
        requests_for_columns = [
            _select_columns(each, columns).with_strategies(frame) for each in requests
        ]
        measured = measure_eagerly(requests_for_columns, rows, consecutive=consecutive, shown=shown)
        if wanted is None:  # a filter may have removed strategies
            check_stacked_names(requests[0], measured)
        yield measured

    schema = frame.collect_schema()
    check_without_data(requests, schema)
    return scan_frames(requests[0].build_schema(schema), values)


def check_without_data(requests: Sequence[Request], schema: pl.Schema) -> None:
    """Measure an empty frame, to raise errors that do not depend on rows."""
    measure_eagerly(requests, schema.to_frame())


def _select_columns(request: Request, columns: Collection[str]) -> Request:
    """Limit a request to the measures in `columns`.

    If `columns` contains no measure, keep the first measure of the request.
    """
    names = [name for name in request.measures if name in columns] or [*request.measures][:1]
    return replace(request, measures={name: request.measures[name] for name in names})
