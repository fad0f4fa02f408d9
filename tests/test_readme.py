"""The README's picture is what its code draws; it is short, and names every measure."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest
import readme_picture

from polars_graded import Graded

pytest.importorskip("vl_convert", reason="pictures are drawn by vl-convert")
Image = pytest.importorskip("PIL.Image", reason="pictures are looked at by pillow")


def pixels(path: Path) -> np.ndarray:
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"), dtype=np.float64)


def test_the_picture_is_the_chart_above_it(tmp_path):
    drawn = tmp_path / "chart.png"
    readme_picture.draw(drawn)
    expected, got = pixels(readme_picture.picture()), pixels(drawn)
    assert got.shape == expected.shape
    # Versions of the renderer may smooth the edges of letters differently; a curve that lies
    # elsewhere changes one pixel in a hundred.
    assert (np.abs(got - expected).max(axis=2) > 64).mean() < 0.003
    assert np.ptp(got, axis=(0, 1)).min() > 100  # it is not blank


def test_what_the_readme_links_to_is_there():
    text = readme_picture.README.read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?://|#)(.*?)\)", text)
    assert len(links) >= 20
    missing = [link for link in links if not (readme_picture.README.parent / link).exists()]
    assert not missing


def test_it_is_read_in_two_minutes_and_has_two_commands():
    text = readme_picture.README.read_text(encoding="utf-8")
    assert len(text.encode()) < 10_000
    commands = re.findall(r"^```sh\n(.*?)\n```$", text, re.DOTALL | re.MULTILINE)
    assert commands == [
        "pip install . && python -m polars_graded",
        'pip install -e ".[test,peers]" && pytest',
    ]


def test_it_names_every_measure():
    text = readme_picture.README.read_text(encoding="utf-8")
    table = text[text.index("| family | measures |") :].split("\n\n")[0]
    making = {
        name
        for name, method in vars(Graded).items()
        if not name.startswith("_") and inspect.signature(method).return_annotation == "pl.Expr"
    }
    assert sorted(re.findall(r"`(\w+)`", table)) == sorted(making - {"measures"})
