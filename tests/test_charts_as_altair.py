"""Test that the calls that Altair users know change a chart."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import altair as alt
import polars as pl
import pytest
import vl_convert
from chart_registry import ROWS, Row
from helpers import simulated

from polars_graded import charts

pytestmark = pytest.mark.slow  # pictures of every chart

BLUE, ORANGE = "#0072b2", "#e69f00"
"""The first two colours."""

DARK, LIGHT_INK = "#14181d", "#e6e9ed"
"""A dark background, and the colour of text on it."""


def svg_of(chart: Any) -> str:
    return vl_convert.vegalite_to_svg(chart.to_dict())


@cache
def svg_of_row(row: Row) -> str:
    """Return the picture of the chart of a row, without a change."""
    return svg_of(row.of(3, 8))


def fills_of(svg: str, kind: str = "rect") -> list[str]:
    """Return the colours of the marks of one kind, in their order."""
    groups = re.findall(rf'class="mark-{kind} role-mark[^>]*>(.*?)</g>', svg)
    return re.findall(r'fill="(#\w+|rgb[^"]*|\w+)"', "".join(groups))


def histogram(n: int = 100, **options: Any) -> Any:
    """Return a histogram in which ours is better in two thirds of the queries."""
    values = [0.5 + (0.1 if query % 3 else -0.1) * query / n for query in range(n)]
    frame = pl.DataFrame(
        {
            "strategy": ["ours"] * n + ["bm25"] * n,
            "query": [*range(300, 300 + n)] * 2,
            "ap": [*values, *[0.5] * n],
        }
    )
    return charts.precision_histogram(frame, "ap", "ours", "bm25", **options)


def test_the_sides_of_a_histogram_are_blue_and_orange_whoever_wins():
    assert {*fills_of(svg_of(histogram()))} == {BLUE, ORANGE}
    assert fills_of(svg_of(histogram()))[0] == BLUE


@pytest.mark.parametrize(("panel", "lines"), [(None, 2), ("half", 3)])
def test_the_title_of_a_histograms_axis_fits_its_panel(panel, lines):
    both = "RepLLaMA fine-tuned on MS MARCO", "BM25 with RM3 query expansions"
    frame = pl.DataFrame(
        {
            "strategy": [name for name in both for _ in range(4)],
            "query": [*range(4)] * 2,
            "half": [0, 0, 1, 1] * 2,
            "ap(threshold=2)": [n / 8 for n in range(8)],
        }
    )
    spec = charts.precision_histogram(frame, "ap(threshold=2)", *both, panel=panel).to_dict()
    title = (spec["spec"] if panel else spec)["encoding"]["y"]["title"]
    assert title[-1] == "BM25 wi…pansions"
    assert len(title) == lines


def test_a_histogram_takes_colours():
    assert "#cc0000" in fills_of(svg_of(histogram(colours={"ours": "#cc0000"})))
    fills = fills_of(svg_of(histogram(colours={"ours": "#bbbbbb"})))
    assert ORANGE in fills
    assert BLUE not in fills
    configured = histogram().configure_range(category=["#ff0000", "#00ff00"])
    assert {*fills_of(svg_of(configured))} == {"#ff0000", "#00ff00"}
    encoded = histogram().encode(color=alt.value("#123456"))
    assert {*fills_of(svg_of(encoded))} == {"#123456"}


def test_a_colour_is_that_of_a_strategy():
    message = "`colours` must name a drawn strategy, got 'our'; there are 'ours', 'bm25'"
    with pytest.raises(ValueError, match=message):
        histogram(colours={"our": "#c00"})


def test_grey_lines_highlight_another_one():
    grey = {f"s{place}": "#bbbbbb" for place in range(1, 13) if place != 3}
    row = ROWS["dcg_curves"]
    chart = row.draw(row.frame(12, 8), colours=grey)
    colour = chart.to_dict()["encoding"]["color"]
    shown = dict(zip(colour["scale"]["domain"], colour["scale"]["range"], strict=True))
    assert {name for name, each in shown.items() if each != "#bbbbbb"} == {"s3"}
    assert chart.data["strategy"][-1] == "s3"  # in front


# Every chart

REDESIGNED = {
    "dcg_curves": "sy",
    "dcg_curves with an interval": "sy",
    "recall_precision_curves": "sy",
    "relevance_function": "xy",
    "rankings": "xy",
    "sample_size_curves of power": "xy",
    "sample_size_curves of stability": "xy",
    "strategy_bars": "sxy",
    "strategy_ranks": "sxy",
    # The colours are those of significance.
    "comparison_forest": "xy",
    "comparison_forest of all pairs": "xy",
    # The colours are those of kinds of grades.
    "comparison_forest of trusted grades": "xy",
    "comparison_forest of trusted pairs": "xy",
    # The colours are those of values.
    "comparison_matrix": "xy",
    "similarity_matrix": "xy",
    "agreement": "xy",
    "grading_profile": "sxy",
    "grading_profile of places": "sxy",
    "precision_histogram": "s",
    "precision_histogram by query": "s",
    "measure_agreement": "xy",
    # Several views have neither an encoding nor a size in common.
    "explore": "",
}
"""Charts and what an encoding may replace in them: colours of strategies, x and y.

`s` stands for the colours of strategies, `x` and `y` for the title of an axis.
"""

LAYERED = {name: row for name, row in ROWS.items() if name in REDESIGNED}
every_chart = pytest.mark.parametrize("row", LAYERED.values(), ids=LAYERED)


def texts_of(svg: str) -> list[str]:
    """Return the texts of marks and legends in a picture, but not the labels of axes."""
    groups = re.findall(r'class="mark-text role-(?:mark|legend)[^>]*>(.*?)</g>', svg)
    return sorted(re.findall(r">([^<>]+)</text>", "".join(groups)))


def change_all(chart: Any) -> Any:
    """Change the size, the title, the background and the zoom of a chart."""
    if isinstance(chart, alt.LayerChart | alt.FacetChart):
        chart = chart.properties(height=150, width=250).interactive()
    return chart.properties(title="Mine").configure(background=DARK).configure_title(fontSize=31)


RULE = alt.Chart(pl.DataFrame({"limit": [0.05]})).mark_rule(color="#abcdef").encode(y="limit:Q")
CHANGED = "size, title, theme and zoom"
CONCATENATED = "beside and under others"
CALLS = {
    CHANGED: change_all,
    CONCATENATED: lambda chart: alt.vconcat(
        histogram(20), alt.hconcat(chart, ROWS["precision_histogram"].of(2, 9))
    ),
}


@pytest.mark.parametrize("name", [CHANGED, *simulated(CONCATENATED)])
@every_chart
def test_calls_keep_the_texts_of_marks_and_legends(row: Row, name: str):
    svg = svg_of(CALLS[name](row.of(3, 8)))
    if row.function is not charts.rankings:
        assert {*texts_of(svg_of_row(row))} <= {*texts_of(svg)}
    assert "undefined" not in svg
    if name == CHANGED:
        assert 'font-size="31px"' in svg
        groups = re.findall(r'class="mark-text role-(?:axis|legend|title)[^>]*>(.*?)</g>', svg)
        fills = re.findall(r'fill="([^"]*)"', "".join(groups))
        assert {*fills} == {LIGHT_INK}  # of texts on a dark background


@every_chart
def test_measures_have_the_names_that_readers_know(row: Row):
    svg = svg_of_row(row)
    assert not re.findall(r">[^<>]*\b(?:mu_ap|r_precision|ndcg)\b[^<>]*</text>", svg)


@every_chart
def test_a_chart_is_laid_under_another(row: Row):
    chart = row.of(3, 8)
    if not isinstance(chart, alt.LayerChart):
        with pytest.raises((TypeError, ValueError), match=r"acet|oncat"):
            chart + RULE
        return
    svg = svg_of(chart + RULE)
    assert svg.count("#abcdef") == 1
    assert texts_of(svg) == texts_of(svg_of_row(row))


@every_chart
def test_a_chart_is_faceted_by_a_column_of_its_rows(row: Row):
    chart = row.of(3, 8)
    if not isinstance(chart, alt.LayerChart):
        with pytest.raises((TypeError, AttributeError), match="acet"):
            chart.facet("strategy:N")
        return
    names = [name for name in ("strategy", "better", "group") if name in chart.data.columns]
    for name in names:
        svg = svg_of(chart.facet(f"{name}:N", columns=2))
        assert "undefined" not in svg
        for value in chart.data[name].drop_nulls().unique():
            assert f">{value}<" in svg


COLOURED = [name for name, channels in REDESIGNED.items() if "s" in channels]


@pytest.mark.parametrize("name", COLOURED)
def test_colours_of_strategies_can_be_changed(name: str):
    row = ROWS[name]
    chart = row.of(3, 8)
    drawn = next(n for n in ("strategy", "better", "group") if n in chart.data.columns)
    domain = sorted(chart.data[drawn].drop_nulls().unique())
    own = ["#ff0000", "#00ff00", "#0000ff"]
    configured = svg_of(chart.configure_range(category=own))
    if isinstance(chart, alt.LayerChart):
        panels = chart.facet(f"{drawn}:N", columns=2).configure_range(category=own)
        assert {BLUE, ORANGE}.isdisjoint(colours_of(svg_of(panels)))
    assert set(own[: len(domain)]) <= colours_of(configured)
    assert {BLUE, ORANGE}.isdisjoint(colours_of(configured))
    encoded = svg_of(chart.encode(color=alt.value("#123456")))
    assert "#123456" in colours_of(encoded)
    assert {BLUE, ORANGE}.isdisjoint(colours_of(encoded))
    scale = alt.Scale(domain=domain, range=own[: len(domain)])
    field = svg_of(chart.encode(color=alt.Color(f"{drawn}:N", scale=scale)))
    assert set(own[: len(domain)]) <= colours_of(field)
    assert "undefined" not in field
    chosen = row.draw(row.frame(3, 8), colours={domain[0]: "#cc0011"})
    assert "#cc0011" in colours_of(svg_of(chosen))
    grey = dict.fromkeys(domain[1:], "#bbbbbb")
    highlighted = colours_of(svg_of(row.draw(row.frame(3, 8), colours=grey)))
    assert BLUE in highlighted
    assert ORANGE not in highlighted


def colours_of(svg: str) -> set[str]:
    return {*re.findall(r'(?:fill|stroke)="(#[0-9a-f]{6})"', svg)}


@pytest.mark.parametrize(
    ("name", "axes"),
    [(name, axes.strip("s")) for name, axes in REDESIGNED.items() if axes.strip("s")],
)
def test_the_titles_of_axes_can_be_changed(name: str, axes: str):
    titles = {"x": alt.X(title="my x"), "y": alt.Y(title="my y")}
    svg = svg_of(ROWS[name].of(3, 8).encode(**{axis: titles[axis] for axis in axes}))
    for axis in axes:
        assert f">my {axis}<" in svg
