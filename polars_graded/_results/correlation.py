"""How alike two measures order the strategies."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np
import polars as pl  # noqa: TC002, examples use it

from polars_graded._checks import check_choice, check_column_names
from polars_graded._results.keys import (
    ResultOptions,
    by_grader,
    compares_graders,
    has_graders,
)
from polars_graded._results.per_query import (
    Named,
    check_per_query,
    check_same_strategies,
    columns_named,
    mean_of,
    table,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polars_graded._measuring.kernels.ragged import Floats

__all__ = ["rank_correlation"]


@compares_graders
def rank_correlation(
    per_query: pl.DataFrame | pl.LazyFrame,
    *measures: Named,
    reference: str | None = None,
    method: Literal["kendall", "ap"] = "kendall",
    **keys: Unpack[ResultOptions],
) -> pl.DataFrame:
    r"""Say how alike two measures order the strategies by their means: 1 the same, -1 reversed.

    Kendall's :math:`\tau` counts every pair of strategies alike. AP correlation counts those near
    the top more: it goes down one order, from the second of its N strategies, and takes the share
    of those above the i-th that the other order puts above it too, :math:`C(i)` of them:

    .. math:: \tau_{AP} = \frac{2}{N - 1} \sum_{i=2}^{N} \frac{C(i)}{i - 1} - 1

    As text: ``τ_AP = 2 / (N - 1) * ∑ C(i) / (i - 1) - 1``, summed over i = 2 … N.

    Parameters
    ----------
    per_query, *measures, query, strategy, missing, grader
        As for `compare`, with at least two measures.
    reference
        The measure whose order is the true one, for the others to be compared with; it is among
        the measures, or is added to them. Without it each pair of measures is compared once. Of
        results of several graders it is a grader.
    method
        `"kendall"` (`scipy.stats.kendalltau`, which is :math:`\tau_b`) or `"ap"`. AP correlation
        goes down the order of the measure that is compared with the reference; without a
        reference it is the mean of both directions.

    Returns
    -------
    DataFrame
        `measure`, `reference` (both String), `strategies` (UInt32) and `tau` (Float64), from -1 to
        1, null where a measure gives all strategies the same mean, or there are fewer than two.

    Notes
    -----
    Strategies whose means are tied in the order that is gone down count as one place there: each is
    compared with those above the tie, and those at the top with none, as in Urbano and Marrero's
    :math:`\tau_{AP,b}`, which is what the mean of both directions is. A tie in one order where the
    other has none counts as disagreement.

    A measure known to be best at its lowest, as `e_measure`, orders the strategies from there.

    References
    ----------
    Kendall: A new measure of rank correlation, 1938. Yilmaz, Aslam, Robertson: A new rank
    correlation coefficient for information retrieval, 2008. Urbano, Marrero: The treatment of ties
    in AP correlation, 2017.

    Examples
    --------
    Both measures agree but for the two best of four strategies, which is one pair of six:

    >>> per_query = pl.DataFrame(
    ...     {
    ...         "strategy": ["w", "x", "y", "z"],
    ...         "query": "a",
    ...         "ap": [0.75, 0.5, 0.25, 0.0],
    ...         "ndcg": [0.5, 1.0, 0.25, 0.0],
    ...     }
    ... )
    >>> pl.concat([rank_correlation(per_query, method=method) for method in ("kendall", "ap")])
    shape: (2, 4)
    ┌─────────┬───────────┬────────────┬──────────┐
    │ measure ┆ reference ┆ strategies ┆ tau      │
    │ ---     ┆ ---       ┆ ---        ┆ ---      │
    │ str     ┆ str       ┆ u32        ┆ f64      │
    ╞═════════╪═══════════╪════════════╪══════════╡
    │ ap      ┆ ndcg      ┆ 4          ┆ 0.666667 │
    │ ap      ┆ ndcg      ┆ 4          ┆ 0.333333 │
    └─────────┴───────────┴────────────┴──────────┘
    """
    check_choice("method", method, ("kendall", "ap"))
    if has_graders(per_query.collect_schema(), keys):
        return _between_graders(per_query, measures, reference, method, keys)
    if reference is not None and measures and reference not in columns_named(measures):
        measures = (*measures, reference)
    grid = check_per_query(per_query, measures, **keys)
    order = {measure: grid.results(measure).order for measure in grid.measures}
    if len(order) < 2:  # noqa: PLR2004
        msg = f"name at least two measures to correlate, got {', '.join(order)}"
        raise ValueError(msg)
    pairs = _pairs([*order], reference)
    return table(
        {
            "measure": [name for name, _ in pairs],
            "reference": [name for _, name in pairs],
            "strategies": [len(grid.strategies)] * len(pairs),
            "tau": [_tau(order[x], order[y], reference, method) for x, y in pairs],
        }
    )


def _between_graders(
    per_query: pl.DataFrame | pl.LazyFrame,
    measures: Sequence[Named],
    reference: str | None,
    method: str,
    keys: Mapping[str, Any],
) -> pl.DataFrame:
    """How alike two graders order the strategies, by the queries that both judged."""
    parts = by_grader(per_query, {**keys, "measures": measures})
    query = check_column_names("query", keys["query"])
    rows = []
    for x, y in _pairs([*parts], reference):
        grids = [
            check_per_query(
                parts[one].join(parts[other], on=query, how="semi", nulls_equal=True),
                measures,
                **keys,
            )
            for one, other in ((x, y), (y, x))
        ]
        strategies = check_same_strategies(x, y, *(grid.strategies for grid in grids))
        for measure in grids[0].measures:
            one, other = (grid.results(measure) for grid in grids)
            rows.append(
                {
                    "measure": measure,
                    "grader": x,
                    "reference": y,
                    "queries": one.n,
                    "strategies": len(strategies),
                    "tau": _tau(one.order, other.order[strategies], reference, method),
                }
            )
    return table(rows).sort("measure", maintain_order=True)


def _pairs(names: Sequence[str], reference: str | None) -> list[tuple[str, str]]:
    """What is compared with what: everything with the reference, or each pair once."""
    if reference is None:
        return list(combinations(names, 2))
    if reference in names:
        return [(name, reference) for name in names if name != reference]
    msg = f"`reference` must be one of {', '.join(names)}, got {reference!r}"
    raise ValueError(msg)


def _tau(x: Floats, y: Floats, reference: str | None, method: str) -> float:
    """The correlation of two orders, of both directions where none is the true one."""
    if method == "kendall":
        return kendall(x, y)
    return tau_ap(x, y) if reference is not None else (tau_ap(x, y) + tau_ap(y, x)) / 2


def kendall(x: Floats, reference: Floats) -> float:
    """Kendall's tau-b of two orders, NaN where all of one are tied.

    It may be of many thousand points, so it does not look at each pair of them as `kendalls` does.
    """
    if min(len(np.unique(order)) for order in (x, reference)) <= 1:
        return float("nan")
    from scipy.stats import kendalltau

    # What scipy works out of a square root is rounded: tau of equal orders is 1.
    return round(float(kendalltau(x, reference).statistic), 15)


def kendalls(signs: Floats, reference: Floats) -> Floats:
    """Kendall's tau-b of many orders with another, each a row of the signs of its pairs."""
    others = _signs(reference)
    pairs = np.sqrt(np.count_nonzero(others) * np.count_nonzero(signs, axis=1).astype(np.float64))
    tau = np.full(len(signs), np.nan)
    np.divide(signs @ others, pairs, out=tau, where=pairs > 0)
    return tau


def _signs(order: Floats) -> Floats:
    """Which of each pair of strategies is the better one."""
    a, b = np.triu_indices(len(order), 1)
    return np.sign(order[a] - order[b])


def tau_ap(x: Floats, reference: Floats) -> float:
    """Going down x: the share of those above that the reference puts above too, doubled, less 1."""
    above = x > x[:, np.newaxis]
    agree = above & (reference > reference[:, np.newaxis])
    n_above, n_agree = above.sum(axis=1), agree.sum(axis=1)
    below_top = n_above > 0
    return 2 * mean_of(n_agree[below_top] / n_above[below_top]) - 1
