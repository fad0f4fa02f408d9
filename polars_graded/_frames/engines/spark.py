"""Measure buckets of queries with `applyInArrow` of Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polars_graded._frames.engines.arrow import Worker, build_result_schema, convert_schema
from polars_graded._frames.request import Request

if TYPE_CHECKING:
    import pyarrow as pa


def read_schema(frame: Any) -> pl.Schema:
    """Return the columns of a frame with the data types of Polars."""
    return convert_schema(_read_arrow_schema(frame))


def evaluate_rows(request: Request, frame: Any) -> Any:
    """Return a Spark frame with a row of values per strategy and query.

    The rows are in no particular order.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    buckets = int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions"))
    schema = build_result_schema(request, _read_arrow_schema(frame), "Spark")
    query = ", ".join(map(_quote_name, request.columns.query))
    rows = frame.selectExpr(
        *(f"{_quote_name(name)} AS column_{n}" for n, name in enumerate(request.needed_columns)),
        f"pmod(xxhash64({query}), {buckets}) AS bucket",
    )
    worker = Worker(request, schema)

    def measure(table: pa.Table) -> pa.Table:  # Spark takes only functions, not other callables
        return worker(table)

    return rows.groupBy("bucket").applyInArrow(measure, from_arrow_schema(schema))


def _read_arrow_schema(frame: Any) -> pa.Schema:
    """Return the Arrow schema of a frame.

    An empty struct stands for a type that Arrow lacks.
    """
    import pyarrow as pa
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType

    fields = []
    for field in frame.schema.fields:
        try:
            fields += to_arrow_schema(StructType([field]))
        except PySparkException:
            fields.append(pa.field(field.name, pa.struct([])))
    return pa.schema(fields)


def _quote_name(name: str) -> str:
    """Return the name of a column, quoted for SQL."""
    return "`" + name.replace("`", "``") + "`"
