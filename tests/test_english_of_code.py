"""Checks of the English of names and docstrings in the package.

Ruff's D401 checks the mood of a first line. These tests keep away noun clauses as first lines,
adjectives as constants, and participles as variables.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

import polars_graded

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(polars_graded.__file__).parent

MAX_SHARE = 0.01
"""Maximum share of docstrings whose first word is one of `FIRST_WORDS`."""
FIRST_WORDS = ("What", "How", "Whether", "Which", "Of", "Where", "Who", "As")

ADJECTIVES = re.compile(r"MOST_|FEW|LEAST_")
"""Parts of constants that stand for MAX_ and MIN_."""

PARTICIPLES = {"found", "said", "known", "named", "told", "there", "whole"}
PUBLIC_KEYWORDS = {
    ("namespace.py", "known"),
    ("_frames/evaluating.py", "known"),
    ("_frames/request.py", "known"),
    ("_command/rankings.py", "known"),
}
"""Keywords of public functions, by file, which are named in the terms of the field."""


class Name(NamedTuple):
    """A name or a first line, and its place."""

    place: str
    text: str


def list_files() -> list[Path]:
    """Return the files of the package."""
    return sorted(ROOT.rglob("*.py"))


def parse(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=path.relative_to(ROOT).as_posix())


def find_first_lines(tree: ast.Module, file: str) -> Iterator[Name]:
    """Yield the first line of each docstring."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text is not None:
                yield Name(f"{file}:{getattr(node, 'lineno', 1)}", text.splitlines()[0])


def find_names(tree: ast.Module, file: str) -> Iterator[Name]:
    """Yield each variable that is assigned, and each parameter."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield Name(f"{file}:{node.lineno}", node.id)
        elif isinstance(node, ast.arg):
            yield Name(f"{file}:{node.lineno}", node.arg)


def is_noun_clause(line: str) -> bool:
    """Return whether a first line begins with a word that takes the place of a verb."""
    return line.split(maxsplit=1)[0].rstrip(",:;") in FIRST_WORDS


def is_adjective(name: str) -> bool:
    """Return whether a name is a constant that is named by an adjective."""
    return name.isupper() and bool(ADJECTIVES.search(name))


def test_first_lines_are_no_noun_clauses() -> None:
    lines = [
        line
        for path in list_files()
        for line in find_first_lines(parse(path), path.relative_to(ROOT).as_posix())
    ]
    assert len(lines) > 400
    offenders = [line for line in lines if is_noun_clause(line.text)]
    assert len(offenders) <= MAX_SHARE * len(lines), offenders


@pytest.mark.parametrize("path", list_files(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_constants_are_maxima_and_minima(path: Path) -> None:
    names = find_names(parse(path), path.relative_to(ROOT).as_posix())
    assert [name for name in names if is_adjective(name.text)] == []


@pytest.mark.parametrize("path", list_files(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_names_are_nouns(path: Path) -> None:
    file = path.relative_to(ROOT).as_posix()
    names = find_names(parse(path), file)
    offenders = [name for name in names if name.text in PARTICIPLES]
    assert [each for each in offenders if (file, each.text) not in PUBLIC_KEYWORDS] == []
