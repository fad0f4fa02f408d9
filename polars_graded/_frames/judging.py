"""Join a run with judgments without losing queries or judged documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Unpack, overload

import polars as pl

from polars_graded._checks import check_column_name, check_column_names, check_number, pack_query
from polars_graded._frames.inputs import build_grader_table, build_run_table, gather_subtopics
from polars_graded._frames.joining import join_rows
from polars_graded._measuring.keywords import checks_call

__all__ = ["join_judgments"]


class _Options(TypedDict, total=False):
    """The keywords of `join_judgments`."""

    query: str | Sequence[str]
    doc: str
    grade: str
    strategy: str | None
    subtopic: str | None
    unjudged_below: float | None


@overload
def join_judgments(
    run: pl.LazyFrame | Mapping[str, pl.LazyFrame], judgments: Any, **options: Unpack[_Options]
) -> pl.LazyFrame: ...
@overload
def join_judgments(run: Any, judgments: Any, **options: Unpack[_Options]) -> pl.DataFrame: ...
@checks_call
def join_judgments(
    run: Any,
    judgments: Any,
    *,
    query: str | Sequence[str] = "query",
    doc: str = "doc",
    grade: str = "grade",
    strategy: str | None = None,
    subtopic: str | None = None,
    unjudged_below: float | None = None,
) -> Any:
    """Join a run with judgments into one frame that can be evaluated.

    A row of the result is a document of a query. If the document is not judged, its grade is null.
    If it was not retrieved, its score is null. The result contains every judged document of every
    judged query for every strategy, so that an unanswered query counts as a failure. The page
    "Rows, ties and missing judgments" of the documentation describes lists, empty runs and ids.

    Parameters
    ----------
    run
        The retrieved documents, with a score or a rank: any data frame; `{query: {doc: score}}`; or
        `{query: [doc, ...]}` in rank order. A mapping from names to any of these stacks strategies.
        A LazyFrame is joined lazily; Spark and Ray are collected.
    judgments
        The judged documents: a data frame; `{query: {doc: grade}}`; or `{query: [doc, ...]}` of
        relevant documents, which get grade 1. For several graders, pass a mapping from their names,
        or a column `"grader"`.
    query, doc
        The columns of both frames that name the query (one or a list of columns) and the document.
        A column of documents may hold one list per query.
    grade
        The column of `judgments` that holds the grade. A null grade is no judgment.
    strategy
        The column of `run` that identifies strategies. Without this argument, the run is one
        ranking per query. For a mapping of runs, it names the column of the result, by default
        "strategy".
    subtopic
        The column of `judgments` that names the subtopic, if a document is judged once per
        subtopic. The result has one row per document with its highest grade, and a column
        "subtopics".
    unjudged_below
        Judgments with a lower grade are ignored. With 0, documents with the grade -1 in a qrels
        file (pooled but not judged) are unjudged. By default, every grade is a judgment.

    Returns
    -------
    DataFrame or LazyFrame
        The columns of `run`, then those that `judgments` adds. The rows of the run for judged
        queries come first, then the judged documents that were not retrieved, strategy by strategy.

    Raises
    ------
    ValueError
        If run and judgments write ids in different forms, so that no document is found. If a
        document occurs more than once for a query in `judgments`, or for a query and strategy in
        `run`. If the run holds several strategies and `strategy` is None; if a query, document or
        strategy is null; if another column is in both frames. Errors in the rows of a lazy run are
        raised when the result is collected.

    Warns
    -----
    DataWarning
        If queries of the run have no judgment (they are left out), or strategies did not answer a
        judged query (these count as failures). If run and judgments have hardly any document in
        common. If judgments have a grade below 0 and `unjudged_below` is not passed.

    See Also
    --------
    overview : Counts of retrieved, judged and relevant documents, before measuring.
    evaluate : Measures of such a frame.

    Examples
    --------
    No judgment names d9. The strategy "a" did not retrieve d2 for q1, nor d1 for q2.

    >>> import polars as pl
    >>> runs = {
    ...     "a": {"q1": {"d1": 0.9, "d9": 0.4}, "q2": {"d9": 0.3}},
    ...     "b": {"q1": {"d1": 0.7, "d2": 0.1}, "q2": {"d1": 0.5}},
    ... }
    >>> judgments = pl.DataFrame(
    ...     {"query": ["q1", "q1", "q2"], "doc": ["d1", "d2", "d1"], "grade": [2, 1, 1]}
    ... )
    >>> join_judgments(runs, judgments)
    shape: (8, 5)
    ┌──────────┬───────┬─────┬───────┬───────┐
    │ strategy ┆ query ┆ doc ┆ score ┆ grade │
    │ ---      ┆ ---   ┆ --- ┆ ---   ┆ ---   │
    │ str      ┆ str   ┆ str ┆ f64   ┆ i64   │
    ╞══════════╪═══════╪═════╪═══════╪═══════╡
    │ a        ┆ q1    ┆ d1  ┆ 0.9   ┆ 2     │
    │ a        ┆ q1    ┆ d9  ┆ 0.4   ┆ null  │
    │ a        ┆ q2    ┆ d9  ┆ 0.3   ┆ null  │
    │ b        ┆ q1    ┆ d1  ┆ 0.7   ┆ 2     │
    │ b        ┆ q1    ┆ d2  ┆ 0.1   ┆ 1     │
    │ b        ┆ q2    ┆ d1  ┆ 0.5   ┆ 1     │
    │ a        ┆ q1    ┆ d2  ┆ null  ┆ 1     │
    │ a        ┆ q2    ┆ d1  ┆ null  ┆ 1     │
    └──────────┴───────┴─────┴───────┴───────┘
    """
    columns = check_column_names("query", query)
    query = ", ".join(columns)
    if len(columns) > 1:
        run, judgments = (
            pack_query(argument, frames, columns, query)
            for argument, frames in (("run", run), ("judgments", judgments))
        )
    for argument, name in (("doc", doc), ("grade", grade)):
        check_column_name(argument, name)
    if strategy is not None:
        check_column_name("strategy", strategy)
    if unjudged_below is not None:
        unjudged_below = check_number("unjudged_below", unjudged_below)
    if subtopic is not None:
        check_column_name("subtopic", subtopic)
        judgments = gather_subtopics(judgments, query, doc, grade, subtopic, unjudged_below)
    runs = build_run_table(run, query, doc, strategy)
    judged, grades = build_grader_table(judgments, query, doc, grade)
    rows = join_rows(runs, judged, query, doc, grades, unjudged_below, columns)
    return rows if len(columns) == 1 else rows.unnest(query)
