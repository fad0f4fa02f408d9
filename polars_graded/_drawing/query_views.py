"""Draw linked views of queries.

The browser computes the means of the selected queries.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import altair as alt
import numpy as np

from polars_graded._drawing.axis_ends import choose_rank_ticks
from polars_graded._drawing.marks import draw_diagonal
from polars_graded._drawing.style import (
    DOUBT,
    FAINT,
    UNFLUSHED_LABELS,
    bound_axis,
    draw_dots,
    draw_rule,
    find_ink,
    format_decimals,
    list_tooltips,
    order_axis,
)
from polars_graded._results.per_query import compute_mean_margin
from polars_graded._sentences.titles import write_axis_title

WIDTH, HEIGHT, VIEW_SPACING = 290, 260, 80
"""Width and height of each upper view, and space between two views, in pixels."""

FULL_WIDTH = 2 * WIDTH + VIEW_SPACING
"""Width of the lowest view, in pixels."""

ROW_HEIGHT = 34
"""Half of the height of a view of means, in pixels. A view shows one or two means."""

MAX_SEPARATE_PER_PIXEL = 0.15
"""Limit of queries per pixel in the highest bar of the histogram.

Each query is a cell of a bar. From this limit on, the cells overlap. For example, 26 queries on 260
pixels are 0.1 queries per pixel, so their cells do not overlap.
"""

POINT_SIZE, MAX_LARGE_POINTS = 40, 300
"""Size of a point in square pixels, and maximum number of points of this size.

If there are more queries, all points are smaller.
"""

MAX_LISTED_DEGREES = 60
"""Maximum number of degrees of freedom for which quantiles of Student's t are listed."""


@dataclass(frozen=True)
class ExploredQueries:
    """Facts that the views of queries need.

    On the report's page, most numbers are Vega signals, since the page can replace the queries.
    """

    name: str
    """Suffix of the names of selections and views. No other chart may have the same suffix."""
    a: str
    b: str
    measure: str
    total: Any
    """The number of queries."""
    values: tuple[Any, Any]
    """The ends of the axes of the measure."""
    differences: tuple[Any, Any]
    """The ends of the axis of differences."""
    bin: Any
    """The width of a bin of differences."""
    highest_bin_count: Any
    """The number of queries in the bin with the most queries."""
    colour: dict[str, Any]
    attribute: str | None = None
    """The column of an attribute of queries. A click on a value in the legend selects queries."""
    confidence: float = 0.95
    nice: bool = False
    """True if the axes of the measure extend to round numbers."""
    condition: str | None = None
    """A further condition for selected queries, as a Vega expression."""

    @property
    def difference_name(self) -> str:
        """Return the name of the difference."""
        return f"{self.a} \N{MINUS SIGN} {self.b}"

    @property
    def brush(self) -> alt.Parameter:
        """Return the selection of queries by a rectangle in a view."""
        return alt.selection_interval(name=f"brush_{self.name}")

    @property
    def legend(self) -> alt.Parameter:
        """Return the selection of queries by a value in the legend."""
        return alt.selection_point(name=f"legend_{self.name}", fields=["group"], bind="legend")

    @property
    def is_chosen_by_value(self) -> Any:
        """Return the condition for a query that neither a rectangle nor `condition` excludes.

        An empty brush excludes no query.
        """
        return self.brush if self.condition is None else self.brush & self.condition

    @property
    def is_selected(self) -> Any:
        """Return the condition for a selected query.

        An empty legend selection excludes no query.
        """
        is_chosen: Any = self.is_chosen_by_value
        return is_chosen if self.attribute is None else is_chosen & self.legend

    def encode_colour(self, *, legend: bool = False) -> dict[str, Any]:
        """Return the encoding of the colour of queries.

        Queries that are not selected are light. Without an attribute, tied queries are grey.
        """
        colour = self.colour["color"].to_dict() | ({} if legend else {"legend": None})
        conditions: list[dict[str, Any]] = [{"test": (~self.is_selected).to_dict(), "value": FAINT}]
        if self.attribute is None:
            conditions.append({"test": "!isValid(datum.better)", "value": DOUBT})
        return {"color": alt.Color(**colour, condition=conditions)}

    @property
    def tooltip(self) -> list[Any]:
        """Return the tooltip of a query."""
        group = [] if self.attribute is None else [alt.Tooltip("group:N", title=self.attribute)]
        values = {"value_a": self.a, "value_b": self.b, "difference": self.difference_name}
        numbers = [
            alt.Tooltip(f"{field}:Q", title=title, format=".4f") for field, title in values.items()
        ]
        return list_tooltips("query:N", *numbers, *group)


def draw_views(
    queries: ExploredQueries, query: str, ranks: dict[str, int], curve: str | None
) -> alt.VConcatChart:
    """Draw all views as one chart.

    `ranks` maps columns to ranks. Each column contains the differences of a curve at its rank. If
    `ranks` is empty, the lowest view shows the differences of queries in order.
    """
    both = {"value_a": queries.a, "value_b": queries.b}
    aligned: dict[str, Any] = {"spacing": VIEW_SPACING, "bounds": "flush"}
    upper_row = alt.hconcat(_draw_points(queries), _draw_bins(queries), **aligned)
    means_row = alt.hconcat(
        _draw_means(queries, both, queries.values),
        _draw_means(queries, {"difference": queries.difference_name}, queries.differences),
        **aligned,
    )
    lower_view = (
        _draw_by_rank(queries, ranks, curve or "") if ranks else _draw_in_order(queries, query)
    )
    # Each row of views has its own colour scale. Otherwise, a chart beside this one would add its
    # values to the legend of the views.
    own_colours = alt.Resolve(scale=alt.ScaleResolveMap(color="independent"))
    grid: Any = alt.vconcat(upper_row, means_row, lower_view, resolve=own_colours)
    left, right = grid.vconcat[0].hconcat
    views = {"points": left.layer[1], "bins": right.layer[0]}
    if not ranks:
        views["order"] = grid.vconcat[2].layer[0]
    # When Altair copies a concatenated chart, it renames each layer: the new name ends with the
    # position of the layer's view. Parameters still refer to the old name. The names given here
    # already end with the position, so a copy has the same names.
    for index, (what, view) in enumerate(views.items()):
        view.name = f"{what}_{queries.name}_{index}"
    choices: list[tuple[Any, list[str]]] = [(queries.brush, [*views])]
    if queries.attribute is not None:
        choices.append((queries.legend, ["points"]))
    grid.params = [
        alt.TopLevelSelectionParameter(
            **choice.param.to_dict(), views=[views[what].name for what in view_names]
        )
        for choice, view_names in choices
    ]
    return grid


def _draw_points(queries: ExploredQueries) -> Any:
    """Draw each query as a point, and the diagonal on which both strategies are equal."""
    low, high = queries.values
    scale = alt.Scale(domain=[low, high], nice=queries.nice)
    side: dict[str, Any] = {"scale": scale, "axis": alt.Axis(**UNFLUSHED_LABELS)}
    # Points of many queries are small, so that they do not hide each other.
    share = f"sqrt({MAX_LARGE_POINTS} / max(1, {write_operand(queries.total)}))"
    size = alt.ExprRef(f"{POINT_SIZE} * min(1, {share})")
    points = alt.Chart().mark_point(filled=True, size=size, opacity=0.7)
    points = points.encode(
        x=alt.X("value_b:Q", title=f"{queries.measure} of {queries.b}", **side),
        y=alt.Y("value_a:Q", title=f"{queries.measure} of {queries.a}", scale=scale),
        tooltip=queries.tooltip,
        **queries.encode_colour(legend=True),
    )
    return alt.layer(
        draw_diagonal((low, high), nice=queries.nice), points, width=WIDTH, height=HEIGHT
    )


def _draw_bins(queries: ExploredQueries) -> Any:
    """Draw a histogram of differences, in which each query is a cell of a bar."""
    low, high = queries.differences
    range_of_differences = f"({write_operand(high)} - {write_operand(low)})"
    bar_width = f"max(1, {WIDTH} * {write_operand(queries.bin)} / {range_of_differences} - 1)"
    # Thin cells are extended to overlap. Otherwise, the light seams between them would look like
    # stripes.
    queries_per_pixel = f"{write_operand(queries.highest_bin_count)} / {HEIGHT}"
    overlap = f"{queries_per_pixel} < {MAX_SEPARATE_PER_PIXEL} ? 0 : {queries_per_pixel}"
    cell_bottom = f"max(0, datum.place - 1 - ({overlap}))"
    n_ticks = min(6, queries.highest_bin_count) if isinstance(queries.highest_bin_count, int) else 6
    counts = alt.Axis(format=",d", tickMinStep=1, tickCount=n_ticks)
    count_scale = alt.Scale(domain=[0, queries.highest_bin_count])
    bars = alt.Chart().transform_calculate(under=cell_bottom)
    bars = bars.mark_bar(orient="vertical", size=alt.ExprRef(bar_width)).encode(
        x=alt.X(
            "middle:Q",
            title=queries.difference_name,
            **bound_axis((low, high), zero=False, tickCount=6),
        ),
        y=alt.Y("place:Q", title="queries", scale=count_scale, axis=counts),
        y2=alt.Y2("under:Q"),
        tooltip=queries.tooltip,
        **queries.encode_colour(legend=True),
    )
    return alt.layer(bars, draw_rule(x=0), width=WIDTH, height=HEIGHT)


def _draw_in_order(queries: ExploredQueries, query: str) -> Any:
    """Draw each query as a bar of its difference, with the highest difference first."""
    is_fixed = isinstance(queries.total, int)
    end = queries.total + 0.5 if is_fixed else alt.ExprRef(f"{write_operand(queries.total)} + 0.5")
    ticks = {"values": choose_rank_ticks(queries.total)} if is_fixed else {"tickMinStep": 1}
    x = alt.X(
        "position:Q",
        title=f"{query}, by falling difference",
        **bound_axis((0.5, end), zero=False, format=",d", **ticks),
    )
    # If there are fewer queries than pixels, there are gaps between bars.
    bar_width = alt.ExprRef(f"max(1, 0.9 * {FULL_WIDTH} / {write_operand(queries.total)})")
    bars = alt.Chart().mark_bar(orient="vertical", size=bar_width)
    bars = bars.encode(
        x=x,
        y=alt.Y("difference:Q", title="difference", stack=None),
        tooltip=queries.tooltip,
        **queries.encode_colour(),
    )
    return alt.layer(bars, draw_rule(y=0), width=FULL_WIDTH, height=160)


def _draw_by_rank(queries: ExploredQueries, ranks: dict[str, int], curve: str) -> Any:
    """Draw the mean difference of the selected queries at each rank, and its intervals."""
    base = _summarise_selected(queries, list(ranks), "rank", "toNumber(slice(datum.column, 5))")
    last = max(2, *ranks.values())
    limits = bound_axis((1, last), zero=False, format=",d", tickMinStep=1)
    x = alt.X("rank:Q", title="rank", **limits)
    low, mean = (
        alt.Y(f"{end}:Q", title=f"difference of {write_axis_title(curve)}")
        for end in ("low", "mean")
    )
    band = base.mark_area(opacity=0.2, color=find_ink()).encode(x=x, y=low, y2=alt.Y2("high:Q"))
    tooltip = list_tooltips("rank:Q", "queries:Q", *format_decimals("mean", "low", "high"))
    line = base.mark_line(point={"color": find_ink()}, color=find_ink()).encode(
        x=x, y=mean, tooltip=tooltip
    )
    return alt.layer(band, line, draw_rule(y=0), width=FULL_WIDTH, height=160)


def _draw_means(queries: ExploredQueries, columns: dict[str, str], ends: Any) -> Any:
    """Draw the means of the selected queries, with intervals and numbers."""
    base = _summarise_selected(
        queries, list(columns), "what", f"{json.dumps(columns)}[datum.column]"
    )
    nice = queries.nice and "difference" not in columns
    scale = alt.Scale(domain=list(ends), nice=nice, zero=False)
    title = "mean"
    if queries.total != 1:
        title += f", {100 * queries.confidence:g} % interval if all are chosen"
    axis = alt.Axis(grid=False, tickCount=6, **UNFLUSHED_LABELS)
    low, mean = (alt.X(f"{end}:Q", title=title, scale=scale, axis=axis) for end in ("low", "mean"))
    names = order_axis([*columns.values()], labels=False, ticks=False, domain=False)
    y = alt.Y("what:N", title=None, **names)
    # The number is first, since a long text is cut at its end.
    interval_text = "' [' + format(datum.low, '.4f') + ', ' + format(datum.high, '.4f') + ']'"
    texts = base.transform_calculate(
        printed="format(datum.mean, '.4f') + "
        f"(isValid(datum.low) ? {interval_text} : '') + '   ' + datum.what"
    ).mark_text(dy=-10, color=find_ink(), limit=WIDTH)
    # The line at 0 would cross a text inside the view, so the text is above the view.
    middle, height = alt.value(WIDTH / 2), alt.value(0) if "difference" in columns else y
    layers = [
        base.mark_rule(strokeWidth=2, color=find_ink(), clip=True).encode(
            x=low, x2=alt.X2("high:Q"), y=y
        ),
        draw_dots(base, 60, color=find_ink()).encode(
            x=mean,
            y=y,
            tooltip=list_tooltips("what:N", "queries:Q", *format_decimals("mean", "low", "high")),
        ),
        texts.encode(x=middle, y=height, text=alt.Text("printed:N")),
    ]
    if "difference" in columns:
        text_of_all = f"' of ' + format({write_operand(queries.total)}, ',') + ' queries'"
        count = (
            alt.Chart().transform_filter(queries.is_selected).transform_aggregate(queries="count()")
        )
        count = count.transform_calculate(caption=f"format(datum.queries, ',') + {text_of_all}")
        count = count.mark_text(dy=-26, color=find_ink())
        layers = [
            draw_rule(x=0),
            *layers,
            count.encode(x=middle, y=height, text=alt.Text("caption:N")),
        ]
    return alt.layer(*layers, width=WIDTH, height=2 * ROW_HEIGHT)


def write_operand(number: Any) -> str:
    """Write a number or a signal as an operand of a Vega expression."""
    return str(number["expr"] if isinstance(number, alt.ExprRef) else number)


def _summarise_selected(
    queries: ExploredQueries, columns: list[Any], key: str, key_expression: str
) -> alt.Chart:
    """Compute means over the selected queries in the browser.

    The result has one row per column in `columns`. A column without numbers has no row. `key` is
    the name of a field, and `key_expression` is its value. Further fields are `queries`, `mean`,
    `low` and `high`, the ends of Student's interval. Queries that are chosen by their values are
    not a random sample, so the ends are null if a rectangle or `condition` excludes a query.
    """
    has_interval = "datum.queries > 1 && datum.queries === datum.all"
    margin = f"{write_t_quantile('(datum.queries - 1)', queries.confidence)} * datum.std"
    chart = alt.Chart()
    if queries.attribute is not None:
        chart = chart.transform_filter(queries.legend)
    return (
        chart.transform_fold(columns, as_=["column", "number"])
        .transform_calculate(**{key: key_expression})
        .transform_filter("isValid(datum.number)")
        .transform_joinaggregate(all="count()", groupby=[key])
        .transform_filter(queries.is_chosen_by_value)
        .transform_aggregate(
            queries="count()", mean="mean(number)", std="stdev(number)", groupby=[key, "all"]
        )
        .transform_calculate(
            margin=f"{has_interval} ? {margin} / sqrt(datum.queries) : null",
            low=f"{has_interval} ? datum.mean - datum.margin : null",
            high=f"{has_interval} ? datum.mean + datum.margin : null",
        )
    )


def write_t_quantile(degrees: str, confidence: float) -> str:
    """Write the quantile of Student's t for an interval as a Vega expression.

    `degrees` is the expression of the degrees of freedom. For at most `MAX_LISTED_DEGREES` degrees
    of freedom, the quantile is looked up in a list. For more, the first four terms of an expansion
    in 1 / degrees are added to the normal quantile (Abramowitz and Stegun, 26.7.5). The error is
    less than 1e-9 at the confidence 0.95, and about 1e-7 at 0.999.
    """
    numbers = np.arange(2, MAX_LISTED_DEGREES + 2)
    quantiles = compute_mean_margin(np.sqrt(numbers), numbers, confidence).tolist()
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    terms = [
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    ]
    expansion = " + ".join(
        [repr(z), *(f"{t!r} / pow({degrees}, {k})" for k, t in enumerate(terms, 1))]
    )
    return f"({degrees} <= {MAX_LISTED_DEGREES} ? {quantiles}[{degrees} - 1] : {expansion})"
