"""What an argument must be: a check a kind, each with its sentence.

A wrong kind of value is a `TypeError`, a wrong value a `ValueError`; the sentence names the
argument, the rule, and what came.
"""

from __future__ import annotations

import math
import numbers
import operator
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import pairwise
from typing import Any

import polars as pl

from polars_graded._door import as_polars


def check_whole_number(name: str, value: Any, *, at_least: int = 1, at_most: int = 2**62) -> int:
    """`value` as an int within the bounds, which by default keep it what Polars can count to."""
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


def check_level(confidence: float, /) -> float:
    """The level of significance that `confidence` leaves: 0.05 of 0.95, to the digits of both."""
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
    """`value` as a finite float within the bounds."""
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
    for holds, rule in (
        (above is None or result > above, f"above {above}"),
        (below is None or result < below, f"below {below}"),
        (at_least is None or result >= at_least, f"at least {at_least}"),
        (at_most is None or result <= at_most, f"at most {at_most}"),
    ):
        if not holds:
            msg = f"`{name}` must be {rule}, got {value!r}"
            raise ValueError(msg)
    return result


def check_choice(name: str, value: Any, among: Iterable[str], *, instead: str | None = None) -> str:
    """`value`, one of the strings `among`; `instead` says what else it may be."""
    known = list(among)
    if isinstance(value, str) and value in known:
        return value
    hint = did_you_mean(value, known) if isinstance(value, str) else ""
    options = ", ".join([*map(repr, known), *([instead] if instead else [])])
    msg = f"`{name}` must be one of {options}, got {value!r}{hint}"
    raise (ValueError if isinstance(value, str) else TypeError)(msg)


def check_list(name: str, value: Any) -> list[Any]:
    """`value` as a list, of itself where it is not already several; not empty."""
    several = isinstance(value, Iterable) and not isinstance(value, str)
    result = list(value) if several else [value]
    if not result:
        msg = f"`{name}` must not be empty"
        raise ValueError(msg)
    return result


def check_flag(name: str, value: Any) -> bool:
    """`value`, True or False."""
    if not isinstance(value, bool):
        msg = f"`{name}` must be True or False, got {value!r}"
        raise TypeError(msg)
    return value


def check_increasing(name: str, value: Any, **bounds: float) -> tuple[float, ...]:
    """`value`, a sequence of at least one number within the bounds, each above the one before."""
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
    """`value`, a mapping grade → gain, as pairs by rising grade; the gains must not fall."""
    pairs = sorted(
        (check_number(name, grade), check_number(name, gain, at_least=0))
        for grade, gain in value.items()
    )
    if not pairs:
        msg = f"`{name}` must map at least one grade to its gain, got an empty mapping"
        raise ValueError(msg)
    for (lower, less), (higher, more) in pairwise(pairs):
        if more < less:
            msg = (
                f"`{name}` must not fall as the grade rises, "
                f"got {less:g} for grade {lower:g} and {more:g} for grade {higher:g}"
            )
            raise ValueError(msg)
    return tuple(pairs)


def check_column_name(name: str, value: Any) -> str:
    """`value`, which names a column."""
    if not isinstance(value, str):
        msg = f"`{name}` must be the name of a column, got {value!r}"
        raise TypeError(msg)
    _check_no_pattern(value)
    return value


def check_column_names(name: str, value: Any) -> list[str]:
    """`value`, which names a column or several, each once, as a list."""
    columns = [check_column_name(name, each) for each in check_list(name, value)]
    if len(set(columns)) < len(columns):
        msg = f"`{name}` must name each column once, got {value!r}"
        raise ValueError(msg)
    return columns


def check_column(name: str, value: Any) -> pl.Expr:
    """`value`, the name of a column or an expression, as an expression."""
    if isinstance(value, pl.Expr):
        return value
    if not isinstance(value, str):
        msg = f"`{name}` must be a column name or an expression, got {value!r}"
        raise TypeError(msg)
    return pl.col(check_column_name(name, value))


def _check_no_pattern(column: str) -> None:
    """Raise where Polars takes the name of a column for many columns, or for none."""
    if not column or column == "*" or (column.startswith("^") and column.endswith("$")):
        msg = (
            f"a column must have a name that Polars takes for no pattern, got {column!r}\n\n"
            "Hint: rename the column"
        )
        raise ValueError(msg)


READERS = {
    "run": "read_run(path)",
    "judgments": "read_qrels(path)",
    "frame": "judge(read_run(path), read_qrels(path)) or read_letor(path)",
}
"""What reads the files that are mostly meant where a path stands in the place of a frame."""

MAKERS = {
    "per_query": "evaluate(frame, 'ap', ...)",
    "summary": "summarise(per_query)",
    "comparison": "compare(per_query)",
    "robustness": "trust.robustness_to_grading(frame, 'ndcg@10', ...)",
    "table": "overview(frame)",
    "curve": "trust.power_curve(per_query, ...)",
    "levels": "trust.significance_levels(per_query)",
    "stability": "trust.order_stability(per_query)",
    "rates": "trust.swap_rate(per_query)",
    "estimates": "summarise(per_query, trusted='people')",
    "bounds": "trust.unjudged_bounds(frame, 'ap', ...)",
}
"""What makes the frames that are handed on, by the name of the argument."""


HINT = "\n\nHint:"


def made_by(name: str, hint: str = "") -> str:
    """The end of an error about a frame that is not what makes it returns."""
    if name not in MAKERS:
        return hint
    return f"{hint or HINT} `{name}` is what {MAKERS[name]} returns"


def check_frame(name: str, value: Any) -> pl.DataFrame | pl.LazyFrame:
    """`value`, a frame of any kind, as one of Polars."""
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
    """`value`, a frame of any kind, as a DataFrame; what is lazy is collected."""
    return check_frame(name, value).lazy().collect()


def check_columns(
    name: str, wanted: Iterable[str], present: Iterable[str], *, argument: str | None = None
) -> None:
    """Raise where the frame `name` has not all the columns that are wanted, by an argument."""
    known = list(present)
    for column in wanted:
        if not isinstance(column, str):
            msg = f"a column of `{name}` must be named by a string, got {column!r}"
            raise TypeError(msg)
        if column not in known:
            hint = did_you_mean(column, known)
            if argument is not None:
                lacks_grades = (name, argument) == ("frame", "grade")
                joined = ", which judge(run, judgments) adds to a run" if lacks_grades else ""
                hint = f"{hint or HINT} {argument}= names the column{joined}"
            hint = made_by(name, hint)
            msg = f"`{name}` has no column {column!r}; it has {', '.join(known) or 'none'}{hint}"
            raise pl.exceptions.ColumnNotFoundError(msg)
        _check_no_pattern(column)


def check_comparable(names: Iterable[str], schema: Mapping[str, pl.DataType]) -> None:
    """Raise where a column is of objects of Python, which Polars cannot tell apart or sort."""
    for name in names:
        if schema[name] == pl.Object:
            msg = f"column {name!r} must hold values that can be compared, got Object"
            raise TypeError(msg)


def did_you_mean(value: str, known: Iterable[str]) -> str:
    """The end of an error: a hint at the known name that `value` is probably meant to be."""
    meant = nearest(value, known)
    return "" if meant is None else f"\n\nHint: did you mean {meant!r}?"


NEAR = 0.7
"""How alike names are, from 0 to 1, of which one is a slip of the other: `base` and `baseline` are
not, nor are `b` and `by`."""

NEGATIONS = {"ir", "im", "in", "un", "non", "not", "dis"}


def nearest(value: str, known: Iterable[str]) -> str | None:
    """The known name that `value` is probably meant to be, in any case of letters, if one is."""
    text = value.lower()
    names = {name.lower(): name for name in known if not _are_opposites(name.lower(), text)}
    turned = [name for name in names if sorted(name) == sorted(text)]
    close = turned or get_close_matches(text, names, n=1, cutoff=NEAR)
    return names[close[0]] if close else None


def _are_opposites(one: str, other: str) -> bool:
    """Whether one name says the contrary of the other, however alike they look."""
    short, long = sorted((one, other), key=len)
    if (short, long) == ("ascending", "descending"):
        return True
    return long.endswith(short) and long.removesuffix(short).rstrip("_") in NEGATIONS


def said(error: Exception | str) -> str:
    """What an error or a warning says in one line: with its hint, without Polars' plan."""
    sentence, *others = str(error).split("\n\n")
    return "; ".join([sentence, *(part[6:] for part in others[:1] if part.startswith("Hint: "))])


def first_few(values: Sequence[Any]) -> str:
    """The first few values, or rows of a frame, in a sentence."""
    few = values[:SHOWN]
    shown = [
        repr(*each) if isinstance(each, tuple) and len(each) == 1 else repr(each) for each in few
    ]
    return ", ".join(shown if len(values) <= SHOWN else [*shown, "..."]) or "none"


SHOWN = 3
"""How many of what is in the way an error or a warning names."""
