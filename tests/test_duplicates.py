"""Documents that a ranking has twice, or that have two grades: refused, with the count."""

from __future__ import annotations

import random
import re

import numpy as np
import polars as pl
import pytest
from helpers import COLLECTED, WAYS
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from polars_graded import agreement, evaluate
from polars_graded._frames import rows as frame_rows
from polars_graded._measuring import chunks

REFUSED = (
    "`frame` must have each document of '{}' once per ranking, got {} rows? too many in {} of "
)


def log(queries: int = 2999, doc: str = "doc", seed: int = 0) -> pl.DataFrame:
    """Rows of a shop, each product once in a query, in any order."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 20, queries)
    n = int(sizes.sum())
    return pl.DataFrame(
        {
            "query": np.repeat(np.arange(queries), sizes),
            doc: [f"p{place}" for size in sizes for place in range(size)],
            "grade": rng.integers(0, 4, n),
            "score": rng.normal(size=n),
            "model": rng.normal(size=n),
        }
    ).sample(fraction=1, shuffle=True, seed=seed)


def doubled(frame: pl.DataFrame, queries: int, seed: int = 0) -> tuple[pl.DataFrame, int]:
    """The same with the rows of some queries once more, and how many these are."""
    again = frame.filter(pl.col("query") < queries)
    both = pl.concat([frame, again.with_columns(score=pl.col("score") + 1)])
    return both.sample(fraction=1, shuffle=True, seed=seed), again.height


WAY = pytest.mark.parametrize("way", WAYS)


@WAY
@pytest.mark.parametrize("ties", [None, "doc"])
def test_a_document_twice_is_refused_with_the_count_and_examples(way, ties):
    frame, count = doubled(log(), 839)
    with pytest.raises(
        COLLECTED, match=REFUSED.format("doc", count, 839) + "299[89] queries: "
    ) as e:
        WAYS[way](frame, by=["score", "model"], ties=ties)
    first = re.search(r"queries: \((\d+), '(p\d+)'\)", str(e.value))
    query, doc = int(first[1]), first[2]
    assert frame.filter(query=query, doc=doc).height == 2
    as_rows = WAYS[way](frame, by=["score", "model"], ties=ties, doc=None)
    named = frame.rename({"doc": "name"})
    ties = ties and "name"
    if ties is None:  # no argument and no name of a column tells documents apart
        assert_frame_equal(WAYS[way](named, by=["score", "model"]), as_rows)
    for doc in {"name"} if ties is None else {"name", "default"}:
        with pytest.raises(COLLECTED, match=REFUSED.format("name", count, 839)):
            WAYS[way](named, by=["score", "model"], ties=ties, doc=doc)


def test_an_id_with_one_value_per_query_identifies_no_documents():
    text = pl.format("q{}", "query")
    frame = log(50, "title").select("grade", "score", "title", id=pl.col("query") * 7, text=text)
    options = {"query": "text", "ties": "order"}
    values = evaluate(frame, "ap", **options)
    assert_frame_equal(values, evaluate(frame.drop("id"), "ap", **options))
    with pytest.raises(ValueError, match=r"(?s)each document of 'id' once per ranking.*if 'id'"):
        evaluate(frame, "ap", **options, doc="id")


def shop(seed: int = 0) -> pl.DataFrame:
    """Rankings for each market and device, with the day and the clicks of each row."""
    draw = np.random.default_rng(seed)
    frames = []
    for day, (market, device) in enumerate([("de", "phone"), ("de", "web"), ("fr", "phone")], 1):
        frame = log(100, "product_id", seed)
        n = frame.height
        frames.append(
            frame.with_columns(
                market=pl.lit(market),
                device=pl.lit(device),
                day=pl.lit(f"2024-05-0{day}"),
                clicks=pl.Series(draw.integers(0, 10**6, n)),
                model=pl.Series(draw.normal(size=n)),
                score=pl.Series(draw.normal(size=n)),
            )
        )
    return pl.concat(frames).sample(fraction=1, shuffle=True, seed=seed)


def test_rankings_that_a_further_column_separates_are_not_to_be_dropped():
    """Dropping rows would leave a third of them, and might change the winner."""
    frame = shop()
    with pytest.raises(
        ValueError, match=r"once per ranking.*\n\nHint: query=\['query', '...'\]"
    ) as e:
        evaluate(frame, "ndcg@10", by=["score", "model"])
    assert "unique" not in str(e.value)
    columns = ["query", "market", "device"]
    values = evaluate(frame, "ndcg@10", by=["score", "model"], query=columns)
    parts = [
        evaluate(part, "ndcg@10", by=["score", "model"])["ndcg@10"]
        for _, part in frame.partition_by("market", "device", as_dict=True).items()
    ]
    assert values["ndcg@10"].sum() == pytest.approx(sum(part.sum() for part in parts))


@WAY
def test_different_grades_for_stacked_strategies_are_refused(way):
    frame = log(200)
    stacked = pl.concat(
        frame.select("query", "doc", "grade", score=name, run=pl.lit(name))
        for name in ("score", "model")
    )
    other = stacked.with_columns(
        pl.when((pl.col("run") == "model") & (pl.col("doc") == "p1") & (pl.col("query") < 7))
        .then(pl.col("grade") + 1)
        .otherwise("grade")
        .alias("grade")
    )
    WAYS[way](stacked, strategy="run")
    sentence = "must have one 'grade' for a document of a query, got several for 7 of "
    with pytest.raises(COLLECTED, match=sentence):
        WAYS[way](other, strategy="run")
    with pytest.warns(UserWarning, match="relevant documents of a query differ"):
        WAYS[way](other, strategy="run", doc=None)


MESSAGES = {
    "'a', 'b', 'c', ..., got 'z'": {"descending": {"z": False}},
    "got ranks in 'b', 'd9', but not in 'a', 'c', 'd10'\n": {"descending": False},
    "of strategy 'b', which looks like ranks": {},
    "(0, 0, [1, 2]), (0, 1, [1, 2]), (0, 2, [1, 2]), ...\n": {"grade": "other"},
    "got 100 rows too many in 20 of 20 queries: (0, 0), (0, 1), (0, 2), ...\n": {"doc": "five"},
}


@pytest.mark.parametrize("end", MESSAGES)
def test_errors_about_stacked_strategies_name_the_same_ones_in_each_run(end):
    keys = pl.DataFrame({"query": range(20)}).join(pl.DataFrame({"doc": range(10)}), how="cross")
    stacked = pl.concat(
        keys.select(
            pl.lit(name).alias("run"),
            "query",
            "doc",
            (pl.col("doc") // (2 if name == "a" else 1)).alias("five"),
            grade=pl.col("doc") % 3,
            other=pl.lit(1 if name == "a" else 2),
            score=pl.col("doc") + (1.0 if name in ("b", "d9") else 0.5),
        )
        for name in ("d10", "c", "b", "a", "d9")
    )
    with pytest.raises(ValueError, match=re.escape(end)):
        evaluate(
            stacked.sample(fraction=1, shuffle=True, seed=1), "ap", strategy="run", **MESSAGES[end]
        )


# More rows than a chunk.


@pytest.fixture
def long(monkeypatch) -> pl.DataFrame:
    monkeypatch.setattr(chunks, "CHUNK_ROWS", chunks.CHUNK_ROWS // 100)
    monkeypatch.setattr(frame_rows, "BATCH_ROWS", frame_rows.BATCH_ROWS // 10)
    monkeypatch.setattr(frame_rows, "FIRST_ROWS", frame_rows.FIRST_ROWS // 10)
    rows = 60_000
    rng = np.random.default_rng(3)
    return pl.DataFrame(
        {
            "query": np.arange(rows) // 100,
            "doc": np.arange(rows) % 100,
            "grade": rng.integers(0, 3, rows),
            "score": rng.normal(size=rows),
        }
    )


@pytest.mark.parametrize(("shuffled", "lazily"), [(False, True), (True, False)])
def test_one_document_twice_is_found_in_several_chunks(long, shuffled, lazily):
    number = 59_007 if lazily else 7
    doc = pl.when(pl.int_range(pl.len()) == number).then(8).otherwise("doc")
    frame = long.with_columns(doc=doc)
    if shuffled:
        frame = frame.sample(fraction=1, shuffle=True, seed=1)
    with pytest.raises(COLLECTED, match=REFUSED.format("doc", 1, 1) + "600 queries"):
        evaluate(frame.lazy() if lazily else frame, "precision@1").lazy().collect()


@pytest.mark.parametrize("retrieved_share", [1.0, 0.5])
def test_one_document_with_two_grades_is_found_in_several_chunks(long, retrieved_share):
    """Strategies have the same judgments, or each those of the documents that it retrieved."""
    other = long.with_columns(
        grade=pl.when(pl.int_range(pl.len()) == 59_007).then(pl.col("grade") + 1).otherwise("grade")
    )
    frame = pl.concat(
        [long.with_columns(strategy=pl.lit("a")), other.with_columns(strategy=pl.lit("b"))]
    )
    chosen = pl.col("doc") < 100 * retrieved_share
    frame = frame.filter(chosen | (pl.col("strategy") == "a"))
    assert frame.filter(strategy="b", query=590, doc=7).height == 1
    with pytest.raises(COLLECTED, match="got several for 1 of 60000 documents"):
        evaluate(frame, "precision@1", strategy="strategy")


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from(["doc", "Artikel", "sku"]))
def test_no_duplicate_of_a_random_log_passes(seed, grouped, name):
    rng = random.Random(seed)
    keys = ["query", "country"] if rng.random() < 0.5 else ["query"]
    rows = [
        (query, country, doc, rng.randint(0, 2), rng.random())
        for query in range(rng.randint(1, 6))
        for country in ("de", "fr")
        for doc in rng.sample(range(9), rng.randint(1, 9))
    ]
    if len(keys) == 1:
        rows = [row for row in rows if row[1] == "de"]
    frame = pl.DataFrame(rows, schema=["query", "country", name, "grade", "score"], orient="row")
    options = {"doc": name, "query": keys, "ties": "order"}
    evaluate(frame, "precision@1", **options)
    again = frame.sample(1, seed=seed).with_columns(score=rng.choice([0.5, None]))
    more = pl.concat([frame, again])
    more = more.sort("query") if grouped else more.sample(fraction=1, shuffle=True, seed=seed)
    with pytest.raises(ValueError, match=REFUSED.format(name, 1, 1)):
        evaluate(more, "precision@1", **options)


@WAY
def test_rows_without_a_query_are_told_as_the_cause(way):
    """A left join without matches, for example, makes all queries null."""
    frame = log(5).with_columns(query=pl.when(pl.col("query") > 1).then("query"))
    with pytest.raises(COLLECTED, match=r"rows too many in 1 of \d queries: ") as caught:
        WAYS[way](frame)
    repeated = frame.filter(pl.struct("query", "doc").is_duplicated()).height
    assert f"; 'query' is null in {repeated} of these rows" in str(caught.value)


def test_judgments_without_a_query_are_told_as_the_cause():
    frame = log(5).with_columns(query=pl.when(pl.col("query") > 1).then("query"), people="grade")
    with pytest.raises(ValueError, match=r"; 'query' is null in \d+ of these rows"):
        agreement(frame, "grade", "people")
