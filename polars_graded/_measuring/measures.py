"""Measures with their cutoff and options, and their names, such as `"ndcg@10"`."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from polars_graded._checks import check_whole_number, did_you_mean, nearest
from polars_graded._measuring.definitions import ALL, DEFINITIONS, MAX_CURVE_VALUES, Definition
from polars_graded._measuring.document_inputs import DOCUMENT_INPUTS
from polars_graded._measuring.foreign_names import (
    explain_foreign_name,
    find_own_measures,
    translate_foreign_name,
)
from polars_graded._measuring.kernels.precision import list_recall_levels
from polars_graded._measuring.keywords import hint_at_option
from polars_graded._measuring.scale import Scale

ALL_DEFINITIONS: dict[str, Definition] = {**DEFINITIONS}
"""Definitions of the measures of one ranking. The module `similarities` adds those of two rankings
when it is imported, so that all functions of results know their names."""


@dataclass(frozen=True)
class Measure:
    """Measure with its cutoff and options, all checked."""

    function: str
    n: int | None
    options: Mapping[str, Any]
    name_as_written: str | None = field(default=None, compare=False)
    """Name as the user wrote it; None if the measure was not parsed from a text."""

    @classmethod
    def of(cls, function: str, n: int | None = None, /, **options: Any) -> Measure:
        """Check the arguments of a measure, and return the measure."""
        __tracebackhide__ = True
        if function not in ALL_DEFINITIONS:
            raise _make_unknown_error(function, function)
        definition = ALL_DEFINITIONS[function]
        for name, value in options.items():
            if name not in definition.options:
                names = ", ".join(definition.options) or "none"
                hint = hint_at_option(function, definition, name, value)
                msg = f"{function} has no option {name!r}; it has {names}{hint}"
                raise ValueError(msg)
        if n is not None and not definition.has_cutoff:
            msg = f"{function} takes no cutoff, got {n}"
            raise ValueError(msg)
        if options.get("over") == "retrieved" and options.get("ties") == "average":
            msg = f"`ties='average'` of {function} needs another `over`, got 'retrieved'"
            raise ValueError(msg)
        is_limited = isinstance(definition.dtype, pl.List) or definition.weighs_missing_ranks
        bounds = {"at_most": MAX_CURVE_VALUES} if is_limited else {}
        return cls(
            function,
            None if n is None else check_whole_number("n", n, **bounds),
            {
                name: option.check_value(name, options.get(name, option.default))
                for name, option in definition.options.items()
            },
        )

    @classmethod
    def parse(cls, text: str, among: Mapping[str, Definition] = DEFINITIONS) -> Measure:
        """Return the measure that `text` names, such as `"ap(threshold=2)"`."""
        __tracebackhide__ = True
        if not isinstance(text, str):
            _check_not_foreign(repr(text))  # the repr of an ir_measures object is its name
            msg = f"a measure must be named by a string such as 'ndcg@10', got {text!r}"
            raise TypeError(msg)
        match = _PATTERN.fullmatch(text)
        if match is None or match[1] not in ALL_DEFINITIONS or _CALL_PATTERN.fullmatch(text):
            _check_not_foreign(text)
        if match is None:
            msg = f"a measure is written like 'ndcg@10' or 'ap(threshold=2)@100', got {text!r}"
            raise ValueError(msg)
        if match[1] not in among:
            raise _make_unknown_error(text, match[1], among)
        return cls._read(match)

    @classmethod
    def try_parse(cls, text: str) -> Measure | None:
        """Return the measure that a text names, or None if it names no measure.

        The measure may be a measure of one ranking, or a similarity of two rankings.
        """
        match = _PATTERN.fullmatch(text)
        if match is None or match[1] not in ALL_DEFINITIONS:
            return None
        try:
            return cls._read(match)
        except (ValueError, TypeError):
            return None

    @classmethod
    def _read(cls, match: re.Match[str]) -> Measure:
        """Return the measure in a match of `_PATTERN`."""
        function, options, cutoff = match.groups()
        n = None if cutoff is None else int(cutoff)
        measure = cls.of(function, n, **_parse_options(match[0], options))
        return replace(measure, name_as_written=match[0])

    @property
    def definition(self) -> Definition:
        """Return the definition of the measure."""
        return ALL_DEFINITIONS[self.function]

    @property
    def name(self) -> str:
        """Return the result column's name, which `parse` can read.

        A parsed measure keeps the name that the user wrote. The name of any other measure contains
        the options whose values are not the defaults.
        """
        if self.name_as_written is not None:
            return self.name_as_written
        options = self.definition.options
        changed_options = {
            name: value for name, value in self.options.items() if value != options[name].default
        }
        return self._write(changed_options)

    @property
    def formula(self) -> str:
        """Return a name that lists all options; `parse` can read it."""
        return self._write(self.options)

    def _write(self, options: Mapping[str, Any]) -> str:
        """Return the text of the measure, with its cutoff and these options."""
        texts = ", ".join(f"{name}={_format_value(value)}" for name, value in options.items())
        brackets = f"({texts})" if texts else ""
        return f"{self.function}{brackets}" + ("" if self.n is None else f"@{self.n}")

    @property
    def is_curve(self) -> bool:
        """Return whether the measure has a list of values per query."""
        return isinstance(self.definition.dtype, pl.List)

    @property
    def positions(self) -> tuple[str, tuple[float, ...]] | None:
        """Return the name of a curve's axis, and the positions of its values.

        Return None if the length of the curve depends on the query.
        """
        if "recall_levels" in self.options:
            return "recall", list_recall_levels(self.options["recall_levels"])
        return None if self.n is None else ("rank", tuple(range(1, self.n + 1)))

    @property
    def values_per_query(self) -> int:
        """Return the length that a curve has for every query.

        Return 0 if the length depends on the query, or if the measure has one value per query.
        """
        if "recall_levels" in self.options:
            return len(list_recall_levels(self.options["recall_levels"]))
        return self.n if self.is_curve and self.n is not None else 0

    @property
    def needs_ties(self) -> bool:
        """Return whether the value depends on which documents are tied."""
        return self.definition.compares_ties or self.options.get("ties", "order") != "order"

    @property
    def may_fall(self) -> bool:
        """Return whether the value may get worse when a better document moves up."""
        of_retrieved = self.options.get("over") == "retrieved" and self.n is not None
        return of_retrieved or self.definition.may_fall

    def find_undefined(self, scale: Scale) -> float | None:
        """Return the value of `undefined_as` for the measure, by default null or 0."""
        if scale.undefined == "default":
            return None if self.definition.is_null_by_default else 0.0
        return scale.undefined

    @property
    def ranked_depth(self) -> int | None:
        """Return the number of ranked documents needed; None for all.

        A tie group can reach below the cutoff, so a measure that depends on ties needs all ranked
        documents.
        """
        return None if self.needs_ties or self.definition.needs_all_ranks else self.n


def check_distinct_names(names: list[str], among: Mapping[str, Definition] = DEFINITIONS) -> None:
    """Raise if no measure is named, or if one is named more than once."""
    if not names:
        msg = f"name at least one measure; there are {', '.join(among)}"
        raise ValueError(msg)
    if repeated := {name for name in names if names.count(name) > 1}:
        msg = f"each measure must be named once, got {', '.join(sorted(repeated))} more than once"
        raise ValueError(msg)


def check_measures(measures: Sequence[Measure], scale: Scale, inputs: Collection[str]) -> None:
    """Raise if a measure lacks an input, or if a passed input is unused.

    Also raise for a threshold below the lowest relevant grade of the scale, and for a measure with
    `levels="all"` if the highest grade of the scale is unknown, or if the scale has too many
    levels.
    """
    for measure in measures:
        _check_threshold(measure, scale)
        for name in measure.definition.input_names:
            if name not in inputs:
                msg = (
                    f"{measure.function} needs `{name}`, {DOCUMENT_INPUTS[name].meaning}, got none"
                )
                raise ValueError(msg)
    for name in inputs:
        if not any(name in measure.definition.input_names for measure in measures):
            users = [each for each in DEFINITIONS if name in DEFINITIONS[each].input_names]
            msg = f"`{name}` is for the measures {', '.join(users)}, got none of them"
            raise ValueError(msg)
    of_levels = [m.function for m in measures if m.options.get("levels") == ALL]
    if not of_levels:
        return
    if scale.max_grade is None:
        msg = (
            f"`levels='all'` of {of_levels[0]} needs `max_grade`, got None\n\n"
            "Hint: pass max_grade=... to `scaled` or `evaluate`, or specify the levels"
        )
        raise ValueError(msg)
    if scale.max_grade - scale.irrelevant > MAX_CURVE_VALUES:
        msg = (
            f"`levels='all'` must mean at most {MAX_CURVE_VALUES} levels, "
            f"got grades up to {scale.max_grade:g}"
        )
        raise ValueError(msg)


def _check_threshold(measure: Measure, scale: Scale) -> None:
    """Raise if grades of the threshold are not relevant on the scale."""
    threshold = measure.options.get("threshold")
    if threshold is None:
        return
    if threshold <= scale.irrelevant:
        msg = (
            f"`threshold` of {measure.function} must be above `irrelevant`, "
            f"{scale.irrelevant:g}, got {threshold:g}\n\n"
            "Hint: `irrelevant` is the highest grade that is not relevant"
        )
        raise ValueError(msg)
    if scale.relevant_from is not None and threshold < scale.relevant_from:
        msg = (
            f"`threshold` of {measure.function} must be at least `relevant_from`, "
            f"{scale.relevant_from:g}, got {threshold:g}"
        )
        raise ValueError(msg)


# Names of measures, and errors for unknown names


def _make_unknown_error(
    text: str, function: str, among: Mapping[str, Definition] = DEFINITIONS
) -> ValueError:
    """Return the error for an unknown measure, with the nearest name if any."""
    if function in ALL_DEFINITIONS:
        rankings, call = "one ranking", "evaluate"
        if among is DEFINITIONS:
            rankings, call = "two rankings", "similarity"
        return ValueError(
            f"{text!r} is a measure of {rankings}\n\nHint: pg.{call}(frame, {text!r}, ...)"
        )
    if among is not DEFINITIONS:
        hint = did_you_mean(function, among)
        return ValueError(f"there is no measure {text!r}; there are {', '.join(among)}{hint}")
    if definitions := find_own_measures(text, DEFINITIONS):
        choices = " or ".join(
            f"{each.measure!r}{f' ({each.difference})' if each.difference else ''}"
            for each in definitions
        )
        return ValueError(f"there is no measure {text!r}\n\nHint: did you mean {choices}?")
    nearest_name = nearest(function, DEFINITIONS)
    if nearest_name is None:
        return ValueError(f"there is no measure {text!r}; there are {', '.join(among)}")
    corrected = text.strip().replace(function, nearest_name, 1)
    suggestion = corrected if Measure.try_parse(corrected) else nearest_name
    return ValueError(f"there is no measure {text!r}\n\nHint: did you mean {suggestion!r}?")


_PATTERN = re.compile(r"\s*(\w+)\s*(\(.*\))?\s*(?:@\s*([+-]?\d+))?\s*")
"""Name of a measure: its function, its options in brackets and its cutoff."""

_CALL_PATTERN = re.compile(r"\s*\w+\(\d+\)\s*")


def _check_not_foreign(text: str) -> None:
    """Raise if other tools use this name; the error translates or explains it."""
    # A text that begins with the name of one of our measures, in any case, is foreign only if
    # another tool writes it in the same case. For other texts, upper and lower case do not matter.
    function = re.match(r"\s*(\w*)", text)
    is_own = function is not None and function[1].lower() in DEFINITIONS
    calls = translate_foreign_name(text, any_case=not is_own)
    if calls and all(Measure.try_parse(call.measure) for call in calls):
        tools: dict[str, list[str]] = {}
        for call in calls:
            tools.setdefault(f"{call.measure!r} here{call.further}", []).append(call.tool)
        translations = "; ".join(
            f"{text!r} of {' and '.join(names)} is {call_here}"
            for call_here, names in tools.items()
        )
        msg = f"there is no measure {text!r}\n\nHint: {translations}"
        raise ValueError(msg)
    if (explanation := explain_foreign_name(text)) is not None:
        hint = f"the measure of this name in other tools {explanation}"
        msg = f"there is no measure {text!r}\n\nHint: {hint}"
        raise ValueError(msg)


def _parse_options(text: str, options: str | None) -> dict[str, Any]:
    """Parse the options of a measure, such as `(gain=linear, base=10)`."""
    msg = (
        "options are written like '(threshold=2, over=cutoff)', and a cutoff like '@10', "
        f"got {text!r}"
    )
    try:
        call = ast.parse(f"f{options or '()'}", mode="eval").body
    except SyntaxError:
        raise ValueError(msg) from None
    # A second pair of brackets, as in `f()()`, is refused here: Python parses it as a call, too.
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)) or call.args:
        raise ValueError(msg)
    names = [keyword.arg for keyword in call.keywords]
    if len(set(names)) < len(names):
        raise ValueError(msg)
    try:
        return {str(keyword.arg): _parse_value(keyword.value) for keyword in call.keywords}
    except (ValueError, TypeError):
        raise ValueError(msg) from None


def _parse_value(node: ast.expr) -> Any:
    """Return an option's value: an unquoted word, or a Python literal."""
    return node.id if isinstance(node, ast.Name) else ast.literal_eval(node)


def _format_value(value: Any) -> str:
    """Return an option's value as `_parse_options` reads it."""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    if isinstance(value, tuple) and isinstance(value[0], tuple):
        return f"{{{', '.join(f'{_format_value(k)}: {_format_value(v)}' for k, v in value)}}}"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_format_value, value))}]"
    return str(value)
