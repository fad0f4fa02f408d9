"""The page of a report in a browser: what is seen, selected, saved and printed."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from browser import console_errors, waited
from helpers import needed
from report_page import Page, Report
from results import drawn, frame_of, of_few

from polars_graded import datasets, differences, evaluate, report

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from selenium.webdriver.remote.webdriver import WebDriver

needed("vl_convert")

pytestmark = of_few

BY = ["fair", "strong", "weak"]
NAMES = ["ndcg@10", "e_measure@5", "n_relevant", "dcg_curve@5", "interpolated_precision"]


@pytest.fixture(scope="module")
def per_query() -> pl.DataFrame:
    return evaluate(datasets.example(30), NAMES, by=BY)


@pytest.fixture(scope="module")
def file(per_query, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    frame = datasets.example(30)
    return report(per_query, folder / "page.html", baseline="fair", frame=frame, by=BY)


@pytest.fixture
def shown(page: WebDriver, file: Path) -> Page:
    emulate(page)
    return Page(page).open(file)


@pytest.fixture
def opened(page: WebDriver, tmp_path: Path) -> Callable[..., Page]:
    def opened(results: pl.DataFrame, **options: Any) -> Page:
        emulate(page)
        return Page(page).open(report(results, tmp_path / "page.html", **options))

    return opened


def emulate(driver: WebDriver, *, scheme: str = "light", width: int = 1300) -> None:
    """Set the colours and the size of the screen."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def saved(page: Page, label: str) -> str:
    """Return what the button with a label saves, as text."""
    script = """const done = arguments[1];
        HTMLAnchorElement.prototype.click = async function () {
            done([this.download, await (await fetch(this.href)).text()]);
        };
        document.querySelector(`button[aria-label="${arguments[0]}"]`).click();"""
    # The page may fetch nothing, so the test reads what was saved without its policy.
    page.driver.execute_cdp_cmd("Page.setBypassCSP", {"enabled": True})
    page.driver.refresh()
    page.drawn()
    name, text = page.driver.execute_async_script(script, label)
    assert name.rpartition(".")[2].upper() == label.partition(" ")[0]
    page.driver.execute_cdp_cmd("Page.setBypassCSP", {"enabled": False})
    return text


def background(page: Page, selector: str) -> str:
    return page.run(
        "return getComputedStyle(document.querySelector(arguments[0])).backgroundColor", selector
    )


def test_the_first_screen_is_a_sentence_and_a_picture(shown):
    [headline, *_] = shown.seen("h2")
    assert headline.startswith("strong is better than the baseline fair: its mean NDCG@10, ")
    boxes = shown.run(
        "return [...document.querySelectorAll('.measure:not([hidden]) .picture svg.marks')]"
        ".filter((each) => each.checkVisibility()).map((each) => each.getBoundingClientRect())"
        ".map(({ left, top, right, bottom }) => [left, top, right, bottom])"
    )
    forest, histogram = boxes
    assert forest[2] <= histogram[0]
    assert max(forest[3], histogram[3]) < 700
    assert shown.run("return document.querySelectorAll('.failed').length") == 0
    shown.quiet()


def test_the_measure_is_selected_and_in_the_address(shown, file):
    shown.choose("#measure", "e_measure@5")
    assert "E-measure@5" in shown.seen("h2")[0]
    assert len(shown.seen(".measure .picture svg.marks")) == 2
    captions = shown.seen(".measure caption")
    assert captions[0] == "Means, ordered by e_measure@5"
    assert shown.run("return location.hash") == "#e_measure%405"
    shown.open(file, "#e_measure%405")
    assert "E-measure@5" in shown.seen("h2")[0]
    shown.open(file, "#another")
    assert "NDCG@10" in shown.seen("h2")[0]
    shown.quiet()


def test_the_pair_is_selected_with_its_table(shown):
    shown.choose(".measure select.pair", "weak − fair")
    [table] = [text for text in shown.seen(".measure .tables table") if "query" in text]
    assert "weak" in table
    assert "strong" not in table
    assert len(shown.seen(".measure .picture svg.marks")) == 2
    shown.quiet()


def test_a_click_on_a_bar_or_a_row_shows_the_rankings_of_its_query(shown, file, per_query):
    from selenium.webdriver import ActionChains

    page = Report(file)
    script = "return document.querySelector('#query').selectedOptions[0].dataset.query"
    button = shown.driver.find_elements("css selector", ".measure button[data-query]")[3]
    name = button.text
    shown.run("arguments[0].click()", button)
    assert shown.run(script) == name
    # A click high above the last, small bar counts too.
    script_of_box = """const holder = document.querySelector('.pair:not([hidden]) .chart');
        holder.scrollIntoView({ block: 'center', behavior: 'instant' });
        const { left, top } = holder.querySelector('svg').getBoundingClientRect();
        const [x, y] = holder.view.origin();
        return [left + x, top + y, holder.view.width()]"""
    rows = differences(per_query, "ndcg@10", "strong", "fair")["query"]

    def click(place: int) -> None:
        left, top, width = shown.run(script_of_box)
        at = ActionChains(shown.driver).w3c_actions
        at.pointer_action.move_to_location(round(left + (place + 0.5) / 30 * width), round(top + 5))
        at.pointer_action.click()
        at.perform()

    for place in (0, 1, 15, 29):
        click(place)
        query = str(rows[place])
        if query in page.queries:
            # A click is lost if a chart is drawn meanwhile, which moves the page.
            waited(
                shown.driver,
                lambda query=query, place=place: shown.run(script) == query or click(place),
            )
        else:
            [status] = shown.seen("#rankings [role=status]")
            assert status.endswith(f"of 20 queries, but not those of {query}.")
    label = "return document.querySelector('#rankings .chart').getAttribute('aria-label')"
    waited(shown.driver, lambda: f"of query {rows[29]}," in shown.run(label))
    shown.quiet()


def test_tables_and_charts_are_saved(shown, per_query):
    rows = [*csv.reader(io.StringIO(saved(shown, "CSV of Differences of ndcg@10 from fair")))]
    assert rows[0][:2] == ["strategy", "difference"]
    assert [row[0] for row in rows[1:]] == ["strong", "weak"]
    assert float(rows[2][1]) < 0
    bars = [*csv.DictReader(io.StringIO(saved(shown, "CSV of query by query")))]
    expected = differences(per_query, "ndcg@10", "strong", "fair")
    assert [float(bar["difference"]) for bar in bars] == expected["difference"].to_list()
    svg = saved(shown, "SVG of differences")
    assert svg.startswith("<svg")
    assert "#ffffff" in svg
    assert saved(shown, "PNG of curve")[1:4] == "PNG"


def test_a_dark_screen_has_a_dark_page_and_dark_charts(page, file):
    emulate(page, scheme="dark")
    shown = Page(page).open(file)
    paper = "rgb(20, 24, 29)"
    assert background(shown, "body") == paper
    assert background(shown, "svg.marks") == paper
    inks = "return [...document.querySelectorAll('.measure:not([hidden]) svg.marks text')]"
    fills = {*shown.run(f"{inks}.map((each) => getComputedStyle(each).fill)")}
    assert fills == {"rgb(230, 233, 237)"}
    emulate(page)
    waited(page, lambda: background(shown.drawn(), "svg.marks") == "rgb(255, 255, 255)")
    shown.quiet()


def test_a_printed_page_has_the_charts_of_all_measures_in_light_colours(page, file):
    emulate(page, scheme="dark")
    shown = Page(page).open(file)
    shown.run("dispatchEvent(new Event('beforeprint'))")
    shown.drawn()
    backgrounds = """return [...document.querySelectorAll('.picture svg.marks')]
        .filter((each) => each.checkVisibility())
        .map((each) => getComputedStyle(each).backgroundColor)"""
    assert shown.run(backgrounds) == ["rgb(255, 255, 255)"] * 4
    shown.run("dispatchEvent(new Event('afterprint'))")
    shown.drawn()
    assert shown.run(backgrounds) == ["rgb(20, 24, 29)"] * 2
    shown.quiet()


@pytest.mark.parametrize("width", [390, 800, 1400])
def test_nothing_is_wider_than_the_window(page, tmp_path, width):
    emulate(page, width=width)
    names = [f"elasticsearch-8.11-bm25-k1=1.{i}-rerank-cross-encoder-v{i}" for i in range(46)]
    results = frame_of(dict(zip(names, drawn(9, 46).values(), strict=True)))
    shown = Page(page).open(report(results, tmp_path / "page.html"))
    sizes = "const { scrollWidth, clientWidth } = document.documentElement;"
    wide, window = shown.run(f"{sizes} return [scrollWidth, clientWidth]")
    assert wide <= window
    shown.quiet()


@pytest.mark.parametrize(
    "results",
    [
        frame_of({"a": [0.5, 0.25]}),
        frame_of({"a": [0.5], "b": [0.25], "c": [0.1]}),
        frame_of({"a": [5, 6], "b": [3, 4]}, "n_relevant"),
        evaluate(datasets.example(3), "dcg_curve@5", by=BY),
    ],
    ids=["one strategy", "one query", "counts", "curves"],
)
def test_little_is_shown_quietly(opened, results):
    opened(results).quiet()


def test_a_chart_that_cannot_be_drawn_keeps_no_other_from_it(page, file, tmp_path):
    text = file.read_text(encoding="utf-8")
    broken = text.replace(
        "const { view } = await vegaEmbed(holder,",
        """if (holder.dataset.chart ===
        'chart-1') throw new Error('no chart'); const { view } = await vegaEmbed(holder,""",
    )
    (tmp_path / "broken.html").write_text(broken, encoding="utf-8")
    shown = Page(page).open(tmp_path / "broken.html")
    assert shown.seen(".failed") == ["This chart could not be drawn: no chart"]
    assert len(shown.seen("svg.marks")) == 4
    assert any("no chart" in each for each in console_errors(page))
