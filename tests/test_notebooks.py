"""The notebooks run, and show what their committed files show."""

from __future__ import annotations

import base64
import io
import os
import re
import socket
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from book_numbers import not_printed
from execute_notebooks import FOLDER, METADATA, execute, needs_data
from helpers import needed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbformat import NotebookNode

for package in ("altair", "ipykernel", "nbclient", "nbformat", "PIL", "vl_convert"):
    needed(package, ".[test,browser]")

pytestmark = pytest.mark.slow

NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))

MAX_BYTES = 700_000

QUOTED = "paper"
"""The tag of text whose numbers are a paper's, and not what a cell printed."""

PATH = re.compile(
    r"(?<![\w.:/])(?:/(?:home|mnt|opt|private|root|tmp|usr|var|work|Users)|[A-Z]:\\)\b"
)

AGAIN = "python -m tests.execute_notebooks"


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def path(request: pytest.FixtureRequest) -> Path:
    """The file of a notebook."""
    return request.param


@pytest.fixture
def notebook(path: Path) -> NotebookNode:
    """A notebook as it is committed."""
    import nbformat

    committed = nbformat.read(path, as_version=nbformat.NO_CONVERT)
    nbformat.validate(committed)
    return committed


def test_a_fresh_kernel_shows_what_is_committed(notebook: NotebookNode) -> None:
    executed = execute(notebook)
    for old, new in zip(compared(notebook), compared(executed), strict=True):
        assert text_of(new) == text_of(old), f"{old.id!r} is stale: {AGAIN}"
        for picture, committed in zip(images_of(new), images_of(old), strict=True):
            alike = looks_like(picture, committed)
            assert alike, f"the picture of {old.id!r} is stale: {AGAIN}"


def test_the_committed_file_is_whole(path: Path, notebook: NotebookNode) -> None:
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    assert path.stat().st_size < MAX_BYTES
    assert notebook.cells[0].cell_type == "markdown"
    assert notebook.cells[0].source.splitlines()[0].endswith("?"), "a notebook asks a question"
    cells = code(notebook)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell.outputs]
    kinds = {output.output_type for output in outputs}
    assert kinds <= {"display_data", "execute_result", "stream"}
    assert {output.name for output in outputs if "name" in output} <= {"stdout"}
    assert any(images_of(cell) for cell in cells)
    for cell in cells:
        for output in cell.outputs:
            if "image/png" in output.get("data", {}):
                alt = output.metadata["image/png"]["alt"]
                assert alt
                assert alt in cell.metadata["mystnb"]["image"]["alt"]


def test_nothing_says_who_ran_it_where_or_when(notebook: NotebookNode) -> None:
    assert notebook.metadata == METADATA
    for cell in notebook.cells:
        assert set(cell.metadata) <= {"tags", "mystnb"}
        assert not re.fullmatch("[0-9a-f]{8}", cell.id), "a name, not what nbformat drew"
    for text in strings(notebook):
        assert PATH.findall(text) == []
        for private in (socket.gethostname(), str(Path.home()), tempfile.gettempdir(), sys.prefix):
            assert private not in text


def test_numbers_in_the_text_are_printed(notebook: NotebookNode) -> None:
    """Rounded, or as a percentage. Small whole numbers and years are free."""
    sources = [text for cell in code(notebook) for text in (cell.source, *text_of(cell))]
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and QUOTED not in cell.metadata.get("tags", []):
            missing = not_printed(without_code(cell.source), sources, free=10)
            assert missing == [], f"not printed, in {cell.id!r}; if a paper's, tag it {QUOTED!r}"


# Reading a notebook


def code(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def compared(notebook: NotebookNode) -> list[NotebookNode]:
    """The cells of code whose output can be had here."""
    there = "POLARS_GRADED_DATA" in os.environ
    return [cell for cell in code(notebook) if there or not needs_data(cell)]


def text_of(cell: NotebookNode) -> list[str]:
    """What a cell shows as text; of a picture, that it is one."""
    return [
        output.text if output.output_type == "stream" else output.data["text/plain"]
        for output in cell.outputs
    ]


def images_of(cell: NotebookNode) -> list[bytes]:
    pictures = (output.get("data", {}).get("image/png") for output in cell.outputs)
    return [base64.b64decode(picture) for picture in pictures if picture]


def strings(node: Any) -> Iterator[str]:
    """Every text there is, but for the pictures': what base64 spells nobody reads."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, dict):
        for name, value in node.items():
            if name != "image/png" or not isinstance(value, str):
                yield from strings(value)
    elif isinstance(node, list):
        for value in node:
            yield from strings(value)


def without_code(text: str) -> str:
    return re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL)


def looks_like(png: bytes, other: bytes) -> bool:
    """Whether pictures are of one size, or nearly, and where they are alike in what they show.

    Another font, or another version of what draws, moves letters by a pixel or two.
    """
    from PIL import Image, ImageChops

    one, two = (Image.open(io.BytesIO(data)).convert("RGB") for data in (png, other))
    if any(abs(a - b) > 0.03 * b for a, b in zip(one.size, two.size, strict=True)):
        return False
    small = [image.resize((two.width // 6, two.height // 6)) for image in (one, two)]
    difference = ImageChops.difference(*small).convert("L")
    different = sum(difference.histogram()[48:])
    return different < 0.02 * difference.width * difference.height
