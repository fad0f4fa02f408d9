"""Evaluate and join Spark frames.

Queries are divided into buckets, and `applyInArrow` computes the values of each bucket.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_graded._door import find_engine
from polars_graded._frames.engines.arrow import Worker, prepare, read_schema
from polars_graded._frames.inputs import build_grader_table
from polars_graded._frames.joining import check_schemas, select_judgments
from polars_graded._frames.request import Request

if TYPE_CHECKING:
    import pyarrow as pa


def evaluate_rows(request: Request, frame: Any) -> Any:
    """Return a Spark frame with a row of values per strategy and query.

    The rows are in no particular order.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    buckets = int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions"))
    request, schema = prepare(request, _read_arrow_schema(frame), "Spark")
    if request.needs_strategies:
        names = frame.select(_quote_name(request.strategy or "")).distinct()
        request = request.with_strategies(pl.DataFrame(names.toArrow()))
    rows = frame.selectExpr(
        *(f"{_quote_name(name)} AS column_{n}" for n, name in enumerate(request.input_columns)),
        f"pmod(xxhash64({', '.join(map(_quote_name, request.query))}), {buckets}) AS bucket",
    )
    worker = Worker(request, schema)

    def measure(table: pa.Table) -> pa.Table:  # Spark takes only functions, not other callables
        return worker(table)

    return rows.groupBy("bucket").applyInArrow(measure, from_arrow_schema(schema))


def join_rows(
    run: Any,
    judgments: Any,
    query: str,
    doc: str,
    grade: str,
    strategy: str | None,
    unjudged_below: float | None,
) -> Any:
    """Join a run in Spark with its judgments, and return a Spark frame.

    The judgments are in Spark or on this machine. The result is in no particular order. Rows are
    joined by query and document, not by query alone, so that no machine must hold all rows of a
    long query in memory.
    """
    from pyspark.sql import functions as f

    ours, pair, grades = read_schema(_read_arrow_schema(run)), [query, doc], [grade]
    is_local = find_engine(judgments) is None
    if is_local:
        _check_local(judgments)
        table, grades = build_grader_table(judgments, query, doc, grade)
    theirs = table.collect_schema() if is_local else read_schema(_read_arrow_schema(judgments))
    key = check_schemas(ours, theirs, query, doc, grades, strategy)
    _check_not_stacked(ours, key)
    if is_local:
        table = select_judgments(table.lazy().collect(), pair, grades, unjudged_below)
        judgments = run.sparkSession.createDataFrame(table.to_arrow())

    names = [*ours, *(name for name in theirs if name not in ours)]
    aliases = {name: f"column_{number}" for number, name in enumerate(names)}
    run, judgments = (
        frame.selectExpr(*(f"{_quote_name(name)} AS {aliases[name]}" for name in frame.columns))
        for frame in (run, judgments)
    )
    in_run, in_judgments = ([aliases[name] for name in columns] for columns in (key, pair))
    run = _fail_on_nulls(run, "run", dict(zip(in_run, key, strict=True)))
    judgments = _fail_on_nulls(judgments, "judgments", dict(zip(in_judgments, pair, strict=True)))
    judgments = _fail_on_duplicates(
        judgments, "judgments", dict(zip(in_judgments, pair, strict=True))
    )
    if not is_local:
        judgments = judgments.where(f.col(aliases[grade]).isNotNull())
        if unjudged_below is not None:
            judgments = judgments.where(f.col(aliases[grade]) >= unjudged_below)
    expected = judgments
    if strategy is not None:
        expected = run.select(aliases[strategy]).distinct().crossJoin(judgments)
    rows_of_judged = run.join(
        judgments.select(aliases[query]).distinct(), aliases[query], "left_semi"
    )
    retrieved = _fail_on_duplicates(rows_of_judged, "run", dict(zip(in_run, key, strict=True)))
    return retrieved.join(expected, in_run, "full_outer").select(*aliases.values()).toDF(*names)


def _check_local(judgments: Any) -> None:
    """Raise if a mapping from graders to judgments contains a frame of an engine."""
    frames = judgments.items() if isinstance(judgments, Mapping) else ()
    if remote := [name for name, each in frames if find_engine(each) is not None]:
        msg = (
            "`judgments` of several graders must be on this machine, got a frame of an engine for "
            f"{remote[0]!r}\n\nHint: .toArrow() collects a frame of Spark"
        )
        raise TypeError(msg)


def _check_not_stacked(schema: pl.Schema, key: list[str]) -> None:
    """Raise if a column "strategy" exists that no argument names.

    Spark would have to run a job to count the strategies in this column, so the column is refused
    even if it holds a single strategy.
    """
    if "strategy" in schema and "strategy" not in key:
        msg = (
            "`run` has a column 'strategy' that no argument names; its strategies would be "
            "merged\n\nHint: pass strategy='strategy', or drop the column"
        )
        raise ValueError(msg)


def _fail_on_nulls(frame: Any, name: str, key: Mapping[str, str]) -> Any:
    """Return the rows, with a check that stops the job if a key is null."""
    from pyspark.sql import functions as f

    for column, original in key.items():
        error = f.raise_error(f.lit(f'"{original}" must not be null in `{name}`'))
        frame = frame.withColumn(
            column, f.coalesce(column, error.cast(frame.schema[column].dataType))
        )
    return frame


def _fail_on_duplicates(frame: Any, name: str, key: Mapping[str, str]) -> Any:
    """Return the rows, with a check that stops the job if two keys are equal."""
    from pyspark.sql import functions as f

    others = [column for column in frame.columns if column not in key]
    rows = frame.groupBy(*key).agg(
        f.first(f.struct(*others)).alias("others"), f.count(f.lit(1)).alias("number")
    )
    sentence = f"`{name}` must have each ({', '.join(key.values())}) once, got more than once: "
    values = f.concat_ws(", ", *(f.col(column).cast("string") for column in key))
    error = f.raise_error(f.concat(f.lit(sentence), values))
    checked = f.when(f.col("number") > 1, error.cast(rows.schema["others"].dataType)).otherwise(
        f.col("others")
    )
    return rows.select(*key, checked.alias("others")).select(*key, "others.*")


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
