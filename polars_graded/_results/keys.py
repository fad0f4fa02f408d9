"""Find the key columns of results, and split results by grader."""

from __future__ import annotations

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
    hint_at_maker,
)
from polars_graded._frames.arguments import Columns as Columns  # noqa: PLC0414, a re-export
from polars_graded._frames.fingerprints import RECORDS
from polars_graded._frames.inputs import GRADER as GRADER  # noqa: PLC0414, a re-export
from polars_graded._frames.inputs import check_graders_named
from polars_graded._measuring.keywords import check_keywords, complete_signature
from polars_graded._measuring.names import Measure
from polars_graded._sentences import format_count

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

Missing: TypeAlias = Literal["error", "drop", "zero"]

KEYS = ("strategy", "query")
"""Keywords for the key columns of results, and also the default names of these columns."""

COLUMNS_OF_LONG_FORM = ("measure", "cutoff", "rank")
"""Columns of `long_form` that distinguish values of one query. They do not identify a query."""


COLUMNS_OF_MEANS = ("measure", "strategy", "mean", "ci_low")
"""Columns that show that a frame is a table of `summarise` or `compare`, not results per query."""


class Keys(TypedDict, total=False):
    """Keywords of functions that take results."""

    query: Columns
    strategy: str
    missing: Missing
    grader: str | None


def _take_keys(
    *,
    query: Columns = "query",
    strategy: str = "strategy",
    missing: Missing = "error",
    grader: str | None = None,
) -> None:
    """Declare the defaults of `Keys`."""


ResultsByGrader: TypeAlias = "dict[str | None, Any]"
"""Results of each grader, by name. If results are not split by grader, the only key is None."""


# Results of several graders


def run_each_grader(
    results_by_grader: ResultsByGrader, function: Callable[[pl.DataFrame], Any]
) -> Any:
    """Call a function for each grader, and stack the returned frames.

    If there is only one grader, return the function's result as it is.
    """
    __tracebackhide__ = True
    if len(results_by_grader) == 1:
        return function(select_grader(results_by_grader)[1])
    return _stack_graders({name: function(rows) for name, rows in results_by_grader.items()})


def run_one_grader(
    results_by_grader: ResultsByGrader, function: Callable[[pl.DataFrame], Any]
) -> Any:
    """Return the result of a function for the only grader; raise if several."""
    return function(select_grader(results_by_grader)[1])


def run_all_graders(
    results_by_grader: ResultsByGrader, function: Callable[[pl.DataFrame], Any]
) -> Any:
    """Call a function once, with the results of all graders."""
    return function(
        results_by_grader[None] if None in results_by_grader else _stack_graders(results_by_grader)
    )


def takes_results(
    combine: Callable[[ResultsByGrader, Callable[[pl.DataFrame], Any]], Any] = run_each_grader,
) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Return a decorator that checks a frame of results and finds its keys.

    Results are split by grader, and `combine` calls the decorated function:

    - `run_each_grader` calls it for each grader and stacks the returned frames;
    - `run_one_grader` calls it for the only grader, and raises an error if there are several;
    - `run_all_graders` calls it once, with the results of all graders.

    If the caller passes `trusted`, `run_all_graders` is used instead of `combine`. If the caller
    passes `grader`, the results of graders other than `grader` and `trusted` are left out, except
    if `combine` is `run_all_graders`.

    If the function has `**keys`, the caller may pass any keyword of `Keys`. The function gets all
    keywords of `Keys`, with defaults for those that the caller does not pass.
    """

    def decorate(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        signature = complete_signature(function, _take_keys)
        first = next(iter(signature.parameters))

        @wraps(function)
        def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
            __tracebackhide__ = True
            check_keywords(kwargs, signature.parameters)
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError:
                return function(*args, **kwargs)  # Python's own error names the missing argument
            frame = check_frame(first, bound.arguments[first])
            bound.arguments |= find_keys(frame, bound.arguments, function.__name__)
            bound.apply_defaults()
            grader, trusted = (bound.arguments.get(name) for name in (GRADER, "trusted"))
            results_by_grader = split_by_grader(frame, bound.arguments)
            _check_graders(first, results_by_grader, grader=grader, trusted=trusted)
            if grader is not None and combine is not run_all_graders:
                results_by_grader = {
                    name: results_by_grader[name]
                    for name in results_by_grader
                    if name in {grader, trusted}
                }

            def run(rows: pl.DataFrame) -> Result:
                __tracebackhide__ = True
                bound.arguments[first] = rows
                return function(*bound.args, **bound.kwargs)

            result: Result = (combine if trusted is None else run_all_graders)(
                results_by_grader, run
            )
            return result

        call.__signature__ = signature  # type: ignore[attr-defined]
        return call

    return decorate


def _check_graders(
    argument: str, results_by_grader: ResultsByGrader, **graders: str | None
) -> None:
    """Raise if an argument names a grader without results."""
    for name, grader in graders.items():
        if grader is None:
            continue
        if None in results_by_grader:
            msg = (
                f"`{argument}` must have a column {GRADER!r} to distinguish graders\n\n"
                "Hint: evaluate(..., grade={'people': 'grade_1', 'model': 'grade_2'}) adds it"
            )
            raise ValueError(msg)
        check_choice(name, grader, [str(each) for each in results_by_grader])


def split_by_grader(frame: pl.DataFrame | pl.LazyFrame, keys: Mapping[str, Any]) -> ResultsByGrader:
    """Return each grader's results, for the queries that this grader judged.

    A query counts as judged if any strategy has any value for it. A query in two segments counts as
    two queries. If the caller passes the column
    "grader" as strategy, query or segment, the results are not split.
    """
    others = (keys.get(name) for name in ("strategy", "query", "segments"))
    if GRADER not in frame.collect_schema() or GRADER in collect_column_names(*others):
        return {None: frame}
    frame = frame.lazy().collect()
    query = check_column_names("query", keys.get("query", "query"))
    check_columns("per_query", query, frame.columns, argument="query")
    if frame.is_empty():
        msg = "`per_query` must have a row per grader, strategy and query, got none"
        raise ValueError(msg)
    check_graders_named(frame, "per_query")
    measures = collect_column_names(*keys.get("measures", ()))
    values = [name for name in frame.columns if name in measures or Measure.parsed(name)]
    has_value = pl.any_horizontal(pl.col(values).is_not_null()) if values else pl.lit(value=True)
    # Segments may have queries of the same name.
    segments = [name for name in collect_column_names(keys.get("segments")) if name in frame]
    query_keys = [*dict.fromkeys([*query, *segments])]
    return {
        str(name): rows.filter(has_value.any().over(query_keys)).drop(GRADER)
        for (name,), rows in frame.partition_by(GRADER, as_dict=True).items()
    }


def _stack_graders(results_by_grader: Mapping[Any, Any]) -> Any:
    """Return the frames of several graders in one, with a column of graders."""
    labelled = [
        each.select(pl.lit(name).alias(GRADER), "*") for name, each in results_by_grader.items()
    ]
    return pl.concat(labelled, how="vertical_relaxed")


def select_grader(
    results_by_grader: ResultsByGrader, grader: str | None = None
) -> tuple[str | None, pl.DataFrame]:
    """Return the requested grader, or the only one, with its results."""
    if grader is None:
        check_one_grader(
            "per_query", [*results_by_grader], "grader={!r} selects the results of one grader"
        )
        grader = next(iter(results_by_grader))
    return grader, results_by_grader[grader]


def check_one_grader(argument: str, graders: Sequence[Any], hint: str) -> None:
    """Raise if a frame has the results of several graders."""
    if len(graders) > 1:
        msg = (
            f"`{argument}` must have the results of one grader, got {first_few(graders)}\n\n"
            f"Hint: {hint.format(graders[0])}"
        )
        raise ValueError(msg)


# Key columns


def find_keys(
    frame: pl.DataFrame | pl.LazyFrame, given: Mapping[str, Any], function: str = ""
) -> dict[str, Any]:
    """Return the columns of strategies and queries, passed or found.

    If the caller does not pass a key, the column named "strategy" or "query" is used, if it exists.
    Other unused columns are candidates if their name and type fit a key. Candidates are used as
    follows:

    1. If the strategy is known and the query is not passed, several columns may identify a query
       together. These columns are all candidates, and the column "query" if it exists. They are
       used if every strategy has each combination of their values once, and if the column "query"
       alone does not distinguish the rows of a strategy. A column that depends on the others, such
       as the title of a query, does no harm: the queries stay the same. If rows seem to be copies
       of each other, an error is raised.
    2. Otherwise, if one key is missing and there is one candidate, the candidate is the key.
    3. If a key is missing and there are several candidates, an error asks for the key. The order of
       columns does not show which column is meant.
    """
    schema = frame.collect_schema()
    keys = {key: given[key] for key in KEYS if key in given}
    keys |= {key: key for key in KEYS if key not in keys and key in schema}
    missing_keys = [key for key in KEYS if key not in keys]
    used = {
        GRADER,
        *collect_column_names(*keys.values()),
        *collect_column_names(given.get("segments"), given.get("weights")),
    }
    used |= collect_column_names(*check_list("measures", given.get("measures") or [None]))
    candidates = [name for name in schema if name not in used and can_be_key(name, schema[name])]
    if candidates and "query" not in given and "strategy" in keys:
        several = [name for name in schema if name in {*candidates, keys.get("query")}]
        if len(several) > 1 and _is_full_grid(frame, several, {**given, **keys}):
            return keys | {"query": several}
    if "query" in missing_keys and {*COLUMNS_OF_MEANS} <= {*schema}:
        msg = (
            "`per_query` must have one row per strategy and query, got a table of means"
            f"{hint_at_maker('per_query')}"
        )
        raise ValueError(msg)
    if missing_keys and len(candidates) > 1:
        hint = hint_at_maker("per_query", f"{HINT} {_write_call(function, missing_keys)}")
        msg = (
            f"{' and '.join(f'`{key}`' for key in missing_keys)} must be passed if there is no "
            f"column {' or '.join(map(repr, missing_keys))} and several columns are possible, "
            f"got {', '.join(candidates)}{hint}"
        )
        raise ValueError(msg)
    if len(candidates) == len(missing_keys) == 1:
        keys[missing_keys[0]] = candidates[0]
    return dict(zip(KEYS, KEYS, strict=True)) | keys


def _write_call(function: str, missing_keys: Sequence[str]) -> str:
    """Return a call that passes the missing keys, for a hint.

    If both keys are missing, the call contains no columns, since it is unknown which is which.
    """
    if len(missing_keys) > 1:
        return f"{function}(..., strategy=..., query=...) names one column for each"
    if missing_keys == ["strategy"]:
        return f"{function}(..., strategy=...) names the column of strategies"
    return f"{function}(..., query=[...]) names the columns that identify a query"


def _is_full_grid(
    frame: pl.DataFrame | pl.LazyFrame, several: Sequence[str], keys: Mapping[str, Any]
) -> bool:
    """Return whether each strategy has each combination of values once.

    The values are those of the columns `several` and of segments. If there is a column of graders,
    each strategy of each grader must have each combination once. If the column "query" alone
    distinguishes the rows of a strategy, return False: the other columns are not needed. Raise if
    rows of a full grid seem to be copies.
    """
    schema = frame.collect_schema()
    segments = {name for name in collect_column_names(keys.get("segments")) if name in schema}
    others = (*collect_column_names(keys.get("strategy"), keys.get("query")), *segments)
    strategies = [
        keys["strategy"],
        *([GRADER] if GRADER in schema and GRADER not in others else []),
    ]
    queries = [*dict.fromkeys([*several, *segments])]
    columns = [*dict.fromkeys([*strategies, *queries])]
    unusable = [name for name in columns if schema.get(name) is None or _is_nested(schema[name])]
    measures = collect_column_names(*check_list("measures", keys.get("measures") or [None]))
    values = [
        name
        for name, dtype in schema.items()
        if name not in columns
        and not _is_nested(dtype)
        and (name in measures or Measure.parsed(name))
    ]
    # Polars would read "*" and names with "^" at the start as patterns of several columns.
    are_patterns = any(name == "*" or str(name).startswith("^") for name in (*columns, *values))
    if unusable or are_patterns or keys.get("query") in segments:
        return False
    all_rows = frame.lazy().select(*columns, *values).collect()
    rows = all_rows.select(columns)
    if "query" in keys:
        alone = [name for name in columns if name not in several or name == keys["query"]]
        if rows.select(alone).n_unique() == rows.height:
            return False
    # The rows form a full grid if they are distinct and their number is strategies times queries.
    sides = (rows.select(each).n_unique() for each in (strategies, queries))
    if not rows.n_unique() == rows.height == math.prod(sides):
        return False
    if values:
        _check_no_copies(all_rows, strategies, several, values)
    return True


def _check_no_copies(
    rows: pl.DataFrame, strategies: Sequence[str], several: Sequence[str], values: Sequence[str]
) -> None:
    """Raise if rows seem to be copies that a join has made.

    For example, a join with a table of several tags per query repeats each row, once per tag. The
    column of tags would then become a part of the query, and each query would count several times.
    The copies of a row differ in their tags, but have the same values.
    """
    for name in several:
        n = rows.select(*strategies, name).n_unique()
        if n == rows.height or rows.select(*strategies, name, *values).n_unique() > n:
            continue
        others = [each for each in several if each != name]
        msg = (
            f"`per_query` must have each {name!r} of a strategy once, got "
            f"{format_count(rows.height - n, 'rows')} too many, which have the same values and "
            f"differ only in {first_few(others)}\n\n"
            f"Hint: .unique({[*strategies, name]!r}) keeps one row of each, for example after a "
            f"join; query={[*several]!r} counts each combination as a query"
        )
        raise ValueError(msg)


def can_be_key(name: str, dtype: pl.DataType) -> bool:
    """Return whether a column may be a key, by its name and type."""
    if name in RECORDS or name in COLUMNS_OF_LONG_FORM:
        return False
    holds_values = dtype.is_float() or dtype.is_decimal() or _is_nested(dtype)
    return not holds_values and dtype != pl.Boolean and Measure.parsed(name) is None


def _is_nested(dtype: pl.DataType) -> bool:
    """Return whether a column's values are nested or objects."""
    return dtype.is_nested() or dtype == pl.Object


def collect_column_names(*given: Any) -> set[str]:
    """Return all column names from single names, lists and mappings."""
    columns = set[str]()
    for value in given:
        if isinstance(value, str):
            columns.add(value)
        elif isinstance(value, Iterable):
            columns |= {name for name in value if isinstance(name, str)}
    return columns


def check_segment_columns(segments: Columns | None) -> list[str]:
    """Return the list of the columns of segments, empty without segments."""
    return [] if segments is None else check_column_names("segments", segments)
