"""Frames of other engines: the same values, from where the rows are."""

from __future__ import annotations

import os
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl
import pytest
from helpers import ODD_QUERIES, assert_same_columns, frame_of, needed, random_queries
from polars.testing import assert_frame_equal
from registry import FURTHER_COLUMNS, ROWS

import polars_graded
from polars_graded import evaluate, join_judgments, similarity, summarise
from polars_graded._door import find_engine

if TYPE_CHECKING:
    from collections.abc import Callable

pa = needed("pyarrow")

from polars_graded._frames.engines.arrow import Worker, build_result_schema, convert_schema  # noqa: E402
from polars_graded._frames.request import Request  # noqa: E402

NAMED = [row.name for row in ROWS]

ROWS_OF_QUERIES = frame_of([*ODD_QUERIES.values(), *random_queries(5, 100)])
ROWS_OF_QUERIES = ROWS_OF_QUERIES.select(
    pl.format("q{}", "query").alias("query"),
    pl.int_range(pl.len()).alias("doc"),
    "grade",
    "score",
    *FURTHER_COLUMNS.values(),
    (-pl.col("score")).alias("an.other `score`"),
).sample(fraction=1, shuffle=True, seed=1)
BOTH = {"by": ["score", "an.other `score`"], "ties": "doc"}
ALL = BOTH | FURTHER_COLUMNS
pytestmark = pytest.mark.filterwarnings("ignore")  # of queries that are odd, and those of engines


def in_order(values, *keys):
    """Values as `evaluate` orders them, with counts as engines have them."""
    return values.sort(*(keys or ["strategy"]), "query").with_columns(
        pl.col(pl.UInt32).cast(pl.Int64)
    )


@pytest.fixture(scope="module")
def expected():
    return in_order(evaluate(ROWS_OF_QUERIES, NAMED, **ALL))


# The function that engines share


def worker_of(frame, *measures, **options):
    given = frame.to_arrow().schema
    rows = pl.LazyFrame(schema=convert_schema(given))
    request = Request.of(rows, measures, **options)
    return Worker(request, build_result_schema(request, given, "Arrow"))


def in_buckets(worker, frame, n=5):
    """What workers make of the buckets of a frame, each of which got a copy; one is empty."""
    rows = frame.select(worker.request.used_columns)
    keys = pl.struct(worker.request.columns.query).hash() % n
    tables = [rows.filter(keys == bucket).to_arrow() for bucket in range(n + 1)]
    assert tables[n].num_rows == 0
    copy = pickle.dumps(worker)
    return pa.concat_tables([pickle.loads(copy)(table) for table in tables])  # noqa: S301


def test_every_measure_has_the_same_values_from_buckets(expected):
    found = in_buckets(worker_of(ROWS_OF_QUERIES, NAMED, **ALL), ROWS_OF_QUERIES)
    assert_same_columns(in_order(pl.DataFrame(found)), expected)


def test_an_error_names_the_column():
    frame = ROWS_OF_QUERIES.with_columns(
        score=pl.when(pl.col("query") == "q50").then(float("inf")).otherwise("score")
    )
    worker = worker_of(frame, "ap")
    table = frame.filter(pl.col("query").is_in(["q50", "q51"])).select(worker.request.used_columns)
    sentence = r"^score 'score' must be finite, got NaN or infinity in 1 of 2 queries\n\n"
    with pytest.raises(ValueError, match=sentence):
        worker(table.to_arrow())


def test_a_worker_loads_neither_altair_nor_scipy():
    worker = pickle.dumps(worker_of(ROWS_OF_QUERIES, "ap"))
    loaded = "print(*{'altair', 'scipy'} & {*sys.modules})"
    code = f"import pickle, sys; pickle.loads({worker!r}); {loaded}"
    command = [sys.executable, "-c", code]
    assert subprocess.check_output(command, text=True) == "\n"  # noqa: S603 of our own making


def test_frames_of_this_machine_have_no_engine():
    assert find_engine(ROWS_OF_QUERIES) is find_engine(ROWS_OF_QUERIES.to_arrow()) is None


# Spark and Ray

in_spark, in_ray = pytest.mark.spark, pytest.mark.ray


@pytest.fixture(scope="module")
def spark():
    if not shutil.which("java"):
        pytest.skip("Java is not installed: apt-get install openjdk-17-jre-headless")
    needed("pyspark", ".[spark]")
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    # Jobs of a second are over before the machine code of the second compiler would pay.
    quick = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    session = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.driver.extraJavaOptions", quick)
        .config("spark.executor.extraJavaOptions", quick)
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", 4)
        .config("spark.executorEnv.PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
        .config("spark.executorEnv.POLARS_MAX_THREADS", "1")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def ray_data():
    needed("ray", ".[ray]")
    import ray
    import ray.data
    from ray.cluster_utils import Cluster

    # Ray ends idle processes if there are more of them than CPUs. With one CPU per node, each test
    # would start new ones, which takes ten seconds.
    cpus = 3
    head = {"num_cpus": cpus, "include_dashboard": False}
    with pytest.MonkeyPatch.context() as environment:
        # With a `runtime_env` of variables, Ray would replace the processes that it has started.
        environment.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
        environment.setenv("POLARS_MAX_THREADS", "1")
        cluster = Cluster(initialize_head=True, head_node_args=head)
        cluster.add_node(num_cpus=cpus)
        ray.init(address=cluster.address, log_to_driver=False)
        ray.data.DataContext.get_current().default_hash_shuffle_parallelism = 4
        ray.data.DataContext.get_current().enable_progress_bars = False
        yield ray.data
        ray.shutdown()
        cluster.shutdown()


def from_ray(dataset):
    import ray

    return pl.DataFrame(pa.concat_tables(ray.get(dataset.to_arrow_refs())))


class Engine(NamedTuple):
    """How a frame gets to an engine, and back."""

    send: Callable[[pl.DataFrame], Any]
    collect: Callable[[Any], pl.DataFrame]


@pytest.fixture(params=[pytest.param("spark", marks=in_spark), pytest.param("ray", marks=in_ray)])
def engine(request):
    if request.param == "ray":
        data = request.getfixturevalue("ray_data")
        return Engine(lambda frame: data.from_arrow(frame.to_arrow()), from_ray)
    session = request.getfixturevalue("spark")
    return Engine(lambda frame: session.createDataFrame(frame.to_arrow()), from_spark)


def from_spark(frame):
    return pl.DataFrame(frame.toArrow())


def test_every_measure_has_the_same_values_from_an_engine(engine, expected):
    found = engine.collect(evaluate(engine.send(ROWS_OF_QUERIES), NAMED, **ALL))
    assert_same_columns(in_order(found), expected)


def test_results_of_an_engine_are_collected(engine):
    rows = engine.send(ROWS_OF_QUERIES)
    values, local = (evaluate(each, "ap", **BOTH) for each in (rows, ROWS_OF_QUERIES))
    assert_frame_equal(summarise(values, "ap"), summarise(local, "ap"), check_row_order=False)
    found, expected = (similarity(each, "rbo", **BOTH) for each in (rows, ROWS_OF_QUERIES))
    assert_frame_equal(found, expected, check_row_order=False)


REFUSED = [
    ({"grade": "grad"}, pl.exceptions.ColumnNotFoundError, "no column 'grad'"),
    ({"grade": "query"}, TypeError, "grade 'query' must be a number or a Boolean, got String"),
    ({"consecutive": True}, ValueError, "`consecutive` must"),
    ({"ties": "order"}, ValueError, "`ties` must"),
]


def test_wrong_arguments_are_refused_before_a_job_starts(engine):
    frame = engine.send(ROWS_OF_QUERIES)
    for options, exception, sentence in REFUSED:
        with pytest.raises(exception, match=sentence):
            evaluate(frame, "ap", **options)
    with pytest.raises(ValueError, match="novelty_ratio needs `known`, a column that"):
        evaluate(frame, "novelty_ratio")


def test_what_fails_in_an_engine_says_why(engine):
    rows = ROWS_OF_QUERIES.with_columns(score=pl.lit(float("nan")))
    values = evaluate(engine.send(rows), "ap")
    with pytest.raises(Exception, match="score 'score' must be finite, got NaN or infinity in"):
        engine.collect(values)


@in_spark
def test_one_query_of_many_batches_among_small_ones(spark):
    """Spark hands over 10,000 rows in a batch."""
    long = pl.DataFrame({"query": "long", "doc": pl.int_range(60_000, eager=True)})
    frame = pl.concat([long, ROWS_OF_QUERIES.select("query", pl.col("doc").cast(pl.Int64))])
    frame = frame.with_columns(
        grade=pl.col("doc") * 7919 % 5, score=(pl.col("doc") * 31 % 1009 / 7).cast(pl.Float64)
    )
    found = evaluate(spark.createDataFrame(frame.to_arrow()), "ap", "ndcg", ties="doc")
    expected = evaluate(frame, "ap", "ndcg", ties="doc")
    assert_frame_equal(in_order(from_spark(found)), in_order(expected))


# Of this run "a" misses a judged document, and answered one query of which nothing is judged.
JUDGED_BY_HAND = {
    "run": pl.DataFrame(
        {
            "my.run": ["a", "a", "a", "b", "b"],
            "query": ["q1", "q1", "q9", "q1", "q2"],
            "doc": ["d1", "d9", "d1", "d2", "d1"],
            "score": [0.9, 0.4, 0.3, 0.7, 0.5],
        }
    ),
    "judgments": pl.DataFrame(
        {
            "query": ["q1", "q1", "q2", "q2"],
            "doc": ["d1", "d2", "d1", "d9"],
            "grade": [2, 1, 1, None],
        }
    ),
}
JUDGED_ROWS = [
    ("a", "q1", "d1", 0.9, 2),
    ("a", "q1", "d2", None, 1),
    ("a", "q1", "d9", 0.4, None),
    ("a", "q2", "d1", None, 1),
    ("b", "q1", "d1", None, 2),
    ("b", "q1", "d2", 0.7, 1),
    ("b", "q2", "d1", 0.5, 1),
]


@in_spark
def test_the_join_of_the_book_judges_a_run_in_spark(spark):
    page = Path(polars_graded.__file__).parents[1] / "notebooks/book/how-to/big.md"
    [code] = re.findall(r"```python\n(judged_queries = .*?)```", page.read_text("utf-8"), re.DOTALL)
    run, judgments = JUDGED_BY_HAND.values()
    run = run.rename({"my.run": "strategy"})
    frames = {
        "run": spark.createDataFrame(run.to_arrow()),
        "judgments": spark.createDataFrame(judgments.drop_nulls().to_arrow()),
    }
    exec(code, frames)  # noqa: S102, code of our own page
    judged = from_spark(frames["judged"]).select("strategy", "query", "doc", "score", "grade")
    assert sorted(judged.rows(), key=str) == sorted(JUDGED_ROWS, key=str)
    joined = join_judgments(frames["run"], judgments, strategy="strategy")
    assert sorted(joined.rows(), key=str) == sorted(JUDGED_ROWS, key=str)
