"""Analyse click logs.

Estimate the relevance of documents, compare two rankers by interleaved lists, or estimate the
clicks of rankings that no user saw.

A log is any data frame with one row per document shown, clicked or not. Each function uses some of
the columns `query`, `doc`, `rank` (from 1), `clicked` (Boolean, or 0 and 1), and `session`, which
distinguishes result lists of the same query. If your columns have other names, pass the names by
keyword. `query` may be a list of columns, such as the term and the market. Rows of a LazyFrame are
streamed.
"""

from __future__ import annotations

from polars_graded._clicks.estimating import (
    estimate_ctr,
    estimate_pbm,
    estimate_propensities,
    estimate_sdbn,
)
from polars_graded._clicks.logs import count_clicks, describe_log
from polars_graded._clicks.rankers import compare_interleaved, estimate_clicks

__all__ = [
    "compare_interleaved",
    "count_clicks",
    "describe_log",
    "estimate_clicks",
    "estimate_ctr",
    "estimate_pbm",
    "estimate_propensities",
    "estimate_sdbn",
]


def __dir__() -> list[str]:
    """Return the names of the functions, for completion."""
    return __all__
