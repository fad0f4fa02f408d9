"""Collect the specifications and rows of a page's charts."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import altair as alt
from altair.utils import schemapi

from polars_graded._drawing.panels import Chart
from polars_graded._drawing.style import INK, LIGHT_INK

FONT = "system-ui, -apple-system, 'Segoe UI', 'Liberation Sans', sans-serif"
THEME = "polars_graded report"


def _build_config(paper: str, ink: str, line: str) -> dict[str, Any]:
    """Return the settings of charts on a page with these colours."""
    return {
        # The page describes each chart in a sentence, so marks need no labels for screen readers.
        "aria": False,
        "background": paper,
        "font": FONT,
        "axis": {"gridColor": line, "domainColor": line, "tickColor": line},
        "header": {"labelColor": ink, "titleColor": ink},
        "style": {"guide-label": {"fill": ink}, "guide-title": {"fill": ink}},
        "text": {"color": ink},
        "title": {"color": ink, "subtitleColor": ink},
        "view": {"stroke": line},
    }


CONFIGS = (_build_config("#ffffff", INK, "#d0d7de"), _build_config("#14181d", LIGHT_INK, "#3a424b"))
"""Settings of charts on a light and on a dark screen. `page.css` has the same backgrounds. The
colours of a chart follow its background, so that one specification serves both screens."""


class Figure(NamedTuple):
    """A chart of the page."""

    id: str
    """The name of its specifications in `Charts`."""
    description: str
    """Text for screen readers."""
    is_filled: bool
    """True if the chart is as wide as its place."""


class Charts:
    """The specifications of all charts of a page, and their rows."""

    def __init__(self) -> None:
        self.specs: dict[str, dict[str, Any]] = {}
        """The specification of each chart, and the names of its data sets. The first of these
        contains the rows of the chart."""
        self.datasets: dict[str, list[dict[str, Any]]] = {}

    def draw(self, chart: Chart, height: int | None = None) -> Figure:
        """Add a chart, and return its figure.

        If a height is passed, the script makes the chart as wide as its place.
        """
        is_filled = height is not None and isinstance(chart, alt.LayerChart)
        shown: Any = chart.properties(height=height) if is_filled else chart
        # The chart is valid by construction, and validation by Altair takes much time.
        spec = shown.to_dict(validate=False)
        datasets = spec.pop("datasets", {})
        self.datasets |= datasets
        name, rows = f"chart-{len(self.specs) + 1}", spec.get("data", {}).get("name")
        names = sorted(datasets, key=lambda name: name != rows)
        self.specs[name] = {"spec": spec, "data": names}
        return Figure(name, spec.get("description", ""), is_filled)

    def pack(self) -> str:
        """Return all specifications, rows and settings as compressed JSON in Base64."""
        page = {"charts": self.specs, "datasets": self.datasets, "configs": CONFIGS}
        text = json.dumps(page, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode("ascii")


@contextmanager
def use_own_theme() -> Iterator[None]:
    """Build charts without the user's theme, and without validation."""
    theme: Any = {}
    alt.theme.register(THEME, enable=False)(lambda: theme)
    try:
        with alt.theme.enable(THEME), schemapi.debug_mode(arg=False):
            yield
    finally:
        alt.theme.unregister(THEME)
