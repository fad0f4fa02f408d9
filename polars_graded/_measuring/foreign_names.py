"""Names of measures and arguments in other tools, and the call that gives the same number here.

The tables stand in `foreign_names.toml`, and in the book, tool by tool. No such name is accepted
silently: ir_measures' `nDCG@10` and our `ndcg@10` differ by more than case.
"""

from __future__ import annotations

import math
import re
import tomllib
from importlib import resources
from typing import Any, NamedTuple

FIRST_OF_LIST = ", with .list.first() of its column"
"""What else is needed for a number that is a list of one here."""


class Call(NamedTuple):
    """A measure of another tool, as it is called here."""

    tool: str
    measure: str
    further: str = ""
    """What else is needed for the same number."""


def _tables() -> dict[str, Any]:
    """Read the tables, which only errors need."""
    file = resources.files("polars_graded._measuring") / "foreign_names.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))


def own_name_of_measure(name: str) -> str | None:
    """Return the measure here that is known by another short name."""
    alias: str | None = _tables()["aliases"].get(name.lower())
    return alias


def own_name_of_argument(name: str) -> str:
    """Return the argument here that stands for one of another tool; the name if there is none."""
    arguments = _tables()["arguments"].items()
    return next((own for own, others in arguments if name in others), name)


def explain_without_call(name: str) -> str | None:
    """Return what to say of a name of other tools that no single call here stands for."""
    for pattern, sentence in _tables()["without_a_call"].items():
        if match := re.fullmatch(pattern, name.strip(), re.IGNORECASE):
            return str(sentence.format(*match.groups()))
    return None


def calls_here(name: str, *, any_case: bool = True) -> list[Call]:
    """Return the calls here that a name of other tools stands for, none if no tool has it.

    With `any_case`, case is ignored for a name that no tool spells like this.
    """
    name, tables = name.strip(), _tables()
    calls = _calls(name, tables, re.NOFLAG)
    return _calls(name, tables, re.IGNORECASE) if any_case and not calls else calls


def _calls(name: str, tables: dict[str, Any], flags: re.RegexFlag) -> list[Call]:
    """Return the calls that stand for a name in any tool."""
    calls = _calls_of_ir_measures(name, tables["ir_measures"], flags)
    for tool, patterns in tables["calls"].items():
        for pattern, call in patterns.items():
            if match := re.fullmatch(pattern, name, flags):
                measure, further = (call, "") if isinstance(call, str) else call
                calls.append(Call(tool, measure.format(*match.groups("")), further))
    return calls


def _calls_of_ir_measures(name: str, known: dict[str, str], flags: re.RegexFlag) -> list[Call]:
    """Return the call that stands for a measure of ir_measures, such as `AP(rel=2)@100`."""
    match = re.fullmatch(r"(\w+)\s*(?:\((.*)\))?\s*(?:@\s*([\d.]+))?", name)
    same = [each for each in known if match and re.fullmatch(each, match[1], flags)]
    if match is None or not same:
        return []
    function, cutoff = known[same[0]], match[3]
    given = dict(re.findall(r"(\w+)\s*=\s*(\{[^}]*\}|[^,]+)", match[2] or ""))
    options, further = {}, ""
    if function == "ndcg" and "exp" not in given.pop("dcg", ""):
        options["gain"] = given.pop("gains", "linear")
    if given.pop("judged_only", "").strip() == "True":
        further = " with condensed=True"
    if function == "n_retrieved" and "rel" in given:
        function = "n_relevant_retrieved"
    if function == "err":
        further += (
            " with highest=4, where its scale ends whatever the grades (the highest grade of your "
            "own scale gives another number)"
        )
    if function == "f_measure" and "beta" in given:
        options["beta"] = f"{math.sqrt(float(given.pop('beta'))):g}"  # its beta is our beta squared
    if function == "interpolated_precision" and cutoff:
        options["recall_levels"], cutoff, further = f"[{cutoff}]", None, further + FIRST_OF_LIST
    for option, value in given.items():
        if (option, value.strip()) != ("rel", "1"):
            options["threshold" if option == "rel" else option] = value.strip()
    if "relative" in options:
        return []  # which is no measure here
    if function == "rbp" and options.get("p") == "0.8":
        del options["p"]
    written = ", ".join(f"{option}={value}" for option, value in options.items())
    brackets = f"({written})" if written else ""
    measure = f"{function}{brackets}{f'@{cutoff}' if cutoff else ''}"
    return [Call("ir_measures", measure, further)]
