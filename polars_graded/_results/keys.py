"""Which columns of a frame of results tell its rows apart, where no argument says."""

from __future__ import annotations

import inspect
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from polars_graded._checks import check_frame
from polars_graded._measuring.keywords import check_keywords
from polars_graded._measuring.names import Measure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Given = ParamSpec("Given")
Result = TypeVar("Result")

KEYS = ("strategy", "query")
"""What tells rows of results apart, in the order in which `evaluate` puts it."""


def finds_keys(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """The same function of results, which takes a frame of any kind and finds its key columns.

    Where `strategy` or `query` is not named and there is no column of that name, it is the first or
    the second column, which is where `evaluate` puts them.
    """
    signature = inspect.signature(function)
    first = next(iter(signature.parameters))

    @wraps(function)
    def called(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        check_keywords(kwargs, signature.parameters)
        try:
            given = signature.bind(*args, **kwargs)
        except TypeError:
            return function(*args, **kwargs)  # which says what is wrong
        frame = given.arguments[first] = check_frame(first, given.arguments[first])
        named = {key: given.arguments[key] for key in KEYS if key in given.arguments}
        given.arguments |= found_keys(frame.collect_schema().names(), named)
        return function(*given.args, **given.kwargs)

    return called


def found_keys(columns: Sequence[str], named: Mapping[str, object]) -> dict[str, object]:
    """The columns of strategies and queries, where they are named or can be told."""
    keys = dict(named)
    for place, key in enumerate(KEYS):
        taken = [*keys.values(), *({*KEYS} - {key})]
        if key in keys or key in columns or place >= len(columns):
            continue
        if columns[place] not in taken and Measure.parsed(columns[place]) is None:
            keys[key] = columns[place]
    return keys
