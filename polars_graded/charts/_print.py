"""Prepare a chart for a printed page."""

from __future__ import annotations

from typing import Any

import altair as alt

from polars_graded._checks import check_whole_number
from polars_graded._measuring.keywords import checks_call

PRINT_COLOURS = [
    *("#440154", "#35b779", "#31688e", "#b5de2b", "#482878"),
    *("#6ece58", "#3e4989", "#1f9e89", "#26828e", "#fde725"),
]
"""Ten colours of the scale viridis of Matplotlib.

The lightness of viridis rises evenly, so the colours stay apart when they are printed in grey. The
first colours of the list are far from each other on the scale.
"""

FONT_SIZE = 8
"""Size of most texts on paper, in points."""


@checks_call
def for_print(
    chart: Any, *, width: int | None = None, font: str = "Helvetica, Arial, sans-serif"
) -> Any:
    """Return a chart with the fonts, sizes and colours of a printed page.

    Texts have 8 points, titles 9 points, the background is white, and the colours of strategies
    differ in lightness, so that a print in grey shows them apart. Colours that you passed as
    `colours` stay. Because Altair neither layers nor concatenates charts with
    settings, call this function last. `alt.renderers` and themes of your notebook do not change.

    Parameters
    ----------
    chart
        A chart of this module, or any other Altair chart.
    width
        The width of the plot, or of each panel, in points: about 170 for half a column of a
        two-column page with names at the lines, 240 for a column, and 500 for the page. By default,
        the width stays. Charts that are beside each other keep their widths.
    font
        The font, such as that of your paper.

    Returns
    -------
    Chart
        A copy. Save it with ``chart.save("figure.pdf")`` or as SVG; one pixel is one point.

    Examples
    --------
    >>> import polars as pl
    >>> from polars_graded import charts
    >>> frame = pl.DataFrame({"strategy": ["ours"], "query": ["q1"], "dcg": [[1.0, 1.5]]})
    >>> figure = charts.for_print(charts.dcg_curves(frame), width=240)
    >>> figure.width, figure.config.axis.labelFontSize
    (240, 8)
    """
    if width is not None:
        check_whole_number("width", width)
        if isinstance(chart, alt.ConcatChart | alt.HConcatChart | alt.VConcatChart):
            msg = "`width` must be None for concatenated charts, which keep their widths, "
            msg += f"got {width}"
            raise ValueError(msg)
        chart = chart.properties(width=width)
    chart = chart.configure_range(category=PRINT_COLOURS)
    text: dict[str, Any] = {"labelFontSize": FONT_SIZE, "titleFontSize": FONT_SIZE}
    title: dict[str, Any] = {"fontSize": FONT_SIZE + 1, "subtitleFontSize": FONT_SIZE}
    settings = alt.Config(
        background="white",
        font=font,
        axis=alt.AxisConfig(titleFontWeight="normal", gridColor="#e4e4e4", **text),
        header=alt.HeaderConfig(**text),
        legend=alt.LegendConfig(symbolSize=40, **text),
        line=alt.LineConfig(strokeWidth=1.25),
        range=chart.config.range,
        text=alt.MarkConfig(fontSize=FONT_SIZE),
        title=alt.TitleConfig(**title),
    )
    chart.config = settings
    return chart
