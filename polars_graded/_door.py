"""Any frame in: pandas, pyarrow, DuckDB and what speaks Arrow or narwhals becomes Polars here.

So do frames of Spark and datasets of Ray, which are small where they are results.
"""

from __future__ import annotations

import sys
from typing import Any

import polars as pl


def as_polars(name: str, value: Any) -> pl.DataFrame | pl.LazyFrame | None:
    """A frame of any kind as one of Polars; None of what is none.

    A named index of pandas counts as columns, and its NaN as a missing value.
    """
    if isinstance(value, pl.DataFrame | pl.LazyFrame):
        return value
    if isinstance(value, pl.Series):
        return None
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(value, pandas.DataFrame):
        return _from_pandas(name, value)
    if hasattr(value, "__arrow_c_stream__"):
        _check_no_intervals(name, value)
        try:
            return pl.DataFrame(value)
        except (TypeError, ValueError, ImportError, pl.exceptions.PolarsError):
            pass  # a column alone, or what needs help that is not installed
    if f"{type(value).__module__}.".startswith("ray.data."):
        return _from_ray(value)
    return _by_narwhals(name, value)


def _check_no_intervals(name: str, table: Any) -> None:
    """Raise where a table of DuckDB or pyarrow has intervals of months, on which Polars panics."""
    module = type(table).__module__.partition(".")[0]
    kinds = {"duckdb": table, "_duckdb": table, "pyarrow": getattr(table, "schema", None)}
    known = kinds.get(module)
    columns = getattr(known, "columns", None) or getattr(known, "names", [])
    for column, kind in zip(columns, getattr(known, "types", []), strict=False):
        if "interval" in str(kind).lower():
            msg = (
                f"column {column!r} of `{name}` must hold values of a kind that Polars has, got "
                f"{kind}\n\nHint: drop the column, or convert it"
            )
            raise TypeError(msg)


def _from_ray(dataset: Any) -> pl.DataFrame | None:
    """The rows of a dataset of Ray, brought here from all over the cluster."""
    if not hasattr(dataset, "to_arrow_refs"):
        return None
    import ray

    blocks = [pl.DataFrame(block) for block in ray.get(dataset.to_arrow_refs())]
    return pl.concat([block for block in blocks if block.width] or blocks)


def _from_pandas(name: str, frame: Any) -> pl.DataFrame:
    """The columns of a frame of pandas, and the levels of its index that have a name."""
    levels = [level for level in frame.index.names if level is not None]
    if levels:
        frame = frame.reset_index([each for each in levels if each not in frame.columns])
    if texts := [column for column in frame.columns if not isinstance(column, str)]:
        msg = f"`{name}` must have columns named by strings, got {texts[0]!r}"
        raise TypeError(msg)
    if not frame.columns.is_unique:
        again = frame.columns[frame.columns.duplicated()][0]
        msg = f"`{name}` must have each column once, got {again!r} more than once"
        raise ValueError(msg)
    found = []
    for column in frame.columns:
        try:
            found.append(_series_of_pandas(column, frame[column]))
        except (TypeError, ValueError, NotImplementedError, OverflowError) as error:
            msg = (
                f"column {column!r} of `{name}` must hold values of one kind, got {error}\n\n"
                "Hint: drop the column, or convert it"
            )
            raise TypeError(msg) from None
    return pl.DataFrame(found)


def _series_of_pandas(name: str, column: Any) -> pl.Series:
    """A column of pandas; what it calls missing is null."""
    try:
        return pl.Series(name, pl.from_pandas(column, nan_to_null=True))
    except (ImportError, NotImplementedError):
        # Without pyarrow numbers go as an array and others one by one, as do arrays of NumPy, which
        # pyarrow does not take in every mixture.
        missing = column.isna().to_numpy()
        if column.dtype.kind in "iufb" and not hasattr(column.array, "_mask"):
            return pl.Series(name, column.to_numpy(), nan_to_null=True)
        values = column.astype(object).to_list()
        return pl.Series(
            name,
            [
                None if gone else value.tolist() if hasattr(value, "tolist") else value
                for value, gone in zip(values, missing, strict=True)
            ],
        )


def _by_narwhals(name: str, value: Any) -> pl.DataFrame | pl.LazyFrame | None:
    """A frame that narwhals knows; None of anything else."""
    if type(value).__module__ == "builtins":
        return None
    import narwhals as nw

    native = nw.to_native(value, pass_through=True)
    if native is not value:
        return as_polars(name, native)
    known = nw.from_native(value, pass_through=True)
    if isinstance(known, nw.LazyFrame):
        known = known.collect(backend="polars")
    return known.to_polars() if isinstance(known, nw.DataFrame) else None
