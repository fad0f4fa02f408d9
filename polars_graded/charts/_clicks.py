"""A chart of clicks by rank."""

from __future__ import annotations

from typing import Any

import altair as alt

from polars_graded._checks import check_collected, check_column_name, check_columns
from polars_graded._drawing import axes, chart_rows, curve_rows, panels, style
from polars_graded._drawing.chart_rows import Frame
from polars_graded._drawing.panels import Chart
from polars_graded._frames.arguments import Columns
from polars_graded._measuring.keywords import checks_keywords
from polars_graded._sentences import format_count, format_percent

ENDS = ("ci_low", "ci_high")
"""Columns of the lower and upper ends of intervals."""


@checks_keywords
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
        "clicks", clicks, "click_rate", *ENDS, texts=(), positions=positions, panel=panel
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
    base, interval = axes.add_interval(alt.Chart(), *ENDS)
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
