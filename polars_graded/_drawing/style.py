"""Build the parts that charts share: panels, titles, colours, legends, axes and tooltips."""

from __future__ import annotations

import json
import math
import re
import textwrap
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import cycle
from typing import Any, Literal, NamedTuple, TypeAlias

import altair as alt
import polars as pl
from altair.expr.core import Expression

from polars_graded._drawing.axis_ends import choose_power_ticks
from polars_graded._drawing.pair_rows import build_pair_name
from polars_graded._drawing.printing import escape_text
from polars_graded._frames.arguments import Columns
from polars_graded._frames.sorting import sort_naturally
from polars_graded._sentences import (
    LARGEST_P,
    MAX_NAME_LETTERS,
    SMALLEST_P,
    format_count,
    format_p,
    shorten_names,
)
from polars_graded._sentences.titles import name_measure

Chart: TypeAlias = alt.LayerChart | alt.FacetChart
MAX_NAMED_MARKS = 60
"""Maximum number of names of the usual size on an axis.

With more, the names of strategies and pairs are smaller, and queries have no names.
"""

OKABE_ITO = [
    *("#0072b2", "#e69f00", "#009e73", "#cc79a7"),
    *("#56b4e9", "#d55e00", "#f0e442", "#000000"),
]
"""Colours of names, as published by Okabe and Ito (2008, "Color universal design").

Readers with and without a colour vision deficiency can distinguish them. Blue and orange are first,
because they differ most. On a dark background, the colour of text replaces black.
"""

MAX_COLOURS = len(OKABE_ITO)
"""Maximum number of strategies with a colour of their own."""

REST = "#b4b8bf"
"""Colour of the outlines of symbols in a legend of grades."""

INK = "#30363d"
"""Colour of text and of significant results. No strategy has this colour."""

LIGHT_INK = "#e6e9ed"
"""Colour of text and of significant results on a dark background."""


DOUBT = "#858b93"
"""Colour of results that are not significant, of ties, and of unjudged documents."""

MIDDLE_LUMINANCE = 0.179
"""Luminance of a background on which black and white texts have the same contrast."""

IS_DARK = f"(luminance(background) < {MIDDLE_LUMINANCE})"
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
"""Expression of the colour of strategies beside a highlighted one, or without one of their own."""

CATEGORY_COLOURS: list[Any] = [*OKABE_ITO[:-1], choose_by_background(OKABE_ITO[-1], LIGHT_INK)]
"""The colours of Okabe and Ito, in which the colour of text replaces black on dark backgrounds."""

MAX_LARGE_PANELS = 9
"""Maximum number of panels of full size. If a chart has more, all its panels are small, and a row
has five of them by default."""

PANEL_SIZES = {2: 270, 3: 175}
"""Width of a panel in pixels, by the number of panels in a row. A row fits in a notebook that is
700 pixels wide. A panel without names on its y axis is square."""


class Words(NamedTuple):
    """Texts of a chart, which screen readers read too."""

    finding: str = ""
    """The title above all panels: the contents of the chart, or the finding of a test."""
    notes: Sequence[str] = ()
    """Notes below the title, which explain the marks."""
    described: str | None = None
    """Description that a screen reader reads after the finding; by default the axes."""


TEXTS = ("guide-label", "guide-title", "group-title", "group-subtitle")
"""Vega's names for the texts of axes, legends, panels and titles."""

BACKGROUND_SETTINGS: dict[str, Any] = {
    "axis": {"domainColor": DOUBT, "tickColor": DOUBT, "gridColor": FAINT_COLOUR},
    "style": {name: {"fill": choose_by_background("black", LIGHT_INK)} for name in TEXTS},
    "view": {"stroke": FAINT_COLOUR},
}
"""Settings with which axes, titles and legends are legible on the configured background."""


class Configurable:
    """A chart that a caller may configure."""

    def configure(self, **settings: Any) -> Any:
        """Return a copy with other settings; texts are legible on another background."""
        if "background" in settings:
            settings = BACKGROUND_SETTINGS | settings
        return super().configure(**settings)  # type: ignore[misc]

    def configure_range(self, **ranges: Any) -> Any:
        """Return a copy with other colours."""
        chart = super().configure_range(**ranges)  # type: ignore[misc]
        if "category" in ranges:
            chart = chart.copy(deep=True)
            for view in chart.list_coloured_views():
                view.encoding = drop_default_colours(view.encoding)
        return chart


class LayerChart(Configurable, alt.LayerChart):  # type: ignore[misc]
    """A layered chart whose layers share the channels that a caller may replace by `encode`."""

    def __add__(self, other: Any) -> LayerChart:
        """Lay another chart over this one.

        Altair appends the other chart to the layers, where it would get the shared channels too.
        """
        if self.resolve is not alt.Undefined and isinstance(other, alt.Chart):
            # Our layers have axes of their own. A second axis of y would be drawn over ours.
            other = other.copy()
            y = other.encoding.y
            if isinstance(y, alt.SchemaBase) and y["axis"] is alt.Undefined:
                other.encoding.y = y.copy()
                other.encoding.y["axis"] = None
        shared = self.copy()
        shared.data = shared.title = alt.Undefined
        return LayerChart(data=self.data, layer=[shared, other], title=self.title)

    def __iadd__(self, other: Any) -> LayerChart:  # noqa: PYI034 (a new chart, as in Altair)
        return self + other

    def facet(self, *facets: Any, **options: Any) -> FacetChart:
        """Return a chart with a panel for each value of a field."""
        channels = [*facets, *(options.get(name) for name in ("facet", "row", "column"))]
        if isinstance(self.data, pl.DataFrame) and self.transform is alt.Undefined:
            check_facets(channels, self.data.columns)
        chart = FacetChart(**super().facet(*facets, **options)._kwds)  # noqa: SLF001 (every option of the facets)
        # Vega-Lite draws no title inside of facets.
        chart.title, chart.spec.title = chart.spec.title, alt.Undefined
        return chart

    def list_coloured_views(self) -> list[Any]:
        """Return the parts of the chart whose encoding has colours."""
        return [self]


class FacetChart(Configurable, alt.FacetChart):  # type: ignore[misc]
    """A chart with a panel per value, in which sizes and encodings are those of every panel."""

    def properties(self, **properties: Any) -> FacetChart:
        """Return a copy with other properties; width and height are those of a panel."""
        size = {name: properties.pop(name) for name in ("width", "height") if name in properties}
        chart: FacetChart = super().properties(**properties)
        chart.spec = chart.spec.properties(**size)
        return chart

    def encode(self, *channels: Any, **named_channels: Any) -> FacetChart:
        """Return a copy with other encodings in every panel."""
        chart = self.copy()
        chart.spec = chart.spec.encode(*channels, **named_channels)
        return chart

    def list_coloured_views(self) -> list[Any]:
        """Return the parts of the chart whose encoding has colours."""
        return [self.spec]


def check_facets(channels: Iterable[Any], columns: Collection[str]) -> None:
    """Raise if a channel of facets has a field that is no column of the drawn rows."""
    for channel in channels:
        text = channel if isinstance(channel, str) else getattr(channel, "shorthand", None)
        field = re.sub(r":[NOQT]$", "", text) if isinstance(text, str) else None
        if field is not None and field not in columns:
            msg = (
                f"a facet must name a column of the drawn rows, got {field!r}; there are "
                f"{', '.join(columns)}\n\nHint: panel={field!r} draws panels if the chart function "
                "has this argument; otherwise filter the frame and draw a chart for each value"
            )
            raise ValueError(msg)


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
    if isinstance(scale, alt.Scale) and scale["range"] == _list_colours():
        scale["range"] = alt.Undefined
    return encoding


FRAMELESS = {"view": {"stroke": None}}
"""Settings of a chart without a frame."""

PANEL_SPACING = {"column": 36, "row": 20}
"""Space between panels in pixels. Labels at the ends of an x axis are centred at their ticks, so
half of such a label extends beyond the panel. Two half labels fit between two panels of a row."""


def draw_panels(
    layers: Sequence[alt.Chart],
    table: pl.DataFrame,
    panel: Columns | None,
    words: Words,
    x: Literal["shared", "independent"] = "shared",
    *,
    columns: int | None = None,
    independent: Collection[str] = (),
    **size: Any,
) -> Chart:
    """Draw the layers as one chart, with a panel for each value of a column.

    The column of `table` is called "panel". If it has only one value, or if `panel` is None, the
    chart has no panels. A channel in `independent` must not have a legend, because each panel would
    repeat the legend.
    """
    panel_names = [] if panel is None else table["panel"].unique(maintain_order=True).to_list()
    if len(panel_names) < 2:  # noqa: PLR2004
        rows = table if panel is None else table.drop("panel")
        return draw_layers(layers, rows, words, independent=independent, **size)
    are_large = len(panel_names) <= MAX_LARGE_PANELS
    columns = columns or ((2 if len(panel_names) in {2, 4} else 3) if are_large else 5)
    side = PANEL_SIZES.get(columns, 300) if are_large else 180
    size = {"width": side} | ({} if _has_names(layers) else {"height": side}) | size
    # Without a sort, panels would be in alphabetical order.
    labels = {name: name_measure(name) if panel == "measure" else name for name in panel_names}
    header = alt.Header(labelLimit=300, labelExpr=replace_labels(labels))
    facet = alt.Facet("panel:N", title=None, sort=panel_names, header=header)
    chart = _combine_layers(layers, table, Words(described=""), independent, **size)
    described = f"{words.described or describe_axes(layers)}, {len(panel_names)} panels"
    chart.data = alt.Undefined
    facets: Any = FacetChart(
        data=table.rename(escape_text), spec=chart, facet=facet, columns=columns
    )
    panels = facets.resolve_scale(x=x)
    panels.spacing = PANEL_SPACING
    panels.description = _join_description(words.finding, described)
    if words.finding or words.notes:
        panels.title = build_title(words.finding, words.notes)
    if len(panel_names) % columns:
        # The last row is not full. A shared axis would be drawn below its empty places, far from
        # the panels above.
        panels = panels.resolve_axis(x="independent")
    return escape_chart(panels)


def draw_layers(
    layers: Sequence[alt.Chart],
    table: pl.DataFrame,
    words: Words,
    *,
    independent: Collection[str] = (),
    **size: Any,
) -> LayerChart:
    """Draw the layers as one chart of one data set.

    Such a chart can be faceted. If the chart is placed beside another, both charts share the scales
    of channels such as `color`, but not those of x and y. A channel in `independent` has its own
    scale in each layer, and shares no scale with the other chart.
    """
    chart: LayerChart = escape_chart(_combine_layers(layers, table, words, independent, **size))
    return chart


def _combine_layers(
    layers: Sequence[alt.Chart],
    table: pl.DataFrame,
    words: Words,
    independent: Collection[str],
    **size: Any,
) -> alt.LayerChart:
    """Lay the layers over each other.

    Texts are not escaped, except the names of columns.
    """
    finding, notes, described = words
    described = describe_axes(layers) if described is None else described
    if described:
        size["description"] = _join_description(finding, described)
    if finding or notes:
        size["title"] = build_title(finding, notes)
    chart: Any = LayerChart(data=table.rename(escape_text), layer=list(layers), **size)
    resolutions = dict.fromkeys(independent, "independent")
    return chart.resolve_scale(**resolutions) if resolutions else chart


def escape_chart(part: Any) -> Any:
    """Escape the texts of a chart, or of a part of it, and return the result.

    Altair objects are changed in place. Rows and expressions stay as they are.
    """
    if isinstance(part, str):
        return escape_text(part)
    if isinstance(part, list):
        return [escape_chart(each) for each in part]
    if isinstance(part, dict):
        return {name: escape_chart(each) for name, each in part.items()}
    if isinstance(part, alt.SchemaBase) and not isinstance(part, Expression):
        # `dir` also lists methods, so that it takes ten times as long.
        for name, value in part._kwds.items():  # noqa: SLF001
            if value is not alt.Undefined:
                part[name] = escape_chart(value)
    return part


MAX_TITLE_LINE_LETTERS = 56
"""Maximum number of letters of a line of a title, above a chart of the usual size."""


MAX_NOTE_LINE_LETTERS = 90
"""Maximum number of letters of a line below the title."""


def build_title(finding: str, notes: Iterable[str] = ()) -> alt.TitleParams:
    """Return a title that starts at the edge of the chart, with the notes in one line below.

    A line that is too long is wrapped.
    """
    lines = _wrap_evenly(finding, MAX_TITLE_LINE_LETTERS)
    text = lines if len(lines) > 1 else "".join(lines)
    subtitle = _wrap_evenly("; ".join(notes), MAX_NOTE_LINE_LETTERS)
    size: dict[str, Any] = {"subtitle": subtitle, "subtitleFontSize": 11} if subtitle else {}
    return alt.TitleParams(text, anchor="start", fontSize=13, **size)


JOINED_WORDS = re.compile(r"(?<=\d) (?=[^\W\d]|%)|(?<=\d (?:is|to)) (?=\S)|(?<=\d are) (?=\S)")
"""Spaces at which a line must not end, such as the spaces in "3 queries", "30 %" and "1 to 5".

One kind of space is between a number and a word or %. The other kind is after "is", "are" or "to",
if a number is before this word.
"""


def _wrap_evenly(text: str, max_letters: int) -> list[str]:
    """Wrap a text into as few lines as possible, of about the same length."""
    widths = range(max_letters, 0, -1)
    # A number stays on the line of the word that it counts.
    text = JOINED_WORDS.sub("\N{NO-BREAK SPACE}", text)
    wrapped = [
        textwrap.wrap(text, width, break_on_hyphens=False, break_long_words=False)
        for width in widths
    ]
    most_even = [lines for lines in wrapped if len(lines) == len(wrapped[0])][-1]
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in most_even]


def write_rest_note(names: Collection[str], reason: str = "") -> list[str]:
    """Write a note about grey marks, if more strategies exist than colours.

    `reason` says what the grey strategies have in common.
    """
    n_others = len(names) - MAX_COLOURS
    clause = f", with {reason}" if reason else ""
    return [f"grey: {format_count(n_others, 'others')}{clause}"] if n_others > 0 else []


def _join_description(finding: str, description: str) -> str:
    """Return the title of a chart and its description as one text."""
    return f"{finding}. {description}" if finding else description


def _has_names(layers: Sequence[alt.Chart]) -> bool:
    """Return whether the y axis has names.

    If it has, the number of names sets the height of the chart.
    """
    axes = [layer.encoding.y for layer in layers]
    return any(isinstance(y, alt.Y) and str(y.shorthand).endswith(":N") for y in axes)


MAX_DESCRIBED_VALUES = 10
"""Maximum number of values in a description."""


def describe_axes(layers: Sequence[alt.Chart]) -> str:
    """Return a description of the axes of a chart."""
    axis_titles = {}
    for channel in ("y", "x"):
        for layer in layers:
            axis = getattr(layer.encoding, channel, alt.Undefined)
            title = axis["title"] if isinstance(axis, alt.X | alt.Y) else alt.Undefined
            if title is not alt.Undefined and title:
                axis_titles[channel] = " ".join(title) if isinstance(title, list) else str(title)
                break
    return " by ".join(axis_titles.values())


def list_values(what: str, values: Iterable[tuple[Any, Any]]) -> str:
    """Write the first values in words: "mean ap: ours 0.7500, bm25 0.5000"."""
    texts = [f"{name} {value:.4f}" for name, value in values if value is not None]
    rest = (
        [f"and {len(texts) - MAX_DESCRIBED_VALUES} more"]
        if len(texts) > MAX_DESCRIBED_VALUES
        else []
    )
    return f"{what}: {', '.join([*texts[:MAX_DESCRIBED_VALUES], *rest])}"


def encode_names(
    names: Iterable[str],
    title: str,
    *,
    field: str = "strategy",
    colours: Mapping[str, str] | None = None,
    highlight: Any = None,
    prioritised: Sequence[str] = (),
    legend: alt.Legend | bool = False,
) -> Any:
    """Return one encoding of colours for all layers of a chart.

    The domain of the scale is in the order of `names`. Its range contains the colours of Okabe and
    Ito, unless the theme has its own. `LayerChart.configure_range` removes this range. If there are
    more than `MAX_COLOURS` names, only the first of `prioritised` have a colour, and the others are
    grey.
    """
    names = [*dict.fromkeys(names)]
    chosen = {str(name): colour for name, colour in (colours or {}).items()}
    _check_drawn("colours", [*chosen], names)
    _check_drawn("highlight", [] if highlight is None else [str(highlight)], names)
    coloured = names
    if len(names) > MAX_COLOURS:
        coloured = sort_naturally(choose_coloured(prioritised, colours, highlight))
    scale = alt.Scale(domain=coloured, range=_list_colours() or alt.Undefined)
    if chosen or highlight is not None:
        range_ = dict(zip(coloured, cycle(find_category_colours()), strict=False))
        if highlight is not None:
            range_ |= {name: REST_COLOUR for name in coloured if name != str(highlight)}
        scale = alt.Scale(domain=coloured, range=[*(range_ | chosen).values()])
    if isinstance(legend, bool):
        # A chart beside this one shares the legend, and may add up to `MAX_NAMED_MARKS` names.
        look: dict[str, Any] = {"symbolLimit": len(coloured) + MAX_NAMED_MARKS}
        if field == "measure":
            look["labelExpr"] = replace_labels({name: name_measure(name) for name in coloured})
        legend_or_none = build_legend(coloured, **look) if legend else None
    else:
        legend_or_none = legend
    colour = alt.Color(f"{field}:N", title=title, scale=scale, legend=legend_or_none)
    if coloured == names:
        return colour
    is_coloured = alt.FieldOneOfPredicate(field=field, oneOf=coloured)
    return alt.condition(is_coloured, colour, alt.value(REST_COLOUR))


def choose_coloured(
    prioritised: Iterable[str], colours: Mapping[str, str] | None, highlight: Any
) -> list[str]:
    """Return the names with a colour and a label, the most important first.

    The names that the caller chose come before those of `prioritised`.
    """
    chosen = [*(colours or {}), *([] if highlight is None else [highlight])]
    return [*dict.fromkeys(map(str, [*chosen, *prioritised]))][:MAX_COLOURS]


def _check_drawn(argument: str, chosen: Sequence[str], names: Sequence[str]) -> None:
    """Check that the names in an argument are those of drawn strategies."""
    for name in chosen:
        if name not in names:
            msg = f"`{argument}` must name a drawn strategy, got {name!r}; "
            msg += f"there are {', '.join(map(repr, names))}"
            raise ValueError(msg)


def find_category_colours() -> list[Any]:
    """Return the colours of names under the active theme, by default those of Okabe and Ito."""
    colours = _read_theme()[1].get("range", {}).get("category")
    return colours if isinstance(colours, list) else _list_colours() or OKABE_ITO


def _list_colours() -> list[Any]:
    """Return the colours of Okabe and Ito; none if the active theme has its own colours."""
    theme_name, config = _read_theme()
    return [] if theme_name or config.get("range", {}).get("category") else CATEGORY_COLOURS


def encode_few_names(
    names: Collection[str], title: str, colours: Mapping[str, str] | None, highlight: Any
) -> Any:
    """Return the colours of strategies whose names are on an axis.

    More than `MAX_COLOURS` strategies have the colour of text, unless the caller chooses colours.
    """
    if len(names) > MAX_COLOURS and not colours and highlight is None:
        return draw_ink()
    chosen: dict[str, Any] = {"colours": colours, "highlight": highlight}
    return encode_names(sort_naturally(names), title, **chosen)


def _read_theme() -> tuple[str | None, dict[str, Any]]:
    """Return the name of the active theme and its settings."""
    theme = alt.theme.get()
    spec: Any = theme() if theme else {}
    return spec.get("usermeta", {}).get("embedOptions", {}).get("theme"), spec.get("config", {})


def draw_ink() -> Any:
    """Return the colour of text, which is legible on the background of the chart."""
    return alt.ColorValue(TEXT_COLOUR)


def draw_paper() -> Any:
    """Return the colour of the background."""
    return alt.ColorValue(alt.ExprRef(PAPER))


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
    share = f"abs(datum.{value} / {highest!r})"
    strong = f"(datum.{value} < 0 ? {ORANGE_CELL.expr} : {BLUE_CELL.expr})"
    parts = (
        f"(1 - {share}) * rgb({PAPER}).{part} + {share} * rgb({strong}).{part}" for part in "rgb"
    )
    is_light = f"luminance(rgb({', '.join(parts)})) > {MIDDLE_LUMINANCE}"
    colour = alt.ExprRef(f"{is_light} ? 'black' : 'white'")
    marks = cells.mark_text(fontSize=size or alt.Undefined)
    return marks.encode(text=alt.Text(f"{text}:N"), fill=alt.FillValue(colour))


def choose_value(channel: Callable[..., Any], predicate: Any, if_true: Any, otherwise: Any) -> Any:
    """Return a channel, such as `alt.OpacityValue`, with one of two values for each mark.

    Altair compares a condition that is a dict with its whole schema, which takes milliseconds. This
    also holds for fields that are texts, such as `x2="end"` in place of `alt.X2("end")`.
    """
    chosen: Any = alt.condition(predicate, alt.value(if_true), alt.value(otherwise))
    return channel(chosen["value"], condition=chosen["condition"])


def split_colour(colour: str) -> list[int]:
    """Return red, green and blue of "#858b93", from 0 to 255."""
    return [*bytes.fromhex(colour.removeprefix("#"))]


def fade(colour: str, share: float) -> str:
    """Return a colour through which the background shows: `share` is the share of the colour."""
    return f"rgba({', '.join(map(str, split_colour(colour)))}, {share:.3g})"


def mix_colours(one: str, other: str, share: float) -> str:
    """Mix two colours: `share` is the share of the second one."""
    ends = map(split_colour, (one, other))
    return "#" + "".join(f"{round(a + share * (b - a)):02x}" for a, b in zip(*ends, strict=True))


def build_ramp(one: str, other: str, n: int) -> list[str]:
    """Return n colours from one to the other; if n is 1, the middle of both."""
    shares = [0.5] if n == 1 else [step / (n - 1) for step in range(n)]
    return [mix_colours(one, other, share) for share in shares]


def build_legend(names: Iterable[str] = (), **options: Any) -> alt.Legend:
    """Return a legend with opaque symbols, even for faint marks, and shortened names."""
    if max(map(len, names), default=0) > MAX_LABEL_LETTERS:
        options = {"labelExpr": write_short_label("datum.label", names)} | options
    return alt.Legend(symbolOpacity=1, labelLimit=300, **options)


MAX_LABEL_LETTERS = MAX_NAME_LETTERS
"""Maximum number of letters of a name in a chart. Names in titles have the same maximum."""


def write_short_label(text: str, names: Iterable[Any] | None = None) -> str:
    """Write a Vega expression that shortens the text of another expression.

    With `names`, different names are still different after they are shortened. Without `names`, a
    long text loses its middle, because most names differ at their ends.
    """
    if names is not None:
        texts = sorted({*map(str, names)})
        pairs = zip(texts, shorten_names(texts, MAX_LABEL_LETTERS), strict=True)
        return replace_labels(dict(pairs), text)
    start, end = MAX_LABEL_LETTERS // 2 - 1, MAX_LABEL_LETTERS // 2
    middle = f"slice({text}, 0, {start}) + '…' + slice({text}, -{end})"
    return f"length({text}) > {MAX_LABEL_LETTERS} ? {middle} : {text}"


def replace_labels(texts: Mapping[str, str], text: str = "datum.label") -> str:
    """Write a Vega expression that replaces some texts of another expression."""
    other = {name: label for name, label in texts.items() if name != label}
    return f"{json.dumps(other)}[{text}] || ({text})" if other else text


MAX_PAIR_LABEL_LETTERS = MAX_LABEL_LETTERS // 2 + 2
"""Maximum number of letters of each of the two names of a pair."""


def build_pairs_axis(table: pl.DataFrame, pair: str = "pair", **axis: Any) -> alt.Axis:
    """Return the axis of names of pairs.

    In the name of a pair, the name of each strategy is shortened separately.
    """
    has_several = table["baseline"].n_unique() > 1
    columns = ["strategy", "baseline"] if has_several else ["strategy"]
    names = pl.concat([table[column] for column in columns]).unique().sort()
    max_letters = MAX_PAIR_LABEL_LETTERS if has_several else MAX_LABEL_LETTERS
    short = pl.col(*columns).replace_strict(names, shorten_names(names.to_list(), max_letters))
    label = build_pair_name(versus=has_several).alias("label")
    labels = table.select(pair, *columns).unique().sort(pair).with_columns(short)
    texts = dict(labels.select(pair, label).rows())
    return alt.Axis(labelLimit=600, labelExpr=replace_labels(texts), **axis)


def order_axis(names: list[str] | alt.ExprRef, **axis: Any) -> dict[str, Any]:
    """Return the settings of an axis of names in the order of `names`.

    `names` is a list or a signal. The order is passed as the domain of the scale, not as a `sort`.
    Vega-Lite converts a `sort` to code, and this code fails if a name contains a line break.
    """
    if isinstance(names, list) and max(map(len, names), default=0) > MAX_LABEL_LETTERS:
        axis = {"labelExpr": write_short_label("datum.label", names)} | axis
    return {"sort": None, "scale": alt.Scale(domain=names)} | _build_axis(axis)


def bound_axis(
    ends: Iterable[Any], *, zero: Any = alt.Undefined, reverse: Any = alt.Undefined, **axis: Any
) -> dict[str, Any]:
    """Return the settings of an axis of numbers with exactly these ends.

    Pass `zero=False` if another layer draws bars on the same axis and sets no ends. Otherwise, the
    axis would begin at 0.
    """
    scale = alt.Scale(domain=[*ends], nice=False, zero=zero, reverse=reverse)
    # The labels at the ends are centred at their ticks.
    return {"scale": scale} | _build_axis(UNFLUSHED_LABELS | axis)


def _build_axis(look: dict[str, Any]) -> dict[str, Any]:
    """Return the option `axis` of a channel, or {} if `look` is empty."""
    return {"axis": alt.Axis(**look)} if look else {}


def build_names_axis(field: str, names: list[str], title: str | None = None, **axis: Any) -> alt.Y:
    """Return a vertical axis of names in the order of `names`."""
    return alt.Y(f"{field}:N", title=title, **order_axis(names, **({"labelLimit": 300} | axis)))


def draw_column(text: alt.Text | str, dx: int) -> alt.Chart:
    """Draw a column of texts to the right of the rows of the chart."""
    texts = alt.Chart().mark_text(align="left", dx=dx, clip=False)
    return texts.encode(x=alt.XValue("width"), text=text, color=draw_ink())


def draw_heading(text: str, dx: int) -> alt.Chart:
    """Draw a text above the plot, which ends `dx` pixels to the right of it."""
    heading = build_one_row().mark_text(align="right", dx=dx, dy=-9, fontSize=10, clip=False)
    place: dict[str, Any] = {"x": alt.XValue("width"), "y": alt.YValue(0)}
    return heading.encode(text=alt.TextValue(text), color=draw_ink(), **place)


LETTER_WIDTH = 6
"""Mean width of a letter of an axis title, in pixels."""

MAX_EXTRA_LETTERS = 6
"""Maximum number of letters of an axis title that extend beyond the axis."""


def draw_rows(
    layers: Sequence[alt.Chart],
    table: pl.DataFrame,
    panel: Columns | None,
    words: Words,
    *axis: Any,
    **options: Any,
) -> Chart:
    """Draw marks beside an axis of names; the panels of a row fit into a notebook."""
    n = 1 if panel is None else table["panel"].n_unique()
    width = 300 if n == 1 else 200 if n in {2, 4} else 140
    x = options["encoding"].x
    parts = [x["title"]] if isinstance(x["title"], str) else x["title"]
    letters = width // LETTER_WIDTH + MAX_EXTRA_LETTERS
    lines = [line for part in parts for line in _wrap_evenly(part, letters)]
    x["title"] = lines if len(lines) > 1 else lines[0]
    chart = draw_panels(layers, table, panel, words, *axis, width=width, **options)
    if n > 1:
        # Texts are to the right of each panel.
        chart.spacing = PANEL_SPACING | {"column": 60}
    return chart


def draw_dots(base: alt.Chart, size: int, **look: Any) -> alt.Chart:
    """Draw filled, opaque points."""
    return base.mark_point(filled=True, opacity=1, size=size, **look)


PERCENT_LABEL = "format(100 * datum.value, '~g') + ' %'"
"""Expression of the labels of an axis of shares, written as in sentences: "30 %"."""

UNFLUSHED_LABELS: dict[str, Any] = {"labelFlush": False}
"""Settings of an axis whose first and last label are centred at their ticks."""


def compute_name_step(n: int) -> int:
    """Return the width of each of n names under an axis, in pixels."""
    return min(60, max(12, 400 // n))


def fit_name_axis(names: Iterable[str], step: int, **axis: Any) -> dict[str, Any]:
    """Return the settings of an axis of names, horizontal if they fit.

    A name of k letters fits in a `step` of 6 k + 4 pixels or more.
    """
    fits = all(len(name) * 6 <= step - 4 for name in names)
    # By default, the title of an axis is over labels that are longer than 200 pixels.
    return {"labelAngle": 0 if fits else -90, "labelLimit": 250, "maxExtent": 300} | axis


def write_labels(texts: Mapping[Any, str]) -> str:
    """Write one Vega expression for all labels of an axis.

    `texts` maps each labelled value of the axis to the expression of its label.
    """
    cases = (f"datum.value === {at!r} ? {label}" for at, label in texts.items())
    return " : ".join([*cases, "''"])


MIN_TAIL_RATIO = 10
"""Ratio of the highest value to the median above which a distribution has a heavy tail."""


def build_amounts_axis(
    drawn: pl.Series,
    scale: Literal["linear", "symlog"] | None,
    distribution: pl.Series | None = None,
) -> tuple[dict[str, Any], float | None]:
    """Return an axis of amounts such as 250, 1,000, 10k and 2M, and the constant of symlog.

    Without a `scale`, the axis is a symlog axis if the distribution has a heavy tail. The constant
    is None on a linear axis.
    """
    label = "abs(datum.value) < 10000 ? format(datum.value, ',') : format(datum.value, '~s')"
    values = drawn if distribution is None else distribution
    sizes = values.abs().filter(values != 0)
    highest: Any = sizes.max() or 1.0
    median: Any = sizes.median() or 1.0
    if scale == "linear" or (scale is None and highest <= MIN_TAIL_RATIO * median):
        axis = alt.Axis(labelExpr=label, tickCount=6)
        return {"axis": axis, "scale": alt.Scale(zero=False)}, None
    constant = min(1.0, 10.0 ** math.floor(math.log10(median)))
    low: Any = drawn.min()
    high: Any = drawn.max()
    ticks = choose_power_ticks(low, high, constant)
    symlog = alt.Scale(type="symlog", constant=constant, zero=False, nice=False)
    return {"axis": alt.Axis(labelExpr=label, values=ticks), "scale": symlog}, constant


def build_counts_axis(highest: int) -> alt.Axis:
    """Return an axis of counts, with ticks at whole numbers.

    With the default number of ticks, Vega has ticks at halves if the highest count is 1 or 2.
    """
    return alt.Axis(format=",d", tickMinStep=1, tickCount=min(6, highest))


def build_means_axis() -> alt.Axis:
    """Return an axis of means.

    If all means are equal, the axis has a single tick, and Vega rounds its label to a whole number.
    The expression replaces a label that differs from the value.
    """
    number = "toNumber(replace(replace(datum.label, ',', ''), '\u2212', '-'))"
    is_wrong = f"abs({number} - datum.value) > 1e-6 * abs(datum.value)"
    label = f"{is_wrong} ? format(datum.value, ',.6~r') : datum.label"
    # In a small panel, every second label is left out rather than touching its neighbour.
    look = UNFLUSHED_LABELS | {"labelSeparation": 5}
    return alt.Axis(tickCount=5, titleLimit=300, labelExpr=label, **look)


INTERVAL_PADDING = 5
"""Minimum space between an interval and the frame, in pixels."""


def build_one_row() -> alt.Chart:
    """Return a chart of one row, for marks that are drawn once."""
    return alt.Chart().transform_aggregate(rows="count()")


def draw_rule(**at: float) -> alt.Chart:
    """Draw one grey line at a value of x or y."""
    value = alt.XDatum(at["x"]) if "x" in at else alt.YDatum(at["y"])
    return build_one_row().mark_rule(color="gray").encode(value)


def build_pointer(name: str, field: str, **options: Any) -> alt.Parameter:
    """Return a parameter that selects marks like the one under the pointer.

    All marks with the same value of `field` are selected.
    """
    pointer: dict[str, Any] = {"on": "pointerover", "clear": "pointerout", **options}
    return alt.selection_point(name=name, fields=[field], **pointer)


def add_selection(layer: alt.Chart, *params: alt.Parameter) -> alt.Chart:
    """Add selections to a layer, and name the layer after the first selection."""
    return layer.properties(name=f"view_{params[0].name}").add_params(*params)


def format_decimals(*fields: str) -> list[Any]:
    """Return tooltips of numbers with four decimals, as in tables."""
    return [alt.Tooltip(f"{field}:Q", format=".4f") for field in fields]


def add_interval(
    chart: alt.Chart, low: str, high: str, field: str = "interval", title: Any = alt.Undefined
) -> tuple[alt.Chart, alt.Tooltip]:
    """Return the chart with a field such as "0.12 to 0.15", and its tooltip."""
    ends = (f"format(datum['{end}'], '.4f')" for end in (low, high))
    text = " + ' to ' + ".join(ends)
    text = f"isValid(datum['{low}']) ? {text} : ''"
    return chart.transform_calculate(**{field: text}), alt.Tooltip(f"{field}:N", title=title)


def list_tooltips(*fields: str | alt.Tooltip) -> list[alt.Tooltip]:
    """Return a tooltip for each field, given as a text such as "rank:Q".

    Altair also accepts texts in a list of tooltips, but hashes its whole schema for each text,
    which takes milliseconds.
    """
    return [alt.Tooltip(field) if isinstance(field, str) else field for field in fields]


def add_p(chart: alt.Chart, title: str) -> tuple[alt.Chart, alt.Tooltip]:
    """Return the chart with its p values as text, and their tooltip."""
    smallest = f"datum.p_corrected < {SMALLEST_P} ? '{format_p(0)}'"
    largest = f"datum.p_corrected > {LARGEST_P} ? '{format_p(1)}'"
    number = f"{smallest} : {largest} : format(datum.p_corrected, '.4f')"
    chart = chart.transform_calculate(
        p=f"isValid(datum.p_corrected) ? {number} : '{format_p(None)}'"
    )
    return chart, alt.Tooltip("p:N", title=title)


def write_mean_title(table: pl.DataFrame, prefix: str = "mean ", default: str = "mean") -> str:
    """Write the axis title of means, with the measure if there is only one."""
    names = table["measure"].unique().to_list() if "measure" in table.columns else []
    return f"{prefix}{name_measure(names[0])}" if len(names) == 1 else default


def is_unit(values: pl.Series) -> bool:
    """Return whether all values lie between 0 and 1."""
    return bool(values.drop_nulls().is_between(0, 1).all())


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
