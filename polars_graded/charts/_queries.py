"""Charts of single queries: compare two strategies or two measures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import altair as alt
import polars as pl

from polars_graded._checks import check_column_names, check_increasing
from polars_graded._drawing import axes, chart_rows, curve_rows, panels, style
from polars_graded._drawing.chart_rows import MAX_DRAWN_ROWS, Frame
from polars_graded._drawing.panels import Chart
from polars_graded._frames.arguments import Columns
from polars_graded._frames.sorting import in_order
from polars_graded._measuring.keywords import checks_call
from polars_graded._results.comparing import differences
from polars_graded._results.keys import (
    WEIGHT,
    PassedKeys,
    add_units,
    check_independence,
    list_unit_columns,
)
from polars_graded._results.measure_values import (
    MeasureColumns,
    compute_mean_interval,
    list_named_columns,
)
from polars_graded._results.reliability import compute_correlations
from polars_graded._results.results import Missing, open_results
from polars_graded._sentences import format_count, shorten_names, titles

WIDTH, HEIGHT, PANEL_HEIGHT = 600, 280, 150
"""Width and height of a precision histogram in pixels, for any number of queries, and the height of
a panel."""

MIN_NAME_STEP = 10
"""Minimum distance between the names of two queries, in pixels."""

MAX_POINTS = 1000
"""Maximum number of points of a scatter plot. The density of more points is drawn."""

MAX_CELLS_PER_AXIS = 40
"""Maximum number of cells of a density along one axis."""


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
    highlight: Any = None,
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
        Each row is the bar of a query, with `position` (from 1), `query`, `difference` and `better`
        (the better strategy, null for a tie). Further columns of `per_query` with one value per
        query, such as its market, are kept as text, so that `.facet("market:N")` works. A tie is a
        dot at 0. With more than 3000 queries, 3000 of them are drawn, at equal steps. The dot to
        the right is the mean difference of all queries (`mean`), and its bar is the 95 % interval
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
    keys = PassedKeys(query, strategy, cluster=cluster, weights=weights)
    results = open_results(per_query, [measure], keys, missing, grader, "ignore").only
    query_columns, strategy = results.keys.queries, results.keys.strategy
    panel_columns = [] if panel is None else check_column_names("panel", panel)
    # Queries of the same name in several segments are several queries.
    all_columns = [*dict.fromkeys([*query_columns, *panel_columns])]
    per_query, key = chart_rows.join_query_columns("per_query", results.rows, all_columns, strategy)
    if interval is None:
        check_independence(per_query, replace(results.keys, segments=panel_columns))
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
    headline = titles.title_wins(both, wins, table.height)
    mean = compute_mean_interval("difference", table)
    if interval is not None:
        mean = mean[0], *_check_interval(interval, panel)
    notes = titles.write_mean_difference(*mean, is_weighted=WEIGHT in table.columns)
    parts = [table] if panel is None else table.partition_by("panel", maintain_order=True)
    rows = pl.concat(_build_bars(part, MAX_DRAWN_ROWS // len(parts)) for part in parts)
    if interval is not None:
        rows = rows.with_columns(ci_low=pl.lit(mean[1]), ci_high=pl.lit(mean[2]))
    if rows.height < table.height:
        notes += [f"{rows.height:,} of {format_count(table.height, 'queries')} are drawn"]
    # Up to three panels are side by side.
    step = WIDTH // min(len(parts), 3) // max(part.height for part in parts)
    has_names, names = step >= MIN_NAME_STEP, rows["query"].unique().to_list()
    fits = all(len(name) * 6 <= step - 4 for name in names)
    axis = alt.Axis(
        labels=has_names or order == "query",
        ticks=has_names,
        labelAngle=0 if fits else -90,
        labelLimit=120,
        labelExpr=style.write_short_label("datum.label", names),
        labelOverlap="greedy" if has_names else True,
        labelSeparation=-3 if has_names else 0,
        titleLimit=400,
    )
    title = "queries, sorted by difference" if order == "difference" else ", ".join(parts_of_name)
    by_position = alt.EncodingSortField("position", op="min")
    y_title = f"{titles.name_measure(measure)}: {' − '.join(shorten_names(both, 16))}"
    # A legend with the words "better" needs no title.
    label = f"({style.write_short_label('datum.label', both)}) + ' better'"
    legend = style.build_legend(both, orient="top", title=None, labelExpr=label)
    chosen: dict[str, Any] = {"colours": colours, "highlight": highlight}
    shared = alt.Encoding(
        x=alt.X(title=title, sort=by_position, axis=axis),
        y=alt.Y(title=y_title, axis=alt.Axis(titleLimit=300)),
        color=style.encode_names(
            both, f"better {strategy}", field="better", legend=legend, **chosen
        ),
    )
    layers = [*_draw_differences(rows), *_draw_mean()]
    # With several panels, each panel would repeat a legend of its own.
    size: dict[str, Any] = {"height": PANEL_HEIGHT}
    if len(parts) == 1:
        size = {"width": WIDTH, "height": HEIGHT, "independent": ["color"]}
    return panels.draw_panels(
        layers, rows, panel, headline, notes, "independent", encoding=shared, **size
    )


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
    chart_rows.check_panels(table, panel)
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


def _build_bars(table: pl.DataFrame, max_bars: int) -> pl.DataFrame:
    """Return the bars of a panel, with the mean of all its queries."""
    mean, low, high = compute_mean_interval("difference", table)
    table = table.with_columns(position=pl.int_range(1, pl.len() + 1, dtype=pl.UInt32))
    table = table.drop("key", "value_a", "value_b", *list_unit_columns(table))
    first = ["position", "query", "difference", "better"]
    rows = table.select(*first, pl.exclude(first))
    rows = rows[curve_rows.choose_equal_steps(rows.height, max_bars)]
    numbers = {"mean": mean, "ci_low": low, "ci_high": high}
    return rows.with_columns(
        *(pl.lit(number, pl.Float64).alias(name) for name, number in numbers.items()),
        bars=pl.len(),
    )


def _draw_differences(rows: pl.DataFrame) -> list[alt.Chart]:
    """Draw a bar for each query, and a dot for each tie."""
    base = alt.Chart().encode(x=alt.X("query:N"), y=alt.Y("difference:Q"))
    tooltip = axes.list_tooltips("query:N", *axes.format_decimals("difference"), "better:N")
    # Narrower bars would be pale. A mark ignores `minBandSize`, and a scale has other names in
    # concatenated charts.
    width = alt.ExprRef("max(1, 0.9 * item.mark.group.width / datum.bars)")
    bars = base.mark_bar(width=width).encode(y=alt.Y("difference:Q", stack=None), tooltip=tooltip)
    layers = [bars, style.draw_rule("y", "difference")]
    # Vega warns of an infinite extent if a layer has no rows.
    if rows["better"].has_nulls():
        ties = base.transform_filter("!isValid(datum.better)")
        ties = ties.mark_point(filled=True, size=9, opacity=1)
        layers.append(ties.encode(color=alt.ColorValue(style.DOUBT), tooltip=tooltip[:2]))
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
    base, interval = axes.add_interval(base, "ci_low", "ci_high", title="95 % interval")
    number = alt.Tooltip("mean:Q", title="mean difference", format=".4f")
    return [
        line,
        base.mark_point(xOffset=14, filled=True, opacity=1, size=30, clip=False).encode(
            tooltip=[number, interval]
        ),
        base.mark_text(align="left", dx=22, clip=False).encode(text=alt.value("mean")),
    ]


def build_compared_queries(
    per_query: pl.DataFrame,
    measure: MeasureColumns,
    a: Any,
    b: Any,
    query: str,
    order: str = "difference",
    **options: Any,
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
    if order == "query":
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

    If neither measure has negative values or a range ten times that of the other, both axes have
    the same ends, and a diagonal shows where both measures are equal.

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
        and further columns as for `precision_histogram`. With more than 1000 points, each row is a
        cell from `x` to `x_end` and from `y` to `y_end` with `count`, the number of its points.
        Each panel states Kendall's τ and Pearson's r of its points. A chart without panels has them
        below its title.

    Examples
    --------
    >>> per_query = pl.DataFrame(
    ...     {"strategy": "bm25", "query": [1, 2, 3], "ndcg": [0.75, 0.5, 1], "phi": [0.25, 0.5, 1]}
    ... )
    >>> chart = measure_agreement(per_query, "ndcg", "phi")
    >>> chart.title["subtitle"]
    ['τ 0.33, r 0.65; line: both are equal']
    """
    frame = chart_rows.collect_one_grader("frame", frame, query, strategy, panel)
    frame, query = chart_rows.join_query_columns("frame", frame, query, strategy)
    frame, panel = chart_rows.join_panel_columns("frame", frame, panel)
    # A column with another name than the default is the caller's choice, so it must exist.
    keys = {} if panel is None else {"panel": panel}
    keys |= {
        name: column
        for name, column in (("strategy", strategy), ("query", query))
        if column != name or column in frame.columns
    }
    table = chart_rows.build_query_rows(frame, keys, {"x": x, "y": y})
    n, groups = table.height, ["panel"] if chart_rows.has_panels(table) else []
    if "query" in keys and n <= MAX_POINTS:
        table = chart_rows.add_query_columns(table, frame, query)
    has_one_strategy = "strategy" not in keys or table["strategy"].n_unique() == 1
    has_repeated = "query" in keys and table["query"].is_duplicated().any()
    unit = "queries" if has_one_strategy and not has_repeated else "results"
    x, y = titles.name_measure(x), titles.name_measure(y)
    ends = axes.choose_ends_of_axes(table["x"], table["y"])
    table = _add_correlations(table, groups)
    correlations = [*filter(None, table["label"].drop_nulls())]
    notes = ["τ: Kendall's rank correlation, r: Pearson's"] if groups else correlations
    base = alt.Chart().encode(x=alt.X("x:Q"), y=alt.Y("y:Q"))
    if n <= MAX_POINTS:
        tooltip = [alt.Tooltip(f"{key}:N") for key in ("strategy", "query") if key in keys]
        tooltip.append(alt.Tooltip("x:Q", title=x, format=".4f"))
        tooltip.append(alt.Tooltip("y:Q", title=y, format=".4f"))
        points = base.mark_point(filled=True, opacity=min(0.8, 8 / math.sqrt(n)))
        layers = [points.encode(tooltip=tooltip)]
    else:
        table = _count_by_cell(table, groups, *ends)
        scale = alt.Scale(type="log", domain=[1, max(2, *table["count"])], range=[0.15, 1])
        density = alt.Opacity("count:Q", title=unit, scale=scale, legend=alt.Legend(format="d"))
        cells = base.mark_rect(clip=True)
        layers = [cells.encode(x2="x_end", y2="y_end", opacity=density, tooltip="count:Q")]
    if ends[0] == ends[1]:
        layers.append(style.draw_diagonal("x", "y", *ends[0]))
        notes.append("line: both are equal")
    if groups:
        texts = base.mark_text(align="left", baseline="top", dx=4, dy=4)
        texts = texts.transform_filter("isValid(datum.label)")
        layers.append(texts.encode(x=alt.XValue(0), y=alt.YValue(0), text="label:N"))
    else:
        table = table.drop("label")
    encoding = alt.Encoding(
        x=alt.X(title=x, **axes.bound_axis(ends[0])),
        y=alt.Y(title=y, **axes.bound_axis(ends[1])),
        color=style.draw_ink(),
    )
    headline = f"{y} against {x}, {format_count(n, unit)}"
    return panels.draw_panels(layers, table, panel, headline, notes, encoding=encoding)


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


def _count_by_cell(
    table: pl.DataFrame, groups: list[str], x: axes.AxisEnds, y: axes.AxisEnds
) -> pl.DataFrame:
    """Count the points of each group by cell, on axes with the ends `x` and `y`.

    A text in the column `label` of a point becomes the label of its cell.
    """
    n_groups = table.n_unique(groups) if groups else 1
    n_cells = min(MAX_CELLS_PER_AXIS, math.isqrt(MAX_DRAWN_ROWS // n_groups))
    sides: dict[str, pl.Expr] = {}
    for field, (low, high) in (("x", x), ("y", y)):
        width = (high - low) / n_cells
        number = ((pl.col(field) - low) / width).round(9).floor().clip(0, n_cells - 1)
        sides |= {field: low + number * width, f"{field}_end": low + (number + 1) * width}
    cells = table.select(*groups, "label", **sides).group_by(*groups, *sides, maintain_order=True)
    return cells.agg(pl.len().alias("count"), pl.col("label").drop_nulls().first())
