"""The report: what the page has is what was measured, it is safe, and its parts are linked."""

from __future__ import annotations

import base64
import datetime as dt
import json
import re
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from browser import colours, console_errors, requests_of

from polars_graded import compare, datasets, evaluate, summarise
from polars_graded.report import drawing_scripts, report

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from selenium.webdriver.remote.webdriver import WebDriver
    from selenium.webdriver.remote.webelement import WebElement

pytest.importorskip("vl_convert", reason="vl-convert is not installed")

NUMBERS = ["mu_ap", "ndcng@10", "ndcg@10", "ap", "r_precision"]
CURVES = ["dcg_curve@20", "ideal_dcg_curve@20", "interpolated_precision"]
STRATEGIES = ["strong", "fair", "weak"]
ODD = {
    "strong": "</script><script>throw 1</script>",
    "fair": "<!--<b onclick='x'>\"a.b[0]\"\\",
    "weak": "слабый 弱い 🙂",
}


@pytest.fixture(scope="module")
def per_query() -> pl.DataFrame:
    return evaluate(datasets.example(80), *NUMBERS, *CURVES, by=STRATEGIES)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of 25 strategies, 1000 queries, five measures, and curves."""
    frame = datasets.reference_rankings(1000, documents=40, uniform=False)
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


def payload(path: Path) -> dict[str, Any]:
    """What the page has, as its script reads it."""
    text = path.read_text(encoding="utf-8")
    (found,) = re.findall(r'<script type="application/json" id="payload">(.*?)</script>', text)
    return json.loads(found)


def numbers(packed: str, dtype: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(packed), dtype)


def unpacked(packed: dict[str, Any], page: dict[str, Any]) -> np.ndarray:
    """The points of a curve, by strategy, query and position."""
    n_queries = len(page["queries"])
    codes = numbers(packed["codes"], "<u2").reshape(packed["lines"], n_queries, -1)
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
        assert measure["bests"] == [1]  # strong


def test_the_best_is_the_lowest_where_lower_is_better_and_none_of_counts(per_query, written):
    frame = per_query.select(
        KEYS,
        pl.col("ap").alias("e_measure@5"),
        pl.col("ap").alias("n_retrieved"),
        pl.col("ap").alias("mine"),
        (pl.col("ap") * 0).alias("tied"),
    )
    page = payload(written(frame))
    assert [measure["bests"] for measure in page["measures"]] == [[2], [], [1], [0, 1, 2]]
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
        expected = array(per_query, page, column)[: packed["lines"]]
        heights = expected.max(axis=(0, 2))[:, None]
        assert (np.abs(unpacked(packed, page) - expected) <= 1e-5 * heights).all()
    assert dcg["ideal"]["lines"] == 1
    means = array(per_query, page, "dcg_curve@20").mean(axis=1)
    np.testing.assert_allclose(dcg["means"], means, rtol=1e-6)
    ideal = array(per_query, page, "ideal_dcg_curve@20").mean(axis=1)
    np.testing.assert_allclose(dcg["ideal"]["means"], ideal[:1], rtol=1e-6)


def test_ideal_curves_that_differ_are_all_there(per_query, written):
    other = pl.when(strategy="weak").then(pl.col("dcg_curve@20"))
    frame = per_query.with_columns(other.otherwise("ideal_dcg_curve@20").alias(CURVES[1]))
    page = payload(written(frame))
    ideal = page["curves"][0]["ideal"]
    assert ideal["lines"] == 3
    np.testing.assert_allclose(ideal["means"], array(frame, page, CURVES[1]).mean(axis=1), 1e-6)


@pytest.mark.parametrize(
    ("options", "arguments", "said"),
    [
        ({}, {}, "the paired t test; p values corrected after Holm for the 3 pairs"),
        ({"baseline": "fair"}, {"baseline": "fair"}, "Holm for the 2 pairs"),
        (
            {"test": "wilcoxon", "correction": "none"},
            {"test": "wilcoxon", "correction": "none"},
            "signed rank test; p values not corrected",
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
        for row, (strategy, baseline, *values) in zip(
            rows, expected.select("strategy", "baseline", *columns).rows(), strict=True
        ):
            assert row[:2] == [places[strategy], places[baseline]]
            assert row[2:] == pytest.approx(values, rel=1e-6)


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
]


@pytest.mark.parametrize(("queries", "shown"), QUERIES)
def test_queries_are_of_any_type(written, queries, shown):
    frame = pl.DataFrame({"query": queries}).with_row_index("ap")
    both = pl.concat([frame.with_columns(strategy=pl.lit(name)) for name in ("a", "b")])
    page = payload(written(both.with_columns(pl.col("ap").cast(pl.Float64))))
    assert page["queries"] == shown
    values = numbers(page["measures"][0]["values"], "<f4").reshape(2, -1)
    order = [str(q) if q is not None else "null" for q in queries]
    assert values.tolist() == [[order.index(q) for q in shown]] * 2


def test_missing_values_are_dropped_or_zero(per_query, written):
    gone = (pl.col("query") == 1) & (pl.col("strategy") == "weak")
    holes = pl.when(~gone).then(pl.col("ap", "dcg_curve@20")).name.keep()
    frame = per_query.select(KEYS, holes, "ndcg@10").filter(
        (pl.col("query") != 2) | (pl.col("strategy") != "fair")
    )
    with pytest.raises(ValueError, match="'ap' must have a value for each strategy and query"):
        written(frame)
    with pytest.raises(ValueError, match=r"curve 'dcg_curve@20' must have a value .* 2 times"):
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
    np.testing.assert_allclose(page["curves"][0]["means"], means, rtol=1e-6)
    assert page["curves"][0]["queries"] == 78
    page = payload(written(frame, missing="zero"))
    assert not np.isnan(numbers(page["measures"][0]["values"], "<f4")).any()
    assert (unpacked(page["curves"][0]["packed"], page)[2, 0] == 0).all()
    assert "missing counts as 0" in page["missing"]


def test_long_curves_of_many_queries_are_thinned_to_what_fits(written):
    lists = np.cumsum(np.ones((6000, 500)), axis=1)
    keys = {"strategy": np.repeat(["a", "b", "c"], 2000), "query": np.tile(range(2000), 3)}
    frame = pl.DataFrame(keys | {"cg_curve@500": lists}).with_columns(
        pl.col("cg_curve@500").arr.to_list()
    )
    path = written(frame)
    (curve,) = payload(path)["curves"]
    assert len(curve["at"]) == 2**20 // 6000
    assert (curve["at"][0], curve["at"][-1]) == (1, 500)
    assert curve["means"][0] == curve["at"]
    assert path.stat().st_size < 5e6


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
    ({"measures": ["app"]}, pl.exceptions.ColumnNotFoundError, "no column 'app'; did you mean"),
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
    ({"test": "randomised_tukey"}, ValueError, "`correction` must be 'none'"),
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
    (lambda f: f.select(KEYS), "must have a column of numbers to show"),
    (lambda f: pl.concat([f, f]), "each strategy must have each query once"),
    (lambda f: f.with_columns(strategy=pl.lit(None, str)), "must not be null"),
    (lambda f: f.with_columns(ap=pl.lit(float("inf"))), "must be finite"),
    (
        lambda f: f.select(KEYS, pl.col(CURVES[0]).list.head(pl.col("query"))),
        "the lists of 'dcg_curve@20' must have one length",
    ),
    (lambda f: f.filter(strategy="weak"), "at least two strategies"),
]


@pytest.mark.parametrize(("changed", "sentence"), FRAMES)
def test_frames_that_cannot_be_shown_are_refused(per_query, tmp_path, changed, sentence):
    with pytest.raises(ValueError, match=sentence):
        report(changed(per_query), tmp_path / "page.html", baseline="weak")


def test_something_else_than_a_frame_is_refused(tmp_path):
    with pytest.raises(TypeError, match="`per_query` must be a DataFrame or a LazyFrame, got dict"):
        report({}, tmp_path / "page.html")


def test_a_folder_that_is_not_there_is_an_error(per_query, tmp_path):
    with pytest.raises(FileNotFoundError):
        report(per_query, tmp_path / "absent" / "page.html")


def test_without_vl_convert_it_is_said_what_to_install(per_query, tmp_path, monkeypatch):
    module = sys.modules["polars_graded.report"]
    monkeypatch.setattr(module, "drawing_scripts", drawing_scripts.__wrapped__)  # unremembered
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(ImportError, match=re.escape('pip install "polars-graded[report]"')):
        report(per_query, tmp_path / "page.html")


def test_importing_it_loads_nothing_slow():
    code = (
        "import sys; from polars_graded.report import report;"
        "print([name for name in ('altair', 'scipy', 'vl_convert') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout == "[]\n"


# The page in a browser.


class Page:
    """A page that is open, and what its reader can do."""

    def __init__(self, driver: WebDriver) -> None:
        self.driver = driver

    def open(self, path: Path) -> Page:
        self.driver.get(path.as_uri())
        return self.drawn()

    def drawn(self) -> Page:
        deadline = time.monotonic() + 60
        busy = "return document.querySelector('main').getAttribute('aria-busy')"
        while self.driver.execute_script(busy) != "false":
            assert time.monotonic() < deadline, console_errors(self.driver)
            time.sleep(0.02)
        return self

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements("css selector", selector)

    def one(self, selector: str) -> WebElement:
        return self.driver.find_element("css selector", selector)

    def texts(self, selector: str) -> list[str]:
        script = "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)"
        return self.driver.execute_script(script, selector)

    def text(self, selector: str) -> str:
        (text,) = self.texts(selector)
        return text

    def click(self, selector: str) -> None:
        element = self.one(selector)
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()
        self.drawn()

    def choose(self, selector: str, text: str) -> None:
        from selenium.webdriver.support.select import Select

        Select(self.one(selector)).select_by_visible_text(text)
        self.drawn()

    def find(self, query: str) -> None:
        box = self.one("#query")
        # Cleared by `clear`, an empty box would be a choice of its own.
        self.driver.execute_script("arguments[0].select()", box)
        box.send_keys(query or "\b", "\n")
        self.drawn()

    def uncheck(self, strategy: str) -> None:
        for row in self.all("#strategies tbody tr"):
            if row.find_element("css selector", ".name").text == strategy:
                row.find_element("css selector", "input").click()
                self.drawn()
                return
        pytest.fail(f"there is no strategy {strategy}")

    def rows(self, section: str) -> dict[str, list[str]]:
        """The cells of a table by the name in their row."""
        return {
            self.driver.execute_script("return arguments[0].textContent", name): [
                cell.text for cell in row.find_elements("css selector", "td")
            ]
            for row in self.all(f"{section} tbody tr")
            for name in row.find_elements("css selector", "th .name")
        }

    def lines(self, section: str) -> list[str]:
        """The paths of the lines that a chart has, without the ideal one."""
        script = """return [...document.querySelectorAll(arguments[0] + ' .mark-line path')]
            .filter((e) => e.getAttribute('stroke') !== 'gray' && e.getAttribute('d'))
            .map((e) => e.getAttribute('stroke') + e.getAttribute('d'))"""
        return self.driver.execute_script(script, section)

    def bars(self) -> list[WebElement]:
        return self.all("#histogram .mark-rect path")

    def colours(self, section: str) -> int:
        """How many colours a chart has, grey aside."""
        element = self.one(f"{section} .chart")
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
        return len(colours(element.screenshot_as_png))

    def quiet(self) -> None:
        assert requests_of(self.driver) == []
        assert console_errors(self.driver) == []


SECTIONS = ("#comparison", "#rank", "#recall", "#histogram")


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
    note = page.text("#histogram .note")
    assert page.text("#histogram h2") == "Query by query: strong against weak"
    assert len(page.bars()) == 80
    assert (
        f"A is better in {expected['wins']} queries, B in {expected['losses']}, "
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
    ap = dict(per_query.filter(query=query).select("strategy", "mu_ap").rows())
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
    assert page.text("#histogram h2") == "Query by query: weak against fair"
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
    ends = [float(end) for end in read[1].split(" to ")]
    assert ends == pytest.approx([expected["ci_low"], expected["ci_high"]], abs=6e-5)
    assert read[3:6] == [str(expected[name]) for name in ("wins", "ties", "losses")]
    page.choose("#compared", "ap")
    page.click("#comparison tbody tr:last-child button")
    assert page.text("#histogram h2") == "Query by query: weak against strong"
    assert page.text("#histogram .note").startswith("ap of A minus that of B")
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
    assert "A is better in 2 queries, B in 1, 0 ties" in page.text("#histogram .note")
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
    (["dcg_curve@20"], STRATEGIES, ["comparison", "recall", "histogram"]),
    (["ap", "interpolated_precision"], ["weak"], ["comparison", "rank", "histogram"]),
]


@pytest.mark.parametrize(("columns", "strategies", "absent"), EMPTY)
def test_what_is_not_there_is_said(per_query, shown, columns, strategies, absent):
    frame = per_query.select(KEYS, *columns).filter(pl.col("strategy").is_in(strategies))
    page = shown(frame)
    said = [
        section.get_dom_attribute("id")
        for section in page.all("section:has(.absent:not([hidden]))")
    ]
    assert said == absent
    assert all(page.texts(".absent:not([hidden])"))
    if "recall" in said:
        assert "interpolated_precision" in page.text("#recall .absent")
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
            while page.execute_script(script) != [0] * 4 and time.monotonic() < deadline:
                time.sleep(0.02)
            assert page.execute_script(script) == [0] * 4
    opened.quiet()
