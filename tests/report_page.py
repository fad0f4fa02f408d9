"""A report as tests read it: what its script reads, and the page in a browser."""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING, Any

import pytest
from browser import colours, complaints, console_errors, requests_of

if TYPE_CHECKING:
    from pathlib import Path

    from selenium.webdriver.remote.webdriver import WebDriver
    from selenium.webdriver.remote.webelement import WebElement


def payload(path: Path) -> dict[str, Any]:
    """What the page has, as its script reads it."""
    text = path.read_text(encoding="utf-8")
    (found,) = re.findall(r'<script type="application/json" id="payload">(.*?)</script>', text)
    return json.loads(found)


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
                box = row.find_element("css selector", "input")
                self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", box)
                box.click()
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

    def curves(self, section: str) -> dict[str, tuple[str, list[float]]]:
        """The stroke of each line, and the values that it is drawn through."""
        script = """const holder = document.querySelector(arguments[0] + ' .chart');
            const y = holder.view.scale('y');
            return [...holder.querySelectorAll('.mark-line path')]
                .filter((path) => path.getAttribute('d'))
                .map((path) => [path.getAttribute('stroke'), path.__data__.mark.items])
                .map(([stroke, items]) => [
                    stroke === 'gray' ? 'ideal' : items[0].datum.strategy,
                    stroke,
                    items.filter((item) => item.defined !== false).map((item) => y.invert(item.y)),
                ])"""
        drawn = self.driver.execute_script(script, section)
        assert len({name for name, *_ in drawn}) == len(drawn)
        return {name: (stroke, values) for name, stroke, values in drawn}

    def forest(self) -> dict[str, dict[str, Any]]:
        """Where the point and the interval of each pair are drawn, and whether it is filled."""
        script = """const holder = document.querySelector('#forest');
            const x = holder.view.scale('x');
            const rows = {};
            for (const path of holder.querySelectorAll('.mark-symbol.role-mark path')) {
                const { datum, x: at, y } = path.__data__;
                rows[datum.pair] = { at: x.invert(at), y, fill: path.getAttribute('fill') };
                rows[datum.pair].stroke = path.getAttribute('stroke');
            }
            for (const path of holder.querySelectorAll('.mark-rect.role-mark path')) {
                const { datum, x: low, width } = path.__data__;
                rows[datum.pair].ends = [low, low + width].map((at) => x.invert(at));
            }
            return rows"""
        return self.driver.execute_script(script)

    def heights(self) -> list[dict[str, Any]]:
        """The bars of the histogram from the left to the right, as they are drawn."""
        script = """const holder = document.querySelector('#histogram .chart');
            const y = holder.view.scale('y');
            return [...holder.querySelectorAll('.mark-rect.role-mark path')]
                .map((path) => [path, path.__data__])
                .sort(([, a], [, b]) => a.x - b.x)
                .map(([path, { datum, y: top, height }]) => ({
                    query: datum.query, better: datum.better, fill: path.getAttribute('fill'),
                    top: y.invert(top), bottom: y.invert(top + height),
                }))"""
        return self.driver.execute_script(script)

    def swatches(self, section: str) -> dict[str, str]:
        """The colour before each name."""
        script = """return [...document.querySelectorAll(arguments[0] + ' .name')].map((name) =>
            [name.textContent, name.parentElement.querySelector('.sample line')])
            .map(([name, line]) => [name, line.getAttribute('stroke')])"""
        return dict(self.driver.execute_script(script, section))

    def hit(self, place: float, height: float) -> None:
        """Click within the histogram's plot, at shares of its width and its height."""
        from selenium.webdriver import ActionChains

        script = """const holder = document.querySelector('#histogram .chart');
            holder.scrollIntoView({block: 'center'});
            const { left, top } = holder.querySelector('svg.marks').getBoundingClientRect();
            const [x, y] = holder.view.origin();
            return [left + x, top + y, holder.view.width(), holder.view.height()]"""
        left, top, wide, high = self.driver.execute_script(script)
        at = ActionChains(self.driver).w3c_actions
        at.pointer_action.move_to_location(round(left + place * wide), round(top + height * high))
        at.pointer_action.click()
        at.perform()
        self.drawn()

    def bars(self) -> list[WebElement]:
        return self.all("#histogram .mark-rect path")

    def colours(self, section: str) -> int:
        """How many colours a chart has, grey aside."""
        element = self.one(f"{section} .chart")
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
        return len(colours(element.screenshot_as_png))

    def quiet(self) -> None:
        assert requests_of(self.driver) == []
        assert complaints(self.driver) == []
