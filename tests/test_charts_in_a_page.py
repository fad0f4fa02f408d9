"""Charts in a page: what the pointer does to lines and tiles, and the means of chosen queries."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import browser
import numpy as np
import polars as pl
import pytest
from browser import console_errors, waited

from polars_graded import charts, compare, differences

if TYPE_CHECKING:
    from selenium.webdriver.remote.webdriver import WebDriver

# Three lines, one above the other.
CURVES = pl.DataFrame(
    {"strategy": ["low", "middle", "high"], "query": 1, "cg": [[0.0] * 5, [4.0] * 5, [10.0] * 5]}
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


# `charts.explore`: queries are chosen by a rectangle.


def results(n: int) -> pl.DataFrame:
    """What `evaluate` returns of two strategies, and the country of each query."""
    rng = np.random.default_rng(n)
    parts = []
    for place, name in enumerate(["bm25", "ours"]):
        ndcg = np.clip(rng.beta(2, 2, n) + 0.1 * place, 0, 1).round(2)
        parts.append(
            pl.DataFrame(
                {
                    "strategy": name,
                    "query": np.arange(n),
                    "ndcg": ndcg,
                    "country": [["se", "de", "fr"][query % 3] for query in range(n)],
                }
            )
        )
    return pl.concat(parts)


def test_the_rows_are_those_of_differences():
    frame = results(50)
    data = charts.explore(frame, "ours", "bm25", "ndcg").data
    expected = differences(frame, "ndcg", "ours", "bm25")
    assert data["query"].to_list() == expected["query"].cast(pl.String).to_list()
    for name in ("value_a", "value_b", "difference"):
        assert data[name].to_list() == expected[name].to_list()
    assert data["better"].to_list() == expected["winner"].to_list()
    assert data["position"].to_list() == list(range(1, 51))


def test_long_names_leave_the_picture_as_wide_as_its_views():
    names = {"bm25": f"{'long ' * 9}1{' name' * 9}", "ours": f"{'long ' * 9}2{' name' * 9}"}
    frame = results(9).with_columns(pl.col("strategy").replace(names))
    spec = charts.explore(frame, *names.values(), "ndcg").to_dict()
    points, bars = spec["vconcat"][0]["hconcat"]
    for view, channel in ((points, "x"), (points, "y"), (bars, "y")):
        encoding = view["layer"][0]["encoding"][channel]
        assert encoding["axis"]["titleLimit"] <= 310
    [text] = [each for each in spec["vconcat"][1]["transform"] if each.get("as") == "text"]
    assert '"difference"' in text["calculate"]
    assert "long long" not in text["calculate"]


def test_a_strategy_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="there is no strategy 'us'; there are 'bm25', 'ours'"):
        charts.explore(results(9), "us", "bm25", "ndcg")


def test_more_queries_than_a_page_takes_are_refused_and_5000_are_drawn():
    with pytest.raises(ValueError, match="at most 5000 queries can be drawn, got 5001"):
        charts.explore(results(5001), "ours", "bm25", "ndcg")
    spec = charts.explore(results(5000), "ours", "bm25", "ndcg").to_dict()
    [rows] = spec["datasets"].values()
    assert len(rows) == 5000
    assert len(json.dumps(rows)) < 4e6


VIEWS = {"points": "concat_0_concat_0_group", "order": "concat_0_concat_1_group"}


def drag(page: WebDriver, view: str, *places: tuple[float, float]) -> None:
    """Hold the pointer down from one place of a view to the next, in shares of its plot."""
    browser.drag(page, f"g.{VIEWS[view]}", *places)


def brushed(page: WebDriver, data: pl.DataFrame) -> list[str]:
    """The queries within the rectangle, by what Vega says of its ends."""
    [ends] = page.execute_script(
        "const { signals } = view.getState({ data: () => false, signals: () => true });"
        "return Object.keys(signals).filter((name) => /^brush_[0-9a-f]+$/.test(name))"
        ".map((name) => signals[name]);"
    )
    within = [pl.col(name).is_between(min(each), max(each)) for name, each in ends.items()]
    return data.filter(within)["query"].to_list() if within else data["query"].to_list()


def shown(page: WebDriver) -> list[str]:
    """What the page prints of means, in the order of the page."""
    texts = page.execute_script(
        "return [...document.querySelectorAll('g.mark-text.role-mark text')]"
        ".map((text) => text.textContent)"
    )
    return [text.replace("−", "-") for text in texts]


def expected(frame: pl.DataFrame, queries: list[str], total: int) -> list[str]:
    """What Python makes of these queries."""
    chosen = frame.with_columns(pl.col("query").cast(pl.String)).filter(
        pl.col("query").is_in(queries)
    )
    ours, bm25 = (chosen.filter(strategy=name).sort("query")["ndcg"] for name in ("ours", "bm25"))
    difference = f"ours - bm25 {(ours - bm25).mean():.4f}"
    means = f"ours {ours.mean():.4f}, bm25 {bm25.mean():.4f}, {difference}"
    return [f"means of {len(queries)} of {total} queries: {means}"]


def test_a_rectangle_in_any_view_changes_means_to_those_of_its_queries(drawn):
    frame = results(150)
    chart = charts.explore(frame, "ours", "bm25", "ndcg")
    every = chart.data["query"].to_list()
    page = drawn(chart)
    assert shown(page) == expected(frame, every, 150)
    sizes = set()
    for view, *places in (
        ("points", (0.1, 0.9), (0.5, 0.3)),
        ("points", (0.5, 0.95), (0.95, 0.05)),
        ("order", (0.3, 0.95), (0.6, 0.02)),
        ("order", (0.05, 0.05), (0.4, 0.95)),
        ("order", (0.9, 0.05), (0.99, 0.95)),
    ):
        before = shown(page)
        drag(page, view, *places)
        waited(page, lambda before=before: shown(page) != before)
        queries = brushed(page, chart.data)
        assert 2 <= len(queries) < 150
        assert shown(page) == expected(frame, queries, 150)
        sizes.add(len(queries))
    assert len(sizes) > 3
    # A click beside the rectangle takes it away.
    drag(page, "order", (0.5, 0.05))
    waited(page, lambda: shown(page) == expected(frame, every, 150))
    assert console_errors(page) == []


def test_a_rectangle_without_a_query_has_no_mean(drawn):
    frame = results(30).with_columns(
        ndcg=pl.when(pl.col("query") == 0).then(pl.lit(1.0)).otherwise(pl.col("ndcg") * 0.5)
    )
    page = drawn(charts.explore(frame, "ours", "bm25", "ndcg"))
    drag(page, "points", (0.7, 0.3), (0.8, 0.2))
    waited(page, lambda: shown(page) == [])
    drag(page, "points", (0.9, 0.1), (1.02, -0.02))
    means = "ours 1.0000, bm25 1.0000, ours - bm25 0.0000"
    waited(page, lambda: shown(page) == [f"means of 1 of 30 queries: {means}"])


def test_the_interval_is_that_of_compare():
    frame = results(200)
    [row] = compare(frame, "ndcg", baseline="bm25").rows(named=True)
    text = f"mean difference {row['difference']:.4f}, 95 % interval {row['ci_low']:.4f} to"
    assert text in str(charts.explore(frame, "ours", "bm25", "ndcg").title["subtitle"])
