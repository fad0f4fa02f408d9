"""Join a run with judgments without losing queries or judged documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Unpack, overload

import polars as pl

from polars_graded._checks import check_column_name, check_column_names, check_number, pack_query
from polars_graded._frames.engines import find_engine
from polars_graded._frames.inputs import build_grader_table, build_run_table, gather_subtopics
from polars_graded._frames.judged_rows import judged_rows
from polars_graded._measuring.keywords import checks_keywords

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
@checks_keywords
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
    If the document was not retrieved, its score is null, and so are all other columns of the run
    except query, document and strategy. The result contains every judged document of every judged
    query for every strategy. A query that a strategy failed to answer thus counts as a failure,
    instead of vanishing from the mean. A judgment whose grade is null is ignored.

    Parameters
    ----------
    run
        The retrieved documents, with a score or a rank: any data frame, as for `evaluate`; or
        `{query: {doc: score}}`, as in pytrec_eval, ranx and BEIR; or `{query: [doc, ...]}` in rank
        order. A mapping from names to any of these stacks several strategies. A LazyFrame, such as
        that of `scan_run`, may be larger than memory: its rows are streamed when the result is
        collected. A frame of Spark is joined in Spark; a dataset of Ray is collected.
    judgments
        The judged documents: a data frame; or `{query: {doc: grade}}`; or `{query: [doc, ...]}` of
        relevant documents, which get grade 1. For several graders, pass a mapping from their names
        to any of these, or a frame with a column `"grader"`. The result then has one column of
        grades per grader, for `evaluate(grade=[...])`.
    query
        The column of both frames that names the query, or a list of columns, such as the term and
        the market.
    doc
        The column of both frames that names the document. It may also hold one list per query, of
        ids or of structs whose fields become columns. In `run`, a list is in rank order. If this
        column is absent or holds no lists, a column of lists called `retrieved` in `run`, or
        `relevant` in `judgments`, is used instead.
    grade
        The column of `judgments` that holds the grade.
    strategy
        The column of `run` that identifies strategies. Without this argument, the run is one
        ranking per query, and a column called "strategy" may hold only one value. If `run` is a
        mapping from names, this argument names the column of the result, by default "strategy".
    subtopic
        The column of `judgments` that names the subtopic, if a document is judged once per
        subtopic, as in `read_qrels(..., subtopics=True)`. The result has one row per document with
        its highest grade, and a column "subtopics" of the subtopics with a grade above 0, for
        `evaluate(..., subtopics="subtopics")`.
    unjudged_below
        Judgments with a lower grade are ignored. With 0, documents with the grade -1 in a qrels
        file (pooled but not judged) are unjudged, as in trec_eval. By default, every grade is a
        judgment.

    Returns
    -------
    DataFrame, LazyFrame or Spark's DataFrame
        The columns of `run`, then the columns that `judgments` adds. The rows of the run for judged
        queries come first, in the order of `run`. The judged documents that were not retrieved
        follow, strategy by strategy, in the order of `judgments`. A frame of Spark has no order.

        If `run` is empty, such as `{}` or `{"q1": []}`, the result contains every judged document
        without a score. The same holds for an empty run in a mapping of strategies. An empty frame
        with a column `strategy` names no strategy, so the result is empty.

        If `run` has lists, the result has the columns `rank` and `score`, and of the other columns
        only the query and the strategy. The score is the field `score` of the structs, or else the
        negative rank.

    Raises
    ------
    ValueError
        If no document is found because run and judgments write ids in different forms: all ids of
        one are whole numbers and none of the other is, or ids are equal only as numbers, such as
        "1.0" and "1". The first 1000 retrieved documents and all judged ones are compared.

        If a column other than query and document is in both frames. If a query, document or
        strategy is null. If a document occurs more than once for a query in `judgments`, or for a
        query and strategy in `run`; a 64-bit hash of each row finds such documents. If the run
        holds several strategies and `strategy` is None.

        Errors in the rows of a lazy run are raised when the result is collected (within a
        ComputeError in Polars before 2). In Spark, nulls and repeated documents make the job fail.

    Warns
    -----
    DataWarning
        If judgments have a grade below 0 and `unjudged_below` is not passed; these judgments count.
        If queries of the run have no judgment; these queries are left out. If some or all
        strategies did not answer a judged query; these queries count as failures. If in most of the
        answered queries no retrieved document is judged, or if run and judgments have hardly any
        document in common; the warning shows a name from each frame.

        For a lazy run, warnings about its rows appear when the result is collected. For a run in
        Spark, the only warning is about grades below 0, and only if the judgments are not in Spark.

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

    Lists of ids with one row per query, as is common in retrieval for language models:

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
    engine = find_engine(run)
    if engine is not None and hasattr(engine, "join_rows"):
        return engine.join_rows(run, judgments, query, doc, grade, strategy, unjudged_below)
    runs = build_run_table(run, query, doc, strategy)
    judged, grades = build_grader_table(judgments, query, doc, grade)
    rows = judged_rows(runs, judged, query, doc, grades, unjudged_below)
    return rows if len(columns) == 1 else rows.unnest(query)
