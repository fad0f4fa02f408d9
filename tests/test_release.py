"""What stands beside the package: its version in one place, its changes, what to cite."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import polars_graded

ROOT = Path(polars_graded.__file__).parents[1]
KINDS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_version_stands_in_one_place():
    project = tomllib.loads(read("pyproject.toml"))
    assert "version" in project["project"]["dynamic"]
    assert project["tool"]["hatch"]["version"] == {"path": "polars_graded/_versions.py"}
    assert re.fullmatch(r"\d+\.\d+\.\d+", polars_graded.__version__)


def test_changes_have_the_form_of_keep_a_changelog():
    lines = read("CHANGELOG.md").splitlines()
    assert lines[0] == "# Changelog"
    versions = [line.removeprefix("## ") for line in lines if line.startswith("## ")]
    current = versions[0].split()[0]
    assert current in ("Unreleased", polars_graded.__version__)
    released = versions[1:] if current == "Unreleased" else versions
    numbers = [tuple(map(int, version.split()[0].split("."))) for version in released]
    assert numbers == sorted(numbers, reverse=True)
    kinds = [line.removeprefix("### ") for line in lines if line.startswith("### ")]
    assert set(kinds) <= set(KINDS)


def test_both_papers_can_be_cited():
    text = read("CITATION.cff")
    assert re.findall(r"^cff-version: (.*)", text, re.MULTILINE) == ["1.2.0"]
    titles = re.findall(r"^    title: (.*)", text, re.MULTILINE)
    names = re.findall(r"family-names: (.*)", text)
    years = re.findall(r"^    year: (.*)", text, re.MULTILINE)
    readme = " ".join(read("README.md").split()).split("MIT licence.")[1]
    assert len(titles) == 2
    for found in (*titles, *names, *years):
        assert found in readme
