"""Versions of this package and its dependencies, for bug reports."""

from __future__ import annotations

import platform
from importlib import metadata

__version__ = "0.1.0"
REQUIRED = ("polars", "numpy", "scipy", "altair", "narwhals", "cyclopts")
OPTIONAL = ("vl-convert-python", "pyarrow", "pandas", "duckdb", "pyspark", "ray")
"""Optional packages. `show_versions` lists all of them, installed or not."""


def show_versions() -> None:
    """Print the versions of this package, Python, the system and dependencies.

    Examples
    --------
    >>> show_versions()
    polars-graded      ...
    Python             ...
    """
    versions = {"polars-graded": __version__}
    versions |= {"Python": platform.python_version(), "system": platform.platform()}
    versions |= {name: _find_version(name) for name in (*REQUIRED, *OPTIONAL)}
    for name, version in versions.items():
        print(f"{name:18} {version}")


def _find_version(name: str) -> str:
    """Return the installed version of a package, or "not installed"."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
