"""Check the prose of the README, the book, the notebooks and the templates for banned phrases.

Spelling is checked by codespell. This test keeps the phrases away that readers had to read twice.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import polars_graded

ROOT = Path(polars_graded.__file__).parents[1]
PAGES = sorted(
    [
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
        *(ROOT / ".github").glob("*.md"),
        *(ROOT / "notebooks").glob("*.ipynb"),
        *(ROOT / "notebooks").glob("*.md"),
        *(ROOT / "notebooks/book").rglob("*.md"),
    ]
)

BANNED = {
    r"(?<=[.:!?]\s)Of\s|^(?:[-*] )?Of\s": "begin a sentence with its subject",
    r"\b(?:is|are|was|were|be|been)\s+(?:said|told)\b": "specify, pass, report, warn",
    r"\bsay\s+`": "pass `…`",
    r"\btwins?\b": "reference implementation",
    r"\b[Rr]ooms?\b": "module, package, space",
    r"\bcomes?\s+out\b": "is reproduced, results",
    r"\bto\s+be\s+had\b": "available",
    r"\bwhole\s+or\s+not\s+at\s+all\b": "written atomically",
    r"\bstands?\s+as\b": "is",
    r"\bone's\s+own\b": "your own",
    r"\btold\s+apart\b": "distinguished",
    r"\bfor\s+none\b": "treated as negligible",
}
"""Phrases as regular expressions, with what to write instead."""


def prose_of(path: Path) -> str:
    """Return the text of a page without code."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n\n".join(
            "".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"
        )
    return re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)


def find_banned(text: str) -> list[tuple[str, str]]:
    """Return the banned phrases of a text, with what to write instead."""
    return [
        (match[0], instead)
        for pattern, instead in BANNED.items()
        for match in re.finditer(pattern, text, re.MULTILINE)
    ]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_pages_avoid_banned_phrases(path: Path) -> None:
    assert find_banned(prose_of(path)) == []


def test_pages_with_code_say_where_their_outputs_are() -> None:
    pages = [path for path in PAGES if path.suffix == ".md"]
    texts = {path: path.read_text(encoding="utf-8") for path in pages}
    with_cells = {path: text for path, text in texts.items() if "```{code-cell}" in text}
    silent = [path.name for path, text in with_cells.items() if "\n% The outputs" not in text]
    assert len(with_cells) >= 14
    assert silent == []
