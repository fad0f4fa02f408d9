"""Conversion of any frame to Polars: pandas, pyarrow, DuckDB, Arrow, narwhals.

Spark frames and Ray datasets are fetched from the cluster, so they must fit in the memory of this
machine.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import polars as pl

ENGINES = {
    "spark": ("pyspark.sql", {"DataFrame"}),
    "ray_data": ("ray.data", {"Dataset", "MaterializedDataset"}),
}
"""The package and the class names of the frames of each engine."""


def find_engine(frame: Any) -> Any | None:
    """Return the module for an engine's frame, or None for a local frame."""
    kind = type(frame)
    for module, (package, classes) in ENGINES.items():
        if f"{kind.__module__}.".startswith(f"{package}.") and kind.__name__ in classes:
            return import_module(f"polars_graded._frames.engines.{module}")
    return None


def as_polars(name: str, value: Any) -> pl.DataFrame | pl.LazyFrame | None:
    """Return a frame of any kind as a Polars frame, or None for another value.

    In a pandas frame, a named index level becomes a column. If a column has the same name, the
    level is dropped instead. NaN in a pandas frame becomes null.
    """
    if isinstance(value, pl.DataFrame | pl.LazyFrame):
        return value
    if isinstance(value, pl.Series):
        return None
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(value, pandas.DataFrame):
        return _convert_pandas(name, value)
    if hasattr(value, "__arrow_c_stream__"):
        _check_no_intervals(name, value)
        try:
            return pl.DataFrame(value)
        except (TypeError, ValueError, ImportError, pl.exceptions.PolarsError):
            pass  # not a table, or the type of a column needs a package that is not installed
    if f"{type(value).__module__}.".startswith("ray.data."):
        return _convert_ray(value)
    return _convert_with_narwhals(name, value)


def _check_no_intervals(name: str, table: Any) -> None:
    """Raise if a table has a column of intervals, on which Polars would panic."""
    module = type(table).__module__.partition(".")[0]
    kinds = {"duckdb": table, "_duckdb": table, "pyarrow": getattr(table, "schema", None)}
    schema = kinds.get(module)
    columns = getattr(schema, "columns", None) or getattr(schema, "names", [])
    for column, kind in zip(columns, getattr(schema, "types", []), strict=False):
        if "interval" in str(kind).lower():
            msg = (
                f"column {column!r} of `{name}` must have a type that Polars supports, got "
                f"{kind}\n\nHint: drop the column, or convert it"
            )
            raise TypeError(msg)


def _convert_ray(dataset: Any) -> pl.DataFrame | None:
    """Fetch the rows of a Ray dataset; return None for another object of Ray."""
    if not hasattr(dataset, "to_arrow_refs"):
        return None
    import ray

    blocks = [pl.DataFrame(block) for block in ray.get(dataset.to_arrow_refs())]
    return pl.concat([block for block in blocks if block.width] or blocks or [pl.DataFrame()])


def _convert_pandas(name: str, frame: Any) -> pl.DataFrame:
    """Return a pandas frame and the named levels of its index as a DataFrame."""
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
    series = []
    for column in frame.columns:
        try:
            series.append(_convert_pandas_column(column, frame[column]))
        except (TypeError, ValueError, NotImplementedError, OverflowError) as error:
            msg = (
                f"column {column!r} of `{name}` must hold values of one kind, got {error}\n\n"
                "Hint: drop the column, or convert it"
            )
            raise TypeError(msg) from None
    return pl.DataFrame(series)


def _convert_pandas_column(name: str, column: Any) -> pl.Series:
    """Return a column of pandas with its missing values as null."""
    try:
        return pl.Series(name, pl.from_pandas(column, nan_to_null=True))
    except (ImportError, NotImplementedError):
        # pyarrow is not installed, or rejects NumPy arrays among the values. Numbers and Booleans
        # in a plain array are passed to Polars as an array. All other values are passed one by one,
        # including numbers whose missing values pandas marks in a `_mask`.
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


def _convert_with_narwhals(name: str, value: Any) -> pl.DataFrame | pl.LazyFrame | None:
    """Convert a frame that narwhals supports; return None for another value."""
    if type(value).__module__ == "builtins":
        return None
    import narwhals as nw

    native = nw.to_native(value, pass_through=True)
    if native is not value:
        return as_polars(name, native)
    frame = nw.from_native(value, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect(backend="polars")
    return frame.to_polars() if isinstance(frame, nw.DataFrame) else None
