"""Similarity of the rankings of two strategies, one row per pair and query."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, TypedDict, Unpack, overload

import polars as pl

from polars_graded._checks import check_flag, did_you_mean
from polars_graded._frames.directions import Directions
from polars_graded._frames.duplicates import Duplicates, check_once
from polars_graded._frames.grouping import KEY, Groups
from polars_graded._frames.parts import (
    Cut,
    Parts,
    check_parts,
    check_queries_are_together,
    choose_cut,
)
from polars_graded._frames.progress import progress as show_progress
from polars_graded._frames.request import (
    By,
    Columns,
    Descending,
    Measures,
    Request,
    Ties,
    parse_measures,
)
from polars_graded._frames.sorting import in_order
from polars_graded._frames.sources import scan_frames
from polars_graded._frames.values import Faults, Part, Rankings, grouped, sort_by_query
from polars_graded._measuring.batches import Lists
from polars_graded._measuring.computing import compute_pairs
from polars_graded._measuring.definitions import SIMILARITIES
from polars_graded._measuring.documents import DocumentLists
from polars_graded._measuring.keywords import takes_options_of
from polars_graded._measuring.names import Measure
from polars_graded._measuring.ranking import DOCUMENT_INPUTS
from polars_graded._measuring.tie_orders import BY_DOCUMENT, TREC_EVAL
from polars_graded._warnings import DataWarning, warn_the_caller

PAIR = ("a", "b")
"""Columns of the two strategies in a result."""


class RankOptions(TypedDict, total=False):
    """Keywords that define rankings without grades."""

    query: Columns
    ties: Ties
    descending: Descending
    doc: str | None


class StrategyOptions(RankOptions, total=False):
    """The same, with those that define strategies."""

    by: By
    strategy: str | None


class PairOptions(StrategyOptions, total=False):
    """Keywords of `similarity`."""

    baseline: Any
    parts: Parts
    progress: bool


OF_GRADES = (
    "grade",
    "irrelevant",
    "max_grade",
    "relevant_from",
    "undefined_as",
    "condensed",
    *DOCUMENT_INPUTS,
)
"""Keywords of `Request.of` that concern grades."""


@overload
def similarity(
    frame: pl.LazyFrame, *measures: Measures, **options: Unpack[PairOptions]
) -> pl.LazyFrame: ...
@overload
def similarity(frame: Any, *measures: Measures, **options: Unpack[PairOptions]) -> pl.DataFrame: ...
@takes_options_of(Request.of, without=OF_GRADES)
def similarity(
    frame: Any,
    *measures: Measures,
    baseline: Any = None,
    parts: Parts = None,
    progress: bool = True,
    **options: Unpack[StrategyOptions],
) -> Any:
    r"""Compare the rankings of strategies with each other, without grades.

    A row of the frame is a document of a query, as for `evaluate`. A null score means that a
    strategy did not retrieve the document. No grades are needed, so this function shows what a new
    ranker changes before anybody judges a document.

    Parameters
    ----------
    frame
        Any data frame, as for `evaluate`. A LazyFrame returns a LazyFrame.
    *measures
        Names of similarity measures, lists of them, or mappings from names of columns to measures,
        as for `evaluate`. :math:`X_d` is the number of documents that both lists have among their
        first d, and :math:`A_d = X_d / d` is the agreement at depth d.

        - `overlap@n`: :math:`A_n`. Without a cutoff, and for shorter lists, n is the length of the
          longer list. From 0 (disjoint) to 1 (the same documents).
        - `average_overlap@n`: the mean of :math:`A_1` to :math:`A_n`.
        - `overlap_curve@n`: the list of :math:`A_1` to :math:`A_n`.
        - `jaccard@n`: the common documents of both first n over all documents of both.
        - `rbo(p=0.9)`: rank-biased overlap, the agreement that a user sees who goes on to the next
          depth with probability p. Below the end of the lists, the agreement is extrapolated. With
          l the length of the longer list,

          .. math:: RBO = (1 - p) \sum_{d=1}^{l} p^{d-1} A_d + p^l A_l

          As text: ``RBO = (1 - p) Σ_d p^(d - 1) A_d + p^l A_l``. If lists differ in length, the
          agreement at the end of the shorter one continues in :math:`A_d` and :math:`A_l`.
        - `rbo_min`, `rbo_max`: the bounds of `rbo`, if the lists continue with no further common
          document or with as many as possible. Their difference is the residual.
        - `kendall_tau`: Kendall's :math:`\tau_b` of the common documents, from -1 to 1.
        - `spearman`: the correlation of the ranks of common documents, from -1 to 1.
        - `tau_ap`: :math:`\tau_{AP}` of the common documents, from -1 to 1. Changes at the top of
          `a` count more. `b` is the reference, so that `tau_ap` is not symmetric.
        - `max_displacement@n`: the maximum difference of the ranks of a common document, among
          those that either list has in its first n.
        - `top_changed`: 1 if the first documents differ, otherwise 0.
    query, by, strategy, descending
        As for `evaluate`. `by` names two columns or more, or `strategy` names the column that
        identifies stacked strategies. Stacked strategies need a column of documents.
    baseline
        The strategy to compare all others with. By default, all pairs are compared.
    ties
        The order of tied documents, as for `evaluate`: a column, `"order"` or `"trec_eval"`. It
        changes only `jaccard`, `max_displacement`, `tau_ap`, and measures with `ties=order`. The
        others take account of ties, because one order for both lists would make them more alike:
        overlap and rank-biased overlap as `ties` in their names specifies, such as `rbo(ties=b)`:
        `a` (by default) is the mean over all orders of tied documents, `b` corrects it for the
        information that ties lose, and `w` gives tied documents the same rank.
    doc
        The column of documents, as for `evaluate`.
    parts, progress
        As for `evaluate`.

    Returns
    -------
    DataFrame or LazyFrame
        One row per pair and query: the name of the pair (`"a and b"`, in the column `"strategy"` or
        the one that `strategy` names), the two strategies `a` and `b`, the query, and one column
        per measure (Float64; a list for `overlap_curve`). `b` is the baseline. `summarise` and
        charts take this frame: they treat each pair as a strategy. If only one strategy retrieved
        documents, overlaps and `rbo` are 0 and `rbo_max` is 1; if neither did, they are null. The
        correlations are null with fewer than two common documents, or if all of them are tied.

    Raises
    ------
    ValueError
        As `evaluate`, for a document that occurs twice in a ranking, scores that are NaN or
        infinite, and columns that may hold ranks without `descending`. If there are fewer than two
        strategies.

    Warns
    -----
    DataWarning
        `ties`: a requested measure may depend on the order of tied documents, and `ties` is not
        passed.

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
    chosen = parse_measures(measures, SIMILARITIES)
    request = replace(Request.of(["n_retrieved"], grade=pl.lit(None), **options), measures=chosen)
    request.check_names()
    _check_arguments(request, baseline)
    parts, shown = check_parts(parts), check_flag("progress", progress)
    opened = request.open_frame(frame)
    schema = opened.collect_schema()
    request = request.with_document_column(schema)
    if request.strategy is not None and request.document is None:
        msg = "`doc` must name the column of documents if strategies are stacked, got none"
        raise ValueError(msg)
    if isinstance(opened, pl.DataFrame):
        return _compare_parts(request, opened, baseline, parts, shown=shown)

    def values(columns: Collection[str], wanted: pl.Expr | None) -> Iterator[pl.DataFrame]:
        rows = opened
        if wanted is not None and {*wanted.meta.root_names()} <= {*request.query}:
            rows = opened.filter(wanted)
        names = [name for name in chosen if name in columns] or [*chosen][:1]
        asked = replace(request, measures={name: chosen[name] for name in names})
        yield _compare_parts(asked, rows, baseline, parts, shown=shown)

    return scan_frames(_build_schema(request, schema), values)


def _check_arguments(request: Request, baseline: Any) -> None:
    """Raise if there is no pair, or if columns of the result have the same name."""
    if taken := [name for name in (*request.result_keys, *request.measures) if name in PAIR]:
        msg = f"no column of the result may have the name of another, got {taken[0]!r} twice"
        raise ValueError(msg)
    if request.tool not in (None, "trec_eval"):
        msg = f"`ties` must name a column, 'order' or 'trec_eval', got {request.tool!r}"
        raise ValueError(msg)
    if request.strategy is None:
        find_pairs([*request.by], baseline)


def find_pairs(strategies: Sequence[Any], baseline: Any) -> list[tuple[int, int]]:
    """Return the places of all pairs, or of each other strategy and the baseline."""
    names = ", ".join(map(repr, strategies)) or "none"
    if len(strategies) < 2:  # noqa: PLR2004
        msg = (
            f"there must be at least two strategies to compare, got {names}\n\n"
            "Hint: by=['old', 'new'] names their scores; strategy='strategy' names the column of "
            "stacked strategies"
        )
        raise ValueError(msg)
    if baseline is None:
        return [*combinations(range(len(strategies)), 2)]
    if baseline not in strategies:
        msg = f"`baseline` must be one of {names}, got {baseline!r}"
        raise ValueError(msg + did_you_mean(str(baseline), map(str, strategies)))
    base = strategies.index(baseline)
    return [(place, base) for place in range(len(strategies)) if place != base]


def _build_schema(request: Request, schema: Mapping[str, pl.DataType]) -> pl.Schema:
    """Return the schema of the result for the schema of a frame."""
    keys = request.build_schema(schema)
    pair = dict.fromkeys(PAIR, keys.pop(request.key))
    return pl.Schema({request.key: pl.String(), **pair, **keys})


class RankingChecks:
    """Checks of rows before they are ranked, collected part by part."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.directions, self.duplicates = Directions(request), Duplicates([request])
        self.faults = {name: Faults() for name in request.by}

    def add(self, rows: pl.DataFrame) -> Groups:
        """Return the rankings of whole queries; raise if a document occurs twice in one."""
        groups, empty = grouped([self.request], rows), pl.DataFrame()
        self.directions.add(groups)
        self.duplicates.check(rows, groups)
        part = Part(self.request, groups, ())
        for name, faults in self.faults.items():
            numbers = part.not_finite(name, part.list_ranking_columns(name))
            faults.add(Rankings(name, empty, empty, numbers))
        return groups

    def finish(self) -> None:
        """Raise if a score may hold ranks, or is not finite."""
        self.directions.check()
        for name, faults in self.faults.items():
            ranking = self.request.build_ranking(name)
            faults.check(ranking, stacked=self.request.strategy is not None)


def _compare_parts(
    request: Request,
    frame: pl.DataFrame | pl.LazyFrame,
    baseline: Any,
    parts: Parts,
    *,
    shown: bool,
) -> pl.DataFrame:
    """Return the similarities of all queries, measured part by part."""
    at_hand: Iterable[pl.DataFrame]
    if isinstance(frame, pl.DataFrame) and parts is None:
        cut, at_hand = Cut(1, request.query, frame.height), [frame]
    else:
        rows = frame.lazy().select(request.input_columns)
        cut = choose_cut(rows, request.query, None, parts)  # a part has all strategies of a query
        at_hand = cut.of(rows)
    strategies = _list_strategies(request, frame)
    pairs = find_pairs(strategies, baseline)
    checks, tied, n = RankingChecks(request), 0, 0
    tables: list[list[pl.DataFrame]] = [[] for _ in pairs]
    with show_progress(str(cut), "rows", cut.rows, shown=shown) as more:
        for part in at_hand:
            rows_of_part = request.add_computed_columns(part)
            groups, wide = checks.add(rows_of_part), request
            if request.strategy is not None:
                wide, rows_of_part = _unstack(request, rows_of_part, strategies)
                groups = grouped([wide], rows_of_part)
            rankings = _rank_groups(request, wide, groups)
            by_order = pl.Series([False]).new_from_index(0, groups.n)
            computed = compute_pairs([*request.measures.values()], rankings, pairs)
            for parts_of_pair, of_pair in zip(tables, computed, strict=True):
                values = dict(zip(request.measures, of_pair.columns, strict=True))
                parts_of_pair.append(groups.keys.select(request.query).with_columns(**values))
                by_order |= of_pair.decided_by_order
            tied, n = tied + int(by_order.sum()), n + groups.n
            more(part.height)
    checks.finish()
    _warn_of_ties(request, tied, n)
    dtype = _build_schema(request, frame.collect_schema())[PAIR[0]]
    results = []
    for (a, b), parts_of_pair in zip(pairs, tables, strict=True):
        table = pl.concat(parts_of_pair)
        if cut.way == "sorted":
            check_queries_are_together(table.select(request.query), request.query)
        keys = (
            pl.lit(f"{strategies[a]} and {strategies[b]}").alias(request.key),
            *(pl.lit(strategies[place], dtype).alias(PAIR[place == b]) for place in (a, b)),
        )
        results.append(sort_by_query(request, table).select(*keys, pl.all()))
    return pl.concat(results)


def _list_strategies(request: Request, frame: pl.DataFrame | pl.LazyFrame) -> list[Any]:
    """Return the names of all strategies, in natural order if they are stacked."""
    if request.strategy is None:
        return [*request.by]
    names = frame.lazy().select(request.strategy).unique().collect(engine="streaming")
    strategies = in_order(names.to_series()).to_list()
    if None in strategies:
        msg = f"strategy {request.strategy!r} must not be null"
        raise ValueError(msg)
    return strategies


def _unstack(
    request: Request, rows: pl.DataFrame, strategies: Sequence[Any]
) -> tuple[Request, pl.DataFrame]:
    """Return one row per document with the columns of each strategy, and their request."""
    check_once(request, rows)
    [entry] = request.by
    index = [*request.query, request.document or ""]
    if nulls := rows[index[-1]].null_count():
        msg = f"doc {index[-1]!r} must not be null to match stacked strategies, got {nulls} nulls"
        raise ValueError(msg)
    ties = request.ties or ()
    columns = [*map(pl.col, request.by[entry])]
    columns += [request.as_text(name, pl.col(name)) for name in ties]
    flags = (*request.find_directions(entry), *(True for _ in ties))
    if request.ties == ():  # the order of rows, which grouping changes
        columns, flags = [*columns, pl.int_range(pl.len())], (*flags, False)
    keys = [KEY.format(number) for number in range(len(columns))]
    stacked = rows.select(*index, request.strategy, *map(pl.Expr.alias, columns, keys))
    by = {name: tuple(f"{key} of {name}" for key in keys) for name in strategies}
    strategy = pl.col(request.strategy or "")
    wide = stacked.group_by(index, maintain_order=True).agg(
        pl.col(key).filter(strategy == name).first().alias(column)
        for name, names in by.items()
        for key, column in zip(keys, names, strict=True)
    )
    ties_of_wide = None if request.ties is None else ()
    wide_request = replace(
        request,
        by=by,
        descending=dict.fromkeys(by, flags),
        strategy=None,
        ties=ties_of_wide,
        # The columns of expressions are there already, except that of no grades.
        computed={request.grade: request.computed[request.grade]},
    )
    return wide_request, wide_request.add_computed_columns(wide)


def _rank_groups(request: Request, wide: Request, groups: Groups) -> list[DocumentLists]:
    """Return the rankings of each strategy, whose grades are the numbers of the rows.

    Documents count as tied if they are equal in the columns of `by`, whatever breaks their ties.
    """
    part, rankings = Part(wide, groups, ()), []
    numbers = Lists(pl.int_range(groups.frame.height, eager=True), groups.offsets)
    order = BY_DOCUMENT if request.tool is None else TREC_EVAL
    needs_order = request.tool is not None or any(map(depends_on_order, request.measures.values()))
    for name in wide.by:
        keys = part.list_ranking_columns(name)
        ranking = part.build_ranking(name)
        if request.ties is None:
            names = part.names if needs_order else None
            rankings.append(DocumentLists.of(ranking, numbers, keys, order, names))
            continue
        documents = DocumentLists.of(ranking, numbers, keys)
        is_alone = len(request.find_columns(name)) == 1
        rankings.append(replace(documents, ties=documents.scores) if is_alone else documents)
    return rankings


def depends_on_order(measure: Measure) -> bool:
    """Return whether the order of tied documents can change a similarity measure."""
    return measure.options.get("ties") == "order"


def _warn_of_ties(request: Request, tied: int, n: int) -> None:
    """Warn if the order of tied documents may decide values and `ties` is not passed."""
    names = [name for name, measure in request.measures.items() if depends_on_order(measure)]
    if not (tied and names and request.ties is None and request.tool is None):
        return
    how = "the order of rows" if request.tie_column is None else f"column {request.tie_column!r}"
    confirmed = "order" if request.tie_column is None else request.tie_column
    warn_the_caller(
        DataWarning.ties,
        f"{how} orders documents with the same score in {tied} of {n} queries, on which "
        f"{', '.join(names)} may depend\n\n"
        f"Hint: ties={confirmed!r} confirms this order; rbo, overlap and average_overlap average "
        "over all orders",
    )
