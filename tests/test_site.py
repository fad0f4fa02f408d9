"""The book as it is made and read: no warning, no dead link, nothing asked of a network."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import pytest
from browser import console_errors, requests_of
from helpers import needed
from test_book import BOOK, SOURCES, names_of

from polars_graded import charts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from selenium.webdriver.remote.webdriver import WebDriver

pytestmark = pytest.mark.slow


# As it is made


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the book, which is made without a warning."""
    for package in ("sphinx", "myst_nb", "numpydoc", "pydata_sphinx_theme", "sphinx_design"):
        needed(package, ".[docs]")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-j", "2"]
    made = subprocess.run(  # noqa: S603
        [*command, "-d", str(folder / "doctrees"), str(SOURCES), str(folder / "html")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    return folder / "html"


class Page(HTMLParser):
    """What a page of the book links to, loads, and can be linked to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for key, value in attrs:
            if key in ("id", "name"):
                self.anchors.add(value or "")
            elif key == "href" and tag == "a":
                self.links.append(value or "")
            elif key in ("src", "srcset", "data", "href", "poster"):
                self.loads.append(value or "")


@pytest.fixture(scope="session")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in html_of(site)}


def html_of(site: Path) -> list[Path]:
    """The pages, without what a theme keeps among its files."""
    return [path for path in site.rglob("*.html") if "_static" not in path.parts]


def test_every_public_name_has_a_page(site: Path) -> None:
    for name in names_of(BOOK / "reference.rst"):
        assert (site / f"book/api/polars_graded.{name}.html").is_file()


def test_links_within_the_book_lead_somewhere(site: Path, pages: dict[Path, Page]) -> None:
    wrong, checked = [], 0
    for path, page in pages.items():
        for link in {*page.links, *page.loads}:
            parts = urlsplit(link)
            if parts.scheme or link in ("#", ""):
                continue
            checked += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            there = target.is_file() and (
                not parts.fragment
                or target not in pages
                or unquote(parts.fragment) in pages[target].anchors
            )
            if not there:
                wrong.append(f"{path.relative_to(site)}: {link}")
    assert wrong == []
    assert checked > 1000


def test_nothing_is_loaded_from_elsewhere(site: Path, pages: dict[Path, Page]) -> None:
    loads = {link for page in pages.values() for link in page.loads}
    assert {link for link in loads if urlsplit(link).scheme not in ("", "data")} == set()
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*['\"]?(https?:)?//", sheet.read_text("utf-8"))


def test_see_also_leads_to_pages(pages: dict[Path, Page]) -> None:
    """What is named there without a link is misspelt, or not public."""
    for path in pages:
        text = path.read_text(encoding="utf-8")
        for box in re.findall(r'<div class="admonition seealso.*?</div>', text, re.DOTALL):
            for term in re.findall(r"<dt>(.*?)</dt>", box, re.DOTALL):
                assert "<a " in term, f"{path.name}: {re.sub('<.*?>', '', term)}"


def test_pages_are_there_as_markdown(site: Path) -> None:
    listed = re.findall(r"\]\((.*?)\)", (site / "llms.txt").read_text(encoding="utf-8"))
    assert {"index.md", "book/start.md", "book/reference.md"} <= set(listed)
    for name in listed:
        text = (site / name).read_text(encoding="utf-8")
        assert re.match("# |\\*\\*", text), name
        assert not re.search(r"^---$|^:::|\{py:|\{code-cell|\{toctree", text, re.MULTILINE), name
    assert "```python\nimport polars" in (site / "book/start.md").read_text(encoding="utf-8")
    reference = (site / "book/reference.md").read_text(encoding="utf-8")
    assert all(
        f"\n## polars_graded.{name}\n" in reference for name in names_of(BOOK / "reference.rst")
    )


# As it is read


@pytest.fixture
def read(site: Path, page: WebDriver) -> Iterator[Any]:
    """Open a page of the book, and wait until its charts and formulas are drawn."""
    from selenium.webdriver.support.wait import WebDriverWait

    def opened(name: str) -> WebDriver:
        address, _, fragment = name.partition("#")
        page.get((site / f"{address}.html").as_uri() + (f"#{fragment}" if fragment else ""))
        WebDriverWait(page, 30).until(
            lambda page: page.execute_script(
                "return document.documentElement.dataset.charts === 'drawn' && "
                "(typeof MathJax === 'undefined' || MathJax.startup?.promise !== undefined)"
            )
        )
        return page

    page.set_window_size(1400, 1000)
    yield opened
    page.set_window_size(1400, 1000)


def test_no_page_has_an_error_or_asks_a_network(site: Path, read: Any) -> None:
    names = [path.relative_to(site).with_suffix("").as_posix() for path in html_of(site)]
    for name in names:
        if not name.startswith("book/api/") or name.endswith((".ndcng", ".evaluate", "_curves")):
            page = read(name)
            assert (name, console_errors(page), requests_of(page)) == (name, [], [])


def test_charts_are_drawn_and_found_in_the_gallery(read: Any) -> None:
    page = read("book/gallery")
    counts = page.execute_script(
        "return ['.chart', '.chart svg.marks', '.thumbnails a'].map("
        "selector => document.querySelectorAll(selector).length)"
    )
    assert len(set(counts)) == 1
    assert counts[0] >= len(charts.__all__)
    cells, copies = page.execute_script(
        "return ['.cell_input .highlight', '.cell_input .highlight > button.copy'].map("
        "selector => document.querySelectorAll(selector).length)"
    )
    assert cells == copies > len(charts.__all__)


def test_formulas_are_drawn(read: Any) -> None:
    from selenium.webdriver.support.wait import WebDriverWait

    page = read("book/api/polars_graded.Graded.ndcng")
    script = "return document.querySelectorAll('mjx-container svg').length"
    WebDriverWait(page, 30).until(lambda page: page.execute_script(script) > 0)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("ties", ["book/rows.html"]),
        ("GMAP", ["book/measures.html", "book/api/polars_graded.summarise.html"]),
        ("precision histogram", ["book/api/polars_graded.charts.precision_histogram.html"]),
        ("NDCNG", ["book/api/polars_graded.Graded.ndcng.html"]),
        ("ndcg_cut_10", ["book/api/polars_graded.Graded.ndcg.html"]),
        ("p value", ["book/how-to/comparing.html"]),
        ("Sentence Transformers", ["book/how-to/tools.html"]),
    ],
)
def test_search_finds(asked: str, found: list[str], site: Path, read: Any) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.wait import WebDriverWait

    page = read("index")
    page.get((site / "search.html").as_uri() + "?q=" + asked.replace(" ", "+"))
    WebDriverWait(page, 20).until(
        lambda page: "Search finished" in page.find_element(By.CLASS_NAME, "search-summary").text
    )
    results = page.find_elements(By.CSS_SELECTOR, "#search-results ul.search li a")
    addresses = [urlsplit(link.get_attribute("href") or "").path for link in results]
    for name in found:
        assert any(address.endswith(name) for address in addresses[:8]), addresses[:8]
    WebDriverWait(page, 20).until(
        lambda page: page.find_elements(By.CSS_SELECTOR, "#search-results p.context")
    )
    assert (console_errors(page), requests_of(page)) == ([], [])


@pytest.mark.parametrize(
    "name", ["index", "book/start", "book/choosing", "book/gallery", "book/how-to/tools"]
)
def test_a_narrow_window_scrolls_down_only(name: str, read: Any) -> None:
    page = read("index")
    page.set_window_size(500, 900)
    page = read(name)
    beyond = "const page = document.documentElement; return page.scrollWidth - page.clientWidth"
    assert page.execute_script(beyond) <= 0
    # Charts keep their width and scroll in their place, so that their texts stay legible.
    widths = (
        "return [...document.querySelectorAll('.chart')].map((chart) => {"
        "  const svg = chart.querySelector('svg');"
        "  return [svg.getBoundingClientRect().width, Number(svg.getAttribute('width')),"
        "          getComputedStyle(chart).overflowX]; })"
    )
    for shown, own, overflow in page.execute_script(widths):
        assert shown == pytest.approx(own, abs=1)
        assert overflow == "auto"
