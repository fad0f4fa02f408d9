"""Evaluation of whole frames, with one row per strategy and query as the result."""

from __future__ import annotations

from typing import Any, Unpack

import polars as pl

from polars_graded._checks import check_flag
from polars_graded._frames.engines import find_engine
from polars_graded._frames.fingerprints import add_fingerprints, check_fingerprint
from polars_graded._frames.measuring import measure_frame, open_frame
from polars_graded._frames.parts import Parts, check_parts
from polars_graded._frames.request import Column, Measures, Request, RequestOptions
from polars_graded._measuring.keywords import returns_lazy_for_lazy, takes_options_of


class DocumentOptions(RequestOptions, total=False):
    """Keywords of `evaluate` that define the meaning of rows and their documents."""

    doc: str | None
    known: Column | None
    subtopics: Column | None
    popularity: Column | None
    features: Column | None
    reference: Column | None


class FrameOptions(DocumentOptions, total=False):
    """Keywords that other functions pass through to `evaluate`."""

    parts: Parts
    progress: bool


@returns_lazy_for_lazy
@takes_options_of(Request.of)
def evaluate(
    frame: Any,
    *measures: Measures,
    parts: Parts = None,
    progress: bool = True,
    fingerprint: str | None = None,
    **options: Unpack[DocumentOptions],
) -> pl.DataFrame | pl.LazyFrame:
    """Measure the rankings of a whole frame: one row per strategy and query.

    A row of the frame is a document of a query. As in `Graded`, a null score means that the
    document was not retrieved, and a null grade means that the document was not judged. Each score
    column is a strategy. If the rows of several strategies are stacked, `strategy` names the column
    that holds the strategy of each row.

    Parameters
    ----------
    frame
        Any data frame: Polars, pandas (NaN is read as null, and a named index as columns), pyarrow,
        DuckDB, or any other that narwhals or Arrow's PyCapsule interface supports. For a LazyFrame,
        the result is a LazyFrame; for a Spark frame, a Spark frame; and for a Ray dataset, a Ray
        dataset.
    *measures
        Names of measures, such as `"mu_ap"`, `"ndcg@10"` or `"ap(threshold=2)@100"`. Pass the names
        one by one or in lists. Each measure gives a column of the result with its name. A mapping
        gives another name to the column: `{"nDCG": "ndcg(gain=linear)@10"}`.
    query
        The column that identifies queries, or several columns. The result contains them.
    grade
        The column of relevance grades. Several columns are the grades of several graders, who are
        named after the columns. A mapping gives other names:
        `grade={"people": "grade_1", "model": "grade_2"}`. With several columns or a mapping, the
        result has one row per grader, strategy and query, with the grader in the column `"grader"`.
        If a grader judged no document of a query, the values of this query are null for the grader.
        Spark and Ray read and shuffle the rows once for each grader. Instead of a column, `grade`
        may be an expression, which is evaluated separately within each ranking:
        `grade=pl.col("popularity").graded.phi_relevance()` derives the relevance of a document from
        its popularity among the documents of the same ranking.
    by
        The column to rank by. Several columns are the scores of several strategies, which are named
        after the columns. A mapping gives other names: `by={"BM25": "score_1", "ours": "score_2"}`.
        To break ties by further columns, pass a list in place of a column: `by=[["score", "doc"]]`
        is one strategy called "score", ranked by "score" and then by "doc". Expressions can take
        the place of columns and are evaluated within each ranking: `by={"old": -pl.col("rank")}`.
    strategy
        The column that identifies strategies, if the rows of several strategies are stacked in one
        frame. In this case, `by` names one column.
    ties
        One or more columns that order tied documents of all strategies, the highest value first; or
        `"order"`, which keeps the order of the rows. Documents are tied if they are equal in all
        columns of `by`. They still count as tied after they have been ordered, for example for
        `roc_auc` and `ndcg(ties=average)`. By default, the column that `doc` names orders tied
        documents. Its values are compared as text, and the highest text comes first: "d9" before
        "d10". This is trec_eval's order; passing `ties="doc"` gives the same order without the
        warning below. Numbers in any other column of `ties` are compared as numbers. Without a
        column of documents, tied documents keep the order of the rows. If the order of tied
        documents changes a value, a warning reports it.

        To order tied documents as another tool does, pass its name: `"trec_eval"` (also for
        pytrec_eval: scores are compared as 32-bit floats, and tied documents are in descending text
        order), `"ir_measures"` (for each measure the order of the library that computes it, such as
        ascending text order for `judged` and `reciprocal_rank@10`) and `"ranx"` (the order in which
        ranx sorts; this requires numba). A mapping names another column of documents:
        `ties={"trec_eval": "item"}`.
    descending
        The direction: True ranks the highest value first. Pass a Boolean for all strategies, a list
        with one entry per strategy, or a mapping for some of them:
        `descending={"old_rank": False}`. If a strategy has several columns, its entry may be a list
        with one Boolean per column. By default the highest value is first, and a column that may
        hold ranks raises an error. A single False also raises an error if only some of the columns
        may hold ranks; one False per strategy is accepted. Columns in `ties` always have their
        highest value first.
    doc
        The column of documents. Each document may occur only once in a ranking. By default it is
        the column "doc", or a column with a similar name, such as "product_id" or "sku". If no such
        column exists, the last column that breaks ties (in `ties` or in a list of `by`) is used,
        but only if its values are text. With None, or if no column is found, each row counts as a
        separate document.
    irrelevant, max_grade, relevant_from
        The scale of the grades, and the lowest relevant grade, as in `Graded.scaled`.
    undefined_as
        The value of a query without a relevant document: a number, or None for null, as in
        `Graded.undefined_as`. By default 0, and null for `roc_auc` and `pairwise_accuracy`.
    condensed
        If True, unjudged documents are dropped from the rankings, as in `Graded.condensed`.
    known
        The column or expression that is true if the user knew the document, for the measures
        `coverage_ratio`, `novelty_ratio`, `relative_recall` and `recall_effort`.
    subtopics
        The column or expression with the subtopics of each document, lists of labels or one label
        per document, for `alpha_dcg`, `alpha_ndcg`, `err_ia`, `nerr_ia`, `nrbp`, `nnrbp`,
        `subtopic_recall`, `precision_ia` and `ap_ia`. `join_judgments` makes such a column from
        judgments by subtopic.
    popularity
        The column with the popularity of each document, for `popularity` and `novelty`, such as the
        share of users who chose it. A document has one popularity in all queries.
    features
        The column with the category, the list of categories or the vector of each document, for
        `diversity`. A document has the same value in all queries.
    reference
        The column with the rank of each document in a reference ranking, or a Boolean column that
        is true for the documents that the reference recommends, for `unexpectedness` and
        `serendipity`.
    parts
        How to split a frame that does not fit in memory into parts of whole queries. `"sorted"`
        streams the rows; the rows of each query must be consecutive. A number n reads the rows n
        times, and each time measures another share of the queries. `"scratch"` reads the rows once,
        and writes them to a folder in `tempfile.gettempdir()` if they do not fit in memory. By
        default, a DataFrame is measured as a whole. A LazyFrame is streamed if its plan sorts the
        rows (`set_sorted`, `sort`). For any other LazyFrame, the choice depends on the steps of its
        plan, on the size of its rows, and on the free memory. The logger "polars_graded" reports
        the choice at level INFO. Every choice gives the same values, except that `mu_ap` and `gap`
        may differ in the last bit. For Spark and Ray, pass the number of parts, called buckets. A
        worker holds one bucket at a time. The default is `spark.sql.shuffle.partitions` for Spark
        and 64 for Ray.
    progress
        If True, draw a progress bar for evaluations that take seconds. This requires tqdm, and a
        terminal or a notebook.
    fingerprint
        The column of documents, for results with fingerprints. These results have further columns
        of text, which `write_results` and `gate` use. `judgments` is a hash of the judged documents
        of the query and of their grades. The order of the documents does not change the hash. If a
        measure needs subtopics, popularity or other inputs, `documents` is a hash of the judged
        documents and of these inputs. `settings` states how the values were measured (the version,
        each measure's full formula, the scale, `undefined_as`, `condensed` and the order of ties).
        Documents are hashed as text, so that 7 and "7" are the same. Not for Spark and Ray.

    Returns
    -------
    DataFrame or LazyFrame; for a Spark frame or a Ray dataset, one of the same kind
        The strategy (in the column that `strategy` names, `"strategy"` by default), the query
        and one column per measure. Strategies come in the order of `by`; stacked strategies come in
        natural order, run2 before run10. Queries are sorted. Results from Spark and Ray have no
        order, and their counts are 64-bit integers; `summarise`, `compare` and charts collect such
        results.

    Raises
    ------
    ValueError
        If a column may hold ranks and `descending` is not passed for it. A column may hold ranks
        in two cases:

        - In at least 90 % of the queries, its numbers are 1 to n, or 0 to n - 1. At least ten of
          these queries have several numbers.
        - In at least 90 % of the queries, its numbers are whole. Over all queries, they are small,
          and equal numbers are rare. For each query, let l be the lowest number, and w the count of
          whole numbers from l to the highest number. Numbers are small if the mean of l is at most
          twice the mean of w: 11 to 20 are small, since 11 is at most 2 * 10, and 81 to 90 are not.
          Let t be the number of pairs of equal numbers within queries, and e the number of such
          pairs expected by chance, both summed over the queries. Equal numbers are rare if t is at
          most 0.75 e and at most e - 5 √e.

        Numbers that end in .5 are rounded down first, because the mean of tied ranks can end in .5.
        Numbers below 1 are ignored, because they may be codes for documents that were not shown.
        For the same reason, the highest number of the column is ignored in each query that contains
        it several times.

        If `descending=False` is passed for a column of ranks that contains several numbers below 1
        in a query. Such numbers would be ranked first, although they probably mean that a document
        was not shown. If a single False is passed for several strategies, and only some of their
        columns may hold ranks.

        If a document occurs twice in a ranking, or has different grades for two stacked strategies.
        In frames of up to a million rows, all rows are checked. In a larger frame, a sample of
        whole queries is checked. The sample has about half a million rows or 5 % of the rows,
        whichever is more. (The check for columns that may hold ranks uses a sample of about a
        quarter of a million rows.) `overview` counts repeated documents in all rows. Spark and Ray
        check each bucket separately.

        If a column that is not passed as an argument seems to hold documents, and a document occurs
        twice within a ranking. This is checked for DataFrames that have at least ten rankings, and
        no column with a usual name for documents. Among the columns of text or whole numbers, only
        the column whose values repeat least within rankings is checked. It is skipped if more than
        70 % of its values repeat. The column seems to hold documents in three cases. (1) At most
        20 % of its values repeat, and the column holds text or has a name that suggests ids. (2)
        Some rows of a ranking are equal in all columns. (3) Another column, such as the device,
        seems to separate several rankings: rows of a ranking with the same value in the checked
        column always differ in this other column.

        If two strategies have the same name. If the frame has a column `"strategy"` with several
        values, and no argument names this column. (In a LazyFrame, a single value is enough,
        because values are not read yet.) If a grade or a score is NaN or infinite. If rows are
        declared sorted, but the rows of a query are not consecutive. The rows of a LazyFrame are
        checked when it is collected.

    Warns
    -----
    DataWarning
        If means are misleading although the value of each query is correct. A LazyFrame warns when
        it is collected. The kinds of warnings and their causes are:

        - `unjudged`: a query has no judged document, as after a left join of a run and judgments.
          Or there are at least ten queries, and the judged share of the first ten documents is too
          low: below 0.8 for some strategy, or at least 0.2 lower than for another strategy. Or a
          grader judged some documents of a query, but fewer than half as many as another grader.
        - `join`: a measure depends on judged documents that were not retrieved, as recall does, and
          the frame may lack such documents. There are two signs of this. (1) The relevant documents
          of a query differ between stacked strategies. (2) There are at least ten queries, all with
          judged documents, and every judged document was retrieved, although some retrieved
          documents are unjudged. Sign 2 is normal for logged data. In other data, a left join from
          the run may have lost the judged documents that were not retrieved.
        - `nulls`: some rows have null or NaN in place of a query or a strategy. Or several columns
          identify queries, and one column is null in some rows of a query.
        - `missing`: a stacked strategy has no row for some query, so that its mean excludes this
          query. Or a strategy retrieved nothing at all.
        - `ranks`: a column is called rank, position or place, its numbers count from 1 or 0 in some
          queries, and its highest number is ranked first. The warning covers columns with too
          little evidence for an error, such as ranks in fewer than ten queries. Scores may be
          1, 2, 3 by chance, so the name must also mean ranks.
        - `scale`: queries differ in their highest grade, `max_grade` is not passed, and a measure
          depends on the highest grade of the scale (`generalized_precision`, `err`, `nerr`,
          `rbp(graded=True)`, `sdcg`, `insq`, `inst`, `bpm`, `nerr8` to `nerr11`). Or grades look
          like stars, and the lowest grade counts as relevant. Stars are whole or half numbers: the
          lowest is 0.5 or 1, and the highest is at least 4. Or grades below 0 count as judged and
          irrelevant. Or the highest grade looks like a code, such as 99 or 255, and is at least
          three times the next highest.
        - `ties`: the order of documents with the same score changes a requested value, and `ties`
          is not passed. Or `ties` names the column of grades, so that the best of tied documents
          comes first.

        `warnings.simplefilter("ignore", DataWarning.ties)` silences one of these kinds. Spark and
        Ray give no warnings, because no worker sees all queries. Their rows have no order either,
        so without a column of documents, pass `ties`.

    See Also
    --------
    overview : A summary of the data, before measuring.
    join_judgments : Join a run and its judgments into a frame to evaluate.
    summarise : A table of the means of the result.
    long_form : The result with one row per measure and cutoff.
    similarity : Rankings compared with each other, without grades.

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
    requests = Request.of_graders(measures, **options)
    parts, shown = check_parts(parts), check_flag("progress", progress)
    if fingerprint is not None and find_engine(frame) is not None:
        msg = "`fingerprint` must be None for frames of Spark and Ray, got a column"
        raise ValueError(msg)
    requests, frame = open_frame(requests, frame)
    if fingerprint is not None:
        check_fingerprint(requests, fingerprint, frame.collect_schema())
    values: pl.DataFrame | pl.LazyFrame = measure_frame(requests, frame, parts, shown=shown)
    return values if fingerprint is None else add_fingerprints(values, requests, frame, fingerprint)
