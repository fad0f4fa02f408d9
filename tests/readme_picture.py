"""Draw the chart of the README from the README's own code: `python -m tests.readme_picture`."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import altair as alt

README = Path(__file__).parents[1] / "README.md"


def picture() -> Path:
    """The picture that the README shows."""
    [name] = re.findall(r"!\[.*?\]\((.*?\.png)\)", README.read_text(encoding="utf-8"))
    return README.parent / name


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


if __name__ == "__main__":
    draw(picture())
