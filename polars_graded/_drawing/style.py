"""Build the look that charts share: colours, legends, names, marks, axes and tooltips."""

from __future__ import annotations

import json
import math
import re
import textwrap
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import cycle
from typing import Any, Literal, TypeAlias

import altair as alt
import numpy as np
import polars as pl

from polars_graded._frames.strategies import sort_naturally
from polars_graded._sentences import (
    LARGEST_P,
    MAX_NAME_LETTERS,
    SMALLEST_P,
    format_count,
    format_p,
    shorten_names,
)
from polars_graded._sentences.titles import name_measure

OKABE_ITO = [
    *("#0072b2", "#e69f00", "#009e73", "#cc79a7"),
    *("#56b4e9", "#d55e00", "#f0e442", "#000000"),
]
"""Colours of names, as published by Okabe and Ito (2008, "Color universal design").

Readers with and without a colour vision deficiency can distinguish them. Blue and orange are first,
because they differ most. On a dark background, the colour of text replaces black.
"""

COLOUR_CODE = r"#([\da-f]{3,4}|[\da-f]{6}|[\da-f]{8})|(rgb|hsl)a?\([-\d., %]+\)"
"""Pattern of a colour of CSS that is no name."""

MAX_COLOURS = len(OKABE_ITO)
"""Maximum number of strategies with a colour of their own."""

INK = "#30363d"
"""Colour of text and of significant results. No strategy has this colour."""

LIGHT_INK = "#e6e9ed"
"""Colour of text and of significant results on a dark background."""

DOUBT = "#858b93"
"""Colour of results that are not significant, of ties, and of unjudged documents."""

IS_DARK = "(luminance(background) < 0.179)"
"""Expression that is true on a dark background, of a theme or of `configure`."""

PAPER = "(luminance(background) >= 0 ? background : 'white')"
"""Expression of the background colour, which is white if the background is transparent."""


def choose_by_background(light: str, dark: str) -> alt.ExprRef:
    """Return an expression for a colour on light backgrounds, and another on dark ones.

    The colour also suits a background that the caller sets after the chart was made.
    """
    return alt.ExprRef(f"{IS_DARK} ? '{dark}' : '{light}'")


TEXT_COLOUR = choose_by_background(INK, LIGHT_INK)
"""Expression of the colour of text on the background of the chart."""

FAINT_COLOUR = choose_by_background("#d5d8dc", "#3b424c")
"""Expression of the colour of queries that are not selected, and of grids and frames."""

REST_COLOUR = choose_by_background("#acaeb1", "#6d7073")
"""Expression of the colour of strategies without a colour of their own."""

CATEGORY_COLOURS: list[Any] = [*OKABE_ITO[:-1], choose_by_background(OKABE_ITO[-1], LIGHT_INK)]
"""The colours of Okabe and Ito, in which the colour of text replaces black on dark backgrounds."""

TEXT_STYLES = ("guide-label", "guide-title", "group-title", "group-subtitle")
"""Vega's names for the texts of axes, legends, panels and titles."""

BACKGROUND_SETTINGS: dict[str, Any] = {
    "axis": {"domainColor": DOUBT, "tickColor": DOUBT, "gridColor": FAINT_COLOUR},
    "style": {name: {"fill": choose_by_background("black", LIGHT_INK)} for name in TEXT_STYLES},
    "view": {"stroke": FAINT_COLOUR},
}
"""Settings with which axes, titles and legends are legible on the configured background."""


def drop_default_colours(encoding: Any) -> Any:
    """Return a shared encoding without our colours, which would hide a configured range.

    Colours that the caller passed to the chart function stay.
    """
    if not isinstance(encoding, alt.SchemaBase):
        return encoding
    encoding = encoding.copy(deep=True)
    color: Any = encoding["color"]
    channel = color["condition"] if isinstance(color, dict) else getattr(color, "_kwds", {})
    scale = channel.get("scale")
    if isinstance(scale, alt.Scale) and scale["range"] == CATEGORY_COLOURS:
        scale["range"] = alt.Undefined
    return encoding


def write_rest_note(names: Collection[str]) -> list[str]:
    """Write a note about grey marks, if more strategies exist than colours."""
    n_others = len(names) - MAX_COLOURS
    return [f"grey: {format_count(n_others, 'others')}"] if n_others > 0 else []


def encode_names(
    names: Iterable[str],
    title: str,
    colours: Mapping[str, str] | None = None,
    *,
    field: str = "strategy",
    prioritised: Sequence[str] = (),
    legend: alt.Legend | None = None,
) -> Any:
    """Return one encoding of colours for all layers of a chart.

    The domain of the scale is in the order of `names`. Its range contains the colours of Okabe and
    Ito, unless the theme has its own. `LayerChart.configure_range` removes this range. If there are
    more than `MAX_COLOURS` names, only the first of `prioritised` have a colour, and the others are
    grey.
    """
    names = [*dict.fromkeys(names)]
    chosen = {str(name): colour for name, colour in (colours or {}).items()}
    _check_colours(chosen, names)
    coloured = names
    if len(names) > MAX_COLOURS:
        coloured = sort_naturally(choose_coloured(prioritised, colours))
    palette, is_ours = _read_palette()
    colours_in_order = palette if is_ours else alt.Undefined
    if chosen:
        numbered = coloured if coloured == names else [n for n in coloured if n not in chosen]
        colour_of = dict(zip(numbered, cycle(palette), strict=False)) | chosen
        colours_in_order = [colour_of[name] for name in coloured]
    scale = alt.Scale(domain=coloured, range=colours_in_order)
    colour = alt.Color(f"{field}:N", title=title, scale=scale, legend=legend)
    if coloured == names:
        return colour
    is_coloured = alt.FieldOneOfPredicate(field=field, oneOf=coloured)
    return alt.condition(is_coloured, colour, alt.value(REST_COLOUR))


def _check_colours(colours: Mapping[str, Any], names: Collection[str]) -> None:
    """Raise for a name that is not drawn, and for a text that Vega does not draw as a colour."""
    css_names = alt.ColorName.resolve_references()["enum"]
    for name, colour in colours.items():
        if name not in names:
            msg = f"`colours` must name a drawn strategy, got {name!r}; "
            msg += f"there are {', '.join(map(repr, names))}"
            raise ValueError(msg)
        code = str(colour).lower()
        if code not in css_names and not re.fullmatch(COLOUR_CODE, code):
            msg = "`colours` must have CSS names such as 'teal' or codes such as '#c00', got "
            msg += f"{colour!r} for {name!r}"
            raise ValueError(msg)


def choose_coloured(prioritised: Iterable[str], colours: Mapping[str, str] | None) -> list[str]:
    """Return the names with a colour, the most important first.

    Names whose colours the caller chose come before those of `prioritised`, unless they are the
    majority: then the others stand out. There are at most `MAX_COLOURS` different colours.
    """
    chosen = {str(name): colour for name, colour in (colours or {}).items()}
    others = [name for name in prioritised if name not in chosen]
    others = others[: max(0, MAX_COLOURS - len({*chosen.values()}))]
    return [*others, *chosen] if len(chosen) > len(others) else [*chosen, *others]


def encode_few_names(names: Collection[str], title: str, colours: Mapping[str, str] | None) -> Any:
    """Return the colours of strategies whose names are on an axis.

    More than `MAX_COLOURS` strategies have the colour of text, unless the caller chooses colours.
    """
    if len(names) > MAX_COLOURS and not colours:
        return draw_ink()
    return encode_names(sort_naturally(names), title, colours)


def _read_palette() -> tuple[list[Any], bool]:
    """Return the colours of names under the active theme, and whether they are ours.

    A theme of Vega does not list its colours. Where a list is needed, those of Okabe and Ito
    replace them.
    """
    theme = alt.theme.get()
    spec: Any = theme() if theme else {}
    colours = spec.get("config", {}).get("range", {}).get("category")
    has_name = spec.get("usermeta", {}).get("embedOptions", {}).get("theme") is not None
    palette = colours if isinstance(colours, list) else CATEGORY_COLOURS
    return palette, not colours and not has_name


def draw_ink() -> Any:
    """Return the colour of text, which is legible on the background of the chart."""
    return alt.ColorValue(TEXT_COLOUR)


MIDDLE_SHARE = 0.6
"""Share of the highest value of cells on whose colour black and white texts have about the same
contrast."""

BLUE_CELL = choose_by_background("#08306b", "#9ecae1")
"""Colour of the highest value of cells."""

ORANGE_CELL = choose_by_background("#7f3b08", "#fdb863")
"""Colour of the lowest negative value of cells. Every reader can distinguish it from blue."""


def build_cell_scale(highest: float, *, diverging: bool = False) -> alt.Scale:
    """Return the colours of cells, from the background at 0 to a strong colour at `highest`.

    If `diverging`, values below 0 are orange, and values above 0 are blue.
    """
    paper = alt.ExprRef(PAPER)
    if not diverging:
        return alt.Scale(domain=[0, highest], range=[paper, BLUE_CELL], interpolate="rgb")
    # The domain has only its ends, so that charts side by side can merge their domains.
    colours = [ORANGE_CELL, paper, BLUE_CELL]
    return alt.Scale(domain=[-highest, highest], domainMid=0, range=colours, interpolate="rgb")


def write_on_cells(
    cells: alt.Chart, text: str, value: str, highest: float, size: float | None = None
) -> alt.Chart:
    """Draw the texts of a field on cells, in black or white, whichever is more legible.

    `value` is the field of the cell's value, and `highest` the end of the scale.
    """
    marks = cells.mark_text(fontSize=size or alt.Undefined)
    fill = alt.FillValue(contrast_with_cell(f"datum.{value} / {highest!r}"))
    return marks.encode(text=alt.Text(f"{text}:N"), fill=fill)


def contrast_with_cell(share: str) -> alt.ExprRef:
    """Return black or white, whichever is more legible on a cell.

    `share` is the expression of the cell's value as a share of the highest one.
    """
    return alt.ExprRef(f"(abs({share}) > {MIDDLE_SHARE}) == {IS_DARK} ? 'black' : 'white'")


def choose_value(channel: Callable[..., Any], predicate: Any, if_true: Any, otherwise: Any) -> Any:
    """Return a channel, such as `alt.OpacityValue`, with one of two values for each mark.

    Altair compares a condition that is a dict with its whole schema, which takes milliseconds. This
    also holds for fields that are texts, such as `x2="end"` in place of `alt.X2("end")`.
    """
    chosen: Any = alt.condition(predicate, alt.value(if_true), alt.value(otherwise))
    return channel(chosen["value"], condition=chosen["condition"])


def build_legend(names: Iterable[str] = (), **options: Any) -> alt.Legend:
    """Return a legend with opaque symbols, even for faint marks, and shortened names."""
    look: dict[str, Any] = {"labelExpr": write_short_label(names)} | options
    return alt.Legend(symbolOpacity=1, symbolLimit=100, labelLimit=300, **look)


def write_short_label(names: Iterable[Any]) -> str:
    """Write a Vega expression that shortens the labels of an axis or a legend.

    Different names are still different after they are shortened.
    """
    return shorten_labels({text: text for text in sorted({*map(str, names)})})


def shorten_labels(texts: Mapping[str, str], max_letters: int = MAX_NAME_LETTERS) -> str:
    """Write a Vega expression that replaces labels by texts, which are shortened."""
    short_texts = shorten_names([*texts.values()], max_letters)
    return replace_labels(dict(zip(texts, short_texts, strict=True)))


def replace_labels(texts: Mapping[str, str]) -> str:
    """Write a Vega expression that replaces some labels of an axis or a legend."""
    other = {name: label for name, label in texts.items() if name != label}
    # In a header, Vega-Lite replaces `datum.label` by an expression with operators.
    return f"{json.dumps(other)}[datum.label] || (datum.label)" if other else "datum.label"


def draw_dots(base: alt.Chart, size: int, **look: Any) -> alt.Chart:
    """Draw filled, opaque points."""
    return base.mark_point(filled=True, opacity=1, size=size, **look)


def draw_column(text: alt.Text | str, dx: int) -> alt.Chart:
    """Draw a column of texts to the right of the rows of the chart."""
    texts = alt.Chart().mark_text(align="left", dx=dx, clip=False)
    return texts.encode(x=alt.XValue("width"), text=text, color=draw_ink())


def draw_heading(text: str, dx: int) -> alt.Chart:
    """Draw a text above the plot, which ends `dx` pixels to the right of it."""
    heading = build_one_row().mark_text(align="right", dx=dx, dy=-9, fontSize=10, clip=False)
    place: dict[str, Any] = {"x": alt.XValue("width"), "y": alt.YValue(0)}
    return heading.encode(text=alt.TextValue(text), color=draw_ink(), **place)


def build_one_row() -> alt.Chart:
    """Return a chart of one row, for marks that are drawn once."""
    return alt.Chart().transform_aggregate(rows="count()")


def draw_rule(
    channel: Literal["x", "y"], field: str, value: float = 0, colour: str = "gray", **look: Any
) -> alt.Chart:
    """Draw one line at a value of a field, over the whole height or width."""
    rule = build_one_row().transform_calculate(**{field: repr(value)}).mark_rule(**look)
    rule = rule.encode(color=alt.ColorValue(colour))
    if channel == "x":
        return rule.encode(x=alt.X(f"{field}:Q"), y=alt.YValue(0), y2=alt.Y2Value("height"))
    return rule.encode(y=alt.Y(f"{field}:Q"), x=alt.XValue(0), x2=alt.X2Value("width"))


def build_pointer(name: str, field: str, **options: Any) -> alt.Parameter:
    """Return a parameter that selects marks like the one under the pointer.

    All marks with the same value of `field` are selected.
    """
    pointer: dict[str, Any] = {"on": "pointerover", "clear": "pointerout", **options}
    return alt.selection_point(name=name, fields=[field], **pointer)


def add_selection(layer: alt.Chart, *params: alt.Parameter) -> alt.Chart:
    """Add selections to a layer, and name the layer after the first selection."""
    return layer.properties(name=f"view_{params[0].name}").add_params(*params)


# Texts

LETTER_WIDTH = 6
"""Mean width of a letter of the title of an axis, in pixels."""

NO_BREAK = "\N{NO-BREAK SPACE}"
"""Space at which no line ends."""


def keep_together(text: str) -> str:
    """Return a text inside of which no line ends."""
    return text.replace(" ", NO_BREAK)


def wrap_text(text: str, max_letters: int) -> list[str]:
    """Wrap a text into lines, none of which ends inside of parentheses."""
    joined = re.sub(r"\([^()]*\)", lambda part: keep_together(part[0]), text)
    lines = textwrap.wrap(joined, max_letters, break_on_hyphens=False, break_long_words=False)
    return [line.replace(NO_BREAK, " ") for line in lines]


# Ends and ticks of axes


AxisEnds: TypeAlias = tuple[float, float]
"""The values at the start and at the end of an axis."""

MAX_PAIR_LABEL_LETTERS = MAX_NAME_LETTERS // 2 + 2
"""Maximum number of letters of each of the two names of a pair."""

INTERVAL_PADDING = 5
"""Minimum space between an interval and the frame, in pixels."""

PERCENT_LABEL = "format(100 * datum.value, '~g') + ' %'"
"""Expression of the labels of an axis of shares, written as in sentences: "30 %"."""

UNFLUSHED_LABELS: dict[str, Any] = {"labelFlush": False}
"""Settings of an axis whose first and last label are centred at their ticks."""


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


def build_rank_axis(last: float) -> alt.X:
    """Return an axis of ranks from 1 to `last`."""
    # An axis needs two different ends, so an axis of a single rank extends to 2.
    last = max(2, int(last))
    ticks = choose_rank_ticks(last)
    return alt.X("rank:Q", title="rank", **bound_axis((1, last), format=",d", values=ticks))


def order_axis(names: list[str], **axis: Any) -> dict[str, Any]:
    """Return the settings of an axis of names in the order of `names`.

    The order is passed as the domain of the scale, not as a `sort`. Vega-Lite converts a `sort` to
    code, and this code fails if a name contains a line break.
    """
    look = {"labelExpr": write_short_label(names)} | axis
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
    labels = dict(table.with_columns(short).select("pair", label).rows())
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
