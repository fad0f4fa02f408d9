"""Engines that spread a frame over many machines, told by their frames without importing them.

An engine is a module with `evaluate_rows(request, frame, parts)`. It puts the rows of a query into
one bucket, has `arrow.Worker` measure a bucket at a time, and returns a frame of its own kind. This
frame needs a method `union`, which puts the values of several graders together. The engine may have
`join_rows(run, judgments, ...)`, which joins the two where they are.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

ENGINES = {
    "spark": ("pyspark.sql", {"DataFrame"}),
    "ray_data": ("ray.data", {"Dataset", "MaterializedDataset"}),
}
"""The package of each engine's frames, and what their classes are called."""


def find_engine(frame: Any) -> Any | None:
    """Return the module for an engine's frame, or None for a local frame."""
    kind = type(frame)
    for module, (package, classes) in ENGINES.items():
        if f"{kind.__module__}.".startswith(f"{package}.") and kind.__name__ in classes:
            return import_module(f"{__name__}.{module}")
    return None
