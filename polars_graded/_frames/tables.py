"""Tables of runs and of judgments with one row per document, from frames, mappings and lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, NamedTuple, TypeAlias

import polars as pl

from polars_graded._checks import TEXT_TYPES, check_columns, check_frame
from polars_graded._frames.distinct_keys import check_key_columns
from polars_graded._measuring.ranking import check_grade

Frame: TypeAlias = pl.DataFrame | pl.LazyFrame

GRADER = "grader"
"""Name of the column of graders, in judgments and in results."""

SUBTOPICS = "subtopics"
"""Name of the column of subtopics in joined judgments."""

_COLLECTIONS = (list, tuple, set, frozenset)


class Runs(NamedTuple):
    """The retrieved documents of one strategy, or of several stacked strategies."""

    table: Frame
    strategy: str | None
    """Name of the column of strategies. None for a single run if no column was passed."""
    names: Sequence[str] = ()
    """Names of the strategies if the run is a mapping of strategies. Some may have no rows."""


def build_run_table(run: Any, query: str, doc: str, strategy: str | None) -> Runs:
    """Return the retrieved documents in one frame, lazy if any input is lazy."""
    run = _unwrap_mapping(run)
    if not isinstance(run, Mapping) or _maps_queries(run, strategy):
        table = _build_rows_of_run("run", run, query, doc)
        return Runs(_number_ranks(table, query, doc, [strategy or "strategy"]), strategy)
    strategy = "strategy" if strategy is None else strategy
    parts, is_lazy = [], False
    for name, run_of_strategy in run.items():
        table = _number_ranks(
            _build_rows_of_run(f"run[{name!r}]", _unwrap_mapping(run_of_strategy), query, doc),
            query,
            doc,
        )
        if isinstance(table, pl.LazyFrame):
            is_lazy = True
        elif table.is_empty():
            # Columns without values must not decide the types of the stacked columns.
            table = pl.DataFrame(schema=dict.fromkeys(table.columns, pl.Null))
        rows = table.lazy().drop(strategy, strict=False)
        parts.append(rows.select(pl.lit(name).alias(strategy), "*"))
    for name in (query, doc):
        kinds = {part.collect_schema().get(name, pl.String()) for part in parts}
        if len(kinds) > 1 and all(kind in TEXT_TYPES for kind in kinds):
            # Two Enum columns with other categories have no common type but String.
            parts = [part.with_columns(pl.col(name).cast(pl.String)) for part in parts]
    stacked = pl.concat(parts, how="diagonal_relaxed")
    return Runs(stacked if is_lazy else stacked.collect(), strategy, [*run])


def build_judgment_table(judgments: Any, query: str, doc: str, grade: str) -> Frame:
    """Return the judged documents, with grade 1 for lists of ids."""
    table = _build_table("judgments", _unwrap_mapping(judgments), query, doc, grade)
    lists = _find_list_column(table, doc, "relevant")
    if lists is None:
        return table
    schema = table.collect_schema()
    if grade in schema and grade != lists:
        columns = (lists, grade) if isinstance(schema[grade], pl.List | pl.Array) else (lists,)
        msg = (
            "`judgments` must have either lists of relevant documents, or one row per document "
            f"with its grade, got a column {grade!r} beside {lists!r}\n\n"
            f"Hint: .explode({', '.join(map(repr, columns))}) gives one row per document"
        )
        raise ValueError(msg)
    table = _explode_documents(table.select(query, lists), lists, doc)
    if grade in table.collect_schema():
        return table
    return table.with_columns(pl.lit(1, pl.Int64).alias(grade))


def check_graders_named(rows: pl.DataFrame, name: str, column: str = GRADER) -> None:
    """Raise unless each row has the name of a grader, a string."""
    dtype, nulls = rows.schema[column], rows[column].null_count()
    if dtype not in TEXT_TYPES and nulls < rows.height:
        msg = (
            f"column {column!r} of `{name}` must hold the names of graders, strings, got {dtype}"
            f"\n\nHint: pl.col({column!r}).cast(pl.String) turns numbers into names"
        )
        raise TypeError(msg)
    if nulls:
        msg = (
            f"column {column!r} of `{name}` must hold the name of a grader in each row, got "
            f"{nulls} null{'' if nulls == 1 else 's'} in {rows.height} rows"
        )
        raise ValueError(msg)


def split_graders(
    name: str, rows: pl.DataFrame, keys: Sequence[str], grader: str, grade: str
) -> pl.DataFrame:
    """Return one row per document and one column of grades per grader."""
    check_graders_named(rows, name, grader)
    check_key_columns(rows, name, [*keys, grader])
    rows = rows.select(*keys, pl.col(grader).cast(pl.String), grade)
    for key in keys:
        if key in rows.get_column(grader):
            msg = f"no grader of `{name}` may have the name of a column, got {key!r}"
            raise ValueError(msg)
    return rows.pivot(grader, index=keys, values=grade)


def build_grader_table(judgments: Any, query: str, doc: str, grade: str) -> tuple[Frame, list[str]]:
    """Return the judged documents, and the names of the grade columns."""
    judgments = _unwrap_mapping(judgments)
    if not isinstance(judgments, Mapping) or _maps_queries(judgments):
        table = build_judgment_table(judgments, query, doc, grade)
        if not {GRADER, grade} <= {*table.collect_schema()}:
            return table, [grade]
        rows = table.lazy().collect()
    else:
        tables = [
            build_judgment_table(each, query, doc, grade)
            .lazy()
            .select(query, doc, grade, pl.lit(str(name)).alias(GRADER))
            for name, each in judgments.items()
        ]
        rows = pl.concat(tables, how="vertical_relaxed").collect()
    wide = split_graders("judgments", rows, [query, doc], GRADER, grade)
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
    check_columns("judgments", [query, doc, grade], rows.schema)
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


def _unwrap_mapping(value: Any) -> Any:
    """Return an object of ranx as a mapping, and any other value unchanged."""
    kind = type(value)
    return value.to_dict() if kind.__module__.startswith("ranx.") else value


def _maps_queries(run: Mapping[Any, Any], strategy: str | None = None) -> bool:
    """Return whether the keys are queries, and not names of runs or graders.

    The value of a query is a list of ids, or a mapping from ids to numbers. The value of a name is
    a whole run, or all judgments of a grader: a frame, or a mapping from queries to documents. If
    all values are empty mappings, the keys are names only if `strategy` is passed.
    """
    kinds = (Mapping, *_COLLECTIONS)
    if all(map(_is_empty, run.values())):
        are_mappings = all(isinstance(each, Mapping) for each in run.values())
        return not (run and are_mappings and strategy is not None)
    first_documents = next(
        (documents for documents in run.values() if isinstance(documents, kinds) and documents),
        None,
    )
    if isinstance(first_documents, Mapping):
        return not isinstance(next(iter(first_documents.values())), kinds)
    return isinstance(first_documents, _COLLECTIONS)


def _is_empty(documents: Any) -> bool:
    """Return whether a query has no documents: an empty mapping or collection, or None."""
    kinds = (Mapping, *_COLLECTIONS)
    return documents is None or (isinstance(documents, kinds) and not documents)


def _build_rows_of_run(name: str, given: Any, query: str, doc: str) -> Frame:
    """Return the rows of a run; raise if its documents have no order, as in a set."""
    for key, docs in given.items() if isinstance(given, Mapping) else ():
        if isinstance(docs, set | frozenset):
            msg = f"`{name}` must have documents in rank order, got a set of them for {key!r}"
            raise TypeError(msg)
    return _build_table(name, given, query, doc, "score")


def _build_table(name: str, given: Any, query: str, doc: str, number: str) -> Frame:
    """Return a table made from any frame, or from a mapping from queries to documents."""
    if not isinstance(given, Mapping):
        frame = check_frame(name, given)
        if schema := frame.collect_schema():
            nulls = [lists for lists in ("retrieved", "relevant") if schema.get(lists) == pl.Null]
            return frame.cast(dict.fromkeys(nulls, pl.List(pl.Null)))
        given = {}
    given = {key: docs for key, docs in given.items() if not _is_empty(docs)}
    if not given:
        return pl.DataFrame(schema={query: pl.Null, doc: pl.Null, number: pl.Float64})
    are_mappings = [isinstance(docs, Mapping) for docs in given.values()]
    if any(are_mappings) and not all(are_mappings):
        msg = f"`{name}` must have mappings for all queries or lists for all, got both"
        raise TypeError(msg)
    lists = {key: list(docs.items() if any(are_mappings) else docs) for key, docs in given.items()}
    keys = [key for key, docs in lists.items() for _ in docs]
    rows = [row for docs in lists.values() for row in docs]
    if any(are_mappings):
        columns = {query: keys, doc: [row[0] for row in rows], number: [row[1] for row in rows]}
        return pl.DataFrame([_build_column(name, column, each) for column, each in columns.items()])
    ids = _build_column(name, doc, rows)
    queries = _build_column(name, query, [*lists])
    return pl.DataFrame([queries, pl.Series(doc, [*lists.values()], pl.List(ids.dtype))])


def _build_column(name: str, column: str, values: list[Any]) -> pl.Series:
    """Return a column of the values; raise if they have no common type."""
    kinds = {*map(type, values)} - {type(None)}
    are_numbers = bool not in kinds and all(issubclass(kind, Real) for kind in kinds)
    are_whole = all(issubclass(kind, Integral) for kind in kinds)
    try:
        return pl.Series(column, values, pl.Float64 if are_numbers and not are_whole else None)
    except OverflowError:
        msg = f"{column!r} of `{name}` must hold numbers of at most 128 bits, got a larger one"
        raise ValueError(msg) from None
    except (TypeError, pl.exceptions.PolarsError):
        kind_names = ", ".join(sorted(kind.__name__ for kind in kinds))
        msg = (
            f"{column!r} of `{name}` must hold texts or numbers, all of one kind, got {kind_names}"
        )
        raise TypeError(msg) from None


def _number_ranks(table: Frame, query: str, doc: str, others: Sequence[str] = ()) -> Frame:
    """Turn lists of documents into one row per document with rank and score.

    A frame without lists is returned unchanged. The columns in `others` are kept.
    """
    lists = _find_list_column(table, doc, "retrieved")
    if lists is None:
        return table
    columns = table.collect_schema().names()
    if "score" in columns:
        msg = (
            "`run` must have either lists of documents in rank order, or one row per document with "
            f"its score, got a column 'score' beside {lists!r}\n\n"
            f"Hint: .explode({lists!r}, 'score') gives one row per document"
        )
        raise ValueError(msg)
    table = table.select(*(name for name in others if name in columns), query, lists)
    rank = pl.int_ranges(1, pl.col(lists).list.len() + 1).alias("rank")
    table = _explode_documents(table.with_columns(rank), lists, doc)
    has_scores = "score" in table.collect_schema()
    return table if has_scores else table.with_columns(score=-pl.col("rank"))


def _find_list_column(table: Frame, doc: str, default: str) -> str | None:
    """Return the name of the column that holds lists of documents, or None."""
    schema = table.collect_schema()
    for name in (doc, default):
        if isinstance(schema.get(name), pl.List | pl.Array):
            return name
    return None


def _explode_documents(table: Frame, lists: str, doc: str) -> Frame:
    """Return one row per document; fields of structs become columns."""
    schema = table.collect_schema()
    together = [name for name in (lists, "rank") if name in schema]
    table = table.explode(together, empty_as_null=False, keep_nulls=False)
    if isinstance(table.collect_schema()[lists], pl.Struct):
        return table.unnest(lists)
    return table.rename({lists: doc})
