"""Tables of statistics: key columns, counts and numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs

from polars_graded._checks import check_column_names
from polars_graded._frames.arguments import Columns
from polars_graded._results.grid import Results

EFFECTIVE = "effective_queries"
"""Column of the effective number of weighted queries, or of weighted clusters."""


def check_named_once(columns: Sequence[str]) -> None:
    """Raise if a column is named more than once."""
    if len({*columns}) < len(columns):
        msg = f"each column must be named once, got {', '.join(columns)}"
        raise ValueError(msg)


def check_free_names(reserved: Iterable[str], **keys: Columns | None) -> None:
    """Raise if a key column has the name of another column of the result."""
    columns = {*reserved}
    for argument, key_columns in keys.items():
        for name in [] if key_columns is None else check_column_names(argument, key_columns):
            if name in columns:
                msg = (
                    f"`{argument}` must not have the name of a column of the result, got {name!r}"
                    "\n\nHint: rename the column"
                )
                raise ValueError(msg)


TEXTS = dict.fromkeys(("best", "verdict", "note", "test", "correction"), pl.String())
"""Types of text columns of statistics. Polars cannot infer these types if all values are null."""


def make_table(
    statistics: Mapping[str, Any] | Sequence[Mapping[str, Any]], **dtypes: pl.DataType
) -> pl.DataFrame:
    """Return statistics as a frame, with UInt32 counts and null for NaN.

    `dtypes` specifies the types of columns that are not in `TEXTS`.
    """
    frame = pl.DataFrame(statistics, schema_overrides={**TEXTS, **dtypes}, infer_schema_length=None)
    return frame.with_columns(cs.signed_integer().cast(pl.UInt32), cs.float().fill_nan(None))


def make_measure_table(
    measure: str,
    segment: pl.DataFrame,
    names: Sequence[pl.Series],
    statistics: Mapping[str, Any],
    **dtypes: pl.DataType,
) -> pl.DataFrame:
    """Return the statistics of a measure in a segment, preceded by key columns."""
    strategy, *others = (each.name for each in names)
    reserved = ["measure", *others, *statistics]
    check_free_names(reserved, strategy=strategy, segments=segment.columns or None)
    columns = make_table(statistics, **dtypes)
    first = segment.select(pl.lit(measure).alias("measure"), *segment.columns)
    repeated = first[[0] * columns.height].get_columns()
    return pl.DataFrame([*repeated, *names, *columns])


def count_units(results: Results, length: int) -> dict[str, Any]:
    """Return the columns `clusters` and `effective_queries` of a table with `length` rows.

    Without clusters or weights, the column is left out.
    """
    counts: dict[str, Any] = {}
    if results.clusters is not None:
        counts["clusters"] = np.full(length, len(results.cluster_sizes))
    if results.weights is not None:
        counts[EFFECTIVE] = np.full(length, float(results.effective_number))
    return counts
