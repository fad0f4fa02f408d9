"""Comparison of two rankers by the clicks in their interleaved lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import polars as pl

from polars_graded._checks import (
    check_choice,
    check_column_name,
    check_column_names,
    check_whole_number,
    first_few,
)
from polars_graded._clicks.logs import LISTS, Log, check_whole_type, refuse, takes_log
from polars_graded._results.comparing import compare
from polars_graded._results.keys import check_segment_columns
from polars_graded._results.significance import CorrectionName, TestName
from polars_graded._results.tables import check_free_names

__all__ = ["compare_interleaved"]

InterleavingName: TypeAlias = Literal["team_draft", "balanced", "probabilistic"]

SOFTMAX_POWER = 3
"""Exponent s of the distribution from which a ranker draws documents: the probability of rank r is
proportional to r^-s, as in Hofmann and others (2011)."""

CREDITED_DEPTH, CHANCE, CLICKS = (
    f"polars_graded: {name}" for name in ("credited depth", "chance", "clicks")
)
"""Names of temporary columns, which no frame of a user contains. The credited depth is a number k:
clicks on the first k documents of an original ranking count for its ranker."""


@takes_log
def compare_interleaved(
    log: Log,
    method: InterleavingName = "team_draft",
    *,
    baseline: str | None = None,
    team: str = "team",
    rankings: Mapping[str, str] | None = None,
    depth: int | None = None,
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

    Each list is a win of the ranker that gets more clicks, or a tie. Lists without a click are
    ties. The page "Clicks" of the documentation defines the three methods of interleaving.

    .. math:: \Delta = \frac{\text{wins} + \frac{1}{2} \text{ties}}
        {\text{wins} + \text{ties} + \text{losses}} - \frac{1}{2}

    As text: ``Δ = (wins + ties / 2) / (wins + ties + losses) - 1 / 2``

    Parameters
    ----------
    log
        Any data frame, with one row per document shown, clicked or not. Of a LazyFrame, one row per
        list is collected, and with `"probabilistic"` all rows.
    method
        The interleaving method that made the lists, which determines the ranker that gets a click:
        `"team_draft"`, which needs `team`; `"balanced"` or `"probabilistic"`, which need
        `rankings`.
    baseline
        The name of the ranker to compare with. The default is the second ranker of `rankings`. For
        `"team_draft"`, the default is the second ranker in alphabetical order.
    team
        The column that names the ranker that contributed the document. A null means that no ranker
        gets the clicks on the document, for example because both rankers have it at rank 1.
    rankings
        A mapping from the name of each ranker to its column of original ranks:
        `{"old": "old_rank", "new": "new_rank"}`. Ranks are whole numbers from 1, and null for a
        document that the ranker does not retrieve.
    depth
        Length of the original rankings, for `"probabilistic"`; by default the highest rank in the
        columns of `rankings`.
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
        If `team` or `rankings` does not name two rankers; if clicks are null, or neither 0 nor 1;
        if queries or sessions are null; if a list repeats a rank; if a column of `segments` or
        `cluster` has several values in a list; if an original rank is below 1, or greater than
        `depth`.

    References
    ----------
    Chapelle, Joachims, Radlinski, Yue: Large-scale validation and analysis of interleaved search
    evaluation, 2012. Radlinski, Kurup, Joachims: How does clickthrough data reflect retrieval
    quality, 2008. Hofmann, Whiteson, de Rijke: A probabilistic method for inferring preferences
    from clicks, 2011.

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
    check_choice("method", method, get_args(InterleavingName))
    check_choice("unit", unit, ("list", "query"))
    further_columns = check_segment_columns(segments)
    further_columns += [] if cluster is None else check_column_names("cluster", cluster)
    check_free_names(("preference", "strategy"), segments=segments, cluster=cluster)
    list_columns = [each for each in log.find_names(further_columns) if each not in LISTS]
    keys = [*LISTS, *dict.fromkeys(list_columns)]
    log.count_lists(list_columns)
    unused_options: dict[str, Any] = {"rankings": rankings} if method == "team_draft" else {}
    unused_options |= {} if method == "probabilistic" else {"depth": depth}
    for name, value in unused_options.items():
        if value is not None:
            msg = f"`{name}` must not be passed for the method {method!r}, got {value!r}"
            raise ValueError(msg)
    if method == "team_draft":
        [column] = log.find_names([check_column_name("team", team)])
        names = _find_teams(log, column)
        preferences = _compute_preferences_by_clicks(
            log.rows, keys, *(pl.col(column) == each for each in names)
        )
    else:
        names, columns = [*(rankings or {})], log.find_names(_check_rankings(rankings))
        _check_ranks(log, columns)
        compute_preferences = (
            _compute_preferences_by_depth
            if method == "balanced"
            else _compute_preferences_by_chance
        )
        preferences = compute_preferences(log.rows, keys, columns, depth)
    if baseline is not None and baseline not in names:
        check_choice("baseline", baseline, names)
    if baseline == names[0]:
        names, loss = names[::-1], 1 - pl.col("preference")
        preferences = preferences.with_columns(loss.alias("preference"))
    if unit == "query":
        keys.remove("session")
        preferences = preferences.group_by(keys).agg(pl.col("preference").mean())
    values = log.rename(preferences.sort(keys).with_columns(pl.lit(names[0]).alias("strategy")))
    baseline_values = values.with_columns(
        pl.lit(0.5).alias("preference"), pl.lit(names[1]).alias("strategy")
    )
    return compare(
        pl.concat([values, baseline_values]),
        {"preference": "highest"},
        baseline=names[1],
        query=[str(query), session] if unit == "list" else query,
        segments=segments, cluster=cluster, test=test, correction=correction,
        confidence=confidence, seed=seed, resamples=resamples,
    )  # fmt: skip


def _check_rankings(rankings: Any) -> list[str]:
    """Return the columns of the ranks in both original rankings."""
    if not isinstance(rankings, Mapping) or len(rankings) != 2:  # noqa: PLR2004
        msg = f"`rankings` must map both rankers to the columns of their ranks, got {rankings!r}"
        raise (ValueError if isinstance(rankings, Mapping) else TypeError)(msg)
    return check_column_names("rankings", [*rankings.values()])


def _check_ranks(log: Log, columns: Sequence[str]) -> None:
    """Raise if a rank is not a whole number from 1.

    Only the original ranks may be null.
    """
    for column in columns:
        check_whole_type(column, log.rows.collect_schema())
    nulls = pl.col("rank").null_count().alias("nulls")
    checked = [*dict.fromkeys(["rank", *columns])]
    row = log.rows.select(pl.col(checked).min(), nulls).collect(engine="streaming")
    *lowest, n_nulls = row.row(0)
    if n_nulls:
        refuse(log.names["rank"], "not be null", f"null in {n_nulls} rows")
    for column, low in zip(checked, lowest, strict=True):
        if low is not None and low < 1:
            refuse(log.names.get(column, column), "count ranks from 1", low)


def _find_teams(log: Log, team: str) -> list[str]:
    """Return the two rankers of a column, in alphabetical order."""
    # An Enum would be sorted in the order of its categories.
    teams = log.rows.select(pl.col(team).unique().drop_nulls()).collect()[team]
    names = sorted(teams.to_list())
    if len(names) != 2:  # noqa: PLR2004
        msg = f"column {team!r} must name two rankers, got {len(names)}: {first_few(names)}"
        raise ValueError(msg)
    return names


def _compute_preferences_by_clicks(
    rows: pl.LazyFrame, keys: Sequence[str], first: pl.Expr, second: pl.Expr
) -> pl.DataFrame:
    """Return 1 for lists that the first ranker wins, 0.5 for ties, else 0.

    `first` and `second` select the rows whose clicks count for the first and the second ranker.
    """
    clicks_of_rankers = [
        ((pl.col("clicked") == 1) & each).sum().cast(pl.Int64) for each in (first, second)
    ]
    preference = ((clicks_of_rankers[0] - clicks_of_rankers[1]).sign() + 1) / 2
    return rows.group_by(keys).agg(preference.alias("preference")).collect(engine="streaming")


def _build_click_mask(columns: Sequence[str]) -> pl.Expr:
    """Return the mask of clicks on documents that at least one ranker retrieves."""
    return (pl.col("clicked") == 1) & pl.any_horizontal(pl.col(columns).is_not_null())


def _compute_preferences_by_depth(
    rows: pl.LazyFrame, keys: Sequence[str], columns: Sequence[str], _: int | None
) -> pl.DataFrame:
    """Return the preference (1, 0.5 or 0) of each list for `"balanced"`."""
    lowest = pl.col("rank").filter(_build_click_mask(columns)).max()
    better = pl.min_horizontal(columns).filter(pl.col("rank") == lowest).first()
    rows = rows.with_columns(better.over(LISTS).alias(CREDITED_DEPTH))
    return _compute_preferences_by_clicks(
        rows, keys, *(pl.col(each) <= pl.col(CREDITED_DEPTH) for each in columns)
    )


def _compute_preferences_by_chance(
    rows: pl.LazyFrame, keys: Sequence[str], columns: Sequence[str], depth: int | None
) -> pl.DataFrame:
    """Return P(win) + P(tie) / 2 of the first ranker, for each list.

    A ranker draws the document at its rank r with a probability proportional to r^-3, among the
    documents that are not yet in the interleaved list.
    """
    needed_columns = [*dict.fromkeys([*keys, *LISTS, "rank", "clicked", *columns])]
    table = rows.select(needed_columns).collect(engine="streaming")
    max_rank: Any = max(table[each].max() or 1 for each in columns)
    length = check_whole_number("depth", max_rank if depth is None else depth, at_least=max_rank)
    total = float((np.arange(1.0, length + 1) ** -SOFTMAX_POWER).sum())
    chances = []
    for column in columns:
        weight = (pl.col(column).cast(pl.Float64) ** -SOFTMAX_POWER).fill_null(0)
        weight_above = weight.cum_sum().over(LISTS, order_by="rank") - weight
        # `total - weight_above` includes `weight`, so it cannot be smaller than `weight` except by
        # a rounding error. In this case, `weight` is used.
        chances.append(weight / pl.max_horizontal(total - weight_above, weight, 1e-300))
    is_click = _build_click_mask(columns)
    lists = (
        table.with_columns((chances[0] / (chances[0] + chances[1])).alias(CHANCE))
        .group_by(keys)
        .agg(pl.col(CHANCE).filter(is_click), is_click.sum().alias(CLICKS))
    )
    parts = []
    for part in lists.partition_by(CLICKS):
        clicks = int(part[CLICKS][0])
        chance = part[CHANCE].explode().to_numpy().reshape(part.height, -1)
        # balance[:, clicks + d]: probability that the first ranker has d clicks more than the
        # second.
        balance = np.zeros((part.height, 2 * clicks + 1))
        balance[:, clicks] = 1
        for p in chance.T[:clicks, :, np.newaxis]:
            balance = p * np.roll(balance, 1, axis=1) + (1 - p) * np.roll(balance, -1, axis=1)
        wins = balance[:, clicks + 1 :].sum(axis=1) + balance[:, clicks] / 2
        parts.append(part.select(keys).with_columns(pl.Series("preference", wins)))
    return pl.concat(parts)
