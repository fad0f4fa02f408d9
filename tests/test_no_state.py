"""A value depends on its input alone: nothing is shared between queries, and nothing is left."""

from __future__ import annotations

import gc
import multiprocessing
import random
import threading
import tracemalloc
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import cache
from itertools import chain

import polars as pl
import pytest
from helpers import simulated
from polars.testing import assert_frame_equal
from registry import ROWS

from polars_graded import evaluate, graded
from polars_graded._measuring import chunks, computing

MEASURES = [row for row in ROWS if not (row.columns or isinstance(row.options.get("gain"), dict))]
MEASURES = MEASURES[::4]
"""A quarter of the measures that need no further column and take any grade."""

NAMES = [f"d{number:02}" for number in range(14)]

TYPES = [
    (pl.Float64, pl.Float64, pl.String),
    (pl.Float64, pl.Float64, pl.Enum(NAMES[::-1])),
    (pl.Float32, pl.Decimal(12, 3), pl.Enum(NAMES)),
    (pl.Float64, pl.Decimal(12, 3), pl.Enum(NAMES)),
    (pl.UInt8, pl.UInt16, pl.Categorical),
    (pl.Decimal(10, 1), pl.Float32, pl.Enum(NAMES[::-1])),
]
"""Types of grade, score and document of each frame. Frames 0 and 1, 2 and 3, 4 and 5 have equal
values, but other orders of documents, and 0.7 is another number in Float32."""


@cache
def frame(seed: int) -> pl.DataFrame:
    """Return tied scores, and documents that break ties."""
    choice, (grade, score, doc) = random.Random(seed // 2), TYPES[seed]
    rows = [
        (query, place, choice.choice([0, 0.7, 0.7, 2, 3, None]), choice.choice([1, 2, 3, 3, None]))
        for query in range(30)
        for place in choice.sample(range(len(NAMES)), choice.randint(1, len(NAMES)))
    ]
    table = pl.DataFrame(rows, ["query", "doc", "grade", "score"], orient="row")
    return table.select(
        "query",
        pl.col("grade").cast(grade),
        pl.col("score").cast(score),
        doc=pl.lit(pl.Series(NAMES)).gather("doc").cast(doc),
    )


def expressions() -> list[pl.Expr]:
    """All measures of one ranking, a struct of some, and thresholds that doubles round."""
    g = graded("grade").ranked_by("score", "doc")
    return [
        *(row.of(g) for row in MEASURES),
        g.measures("mu_ap", "ndcng@10", "err"),
        g.precision(3, threshold=0.7),
        g.ap(threshold=0.7),
    ]


def by_agg(rows: pl.DataFrame, exprs: list[pl.Expr]) -> pl.DataFrame:
    return rows.group_by("query", maintain_order=True).agg(exprs)


def by_over(rows: pl.DataFrame, exprs: list[pl.Expr]) -> pl.DataFrame:
    over = rows.select("query", *(expr.over("query", mapping_strategy="join") for expr in exprs))
    return over.unique("query", keep="first", maintain_order=True)


def of_lazy(rows: pl.DataFrame, exprs: list[pl.Expr]) -> pl.LazyFrame:
    return rows.lazy().group_by("query", maintain_order=True).agg(exprs)


def beside_another(rows: pl.DataFrame, exprs: list[pl.Expr]) -> pl.DataFrame:
    other = rows.with_columns(pl.col("grade").reverse())
    return pl.collect_all([of_lazy(other, exprs), of_lazy(rows, exprs)])[1]


def in_threads(rows: pl.DataFrame, exprs: list[pl.Expr]) -> pl.DataFrame:
    others = [frame(seed) for seed in range(3)]
    with ThreadPoolExecutor(4) as pool:
        return [*pool.map(by_agg, [*others, rows], [exprs] * 4)][-1]


CONTEXTS = {
    "agg": by_agg,
    "over": by_over,
    "lazy": lambda rows, exprs: of_lazy(rows, exprs).collect(),
    "streaming": lambda rows, exprs: of_lazy(rows, exprs).collect(engine="streaming"),
    "collect_all": beside_another,
    "threads": in_threads,
    "one after the other": lambda rows, exprs: pl.concat(
        [rows.select("query").unique(maintain_order=True)]
        + [by_agg(rows, [expr]).drop("query") for expr in exprs],
        how="horizontal",
    ),
}


def values_of(seeds: range) -> list[pl.DataFrame]:
    """The values of frames where nothing ran before that has one of their values."""
    return [by_agg(frame(seed), expressions()) for seed in seeds]


@pytest.fixture(scope="module")
def fresh() -> list[pl.DataFrame]:
    """The values of each frame: one of each pair in a new process, the other in a second."""
    context = multiprocessing.get_context("spawn")
    seeds = [range(first, len(TYPES), 2) for first in (0, 1)]
    with ProcessPoolExecutor(2, mp_context=context, max_tasks_per_child=1) as pool:
        return [*chain.from_iterable(zip(*pool.map(values_of, seeds), strict=True))]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, *simulated(1, 2)])
def test_values_are_those_of_a_fresh_process_whatever_ran_before(fresh, seed):
    choice, exprs, number = random.Random(seed), expressions(), 0
    for _ in range(12):
        # The same rows in other types come one after the other, with other measures.
        number = number ^ 1 if choice.random() < 0.7 else choice.randrange(len(TYPES))
        asked = choice.sample(range(len(exprs)), choice.choice([1, 2, 3, 20]))
        mine = exprs if choice.random() < 0.9 else expressions()  # the same objects, or others
        context = CONTEXTS[choice.choice([*CONTEXTS])]
        found = context(frame(number), [mine[place] for place in asked])
        expected = fresh[number].select("query", *(fresh[number].columns[1 + n] for n in asked))
        assert_frame_equal(found, expected, check_exact=True)


def test_the_order_of_an_enum_is_not_that_of_a_text():
    g = graded("grade").ranked_by("score", "doc")
    ap, first = g.ap(), g.precision(1)
    texts = pl.DataFrame({"query": ["q", "q"], "grade": [1, 0], "score": [1.0, 1.0]})
    texts = texts.with_columns(doc=pl.Series(["x", "y"]))
    enums = texts.with_columns(pl.col("doc").cast(pl.Enum(["y", "x"])))
    assert by_agg(enums, [ap])["ap"].to_list() == [1.0]
    for _ in range(2):
        assert by_agg(texts, [first])["precision@1"].to_list() == [0.0]
        assert by_agg(enums, [first])["precision@1"].to_list() == [1.0]


def our_threads() -> int:
    """The number of threads that Python started; those of Polars are there for good."""
    dummy = threading._DummyThread
    return sum(not isinstance(each, dummy) for each in threading.enumerate())


LARGE = 2 * chunks.CHUNK_ROWS + 1


@pytest.mark.slow
@pytest.mark.parametrize("way", ["agg", "streaming", "evaluate"])
def test_no_thread_no_timer_and_no_data_is_left_after_a_query(way):
    """With more rows than a chunk, in a list and in all."""
    rows = pl.select(
        query=pl.int_range(LARGE) // 100 * pl.int_range(LARGE).gt(chunks.CHUNK_ROWS),
        grade=pl.int_range(LARGE) % 4,
        score=pl.int_range(LARGE) % 1009 / 7,
    )
    g = graded("grade").ranked_by("score")
    exprs = [g.mu_ap(), g.ndcg(10)]
    ways = CONTEXTS | {"evaluate": lambda rows, _: evaluate(rows, "mu_ap", "ndcg@10", ties="order")}
    ways[way](rows.tail(1000), exprs)  # imports what it needs
    before = our_threads()
    tracemalloc.start()
    try:
        values = ways[way](rows, exprs)
        assert tracemalloc.get_traced_memory()[1] > 8 * LARGE  # arrays of NumPy's are counted
        gc.collect()
        left = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert values.height > 1
    assert left < 8 * LARGE / 20
    assert our_threads() <= before


@pytest.mark.parametrize("way", ["agg", "over", "lazy", "streaming", "evaluate"])
@pytest.mark.parametrize("error", [MemoryError, ZeroDivisionError])
def test_what_goes_wrong_in_a_kernel_reaches_the_user(monkeypatch, error, way):
    def broken(*_args, **_options):
        raise error

    monkeypatch.setattr(computing.Queries, "ranked_by", broken)
    ways = CONTEXTS | {"evaluate": lambda rows, _: evaluate(rows, "ap", ties="doc")}
    with pytest.raises(error):
        ways[way](frame(0), [graded("grade").ranked_by("score", "doc").ap()])
