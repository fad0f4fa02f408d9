"""Draw the pictures of the first page: `python -m tests.readme_picture`.

The chart of the README is what the README's own code makes. The card that is shown where somebody
links to the book is the same chart, with the name and the pitch. The report is one of the examples.
"""

from __future__ import annotations

import datetime as dt
import doctest
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import altair as alt

import polars_graded as pg

README = Path(__file__).parents[1] / "README.md"
CARD = README.parent / "notebooks/card.png"
REPORT = README.parent / "notebooks/report.png"


def picture() -> Path:
    """The picture that the README shows."""
    [name] = re.findall(r"!\[.*?\]\((.*?\.png)\)", README.read_text(encoding="utf-8"))
    return README.parent / name


def pitch() -> str:
    """The first sentence of the README."""
    [sentence] = re.findall(r"^\*\*(.*?)\*\*", README.read_text("utf-8"), re.MULTILINE)
    return sentence


def chart() -> alt.LayerChart:
    """The value of the last example above the picture."""
    above, _ = README.read_text(encoding="utf-8").split("![", maxsplit=1)
    names: dict[str, Any] = {}
    examples = [example.source for example in doctest.DocTestParser().get_examples(above)]
    for source in examples[:-1]:
        exec(source, names)  # noqa: S102
    value: alt.LayerChart = eval(examples[-1], names)  # noqa: S307
    return value


def draw(path: Path) -> None:
    """Write the picture."""
    chart().save(path, scale_factor=1.5)


def draw_card(path: Path) -> None:
    """Write the card: 1200 × 630 pixels, which is what such cards have."""
    what, why = pitch().rstrip(".").split(": ")
    title = alt.TitleParams(
        "polars_graded", subtitle=[what, why], anchor="start", fontSize=34, subtitleFontSize=19
    )
    card = chart().properties(
        title=title,
        width=600,
        height=315,
        padding=24,
        autosize=alt.AutoSizeParams(type="fit", contains="padding"),
    )
    card.save(path, scale_factor=2)


def draw_report(path: Path) -> None:
    """Write what a browser shows of a report first."""
    values = pg.evaluate(pg.datasets.example(), "mu_ap", "ndcg@10", by=["strong", "fair", "weak"])
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "report.html")
        pg.report(values, page, baseline="fair", date=dt.date(2026, 11, 22))
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        command = ["chromium", *flags, "--window-size=1100,600", f"--screenshot={path}"]
        subprocess.run([*command, page.as_uri()], check=True, capture_output=True)  # noqa: S603


if __name__ == "__main__":
    draw(picture())
    draw_card(CARD)
    draw_report(REPORT)
