"""Check the files of a wheel and an sdist: `python .ci/contents.py x.whl x.tar.gz`."""

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
"""Files that the build adds to a source distribution."""


def files_of(*folders: str) -> set[str]:
    """Return the files of some folders, without files that tools created."""
    left = re.compile(r"__pycache__|\.ipynb_checkpoints|^notebooks/book/api/")
    found = (path for folder in folders for path in ROOT.joinpath(folder).rglob("*"))
    names = {path.relative_to(ROOT).as_posix() for path in found if path.is_file()}
    return {name for name in names if not left.search(name)}


def wheel_of(path: str) -> set[str]:
    """Return the files of a wheel, without its metadata."""
    names = set(zipfile.ZipFile(path).namelist())
    return {name for name in names if not name.split("/")[0].endswith(".dist-info")}


def source_of(path: str) -> set[str]:
    """Return the files of a source distribution, without its top folder and build files."""
    with tarfile.open(path) as archive:
        return {name.split("/", 1)[1] for name in archive.getnames()} - ADDED


def main(paths: list[str]) -> None:
    """Raise if a file is missing or unexpected."""
    kinds = {
        ".whl": (wheel_of, files_of("polars_graded")),
        ".gz": (source_of, files_of("polars_graded", "tests", "notebooks") | ALONE),
    }
    assert sorted(Path(path).suffix for path in paths) == sorted(kinds), paths
    for path in paths:
        read, expected = kinds[Path(path).suffix]
        found, name = read(path), Path(path).name
        assert found == expected, (
            f"{name} lacks {sorted(expected - found)}; unexpected: {sorted(found - expected)}"
        )
        print(f"{name}: {len(found)} files")


if __name__ == "__main__":
    main(sys.argv[1:])
