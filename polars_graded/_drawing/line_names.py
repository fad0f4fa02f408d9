"""Places of the names beside lines, and of points under an axis."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Sequence

import numpy as np
import polars as pl

from polars_graded._drawing.axis_ends import Ends
from polars_graded._measuring.names import Measure

LABEL_SHARE = 0.045
"""Share of an axis that the name beside a line takes."""


def find_threshold(name: str) -> float | None:
    """Return the threshold of plain average precision; None for other measures."""
    measure = Measure.parsed(name)
    if measure is None or name != Measure.of("ap", threshold=measure.options.get("threshold")).name:
        return None
    threshold: float | None = measure.options["threshold"]
    return threshold


def place_thresholds(thresholds: Sequence[float], others: int) -> list[float]:
    """Return the positions of thresholds on an axis, true to scale, and of the others behind."""
    places = [float(each) for each in thresholds]
    last = places[-1] if places else 0.0
    step = (last - places[0]) / (len(places) - 1) if len(places) > 1 else 1.0
    return places + [last + step * (place + bool(places)) for place in range(others)]


def compute_offsets(strategies: Sequence[str], places: Sequence[float]) -> dict[str, float]:
    """Return the offset of each strategy beside a place, so that equal ones stay visible."""
    room = 0.8 * min((b - a for a, b in itertools.pairwise(places)), default=1.0)
    middle = (len(strategies) - 1) / 2
    return {name: (i - middle) * room / len(strategies) for i, name in enumerate(strategies)}


def find_best_lines(table: pl.DataFrame, at: str | None, most: int) -> list[str]:
    """Return the strategies whose lines end highest, or lie highest, as many as have a colour."""
    last = table if at is None else table.filter(pl.col(at) == pl.col(at).max())
    heights = last.group_by("strategy").agg(pl.col("value").mean())
    best = heights.sort("value", "strategy", descending=[True, False])
    return best["strategy"].to_list()[:most]


def add_labels(
    table: pl.DataFrame,
    is_last: pl.Expr,
    by: Sequence[str | pl.Expr],
    ends: Ends,
    labelled: Collection[str],
    lines: Sequence[str] = ("strategy",),
) -> pl.DataFrame:
    """Return the rows with `label_at`, the height of a name beside the end of its line.

    The first of `by` is the height of the end of a line, and the others order lines that end
    alike. Only lines that are `named` get a name.
    """
    is_last &= pl.col(lines[-1]).is_in([*labelled])
    last = table.filter(is_last).sort(*by, lines[-1])
    last = last.unique(lines, keep="first", maintain_order=True)
    several = "panel" in lines and not last.is_empty()
    placed = [
        group.select(*lines, label_at=pl.Series(spread_heights(heights, ends), dtype=pl.Float64))
        for group in (last.partition_by("panel") if several else [last])
        for heights in [group.select(by[0]).to_series()]
    ]
    table = table.join(pl.concat(placed), on=lines, how="left", maintain_order="left")
    return table.with_columns(pl.when(is_last).then("label_at").alias("label_at"))


def spread_heights(heights: Iterable[float], ends: Ends) -> list[float]:
    """Return heights of names, from the lowest up, that are a name apart and move least.

    The places minimise the sum of squared displacements: heights less the room of the names below
    are fitted by isotonic regression. The names stay within the axis, closer if they are many.
    """
    from scipy.optimize import isotonic_regression

    wanted = np.fromiter(heights, np.float64)
    if len(wanted) == 0:
        return []
    length = ends[1] - ends[0]
    step = min(length * LABEL_SHARE, length / max(1, len(wanted) - 1))
    room = step * np.arange(len(wanted))
    fitted = isotonic_regression(wanted - room).x
    places: list[float] = (np.clip(fitted, ends[0], ends[1] - room[-1]) + room).tolist()
    return places
