"""What the page of a report contains: numbers of the results, charts, and names as text."""

from __future__ import annotations

import datetime as dt
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import polars as pl
import pytest
from report_page import Report, interval, number
from results import drawn, frame_of, of_few, shop

from polars_graded import (
    DataWarning,
    charts,
    compare,
    datasets,
    differences,
    evaluate,
    overview,
    report,
    summarise,
)
from polars_graded._report import sections
from polars_graded._sentences import format_p, format_percent

if TYPE_CHECKING:
    from collections.abc import Callable

vl_convert = pytest.importorskip("vl_convert", reason="vl-convert is not installed")

pytestmark = of_few

BY = ["fair", "strong", "weak"]
MEASURES = ["ndcg@10", "e_measure@5", "n_relevant"]
CURVES = ["dcg_curve@5", "ideal_dcg_curve@5", "interpolated_precision"]
FOUR = {"a": [0.5, 0.6, 0.7, 0.9], "b": [0.4, 0.3, 0.5, 0.1]}


@pytest.fixture(scope="module")
def ranked() -> pl.DataFrame:
    frame = datasets.example(25, seed=3).with_columns(
        doc=pl.format("d{}", "doc"), title=pl.format("Title of {} <b>", "doc")
    )
    unjudged = pl.when(pl.col("doc") != "d3").then("grade").alias("grade")
    return frame.with_columns(unjudged, pl.when(pl.col("doc") != "d5").then("weak").alias("weak"))


@pytest.fixture(scope="module")
def per_query(ranked) -> pl.DataFrame:
    return evaluate(ranked, MEASURES, CURVES, by=BY)


@pytest.fixture(scope="module")
def page(per_query, ranked, tmp_path_factory) -> Report:
    file = tmp_path_factory.mktemp("report") / "page.html"
    return Report(report(per_query, file, baseline="fair", frame=ranked, by=BY, titles="title"))


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., Report]:
    def made(results: pl.DataFrame, /, *measures: Any, **options: Any) -> Report:
        return Report(report(results, tmp_path / "page.html", *measures, **options))

    return made


@pytest.fixture
def undrawn(monkeypatch) -> None:
    """Charts take most of the time of a report."""
    figure = sections.Figure("none", "none", is_filled=False)
    monkeypatch.setattr(sections.Figures, "draw", lambda *_, **__: figure)


def close(value: Any) -> Any:
    return pytest.approx(value, abs=5.1e-5)


# Numbers.


def test_means_are_those_of_summarise(page, per_query):
    summary = summarise(per_query, *MEASURES)
    assert [section.name for section in page.sections] == MEASURES[:2]
    for section, measure in zip(page.sections, MEASURES, strict=False):
        table = section.tables[f"Means, ordered by {measure}"]
        others = [f"mean {other}" for other in MEASURES if other != measure]
        assert table.heads == ["strategy", f"mean {measure}", "95 % interval", *others]
        rows = summary.filter(measure=measure).sort("mean", descending=measure == "ndcg@10")
        assert [row[0] for row in table.rows] == rows["strategy"].to_list()
        for row in rows.iter_rows(named=True):
            name = row["strategy"]
            assert table.numbers(f"mean {measure}")[name] == close(row["mean"])
            ends = interval(table.column("95 % interval")[name])
            assert ends == close((row["ci_low"], row["ci_high"]))
        best = {cell for cells in table.bold for cell in cells}
        assert table.column(f"mean {measure}")[rows["strategy"][0]] in best
        [mean] = {*table.column("mean n_relevant").values()}
        assert mean == f"{summary.filter(measure='n_relevant')['mean'][0]:.4f}"
        assert mean not in best


def check_differences(section, comparison: pl.DataFrame, caption: str) -> None:
    table = section.tables[caption]
    assert len(table.rows) == comparison.height
    for row in comparison.iter_rows(named=True):
        [cells] = [each for each in table.rows if each[0] == row["strategy"]]
        ends = "simultaneous_low", "simultaneous_high"
        expected = format_p(row["p_corrected"])
        difference, shown, p, *counts = cells[1:]
        assert number(difference) == close(row["difference"])
        assert interval(shown) == close(tuple(row[end] for end in ends))
        assert p == expected
        assert [*map(int, counts)] == [row["wins"], row["ties"], row["losses"]]
        bold = table.bold[table.rows.index(cells)]
        assert bool(bold) == (row["p_corrected"] <= 0.05)


def test_differences_are_those_of_compare(page, per_query):
    comparison = compare(per_query, *MEASURES[:2], baseline="fair")
    for section in page.sections:
        rows = comparison.filter(measure=section.name)
        check_differences(section, rows, f"Differences of {section.name} from fair")
        assert page.rows(section.charts[0]) == [
            *map(finite, charts.comparison_forest(rows).data.rows(named=True))
        ]


def finite(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "panel"}


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(("n", "measure"), [(5, "ap"), (8, "e_measure@5")])
def test_many_strategies_are_compared_with_the_best(made, n, measure):
    frame = frame_of(drawn(12, n, seed=n), measure)
    [section] = made(frame).sections
    means = summarise(frame, measure).sort("mean", descending=measure == "ap")
    best = means["strategy"][0]
    rows = compare(frame, measure)
    turned = {"difference": -pl.col("difference")}
    turned |= {"strategy": pl.col("baseline"), "wins": pl.col("losses"), "losses": pl.col("wins")}
    turned |= {"simultaneous_low": -pl.col("simultaneous_high")}
    turned |= {"simultaneous_high": -pl.col("simultaneous_low")}
    with_best = [rows.filter(baseline=best), rows.filter(strategy=best).with_columns(**turned)]
    check_differences(section, pl.concat(with_best), f"Differences of {measure} from {best}")
    assert f"All {n * (n - 1) // 2} pairs were compared" in section.details


def test_histograms_have_every_query_and_their_table_the_extremes(page, per_query):
    for section in page.sections:
        _, *histograms, _ = section.charts
        assert len(histograms) == len(section.pairs) == 2
        for label, chart in zip(section.pairs, histograms, strict=True):
            a, b = label.split(" − ")
            assert b == "fair"
            expected = differences(per_query, section.name, a, b)
            rows = {row["query"]: row["difference"] for row in page.rows(chart)}
            assert rows == dict(expected.select(pl.col("query").cast(str), "difference").rows())
        best = "strong" if section.name == "ndcg@10" else section.pairs[0].split(" − ")[0]
        assert section.pairs[0] == f"{best} − fair"


def test_curves_are_means_over_the_queries_of_all_strategies(page, per_query):
    dcg, precision = page.figures(id="curves")
    for chart, curve in ((dcg, "dcg_curve@5"), (precision, "interpolated_precision")):
        for name in BY:
            lists = per_query.filter(strategy=name)[curve].to_list()
            shown = [row["value"] for row in page.rows(chart) if row["strategy"] == name]
            assert shown == pytest.approx(np.mean(lists, axis=0).tolist())
    assert "ideal" in page.rows(dcg)[0]


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("missing", ["error", "drop", "zero"])
def test_missing_values_are_left_out_or_zero(made, missing):
    frame = frame_of({"a": [0.5, 0.5, None, 0.5], "b": [0.25, None, None, 0.5]})
    frame = frame if missing != "error" else frame.filter(pl.col("query") != 1)
    page = made(frame, missing=missing)
    expected = summarise(frame, "ap", missing=missing)
    shown = page.sections[0].tables["Means, ordered by ap"].numbers("mean ap")
    assert shown == close(dict(expected.select("strategy", "mean").rows()))
    words = {"error": "undefined", "drop": "lacks", "zero": "count as 0"}
    assert words[missing] in page.settings["Missing values"]


def test_the_same_results_and_date_make_the_same_file(tmp_path, per_query, ranked):
    few, rows = (each.filter(pl.col("query") <= 4) for each in (per_query, ranked))
    options: dict[str, Any] = {"frame": rows, "by": BY, "date": dt.date(2024, 1, 1)}
    files = [report(few, tmp_path / f"{name}.html", "ndcg@10", **options) for name in "ab"]
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.usefixtures("undrawn")
def test_settings_have_the_arguments_that_give_rows_their_meaning(made, ranked):
    options: dict[str, Any] = {"by": BY, "max_grade": 4, "undefined_as": None}
    page = made(evaluate(ranked, "ap", **options), frame=ranked, doc=None, **options)
    assert (page.settings["Max grade"], page.settings["Undefined as"]) == ("4", "None")
    assert not {"Ties", "Irrelevant", "Relevant from", "Condensed"} & {*page.settings}


# Charts.


@pytest.mark.slow
def test_every_chart_can_be_drawn(page):
    """In light and in dark colours by turns."""
    for place, name in enumerate(page.specs):
        svg = vl_convert.vegalite_to_svg(page.chart(name, place % 2))
        assert "NaN" not in svg
        assert "undefined" not in svg


def test_each_chart_and_table_has_a_name_for_screen_readers(page):
    for chart in page.root.all("div", cls="chart"):
        assert chart.attributes["role"] == "img"
        assert len(chart.attributes["aria-label"]) > 20
    for table in page.root.all("table"):
        assert table.one("caption").text
    heads = [each.tag for each in page.root.all() if re.fullmatch("h[1-6]", each.tag)]
    assert heads[0] == "h1"
    assert {*heads[1:]} == {"h2"}


def test_the_number_of_histograms_is_limited_and_said(made, monkeypatch):

    monkeypatch.setattr(sections, "MAX_HISTOGRAMS", 4)
    frame = frame_of(drawn(9, 4)).with_columns(ndcg=pl.col("ap") / 2)
    page = made(frame)
    for section in page.sections:
        assert len(section.pairs) == 2
        assert "Histograms are shown for the first 2 of 3 pairs." in section.details


# Rankings.


def test_rankings_are_drawn_of_the_queries_with_the_largest_differences(page, per_query, ranked):
    assert len(page.queries) == 20
    first = differences(per_query, "ndcg@10", "strong", "fair")["query"]
    second = differences(
        per_query, "e_measure@5", page.sections[1].pairs[0].split(" − ")[0], "fair"
    )
    expected = [first[0], second["query"][0], first[-1], second["query"][-1]]
    assert page.queries[:4] == [*map(str, dict.fromkeys(expected))][:4]
    [chart] = page.figures(id="rankings")
    public = charts.rankings(
        ranked, int(page.queries[0]), "ndcg@10", n=10, by=["strong", "fair", "weak"], titles="title"
    )
    shown = [
        (row["strategy"], row["doc"])
        for row in page.rows(chart)
        if (row["part"], row["query"]) == ("document", page.queries[0])
    ]
    rows = public.data.filter(part="document").select("strategy", "doc").rows()
    assert sorted(shown) == sorted(rows)
    linked = [
        each.attributes["data-query"]
        for each in page.root.all("button")
        if "data-query" in each.attributes
    ]
    assert {*linked} <= {*page.queries}
    assert linked


def test_without_documents_there_is_an_overview_alone(made, ranked):
    frame = ranked.drop("doc")
    page = made(evaluate(frame, "ap", by=BY), frame=frame, by=BY, doc=None)
    assert page.queries == []
    table = page.tables["Ranked and judged documents"]
    expected = overview(frame, by=BY)
    assert [row[0] for row in table.rows] == expected["strategy"].to_list()
    assert table.column("queries") == dict.fromkeys(BY, "25")
    shares = expected["judged"].to_list()
    assert [*table.column("retrieved documents that are judged").values()] == [
        format_percent(share, 0) for share in shares
    ]


def test_scores_and_grades_may_be_expressions(made, ranked):
    """The page is that of a frame with the computed columns."""
    ranked = ranked.filter(pl.col("query") < 3)
    mixed, phi = pl.col("strong") + pl.col("weak"), pl.col("grade").graded.phi_relevance()
    exprs: dict[str, Any] = {"by": {"mixed": mixed, "weak": pl.col("weak")}, "grade": phi}
    computed = ranked.with_columns(mixed=mixed, grade=phi.over("query"))
    names: dict[str, Any] = {"by": ["mixed", "weak"]}
    results = evaluate(computed, "ap", **names, ties="doc")
    pages = [
        made(results, frame=frame, ties="doc", **options)
        for frame, options in ((ranked.lazy(), exprs), (computed, names))
    ]
    assert pages[0].datasets == pages[1].datasets


ODD = {
    "fair": "</script><script>throw 1</script>",
    "strong": "<!--<b onclick='x'>\"a.b[0]\"\\",
    "weak": "слабый {{ 7 * 7 }} 🙂",
}


@pytest.mark.parametrize("title", ["</title><script>alert(1)</script>", 'a "b" & c {{vega}}'])
def test_no_text_leaves_its_place(made, ranked, title):
    odd = {"query": pl.format("</script><img src=x onerror=alert({})>", "query")}
    frame = ranked.filter(pl.col("query") < 4).with_columns(**odd).rename(ODD)
    by = [*ODD.values()]
    results = evaluate(frame, "ap", "dcg_curve@3", by=by)
    page = made(results, title=title, frame=frame, by=by)
    assert page.text.count("<script") == page.text.count("</script>") == 3
    assert page.root.one("h1").text == page.root.one("title").text == title
    table = page.sections[0].tables["Means, ordered by ap"]
    assert sorted(row[0] for row in table.rows) == sorted(ODD.values())
    assert {*page.queries} == {*frame["query"].unique()}
    assert not page.root.all("img")
    policy = page.root.all("meta")[3].attributes["content"]
    assert policy.startswith("default-src 'none'; script-src 'unsafe-inline'")
    assert "http" not in policy


KINDS = {
    "one strategy": (frame_of({"a": [0.5, 0.25]}), {}),
    "ties": (frame_of({"a": [0.5, 0.5], "b": [0.5, 0.5]}), {}),
    "counts alone": (frame_of({"a": [5, 6], "b": [3, 4]}, "n_relevant"), {}),
    "null": (frame_of(FOUR).with_columns(query=pl.when(pl.col("query") > 0).then("query")), {}),
    "names of JavaScript": (frame_of({"__proto__": [0.5, 0.6], "constructor": [0.1, 0.3]}), {}),
    "a query of two columns": (
        frame_of(FOUR).with_columns(day=pl.lit(1)),
        {"query": ["query", "day"]},
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_any_results_have_a_page(made, kind):
    frame, options = KINDS[kind]
    page = made(frame, **options)
    for name in page.specs:
        vl_convert.vegalite_to_svg(page.chart(name))
    for section in page.sections:
        assert section.headline.endswith(".")
        assert section.tables


@pytest.mark.simulation
def test_25_strategies_and_3000_queries_are_below_5_mb(made):
    rng = np.random.default_rng(0)
    level = rng.random(3000)
    values = {
        f"system {i}": np.clip(level + rng.normal(i / 90, 0.2, 3000), 0, 1).tolist()
        for i in range(25)
    }
    frame = frame_of(values).with_columns(ndcg=pl.col("ap").sqrt())
    page = made(frame, {"ap": "highest", "ndcg": "highest"})
    assert len(page.text) < 5_000_000
    assert len(page.rows(page.sections[0].charts[1])) == 3000


ERRORS = [
    ({"query": "topic"}, pl.exceptions.ColumnNotFoundError, "no column 'topic'"),
    ({"baseline": "best"}, ValueError, "there is no strategy 'best'"),
    ({"test": "anova"}, ValueError, "`test` must be one of"),
    ({"test": "randomised_tukey", "correction": "holm"}, ValueError, "`correction` must be 'none'"),
    ({"frame": {}}, TypeError, "`frame` must be a data frame"),
    ({"titles": 3}, TypeError, "`titles` must be"),
    ({"by": "strong"}, ValueError, "`frame` must have the strategies fair, weak, got strong"),
]


@pytest.mark.parametrize(("options", "error", "sentence"), ERRORS)
def test_wrong_arguments_are_refused(tmp_path, ranked, options, error, sentence):
    results = evaluate(ranked, "ap", by=["fair", "weak"])
    with pytest.raises(error, match=sentence):
        report(
            results, tmp_path / "page.html", **{"frame": ranked, "by": ["fair", "weak"]} | options
        )
    assert not list(tmp_path.iterdir())


def test_segments_may_have_the_name_of_a_key_of_the_page(tmp_path):
    frame = frame_of(FOUR).rename({"query": "topic"}).with_columns(query=pl.col("topic") % 2)
    frame = frame.with_columns(pl.lit("x").alias("segment query"))
    for segments, head in (
        ("query", "segment query"),
        (["query", "segment query"], "segment query, segment segment query"),
        (["segment query", "query"], "segment query, segment segment query"),
    ):
        page = report(frame, tmp_path / "page.html", query="topic", segments=segments)
        [table] = (each for each in Report(page).tables.values() if each.heads[0] == head)
        assert len(table.rows) == 2


def test_a_page_contains_its_data_whatever_the_user_has_enabled(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    expected = report(frame_of(FOUR), "expected.html").read_bytes()
    with alt.data_transformers.enable("json"), alt.theme.enable("dark"):
        assert report(frame_of(FOUR), "page.html").read_bytes() == expected
        assert alt.data_transformers.active == "json"
    assert {each.name for each in tmp_path.iterdir()} == {"expected.html", "page.html"}


def test_without_vl_convert_it_is_said_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(ImportError, match=re.escape('pip install "vl-convert-python>=1.9"')):
        report(frame_of(FOUR), tmp_path / "page.html")


def test_a_page_treats_the_queries_of_a_cluster_as_dependent(tmp_path):
    terms = [f"term {n}" for n in range(40) for _ in range(5)]
    rows = {
        "term": terms * 2,
        "device": [*range(5)] * 80,
        "strategy": ["new"] * 200 + ["old"] * 200,
    }
    better = [0.5 + (0.1 if n % 5 < 3 else -0.1) for n in range(40) for _ in range(5)]
    frame = pl.DataFrame(rows).with_columns(ap=pl.Series([*better, *[0.5] * 200]))
    keys = {"query": ["term", "device"], "baseline": "old"}
    with pytest.warns(DataWarning.clusters):
        alone = report(frame, tmp_path / "r.html", **keys).read_text("utf-8")
    clustered = report(frame, tmp_path / "r.html", cluster="term", **keys).read_text("utf-8")
    assert "new is better than the baseline old" in alone
    assert " that of old (95 % interval" in alone
    assert "Undecided whether new is better than the baseline old" in clustered
    row = compare(frame, "ap", cluster="term", **keys).row(0, named=True)
    assert f"{row['ci_low']:.4f} to {row['ci_high']:.4f}".replace("-", "−") in clustered
    assert "200 queries in 40 clusters" in clustered


@pytest.mark.parametrize("baseline", [None, "old"])
def test_a_page_has_weights_and_compares_strategies_in_each_segment(tmp_path, baseline):
    frame = shop().drop("ndcg@10")
    units: dict[str, Any] = {"cluster": "term", "weights": "searches"}
    page = Report(report(frame, tmp_path / "r.html", baseline=baseline, segments="market", **units))
    html = (tmp_path / "r.html").read_text("utf-8")
    assert "120 queries in 30 clusters, weighted" in html
    assert "Queries with the largest differences of ap, without weights" in html
    key: dict[str, Any] = {"query": ["term", "market", "device"], **units}
    row = compare(frame, "ap", baseline="old", **key).row(0, named=True)
    ends = f"{row['ci_low']:.4f} to {row['ci_high']:.4f}".replace("-", "−")
    assert ends in html
    by_market = compare(frame, "ap", baseline="old", segments="market", **key)
    forests = [
        rows
        for rows in page.datasets.values()
        if rows and {"market", "difference", "ci_low"} <= {*rows[0]}
    ]
    [rows] = forests
    for drawn_row, expected in zip(rows, by_market.rows(named=True), strict=True):
        for name in ("market", "difference", "ci_low", "clusters", "effective_queries"):
            assert drawn_row[name] == pytest.approx(expected[name])
    points = [
        rows
        for rows in page.datasets.values()
        if rows and {"rank", "value", "ci_low"} <= {*rows[0]}
    ]
    [rows] = points
    last = frame.with_columns(ap=pl.col("dcg_curve@3").list.last())
    means = summarise(last, "ap", **key)
    found = {
        each["strategy"]: (each["value"], each["ci_low"]) for each in rows if each["rank"] == 3
    }
    for strategy, mean, low in means.select("strategy", "mean", "ci_low").rows():
        assert found[strategy] == pytest.approx((mean, low))


def test_a_segment_may_be_a_part_of_the_key_that_the_query_lacks(tmp_path):
    frame = shop().drop("device", "dcg_curve@3", "ndcg@10").unique(["strategy", "term", "market"])
    for query in (None, "term", ["market", "term"]):
        options: dict[str, Any] = {"query": query, "segments": "market", "cluster": "term"}
        html = report(frame, tmp_path / "r.html", **options).read_text("utf-8")
        assert "60 queries in 30 clusters" in html
        assert "Means of ap in segments" in html
