"""What a reader of a report sees and does: its address, in the dark, saving, listening, paper."""

from __future__ import annotations

import csv
import io
import json
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from xml.etree import ElementTree as ET

import browser
import numpy as np
import polars as pl
import pytest
from browser import waited
from hard_results import LONG_NAMES, hard_results
from report_page import Page
from results import of_few
from test_charts import TO_XYZ, VISION, closest, linear

from polars_graded import compare, datasets, evaluate, report, side_by_side, similarity, summarise
from polars_graded._drawing.style import PALETTE, REST
from polars_graded._report import specs
from polars_graded.trust import queries_needed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from selenium.webdriver.remote.webdriver import WebDriver

pytest.importorskip("vl_convert", reason="vl-convert is not installed")

BY = ["strong", "fair", "weak"]
MEASURES = ["ap", "ndcg@10", "dcg_curve@20", "ideal_dcg_curve@20", "interpolated_precision"]
MORE = ["mu_ap", "ndcng@10", "err", "rbp", "q_measure", "bpref", "precision@5", "recall@5"]
MORE += ["reciprocal_rank", "r_precision", "f_measure@5", "success@1"]


@pytest.fixture(scope="module")
def ranked() -> pl.DataFrame:
    return datasets.example(70).with_columns(title=pl.format("Title of {}", "doc"))


@pytest.fixture(scope="module")
def per_query(ranked: pl.DataFrame) -> pl.DataFrame:
    return evaluate(ranked, *MEASURES, by=BY)


@pytest.fixture
def shown(page: WebDriver, tmp_path: Path) -> Callable[..., Page]:
    """Write a report and open it."""

    def shown(results: pl.DataFrame, *measures: str, **options: Any) -> Page:
        return Page(page).open(report(results, tmp_path / "page.html", *measures, **options))

    return shown


def address(page: Page) -> str:
    return page.driver.execute_script("return location.hash")


def looks(page: Page) -> dict[str, Any]:
    """What is seen of the page, in words."""
    script = """return {
        said: ['#verdict p', '#status', '#histogram h2', '#rank h2', '#recall h2', '#count']
            .map((each) => document.querySelector(each).textContent),
        chosen: [...document.querySelectorAll('#strategies tbody tr')]
            .map((row) => [row.querySelector('.name').textContent,
                row.querySelector('input').checked]),
        selected: [...document.querySelectorAll('select')].map((each) => each.value),
        compared: document.querySelector('#comparison tbody').textContent,
    }"""
    return page.driver.execute_script(script)


# The verdict, and one measure for all.


def test_the_page_opens_with_the_verdict_on_the_measure_that_is_chosen(per_query, shown):
    page = shown(per_query)
    assert page.texts("main h2")[0] == "The verdict"
    for measure in ("ap", "ndcg@10"):
        page.choose("#measure", measure)
        means = dict(summarise(per_query, measure).select("strategy", "mean").rows())
        best, second = sorted(BY, key=means.__getitem__, reverse=True)[:2]
        said = page.text("#verdict p")
        start = f"{best} is clearly first: {best} has the best mean {measure}, "
        start += f"{means[best]:.4f} over 70 queries, "
        assert " ".join(said.split()).startswith(
            f"{start}{means[best] - means[second]:.4f} above that of {second}"
        )
        assert page.text("#histogram .note").startswith(f"{measure} of ")
        sorted_by = page.texts("#strategies th[aria-sort]")
        assert sorted_by == [measure]
        expected = compare(per_query, measure)["p_corrected"].sort()
        written = page.texts("#comparison tbody tr > :nth-child(5)")
        small = [text == "< 0.001" for text in written]
        assert sorted(small) == sorted(p < 0.001 for p in expected)
    assert page.swatches("#verdict")[best] == page.swatches("#strategies")[best]
    page.click("#strategies th button")
    assert page.one("#measure").get_property("value") == "ap"
    page.quiet()


def test_what_is_chosen_of_one_is_said_instead(per_query, shown):
    page = shown(per_query, "ap", baseline="weak")
    selects = [e.get_dom_attribute("id") for e in page.all("select") if e.is_displayed()]
    assert selects == ["a", "b"]
    labels = [" ".join(e.text.split()) for e in page.all("label") if e.is_displayed()]
    assert "Measure ap" in labels
    assert "Compared with weak" in labels
    page.quiet()


def test_all_queries_are_shown_again_after_a_name_that_there_is_not(per_query, shown):
    page = shown(per_query)
    assert not page.one("#clear").is_enabled()
    page.find("700")
    assert page.text("#status") == "There is no query 700."
    page.click("#clear")
    assert page.one("#query").get_property("value") == ""
    assert page.text("#status") == "Means over 70 queries are shown."
    assert not page.one("#clear").is_enabled()
    page.quiet()


def test_each_measure_is_explained_where_it_is_asked_for(per_query, shown):
    page = shown(per_query)
    listed = page.one("#explained dl")
    assert not listed.is_displayed()
    page.click("#explained summary")
    assert listed.is_displayed()
    assert page.texts("#explained dt") == [
        "ap",
        "ndcg@10",
        "dcg_curve@20",
        "interpolated_precision",
    ]
    assert page.texts("#explained dd")[0].startswith("Average precision, ")
    page.quiet()


def test_how_sure_the_order_is_goes_by_the_measure_that_is_chosen(per_query, shown):
    page = shown(per_query)
    for measure in ("ap", "ndcg@10"):
        page.choose("#measure", measure)
        best = per_query.group_by("strategy").agg(pl.col(measure).mean())[measure].max()
        row = queries_needed(per_query, measure, difference=0.05 * best).row(0, named=True)
        note = page.text("#certainty .note")
        smallest, needed = f"{row['smallest_difference']:.4f}", f"{row['queries_needed']:,}"
        assert note.startswith(
            f"With 70 queries, {measure} shows a difference of {smallest} or more with 80 % "
            f"probability; showing a difference of {0.05 * best:.4f} (5 % of the best mean) takes "
            f"{needed} queries (paired t test of one pair at 0.05"
        )
        cells = page.texts("#certainty tr.chosen > *")
        assert cells[:5] == [measure, "70", smallest, f"{0.05 * best:.4f}", needed]
    page.quiet()


def test_the_similarity_of_rankings_is_shown_and_saved(per_query, ranked, shown):
    page = shown(per_query, frame=ranked, by=BY)
    similar = similarity(ranked, "overlap@10", "rbo", by=BY)
    means = similar.group_by("a", "b").agg(pl.col("overlap@10", "rbo").mean()).sort("rbo")
    expected = [f"{number:.4f}" for row in means.iter_rows() for number in row[2:]]
    assert page.texts("#similarity td:not(.text)") == expected
    assert page.one("#similarity").is_displayed()
    page.quiet()
    without = shown(per_query)
    assert not without.one("#similarity").is_displayed()


# The address.


def test_a_link_shows_what_was_seen(per_query, shown):
    page = shown(per_query)
    assert address(page) == ""
    page.choose("#measure", "ndcg@10")
    page.find("17")
    page.choose("#against", "weak")
    page.choose("#a", "weak")
    page.choose("#b", "strong")
    page.uncheck("fair")
    before, link = looks(page), page.driver.current_url
    assert json.loads(json.dumps(before))["said"][1] == "Query 17 is shown."
    page.driver.get("about:blank")
    page.driver.get(link)
    assert looks(page.drawn()) == before
    page.click("#none")
    before, link = looks(page), page.driver.current_url
    page.driver.get("about:blank")
    page.driver.get(link)
    assert looks(page.drawn()) == before
    # Another address of the page that is open is shown too.
    page.driver.execute_script("location.hash = '#query=3'")
    page.driver.execute_async_script("setTimeout(arguments[0], 50)")
    assert page.drawn().text("#status") == "Query 3 is shown."
    assert page.text("#count") == "All are chosen."
    page.quiet()


BAD = [
    "#nonsense",
    "#query=700&measure=mrr&a=x&b=y&against=z&without=q",
    "#measure=__proto__&query=constructor&rank=-1&without={}",
    "#&&==&a=&b=&query=%&without=",
    f"#query={quote('<img src=x onerror=throw(1)>')}&without={quote('</script><script>throw 1')}",
]


@pytest.mark.parametrize("bad", BAD)
def test_an_address_of_another_page_does_no_harm(per_query, shown, bad):
    page = shown(per_query)
    before = looks(page)
    link = page.driver.current_url + bad
    page.driver.get("about:blank")
    page.driver.get(link)
    page.drawn()
    after = looks(page)
    assert after == before
    assert not page.all("img")
    page.click("#all")
    assert looks(page) == before
    page.quiet()


def test_names_of_any_kind_are_in_the_address(shown):
    names = ["a&b=c", "", "#% +", "__proto__", "two\nlines", "<i>"]
    values = {name: np.random.default_rng(i).random(len(names)) for i, name in enumerate(names)}
    frame = pl.concat(
        pl.DataFrame({"strategy": name, "query": names, "ap": row}) for name, row in values.items()
    )
    page = shown(frame)
    page.find("a&b=c")
    page.choose("#against", "#% +")
    page.click("#none")
    for place in (1, 3):
        page.all("#strategies tbody input")[place].click()
        page.drawn()
    before, link = looks(page), page.driver.current_url
    page.driver.get("about:blank")
    page.driver.get(link)
    assert looks(page.drawn()) == before
    assert page.text("#status") == "Query a&b=c is shown."
    assert page.text("#count") == "2 of 6 are chosen."
    page.quiet()


# In the dark.

GROUND = "#14181d"


@pytest.mark.parametrize("eyes", VISION)
def test_the_colours_in_the_dark_are_apart_for_every_eye(eyes):
    assert closest(specs.DARK_PALETTE, eyes) > (20.5 if eyes == "trichromats" else 11.5)
    assert closest(specs.DARK_PALETTE[:5], eyes) > (24.5 if eyes == "trichromats" else 17)


def test_the_colours_in_the_dark_are_light_enough():
    # The page's own ground, on which alone they are drawn.
    ground = linear([GROUND]) @ TO_XYZ[1]
    contrasts = (linear(specs.DARK_PALETTE) @ TO_XYZ[1] + 0.05) / (ground + 0.05)
    assert contrasts.min() > 4.5  # what WCAG 2.1 requires of small text, criterion 1.4.3


def test_a_dark_screen_has_a_dark_page_and_paper_and_files_have_not(per_query, shown):
    page = shown(per_query)
    style = """const parts = ['body', '.role-axis-label text',
            '#rank .mark-line path[stroke="#130e0b"]'];
        const [body, text, line] = parts
            .map((each) => getComputedStyle(document.querySelector(each)));
        return [body.backgroundColor, text.fill, line.stroke,
            getComputedStyle(document.querySelector('svg.marks')).backgroundColor]"""
    light = page.driver.execute_script(style)
    assert light[0] == "rgb(255, 255, 255)"
    assert light[2] == rgb(PALETTE[2])
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    try:
        dark = page.driver.execute_script(style)
        assert dark[0] == rgb(GROUND)
        assert dark[2] == rgb(specs.DARK_PALETTE[2])
        assert dark[3] == "rgba(0, 0, 0, 0)"
        for text in (
            dark[1],
            page.driver.execute_script("return getComputedStyle(document.body).color"),
        ):
            assert contrast(text, dark[0]) > 4.5
        soft = "return getComputedStyle(document.querySelector('.note')).color"
        assert contrast(page.driver.execute_script(soft), dark[0]) > 4.5
        # Every colour that a chart has here has one of its own in the dark.
        used = """return [...document.querySelectorAll('.chart [stroke], .chart [fill]')]
            .flatMap((e) => [e.getAttribute('stroke'), e.getAttribute('fill')])"""
        told = {*specs.DARK_COLOURS, "#888", "gray", "none", "transparent", None}
        assert set(page.driver.execute_script(used)) <= told
        media = {"media": "print", "features": features}
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        assert page.driver.execute_script(style) == light
    finally:
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    page.quiet()


def rgb(colour: str) -> str:
    return "rgb({}, {}, {})".format(*(int(colour[i : i + 2], 16) for i in (1, 3, 5)))


def contrast(one: str, other: str) -> float:
    """The contrast of two colours as WCAG 2.1 defines it."""
    codes = [[int(n) for n in re.findall(r"\d+", colour)[:3]] for colour in (one, other)]
    hexes = ["#{:02x}{:02x}{:02x}".format(*code) for code in codes]
    low, high = sorted(linear(hexes) @ TO_XYZ[1])
    return float((high + 0.05) / (low + 0.05))


# Saving.

CATCH = """window.saved = [];
    URL.createObjectURL = (blob) => { window.saved.push({ blob }); return '#'; };
    URL.revokeObjectURL = () => {};
    HTMLAnchorElement.prototype.click = function () { window.saved.at(-1).name = this.download; }"""
READ = """const done = arguments[0];
    (async () => {
        while (!window.saved.at(-1)?.name) await new Promise((next) => setTimeout(next, 20));
        const { blob, name } = window.saved.pop();
        done([name, [...new Uint8Array(await blob.arrayBuffer())]]);
    })()"""


def saved(page: Page, section: str, kind: str) -> tuple[str, bytes]:
    """The name and content of what a button saves."""
    page.driver.execute_script(CATCH)
    script = """return [...document.querySelectorAll(arguments[0] + ' .save button')]
        .find((each) => each.textContent === arguments[1])"""
    button = page.driver.execute_script(script, section, kind)
    page.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", button)
    button.click()
    name, content = page.driver.execute_async_script(READ)
    return name, bytes(content)


def rows_of(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode(), newline="")))


def test_tables_are_saved_with_their_numbers(per_query, shown):
    page = shown(per_query, title="T")
    name, content = saved(page, "#strategies", "CSV")
    assert name == "strategies.csv"
    summary = summarise(per_query, "ap").rows_by_key("strategy", named=True, unique=True)
    rows = rows_of(content)
    assert [row["strategy"] for row in rows] == BY
    for row in rows:
        found = [float(row[key]) for key in ("ap", "ap ci_low", "ap ci_high")]
        expected = [summary[row["strategy"]][key] for key in ("mean", "ci_low", "ci_high")]
        assert found == pytest.approx(expected, rel=1e-6)
    page.choose("#against", "weak")
    name, content = saved(page, "#comparison", "CSV")
    rows = rows_of(content)
    expected = compare(per_query, "ap").filter(baseline="weak").sort("difference", descending=True)
    assert [row["strategy"] for row in rows] == expected["strategy"].to_list()
    for column in ("difference", "ci_low", "p_corrected", "simultaneous_high", "wins", "losses"):
        assert [float(row[column]) for row in rows] == pytest.approx(expected[column], rel=1e-6)
    name, content = saved(page, "#histogram", "CSV")
    assert [float(row["difference"]) for row in rows_of(content)] == sorted(
        (float(row["difference"]) for row in rows_of(content)), reverse=True
    )
    assert len(rows_of(content)) == 70
    page.find("17")
    rows = {row["strategy"]: row for row in rows_of(saved(page, "#strategies", "CSV")[1])}
    for strategy, value in per_query.filter(query=17).select("strategy", "ap").rows():
        found = rows[strategy]["ap in query 17"]
        assert len(found) <= len("0.1234567")
        assert float(found) == pytest.approx(value, rel=2e-7)
    page.quiet()


def test_charts_are_saved_as_they_are_on_paper(per_query, shown):
    image = pytest.importorskip("PIL.Image", reason="pillow is not installed")
    page = shown(per_query)
    for section in ("#comparison figure", "#rank", "#recall", "#histogram"):
        name, content = saved(page, section, "SVG")
        assert name.endswith(".svg")
        drawn = page.all(
            f"{section} svg.marks .role-mark path, {section} svg.marks .role-mark line"
        )
        found = ET.fromstring(content)  # noqa: S314 (our own)
        marks = [
            e
            for group in found.iter("{http://www.w3.org/2000/svg}g")
            if "role-mark" in group.get("class", "").split()
            for e in group
            if e.tag.endswith(("path", "line"))
        ]
        assert len(marks) == len(drawn) > 0
        name, content = saved(page, section, "PNG")
        assert name.endswith(".png")
        assert image.open(io.BytesIO(content)).width > 2 * found_width(found) - 4
    page.quiet()


def found_width(svg: ET.Element) -> float:
    return float(svg.get("width", "0"))


# Without eyes, without a mouse.


def test_each_chart_is_one_picture_that_a_sentence_describes(per_query, shown):
    page = shown(per_query)
    tree = page.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    read = [(node["role"]["value"], node["name"]["value"]) for node in tree if not node["ignored"]]
    pictures = [name for role, name in read if role == "image"]
    saving = [name for role, name in read if role == "button" and " of " in name]
    assert len(saving) == len(set(saving)) > 10
    assert not [role for role, _ in read if "graphics" in role.lower()]
    labels = {
        chart.find_element("xpath", "ancestor::section").get_dom_attribute(
            "id"
        ): chart.get_dom_attribute("aria-label")
        for chart in page.all(".chart[role=img]")
    }
    assert list(labels) == ["comparison", "rank", "recall", "histogram", "explore"]
    assert sorted(pictures) == sorted(labels.values())
    best = compare(per_query, "ap").sort("difference", descending=True).row(0, named=True)
    settled = (compare(per_query, "ap")["p_corrected"] < 0.05).sum()
    assert f"3 pairs, {settled} significant" in labels["comparison"]
    assert (
        f"{best['difference']:+.4f} ({best['simultaneous_low']:.4f} to "
        f"{best['simultaneous_high']:.4f})" in labels["comparison"]
    )
    ends = {
        name: np.mean([row[-1] for row in per_query.filter(strategy=name)["dcg_curve@20"]])
        for name in BY
    }
    listed = ", ".join(
        f"{name} {ends[name]:.4f}" for name in sorted(BY, key=ends.get, reverse=True)
    )
    assert (
        labels["rank"]
        == f"dcg_curve@20, Curves by rank: mean over 70 queries. 3 lines, at rank 20: {listed}."
    )
    assert labels["histogram"].startswith("ap of strong minus that of fair")
    page.find("17")
    assert "query 17" in page.one("#rank .chart").get_dom_attribute("aria-label")
    page.quiet()


def test_everything_is_done_by_keyboard_and_what_is_focused_is_seen(per_query, ranked, shown):
    from selenium.webdriver import ActionChains, Keys

    page = shown(per_query, frame=ranked, by=BY)

    def press(*keys: str) -> None:
        ActionChains(page.driver).send_keys(*keys).perform()
        page.drawn()

    wanted = """const reached = 'button, input, select, summary, [tabindex="0"]';
        return [...document.querySelectorAll(reached)]
            .filter((e) => !e.disabled && e.offsetParent !== null).length"""
    count = page.driver.execute_script(wanted)
    seen = []
    for _ in range(count):
        press(Keys.TAB)
        script = """const e = document.activeElement;
            const { outlineStyle, outlineWidth } = getComputedStyle(e);
            const outlined = outlineStyle !== 'none' && parseFloat(outlineWidth) >= 1;
            return [e.id || e.textContent.trim(), outlined]"""
        seen.append(page.driver.execute_script(script))
    assert all(outlined for _, outlined in seen)
    assert len({name for name, _ in seen}) > 15
    page.driver.execute_script("document.querySelector('#measure').focus()")
    press("n")  # the measure that begins so
    assert page.text("#verdict p").split("has the best mean ")[1].startswith("ndcg@10")
    page.driver.execute_script("document.querySelector('#next').focus()")
    press(Keys.ENTER)
    assert page.text("#status").startswith("Query ")
    assert page.text("#documents h2").startswith("Documents: strong and fair in query ")
    page.driver.execute_script("document.querySelector('#strategies tbody input').focus()")
    press(Keys.SPACE)
    assert page.text("#count") == "2 of 3 are chosen."
    # What was focused and made anew still is.
    press(Keys.SPACE)
    assert page.text("#count") == "All are chosen."
    page.quiet()


# Much and little.


def test_a_table_of_many_columns_scrolls_and_says_so(ranked, shown):
    page = shown(evaluate(ranked, "ap", *MORE, by=BY, max_grade=4))
    box = page.one("#strategies .scroll")
    assert page.driver.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    page.driver.set_window_size(700, 1000)
    try:
        assert page.drawn().one("#strategies .wide").is_displayed()
        assert box.get_dom_attribute("tabindex") == "0"
        page.driver.execute_script("arguments[0].scrollLeft = 1e6", box)
        script = """const [name, box] = ['#strategies tbody th', '#strategies .scroll']
            .map((each) => document.querySelector(each).getBoundingClientRect());
            return [name.left, box.left, document.documentElement.scrollWidth, innerWidth]"""
        left, start, page_width, width = page.driver.execute_script(script)
        assert left == pytest.approx(start)  # the name stays where it is
        assert page_width <= width
    finally:
        page.driver.set_window_size(1400, 1000)
    page.choose("#measure", "success@1")
    page.quiet()
    page = shown(evaluate(ranked, "ap", by=BY))
    assert not [hint for hint in page.all(".wide") if hint.is_displayed()]


@pytest.mark.parametrize("width", [400, 1400])
def test_46_strategies_fit(shown, width):
    rng = np.random.default_rng(0)
    names = [*(f"system {i}" for i in range(44)), "x" * 100, "a name of " + "many words " * 8]
    frame = pl.DataFrame(
        {
            "strategy": np.repeat(names, 30),
            "query": list(range(30)) * 46,
            "ap": rng.random(46 * 30),
            "dcg_curve@2": rng.random((46 * 30, 2)),
        }
    ).with_columns(pl.col("dcg_curve@2").arr.to_list())
    page = shown(frame)
    page.driver.set_window_size(width, 1000)
    try:
        page.drawn()
        script = (
            "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        )
        found, most = page.driver.execute_script(script)
        assert found <= most
        assert len(page.lines("#rank")) == 46
        assert len(page.forest()) == 45
        assert len({(look["colour"], *look["dash"]) for look in specs.choose_looks(46)}) == 46
        # The best ten have their colours, in the table too, and the others are grey under one name.
        coloured = page.texts("#strategies tbody .name")[:10]
        assert {*page.texts("#legend .name")} == {*coloured}
        assert page.texts("#legend li")[-1] == "the 36 others"
        strokes = page.swatches("#strategies")
        assert {name for name in strokes if strokes[name] != REST} == {*coloured}
        assert sum(line.startswith(REST) for line in page.lines("#rank")) == 36
    finally:
        page.driver.set_window_size(1400, 1000)
    page.quiet()


def test_nothing_shines_through_the_bar(per_query, shown):
    page = shown(per_query)
    script = """window.scrollTo(0, arguments[0]);
        const bar = document.querySelector('#bar').getBoundingClientRect();
        const hits = [];
        for (let x = bar.left + 2; x < bar.right - 1; x += 7)
            for (let y = bar.top + 2; y < bar.bottom - 1; y += 6)
                hits.push(document.elementFromPoint(x, y)?.closest('#bar') !== null);
        return [bar.top, hits.every(Boolean)]"""
    for down in range(100, 1500, 130):
        top, covered = page.driver.execute_script(script, down)
        assert (top, covered) == (0, True)
    page.quiet()


@of_few
def test_intervals_that_are_not_there_are_no_warning(shown):
    same = pl.DataFrame({"strategy": ["x"] * 3 + ["y"] * 3, "query": [1, 2, 3] * 2, "ap": 0.5})
    for test in ("t", "wilcoxon", "permutation"):
        page = shown(same, test=test)
        assert len(page.all("#forest .mark-symbol.role-mark path")) == 1
        page.quiet()
    other = same.with_columns(ap=pl.Series([0.5, 0.25, 0.75, 0.25, 0.5, 0.25]))
    for test in ("t", "wilcoxon", "permutation"):
        shown(other, test=test).quiet()


def test_the_charts_of_graders_are_drawn(shown):
    frame = datasets.example(20, documents=30).with_columns(model=pl.col("grade") // 2)
    people = pl.when(pl.col("query") <= 12).then("grade")
    results = evaluate(
        frame.with_columns(people=people), "ndcg", by=["strong", "weak"], grade=["people", "model"]
    )
    page = shown(results, trusted="people")
    assert "trusted alone" in page.text("#graders .chart")
    means = {f"{mean:.3f}" for mean in summarise(results, trusted="people")["model_mean"]}
    script = """return [...document.querySelectorAll('#graders .mark-symbol.role-mark path')]
        .map((path) => path.__data__.datum).filter(({ source }) => source === 'model alone')
        .map(({ value }) => value.toFixed(3))"""
    assert means <= {*page.driver.execute_script(script)}
    page.quiet()


def test_means_have_the_range_of_unjudged_documents_beside_them(shown):
    frame = pl.DataFrame(
        {
            "query": ["a", "a", "a", "b", "b", "b"],
            "doc": ["x", "y", "z", "x", "y", "z"],
            "grade": [1, None, 0, 1, 0, 0],
            "one": [3, 2, 1, 3, 2, 1],
            "two": [2, 1, 3, 2, 1, 3],
        }
    )
    by = ["one", "two"]
    page = shown(evaluate(frame, "precision@2", by=by), frame=frame, by=by)
    # One has 1/2 and 1/2, and up to 1 for the first; two has the same without an unjudged document.
    assert not any("(" in cell for [cell] in page.rows("#strategies").values())
    page.click("#bounds")
    cells = {name: cell for name, [cell] in page.rows("#strategies").items()}
    assert cells["one"].endswith("(0.5000, 0.7500)")
    assert cells["two"].endswith("(0.5000, 0.5000)")
    assert "in brackets how unjudged documents could change" in page.text("#strategies")
    _, content = saved(page, "#strategies", "CSV")
    assert [row["precision@2 unjudged_best"] for row in rows_of(content)] == ["0.75", "0.5"]
    page.find("a")
    assert "(" not in page.text("#strategies tbody")
    page.quiet()


# Documents and paper.


def test_documents_of_both_are_shown_side_by_side(per_query, ranked, shown):
    page = shown(per_query, frame=ranked, by=BY, titles="title")
    assert page.text("#documents h2") == "Documents: strong and fair"
    assert not page.one("#documents table").is_displayed()
    page.find("17")
    expected = side_by_side(ranked, 17, by=BY)
    for sides in (("strong", "fair"), ("weak", "fair")):
        page.choose("#a", sides[0])
        page.choose("#b", sides[1])
        cells = [
            [cell.text for cell in row.find_elements("css selector", "td")]
            for row in page.all("#documents tbody tr")
        ]
        for i, name in enumerate(sides):
            other = expected[sides[1 - i]].to_list()
            for row, (doc, grade) in zip(
                cells, expected.select(name, f"grade of {name}").rows(), strict=True
            ):
                rank = str(other.index(doc) + 1) if doc in other else "–"
                assert row[3 * i : 3 * i + 3] == [f"{doc}\nTitle of {doc}", str(grade), rank]
    name, content = saved(page, "#documents", "CSV")
    rows = rows_of(content)
    assert [row["document"] for row in rows[:10]] == [str(doc) for doc in expected["weak"]]
    assert rows[0]["title"] == f"Title of {rows[0]['document']}"
    page.quiet()


def test_odd_documents_are_text(shown):
    odd = "<img src=x onerror=throw(1)></script>"
    frame = pl.DataFrame(
        {"query": [odd, odd], "doc": [odd, "b\n{{script}}"], "grade": [1, 0], "score": [2, 1]}
    )
    page = shown(evaluate(frame, "ap"), frame=frame.with_columns(t=pl.lit(odd)), titles="t")
    page.click("#next")
    assert page.texts("#documents .document") == [odd, "b\n{{script}}"]
    assert page.texts("#documents .title") == [odd, odd]
    assert not page.all("img")
    page.quiet()


@pytest.mark.parametrize(("width", "query"), [(900, "17"), (1400, "")])
def test_no_table_is_cut_on_paper(ranked, shown, width, query):
    few = ranked.filter(pl.col("query") <= 20)
    stacked = pl.concat(
        few.with_columns(run=pl.lit(f"run {i}"), score=pl.when(pl.col("doc") > i).then("fair"))
        for i in range(25)
    )
    options: dict[str, Any] = {"strategy": "run", "ties": "order"}
    page = shown(
        evaluate(stacked, "ap", *MORE, **options), frame=stacked, strategy="run", ties="order"
    )
    page.driver.set_window_size(width, 1000)
    if query:
        page.find(query)
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    size = {"width": 1040, "height": 720, "deviceScaleFactor": 1, "mobile": False}  # A4, landscape
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    page.driver.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    try:
        script = """const wide = document.documentElement.clientWidth;
            return [...document.querySelectorAll('main table, main p, footer p, dd')]
                .map((each) => [each.className || each.textContent, each.getBoundingClientRect()])
                .map(([what, { right }]) => [what, right - wide])"""
        assert [found for found in page.driver.execute_script(script) if found[1] > 1] == []
        # And none lies over another.
        script = """return [...document.querySelectorAll('section, footer, main table, .chart')]
            .filter((each) => each.getBoundingClientRect().height)
            .map((each) => [each.closest('section')?.id ?? 'footer', each.getBoundingClientRect()])
            .map(([section, { top, bottom }]) => [section, top, bottom])"""
        ends: dict[str, list[float]] = {}
        for section, top, bottom in page.driver.execute_script(script):
            start, end = ends.get(section, [top, bottom])
            ends[section] = [min(start, top), max(end, bottom)]
        for before, after in pairwise(ends.values()):
            assert before[1] <= after[0]
        # Each measure stands above its numbers; a button would not be painted on each page.
        script = """return [...document.querySelectorAll('#strategies tr')].map((row) =>
            [...row.children].map((cell) => Math.round(cell.getBoundingClientRect().left)))"""
        heads, *lines = page.driver.execute_script(script)
        assert lines == [heads] * 25
        script = """return [...document.querySelectorAll('#strategies thead th[data-text]')]
            .map((head) => getComputedStyle(head, '::before').content)"""
        assert page.driver.execute_script(script) == [f'"{name}"' for name in ("ap", *MORE)]
        assert not [e for e in page.all("#strategies thead button") if e.is_displayed()]
        script = "return document.querySelector('#explained dl').checkVisibility()"
        assert page.driver.execute_script(script)
        assert page.one("#measured").text.split() == ["Measure", "ap"]
        said = "Query 17 is shown." if query else "Means over 20 queries are shown."
        assert page.one("#status").text == said
        assert not [e for e in page.all(".save button, .wide") if e.is_displayed()]
        # Beside so many measures the values of the query are left out.
        shown_values = [e for e in page.all("#strategies td.query") if e.is_displayed()]
        assert not shown_values
        lines = """return [...document.querySelectorAll('#strategies td:not(.best, .query)')]
            .map((cell) => cell.getClientRects()[0].height)"""
        assert max(page.driver.execute_script(lines)) < 40
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
        page.driver.set_window_size(1400, 1000)
    page.quiet()


def on_paper(page: Page, script: str) -> Any:
    """What a script finds on paper: A4, landscape, within its margins."""
    size = {"width": 1040, "height": 720, "deviceScaleFactor": 1, "mobile": False}
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    page.driver.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    try:
        return page.driver.execute_script(script)
    finally:
        page.driver.execute_script("window.dispatchEvent(new Event('afterprint'))")
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


BOXES = """const box = (selector) => {
    const { left, right, top, bottom, height } =
        document.querySelector(selector).getBoundingClientRect();
    return { left, right, top, bottom, height };
};"""


def test_intervals_are_printed_beside_their_table_on_the_page_of_their_heading(shown):
    page = shown(hard_results(tuple(f"run-{number}" for number in range(25)), 50))
    script = "return [box('#comparison'), box('#comparison table'), box('#forest svg')]"
    section, table, forest = on_paper(page, f"{BOXES} {script}")
    assert section["height"] < 720
    assert table["right"] <= forest["left"]
    assert table["top"] < forest["top"] < table["bottom"]
    assert forest["right"] <= 1040
    page.quiet()


def test_curves_are_printed_side_by_side_and_above_the_queries(per_query, shown):
    page = shown(per_query)
    script = "return [box('#rank svg'), box('#recall svg'), box('#rank'), box('#histogram')]"
    rank, recall, section, histogram = on_paper(page, f"{BOXES} {script}")
    assert rank["right"] < recall["left"]
    assert section["height"] + histogram["height"] < 720
    page.quiet()


def test_a_long_name_is_printed_without_a_break_in_a_word(shown):
    page = shown(hard_results(tuple(LONG_NAMES), 20))
    # Each piece of a name between hyphens lies on one line.
    script = """return [...document.querySelectorAll('main table .name')].flatMap((name) => {
        const text = name.firstChild, range = document.createRange();
        return [...text.data.matchAll(/[^-]+/g)].map(({ 0: piece, index }) => {
            range.setStart(text, index);
            range.setEnd(text, index + piece.length);
            return range.getClientRects().length;
        });
    })"""
    assert set(on_paper(page, script)) == {1}
    page.quiet()


# Pointers and screen readers.


def test_a_tooltip_stands_beside_each_chart_within_the_window(per_query, shown):
    from selenium.webdriver import ActionChains

    page = shown(per_query)
    read = """const shown = document.querySelector('#vg-tooltip-element.visible');
        if (!shown) return null;
        const { left, right, top, bottom } = shown.getBoundingClientRect();
        const inside = left >= 0 && right <= innerWidth && top >= 0 && bottom <= innerHeight;
        return [shown.innerText.replace(/\\s+/g, ' '), inside]"""
    expected = {
        "comparison": "measure ap strategy ",
        "rank": "strategy ",
        "recall": "strategy ",
        "histogram": "query ",
        "explore": "query ",
    }
    for section, start in expected.items():
        kind = "rect" if section == "histogram" else "symbol"
        marks = page.all(f"#{section} .role-mark.mark-{kind} path")
        mark = marks[len(marks) // 2]
        page.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", mark)
        ActionChains(page.driver).move_to_element(mark).perform()
        text, inside = waited(page.driver, lambda: page.driver.execute_script(read))
        assert text.startswith(start), (section, text)
        assert inside
        # The text is gone before the next chart is read.
        ActionChains(page.driver).move_by_offset(0, -400).perform()
        waited(page.driver, lambda: not page.driver.execute_script(read))
    page.quiet()


def test_a_screen_reader_reads_the_parts_in_their_order_and_each_has_a_name(per_query, shown):
    page = shown(per_query)
    nodes = page.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    by_id = {node["nodeId"]: node for node in nodes}
    read = []

    def listen(node: dict[str, Any]) -> None:
        if not node["ignored"]:
            read.append((node["role"]["value"], node.get("name", {}).get("value", "")))
        for child in node.get("childIds", []):
            if child in by_id:
                listen(by_id[child])

    listen(nodes[0])
    headings = [name for role, name in read if role == "heading"]
    seen = [e.text for e in page.all("h1, h2") if e.is_displayed()]
    assert headings == [" ".join(name.split()) for name in seen]
    assert headings[1] == "The verdict"
    named = {"button", "combobox", "checkbox", "spinbutton", "table", "image", "columnheader"}
    assert not [role for role, name in read if role in named and not name]
    # A picture comes after the heading of its part and before that of the next.
    marks = [name for role, name in read if role in {"heading", "image"}]
    pictures = {name for role, name in read if role == "image"}
    before = [marks[place - 1] for place, name in enumerate(marks) if name in pictures]
    starts = ["Differences", "Curves by rank", "Precision by recall", "Query by query", "Some q"]
    assert [name.startswith(start) for name, start in zip(before, starts, strict=True)] == [
        True
    ] * 5
    # How a table is sorted is a state of its column, and no sign in its name.
    assert ("columnheader", "ap") in read
    page.quiet()


# Queries to choose.


def drag(page: Page, view: str, *places: tuple[float, float]) -> None:
    """Hold the pointer down from one place of a view to the next, in shares of its plot."""
    page.driver.execute_script(
        "document.querySelector('#explore .chart').scrollIntoView({block: 'center'})"
    )
    browser.drag(page.driver, f"#explore g.{view}", *places)


def means_said(per_query: pl.DataFrame, a: str, b: str, queries: list[int]) -> str:
    """What the page has to say of these queries, as scipy makes it."""
    from scipy import stats

    chosen = per_query.filter(pl.col("query").is_in(queries)).sort("query")
    x, y = (chosen.filter(strategy=name)["ap"].to_numpy() for name in (a, b))
    said = []
    n = per_query["query"].n_unique()
    # Queries that are chosen by their values are no sample, so they have no interval.
    has_intervals = len(queries) == n
    for values in (x, y, x - y):
        reach = stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)
        low, high = values.mean() - reach, values.mean() + reach
        interval = f" [{low:.4f}, {high:.4f}]" if has_intervals else ""
        said.append(f"{values.mean():.4f}{interval}")
    return (
        f"{len(queries)} of {n} queries are chosen: the mean of {a} is {said[0]}, that of {b} "
        f"{said[1]}, and that of the difference {said[2]}"
        f"{', with 95 % intervals' if has_intervals else ''}."
    ).replace("-", "−")


def test_a_verdict_says_whom_it_is_of_where_its_leader_is_not_chosen(per_query, shown):
    page = shown(per_query)
    whole = page.text("#verdict p")
    leader = page.texts("#strategies tbody .name")[0]
    page.uncheck(leader)
    start = "For all 3 strategies, including the 1 that is not chosen: "
    assert page.text("#verdict p") == start + whole
    page.click("#all")
    assert page.text("#verdict p") == whole


def test_pairs_of_long_names_have_labels_of_their_own(shown):
    names = [f"bm25_with_a_very_long_description_of_all_settings_{n}_and_an_end" for n in "xyz"]
    frame = datasets.example(20).rename(dict(zip(BY, names, strict=True)))
    page = shown(evaluate(frame, "ap", by=names))
    labels = page.texts("#forest .role-axis-label text")
    pairs = [text for text in labels if " − " in text]
    assert len({*pairs}) == 3
    assert all(len(each) <= 60 for each in pairs)


def test_queries_that_are_chosen_change_the_means_to_theirs(per_query, shown):
    page = shown(per_query)
    wide = per_query.pivot("strategy", index="query", values="ap")
    difference = pl.col("strong") - pl.col("fair")

    def says(queries: pl.DataFrame) -> None:
        expected = means_said(per_query, "strong", "fair", queries["query"].to_list())
        waited(page.driver, lambda: page.text("#explore .chosen").replace("-", "−") == expected)

    says(wide)
    seen = set()
    for view, *places in (
        ("concat_0_concat_0_group", (0.2, 0.9), (0.9, 0.2)),
        ("concat_2_group", (0.02, 0.02), (0.4, 0.98)),
    ):
        before = page.text("#explore .chosen")
        drag(page, view, *places)
        waited(page.driver, lambda before=before: page.text("#explore .chosen") != before)
        ends = page.driver.execute_script(
            "return document.querySelector('#explore .chart').view.signal('brush_explored')"
        )
        fields = {"value_a": pl.col("strong"), "value_b": pl.col("fair"), "difference": difference}
        place = difference.rank("ordinal", descending=True)
        fields["position"] = place
        chosen = wide.filter(
            *(fields[name].is_between(min(end), max(end)) for name, end in ends.items())
        )
        assert 2 <= chosen.height < 70
        says(chosen)
        seen.add(chosen.height)
    assert len(seen) == 2
    drag(page, "concat_2_group", (0.5, 0.02))
    says(wide)
    # By keyboard alone.
    page.one("#least").send_keys("0.01")
    says(wide.filter(difference >= 0.01))
    page.one("#greatest").send_keys("0.2")
    says(wide.filter(difference.is_between(0.01, 0.2)))
    page.one("#least").clear()
    page.one("#least").send_keys("5")
    waited(page.driver, lambda: page.text("#explore .chosen") == "0 of 70 queries are chosen.")
    page.quiet()


def test_thousands_of_queries_can_be_explored_and_all_count(shown):
    rng = np.random.default_rng(1)
    many = pl.DataFrame(
        {
            "strategy": ["x"] * 5000 + ["y"] * 5000,
            "query": [*range(5000)] * 2,
            "ap": rng.random(10_000),
        }
    )
    page = shown(many)
    a, b = sorted("xy", key=lambda name: -many.filter(strategy=name)["ap"].mean())
    said = means_said(many, a, b, [*range(5000)]).replace("5000", "5,000")
    assert page.text("#explore .chosen") == said
    assert len(page.all("#explore .chart .mark-rect path")) >= 10_000
    page.one("#least").send_keys("0.25")
    waited(page.driver, lambda: "5,000 of" not in page.text("#explore .chosen"))
    wide = many.pivot("strategy", index="query", values="ap")
    chosen = wide.filter(pl.col(a) - pl.col(b) >= 0.25)["query"].to_list()
    said = means_said(many, a, b, chosen).replace("of 5000", "of 5,000")
    assert page.text("#explore .chosen") == said.replace(f"{len(chosen)} of", f"{len(chosen):,} of")
    # The address remembers what was typed.
    again = page.driver.current_url
    assert address(page) == "#least=0.25"
    page.driver.get("about:blank")
    page.driver.get(again)
    page.drawn()
    assert page.one("#least").get_attribute("value") == "0.25"
    assert page.text("#explore .chosen").startswith(f"{len(chosen):,} of 5,000 ")
    assert page.driver.execute_script("return document.documentElement.scrollWidth") <= 1400
    page.quiet()
