"""Build the axes of charts: their ends, ticks, labels and tooltips."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

import altair as alt
import numpy as np
import polars as pl

from polars_graded._drawing.style import MAX_LABEL_LETTERS, replace_labels, write_short_label
from polars_graded._sentences import LARGEST_P, SMALLEST_P, format_p, shorten_names
from polars_graded._sentences.titles import name_measure

AxisEnds: TypeAlias = tuple[float, float]
"""The values at the start and at the end of an axis."""

MAX_PAIR_LABEL_LETTERS = MAX_LABEL_LETTERS // 2 + 2
"""Maximum number of letters of each of the two names of a pair."""

INTERVAL_PADDING = 5
"""Minimum space between an interval and the frame, in pixels."""

PERCENT_LABEL = "format(100 * datum.value, '~g') + ' %'"
"""Expression of the labels of an axis of shares, written as in sentences: "30 %"."""

UNFLUSHED_LABELS: dict[str, Any] = {"labelFlush": False}
"""Settings of an axis whose first and last label are centred at their ticks."""


# Ends and ticks


def choose_step(minimum: float) -> float:
    """Return the smallest round number that is at least `minimum`.

    Round numbers are 1, 2 and 5 times a power of ten. The result is 0.02 if `minimum` is 0 or less.
    """
    if minimum <= 0:
        return 0.02
    power = 10.0 ** math.floor(math.log10(minimum))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= minimum)


def choose_ends(values: pl.Series, steps: int = 5) -> AxisEnds:
    """Return round numbers that enclose all values.

    Both numbers are multiples of a round step. The axis has at most `steps` + 1 such steps.
    """
    array = values.to_numpy()
    step = choose_step(float(np.ptp(array)) / steps)
    # Without the tiny amount, a rounding error could add a whole step.
    low = math.floor(array.min() / step + 1e-9) * step
    return low, max(low + step, math.ceil(array.max() / step - 1e-9) * step)


def choose_rank_ticks(last: int) -> list[int]:
    """Return the ranks to label on an axis.

    If there are at most ten ranks, all are labelled. Otherwise, rank 1 and the multiples of a round
    step are labelled.
    """
    if last <= 10:  # noqa: PLR2004
        return list(range(1, last + 1))
    step = max(5, int(choose_step(last / 8)))
    return [1, *range(step, last + 1, step)]


# Axes


def bound_axis(ends: Iterable[Any], *, zero: Any = alt.Undefined, **axis: Any) -> dict[str, Any]:
    """Return the settings of an axis of numbers with exactly these ends.

    Pass `zero=False` if another layer draws bars on the same axis and sets no ends. Otherwise, the
    axis would begin at 0.
    """
    scale = alt.Scale(domain=[*ends], nice=False, zero=zero)
    # The labels at the ends are centred at their ticks.
    return {"scale": scale, "axis": alt.Axis(**(UNFLUSHED_LABELS | axis))}


def build_rank_axis(title: str, last: float) -> alt.X:
    """Return an axis of ranks from 1 to `last`."""
    # An axis needs two different ends, so an axis of a single rank extends to 2.
    last = max(2, int(last))
    ticks = choose_rank_ticks(last)
    return alt.X("rank:Q", title=title, **bound_axis((1, last), format=",d", values=ticks))


def order_axis(names: list[str], **axis: Any) -> dict[str, Any]:
    """Return the settings of an axis of names in the order of `names`.

    The order is passed as the domain of the scale, not as a `sort`. Vega-Lite converts a `sort` to
    code, and this code fails if a name contains a line break.
    """
    look = {"labelExpr": write_short_label("datum.label", names)} | axis
    return {"sort": None, "scale": alt.Scale(domain=names), "axis": alt.Axis(**look)}


def build_names_axis(field: str, names: list[str]) -> alt.Y:
    """Return a vertical axis of names in the order of `names`."""
    return alt.Y(f"{field}:N", title=None, **order_axis(names, labelLimit=300))


def build_pairs_axis(table: pl.DataFrame, pairs: list[str]) -> alt.Y:
    """Return the axis of names of pairs.

    In the name of a pair, the name of each strategy is shortened separately.
    """
    names = pl.concat([table["strategy"], table["baseline"]]).unique().sort()
    short_names = shorten_names(names.to_list(), MAX_PAIR_LABEL_LETTERS)
    short = pl.col("strategy", "baseline").replace_strict(names, short_names)
    label = pl.format("{} \N{MINUS SIGN} {}", "strategy", "baseline").alias("label")
    labels = dict(table.with_columns(short).select("pair", label).unique().rows())
    axis = order_axis(pairs, labelLimit=600, labelExpr=replace_labels(labels))
    return alt.Y("pair:N", title=None, **axis)


def build_means_axis(field: str, title: Any) -> alt.X:
    """Return an axis of means that fits the means and their intervals.

    If all means are equal, the axis has a single tick, and Vega would round its label to a whole
    number without a format.
    """
    # In a small panel, every second label is left out rather than touching its neighbour.
    look = UNFLUSHED_LABELS | {"labelSeparation": 5}
    axis = alt.Axis(tickCount=5, titleLimit=300, format=",.6~r", **look)
    scale = alt.Scale(zero=False, padding=INTERVAL_PADDING)
    return alt.X(f"{field}:Q", title=title, scale=scale, axis=axis)


def write_mean_title(table: pl.DataFrame, prefix: str = "mean ", default: str = "mean") -> str:
    """Write the axis title of means, with the measure if there is only one."""
    names = table["measure"].unique().to_list() if "measure" in table.columns else []
    return f"{prefix}{name_measure(names[0])}" if len(names) == 1 else default


def choose_panel_axis(
    table: pl.DataFrame, column: str | None = None
) -> Literal["shared", "independent"]:
    """Choose whether all panels share an axis or each has its own.

    Panels of one measure share an axis. Panels of several measures share an axis only if `column`
    is passed and all its values lie between -1 and 1. Example: counts of documents exceed 1, so
    each panel has its own axis.
    """
    if "measure" not in table.columns or table["measure"].n_unique() == 1:
        return "shared"
    is_share = column is not None and table[column].is_between(-1, 1).all()
    return "shared" if is_share else "independent"


# Tooltips


def list_tooltips(*fields: str | alt.Tooltip) -> list[alt.Tooltip]:
    """Return a tooltip for each field, given as a text such as "rank:Q".

    Altair also accepts texts in a list of tooltips, but hashes its whole schema for each text,
    which takes milliseconds.
    """
    return [alt.Tooltip(field) if isinstance(field, str) else field for field in fields]


def format_decimals(*fields: str) -> list[Any]:
    """Return tooltips of numbers with four decimals, as in tables."""
    return [alt.Tooltip(f"{field}:Q", format=".4f") for field in fields]


def add_interval(
    chart: alt.Chart, low: str, high: str, title: Any = alt.Undefined
) -> tuple[alt.Chart, alt.Tooltip]:
    """Return the chart with a field such as "0.12 to 0.15", and its tooltip."""
    ends = (f"format(datum['{end}'], '.4f')" for end in (low, high))
    text = " + ' to ' + ".join(ends)
    text = f"isValid(datum['{low}']) ? {text} : ''"
    return chart.transform_calculate(interval=text), alt.Tooltip("interval:N", title=title)


def add_p(chart: alt.Chart, title: str) -> tuple[alt.Chart, alt.Tooltip]:
    """Return the chart with its p values as text, and their tooltip."""
    smallest = f"datum.p_corrected < {SMALLEST_P} ? '{format_p(0)}'"
    largest = f"datum.p_corrected > {LARGEST_P} ? '{format_p(1)}'"
    number = f"{smallest} : {largest} : format(datum.p_corrected, '.4f')"
    chart = chart.transform_calculate(
        p=f"isValid(datum.p_corrected) ? {number} : '{format_p(None)}'"
    )
    return chart, alt.Tooltip("p:N", title=title)
