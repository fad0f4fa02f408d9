"""Charts of the relevance function φ, and of distributions of a measure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import altair as alt
import polars as pl

from polars_graded._checks import check_choice, check_collected, check_columns, check_number
from polars_graded._drawing import axis_ends, bins, chart_checks, chart_rows, curve_rows, style
from polars_graded._drawing.chart_rows import Frame
from polars_graded._drawing.style import Chart
from polars_graded._measuring.phi import ControlPoints, phi_control_points, phi_curve
from polars_graded._results.per_query import sort_naturally
from polars_graded._sentences import format_count, shorten_name, titles
from polars_graded.namespace import graded

MIN_NAME_POSITION = 0.17
"""Minimum position of a control point whose name is drawn to the left of the point.

The lowest control point has the position 0, and the highest has the position 1.
"""


def relevance_function(
    frame: Frame,
    score: str,
    *,
    panel: str | None = None,
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
        The column of queries. Each query has its own φ and its own panel. With None, all rows are
        one query.
    control_points, whisker
        As in `Graded.phi_relevance`.
    scale
        The scale of the axis of scores: `"linear"`, or `"symlog"`, which spreads low scores. The
        default is `"symlog"` if the median is above 0 and the highest score is more than 20 times
        the median, else `"linear"`.

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
    median, highest = values.median(), values.max()
    is_skewed = (
        isinstance(median, float) and isinstance(highest, float) and highest > 20 * median > 0
    )
    scale_type = scale or ("symlog" if is_skewed else "linear")
    notes = ["ticks: values; dots: control points"]
    if "whisker" in rows_by_part["control point"]["name"]:
        notes[-1] += "; whisker: the highest value that is no outlier"
    if not is_custom:
        has_tie = not keys and median == highest
        shape = "0 below the median, which is the highest, and 1 at it"
        shape = shape if has_tie else "0 up to the median, 1 at the highest"
        notes.insert(0, f"φ turns {score} into relevance: {shape}")
    notes = _add_undefined(notes, relevances, [*keys])
    ends: Any = (values.min(), highest)
    is_symlog = scale_type == "symlog"
    axis = style.build_amounts_axis(axis_ends.choose_power_ticks(*ends) if is_symlog else None)
    scale_of_scores = alt.Scale(zero=False, type=scale_type, nice=not is_symlog)
    base = alt.Chart().encode(
        x=alt.X(
            "score:Q",
            title=f"{score} (scale: log(1 + x))" if is_symlog else score,
            scale=scale_of_scores,
            axis=axis,
        ),
        y=alt.Y("relevance:Q", title="relevance φ", scale=alt.Scale(domain=[0, 1])),
        tooltip=style.list_tooltips("part:N", "score:Q", *style.format_decimals("relevance")),
    )
    # The colours are constants without a scale, since charts side by side would share a scale.
    line, ticks, controls = (
        base.transform_filter(f"datum.part === '{name}'") for name in rows_by_part
    )
    layers = [
        ticks.mark_tick(orient="vertical", size=10, color=style.REST),
        line.mark_line(),
        style.draw_dots(controls, 80, color=style.find_ink()),
        # If nearly all scores are low, the whisker is near the median. Then the name of the median
        # is placed higher.
        *_draw_names(
            controls, [*keys], is_symlog=is_symlog, rise=28 if is_skewed and not is_symlog else 12
        ),
    ]
    headline = (
        f"Relevance φ of {format_count(relevances.height, 'values')} of {shorten_name(score)}"
    )
    words = style.Words(headline, notes, f"relevance φ by {score}")
    return style.draw_panels(layers, table, panel, words, "independent")


def _draw_names(
    controls: alt.Chart, keys: list[str], *, is_symlog: bool, rise: int
) -> list[alt.Chart]:
    """Draw the name of each control point where the line leaves room.

    The lowest point gets no name, since its name would overlap the name of the median.
    """
    groups: list[Any] = [*keys]
    amount = "(({0} < 0 ? -1 : 1) * log(1 + abs({0})))" if is_symlog else "({0})"
    low, high, score = (amount.format(f"datum.{name}") for name in ("low", "high", "score"))
    points = controls.transform_joinaggregate(groupby=groups, low="min(score)", high="max(score)")
    points = points.transform_calculate(position=f"({score} - {low}) / ({high} - {low})")
    points = points.transform_filter("isValid(datum.name) && datum.name !== 'lowest'")
    # The line rises, so a name fits at the upper left or at the lower right of its point. If the
    # point is near the left edge, a name at the upper left would cover the axis. Such a name begins
    # at its point instead.
    is_beside, is_first = "datum.name === 'whisker'", f"datum.position < {MIN_NAME_POSITION}"
    text_options: dict[str, Any] = {
        "align": alt.ExprRef(f"{is_beside} || {is_first} ? 'left' : 'right'"),
        "dx": alt.ExprRef(f"{is_beside} ? 9 : {is_first} ? -4 : 4"),
        "dy": alt.ExprRef(f"{is_beside} ? 7 : datum.name === 'median' ? -{rise} : -12"),
    }
    ink, paper = style.find_ink_and_paper()
    # Each name has an outline in the colour of the background, which hides the line behind it.
    outline = points.mark_text(**text_options, stroke=paper, strokeWidth=3, color=paper)
    text = points.mark_text(**text_options, color=ink)
    return [layer.encode(text=alt.Text("name:N")) for layer in (outline, text)]


def _add_undefined(notes: list[str], relevances: pl.DataFrame, keys: list[str]) -> list[str]:
    """Return the notes, with one that states where φ is undefined."""
    groups = relevances.partition_by(keys) if keys else [relevances]
    undefined = [rows["relevance"].is_null().all() for rows in groups]
    if all(undefined):
        where = " of a panel" if len(undefined) > 1 else ""
        return [f"φ is undefined: all values{where} are the same"]
    if any(undefined):
        count = format_count(sum(undefined), "panels")
        return [*notes, f"φ is undefined in {count}, whose values are all the same"]
    return notes


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


def _write_headline(value: str, groups: list[str], group: str, table: pl.DataFrame) -> str:
    """Write the title of boxes, with the numbers of groups and of panels."""
    group_word = "strategies" if group == "strategy" else f"values of {group}"
    panels = table["panel"].n_unique() if chart_rows.has_panels(table) else 0
    panel_clause = f" in {panels} panels" if panels else ""
    count = format_count(len(groups), group_word)
    return f"Distribution of {shorten_name(value)}, {count}{panel_clause}"


def sample_boxes(
    frame: Frame,
    value: str,
    *,
    group: str = "strategy",
    reference: str | float | None = None,
    panel: str | None = None,
) -> Chart:
    """Draw the distribution of a measure in each group as a box.

    A box reaches from the lower to the upper quartile and contains a mark at the median. Each
    whisker reaches to the most distant value within 1.5 box lengths of the box. Each value beyond
    the whiskers is a point. The group with the highest median is at the top. With panels, a group
    has a median in each panel, and the groups are sorted by the mean of these medians. Source:
    Moniz, Torgo and Vinagre (2016), figure 2.

    Parameters
    ----------
    frame
        One row per sample, as `experiments.popularity_scenarios` or `evaluate` returns it.
    value
        The column of the measure.
    group
        The column of groups; each group gets a box.
    reference
        A column, a number or None. A line across each box shows the number, or the mean of the
        column in the group. With None, there is no line.
    panel
        A column. Each value of the column gets a panel. With None, there are no panels.

    Returns
    -------
    LayerChart or FacetChart
        A row is a box, or a point beyond the whiskers of a box. All rows contain `group`, and
        `panel` if panels are drawn. The row of a box contains `samples`, `whisker_low`, `q1`,
        `median`, `q3`, `whisker_high` and `reference`, which is null without a reference. The row
        of a point contains `outlier`. If a box has too many points, only some are drawn: they are
        evenly spaced in the sorted points, and include the lowest and the highest.

    Examples
    --------
    >>> samples = pl.DataFrame({"strategy": "ours", "ap": [0.5, 0.5, 0.75, 1.0, 1.0]})
    >>> sample_boxes(samples, "ap", reference=0.7).data.select("group", "q1", "median", "q3")
    shape: (1, 4)
    ┌───────┬─────┬────────┬─────┐
    │ group ┆ q1  ┆ median ┆ q3  │
    │ ---   ┆ --- ┆ ---    ┆ --- │
    │ str   ┆ f64 ┆ f64    ┆ f64 │
    ╞═══════╪═════╪════════╪═════╡
    │ ours  ┆ 0.5 ┆ 0.75   ┆ 1.0 │
    └───────┴─────┴────────┴─────┘
    """
    frame = chart_rows.collect_one_grader("frame", frame, group, panel)
    keys = {"group": group} if panel is None else {"panel": panel, "group": group}
    reference_column = {"reference": reference} if isinstance(reference, str) else {}
    samples = chart_rows.build_query_rows(frame, keys, {"value": value}, reference_column)
    name = f"mean {reference}"
    if not isinstance(reference, str):
        reference_number = None if reference is None else check_number("reference", reference)
        samples = samples.with_columns(pl.lit(reference_number, pl.Float64).alias("reference"))
        name = "" if reference_number is None else f"{reference_number:g}"
    table = bins.build_boxes(samples, list(keys))
    medians = table.drop_nulls("median").group_by("group").agg(pl.col("median").mean())
    order_of_names = {name: index for index, name in enumerate(sort_naturally(medians["group"]))}
    ordered = medians.sort(
        "median", pl.col("group").replace_strict(order_of_names), descending=[True, False]
    )
    groups = ordered["group"].to_list()
    step = min(36, style.compute_name_step(len(groups)))
    ends = axis_ends.choose_ends(pl.concat([samples["value"], table["reference"].drop_nulls()]))
    y = style.build_names_axis("group", groups, group)
    axis = style.bound_axis(ends, zero=False)
    low, q1, q3, median, outlier, line_at = (
        alt.X(f"{name}:Q", title=value, **axis)
        for name in ("whisker_low", "q1", "q3", "median", "outlier", "reference")
    )
    base = alt.Chart().encode(y=y)
    tooltip = style.list_tooltips("group:N", "samples:Q", *style.format_decimals(*bins.BOX))
    box = base.transform_filter("datum.median !== null").encode(tooltip=tooltip)
    upright_options: dict[str, Any] = {"orient": "vertical"}
    middle = box.mark_tick(**upright_options, size=step * 0.6, thickness=4, color=style.find_ink())
    points = base.transform_filter("datum.outlier !== null").mark_point(size=15)
    # The whiskers are thin bars, since bars get the colour of the theme, and rules do not.
    layers = [
        box.mark_bar(size=1.5).encode(x=low, x2=alt.X2("q1:Q")),
        box.mark_bar(size=1.5).encode(x=q3, x2=alt.X2("whisker_high:Q")),
        box.mark_bar(size=step * 0.6, fillOpacity=0.3).encode(x=q1, x2=alt.X2("q3:Q")),
        middle.encode(x=median),
        points.encode(
            x=outlier, tooltip=style.list_tooltips("group:N", *style.format_decimals("outlier"))
        ),
    ]
    if name:
        # Charts side by side share scales. Charts of curves use `opacity` for the legend of the
        # ideal curve, so the legend of the reference uses `fillOpacity`.
        symbol = {"symbolType": "square", "symbolFillColor": "firebrick"}
        lines = style.draw_named_line(alt.FillOpacity, box, name, **symbol)
        lines = lines.mark_tick(**upright_options, size=step * 0.9, thickness=2, color="firebrick")
        layers.append(lines.encode(x=line_at))
    described = style.list_values(f"median {value}", zip(groups, ordered["median"], strict=True))
    notes = titles.write_subtitle(titles.Drawn([value], 0, 0, []), "")
    counts = table["samples"].drop_nulls().unique().sort().to_list() or [0]
    count = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    notes.append(f"{count} values per {group}, sorted by median")
    notes.append("box: quartiles; points: over 1.5 box lengths from it")
    words = style.Words(_write_headline(value, groups, group, table), notes, described)
    return style.draw_panels(layers, table, panel, words, height=alt.Step(step))
