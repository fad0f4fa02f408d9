"""The rows of a run with their judgments, and those of judged documents that it missed.

Rows go by as they are, and what was missed follows when all are seen: those of a DataFrame at once,
those of a LazyFrame some at a time, when it is collected.
"""

from __future__ import annotations

from contextlib import closing
from itertools import chain
from typing import TYPE_CHECKING, Any

import polars as pl
import polars.selectors as cs

from polars_graded._checks import check_number
from polars_graded._frames.inputs import no_row_for
from polars_graded._frames.joining import Hashes, Join, hashes_of
from polars_graded._frames.judge_checks import (
    check_distinct,
    check_no_nulls,
    check_one_strategy,
    check_overlap,
    check_schemas,
    usable,
)
from polars_graded._frames.parts import batches
from polars_graded._frames.sources import read_later

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from polars_graded._frames.inputs import Frame, Runs

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

    def rows(wanted: Collection[str], _: object = None) -> Iterator[pl.DataFrame]:
        judged = judgments
        if isinstance(judged, pl.LazyFrame):
            judged = usable(judged.collect(), pair, grades, unjudged_below)
        columns = [name for name in schema if name in {*key, *wanted}]
        judged = judged.select(cs.by_name([name for name in columns if name in theirs]))
        run = runs.table.select(cs.by_name([name for name in columns if name in ours]))
        join = Join(judged, query, doc, strategy, runs.names)
        empty = schema.to_frame().select(cs.by_name(columns))
        for part in _parts(run, join, key, alone=alone):
            yield pl.concat([empty, part], how="diagonal")

    if isinstance(runs.table, pl.DataFrame):
        return pl.concat(rows(schema))
    return read_later(schema, rows)


def _parts(run: Frame, join: Join, key: Sequence[str], *, alone: bool) -> Iterator[pl.DataFrame]:
    """The rows of judged queries, in their order, then what was missed, strategy by strategy."""
    named = join.strategies
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
    _check_all_have_rows(named, join)
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


def _check_all_have_rows(strategies: Sequence[Any], join: Join) -> None:
    """Raise where a strategy that a mapping names has no row."""
    answering = join.counts()[:, 0]
    for name in strategies:
        if name is not None and name not in answering:
            raise no_row_for(name)
