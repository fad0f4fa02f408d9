"""The report: what the page has is what was measured, it is safe, and its parts are linked."""

from __future__ import annotations

import base64
import datetime as dt
import re
import subprocess
import sys
import time
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints, is_typeddict

import numpy as np
import polars as pl
import pytest
from browser import console_errors
from report_page import Page, payload
from results import of_few

from polars_graded import compare, datasets, differences, evaluate, experiments, report, summarise
from polars_graded._report import contents
from polars_graded._report import page as page_module
from polars_graded._report.page import SCRIPTS
from polars_graded._report.payload import Payload

if TYPE_CHECKING:
    from collections.abc import Callable

    from selenium.webdriver.remote.webdriver import WebDriver

pytest.importorskip("vl_convert", reason="vl-convert is not installed")

NUMBERS = ["mu_ap", "ndcng@10", "ndcg@10", "ap", "r_precision"]
CURVES = ["dcg_curve@20", "ideal_dcg_curve@20", "interpolated_precision"]
STRATEGIES = ["strong", "fair", "weak"]
FOLDER = Path(page_module.__file__).parent
ODD = {
    "strong": "</script><script>throw 1</script>",
    "fair": "<!--<b onclick='x'>\"a.b[0]\"\\",
    "weak": "слабый 弱い 🙂",
}


@pytest.fixture(scope="module")
def per_query() -> pl.DataFrame:
    # The page has strategies in natural order, and this frame too, so that pairs are the same.
    by = sorted(STRATEGIES)
    return evaluate(datasets.example(80), *NUMBERS, *CURVES, by=by)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of 25 strategies, 1000 queries, five measures, and curves."""
    frame = experiments.reference_rankings(1000, documents=40, uniform=False)
    rng = np.random.default_rng(0)
    scores = {
        f"system {i}": frame["grade"].to_numpy() + rng.normal(0, 0.5 + i / 7, frame.height)
        for i in range(1, 26)
    }
    frame = evaluate(frame.with_columns(**scores), *NUMBERS, *CURVES, by=list(scores))
    return report(frame, tmp_path_factory.mktemp("large") / "page.html")


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    return lambda frame, *measures, **options: report(
        frame, tmp_path / "page.html", *measures, **options
    )


def numbers(packed: str, dtype: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(packed), dtype)


def unpacked(packed: dict[str, Any], page: dict[str, Any]) -> np.ndarray:
    """The points of a curve, by strategy, query and position."""
    n_queries = len(page["queries"])
    codes = numbers(packed["codes"], "<u2").reshape(packed["n_lines"], n_queries, -1)
    low, high = (numbers(packed[end], "<f4").astype(float)[:, None] for end in ("low", "high"))
    values = low + codes / page["steps"] * (high - low)
    return np.where(codes > page["steps"], np.nan, values)


def array(frame: pl.DataFrame, page: dict[str, Any], column: str) -> np.ndarray:
    """A column of a frame in the page's order of strategies and queries."""
    keyed = {(str(s), str(q)): value for s, q, value in frame.select(KEYS, column).rows()}
    return np.array([[keyed[s, q] for q in page["queries"]] for s in page["strategies"]])


KEYS = pl.col("strategy", "query")


# What the page has.


def test_the_page_is_one_file_that_refers_to_no_other(per_query, written):
    text = written(per_query, title="Spring & autumn").read_text(encoding="utf-8")
    own = text[: text.index("<script>")] + text[text.rindex("<script>") :]
    assert not re.search(r"\b(src|href)=(?!\"data:)", own)
    assert "@import" not in own
    assert "<title>Spring &amp; autumn</title>" in text
    assert "<h1>Spring &amp; autumn</h1>" in text
    assert not re.search(r"\{\{\w+\}\}", own)
    assert "default-src 'none'" in text  # a browser refuses what would come from elsewhere


def fields_of(kind: type, data: Any) -> None:
    """Raise where data have other fields than a TypedDict, or than those within it."""
    if is_typeddict(kind):
        assert data.keys() == kind.__annotations__.keys(), kind.__name__
        for name, hint in get_type_hints(kind).items():
            fields_of(hint, data[name])
    elif get_origin(kind) is list:
        for each in data:
            fields_of(*get_args(kind), each)
    elif get_origin(kind) is UnionType and data is not None:
        for each in get_args(kind):
            fields_of(each, data)


def test_python_writes_the_fields_that_are_declared_and_the_script_reads_no_others(
    per_query, written
):
    segments = per_query.with_columns(half=pl.col("query").cast(pl.Int64) % 2)
    page = payload(written(segments, segments="half"))
    fields_of(Payload, page)
    script = "".join(FOLDER.joinpath(name).read_text("utf-8") for name in SCRIPTS)
    read = {*re.findall(r"\bpage\.(\w+)", script)}
    (apart,) = re.findall(r"const \{([^}]*)\} = page;", script)
    read |= {*re.findall(r"\w+", apart)}
    only_in_template = {"about", "missing", "absent", "alpha", "testName", "settings"}
    assert read | only_in_template == Payload.__annotations__.keys()


def test_the_file_is_given_back_and_written_over(per_query, tmp_path):
    file = tmp_path / "page.html"
    file.write_text("before")
    assert report(per_query, str(file)) == file
    assert file.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_measures_are_those_of_the_frame(per_query, written):
    page = payload(written(per_query))
    assert page["strategies"] == ["fair", "strong", "weak"]
    assert page["queries"] == [str(i) for i in range(1, 81)]
    assert [measure["name"] for measure in page["measures"]] == NUMBERS
    for measure in page["measures"]:
        found = numbers(measure["values"], "<f4").reshape(3, 80)
        np.testing.assert_allclose(found, array(per_query, page, measure["name"]), rtol=6e-8)


def test_means_and_intervals_are_those_of_summarise(per_query, written):
    page = payload(written(per_query))
    for measure in page["measures"]:
        expected = summarise(per_query, measure["name"])
        assert measure["means"] == pytest.approx(expected["mean"].to_list(), rel=1e-6)
        margins = (expected["ci_high"] - expected["mean"]).to_list()
        assert measure["margins"] == pytest.approx(margins, rel=1e-6)
        assert measure["best_strategies"] == [1]  # strong


def test_the_best_is_the_lowest_where_lower_is_better_and_none_of_counts(per_query, written):
    frame = per_query.select(
        KEYS,
        pl.col("ap").alias("e_measure@5"),
        pl.col("ap").alias("n_retrieved"),
        pl.col("ap").alias("mine"),
        (pl.col("ap") * 0).alias("tied"),
    )
    own = {"e_measure@5": "e_measure@5", "n_retrieved": "none", "mine": "ap", "tied": "highest"}
    page = payload(written(frame, own))
    assert [measure["best_strategies"] for measure in page["measures"]] == [[2], [], [1], [0, 1, 2]]
    assert [measure["best"] for measure in page["measures"]][:2] == ["lowest", "none"]


def test_curves_are_those_of_the_frame_within_what_is_said(per_query, written):
    page = payload(written(per_query))
    assert [curve["name"] for curve in page["curves"]] == ["dcg_curve@20", "interpolated_precision"]
    dcg, precision = page["curves"]
    assert dcg["at"] == list(range(1, 21))
    assert precision["at"] == pytest.approx([level / 10 for level in range(11)])
    columns = ["dcg_curve@20", "interpolated_precision", "ideal_dcg_curve@20"]
    for packed, column in zip(
        [dcg["packed"], precision["packed"], dcg["ideal"]], columns, strict=True
    ):
        expected = array(per_query, page, column)[: packed["n_lines"]]
        heights = expected.max(axis=(0, 2))[:, None]
        assert (np.abs(unpacked(packed, page) - expected) <= 1e-5 * heights).all()
    assert dcg["ideal"]["n_lines"] == 1
    means = array(per_query, page, "dcg_curve@20").mean(axis=1)
    np.testing.assert_allclose(dcg["packed"]["means"], means, rtol=1e-6)
    ideal = array(per_query, page, "ideal_dcg_curve@20").mean(axis=1)
    np.testing.assert_allclose(dcg["ideal"]["means"], ideal[:1], rtol=1e-6)


def test_ideal_curves_that_differ_are_all_there(per_query, written):
    other = pl.when(strategy="weak").then(pl.col("dcg_curve@20"))
    frame = per_query.with_columns(other.otherwise("ideal_dcg_curve@20").alias(CURVES[1]))
    page = payload(written(frame))
    ideal = page["curves"][0]["ideal"]
    assert ideal["n_lines"] == 3
    np.testing.assert_allclose(ideal["means"], array(frame, page, CURVES[1]).mean(axis=1), 1e-6)


@pytest.mark.parametrize(
    ("options", "arguments", "said"),
    [
        ({}, {}, "the paired t test; p values corrected by Holm's method for the 3 pairs"),
        ({"baseline": "fair"}, {"baseline": "fair"}, "Holm's method for the 2 pairs"),
        (
            {"test": "wilcoxon", "correction": "none"},
            {"test": "wilcoxon", "correction": "none"},
            "which compares ranks, not means; p values not corrected",
        ),
        (
            {"test": "randomised_tukey", "correction": "none"},
            {"test": "randomised_tukey", "correction": "none"},
            "the randomised Tukey test",
        ),
    ],
)
def test_differences_are_those_of_compare_and_the_page_says_how(
    per_query, written, options, arguments, said
):
    frame = per_query.select(KEYS, "ap", "ndcg@10")
    page = payload(written(frame, **options))
    comparison = page["comparison"]
    assert said in comparison["note"]
    for name, rows in zip(("ap", "ndcg@10"), comparison["rows"], strict=True):
        expected = compare(frame, name, **arguments)
        places = {s: i for i, s in enumerate(page["strategies"])}
        columns = ["difference", "ci_low", "ci_high", "wins", "ties", "losses", "p_corrected"]
        columns += ["simultaneous_low", "simultaneous_high"]
        for row, (strategy, baseline, *values) in zip(
            rows, expected.select("strategy", "baseline", *columns).rows(), strict=True
        ):
            assert row[:2] == [places[strategy], places[baseline]]
            for found, value in zip(row[2:-2], values, strict=True):
                assert found == (None if value is None else pytest.approx(value, rel=1e-6))


def test_columns_are_chosen_by_kind_and_shown_in_the_order_given(per_query, written):
    page = payload(written(per_query, "ap", "mu_ap"))
    assert [measure["name"] for measure in page["measures"]] == ["ap", "mu_ap"]
    assert len(page["curves"]) == 2
    page = payload(written(per_query, "interpolated_precision"))
    assert len(page["measures"]) == 5
    assert [curve["name"] for curve in page["curves"]] == ["interpolated_precision"]


def test_a_lazy_frame_other_names_and_other_columns_will_do(per_query, written):
    names = {"strategy": "ranker", "query": "topic"}
    frame = per_query.rename(names).with_columns(note=pl.lit("x"), day=dt.date(2024, 1, 1))
    page = payload(written(frame.lazy(), query="topic", strategy="ranker", baseline="weak"))
    expected = payload(written(per_query, baseline="weak"))
    assert page["measures"] == expected["measures"]
    assert page["comparison"] == expected["comparison"]


def test_strategies_come_with_their_numbers_in_order(written):
    frame = pl.DataFrame({"strategy": ["f10", "f9", "f1"], "query": 1, "ap": [0.1, 0.2, 0.3]})
    page = payload(written(frame))
    assert page["strategies"] == ["f1", "f9", "f10"]
    np.testing.assert_allclose(numbers(page["measures"][0]["values"], "<f4"), [0.3, 0.2, 0.1], 1e-6)


QUERIES = [
    ([3, 1, 20], ["1", "3", "20"]),
    (["b", "a", None], ["null", "a", "b"]),
    ([dt.date(2024, 1, 31), dt.date(2023, 5, 1)], ["2023-05-01", "2024-01-31"]),
    (["x"], ["x"]),
    (["null", None, "", "(empty)"], ["(null)", "empty", "(empty)", "null"]),
    (["a\nb", "a b", "a\r\nb"], ["(a b)", "((a b))", "a b"]),
]


@pytest.mark.parametrize(("queries", "shown"), QUERIES)
def test_queries_are_of_any_type(written, queries, shown):
    frame = pl.DataFrame({"query": queries}).with_row_index("ap")
    both = pl.concat([frame.with_columns(strategy=pl.lit(name)) for name in ("a", "b")])
    page = payload(written(both.with_columns(pl.col("ap").cast(pl.Float64))))
    assert page["queries"] == shown
    values = numbers(page["measures"][0]["values"], "<f4").reshape(2, -1)
    order = both["query"].unique().sort().to_list()
    assert values.tolist() == [[queries.index(q) for q in order]] * 2


def test_missing_values_are_dropped_or_zero(per_query, written):
    gone = (pl.col("query") == 1) & (pl.col("strategy") == "weak")
    holes = pl.when(~gone).then(pl.col("ap", "dcg_curve@20")).name.keep()
    frame = per_query.select(KEYS, holes, "ndcg@10").filter(
        (pl.col("query") != 2) | (pl.col("strategy") != "fair")
    )
    with pytest.raises(ValueError, match="'ap' must have a value for each strategy and query"):
        written(frame)
    with pytest.raises(
        ValueError, match=r"curve 'dcg_curve@20' must have a value .* in 2 of 80 quer"
    ):
        written(frame.drop("ap", "ndcg@10"))
    page = payload(written(frame, missing="drop"))
    ap, ndcg = page["measures"]
    assert ap["means"] == pytest.approx(summarise(frame, "ap", missing="drop")["mean"], rel=1e-6)
    assert (ap["queries"], ndcg["queries"]) == (78, 79)
    values = numbers(ap["values"], "<f4").reshape(3, 80)
    assert np.argwhere(np.isnan(values)).tolist() == [[0, 1], [2, 0]]
    points = unpacked(page["curves"][0]["packed"], page)
    assert np.argwhere(np.isnan(points[:, :, 0])).tolist() == [[0, 1], [2, 0]]
    whole = per_query.filter(pl.col("query") > 2)
    means = array(whole, {**page, "queries": page["queries"][2:]}, "dcg_curve@20").mean(axis=1)
    np.testing.assert_allclose(page["curves"][0]["packed"]["means"], means, rtol=1e-6)
    assert page["curves"][0]["queries"] == 78
    page = payload(written(frame, missing="zero"))
    assert not np.isnan(numbers(page["measures"][0]["values"], "<f4")).any()
    assert (unpacked(page["curves"][0]["packed"], page)[2, 0] == 0).all()
    assert "Missing values count as 0" in page["missing"]


SOME = pl.DataFrame(
    {
        "strategy": ["a"] * 3 + ["b"] * 3,
        "query": [1, 2, 3] * 2,
        "dcg_curve@2": [[1.0, 2.0], None, [3.0, 4.0], [1.0, 1.0], [2.0, 3.0], [5.0, 5.0]],
        "ideal_dcg_curve@2": [[2.0, 4.0], [6.0, 7.0], [6.0, 8.0]] * 2,
    }
)


def test_ideal_and_curves_are_means_over_the_same_queries(written):
    (curve,) = payload(written(SOME, missing="drop"))["curves"]
    assert curve["queries"] == 2
    assert curve["packed"]["means"] == [[2, 3], [3, 3]]
    assert curve["ideal"]["means"] == [[4, 6]]


def test_an_ideal_that_is_null_is_not_there(written):
    ideal = pl.when(pl.col("query") != 3).then("ideal_dcg_curve@2")
    page = payload(written(SOME.with_columns(ideal.alias("ideal_dcg_curve@2")), missing="drop"))
    (curve,) = page["curves"]
    assert curve["ideal"]["means"] == [[None, None]]
    found = unpacked(curve["ideal"], page)
    np.testing.assert_allclose(found, [[[2, 4], [6, 7], [np.nan, np.nan]]], rtol=1e-5)
    nothing = pl.lit(None, pl.List(pl.Float64)).alias("ideal_dcg_curve@2")
    (curve,) = payload(written(SOME.with_columns(nothing), missing="drop"))["curves"]
    assert curve["ideal"] is None


def test_ideal_lists_have_the_length_of_their_curve(written):
    shorter = SOME.with_columns(pl.col("ideal_dcg_curve@2").list.head(1))
    sentence = "lists of 'dcg_curve@2' and 'ideal_dcg_curve@2' must all .* length, .* got 1 to 2"
    with pytest.raises(ValueError, match=sentence):
        written(shorter, missing="drop")


def test_a_curve_without_a_value_is_said_to_have_none(written):
    nan = pl.lit([float("nan")] * 2).alias("dcg_curve@2")
    page = payload(written(SOME.with_columns(nan, ap=0.5), missing="drop"))
    assert page["curves"] == []
    assert page["absent"]["rank"] == "No query has a value of dcg_curve@2."
    assert "recall" not in page["absent"]


def test_a_boolean_column_is_a_measure_where_it_is_named(per_query, written):
    frame = per_query.select(KEYS, "ap", found=pl.col("ap") > 0.9)
    assert [m["name"] for m in payload(written(frame))["measures"]] == ["ap"]
    (measure,) = payload(written(frame, {"found": "highest"}))["measures"]
    assert measure["means"] == pytest.approx(summarise(frame, "found")["mean"].to_list())


def test_long_curves_of_many_queries_are_thinned_to_what_fits(written):
    lists = np.cumsum(np.ones((6000, 500)), axis=1)
    keys = {"strategy": np.repeat(["a", "b", "c"], 2000), "query": np.tile(range(2000), 3)}
    frame = pl.DataFrame(keys | {"cg_curve@500": lists}).with_columns(
        pl.col("cg_curve@500").arr.to_list()
    )
    path = written(frame)
    (curve,) = payload(path)["curves"]
    assert len(curve["at"]) == contents.MAX_PAGE_POINTS // 6000
    assert (curve["at"][0], curve["at"][-1]) == (1, 500)
    assert curve["packed"]["means"][0] == curve["at"]
    assert path.stat().st_size < 5e6


def random_results(strategies: int, queries: int, *measures: str, **curves: int) -> pl.DataFrame:
    """What `evaluate` returns, with random values; of curves as many as are said."""
    rng = np.random.default_rng(strategies)
    n = strategies * queries
    columns = {name: rng.random(n, np.float32) for name in measures}
    columns |= {name: rng.random((n, length), np.float32) for name, length in curves.items()}
    keys = {
        "strategy": np.repeat([f"system {i}" for i in range(strategies)], queries),
        "query": np.tile(np.arange(queries), strategies),
    }
    frame = pl.DataFrame(keys | columns)
    return frame.with_columns(pl.col(name).arr.to_list() for name in curves)


@pytest.mark.slow
def test_25_strategies_and_5000_queries_stay_below_8_mb(written):
    curves = {"dcg_curve@20": 20, "ideal_dcg_curve@20": 20, "interpolated_precision": 11}
    frame = random_results(25, 5000, *NUMBERS, **curves)
    path = written(frame)
    page = payload(path)
    assert path.stat().st_size < 8e6
    size = re.search(r"This page is one file of (.*) MB", path.read_text(encoding="utf-8"))[1]
    assert float(size) == pytest.approx(path.stat().st_size / 1e6, abs=0.06)
    assert len(page["queries"]) == 5000
    there = page["curves"][0]["inspected"]
    assert 500 < len(there) < 5000
    assert (there[0], there[-1]) == (0, 4999)
    fewest = min(len(curve["inspected"]) for curve in page["curves"])
    assert page["about"] == (
        f"25 strategies, 5,000 queries. Curves are shown for {fewest:,} of them, evenly spaced; "
        "means, intervals and tests cover all queries."
    )
    # What is there is what was measured, in its own place; the means are of all.
    shown = frame.filter(pl.col("query").is_in(there))
    points = unpacked(page["curves"][0]["packed"], page | {"queries": there})
    at = np.array(page["curves"][0]["at"]) - 1
    expected = array(shown, page | {"queries": [str(q) for q in there]}, "dcg_curve@20")[:, :, at]
    np.testing.assert_allclose(points, expected, atol=2e-5)
    means = np.mean(array(frame, page, "dcg_curve@20"), axis=1)[:, at]
    np.testing.assert_allclose(page["curves"][0]["packed"]["means"], means, rtol=1e-5)


def test_of_more_queries_than_can_be_seen_some_are_shown_and_all_count(written):
    frame = random_results(2, 130_000, "ap")
    page = payload(written(frame))
    assert len(page["queries"]) == 5000
    assert (page["queries"][0], page["queries"][-1], page["total"]) == ("0", "129999", 130_000)
    assert page["about"] == (
        "2 strategies, 130,000 queries. 5,000 of them, evenly spaced, are shown one by one; "
        "means, intervals and tests cover all queries."
    )
    expected = summarise(frame, "ap")
    assert page["measures"][0]["means"] == pytest.approx(expected["mean"].to_list(), rel=1e-6)
    assert page["measures"][0]["queries"] == 130_000
    values = numbers(page["measures"][0]["values"], "<f4").reshape(2, 5000)
    steps = frame.filter(pl.col("query").cast(pl.String).is_in(page["queries"]))
    np.testing.assert_allclose(values, array(steps, page, "ap"), rtol=1e-6)


@pytest.mark.parametrize("value", [3.5e38, -1e100])
def test_values_beyond_what_the_page_can_hold_are_refused_by_name(tmp_path, value):
    frame = pl.DataFrame({"strategy": ["a", "b"], "query": 1, "mine": [1.0, value]})
    sentence = f"'mine' must lie within ±3.4e38 to be shown, got 1 value beyond, such as {value:g}"
    with pytest.raises(ValueError, match=re.escape(sentence)):
        report(frame, tmp_path / "page.html", {"mine": "highest"})
    lists = frame.select(KEYS, pl.concat_list("mine", "mine").alias("dcg_curve@2"))
    with pytest.raises(ValueError, match=r"'dcg_curve@2' must lie within .* got 2 values beyond"):
        report(lists, tmp_path / "page.html")
    assert not list(tmp_path.iterdir())


def test_25_strategies_and_1000_queries_stay_below_5_mb(large):
    assert large.stat().st_size < 5e6


@pytest.mark.parametrize("title", ["</title><script>alert(1)</script>", 'a "b" & c {{vega}}'])
def test_no_text_leaves_its_place(per_query, written, title):
    frame = (
        per_query.head(0)
        .vstack(per_query)
        .with_columns(
            pl.col("strategy").replace_strict(ODD),
            query=pl.lit("</script>") + pl.col("query").cast(str),
        )
    )
    path = written(frame, title=title)
    text = path.read_text(encoding="utf-8")
    assert text.count("</script>") == 3
    assert text.count("<script") == 3
    page = payload(path)
    assert sorted(page["strategies"]) == sorted(ODD.values())
    assert page["queries"][0].startswith("</script>")


# Errors.


ERRORS = [
    (
        {"measures": ["app"]},
        pl.exceptions.ColumnNotFoundError,
        "no column 'app'; it has (.|\n)* did you mean",
    ),
    ({"query": "topic"}, pl.exceptions.ColumnNotFoundError, "no column 'topic'"),
    ({"strategy": "run"}, pl.exceptions.ColumnNotFoundError, "no column 'run'"),
    ({"measures": ["ap", "ap"]}, ValueError, "each column must be named once"),
    ({"measures": ["strategy"]}, ValueError, "each column must be named once"),
    ({"measures": ["text"]}, TypeError, "'text' must be a number or a list of them, got String"),
    ({"measures": [3]}, TypeError, "`measures` must be the name of a column, got 3"),
    ({"title": 3}, TypeError, "`title` must be a string, got 3"),
    ({"baseline": "best"}, ValueError, "there is no strategy 'best'"),
    ({"test": "anova"}, ValueError, "`test` must be one of"),
    ({"correction": "half"}, ValueError, "`correction` must be one of"),
    ({"missing": "keep"}, ValueError, "`missing` must be one of"),
    ({"test": "randomised_tukey", "correction": "holm"}, ValueError, "`correction` must be 'none'"),
]


@pytest.mark.parametrize(("options", "error", "sentence"), ERRORS)
def test_wrong_arguments_are_refused(per_query, tmp_path, options, error, sentence):
    frame = per_query.with_columns(text=pl.lit("x"))
    options = dict(options)
    measures = options.pop("measures", [])
    with pytest.raises(error, match=sentence):
        report(frame, tmp_path / "page.html", *measures, **options)
    assert not list(tmp_path.iterdir())


FRAMES = [
    (lambda f: f.select(KEYS), "must have a column of numbers"),
    (lambda f: pl.concat([f, f]), "each strategy must have each query once"),
    (lambda f: f.with_columns(strategy=pl.lit(None, str)), "must not be null"),
    (lambda f: f.with_columns(ap=pl.lit(float("inf"))), "must be finite"),
    (
        lambda f: f.select(KEYS, pl.col(CURVES[0]).list.head(pl.col("query"))),
        "the lists of 'dcg_curve@20' must all have the same length",
    ),
    (lambda f: f.filter(strategy="weak"), "at least two strategies"),
    (lambda f: f.head(0), "must have a row per strategy and query to show, got none"),
]


@pytest.mark.parametrize(("changed", "sentence"), FRAMES)
def test_frames_that_cannot_be_shown_are_refused(per_query, tmp_path, changed, sentence):
    with pytest.raises(ValueError, match=sentence):
        report(changed(per_query), tmp_path / "page.html", baseline="weak")


def test_something_else_than_a_frame_is_refused(tmp_path):
    with pytest.raises(TypeError, match=r"`per_query` must be a data frame .*, got dict"):
        report({}, tmp_path / "page.html")


@pytest.mark.parametrize("file", [None, 3])
def test_a_file_that_is_none_is_refused(per_query, file):
    with pytest.raises(TypeError, match=f"`file` must be the name of a file, .* got {file}"):
        report(per_query, file)


def test_a_folder_that_is_not_there_is_an_error(per_query, tmp_path):
    with pytest.raises(FileNotFoundError):
        report(per_query, tmp_path / "absent" / "page.html")


def test_without_vl_convert_it_is_said_what_to_install(per_query, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(ImportError, match=re.escape('pip install "vl-convert-python>=1.9"')):
        report(per_query, tmp_path / "page.html")


def test_importing_it_loads_nothing_slow():
    code = (
        "import sys; from polars_graded import report;"
        "print([name for name in ('altair', 'scipy', 'vl_convert') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout == "[]\n"


# The page in a browser.


SECTIONS = ("#rank", "#recall", "#histogram")
"""The charts that have colours."""


@pytest.fixture
def shown(page: WebDriver, tmp_path: Path) -> Callable[..., Page]:
    """Write a report and open it."""

    def shown(frame: pl.DataFrame, *measures: str, **options: Any) -> Page:
        return Page(page).open(report(frame, tmp_path / "page.html", *measures, **options))

    return shown


def test_the_page_is_drawn_quietly(per_query, shown):
    page = shown(per_query, title="A & B")
    assert page.driver.title == page.text("h1") == "A & B"
    assert page.text("#about") == "3 strategies, 80 queries."
    for section in SECTIONS:
        assert page.colours(section) >= 1
    assert len(page.forest()) == 3
    assert list(page.rows("#strategies")) == STRATEGIES
    assert len(page.lines("#rank")) == len(page.lines("#recall")) == 3
    assert page.text("#rank h2") == "Curves by rank: mean over 80 queries"
    means = summarise(per_query, "mu_ap").sort("mean", descending=True)["mean"]
    cells = page.rows("#strategies").values()
    assert [float(first.split()[0]) for first, *_ in cells] == pytest.approx(means, abs=6e-5)
    page.quiet()


def test_the_histogram_has_a_bar_a_query_and_counts_as_compare_does(per_query, shown):
    page = shown(per_query, baseline="weak")
    expected = (
        compare(per_query, "r_precision", baseline="weak")
        .filter(strategy="strong")
        .row(0, named=True)
    )
    page.choose("#measure", "r_precision")
    note = page.text("#histogram .note")
    assert page.text("#histogram h2") == "Query by query: strong against weak"
    assert len(page.bars()) == 80
    assert (
        f"strong is better in {expected['wins']} queries, weak in {expected['losses']}, "
        f"{expected['ties']} tie" in note
    )
    page.choose("#measure", "ap")
    page.choose("#a", "fair")
    expected = compare(per_query, "ap", baseline="weak").filter(strategy="fair").row(0, named=True)
    assert f"better in {expected['wins']} queries" in page.text("#histogram .note")
    assert page.text("#histogram h2") == "Query by query: fair against weak"
    page.choose("#b", "fair")
    assert page.text("#histogram h2") == "Query by query: strong against fair"
    page.quiet()


def test_a_click_on_a_bar_shows_its_query_everywhere(per_query, shown):
    page = shown(per_query)
    page.choose("#measure", "r_precision")
    page.choose("#against", "weak")
    before = page.lines("#rank"), page.lines("#recall")
    bar = page.bars()[0]
    page.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", bar)
    bar.click()
    page.drawn()
    best = per_query.pivot("strategy", index="query", values="r_precision").sort(
        pl.col("strong") - pl.col("fair"), "query", descending=[True, False]
    )
    query = best["query"][0]
    assert page.one("#query").get_property("value") == str(query)
    assert page.text("#rank h2") == f"Curves by rank: query {query}"
    assert page.text("#recall h2") == f"Precision by recall: query {query}"
    assert f"Query {query}: " in page.text("#histogram .note")
    assert page.lines("#rank") != before[0]
    assert page.lines("#recall") != before[1]
    assert len(page.all("#histogram .mark-rule line[stroke='#1b1f24']")) == 1
    values = {strategy: cells[1::2] for strategy, cells in page.rows("#strategies").items()}
    for strategy in STRATEGIES:
        row = per_query.filter(strategy=strategy, query=query).select(NUMBERS).row(0)
        assert [float(value) for value in values[strategy]] == pytest.approx(row, abs=6e-5)
    ap = dict(per_query.filter(query=query).select("strategy", "r_precision").rows())
    found = float(page.rows("#comparison")["strong"][-1].replace("\N{MINUS SIGN}", "-"))
    assert found == pytest.approx(ap["strong"] - ap["weak"], abs=6e-5)
    page.click("#next")
    assert page.text("#rank h2") == f"Curves by rank: query {best['query'][1]}"
    page.click("#previous")
    assert page.text("#rank h2") == f"Curves by rank: query {query}"
    page.click("#clear")
    assert (page.lines("#rank"), page.lines("#recall")) == before
    assert page.one("#query").get_property("value") == ""
    assert not page.all("#histogram .mark-rule line[stroke='#1b1f24']")
    page.quiet()


# What is drawn, against the frame.


def test_lines_are_the_means_and_the_curves_of_each_strategy(per_query, shown):
    page = shown(per_query)
    swatches = page.swatches("#strategies")
    assert len(set(swatches.values())) == 3
    assert page.swatches("#legend") == swatches
    for query in (None, 7, 31):
        if query is not None:
            page.find(str(query))
        rows = per_query if query is None else per_query.filter(query=query)
        for section, column in (("#rank", "dcg_curve@20"), ("#recall", "interpolated_precision")):
            drawn = page.curves(section)
            ideal = drawn.pop("ideal", None)
            assert sorted(drawn) == sorted(STRATEGIES)
            for strategy, (stroke, values) in drawn.items():
                expected = np.mean(rows.filter(strategy=strategy)[column].to_list(), axis=0)
                np.testing.assert_allclose(values, expected, atol=2e-5 * expected.max())
                assert stroke == swatches[strategy]
            if section == "#rank":
                expected = np.mean(rows["ideal_dcg_curve@20"].to_list(), axis=0)
                np.testing.assert_allclose(ideal[1], expected, atol=2e-5 * expected.max())
            else:
                assert ideal is None
    page.quiet()


def test_the_ideal_is_drawn_where_a_strategy_has_no_curve(shown):
    page = shown(SOME, missing="drop")
    page.find("2")
    drawn = page.curves("#rank")
    assert sorted(drawn) == ["b", "ideal"]
    assert drawn["ideal"][1] == pytest.approx([6, 7], rel=1e-4)
    assert drawn["b"][1] == pytest.approx([2, 3], rel=1e-4)
    page.quiet()


def test_means_have_their_intervals_and_the_best_of_each_is_marked(per_query, shown):
    page = shown(per_query, *NUMBERS)
    summary = {m: summarise(per_query, m).rows_by_key("strategy", named=True) for m in NUMBERS}
    best = "return [...document.querySelectorAll('#strategies td.best')].map((e) => e.textContent)"
    rows = page.rows("#strategies")
    for strategy, cells in rows.items():
        for measure, cell in zip(NUMBERS, cells, strict=True):
            (row,) = summary[measure][strategy]
            mean, margin = cell.split()
            assert float(mean) == pytest.approx(row["mean"], abs=6e-5)
            assert margin.startswith("±")
            assert float(margin[1:]) == pytest.approx(row["ci_high"] - row["mean"], abs=6e-5)
    # The best of each measure, and those that no test tells from it.
    comparison = compare(per_query, *NUMBERS)
    expected = []
    for strategy, cells in rows.items():
        for measure, cell in zip(NUMBERS, cells, strict=True):
            pairs = comparison.filter(measure=measure).filter(pl.col("p_corrected") <= 0.05)
            first = max(summary[measure], key=lambda name: summary[measure][name][0]["mean"])
            worse = {
                name
                for both in pairs.select("strategy", "baseline").rows()
                for name in both
                if first in both
            } - {first}
            expected += [] if strategy in worse else [cell]
    assert page.driver.execute_script(best) == expected
    assert 0 < len(expected) < len(rows) * len(NUMBERS)
    page.quiet()


def test_strategies_come_in_the_order_of_a_measure(shown):
    frame = pl.DataFrame(
        {
            "strategy": ["a", "b", "c"],
            "query": 1,
            "ap": [0.3, 0.1, 0.2],
            "mine": [0.1, 0.3, 0.2],
            "e_measure@5": [0.2, 0.3, 0.1],
        }
    )
    page = shown(frame, "ap", {"mine": "highest"}, "e_measure@5")
    assert list(page.rows("#strategies")) == ["a", "c", "b"]
    page.click("#strategies th:nth-child(3) button")
    assert list(page.rows("#strategies")) == ["b", "c", "a"]
    page.click("#strategies th:nth-child(4) button")
    assert list(page.rows("#strategies")) == ["c", "a", "b"]
    page.quiet()


@pytest.fixture(scope="module")
def doubtful() -> pl.DataFrame:
    """Three strategies, of which one is hardly better than another: p is about 0.2."""
    good = np.tile([0.5, 0.6, 0.7, 0.8], 5)
    hardly = good - np.tile([0.2, -0.1, 0.1, -0.1, 0.0], 4)
    values = np.concatenate([good, hardly, good / 4])
    strategies = np.repeat(["good", "hardly", "bad"], 20)
    return pl.DataFrame({"strategy": strategies, "query": [*range(20)] * 3, "ap": values})


@pytest.mark.parametrize("against", ["every pair", "bad", "good"])
def test_differences_are_drawn_as_compare_has_them(doubtful, shown, against):
    page = shown(doubtful)
    page.choose("#against", against)
    ends = ["simultaneous_low", "simultaneous_high"]
    one = compare(doubtful).select("strategy", "baseline", "difference", *ends, "p_corrected")
    turned = [-pl.col(name) for name in ("difference", *ends)]
    other = one.select(
        pl.col("baseline").alias("strategy"),
        pl.col("strategy").alias("baseline"),
        *turned,
        "p_corrected",
    ).rename(dict(zip(ends, ends[::-1], strict=True)))
    other = other.select(one.columns)
    every = against == "every pair"
    wanted = pl.col("difference") > 0 if every else pl.col("baseline") == against
    expected = pl.concat([one, other]).filter(wanted).sort("difference", descending=True)
    drawn = page.forest()
    names = [f"{a} − {b}" if every else a for a, b in expected[:, :2].iter_rows()]
    assert sorted(drawn, key=lambda pair: drawn[pair]["y"]) == names
    strokes: dict[bool, set[str]] = {True: set(), False: set()}
    for name, (at, *both, p) in zip(names, expected[:, 2:].iter_rows(), strict=True):
        found = [drawn[name]["at"], *drawn[name]["ends"]]
        assert found == pytest.approx([at, *both], abs=2e-3)
        assert (drawn[name]["fill"] == "white") == (p >= 0.05)
        strokes[p < 0.05].add(drawn[name]["stroke"])
    assert not strokes[True] & strokes[False]
    written = [
        "< 0.001" if p < 0.001 else "1" if p > 0.99995 else f"{p:.4f}"
        for p in expected["p_corrected"]
    ]
    assert page.texts(f"#comparison tbody tr > :nth-child({4 + every})") == written
    small = [text for text in written if text.startswith("<") or float(text) < 0.05]
    assert page.texts("#comparison td.best") == small
    assert len(small) < len(written) or against == "bad"
    page.quiet()


def test_hollow_points_are_hollow_in_the_legend(doubtful, shown):
    page = shown(doubtful)
    kinds = ["corrected p ≤ 0.05", "not significant"]
    held = "95 % interval corrected by Holm's method, as p is"
    assert page.texts("#comparison .legend li:not([hidden]) span") == [*kinds, held]
    script = """return [...document.querySelectorAll('#comparison .legend circle')]
        .map((dot) => [dot.getAttribute('fill'), dot.getAttribute('stroke')])"""
    filled, hollow = page.driver.execute_script(script)
    drawn = {(row["fill"], row["stroke"]) for row in page.forest().values()}
    assert drawn == {tuple(filled), ("white", hollow[1])}
    page = shown(doubtful, correction="none")
    kinds = ["p ≤ 0.05", "not significant", "95 % interval of one difference"]
    assert page.texts("#comparison .legend li:not([hidden]) span") == kinds
    page.quiet()


@pytest.mark.parametrize(("queries", "sides"), [(80, ("strong", "weak")), (20, ("weak", "fair"))])
def test_bars_are_the_differences_in_the_colour_of_the_better(per_query, shown, queries, sides):
    frame = per_query.filter(pl.col("query") <= queries)
    page = shown(frame)
    page.choose("#measure", "r_precision")
    a, b = sides
    page.choose("#a", a)
    page.choose("#b", b)
    page.choose("#a", a)
    swatches = page.swatches("#strategies")
    # What rounding alone sets apart is the same on the page.
    expected = differences(frame, "r_precision", a, b).sort(
        pl.col("difference").round(6), "query", descending=[True, False]
    )
    drawn = page.heights()
    assert [bar["query"] for bar in drawn] == [str(q) for q in expected["query"]]
    wins = [expected.filter(winner=side).height for side in sides]
    labels = dict(
        zip(sides, [f"{a} is better in {wins[0]}", f"{b} is better in {wins[1]}"], strict=True)
    )
    for bar, row in zip(drawn, expected.iter_rows(named=True), strict=True):
        ends = sorted([row["difference"], 0.0])
        assert sorted([bar["top"], bar["bottom"]]) == pytest.approx(ends, abs=1e-4)
        if row["winner"]:
            assert bar["better"] == row["winner"]
            assert bar["fill"] == swatches[row["winner"]]
    assert page.texts("#histogram .legend li") == list(labels.values())
    title = "query, by falling difference" if queries > 60 else "query"
    assert page.texts("#histogram .role-axis-title text") == [title, "difference"]
    assert page.texts("#histogram .role-title text") == [f"r_precision of {a} minus that of {b}"]
    page.quiet()


@pytest.mark.parametrize("queries", [80, 20])
def test_any_place_of_a_query_can_be_clicked_on(per_query, shown, queries):
    page = shown(per_query.filter(pl.col("query") <= queries))
    order = [bar["query"] for bar in page.heights()]
    last = queries - 1
    for place, height in ((0, 0.99), (last - 2, 0.02), (last, 0.02), (last // 2, 0.98)):
        page.hit((place + 0.5) / queries, height)
        assert page.text("#status") == f"Query {order[place]} is shown."
    page.hit(0.5, -0.1)  # the legend
    assert page.text("#status") == f"Query {order[last // 2]} is shown."
    page.quiet()


@of_few
def test_a_query_that_a_strategy_lacks_is_in_no_part_of_a_measure(shown):
    frame = pl.DataFrame(
        {
            "strategy": ["a"] * 3 + ["b"] * 3 + ["c"] * 3,
            "query": [1, 2, 3] * 3,
            "ap": [0.9, 0.8, 0.1, 0.5, 0.5, 0.5, 0.1, 0.1, None],
        }
    )
    page = shown(frame, missing="drop")
    assert "a is better in 2 queries, b in 0, 0 ties" in page.text("#histogram .note")
    assert page.rows("#comparison")["a"][-3:] == ["2", "0", "0"]
    assert [bar["query"] for bar in page.heights()] == ["1", "2"]
    for query in ("1", "2", "1"):
        page.click("#next")
        assert page.text("#status") == f"Query {query} is shown."
    page.find("3")
    assert "left out, since a strategy has no value" in page.text("#histogram .note")
    assert page.rows("#strategies")["a"][-1] == "0.1000"
    page.quiet()


def test_queries_whose_names_are_alike_are_all_found(shown):
    frame = pl.DataFrame({"query": ["null", None, ""], "ap": [0.1, 0.2, 0.3]})
    page = shown(pl.concat([frame.with_columns(strategy=pl.lit(name)) for name in ("a", "b")]))
    for name, value in (("null", "0.1000"), ("(null)", "0.2000"), ("empty", "0.3000")):
        page.find(name)
        assert page.rows("#strategies")["a"][-1] == value
    page.quiet()


def test_a_chart_that_cannot_be_drawn_keeps_no_other_from_it(per_query, shown):
    page = shown(per_query)
    page.driver.execute_script(
        """document.querySelector('#forest').view.runAsync =
            () => Promise.reject(new Error('out of ink'))"""
    )
    page.choose("#measure", "ap")
    assert page.text("#forest") == "This chart could not be drawn: out of ink"
    assert "out of ink" in console_errors(page.driver)[0]
    page.find("7")
    assert page.text("#rank h2") == "Curves by rank: query 7"
    assert len(page.lines("#rank")) == 3
    page.choose("#measure", "mu_ap")
    assert len(page.forest()) == 3
    page.quiet()


def test_a_query_is_found_by_its_name(per_query, shown):
    page = shown(per_query)
    page.find("17")
    assert page.text("#recall h2") == "Precision by recall: query 17"
    page.find("170")
    assert page.text("#status") == "There is no query 170."
    assert page.text("#recall h2") == "Precision by recall: query 17"
    page.find("")
    assert page.text("#recall h2") == "Precision by recall: mean over 80 queries"
    page.quiet()


def test_a_strategy_that_is_not_chosen_is_drawn_nowhere(per_query, shown):
    page = shown(per_query)
    strong = page.lines("#rank")[1]
    page.uncheck("strong")
    assert len(page.lines("#rank")) == len(page.lines("#recall")) == 2
    assert strong not in page.lines("#rank")
    assert list(page.rows("#comparison")) == ["fair"]
    assert page.texts("#legend li") == ["fair", "weak"]
    assert page.text("#histogram h2") == "Query by query: fair against weak"
    page.click("#none")
    assert [e.text for e in page.all(".empty") if e.is_displayed()] == [
        "Choose at least two strategies to compare.",
        "Choose a strategy to draw.",
        "Choose a strategy to draw.",
    ]
    page.click("#all")
    assert len(page.lines("#rank")) == 3
    page.quiet()


def test_the_comparison_can_be_read_from_any_side(per_query, shown):
    page = shown(per_query)
    assert list(page.rows("#comparison")) == ["strong", "fair"]  # strong twice, each the better
    page.choose("#against", "strong")
    rows = page.rows("#comparison")
    assert list(rows) == ["fair", "weak"]
    expected = compare(per_query, "mu_ap", baseline="strong").row(0, named=True)
    read = [cell.replace("\N{MINUS SIGN}", "-") for cell in rows["fair"]]
    assert float(read[0]) == pytest.approx(expected["difference"], abs=6e-5)
    # The interval is corrected as its p is.
    both = {"fair", "strong"}
    pair = next(
        row
        for row in compare(per_query, "mu_ap").iter_rows(named=True)
        if {row["strategy"], row["baseline"]} == both
    )
    turned = sorted(
        pair[f"simultaneous_{end}"] * (1 if pair["strategy"] == "fair" else -1)
        for end in ("low", "high")
    )
    ends = [float(end) for end in read[1].split(" to ")]
    assert ends == pytest.approx(turned, abs=6e-5)
    assert read[3:6] == [str(expected[name]) for name in ("wins", "ties", "losses")]
    page.choose("#measure", "ap")
    page.click("#comparison tbody tr:last-child button")
    assert page.text("#histogram h2") == "Query by query: weak against strong"
    assert page.text("#histogram .note").startswith("ap of weak minus that of strong")
    page.quiet()


def test_where_lower_is_better_wins_are_turned(shown):
    frame = pl.DataFrame(
        {
            "strategy": ["a"] * 3 + ["b"] * 3,
            "query": [1, 2, 3] * 2,
            "e_measure@5": [0.1, 0.2, 0.3, 0.4, 0.5, 0.2],
        }
    )
    page = shown(frame)
    assert list(page.rows("#strategies")) == ["a", "b"]
    assert "a is better in 2 queries, b in 1, 0 ties" in page.text("#histogram .note")
    assert page.rows("#comparison")["a"][-3:] == ["2", "0", "1"]
    page.quiet()


def test_few_queries_have_their_names_under_their_bars(per_query, shown):
    page = shown(per_query.filter(pl.col("query") <= 5))
    assert sorted(page.texts("#histogram .role-axis-label text"))[-5:] == list("12345")
    page.find("3")
    assert "Query 3: " in page.text("#histogram .note")
    page.bars()[-1].click()
    page.drawn()
    assert page.text("#status") != "Query 3 is shown."
    page.quiet()


def test_odd_names_are_text(per_query, shown):
    frame = per_query.filter(pl.col("query") <= 70).with_columns(
        pl.col("strategy").replace_strict(ODD),
        query=pl.when(query=1)
        .then(pl.lit("<img src=x onerror=alert(1)> \"'\\ ${q}"))
        .otherwise(pl.col("query").cast(str)),
    )
    page = shown(frame, title="<b>{{script}}</b>")
    assert page.text("h1") == "<b>{{script}}</b>"
    assert list(page.rows("#strategies")) == [ODD[name] for name in STRATEGIES]
    assert len(page.lines("#rank")) == 3
    page.find("<img src=x onerror=alert(1)> \"'\\ ${q}")
    assert page.text("#rank h2").startswith("Curves by rank: query <img")
    assert not page.all("img")
    page.uncheck(ODD["strong"])
    assert len(page.lines("#rank")) == 2
    assert ODD["strong"] not in page.rows("#comparison")
    page.quiet()


EMPTY = [
    (["ap"], STRATEGIES, ["rank", "recall"]),
    (["ap", "dcg_curve@20"], STRATEGIES, ["recall"]),
    (["dcg_curve@20"], STRATEGIES, ["recall", "histogram", "explore"]),
    (["ap", "interpolated_precision"], ["weak"], ["rank", "histogram", "explore"]),
]


@pytest.mark.parametrize(("columns", "strategies", "hidden"), EMPTY)
def test_what_is_not_there_has_no_heading(per_query, shown, columns, strategies, hidden):
    frame = per_query.select(KEYS, *columns).filter(pl.col("strategy").is_in(strategies))
    page = shown(frame)
    found = [section.get_dom_attribute("id") for section in page.all("section[hidden]")]
    assert found == hidden
    headings = [each for each in page.all("h2") if each.is_displayed()]
    assert all(each.text.strip() for each in headings)
    assert bool(page.texts(".absent:not(:empty)")) == ("histogram" in hidden)
    # A reader of the page evaluates nothing.
    assert not re.search(r"\bAdd\b", page.text("main"))
    page.click("#next")
    assert page.text("#status").startswith("Query ")
    page.quiet()


def test_one_query_and_missing_values_are_shown(per_query, shown):
    holes = pl.when(pl.col("strategy") != "weak").then(pl.col("ap", "dcg_curve@20")).name.keep()
    frame = per_query.filter(query=1).with_columns(holes)
    page = shown(frame, missing="drop")
    assert page.text("#about") == "3 strategies, 1 query."
    page.click("#next")
    assert page.rows("#strategies")["weak"][6:8] == ["–", "–"]
    assert len(page.lines("#rank")) == 2
    page.quiet()


def test_25_strategies_and_1000_queries_open(large, page):
    start = time.perf_counter()
    opened = Page(page).open(large)
    print(f"drawn after {time.perf_counter() - start:.2f} s, {large.stat().st_size / 1e6:.2f} MB")
    assert len(opened.lines("#rank")) == len(opened.lines("#recall")) == 25
    assert len(opened.bars()) == 1000
    for section in SECTIONS:
        assert opened.colours(section) >= 1
    start = time.perf_counter()
    opened.click("#next")
    print(f"a query after {time.perf_counter() - start:.2f} s")
    assert opened.text("#rank h2").startswith("Curves by rank: query ")
    opened.quiet()


def test_a_million_queries_open(shown):
    page = shown(random_results(2, 1_000_000, "ap"))
    assert page.text("#about").startswith("2 strategies, 1,000,000 queries. 5,000 of them")
    assert page.text("#status") == "Means over 1,000,000 queries are shown."
    assert len(page.bars()) == 5000
    assert "Of the 5,000 queries here, system " in page.text("#histogram .note")
    page.hit(0.5, 0.5)
    assert page.text("#status").startswith("Query ")
    assert len(page.all("#histogram .mark-rule line[stroke='#1b1f24']")) == 1
    page.quiet()


def test_each_of_thousands_of_queries_has_a_bar(shown):
    frame = random_results(2, 2500, "ap")
    page = shown(frame)
    a, b = summarise(frame, "ap").sort("mean", descending=True)["strategy"]
    expected = differences(frame, "ap", a, b)["difference"].to_numpy()
    ends = [bar["top"] + bar["bottom"] for bar in page.heights()]  # one of both is 0
    assert ends == pytest.approx(expected, abs=2e-3)
    won = [(expected > 0).sum(), (expected < 0).sum()]
    assert page.texts("#histogram .legend li") == [
        f"{a} is better in {won[0]:,}",
        f"{b} is better in {won[1]:,}",
    ]
    page.quiet()


ODD_NAMES = ["constructor", "__proto__", "two\nlines", "a\u2028b", "nul\0", "toString"]


def test_names_that_a_script_has_for_its_own_are_names(shown):
    n = len(ODD_NAMES)
    frame = pl.DataFrame(
        {
            "strategy": [name for name in ODD_NAMES for _ in ODD_NAMES],
            "query": ODD_NAMES * n,
            "ap": np.random.default_rng(0).random(n * n),
            "dcg_curve@2": np.random.default_rng(1).random((n * n, 2)),
        }
    ).with_columns(pl.col("dcg_curve@2").arr.to_list())
    page = shown(frame)
    assert sorted(page.rows("#strategies")) == sorted(ODD_NAMES)
    assert len(page.lines("#rank")) == n
    page.choose("#against", "constructor")
    assert len(page.all("#forest .mark-symbol.role-mark path")) == n - 1
    assert len(page.heights()) == n
    page.find("__proto__")
    assert page.text("#status") == "Query __proto__ is shown."
    assert len(page.all("#histogram .mark-rule line[stroke='#1b1f24']")) == 1
    page.quiet()


PRINTED = """const [paper, shapes] = [document.documentElement.clientWidth, {}];
    for (const chart of document.querySelectorAll('.chart:has(svg)')) {
        const marks = [...chart.querySelectorAll('.role-mark path, .role-mark line')];
        const boxes = marks.filter((mark) => mark.getAttribute('d') !== '')
            .map((mark) => mark.getBoundingClientRect());
        const [left, right] = [Math.min(...boxes.map((b) => b.left)),
            Math.max(...boxes.map((b) => b.right))];
        const seen = boxes.filter((b) => b.left >= -1 && b.right <= paper + 1).length;
        shapes[chart.closest('section').id] = [seen, boxes.length, (right - left) / paper];
    }
    return shapes"""


@pytest.mark.parametrize("width", [900, 1400])
def test_nothing_is_cut_on_paper(per_query, shown, width):
    page = shown(per_query)
    driver = page.driver
    driver.set_window_size(width, 1000)
    driver.execute_script("""window.asked = 0;
        window.addEventListener('beforeprint', () => { window.asked += 1; })""")
    page.drawn()
    # The page as it is laid out on A4 across, within its margins.
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    size = {"width": 970, "height": 680, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    driver.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    try:
        for section, (seen, drawn, share) in driver.execute_script(PRINTED).items():
            assert (section, seen) == (section, drawn)
            # Intervals stand beside their table, and curves side by side.
            least = {"comparison": 0.15, "rank": 0.3, "recall": 0.3, "explore": 0.4}.get(
                section, 0.5
            )
            assert share > least, section
        assert len(page.bars()) == 80
        assert len(page.forest()) == 3
        said = [e.text for e in page.all(".said") if e.is_displayed()]
        assert said == ["mu_ap", "every pair", "strong", "fair"]
        assert not [e for e in page.all("select, #bar button") if e.is_displayed()]
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    before = driver.execute_script("return window.asked")
    driver.print_page()
    assert driver.execute_script("return window.asked") > before
    page.quiet()


def test_nothing_is_wider_than_the_window(large, page):
    opened = Page(page).open(large)
    script = """return ['html', ...document.querySelectorAll('.scroll')].map((box) => {
        const at = box === 'html' ? document.documentElement : box;
        return at.scrollWidth - at.clientWidth;
    })"""
    for width in (900, 1400):
        page.set_window_size(width, 1000)
        for step in ("#next", "#clear"):
            opened.click(step)
            # Charts follow the window a moment later.
            deadline = time.monotonic() + 5
            while any(page.execute_script(script)) and time.monotonic() < deadline:
                time.sleep(0.02)
            assert not any(page.execute_script(script))
    opened.quiet()


@pytest.mark.parametrize(
    "names", [("A", "B"), ("B", "A"), ("first", "baseline"), ("<b>", "second")]
)
def test_the_page_says_names_whatever_they_are(names, shown):
    """The one that is better more often has its name beside that number, everywhere."""
    better, worse = names
    values = {better: [0.9, 0.8, 0.1, 0.7], worse: [0.5, 0.5, 0.5, 0.5]}
    frame = pl.DataFrame(
        [(name, q, value) for name in names for q, value in enumerate(values[name])],
        schema=["strategy", "query", "ap"],
        orient="row",
    )
    page = shown(frame)
    assert f"{better} is better in 3 queries, {worse} in 1, 0 ties" in page.text("#histogram .note")
    assert page.texts("#histogram .legend li") == [
        f"{better} is better in 3",
        f"{worse} is better in 1",
    ]
    chosen = page.text("#explore .chosen")
    assert f"the mean of {better} is 0.6250" in chosen
    assert f"that of {worse} 0.5000" in chosen
    page.quiet()


def test_every_number_of_the_page_is_that_of_compare_and_summarise(shown):
    names, measures = ["A", "B", "baseline", "<b>"], ["ap", "ndcg@10"]
    rng = np.random.default_rng(4)
    values = (
        rng.choice([0, 0.25, 0.5, 1.0], (len(names) * 30, 2))
        * np.repeat([1, 0.7, 1, 0.2], 30)[:, None]
    )
    keys = {"strategy": np.repeat(names, 30), "query": np.tile(np.arange(30), len(names))}
    frame = pl.DataFrame(keys | dict(zip(measures, values.T, strict=True)))
    page = shown(frame)
    number = lambda value: f"{value:.4f}".replace("-", "−")  # noqa: E731
    table = page.rows("#strategies")
    for row in summarise(frame).rows(named=True):
        cell = table[row["strategy"]][measures.index(row["measure"])]
        mean, margin = re.match(r"(\S+)(?: \*)? ±(\S+)", cell).groups()
        assert mean == number(row["mean"])
        assert margin == number(row["mean"] - row["ci_low"])
    cells = """return [...document.querySelectorAll('#comparison tbody tr')]
        .map((row) => [...row.children].map((cell) => cell.textContent))"""
    for measure in measures:
        page.choose("#measure", measure)
        found = {tuple(row[:2]): row[2:] for row in page.driver.execute_script(cells)}
        pairs = compare(frame).filter(measure=measure)
        assert len(found) == pairs.height
        for row in pairs.rows(named=True):
            sides, sign = (row["strategy"], row["baseline"]), 1
            wins, losses = row["wins"], row["losses"]
            ends = [row["simultaneous_low"], row["simultaneous_high"]]
            if sides not in found:
                sides, sign, wins, losses = sides[::-1], -1, losses, wins
                ends = [-end for end in ends[::-1]]
            difference = sign * row["difference"]
            assert found[sides] == [
                ("+" if difference > 0 else "") + number(difference),
                " to ".join(map(number, ends)),
                "< 0.001" if row["p_corrected"] < 0.001 else number(row["p_corrected"]),
                *map(str, (wins, row["ties"], losses)),
            ]
        means = dict(summarise(frame, measure).select("strategy", "mean").rows())
        best, second = sorted(names, key=means.__getitem__, reverse=True)[:2]
        chosen = page.text("#explore .chosen")
        assert f"mean of {best} is {number(means[best])} " in chosen
        assert f"that of {second} {number(means[second])} " in chosen
        verdict = " ".join(page.text("#verdict p").split())
        assert (
            f": {best} has the best mean {measure}, {number(means[best])} over 30 queries, "
            in verdict
        )
    page.quiet()


def test_the_same_results_make_the_same_file_with_documents_too(tmp_path):
    frame = datasets.example(10)
    per_query = evaluate(frame, "ap", by=["strong", "weak"])
    made = [
        report(per_query, tmp_path / name, frame=frame, by=["strong", "weak"], date=dt.date.min)
        for name in ("one.html", "other.html")
    ]
    assert made[0].read_bytes() == made[1].read_bytes()
