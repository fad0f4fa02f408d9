"""Evaluation of rankers by clicks: interleaved lists, and estimates for unseen rankings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import polars as pl

from polars_graded._checks import (
    check_choice,
    check_collected,
    check_column_name,
    check_column_names,
    check_columns,
    check_confidence,
    first_few,
)
from polars_graded._clicks.logs import KEYS, LISTS, Log, refuse, takes_log
from polars_graded._measuring.kernels.ragged import Floats
from polars_graded._results.comparing import compare
from polars_graded._results.keys import check_segment_columns
from polars_graded._results.measure_values import compute_margin
from polars_graded._results.results import check_free_names
from polars_graded._results.significance import CorrectionName, TestName
from polars_graded._warnings import DataWarning, warn_the_caller

__all__ = ["compare_interleaved", "estimate_clicks"]

BehaviourName: TypeAlias = Literal["list", "item_position", "cascade"]
WeightName: TypeAlias = Literal["ips", "self_normalised"]

RESULT_COLUMNS = (
    *("method", "weights", "lists", "matched_lists", "effective_lists", "support"),
    *("logged_clicks", "estimate", "ci_low", "ci_high", "note"),
)
"""Columns of the result besides the strategy."""

MIN_EFFECTIVE_LISTS = 5
"""Minimum number of equally weighted lists that match at each rank, for an interval."""


@takes_log
def compare_interleaved(
    log: Log,
    *,
    baseline: str | None = None,
    team: str = "team",
    unit: Literal["list", "query"] = "list",
    segments: str | Sequence[str] | None = None,
    cluster: str | Sequence[str] | None = None,
    test: TestName = "t",
    correction: CorrectionName | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    resamples: int = 10_000,
    query: str | Sequence[str] = "query",
    rank: str = "rank",
    clicked: str = "clicked",
    session: str = "session",
) -> pl.DataFrame:
    r"""Compare two rankers by the clicks in their interleaved lists.

    Each list, made by team draft interleaving, is a win of the ranker whose documents get more
    clicks, or a tie. Lists without a click are ties.

    .. math:: \Delta = \frac{\text{wins} + \frac{1}{2} \text{ties}}
        {\text{wins} + \text{ties} + \text{losses}} - \frac{1}{2}

    As text: ``Δ = (wins + ties / 2) / (wins + ties + losses) - 1 / 2``

    Parameters
    ----------
    log
        Any data frame, with one row per document shown, clicked or not. Of a LazyFrame, one row per
        list is collected.
    baseline
        The name of the ranker to compare with. The default is the second ranker in alphabetical
        order.
    team
        The column that names the ranker that contributed the document. A null means that no ranker
        gets the clicks on the document, for example because both rankers have it at rank 1.
    unit
        With `"list"`, each list counts once. With `"query"`, each query counts once, with the mean
        over its lists.
    segments, test, correction, confidence, seed, resamples
        As for `polars_graded.compare`.
    cluster
        The columns of independent units, such as users or terms, as for `polars_graded.compare`.
        They may be parts of `query`.
    query, session, clicked, rank
        As for `describe_log`. A list contains the documents shown for one query in one session. The
        column `rank` contains the ranks in the interleaved list.

    Returns
    -------
    DataFrame
        The columns of `polars_graded.compare` for the measure `preference`, which
        `charts.comparison_forest` can draw. `strategy` and `baseline` are the rankers. `difference`
        is :math:`\Delta`, from -0.5 to 0.5, with an interval from `ci_low` to `ci_high`. `mean` is
        :math:`\Delta` + 0.5. `baseline_mean` is always 0.5. The column `queries` contains the
        number of lists, or with `unit="query"` the number of queries.

    Raises
    ------
    ValueError
        If `team` does not name two rankers; if clicks are null, or neither 0 nor 1; if queries or
        sessions are null; if a list repeats a rank; if a column of `segments` or `cluster` has
        several values in a list.

    References
    ----------
    Chapelle, Joachims, Radlinski, Yue: Large-scale validation and analysis of interleaved search
    evaluation, 2012. Radlinski, Kurup, Joachims: How does clickthrough data reflect retrieval
    quality, 2008.

    Examples
    --------
    The new ranker wins two lists, loses one and ties one: (2 + 0.5) / 4 - 0.5.

    >>> log = pl.DataFrame(
    ...     {
    ...         "session": [1, 1, 2, 2, 3, 3, 4, 4],
    ...         "query": ["q"] * 8,
    ...         "rank": [1, 2] * 4,
    ...         "team": ["new", "old", "old", "new"] * 2,
    ...         "clicked": [1, 0, 0, 1, 0, 1, 1, 1],
    ...     }
    ... )
    >>> result = compare_interleaved(log, baseline="old")
    >>> result.select("strategy", "baseline", "wins", "ties", "losses", "difference")
    shape: (1, 6)
    ┌──────────┬──────────┬──────┬──────┬────────┬────────────┐
    │ strategy ┆ baseline ┆ wins ┆ ties ┆ losses ┆ difference │
    │ ---      ┆ ---      ┆ ---  ┆ ---  ┆ ---    ┆ ---        │
    │ str      ┆ str      ┆ u32  ┆ u32  ┆ u32    ┆ f64        │
    ╞══════════╪══════════╪══════╪══════╪════════╪════════════╡
    │ new      ┆ old      ┆ 2    ┆ 1    ┆ 1      ┆ 0.125      │
    └──────────┴──────────┴──────┴──────┴────────┴────────────┘
    """
    check_choice("unit", unit, ("list", "query"))
    further_columns = check_segment_columns(segments)
    further_columns += [] if cluster is None else check_column_names("cluster", cluster)
    check_free_names(("preference", "strategy"), segments=segments, cluster=cluster)
    list_columns = [each for each in log.find_names(further_columns) if each not in LISTS]
    keys = [*LISTS, *dict.fromkeys(list_columns)]
    log.count_lists(list_columns)
    [column] = log.find_names([check_column_name("team", team)])
    rankers = _find_teams(log, column)
    first, second = (
        ((pl.col("clicked") == 1) & (pl.col(column) == each)).sum().cast(pl.Int64)
        for each in rankers
    )
    preference = (((first - second).sign() + 1) / 2).alias("preference")
    preferences = log.rows.group_by(keys).agg(preference).collect(engine="streaming")
    if baseline is not None and baseline not in rankers:
        check_choice("baseline", baseline, rankers)
    if baseline == rankers[0]:
        rankers, loss = rankers[::-1], 1 - pl.col("preference")
        preferences = preferences.with_columns(loss.alias("preference"))
    if unit == "query":
        keys.remove("session")
        preferences = preferences.group_by(keys).agg(pl.col("preference").mean())
    values = log.rename(preferences.sort(keys).with_columns(pl.lit(rankers[0]).alias("strategy")))
    baseline_values = values.with_columns(
        pl.lit(0.5).alias("preference"), pl.lit(rankers[1]).alias("strategy")
    )
    return compare(
        pl.concat([values, baseline_values]),
        {"preference": "highest"},
        baseline=rankers[1],
        query=[str(query), session] if unit == "list" else query,
        segments=segments, cluster=cluster, test=test, correction=correction,
        confidence=confidence, seed=seed, resamples=resamples,
    )  # fmt: skip


def _find_teams(log: Log, team: str) -> list[str]:
    """Return the two rankers of a column, in alphabetical order."""
    # An Enum would be sorted in the order of its categories.
    teams = log.rows.select(pl.col(team).unique().drop_nulls()).collect()[team]
    names = sorted(teams.to_list())
    if len(names) != 2:  # noqa: PLR2004
        msg = f"column {team!r} must name two rankers, got {len(names)}: {first_few(names)}"
        raise ValueError(msg)
    return names


# Estimates for rankings that no user saw


@takes_log
def estimate_clicks(
    log: Log,
    ranking: Any,
    method: BehaviourName = "item_position",
    *,
    weights: WeightName = "ips",
    propensity: str | None = None,
    strategy: str | None = None,
    confidence: float = 0.95,
    query: str | Sequence[str] = "query",
    doc: str = "doc",
    rank: str = "rank",
    clicked: str = "clicked",
    session: str = "session",
) -> pl.DataFrame:
    r"""Estimate clicks per list for a new ranking, from an old ranker's log.

    A click counts only if its list matches the new ranking, and is weighted by the inverse of the
    probability of a match. With N lists, and the clicks :math:`c_{ik}` at rank k of list i,

    .. math:: \hat V = \frac{1}{N} \sum_i \sum_k w_{ik} c_{ik} \qquad
        w_{ik} = \frac{m_{ik}}{p_{ik}}

    As text: ``V = ∑ w(i, k) c(i, k) / N; w(i, k) = m(i, k) / p(i, k)``

    :math:`m_{ik}` is 1 if list i matches as `method` requires for rank k, else 0, and
    :math:`p_{ik}` is the probability of a match. The page "Clicks" of the documentation explains
    assumptions, support and intervals.

    Parameters
    ----------
    log
        Any data frame, with one row per document shown, clicked or not. The lists of a query must
        vary between sessions.
    ranking
        Any data frame of the new ranking, with the same names of columns. Ranks are 1, 2, … without
        gaps. Each query of the log needs a ranking.
    method
        The part of a list that must match for a click at rank k: `"list"`, the complete list;
        `"item_position"`, the document at rank k; or `"cascade"`, the documents at ranks 1 to k.
    weights
        `"ips"`, which is unbiased; or `"self_normalised"`, which divides the weighted clicks at
        each rank by their mean weight, and has less variance and a small bias.
    propensity
        The column of the log with the probability, above 0 and at most 1, that the old ranker shows
        the part that `method` requires. By default, it is the share of the query's lists that
        match.
    strategy
        The column of `ranking` that distinguishes several new rankings.
    confidence
        The confidence of the intervals, between 0 and 1.
    query, doc, rank, clicked, session
        As for `describe_log`. A list contains the documents shown for one query in one session.

    Returns
    -------
    DataFrame
        One row per strategy: the strategy, if `strategy` is passed; `method` and `weights`
        (String); `lists`, all lists of the log, and `matched_lists`, those in which at least one
        rank matches (Int64); and, as Float64,

        - `effective_lists`: the number of equally weighted lists with the same variance;
        - `support`: the share of ranks at which some list of the query matches, weighted by the
          query's number of lists;
        - `logged_clicks`: clicks per list of the log;
        - `estimate`: clicks per list of the new ranking, and its interval, `ci_low` and `ci_high`;
        - `note` (String): the reason for a null interval, such as `effective_lists` below 5.

    Raises
    ------
    ValueError
        If no list matches; if a query of the log has no ranking, or, for "list", one shorter than
        its lists; if ranks have gaps or repeat; if a ranking repeats a document; if a session is
        null; if a propensity or a click is null or out of range.

    Warns
    -----
    DataWarning.support
        If `support` is below 1. With `weights="ips"`, ranks without a match count as not clicked,
        so the estimate is too low.

    References
    ----------
    Horvitz, Thompson: A generalization of sampling without replacement, 1952. Swaminathan,
    Joachims: The self-normalized estimator for counterfactual learning, 2015. Li and others:
    Offline evaluation of ranking policies with click models, 2018. McInerney and others:
    Counterfactual evaluation of slate recommendations with sequential reward interactions, 2020.

    Examples
    --------
    The old ranker shows b first in one of four lists, and this list has two clicks. Its clicks
    have the weight 4, so the estimate is 4 (1 + 1) / 4:

    >>> log = pl.DataFrame(
    ...     {
    ...         "session": [1, 1, 2, 2, 3, 3, 4, 4],
    ...         "query": ["q"] * 8,
    ...         "doc": ["a", "b", "a", "b", "a", "b", "b", "a"],
    ...         "rank": [1, 2] * 4,
    ...         "clicked": [1, 0, 0, 0, 1, 0, 1, 1],
    ...     }
    ... )
    >>> new = pl.DataFrame({"query": ["q", "q"], "doc": ["b", "a"], "rank": [1, 2]})
    >>> estimate_clicks(log, new).select("lists", "matched_lists", "logged_clicks", "estimate")
    shape: (1, 4)
    ┌───────┬───────────────┬───────────────┬──────────┐
    │ lists ┆ matched_lists ┆ logged_clicks ┆ estimate │
    │ ---   ┆ ---           ┆ ---           ┆ ---      │
    │ i64   ┆ i64           ┆ f64           ┆ f64      │
    ╞═══════╪═══════════════╪═══════════════╪══════════╡
    │ 4     ┆ 1             ┆ 1.0           ┆ 2.0      │
    └───────┴───────────────┴───────────────┴──────────┘
    """
    check_choice("method", method, get_args(BehaviourName))
    check_choice("weights", weights, get_args(WeightName))
    check_free_names(RESULT_COLUMNS, strategy=strategy)
    error_rate = check_confidence(confidence)
    if propensity is not None:
        [propensity] = log.find_names([check_column_name("propensity", propensity)])
        if not (dtype := log.rows.collect_schema()[propensity]).is_numeric():
            refuse(log.names.get(propensity, propensity), "contain numbers", dtype, "", TypeError)
    frame = check_collected("ranking", ranking)
    counts = log.count("query", "rank", are_lists_whole=True)
    lists = log.count_lists()
    total = int(lists["lists"].sum())
    results = []
    for key, new_ranking in _read_ranking(log, frame, strategy).items():
        if missing := lists.join(new_ranking, on="query", how="anti").height:
            msg = (
                f"`ranking` must rank documents for each query of `log`, got none for {missing} "
                f"of {lists.height} queries\n\nHint: leave out queries without a ranking"
            )
            raise ValueError(msg)
        length = pl.len().over("query").alias("length")
        positions = new_ranking.with_columns(length).join(lists, on="query")
        if method == "list":
            _check_lengths(counts, positions)
        matched = _match(log, positions, method, propensity)
        values = _estimate(
            matched,
            positions,
            error_rate,
            is_normalised=weights == "self_normalised",
            is_estimated=propensity is None,
        )
        label = {} if strategy is None else {strategy: key[0]}
        results.append({**label, "method": method, "weights": weights, "lists": total, **values})
    logged_clicks = pl.lit(int(counts["clicks"].sum()) / total).alias("logged_clicks")
    estimates = pl.col("estimate", "ci_low", "ci_high").cast(pl.Float64)
    table = pl.DataFrame(results, infer_schema_length=None)
    return table.select(
        pl.exclude("estimate", "ci_low", "ci_high", "note"),
        logged_clicks,
        estimates,
        pl.col("note").cast(pl.String),
    )


def _read_ranking(
    log: Log, frame: pl.DataFrame, strategy: str | None
) -> dict[tuple[Any, ...], pl.DataFrame]:
    """Return the ranking of each strategy, with the column names and types of `log.rows`."""
    schema = log.rows.collect_schema()
    columns = {name: log.names[name] for name in (*KEYS, "rank")}
    for name, column in columns.items():
        check_columns("ranking", [column], frame.columns, argument=name)
        dtypes = schema[name], frame.schema[column]
        if dtypes[0] != dtypes[1] and not all(each.is_integer() for each in dtypes):
            msg = (
                f"column {column!r} must have the same type in `log` and `ranking`, got "
                f"{dtypes[0]} and {dtypes[1]}"
            )
            raise TypeError(msg)
    if strategy is None:
        parts = {(): frame}
    else:
        check_columns("ranking", [check_column_name("strategy", strategy)], frame.columns)
        parts = frame.partition_by(strategy, as_dict=True)
    if frame.is_empty():
        msg = "`ranking` must not be empty"
        raise ValueError(msg)
    renamed = [pl.col(column).cast(schema[name]).alias(name) for name, column in columns.items()]
    rankings = {key: part.select(renamed) for key, part in parts.items()}
    for new_ranking in rankings.values():
        repeated = new_ranking.select(KEYS).is_duplicated().sum()
        is_gap = pl.col("rank").rank("ordinal").over("query") != pl.col("rank")
        gaps = new_ranking.filter(is_gap).height
        nulls = new_ranking.null_count().sum_horizontal().item()
        if repeated or gaps or nulls:
            msg = (
                "`ranking` must have each document once and ranks 1, 2, ... for each query, got "
                f"{repeated} rows of repeated documents, {gaps} ranks that do not count up, and "
                f"{nulls} nulls"
            )
            raise ValueError(msg)
    return rankings


def _check_lengths(counts: pl.DataFrame, positions: pl.DataFrame) -> None:
    """Raise if a list of the log is longer than the new ranking of its query.

    Such a list could match the new ranking, and would still contain further documents.
    """
    lengths = positions.select("query", "length").unique()
    longer = counts.join(lengths, on="query").filter(pl.col("rank") > pl.col("length"))
    if n_longer := longer["query"].n_unique():
        msg = (
            "`ranking` must have as many documents as the lists of `log` for method='list', got "
            f"fewer for {n_longer} of {lengths.height} queries\n\n"
            "Hint: method='cascade' and method='item_position' ignore further documents"
        )
        raise ValueError(msg)


def _match(log: Log, positions: pl.DataFrame, method: str, propensity: str | None) -> pl.DataFrame:
    """Return the rows of the log that match the new ranking, with their propensity."""
    propensities = [] if propensity is None else [pl.col(propensity).cast(pl.Float64).alias("p")]
    # Only the needed columns are selected, since another column of the log could be named "length"
    # or "lists", as in `positions`.
    clicks = (pl.col("clicked") == 1).alias("clicks")
    rows = (
        log.rows.select(*LISTS, "doc", "rank", clicks, *propensities)
        .join(positions.lazy(), on=[*KEYS, "rank"])
        .select(*LISTS, "rank", "clicks", "length", "lists", "^p$")
        .collect(engine="streaming")
    )
    if method != "item_position":
        # A row at rank k is kept only if its list matches at every rank from 1 to k.
        rows = rows.filter(pl.col("rank").rank("ordinal").over(LISTS) == pl.col("rank"))
    if method == "list":
        rows = rows.filter(pl.len().over(LISTS) == pl.col("length"))
    if propensity is None:
        return rows.with_columns((pl.len().over("query", "rank") / pl.col("lists")).alias("p"))
    is_valid = (pl.col("p") > 0) & (pl.col("p") <= 1)
    invalid = rows.filter(is_valid.not_() | is_valid.is_null())["p"].to_list()
    if invalid:
        got = f"another value in {len(invalid)} rows: {first_few(invalid)}"
        refuse(log.names.get(propensity, propensity), "be above 0 and at most 1", got)
    return rows


def _estimate(
    matched: pl.DataFrame,
    positions: pl.DataFrame,
    error_rate: float,
    *,
    is_normalised: bool,
    is_estimated: bool,
) -> dict[str, Any]:
    """Return clicks per list with their interval, and numbers of matches.

    Each match has a weight w, a click c and a scale s. The estimate is the mean over all lists of
    V = ∑ s w c over the matches of a list. With `weights="ips"`, s is 1. With self-normalised
    weights, s at rank k is N_k divided by the sum of w over all matches at rank k. N_k counts the
    lists of queries whose new ranking has at least k documents. `is_estimated` states that
    propensities are shares of lists, and not given.
    """
    by_rank = positions.group_by("rank").agg(pl.col("lists").sum().alias("lists_at_rank"))
    total = int(by_rank.filter(pl.col("rank") == 1)["lists_at_rank"].item())
    support = int(matched.unique(["query", "rank"])["lists"].sum()) / int(
        by_rank["lists_at_rank"].sum()
    )
    if not support:
        msg = (
            "lists of `log` must show what the new ranking shows, got none that matches\n\n"
            "Hint: method='item_position' needs the fewest documents in common"
        )
        raise ValueError(msg)
    if support < 1:
        rest = "without matches, a rank counts as not clicked"
        if is_normalised:
            rest = "without matches, a rank gets the clicks of other queries at the same rank"
        warn_the_caller(
            DataWarning.support,
            f"the log shows {support:.1%} of what the new ranking shows, weighted by lists; the "
            f"estimate has no evidence for the rest\n\nHint: {rest}",
        )
    w, c = pl.col("w"), pl.col("clicks").cast(pl.Float64)
    scale = pl.col("lists_at_rank") / w.sum().over("rank") if is_normalised else pl.lit(1.0)
    # Floating-point sums depend on the order of rows, so the rows are sorted first.
    rows = (
        matched.sort(*LISTS, "rank")
        .join(by_rank, on="rank", maintain_order="left")
        .with_columns((1 / pl.col("p")).alias("w"))
        .with_columns(
            scale.alias("scale"),
            ((w * c).sum().over("rank") / w.sum().over("rank")).alias("rate"),
        )
    )
    estimate = float(rows.select((pl.col("scale") * w * c).sum()).item()) / total
    effective = float(rows.group_by("rank").agg(w.sum() ** 2 / (w**2).sum())["w"].min())  # type: ignore[arg-type]
    deviations, counts = _linearise(
        rows, positions, is_normalised=is_normalised, is_estimated=is_estimated
    )
    low = high = note = None
    margin = compute_margin(deviations, counts, error_rate, max(1.0, estimate))
    if effective < MIN_EFFECTIVE_LISTS:
        note = (
            f"an interval needs matches of {MIN_EFFECTIVE_LISTS} equally weighted lists at each "
            f"rank, and one rank has {effective:.3g}"
        )
    elif margin is None:
        note = "all lists have the same value, so there is no interval"
    else:
        low, high = estimate - margin, estimate + margin
        if is_estimated:
            filled, unknown = _bound_unsupported(rows, positions, is_normalised=is_normalised)
            low, high = low - filled / total, high + (unknown - filled) / total
        low = max(low, 0.0)
    return {
        "matched_lists": rows.select(LISTS).n_unique(),
        "effective_lists": effective,
        "support": support,
        "estimate": estimate,
        "ci_low": low,
        "ci_high": high,
        "note": note,
    }


def _linearise(
    rows: pl.DataFrame, positions: pl.DataFrame, *, is_normalised: bool, is_estimated: bool
) -> tuple[Floats, Floats]:
    """Return deviations whose mean has the error of the estimate, and how often each occurs.

    The estimate is a function of means over lists, and L is the linear approximation for one list.
    With the clicks c of matches, and r at rank k the weighted mean of c (0 with `weights="ips"`),
    L is the sum over ranks of r + s w (c - r).

    If the propensity is the share n / N of the N lists of a query that match, the estimate contains
    the mean m of the clicks of n matches, and L has m + s w (c - m). The clicks of a match are a
    part of their own mean m, so c - m is multiplied by n / (n - 1): this is c minus the mean of the
    other matches. A single match is compared with all matches at the rank.
    """
    w, c, n = pl.col("w"), pl.col("clicks").cast(pl.Float64), pl.len().over("query", "rank")
    center = pl.col("rate") if is_normalised else pl.lit(0.0)
    mean, residual = center, c - center
    if is_estimated:
        mean = c.mean().over("query", "rank")
        residual = pl.when(n > 1).then((c - mean) * n / (n - 1)).otherwise(c - pl.col("rate"))
    rows = rows.with_columns(
        center.alias("center"),
        (pl.col("scale") * (mean - center)).alias("shift"),
        (pl.col("scale") * w * residual).alias("linear"),
    )
    ranks = rows.group_by("rank").agg(pl.col("center").first())
    shifts = rows.group_by("query", "rank").agg(pl.col("shift").first())
    by_query = (
        positions.join(ranks, on="rank", how="left")
        .join(shifts, on=["query", "rank"], how="left")
        .sort("query", "rank")
        .group_by("query", maintain_order=True)
        .agg(pl.col("center", "shift").sum(), pl.col("lists").first())
        .select("query", "lists", (pl.col("center") + pl.col("shift")).alias("level"))
    )
    by_list = (
        rows.group_by(LISTS, maintain_order=True)
        .agg(pl.col("linear").sum())
        .join(by_query, on="query", maintain_order="left")
    )
    unmatched = by_query.join(by_list.group_by("query").len(), on="query", how="left").select(
        "level", (pl.col("lists") - pl.col("len").fill_null(0)).alias("count")
    )
    values = pl.concat(
        [by_list.select(pl.col("level") + pl.col("linear")), unmatched.select("level")]
    )
    counts = np.concatenate([np.ones(by_list.height), unmatched["count"].to_numpy()])
    linear = values["level"].to_numpy()
    return linear - counts @ linear / counts.sum(), counts


def _bound_unsupported(
    rows: pl.DataFrame, positions: pl.DataFrame, *, is_normalised: bool
) -> tuple[float, float]:
    """Return the clicks at ranks without support, as estimated and at most.

    Both are sums over lists. At most, there is one click per rank.
    """
    unsupported = positions.join(rows, on=["query", "rank"], how="anti")
    unknown = float(unsupported["lists"].sum())
    if not is_normalised:
        return 0.0, unknown
    rates = rows.group_by("rank").agg(pl.col("rate").first())
    filled = unsupported.join(rates, on="rank").select((pl.col("lists") * pl.col("rate")).sum())
    return float(filled.item()), unknown
