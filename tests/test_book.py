"""The pages of the book: their code runs and shows what they say; every public name is there."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import inspect
import io
import json
import re
import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from book_numbers import not_printed
from helpers import needed

import polars_graded
from polars_graded import Graded, charts, clicks, datasets, trust
from polars_graded._measuring.definitions import DEFINITIONS

SOURCES = Path(polars_graded.__file__).parents[1] / "notebooks"
BOOK = SOURCES / "book"

CELL = re.compile(r"^```\{code-cell\}[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
WARNS = ":mystnb: {output_stderr: show}"
"""What a cell says that shows a warning; no other may warn."""

PAGES = {
    path.relative_to(SOURCES).with_suffix("").as_posix().removeprefix("book/"): path
    for path in [SOURCES / "index.md", *sorted(BOOK.rglob("*.md"))]
    if CELL.search(path.read_text(encoding="utf-8"))
}

SHOWN = {
    "start": ["0.851852", "0.92161", "0.541667", "0.664402", "0.696759", "0.793006", "0.625"],
    "rows": [
        *("0.666667", "0.365246", "0.75", "0.521296", "0.796708", "0.173765", "0.598903"),
        *("0.3056", "0.4583", "0.166667", "0.5696"),
    ],
    "choosing": ["0.566667", "0.366667", "0.53285", "0.446875", "0.65625"],
    "how-to/big": ["0.826235", "0.5"],  # 3 / (3 + 1 / log2 3)
    "how-to/comparing": [
        *("0.123", "0.146", "1.341", "288", "-0.178", "-0.191", "-0.166", "-1.637"),
        *("| a | strong | **0.939**ᵇᶜ | **0.948**ᵇᶜ |", r"\textbf{0.9386}$^{bc}$"),
    ],
    "how-to/files": ["0.826235", "0.521296", "0.25", "0.666667", "<bytes>, line 2: a line has"],
    "how-to/scores": ["0.222222", "0.603157", "0.969593", "0.935632"],
    "how-to/tools": [
        *("0.386853", "0.875298", "0.63093", "0.125"),
        *("'nDCG@10' of ir_measures is 'ndcg(gain=linear)@10' here", "0.787507", "3.75"),
        *("0.463582", "0.605191", "0.688529", "0.436257", "0.391066", "0.278149"),
    ],
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
        recording = warnings.catch_warnings(record=True, action="always")
        with recording as caught, contextlib.redirect_stdout(out):
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
    code = "".join(cells_of(PAGES[name]))
    for module in re.findall(r"^(?:import|from) (\w+)", code, re.MULTILINE):
        needed(module, ".[docs]")
    monkeypatch.chdir(tmp_path)
    return run(PAGES[name])


@pytest.mark.slow
def test_the_code_of_a_page_runs_and_its_numbers_are_printed(name: str, shown: Shown) -> None:
    """Numbers in sentences are what a cell prints, rounded or as a percentage, or in its code.

    Whole numbers to a hundred and years are free; those of tables come from elsewhere, as do sums
    that are written out by hand.
    """
    text = "\n".join(shown.printed)
    assert [number for number in SHOWN.get(name, []) if number not in text] == []
    assert not_printed(sentences(PAGES[name]), [*shown.printed, *shown.code], free=100) == []


def sentences(path: Path) -> str:
    """The text of a page without code, formulas that are worked out, tables and links."""
    text = path.read_text(encoding="utf-8").split("\n---\n", maxsplit=1)[-1]
    text = re.sub(r"^```.*?^```$|^\|.*?$", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"`[^`]*`|\]\([^)]*\)", "", text)
    return re.sub(r"[^\s]+ = |\d+/\S+|\S+ [×/+] \S+( [×/+] \S+)*", "", text)


def test_code_that_is_not_run_is_on_pages_that_say_so() -> None:
    fenced = re.compile(r"^```python", re.MULTILINE)
    texts = {path: path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.md")}
    still = {path.stem: text for path, text in texts.items() if fenced.search(text)}
    assert list(still) == ["big"]
    assert "is not run with the book" in " ".join(still["big"].split())


def test_what_is_seen_of_the_papers_is_what_notebooks_and_tests_have() -> None:
    """Numbers of a claim stand in the notebook that shows it, or in the test that runs it."""
    notebooks = sorted(SOURCES.glob("[23]-*.ipynb"))
    cells = [cell for path in notebooks for cell in json.loads(path.read_text("utf-8"))["cells"]]
    known = ["".join(cell["source"]) for cell in cells]
    known += ["".join(out.get("text", [])) for cell in cells for out in cell.get("outputs", [])]
    known.append((Path(__file__).parent / "test_papers.py").read_text(encoding="utf-8"))
    text = re.sub(r"section [0-9.]+", "", (BOOK / "papers.md").read_text(encoding="utf-8"))
    assert not_printed(text, known, free=10) == []


@pytest.mark.parametrize("call", ["rbp", "rbp(p=0.5)@3", "rbp(p=0.5, graded=True, threshold=2)"])
def test_the_kernel_that_contributors_are_shown_is_right(call, monkeypatch):
    text = (SOURCES.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    [shown] = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    names: dict[str, Any] = {"np": np}
    exec(shown, names)  # noqa: S102
    frame = datasets.example(5)
    expected = polars_graded.evaluate(frame, call, by="weak")

    def kernel(*arguments: Any, ties: str, **options: Any) -> Any:
        assert ties == "order"
        return names["rbp"](*arguments, **options)

    shown_alone = dataclasses.replace(DEFINITIONS["rbp"], kernel=kernel)
    monkeypatch.setitem(DEFINITIONS, "rbp", shown_alone)  # type: ignore[arg-type]
    values = polars_graded.evaluate(frame, call, by="weak").to_series(2)
    assert values.to_list() == pytest.approx(expected.to_series(2).to_list(), rel=1e-12)


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
    modules = {"charts": charts, "clicks": clicks, "datasets": datasets}
    modules["trust"] = trust
    public = [name for name in dir(polars_graded) if name not in modules and name != "__version__"]
    public += [f"{room}.{name}" for room, module in modules.items() for name in module.__all__]
    public += [f"Graded.{name}" for name in vars(Graded) if not name.startswith("_")]
    assert sorted(names_of(BOOK / "reference.rst")) == sorted(public)


def test_the_gallery_has_every_chart_under_its_name() -> None:
    text = (BOOK / "gallery.md").read_text(encoding="utf-8")
    section = re.compile(r"^### ([^\n]+)\n(.*?)(?=^##|\Z)", re.DOTALL | re.MULTILINE)
    sections = {title: "".join(CELL.findall(rest)) for title, rest in section.findall(text)}
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
    assert linked == returns_value - {"measures", "phi_relevance", "rank"}


MAX_WORDS = 15_000
NUMBER = re.compile(r"[-−]?[\d.,]+( %| s| GB)?(<br>.*)?( \([\d.]+\))?")


def count_words(text: str) -> int:
    """Words with a letter, without code, rows of numbers and the addresses of links."""
    text = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)
    text = re.sub(r"^(`{3,}).*?^\1$|^% .*?$", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"\{py:\w+\}`(.*?)(?: <[^`]*)?`", r"\1", re.sub(r"\]\([^)]*\)", "]", text))
    lines = [line for line in text.splitlines() if not has_numbers(line)]
    return sum(bool(re.search(r"[^\W\d_]", word)) for line in lines for word in line.split())


def has_numbers(line: str) -> bool:
    cells = line.strip("| ").split("|") if line.startswith("|") else []
    return sum(bool(NUMBER.fullmatch(cell.strip())) for cell in cells) >= 2


def without_reference(path: Path) -> str:
    """A page without the tables of names that are looked up, as `reference.rst` is."""
    text = path.read_text(encoding="utf-8")
    if path.stem == "measures":
        table, heading, rest = text.partition("\n## Measures of two rankings")
        return re.sub(r"^\|.*$", "", table, flags=re.MULTILINE) + heading + rest
    if path.stem == "tools":
        start, _, rest = text.partition("\n## All calls")
        return start + rest[rest.index("\n## Why") :]
    return text


def test_the_book_is_read_in_an_hour() -> None:
    pages = [path for path in BOOK.rglob("*.md") if "api" not in path.parts]
    words = sum(count_words(without_reference(path)) for path in [SOURCES / "index.md", *pages])
    assert words <= MAX_WORDS
