"""Charts of the reliability of results: power, stability and robustness."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, Literal

import altair as alt
import polars as pl

from polars_graded._checks import check_choice, check_level, check_number
from polars_graded._drawing import (
    axis_ends,
    chart_checks,
    chart_rows,
    curve_rows,
    line_names,
    marks,
    style,
)
from polars_graded._drawing.axis_ends import AxisEnds
from polars_graded._drawing.chart_rows import Frame
from polars_graded._drawing.style import Chart
from polars_graded._results.findings import name_p, name_tests
from polars_graded._results.regrading import AS_GIVEN, compute_mean_bounds
from polars_graded._sentences import format_percent, list_names, titles

MAX_MOVE = 1e-9
"""Maximum distance between a line and its name, if names are inside the chart.

If any name would be farther away, all names are at the ends of lines instead.
"""

SYMLOG_P = 0.001
"""Constant of the symlog axis of p, which is linear below this p and logarithmic above it."""

MIN_COMPARISONS_SHARE = 0.02
"""The classes of the largest differences are left out if together they contain less than this share
of a line's comparisons."""

MIN_COMPARISONS = 30
"""Minimum number of comparisons in a drawn class."""

SHADES = (("#a6c8e0", "#0c3964"), ("#4d7391", "#e4f1fb"))
"""Pairs of colours for a light and for a dark background. The first colour of a pair stands for the
fewest queries, the second for the most."""

NAMED_P = 0.6, 0.003
"""Values of p between which the names of lines are placed."""

MIN_VISIBLE_SHARE = 0.002
"""Thin lines of `unjudged_bounds` are drawn only if at least one of them extends beyond its thick
line by more than this share of the range of all thick lines."""

MIN_LOG_RATIO = 50
"""The axis of queries is logarithmic if the ratio of its largest to its smallest number is at least
this."""

MAX_SIZES = 4
"""Maximum number of sample sizes with a line of swap rates."""

MAX_FULL_HEIGHT_STRATEGIES = 20
"""Maximum number of strategies with rows of full height."""


def significance_curves(
    levels: Frame, *, confidence: float = 0.95, panel: str | None = None, strategy: str = "strategy"
) -> Chart:
    """Draw the p values of all pairs of strategies, one line per measure.

    The p values of a line are in descending order. The lower a line, the more pairs the measure
    distinguishes. The dashed line is at 1 - `confidence`. The pairs above the dashed line are
    undecided. The name beside a line includes the number of distinguished pairs. The share of
    distinguished pairs is the discriminative power of the measure. These are Sakai's achieved
    significance level curves (SIGIR 2006, figure 4).

    Parameters
    ----------
    levels
        One row per measure and pair, as `trust.significance_levels` returns it. The title names the
        test.
    confidence
        A pair is distinguished if p is at most 1 - `confidence`.
    panel
        A column with one panel per value, such as a test. None draws a single panel.
    strategy
        The column of strategies.

    Returns
    -------
    LayerChart or FacetChart
        The rows are those of `levels`, with three more columns. `label` is the text beside a line.
        `label_x` and `label_at` are the position of the text. A line with a text has these values
        in one row; they are null in all other rows. The axis of p is logarithmic, except near 0.

    Examples
    --------
    >>> from polars_graded.trust import significance_levels
    >>> per_query = pl.DataFrame(
    ...     {
    ...         "strategy": ["x"] * 4 + ["y"] * 4 + ["z"] * 4,
    ...         "query": ["a", "b", "c", "d"] * 3,
    ...         "ap": [0.5, 0.75, 0.5, 1.0, 0.25, 0.5, 0.5, 0.75, 0.5, 0.75, 0.25, 0.5],
    ...     }
    ... )
    >>> levels = significance_levels(
    ...     per_query, "ap", test="permutation", correction="none"
    ... )
    >>> curves = levels.pipe(significance_curves, confidence=0.75)
    >>> curves.data.select("place", "p_corrected", "label")
    shape: (3, 3)
    ┌───────┬─────────────┬────────────┐
    │ place ┆ p_corrected ┆ label      │
    │ ---   ┆ ---         ┆ ---        │
    │ u32   ┆ f64         ┆ str        │
    ╞═══════╪═════════════╪════════════╡
    │ 1     ┆ 1.0         ┆ null       │
    │ 2     ┆ 0.5         ┆ null       │
    │ 3     ┆ 0.25        ┆ ap: 1 of 3 │
    └───────┴─────────────┴────────────┘
    """
    level = check_level(confidence)
    keys: dict[str, Any] = {"strategy": strategy, "panel": panel, "texts": ["measure", "baseline"]}
    table = chart_rows.build_result_rows(
        "levels", levels, "p_corrected", positions=["place"], **keys
    )
    lines, is_distinguished = _list_line_columns(table), pl.col("p_corrected") <= level
    n_distinguished = is_distinguished.sum().over(lines).cast(pl.Int64)
    table = table.with_columns(
        n_distinguished.alias("distinguished"),
        pl.format("{}: {} of {}", "measure", n_distinguished, pl.len().over(lines)).alias("label"),
        (pl.col("p_corrected") / SYMLOG_P).log1p().alias("height"),
    )
    table = _add_crossings(_sort_and_thin(table, "place"), level)
    table = table.drop("distinguished", "height")
    x = marks.build_place_axis("place:Q", "pairs of strategies, by falling p", max(table["place"]))
    y = alt.Y(
        "p_corrected:Q",
        title=name_p(table),
        scale=alt.Scale(type="symlog", constant=SYMLOG_P, domain=[0, 1], nice=False),
        axis=alt.Axis(values=sorted({0, 0.001, 0.01, 0.1, 1, level}), format="~g"),
    )
    has_points = table["place"].n_unique() <= style.MAX_MARKED_POINTS
    line, points, *_ = _draw_measure_lines(table, x, y, has_points=has_points)
    points, p = style.add_p(points, name_p(table))
    points = points.encode(
        tooltip=style.list_tooltips("measure:N", "place:Q", "strategy:N", "baseline:N", p)
    )
    names = alt.Chart().transform_filter("isValid(datum.label_at)")
    names = names.encode(
        x=alt.X("label_x:Q", title=x["title"]),
        y=alt.Y("label_at:Q", title=y["title"], scale=y["scale"]),
        text=alt.Text("label:N"),
    )
    texts: dict[str, Any] = {"align": "left", "dx": 6, "fontSize": 11, "limit": 250}
    paper = style.find_ink_and_paper()[1]
    layers = [
        *(_draw_level(level), line, points),
        # A name has an outline in the colour of the background, so that lines do not cross it.
        names.mark_text(**texts, stroke=paper, strokeWidth=4, color=paper),
        names.mark_text(**texts).encode(color=_choose_colours(table)),
    ]
    tests = name_tests(table)
    headline = titles.title_measures("p values of all pairs", chart_rows.collect_title_facts(table))
    headline += f" ({tests})" if tests else ""
    note = f"pairs below the dashed line, p ≤ {level:g}, differ significantly"
    what, axes = "p of all pairs in falling order", ("place", "p_corrected")
    return _draw_measures(table, panel, layers, headline, note, what, axes)


def power_curves(curve: Frame, *, power: float = 0.8, panel: str | None = None) -> Chart:
    """Draw, for each number of queries, the power to find a difference.

    Each measure has a line. The large point on a line marks the number of queries in the data. The
    dashed line is the target power. The line of a measure reaches the dashed line at the number of
    queries needed for this power (`trust.queries_needed` computes this number exactly). The title
    states the difference to find. To compare measures on different scales, pass `unit="range"` to
    `trust.power_curve`. For each measure, the difference to find is then the same share (such as
    10 %) of the range of the strategies' means.

    Parameters
    ----------
    curve
        One row per measure and number of queries, as `trust.power_curve` returns it.
    power
        The target power, drawn as a dashed line.
    panel
        A column with one panel per value, such as the difference to find. None draws a single
        panel.

    Returns
    -------
    LayerChart or FacetChart
        The rows are those of `curve`, with `label` and `label_at`: the name of a line, and the
        height of the name. All names are at the same number of queries, where the lines are far
        apart. If there is no such number, the names are at the ends of the lines.

    Examples
    --------
    >>> from polars_graded.trust import power_curve
    >>> per_query = pl.DataFrame(
    ...     {
    ...         "strategy": ["bm25"] * 4 + ["ours"] * 4,
    ...         "query": ["a", "b", "c", "d"] * 2,
    ...         "ap": [0.25, 0.5, 0.5, 0.75, 0.5, 0.75, 0.5, 1.0],
    ...     }
    ... )
    >>> curve = power_curve(per_query, "ap", queries=[34], difference=0.0625)
    >>> power_curves(curve).data.select("queries", pl.col("power").round(4), "at_hand", "label")
    shape: (2, 4)
    ┌─────────┬────────┬─────────┬───────┐
    │ queries ┆ power  ┆ at_hand ┆ label │
    │ ---     ┆ ---    ┆ ---     ┆ ---   │
    │ u64     ┆ f64    ┆ bool    ┆ str   │
    ╞═════════╪════════╪═════════╪═══════╡
    │ 4       ┆ 0.1113 ┆ true    ┆ null  │
    │ 34      ┆ 0.8078 ┆ false   ┆ ap    │
    └─────────┴────────┴─────────┴───────┘
    """
    power = check_number("power", power, above=0, below=1)
    numbers, positions = ["power", "difference", "share_of_range"], ["queries", "at_hand"]
    table = chart_rows.build_result_rows("curve", curve, *numbers, positions=positions, panel=panel)
    table = table.with_columns(pl.col("at_hand").cast(pl.Boolean))
    table = _sort_and_thin(table, "queries")
    table = _add_names(table, by=["power"], ends=(0.0, 1.0), is_inside=True)
    x = _build_queries_axis(table)
    y = alt.Y(
        "power:Q",
        title="power",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(values=sorted({0, 0.2, 0.4, 0.6, 0.8, 1, power}), format="~g"),
    )
    tooltip = style.format_decimals(*numbers)
    lines = _draw_measure_lines(table, x, y, *tooltip, has_points=False)
    # A large point shows the power of the queries at hand.
    large_points = style.draw_dots(alt.Chart().transform_filter("datum.at_hand"), 90)
    tooltips = style.list_tooltips("measure:N", "queries:Q", *tooltip)
    large_points = large_points.encode(x=x, y=y, color=_choose_colours(table), tooltip=tooltips)
    given_rows = table.filter("at_hand")
    n, amounts = given_rows["queries"].unique(), given_rows["difference"].drop_nulls().to_list()
    shares = given_rows["share_of_range"].drop_nulls().to_list()
    target = titles.write_target(amounts, shares) if amounts else "a difference"
    headline = f"Power to find {target}, by number of queries"
    layers = [_draw_level(power), *lines, large_points]
    given_queries = (
        f"the {n[0]:,g} queries at hand" if len(n) == 1 and n[0] > 1 else "the queries at hand"
    )
    note = f"● {given_queries}; dashed: power {power:g}"
    what, axes = "power by number of queries", ("queries", "power")
    return _draw_measures(table, panel, layers, headline, note, what, axes)


def stability_curves(stability: Frame, *, panel: str | None = None) -> Chart:
    """Draw how well samples of queries reproduce the order of strategies.

    τ compares two orders of strategies: by their means over a sample of queries, and by their means
    over all queries. Each measure has a line, the mean τ of the samples, and a band that contains τ
    of most samples. With more than three measures, bands would hide each other, so they are drawn
    only with `panel="measure"`. With two strategies, τ of each sample is 1 or −1, and there are no
    bands.

    Parameters
    ----------
    stability
        One row per measure and number of queries, as `trust.order_stability` returns it.
    panel
        A column with one panel per value, such as `"measure"`. None draws a single panel.

    Returns
    -------
    LayerChart or FacetChart
        The rows are those of `stability`, with `label` and `label_at`: the name at the end of a
        line, and the height of the name.

    Examples
    --------
    >>> from polars_graded.trust import order_stability
    >>> per_query = pl.DataFrame(
    ...     {
    ...         "strategy": ["bm25"] * 3 + ["ours"] * 3,
    ...         "query": ["a", "b", "c"] * 2,
    ...         "ap": [0.25, 0.5, 0.75, 0.5, 0.75, 0.625],
    ...     }
    ... )
    >>> chart = order_stability(per_query, "ap", sizes=[2, 3]).pipe(stability_curves)
    >>> chart.data.select("queries", "tau", "tau_low", "label")
    shape: (2, 4)
    ┌─────────┬─────┬─────────┬───────┐
    │ queries ┆ tau ┆ tau_low ┆ label │
    │ ---     ┆ --- ┆ ---     ┆ ---   │
    │ u32     ┆ f64 ┆ f64     ┆ str   │
    ╞═════════╪═════╪═════════╪═══════╡
    │ 2       ┆ 1.0 ┆ 1.0     ┆ null  │
    │ 3       ┆ 1.0 ┆ 1.0     ┆ ap    │
    └─────────┴─────┴─────────┴───────┘
    """
    table = chart_rows.build_result_rows(
        "stability", stability, "tau", "tau_low", "tau_high", positions=["queries"], panel=panel
    )
    lines = _list_line_columns(table)
    table = _sort_and_thin(table, "queries")
    # Lines may end at the same τ. Then the mean of τ determines the order of their names.
    table = table.with_columns(pl.col("tau").mean().over(lines).alias("mean tau"))
    has_bands = panel == "measure" or table["measure"].n_unique() <= style.MAX_BANDS
    # With two strategies, τ of each sample is 1 or −1, so that a band shows nothing.
    has_two_strategies = "strategies" in table.columns and table["strategies"].max() == 2  # noqa: PLR2004
    has_bands = has_bands and not has_two_strategies
    min_tau: Any = table.select(pl.min_horizontal("tau", "tau_low" if has_bands else "tau").min())
    # An axis needs two different ends, even if all orders are equal.
    ends = min(0.9, math.floor(10 * min_tau.item()) / 10), 1.0
    table = _add_names(table, by=["tau", "mean tau"], ends=ends).drop("mean tau")
    x, title = _build_queries_axis(table), "τ to the order from all queries"
    # Without explicit ends, a band would make the axis begin at 0, and names would overlap.
    y_options = style.bound_axis(ends, zero=False)
    y = alt.Y("tau:Q", title=title, **y_options)
    layers = _draw_measure_lines(
        table, x, y, *style.format_decimals("tau", "tau_low", "tau_high"), has_points=True
    )
    if has_bands:
        low = alt.Y("tau_low:Q", title=title, **y_options)
        area = alt.Chart().mark_area(opacity=0.2).encode(x=x, y=low, y2=alt.Y2("tau_high:Q"))
        layers.insert(0, area.encode(color=_choose_colours(table), detail=alt.Detail("measure:N")))
    max_queries: Any = table["queries"].max()
    how_closely = f"How closely fewer queries order strategies as all {max_queries:,g} do"
    headline = f"{how_closely} (rank correlation τ)"
    level = chart_rows.find_confidence(table)
    share = "most" if level is None else format_percent(level)
    note = "line: mean of the samples"
    note += f"; band: {share} of the samples" if has_bands else ""
    if table["queries"].n_unique() == 1:
        note = "too few queries to draw smaller samples"
    elif has_two_strategies:
        note = "two strategies: 1 where all samples keep their order, −1 where all reverse it"
    what, axes = f"{title} by number of queries", ("queries", "tau")
    return _draw_measures(table, panel, layers, headline, note, what, axes)


def swap_rates(rates: Frame, *, rate: float = 0.05, panel: str | None = "measure") -> Chart:
    """Draw how often other queries contradict a difference of a given size.

    Each sample size has a line, whose colour is stronger for more queries. Where a line stays below
    the dashed `rate`, differences are large enough: a second sample of the same size contradicts
    them less often than this rate. After Voorhees and Buckley (SIGIR 2002), figure 1.

    Parameters
    ----------
    rates
        One row per measure, number of queries and class of differences, as `trust.swap_rate`
        returns it.
    rate
        The acceptable rate of swaps, drawn as a dashed line.
    panel
        The column of panels, or None, as for every chart.

    Returns
    -------
    LayerChart or FacetChart
        The rows are those of `rates`, with `difference` (the middle of the class), and `panel` if
        panels are drawn. At most four numbers of queries are drawn. Classes of fewer than 30
        comparisons are left out, since their rates depend on chance. The classes of the largest
        differences are also left out if together they contain fewer than 2 % of the comparisons of
        a line. If no class of a line remains, the class of the smallest differences is drawn.

    Examples
    --------
    >>> from polars_graded.trust import swap_rate
    >>> per_query = pl.DataFrame(
    ...     {
    ...         "strategy": ["bm25"] * 4 + ["ours"] * 4,
    ...         "query": ["a", "b", "c", "d"] * 2,
    ...         "ap": [0.0, 0.0, 0.0, 1.0, 0.25, 0.25, 0.25, 0.5],
    ...     }
    ... )
    >>> chart = swap_rate(per_query, "ap", sizes=2, width=0.5).pipe(swap_rates)
    >>> chart.data.select("queries", "difference", "swap_rate")
    shape: (1, 3)
    ┌─────────┬────────────┬───────────┐
    │ queries ┆ difference ┆ swap_rate │
    │ ---     ┆ ---        ┆ ---       │
    │ u32     ┆ f64        ┆ f64       │
    ╞═════════╪════════════╪═══════════╡
    │ 2       ┆ 0.25       ┆ 1.0       │
    └─────────┴────────────┴───────────┘
    """
    rate = check_number("rate", rate, above=0, below=1)
    positions = ["queries", "comparisons", "difference_from", "difference_to"]
    table = chart_rows.build_result_rows(
        "rates", rates, "swap_rate", positions=positions, panel=panel
    )
    middle = (pl.col("difference_from") + pl.col("difference_to")) / 2
    table = table.with_columns(middle.alias("difference"))
    lines = [*_list_line_columns(table), "queries"]
    table = _sort_lines(table, lines, "difference")
    comparisons = pl.col("comparisons")
    from_here = comparisons.cum_sum(reverse=True)
    has_enough = from_here >= MIN_COMPARISONS_SHARE * comparisons.sum()
    # A class with few comparisons is left out even if classes of larger differences have many.
    has_enough &= comparisons >= MIN_COMPARISONS
    table = table.filter(
        (has_enough | (~has_enough.any() & (pl.int_range(pl.len()) == 0))).over(lines)
    )
    all_sizes = table["queries"].unique().sort()
    sizes = all_sizes[curve_rows.choose_equal_steps(len(all_sizes), MAX_SIZES)].to_list()
    table = table.filter(pl.col("queries").is_in(sizes))
    table = curve_rows.thin_by_position(table, "difference")
    max_rate: Any = table["swap_rate"].max()
    highest = max(max_rate, min(2 * rate, 1))
    step = axis_ends.choose_step(highest / 5)
    axis_end = step * math.ceil(round(highest / step, 9))
    ticks = sorted({rate, *(round(step * number, 9) for number in range(11))})
    axis = alt.Axis(tickCount=5, **style.UNFLUSHED_LABELS)
    x = alt.X("difference:Q", title="difference of means in one sample", axis=axis)
    y = alt.Y(
        "swap_rate:Q",
        title="swap rate",
        scale=alt.Scale(domain=[0, axis_end]),
        axis=alt.Axis(labelExpr=style.PERCENT_LABEL, values=ticks),
    )
    # The largest size has the strongest colour; a single size has this colour too.
    shades = style.build_ramp(
        *SHADES[style.find_ink() == style.LIGHT_INK], len(sizes), single_share=1
    )
    scale = alt.Scale(domain=sizes, range=shades)
    legend = style.build_legend(symbolType="stroke", symbolStrokeWidth=2, format=",d")
    shade = alt.Stroke("queries:O", title="queries in a sample", scale=scale, legend=legend)
    base = alt.Chart().encode(x=x, y=y, detail=[alt.Detail("queries:O"), alt.Detail("measure:N")])
    tooltip = style.list_tooltips(
        *("measure:N", "queries:O", "difference_from:Q", "difference_to:Q"),
        *("comparisons:Q", "swaps:Q", *style.format_decimals("swap_rate")),
    )
    layers = [
        _draw_level(rate),
        base.mark_line(strokeJoin="round").encode(stroke=shade),
        base.mark_point(filled=True, opacity=0).encode(tooltip=tooltip),
    ]
    described, facts = (
        _describe_measures("rate of swaps by size of difference", table),
        chart_rows.collect_title_facts(table),
    )
    notes = [f"dashed: {format_percent(rate)}"]
    notes += [f"{len(sizes)} of {len(all_sizes)} sizes are drawn"] * (len(sizes) < len(all_sizes))
    what = "How often other queries contradict a difference between strategies"
    headline = titles.title_measures(what, facts)
    words = style.Words(headline, notes, described)
    shared = style.choose_panel_axis(table, "difference")
    return style.draw_panels(layers, table, panel, words, shared, columns=2)


def grading_profile(
    robustness: Frame,
    *,
    show: Literal["means", "differences", "places"] = "differences",
    panel: str | None = "measure",
    strategy: str = "strategy",
) -> Chart:
    """Draw the means of strategies under the original and other gradings.

    There is one line per strategy. Where lines cross, the gradings disagree about which strategy is
    better. Each grading except the original one has a text above it. The text shows Kendall's τ
    between two orders of strategies: under this grading, and under the original grades.

    Parameters
    ----------
    robustness
        One row per grading, measure and strategy, as `trust.robustness_to_grading` returns it.
    show
        The values to draw. `"means"` draws the mean of each strategy. `"differences"` draws this
        mean minus the average mean of all strategies under the same grading. `"places"` draws the
        places of strategies, with the best at the top. With differences, crossings stay visible
        even if one grading lowers the means of all strategies. Places show all crossings, but not
        the sizes of differences.
    panel, strategy
        The columns of panels and of strategies, as for every chart. `panel` may be None.

    Returns
    -------
    LayerChart or FacetChart
        The rows are those of `robustness`. `strategy` is text, and the column `correlation`
        contains the text above a grading. The rows contain `difference` if differences are drawn,
        and `panel` if panels are drawn. Without panels they contain `label_at`, the height of a
        name at the end of a line.

    Examples
    --------
    The better strategy depends on whether grade 1 is relevant:

    >>> from polars_graded.trust import robustness_to_grading
    >>> df = pl.DataFrame(
    ...     {"query": "a", "grade": [2, 1, 1, 0], "x": [4, 1, 2, 3], "y": [1, 4, 3, 2]}
    ... )
    >>> gradings = {"1 is 0": {1: 0}}
    >>> robustness = robustness_to_grading(df, "precision@2", by=["x", "y"], gradings=gradings)
    >>> drawn = grading_profile(robustness).data
    >>> drawn.select("grading", "strategy", "mean", "correlation")
    shape: (4, 4)
    ┌──────────┬──────────┬──────┬─────────────┐
    │ grading  ┆ strategy ┆ mean ┆ correlation │
    │ ---      ┆ ---      ┆ ---  ┆ ---         │
    │ str      ┆ str      ┆ f64  ┆ str         │
    ╞══════════╪══════════╪══════╪═════════════╡
    │ as given ┆ x        ┆ 0.5  ┆ null        │
    │ as given ┆ y        ┆ 1.0  ┆ null        │
    │ 1 is 0   ┆ x        ┆ 0.5  ┆ τ −1.00     │
    │ 1 is 0   ┆ y        ┆ 0.0  ┆ null        │
    └──────────┴──────────┴──────┴─────────────┘
    """
    check_choice("show", show, ("means", "differences", "places"))
    keys: dict[str, Any] = {"strategy": strategy, "panel": panel, "texts": ["measure", "grading"]}
    table = chart_rows.build_result_rows(
        "robustness", robustness, "mean", "tau", positions=["place"], **keys, draws_each_row=True
    )
    gradings = table["grading"].unique(maintain_order=True).to_list()
    reference = AS_GIVEN if AS_GIVEN in gradings else gradings[0]
    has_panels, lines = chart_rows.has_panels(table), _list_line_columns(table)
    # One row per grading contains the text. The reference grading has none.
    is_first = pl.col("strategy") == pl.col("strategy").min().over("grading", *lines)
    has_text = is_first & (pl.col("grading") != reference)
    tau = pl.Series(
        [
            None if tau is None else f"τ {tau:.2f}".replace("-", "\N{MINUS SIGN}")
            for tau in table["tau"]
        ],
        dtype=pl.String,
    )
    table = table.with_columns(correlation=pl.when(has_text).then(tau))
    names = table["strategy"].unique().to_list()
    ordered = table.filter(grading=reference).sort("place", "strategy")["strategy"]
    first = ordered.unique(maintain_order=True).head(style.MAX_COLOURS).to_list()
    look = style.choose_look(names, strategy, prioritised=first, legends=has_panels)
    y_field, title, y_axis = "mean", style.write_mean_title(table), alt.Axis()
    if show == "differences":
        mean = pl.col("mean").mean().over("grading", *lines)
        table = table.with_columns(difference=pl.col("mean") - mean)
        y_field, title = "difference", f"{title} minus the mean of all strategies"
    ends = axis_ends.choose_ends(table[y_field])
    if show == "places":
        y_field, title, ends = "place", "place", (0.5, max(2, len(names)) + 0.5)
        y_axis = alt.Axis(format="d", values=axis_ends.choose_rank_ticks(int(ends[1])))
    # The padding leaves room for texts above the lines. Measures have values of different sizes, so
    # each panel has its own ends.
    domain = alt.Undefined if has_panels and show != "places" else list(ends)
    scale = alt.Scale(domain=domain, nice=False, zero=False, padding=20, reverse=show == "places")
    width = 6 * max(len(name) for name in gradings)
    step = min(max(40, width + 6), max(40, (300 if has_panels else 480) // len(gradings)))
    grading_axis = style.order_axis(
        gradings, labelAngle=0 if width <= step else -40, labelLimit=200
    )
    x = alt.X("grading:N", title="grading", **grading_axis)
    y = alt.Y(f"{y_field}:Q", title=title, scale=scale, axis=y_axis)
    base = alt.Chart().encode(
        x=x, y=y, detail=[alt.Detail("strategy:N"), alt.Detail("measure:N")], **look
    )
    tooltip = style.list_tooltips(
        *("measure:N", "grading:N", "strategy:N", *style.format_decimals("mean"), "place:Q"),
        *(*style.format_decimals("tau", "tau_ap"), "lost:Q", "gained:Q", "reversed:Q"),
    )
    texts = alt.Chart().transform_filter("isValid(datum.correlation)")
    texts = texts.mark_text(baseline="top", fontSize=10, color=style.find_ink())
    texts = texts.encode(x=x, y=alt.value(3), text=alt.Text("correlation:N"))
    layers = [base.mark_line(), style.draw_dots(base, 40).encode(tooltip=tooltip), texts]
    if not has_panels:
        is_last = pl.col("grading") == gradings[-1]
        labelled = names if len(names) <= style.MAX_COLOURS else first
        table = line_names.add_labels(table, is_last, [y_field], ends, labelled)
        layers += marks.draw_line_names(
            x, title, "strategy", look["color"], end=y_field, names=names
        )
    notes = [
        *(["each minus the mean of all strategies"] if show == "differences" else []),
        *(["1+2: grades 1 and 2 count as one"] if any("+" in name for name in gradings) else []),
        *(
            f"{name}: random documents get the next higher or lower grade"
            for name in gradings
            if re.fullmatch(r"[\d.]+ % moved", name)
        ),
        f"τ: Kendall's, with the order under {'the grades ' * (reference == AS_GIVEN)}{reference}",
        *style.write_rest_note(names),
    ]
    notes += line_names.write_coinciding(table, "grading", y_field, [*lines[:-1], "strategy"])
    facts = chart_rows.collect_title_facts(table)
    what = {"places": "Places by mean"}.get(show, "Mean" if len(facts.measures) == 1 else "Means")
    headline = titles.title_strategies(what, facts) + f" under {len(gradings)} gradings"
    description = f"{show} of {len(names)} strategies under {len(gradings)} gradings"
    words = style.Words(headline, [*titles.write_subtitle(facts), *notes], description)
    chart = style.draw_panels(layers, table, panel, words, columns=2, width=alt.Step(step))
    return chart.resolve_scale(y=style.choose_panel_axis(table)) if has_panels else chart


def unjudged_bounds(
    bounds: Frame, *, panel: str | None = "measure", strategy: str = "strategy"
) -> Chart:
    """Draw means with unjudged documents as irrelevant or at the highest grade.

    The point is the mean with unjudged documents as irrelevant. The line ends at the mean with
    unjudged documents at the highest grade. For rank-biased precision, a thin line adds the maximum
    contribution of documents beyond the end of the rankings. Measures such as NDCG and average
    precision also depend on the number of relevant documents, which further judgments change. For
    these measures, values outside the line are possible, and the better strategy is unknown even if
    the lines do not overlap.

    Parameters
    ----------
    bounds
        One row per measure, strategy and query, as `trust.unjudged_bounds` returns it.
    panel, strategy
        The columns of panels and of strategies, as for every chart. `panel` may be None.

    Returns
    -------
    LayerChart or FacetChart
        The data have one row per measure and strategy (and panel). A row contains two means over
        queries: `mean` is the mean of `value`, and `if_best` is the mean of `value_if_best`. The
        smaller of the two is also in the column `low`, the larger in `high`. `queries` is the
        number of queries. `beyond` is the mean of min(`value`, `value_if_best`) + `residual`, or
        null if there is no residual. The strategy with the highest mean of the first measure is at
        the top. Means ignore a query if `value` or `value_if_best` is null, NaN or infinite.

    Examples
    --------
    >>> import polars_graded
    >>> df = pl.DataFrame({"query": "a", "grade": [1, None, 0], "score": [3, 2, 1]})
    >>> bounds = polars_graded.trust.unjudged_bounds(df, "precision@2", "rbp(p=0.5)")
    >>> unjudged_bounds(bounds).data.select("measure", "mean", "low", "high", "beyond")
    shape: (2, 5)
    ┌─────────────┬──────┬─────┬──────┬────────┐
    │ measure     ┆ mean ┆ low ┆ high ┆ beyond │
    │ ---         ┆ ---  ┆ --- ┆ ---  ┆ ---    │
    │ str         ┆ f64  ┆ f64 ┆ f64  ┆ f64    │
    ╞═════════════╪══════╪═════╪══════╪════════╡
    │ precision@2 ┆ 0.5  ┆ 0.5 ┆ 1.0  ┆ null   │
    │ rbp(p=0.5)  ┆ 0.5  ┆ 0.5 ┆ 0.75 ┆ 0.875  │
    └─────────────┴──────┴─────┴──────┴────────┘
    """
    numbers = ["value", "value_if_best", "residual"]
    table = chart_rows.build_result_rows("bounds", bounds, *numbers, strategy=strategy, panel=panel)
    table = table.drop_nulls("value_if_best")
    chart_checks.check_not_empty("bounds", table, "value_if_best")
    means = compute_mean_bounds(table, [*_list_line_columns(table), "strategy"])
    chart_checks.check_row_count("bounds", means)
    names = chart_rows.sort_names(means, "mean", "strategy")
    facts = chart_rows.collect_title_facts(means)
    title, notes = style.write_mean_title(means), titles.write_subtitle(facts)
    if (means["low"] != means["high"]).any():
        notes.append("dot: unjudged count as irrelevant; end of line: as best")
        notes += ["no line: both give the same mean"] * (means["low"] == means["high"]).any()
    base = alt.Chart().encode(
        y=style.build_names_axis("strategy", names),
        tooltip=style.list_tooltips(
            "measure:N",
            "strategy:N",
            *style.format_decimals("mean", "low", "high"),
            "queries:Q",
        ),
        **style.choose_few_colours(names, strategy),
    )
    scale = alt.Scale(zero=False, padding=style.INTERVAL_PADDING)
    x = alt.X("mean:Q", title=title, scale=scale, axis=style.build_means_axis())
    layers = [
        style.draw_interval(base, title, ("low", "high"), size=3, scale=scale),
        style.draw_dots(base, 70).encode(x=x),
    ]
    residual_length: Any = (means["beyond"] - means["high"]).max()
    extent: Any = means.select(pl.col("high").max() - pl.col("low").min()).item()
    if residual_length is not None and residual_length > MIN_VISIBLE_SHARE * extent:
        measures_with_residual = (
            means.drop_nulls("beyond")["measure"].unique(maintain_order=True).to_list()
        )
        measures_clause = (
            f" of {list_names(measures_with_residual)}"
            if len(measures_with_residual) < len(facts.measures)
            else ""
        )
        notes.append(
            f"thin line{measures_clause}: documents below the end of the rankings as best, too"
        )
        # Thin lines need an end even if a panel has no value of `beyond`. They then end at `high`.
        bars_beyond = base.transform_calculate(
            end="isValid(datum.beyond) ? datum.beyond : datum.high"
        )
        layers.insert(
            0, style.draw_interval(bars_beyond, title, ("low", "end"), size=1, scale=scale)
        )
    described = f"means of {len(names)} strategies with unjudged documents irrelevant, or best"
    heading = "Mean" if len(facts.measures) == 1 else "Means"
    headline = f"{titles.title_strategies(heading, facts)}, unjudged documents irrelevant or best"
    words = style.Words(headline, notes, described)
    size: dict[str, Any] = (
        {"height": alt.Step(12)} if len(names) > MAX_FULL_HEIGHT_STRATEGIES else {}
    )
    size["width"] = 240 if chart_rows.has_panels(means) else 300
    axis_sharing = style.choose_panel_axis(means)
    return style.draw_panels(layers, means, panel, words, axis_sharing, columns=2, **size)


def _list_line_columns(table: pl.DataFrame) -> list[str]:
    """List the columns that identify a line."""
    return ["panel", "measure"] if "panel" in table.columns else ["measure"]


def _draw_measures(
    table: pl.DataFrame,
    panel: str | None,
    layers: list[alt.Chart],
    headline: str,
    note: str,
    what: str,
    axes: tuple[str, str],
) -> Chart:
    """Draw the layers of a chart with a line per measure, and write its notes."""
    notes = [note, *style.write_rest_note(set(table["measure"]))]
    notes += line_names.write_coinciding(table, *axes, _list_line_columns(table))
    words = style.Words(headline, notes, _describe_measures(what, table))
    return style.draw_panels(layers, table, panel, words, independent=["color"])


def _draw_level(value: float) -> alt.Chart:
    """Draw a dashed line at a level."""
    dashed: alt.Chart = style.build_one_row().mark_rule(color=style.DOUBT, strokeDash=[4, 3])
    return dashed.encode(alt.YDatum(value))


def _draw_measure_lines(
    table: pl.DataFrame, x: alt.X, y: alt.Y, *tooltips: Any, has_points: bool
) -> list[alt.Chart]:
    """Draw a line with its name, and points with tooltips, for each measure."""
    colour, tooltip = (
        _choose_colours(table),
        style.list_tooltips("measure:N", x.shorthand, *tooltips),
    )
    base = alt.Chart().encode(x=x, y=y, color=colour, detail=alt.Detail("measure:N"))
    points = base.mark_point(filled=True, size=25, opacity=1 if has_points else 0)
    end = y.shorthand.partition(":")[0]
    leader, names = marks.draw_line_names(x, y["title"], "label", colour, end=end, limit=250)
    position = x.shorthand.partition(":")[0]
    if (
        "label_at" in table
        and (table.drop_nulls("label_at")[position] < table[position].max()).all()
    ):
        # No name is at the right edge. Names are then below their lines, without connecting rules.
        names.mark.dy = 9
        return [base.mark_line(), points.encode(tooltip=tooltip), names]
    return [base.mark_line(), points.encode(tooltip=tooltip), leader, names]


def _sort_and_thin(table: pl.DataFrame, position: str) -> pl.DataFrame:
    """Sort the rows by line and position; drop positions if there are many."""
    chart_checks.check_lines("frame", table, _list_line_columns(table), position)
    return curve_rows.thin_by_position(
        _sort_lines(table, _list_line_columns(table), position), position
    )


def _sort_lines(table: pl.DataFrame, lines: list[str], position: str) -> pl.DataFrame:
    """Sort the rows by position within each line; keep the order of lines."""
    first_row = pl.col("place in the frame").min().over(lines)
    sorted_rows = table.with_row_index("place in the frame").sort(
        first_row, position, maintain_order=True
    )
    return sorted_rows.drop("place in the frame")


def _add_names(
    table: pl.DataFrame, *, by: Sequence[str], ends: AxisEnds, is_inside: bool = False
) -> pl.DataFrame:
    """Return the rows with `label` and `label_at` for the name of each line.

    The label is the measure; there is no label if the measure is the title of the panel. The label
    is placed at the end of the line. With `is_inside`, the labels of all lines are placed at one
    position, where lines are far enough apart. Without such a position, labels stay at the ends.
    """
    lines = _list_line_columns(table)
    label: pl.Expr = pl.col("measure")
    if "panel" in lines:
        label = pl.when(pl.col("panel") != pl.col("measure")).then("measure")
    names = _list_named_measures(table)
    named_rows = table.filter(pl.col("measure").is_in(names))
    name_position = (
        line_names.choose_place(named_rows, "queries", by[0], ends, lines) if is_inside else None
    )
    label_masks = [pl.col("queries") == pl.col("queries").max().over(lines)]
    if name_position is not None:
        label_masks.insert(0, pl.col("queries") == name_position)
    for is_named in label_masks:
        labelled_rows = line_names.add_labels(
            table, is_named & label.is_not_null(), by, ends, names, lines
        )
        distance = labelled_rows["label_at"] - labelled_rows[by[0]]
        if not (distance.abs() > MAX_MOVE).any():
            break
    table = labelled_rows
    return table.with_columns(label=pl.when(pl.col("label_at").is_not_null()).then(label))


def _add_crossings(table: pl.DataFrame, level: float) -> pl.DataFrame:
    """Add the position of each line's name, `label_x` and `label_at`.

    The name of a line is placed where the line falls below a certain height. This height differs
    between the lines of a panel, so that names do not overlap: the fewer pairs a line
    distinguishes, the higher its name. If a panel has only one line, its name is placed at the
    dashed line. If a line ends above its height, the name is at the end of the line. `label`
    becomes null in all rows without a position.
    """
    lines, named_measures = _list_line_columns(table), _list_named_measures(table)
    panels = table.partition_by("panel", maintain_order=True) if "panel" in lines else [table]
    label_rows = []
    for rows in panels:
        named_rows = rows.filter(pl.col("measure").is_in(named_measures)).sort(
            "distinguished", "measure"
        )
        measures = named_rows["measure"].unique(maintain_order=True).to_list()
        highest_name, lowest_name = (math.log1p(p / SYMLOG_P) for p in NAMED_P)
        step = (lowest_name - highest_name) / max(1, len(measures) - 1)
        heights = [highest_name + step * number for number in range(len(measures))]
        if len(measures) == 1:
            heights = [math.log1p(level / SYMLOG_P)]
        lines_of_measures = [rows.filter(measure=measure) for measure in measures]
        ends = {
            number: float(line["height"][-1])
            for number, line in enumerate(lines_of_measures)
            if line["height"][-1] > heights[number]
        }
        height_of_one = math.log1p(1 / SYMLOG_P)
        numbers = sorted(ends, key=lambda number: (ends[number], -number))
        spread_ends = line_names.spread_heights(
            [ends[number] for number in numbers], (0.0, height_of_one)
        )
        heights_at_end = dict(zip(numbers, spread_ends, strict=True))
        for number, line in enumerate(lines_of_measures):
            height = heights_at_end.get(number, heights[number])
            point_index, label_x = line_names.find_crossing(
                line["place"], line["height"], heights[number]
            )
            label_at = SYMLOG_P * math.expm1(height)
            label_rows.append((*line.select(*lines, "place").row(point_index), label_x, label_at))
    schema = table.select(*lines, "place").schema | dict.fromkeys(
        ["label_x", "label_at"], pl.Float64
    )
    labels = pl.DataFrame(label_rows, schema=schema, orient="row")
    table = table.join(labels, on=[*lines, "place"], how="left", maintain_order="left")
    return table.with_columns(
        pl.when(pl.col("label_at").is_not_null()).then("label").alias("label")
    )


def _list_named_measures(table: pl.DataFrame) -> list[str]:
    """Return the measures with a colour and a name: at most the first ten."""
    return table["measure"].unique(maintain_order=True).head(style.MAX_COLOURS).to_list()


def _choose_colours(table: pl.DataFrame) -> Any:
    """Return the colours of measures."""
    measures = table["measure"].unique().to_list()
    look = style.choose_look(
        measures, "measure", field="measure", prioritised=_list_named_measures(table), legends=False
    )
    return look["color"]


def _build_queries_axis(table: pl.DataFrame) -> alt.X:
    """Return the axis of queries: from 0, or logarithmic for a wide range."""
    low, high = table.select(low=pl.col("queries").min(), high=pl.col("queries").max()).row(0)
    if low <= 0 or high < MIN_LOG_RATIO * low:
        ends = style.bound_axis((0, high), format=",d", tickMinStep=1)
        return alt.X("queries:Q", title="queries", **ends)
    ticks = axis_ends.choose_log_ticks(low, high)
    ends = style.bound_axis((low, high), format=",d", values=ticks)
    ends["scale"].type = "log"
    return alt.X("queries:Q", title="queries", **ends)


def _describe_measures(what: str, table: pl.DataFrame) -> str:
    """Describe a chart by its contents and its measures."""
    return f"{what}, of {', '.join(_list_named_measures(table))}"
