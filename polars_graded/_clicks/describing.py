"""Descriptions of click logs: what was shown, and where people clicked."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from polars_graded._checks import MAX_SHOWN_VALUES, first_few
from polars_graded._clicks.logs import (
    KEYS,
    LISTS,
    Collect,
    Log,
    compute_interval,
    find_z,
    refuse,
    takes_log,
)
from polars_graded._warnings import DataWarning, warn_the_caller

__all__ = ["count_clicks", "describe_log"]

MAX_SESSION_CLICKS = 1000
"""Maximum number of clicks of a session that is not reported as a bot."""

MAX_PART_ROWS = 1 << 24
"""Approximate maximum number of rows of one part of a log. `describe_log` divides a log into parts,
so that only the lists of one part are in memory at once."""


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
    impressions: str | None = None,
    session: str = "session",
) -> pl.DataFrame | pl.LazyFrame:
    """Describe a click log: what was shown, what was clicked, and what is wrong.

    This function counts invalid rows. Other functions raise an error for invalid values in a column
    that they use. A result list contains the documents shown for one query in one session.

    Parameters
    ----------
    log
        Any data frame, with one row per document shown, clicked or not. For a LazyFrame,
        the result is a LazyFrame, and the rows are streamed.
    query, doc
        The columns of queries and of documents. All queries with a null count as one.
    rank
        The column of ranks, whole numbers from 1.
    clicked
        The column that states whether the document was clicked: Boolean, or 0 and 1.
    impressions
        As for `count_clicks`. The numbers of lists and sessions, and what is counted in them, are
        then null, and `session` is not used.
    session
        The column that distinguishes result lists of the same query.

    Returns
    -------
    DataFrame or LazyFrame
        One row. All columns are Int64, except `click_rate` and `movable_share` (Float64):

        - the numbers of `lists` (pairs of a session and a query), `sessions`, `queries`,
          `documents` (pairs of a query and a document), `impressions` (rows, or their sum) and
          `clicks`;
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
        - `invalid_clicks`: rows whose `clicked` is null or another value than 0 and 1, or with
          `impressions`, no count up to the impressions of the row;
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
    documents = (
        log.rows.group_by(KEYS)
        .agg((VALID_RANK.min() < VALID_RANK.max()).alias("is_moved"), pl.len().alias("rows"))
        .select(
            pl.len().alias("documents"),
            pl.col("query").n_unique().alias("queries"),
            pl.col("is_moved").mean().alias("movable_share"),
            pl.col("rows").sum(),
        )
    )
    n_invalid = log.is_invalid_click.sum().alias("invalid_clicks")
    if log.is_summed:
        sums = documents.join(log.rows.select(n_invalid, *_sum_counts(log)), how="cross")
        return log.run(lambda collect: _complete(collect(sums)[0], None))
    null_sessions = pl.col("session").null_count().alias("null_sessions")
    totals = documents.join(log.rows.select(n_invalid, null_sessions), how="cross")
    return log.run(lambda collect: _make_description(log, collect, *collect(totals)))


def _sum_counts(log: Log) -> list[pl.Expr]:
    """Return the counts of summed rows. Those of lists and sessions are unknown."""
    clicks = pl.when(~log.is_invalid_click).then("clicked")
    is_invalid_rank = VALID_RANK.is_null()
    unknown = ("lists", "sessions", "lists_without_click", "duplicate_rows", "gap_lists")
    return [
        log.impressions,
        clicks.sum().alias("clicks"),
        is_invalid_rank.sum().alias("invalid_ranks"),
        clicks.filter(is_invalid_rank).sum().alias("hidden_clicks"),
        *(pl.lit(None, pl.Int64).alias(name) for name in unknown),
    ]


def _make_description(log: Log, collect: Collect, totals: pl.DataFrame) -> pl.DataFrame:
    """Return the row of `describe_log`, and warn of bots."""
    if nulls := totals["null_sessions"].sum():
        refuse(log.names["session"], "not be null", f"null in {nulls} rows")
    # All rows of a session are in the same part, so that no session is counted twice.
    parts = max(1, -(-int(totals["rows"].sum()) // MAX_PART_ROWS))
    part = pl.col("session").hash() % parts
    parts_of_log = pl.concat(collect(_describe_lists(log, part == n))[0] for n in range(parts))
    counts = parts_of_log.select(pl.exclude("max_session_clicks", "bots").sum())
    n_bots = counts["n_bots"].item()
    max_clicks = parts_of_log.select(pl.col("max_session_clicks").max().fill_null(0)).item()
    if n_bots:
        with_bots = parts_of_log.filter(pl.col("bots").list.len() > 0)
        bots = first_few(with_bots["bots"].explode().to_list())
        warn_the_caller(
            DataWarning.bots,
            f"sessions with more than {MAX_SESSION_CLICKS} clicks are usually bots; the log has "
            f"{n_bots} of them, with up to {max_clicks} clicks: {bots}\n\n"
            "Hint: drop their rows",
        )
    return _complete(counts.join(totals, how="cross"), max_clicks)


def _complete(counts: pl.DataFrame, max_clicks: int | None) -> pl.DataFrame:
    """Return the columns of a description, and warn of fixed ranks."""
    if (counts["movable_share"] == 0).any():
        warn_the_caller(
            DataWarning.positions,
            "each document was shown at one rank only, so the quality of documents cannot be "
            "separated from their ranks\n\nHint: show some lists in another order",
        )
    return counts.select(
        pl.col("lists", "sessions", "queries", "documents", "impressions", "clicks").cast(pl.Int64),
        (pl.col("clicks") / pl.col("impressions")).fill_nan(None).alias("click_rate"),
        "movable_share",
        pl.col(
            *("lists_without_click", "duplicate_rows", "gap_lists"),
            *("invalid_ranks", "hidden_clicks", "invalid_clicks"),
        ).cast(pl.Int64),
        pl.lit(max_clicks).cast(pl.Int64).alias("max_session_clicks"),
    )


def _describe_lists(log: Log, is_part: pl.Expr) -> pl.LazyFrame:
    """Return one row with counts of the lists and sessions in a part of the log."""
    is_click, valid_rank = pl.col("clicked") == 1, pl.col("valid_rank")
    n_valid_ranks = valid_rank.n_unique() - (valid_rank.null_count() > 0)
    lists = (
        log.rows.filter(is_part)
        .with_columns(VALID_RANK.alias("valid_rank"))
        .with_columns((valid_rank.is_null() & is_click).alias("hidden_clicks"))
        .group_by(LISTS)
        .agg(
            log.impressions,
            is_click.sum().cast(pl.Int64).alias("clicks"),
            (pl.len() - pl.col("doc").n_unique()).alias("duplicate_rows"),
            valid_rank.null_count().alias("invalid_ranks"),
            (valid_rank.max() > n_valid_ranks).alias("gap_lists"),
            pl.col("hidden_clicks").sum(),
        )
    )
    sums = ["impressions", "clicks", "duplicate_rows", "gap_lists", "invalid_ranks"]
    sessions = lists.group_by("session").agg(
        pl.len().alias("lists"),
        (pl.col("clicks") == 0).sum().alias("lists_without_click"),
        pl.col(*sums, "hidden_clicks").sum(),
    )
    is_bot = pl.col("clicks") > MAX_SESSION_CLICKS
    return sessions.select(
        pl.len().alias("sessions"),
        pl.col("clicks").max().alias("max_session_clicks"),
        pl.col("session").filter(is_bot).sort().head(MAX_SHOWN_VALUES + 1).implode().alias("bots"),
        is_bot.sum().alias("n_bots"),
        pl.exclude("session").sum(),
    )


@takes_log
def count_clicks(
    log: Log,
    *,
    rank: str = "rank",
    clicked: str = "clicked",
    impressions: str | None = None,
    confidence: float = 0.95,
) -> pl.DataFrame | pl.LazyFrame:
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
    DataFrame or LazyFrame
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
    polars_graded.charts.click_rates : Draws the result.
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
    z = find_z(confidence)
    exposure = pl.col("impressions")

    def count(collect: Collect) -> pl.DataFrame:
        rate, *ends = compute_interval(z, pl.col("clicks"), exposure, exposure)
        level = pl.lit(float(confidence)).alias("confidence")
        return (
            log.count(collect, "rank")
            .sort("rank")
            .with_columns(level, rate.alias("click_rate"), *ends)
        )

    return log.run(count)
