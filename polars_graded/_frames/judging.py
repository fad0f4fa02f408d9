"""A run joined with judgments, so that no query and no judged document is lost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict, Unpack, overload

import polars as pl

from polars_graded._checks import check_column_name, check_number
from polars_graded._frames.engines import find_engine
from polars_graded._frames.inputs import build_grader_table, build_run_table
from polars_graded._frames.judged_rows import judged_rows
from polars_graded._measuring.keywords import checks_keywords

__all__ = ["join_judgments"]


class _Options(TypedDict, total=False):
    """The keywords of `join_judgments`."""

    query: str
    doc: str
    grade: str
    strategy: str | None
    unjudged_below: float | None


@overload
def join_judgments(
    run: pl.LazyFrame | Mapping[str, pl.LazyFrame], judgments: Any, **options: Unpack[_Options]
) -> pl.LazyFrame: ...
@overload
def join_judgments(run: Any, judgments: Any, **options: Unpack[_Options]) -> pl.DataFrame: ...
@checks_keywords
def join_judgments(
    run: Any,
    judgments: Any,
    *,
    query: str = "query",
    doc: str = "doc",
    grade: str = "grade",
    strategy: str | None = None,
    unjudged_below: float | None = None,
) -> Any:
    """Join a run with judgments into the one frame that measures need.

    A row is a document of a query: retrieved and judged, retrieved only (its grade is null) or
    judged only (its score is null, as is every other column of the run). Every judged document of
    every judged query is there for every strategy, so a query that a strategy failed to answer
    counts as a failure instead of vanishing from the mean. A judgment whose grade is null does
    not count: it is as if its row were not there.

    Parameters
    ----------
    run
        The retrieved documents, with a score or a rank: any data frame, as for `evaluate`; or a
        mapping from queries to scores, `{query: {doc: score}}`, as pytrec_eval, ranx and BEIR have
        it; or a mapping from queries to documents in rank order, `{query: [doc, ...]}`. A mapping
        from names to any of these stacks several strategies. A LazyFrame, of `scan_run` or any
        other, may be larger than memory: its rows go by when the result is collected. A frame of
        Spark is joined there; a dataset of Ray is collected.
    judgments
        The judged documents: a data frame; or `{query: {doc: grade}}`; or `{query: [doc, ...]}` of
        relevant documents, which then have grade 1. Of several graders a mapping from their names
        to any of these, or a frame with a column `"grader"` and one row per query, document and
        grader: then each has a column of grades, called as they are, for `evaluate(grade=[...])`.
    query
        The column of both frames that names the query.
    doc
        The column of both frames that names the document. A column of lists has one row per query:
        lists of ids in rank order (in `judgments`: of relevant documents, of grade 1), or of
        structs, whose fields are columns then. Without a column of that name it is `retrieved` of
        `run` and `relevant` of `judgments`.
    grade
        The column of `judgments` that holds the grade.
    strategy
        The column of `run` that tells several runs apart. Without it the run is one ranking per
        query, and a column called "strategy" may hold one value only, which added rows get too. A
        mapping of strategies has it under this name, or else "strategy".
    unjudged_below
        A judgment with a lower grade does not count: with 0, documents that a qrels file marks by
        -1 as pooled but not judged are unjudged, as trec_eval has them. By default every grade is
        a judgment.

    Returns
    -------
    DataFrame, LazyFrame or Spark's DataFrame
        The columns of `run`, then those `judgments` adds. First the rows of the run in their order,
        then the judged documents that were not retrieved, strategy by strategy, in the order of
        `judgments`. An empty run gives every judged document without a score if `strategy` is None,
        and no row at all otherwise, since it names no strategy. What comes in rank order has `rank`
        and, so that the first is highest, `score`, minus the rank.

        A lazy run, or a mapping with one, gives a LazyFrame of the same rows in the same order. A
        run of Spark gives a frame of Spark, in no order.

    Raises
    ------
    ValueError
        If the two have no (query, document) in common, or another column of the same name, such as
        a grade. If a query, document or strategy is null, or a document is in a frame more than
        once for a query (in `run`: and strategy). If the run holds several strategies and
        `strategy` is None.

        What the columns of a lazy run show is refused at once, what its rows show when it is
        collected, as they go by (within a ComputeError, in Polars before 2). To see that none comes
        twice, eight bytes of each row are kept, in a temporary folder where they are many. A run of
        Spark fails where a key is null, or where a document comes twice for a judged query; whether
        it has anything in common with the judgments is not looked at.

    Warns
    -----
    DataWarning
        If judgments have a grade below 0 and `unjudged_below` is not said: they count as judged.
        If queries of the run have no judgment; they are left out. If judged queries were answered
        by no strategy, by some strategies alone (it names these and the first of the queries), or a
        strategy answered none of them; they count as failures. If in most of the queries that were
        answered nothing that was retrieved is judged, or the two have hardly a document in common,
        as where identifiers are written differently; one of each side is shown.
        What the rows of a lazy run show is warned of when it is collected. Of a run of Spark
        nothing is, but of grades below 0 in judgments that are not in Spark.

    See Also
    --------
    overview : What there is to measure, before measuring.
    evaluate : Measures of such a frame.

    Examples
    --------
    Nothing says whether d9 is relevant, and "a" missed d2 of q1 and d1 of q2.

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

    Lists of ids, one row per query, as retrieval for language models has them:

    >>> answers = pl.DataFrame(
    ...     {"query": [1], "retrieved": [["c", "a"]], "relevant": [["a", "b"]]}
    ... )
    >>> join_judgments(answers, answers)
    shape: (3, 5)
    ┌───────┬─────┬──────┬───────┬───────┐
    │ query ┆ doc ┆ rank ┆ score ┆ grade │
    │ ---   ┆ --- ┆ ---  ┆ ---   ┆ ---   │
    │ i64   ┆ str ┆ i64  ┆ i64   ┆ i64   │
    ╞═══════╪═════╪══════╪═══════╪═══════╡
    │ 1     ┆ c   ┆ 1    ┆ -1    ┆ null  │
    │ 1     ┆ a   ┆ 2    ┆ -2    ┆ 1     │
    │ 1     ┆ b   ┆ null ┆ null  ┆ 1     │
    └───────┴─────┴──────┴───────┴───────┘
    """
    for argument, name in (("query", query), ("doc", doc), ("grade", grade)):
        check_column_name(argument, name)
    if strategy is not None:
        check_column_name("strategy", strategy)
    if unjudged_below is not None:
        unjudged_below = check_number("unjudged_below", unjudged_below)
    engine = find_engine(run)
    if engine is not None and hasattr(engine, "join_rows"):
        return engine.join_rows(run, judgments, query, doc, grade, strategy, unjudged_below)
    runs = build_run_table(run, query, doc, strategy)
    judged, grades = build_grader_table(judgments, query, doc, grade)
    return judged_rows(runs, judged, query, doc, grades, unjudged_below)
