"""Put layers together: one chart, or a chart with panels, with its title."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Literal, TypeAlias

import altair as alt
import polars as pl

from polars_graded._drawing import style
from polars_graded._frames.arguments import Columns
from polars_graded._results.keys import collect_column_names
from polars_graded._sentences.titles import name_measure

Chart: TypeAlias = alt.LayerChart | alt.FacetChart

PANEL_SIZES = {2: 270, 3: 175}
"""Width of a panel in pixels, by the number of panels in a row. A row fits in a notebook that is
700 pixels wide. A panel without names on its y axis is square."""

PANEL_SPACING = {"column": 36, "row": 20}
"""Space between panels in pixels. Labels at the ends of an x axis are centred at their ticks, so
half of such a label extends beyond the panel. Two half labels fit between two panels of a row."""

MAX_TITLE_LINE_LETTERS, MAX_NOTE_LINE_LETTERS = 56, 90
"""Maximum numbers of letters of a line of a title, and of a line below it, above a chart of the
usual size."""

MAX_HEADER_LETTERS = 48
"""Maximum number of letters of the name of a panel."""


class Configurable:
    """A chart that a caller may configure."""

    def configure(self, **settings: Any) -> Any:
        """Return a copy with other settings; texts are legible on another background."""
        if "background" in settings:
            settings = style.BACKGROUND_SETTINGS | settings
        return super().configure(**settings)  # type: ignore[misc]

    def configure_range(self, **ranges: Any) -> Any:
        """Return a copy with other colours."""
        chart = super().configure_range(**ranges)  # type: ignore[misc]
        if "category" in ranges:
            chart = chart.copy(deep=True)
            for view in chart.list_coloured_views():
                view.encoding = style.drop_default_colours(view.encoding)
        return chart

    def list_coloured_views(self) -> list[Any]:
        """Return the parts of the chart whose encoding has colours."""
        return [self]


class LayerChart(Configurable, alt.LayerChart):  # type: ignore[misc]
    """A layered chart whose layers share the channels that a caller may replace by `encode`."""

    def __add__(self, other: Any) -> LayerChart:
        """Lay another chart over this one.

        Altair appends the other chart to the layers, where it would get the shared channels too.
        """
        shared = self.copy()
        shared.data = shared.title = alt.Undefined
        return LayerChart(data=self.data, layer=[shared, other], title=self.title)

    def __iadd__(self, other: Any) -> LayerChart:  # noqa: PYI034 (a new chart, as in Altair)
        return self + other

    def facet(self, *facets: Any, **options: Any) -> FacetChart:
        """Return a chart with a panel for each value of a field, which must be a column."""
        channels = [*facets, *(options.get(name) for name in ("facet", "row", "column"))]
        data: Any = self.data
        # A transform by the caller may add fields.
        if self.transform is alt.Undefined:
            _check_facets(channels, data.columns)
        chart = FacetChart(**super().facet(*facets, **options)._kwds)  # noqa: SLF001 (every option of the facets)
        # Vega-Lite draws no title inside of facets.
        chart.title, chart.spec.title = chart.spec.title, alt.Undefined
        return chart


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


def _check_facets(channels: Iterable[Any], columns: Collection[str]) -> None:
    """Raise if a channel of facets has a field that is no column of the drawn rows."""
    for text in (getattr(channel, "shorthand", channel) for channel in channels):
        field = re.sub(r":[NOQT]$", "", text) if isinstance(text, str) else None
        if field not in (None, *columns):
            msg = (
                f"a facet must name a column of the drawn rows, {', '.join(columns)}, got {field!r}"
            )
            raise ValueError(msg)


def draw_panels(
    layers: Sequence[alt.Chart],
    table: pl.DataFrame,
    panel: Columns | None,
    headline: str,
    notes: Iterable[str] = (),
    sharing: Literal["shared", "independent"] = "shared",
    *,
    independent: Collection[str] = (),
    **options: Any,
) -> Chart:
    """Draw the layers as one chart, with a panel for each value of the column "panel".

    If the column has only one value, or if `panel` is None, the chart has no panels. A chart beside
    this one shares the scales of channels such as `color`, but not those of x and y. A channel in
    `independent` has its own scale in each layer, and shares none. It must not have a legend in a
    chart with panels, because each panel would repeat the legend. `sharing` is that of the x axis.
    """
    names = [] if panel is None else table["panel"].unique(maintain_order=True).to_list()
    per_row = 2 if len(names) in {2, 4} else 3
    if len(names) > 1:
        options = dict.fromkeys(("width", "height"), PANEL_SIZES[per_row]) | options
    chart: Any = LayerChart(layer=list(layers), **options)
    if independent:
        chart = chart.resolve_scale(**dict.fromkeys(independent, "independent"))
    if len(names) < 2:  # noqa: PLR2004
        chart.data = table if panel is None else table.drop("panel")
        add_title(chart, headline, notes)
        return chart
    labels = {name: name for name in names}
    if "measure" in collect_column_names(panel):
        pairs = table.select("panel", "measure").unique().rows()
        labels |= {name: name.replace(each, name_measure(each), 1) for name, each in pairs}
    label = style.shorten_labels(labels, MAX_HEADER_LETTERS)
    header = alt.Header(labelLimit=300, labelExpr=label)
    # Without a sort, panels would be in alphabetical order.
    facet = alt.Facet("panel:N", title=None, sort=names, header=header)
    grid: Any = FacetChart(data=table, spec=chart, facet=facet, columns=per_row)
    grid = grid.resolve_scale(x=sharing)
    grid.spacing = PANEL_SPACING
    add_title(grid, headline, notes)
    if len(names) % per_row:
        # The last row is not full. A shared axis would be drawn below its empty places, far from
        # the panels above.
        grid = grid.resolve_axis(x="independent")
    return grid


def draw_forest(
    layers: Sequence[alt.Chart],
    table: pl.DataFrame,
    panel: Columns | None,
    headline: str,
    notes: Iterable[str],
    mark_notes: Sequence[str],
    sharing: Literal["shared", "independent"],
    *,
    encoding: alt.Encoding,
    height: Any = alt.Undefined,
) -> Chart:
    """Draw marks beside an axis of names, whose number sets the height of the chart.

    The texts `mark_notes` explain the marks. They follow the title of the x axis, or are notes if
    there are panels, which would repeat them.
    """
    n = 1 if panel is None else table["panel"].n_unique()
    width = 300 if n == 1 else 200 if n in {2, 4} else 140
    x = encoding.x
    if n > 1:
        notes, x["title"] = [*notes, *filter(None, [x["title"]]), *mark_notes], None
    elif mark_notes:
        letters = width // style.LETTER_WIDTH
        texts = [x["title"], *mark_notes]
        x["title"] = [line for text in texts for line in style.wrap_text(text, letters)]
        # In a narrow chart, the title is longer than the axis, and there is room below the names.
        x["axis"]["titleAnchor"] = "end"
    size: dict[str, Any] = {"width": width, "height": height}
    chart = draw_panels(layers, table, panel, headline, notes, sharing, encoding=encoding, **size)
    if n > 1:
        # Texts are to the right of each panel.
        chart.spacing = PANEL_SPACING | {"column": 60}
    return chart


def add_title(chart: Any, headline: str, notes: Iterable[str] = ()) -> None:
    """Add a title that starts at the edge of the chart, with the notes in a line below.

    A line that is too long is wrapped. Screen readers read both texts.
    """
    note = "; ".join(notes)
    lines = style.wrap_text(headline, MAX_TITLE_LINE_LETTERS)
    subtitle = style.wrap_text(note, MAX_NOTE_LINE_LETTERS)
    options: dict[str, Any] = {"subtitle": subtitle, "subtitleFontSize": 11} if note else {}
    text: Any = lines if len(lines) > 1 else headline
    chart.title = alt.TitleParams(text, anchor="start", fontSize=13, **options)
    chart.description = f"{headline}. {note}" if note else headline
