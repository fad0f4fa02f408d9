"""Charts of single queries: compare two strategies or two measures, and find hard queries."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import altair as alt
import polars as pl

from polars_graded._checks import check_choice, check_column_names, check_increasing
from polars_graded._drawing import (
    axis_ends,
    bins,
    chart_checks,
    chart_rows,
    curve_rows,
    marks,
    style,
)
from polars_graded._drawing.chart_rows import Frame
from polars_graded._drawing.style import Chart
from polars_graded._frames.arguments import Columns
from polars_graded._frames.sorting import in_order
from polars_graded._measuring.keywords import checks_keywords
from polars_graded._results.best_values import MeasureColumns, list_named_columns
from polars_graded._results.comparing import differences
from polars_graded._results.grid import Missing
from polars_graded._results.keys import Keys
from polars_graded._results.mean_intervals import (
    WEIGHT,
    add_units,
    compute_mean_interval,
    list_unit_columns,
)
from polars_graded._results.reliability import compute_correlations
from polars_graded._results.result_sets import ResultSet, open_results
from polars_graded._results.units import check_independence
from polars_graded._sentences import format_count, join_words, shorten_name, shorten_names, titles

N_RELEVANT = "n_relevant"
"""The measure that counts the relevant documents of a query."""

MAX_EXTREMES = 3
"""Maximum number of queries named at each end of the bars if there is no room for all names."""

HISTOGRAM_SIZE: dict[str, Any] = {"width": 600, "height": 280}
"""Size of a precision histogram in pixels, for any number of queries."""

MIN_NAME_STEP = 10
"""Minimum distance between the names of two queries, in pixels."""

PANEL_HEIGHT = 150
"""Height of a precision histogram in pixels, if there are several panels."""

MAX_HEATMAP_ROWS = 150
"""Maximum number of visible rows of a heat map."""

MAX_HEATMAP_STRATEGIES = 1000
"""Maximum number of strategies in a heat map."""

MAX_POINTS = 1000
"""Maximum number of points of a scatter plot. The density of more points is drawn."""

MAX_STACKED_HISTOGRAMS = 6
"""Maximum number of histograms in one column."""


@checks_keywords
def precision_histogram(
    per_query: Frame,
    measure: MeasureColumns,
    a: Any,
    b: Any,
    *,
    order: Literal["difference", "query"] = "difference",
    panel: Columns | None = None,
    interval: tuple[float, float] | None = None,
    cluster: Columns | None = None,
    weights: str | None = None,
    query: Columns | None = None,
    strategy: str | None = None,
    missing: Missing = "error",
    grader: str | None = None,
    colours: Mapping[str, str] | None = None,
    highlight: Any = None,
) -> Chart:
    r"""Draw the difference between two strategies, one bar per query.

    .. math:: RP_{A/B}(q) = RP_A(q) - RP_B(q)

    As text: ``RP(A/B, q) = RP(A, q) - RP(B, q)``, where RP(A, q) is the R-precision of strategy A
    for query q. Any other measure is drawn in the same way.

    With up to 60 queries, each bar has the name of its query below it. With more queries, the
    queries with the largest differences are named at their bars. Source: Chen, B. Retrieval
    evaluation (slides), method 3.

    Parameters
    ----------
    per_query
        One row per strategy and query with one column per measure, as `evaluate` returns it.
    measure
        The column to compare. With `"r_precision"`, the chart is the precision histogram of the
        source.
    a, b
        The two strategies; bars above the axis are queries where `a` has the higher value.
    order
        The order of the bars: by descending `"difference"`, or by `"query"`.
    panel
        The column of segments, or several such columns. Each segment has a panel with its own
        order, mean and interval.
    interval
        Both ends of the 95 % interval of the mean difference, such as those of `compare`, which
        correct for several comparisons. The default is the interval of this pair alone.
    cluster, weights
        The columns of clusters and of weights of queries, as for `compare`. With weights, the mean
        is weighted.
    query, strategy, missing, grader
        As for `differences`.
    colours
        The colours of the strategies by name, such as `{"ours": "#c00"}`. By default, `a` is blue
        and `b` is orange, or both have the first two colours of the theme.
    highlight
        The strategy whose bars have a colour; the other bars are grey.

    Returns
    -------
    LayerChart or FacetChart
        Each row is the bar of a query, with `position` (from 1), `query`, `difference`, `better`
        (the better strategy, null for a tie) and `label` (a text at the bar, null for most bars).
        Further columns of `per_query` with one value per query, such as its market, are kept as
        text, so that `.facet("market:N")` works. A tie is a dot at 0. With more than 3000 queries,
        3000 of them are drawn, at equal steps. The dot to the right is the mean difference of all
        queries (`mean`), and its bar is the 95 % interval (`ci_low` to `ci_high`), which needs two
        queries. Both belong to all `bars` of a panel, so a facet of fewer bars lacks
        them.

    Examples
    --------
    >>> per_query = pl.DataFrame(
    ...     {
    ...         "strategy": ["bm25"] * 3 + ["ours"] * 3,
    ...         "query": ["a", "b", "c"] * 2,
    ...         "r_precision": [0.5, 1.0, 0.25, 0.5, 0.75, 0.75],
    ...     }
    ... )
    >>> chart = precision_histogram(per_query, "r_precision", "ours", "bm25")
    >>> chart.data.select("position", "query", "difference", "better")
    shape: (3, 4)
    ┌──────────┬───────┬────────────┬────────┐
    │ position ┆ query ┆ difference ┆ better │
    │ ---      ┆ ---   ┆ ---        ┆ ---    │
    │ u32      ┆ str   ┆ f64        ┆ str    │
    ╞══════════╪═══════╪════════════╪════════╡
    │ 1        ┆ c     ┆ 0.5        ┆ ours   │
    │ 2        ┆ a     ┆ 0.0        ┆ null   │
    │ 3        ┆ b     ┆ -0.25      ┆ bm25   │
    └──────────┴───────┴────────────┴────────┘
    """
    results = open_results(
        per_query,
        [measure],
        query=query,
        strategy=strategy,
        cluster=cluster,
        weights=weights,
        missing=missing,
        grader=grader,
    ).only
    query_columns, strategy = results.keys.queries, results.keys.strategy
    panel_columns = [] if panel is None else check_column_names("panel", panel)
    # Queries of the same name in several segments are several queries.
    all_columns = [*dict.fromkeys([*query_columns, *panel_columns])]
    per_query, key = chart_rows.join_query_columns("per_query", results.rows, all_columns, strategy)
    if interval is None:
        check_independence(per_query, results.keys, panel_columns)
    per_query = add_units(per_query, replace(results.keys, query=key))
    table, both, measure = build_compared_queries(
        per_query, measure, a, b, key, strategy=strategy, missing=missing, order=order
    )
    table = chart_rows.add_query_columns(table, per_query, key)
    # In a panel, the name of a query is without the parts that are the name of the panel.
    parts_of_name = [name for name in query_columns if name not in panel_columns] or query_columns
    if panel_columns:
        table, panel = _add_panels(table, per_query, key, parts_of_name, panel_columns)
    wins = [table.filter(better=name).height for name in both]
    mean = compute_mean_interval("difference", table)
    if interval is not None:
        mean = mean[0], *_check_interval(interval, panel)
    finding = titles.title_wins(both, wins, table.height)
    notes = titles.write_mean_difference(*mean, is_weighted=WEIGHT in table.columns)
    parts = [table] if panel is None else table.partition_by("panel", maintain_order=True)
    n_panels, n_bars = len(parts), max(part.height for part in parts)
    # Up to three panels are side by side.
    width = HISTOGRAM_SIZE["width"] // min(n_panels, 3)
    has_names = n_bars * MIN_NAME_STEP <= width
    n_labels = 0 if has_names or n_panels > 1 else MAX_EXTREMES
    max_bars = chart_checks.MAX_DRAWN_ROWS // n_panels
    rows = pl.concat(_build_bars(part, n_labels, order, max_bars) for part in parts)
    if interval is not None:
        rows = rows.with_columns(ci_low=pl.lit(mean[1]), ci_high=pl.lit(mean[2]))
    if rows.height < table.height:
        notes += [f"{rows.height:,} of {format_count(table.height, 'queries')} are drawn"]
    axis: dict[str, Any] = {"labels": has_names or order == "query", "ticks": has_names}
    axis |= _fit_query_names(rows["query"], width // n_bars, has_names=has_names)
    title = "queries, sorted by difference" if order == "difference" else ", ".join(parts_of_name)
    by_position = alt.EncodingSortField("position", op="min")
    x = alt.X(title=title, sort=by_position, axis=alt.Axis(**axis))
    y_title = f"{titles.name_measure(measure)}: {' − '.join(shorten_names(both, 16))}"
    y = alt.Y(title=y_title, axis=alt.Axis(titleLimit=300), scale=alt.Scale(padding=18))
    # A legend with the words "better" needs no title.
    legend = alt.Legend(
        orient="top",
        title=None,
        labelLimit=300,
        labelExpr=f"({style.write_short_label('datum.label', both)}) + ' better'",
    )
    colour = style.encode_names(
        both,
        f"better {strategy}",
        field="better",
        colours=colours,
        highlight=highlight,
        legend=legend,
    )
    words = style.Words(finding, notes, f"{y_title} by {title}")
    layers = [*_draw_differences(rows), *_draw_mean()]
    shared = alt.Encoding(x=x, y=y, color=colour)
    size: dict[str, Any] = HISTOGRAM_SIZE | {"independent": ["color"]}
    if n_panels > 1:
        # Each panel would repeat a legend of its own.
        size = {"height": PANEL_HEIGHT}
    return style.draw_panels(layers, rows, panel, words, "independent", encoding=shared, **size)


def _fit_query_names(queries: pl.Series, step: int, *, has_names: bool) -> dict[str, Any]:
    """Return the settings of an axis of queries, each of which has `step` pixels."""
    names = queries.unique().to_list()
    overlap: dict[str, Any] = {"labelOverlap": True}
    if has_names:
        overlap = {"labelOverlap": "greedy", "labelSeparation": -3}
    label = style.write_short_label("datum.label", names)
    look: dict[str, Any] = {"labelLimit": 120, "titleLimit": 400, "labelExpr": label}
    return style.fit_name_axis(names, step, **look, **overlap)


def _add_panels(
    table: pl.DataFrame,
    per_query: pl.DataFrame,
    key: str,
    parts_of_name: list[str],
    panel_columns: list[str],
) -> tuple[pl.DataFrame, str]:
    """Add the column `panel`, sort by it, and return the name of the column of panels.

    The columns `parts_of_name` become the name of a query.
    """
    queries, panel = chart_rows.join_columns("per_query", per_query, panel_columns)
    queries, query = chart_rows.join_columns("per_query", queries, parts_of_name)
    names = chart_rows.build_name_columns({"panel": panel, "query": query})
    keys = queries.select(pl.col(key).alias("key"), *names).unique("key")
    table = table.drop("query").join(
        keys, on="key", how="left", nulls_equal=True, maintain_order="left"
    )
    chart_checks.check_panels(table, panel)
    order = chart_rows.format_names(queries[panel].unique().sort())
    return table.sort(pl.col("panel").cast(pl.Enum(order)), maintain_order=True), panel


def _check_interval(interval: Any, panel: Any) -> tuple[float, float]:
    """Return both ends of an interval, which holds for a single panel."""
    ends = check_increasing("interval", interval)
    if panel is not None or len(ends) != 2:  # noqa: PLR2004
        rule = "be None with panels" if panel is not None else "have two ends"
        msg = f"`interval` must {rule}, got {interval}"
        raise ValueError(msg)
    return ends[0], ends[1]


def _build_bars(table: pl.DataFrame, n_labels: int, order: str, max_bars: int) -> pl.DataFrame:
    """Return the bars of a panel, with the mean of all its queries."""
    mean, low, high = compute_mean_interval("difference", table)
    table = table.with_columns(position=pl.int_range(1, pl.len() + 1, dtype=pl.UInt32))
    rows = _label_extremes(table, n_labels, order)
    rows = rows[curve_rows.choose_equal_steps(rows.height, max_bars)]
    ends = (
        pl.lit(end, pl.Float64).alias(f"ci_{name}") for name, end in (("low", low), ("high", high))
    )
    return rows.with_columns(pl.lit(mean).alias("mean"), *ends, bars=pl.len())


def _label_extremes(table: pl.DataFrame, n: int, order: str) -> pl.DataFrame:
    """Return the rows of bars with the column `label`, the text at a bar.

    Sorted bars with the largest differences are neighbours, so the first and the last bar have the
    names of up to `n` queries. In the order of queries, a name is at its own bar, and each
    direction has one.
    """
    labels: dict[int, str] = {}
    for sign in (pl.col("difference") > 0, pl.col("difference") < 0):
        largest = table.filter(sign).sort(
            pl.col("difference").abs(), descending=True, maintain_order=True
        )
        largest = largest.head(n if order == "difference" else min(n, 1))
        if not largest.is_empty():
            name = join_words([*map(shorten_name, largest["query"])])
            labels[largest["position"][0]] = name
    label = pl.col("position").replace_strict(labels, default=None, return_dtype=pl.String)
    first = ["position", "query", "difference", "better", "label"]
    table = table.with_columns(label.alias("label")).drop(
        "key", "value_a", "value_b", *list_unit_columns(table)
    )
    return table.select(*first, pl.exclude(first))


def _draw_differences(rows: pl.DataFrame) -> list[alt.Chart]:
    """Draw a bar for each query, a dot for each tie, and the names of extreme queries."""
    base = alt.Chart().encode(x=alt.X("query:N"), y=alt.Y("difference:Q"))
    tooltip = style.list_tooltips("query:N", *style.format_decimals("difference"), "better:N")
    ties = base.transform_filter("!isValid(datum.better)")
    # Marks at the left end start at their bars, and marks at the right end stop there.
    is_above, is_first = "datum.difference > 0", "datum.position <= datum.bars / 2"
    texts = base.transform_filter("isValid(datum.label)").mark_text(
        align=alt.ExprRef(f"{is_first} ? 'left' : 'right'"),
        dx=alt.ExprRef(f"{is_first} ? 2 : -2"),
        dy=alt.ExprRef(f"{is_above} ? -8 : 8"),
        limit=400,
        clip=False,
    )
    # Narrower bars would be pale. A mark ignores `minBandSize`, and a scale has other names in
    # concatenated charts.
    width = alt.ExprRef("max(1, 0.9 * item.mark.group.width / datum.bars)")
    bars = base.mark_bar(width=width).encode(y=alt.Y("difference:Q", stack=None), tooltip=tooltip)
    layers = [bars, marks.draw_level("difference")]
    # Vega warns of an infinite extent if a layer has no rows.
    if rows["better"].has_nulls():
        ties = ties.mark_point(filled=True, size=9, opacity=1)
        layers.append(ties.encode(color=alt.ColorValue(style.DOUBT), tooltip=tooltip[:2]))
    if rows["label"].count():
        layers.append(texts.encode(text=alt.Text("label:N"), color=style.draw_ink()))
    return layers


def _draw_mean() -> list[alt.Chart]:
    """Draw the mean of all bars as a dot to their right, and its interval as a line.

    A facet by the caller has fewer bars, to which the mean does not apply.
    """
    fields: Any = {name: f"max({name})" for name in ("mean", "ci_low", "ci_high", "bars")}
    base = alt.Chart().transform_aggregate(rows="count()", **fields)
    base = base.transform_filter("datum.rows === datum.bars")
    place: dict[str, Any] = {"x": alt.XValue("width"), "color": style.draw_ink()}
    line = base.transform_filter("isValid(datum.ci_low)")
    line = line.mark_rule(xOffset=14, x2Offset=14, strokeWidth=3, clip=False)
    line = line.encode(**place, y=alt.Y("ci_low:Q"), y2=alt.Y2("ci_high"))
    base = base.encode(**place, y=alt.Y("mean:Q"))
    base, interval = style.add_interval(base, "ci_low", "ci_high", title="95 % interval")
    number = alt.Tooltip("mean:Q", title="mean difference", format=".4f")
    return [
        line,
        base.mark_point(xOffset=14, filled=True, opacity=1, size=30, clip=False).encode(
            tooltip=[number, interval]
        ),
        base.mark_text(align="left", dx=22, clip=False).encode(text=alt.value("mean")),
    ]


def build_compared_queries(
    per_query: pl.DataFrame, measure: MeasureColumns, a: Any, b: Any, query: str, **options: Any
) -> tuple[pl.DataFrame, list[str], str]:
    """Return the compared queries, and the names of strategies and measure.

    Each row is a query with its two values. The column `key` contains the query in its original
    type. The original name of the query column is not used, since it could be the name of another
    column of the result, such as `position`. Columns that `add_units` added are kept.
    """
    table = differences(per_query, measure, a, b, query=query, **options)
    if unit_columns := list_unit_columns(per_query):
        units = per_query.select(query, *unit_columns).unique(query)
        table = table.join(units, on=query, how="left", nulls_equal=True, maintain_order="left")
    [name] = list_named_columns([measure])
    if table.is_empty():
        msg = f"{a!r} and {b!r} must have a query with a value of {name}, got none"
        raise ValueError(msg)
    if options.get("order") == "query":
        in_natural_order = in_order(table[query]).to_frame()
        table = in_natural_order.join(table, on=query, nulls_equal=True, maintain_order="left")
    is_won = pl.col("winner").is_not_null()
    table = table.select(
        pl.col(query).alias("key"),
        chart_rows.build_name_column(query).alias("query"),
        *("value_a", "value_b", "difference"),
        pl.when(is_won).then(chart_rows.build_name_column("winner")).alias("better"),
        *unit_columns,
    )
    return table.with_row_index("position", offset=1), chart_rows.format_names([a, b]), name


@checks_keywords
def query_heatmap(
    per_query: Frame,
    measure: MeasureColumns,
    *,
    query: Columns | None = None,
    strategy: str | None = None,
    missing: Missing = "error",
    grader: str | None = None,
) -> alt.LayerChart:
    """Draw the value of each query for each strategy as a heat map.

    Each row is a query, the hardest (with the worst mean over strategies) at the top. Each column
    is a strategy, the best at the left. In a row of one colour, all strategies are equal. If there
    are too many queries for one row each, a row shows the means of
    several neighbouring queries. If the frame has the column `n_relevant`, queries without a
    relevant document are left out, since their values do not show how hard these queries are. The
    subtitle states how many queries are left out. A heat map of `n_relevant` itself contains all
    queries.

    Parameters
    ----------
    per_query
        One row per strategy and query with one column per measure, as `evaluate` returns it.
    measure
        The column to draw.
    query, strategy, missing, grader
        As for `compare`.

    Returns
    -------
    LayerChart
        Each row is a cell, with `strategy`, `position` and `last` (the positions of its first and
        last query, from 1), `query` (the name of its query, or the names of its first and last
        query), `queries` (the number of queries) and `value` (the mean over these queries). If each
        row is one query, further columns are those of `precision_histogram`. The heat map has at
        most 150 rows, 3000 cells and 1000 strategies.

    See Also
    --------
    precision_histogram : Two strategies query by query.
    comparison_matrix : The differences of all pairs of strategies.

    Examples
    --------
    >>> per_query = pl.DataFrame(
    ...     {"strategy": ["bm25", "ours"] * 2, "query": [*"aabb"], "ap": [0.5, 1.0, 0.25, 0.25]}
    ... )
    >>> query_heatmap(per_query, "ap").data.select("strategy", "query", "value")
    shape: (4, 3)
    ┌──────────┬───────┬───────┐
    │ strategy ┆ query ┆ value │
    │ ---      ┆ ---   ┆ ---   │
    │ str      ┆ str   ┆ f64   │
    ╞══════════╪═══════╪═══════╡
    │ ours     ┆ b     ┆ 0.25  │
    │ bm25     ┆ b     ┆ 0.25  │
    │ ours     ┆ a     ┆ 1.0   │
    │ bm25     ┆ a     ┆ 0.5   │
    └──────────┴───────┴───────┘
    """
    results = open_results(
        per_query, [measure], query=query, strategy=strategy, missing=missing, grader=grader
    ).only
    strategy = results.keys.strategy
    per_query, query = chart_rows.join_query_columns(
        "per_query", results.rows, results.keys.query, strategy
    )
    n_undefined = 0
    if list_named_columns([measure]) != [N_RELEVANT]:
        per_query, n_undefined = drop_undefined(per_query, query)
    grid = ResultSet(per_query, [measure], Keys(query, strategy), missing).read_grid("ignore")
    [measure] = list_named_columns([measure])
    values = grid.get_results(measure)
    chart_checks.check_not_empty("per_query", values.queries.to_frame(), measure)
    chart_checks.check_count("strategies", len(values.values), MAX_HEATMAP_STRATEGIES)
    names = (
        grid.strategies.to_frame("name").select(chart_rows.build_name_column("name")).to_series()
    )
    table, queries = bins.build_heatmap_rows(values, names, MAX_HEATMAP_ROWS)
    order = table["strategy"].unique(maintain_order=True).to_list()
    n, n_rows, row_size = len(queries), table["position"].n_unique(), table["queries"][0]
    if row_size == 1:
        table = chart_rows.add_query_columns(table, per_query, query)
    facts = titles.Drawn([titles.name_measure(measure)], len(order), 0, [n])
    notes = [f"{format_count(n, 'queries')}, the hardest first; strategies, the best first"]
    if row_size > 1:
        notes.append(f"a row is the mean of {row_size} queries")
    if n_undefined:
        notes.append(titles.write_left_out(n_undefined))
    column_width = max(8, min(40, 500 // len(order)))
    names_above = style.fit_name_axis(order, column_width, orient="top", labelOverlap=False)
    rows = table["query"].unique(maintain_order=True).to_list()
    has_names = n_rows <= style.MAX_NAMED_MARKS
    names_beside: dict[str, Any] = {"labelLimit": 120, "labelOverlap": True, "ticks": has_names}
    lowest, highest = min(table["value"]), max(table["value"])
    limit = 1.0 if style.is_unit(table["value"]) else max(abs(lowest), abs(highest)) or 1.0
    # The fill shows values, since `color` encodes strategies in all charts.
    scale = style.build_cell_scale(limit, diverging=lowest < 0)
    tooltip = style.list_tooltips(
        "strategy:N", "query:N", "queries:Q", *style.format_decimals("value")
    )
    cells = (
        alt.Chart()
        .mark_rect()
        .encode(
            x=alt.X("strategy:N"), y=alt.Y("query:N"), fill=alt.Fill("value:Q"), tooltip=tooltip
        )
    )
    encoding = alt.Encoding(
        x=alt.X(title=strategy, **style.order_axis(order, **names_above)),
        y=alt.Y(title=query, **style.order_axis(rows, **names_beside)),
        fill=alt.Fill(title=titles.name_measure(measure), scale=scale),
    )
    # The height of a row is a whole number of pixels. Otherwise gaps between rows would look like
    # stripes.
    size = {"width": alt.Step(column_width), "height": alt.Step(max(3, min(20, 400 // n_rows)))}
    words = style.Words(
        f"{titles.title_strategies('Values of', facts)}, query by query",
        notes,
        f"{measure} of {n:,} queries for {len(order)} strategies",
    )
    return style.draw_layers([cells], table, words, independent=["fill"], encoding=encoding, **size)


def drop_undefined(per_query: pl.DataFrame, query: str) -> tuple[pl.DataFrame, int]:
    """Drop queries whose `n_relevant` is 0 in all rows, and count the dropped queries."""
    if N_RELEVANT not in per_query.columns or not per_query.schema[N_RELEVANT].is_numeric():
        return per_query, 0
    is_undefined = (pl.col(N_RELEVANT) == 0).fill_null(value=False).all().over(query)
    n_undefined = per_query.filter(is_undefined)[query].n_unique()
    return per_query.filter(~is_undefined), n_undefined


@checks_keywords
def measure_agreement(
    frame: Frame,
    x: str,
    y: str,
    *,
    show: Literal["agreement", "difference"] = "agreement",
    panel: Columns | None = None,
    query: Columns = "query",
    strategy: str = "strategy",
) -> Chart:
    """Draw one measure against another, or the difference of two measures.

    Source: Moniz, Torgo and Vinagre (2016), figures 3 and 4.

    If neither measure has negative values or a range ten times that of the other, both axes have
    the same ends, and a diagonal shows where both measures are equal.

    Parameters
    ----------
    frame
        One row per strategy and query with one column per measure, as `evaluate` and
        `experiments.ndcg_by_relevance` return it.
    x, y
        The columns of the two numbers. They may also be a similarity and a difference, for example
        the columns `"rbo"` and `"difference"` of
        `differences(per_query, "ndcg@10", "ours", "bm25").join(similar, on="query")`.
    show
        `"agreement"`: a point for each row, or, with more than 1000 rows, how many rows have which
        values. `"difference"`: a histogram of the difference x - y.
    panel
        The columns of panels, such as `"strategy"` or a cutoff. By default, there are no panels.
    query, strategy
        The columns of queries and of strategies. The frame may lack the default columns.

    Returns
    -------
    LayerChart or FacetChart
        For `"agreement"`, each row is a point with `x` and `y`, `strategy` and `query` if the frame
        has these columns, and further columns as for `precision_histogram`. With more than 1000
        points, each row is a cell from `x` to `x_end` and from `y` to `y_end` with `count`, the
        number of its points. For `"difference"`, each row
        is a bin with `low`, `high` and `count`. Bins have equal widths, and 0 is in the middle of a
        bin. Each panel states Kendall's τ and Pearson's r of its points. A chart without panels has
        them below its title.

    Examples
    --------
    >>> per_query = pl.DataFrame(
    ...     {"strategy": "bm25", "query": [1, 2, 3], "ndcg": [0.75, 0.5, 1], "phi": [0.25, 0.5, 1]}
    ... )
    >>> measure_agreement(per_query, "ndcg", "phi", show="difference").data
    shape: (2, 3)
    ┌────────┬───────┬───────┐
    │ low    ┆ high  ┆ count │
    │ ---    ┆ ---   ┆ ---   │
    │ f64    ┆ f64   ┆ u32   │
    ╞════════╪═══════╪═══════╡
    │ -0.025 ┆ 0.025 ┆ 2     │
    │ 0.475  ┆ 0.525 ┆ 1     │
    └────────┴───────┴───────┘
    """
    check_choice("show", show, ("agreement", "difference"))
    points = _read_points(frame, {"x": x, "y": y}, panel, query, strategy)
    x, y = titles.name_measure(x), titles.name_measure(y)
    if show == "agreement":
        return _draw_agreement(points, x, y)
    return _draw_differences_of_measures(points, x, y)


@dataclass
class _Points:
    """Rows with the numbers to draw and their keys."""

    table: pl.DataFrame
    panel: Columns | None
    unit: str
    """The word for rows: "queries", or "results" if a query has several rows."""

    @property
    def groups(self) -> list[str]:
        """Return the column of panels, if there are any."""
        return ["panel"] if chart_rows.has_panels(self.table) else []

    @property
    def count(self) -> str:
        """Return the number of rows in words."""
        return format_count(self.table.height, self.unit)


def _read_points(
    frame: Frame, numbers: Mapping[str, str], panel: Columns | None, query: Columns, strategy: str
) -> _Points:
    """Return the rows of a frame, which may lack the default key columns."""
    frame = chart_rows.collect_one_grader("frame", frame, query, strategy, panel)
    frame, query = chart_rows.join_query_columns("frame", frame, query, strategy)
    frame, panel = chart_rows.join_panel_columns("frame", frame, panel)
    keys = {} if panel is None else {"panel": panel}
    # A column with another name than the default is the caller's choice, so it must exist.
    keys |= {
        name: column
        for name, column in (("strategy", strategy), ("query", query))
        if column != name or column in frame.columns
    }
    table = chart_rows.build_query_rows(frame, keys, numbers)
    if "query" in keys and table.height <= MAX_POINTS:
        table = chart_rows.add_query_columns(table, frame, query)
    has_one_strategy = "strategy" not in keys or table["strategy"].n_unique() == 1
    has_repeated = "query" in keys and table["query"].is_duplicated().any()
    return _Points(table, panel, "queries" if has_one_strategy and not has_repeated else "results")


def _draw_agreement(points: _Points, x: str, y: str) -> Chart:
    """Draw a faint point for each row, or the density of many points."""
    table, n = points.table, points.table.height
    ends = axis_ends.choose_ends_of_axes(table["x"], table["y"])
    table = _add_correlations(table, points.groups)
    correlations = [*filter(None, table["label"].drop_nulls())]
    notes = ["τ: Kendall's rank correlation, r: Pearson's"] if points.groups else correlations
    base = alt.Chart().encode(x=alt.X("x:Q"), y=alt.Y("y:Q"))
    layers = []
    shared: dict[str, Any] = {"color": style.draw_ink()}
    if n <= MAX_POINTS:
        keys = [alt.Tooltip(f"{key}:N") for key in ("strategy", "query") if key in table.columns]
        numbers = [alt.Tooltip("x:Q", title=x, format=".4f")]
        numbers.append(alt.Tooltip("y:Q", title=y, format=".4f"))
        opacity = min(0.8, 8 / math.sqrt(n))
        layers.append(
            base.mark_point(filled=True, opacity=opacity).encode(tooltip=[*keys, *numbers])
        )
    else:
        table = bins.count_by_cell(table, points.groups, *ends)
        highest = max(2, *table["count"])
        scale = alt.Scale(type="log", domain=[1, highest], range=[0.15, 1])
        legend = alt.Legend(values=axis_ends.choose_log_ticks(1, highest), format="d")
        density = alt.Opacity("count:Q", title=points.unit, scale=scale, legend=legend)
        cells = base.mark_rect(clip=True)
        layers.append(cells.encode(x2="x_end", y2="y_end", opacity=density, tooltip="count:Q"))
    if ends[0] == ends[1]:
        layers.append(marks.draw_diagonal(ends[0]))
        notes.append("line: both are equal")
    if points.groups:
        texts = base.mark_text(align="left", baseline="top", dx=4, dy=4)
        texts = texts.transform_filter("isValid(datum.label)")
        layers.append(texts.encode(x=alt.XValue(0), y=alt.YValue(0), text="label:N"))
    else:
        table = table.drop("label")
    headline = f"{y} against {x}, {points.count}"
    words = style.Words(headline, notes, f"{y} against {x} for {n} points")
    axes: Any = (
        channel(title=title, **style.bound_axis(limits))
        for channel, title, limits in ((alt.X, x, ends[0]), (alt.Y, y, ends[1]))
    )
    encoding = alt.Encoding(**dict(zip("xy", axes, strict=True)), **shared)
    return style.draw_panels(layers, table, points.panel, words, encoding=encoding)


def _add_correlations(table: pl.DataFrame, groups: list[str]) -> pl.DataFrame:
    """Add a column `label` with τ and r of a panel in its first row."""
    parts = table.partition_by(groups, maintain_order=True) if groups else [table]
    parts = [
        part.with_columns(
            label=pl.when(pl.int_range(pl.len()) == 0).then(
                pl.lit(titles.write_correlations(*compute_correlations(part["x"], part["y"])))
            )
        )
        for part in parts
    ]
    return pl.concat(parts)


def _draw_differences_of_measures(points: _Points, x: str, y: str) -> Chart:
    """Draw a histogram of differences, one per panel."""
    values = points.table.with_columns((pl.col("x") - pl.col("y")).alias("value"))
    title = f"{x} \N{MINUS SIGN} {y}"
    n_panels = points.table.n_unique(points.groups) if points.groups else 1
    max_range_in_bins = min(
        chart_checks.MAX_DRAWN_ROWS // n_panels - 2,
        bins.MAX_RANGE_IN_BINS,
        10 + math.isqrt(points.table.height // n_panels),
    )
    table = bins.count_by_bin(values, points.groups, max_range_in_bins, centred=True)
    # A few histograms are stacked vertically, so that positions are easy to compare.
    is_stacked = 1 < n_panels <= MAX_STACKED_HISTOGRAMS
    size: dict[str, Any] = {"columns": 1, "height": 90} if is_stacked else {}
    tooltip = style.list_tooltips(*style.format_decimals("low", "high"), "count:Q")
    bars = (
        alt.Chart()
        .mark_bar(opacity=0.6)
        .encode(x=alt.X("low:Q"), x2="high", y=alt.Y("count:Q"), tooltip=tooltip)
    )
    encoding = alt.Encoding(
        x=alt.X(title=title, bin="binned", axis=alt.Axis(**style.UNFLUSHED_LABELS)),
        y=alt.Y(title=points.unit, axis=style.build_counts_axis(max(table["count"]))),
        color=style.draw_ink(),
    )
    zero = style.draw_rule(x=0).encode(color=alt.ColorValue("gray"))
    words = style.Words(
        f"{title}, {points.count}", [], f"how many {points.unit} have which {title}"
    )
    return style.draw_panels([bars, zero], table, points.panel, words, encoding=encoding, **size)
