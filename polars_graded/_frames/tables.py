"""Tables of runs and of judgments with one row per document, and checks of their keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from polars_graded._checks import TEXT_TYPES, check_columns, check_frame, first_few
from polars_graded._measuring.column_checks import check_grade

Frame: TypeAlias = pl.DataFrame | pl.LazyFrame

GRADER = "grader"
"""Name of the column of graders, in judgments and in results."""

SUBTOPICS = "subtopics"
"""Name of the column of subtopics in joined judgments."""

COLLECTIONS = (list, tuple, set, frozenset, Mapping, np.ndarray)
"""Types of the documents of a query in a mapping; they may also be a Series."""


def build_run_table(
    run: Any, query: str, doc: str, strategy: str | None
) -> tuple[Frame, str | None, list[Any]]:
    """Return the retrieved documents in one frame, lazy if any input is lazy.

    The second result is the column of strategies, or None for one run if no column was passed. The
    third has the names in a mapping of strategies, some of which may have no rows.
    """
    names_runs = isinstance(run, Mapping) and not maps_queries(run, default=strategy is None)
    if not names_runs or not run:
        table = build_table("run", run, query, doc, "score", strategy, is_run=True)
        return table, strategy, []
    strategy = "strategy" if strategy is None else strategy
    parts, is_lazy = [], False
    for name, run_of_strategy in run.items():
        table = build_table(f"run[{name!r}]", run_of_strategy, query, doc, "score", is_run=True)
        is_lazy |= isinstance(table, pl.LazyFrame)
        if isinstance(table, pl.DataFrame) and table.is_empty():
            # Columns without values must not decide the types of the stacked columns.
            table = pl.DataFrame(schema=dict.fromkeys(table.columns, pl.Null))
        rows = table.lazy().drop(strategy, strict=False)
        parts.append(rows.select(pl.lit(name).alias(strategy), "*"))
    for name in (query, doc):
        dtypes = {part.collect_schema().get(name, pl.String()) for part in parts}
        if len(dtypes) > 1 and all(dtype in TEXT_TYPES for dtype in dtypes):
            # Two Enum columns with other categories have no common type but String.
            parts = [part.with_columns(pl.col(name).cast(pl.String)) for part in parts]
    stacked = pl.concat(parts, how="diagonal_relaxed")
    return stacked if is_lazy else stacked.collect(), strategy, [*run]


def build_judgment_table(
    judgments: Any, query: str, doc: str, grade: str
) -> tuple[Frame, list[str]]:
    """Return the judged documents, and the columns of grades, one per grader."""
    if not isinstance(judgments, Mapping) or maps_queries(judgments):
        table = build_table("judgments", judgments, query, doc, grade, is_run=False)
        if not {GRADER, grade} <= {*table.collect_schema()}:
            return table, [grade]
        check_judgment_columns("judgments", table.collect_schema(), query, doc, grade)
        rows = table.lazy().collect()
    else:
        tables = []
        for grader, each in judgments.items():
            name = f"judgments[{grader!r}]"
            table = build_table(name, each, query, doc, grade, is_run=False)
            check_judgment_columns(name, table.collect_schema(), query, doc, grade)
            columns = query, doc, grade, pl.lit(str(grader)).alias(GRADER)
            tables.append(table.lazy().select(columns))
        rows = pl.concat(tables, how="vertical_relaxed").collect()
    check_graders_named(rows)
    check_key_columns(rows, "judgments", [query, doc, GRADER])
    rows = rows.with_columns(pl.col(GRADER).cast(pl.String))
    for column in (query, doc):
        if column in rows[GRADER]:
            msg = f"no grader of `judgments` may have the name of a column, got {column!r}"
            raise ValueError(msg)
    wide = rows.pivot(GRADER, index=[query, doc], values=grade)
    return wide, wide.columns[2:]


def gather_subtopics(
    judgments: Any, query: str, doc: str, grade: str, subtopic: str, unjudged_below: float | None
) -> pl.DataFrame:
    """Return one row per document, with its highest grade and its subtopics.

    Its subtopics are those with a grade above 0. If `unjudged_below` is passed, rows with a lower
    grade or a null grade are left out.
    """
    rows = check_frame("judgments", judgments).lazy().collect()
    check_columns("judgments", [subtopic], rows.schema, argument="subtopic")
    check_judgment_columns("judgments", rows.columns, query, doc, grade)
    check_grade(f"grade {grade!r}", rows.schema[grade])
    for name in (GRADER, SUBTOPICS):
        if name in rows.schema:
            msg = f"`judgments` by subtopic must not have a column {name!r}, got one"
            raise ValueError(msg)
    check_key_columns(rows, "judgments", [query, doc, subtopic])
    if unjudged_below is not None:
        rows = rows.filter(pl.col(grade) >= unjudged_below)
    return rows.group_by(query, doc, maintain_order=True).agg(
        pl.col(grade).max(), pl.col(subtopic).filter(pl.col(grade) > 0).alias(SUBTOPICS)
    )


def build_table(
    name: str,
    given: Any,
    query: str,
    doc: str,
    number: str,
    strategy: str | None = None,
    *,
    is_run: bool,
) -> Frame:
    """Return one row per document, from any frame or from a mapping of queries.

    Documents of a run in lists get their rank, and its negative as score; judged ones the grade 1.
    The fields of structs become columns.
    """
    table = pl.DataFrame() if isinstance(given, Mapping) else check_frame(name, given)
    if not table.collect_schema():
        table = _unpack_mapping(name, given, query, doc, number, is_run=is_run)
    default = "retrieved" if is_run else "relevant"
    schema = table.collect_schema()
    lists = next(
        (each for each in (doc, default) if isinstance(schema.get(each), pl.List | pl.Array)), None
    )
    if lists is None:
        return table
    if number in schema and number != lists:
        together = [
            each for each in (lists, number) if isinstance(schema[each], pl.List | pl.Array)
        ]
        msg = (
            f"`{name}` must have either lists of documents, or one row per document with its "
            f"{number}, got a column {number!r} beside {lists!r}\n\n"
            f"Hint: .explode({', '.join(map(repr, together))}) gives one row per document"
        )
        raise ValueError(msg)
    check_columns(name, [query], schema, argument="query")
    kept = [each for each in (strategy or "strategy",) if is_run and each in schema]
    dtype = schema[lists].inner  # type: ignore[attr-defined]
    documents = pl.col(lists).cast(pl.List(dtype))
    fields = dtype.to_schema() if isinstance(dtype, pl.Struct) else {}
    ranks = {}
    if is_run and "rank" not in fields:
        ranks["rank"] = pl.int_ranges(1, documents.list.len() + 1)
    table = table.select(*kept, query, documents.alias(doc), **ranks)
    table = table.explode(doc, *ranks, empty_as_null=False, keep_nulls=False)
    table = table.unnest(doc) if isinstance(dtype, pl.Struct) else table
    if number in table.collect_schema():
        return table
    value = -pl.col("rank") if is_run else pl.lit(1, pl.Int64)
    return table.with_columns(value.alias(number))


def maps_queries(given: Mapping[Any, Any], *, default: bool = True) -> bool:
    """Return whether the keys are queries, and not names of runs or graders.

    The value of a query is a list of ids, or a mapping from ids to numbers. The value of a name is
    a whole run, or all judgments of a grader: a frame, or a mapping from queries to documents. If
    all values are empty, the result is `default`.
    """
    first: Any = next((value for value in given.values() if not _is_empty(value)), None)
    if first is None:
        return default
    if isinstance(first, Mapping):
        return not is_collection(next(iter(first.values())))
    return is_collection(first)


def is_collection(value: Any) -> bool:
    """Return whether a value may hold the documents of a query."""
    is_series = hasattr(value, "to_list")  # of Polars or pandas
    return is_series or (isinstance(value, COLLECTIONS) and getattr(value, "ndim", 1) > 0)


def _is_empty(documents: Any) -> bool:
    """Return whether a query has no documents: an empty mapping or collection, or None."""
    return documents is None or (is_collection(documents) and not len(documents))


def _unpack_mapping(
    name: str, given: Any, query: str, doc: str, number: str, *, is_run: bool
) -> pl.DataFrame:
    """Return a row per document and its number, or per query and the list of its documents."""
    given = given if isinstance(given, Mapping) else {}
    given = {key: documents for key, documents in given.items() if not _is_empty(documents)}
    if not given:
        return pl.DataFrame(schema={query: pl.Null, doc: pl.Null, number: pl.Float64})
    for key, documents in given.items():
        if is_run and isinstance(documents, set | frozenset):
            msg = f"`{name}` must have documents in rank order, got a set of them for {key!r}"
            raise TypeError(msg)
        if isinstance(documents, str):  # its characters are no documents
            msg = f"`{name}` must have a list of documents, got {documents!r} for {key!r}"
            raise TypeError(msg)
    are_mappings = [isinstance(documents, Mapping) for documents in given.values()]
    if any(are_mappings) and not all(are_mappings):
        msg = f"`{name}` must have mappings for all queries or lists for all, got both"
        raise TypeError(msg)
    ids = [id_ for documents in given.values() for id_ in documents]
    docs = _build_column(name, doc, ids)
    if not any(are_mappings):
        lists = pl.Series(doc, [[*documents] for documents in given.values()], pl.List(docs.dtype))
        return pl.DataFrame([_build_column(name, query, [*given]), lists])
    queries = [key for key, documents in given.items() for _ in documents]
    numbers = [value for documents in given.values() for value in documents.values()]
    return pl.DataFrame(
        [_build_column(name, query, queries), docs, _build_column(name, number, numbers)]
    )


def _build_column(name: str, column: str, values: list[Any]) -> pl.Series:
    """Return a column of the values; raise if they have no common type."""
    python_types = {*map(type, values)} - {type(None)}
    are_numbers = bool not in python_types and all(issubclass(each, Real) for each in python_types)
    are_whole = all(issubclass(each, Integral) for each in python_types)
    try:
        return pl.Series(column, values, pl.Float64 if are_numbers and not are_whole else None)
    except (TypeError, OverflowError, pl.exceptions.PolarsError):
        type_names = ", ".join(sorted(each.__name__ for each in python_types))
        msg = (
            f"{column!r} of `{name}` must hold texts or numbers, all of one kind and of at most "
            f"128 bits, got {type_names}"
        )
        raise TypeError(msg) from None


# Checks


def check_judgment_columns(
    name: str, columns: Iterable[str], query: str, doc: str, grade: str
) -> None:
    """Raise if judgments with these columns lack one that is needed."""
    for argument, column in (("query", query), ("doc", doc), ("grade", grade)):
        check_columns(name, [column], columns, argument=argument)


def check_graders_named(judgments: pl.DataFrame) -> None:
    """Raise if the names of graders are no texts."""
    dtype = judgments.schema[GRADER]
    if dtype not in (*TEXT_TYPES, pl.Null) and judgments.height:
        msg = (
            f"column {GRADER!r} of `judgments` must hold the names of graders, strings, got {dtype}"
            f"\n\nHint: pl.col({GRADER!r}).cast(pl.String) turns numbers into names"
        )
        raise TypeError(msg)


def check_key_columns(frame: pl.DataFrame, name: str, key: Sequence[str]) -> None:
    """Raise if a column of the key contains null or NaN, or two rows have the same key."""
    for column in key:
        values = frame[column]
        if values.dtype.is_float() and (n := int(values.is_nan().sum())):
            msg = f'"{column}" must not be NaN in `{name}`, got {n} NaN'
            raise ValueError(msg)
        if nulls := values.null_count():
            count = "1 null" if nulls == 1 else f"{nulls} nulls"
            msg = f'"{column}" must not be null in `{name}`, got {count}'
            raise ValueError(msg)
    check_distinct(frame, name, key)


def describe_nulls(rows: pl.DataFrame, key: Sequence[str]) -> str:
    """Return a clause about null keys for a message about repeated rows, or an empty text."""
    nulls = {column: rows[column].null_count() for column in key}
    clauses = [f"{column!r} is null in {n} of these rows" for column, n in nulls.items() if n]
    return "".join(f"; {clause}" for clause in clauses)


def hash_keys(frame: pl.DataFrame, key: Sequence[str]) -> pl.Series:
    """Return a hash of each row's values in the columns of the key."""
    first, *others = (frame.get_column(name).hash(seed) for seed, name in enumerate(key))
    for hashes in others:
        first ^= hashes
    return first


def are_distinct(frame: pl.DataFrame, key: Sequence[str]) -> bool:
    """Return whether all keys are distinct.

    If all hashes differ, all keys differ. Keys of text and integers are therefore hashed first,
    which takes a fifth of the time of comparing the keys. The keys themselves are compared only if
    two hashes are equal.
    """
    if all(dtype == pl.String or dtype.is_integer() for dtype in frame.select(key).dtypes):
        hashes = hash_keys(frame, key)
        if hashes.n_unique() == frame.height:
            return True
    return frame.select(key).n_unique() == frame.height


def check_distinct(frame: pl.DataFrame, name: str, key: Sequence[str]) -> None:
    """Raise if two rows have the same key."""
    if are_distinct(frame, key):
        return
    rows = frame.filter(pl.struct(key).is_duplicated())
    repeated = rows.select(key).unique().sort(key)
    is_first = pl.all_horizontal(pl.col(each).eq_missing(repeated[each][0]) for each in key)
    row_numbers = frame.select(is_first.arg_true() + 1).to_series().to_list()
    hint = _find_repair(rows, name, key)
    msg = (
        f"`{name}` must have each ({', '.join(key)}) once, got {repeated.height} "
        f"more than once: {first_few(repeated.rows())}; the first is in rows "
        f"{first_few(row_numbers)}, counted from 1{describe_nulls(rows, key)}"
    )
    raise ValueError(f"{msg}\n\nHint: {hint}" if hint else msg)


def _find_repair(rows: pl.DataFrame, name: str, key: Sequence[str]) -> str:
    """Return a hint for rows of which several have the same key, or an empty text."""
    is_pair = len(key) == 2  # noqa: PLR2004 a query and a document
    if rows.n_unique() == rows.select(key).n_unique():
        return ".unique(maintain_order=True) drops rows that are equal"
    if name == "judgments" and is_pair:
        return (
            f".group_by({key}).agg(pl.col('grade').max()) keeps the highest grade of a document; "
            "if documents are judged once per subtopic, read_qrels(paths, subtopics=True) reads "
            "the subtopics, and join_judgments(..., subtopic='subtopic') gathers them"
        )
    if name == "run" and not is_pair:
        return (
            "read_run(paths, named_by='file') separates files that have the same tag; otherwise "
            f".sort('score', descending=True).unique({[*key]!r}, keep='first', maintain_order=True)"
            " keeps the best place of each document"
        )
    return ""
