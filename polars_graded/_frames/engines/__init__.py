"""Engines that spread a frame over many machines.

`find_engine` compares the class name and the module name of a frame with `ENGINES`. An engine is
imported only if the frame belongs to this engine.

An engine is a module with `evaluate_rows(request, frame)`. This function puts all rows of a
query into the same bucket, and calls `arrow.Worker` once per bucket. The function returns the
values as a frame of the engine. With several graders, the function is called once per grader. The
returned frames must have a method `union`, which concatenates them. An engine may also have
`join_rows(run, judgments, ...)`, which joins a run and its judgments on the machines of the engine.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

ENGINES = {
    "spark": ("pyspark.sql", {"DataFrame"}),
    "ray_data": ("ray.data", {"Dataset", "MaterializedDataset"}),
}
"""The package and the class names of the frames of each engine."""


def find_engine(frame: Any) -> Any | None:
    """Return the module for an engine's frame, or None for a local frame."""
    kind = type(frame)
    for module, (package, classes) in ENGINES.items():
        if f"{kind.__module__}.".startswith(f"{package}.") and kind.__name__ in classes:
            return import_module(f"{__name__}.{module}")
    return None
