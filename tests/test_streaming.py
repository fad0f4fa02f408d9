"""Lazy frames: the same values as eager frames, also if they are read batch by batch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from helpers import COLLECTED, ODD_QUERIES, assert_same_columns, frame_of, random_queries
from polars.testing import assert_frame_equal
from registry import FURTHER_COLUMNS, ROWS

from polars_graded import evaluate
from polars_graded._frames import rows

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of queries that are odd

NAMED = [row.name for row in ROWS]
ORDERS_OF_ROWS = {"ties": "order"}

SOME = ["ap", "ndcg@10", "ndcg(ties=average)@3", "bpref", "n_retrieved", "dcg_curve@5"]

QUERIES = frame_of([*ODD_QUERIES.values(), *random_queries(5, 300)]).with_columns(
    pl.format("q{}", "query").alias("query"),
    pl.int_range(pl.len()).over("query").alias("doc"),
    -pl.col("score").alias("other"),
)
"""Rows in the order of queries, which as texts are not sorted, and stand together for each."""

MIXED = QUERIES.sample(fraction=1, shuffle=True, seed=1)
STACKED = pl.concat(
    MIXED.with_columns(score=pl.col("score") * sign, run=pl.lit(name))
    for name, sign in (("b", 1), ("a", -1))
).sample(fraction=1, shuffle=True, seed=2)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(rows, "BATCH_ROWS", 200)


def test_every_row_is_in_one_batch_with_all_others_of_its_query():
    frame = QUERIES.with_row_index()
    found = [*rows.read_whole_queries(frame.lazy(), ["query"])]
    assert len(found) >= 3
    queries = pl.concat(part.select("query").unique() for part in found)
    assert queries.height == queries.n_unique() == QUERIES["query"].n_unique()
    assert_frame_equal(pl.concat(found), frame)


@pytest.mark.slow
@pytest.mark.parametrize("consecutive", [False, True])
def test_every_measure_has_the_same_values(consecutive):
    options = {**FURTHER_COLUMNS, **ORDERS_OF_ROWS}
    lazy = evaluate(QUERIES.lazy(), NAMED, consecutive=consecutive, **options)
    assert_same_columns(lazy.collect(), evaluate(QUERIES, NAMED, **options))


SHAPES = {
    "several strategies": (MIXED, {"by": ["score", "other"]}),
    "ties broken by a column": (MIXED, {"ties": "doc"}),
    "stacked": (STACKED, {"strategy": "run"}),
    "several columns of a query": (
        MIXED.with_columns(user=pl.col("doc") % 2),
        {"query": ["query", "user"]},
    ),
    "condensed": (MIXED, {"condensed": True, "undefined_as": None}),
}


@pytest.mark.parametrize("consecutive", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_lazy_frame_has_the_values_of_an_eager_one(shape, consecutive):
    frame, options = SHAPES[shape]
    options = ORDERS_OF_ROWS | options
    if consecutive:
        frame = frame.sort(options.get("query", "query"), maintain_order=True)
    expected = evaluate(frame, SOME, **options)
    found = evaluate(frame.lazy(), SOME, consecutive=consecutive, **options)
    assert found.collect_schema() == expected.schema
    assert_frame_equal(found.collect(engine="streaming"), expected, check_exact=True)
    assert_frame_equal(found.collect(engine="in-memory"), expected, check_exact=True)


def test_rows_that_are_not_sorted_as_was_said_are_refused():
    lazy = evaluate(MIXED.lazy().set_sorted("query"), "ap", **ORDERS_OF_ROWS)
    with pytest.raises(COLLECTED, match=r"consecutive.* in several places: .*'q"):
        lazy.collect()


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_what_is_chained_to_a_lazy_result_has_the_rows_of_an_eager_one(engine):
    lazy = evaluate(MIXED.lazy(), "ap", "ndcg@10", "err", **ORDERS_OF_ROWS)
    whole = evaluate(MIXED, "ap", "ndcg@10", "err", **ORDERS_OF_ROWS)
    for chain in (
        lambda f: f.select("err", "query"),
        lambda f: f.filter(pl.col("query") == "q20"),
        lambda f: f.filter(pl.col("ap") > 0.5).select("query"),
        lambda f: f.select("strategy"),
        lambda f: f.head(3),
        lambda f: f.tail(3).filter(query="q20"),
        lambda f: f.head(40).filter(query="q20"),
        lambda f: f.filter(query="q20").head(40),
    ):
        assert_frame_equal(chain(lazy).collect(engine=engine), chain(whole))


def test_nothing_is_read_before_it_is_collected():
    def never(_frame):
        raise AssertionError

    lazy = MIXED.lazy().map_batches(never, schema=MIXED.schema)
    result = evaluate(lazy, "ap")
    assert result.collect_schema().names() == ["strategy", "query", "ap"]


CAPPED = """
import resource, sys
import polars as pl
from polars_graded import evaluate

file, way, megabytes = sys.argv[1], sys.argv[2], int(sys.argv[3])
names, scores = ["mu_ap", "ndcg@10", "ap", "reciprocal_rank"], ["a", "b", "c", "d"]
few = pl.read_parquet(file, n_rows=1000)
evaluate(few.lazy(), names, by=scores, ties="doc").collect()
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
limit = int(status["VmData"].split()[0]) * 1024 + megabytes * 1_000_000
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
rows = pl.scan_parquet(file)
options = {"by": scores, "ties": "doc", "consecutive": way == "consecutive"}
print(evaluate(rows, names, **options).collect()["mu_ap"].sum())
"""

ROWS_IN_FILE, QUERIES_IN_FILE = 5_000_000, 50_000


@pytest.fixture(scope="module")
def five_million(tmp_path_factory):
    """A file of rows by query."""
    number = pl.int_range(ROWS_IN_FILE, eager=True)
    random = number.hash(seed=1)
    rows = pl.DataFrame(
        {
            "query": number * 7919 % QUERIES_IN_FILE,
            "doc": pl.select(pl.format("document-{}", random.cast(pl.String))).to_series(),
            "grade": (random % 97 % 5).cast(pl.Int8),
            **{name: random / 2**64 * (n + 1) % 1 for n, name in enumerate("abcd")},
        }
    )
    folder = tmp_path_factory.mktemp("rows")
    options = {"compression": "lz4", "row_group_size": 100_000}
    rows.sort("query").write_parquet(folder / "sorted.parquet", **options)
    return folder


def in_little_memory(file, way, megabytes=950):
    """What a process printed that may take so much, or None if it did not come to its end.

    Where memory is refused to Polars in the middle of its work it may also wait for ever.
    """
    command = [sys.executable, "-c", CAPPED, str(file), str(way), str(megabytes)]
    environment = os.environ | {"POLARS_MAX_THREADS": "2"}
    try:
        run = subprocess.run(  # noqa: S603 of our own making
            command, env=environment, capture_output=True, text=True, check=False, timeout=60
        )
    except subprocess.TimeoutExpired:
        return None
    return float(run.stdout) if run.returncode == 0 and not run.stderr else None


@pytest.mark.simulation
@pytest.mark.skipif(
    not Path("/proc/self/status").exists(),
    reason="needs to see and limit what memory a process has",
)
def test_memory_that_is_too_little_for_all_rows_is_enough_for_batches(five_million):
    by_query = five_million / "sorted.parquet"
    assert in_little_memory(by_query, "at once") is None
    found, whole = in_little_memory(by_query, "consecutive"), in_little_memory(by_query, "", 5000)
    assert found == pytest.approx(whole, rel=1e-12)
