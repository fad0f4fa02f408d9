"""Which versions are at work: what a report of something wrong needs."""

from __future__ import annotations

import platform
from importlib import metadata

__version__ = "0.1.0"
NEEDED = ("polars", "numpy", "scipy", "altair", "narwhals")
FURTHER = ("vl-convert-python", "pyarrow", "pandas", "duckdb", "pyspark", "ray", "tqdm")
"""What works with it where it is there."""


def show_versions() -> None:
    """Print the versions of this package, Python, the system, and what it works with.

    Examples
    --------
    >>> show_versions()
    polars-graded      ...
    Python             ...
    """
    versions = {"polars-graded": __version__}
    versions |= {"Python": platform.python_version(), "system": platform.platform()}
    versions |= {name: _version_of(name) for name in (*NEEDED, *FURTHER)}
    for name, version in versions.items():
        print(f"{name:18} {version}")


def _version_of(name: str) -> str:
    """The version that is installed, if any."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
