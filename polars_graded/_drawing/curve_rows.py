"""Convert a frame of curves to points.

If there are more points than a chart can draw, evenly spaced points are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs

from polars_graded._checks import check_columns
from polars_graded._drawing.chart_rows import (
    MAX_DRAWN_ROWS,
    build_name_column,
    build_rows,
    check_count,
    check_drawn_numbers,
    check_not_empty,
    check_unique,
)
from polars_graded._frames.arguments import Columns
from polars_graded._measuring.measures import Measure
from polars_graded._results.keys import CLUSTER
from polars_graded._results.measure_values import average_points

EXAMPLE_CURVES = {"rank": "dcg_curve@10", "recall": "interpolated_precision"}
"""An example of a curve for each x axis, for hints."""


def find_curve_kind(curve: str) -> str | None:
    """Return the x axis of a curve: "rank", "recall" or None.

    The x axis of interpolated precision is "recall". Ideal DCG has None, since it is drawn beside
    another curve. All other columns have "rank".
    """
    if curve.startswith("interpolated_precision"):
        return "recall"
    return None if curve.startswith("ideal_dcg_curve") else "rank"


def find_only_curve(frame: pl.DataFrame, kind: str, position: str) -> str:
    """Return the only column that contains a curve over an x axis, "rank" or "recall".

    A curve is a column of lists, or of numbers with the name of a curve. Without such a column, it
    is the only column of floats other than `position`.
    """
    names = []
    for name, dtype in frame.schema.items():
        measure = Measure.try_parse(name)
        is_curve = isinstance(dtype, pl.List) or (measure is not None and measure.is_curve)
        if is_curve and find_curve_kind(name) == kind:
            names.append(name)
    names = names or [name for name in frame.select(cs.float()).columns if name != position]
    if len(names) != 1:
        msg = (
            f"`curve` must name the column to draw, unless exactly one is a curve by {kind}, got "
            f"{' and '.join(names) or ', '.join(frame.columns)}\n\n"
            f"Hint: evaluate(frame, {EXAMPLE_CURVES[kind]!r}) returns a curve"
        )
        raise ValueError(msg)
    return names[0]


def find_ideal(curve: str, columns: Iterable[str]) -> str | None:
    """Return the column of the ideal CG or DCG curve; None if there is none."""
    measure = Measure.try_parse(curve)
    if measure is None or measure.function not in ("cg_curve", "dcg_curve"):
        return None
    options = {"discount": "none", "base": 2.0, **measure.options}
    options.pop("ties", None)  # ties do not matter in the ideal order
    ideal = "ideal_dcg_curve", measure.n, options
    for name in columns:
        other = Measure.try_parse(name)
        if other is not None and (other.function, other.n, other.options) == ideal:
            return name
    return None


def build_points(
    frame: pl.DataFrame,
    values: dict[str, str],
    kind: str,
    position: str,
    *,
    strategy: str,
    panel: Columns | None,
) -> pl.DataFrame:
    """Return the points in a frame with a row per strategy and rank, or level of recall.

    `values` maps "value" and "ideal" to their columns. Other columns are kept.
    """
    columns = [*values.values()]
    if position not in frame.columns:
        msg = (
            f"{columns[0]!r} must be a curve, one list per query, or numbers with a column of "
            f"{kind}s, got numbers and no column {position!r}"
        )
        raise pl.exceptions.ColumnNotFoundError(msg)
    given: Any = {"texts": (), "positions": [position], "strategy": strategy, "panel": panel}
    rows = build_rows("frame", frame, *columns, **given)
    is_no_rank = (pl.col(position) < 1) | (pl.col(position) % 1 != 0)
    if kind == "rank" and (n_wrong := rows.filter(is_no_rank).height):
        msg = f"{position!r} must contain ranks, whole numbers from 1, got {n_wrong} other values"
        raise ValueError(msg)
    keys = [name for name in ("strategy", "panel") if name in rows.columns]
    check_unique("frame", rows, [*keys, position], f"{kind} of a strategy")
    points = {kind: position} | values
    drawn = [*keys, *(pl.col(column).alias(name) for name, column in points.items())]
    rows = rows.select(*drawn, pl.exclude(*keys, strategy, *points, *points.values()))
    positions = rows[kind].unique().sort()
    max_points = compute_max_points(rows.n_unique(keys))
    kept = positions[choose_equal_steps(len(positions), max_points)]
    return rows.filter(pl.col(kind).is_in(kept.implode()))


def average_lists(
    frame: pl.DataFrame,
    values: dict[str, str],
    kind: str,
    keys: dict[str, str],
    query: str,
    confidence: float | None,
) -> pl.DataFrame:
    """Return the means of lists over queries at each rank, or level of recall.

    `keys` maps "strategy" and "panel" to their columns, and `frame` has the columns of `add_units`.
    If `confidence` is passed, each mean has an interval. `queries` counts the values of a mean, and
    `clusters` the clusters of a curve.
    """
    check_columns("frame", [*keys.values(), query, *values.values()], frame.columns)
    check_drawn_numbers("frame", frame, values.values())
    curve, *ideal = values.values()
    if ideal and not isinstance(frame.schema[ideal[0]], pl.List | pl.Null):
        msg = f"`ideal` must hold lists, as {curve!r} does, got {frame.schema[ideal[0]]}"
        raise TypeError(msg)
    frame = frame.with_columns(build_name_column(column).alias(k) for k, column in keys.items())
    check_unique("frame", frame, [*keys, query], f"{query} of a {keys['strategy']}")
    frame = frame.drop_nulls(curve)
    check_not_empty("frame", frame, curve)
    n = check_list_length(frame, [*values.values()], " and ".join(values.values()))
    positions = list_positions(curve, kind, n)
    kept = choose_equal_steps(n, compute_max_points(frame.n_unique([*keys])))
    lines = []
    for rows in frame.partition_by([*keys], maintain_order=True):
        numbers = {kind: positions[kept]}
        for name, column in values.items():
            points = stack_lists(rows[column], n)[:, kept.to_numpy()].T
            points[np.isinf(points)] = np.nan
            mean, low, high = average_points(points, rows, confidence)
            numbers[name] = pl.Series(mean)
            if name == "value":
                numbers["queries"] = pl.Series(np.isfinite(points).sum(axis=1), dtype=pl.UInt32)
            if name == "value" and confidence is not None:
                numbers |= {"ci_low": pl.Series(low), "ci_high": pl.Series(high)}
        clusters = [pl.col(CLUSTER).n_unique().alias("clusters")] if CLUSTER in rows.columns else []
        line = rows.select(pl.col(*keys).first(), *clusters)
        lines.append(line.join(pl.DataFrame(numbers).fill_nan(None), how="cross"))
    means = pl.concat(lines).drop_nulls("value")
    check_not_empty("frame", means, curve)
    return means


def list_positions(curve: str, kind: str, n: int) -> pl.Series:
    """Return the rank or the recall of each value in a list of length n."""
    measure = Measure.try_parse(curve)
    if measure is not None and measure.positions is not None and len(measure.positions[1]) == n:
        return pl.Series(measure.positions[1])
    ranks = pl.int_range(1, n + 1, eager=True)
    return ranks if kind == "rank" else (ranks - 1) / max(1, n - 1)


def compute_max_points(n_lines: int) -> int:
    """Return the maximum number of points per line; raise for too many lines."""
    check_count("lines", n_lines, MAX_DRAWN_ROWS // 2)
    return MAX_DRAWN_ROWS // n_lines


def choose_equal_steps(n: int, maximum: int) -> pl.Series:
    """Return up to `maximum` evenly spaced whole numbers from 0 to n - 1."""
    n_kept = min(n, maximum)
    return (pl.int_range(n_kept, eager=True) * (n - 1) / max(1, n_kept - 1)).round().cast(pl.Int64)


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


def stack_lists(lists: pl.Series, length: int) -> Any:
    """Return lists of one length as rows of an array; NaN for null, and for a missing list."""
    has_list = lists.is_not_null().to_numpy()
    rows = lists.drop_nulls().cast(pl.List(pl.Float64))
    points = np.full((len(lists), length), np.nan)
    flat = rows.explode(empty_as_null=False).fill_null(np.nan).to_numpy()
    points[has_list] = flat.reshape(-1, length) if length else flat.reshape(len(rows), 0)
    return points
