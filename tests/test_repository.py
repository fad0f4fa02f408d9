"""What stands beside the package: README and pictures, version, changes, citations."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import readme_picture
from benchmark import drawn
from pictures import assert_drawn_alike, pixels

import polars_graded

# The README


def test_the_picture_is_the_chart_above_it(tmp_path):
    assert_drawn_alike(readme_picture.picture(), readme_picture.draw, tmp_path)


def test_the_card_is_the_chart_with_name_and_pitch(tmp_path):
    assert_drawn_alike(readme_picture.CARD, readme_picture.draw_card, tmp_path)
    assert pixels(readme_picture.CARD).shape[:2] == (630, 1200)


def test_readme_and_book_begin_with_one_pitch():
    book = readme_picture.README.parent / "notebooks"
    pitch = readme_picture.pitch()
    assert f"**{pitch}**" in (book / "index.md").read_text(encoding="utf-8")
    assert f'"{pitch}"' in (book / "conf.py").read_text(encoding="utf-8")


def test_what_the_readme_links_to_is_there():
    text = readme_picture.README.read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?://|#)([^)#]*)", text)
    assert len(links) >= 20
    missing = [link for link in links if not (readme_picture.README.parent / link).exists()]
    assert not missing


def test_it_is_read_in_two_minutes_and_has_two_commands():
    text = readme_picture.README.read_text(encoding="utf-8")
    assert len(text.split()) <= 900
    commands = re.findall(r"^```sh\n(.*?)\n```$", text, re.DOTALL | re.MULTILINE)
    assert commands == [
        "pip install . && python -m polars_graded evaluate",
        'pip install -e ".[test,peers]" && pytest',
    ]


# The figures beside other tools


# What is committed


@pytest.mark.slow
def test_the_picture_is_drawn_from_the_figures(tmp_path):
    assert_drawn_alike(drawn.PICTURE, drawn.draw, tmp_path)


def test_the_page_has_the_table_of_the_figures():
    [written] = drawn.TABLE.findall(drawn.PAGE.read_text(encoding="utf-8"))
    assert written == drawn.table()


# Versions, changes and citations


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
