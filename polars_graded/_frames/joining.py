"""Join the rows of a run with judgments, and append missed documents.

A strategy missed a judged document if it did not retrieve the document. The rows of the run keep
their order. Rows of queries without judgments are dropped.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl
import polars.selectors as cs

from polars_graded._frames.inputs import Frame, Runs
from polars_graded._frames.judge_checks import (
    FOUND,
    ROWS,
    check_distinct,
    check_no_nulls,
    check_one_strategy,
    check_overlap,
    check_schemas,
    select_judgments,
)
from polars_graded._frames.sources import scan_frames

ROW_NUMBER = "polars_graded: row number"
NO_STRATEGY = "polars_graded: no strategy"
"""Names of temporary columns: row numbers of judgments, and nulls in place of strategies if a run
has none. The prefix keeps them apart from the columns of callers."""

MAX_EXAMPLES = 1000
"""Maximum number of unjudged rows whose documents are kept as examples for `judge_checks`."""


def join_rows(
    runs: Runs,
    judgments: Frame,
    query: str,
    doc: str,
    grades: Sequence[str],
    unjudged_below: float | None,
) -> Frame:
    """Check the columns, and return the joined rows.

    A lazy run is joined when the result is collected, but its columns are checked at once.
    """
    runs = runs._replace(table=_type_columns(runs.table, judgments, query, doc, "score"))
    judgments = _type_columns(judgments, runs.table, query, doc, *grades)
    run_schema, judgment_schema = runs.table.collect_schema(), judgments.collect_schema()
    uses_strategy_column = runs.strategy is None and "strategy" in run_schema
    strategy = "strategy" if uses_strategy_column else runs.strategy
    pair = [query, doc]
    key = check_schemas(run_schema, judgment_schema, query, doc, grades, strategy)
    if isinstance(judgments, pl.DataFrame):
        judgments = select_judgments(judgments, pair, grades, unjudged_below)
    added = {name: judgment_schema[name] for name in judgment_schema if name not in run_schema}
    schema = pl.Schema({**run_schema, **added})

    def join_columns(wanted: Collection[str], _: object = None) -> Iterator[pl.DataFrame]:
        judged = judgments
        if isinstance(judged, pl.LazyFrame):
            judged = select_judgments(judged.collect(), pair, grades, unjudged_below)
        columns = [name for name in schema if name in {*key, *wanted}]
        judged = judged.select(cs.by_name([name for name in columns if name in judgment_schema]))
        run = runs.table.select(cs.by_name([name for name in columns if name in run_schema]))
        rows = run.collect(engine="streaming") if isinstance(run, pl.LazyFrame) else run
        is_single = runs.strategy is None
        check_no_nulls(rows, "run", pair if is_single else key)
        names = [None] if is_single and rows.is_empty() else runs.names
        join = Join(rows, judged, query, doc, strategy, names)
        if is_single:
            check_one_strategy(join)
        check_distinct(rows, "run", key)
        check_overlap(join)
        yield pl.concat([join.rows, join.missed], how="diagonal").select(cs.by_name(columns))

    if isinstance(runs.table, pl.DataFrame):
        return next(join_columns(schema))
    return scan_frames(schema, join_columns)


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


@dataclass(frozen=True)
class Join:
    """Join of a run with its judgments."""

    run: pl.DataFrame
    judged: pl.DataFrame
    query: str
    doc: str
    given_strategy: str | None
    """The column of strategies, or None."""
    names: Sequence[Any] = ()
    """Names of strategies, some of which may have no rows. A null stands for a single one."""

    @property
    def strategy(self) -> str:
        """The column of strategies; if the run has none, a temporary column of nulls."""
        return NO_STRATEGY if self.given_strategy is None else self.given_strategy

    @cached_property
    def numbered(self) -> pl.DataFrame:
        """The judgments with their row numbers."""
        return self.judged.with_row_index(ROW_NUMBER)

    @cached_property
    def joined(self) -> pl.DataFrame:
        """All rows of the run, with the row numbers of their judgments."""
        run = self.run
        if self.given_strategy is None:
            # The nulls are Boolean, since Polars groups by a Boolean column fast.
            run = run.with_columns(pl.lit(None, pl.Boolean).alias(NO_STRATEGY))
        return run.join(self.numbered, on=[self.query, self.doc], how="left", maintain_order="left")

    @cached_property
    def queries(self) -> pl.DataFrame:
        """The judged queries."""
        return self.judged.select(self.query).unique(maintain_order=True)

    @cached_property
    def rows(self) -> pl.DataFrame:
        """The rows of judged queries."""
        if self.counts.join(self.queries, on=self.query, how="anti").is_empty():
            return self.joined
        return self.joined.join(self.queries, on=self.query, how="semi", maintain_order="left")

    @cached_property
    def counts(self) -> pl.DataFrame:
        """Numbers of rows and of judged rows of each strategy and query."""
        return self.joined.group_by(self.strategy, self.query, maintain_order=True).agg(
            pl.len().alias(ROWS), pl.col(ROW_NUMBER).count().alias(FOUND)
        )

    @cached_property
    def strategies(self) -> pl.Series:
        """The strategies in the order of their first rows."""
        in_rows = self.counts.get_column(self.strategy)
        names = pl.Series(in_rows.name, self.names, dtype=in_rows.dtype)
        return pl.concat([in_rows, names]).unique(maintain_order=True)

    @cached_property
    def unmatched(self) -> pl.Series:
        """Examples of unjudged documents that were retrieved for judged queries."""
        rows = self.rows.lazy().filter(pl.col(ROW_NUMBER).is_null()).select(self.doc)
        return rows.head(MAX_EXAMPLES).collect().to_series().unique(maintain_order=True)

    @cached_property
    def missed(self) -> pl.DataFrame:
        """The judgments that each strategy missed, strategy by strategy."""
        matches = self.rows.select(self.strategy, ROW_NUMBER).drop_nulls(ROW_NUMBER)
        numbers = self.numbered.select(ROW_NUMBER)
        expected = self.strategies.to_frame().join(
            numbers, how="cross", maintain_order="left_right"
        )
        keys = [self.strategy, ROW_NUMBER]
        # Only keys are joined, and the judgments are gathered by their row numbers.
        missed = expected.join(
            matches, on=keys, how="anti", nulls_equal=True, maintain_order="left"
        )
        return missed.select(self.strategy).hstack(self.judged[missed[ROW_NUMBER]])
