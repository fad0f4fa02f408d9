"""Measure the combined recommendations to all users."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from polars_graded._checks import (
    check_column_name,
    check_columns,
    check_frame,
    check_number,
    check_whole_number,
    first_few,
)
from polars_graded._frames.arguments import NO_GRADE, By, Columns, Descending
from polars_graded._frames.contributions import RANK, rank_rows_of_strategies
from polars_graded._frames.directions import group_rankings
from polars_graded._frames.duplicates import Duplicates
from polars_graded._frames.request import Request
from polars_graded._measuring.document_columns import DEFAULT_DOC
from polars_graded._measuring.kernels.ragged import Integers
from polars_graded._measuring.keywords import checks_call
from polars_graded._measuring.ties import TiesArgument
from polars_graded._results.results import check_free_names

__all__ = ["catalogue"]

USERS = "polars_graded: users"
"""Column of the number of users of an item, under a name that no frame of a user contains."""

PROPERTIES = {
    "popularity": "polars_graded: popularity",
    "long_tail_share": "polars_graded: long tail",
}
"""Measures that average a property of items, and the column of the property."""


@checks_call
def catalogue(
    frame: Any,
    *,
    n: int = 10,
    items: Any = None,
    popularity: str | None = None,
    head: float = 0.2,
    query: Columns = "query",
    by: By = "score",
    strategy: str | None = None,
    ties: TiesArgument = None,
    descending: Descending = None,
    doc: str | None = DEFAULT_DOC,
) -> pl.DataFrame:
    r"""Measure what each strategy recommends to all users combined.

    Users are queries, and items are documents. The first n recommendations of each user are
    counted. Item j of the N items has the share :math:`p_j` of them, in ascending order:

    .. math::
        coverage = \frac{|\{j : p_j > 0\}|}{N} \qquad
        Gini = \frac{1}{N - 1} \sum_{j=1}^{N} (2j - N - 1) \, p_j \qquad
        H = -\sum_j p_j \log_2 p_j

    As text: ``coverage = recommended items / N; Gini = ∑ (2j - N - 1) p(j) / (N - 1);
    H = -∑ p(j) log2 p(j)``

    Parameters
    ----------
    frame
        Any data frame with one row per user and item, as for `evaluate`. Grades are not needed. A
        row with a null score is not recommended. A LazyFrame is collected.
    n
        The number of recommendations per user.
    items
        The catalogue: a frame with one row per item, and the column of documents of `frame`. By
        default, the items of `frame`, recommended or not.
    popularity
        The column of each item's popularity, in `items` if it is passed, otherwise in `frame`. By
        default, `popularity` and `long_tail_share` are left out.
    head
        The share of the catalogue that counts as popular, between 0 and 1. The other items are the
        long tail. An item is popular if fewer than `head` × N are more popular.
    query, by, strategy, ties, descending, doc
        As for `evaluate`. There must be a column of documents.

    Returns
    -------
    DataFrame
        One row per measure and strategy. Columns are Float64 unless stated otherwise:

        - `measure` (String), with the cutoff:

          - `catalogue_coverage`, the share of the items that are recommended to any user;
          - `gini_index`, from 0 (equal shares) to 1 (one item alone); null for one item;
          - `entropy`, in bits, from 0 for one item to log2 N for equal shares;
          - `popularity` and `long_tail_share`, the mean popularity of a user's items and their
            share in the long tail, averaged over users;
        - the strategy (under the name of its column), and `queries` (UInt32), the number of users;
        - `mean`, the value of the measure, null if nothing is recommended.

        A value depends on the number of users: more users get more different items. Compare
        strategies on the same users.

    Raises
    ------
    ValueError
        If there is no column of documents; if `items` lacks a recommended document; if an item has
        no popularity, several or a negative one. Other errors are those of `evaluate`.

    See Also
    --------
    evaluate : `popularity`, `novelty`, `diversity` and `serendipity` of each user.

    References
    ----------
    Ge, Delgado-Battenfeld, Jannach: Beyond accuracy: evaluating recommender systems by coverage and
    serendipity, 2010. Shani, Gunawardana: Evaluating recommendation systems, 2011, section 8.3.3.2
    (Gini index and entropy). Abdollahpouri, Burke, Mobasher: Managing popularity bias in
    recommender systems with personalized re-ranking, 2019 (popularity and the long tail).

    Examples
    --------
    User a gets the items x and y, and user b gets x and z. Nobody gets w.

    >>> run = pl.DataFrame(
    ...     {
    ...         "query": ["a", "a", "b", "b"],
    ...         "doc": ["x", "y", "x", "z"],
    ...         "score": [2.0, 1.0, 2.0, 1.0],
    ...     }
    ... )
    >>> items = pl.DataFrame({"doc": ["w", "x", "y", "z"], "views": [9, 8, 1, 0]})
    >>> measured = catalogue(run, n=2, items=items, popularity="views", head=0.5)
    >>> measured.select("measure", "strategy", "queries", "mean")
    shape: (5, 4)
    ┌──────────────────────┬──────────┬─────────┬──────┐
    │ measure              ┆ strategy ┆ queries ┆ mean │
    │ ---                  ┆ ---      ┆ ---     ┆ ---  │
    │ str                  ┆ str      ┆ u32     ┆ f64  │
    ╞══════════════════════╪══════════╪═════════╪══════╡
    │ catalogue_coverage@2 ┆ score    ┆ 2       ┆ 0.75 │
    │ gini_index@2         ┆ score    ┆ 2       ┆ 0.5  │
    │ entropy@2            ┆ score    ┆ 2       ┆ 1.5  │
    │ popularity@2         ┆ score    ┆ 2       ┆ 4.25 │
    │ long_tail_share@2    ┆ score    ┆ 2       ┆ 0.5  │
    └──────────────────────┴──────────┴─────────┴──────┘
    """
    head = check_number("head", head, above=0, below=1)
    run = {"query": query, "by": by, "strategy": strategy, "ties": ties, "descending": descending}
    key, lists = _recommend(frame, n, items, popularity, head, doc=doc, **run)
    check_free_names(("measure", "queries", "mean"), strategy=key)
    schema = {"measure": pl.String, key: pl.String, "queries": pl.UInt32, "mean": pl.Float64}
    tables = [pl.DataFrame(schema=schema)]
    for name, recommended in lists.items():
        means = _measure_recommendations(recommended)
        columns = {"measure": [*means], key: name, "queries": recommended.n_users}
        tables.append(pl.DataFrame(columns | {"mean": [*means.values()]}, schema))
    table = pl.concat(tables)
    names = table["measure"].unique(maintain_order=True)
    table = table.sort(pl.col("measure").cast(pl.Enum(names)), maintain_order=True)
    return table.with_columns(pl.col("measure") + f"@{n}")


class Recommendations(NamedTuple):
    """First recommendations of one strategy."""

    counts: Integers
    """For each item, the number of users who get it."""
    n_users: int
    means: Mapping[str, Any]
    """Means over users of `popularity` and `long_tail_share`; empty without popularity."""


def _measure_recommendations(recommended: Recommendations) -> dict[str, Any]:
    """Return the value of each measure; None if undefined."""
    counts, _, means = recommended
    total, n_items = counts.sum(), len(counts)
    if not total:
        return dict.fromkeys(("catalogue_coverage", "gini_index", "entropy", *means))
    p = counts[counts > 0] / total
    # Items that are not recommended have the lowest numbers j, and add 0 to the sum.
    place = np.arange(n_items - len(p) + 1, n_items + 1)
    gini = ((2 * place - n_items - 1) * np.sort(p)).sum() / max(n_items - 1, 1)
    return {
        "catalogue_coverage": len(p) / n_items,
        "gini_index": float(gini) if n_items > 1 else None,
        "entropy": float(abs((p * np.log2(p)).sum())),
        **means,
    }


def _recommend(
    frame: pl.DataFrame | pl.LazyFrame,
    n: int,
    items: Any,
    popularity: str | None,
    head: float,
    **options: Any,
) -> tuple[str, dict[str, Recommendations]]:
    """Return the column of strategies, and the first n recommendations of each strategy.

    The recommendations are ranked and checked as by `evaluate`.
    """
    request = Request.of(frame, ["n_retrieved"], grade=NO_GRADE, **options)
    check_whole_number("n", n)
    doc = request.document
    if doc is None:
        msg = (
            "`frame` must have a column of documents, got none\n\n"
            "Hint: doc= names the column of the recommended items"
        )
        raise ValueError(msg)
    catalogue_items = _read_items(frame, items, doc, popularity, head)
    properties = {name: column for name, column in PROPERTIES.items() if popularity is not None}
    rows = request.add_computed_columns(frame.lazy().select(request.input_columns).collect())
    Duplicates([request]).add(group_rankings(request, rows))
    lists = {}
    for name, ranked in rank_rows_of_strategies(request, rows):
        first = ranked.filter(pl.col(RANK) <= n).select(*request.query, doc)
        unknown = first.join(catalogue_items, on=doc, how="anti")[doc].unique().sort()
        if len(unknown):
            msg = (
                f"`items` must contain each recommended document, but lacks {len(unknown)}: "
                f"{first_few(unknown.to_list())}"
            )
            raise ValueError(msg)
        users = first.group_by(doc).agg(pl.len().alias(USERS))
        counts = catalogue_items.join(users, on=doc, how="left", maintain_order="left")[USERS]
        described = first.join(catalogue_items, on=doc, maintain_order="left")
        by_user = described.group_by(request.query, maintain_order=True).agg(
            pl.col(properties.values()).mean()
        )
        lists[name] = Recommendations(
            counts.fill_null(0).cast(pl.Int64).to_numpy(),
            ranked.n_unique(request.query),
            {each: by_user[column].mean() for each, column in properties.items()},
        )
    return request.key, lists


def _read_items(
    frame: pl.DataFrame | pl.LazyFrame, items: Any, doc: str, popularity: str | None, head: float
) -> pl.DataFrame:
    """Return the catalogue: one row per item, with its `PROPERTIES` if there is a popularity."""
    argument = "frame" if items is None else "items"
    source = frame if items is None else check_frame(argument, items)
    check_columns(argument, [doc], source.collect_schema(), argument="doc")
    if popularity is None:
        return source.lazy().select(doc).drop_nulls().unique(maintain_order=True).collect()
    columns = [check_column_name("popularity", popularity)]
    check_columns(argument, columns, source.collect_schema(), argument="popularity")
    dtype = source.collect_schema()[popularity]
    if not dtype.is_numeric():
        msg = f"popularity {popularity!r} must be a number, got {dtype}"
        raise TypeError(msg)
    value = pl.col(PROPERTIES["popularity"])
    values = pl.col(popularity).cast(pl.Float64).alias(PROPERTIES["popularity"])
    rows = source.lazy().select(doc, values).drop_nulls(doc).unique(maintain_order=True).collect()
    repeated = rows.filter(pl.col(doc).is_duplicated())[doc].unique().sort()
    if len(repeated):
        msg = (
            f"popularity {popularity!r} must have one value for each document of {doc!r}, got "
            f"several for {len(repeated)} of {rows[doc].n_unique()} documents: "
            f"{first_few(repeated.to_list())}"
        )
        raise ValueError(msg)
    is_right = value.is_finite() & (value >= 0)
    if n := rows.filter(~is_right.fill_null(value=False)).height:
        msg = (
            f"popularity {popularity!r} must be a number of at least 0 for each item, got "
            f"other values for {n} of {rows.height}\n\n"
            "Hint: .fill_null(0) counts an item as never chosen"
        )
        raise ValueError(msg)
    # In doubles, 0.07 · 100 is slightly above 7. Without rounding, 8 instead of 7 items of 100
    # would be popular.
    is_tail = value.rank("min", descending=True) - 1 >= round(head * rows.height, 9)
    return rows.with_columns(is_tail.cast(pl.Float64).alias(PROPERTIES["long_tail_share"]))
