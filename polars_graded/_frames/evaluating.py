"""Evaluation of whole frames, with one row per strategy and query as the result."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import Any, Protocol

import polars as pl

from polars_graded._checks import check_flag, first_few
from polars_graded._door import find_engine
from polars_graded._frames.arguments import By, Column, Columns, Descending, Grade, Measures
from polars_graded._frames.lazy_frames import scan_frames
from polars_graded._frames.ranking_checks import DocumentCheck, RankCheck
from polars_graded._frames.request import SETTINGS, Request
from polars_graded._frames.rows import Groups, add_computed_columns, read_whole_queries
from polars_graded._frames.tables import GRADER
from polars_graded._frames.values import ValueCollector
from polars_graded._measuring.document_columns import DEFAULT_DOC
from polars_graded._measuring.keywords import checks_call, returns_lazy_for_lazy
from polars_graded._measuring.scale import Undefined
from polars_graded._measuring.ties import TiesArgument


@returns_lazy_for_lazy
@partial(checks_call, keeps=find_engine)
def evaluate(
    frame: Any,
    *measures: Measures,
    query: Columns = "query",
    grade: Grade = "grade",
    by: By = "score",
    strategy: str | None = None,
    ties: TiesArgument = None,
    descending: Descending = None,
    doc: str | None = DEFAULT_DOC,
    irrelevant: float = 0.0,
    max_grade: float | None = None,
    relevant_from: float | None = None,
    undefined_as: Undefined = "default",
    condensed: bool = False,
    known: Column | None = None,
    subtopics: Column | None = None,
    popularity: Column | None = None,
    features: Column | None = None,
    reference: Column | None = None,
    consecutive: bool = False,
    fingerprint: str | bool | None = None,
) -> pl.DataFrame | pl.LazyFrame:
    """Measure the rankings of a whole frame: one row per strategy and query.

    A row of the frame is a document of a query. A null score means not retrieved, and a null grade
    not judged. Each score column is a strategy. If strategies are stacked, pass `strategy`.

    Parameters
    ----------
    frame
        Any data frame: Polars, pandas, pyarrow, DuckDB, Spark, Ray, or another that narwhals or
        Arrow supports.
    *measures
        Names of measures, or lists of them, such as `"ndcg@10"`, with gains 2^grade - 1, or
        `"ndcg(gain=linear)@10"`, which is trec_eval's NDCG. A mapping gives the columns other
        names: `{"nDCG": "ndcg(gain=linear)@10"}`.
    query
        The column that identifies queries, or several columns together.
    grade
        The column of grades, or an expression, evaluated within each ranking. Several columns, or a
        mapping from names, are several graders.
    by
        The score columns: a name, names, or a selection such as `cs.starts_with("model_")`. A
        mapping names the strategies: `{"old": -pl.col("rank")}`. A list in place of a column breaks
        ties by further columns: `by=[["score", "doc"]]`.
    strategy
        The column that identifies strategies, if their rows are stacked.
    ties
        Columns that order tied documents, the highest value first; `"order"` for the order of rows;
        or a tool: `"trec_eval"` (version 10, which compares doubles), `"pytrec_eval"` (32 bits). By
        default, the column of documents orders them.
    descending
        True, the default, ranks the highest value first. Pass a Boolean, a list with one entry per
        strategy, or a mapping for some strategies: `{"old_rank": False}`.
    doc
        The column of documents, each of which may occur once in a ranking. By default a column
        called "doc", "product_id" or another usual name. With None, each row is a document.
    irrelevant, max_grade, relevant_from
        The scale of the grades, and the lowest relevant grade, as in `Graded.scaled`.
    undefined_as
        The value of a query without a relevant document: a number, or None for null.
    condensed
        If True, unjudged documents are dropped from the rankings, which is wrong if no judged
        document is irrelevant.
    known, subtopics, popularity, features, reference
        Columns or expressions with properties of documents, for the measures that need them.
    consecutive
        If True, the rows of each query are consecutive, so that a LazyFrame may exceed memory.
    fingerprint
        If True, and if there is a column of documents, results record how they were measured and by
        which judgments, for `write_results` and `gate`. A name passes another column of ids.

    Returns
    -------
    DataFrame, or a frame of the same kind for lazy frames, Spark and Ray
        The strategy, the query and one column per measure. Strategies are in the order of `by`, or
        sorted if they are stacked, and the queries of a strategy are sorted.

    Raises
    ------
    ValueError
        If a column looks like ranks, with whole numbers from 1 that differ within a query, and
        `descending` is not passed. The page "Rows, ties and missing judgments" has the rule.

        If a document occurs twice in a ranking, or has two grades; if a grade or a score is NaN or
        infinite; if a column `"strategy"` has several values and no argument names it.

    Warns
    -----
    DataWarning
        If means may mislead although each value is correct, for example if queries have no
        judgments.

    Notes
    -----
    The pages "Rows, ties and missing judgments" and "Large data" of the documentation explain the
    rules, the warnings, and the orders of other tools.

    See Also
    --------
    overview : Counts of the data, before measuring.
    join_judgments : Join runs and judgments into such a frame.
    summarise, compare : Means of the result, and their differences.

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
    __tracebackhide__ = True
    make_requests = partial(
        Request.of_graders,
        measures=measures,
        query=query,
        grade=grade,
        by=by,
        strategy=strategy,
        ties=ties,
        descending=descending,
        doc=doc,
        irrelevant=irrelevant,
        max_grade=max_grade,
        relevant_from=relevant_from,
        undefined_as=undefined_as,
        condensed=condensed,
        known=known,
        subtopics=subtopics,
        popularity=popularity,
        features=features,
        reference=reference,
        fingerprint=fingerprint,
    )
    check_flag("consecutive", consecutive)
    if isinstance(frame, pl.DataFrame):
        return measure_frame(make_requests(frame), frame)
    if isinstance(frame, pl.LazyFrame):
        return measure_lazily(make_requests(frame), frame, consecutive=consecutive)
    engine: Any = find_engine(frame)
    for name, value in (("consecutive", consecutive), ("fingerprint", fingerprint)):
        if value not in (None, False):
            msg = f"`{name}` must not be passed for frames of Spark and the like, got {value!r}"
            raise ValueError(msg)
    requests = make_requests(pl.LazyFrame(schema=engine.read_schema(frame)))
    of_graders = [engine.evaluate_rows(request, frame) for request in requests]
    values: pl.DataFrame | pl.LazyFrame = reduce(lambda one, other: one.union(other), of_graders)
    return values


class Collector(Protocol):
    """Object that gets the parts of a frame one by one, to collect facts or values, or to raise."""

    def add(self, groups: Groups) -> None:
        """Add a part of whole queries."""


def measure_frame(
    requests: Sequence[Request],
    frame: pl.DataFrame | pl.LazyFrame,
    *,
    consecutive: bool = False,
    is_whole_frame: bool = True,
) -> pl.DataFrame:
    """Return the values of all queries.

    `requests` has one request for each grader. If the rows of each query are `consecutive`, the
    rows of a LazyFrame are read batch by batch. Part of a frame, which is not `is_whole_frame`, may
    lack strategies.
    """
    first = requests[0]
    rank_check = RankCheck(first.columns, first.directions, are_parts=consecutive)
    value_collectors = [ValueCollector(each) for each in requests]
    collectors: list[Collector] = [rank_check, DocumentCheck(requests), *value_collectors]
    for groups in _group_rows(requests, frame, consecutive=consecutive):
        for each in collectors:
            each.add(groups)
    rank_check.finish(are_all=is_whole_frame)
    result = pl.concat(each.finish() for each in value_collectors)
    if isinstance(frame, pl.LazyFrame):
        # `consecutive`, or a flag of `set_sorted`, may be wrong for these rows.
        keys = [*([] if first.columns.grader is None else [GRADER]), *first.columns.result_keys]
        _check_queries_are_together(result, keys)
    return result


def _group_rows(
    requests: Sequence[Request], frame: pl.DataFrame | pl.LazyFrame, *, consecutive: bool
) -> Iterator[Groups]:
    """Yield the rows of a frame, grouped by ranking, in parts of whole queries.

    The requests differ in their graders, but not in the columns that identify a ranking. There is
    one part, unless the rows of each query of a LazyFrame are `consecutive`.
    """
    first = requests[0]
    columns = [*dict.fromkeys(name for each in requests for name in each.row_columns)]
    expressions = {
        name: expr for each in requests for name, expr in each.columns.expressions.items()
    }
    parts: Iterable[Any] = [frame]
    if isinstance(frame, pl.LazyFrame):
        # The columns from which expressions compute others.
        needed = dict.fromkeys(name for each in requests for name in each.needed_columns)
        parts = [frame.select(*needed)]
        if consecutive:
            parts = read_whole_queries(parts[0], first.columns.query)
    for part in parts:
        rows = add_computed_columns(part, expressions, first.columns.ranking_keys)
        yield Groups.of(rows, first.columns.ranking_keys, columns)


def _check_queries_are_together(values: pl.DataFrame, keys: Sequence[str]) -> None:
    """Raise if the rows of a query were apart, so that it has several rows of values."""
    # Counting the values of one column takes much less memory than comparing whole keys.
    varying = [key for key in keys if values.get_column(key).n_unique() > 1]
    if values.height <= 1 or (varying and values.select(varying).n_unique() == values.height):
        return
    scattered = values.select(keys).filter(pl.struct(keys).is_duplicated())
    if scattered.height:
        scattered = scattered.unique(maintain_order=True)
        msg = (
            "`consecutive` and `set_sorted` need rows of each query that are consecutive, got "
            f"{scattered.height} of {values.select(keys).n_unique()} queries in several places: "
            f"{first_few(scattered.rows())}\n\nHint: leave them out, or sort the rows by query"
        )
        raise ValueError(msg)


def measure_lazily(
    requests: Sequence[Request], frame: pl.LazyFrame, *, consecutive: bool
) -> pl.LazyFrame:
    """Return a LazyFrame that measures `frame` when it is collected.

    Only the measures that the caller selects are computed. A filter that uses only `ranking_keys`
    is applied before measuring.
    """
    keys = {*requests[0].columns.ranking_keys}

    def read_values(columns: Collection[str], wanted: pl.Expr | None) -> Iterator[pl.DataFrame]:
        rows = frame
        if wanted is not None and keys.issuperset(wanted.meta.root_names()):
            rows = frame.filter(wanted)
        selected = [_select_columns(each, columns) for each in requests]
        yield measure_frame(selected, rows, consecutive=consecutive, is_whole_frame=wanted is None)

    schema = frame.collect_schema()
    check_without_data(requests, schema)
    return scan_frames(requests[0].build_schema(schema), read_values)


def check_without_data(requests: Sequence[Request], schema: pl.Schema) -> None:
    """Measure an empty frame, to raise errors that do not depend on rows."""
    measure_frame(requests, schema.to_frame())


def _select_columns(request: Request, columns: Collection[str]) -> Request:
    """Limit a request to the measures and the records in `columns`.

    If `columns` contains no measure, keep the first measure of the request. The settings name all
    measures.
    """
    names = [name for name in request.measures if name in columns] or [*request.measures][:1]
    if SETTINGS in columns:
        names = [*request.measures]
    selected = replace(request, measures={name: request.measures[name] for name in names})
    if {*request.record_columns}.isdisjoint(columns):
        return replace(selected, columns=replace(request.columns, fingerprint=None))
    return selected
