"""Check the columns of a run and of its judgments, and the keys of the judgments."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import polars.selectors as cs

from polars_graded._checks import check_columns
from polars_graded._frames.distinct_keys import check_key_columns
from polars_graded._measuring.ranking import check_grade
from polars_graded._warnings import DataWarning, warn_the_caller


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
