"""The charts of the page, whose rows and titles it has itself.

They are the marks that charts have too, over a data set that is named and some signals: what is
drawn, and in which words, a reader of the page chooses. No specification is changed there, so that
each is made once however many reports are: to make them takes longer than all else of a small page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import cycle, islice, product
from typing import Any, Literal

import altair as alt

from polars_graded._drawing import marks, query_views
from polars_graded._drawing.style import (
    DOUBT,
    FAINT,
    INK,
    MAX_NAMED_QUERIES,
    PALETTE,
    REST,
    draw_layers,
)

CONFIG = {
    # The page says itself what a chart shows, in a sentence instead of a name for each mark.
    "aria": False,
    "background": "white",
    "font": "system-ui, -apple-system, 'Segoe UI', 'Liberation Sans', sans-serif",
    # Numbers at the ends of an axis stand in their places, not over their neighbours.
    "axis": {
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelFlush": False,
    },
    "legend": {"orient": "top", "labelFontSize": 12, "titleFontSize": 12},
    "title": {
        "anchor": "start",
        "fontSize": 13,
        "fontWeight": "normal",
        "limit": {"expr": "width"},
    },
}

DARK_PALETTE = [
    *("#a5bfff", "#fd7401", "#fdfff7", "#03fb96", "#d9a1ad"),
    *("#b0a873", "#4ba7c1", "#b7f426", "#f4d2ec", "#a28afe"),
]
"""Colours of strategies on a dark screen: the hues of `PALETTE`, lightened in the same way."""

CHOSEN_COLOUR = "#1b1f24"
"""The colour of the line at the query that is chosen."""

DARK_COLOURS = dict(zip(PALETTE, DARK_PALETTE, strict=True)) | {
    CHOSEN_COLOUR: "#ffffff",
    DOUBT: "#868d96",
    REST: "#565c64",
    FAINT: "#3a424b",
    **dict.fromkeys((INK, "#333", "#000", "black"), "#d5dae0"),
    **dict.fromkeys(("#ffffff", "white"), "#14181d"),
    "#ddd": "#343b43",
}
"""What the colours of the charts, and of their texts and axes, are in the dark."""

BELIEVED, DOUBTED = "believed", "doubted"
"""What the rows of the forest call a difference that is significant, and one that is not."""

COLOUR = alt.Color("colour:N", scale=None, legend=None)
"""The channel of a colour that stands in the rows."""

FOREST_STEPS = [24, 8]
"""How high a row of the forest is, of a few pairs and of more than have a name."""

DASHES = [[1, 0], [6, 3], [2, 2], [8, 2, 2, 2], [12, 4], [1, 3]]
"""How lines are drawn that share a colour: the first ten solid, the next ten dashed."""


def choose_looks(n: int) -> list[dict[str, Any]]:
    """Return the colour and the dash of each of n strategies: sixty pairs are all different."""
    looks = islice(cycle(product(DASHES, PALETTE)), n)
    return [{"colour": colour, "dash": dash} for dash, colour in looks]


@cache
def write_dark_style() -> str:
    """Return the style of charts on a dark screen; paper and files keep their colours."""
    rules = [
        f'  svg [{what}="{light}"] {{ {what}: {dark}; }}'
        for light, dark in DARK_COLOURS.items()
        for what in ("stroke", "fill")
    ]
    background = "  svg.marks { background-color: transparent !important; }"
    inner = "\n".join([*rules, background])
    return f"@media screen and (prefers-color-scheme: dark) {{\n{inner}\n}}\n"


@cache
def build_curve_specs(
    title: str, kind: str, last: int, *, few: bool, ideal: bool
) -> list[dict[str, Any]]:
    """Return the chart of a curve, from rows with `strategy`, `colour`, `dash` and `value`.

    Names stand at `label_at`, in the `room` in pixels beside the lines, where the lines are apart:
    at the last rank, and at recall 0. The page tells the room and both ends of the values.

    The first chart is without an ideal curve, the second with it: an axis of one that is null at
    every point, as a query may have it, has no ends.
    """
    share = "room / (width - room)"
    end = alt.ExprRef(f"{max(2, last)} + {max(1, last - 1)} * {share}")
    start = alt.ExprRef(f"-{share}")
    by_rank = kind == "rank"
    x = (
        marks.build_place_axis("rank:Q", kind, last, end)
        if by_rank
        else marks.build_recall_axis(kind, start)
    )
    look = {"color": COLOUR, "strokeDash": alt.StrokeDash("dash:N", scale=None)}
    ends = alt.ExprRef("lowest"), alt.ExprRef("highest")
    named_at: Literal["start", "end"] = "end" if by_rank else "start"
    layers = marks.draw_curves(x, title, look, ends=ends, named_at=named_at, few=few, ideal=ideal)
    spec = _build_spec(layers, height=280, room=0, lowest=0, highest=1)
    return [spec | {"layer": spec["layer"][1:]}, spec] if ideal else [spec]


@cache
def build_forest_specs() -> dict[str, dict[str, Any]]:
    """Return the differences of pairs in the order of the rows, of which a few have names.

    It is there with intervals, and without: an axis of intervals that are all null has no ends.
    """
    has_names = f"length(data('rows')) <= {MAX_NAMED_QUERIES}"
    axis = alt.Axis(
        labelLimit=alt.ExprRef("0.35 * containerSize()[0]"),
        labelExpr=f"{has_names} ? datum.label : ''",
        tickOpacity=alt.ExprRef(f"{has_names} ? 1 : 0"),
    )
    pairs = alt.ExprRef("pluck(data('rows'), 'pair')")
    layers = marks.draw_forest("difference of means", pairs, axis, BELIEVED, 60, ("low", "high"))
    # The page says how high it is, by its number of rows: a step would not go with its width.
    spec = _build_spec(layers, height=FOREST_STEPS[0])
    line, _, points = spec["layer"]
    return {"with": spec, "without": spec | {"layer": [line, points]}}


@cache
def build_bar_specs(query: str) -> dict[str, Any]:
    """Return the chart of differences of queries in row order, each with its `colour`.

    A few queries have names, upright where they fit; more stand in their places.
    """
    title = "difference"
    # A letter has about seven pixels.
    angle = alt.ExprRef("7 * longest < bandwidth('x') ? 0 : -90")
    names = alt.ExprRef("pluck(data('rows'), 'query')")
    # Where not all names fit, every second stands, or every fourth.
    axis = {"labelAngle": angle, "labelLimit": 120, "labelOverlap": "parity"}
    end = alt.ExprRef("length(data('rows')) + 0.5")
    specs = {
        "named": marks.draw_named_bars(query, names, title, COLOUR, **axis),
        "placed": marks.draw_placed_bars(f"{query}, by falling {title}", end, title, COLOUR),
    }
    return {
        name: _build_spec([*layers, _draw_chosen(layers[0])], height=240, place=0, longest=0)
        for name, layers in specs.items()
    }


EXPLORE_SIGNALS: dict[str, Any] = {"bin": 1, "least": -1e300, "greatest": 1e300}
"""What the page says of the queries that it explores."""


A, B, BINNED, STACKED = (
    f"extent(pluck(data('rows'), '{column}'))"
    for column in ("value_a", "value_b", "middle", "place")
)
DERIVED_SIGNALS = {
    "lowest": f"min({A}[0], {B}[0])",
    "highest": f"max({A}[1], {B}[1])",
    "down": f"min(0, {BINNED}[0]) - bin / 2",
    "up": f"max(0, {BINNED}[1]) + bin / 2",
    "fullest": f"{STACKED}[1]",
    "total": "length(data('rows'))",
}
"""What follows from these queries."""


@cache
def build_explore_spec(query: str) -> dict[str, Any]:
    """Return the queries of two strategies to choose from, as `charts.explore` draws them.

    Rows have what its rows have, and the `colour` of the one that is better.
    """
    ends = {name: alt.ExprRef(name) for name in (*EXPLORE_SIGNALS, *DERIVED_SIGNALS)}
    queries = query_views.ExploredQueries(
        name="explored",
        a="first",
        b="second",
        measure="value",
        total=ends["total"],
        values=(ends["lowest"], ends["highest"]),
        differences=(ends["down"], ends["up"]),
        bin=ends["bin"],
        fullest=ends["fullest"],
        colour={"color": COLOUR},
        nice=True,
        typed="datum.difference >= least && datum.difference <= greatest",
    )
    chart: Any = query_views.draw_views(queries, query, {}, None)
    chart.data = alt.NamedData("rows")
    spec: dict[str, Any] = chart.to_dict(validate=False)
    config = {name: what for name, what in CONFIG.items() if name != "title"}
    signals = [{"name": name, "expr": expression} for name, expression in DERIVED_SIGNALS.items()]
    return spec | {
        "config": config,
        "params": [*_build_signals(EXPLORE_SIGNALS), *signals, *spec["params"]],
    }


def _build_signals(words: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the signals of a chart that the page sets, with their first values."""
    return [{"name": name, "value": value} for name, value in words.items()]


def _draw_chosen(bars: alt.Chart) -> alt.Chart:
    """Return a line at the place of the query that is chosen, or through its bar."""
    line: alt.Chart = alt.Chart().mark_rule(color=CHOSEN_COLOUR, strokeWidth=2, strokeDash=[3, 2])
    x = bars.encoding.x
    if x.shorthand != "start:Q":
        return line.encode(x=x).transform_filter("datum.position === place")
    at = alt.XDatum(alt.ExprRef("place"), type="quantitative")
    return line.encode(at).transform_aggregate(n="count()").transform_filter("place > 0")


def _build_spec(layers: Sequence[alt.Chart], height: int, **signals: float) -> dict[str, Any]:
    """Return a chart for the page, as wide as its place, with signals for rows and texts."""
    # What these are is known, and looking whether they are what Altair takes costs much time.
    chart = draw_layers(layers, alt.NamedData("rows"), height=height)
    spec: dict[str, Any] = chart.to_dict(validate=False)
    return spec | {
        "config": CONFIG,
        "title": {"text": {"expr": "headline"}},
        "params": [*_build_signals({"headline": "", **signals}), *spec.get("params", [])],
        "width": "container",
        "autosize": {"type": "fit-x", "contains": "padding"},
    }
