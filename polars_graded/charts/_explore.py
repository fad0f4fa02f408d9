"""Draw linked views of queries.

A selection in one view applies to the other view and to the means.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import altair as alt
import polars as pl

from polars_graded._checks import check_number
from polars_graded._drawing import axes, chart_rows, panels, style
from polars_graded._drawing.chart_rows import Frame
from polars_graded._frames.arguments import Columns
from polars_graded._measuring.keywords import checks_call
from polars_graded._results.keys import WEIGHT, PassedKeys, add_units
from polars_graded._results.measure_values import MeasureColumns, compute_mean_interval
from polars_graded._results.results import Missing, open_results
from polars_graded._sentences import format_count, format_percent, shorten_names, titles
from polars_graded.charts._queries import build_compared_queries

WIDTH, HEIGHT, SPACING = 290, 260, 80
"""Width and height of each upper view, and space between two views, in pixels."""

MEANS_HEIGHT = 80
"""Height of a view of means in pixels."""

POINT_SIZE, MAX_LARGE_POINTS = 40, 300
"""Size of a point in square pixels, and maximum number of points of this size.

If there are more queries, all points are smaller.
"""

MAX_EXPLORED_QUERIES = 5000
"""Maximum number of queries, since Altair embeds at most 5000 rows in a page."""

MAX_AXIS_NAME_LETTERS = 20
"""Maximum length of a name in the title of an axis or above an interval, in letters."""

VALUES = ("value_a", "value_b", "difference")
"""Columns whose means are drawn."""


@checks_call
def explore(
    per_query: Frame,
    a: Any,
    b: Any,
    measure: MeasureColumns | None = None,
    *,
    confidence: float = 0.95,
    cluster: Columns | None = None,
    weights: str | None = None,
    query: Columns | None = None,
    strategy: str | None = None,
    missing: Missing = "error",
    grader: str | None = None,
    colours: Mapping[str, str] | None = None,
    highlight: Any = None,
) -> alt.VConcatChart:
    """Draw two strategies query by query, with means of selected queries.

    Two views show each query: as a point (one strategy against the other), and as a bar, in order
    of descending difference. A rectangle drawn in either view selects queries, and a click outside
    the rectangle selects all queries. The browser computes the means of both strategies and of
    their difference over the selected queries. The intervals are those of all queries: queries
    that are chosen by their values are not a random sample.

    Parameters
    ----------
    per_query
        One row per strategy and query with one column per measure, as `evaluate` returns it, for at
        most 5000 queries.
    a, b
        The two strategies; a difference is the value of `a` minus the value of `b`.
    measure
        The column to compare; by default the only measure in the frame.
    confidence
        The confidence of the intervals.
    cluster, weights
        The columns of clusters and of weights of queries, as for `compare`. With weights, all means
        are weighted.
    query, strategy, missing, grader
        As for `differences`.
    colours
        The colours of the strategies by name, such as `{"ours": "#c00"}`. By default, they are
        those of the theme.
    highlight
        The strategy whose queries have a colour; the other queries are grey.

    Returns
    -------
    VConcatChart
        A chart whose `data` has one row per query, with the columns `query`, `value_a`, `value_b`,
        `difference`, `better` (the better strategy, null for a tie), `position` (by descending
        difference) and `weight`.

    See Also
    --------
    polars_graded.compare : The numbers for all queries, with a test.

    Examples
    --------
    >>> per_query = pl.DataFrame(
    ...     {
    ...         "strategy": ["bm25"] * 3 + ["ours"] * 3,
    ...         "query": ["a", "b", "c"] * 2,
    ...         "ap": [0.5, 1.0, 0.25, 0.5, 0.75, 0.75],
    ...     }
    ... )
    >>> explore(per_query, "ours", "bm25").data.drop("position", "weight")
    shape: (3, 5)
    ┌───────┬─────────┬─────────┬────────────┬────────┐
    │ query ┆ value_a ┆ value_b ┆ difference ┆ better │
    │ ---   ┆ ---     ┆ ---     ┆ ---        ┆ ---    │
    │ str   ┆ f64     ┆ f64     ┆ f64        ┆ str    │
    ╞═══════╪═════════╪═════════╪════════════╪════════╡
    │ c     ┆ 0.75    ┆ 0.25    ┆ 0.5        ┆ ours   │
    │ a     ┆ 0.5     ┆ 0.5     ┆ 0.0        ┆ null   │
    │ b     ┆ 0.75    ┆ 1.0     ┆ -0.25      ┆ bm25   │
    └───────┴─────────┴─────────┴────────────┴────────┘
    """
    keys = PassedKeys(query, strategy, cluster=cluster, weights=weights)
    measures = [] if measure is None else [measure]
    results = open_results(per_query, measures, keys, missing, grader).only
    strategy = results.keys.strategy
    confidence = check_number("confidence", confidence, above=0, below=1)
    per_query, query = chart_rows.join_query_columns(
        "per_query", results.rows, results.keys.query, strategy
    )
    if measure is None:
        numbers = [name for name in results.measures if name != weights]
        if len(numbers) != 1:
            got = ", ".join(numbers) or "none"
            msg = f"`measure` must name the column to compare, got {got}"
            raise ValueError(msg)
        measure = numbers[0]
    per_query = add_units(per_query, replace(results.keys, query=query))
    table, both, measure = build_compared_queries(
        per_query, measure, a, b, query, strategy=strategy, missing=missing
    )
    chart_rows.check_count("queries", table.height, MAX_EXPLORED_QUERIES)
    intervals = {name: compute_mean_interval(name, table, confidence) for name in VALUES}
    weight = pl.col(WEIGHT) if WEIGHT in table.columns else pl.lit(1.0)
    columns = ["query", "value_a", "value_b", "difference", "better", "position"]
    table = table.select(*columns, weight.alias("weight"))
    legend = style.build_legend(both, orient="top")
    colour = style.encode_names(
        both,
        f"better {strategy}",
        field="better",
        colours=colours,
        highlight=highlight,
        legend=legend,
    )
    one, other = shorten_names(both, MAX_AXIS_NAME_LETTERS)
    labels = dict(zip(VALUES, (one, other, f"{one} \N{MINUS SIGN} {other}"), strict=True))
    views = _Views(table, colour, labels, titles.name_measure(measure), intervals, confidence)
    # Each row has its own colour scale. Otherwise, a chart beside this one would add its values to
    # the legend.
    own_colours = alt.Resolve(scale=alt.ScaleResolveMap(color="independent"))
    chart: Any = ViewsChart(
        data=table, vconcat=[views.draw_queries(), views.draw_means()], resolve=own_colours
    )
    chart.params = [views.build_parameter()]
    wins = [table.filter(better=name).height for name in both]
    headline = titles.title_wins(both, wins, table.height)
    panels.add_title(chart, headline, ["on a web page, drag in a view to select queries"])
    return chart


class ViewsChart(panels.Configurable, alt.VConcatChart):  # type: ignore[misc]
    """Linked views of queries."""

    def list_coloured_views(self) -> list[Any]:
        """Return the parts of the chart whose encoding has colours."""
        return [view.layer[0] for view in self.vconcat[0].hconcat]


class _Views:
    """Views of the same queries, in which a rectangle selects queries.

    The browser computes the means of the selected queries.
    """

    def __init__(
        self,
        table: pl.DataFrame,
        colour: Any,
        labels: dict[str, str],
        measure: str,
        intervals: dict[str, tuple[float, float | None, float | None]],
        confidence: float,
    ) -> None:
        self.table, self.colour, self.labels, self.measure = table, colour, labels, measure
        self.intervals, self.confidence = intervals, confidence
        # No other chart on a page may have selections of the same name.
        suffix = chart_rows.build_selection_name(measure, table)[-10:]
        self.view_names: list[Any] = [f"queries_{suffix}_0", f"queries_{suffix}_1"]
        self.brush = alt.selection_interval(name=f"brush_{suffix}")
        self.ends = axes.choose_ends(pl.concat([table["value_a"], table["value_b"]]))

    def build_parameter(self) -> alt.TopLevelSelectionParameter:
        """Return the selection by a rectangle in any view of queries."""
        brush: Any = self.brush.param
        return alt.TopLevelSelectionParameter(**brush.to_dict(), views=self.view_names)

    def draw_queries(self) -> alt.HConcatChart:
        """Draw each query as a point, and as a bar of its difference, the highest first."""
        n, (low, high) = self.table.height, self.ends
        # Queries that are not selected are faint, and ties are grey.
        colour = self.colour.copy()
        colour["condition"] = [
            {"test": (~self.brush).to_dict(), "value": style.FAINT_COLOUR},
            {"test": "!isValid(datum.better)", "value": style.DOUBT},
        ]
        numbers = (alt.Tooltip(f"{f}:Q", title=t, format=".4f") for f, t in self.labels.items())
        tooltip = axes.list_tooltips("query:N", *numbers)
        x, y = (
            {"title": f"{self.measure} of {self.labels[name]}", **axes.bound_axis(self.ends)}
            for name in ("value_b", "value_a")
        )
        size = POINT_SIZE * min(1, math.sqrt(MAX_LARGE_POINTS / n))
        points = alt.Chart().mark_point(filled=True, size=size, opacity=0.7)
        points = points.encode(
            x=alt.X("value_b:Q", **x), y=alt.Y("value_a:Q", **y), color=colour, tooltip=tooltip
        )
        ticks = axes.choose_rank_ticks(n)
        limits = axes.bound_axis((0.5, n + 0.5), zero=False, format=",d", values=ticks)
        width = alt.ExprRef(f"max(1, 0.9 * item.mark.group.width / {n})")
        bars = alt.Chart().mark_bar(orient="vertical", size=width)
        bars = bars.encode(
            x=alt.X("position:Q", title="queries, sorted by difference", **limits),
            y=alt.Y("difference:Q", title=self.labels["difference"], stack=None),
            color=colour,
            tooltip=tooltip,
        )
        # When Altair copies a concatenated chart, it renames each layer: the new name ends with the
        # position of the layer's view. Parameters still refer to the old name. The names given here
        # already end with the position, so a copy has the same names.
        for layer, name in zip((points, bars), self.view_names, strict=True):
            layer.name = name
        return _arrange(
            _lay([points, style.draw_diagonal("value_b", "value_a", low, high)], "Queries"),
            _lay([bars, style.draw_rule("y", "difference")], "Differences of queries"),
        )

    def draw_means(self) -> alt.HConcatChart:
        """Draw the means of all queries with intervals, and the means of the selected queries."""
        differences = axes.choose_ends(self.table["difference"].append(pl.Series([0.0])))
        count = alt.Chart().transform_filter(self.brush).transform_aggregate(n="count()")
        of = f"' of {format_count(self.table.height, 'queries')} selected'"
        count = count.transform_calculate(caption=f"format(datum.n, ',') + {of}")
        count = count.mark_text(dy=-11, clip=False).encode(
            x=alt.XValue(WIDTH / 2), y=alt.YValue(0), text="caption:N", color=style.draw_ink()
        )
        kind = "mean" if (self.table["weight"] == 1).all() else "weighted mean"
        means = self._draw_means(["value_a", "value_b"], self.ends, f"{kind} {self.measure}")
        zero = style.draw_rule("x", "mean")
        difference = self._draw_means(["difference"], differences, f"{kind} difference")
        return _arrange(
            _lay([*means, count], "", height=MEANS_HEIGHT),
            _lay([zero, *difference], "", height=MEANS_HEIGHT),
        )

    def _draw_means(self, columns: list[str], ends: Any, title: str) -> list[alt.Chart]:
        """Draw for each column the interval of all queries, and the mean of the selected ones."""
        labels = [self.labels[name] for name in columns]
        y = alt.Y("label:N", title=None, scale=alt.Scale(domain=labels), axis=None)
        if self.table.height > 1:
            title += f" (point), {format_percent(self.confidence)} interval of all queries (line)"
        # The axis encloses the intervals, which few queries make wide.
        intervals = [self.intervals[name] for name in columns]
        bounds = [*ends, *(end for _, *both in intervals for end in both if end is not None)]
        ends = axes.choose_ends(pl.Series(bounds))
        axis = axes.bound_axis(ends, zero=False, grid=False, tickCount=6, titleLimit=400)
        layers = []
        for name, label in zip(columns, labels, strict=True):
            _, low, high = self.intervals[name]
            if low is None or high is None:
                continue
            line = style.build_one_row().transform_calculate(
                label=json.dumps(label), mean=repr(low), high=repr(high)
            )
            line = line.mark_rule(strokeWidth=2)
            line = line.encode(x=alt.X("mean:Q", title=title, **axis), x2=alt.X2("high"))
            layers.append(line.encode(y=y, color=style.draw_ink()))
        selected = alt.Chart().transform_filter(self.brush)
        selected = selected.transform_fold([*columns], as_=["column", "number"])
        selected = selected.transform_calculate(
            label=f"{json.dumps(self.labels)}[datum.column]", product="datum.weight * datum.number"
        )
        selected = selected.transform_aggregate(
            total="sum(product)", weights="sum(weight)", groupby=["label"]
        ).transform_calculate(
            mean="datum.total / datum.weights",
            printed="datum.label + ' ' + format(datum.total / datum.weights, '.4f')",
        )
        selected = selected.encode(y=y, color=style.draw_ink())
        texts = selected.mark_text(dy=-11, limit=WIDTH, clip=False)
        return [
            *layers,
            style.draw_dots(selected, 60).encode(x=alt.X("mean:Q", title=title, **axis)),
            texts.encode(x=alt.XValue(WIDTH / 2), text="printed:N"),
        ]


def _arrange(*views: alt.LayerChart) -> alt.HConcatChart:
    """Arrange views beside each other, with aligned plots."""
    return alt.HConcatChart(hconcat=[*views], spacing=SPACING, bounds="flush")


def _lay(layers: list[alt.Chart], title: str, height: int = HEIGHT) -> alt.LayerChart:
    """Lay marks over each other as a view with a title."""
    words = alt.TitleParams(title, anchor="start", fontSize=12)
    return alt.LayerChart(layer=layers, title=words, width=WIDTH, height=height)
