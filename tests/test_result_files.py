"""Results that say what they are: fingerprints, settings, and files that keep both."""

from __future__ import annotations

import hashlib
import json
import random
import struct
from functools import partial

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from polars_graded import (
    compare,
    evaluate,
    gate,
    rank_strategies,
    read_results,
    summarise,
    write_results,
)
from polars_graded._frames import records


def fingerprint_of(judgments):
    """Return the fingerprint of documents with their grades, or with texts."""
    lines = []
    for doc, value in judgments:
        if isinstance(value, float):
            lines.append(f"{doc}\0{struct.unpack('<q', struct.pack('<d', value + 0.0))[0]}")
        elif value is not None:
            lines.append(f"{doc}\0{value}")
    return hashlib.blake2b("\n".join(sorted(lines)).encode(), digest_size=8).hexdigest()


def rankings(seed=0, n=6):
    """Return queries of several lengths, one of which nobody judged."""
    rng = random.Random(seed)
    rows = [
        {
            "query": query,
            "doc": str(place) + rng.choice(["", "\0", "é", "doc", "a longer name of a document"]),
            "grade": None if query == 2 else rng.choice([None, -0.0, 0, 1, 2.5]),
            "score": rng.random(),
        }
        for query in range(n)
        for place in range(rng.randint(1, 9))
    ]
    return pl.DataFrame(rows, schema_overrides={"grade": pl.Float64})


def measured(rows, *measures, **options):
    """Return results that say what they are, without a word about the data."""
    return evaluate(rows, *(measures or ["ap"]), ties="doc", fingerprint="doc", **options)


@pytest.mark.filterwarnings("ignore::polars_graded.DataWarning")
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("hashed_rows", [1, 7, records.HASHED_ROWS])
def test_a_fingerprint_is_of_the_judged_documents_and_their_grades(seed, hashed_rows, monkeypatch):
    monkeypatch.setattr(records, "HASHED_ROWS", hashed_rows)
    rows = rankings(seed)
    expected = {
        query: fingerprint_of(part.select("doc", "grade").iter_rows())
        for (query,), part in rows.partition_by("query", as_dict=True).items()
    }
    shuffled = rows.sample(fraction=1, shuffle=True, seed=seed)
    runs = pl.concat(shuffled.with_columns(strategy=pl.lit(name)) for name in ("x", "y"))
    stacked = {"strategy": "strategy"}
    for found in (
        measured(rows),
        measured(shuffled.lazy()).collect(),
        measured(shuffled.lazy()).select("query", "judgments").collect(),
        measured(shuffled.with_columns(pl.col("doc").cast(pl.Categorical))),
        measured(runs, **stacked),
        measured(runs.lazy(), **stacked).collect(engine="streaming"),
        measured(rows.lazy().sort("query"), consecutive=True).collect(),
    ):
        for query, judgments in found.select("query", "judgments").iter_rows():
            assert judgments == expected[query]


def test_a_fingerprint_of_document_columns_ignores_types_and_the_order_of_labels():
    rows = pl.DataFrame(
        {
            "query": [1] * 3,
            "doc": [*"abc"],
            "grade": [0, 2, None],
            "score": [3, 2, 1],
            "topics": [["x", "y"], ["z"], ["x"]],
            "views": [0.5, 0.25, 0.125],
            "vector": [[0.5, 1.0], [0.25, 2.0], [1.0, 1.0]],
            "seen": [True, None, False],
        }
    )
    measures = ["alpha_ndcg", "novelty", "diversity", "novelty_ratio", "ap"]
    columns = {"subtopics": "topics", "popularity": "views", "features": "vector", "known": "seen"}

    def find_hash(frame):
        return measured(frame, *measures, **columns)["documents"].item()

    usual = find_hash(rows)
    texts = {
        "a": '{"features":[0.5,1.0],"known":1.0,"popularity":0.5,"subtopics":["x","y"]}',
        "b": '{"features":[0.25,2.0],"known":null,"popularity":0.25,"subtopics":["z"]}',
    }
    assert usual == fingerprint_of(texts.items())
    same = [
        pl.col("topics").list.reverse(),
        pl.col("topics").cast(pl.List(pl.Categorical)),
        pl.col("views").cast(pl.Float32),
        pl.col("vector").cast(pl.Array(pl.Float32, 2)),
        pl.when(pl.col("doc") == "c").then(0.75).otherwise("views").alias("views"),  # unjudged
    ]
    for each in same:
        assert find_hash(rows.with_columns(each)) == usual
    different = [
        pl.col("topics").list.head(1),
        pl.col("views") / 2,
        pl.col("vector").list.reverse(),
        pl.col("seen").fill_null(value=False),
    ]
    for each in different:
        assert find_hash(rows.with_columns(each)) != usual
    assert "documents" not in measured(rows, "ap")
    lazy = measured(rows.lazy(), *measures, **columns)
    assert lazy.collect_schema() == lazy.collect().schema
    assert lazy.collect()["documents"].item() == usual


def test_settings_contain_the_expression_that_breaks_ties():
    rows = rankings().filter(pl.col("query") != 2)
    settings = {
        json.loads(
            evaluate(rows, "ap", by={"a": ["score", key]}, fingerprint="doc")["settings"][0]
        )["ties"][0]
        for key in (pl.col("grade"), -pl.col("grade"), pl.col("doc"))
    }
    assert len(settings) == 3
    assert sum(each.endswith("(as numbers)") for each in settings) == 2


@pytest.mark.parametrize(
    "function",
    [compare, summarise, rank_strategies, partial(gate, baseline="old", judgments="changed")],
)
def test_strategies_with_other_judgments_are_refused(function):
    rows = rankings().filter(pl.col("query") != 2)
    others = rows.with_columns(grade=pl.when(query=3).then(5.0).otherwise("grade"))
    old = measured(rows, by={"old": "score"})
    new, same = (measured(each, by={"new": "score"}) for each in (others, rows))
    sentence = "same judgments for all strategies, got other judgments in 1 of"
    with pytest.raises(ValueError, match=sentence):
        function(pl.concat([old, new]))
    both = pl.concat([old, new])
    assert_frame_equal(
        function(both.drop("judgments")), function(both.drop("judgments", "settings"))
    )
    assert function(pl.concat([old, same])).height


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_a_file_says_what_its_results_are(suffix, tmp_path):
    rows = (
        rankings()
        .filter(pl.col("query") != 2)
        .with_columns(pl.format("0{}", "query").alias("query"))
    )
    named = {"nDCG": "ndcg(gain=linear)@3"}
    results = measured(rows, named, "n_relevant", "precision_curve@2", max_grade=4)
    file = tmp_path / f"main{suffix}"
    write_results(results.lazy(), file)
    found = read_results(str(file))
    curves = pl.col("precision_curve@2")
    if suffix == ".csv":
        found = found.with_columns(curves.str.split(" ").cast(pl.List(pl.Float64)))
    assert_frame_equal(found, results)
    about = json.loads(found["settings"][0])
    assert about["measures"]["nDCG"] == "ndcg(gain=linear, discount=log2, base=2, ties=order)@3"
    assert (about["max_grade"], about["ties"], about["polars_graded"]) == (4, ["doc"], "0.1.0")
    if suffix == ".csv":
        [first, *others] = file.read_text(encoding="utf-8").splitlines()[1:]
        assert '""measures""' in first
        assert not any("measures" in line for line in others)


def test_a_damaged_file_is_refused(tmp_path):
    results = measured(rankings().filter(pl.col("query") != 2))
    whole = (tmp_path / "main.parquet", tmp_path / "cut.parquet")
    write_results(results, whole[0])
    whole[1].write_bytes(whole[0].read_bytes()[:-9])
    with pytest.raises(ValueError, match="must be a complete file of results"):
        read_results(whole[1])
    with pytest.raises(ValueError, match=r"must be a .parquet or .csv file, got results.txt"):
        write_results(results, "results.txt")
    (tmp_path / "text.csv").write_text("strategy,query,ap\nx,1,high\n", encoding="utf-8")
    with pytest.raises(ValueError, match="columns of measures must be numbers, got text"):
        read_results(tmp_path / "text.csv")


def test_a_column_of_documents_that_cannot_be_is_refused():
    rows = rankings()
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match="'document'"):
        evaluate(rows, "ap", fingerprint="document")
    with pytest.raises(TypeError, match="`fingerprint` must name a column of ids, got List"):
        evaluate(rows.with_columns(doc=pl.lit([1])), "ap", fingerprint="doc")
    times = rows.with_columns(doc=pl.duration(days=pl.int_range(pl.len())))
    with pytest.raises(TypeError, match="`fingerprint` must name a column of ids, got Duration"):
        evaluate(times, "ap", fingerprint="doc")
    named = rows.rename({"query": "judgments"})
    with pytest.raises(
        ValueError, match="so no other column may have these names, got 'judgments'"
    ):
        evaluate(named, "ap", query="judgments", fingerprint="doc")


def test_ids_have_one_fingerprint_as_integers_and_as_floats():
    """Pandas reads integers as floats if a value is missing in their column."""
    rows = pl.DataFrame({"query": 1, "doc": [1, 2, 3], "grade": [1, 0, 2], "score": [3.5, 2, 1.5]})
    [whole, floats] = [
        evaluate(rows.with_columns(pl.col("doc").cast(dtype)), "ap", fingerprint="doc")
        for dtype in (pl.Int16, pl.Float64)
    ]
    assert_frame_equal(whole, floats)
    halves = evaluate(rows.with_columns(pl.col("doc") + 0.5), "ap", fingerprint="doc")
    assert (halves["judgments"] != whole["judgments"]).all()
