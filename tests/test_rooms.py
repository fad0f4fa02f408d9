"""Imports run one way: from the rooms that show results down to the formulas."""

from __future__ import annotations

import ast
import importlib
import re
import sys
import tomllib
from itertools import chain
from pathlib import Path
from typing import get_args

import pytest

import polars_graded
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
    "_measuring": {"numba", "numpy", "polars", "_checks", "_measuring.kernels"},
    "namespace": {"polars", "_checks", "_measuring", "_measuring.kernels"},
    "_frames": {
        *("numpy", "polars", "pyarrow", "pyspark", "ray", "tqdm"),
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
        *("_checks", "_frames", "_measuring.kernels", "_results", "_warnings"),
    },
    "clicks": {"_clicks"},
    "experiments": {
        *("numpy", "polars", "_checks", "_measuring", "_measuring.kernels", "_frames"),
        "namespace",
    },
    "datasets": {"polars", "_checks", "_clicks", "experiments"},
    "_drawing": {
        *("numpy", "polars", "scipy", "altair"),
        *("_checks", "_frames", "_measuring", "_results", "_sentences"),
    },
    "charts": {
        *("altair", "numpy", "polars", "_checks", "_frames", "_drawing", "_measuring", "_results"),
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
    "_command": {"polars", "cyclopts", "_checks", "_writing"},
    "_frame_methods": {"polars", "_checks", "_frames", "_results", "_report", "charts"},
}
"""What each room may import beside the standard library and itself."""

OWNERS_OF_ALL = {"__init__", "__main__"}
"""Modules that bring everything together."""


LEAVES = {
    "catalogue": ["_results.catalogues"],
    "clicks": ["_clicks", "clicks", "datasets"],
    "command": ["_command"],
    "engines": ["_frames.engines"],
    "experiments": ["experiments", "datasets"],
    "fuse": ["_frames.fusing"],
    "gate": ["_results.gating", "_results.comparability", "_sentences.gates"],
    "report": ["_report"],
    "similarity": ["_frames.list_pairs", "_frames.pair_values"],
}
"""Modules and packages that could be deleted with their tests and their page, and without another
change but their names in `LISTS`. Only the report and the command show results of others."""

LISTS = {"__init__", "__main__", "_frame_methods"}
"""Modules that list public functions."""


def room_of(module: str) -> str:
    """The room of a module, named by its path in the package."""
    parts = module.split(".")
    inner = ".".join(parts[:2])
    return inner if inner in MAY_IMPORT else parts[0]


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
        if module not in LISTS and not is_of(module, [*LEAVES[leaf], "_command", "_report"]):
            names = {name.removeprefix("polars_graded.") for name in imports_of(path)}
            assert not [name for name in names if is_of(name, LEAVES[leaf])], module


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


def test_a_name_of_every_module_is_public_or_private():
    """`import *` brings what `__all__` lists, and nothing else."""
    for name in ("", ".charts", ".clicks", ".datasets", ".experiments", ".trust"):
        module = importlib.import_module(f"polars_graded{name}")
        brought: dict[str, object] = {}
        exec(f"from polars_graded{name} import *", brought)  # noqa: S102
        assert brought.keys() - {"__builtins__"} == {*module.__all__}


def test_no_room_imports_one_that_imports_it():
    graph = {room: {each for each in may if each in MAY_IMPORT} for room, may in MAY_IMPORT.items()}
    while graph:
        leaves = [room for room, others in graph.items() if not others & graph.keys()]
        assert leaves, f"a circle among {', '.join(graph)}"
        for room in leaves:
            del graph[room]


def test_kernels_run_without_polars():
    """They are imported by name, since the package itself registers a namespace on Polars."""
    for module, path in FILES.items():
        if room_of(module) == "_measuring.kernels":
            assert outside(imports_of(path)) <= {"numpy", "_measuring.kernels"}


def test_no_public_name_is_a_module_of_that_name():
    modules = {name.split(".")[0] for name in FILES}
    public = {"charts", "clicks", "datasets", "experiments", "namespace", "trust"}
    assert modules & set(dir(polars_graded)) <= public
    assert {name for name in modules if not name.startswith("_")} == public


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
