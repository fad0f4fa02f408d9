"""Check that the keys of rows are present and distinct."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from polars_graded._checks import first_few


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
        repeated = rows.select(key).unique().sort(key)
        of_first = pl.all_horizontal(pl.col(column) == repeated[column][0] for column in key)
        numbers = frame.select(of_first.arg_true() + 1).to_series().to_list()
        msg = (
            f"`{name}` must have each ({', '.join(key)}) once, got {repeated.height} "
            f"more than once: {first_few(repeated.rows())}; the first is in rows "
            f"{first_few(numbers)}, counted from 1"
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
