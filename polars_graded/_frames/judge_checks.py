"""Check that a run and its judgments match; raise errors and warn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl
import polars.selectors as cs

from polars_graded._checks import MAX_SHOWN_VALUES, TEXT_TYPES, check_columns, first_few
from polars_graded._measuring.ranking import check_grade
from polars_graded._warnings import DataWarning, warn_the_caller

if TYPE_CHECKING:
    from polars_graded._frames.joining import Join

FOUND = "polars_graded: found"
ROWS = "polars_graded: rows"
"""Names of temporary columns: the number of rows of a strategy and query, and the number of judged
rows among them."""

# Checks of columns


def check_schemas(
    run: pl.Schema,
    judgments: pl.Schema,
    query: str,
    doc: str,
    grades: Sequence[str],
    strategy: str | None,
) -> list[str]:
    """Return the key columns of the run; raise if the two frames cannot be joined."""
    for argument, name in (("strategy", strategy), ("query", query), ("doc", doc)):
        check_columns("run", [] if name is None else [name], run, argument=argument)
    for grade in grades:
        if grade not in judgments and grade in run:
            msg = f"`judgments` has no column {grade!r}, but `run` has: are the two swapped?"
            raise pl.exceptions.ColumnNotFoundError(msg)
    arguments = [("query", query), ("doc", doc), *(("grade", grade) for grade in grades)]
    for argument, name in arguments:
        check_columns("judgments", [name], judgments, argument=argument)
    if strategy in (query, doc):
        msg = f"`strategy` must name a column that no other argument names, got {strategy!r}"
        raise ValueError(msg)
    for grade in grades:
        check_grade(f"grade {grade!r}", judgments[grade])
    pair = [query, doc]
    key = pair if strategy is None else [strategy, *pair]
    for column in pair:
        ours, theirs = run[column], judgments[column]
        if ours != theirs:
            msg = (
                f'"{column}" must have one data type, got {ours} in `run` and {theirs} in'
                " `judgments`: cast one of them"
            )
            raise TypeError(msg)
    shared = [name for name in judgments if name in run and name not in pair]
    if shared:
        msg = (
            f"only {_format_columns(pair)} may be in both `run` and `judgments`, "
            f"got {_format_columns(shared)}: drop or rename it in one of them"
        )
        raise ValueError(msg)
    if not set(run).difference(key):
        # After the join, a null score marks judged documents that were not retrieved. Without a
        # score, they could not be distinguished from retrieved documents.
        msg = f"`run` must have a column to rank by, such as a score, got {_format_columns([*run])}"
        raise ValueError(msg)
    return key


def _format_columns(columns: Sequence[str]) -> str:
    return ", ".join(f'"{column}"' for column in columns) or "none"


# Checks of rows


def check_key_columns(frame: pl.DataFrame, name: str, key: Sequence[str]) -> None:
    """Raise if a column of the key contains a null, or two rows have the same key."""
    check_no_nulls(frame, name, key)
    check_distinct(frame, name, key)


def check_no_nulls(frame: pl.DataFrame, name: str, key: Sequence[str]) -> None:
    """Raise if a column of the key contains a null or NaN."""
    for column in key:
        values = frame[column]
        if values.dtype.is_float() and (n := int(values.is_nan().sum())):
            msg = f'"{column}" must not be NaN in `{name}`, got {n} NaN'
            raise ValueError(msg)
        if nulls := values.null_count():
            count = "1 null" if nulls == 1 else f"{nulls} nulls"
            msg = f'"{column}" must not be null in `{name}`, got {count}'
            raise ValueError(msg)


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
    if not are_distinct(frame, key):
        rows = frame.filter(pl.struct(key).is_duplicated())
        repeated = rows.select(key).unique()
        msg = (
            f"`{name}` must have each ({', '.join(key)}) once, got {repeated.height} "
            f"more than once: {first_few(repeated.sort(key).rows())}"
        )
        hint = _find_repair(rows, name, key)
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
    if {"rank", "score"} <= {*rows.columns} and (rows["score"] == -rows["rank"]).all():
        return "list(dict.fromkeys(docs)) keeps the first place of each document in a list"
    if name == "run" and not is_pair:
        return (
            "read_run(paths, named_by='file') separates files that have the same tag; otherwise "
            f".sort('score', descending=True).unique({[*key]!r}, keep='first', maintain_order=True)"
            " keeps the best place of each document"
        )
    return ""


def check_one_strategy(join: Join) -> None:
    """Raise if the run has several strategies, but `strategy` is not passed.

    The strategies are the values of the column "strategy". Raise also if some of them are null, but
    not all.
    """
    count = len([name for name in join.strategies if name is not None])
    if count > 1:
        msg = (
            f'`run` must be one ranking per query, got {count} strategies in its column "strategy":'
            ' pass strategy="strategy" to keep them apart, or drop the column to merge them'
        )
        raise ValueError(msg)
    if len(join.strategies) > 1:
        check_no_nulls(join.counts, "run", [join.strategy])


def select_judgments(
    judgments: pl.DataFrame,
    pair: Sequence[str],
    grades: Sequence[str],
    unjudged_below: float | None,
) -> pl.DataFrame:
    """Return the judgments with a grade; raise for null or repeated keys.

    A grade below `unjudged_below` becomes null. Without `unjudged_below`, warn of grades below 0.
    """
    check_key_columns(judgments, "judgments", pair)
    graded = pl.col(grades)
    if unjudged_below is not None:
        judgments = judgments.with_columns(pl.when(graded >= unjudged_below).then(graded))
    judged = judgments.filter(pl.any_horizontal(graded.is_not_null()))
    if unjudged_below is not None:
        return judged
    grade_columns = judged.select(cs.by_name(grades) & cs.numeric()).get_columns()
    n_grades = sum(column.count() for column in grade_columns)
    if n_below := sum((column < 0).sum() for column in grade_columns):
        warn_the_caller(
            DataWarning.scale,
            f"{n_below} of {n_grades} judgments have a grade below 0, and count as judged and "
            "irrelevant\n\n"
            "Hint: unjudged_below=0 treats them as unjudged, as trec_eval does; a lower "
            "number for unjudged_below keeps them and silences this warning",
        )
    return judged


def check_overlap(join: Join) -> None:
    """Raise if ids have another form in the judgments; warn of other mismatches."""
    query, doc, judged = join.query, join.doc, join.judged
    counts = join.counts
    counts_of_judged = counts.join(join.queries, on=query, how="semi", maintain_order="left")
    retrieved, n_found = counts_of_judged.select(pl.col(ROWS, FOUND).sum()).row(0)
    if counts.height and judged.height and not n_found:
        column = doc if retrieved else query
        ours = join.unmatched if retrieved else counts.get_column(query)
        if have_different_forms(ours, judged[column]):
            msg = (
                f"`run` and `judgments` must write {column!r} in the same form, got, for example, "
                f"{ours[0]!r} in `run` and {judged[column][0]!r} in `judgments`"
            )
            raise ValueError(msg)
    queries = counts_of_judged.get_column(query)
    if unjudged := _find_absent(counts.get_column(query), queries):
        warn_the_caller(
            DataWarning.topics,
            f"queries without any judgment are left out of the result, got {len(unjudged)}: "
            f"{first_few(unjudged)}",
        )
    if unanswered := _find_absent(join.queries.get_column(query), queries):
        warn_the_caller(
            DataWarning.missing,
            f"{len(unanswered)} of {join.queries.height} judged queries have no row in `run`, and "
            f"count as failures: {first_few(unanswered)}",
        )
    if join.strategies.to_list() != [None]:
        answered = {*counts_of_judged.get_column(join.strategy)}
        if without_answers := [name for name in join.strategies if name not in answered]:
            warn_the_caller(
                DataWarning.missing,
                f"{first_few(without_answers)} answered none of the judged queries, so all of "
                "these count as failures",
            )
    if description := _describe_incomplete_strategies(counts_of_judged, join):
        warn_the_caller(
            DataWarning.missing,
            "some strategies have no row for judged queries that others answered; these queries "
            f"count as failures: {description}\n\n"
            "Hint: if strategies ran on different queries, keep the queries that all answered",
        )
    n_queries = queries.n_unique()
    n_unmatched = (
        n_queries - counts_of_judged.filter(pl.col(FOUND) > 0).get_column(query).n_unique()
    )
    if not len(join.unmatched) or not (
        2 * n_unmatched > n_queries or _has_few_matches(join, retrieved, n_found)
    ):
        return
    no_match = f"in {n_unmatched} of {n_queries} queries no retrieved document is judged"
    missed_judgments = join.missed if join.missed.height else judged
    warn_the_caller(
        DataWarning.ids,
        f"{no_match if n_unmatched else 'the run and the judgments have few documents in common'}; "
        f"{n_found} of {retrieved} retrieved documents are judged "
        f"({n_found / retrieved:.1%})\n\n"
        f"Hint: check that {doc!r} means the same in `run` ({join.unmatched[0]!r}) "
        f"and `judgments` ({missed_judgments[doc][0]!r}); overview(frame) counts retrieved and "
        "judged documents",
    )


def have_different_forms(ours: pl.Series, theirs: pl.Series) -> bool:
    """Return whether no id can be equal because both columns write ids differently.

    All ids of one column are whole numbers and none of the other is, or ids such as "1", "001" and
    "1.0" are equal as numbers only.
    """
    if ours.dtype not in TEXT_TYPES:
        return False
    columns = [column.cast(pl.String).unique() for column in (ours, theirs)]
    numbers = [column.filter(column.str.contains(r"^[0-9]+(\.0*)?$")) for column in columns]
    are_numbers = [len(each) == len(column) for each, column in zip(numbers, columns, strict=True)]
    if not all(are_numbers):
        return any(are_numbers) and not all(map(len, numbers))
    plain = [each.str.replace(r"\.0*$", "").str.strip_chars_start("0").unique() for each in numbers]
    texts_differ, numbers_differ = (
        not first.is_in(second.implode()).any() for first, second in (columns, plain)
    )
    return texts_differ and not numbers_differ


MAX_COMMON_SHARE = 0.05
"""Matches count as few if at most this share of the documents match."""


def _has_few_matches(join: Join, retrieved: int, n_found: int) -> bool:
    """Return whether few documents of the run occur in the judgments.

    Few matches within the same query do not prove that identifiers are written differently. In
    recommendation, a query is a user, and each user judges few of many documents. So the documents
    without a match are also looked up among the judgments of all other queries.
    """
    max_matches = min(retrieved, join.judged.height * len(join.strategies))
    if not max_matches or n_found > MAX_COMMON_SHARE * max_matches:
        return False
    judged_for_others = join.unmatched.is_in(join.judged.get_column(join.doc).implode()).sum()
    return bool(judged_for_others <= MAX_COMMON_SHARE * min(len(join.unmatched), max_matches))


def _describe_incomplete_strategies(answered: pl.DataFrame, join: Join) -> str:
    """List the first strategies that lack queries that others answered."""
    keys, n_queries = [join.strategy, join.query], join.queries.height
    strategies, queries = (answered.select(name).unique(maintain_order=True) for name in keys)
    if answered.height == strategies.height * queries.height:
        return ""
    all_pairs = strategies.join(queries, how="cross")
    lacking = all_pairs.join(answered, on=keys, how="anti", maintain_order="left")
    by_strategy = lacking.group_by(join.strategy, maintain_order=True).agg(join.query)
    parts = [
        f"{name!r} lacks {len(missing_queries)} of {n_queries} ({first_few(missing_queries)})"
        for name, missing_queries in by_strategy.head(MAX_SHOWN_VALUES).iter_rows()
    ]
    return "; ".join(parts if by_strategy.height <= MAX_SHOWN_VALUES else [*parts, "..."])


def _find_absent(values: pl.Series, others: pl.Series) -> list[Any]:
    """Return the distinct values that are absent from the others."""
    each = values.unique(maintain_order=True).to_frame("value")
    return each.join(
        others.unique().to_frame("value"), on="value", how="anti", maintain_order="left"
    )["value"].to_list()
