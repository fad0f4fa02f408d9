"""Join the rows of a run with judgments, and append missed documents.

A strategy missed a judged document if it did not retrieve the document. The rows of the run keep
their order. Rows of queries without judgments are dropped. A DataFrame is joined immediately as a
whole. A LazyFrame is joined batch by batch when it is collected.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import chain

import polars as pl
import polars.selectors as cs

from polars_graded._frames.inputs import Frame, Runs
from polars_graded._frames.joining import Hashes, Join, hash_keys
from polars_graded._frames.judge_checks import (
    check_distinct,
    check_no_nulls,
    check_one_strategy,
    check_overlap,
    check_schemas,
    select_judgments,
)
from polars_graded._frames.sources import scan_frames
from polars_graded._frames.streaming import read_batches

MAX_LISTED_DUPLICATES = 100_000
"""Maximum number of repeated hashes whose rows are compared; further hashes are only counted."""


def judged_rows(
    runs: Runs,
    judgments: Frame,
    query: str,
    doc: str,
    grades: Sequence[str],
    unjudged_below: float | None,
) -> Frame:
    """Check the columns, and return the joined rows.

    The columns of a lazy run are checked before the run is collected.
    """
    runs = runs._replace(table=_type_columns(runs.table, judgments, query, doc, "score"))
    judgments = _type_columns(judgments, runs.table, query, doc, *grades)
    run_schema, judgment_schema = runs.table.collect_schema(), judgments.collect_schema()
    uses_strategy_column = runs.strategy is None and "strategy" in run_schema
    strategy = "strategy" if uses_strategy_column else runs.strategy
    pair_columns = [query, doc]
    key = check_schemas(run_schema, judgment_schema, query, doc, grades, strategy)
    if isinstance(judgments, pl.DataFrame):
        judgments = select_judgments(judgments, pair_columns, grades, unjudged_below)
    schema = pl.Schema(
        {
            **run_schema,
            **{name: judgment_schema[name] for name in judgment_schema if name not in run_schema},
        }
    )

    def iterate_rows(wanted: Collection[str], _: object = None) -> Iterator[pl.DataFrame]:
        judged = judgments
        if isinstance(judged, pl.LazyFrame):
            judged = select_judgments(judged.collect(), pair_columns, grades, unjudged_below)
        columns = [name for name in schema if name in {*key, *wanted}]
        judged = judged.select(cs.by_name([name for name in columns if name in judgment_schema]))
        run = runs.table.select(cs.by_name([name for name in columns if name in run_schema]))
        join = Join(judged, query, doc, strategy)
        empty = schema.to_frame().select(cs.by_name(columns))
        for block in _iterate_joined_blocks(run, join, key, runs):
            yield pl.concat([empty, block], how="diagonal")

    if isinstance(runs.table, pl.DataFrame):
        return pl.concat(iterate_rows(schema))
    return scan_frames(schema, iterate_rows)


def _type_columns(table: Frame, other: Frame, query: str, doc: str, *numbers: str) -> Frame:
    """Return the table; columns whose values show no type get the types of the other frame.

    These are columns of nulls, and all columns of an empty DataFrame.
    """
    schema, types = table.collect_schema(), other.collect_schema()
    is_empty = isinstance(table, pl.DataFrame) and table.is_empty()
    expected = {name: types[name] for name in (query, doc) if name in types}
    expected |= {
        name: pl.Float64() for name in numbers if not schema.get(name, pl.Null()).is_numeric()
    }
    changes = {
        name: dtype
        for name, dtype in expected.items()
        if name in schema and (is_empty or schema[name] == pl.Null)
    }
    return pl.DataFrame(schema=schema | changes) if is_empty else table.cast(pl.Schema(changes))


def _iterate_joined_blocks(
    run: Frame, join: Join, key: Sequence[str], runs: Runs
) -> Iterator[pl.DataFrame]:
    """Yield the joined rows of the run, then the missed documents.

    There is one frame of missed documents per strategy.
    """
    if isinstance(run, pl.DataFrame):
        blocks: Iterable[pl.DataFrame] = [run]
    else:
        # An empty first block provides the columns of the result, even if the run has no rows.
        blocks = chain([run.head(0).collect()], read_batches(run))
    is_strategy_passed = runs.strategy is not None
    not_null = [name for name in key if name != "strategy" or is_strategy_passed]
    with closing(Hashes()) as hashes:
        for block in blocks:
            check_no_nulls(block, "run", not_null)
            hashes.add(hash_keys(block, key))
            yield join.add(block)
            if not is_strategy_passed:
                check_one_strategy(join)
        _check_no_duplicates(run.lazy(), key, hashes.repeated())
    if not is_strategy_passed and not join.strategies:
        join.register(None)
    for name in runs.names:
        join.register(name)
    check_overlap(join)
    yield from join.missed()


def _check_no_duplicates(run: pl.LazyFrame, key: Sequence[str], repeated: pl.Series) -> None:
    """Raise if two rows have the same key; `repeated` are repeated hashes."""
    if not len(repeated):
        return
    listed = repeated.head(MAX_LISTED_DUPLICATES)
    suspected = [
        rows.filter(hash_keys(rows, key).is_in(listed.implode())) for rows in read_batches(run)
    ]
    check_distinct(pl.concat(suspected), "run", key, len(repeated) - len(listed))
