"""Measures of recommendations beyond accuracy, and numbers of tools that no test installs."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from itertools import combinations
from math import log2

import numpy as np
import polars as pl
import pytest
import reference
from helpers import needed
from hypothesis import given
from hypothesis import strategies as st

import polars_graded as pg
from polars_graded import catalogue, evaluate, graded

# Diversity of vectors and of single categories; lists of categories are in the registry.


def diversities(features, dtype, n=None, query=None):
    frame = pl.DataFrame(
        {"query": query or [1] * len(features), "grade": 1, "f": pl.Series(features, dtype=dtype)}
    )
    expr = graded("grade").diversity(n, features="f").alias("d")
    return frame.group_by("query", maintain_order=True).agg(expr)["d"].to_list()


FLOATS = (pl.Float64, pl.Float32)


@pytest.mark.parametrize(
    "dtype", [*map(pl.List, FLOATS), *(pl.Array(f, 2) for f in FLOATS)], ids=str
)
def test_vectors_have_cosine_distances(dtype):
    # Right angle, opposite, and 45 degrees.
    assert diversities([[2, 0], [0, 3]], dtype) == pytest.approx([1])
    assert diversities([[2, 0], [-1, 0]], dtype) == pytest.approx([2])
    assert diversities([[5, 0], [1, 1]], dtype) == pytest.approx([1 - 1 / math.sqrt(2)], abs=1e-7)
    three = diversities([[1, 0], [0, 1], [-1, 0], [9, 9]], dtype, 3)
    assert three == pytest.approx([(1 + 2 + 1) / 3])


@pytest.mark.parametrize("dtype", [pl.String, pl.Categorical, pl.Enum(["a", "b", "c"])], ids=str)
def test_single_categories_differ_or_not(dtype):
    assert diversities(["a", "a", "b"], dtype) == [2 / 3]
    assert diversities(["a", "b", "c"], dtype) == [1.0]
    assert diversities(["a", "a", "b"], dtype, 2) == [0.0]


COORDINATES = st.integers(-3, 3)
VECTORS = st.lists(COORDINATES, min_size=3, max_size=3).filter(any)


@given(st.lists(st.lists(VECTORS, min_size=1, max_size=6), min_size=1, max_size=5))
def test_vectors_equal_the_slow_loop(queries):
    features = [vector for vectors in queries for vector in vectors]
    query = [number for number, vectors in enumerate(queries) for _ in vectors]
    found = diversities(features, pl.List(pl.Float64), 4, query)
    for value, vectors in zip(found, queries, strict=True):
        rows = [reference.Row((0,), 1, features=vector) for vector in vectors]
        lists = reference.Lists([1] * len(rows), [1] * len(rows), ranked_rows=rows)
        expected = reference.diversity(lists, 4, features="f")
        assert (value is None) == (expected is None)
        assert value is None or value == pytest.approx(expected, abs=1e-12)


def test_a_vector_of_a_document_that_is_not_retrieved_may_be_null():
    frame = pl.DataFrame(
        {"grade": [1, 1, 1], "score": [2, 1, None], "f": [[1.0, 0.0], [0.0, 1.0], None]}
    )
    g = graded("grade").ranked_by("score")
    assert frame.select(g.diversity(features="f")).item() == 1


ONE = pl.DataFrame(
    {
        "query": [1, 1, 2, 2],
        "doc": ["a", "b", "a", "c"],
        "grade": [1, 0, 1, 0],
        "score": [0.9, 0.5, 0.8, 0.1],
        "share": [0.5, 0.25, 0.5, 0.125],
        "genre": ["x", "y", "x", "x"],
        "rank": [1, 2, 1, None],
    }
)


def changed(column, *values, dtype=None):
    return ONE.with_columns(pl.Series(column, values, dtype=dtype))


VECTOR = pl.List(pl.Float64)
REFUSED = [
    ("novelty", changed("share", 2.0, 0.5, 2.0, 3.0), "at most 1 for .*, in 2 of 2 queries"),
    ("popularity", changed("share", 5, None, 5, 1), "must not be null .*, in 1 of 2 queries"),
    ("popularity", changed("share", 5, -1, 5, -2), "at least 0, got lower numbers in 2 of 4 rows"),
    ("diversity", changed("genre", "x", None, "x", "y"), "'genre' must not be null, .* 1 of 2"),
    (
        "diversity",
        changed("genre", [1, 2], [1], [1, 2], [3], dtype=VECTOR),
        "vectors of one length, got 2 of 4 rows with other lengths than 2: 1",
    ),
    (
        "diversity",
        changed("genre", [1, 2], [0, 0], [1, 2], [3, 1], dtype=VECTOR),
        "or a vector of zeros .*, in 1 of 2 queries",
    ),
    (
        "diversity",
        changed("genre", [1, 2], [0, None], [1, 2], [3, math.inf], dtype=VECTOR),
        "finite numbers, got null, NaN or infinity in 2 of 4 rows",
    ),
    ("unexpectedness", changed("rank", 0, 1, 1, None), "ranks of at least 1, .* in 1 of 4 rows"),
    ("serendipity", changed("rank", 1.5, math.inf, 1, None), "must be finite, .* in 1 of 4 rows"),
]
COLUMNS = {
    "popularity": {"popularity": "share"},
    "novelty": {"popularity": "share"},
    "diversity": {"features": "genre"},
    "unexpectedness": {"reference": "rank"},
    "serendipity": {"reference": "rank"},
}


@pytest.mark.parametrize(("measure", "frame", "sentence"), REFUSED)
def test_unusable_columns_are_refused(measure, frame, sentence):
    with pytest.raises(ValueError, match=sentence):
        evaluate(frame, f"{measure}@2", **COLUMNS[measure])
    if "one value" not in sentence:
        expr = getattr(graded("grade").ranked_by("score"), measure)(2, **COLUMNS[measure])
        with pytest.raises((ValueError, pl.exceptions.ComputeError), match=sentence):
            frame.group_by("query").agg(expr)


@pytest.mark.parametrize(
    ("measure", "column", "sentence"),
    [
        ("popularity", {"popularity": "genre"}, "popularity 'genre' must be a number, got String"),
        ("diversity", {"features": "score"}, "'score' must be a category, .*, got Float64"),
        ("unexpectedness", {"reference": "genre"}, "'genre' must be a rank or a Boolean, got"),
    ],
)
def test_columns_of_the_wrong_type_are_refused(measure, column, sentence):
    with pytest.raises(TypeError, match=sentence):
        evaluate(ONE, measure, **column)


# The catalogue.

ITEMS = pl.DataFrame({"doc": list("abcdefgh")})


def slow_catalogue(lists, n, items):
    """Every measure of the lists of some users, from the counts of items."""
    counts = Counter(doc for docs in lists for doc in docs[:n])
    total, size = sum(counts.values()), len(items)
    if not total:
        return None
    shares = [counts[doc] / total for doc in items]
    pairs = sum(abs(one - other) for one, other in combinations(shares, 2))
    return {
        "catalogue_coverage": len(counts) / size,
        # Half of the relative mean difference, over its maximum.
        "gini_index": pairs / (size - 1),
        "entropy": -sum(p * math.log2(p) for p in shares if p),
    }


@given(
    st.lists(
        st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=6), min_size=1, max_size=6
    ),
    st.integers(1, 4),
)
def test_catalogue_equals_the_slow_loop(lists, n):
    rows = [
        (user, doc, None if doc is None else -rank - 0.5)
        for user, docs in enumerate(lists)
        for rank, doc in enumerate(docs or [None])
    ]
    schema = {"query": pl.Int64, "doc": pl.String, "score": pl.Float64}
    frame = pl.DataFrame(rows, schema, orient="row")
    found = catalogue(frame, n=n, items=ITEMS)
    expected = slow_catalogue(lists, n, ITEMS["doc"].to_list())
    for measure, queries, value in found.select("measure", "queries", "mean").rows():
        assert queries == len(lists)
        name, _, cutoff = measure.partition("@")
        assert int(cutoff) == n
        if expected is None:
            assert value is None
        else:
            assert value == pytest.approx(expected[name], abs=1e-12)
    assert found.height == 3


RUN = pl.DataFrame(
    {
        "query": [1, 1, 2, 2, 1, 1, 2, 2],
        "doc": ["a", "b", "a", "b", "a", "c", "d", "b"],
        "score": [0.5, 0.4, 0.9, 0.1, 0.7, 0.6, 0.2, 0.1],
        "strategy": ["x"] * 4 + ["y"] * 4,
    }
)


def test_a_catalogue_of_one_item_has_no_gini_index():
    found = catalogue(RUN.filter(doc="a"), items=ITEMS.head(1), strategy="strategy")
    found = found.filter(measure="gini_index@10")
    assert found["mean"].null_count() == found.height > 0


REFUSED_CATALOGUES = [
    ({"items": ITEMS.head(1)}, ValueError, "must contain each recommended .* lacks 1: 'b'"),
    ({"items": ["a"]}, TypeError, "`items` must be a data frame"),
    (
        {"items": ITEMS.rename({"doc": "item"})},
        pl.exceptions.ColumnNotFoundError,
        "no column 'doc'",
    ),
    ({"n": 0}, ValueError, "`n` must"),
    ({"doc": None}, ValueError, "must have a column of documents, got none"),
]


@pytest.mark.parametrize(("options", "error", "sentence"), REFUSED_CATALOGUES)
def test_unusable_catalogues_are_refused(options, error, sentence):
    with pytest.raises(error, match=sentence):
        catalogue(RUN.filter(strategy="x"), **options)


def make_interactions():
    """Lists of 12 items for 40 users, what they chose before and after, with skewed popularity."""
    rng = np.random.default_rng(4)
    users, items = 40, 60
    weights = -1.1 * np.log(np.arange(1, items + 1))
    noise = rng.gumbel(size=(3, users, items)) + weights
    before, after, lists = ((-each).argsort(axis=1)[:, :12] for each in noise)
    user = np.repeat(np.arange(users), 12)
    return user, *(each.ravel() for each in (before, after, lists))


def test_rectools_beyond_accuracy():
    metrics = needed("rectools.metrics", "rectools")
    pandas = needed("pandas", ".[peers]")
    user, before, _, lists = make_interactions()
    run = pl.DataFrame({"query": user, "doc": lists, "rank": np.tile(range(1, 13), 40)})
    train = pl.DataFrame({"doc": before}).group_by("doc").len("count")
    features = {item: (item * 7) % 5 for item in range(60)}
    frame = run.join(train, on="doc", how="left").with_columns(
        pl.col("count").fill_null(0),
        grade=pl.lit(0),
        share=pl.col("count").fill_null(1) / 40,
        genre=pl.col("doc").replace_strict(features),
    )
    keys = {"user_id": user, "item_id": lists}
    reco = pandas.DataFrame(keys | {"rank": run["rank"].to_numpy()})
    previous = pandas.DataFrame({"user_id": user, "item_id": before})
    table = pandas.DataFrame({"f": features.values()}, index=list(features))
    distances = metrics.PairwiseHammingDistanceCalculator(table)
    options = {"by": "rank", "descending": False, "features": "genre"}
    for k in (1, 5, 12):
        arp = metrics.AvgRecPopularity(k).calc_per_user(reco, previous)
        miuf = metrics.MeanInvUserFreq(k).calc_per_user(reco, previous)
        ild = metrics.IntraListDiversity(k, distances).calc_per_user(reco)
        popular = evaluate(
            frame, f"popularity@{k}", by="rank", descending=False, popularity="count"
        )
        ours = evaluate(
            frame, f"novelty@{k}", f"diversity@{k}", popularity="share", **options
        ).fill_null(0)
        assert popular[f"popularity@{k}"].to_list() == pytest.approx(list(arp), abs=1e-9)
        assert ours[f"novelty@{k}"].to_list() == pytest.approx(list(miuf), abs=1e-9)
        assert ours[f"diversity@{k}"].to_list() == pytest.approx(list(ild), abs=1e-9)
        coverage = metrics.CatalogCoverage(k, normalize=True).calc(reco, catalog=range(60))
        items = pl.DataFrame({"doc": range(60)}).join(train, on="doc", how="left").fill_null(0)
        found = catalogue(run, n=k, by="rank", descending=False, items=items)
        values = dict(found.select("measure", "mean").rows())
        assert values[f"catalogue_coverage@{k}"] == pytest.approx(coverage, abs=1e-9)


# What the book says of the numbers of tools that no test installs, by their definitions.


IDS = [f"d{number}" for number in range(8)]


@given(st.permutations(IDS), st.integers(1, 8), st.sets(st.sampled_from(IDS), min_size=1))
def test_numbers_of_sentence_transformers(order, length, relevant):
    """Its evaluator has sets of relevant documents, and its mean average precision ends at k."""
    k, found = 3, order[:length]
    hits = [float(doc in relevant) for doc in found[:k]]
    ranks = [rank for rank, hit in enumerate(hits, 1) if hit]
    best = min(k, len(relevant))
    expected = {
        f"success@{k}": float(any(hits)),
        f"reciprocal_rank@{k}": 1 / ranks[0] if ranks else 0.0,
        f"ndcg@{k}": sum(1 / log2(rank + 1) for rank in ranks)
        / sum(1 / log2(rank + 1) for rank in range(1, best + 1)),
        f"ap(over=cutoff)@{k}": sum(n / rank for n, rank in enumerate(ranks, 1)) / best,
    }
    assert_measured(found, relevant, expected)


@given(st.permutations(IDS), st.integers(1, 8), st.sets(st.sampled_from(IDS), min_size=1))
def test_numbers_of_ragas(order, length, relevant):
    """Its metrics of ids are shares of what was retrieved and of what is relevant."""
    found = order[:length]
    both = len({*found} & relevant)
    expected = {"precision": both / len(found), "recall": both / len(relevant)}
    assert_measured(found, relevant, expected)


def assert_measured(found, relevant, expected):
    """A ranking that finds nothing relevant is warned of."""
    with warnings.catch_warnings(action="ignore"):
        judged = pg.join_judgments({"q": found}, {"q": relevant})
        values = pg.evaluate(judged, *expected).row(0, named=True)
    assert {name: values[name] for name in expected} == pytest.approx(expected)
