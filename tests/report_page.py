"""Read the page of a report: its sentences, tables and charts."""

from __future__ import annotations

import base64
import gzip
import json
import time
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any, NamedTuple

from browser import complaints, console_errors, requests_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from selenium.webdriver.remote.webdriver import WebDriver

VOID = {"meta", "link", "br", "img", "input", "hr"}


class Element:
    """An element of a page."""

    def __init__(self, tag: str, attributes: dict[str, str | None]) -> None:
        self.tag, self.attributes = tag, attributes
        self.children: list[Element | str] = []

    @property
    def text(self) -> str:
        return "".join(each if isinstance(each, str) else each.text for each in self.children)

    def all(self, tag: str = "", **attributes: str) -> list[Element]:
        """Return the elements below with a tag and attributes; `cls` is a class."""
        return [*self._find(tag, attributes)]

    def one(self, tag: str = "", **attributes: str) -> Element:
        [element] = self.all(tag, **attributes)
        return element

    def _find(self, tag: str, attributes: dict[str, str]) -> Iterator[Element]:
        for child in self.children:
            if isinstance(child, Element):
                if child.tag == (tag or child.tag) and child._has(attributes):
                    yield child
                yield from child._find(tag, attributes)

    def _has(self, attributes: dict[str, str]) -> bool:
        classes = (self.attributes.get("class") or "").split()
        return all(
            value in classes if name == "cls" else self.attributes.get(name) == value
            for name, value in attributes.items()
        )


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open = [Element("", {})]

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        element = Element(tag, dict(attributes))
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag, "an element is not closed"

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


class Table(NamedTuple):
    heads: list[str]
    rows: list[list[str]]
    bold: list[list[str]]
    """The cells of each row that are set in bold."""

    def column(self, head: str) -> dict[str, str]:
        """Return the cells of a column by the first cell of their row."""
        place = self.heads.index(head)
        return {row[0]: row[place] for row in self.rows}

    def numbers(self, head: str) -> dict[str, float]:
        return {name: number(text) for name, text in self.column(head).items()}


def number(text: str) -> float:
    return float(text.replace("\N{MINUS SIGN}", "-").replace(",", ""))


def interval(text: str) -> tuple[float, ...]:
    return tuple(map(number, text.split(" to ")))


class Section(NamedTuple):
    """The section of a measure."""

    name: str
    headline: str
    details: str
    """The text below the charts."""
    tables: dict[str, Table]
    charts: list[str]
    pairs: list[str]
    segments: str
    """The text below the heading "Segments"."""


class Report:
    """What a page contains, without a browser."""

    def __init__(self, path: Path) -> None:
        self.text = path.read_text(encoding="utf-8")
        reader = _Reader()
        reader.feed(self.text)
        [self.root] = reader.open
        packed = base64.b64decode(self.root.one("script", id="charts").text)
        page = json.loads(gzip.decompress(packed))
        self.specs, self.datasets = page["charts"], page["datasets"]
        self.configs = page["configs"]
        self.sections = [*map(read_section, self.root.all("section", cls="measure"))]
        about = self.root.one("details", id="about")
        self.settings = {row.one("dt").text: row.one("dd").text for row in about.all("div")}
        self.queries = [
            option.text for each in self.root.all(id="query") for option in each.all("option")
        ]

    def rows(self, chart: str) -> list[dict[str, Any]]:
        """Return the rows of a chart."""
        return self.datasets[self.specs[chart]["data"][0]]

    def chart(self, name: str, mode: int = 0) -> dict[str, Any]:
        """Return the specification of a chart with its rows."""
        names = self.specs[name]["data"]
        datasets = {each: self.datasets[each] for each in names}
        return self.specs[name]["spec"] | {"datasets": datasets, "config": self.configs[mode]}

    def figures(self, **attributes: str) -> list[str]:
        """Return the names of the charts in an element."""
        return charts_of(self.root.one(**attributes))

    @property
    def tables(self) -> dict[str, Table]:
        """Return all tables of the page by their captions."""
        return {table.one("caption").text: read_table(table) for table in self.root.all("table")}


def charts_of(element: Element) -> list[str]:
    return [chart.attributes["data-chart"] or "" for chart in element.all("div", cls="chart")]


def read_section(element: Element) -> Section:
    paragraphs = [
        each for each in element.children if isinstance(each, Element) and each.tag == "p"
    ]
    tables = {table.one("caption").text: read_table(table) for table in element.all("table")}
    pairs = [option.text for each in element.all(cls="choice") for option in each.all("option")]
    return Section(
        element.attributes["data-name"] or "",
        element.one("h2").text,
        " ".join(each.text for each in paragraphs),
        tables,
        charts_of(element),
        pairs,
        " ".join(
            each.text
            for details in element.all("details")
            for each in details.all("p")
            if not each.attributes
        ),
    )


def read_table(table: Element) -> Table:
    heads = [cell.text for cell in table.one("thead").all("th")]
    rows = [
        [each for each in row.children if isinstance(each, Element)]
        for row in table.one("tbody").all("tr")
    ]
    bold = [[cell.text for cell in row if cell._has({"cls": "best"})] for row in rows]
    return Table(heads, [[cell.text for cell in row] for row in rows], bold)


class Page:
    """A page in the browser, and what its reader can do."""

    def __init__(self, driver: WebDriver) -> None:
        self.driver = driver
        self.run: Callable[..., Any] = driver.execute_script

    def open(self, path: Path, address: str = "") -> Page:
        self.driver.get("about:blank")
        self.driver.get(path.as_uri() + address)
        return self.drawn()

    def drawn(self) -> Page:
        deadline = time.monotonic() + 60
        busy = "return document.querySelector('main').getAttribute('aria-busy')"
        while self.run(busy) != "false":
            assert time.monotonic() < deadline, console_errors(self.driver)
            time.sleep(0.02)
        return self

    def choose(self, selector: str, text: str) -> Page:
        """Select an option by its text."""
        self.run(
            "const select = document.querySelector(arguments[0]);"
            "[...select.options].find((option) => option.text === arguments[1]).selected = true;"
            "select.dispatchEvent(new Event('change'));",
            selector,
            text,
        )
        return self.drawn()

    def seen(self, selector: str) -> list[str]:
        """Return the texts of the elements that a reader sees."""
        return self.run(
            "return [...document.querySelectorAll(arguments[0])]"
            ".filter((each) => each.checkVisibility()).map((each) => each.textContent)",
            selector,
        )

    def quiet(self) -> None:
        """Assert that the page asks for nothing and has nothing to complain of.

        Vega warns of a layer without rows, as of a histogram in which no query is tied.
        """
        assert requests_of(self.driver) == []
        told = [each for each in complaints(self.driver) if "Infinite extent for field" not in each]
        assert told == []
