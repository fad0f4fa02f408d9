"""Which columns of a frame of results tell its rows apart: one rule for all that takes results."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, Literal, ParamSpec, TypeAlias, TypedDict, TypeVar

import polars as pl

from polars_graded._checks import (
    HINT,
    check_choice,
    check_column_names,
    check_columns,
    check_frame,
    check_list,
    first_few,
    made_by,
)
from polars_graded._frames.fingerprints import JUDGMENTS, SETTINGS
from polars_graded._frames.inputs import GRADER as GRADER  # noqa: PLC0414, charts ask here
from polars_graded._frames.inputs import check_graders_named
from polars_graded._frames.request import Columns as Columns  # noqa: PLC0414, all results ask here
from polars_graded._measuring.keywords import check_keywords
from polars_graded._measuring.names import Measure

Given = ParamSpec("Given")
Result = TypeVar("Result")

Missing: TypeAlias = Literal["error", "drop", "zero"]

KEYS = ("strategy", "query")
"""What tells rows of results apart, in the order in which `evaluate` puts it."""


class Keys(TypedDict):
    """The columns that tell rows of results apart, and what a missing value is."""

    query: Columns
    strategy: str
    missing: Missing


Parts: TypeAlias = "dict[str | None, Any]"
"""The results of each grader; under None those of a frame that names no grader."""


# How the results of several graders become one result


def each_grader(parts: Parts, function: Callable[[pl.DataFrame], Any]) -> Any:
    """Return the frames that a function returns for each grader, one below the other."""
    if len(parts) == 1:
        return function(one_part(parts)[1])
    return _stacked({name: function(rows) for name, rows in parts.items()})


def one_grader(parts: Parts, function: Callable[[pl.DataFrame], Any]) -> Any:
    """Return the result of a function for the only grader; raise where there are several."""
    return function(one_part(parts)[1])


def all_graders(parts: Parts, function: Callable[[pl.DataFrame], Any]) -> Any:
    """Return the result of a function that itself compares graders, for all their results."""
    return function(parts[None] if None in parts else _stacked(parts))


def takes_results(
    way: Callable[[Parts, Callable[[pl.DataFrame], Any]], Any] = each_grader,
) -> Callable[[Callable[Given, Result]], Callable[Given, Result]]:
    """Return a decorator for functions of results, which resolves the frame and its key columns.

    A grader is a key that splits results: the function sees the results of one grader, and `way`
    says what becomes of several. With `trusted` it sees the trusted grader beside the others.
    A function that takes `all_graders` chooses among them itself.
    """

    def decorated(function: Callable[Given, Result]) -> Callable[Given, Result]:
        signature = inspect.signature(function)
        first = next(iter(signature.parameters))

        @wraps(function)
        def called(*args: Given.args, **kwargs: Given.kwargs) -> Result:
            check_keywords(kwargs, signature.parameters)
            try:
                given = signature.bind(*args, **kwargs)
            except TypeError:
                return function(*args, **kwargs)  # Python's own error names what is missing
            frame = check_frame(first, given.arguments[first])
            given.arguments |= found_keys(frame.collect_schema(), given.arguments)
            grader, trusted = (given.arguments.get(name) for name in (GRADER, "trusted"))
            parts = split_by_grader(frame, given.arguments)
            _check_graders(first, parts, grader=grader, trusted=trusted)
            if grader is not None and way is not all_graders:
                parts = {name: parts[name] for name in parts if name in {grader, trusted}}

            def of(rows: pl.DataFrame) -> Result:
                given.arguments[first] = rows
                return function(*given.args, **given.kwargs)

            result: Result = (way if trusted is None else all_graders)(parts, of)
            return result

        called.__signature__ = signature  # type: ignore[attr-defined]
        return called

    return decorated


def _check_graders(argument: str, parts: Parts, **named: str | None) -> None:
    """Raise where an argument names a grader that has no results."""
    for name, grader in named.items():
        if grader is None:
            continue
        if None in parts:
            msg = (
                f"`{argument}` must have a column {GRADER!r} to tell graders apart\n\n"
                "Hint: evaluate(..., grade={'people': 'grade_1', 'model': 'grade_2'}) makes it"
            )
            raise ValueError(msg)
        check_choice(name, grader, [str(each) for each in parts])


def split_by_grader(frame: pl.DataFrame | pl.LazyFrame, keys: Mapping[str, Any]) -> Parts:
    """Return the results of each grader, with only the queries for which it has any value.

    A column of graders that another key names does not split the results.
    """
    others = (keys.get(name) for name in ("strategy", "query", "segments"))
    if GRADER not in frame.collect_schema() or GRADER in columns_of(*others):
        return {None: frame}
    frame = frame.lazy().collect()
    query = check_column_names("query", keys.get("query", "query"))
    check_columns("per_query", query, frame.columns, argument="query")
    if frame.is_empty():
        msg = "`per_query` must have a row per grader, strategy and query, got none"
        raise ValueError(msg)
    check_graders_named(frame, "per_query")
    named = columns_of(*keys.get("measures", ()))
    values = [name for name in frame.columns if name in named or Measure.parsed(name)]
    known = pl.any_horizontal(pl.col(values).is_not_null()) if values else pl.lit(value=True)
    return {
        str(name): rows.filter(known.any().over(query)).drop(GRADER)
        for (name,), rows in frame.partition_by(GRADER, as_dict=True).items()
    }


def _stacked(parts: Mapping[Any, Any]) -> Any:
    """Return the frames of several graders as one, behind a column of graders."""
    named = [each.select(pl.lit(name).alias(GRADER), "*") for name, each in parts.items()]
    return pl.concat(named, how="vertical_relaxed")


def one_part(parts: Parts, grader: str | None = None) -> tuple[str | None, pl.DataFrame]:
    """Return the grader that is named, or the only one, and the results of it."""
    if grader is None:
        check_one_grader("per_query", [*parts], "grader={!r} takes those of one")
        grader = next(iter(parts))
    return grader, parts[grader]


def check_one_grader(argument: str, graders: Sequence[Any], hint: str) -> None:
    """Raise where a frame has the results of several graders."""
    if len(graders) > 1:
        msg = (
            f"`{argument}` must have the results of one grader, got {first_few(graders)}\n\n"
            f"Hint: {hint.format(graders[0])}"
        )
        raise ValueError(msg)


# Which columns are keys


def found_keys(schema: Mapping[str, pl.DataType], given: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of strategies and queries: as arguments name them, or else as they can be told.

    A key that no argument names is the column called so, or else those columns that could be keys,
    in the order of `evaluate`; where more could be than are looked for, they are asked for.
    """
    keys = {key: given[key] for key in KEYS if key in given}
    keys |= {key: key for key in KEYS if key not in keys and key in schema}
    sought = [key for key in KEYS if key not in keys]
    taken = {GRADER, *columns_of(*keys.values()), *columns_of(given.get("segments"))}
    taken |= columns_of(*check_list("measures", given.get("measures") or [None]))
    found = [name for name in schema if name not in taken and _may_be_a_key(name, schema[name])]
    if len(found) > len(sought) > 0:
        key = sought[-1]
        several = f", or all that tell queries apart: query={found!r}" * (key == "query")
        hint = made_by("per_query", f"{HINT} {key}= names the column{several};")
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
    if name in (JUDGMENTS, SETTINGS):
        return False
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


def columns_of_segments(segments: Columns | None) -> list[str]:
    """The columns that tell segments apart; none where there are no segments."""
    return [] if segments is None else check_column_names("segments", segments)
