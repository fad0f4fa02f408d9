"""Estimates from clicks: the quality of documents, and how often users examine each rank.

Each estimator of quality divides clicks by an exposure. `estimate_sdbn` counts only the last click
of each result list.

- `estimate_ctr`: The exposure is the number of impressions.
- `estimate_sdbn`: The exposure is the number of examined impressions.
- `estimate_pbm`: Each impression adds the propensity of its rank to the exposure.

The last two exposures depend on the ranks at which a document was shown. The propensity of a rank
is the probability that users examine the document at this rank, divided by the same probability for
the first rank.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from polars_graded._checks import check_collected, check_columns, check_list, check_number
from polars_graded._clicks.logs import KEYS, LISTS, Log, compute_interval, find_z, takes_log
from polars_graded._measuring.kernels.ragged import Floats, Integers
from polars_graded._warnings import DataWarning, warn_the_caller

__all__ = ["estimate_ctr", "estimate_pbm", "estimate_propensities", "estimate_sdbn"]

Prior = tuple[float, float] | None

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
def estimate_ctr(
    log: Log,
    *,
    query: str | Sequence[str] = "query",
    doc: str = "doc",
    clicked: str = "clicked",
    impressions: str | None = None,
    confidence: float = 0.95,
    prior: Prior = None,
) -> pl.DataFrame:
    r"""Estimate click-through rates: clicks over impressions.

    .. math:: \hat p = \frac{c}{n} \qquad \text{shrunk} = \frac{c + a}{n + a + b}

    As text: ``p = c / n; shrunk = (c + a) / (n + a + b)``

    A document got c clicks in n impressions, and a and b are the parameters of `prior`.

    A document at a good rank gets more clicks than an equal document at a bad rank. This rate does
    not correct for that.

    The default `prior` has the mean of all clicks divided by all impressions. Its variance is that
    of the documents' estimates, less the part that chance explains; if nothing is left, each shrunk
    value is the mean.

    Parameters
    ----------
    log
        Any data frame, with one row per document shown, clicked or not. The rows of a LazyFrame are
        streamed. A repeated row counts each time; `describe_log` counts repeated rows.
    query, doc
        The columns of queries and of documents.
    clicked
        The column that states whether the document was clicked: Boolean, or 0 and 1.
    impressions
        The column of the number of impressions, if a row stands for several impressions. The column
        `clicked` then contains the number of clicks in these impressions.
    confidence
        The confidence of the intervals, between 0 and 1. The intervals assume independent
        impressions.
    prior
        The parameters a and b of the Beta distribution of the rates of all documents, both above 0.
        By default they are estimated by the method of moments (Kleinman 1973).

    Returns
    -------
    DataFrame
        One row per query and document, with these columns in this order: `query` and `doc` (under
        the names of their columns), `impressions` and `clicks` (Int64), and as Float64 the
        `estimate`, Wilson's interval from `ci_low` to `ci_high`, and `shrunk`, which moves the
        estimates of rarely shown documents towards the mean. Values are from 0 to 1. The estimate
        and its interval are null for a document with 0 impressions.

    Raises
    ------
    ValueError
        If a query or a document is null; if clicks are null, or neither 0 nor 1; with
        `impressions`, if the impressions of a row are null or below 0, or its clicks are null,
        below 0 or above its impressions.

    See Also
    --------
    estimate_sdbn, estimate_pbm : Estimators that correct for ranks.

    References
    ----------
    Wilson: Probable inference, the law of succession, and statistical inference, 1927. Kleinman:
    Proportions with extraneous variance: single and independent samples, 1973.

    Examples
    --------
    With a = b = 1, the shrunk value of one click in two impressions is (1 + 1) / (2 + 2):

    >>> log = pl.DataFrame({"query": ["q"] * 3, "doc": ["a", "a", "b"], "clicked": [1, 0, 1]})
    >>> estimate_ctr(log, prior=(1, 1)).drop("query")
    shape: (2, 7)
    ┌─────┬─────────────┬────────┬──────────┬──────────┬──────────┬──────────┐
    │ doc ┆ impressions ┆ clicks ┆ estimate ┆ ci_low   ┆ ci_high  ┆ shrunk   │
    │ --- ┆ ---         ┆ ---    ┆ ---      ┆ ---      ┆ ---      ┆ ---      │
    │ str ┆ i64         ┆ i64    ┆ f64      ┆ f64      ┆ f64      ┆ f64      │
    ╞═════╪═════════════╪════════╪══════════╪══════════╪══════════╪══════════╡
    │ a   ┆ 2           ┆ 1      ┆ 0.5      ┆ 0.094531 ┆ 0.905469 ┆ 0.5      │
    │ b   ┆ 1           ┆ 1      ┆ 1.0      ┆ 0.206549 ┆ 1.0      ┆ 0.666667 │
    └─────┴─────────────┴────────┴──────────┴──────────┴──────────┴──────────┘
    """
    z, beta = find_z(confidence), _check_prior(prior)
    return log.rename(_make_estimates(log.count(*KEYS), "impressions", z, beta))


@takes_log
def estimate_sdbn(
    log: Log,
    *,
    query: str | Sequence[str] = "query",
    doc: str = "doc",
    rank: str = "rank",
    clicked: str = "clicked",
    session: str = "session",
    prior: Prior = None,
) -> pl.DataFrame:
    r"""Estimate relevance by the simplified dynamic Bayesian network.

    The model's users read a result list from the top, click attractive documents, and stop after a
    click that satisfies them. If the last click of a list is at rank r, the documents at ranks 1 to
    r count as examined. In a list without a click, no document counts as examined.

    .. math:: a = \frac{\text{clicks}}{\text{examined}} \qquad
        s = \frac{\text{last clicks}}{\text{clicks}} \qquad
        \text{estimate} = a s = \frac{\text{last clicks}}{\text{examined}}

    As text: ``a = clicks / examined; s = last clicks / clicks; estimate = a s``, where a is the
    attractiveness and s the satisfaction.

    The expected values of a and s, and therefore of the estimate, are at least the true values, and
    often higher (Notes). So the estimates are grades for comparing documents, and have no
    intervals.

    Parameters
    ----------
    log, query, doc, clicked
        As for `estimate_ctr`.
    rank
        The column of ranks, whole numbers from 1.
    session
        The column that distinguishes result lists of the same query. A list contains the documents
        shown for one query in one session, each of them once.
    prior
        As for `estimate_ctr`, but for the rate of last clicks among examined impressions.

    Returns
    -------
    DataFrame
        One row per query and document, with these columns in this order: `query` and `doc` (under
        the names of their columns); `impressions`, `clicks`, `examined` (the number of impressions
        at or above the last click of their list) and `last_clicks`, all Int64; `attractiveness`,
        `satisfaction`, the `estimate` of relevance, and `shrunk` as for `estimate_ctr`, all Float64
        from 0 to 1. Satisfaction is null for a document with 0 clicks. Attractiveness and estimate
        are null for a document that nobody examined.

    Raises
    ------
    ValueError
        If a query, document or session is null; if a rank is null or below 1; if clicks are null,
        or neither 0 nor 1; if a rank at or above the last click of a list has no document, or
        several documents. The last check compares totals over all lists. If lists have both gaps
        and repeated ranks, it may find neither.

    Notes
    -----
    The log does not show whether the last click of a list satisfied the user. A user who is not
    satisfied reads to the end of the list. For such a user, the last click counts as satisfying, so
    s is too high, and the documents below it count as not examined, so a is too high. Lists without
    a click are left out, so a is too high for them as well. If all ten documents of a list have a =
    0.3 and s = 0.5, then a s is 0.15 and the expected estimate 0.213. An interval of last clicks
    among examined impressions would contain the expected estimate, not the true value. The page
    "Speed and tests" of the documentation has a table of expected estimates.

    References
    ----------
    Chapelle, Zhang: A dynamic Bayesian network click model for web search ranking, 2009 (section
    5, algorithm 1).

    Examples
    --------
    In the first list, a and b are examined, and b has the last click. In the second list, only a is
    examined:

    >>> log = pl.DataFrame(
    ...     {
    ...         "session": [1, 1, 1, 2, 2],
    ...         "query": ["q"] * 5,
    ...         "doc": ["a", "b", "c", "a", "b"],
    ...         "rank": [1, 2, 3, 1, 2],
    ...         "clicked": [1, 1, 0, 1, 0],
    ...     }
    ... )
    >>> sdbn = estimate_sdbn(log)
    >>> sdbn.select("doc", "examined", "last_clicks", "attractiveness", "satisfaction", "estimate")
    shape: (3, 6)
    ┌─────┬──────────┬─────────────┬────────────────┬──────────────┬──────────┐
    │ doc ┆ examined ┆ last_clicks ┆ attractiveness ┆ satisfaction ┆ estimate │
    │ --- ┆ ---      ┆ ---         ┆ ---            ┆ ---          ┆ ---      │
    │ str ┆ i64      ┆ i64         ┆ f64            ┆ f64          ┆ f64      │
    ╞═════╪══════════╪═════════════╪════════════════╪══════════════╪══════════╡
    │ a   ┆ 2        ┆ 1           ┆ 1.0            ┆ 0.5          ┆ 0.5      │
    │ b   ┆ 1        ┆ 1           ┆ 1.0            ┆ 1.0          ┆ 1.0      │
    │ c   ┆ 0        ┆ 0           ┆ null           ┆ null         ┆ null     │
    └─────┴──────────┴─────────────┴────────────────┴──────────────┴──────────┘
    """
    beta = _check_prior(prior)
    # Other columns of the log are dropped: they may have the names that the join adds.
    rows, is_click = log.rows.select(*log.names), pl.col("clicked") == 1
    last_ranks = rows.filter(is_click).group_by(LISTS).agg(pl.col("rank").max().alias("last_rank"))

    last_clicks = log.collect(last_ranks, *KEYS, "rank", "session")
    # If each session has at most one list with clicks, the session identifies this list. A join
    # on one key takes half the time of a join on two.
    is_key = last_clicks["session"].n_unique() == last_clicks.height
    on = ["session"] if is_key else LISTS
    last_clicks = last_clicks.select(*on, pl.col("query").alias("clicked_query"), "last_rank")
    # Both masks are null in lists without a click, and a sum ignores null.
    is_in_list = pl.col("query") == pl.col("clicked_query")
    is_examined = is_in_list & (pl.col("rank") <= pl.col("last_rank"))
    is_last = is_click & is_in_list & (pl.col("rank") == pl.col("last_rank"))
    counts = (
        rows.join(last_clicks.lazy(), on=on, how="left")
        .group_by(KEYS)
        .agg(
            log.impressions,
            log.clicks,
            is_examined.sum().cast(pl.Int64).alias("examined"),
            is_last.sum().cast(pl.Int64).alias("last_clicks"),
        )
    )
    table = counts.collect(engine="streaming")
    # In a list without gaps and duplicates, the number of examined documents is the rank of the
    # last click.
    examined, expected = int(table["examined"].sum()), int(last_clicks["last_rank"].sum())
    if examined != expected:
        rule = "without gaps" if examined < expected else "with one document at each rank"
        msg = (
            f"a list must have ranks {rule}, got {examined} documents at the {expected} ranks "
            "at or above the last click, summed over all lists\n\n"
            "Hint: describe_log(log) counts gaps and repeated ranks; session= distinguishes lists"
        )
        raise ValueError(msg)
    models = table.with_columns(
        (pl.col("clicks") / pl.col("examined")).fill_nan(None).alias("attractiveness"),
        (pl.col("last_clicks") / pl.col("clicks")).fill_nan(None).alias("satisfaction"),
    )
    return log.rename(_make_estimates(models, "examined", None, beta, clicks="last_clicks"))


@takes_log
def estimate_pbm(
    log: Log,
    *,
    propensities: Mapping[int, float] | pl.DataFrame | None = None,
    query: str | Sequence[str] = "query",
    doc: str = "doc",
    rank: str = "rank",
    clicked: str = "clicked",
    impressions: str | None = None,
    confidence: float = 0.95,
    prior: Prior = None,
) -> pl.DataFrame:
    r"""Estimate attractiveness by the position-based model.

    In this model a document is clicked if it is both examined and attractive. Examination depends
    only on the rank, and attractiveness only on the query and the document.

    .. math:: P(c = 1) = \theta(r) \gamma(q, d) \qquad
        \hat \gamma = \frac{\sum_i c_i}{\sum_i \theta(r_i)}

    As text: ``P(click) = θ(r) γ(q, d); estimate = ∑ c(i) / ∑ θ(r(i))``

    With the true propensities :math:`\theta` the estimate is unbiased.

    Parameters
    ----------
    log, query, doc, clicked, impressions, confidence, prior
        As for `estimate_ctr`. The intervals treat the propensities as exact: they do not account
        for the error of estimated propensities.
    propensities
        The probability that each rank is examined, divided by that of rank 1: a mapping from ranks
        to numbers above 0 and at most 1, or the frame that `estimate_propensities` returns. By
        default they are estimated from `log`.
    rank
        The column of ranks, whole numbers from 1.

    Returns
    -------
    DataFrame
        As for `estimate_ctr`, with the column `examinations` (Float64) before `estimate`. An
        impression at rank r adds θ(r) to the examinations of its document. Values are at least 0.
        By chance the estimate and its interval may exceed 1; `shrunk` is at most 1.

    Raises
    ------
    ValueError
        As for `count_clicks`; if a query or a document is null; if a rank has no propensity; and as
        for `estimate_propensities`, if the propensities are estimated.

    Notes
    -----
    The interval from `ci_low` to `ci_high` contains the values :math:`\gamma` with
    :math:`(c - \gamma E)^2 \le z^2 (\gamma E - \gamma^2 Q)`. Here c is the number of clicks. Over
    the impressions of the document, E is the sum of :math:`\theta(r)`, and Q is the sum of
    :math:`\theta(r)^2`, but at most :math:`E^2 / c`. If each :math:`\theta(r)` is 1, the interval
    is Wilson's.

    See Also
    --------
    estimate_propensities : Estimates of the propensities alone.

    References
    ----------
    Craswell, Zoeter, Taylor, Ramsey: An experimental comparison of click position-bias models,
    2008. Richardson, Dominowska, Ragno: Predicting clicks, 2007.

    Examples
    --------
    Rank 2 is examined half as often as rank 1. Document a has 1 click in 1 + 0.5 examinations:

    >>> log = pl.DataFrame(
    ...     {
    ...         "query": ["q"] * 4,
    ...         "doc": ["a", "b", "b", "a"],
    ...         "rank": [1, 2, 1, 2],
    ...         "clicked": [True, False, True, False],
    ...     }
    ... )
    >>> pbm = estimate_pbm(log, propensities={1: 1.0, 2: 0.5})
    >>> pbm.select("doc", "impressions", "clicks", "examinations", "estimate")
    shape: (2, 5)
    ┌─────┬─────────────┬────────┬──────────────┬──────────┐
    │ doc ┆ impressions ┆ clicks ┆ examinations ┆ estimate │
    │ --- ┆ ---         ┆ ---    ┆ ---          ┆ ---      │
    │ str ┆ i64         ┆ i64    ┆ f64          ┆ f64      │
    ╞═════╪═════════════╪════════╪══════════════╪══════════╡
    │ a   ┆ 2           ┆ 1      ┆ 1.5          ┆ 0.666667 │
    │ b   ┆ 2           ┆ 1      ┆ 1.5          ┆ 0.666667 │
    └─────┴─────────────┴────────┴──────────────┴──────────┘
    """
    z, beta = find_z(confidence), _check_prior(prior)
    cells = log.count(*KEYS, "rank")
    by_rank = (
        compute_propensities(cells)
        if propensities is None
        else look_up_propensities(propensities, cells, log.names["rank"])
    )
    # Sums of floats depend on the order of rows, so multiples of a small unit are added. The factor
    # is a power of two, and propensities are at most the factor.
    highest: Any = by_rank["propensity"].max()
    factor = 2.0 ** math.frexp(highest or 1.0)[1]
    unit = 2.0 ** (int(cells["impressions"].sum()).bit_length() - 126)
    relative = pl.col("propensity").fill_null(0) / factor
    ranks = pl.col("rank").cast(cells.schema["rank"], strict=False)
    table = (
        cells.join(by_rank.select(ranks, "propensity"), on="rank", how="left")
        .group_by(KEYS)
        .agg(
            pl.col("impressions", "clicks").sum(),
            (_sum_multiples(relative, unit) * factor).alias("examinations"),
            (_sum_multiples(relative**2, unit) * factor**2).alias("squares"),
        )
    )
    return log.rename(_make_estimates(table, "examinations", z, beta))


def _sum_multiples(value: pl.Expr, unit: float) -> pl.Expr:
    """Sum a value from 0 to 1 over the impressions of a group, as a multiple of `unit`."""
    multiples = (value / unit).round().cast(pl.Int128)
    return (pl.col("impressions").cast(pl.Int128) * multiples).sum().cast(pl.Float64) * unit


def _make_estimates(
    table: pl.DataFrame,
    exposure: str,
    z: float | None,
    prior: Sequence[float] | None,
    *,
    clicks: str = "clicks",
) -> pl.DataFrame:
    """Add estimates, intervals and shrunk values to clicks and exposures.

    The prior is a Beta distribution. If `z` is None, there are no intervals.
    """
    c, e = pl.col(clicks), pl.col(exposure)
    q = pl.col("squares") if "squares" in table.columns else e
    # The sums in `_fit_prior` depend on the order of rows, so the rows are sorted first.
    table = table.sort(KEYS)
    if prior is None:
        mean, strength = _fit_prior(table.filter(e > 0), c, e, q)
    else:
        strength = sum(prior)
        mean = prior[0] / strength
    shrunk = pl.lit(mean, pl.Float64)
    if mean is not None and strength is not None:
        # Without exposure and with a prior of strength 0, the estimate would be 0 / 0, so the
        # shrunk value is the mean.
        estimate = (c + strength * mean) / (e + strength)
        shrunk = pl.when(e + strength > 0).then(estimate).otherwise(shrunk)
    # By chance there may be more clicks than exposure, but a probability is at most 1.
    shrunk = shrunk.clip(upper_bound=1)
    estimates = (
        [pl.when(e > 0).then(c / e).alias("estimate")]
        if z is None
        else compute_interval(z, c, e, q)
    )
    return table.with_columns(*estimates, shrunk.alias("shrunk")).drop("squares", strict=False)


def _fit_prior(
    rows: pl.DataFrame, c: pl.Expr, e: pl.Expr, q: pl.Expr
) -> tuple[float | None, float | None]:
    """Return the mean and the strength of the prior, fitted to all documents.

    The strength is the exposure that the prior adds to each document. The strength is None if
    chance explains all differences between documents. Without documents, both values are None.

    A document has c clicks and the exposure E. Q is the sum of the squared propensities of its
    impressions, or E without propensities. The true values of documents have the mean m and the
    variance t:

    - m is sum c / sum E.
    - t makes the sum of E (c / E - m)² equal to its expected value. The expected value is the sum
      of E (1 - E / sum E) Var(c / E), where Var(c / E) is m / E - (m² + t) Q / E² + t.

    The strength is m (1 - m) / t - 1, but at least 0.
    """
    if rows.is_empty():
        return None, None
    clicks, total = rows.select(c.sum().alias("clicks"), e.sum()).row(0)
    mean, share_of_others = clicks / total, 1 - e / total
    observed, chance, factor = rows.select(
        (e * (c / e - mean) ** 2).sum(),
        (share_of_others * (mean - mean**2 * q / e)).sum().alias("chance"),
        (share_of_others * (e - q / e)).sum().alias("factor"),
    ).row(0)
    variance = (observed - chance) / factor if factor > 0 else 0.0
    if variance <= 0 or mean <= 0:
        return mean, None
    return mean, max(mean * (1 - mean) / variance - 1, 0.0)


def _check_prior(prior: Prior) -> list[float] | None:
    """Return the two parameters of a prior; None if no prior is passed."""
    if prior is None:
        return None
    values = [check_number("prior", each, above=0) for each in check_list("prior", prior)]
    if len(values) != 2:  # noqa: PLR2004
        msg = f"`prior` must be two numbers, got {prior!r}"
        raise ValueError(msg)
    return values


# Propensities


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
