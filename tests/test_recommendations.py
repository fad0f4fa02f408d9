"""Measures of recommendations beyond accuracy, of users one by one and together."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations

import numpy as np
import polars as pl
import pytest
import reference
import scipy.stats
from helpers import needed
from hypothesis import given
from hypothesis import strategies as st

from polars_graded import DataWarning, catalogue, catalogue_curve, evaluate, graded

# Diversity of vectors and of single categories; lists of categories are in the registry.


def diversities(features, dtype, n=None, query=None):
    frame = pl.DataFrame(
        {"query": query or [1] * len(features), "grade": 1, "f": pl.Series(features, dtype=dtype)}
    )
    expr = graded("grade").diversity(n, features="f").alias("d")
    return frame.group_by("query", maintain_order=True).agg(expr)["d"].to_list()


VECTOR_TYPES = [
    pl.List(pl.Float64),
    pl.List(pl.Float32),
    pl.Array(pl.Float64, 2),
    pl.Array(pl.Float32, 2),
]


@pytest.mark.parametrize("dtype", VECTOR_TYPES, ids=str)
def test_vectors_have_cosine_distances(dtype):
    # Right angle, opposite, and 45 degrees.
    assert diversities([[2, 0], [0, 3]], dtype) == pytest.approx([1])
    assert diversities([[2, 0], [-1, 0]], dtype) == pytest.approx([2])
    assert diversities([[5, 0], [1, 1]], dtype) == pytest.approx([1 - 1 / math.sqrt(2)], abs=1e-7)
    three = diversities([[1, 0], [0, 1], [-1, 0], [9, 9]], dtype, 3)
    assert three == pytest.approx([(1 + 2 + 1) / 3])


def test_equal_vectors_have_no_distance_at_all():
    assert diversities([[0.1, 0.7, 0.3]] * 10, pl.List(pl.Float64)) == [0.0]


@pytest.mark.parametrize("dtype", [pl.String, pl.Categorical, pl.Enum(["a", "b", "c"])], ids=str)
def test_single_categories_differ_or_not(dtype):
    assert diversities(["a", "a", "b"], dtype) == [2 / 3]
    assert diversities(["a", "b", "c"], dtype) == [1.0]
    assert diversities(["a", "a", "b"], dtype, 2) == [0.0]


def test_numbers_are_categories():
    assert diversities([7, 7, 9], pl.Int64) == [2 / 3]
    assert diversities([[7, 8], [8], [9]], pl.List(pl.Int64)) == [(1 / 2 + 1 + 1) / 3]


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


# References.


def test_a_boolean_reference_recommends_at_every_cutoff():
    frame = pl.DataFrame({"grade": [1, 1, 0, 1], "known": [True, False, None, True]})
    g = graded("grade")
    found = frame.select(
        g.unexpectedness(2, reference="known"),
        g.unexpectedness(reference="known"),
        g.serendipity(2, reference="known"),
        g.serendipity(reference="known"),
    )
    assert found.row(0) == (1 / 2, 2 / 4, 1 / 2, 1 / 4)


def test_serendipity_is_precision_without_a_reference():
    frame = pl.DataFrame({"grade": [1, 0, 1], "rank": [None, None, None]})
    g = graded("grade")
    found = frame.select(g.serendipity(2, reference="rank"), g.precision(2))
    assert found.row(0) == (1 / 2, 1 / 2)


# Errors.

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
    ("popularity", changed("share", 5, 3, 6, 1), "'share' must have one value .* 1 of 3 doc.*'a'"),
    ("diversity", changed("genre", "x", None, "x", "y"), "'genre' must not be null, .* 1 of 2"),
    ("diversity", changed("genre", "x", "y", "z", "y"), "'genre' must have one value .* 1 of 3"),
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


def test_what_lies_below_the_cutoff_is_not_refused():
    frame = changed("share", 0.5, 0.0, 0.5, None)
    assert evaluate(frame, "novelty@1", popularity="share")["novelty@1"].to_list() == [1, 1]


@pytest.mark.parametrize(
    ("measure", "column", "sentence"),
    [
        ("popularity", {"popularity": "genre"}, "popularity 'genre' must be a number, got String"),
        (
            "diversity",
            {"features": "score"},
            "features 'score' must be a category, .*, got Float64",
        ),
        ("unexpectedness", {"reference": "genre"}, "'genre' must be a rank or a Boolean, got"),
    ],
)
def test_columns_of_the_wrong_type_are_refused(measure, column, sentence):
    with pytest.raises(TypeError, match=sentence):
        evaluate(ONE, measure, **column)


def test_a_missing_column_is_named():
    with pytest.raises(ValueError, match="novelty needs `popularity`, a column of the popularity"):
        evaluate(ONE, "novelty@10")
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match="no column 'shar'"):
        evaluate(ONE, "novelty@10", popularity="shar")


def test_documents_are_not_compared_without_their_column():
    frame = changed("share", 5, 3, 6, 1)
    assert evaluate(frame, "popularity", popularity="share", doc=None)["popularity"][0] == 4


# The catalogue.

ITEMS = pl.DataFrame({"doc": list("abcdefgh"), "views": [9, 8, 7, 3, 2, 2, 1, 0]})


def slow_catalogue(lists, n, views, head):
    """Every measure of the lists of some users, from the counts of items."""
    counts = Counter(doc for docs in lists for doc in docs[:n])
    total, size = sum(counts.values()), len(views)
    if not total:
        return None
    shares = [counts[doc] / total for doc in views]
    pairs = sum(abs(one - other) for one, other in combinations(shares, 2))
    popular = {
        doc for doc in views if sum(other > views[doc] for other in views.values()) < head * size
    }
    filled = [docs[:n] for docs in lists if docs]
    return {
        "catalogue_coverage": len(counts) / size,
        # Half of the relative mean difference, over its maximum.
        "gini_index": pairs / (size - 1),
        "entropy": -sum(p * math.log2(p) for p in shares if p),
        "popularity": np.mean([np.mean([views[doc] for doc in docs]) for docs in filled]),
        "long_tail_share": np.mean(
            [np.mean([doc not in popular for doc in docs]) for docs in filled]
        ),
    }


@given(
    st.lists(
        st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=6), min_size=1, max_size=6
    ),
    st.integers(1, 4),
    st.sampled_from([0.1, 0.25, 0.5, 0.9]),
)
def test_catalogue_equals_the_slow_loop(lists, n, head):
    rows = [
        (user, doc, None if doc is None else -rank - 0.5)
        for user, docs in enumerate(lists)
        for rank, doc in enumerate(docs or [None])
    ]
    schema = {"query": pl.Int64, "doc": pl.String, "score": pl.Float64}
    frame = pl.DataFrame(rows, schema, orient="row")
    found = catalogue(frame, n=n, items=ITEMS, popularity="views", head=head)
    views = dict(ITEMS.rows())
    expected = slow_catalogue(lists, n, views, head)
    for measure, queries, value in found.select("measure", "queries", "mean").rows():
        assert queries == len(lists)
        name, _, cutoff = measure.partition("@")
        assert int(cutoff) == n
        if expected is None:
            assert value is None
        else:
            assert value == pytest.approx(expected[name], abs=1e-12)
    assert found.height == 5


def test_the_gini_index_is_the_area_of_the_curve():
    rng = np.random.default_rng(5)
    picks = [rng.choice(20, 5, replace=False, p=np.arange(1, 21) / 210) for _ in range(40)]
    frame = pl.DataFrame({"query": np.repeat(range(40), 5), "doc": np.concatenate(picks)})
    frame = frame.with_columns(score=pl.Series(np.tile([0.9, 0.8, 0.3, 0.2, 0.1], 40)))
    items = pl.DataFrame({"doc": range(20)})
    curve = catalogue_curve(frame, n=5, items=items)
    x, y = curve["items"].to_numpy(), curve["recommendations"].to_numpy()
    area = np.sum(np.diff(x) * (y[1:] + y[:-1]) / 2)
    gini = catalogue(frame, n=5, items=items).filter(measure="gini_index@5")["mean"].item()
    assert gini == pytest.approx((1 - 2 * area) * 20 / 19, abs=1e-12)
    assert (x[0], y[0], x[-1], y[-1]) == (0, 0, 1, 1)


def test_ends_of_the_measures():
    same = pl.DataFrame({"query": [1, 2, 3], "doc": "a", "score": 0.5})
    values = dict(catalogue(same, items=ITEMS).select("measure", "mean").rows())
    assert values == {"catalogue_coverage@10": 1 / 8, "gini_index@10": 1, "entropy@10": 0}
    equal = pl.DataFrame({"query": range(8), "doc": ITEMS["doc"], "score": 0.5})
    values = dict(catalogue(equal, items=ITEMS).select("measure", "mean").rows())
    assert values == {"catalogue_coverage@10": 1, "gini_index@10": 0, "entropy@10": 3}
    one = catalogue(same, items=ITEMS.head(1)).filter(measure="gini_index@10")
    assert one["mean"].to_list() == [None]


RUN = pl.DataFrame(
    {
        "query": [1, 1, 2, 2, 1, 1, 2, 2],
        "doc": ["a", "b", "a", "b", "a", "c", "d", "b"],
        "score": [0.5, 0.4, 0.9, 0.1, 0.7, 0.6, 0.2, 0.1],
        "strategy": ["x"] * 4 + ["y"] * 4,
    }
)


def test_strategies_are_stacked_or_columns_and_frames_of_any_kind():
    stacked = catalogue(RUN, strategy="strategy", items=ITEMS, popularity="views")
    assert stacked["strategy"].to_list() == ["x", "y"] * 5
    lazy = catalogue(RUN.lazy(), strategy="strategy", items=ITEMS.lazy(), popularity="views")
    assert lazy.equals(stacked)
    wide = RUN.pivot(on="strategy", index=["query", "doc"], values="score")
    columns = catalogue(wide, by=["x", "y"], items=ITEMS, popularity="views")
    assert columns.equals(stacked)
    needed("pyarrow")
    arrow = {"strategy": "strategy", "items": ITEMS.to_arrow(), "popularity": "views"}
    assert catalogue(RUN.to_arrow(), **arrow).equals(stacked)
    curves = catalogue_curve(RUN.lazy(), strategy="strategy", items=ITEMS)
    assert curves["strategy"].unique(maintain_order=True).to_list() == ["x", "y"]


def test_the_catalogue_is_that_of_the_frame_by_default():
    found = catalogue(RUN.with_columns(p=pl.lit(2)), strategy="strategy", popularity="p")
    values = dict(found.filter(strategy="x").select("measure", "mean").rows())
    assert values["catalogue_coverage@10"] == 2 / 4  # a and b, of a, b, c, d
    assert values["popularity@10"] == 2


def test_popularity_is_the_mean_of_the_measure_of_users():
    frame = RUN.join(ITEMS, on="doc").with_columns(grade=1)
    per_user = evaluate(frame, "popularity@1", strategy="strategy", popularity="views")
    means = per_user.group_by("strategy", maintain_order=True).agg(pl.col("popularity@1").mean())
    found = catalogue(RUN, n=1, items=ITEMS, popularity="views", strategy="strategy")
    assert found.filter(measure="popularity@1")["mean"].to_list() == means["popularity@1"].to_list()


def test_intervals_are_those_of_the_jackknife_by_hand():
    """Each user is left out in turn; the lists differ in length, and one user gets nothing."""
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {
            "query": np.repeat(range(60), 4),
            "doc": (rng.random(240) ** 3 * 90).astype(int),
            "score": rng.random(240),
        }
    ).unique(["query", "doc"], maintain_order=True)
    nothing = pl.col("query") == 7
    frame = frame.with_columns(score=pl.when(~nothing).then("score"))
    items = pl.DataFrame({"doc": range(90)}).with_columns(views=pl.col("doc") ** 2)
    options = {"n": 3, "items": items, "popularity": "views"}
    table = catalogue(frame, **options)
    others = [catalogue(frame.filter(pl.col("query") != user), **options) for user in range(60)]
    assert table["note"].to_list() == [None] * 5
    for index, row in enumerate(table.rows(named=True)):
        without = np.array([other["mean"][index] for other in others])
        if row["measure"] in ("popularity@3", "long_tail_share@3"):
            without = np.delete(without, 7)
        n, squares = len(without), (without - without.mean()) ** 2
        freedom = min(n - 1, squares.sum() ** 2 / (squares**2).sum())
        margin = scipy.stats.t.ppf(0.975, freedom) * np.sqrt((n - 1) / n * squares.sum())
        ends = row["mean"] - margin, row["mean"] + margin
        assert (row["ci_low"], row["ci_high"]) == pytest.approx(ends, rel=1e-9), row["measure"]


def test_no_interval_reaches_beyond_the_range():
    """Users 0 and 49 get the same two of 98 items, and everybody else two of their own."""
    user, copy = np.divmod(np.arange(100), 2)
    frame = pl.DataFrame({"query": user, "doc": user % 49 * 2 + copy, "score": 0.5})
    table = catalogue(frame, n=2, ties="doc").with_columns(pl.col("measure").str.strip_suffix("@2"))
    ends = {
        measure: (low, high) for measure, low, high in table["measure", "ci_low", "ci_high"].rows()
    }
    assert ends["catalogue_coverage"][1] == 1
    assert ends["gini_index"][0] == 0
    assert ends["entropy"][1] == math.log2(98)


def lists_of(users, docs=("a", "b")):
    """The same items for each user."""
    pairs = [(user, doc) for user in range(users) for doc in docs]
    frame = pl.DataFrame(pairs, schema=["query", "doc"], orient="row")
    return frame.with_columns(score=1.0)


@pytest.mark.parametrize(
    ("frame", "items", "note"),
    [
        (lists_of(1), ITEMS, "an interval needs at least 50 users"),
        (lists_of(49), ITEMS, "an interval needs at least 50 users"),
        (lists_of(50), ITEMS, "the value is the same whichever user is left out, or is undefined "),
        (lists_of(50).with_columns(score=None), ITEMS, "nothing is recommended"),
    ],
)
def test_a_missing_interval_has_a_reason(frame, items, note):
    found = catalogue(frame, items=items, popularity="views", ties="doc")
    assert found["ci_low"].null_count() == found["ci_high"].null_count() == found.height == 5
    assert found["note"].str.starts_with(note).all()


def test_a_catalogue_of_one_item_has_no_gini_index():
    found = catalogue(lists_of(60, "a"), items=ITEMS.head(1)).filter(measure="gini_index@10")
    assert found["note"].to_list() == ["a catalogue of one item has no Gini index"]


REFUSED_CATALOGUES = [
    ({"items": ITEMS.head(1)}, ValueError, "must contain each recommended .* lacks 1: 'b'"),
    ({"items": pl.concat([ITEMS, ITEMS[:2]])}, ValueError, "document once, .* 2 of 8 .*: 'a', 'b'"),
    ({"items": ["a"]}, TypeError, "`items` must be a data frame"),
    (
        {"items": ITEMS.rename({"doc": "item"})},
        pl.exceptions.ColumnNotFoundError,
        "no column 'doc'",
    ),
    ({"popularity": "views"}, pl.exceptions.ColumnNotFoundError, "`frame` has no column 'views'"),
    (
        {"items": ITEMS.with_columns(views=pl.lit(None, pl.Int64)), "popularity": "views"},
        ValueError,
        "number of at least 0 for each item, got other values for 8 of 8",
    ),
    ({"items": ITEMS.cast({"views": str}), "popularity": "views"}, TypeError, "be a number, got"),
    ({"popularity": "score"}, ValueError, "popularity 'score' must have one value .* 2 of 2"),
    ({"n": 0}, ValueError, "`n` must be at least 1, got 0"),
    ({"head": 1}, ValueError, "`head` must be below 1"),
    ({"doc": None}, ValueError, "must have a column of documents, got none"),
]


@pytest.mark.parametrize(("options", "error", "sentence"), REFUSED_CATALOGUES)
def test_unusable_catalogues_are_refused(options, error, sentence):
    with pytest.raises(error, match=sentence):
        catalogue(RUN.filter(strategy="x"), **options)


def test_rankings_are_checked_as_by_evaluate():
    with pytest.raises(ValueError, match="must have each document of 'doc' once per ranking"):
        catalogue(pl.concat([RUN, RUN]), strategy="strategy")
    ranks = pl.DataFrame({"query": np.repeat(range(12), 3), "doc": list("abc") * 12})
    ranks = ranks.with_columns(rank=pl.Series([1, 2, 3] * 12))
    with pytest.raises(ValueError, match="`descending` must be passed for score 'rank'"):
        catalogue(ranks, by="rank")
    first = catalogue(ranks, by="rank", descending=False, n=1, items=ITEMS, popularity="views")
    assert first.filter(measure="popularity@1")["mean"].item() == 9
    with pytest.raises(ValueError, match="`frame` has 2 strategies in its column 'strategy'"):
        catalogue(RUN)
    nulls = RUN.filter(strategy="x").with_columns(doc=pl.lit(None, pl.String))
    with pytest.raises(ValueError, match="got null in 4 of 4 rows of 'score'"):
        catalogue(nulls, doc="doc")


def test_ties_at_the_cutoff_are_warned_of():
    tied = RUN.filter(strategy="x").with_columns(score=pl.lit(0.5))
    with pytest.warns(DataWarning.ties, match=r"first 1 of 'score', for 2 of 2 queries"):
        catalogue(tied, n=1)
    catalogue(tied, n=2)
    catalogue(tied, n=1, ties="doc")


# Other tools, in an environment of their own.


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
        found = catalogue(run, n=k, by="rank", descending=False, items=items, popularity="count")
        values = dict(found.select("measure", "mean").rows())
        assert values[f"catalogue_coverage@{k}"] == pytest.approx(coverage, abs=1e-9)
        assert values[f"popularity@{k}"] == pytest.approx(arp.mean(), abs=1e-9)


def test_replay_beyond_accuracy():
    metrics = needed("replay.metrics", "replay-rec")
    user, before, after, lists = make_interactions()
    score = np.tile(range(12, 0, -1), 40).astype(float)
    run = pl.DataFrame({"query_id": user, "item_id": lists, "rating": score})
    base = pl.DataFrame({"query_id": user, "item_id": after, "rating": score})
    train = pl.DataFrame({"query_id": user, "item_id": before})
    frame = (
        run.join(
            base.with_columns(rank=13 - pl.col("rating")), on=["query_id", "item_id"], how="left"
        )
        .join(train.with_columns(seen=pl.lit(True)), on=["query_id", "item_id"], how="left")
        .join(train.group_by("item_id").len("count"), on="item_id", how="left")
        .with_columns(share=pl.col("count").fill_null(1) / 40, grade=pl.lit(0))
    )
    keys = {"query": "query_id", "by": "rating", "descending": True, "doc": "item_id"}
    for k in (1, 5, 12):
        mode = metrics.PerUser()
        unexpected = metrics.Unexpectedness(k, mode=mode)(run, base)[f"Unexpectedness-PerUser@{k}"]
        new = metrics.Novelty(k, mode=mode)(run, train)[f"Novelty-PerUser@{k}"]
        surprisal = metrics.Surprisal(k, mode=mode)(run, train)[f"Surprisal-PerUser@{k}"]
        coverage = metrics.Coverage(k)(run, train)[f"Coverage@{k}"]
        ours = evaluate(
            frame,
            f"unexpectedness@{k}",
            f"novelty@{k}",
            popularity="share",
            reference="rank",
            **keys,
        )
        of_seen = evaluate(frame, f"unexpectedness@{k}", reference="seen", **keys)
        for theirs, values in (
            (unexpected, ours[f"unexpectedness@{k}"]),
            (new, of_seen[f"unexpectedness@{k}"]),
            (surprisal, ours[f"novelty@{k}"] / math.log2(40)),
        ):
            assert values.to_list() == pytest.approx(
                [theirs[q] for q in ours["query_id"]], abs=1e-9
            )
        # It counts the items of the training data, of which some may not be recommended.
        recommended = set(run.filter(pl.col("rating") > 12 - k)["item_id"])
        assert coverage == pytest.approx(len(recommended & {*before}) / len({*before}), abs=1e-9)


def test_an_item_without_a_name_is_not_part_of_the_catalogue():
    run = pl.DataFrame({"query": [1, 1, 2], "doc": ["a", "b", None], "score": [2.5, 1.5, None]})
    assert catalogue(run).filter(measure="catalogue_coverage@10")["mean"].item() == 1
    with pytest.raises(ValueError, match="`items` must name an item in each row, got null in 1 of"):
        catalogue(run, items=pl.DataFrame({"doc": ["a", "b", None]}))
    with pytest.raises(TypeError, match="'doc' must have one data type, got String in `frame` and"):
        catalogue(run, items=pl.DataFrame({"doc": [1, 2]}))


def test_a_strategy_column_keeps_its_name():
    run = pl.DataFrame({"query": [1, 1], "doc": ["x", "y"], "s": [2.0, 1.0], "model": ["A", "B"]})
    for measure, names in ((catalogue, ("measure", "mean")), (catalogue_curve, ("items",))):
        for name in names:
            with pytest.raises(
                ValueError, match="`strategy` must not have the name of a column of"
            ):
                measure(run.rename({"model": name}), n=1, by="s", strategy=name)
