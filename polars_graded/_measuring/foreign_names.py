"""Translate measures and arguments of other tools to this package.

`foreign_names.toml` contains the tables, tool by tool, and `notebooks/book/how-to/tools.md`
explains them. The tables are used only for hints in errors. A foreign name is never accepted in
place of our own, since `nDCG@10` of ir_measures and `ndcg@10` of this package are different
measures.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection
from importlib import resources
from typing import Any, NamedTuple


class Call(NamedTuple):
    """Measure of this package that corresponds to a measure of `tool`."""

    tool: str
    measure: str
    further: str = ""
    """Further steps that are needed to get the same value as the other tool."""


def _read_tables() -> dict[str, Any]:
    """Read the tables. They are not kept, since only errors need them."""
    file = resources.files("polars_graded._measuring") / "foreign_names.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))


class OwnMeasure(NamedTuple):
    """Measure of this package that may correspond to a foreign name.

    Tools may define a measure differently. `difference` then says how `measure` is defined, or
    which option gives the values of another tool.
    """

    measure: str
    difference: str = ""


def find_own_measures(text: str, own: Collection[str]) -> list[OwnMeasure]:
    """Find our measures for a name, such as `precision@10` for `P_10`.

    If tools define the measure differently, the list may contain several measures. If the name is
    unknown, the list is empty. `own` contains the names of this package's measures.
    """
    tables = _read_tables()
    names = {name: name for name in own} | tables["aliases"]
    stem, cutoff = re.sub("(?<=[a-z])(?=[A-Z][a-z])", "_", text.strip()).lower(), ""
    if stem not in names:
        match = re.fullmatch(r"(.*?)[_@.]*(?:at|cut)?[_@.]*(\d+|k)", stem)
        if match:
            stem, cutoff = match[1], "@10" if match[2] == "k" else f"@{match[2]}"
        stem = stem if stem in names else re.sub("_(at|cut|score)$", "", stem)
    if stem not in names:
        return []
    measure, definitions = names[stem], tables["definitions"]
    choices = definitions.get(measure) or (definitions.get(f"{measure}@n") if cutoff else None)
    return [
        OwnMeasure(each + cutoff, difference) for each, difference in choices or [(measure, "")]
    ]


def find_own_argument(name: str) -> str:
    """Return our name for another tool's argument, or `name` if there is none."""
    arguments = _read_tables()["arguments"].items()
    return next((own for own, others in arguments if name in others), name)


def explain_foreign_name(name: str) -> str | None:
    """Explain another tool's measure that no single call computes.

    The explanation is a sentence without its subject, for example "is 'precision' times 'recall'".
    Return None if the name is unknown.
    """
    for pattern, sentence in _read_tables()["without_a_call"].items():
        if match := re.fullmatch(pattern, name.strip(), re.IGNORECASE):
            return str(sentence.format(*match.groups()))
    return None


def translate_foreign_name(name: str, *, any_case: bool = True) -> list[Call]:
    """Return the calls for a measure of other tools.

    If no entry of a table matches the name, the list is empty. With `any_case`, the tables are
    searched a second time without regard to case if the first search finds nothing.
    """
    name, tables = name.strip(), _read_tables()
    calls = _find_calls(name, tables, re.NOFLAG)
    return _find_calls(name, tables, re.IGNORECASE) if any_case and not calls else calls


def _find_calls(name: str, tables: dict[str, Any], flags: re.RegexFlag) -> list[Call]:
    """Return the calls for a name, one for each table entry that matches."""
    calls = []
    if match := re.fullmatch(r"(\w+)(\([^()]*\))?(@\d+)?", name):  # such as AP(rel=2)@100
        options, cutoff = (match[2] or "").replace("rel=", "threshold="), match[3] or ""
        calls += [
            Call("ir_measures", f"{function}{options}{cutoff}")
            for pattern, function in tables["ir_measures"].items()
            if re.fullmatch(pattern, match[1], flags)
        ][:1]
    for tool, patterns in tables["calls"].items():
        for pattern, call in patterns.items():
            if match := re.fullmatch(pattern, name, flags):
                measure, further = (call, "") if isinstance(call, str) else call
                calls.append(Call(tool, measure.format(*match.groups("")), further))
    return calls
