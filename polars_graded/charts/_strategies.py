"""Charts of strategies: their means, and their differences."""

from __future__ import annotations

from typing import Any, Literal

import altair as alt
import polars as pl

from polars_graded._checks import check_choice, check_level, check_whole_number
from polars_graded._drawing import chart_checks, chart_rows, marks, pair_rows, style
from polars_graded._drawing.chart_rows import Frame
from polars_graded._drawing.style import Chart
from polars_graded._measuring.names import Measure
from polars_graded._results.findings import (
    count_directions,
    describe_agreement,
    is_significant,
    name_p,
    name_tests,
)
from polars_graded._results.per_query import find_direction_of_rows
from polars_graded._sentences import format_count, shorten_names, titles, verdicts

MINUS_SIGN = "\u2212"
"""The mark of a significant difference below 0."""

MIN_EQUIVALENCE_PROBABILITY = 0.95
"""Minimum probability of equivalence for a difference that counts as negligible."""

UNDECIDED_OPACITY = 0.25
"""Opacity of differences that are not significant."""


def strategy_bars(
    summary: Frame,
    *,
    show: Literal["points", "bars"] = "points",
    width: int | None = None,
    panel: str | None = "measure",
    strategy: str = "strategy",
) -> Chart:
    """Draw the mean of each strategy and its interval, a panel per measure.

    The mean is also written beside each strategy. If means are drawn as points, the axis fits the
    means, so that differences are visible. If they are drawn as bars, the axis starts at 0, so that
    the lengths of bars are proportional to the means.

    Parameters
    ----------
    summary
        One row per measure and strategy, as `summarise` or `rank_strategies` returns it. If the
        frame has the columns `ci_low` and `ci_high`, the chart draws intervals. If it has the
        column `group` of `rank_strategies`, the chart writes the letters of this column. For a
        summary by segments, pass one measure and the column of segments, such as `panel="country"`.
    show
        `"points"`, or `"bars"` that start at 0.
    width
        Width of each panel in pixels. The default is 300, or 200 if there are several panels, so
        that two panels fit side by side into a notebook.
    panel, strategy
        The columns of panels and of strategies, as for every chart. `panel` may be None.

    Returns
    -------
    LayerChart or FacetChart
        `chart.data` has the rows of `summary` whose mean is a finite number. The column `strategy`
        contains text. If panels are drawn, a column `panel` with text is added. The strategy with
        the highest mean of the first measure is at the top.

    Examples
    --------
    >>> from polars_graded import summarise
    >>> per_query = pl.DataFrame(
    ...     {"strategy": ["bm25", "ours"] * 2, "query": [1, 1, 2, 2], "ap": [0.25, 0.5, 0.75, 1.0]}
    ... )
    >>> summarise(per_query).pipe(strategy_bars).data.select("strategy", "mean")
    shape: (2, 2)
    ┌──────────┬──────┐
    │ strategy ┆ mean │
    │ ---      ┆ ---  │
    │ str      ┆ f64  │
    ╞══════════╪══════╡
    │ bm25     ┆ 0.5  │
    │ ours     ┆ 0.75 │
    └──────────┴──────┘
    """
    check_choice("show", show, ("points", "bars"))
    if width is not None:
        check_whole_number("width", width)
    table = chart_rows.build_result_rows(
        "summary",
        summary,
        "mean",
        strategy=strategy,
        panel=panel,
        unique_column="strategy",
        draws_each_row=True,
    )
    names = chart_rows.sort_names(table, "mean", "strategy")
    ends = ("ci_low", "ci_high") if {"ci_low", "ci_high"} <= set(table.columns) else ()
    title = style.write_mean_title(table)
    padding = alt.Undefined if show == "bars" else style.INTERVAL_PADDING
    scale = alt.Scale(zero=show == "bars", padding=padding)
    facts = chart_rows.collect_title_facts(table)
    has_intervals = bool(ends) and table["ci_low"].null_count() < table.height
    notes = titles.write_subtitle(facts)
    if has_intervals:
        notes.append("line: interval of one mean; overlap does not show that two means are equal")
    y = style.build_names_axis("strategy", names)
    x = alt.X("mean:Q", title=title, scale=scale, axis=style.build_means_axis(), stack=None)
    tooltip = style.list_tooltips("measure:N", "strategy:N", *style.format_decimals("mean", *ends))
    base = alt.Chart().encode(y=y, tooltip=tooltip, **style.choose_few_colours(names, strategy))
    layers = [style.draw_interval(base, title, ends, scale=scale)] if ends else []
    has_panels = chart_rows.has_panels(table)
    width = width or (200 if has_panels else 300)
    axis = style.choose_panel_axis(table, "mean" if show == "bars" else None)
    if show == "bars":
        layers.insert(0, base.mark_bar(fillOpacity=0.5).encode(x=x))
    else:
        size = style.fit_dot_size(table, ends, axis, width, 70)
        layers.append(style.draw_dots(base, size).encode(x=x))
    layers.append(style.draw_beside(y, alt.Text("mean:Q", format=".4f"), 6))
    if "group" in table.columns:
        layers.append(style.draw_beside(y, "group:N", 50))
        notes.append(style.SHARED_LETTERS)
    first = table.filter(panel=table["panel"][0]) if has_panels else table
    described_mean = f"mean {table['panel'][0]}" if has_panels else title
    means = first.select("strategy", "mean").sort("mean", descending=True)
    heading = "Mean" if len(facts.measures) == 1 else "Means"
    headline = titles.title_strategies(heading, facts, intervals=has_intervals)
    words = style.Words(headline, notes, style.list_values(described_mean, means.iter_rows()))
    return style.draw_panels(layers, table, panel, words, axis, columns=2, width=width)


def _write_finding(comparison: pl.DataFrame, level: float) -> str:
    """Write how many differences are significant.

    With a single baseline, write their directions, too.
    """
    directions = count_directions(comparison, level)
    baselines = comparison["baseline"].unique().to_list()
    strategies = comparison["strategy"].unique().to_list()
    sentence = verdicts.count_significant(directions)
    if len(baselines) == 1:
        # Names are shortened in the same way as on the axis, which shows all strategies.
        *names, baseline = shorten_names([*strategies, *baselines])
        only_strategy = names[0] if comparison.height == 1 else None
        row_word = "comparisons" if comparison.height > len(strategies) else "strategies"
        sentence = verdicts.compare_with_baseline(directions, baseline, only_strategy, row_word)
    has_one_test = comparison["measure"].n_unique() == comparison.height
    return verdicts.write_title(sentence, name_tests(comparison, alone=has_one_test))


def _describe_sides(
    comparison: pl.DataFrame, *, has_several_baselines: bool
) -> tuple[str, str] | None:
    """Return labels for the two sides of 0 on the axis of differences.

    The labels are "worse" and "better". With several baselines, they state which strategy of a pair
    is better. The result is None if a measure has no better side, or if measures have different
    ones.
    """
    measures = comparison.partition_by("measure", maintain_order=True)
    better, worse = (
        ("first better", "second better") if has_several_baselines else ("better", "worse")
    )
    sides = {"highest": (worse, better), "lowest": (better, worse)}
    directions = {find_direction_of_rows(rows) for rows in measures}
    return sides.get(directions.pop()) if len(directions) == 1 else None


def comparison_forest(
    comparison: Frame,
    *,
    confidence: float = 0.95,
    panel: str | None = "measure",
    strategy: str = "strategy",
) -> Chart:
    """Draw each difference to a baseline as a point with its interval.

    The points of significant differences are filled, and the others are hollow. All pairs of many
    strategies make a tall chart: 25 strategies have 300 pairs. `comparison_matrix` shows all pairs
    at a glance. To draw fewer pairs here, compare with a baseline, or filter the pairs.

    Parameters
    ----------
    comparison
        One row per measure and pair, as `compare` returns it. The chart shows the interval from
        `simultaneous_low` to `simultaneous_high`, which agrees with the corrected p. If the frame
        has no such intervals, as for the Wilcoxon test, the chart shows the interval of each single
        difference, from `ci_low` to `ci_high`, which may disagree with p. A null interval is not
        drawn. If all intervals have the same `confidence`, the subtitle states this confidence and
        the kind of interval. For a comparison by segments, pass one measure and the column of
        segments, such as `panel="country"`. For a comparison with `rope=`, the region of practical
        equivalence is shaded.
    confidence
        A difference is significant if `p_corrected` is at most 1 - `confidence`. A null
        `p_corrected` is not significant. For a test that compares ranks, the signs of
        `rank_biserial` and `difference` must also be equal.
    panel, strategy
        The columns of panels and of strategies, as for every chart. `panel` may be None.

    Returns
    -------
    LayerChart or FacetChart
        The rows are those of `comparison`, with `pair` (the strategy, and its baseline if there are
        several baselines), `significance`, and `panel` if panels are drawn. The largest difference
        of the first measure is at the top. With several baselines and without panels, the strategy
        with the higher mean comes first in each pair.

    Examples
    --------
    >>> from polars_graded import compare
    >>> per_query = pl.DataFrame(
    ...     {"strategy": ["bm25", "ours"] * 2, "query": [1, 1, 2, 2], "ap": [0.25, 0.5, 0.5, 0.8]}
    ... )
    >>> comparison = compare(per_query, baseline="bm25")
    >>> comparison.pipe(comparison_forest, confidence=0.9).data.select("pair", "significance")
    shape: (1, 2)
    ┌──────┬───────────────────┐
    │ pair ┆ significance      │
    │ ---  ┆ ---               │
    │ str  ┆ str               │
    ╞══════╪═══════════════════╡
    │ ours ┆ corrected p ≤ 0.1 │
    └──────┴───────────────────┘
    """
    level = check_level(confidence)
    numbers = ["difference", "ci_low", "ci_high", "p_corrected"]
    keys: dict[str, Any] = {"texts": ["measure", "baseline"], "strategy": strategy, "panel": panel}
    table = chart_rows.build_result_rows(
        "comparison", comparison, *numbers, **keys, draws_each_row=True
    )
    has_several_baselines = table["baseline"].n_unique() > 1
    finding = _write_finding(table, level)
    if has_several_baselines and not chart_rows.has_panels(table):
        table = pair_rows.put_higher_first(table)
    p_title = name_p(table)
    significant_label, other_label = f"{p_title} ≤ {level:g}", "not significant"
    significance = pl.when(is_significant(table.columns, level)).then(pl.lit(significant_label))
    table = table.with_columns(
        pair_rows.build_pair_name(versus=has_several_baselines).alias("pair"),
        significance.otherwise(pl.lit(other_label)).alias("significance"),
    )
    chart_checks.check_not_repeated("comparison", table, "pair", panel)
    pairs = chart_rows.sort_names(table, "difference", "pair")
    are_many = len(pairs) > style.MAX_NAMED_MARKS
    title = style.write_mean_title(table, "difference of ", "difference of means")
    axis = style.build_pairs_axis(table, labelFontSize=8 if are_many else alt.Undefined)
    facts = chart_rows.collect_title_facts(table)
    notes = [
        *titles.write_subtitle(facts, "difference of mean"),
        marks.write_significance_key(significant_label, other_label),
    ]
    ends = pair_rows.choose_interval_ends(table)
    stated_level = chart_rows.find_confidence(table)
    interval = "interval" if stated_level is None else f"{100 * stated_level:g} % interval"
    # The Wilcoxon test compares ranks, so that no interval of a difference of means agrees with it.
    if ends == pair_rows.AGREEING_ENDS:
        notes.append(f"line: {interval}, {describe_agreement(table)}")
    elif stated_level is not None and not table[ends[0]].is_null().all():
        notes.append(f"line: {interval} of each difference alone; it need not agree with p")
    rope: Any = table["rope"].max() if "rope" in table.columns else 0.0
    if rope:
        n_equivalent = int((table["probability_equal"] >= MIN_EQUIVALENCE_PROBABILITY).sum())
        notes += titles.write_equivalence(
            rope, n_equivalent, table.height, MIN_EQUIVALENCE_PROBABILITY
        )
    axis_sharing = style.choose_panel_axis(table, "difference")
    size = style.fit_dot_size(table, ends, axis_sharing, 300, 40 if are_many else 60)
    sides = _describe_sides(table, has_several_baselines=has_several_baselines)
    layers = marks.draw_forest(
        title, pairs, axis, significant_label, size, ends, rope or 0, sides, p_title
    )
    words = style.Words(finding, notes)
    height: dict[str, Any] = {"height": alt.Step(10)} if are_many else {}
    return style.draw_panels(
        layers, table, panel, words, axis_sharing, columns=2, width=300, **height
    )


def comparison_matrix(
    comparison: Frame,
    *,
    confidence: float = 0.95,
    panel: str | None = "measure",
    strategy: str = "strategy",
) -> Chart:
    """Draw the differences of all pairs as a matrix, with significant differences marked.

    A cell shows the mean of the strategy in its row minus the mean of the strategy in its column.
    Differences above 0 are blue, and differences below 0 are orange. The cell contains a sign if
    the difference is significant, and is pale otherwise. Strategies are in the order of their means
    in the first measure, the highest first.

    Parameters
    ----------
    comparison
        One row per measure and pair, as `compare` returns it without a baseline. Each pair has two
        cells.
    confidence
        As for `comparison_forest`.
    panel, strategy
        The columns of panels and of strategies, as for every chart. `panel` may be None.

    Returns
    -------
    LayerChart or FacetChart
        The rows contain `measure`, `strategy`, `baseline`, `difference`, `p_corrected`, `mark`, and
        `panel` if panels are drawn. More than 1500 pairs over all measures raise an error.

    See Also
    --------
    comparison_forest : The same differences with intervals, for few pairs.

    Examples
    --------
    >>> from polars_graded import compare
    >>> per_query = pl.DataFrame(
    ...     {"strategy": ["bm25", "ours"] * 2, "query": [1, 1, 2, 2], "ap": [0.25, 0.5, 0.5, 0.8]}
    ... )
    >>> matrix = compare(per_query).pipe(comparison_matrix, confidence=0.9)
    >>> matrix.data.drop("measure", "p_corrected")
    shape: (2, 4)
    ┌──────────┬──────────┬────────────┬──────┐
    │ strategy ┆ baseline ┆ difference ┆ mark │
    │ ---      ┆ ---      ┆ ---        ┆ ---  │
    │ str      ┆ str      ┆ f64        ┆ str  │
    ╞══════════╪══════════╪════════════╪══════╡
    │ bm25     ┆ ours     ┆ -0.275     ┆ −    │
    │ ours     ┆ bm25     ┆ 0.275      ┆ +    │
    └──────────┴──────────┴────────────┴──────┘
    """
    level = check_level(confidence)
    keys: dict[str, Any] = {"texts": ["measure", "baseline"], "strategy": strategy, "panel": panel}
    table = chart_rows.build_result_rows(
        "comparison", comparison, "difference", "p_corrected", **keys
    )
    finding, facts = _write_finding(table, level), chart_rows.collect_title_facts(table)
    kind = name_p(table)
    table = table.with_columns(is_significant(table.columns, level).alias("significant"))
    sign = pl.when(pl.col("difference") < 0).then(pl.lit(MINUS_SIGN)).otherwise(pl.lit("+"))
    mark = pl.when("significant").then(sign).otherwise(pl.lit(""))
    table = pair_rows.add_other_sides(table).with_columns(mark.alias("mark")).drop("significant")
    chart_checks.check_row_count("comparison", table)
    chart_checks.check_not_repeated("comparison", table, "pair", panel, ["strategy", "baseline"])
    rows_of_strategies = table.group_by("measure", "strategy", maintain_order=True)
    means = rows_of_strategies.agg(pl.col("difference").mean())
    names = chart_rows.sort_names(means, "difference", "strategy")
    cell_pixels = max(10, min(36, 400 // len(names)))
    row_axis = style.order_axis(names, labelLimit=250)
    column_axis = style.order_axis(names, labelLimit=250, labelAngle=-90, orient="top")
    sign_note = f"row minus column; + and {MINUS_SIGN} where {kind} ≤ {level:g}, else pale"
    notes = [*titles.write_subtitle(facts, "difference of mean"), sign_note]
    base, p = style.add_p(alt.Chart(), kind)
    base = base.encode(
        x=alt.X("baseline:N", title="baseline", **column_axis),
        y=alt.Y("strategy:N", title=strategy, **row_axis),
        tooltip=style.list_tooltips(
            "measure:N", "strategy:N", "baseline:N", *style.format_decimals("difference"), p
        ),
    )
    # Readers with a colour vision deficiency can distinguish orange and blue. The fill shows
    # differences, since `color` encodes strategies in all charts. The domain contains only its
    # two ends. With 0 as a third number, charts side by side could not merge their domains.
    max_distance: Any = table["difference"].abs().max() or 1.0
    scale = alt.Scale(domain=[-max_distance, max_distance], scheme="blueorange", reverse=True)
    # The legend has labels at its ends and at 0.
    legend = alt.Legend(values=[-max_distance, 0, max_distance], format=".3~g")
    fill = alt.Fill("difference:Q", title="difference", scale=scale, legend=legend)
    colours = style.CellColours(scale, style.INK, "white", 0.6 * max_distance)
    signs = base.mark_text(fontSize=max(12, cell_pixels * 0.7)).encode(
        text=alt.Text("mark:N"), color=colours.choose_text_colour("abs(datum.difference)")
    )
    opacity = alt.condition("datum.mark !== ''", alt.value(1), alt.value(UNDECIDED_OPACITY))
    n_significant = table.filter(pl.col("mark") != "").height // 2
    description = (
        f"differences of {table.height // 2} pairs, {n_significant} with {kind} ≤ {level:g}; "
        f"by falling mean: {', '.join(names)}"
    )
    layers = [base.mark_rect().encode(fill=fill, fillOpacity=opacity), signs]
    words, cell_size = style.Words(finding, notes, description), alt.Step(cell_pixels)
    return style.draw_panels(
        layers, table, panel, words, columns=2, width=cell_size, height=cell_size
    )


def similarity_matrix(frame: Frame, measure: str) -> Chart:
    """Draw the mean similarity of each pair of strategies as a matrix.

    Similar strategies are side by side. If all strategies were compared with one baseline, the
    baseline comes first, and the others follow in descending order of their `mean`.

    Parameters
    ----------
    frame
        One row per pair and query, as `similarity` returns it, with the strategies `a` and `b`.
    measure
        The column of the similarity measure.

    Returns
    -------
    LayerChart
        `chart.data` has one row per cell: `a` names the row of the matrix, `b` its column, `mean`
        is the mean, and `queries` the number of queries with a value. Each pair has two cells if
        the measure is symmetric and has its own name. With another measure, such as `tau_ap` or
        `relevant_entered@10`, only the cell of row `a` and column `b` is drawn. More than 3000
        cells raise an error.

    See Also
    --------
    similarity_histogram : How the similarity of a pair is distributed over queries, for few pairs.
    comparison_matrix : The differences of all pairs, for measures that need judgments.

    Examples
    --------
    >>> similar = pl.DataFrame({"a": "bm25", "b": "ours", "query": [1, 2], "rbo": [0.5, 1.0]})
    >>> similarity_matrix(similar, "rbo").data
    shape: (2, 4)
    ┌──────┬──────┬──────┬─────────┐
    │ a    ┆ b    ┆ mean ┆ queries │
    │ ---  ┆ ---  ┆ ---  ┆ ---     │
    │ str  ┆ str  ┆ f64  ┆ u32     │
    ╞══════╪══════╪══════╪═════════╡
    │ bm25 ┆ ours ┆ 0.75 ┆ 2       │
    │ ours ┆ bm25 ┆ 0.75 ┆ 2       │
    └──────┴──────┴──────┴─────────┘
    """
    rows = chart_rows.collect_one_grader("frame", frame, "a", "b")
    rows = chart_rows.build_query_rows(rows, {"a": "a", "b": "b"}, {"mean": measure})
    aggregates = pl.col("mean").mean(), pl.len().alias("queries")
    table = rows.group_by("a", "b", maintain_order=True).agg(*aggregates)
    pairs, names = table.height, pair_rows.order_by_similarity(table)
    is_clustered = len(names) > 2 and 2 * pairs == len(names) * (len(names) - 1)  # noqa: PLR2004
    # It is unknown whether a measure of another name is symmetric.
    parsed = Measure.parsed(measure)
    if parsed is not None and parsed.definition.is_symmetric:
        table = pair_rows.add_mirrored(table)
    chart_checks.check_row_count("frame", table)
    low, high = float(table["mean"].min()), float(table["mean"].max())  # type: ignore[arg-type]
    scale_end = max(1.0, high, -low)
    colours = style.build_cell_colours(scale_end)
    if low < 0:
        scale = alt.Scale(domain=[-scale_end, scale_end], scheme="blueorange", reverse=True)
        colours = style.CellColours(scale, style.INK, "white", scale_end / 2)
    cell_pixels = max(20, min(48, 480 // len(names)))
    row_axis = style.order_axis(names, labelLimit=250)
    column_axis = style.order_axis(names, labelLimit=250, labelAngle=-90, orient="top")
    base = alt.Chart().encode(
        x=alt.X("b:N", title=None, **column_axis),
        y=alt.Y("a:N", title=None, **row_axis),
        tooltip=style.list_tooltips("a:N", "b:N", *style.format_decimals("mean"), "queries:Q"),
    )
    # If no number is above 1, numbers are written without the 0 before the decimal point, so that
    # they fit into small cells.
    is_share = scale_end == 1
    number = (
        "replace(format(datum.mean, '.2f'), '0.', '.')"
        if is_share
        else "format(datum.mean, '.2~s')"
    )
    numbers = base.transform_calculate(number=number).mark_text(
        fontSize=min(12, cell_pixels * 0.42)
    )
    written = colours.choose_text_colour("abs(datum.mean)")
    fill = alt.Fill("mean:Q", title=f"mean {measure}", scale=colours.scale)
    layers = [
        base.mark_rect(stroke=style.FAINT).encode(fill=fill),
        numbers.encode(text=alt.Text("number:N"), color=written),
    ]
    facts = titles.Drawn([measure], len(names), 0, table["queries"].unique().sort().to_list())
    notes = [
        *titles.write_subtitle(facts),
        *(["similar strategies side by side"] if is_clustered else []),
    ]
    description = (
        f"mean {measure} of {format_count(pairs, 'pairs')}, from {low:.3g} to {high:.3g}; "
        f"strategies: {', '.join(names)}"
    )
    words = style.Words(titles.title_strategies("Mean", facts, pairs=pairs), notes, description)
    cell_size = alt.Step(cell_pixels)
    return style.draw_layers(
        layers, table, words, independent=["fill"], width=cell_size, height=cell_size
    )
