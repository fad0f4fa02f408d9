"""Test that a query of three columns counts as one column does, in every public function."""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_graded as pg
from polars_graded import charts, clicks, datasets, trust

pytestmark = pytest.mark.filterwarnings("ignore::polars_graded.DataWarning")

KEY = ["text", "market", "device"]
ONE = "number"
"""A column of numbers that identifies a query alone, in the order of the three columns."""

KINDS: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "integers": lambda frame: frame,
    "texts": lambda frame: frame.with_columns(pl.format("x{}", pl.col(KEY)).name.keep()),
    "categories": lambda frame: frame.with_columns(
        pl.format("x{}", pl.col(KEY)).cast(pl.Categorical).name.keep()
    ),
    "nulls": lambda frame: frame.with_columns(device=pl.col("device").replace(1, None)),
}


def build_queries(kind: str) -> pl.DataFrame:
    """Return 24 queries, with the columns of the key and their number."""
    values = [
        (text, market, device) for text in range(4) for market in range(3) for device in (1, 2)
    ]
    frame = KINDS[kind](pl.DataFrame(values, KEY, orient="row"))
    return frame.sort(KEY).with_row_index(ONE)


def build_results(kind: str) -> pl.DataFrame:
    """Return what `evaluate` returns for three strategies."""
    rng = np.random.default_rng(1)
    strategies = pl.DataFrame({"strategy": ["a", "b", "c"], "better": [0.0, 0.1, 0.3]})
    frame = build_queries(kind).join(strategies, how="cross").sort("strategy", ONE)
    values = rng.random((2, frame.height))
    curves = np.cumsum(rng.random((frame.height, 4)), axis=1)
    recalls = 1 - np.linspace(0, 1, 11) * rng.random((frame.height, 1))
    return frame.select(
        ONE,
        *KEY,
        "strategy",
        pl.Series("ap", values[0]) + pl.col("better"),
        pl.Series("ndcg@3", values[1]) + pl.col("better"),
        pl.Series("dcg_curve@4", curves.tolist()),
        pl.Series("interpolated_precision", recalls.tolist()),
    )


def build_rows(kind: str) -> pl.DataFrame:
    """Return ten documents of each query, with grades and the scores of two rankers."""
    rng = np.random.default_rng(2)
    frame = build_queries(kind).join(pl.DataFrame({"doc": range(10)}), how="cross")
    n = frame.height
    return frame.with_columns(
        grade=pl.Series(rng.integers(0, 4, n)),
        other=pl.Series(rng.integers(0, 4, n)),
        popularity=pl.Series(rng.integers(1, 9, n)),
        traffic=1 + pl.int_range(pl.len()) // 10 % 5,
        x=pl.Series(rng.random(n)),
        y=pl.Series(rng.random(n)),
    )


def build_log(kind: str) -> pl.DataFrame:
    """Return a log of lists of the queries."""
    log = pg.datasets.simulated_log(3000, queries=24, documents=5, shuffled=0.5)
    queries = build_queries(kind)
    numbered = log.with_columns((pl.col("query") - 1).cast(pl.UInt32).alias(ONE)).drop("query")
    team = pl.when(pl.col("doc") % 2 == 0).then(pl.lit("a")).otherwise(pl.lit("b"))
    return numbered.join(queries, on=ONE, maintain_order="left").with_columns(team=team)


def with_judgments(frame: pl.DataFrame, **keys: Any) -> pl.DataFrame:
    columns = [keys["query"]] if isinstance(keys["query"], str) else keys["query"]
    run = frame.select(*columns, "doc", score="x").filter(pl.col("doc") < 7)
    judgments = frame.select(*columns, "doc", "grade").filter(pl.col("doc") > 2)
    return pg.join_judgments(run, judgments, **keys)


def of_results(function: Any, *args: Any, **options: Any) -> Callable[..., Any]:
    """Call a function with results, and by default with each query as an independent unit."""
    takes_clusters = {"cluster", "options"} & {*inspect.signature(function).parameters}

    def call(frame: pl.DataFrame, query: Any, cluster: Any = None) -> Any:
        further = {"cluster": cluster or query} if takes_clusters and cluster != "none" else {}
        return function(frame, *args, query=query, **options, **further)

    return call


def of_graders(function: Any, **options: Any) -> Callable[..., Any]:
    """Call a function with results of a model, and of people for every other query."""

    def call(frame: pl.DataFrame, query: Any, cluster: Any = None) -> Any:  # noqa: ARG001
        people = frame.filter(pl.int_range(pl.len()).over("strategy") % 2 == 0)
        graders = {"model": frame, "people": people}
        both = pl.concat(each.with_columns(grader=pl.lit(name)) for name, each in graders.items())
        return function(both, "ap", trusted="people", query=query, **options)

    return call


BY: dict[str, Any] = {"by": ["x", "y"], "ties": "doc"}
PAIR: dict[str, Any] = {"a": "a", "b": "c"}
RESULTS = {
    "compare": of_results(pg.compare, "ap", test="permutation"),
    "compare_segments": of_results(pg.compare_segments, "ap", segments="half"),
    "differences": of_results(pg.differences, "ap", **PAIR),
    "gate": of_results(pg.gate, "ap", baseline="a", margin=0.05),
    "paper_table": of_results(pg.paper_table, "ap"),
    "rank_strategies": of_results(pg.rank_strategies, "ap"),
    "summarise": of_results(pg.summarise, "ap", segments="half"),
    "order_stability": of_results(trust.order_stability, "ap", sizes=[5, 10], samples=20),
    "prediction_powered_differences": of_graders(trust.prediction_powered_differences),
    "prediction_powered_means": of_graders(trust.prediction_powered_means),
    "power_curve": of_results(trust.power_curve, "ap", queries=[10, 20]),
    "queries_needed": of_results(trust.queries_needed, "ap"),
    "rank_correlation": of_results(trust.rank_correlation, "ap", "ndcg@3"),
    "charts.dcg_curves": of_results(charts.dcg_curves, "dcg_curve@4", confidence=0.9),
    "charts.recall_precision_curves": of_results(charts.recall_precision_curves, confidence=0.9),
    "charts.explore": of_results(charts.explore, measure="ap", **PAIR),
    "charts.measure_agreement": of_results(charts.measure_agreement, "ap", "ndcg@3"),
    "charts.precision_histogram": of_results(charts.precision_histogram, "ap", **PAIR),
}
ROWS = {
    "agreement": lambda frame, **keys: pg.agreement(frame, "grade", "other", **keys),
    "charts.agreement": partial(charts.agreement, one="grade", other="other"),
    "catalogue": partial(pg.catalogue, n=3, **BY),
    "evaluate": lambda frame, **keys: pg.evaluate(frame, "ap", "ndcg@3", **BY, **keys),
    "fuse": partial(pg.fuse, by=["x", "y"]),
    "join_judgments": with_judgments,
    "overview": partial(pg.overview, by=["x", "y"]),
    "phi_control_points": partial(pg.phi_control_points, score="popularity"),
    "phi_curve": partial(pg.phi_curve, score="popularity", points=9),
    "swapped_rankings": partial(datasets.swapped_rankings, swaps=[0, 3]),
    "similarity": lambda frame, **keys: pg.similarity(frame, "rbo", **BY, **keys),
    "unjudged_bounds": lambda frame, **keys: trust.unjudged_bounds(frame, "ap", **BY, **keys),
}
LOGS = {
    "describe_log": clicks.describe_log,
    "estimate_ctr": clicks.estimate_ctr,
    "estimate_pbm": clicks.estimate_pbm,
    "estimate_propensities": clicks.estimate_propensities,
    "estimate_sdbn": clicks.estimate_sdbn,
    "compare_interleaved": clicks.compare_interleaved,
    "compare_interleaved by query": partial(clicks.compare_interleaved, unit="query"),
}
BY_THEMSELVES = {"side_by_side", "charts.rankings", "report", "estimate_clicks"}


def takes_query(function: Any) -> bool:
    """Return whether a function has the argument `query`, or passes arguments to one that has."""
    parameters = inspect.signature(function).parameters
    return "query" in parameters or any(
        each.kind is each.VAR_KEYWORD for each in parameters.values()
    )


def test_every_function_that_takes_a_query_is_called():
    modules = {"": pg, "trust.": trust, "clicks.": clicks, "charts.": charts}
    found = {
        (f"charts.{name}" if prefix == "charts." else name)
        for prefix, module in (*modules.items(), ("datasets.", datasets))
        for name in module.__all__
        if inspect.isfunction(function := getattr(module, name)) and takes_query(function)
    }
    called = {name.partition(" ")[0] for name in (*RESULTS, *ROWS, *LOGS)}
    assert called | BY_THEMSELVES == found
    assert not called & BY_THEMSELVES


def values_of(result: Any) -> pl.DataFrame | str:
    """Return the values of a table or of a chart, without the names of queries."""
    frame = getattr(result, "data", result)
    if not isinstance(frame, pl.DataFrame):
        return str(frame)
    # Their texts are names of queries, or stand for them.
    return frame.drop("query", ONE, *KEY, "label", strict=False)


REFUSES_NULLS = {*LOGS, "join_judgments"} - {"describe_log"}
"""Functions of logs and of judgments, for which a query must not be null in any part."""


@cache
def build(name: str, kind: str) -> pl.DataFrame:
    """Return the frame that a function is called with."""
    if name not in RESULTS:
        return build_rows(kind) if name in ROWS else build_log(kind)
    return build_results(kind).with_columns(half=pl.col(ONE) % 2)


@cache
def values_of_one(name: str) -> pl.DataFrame | str:
    """Return the values if one column names the queries, whose numbers are those of any kind."""
    return values_of((RESULTS | ROWS | LOGS)[name](build(name, "integers").drop(KEY), query=ONE))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [*RESULTS, *ROWS, *LOGS])
def test_three_columns_have_the_values_of_one(name: str, kind: str):
    call, frame = (RESULTS | ROWS | LOGS)[name], build(name, kind)
    if kind == "nulls" and name in REFUSES_NULLS:
        with pytest.raises(ValueError, match="must not be null"):
            call(frame.drop(ONE), query=KEY)
        return
    if kind == "nulls" and name == "describe_log":
        # All queries with a null count as one.
        assert call(frame.drop(ONE), query=KEY)["queries"].item() == 24 / 2 + 1
        return
    one, three = values_of_one(name), values_of(call(frame.drop(ONE), query=KEY))
    if isinstance(one, str):
        assert one == three
        return
    assert isinstance(three, pl.DataFrame)
    assert three.columns == one.columns
    assert_frame_equal(three, one, rel_tol=1e-12)


WITHOUT_INTERVALS = {"differences", "rank_correlation", "charts.measure_agreement"}
"""Functions of results that state no interval, no test and no verdict."""

REFUSES = {"gate"}
"""Functions that refuse queries that may depend on each other."""


@pytest.mark.parametrize("name", RESULTS)
def test_no_function_that_decides_is_silent_about_dependent_queries(name: str):
    frame = build_results("texts").drop(ONE).with_columns(half=pl.col("market"))
    call = RESULTS[name]
    with warnings.catch_warnings(record=True, action="always") as caught:
        if name in REFUSES:
            with pytest.raises(ValueError, match="`cluster` must be passed"):
                call(frame, query=KEY, cluster="none")
            return
        call(frame, query=KEY, cluster="none")
    found = [each for each in caught if each.category is pg.DataWarning.clusters]
    assert len(found) == (name not in WITHOUT_INTERVALS)
    if found and "Intervals may be too short" not in str(found[0].message):
        with warnings.catch_warnings(action="error", category=pg.DataWarning.clusters):
            call(frame, query=KEY, cluster=["text", "market"])


def test_intervals_without_clusters_warn_of_dependent_queries():
    frame = build_rows("texts").drop(ONE)
    with pytest.warns(pg.DataWarning.clusters, match="Intervals may be too short"):
        ROWS["agreement"](frame, query=KEY)


@pytest.mark.parametrize("kind", ["integers", "texts", "categories"])
def test_a_part_of_the_key_is_a_cluster_or_a_segment_of_interleaved_lists(kind: str):
    log = build_log(kind)
    options: dict[str, Any] = {"query": KEY}
    for part in (["text"], ["text", "market"]):
        table = clicks.compare_interleaved(log, cluster=part, **options)
        assert table["clusters"].item() == log.select(part).n_unique()
    one = clicks.compare_interleaved(
        log.drop("market", "device"), cluster="text", **(options | {"query": ONE})
    )
    table = clicks.compare_interleaved(log.drop(ONE), cluster="text", **options)
    assert_frame_equal(table, one)
    by_market = clicks.compare_interleaved(log.drop(ONE), segments="market", **options)
    assert by_market.columns[:3] == ["measure", "market", "strategy"]
    assert by_market["queries"].sum() == log["session"].n_unique()


@pytest.mark.parametrize("kind", KINDS)
def test_one_query_is_named_by_all_parts_of_its_key(kind: str):
    frame = build_rows(kind)
    first = frame.row(0, named=True)
    named = tuple(first[name] for name in KEY)
    for function in (pg.side_by_side, charts.rankings):
        one = values_of(function(frame.drop(KEY), first[ONE], query=ONE, **BY))
        three = values_of(function(frame.drop(ONE), named, query=KEY, **BY))
        assert_frame_equal(three, one)


@pytest.mark.parametrize("kind", ["integers", "texts", "categories"])
def test_clicks_of_a_ranking_with_three_columns_are_those_of_one(kind: str):
    log = build_log(kind)
    shown = log.unique([ONE, "doc"], maintain_order=True).select(ONE, *KEY, "doc")
    ranking = shown.with_columns(rank=pl.col("doc").rank("ordinal").over(ONE).cast(pl.Int64))
    one, three = (
        clicks.estimate_clicks(log.drop(dropped), ranking.drop(dropped), "item_position", query=key)
        for key, dropped in ((ONE, KEY), (KEY, [ONE]))
    )
    assert_frame_equal(three, one)


@pytest.mark.usefixtures("charts_undrawn")
@pytest.mark.parametrize("kind", ["texts", "nulls"])
def test_files_and_pages_have_the_values_of_one_column(kind: str, tmp_path: Path):
    frame = build_results(kind).drop("dcg_curve@4", "interpolated_precision")
    frame = frame.with_columns(pl.col(pl.Categorical).cast(pl.String))
    path = tmp_path / "results.parquet"
    pg.write_results(frame.drop(ONE), path)
    read = pg.read_results(path)
    assert_frame_equal(read.select(frame.drop(ONE).columns), frame.drop(ONE))
    pages = [
        pg.report(frame.drop(dropped), tmp_path / name, query=key, baseline="a").read_text()
        for name, key, dropped in (("one.html", ONE, KEY), ("three.html", KEY, [ONE]))
    ]
    sentences = [
        re.findall(r"<h2[^>]*>(.*?)</h2>|<p class=\"finding\">(.*?)</p>", page) for page in pages
    ]
    assert sentences[0] == sentences[1]
    assert sentences[0]


def test_similarities_of_three_strategies_are_summarised_by_the_columns_of_the_query():
    frame = pl.DataFrame({"term": [*"xxyy"], "market": [*"dddd"], "doc": [*"abab"]})
    frame = frame.with_columns(A=pl.Series([5, 2, 3, 4]), B=-pl.int_range(4), C=pl.int_range(4))
    values = pg.similarity(frame, "rbo", query=["term", "market"], by=[*"ABC"], descending=True)
    assert pg.summarise(values)["queries"].to_list() == [2, 2, 2]
