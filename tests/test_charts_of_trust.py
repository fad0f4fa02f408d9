"""Charts of trust and the overview: what they say is what the frames say, worked out by hand."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from chart_registry import ROWS

import polars_graded as pg
from polars_graded import charts
from polars_graded._drawing import style
from polars_graded.charts import _overview

# What measures tell apart


def test_the_shares_are_those_of_discriminative_power():
    per_query = ROWS["dcg_curves"].frame(7, 106).select("strategy", "query", "mu_ap", "ndcg")
    found = pg.trust.significance_levels(per_query, test="t")
    shares = pg.trust.discriminative_power(per_query, test="t")["discriminative_power"]
    drawn = charts.significance_curves(found).data.drop_nulls("label")["label"]
    assert drawn.to_list() == [
        f"{name}: {round(21 * share)} of 21"
        for name, share in zip(["μAP", "NDCG"], shares, strict=True)
    ]
    assert 0 < shares.min() < 1


# How many queries


def test_a_line_crosses_the_power_where_queries_needed_says():
    per_query = ROWS["dcg_curves"].frame(4, 30).select("strategy", "query", "mu_ap")
    [needed] = pg.trust.queries_needed(per_query, difference=0.05)["queries_needed"]
    curve = pg.trust.power_curve(per_query, queries=[needed - 1, needed], difference=0.05)
    drawn = charts.sample_size_curves(curve).data.sort("queries")
    assert drawn.filter(queries=needed - 1)["power"].item() < 0.8
    assert drawn.filter(queries=needed)["power"].item() >= 0.8


# What other judgments would have said


def test_bounds_are_means_over_the_queries_that_have_a_value():
    frame = pl.DataFrame(
        {
            "measure": "rbp",
            "strategy": "a",
            "query": [1, 2, 3],
            "value": [0.5, 0.25, None],
            "value_if_best": [0.75, 0.5, None],
            "residual": [0.375, 0.5, None],
        }
    )
    [row] = charts.strategy_bars(frame).data.rows(named=True)
    assert row == {
        "measure": "rbp",
        "strategy": "a",
        "mean": 0.375,
        "if_best": 0.625,
        "low": 0.375,
        "high": 0.625,
        # 0.5 + 0.375 and 0.25 + 0.5
        "beyond": 0.8125,
        "queries": 2,
    }


# What there is to measure


def joined() -> pl.DataFrame:
    """A left join of a run of four queries, of which judgments know one."""
    run = pl.DataFrame(
        {
            "query": [1, 1, 1, 1, 2, 2, 3, 3, 4, 4],
            "doc": ["a", "b", "c", "d", *"abababab"[:6]],
            "score": [4.0, 3, 3, 1, 2, 1, 2, 1, 2, 1],
        }
    )
    judged = pl.DataFrame({"query": [1, 1, 1], "doc": ["a", "b", "x"], "grade": [2, 0, 1]})
    return run.join(judged, on=["query", "doc"], how="left")


def fill_of(colour: str) -> str:
    """Return the colour of a filled cell."""
    return style.fade(colour, _overview.FILLED_SHARE)


def cells_of(chart: Any) -> dict[str, str]:
    """What is printed in each cell."""
    return dict(chart.data.drop_nulls("text").select("what", "text").rows())


def filled(chart: Any) -> dict[str, tuple[float, str]]:
    """How much of each cell is filled, and in which colour."""
    rows = chart.data.drop_nulls("text").select("what", "start", "end", "fill").rows()
    return {what: ((end - start) / _overview.CELL_WIDTH, fill) for what, start, end, fill in rows}


def test_a_left_join_shows_for_what_it_is():
    chart = charts.overview(pg.overview(joined()))
    assert cells_of(chart) == {
        "queries": "4",
        "documents": "2 (2–4)",
        "retrieved": "100 %",  # x, which was not retrieved, is lost
        "judged": "20 %",  # 2 of 10
        "judged@10": "12 %",  # a half of the first query, nothing of three: an eighth
        "tied": "20 %",  # b and c
        "none_judged": "3",
        "none_relevant": "0",
        "only_relevant": "0",
        "none_retrieved": "0",
        "duplicates": "0",
    }
    bars = filled(chart)
    assert bars["none_judged"] == (0.75, fill_of(_overview.RED))
    assert bars["judged"] == (pytest.approx(0.2), fill_of(_overview.BLUE))
    assert bars["retrieved"][0] == 1


# The queries that differ most
