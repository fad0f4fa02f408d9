"""The book: its code runs, it has every public name, its links lead somewhere, and it is read."""

from __future__ import annotations

import ast
import contextlib
import importlib
import inspect
import io
import re
import subprocess
import sys
import warnings
from dataclasses import dataclass
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import polars as pl
import pytest
from browser import console_errors, requests_of
from test_notebooks import NUMBER, YEARS

import polars_graded
from polars_graded import Graded, charts, datasets, experiments

if TYPE_CHECKING:
    from collections.abc import Iterator

    from selenium.webdriver.remote.webdriver import WebDriver

# One process makes the book and looks at it.
pytestmark = [pytest.mark.once, pytest.mark.xdist_group("browser")]

SOURCES = Path(polars_graded.__file__).parents[1] / "notebooks"
BOOK = SOURCES / "book"

CELL = re.compile(r"^```\{code-cell\}[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
WARNS = ":mystnb: {output_stderr: show}"
"""What a cell says that shows a warning; no other may warn."""

PAGES = {
    path.relative_to(BOOK).with_suffix("").as_posix(): path
    for path in sorted(BOOK.rglob("*.md"))
    if CELL.search(path.read_text(encoding="utf-8"))
}

SHOWN = {
    "start": ["0.851852", "0.92161", "0.541667", "0.664402", "0.696759", "0.793006", "0.625"],
    "rows": ["0.666667", "0.365246", "0.75"],
    "choosing": ["0.566667", "0.366667", "0.53285", "0.446875", "0.65625"],
    "how-to/comparing": ["0.123", "0.146", "1.341", "288", "-0.178", "-0.191", "-0.166", "-1.637"],
    "how-to/files": ["0.826235", "0.521296", "0.25", "0.666667", "<bytes>, line 2: a judgment has"],
    "how-to/missing": ["0.3056", "0.4583", "0.166667", "0.5696"],
    "how-to/paper-table": ["| a | strong | **0.939**ᵇᶜ | **0.948**ᵇᶜ |", r"\textbf{0.9386}$^{bc}$"],
    "how-to/scores": ["0.222222", "0.603157", "0.969593", "0.935632"],
    "how-to/ties": ["0.521296", "0.796708", "0.173765", "0.598903"],
    "how-to/tools": ["'nDCG@10' of ir_measures is 'ndcg(gain=linear)@10' here", "0.787507", "3.75"],
}
"""What pages must print: worked out by hand, printed by a paper, or the README's once."""


# The code of a page


@dataclass
class Shown:
    """What the cells of a page show, as text, and their code."""

    printed: list[str]
    code: list[str]


def cells_of(path: Path) -> list[str]:
    return CELL.findall(path.read_text(encoding="utf-8"))


def run(path: Path) -> Shown:
    """Run the cells of a page one after the other, as a kernel does."""
    shown = Shown([], [])
    display = partial(_display, shown.printed)
    names: dict[str, Any] = {"__name__": "__main__", "display": display}
    for cell in cells_of(path):
        code = re.sub(r"\A(?::[^\n]*\n)+", "", cell)
        shown.code.append(code)
        tree = ast.parse(code)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        out = io.StringIO()
        with warnings.catch_warnings(record=True, action="always") as caught:
            with contextlib.redirect_stdout(out):
                exec(compile(tree, str(path), "exec"), names)  # noqa: S102
                if last is not None:
                    display(eval(compile(ast.Expression(last.value), str(path), "eval"), names))  # noqa: S307
        shown.printed.append(out.getvalue())
        said = [str(warning.message) for warning in caught]
        assert bool(said) == (WARNS in cell), f"{said} is warned of by:\n{code}"
        shown.printed += said
    return shown


def _display(printed: list[str], value: Any) -> None:
    """What a page shows of a value: a chart is drawn, of all else there is a text."""
    if type(value).__module__.split(".")[0] == "altair":
        value.to_dict()
    elif value is not None:
        with pl.Config(tbl_rows=100, tbl_cols=-1, tbl_width_chars=-1, fmt_str_lengths=200):
            printed.append(str(value))


@pytest.fixture(params=PAGES)
def name(request: pytest.FixtureRequest) -> str:
    """The name of a page with code."""
    return request.param


@pytest.fixture
def shown(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Shown:
    """What a page shows; it runs in an empty folder."""
    for module in re.findall(r"^(?:import|from) (\w+)", "".join(cells_of(PAGES[name])), re.MULTILINE):
        pytest.importorskip(module, reason=f"{module} is not installed")
    monkeypatch.chdir(tmp_path)
    return run(PAGES[name])


def test_the_code_of_a_page_runs_and_its_numbers_are_printed(name: str, shown: Shown) -> None:
    """Numbers in sentences are what a cell prints, rounded or as a percentage, or in its code.

    Whole numbers to a hundred and years are free; those of tables come from elsewhere, as do sums
    that are written out by hand.
    """
    text = "\n".join(shown.printed)
    assert [number for number in SHOWN.get(name, []) if number not in text] == []
    sources = [*shown.printed, *shown.code]
    known = [abs(float(found)) for source in sources for found in NUMBER.findall(source)]
    for written in NUMBER.findall(sentences(PAGES[name])):
        number, decimals = abs(float(written)), len(written.partition(".")[2])
        free = not decimals and (number <= 100 or number in YEARS)
        near = 0.5 * 10**-decimals + 1e-9
        assert free or any(min(abs(x - number), abs(100 * x - number)) <= near for x in known), (
            f"{written} is not printed"
        )


def sentences(path: Path) -> str:
    """The text of a page without code, formulas that are worked out, tables and links."""
    text = path.read_text(encoding="utf-8").split("\n---\n", maxsplit=1)[-1]
    text = re.sub(r"^(```|\|).*?(^```$|$)", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"`[^`]*`|\]\([^)]*\)", "", text)
    return re.sub(r"[^\s]+ = |\d+/\S+|\S+ [×/+] \S+( [×/+] \S+)*", "", text)


def test_pages_have_what_they_must_show() -> None:
    assert set(SHOWN) <= set(PAGES)
    assert len(PAGES) >= 14


# What the book must have


def names_of(path: Path) -> list[str]:
    """The names of the reference, as `polars_graded` has them."""
    found, module = [], ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.split(":: ")[1].removeprefix("polars_graded").lstrip(".")
        elif re.fullmatch(r"   \w+(\.\w+)?", line) and line.strip() != "command":
            found.append(f"{module}.{line.strip()}".lstrip("."))
    return found


def test_the_reference_has_every_public_name_once() -> None:
    modules = {"charts": charts, "datasets": datasets, "experiments": experiments}
    public = [name for name in polars_graded.__all__ if name not in modules]
    public += [f"{room}.{name}" for room, module in modules.items() for name in module.__all__]
    public += [f"Graded.{name}" for name in vars(Graded) if not name.startswith("_")]
    assert sorted(names_of(BOOK / "reference.rst")) == sorted(public)


def test_the_gallery_has_every_chart_under_its_name() -> None:
    text = (BOOK / "gallery.md").read_text(encoding="utf-8")
    sections = {
        title: "".join(CELL.findall(section))
        for title, section in re.findall(r"^### ([^\n]+)\n(.*?)(?=^##|\Z)", text, re.DOTALL | re.MULTILINE)
    }
    drawn = {
        title.split()[0]: title
        for title, code in sections.items()
        if f"charts.{title.split()[0]}" in code
    }
    assert sorted(set(charts.__all__) - set(drawn)) == []
    assert all("charts." in code or "|" in code for code in sections.values())
    assert len(sections) >= len(charts.__all__)


def test_the_table_of_measures_has_every_measure() -> None:
    text = (BOOK / "measures.md").read_text(encoding="utf-8")
    linked = set(re.findall(r"<polars_graded\.Graded\.(\w+)>", text))
    returns_value = {
        name
        for name, method in vars(Graded).items()
        if not name.startswith("_") and inspect.signature(method).return_annotation == "pl.Expr"
    }
    assert linked == returns_value - {"measures", "phi_relevance"}


# The book as it is made


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the book, which is made without a warning."""
    for package in ("sphinx", "myst_nb", "numpydoc", "pydata_sphinx_theme", "sphinx_design"):
        pytest.importorskip(package, reason=f'{package} is not installed: pip install -e ".[docs]"')
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-j", "2"]
    made = subprocess.run(
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


# The book as it is read


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


def test_formulas_are_drawn(read: Any) -> None:
    from selenium.webdriver.support.wait import WebDriverWait

    page = read("book/api/polars_graded.Graded.ndcng")
    script = "return document.querySelectorAll('mjx-container svg').length"
    WebDriverWait(page, 30).until(lambda page: page.execute_script(script) > 0)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("ties", ["book/how-to/ties.html"]),
        ("GMAP", ["book/measures.html", "book/how-to/comparing.html"]),
        ("mu_ap", ["book/api/polars_graded.Graded.mu_ap.html"]),
        ("precision histogram", ["book/api/polars_graded.charts.precision_histogram.html"]),
        ("NDCNG", ["book/api/polars_graded.Graded.ndcng.html"]),
        ("ndcg_cut_10", ["book/how-to/tools.html"]),
        ("without relevant documents", ["book/how-to/missing.html"]),
        ("corrected p values", ["book/how-to/comparing.html"]),
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


def test_dark_is_dark_and_charts_stay_on_white(read: Any) -> None:
    page = read("book/start")
    script = (
        "const colour = selector => getComputedStyle(document.querySelector(selector))"
        ".backgroundColor; return [colour('body'), colour('.chart')]"
    )
    modes = {}
    for mode in ("light", "dark"):
        page.execute_script(f"document.documentElement.dataset.theme = '{mode}'")
        modes[mode] = page.execute_script(script)
    assert modes["light"] == ["rgb(255, 255, 255)"] * 2
    body, chart = modes["dark"]
    assert sum(map(int, re.findall(r"\d+", body)[:3])) < 150
    assert chart == "rgb(255, 255, 255)"


def test_the_keyboard_opens_the_search_and_finds(read: Any) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.wait import WebDriverWait

    page = read("book/start")
    page.find_element(By.TAG_NAME, "body").send_keys(Keys.CONTROL, "k")
    WebDriverWait(page, 10).until(
        lambda page: page.switch_to.active_element.get_attribute("type") == "search"
    )
    page.switch_to.active_element.send_keys("ties", Keys.ENTER)
    WebDriverWait(page, 20).until(lambda page: "search.html" in page.current_url)
    WebDriverWait(page, 20).until(
        lambda page: page.find_elements(By.CSS_SELECTOR, "#search-results ul.search li a")
    )
