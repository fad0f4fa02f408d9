"""Charts of how many pairs a measure distinguishes, and how many queries are needed."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import polars as pl

from polars_graded._checks import check_collected, check_level, check_number
from polars_graded._drawing import (
    axis_ends,
    chart_checks,
    chart_rows,
    curve_rows,
    lines,
    marks,
    style,
)
from polars_graded._drawing.chart_rows import Frame
from polars_graded._drawing.style import Chart
from polars_graded._frames.arguments import Columns
from polars_graded._measuring.keywords import checks_keywords
from polars_graded._results.findings import name_p, name_tests
from polars_graded._results.tables import EFFECTIVE
from polars_graded._sentences import format_percent, titles

SYMLOG_P = 0.001
"""Constant of the symlog axis of p, which is linear below this p and logarithmic above it."""

DASHED: dict[str, Any] = {"colour": style.DOUBT, "strokeDash": [4, 3]}
"""Look of a line at a level or a target."""

MIN_LOG_RATIO = 50
"""The axis of queries is logarithmic if the ratio of its largest to its smallest number is at least
this."""


UNITS = {"queries": "queries", "clusters": "clusters", EFFECTIVE: "effective queries"}
"""Words for the columns of numbers that `sample_size_curves` draws."""


@checks_keywords
def significance_curves(
    levels: Frame,
    *,
    confidence: float = 0.95,
    panel: Columns | None = None,
    strategy: str = "strategy",
) -> Chart:
    """Draw the p values of all pairs of strategies, one line per measure.

    The p values of a line are in descending order. The lower a line, the more pairs the measure
    distinguishes. The dashed line is at 1 - `confidence`. The pairs above the dashed line are
    undecided. The name of a line includes the number of distinguished pairs. The share of
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
        The columns of panels, such as a test. None draws a single panel.
    strategy
        The column of strategies.

    Returns
    -------
    LayerChart or FacetChart
        The rows are those of `levels`, with `label`, the text at the end of a line, if there are no
        panels. The axis of p is logarithmic, except near 0.

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
    ┌───────┬─────────────┬───────────────────────────┐
    │ place ┆ p_corrected ┆ label                     │
    │ ---   ┆ ---         ┆ ---                       │
    │ u32   ┆ f64         ┆ str                       │
    ╞═══════╪═════════════╪═══════════════════════════╡
    │ 1     ┆ 1.0         ┆ null                      │
    │ 2     ┆ 0.5         ┆ null                      │
    │ 3     ┆ 0.25        ┆ average precision: 1 of 3 │
    └───────┴─────────────┴───────────────────────────┘
    """
    level = check_level(confidence)
    keys: dict[str, Any] = {"strategy": strategy, "panel": panel, "texts": ["measure", "baseline"]}
    table = chart_rows.build_result_rows(
        "levels", levels, "p_corrected", positions=["place"], **keys
    )
    is_distinguished = pl.col("p_corrected") <= level
    counts = table.group_by("measure").agg(is_distinguished.sum(), pl.len())
    labels = {name: f"{titles.name_measure(name)}: {k} of {n}" for name, k, n in counts.rows()}
    table = _thin_lines(table, "place")
    table = table.with_columns((pl.col("p_corrected") / SYMLOG_P).log1p().alias("height"))
    p_title = name_p(table)
    y = alt.Y(
        "p_corrected:Q",
        title=p_title,
        scale=alt.Scale(type="symlog", constant=SYMLOG_P, domain=[0, 1], nice=False),
        axis=alt.Axis(values=sorted({0, 0.001, 0.01, 0.1, 1, level}), format="~g"),
    )
    x = marks.build_place_axis("place:Q", "pairs of strategies, by falling p", max(table["place"]))
    tests = name_tests(table)
    headline = titles.title_measures("p values of all pairs", chart_rows.collect_title_facts(table))
    headline += f" ({tests})" if tests else ""
    note = f"below the dashed line, p ≤ {level:g}: different"
    p = alt.Tooltip("p_corrected:Q", title=p_title, format=".4~g")
    pair = [alt.Tooltip(f"{name}:N") for name in ("strategy", "baseline")]
    return _draw_measures(
        table,
        panel,
        style.Words(headline, [note], "p of all pairs in falling order"),
        x=x,
        y=y,
        ends=(0.0, math.log1p(1 / SYMLOG_P)),
        height="height",
        labels=labels,
        tooltips=[*pair, p],
        under=[marks.draw_level("p_corrected", level, **DASHED)],
    )


@checks_keywords
def sample_size_curves(curve: Frame, *, power: float = 0.8, panel: Columns | None = None) -> Chart:
    """Draw what more queries are worth: power, or a stable order of strategies.

    Each measure has a line over the number of queries. The rows determine what the line shows:

    - Rows of `trust.power_curve`: the power to find a difference, which the title states. The large
      point marks the number of queries in the data. The line reaches the dashed target at the
      number of queries that `trust.queries_needed` computes. To compare measures on different
      scales, pass `unit="range"` to `power_curve`.
    - Rows of `trust.order_stability`: the mean rank correlation τ between the order of strategies
      from a sample of queries and the order from all queries. A band contains τ of most samples.
      With two strategies, τ of each sample is 1 or −1, and there are no bands.

    Parameters
    ----------
    curve
        One row per measure and number of queries, of clusters, or of effective queries.
    power
        The target power, drawn as a dashed line.
    panel
        The columns of panels, such as `"measure"`. None draws a single panel.

    Returns
    -------
    LayerChart or FacetChart
        The rows are those of `curve`, with `label`, the name at the end of a line, if there are no
        panels. Bands are drawn for up to three measures; on a web page, the pointer shows others.

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
    >>> drawn = sample_size_curves(curve).data
    >>> drawn.select("queries", pl.col("power").round(4), "at_hand", "label")
    shape: (2, 4)
    ┌─────────┬────────┬─────────┬───────────────────┐
    │ queries ┆ power  ┆ at_hand ┆ label             │
    │ ---     ┆ ---    ┆ ---     ┆ ---               │
    │ u64     ┆ f64    ┆ bool    ┆ str               │
    ╞═════════╪════════╪═════════╪═══════════════════╡
    │ 4       ┆ 0.1113 ┆ true    ┆ null              │
    │ 34      ┆ 0.8078 ┆ false   ┆ average precision │
    └─────────┴────────┴─────────┴───────────────────┘
    """
    power = check_number("power", power, above=0, below=1)
    curve = check_collected("curve", curve)
    if "tau" in curve.columns:
        return _draw_stability(curve, panel)
    units = _find_units(curve)
    numbers, positions = ["power", "difference", "share_of_range"], [units, "at_hand"]
    table = chart_rows.build_result_rows("curve", curve, *numbers, positions=positions, panel=panel)
    table = _thin_lines(table.with_columns(pl.col("at_hand").cast(pl.Boolean)), units)
    given = table.filter("at_hand")
    amounts, shares = (given[name].drop_nulls().to_list() for name in numbers[1:])
    target = titles.write_target(amounts, shares) if amounts else "a difference"
    ticks = alt.Axis(values=sorted({0, 0.2, 0.4, 0.6, 0.8, 1, power}), format="~g")
    at_hand = alt.Chart().transform_filter("datum.at_hand")
    at_hand = style.draw_dots(at_hand, 90).encode(x=alt.X(f"{units}:Q"), y=alt.Y("power:Q"))
    return _draw_measures(
        table,
        panel,
        style.Words(
            f"Power to find {target}",
            [f"● the {UNITS[units]} at hand; dashed: power {power:g}"],
            f"power by number of {UNITS[units]}",
        ),
        x=_build_units_axis(table, units),
        y=alt.Y("power:Q", title="power", scale=alt.Scale(domain=[0, 1]), axis=ticks),
        ends=(0.0, 1.0),
        tooltips=style.format_decimals(*numbers),
        under=[marks.draw_level("power", power, **DASHED), at_hand],
    )


def _draw_stability(stability: pl.DataFrame, panel: Columns | None) -> Chart:
    """Draw the mean τ of samples by their number of queries or clusters."""
    units = _find_units(stability)
    table = chart_rows.build_result_rows(
        "curve", stability, "tau", "tau_low", "tau_high", positions=[units], panel=panel
    )
    table = _thin_lines(table, units)
    # With two strategies, τ of each sample is 1 or −1, so that a band shows nothing.
    has_two_strategies = "strategies" in table.columns and table["strategies"].max() == 2  # noqa: PLR2004
    are_few = table["measure"].n_unique() <= lines.MAX_BANDS or panel == "measure"
    drawn = table.select("tau", *(["tau_low"] if are_few and not has_two_strategies else []))
    lowest: Any = drawn.min_horizontal().min()
    ends = min(0.9, math.floor(10 * lowest) / 10), 1.0
    level = chart_rows.find_confidence(table)
    share = "most" if level is None else format_percent(level)
    note = "line: mean of samples" + ("" if has_two_strategies else f"; band: {share} of samples")
    if table[units].n_unique() == 1:
        note = f"too few {units} to draw smaller samples"
    elif has_two_strategies:
        note = "two strategies: 1 where all samples keep their order, −1 where all reverse it"
    title = f"τ to the order from all {units}"
    n: Any = table[units].max()
    return _draw_measures(
        table,
        panel,
        style.Words(
            f"How closely fewer {units} order strategies as all {n:,g} do",
            [note],
            f"{title} by number of {units}",
        ),
        x=_build_units_axis(table, units),
        y=alt.Y("tau:Q", title=title, **style.bound_axis(ends, zero=False)),
        ends=ends,
        band=None if has_two_strategies else ("tau_low", "tau_high"),
        tooltips=style.format_decimals("tau"),
    )


def _draw_measures(
    table: pl.DataFrame, panel: Columns | None, words: style.Words, **options: Any
) -> Chart:
    """Draw a line for each measure, in the order of the measures in the frame."""
    measures = table["measure"].unique(maintain_order=True).to_list()
    described = f"{words.described}, of {', '.join(measures[: style.MAX_COLOURS])}"
    return lines.draw_lines(
        table,
        panel,
        words._replace(described=described),
        names=measures,
        best=measures,
        title="measure",
        field="measure",
        **({"labels": {name: titles.name_measure(name) for name in measures}} | options),
    )


def _thin_lines(table: pl.DataFrame, position: str) -> pl.DataFrame:
    """Sort the rows by line and position; drop positions if there are many."""
    keys = ["panel", "measure"] if "panel" in table.columns else ["measure"]
    chart_checks.check_lines("frame", table, keys, position)
    first_row = pl.col("row").min().over(keys)
    table = table.with_row_index("row").sort(first_row, position).drop("row")
    return curve_rows.thin_by_position(table, position)


def _find_units(curve: pl.DataFrame) -> str:
    """Return the column of numbers of queries, or of clusters."""
    return next((name for name in UNITS if name in curve.columns), "queries")


def _build_units_axis(table: pl.DataFrame, units: str) -> alt.X:
    """Return the axis of numbers of units: from 0, or logarithmic for a wide range."""
    low, high = table.select(low=pl.col(units).min(), high=pl.col(units).max()).row(0)
    if low <= 0 or high < MIN_LOG_RATIO * low:
        ends = style.bound_axis((0, high), format=",d", tickMinStep=1)
        return alt.X(f"{units}:Q", title=UNITS[units], **ends)
    ticks = axis_ends.choose_log_ticks(low, high)
    ends = style.bound_axis((low, high), format=",d", values=ticks)
    ends["scale"].type = "log"
    return alt.X(f"{units}:Q", title=UNITS[units], **ends)
