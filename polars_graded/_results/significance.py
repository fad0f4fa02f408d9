"""Tests of a difference between strategies, and corrections for how many are tested.

A test prepares what all pairs of a measure share, and returns what tests one of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from polars_graded._results.per_query import Floats, Results

Integers: TypeAlias = npt.NDArray[np.int64]
TestName: TypeAlias = Literal["t", "wilcoxon", "permutation", "bootstrap", "randomised_tukey"]
CorrectionName: TypeAlias = Literal["none", "bonferroni", "holm", "benjamini_hochberg"]
Outcome: TypeAlias = tuple[float, float, float]
"""A p value and both ends of an interval, NaN where there is none."""
Progress: TypeAlias = Callable[[Sequence[int]], Iterable[int]]

BLOCK = 2**20
"""How many numbers are drawn at a time, 8 MB."""


@dataclass(frozen=True)
class Options:
    """How a test is carried out."""

    confidence: float
    seed: int
    resamples: int
    progress: Progress


def check_progress(progress: Progress | None) -> Progress:
    """What shows how far a test is; by default nothing."""
    if progress is None:
        return lambda blocks: blocks
    if not callable(progress):
        msg = f"`progress` must be called with a sequence, as tqdm is, got {progress!r}"
        raise TypeError(msg)
    return progress


def prepared(test: TestName, results: Results, options: Options) -> Callable[[int, int], Outcome]:
    """What tests a pair; fewer than two queries say nothing."""
    if results.n < 2:  # noqa: PLR2004
        return lambda _i, _j: (np.nan, np.nan, np.nan)
    return TESTS[test](results, options)


def _t(results: Results, options: Options) -> Callable[[int, int], Outcome]:
    """The paired t test."""
    from scipy.stats import ttest_rel

    def test(i: int, j: int) -> Outcome:
        differences = results.differences(i, j)
        if not np.ptp(differences):
            return np.nan if differences[0] else 1.0, np.nan, np.nan
        found = ttest_rel(results.values[i], results.values[j])
        interval = found.confidence_interval(options.confidence)
        return float(found.pvalue), float(interval.low), float(interval.high)

    return test


def _wilcoxon(results: Results, options: Options) -> Callable[[int, int], Outcome]:
    """The signed rank test, with the interval of the t test."""
    from scipy.stats import wilcoxon

    t = _t(results, options)

    def test(i: int, j: int) -> Outcome:
        differences = results.differences(i, j)
        _, low, high = t(i, j)
        if not differences.any():
            return 1.0, low, high
        # Only ranks count: whole steps, so that differences which rounding sets apart are tied.
        steps = np.rint(differences / results.rounding)
        with warnings.catch_warnings(action="ignore"):  # that a sample is small, in older versions
            return float(wilcoxon(steps, zero_method="wilcox").pvalue), low, high

    return test


def _permutation(results: Results, options: Options) -> Callable[[int, int], Outcome]:
    """Fisher's randomisation test, with the interval of the t test.

    The sign that a query's difference of any pair takes is the sign that all its values take.
    """
    exact = 2**results.n <= options.resamples
    blocks = _all_signs(results.n) if exact else _random_signs(results.n, options)
    means = _weighted_means(results, blocks)
    t = _t(results, options)

    def test(i: int, j: int) -> Outcome:
        observed = results.differences(i, j).mean()
        larger = np.abs(means[:, i] - means[:, j]) >= abs(observed) - results.rounding
        _, low, high = t(i, j)
        return _share(larger, exact=exact), low, high

    return test


def _bootstrap(results: Results, options: Options) -> Callable[[int, int], Outcome]:
    """The percentile interval, and where it ends at 0."""
    means = _weighted_means(results, _resampled_queries(results.n, options))
    tails = np.array([1 - options.confidence, 1 + options.confidence]) / 2

    def test(i: int, j: int) -> Outcome:
        differences = results.differences(i, j)
        if not np.ptp(differences):
            return np.nan if differences[0] else 1.0, np.nan, np.nan
        resampled = means[:, i] - means[:, j]
        low, high = np.quantile(resampled, tails)
        not_above = _share(resampled <= results.rounding, exact=False)
        not_below = _share(resampled >= -results.rounding, exact=False)
        return min(1.0, 2 * not_above, 2 * not_below), float(low), float(high)

    return test


def _randomised_tukey(results: Results, options: Options) -> Callable[[int, int], Outcome]:
    """The range of all means when each query's values are shuffled among the strategies."""
    rng = np.random.default_rng(options.seed)
    ranges = np.concatenate(
        [
            np.ptp(rng.permuted(np.tile(results.values.T, (n, 1, 1)), axis=2).mean(axis=1), axis=1)
            for n in _blocks(results.values.size, options)
        ]
    )
    margin = np.quantile(ranges, options.confidence)

    def test(i: int, j: int) -> Outcome:
        mean = float(results.differences(i, j).mean())
        larger = ranges >= abs(mean) - results.rounding
        return _share(larger, exact=False), mean - margin, mean + margin

    return test


TESTS: Mapping[TestName, Callable[[Results, Options], Callable[[int, int], Outcome]]] = {
    "t": _t,
    "wilcoxon": _wilcoxon,
    "permutation": _permutation,
    "bootstrap": _bootstrap,
    "randomised_tukey": _randomised_tukey,
}


def _weighted_means(results: Results, blocks: Iterable[Integers]) -> Floats:
    """The means of each strategy with weighted queries: a row a set of weights, in blocks."""
    return np.concatenate(
        [weights.astype(np.float64) @ results.values.T / results.n for weights in blocks]
    )


def _all_signs(n: int) -> Iterator[Integers]:
    """Every way to sign n differences."""
    yield 2 * (np.arange(2**n)[:, np.newaxis] >> np.arange(n) & 1) - 1


def _random_signs(n: int, options: Options) -> Iterator[Integers]:
    """Random ways to sign n differences."""
    rng = np.random.default_rng(options.seed)
    for rows in _blocks(n, options):
        yield 2 * rng.integers(0, 2, (rows, n)) - 1


def _resampled_queries(n: int, options: Options) -> Iterator[Integers]:
    """How often each of n queries is drawn when n are drawn with replacement."""
    rng = np.random.default_rng(options.seed)
    for rows in _blocks(n, options):
        drawn = rng.integers(0, n, (rows, n)) + n * np.arange(rows)[:, np.newaxis]
        yield np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n)


def _blocks(size: int, options: Options) -> Iterator[int]:
    """How many resamples of so many numbers to draw at a time."""
    step = max(1, BLOCK // size)
    for start in options.progress(range(0, options.resamples, step)):
        yield min(step, options.resamples - start)


def _share(larger: npt.NDArray[np.bool_], *, exact: bool) -> float:
    """The share of resamples; of random ones the data itself is one more (Phipson, Smyth 2010)."""
    return float(larger.mean() if exact else (larger.sum() + 1) / (len(larger) + 1))


def _bonferroni(p: Floats) -> Floats:
    return np.minimum(1, p * len(p))


def _holm(p: Floats) -> Floats:
    """The i-th smallest p value times m - i + 1, and no smaller than those before."""
    order = np.argsort(p)
    corrected = np.empty(len(p))
    corrected[order] = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return np.minimum(1, corrected)


def _benjamini_hochberg(p: Floats) -> Floats:
    from scipy.stats import false_discovery_control

    return np.asarray(false_discovery_control(p, method="bh"))


CORRECTIONS: Mapping[CorrectionName, Callable[[Floats], Floats]] = {
    "none": lambda p: p,
    "bonferroni": _bonferroni,
    "holm": _holm,
    "benjamini_hochberg": _benjamini_hochberg,
}
