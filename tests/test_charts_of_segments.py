"""Test charts of results by segment: panels, lines over time, and facets by key columns."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

import altair as alt
import numpy as np
import polars as pl
import pytest
import vl_convert
from chart_registry import KEYS, ROWS, Row, results

import polars_graded as pg
from polars_graded import charts

KEY = ["text", "market", "device"]


def shop(n: int = 30) -> pl.DataFrame:
    """Return results of two rankings for n texts in two markets and on two devices."""
    rng = np.random.default_rng(0)
    rows = [
        (strategy, f"t{text}", market, device)
        for strategy in ("old", "new")
        for text in range(n)
        for market in ("DE", "FR")
        for device in ("desktop", "phone")
    ]
    frame = pl.DataFrame(rows, ["strategy", *KEY], orient="row")
    return frame.with_columns(
        pl.Series("ndcg@10", rng.random(frame.height)),
        pl.Series("mu_ap", rng.random(frame.height)),
        pl.Series("dcg_curve@3", np.cumsum(rng.random((frame.height, 3)), axis=1).tolist()),
    )


def svg_of(chart: Any) -> str:
    return vl_convert.vegalite_to_svg(chart.to_dict())


CLUSTER: dict[str, Any] = {"query": KEY, "cluster": "text"}
SEGMENTED = {
    "strategy_bars": (pg.summarise, charts.strategy_bars),
    "comparison_forest": (pg.compare, charts.comparison_forest),
    "comparison_matrix": (pg.compare, charts.comparison_matrix),
    "strategy_ranks": (pg.rank_strategies, charts.strategy_ranks),
}


@pytest.mark.parametrize("name", SEGMENTED)
@pytest.mark.parametrize("measures", [["ndcg@10"], ["ndcg@10", "mu_ap"]])
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


def test_a_precision_histogram_has_its_own_mean_in_each_panel():
    frame = shop()
    chart = charts.precision_histogram(frame, "ndcg@10", "new", "old", panel=["market", "device"])
    assert isinstance(chart, alt.FacetChart)
    table = pg.compare(
        frame, "ndcg@10", baseline="old", segments=["market", "device"], query="text"
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


# Time


def weekly(kind: str, n: int = 5) -> pl.DataFrame:
    days = [dt.date(2026, 11, 30) + dt.timedelta(weeks=week) for week in range(n)]
    rows = [
        (
            strategy,
            f"{week}-{query}",
            day,
            "DE" if query % 2 else "FR",
            (week + query) / 20 + better,
        )
        for better, strategy in ((0.0, "old"), (0.1, "new"))
        for week, day in enumerate(days)
        for query in range(6)
    ]
    frame = pl.DataFrame(rows, ["strategy", "query", "week", "market", "ap"], orient="row")
    week = {
        "date": pl.col("week"),
        "datetime": pl.col("week").cast(pl.Datetime),
        "text": pl.col("week").dt.to_string("%G-W%V"),
        "month": pl.col("week").dt.to_string("%Y-%m"),
    }[kind]
    return frame.with_columns(week=week)


@pytest.mark.parametrize("kind", ["date", "datetime", "text", "month"])
def test_means_by_time_are_lines(kind):
    summary = pg.summarise(weekly(kind), "ap", segments="week")
    chart = charts.strategy_bars(summary)
    assert isinstance(chart, alt.LayerChart)
    x = chart.to_dict()["encoding"]["x"]
    assert (x["field"], x["type"]) == (
        "week",
        "temporal" if kind in {"date", "datetime"} else "ordinal",
    )
    new = chart.data.filter(strategy="new")
    expected = summary.filter(strategy="new").sort("week")
    for column in ("mean", "ci_low", "ci_high"):
        assert new[column].to_list() == pytest.approx(expected[column].to_list())
    assert new["label"].to_list() == [None] * (new.height - 1) + ["new"]
    marks = [layer["mark"]["type"] for layer in chart.to_dict()["layer"]]
    assert {"line", "area"} <= {*marks}
    assert "95 % interval" in str(chart.title.to_dict()["subtitle"])


# Facets


KEPT = {"precision_histogram", "precision_histogram by query", "query_heatmap", "measure_agreement"}
"""Charts that draw each query, and keep the columns of its key."""

OF_QUERIES = {name: row for name, row in ROWS.items() if row.columns.items() >= KEYS.items()}


@pytest.mark.filterwarnings("ignore:queries are tested as independent")
@pytest.mark.parametrize("row", OF_QUERIES.values(), ids=OF_QUERIES)
def test_a_chart_of_queries_is_faceted_by_a_key_column_or_says_what_to_do(row: Row):
    parts = ["text", "market", "device"]
    number = pl.col("query")
    frame = results(3, 8).with_columns(
        text=pl.format("t{}", number // 4), market=number % 2, device=number // 2 % 2
    )
    frame = frame.drop("query").with_columns(
        pl.format("<{}>", pl.col("market", "device")).name.keep()
    )
    chart = row.draw(frame, query=parts)
    name = next(each for each, other in ROWS.items() if other is row)
    if not hasattr(chart, "facet") or isinstance(chart, alt.FacetChart):
        return
    if name in KEPT:
        svg = svg_of(chart.facet("market:N", columns=2))
        assert "undefined" not in svg
        assert {*re.findall(r">&lt;(\d)&gt;<", svg)} == {"0", "1"}
        return
    with pytest.raises(ValueError, match=r"a facet must name a column .* got 'market'; there are"):
        chart.facet("market:N")


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_a_facet_by_a_missing_column_is_refused(row: Row):
    chart = row.of(3, 8)
    if isinstance(chart, alt.LayerChart):
        with pytest.raises(ValueError, match=r"must name a column .* got 'nothing'; there are"):
            chart.facet("nothing:N")
