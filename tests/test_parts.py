"""A frame that exceeds memory: parts of whole queries, and the same values whatever the parts."""

from __future__ import annotations

import builtins
import logging
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import polars.selectors as cs
import pytest
from helpers import COLLECTED, ODD_QUERIES, assert_same_columns, frame_of, needed, random_queries
from polars.testing import assert_frame_equal
from registry import FURTHER_COLUMNS, ROWS

from polars_graded import evaluate, join_judgments
from polars_graded._frames import measuring, memory, parts, progress

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of queries that are odd

NAMED = [row.name for row in ROWS]
ORDERS_OF_ROWS = {"ties": "order"}
WAYS = [1, 3, "scratch", "sorted"]

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
def small_parts(monkeypatch):
    """Batches of few rows, and memory for few of them."""
    monkeypatch.setattr(parts, "BATCH_ROWS", 200)
    monkeypatch.setattr(parts, "BUCKETS", 4)
    monkeypatch.setattr(parts, "ENGINE_BYTES", 0)
    monkeypatch.setattr(parts, "find_free_memory", lambda: 180_000)
    assert parts.estimate_part_rows(QUERIES) < QUERIES.height / 2


def cut(frame, keys, way):
    return list(parts.Split(way, tuple(keys), None).divide(frame.lazy()))


# Parts


@pytest.mark.parametrize("way", WAYS)
def test_every_row_is_in_one_part_with_all_others_of_its_query_in_their_order(way):
    frame = (QUERIES if way == "sorted" else MIXED).with_row_index()
    found = cut(frame, ["query"], way)
    if way != 1:
        assert len(found) >= 3
    queries = pl.concat(part.select("query").unique() for part in found)
    assert queries.height == queries.n_unique() == QUERIES["query"].n_unique()
    together = pl.concat(found)
    assert_frame_equal(together.sort("index"), frame)
    assert together.group_by("query").agg(pl.col("index").diff().min())["index"].min() > 0


@pytest.mark.parametrize("way", WAYS)
def test_an_empty_frame_has_an_empty_part(way):
    (part,) = {found.height: found for found in cut(QUERIES.head(0), ["query"], way)}.values()
    assert_frame_equal(part, QUERIES.head(0))


def test_rows_that_fit_are_one_part_without_a_scratch_folder(monkeypatch):
    monkeypatch.setattr(parts, "find_free_memory", lambda: 100_000_000)
    monkeypatch.setattr(parts.tempfile, "TemporaryDirectory", None)
    (part,) = cut(MIXED, ["query"], "scratch")
    assert_frame_equal(part, MIXED)


def test_a_query_of_many_batches_is_in_one_part():
    frame = pl.DataFrame({"query": [None] * 120 + [1.5] * 500 + [float("nan")] * 70})
    for way in WAYS:
        found = [part for part in cut(frame, ["query"], way) if part.height]
        heights = {n for part in found for n in part.group_by("query").len()["len"]}
        assert heights == {120, 500, 70}


def test_a_scratch_folder_is_gone_when_done_and_when_left(tmp_path, monkeypatch):
    monkeypatch.setattr(parts.tempfile, "tempdir", str(tmp_path))
    found = parts.read_through_scratch(MIXED.lazy(), ["query"])
    next(found)
    assert list(tmp_path.iterdir())
    found.close()
    assert not list(tmp_path.iterdir())
    list(parts.read_through_scratch(MIXED.lazy(), ["query"]))
    assert not list(tmp_path.iterdir())


# What is chosen


def chosen(frame, told=None, strategy=None):
    keys = ["query"] if strategy is None else [strategy, "query"]
    return parts.choose_split(frame, ["query"], keys, told).way


def test_rows_stream_where_the_plan_has_sorted_them():
    lazy = QUERIES.lazy()
    assert chosen(lazy.set_sorted("query")) == "sorted"
    assert chosen(lazy.sort("query")) == "sorted"
    assert chosen(lazy.sort("query", "score").filter(pl.col("grade") > 0)) == "sorted"
    assert chosen(lazy.sort("score")) != "sorted"
    stacked = STACKED.rename({"run": "strategy"}).lazy()
    found = parts.choose_split(
        stacked.sort("strategy", "query"), ["query"], ["strategy", "query"], None
    )
    assert (found.way, found.keys) == ("sorted", ("strategy", "query"))
    found = parts.choose_split(
        stacked.sort("query", "strategy"), ["query"], ["strategy", "query"], None
    )
    assert (found.way, found.keys) == ("sorted", ("query",))


@pytest.mark.parametrize("graph", [TypeError("no keyword"), None, "", 'label="another plan"'])
def test_values_are_the_same_where_polars_tells_no_plan(monkeypatch, graph):
    def show_graph(*_, **__):
        if isinstance(graph, TypeError):
            raise graph
        return graph

    lazy = QUERIES.lazy().sort("query")
    expected = evaluate(lazy, "ap", **ORDERS_OF_ROWS).collect()
    monkeypatch.setattr(pl.LazyFrame, "show_graph", show_graph)
    assert chosen(lazy) == "scratch"
    assert_frame_equal(evaluate(lazy, "ap", **ORDERS_OF_ROWS).collect(), expected, check_exact=True)


def test_what_fits_is_measured_at_once_and_what_does_not_in_passes(tmp_path, monkeypatch):
    QUERIES.write_parquet(tmp_path / "rows.parquet")
    scan = pl.scan_parquet(tmp_path / "rows.parquet")
    bytes_a_row = QUERIES.head(parts.SAMPLE_ROWS).estimated_size() / parts.SAMPLE_ROWS
    needed = QUERIES.height * (bytes_a_row + parts.WORKING_BYTES) / parts.MAX_MEMORY_SHARE
    for available, way in ((1.1 * needed, 1), (needed / 4.5, 5), (needed / 1000, "scratch")):
        monkeypatch.setattr(parts, "find_free_memory", lambda available=available: available)
        assert chosen(scan) == way
        assert chosen(scan.filter(pl.col("query") != "a")) == way


def test_what_is_costly_to_read_again_goes_to_scratch(tmp_path):
    QUERIES.select(~cs.nested()).write_csv(tmp_path / "rows.csv")
    joined = QUERIES.lazy().join(QUERIES.lazy().select("query").unique(), on="query")
    assert chosen(joined) == "scratch"
    assert chosen(pl.scan_csv(tmp_path / "rows.csv")) == "scratch"


def test_what_is_told_is_done():
    for way in WAYS:
        assert chosen(MIXED.lazy(), way) == way


@pytest.mark.parametrize(
    ("way", "exception", "sentence"),
    [
        (0, ValueError, "`parts` must be at least 1, got 0"),
        (2.5, TypeError, "`parts` must be a whole number, got 2.5"),
        ("hash", ValueError, "'sorted', 'scratch', a number of passes, got 'hash'"),
    ],
)
def test_only_a_way_is_told(way, exception, sentence):
    with pytest.raises(exception, match=sentence):
        evaluate(QUERIES, "ap", parts=way)


def test_it_says_what_it_chose(caplog):
    caplog.set_level(logging.INFO, "polars_graded")
    for frame in (QUERIES.lazy().sort("query"), MIXED.lazy()):
        evaluate(frame, "ap", **ORDERS_OF_ROWS).collect()
    first, second = (record.message for record in caplog.records)
    assert first == "rows are streamed, sorted by 'query'"
    assert "passes over the rows, by hash of 'query'" in second


# Values


@pytest.mark.slow
def test_every_measure_has_the_same_values_in_parts():
    at_once, *in_parts = (
        evaluate(QUERIES.lazy(), NAMED, parts=way, **FURTHER_COLUMNS, **ORDERS_OF_ROWS).collect()
        for way in WAYS
    )
    for values in in_parts:
        assert_same_columns(values, at_once)


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


@pytest.mark.parametrize("way", [None, *WAYS])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_frame_has_the_same_values_in_parts(shape, way):
    frame, options = SHAPES[shape]
    options = ORDERS_OF_ROWS | options
    if way == "sorted":
        frame = frame.sort(options.get("query", "query"), maintain_order=True)
    expected = evaluate(frame, SOME, **options)
    found = evaluate(frame.lazy(), SOME, parts=way, **options)
    assert found.collect_schema() == expected.schema
    assert_frame_equal(found.collect(engine="streaming"), expected, check_exact=True)
    assert_frame_equal(evaluate(frame, SOME, parts=way, **options), expected, check_exact=True)


def test_stacked_strategies_stream_one_after_the_other():
    frame = STACKED.sort("run", "query", maintain_order=True)
    lazy = frame.lazy().set_sorted("run", "query")
    options = {"strategy": "run", **ORDERS_OF_ROWS}
    assert_frame_equal(evaluate(lazy, "ap", **options).collect(), evaluate(frame, "ap", **options))


def test_a_judged_frame_has_the_same_values_in_parts():
    run = STACKED.drop("grade").drop_nulls("score").unique(["run", "query", "doc"])
    judgments = QUERIES.select("query", "doc", "grade").drop_nulls()
    run = run.join(judgments, on="query", how="semi").filter(pl.col("query") != "q20")
    judged = join_judgments(run, judgments, strategy="run")
    expected = evaluate(judged, "ap", "ndcg@10", strategy="run", ties="doc")
    assert expected.filter(pl.col("query") == "q20").height == 2
    for way in (None, 3, "scratch"):
        found = evaluate(judged.lazy(), "ap", "ndcg@10", strategy="run", ties="doc", parts=way)
        assert_frame_equal(found.collect(), expected)


def test_what_is_wrong_is_counted_over_all_parts():
    frame = MIXED.with_columns(
        score=pl.when(pl.col("query").is_in(["q20", "q120", "q290"]))
        .then(float("nan"))
        .otherwise("score")
    )
    n = frame["query"].n_unique()
    for way in WAYS[:-1]:
        with pytest.raises(COLLECTED, match=f"score 'score' must be finite.* 3 of {n} queries"):
            evaluate(frame.lazy(), "ap", parts=way, **ORDERS_OF_ROWS).collect()


def test_rows_that_are_not_sorted_as_was_said_are_refused():
    lazy = evaluate(MIXED.lazy().set_sorted("query"), "ap", **ORDERS_OF_ROWS)
    sentence = "declared as sorted by 'query' must be consecutive .* in several places: 'q"
    with pytest.raises(COLLECTED, match=sentence):
        lazy.collect()


def test_a_query_in_two_places_that_are_far_apart_is_refused():
    twice = pl.concat([QUERIES, QUERIES.filter(pl.col("query") == "q0")])
    lazy = evaluate(twice.lazy(), "ap", parts="sorted", **ORDERS_OF_ROWS)
    with pytest.raises(COLLECTED, match=r"got 1 of \d+ queries in several places: .*'q0'"):
        lazy.collect()


# Laziness


@pytest.fixture
def measured(monkeypatch):
    """What is measured, each time: names of measures, and how many queries."""
    seen, measure = [], measuring.measure_eagerly

    def spy(requests, frame, *args, **options):
        result = measure(requests, frame, *args, **options)
        if isinstance(frame, pl.LazyFrame):
            seen.append((list(requests[0].measures), result.height))
        return result

    monkeypatch.setattr(measuring, "measure_eagerly", spy)
    return seen


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_only_columns_and_queries_that_are_wanted_are_measured(measured, engine):
    lazy = evaluate(MIXED.lazy(), "ap", "ndcg@10", "err", **ORDERS_OF_ROWS)
    whole = evaluate(MIXED, "ap", "ndcg@10", "err", **ORDERS_OF_ROWS)
    cases = [
        (lambda f: f.select("err", "query"), (["err"], whole.height)),
        (lambda f: f.filter(pl.col("query") == "q20"), (["ap", "ndcg@10", "err"], 1)),
        (lambda f: f.filter(pl.col("ap") > 0.5).select("query"), (["ap"], whole.height)),
        (lambda f: f.filter(pl.col("strategy") == "score"), (["ap", "ndcg@10", "err"], 313)),
        (lambda f: f.select("strategy"), (["ap"], whole.height)),
        (lambda f: f.head(3), (["ap", "ndcg@10", "err"], whole.height)),
        (lambda f: f.tail(3).filter(query="q20"), (["ap", "ndcg@10", "err"], whole.height)),
        (lambda f: f.head(40).filter(query="q20"), (["ap", "ndcg@10", "err"], whole.height)),
        (lambda f: f.filter(query="q20").head(40), (["ap", "ndcg@10", "err"], 1)),
    ]
    for chain, expected in cases:
        assert_frame_equal(chain(lazy).collect(engine=engine), chain(whole))
        assert measured.pop() == expected


def test_values_are_written_as_they_come(tmp_path):
    lazy = evaluate(MIXED.lazy(), "ap", parts=3, **ORDERS_OF_ROWS)
    lazy.filter(pl.col("ap") > 0).sink_parquet(tmp_path / "values.parquet")
    expected = evaluate(MIXED, "ap", **ORDERS_OF_ROWS).filter(pl.col("ap") > 0)
    assert_frame_equal(pl.read_parquet(tmp_path / "values.parquet"), expected)


def test_nothing_is_read_before_it_is_collected():
    def never(_frame):
        raise AssertionError

    lazy = MIXED.lazy().map_batches(never, schema=MIXED.schema)
    result = evaluate(lazy, "ap")
    assert result.collect_schema().names() == ["strategy", "query", "ap"]


# The bar


class Terminal:
    """What is written where somebody looks, and what tqdm asks of it."""

    def __init__(self):
        self.written = ""

    def isatty(self):
        return True

    def write(self, text):
        self.written += text

    def flush(self):
        pass


@pytest.fixture
def terminal():
    needed("tqdm", "tqdm")
    return Terminal()


def drawn(terminal, **options):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stderr", terminal)
        evaluate(MIXED.lazy(), "ap", parts=3, **ORDERS_OF_ROWS, **options).collect()
    return terminal.written


def test_a_bar_says_how_rows_are_cut_where_it_takes_long(terminal, monkeypatch):
    assert drawn(terminal) == ""
    monkeypatch.setattr(progress, "SECONDS", 0)
    assert "3 passes over the rows, by hash of 'query'" in drawn(terminal)
    assert "100%" in terminal.written


def test_no_bar_where_none_is_wanted_or_nobody_looks(terminal, monkeypatch):
    monkeypatch.setattr(progress, "SECONDS", 0)
    assert drawn(terminal, progress=False) == ""
    monkeypatch.setattr(terminal, "isatty", lambda: False)
    assert drawn(terminal) == ""


def test_no_bar_without_tqdm(terminal, monkeypatch):
    monkeypatch.setattr(progress, "SECONDS", 0)
    load = builtins.__import__

    def without(name, *args, **options):
        if name.startswith("tqdm"):
            raise ImportError
        return load(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    assert drawn(terminal) == ""


# Memory


def test_a_container_leaves_what_it_does_not_use(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "CGROUPS", tmp_path)
    free = memory.find_free_memory()
    assert free > 1_000_000
    (tmp_path / "memory.max").write_text("1500000\n")
    (tmp_path / "memory.current").write_text("500000\n")
    assert memory.find_free_memory() == 1_000_000
    (tmp_path / "memory.current").write_text("2000000\n")
    assert memory.find_free_memory() == 0
    (tmp_path / "memory.max").write_text("max\n")
    assert memory.find_free_memory() > 1_000_000


CAPPED = """
import resource, sys
import polars as pl
from polars_graded import evaluate
from polars_graded._frames.memory import read_process_entry

file, way, megabytes = sys.argv[1], sys.argv[2], int(sys.argv[3])
names, scores = ["mu_ap", "ndcg@10", "ap", "reciprocal_rank"], ["a", "b", "c", "d"]
few = pl.read_parquet(file, n_rows=1000)
evaluate(few.lazy(), names, by=scores, ties="doc").collect()
limit = read_process_entry("/proc/self/status", "VmData") + megabytes * 1_000_000
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
rows = pl.scan_parquet(file)
if way == "set_sorted":
    rows, way = rows.set_sorted("query"), None
way = {"chosen": None, "1": 1}.get(way, way)
print(evaluate(rows, names, by=scores, ties="doc", parts=way).collect()["mu_ap"].sum())
"""

ROWS_IN_FILE, QUERIES_IN_FILE = 2_000_000, 20_000


@pytest.fixture(scope="module")
def two_million(tmp_path_factory):
    """A file of rows whose queries are mixed, and one of the same rows by query."""
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
    rows.write_parquet(folder / "mixed.parquet", **options)
    rows.sort("query").write_parquet(folder / "sorted.parquet", **options)
    return folder


def in_little_memory(file, way, megabytes=560):
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


@pytest.mark.slow
@pytest.mark.skipif(
    not Path("/proc/self/status").exists(),
    reason="needs to see and limit what memory a process has",
)
def test_memory_that_is_too_little_for_all_rows_is_enough_for_parts(two_million):
    mixed, by_query = two_million / "mixed.parquet", two_million / "sorted.parquet"
    assert in_little_memory(mixed, 1) is None
    found = [in_little_memory(mixed, "chosen"), in_little_memory(by_query, "set_sorted")]
    whole = in_little_memory(mixed, 1, 5000)
    assert found == pytest.approx([whole, whole], rel=1e-12)
