"""Documents that a ranking has twice, or that have two grades: refused, with the count."""

from __future__ import annotations

import random
import re
import warnings

import numpy as np
import polars as pl
import pytest
from helpers import COLLECTED
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from polars_graded import (
    DataWarning,
    evaluate,
    join_judgments,
    overview,
    read_letor,
    read_qrels,
    read_run,
)
from polars_graded._frames import duplicates
from polars_graded._frames.duplicates import MAX_CHECKED_ROWS
from polars_graded._frames.engines.arrow import Worker, build_result_schema
from polars_graded._frames.request import Request

REFUSED = "`frame` must have each document of '{}' once per ranking, got {} rows too many in {} of "


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


WAYS = {
    "eager": lambda frame, **options: evaluate(frame, "ndcg@10", **options),
    "lazy": lambda frame, **options: evaluate(frame.lazy(), "ndcg@10", **options).collect(),
    "streaming": lambda frame, **options: evaluate(
        frame.sort("query", maintain_order=True).lazy(), "ndcg@10", consecutive=True, **options
    ).collect(engine="streaming"),
}
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


@WAY
def test_a_frame_without_duplicates_has_its_values(way):
    frame = log(300)
    assert_frame_equal(WAYS[way](frame), WAYS[way](frame, doc=None))
    unknown = frame.with_columns(pl.when(pl.col("doc") != "p1").then("doc").alias("doc"))
    more = pl.concat([unknown, unknown.filter(pl.col("doc").is_null())])
    WAYS[way](more)  # null names no document
    ignored = frame.with_columns(grade=None, score=None, model=None).cast(dict(frame.schema))
    values = WAYS[way](pl.concat([frame, ignored]))  # rows that count for nothing
    assert_frame_equal(values, WAYS[way](frame))


@pytest.mark.parametrize(
    "name",
    ["product_id", "docno", "productId", "item", "URL", "corpus-id", "sku", "_id", "node_id", "id"],
)
def test_a_column_with_a_name_of_documents_is_checked_unless_told_otherwise(name):
    frame, count = doubled(log(100, name), 20)
    frame = frame.with_columns(product_price=1.0, item_category=pl.lit("x"), doc_length=3)
    with pytest.raises(ValueError, match=REFUSED.format(name, count, 20)):
        evaluate(frame, "ap")
    evaluate(frame, "ap", doc=None)
    evaluate(frame.drop(name), "ap")


def test_an_id_with_one_value_per_query_identifies_no_documents():
    text = pl.format("q{}", "query")
    frame = log(50, "title").select("grade", "score", "title", id=pl.col("query") * 7, text=text)
    options = {"query": "text", "ties": "order"}
    values = evaluate(frame, "ap", **options)
    assert_frame_equal(values, evaluate(frame.drop("id"), "ap", **options))
    with pytest.raises(
        ValueError, match=r"(?s)each document of 'id' once per ranking.*Hint: if 'id'"
    ):
        evaluate(frame, "ap", **options, doc="id")


@pytest.mark.parametrize("way", [evaluate, overview])
def test_rows_equal_in_all_columns_are_reported_without_a_column_of_documents(way):
    measures = ["ndcg@10"] if way is evaluate else []
    frame = log(200, doc="title")
    twice = frame.filter(pl.col("query") < 40)
    both = pl.concat([frame, twice]).sample(fraction=1, shuffle=True, seed=1)
    message = rf"{twice.height} of {both.height} rows are equal to an earlier row in all columns"
    with pytest.warns(DataWarning.duplicates, match=message) as caught:
        way(both, *measures)
    hint = str(caught[0].message).partition("Hint: ")[2].partition(" drops")[0]
    values = way(eval(f"both{hint}"), *measures)  # noqa: S307
    assert_frame_equal(values, way(frame, *measures))
    with warnings.catch_warnings(action="error"):
        way(both, *measures, doc=None)
        way(frame, *measures)
        # Without further columns, equal rows may be different documents.
        way(both.select("query", "grade", score=pl.lit(1)), *measures, ties="order")


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


def test_a_hint_names_the_columns_that_separate_rankings():
    """Dropping rows would leave a third of them, and might change the winner."""
    frame = shop()
    with pytest.raises(ValueError, match="once per ranking") as caught:
        evaluate(frame, "ndcg@10", by=["score", "model"])
    assert "unique" not in str(caught.value)
    query = str(caught.value).partition("Hint: query=")[2].partition(" makes")[0]
    assert eval(query) == ["query", "market", "device"]  # noqa: S307
    values = evaluate(frame, "ndcg@10", by=["score", "model"], query=eval(query))  # noqa: S307
    parts = [
        evaluate(part, "ndcg@10", by=["score", "model"])["ndcg@10"]
        for _, part in frame.partition_by("market", "device", as_dict=True).items()
    ]
    assert values["ndcg@10"].sum() == pytest.approx(sum(part.sum() for part in parts))
    one_market = frame.filter(market="de")
    with pytest.raises(ValueError, match=r"Hint: query=\['query', 'device'\] makes"):
        evaluate(one_market, "ndcg@10")


@pytest.mark.parametrize("separating", ["day", "clicks", None])
def test_dates_and_counts_are_never_suggested_as_keys(separating):
    frame = shop()
    frame = frame.select(
        "query", "product_id", "grade", "score", *([separating] if separating else [])
    )
    with pytest.raises(ValueError, match="once per ranking") as caught:
        evaluate(frame, "ndcg@10")
    hint = str(caught.value).partition("Hint: ")[2]
    assert hint == (
        "if 'product_id' does not identify documents, doc='...' names another column, or None"
    )


@pytest.mark.parametrize("change", ["equal", "few"])
def test_a_hint_drops_rows_that_agree_or_are_few(change):
    frame = log(100)
    again = frame.filter(pl.col("query") < (40 if change == "equal" else 1)).head(150)
    if change == "few":
        again = again.head(9).with_columns(pl.col("score") + 9)
    both = pl.concat([frame, again])
    with pytest.raises(ValueError, match="once per ranking") as caught:
        evaluate(both, "ndcg@10")
    call = str(caught.value).partition("Hint: ")[2].partition(" keeps")[0]
    assert_frame_equal(evaluate(eval(f"both{call}"), "ndcg@10"), evaluate(frame, "ndcg@10"))  # noqa: S307
    many = pl.concat([frame, frame.head(150).with_columns(pl.col("score") + 9)])
    with pytest.raises(ValueError, match="Hint: if 'doc' does not identify documents"):
        evaluate(many, "ndcg@10")


@pytest.mark.parametrize("name", ["brand", "price", "clicks", "stars", "split", "text"])
def test_a_further_column_that_holds_no_documents_is_passed_over(name):
    draw = np.random.default_rng(0)
    frame = log(100).drop("doc")
    n = frame.height
    further = {
        "brand": [f"brand {each}" for each in draw.integers(0, 12, n)],
        "price": draw.integers(1, 300, n),
        "clicks": draw.poisson(1, n),
        "stars": draw.integers(1, 6, n),
        "split": ["test"] * n,
        "text": [f"query {each}" for each in frame["query"]],
    }
    with warnings.catch_warnings(action="error"):
        evaluate(frame.with_columns(pl.Series(name, further[name])), "ndcg@10", ties="order")


@pytest.mark.parametrize("options", [{"ties": "thing"}, {"by": [["score", "thing"]]}])
def test_a_column_of_texts_that_breaks_ties_is_looked_at_under_any_name(options):
    frame, count = doubled(log(50, doc="thing"), 20)
    with pytest.raises(ValueError, match=REFUSED.format("thing", count, 20)):
        evaluate(frame, "ndcg@10", **options)
    evaluate(frame, "ndcg@10", doc=None, **options)
    numbers = frame.with_columns(thing=pl.col("score").rank("dense").cast(pl.Int64) // 9)
    evaluate(numbers, "ndcg@10", **options)  # a price, for example, may be the same


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


def test_an_overview_counts_all_of_them():
    frame, count = doubled(log(500), 100)
    table = overview(frame, by=["score", "model"])
    assert table["duplicates"].to_list() == [count, count]
    assert overview(frame.drop("doc"))["duplicates"].to_list() == [None]
    assert overview(frame, doc=None)["duplicates"].to_list() == [None]
    assert overview(frame.rename({"doc": "name"}), doc="name")["duplicates"].to_list() == [count]
    stacked = frame.with_columns(strategy=pl.lit("a")).vstack(
        log(500).with_columns(strategy=pl.lit("b"))
    )
    table = overview(stacked, strategy="strategy")
    assert table.select("strategy", "duplicates").rows() == [("a", count), ("b", 0)]


def test_engines_refuse_them_in_a_bucket():
    pytest.importorskip("pyarrow")
    frame, count = doubled(log(50, "sku"), 9)
    table = frame.to_arrow()
    request = Request.of(["ap"], doc="sku")
    with pytest.raises(ValueError, match=REFUSED.format("sku", count, 9)):
        Worker(request, build_result_schema(request, table.schema))(
            table.select(request.input_columns)
        )


# More than a million rows.


@pytest.fixture(scope="module")
def long() -> pl.DataFrame:
    rows = 2 * MAX_CHECKED_ROWS
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
def test_of_more_rows_whole_queries_spread_over_the_frame_are_looked_at(long, shuffled, lazily):
    twice = pl.col("query").ge(19_000) if lazily else pl.col("query").lt(1000)
    doc = pl.when(twice & (pl.col("doc") == 7)).then(8).otherwise("doc")
    frame = long.with_columns(doc=doc)
    if shuffled:
        frame = frame.sample(fraction=1, shuffle=True, seed=1)
    with pytest.raises(COLLECTED, match=REFUSED.format("doc", 1000, 1000) + "20000 queries"):
        evaluate(frame.lazy() if lazily else frame, "precision@1").lazy().collect()


def test_one_query_longer_than_a_million_rows_is_looked_at(long):
    frame = long.with_columns(query=0, doc=pl.int_range(pl.len()))
    evaluate(frame, "precision@1")
    with pytest.raises(ValueError, match=REFUSED.format("doc", 1, 1)):
        evaluate(frame.with_columns(pl.col("doc").replace(5, 6)), "precision@1")


def test_stacked_strategies_have_their_queries_looked_at_together(long):
    half = long.filter(pl.col("query") < 8000)
    other = half.with_columns(grade=pl.when(pl.col("query") % 50 == 0).then(5).otherwise("grade"))
    stacked = pl.concat(
        rows.with_columns(run=pl.lit(name)) for name, rows in (("a", half), ("b", other))
    )
    with pytest.raises(ValueError, match=r"must have one 'grade' .*, got several for 16000 of"):
        evaluate(stacked, "precision@1", strategy="run")


# Random logs, and real ones.


@settings(max_examples=60, deadline=None)
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


def test_no_real_run_is_refused(data):
    for path in sorted(data.glob("ohsumed/*.gz")):
        rows = read_letor(path).unique(["query", "doc"], maintain_order=True)
        evaluate(rows, "ap", by=["f1", "f2"], ties="order")
    qrels = read_qrels(data / "trec_eval" / "qrels.test.gz")
    for path in data.glob("trec_eval/results.*.gz"):
        with warnings.catch_warnings(action="ignore"):  # of queries that the run did not answer
            judged = join_judgments(read_run(path).drop("strategy"), qrels)
        evaluate(judged, "ap", ties="doc")
        assert overview(judged)["duplicates"].to_list() == [0]


def test_equal_rows_of_many_rows_are_looked_for_in_whole_queries(monkeypatch):
    monkeypatch.setattr(duplicates, "MAX_CHECKED_ROWS", 1000)
    frame = log(2000, doc="x")
    both = pl.concat([frame, frame.filter(pl.col("query") % 5 == 0)])
    both = both.sample(fraction=1, shuffle=True, seed=0)
    with pytest.warns(DataWarning.duplicates) as caught:
        evaluate(both, "ap")
    counts = re.match(r"(\d+) of (\d+) checked rows", str(caught[0].message)).groups()
    assert 0 < int(counts[0]) < int(counts[1]) < 1000
    with warnings.catch_warnings(action="error"):
        evaluate(frame, "ap")


def test_queries_with_like_hashes_are_checked_in_any_order(monkeypatch):
    """As in a part of a scratch folder, whose queries have the same hash modulo a number."""
    monkeypatch.setattr(duplicates, "MAX_CHECKED_ROWS", 100)
    frame = log(5000).filter(pl.col("query").hash(seed=0) % 64 == 1)
    twice = pl.concat([frame, frame]).sample(fraction=1, shuffle=True, seed=0)
    with pytest.raises(ValueError, match="each document of 'doc' once per ranking"):
        evaluate(twice, "ap")


def test_ties_broken_by_the_column_of_documents_are_those_of_the_default():
    """The warning says that ties="doc" means the same, of ids that are numbers too."""
    draw = np.random.default_rng(0)
    frame = log(100).with_columns(
        pl.col("doc").str.slice(1).cast(pl.Int64),
        score=pl.Series(draw.integers(0, 3, log(100).height)),
    )
    with pytest.warns(DataWarning.ties, match="ties='doc' confirms this order"):
        default = evaluate(frame, "ndcg@10", "ap", by=["score"])
    texts = frame.with_columns(pl.col("doc").cast(pl.String))
    with warnings.catch_warnings(action="error"):
        for rows in (frame, texts, frame.rename({"doc": "product_id"})):
            ties = "doc" if "doc" in rows.columns else "product_id"
            assert_frame_equal(evaluate(rows, "ndcg@10", "ap", ties=ties), default)
        lazily = evaluate(frame.lazy(), "ndcg@10", "ap", ties="doc").collect()
    assert_frame_equal(lazily, default)


def test_grades_of_all_graders_are_compared_in_a_sample(monkeypatch):
    monkeypatch.setattr(duplicates, "MAX_CHECKED_ROWS", 100)
    place = pl.int_range(400)
    one = pl.select(
        query=place // 10, doc=place % 10, people=place % 3, model=place % 4, score=-place * 0.5
    )
    both = pl.concat(one.with_columns(strategy=pl.lit(name)) for name in "ab")
    graders = {"grade": ["people", "model"], "strategy": "strategy", "doc": "doc"}
    values = evaluate(both, "ap", **graders)
    assert values.height == 2 * 2 * 40
    other = both.with_columns(model=pl.when(strategy="a").then(pl.lit(9)).otherwise("model"))
    with pytest.raises(ValueError, match="must have one 'model' for a document"):
        evaluate(other, "ap", **graders)


def test_ids_that_pandas_has_made_floats_are_looked_at():
    frame = pl.DataFrame({"query": 1, "doc": [1.0, 2, 2, 3], "grade": 1, "score": [4.0, 3, 2, 1]})
    with pytest.raises(ValueError, match=r"got 1 rows too many in 1 of 1 queries: \(1, 2.0\)"):
        evaluate(frame, "ap")
    ordered = evaluate(frame.unique("doc").with_columns(score=1.0), "rbp", ties="trec_eval")
    assert ordered["rbp"].item() > 0


@pytest.mark.parametrize("first", range(6))
def test_at_least_one_query_of_a_large_shuffled_frame_is_checked(first, monkeypatch):
    monkeypatch.setattr(duplicates, "MAX_CHECKED_ROWS", 100)
    frame = pl.DataFrame(
        {"query": [first, first + 1] * 2000, "doc": 1, "grade": 1, "score": range(4000)}
    ).with_columns(pl.col("score").cast(pl.Float64))
    with pytest.raises(ValueError, match="must have each document of 'doc' once per ranking"):
        evaluate(frame.sample(fraction=1, shuffle=True, seed=first), "ap")


def test_a_last_part_of_few_rows_is_checked(monkeypatch):
    """A streamed frame of sorted queries ends with a part of one query."""
    monkeypatch.setattr(duplicates, "MAX_CHECKED_ROWS", 100)
    place = pl.int_range(4000)
    frame = pl.select(query=place // 10, doc=place // 2 % 5, grade=place // 2 % 3, score=-place)
    frame = frame.with_columns(
        strategy=pl.when(place % 2 == 0).then(pl.lit("a")).otherwise(pl.lit("b"))
    )
    options = {"by": "score", "strategy": "strategy", "doc": "doc", "descending": True}
    eager = evaluate(frame, "precision@2", **options)
    lazy = evaluate(frame.lazy(), "precision@2", consecutive=True, **options)
    assert_frame_equal(lazy.collect(), eager, check_row_order=False)
