"""Similarity of the rankings of two strategies, one row per pair and query."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl

from polars_graded._checks import check_column
from polars_graded._frames.arguments import (
    NO_GRADE,
    By,
    Column,
    Columns,
    Descending,
    Measures,
    parse_measures,
)
from polars_graded._frames.evaluating import measure_frame
from polars_graded._frames.pair_values import PairRequest
from polars_graded._measuring.definitions import SIMILARITIES
from polars_graded._measuring.document_columns import DEFAULT_DOC
from polars_graded._measuring.keywords import checks_keywords, returns_lazy_for_lazy
from polars_graded._measuring.tie_orders import TiesArgument


@returns_lazy_for_lazy
@checks_keywords
def similarity(
    frame: Any,
    *measures: Measures,
    query: Columns = "query",
    grade: Column = "grade",
    by: By = "score",
    strategy: str | None = None,
    baseline: Any = None,
    ties: TiesArgument = None,
    descending: Descending = None,
    doc: str | None = DEFAULT_DOC,
    irrelevant: float = 0.0,
    relevant_from: float | None = None,
    where: Column | None = None,
    consecutive: bool = False,
) -> pl.DataFrame | pl.LazyFrame:
    """Compare the rankings of pairs of strategies, without grades.

    This shows what a new ranker changes before anybody judges a document. A null score means that a
    strategy did not retrieve the document. The page "Measures" of the documentation defines the
    measures, their treatment of ties and their values for empty lists, in the section "Measures of
    two rankings".

    Parameters
    ----------
    frame
        Any data frame, as for `evaluate`. A LazyFrame, Spark frame or Ray dataset returns the same
        kind.
    *measures
        Names of measures (see Notes), lists of them, or mappings from names of columns to measures.
    query, by, strategy, descending, where
        As for `evaluate`. Either `by` names the score columns of at least two strategies, or
        `strategy` names the column of strategies, and the frame has a column of documents.
    grade, irrelevant, relevant_from
        The column of grades, the irrelevant grade and the lowest relevant grade, as for `evaluate`.
        Only `relevant_entered` and `relevant_left` use them.
    baseline
        The strategy to compare all others with. By default, all pairs are compared.
    ties
        The order of tied documents, as for `evaluate`. Overlaps and `rbo` do not depend on it,
        unless `rbo(ties=order)` is passed, and `kendall_tau` and `spearman` correct for ties.
    doc
        The column of documents, as for `evaluate`.
    consecutive
        As for `evaluate`.

    Returns
    -------
    DataFrame or LazyFrame
        One row per pair and query: the name of the pair, such as `"ours and bm25"`, in the column
        of strategies; the two strategies `a` and `b` (the baseline, if there is one); the query;
        and one column per measure (Float64; a list for `overlap_curve`; UInt32 for counts).

        If neither strategy retrieved a document, overlaps and `rbo` are null; if only one did, they
        are 0. Correlations are null for fewer than two common documents.

    Raises
    ------
    ValueError
        If there are fewer than two strategies. As for `evaluate`: if a document occurs twice in a
        ranking, or if a score is NaN or infinite.

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

    Notes
    -----
    - `overlap@n`: share of the first n documents that both lists contain, from 0 to 1;
      `average_overlap@n`: its mean over the depths 1 to n; `overlap_curve@n`: the list of these;
    - `jaccard@n`: common documents of the first n, divided by the distinct ones;
    - `rbo(p=0.9)`: rank-biased overlap, for which the top counts most, from 0 to 1; `rbo_min` and
      `rbo_max`: its lowest and highest value if both lists continue;
    - `kendall_tau`, `spearman`, `tau_ap`: correlations of the common documents, from -1 to 1. For
      `tau_ap`, `b` is the reference, and the top counts more;
    - `max_displacement@n`: the largest change of a document's rank;
    - `top_changed`: 1 if the first documents differ, 0 if they are the same;
    - `relevant_entered@n`, `relevant_left@n`: number of relevant documents that only `a`, or only
      `b`, has among its first n. Unjudged documents are not relevant.

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
    request = PairRequest.of(
        measures,
        grade=given,
        query=query,
        by=by,
        strategy=strategy,
        ties=ties,
        descending=descending,
        doc=doc,
        irrelevant=irrelevant,
        relevant_from=relevant_from,
        where=where,
    )
    request = replace(request, baseline=baseline)
    request.check_pairs()
    values: pl.DataFrame | pl.LazyFrame = measure_frame([request], frame, consecutive=consecutive)
    return values
