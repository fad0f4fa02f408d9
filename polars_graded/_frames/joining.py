"""Join the rows of a run with judgments, append missed documents, and check that they match.

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

from polars_graded._checks import MAX_SHOWN_VALUES, TEXT_TYPES, check_columns, first_few
from polars_graded._frames.distinct_keys import check_distinct, check_key_columns, check_no_nulls
from polars_graded._frames.inputs import Frame, Runs
from polars_graded._frames.rows import scan_frames
from polars_graded._measuring.ranking import check_grade
from polars_graded._warnings import DataWarning, warn_the_caller


def check_schemas(
    run: pl.Schema,
    judgments: pl.Schema,
    query: str,
    doc: str,
    grades: Sequence[str],
    strategy: str | None,
) -> list[str]:
    """Return the key columns of the run; raise if the two frames cannot be joined."""
    for argument, name in (("strategy", strategy), ("query", query), ("doc", doc)):
        check_columns("run", [] if name is None else [name], run, argument=argument)
    for grade in grades:
        if grade not in judgments and grade in run:
            msg = f"`judgments` has no column {grade!r}, but `run` has: are the two swapped?"
            raise pl.exceptions.ColumnNotFoundError(msg)
    arguments = [("query", query), ("doc", doc), *(("grade", grade) for grade in grades)]
    for argument, name in arguments:
        check_columns("judgments", [name], judgments, argument=argument)
    if strategy in (query, doc):
        msg = f"`strategy` must name a column that no other argument names, got {strategy!r}"
        raise ValueError(msg)
    for grade in grades:
        check_grade(f"grade {grade!r}", judgments[grade])
    pair = [query, doc]
    key = pair if strategy is None else [strategy, *pair]
    for column in pair:
        ours, theirs = run[column], judgments[column]
        if ours != theirs:
            msg = (
                f'"{column}" must have one data type, got {ours} in `run` and {theirs} in'
                " `judgments`: cast one of them"
            )
            raise TypeError(msg)
    shared = [name for name in judgments if name in run and name not in pair]
    if shared:
        msg = (
            f"only {_format_columns(pair)} may be in both `run` and `judgments`, "
            f"got {_format_columns(shared)}: drop or rename it in one of them"
        )
        raise ValueError(msg)
    if not set(run).difference(key):
        # After the join, a null score marks judged documents that were not retrieved. Without a
        # score, they could not be distinguished from retrieved documents.
        msg = f"`run` must have a column to rank by, such as a score, got {_format_columns([*run])}"
        raise ValueError(msg)
    return key


def _format_columns(columns: Sequence[str]) -> str:
    return ", ".join(f'"{column}"' for column in columns) or "none"


def select_judgments(
    judgments: pl.DataFrame,
    pair: Sequence[str],
    grades: Sequence[str],
    unjudged_below: float | None,
) -> pl.DataFrame:
    """Return the judgments with a grade; raise for null or repeated keys.

    A grade below `unjudged_below` becomes null. Without `unjudged_below`, warn of grades below 0.
    """
    check_key_columns(judgments, "judgments", pair)
    graded = pl.col(grades)
    if unjudged_below is not None:
        judgments = judgments.with_columns(pl.when(graded >= unjudged_below).then(graded))
    judged = judgments.filter(pl.any_horizontal(graded.is_not_null()))
    if unjudged_below is not None:
        return judged
    grade_columns = judged.select(cs.by_name(grades) & cs.numeric()).get_columns()
    n_grades = sum(column.count() for column in grade_columns)
    if n_below := sum((column < 0).sum() for column in grade_columns):
        warn_the_caller(
            DataWarning.scale,
            f"{n_below} of {n_grades} judgments have a grade below 0, and count as judged and "
            "irrelevant\n\n"
            "Hint: unjudged_below=0 treats them as unjudged, as trec_eval does; a lower "
            "number for unjudged_below keeps them and silences this warning",
        )
    return judged


ROW_NUMBER = "polars_graded: row number"
NO_STRATEGY = "polars_graded: no strategy"
"""Names of temporary columns: row numbers of judgments, and nulls in place of strategies if a run
has none. The prefix keeps them apart from the columns of callers."""

MAX_EXAMPLES = 1000
"""Maximum number of unjudged rows whose documents are kept as examples."""

MAX_COMMON_SHARE = 0.05
"""Matches count as few if at most this share of the documents match."""

FOUND = "polars_graded: found"
ROWS = "polars_graded: rows"
"""Names of temporary columns: the number of rows of a strategy and query, and the number of judged
rows among them."""


def join_rows(
    runs: Runs,
    judgments: Frame,
    query: str,
    doc: str,
    grades: Sequence[str],
    unjudged_below: float | None,
    query_columns: Sequence[str],
) -> Frame:
    """Check the columns, and return the joined rows.

    If several columns identify a query, `query` is the column into which they are packed. A lazy
    run is joined when the result is collected, but its columns are checked at once.
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
        join = Join(rows, judged, query, doc, strategy, names, query_columns)
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
    query_columns: Sequence[str] = ()
    """The columns that are packed into `query`, or `query` alone."""

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


# Checks


def check_one_strategy(join: Join) -> None:
    """Raise if the run has several strategies, but `strategy` is not passed.

    The strategies are the values of the column "strategy". Raise also if some of them are null, but
    not all.
    """
    count = len([name for name in join.strategies if name is not None])
    if count > 1:
        msg = (
            f'`run` must be one ranking per query, got {count} strategies in its column "strategy":'
            ' pass strategy="strategy" to keep them apart, or drop the column to merge them'
        )
        raise ValueError(msg)
    if len(join.strategies) > 1:
        check_no_nulls(join.counts, "run", [join.strategy])


def check_overlap(join: Join) -> None:
    """Raise if ids have another form in the judgments; warn of other mismatches."""
    query, doc, judged = join.query, join.doc, join.judged
    counts = join.counts
    counts_of_judged = counts.join(join.queries, on=query, how="semi", maintain_order="left")
    retrieved, n_found = counts_of_judged.select(pl.col(ROWS, FOUND).sum()).row(0)
    if counts.height and judged.height and not n_found:
        column = doc if retrieved else query
        ours = join.unmatched if retrieved else counts.get_column(query)
        if have_different_forms(ours, judged[column]):
            msg = (
                f"`run` and `judgments` must write {column!r} in the same form, got, for example, "
                f"{ours[0]!r} in `run` and {judged[column][0]!r} in `judgments`"
            )
            raise ValueError(msg)
    queries = counts_of_judged.get_column(query)
    if unjudged := _find_absent(counts.get_column(query), queries):
        warn_the_caller(
            DataWarning.topics,
            f"queries without any judgment are left out of the result, got {len(unjudged)}: "
            f"{first_few(unjudged)}",
        )
    if unanswered := _find_absent(join.queries.get_column(query), queries):
        keep = _write_filter(join, f"{_write_is_of_run(join)}.any()")
        hint = f"\n\nHint: if they were not run at all, {keep} keeps the others"
        warn_the_caller(
            DataWarning.missing,
            f"{len(unanswered)} of {join.queries.height} judged queries have no row in `run`, and "
            f"count as failures: {first_few(unanswered)}{hint if retrieved else ''}",
        )
    if join.strategies.to_list() != [None]:
        answered = {*counts_of_judged.get_column(join.strategy)}
        if without_answers := [name for name in join.strategies if name not in answered]:
            warn_the_caller(
                DataWarning.missing,
                f"{first_few(without_answers)} answered none of the judged queries, so all of "
                "these count as failures",
            )
    if description := _describe_incomplete_strategies(counts_of_judged, join):
        answering = f"pl.col({join.strategy!r}).filter({_write_is_of_run(join)}).n_unique()"
        keep = _write_filter(join, answering, f" == {counts_of_judged.n_unique(join.strategy)}")
        warn_the_caller(
            DataWarning.missing,
            "some strategies have no row for judged queries that others answered; these queries "
            f"count as failures: {description}\n\n"
            f"Hint: if strategies ran on different queries, {keep} keeps those that all answered",
        )
    n_queries = queries.n_unique()
    n_unmatched = (
        n_queries - counts_of_judged.filter(pl.col(FOUND) > 0).get_column(query).n_unique()
    )
    if not len(join.unmatched) or not (
        2 * n_unmatched > n_queries or _has_few_matches(join, retrieved, n_found)
    ):
        return
    no_match = f"in {n_unmatched} of {n_queries} queries no retrieved document is judged"
    missed_judgments = join.missed if join.missed.height else judged
    warn_the_caller(
        DataWarning.ids,
        f"{no_match if n_unmatched else 'the run and the judgments have few documents in common'}; "
        f"{n_found} of {retrieved} retrieved documents are judged "
        f"({n_found / retrieved:.1%})\n\n"
        f"Hint: check that {doc!r} means the same in `run` ({join.unmatched[0]!r}) "
        f"and `judgments` ({missed_judgments[doc][0]!r}); overview(frame) counts retrieved and "
        "judged documents",
    )


def have_different_forms(ours: pl.Series, theirs: pl.Series) -> bool:
    """Return whether no id can be equal because both columns write ids differently.

    All ids of one column are whole numbers and none of the other is, or ids such as "1", "001" and
    "1.0" are equal as numbers only.
    """
    if ours.dtype not in TEXT_TYPES:
        return False
    columns = [column.cast(pl.String).unique() for column in (ours, theirs)]
    numbers = [column.filter(column.str.contains(r"^[0-9]+(\.0*)?$")) for column in columns]
    are_numbers = [len(each) == len(column) for each, column in zip(numbers, columns, strict=True)]
    if not all(are_numbers):
        return any(are_numbers) and not all(map(len, numbers))
    plain = [each.str.replace(r"\.0*$", "").str.strip_chars_start("0").unique() for each in numbers]
    texts_differ, numbers_differ = (
        not first.is_in(second.implode()).any() for first, second in (columns, plain)
    )
    return texts_differ and not numbers_differ


def _has_few_matches(join: Join, retrieved: int, n_found: int) -> bool:
    """Return whether few documents of the run occur in the judgments.

    Few matches within the same query do not prove that identifiers are written differently. In
    recommendation, a query is a user, and each user judges few of many documents. So the documents
    without a match are also looked up among the judgments of all other queries.
    """
    max_matches = min(retrieved, join.judged.height * len(join.strategies))
    if not max_matches or n_found > MAX_COMMON_SHARE * max_matches:
        return False
    judged_for_others = join.unmatched.is_in(join.judged.get_column(join.doc).implode()).sum()
    return bool(judged_for_others <= MAX_COMMON_SHARE * min(len(join.unmatched), max_matches))


def _describe_incomplete_strategies(answered: pl.DataFrame, join: Join) -> str:
    """List the first strategies that lack queries that others answered."""
    keys, n_queries = [join.strategy, join.query], join.queries.height
    strategies, queries = (answered.select(name).unique(maintain_order=True) for name in keys)
    if answered.height == strategies.height * queries.height:
        return ""
    all_pairs = strategies.join(queries, how="cross")
    lacking = all_pairs.join(answered, on=keys, how="anti", maintain_order="left")
    by_strategy = lacking.group_by(join.strategy, maintain_order=True).agg(join.query)
    parts = [
        f"{name!r} lacks {len(missing_queries)} of {n_queries} ({first_few(missing_queries)})"
        for name, missing_queries in by_strategy.head(MAX_SHOWN_VALUES).iter_rows()
    ]
    return "; ".join(parts if by_strategy.height <= MAX_SHOWN_VALUES else [*parts, "..."])


def _write_filter(join: Join, expression: str, condition: str = "") -> str:
    """Write a filter of the result by the value of an expression in each query."""
    queries = ", ".join(map(repr, join.query_columns))
    return f".filter({expression}.over({queries}){condition})"


def _write_is_of_run(join: Join) -> str:
    """Write an expression that is true for rows of the run, and false for missed documents."""
    columns = [
        name for name in join.run.columns if name not in (join.query, join.doc, join.strategy)
    ]
    complete = [name for name in columns if not join.run[name].null_count()]
    if complete:
        return f"pl.col({complete[0]!r}).is_not_null()"
    return f"pl.any_horizontal(pl.col({columns!r}).is_not_null())"


def _find_absent(values: pl.Series, others: pl.Series) -> list[Any]:
    """Return the distinct values that are absent from the others."""
    each = values.unique(maintain_order=True).to_frame("value")
    return each.join(
        others.unique().to_frame("value"), on="value", how="anti", maintain_order="left"
    )["value"].to_list()
