"""Charts of recommendations beyond accuracy: trade-offs, and concentration on few items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import polars as pl

from polars_graded._drawing import axis_ends, chart_checks, chart_rows, curve_rows, lines, style
from polars_graded._drawing.chart_rows import Frame
from polars_graded._drawing.style import Chart
from polars_graded._frames.arguments import Columns
from polars_graded._frames.sorting import sort_naturally
from polars_graded._measuring.keywords import checks_keywords
from polars_graded._sentences import format_count, format_percent, shorten_names, titles


@checks_keywords
def trade_off(
    summary: Frame,
    x: str,
    y: str,
    *,
    panel: Columns | None = None,
    strategy: str = "strategy",
    colours: Mapping[str, str] | None = None,
    highlight: Any = None,
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
        The columns of panels, such as segments. By default, there are no panels.
    strategy
        The column of strategies.
    colours, highlight
        As for `dcg_curves`.

    Returns
    -------
    LayerChart or FacetChart
        The rows contain `strategy`, `x`, `y` and `label`, the name at the point. They contain
        `x_low`, `x_high`, `y_low` and `y_high` if intervals are drawn, and `panel` if panels are
        drawn. A strategy that lacks one of the two measures is left out. The axes fit the points
        and intervals, and need not start at 0. With more than twelve strategies, the eight with the
        highest `y` have a name.

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
    >>> trade_off(summary, "diversity@10", "ndcg@10").data.drop("label")
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
            "`summary` must have each strategy once for each measure; `panel` names the columns "
            "that distinguish repeated rows"
        )
        raise ValueError(msg)
    table = sides[0].join(sides[1], on=keys).sort(keys)
    chart_checks.check_not_empty("summary", table, x, y)
    chart_checks.check_row_count("summary", table)
    names = sort_naturally(table["strategy"].unique())
    highest_first = table.sort("y", descending=True)["strategy"].unique(maintain_order=True)
    labelled = lines.choose_labelled(highest_first.to_list(), colours, highlight)
    labels = dict(zip(labelled, shorten_names(labelled), strict=True))
    label = pl.col("strategy").replace_strict(labels, default=None, return_dtype=pl.String)
    table = table.with_columns(label.alias("label"))
    if len(names) > style.MAX_COLOURS or highlight is not None:
        table = lines.sort_to_front(table, "strategy", labelled)
    x_name, y_name = map(titles.name_measure, (x, y))
    axes = {side: _choose_axis_ends(table, side) for side in ("x", "y")}
    shared = alt.Encoding(
        x=alt.X("x:Q", title=x_name, **style.bound_axis(axes["x"], zero=False)),
        y=alt.Y("y:Q", title=y_name, **style.bound_axis(axes["y"], zero=False)),
        color=style.encode_names(
            names,
            strategy,
            prioritised=highest_first.to_list(),
            colours=colours,
            highlight=highlight,
        ),
    )
    position: dict[str, Any] = {"x": alt.X("x:Q"), "y": alt.Y("y:Q")}
    points, tooltips, layers = alt.Chart(), [], []
    for side, each in (("x", x_name), ("y", y_name)):
        tooltips.append(alt.Tooltip(f"{side}:Q", title=each, format=".4f"))
        if has_intervals:
            low, high = f"{side}_low", f"{side}_high"
            interval_title = f"{each}, interval"
            points, tooltip = style.add_interval(
                points, low, high, f"{side}_interval", interval_title
            )
            tooltips.append(tooltip)
            start = type(position[side])(f"{low}:Q")
            rule = alt.Chart().mark_rule(opacity=0.6)
            layers.append(rule.encode(**(position | {side: start, f"{side}2": high})))
    tooltip_list = style.list_tooltips("strategy:N", *tooltips)
    layers.append(style.draw_dots(points, 70).encode(**position, tooltip=tooltip_list))
    # A name extends towards the middle of the frame.
    middle = f"((domain('x')[0] + domain('x')[1]) / 2 || {sum(axes['x']) / 2})"
    layers += lines.draw_point_names(
        alt.Chart(),
        x="x",
        y="y",
        side=f"(datum.x > {middle} ? -1 : 1)",
        ends=axes["y"],
        field="strategy",
        labelled=labelled,
        table=table,
    )
    facts = chart_rows.collect_title_facts(rows.filter(pl.col("measure").is_in([x, y])))
    notes = [counted] if (counted := titles.count_queries(facts)) else []
    if has_intervals:
        confidence = "" if facts.confidence is None else f"{format_percent(facts.confidence)} "
        notes.append(f"lines: {confidence}interval of each value alone")
    if len(labelled) < len(names):
        notes += style.write_rest_note(names, f"lower {y_name}")
    headline = f"{y_name} against {x_name} of {format_count(len(names), 'strategies')}"
    words = style.Words(headline, notes, f"{y} against {x}: {len(names)} strategies")
    return style.draw_panels(layers, table, panel, words, encoding=shared)


def _choose_axis_ends(table: pl.DataFrame, side: str) -> axis_ends.AxisEnds:
    """Return ends that enclose the points and intervals; those of shares are within 0 and 1."""
    drawn = pl.concat([each.drop_nulls() for each in table.select(f"^{side}(_low|_high)?$")])
    low, high = axis_ends.choose_ends(drawn, 10)
    return (max(0.0, low), min(1.0, high)) if style.is_unit(drawn) else (low, high)


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


@checks_keywords
def catalogue_curves(
    curve: Frame,
    *,
    panel: Columns | None = None,
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
        The columns of panels. By default, there are no panels.
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
    frame, panel = chart_rows.join_panel_columns("curve", frame, panel)
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
    return line.encode(x=x, y=y, color=alt.ColorValue("gray"))
