"""Translate measures and arguments of other tools to this package.

`foreign_names.toml` contains the tables, tool by tool, and `notebooks/book/how-to/tools.md`
explains them. The tables are used only for hints in errors. A foreign name is never accepted in
place of our own, since `nDCG@10` of ir_measures and `ndcg@10` of this package are different
measures.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Collection
from importlib import resources
from typing import Any, NamedTuple

FIRST_OF_LIST = ", with .list.first() of its column"
"""Further step if our measure is a list of one number. The other tool returns this number."""


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
    calls = _translate_ir_measures(name, tables["ir_measures"], flags)
    for tool, patterns in tables["calls"].items():
        for pattern, call in patterns.items():
            if match := re.fullmatch(pattern, name, flags):
                measure, further = (call, "") if isinstance(call, str) else call
                calls.append(Call(tool, measure.format(*match.groups("")), further))
    return calls


RANKS_1000 = ("inst", "insq", "nerr10", "nerr11")
"""Measures that ir_measures computes over 1000 ranks if there is no cutoff."""

OWN_SCALE = {"max_rel": "max_grade", "min_rel": "irrelevant"}
"""Arguments of ir_measures that set the scale of grades, and our argument for each."""

OWN_OPTIONS = {"rel": "threshold", "T": "target", "normalize": "normalised"}
"""Mapping from options of ir_measures to our options, for options with different names."""

DEFAULT_PERSISTENCE = {"rbp": "0.8", "nerr10": "0.9", "compat": "0.95"}
"""Default of `p` for each measure, as text. Our defaults are the same as those of ir_measures, so a
translation leaves out a default `p`."""


def _translate_options(function: str, arguments: dict[str, str]) -> dict[str, str]:
    """Translate options of ir_measures; leave out default `threshold` and `p`."""
    defaults = {"threshold": "1", "p": DEFAULT_PERSISTENCE.get(function)}
    options = {OWN_OPTIONS.get(name, name): value.strip() for name, value in arguments.items()}
    return {name: value for name, value in options.items() if value != defaults.get(name)}


def _read_number(text: str) -> float:
    """Return a number, or NaN if the text contains none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def _translate_ir_measures(name: str, functions: dict[str, str], flags: re.RegexFlag) -> list[Call]:
    """Return a list with the call for a measure such as `AP(rel=2)@100`.

    The list is empty if the table of ir_measures lacks the name, or if this package cannot compute
    the measure.
    """
    match = re.fullmatch(r"(\w+)\s*(?:\((.*)\))?\s*(?:@\s*([\d.]+))?", name)
    patterns = [each for each in functions if match and re.fullmatch(each, match[1], flags)]
    if match is None or not patterns:
        return []
    function, cutoff = functions[patterns[0]], match[3]
    arguments = dict(re.findall(r"(\w+)\s*=\s*(\{[^}]*\}|[^,]+)", match[2] or ""))
    if function == "n_retrieved" and "rel" in arguments:
        function = "n_relevant_retrieved"
    options, further = {}, ""
    # `beta` of ir_measures is the square of our `beta`.
    square = _read_number(arguments.pop("beta", "1") if function == "f_measure" else "1")
    is_exponential, gains = "exp" in arguments.pop("dcg", ""), arguments.pop("gains", None)
    if "relative" in arguments or not square > 0 or (is_exponential and gains):
        return []
    if function == "ndcg" and not is_exponential:
        options["gain"] = gains or "linear"
    if square != 1:
        options["beta"] = f"{math.sqrt(square)!r}".removesuffix(".0")
    if arguments.pop("judged_only", "").strip() == "True":
        further = " with condensed=True"
    if function == "err":
        further += (
            " with max_grade=4, since the scale of ERR in ir_measures always ends at 4 (the "
            "highest grade of your own scale gives another number)"
        )
    if function in RANKS_1000 and not cutoff:
        # With this cutoff, our measures count the ranks after the last document too, with a gain
        # of 0.
        cutoff = "1000"
    scale = {own: arguments.pop(name, "0").strip() for name, own in OWN_SCALE.items()}
    if scale_text := ", ".join(f"{own}={value}" for own, value in scale.items() if value != "0"):
        further += f" with {scale_text}"
    if function == "interpolated_precision" and cutoff:
        options["recall_levels"], cutoff, further = f"[{cutoff}]", None, further + FIRST_OF_LIST
    options |= _translate_options(function, arguments)
    options_text = ", ".join(f"{option}={value}" for option, value in options.items())
    brackets = f"({options_text})" if options_text else ""
    measure = f"{function}{brackets}{f'@{cutoff}' if cutoff else ''}"
    return [Call("ir_measures", measure, further)]
