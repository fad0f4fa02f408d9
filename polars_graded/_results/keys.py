"""Any frame of results in, and which of its columns are keys where nobody says."""

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


def finds_keys(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """The same function of results, which takes a frame of any kind and finds its key columns.

    Where `strategy` or `query` is not named and there is no column of that name, it is the first or
    the second column, which is where `evaluate` puts them.
    """
    parameters = inspect.signature(function).parameters
    first = next(iter(parameters))
    takes_any = any(each.kind is each.VAR_KEYWORD for each in parameters.values())

    @wraps(function)
    def called(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        if not takes_any:
            check_keywords(kwargs, parameters)
        if not args and first not in kwargs:
            return function(*args, **kwargs)  # which says what it lacks
        frame = check_frame(first, args[0] if args else kwargs[first])
        keys = {name: kwargs[name] for name in ("strategy", "query") if name in kwargs}
        named = found_keys(frame.collect_schema().names(), keys)
        kwargs.update({name: column for name, column in named.items() if name in parameters})
        if args:
            return function(frame, *args[1:], **kwargs)  # type: ignore[arg-type]
        return function(*args, **{**kwargs, first: frame})  # type: ignore[arg-type]

    return called


def found_keys(columns: Sequence[str], named: Mapping[str, object]) -> dict[str, object]:
    """The columns of strategies and queries, where they are named or can be told."""
    keys = dict(named)
    for place, key in enumerate(("strategy", "query")):
        taken = [*keys.values(), *({"strategy", "query"} - {key})]
        if key in keys or key in columns or place >= len(columns):
            continue
        if columns[place] not in taken and Measure.parsed(columns[place]) is None:
            keys[key] = columns[place]
    return keys
