"""What the pointer does to charts in a page: what is next to it stays, and the rest fades."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from browser import console_errors, waited

from polars_graded import charts

if TYPE_CHECKING:
    from selenium.webdriver.remote.webdriver import WebDriver

# Three lines, one above the other.
CURVES = pl.DataFrame(
    {
        "strategy": ["low", "middle", "high"],
        "query": 1,
        "cg": [[0.0] * 5, [4.0] * 5, [10.0] * 5],
    }
)
LISTS = pl.DataFrame(
    {
        "strategy": [name for name in ("low", "middle", "high") for _ in range(2)],
        "query": [1, 2] * 3,
        "cg": [[value + 0.1 * query] * 5 for value in (0.0, 4.0, 10.0) for query in (1, 2)],
    }
)
NAMES = ["high", "low", "middle"]


def faded(page: WebDriver, kind: str) -> dict[str, float]:
    """How much is seen of each mark of a kind that has a strategy or a document, by its name."""
    return page.execute_script(
        "const found = {};"
        f"document.querySelectorAll('g.mark-{kind}.role-mark > *').forEach((mark) => {{"
        " let item = mark.__data__; if (Array.isArray(item)) item = item[0];"
        " if (item?.datum === undefined) return;"
        " const name = item.datum.doc ?? item.datum.strategy; if (!name) return;"
        " found[name] = Number(mark.getAttribute('opacity') ?? 1); });"
        "return found;"
    )


def over(page: WebDriver, x: float, y: float, plot: int = 0) -> None:
    """Move the pointer over a plot, in shares of its width and height."""
    from selenium.webdriver.common.actions.action_builder import ActionBuilder

    left, top, width, height = page.execute_script(
        "const boxes = [...document.querySelectorAll('path.background')]"
        ".map((path) => path.getBoundingClientRect())"
        ".filter((box) => box.width > 50 && box.height > 50);"
        f"const box = boxes[{plot}]; return [box.x, box.y, box.width, box.height];"
    )
    actions = ActionBuilder(page, duration=50)
    # Two moves, for a pointer that has not moved is over nothing.
    for shift in (3, 0):
        actions.pointer_action.move_to_location(
            round(left + x * width) + shift, round(top + y * height)
        )
    actions.perform()


@pytest.mark.parametrize(("height", "name"), [(0.95, "low"), (0.62, "middle"), (0.03, "high")])
@pytest.mark.parametrize("interval", [False, True])
def test_the_line_next_to_the_pointer_stays(drawn: Any, height: float, name: str, interval: bool):
    frame, options = (LISTS, {"confidence": 0.95}) if interval else (CURVES, {})
    page = drawn(charts.dcg_curves(frame, "cg", **options))
    assert faded(page, "line") == dict.fromkeys(NAMES, 1)
    over(page, 0.5, height)
    rest = {other: 1 if other == name else 0.15 for other in NAMES}
    waited(page, lambda: faded(page, "line") == rest)
    waited(page, lambda: faded(page, "text") == rest)
    assert console_errors(page) == []


def test_the_document_under_the_pointer_stays_in_every_column(drawn: Any):
    frame = pl.DataFrame(
        {"query": 1, "doc": ["x", "y"], "grade": [1, 2], "one": [2.0, 1.0], "other": [1.0, 2.0]}
    )
    page = drawn(charts.rankings(frame, 1, by=["one", "other"]))
    assert faded(page, "rect") == {"x": 1, "y": 1}
    # The first tile of the first column is x.
    over(page, 0.1, 1.2 / 3.8 + 1 / 3.8)
    waited(page, lambda: faded(page, "rule") == {"x": 1, "y": 0.15})


def tooltip(page: WebDriver) -> str:
    """The text that stands beside the pointer, its names and values in one line."""
    script = """const shown = document.querySelector('#vg-tooltip-element.visible');
        return shown ? shown.innerText.replace(/\\s+/g, ' ') : ''"""
    return page.execute_script(script)


def test_the_nearest_line_is_named_beside_the_pointer(drawn: Any):
    page = drawn(charts.dcg_curves(CURVES, "cg"))
    over(page, 0.5, 0.6)
    assert waited(page, lambda: tooltip(page)) == "strategy middle rank 3 value 4.0000"
