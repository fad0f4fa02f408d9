"""Altair charts of rankings, results, differences, relevance and agreement.

Each function takes a frame (a LazyFrame is collected) and returns a new chart. All calls that
Altair users know change it: `.encode`, `.properties`, `.configure_*`, `.interactive`, themes, `|`
and `&`; without panels, also `.facet` and `+`. `.encode(color=...)`, `x` and `y` replace the axes
and colours that all layers share. `explore` has several views, which share less.

The title describes what is drawn. If the rows come from a test, such as those of `compare` and
`rank_strategies`, the title states what the test found. A screen reader reads the title first and
then a description.

`chart.data` contains the drawn rows, with the columns that each function documents. If a chart has
more than 3000 points, only some are drawn, at equal steps; `explore` draws up to 5000 queries.
Null, NaN and infinite values are left out. There are two exceptions: charts with the argument
`missing` treat these values as `compare` does, and `relevance_function` and `rankings` raise an
error for NaN and infinity. A null strategy, query or panel is called "null".

Strategies have the colours of Okabe and Ito, which readers with and without a colour vision
deficiency can distinguish, the same in all charts with the same strategies. `colours` of a chart,
the category colours of a theme and `.configure_range(category=...)` replace them.
`colours=dict.fromkeys(others, "#bbb")` highlights one. Up to eight strategies have a colour, and
more are grey: the lines that end lower. Up to twelve lines have names.
`.configure(background="#14181d")` or a dark theme prepares a chart for dark slides, and `for_print`
for paper. Two copies of a chart with a selection can be concatenated, but Altair cannot layer them.

Altair's default renderer needs a network and a trusted notebook.
``alt.renderers.enable("png", ppi=144)`` needs neither.

`panel` names a column. Each value of the column gets a panel, in the order of the rows. By default,
many charts have a panel for each measure, grader and segment. If the column has only one value, or
with `panel=None`, the result is a plain layered chart, which supports `.properties(width=...)` and
`.facet(...)` by any column of `chart.data`. `strategy` names the column of strategies.

A `ValueError` is raised if nothing can be drawn, if a strategy or a pair occurs twice in a panel,
or if there are more than 60 panels. Charts that cannot leave out rows, such as `strategy_bars` and
`comparison_forest`, also raise it for more than 3000 rows, and `explore` for more than 5000
queries.
"""

from __future__ import annotations

from polars_graded.charts._curves import (
    dcg_curves,
    grading_profile,
    recall_precision_curves,
    sample_size_curves,
)
from polars_graded.charts._matrices import agreement, comparison_matrix, similarity_matrix
from polars_graded.charts._print import for_print
from polars_graded.charts._queries import explore, measure_agreement, precision_histogram
from polars_graded.charts._rankings import rankings
from polars_graded.charts._relevance import relevance_function
from polars_graded.charts._strategies import comparison_forest, strategy_bars, strategy_ranks

__all__ = [
    "agreement",
    "comparison_forest",
    "comparison_matrix",
    "dcg_curves",
    "explore",
    "for_print",
    "grading_profile",
    "measure_agreement",
    "precision_histogram",
    "rankings",
    "recall_precision_curves",
    "relevance_function",
    "sample_size_curves",
    "similarity_matrix",
    "strategy_bars",
    "strategy_ranks",
]


def __dir__() -> list[str]:
    """Return the names of the charts for completion."""
    return __all__
