"""Measure the combined recommendations to all users."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
from polars_graded._measuring.kernels.ragged import Floats, Integers
from polars_graded._measuring.keywords import checks_call
from polars_graded._measuring.ties import TiesArgument
from polars_graded._results.results import check_free_names

__all__ = ["catalogue", "catalogue_curve"]

ITEM, USER, POPULARITY = (f"polars_graded: {name}" for name in ("item", "user", "popularity"))
"""Names of temporary columns, which no frame of a user contains."""


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
    catalogue_curve : The Lorenz curve, from which the Gini index can be computed.
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
    request = Request.of(
        frame,
        ["n_retrieved"],
        grade=NO_GRADE,
        query=query,
        by=by,
        strategy=strategy,
        ties=ties,
        descending=descending,
        doc=doc,
    )
    check_free_names(("measure", "queries", "mean"), strategy=request.key)
    rows = [
        {
            "measure": f"{measure}@{n}",
            request.key: name,
            "queries": recommended.n_users,
            "mean": value,
        }
        for name, recommended in _recommend(request, frame, n, items, popularity, head)
        for measure, value in _measure_recommendations(recommended).items()
    ]
    key = {request.key: pl.String}
    table = pl.DataFrame(
        rows, {"measure": pl.String, **key, "queries": pl.UInt32, "mean": pl.Float64}
    )
    names = table.get_column("measure").unique(maintain_order=True)
    return table.sort(pl.col("measure").cast(pl.Enum(names)), maintain_order=True)


@checks_call
def catalogue_curve(
    frame: Any,
    *,
    n: int = 10,
    items: Any = None,
    query: Columns = "query",
    by: By = "score",
    strategy: str | None = None,
    ties: TiesArgument = None,
    descending: Descending = None,
    doc: str | None = DEFAULT_DOC,
) -> pl.DataFrame:
    """Return the Lorenz curve of the recommendations of each strategy.

    The items of the catalogue are sorted by the number of users to whom they are recommended, the
    lowest number first. The first k items in this order make one point of the curve. The point has
    two coordinates: the share of these k items in all items, and their share in all
    recommendations. If all items are recommended equally often, the curve is the diagonal. Let A be
    the area between the curve and the diagonal. For N items, the Gini index of `catalogue` is
    2 A N / (N - 1).

    Parameters
    ----------
    frame, n, items, query, by, strategy, ties, descending, doc
        As for `catalogue`.

    Returns
    -------
    DataFrame
        One row per strategy and corner of its curve: the strategy, `items` and `recommendations`
        (Float64, from 0 to 1), from (0, 0) to (1, 1). Strategies come in the order of `evaluate`. A
        strategy that recommends nothing has no rows.

    Raises
    ------
    ValueError
        As for `catalogue`.

    See Also
    --------
    catalogue : Coverage, Gini index and entropy of the same recommendations.
    charts.catalogue_curves : Chart of these curves.

    References
    ----------
    Lorenz: Methods of measuring the concentration of wealth, 1905. Shani, Gunawardana: Evaluating
    recommendation systems, 2011, section 8.3.3.2.

    Examples
    --------
    Of four items, x is recommended to both users, y to one user, and v and w to nobody. So x, a
    quarter of the items, has two thirds of the recommendations.

    >>> run = pl.DataFrame({"query": [1, 1, 2], "doc": ["x", "y", "x"], "score": [2.0, 1.0, 2.0]})
    >>> catalogue_curve(run, items=pl.DataFrame({"doc": ["v", "w", "x", "y"]}))
    shape: (4, 3)
    ┌──────────┬───────┬─────────────────┐
    │ strategy ┆ items ┆ recommendations │
    │ ---      ┆ ---   ┆ ---             │
    │ str      ┆ f64   ┆ f64             │
    ╞══════════╪═══════╪═════════════════╡
    │ score    ┆ 0.0   ┆ 0.0             │
    │ score    ┆ 0.5   ┆ 0.0             │
    │ score    ┆ 0.75  ┆ 0.333333        │
    │ score    ┆ 1.0   ┆ 1.0             │
    └──────────┴───────┴─────────────────┘
    """
    request = Request.of(
        frame,
        ["n_retrieved"],
        grade=NO_GRADE,
        query=query,
        by=by,
        strategy=strategy,
        ties=ties,
        descending=descending,
        doc=doc,
    )
    check_free_names(("items", "recommendations"), strategy=request.key)
    curves = []
    for name, recommended in _recommend(request, frame, n, items, None, 0.0):
        counts = np.sort(recommended.counts)
        corners = np.append(np.flatnonzero(np.diff(counts, prepend=-1)), len(counts))
        if counts.any():
            points = {
                "items": corners / len(counts),
                "recommendations": np.append(0, np.cumsum(counts))[corners] / counts.sum(),
            }
            curves.append(pl.DataFrame(points).select(pl.lit(name).alias(request.key), pl.all()))
    schema = {request.key: pl.String, "items": pl.Float64, "recommendations": pl.Float64}
    return pl.concat([pl.DataFrame(schema=schema), *curves])


class Recommendations(NamedTuple):
    """First recommendations of one strategy."""

    counts: Integers
    """For each item, the number of users who get it."""
    n_users: int
    means: Mapping[str, Floats]
    """Means over the recommended items of each user: `popularity` and `long_tail_share`. They are
    NaN for a user without recommendations. Without popularity, the mapping is empty."""


def _measure_recommendations(recommended: Recommendations) -> dict[str, float | None]:
    """Return the value of each measure; None if undefined."""
    counts, _, means = recommended
    total, n_items = counts.sum(), len(counts)
    names = ("catalogue_coverage", "gini_index", "entropy", *means)
    if not total:
        return dict.fromkeys(names)
    p = counts[counts > 0] / total
    # Items that are not recommended have the lowest numbers j, and add 0 to the sum.
    place = np.arange(n_items - len(p) + 1, n_items + 1)
    gini = ((2 * place - n_items - 1) * np.sort(p)).sum() / (n_items - 1 or np.nan)
    values = [len(p) / n_items, gini, abs((p * np.log2(p)).sum())]
    values += [np.nanmean(of_users) for of_users in means.values()]
    return {
        name: None if np.isnan(value) else float(value)
        for name, value in zip(names, values, strict=True)
    }


def _recommend(
    request: Request, frame: Any, n: int, items: Any, popularity: str | None, head: float
) -> Iterator[tuple[str, Recommendations]]:
    """Yield each strategy and its first n recommendations.

    The recommendations are ranked and checked as by `evaluate`.
    """
    check_whole_number("n", n)
    doc = request.document
    if doc is None:
        msg = (
            "`frame` must have a column of documents, got none\n\n"
            "Hint: doc= names the column of the recommended items"
        )
        raise ValueError(msg)
    catalogue_items = _read_items(frame, items, doc, popularity)
    rows = request.add_computed_columns(frame.lazy().select(request.input_columns).collect())
    groups = group_rankings(request, rows)
    Duplicates([request]).add(groups)
    properties = {} if popularity is None else _describe_items(catalogue_items, popularity, head)
    for name, ranked in rank_rows_of_strategies(request, rows):
        users = ranked.select(request.query).unique(maintain_order=True).with_row_index(USER)
        first = ranked.filter(pl.col(RANK) <= n)
        for keys, numbered in ((request.query, users), ([doc], catalogue_items.select(doc, ITEM))):
            first = first.join(
                numbered, on=keys, how="left", nulls_equal=True, maintain_order="left"
            )
        missing = first.filter(pl.col(ITEM).is_null()).get_column(doc).unique().sort()
        if len(missing):
            msg = (
                f"`items` must contain each recommended document, but lacks {len(missing)}: "
                f"{first_few(missing.to_list())}"
            )
            raise ValueError(msg)
        user, item = (first.get_column(key).to_numpy().astype(np.int64) for key in (USER, ITEM))
        length = np.bincount(user, minlength=users.height)
        means = {
            key: np.bincount(user, each[item], minlength=users.height)
            / np.where(length > 0, length, np.nan)
            for key, each in properties.items()
        }
        counts = np.bincount(item, minlength=catalogue_items.height)
        yield name, Recommendations(counts, users.height, means)


def _read_items(
    frame: pl.DataFrame | pl.LazyFrame, items: Any, doc: str, popularity: str | None
) -> pl.DataFrame:
    """Return the catalogue, one row per item, with the index of each item."""
    argument = "frame" if items is None else "items"
    source = frame if items is None else check_frame(argument, items)
    columns = [] if popularity is None else [check_column_name("popularity", popularity)]
    check_columns(argument, [doc], source.collect_schema(), argument="doc")
    check_columns(argument, columns, source.collect_schema(), argument="popularity")
    rows = source.lazy().select(doc, *columns).drop_nulls(doc).unique(maintain_order=True).collect()
    repeated = rows.filter(pl.col(doc).is_duplicated()).get_column(doc).unique().sort()
    if len(repeated):
        msg = (
            f"popularity {popularity!r} must have one value for each document of {doc!r}, got "
            f"several for {len(repeated)} of {rows.get_column(doc).n_unique()} documents: "
            f"{first_few(repeated.to_list())}"
        )
        raise ValueError(msg)
    return rows.with_row_index(ITEM)


def _describe_items(items: pl.DataFrame, popularity: str, head: float) -> dict[str, Floats]:
    """Return each item's popularity, and 1 for items in the long tail, else 0."""
    values = items.get_column(popularity)
    if not values.dtype.is_numeric():
        msg = f"popularity {popularity!r} must be a number, got {values.dtype}"
        raise TypeError(msg)
    numbers = values.cast(pl.Float64)
    if n := numbers.len() - int((numbers.is_finite() & (numbers >= 0)).sum()):
        msg = (
            f"popularity {popularity!r} must be a number of at least 0 for each item, got "
            f"other values for {n} of {items.height}\n\n"
            "Hint: .fill_null(0) counts an item as never chosen"
        )
        raise ValueError(msg)
    # In doubles, 0.07 · 100 is slightly above 7. Without rounding, 8 instead of 7 items of 100
    # would be popular.
    is_tail = numbers.rank("min", descending=True) - 1 >= round(head * items.height, 9)
    return {
        "popularity": numbers.to_numpy(),
        "long_tail_share": is_tail.cast(pl.Float64).to_numpy(),
    }
