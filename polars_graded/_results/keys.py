"""Key columns of results: which columns identify a query, a strategy and a segment."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from polars_graded._checks import HINT, check_column_names, check_list, first_few, hint_at_maker
from polars_graded._frames.arguments import Columns
from polars_graded._frames.inputs import GRADER
from polars_graded._frames.request import RECORDS
from polars_graded._measuring.names import Measure
from polars_graded._sentences import format_count

KEYS = ("strategy", "query")
"""Keywords for the key columns of results, and also the default names of these columns."""

COLUMNS_OF_LONG_FORM = ("measure", "cutoff", "rank")
"""Columns of `long_form` that distinguish values of one query. They do not identify a query."""


COLUMNS_OF_MEANS = ("measure", "strategy", "mean", "ci_low")
"""Columns that show that a frame is a table of `summarise` or `compare`, not results per query."""


@dataclass(frozen=True)
class Keys:
    """The key columns of results, and the columns that state something about each query."""

    query: Columns = "query"
    strategy: str = "strategy"
    segments: Sequence[str] = ()
    cluster: Columns | None = None
    """The columns of clusters of queries, which may also be key columns."""
    weights: str | None = None

    @property
    def queries(self) -> list[str]:
        """Return the columns that identify a query."""
        return check_column_names("query", self.query)

    @property
    def one(self) -> pl.Expr:
        """Return the query as one column: a struct if several columns identify it."""
        first, *others = self.queries
        return pl.struct(first, *others).alias(", ".join(self.queries)) if others else pl.col(first)

    @property
    def identity(self) -> list[str]:
        """Return the distinct columns that identify a query in a segment."""
        return [*dict.fromkeys([*self.queries, *self.segments])]


def find_keys(
    frame: pl.DataFrame | pl.LazyFrame,
    measures: Sequence[Any] = (),
    *,
    query: Columns | None = None,
    strategy: str | None = None,
    segments: Columns | None = None,
    weights: str | None = None,
) -> tuple[Columns, str]:
    """Return the columns of queries and of strategies, passed or found.

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
    given = {"strategy": strategy, "query": query}
    keys: dict[str, Any] = {key: column for key, column in given.items() if column is not None}
    keys |= {key: key for key in KEYS if key not in keys and key in schema}
    missing_keys = [key for key in KEYS if key not in keys]
    columns = collect_column_names(*check_list("measures", measures or [None]))
    used = {GRADER, *columns, *collect_column_names(*keys.values(), segments, weights)}
    candidates = [name for name in schema if name not in used and can_be_key(name, schema[name])]
    if candidates and query is None and "strategy" in keys:
        several = [name for name in schema if name in {*candidates, keys.get("query")}]
        if len(several) > 1 and _is_full_grid(frame, several, keys, segments, columns):
            return several, keys["strategy"]
    if "query" in missing_keys and {*COLUMNS_OF_MEANS} <= {*schema}:
        msg = (
            "`per_query` must have one row per strategy and query, got a table of means"
            f"{hint_at_maker('per_query')}"
        )
        raise ValueError(msg)
    if missing_keys and len(candidates) > 1:
        hint = hint_at_maker("per_query", f"{HINT} {_write_keywords(missing_keys)}")
        msg = (
            f"{' and '.join(f'`{key}`' for key in missing_keys)} must be passed if there is no "
            f"column {' or '.join(map(repr, missing_keys))} and several columns are possible, "
            f"got {', '.join(candidates)}{hint}"
        )
        raise ValueError(msg)
    if len(candidates) == len(missing_keys) == 1:
        keys[missing_keys[0]] = candidates[0]
    return keys.get("query", "query"), keys.get("strategy", "strategy")


def _write_keywords(missing_keys: Sequence[str]) -> str:
    """Return the keywords of the missing keys, for a hint.

    If both keys are missing, they contain no columns, since it is unknown which is which.
    """
    if len(missing_keys) > 1:
        return "strategy=..., query=... name one column for each"
    if missing_keys == ["strategy"]:
        return "strategy=... names the column of strategies"
    return "query=[...] names the columns that identify a query"


def _is_full_grid(
    frame: pl.DataFrame | pl.LazyFrame,
    several: Sequence[str],
    keys: Mapping[str, Any],
    segments: Columns | None,
    measures: Collection[str],
) -> bool:
    """Return whether each strategy has each combination of values once.

    The values are those of the columns `several` and of segments. If there is a column of graders,
    each strategy of each grader must have each combination once. If the column "query" alone
    distinguishes the rows of a strategy, return False: the other columns are not needed. Raise if
    rows of a full grid seem to be copies.
    """
    schema = frame.collect_schema()
    parts = {name for name in collect_column_names(segments) if name in schema}
    others = (*collect_column_names(*keys.values()), *parts)
    strategies = [
        keys["strategy"],
        *([GRADER] if GRADER in schema and GRADER not in others else []),
    ]
    queries = [*dict.fromkeys([*several, *parts])]
    columns = [*dict.fromkeys([*strategies, *queries])]
    unusable = [name for name in columns if schema.get(name) is None or _is_nested(schema[name])]
    values = [
        name
        for name, dtype in schema.items()
        if name not in columns
        and not _is_nested(dtype)
        and (name in measures or Measure.parsed(name))
    ]
    # Polars would read "*" and names with "^" at the start as patterns of several columns.
    are_patterns = any(name == "*" or str(name).startswith("^") for name in (*columns, *values))
    if unusable or are_patterns or keys.get("query") in parts:
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
