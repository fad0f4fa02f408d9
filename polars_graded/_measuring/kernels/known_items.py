"""Measures of relevant documents that the user knew or did not know.

U is the set of known relevant documents, R_k the part of U that was retrieved, R_u the set of new
(not known) relevant documents that were retrieved, and A the set of all retrieved documents.
"""

from __future__ import annotations

import numpy as np

from polars_graded._measuring.kernels.queries import Queries
from polars_graded._measuring.kernels.ragged import Floats, Integers, Ragged


def coverage_ratio(queries: Queries, threshold: float | None) -> Floats:
    """Return |R_k| / |U|: the share of U that was retrieved."""
    return _find_share(_count_known_retrieved(queries, threshold), _count_known(queries, threshold))


def novelty_ratio(queries: Queries, threshold: float | None) -> Floats:
    """Return |R_u| / (|R_u| + |R_k|), the share of hits that are new.

    The value is 0 without hits.
    """
    n_retrieved = _count_retrieved(queries, threshold)
    n_new = n_retrieved - _count_known_retrieved(queries, threshold)
    return np.nan_to_num(_find_share(n_new, n_retrieved))


def relative_recall(queries: Queries, threshold: float | None) -> Floats:
    """Return (|R_k| + |R_u|) / |U|: hits per known relevant document."""
    return _find_share(_count_retrieved(queries, threshold), _count_known(queries, threshold))


def recall_effort(queries: Queries, threshold: float | None) -> Floats:
    """Return |U| / |A|: known relevant documents per retrieved document."""
    return _find_share(_count_known(queries, threshold), queries.ranked.lengths)


def _count_retrieved(queries: Queries, threshold: float | None) -> Integers:
    """Return |R_k| + |R_u|, the number of relevant documents retrieved."""
    return queries.hits(None, threshold).lengths


def _count_known_retrieved(queries: Queries, threshold: float | None) -> Integers:
    """Return |R_k|, the number of known relevant documents retrieved."""
    return _count_marked_relevant(queries, queries.ranked, queries.inputs["known"], threshold)


def _count_known(queries: Queries, threshold: float | None) -> Integers:
    """Return |U|, the number of known relevant documents, retrieved or not."""
    return _count_marked_relevant(
        queries, queries.judgments.grades, queries.judgments.inputs["known"], threshold
    )


def _count_marked_relevant(
    queries: Queries, grades: Ragged, marks: Ragged, threshold: float | None
) -> Integers:
    """Return the number of relevant documents with a mark of 1.

    `marks` are the values of the input `known`; 1 means that the user knew the document.
    """
    # A null mark is NaN, which is not 1.
    return grades.count(queries.is_relevant(grades.values, threshold) & (marks.values == 1))


def _find_share(count: Integers, total: Integers) -> Floats:
    """Return a count over a total; NaN (undefined) for a total of 0."""
    return np.where(total > 0, count / total, np.nan)
