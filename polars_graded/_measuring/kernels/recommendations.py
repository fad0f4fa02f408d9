"""Measures of recommendations beyond accuracy: popularity, novelty, diversity and serendipity."""

from __future__ import annotations

from typing import Any

import numpy as np

from polars_graded._measuring.kernels.errors import UnusableDataError
from polars_graded._measuring.kernels.queries import Queries
from polars_graded._measuring.kernels.ragged import Floats, Mask, Ragged

MAX_ROUNDING = 1e-12
"""Absolute mean distances below this limit count as 0, since rounding may give equal vectors a tiny
distance."""


def average_input(queries: Queries, n: int | None, *, name: str) -> Floats:
    """Return the mean of an input of the first n documents; NaN without documents."""
    return _average(_take_input(queries, n, name))


def novelty(queries: Queries, n: int | None) -> Floats:
    """Return the mean of -log2(p), the self-information of a document with popularity p."""
    shares = _take_input(queries, n, "popularity")
    rule = (
        "must be above 0 and at most 1 for `novelty`, got others\n\nHint: divide counts by the "
        "number of users, and count one user for a document that nobody chose"
    )
    _check_documents(shares, "popularity", (shares.values > 0) & (shares.values <= 1), rule)
    # A minus sign in place of `abs` would give -0.0 if all shares are 1.
    return np.abs(_average(shares.with_values(np.log2(shares.values))))


def diversity(queries: Queries, n: int | None) -> Floats:
    """Return the mean distance of the pairs of the first n documents; NaN without a pair."""
    documents = queries.inputs["features"].head(n)
    features: Any = queries.judgments.labels["features"]
    is_missing = features.mask_missing(documents.values.astype(np.int64))
    rule = (
        "must not be null, empty or a vector of zeros for a document among the first n, got such "
        "values\n\n"
        "Hint: a category such as 'unknown' can stand for null"
    )
    _check_documents(documents, "features", ~is_missing, rule)
    n_pairs = documents.lengths * (documents.lengths - 1) / 2
    mean = features.sum_distances(documents) / np.where(n_pairs > 0, n_pairs, np.nan)
    return np.where(np.abs(mean) < MAX_ROUNDING, 0.0, mean)


def unexpectedness(queries: Queries, n: int | None) -> Floats:
    """Return the share of the first n documents that are unexpected."""
    ranked = queries.ranked.head(n)
    return _average(ranked.with_values(_mask_unexpected(queries, n).astype(np.float64)))


def serendipity(queries: Queries, n: int | None, threshold: float | None) -> Floats:
    """Divide the number of relevant, unexpected top n documents by n.

    Without n, the divisor is the length of the list.
    """
    ranked = queries.ranked.head(n)
    hits = queries.is_relevant(ranked.values, threshold) & _mask_unexpected(queries, n)
    return ranked.count(hits) / (np.maximum(ranked.lengths, 1) if n is None else n)


def _mask_unexpected(queries: Queries, n: int | None) -> Mask:
    """Return the mask of unexpected documents among the first n.

    A document is unexpected if its rank in `reference` is null or greater than n.
    """
    ranks = queries.inputs["reference"].head(n).values
    # A null rank is NaN, for which the comparison is false: the document is unexpected.
    return ~(ranks <= (np.inf if n is None else n))


def _take_input(queries: Queries, n: int | None, name: str) -> Ragged:
    """Return an input, such as `popularity`, of the first n documents; raise if one is null."""
    values = queries.inputs[name].head(n)
    rule = (
        "must not be null for a document among the first n, got null\n\n"
        "Hint: .fill_null(0) counts a missing value as 0, such as a document that nobody chose"
    )
    _check_documents(values, name, ~np.isnan(values.values), rule)
    return values


def _check_documents(documents: Ragged, name: str, is_valid: Mask, rule: str) -> None:
    """Raise if a document is not valid; the error names the input."""
    if not is_valid.all():
        raise UnusableDataError(rule, documents.count(~is_valid) > 0, input_name=name)


def _average(values: Ragged) -> Floats:
    """Return the mean of each list; NaN for an empty one."""
    lengths = np.where(values.lengths > 0, values.lengths, np.nan)
    return values.sum() / lengths
