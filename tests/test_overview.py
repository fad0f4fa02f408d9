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


@pytest.mark.parametrize(
    ("options", "exception", "sentence"),
    [
        ({"of": "1"}, TypeError, "`of` must"),
        ({"of": [1]}, TypeError, "`of` must"),
        ({"of": None}, ValueError, "`frame` must"),
        ({"of": 9}, ValueError, "`frame` must"),
        ({"doc": "title"}, pl.exceptions.ColumnNotFoundError, "has no column 'title'"),
        ({"n": 0}, ValueError, "`n` must"),
        ({"by": "doc"}, TypeError, "score 'doc' must be a number to rank by"),
    ],
)
def test_what_cannot_be_set_side_by_side_is_refused(options, exception, sentence):
    with pytest.raises(exception, match=sentence):
        side_by_side(FRAME, **({"of": 1} | options))


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
