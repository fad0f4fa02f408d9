"""Whole frames: a frame of rankings in, one row per strategy and query out."""

from __future__ import annotations

from functools import reduce
from typing import Any, Unpack, overload

import polars as pl

from polars_graded._checks import check_flag
from polars_graded._frames.document_columns import DEFAULT_DOC
from polars_graded._frames.engines import engine_of
from polars_graded._frames.fingerprints import check_fingerprint, with_fingerprints
from polars_graded._frames.measuring import measured, measured_later
from polars_graded._frames.parts import Parts, check_parts
from polars_graded._frames.request import Measures, Request, RequestOptions
from polars_graded._measuring.keywords import takes_options_of


class FrameOptions(RequestOptions, total=False):
    """The keywords of `evaluate`, which what is built on it hands on."""

    doc: str | None
    parts: Parts
    progress: bool


@overload
def evaluate(
    frame: pl.LazyFrame,
    *measures: Measures,
    fingerprint: str | None = None,
    **options: Unpack[FrameOptions],
) -> pl.LazyFrame: ...
@overload
def evaluate(
    frame: Any, *measures: Measures, fingerprint: str | None = None, **options: Unpack[FrameOptions]
) -> pl.DataFrame: ...
@takes_options_of(Request.of)
def evaluate(
    frame: Any,
    *measures: Measures,
    doc: str | None = DEFAULT_DOC,
    parts: Parts = None,
    progress: bool = True,
    fingerprint: str | None = None,
    **options: Unpack[RequestOptions],
) -> Any:
    """Measure the rankings of a whole frame: one row per strategy and query.

    A row of the frame is a document of a query, as `Graded` describes it: a null score means that
    it was not retrieved, a null grade that it was not judged. Several score columns are several
    strategies; so are the values of a column `strategy`.

    Parameters
    ----------
    frame
        Any data frame: Polars, pandas (whose NaN is null here, and whose named index counts as
        columns), pyarrow, DuckDB, or another that narwhals or Arrow's PyCapsule interface knows. A
        LazyFrame gives a LazyFrame; Spark and Ray give their own, after one shuffle of the rows.
    *measures
        Measures as their columns are called: `"mu_ap"`, `"ndcg@10"`, `"ap(threshold=2)@100"`; lists
        of them; or mappings that give a column another name: `{"nDCG": "ndcg(gain=linear)@10"}`.
    query
        The column that tells the queries apart, or several, which stand side by side in the result.
    grade
        The column of relevance grades; or several, each of a grader called so, or with a mapping
        otherwise: `grade={"people": "grade_1", "model": "grade_2"}`. Then there is a row per grader
        too, under the column `"grader"`, and the values of a query in which a grader judged nothing
        are null: they did not judge it. Spark and Ray go through the rows once for each grader.
        An expression is evaluated within each ranking: φ is per query in
        `grade=pl.col("popularity").graded.phi_relevance()`.
    by
        The column to rank by, or several, each then a strategy named after it; a mapping names
        strategies otherwise: `by={"BM25": "score_1", "ours": "score_2"}`. A list in the place of a
        column is one strategy whose further columns break ties: `by=[["score", "doc"]]`.
        Expressions take the place of columns, and are evaluated within each ranking:
        `by={"old": -pl.col("rank")}`.
    strategy
        The column that tells strategies apart, where rows are stacked; then `by` names one.
    ties
        The column, or columns, that break ties of all strategies, the highest value first; or
        `"order"`, which keeps the order of rows. By default the column that `doc` names orders tied
        documents, as text, the highest first: trec_eval's order, which `ties="doc"` says is meant;
        other columns of numbers order them as numbers. Without that column the order of
        rows does. A warning says so where this decides a value.

        The name of a tool gives the order in which it ranks tied documents: `"trec_eval"` (also
        pytrec_eval; by document as text, descending, of scores in 32 bits), `"ir_measures"` (that
        of the library behind each measure, such as document ascending for `judged` and
        `reciprocal_rank@10`) and `"ranx"` (its own sort, which needs numba). A mapping names
        another column of documents: `ties={"trec_eval": "item"}`.
    descending
        Whether the highest value comes first: a Boolean for all strategies; a list of one entry per
        strategy; or a mapping for some of them, `descending={"old_rank": False}`. Of a strategy
        with several columns an entry may be a list. By default the highest comes first, and a
        column that may hold ranks is refused. One False for ranks beside scores is refused, too;
        a False for each is not. What `ties` names has its highest value first in any
        case.
    doc
        The column of documents, which each ranking must have once. By default it is the column
        "doc", or one whose name means the same, such as "product_id" or "sku", or else the last
        column of texts that breaks ties; None for none.
    irrelevant, max_grade, relevant_from
        The scale of the grades, and from which of them on documents are relevant, as in
        `Graded.scaled`.
    undefined_as
        What a query without a relevant document gets: a number, or None for null, as in
        `Graded.undefined_as`. By default 0, and null for `roc_auc`.
    condensed
        Whether to drop unjudged documents from the rankings, as in `Graded.condensed`.
    parts
        How to cut rows that exceed memory into parts of whole queries: `"sorted"` streams rows that
        stand together for each query; a number is that many passes over the rows, each with a share
        of the queries; `"scratch"` is one pass that writes what exceeds memory to a folder of
        `tempfile.gettempdir()`. By default a DataFrame is measured at once; of a LazyFrame rows
        stream that its plan has sorted (`set_sorted`, `sort`), and otherwise its size and the
        memory at hand decide. The logger "polars_graded" says at level INFO what was chosen. Values
        are the same, but for the last bit of `mu_ap` and `gap`. For Spark and Ray a number of
        buckets, by default `spark.sql.shuffle.partitions` and 64: a worker holds one at a time.
    progress
        Whether to draw a bar where it takes seconds, tqdm is installed, and there is a terminal or
        a notebook.
    fingerprint
        The column of documents. The results then say what they are, for `write_results` and `gate`,
        in two more columns of text: `judgments`, a hash of the judged documents of the query and
        their grades, whatever their order; and `settings`, how values were measured (the version,
        each measure's full formula, the scale and what breaks ties). Documents are hashed as text,
        so that 7 and "7" are the same. Not for Spark and Ray.

    Returns
    -------
    DataFrame or LazyFrame, or the kind that came from an engine
        The strategy (under the name of the column `strategy`, `"strategy"` by default), the query
        and one column per measure. Strategies come in the order of `by`, or stacked ones in natural
        order, TS12 before TS108; queries are sorted. Those of Spark and Ray have no order, and
        their counts are 64-bit integers; `summarise`, `compare` and charts collect them.

    Raises
    ------
    ValueError
        If `descending` is not passed for a column to rank by that may hold ranks. Its numbers are
        whole and hardly repeat within a query, in nine of ten queries: they are 1 to n, or 0 to
        n - 1, in ten queries or more; or the pairs of equal numbers are at most 0.75 of those that
        unrelated numbers would have, and fewer by five standard deviations, and the lowest number
        is at most twice the distance to the highest. Halves are rounded down, as the means of tied
        ranks are halves. Numbers below 1 are left out, and the highest where a query repeats it,
        since they may stand for documents that were not shown; where `descending=False` would rank
        several numbers below 1 first, they are refused. If one `descending=False` covers columns of
        which only some may hold ranks.

        If a document is twice in a ranking, or has different grades for two stacked strategies. Up
        to a million rows all are checked for ranks and documents. Of more, a quarter of a million
        are for ranks, and half a million or a twentieth for documents, in whole queries spread over
        the frame (`overview` counts in all rows). Spark and Ray check each bucket by itself.

        If no column has a name of documents, and a further column of a frame, which must not be
        lazy, repeats few of its values in rankings (in ten or more): texts, or rows that are equal
        in all columns; or repeats none beside the values of another, as for two devices.

        If two strategies have one name; if the frame has a column "strategy" of several values, or
        is lazy and has one, that no argument names; if a grade or a score is NaN or infinite, or
        rows said to be sorted have a query in several places, of a LazyFrame when it is collected.

    Warns
    -----
    DataWarning
        Of what makes means wrong though every value is right; of a LazyFrame when it is collected.

        - `unjudged`: queries without a judged document, as a left join of a run and judgments has
          them; strategies of which a share of the first ten documents is judged that differs by
          0.2; a strategy of whose first ten documents less than 0.8 are judged, in ten queries or
          more; one of several graders who judged less than half of what another judged in a query.
        - `join`: relevant documents of a query that differ between stacked strategies; or all that
          is judged was retrieved, in ten queries or more, but not all that was retrieved is judged,
          as in logged data, and after a join that starts from the run.
        - `nulls`: rows whose query, or strategy, is null or NaN, and that are one of their own: how
          many; of several query columns one that is null in some rows of a query alone.
        - `missing`: a stacked strategy that has no row for some query, which its mean then lacks;
          a strategy that retrieved nothing at all.
        - `ranks`: a column that is called rank, position or place, counts from 1 in fewer than ten
          queries or in some of them, and of which the highest number is ranked first. In so few
          queries scores may count by chance, so that the name has to say so too.
        - `scale`: `err`, `nerr`, `generalized_precision` and `rbp(graded=True)` where queries
          differ in their highest grade and `max_grade` is not said: each is on a scale of its own
          then; grades that are whole numbers from 1 to 4 or more and never 0, as stars are, of
          which 1 counts as relevant; grades below 0, which count as judged and irrelevant; a
          highest grade such as 99 or 255, three times the next highest or more.
        - `ties`: documents with the same score whose order changes a value that was asked for,
          where `ties` is not passed, with the strategies that have most such queries; or `ties`
          that names the grade.

        `warnings.simplefilter("ignore", DataWarning.ties)` silences one of these kinds.
        Engines are not warned of anything: nobody there sees all queries. Their rows have no order
        either, so name what breaks `ties`.

    See Also
    --------
    overview : What there is to measure, before measuring.
    join_judgments : A run and its judgments as such a frame.
    summarise : The means of the result, that go into a table.
    long_form : The result with one row per measure and cutoff.

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
    """
    requests, engine = Request.of_graders(measures, doc=doc, **options), engine_of(frame)
    parts, shown = check_parts(parts), check_flag("progress", progress)
    if engine is not None:
        if fingerprint is not None:
            msg = "`fingerprint` must be None for frames of Spark and Ray, got a column"
            raise ValueError(msg)
        each = [engine.evaluated(request, frame, parts) for request in requests]
        return reduce(lambda one, other: one.union(other), each)
    for number, request in enumerate(requests):
        frame = request.open_frame(frame)
        requests[number] = request.with_document_column(frame.collect_schema())
    measure = measured_later if isinstance(frame, pl.LazyFrame) else measured
    if fingerprint is None:
        return measure(requests, frame, parts, shown=shown)
    check_fingerprint(requests, fingerprint, frame.collect_schema())
    values = measure(requests, frame, parts, shown=shown)
    return with_fingerprints(values, requests, frame, fingerprint)
