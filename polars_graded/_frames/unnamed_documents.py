"""Find duplicates in frames whose column of documents is not known.

The column is known if an argument names it, or if it has a typical name such as `doc`.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from polars_graded._checks import TEXT_TYPES, first_few
from polars_graded._frames.document_columns import IDENTIFIERS, split_words
from polars_graded._measuring.rank_columns import MAX_TIED_RATIO

MIN_RANKINGS = 10
"""Minimum number of rankings that is needed to recognise a column of ids."""

MAX_REPEATED_SHARE = 0.2
"""Maximum share of repeated values at which a column of texts or ids counts as documents. Each
repeated value is then a duplicate."""

MAX_SHARED_SHARE = 0.7
"""Maximum share of repeated values in a column that is checked. For example, each query has one
ranking for each of three devices, but no argument names the column of devices. The three rankings
are then mixed, and up to two thirds of the values repeat."""

MAX_LABELS = 100
"""Maximum number of distinct values in a column that may separate rankings. A column of whole
numbers with more distinct values may hold ids, even if many values repeat."""


def check_unnamed_documents(
    frame: pl.DataFrame, query: Sequence[str], strategy: str | None, used: Sequence[str]
) -> None:
    """Raise if a column that no argument names seems to repeat documents.

    Several columns may hold ids. The column with the smallest share of repeated values is checked.
    No error is raised if no value repeats, or if the share is above `MAX_SHARED_SHARE`. Otherwise
    there are three cases:

    - Whenever rows of a ranking have the same value in the checked column, they have different
      values in a second column. The second column then separates several rankings, and an error
      asks to name this column.
    - At most `MAX_REPEATED_SHARE` of the values repeat, and the checked column holds texts or is
      named like ids. All rows that repeat a value are duplicates, and an error is raised.
    - In all other cases, such as a column of prices, an error is raised only for rows that are
      equal in all columns.
    """
    keys = [*query] if strategy is None else [strategy, *query]
    shares = _find_repeated_shares(frame, keys, used)
    doc = min(shares, key=shares.__getitem__, default=None)
    if doc is None or not 0 < shares[doc] <= MAX_SHARED_SHARE:
        return
    _check_not_shared(frame, query, keys, doc, used)
    may_be_ids = frame.schema[doc] in TEXT_TYPES or IDENTIFIERS & split_words(doc)
    are_ids = may_be_ids and shares[doc] <= MAX_REPEATED_SHARE
    _check_values_are_unique(frame, query, keys, doc, [*keys, doc] if are_ids else frame.columns)


def _find_repeated_shares(
    frame: pl.DataFrame, keys: Sequence[str], used: Sequence[str]
) -> dict[str, float]:
    """Return the share of repeated values for each column that may hold ids.

    Such a column holds texts or whole numbers that vary within rankings. A repeated value is one
    that occurred earlier in the same ranking. The result is empty for fewer than `MIN_RANKINGS`
    rankings.
    """
    names = [
        name
        for name, dtype in frame.schema.items()
        if name not in {*keys, *used}
        and (dtype in TEXT_TYPES or dtype.is_integer())
        and not _has_steps_of_one(frame.get_column(name))
    ]
    if not names:
        return {}
    counts = frame.group_by(keys).agg(
        *(pl.col(name).count().alias(f"values {name}") for name in names),
        *(pl.col(name).drop_nulls().n_unique().alias(f"distinct {name}") for name in names),
    )
    if counts.height < MIN_RANKINGS:
        return {}
    shares = {}
    for name in names:
        values, distinct = (counts.get_column(f"{each} {name}") for each in ("values", "distinct"))
        n, repeated = int(values.sum()), int((values - distinct).sum())
        if (distinct > 1).any() and _may_be_ids(frame.get_column(name), values, repeated):
            shares[name] = repeated / n
    return shares


def _has_steps_of_one(column: pl.Series) -> bool:
    """Return whether a column of whole numbers rises by 1 from row to row."""
    return column.dtype.is_integer() and bool((column.diff() == 1).all())


def _may_be_ids(column: pl.Series, counts: pl.Series, repeated: int) -> bool:
    """Return whether the values of a column repeat rarely enough for ids.

    The number of repeated values within rankings must be clearly below the number expected by
    chance. Only whole numbers with at most `MAX_LABELS` distinct values are tested. For other
    columns, the result is True. `counts` contains the number of values of each ranking.
    """
    n = column.drop_nulls().n_unique()
    if not column.dtype.is_integer() or n > MAX_LABELS:
        return True
    lengths = counts.to_numpy()
    expected = float((lengths - n * (1 - (1 - 1 / n) ** lengths)).sum())
    return repeated <= MAX_TIED_RATIO * expected


def _check_values_are_unique(
    frame: pl.DataFrame, query: Sequence[str], keys: Sequence[str], doc: str, equal: Sequence[str]
) -> None:
    """Raise if two rows are equal in the columns `equal`.

    Rows whose `doc` is null do not count.
    """
    repeated = frame.filter(pl.col(doc).is_not_null(), pl.struct(equal).is_duplicated())
    if repeated.is_empty():
        return
    first = repeated.unique([*keys, doc], keep="first", maintain_order=True)
    queries, all_queries = repeated.select(query).n_unique(), frame.select(query).n_unique()
    msg = (
        f"`doc` must be passed: {doc!r} may hold documents, and {repeated.height - first.height} "
        f"rows in {queries} of {all_queries} queries repeat a document of their ranking: "
        f"{first_few(first.select(*query, doc).rows())}\n\n"
        f"Hint: if {doc!r} holds documents, pass doc={doc!r} after "
        f".unique({[*keys, doc]!r}, keep='first', maintain_order=True); "
        "otherwise pass doc=None, which ranks each row as a document"
    )
    raise ValueError(msg)


def _check_not_shared(
    frame: pl.DataFrame, query: Sequence[str], keys: Sequence[str], doc: str, used: Sequence[str]
) -> None:
    """Raise if a further column separates rankings of the same documents."""
    rows = frame.filter(pl.col(doc).is_not_null())
    name = find_label(rows, rows, [*keys, doc], used, 0)
    if name is not None:
        msg = (
            f"`query` must separate rankings, got rankings with the same {doc!r} for "
            f"{rows.get_column(name).n_unique()} values of {name!r}\n\n"
            f"Hint: query={[*query, name]!r} makes each ranking a query; strategy={name!r} "
            "compares them as strategies; doc=None ranks each row as a document"
        )
        raise ValueError(msg)


def find_label(
    rows: pl.DataFrame,
    repeated: pl.DataFrame,
    columns: Sequence[str],
    used: Sequence[str],
    max_share: float,
) -> str | None:
    """Return a column that distinguishes nearly all repeated rows.

    `columns` are the keys of rankings and the column of documents. Rows of `repeated` with equal
    values in `columns` should differ in the returned column. At most the share `max_share` of the
    rows may break this rule. The returned column has at most `MAX_LABELS` distinct values in
    `rows`. Return None if there is no such column.
    """
    for name, dtype in repeated.schema.items():
        if name in {*columns, *used} or not (dtype in TEXT_TYPES or dtype.is_integer()):
            continue
        if 1 < rows.get_column(name).n_unique() <= MAX_LABELS:
            n_unexplained = repeated.select([*columns, name]).is_duplicated().sum()
            if n_unexplained <= max_share * repeated.height:
                return name
    return None
