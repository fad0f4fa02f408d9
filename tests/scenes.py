"""Measure charts as Vega draws them: their texts and their marks, in pixels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import altair as alt
from altair.utils import schemapi
from helpers import needed

if TYPE_CHECKING:
    from collections.abc import Iterator


def scene_of(chart: Any) -> dict[str, Any]:
    """Return a chart as Vega draws it."""
    vl_convert = needed("vl_convert")
    version = alt.SCHEMA_VERSION.removeprefix("v").rpartition(".")[0]
    options = {} if version not in vl_convert.get_vegalite_versions() else {"vl_version": version}
    scene: dict[str, Any] = vl_convert.vegalite_to_scenegraph(
        chart.to_dict(validate=schemapi.DEBUG_MODE), **options
    )
    return scene


def assert_inside(scene: dict[str, Any]) -> None:
    """Assert that the box of each text lies inside the picture."""
    boxes = [*boxes_of(scene["scenegraph"], *scene["origin"])]
    assert boxes
    for box in boxes:
        assert box.left >= -1, box
        assert box.top >= -1, box
        assert box.right <= scene["width"] + 1, box
        assert box.bottom <= scene["height"] + 1, box


class Box(NamedTuple):
    """One line of text and the least room that it takes: letters 0.4 of their height wide."""

    text: str
    left: float
    top: float
    right: float
    bottom: float


def boxes_of(mark: dict[str, Any], x: float, y: float) -> Iterator[Box]:
    """Yield the boxes of the visible texts of a scenegraph."""
    for item in mark.get("items", []):
        at_x, at_y = x + item.get("x", 0), y + item.get("y", 0)
        if mark.get("marktype") == "text" and item.get("text") and item.get("opacity", 1) > 0:
            yield from lines_of(item, at_x, at_y)
        for part in item.get("items", []):
            yield from boxes_of(part, at_x, at_y)


def lines_of(item: dict[str, Any], x: float, y: float) -> Iterator[Box]:
    """Yield the box of each line of a text."""
    lines = item["text"] if isinstance(item["text"], list) else [item["text"]]
    size = item.get("fontSize", 11)
    turn = math.radians(item.get("angle", 0))
    share = {"left": 0, "center": 0.5, "right": 1}[item.get("align", "left")]
    # The top of small letters above the point of the text, as a share of their size.
    rise = {"top": 0.1, "line-top": 0.1, "middle": -0.25, "bottom": -0.7}.get(
        item.get("baseline", "alphabetic"), -0.5
    )
    for number, line in enumerate(map(str, lines)):
        width = min(0.4 * size * len(line), item.get("limit") or math.inf)
        start = item.get("dx", 0) - share * width
        top = item.get("dy", 0) + rise * size + number * item.get("lineHeight", size + 2)
        corners = [
            (
                x + right * math.cos(turn) - down * math.sin(turn),
                y + right * math.sin(turn) + down * math.cos(turn),
            )
            for right in (start, start + width)
            for down in (top, top + 0.5 * size)
        ]
        across, along = zip(*corners, strict=True)
        yield Box(line, min(across), min(along), max(across), max(along))


class Mark(NamedTuple):
    """One mark of a picture and its place."""

    kind: str
    x: float
    y: float
    item: dict[str, Any]


def marks_of(scene: dict[str, Any]) -> Iterator[Mark]:
    """Yield the marks of a chart, its texts and its axes among them."""
    yield from _marks_below(scene["scenegraph"], *scene["origin"])


def _marks_below(mark: dict[str, Any], x: float, y: float) -> Iterator[Mark]:
    for item in mark.get("items", []):
        at_x, at_y = x + item.get("x", 0), y + item.get("y", 0)
        if mark.get("marktype") != "group":
            yield Mark(mark["marktype"], at_x, at_y, item)
        for part in item.get("items", []):
            yield from _marks_below(part, at_x, at_y)
