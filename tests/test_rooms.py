"""Imports run one way: from the rooms that show results down to the formulas."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from functools import cache
from itertools import chain
from pathlib import Path
from types import FrameType
from typing import get_args

import polars as pl
import pytest

import polars_graded
from polars_graded import _door
from polars_graded._measuring.kernels import gains
from polars_graded._results import significance

PACKAGE = Path(polars_graded.__file__).parent

MAY_IMPORT = {
    "_door": {"polars", "narwhals", "ray"},
    "_checks": {"polars", "_door"},
    "_versions": set(),
    "_warnings": set(),
    "_writing": set(),
    "_sentences": {"polars", "_measuring", "_versions"},
    "_measuring.kernels": {"numpy"},
    "_measuring": {"numpy", "polars", "_checks", "_measuring.kernels"},
    "namespace": {"polars", "_checks", "_measuring", "_measuring.kernels"},
    "_frames": {
        *("numpy", "polars", "pyarrow", "pyspark", "ray"),
        *("_checks", "_door", "_measuring", "_measuring.kernels", "_versions", "_warnings"),
    },
    "_results": {
        *("numpy", "polars", "scipy"),
        *("_checks", "_measuring", "_measuring.kernels", "_frames", "_sentences", "_warnings"),
        *("_versions", "_writing"),
    },
    "trust": {"_results"},
    "_clicks": {
        *("numpy", "polars", "scipy"),
        *("_checks", "_frames", "_measuring", "_measuring.kernels", "_results", "_warnings"),
    },
    "clicks": {"_clicks"},
    "datasets": {
        *("numpy", "polars", "_checks", "_measuring", "_measuring.kernels", "_frames"),
    },
    "_drawing": {
        *("numpy", "polars", "altair"),
        *("_checks", "_frames", "_measuring", "_results", "_sentences"),
    },
    "charts": {
        *("altair", "polars", "scipy", "_checks", "_frames", "_drawing", "_measuring", "_results"),
        *("namespace", "_sentences"),
    },
    "_report": {
        *("numpy", "polars", "altair", "jinja2", "vl_convert"),
        *("_checks", "_sentences", "_writing"),
        *(
            "_versions",
            "_measuring",
            "_measuring.kernels",
            "_results",
            "_drawing",
            "_frames",
            "namespace",
        ),
        "charts",
    },
    "_command": {"polars", "cyclopts", "_checks", "_measuring", "_writing"},
    "_frame_methods": {"polars", "_checks", "_frames", "_results", "_report", "charts"},
}
"""What each room may import beside the standard library and itself."""

OWNERS_OF_ALL = {"__init__", "__main__"}
"""Modules that bring everything together."""


LEAVES = {
    "catalogue": ["_results.catalogues"],
    "charts": ["charts", "_drawing"],
    "clicks": ["_clicks", "clicks"],
    "command": ["_command"],
    "engines": ["_frames.engines"],
    "datasets": ["datasets"],
    "fuse": ["_frames.fusing"],
    "gate": ["_results.gating", "_results.baselines", "_sentences.gates"],
    "report": ["_report"],
    "similarity": ["_frames.similarities", "_measuring.kernels.list_similarity"],
}
"""Modules and packages that could be deleted with their tests and their page, and without another
change but their names in `LISTS`."""

SHOWS_OTHERS = ["_command", "_report"]
"""Leaves that show the results of other leaves."""

LISTS = {"__init__", "__main__", "_frame_methods"}
"""Modules that list public functions."""


def room_of(module: str) -> str:
    """The room of a module, named by its path in the package."""
    parts = module.split(".")
    inner = ".".join(parts[:2])
    return inner if inner in MAY_IMPORT else parts[0]


@cache
def imports_of(file: Path) -> set[str]:
    """What a file imports, for types or within functions too."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{file}: relative imports hide their room"
            whole = {f"{node.module}.{name.name}" for name in node.names}
            found |= whole if node.module == "polars_graded" else {node.module}
    return found


def outside(names: set[str]) -> set[str]:
    """The rooms and the libraries among them, without the standard library."""
    rooms = {
        room_of(name.removeprefix("polars_graded."))
        for name in names
        if name.startswith("polars_graded.")
    }
    libraries = {name.split(".")[0] for name in names} - {"polars_graded"}
    return rooms | (libraries - sys.stdlib_module_names)


FILES = {
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts): path
    for path in PACKAGE.rglob("*.py")
}


@pytest.mark.parametrize(
    "module", [name for name in FILES if name.split(".")[0] not in OWNERS_OF_ALL]
)
def test_a_room_imports_only_what_it_may(module):
    room = room_of(module)
    assert room in MAY_IMPORT, f"{module} is in no room"
    assert outside(imports_of(FILES[module])) - {room} <= MAY_IMPORT[room]


def is_of(module: str, parts: list[str]) -> bool:
    return any(module == part or module.startswith(f"{part}.") for part in parts)


@pytest.mark.parametrize("leaf", LEAVES)
def test_nothing_else_imports_a_leaf(leaf):
    assert any(is_of(module, LEAVES[leaf]) for module in FILES)
    for module, path in FILES.items():
        if module not in LISTS and not is_of(module, [*LEAVES[leaf], *SHOWS_OTHERS]):
            names = {name.removeprefix("polars_graded.") for name in imports_of(path)}
            assert not [name for name in names if is_of(name, LEAVES[leaf])], module


class Unlisted(ast.NodeTransformer):
    """Removes the imports of some modules, and the imported names from tuples and lists."""

    def __init__(self, tree: ast.Module, modules: list[str]) -> None:
        self.modules = modules
        self.names = {module for module in modules if "." not in module}
        imports = [node for node in tree.body if self.is_import(node)]
        self.names |= {name.asname or name.name for node in imports for name in node.names}

    def is_import(self, node: ast.AST) -> bool:
        module = (getattr(node, "module", None) or "").removeprefix("polars_graded.")
        return isinstance(node, ast.ImportFrom) and is_of(module, self.modules)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.ImportFrom | None:
        return None if self.is_import(node) else node

    def visit_Tuple(self, node: ast.Tuple | ast.List) -> ast.AST:
        node.elts = [each for each in node.elts if self.name_of(each) not in self.names]
        return self.generic_visit(node)

    visit_List = visit_Tuple  # noqa: N815

    def name_of(self, node: ast.AST) -> object:
        return getattr(node, "id", None) or getattr(node, "value", None)


@pytest.mark.simulation
@pytest.mark.parametrize("leaf", LEAVES)
def test_the_core_runs_without_a_leaf(leaf, tmp_path):
    """Delete a leaf, what shows its results, and its names in lists, in a copy of the package."""
    deleted = [*LEAVES[leaf], *SHOWS_OTHERS]
    no_code = shutil.ignore_patterns("__pycache__", "benchmark")
    for folder in (PACKAGE, PACKAGE.parent / "tests"):
        shutil.copytree(folder, tmp_path / folder.name, ignore=no_code)
    shutil.copy(PACKAGE.parent / "pyproject.toml", tmp_path)
    for module, path in FILES.items():
        copy = tmp_path / path.relative_to(PACKAGE.parent)
        if is_of(module, deleted):
            copy.unlink()
        elif module in LISTS:
            tree = ast.parse(copy.read_text(encoding="utf-8"))
            copy.write_text(ast.unparse(Unlisted(tree, deleted).visit(tree)), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-n0", *CORE_TESTS]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    subprocess.run(command, cwd=tmp_path, env=environment, check=True)  # noqa: S603


CORE_TESTS = [f"tests/test_{name}.py" for name in ("namespace", "streaming", "significance")]
"""Tests of measures, of frames and of results, which import no leaf."""


REPEATED = {"__all__", "__dir__", "agreement"}
"""Names that several modules define: what Python asks for, and a chart named after its rows."""


def names_of(file: Path) -> set[str]:
    """The functions, classes and constants of a module, without a leading underscore.

    Subcommands are left out, since they have the names of public functions.
    """
    names = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            if "app.command" not in map(ast.unparse, node.decorator_list):
                names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {each.id for to in targets for each in ast.walk(to) if hasattr(each, "id")}
    return {name if name.startswith("__") else name.lstrip("_") for name in names}


def test_a_name_has_one_meaning():
    """All engines have the same functions."""
    homes: dict[str, list[str]] = {}
    for module, path in FILES.items():
        if not is_of(module, [f"_frames.engines.{each}" for each in _door.ENGINES]):
            for name in names_of(path) - REPEATED - {"_"}:
                homes.setdefault(name, []).append(module)
    assert {name: modules for name, modules in homes.items() if len(modules) > 1} == {}


NUMBERS_NAMED_AS_THINGS = {
    # Arguments of public functions, such as `queries=10`
    *("documents", "levels", "lists", "points", "queries"),
    "axis",  # of an array, and no plural
    "flags",  # bits of a number
}


def test_a_number_of_things_is_not_named_as_the_things():
    """It is named `n_queries`, since `queries` are queries."""
    numbers, others = set(), set()
    for path in FILES.values():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
                name = node.arg if isinstance(node, ast.arg) else getattr(node.target, "id", "")
                is_number = ast.unparse(node.annotation) in ("int", "int | None")
                (numbers if is_number else others).add(name)
    assert {name for name in numbers & others if name.endswith("s")} == NUMBERS_NAMED_AS_THINGS


def test_every_library_that_is_imported_is_declared():
    """In pyproject.toml, as a dependency or in an extra: nothing is there by luck."""
    project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    extras = project["optional-dependencies"]
    always, others = (
        {re.split(r"[\[<>=~ ]", each)[0].lower() for each in names}
        for names in (project["dependencies"], chain(*extras.values()))
    )
    for module, path in FILES.items():
        names = {name.split(".")[0] for name in imports_of(path)} - sys.stdlib_module_names
        names = {DISTRIBUTIONS.get(name, name) for name in names - {"polars_graded"}}
        assert names <= always | others, module
        assert at_its_top(path) <= always, module


DISTRIBUTIONS = {"vl_convert": "vl-convert-python"}
"""Libraries that are called otherwise where they are installed from."""


def at_its_top(file: Path) -> set[str]:
    """The libraries that are loaded with a file."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    names = {
        name
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [node.module] if isinstance(node, ast.ImportFrom) else [n.name for n in node.names]
        )
    }
    return {name.split(".")[0] for name in names} - sys.stdlib_module_names - {"polars_graded"}


@pytest.mark.parametrize(
    ("names", "table"),
    [
        (gains.GainName, gains.GAINS),
        (gains.Discount, gains.DISCOUNTS),
        (significance.TestName, significance.TESTS),
        (significance.CorrectionName, significance.CORRECTIONS),
    ],
)
def test_a_name_that_types_allow_is_in_the_table_that_runs_it(names, table):
    assert get_args(names) == tuple(table)


# The order in which contributors read the code


def record_calls(run: Callable[[], object]) -> list[tuple[str, list[str]]]:
    """Each call of a function of the package, with the functions that were active."""
    calls, active = [], []

    def record(frame: FrameType, event: str, _: object) -> None:
        if not frame.f_code.co_filename.startswith(str(PACKAGE)):
            return
        if event == "call":
            name = frame.f_code.co_qualname.rpartition("<locals>.")[2]
            calls.append((name, [*active]))
            active.append(name)
        elif event == "return":
            active.pop()

    sys.setprofile(record)
    try:
        run()
    finally:
        sys.setprofile(None)
    return calls


def test_contributors_read_the_calls_that_are_made():
    text = (PACKAGE.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text[text.index("## Read the code") : text.index("## Add a measure")]
    of_expression, of_frame = re.findall(r"```text\n(.*?)```", section, re.DOTALL)
    frame = polars_graded.datasets.example(3)
    ranking = pl.col("grade").graded.ranked_by("weak")  # type: ignore[attr-defined]
    for shown, run in (
        (of_expression, lambda: frame.select(ranking.ndcg(10))),
        (of_frame, lambda: polars_graded.evaluate(frame, "ndcg@10", by="weak")),
    ):
        calls = iter(record_calls(run))
        callers: list[str] = []
        for line in shown.splitlines():
            name = line.split()[0]
            callers = callers[: (len(line) - len(line.lstrip())) // 2]
            for called, active in calls:
                if called == name and {*callers} <= {*active}:
                    break
            else:
                pytest.fail(f"{name} is not called in {callers} at this place")
            callers.append(name)


def list_lines(path: Path, name: str) -> range:
    """Return the lines of a function or method, or of a class down to its first method."""
    node = ast.parse(path.read_text(encoding="utf-8"))
    for part in name.split("."):
        [node] = [each for each in node.body if getattr(each, "name", None) == part]
    starts = [each.lineno for each in node.decorator_list] + [node.lineno]
    end = node.end_lineno
    if isinstance(node, ast.ClassDef):
        methods = [each for each in node.body if isinstance(each, ast.FunctionDef)]
        end = min(first.lineno for each in methods for first in (*each.decorator_list, each)) - 1
    return range(min(starts), end + 1)


def test_contributors_know_how_much_they_read():
    text = (PACKAGE.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.partition("Read these parts in this order")[2].partition("You can look up")[0]
    n_lines, n_parts = 0, 0
    for module, parts in re.findall(r"^\| `([\w/]+\.py)` \| (.*) \|$", section, re.MULTILINE):
        [path] = [each for each in FILES.values() if each.as_posix().endswith("/" + module)]
        if parts.startswith("all"):
            n_lines += len(path.read_text(encoding="utf-8").splitlines())
            continue
        names = re.findall(r"`([\w.]+)`", parts)
        n_lines += sum(len(list_lines(path, name)) for name in names)
        n_parts += len(names)
    stated = int(re.search(r"They have ([\d,]+) lines", section)[1].replace(",", ""))
    assert n_parts > 30
    assert abs(n_lines - stated) < 0.03 * stated, n_lines
