"""Measure the combined recommendations to all users."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from polars_graded._checks import (
    check_column_name,
    check_columns,
    check_frame,
    check_level,
    check_number,
    check_whole_number,
    first_few,
)
from polars_graded._frames.arguments import NO_GRADE, By, Columns, Descending
from polars_graded._frames.contributions import RANK, TIED, rank_rows_of_strategies
from polars_graded._frames.directions import check_directions
from polars_graded._frames.duplicates import Duplicates
from polars_graded._frames.request import Request
from polars_graded._frames.rows import Groups
from polars_graded._measuring.document_columns import DEFAULT_DOC
from polars_graded._measuring.kernels.ragged import Floats, Integers
from polars_graded._measuring.keywords import checks_keywords
from polars_graded._measuring.ties import TiesArgument
from polars_graded._results.jackknife import SAME_VALUE, compute_jackknife_margin
from polars_graded._results.tables import check_free_names
from polars_graded._results.units import find_repetition, warn_of_dependence
from polars_graded._warnings import DataWarning, warn_the_caller

__all__ = ["catalogue", "catalogue_curve"]

ITEM, USER, POPULARITY = (f"polars_graded: {name}" for name in ("item", "user", "popularity"))
"""Names of temporary columns, which no frame of a user contains."""

MIN_USERS = 50
"""Minimum number of users for an interval. With fewer, too many intervals miss the true value."""


@checks_keywords
def catalogue(
    frame: Any,
    *,
    n: int = 10,
    items: Any = None,
    popularity: str | None = None,
    head: float = 0.2,
    confidence: float = 0.95,
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
    confidence
        The confidence of the intervals, between 0 and 1.

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
        - `mean`, the value of the measure, null if nothing is recommended;
        - `ci_low`, `ci_high`: an interval by the jackknife over users, for the expected value with
          this number of users. The page "Measures" of the documentation defines it;
        - `confidence`;
        - `note` (String): the reason for a null value or interval, such as fewer than 50 users;
          otherwise null.

    Raises
    ------
    ValueError
        If there is no column of documents; if `items` repeats an item or lacks a recommended one;
        if an item has no popularity, several or a negative one. Other errors are those of
        `evaluate`.

    Warns
    -----
    DataWarning.ties
        If `ties` is not passed and documents with equal scores are on both sides of rank n.

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
    level, head = check_level(confidence), check_number("head", head, above=0, below=1)
    request = Request.of(
        ["n_retrieved"],
        grade=NO_GRADE,
        query=query,
        by=by,
        strategy=strategy,
        ties=ties,
        descending=descending,
        doc=doc,
    )
    numbers = ("mean", "ci_low", "ci_high", "confidence")
    check_free_names(("measure", "queries", *numbers, "note"), strategy=request.key)
    tables = []
    for name, recommended in _recommend(request, frame, n, items, popularity, head):
        without = recommended.leave_out_each_user()
        highest = dict.fromkeys(UNIT_MEASURES, 1.0)
        highest["entropy"] = math.log2(max(recommended.n_items, 1))
        for measure, value in recommended.measure().items():
            margin = compute_jackknife_margin(without[measure], level)
            note = _explain_missing(recommended, value, margin)
            ends: dict[str, float | None] = {"ci_low": None, "ci_high": None}
            if value is not None and margin is not None and note is None:
                limit = highest.get(measure, math.inf)
                ends = {"ci_low": max(value - margin, 0.0), "ci_high": min(value + margin, limit)}
            tables.append(
                {
                    "measure": f"{measure}@{n}",
                    request.key: name,
                    "queries": recommended.n_users,
                    "mean": value,
                    **ends,
                    "confidence": confidence,
                    "note": note,
                }
            )
    repetition = find_repetition(check_frame("frame", frame), request.query)
    warn_of_dependence(repetition, ". Intervals may be too short")
    schema: dict[str, Any] = {"measure": pl.String, request.key: pl.String, "queries": pl.UInt32}
    schema |= dict.fromkeys(numbers, pl.Float64) | {"note": pl.String}
    table = pl.DataFrame(tables, schema)
    names = table.get_column("measure").unique(maintain_order=True)
    return table.sort(pl.col("measure").cast(pl.Enum(names)), maintain_order=True)


@checks_keywords
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

    Warns
    -----
    DataWarning.ties
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


UNIT_MEASURES = ("catalogue_coverage", "gini_index", "long_tail_share")
"""Measures from 0 to 1."""


@dataclass(frozen=True)
class Recommendations:
    """First recommendations of one strategy: indices of users and items."""

    users: Integers
    items: Integers
    n_users: int
    n_items: int
    means: Mapping[str, Floats]
    """Means over the recommended items of each user: `popularity` and `long_tail_share`. They are
    NaN for a user without recommendations. Without popularity, the mapping is empty."""

    @cached_property
    def counts(self) -> Floats:
        """Return, for each item, the number of users who get it."""
        return np.bincount(self.items, minlength=self.n_items).astype(np.float64)

    def measure(self) -> dict[str, float | None]:
        """Return the value of each measure; None if undefined."""
        total, n_items = self.counts.sum(), self.n_items
        names = ("catalogue_coverage", "gini_index", "entropy", *self.means)
        if not total:
            return dict.fromkeys(names)
        p = self.counts[self.counts > 0] / total
        # Items that are not recommended have the lowest numbers j, and add 0 to the sum.
        place = np.arange(n_items - len(p) + 1, n_items + 1)
        gini = ((2 * place - n_items - 1) * np.sort(p)).sum() / (n_items - 1 or np.nan)
        values = [len(p) / n_items, gini, abs((p * np.log2(p)).sum())]
        values += [np.nanmean(means) for means in self.means.values()]
        return {
            name: None if np.isnan(value) else float(value)
            for name, value in zip(names, values, strict=True)
        }

    def leave_out_each_user(self) -> dict[str, Floats]:
        """Return the value of each measure without each user; NaN if undefined."""
        n_items, counts = self.n_items, self.counts
        # Count of the item of each recommendation. Without the user, it is lower by 1.
        count = counts[self.items]

        def sum_by_user(values: Floats) -> Floats:
            sums = np.bincount(self.users, values, minlength=self.n_users)
            return sums.astype(np.float64, copy=False)

        total = counts.sum() - sum_by_user(np.ones(len(count)))
        covered = np.count_nonzero(counts) - sum_by_user((count == 1) * 1.0)
        # With the counts c of all items, H = log2(∑ c) - ∑ c log2 c / ∑ c.
        lost = _multiply_by_log(count) - _multiply_by_log(count - 1)
        logs = _multiply_by_log(counts).sum() - sum_by_user(lost)
        # With the sorted counts c, the Gini index is ∑ (2j - N - 1) c(j) / ((N - 1) ∑ c). If the
        # first of several items with the same count loses 1, the counts are still sorted. So the
        # items of a user with the same count have the first places of this count.
        order = np.lexsort((count, self.users))
        user, sorted_count = self.users[order], count[order]
        is_first = (np.diff(user, prepend=-1) != 0) | (np.diff(sorted_count, prepend=-1) != 0)
        first = np.maximum.accumulate(np.where(is_first, np.arange(len(order)), 0))
        place = np.arange(len(order)) - first
        place += 1 + np.searchsorted(np.sort(counts), sorted_count)
        weights = np.sort(counts) @ (2.0 * np.arange(1, n_items + 1) - n_items - 1)
        weights -= np.bincount(user, 2.0 * place - n_items - 1, minlength=self.n_users)
        with np.errstate(divide="ignore", invalid="ignore"):
            return {
                "catalogue_coverage": np.where(total > 0, covered / n_items, np.nan),
                "gini_index": weights / total / (n_items - 1 or np.nan),
                "entropy": np.log2(total) - logs / total,
                **{name: _leave_out_each(means) for name, means in self.means.items()},
            }


def _multiply_by_log(counts: Floats) -> Floats:
    """Return c log2 c of each count c; 0 for 0."""
    products: Floats = counts * np.log2(np.maximum(counts, 1))
    return products


def _leave_out_each(values: Floats) -> Floats:
    """Return the mean of the other values for each value that is not NaN."""
    values = values[~np.isnan(values)]
    without: Floats = (values.sum() - values) / (len(values) - 1)
    return without


def _explain_missing(
    recommended: Recommendations, value: float | None, margin: float | None
) -> str | None:
    """Return the reason for a missing value or interval; None if nothing is missing."""
    if value is None:
        if recommended.counts.any():
            return "a catalogue of one item has no Gini index"
        return "nothing is recommended"
    if recommended.n_users < MIN_USERS:
        return f"an interval needs at least {MIN_USERS} users"
    return SAME_VALUE.format(unit="user") if margin is None else None


def _recommend(
    request: Request, frame: Any, n: int, items: Any, popularity: str | None, head: float
) -> Iterator[tuple[str, Recommendations]]:
    """Yield each strategy and its first n recommendations.

    The recommendations are ranked and checked as by `evaluate`.
    """
    check_whole_number("n", n)
    request, opened = request.open_frame(frame)
    doc = request.document
    if doc is None:
        msg = (
            "`frame` must have a column of documents, got none\n\n"
            "Hint: doc= names the column of the recommended items"
        )
        raise ValueError(msg)
    columns = [] if popularity is None else [check_column_name("popularity", popularity)]
    argument = "frame" if items is None else "items"
    source = opened if items is None else check_frame(argument, items)
    schema = source.collect_schema()
    check_columns(argument, [doc], schema, argument="doc")
    check_columns(argument, columns, schema, argument="popularity")
    kinds = opened.collect_schema()[doc], schema[doc]
    if kinds[0] != kinds[1] and not all(kind.is_integer() for kind in kinds):
        types = f"{kinds[0]} in `frame` and {kinds[1]} in `items`"
        msg = f"{doc!r} must have one data type, got {types}: cast one of them"
        raise TypeError(msg)
    rows = request.add_computed_columns(opened.lazy().select(request.input_columns).collect())
    groups = Groups.of(rows, request.keys, request.document_columns)
    check_directions(request, groups)
    Duplicates([request]).check(groups)
    catalogue_items = _read_items(
        source.lazy().select(doc, *columns).collect(), popularity, items is None
    )
    properties = {} if popularity is None else _describe_items(catalogue_items, popularity, head)
    for name, ranked in rank_rows_of_strategies(request, rows):
        if not request.ties.are_passed:
            _warn_of_ties(request, name, ranked, n)
        users = ranked.select(request.query).unique(maintain_order=True).with_row_index(USER)
        first = ranked.filter(pl.col(RANK) <= n).join(
            users, on=request.query, how="left", nulls_equal=True, maintain_order="left"
        )
        first = first.join(
            catalogue_items.select(doc, ITEM),
            on=doc,
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )
        if nulls := first.get_column(doc).null_count():
            msg = (
                f"`frame` must have a document in {doc!r} for each recommendation, got null in "
                f"{nulls} of {first.height} rows of {name!r}"
            )
            raise ValueError(msg)
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
        yield name, Recommendations(user, item, users.height, catalogue_items.height, means)


def _read_items(rows: pl.DataFrame, popularity: str | None, is_frame: bool) -> pl.DataFrame:  # noqa: FBT001
    """Return the catalogue, one row per item, with the index of each item.

    With `is_frame`, the rows are those of the argument `frame`, which may repeat an item.
    """
    doc = rows.columns[0]
    if not is_frame and (nulls := rows.get_column(doc).null_count()):
        msg = f"`items` must name an item in each row, got null in {nulls} of {rows.height} rows"
        raise ValueError(msg)
    items = rows.drop_nulls(doc).unique(maintain_order=True) if is_frame else rows
    repeated = items.filter(pl.col(doc).is_duplicated()).get_column(doc).unique().sort()
    if len(repeated):
        subject = f"popularity {popularity!r}" if is_frame else "`items`"
        rule = f"one value for each document of {doc!r}" if is_frame else "each document once"
        msg = (
            f"{subject} must have {rule}, got several for {len(repeated)} of "
            f"{items.get_column(doc).n_unique()} documents: {first_few(repeated.to_list())}"
        )
        raise ValueError(msg)
    return items.with_row_index(ITEM)


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


def _warn_of_ties(request: Request, name: str, ranked: pl.DataFrame, n: int) -> None:
    """Warn if documents with equal scores are on both sides of rank n."""
    edge = ranked.filter(pl.col(RANK).is_between(n, n + 1), TIED)
    score = pl.struct(request.find_columns(name))
    pairs = edge.group_by(request.query).agg(n=pl.len(), scores=score.n_unique())
    if several := pairs.filter(n=2, scores=1).height:
        warn_the_caller(
            DataWarning.ties,
            f"the order of documents with the same score decides which are among the first {n} "
            f"of {name!r}, for {several} of {ranked.select(request.query).n_unique()} queries\n\n"
            f"Hint: ties={request.document!r} breaks ties by that column",
        )
