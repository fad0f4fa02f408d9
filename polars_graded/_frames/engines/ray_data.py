"""Measure buckets of queries with `map_groups` of Ray Data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polars_graded._frames.engines.arrow import Worker, build_result_schema, convert_schema
from polars_graded._frames.request import Request

if TYPE_CHECKING:
    import pyarrow as pa


def read_schema(dataset: Any) -> pl.Schema:
    """Return the columns of a frame with the data types of Polars."""
    return convert_schema(_find_arrow_schema(dataset))


def evaluate_rows(request: Request, dataset: Any) -> Any:
    """Return a dataset of the values, one row per strategy and query.

    The rows are in no particular order.
    """
    from ray.data import DataContext

    buckets = DataContext.get_current().default_hash_shuffle_parallelism
    schema = build_result_schema(request, _find_arrow_schema(dataset), "Ray Data")
    columns = request.needed_columns
    rows = dataset.map_batches(
        _assign_buckets,
        batch_format="pyarrow",
        batch_size=None,
        zero_copy_batch=True,
        fn_kwargs={"columns": columns, "query": request.columns.query, "buckets": buckets},
    )
    worker = Worker(request, schema)
    return rows.groupby("bucket", num_partitions=buckets).map_groups(
        _measure_bucket, batch_format="pyarrow", fn_kwargs={"worker": worker}
    )


def _assign_buckets(
    table: pa.Table, columns: list[str], query: list[str], buckets: int
) -> pa.Table:
    """Return the needed columns and the bucket of each row.

    Columns are renamed `column_0`, `column_1` and so on. The bucket comes from Polars' hash of the
    query, so all machines need the same version of Polars.
    """
    import numpy as np

    keys = pl.DataFrame(table.select(query)).with_columns(pl.all().cast(pl.String).fill_null(""))
    joined = keys.select(pl.concat_str(pl.all(), separator="\0")).to_series()
    number = joined.hash(seed=0).to_numpy() % buckets
    names = [f"column_{n}" for n, _ in enumerate(columns)]
    rows = table.select(columns).rename_columns(names)
    return rows.append_column("bucket", [number.astype(np.int64)])


def _measure_bucket(table: pa.Table, worker: Worker) -> pa.Table:
    return worker(table)


def _find_arrow_schema(dataset: Any) -> pa.Schema:
    """Return the schema of a dataset.

    To find it, Ray Data may have to read a part of the data.
    """
    import pyarrow as pa

    schema = dataset.schema().base_schema
    return schema if isinstance(schema, pa.Schema) else pa.Schema.from_pandas(schema.empty_table())
