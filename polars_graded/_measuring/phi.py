"""φ: relevance from scores such as popularity, sales or dwell time.

The function of Moniz, Torgo and Vinagre runs through control points. Each point is a score and its
relevance. Between two control points, φ is a cubic whose slopes at both points keep it monotone: a
piecewise cubic Hermite interpolating polynomial (PCHIP).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import polars as pl

from polars_graded._checks import (
    check_choice,
    check_column,
    check_column_names,
    check_columns,
    check_increasing,
    check_number,
    check_whole_number,
)
from polars_graded._measuring.documents import count_not_finite
from polars_graded._measuring.kernels.phi import (
    Points,
    interpolate,
    make_box_plot_points,
    make_equal_steps,
    read_own_points,
    repeat_points,
)
from polars_graded._measuring.kernels.ragged import Floats, Ragged
from polars_graded._measuring.keywords import checks_call
from polars_graded._measuring.list_columns import Lists, make_list_column, run_in_chunks
from polars_graded._measuring.ranking import NUMERIC_TYPES, is_number, plan_dtype

__all__ = ["phi_control_points", "phi_curve", "phi_relevance"]

ControlPoints: TypeAlias = "Sequence[tuple[float, float]] | str | pl.Expr"
PAIR_LENGTH = 2
"""Length of a control point, which is a score and its relevance."""
Direction: TypeAlias = Literal["high", "low", "both"]


def phi_relevance(
    expr: pl.Expr,
    control_points: ControlPoints | None = None,
    whisker: float = 1.5,
    *,
    floor: float | None = None,
    direction: Direction = "high",
    undefined: float | None = None,
) -> pl.Expr:
    """Return φ of every score of a query; see `Graded.phi_relevance`."""
    source = _PointSource.of(control_points, whisker, floor, direction)
    compute = partial(_compute_relevance, source=source, undefined=undefined)
    rule = f"score {expr.meta.output_name(raise_if_undetermined=False)!r} must be a number"
    lists = pl.map_batches(
        [expr.implode(), *source.implode_points()],
        compute,
        is_elementwise=True,
        return_dtype=plan_dtype(pl.List(pl.Float64()), [(expr, rule, NUMERIC_TYPES)]),
    )
    # An empty group must have no row; by default `explode` would add a row with null.
    return lists.explode(empty_as_null=False)


@checks_call
def phi_control_points(
    frame: pl.DataFrame | pl.LazyFrame,
    score: str,
    *,
    query: str | Sequence[str] | None = None,
    control_points: ControlPoints | None = None,
    whisker: float = 1.5,
    floor: float | None = None,
    direction: Direction = "high",
) -> pl.DataFrame:
    """Return the control points that φ runs through, for each query.

    Parameters
    ----------
    frame
        One row per score of a query.
    score
        The column of scores.
    query
        The columns that identify queries; None if all rows are one query.
    control_points, whisker, floor, direction
        As in `phi_relevance`.

    Returns
    -------
    DataFrame
        Query, score and `relevance`, one row per control point, by rising score; queries in the
        order in which they first appear. A query for which φ is undefined has no row.

        Without `control_points`, the highest score has two rows, with relevance 0 and 1, if it
        equals the median and `direction` is "high". The same holds for the lowest score if
        `direction` is "low". φ jumps between 0 and 1 at this score, and is 1 at the score itself.

    See Also
    --------
    phi_curve : The curve through the points.

    Examples
    --------
    >>> df = pl.DataFrame({"popularity": [10, 15, 20, 30, 100]})
    >>> phi_control_points(df, "popularity")
    shape: (4, 2)
    ┌────────────┬───────────┐
    │ popularity ┆ relevance │
    │ ---        ┆ ---       │
    │ f64        ┆ f64       │
    ╞════════════╪═══════════╡
    │ 10.0       ┆ 0.0       │
    │ 20.0       ┆ 0.0       │
    │ 30.0       ┆ 0.222222  │
    │ 100.0      ┆ 1.0       │
    └────────────┴───────────┘
    """
    source = _PointSource.of(control_points, whisker, floor, direction)
    return _tabulate(frame, score, query, source, source.points_of)


@checks_call
def phi_curve(
    frame: pl.DataFrame | pl.LazyFrame,
    score: str,
    *,
    query: str | Sequence[str] | None = None,
    points: int = 200,
    control_points: ControlPoints | None = None,
    whisker: float = 1.5,
    floor: float | None = None,
    direction: Direction = "high",
) -> pl.DataFrame:
    """Return φ from the lowest to the highest score, for each query.

    Parameters
    ----------
    frame
        One row per score of a query.
    score
        The column of scores.
    query
        The columns that identify queries; None if all rows are one query.
    points
        Number of equally spaced scores at which φ is computed; at least 2.
    control_points, whisker, floor, direction
        As in `phi_relevance`.

    Returns
    -------
    DataFrame
        Query, score and `relevance`, with `points` rows per query by rising score. The order of
        queries, and the queries that are left out, are as for `phi_control_points`.

    Examples
    --------
    >>> df = pl.DataFrame({"popularity": [10, 15, 20, 30, 100]})
    >>> phi_curve(df, "popularity", points=4)
    shape: (4, 2)
    ┌────────────┬───────────┐
    │ popularity ┆ relevance │
    │ ---        ┆ ---       │
    │ f64        ┆ f64       │
    ╞════════════╪═══════════╡
    │ 10.0       ┆ 0.0       │
    │ 40.0       ┆ 0.382344  │
    │ 70.0       ┆ 0.799011  │
    │ 100.0      ┆ 1.0       │
    └────────────┴───────────┘
    """
    n_points = check_whole_number("points", points, at_least=2)
    source = _PointSource.of(control_points, whisker, floor, direction)

    def compute(ascending: Ragged, *own: Ragged) -> Points:
        control = source.points_of(ascending, *own)
        is_defined = np.repeat(control.scores.lengths > 0, ascending.lengths)
        scores = make_equal_steps(ascending.keep(is_defined), n_points)
        return Points(scores, interpolate(control, scores))

    return _tabulate(frame, score, query, source, compute)


# Conversion of expressions and frames to lists of scores, and back.


def _compute_relevance(
    columns: Sequence[pl.Series], source: _PointSource, undefined: float | None
) -> pl.Series:
    """Return φ of every score, one list per query.

    If the score is null, the value is null. If φ is undefined, the value is the argument
    `undefined`, where None means null.
    """
    scores, *points = columns
    lists = [_read_scores(scores), *map(Lists.of, source.read_points(points))]

    def compute(scores: Ragged, *own: Ragged) -> Floats:
        points = source.points_of(scores.sort_ascending(), *own)
        relevance = np.full_like(scores.values, np.nan)
        is_score = ~np.isnan(scores.values)
        is_defined = np.repeat(points.scores.lengths > 0, scores.lengths)
        relevance[is_score & is_defined] = interpolate(points, scores.keep(is_score & is_defined))
        if undefined is not None:
            relevance[is_score & ~is_defined] = undefined
        return relevance

    relevance = np.concatenate(run_in_chunks(lists, compute))
    return make_list_column(pl.Series(relevance, nan_to_null=True), scores.list.len())


def _read_scores(column: pl.Series) -> Lists:
    """Return lists of scores; raise if a score is not a finite number."""
    lists = Lists.of(column)
    if not is_number(lists.flat.dtype):
        msg = f"score {column.name!r} must be a number, got {lists.flat.dtype}"
        raise TypeError(msg)
    if n := count_not_finite(lists):
        msg = (
            f"score {column.name!r} must be finite, got NaN or infinity "
            f"in {n} of {len(lists)} queries"
        )
        raise ValueError(msg)
    return lists


def _tabulate(
    frame: pl.DataFrame | pl.LazyFrame,
    score: str,
    query: str | Sequence[str] | None,
    source: _PointSource,
    compute: Callable[..., Points],
) -> pl.DataFrame:
    """Return the points that `compute` returns per query, one row per point."""
    keys = [] if query is None else check_column_names("query", query)
    columns = [*keys, score]
    check_columns("frame", columns, frame.collect_schema())
    if score in keys:
        msg = f"`score` and `query` must be different columns, got {score!r} for both"
        raise ValueError(msg)
    if "relevance" in columns:
        msg = "`score` and `query` must not be 'relevance', which is a column of the result"
        raise ValueError(msg)
    imploded = [pl.col(score).implode().alias("scores")]
    imploded += [points.alias("points") for points in source.implode_points()]
    struct = pl.struct(imploded).alias(score)
    if keys:
        queries = frame.lazy().group_by(keys, maintain_order=True).agg(struct).collect()
    else:
        queries = frame.lazy().select(struct).collect()
    scores, *points = queries.get_column(score).struct.unnest().get_columns()
    lists = [_read_scores(scores.alias(score)), *map(Lists.of, source.read_points(points))]
    chunks = run_in_chunks(lists, lambda scores, *own: compute(scores.sort_ascending(), *own))
    lengths = np.concatenate([chunk.scores.lengths for chunk in chunks])
    row = np.repeat(np.arange(len(lengths)), lengths)
    return pl.DataFrame(
        [
            *(queries.get_column(key).gather(row) for key in keys),
            pl.Series(score, np.concatenate([chunk.scores.values for chunk in chunks])),
            pl.Series("relevance", np.concatenate([chunk.relevance for chunk in chunks])),
        ]
    )


# Control points.


@dataclass(frozen=True)
class _PointSource:
    """Source of control points: a column, fixed points, or a box plot."""

    points_of: Callable[..., Points]
    """Function that returns the control points. Its first argument is the ascending scores. If the
    points are in a column, two more arguments are the scores and the relevance of these points."""
    column: pl.Expr | None = None
    """Column of control points, if there is one."""

    @classmethod
    def of(
        cls,
        control_points: ControlPoints | None,
        whisker: float,
        floor: float | None,
        direction: Direction,
    ) -> _PointSource:
        """Return the source of control points for arguments of `phi_relevance`."""
        factor = check_number("whisker", whisker, at_least=0)
        lowest = None if floor is None else check_number("floor", floor)
        check_choice("direction", direction, get_args(Direction))
        if lowest is not None and direction != "high":
            msg = f"`floor` is for direction 'high' only, got direction {direction!r}"
            raise ValueError(msg)
        if control_points is None:
            box = partial(make_box_plot_points, whisker=factor, floor=lowest, direction=direction)
            return cls(box)
        if isinstance(control_points, str | pl.Expr):
            return cls(read_own_points, check_column("control_points", control_points))
        scores, relevance = _check_control_points(control_points)
        return cls(partial(repeat_points, scores=scores, relevance=relevance))

    def implode_points(self) -> list[pl.Expr]:
        """Return the expression of control points, if any, in a list."""
        return [] if self.column is None else [self.column.head(1).implode()]

    def read_points(self, columns: Sequence[pl.Series]) -> list[pl.Series]:
        """Return the scores and the relevance of the control points in the column."""
        return [] if self.column is None else _check_own_points(columns[0])


def _check_own_points(column: pl.Series) -> list[pl.Series]:
    """Return the scores and the relevance of each query's points, checked."""
    points = column.explode(empty_as_null=True)
    inner = getattr(points.dtype, "inner", None)
    if not isinstance(points.dtype, pl.List | pl.Array) or inner is None:
        msg = f"control points {column.name!r} must be lists of pairs, got {points.dtype}"
        raise TypeError(msg)
    pairs = pl.DataFrame({"pair": points.cast(pl.List(inner))})
    pair = pl.element()
    if isinstance(inner, pl.Struct) and len(inner.fields) == PAIR_LENGTH:
        parts = [pair.struct.field(field.name) for field in inner.fields]
    elif isinstance(inner, pl.List):
        parts = [pair.list.get(index, null_on_oob=True) for index in range(PAIR_LENGTH)]
    elif isinstance(inner, pl.Array) and inner.size == PAIR_LENGTH:
        parts = [pair.arr.get(index) for index in range(PAIR_LENGTH)]
    else:
        msg = f"control points {column.name!r} must be lists of pairs, got lists of {inner}"
        raise TypeError(msg)
    scores, relevance = pairs.select(
        pl.col("pair").list.eval(part.cast(pl.Float64)).alias(name)
        for name, part in zip(("score", "relevance"), parts, strict=True)
    ).get_columns()
    are_increasing = scores.list.eval(pl.element().diff().drop_nulls() > 0).list.all()
    are_finite = scores.list.eval(pl.element().is_finite().fill_null(value=False)).list.all()
    is_share = pl.element().is_between(0, 1).fill_null(value=False)
    is_usable = (
        (scores.list.len() > 1)
        & are_increasing
        & are_finite
        & relevance.list.eval(is_share).list.all()
    ).fill_null(value=True)
    if not is_usable.all():
        msg = (
            f"control points {column.name!r} must be at least two pairs (score, relevance) with "
            f"increasing scores and a relevance from 0 to 1, got others in {(~is_usable).sum()} of "
            f"{len(is_usable)} queries"
        )
        raise ValueError(msg)
    return [scores, relevance]


def _check_control_points(control_points: Any) -> tuple[Floats, Floats]:
    """Return the scores and the relevance of control points, checked."""
    try:
        pairs = [(score, relevance) for score, relevance in control_points]
    except (TypeError, ValueError):
        msg = f"`control_points` must be pairs (score, relevance), got {control_points!r}"
        raise TypeError(msg) from None
    if not pairs[1:]:
        msg = f"`control_points` must have at least two points, got {len(pairs)}"
        raise ValueError(msg)
    scores = check_increasing("control_points", [score for score, _ in pairs])
    relevance = [
        check_number("control_points", relevance, at_least=0, at_most=1) for _, relevance in pairs
    ]
    return np.array(scores), np.array(relevance)
