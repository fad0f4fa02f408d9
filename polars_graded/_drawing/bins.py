"""Build rows that summarise values: bars, bins, boxes, and heat map cells."""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from polars_graded._drawing.axis_ends import AxisEnds, choose_step
from polars_graded._drawing.chart_checks import MAX_DRAWN_ROWS
from polars_graded._drawing.chart_rows import build_name_column
from polars_graded._results.grid import Results

MAX_RANGE_IN_BINS = 40
"""Maximum of (range of the values) / (width of a bin) in a histogram."""


def build_heatmap_rows(
    results: Results, names: pl.Series, max_rows: int
) -> tuple[pl.DataFrame, list[str]]:
    """Return one row per query and strategy, and the names of the queries.

    The hardest query and the best strategy come first. If there are more than `max_rows` queries,
    or if the heat map would have more than `MAX_DRAWN_ROWS` cells, neighbouring queries share a
    row. This row shows their mean.
    """
    sign = -1 if results.best == "lowest" else 1
    # Means that differ only by rounding errors count as equal. Equal means keep their order.
    columns = np.argsort(-sign * results.values.mean(axis=1).round(12), kind="stable")
    rows = np.argsort(sign * results.values.mean(axis=0).round(12), kind="stable")
    values, names = results.values[columns][:, rows], names[columns]
    [queries] = results.queries.to_frame("name").select(build_name_column("name"))[rows]
    size = -(-len(queries) // min(max_rows, MAX_DRAWN_ROWS // len(names)))
    starts = np.arange(0, len(queries), size)
    ends = np.minimum(starts + size, len(queries))
    ends_of_rows = zip(starts.tolist(), ends.tolist(), strict=True)
    table = pl.DataFrame(
        {
            "position": starts + 1,
            "last": ends,
            "query": [
                queries[start] if end - start == 1 else f"{queries[start]} … {queries[end - 1]}"
                for start, end in ends_of_rows
            ],
            "queries": pl.Series(ends - starts, dtype=pl.UInt32),
            "value": (np.add.reduceat(values, starts, axis=1) / (ends - starts)).T.tolist(),
        }
    )
    table = table.select(pl.lit(names).implode().alias("strategy"), pl.all())
    return table.explode("strategy", "value"), queries.to_list()


def count_by_bin(
    table: pl.DataFrame, groups: list[str], max_range_in_bins: int, *, centred: bool
) -> pl.DataFrame:
    """Count the values of each group by bin.

    If `centred`, 0 is the middle of a bin, which suits differences. Otherwise 0 is the edge of a
    bin, which suits values that cannot be below 0.
    """
    # The axis always shows 0. If the range did not include 0, bins could be too narrow to be seen.
    values = np.append(table["value"].to_numpy(), 0.0)
    width = choose_step(float(np.ptp(values)) / max_range_in_bins)
    # Rounding errors must not move a value such as 0.3 below the edge at 0.3.
    bin_position = (pl.col("value") / width).round(9)
    # The highest bin contains its upper edge, such as 1.
    last_bin = max(0, math.ceil(round(float(values.max()) / width, 9)) - 1)
    bin_number = (
        bin_position.round() if centred else bin_position.floor().clip(upper_bound=last_bin)
    )
    bins = table.with_columns(bin_number.alias("bin"))
    counts = bins.group_by(*groups, "bin").agg(pl.len().alias("count")).sort(*groups, "bin")
    low = pl.col("bin") - 0.5 if centred else pl.col("bin")
    return counts.select(
        *groups, (low * width).alias("low"), ((low + 1) * width).alias("high"), "count"
    )


def count_by_cell(table: pl.DataFrame, groups: list[str], x: AxisEnds, y: AxisEnds) -> pl.DataFrame:
    """Count the points of each group by cell, on axes with the ends `x` and `y`.

    A text in the column `label` of a point becomes the label of its cell.
    """
    n_groups = table.n_unique(groups) if groups else 1
    n_cells = min(MAX_RANGE_IN_BINS, math.isqrt(MAX_DRAWN_ROWS // n_groups))
    sides: dict[str, pl.Expr] = {}
    for field, (low, high) in (("x", x), ("y", y)):
        width = (high - low) / n_cells
        number = ((pl.col(field) - low) / width).round(9).floor().clip(0, n_cells - 1)
        sides |= {field: low + number * width, f"{field}_end": low + (number + 1) * width}
    cells = table.select(*groups, "label", **sides).group_by(*groups, *sides, maintain_order=True)
    return cells.agg(pl.len().alias("count"), pl.col("label").drop_nulls().first())
