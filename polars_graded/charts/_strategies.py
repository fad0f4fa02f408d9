"""Charts of strategies: their means, their ranks, and their differences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import polars as pl

from polars_graded._checks import check_collected, check_confidence
from polars_graded._drawing import chart_rows, panels, style
from polars_graded._drawing.panels import Chart
from polars_graded._frames.arguments import Columns
from polars_graded._frames.tables import GRADER, Frame
from polars_graded._measuring.keywords import checks_call
from polars_graded._results import findings
from polars_graded._results.keys import collect_column_names
from polars_graded._results.measure_values import find_best_of_rows
from polars_graded._sentences import (
    format_any,
    format_part,
    format_short,
    name_interval,
    shorten_names,
    titles,
    verdicts,
)

UNDECIDED, UNTESTED = "not significant", "not tested"
"""Texts for differences without a significant p value, and without any p value."""

HOLLOW = [UNDECIDED, UNTESTED]
"""Texts for differences whose points are hollow."""

SAME_LETTER = "same letter: not significant"
"""Heading of the letters of groups."""

MAX_LARGE_PAIRS = 60
"""Maximum number of pairs in a forest with rows of the usual height; with more, rows are lower."""

SOURCES = {"trusted_": "trusted alone", "model_": "model alone", "": "both"}
"""Prefixes of columns of an estimate, and the names of the grades that it uses."""

AGREEING_ENDS = "simultaneous_low", "simultaneous_high"
"""Columns of the lower and the upper end of simultaneous intervals. These intervals agree with the
corrected p values."""


@checks_call
def strategy_bars(
    summary: Frame,
    *,
    panel: Columns | None = "measure",
    strategy: str = "strategy",
    colours: Mapping[str, str] | None = None,
) -> Chart:
    """Draw the mean of each strategy as a point.

    The mean is also written beside each point. The axis fits the means, so that differences are
    visible.

    Parameters
    ----------
    summary
        One row per measure and strategy, as `summarise` or `rank_strategies` returns it, with lines
        from `ci_low` to `ci_high` and the letters of `group`, if it has these columns.
    panel, strategy
        The columns of panels and of strategies, as for every chart. By default, each measure has a
        panel, and in a summary by segments or of several graders each of these. `panel` may be
        None.
    colours
        The colours of strategies by name, such as `{"ours": "#c00"}`. By default, the colours are
        those of the theme.

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
    table = chart_rows.build_rows(
        "summary", summary, "mean", strategy=strategy, panel=panel, unique=["strategy"]
    )
    names = chart_rows.sort_names(table, "mean", "strategy")
    facts = chart_rows.collect_title_facts(table)
    headline = titles.title_means(facts)
    if {"rank", "rank_low", "test"} <= {*table.columns}:
        headline = _write_first(table)
    points = base = alt.Chart().encode(y=alt.Y("strategy:N"))
    layers: list[alt.Chart] = []
    mark_notes: list[str] = []
    tooltip: list[Any] = ["measure:N", "strategy:N", *style.format_decimals("mean")]
    if {"ci_low", "ci_high"} <= {*table.columns} and table["ci_low"].count():
        mark_notes = [f"line: {name_interval(facts.confidence)}"]
        points, interval = style.add_interval(base, "ci_low", "ci_high")
        tooltip.append(interval)
        layers = [_draw_line(base, "ci_low", "ci_high")]
    tooltip += [
        f"{name}:{kind}" for name, kind in (("queries", "Q"), ("group", "N")) if name in table
    ]
    points = style.draw_dots(points, 50).encode(
        x=alt.X("mean:Q"), tooltip=style.list_tooltips(*tooltip)
    )
    layers += [points, style.draw_column(alt.Text("mean:Q", format=".4f"), 6)]
    if "group" in table.columns:
        layers += [style.draw_column("group:N", 52), style.draw_heading(_head_groups(table), 62)]
    shared = alt.Encoding(
        x=style.build_means_axis("mean", style.write_mean_title(table)),
        y=style.build_names_axis("strategy", names),
        color=style.encode_few_names(names, strategy, colours),
    )
    notes, sharing = titles.count_queries(facts), style.choose_panel_axis(table)
    return panels.draw_forest(
        layers, table, panel, headline, notes, mark_notes, sharing, encoding=shared
    )


@checks_call
def strategy_ranks(
    ranks: Frame,
    *,
    panel: Columns | None = "measure",
    strategy: str = "strategy",
    colours: Mapping[str, str] | None = None,
) -> Chart:
    """Draw the rank of each strategy with its interval and its groups.

    `strategy_bars` draws means in place of ranks.

    Parameters
    ----------
    ranks
        One row per measure and strategy, as `rank_strategies` returns it.
    panel, strategy
        The columns of panels and of strategies, as for `strategy_bars`. `panel=None` draws no
        panels.
    colours
        The colours of strategies by name, such as `{"ours": "#c00"}`. By default, the colours are
        those of the theme.

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
    >>> ranks = rank_strategies(per_query)
    >>> chart = strategy_ranks(ranks)
    >>> print(" ".join(chart.title["text"]))
    No strategy is clearly first, both may be: ours and bm25 (paired t test)
    """
    table = chart_rows.build_rows(
        "ranks",
        ranks,
        *("rank", "rank_low", "rank_high"),
        text_columns=["measure", "group"],
        strategy=strategy,
        panel=panel,
        unique=["strategy"],
    )
    names = chart_rows.sort_names(table.with_columns(-pl.col("rank")), "rank", "strategy")
    facts = chart_rows.collect_title_facts(table)
    notes = titles.count_queries(facts)
    notes.append(findings.describe_rank_intervals(table, facts.confidence))
    base = alt.Chart().encode(y=alt.Y("strategy:N"))
    points = style.draw_dots(base, 50).encode(x=alt.X("rank:Q"))
    points = points.transform_calculate(interval="datum.rank_low + ' to ' + datum.rank_high")
    tooltip = style.list_tooltips("measure:N", "strategy:N", "rank:Q", "group:N", "interval:N")
    layers = [
        _draw_line(base, "rank_low", "rank_high"),
        points.encode(tooltip=tooltip),
        style.draw_column("group:N", 8),
        style.draw_heading(_head_groups(table), 18),
    ]
    last = int(table["rank_high"].max())  # type: ignore[arg-type]
    ticks = style.choose_rank_ticks(max(2, last))
    x_axis = style.bound_axis((0.5, last + 0.5), format=",d", values=ticks)
    shared = alt.Encoding(
        x=alt.X(
            "rank:Q",
            title=style.write_mean_title(table, "rank by mean ", "rank" if panel is None else ""),
            **x_axis,
        ),
        y=style.build_names_axis("strategy", names),
        color=style.encode_few_names(names, strategy, colours),
    )
    return panels.draw_forest(
        layers, table, panel, _write_first(table), notes, [], "shared", encoding=shared
    )


def _head_groups(rank_table: pl.DataFrame) -> str:
    """Return the heading of the letters of groups."""
    return SAME_LETTER + (" or not tested" if findings.count_untested_pairs(rank_table) else "")


def _write_first(rank_table: pl.DataFrame) -> str:
    """Write the title, which states the strategies that may be first.

    For several measures or panels, write a title such as "ours is clearly first by 2 of 3
    measures".
    """
    key = "panel" if "panel" in rank_table.columns else "measure"
    names = rank_table["strategy"].unique().sort()
    # Names are shortened in the same way as on the axis, which shows all strategies.
    short_name = pl.col("strategy").replace_strict(names, shorten_names(names.to_list()))
    rank_table = rank_table.with_columns(short_name)
    groups = rank_table.partition_by(key, maintain_order=True)
    firsts = [table.sort("rank").filter(rank_low=1)["strategy"].to_list() for table in groups]
    tests = findings.name_tests(rank_table, alone=rank_table["strategy"].n_unique() == 2)  # noqa: PLR2004
    if len(groups) == 1:
        sentence = verdicts.name_first(firsts[0], rank_table.height)
        return verdicts.write_title(sentence, tests)
    are_measures = (rank_table[key] == rank_table["measure"]).all()
    where, group_word = ("by", "measures") if are_measures else ("in", "panels")
    n_clear = sum(len(first) == 1 for first in firsts)
    clear_names = {first[0] for first in firsts if len(first) == 1}
    subject = clear_names.pop() if len(clear_names) == 1 else "One strategy"
    finding = f"{subject} is clearly first {where} {format_part(n_clear, len(groups), group_word)}"
    if not n_clear:
        finding = f"No strategy is clearly first {where} {format_any(len(groups), group_word)}"
    return verdicts.write_title([finding], tests)


@checks_call
def comparison_forest(
    comparison: Frame,
    *,
    confidence: float = 0.95,
    panel: Columns | None = "measure",
    strategy: str = "strategy",
) -> Chart:
    """Draw each difference to a baseline as a point with its interval.

    The points of significant differences are filled, and the others are hollow: those that are not
    significant, and those that could not be tested. All pairs of many
    strategies make a tall chart: 25 strategies have 300 pairs. `comparison_matrix` shows all pairs
    at a glance. To draw fewer pairs here, compare with a baseline, or filter the pairs.

    Results of several graders have one interval per grader. Those of
    `trust.prediction_powered_means` and of `trust.prediction_powered_differences` have three: from
    the trusted grades alone, from the model's grades alone, and from both. The distance between
    "model alone" and "both" shows the bias of the model.

    Intervals are from `simultaneous_low` to `simultaneous_high`, which agree with the corrected p.
    Without them, each single difference has its interval from `ci_low` to
    `ci_high`, which may disagree with p.

    Parameters
    ----------
    comparison
        One row per measure and pair, as `compare` returns it, or prediction-powered estimates. A
        null interval is not drawn. `rope=` is a shaded region.
    confidence
        A difference is significant if `p_corrected` is at most 1 - `confidence`. It is not tested
        if `p_corrected` is null, for example if it is the same in every query.
    panel, strategy
        The columns of panels and of strategies, as for every chart. By default, each measure has a
        panel, and in a comparison by segments each segment. `panel` may be None. Prediction-powered
        estimates of several models have a panel per model.

    Returns
    -------
    LayerChart or FacetChart
        The rows are those of `comparison`, with `pair` (the strategy, and its baseline if there are
        several baselines), `significance`, and `panel` if panels are drawn. The largest difference
        of the first measure is at the top. Each row of prediction-powered estimates
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
    ┌──────┬──────────────┐
    │ pair ┆ significance │
    │ ---  ┆ ---          │
    │ str  ┆ str          │
    ╞══════╪══════════════╡
    │ ours ┆ p ≤ 0.1      │
    └──────┴──────────────┘
    """
    error_rate = check_confidence(confidence)
    frame = check_collected("comparison", comparison)
    is_difference = "trusted_mean" not in frame.columns
    value = "difference" if is_difference else "mean"
    are_estimates = f"trusted_{value}" in frame.columns
    has_graders = GRADER in {*frame.columns} - collect_column_names(panel) and not are_estimates
    source = "source" if are_estimates else GRADER if has_graders else None
    text_columns = ["measure", *([GRADER] if has_graders else [])]
    number_columns = [value, "ci_low", "ci_high"]
    if is_difference:
        text_columns.append("baseline")
        number_columns.append("p_corrected")
    table = chart_rows.build_rows(
        "comparison",
        frame,
        *number_columns,
        text_columns=text_columns,
        strategy=strategy,
        panel=panel,
        unique=["strategy", *text_columns[1:]],
    )
    facts = chart_rows.collect_title_facts(table)
    versus = is_difference and table["baseline"].n_unique() > 1
    headline = write_finding(table, error_rate) if is_difference else titles.title_means(facts)
    notes = titles.count_queries(facts)
    if are_estimates:
        notes = [f"{note} with trusted grades" for note in notes]
    pair = (
        pl.format("{} \N{MINUS SIGN} {}", "strategy", "baseline") if versus else pl.col("strategy")
    )
    table = table.with_columns(pair.alias("pair"))
    pairs = chart_rows.sort_names(table, value, "pair")
    end_columns = "ci_low", "ci_high"
    if are_estimates:
        table = _split_sources(table, value)
    elif is_difference:
        has_agreeing = {*AGREEING_ENDS} <= {*table.columns} and table[AGREEING_ENDS[0]].count()
        end_columns = AGREEING_ENDS if has_agreeing else end_columns
        label = pl.lit(f"{findings.name_p(table)} ≤ {error_rate:g}")
        is_untested = pl.col("p_corrected").is_null()
        no_test = pl.when(is_untested).then(pl.lit(UNTESTED)).otherwise(pl.lit(UNDECIDED))
        table = table.with_columns(
            significance=pl.when(findings.is_significant(error_rate)).then(label).otherwise(no_test)
        )
    is_long = len(pairs) > MAX_LARGE_PAIRS
    step = (10 if is_long else 20) if source is None else 8 if is_long else 14
    layers = _draw_reference(table) if is_difference else []
    layers += _draw_estimates(table, value, end_columns, source, 25 if is_long else 50)
    words = ("difference of ", "difference of means") if is_difference else ("mean ", "mean")
    names_axis = style.build_names_axis("pair", pairs)
    shared = alt.Encoding(
        x=style.build_means_axis(value, style.write_mean_title(table, *words)),
        y=style.build_pairs_axis(table, pairs) if versus else names_axis,
        color=_encode_forest(table, source),
    )
    return panels.draw_forest(
        layers,
        table,
        panel,
        headline,
        notes,
        _describe_marks(table, end_columns, error_rate),
        style.choose_panel_axis(table, value),
        encoding=shared,
        height=alt.Step(step),
    )


def write_finding(comparison: pl.DataFrame, error_rate: float) -> str:
    """Write how many differences are significant.

    With a single baseline, write their directions, too.
    """
    counts = findings.count_directions(comparison, error_rate)
    baselines = comparison["baseline"].unique().to_list()
    strategies = comparison["strategy"].unique().to_list()
    sentence = verdicts.count_significant(counts)
    if len(baselines) == 1:
        # Names are shortened in the same way as on the axis, which shows all strategies.
        *names, baseline = shorten_names([*strategies, *baselines])
        only_strategy = names[0] if comparison.height == 1 else None
        row_word = "comparisons" if comparison.height > len(strategies) else "strategies"
        sentence = verdicts.compare_with_baseline(counts, baseline, only_strategy, row_word)
    is_alone = comparison["measure"].is_unique().all() and findings.name_p(comparison) == "p"
    return verdicts.write_title(sentence, findings.name_tests(comparison, alone=is_alone))


def _find_sides(comparison: pl.DataFrame) -> list[tuple[Any, int, str]]:
    """Return the alignment, the offset in pixels and the words of the two sides of 0.

    There are no words if a measure has no better side, or if measures have different ones.
    """
    tables = comparison.partition_by("measure", maintain_order=True)
    directions = {find_best_of_rows(table) for table in tables}
    words = ["worse", "better"]
    if comparison["baseline"].n_unique() > 1:
        words = ["second better", "first better"]
    if directions == {"lowest"}:
        words.reverse()
    elif directions != {"highest"}:
        return []
    return [("right", -5, f"← {words[0]}"), ("left", 5, f"{words[1]} →")]


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
    layers = [style.draw_rule("x", "difference")]
    base = style.build_one_row().transform_calculate(difference="0").encode(x=alt.X("difference:Q"))
    if "rope" in comparison.columns and (rope := comparison["rope"].max()):
        region = base.transform_calculate(difference=f"-{rope!r}", end=repr(rope))
        height: dict[str, Any] = {"y": alt.YValue(0), "y2": alt.Y2Value("height")}
        grey = alt.ColorValue(style.DOUBT)
        region = region.mark_rect(opacity=0.2).encode(x2=alt.X2("end"), color=grey, **height)
        layers.insert(0, region)
    for align, dx, text in _find_sides(comparison):
        words = base.mark_text(align=align, dx=dx, dy=-9, clip=False)
        layers.append(
            words.encode(text=alt.TextValue(text), color=style.draw_ink(), y=alt.YValue(0))
        )
    return layers


def _draw_estimates(
    table: pl.DataFrame, value: str, end_columns: tuple[str, str], source: str | None, size: int
) -> list[alt.Chart]:
    """Draw intervals and points, which are hollow if a difference is not significant."""
    base = alt.Chart().encode(y=alt.Y("pair:N"))
    points, interval = style.add_interval(base, *end_columns)
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
    line = _draw_line(base, *end_columns)
    if "significance" not in table.columns:
        points = points.encode(x=alt.X(f"{value}:Q"), tooltip=style.list_tooltips(*tooltip))
        return [line, style.draw_dots(points, size)]
    points, p = style.add_p(points, findings.name_p(table))
    points = points.encode(x=alt.X(f"{value}:Q"), tooltip=style.list_tooltips(*tooltip, p))
    is_hollow = f"indexof({HOLLOW}, datum.significance) >= 0"
    hollow = points.transform_filter(is_hollow).mark_point(
        size=size, strokeWidth=1.5, opacity=1, fill=alt.ExprRef(style.PAPER)
    )
    filled = points.transform_filter(f"!({is_hollow})")
    return [line, hollow, style.draw_dots(filled, size)]


def _encode_forest(table: pl.DataFrame, source: str | None) -> Any:
    """Return the colours: of graders and kinds of grades, or of significance."""
    if source is not None:
        names = table[source].unique(maintain_order=True).to_list()
        return style.encode_names(names, "grades", field=source, legend=style.build_legend(names))
    is_grey = alt.FieldOneOfPredicate(field="significance", oneOf=HOLLOW)
    return style.choose_value(alt.ColorValue, is_grey, style.DOUBT, style.TEXT_COLOUR)


def _describe_marks(
    table: pl.DataFrame, end_columns: tuple[str, str], error_rate: float
) -> list[str]:
    """Return texts that explain the marks."""
    mark_notes = []
    if table[end_columns[0]].count():
        mark_notes.append(f"line: {name_interval(chart_rows.find_confidence(table))}")
        if end_columns == AGREEING_ENDS:
            mark_notes[0] += f", {findings.describe_agreement(table)}"
        elif "significance" in table.columns:
            mark_notes[0] += " of each difference alone"
    if "significance" not in table.columns:
        return mark_notes
    rope: Any = table["rope"].max() if "rope" in table.columns else None
    shaded = [f"shaded: negligible, up to {format_short(rope)}"] if rope else []
    # A line does not end inside of this text.
    hollow = [text for text in HOLLOW if text in table["significance"]] or [UNDECIDED]
    filled = f"● {findings.name_p(table)} ≤ {error_rate:g} " if table["p_corrected"].count() else ""
    key = style.keep_together(f"{filled}○ {' or '.join(hollow)}")
    return [*mark_notes, key, *shaded]


def _draw_line(base: alt.Chart, low: str, high: str) -> alt.Chart:
    """Draw a line from one field to another."""
    return base.mark_rule(strokeWidth=2).encode(x=alt.X(f"{low}:Q"), x2=alt.X2(f"{high}:Q"))
