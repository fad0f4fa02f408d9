"""Compare pairs of strategies query by query.

Two arrays of indices specify the pairs. The differences of pairs are computed in parts that fit
into the cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl

from polars_graded._measuring.kernels.ragged import Floats, Integers
from polars_graded._results.grid import Results
from polars_graded._results.means import compute_mean_and_std, divide

MAX_PART_NUMBERS = 2**16
"""Maximum number of values in a part, half a megabyte."""


class Statistics(NamedTuple):
    """Statistics of the differences of each pair; an undefined `mean` or `std` is NaN."""

    mean: Floats
    std: Floats
    higher: Integers
    lower: Integers


@dataclass(frozen=True)
class Pairs:
    """Pairs of a strategy and its baseline, with the values of a measure.

    `a` contains the indices of the strategies, `b` those of their baselines.
    """

    results: Results
    a: Integers
    b: Integers

    @property
    def n(self) -> int:
        """Return the number of queries."""
        return self.results.n

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.a)

    @cached_property
    def units(self) -> Pairs:
        """Return the pairs with one value per independent unit: a cluster or a query."""
        return replace(self, results=self.results.units) if self.results.has_units else self

    @property
    def totals(self) -> Pairs:
        """Return the pairs with one sum per cluster, or one value per query."""
        return replace(self, results=self.results.totals)

    def split(self, per_pair: int, max_numbers: int = MAX_PART_NUMBERS) -> Iterator[slice]:
        """Yield slices of the pairs with at most `max_numbers` numbers each.

        Each pair takes `per_pair` numbers. A slice has at least one pair, even if
        `per_pair` exceeds `max_numbers`.
        """
        return split_into_parts(len(self), per_pair, max_numbers)

    def compute_differences(self, part: slice) -> Floats:
        """Return the differences of some pairs, with one row per pair."""
        return self.results.compute_differences(self.a[part], self.b[part])

    def compute_tolerances(self, part: slice) -> Floats:
        """Return the tolerances of the differences of some pairs.

        A difference within its tolerance may be a rounding error, so `compute_differences` returns
        exactly 0 for it. This 0 has no rounding error, so its tolerance is 0 here.
        """
        return self.results.compute_tolerances(self.a[part], self.b[part])

    def round_differences(self, part: slice) -> Floats:
        """Round some pairs' differences to remove rounding errors.

        Differences that are equal except for rounding errors then nearly always become equal, so a
        test that ranks the differences gives them the same rank. Each difference becomes a multiple
        of a power of 2. This power exceeds the largest tolerance of the pair.
        """
        _, exponents = np.frexp(self.compute_tolerances(part).max(axis=1, keepdims=True))
        steps = np.ldexp(1.0, exponents)
        snapped: Floats = np.rint(self.compute_differences(part) / steps) * steps
        return snapped

    @cached_property
    def changed_units(self) -> Integers:
        """Return each pair's number of clusters, or of queries, with a difference."""
        if not self.results.has_clusters:
            return self.statistics.higher + self.statistics.lower
        counts = np.zeros(len(self), dtype=np.int64)
        for part in self.split(self.n):
            is_changed = self.compute_differences(part) != 0
            per_cluster = self.results.sum_clusters(is_changed.astype(np.int64))
            counts[part] = np.count_nonzero(per_cluster, axis=1)
        return counts

    def count_effective_changes(self) -> Floats:
        """Return each pair's number of changed units; with weights, their effective number."""
        if self.results.shares is None:
            return self.changed_units.astype(np.float64)
        counts = np.zeros(len(self))
        for part in self.split(self.n):
            is_changed = (self.compute_differences(part) != 0).astype(np.float64)
            sizes = self.results.unit_sizes * (self.results.sum_clusters(is_changed) > 0)
            counts[part] = divide(sizes.sum(axis=1) ** 2, (sizes**2).sum(axis=1))
        return np.nan_to_num(counts)

    @property
    def means(self) -> tuple[Floats, Floats]:
        """Return the means of both strategies of each pair."""
        means = self.results.compute_means(self.results.values)
        return means[self.a], means[self.b]

    @cached_property
    def statistics(self) -> Statistics:
        """Return each pair's mean, standard deviation, and counts above and below 0."""
        mean, std = np.full((2, len(self)), np.nan)
        higher, lower = np.zeros((2, len(self)), dtype=np.int64)
        for part in self.split(self.n) if self.n else ():
            differences = self.compute_differences(part)
            mean[part], std[part] = compute_mean_and_std(differences, self.results.shares)
            if self.n > 1:
                # The standard deviation becomes 0 if the spread of a pair's differences is within
                # their largest tolerance. No tolerance exceeds the maximum of `rounding`, so
                # tolerances are computed only for pairs whose spread is at most this maximum.
                spread = np.ptp(differences, axis=1)
                near = np.flatnonzero(spread <= self.results.rounding.max())
                a, b = self.a[part][near], self.b[part][near]
                same = spread[near] <= self.results.compute_tolerances(a, b).max(axis=1, initial=0)
                std[part][near[same]] = 0
            higher[part] = np.count_nonzero(differences > 0, axis=1)
            lower[part] = np.count_nonzero(differences < 0, axis=1)
        return Statistics(mean, std, higher, lower)


def split_into_parts(count: int, size: int, max_numbers: int) -> Iterator[slice]:
    """Yield slices of `count` items, with at most `max_numbers` numbers each.

    Each item has `size` numbers. A slice has at least one item, even if `size` exceeds
    `max_numbers`.
    """
    step = max(1, max_numbers // max(1, size))
    for start in range(0, count, step):
        yield slice(start, min(count, start + step))


def name_pairs(names: pl.Series, a: Integers, b: Integers) -> list[pl.Series]:
    """Return the names of both strategies of each pair.

    The first series contains the strategies, and the second contains their baselines.
    """
    return [names.gather(a), names.gather(b).alias("baseline")]
