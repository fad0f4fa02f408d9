"""Assess how reliable results are: power, stability, effect of judgments and of graders.

Each function takes the frame that `evaluate` returns, except `unjudged_bounds`, which takes the
frame that is passed to `evaluate`.
"""

from __future__ import annotations

from polars_graded._results.prediction_powered import (
    prediction_powered_differences,
    prediction_powered_means,
)
from polars_graded._results.reliability import (
    order_stability,
    power_curve,
    queries_needed,
    rank_correlation,
)
from polars_graded._results.unjudged import unjudged_bounds

__all__ = [
    "order_stability",
    "power_curve",
    "prediction_powered_differences",
    "prediction_powered_means",
    "queries_needed",
    "rank_correlation",
    "unjudged_bounds",
]


def __dir__() -> list[str]:
    """Return the names of the functions, for completion."""
    return __all__
