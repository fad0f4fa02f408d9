"""Which columns of a frame of results tell its rows apart: one rule for all that takes results."""

from __future__ import annotations

import inspect
import math
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
from polars_graded._measuring.keywords import check_keywords
from polars_graded._measuring.names import Measure

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
    grader: str | None


def _options(
    *,
    query: Columns = "query",
    strategy: str = "strategy",
    missing: Missing = "error",
    grader: str | None = None,
) -> None:
    """The same as a signature, which help and completion show."""


def takes_results(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """The same function of results, which takes a frame of any kind and finds its key columns.

    Its `**options`, if it has them, are `ResultOptions`. It sees the results of one grader at a
    time: of the one that `grader` names, or of each, and its frames stand one below the other then,
    behind a column "grader". Where `trusted` names one, it sees them all.
    """
    return _taking_results(function, "each")


def takes_results_of_one(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """As `takes_results`, for a function that shows the results of one grader."""
    return _taking_results(function, "one")


def compares_graders(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """As `takes_results`, for a function that sees the results of several graders together.

    If it takes a `grader` itself, it sees all of them whichever that names.
    """
    return _taking_results(function, "together")


def _taking_results(
    function: Callable[Given, Result], graders: Literal["each", "one", "together"]
) -> Callable[Given, Result]:
    signature = inspect.signature(function)
    further = {**inspect.signature(_options).parameters}
    says_whose = GRADER in signature.parameters
    own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
    if len(own) == len(signature.parameters):
        further = {} if says_whose else {GRADER: further[GRADER]}
    signature = signature.replace(parameters=[*own, *further.values()])
    first = next(iter(signature.parameters))

    @wraps(function)
    def called(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        check_keywords(kwargs, signature.parameters)
        try:
            given = signature.bind(*args, **kwargs)
        except TypeError:
            return function(*args, **kwargs)  # which says what is wrong
        name, trusted = given.arguments.pop(GRADER, None), given.arguments.get("trusted")
        frame = given.arguments[first] = check_frame(first, given.arguments[first])
        given.arguments |= find_keys(frame, given.arguments, function.__name__)

        def of(rows: Any) -> Result:
            given.arguments[first] = rows
            return function(*given.args, **given.kwargs)

        if not has_graders(frame.collect_schema(), given.arguments):
            if name is None and trusted is None:
                return of(frame)
            msg = (
                f"`{first}` must have a column {GRADER!r} to tell graders apart\n\n"
                "Hint: evaluate(..., grade={'people': 'grade_1', 'model': 'grade_2'}) makes it"
            )
            raise ValueError(msg)
        parts = by_grader(frame, given.arguments)
        for argument, each in ((GRADER, name), ("trusted", trusted)):
            if each is not None:
                check_choice(argument, each, parts)
        if says_whose:
            given.arguments[GRADER] = name
            return of(frame)
        if name is not None:
            parts = {each: parts[each] for each in parts if each in {name, trusted}}
        if trusted is not None or (graders == "together" and len(parts) > 1):
            return of(_below_each_other(parts))
        if len(parts) == 1 or graders == "one":
            return of(of_one_grader(parts, name)[1])
        below: Result = _below_each_other({name: of(rows) for name, rows in parts.items()})
        return below

    called.__signature__ = signature  # type: ignore[attr-defined]
    return called


def has_graders(schema: Mapping[str, pl.DataType], keys: Mapping[str, Any]) -> bool:
    """Whether the results of several graders stand in a frame, in a column that is no other key."""
    others = (keys.get(name) for name in ("strategy", "query", "segments"))
    return GRADER in schema and GRADER not in columns_of(*others)


def by_grader(
    per_query: pl.DataFrame | pl.LazyFrame, keys: Mapping[str, Any]
) -> dict[str, pl.DataFrame]:
    """The results of each grader, of the queries for which there is any value of it."""
    frame = per_query.lazy().collect()
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


def _below_each_other(results: Mapping[str, Any]) -> Any:
    """The frames of several graders as one, behind a column that says whose they are."""
    named = [each.select(pl.lit(name).alias(GRADER), "*") for name, each in results.items()]
    return pl.concat(named, how="vertical_relaxed")


def of_one_grader(
    parts: Mapping[str, pl.DataFrame], grader: str | None
) -> tuple[str, pl.DataFrame]:
    """Whose results are shown, of the grader that is named or the only one; and these."""
    if grader is None and len(parts) > 1:
        msg = (
            f"`per_query` must have the results of one grader here, got {first_few([*parts])}\n\n"
            f"Hint: grader={next(iter(parts))!r} takes those of one"
        )
        raise ValueError(msg)
    name = next(iter(parts)) if grader is None else grader
    return name, parts[name]


def find_keys(
    frame: pl.DataFrame | pl.LazyFrame, given: Mapping[str, Any], function: str = ""
) -> dict[str, Any]:
    """Return the columns of strategies and queries: as passed, or else as the frame shows them.

    A key that is not passed is the column of its name, or else the only column that may be it.
    Several columns that may be the query are the query together where that is proven: every
    strategy has the same combinations of their values, each once. Any other reading of such a
    frame, one of them alone for example, pairs the same rows. Anything else is asked for.
    """
    schema = frame.collect_schema()
    keys = {key: given[key] for key in KEYS if key in given}
    keys |= {key: key for key in KEYS if key not in keys and key in schema}
    sought = [key for key in KEYS if key not in keys]
    taken = {GRADER, *columns_of(*keys.values()), *columns_of(given.get("segments"))}
    taken |= columns_of(*check_list("measures", given.get("measures") or [None]))
    found = [name for name in schema if name not in taken and _may_be_a_key(name, schema[name])]
    if found and "query" not in given and "strategy" in keys:
        several = [name for name in schema if name in {*found, keys.get("query")}]
        if len(several) > 1 and _are_the_query(frame, several, {**given, **keys}):
            return keys | {"query": several}
    if len(found) > len(sought) > 0:
        key = sought[-1]
        hint = made_by("per_query", f"{HINT} {_whole_call(function, sought, found)};")
        msg = (
            f"`{key}` must be named where there is no column {key!r} and several could be meant, "
            f"got {', '.join(found)}{hint}"
        )
        raise ValueError(msg)
    if len(found) == len(sought):
        keys |= zip(sought, found, strict=True)
    return dict(zip(KEYS, KEYS, strict=True)) | keys


def _whole_call(function: str, sought: Sequence[str], found: Sequence[str]) -> str:
    """Return a call that names the keys, in the order in which `evaluate` writes them."""
    first, queries = ("", found) if len(sought) == 1 else (f"strategy={found[0]!r}, ", found[1:])
    if sought == ["strategy"]:
        return f"{function}(..., strategy={found[0]!r}) names the column"
    several = "all that tell queries apart, or one of them"
    named = repr(queries[0]) if len(queries) == 1 else repr([*queries])
    return f"{function}(..., {first}query={named}) names {several}"


def _are_the_query(
    frame: pl.DataFrame | pl.LazyFrame, several: Sequence[str], keys: Mapping[str, Any]
) -> bool:
    """Return whether each strategy has each combination of some columns once.

    Not so where a column "query" tells the rows of a strategy apart already.
    """
    schema = frame.collect_schema()
    segments = {name for name in columns_of(keys.get("segments")) if name in schema}
    strategies = [keys["strategy"], *([GRADER] if has_graders(schema, keys) else [])]
    queries = [*dict.fromkeys([*several, *segments])]
    columns = [*dict.fromkeys([*strategies, *queries])]
    no_keys = [name for name in columns if schema.get(name) is None or _holds_several(schema[name])]
    are_patterns = any(name == "*" or name.startswith("^") for name in columns)  # to Polars
    if no_keys or are_patterns or keys.get("query") in segments:
        return False
    rows = frame.lazy().select(columns).collect()
    if "query" in keys:
        alone = [name for name in columns if name not in several or name == keys["query"]]
        if rows.select(alone).n_unique() == rows.height:
            return False
    sides = (rows.select(each).n_unique() for each in (strategies, queries))
    return rows.n_unique() == rows.height == math.prod(sides)


def _may_be_a_key(name: str, dtype: pl.DataType) -> bool:
    """Whether it is no measure, by its name and what it holds."""
    if name in (JUDGMENTS, SETTINGS):
        return False
    holds_values = dtype.is_float() or dtype.is_decimal() or _holds_several(dtype)
    return not holds_values and dtype != pl.Boolean and Measure.parsed(name) is None


def _holds_several(dtype: pl.DataType) -> bool:
    """Return whether the values of a column are no single ones that can be compared."""
    return dtype.is_nested() or dtype == pl.Object


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
