"""Altair charts of what the other modules return: curves, differences, distributions, φ, trust.

Every function takes a frame (a LazyFrame is collected) and returns a new chart that layers, facets
and concatenates like any other. Its title says what is drawn; where the rows are the result of a
test, as those of `compare` and `rank_strategies`, it states what that found. The measure in words,
the number of queries, and what marks mean stand below it, with how many strategies are grey. The
description that is read out begins with the title. A title of one's own, size and theme
are the caller's: `.properties(title=...)`, `alt.theme`. The frame that is drawn is `chart.data`:
Polars makes it, under the column names that each function states, and `panel` where panels are
drawn. Of more than 3000 rows, some in equal steps stand for all. What is null, NaN or infinite is
not drawn, but where `differences` or φ refuse it; a strategy, query or panel that is null is called
so.

Up to ten strategies, or measures, have colours that every kind of eye tells apart, the same in all
charts that show the same ones; a theme that has colours of its own for names is followed. Of more
lines, the ten that end highest have a colour, and the rest are grey; more bars, or points without
lines, have one colour. Any two charts stand side by side, and share the colours of strategies; one
in which something is chosen can stand beside itself, but Altair cannot layer it over itself.

Altair's own way to show a chart in Jupyter needs a network and a notebook that is trusted, neither
of which Python can know of: ``alt.renderers.enable("png", ppi=144)`` needs neither.

`panel` names a column whose values get a panel each, in the order in which they come: by default
the measure, where there are several. With one value there is no need of panels, and a plain layered
chart comes back, as it does with `panel=None`: then `.properties(width=...)` and `.facet(...)` are
the caller's, by any column of `chart.data`. `strategy` names the column that tells strategies
apart.

Refused, with a `ValueError`, is a frame of which nothing can be drawn, one that has a strategy or a
pair twice in a panel where each is drawn, and more than 60 panels, or than the 3000 rows that a
chart has where none stands for others.
"""

from __future__ import annotations

from polars_graded.charts._curves import (
    dcg_curves,
    recall_precision_curves,
    robustness_curves,
    threshold_profile,
)
from polars_graded.charts._explore import explore
from polars_graded.charts._graders import agreement, grader_orders, trusted_forest
from polars_graded.charts._overview import overview
from polars_graded.charts._queries import measure_agreement, precision_histogram, query_heatmap
from polars_graded.charts._rankings import rankings
from polars_graded.charts._ranks import critical_differences, strategy_ranks
from polars_graded.charts._relevance import relevance_function, sample_boxes
from polars_graded.charts._strategies import comparison_forest, comparison_matrix, strategy_bars
from polars_graded.charts._trust import (
    grading_profile,
    power_curves,
    significance_curves,
    stability_curves,
    swap_rates,
    unjudged_bounds,
)

__all__ = [
    "agreement",
    "comparison_forest",
    "comparison_matrix",
    "critical_differences",
    "dcg_curves",
    "explore",
    "grader_orders",
    "grading_profile",
    "measure_agreement",
    "overview",
    "power_curves",
    "precision_histogram",
    "query_heatmap",
    "rankings",
    "recall_precision_curves",
    "relevance_function",
    "robustness_curves",
    "sample_boxes",
    "significance_curves",
    "stability_curves",
    "strategy_bars",
    "strategy_ranks",
    "swap_rates",
    "threshold_profile",
    "trusted_forest",
    "unjudged_bounds",
]


def __dir__() -> list[str]:
    """Return the names of the charts for completion."""
    return __all__
