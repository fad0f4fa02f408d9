"""Build Vega-Lite specifications of the charts on the page of a report.

The specifications contain no rows and no titles. When a reader selects a measure or a query, the
page sets the data set "rows" and signals such as `headline`, the title. The marks come from
`_drawing.marks` and `_drawing.query_views`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle, islice, product
from typing import Any

import altair as alt

from polars_graded._drawing import marks, query_views
from polars_graded._drawing.style import (
    DOUBT,
    FAINT,
    INK,
    MAX_NAMED_MARKS,
    PALETTE,
    REST,
    draw_layers,
)

CONFIG = {
    # The page describes each chart in a sentence, so marks need no labels for screen readers.
    "aria": False,
    "background": "white",
    "font": "system-ui, -apple-system, 'Segoe UI', 'Liberation Sans', sans-serif",
    # The labels at the ends of an axis are not shifted over their neighbours.
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
    *("#aeb9f7", "#f08b60", "#ffffe9", "#05a294", "#af5eed"),
    *("#ecd865", "#aff1fc", "#a47a07", "#e3476f", "#e4a6c3"),
]
"""Colours of strategies on a dark screen: the hues of `PALETTE`, lightened and moved apart."""

CHOSEN_COLOUR = "#1b1f24"
"""Colour of the line at the selected query."""

DARK_COLOURS = dict(zip(PALETTE, DARK_PALETTE, strict=True)) | {
    CHOSEN_COLOUR: "#ffffff",
    DOUBT: "#868d96",
    REST: "#565c64",
    FAINT: "#3a424b",
    **dict.fromkeys((INK, "#333", "#000", "black"), "#d5dae0"),
    **dict.fromkeys(("#ffffff", "white"), "#14181d"),
    "#ddd": "#343b43",
}
"""Colours on a light screen, mapped to the colours that replace them on a dark screen."""

BELIEVED, DOUBTED = "believed", "doubted"
"""Values of `significance` in the rows of the forest: significant, and not significant."""

COLOUR = alt.Color("colour:N", scale=None, legend=None)
"""The colour channel of marks whose colour is given in their rows."""

FOREST_STEPS = [24, 8]
"""Heights of a row of the forest in pixels: first with names, then without names."""

DASHES = [[1, 0], [6, 3], [2, 2], [8, 2, 2, 2], [12, 4], [1, 3]]
"""Dash patterns. The first ten strategies have ten colours and the first pattern, which is solid.
The next ten strategies have the same ten colours and the second pattern, and so on."""


def choose_looks(n: int) -> list[dict[str, Any]]:
    """Return the colour and the dash of each of n strategies.

    The first sixty strategies have different combinations.
    """
    looks = islice(cycle(product(DASHES, PALETTE)), n)
    return [{"colour": colour, "dash": dash} for dash, colour in looks]


def write_dark_style() -> str:
    """Return the CSS that replaces colours of charts on a dark screen.

    Printed pages and saved charts keep the colours of a light screen.
    """
    rules = [
        f'  svg [{property_name}="{light}"] {{ {property_name}: {dark}; }}'
        for light, dark in DARK_COLOURS.items()
        for property_name in ("stroke", "fill")
    ]
    background = "  svg.marks { background-color: transparent !important; }"
    inner = "\n".join([*rules, background])
    return f"@media screen and (prefers-color-scheme: dark) {{\n{inner}\n}}\n"


def build_curve_specs(
    title: str, kind: str, last: int, *, show_points: bool, ideal: bool
) -> list[dict[str, Any]]:
    """Return the charts of a curve by rank or by recall.

    Rows have the fields `strategy`, `colour`, `dash`, `value`, and `rank` or `recall`. The height
    of a line's name is in the field `label_at`. In a curve by rank, names are to the right of the
    last rank. In a curve by recall, the signal `side` decides: with 1, names are to the right of
    recall 1, and with -1, names are to the left of recall 0. The page moves names up or down to
    keep them apart. It chooses the side with the smaller moves.

    The page also sets the signals `room`, `lowest` and `highest`. `room` is the width of the names
    in pixels. `lowest` and `highest` are the ends of the axis of values.

    If `ideal` is true, the first chart has no ideal curve, and the second chart has one. Without
    ideal values, the page uses the first chart, because the legend of the second chart always names
    the ideal curve.
    """
    share = "room / (width - room)"
    end = alt.ExprRef(f"{max(2, last)} + {max(1, last - 1)} * {share}")
    left, right = (alt.ExprRef(f"side {sign} 0 ? {share} : 0") for sign in ("<", ">"))
    recalls = alt.ExprRef(f"-({left.expr})"), alt.ExprRef(f"1 + ({right.expr})")
    by_rank = kind == "rank"
    x = (
        marks.build_place_axis("rank:Q", kind, last, end)
        if by_rank
        else marks.build_recall_axis(kind, *recalls)
    )
    look = {"color": COLOUR, "strokeDash": alt.StrokeDash("dash:N", scale=None)}
    ends = alt.ExprRef("lowest"), alt.ExprRef("highest")
    side = alt.ExprRef("side")
    layers = marks.draw_curves(
        x, title, look, ends=ends, named_at=side, show_points=show_points, ideal=ideal
    )
    spec = _build_spec(layers, height=280, room=0, side=1, lowest=0, highest=1)
    return [spec | {"layer": spec["layer"][1:]}, spec] if ideal else [spec]


def build_forest_specs(p_title: str = "corrected p") -> dict[str, dict[str, Any]]:
    """Return the charts that show the difference of each pair.

    The pairs are in the order of the rows. With more than `MAX_NAMED_MARKS` pairs, no pair has a
    name. The chart "with" has intervals, and the chart "without" has none. The page uses "without"
    if all intervals are null, because Vega would otherwise warn of an infinite extent.
    """
    has_names = f"length(data('rows')) <= {MAX_NAMED_MARKS}"
    axis = alt.Axis(
        labelLimit=alt.ExprRef("0.45 * containerSize()[0]"),
        labelExpr=f"{has_names} ? datum.label : ''",
        tickOpacity=alt.ExprRef(f"{has_names} ? 1 : 0"),
    )
    pairs = alt.ExprRef("pluck(data('rows'), 'pair')")
    ends = "low", "high"
    layers = marks.draw_forest(
        "difference of means", pairs, axis, BELIEVED, 60, ends, p_title=p_title
    )
    # The page computes the height from the number of rows, because Vega-Lite does not combine a
    # height of steps with the width of a container.
    spec = _build_spec(layers, height=FOREST_STEPS[0])
    line, _, points = spec["layer"]
    return {"with": spec, "without": spec | {"layer": [line, points]}}


def build_bar_specs(query: str) -> dict[str, Any]:
    """Return the charts with a bar for the difference of each query.

    The bars are in the order of the rows. Each bar has the `colour` of its row. The chart "named"
    shows a few queries with their names. The names are horizontal if they fit, and vertical
    otherwise. The chart "placed" shows more queries, and its axis shows positions instead of names.
    """
    title = "difference"
    # A letter is about seven pixels wide.
    fits = "7 * longest < bandwidth('x')"
    angle = alt.ExprRef(f"{fits} ? 0 : -90")
    align = alt.ExprRef(f"{fits} ? 'center' : 'right'")
    baseline = alt.ExprRef(f"{fits} ? 'top' : 'middle'")
    names = alt.ExprRef("pluck(data('rows'), 'query')")
    # If not all names fit, Vega draws every second name. If these do not fit, Vega draws every
    # fourth name, and so on.
    axis: dict[str, Any] = {"labelAngle": angle, "labelAlign": align, "labelBaseline": baseline}
    axis |= {"labelLimit": 120, "labelOverlap": "parity"}
    end = alt.ExprRef("length(data('rows')) + 0.5")
    specs = {
        "named": marks.draw_named_bars(query, names, title, COLOUR, **axis),
        "placed": marks.draw_placed_bars(f"{query}, by falling {title}", end, title, COLOUR),
    }
    return {
        name: _build_spec([*layers, _draw_chosen(layers[1])], height=240, place=0, longest=0)
        for name, layers in specs.items()
    }


EXPLORE_SIGNALS: dict[str, Any] = {"bin": 1, "least": -1e300, "greatest": 1e300}
"""Signals that the page sets for the chart of `explore`, with their initial values."""


VALUES_A, VALUES_B, BIN_MIDDLES, BIN_PLACES = (
    f"extent(pluck(data('rows'), '{column}'))"
    for column in ("value_a", "value_b", "middle", "place")
)
DERIVED_SIGNALS = {
    "lowest": f"min({VALUES_A}[0], {VALUES_B}[0])",
    "highest": f"max({VALUES_A}[1], {VALUES_B}[1])",
    "down": f"min(0, {BIN_MIDDLES}[0]) - bin / 2",
    "up": f"max(0, {BIN_MIDDLES}[1]) + bin / 2",
    "highest_bin_count": f"{BIN_PLACES}[1]",
    "total": "length(data('rows'))",
}
"""Signals that the chart of `explore` derives from its rows."""


def build_explore_spec(query: str) -> dict[str, Any]:
    """Return the views of `charts.explore` for the page.

    The rows have the same fields as in `charts.explore`, and a field `colour`: the colour of the
    strategy that is better for the query.
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
        highest_bin_count=ends["highest_bin_count"],
        colour={"color": COLOUR},
        nice=True,
        condition="datum.difference >= least && datum.difference <= greatest",
    )
    chart: Any = query_views.draw_views(queries, query, {}, None)
    chart.data = alt.NamedData("rows")
    spec: dict[str, Any] = chart.to_dict(validate=False)
    config = {name: setting for name, setting in CONFIG.items() if name != "title"}
    signals = [{"name": name, "expr": expression} for name, expression in DERIVED_SIGNALS.items()]
    return spec | {
        "config": config,
        "params": [*_build_signals(EXPLORE_SIGNALS), *signals, *spec["params"]],
    }


def _build_signals(signals: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return signals with their initial values, in the form for Vega."""
    return [{"name": name, "value": value} for name, value in signals.items()]


def _draw_chosen(bars: alt.Chart) -> alt.Chart:
    """Draw a line at the selected query.

    With names on the axis, the line is at the name of the query. With positions on the axis, the
    line is at the position of the query.
    """
    line: alt.Chart = alt.Chart().mark_rule(color=CHOSEN_COLOUR, strokeWidth=2, strokeDash=[3, 2])
    x = bars.encoding.x
    if x.shorthand != "start:Q":
        return line.encode(x=x).transform_filter("datum.position === place")
    position = alt.XDatum(alt.ExprRef("place"), type="quantitative")
    return line.encode(position).transform_aggregate(n="count()").transform_filter("place > 0")


def _build_spec(layers: Sequence[alt.Chart], height: int, **signals: float) -> dict[str, Any]:
    """Return a chart for the page, as wide as its container."""
    # The chart is valid by construction, and validation by Altair takes much time.
    chart = draw_layers(layers, alt.NamedData("rows"), height=height)
    spec: dict[str, Any] = chart.to_dict(validate=False)
    return spec | {
        "config": CONFIG,
        "title": {"text": {"expr": "headline"}, "limit": {"expr": "containerSize()[0]"}},
        "params": [*_build_signals({"headline": "", **signals}), *spec.get("params", [])],
        "width": "container",
        "autosize": {"type": "fit-x", "contains": "padding"},
    }
