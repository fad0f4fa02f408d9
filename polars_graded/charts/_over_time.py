"""Lines of means over time, for summaries by date, week, month or quarter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import polars as pl

from polars_graded._drawing import axis_ends, chart_checks, chart_rows, lines, style
from polars_graded._drawing.style import Chart
from polars_graded._frames.arguments import Columns
from polars_graded._results.keys import collect_column_names
from polars_graded._sentences import format_percent, titles

MAX_DATES = 10
"""Maximum number of dates that are labels of an axis. Of more dates, Vega chooses the labels."""

PERIOD = r"^\d{4}-(\d{2}(-\d{2})?|W\d{2}|Q\d)$"
"""Texts of periods that sort in the order of time: months, days, weeks and quarters."""


def find_time(summary: pl.DataFrame, strategy: str, panel: Columns | None) -> str | None:
    """Return the first column of segments that contains several dates or periods.

    A column of panels is left out.
    """
    segments = chart_rows.find_segments(summary, strategy)
    others = [name for name in segments if name not in collect_column_names(panel)]
    return next((name for name in others if _has_times(summary[name])), None)


def _has_times(values: pl.Series) -> bool:
    """Return whether all values are dates, or texts of periods, and at least two differ."""
    if values.has_nulls() or values.n_unique() == 1:
        return False
    if isinstance(values.dtype, pl.Date | pl.Datetime):
        return True
    is_text = isinstance(values.dtype, pl.String | pl.Categorical | pl.Enum)
    return is_text and values.cast(pl.String).str.contains(PERIOD).all()


def draw_over_time(
    summary: pl.DataFrame,
    time: str,
    *,
    strategy: str,
    panel: Columns | None,
    colours: Mapping[str, str] | None,
    highlight: Any,
) -> Chart:
    """Draw the mean of each strategy as a line over the times in a column."""
    keys: dict[str, Any] = {"strategy": strategy, "panel": panel, "along": time}
    table = chart_rows.build_result_rows("summary", summary, "mean", **keys, draws_each_row=True)
    has_panels = chart_rows.has_panels(table)
    # The order of panels is that of their first rows.
    table = table.sort(time, maintain_order=True)
    line = ["panel" if "panel" in table.columns else "measure", "strategy"]
    chart_checks.check_lines("summary", table, line, time)
    title = style.write_mean_title(table)
    names = table["strategy"].unique().to_list()
    has_intervals = {"ci_low", "ci_high"} <= {*table.columns} and table["ci_low"].count() > 0
    are_shown = has_intervals and (len(names) <= lines.MAX_BANDS or highlight is not None)
    drawn = table.select("mean", "ci_low", "ci_high") if are_shown else table.select("mean")
    ends = axis_ends.choose_ends(pl.concat(drawn.get_columns()).drop_nulls(), 10)
    sharing = style.choose_panel_axis(table)
    # Panels of several measures have values of different sizes.
    y = style.bound_axis(ends) if sharing == "shared" else {"scale": alt.Scale(zero=False)}
    facts = chart_rows.collect_title_facts(table)
    what = "Mean" if len(facts.measures) == 1 else "Means"
    headline = f"{titles.title_strategies(what, facts)} by {time}"
    notes = titles.write_subtitle(facts)
    if has_intervals:
        level = "" if facts.confidence is None else f"{format_percent(facts.confidence)} "
        where = ", at the pointer" if len(names) > lines.MAX_BANDS else ""
        notes = [*notes, f"band: {level}interval{where}"]
    described = f"{title} by {time}, {len(names)} strategies"
    chart = lines.draw_lines(
        table,
        panel,
        style.Words(headline, notes, described),
        x=_build_time_axis(table, time),
        y=alt.Y("mean:Q", title=title, **y),
        ends=ends,
        names=names,
        best=lines.find_best_lines(table, time, "mean"),
        title=strategy,
        band=("ci_low", "ci_high") if has_intervals else None,
        tooltips=style.format_decimals("mean"),
        colours=colours,
        highlight=highlight,
    )
    return chart.resolve_scale(y=sharing) if has_panels else chart


def _build_time_axis(table: pl.DataFrame, time: str) -> alt.X:
    """Return the axis of dates, or of periods in their order."""
    times = table[time].unique().sort()
    look: dict[str, Any] = {"labelOverlap": "greedy"}
    if times.dtype == pl.String:
        axis = style.order_axis(times.to_list(), labelAngle=-40, **look)
        return alt.X(f"{time}:O", title=time, **axis)
    if times.dtype == pl.Date and len(times) <= MAX_DATES:
        look["values"] = [alt.DateTime(year=d.year, month=d.month, date=d.day) for d in times]
        look["format"] = "%b %d"
    axis = {"axis": alt.Axis(**look, **style.UNFLUSHED_LABELS)}
    return alt.X(f"{time}:T", title=time, scale=alt.Scale(nice=False), **axis)
