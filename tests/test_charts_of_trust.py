"""Charts of trust: what they say is what the frames say."""

from __future__ import annotations

from chart_registry import ROWS

import polars_graded as pg
from polars_graded import charts


def test_a_line_crosses_the_power_where_queries_needed_says():
    per_query = ROWS["dcg_curves"].frame(4, 30).select("strategy", "query", "mu_ap")
    [needed] = pg.trust.queries_needed(per_query, difference=0.05)["queries_needed"]
    curve = pg.trust.power_curve(per_query, queries=[needed - 1, needed], difference=0.05)
    drawn = charts.sample_size_curves(curve).data.sort("queries")
    assert drawn.filter(queries=needed - 1)["power"].item() < 0.8
    assert drawn.filter(queries=needed)["power"].item() >= 0.8
