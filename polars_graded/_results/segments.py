"""Test whether differences between strategies vary by segment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from polars_graded._checks import check_choice
from polars_graded._frames.arguments import Columns
from polars_graded._frames.strategies import find_pairs
from polars_graded._measuring.kernels.ragged import Floats, Integers
from polars_graded._measuring.keywords import checks_keywords
from polars_graded._results.best_values import MeasureColumns
from polars_graded._results.grid import ALL_QUERIES, Grid, Missing
from polars_graded._results.means import MIN_VALUES
from polars_graded._results.pairs import Pairs, name_pairs
from polars_graded._results.result_sets import open_results
from polars_graded._results.significance import CORRECTIONS, CorrectionName, correct_p_values
from polars_graded._results.tables import EFFECTIVE, make_measure_table

__all__ = ["compare_segments"]

MAX_CONDITION = 1e12
"""Maximum condition number of covariances; with a larger one they count as singular."""


@checks_keywords
def compare_segments(
    per_query: pl.DataFrame | pl.LazyFrame,
    *measures: MeasureColumns,
    segments: str | Sequence[str],
    baseline: Any = None,
    correction: CorrectionName = "holm",
    cluster: Columns | None = None,
    weights: str | None = None,
    query: Columns | None = None,
    strategy: str | None = None,
    missing: Missing = "error",
    grader: str | None = None,
) -> pl.DataFrame:
    r"""Test whether a difference of two strategies varies between segments.

    If a difference is significant in one country and not in another, it may still be the same in
    both (Gelman, Stern 2006). Welch's analysis of variance tests whether the mean difference of the
    two strategies varies between segments; for two segments it is Welch's t test. There are k
    segments. Segment j has :math:`n_j` queries, whose differences have the mean :math:`\bar d_j`
    and the standard deviation :math:`s_j`. The statistic is

    .. math:: w_j = \frac{n_j}{s_j^2} \qquad
        \bar d = \frac{\sum_j w_j \bar d_j}{\sum_j w_j} \qquad
        \Lambda = \sum_j \frac{(1 - w_j / \sum_i w_i)^2}{n_j - 1}

        F = \frac{\sum_j w_j (\bar d_j - \bar d)^2 / (k - 1)}
        {1 + 2 \Lambda (k - 2) / (k^2 - 1)} \qquad \nu = \frac{k^2 - 1}{3 \Lambda}

    If the mean difference is the same in all segments, F approximately follows the F distribution
    with k - 1 and :math:`\nu` degrees of freedom.

    As text: ``w(j) = n(j) / s(j)²; d = ∑ w(j) d(j) / ∑ w(j);
    L = ∑ (1 - w(j) / ∑ w)² / (n(j) - 1);
    F = (∑ w(j) (d(j) - d)² / (k - 1)) / (1 + 2 L (k - 2) / (k² - 1)); ν = (k² - 1) / (3 L)``

    Parameters
    ----------
    per_query, *measures, query, strategy, baseline, missing, grader
        As for `compare`.
    segments
        The column that contains the segment of each query, or several such columns. A segment with
        fewer than two queries, or fewer than two clusters, is left out.
    correction
        The correction of p values, as for `compare`. The p values of all pairs of a measure are
        corrected together.
    cluster, weights
        The columns of clusters, and the column of weights, as for `compare` (Notes).

    Returns
    -------
    DataFrame
        One row per measure and pair, in the order of `compare`. The first columns are `measure`
        (String), the strategy (under the name of its column) and `baseline`. `segments` and
        `queries` (UInt32) are the numbers of segments and of queries in the test, and with
        `cluster`, `clusters` is the number of clusters (UInt32). `smallest` and
        `largest` are the smallest and the largest mean difference of a segment. `f` is the
        statistic F, and `df` is :math:`\nu`. The last columns are `p_value` and `p_corrected`. All
        columns from `smallest` on are Float64. `f`, `df`, `p_value` and `p_corrected` are null with
        fewer than two segments, or if a segment has the same difference in all of its queries.

    See Also
    --------
    compare : With `segments`, the differences in each segment.

    Notes
    -----
    With `cluster`, :math:`n_j` is the number of clusters of segment j, and :math:`s_j / \sqrt{n_j}`
    is the cluster-robust standard error of :math:`\bar d_j`, as for `compare`. If clusters have
    queries in several segments, Hotelling's test with the cluster-robust covariances of all
    :math:`\bar d_j` replaces Welch's. Its numbers of degrees of freedom are k - 1 and `df`, which
    is m - k + 1 if the segment with the fewest clusters has m of them.

    With `weights`, :math:`n_j` is effective, and the result has the `effective_queries` of all.

    References
    ----------
    Hotelling: The generalization of Student's ratio, 1931.
    Welch: On the comparison of several mean values: an alternative approach, Biometrika, 1951.
    Gelman, Stern: The difference between "significant" and "not significant" is not itself
    statistically significant, 2006.

    Examples
    --------
    With two segments, F is the squared t of Welch: (0.4 - 0.1)² / (0.01 / 3 + 0.01 / 3):

    >>> per_query = pl.DataFrame(
    ...     {
    ...         "strategy": ["bm25"] * 6 + ["ours"] * 6,
    ...         "country": ["DE", "DE", "DE", "FR", "FR", "FR"] * 2,
    ...         "query": [1, 2, 3, 4, 5, 6] * 2,
    ...         "ap": [0.5] * 6 + [0.5, 0.6, 0.7, 0.8, 0.9, 1.0],
    ...     }
    ... )
    >>> compare_segments(per_query, segments="country", baseline="bm25").select(
    ...     "strategy", pl.col("smallest", "largest", "f", "df", "p_value").round(4)
    ... )
    shape: (1, 6)
    ┌──────────┬──────────┬─────────┬──────┬─────┬─────────┐
    │ strategy ┆ smallest ┆ largest ┆ f    ┆ df  ┆ p_value │
    │ ---      ┆ ---      ┆ ---     ┆ ---  ┆ --- ┆ ---     │
    │ str      ┆ f64      ┆ f64     ┆ f64  ┆ f64 ┆ f64     │
    ╞══════════╪══════════╪═════════╪══════╪═════╪═════════╡
    │ ours     ┆ 0.1      ┆ 0.4     ┆ 13.5 ┆ 4.0 ┆ 0.0213  │
    └──────────┴──────────┴─────────┴──────┴─────┴─────────┘
    """
    check_choice("correction", correction, CORRECTIONS)
    results = open_results(
        per_query,
        measures,
        query=query,
        strategy=strategy,
        segments=segments,
        cluster=cluster,
        weights=weights,
        missing=missing,
        grader=grader,
    )
    return results.stack(
        lambda each: compute_interactions(each.read_grid(apart=False), baseline, correction)
    )


def compute_interactions(
    grid: Grid, baseline: Any = None, correction: CorrectionName = "holm"
) -> pl.DataFrame:
    """Return the table of `compare_segments` for a grid with segments."""
    a, b = find_pairs(grid.strategies, baseline)
    tables = []
    for measure in grid.measures:
        segments = [
            Pairs(results, a, b)
            for _, results in grid.split_segments(measure)
            if results.effective_number >= MIN_VALUES
        ]
        n, effective = (
            np.array(numbers, dtype=np.float64)[:, np.newaxis]
            for numbers in (
                [pairs.units.n for pairs in segments],
                [pairs.results.effective_number for pairs in segments],
            )
        )
        shape = len(segments), len(a)
        mean, std = (
            np.reshape([getattr(pairs.units.statistics, name) for pairs in segments], shape)
            for name in ("mean", "std")
        )
        clusters = _list_clusters(segments)
        if clusters is not None and len(clusters) < n.sum():
            f, df, p = _compute_hotelling(segments, clusters, mean, std)
        else:
            f, df, p = _compute_welch(effective, mean, std * np.sqrt(effective / n))
        means = mean if segments else np.full((1, len(a)), np.nan)
        statistics = {
            "segments": np.full(len(a), len(segments)),
            "queries": sum(pairs.n for pairs in segments),
            **({} if clusters is None else {"clusters": len(clusters)}),
            **_count_effective(grid, measure),
            "smallest": means.min(axis=0),
            "largest": means.max(axis=0),
            "f": f,
            "df": df,
            "p_value": p,
            "p_corrected": correct_p_values(correction, p),
        }
        names = name_pairs(grid.strategies, a, b)
        tables.append(make_measure_table(measure, ALL_QUERIES, names, statistics))
    return pl.concat(tables)


def _count_effective(grid: Grid, measure: str) -> dict[str, float]:
    """Return the column of the effective number of all queries; nothing without weights."""
    if grid.weights is None:
        return {}
    return {EFFECTIVE: float(grid.get_results(measure).effective_number)}


def _list_clusters(segments: Sequence[Pairs]) -> Any:
    """Return the numbers of all clusters of some segments; None without clusters."""
    numbers = [pairs.results.clusters for pairs in segments if pairs.results.clusters is not None]
    return np.unique(np.concatenate(numbers)) if numbers else None


def _compute_hotelling(
    segments: Sequence[Pairs], clusters: Integers, mean: Floats, std: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return F, the degrees of freedom and the p value of each pair, for dependent segments.

    The results of a pair are NaN if one of its standard deviations is 0, or if the covariances of
    its segments are singular.
    """
    from scipy.special import fdtrc

    k, n_pairs = mean.shape
    # Each cluster adds its share to the error of the mean difference of each segment.
    shares = np.zeros((n_pairs, k, len(clusters)))
    for place, pairs in enumerate(segments):
        columns = np.searchsorted(clusters, _list_clusters([pairs]))
        for part in pairs.split(pairs.n):
            deviations = pairs.compute_differences(part) - mean[place, part, np.newaxis]
            shares[part, place, columns] = pairs.results.linearise(deviations)
    # All segments are compared with the first one, in units of the smallest standard deviation.
    unit = np.where(std.min(axis=0) > 0, std.min(axis=0), np.nan)
    effects = (mean[1:] - mean[0]).T / unit[:, np.newaxis]
    contrasts = (shares[:, 1:] - shares[:, :1]) / unit[:, np.newaxis, np.newaxis]
    size, smallest = len(clusters), min(pairs.results.effective_number for pairs in segments)
    covariances = size / (size - 1) * contrasts @ contrasts.swapaxes(1, 2)
    f, df, p = np.full((3, n_pairs), np.nan)
    for index in np.flatnonzero(~np.isnan(unit) & (smallest >= k)):
        if np.linalg.cond(covariances[index]) < MAX_CONDITION:
            squared = effects[index] @ np.linalg.solve(covariances[index], effects[index])
            df[index] = smallest - k + 1
            f[index] = squared * df[index] / ((k - 1) * (smallest - 1))
            p[index] = fdtrc(k - 1, df[index], f[index])
    return f, df, p


def _compute_welch(n: Floats, mean: Floats, std: Floats) -> tuple[Floats, Floats, Floats]:
    """Return F, the degrees of freedom ν and the p value of each pair.

    Rows of the arguments are segments, and columns are pairs. The results of a pair are NaN if one
    of its standard deviations is 0, or if there are fewer than two segments.
    """
    from scipy.special import fdtrc

    k, pairs = mean.shape
    f, df, p = np.full((3, pairs), np.nan)
    is_varied = (std > 0).all(axis=0) & (k > 1)
    if is_varied.any():
        mean, std = mean[:, is_varied], std[:, is_varied]
        # All numbers are divided by the smallest standard deviation, because the square of a very
        # small standard deviation would underflow to 0.
        unit = std.min(axis=0)
        # Welch 1951, with the weights w_j = n_j / s_j².
        w = n / (std / unit) ** 2
        share = w / w.sum(axis=0)
        between = (w * ((mean - (share * mean).sum(axis=0)) / unit) ** 2).sum(axis=0) / (k - 1)
        spread = ((1 - share) ** 2 / (n - 1)).sum(axis=0)
        f[is_varied] = between / (1 + 2 * spread * (k - 2) / (k**2 - 1))
        df[is_varied] = (k**2 - 1) / (3 * spread)
        p[is_varied] = fdtrc(k - 1, df[is_varied], f[is_varied])
    return f, df, p
