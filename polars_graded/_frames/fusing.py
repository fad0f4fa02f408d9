"""Fusion of the rankings of several strategies into one score."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

import polars as pl

from polars_graded._checks import check_choice, check_column_name, check_number, first_few
from polars_graded._frames.arguments import NO_GRADE, By, Columns, Descending
from polars_graded._frames.evaluating import measure_frame
from polars_graded._frames.request import Request
from polars_graded._frames.rows import TEMPORARY_NAME_TEMPLATE
from polars_graded._measuring.document_columns import DEFAULT_DOC
from polars_graded._measuring.expression import rank_rows
from polars_graded._measuring.keywords import checks_call, returns_lazy_for_lazy
from polars_graded._measuring.list_columns import convert_to_physical
from polars_graded._measuring.ties import TiesArgument

Method: TypeAlias = Literal[
    "rrf",
    "borda",
    "comb_sum",
    "comb_mnz",
    "comb_anz",
    "comb_max",
    "comb_min",
    "comb_med",
    "weighted_sum",
]
Normalisation: TypeAlias = Literal["min_max", "z", "sum", "rank"]

RANK_METHODS = ("rrf", "borda")
"""Methods that use ranks and no scores."""

WEIGHTED_METHODS = ("rrf", "weighted_sum")
"""Methods that can weigh strategies."""


def _divide_scores(dividend: pl.Expr, divisor: pl.Expr) -> pl.Expr:
    """Return a quotient: 0 for a divisor of 0, null for a null dividend."""
    return pl.when(divisor > 0).then(dividend / divisor).otherwise(dividend * 0.0)


NORMALISATIONS: Mapping[str | None, Callable[[pl.Expr, pl.Expr], pl.Expr]] = {
    None: lambda score, _: score,
    "min_max": lambda score, _: _divide_scores(score - score.min(), score.max() - score.min()),
    "z": lambda score, _: (
        # Rounding may give equal scores a deviation slightly above 0.
        pl.when(score.max() > score.min())
        .then((score - score.mean()) / score.std(ddof=0))
        .otherwise(score * 0.0)
    ),
    "sum": lambda score, _: _divide_scores(score - score.min(), (score - score.min()).sum()),
    "rank": lambda _, rank: 1 - (rank - 1) / rank.count(),
}
"""Functions that turn the scores and ranks of a strategy for one query into normalised values."""

RANK_COLUMN_TEMPLATE = TEMPORARY_NAME_TEMPLATE.format("rank of {}")
"""Pattern of the names of temporary columns with the ranks of strategies."""

COMBINATIONS: Mapping[str, Callable[[Sequence[pl.Expr]], pl.Expr]] = {
    "comb_sum": pl.sum_horizontal,
    "comb_mnz": lambda scores: pl.sum_horizontal(scores) * _count_lists(scores),
    "comb_anz": lambda scores: pl.sum_horizontal(scores) / _count_lists(scores),
    "comb_max": pl.max_horizontal,
    "comb_min": pl.min_horizontal,
    "comb_med": lambda scores: pl.concat_list(scores).list.median(),
}
"""Functions that combine the values of a document. Other methods add the values."""


def _count_lists(scores: Sequence[pl.Expr]) -> pl.Expr:
    """Return the number of strategies that retrieved a document."""
    return pl.sum_horizontal(score.is_not_null() for score in scores)


PIVOT_HINT = (
    "frame.pivot('strategy', index=['query', 'doc'], values='score') gives each strategy a column "
    "of scores"
)
"""Remedy for strategies in the rows of a frame, which `fuse` does not take."""


@returns_lazy_for_lazy
@checks_call
def fuse(
    frame: Any,
    *,
    by: By,
    method: Method = "rrf",
    normalise: Normalisation | None = "min_max",
    weights: Mapping[str, float] | Sequence[float] | None = None,
    k: float = 60,
    name: str = "fused",
    query: Columns = "query",
    ties: TiesArgument = None,
    descending: Descending = None,
    doc: str | None = DEFAULT_DOC,
) -> Any:
    r"""Fuse the scores of several strategies into one score per document.

    A document has a fused score if at least one strategy retrieved it. The strategies are, for
    example, a keyword search and a vector search. The page "Search or RAG, start to finish" of the
    documentation defines all methods and compares them with other tools.

    .. math:: RRF(d) = \sum_s \frac{w_s}{k + rank_s(d)}

    As text: ``RRF(d) = Σ_s w_s / (k + rank_s(d))``

    Parameters
    ----------
    frame
        Any data frame that `evaluate` accepts, except those of Spark and Ray, with one row per
        query and document. A LazyFrame returns a LazyFrame. Pivot stacked runs first:
        `runs.pivot("strategy", index=["query", "doc"], values="score")`.
    by, query, ties, descending, doc
        As for `evaluate`. `by` names two strategies or more. `ties` matters only where ranks are
        used. If the lowest score comes first (`descending=False`), the sign of the scores is
        reversed.
    method
        Reciprocal rank fusion `"rrf"`, the formula above; the points of ranks, `"borda"`; or a
        combination of normalised scores: `"comb_sum"`, `"comb_max"`, `"comb_min"`, `"comb_med"`,
        `"comb_mnz"`, `"comb_anz"` or `"weighted_sum"`.
    normalise
        The way to make scores comparable within a query: `"min_max"` (by default; from 0 to 1),
        `"z"` (mean 0, standard deviation 1), `"sum"` (lowest 0, sum 1), `"rank"` (1 for the first)
        or None. The methods `"rrf"` and `"borda"` use ranks.
    weights
        The weight of each strategy, 0 or more, as a mapping or in the order of `by`: required for
        `"weighted_sum"`, by default 1 for `"rrf"`. Choose weights on other queries than those on
        which you evaluate them.
    k
        The constant of reciprocal rank fusion, 0 or more. A higher value makes the top ranks less
        important.
    name
        The name of the new column. An existing column of this name is replaced.

    Returns
    -------
    DataFrame or LazyFrame
        The same rows with a further column (Float64), null for documents that no strategy
        retrieved. A strategy adds nothing to the sum of a document that it did not retrieve, except
        with `"borda"`. Ties are frequent in fusions of ranks; `ties` of `evaluate` orders them.

    Raises
    ------
    ValueError
        If a document occurs twice in a ranking; if a score is NaN or infinite; if a column may hold
        ranks and `descending` is not passed; if `fuse` reads the column `name`. Other errors are
        the same as for `evaluate`.

    Warns
    -----
    DataWarning
        `missing` and `nulls`: as for `evaluate`.

    See Also
    --------
    evaluate : Measures of the fused ranking and of the rankings of the strategies.
    similarity : The similarity of the rankings to fuse.

    References
    ----------
    Cormack, Clarke, Büttcher: Reciprocal rank fusion outperforms Condorcet and individual rank
    learning methods, SIGIR 2009. Fox, Shaw: Combination of multiple searches, TREC-2, 1994. Lee:
    Analyses of multiple evidence combination, SIGIR 1997. Aslam, Montague: Models for metasearch,
    SIGIR 2001.

    Examples
    --------
    >>> df = pl.DataFrame(
    ...     {
    ...         "query": [1, 1, 1],
    ...         "doc": ["x", "y", "z"],
    ...         "bm25": [3.0, 2.0, None],
    ...         "dense": [None, 0.9, 0.4],
    ...     }
    ... )
    >>> fuse(df, by=["bm25", "dense"], method="borda")
    shape: (3, 5)
    ┌───────┬─────┬──────┬───────┬───────┐
    │ query ┆ doc ┆ bm25 ┆ dense ┆ fused │
    │ ---   ┆ --- ┆ ---  ┆ ---   ┆ ---   │
    │ i64   ┆ str ┆ f64  ┆ f64   ┆ f64   │
    ╞═══════╪═════╪══════╪═══════╪═══════╡
    │ 1     ┆ x   ┆ 3.0  ┆ null  ┆ 4.0   │
    │ 1     ┆ y   ┆ 2.0  ┆ 0.9   ┆ 5.0   │
    │ 1     ┆ z   ┆ null ┆ 0.4   ┆ 3.0   │
    └───────┴─────┴──────┴───────┴───────┘
    """
    request = Request.of(
        frame,
        ["n_relevant"],
        stacked_hint=PIVOT_HINT,
        grade=NO_GRADE,
        by=by,
        query=query,
        ties=ties,
        descending=descending,
        doc=doc,
    )
    check_choice("method", method, get_args(Method))
    if normalise is not None:
        check_choice("normalise", normalise, get_args(Normalisation), instead="None")
    if method in RANK_METHODS and normalise not in ("min_max", None):
        msg = f"`normalise` is for methods of scores, not {method!r}, got {normalise!r}"
        raise ValueError(msg)
    names = [*request.columns.by]
    if len(names) < 2:  # noqa: PLR2004
        msg = f"there must be at least two strategies to fuse, got {first_few(names)}"
        raise ValueError(msg)
    factors = _parse_weights(names, method, weights)
    offset = check_number("k", k, at_least=0)
    if check_column_name("name", name) in request.used_columns:
        msg = f"`name` must not be a column that is used, got {name!r}"
        raise ValueError(msg)

    def fuse_rows(rows: pl.DataFrame) -> pl.DataFrame:
        measure_frame([request], rows)  # checks the rankings
        columns = request.columns.add_computed_columns(rows)
        # Polars 1.38 counts ranks wrongly in an expression that also computes them.
        columns = columns.with_columns(
            rank_rows(request.build_document_ranking(each))
            .over(request.columns.query)
            .struct.field("rank")
            .cast(pl.Float64)
            .alias(RANK_COLUMN_TEMPLATE.format(each))
            for each in names
        )
        fused = _build_fusion(request, columns.schema, method, normalise, factors, offset)
        result = rows.with_columns(columns.select(fused.alias(name)).to_series())
        if not result[name].is_finite().all():
            msg = "scores of `by` must not be so large or small that sums or squares overflow"
            raise ValueError(msg)
        return result

    if isinstance(frame, pl.DataFrame):
        return fuse_rows(frame)
    schema = pl.Schema({**frame.collect_schema(), name: pl.Float64()})
    # Ranks depend on all rows of a query, so Polars must not move a filter before the fusion.
    no_pushdown: Any = dict.fromkeys(
        ("predicate_pushdown", "projection_pushdown", "slice_pushdown"), False
    )
    return frame.map_batches(fuse_rows, schema=schema, **no_pushdown)


def _parse_weights(names: Sequence[str], method: str, weights: Any) -> dict[str, float]:
    """Return the checked weight of each strategy.

    If no weights are passed, each weight is 1, but `"weighted_sum"` raises an error.
    """
    if weights is None and method != "weighted_sum":
        return dict.fromkeys(names, 1.0)
    if method not in WEIGHTED_METHODS:
        msg = f"`weights` must not be passed for {method!r}, only for {', '.join(WEIGHTED_METHODS)}"
        raise ValueError(msg)
    if isinstance(weights, list | tuple) and len(weights) == len(names):
        weights = dict(zip(names, weights, strict=True))
    if not isinstance(weights, Mapping) or {*weights} != {*names}:
        msg = f"`weights` must have one number for each of {', '.join(names)}, got {weights!r}"
        raise ValueError(msg)
    checked = {
        name: check_number(f"weights[{name!r}]", weights[name], at_least=0) for name in names
    }
    if not any(checked.values()):
        msg = f"`weights` must not all be 0, got {weights!r}"
        raise ValueError(msg)
    return checked


def _build_fusion(
    request: Request,
    schema: Mapping[str, pl.DataType],
    method: str,
    normalise: str | None,
    weights: Mapping[str, float],
    k: float,
) -> pl.Expr:
    """Return the expression of the fused score.

    The score is null if no strategy retrieved the document.
    """
    query = [*request.columns.query]
    parts = []
    scores = {name: _get_score(request, schema, name) for name in request.columns.by}
    retrieved = pl.any_horizontal(score.is_not_null() for score in scores.values())
    for name, score in scores.items():
        rank = pl.col(RANK_COLUMN_TEMPLATE.format(name))
        if method == "rrf":
            part = 1 / (k + rank)
        elif method == "borda":
            # Documents that the strategy did not retrieve share its remaining points equally.
            candidates = retrieved.sum().over(query)
            part = (candidates - rank + 1).fill_null(
                (candidates - rank.count().over(query) + 1) / 2
            )
        else:
            part = NORMALISATIONS[normalise](score, rank).over(query)
        parts.append(weights[name] * part)
    combine = COMBINATIONS.get(method, pl.sum_horizontal)
    return pl.when(retrieved).then(combine(parts))


def _get_score(request: Request, schema: Mapping[str, pl.DataType], name: str) -> pl.Expr:
    """Return a strategy's score as a number that is highest for the first document."""
    column = request.columns.by[name][0]
    score = convert_to_physical(pl.col(column), schema[column])
    return score.cast(pl.Float64) * (1 if request.find_directions(name)[0] else -1)
