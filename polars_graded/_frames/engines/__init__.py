"""Engines that spread a frame over many machines.

`find_engine` compares the names of a frame's class and of its module with `ENGINES`. So only an
engine in use is imported. An engine is a module with `evaluate_rows(request, frame, parts)`. This
function puts all rows of a query into the same bucket, lets `arrow.Worker` measure one bucket at a
time, and returns the values as a frame of the engine. Such a frame needs a method `union`, which
concatenates the values of several graders. An engine may also have `join_rows(run, judgments,
...)`, which joins a run and its judgments on the machines of the engine.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

ENGINES = {
    "spark": ("pyspark.sql", {"DataFrame"}),
    "ray_data": ("ray.data", {"Dataset", "MaterializedDataset"}),
}
"""For each engine: the package that defines its frames, and the names of their classes."""


def find_engine(frame: Any) -> Any | None:
    """Return the module for an engine's frame, or None for a local frame."""
    kind = type(frame)
    for module, (package, classes) in ENGINES.items():
        if f"{kind.__module__}.".startswith(f"{package}.") and kind.__name__ in classes:
            return import_module(f"{__name__}.{module}")
    return None
