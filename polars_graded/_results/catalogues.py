"""Measure the combined recommendations to all users."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from polars_graded._checks import check_columns, check_frame, check_whole_number, first_few
from polars_graded._frames.arguments import NO_GRADE, By, Columns, Descending
from polars_graded._frames.inspecting import RETRIEVED_RANK, rank_rows_of_strategies
from polars_graded._frames.ranking_checks import DocumentCheck, group_rankings
from polars_graded._frames.request import Request
from polars_graded._measuring.document_columns import DEFAULT_DOC
from polars_graded._measuring.kernels.ragged import Integers
from polars_graded._measuring.keywords import checks_call
from polars_graded._measuring.ties import TiesArgument
from polars_graded._results.results import check_free_names

__all__ = ["catalogue"]

USERS = "polars_graded: users"
"""Column of the number of users of an item, under a name that no frame of a user contains."""


@checks_call
def catalogue(
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
        - the strategy (under the name of its column), and `queries` (UInt32), the number of users;
        - `mean`, the value of the measure, null if nothing is recommended.

        A value depends on the number of users: more users get more different items. Compare
        strategies on the same users.

    Raises
    ------
    ValueError
        If there is no column of documents; if `items` lacks a recommended document. Other errors
        are those of `evaluate`.

    See Also
    --------
    evaluate : `popularity`, `novelty`, `diversity` and `serendipity` of each user.

    References
    ----------
    Ge, Delgado-Battenfeld, Jannach: Beyond accuracy: evaluating recommender systems by coverage and
    serendipity, 2010. Shani, Gunawardana: Evaluating recommendation systems, 2011, section 8.3.3.2
    (Gini index and entropy).

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
    >>> items = pl.DataFrame({"doc": ["w", "x", "y", "z"]})
    >>> catalogue(run, n=2, items=items)
    shape: (3, 4)
    ┌──────────────────────┬──────────┬─────────┬──────┐
    │ measure              ┆ strategy ┆ queries ┆ mean │
    │ ---                  ┆ ---      ┆ ---     ┆ ---  │
    │ str                  ┆ str      ┆ u32     ┆ f64  │
    ╞══════════════════════╪══════════╪═════════╪══════╡
    │ catalogue_coverage@2 ┆ score    ┆ 2       ┆ 0.75 │
    │ gini_index@2         ┆ score    ┆ 2       ┆ 0.5  │
    │ entropy@2            ┆ score    ┆ 2       ┆ 1.5  │
    └──────────────────────┴──────────┴─────────┴──────┘
    """
    check_whole_number("n", n)
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
    key = request.columns.strategy_key
    check_free_names(("measure", "queries", "mean"), strategy=key)
    schema = {"measure": pl.String, key: pl.String, "queries": pl.UInt32, "mean": pl.Float64}
    tables = [pl.DataFrame(schema=schema)]
    for name, ranked, counts in _count_recommendations(request, frame, n, items):
        values = _measure_shares(counts)
        columns: Any = {"measure": [f"{measure}@{n}" for measure in values], key: name}
        columns |= {"queries": ranked.n_unique(request.columns.query), "mean": [*values.values()]}
        tables.append(pl.DataFrame(columns, schema))
    table = pl.concat(tables)
    names = table["measure"].unique(maintain_order=True)
    return table.sort(pl.col("measure").cast(pl.Enum(names)), maintain_order=True)


def _measure_shares(counts: Integers) -> dict[str, float | None]:
    """Return the value of each measure; None if undefined.

    For each item, `counts` has the number of users who get it.
    """
    total, n_items = counts.sum(), len(counts)
    if not total:
        return dict.fromkeys(("catalogue_coverage", "gini_index", "entropy"))
    p = counts[counts > 0] / total
    # Items that are not recommended have the lowest numbers j, and add 0 to the sum.
    j = np.arange(n_items - len(p) + 1, n_items + 1)
    gini = ((2 * j - n_items - 1) * np.sort(p)).sum() / max(n_items - 1, 1)
    return {
        "catalogue_coverage": len(p) / n_items,
        "gini_index": float(gini) if n_items > 1 else None,
        "entropy": float(abs((p * np.log2(p)).sum())),
    }


def _count_recommendations(
    request: Request, frame: pl.DataFrame | pl.LazyFrame, n: int, items: Any
) -> Iterator[tuple[str, pl.DataFrame, Integers]]:
    """Yield each strategy, its ranked rows, and the number of users of each item.

    Users get the first n documents. Rows are ranked and checked as by `evaluate`.
    """
    doc = request.columns.document
    if doc is None:
        msg = (
            "`frame` must have a column of documents, got none\n\n"
            "Hint: doc= names the column of the recommended items"
        )
        raise ValueError(msg)
    argument = "frame" if items is None else "items"
    source = frame if items is None else check_frame(argument, items)
    check_columns(argument, [doc], source.collect_schema(), argument="doc")
    known_items = source.lazy().select(doc).drop_nulls().unique().collect()
    rows = request.read_rows(frame)
    DocumentCheck([request]).add(group_rankings(request, rows))
    for name, ranked in rank_rows_of_strategies(request, rows):
        users = ranked.filter(pl.col(RETRIEVED_RANK) <= n).group_by(doc).agg(pl.len().alias(USERS))
        unknown = users.join(known_items, on=doc, how="anti")[doc].sort()
        if len(unknown):
            msg = (
                f"`items` must contain each recommended document, but lacks {len(unknown)}: "
                f"{first_few(unknown.to_list())}"
            )
            raise ValueError(msg)
        counts = known_items.join(users, on=doc, how="left")[USERS].fill_null(0)
        yield name, ranked, counts.cast(pl.Int64).to_numpy()
