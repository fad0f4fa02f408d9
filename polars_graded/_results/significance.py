"""Tests of differences between strategies, and corrections of p values.

A test takes all pairs of a measure at once. It returns their p values, and functions that compute
the intervals of the differences. These functions take levels of significance, one per pair. No
level may exceed `Options.level`, since tests keep only as many extreme resamples as this level
needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.random import Generator

from polars_graded._checks import check_choice, check_level, check_whole_number
from polars_graded._measuring.kernels.ragged import Floats, Integers
from polars_graded._results.best_values import ROUNDING
from polars_graded._results.grid import Results
from polars_graded._results.means import MIN_VALUES, divide
from polars_graded._results.pairs import Pairs, split_into_parts
from polars_graded._sentences import COMPARES_RANKS, conjugate, name_one
from polars_graded._warnings import DataWarning, warn_the_caller

TestName: TypeAlias = Literal["t", "wilcoxon", "permutation", "bootstrap", "randomised_tukey"]
CorrectionName: TypeAlias = Literal["none", "bonferroni", "holm", "benjamini_hochberg"]
Progress: TypeAlias = Callable[[Sequence[int]], Iterable[int]]
Ends: TypeAlias = "tuple[Floats, Floats]"
"""Lower ends and upper ends of intervals, one per pair; NaN for a pair without an interval."""
Interval: TypeAlias = "Callable[[Floats], Ends]"
"""Function that takes one level of significance per pair, and returns one interval per pair."""

MAX_BLOCK_NUMBERS = 2**20
"""Maximum number of random numbers in a block of resamples, 8 MB."""

MAX_KEPT_STATISTICS = 2**23
"""Maximum number of resampled statistics in memory, 64 MB."""

MAX_RESAMPLES = 2**22
"""Maximum number of resamples, so that the statistics of one pair fit in memory."""

MAX_TIED_EXACT_QUERIES = 13
"""Maximum number of queries for the exact distribution of tied ranks, as in scipy."""

RANK_COLUMN = "rank_biserial"
"""Column of the rank-biserial correlation, whose sign is the direction of a rank test."""

MAX_EXACT_QUERIES = 50
"""Maximum number of queries for the exact distribution of untied ranks, as in scipy."""


UNIT_TESTS: tuple[TestName, ...] = ("t", "permutation", "bootstrap")
"""Tests that allow for clusters of several queries, and for weights."""

MIN_CLUSTERS = 20
"""Minimum number of clusters for a t test. With fewer, it finds false differences too often."""


@dataclass(frozen=True)
class Options:
    """Test, correction of its p values, and parameters of both."""

    test: TestName
    requested_correction: CorrectionName | None = None
    confidence: float = 0.95
    seed: int = 0
    resamples: int = 10_000
    progress: Progress | None = None

    def __post_init__(self) -> None:
        """Raise if an argument of the user is invalid."""
        check_choice("test", self.test, TESTS)
        check_choice("correction", self.correction, CORRECTIONS)
        if TESTS[self.test].simultaneous and self.correction != "none":
            msg = (
                f"`correction` must be 'none' for the test {self.test!r}, whose p values hold for "
                f"all pairs together, got {self.correction!r}"
            )
            raise ValueError(msg)
        check_level(self.confidence)
        check_whole_number("seed", self.seed, at_least=0)
        check_whole_number("resamples", self.resamples, at_most=MAX_RESAMPLES)
        if not (self.progress is None or callable(self.progress)):
            msg = (
                f"`progress` must be a function of a sequence, such as tqdm, got {self.progress!r}"
            )
            raise TypeError(msg)

    @property
    def correction(self) -> CorrectionName:
        """Return the requested correction, or else the default one of the test."""
        if self.requested_correction is not None:
            return self.requested_correction
        return "none" if TESTS[self.test].simultaneous else "holm"

    @property
    def level(self) -> float:
        """Return the level of significance."""
        return check_level(self.confidence)

    def show_progress(self, blocks: Sequence[int]) -> Iterable[int]:
        """Return the blocks, wrapped in the progress bar if there is one."""
        return blocks if self.progress is None else self.progress(blocks)


@dataclass(frozen=True)
class PairedTest:
    """Test of the differences of all pairs."""

    run: Callable[[Pairs, Options], Outcome]
    words: str
    """Name in a sentence."""
    name: str
    """Name in a title."""
    compute_min_p: Callable[[int, int, int], float]
    """Function that takes the numbers of queries, strategies and resamples, and returns the
    smallest p to expect. Random resamples can give a smaller p by chance."""
    simultaneous: bool = False
    """True if the p values hold for all pairs together and need no correction."""
    of_ranks: bool = False
    """True for a test of ranks, whose direction can differ from the sign of the mean difference."""

    @property
    def short_words(self) -> str:
        """Return the name without its relative clause, for the middle of a sentence."""
        return self.words.partition(",")[0]


class Outcome(NamedTuple):
    """Result of a test for all pairs."""

    p: Floats
    interval: Interval
    """Intervals of the mean difference."""
    agreeing: Interval
    """Intervals that exclude 0 if and only if p is at most the level; NaN for a test of ranks."""
    rank_biserial: Floats | None = None
    """Sum of the signed ranks, divided by the sum of their absolute values; None if the test uses
    no ranks."""


def run_test(pairs: Pairs, options: Options) -> Outcome:
    """Return the outcome of a test; NaN with fewer than two independent units.

    The independent units are queries, or clusters of queries.
    """
    test, unknown = TESTS[options.test], np.full(len(pairs), np.nan)
    if options.test not in UNIT_TESTS:
        condition = ""
        if pairs.results.has_clusters:
            condition = "if a `cluster` has several queries"
        elif pairs.results.shares is not None:
            condition = "if `weights` differ"
        if condition:
            tests = "'t', 'permutation' or 'bootstrap'"
            msg = f"`test` must be {tests} {condition}, got {options.test!r}"
            raise ValueError(msg)
    if pairs.units.n < 2:  # noqa: PLR2004
        ranks = unknown if test.of_ranks else None
        return Outcome(unknown, _make_unknown_intervals, _make_unknown_intervals, ranks)
    return test.run(pairs, options)


def _make_unknown_intervals(levels: Floats) -> Ends:
    """Return intervals with NaN for both ends."""
    low, high = np.full((2, len(levels)), np.nan)
    return low, high


# Tests


def _run_t(pairs: Pairs, _options: Options) -> Outcome:
    """Return the outcome of the paired t test."""
    return estimate_differences(pairs).outcome


class Estimate(NamedTuple):
    """Means of n values, and their standard errors.

    The error of a mean is NaN if the values do not vary, or if there are fewer than two.
    """

    mean: Floats
    error: Floats
    n: Any

    @property
    def outcome(self) -> Outcome:
        """Return the outcome of the t test."""
        return Outcome(self.compute_p(), self.compute_ends, self.compute_ends)

    @classmethod
    def of(cls, mean: Floats, std: Floats, n: int, effective: float | None = None) -> Estimate:
        """Return the estimates for means and standard deviations of n values.

        With an effective number of values, this number minus 1 is the number of degrees of freedom.
        """
        effective = n if effective is None else effective
        is_known = (std > 0) & (effective >= MIN_VALUES)
        return cls(mean, np.where(is_known, std, np.nan) / np.sqrt(max(n, 1)), effective)

    def compute_p(self) -> Floats:
        """Return Student's p value.

        With fewer than two (effective) values, p is NaN. With two or more values that do not vary,
        p is 1 for a mean of 0, and NaN for any other mean.
        """
        from scipy.special import stdtr

        t = np.where(self.mean == 0, 0.0, np.nan)
        np.divide(self.mean, self.error, out=t, where=self.error > 0)
        return np.where(self.n >= MIN_VALUES, 2 * stdtr(self.n - 1, -np.abs(t)), np.nan)

    def compute_ends(self, levels: Any) -> Ends:
        """Return Student's intervals at these levels, NaN if undefined."""
        from scipy.special import stdtrit

        margin = -stdtrit(np.maximum(self.n - 1, 1), levels / 2) * self.error
        margin = np.where(np.isfinite(margin) & (self.n >= MIN_VALUES), margin, np.nan)
        return self.mean - margin, self.mean + margin


def estimate_differences(pairs: Pairs) -> Estimate:
    """Return the estimates of the mean differences.

    With clusters of queries, their standard errors are cluster-robust. With weights, they are
    linearised.
    """
    mean, std, *_ = pairs.units.statistics
    return Estimate.of(mean, std, pairs.units.n, pairs.results.effective_number)


def _run_wilcoxon(pairs: Pairs, _options: Options) -> Outcome:
    """Return the outcome of the signed rank test, with Student's intervals."""
    from scipy.stats import rankdata

    p, rank_biserial = np.empty((2, len(pairs)))
    per_pair = max(pairs.n, 2**pairs.n if pairs.n <= MAX_TIED_EXACT_QUERIES else 0)
    for part in pairs.split(per_pair):
        differences = pairs.round_differences(part)
        zeros = np.count_nonzero(differences == 0, axis=1, keepdims=True)
        # Differences of 0 have the lowest ranks. Their number is subtracted from all ranks, so that
        # the ranks of the other differences begin with 1. The sign of 0 is 0, so the signed rank of
        # a difference of 0 is 0.
        ranks = np.sign(differences) * (rankdata(np.abs(differences), axis=1) - zeros)
        p[part] = _compute_p_of_ranks(ranks)
        rank_biserial[part] = divide(ranks.sum(axis=1), np.abs(ranks).sum(axis=1))
    interval = estimate_differences(pairs).compute_ends
    return Outcome(p, interval, _make_unknown_intervals, rank_biserial)


def _compute_p_of_ranks(ranks: Floats) -> Floats:
    """Return the p value of each row of signed ranks.

    It is exact for few queries, and comes from a normal distribution for more, as in scipy.
    """
    from scipy.special import ndtr
    from scipy.stats import wilcoxon

    n = ranks.shape[1]
    count = np.count_nonzero(ranks, axis=1)
    positive = np.where(ranks > 0, ranks, 0).sum(axis=1)
    squares = (ranks**2).sum(axis=1)  # four times the variance of `positive`, also with ties
    z = np.zeros(len(ranks))
    np.divide(positive - count * (count + 1) / 4, np.sqrt(squares) / 2, out=z, where=count > 0)
    p: Floats = 2 * ndtr(-np.abs(z))
    # The squares sum to 1² + ... + n² only without ties and zeros.
    is_untied = squares == n * (n + 1) * (2 * n + 1) / 6
    if n <= MAX_EXACT_QUERIES and is_untied.any():
        p[is_untied] = wilcoxon(ranks[is_untied], axis=1, method="exact").pvalue
    if n <= MAX_TIED_EXACT_QUERIES and not is_untied.all():
        # Each of the 2ⁿ columns selects the differences that are positive under one sign vector.
        sizes = np.abs(ranks[~is_untied])
        sums = sizes @ (np.arange(2**n) >> np.arange(n)[:, np.newaxis] & 1)
        rank_sums = positive[~is_untied][:, np.newaxis]
        tails = (sums <= rank_sums).mean(axis=1), (sums >= rank_sums).mean(axis=1)
        p[~is_untied] = np.minimum(1, 2 * np.minimum(*tails))
    return np.where(count == 0, 1, p)


def _run_permutation(pairs: Pairs, options: Options) -> Outcome:
    """Return the outcome of Fisher's randomisation test, with Student's intervals.

    The test changes the signs of independent units: of clusters of queries, or of queries. With
    weights, the differences are multiplied by them.

    The agreeing interval contains every mean difference δ that the test does not reject. The test
    of δ subtracts δ from the difference of each query. A vector of signs keeps the signs of some
    queries and turns the signs of the other queries. Let k be the mean of the original differences
    of the kept queries, and t the mean of the original differences of the turned queries. The
    vector is at least as extreme as the data if and only if δ lies between k and t (Hartigan 1969).
    """
    student, sizes, pairs = estimate_differences(pairs), pairs.results.unit_sizes, pairs.totals
    n, units = sizes.sum(), pairs.n
    is_exact = 2**units <= options.resamples
    flips = Resamples(2**units if is_exact else options.resamples, is_exact=is_exact)
    n_extreme = flips.count_rejecting(options.level) + 1
    p = np.empty(len(pairs))
    lowest, highest = np.empty((2, len(pairs), n_extreme))
    for part, blocks in _split_draws(
        pairs, flips.count, options, _list_signs if is_exact else _draw_signs
    ):
        differences = pairs.compute_differences(part)
        rounding = pairs.compute_tolerances(part).sum(axis=1, keepdims=True)
        sums = np.empty((len(differences), flips.count))
        n_kept, sum_of_signs = np.empty((2, flips.count))
        for block, signs in blocks:
            sums[:, block] = differences @ signs.T
            n_kept[block] = (signs > 0) @ sizes
            sum_of_signs[block] = signs.sum(axis=1)
        total = differences.sum(axis=1, keepdims=True)
        p[part] = flips.compute_p((np.abs(sums) >= np.abs(total) - rounding).sum(axis=1))
        if n_extreme:
            twice_kept, twice_turned = total + sums, total - sums
            for twice_sums in (twice_kept, twice_turned):
                twice_sums[np.abs(twice_sums) <= rounding] = 0
            with np.errstate(divide="ignore", invalid="ignore"):
                kept_means = twice_kept / (2 * n_kept)
                turned_means = twice_turned / (2 * (n - n_kept))
            low, high = np.fmin(kept_means, turned_means), np.fmax(kept_means, turned_means)
            # A vector of equal signs is as extreme as the data for every δ, so low is -∞ and high
            # is ∞. The lines above give other ends: k or t is 0 / 0, the mean of no queries.
            are_equal = np.abs(sum_of_signs) == units
            low[:, are_equal], high[:, are_equal] = -np.inf, np.inf
            lowest[part] = _take_largest(-low, n_extreme)
            highest[part] = _take_largest(high, n_extreme)

    def compute_agreeing(levels: Floats) -> Ends:
        return _replace_infinite(-flips.find_distances(lowest, levels)), _replace_infinite(
            flips.find_distances(highest, levels)
        )

    return Outcome(p, student.compute_ends, compute_agreeing)


def _run_bootstrap(pairs: Pairs, options: Options) -> Outcome:
    """Return the outcome of the studentised bootstrap.

    The intervals are symmetric about the mean difference. For a pair without variation, p is 1 if
    the mean difference is 0, and NaN otherwise. Clusters of queries are drawn as a whole.
    """
    pairs = pairs.units
    n = pairs.n
    draws = Resamples(options.resamples, is_exact=False)
    n_extreme = draws.count_rejecting(options.level) + 1
    mean, std, *_ = pairs.statistics
    varies, error = std > 0, estimate_differences(pairs).error
    p = np.where(varies | (mean != 0), np.nan, 1)
    largest = np.empty((len(pairs), n_extreme))
    for part, blocks in _split_draws(pairs, draws.count, options, resample_queries):
        scale = np.where(varies[part], std[part], 1)[:, np.newaxis]
        deviations = (pairs.compute_differences(part) - mean[part, np.newaxis]) / scale
        t = np.empty((len(deviations), draws.count))
        for block, weights in blocks:
            means = deviations @ weights.T / n
            squares = deviations**2 @ weights.T / n
            variance = squares - means**2
            variance[variance <= ROUNDING * squares] = 0
            # If all deviations in a resample are 0, t is 0. If all are equal but not 0, t is
            # infinite.
            t[:, block] = np.abs(means) / np.sqrt(np.where(variance > 0, variance, 1) / (n - 1))
            t[:, block][(variance == 0) & (np.abs(means) > ROUNDING)] = np.inf
        observed = np.abs(mean[part]) / error[part]
        is_larger = t >= observed[:, np.newaxis] * (1 - ROUNDING)
        p[part] = np.where(varies[part], draws.compute_p(is_larger.sum(axis=1)), p[part])
        largest[part] = _take_largest(t, n_extreme)

    def compute_interval(levels: Floats) -> Ends:
        margin = _replace_infinite(draws.find_distances(largest, levels)) * error
        return _center_intervals(mean, margin, ROUNDING * np.abs(mean))

    return Outcome(p, compute_interval, compute_interval)


def _run_randomised_tukey(pairs: Pairs, options: Options) -> Outcome:
    """Return the outcome of the randomised Tukey test.

    It shuffles the values of each query among the strategies.
    """
    shuffles = Resamples(options.resamples, is_exact=False)
    ranges = np.sort(_draw_ranges(pairs.results, options))
    mean = pairs.statistics.mean
    tolerances = [pairs.compute_tolerances(part).mean(axis=1) for part in pairs.split(pairs.n)]
    rounding = np.concatenate(tolerances)
    smaller = np.searchsorted(ranges, np.abs(mean) - rounding)
    p = shuffles.compute_p(len(ranges) - smaller)
    largest = np.broadcast_to(ranges[::-1], (len(pairs), len(ranges)))

    def compute_interval(levels: Floats) -> Ends:
        margin = _replace_infinite(shuffles.find_distances(largest, levels))
        return _center_intervals(mean, margin, rounding)

    return Outcome(p, compute_interval, compute_interval)


def _replace_infinite(ends: Floats) -> Floats:
    """Return the numbers, with NaN in place of infinite ones."""
    return np.where(np.isfinite(ends), ends, np.nan)


def _center_intervals(mean: Floats, margin: Floats, rounding: Floats) -> Ends:
    """Return intervals about means; ends that are 0 up to rounding become 0."""
    low, high = mean - margin, mean + margin
    return np.where(np.abs(low) <= rounding, 0, low), np.where(np.abs(high) <= rounding, 0, high)


def _compute_min_p_of_signs(n: int, _strategies: int, resamples: int) -> float:
    """Return the smallest p to expect of the randomisation test.

    A vector of n equal signs is always as extreme as the data. Two of the 2ⁿ vectors are of this
    kind, which gives p = 2 / 2ⁿ. With random vectors, p is also at least 1 / (resamples + 1), since
    the data count as one resample. If all 2ⁿ vectors are listed, this second limit does not apply.
    """
    return max(2.0 ** (1 - n), 0 if n < math.log2(resamples + 1) else 1 / (resamples + 1))


def _compute_min_p_of_draws(n: int, _strategies: int, resamples: int) -> float:
    """Return the smallest p to expect of the bootstrap.

    A resample that draws a single query n times has an infinite t, unless the difference of this
    query equals the mean difference. At least two queries differ from the mean difference, so at
    least 2 of the nⁿ resamples are as extreme as the data. This gives p = 2 / nⁿ. p is also at
    least 1 / (resamples + 1), since the data count as one resample.
    """
    # Logarithms avoid an overflow.
    return max(2 * math.exp(-n * math.log(n)), 1 / (resamples + 1))


def _compute_min_p_of_shuffles(n: int, strategies: int, resamples: int) -> float:
    """Return the smallest p to expect of the randomised Tukey test.

    A shuffle that permutes the k strategies in the same way in all n queries is always as extreme
    as the data. Of the (k!)ⁿ shuffles, k! are of this kind, which gives p = k! / (k!)ⁿ. p is also
    at least 1 / (resamples + 1), since the data count as one resample.
    """
    # Logarithms avoid an overflow.
    p_of_equal_shuffles = math.exp((1 - n) * math.lgamma(strategies + 1))
    return max(p_of_equal_shuffles, 1 / (resamples + 1))


TESTS: Mapping[TestName, PairedTest] = {
    "t": PairedTest(_run_t, "the paired t test", "paired t test", lambda *_: 0.0),
    "wilcoxon": PairedTest(
        _run_wilcoxon,
        f"Wilcoxon's signed rank test, which {COMPARES_RANKS}",
        "Wilcoxon's test of ranks",
        lambda n, *_: 2.0 ** (1 - n) if n <= MAX_TIED_EXACT_QUERIES else 0.0,
        of_ranks=True,
    ),
    "permutation": PairedTest(
        _run_permutation,
        "Fisher's randomisation test",
        "randomisation test",
        _compute_min_p_of_signs,
    ),
    "bootstrap": PairedTest(_run_bootstrap, "the bootstrap", "bootstrap", _compute_min_p_of_draws),
    "randomised_tukey": PairedTest(
        _run_randomised_tukey,
        "the randomised Tukey test, whose p values hold for all pairs simultaneously",
        "randomised Tukey test",
        _compute_min_p_of_shuffles,
        simultaneous=True,
    ),
}


def find_weak_tests(segments: Sequence[Pairs], options: Options) -> Iterator[str]:
    """Yield warnings that p cannot be small enough, or that p is missing."""
    test, resamples, level = TESTS[options.test], options.resamples, options.level
    size = sum(map(len, segments))
    has_clusters = any(each.results.has_clusters for each in segments)
    noun = "clusters" if has_clusters else "queries"
    testable = [each.units for each in segments if each.units.n > 1]
    if not testable:
        return
    sizes_of_segments = [(each.n, len(each.results.values)) for each in testable]
    min_p_values = [test.compute_min_p(*sizes, resamples) for sizes in sizes_of_segments]
    p_values = np.repeat(min_p_values, [len(each) for each in testable])
    smallest_p = correct_p_values(options.correction, p_values).min()
    if smallest_p > level:
        n, strategies = sizes_of_segments[int(np.argmin(min_p_values))]
        lacks_queries = test.compute_min_p(n, strategies, MAX_RESAMPLES) == min(min_p_values)
        # The correction multiplies p by this factor. It is computed from a tiny p, since a
        # corrected p cannot exceed 1.
        tiny = 1e-12
        factor = correct_p_values(options.correction, np.full_like(p_values, tiny)).min() / tiny
        n_needed = math.ceil(factor / level)
        most = min(n_needed, MAX_RESAMPLES)
        lowest = [test.compute_min_p(*sizes, most) for sizes in sizes_of_segments]
        lowest_p = np.repeat(lowest, [len(each) for each in testable])
        lowest_corrected = correct_p_values(options.correction, lowest_p).min()
        if lowest_corrected > level:
            # Even with so many resamples, p cannot be small enough.
            lacks_queries, min_p_values, smallest_p = True, lowest, lowest_corrected
        count, hint = f"{resamples} resamples", f"resamples={n_needed}"
        if n_needed > MAX_RESAMPLES:
            hint = "a test without resamples"
        if lacks_queries:
            count, hint = f"{n} {noun}", f"more {noun}"
        clause = write_weak_test(options, count, min(min_p_values))
        if smallest_p > min(min_p_values):
            words = CORRECTIONS[options.correction].words
            clause += f", or {smallest_p:.3g} if {words} for {size} pairs"
        pairs_hint = ", or fewer pairs," if min(min_p_values) <= level else ""
        yield f"{clause}\n\nHint: {hint}{pairs_hint} can show a difference"
    smallest = min(each.n for each in testable)
    if has_clusters and options.test == "t" and smallest < MIN_CLUSTERS:
        yield (
            f"with {smallest} clusters the t test finds differences too often\n\n"
            "Hint: cluster= names the column of independent units, such as the search term "
            "and not the device; test='permutation' does not find differences too often"
        )
    constant = [(each.statistics.std == 0) & (each.statistics.mean != 0) for each in testable]
    n_constant = np.count_nonzero(np.concatenate(constant))
    if n_constant and options.test in ("t", "bootstrap") and testable[0].results.best != "none":
        subject = "the difference is" if size == 1 else f"{n_constant} of {size} differences are"
        yield (
            f"{subject} the same in every {name_one(noun)} of {testable[0].results.measure!r}: "
            f"without variation {test.words} has no p value\n\n"
            "Hint: test='permutation' needs no variation"
        )


def find_missing_intervals(
    segments: Sequence[Pairs], statistics: Sequence[Mapping[str, Any]], options: Options
) -> Iterator[str]:
    """Yield a warning if differences that vary have a p value and no interval.

    `statistics` contains the columns of the result for each segment.
    """
    if TESTS[options.test].of_ranks:
        return
    n_missing = sum(
        int(
            (
                (segment.statistics.std > 0)
                & ~np.isnan(columns["p_value"])
                & (np.isnan(columns["ci_low"]) | np.isnan(columns["simultaneous_low"]))
            ).sum()
        )
        for segment, columns in zip(segments, statistics, strict=True)
    )
    if n_missing:
        size = sum(map(len, segments))
        subject = (
            "the difference has"
            if size == 1
            else f"{n_missing} of {size} differences {conjugate(n_missing, 'have')}"
        )
        yield (
            f"{subject} no interval for {segments[0].results.measure!r}: with so few queries that "
            f"differ, {TESTS[options.test].short_words} rejects no mean difference, however "
            "large\n\nHint: more queries, or test='t', can give an interval"
        )


def write_weak_test(options: Options, count: str, smallest_p: float) -> str:
    """Return a clause which says that no difference can be expected to be significant.

    The clause says "expected", since random resamples can give a smaller p value by chance.
    `count` is a number of queries, clusters or resamples with its noun, such as "5 queries".
    """
    return (
        "no difference, however large, can be expected to be significant at "
        f"{options.level:.3g}: with {count} the smallest p value to expect of "
        f"{TESTS[options.test].short_words} is {smallest_p:.3g}"
    )


def warn_of_tests(messages: Iterable[str]) -> None:
    """Warn that a test can hardly find a difference, or has no p value."""
    for sentence in messages:
        warn_the_caller(DataWarning.tests, sentence)


# Resampling


@dataclass(frozen=True)
class Resamples:
    """Compute p values and ends of intervals from a number of resamples."""

    count: int
    is_exact: bool
    """True if the resamples are all possible ones, which include the data."""

    @property
    def n_observed(self) -> int:
        """Return 1 if the data count as one more resample, and 0 otherwise.

        Random resamples count the data as one more resample (Phipson, Smyth: Permutation p-values
        should never be zero, 2010). A list of all possible resamples already includes the data.
        """
        return 0 if self.is_exact else 1

    def compute_p(self, larger: Integers) -> Floats:
        """Return the p value of each pair.

        `larger` is the number of resamples that are at least as extreme as the data.
        """
        return (larger + self.n_observed) / (self.count + self.n_observed)

    def count_rejecting(self, level: Any) -> Any:
        """Return how many resamples may be extreme if p is to be at most `level`.

        Extreme resamples are at least as extreme as the data. The result is -1 if p is above
        `level` even with 0 extreme resamples.
        """
        # p = (extreme + n_observed) / (count + n_observed) <= level, solved for extreme.
        total = self.count + self.n_observed
        n_extreme = np.floor(level * total + 1e-9).astype(np.int64) - self.n_observed
        return np.maximum(n_extreme, -1)

    def find_distances(self, largest: Floats, levels: Floats) -> Floats:
        """Return the largest distance with p above the level, for each pair.

        Each resample has a distance, such as |t| in the bootstrap. To compute p for a distance d,
        the resamples whose distance is d or more count as extreme. If p is above the level for
        every d, the result is infinite. Callers compute ends of intervals from the result.

        Each row of `largest` belongs to a pair. It contains the largest distances of the resamples,
        in descending order.
        """
        counts = self.count_rejecting(levels)
        result = np.full(len(levels), np.inf)
        rows = np.flatnonzero(counts >= 0)
        result[rows] = largest[rows, counts[rows]]
        return result


def _take_largest(values: Floats, count: int) -> Floats:
    """Return the `count` largest values of each row, in descending order."""
    if not count:
        return values[:, :0]
    values.partition(values.shape[1] - count, axis=1)
    return -np.sort(-values[:, -count:], axis=1)


def _split_draws(
    pairs: Pairs, count: int, options: Options, draw: Callable[[slice, int, Generator], Integers]
) -> Iterator[tuple[slice, Iterator[tuple[slice, Floats]]]]:
    """Yield slices of the pairs, each with all resamples in blocks.

    The resamples are the same for every slice.
    """
    parts = list(pairs.split(pairs.n + count, MAX_KEPT_STATISTICS))
    steps = list(split_into_parts(count, pairs.n, MAX_BLOCK_NUMBERS))
    progress = iter(options.show_progress(range(len(parts) * len(steps))))

    def draw_blocks() -> Iterator[tuple[slice, Floats]]:
        rng = np.random.default_rng(options.seed)
        for block in steps:
            next(progress)
            yield block, draw(block, pairs.n, rng).astype(np.float64)

    for part in parts:
        yield part, draw_blocks()
    for _ in progress:  # exhaust the iterator, so that a progress bar closes at 100 %
        pass


def _list_signs(block: slice, n: int, _rng: Generator) -> Integers:
    """Return a block of the 2ⁿ vectors of n signs, with one row per vector."""
    return 2 * (np.arange(block.start, block.stop)[:, np.newaxis] >> np.arange(n) & 1) - 1


def _draw_signs(block: slice, n: int, rng: Generator) -> Integers:
    """Return random vectors of n signs, with one row per vector."""
    return 2 * rng.integers(0, 2, (block.stop - block.start, n)) - 1


def resample_queries(block: slice, n: int, rng: Generator) -> Integers:
    """Return how often each query is drawn, with one row per resample.

    Each resample draws n of n queries, with replacement.
    """
    rows = block.stop - block.start
    indices = rng.integers(0, n, (rows, n)) + n * np.arange(rows)[:, np.newaxis]
    return np.bincount(indices.ravel(), minlength=rows * n).reshape(rows, n)


def _draw_ranges(results: Results, options: Options) -> Floats:
    """Return the range of the strategies' means after each shuffle.

    A shuffle permutes the values of each query among the strategies.
    """
    values = np.ascontiguousarray(results.values.T)
    n, strategies = values.shape
    rows_before = strategies * np.arange(n)[:, np.newaxis]
    bits = strategies.bit_length()
    rng = np.random.default_rng(options.seed)
    ranges = np.empty(options.resamples)
    blocks = list(split_into_parts(options.resamples, values.size, MAX_BLOCK_NUMBERS))
    for index in options.show_progress(range(len(blocks))):
        rows = len(ranges[blocks[index]])
        # In each query, each strategy gets a random number whose last bits are its index. Sorting
        # these numbers shuffles the strategies, in half the time of permuting indices.
        numbers = rng.integers(0, 2**63, (rows, n, strategies)) >> bits << bits
        numbers |= np.arange(strategies)
        numbers.sort(axis=2)
        shuffled = (numbers & (2**bits - 1)) + rows_before
        ranges[blocks[index]] = np.ptp(values.take(shuffled).sum(axis=1), axis=1) / n
    return ranges


# Corrections


@dataclass(frozen=True)
class Correction:
    """Correction of p values, and the intervals that agree with it."""

    correct: Callable[[Floats], Floats]
    compute_levels: Callable[[Floats, float], Floats]
    """Function that takes uncorrected p values and a level α, and returns a level per p value. The
    interval at the returned level excludes 0 if and only if the corrected p value is at most α."""
    words: str
    """Description of the p values in a sentence, such as "corrected by Holm's method"."""
    name: str
    """Name in a title."""
    is_joint: bool = False
    """True if the agreeing intervals hold simultaneously."""
    bounds_any_error: bool = False
    """True if the probability of any false finding is at most the level."""


def _correct_bonferroni(p: Floats) -> Floats:
    """Return Bonferroni's p values: p times the number of tests, at most 1."""
    return np.minimum(1, p * len(p))


def _compute_bonferroni_levels(p: Floats, level: float) -> Floats:
    """Return, for each p value, the level divided by the number of p values."""
    return np.full(len(p), level / len(p))


def _correct_holm(p: Floats) -> Floats:
    """Return Holm's p values.

    Let p₁ ≤ ... ≤ pₘ be the sorted p values. The corrected pᵢ is the maximum of the products
    (m - j + 1) pⱼ for all j ≤ i. If this maximum exceeds 1, the corrected pᵢ is 1.
    """
    order = np.argsort(p)
    corrected = np.empty(len(p))
    corrected[order] = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return np.minimum(1, corrected)


def _compute_holm_levels(p: Floats, level: float) -> Floats:
    """Return the levels of intervals that agree with Holm's p values.

    Some differences are significant by Holm's correction, but not by Bonferroni's. These have the
    level of their step in Holm's procedure. All other differences have the level of Bonferroni's
    correction.
    """
    levels = _compute_bonferroni_levels(p, level)
    order = np.argsort(p)
    # Step k of Holm's procedure tests at level / (m - k + 1).
    steps = level / np.arange(len(p), 0, -1)
    is_holm_only = (_correct_holm(p)[order] <= level) & (_correct_bonferroni(p)[order] > level)
    levels[order[is_holm_only]] = steps[is_holm_only]
    return levels


def _correct_benjamini_hochberg(p: Floats) -> Floats:
    """Return p values corrected to control the false discovery rate."""
    from scipy.stats import false_discovery_control

    return np.asarray(false_discovery_control(p, method="bh"))


def _compute_benjamini_hochberg_levels(p: Floats, level: float) -> Floats:
    """Return levels of intervals that control the false coverage rate."""
    # The level is α R / m. R is the number of significant differences, or 1 if no difference is
    # significant (Benjamini, Yekutieli 2005).
    findings = int(np.count_nonzero(_correct_benjamini_hochberg(p) <= level))
    return np.full(len(p), level * max(1, findings) / len(p))


CORRECTIONS: Mapping[CorrectionName, Correction] = {
    "none": Correction(
        lambda p: p, lambda p, level: np.full(len(p), level), "not corrected", "not corrected"
    ),
    "bonferroni": Correction(
        _correct_bonferroni,
        _compute_bonferroni_levels,
        "corrected by Bonferroni's method",
        "Bonferroni",
        is_joint=True,
        bounds_any_error=True,
    ),
    "holm": Correction(
        _correct_holm,
        _compute_holm_levels,
        "corrected by Holm's method",
        "Holm",
        bounds_any_error=True,
    ),
    "benjamini_hochberg": Correction(
        _correct_benjamini_hochberg,
        _compute_benjamini_hochberg_levels,
        "corrected by Benjamini and Hochberg's method",
        "Benjamini and Hochberg",
    ),
}


def has_joint_intervals(test: TestName, correction: CorrectionName) -> bool:
    """Return whether intervals that agree with p values hold simultaneously."""
    return TESTS[test].simultaneous or CORRECTIONS[correction].is_joint


def correct_p_values(correction: CorrectionName, p: Floats) -> Floats:
    """Return the corrected p values; NaN stays NaN and is not counted."""
    return _apply_to_p_values(p, CORRECTIONS[correction].correct, np.nan)


def compute_agreeing_levels(correction: CorrectionName, p: Floats, level: float) -> Floats:
    """Return the levels of intervals that agree with corrected p values.

    The level is 0 for a difference without a p value.
    """
    compute_levels = CORRECTIONS[correction].compute_levels
    return _apply_to_p_values(p, lambda values: compute_levels(values, level), 0)


def _apply_to_p_values(
    p: Floats, function: Callable[[Floats], Floats], fill_value: float
) -> Floats:
    """Apply a function to the p values that are not NaN; others get a fill value."""
    result, has_value = np.full(len(p), fill_value, dtype=np.float64), ~np.isnan(p)
    if has_value.any():
        result[has_value] = function(p[has_value])
    return result


def compute_tests(
    outcomes: Sequence[Outcome], correction: CorrectionName, level: float
) -> list[dict[str, Floats]]:
    """Return the p values and agreeing intervals of each segment, as columns.

    The p values of all segments are corrected together.
    """
    p_values = np.array([outcome.p for outcome in outcomes])
    p_corrected = correct_p_values(correction, p_values.ravel()).reshape(p_values.shape)
    levels = compute_agreeing_levels(correction, p_values.ravel(), level).reshape(p_values.shape)
    tests = []
    for index, outcome in enumerate(outcomes):
        low, high = outcome.agreeing(levels[index])
        ends = {"simultaneous_low": low, "simultaneous_high": high}
        ranks = {} if outcome.rank_biserial is None else {RANK_COLUMN: outcome.rank_biserial}
        tests.append({"p_value": outcome.p, **ranks, **ends, "p_corrected": p_corrected[index]})
    return tests
