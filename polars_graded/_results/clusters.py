"""Tests of differences between strategies, for queries in clusters.

The same search term on two devices does not make two independent queries. These tests assume that
clusters are independent; the queries of a cluster may depend on each other in any way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from polars_graded._checks import check_column_name, check_column_names, check_columns, first_few
from polars_graded._measuring.kernels.ragged import Floats, Integers
from polars_graded._results.keys import Columns
from polars_graded._results.pairs import Pairs
from polars_graded._results.per_query import ROUNDING
from polars_graded._results.significance import (
    TESTS,
    Estimate,
    Options,
    Outcome,
    correct_p_values,
    make_unknown_outcome,
    permute_signs,
    write_weak_test,
)

MIN_CLUSTERS = 20
"""Minimum number of clusters for a t test. With fewer, it finds false differences too often."""

CLUSTER, QUERY = "cluster", "query"
"""Columns of `Clusters.assignment`."""


@dataclass(frozen=True)
class Clusters:
    """Assignment of queries to clusters."""

    assignment: pl.DataFrame
    """One row per query, with the number of its cluster."""

    @classmethod
    def of(
        cls, per_query: pl.DataFrame | pl.LazyFrame, cluster: str, query: Columns, options: Options
    ) -> Clusters:
        """Read the clusters of queries from a column of results.

        Each query must have exactly one cluster.
        """
        if options.test not in ("t", "permutation"):
            msg = (
                f"`test` must be 't' or 'permutation' if `cluster` is passed, got {options.test!r}"
            )
            raise ValueError(msg)
        column = check_column_name("cluster", cluster)
        queries = check_column_names("query", query)
        check_columns("per_query", [column], per_query.collect_schema(), argument="cluster")
        query_key = pl.col(queries[0]) if len(queries) == 1 else pl.struct(queries)
        rows = per_query.lazy().select(query_key.alias(QUERY), pl.col(column).alias(CLUSTER))
        distinct = rows.unique(maintain_order=True).collect()
        if nulls := distinct.get_column(CLUSTER).null_count():
            msg = f"cluster {cluster!r} must not be null, got null for {nulls} queries"
            raise ValueError(msg)
        unclear = distinct.filter(pl.col(QUERY).is_duplicated()).get_column(QUERY).unique()
        if len(unclear):
            msg = (
                f"each query must have one cluster, got several in {cluster!r} for {len(unclear)} "
                f"queries: {first_few(unclear.to_list())}\n\n"
                "Hint: query=[...] distinguishes queries of several segments that have one name"
            )
            raise ValueError(msg)
        number = pl.col(CLUSTER).rank("dense").cast(pl.Int64) - 1
        return cls(distinct.with_columns(number))

    def find_numbers(self, queries: pl.Series) -> Integers:
        """Return the cluster number of each query.

        The k clusters of these queries have the numbers 0 to k - 1.
        """
        positions = (
            queries.alias(QUERY)
            .to_frame()
            .join(self.assignment, on=QUERY, how="left", nulls_equal=True, maintain_order="left")
        )
        return np.unique(positions.get_column(CLUSTER).to_numpy(), return_inverse=True)[1]

    def count_queries(self, pairs: Pairs) -> Integers:
        """Return the number of queries of each cluster."""
        return np.bincount(self.find_numbers(pairs.results.queries))

    def count_clusters(self, pairs: Pairs) -> Integers:
        """Return an array that repeats the number of clusters for each pair."""
        return np.full(len(pairs), len(self.count_queries(pairs)))

    def estimate_differences(self, pairs: Pairs) -> Estimate:
        r"""Return mean differences with their cluster-robust standard errors.

        Let G be the number of clusters, and n the number of queries. A query with the difference d
        has the deviation d - mean(d). :math:`S_g` is the sum of the deviations in cluster g. Then
        :math:`SE^2 = G / (G - 1) \sum_g S_g^2 / n^2` (Liang, Zeger 1986), with G - 1 degrees of
        freedom.
        """
        mean, std, *_ = pairs.statistics
        count = len(self.count_queries(pairs))
        error = np.full(len(pairs), np.nan)
        for part in pairs.split(pairs.n) if count > 1 else ():
            deviations = pairs.compute_differences(part) - mean[part, np.newaxis]
            sums = self._sum_clusters(deviations, pairs)
            errors = np.sqrt(count / (count - 1) * (sums**2).sum(axis=1)) / pairs.n
            varies = (std[part] > 0) & (errors > ROUNDING * std[part])
            error[part] = np.where(varies, errors, np.nan)
        return Estimate(mean, error, count)

    def run_test(self, pairs: Pairs, options: Options) -> Outcome:
        """Return the outcome of a test; NaN with fewer than two clusters."""
        sizes = self.count_queries(pairs)
        if len(sizes) < 2:  # noqa: PLR2004
            return make_unknown_outcome(pairs)
        estimate = self.estimate_differences(pairs)
        if options.test == "t":
            return estimate.outcome
        return permute_signs(self._collapse(pairs), options, sizes)._replace(
            interval=estimate.compute_ends
        )

    def _collapse(self, pairs: Pairs) -> Pairs:
        """Return the pairs with a sum per cluster in place of values per query."""
        values = self._sum_clusters(pairs.results.values, pairs)
        numbers = pl.Series(QUERY, np.arange(values.shape[1]))
        results = replace(pairs.results, queries=numbers, values=values)
        return replace(pairs, results=results)

    def _sum_clusters(self, values: Floats, pairs: Pairs) -> Floats:
        """Sum the values of each row by cluster: one column per cluster."""
        numbers = self.find_numbers(pairs.results.queries)
        order = np.argsort(numbers, kind="stable")
        starts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
        summed: Floats = np.add.reduceat(values[:, order], starts, axis=1)
        return summed

    def find_weak_tests(self, segments: Sequence[Pairs], options: Options) -> Iterator[str]:
        """Yield a warning if too few clusters are tested."""
        counts = [count for each in segments if (count := len(self.count_queries(each))) > 1]
        if not counts:
            return
        min_p_values = [
            TESTS[options.test].compute_min_p(count, 2, options.resamples) for count in counts
        ]
        p_values = np.repeat(min_p_values, len(segments[0]))
        smallest_p = correct_p_values(options.correction, p_values).min()
        if smallest_p > options.level:
            clause = write_weak_test(options, f"{max(counts)} clusters", min(min_p_values))
            yield f"{clause}\n\nHint: use more clusters, or test='t'"
        elif options.test == "t" and min(counts) < MIN_CLUSTERS:
            yield (
                f"with {min(counts)} clusters the t test finds differences too often\n\n"
                "Hint: cluster= names the column of independent units, such as the search term "
                "and not the device; test='permutation' does not find differences too often"
            )
