"""Calls of public functions: errors for unknown keywords, and frames of any kind."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast, overload

import polars as pl

from polars_graded._checks import check_frame, did_you_mean, nearest
from polars_graded._measuring.definitions import DEFINITIONS, Definition
from polars_graded._measuring.foreign_names import find_own_argument

Given = ParamSpec("Given")
Result = TypeVar("Result")

CUTOFF_NAMES = {"k", "n", "at", "cutoff", "top_k", "topk"}
"""Keywords that mean a cutoff. `evaluate` takes a cutoff in the name of a measure: 'ndcg@10'."""

EVALUATE_ARGUMENTS = {"condensed", "max_grade", "irrelevant", "relevant_from", "undefined_as"}
"""Arguments of `evaluate` that hold for all measures."""

JUDGMENT_NAMES = {"judgments", "qrels", "run", "runs"}
"""Keywords that mean a frame to pass to `join_judgments`."""

MEASURE_NAMES = {"measure", "measures", "metric", "metrics"}
"""Keywords that mean measures. `evaluate` takes measures without a keyword."""

FRAMES = {"frame", "per_query"}
"""Names of first arguments that are frames."""

OPTIONS = sorted({name for definition in DEFINITIONS.values() for name in definition.options})
"""Names of all options of measures, except those of similarities."""


def hint_at_option(function: str, definition: Definition, name: str, value: object) -> str:
    """Return the hint for an option that a measure does not have."""
    own_name = find_own_argument(name)
    if name in CUTOFF_NAMES and definition.has_cutoff:
        n = value if isinstance(value, int) else 10
        return f"\n\nHint: write a cutoff after an @: '{function}@{n}'"
    if own_name in EVALUATE_ARGUMENTS:
        return f"\n\nHint: pass it once for all measures: evaluate(..., {own_name}=...)"
    return did_you_mean(own_name, definition.options)


class FrameFunction(Protocol[Given]):
    """Define the type of a function of a frame.

    The function returns a LazyFrame for a LazyFrame, and a DataFrame for any other frame.
    """

    @overload
    def __call__(
        self, frame: pl.LazyFrame, *args: Given.args, **options: Given.kwargs
    ) -> pl.LazyFrame: ...
    @overload
    def __call__(self, frame: Any, *args: Given.args, **options: Given.kwargs) -> pl.DataFrame: ...


def returns_lazy_for_lazy(function: Callable[Concatenate[Any, Given], Any]) -> FrameFunction[Given]:
    """Return the same function with the type `FrameFunction`."""
    return cast("FrameFunction[Given]", function)


def checks_call(
    function: Callable[Given, Result],
    forwarded_to: Callable[..., Any] | None = None,
    keeps: Callable[[Any], object] = lambda _: False,
) -> Callable[Given, Result]:
    """Wrap a public function, whose errors then suggest the right keyword.

    Other keywords than its own are those of the function `forwarded_to`. If the first argument has
    a name in `FRAMES`, a frame of any kind becomes a Polars frame, unless `keeps` is true for it.
    """
    parameters = {**inspect.signature(function).parameters}
    first = next(iter(parameters), "")
    if forwarded_to is not None:
        others = inspect.signature(forwarded_to).parameters
        parameters |= {name: others[name] for name in others if name not in parameters}

    @wraps(function)
    def call(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        __tracebackhide__ = True  # IPython and pytest leave such layers out of a traceback
        check_keywords(kwargs, parameters)
        values: Any = [*args]
        if first in FRAMES and values and not keeps(values[0]):
            values[0] = check_frame(first, values[0])
        elif first in FRAMES and first in kwargs and not keeps(kwargs[first]):
            kwargs[first] = check_frame(first, kwargs[first])
        return function(*values, **kwargs)

    return call


def check_keywords(names: Iterable[str], parameters: Mapping[str, inspect.Parameter]) -> None:
    """Raise for the first name that is not a keyword of the parameters."""
    keywords = [
        each.name
        for each in parameters.values()
        if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD) and each.name != "cls"
    ]
    for name in names:
        if name not in keywords:
            hint = _find_hint(name, keywords, {*parameters} >= {"frame", "measures"})
            others = "" if hint else f"; there are {', '.join(keywords)}"
            msg = f"there is no argument {name!r}{others}{hint}"
            raise TypeError(msg)


def _find_hint(name: str, keywords: Sequence[str], takes_measures: bool) -> str:  # noqa: FBT001
    """Return the hint for an unknown keyword, or an empty text."""
    own_name = find_own_argument(name)
    if own_name in keywords:
        return f"\n\nHint: did you mean {own_name!r}?"
    if name == "ascending" and "descending" in keywords:
        return "\n\nHint: descending=False means ascending"
    if takes_measures:
        for names, hint in (
            (CUTOFF_NAMES, "write the cutoff in the name of a measure: 'ndcg@10'"),
            (MEASURE_NAMES, "pass measures after the frame without a keyword: 'ap', 'ndcg@10'"),
            (
                JUDGMENT_NAMES,
                "join_judgments(run, judgments) joins the two into the frame to evaluate",
            ),
        ):
            if own_name in names:
                return f"\n\nHint: {hint}"
        option = nearest(own_name, OPTIONS)
        if option is not None and (option == own_name or nearest(name, keywords) is None):
            return f"\n\nHint: write {option} in the name of a measure, as in 'ap(threshold=2)'"
    return did_you_mean(name, keywords)
