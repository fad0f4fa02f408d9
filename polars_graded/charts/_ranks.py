"""Draw ranks of strategies with their intervals and groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import altair as alt
import polars as pl

from polars_graded._checks import check_choice
from polars_graded._drawing import axis_ends, chart_rows, style
from polars_graded._drawing.chart_rows import Frame
from polars_graded._drawing.style import Chart
from polars_graded._frames.arguments import Columns
from polars_graded._measuring.keywords import checks_keywords
from polars_graded._results.findings import find_rank_coverage, name_tests
from polars_graded._sentences import (
    format_any,
    format_count,
    format_part,
    format_percent,
    shorten_names,
    titles,
    verdicts,
)

SAME_LETTER = "same letter: not significant"
"""Heading of the letters of groups."""

BAR_SPACING = 8
"""Horizontal distance between the bars of groups in pixels."""


@checks_keywords
def strategy_ranks(
    ranks: Frame,
    *,
    show: Literal["intervals", "groups"] = "intervals",
    panel: Columns | None = "measure",
    strategy: str = "strategy",
    colours: Mapping[str, str] | None = None,
    highlight: Any = None,
) -> Chart:
    """Draw the rank of each strategy with its interval and its groups.

    With `show="groups"`, the chart is a critical difference diagram (Demšar 2006, figure 1), turned
    by 90 degrees: the mean of each strategy, and a bar for each group of strategies that do not
    differ significantly. A bar has a dot at each strategy of its group. A strategy without a dot,
    beside which the bar passes, differs significantly from at least one strategy of the group, as
    some differences vary less between queries than others. The bars of Demšar span one critical
    difference of mean ranks. Here, the groups depend on means and on the test of `rank_strategies`.

    Parameters
    ----------
    ranks
        One row per measure and strategy, as `rank_strategies` returns it.
    show
        `"intervals"` draws each rank with its interval, and `"groups"` the critical difference
        diagram above.
    panel, strategy
        The columns of panels and of strategies, as for `strategy_bars`. `panel=None` draws no
        panels.
    colours
        The colours of strategies by name, such as `{"ours": "#c00"}`. By default, the colours are
        those of the theme.
    highlight
        The strategy that has a colour; the others are grey.

    Returns
    -------
    LayerChart or FacetChart
        The data of the chart are the rows of `ranks`, with `strategy` as text. If panels are drawn,
        the column `panel` contains their names. With `show="groups"`, a strategy has a row for each
        group in the column `group` that has several strategies. `bar` is the letter of this group,
        and `place` the position of its bar from 0. The best strategy by the first measure is at the
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
    >>> ranks = rank_strategies(per_query)
    >>> chart = strategy_ranks(ranks)
    >>> print(" ".join(chart.title["text"]))
    No strategy is clearly first, both may be: ours and bm25 (paired t test)
    >>> strategy_ranks(ranks, show="groups").data.select("strategy", "mean", "group", "bar")
    shape: (2, 4)
    ┌──────────┬───────┬───────┬─────┐
    │ strategy ┆ mean  ┆ group ┆ bar │
    │ ---      ┆ ---   ┆ ---   ┆ --- │
    │ str      ┆ f64   ┆ str   ┆ str │
    ╞══════════╪═══════╪═══════╪═════╡
    │ ours     ┆ 0.75  ┆ a     ┆ a   │
    │ bm25     ┆ 0.375 ┆ a     ┆ a   │
    └──────────┴───────┴───────┴─────┘
    """
    check_choice("show", show, ("intervals", "groups"))
    value = "mean" if show == "groups" else "rank"
    numbers = [value, "rank", "rank_low", "rank_high"]
    keys: dict[str, Any] = {"texts": ["measure", "group"], "strategy": strategy, "panel": panel}
    table = chart_rows.build_result_rows(
        "ranks",
        ranks,
        *dict.fromkeys(numbers),
        **keys,
        unique_column="strategy",
        draws_each_row=True,
    )
    names = chart_rows.sort_names(
        table.with_columns(goodness=-pl.col("rank")), "goodness", "strategy"
    )
    sharing: Any = "shared"
    facts, base = chart_rows.collect_title_facts(table), alt.Chart().encode(y=alt.Y("strategy:N"))
    words = style.Words(write_first(table), titles.write_subtitle(facts, "rank by mean"))
    points = style.draw_dots(base, 50).encode(x=alt.X(f"{value}:Q"))
    tooltip = ["measure:N", "strategy:N", "rank:Q", "group:N"]
    if show == "groups":
        words = words._replace(notes=titles.write_subtitle(facts))
        table = _add_bars(table)
        scale = alt.Scale(zero=False, padding=style.INTERVAL_PADDING)
        title, sharing = style.write_mean_title(table), style.choose_panel_axis(table)
        x = alt.X("mean:Q", title=title, scale=scale, axis=style.build_means_axis())
        numbers = style.format_decimals("mean")
        points = points.encode(tooltip=style.list_tooltips(*tooltip, *numbers))
        layers = [points, *_draw_bars(base)]
    else:
        x, note = _build_rank_axis(table)
        words = words._replace(notes=[*words.notes, note])
        points = points.transform_calculate(interval="datum.rank_low + ' to ' + datum.rank_high")
        points = points.encode(tooltip=style.list_tooltips(*tooltip, "interval:N"))
        line = base.mark_rule(strokeWidth=2).encode(x=alt.X("rank_low:Q"), x2=alt.X2("rank_high:Q"))
        letters = style.draw_column("group:N", 8), style.draw_heading(SAME_LETTER, 18)
        layers = [line, points, *letters]
    color = style.encode_few_names(names, strategy, colours, highlight)
    shared = alt.Encoding(x=x, y=style.build_names_axis("strategy", names), color=color)
    words = words._replace(described=f"{x['title']}, {format_count(len(names), 'strategies')}")
    return style.draw_rows(layers, table, panel, words, sharing, encoding=shared)


def _build_rank_axis(ranks: pl.DataFrame) -> tuple[alt.X, str]:
    """Return the axis of ranks, and a note on their intervals."""
    level, last = chart_rows.find_confidence(ranks), int(ranks["rank_high"].max())  # type: ignore[arg-type]
    ticks = axis_ends.choose_rank_ticks(max(2, last))
    axis = style.bound_axis((0.5, last + 0.5), format=",d", values=ticks)
    coverage = find_rank_coverage(ranks)
    line = "" if level is None else f", line: {format_percent(level)} interval"
    if coverage.single or coverage.correction:
        line = ", line: ranks that the tests do not exclude"
    note = verdicts.write_rank_coverage(coverage, level)
    return alt.X("rank:Q", title=f"rank{line}", **axis), note


def _add_bars(ranks: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each strategy and each bar of a group of several strategies.

    A strategy without a bar has one row, in which `bar` is null.
    """
    keys = ["panel"] if "panel" in ranks.columns else ["measure"]
    letters = pl.col("group").str.extract_all("[a-z]|[0-9]+").alias("bar")
    rows = ranks.sort("rank", maintain_order=True).with_columns(letters)
    rows = rows.explode("bar", empty_as_null=True)
    is_several = pl.len().over(*keys, "bar") > 1
    rows = rows.with_columns(pl.when(is_several).then("bar").alias("bar")).unique(
        maintain_order=True
    )
    has_bar = pl.col("bar").is_not_null().any().over(*keys, "strategy")
    rows = rows.filter(pl.col("bar").is_not_null() | ~has_bar)
    place = pl.when(pl.col("bar").is_not_null()).then(pl.col("bar").rank("dense").over(keys) - 1)
    return rows.with_columns(place.alias("place"))


def _draw_bars(base: alt.Chart) -> list[alt.Chart]:
    """Draw the bars of groups to the right of the plot, with a dot at each strategy."""
    offset = alt.ExprRef(f"12 + {BAR_SPACING} * datum.place")
    bars = base.transform_filter("isValid(datum.bar)")
    bars = bars.encode(x=alt.XValue("width"), color=style.draw_ink(), detail="bar:N")
    line = bars.mark_line(xOffset=offset, strokeWidth=3, clip=False)
    dots = bars.mark_point(xOffset=offset, size=35, filled=True, opacity=1, clip=False)
    return [line, dots.encode(tooltip="bar:N"), style.draw_heading("same bar: not significant", 40)]


def write_first(ranks: pl.DataFrame) -> str:
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
    are_measures = (ranks[key] == ranks["measure"]).all()
    where, group_word = ("by", "measures") if are_measures else ("in", "panels")
    n_clear = sum(len(first) == 1 for first in firsts)
    clear_names = {first[0] for first in firsts if len(first) == 1}
    subject = clear_names.pop() if len(clear_names) == 1 else "One strategy"
    finding = f"{subject} is clearly first {where} {format_part(n_clear, len(groups), group_word)}"
    if not n_clear:
        finding = f"No strategy is clearly first {where} {format_any(len(groups), group_word)}"
    return verdicts.write_title([finding], tests)
