"""Which columns of a frame of results tell its rows apart: one rule for all that takes results."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeAlias, TypedDict, TypeVar

import polars as pl

from polars_graded._checks import HINT, check_column_name, check_frame, check_list, made_by
from polars_graded._measuring.keywords import check_keywords
from polars_graded._measuring.names import Measure

if TYPE_CHECKING:
    from collections.abc import Callable

Given = ParamSpec("Given")
Result = TypeVar("Result")

Missing: TypeAlias = Literal["error", "drop", "zero"]
Columns: TypeAlias = str | Sequence[str]

KEYS = ("strategy", "query")
"""What tells rows of results apart, in the order in which `evaluate` puts it."""


class ResultOptions(TypedDict, total=False):
    """What every function of results takes to know what a row is, and what a missing value is."""

    query: Columns
    strategy: str
    missing: Missing


def _options(
    *, query: Columns = "query", strategy: str = "strategy", missing: Missing = "error"
) -> None:
    """The same as a signature, which help and completion show."""


def takes_results(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """The same function of results, which takes a frame of any kind and finds its key columns.

    Its `**options`, if it has them, are `ResultOptions`.
    """
    signature = inspect.signature(function)
    own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
    if len(own) < len(signature.parameters):
        further = inspect.signature(_options).parameters.values()
        signature = signature.replace(parameters=[*own, *further])
    first = next(iter(signature.parameters))

    @wraps(function)
    def called(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        check_keywords(kwargs, signature.parameters)
        try:
            given = signature.bind(*args, **kwargs)
        except TypeError:
            return function(*args, **kwargs)  # which says what is wrong
        frame = given.arguments[first] = check_frame(first, given.arguments[first])
        given.arguments |= found_keys(frame.collect_schema(), given.arguments)
        return function(*given.args, **given.kwargs)

    called.__signature__ = signature  # type: ignore[attr-defined]
    return called


def found_keys(schema: Mapping[str, pl.DataType], given: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of strategies and queries: as arguments name them, or else as they can be told.

    A key that no argument names is the column that is called so. Where there is none, and as many
    columns could be keys as are looked for, they are those, in the order of `evaluate`; where more
    could be, they are asked for.
    """
    keys = {key: given[key] for key in KEYS if key in given}
    keys |= {key: key for key in KEYS if key not in keys and key in schema}
    sought = [key for key in KEYS if key not in keys]
    taken = {*columns_of(*keys.values()), *columns_of(given.get("segments"))}
    taken |= columns_of(*check_list("measures", given.get("measures") or [None]))
    found = [name for name in schema if name not in taken and _may_be_a_key(name, schema[name])]
    if len(found) > len(sought) > 0:
        key = sought[-1]
        hint = made_by("per_query", f"{HINT} {key}= names the column;")
        msg = (
            f"`{key}` must be named where there is no column {key!r} and several could be meant, "
            f"got {', '.join(found)}{hint}"
        )
        raise ValueError(msg)
    if len(found) == len(sought):
        keys |= zip(sought, found, strict=True)
    return dict(zip(KEYS, KEYS, strict=True)) | keys


def _may_be_a_key(name: str, dtype: pl.DataType) -> bool:
    """Whether it is no measure, by its name and what it holds."""
    holds_values = dtype.is_float() or dtype.is_decimal() or dtype.is_nested()
    return not holds_values and dtype != pl.Boolean and Measure.parsed(name) is None


def columns_of(*given: Any) -> set[str]:
    """The names of columns in what names some."""
    found = set[str]()
    for each in given:
        if isinstance(each, str):
            found.add(each)
        elif isinstance(each, Iterable):
            found |= {name for name in each if isinstance(name, str)}
    return found


def settled_columns(argument: str, given: Any) -> list[str]:
    """The columns that an argument names, one or several; none where it is None."""
    if given is None and argument == "segments":
        return []
    return [check_column_name(argument, name) for name in check_list(argument, given)]
