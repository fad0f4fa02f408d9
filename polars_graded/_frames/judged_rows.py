"""The rows of a run with their judgments, and those of judged documents that it missed.

Rows in any order go by as they are, and what was missed follows when all are seen: those of a
DataFrame at once, those of a LazyFrame some at a time, when it is collected. Where its plan has
sorted them by query, what was missed stands with its query, and rows stay sorted.
"""

from __future__ import annotations

from contextlib import closing
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any

import polars as pl
import polars.selectors as cs

from polars_graded._checks import check_number
from polars_graded._frames.inputs import no_row_for
from polars_graded._frames.joining import Hashes, Join, hashes_of
from polars_graded._frames.judge_checks import (
    check_distinct,
    check_keys,
    check_no_nulls,
    check_one_strategy,
    check_overlap,
    check_schemas,
    usable,
)
from polars_graded._frames.parts import as_sorted, batches, claims_to_be_sorted
from polars_graded._frames.sources import read_later

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from polars_graded._frames.inputs import Frame, Runs

SEVERAL_ARE_SORTED = int(pl.__version__.split(".")[0]) >= 2  # noqa: PLR2004
"""Before, Polars took each of several columns that are sorted together for sorted alone."""

MOST_DOUBLES = 100_000
"""Of so many rows that come twice it is looked at which they are."""


def judged_rows(
    runs: Runs,
    judgments: Frame,
    query: str,
    doc: str,
    grades: Sequence[str],
    unjudged_below: float | None,
) -> Frame:
    """The rows; what the columns of a lazy run show is refused at once."""
    ours, theirs = runs.table.collect_schema(), judgments.collect_schema()
    alone = runs.strategy is None and "strategy" in ours
    strategy = "strategy" if alone else runs.strategy
    pair = [query, doc]
    key = check_schemas(ours, theirs, query, doc, grades, strategy)
    if unjudged_below is not None:
        unjudged_below = check_number("unjudged_below", unjudged_below)
    if isinstance(judgments, pl.DataFrame):
        judgments = usable(judgments, pair, grades, unjudged_below)
    schema = pl.Schema({**ours, **{name: theirs[name] for name in theirs if name not in ours}})
    by = _sorted_by(runs, key[:-1], alone=alone)

    def rows(wanted: Collection[str]) -> Iterator[pl.DataFrame]:
        judged = judgments
        if isinstance(judged, pl.LazyFrame):
            judged = usable(judged.collect(), pair, grades, unjudged_below)
        columns = [name for name in schema if name in {*key, *wanted}]
        judged = judged.select(cs.by_name([name for name in columns if name in theirs]))
        narrow = runs.select([name for name in columns if name in ours])
        if by:
            join = Join(judged.sort(query, maintain_order=True), query, doc, strategy)
            parts = _by_query(narrow, join, by, key, alone=alone)
        else:
            join = Join(judged, query, doc, strategy, [*runs.named])
            parts = _as_they_are(narrow, join, key, alone=alone)
        empty = schema.to_frame().select(cs.by_name(columns))
        for part in parts:
            yield pl.concat([empty, part], how="diagonal")

    if isinstance(runs.table, pl.DataFrame):
        return pl.concat(rows(schema))
    later = read_later(schema, rows)
    return later.set_sorted(*by) if by and (len(by) == 1 or SEVERAL_ARE_SORTED) else later


def _sorted_by(runs: Runs, keys: Sequence[str], *, alone: bool) -> Sequence[str]:
    """The columns that rows are sorted by, as their plan has it; none where they are not."""
    *_, query = keys
    run = runs.table
    if isinstance(run, pl.DataFrame):
        return ()
    schema = run.collect_schema()
    if any(schema[name] != pl.String and not schema[name].is_integer() for name in keys):
        return ()
    if runs.named:
        return keys if all(claims_to_be_sorted(f, [query]) for f in runs.named.values()) else ()
    known = ([query],) if alone else (keys, [query])
    return next((by for by in known if claims_to_be_sorted(run, by)), ())


# Rows in any order


def _as_they_are(
    runs: Runs, join: Join, key: Sequence[str], *, alone: bool
) -> Iterator[pl.DataFrame]:
    """The rows of judged queries, in their order, then what was missed, strategy by strategy."""
    run = runs.table
    blocks: Iterable[pl.DataFrame] = [run] if isinstance(run, pl.DataFrame) else batches(run)
    blocks = chain([run.lazy().head(0).collect()], blocks)  # has the columns where there is no row
    not_null = key[1:] if alone else key
    with closing(Hashes()) as hashes:
        for block in blocks:
            check_no_nulls(block, "run", not_null)
            hashes.add(hashes_of(block, key))
            yield join.add(block)
            if alone:
                _check_alone(join)
        _check_no_doubles(run.lazy(), key, hashes.repeated())
    if alone and not join.strategies:
        join.meet(None)
    _check_all_have_rows(runs, join)
    check_overlap(join)
    yield from join.missed()


def _check_alone(join: Join) -> None:
    """Raise where a column "strategy" that was not named holds several; it may be null alone."""
    if len(join.strategies) > 1:
        check_one_strategy(join.strategies)
        check_no_nulls(join.counts(), "run", ["strategy"])


def _check_no_doubles(run: pl.LazyFrame, key: Sequence[str], repeated: pl.Series) -> None:
    """Raise where rows whose hashes were met before are the same."""
    if not len(repeated):
        return
    few = repeated.head(MOST_DOUBLES)
    again = [
        keys.filter(hashes_of(keys, key).is_in(few.implode())) for keys in batches(run.select(key))
    ]
    check_distinct(pl.concat(again), "run", key, len(repeated) - len(few))


def _check_all_have_rows(runs: Runs, join: Join) -> None:
    """Raise where a strategy that a mapping names has no row."""
    if runs.named:
        answering = join.counts().to_series()
        for name in runs.named:
            if name not in answering:
                raise no_row_for(name)


# Rows that are sorted by query


def _by_query(
    runs: Runs, join: Join, by: Sequence[str], key: Sequence[str], *, alone: bool
) -> Iterator[pl.DataFrame]:
    """The rows of judged queries as they are sorted, and with each query what it misses."""
    run = runs.table.lazy()
    empty = run.head(0).collect()
    join.add(empty)
    for name in runs.named:
        join.meet(name)
    if len(by) < len(key) - 1:
        names = _strategies(run, key[0], alone=alone)
        key = key[1:] if names == [None] else key
        for name in names:
            join.meet(name)
    before = None
    for strategy, parts in _stretches(runs, by):
        if strategy is not None:
            _check_ascends(by, before, pl.Series([strategy]))
            before = strategy
        only = None if strategy is None else [strategy]
        start, last = 0, None
        for part in parts:
            rows = pl.concat([empty, part], how="diagonal_relaxed")
            check_keys(rows, "run", key)
            queries = rows.get_column(by[-1])
            _check_ascends(by, last, queries)
            last = queries[-1]
            stop = int((join.judged.get_column(by[-1]) <= last).sum())
            found = join.add(rows)
            missed = join.missed(start, stop, only)
            yield pl.concat([found, *missed], how="diagonal").sort(by[-1], maintain_order=True)
            start = stop
        rest = pl.concat([empty, *join.missed(start, None, only)], how="diagonal")
        yield rest.sort(by[-1], maintain_order=True)
    _check_all_have_rows(runs, join)
    check_overlap(join)


def _strategies(run: pl.LazyFrame, strategy: str, *, alone: bool) -> list[Any]:
    """The strategies of stacked rows, which have to be known before the first query is done."""
    names = run.select(strategy).unique().collect(engine="streaming").to_series()
    known = names.drop_nulls().sort().to_list()
    if alone:
        check_one_strategy(known)
        return known or [None]
    return known


def _stretches(runs: Runs, by: Sequence[str]) -> Iterator[tuple[Any, Iterable[pl.DataFrame]]]:
    """Rows that are sorted by query, in parts: of each strategy alone, or of all (None)."""
    if runs.named:
        for name in sorted(runs.named):
            yield name, _not_empty(as_sorted(runs.named[name], by[1:]))
        return
    parts = _not_empty(as_sorted(runs.table.lazy(), by))
    if len(by) == 1:
        yield None, parts
        return
    alike = (rows for part in parts for rows in part.partition_by(by[0], maintain_order=True))
    yield from groupby(alike, lambda rows: rows.item(0, by[0]))


def _not_empty(parts: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    return (part for part in parts if part.height)


def _check_ascends(by: Sequence[str], before: Any, values: pl.Series) -> None:
    """Raise where values that are said to be sorted are not, or do not go on where others ended."""
    # Not `is_sorted`, which believes what was said.
    falls = (values < values.shift()).fill_null(value=False)
    if falls.any():
        place = int(falls.arg_max() or 0)
        got = f"{values[place]!r} after {values[place - 1]!r}"
    elif before is not None and not before < values[0]:
        got = f"{values[0]!r} after {before!r}"
    else:
        return
    msg = (
        f"rows that are said to be sorted by {', '.join(map(repr, by))} must ascend, got {got}\n\n"
        "Hint: without set_sorted and sort rows may stand in any order"
    )
    raise ValueError(msg)
