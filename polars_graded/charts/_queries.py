"""Charts of single queries: compare two strategies or two measures."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import altair as alt
import polars as pl

from polars_graded._checks import check_column_names, check_columns, check_increasing
from polars_graded._drawing import chart_rows, panels, style
from polars_graded._drawing.chart_rows import MAX_DRAWN_ROWS
from polars_graded._drawing.panels import Chart
from polars_graded._frames.arguments import Columns
from polars_graded._frames.strategies import in_order
from polars_graded._frames.tables import Frame
from polars_graded._measuring.keywords import checks_call
from polars_graded._results.comparing import differences
from polars_graded._results.keys import (
    WEIGHT,
    PassedKeys,
    add_units,
    check_independence,
    list_unit_columns,
)
from polars_graded._results.measure_values import MeasureColumns, compute_mean_interval
from polars_graded._results.reliability import compute_correlations
from polars_graded._results.results import Missing, Results, open_results
from polars_graded._sentences import format_count, name_interval, shorten_names, titles

WIDTH, HEIGHT, PANEL_HEIGHT = 600, 280, 150
"""Width and height of a precision histogram in pixels, for any number of queries, and the height of
a panel."""

MIN_NAME_STEP = 10
"""Minimum distance between the names of two queries, in pixels."""

VIEW_WIDTH, VIEW_HEIGHT, VIEW_SPACING = 290, 260, 80
"""Width and height of each view of `explore`, and space between two views, in pixels."""

POINT_SIZE, MAX_LARGE_POINTS = 40, 300
"""Size of a point in square pixels, and maximum number of points of this size.

If there are more queries, all points are smaller.
"""

MAX_EXPLORED_QUERIES = 5000
"""Maximum number of queries, since Altair embeds at most 5000 rows in a page."""

MAX_AXIS_NAME_LETTERS = 20
"""Maximum length of a name in the title of an axis of `explore`, in letters."""


@checks_call
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
) -> Chart:
    r"""Draw the difference between two strategies, one bar per query.

    .. math:: RP_{A/B}(q) = RP_A(q) - RP_B(q)

    As text: ``RP(A/B, q) = RP(A, q) - RP(B, q)``, where RP(A, q) is the R-precision of strategy A
    for query q. Any other measure is drawn in the same way.

    With up to 60 queries, each bar has the name of its query below it. Source: Chen, B. Retrieval
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
        Both ends of an interval of the mean difference, such as those of `compare`, which correct
        for several comparisons. The default is the 95 % interval of this pair alone.
    cluster, weights
        The columns of clusters and of weights of queries, as for `compare`. With weights, the mean
        is weighted.
    query, strategy, missing, grader
        As for `differences`.
    colours
        The colours of the strategies by name, such as `{"ours": "#c00"}`. By default, `a` is blue
        and `b` is orange, or both have the first two colours of the theme.

    Returns
    -------
    LayerChart or FacetChart
        Each row is the bar of a query, with `position` (from 1), `query`, `difference` and `better`
        (the better strategy, null for a tie). If several columns identify a query, they are kept as
        text, so that `.facet("market:N")` works. A tie is a dot at 0. With more than 3000 queries,
        3000 of them are drawn, at equal steps. The dot to
        the right is the mean difference of all queries (`mean`), and its bar is the interval
        (`ci_low` to `ci_high`), which needs two queries. Both belong to all `bars` of a panel, so a
        facet of fewer bars lacks them.

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
    if panel is not None and interval is not None:
        msg = f"`interval` must be None with panels, got {interval}"
        raise ValueError(msg)
    passed = PassedKeys(query, strategy, cluster=cluster, weights=weights)
    results = open_results(per_query, [measure], passed, missing, grader, "ignore").only
    panel_columns = [] if panel is None else check_column_names("panel", panel)
    if interval is None:
        check_independence(results.rows, replace(results.keys, segments=panel_columns))
    table = _compare_queries(results, missing, measure, a, b, order, panel_columns)
    parts = [table] if panel is None else table.partition_by("panel", maintain_order=True)
    chart_rows.check_count("panels", len(parts), chart_rows.MAX_PANELS)
    bars = pl.concat(_build_bars(part, MAX_DRAWN_ROWS // len(parts), interval) for part in parts)
    both, [measure] = chart_rows.format_names([a, b]), results.measures
    interval_name = name_interval(0.95 if interval is None else None)
    is_weighted = WEIGHT in table.columns
    notes = [f"● {'weighted ' * is_weighted}mean of a panel, with its 95 % interval"]
    if len(parts) == 1:
        mean = bars.select("mean", "ci_low", "ci_high").row(0)
        note = titles.write_mean_difference(
            *mean, interval_name=interval_name, is_weighted=is_weighted
        )
        notes = [note]
    if bars.height < table.height:
        notes += [f"{bars.height:,} of {format_count(table.height, 'queries')} are drawn"]
    # Up to three panels are side by side.
    step = WIDTH // min(len(parts), 3) // max(part.height for part in parts)
    are_named, names = step >= MIN_NAME_STEP, bars["query"].unique().to_list()
    fits = all(len(name) * 6 <= step - 4 for name in names)
    axis = alt.Axis(
        labels=are_named or order == "query",
        ticks=are_named,
        labelAngle=0 if fits else -90,
        labelLimit=120,
        labelExpr=style.write_short_label(names),
        labelOverlap="greedy" if are_named else True,
        labelSeparation=-3 if are_named else 0,
        titleLimit=400,
    )
    x_title = "queries, sorted by difference"
    if order == "query":
        x_title = ", ".join(_list_name_parts(results.keys.query_columns, panel_columns))
    by_position = alt.EncodingSortField("position", op="min")
    one, other = shorten_names(both, 16)
    minuend, subtrahend = map(style.keep_together, (f"{one} \N{MINUS SIGN}", other))
    difference = f"{titles.name_measure(measure)}: {minuend} {subtrahend}"
    height = HEIGHT if len(parts) == 1 else PANEL_HEIGHT
    y_title = style.wrap_text(difference, height // style.LETTER_WIDTH)
    # A legend with the words "better" needs no title.
    label = f"({style.write_short_label(both)}) + ' better'"
    legend = style.build_legend(both, orient="top", title=None, labelExpr=label)
    better = f"better {results.keys.strategy}"
    shared = alt.Encoding(
        x=alt.X(title=x_title, sort=by_position, axis=axis),
        y=alt.Y(title=y_title, axis=alt.Axis(titleLimit=height + 20)),
        color=style.encode_names(both, better, colours, field="better", legend=legend),
    )
    layers = [*_draw_differences(bars), *_draw_mean(interval_name)]
    # With several panels, each panel would repeat a legend of its own.
    size: dict[str, Any] = {"height": PANEL_HEIGHT}
    if len(parts) == 1:
        size = {"width": WIDTH, "height": HEIGHT, "independent": ["color"]}
    return panels.draw_panels(
        layers,
        bars,
        panel,
        _title_queries(table, both),
        notes,
        "independent",
        encoding=shared,
        **size,
    )


def _build_bars(table: pl.DataFrame, max_bars: int, interval: Any) -> pl.DataFrame:
    """Return the bars of a panel, with the mean of all its queries and the interval to draw."""
    ends: list[Any]
    mean, *ends = compute_mean_interval("difference", table)
    if interval is not None:
        ends = [*check_increasing("interval", interval)]
        if len(ends) != 2 or not ends[0] <= mean <= ends[1]:  # noqa: PLR2004
            msg = f"`interval` must have two ends around the mean difference, {mean:.4f}, "
            msg += f"got {interval}"
            raise ValueError(msg)
    table = table.drop("value_a", "value_b", *list_unit_columns(table))
    table = table.with_columns(position=pl.int_range(1, pl.len() + 1, dtype=pl.UInt32))
    first = ["position", "query", "difference", "better"]
    bars = table.select(*first, pl.exclude(first))
    bars = bars[chart_rows.choose_equal_steps(bars.height, max_bars)]
    numbers = dict(zip(("mean", "ci_low", "ci_high"), (mean, *ends), strict=True))
    return bars.with_columns(
        *(pl.lit(number, pl.Float64).alias(name) for name, number in numbers.items()),
        bars=pl.len(),
    )


def _draw_differences(table: pl.DataFrame) -> list[alt.Chart]:
    """Draw a bar for each query, and a dot for each tie."""
    base = alt.Chart().encode(x=alt.X("query:N"), y=alt.Y("difference:Q"))
    tooltip = style.list_tooltips("query:N", *style.format_decimals("difference"), "better:N")
    # Narrower bars would be pale. A mark ignores `minBandSize`, and a scale has other names in
    # concatenated charts.
    width = alt.ExprRef("max(1, 0.9 * item.mark.group.width / datum.bars)")
    bars = base.mark_bar(width=width).encode(y=alt.Y("difference:Q", stack=None), tooltip=tooltip)
    layers = [bars, style.draw_rule("y", "difference")]
    # Vega warns of an infinite extent if a layer has no rows.
    if table["better"].has_nulls():
        ties = base.transform_filter("!isValid(datum.better)")
        ties = ties.mark_point(filled=True, size=9, opacity=1)
        layers.append(ties.encode(color=alt.ColorValue(style.DOUBT), tooltip=tooltip[:2]))
    return layers


def _draw_mean(interval_name: str) -> list[alt.Chart]:
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
    base, interval = style.add_interval(base, "ci_low", "ci_high", title=interval_name)
    number = alt.Tooltip("mean:Q", title="mean difference", format=".4f")
    return [
        line,
        base.mark_point(xOffset=14, filled=True, opacity=1, size=30, clip=False).encode(
            tooltip=[number, interval]
        ),
        base.mark_text(align="left", dx=22, clip=False).encode(text=alt.value("mean")),
    ]


def _compare_queries(
    results: Results,
    missing: Missing,
    measure: MeasureColumns,
    a: Any,
    b: Any,
    order: str = "difference",
    panel_columns: Sequence[str] = (),
) -> pl.DataFrame:
    """Return the values of two strategies for each query, in the order of panels.

    `query` is the name of a query, `better` the name of the better strategy, and `panel` the name
    of a panel. The columns of queries and panels are kept as text, unless they have the name of
    another column of the table. Queries of the same name in several panels are several queries.
    """
    keys = results.keys
    columns = [*dict.fromkeys([*keys.query_columns, *panel_columns])]
    rows, query = chart_rows.join_columns("per_query", results.rows, columns)
    rows = add_units(rows, replace(keys, query=query))
    options: dict[str, Any] = {"strategy": keys.strategy, "missing": missing}
    table = differences(rows, measure, a, b, query=query, **options)
    if table.is_empty():
        [name] = results.measures
        msg = f"{a!r} and {b!r} must have a query with a value of {name}, got none"
        raise ValueError(msg)
    if order == "query":
        in_natural_order = in_order(table[query]).to_frame()
        table = in_natural_order.join(table, on=query, nulls_equal=True, maintain_order="left")
    better = chart_rows.build_name_column("winner").alias("better")
    table = table.select(
        # Another column may have the name of the query column, such as "better".
        pl.col(query).alias("key"),
        *("value_a", "value_b", "difference"),
        pl.when(pl.col("winner").is_not_null()).then(better),
    )
    rows, name = chart_rows.join_columns(
        "per_query", rows, _list_name_parts(keys.query_columns, panel_columns)
    )
    texts = {each: each for each in columns if each not in table.columns} | {"query": name}
    columns_by_name = {text: chart_rows.build_name_column(each) for text, each in texts.items()}
    if panel_columns:
        rows, panel = chart_rows.join_columns("per_query", rows, panel_columns)
        columns_by_name["panel"] = pl.col(panel)
    columns_by_name |= {each: pl.col(each) for each in list_unit_columns(rows)}
    queries = rows.select(pl.col(query).alias("key"), **columns_by_name).unique("key")
    table = table.join(queries, on="key", how="left", nulls_equal=True, maintain_order="left")
    if panel_columns:
        names = rows.select(panel=panel).unique(maintain_order=True)
        in_order_of_rows = names.join(
            table, on="panel", nulls_equal=True, maintain_order="left_right"
        )
        table = in_order_of_rows.select(table.columns)
        table = table.with_columns(chart_rows.build_name_column("panel"))
    return table.drop("key")


def _list_name_parts(query_columns: list[str], panel_columns: Sequence[str]) -> list[str]:
    """Return the columns that name a query: those that do not name its panel, if there are any."""
    return [name for name in query_columns if name not in panel_columns] or query_columns


def _title_queries(table: pl.DataFrame, both: Sequence[str]) -> str:
    """Return the title with the number of queries that each strategy wins."""
    wins = [table.filter(better=name).height for name in both]
    return titles.title_wins(both, wins, table.height)


@checks_call
def measure_agreement(
    frame: Frame,
    x: str,
    y: str,
    *,
    panel: Columns | None = None,
    query: Columns = "query",
    strategy: str = "strategy",
) -> Chart:
    """Draw one measure against another.

    Source: Moniz, Torgo and Vinagre (2016), figure 3.

    Parameters
    ----------
    frame
        One row per strategy and query with one column per measure, as `evaluate` returns it.
    x, y
        The columns of the two numbers. They may also be a similarity and a difference, for example
        the columns `"rbo"` and `"difference"` of
        `differences(per_query, "ndcg@10", "ours", "bm25").join(similar, on="query")`.
    panel
        The columns of panels, such as `"strategy"` or a cutoff. By default, there are no panels.
    query, strategy
        The columns of queries and of strategies. The frame may lack the default columns.

    Returns
    -------
    LayerChart or FacetChart
        Each row is a point with `x` and `y`, `strategy` and `query` if the frame has these columns,
        and the further columns of the frame. Each panel states Kendall's τ and Pearson's r of all
        its points. A chart without panels has them below its title.

    Examples
    --------
    >>> per_query = pl.DataFrame(
    ...     {"strategy": "bm25", "query": [1, 2, 3], "ndcg": [0.75, 0.5, 1], "phi": [0.25, 0.5, 1]}
    ... )
    >>> chart = measure_agreement(per_query, "ndcg", "phi")
    >>> chart.title["subtitle"]
    ['τ 0.33, r 0.65']
    """
    queries = check_column_names("query", query)
    frame, query = chart_rows.join_columns("frame", frame, queries)
    # A column with another name than the default is the caller's choice, so it must exist.
    if query != "query":
        check_columns("frame", [query], frame.columns)
        frame = frame.with_columns(pl.col(query).alias("query"))
    has_strategies = strategy != "strategy" or strategy in frame.columns
    rows = chart_rows.build_rows(
        "frame",
        frame,
        x,
        y,
        text_columns=["query"] if "query" in frame.columns else [],
        strategy=strategy if has_strategies else None,
        panel=panel,
    )
    rows = rows.with_columns(x=pl.col(x), y=pl.col(y)).drop_nulls("y")
    chart_rows.check_not_empty("frame", rows, y)
    rows = rows.drop(query) if len(queries) > 1 else rows
    has_panels = chart_rows.has_panels(rows)
    tables = rows.partition_by("panel", maintain_order=True) if has_panels else [rows]
    max_points, parts, texts = chart_rows.compute_max_points(len(tables)), [], []
    for each in tables:
        texts.append(titles.write_correlations(*compute_correlations(each["x"], each["y"])))
        part = each[chart_rows.choose_equal_steps(each.height, max_points)]
        is_first = pl.int_range(pl.len()) == 0
        parts.append(part.with_columns(label=pl.when(is_first).then(pl.lit(texts[-1]))))
    table = pl.concat(parts)
    explained = ["τ: Kendall's rank correlation, r: Pearson's"]
    notes = explained if has_panels else [*filter(None, texts)]
    if table.height < rows.height:
        notes.append(f"{table.height:,} of {format_count(rows.height, 'points')} are drawn")
    x_title, y_title = titles.name_measure(x), titles.name_measure(y)
    tooltip = [alt.Tooltip(f"{key}:N") for key in ("strategy", "query") if key in rows.columns]
    tooltip += [
        alt.Tooltip(f"{field}:Q", title=t, format=".4f")
        for field, t in (("x", x_title), ("y", y_title))
    ]
    base = alt.Chart().encode(x=alt.X("x:Q"), y=alt.Y("y:Q"))
    points = base.mark_point(filled=True, opacity=min(0.8, 8 / math.sqrt(table.height)))
    layers = [points.encode(tooltip=tooltip)]
    if has_panels:
        labels = base.mark_text(align="left", baseline="top", dx=4, dy=4)
        labels = labels.transform_filter("isValid(datum.label)")
        layers.append(labels.encode(x=alt.XValue(0), y=alt.YValue(0), text="label:N"))
    else:
        table = table.drop("label")
    encoding = alt.Encoding(
        x=alt.X(title=x_title, **style.bound_axis(style.choose_ends(table["x"], 10))),
        y=alt.Y(title=y_title, **style.bound_axis(style.choose_ends(table["y"], 10))),
        color=style.draw_ink(),
    )
    headline = f"{y_title} against {x_title}, {format_count(rows.height, 'points')}"
    return panels.draw_panels(layers, table, panel, headline, notes, encoding=encoding)


@checks_call
def explore(
    per_query: Frame,
    a: Any,
    b: Any,
    measure: MeasureColumns,
    *,
    cluster: Columns | None = None,
    weights: str | None = None,
    query: Columns | None = None,
    strategy: str | None = None,
    missing: Missing = "error",
    grader: str | None = None,
    colours: Mapping[str, str] | None = None,
) -> alt.VConcatChart:
    """Draw two strategies query by query, with means of selected queries.

    Two views show each query: as a point (one strategy against the other), and as a bar, in order
    of descending difference. A rectangle drawn in either view selects queries, and a click outside
    the rectangle selects all queries. Below the views, the browser writes the means of both
    strategies and of their difference over the selected queries. The interval in the subtitle is
    that of all queries: queries that are chosen by their values are not a random sample.

    Parameters
    ----------
    per_query
        One row per strategy and query with one column per measure, as `evaluate` returns it, for at
        most 5000 queries.
    a, b
        The two strategies; a difference is the value of `a` minus the value of `b`.
    measure
        The column to compare.
    cluster, weights
        The columns of clusters and of weights of queries, as for `compare`. With weights, all means
        are weighted.
    query, strategy, missing, grader
        As for `differences`.
    colours
        The colours of the strategies by name, such as `{"ours": "#c00"}`. By default, they are
        those of the theme.

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
    >>> explore(per_query, "ours", "bm25", "ap").data.drop("position", "weight")
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
    passed = PassedKeys(query, strategy, cluster=cluster, weights=weights)
    results = open_results(per_query, [measure], passed, missing, grader).only
    table = _compare_queries(results, missing, measure, a, b)
    both, [measure] = chart_rows.format_names([a, b]), results.measures
    chart_rows.check_count("queries", table.height, MAX_EXPLORED_QUERIES)
    is_weighted = WEIGHT in table.columns
    mean = compute_mean_interval("difference", table)
    weight = pl.col(WEIGHT) if is_weighted else pl.lit(1.0)
    columns = ["query", "value_a", "value_b", "difference", "better", "position"]
    table = table.with_row_index("position", offset=1).select(*columns, weight.alias("weight"))
    # No other chart on a page may have selections of the same name.
    suffix = chart_rows.build_selection_name(measure, table)[-10:]
    brush = alt.selection_interval(name=f"brush_{suffix}")
    legend, better = style.build_legend(both, orient="top"), f"better {results.keys.strategy}"
    colour = style.encode_names(both, better, colours, field="better", legend=legend)
    # Queries that are not selected are faint, and ties are grey.
    colour["condition"] = [
        {"test": (~brush).to_dict(), "value": style.FAINT_COLOUR},
        {"test": "!isValid(datum.better)", "value": style.DOUBT},
    ]
    one, other = shorten_names(both, MAX_AXIS_NAME_LETTERS)
    labels = {"value_a": one, "value_b": other, "difference": f"{one} \N{MINUS SIGN} {other}"}
    number_tooltips = (alt.Tooltip(f"{f}:Q", title=t, format=".4f") for f, t in labels.items())
    views = _draw_views(table, titles.name_measure(measure), labels)
    # When Altair copies a concatenated chart, it renames each layer: the new name ends with the
    # position of the layer's view. Parameters still refer to the old name. The names given here
    # already end with the position, so a copy has the same names.
    layer_names: list[Any] = [f"queries_{suffix}_0", f"queries_{suffix}_1"]
    tooltip = style.list_tooltips("query:N", *number_tooltips)
    for view, name in zip(views, layer_names, strict=True):
        view.layer[0] = view.layer[0].encode(color=colour, tooltip=tooltip).properties(name=name)
    beside = alt.HConcatChart(hconcat=views, spacing=VIEW_SPACING, bounds="flush")
    # A line with four long names would be wider than the views.
    words = {"difference": "difference"} if len(one + other) > MAX_AXIS_NAME_LETTERS else {}
    means = _write_selected_means(brush, labels | words, table.height, is_weighted=is_weighted)
    # Otherwise, a chart beside this one would add its values to the legend.
    own_colours = alt.Resolve(scale=alt.ScaleResolveMap(color="independent"))
    chart: Any = ViewsChart(data=table, vconcat=[beside, means], resolve=own_colours)
    parameter: Any = brush.param
    chart.params = [alt.TopLevelSelectionParameter(**parameter.to_dict(), views=layer_names)]
    note = titles.write_mean_difference(*mean, is_weighted=is_weighted)
    panels.add_title(chart, _title_queries(table, both), [note])
    return chart


class ViewsChart(panels.Configurable, alt.VConcatChart):  # type: ignore[misc]
    """Linked views of queries."""

    def list_coloured_views(self) -> list[Any]:
        """Return the parts of the chart whose encoding has colours."""
        return [view.layer[0] for view in self.vconcat[0].hconcat]


def _draw_views(table: pl.DataFrame, measure: str, labels: dict[str, str]) -> list[alt.LayerChart]:
    """Draw each query as a point, and as a bar of its difference, the highest first."""
    n, ends = table.height, style.choose_ends(pl.concat([table["value_a"], table["value_b"]]))
    x, y = (
        {
            "title": style.wrap_text(
                f"{measure} of {style.keep_together(labels[name])}", limit // style.LETTER_WIDTH
            ),
            **style.bound_axis(ends, titleLimit=limit + 20),
        }
        for name, limit in (("value_b", VIEW_WIDTH), ("value_a", VIEW_HEIGHT))
    )
    size = POINT_SIZE * min(1, math.sqrt(MAX_LARGE_POINTS / n))
    points = alt.Chart().mark_point(filled=True, size=size, opacity=0.7)
    points = points.encode(x=alt.X("value_b:Q", **x), y=alt.Y("value_a:Q", **y))
    ticks = style.choose_rank_ticks(n)
    limits = style.bound_axis((0.5, n + 0.5), zero=False, format=",d", values=ticks)
    width = alt.ExprRef(f"max(1, 0.9 * item.mark.group.width / {n})")
    bars = alt.Chart().mark_bar(orient="vertical", size=width)
    bars = bars.encode(
        x=alt.X("position:Q", title="queries, sorted by difference", **limits),
        y=alt.Y(
            "difference:Q", title=labels["difference"], stack=None, axis=alt.Axis(titleLimit=280)
        ),
    )
    diagonal = {"value_b": repr(ends[0]), "value_a": repr(ends[0]), "end": repr(ends[1])}
    equal = style.build_one_row().transform_calculate(**diagonal).mark_rule(clip=True)
    equal = equal.encode(x=alt.X("value_b:Q"), y=alt.Y("value_a:Q"), color=alt.ColorValue("gray"))
    equal = equal.encode(x2=alt.X2("end"), y2=alt.Y2("end"))
    zero = style.draw_rule("y", "difference")
    layers_by_title = {"Queries": [points, equal], "Differences of queries": [bars, zero]}
    return [
        alt.LayerChart(
            layer=layers,
            title=alt.TitleParams(title, anchor="start", fontSize=12),
            width=VIEW_WIDTH,
            height=VIEW_HEIGHT,
            view=alt.ViewBackground(cursor="crosshair"),
        )
        for title, layers in layers_by_title.items()
    ]


def _write_selected_means(
    brush: alt.Parameter, labels: dict[str, str], n: int, *, is_weighted: bool
) -> alt.Chart:
    """Write the means of the selected queries, which the browser computes."""
    products = {name: f"datum.weight * datum.{name}" for name in labels}
    sums: Any = {name: f"sum({name})" for name in labels}
    selected = alt.Chart().transform_filter(brush).transform_calculate(**products)
    selected = selected.transform_aggregate(n="count()", weights="sum(weight)", **sums)
    means = " + ', ' + ".join(
        f"{json.dumps(label)} + ' ' + format(datum.{name} / datum.weights, '.4f')"
        for name, label in labels.items()
    )
    noun = "weighted means" if is_weighted else "means"
    start = f"'{noun} of ' + format(datum.n, ',') + ' of {format_count(n, 'queries')}: '"
    text = selected.transform_filter("datum.n > 0").transform_calculate(text=f"{start} + {means}")
    text = text.mark_text(align="left", fontSize=12, clip=False)
    text = text.encode(x=alt.XValue(0), y=alt.YValue(0), text="text:N", color=style.draw_ink())
    width, view = 2 * VIEW_WIDTH + VIEW_SPACING, alt.ViewBackground(stroke=None)
    return text.properties(width=width, height=10, view=view)
