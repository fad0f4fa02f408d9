"""Descriptions of click logs: what was shown, and where people clicked."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from polars_graded._checks import MAX_SHOWN_VALUES, first_few
from polars_graded._clicks.logs import KEYS, LISTS, Log, compute_interval, find_z, refuse, takes_log
from polars_graded._warnings import DataWarning, warn_the_caller

__all__ = ["count_clicks", "describe_log"]

MAX_SESSION_CLICKS = 1000
"""Maximum number of clicks of a session that is not reported as a bot."""

VALID_RANK = pl.when(pl.col("rank") >= 1).then("rank")
"""Rank of a row, or null if it is below 1."""


@takes_log
def describe_log(
    log: Log,
    *,
    query: str | Sequence[str] = "query",
    doc: str = "doc",
    rank: str = "rank",
    clicked: str = "clicked",
    session: str = "session",
) -> pl.DataFrame:
    """Describe a click log: what was shown, what was clicked, and what is wrong.

    This function counts invalid rows. Other functions raise an error for invalid values in a column
    that they use. A result list contains the documents shown for one query in one session.

    Parameters
    ----------
    log
        Any data frame, with one row per document shown, clicked or not. The rows of a LazyFrame are
        streamed.
    query, doc
        The columns of queries and of documents. All queries with a null count as one.
    rank
        The column of ranks, whole numbers from 1.
    clicked
        The column that states whether the document was clicked: Boolean, or 0 and 1.
    session
        The column that distinguishes result lists of the same query.

    Returns
    -------
    DataFrame
        One row. All columns are Int64, except `click_rate` and `movable_share` (Float64):

        - the numbers of `lists` (pairs of a session and a query), `sessions`, `queries`,
          `documents` (pairs of a query and a document), `impressions` (rows) and `clicks`;
        - `click_rate`: clicks over impressions, or null if there are no rows;
        - `movable_share`: the share of documents that were shown at two or more different ranks.
          Documents without a rank are left out. The share is null if no document has a rank. With
          a share of 0, the quality of documents cannot be separated from their ranks;
        - `lists_without_click`;
        - `duplicate_rows`: rows that repeat a document of a list;
        - `gap_lists`: lists in which some rank from 1 to the last rank has no document;
        - `invalid_ranks`: rows whose rank is null or below 1;
        - `hidden_clicks`: clicks in rows with an invalid rank. Example: after a full join of clicks
          and shown documents, a click on a document that was not shown has no rank;
        - `invalid_clicks`: rows whose `clicked` is null or another value than 0 and 1;
        - `max_session_clicks`: the largest number of clicks of a session.

    Raises
    ------
    ValueError
        If a session is null, since its rows belong to no list.

    Warns
    -----
    DataWarning.positions
        If `movable_share` is 0.
    DataWarning.bots
        If a session has more than 1000 clicks.

    See Also
    --------
    count_clicks : Clicks by rank.

    Examples
    --------
    Documents a and b were shown at ranks 1 and 2, and c only at rank 3. The second list has no
    click:

    >>> log = pl.DataFrame(
    ...     {
    ...         "session": [1, 1, 1, 2, 2],
    ...         "query": ["q"] * 5,
    ...         "doc": ["a", "b", "c", "b", "a"],
    ...         "rank": [1, 2, 3, 1, 2],
    ...         "clicked": [True, False, True, False, False],
    ...     }
    ... )
    >>> described = describe_log(log)
    >>> described.select("lists", "documents", "clicks", "movable_share", "lists_without_click")
    shape: (1, 5)
    ┌───────┬───────────┬────────┬───────────────┬─────────────────────┐
    │ lists ┆ documents ┆ clicks ┆ movable_share ┆ lists_without_click │
    │ ---   ┆ ---       ┆ ---    ┆ ---           ┆ ---                 │
    │ i64   ┆ i64       ┆ i64    ┆ f64           ┆ i64                 │
    ╞═══════╪═══════════╪════════╪═══════════════╪═════════════════════╡
    │ 2     ┆ 3         ┆ 2      ┆ 0.666667      ┆ 1                   │
    └───────┴───────────┴────────┴───────────────┴─────────────────────┘
    """
    if nulls := log.rows.select(pl.col("session").null_count()).collect().item():
        refuse(log.names["session"], "not be null", f"null in {nulls} rows")
    documents = (
        log.rows.group_by(KEYS)
        .agg((VALID_RANK.min() < VALID_RANK.max()).alias("is_moved"))
        .select(
            pl.len().alias("documents"),
            pl.col("query").n_unique().alias("queries"),
            pl.col("is_moved").mean().alias("movable_share"),
        )
    )
    is_click, valid_rank = pl.col("clicked") == 1, pl.col("valid_rank")
    n_valid_ranks = valid_rank.n_unique() - (valid_rank.null_count() > 0)
    lists = (
        log.rows.with_columns(VALID_RANK.alias("valid_rank"))
        .with_columns((valid_rank.is_null() & is_click).alias("hidden_clicks"))
        .group_by(LISTS)
        .agg(
            log.impressions,
            is_click.sum().cast(pl.Int64).alias("clicks"),
            log.is_invalid_click.sum().alias("invalid_clicks"),
            (pl.len() - pl.col("doc").n_unique()).alias("duplicate_rows"),
            valid_rank.null_count().alias("invalid_ranks"),
            (valid_rank.max() > n_valid_ranks).alias("gap_lists"),
            pl.col("hidden_clicks").sum(),
        )
    )
    sessions = lists.group_by("session").agg(
        pl.len().alias("lists"),
        (pl.col("clicks") == 0).sum().alias("lists_without_click"),
        pl.exclude("query").sum(),
    )
    is_bot = pl.col("clicks") > MAX_SESSION_CLICKS
    bots = pl.col("session").filter(is_bot).sort().head(MAX_SHOWN_VALUES + 1).implode()
    counts = sessions.select(
        pl.len().alias("sessions"),
        pl.col("clicks").max().fill_null(0).alias("max_session_clicks"),
        is_bot.sum().alias("n_bots"),
        bots.alias("bots"),
        pl.exclude("session").sum(),
    )
    row = pl.concat(pl.collect_all([counts, documents], engine="streaming"), how="horizontal")
    _warn(row)
    return row.select(
        pl.col("lists", "sessions", "queries", "documents", "impressions", "clicks").cast(pl.Int64),
        (pl.col("clicks") / pl.col("impressions")).fill_nan(None).alias("click_rate"),
        "movable_share",
        pl.col(
            *("lists_without_click", "duplicate_rows", "gap_lists", "invalid_ranks"),
            *("hidden_clicks", "invalid_clicks", "max_session_clicks"),
        ).cast(pl.Int64),
    )


def _warn(row: pl.DataFrame) -> None:
    """Warn of sessions with very many clicks, and of fixed ranks."""
    if n_bots := row["n_bots"].item():
        warn_the_caller(
            DataWarning.bots,
            f"sessions with more than {MAX_SESSION_CLICKS} clicks are usually bots; the log has "
            f"{n_bots} of them, with up to {row['max_session_clicks'].item()} clicks: "
            f"{first_few(row['bots'].item().to_list())}\n\nHint: drop their rows",
        )
    if row["movable_share"].item() == 0:
        warn_the_caller(
            DataWarning.positions,
            "each document was shown at one rank only, so the quality of documents cannot be "
            "separated from their ranks\n\nHint: show some lists in another order",
        )


@takes_log
def count_clicks(
    log: Log,
    *,
    rank: str = "rank",
    clicked: str = "clicked",
    impressions: str | None = None,
    confidence: float = 0.95,
) -> pl.DataFrame:
    r"""Count impressions and clicks by rank.

    For c clicks in n impressions, the click rate is :math:`p = c / n`. Its interval is Wilson's,
    with the normal quantile z:

    .. math:: \frac{p + z^2 / 2n \pm z \sqrt{p (1 - p) / n + z^2 / 4n^2}}{1 + z^2 / n}

    As text: ``(p + z² / 2n ± z sqrt(p (1 - p) / n + z² / 4n²)) / (1 + z² / n)``

    If the documents of each list are in random order, click rates are proportional to the
    probabilities that the ranks are examined (propensities). If rankers put relevant documents near
    the top, click rates fall faster from rank to rank than propensities.

    Parameters
    ----------
    log, rank, clicked
        As for `describe_log`.
    impressions
        A column with the number of impressions of each row. With this column, `clicked` contains
        the number of clicks of each row. By default, each row is one impression.
    confidence
        The confidence of the intervals, between 0 and 1. The intervals assume independent
        impressions.

    Returns
    -------
    DataFrame
        One row per rank, with these columns in this order: the rank, with the column name and type
        of the log; `impressions` and `clicks` (Int64); the `confidence`; and `click_rate`, `ci_low`
        and `ci_high` (Float64, from 0 to 1, or null at a rank with 0 impressions).

    Raises
    ------
    ValueError
        If a rank is null or below 1, or if rank r > 1 has more impressions than rank r - 1. Without
        `impressions`, if `clicked` is null or neither 0 nor 1. With `impressions`, if a row has
        null or fewer than 0 impressions; or if the row has null clicks, fewer than 0 clicks, or
        more clicks than impressions.

    See Also
    --------
    estimate_propensities : Probabilities that a rank is examined.

    References
    ----------
    Wilson: Probable inference, the law of succession, and statistical inference, 1927.

    Examples
    --------
    >>> log = pl.DataFrame({"rank": [1, 2, 1, 2], "clicked": [1, 0, 1, 1]})
    >>> count_clicks(log).drop("confidence")
    shape: (2, 6)
    ┌──────┬─────────────┬────────┬────────────┬──────────┬──────────┐
    │ rank ┆ impressions ┆ clicks ┆ click_rate ┆ ci_low   ┆ ci_high  │
    │ ---  ┆ ---         ┆ ---    ┆ ---        ┆ ---      ┆ ---      │
    │ i64  ┆ i64         ┆ i64    ┆ f64        ┆ f64      ┆ f64      │
    ╞══════╪═════════════╪════════╪════════════╪══════════╪══════════╡
    │ 1    ┆ 2           ┆ 2      ┆ 1.0        ┆ 0.34238  ┆ 1.0      │
    │ 2    ┆ 2           ┆ 1      ┆ 0.5        ┆ 0.094531 ┆ 0.905469 │
    └──────┴─────────────┴────────┴────────────┴──────────┴──────────┘
    """
    exposure = pl.col("impressions")
    rate, *ends = compute_interval(find_z(confidence), pl.col("clicks"), exposure, exposure)
    level = pl.lit(float(confidence)).alias("confidence")
    counts = log.count("rank").sort("rank")
    return log.rename(counts.with_columns(level, rate.alias("click_rate"), *ends))
