"""Chart of the relevance function φ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import altair as alt
import polars as pl

from polars_graded._checks import check_choice, check_columns
from polars_graded._drawing import chart_rows, panels, style
from polars_graded._drawing.panels import Chart
from polars_graded._frames.arguments import Columns
from polars_graded._frames.tables import Frame
from polars_graded._measuring.keywords import checks_call
from polars_graded._measuring.phi import ControlPoints, phi_control_points, phi_curve
from polars_graded._sentences import format_count, shorten_name
from polars_graded.namespace import graded

MIN_TAIL_RATIO = 10
"""Ratio of the highest value to the median above which a distribution has a heavy tail."""

MIN_NAME_POSITION = 0.25
"""Minimum position of a control point whose name is drawn to the left of the point.

The lowest control point has the position 0, and the highest has the position 1.
"""

LEFT_NAMES = ("'left'", "'right'"), ("8", "-8")
"""Alignment and offset in pixels of a name near the left edge, and of other names."""


@checks_call
def relevance_function(
    frame: Frame,
    score: str,
    *,
    panel: Columns | None = None,
    control_points: ControlPoints | None = None,
    whisker: float = 1.5,
    scale: Literal["linear", "symlog"] | None = None,
) -> Chart:
    """Draw the relevance function φ, its control points, and the scores.

    Source: Moniz, Torgo and Vinagre (2016), figure 1.

    Parameters
    ----------
    frame
        One row per score.
    score
        The column of scores.
    panel
        The columns of queries. Each query has its own φ and its own panel. With None, all rows are
        one query.
    control_points, whisker
        As in `Graded.phi_relevance`.
    scale
        The scale of the axis of scores: `"linear"`, or `"symlog"`, which spreads low scores. The
        default is `"symlog"` if the highest score is more than 10 times the median of the scores
        other than 0, else `"linear"`.

    Returns
    -------
    LayerChart or FacetChart
        The rows contain `part` (`φ`, `score` or `control point`), `score`, `relevance`, `name`, and
        `panel` if panels are drawn. `name` is the name of a control point, null if you pass
        `control_points`. If there are too many scores, only some are drawn: they are evenly spaced
        in the sorted scores, and include the lowest and the highest. NaN and infinity raise an
        error.

    Examples
    --------
    >>> news = pl.DataFrame({"tweets": [10, 15, 20, 30, 100]})
    >>> relevance_function(news, "tweets").data.filter(part="control point").drop("part")
    shape: (4, 3)
    ┌───────┬───────────┬─────────┐
    │ score ┆ relevance ┆ name    │
    │ ---   ┆ ---       ┆ ---     │
    │ f64   ┆ f64       ┆ str     │
    ╞═══════╪═══════════╪═════════╡
    │ 10.0  ┆ 0.0       ┆ lowest  │
    │ 20.0  ┆ 0.0       ┆ median  │
    │ 30.0  ┆ 0.222222  ┆ whisker │
    │ 100.0 ┆ 1.0       ┆ highest │
    └───────┴───────────┴─────────┘
    """
    if scale is not None:
        check_choice("scale", scale, ("linear", "symlog"))
    frame, panel = chart_rows.join_panel_columns("frame", frame, panel)
    check_columns("frame", [score] if panel is None else [panel, score], frame.columns)
    chart_rows.check_drawn_numbers("frame", frame, [score])
    # Errors about φ contain the name of the column of scores, so the column keeps its name if
    # possible. It is renamed only if the tables below have another column with this name.
    axis_name = f"score {score}" if score in {"panel", "relevance", "name"} else score
    # Without panels, all scores are in one panel without a name.
    panel_name = pl.lit("") if panel is None else chart_rows.build_name_column(panel)
    scores = frame.select(panel_name.alias("panel"), pl.col(score).alias(axis_name))
    scores = scores.drop_nulls(axis_name)
    chart_rows.check_not_empty("frame", scores, score)
    max_points = chart_rows.compute_max_points(3 * scores["panel"].n_unique())
    phi_options: dict[str, Any] = {"control_points": control_points, "whisker": whisker}
    phi = graded(axis_name).phi_relevance(**phi_options).over("panel")
    ordered = scores.with_columns(relevance=phi).sort("panel", axis_name)
    groups = ordered.partition_by("panel", maintain_order=True)
    shown = [rows[chart_rows.choose_equal_steps(rows.height, max_points)] for rows in groups]
    phi_options["query"] = "panel"
    points = phi_control_points(scores, axis_name, **phi_options)
    # Control points that the caller passes have no names.
    name = _name_points() if control_points is None else pl.lit(None, pl.String)
    rows_by_part = {
        "φ": phi_curve(scores, axis_name, points=min(200, max_points), **phi_options),
        "score": pl.concat(shown),
        "control point": points.with_columns(name=name),
    }
    score_column = pl.col(axis_name).cast(pl.Float64).alias("score")
    parts = [
        rows.select("panel", pl.lit(part).alias("part"), score_column, "relevance", "^name$")
        for part, rows in rows_by_part.items()
    ]
    table = pl.concat(parts, how="diagonal")
    table = table.drop("panel") if panel is None else table
    amounts, constant = _build_amounts_axis(scores[axis_name].cast(pl.Float64), scale)
    title = [f"{score} (symlog scale)" if constant else score, "one tick per value"]
    shared = alt.Encoding(
        x=alt.X("score:Q", title=title, **amounts),
        y=alt.Y("relevance:Q", title="relevance φ", scale=alt.Scale(domain=[0, 1])),
    )
    tooltip = style.list_tooltips("score:Q", *style.format_decimals("relevance"))
    base = alt.Chart().encode(x=alt.X("score:Q"), y=alt.Y("relevance:Q"), tooltip=tooltip)
    line, ticks, controls = (
        base.transform_filter(f"datum.part === '{name}'") for name in rows_by_part
    )
    layers = [
        ticks.mark_tick(orient="vertical", size=10, color=style.REST_COLOUR),
        line.mark_line(),
        style.draw_dots(controls, 80, color=style.TEXT_COLOUR),
    ]
    notes = _note_undefined(groups)
    if table["name"].count():
        layers.append(_draw_point_names(controls, constant))
        # With many ties, the median is the highest value.
        notes.append("1 at the highest value, 0 at lower values up to the median")
    if "whisker" in rows_by_part["control point"]["name"]:
        notes.append("whisker: the highest value that is no outlier")
    n_values = format_count(scores.height, "values")
    headline = f"Relevance φ of {n_values} of {shorten_name(score)}"
    return panels.draw_panels(layers, table, panel, headline, notes, "independent", encoding=shared)


def _draw_point_names(controls: alt.Chart, constant: float | None) -> alt.Chart:
    """Draw the names of the control points.

    The line rises, so that a name to the upper left of its point does not cover the line. If the
    point is near the left edge, the name begins at its point.
    """
    points = controls.transform_joinaggregate(groupby=[], low="min(score)", high="max(score)")
    # The lowest score gets no name, since it would overlap the ticks.
    points = points.transform_filter("isValid(datum.name) && datum.name !== 'lowest'")
    amount = f"(({{0}} < 0 ? -1 : 1) * log(1 + abs({{0}}) / {constant}))" if constant else "({0})"
    low, high, at = (amount.format(f"datum.{name}") for name in ("low", "high", "score"))
    is_left = f"{at} - {low} < {MIN_NAME_POSITION} * ({high} - {low})"
    align, dx = (alt.ExprRef(f"{is_left} ? {one} : {other}") for one, other in LEFT_NAMES)
    names = points.mark_text(align=align, dx=dx, dy=-8, clip=False)
    return names.encode(text=alt.Text("name:N"), color=style.draw_ink())


def _build_amounts_axis(
    values: pl.Series, scale: Literal["linear", "symlog"] | None
) -> tuple[dict[str, Any], float | None]:
    """Return an axis of amounts such as 250, 1,000, 10k and 2M, and the constant of symlog.

    Without a `scale`, the axis is a symlog axis if the values have a heavy tail. The constant is
    None on a linear axis.
    """
    label = "abs(datum.value) < 10000 ? format(datum.value, ',') : format(datum.value, '~s')"
    sizes = values.abs().filter(values != 0)
    highest: Any = sizes.max() or 1.0
    median: Any = sizes.median() or 1.0
    if scale == "linear" or (scale is None and highest <= MIN_TAIL_RATIO * median):
        axis = alt.Axis(labelExpr=label, tickCount=6)
        return {"axis": axis, "scale": alt.Scale(zero=False)}, None
    constant = min(1.0, 10.0 ** math.floor(math.log10(median)))
    first, last = (math.floor(math.log10(amount)) for amount in (constant, highest))
    powers = [10.0**power for power in range(first, last + 1)]
    ticks = [*(-power for power in powers), 0.0, *powers]
    low, high = values.min(), values.max()
    ticks = [tick for tick in ticks if low <= tick <= high]  # type: ignore[operator]
    symlog = alt.Scale(type="symlog", constant=constant, zero=False, nice=False)
    return {"axis": alt.Axis(labelExpr=label, values=ticks), "scale": symlog}, constant


def _note_undefined(groups: Sequence[pl.DataFrame]) -> list[str]:
    """Write a note if φ is undefined in some groups of scores."""
    n = sum(rows["relevance"].is_null().all() for rows in groups)
    where = f" in {format_count(n, 'panels')}" if len(groups) > 1 else ""
    return [f"φ is undefined{where}: all values are the same"] if n else []


def _name_points() -> pl.Expr:
    """Return an expression that names the control points of panels, in the order of scores."""
    is_last, is_zero = pl.int_range(pl.len()) == pl.len() - 1, pl.col("relevance") == 0
    name = (
        pl.when(is_last)
        .then(pl.lit("highest"))
        .when(~is_zero)
        .then(pl.lit("whisker"))
        .when(pl.int_range(pl.len()) == (is_zero & ~is_last).sum() - 1)
        .then(pl.lit("median"))
        .otherwise(pl.lit("lowest"))
    )
    return name.over("panel")
