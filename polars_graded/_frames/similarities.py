"""Similarity of the rankings of two strategies, one row per pair and query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl

from polars_graded._checks import check_column
from polars_graded._door import find_engine
from polars_graded._frames.arguments import (
    NO_GRADE,
    By,
    Column,
    Columns,
    Descending,
    Measures,
    parse_measures,
)
from polars_graded._frames.data_warnings import TIED_PAIR
from polars_graded._frames.evaluating import measure_frame
from polars_graded._frames.request import Request
from polars_graded._frames.rows import TEMPORARY_NAME_TEMPLATE
from polars_graded._frames.strategies import find_pairs, in_order
from polars_graded._frames.values import Gathered, Part, StrategyValues, gather
from polars_graded._measuring.computing import DEPENDS_ON_TIES, ChunkValues, Computation, Computed
from polars_graded._measuring.definitions import SIMILARITIES, Definition
from polars_graded._measuring.document_columns import DEFAULT_DOC
from polars_graded._measuring.documents import DocumentLists
from polars_graded._measuring.kernels.list_similarity import ListPair, RankedLists, find_span
from polars_graded._measuring.kernels.ragged import Integers, Ragged
from polars_graded._measuring.keywords import checks_call, returns_lazy_for_lazy
from polars_graded._measuring.list_columns import Lists
from polars_graded._measuring.ranking import Ranking
from polars_graded._measuring.ties import TiesArgument
from polars_graded._warnings import DataWarning

PAIR_COLUMNS = ("a", "b")
"""Columns of the two strategies in a result."""

STRATEGIES_HINT = (
    "\n\nHint: by=['old', 'new'] names their scores; strategy='strategy' names the column of "
    "stacked strategies"
)

PAIR_INDEX = TEMPORARY_NAME_TEMPLATE.format("index of a pair")

UNUSED_NOTES = (
    *("retrieved", "retrieved_and_judged", "judged_of_first_ten", "maximum_grade"),
    DEPENDS_ON_TIES,
)
"""Notes that matter to no warning about similarities."""


@dataclass(frozen=True)
class PairRequest(Request):
    """Checked arguments of a `similarity` call."""

    definitions: ClassVar[Mapping[str, Definition]] = SIMILARITIES
    strategies: pl.Series = field(default_factory=pl.Series)
    """The names of all strategies; none if the frame has no rows."""
    pairs: Integers = field(default_factory=lambda: np.zeros((2, 0), dtype=np.int64))
    """The indices of the first strategies of pairs, and of the second; none without strategies."""

    def check_names(self) -> None:
        """Raise if result columns share a name."""
        super().check_names()
        if taken := [name for name in (*self.result_keys, *self.measures) if name in PAIR_COLUMNS]:
            msg = f"no column of the result may have the name of another, got {taken[0]!r} twice"
            raise ValueError(msg)

    @property
    def part_keys(self) -> list[str]:
        """Return the query columns: all rows of a query are measured together."""
        return [*self.query]

    @property
    def copied_keys(self) -> dict[str, str]:
        """Map each key column of the result to its source column in the frame."""
        pair = {} if self.strategy is None else dict.fromkeys(PAIR_COLUMNS, self.strategy)
        return {**pair, **{name: name for name in self.query}}

    @property
    def unused_warnings(self) -> set[type[DataWarning]]:
        """The kinds of warnings that do not apply.

        The result has a row for each pair and query, so no query can be missing.
        """
        return {*super().unused_warnings, DataWarning.missing}

    def build_schema(self, schema: Mapping[str, pl.DataType]) -> pl.Schema:
        """Return the schema of the result for the schema of a frame."""
        keys = super().build_schema(schema)
        pair = dict.fromkeys(PAIR_COLUMNS, keys.pop(self.strategy_key))
        return pl.Schema({self.strategy_key: pl.String(), **pair, **keys})

    def with_document_column(self, schema: Mapping[str, pl.DataType]) -> Self:
        """Return the request with the document column found in a frame.

        Raise if strategies are stacked and there is no such column.
        """
        request = super().with_document_column(schema)
        if request.strategy is not None and request.document is None:
            msg = "`doc` must name the column of documents if strategies are stacked, got none"
            raise ValueError(msg)
        return request

    @property
    def named_pairs(self) -> pl.DataFrame:
        """The index and the name of each pair, and the names of its strategies."""
        names = pl.DataFrame(
            self.strategies.gather(indices).alias(name)
            for indices, name in zip(self.pairs, PAIR_COLUMNS, strict=True)
        )
        pair = pl.format("{} and {}", *PAIR_COLUMNS).alias(self.strategy_key)
        return names.select(pair, *PAIR_COLUMNS).with_row_index(PAIR_INDEX)


@dataclass(frozen=True)
class PairComputation(Computation):
    """Similarities of pairs of strategies.

    The result marks the queries in which one or both strategies have tied documents. If
    `tie_checked` is empty and no measure needs ties, no query is marked.
    """

    pairs: Integers
    """The indices of the first strategies of pairs, and of the second."""

    def compute_chunk(self, *chunk: Ragged) -> list[ChunkValues]:
        """Return the values of each pair of strategies for the queries of a chunk."""
        columns = dict(zip(self.lists, chunk, strict=True))
        judgments = self.find_judgments(columns)
        first, n = find_span([each.inputs["number"] for each in judgments.values()])
        ranked = [RankedLists.of(each, first, n) for each in self.rank(columns, judgments)]
        return [self._compare(ranked[a], ranked[b]) for a, b in self.pairs.T]

    @property
    def values_per_query(self) -> int:
        """Return the number of values that each query has at least in memory.

        A chunk holds the rankings of all strategies: the more strategies there are, the fewer
        queries it may have.
        """
        n_rows = sum(len(documents.grades.flat) for documents in self.strategies)
        n_queries = max(1, len(self.strategies[0].grades))
        return max(super().values_per_query, n_rows // (2 * n_queries))

    def _compare(self, one: RankedLists, other: RankedLists) -> ChunkValues:
        """Return the values of one pair, and note the queries with ties."""
        pair = ListPair(one, other)
        values = [
            measure.definition.kernel(pair, **options)
            for measure, options in zip(self.measures, self.arguments, strict=True)
        ]
        return values, {DEPENDS_ON_TIES: one.has_ties | other.has_ties}


@dataclass(frozen=True)
class PairPart(Part):
    """Hold a frame and the request for similarities of rankings.

    For each of its queries, the frame has the rows of all strategies.
    """

    request: PairRequest

    @cached_property
    def queries(self) -> pl.DataFrame:
        """Return all queries, one row each."""
        return self.groups.keys.select(self.request.query).unique(maintain_order=True)

    @cached_property
    def query_numbers(self) -> Integers:
        """Return for each ranking the row of its query in `queries`."""
        queries = self.queries.with_row_index(PAIR_INDEX)
        keys = self.groups.keys.join(
            queries, on=self.request.query, nulls_equal=True, maintain_order="left"
        )
        return keys[PAIR_INDEX].to_numpy()

    @cached_property
    def numbers(self) -> Lists:
        """Number the documents so that strategies can be compared by number.

        A document of a query has the same number for all strategies. Numbers of different queries
        do not mix: query 0 may have the numbers 0 to 9, and query 1 the numbers 10 to 14.
        """
        groups = self.groups
        if self.request.strategy is None:
            return Lists(pl.int_range(groups.frame.height, eager=True), groups.offsets)
        documents = groups.frame.get_column(self.request.document or "")
        if nulls := documents.null_count():
            msg = (
                f"doc {documents.name!r} must not be null to match stacked strategies, got {nulls} "
                "nulls"
            )
            raise ValueError(msg)
        queries = np.repeat(self.query_numbers, np.diff(groups.offsets))
        table = pl.DataFrame({"query": queries, "doc": documents})
        numbers = table.select(pl.struct("query", "doc").rank("dense") - 1).to_series()
        return Lists(numbers, groups.offsets)

    @cached_property
    def grades(self) -> Lists:
        """Return the grades, or document numbers if no measure needs grades.

        `DocumentLists` requires a column of grades. If no measure reads this column, any numbers
        will do.
        """
        return super().grades if self.request.is_graded else self.numbers

    @property
    def tie_documents(self) -> pl.Series | None:
        """Return the column of documents if it breaks ties, or None.

        It is None if no measure depends on the order of tied documents and `ties` names no tool.
        """
        needs_order = self.request.ties.tool or self.request.order_dependent_measures
        return super().tie_documents if needs_order else None

    def measure_rankings(self) -> Iterator[StrategyValues]:
        """Yield the values of all pairs with the first strategy, and the notes of each."""
        names = [*self.request.by]
        values = self.build_pair_values(self.compute(names) if self.request.pairs.size else [])
        n_judged = pl.Series(self.grades.count(self.grades.flat.is_not_null()))
        nothing = dict.fromkeys(UNUSED_NOTES, self.make_constant(0))
        for name in names:
            notes = self.build_notes(name, {**nothing, "judged": n_judged})
            yield StrategyValues(name, values, notes)
            values = values.clear()

    @property
    def ranked_inputs(self) -> Mapping[str, Lists]:
        """Return the number that identifies each document."""
        return {"number": self.numbers}

    def make_computation(
        self, ranking: Ranking, documents: Sequence[DocumentLists]
    ) -> PairComputation:
        """Return the computation of all measures for the pairs of strategies."""
        lists = documents if self.request.strategy is None else [*self._split(documents[0])]
        checked = self.request.order_dependent_measures
        return PairComputation.of(
            [*self.measures.values()], ranking, lists, checked, pairs=self.request.pairs
        )

    def _split(self, documents: DocumentLists) -> Iterator[DocumentLists]:
        """Yield the documents of each stacked strategy, one list per query."""
        of_rankings = self.groups.keys.get_column(self.request.strategy or "")
        for strategy in self.request.strategies:
            rankings = (of_rankings == strategy).arg_true().to_numpy()
            ranking_of_query = np.full(self.queries.height, -1)
            ranking_of_query[self.query_numbers[rankings]] = rankings
            yield documents.select(ranking_of_query)

    def build_pair_values(self, computed: Sequence[Computed]) -> pl.DataFrame:
        """Return the values of each pair and query."""
        measures = self.request.measures
        dtypes = {column: measure.definition.dtype for column, measure in measures.items()}
        dtypes = {PAIR_INDEX: pl.UInt32(), **self.queries.schema, **dtypes}
        tables = [pl.DataFrame(schema={**dtypes, TIED_PAIR: pl.Boolean})]
        for index, values in enumerate(computed):
            tables.append(
                self.queries.select(
                    pl.lit(index, pl.UInt32).alias(PAIR_INDEX), pl.all()
                ).with_columns(
                    **dict(zip(measures, values.columns, strict=True)),
                    **{TIED_PAIR: values.notes[DEPENDS_ON_TIES]},
                )
            )
        return pl.concat(tables)


class GatheredPairs(Gathered):
    """Values of pairs, collected part by part."""

    request: PairRequest
    part = PairPart

    def sort_values(self) -> pl.DataFrame:
        """Return the values of all queries, sorted by pair and query."""
        values = pl.concat(each.values for each in chain(*self.measured.values())).sort(
            self.request.query
        )
        pairs = self.request.named_pairs
        return pairs.join(values, on=PAIR_INDEX, maintain_order="left_right").drop(PAIR_INDEX)


def _find_strategies(frame: Any, column: str) -> pl.Series:
    """Return the names of stacked strategies in a frame of any kind."""
    engine = find_engine(frame)
    if engine is None:
        rows = frame.lazy().select(column).unique().collect(engine="streaming")
        names = in_order(rows.to_series())
    else:
        names = in_order(engine.find_distinct(frame, column))
    if names.null_count():
        msg = f"strategy {column!r} must not be null"
        raise ValueError(msg)
    return names


@gather.register
def _(request: PairRequest) -> GatheredPairs:
    return GatheredPairs(request)


@returns_lazy_for_lazy
@partial(checks_call, keeps=find_engine)
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
    query, by, strategy, descending
        As for `evaluate`. Either `by` names the score columns of at least two strategies, or
        `strategy` names the column of strategies, which is read at the call, also from a
        LazyFrame. The frame then needs documents.
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
    given = grade if needs_grades else NO_GRADE

    def make_requests(rows: pl.DataFrame | pl.LazyFrame) -> list[PairRequest]:
        request = PairRequest.of(
            rows,
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
        )
        strategies = pl.Series([*request.by])
        if strategy is not None:
            strategies = _find_strategies(frame, strategy)
        request = replace(request, strategies=strategies)
        if len(strategies):
            pairs = np.stack(find_pairs(strategies, baseline, hint=STRATEGIES_HINT))
            request = replace(request, pairs=pairs)
        return [request]

    values: pl.DataFrame | pl.LazyFrame = measure_frame(
        make_requests, frame, consecutive=consecutive
    )
    return values
