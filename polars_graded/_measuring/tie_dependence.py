"""Find the queries in which the order of tied documents changes the value of a measure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from polars_graded._measuring.kernels.errors import UnusableDataError
from polars_graded._measuring.kernels.queries import MAX_SUM_ERROR, Queries
from polars_graded._measuring.kernels.ragged import Floats, Mask, Ragged, repeat_each
from polars_graded._measuring.measures import Measure

Compute: TypeAlias = Callable[[Queries], Floats | Ragged]
"""Function that returns the values of a measure."""


def find_dependence_on_ties(measures: Iterable[tuple[Measure, Compute]], queries: Queries) -> Mask:
    """Return the mask of queries for which the order of tied documents changes a value.

    The value of most measures never gets worse when a document moves above a worse one. The order
    "worst document first" then gives the worst value, and "best document first" the best. For
    measures that `may_fall` or use further columns, such as popularity, no order gives a bound.
    They count as dependent if tied documents differ at ranks that the measure uses.
    """
    is_dependent = np.zeros(len(queries.ranked.lengths), bool)
    undecided = _select_differing(queries)
    # Measures of whole lists come first, because they decide most queries.
    for measure, compute in sorted(measures, key=lambda each: each[0].n is not None):
        definition = measure.definition
        if definition.input_names or measure.may_fall:
            is_dependent |= _mask_differing(queries, measure)
        elif undecided is not None:
            worst, is_unusable = _compute_usable(compute, undecided.pessimistic)
            best, is_unusable_too = _compute_usable(compute, undecided.optimistic)
            is_dependent |= is_unusable | is_unusable_too | _differ(worst, best)
            undecided = _drop_decided(undecided, is_dependent)
    return is_dependent


def _drop_decided(undecided: Queries, is_dependent: Mask) -> Queries | None:
    """Return the queries without those that depend on ties, if these are at least half.

    Fewer are not dropped, since the queries would have to be sorted again. The result is None if no
    query is left.
    """
    is_filled = undecided.ranked.lengths > 0
    is_open = is_filled & ~is_dependent
    if not is_open.any():
        return None
    return undecided.keep_queries(is_open) if 2 * is_open.sum() <= is_filled.sum() else undecided


def _compute_usable(compute: Compute, queries: Queries) -> tuple[Floats | Ragged, Mask]:
    """Return the values of a measure, and the mask of unusable queries.

    Data can be unusable in some orders of ties only. For example, a grade without a gain is an
    error only if it is among the first n. Unusable queries are measured as empty lists, so callers
    must ignore their values.
    """
    is_unusable = np.zeros(len(queries.ranked.lengths), bool)
    while True:
        try:
            return compute(queries.keep_queries(~is_unusable)), is_unusable
        except UnusableDataError as error:
            is_unusable |= error.is_unusable


def _differ(values: Any, others: Any) -> Mask:
    """Return the mask of queries whose values differ by more than rounding.

    NaN differs from every number, but not from NaN.
    """
    if isinstance(values, Ragged):
        return values.count(_differ(values.values, others.values)) > 0
    low, high = np.minimum(values, others), np.maximum(values, others)
    differ: Mask = (high - low > MAX_SUM_ERROR * high) | (np.isnan(values) != np.isnan(others))
    return differ


def _select_differing(queries: Queries) -> Queries | None:
    """Return the queries in which tied documents differ in grade; None if there are none.

    The lists of these queries are at full depth, and all other queries have empty lists.
    """
    full = queries.full
    if full is None:
        return None
    grades = np.nan_to_num(full.ranked.values, nan=-np.inf)  # so that two NaN are equal
    differs = full.ranked.with_values(grades).compare_with_previous(np.not_equal)
    differ = full.ranked.count(differs & full.is_tied_with_previous) > 0
    if not differ.any():
        return None
    return replace(full, judgments=queries.judgments, inputs={}).keep_queries(differ)


def _mask_differing(queries: Queries, measure: Measure) -> Mask:
    """Return the mask of queries in which tied documents differ for a measure.

    Two documents differ if they have different values of an input that the measure needs, or, if it
    needs grades, different relevance. Two nulls are equal.

    If the measure has a depth, tie groups whose first rank is greater than the depth do not count.
    If a measure `ignores_order`, it depends only on the set of the first `depth` documents. A tie
    group can change this set only if its last rank is greater than `depth`. Without a depth, no
    group can change the set.
    """
    definition, depth, full = measure.definition, measure.ranked_depth, queries.full
    ignores_order = definition.ignores_order
    if full is None or (ignores_order and depth is None):
        return np.zeros(len(queries.ranked.lengths), bool)
    tied = np.flatnonzero(full.is_tied_with_previous)
    relevance = full.relevance(full.ranked.values)
    differs = (relevance[tied] != relevance[tied - 1]) & definition.needs_grades
    for name in definition.input_names:
        values = np.nan_to_num(full.inputs[name].values, nan=-np.inf)
        one, other = values[tied], values[tied - 1]
        if name in queries.judgments.labels:
            table = queries.judgments.labels[name]
            differs |= table.differ(one.astype(np.int64), other.astype(np.int64))
        else:
            differs |= one != other
    matters = np.zeros(len(full.ranked.values), bool)
    matters[tied] = differs
    if depth is not None:
        first_rank = full.ranked.position[full.tie_starts]
        last_rank = first_rank + full.tie_sizes - 1
        is_reached = (first_rank <= depth) & ((last_rank > depth) | (not ignores_order))
        matters &= repeat_each(is_reached, full.tie_sizes)
    return full.ranked.count(matters) > 0
