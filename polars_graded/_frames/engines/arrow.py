"""Measure the queries of an Arrow table on any machine."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_graded._frames.evaluating import check_without_data, measure_frame
from polars_graded._frames.request import Request

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Worker:
    """Measure a table on the machine that holds its rows.

    A worker can be pickled, so an engine can send it to that machine.
    """

    request: Request
    schema: pa.Schema
    """Schema of the result. It contains Arrow types that engines support. Polars would choose other
    types, such as uint32 instead of int64."""

    def __call__(self, table: pa.Table) -> pa.Table:
        """Return the values of the queries in a table.

        The table contains all rows of each query. Its first columns are the `needed_columns` of the
        request, in this order. In the table, these columns may have other names, because engines do
        not support all names.
        """
        columns = self.request.needed_columns
        frame = pl.DataFrame(table.select(range(len(columns))).rename_columns(columns))
        # A table contains only some queries. A warning that is true for these queries may be false
        # for all queries, so no warning is shown.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            values = measure_frame([self.request], frame, is_whole_frame=False)
        return values.to_arrow().cast(self.schema)


def build_result_schema(request: Request, given: pa.Schema, engine: str) -> pa.Schema:
    """Return the schema of the result.

    Raise if ties would be broken by the order of rows, which an engine does not keep.
    """
    if request.ties.keep_row_order:
        msg = (
            f"`ties` must name a column for {engine}, whose rows have no order, got 'order'\n\n"
            "Hint: ties='doc' ranks tied documents by that column"
        )
        raise ValueError(msg)
    check_without_data([request], convert_schema(given))
    return _build_arrow_schema(request, given)


def convert_schema(given: pa.Schema) -> pl.Schema:
    """Return the columns with the data types of Polars."""
    return pl.Schema({field.name: _read_type(field) for field in given})


def _read_type(field: pa.Field) -> pl.DataType:
    """Return the Polars type of a column.

    If Polars has no such type, return Object, which no measure accepts.
    """
    import pyarrow as pa

    try:
        return pl.DataFrame(pa.schema([field]).empty_table()).dtypes[0]
    except (pl.exceptions.PolarsError, NotImplementedError, ValueError):
        return pl.Object()


def _build_arrow_schema(request: Request, given: pa.Schema) -> pa.Schema:
    """Return the fields of the keys and of one column per measure."""
    import pyarrow as pa

    types: dict[Any, pa.DataType] = {
        pl.String(): pa.string(),
        pl.Float64(): pa.float64(),
        pl.UInt32(): pa.int64(),
        pl.List(pl.Float64): pa.list_(pa.float64()),
    }
    return pa.schema(
        given.field(name) if name in request.columns.ranking_keys else pa.field(name, types[dtype])
        for name, dtype in request.build_schema(convert_schema(given)).items()
    )
