"""Draw ranks of strategies with their intervals and groups."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from polars_graded._drawing import axis_ends, chart_checks, chart_rows, style
from polars_graded._drawing.chart_rows import Frame
from polars_graded._drawing.style import Chart
from polars_graded._results.findings import find_rank_coverage, name_tests
from polars_graded._sentences import format_any, format_part, shorten_names, titles, verdicts

BAR_SPACING, LABEL_SPACING = 8, 16
"""Vertical distance between the bars of groups, and between names of strategies, in pixels."""

MEANS_WIDTH, MAX_MEANS_WIDTH = 360, 640
"""Minimum and maximum width of the line of means, in pixels."""

STRATEGY_WIDTH = 28
"""Width that each strategy adds to the line of means, in pixels.

The total stays between `MEANS_WIDTH` and `MAX_MEANS_WIDTH`.
"""

LETTER_SHARE = 0.07
"""Width of the letter of a group, as a share of the axis. The letter is to the left of the bar."""

MAX_LABELLED_STRATEGIES = 60
"""Maximum number of strategies in a critical difference diagram, which names all of them."""


def strategy_ranks(
    ranks: Frame, *, panel: str | None = "measure", strategy: str = "strategy"
) -> Chart:
    """Draw the rank of each strategy with its interval and its groups.

    Parameters
    ----------
    ranks
        One row per measure and strategy, as `rank_strategies` returns it.
    panel, strategy
        The column of panels and the column of strategies. `panel=None` draws no panels.

    Returns
    -------
    LayerChart or FacetChart
        The data of the chart are the rows of `ranks`, with `strategy` as text. If panels are drawn,
        the column `panel` contains their names. The best strategy by the first measure is at the
        top. The title states which strategies may be first. With several measures or panels, the
        title counts the measures or panels for which one strategy is clearly first. The subtitle
        states which intervals hold simultaneously: those of each measure, if the correction bounds
        the probability of any false finding, or none, as with `correction="none"`.

    Examples
    --------
    >>> from polars_graded import rank_strategies
    >>> per_query = pl.DataFrame(
    ...     {"strategy": ["bm25", "ours"] * 2, "query": [1, 1, 2, 2], "ap": [0.25, 0.5, 0.5, 1.0]}
    ... )
    >>> chart = per_query.pipe(rank_strategies).pipe(strategy_ranks)
    >>> print(" ".join(chart.title["text"]))
    No strategy is clearly first, both may be: ours and bm25 (paired t test)
    """
    numbers = ["rank", "rank_low", "rank_high"]
    keys: dict[str, Any] = {"texts": ["measure", "group"], "strategy": strategy, "panel": panel}
    table = chart_rows.build_result_rows(
        "ranks", ranks, *numbers, **keys, unique_column="strategy", draws_each_row=True
    )
    names = chart_rows.sort_names(
        table.with_columns(goodness=-pl.col("rank")), "goodness", "strategy"
    )
    are_many = len(names) > style.MAX_NAMED_MARKS
    y = style.build_names_axis("strategy", names, labelFontSize=8 if are_many else alt.Undefined)
    max_rank = int(table["rank_high"].max())  # type: ignore[arg-type]
    ticks = axis_ends.choose_rank_ticks(max(2, max_rank))
    rank_axis = style.bound_axis((0.5, max_rank + 0.5), format=",d", values=ticks) | {
        "title": "rank"
    }
    tooltip = style.list_tooltips(
        "measure:N", "strategy:N", *(f"{name}:Q" for name in numbers), "group:N"
    )
    base = alt.Chart().encode(y=y, tooltip=tooltip)
    interval = base.mark_bar(size=2, color=style.DOUBT)
    level = chart_rows.find_confidence(table)
    notes = titles.write_subtitle(chart_rows.collect_title_facts(table), "rank by mean")
    notes += [
        verdicts.write_rank_coverage(find_rank_coverage(table), level),
        style.SHARED_LETTERS,
    ]
    size: dict[str, Any] = {"height": alt.Step(10)} if are_many else {}
    layers = [
        interval.encode(x=alt.X("rank_low:Q", **rank_axis), x2=alt.X2("rank_high:Q")),
        style.draw_dots(base, 60, color=style.find_ink()).encode(x=alt.X("rank:Q", **rank_axis)),
        style.draw_beside(y, "group:N", 8),
    ]
    words = style.Words(_write_title(table), notes)
    return style.draw_panels(layers, table, panel, words, columns=2, width=300, **size)


def _write_title(ranks: pl.DataFrame) -> str:
    """Write the title, which states the strategies that may be first.

    For several measures or panels, write a title such as "ours is clearly first by 2 of 3
    measures".
    """
    key = "panel" if "panel" in ranks.columns else "measure"
    names = ranks["strategy"].unique().sort()
    # Names are shortened in the same way as on the axis, which shows all strategies.
    short_name = pl.col("strategy").replace_strict(names, shorten_names(names.to_list()))
    ranks = ranks.with_columns(short_name)
    groups = ranks.partition_by(key, maintain_order=True)
    firsts = [rows.sort("rank").filter(rank_low=1)["strategy"].to_list() for rows in groups]
    tests = name_tests(ranks, alone=ranks["strategy"].n_unique() == 2)  # noqa: PLR2004
    if len(groups) == 1:
        sentence = verdicts.name_first(firsts[0], ranks.height)
        return verdicts.write_title(sentence, tests)
    group_word = "measures" if (ranks[key] == ranks["measure"]).all() else "panels"
    n_clear = sum(len(first) == 1 for first in firsts)
    clear_names = {first[0] for first in firsts if len(first) == 1}
    subject = clear_names.pop() if len(clear_names) == 1 else "One strategy"
    finding = f"{subject} is clearly first by {format_part(n_clear, len(groups), group_word)}"
    if not n_clear:
        finding = f"No strategy is clearly first by {format_any(len(groups), group_word)}"
    return verdicts.write_title([finding], tests)


def critical_differences(ranks: Frame, *, strategy: str = "strategy") -> alt.LayerChart:
    """Draw means on a line, with bars over groups of strategies.

    This is Demšar's critical difference diagram (2006, figure 1). His bars span one critical
    difference of mean ranks. Here, the bars are the groups of `rank_strategies`: strategies that do
    not differ significantly. The groups depend on means and on the test of `rank_strategies`. A bar
    has a dot at each strategy of its group. A strategy without a dot can still lie under the bar.
    Its mean is then between the lowest and the highest mean of the group, but it differs
    significantly from at least one strategy of the group. This is possible because some differences
    vary less between queries than others.

    Parameters
    ----------
    ranks
        One row per strategy, as `rank_strategies` returns it for one measure.
    strategy
        The column of strategies.

    Returns
    -------
    LayerChart
        The column `part` is "strategy", "bar" or "dot". `mean` is the mean of the strategy. A
        bar spans a group of several strategies, from their lowest mean (`mean`) to their highest
        mean (`to`). `set` is the letter of the group. A dot marks a strategy on a bar. `row` is the
        vertical position in pixels. For a strategy, this is the position of its name. The title
        states which strategies may be first. More than 60 strategies raise an error.

    Examples
    --------
    >>> from polars_graded import rank_strategies
    >>> per_query = pl.DataFrame(
    ...     {"strategy": ["bm25", "ours"] * 2, "query": [1, 1, 2, 2], "ap": [0.25, 0.5, 0.5, 1.0]}
    ... )
    >>> chart = per_query.pipe(rank_strategies).pipe(critical_differences)
    >>> chart.data.select("part", "strategy", "mean", "to", "row")
    shape: (5, 5)
    ┌──────────┬──────────┬───────┬──────┬─────┐
    │ part     ┆ strategy ┆ mean  ┆ to   ┆ row │
    │ ---      ┆ ---      ┆ ---   ┆ ---  ┆ --- │
    │ str      ┆ str      ┆ f64   ┆ f64  ┆ i64 │
    ╞══════════╪══════════╪═══════╪══════╪═════╡
    │ strategy ┆ bm25     ┆ 0.375 ┆ null ┆ 28  │
    │ strategy ┆ ours     ┆ 0.75  ┆ null ┆ 28  │
    │ bar      ┆ bm25     ┆ 0.375 ┆ 0.75 ┆ 8   │
    │ dot      ┆ bm25     ┆ 0.375 ┆ null ┆ 8   │
    │ dot      ┆ ours     ┆ 0.75  ┆ null ┆ 8   │
    └──────────┴──────────┴───────┴──────┴─────┘
    """
    keys: dict[str, Any] = {"texts": ["measure", "group"], "strategy": strategy}
    numbers = ["mean", "rank", "rank_low", "rank_high"]
    table = chart_rows.build_result_rows("ranks", ranks, *numbers, **keys, draws_each_row=True)
    if table["strategy"].is_duplicated().any():
        msg = (
            "`ranks` must have each strategy once, and thus only one measure, got "
            f"{table['measure'].n_unique()} measures"
        )
        raise ValueError(msg)
    chart_checks.check_count("strategies", table.height, MAX_LABELLED_STRATEGIES)
    rows, height = _build_diagram(table)
    title = style.write_mean_title(table)
    axis_options: dict[str, Any] = {"orient": "top", "titleLimit": 300, "grid": False}
    x = style.bound_axis(axis_ends.choose_ends(table["mean"]), **axis_options) | {"title": title}
    y = style.bound_axis((0, height), reverse=True) | {"axis": None, "title": None}
    ink = style.find_ink()
    is_crowded = table.height > style.MAX_COLOURS
    thickness, dot_size = (0.6, 18) if is_crowded else (1, 40)
    names, bar, dot = (
        alt.Chart().transform_filter(alt.FieldEqualPredicate(field="part", equal=part))
        for part in ("strategy", "bar", "dot")
    )
    mean = alt.X("mean:Q", **x)
    row = alt.Y("row:Q", **y)
    layers = [
        names.mark_rule(color=style.DOUBT, strokeWidth=thickness).encode(
            x=mean, y=alt.Y("axis:Q", **y), y2=alt.Y2("row:Q")
        ),
        names.mark_rule(color=style.DOUBT, strokeWidth=thickness).encode(
            x=mean, x2=alt.X2("edge:Q"), y=row
        ),
        bar.mark_bar(size=4 * thickness, color=ink).encode(x=mean, x2=alt.X2("to:Q"), y=row),
        style.draw_dots(dot, dot_size, color=ink).encode(
            x=mean,
            y=row,
            tooltip=style.list_tooltips("strategy:N", *style.format_decimals("mean"), "set:N"),
        ),
        bar.mark_text(align="right", dx=-7, color=ink).encode(
            x=mean, y=row, text=alt.Text("set:N")
        ),
    ]
    for side, align, dx in (("left", "right", -5), ("right", "left", 5)):
        text: Any = names.transform_filter(alt.FieldEqualPredicate(field="side", equal=side))
        name = style.write_short_label("datum.strategy", table["strategy"])
        label = f"({name}) + '  ' + format(datum.mean, '.4f') + '  ' + datum.group"
        text = text.transform_calculate(label=label)
        text = text.mark_text(align=align, dx=dx, color=ink, limit=300)
        tooltip = style.list_tooltips(
            "strategy:N", *style.format_decimals("mean"), "rank:Q", "group:N"
        )
        layers.append(
            text.encode(x=alt.X("edge:Q", **x), y=row, text=alt.Text("label:N"), tooltip=tooltip)
        )
    notes = titles.write_subtitle(chart_rows.collect_title_facts(table))
    notes.append("strategies with a common bar or letter do not differ significantly")
    words = style.Words(_write_title(table), notes)
    width = min(MAX_MEANS_WIDTH, max(MEANS_WIDTH, STRATEGY_WIDTH * table.height))
    return style.draw_layers(layers, rows, words, width=width, height=height, **style.FRAMELESS)


def _build_diagram(table: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Return the rows of names, bars and dots, and the diagram's height."""
    low, high = axis_ends.choose_ends(table["mean"])
    ascending = table.sort("mean", maintain_order=True)
    sets = ascending.select(
        "strategy", "mean", pl.col("group").str.extract_all("[a-z]|[0-9]+").alias("set")
    ).explode("set", empty_as_null=True)
    bars = (
        sets.group_by("set", maintain_order=True)
        .agg(pl.first("strategy", "mean"), to=pl.last("mean"), size=pl.len())
        .filter(pl.col("size") > 1)
    )
    levels = _stack_spans(bars.select("mean", "to").rows(), LETTER_SHARE * (high - low))
    bars = bars.with_columns(row=BAR_SPACING * (pl.Series(levels, dtype=pl.Int64) + 1))
    names_top = BAR_SPACING * (max(levels, default=-1) + 1) + BAR_SPACING + BAR_SPACING // 2
    n_left = (ascending.height + 1) // 2
    index = pl.int_range(pl.len())
    is_left = index < n_left
    names = ascending.select(
        "strategy",
        "mean",
        "rank",
        "group",
        side=pl.when(is_left).then(pl.lit("left")).otherwise(pl.lit("right")),
        edge=pl.when(is_left).then(low).otherwise(high),
        axis=0,
        row=names_top
        + LABEL_SPACING * pl.when(is_left).then(index).otherwise(pl.len() - 1 - index)
        + LABEL_SPACING // 2,
    )
    dots = sets.join(bars.select("set", "row"), on="set", maintain_order="left")
    parts = {"strategy": names, "bar": bars.drop("size"), "dot": dots}
    rows = pl.concat(
        [rows.with_columns(part=pl.lit(part)) for part, rows in parts.items()],
        how="diagonal_relaxed",
    )
    return rows, names_top + LABEL_SPACING * n_left + BAR_SPACING


def _stack_spans(spans: list[tuple[float, float]], gap: float) -> list[int]:
    """Return a level for each span, so that spans on a level do not overlap.

    The spans must be sorted by their lower ends. Each span gets the lowest level that is
    free. A level is free if it has no span, or if its last span ends more than `gap` before the new
    one starts.
    """
    ends, levels = list[float](), list[int]()
    for low, high in spans:
        free_levels = (level for level, end in enumerate(ends) if low > end + gap)
        levels.append(level := next(free_levels, len(ends)))
        ends[level : level + 1] = [high]
    return levels
