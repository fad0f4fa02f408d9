"""Checks of arguments, one function per kind of argument, and the texts of their errors.

A value of the wrong type raises `TypeError`. A wrong value of the right type raises `ValueError`.
A missing column raises Polars' `ColumnNotFoundError`. Most messages name the argument, the rule,
and the value.
"""

from __future__ import annotations

import math
import numbers
import operator
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import pairwise
from typing import Any

import polars as pl

from polars_graded._door import as_polars

TEXT_TYPES = (pl.String, pl.Categorical, pl.Enum)
"""Data types of columns of text."""


def check_whole_number(name: str, value: Any, *, at_least: int = 1, at_most: int = 2**62) -> int:
    """Return `value` as an int within the bounds, by default from 1 to 2^62.

    Polars can hold any number within the default bounds as Int64.
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        msg = f"`{name}` must be a whole number, got {value!r}"
        raise TypeError(msg)
    if number < at_least:
        msg = f"`{name}` must be at least {at_least}, got {number}"
        raise ValueError(msg)
    if number > at_most:
        msg = f"`{name}` must be at most {at_most}, got {number}"
        raise ValueError(msg)
    return number


def check_confidence(confidence: float, /) -> float:
    """Return the error rate of `confidence`, such as 0.05 for 0.95."""
    return round(1 - check_number("confidence", confidence, above=0, below=1), 15)


def check_number(
    name: str,
    value: Any,
    /,
    *,
    above: float | None = None,
    below: float | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
) -> float:
    """Return `value` as a finite float within the bounds."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        msg = f"`{name}` must be a number, got {value!r}"
        raise TypeError(msg)
    try:
        result = float(value)
    except OverflowError:
        result = math.inf
    if not math.isfinite(result):
        msg = f"`{name}` must be finite, got {result}"
        raise ValueError(msg)
    if isinstance(value, int) and int(result) != value:
        msg = f"`{name}` must be a number that a double can hold, got {value}"
        raise ValueError(msg)
    for is_met, rule in (
        (above is None or result > above, f"above {above}"),
        (below is None or result < below, f"below {below}"),
        (at_least is None or result >= at_least, f"at least {at_least}"),
        (at_most is None or result <= at_most, f"at most {at_most}"),
    ):
        if not is_met:
            msg = f"`{name}` must be {rule}, got {value!r}"
            raise ValueError(msg)
    return result


def check_choice(name: str, value: Any, among: Iterable[str], *, instead: str | None = None) -> str:
    """Return `value`, one of the strings in `among`.

    `instead` describes other values that are allowed.
    """
    names = list(among)
    if isinstance(value, str) and value in names:
        return value
    hint = did_you_mean(value, names) if isinstance(value, str) else ""
    options = ", ".join([*map(repr, names), *([instead] if instead else [])])
    msg = f"`{name}` must be one of {options}, got {value!r}{hint}"
    raise (ValueError if isinstance(value, str) else TypeError)(msg)


def check_list(name: str, value: Any) -> list[Any]:
    """Return `value` as a list; raise if the list is empty.

    A single value, such as a string, becomes a list of one item.
    """
    is_iterable = isinstance(value, Iterable) and not isinstance(value, str)
    result = list(value) if is_iterable else [value]
    if not result:
        msg = f"`{name}` must not be empty"
        raise ValueError(msg)
    return result


def check_flag(name: str, value: Any) -> bool:
    """Return `value`, which must be True or False."""
    if not isinstance(value, bool):
        msg = f"`{name}` must be True or False, got {value!r}"
        raise TypeError(msg)
    return value


def check_increasing(name: str, value: Any, **bounds: float) -> tuple[float, ...]:
    """Return `value` as a tuple of increasing numbers within the bounds."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        msg = f"`{name}` must be a sequence of numbers, got {value!r}"
        raise TypeError(msg)
    result = tuple(check_number(name, item, **bounds) for item in value)
    if not result:
        msg = f"`{name}` must not be empty"
        raise ValueError(msg)
    for before, after in pairwise(result):
        if after <= before:
            msg = f"`{name}` must increase, got {after:g} after {before:g}"
            raise ValueError(msg)
    return result


def check_grade_gains(name: str, value: Mapping[Any, Any]) -> tuple[tuple[float, float], ...]:
    """Return the pairs (grade, gain) of a mapping, sorted by grade.

    A gain must be at least 0, and a higher grade must not have a lower gain.
    """
    pairs = sorted(
        (check_number(name, grade), check_number(name, gain, at_least=0))
        for grade, gain in value.items()
    )
    if not pairs:
        msg = f"`{name}` must map at least one grade to its gain, got an empty mapping"
        raise ValueError(msg)
    for (lower_grade, lower_gain), (higher_grade, higher_gain) in pairwise(pairs):
        if higher_gain < lower_gain:
            msg = (
                f"`{name}` must not fall as the grade rises, "
                f"got {lower_gain:g} for grade {lower_grade:g} "
                f"and {higher_gain:g} for grade {higher_grade:g}"
            )
            raise ValueError(msg)
    return tuple(pairs)


def check_column_name(name: str, value: Any) -> str:
    """Return `value`, which must be the name of a column."""
    check_not_series(name, value)
    if not isinstance(value, str):
        msg = f"`{name}` must be the name of a column, got {value!r}"
        raise TypeError(msg)
    _check_no_pattern(value)
    return value


def check_column_names(name: str, value: Any) -> list[str]:
    """Return the column names in `value`, which must be distinct, as a list."""
    check_not_series(name, value)
    columns = [check_column_name(name, each) for each in check_list(name, value)]
    if len(set(columns)) < len(columns):
        msg = f"`{name}` must name each column once, got {value!r}"
        raise ValueError(msg)
    return columns


def pack_query(
    argument: str, frames: Any, columns: Sequence[str], query: str, kept: Collection[str] = ()
) -> Any:
    """Return a frame, or frames by name, with the columns of a query as one column of structs.

    The column `query` is null if one of its parts is null. `.unnest(query)` restores the parts. The
    columns in `kept` are also kept as they are.
    """
    if isinstance(frames, Mapping):
        return {name: pack_query(argument, frame, columns, query) for name, frame in frames.items()}
    frame = check_frame(argument, frames)
    check_columns(argument, columns, frame.collect_schema().names(), argument="query")
    is_known = pl.all_horizontal(pl.col(*columns).is_not_null())
    packed = pl.when(is_known).then(pl.struct(*columns)).alias(query)
    return frame.select(packed, pl.exclude([name for name in columns if name not in kept]))


def check_not_series(name: str, value: Any) -> None:
    """Raise if a column is passed as a Series."""
    if isinstance(value, pl.Series) or type(value).__name__ == "Series":
        column = getattr(value, "name", None) or "..."
        msg = f"`{name}` must name a column of the frame, got a Series\n\nHint: {name}={column!r}"
        raise TypeError(msg)


def check_column(name: str, value: Any) -> pl.Expr:
    """Return a column name or an expression as an expression."""
    if isinstance(value, pl.Expr):
        return value
    if not isinstance(value, str):
        msg = f"`{name}` must be a column name or an expression, got {value!r}"
        raise TypeError(msg)
    return pl.col(check_column_name(name, value))


def _check_no_pattern(column: str) -> None:
    """Raise if a column's name is empty, or is a Polars pattern such as `*`."""
    if not column or column == "*" or (column.startswith("^") and column.endswith("$")):
        msg = (
            f"a column must have a name that is not a pattern in Polars, got {column!r}\n\n"
            "Hint: rename the column"
        )
        raise ValueError(msg)


READERS = {
    "run": "read_run(path)",
    "judgments": "read_qrels(path)",
    "frame": "join_judgments(read_run(path), read_qrels(path)) or read_letor(path)",
}
"""Calls that read a frame from a file. Each key is the argument that takes this frame."""

MAKERS = {
    "per_query": "evaluate(frame, 'ap', ...)",
    "summary": "summarise(per_query)",
    "comparison": "compare(per_query)",
    "table": "overview(frame)",
    "curve": "trust.power_curve(per_query, ...)",
    "stability": "trust.order_stability(per_query)",
    "estimates": "trust.prediction_powered_means(per_query, trusted='people')",
    "clicks": "clicks.count_clicks(log)",
    "bounds": "trust.unjudged_bounds(frame, 'ap', ...)",
}
"""Calls that make a frame. Each key is the argument that takes this frame."""


HINT = "\n\nHint:"


def hint_at_maker(name: str, hint: str = "") -> str:
    """Append to `hint` the call that makes the frame `name`.

    If `MAKERS` has no such call, return `hint` unchanged.
    """
    if name not in MAKERS:
        return hint
    separator = "" if hint in ("", HINT) or hint.endswith("?") else ";"
    return f"{hint or HINT}{separator} `{name}` is what {MAKERS[name]} returns"


def check_frame(name: str, value: Any) -> pl.DataFrame | pl.LazyFrame:
    """Return a frame of any kind as a Polars frame."""
    frame = as_polars(name, value)
    if frame is None:
        kind, hint = type(value), ""
        package = kind.__module__.partition(".")[0]
        got = kind.__name__ if package == "builtins" else f"{kind.__name__} of {package}"
        texts = value if isinstance(value, list) and value else [value]
        if all(isinstance(each, str | os.PathLike) for each in texts):
            reader = READERS.get(
                name.partition("[")[0], "pl.read_parquet(path) or pl.read_csv(path)"
            )
            hint = f"\n\nHint: {reader} reads a file"
        elif isinstance(value, dict | list | Iterator):
            hint = "\n\nHint: pl.DataFrame(...) makes a frame of columns or of rows"
        msg = (
            f"`{name}` must be a data frame (of Polars, pandas, pyarrow, DuckDB or another that "
            f"narwhals knows), got {got}{hint}"
        )
        raise TypeError(msg)
    return frame


def check_collected(name: str, value: Any) -> pl.DataFrame:
    """Return a frame of any kind as a DataFrame; collect a lazy frame."""
    return check_frame(name, value).lazy().collect()


def check_columns(
    name: str, wanted: Iterable[str], present: Iterable[str], *, argument: str | None = None
) -> None:
    """Raise if the frame `name` lacks one of the `wanted` columns.

    The hint mentions `argument`, the keyword that lets the caller name another column.
    """
    names = list(present)
    for column in wanted:
        if not isinstance(column, str):
            msg = f"a column of `{name}` must be named by a string, got {column!r}"
            raise TypeError(msg)
        if column not in names:
            raise pl.exceptions.ColumnNotFoundError(
                describe_missing_column(name, column, names, argument)
            )
        _check_no_pattern(column)


def describe_missing_column(
    name: str, column: str, present: Collection[str], argument: str | None
) -> str:
    """Return the message that the frame `name` has no such column."""
    hint = did_you_mean(column, present)
    if argument is not None:
        lacks_grades = (name, argument) == ("frame", "grade")
        joined = ", which join_judgments(run, judgments) adds to a run" if lacks_grades else ""
        if argument == "ties":
            joined = ", or is 'order', 'trec_eval' or 'pytrec_eval'"
        hint = f"{hint or HINT} {argument}= names the column{joined}"
    hint = hint_at_maker(name, hint)
    return f"`{name}` has no column {column!r}; it has {', '.join(present) or 'none'}{hint}"


def check_comparable(names: Iterable[str], schema: Mapping[str, pl.DataType]) -> None:
    """Raise if a column holds Python objects, which Polars cannot sort."""
    for name in names:
        if schema[name] == pl.Object:
            msg = f"column {name!r} must hold values that can be compared, got Object"
            raise TypeError(msg)


def did_you_mean(value: str, names: Iterable[str]) -> str:
    """Return a hint with the name that `value` probably means, or ""."""
    suggestion = nearest(value, names)
    return "" if suggestion is None else f"\n\nHint: did you mean {suggestion!r}?"


MIN_SIMILARITY = 0.7
"""Minimum similarity, from 0 to 1, of a name and a misspelling of this name. It is high enough that
`baseline` is not suggested for `base`, nor `by` for `b`."""

NEGATIONS = {"ir", "im", "in", "un", "non", "not", "dis"}


def nearest(value: str, names: Iterable[str]) -> str | None:
    """Return the name that `value` probably means, or None."""
    text = value.lower()
    by_lower = {name.lower(): name for name in names if not _are_opposites(name.lower(), text)}
    anagrams = [name for name in by_lower if sorted(name) == sorted(text)]
    close = anagrams or get_close_matches(text, by_lower, n=1, cutoff=MIN_SIMILARITY)
    return by_lower[close[0]] if close else None


def _are_opposites(one: str, other: str) -> bool:
    """Return whether two names are opposites, as `judged` and `unjudged`."""
    short, long = sorted((one, other), key=len)
    if (short, long) == ("ascending", "descending"):
        return True
    return long.endswith(short) and long.removesuffix(short).rstrip("_") in NEGATIONS


def format_on_one_line(error: Exception | str) -> str:
    """Return an error's message and hint on one line, without Polars' query plan."""
    sentence, *others = str(error).split("\n\n")
    return "; ".join([sentence, *(part[6:] for part in others[:1] if part.startswith("Hint: "))])


def first_few(values: Sequence[Any]) -> str:
    """Return text that lists the first few values, or "none"."""
    first = values[:MAX_SHOWN_VALUES]
    shown = [
        repr(*each) if isinstance(each, tuple) and len(each) == 1 else repr(each) for each in first
    ]
    return ", ".join(shown if len(values) <= MAX_SHOWN_VALUES else [*shown, "..."]) or "none"


MAX_SHOWN_VALUES = 3
"""Maximum number of values that an error or a warning lists."""
