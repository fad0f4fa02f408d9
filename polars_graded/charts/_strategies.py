"""Charts of strategies: their means, their differences, and their similarities."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import altair as alt
import polars as pl

from polars_graded._checks import check_choice, check_collected, check_level
from polars_graded._drawing import bins, chart_checks, chart_rows, pair_rows, style
from polars_graded._drawing.chart_rows import Frame
from polars_graded._drawing.style import Chart
from polars_graded._frames.arguments import Columns
from polars_graded._frames.inputs import GRADER
from polars_graded._frames.sorting import sort_naturally
from polars_graded._measuring.keywords import checks_keywords
from polars_graded._measuring.names import Measure
from polars_graded._results.best_values import find_direction_of_rows
from polars_graded._results.findings import (
    count_directions,
    describe_agreement,
    is_significant,
    name_p,
    name_tests,
)
from polars_graded._results.keys import collect_column_names
from polars_graded._results.prediction_powered import compute_median_width_change
from polars_graded._results.regrading import compute_mean_bounds
from polars_graded._sentences import (
    format_count,
    format_percent,
    format_short,
    shorten_names,
    titles,
    verdicts,
)
from polars_graded.charts._over_time import draw_over_time, find_time
from polars_graded.charts._ranks import SAME_LETTER, write_first

MINUS_SIGN = "\u2212"
"""The mark of a significant difference below 0."""

UNDECIDED = "not significant"
"""The text for differences that are not significant."""

UNDECIDED_OPACITY = 0.25
"""Opacity of differences that are not significant."""

SOURCES = {"trusted_": "trusted alone", "model_": "model alone", "": "both"}
"""Prefixes of columns of an estimate, and the names of the grades that it uses."""

MAX_HISTOGRAMS = 9
"""Maximum number of pairs with a histogram each. The values of more pairs are counted together."""


@checks_keywords
def strategy_bars(
    summary: Frame,
    *,
    panel: Columns | None = "measure",
    strategy: str = "strategy",
    colours: Mapping[str, str] | None = None,
    highlight: Any = None,
) -> Chart:
    """Draw the mean of each strategy, as a point or as a line over time.

    The mean is also written beside each point. The axis fits the means, so that differences are
    visible. For a summary by segments of time, each strategy is a line with its interval as a band.
    Segments of time are dates, and texts such as "2026-03", "2026-W07" and "2026-Q1".

    For `trust.unjudged_bounds`, the point is the mean with unjudged documents as irrelevant, and
    the line ends at the mean with unjudged documents at the highest grade.

    Parameters
    ----------
    summary
        One row per measure and strategy, as `summarise` or `rank_strategies` returns it, with lines
        from `ci_low` to `ci_high` and the letters of `group`, if it has these columns; or one row
        per measure, strategy and query, as `trust.unjudged_bounds` returns it.
    panel, strategy
        The columns of panels and of strategies, as for every chart. By default, each measure has a
        panel, and in a summary by segments each segment. `panel` may be None.
    colours
        The colours of strategies by name, such as `{"ours": "#c00"}`. By default, the colours are
        those of the theme.
    highlight
        The strategy that has a colour; the others are grey.

    Returns
    -------
    LayerChart or FacetChart
        `chart.data` has the rows of `summary` whose mean is a finite number. The column `strategy`
        contains text. If panels are drawn, a column `panel` with text is added. The strategy with
        the highest mean of the first measure is at the top. For unjudged documents, the rows have
        the means `mean` (of `value`) and `if_best` (of `value_if_best`). The smaller of the two is
        also in `low`, the larger in `high`. `beyond` is the mean of min(`value`, `value_if_best`) +
        `residual`, to which a thin line extends. `queries` is the number of queries in which
        `value` and `value_if_best` are finite.

    Notes
    -----
    NDCG and average precision also depend on the number of relevant documents, which further
    judgments change. Their values may be outside the line of unjudged documents, so the better
    strategy is unknown even if two lines do not overlap.

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
    summary = check_collected("summary", summary)
    keys: dict[str, Any] = {"strategy": strategy, "panel": panel}
    if time := find_time(summary, **keys):
        return draw_over_time(summary, time, **keys, colours=colours, highlight=highlight)
    are_bounds = {"value", "value_if_best"} <= {*summary.columns}
    if are_bounds:
        table = _average_bounds(summary, **keys)
    else:
        keys |= {"unique_column": "strategy", "draws_each_row": True}
        table = chart_rows.build_result_rows("summary", summary, "mean", **keys)
    names = chart_rows.sort_names(table, "mean", "strategy")
    facts = chart_rows.collect_title_facts(table)
    heading = titles.title_strategies("Mean" if len(facts.measures) == 1 else "Means", facts)
    title = [style.write_mean_title(table)]
    ends = ("low", "high") if are_bounds else ("ci_low", "ci_high")
    layers: list[alt.Chart] = []
    tooltip: list[Any] = []
    base = alt.Chart().encode(y=alt.Y("strategy:N"))
    points = base
    if are_bounds:
        heading += ", if all unjudged documents are irrelevant or all are the best"
        title.append("● unjudged documents irrelevant, line: up to their best case")
        tooltip = [alt.Tooltip("if_best:Q", title="with unjudged as best", format=".4f")]
        if not table["beyond"].is_null().all():
            title[1] += ", thin: also beyond the end"
            layers.append(_draw_line(base, "high", "beyond", 1))
    elif {*ends} <= {*table.columns} and table["ci_low"].null_count() < table.height:
        level = "" if facts.confidence is None else f"{format_percent(facts.confidence)} "
        title[0] += f", line: {level}interval"
        points, interval = style.add_interval(base, *ends)
        tooltip = [interval]
    if {*ends} <= {*table.columns}:
        layers.append(_draw_line(base, *ends))
    if {"rank", "rank_low", "test"} <= {*table.columns}:
        heading = write_first(table)
    tooltip = ["measure:N", "strategy:N", *style.format_decimals("mean"), *tooltip]
    tooltip += [
        f"{name}:{kind}" for name, kind in (("queries", "Q"), ("group", "N")) if name in table
    ]
    points = style.draw_dots(points, 50).encode(
        x=alt.X("mean:Q"), tooltip=style.list_tooltips(*tooltip)
    )
    layers += [points, style.draw_column(alt.Text("mean:Q", format=".4f"), 6)]
    if "group" in table.columns:
        layers += [style.draw_column("group:N", 52), style.draw_heading(SAME_LETTER, 62)]
    scale = alt.Scale(zero=False, padding=style.INTERVAL_PADDING)
    shared = alt.Encoding(
        x=alt.X("mean:Q", title=title, scale=scale, axis=style.build_means_axis()),
        y=style.build_names_axis("strategy", names),
        color=style.encode_few_names(names, strategy, colours, highlight),
    )
    first = table.filter(panel=table["panel"][0]) if chart_rows.has_panels(table) else table
    means = first.select("strategy", "mean").sort("mean", descending=True)
    measure = "" if first["measure"].n_unique() > 1 else f" {first['measure'][0]}"
    described = style.list_values(f"mean{measure}", means.iter_rows())
    words = style.Words(heading, titles.write_subtitle(facts), described)
    sharing = style.choose_panel_axis(table)
    return style.draw_rows(layers, table, panel, words, sharing, encoding=shared)


def _average_bounds(bounds: pl.DataFrame, strategy: str, panel: Columns | None) -> pl.DataFrame:
    """Return the means of `unjudged_bounds` over queries."""
    numbers = ["value", "value_if_best", "residual"]
    rows = chart_rows.build_result_rows("bounds", bounds, *numbers, strategy=strategy, panel=panel)
    rows = rows.drop_nulls("value_if_best")
    chart_checks.check_not_empty("bounds", rows, "value_if_best")
    keys = ["panel", "measure", "strategy"][panel is None :]
    means = compute_mean_bounds(rows, keys)
    chart_checks.check_row_count("bounds", means)
    return means


def _draw_line(base: alt.Chart, low: str, high: str, width: int = 2) -> alt.Chart:
    """Draw a line from one field to another."""
    return base.mark_rule(strokeWidth=width).encode(x=alt.X(f"{low}:Q"), x2=alt.X2(f"{high}:Q"))


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


def _find_sides(comparison: pl.DataFrame) -> tuple[str, str] | None:
    """Return the words for the two sides of 0, the side below 0 first.

    The result is None if a measure has no better side, or if measures have different ones.
    """
    measures = comparison.partition_by("measure", maintain_order=True)
    better, worse = "better", "worse"
    if comparison["baseline"].n_unique() > 1:
        better, worse = "first better", "second better"
    sides = {"highest": (worse, better), "lowest": (better, worse)}
    directions = {find_direction_of_rows(rows) for rows in measures}
    return sides.get(directions.pop()) if len(directions) == 1 else None


@checks_keywords
def comparison_forest(
    comparison: Frame,
    *,
    confidence: float = 0.95,
    panel: Columns | None = "measure",
    strategy: str = "strategy",
    colours: Mapping[str, str] | None = None,
    highlight: Any = None,
) -> Chart:
    """Draw each difference to a baseline as a point with its interval.

    The points of significant differences are filled, and the others are hollow. All pairs of many
    strategies make a tall chart: 25 strategies have 300 pairs. `comparison_matrix` shows all pairs
    at a glance. To draw fewer pairs here, compare with a baseline, or filter the pairs.

    Results of several graders have one interval per grader. Those of
    `trust.prediction_powered_means` and of `trust.prediction_powered_differences` have three: from
    the trusted grades alone, from the model's grades alone, and from both. The distance between
    "model alone" and "both" shows the bias of the model.

    Intervals are from `simultaneous_low` to `simultaneous_high`, which agree with the corrected p.
    Without them, as for the Wilcoxon test, each single difference has its interval from `ci_low` to
    `ci_high`, which may disagree with p.

    Parameters
    ----------
    comparison
        One row per measure and pair, as `compare` returns it, or prediction-powered estimates. A
        null interval is not drawn. `rope=` is a shaded region.
    confidence
        A difference is significant if `p_corrected` is at most 1 - `confidence`. A null
        `p_corrected` is not significant. For a test that compares ranks, the signs of
        `rank_biserial` and `difference` must also be equal.
    panel, strategy
        The columns of panels and of strategies, as for every chart. By default, each measure has a
        panel, and in a comparison by segments each segment. `panel` may be None. For prediction-
        powered estimates of several models, pass one measure and `panel="grader"`.
    colours
        The colours of strategies by name, such as `{"ours": "#c00"}`; of graders, if there are
        several. By default, significant differences have the colour of text, and others are grey.
    highlight
        The strategy (or grader) that has a colour; the others are grey.

    Returns
    -------
    LayerChart or FacetChart
        The rows are those of `comparison`, with `pair` (the strategy, and its baseline if there are
        several baselines), `significance`, and `panel` if panels are drawn. The largest difference
        of the first measure is at the top. With several baselines and without panels, the strategy
        with the higher mean comes first in each pair. Each row of prediction-powered estimates
        becomes three rows. Their `source` is "trusted alone", "model alone" or "both". They have
        the estimate in `difference` or `mean` and the interval from `ci_low` to `ci_high`.

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
    frame = check_collected("comparison", comparison)
    value = "mean" if "trusted_mean" in frame.columns else "difference"
    are_estimates = f"trusted_{value}" in frame.columns
    has_graders = GRADER in {*frame.columns} - collect_column_names(panel) and not are_estimates
    texts = ["measure", *([GRADER] if has_graders else [])]
    numbers = [value, "ci_low", "ci_high"]
    if value == "difference":
        texts, numbers = [*texts, "baseline"], [*numbers, "p_corrected"]
    keys: dict[str, Any] = {"texts": texts, "strategy": strategy, "panel": panel}
    table = chart_rows.build_result_rows("comparison", frame, *numbers, **keys, draws_each_row=True)
    facts = chart_rows.collect_title_facts(table)
    versus = value == "difference" and table["baseline"].n_unique() > 1
    finding = titles.title_strategies("Mean" if len(facts.measures) == 1 else "Means", facts)
    if value == "difference":
        finding = _write_finding(table, level)
    notes = titles.write_subtitle(facts, "difference of mean" if value == "difference" else "mean")
    if are_estimates:
        notes = [f"{titles.count_queries(facts)} with trusted grades"] * bool(facts.queries)
        notes += titles.write_width_change(compute_median_width_change(table))
    elif versus and not chart_rows.has_panels(table):
        table = pair_rows.put_higher_first(table)
    table = table.with_columns(pair_rows.build_pair_name(versus=versus).alias("pair"))
    source = "source" if are_estimates else GRADER if has_graders else None
    columns = ["pair", source] if source is not None else ["pair"]
    pairs = chart_rows.sort_names(table, value, "pair")
    ends = pair_rows.choose_interval_ends(table)
    if are_estimates:
        table, ends = _split_sources(table, value), ("ci_low", "ci_high")
    elif value == "difference":
        label = pl.lit(f"{name_p(table)} ≤ {level:g}")
        significant = is_significant(table.columns, level)
        significance = pl.when(significant).then(label).otherwise(pl.lit(UNDECIDED))
        table = table.with_columns(significance.alias("significance"))
    chart_checks.check_not_repeated("comparison", table, "pair", panel, columns)
    step = 20 if len(pairs) <= style.MAX_NAMED_MARKS else 10
    if source is not None:
        step = 14 if len(pairs) <= style.MAX_COLOURS else 8
    layers = _draw_reference(table) if value == "difference" else []
    layers += _draw_estimates(table, value, ends, source, 50 if step > 10 else 25)  # noqa: PLR2004
    scale = alt.Scale(zero=False, padding=style.INTERVAL_PADDING)
    title = _write_forest_title(table, value, ends, level)
    names_axis = style.build_names_axis("pair", pairs)
    if versus:
        names_axis["axis"] = style.build_pairs_axis(table)
    chosen: dict[str, Any] = {"colours": colours, "highlight": highlight}
    shared = alt.Encoding(
        x=alt.X(f"{value}:Q", title=title, scale=scale, axis=style.build_means_axis()),
        y=names_axis,
        color=_encode_forest(table, source, strategy, chosen),
    )
    described = f"{title[0]}, {format_count(len(pairs), 'rows')}"
    words, sharing = style.Words(finding, notes, described), style.choose_panel_axis(table, value)
    return style.draw_rows(
        layers, table, panel, words, sharing, encoding=shared, height=alt.Step(step)
    )


def _split_sources(estimates: pl.DataFrame, value: str) -> pl.DataFrame:
    """Return three rows per estimate: from trusted grades, from a model's, and from both."""
    return pl.concat(
        estimates.with_columns(
            pl.col(f"{prefix}{value}").alias(value),
            *(pl.col(f"{prefix or 'ci_'}{end}").alias(f"ci_{end}") for end in ("low", "high")),
            source=pl.lit(name),
        )
        for prefix, name in SOURCES.items()
    )


def _draw_reference(comparison: pl.DataFrame) -> list[alt.Chart]:
    """Draw a line at 0, the words for both sides, and the region of negligible differences."""
    base = style.build_one_row().transform_calculate(difference="0").encode(x=alt.X("difference:Q"))
    top: dict[str, Any] = {"y": alt.YValue(0)}
    full_height = top | {"y2": alt.Y2Value("height")}
    layers = [base.mark_rule().encode(color=alt.ColorValue("gray"), **full_height)]
    if "rope" in comparison.columns and (rope := comparison["rope"].max()):
        region = base.transform_calculate(difference=f"-{rope!r}", end=repr(rope)).mark_rect()
        region = region.encode(x2="end:Q", color=alt.ColorValue(style.DOUBT), **full_height)
        layers.insert(0, region.encode(opacity=alt.OpacityValue(0.2)))
    left, right = _find_sides(comparison) or ("", "")
    sides: Any = ("right", -5, f"← {left}"), ("left", 5, f"{right} →")
    for align, dx, text in sides:
        words = base.mark_text(align=align, dx=dx, dy=-9, clip=False)
        words = words.encode(text=alt.TextValue(text), color=style.draw_ink(), **top)
        layers += [words] if left else []
    return layers


def _draw_estimates(
    table: pl.DataFrame, value: str, ends: tuple[str, str], source: str | None, size: int
) -> list[alt.Chart]:
    """Draw intervals and points, which are hollow if a difference is not significant."""
    base = alt.Chart().encode(y=alt.Y("pair:N"))
    points, interval = style.add_interval(base, *ends)
    keys = ["strategy", "baseline", source, "measure"]
    tooltip: list[Any] = [f"{each}:N" for each in keys if each in table.columns]
    tooltip += [*style.format_decimals(value), interval]
    if source is not None:
        domain = table[source].unique(maintain_order=True).to_list()
        offset = alt.YOffset(f"{source}:N", sort=domain)
        base, points = (each.encode(yOffset=offset) for each in (base, points))
        shape: dict[str, Any] = {
            "scale": alt.Scale(domain=domain),
            "legend": style.build_legend(domain),
        }
        points = points.encode(shape=alt.Shape(f"{source}:N", title="grades", **shape))
    line = _draw_line(base, *ends)
    if "significance" not in table.columns:
        points = points.encode(x=alt.X(f"{value}:Q"), tooltip=style.list_tooltips(*tooltip))
        return [line, style.draw_dots(points, size)]
    points, p = style.add_p(points, name_p(table))
    points = points.encode(x=alt.X(f"{value}:Q"), tooltip=style.list_tooltips(*tooltip, p))
    is_hollow = f"datum.significance === '{UNDECIDED}'"
    hollow = points.transform_filter(is_hollow).mark_point(
        size=size, strokeWidth=1.5, opacity=1, fill=alt.ExprRef(style.PAPER)
    )
    filled = points.transform_filter(f"!({is_hollow})")
    return [line, hollow, style.draw_dots(filled, size)]


def _encode_forest(
    table: pl.DataFrame, source: str | None, strategy: str, chosen: dict[str, Any]
) -> Any:
    """Return the colours: of graders, of strategies that the caller chose, or of significance."""
    if source is not None:
        names = table[source].unique(maintain_order=True).to_list()
        return style.encode_names(
            names, "grades", field=source, legend=style.build_legend(names), **chosen
        )
    if chosen["colours"] or chosen["highlight"] is not None:
        names = sort_naturally(table["strategy"].unique().to_list())
        return style.encode_names(names, strategy, **chosen)
    is_grey = alt.FieldEqualPredicate(field="significance", equal=UNDECIDED)
    return style.choose_value(alt.ColorValue, is_grey, style.DOUBT, style.TEXT_COLOUR)


def _write_forest_title(
    table: pl.DataFrame, value: str, ends: tuple[str, str], level: float
) -> list[str]:
    """Return the lines of the title of the axis, which explain the marks."""
    words = ("mean ", "mean") if value == "mean" else ("difference of ", "difference of means")
    title = [style.write_mean_title(table, *words)]
    confidence = chart_rows.find_confidence(table)
    if table[ends[0]].null_count() < table.height:
        share = "" if confidence is None else f"{format_percent(confidence)} "
        title.append(f"line: {share}interval")
        # The Wilcoxon test compares ranks, so that no interval of means agrees with it.
        if ends == pair_rows.AGREEING_ENDS:
            title[1] += f", {describe_agreement(table)}"
        elif "significance" in table.columns:
            title[1] += " of each difference alone"
    if "significance" not in table.columns:
        return title
    key = f"● {name_p(table)} ≤ {level:g} ○ {UNDECIDED}"
    rope: Any = table["rope"].max() if "rope" in table.columns else None
    shaded = [f"shaded: negligible, up to {format_short(rope)}"] if rope else []
    return [*title, key, *shaded]


@checks_keywords
def comparison_matrix(
    comparison: Frame,
    *,
    confidence: float = 0.95,
    panel: Columns | None = "measure",
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
        The rows contain `measure`, segments, `strategy`, `baseline`, `difference`, `p_corrected`,
        `mark`, and `panel` if panels are drawn. More than 1500 pairs over all measures raise an
        error.

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
    comparison = check_collected("comparison", comparison)
    table = chart_rows.build_result_rows(
        "comparison", comparison, "difference", "p_corrected", **keys
    )
    finding, facts = _write_finding(table, level), chart_rows.collect_title_facts(table)
    kind = name_p(table)
    table = table.with_columns(is_significant(table.columns, level).alias("significant"))
    sign = pl.when(pl.col("difference") < 0).then(pl.lit(MINUS_SIGN)).otherwise(pl.lit("+"))
    mark = pl.when("significant").then(sign).otherwise(pl.lit(""))
    table = pair_rows.add_other_sides(table, chart_rows.find_segments(comparison, strategy))
    table = table.with_columns(mark.alias("mark")).drop("significant")
    chart_checks.check_row_count("comparison", table)
    chart_checks.check_not_repeated("comparison", table, "pair", panel, ["strategy", "baseline"])
    rows_of_strategies = table.group_by("measure", "strategy", maintain_order=True)
    means = rows_of_strategies.agg(pl.col("difference").mean())
    names = chart_rows.sort_names(means, "difference", "strategy")
    base = alt.Chart().encode(x="baseline:N", y="strategy:N")
    base, p = style.add_p(base, kind)
    numbers = style.format_decimals("difference")
    tooltip = style.list_tooltips("measure:N", "strategy:N", "baseline:N", *numbers, p)
    highest: Any = table["difference"].abs().max() or 1.0
    title = ["row minus column", f"+ and {MINUS_SIGN}: {kind} ≤ {level:g}"]
    legend = alt.Legend(values=[-highest, 0, highest], format=".3~g", titleLimit=300)
    scale = style.build_cell_scale(highest, diverging=True)
    cell_pixels = max(10, min(36, 400 // len(names)))
    signs = style.write_on_cells(base, "mark", "difference", highest, max(12, cell_pixels * 0.7))
    is_marked = "datum.mark !== ''"
    opacity = style.choose_value(alt.FillOpacityValue, is_marked, 1, UNDECIDED_OPACITY)
    cells = base.mark_rect().encode(fill=alt.Fill("difference:Q"), fillOpacity=opacity)
    layers = [cells.encode(tooltip=tooltip), signs]
    fill = alt.Fill("difference:Q", title=title, scale=scale, legend=legend)
    shared = _build_cell_axes(names, "baseline", "strategy")
    shared["x"]["title"], shared["y"]["title"] = "column: baseline", f"row: {strategy}"
    n_significant = table.filter(pl.col("mark") != "").height // 2
    description = (
        f"differences of {table.height // 2} pairs, {n_significant} with {kind} ≤ {level:g}; "
        f"by falling mean: {', '.join(names)}"
    )
    words = style.Words(finding, titles.write_subtitle(facts, "difference of mean"), description)
    size: dict[str, Any] = dict.fromkeys(("width", "height"), alt.Step(cell_pixels))
    return style.draw_panels(
        layers, table, panel, words, encoding=alt.Encoding(fill=fill, **shared), **size
    )


def _build_cell_axes(names: list[str], x: str, y: str) -> dict[str, Any]:
    """Return the axes of a matrix whose rows and columns have the same names."""
    # By default, the title of an axis is over labels that are longer than 200 pixels.
    look: dict[str, Any] = {"labelLimit": 250, "maxExtent": 300}
    columns, rows = style.order_axis(names, labelAngle=-90, **look), style.order_axis(names, **look)
    return {"x": alt.X(f"{x}:N", title=None, **columns), "y": alt.Y(f"{y}:N", title=None, **rows)}


@checks_keywords
def similarity_matrix(
    frame: Frame, measure: str, *, show: Literal["matrix", "histogram"] = "matrix"
) -> Chart:
    """Draw the mean similarity of each pair of strategies as a matrix.

    Similar strategies are side by side. If all strategies were compared with one baseline, the
    baseline comes first, and the others follow in descending order of their `mean`.

    Parameters
    ----------
    frame
        One row per pair and query, as `similarity` returns it, with the strategies `a` and `b`.
    measure
        The column of the similarity measure.
    show
        With `"histogram"`, the chart shows how the similarity of each pair is distributed over
        queries, with a panel per pair. The values of more than nine pairs are counted together.

    Returns
    -------
    LayerChart or FacetChart
        `chart.data` has one row per cell: `a` names the row of the matrix, `b` its column, `mean`
        is the mean, and `queries` the number of queries with a value. Each pair has two cells if
        the measure is symmetric and has its own name. With another measure, such as `tau_ap` or
        `relevant_entered@10`, only the cell of row `a` and column `b` is drawn. More than 3000
        cells raise an error. A histogram has one row per bin, with `low`, `high`, `count` and
        `panel` (the pair). Bins have equal widths, and 0 is an edge. A value at an edge between two
        bins is in the upper bin. The highest bin contains both of its edges.

    See Also
    --------
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
    >>> similarity_matrix(similar, "rbo", show="histogram").data
    shape: (2, 3)
    ┌─────┬──────┬───────┐
    │ low ┆ high ┆ count │
    │ --- ┆ ---  ┆ ---   │
    │ f64 ┆ f64  ┆ u32   │
    ╞═════╪══════╪═══════╡
    │ 0.5 ┆ 0.6  ┆ 1     │
    │ 0.9 ┆ 1.0  ┆ 1     │
    └─────┴──────┴───────┘
    """
    check_choice("show", show, ("matrix", "histogram"))
    rows = chart_rows.collect_one_grader("frame", frame, "a", "b")
    rows = chart_rows.build_query_rows(rows, {"a": "a", "b": "b"}, {"mean": measure})
    name = titles.name_measure(measure)
    if show == "histogram":
        return _draw_histograms(rows, name)
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
    highest = max(1.0, high, -low)
    cell_pixels = max(20, min(48, 480 // len(names)))
    base = alt.Chart().encode(x="b:N", y="a:N")
    # Numbers up to 1 have no 0 before the decimal point, so that they fit into small cells.
    number = (
        "replace(format(datum.mean, '.2f'), '0.', '.')"
        if highest == 1
        else "format(datum.mean, '.2~s')"
    )
    numbers = style.write_on_cells(base, "number", "mean", highest, min(12, cell_pixels * 0.42))
    tooltip = style.list_tooltips("a:N", "b:N", *style.format_decimals("mean"), "queries:Q")
    layers = [
        base.mark_rect().encode(fill=alt.Fill("mean:Q"), tooltip=tooltip),
        numbers.transform_calculate(number=number),
    ]
    facts = titles.Drawn([measure], len(names), 0, table["queries"].unique().sort().to_list())
    notes = [
        titles.count_queries(facts),
        *(["similar strategies side by side"] if is_clustered else []),
    ]
    description = (
        f"mean {measure} of {format_count(pairs, 'pairs')}, from {low:.3g} to {high:.3g}; "
        f"strategies: {', '.join(names)}"
    )
    words = style.Words(titles.title_strategies("Mean", facts, pairs=pairs), notes, description)
    scale = style.build_cell_scale(highest, diverging=low < 0)
    fill = alt.Fill("mean:Q", title=f"mean {name}", scale=scale)
    shared = alt.Encoding(fill=fill, **_build_cell_axes(names, "b", "a"))
    size: dict[str, Any] = dict.fromkeys(("width", "height"), alt.Step(cell_pixels))
    return style.draw_layers(layers, table, words, independent=["fill"], encoding=shared, **size)


def _draw_histograms(rows: pl.DataFrame, name: str) -> Chart:
    """Draw the distribution of the values of each pair, or of all pairs together."""
    n_pairs = rows.select("a", "b").n_unique()
    rows = pair_rows.shorten_pairs(rows)
    values = rows.select(pl.format("{} and {}", "a", "b").alias("panel"), value="mean")
    keys, word = (["panel"], "queries") if n_pairs <= MAX_HISTOGRAMS else ([], "pairs and queries")
    n_bins = min(bins.MAX_RANGE_IN_BINS, 10 + math.isqrt(rows.height // n_pairs))
    table = bins.count_by_bin(values, keys, n_bins, centred=False)
    tooltip = style.list_tooltips(*style.format_decimals("low", "high"), "count:Q")
    bars = alt.Chart().mark_bar().encode(x="low:Q", x2="high:Q", y="count:Q", tooltip=tooltip)
    shared = alt.Encoding(
        x=alt.X("low:Q", title=name, bin="binned", axis=alt.Axis(**style.UNFLUSHED_LABELS)),
        y=alt.Y("count:Q", title=word, axis=alt.Axis(format=",d", tickMinStep=1)),
    )
    heading = f"Distribution of {name}, {format_count(rows.height, 'values')}"
    words = style.Words(heading, described=f"how many queries have which {name}")
    panel = "panel" if keys else None
    size: dict[str, Any] = {} if n_pairs == 1 or panel is None else {"height": 90}
    return style.draw_panels([bars], table, panel, words, encoding=shared, **size)
