"""Similarity of the rankings of two strategies, one row per pair and query."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypedDict, Unpack

import polars as pl

from polars_graded._checks import check_column, check_flag
from polars_graded._frames.measuring import measure_frame, open_frame
from polars_graded._frames.pair_values import PairRequest
from polars_graded._frames.parts import Parts, check_parts
from polars_graded._frames.request import (
    NO_GRADE,
    By,
    Column,
    Columns,
    Descending,
    Measures,
    Request,
    Ties,
    parse_measures,
)
from polars_graded._measuring.definitions import SIMILARITIES
from polars_graded._measuring.keywords import returns_lazy_for_lazy, takes_options_of
from polars_graded._measuring.ranking import DOCUMENT_INPUTS


class RankOptions(TypedDict, total=False):
    """Keywords that define a ranking; none concerns grades."""

    query: Columns
    ties: Ties
    descending: Descending
    doc: str | None


class StrategyOptions(RankOptions, total=False):
    """Keywords that define the rankings of strategies; none concerns grades."""

    by: By
    strategy: str | None


class RelevanceOptions(StrategyOptions, total=False):
    """`StrategyOptions`, and keywords that define relevant documents."""

    irrelevant: float
    relevant_from: float | None


OF_GRADES = (
    "grade",
    "irrelevant",
    "max_grade",
    "relevant_from",
    "undefined_as",
    "condensed",
    *DOCUMENT_INPUTS,
)
"""Keywords of `Request.of` that concern grades, or name a column that only some measures need.

`popularity` names such a column.
"""


@returns_lazy_for_lazy
@takes_options_of(Request.of, without={*OF_GRADES} - {"irrelevant", "relevant_from"})
def similarity(
    frame: Any,
    *measures: Measures,
    grade: Column = "grade",
    baseline: Any = None,
    parts: Parts = None,
    progress: bool = True,
    **options: Unpack[RelevanceOptions],
) -> pl.DataFrame | pl.LazyFrame:
    r"""Compare the rankings of pairs of strategies, without grades.

    A row of the frame is a document of a query, as for `evaluate`. A null score means that a
    strategy did not retrieve the document. Only two measures need grades, so this function shows
    what a new ranker changes before anybody judges a document.

    Parameters
    ----------
    frame
        Any data frame, as for `evaluate`. For a LazyFrame the result is a LazyFrame. For a Spark
        frame or a Ray dataset the result is a frame or dataset of the same kind. If `strategy` is
        passed, a first pass over the rows reads the names of the strategies.
    *measures
        Names of similarity measures, lists of them, or mappings from names of columns to measures,
        as for `evaluate`. Below, `a` and `b` are the two strategies of a pair (see Returns),
        :math:`X_d` is the number of documents that both lists have among their first d, and
        :math:`A_d = X_d / d` is the agreement at depth d.

        - `overlap@n`: :math:`A_n`, from 0 (disjoint) to 1 (the same documents). Without `@n`, or if
          both lists are shorter than n, the length of the longer list replaces n.
        - `average_overlap@n`: the mean of :math:`A_1` to :math:`A_n`.
        - `overlap_curve@n`: the list of :math:`A_1` to :math:`A_n`.
        - `jaccard@n`: the number of documents that both lists have in their first n, divided by the
          number of distinct documents in the first n of either list.
        - `rbo(p=0.9)`: rank-biased overlap, the expected agreement for a user who continues to the
          next depth with probability p. Below the end of the lists, the agreement is extrapolated.
          With l the length of the longer list,

          .. math:: RBO = (1 - p) \sum_{d=1}^{l} p^{d-1} A_d + p^l A_l

          As text: ``RBO = (1 - p) Σ_d p^(d - 1) A_d + p^l A_l``. If the shorter list ends at depth
          s, then :math:`A_d = (X_d + (d - s) A_s) / d` for d > s.
        - `rbo_min`, `rbo_max`: the lowest and the highest value that `rbo` can have if both lists
          continue. For `rbo_min`, the continued lists have no further document in common. For
          `rbo_max`, the continued lists have as many documents in common as possible. The
          difference of `rbo_max` and `rbo_min` is the residual.
        - `kendall_tau`: Kendall's :math:`\tau_b` of the common documents, from -1 to 1.
        - `spearman`: the correlation of the ranks of common documents, from -1 to 1.
        - `tau_ap`: :math:`\tau_{AP}` of the common documents, from -1 to 1. Changes at the top of
          `a` count more. `b` is the reference, so the value may change if `a` and `b` are swapped.
        - `max_displacement@n`: the largest difference between a document's ranks in `a` and in `b`.
          A document counts only if it is in both lists, and among the first n of at least one list.
        - `top_changed`: :math:`1 - A_1`, which is 1 if the first documents differ and 0 if they are
          the same. If first documents are tied, the value may be between 0 and 1.
        - `relevant_entered@n`: the number of relevant documents that are among the first n of `a`
          but not of `b`. It needs grades. An unjudged document is not relevant, as for `evaluate`.
        - `relevant_left@n`: the same with `a` and `b` swapped.
    query, by, strategy, descending, where
        As for `evaluate`. Either `by` names the score columns of at least two strategies, or each
        strategy has its own rows, and `strategy` names the column of strategies. `strategy` needs a
        column of documents.
    grade, irrelevant, relevant_from
        The column of grades, the irrelevant grade and the lowest relevant grade, as for `evaluate`.
        Only `relevant_entered` and `relevant_left` use them.
    baseline
        The strategy to compare all others with. By default, all pairs are compared.
    ties
        The order of tied documents, as for `evaluate`: a column, `"order"`, `"trec_eval"` or
        `"pytrec_eval"`. The measures treat ties in three ways:

        - `jaccard`, `max_displacement`, `tau_ap`, `relevant_entered` and `relevant_left` use this
          order.
        - `kendall_tau` and `spearman` correct for ties and ignore this order.
        - The other measures have an option, such as `rbo(ties=b)`. With `a`, the default,
          :math:`A_d` is the mean over all orders of tied documents. The value of a measure is then
          such a mean too, except `rbo` and `rbo_max` of lists of different lengths. `b` corrects
          :math:`A_d` so that two identical lists agree fully even if they contain ties. `w` gives
          tied documents the same rank. `order` uses the order of this argument. Corsi and Urbano
          chose the letters a, b and w. The letters do not stand for the strategies `a` and `b`. The
          default is not `order`, because lists look too similar if ties are broken in the same way
          in both lists.
    doc
        The column of documents, as for `evaluate`.
    parts, progress
        As for `evaluate`.

    Returns
    -------
    DataFrame or LazyFrame
        One row per pair and query: the name of the pair, the two strategies `a` and `b`, the query,
        and one column per measure (Float64; a list for `overlap_curve`; UInt32 for counts of
        relevant documents). The name of the pair, such as `"ours and bm25"`, is in the column
        `"strategy"`, or in the column that `strategy` names. If `baseline` is passed, `b` is the
        baseline. `summarise` and charts take this frame, and treat each pair as a strategy.

        If only one strategy of a pair retrieved documents, overlaps and `rbo` are 0, and `rbo_max`
        is 1. If neither strategy retrieved a document, these measures are null, but `overlap_curve`
        is an empty list, or n zeros with `@n`. The correlations are null if there are fewer than
        two common documents. `kendall_tau` and `spearman` are also null if one list ties all common
        documents. `max_displacement` is null if no document counts.

    Raises
    ------
    ValueError
        If there are fewer than two strategies. As for `evaluate`: if a document occurs twice in a
        ranking, if a score is NaN or infinite, or if a column looks like ranks and `descending` is
        not passed.

    Warns
    -----
    DataWarning
        `ties`: a requested measure may depend on the order of tied documents, and `ties` is not
        passed. `nulls` and `ranks`: as for `evaluate`.

    See Also
    --------
    differences : Differences of a measure between two strategies, with judgments.
    fuse : One ranking from those of several strategies.
    side_by_side : Documents of several strategies for one query.

    References
    ----------
    Webber, Moffat, Zobel: A similarity measure for indefinite rankings, ACM TOIS 2010. Corsi,
    Urbano: The treatment of ties in rank-biased overlap, SIGIR 2024. Yilmaz, Aslam, Robertson: A
    new rank correlation coefficient for information retrieval, SIGIR 2008.

    Examples
    --------
    The lists of query 1 are x, y, z and y, x, w. Those of query 2 have the same order:

    >>> df = pl.DataFrame(
    ...     {
    ...         "query": [1, 1, 1, 1, 2, 2],
    ...         "doc": ["x", "y", "z", "w", "x", "y"],
    ...         "bm25": [3.0, 2.0, 1.0, None, 9.0, 4.0],
    ...         "ours": [0.6, 0.8, None, 0.1, 0.7, 0.2],
    ...     }
    ... )
    >>> similarity(df, "overlap@1", "overlap@3", "kendall_tau", by=["ours", "bm25"]).drop("a", "b")
    shape: (2, 5)
    ┌───────────────┬───────┬───────────┬───────────┬─────────────┐
    │ strategy      ┆ query ┆ overlap@1 ┆ overlap@3 ┆ kendall_tau │
    │ ---           ┆ ---   ┆ ---       ┆ ---       ┆ ---         │
    │ str           ┆ i64   ┆ f64       ┆ f64       ┆ f64         │
    ╞═══════════════╪═══════╪═══════════╪═══════════╪═════════════╡
    │ ours and bm25 ┆ 1     ┆ 0.0       ┆ 0.666667  ┆ -1.0        │
    │ ours and bm25 ┆ 2     ┆ 1.0       ┆ 1.0       ┆ 1.0         │
    └───────────────┴───────┴───────────┴───────────┴─────────────┘
    """
    chosen = parse_measures(measures, SIMILARITIES).values()
    needs_grades = any(measure.definition.needs_grades for measure in chosen)
    if needs_grades:
        check_column("grade", grade)
    given = grade if needs_grades else NO_GRADE
    request = replace(PairRequest.of(measures, grade=given, **options), baseline=baseline)
    request.check_pairs()
    parts, shown = check_parts(parts), check_flag("progress", progress)
    values: pl.DataFrame | pl.LazyFrame = measure_frame(
        *open_frame([request], frame), parts, shown=shown
    )
    return values
