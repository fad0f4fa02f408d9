"""Tests of differences between strategies, and corrections of p values.

A test takes all pairs of a measure at once. It returns their p values, and functions that compute
the intervals of the differences. These functions take error rates (levels of significance), one
per pair. None may exceed `Options.error_rate`, since tests keep only as many extreme resamples as
this rate needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.random import Generator

from polars_graded._checks import check_choice, check_confidence, check_whole_number
from polars_graded._measuring.kernels.ragged import Floats, Integers
from polars_graded._results.measure_values import MIN_VALUES, MeasureMatrix, Pairs, split_into_parts
from polars_graded._sentences import conjugate, format_count, name_one

TestName: TypeAlias = Literal["t", "permutation", "randomised_tukey"]
CorrectionName: TypeAlias = Literal["none", "bonferroni", "holm", "benjamini_hochberg"]
Ends: TypeAlias = "tuple[Floats, Floats]"
"""Lower ends and upper ends of intervals, one per pair; NaN for a pair without an interval."""
Interval: TypeAlias = "Callable[[Floats], Ends]"
"""Function that takes one error rate per pair, and returns one interval per pair."""

MAX_KEPT_STATISTICS = 2**23
"""Maximum number of resampled statistics in memory, 64 MB."""

MAX_RESAMPLES = 2**22
"""Maximum number of resamples, so that the statistics of one pair fit in memory."""

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
        check_confidence(self.confidence)
        check_whole_number("seed", self.seed, at_least=0)
        check_whole_number("resamples", self.resamples, at_most=MAX_RESAMPLES)

    @property
    def correction(self) -> CorrectionName:
        """Return the requested correction, or else the default one of the test."""
        if self.requested_correction is not None:
            return self.requested_correction
        return "none" if TESTS[self.test].simultaneous else "holm"

    @property
    def error_rate(self) -> float:
        """Return the error rate: the level of significance."""
        return check_confidence(self.confidence)


@dataclass(frozen=True)
class PairedTest:
    """Test of the differences of all pairs."""

    run: Callable[[Pairs, Options], Outcome]
    words: str
    """Name in a sentence."""
    name: str
    """Name in a title."""
    compute_min_p: Callable[[int, int, int], float] | None = None
    """Function that takes the numbers of queries, strategies and resamples, and returns the
    smallest p to expect; None for a test without resamples. Random resamples can give a smaller p
    by chance."""
    simultaneous: bool = False
    """True if the p values hold for all pairs together and need no correction. Such a test allows
    for neither clusters of several queries nor weights."""


class Outcome(NamedTuple):
    """Result of a test for all pairs."""

    p: Floats
    interval: Interval
    """Intervals of the mean difference."""
    agreeing: Interval
    """Intervals that exclude 0 if and only if p is at most the error rate."""


def run_test(pairs: Pairs, options: Options) -> Outcome:
    """Return the outcome of a test; NaN with fewer than two independent units.

    The independent units are queries, or clusters of queries.
    """
    if TESTS[options.test].simultaneous and pairs.matrix.has_units:
        has_clusters = pairs.matrix.has_clusters
        condition = "a `cluster` has several queries" if has_clusters else "`weights` differ"
        names = " or ".join(repr(name) for name in TESTS if not TESTS[name].simultaneous)
        msg = f"`test` must be {names} if {condition}, got {options.test!r}"
        raise ValueError(msg)
    if pairs.units.n < 2:  # noqa: PLR2004
        return estimate_differences(pairs).outcome
    return TESTS[options.test].run(pairs, options)


# Tests


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

    def compute_ends(self, error_rates: Any) -> Ends:
        """Return Student's intervals with these error rates, NaN if undefined."""
        from scipy.special import stdtrit

        margin = -stdtrit(np.maximum(self.n - 1, 1), error_rates / 2) * self.error
        margin = np.where(np.isfinite(margin) & (self.n >= MIN_VALUES), margin, np.nan)
        return self.mean - margin, self.mean + margin


def estimate_differences(pairs: Pairs) -> Estimate:
    """Return the estimates of the mean differences.

    With clusters of queries, their standard errors are cluster-robust. With weights, they are
    linearised.
    """
    mean, std, *_ = pairs.units.statistics
    return Estimate.of(mean, std, pairs.units.n, pairs.matrix.effective_number)


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
    student, sizes, pairs = estimate_differences(pairs), pairs.matrix.unit_sizes, pairs.totals
    n, n_units = sizes.sum(), pairs.n
    is_exact = 2**n_units <= options.resamples
    flips = Resamples(2**n_units if is_exact else options.resamples, is_exact=is_exact)
    n_extreme = flips.count_rejecting(options.error_rate) + 1
    p = np.empty(len(pairs))
    lowest, highest = np.empty((2, len(pairs), n_extreme))
    for part in pairs.split(n_units + flips.count, MAX_KEPT_STATISTICS):
        differences = pairs.compute_differences(part)
        tolerance = pairs.compute_tolerances(part).sum(axis=1, keepdims=True)
        sums = np.empty((len(differences), flips.count))
        n_kept, sum_of_signs = np.empty((2, flips.count))
        rng = np.random.default_rng(options.seed)  # the same signs for every part
        for block in split_into_parts(flips.count, n_units):
            signs = _list_signs(block, n_units) if is_exact else _draw_signs(block, n_units, rng)
            sums[:, block] = differences @ signs.T
            n_kept[block] = (signs > 0) @ sizes
            sum_of_signs[block] = signs.sum(axis=1)
        total = differences.sum(axis=1, keepdims=True)
        p[part] = flips.compute_p((np.abs(sums) >= np.abs(total) - tolerance).sum(axis=1))
        if n_extreme:
            twice_kept, twice_turned = total + sums, total - sums
            for twice_sums in (twice_kept, twice_turned):
                twice_sums[np.abs(twice_sums) <= tolerance] = 0
            with np.errstate(divide="ignore", invalid="ignore"):
                kept_means = twice_kept / (2 * n_kept)
                turned_means = twice_turned / (2 * (n - n_kept))
            low, high = np.fmin(kept_means, turned_means), np.fmax(kept_means, turned_means)
            # A vector of equal signs is as extreme as the data for every δ, so low is -∞ and high
            # is ∞. The lines above give other ends: k or t is 0 / 0, the mean of no queries.
            are_equal = np.abs(sum_of_signs) == n_units
            low[:, are_equal], high[:, are_equal] = -np.inf, np.inf
            lowest[part] = _take_largest(-low, n_extreme)
            highest[part] = _take_largest(high, n_extreme)

    def compute_agreeing(error_rates: Floats) -> Ends:
        return _replace_infinite(-flips.find_distances(lowest, error_rates)), _replace_infinite(
            flips.find_distances(highest, error_rates)
        )

    return Outcome(p, student.compute_ends, compute_agreeing)


def _run_randomised_tukey(pairs: Pairs, options: Options) -> Outcome:
    """Return the outcome of the randomised Tukey test.

    It shuffles the values of each query among the strategies.
    """
    shuffles = Resamples(options.resamples, is_exact=False)
    ranges = np.sort(_draw_ranges(pairs.matrix, options))
    mean = pairs.statistics.mean
    tolerances = [pairs.compute_tolerances(part).mean(axis=1) for part in pairs.split(pairs.n)]
    tolerance = np.concatenate(tolerances)
    smaller = np.searchsorted(ranges, np.abs(mean) - tolerance)
    p = shuffles.compute_p(len(ranges) - smaller)
    largest = np.broadcast_to(ranges[::-1], (len(pairs), len(ranges)))

    def compute_interval(error_rates: Floats) -> Ends:
        margin = _replace_infinite(shuffles.find_distances(largest, error_rates))
        return _center_intervals(mean, margin, tolerance)

    return Outcome(p, compute_interval, compute_interval)


def _replace_infinite(ends: Floats) -> Floats:
    """Return the numbers, with NaN in place of infinite ones."""
    return np.where(np.isfinite(ends), ends, np.nan)


def _center_intervals(mean: Floats, margin: Floats, tolerance: Floats) -> Ends:
    """Return intervals about means; ends that are 0 up to rounding become 0."""
    low, high = mean - margin, mean + margin
    return np.where(np.abs(low) <= tolerance, 0, low), np.where(np.abs(high) <= tolerance, 0, high)


def _compute_min_p_of_signs(n: int, _n_strategies: int, resamples: int) -> float:
    """Return the smallest p to expect of the randomisation test.

    A vector of n equal signs is always as extreme as the data. Two of the 2ⁿ vectors are of this
    kind, which gives p = 2 / 2ⁿ. With random vectors, p is also at least 1 / (resamples + 1), since
    the data count as one resample. If all 2ⁿ vectors are listed, this second limit does not apply.
    """
    return max(2.0 ** (1 - n), 0 if n < math.log2(resamples + 1) else 1 / (resamples + 1))


def _compute_min_p_of_shuffles(n: int, n_strategies: int, resamples: int) -> float:
    """Return the smallest p to expect of the randomised Tukey test.

    A shuffle that permutes the k strategies in the same way in all n queries is always as extreme
    as the data. Of the (k!)ⁿ shuffles, k! are of this kind, which gives p = k! / (k!)ⁿ. p is also
    at least 1 / (resamples + 1), since the data count as one resample.
    """
    # Logarithms avoid an overflow.
    p_of_equal_shuffles = math.exp((1 - n) * math.lgamma(n_strategies + 1))
    return max(p_of_equal_shuffles, 1 / (resamples + 1))


TESTS: Mapping[TestName, PairedTest] = {
    "t": PairedTest(
        lambda pairs, _: estimate_differences(pairs).outcome, "the paired t test", "paired t test"
    ),
    "permutation": PairedTest(
        _run_permutation,
        "Fisher's randomisation test",
        "randomisation test",
        _compute_min_p_of_signs,
    ),
    "randomised_tukey": PairedTest(
        _run_randomised_tukey,
        "the randomised Tukey test, whose p values hold for all pairs simultaneously",
        "randomised Tukey test",
        _compute_min_p_of_shuffles,
        simultaneous=True,
    ),
}


def find_weak_tests(by_segment: Sequence[Pairs], options: Options) -> Iterator[str]:
    """Yield warnings that p values cannot be small enough, are too small, or do not exist."""
    noun = "clusters" if any(each.matrix.has_clusters for each in by_segment) else "queries"
    testable = [each.units for each in by_segment if each.units.n > 1]
    compute_min_p = TESTS[options.test].compute_min_p
    if not testable:
        return
    if compute_min_p is not None:
        min_p = [
            compute_min_p(each.n, len(each.matrix.values), options.resamples) for each in testable
        ]
        p_values = np.repeat(min_p, [len(each) for each in testable])
        smallest_p = correct_p_values(options.correction, p_values).min()
        if smallest_p > options.error_rate:
            n = max(each.n for each in testable)
            # With so few units, there are fewer changes of sign than resamples.
            remedies = [f"more {noun}" if 2**n < options.resamples else "more resamples"]
            # Without a correction, the smallest p value is that of a single pair.
            remedies += ["fewer pairs"] if min(min_p) <= options.error_rate else []
            yield (
                "no difference, however large, can be expected to be significant at "
                f"{options.error_rate:.3g}: with {n} {noun}, {options.resamples} resamples and "
                f"{format_count(len(p_values), 'pairs')}, the smallest corrected p value is "
                f"{smallest_p:.3g}\n\n"
                f"Hint: {', '.join(remedies)} or test='t' can show a difference"
            )
        return
    statistics = [each.statistics for each in testable]
    n_same = sum(int(((each.std == 0) & (each.mean != 0)).sum()) for each in statistics)
    if n_same:
        subject = f"{format_count(n_same, 'differences')} {conjugate(n_same, 'are')}"
        yield (
            f"{subject} the same in every {name_one(noun)} of {testable[0].matrix.measure!r}, so "
            "that the t test has no p value and no interval\n\n"
            "Hint: test='permutation' has a p value"
        )
    smallest_n = min(each.n for each in testable)
    if noun == "clusters" and smallest_n < MIN_CLUSTERS:
        yield (
            f"with {smallest_n} clusters the t test finds differences too often\n\n"
            "Hint: test='permutation' does not; nor does t with more clusters, if another "
            "column than that of cluster= has independent units, such as the search term"
        )


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

    def count_rejecting(self, error_rate: Any) -> Any:
        """Return how many resamples may be extreme if p is to be at most `error_rate`.

        Extreme resamples are at least as extreme as the data. The result is -1 if p is above
        `error_rate` even with 0 extreme resamples.
        """
        # p = (extreme + n_observed) / (count + n_observed) <= error_rate, solved for extreme.
        total = self.count + self.n_observed
        n_extreme = np.floor(error_rate * total + 1e-9).astype(np.int64) - self.n_observed
        return np.maximum(n_extreme, -1)

    def find_distances(self, largest: Floats, error_rates: Floats) -> Floats:
        """Return the largest distance with p above the error rate, for each pair.

        Each resample has a distance, such as the range of means in the randomised Tukey test. To
        compute p for a distance d, the resamples whose distance is d or more count as extreme. If p
        is above the error rate for every d, the result is infinite. Callers compute ends of
        intervals from the result.

        Each row of `largest` belongs to a pair. It contains the largest distances of the resamples,
        in descending order.
        """
        counts = self.count_rejecting(error_rates)
        result = np.full(len(error_rates), np.inf)
        indices = np.flatnonzero(counts >= 0)
        result[indices] = largest[indices, counts[indices]]
        return result


def _take_largest(values: Floats, count: int) -> Floats:
    """Return the `count` largest values of each row, in descending order; at least one."""
    values.partition(values.shape[1] - count, axis=1)
    return -np.sort(-values[:, -count:], axis=1)


def _list_signs(block: slice, n: int) -> Floats:
    """Return a block of the 2ⁿ vectors of n signs, with one row per vector."""
    bits = np.arange(block.start, block.stop)[:, np.newaxis] >> np.arange(n) & 1
    return (2 * bits - 1).astype(np.float64)


def _draw_signs(block: slice, n: int, rng: Generator) -> Floats:
    """Return random vectors of n signs, with one row per vector."""
    return (2 * rng.integers(0, 2, (block.stop - block.start, n)) - 1).astype(np.float64)


def _draw_ranges(matrix: MeasureMatrix, options: Options) -> Floats:
    """Return the range of the strategies' means after each shuffle.

    A shuffle permutes the values of each query among the strategies.
    """
    values = np.ascontiguousarray(matrix.values.T)
    n, n_strategies = values.shape
    rows_before = n_strategies * np.arange(n)[:, np.newaxis]
    bits = n_strategies.bit_length()
    rng = np.random.default_rng(options.seed)
    ranges = np.empty(options.resamples)
    for block in split_into_parts(options.resamples, values.size):
        n_shuffles = block.stop - block.start
        # In each query, each strategy gets a random number whose last bits are its index. Sorting
        # these numbers shuffles the strategies, in half the time of permuting indices.
        numbers = rng.integers(0, 2**63, (n_shuffles, n, n_strategies)) >> bits << bits
        numbers |= np.arange(n_strategies)
        numbers.sort(axis=2)
        shuffled = (numbers & (2**bits - 1)) + rows_before
        ranges[block] = np.ptp(values.take(shuffled).sum(axis=1), axis=1) / n
    return ranges


# Corrections


@dataclass(frozen=True)
class Correction:
    """Correction of p values, and the intervals that agree with it."""

    name: str
    """Name in a title."""
    correct: Callable[[Floats], Floats]
    compute_error_rates: Callable[[Floats, float], Floats]
    """Function that takes uncorrected p values and an error rate α, and returns a rate per p value.
    The interval with this rate excludes 0 if and only if the corrected p value is at most α."""
    is_joint: bool = False
    """True if the agreeing intervals hold simultaneously."""
    bounds_any_error: bool = False
    """True if the probability of any false finding is at most the error rate."""

    @property
    def words(self) -> str:
        """Describe the p values in a sentence, such as "corrected by Holm's method"."""
        return self.name if self.name == NO_CORRECTION else f"corrected by {self.name}'s method"


NO_CORRECTION = "not corrected"
"""Name of the correction that changes no p value."""


def _correct_bonferroni(p: Floats) -> Floats:
    """Return Bonferroni's p values: p times the number of tests, at most 1."""
    return np.minimum(1, p * len(p))


def _compute_bonferroni_rates(p: Floats, error_rate: float) -> Floats:
    """Return, for each p value, the error rate divided by the number of p values."""
    return np.full(len(p), error_rate / len(p))


def _correct_holm(p: Floats) -> Floats:
    """Return Holm's p values.

    Let p₁ ≤ ... ≤ pₘ be the sorted p values. The corrected pᵢ is the maximum of the products
    (m - j + 1) pⱼ for all j ≤ i. If this maximum exceeds 1, the corrected pᵢ is 1.
    """
    order = np.argsort(p)
    corrected = np.empty(len(p))
    corrected[order] = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return np.minimum(1, corrected)


def _compute_holm_rates(p: Floats, error_rate: float) -> Floats:
    """Return the error rates of intervals that agree with Holm's p values.

    Some differences are significant by Holm's correction, but not by Bonferroni's. These have the
    error rate of their step in Holm's procedure. All other differences have that of Bonferroni's
    correction.
    """
    error_rates = _compute_bonferroni_rates(p, error_rate)
    order = np.argsort(p)
    # Step k of Holm's procedure tests at error_rate / (m - k + 1).
    steps = error_rate / np.arange(len(p), 0, -1)
    is_holm_only = (_correct_holm(p)[order] <= error_rate) & (
        _correct_bonferroni(p)[order] > error_rate
    )
    error_rates[order[is_holm_only]] = steps[is_holm_only]
    return error_rates


def _correct_benjamini_hochberg(p: Floats) -> Floats:
    """Return p values corrected to control the false discovery rate."""
    from scipy.stats import false_discovery_control

    return np.asarray(false_discovery_control(p, method="bh"))


def _compute_benjamini_hochberg_rates(p: Floats, error_rate: float) -> Floats:
    """Return error rates of intervals that control the false coverage rate."""
    # The rate is α R / m. R is the number of significant differences, or 1 if no difference is
    # significant (Benjamini, Yekutieli 2005).
    findings = int(np.count_nonzero(_correct_benjamini_hochberg(p) <= error_rate))
    return np.full(len(p), error_rate * max(1, findings) / len(p))


CORRECTIONS: Mapping[CorrectionName, Correction] = {
    "none": Correction(NO_CORRECTION, lambda p: p, lambda p, rate: np.full(len(p), rate)),
    "bonferroni": Correction(
        "Bonferroni",
        _correct_bonferroni,
        _compute_bonferroni_rates,
        is_joint=True,
        bounds_any_error=True,
    ),
    "holm": Correction("Holm", _correct_holm, _compute_holm_rates, bounds_any_error=True),
    "benjamini_hochberg": Correction(
        "Benjamini and Hochberg",
        _correct_benjamini_hochberg,
        _compute_benjamini_hochberg_rates,
    ),
}


def correct_p_values(correction: CorrectionName, p: Floats) -> Floats:
    """Return the corrected p values; NaN stays NaN and is not counted."""
    return _apply_to_p_values(p, CORRECTIONS[correction].correct, np.nan)


def compute_agreeing_rates(correction: CorrectionName, p: Floats, error_rate: float) -> Floats:
    """Return the error rates of intervals that agree with corrected p values.

    The rate is 0 for a difference without a p value.
    """
    compute_error_rates = CORRECTIONS[correction].compute_error_rates
    return _apply_to_p_values(p, lambda values: compute_error_rates(values, error_rate), 0)


def _apply_to_p_values(
    p: Floats, function: Callable[[Floats], Floats], fill_value: float
) -> Floats:
    """Apply a function to the p values that are not NaN; others get a fill value."""
    result, has_value = np.full(len(p), fill_value, dtype=np.float64), ~np.isnan(p)
    if has_value.any():
        result[has_value] = function(p[has_value])
    return result


def compute_tests(
    outcomes: Sequence[Outcome], correction: CorrectionName, error_rate: float
) -> list[dict[str, Floats]]:
    """Return the p values and agreeing intervals of each segment, as columns.

    The p values of all segments are corrected together.
    """
    p_values = np.concatenate([outcome.p for outcome in outcomes])
    shape = len(outcomes), -1
    p_corrected = correct_p_values(correction, p_values).reshape(shape)
    error_rates = compute_agreeing_rates(correction, p_values, error_rate).reshape(shape)
    tests = []
    for index, outcome in enumerate(outcomes):
        low, high = outcome.agreeing(error_rates[index])
        ends = {"simultaneous_low": low, "simultaneous_high": high}
        tests.append({"p_value": outcome.p, **ends, "p_corrected": p_corrected[index]})
    return tests
