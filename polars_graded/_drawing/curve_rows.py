"""Convert a frame of curves to points.

If there are more points than a chart can draw, evenly spaced points are kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl

from polars_graded._checks import check_columns, check_level
from polars_graded._drawing.chart_rows import (
    MAX_DRAWN_ROWS,
    build_columns,
    build_name_columns,
    check_count,
    check_not_empty,
    check_numbers,
    check_panels,
    check_unique,
    format_names,
    select_drawable,
)
from polars_graded._frames.arguments import Columns
from polars_graded._frames.strategies import find_index
from polars_graded._measuring.names import Measure
from polars_graded._results.keys import Keys, add_units
from polars_graded._results.measure_values import average_points

EXAMPLE_CURVES = {"rank": "dcg_curve@10", "recall": "interpolated_precision"}
"""An example of a curve for each x axis, for hints."""


def build_curve_points(
    frame: pl.DataFrame,
    curve: str,
    ideal: str | None = None,
    *,
    kind: str,
    position: Any,
    confidence: float | None,
    baseline: Any = None,
    panel: str | None,
    query: str,
    strategy: str,
) -> pl.DataFrame:
    """Return the points of curves, or of differences from a baseline."""
    keys = {"strategy": strategy} | ({"panel": panel} if panel else {})
    values = {"value": curve} | ({"ideal": ideal} if ideal is not None else {})
    check_columns("frame", [*keys.values(), *values.values()], frame.columns)
    is_list = isinstance(frame.schema[curve], pl.List)
    check_numbers("frame", frame, values.values(), lists=is_list)
    if ideal is not None and is_list and not isinstance(frame.schema[ideal], pl.List | pl.Null):
        msg = f"`ideal` must hold lists, as {curve!r} does, got {frame.schema[ideal]} in {ideal!r}"
        raise TypeError(msg)
    check_not_empty("frame", frame, curve)
    if confidence is not None:
        check_level(confidence)
    frame = frame.with_columns(build_name_columns(keys))
    check_panels(frame, panel)
    if is_list:
        check_columns("frame", [query], frame.columns)
        check_unique("frame", frame, [*keys, query], f"{query} of a {strategy}")
        if baseline is not None:
            frame = _subtract_baseline(frame, curve, baseline, [*keys, query])
        return _average_lists(frame, [*keys], values, kind, confidence)
    _check_no_list_needed(curve, baseline=baseline, confidence=confidence)
    if isinstance(position, str) and position not in frame.columns:
        msg = (
            f"{curve!r} must be a curve, one list per query, or numbers with a column of {kind}s, "
            f"got numbers and no column {position!r}"
        )
        raise pl.exceptions.ColumnNotFoundError(msg)
    numbers = build_columns("frame", frame, {}, values, [position])
    is_no_rank = (pl.col(position) < 1) | (pl.col(position) % 1 != 0)
    if kind == "rank" and (n_wrong := frame.filter(is_no_rank).height):
        msg = f"{position!r} must contain ranks, whole numbers from 1, got {n_wrong} other values"
        raise ValueError(msg)
    points = select_drawable(frame.with_columns(pl.col(position).alias(kind), *numbers))
    points = points.drop_nulls(["value", kind])
    check_not_empty("frame", points, curve)
    check_unique("frame", points, [*keys, kind], f"{kind} of a strategy")
    drawn_columns = [*keys, kind, *values]
    replaced = {*drawn_columns, *keys.values(), position, *values.values()}
    others = [name for name in points.columns if name not in replaced]
    return thin_by_position(points.select(*drawn_columns, *others), kind)


def _check_no_list_needed(curve: str, **arguments: Any) -> None:
    """Raise if an argument needs the list of each query, and the curve has numbers."""
    for argument, value in arguments.items():
        if value is not None:
            msg = f"`{argument}` needs a list for each query, as evaluate() returns it, "
            msg += f"got a number in {curve!r}"
            raise ValueError(msg)


def add_curve_units(
    frame: pl.DataFrame,
    curve: str,
    panel: str | None,
    query: str,
    *,
    cluster: Columns | None,
    weights: str | None,
) -> pl.DataFrame:
    """Add the clusters and weights of queries to a frame of lists, as `add_units` does."""
    check_columns("frame", [curve], frame.columns)
    if not isinstance(frame.schema[curve], pl.List):
        _check_no_list_needed(curve, cluster=cluster, weights=weights)
        return frame
    segments = [panel] if panel not in (None, query) else []
    check_columns("frame", [query, *segments], frame.columns)
    return add_units(frame, Keys(query, segments=segments, cluster=cluster, weights=weights))


def _subtract_baseline(
    frame: pl.DataFrame, curve: str, baseline: Any, keys: list[str]
) -> pl.DataFrame:
    """Subtract the curves of the baseline from those of other strategies.

    The two curves of a difference belong to the same query and panel. Queries for which the
    baseline has no curve are left out.
    """
    check_list_length(frame, [curve], curve)
    [name] = format_names([baseline])
    find_index(frame["strategy"].unique().sort(), name)
    shared_keys = [key for key in keys if key != "strategy"]
    baseline_lists = frame.filter(strategy=name).select(
        *shared_keys, pl.col(curve).alias("of the baseline")
    )
    paired_lists = frame.filter(pl.col("strategy") != name).join(
        baseline_lists, on=shared_keys, nulls_equal=True, maintain_order="left"
    )
    one, other = pl.col(curve), pl.col("of the baseline")
    floats = pl.List(pl.Float64)
    return paired_lists.with_columns(one.cast(floats) - other.cast(floats))


def _average_lists(
    frame: pl.DataFrame,
    keys: Sequence[str],
    values: dict[str, str],
    position: str,
    confidence: float | None,
) -> pl.DataFrame:
    """Average lists over queries at each position, with the units that `add_units` added.

    If `confidence` is passed, each mean has an interval.
    """
    curve = values["value"]
    frame = frame.drop_nulls(curve)
    check_not_empty("frame", frame, curve)
    n = check_list_length(frame, [*values.values()], " and ".join(values.values()))
    positions = find_positions(curve, position, n)
    kept_indices = choose_equal_steps(len(positions), compute_max_points(frame.n_unique(keys)))
    lines = []
    for rows in frame.partition_by(keys, maintain_order=True):
        numbers = {position: positions[kept_indices]}
        for name, column in values.items():
            points = spread_lists(rows[column], n)[:, kept_indices.to_numpy()].T
            points[np.isinf(points)] = np.nan
            mean, low, high = average_points(points, rows, confidence)
            numbers[name] = pl.Series(mean)
            if name == "value" and confidence is not None:
                numbers |= {"ci_low": pl.Series(low), "ci_high": pl.Series(high)}
        first = rows.select(keys).head(1)
        lines.append(first.join(pl.DataFrame(numbers).fill_nan(None), how="cross"))
    means = pl.concat(lines).drop_nulls("value")
    check_not_empty("frame", means, curve)
    return means


def find_positions(curve: str, position: str, n: int) -> pl.Series:
    """Return the rank or the recall of each value in a list of length n."""
    measure = Measure.parsed(curve)
    if measure is not None and measure.positions is not None and len(measure.positions[1]) == n:
        return pl.Series(measure.positions[1])
    ranks = pl.int_range(1, n + 1, eager=True)
    return ranks if position == "rank" else (ranks - 1) / max(1, n - 1)


def thin_by_position(table: pl.DataFrame, position: str) -> pl.DataFrame:
    """Keep the rows at evenly spaced positions, as many as a chart can draw."""
    positions = table[position].unique().sort()
    n_lines: Any = table[position].value_counts()["count"].max()
    kept_positions = positions[choose_equal_steps(len(positions), compute_max_points(n_lines))]
    return table.filter(pl.col(position).is_in(kept_positions.implode()))


def compute_max_points(n_lines: int) -> int:
    """Return the maximum number of points per line; raise for too many lines."""
    check_count("lines", n_lines, MAX_DRAWN_ROWS // 2)
    return MAX_DRAWN_ROWS // n_lines


def choose_equal_steps(n: int, maximum: int) -> pl.Series:
    """Return up to `maximum` evenly spaced whole numbers from 0 to n - 1."""
    n_kept = min(n, maximum)
    return (pl.int_range(n_kept, eager=True) * (n - 1) / max(1, n_kept - 1)).round().cast(pl.Int64)


def find_only_curve(
    frame: pl.DataFrame, kind: str, position: str, excluded: Collection[str | None]
) -> str:
    """Return the name of the only column that contains a curve over an x axis.

    `kind` is the x axis, "rank" or "recall", and `position` is the name of the column of ranks or
    recalls. A curve is a column of lists. If the frame has the column `position`, a column of
    numbers is a curve as well. Lists take precedence over floats, and floats over integers.
    """
    names = [
        name for name in frame.columns if name not in excluded and find_curve_kind(name) == kind
    ]
    columns = {name: frame.schema[name] for name in names}
    lists = [name for name, dtype in columns.items() if isinstance(dtype, pl.List)]
    if not lists and position not in frame.columns:
        msg = (
            "`frame` must have a curve: a column of lists, or of numbers beside a column "
            f"{position!r}, got {', '.join(frame.columns)}\n\n"
            f"Hint: evaluate(frame, {EXAMPLE_CURVES[kind]!r}) returns one"
        )
        raise ValueError(msg)
    floats = [name for name, dtype in columns.items() if dtype.is_float()]
    candidates = lists or floats or [name for name, dtype in columns.items() if dtype.is_numeric()]
    if len(candidates) != 1:
        got = " and ".join(candidates) or f"none among {', '.join(frame.columns)}"
        msg = f"`curve` must name the column to draw, unless there is exactly one, got {got}"
        raise ValueError(msg)
    return candidates[0]


def find_curve_kind(curve: str) -> str | None:
    """Return the x axis of a curve: "rank", "recall" or None.

    The x axis of interpolated precision is "recall". Ideal DCG has None, so that `find_only_curve`
    does not choose it. All other columns have "rank".
    """
    if curve.startswith("interpolated_precision"):
        return "recall"
    return None if curve.startswith("ideal_dcg_curve") else "rank"


def find_ideal(curve: str, columns: Iterable[str]) -> str | None:
    """Return the column of the ideal CG or DCG curve; None if there is none."""
    measure = Measure.parsed(curve)
    if measure is None or measure.function not in ("cg_curve", "dcg_curve"):
        return None
    options = {"discount": "none", "base": 2.0, **measure.options}
    options.pop("ties", None)  # ties do not matter in the ideal order
    for name in columns:
        other = Measure.parsed(name)
        if other is not None and (other.function, other.n, other.options) == (
            "ideal_dcg_curve",
            measure.n,
            options,
        ):
            return name
    return None


def thin_by_value(
    table: pl.DataFrame, value: str, maximum: int, keys: Sequence[str]
) -> pl.DataFrame:
    """Sort each group by value, and keep up to `maximum` evenly spaced rows."""
    # The sorted rows of a group are divided into `maximum - 1` equal steps. The first row of each
    # step and the last row of the group are kept.
    table = table.sort(*keys, value)
    rank, last = pl.int_range(pl.len()), (pl.len().cast(pl.Int64) - 1).clip(1)
    if keys:
        rank, last = rank.over(keys), last.over(keys)
    return table.filter(rank * (maximum - 1) // last > (rank - 1) * (maximum - 1) // last)


def check_list_length(frame: pl.DataFrame, columns: Sequence[str], argument: str) -> int:
    """Return the common length of the lists in columns; 0 without lists."""
    lengths: Any = pl.concat([frame[column].list.len().drop_nulls() for column in columns])
    if lengths.n_unique() > 1:
        msg = (
            f"the lists of {argument} must all have the same length, as for a curve with a cutoff, "
            f"got {lengths.min()} to {lengths.max()}"
        )
        raise ValueError(msg)
    return lengths.max() or 0


def spread_lists(lists: pl.Series, length: int) -> Any:
    """Return lists of one length as rows of an array; NaN for null, and for a missing list."""
    has_list = lists.is_not_null().to_numpy()
    rows = lists.drop_nulls().cast(pl.List(pl.Float64))
    points = np.full((len(lists), length), np.nan)
    flat = rows.explode(empty_as_null=False).fill_null(np.nan).to_numpy()
    points[has_list] = flat.reshape(-1, length) if length else flat.reshape(len(rows), 0)
    return points
