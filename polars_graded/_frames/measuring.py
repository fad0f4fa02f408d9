"""Evaluate a request on this machine, in parts of whole queries."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, TypeVar

import polars as pl

from polars_graded._frames.directions import Directions, check_stacked_names
from polars_graded._frames.duplicates import Duplicates
from polars_graded._frames.engines import find_engine
from polars_graded._frames.inputs import GRADER
from polars_graded._frames.pair_values import GatheredPairs, PairRequest
from polars_graded._frames.parts import Parts, Split, check_queries_are_together, choose_split
from polars_graded._frames.progress import progress
from polars_graded._frames.request import Request
from polars_graded._frames.sources import scan_frames
from polars_graded._frames.values import Gathered, finish_requests, group_rows

RequestT = TypeVar("RequestT", bound=Request)

LOGGER = logging.getLogger("polars_graded")


def measure_eagerly(
    requests: Sequence[Request],
    frame: pl.DataFrame | pl.LazyFrame,
    parts: Parts = None,
    *,
    shown: bool = True,
) -> pl.DataFrame:
    """Return the values of all queries, measured part by part.

    `requests` has one request for each grader.
    """
    requests = [each.with_strategies(frame) for each in requests]
    request = requests[0]
    parts_of_frame: Iterable[pl.DataFrame]
    if isinstance(frame, pl.DataFrame) and parts is None:
        split, parts_of_frame = Split(1, request.query, frame.height), [frame]
    else:
        rows = frame.lazy().select(
            *dict.fromkeys(name for each in requests for name in each.input_columns)
        )
        split = choose_split(rows, request.query, request.part_keys, parts)
        parts_of_frame = split.divide(rows)
        LOGGER.info("%s", split)
    total = None if split.rows is None else split.rows * len(request.by) * len(requests)
    gathered = [
        GatheredPairs(each) if isinstance(each, PairRequest) else Gathered(each)
        for each in requests
    ]
    directions = Directions(request)
    duplicates = Duplicates(requests)
    with progress(str(split), "rows", total, shown=shown) as count_rows:
        for part in parts_of_frame:
            rows_of_part = add_computed_columns(requests, part)
            groups = group_rows(requests, rows_of_part)
            directions.add(groups)
            duplicates.check(rows_of_part, groups)
            for each in gathered:
                each.add(groups, count_rows)
    directions.check()
    result = finish_requests(gathered)
    if split.way == "sorted":
        keys = [*([] if request.grader is None else [GRADER]), *request.result_keys]
        check_queries_are_together(result.select(keys), keys)
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
    requests: Sequence[Request], frame: Any, parts: Parts = None, *, shown: bool = True
) -> Any:
    """Measure a frame that `open_frame` returned.

    The result is a frame of the same kind: a DataFrame, a LazyFrame, or a frame of Spark or Ray.
    """
    engine = find_engine(frame)
    if engine is not None:
        each = [engine.evaluate_rows(request, frame, parts) for request in requests]
        return reduce(lambda one, other: one.union(other), each)
    if isinstance(frame, pl.LazyFrame):
        return measure_lazily(requests, frame, parts, shown=shown)
    measured = measure_eagerly(requests, frame, parts, shown=shown)
    check_stacked_names(requests[0], measured)
    return measured


def add_computed_columns(requests: Sequence[Request], frame: pl.DataFrame) -> pl.DataFrame:
    """Add the columns that the requests compute.

    `frame` must contain all rows of each of its queries.
    """
    computed = {name: expr for each in requests for name, expr in each.computed.items()}
    return replace(requests[0], computed=computed).add_computed_columns(frame)


def measure_lazily(
    requests: Sequence[Request], frame: pl.LazyFrame, parts: Parts = None, *, shown: bool = True
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
        measured = measure_eagerly(requests_for_columns, rows, parts, shown=shown)
        if wanted is None:  # a filter may have removed strategies
            check_stacked_names(requests[0], measured)
        yield measured

    schema = frame.collect_schema()
    check_without_data(requests, schema)
    return scan_frames(requests[0].build_schema(schema), values)


def check_without_data(requests: Sequence[Request], schema: pl.Schema) -> None:
    """Measure an empty frame, to raise errors that do not depend on rows."""
    measure_eagerly(requests, schema.to_frame(), shown=False)


def _select_columns(request: Request, columns: Collection[str]) -> Request:
    """Limit a request to the measures in `columns`.

    If `columns` contains no measure, keep the first measure of the request.
    """
    names = [name for name in request.measures if name in columns] or [*request.measures][:1]
    return replace(request, measures={name: request.measures[name] for name in names})
