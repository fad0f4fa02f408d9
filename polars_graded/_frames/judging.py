"""A run joined with judgments, so that no query and no judged document is lost."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import polars as pl

from polars_graded._checks import check_collected, check_columns, check_number
from polars_graded._frames.joining import are_distinct, retrieved_and_missed

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["judge"]

_SHOWN_KEYS = 3


def judge(
    run: pl.DataFrame | pl.LazyFrame,
    judgments: pl.DataFrame | pl.LazyFrame,
    *,
    query: str = "query",
    doc: str = "doc",
    grade: str = "grade",
    strategy: str | None = None,
    unjudged_below: float | None = None,
) -> pl.DataFrame:
    """Join a run with judgments into the one frame that measures need.

    A row is a document of a query: retrieved and judged, retrieved only (its grade is null) or
    judged only (its score is null, as is every other column of the run). Every judged document of
    every judged query is there for every strategy, so a query that a strategy failed to answer
    counts as a failure instead of vanishing from the mean. A judgment whose grade is null is none:
    it is as if its row were not there.

    Parameters
    ----------
    run
        The retrieved documents, with a score or a rank. A lazy frame is collected.
    judgments
        The judged documents. A lazy frame is collected.
    query
        The column of both frames that names the query.
    doc
        The column of both frames that names the document.
    grade
        The column of `judgments` that holds the grade.
    strategy
        The column of `run` that tells several runs apart. Without it the run is one ranking per
        query, and a column called "strategy" may hold one value only, which added rows get too.
    unjudged_below
        A judgment with a lower grade is none: with 0, documents that a qrels file marks by -1 as
        pooled but not judged are unjudged, as trec_eval has them. By default every grade is a
        judgment.

    Returns
    -------
    DataFrame
        The columns of `run`, then those `judgments` adds. First the rows of the run in their order,
        then the judged documents that were not retrieved, strategy by strategy, in the order of
        `judgments`. An empty run gives every judged document without a score if `strategy` is None,
        and no row at all otherwise, since it names no strategy.

    Raises
    ------
    ColumnNotFoundError
        If a frame lacks a column.
    TypeError
        If `query` or `doc` has another data type in one frame than in the other.
    ValueError
        If a query, document or strategy is null, or a document is in a frame more than once for a
        query (in `run`: and strategy). If both frames have another column of the same name, such as
        a grade. If the run has no column left to rank by. If it holds several strategies and
        `strategy` is None.

    Warns
    -----
    UserWarning
        If queries of the run have no judgment. They are left out.

    Examples
    --------
    Nothing says whether d9 is relevant, d2 was missed, and q2 was not answered at all.

    >>> import polars as pl
    >>> import polars_graded as pg
    >>> run = pl.DataFrame(
    ...     {"query": ["q1", "q1"], "doc": ["d1", "d9"], "score": [0.9, 0.4]}
    ... )
    >>> judgments = pl.DataFrame(
    ...     {"query": ["q1", "q1", "q2"], "doc": ["d1", "d2", "d1"], "grade": [2, 1, 1]}
    ... )
    >>> pg.judge(run, judgments)
    shape: (4, 4)
    ┌───────┬─────┬───────┬───────┐
    │ query ┆ doc ┆ score ┆ grade │
    │ ---   ┆ --- ┆ ---   ┆ ---   │
    │ str   ┆ str ┆ f64   ┆ i64   │
    ╞═══════╪═════╪═══════╪═══════╡
    │ q1    ┆ d1  ┆ 0.9   ┆ 2     │
    │ q1    ┆ d9  ┆ 0.4   ┆ null  │
    │ q1    ┆ d2  ┆ null  ┆ 1     │
    │ q2    ┆ d1  ┆ null  ┆ 1     │
    └───────┴─────┴───────┴───────┘
    """
    run = check_collected("run", run)
    judgments = check_collected("judgments", judgments)
    pair = [query, doc]
    check_columns("run", pair if strategy is None else [strategy, *pair], run.columns)
    check_columns("judgments", [*pair, grade], judgments.columns)

    strategy = _strategy_column(run, strategy)
    key = pair if strategy is None else [strategy, *pair]
    _check_match(run, judgments, pair, key)
    _check_keys(run, "run", key)
    _check_keys(judgments, "judgments", pair)

    judged = judgments.drop_nulls(grade)
    if unjudged_below is not None:
        least = check_number("unjudged_below", unjudged_below)
        judged = judged.filter(pl.col(grade) >= least)
    strategies = None if strategy is None else run[strategy].unique(maintain_order=True)
    run = _with_judged_queries(run, judged, query)
    retrieved, missed = retrieved_and_missed(run, judged, pair, strategies)
    return pl.concat([retrieved, missed], how="diagonal")


def _strategy_column(run: pl.DataFrame, strategy: str | None) -> str | None:
    """The column of strategies: the one that is named, or "strategy" if it names a single one."""
    if strategy is not None or "strategy" not in run.columns:
        return strategy
    count = run["strategy"].drop_nulls().n_unique()
    if count > 1:
        msg = (
            f'`run` must be one ranking per query, got {count} strategies in its column "strategy":'
            ' pass strategy="strategy" to keep them apart, or drop the column to merge them'
        )
        raise ValueError(msg)
    return "strategy" if count else None


def _check_match(
    run: pl.DataFrame, judgments: pl.DataFrame, pair: Sequence[str], key: Sequence[str]
) -> None:
    for column in pair:
        ours, theirs = run.schema[column], judgments.schema[column]
        if ours != theirs:
            msg = (
                f'"{column}" must have one data type, got {ours} in `run` and {theirs} in'
                " `judgments`: cast one of them"
            )
            raise TypeError(msg)
    shared = [c for c in judgments.columns if c in run.columns and c not in pair]
    if shared:
        msg = (
            f"only {_listed(pair)} may be in both `run` and `judgments`, got {_listed(shared)}:"
            " drop or rename it in one of them"
        )
        raise ValueError(msg)
    if not set(run.columns).difference(key):
        # Its null is what tells a document that was missed from a retrieved one.
        msg = f"`run` must have a column to rank by, such as a score, got {_listed(run.columns)}"
        raise ValueError(msg)


def _check_keys(frame: pl.DataFrame, name: str, key: list[str]) -> None:
    for column in key:
        if nulls := frame[column].null_count():
            msg = f'"{column}" must not be null in `{name}`, got {nulls} nulls'
            raise ValueError(msg)
    if not are_distinct(frame, key):
        repeated = frame.filter(pl.struct(key).is_duplicated()).select(key).unique()
        msg = (
            f"`{name}` must have each ({', '.join(key)}) once,"
            f" got {repeated.height} more than once: {_first(repeated.sort(key).rows())}"
        )
        raise ValueError(msg)


def _with_judged_queries(run: pl.DataFrame, judged: pl.DataFrame, query: str) -> pl.DataFrame:
    queries = run.select(query).unique()
    if queries.join(judged, on=query, how="anti").is_empty():
        return run
    queries = run.select(query).unique(maintain_order=True)
    unjudged = queries.join(judged, on=query, how="anti", maintain_order="left")[query]
    warnings.warn(
        "queries without any judgment are left out of `run`,"
        f" got {len(unjudged)}: {_first(unjudged.to_list())}",
        UserWarning,
        stacklevel=3,
    )
    return run.join(judged, on=query, how="semi", maintain_order="left")


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(f'"{column}"' for column in columns) or "none"


def _first(keys: Sequence[object]) -> str:
    shown = [repr(key) for key in keys[:_SHOWN_KEYS]]
    return ", ".join(shown if len(keys) <= _SHOWN_KEYS else [*shown, "..."])
