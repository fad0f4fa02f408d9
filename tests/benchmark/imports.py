"""Time and memory of importing the package."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING

from .table import Case, Row, Sizes, at_most, compared

if TYPE_CHECKING:
    from collections.abc import Iterator

TITLE = "Import in a fresh interpreter, in multiples of what it stands on"

# An installed package has its bytecode, so an edited one may keep it from the first import on.
ENVIRONMENT = {name: os.environ[name] for name in os.environ if name != "PYTHONDONTWRITEBYTECODE"}

NOT_LOADED = ("altair", "scipy")


def rows(sizes: Sizes) -> Iterator[Row]:
    yield from compared(
        [
            Case("import polars, numpy", partial(_seconds, "polars, numpy")),
            Case("import polars_graded", partial(_seconds, "polars_graded"), at_most(1.25)),
        ],
        4 * sizes.repeat,
    )
    check = f"import sys, polars_graded; print(*{{*{NOT_LOADED}}} & {{*sys.modules}})"
    loaded = _printed(check).split()
    yield Row("loaded by it", ", ".join(loaded) or "neither", target="neither", met=not loaded)


def _seconds(modules: str) -> float:
    clock = "import time; start = time.perf_counter()"
    return float(_printed(f"{clock}; import {modules}; print(time.perf_counter() - start)"))


def _printed(code: str) -> str:
    command = [sys.executable, "-c", code]
    return subprocess.check_output(command, env=ENVIRONMENT, text=True)  # noqa: S603
