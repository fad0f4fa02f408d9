"""Estimate the propensity of each rank in a click log.

The propensity of a rank is the probability that users examine the document at this rank, divided
by the same probability for the first rank.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from polars_graded._checks import check_collected, check_columns, check_number
from polars_graded._clicks.logs import KEYS, Log, takes_log
from polars_graded._measuring.kernels.ragged import Floats, Integers
from polars_graded._warnings import DataWarning, warn_the_caller

__all__ = ["estimate_propensities"]

MIN_CLICKS = 50
"""Minimum number of clicks of a pool of ranks. Its propensity then has a standard error of about
1 / sqrt(50), or 14 %.

In simulated logs of 300 lists with 50 documents each, pools reduce the root mean square error of
the logarithm of a propensity from 7.7 to 0.33, and in logs of 20,000 lists from 0.095 to 0.087.
"""

MAX_STEPS = 2000
"""Maximum number of accelerated steps of the EM algorithm."""

MAX_CHANGE = 1e-7
"""The EM algorithm stops once a step changes each propensity by less than this."""


@takes_log
def estimate_propensities(
    log: Log,
    *,
    query: str | Sequence[str] = "query",
    doc: str = "doc",
    rank: str = "rank",
    clicked: str = "clicked",
    impressions: str | None = None,
) -> pl.DataFrame:
    r"""Estimate how often each rank is examined, relative to the first rank.

    In the position-based model a click has the probability :math:`\theta(r) \gamma(q, d)`: the
    propensity of the rank times the attractiveness of the document. Documents that were shown at
    several ranks reveal :math:`\theta`, because their attractiveness is the same at each rank.

    A rank below the first with fewer than 50 clicks on such documents shares its propensity with
    the next ranks, until they have 50 clicks together. The last ranks join those above.

    The propensities maximise the likelihood of the model, by the EM algorithm with the acceleration
    of Varadhan and Roland (2008). Only documents shown at several ranks are used.

    Parameters
    ----------
    log
        Any data frame, with one row per document shown, clicked or not. A LazyFrame is collected by
        the streaming engine.
    query, doc
        The columns of queries and of documents.
    rank
        The column of ranks, whole numbers from 1.
    clicked
        The column that states whether the document was clicked: Boolean, or 0 and 1.
    impressions
        As for `estimate_ctr`.

    Returns
    -------
    DataFrame
        One row per rank, with these columns in this order: `rank`, of the same type as in the log;
        `impressions` and `clicks` (Int64); `movable` (Int64), the number of pairs of a query and a
        document that were shown at this rank and also at another; and `propensity` (Float64), 1 for
        the first rank.

    Raises
    ------
    ValueError
        As for `count_clicks`; if a query or a document is null; if the documents shown at several
        ranks have no click at the first rank; if a rank is not linked to the first rank. Two ranks
        are linked if a document was shown at both, or if other ranks link them. Without links,
        attractiveness and propensities cannot be separated.

    See Also
    --------
    estimate_pbm : Estimates of the attractiveness of documents.
    count_clicks : Click rates by rank, which suffice if lists are in random order.

    Notes
    -----
    If some users see lists in random order, the propensity of a rank is the click-through rate of
    these lists at this rank, divided by their rate at rank 1 (Joachims, Swaminathan, Schnabel
    2017).

    References
    ----------
    Wang, Golbandi, Bendersky, Metzler, Najork: Position bias estimation for unbiased learning to
    rank in personal search, 2018. Varadhan, Roland: Simple and globally convergent
    methods for accelerating the convergence of any EM algorithm, 2008.

    Examples
    --------
    Each document is clicked half as often at rank 2:

    >>> log = pl.DataFrame(
    ...     {
    ...         "query": ["q"] * 4,
    ...         "doc": ["a", "b", "b", "a"],
    ...         "rank": [1, 2, 1, 2],
    ...         "shown": [10, 10, 10, 10],
    ...         "clicks": [8, 2, 4, 4],
    ...     }
    ... )
    >>> estimate_propensities(log, clicked="clicks", impressions="shown")
    shape: (2, 5)
    ┌──────┬─────────────┬────────┬─────────┬────────────┐
    │ rank ┆ impressions ┆ clicks ┆ movable ┆ propensity │
    │ ---  ┆ ---         ┆ ---    ┆ ---     ┆ ---        │
    │ i64  ┆ i64         ┆ i64    ┆ i64     ┆ f64        │
    ╞══════╪═════════════╪════════╪═════════╪════════════╡
    │ 1    ┆ 20          ┆ 12     ┆ 2       ┆ 1.0        │
    │ 2    ┆ 20          ┆ 6      ┆ 2       ┆ 0.5        │
    └──────┴─────────────┴────────┴─────────┴────────────┘
    """
    return log.rename(compute_propensities(log.count(*KEYS, "rank")))


def look_up_propensities(value: Any, cells: pl.DataFrame, rank: str) -> pl.DataFrame:
    """Return a checked frame of the propensities in a mapping or a frame.

    `cells` are counts by query, document and rank. Raise if a rank of the counts is missing.
    """
    if isinstance(value, Mapping):
        table = pl.DataFrame({"rank": [*value], "propensity": [*value.values()]}, strict=False)
    else:
        table = check_collected("propensities", value)
        # `estimate_propensities` names this column after the column of ranks in the log.
        if rank != "rank" and rank in table.columns:
            table = table.drop("rank", strict=False).rename({rank: "rank"})
    check_columns("propensities", ["rank", "propensity"], table.columns)
    if not table.schema["rank"].is_integer():
        msg = f"`propensities` must have whole numbers as ranks, got {table.schema['rank']}"
        raise TypeError(msg)
    if repeated := table["rank"].is_duplicated().sum():
        msg = f"`propensities` must have each rank once, got {repeated} rows of repeated ranks"
        raise ValueError(msg)
    for each in table["propensity"]:
        # By rounding, a frame of estimates may exceed 1.
        at_most = 1 if isinstance(value, Mapping) else None
        check_number("propensities", each, above=0, at_most=at_most)
    if missing := {*cells["rank"]} - {*table["rank"]}:
        msg = f"`propensities` must have each rank of `log`, got none for rank {min(missing)}"
        raise ValueError(msg)
    return table


def compute_propensities(cells: pl.DataFrame) -> pl.DataFrame:
    """Return counts and the propensity of each rank.

    `cells` are counts by query, document and rank.
    """
    cells = cells.filter(pl.col("impressions") > 0)
    by_rank, movable_cells = _count_by_rank(cells)
    if by_rank.height < 2:  # noqa: PLR2004
        return by_rank.with_columns(propensity=pl.lit(1.0))
    _check_links(by_rank["rank"], *_number_ranks_and_documents(by_rank, movable_cells))
    if not movable_cells.filter(pl.col("rank") == by_rank["rank"][0])["clicks"].sum():
        msg = "documents shown at several ranks must have clicks at the first rank, got none"
        raise ValueError(msg)
    pools = _pool_ranks(by_rank, movable_cells)
    pooled_cells = (
        cells.with_columns(pl.col("rank").replace_strict(by_rank["rank"], pools))
        .group_by(*KEYS, "rank")
        .agg(pl.col("impressions", "clicks").sum())
    )
    by_pool, movable_cells = _count_by_rank(pooled_cells)
    values = _run_em(movable_cells, *_number_ranks_and_documents(by_pool, movable_cells))
    propensity = pools.replace_strict(by_pool["rank"], pl.Series(values))
    return by_rank.with_columns(propensity.alias("propensity"))


def _count_by_rank(cells: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the counts of each rank, and the sorted cells of documents at several ranks.

    A document that was shown at one rank only does not reveal the propensity of this rank.
    """
    is_movable = (pl.len().over(KEYS) > 1).alias("movable")
    sorted_cells = cells.with_columns(is_movable).sort(*KEYS, "rank")
    counts = pl.col("impressions", "clicks").sum(), pl.col("movable").sum().cast(pl.Int64)
    by_rank = sorted_cells.group_by("rank").agg(counts).sort("rank")
    return by_rank, sorted_cells.filter("movable")


def _pool_ranks(by_rank: pl.DataFrame, movable_cells: pl.DataFrame) -> pl.Series:
    """Return the first rank of the pool of each rank.

    From the second rank on, a pool has as many ranks as it needs for `MIN_CLICKS` clicks. The last
    ranks join the pool above them if they have fewer clicks together. The first rank is alone.
    """
    clicks = movable_cells.group_by("rank").agg(pl.col("clicks").sum().alias("of_movable"))
    counts = by_rank.join(clicks, on="rank", how="left", maintain_order="left")
    pools: list[list[int]] = []
    n_clicks = MIN_CLICKS
    for rank, n in counts[1:].select("rank", pl.col("of_movable").fill_null(0)).rows():
        if n_clicks >= MIN_CLICKS:
            pools.append([])
            n_clicks = 0
        pools[-1].append(rank)
        n_clicks += n
    if n_clicks < MIN_CLICKS and len(pools) > 1:
        pools[-2:] = [pools[-2] + pools[-1]]
    starts = [pool[0] for pool in pools for _ in pool]
    return by_rank["rank"].head(1).append(pl.Series(starts, dtype=by_rank.schema["rank"]))


def _number_ranks_and_documents(
    by_rank: pl.DataFrame, movable_cells: pl.DataFrame
) -> tuple[Integers, Integers]:
    """Return the numbers of the rank and of the document of each cell, both counted from 0."""
    r = by_rank["rank"].search_sorted(movable_cells["rank"])
    d = movable_cells.select(pl.struct(KEYS).rle_id()).to_series()
    return r.to_numpy().astype(np.int64), d.to_numpy().astype(np.int64)


def _check_links(ranks: pl.Series, r: Integers, d: Integers) -> None:
    """Raise unless documents shown at several ranks link all ranks.

    A document links the ranks at which it was shown, and ranks can be linked through other ranks.
    Document `d[i]` was shown at rank `r[i]`, both counted from 0.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if not len(d):
        msg = (
            "each document of `log` was shown at one rank only, so propensities and attractiveness "
            "cannot be separated\n\nHint: show some lists in another order; estimate_pbm(log, "
            "propensities={...}) takes known propensities"
        )
        raise ValueError(msg)
    # A graph with an edge from each rank to each document shown there.
    k = len(ranks)
    edges = coo_array((np.ones(len(r)), (r, k + d)), shape=(k + d.max() + 1,) * 2)
    _, groups = connected_components(edges, directed=False)
    if unlinked := ranks.filter(pl.Series(groups[:k] != groups[0])).to_list():
        msg = (
            f"documents must link all ranks, got no link from rank {ranks[0]} to rank "
            f"{unlinked[0]} ({len(unlinked)} unlinked ranks in all)\n\n"
            "Hint: leave out these ranks; estimate_pbm(log, propensities={...}) takes known "
            "propensities"
        )
        raise ValueError(msg)


def _run_em(movable_cells: pl.DataFrame, r: Integers, d: Integers) -> Floats:
    """Return the propensities that maximise the likelihood, by EM.

    Row i of the counts belongs to document `d[i]` at rank `r[i]`, both counted from 0. A parameter
    vector contains the propensities of all ranks but the first, followed by the attractiveness of
    all documents. The propensity of the first rank is always 1.
    """
    n = movable_cells["impressions"].to_numpy().astype(float)
    c = movable_cells["clicks"].to_numpy().astype(float)
    by_r, by_d = np.bincount(r, n), np.bincount(d, n)
    k = len(by_r)

    def step(parameters: Floats) -> Floats:
        theta, gamma = np.append(1.0, parameters[: k - 1])[r], parameters[k - 1 :][d]
        # P(examined | no click) = θ (1 - γ) / (1 - θ γ); P(attractive | no click) swaps θ and γ.
        missed = (n - c) / np.maximum(1 - theta * gamma, 1e-12)
        examined = np.bincount(r, c + missed * theta * (1 - gamma)) / by_r
        attractive = np.bincount(d, c + missed * gamma * (1 - theta)) / by_d
        return np.concatenate([examined[1:], attractive])

    rates = np.bincount(r, c) / by_r
    start = np.clip(rates[1:] / max(rates[0], 1e-12), 0.05, 0.95)
    parameters = np.concatenate([start, np.clip(np.bincount(d, c) / by_d, 0.01, 0.99)])
    for _ in range(MAX_STEPS):
        first = step(parameters)
        second = step(first)
        change, curvature = first - parameters, second - 2 * first + parameters
        if np.abs(change[: k - 1]).max() < MAX_CHANGE:
            break
        length = np.linalg.norm(curvature)
        a = max(float(np.linalg.norm(change) / length), 1.0) if length > 0 else 1.0
        jumped = np.clip(parameters + 2 * a * change + a**2 * curvature, 1e-12, 1 - 1e-12)
        parameters = step(jumped)
    else:
        warn_the_caller(
            DataWarning.positions,
            f"the propensities have not converged in {MAX_STEPS} steps of the EM algorithm; the "
            f"last step changed them by up to {np.abs(change[: k - 1]).max():.2g}",
        )
    return np.append(1.0, parameters[: k - 1])
