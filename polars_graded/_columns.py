"""Names of columns as they are, also where Polars would take them for patterns.

To Polars a text such as `*` or `^q.*$` is every column that it matches. Of a user it names the one
column that is called so.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import polars as pl
import polars.selectors as cs

from polars_graded._door import as_polars
from polars_graded._forking import check_not_forked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Given = ParamSpec("Given")
Result = TypeVar("Result")

OF_FRAMES = {"frame", "judgments"}
"""Parameters that take frames; so does the first of each function."""

OF_VALUES = {"of", "a", "b", "baseline", "file"}
"""Parameters whose texts name no columns."""

OF_NAMES = {"measure", "reference", "grade"}
"""Columns that come out whose values name columns."""

OF_ENGINES = ("pyspark.", "ray.")
"""Where frames come from that stay where they are."""


def is_pattern(name: str) -> bool:
    """Whether Polars takes a name for a pattern."""
    return name == "*" or (name.startswith("^") and name.endswith("$"))


def is_no_name(name: str) -> bool:
    """Whether Polars does not take a name as it is: for a pattern, or for one that is lacking."""
    return not name or is_pattern(name)


def column_named(name: str | pl.Expr) -> pl.Expr:
    """The one column of that name; an expression as it is."""
    if isinstance(name, pl.Expr):
        return name
    return cs.by_name(name).as_expr() if is_pattern(name) else pl.col(name)


def takes_any_name(
    function: Callable[Given, Result], signs: Mapping[str, str] | None = None
) -> Callable[Given, Result]:
    """The same function of frames, whose columns may have the names of patterns, or empty ones.

    Within it spaces stand behind such a name, which make it a name to Polars too; they are gone
    from the frame that comes out. Signs stand for other characters in all names, for good.
    """
    replaced = str.maketrans(dict(signs or {}))
    signature = inspect.signature(function)
    frames = {next(iter(signature.parameters)), *OF_FRAMES}

    @wraps(function)
    def called(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        check_not_forked()
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            return function(*args, **kwargs)  # which says what it lacks
        given = bound.arguments
        given.update({name: _known(name, given[name]) for name in frames & {*given}})
        there = {name for each in frames & {*given} for name in _columns(given[each])}
        named = (text for each in given.keys() - frames for text in _texts(given[each]))
        names = _Names(there, replaced)
        of_engine = any(map(_is_of_engine, given.values()))
        if of_engine or not any(map(names.are_others, (*there, *named))):
            return function(*bound.args, **bound.kwargs)
        given.update(names.within(given, frames))
        try:
            result: Result = names.without(function(*bound.args, **bound.kwargs))
        except Exception as error:
            error.args = tuple(map(names.told, error.args))
            raise
        return result

    return called


def _known(argument: str, value: Any) -> Any:
    """A frame of another kind as one of Polars; anything else as it is."""
    if isinstance(value, Mapping):
        # Of queries there may be many, and in them is no frame.
        return {
            key: each if isinstance(each, Mapping | list) else _known(argument, each)
            for key, each in value.items()
        }
    if type(value).__module__ == "builtins" or _is_of_engine(value):
        return value
    frame = as_polars(argument, value)
    return value if frame is None else frame


def _is_of_engine(value: Any) -> bool:
    """Whether it is a frame of an engine, or another of its objects."""
    return f"{type(value).__module__}.".startswith(OF_ENGINES)


def _columns(value: Any) -> Iterator[str]:
    """The columns of a frame, or of frames by name."""
    if isinstance(value, pl.DataFrame | pl.LazyFrame):
        yield from value.collect_schema()
    elif isinstance(value, Mapping):
        for each in value.values():
            if isinstance(each, pl.DataFrame | pl.LazyFrame):
                yield from each.collect_schema()


def _texts(value: Any) -> Iterator[str]:
    """The texts that an argument holds."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple | Mapping):
        inner = (*value, *value.values()) if isinstance(value, Mapping) else value
        for each in inner:
            yield from _texts(each)


class _Names:
    """What columns are called within a function."""

    def __init__(self, there: Iterable[str], replaced: Mapping[int, str]) -> None:
        self.there = {*there}
        self.replaced = replaced
        self.spaces = " "
        while any(self.given(name) != name for name in self.there):
            self.spaces += " "

    def are_others(self, name: str) -> bool:
        """Whether a column is called otherwise within."""
        return bool(self.of(name) != name)

    def within(self, arguments: Mapping[str, Any], frames: set[str]) -> dict[str, Any]:
        """The arguments as they are within the function."""
        found = {}
        for name, value in arguments.items():
            if name in frames:
                found[name] = self.frame(value)
            elif name == "options":
                found[name] = self.within(value, frames)
            elif name == "by":
                found[name] = self.by(value)
            else:
                found[name] = value if name in OF_VALUES else self.of(value)
        return found

    def of(self, value: Any) -> Any:
        """The names of columns in an argument as they are within."""
        if isinstance(value, str):
            name = value.translate(self.replaced)
            return f"{name}{self.spaces}" if is_no_name(name) else name
        if isinstance(value, Mapping):
            return {self.of(name): self.of(each) for name, each in value.items()}
        if isinstance(value, list):
            return [self.of(each) for each in value]
        return tuple(map(self.of, value)) if isinstance(value, tuple) else value

    def by(self, value: Any) -> Any:
        """The columns to rank by; strategies that are called like columns keep their names."""
        if isinstance(value, Mapping):
            return {name: self.of(columns) for name, columns in value.items()}
        entries = [value] if isinstance(value, str) else value
        if not isinstance(entries, list | tuple):
            return value
        named = {next(_texts(entry), None): self.of(entry) for entry in entries}
        return named if len(named) == len(entries) and None not in named else self.of(value)

    def frame(self, value: Any) -> Any:
        """A frame with the names that its columns have within, or several."""
        if isinstance(value, Mapping):
            frames = pl.DataFrame | pl.LazyFrame
            return {k: self.frame(v) if isinstance(v, frames) else v for k, v in value.items()}
        renamed = {name: self.of(name) for name in _columns(value) if self.are_others(name)}
        return value.rename(renamed) if renamed else value

    def given(self, name: str) -> str:
        """A name as it was given."""
        plain = name.removesuffix(self.spaces)
        return plain if is_no_name(plain) else name

    def without(self, result: Any) -> Any:
        """A frame that comes out, in columns and, where it names columns, in values."""
        if not isinstance(result, pl.DataFrame | pl.LazyFrame):
            return result
        came_in = map(self.of, self.there)
        naming = cs.string() & cs.by_name(*OF_NAMES.difference(came_in), require_all=False)
        pattern = rf"^(|\*|\^(?s:.*)\$){self.spaces}$"
        columns = {name: self.given(name) for name in result.collect_schema()}
        return result.with_columns(naming.str.replace(pattern, "$1")).rename(columns)

    def told(self, sentence: Any) -> Any:
        """What an error says, with names as they were given."""
        if not isinstance(sentence, str):
            return sentence
        return re.sub(rf"'(|\*|\^[^']*\$){self.spaces}'", r"'\1'", sentence)
