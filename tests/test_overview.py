"""Before measuring, and at one query: what there is, counted by hand."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from polars_graded import charts, datasets, evaluate, overview, report, side_by_side

DAY = dt.date(2026, 11, 28)

# Query 1: of five rows a, b, c are retrieved, b and c tied, c is unjudged, d is missed.
# Query 2 has no relevant document, query 3 nothing but relevant ones, query 4 no judged one, and
# of query 5 nothing was retrieved.
FRAME = pl.DataFrame(
    [
        (1, "a", 3.0, 0, 1.0),
        (1, "b", 2.0, 2, None),
        (1, "c", 2.0, None, None),
        (1, "d", None, 1, 2.0),
        (1, "e", None, None, None),
        (2, "a", 1.0, 0, 1.0),
        (3, "a", 2.0, 1, 2.0),
        (3, "b", 1.0, 2, 1.0),
        (4, "a", 1.0, None, 1.0),
        (5, "a", None, 1, 1.0),
    ],
    schema=["query", "doc", "score", "grade", "other"],
    orient="row",
)


def test_an_overview_counts_what_there_is():
    table = overview(FRAME)
    assert table.height == 1
    row = table.row(0, named=True)
    grades = row.pop("grades")
    assert row == {
        "strategy": "score",
        "queries": 5,
        "least": 0,
        "median": 1,
        "most": 3,
        "retrieved": pytest.approx(5 / 7),
        "judged": pytest.approx(5 / 7),
        "judged@10": pytest.approx((2 / 3 + 1 + 1 + 0) / 4),
        "tied": pytest.approx(2 / 7),
        "none_judged": 1,
        "none_relevant": 1,
        "only_relevant": 2,
        "duplicates": 0,
        "none_retrieved": 1,
    }
    assert [tuple(grade.values()) for grade in grades] == [(None, 2), (0, 2), (1, 3), (2, 2)]
    assert table.schema["queries"] == table.schema["none_judged"] == pl.UInt32


def test_an_overview_has_one_row_per_strategy_in_the_order_of_evaluate():
    table = overview(FRAME, by=["other", "score"])
    assert table["strategy"].to_list() == ["other", "score"]
    assert_frame_equal(table.tail(1), overview(FRAME))
    assert table["tied"].to_list() == pytest.approx([0, 2 / 7])
    broken = overview(FRAME, ties="doc")
    assert broken["tied"].to_list() == [0]
    stacked = pl.concat([FRAME.with_columns(run=pl.lit(name)) for name in ("t12", "t2")])
    of_runs = overview(stacked, strategy="run")
    assert of_runs["run"].to_list() == ["t2", "t12"]
    assert_frame_equal(of_runs.drop("run"), pl.concat([overview(FRAME)] * 2).drop("strategy"))


def test_an_overview_of_a_scale_of_stars_and_of_lazy_and_empty_frames():
    stars = overview(FRAME, irrelevant=1)
    assert stars.select("none_relevant", "only_relevant").row(0) == (2, 0)
    assert_frame_equal(overview(FRAME.lazy()), overview(FRAME))
    empty = overview(FRAME.clear())
    assert empty.schema == overview(FRAME).schema
    assert empty.height == 0
    nothing = overview(FRAME.filter(query=5)).row(0, named=True)
    assert (nothing["judged"], nothing["tied"], nothing["retrieved"]) == (None, None, 0)


@pytest.mark.parametrize("name", ["judged", "queries", "rows", "retrieved"])
def test_an_overview_takes_columns_of_any_name(name):
    renamed = FRAME.rename({"query": name})
    assert_frame_equal(overview(renamed, query=name), overview(FRAME))
    if name != "rows":
        with pytest.raises(
            ValueError, match=f"^`strategy` must not .* of an overview, got {name!r}"
        ):
            overview(FRAME.with_columns(pl.lit("x").alias(name)), strategy=name)


def test_rankings_of_a_query_side_by_side():
    table = side_by_side(FRAME, 1, by=["score", "other"], n=2, ties="order")
    assert table.columns == ["rank", "score", "grade of score", "other", "grade of other"]
    assert table.rows() == [(1, "a", 0, "d", 1), (2, "b", 2, "a", 0)]
    # The third is unjudged, and the other strategy retrieved two.
    whole = side_by_side(FRAME, 1, by=["score", "other"], ties="order")
    assert whole.row(-1) == (3, "c", None, None, None)
    assert side_by_side(FRAME, 1, ties="doc")["score"].to_list() == ["a", "c", "b"]
    lowest = side_by_side(FRAME, 1, by="other", descending=False)
    assert lowest["other"].to_list() == ["a", "d"]


def test_ties_among_what_stands_side_by_side_are_told():
    frame = pl.DataFrame(
        {
            "query": 1,
            "url": list("abcd"),
            "grade": [0, 1, 0, 1],
            "x": [3, 2, 2, 1],
            "y": [4, 3, 2, 1],
        }
    )
    frame = frame.rename({"url": "page"})
    said = (
        "the order of rows decides the ranks of some of the first 2 documents, whose scores "
        "are equal: 1 of 'x'\n\nHint: ties='page' ranks them by that column"
    )
    with pytest.warns(UserWarning, match=f"^{said}"):
        rows = side_by_side(frame, 1, by=["x", "y"], n=2, doc="page")
    assert rows["x"].to_list() == ["a", "b"]
    by_url = side_by_side(frame, 1, by=["x", "y"], n=2, doc="page", ties="page")
    assert by_url["x"].to_list() == ["a", "c"]
    side_by_side(frame, 1, by=["x", "y"], n=1, doc="page")


def test_stacked_rankings_side_by_side():
    stacked = pl.concat(
        [FRAME.with_columns(run=pl.lit("t12")), FRAME.with_columns(run=pl.lit("t2")).reverse()]
    )
    table = side_by_side(stacked.lazy(), 3, strategy="run")
    assert table.columns == ["rank", "t2", "grade of t2", "t12", "grade of t12"]
    assert table.rows() == [(1, "a", 1, "a", 1), (2, "b", 2, "b", 2)]


@pytest.mark.parametrize(
    ("options", "exception", "sentence"),
    [
        (
            {"of": "1"},
            TypeError,
            "`of` must be a value of 'query', which is of type Int64, got '1'",
        ),
        ({"of": [1]}, TypeError, "`of` must be a value of 'query', which is of type Int64, got "),
        ({"of": None}, ValueError, "`frame` must have a row of the query, got none for None in"),
        ({"of": 9}, ValueError, "`frame` must have a row of the query, got none for 9 in 'query'"),
        ({"doc": "title"}, pl.exceptions.ColumnNotFoundError, "has no column 'title'"),
        ({"n": 0}, ValueError, "`n` must be at least 1, got 0"),
        ({"by": "doc"}, TypeError, "score 'doc' must be a number to rank by"),
    ],
)
def test_what_cannot_be_set_side_by_side_is_refused(options, exception, sentence):
    with pytest.raises(exception, match=sentence):
        side_by_side(FRAME, **({"of": 1} | options))


# `.graded.where`

MASKS = {
    "all": pl.lit(value=True),
    "a column": "keep",
    "an expression": pl.col("doc") != "a",
    "none": pl.lit(value=False),
    "null is False": pl.when(pl.col("doc") != "a").then(pl.lit(value=True)),
}


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_rows_outside_are_as_if_not_there(mask):
    frame = FRAME.with_columns(keep=pl.col("doc") != "b")
    names = ["ap", "ndcg@2", "n_retrieved", "n_relevant", "bpref", "roc_auc", "ndcg(ties=average)"]
    g = pl.col("grade").graded
    kept = frame.filter(pl.col(mask) if isinstance(mask, str) else mask)
    for ranked in (g, g.ranked_by("score"), g.ranked_by("score", "doc").condensed()):
        expected = kept.group_by("query").agg(ranked.measures(*names)).sort("query")
        of_all = frame.group_by("query").agg(ranked.where(mask).measures(*names)).sort("query")
        assert_frame_equal(of_all.join(expected, on="query", how="semi"), expected)
        over = frame.with_columns(value=ranked.where(mask).ap().over("query"))
        values = over.group_by("query").agg(pl.col("value").first()).sort("query")["value"]
        assert values.to_list() == of_all["measures"].struct.field("ap").to_list()
        lazy = frame.lazy().group_by("query").agg(ranked.where(mask).measures(*names))
        assert_frame_equal(lazy.collect(engine="streaming").sort("query"), of_all)


def test_a_second_mask_keeps_what_both_keep():
    g = pl.col("grade").graded.ranked_by("score")
    both = g.where(pl.col("doc") != "a").where(pl.col("doc") != "b").n_retrieved()
    assert FRAME.filter(query=1).select(both).item() == 1
    with pytest.raises(TypeError, match="`rows` must be a column name or an expression, got True"):
        g.where(True)


# Misspelt methods


@pytest.mark.parametrize(
    ("name", "meant"), [("ncdg", "ndcg"), ("map", "ap"), ("precison", "precision"), ("mrr", None)]
)
def test_a_misspelt_method_is_suggested_as_its_name_in_a_string_is(name, meant):
    g = pl.col("grade").graded
    meant = meant or "reciprocal_rank"
    with pytest.raises(
        AttributeError, match=rf"no method '{name}'\n\nHint: did you mean '{meant}'"
    ):
        getattr(g, name)
    assert callable(getattr(g, meant))
    assert not hasattr(g, "_repr_html_")
    with pytest.raises(AttributeError, match=r"no method 'xyzzy'$"):
        _ = g.xyzzy


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"by": ["rank"], "descending": False}, "rank"),
        ({"by": {"ours": "score", "grade of ours": "rank"}}, "grade of ours"),
        ({"by": {"grade of ours": "rank", "ours": "score"}}, "grade of ours"),
    ],
)
def test_no_strategy_takes_the_column_of_another(options, name):
    frame = pl.DataFrame({"query": 1, "doc": ["a"], "grade": 1, "score": 0.5, "rank": 1})
    said = f"the columns of a strategy must differ .*, got {name!r}(.|\n)*Hint: by="
    with pytest.raises(ValueError, match=said):
        side_by_side(frame, 1, **options)
    named = side_by_side(frame, 1, by={"ours": "rank"}, descending=False)
    assert named.columns == ["rank", "ours", "grade of ours"]


def test_a_document_column_of_another_usual_name_is_found_by_every_function(tmp_path):
    rows = datasets.example(queries=3)
    renamed = rows.rename({"doc": "sku"})
    options = {"by": ["strong", "fair"], "n": 3}
    assert_frame_equal(side_by_side(renamed, 1, **options), side_by_side(rows, 1, **options))
    drawn, expected = (charts.rankings(each, 1, **options).data for each in (renamed, rows))
    assert_frame_equal(drawn, expected)
    options = {"by": ["strong", "fair"], "ties": "order"}
    values = evaluate(renamed, "ap", fingerprint=True, **options)
    assert_frame_equal(values, evaluate(rows, "ap", fingerprint="doc", **options))
    pages = {name: tmp_path / f"{name}.html" for name in ("doc", "sku")}
    for frame, page in zip((rows, renamed), pages.values(), strict=True):
        report(values, page, frame=frame, date=DAY, **options)
    assert pages["doc"].read_bytes() == pages["sku"].read_bytes()


def test_a_frame_without_documents_has_no_fingerprint():
    rows = datasets.example(queries=3).drop("doc")
    values = evaluate(rows, "ap", by=["strong"], ties="order", fingerprint=True)
    assert values.columns == ["strategy", "query", "ap"]
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match="`frame` has no column 'doc'"):
        side_by_side(rows, 1, by=["strong"])
