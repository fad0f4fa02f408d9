"""Spark: the rows of a bucket of queries to `applyInArrow`, a Spark frame of values back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polars_graded._frames.engines.arrow import Worker, check_buckets, checked_schema

if TYPE_CHECKING:
    import pyarrow as pa

    from polars_graded._frames.parts import Parts
    from polars_graded._frames.request import Request


def evaluated(request: Request, frame: Any, parts: Parts) -> Any:
    """A Spark frame of the values, one row per strategy and query, in no order."""
    from pyspark.sql.pandas.types import from_arrow_schema

    buckets = check_buckets("Spark", request, parts)
    buckets = buckets or int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions"))
    schema = checked_schema(request, _arrow_schema(frame))
    rows = frame.selectExpr(
        *(f"{_quoted(name)} AS column_{n}" for n, name in enumerate(request.columns)),
        f"pmod(xxhash64({', '.join(map(_quoted, request.query))}), {buckets}) AS bucket",
    )
    worker = Worker(request, schema)

    def measure(table: pa.Table) -> pa.Table:  # Spark takes a function, no other callable
        return worker(table)

    return rows.groupBy("bucket").applyInArrow(measure, from_arrow_schema(schema))


def _arrow_schema(frame: Any) -> pa.Schema:
    """The columns of a Spark frame, those that Arrow has no type for as nothing."""
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


def _quoted(name: str) -> str:
    """The name of a column as SQL has it."""
    return "`" + name.replace("`", "``") + "`"
