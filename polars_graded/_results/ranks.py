"""Rank strategies, with intervals of ranks and groups of strategies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from polars_graded._frames.arguments import Columns
from polars_graded._measuring.kernels.ragged import Integers, Mask
from polars_graded._measuring.keywords import checks_call
from polars_graded._results.comparing import compare_results, summarise_results
from polars_graded._results.findings import is_significant
from polars_graded._results.keys import PassedKeys
from polars_graded._results.measure_values import MeasureColumns, check_has_best, find_places
from polars_graded._results.results import (
    EFFECTIVE,
    Missing,
    Results,
    check_free_names,
    open_results,
)
from polars_graded._results.significance import CorrectionName, Options, TestName

__all__ = ["rank_strategies"]

RANK_COLUMNS = ("rank", "rank_low", "rank_high", "group")
"""Columns of `rank_strategies` that neither `summarise` nor `compare` has."""

LETTERS = "abcdefghijklmnoprstuvwxyz"
"""Names of groups, and of strategies in a table. "q" is left out: it has no superscript form."""


@checks_call
def rank_strategies(
    per_query: pl.DataFrame | pl.LazyFrame,
    *measures: MeasureColumns,
    segments: str | Sequence[str] | None = None,
    test: TestName = "t",
    correction: CorrectionName | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    resamples: int = 10_000,
    cluster: Columns | None = None,
    weights: str | None = None,
    query: Columns | None = None,
    strategy: str | None = None,
    missing: Missing = "error",
    grader: str | None = None,
) -> pl.DataFrame:
    r"""Rank strategies by mean, with intervals of ranks and groups.

    `compare` tests each pair of strategies. A pair with a significant difference is distinguished:
    the strategy with the better mean counts as better than the other, and the other as worse. There
    are N strategies. :math:`B_i` contains all that count as better than the i-th strategy, and
    :math:`W_i` all that count as worse:

    .. math:: \mathrm{rank\_low}_i = 1 + |B_i| \qquad \mathrm{rank\_high}_i = N - |W_i|

    As text: ``rank_low = 1 + number of better ones; rank_high = N - number of worse ones``

    Parameters
    ----------
    per_query, *measures, query, strategy, missing, grader, segments, test, correction, confidence
        As for `compare`, which compares all pairs.
    seed, resamples, cluster, weights
        As for `compare`.

    Returns
    -------
    DataFrame
        One row per measure, segment and strategy. Measures and segments keep their order, and the
        best strategy is first:

        - `measure` (String), the segments, the strategy (under the name of its column), `queries`
          (UInt32), with `cluster` the number of `clusters` (UInt32), with `weights`
          `effective_queries` (Float64), `best` (which value is best), `test` and `correction`
          (String), `confidence`, `mean`, and `ci_low` to `ci_high`, as in `summarise` (Float64);
        - `rank` (UInt32), from 1; strategies with the same mean share the best of their ranks;
        - `rank_low`, `rank_high` (UInt32): the ends of an interval of the true rank. Corrections
          such as `"holm"` bound the probability of any false finding. With such a correction, all
          intervals of a measure contain the true ranks with a probability of at least
          `confidence`. Two equal best strategies both have the true ranks 1 and 2, and both
          intervals must contain 1 and 2;
        - `group` (String): the letters of the groups of a strategy. Two strategies share a letter
          if they are not distinguished. Distinguished strategies share no letter, as in a compact
          letter display. Groups are in the order of their best strategies. If there are more than
          25 groups, numbers separated by commas replace letters.

    See Also
    --------
    compare : The differences behind the ranks.
    charts.strategy_ranks : Chart of the ranks with their intervals.

    Notes
    -----
    In simulations of several settings (four or ten strategies; all, some or none of them with the
    same mean; 50 queries, t test and Holm at 0.95), all true ranks lay within their intervals in at
    least 94.8 % of the 2,000 simulations of each setting. The page "Speed and tests" of the
    documentation has the table.

    A group is a clique: no two of its strategies are distinguished. A greedy search finds a small
    number of cliques. Each pair that is not distinguished is in at least one of them. If all
    intervals contain all ranks, nothing is known about the ranks.

    References
    ----------
    Al Mohamad, Goeman, van Zwet: Simultaneous confidence intervals for ranks with application to
    ranking institutions, 2021. Mogstad, Romano, Shaikh, Wilhelm: Inference for ranks with
    applications to mobility across neighbourhoods and academic achievement across countries, 2024.
    Piepho: An algorithm for a letter-based representation of all-pairwise comparisons, 2004.

    Examples
    --------
    Differences between `a` and the others are large compared with their variation; differences
    between `b` and `c` are not:

    >>> per_query = pl.DataFrame(
    ...     {
    ...         "strategy": ["a"] * 4 + ["b"] * 4 + ["c"] * 4,
    ...         "query": [1, 2, 3, 4] * 3,
    ...         "ap": [0.8, 0.9, 0.8, 0.9, 0.3, 0.5, 0.4, 0.4, 0.4, 0.3, 0.3, 0.5],
    ...     }
    ... )
    >>> ranks = rank_strategies(per_query, "ap")
    >>> ranks.select("strategy", "mean", "rank", "rank_low", "rank_high", "group")
    shape: (3, 6)
    ┌──────────┬───────┬──────┬──────────┬───────────┬───────┐
    │ strategy ┆ mean  ┆ rank ┆ rank_low ┆ rank_high ┆ group │
    │ ---      ┆ ---   ┆ ---  ┆ ---      ┆ ---       ┆ ---   │
    │ str      ┆ f64   ┆ u32  ┆ u32      ┆ u32       ┆ str   │
    ╞══════════╪═══════╪══════╪══════════╪═══════════╪═══════╡
    │ a        ┆ 0.85  ┆ 1    ┆ 1        ┆ 1         ┆ a     │
    │ b        ┆ 0.4   ┆ 2    ┆ 2        ┆ 3         ┆ b     │
    │ c        ┆ 0.375 ┆ 3    ┆ 2        ┆ 3         ┆ b     │
    └──────────┴───────┴──────┴──────────┴───────────┴───────┘
    """
    options = Options(test, correction, confidence, seed, resamples)
    keys = PassedKeys(query, strategy, segments=segments, cluster=cluster, weights=weights)
    results = open_results(per_query, measures, keys, missing, grader)
    return results.stack(lambda each: rank_results(each.with_best_values(), options))


def rank_results(results: Results, options: Options) -> pl.DataFrame:
    """Return the ranks of strategies by all pairwise comparisons."""
    means = summarise_results(results, options.confidence)
    pairs = compare_results(results, options)
    both = zip(
        *(each.partition_by("measure", *results.keys.segments) for each in (means, pairs)),
        strict=True,
    )
    strategy = results.strategies.name
    check_free_names(RANK_COLUMNS, strategy=strategy, segments=results.keys.segments or None)
    return pl.concat(
        _rank_segment(of_strategies, of_pairs, results.keys.segments, strategy, options.level)
        for of_strategies, of_pairs in both
    )


def _rank_segment(
    means: pl.DataFrame, pairs: pl.DataFrame, segments: Sequence[str], strategy: str, alpha: float
) -> pl.DataFrame:
    """Return the ranked strategies of one measure and segment, best first."""
    best = means["best"][0]
    check_has_best(means["measure"][0], best, "rank strategies")
    # Means that differ only by rounding errors share a rank.
    rank = find_places(means["mean"]).rank("min", descending=best == "highest")
    a, b = np.triu_indices(means.height, 1)
    is_apart = pairs.select(is_significant(alpha)).to_series().to_numpy()
    is_better = np.zeros((means.height, means.height), dtype=bool)
    """`is_better[i, j]` is true if strategy i is significantly better than strategy j."""
    ranks = rank.fill_null(0).to_numpy()
    is_better[a, b] = is_apart & (ranks[a] < ranks[b])
    is_better[b, a] = is_apart & (ranks[b] < ranks[a])
    order = np.argsort(ranks, kind="stable")
    in_order = is_better[np.ix_(order, order)]
    ranked = means.select(
        *("measure", *segments, strategy),
        *(name for name in ("queries", "clusters", EFFECTIVE, "best") if name in means.columns),
        *(pl.lit(pairs[name][0]).alias(name) for name in ("test", "correction") if pairs.height),
        *("confidence", "mean", "ci_low", "ci_high"),
        rank=rank.cast(pl.UInt32),
        # rank_low = 1 + |B|, rank_high = N - |W| (Al Mohamad, Goeman, van Zwet 2021).
        rank_low=pl.Series(1 + is_better.sum(axis=0), dtype=pl.UInt32),
        rank_high=pl.Series(len(is_better) - is_better.sum(axis=1), dtype=pl.UInt32),
    )
    return ranked[order].with_columns(
        group=pl.Series(name_sets(find_cliques(in_order | in_order.T), len(in_order)))
    )


def find_cliques(is_apart: Mask) -> list[Integers]:
    """Return sets of similar strategies that cover each similar pair.

    `is_apart` is the mask of distinguished pairs; all other pairs are similar. All pairs within a
    set are similar, and each similar pair is in at least one set. A strategy that is not similar to
    any other strategy forms a set alone.

    Strategies are in the order of their means, the best first. A similar pair is open until a set
    contains both strategies. A new set begins with an open pair (i, j): i is the smallest index in
    any open pair, and j is the largest index that forms an open pair with i. The other strategies
    are then tried in the order i + 1, i + 2, ..., n - 1, 0, ..., i - 1. A strategy that is similar
    to all members of the set is added to the set.
    """
    n = len(is_apart)
    open_pairs = np.triu(~is_apart, 1)
    groups = []
    for first in range(n):
        while len(others := np.flatnonzero(open_pairs[first])):
            members = [first, int(others[-1])]
            for other in (*range(first + 1, n), *range(first)):
                if other not in members and not is_apart[other, members].any():
                    members.append(other)
            members.sort()
            open_pairs[np.ix_(members, members)] = False
            groups.append(np.array(members))
    isolated = set(range(n)).difference(*map(np.ndarray.tolist, groups))
    return sorted(
        [*groups, *(np.array([each]) for each in isolated)], key=lambda each: each.tolist()
    )


def name_sets(sets: Sequence[Integers], n: int) -> list[str]:
    """Return, for each of n strategies, the names of the sets that contain it."""
    are_letters = len(sets) <= len(LETTERS)
    names: list[list[str]] = [[] for _ in range(n)]
    for index, members in enumerate(sets):
        for member in members:
            names[member].append(LETTERS[index] if are_letters else str(index + 1))
    return [("" if are_letters else ",").join(each) for each in names]
