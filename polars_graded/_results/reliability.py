"""How sure the order of strategies is: what fewer queries would have said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np
import polars as pl

from polars_graded._checks import check_choice, check_list, check_number, check_whole_number
from polars_graded._results.correlation import kendalls, tau_ap
from polars_graded._results.keys import ResultOptions, takes_results
from polars_graded._results.per_query import Named, check_per_query, mean_of, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from polars_graded._measuring.kernels.ragged import Floats, Integers
    from polars_graded._results.per_query import Results

__all__ = ["order_stability", "swap_rate"]

BLOCK = 2**20
"""How many numbers are worked on at a time, 8 MB."""

SIZES = 10
"""How many numbers of queries are tried where none are asked for."""


@takes_results
def swap_rate(
    per_query: pl.DataFrame | pl.LazyFrame,
    *measures: Named,
    sizes: int | Sequence[int] | None = None,
    width: float = 0.01,
    samples: int = 1000,
    seed: int = 0,
    **keys: Unpack[ResultOptions],
) -> pl.DataFrame:
    """Say how often other queries put two strategies the other way round.

    Two samples of queries that share none are drawn; a pair of strategies is swapped where its
    difference of means is above 0 in one and below 0 in the other; a tie is no swap. The larger the
    difference in the first sample, the rarer that is.

    Parameters
    ----------
    per_query, *measures, query, strategy, missing, grader
        As for `compare`.
    sizes
        The number of queries in each sample, or several; by default half of all, and smaller ones.
    width
        How wide a class of differences is, in the unit of the measure.
    samples
        How many times two samples are drawn for each size.
    seed
        The same seed draws the same queries for all measures that have the same number of them.

    Returns
    -------
    DataFrame
        One row per measure, size and class of differences that occurred, sorted by size and class:

        - `measure` (String), `queries` (UInt32), the size;
        - `difference_from` and `difference_to` (Float64): the class of the size of the difference
          in the first sample, from the former to below the latter;
        - `comparisons` and `swaps` (UInt32), of all pairs in all samples, and `swap_rate`
          (Float64, from 0 to 1), the latter over the former.

    See Also
    --------
    trust.order_stability : How alike the order of all strategies is.
    charts.swap_rates : The rates drawn, one line per size.

    References
    ----------
    Buckley, Voorhees: Evaluating evaluation measure stability, SIGIR 2000. Voorhees, Buckley: The
    effect of topic set size on retrieval experiment error, SIGIR 2002.

    Examples
    --------
    The last of four queries weighs more than any other. With it bm25 is better, without it ours,
    so that either half contradicts the other:

    >>> per_query = pl.DataFrame(
    ...     {
    ...         "strategy": ["bm25"] * 4 + ["ours"] * 4,
    ...         "query": ["a", "b", "c", "d"] * 2,
    ...         "ap": [0.0, 0.0, 0.0, 1.0, 0.25, 0.25, 0.25, 0.5],
    ...     }
    ... )
    >>> swap_rate(per_query, "ap", sizes=2, width=0.5).select(pl.exclude("measure"))
    shape: (1, 6)
    ┌─────────┬─────────────────┬───────────────┬─────────────┬───────┬───────────┐
    │ queries ┆ difference_from ┆ difference_to ┆ comparisons ┆ swaps ┆ swap_rate │
    │ ---     ┆ ---             ┆ ---           ┆ ---         ┆ ---   ┆ ---       │
    │ u32     ┆ f64             ┆ f64           ┆ u32         ┆ u32   ┆ f64       │
    ╞═════════╪═════════════════╪═══════════════╪═════════════╪═══════╪═══════════╡
    │ 2       ┆ 0.0             ┆ 0.5           ┆ 1000        ┆ 1000  ┆ 1.0       │
    └─────────┴─────────────────┴───────────────┴─────────────┴───────┴───────────┘
    """
    step = check_number("width", width, above=0)
    draws = check_whole_number("samples", samples)
    check_whole_number("seed", seed, at_least=0)
    grid = check_per_query(per_query, measures, **keys)
    place, comparisons, swaps = pl.col("place"), pl.col("comparisons"), pl.col("swaps")
    tables = []
    for results in grid.several():
        for size in _sizes(sizes, results.n // 2):
            counts = []
            for drawn in _samples(results, 2 * size, draws, seed):
                first = _differences(results, drawn[:, :size]).ravel()
                second = _differences(results, drawn[:, size:]).ravel()
                classes = np.floor(np.abs(first) / step + 1e-9).astype(np.int64)
                pairs = pl.DataFrame({"place": classes, "swaps": first * second < 0})
                counts.append(pairs.group_by("place").agg(swaps.sum(), comparisons=pl.len()))
            found = pl.concat(counts).group_by("place").sum().sort("place")
            rows = found.select(
                pl.lit(results.measure).alias("measure"),
                pl.lit(size, pl.UInt32).alias("queries"),
                (place * step).alias("difference_from"),
                ((place + 1) * step).alias("difference_to"),
                comparisons,
                swaps,
                (swaps / comparisons).alias("swap_rate"),
            )
            tables.append(rows)
    return pl.concat(tables)


@takes_results
def order_stability(
    per_query: pl.DataFrame | pl.LazyFrame,
    *measures: Named,
    sizes: int | Sequence[int] | None = None,
    method: Literal["kendall", "ap"] = "kendall",
    samples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
    **keys: Unpack[ResultOptions],
) -> pl.DataFrame:
    r"""Say how alike the order of strategies from fewer queries is to that from all.

    Parameters
    ----------
    per_query, *measures, query, strategy, missing, grader
        As for `compare`.
    sizes
        The numbers of queries to draw; by default ten from 5 to all.
    method
        The correlation of both orders, as for `rank_correlation`; `"ap"` goes down the order from
        fewer queries.
    samples
        How many times queries are drawn for each size.
    confidence
        The share of samples that lie from `tau_low` to `tau_high`.
    seed
        The same seed draws the same queries for all measures that have the same number of them.

    Returns
    -------
    DataFrame
        One row per measure and size: `measure` (String), `strategies` and `queries` (UInt32), and
        the mean `tau` of the samples with the quantiles `tau_low` and `tau_high` (Float64, from -1
        to 1; null where all strategies have one mean). Of two strategies a sample's is 1 or -1.

    See Also
    --------
    trust.swap_rate : How often two strategies change places.
    trust.rank_correlation : How alike two measures order the strategies.
    charts.stability_curves : The correlations drawn, one line per measure.

    References
    ----------
    Buckley, Voorhees: Evaluating evaluation measure stability, SIGIR 2000.

    Examples
    --------
    Of three queries one puts the two strategies the other way round:

    >>> per_query = pl.DataFrame(
    ...     {
    ...         "strategy": ["bm25"] * 3 + ["ours"] * 3,
    ...         "query": ["a", "b", "c"] * 2,
    ...         "ap": [0.25, 0.5, 0.75, 0.5, 0.75, 0.625],
    ...     }
    ... )
    >>> order_stability(per_query, "ap", sizes=[2, 3])
    shape: (2, 6)
    ┌─────────┬────────────┬─────────┬─────┬─────────┬──────────┐
    │ measure ┆ strategies ┆ queries ┆ tau ┆ tau_low ┆ tau_high │
    │ ---     ┆ ---        ┆ ---     ┆ --- ┆ ---     ┆ ---      │
    │ str     ┆ u32        ┆ u32     ┆ f64 ┆ f64     ┆ f64      │
    ╞═════════╪════════════╪═════════╪═════╪═════════╪══════════╡
    │ ap      ┆ 2          ┆ 2       ┆ 1.0 ┆ 1.0     ┆ 1.0      │
    │ ap      ┆ 2          ┆ 3       ┆ 1.0 ┆ 1.0     ┆ 1.0      │
    └─────────┴────────────┴─────────┴─────┴─────────┴──────────┘
    """
    check_choice("method", method, ("kendall", "ap"))
    draws = check_whole_number("samples", samples)
    share = check_number("confidence", confidence, above=0, below=1)
    check_whole_number("seed", seed, at_least=0)
    grid = check_per_query(per_query, measures, **keys)
    rows = [
        stability_of(results, size, draws, method, share, seed)
        for results in grid.several()
        for size in _sizes(sizes, results.n)
    ]
    return table(rows)


def stability_of(
    results: Results,
    size: int,
    draws: int,
    method: Literal["kendall", "ap"] = "kendall",
    share: float = 0.95,
    seed: int = 0,
) -> dict[str, Any]:
    """How alike the order from samples of one size is to that from all queries."""
    correlation = kendalls if method == "kendall" else _taus_ap
    samples = _samples(results, size, draws, seed)
    every = [correlation(_signs(results, drawn), results.order) for drawn in samples]
    tau = np.concatenate(every)
    tau = tau[~np.isnan(tau)]
    tails = [(1 - share) / 2, (1 + share) / 2]
    low, high = np.quantile(tau, tails) if len(tau) else (np.nan, np.nan)
    return {
        "measure": results.measure,
        "strategies": len(results.values),
        "queries": size,
        "tau": mean_of(tau),
        "tau_low": low,
        "tau_high": high,
    }


def _sizes(asked: int | Sequence[int] | None, most: int) -> list[int]:
    """The numbers of queries to draw, none above `most`."""
    if asked is None:
        spread = np.geomspace(min(5, most), most, SIZES).round()
        return [int(size) for size in np.unique(spread)]
    return [check_whole_number("sizes", size, at_most=most) for size in check_list("sizes", asked)]


def _samples(results: Results, size: int, samples: int, seed: int) -> Iterator[Integers]:
    """Queries drawn without putting them back, a row of places per sample, in blocks."""
    rng = np.random.default_rng(seed)
    n, count = results.n, len(results.values)
    step = max(1, BLOCK // max(n, count * count))
    for start in range(0, samples, step):
        rows = min(step, samples - start)
        places = np.broadcast_to(np.arange(n), (rows, n))
        yield rng.permuted(places, axis=1)[:, :size]


def _differences(results: Results, drawn: Integers) -> Floats:
    """How far the means of all pairs of strategies are apart: a row per sample."""
    rows, size = drawn.shape
    weights = np.zeros((rows, results.n))
    np.put_along_axis(weights, drawn, 1 / size, axis=1)
    means = weights @ results.values.T
    rounding = (weights @ results.rounding)[:, np.newaxis]
    a, b = np.triu_indices(len(results.values), 1)
    differences: Floats = means[:, a] - means[:, b]
    differences[np.abs(differences) <= rounding] = 0
    return differences


def _signs(results: Results, drawn: Integers) -> Floats:
    """Which of each pair of strategies is the better one: a row per sample."""
    return np.sign(_differences(results, drawn)) * (1 if results.higher_is_better else -1)


def _taus_ap(signs: Floats, whole: Floats) -> Floats:
    """AP correlation of each sample's order with that of all queries, NaN where one has none."""
    count = len(whole)
    square = np.zeros((len(signs), count, count))
    a, b = np.triu_indices(count, 1)
    square[:, a, b], square[:, b, a] = signs, -signs
    places = (square > 0).sum(axis=2).astype(np.float64)
    return np.array([tau_ap(sample, whole) for sample in places])
