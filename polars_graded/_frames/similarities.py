"""Similarity of the rankings of two strategies, one row per pair and query."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import polars as pl

from polars_graded._checks import check_choice, check_column
from polars_graded._frames.arguments import (
    NO_GRADE,
    By,
    Column,
    Columns,
    Descending,
    Measures,
    parse_measures,
)
from polars_graded._frames.columns import FrameColumns
from polars_graded._frames.data_warnings import Notes, note_grades, warn_of_notes
from polars_graded._frames.ranking_checks import DocumentCheck, group_rankings
from polars_graded._frames.request import Request
from polars_graded._frames.rows import TEMPORARY_NAME_TEMPLATE, Groups
from polars_graded._frames.strategies import find_pairs, in_order
from polars_graded._frames.values import list_documents
from polars_graded._measuring.chunks import map_chunks
from polars_graded._measuring.column_checks import check_grades
from polars_graded._measuring.computing import ChunkValues, Computation, MeasureValues
from polars_graded._measuring.definitions import (
    CURVE,
    THRESHOLD,
    Definition,
    Option,
    make_number_option,
)
from polars_graded._measuring.document_columns import DEFAULT_DOC
from polars_graded._measuring.documents import DocumentLists
from polars_graded._measuring.kernels import list_similarity
from polars_graded._measuring.kernels.list_similarity import (
    TIE_VARIANTS,
    ListPair,
    RankedLists,
    find_span,
)
from polars_graded._measuring.kernels.ragged import Integers, Ragged
from polars_graded._measuring.keywords import checks_call
from polars_graded._measuring.list_columns import Lists
from polars_graded._measuring.measures import ALL_DEFINITIONS
from polars_graded._measuring.ties import TiesArgument
from polars_graded._warnings import DataWarning, warn_the_caller

__all__ = ["similarity"]

# Measures of two rankings


def _define_similarity(
    kernel: Callable[..., Any], *options: Mapping[str, Option], **properties: Any
) -> Definition:
    """Return the definition of a measure of two rankings.

    By default, the measure needs no grades.
    """
    merged = {name: option for each in options for name, option in each.items()}
    properties = {"needs_grades": False} | properties
    return Definition(kernel, merged, **properties, needs_relevant=False, best="none")


IN_ORDER = {"ties": Option("order", partial(check_choice, among=["order"]))}
VARIANT = {"ties": Option("a", partial(check_choice, among=TIE_VARIANTS))}
PERSISTENCE = {"p": make_number_option(0.9, above=0, below=1)}
WITHOUT_CUTOFF: Mapping[str, Any] = {"has_cutoff": False}
RELEVANT_COUNT: Mapping[str, Any] = {
    "dtype": pl.UInt32(),
    "needs_grades": True,
    "is_symmetric": False,
    "is_bounded": False,
}
CORRELATION: Mapping[str, Any] = {**WITHOUT_CUTOFF, "is_bounded": False}

SIMILARITIES: Mapping[str, Definition] = {
    "overlap": _define_similarity(list_similarity.overlap, VARIANT),
    "jaccard": _define_similarity(list_similarity.jaccard, IN_ORDER),
    "average_overlap": _define_similarity(list_similarity.average_overlap, VARIANT),
    "rbo": _define_similarity(list_similarity.rbo, PERSISTENCE, VARIANT, **WITHOUT_CUTOFF),
    "rbo_min": _define_similarity(list_similarity.rbo_min, PERSISTENCE, VARIANT, **WITHOUT_CUTOFF),
    "rbo_max": _define_similarity(list_similarity.rbo_max, PERSISTENCE, VARIANT, **WITHOUT_CUTOFF),
    "kendall_tau": _define_similarity(
        list_similarity.kendall_tau, **CORRELATION, compares_ties=True
    ),
    "tau_ap": _define_similarity(
        list_similarity.tau_ap, IN_ORDER, **CORRELATION, is_symmetric=False
    ),
    "spearman": _define_similarity(list_similarity.spearman, **CORRELATION, compares_ties=True),
    "max_displacement": _define_similarity(
        list_similarity.max_displacement, IN_ORDER, needs_all_ranks=True, is_bounded=False
    ),
    "relevant_entered": _define_similarity(
        list_similarity.relevant_entered, THRESHOLD, **RELEVANT_COUNT
    ),
    "relevant_left": _define_similarity(list_similarity.relevant_left, THRESHOLD, **RELEVANT_COUNT),
    "top_changed": _define_similarity(list_similarity.top_changed, VARIANT, **WITHOUT_CUTOFF),
    "overlap_curve": _define_similarity(list_similarity.overlap_curve, VARIANT, **CURVE),
}
"""Measures of two rankings of the same query."""

ALL_DEFINITIONS.update(SIMILARITIES)

# Pairs of strategies

PAIR_COLUMNS = ("a", "b")
"""Columns of the two strategies in a result."""

STRATEGIES_HINT = (
    "\n\nHint: by=['old', 'new'] names their scores; strategy='strategy' names the column of "
    "stacked strategies"
)

QUERY_ROW = TEMPORARY_NAME_TEMPLATE.format("row of the query")

HAS_TIES = "has_ties"
"""Name of a note: true if one or both strategies have tied documents."""

RULES_OF_SIMILARITIES = (
    (DataWarning.nulls, Notes.find_null_keys),
    (DataWarning.scale, Notes.find_stars),
    (DataWarning.scale, Notes.find_grades_below_zero),
    (DataWarning.ties, Notes.find_ties_by_grade),
    (DataWarning.unjudged, Notes.find_unjudged_queries),
)
"""Warnings about the rows of a frame that concern similarities."""


@checks_call
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
) -> pl.DataFrame:
    """Compare the rankings of pairs of strategies, without grades.

    This shows what a new ranker changes before anybody judges a document. A null score means that a
    strategy did not retrieve the document. The page "Measures" of the documentation defines the
    measures, their treatment of ties and their values for empty lists, in the section "Measures of
    two rankings".

    Parameters
    ----------
    frame
        Any data frame, as for `evaluate`. The rows of a LazyFrame, a Spark frame or a Ray dataset
        are collected.
    *measures
        Names of measures (see Notes), lists of them, or mappings from names of columns to measures.
    query, by, strategy, descending
        As for `evaluate`. Either `by` names the score columns of at least two strategies, or
        `strategy` names the column of strategies. The frame then needs documents.
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

    Returns
    -------
    DataFrame
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
        passed. `nulls`: as for `evaluate`.

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
    request = Request.of(
        frame,
        measures,
        among=SIMILARITIES,
        grade=grade if needs_grades else NO_GRADE,
        query=query,
        by=by,
        strategy=strategy,
        ties=ties,
        descending=descending,
        doc=doc,
        irrelevant=irrelevant,
        relevant_from=relevant_from,
    )
    _check_request(request)
    if not (request.ties.tool or request.order_dependent_measures):
        # No measure depends on the order of tied documents, so no column needs to break ties.
        request = replace(request, ties=replace(request.ties, document=None))
    rows = request.read_rows(frame)
    groups = group_rankings(request, rows)
    DocumentCheck([request]).add(groups)
    rankings = Rankings(request, groups)
    pairs = rankings.find_pairs(baseline)
    values_of_pairs = rankings.compare(pairs) if pairs.size else []
    rankings.warn(values_of_pairs)
    return rankings.build_table(pairs, values_of_pairs)


def _check_request(request: Request) -> None:
    """Raise if result columns share a name, or if stacked strategies lack documents."""
    names = (*request.columns.result_keys, *request.measures)
    if taken := [name for name in names if name in PAIR_COLUMNS]:
        msg = f"no column of the result may have the name of another, got {taken[0]!r} twice"
        raise ValueError(msg)
    if request.columns.strategy is not None and request.columns.document is None:
        msg = "`doc` must name the column of documents if strategies are stacked, got none"
        raise ValueError(msg)


@dataclass(frozen=True)
class Rankings:
    """Rankings of all strategies, to be compared in pairs."""

    request: Request
    groups: Groups
    """The rows of each query, or of each strategy and query if strategies are stacked."""

    @property
    def columns(self) -> FrameColumns:
        """The columns of the frame, by what they hold."""
        return self.request.columns

    @cached_property
    def strategies(self) -> pl.Series:
        """Return the names of all strategies; none if strategies are stacked in no rows."""
        column = self.columns.strategy
        if column is None:
            return pl.Series([*self.columns.by])
        names = in_order(self.groups.keys.get_column(column))
        if names.null_count():
            msg = f"strategy {column!r} must not be null"
            raise ValueError(msg)
        return names

    @cached_property
    def queries(self) -> pl.DataFrame:
        """Return all queries, one row each."""
        return self.groups.keys.select(self.columns.query).unique(maintain_order=True)

    @cached_property
    def query_numbers(self) -> Integers:
        """Return for each group the row of its query in `queries`."""
        queries = self.queries.with_row_index(QUERY_ROW)
        keys = self.groups.keys.join(
            queries, on=self.columns.query, nulls_equal=True, maintain_order="left"
        )
        return keys[QUERY_ROW].to_numpy()

    @cached_property
    def numbers(self) -> Lists:
        """Number the documents so that strategies can be compared by number.

        A document of a query has the same number for all strategies. Numbers of different queries
        do not mix: query 0 may have the numbers 0 to 9, and query 1 the numbers 10 to 14.
        """
        groups = self.groups
        if self.columns.strategy is None:
            return Lists(pl.int_range(groups.frame.height, eager=True), groups.offsets)
        documents = groups.frame.get_column(self.columns.document or "")
        if nulls := documents.null_count():
            msg = (
                f"doc {documents.name!r} must not be null to match stacked strategies, got {nulls} "
                "nulls"
            )
            raise ValueError(msg)
        queries = np.repeat(self.query_numbers, groups.lengths)
        table = pl.DataFrame({"query": queries, "doc": documents})
        numbers = table.select(pl.struct("query", "doc").rank("dense") - 1).to_series()
        return Lists(numbers, groups.offsets)

    @cached_property
    def grades(self) -> Lists:
        """Return the grades, or document numbers if no measure needs grades.

        `DocumentLists` requires a column of grades. If no measure reads this column, any numbers
        will do.
        """
        if not self.columns.is_graded:
            return self.numbers
        grades = self.groups.lists(self.columns.grade)
        check_grades(self.request.unsorted_ranking.grade_name, grades, self.columns.unit)
        return grades

    def list_documents(self) -> list[DocumentLists]:
        """Return the documents of each strategy, one list per query."""
        by_name = [
            list_documents(self.request, self.groups, name, self.grades, {"number": self.numbers})
            for name in self.columns.by
        ]
        if self.columns.strategy is None:
            return by_name
        [documents], of_groups = by_name, self.groups.keys.get_column(self.columns.strategy)
        by_strategy = []
        for strategy in self.strategies:
            groups = (of_groups == strategy).arg_true().to_numpy()
            group_of_query = np.full(self.queries.height, -1)
            group_of_query[self.query_numbers[groups]] = groups
            by_strategy.append(documents.select(group_of_query))
        return by_strategy

    def find_pairs(self, baseline: Any) -> Integers:
        """Return the indices of the first strategies of pairs, and of the second."""
        if self.strategies.is_empty():
            return np.zeros((2, 0), np.int64)
        return np.stack(find_pairs(self.strategies, baseline, hint=STRATEGIES_HINT))

    def compare(self, pairs: Integers) -> list[MeasureValues]:
        """Return the values of each pair of strategies."""
        request, measures = self.request, [*self.request.measures.values()]
        documents = self.list_documents()
        checked = request.order_dependent_measures
        computation = Computation.of(measures, request.scale, documents, tie_checked=checked)
        # A chunk holds the rankings of all strategies: the more strategies there are, the fewer
        # queries it may have.
        n_rows = sum(len(each.grades.flat) for each in documents)
        chunks = map_chunks(
            computation.lists,
            partial(_compare_in_chunk, computation, pairs),
            values_per_query=max(
                computation.values_per_query, n_rows // (2 * max(1, self.queries.height))
            ),
        )
        return [MeasureValues(measures, each) for each in zip(*chunks, strict=True)]

    def warn(self, values_of_pairs: Sequence[MeasureValues]) -> None:
        """Warn of null keys, of grades, and of tied documents whose order decides."""
        request, columns, groups = self.request, self.columns, self.groups
        keys = [pl.col(key).alias(TEMPORARY_NAME_TEMPLATE.format(key)) for key in columns.query]
        strategy = pl.lit(next(iter(columns.by)))
        if columns.strategy is not None:
            strategy = pl.col(columns.strategy)
        notes = groups.keys.select(
            strategy.alias(TEMPORARY_NAME_TEMPLATE.format(columns.strategy_key)),
            *keys,
            rows=pl.Series(groups.lengths),
            judged=pl.Series(self.grades.count(self.grades.flat.is_not_null())),
        )
        grades = note_grades(groups.frame.get_column(columns.grade))
        warn_of_notes(
            Notes.of(request, [notes], [grades], request.columns.document), RULES_OF_SIMILARITIES
        )
        names = [measure.name for measure in request.order_dependent_measures]
        has_ties = [each.notes[HAS_TIES] for each in values_of_pairs if names]
        n = int(pl.DataFrame(has_ties).max_horizontal().sum()) if has_ties else 0
        if n:
            column = request.ties.document
            decider = "the order of rows" if column is None else f"column {column!r}"
            sentence = (
                f"{decider} orders documents with the same score in {n} of {self.queries.height} "
                f"queries, and {', '.join(names)} may depend on this order\n\n"
                f"Hint: ties={column or 'order'!r} confirms this order; rbo, overlap and "
                "average_overlap do not depend on it"
            )
            warn_the_caller(DataWarning.ties, sentence)

    def build_table(
        self, pairs: Integers, values_of_pairs: Sequence[MeasureValues]
    ) -> pl.DataFrame:
        """Return the values with their keys, sorted by pair and query."""
        request, queries, names = self.request, self.queries, self.strategies
        order = queries.select(pl.arg_sort_by(self.columns.query)).to_series()
        key = self.columns.strategy_key
        keys = {key: pl.String(), **dict.fromkeys(PAIR_COLUMNS, names.dtype)}
        types = {name: measure.definition.dtype for name, measure in request.measures.items()}
        tables = [pl.DataFrame(schema={**keys, **queries.schema, **types})]
        for a, b, values in zip(*pairs, values_of_pairs, strict=True):
            both = [names[[i]].alias(name) for i, name in zip((a, b), PAIR_COLUMNS, strict=True)]
            pair = pl.DataFrame(both).select(
                pl.format("{} and {}", *PAIR_COLUMNS).alias(key), *PAIR_COLUMNS
            )
            columns = [
                column.alias(name)
                for name, column in zip(request.measures, values.columns, strict=True)
            ]
            table = queries.hstack(columns)[order]
            tables.append(pair[[0] * table.height].hstack(table))
        return pl.concat(tables)


def _compare_in_chunk(
    computation: Computation, pairs: Integers, *chunk: Ragged
) -> list[ChunkValues]:
    """Return the values of each pair of strategies for the queries of a chunk."""
    columns = dict(zip(computation.lists, chunk, strict=True))
    judgments = computation.find_judgments(columns)
    first, n = find_span([each.inputs["number"] for each in judgments.values()])
    ranked = [
        RankedLists.of(each, first, n) for each in computation.rank_queries(columns, judgments)
    ]
    values_of_pairs: list[ChunkValues] = []
    for a, b in pairs.T:
        pair = ListPair(ranked[a], ranked[b])
        values = [
            measure.definition.kernel(pair, **options)
            for measure, options in zip(computation.measures, computation.arguments, strict=True)
        ]
        values_of_pairs.append((values, {HAS_TIES: pair.a.has_ties | pair.b.has_ties}))
    return values_of_pairs
