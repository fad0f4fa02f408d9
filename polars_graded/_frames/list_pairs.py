"""Similarity of the rankings of two strategies, one row per pair and query."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import polars as pl

from polars_graded._checks import check_flag, did_you_mean
from polars_graded._frames.directions import Directions
from polars_graded._frames.document_columns import DEFAULT_DOC
from polars_graded._frames.duplicates import Duplicates, check_once
from polars_graded._frames.grouping import KEY, Groups
from polars_graded._frames.parts import (
    Cut,
    Parts,
    check_parts,
    check_queries_are_together,
    choose_cut,
)
from polars_graded._frames.progress import progress as show_progress
from polars_graded._frames.request import (
    By,
    Columns,
    Descending,
    Measures,
    Request,
    Ties,
    parse_measures,
)
from polars_graded._frames.sorting import in_order
from polars_graded._frames.sources import scan_frames
from polars_graded._frames.values import Faults, Part, Rankings, grouped, sort_by_query
from polars_graded._measuring.batches import Lists
from polars_graded._measuring.computing import compute_pairs
from polars_graded._measuring.definitions import SIMILARITIES
from polars_graded._measuring.documents import DocumentLists
from polars_graded._measuring.keywords import checks_keywords
from polars_graded._measuring.names import Measure
from polars_graded._measuring.tie_orders import find_order
from polars_graded._warnings import DataWarning, warn_the_caller

PAIR = ("a", "b")
"""Columns of the two strategies in a result."""


@checks_keywords
def similarity(
    frame: Any,
    *measures: Measures,
    query: Columns = "query",
    by: By = "score",
    strategy: str | None = None,
    baseline: Any = None,
    ties: Ties = None,
    descending: Descending = None,
    doc: str | None = DEFAULT_DOC,
    parts: Parts = None,
    progress: bool = True,
) -> Any:
    """Compare the rankings of strategies with each other, without grades."""
    chosen = parse_measures(measures, SIMILARITIES)
    request = Request.of(
        ["n_retrieved"],
        query=query,
        grade=pl.lit(None),
        by=by,
        strategy=strategy,
        ties=ties,
        descending=descending,
        doc=doc,
    )
    request = replace(request, measures=chosen)
    request.check_names()
    _check_arguments(request, baseline)
    parts, shown = check_parts(parts), check_flag("progress", progress)
    opened = request.open_frame(frame)
    schema = opened.collect_schema()
    request = request.with_document_column(schema)
    if strategy is not None and request.document is None:
        msg = "`doc` must name the column of documents if strategies are stacked, got none"
        raise ValueError(msg)
    if isinstance(opened, pl.DataFrame):
        return _compare_parts(request, opened, baseline, parts, shown=shown)

    def values(columns: Collection[str], wanted: pl.Expr | None) -> Iterator[pl.DataFrame]:
        rows = opened
        if wanted is not None and {*wanted.meta.root_names()} <= {*request.query}:
            rows = opened.filter(wanted)
        names = [name for name in chosen if name in columns] or [*chosen][:1]
        asked = replace(request, measures={name: chosen[name] for name in names})
        yield _compare_parts(asked, rows, baseline, parts, shown=shown)

    return scan_frames(_build_schema(request, schema), values)


def _check_arguments(request: Request, baseline: Any) -> None:
    """Raise if there is no pair, or if columns of the result have the same name."""
    if taken := [name for name in (*request.result_keys, *request.measures) if name in PAIR]:
        msg = f"no column of the result may have the name of another, got {taken[0]!r} twice"
        raise ValueError(msg)
    if request.tool not in (None, "trec_eval"):
        msg = f"`ties` must name a column, 'order' or 'trec_eval', got {request.tool!r}"
        raise ValueError(msg)
    if request.strategy is None:
        find_pairs([*request.by], baseline)


def find_pairs(strategies: Sequence[Any], baseline: Any) -> list[tuple[int, int]]:
    """Return the places of all pairs, or of each other strategy and the baseline."""
    names = ", ".join(map(repr, strategies)) or "none"
    if len(strategies) < 2:  # noqa: PLR2004
        msg = f"there must be at least two strategies to compare, got {names}"
        raise ValueError(msg)
    if baseline is None:
        return [*combinations(range(len(strategies)), 2)]
    if baseline not in strategies:
        msg = f"`baseline` must be one of {names}, got {baseline!r}"
        raise ValueError(msg + did_you_mean(str(baseline), map(str, strategies)))
    base = strategies.index(baseline)
    return [(place, base) for place in range(len(strategies)) if place != base]


def _build_schema(request: Request, schema: Mapping[str, pl.DataType]) -> pl.Schema:
    """Return the schema of the result for the schema of a frame."""
    keys = request.build_schema(schema)
    pair = dict.fromkeys(PAIR, keys.pop(request.key))
    return pl.Schema({request.key: pl.String(), **pair, **keys})


def _compare_parts(
    request: Request,
    frame: pl.DataFrame | pl.LazyFrame,
    baseline: Any,
    parts: Parts,
    *,
    shown: bool,
) -> pl.DataFrame:
    """Return the similarities of all queries, measured part by part."""
    at_hand: Iterable[pl.DataFrame]
    if isinstance(frame, pl.DataFrame) and parts is None:
        cut, at_hand = Cut(1, request.query, frame.height), [frame]
    else:
        rows = frame.lazy().select(request.input_columns)
        cut = choose_cut(rows, request.query, None, parts)  # a part has all strategies of a query
        at_hand = cut.of(rows)
    strategies = _list_strategies(request, frame)
    pairs = find_pairs(strategies, baseline)
    directions, duplicates = Directions(request), Duplicates([request])
    faults = {name: Faults() for name in strategies}
    tables: list[list[pl.DataFrame]] = [[] for _ in pairs]
    tied = n = 0
    with show_progress(str(cut), "rows", cut.rows, shown=shown) as more:
        for part in at_hand:
            rows_of_part = request.add_computed_columns(part)
            groups = grouped([request], rows_of_part)
            directions.add(groups)
            wide = request
            if request.strategy is None:
                duplicates.check(rows_of_part, groups)
            else:
                check_once(request, rows_of_part)
                wide, rows_of_part = _unstack(request, rows_of_part, strategies)
                groups = grouped([wide], rows_of_part)
            by_order = _compare_groups(wide, groups, strategies, pairs, tables, faults)
            tied, n = tied + by_order, n + groups.n
            more(part.height)
    directions.check()
    for name, fault in faults.items():
        fault.check(wide.build_ranking(name), stacked=False)
    _warn_of_ties(request, tied, n)
    return _put_together(request, strategies, pairs, tables, is_sorted=cut.way == "sorted")


def _list_strategies(request: Request, frame: pl.DataFrame | pl.LazyFrame) -> list[Any]:
    """Return the names of all strategies, in natural order if they are stacked."""
    if request.strategy is None:
        return [*request.by]
    names = frame.lazy().select(request.strategy).unique().collect(engine="streaming")
    strategies = in_order(names.to_series()).to_list()
    if None in strategies:
        msg = f"strategy {request.strategy!r} must not be null"
        raise ValueError(msg)
    return strategies


def _unstack(
    request: Request, rows: pl.DataFrame, strategies: Sequence[Any]
) -> tuple[Request, pl.DataFrame]:
    """Return one row per document with the columns of each strategy, and their request."""
    [entry] = request.by
    index = [*request.query, request.document or ""]
    if nulls := rows[index[-1]].null_count():
        msg = f"doc {index[-1]!r} must not be null to match stacked strategies, got {nulls} nulls"
        raise ValueError(msg)
    ties = request.ties or ()
    columns = {name: pl.col(name) for name in request.by[entry]}
    columns |= {name: request.as_text(name, pl.col(name)) for name in ties}
    flags = (*request.find_directions(entry), *(True for _ in ties))
    if request.ties == ():  # the order of rows, which grouping changes
        columns["order of rows"], flags = pl.int_range(pl.len()), (*flags, False)
    of_strategy = {
        name: {f"{column} of {name}": column for column in columns} for name in strategies
    }
    stacked = rows.select(*index, request.strategy, **{KEY.format(c): e for c, e in columns.items()})
    wide = stacked.group_by(index, maintain_order=True).agg(
        pl.col(KEY.format(column)).filter(pl.col(request.strategy or "") == name).first().alias(each)
        for name, names in of_strategy.items()
        for each, column in names.items()
    )
    by = {name: tuple(names) for name, names in of_strategy.items()}
    wide_request = replace(
        request,
        by=by,
        descending=dict.fromkeys(by, flags),
        strategy=None,
        ties=None if request.ties is None else (),
    )
    return wide_request, wide_request.add_computed_columns(wide)


def _compare_groups(
    request: Request,
    groups: Groups,
    strategies: Sequence[Any],
    pairs: Sequence[tuple[int, int]],
    tables: Sequence[list[pl.DataFrame]],
    faults: Mapping[Any, Faults],
) -> int:
    """Add the similarities of whole queries; return the number of queries with tied documents."""
    part, rankings = Part(request, groups, ()), []
    numbers = Lists(pl.int_range(groups.frame.height, eager=True), groups.offsets)
    measures = [*request.measures.values()]
    needs_order = request.tool is not None or any(map(depends_on_order, measures))
    order = find_order(request.tool or "trec_eval", measures[0])
    order = replace(order, is_single=request.tool is not None)
    names = part.names if needs_order and request.ties is None else None
    for name in strategies:
        keys = part.list_ranking_columns(name)
        empty = pl.DataFrame()
        faults[name].add(Rankings(name, empty, empty, part.not_finite(name, keys)))
        tied = order if request.ties is None else None
        rankings.append(
            DocumentLists.of(part.build_ranking(name), numbers, keys, tied, names)
        )
    by_order = pl.Series([False]).new_from_index(0, groups.n)
    for table, computed in zip(tables, compute_pairs(measures, rankings, pairs), strict=True):
        values = zip(request.measures, computed.columns, strict=True)
        table.append(groups.keys.select(request.query).with_columns(**dict(values)))
        by_order |= computed.decided_by_order
    return int(by_order.sum())


def depends_on_order(measure: Measure) -> bool:
    """Return whether the order of tied documents can change a similarity measure."""
    return measure.options.get("ties") == "order"


def _warn_of_ties(request: Request, tied: int, n: int) -> None:
    """Warn if the order of tied documents may decide values and `ties` is not passed."""
    names = [name for name, measure in request.measures.items() if depends_on_order(measure)]
    if not (tied and names and request.ties is None and request.tool is None):
        return
    how = "the order of rows" if request.tie_column is None else f"column {request.tie_column!r}"
    confirmed = "order" if request.tie_column is None else request.tie_column
    warn_the_caller(
        DataWarning.ties,
        f"{how} orders documents with the same score in {tied} of {n} queries, on which "
        f"{', '.join(names)} may depend\n\n"
        f"Hint: ties={confirmed!r} confirms this order; rbo, overlap and average_overlap average "
        "over all orders",
    )


def _put_together(
    request: Request,
    strategies: Sequence[Any],
    pairs: Sequence[tuple[int, int]],
    tables: Sequence[list[pl.DataFrame]],
    *,
    is_sorted: bool,
) -> pl.DataFrame:
    """Return the rows of all pairs, sorted by query."""
    rows = []
    for (a, b), parts in zip(pairs, tables, strict=True):
        names = (strategies[a], strategies[b])
        pair = zip((request.key, *PAIR), ("{} and {}".format(*names), *names), strict=True)
        table = pl.concat(parts)
        if is_sorted:
            check_queries_are_together(table.select(request.query), request.query)
        keys = (pl.lit(value).alias(column) for column, value in pair)
        rows.append(sort_by_query(request, table).select(*keys, pl.all()))
    return pl.concat(rows)
