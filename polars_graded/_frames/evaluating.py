"""Whole frames: a frame of rankings in, one row per strategy and query out."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Sequence
from typing import Any, TypedDict, TypeVar

import polars as pl

from polars_graded._checks import (
    check_column_name,
    check_columns,
    check_flag,
    check_frame,
)
from polars_graded._measuring.expression import several
from polars_graded._measuring.names import Measure
from polars_graded._measuring.ranking import Ranking, check_grade, check_score

Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)


class FrameOptions(TypedDict, total=False):
    """The keywords of `evaluate`, which what is built on it hands on."""

    query: str
    grade: str
    by: str | Sequence[str | Sequence[str]]
    strategy: str | None
    descending: bool
    irrelevant: float
    highest: float | None
    undefined_as: float | None
    condensed: bool


def evaluate(
    frame: Frame,
    *measures: str,
    query: str = "query",
    grade: str = "grade",
    by: str | Sequence[str | Sequence[str]] = "score",
    strategy: str | None = None,
    descending: bool = True,
    irrelevant: float = 0.0,
    highest: float | None = None,
    undefined_as: float | None = 0.0,
    condensed: bool = False,
) -> Frame:
    """Measure the rankings of a whole frame: one row per strategy and query.

    A row of the frame is a document of a query, as `Graded` describes it: a null score means that
    it was not retrieved, a null grade that it was not judged. Several score columns are several
    strategies; so are the values of a column `strategy`.

    Parameters
    ----------
    frame
        A DataFrame, or a LazyFrame, which gives a LazyFrame.
    *measures
        Measures as their columns are called: `"mu_ap"`, `"ndcg@10"`, `"ap(threshold=2)@100"`.
    query
        The column that tells the queries apart.
    grade
        The column of relevance grades.
    by
        The column to rank by, or several, each then a strategy named after it. A list in the list
        is one strategy whose further columns break ties: `by=[["score", "doc"]]` is trec_eval's
        order. What is still tied stays in row order.
    strategy
        The column that tells strategies apart, where rows are stacked; then `by` names one.
    descending
        Whether the highest value comes first; False for a column of rank numbers.
    irrelevant, highest
        The scale of the grades, as in `Graded.scaled`.
    undefined_as
        What a query without a relevant document gets, as in `Graded.undefined_as`.
    condensed
        Whether to drop unjudged documents from the rankings, as in `Graded.condensed`.

    Returns
    -------
    DataFrame or LazyFrame
        The strategy (under the name of the column `strategy`, `"strategy"` by default), the query
        and a column a measure, sorted by strategy and query.

    Raises
    ------
    ColumnNotFoundError
        If a column is not there.
    TypeError
        If the grade or the score is not a number.
    ValueError
        If no measure is named, one twice, or one that does not exist; if `query` or `strategy` has
        a measure's name; if two strategies have one name, or `strategy` is given along with several
        columns in `by`; if a grade or a score is NaN or infinite; if the frame has a column
        "strategy" with several values and `strategy` does not say so.

    Warns
    -----
    UserWarning
        If a stacked strategy has no row at all for some query, which so is missing from the
        result. `judge` adds such queries.

    Examples
    --------
    >>> df = pl.DataFrame(
    ...     {
    ...         "query": ["a", "a", "b", "b"],
    ...         "grade": [0, 2, 1, 0],
    ...         "bm25": [3.0, 2.0, 9.0, 4.0],
    ...         "ours": [0.1, 0.7, 0.2, 0.3],
    ...     }
    ... )
    >>> evaluate(df, "reciprocal_rank", "precision@1", by=["bm25", "ours"])
    shape: (4, 4)
    ┌──────────┬───────┬─────────────────┬─────────────┐
    │ strategy ┆ query ┆ reciprocal_rank ┆ precision@1 │
    │ ---      ┆ ---   ┆ ---             ┆ ---         │
    │ str      ┆ str   ┆ f64             ┆ f64         │
    ╞══════════╪═══════╪═════════════════╪═════════════╡
    │ bm25     ┆ a     ┆ 0.5             ┆ 0.0         │
    │ bm25     ┆ b     ┆ 1.0             ┆ 1.0         │
    │ ours     ┆ a     ┆ 1.0             ┆ 1.0         │
    │ ours     ┆ b     ┆ 0.5             ┆ 0.0         │
    └──────────┴───────┴─────────────────┴─────────────┘

    The means that go into a table:

    >>> evaluate(df, "reciprocal_rank", by=["bm25", "ours"]).group_by(
    ...     "strategy", maintain_order=True
    ... ).agg(pl.col("reciprocal_rank").mean())
    shape: (2, 2)
    ┌──────────┬─────────────────┐
    │ strategy ┆ reciprocal_rank │
    │ ---      ┆ ---             │
    │ str      ┆ f64             │
    ╞══════════╪═════════════════╡
    │ bm25     ┆ 0.75            │
    │ ours     ┆ 0.75            │
    └──────────┴─────────────────┘
    """
    check_frame("frame", frame)
    chosen = [Measure.parse(name) for name in measures]
    strategies = _strategies(by)
    for argument, name in (("query", query), ("grade", grade), ("strategy", strategy)):
        if name is not None:
            check_column_name(argument, name)
    if strategy is not None and len(strategies) > 1:
        msg = f"`by` must name one column where `strategy` is given, got {', '.join(strategies)}"
        raise ValueError(msg)
    _check_columns_hold(frame.collect_schema(), query, grade, strategies, strategy)

    key = "strategy" if strategy is None else strategy
    if query == key:
        msg = f"`query` must be another column than the one of strategies, got {query!r} for both"
        raise ValueError(msg)
    for argument, name in (("query", query), ("strategy", key)):
        if name in [each.name for each in chosen]:
            msg = f"`{argument}` must not have the name of a measure, got {name!r}"
            raise ValueError(msg)
    if strategy is None and isinstance(frame, pl.DataFrame):
        _check_not_stacked(frame)

    scaled = Ranking(pl.col(grade), condensed=check_flag("condensed", condensed))
    scaled = scaled.scaled(irrelevant, highest).undefined_as(undefined_as)
    parts = []
    struct = f"measures of {key} and {query}"  # longer than both, so neither's name
    for name, columns in sorted(strategies.items()):
        ranking = scaled.ranked_by(columns, descending=descending)
        values = several(chosen, ranking).alias(struct)
        groups = frame.lazy().group_by(query if strategy is None else [strategy, query])
        part = groups.agg(values).select(
            pl.lit(name).alias(key) if strategy is None else key, query, struct
        )
        part = part.unnest(struct).sort(key, query)
        # One strategy after the other, so that only one is ranked in memory at a time.
        parts.append(part if isinstance(frame, pl.LazyFrame) else _collected(part))
    result = pl.concat(parts)
    if strategy is not None and isinstance(result, pl.DataFrame):
        _warn_of_missing_queries(result, strategy, query)
    return result


def _collected(part: pl.LazyFrame) -> pl.DataFrame:
    """The frame, or what is wrong with its data without the plan that Polars puts after it."""
    try:
        return part.collect()
    except ValueError as error:
        raise ValueError(str(error).split("\n\n", maxsplit=1)[0]) from None


def _strategies(by: str | Sequence[str | Sequence[str]]) -> dict[str, list[str]]:
    """The columns to rank by of each strategy, under its name."""
    entries: Sequence[Any] = [by] if isinstance(by, str) or not isinstance(by, Sequence) else by
    columns = [list(entry) if isinstance(entry, list | tuple) else [entry] for entry in entries]
    for entry in columns:
        if (
            not isinstance(entry, Sequence)
            or not entry
            or not all(isinstance(c, str) for c in entry)
        ):
            msg = f"`by` takes column names and lists of them, got {by!r}"
            raise TypeError(msg)
    strategies = {entry[0]: entry for entry in columns}
    if not strategies:
        msg = "`by` must name at least one column, got none"
        raise ValueError(msg)
    if len(strategies) < len(columns):
        msg = f"`by` must name each strategy's first column once, got {by!r}"
        raise ValueError(msg)
    return strategies


def _check_columns_hold(
    schema: pl.Schema,
    query: str,
    grade: str,
    strategies: dict[str, list[str]],
    strategy: str | None,
) -> None:
    """Raise where a column is missing or of the wrong kind."""
    scores = [name for columns in strategies.values() for name in columns]
    others = [] if strategy is None else [strategy]
    check_columns("frame", [query, grade, *scores, *others], schema)
    check_grade(grade, schema[grade])
    for first, *_ in strategies.values():
        if schema[first] == pl.String and len(strategies) > 1:
            msg = (
                f"score {first!r} must be a number to rank by, got String; "
                "a column that breaks ties goes into a list: `by=[['score', 'doc']]`"
            )
            raise TypeError(msg)
        check_score(first, schema[first])


def _check_not_stacked(frame: pl.DataFrame) -> None:
    """Raise where several strategies are stacked that nobody said to tell apart."""
    if "strategy" in frame.columns and (n := frame.get_column("strategy").n_unique()) > 1:
        msg = (
            f"`frame` has {n} strategies in its column 'strategy', which would be ranked as one: "
            "say `strategy='strategy'`, or drop the column"
        )
        raise ValueError(msg)


def _warn_of_missing_queries(result: pl.DataFrame, strategy: str, query: str) -> None:
    """Warn where a strategy has fewer queries than there are."""
    n_queries = result.get_column(query).n_unique()
    fewer = result.group_by(strategy).len().filter(pl.col("len") < n_queries).sort(strategy)
    if fewer.height:
        named = ", ".join(
            f"{name!r} lacks {n_queries - n} of {n_queries}"
            for name, n in fewer.head(5).iter_rows()
        )
        msg = (
            "some strategies have no row for some queries, which are missing from their means: "
            f"{named}; "
            "judge() adds the queries that a run did not answer"
        )
        warnings.warn(msg, stacklevel=_levels_to_the_caller())


def _levels_to_the_caller() -> int:
    """How many calls up the stack is the first from outside the package, from who asks."""
    package = __name__.partition(".")[0]
    frame, levels = inspect.currentframe(), 0
    while frame is not None and frame.f_globals.get("__name__", "").startswith(f"{package}."):
        frame, levels = frame.f_back, levels + 1
    return levels
