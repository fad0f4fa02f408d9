"""Draw linked views of queries.

A selection in one view applies to the other views and to the means.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import altair as alt
import polars as pl

from polars_graded._checks import check_columns, check_number
from polars_graded._drawing import axis_ends, chart_rows, marks, style
from polars_graded._drawing.chart_rows import Frame
from polars_graded._frames.arguments import Columns
from polars_graded._frames.sorting import sort_naturally
from polars_graded._measuring.keywords import checks_keywords
from polars_graded._results.best_values import MeasureColumns, list_named_columns
from polars_graded._results.grid import Missing
from polars_graded._results.keys import Keys
from polars_graded._results.mean_intervals import WEIGHT, add_units, compute_mean_interval
from polars_graded._results.result_sets import ResultSet, open_results
from polars_graded._results.units import check_independence
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


@checks_keywords
def explore(
    per_query: Frame,
    a: Any,
    b: Any,
    measure: MeasureColumns | None = None,
    *,
    colour: str | None = None,
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
    r"""Draw two strategies query by query, with means of selected queries.

    Two views show each query: as a point (one strategy against the other), and as a bar, in order
    of descending difference. A rectangle drawn in either view selects queries, and a click outside
    the rectangle selects all queries. With `colour`, a click in the legend selects the queries of
    one colour. The browser computes the means of both strategies and of their difference over the
    selected queries. For all queries, or all queries of one colour, it also computes Student's
    interval:

    .. math:: \bar{d} \pm t_{n-1} \, s / \sqrt{n}

    As text: ``mean ± t(n - 1) s / sqrt(n)``

    A rectangle chooses queries by their values. These queries are not a random sample, so their
    means have no interval.

    Parameters
    ----------
    per_query
        One row per strategy and query with one column per measure, as `evaluate` returns it, for at
        most 5000 queries.
    a, b
        The two strategies; a difference is the value of `a` minus the value of `b`.
    measure
        The column to compare; by default the only measure in the frame.
    colour
        A column with one value per query, such as its country. If there are more than eight names,
        the seven most frequent are kept, and the others become "others". More than eight different
        numbers become at most four ranges with about the same number of queries each.
    confidence
        The confidence of the intervals.
    cluster, weights
        The columns of clusters and of weights of queries, as for `compare`. With weights, all means
        are weighted.
    query, strategy, missing, grader
        As for `differences`.
    colours
        The colours of the strategies by name, such as `{"ours": "#c00"}`, or with `colour`, of the
        values of its column. By default, they are those of the theme.
    highlight
        The name whose queries have a colour; the other queries are grey.

    Returns
    -------
    VConcatChart
        A chart whose `data` has one row per query, with the columns `query`, `value_a`, `value_b`,
        `difference`, `better` (the better strategy, null for a tie) and `position` (by descending
        difference). With `colour`, the column `group` holds the value
        of the `colour` column, "others" or a range.

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
    >>> explore(per_query, "ours", "bm25").data.drop("position")
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
    results = open_results(
        per_query,
        [] if measure is None else [measure],
        query=query,
        strategy=strategy,
        cluster=cluster,
        weights=weights,
        missing=missing,
        grader=grader,
    ).only
    strategy = results.keys.strategy
    check_independence(results.rows, results.keys)
    per_query, query = chart_rows.join_query_columns(
        "per_query", results.rows, results.keys.query, strategy
    )
    confidence = check_number("confidence", confidence, above=0, below=1)
    colour_columns = [] if colour is None else [colour]
    check_columns("per_query", colour_columns, per_query.columns, argument="colour")
    other_columns = [*colour_columns, *([] if weights is None else [weights])]
    measure = _choose_measure(per_query, measure, other_columns, query, strategy)
    per_query = add_units(per_query, replace(results.keys, query=query))
    table, both, measure = build_compared_queries(
        per_query, measure, a, b, query, strategy=strategy, missing=missing
    )
    if table.height > MAX_EXPLORED_QUERIES:
        rule = f"at most {MAX_EXPLORED_QUERIES} queries can be explored"
        msg = f"{rule}, got {table.height}; filter the frame"
        raise ValueError(msg)
    field, names, title = "better", both, f"better {strategy}"
    if colour is not None:
        table = _add_group(table, per_query, colour, query)
        field, names, title = "group", sort_naturally(table["group"].unique()), colour
    units, margins = table, _compute_margins(table, confidence)
    query_columns = ["query", "value_a", "value_b", "difference", "better", "position"]
    weight = [pl.col(WEIGHT).alias("weight")] if WEIGHT in table.columns else []
    table = table.select(*query_columns, "^group$", *weight)
    legend = style.build_legend(names, orient="top")
    look = style.encode_names(
        names, title, field=field, colours=colours, highlight=highlight, legend=legend
    )
    short = shorten_names(both, MAX_AXIS_NAME_LETTERS)
    views = _Views(table, look, short, titles.name_measure(measure), confidence, margins)
    rows: list[Any] = [views.draw_queries(), views.draw_means()]
    # Each row has its own colour scale. Otherwise, a chart beside this one would add its values to
    # the legend.
    own_colours = alt.Resolve(scale=alt.ScaleResolveMap(color="independent"))
    chart: Any = ViewsChart(data=table, vconcat=rows, resolve=own_colours)
    chart.params = views.build_parameters()
    wins = [table.filter(better=name).height for name in both]
    finding = titles.title_wins(both, wins, table.height)
    chart.title = style.build_title(finding, ["on a web page, drag in a view to select queries"])
    labels = [*both, views.labels["difference"]]
    averages = [compute_mean_interval(name, units)[0] for name in VALUES]
    kind = "weighted mean" if weight else "mean"
    described = f"{kind} {measure} of {format_count(table.height, 'queries')}"
    values = style.list_values(described, zip(labels, averages, strict=True))
    chart.description = f"{finding}. {values}"
    return style.escape_chart(chart)


class ViewsChart(style.Configurable, alt.VConcatChart):  # type: ignore[misc]
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
        look: Any,
        both: list[str],
        measure: str,
        confidence: float,
        margins: dict[str, Any],
    ) -> None:
        self.table, self.look, self.measure, self.confidence = table, look, measure, confidence
        self.margins = margins
        self.has_groups, self.has_weights = "group" in table.columns, "weight" in table.columns
        difference = " \N{MINUS SIGN} ".join(both)
        self.labels = dict(zip(VALUES, (*both, difference), strict=True))
        # No other chart on a page may have selections of the same name.
        suffix = chart_rows.build_selection_name(measure, table)[-10:]
        self.view_names: list[Any] = [f"queries_{suffix}_0", f"queries_{suffix}_1"]
        self.brush = alt.selection_interval(name=f"brush_{suffix}")
        self.legend = alt.selection_point(
            name=f"legend_{suffix}", fields=["group"], bind="legend", toggle=False
        )
        # An empty selection excludes no query.
        self.is_selected: Any = self.brush & self.legend if self.has_groups else self.brush
        self.ends = axis_ends.choose_ends(pl.concat([table["value_a"], table["value_b"]]))

    def build_parameters(self) -> list[alt.TopLevelSelectionParameter]:
        """Return the selections by a rectangle in any view of queries, and by the legend."""
        choices: list[Any] = [(self.brush, self.view_names)]
        if self.has_groups:
            choices.append((self.legend, self.view_names[:1]))
        return [
            alt.TopLevelSelectionParameter(**choice.param.to_dict(), views=views)
            for choice, views in choices
        ]

    def draw_queries(self) -> alt.HConcatChart:
        """Draw each query as a point, and as a bar of its difference, the highest first."""
        n = self.table.height
        values = {
            name: {"title": f"{self.measure} of {self.labels[name]}", **style.bound_axis(self.ends)}
            for name in ("value_a", "value_b")
        }
        size = POINT_SIZE * min(1, math.sqrt(MAX_LARGE_POINTS / n))
        points = alt.Chart().mark_point(filled=True, size=size, opacity=0.7)
        x, y = alt.X("value_b:Q", **values["value_b"]), alt.Y("value_a:Q", **values["value_a"])
        points = points.encode(x=x, y=y, **self.encode_query())
        limits = style.bound_axis(
            (0.5, n + 0.5), zero=False, format=",d", values=axis_ends.choose_rank_ticks(n)
        )
        width = alt.ExprRef(f"max(1, 0.9 * item.mark.group.width / {n})")
        bars = (
            alt.Chart()
            .mark_bar(orient="vertical", size=width)
            .encode(
                x=alt.X("position:Q", title="queries, sorted by difference", **limits),
                y=alt.Y("difference:Q", title=self.labels["difference"], stack=None),
                **self.encode_query(),
            )
        )
        # When Altair copies a concatenated chart, it renames each layer: the new name ends with the
        # position of the layer's view. Parameters still refer to the old name. The names given here
        # already end with the position, so a copy has the same names.
        for layer, name in zip((points, bars), self.view_names, strict=True):
            layer.name = name
        return _arrange(
            _lay([points, marks.draw_diagonal(self.ends)], "Values of queries"),
            _lay([bars, style.draw_rule(y=0)], "Differences of queries"),
        )

    def draw_means(self) -> alt.HConcatChart:
        """Draw the means of the selected queries, with intervals and numbers."""
        kind = "weighted mean" if self.has_weights else "mean"
        differences = axis_ends.choose_ends(self.table["difference"].append(pl.Series([0.0])))
        means = self._draw_means(["value_a", "value_b"], self.ends, f"{kind} {self.measure}")
        difference = self._draw_means(["difference"], differences, f"{kind} difference")
        # The line at 0 would cross a text inside the view, so the text is above the view.
        difference[-1] = difference[-1].encode(y=alt.YValue(0))
        count = alt.Chart().transform_filter(self.is_selected).transform_aggregate(n="count()")
        of = f"' of {format_count(self.table.height, 'queries')}'"
        count = count.transform_calculate(caption=f"format(datum.n, ',') + {of}")
        count = count.mark_text(dy=-11, clip=False).encode(
            x=alt.XValue(WIDTH / 2), y=alt.YValue(0), text="caption:N", color=style.draw_ink()
        )
        return _arrange(
            _lay([*means, count], "Means of the selected queries", height=MEANS_HEIGHT),
            _lay([style.draw_rule(x=0), *difference], "Mean difference", height=MEANS_HEIGHT),
        )

    def _draw_means(self, columns: list[str], ends: Any, title: str) -> list[alt.Chart]:
        """Draw an interval, a dot and a text for each mean."""
        labels = {name: self.labels[name] for name in columns}
        order = style.order_axis([*labels.values()]) | {"axis": None}
        y = alt.Y("label:N", title=None, **order)
        base = self.summarise(labels)[0].encode(y=y, color=style.draw_ink())
        if self.table.height > 1:
            title += f", {format_percent(self.confidence)} interval if all are selected"
        axis = style.bound_axis(ends, zero=False, grid=False, tickCount=6, titleLimit=400)
        line = base.mark_rule(strokeWidth=2, clip=True)
        # The number is first, since a long text is cut at its end.
        printed = (
            "format(datum.mean, '.4f') + (datum.interval ? ' (' + datum.interval + ')' : '')"
            " + '   ' + datum.label"
        )
        texts = base.transform_calculate(printed=printed)
        texts = texts.mark_text(dy=-11, limit=WIDTH, clip=False)
        return [
            line.encode(x=alt.X("low:Q", title=title, **axis), x2="high:Q"),
            style.draw_dots(base, 60).encode(x=alt.X("mean:Q", title=title, **axis)),
            texts.encode(x=alt.XValue(WIDTH / 2), text="printed:N"),
        ]

    def encode_query(self) -> dict[str, Any]:
        """Return the colour and the tooltip of queries in a view.

        Queries that are not selected are faint, and ties are grey.
        """
        colour = self.look.copy()
        colour["condition"] = [{"test": (~self.is_selected).to_dict(), "value": style.FAINT_COLOUR}]
        if not self.has_groups:
            colour["condition"] += [{"test": "!isValid(datum.better)", "value": style.DOUBT}]
        numbers = (alt.Tooltip(f"{f}:Q", title=t, format=".4f") for f, t in self.labels.items())
        group = [alt.Tooltip("group:N", title=self.look["title"])] if self.has_groups else []
        return {"color": colour, "tooltip": style.list_tooltips("query:N", *numbers, *group)}

    def summarise(self, labels: Mapping[str, Any]) -> tuple[alt.Chart, alt.Tooltip]:
        """Compute means over the selected queries in the browser.

        The result has one row per column in `labels`, with the fields `label`, `queries`, `mean`,
        and `low` and `high`, the ends of Student's interval. Queries that are chosen by their
        values are not a random sample, so the ends are null if a rectangle excludes a query.
        """
        chart = alt.Chart().transform_filter(self.legend) if self.has_groups else alt.Chart()
        # Of all selected queries, either one group or all are left by the legend.
        margins = f"({json.dumps(self.margins)})[datum.column]"
        margin = f"{margins}.all"
        if self.has_groups:
            margin = f"datum.groups === 1 ? {margins}.groups[datum.group] : {margin}"
        chart = chart.transform_fold([*labels], as_=["column", "number"]).transform_calculate(
            label=f"{json.dumps(labels)}[datum.column]",
            weight="datum.weight" if self.has_weights else "1",
        )
        statistics: Any = {"all": "count()"}
        if self.has_groups:
            statistics["groups"] = "distinct(group)"
        chart = (
            chart.transform_joinaggregate(**statistics, groupby=["label"])
            .transform_calculate(
                margin=margin,
                product="datum.weight * datum.number",
            )
            .transform_filter(self.brush)
            .transform_aggregate(
                queries="count()",
                total="sum(product)",
                weights="sum(weight)",
                margin="max(margin)",
                groupby=["label", "all"],
            )
            .transform_calculate(
                mean="datum.total / datum.weights",
                margin="datum.queries === datum.all && isValid(datum.margin) ? datum.margin : NaN",
            )
            .transform_calculate(
                low="isFinite(datum.margin) ? datum.mean - datum.margin : null",
                high="isFinite(datum.margin) ? datum.mean + datum.margin : null",
            )
        )
        return style.add_interval(chart, "low", "high")


def _compute_margins(table: pl.DataFrame, confidence: float) -> dict[str, Any]:
    """Return half the width of the interval of all queries and of each group, by column.

    Without an interval, the margin is None.
    """
    groups = table.partition_by("group", as_dict=True) if "group" in table.columns else {}

    def compute_margin(name: str, part: pl.DataFrame) -> float | None:
        mean, low, _ = compute_mean_interval(name, part, confidence)
        return None if low is None else mean - low

    return {
        name: {
            "all": compute_margin(name, table),
            "groups": {group: compute_margin(name, part) for (group,), part in groups.items()},
        }
        for name in VALUES
    }


def _arrange(*views: alt.LayerChart) -> alt.HConcatChart:
    """Arrange views beside each other, with aligned plots."""
    return alt.HConcatChart(hconcat=[*views], spacing=SPACING, bounds="flush")


def _lay(
    layers: list[alt.Chart], title: str, width: int = WIDTH, height: int = HEIGHT
) -> alt.LayerChart:
    """Lay marks over each other as a view with a title."""
    words = alt.TitleParams(title, anchor="start", fontSize=12)
    return alt.LayerChart(layer=layers, title=words, width=width, height=height)


def _choose_measure(
    per_query: pl.DataFrame,
    measure: MeasureColumns | None,
    colour_columns: list[str],
    query: str,
    strategy: str,
) -> MeasureColumns:
    """Return the measure, by default the only one."""
    measures = [] if measure is None else [measure]
    others = per_query.drop({*colour_columns} - {*list_named_columns(measures)})
    numbers, _ = ResultSet(others, measures, Keys(query, strategy)).find_measures()
    if measure is None and len(numbers) != 1:
        msg = f"`measure` must name the column to compare, got {', '.join(numbers) or 'none'}"
        raise ValueError(msg)
    return numbers[0] if measure is None else measure


def _add_group(
    table: pl.DataFrame, per_query: pl.DataFrame, colour: str, query: str
) -> pl.DataFrame:
    """Return the queries with a column `group`, made from the column `colour`.

    `group` has at most `style.MAX_COLOURS` distinct names.
    """
    groups = per_query.select(key=query, value=colour).unique()
    groups = groups.join(table, on="key", how="semi", nulls_equal=True)
    if n_ambiguous := groups.filter(pl.col("key").is_duplicated())["key"].n_unique():
        msg = (
            f"`colour` must have one value for each {query}, got several in {colour!r} for "
            f"{format_count(n_ambiguous, 'queries')}"
        )
        raise ValueError(msg)
    values = groups["value"]
    if values.dtype.is_numeric() and values.n_unique() > style.MAX_COLOURS:
        groups = groups.with_columns(_name_ranges(values).alias("group"))
    else:
        groups = groups.with_columns(chart_rows.build_name_column("value").alias("group"))
        counts = groups["group"].value_counts().sort("count", "group", descending=[True, False])
        if counts.height > style.MAX_COLOURS:
            is_kept = pl.col("group").is_in(counts["group"].head(style.MAX_COLOURS - 1).implode())
            label = pl.when(is_kept).then("group").otherwise(pl.lit("others"))
            groups = groups.with_columns(label.alias("group"))
    groups = groups.select("key", "group")
    return table.join(groups, on="key", how="left", nulls_equal=True, maintain_order="left")


def _name_ranges(values: pl.Series) -> pl.Series:
    """Return for each number the range of its quarter, such as "3 to 7".

    Each quarter contains about the same number of values.
    """
    if values.dtype.is_float():
        values = values.round_sig_figs(4)
    value = pl.col(values.name)
    quarter = (value.rank("min") - 1) * 4 // value.count()
    low, high = value.min().over(quarter), value.max().over(quarter)
    name = (
        pl.when(low == high).then(low.cast(pl.String)).otherwise(pl.format("{} to {}", low, high))
    )
    return values.to_frame().select(group=name.fill_null("null")).to_series()
