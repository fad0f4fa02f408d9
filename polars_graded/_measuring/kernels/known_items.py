"""Counts of the relevant documents that a user knew before, and of new ones."""

from __future__ import annotations

import numpy as np

from polars_graded._measuring.kernels.queries import Queries
from polars_graded._measuring.kernels.ragged import Floats, Integers


def coverage_ratio(_queries: Queries, known_items: Queries, threshold: float | None) -> Floats:
    """Return |R_k| / |U|: the share of known relevant documents retrieved."""
    return _divide(
        _count_retrieved(known_items, threshold), known_items.judged.n_relevant(threshold)
    )


def novelty_ratio(queries: Queries, known_items: Queries, threshold: float | None) -> Floats:
    """Return |R_u| / (|R_u| + |R_k|): the share of hits that were not known."""
    retrieved = _count_retrieved(queries, threshold)
    return np.nan_to_num(_divide(retrieved - _count_retrieved(known_items, threshold), retrieved))


def relative_recall(queries: Queries, known_items: Queries, threshold: float | None) -> Floats:
    """Return (|R_k| + |R_u|) / |U|: hits over the documents expected."""
    return _divide(_count_retrieved(queries, threshold), known_items.judged.n_relevant(threshold))


def recall_effort(queries: Queries, known_items: Queries, threshold: float | None) -> Floats:
    """Return |U| / |A|: documents expected over documents retrieved."""
    return _divide(known_items.judged.n_relevant(threshold), queries.ranked.lengths)


def _count_retrieved(queries: Queries, threshold: float | None) -> Integers:
    return queries.hits(None, threshold).lengths


def _divide(count: Integers, of: Integers) -> Floats:
    """Return one count over another; NaN (undefined) where that is 0."""
    return np.where(of > 0, count / of, np.nan)
