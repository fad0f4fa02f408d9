"""Charts of the relevance function φ, and of distributions of a measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import altair as alt
import polars as pl

from polars_graded._checks import check_choice, check_collected, check_columns, check_number
from polars_graded._drawing import chart_checks, chart_rows, curve_rows, lines, style
from polars_graded._drawing.chart_rows import Frame
from polars_graded._drawing.style import Chart
from polars_graded._frames.arguments import Columns
from polars_graded._frames.sorting import sort_naturally
from polars_graded._measuring.keywords import checks_keywords
from polars_graded._measuring.phi import ControlPoints, phi_control_points, phi_curve
from polars_graded._sentences import format_count, shorten_name, titles
from polars_graded.namespace import graded

MIN_NAME_POSITION = 0.25
"""Minimum position of a control point whose name is drawn to the left of the point.

The lowest control point has the position 0, and the highest has the position 1.
"""

QUANTILES = {"q5": 0.05, "q25": 0.25, "median": 0.5, "q75": 0.75, "q95": 0.95}
"""Columns of the drawn quantiles."""

BANDS = {("q5", "q95"): 0.25, ("q25", "q75"): 0.55}
"""Ends of the bands of quantiles, and their opacity."""


@checks_keywords
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
    frame = check_collected("frame", frame)
    frame, panel = chart_rows.join_panel_columns("frame", frame, panel)
    keys = {} if panel is None else {"panel": panel}
    check_columns("frame", [*keys.values(), score], frame.columns)
    chart_checks.check_numbers("frame", frame, [score])
    # Errors about φ contain the name of the column of scores, so the column keeps its name if
    # possible. It is renamed only if the tables below have another column with this name.
    axis_name = f"score {score}" if score in {"panel", "relevance", "name"} else score
    scores = frame.select(
        *chart_rows.build_name_columns(keys), pl.col(score).alias(axis_name)
    ).drop_nulls(axis_name)
    if scores.is_empty():
        msg = f"`frame` must have a score in {score!r}, got none"
        raise ValueError(msg)
    chart_checks.check_panels(scores, panel)
    max_points = max(
        2, chart_checks.MAX_DRAWN_ROWS // 3 // (scores["panel"].n_unique() if panel else 1)
    )
    phi_options: dict[str, Any] = {"control_points": control_points, "whisker": whisker}
    phi = graded(axis_name).phi_relevance(**phi_options)
    relevances = scores.with_columns(relevance=phi.over("panel") if panel else phi)
    phi_options["query"] = "panel" if panel else None
    points = phi_control_points(scores, axis_name, **phi_options)
    # Control points that the caller passes have no names.
    is_custom = control_points is not None
    name = pl.lit(None, pl.String).alias("name") if is_custom else _name_points([*keys])
    rows_by_part = {
        "φ": phi_curve(scores, axis_name, points=min(200, max_points), **phi_options),
        "score": curve_rows.thin_by_value(relevances, axis_name, max_points, [*keys]),
        "control point": points.with_columns(name),
    }
    score_column = pl.col(axis_name).cast(pl.Float64).alias("score")
    parts = [
        rows.select(*keys, pl.lit(part).alias("part"), score_column, "relevance", "^name$")
        for part, rows in rows_by_part.items()
    ]
    table = pl.concat(parts, how="diagonal")
    values = relevances[axis_name].cast(pl.Float64)
    amounts, constant = style.build_amounts_axis(values, scale)
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
    notes = _note_undefined(relevances, [*keys])
    if table["name"].count():
        layers += _draw_names(table, constant)
        # With many ties, the median is the highest value.
        notes.append("1 at the highest value, 0 at lower values up to the median")
    if "whisker" in rows_by_part["control point"]["name"]:
        notes.append("whisker: the highest value that is no outlier")
    headline = (
        f"Relevance φ of {format_count(relevances.height, 'values')} of {shorten_name(score)}"
    )
    words = style.Words(headline, notes, f"relevance φ by {score}")
    return style.draw_panels(layers, table, panel, words, "independent", encoding=shared)


def _draw_names(table: pl.DataFrame, constant: float | None) -> list[alt.Chart]:
    """Draw the names of the control points.

    The line rises, so that a name to the upper left of its point does not cover the line. If the
    point is near the left edge, the name begins at its point.
    """
    points = alt.Chart().transform_joinaggregate(groupby=[], low="min(score)", high="max(score)")
    amount = f"(({{0}} < 0 ? -1 : 1) * log(1 + abs({{0}}) / {constant}))" if constant else "({0})"
    low, high, at = (amount.format(f"datum.{name}") for name in ("low", "high", "score"))
    side = f"({at} - {low} < {MIN_NAME_POSITION} * ({high} - {low}) ? 1 : -1)"
    # The lowest score gets no name, since it would overlap the ticks.
    points = points.transform_filter("datum.name !== 'lowest'")
    labelled = ["highest", "whisker", "median"]
    position = {"x": "score", "y": "relevance", "label": "name"}
    return lines.draw_point_names(
        points,
        **position,
        side=side,
        ends=(0.0, 1.0),
        field="name",
        labelled=labelled,
        table=table,
        rise=13,
    )


def _note_undefined(relevances: pl.DataFrame, keys: list[str]) -> list[str]:
    """Write a note if φ is undefined."""
    groups = relevances.partition_by(keys) if keys else [relevances]
    n = sum(rows["relevance"].is_null().all() for rows in groups)
    where = f" in {format_count(n, 'panels')}" if keys else ""
    return [f"φ is undefined{where}: all values are the same"] if n else []


def _name_points(keys: Sequence[str]) -> pl.Expr:
    """Return an expression that names control points.

    The rows must be in ascending order of the scores.
    """
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
    return (name.over(keys) if keys else name).alias("name")


@checks_keywords
def sample_quantiles(
    frame: Frame,
    value: str,
    *,
    group: str = "strategy",
    reference: str | float | None = None,
    panel: Columns | None = None,
    scale: Literal["linear", "symlog"] | None = None,
    colours: Mapping[str, str] | None = None,
    highlight: Any = None,
) -> Chart:
    """Draw the distribution of a measure in each group as a strip of quantiles.

    A mark shows the median. The inner band contains the middle half of the values, and the outer
    band contains the middle 90 %. The group with the highest median is at the top. With panels, a
    group has a median in each panel, and the groups are sorted by the mean of these medians. The
    quantiles serve the same purpose as the boxes of Moniz, Torgo and Vinagre (2016), figure 2.

    Parameters
    ----------
    frame
        One row per sample, as `experiments.popularity_scenarios` or `evaluate` returns it.
    value
        The column of the measure.
    group
        The column of groups; each group gets a strip.
    reference
        A column, a number or None. A diamond in each strip shows the number, or the mean of the
        column in the group. With None, there is no diamond.
    panel
        The columns of panels. With None, there are no panels.
    scale
        The scale of the axis of values: `"linear"`, or `"symlog"`, which spreads low values. The
        default is `"symlog"` if the highest value is more than 10 times the median of the values
        other than 0, else `"linear"`.
    colours, highlight
        As for `dcg_curves`, for groups.

    Returns
    -------
    LayerChart or FacetChart
        A row is a strip, with `group`, `samples`, `q5`, `q25`, `median`, `q75` and `q95`. It has
        `reference` if one is drawn, and `panel` if panels are drawn.

    Examples
    --------
    >>> samples = pl.DataFrame({"strategy": "ours", "ap": [0.5, 0.5, 0.75, 1.0, 1.0]})
    >>> sample_quantiles(samples, "ap").data.select("group", "q25", "median", "q75")
    shape: (1, 4)
    ┌───────┬─────┬────────┬─────┐
    │ group ┆ q25 ┆ median ┆ q75 │
    │ ---   ┆ --- ┆ ---    ┆ --- │
    │ str   ┆ f64 ┆ f64    ┆ f64 │
    ╞═══════╪═════╪════════╪═════╡
    │ ours  ┆ 0.5 ┆ 0.75   ┆ 1.0 │
    └───────┴─────┴────────┴─────┘
    """
    if scale is not None:
        check_choice("scale", scale, ("linear", "symlog"))
    frame = chart_rows.collect_one_grader("frame", frame, group, panel)
    frame, panel = chart_rows.join_panel_columns("frame", frame, panel)
    keys = {"group": group} if panel is None else {"panel": panel, "group": group}
    reference_column, reference_name = {}, ""
    if isinstance(reference, str):
        reference_column = {"reference": reference}
        reference_name = f"mean {titles.name_measure(reference)}"
    samples = chart_rows.build_query_rows(frame, keys, {"value": value}, reference_column)
    mean = pl.col("reference").mean()
    if reference is not None and not isinstance(reference, str):
        number = check_number("reference", reference)
        mean, reference_name = pl.lit(number).alias("reference"), f"{number:g}"
    values = pl.col("value")
    table = samples.group_by([*keys], maintain_order=True).agg(
        pl.len().alias("samples"),
        *(values.quantile(q, "linear").alias(name) for name, q in QUANTILES.items()),
        *([] if reference is None else [mean]),
    )
    chart_checks.check_row_count("frame", table)
    medians = table.group_by("group").agg(pl.col("median").mean())
    medians = medians.sort("median", "group", descending=[True, False])
    groups = medians["group"].to_list()
    drawn = pl.concat([table[name] for name in table.columns if name in {*QUANTILES, "reference"}])
    amounts, constant = style.build_amounts_axis(drawn, scale, samples["value"])
    marks = ["mark: median", "bands: middle 50 %, 90 %"]
    marks += [] if reference is None else [f"diamond: {reference_name}"]
    name = titles.name_measure(value)
    title = [f"{name} (symlog scale)" if constant else name]
    title += marks if panel else ["; ".join(marks)]
    x = alt.X("median:Q", title=title, **amounts)
    color = style.encode_names(
        sort_naturally(groups),
        group,
        field="group",
        prioritised=groups,
        colours=colours,
        highlight=highlight,
    )
    shared = alt.Encoding(x=x, y=style.build_names_axis("group", groups, group), color=color)
    tooltip = style.list_tooltips("group:N", "samples:Q", *style.format_decimals(*QUANTILES))
    base = alt.Chart().encode(y=alt.Y("group:N"), tooltip=tooltip)
    layers = [
        base.mark_bar(opacity=opacity, height={"band": 0.6}).encode(x=alt.X(f"{low}:Q"), x2=high)
        for (low, high), opacity in BANDS.items()
    ]
    middle = base.mark_tick(orient="vertical", height={"band": 0.8}, thickness=3)
    layers.append(middle.encode(x=alt.X("median:Q")))
    if reference is not None:
        diamond = base.mark_point(filled=True, opacity=1, size=50, shape="diamond")
        diamond = diamond.encode(x=alt.X("reference:Q"), color=style.draw_ink())
        layers.append(diamond)
    counts = table["samples"].unique().sort().to_list()
    count = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    group_word = "strategies" if group == "strategy" else f"values of {group}"
    headline = f"Distribution of {name}, {format_count(len(groups), group_word)}"
    notes = [f"{count} values per {group}", *style.write_rest_note(groups, "lower medians")]
    words = style.Words(headline, notes, style.list_values(f"median {value}", medians.rows()))
    step = min(36, style.compute_name_step(len(groups)))
    return style.draw_panels(layers, table, panel, words, encoding=shared, height=alt.Step(step))
