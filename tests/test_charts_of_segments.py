"""Test charts of results by segment: panels, and facets by key columns."""

from __future__ import annotations

import re
from typing import Any

import altair as alt
import polars as pl
import pytest
import vl_convert
from chart_registry import ROWS, Row, results
from results import shop

import polars_graded as pg
from polars_graded import charts

KEY = ["term", "market", "device"]


def svg_of(chart: Any) -> str:
    return vl_convert.vegalite_to_svg(chart.to_dict())


CLUSTER: dict[str, Any] = {"query": KEY, "cluster": "term"}
SEGMENTED = {
    "strategy_bars": (pg.summarise, charts.strategy_bars),
    "comparison_forest": (pg.compare, charts.comparison_forest),
    "comparison_matrix": (pg.compare, charts.comparison_matrix),
    "strategy_ranks": (pg.rank_strategies, charts.strategy_ranks),
}


@pytest.mark.parametrize("name", SEGMENTED)
@pytest.mark.parametrize("measures", [["ndcg@10"], ["ndcg@10", "ap"]])
def test_each_segment_has_a_panel(name, measures):
    compute, draw = SEGMENTED[name]
    table = compute(shop(), *measures, segments=["market", "device"], **CLUSTER)
    drawn = draw(table).data
    segments = [f"{market}, {device}" for market in ("DE", "FR") for device in ("desktop", "phone")]
    expected = (
        segments if len(measures) == 1 else [f"{m}, {each}" for m in measures for each in segments]
    )
    assert drawn["panel"].unique(maintain_order=True).to_list() == expected
    [row] = table.filter(measure="ndcg@10", market="FR", device="phone").head(1).to_dicts()
    same = drawn.filter(measure="ndcg@10", market="FR", device="phone", strategy=row["strategy"])
    value = "difference" if compute is pg.compare else "mean"
    assert row[value] in same[value].to_list()
    name = "DE, desktop" if len(measures) == 1 else "NDCG@10, DE, desktop"
    assert f">{name}</text>" in svg_of(draw(table))


def test_a_precision_histogram_has_its_own_mean_in_each_panel():
    frame = shop().drop("searches")
    chart = charts.precision_histogram(frame, "ndcg@10", "new", "old", panel=["market", "device"])
    assert isinstance(chart, alt.FacetChart)
    table = pg.compare(
        frame, "ndcg@10", baseline="old", segments=["market", "device"], query="term"
    )
    for row in table.to_dicts():
        bars = chart.data.filter(panel=f"{row['market']}, {row['device']}")
        assert bars["position"].to_list() == [*range(1, 31)]
        assert bars["difference"].is_sorted(descending=True)
        assert {*bars["query"]} == {f"t{text}" for text in range(30)}
        [drawn] = bars.select("mean", "ci_low", "ci_high", "bars").unique().rows()
        assert drawn[:3] == pytest.approx((row["difference"], row["ci_low"], row["ci_high"]))
        assert drawn[3] == row["queries"]
    assert svg_of(chart).count(">mean<") == 4
    # The mean of all panels would differ from the means that are drawn.
    assert "mean difference" not in chart.description


def test_the_confidence_of_an_interval_that_is_passed_is_unknown():
    frame = shop()
    keys: dict[str, Any] = {"query": KEY}
    draw = charts.precision_histogram
    one = draw(frame, "ndcg@10", "new", "old", interval=(-0.5, 0.5), **keys)
    assert "95 %" not in svg_of(one) + str(one.to_dict())
    assert ", interval \N{MINUS SIGN}0.5000 to 0.5000" in one.description
    with pytest.warns(pg.DataWarning, match="independent"):
        own = draw(frame, "ndcg@10", "new", "old", **keys)
    assert ", 95 % interval" in own.description


KEPT = ["precision_histogram", "precision_histogram by query", "measure_agreement"]
"""Charts that draw each query, and keep the columns of its key."""

OF_QUERIES = {name: ROWS[name] for name in KEPT}


@pytest.mark.filterwarnings("ignore:queries are tested as independent")
@pytest.mark.parametrize("row", OF_QUERIES.values(), ids=OF_QUERIES)
def test_a_chart_of_queries_is_faceted_by_a_key_column(row: Row):
    parts = ["text", "market", "device"]
    number = pl.col("query")
    frame = results(3, 8).with_columns(
        text=pl.format("t{}", number // 4), market=number % 2, device=number // 2 % 2
    )
    frame = frame.drop("query").with_columns(
        pl.format("<{}>", pl.col("market", "device")).name.keep()
    )
    chart = row.draw(frame, query=parts)
    svg = svg_of(chart.facet("market:N", columns=2))
    assert "undefined" not in svg
    assert {*re.findall(r">&lt;(\d)&gt;<", svg)} == {"0", "1"}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_a_facet_by_a_missing_column_is_refused(row: Row):
    chart = row.of(3, 8)
    if isinstance(chart, alt.LayerChart):
        with pytest.raises(ValueError, match=r"must name a column of the drawn rows, .* 'nothing'"):
            chart.facet("nothing:N")
