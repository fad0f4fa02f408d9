"""Comparison of two rankers by the clicks in their interleaved lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import polars as pl

from polars_graded._checks import check_choice, check_column_name, check_column_names, first_few
from polars_graded._clicks.logs import LISTS, Log, takes_log
from polars_graded._results.comparing import compare
from polars_graded._results.keys import check_segment_columns
from polars_graded._results.results import check_free_names
from polars_graded._results.significance import CorrectionName, TestName

__all__ = ["compare_interleaved"]


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
    names = _find_teams(log, column)
    first, second = (
        ((pl.col("clicked") == 1) & (pl.col(column) == each)).sum().cast(pl.Int64) for each in names
    )
    preference = (((first - second).sign() + 1) / 2).alias("preference")
    preferences = log.rows.group_by(keys).agg(preference).collect(engine="streaming")
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


def _find_teams(log: Log, team: str) -> list[str]:
    """Return the two rankers of a column, in alphabetical order."""
    # An Enum would be sorted in the order of its categories.
    teams = log.rows.select(pl.col(team).unique().drop_nulls()).collect()[team]
    names = sorted(teams.to_list())
    if len(names) != 2:  # noqa: PLR2004
        msg = f"column {team!r} must name two rankers, got {len(names)}: {first_few(names)}"
        raise ValueError(msg)
    return names
