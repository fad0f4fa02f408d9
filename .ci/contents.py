"""What is built holds what it should: `python .ci/contents.py x.whl x.tar.gz`."""

from __future__ import annotations

import re
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
ALONE = {
    *("CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "README.md"),
    "pyproject.toml",
}
ADDED = {".gitignore", "PKG-INFO"}
"""What the build puts into a source distribution."""


def files_of(*folders: str) -> set[str]:
    """The files of some folders of the project, without what tools leave there."""
    left = re.compile(r"__pycache__|\.ipynb_checkpoints|^notebooks/book/api/")
    found = (path for folder in folders for path in ROOT.joinpath(folder).rglob("*"))
    names = {path.relative_to(ROOT).as_posix() for path in found if path.is_file()}
    return {name for name in names if not left.search(name)}


def wheel_of(path: str) -> set[str]:
    """The files of a wheel, without its own description."""
    names = set(zipfile.ZipFile(path).namelist())
    return {name for name in names if not name.split("/")[0].endswith(".dist-info")}


def source_of(path: str) -> set[str]:
    """The files of a source distribution, without its outermost folder and what the build adds."""
    with tarfile.open(path) as archive:
        return {name.split("/", 1)[1] for name in archive.getnames()} - ADDED


def main(paths: list[str]) -> None:
    """Raise where something is missing, or is there that should not be."""
    kinds = {
        ".whl": (wheel_of, files_of("polars_graded")),
        ".gz": (source_of, files_of("polars_graded", "tests", "notebooks") | ALONE),
    }
    assert sorted(Path(path).suffix for path in paths) == sorted(kinds), paths
    for path in paths:
        read, expected = kinds[Path(path).suffix]
        found, name = read(path), Path(path).name
        assert found == expected, (
            f"{name} lacks {sorted(expected - found)} and has {sorted(found - expected)}"
        )
        print(f"{name}: {len(found)} files")


if __name__ == "__main__":
    main(sys.argv[1:])
