"""Charts of recommendations beyond accuracy: trade-offs, and concentration on few items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import polars as pl

from polars_graded._drawing import chart_checks, chart_rows, curve_rows, lines, style
from polars_graded._drawing.chart_rows import Frame
from polars_graded._drawing.style import Chart
from polars_graded._sentences import format_count, format_percent, shorten_name, titles

NAME_SPACE = 8
"""Horizontal distance between a point and its name, in pixels."""

MAX_NAMED_POINTS = 6
"""Maximum number of strategies with names beside their points."""


def trade_off(
    summary: Frame, x: str, y: str, *, panel: str | None = None, strategy: str = "strategy"
) -> Chart:
    """Draw one measure against another, one point per strategy with both intervals.

    Usually one measure is accuracy and the other is diversity or coverage. If high values of both
    measures are best, a strategy above and to the right of another is better by both. If low values
    of a measure are best, as for `gini_index`, the better strategy is further left or further down.

    Parameters
    ----------
    summary
        One row per measure and strategy, as `summarise` and `catalogue` return it.
        `pl.concat([...], how="diagonal")` stacks the frames of both functions. Intervals are drawn
        if the frame has the columns `ci_low` and `ci_high`.
    x, y
        The two measures to draw, named as in the column `measure`.
    panel
        The column of panels, such as a column of segments. By default, there are no panels.
    strategy
        The column of strategies.

    Returns
    -------
    LayerChart or FacetChart
        The rows contain `strategy`, `x` and `y`. They contain `x_low`, `x_high`, `y_low` and
        `y_high` if intervals are drawn, and `panel` if panels are drawn. A strategy that lacks one
        of the two measures is left out. The axes fit the points and need not start at 0.

    See Also
    --------
    strategy_bars : The means of any number of measures, side by side.

    Examples
    --------
    >>> summary = pl.DataFrame(
    ...     {
    ...         "measure": ["ndcg@10", "ndcg@10", "diversity@10", "diversity@10"],
    ...         "strategy": ["popular", "ours"] * 2,
    ...         "mean": [0.25, 0.5, 0.75, 0.5],
    ...     }
    ... )
    >>> trade_off(summary, "diversity@10", "ndcg@10").data
    shape: (2, 3)
    ┌──────────┬──────┬──────┐
    │ strategy ┆ x    ┆ y    │
    │ ---      ┆ ---  ┆ ---  │
    │ str      ┆ f64  ┆ f64  │
    ╞══════════╪══════╪══════╡
    │ ours     ┆ 0.5  ┆ 0.5  │
    │ popular  ┆ 0.75 ┆ 0.25 │
    └──────────┴──────┴──────┘
    """
    rows = chart_rows.build_result_rows("summary", summary, "mean", strategy=strategy, panel=panel)
    x, y = chart_rows.format_names([x, y])
    keys = ["strategy"] if panel is None else ["panel", "strategy"]
    has_intervals = {"ci_low", "ci_high"} <= {*rows.columns}
    ends = ["ci_low", "ci_high"] if has_intervals else []
    sides = [
        _select_measure(rows, each, side, [*keys, *ends]) for side, each in (("x", x), ("y", y))
    ]
    if rows.filter(pl.col("measure").is_in([x, y])).select(*keys, "measure").is_duplicated().any():
        msg = (
            "`summary` must have each strategy once for each measure; `panel` names the column "
            "that distinguishes repeated rows"
        )
        raise ValueError(msg)
    table = sides[0].join(sides[1], on=keys).sort(keys)
    chart_checks.check_not_empty("summary", table, x, y)
    chart_checks.check_row_count("summary", table)
    names = table["strategy"].unique().to_list()
    # Names beside many points would overlap, so these names are in a legend.
    is_named = len(names) <= MAX_NAMED_POINTS
    highest_first = table.sort("y", descending=True)["strategy"].unique(maintain_order=True)
    colours = (
        style.choose_few_colours(names, strategy)
        if is_named
        else style.choose_look(names, strategy, prioritised=highest_first)
    )
    axis_options: dict[str, Any] = {
        side: {
            "title": each,
            "scale": alt.Scale(zero=False, padding=20),
            "axis": alt.Axis(**style.UNFLUSHED_LABELS),
        }
        for side, each in (("x", x), ("y", y))
    }
    position: dict[str, Any] = {
        "x": alt.X("x:Q", **axis_options["x"]),
        "y": alt.Y("y:Q", **axis_options["y"]),
    }
    base = alt.Chart().encode(**colours)
    layers = []
    if has_intervals:
        horizontal: dict[str, Any] = {
            "x": alt.X("x_low:Q", **axis_options["x"]),
            "x2": "x_high:Q",
            "y": position["y"],
        }
        vertical: dict[str, Any] = {
            "x": position["x"],
            "y": alt.Y("y_low:Q", **axis_options["y"]),
            "y2": "y_high:Q",
        }
        layers = [base.mark_rule(opacity=0.6).encode(**each) for each in (horizontal, vertical)]
    numbers = style.format_decimals(*(name for name in table.columns if name not in keys))
    tooltip = style.list_tooltips("strategy:N", *numbers)
    layers.append(style.draw_dots(base, 70).encode(**position, tooltip=tooltip))
    if is_named:
        label = style.write_short_label("datum.strategy", names)
        text = base.transform_calculate(name=label).mark_text(
            align="left", baseline="bottom", dx=NAME_SPACE, dy=-NAME_SPACE / 2
        )
        layers.append(text.encode(**position, text="name:N"))
    drawn_rows = rows.filter(pl.col("measure").is_in([x, y]))
    facts = chart_rows.collect_title_facts(drawn_rows)
    notes = [counted] if (counted := titles.count_queries(facts)) else []
    measures = f"{shorten_name(y)} against {shorten_name(x)}"
    headline = f"{measures} of {format_count(len(names), 'strategies')}"
    if has_intervals:
        confidence = "" if facts.confidence is None else f"{format_percent(facts.confidence)} "
        headline = f"{headline}, {confidence}intervals"
        notes.append("lines: interval of each value alone")
    notes += [] if is_named else style.write_rest_note(names, f"lower {shorten_name(y)}")
    words = style.Words(headline, notes, f"{y} against {x}: {len(names)} strategies")
    return style.draw_panels(layers, table, panel, words)


def _select_measure(
    rows: pl.DataFrame, measure: str, side: str, columns: list[str]
) -> pl.DataFrame:
    """Return the values of a measure in columns named after the axis `side`."""
    values = rows.filter(measure=measure)
    if values.is_empty():
        names = rows["measure"].unique(maintain_order=True).to_list()
        msg = f"`{side}` must be a measure of `summary`, one of {', '.join(names)}, got {measure!r}"
        raise ValueError(msg)
    ends = {"mean": side, "ci_low": f"{side}_low", "ci_high": f"{side}_high"}
    return values.select(
        pl.col(name).alias(ends.get(name, name)) for name in dict.fromkeys([*columns, "mean"])
    )


def catalogue_curves(
    curve: Frame,
    *,
    panel: str | None = None,
    strategy: str = "strategy",
    colours: Mapping[str, str] | None = None,
    highlight: Any = None,
) -> Chart:
    """Draw the Lorenz curve of recommendations, one line per strategy.

    The items of the catalogue are sorted, the least recommended first. A point of a line states how
    many recommendations the first items get. If x is 80 % and y is 30 %, the first 80 % of the
    items get 30 % of all recommendations. On the diagonal all items are recommended equally often.
    A line far below the diagonal belongs to a strategy that recommends mainly a few items, such as
    the most popular ones.

    Parameters
    ----------
    curve
        One row per strategy and point, as `catalogue_curve` returns it.
    panel
        The column of panels. By default, there are no panels.
    strategy
        The column of strategies.
    colours, highlight
        As for `dcg_curves`.

    Returns
    -------
    LayerChart or FacetChart
        The rows contain `strategy`, `items` and `recommendations`, and `panel` if panels are drawn,
        or else `label`, the name at the line.

    See Also
    --------
    trade_off : One measure against another, such as accuracy against the Gini index.

    Examples
    --------
    >>> from polars_graded import catalogue_curve
    >>> run = pl.DataFrame({"query": [1, 1, 2], "doc": ["x", "y", "x"], "score": [2.0, 1.0, 2.0]})
    >>> curve = catalogue_curve(run, items=pl.DataFrame({"doc": ["v", "w", "x", "y"]}))
    >>> curve.pipe(catalogue_curves).data.drop("label")
    shape: (4, 3)
    ┌──────────┬───────┬─────────────────┐
    │ strategy ┆ items ┆ recommendations │
    │ ---      ┆ ---   ┆ ---             │
    │ str      ┆ f64   ┆ f64             │
    ╞══════════╪═══════╪═════════════════╡
    │ score    ┆ 0.0   ┆ 0.0             │
    │ score    ┆ 0.5   ┆ 0.0             │
    │ score    ┆ 0.75  ┆ 0.333333        │
    │ score    ┆ 1.0   ┆ 1.0             │
    └──────────┴───────┴─────────────────┘
    """
    frame = chart_rows.collect_one_grader("curve", curve, panel, strategy)
    names = {"strategy": strategy} | ({} if panel is None else {"panel": panel})
    numbers = {"items": "items", "recommendations": "recommendations"}
    table = frame.select(chart_rows.build_columns("curve", frame, names, numbers))
    table = table.drop_nulls([*numbers])
    chart_checks.check_not_empty("curve", table, *numbers)
    chart_checks.check_panels(table, panel)
    groups = [*names]
    chart_checks.check_lines("curve", table, groups, "items")
    n_lines = table.n_unique(groups)
    table = table.sort(*groups, "items", "recommendations")
    table = curve_rows.thin_by_value(table, "items", curve_rows.compute_max_points(n_lines), groups)
    highest_first = lines.find_best_lines(table, None, "recommendations")
    axis = style.bound_axis((0, 1), labelExpr=style.PERCENT_LABEL, tickCount=5)
    x = alt.X("items:Q", title="share of the items, least recommended first", **axis)
    y = alt.Y("recommendations:Q", title="share of the recommendations", **axis)
    panels = f", {n:,} panels" if panel and (n := table["panel"].n_unique()) > 1 else ""
    n_strategies = format_count(len(highest_first), "strategies")
    headline = f"Lorenz curves of {n_strategies}{panels}"
    notes = ["straight line: all items are recommended equally often"]
    return lines.draw_lines(
        table,
        panel,
        style.Words(headline, notes, f"{y['title']} by {x['title']}, {n_strategies}"),
        x=x,
        y=y,
        ends=(0.0, 1.0),
        names=highest_first,
        best=highest_first,
        title=strategy,
        tooltips=style.format_decimals("recommendations"),
        under=[_draw_equality()],
        colours=colours,
        highlight=highlight,
    )


def _draw_equality() -> alt.Chart:
    """Draw the Lorenz curve of items that are all recommended equally often."""
    corners = style.build_one_row().transform_calculate(items="[0, 1]").transform_flatten(["items"])
    line = corners.transform_calculate(recommendations="datum.items").mark_line(strokeWidth=1)
    x, y = alt.X("items:Q"), alt.Y("recommendations:Q")
    return line.encode(x=x, y=y, color=alt.value("gray"))
