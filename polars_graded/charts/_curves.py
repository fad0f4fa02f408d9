"""Charts of values by rank, by recall, by share of items, and by number of queries."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import altair as alt
import polars as pl

from polars_graded._checks import (
    check_collected,
    check_column_name,
    check_column_names,
    check_columns,
    check_number,
)
from polars_graded._drawing import axes, chart_rows, curve_rows, lines, panels, style
from polars_graded._drawing.chart_rows import Frame
from polars_graded._drawing.panels import Chart
from polars_graded._frames.arguments import Columns
from polars_graded._measuring.keywords import checks_call
from polars_graded._measuring.names import Measure
from polars_graded._results.keys import (
    CLUSTER,
    WEIGHT,
    Keys,
    PassedKeys,
    check_independence,
    collect_column_names,
)
from polars_graded._results.results import EFFECTIVE
from polars_graded._sentences import format_count, format_percent, shorten_name, titles

IDEAL_DASH = [4, 3]
"""Dashes of an ideal curve, in pixels."""

CLICK_ENDS = ("ci_low", "ci_high")
"""Columns of the lower and upper ends of intervals of click rates."""

UNITS = {"queries": "queries", "clusters": "clusters", EFFECTIVE: "effective queries"}
"""Words for the columns of numbers that `sample_size_curves` draws."""


@checks_call
def dcg_curves(
    frame: Frame,
    curve: str | None = None,
    *,
    ideal: str | bool = False,
    baseline: Any = None,
    confidence: float | None = None,
    panel: Columns | None = None,
    query: Columns | None = None,
    strategy: str = "strategy",
    rank: str = "rank",
    cluster: Columns | None = None,
    weights: str | None = None,
    colours: Mapping[str, str] | None = None,
    highlight: Any = None,
) -> Chart:
    """Draw a curve by rank, with one named line per strategy.

    On a web page, the line next to the pointer stays and the others fade.

    The band of a difference may exclude 0 although the bands around the two means overlap.

    Parameters
    ----------
    frame
        One row per strategy and rank with one column per curve, as `average_curves` returns it; or
        one row per strategy and query with one list per curve, as `evaluate` and (with a line per
        pair of strategies) `similarity` return it: then the chart shows means over queries.
    curve
        The column to draw: CG, DCG, NDCG, precision, or a column of your own, such as the ratio of
        two curves. By default, it is the only curve by rank in the frame, apart from ideal curves.
    ideal
        The column of the ideal curve, which is dashed. For `dcg_curve`, True selects the
        `ideal_dcg_curve` with the same gain, discount, base and cutoff, if the frame contains it.
        For `cg_curve`, True selects the `ideal_dcg_curve` with `discount=none`.
    baseline
        A strategy: the chart shows the other strategies' curves minus its curve, over the queries
        that both have, with a band of `confidence` (0.95 by default) and without an ideal curve.
        The frame must have the lists of `evaluate`.
    confidence
        The confidence of a band around each line, such as 0.95. The band is Student's interval of
        the mean over queries, as in `summarise`. The frame must have the lists of `evaluate`.
    panel
        A column whose values get a panel each, such as the query or a segment, or several columns.
    query, strategy, rank
        The columns of queries, of strategies, and of the ranks. If each query has a list, the
        columns of queries are found as by `summarise`.
    cluster, weights
        The columns of clusters and of weights of queries, as for `summarise`, in a frame with the
        lists of `evaluate`. With weights, the curves are weighted means.
    colours
        The colours of strategies by name, such as `{"ours": "#c00"}`. By default, the colours are
        those of Okabe and Ito, or those of the theme.
    highlight
        The strategy whose curve has a colour; the other curves are grey.

    Returns
    -------
    LayerChart or FacetChart
        The rows of the data contain `strategy`, `rank` and `value`; if drawn, also `ideal`,
        `ci_low`, `ci_high` and `panel`; and if there are no panels, `label`, the name at the end of
        a line. Means ignore null, NaN and infinity, and a rank without a value is left out. With
        `highlight`, only the highlighted curve has a band. A frame with ranks keeps its other
        columns, except those that a chart cannot show, such as lists.

    References
    ----------
    Järvelin, Kekäläinen: Cumulated gain-based evaluation of IR techniques, 2002. Chen, B. Retrieval
    evaluation (slides), DCG curves.

    Examples
    --------
    >>> from polars_graded import average_curves
    >>> df = pl.DataFrame({"query": 1, "grade": [0, 1, 3], "score": [3, 2, 1]})
    >>> curves = average_curves(
    ...     df, "dcg_curve(gain=linear)@3", "ideal_dcg_curve(gain=linear)@3", by="score"
    ... )
    >>> curves.pipe(dcg_curves, ideal=True).data.drop("label")
    shape: (3, 4)
    ┌──────────┬──────┬─────────┬─────────┐
    │ strategy ┆ rank ┆ value   ┆ ideal   │
    │ ---      ┆ ---  ┆ ---     ┆ ---     │
    │ str      ┆ u32  ┆ f64     ┆ f64     │
    ╞══════════╪══════╪═════════╪═════════╡
    │ score    ┆ 1    ┆ 0.0     ┆ 3.0     │
    │ score    ┆ 2    ┆ 0.63093 ┆ 3.63093 │
    │ score    ┆ 3    ┆ 2.13093 ┆ 3.63093 │
    └──────────┴──────┴─────────┴─────────┘
    """
    return _draw_curves(
        frame,
        curve,
        "rank",
        rank,
        ideal=ideal,
        baseline=baseline,
        confidence=confidence,
        panel=panel,
        query=query,
        strategy=strategy,
        cluster=cluster,
        weights=weights,
        colours=colours,
        highlight=highlight,
    )


@checks_call
def recall_precision_curves(
    frame: Frame,
    curve: str | None = None,
    *,
    confidence: float | None = None,
    panel: Columns | None = None,
    query: Columns | None = None,
    strategy: str = "strategy",
    recall: str = "recall",
    cluster: Columns | None = None,
    weights: str | None = None,
    colours: Mapping[str, str] | None = None,
    highlight: Any = None,
) -> Chart:
    """Draw mean interpolated precision at levels of recall as lines.

    Source: Chen, B. Retrieval evaluation (slides), average recall-precision graphs.

    Parameters
    ----------
    frame
        As for `dcg_curves`, with levels of recall in place of ranks.
    curve
        The column to draw; by default the only `interpolated_precision` in the frame.
    confidence
        The confidence of a band around each line, such as 0.95, as for `dcg_curves`.
    panel
        The columns of panels, as for `dcg_curves`.
    query, strategy, recall
        The columns of queries, of strategies, and of the levels of recall.
    cluster, weights, colours, highlight
        As for `dcg_curves`.

    Returns
    -------
    LayerChart or FacetChart
        The rows contain `strategy`, `recall` and `value`. They also contain `ci_low`, `ci_high` and
        `panel` if these are drawn. If there are no panels, they contain `label`, the name at the
        end of a line.

    Examples
    --------
    Example 3.2 of the slides has the first of ten relevant documents at rank 1:

    >>> from polars_graded import average_curves
    >>> from polars_graded.datasets import worked_example
    >>> slides = worked_example("chen").filter(query="example 3.2")
    >>> chart = average_curves(slides, "interpolated_precision").pipe(recall_precision_curves)
    >>> chart.data.drop("label").head(3)
    shape: (3, 3)
    ┌──────────┬────────┬──────────┐
    │ strategy ┆ recall ┆ value    │
    │ ---      ┆ ---    ┆ ---      │
    │ str      ┆ f64    ┆ f64      │
    ╞══════════╪════════╪══════════╡
    │ score    ┆ 0.0    ┆ 1.0      │
    │ score    ┆ 0.1    ┆ 1.0      │
    │ score    ┆ 0.2    ┆ 0.666667 │
    └──────────┴────────┴──────────┘
    """
    return _draw_curves(
        frame,
        curve,
        "recall",
        recall,
        confidence=confidence,
        panel=panel,
        query=query,
        strategy=strategy,
        cluster=cluster,
        weights=weights,
        colours=colours,
        highlight=highlight,
    )


def _draw_curves(
    frame: Frame,
    curve: str | None,
    kind: str,
    position: str,
    *,
    ideal: str | bool = False,
    baseline: Any = None,
    confidence: float | None,
    panel: Columns | None,
    query: Columns | None,
    strategy: str,
    cluster: Columns | None,
    weights: str | None,
    **chosen: Any,
) -> Chart:
    """Draw curves of one kind, "rank" or "recall", over the values in the column `position`."""
    frame = check_collected("frame", frame)
    has_lists = any(isinstance(dtype, pl.List) for dtype in frame.schema.values())
    if query is None and has_lists and strategy in frame.columns:
        query = PassedKeys(strategy=strategy, weights=weights).find(frame).query
    query_columns = check_column_names("query", "query" if query is None else query)
    frame, query = chart_rows.join_query_columns("frame", frame, query_columns, strategy)
    ideal_column = None if isinstance(ideal, bool) else ideal
    if curve is None:
        excluded = {query, strategy, position, ideal_column, *collect_column_names(panel)}
        curve = curve_rows.find_only_curve(frame, kind, position, excluded)
    frame, panel = chart_rows.join_panel_columns("frame", frame, panel)
    frame = curve_rows.add_curve_units(frame, curve, panel, query, cluster=cluster, weights=weights)
    is_list = isinstance(frame.schema[curve], pl.List)
    if baseline is not None:
        ideal, ideal_column, confidence = False, None, 0.95 if confidence is None else confidence
    if ideal is True:
        ideal_column = curve_rows.find_ideal(curve, frame.columns)
    if confidence is not None and is_list:
        segments = [] if panel is None else [panel]
        check_independence(frame, Keys(query_columns, strategy, segments=segments, cluster=cluster))
    table = curve_rows.build_curve_points(
        frame,
        curve,
        ideal_column,
        kind=kind,
        position=position,
        confidence=confidence,
        baseline=baseline,
        panel=panel,
        query=query,
        strategy=strategy,
    )
    facts = _collect_curve_facts(frame, table, curve, query, strategy, panel, baseline)
    things = "pairs of strategies" if {"a", "b"} <= {*frame.columns} else "strategies"
    headline = titles.title_curves(curve, facts, position, things)
    title = titles.write_axis_title(curve)
    title = f"mean {title}" if is_list and panel != query else title
    if baseline is not None:
        title = f"difference of {titles.write_axis_title(curve)} from {shorten_name(baseline)}"
        headline = titles.title_differences_of_curves(curve, facts, position, baseline)
    notes = [counted] if (counted := titles.count_queries(facts)) else []
    band = None
    if confidence is not None and table["ci_low"].count():
        band = "ci_low", "ci_high"
        notes.append(f"band: pointwise {format_percent(confidence)} interval of the mean")
    numbers = pl.concat(table.select("value", "^ideal$", "^ci_.*$").get_columns()).drop_nulls()
    ends = axes.choose_ends(numbers, 10)
    # Without negative values, an axis has no negative part. Cumulated curves start at 0.
    if baseline is None and (table["value"] >= 0).all():
        ends = (0.0 if _is_cumulated(curve) else max(0.0, ends[0])), ends[1]
    x = axes.build_rank_axis(position, max(table["rank"])) if kind == "rank" else None
    return lines.draw_lines(
        table,
        panel,
        headline,
        notes,
        x=x or alt.X("recall:Q", title=position, **axes.bound_axis((0, 1), tickCount=11)),
        y=alt.Y("value:Q", title=title, **axes.bound_axis(ends)),
        ends=ends,
        # With the baseline, which is not drawn, the other strategies have the same colours as in
        # charts that draw the baseline.
        names=chart_rows.find_names(frame, strategy),
        best=lines.find_best_lines(table, "rank" if kind == "rank" else None),
        title=strategy,
        band=band,
        tooltips=axes.format_decimals("value"),
        under=_draw_background(table, kind),
        **chosen,
    )


def _collect_curve_facts(
    frame: pl.DataFrame,
    table: pl.DataFrame,
    curve: str,
    query: str,
    strategy: str,
    panel: str | None,
    baseline: Any,
) -> titles.Drawn:
    """Return the curve and the numbers of lines, panels, queries and clusters.

    The numbers of queries and clusters are known only if the frame has one list per strategy and
    query, and no panel for each query. They are those of the drawn lists, in ascending order.
    """
    queries, clusters = list[int](), list[int]()
    if isinstance(frame.schema[curve], pl.List) and panel != query:
        rows = frame.filter(pl.col(curve).list.eval(pl.element().is_finite()).list.all())
        if baseline is not None:
            [name] = chart_rows.format_names([baseline])
            is_baseline = chart_rows.build_name_column(strategy) == name
            queries_of_baseline = rows.filter(is_baseline).select(query).unique()
            rows = rows.filter(~is_baseline).join(queries_of_baseline, on=query, how="semi")
        keys = [strategy] if panel is None else [panel, strategy]
        counts = rows.group_by(keys).agg(pl.col(query, f"^{CLUSTER}$").n_unique())
        queries = counts[query].unique().sort().to_list()
        if CLUSTER in counts.columns:
            clusters = counts[CLUSTER].unique().sort().to_list()
    n_panels = table["panel"].n_unique() if "panel" in table.columns else 0
    n_strategies, are_weighted = table["strategy"].n_unique(), WEIGHT in frame.columns
    return titles.Drawn([curve], n_strategies, n_panels, queries, None, clusters, are_weighted)


def _is_cumulated(curve: str) -> bool:
    """Return whether a curve is CG or DCG, or a column that is no known measure."""
    measure = Measure.parsed(curve)
    return measure is None or measure.function in ("cg_curve", "dcg_curve")


def _draw_background(table: pl.DataFrame, position: str) -> list[alt.Chart]:
    """Draw the ideal curve with its name, and a line at 0 if there are negative values."""
    layers = []
    if "ideal" in table.columns:
        grey = alt.ColorValue("gray")
        base = alt.Chart().encode(x=alt.X(f"{position}:Q"), y=alt.Y("ideal:Q"), color=grey)
        end = base.transform_filter("isValid(datum.ideal)")
        end = end.transform_joinaggregate(last=f"max({position})", groupby=[])
        end = end.transform_filter(f"datum['{position}'] === datum.last")
        end = end.transform_aggregate(ideal="max(ideal)", groupby=[position])
        text = end.mark_text(align="right", dy=-7, clip=False)
        text = text.encode(text=alt.TextValue("ideal"), color=style.draw_ink())
        layers = [base.mark_line(strokeDash=IDEAL_DASH).encode(detail="strategy:N"), text]
    if table["value"].min() < 0:  # type: ignore[operator]
        layers.append(style.draw_rule("y", "value"))
    return layers


@checks_call
def click_rates(clicks: Frame, *, rank: str = "rank", panel: Columns | None = None) -> Chart:
    """Draw click-through rates by rank with their intervals.

    Rates fall with the rank for two reasons: people examine later ranks less often, and better
    documents are at better ranks. In lists in random order, only the first reason applies.

    Parameters
    ----------
    clicks
        One row per rank, as `clicks.count_clicks` returns it. For several logs, such as one per
        ranker, add a column with the name of the log to each frame, and concatenate the frames.
        Then pass the name of this column as `panel`.
    rank
        The column of ranks, as for `count_clicks`.
    panel
        The columns of panels. By default, there are no panels.

    Returns
    -------
    LayerChart or FacetChart
        The chart contains the rows of `clicks` that have a click rate. If panels are drawn, these
        rows have a column `panel`.

    Examples
    --------
    >>> from polars_graded.clicks import count_clicks
    >>> import polars as pl
    >>> log = pl.DataFrame({"rank": [1, 2, 1, 2], "clicked": [1, 0, 1, 1]})
    >>> chart = count_clicks(log).pipe(click_rates)
    >>> chart.data.select("rank", "click_rate")
    shape: (2, 2)
    ┌──────┬────────────┐
    │ rank ┆ click_rate │
    │ ---  ┆ ---        │
    │ i64  ┆ f64        │
    ╞══════╪════════════╡
    │ 1    ┆ 1.0        │
    │ 2    ┆ 0.5        │
    └──────┴────────────┘
    """
    if check_column_name("rank", rank) != "rank":
        clicks = check_collected("clicks", clicks)
        check_columns("clicks", [rank], clicks.columns, argument="rank")
        clicks = clicks.drop("rank", strict=False).rename({rank: "rank"})
    positions = ["rank", "impressions", "clicks"]
    table = chart_rows.build_result_rows(
        "clicks", clicks, "click_rate", *CLICK_ENDS, texts=(), positions=positions, panel=panel
    )
    groups = [] if panel is None else ["panel"]
    if groups:
        chart_rows.check_unique("clicks", table, ["rank", "panel"], "rank of a panel")
    last: Any = table["rank"].max()
    ticks = axes.choose_rank_ticks(int(last))
    x_axis = alt.Axis(values=ticks, format="d", **axes.UNFLUSHED_LABELS)
    y_axis = alt.Axis(labelExpr=axes.PERCENT_LABEL)
    scale = alt.Scale(zero=False, nice=False, padding=10)
    shared = alt.Encoding(
        x=alt.X("rank:Q", title="rank", axis=x_axis, scale=scale),
        y=alt.Y("click_rate:Q", title="click-through rate", axis=y_axis),
    )
    base, interval = axes.add_interval(alt.Chart(), *CLICK_ENDS)
    counts = ("rank:Q", "impressions:Q", "clicks:Q", *axes.format_decimals("click_rate"))
    base = base.encode(x=alt.X("rank:Q"), tooltip=axes.list_tooltips(*counts, interval))
    layers = [
        base.mark_bar(size=2).encode(y=alt.Y("ci_low:Q", scale=alt.Scale(zero=True)), y2="ci_high"),
        style.draw_dots(base, 40).encode(y=alt.Y("click_rate:Q")),
    ]
    level = chart_rows.find_confidence(table)
    line = "interval" if level is None else f"{format_percent(level)} interval"
    n_impressions, n_clicks = map(int, table.select("impressions", "clicks").sum().row(0))
    total = f"{format_count(n_clicks, 'clicks')} in {format_count(n_impressions, 'impressions')}"
    notes = [total, f"line: {line} of one rate"]
    max_points = curve_rows.compute_max_points(table.n_unique(groups) if groups else 1)
    n, table = table.height, curve_rows.thin_by_value(table, "rank", max_points, groups)
    if table.height < n:
        notes.append(f"{table.height:,} of {n:,} rates are drawn")
    headline = "Click-through rate by rank"
    return panels.draw_panels(layers, table, panel, headline, notes, encoding=shared)


@checks_call
def sample_size_curves(curve: Frame, *, power: float = 0.8, panel: Columns | None = None) -> Chart:
    """Draw what more queries are worth: power, or a stable order of strategies.

    Each measure has a line over the number of queries. The rows determine what the line shows:

    - Rows of `trust.power_curve`: the power to find a difference, which the title states. The large
      point marks the number of queries in the data. The line reaches the dashed target at the
      number of queries that `trust.queries_needed` computes.
    - Rows of `trust.order_stability`: the mean rank correlation τ between the order of strategies
      from a sample of queries and the order from all queries. A band contains τ of most samples.


    Parameters
    ----------
    curve
        One row per measure and number of queries, of clusters, or of effective queries.
    power
        The target power, drawn as a dashed line.
    panel
        The columns of panels, such as `"measure"`. None draws a single panel.

    Returns
    -------
    LayerChart or FacetChart
        The rows are those of `curve`, with `label`, the name at the end of a line, if there are no
        panels.

    Examples
    --------
    >>> from polars_graded.trust import power_curve
    >>> per_query = pl.DataFrame(
    ...     {
    ...         "strategy": ["bm25"] * 4 + ["ours"] * 4,
    ...         "query": ["a", "b", "c", "d"] * 2,
    ...         "ap": [0.25, 0.5, 0.5, 0.75, 0.5, 0.75, 0.5, 1.0],
    ...     }
    ... )
    >>> curve = power_curve(per_query, "ap", queries=[34], difference=0.0625)
    >>> drawn = sample_size_curves(curve).data
    >>> drawn.select("queries", pl.col("power").round(4), "at_hand", "label")
    shape: (2, 4)
    ┌─────────┬────────┬─────────┬───────────────────┐
    │ queries ┆ power  ┆ at_hand ┆ label             │
    │ ---     ┆ ---    ┆ ---     ┆ ---               │
    │ u64     ┆ f64    ┆ bool    ┆ str               │
    ╞═════════╪════════╪═════════╪═══════════════════╡
    │ 4       ┆ 0.1113 ┆ true    ┆ null              │
    │ 34      ┆ 0.8078 ┆ false   ┆ average precision │
    └─────────┴────────┴─────────┴───────────────────┘
    """
    power = check_number("power", power, above=0, below=1)
    curve = check_collected("curve", curve)
    units = next((name for name in UNITS if name in curve.columns), "queries")
    options: dict[str, Any] = {"positions": [units], "panel": panel}
    look: dict[str, Any] = {}
    if "tau" in curve.columns:
        table = chart_rows.build_result_rows(
            "curve", curve, "tau", "tau_low", "tau_high", **options
        )
        lowest: Any = table.select("tau", "tau_low").min_horizontal().min()
        ends, level = (
            (min(0.9, math.floor(10 * lowest) / 10), 1.0),
            chart_rows.find_confidence(table),
        )
        share = "most" if level is None else format_percent(level)
        n: Any = table[units].max()
        headline = f"How closely fewer {units} order strategies as all {n:,g} do"
        note = f"line: mean of samples; band: {share} of samples"
        y = alt.Y("tau:Q", title=f"τ to the order from all {units}", **axes.bound_axis(ends))
        look = {"band": ("tau_low", "tau_high"), "tooltips": axes.format_decimals("tau")}
    else:
        numbers = ["power", "difference"]
        options["positions"] = [units, "at_hand"]
        table = chart_rows.build_result_rows("curve", curve, *numbers, **options)
        table, ends = table.with_columns(pl.col("at_hand").cast(pl.Boolean)), (0.0, 1.0)
        amounts = table.filter("at_hand")["difference"].drop_nulls().to_list()
        headline = f"Power to find {titles.write_target(amounts)}"
        note = f"● the {UNITS[units]} at hand; dashed: power {power:g}"
        y = alt.Y("power:Q", title="power", **axes.bound_axis(ends))
        at_hand = alt.Chart().transform_filter("datum.at_hand")
        at_hand = style.draw_dots(at_hand, 90).encode(x=alt.X(f"{units}:Q"), y=alt.Y("power:Q"))
        dashed = style.draw_rule("y", "power", power, style.DOUBT, strokeDash=IDEAL_DASH)
        look = {"under": [dashed, at_hand], "tooltips": axes.format_decimals(*numbers)}
    table = _thin_lines(table, units)
    highest: Any = table[units].max()
    x_axis = axes.bound_axis((0, highest), format=",d", tickMinStep=1)
    measures = table["measure"].unique(maintain_order=True).to_list()
    return lines.draw_lines(
        table,
        panel,
        headline,
        [note],
        x=alt.X(f"{units}:Q", title=UNITS[units], **x_axis),
        y=y,
        ends=ends,
        names=measures,
        best=measures,
        title="measure",
        field="measure",
        **look,
    )


def _thin_lines(table: pl.DataFrame, position: str) -> pl.DataFrame:
    """Sort the rows by line and position; drop positions if there are many."""
    keys = ["panel", "measure"] if "panel" in table.columns else ["measure"]
    chart_rows.check_unique("curve", table, [*keys, position], f"number of {position} of a line")
    first_row = pl.col("row").min().over(keys)
    table = table.with_row_index("row").sort(first_row, position).drop("row")
    return curve_rows.thin_by_position(table, position)
