"""What a user knew before, and what they find: counts of relevant documents of both kinds."""

from __future__ import annotations

import numpy as np

from polars_graded._measuring.kernels.queries import Queries
from polars_graded._measuring.kernels.ragged import Floats, Integers


def coverage_ratio(_queries: Queries, known: Queries, threshold: float | None) -> Floats:
    """|R_k| / |U|: the known relevant documents that were retrieved."""
    return _ratio(_retrieved(known, threshold), known.judged.n_relevant(threshold))


def novelty_ratio(queries: Queries, known: Queries, threshold: float | None) -> Floats:
    """|R_u| / (|R_u| + |R_k|): the retrieved relevant documents that were not known."""
    retrieved = _retrieved(queries, threshold)
    return np.nan_to_num(_ratio(retrieved - _retrieved(known, threshold), retrieved))


def relative_recall(queries: Queries, known: Queries, threshold: float | None) -> Floats:
    """(|R_k| + |R_u|) / |U|: relevant documents retrieved over those expected."""
    return _ratio(_retrieved(queries, threshold), known.judged.n_relevant(threshold))


def recall_effort(queries: Queries, known: Queries, threshold: float | None) -> Floats:
    """|U| / |A|: relevant documents expected over documents retrieved."""
    return _ratio(known.judged.n_relevant(threshold), queries.ranked.lengths)


def _retrieved(queries: Queries, threshold: float | None) -> Integers:
    return queries.hits(None, threshold).lengths


def _ratio(count: Integers, of: Integers) -> Floats:
    """One count over another; NaN, which is undefined, over none."""
    return np.where(of > 0, count / of, np.nan)
