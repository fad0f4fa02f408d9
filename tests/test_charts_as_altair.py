"""Test that the calls that Altair users know change a chart."""

from __future__ import annotations

import re
from typing import Any

import altair as alt
import polars as pl
import pytest
import vl_convert

from polars_graded import charts

BLUE, ORANGE = "#4c78a8", "#f58518"
"""The first two colours of Vega."""


def svg_of(chart: Any) -> str:
    return vl_convert.vegalite_to_svg(chart.to_dict())


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


def test_a_histogram_takes_colours():
    assert "#cc0000" in fills_of(svg_of(histogram(colours={"ours": "#cc0000"})))
    fills = fills_of(svg_of(histogram(highlight="bm25")))
    assert ORANGE in fills
    assert BLUE not in fills
    configured = histogram().configure_range(category=["#ff0000", "#00ff00"])
    assert {*fills_of(svg_of(configured))} == {"#ff0000", "#00ff00"}
    encoded = histogram().encode(color=alt.value("#123456"))
    assert {*fills_of(svg_of(encoded))} == {"#123456"}


@pytest.mark.parametrize("option", [{"colours": {"our": "#c00"}}, {"highlight": "our"}])
def test_a_colour_is_that_of_a_strategy(option):
    [name] = option
    message = f"`{name}` must name a drawn strategy, got 'our'; there are 'ours', 'bm25'"
    with pytest.raises(ValueError, match=message):
        histogram(**option)


def test_a_histogram_takes_a_scale_and_a_field():
    svg = svg_of(histogram().encode(y=alt.Y(scale=alt.Scale(domain=[-2, 2]))))
    assert "2.0<" in svg
    legend = svg_of(histogram().encode(color=alt.Color("better:N")))
    assert "undefined" not in legend
    assert legend.count(">bm25<") == 1


def test_a_histogram_takes_a_title():
    chart = histogram().properties(title="Mine")
    svg = svg_of(chart.configure_title(fontSize=31))
    assert "Mine" in svg
    assert 'font-size="31px"' in svg
    assert "ours better" in svg


CALLS = {
    "height": lambda chart: chart.properties(height=150),
    "width": lambda chart: chart.properties(width=250),
    "interactive": lambda chart: chart.interactive(),
    "facet": lambda chart: chart.facet("better:N"),
    "layer": lambda chart: chart + alt.Chart().mark_rule().encode(y=alt.datum(0.05)),
    "hconcat": lambda chart: alt.hconcat(chart, histogram(20)),
    "vconcat": lambda chart: alt.vconcat(histogram(20), chart),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_histogram_keeps_its_words_and_colours(call):
    svg = svg_of(CALLS[call](histogram()))
    # The queries with the largest differences, the mean, and the legend.
    for words in ("398, 397 and 395", "399, 396 and 393", "mean", "ours better", "bm25 better"):
        assert f">{words}<" in svg
    assert {BLUE, ORANGE} <= {*fills_of(svg)}
