"""Which versions are at work: what a report of something wrong needs."""

from __future__ import annotations

import platform
from importlib import metadata

NEEDED = ("polars-graded", "polars", "numpy", "scipy", "altair")
FURTHER = ("vl-convert-python", "pyarrow", "pandas", "narwhals", "duckdb", "pyspark", "ray", "tqdm")
"""What works with it where it is there."""


def show_versions() -> None:
    """Print the versions of this package, Python, the system, and what it works with.

    Examples
    --------
    >>> show_versions()
    polars-graded      ...
    Python             ...
    """
    versions = {name: _version_of(name) for name in NEEDED}
    versions |= {"Python": platform.python_version(), "system": platform.platform()}
    versions |= {name: _version_of(name) for name in FURTHER}
    first = ["polars-graded", "Python", "system"]
    for name in [*first, *(name for name in versions if name not in first)]:
        print(f"{name:18} {versions[name]}")


def _version_of(name: str) -> str:
    """The version that is installed, if any."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
