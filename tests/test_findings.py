"""The titles of charts: sentences whose numbers can be counted by hand."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl
import pytest

from polars_graded import charts, compare, datasets, evaluate, overview


def said(chart: Any) -> str:
    """The title of a chart in one line."""
    title = chart.to_dict().get("title", {"text": ""})["text"]
    return title if isinstance(title, str) else " ".join(title)


def per_query(**strategies: list[float]) -> pl.DataFrame:
    """The values of a measure, one for each query."""
    return pl.concat(
        pl.DataFrame(
            {"strategy": name, "query": range(1, len(values) + 1), "ap": [*map(float, values)]}
        )
        for name, values in strategies.items()
    )


def curve(**strategies: list[float]) -> pl.DataFrame:
    """The points of curves by rank."""
    return pl.concat(
        pl.DataFrame(
            {"strategy": name, "rank": range(1, len(values) + 1), "cg": [*map(float, values)]}
        )
        for name, values in strategies.items()
    )


def means(measure: str = "ap", **strategies: float) -> pl.DataFrame:
    """What `summarise` has of each strategy."""
    names, values = list(strategies), [*map(float, strategies.values())]
    return pl.DataFrame({"measure": measure, "strategy": names, "mean": values})


def pairs(*rows: tuple[str, str, float, float | None], measure: str = "ap") -> pl.DataFrame:
    """What `compare` has of each pair: its difference and its corrected p."""
    columns = {"strategy": pl.String, "baseline": pl.String}
    columns |= {"difference": pl.Float64, "p_corrected": pl.Float64}
    frame = pl.DataFrame(rows, columns, orient="row")
    return frame.with_columns(measure=pl.lit(measure), ci_low=None, ci_high=None)


LONG = "a name that is longer than anybody would give to a strategy"

SAID = {
    "one line is above all the way": (
        lambda: charts.dcg_curves(curve(a=[1, 2, 3], b=[0, 1, 2])),
        "a is highest at every rank",
    ),
    "lines cross": (
        lambda: charts.dcg_curves(curve(a=[1, 2, 3], b=[2, 2.5, 2.75])),
        "a is highest at rank 3, b at rank 1",
    ),
    "lines end alike": (
        lambda: charts.dcg_curves(curve(a=[1, 2], b=[1, 2], c=[0, 0])),
        "a and b are highest at every rank",
    ),
    "all lines are the same": (lambda: charts.dcg_curves(curve(a=[1, 2], b=[1, 2])), ""),
    "one line has nothing beside it": (lambda: charts.dcg_curves(curve(a=[1, 2])), ""),
    "one line has its ideal": (
        lambda: charts.dcg_curves(curve(a=[1, 2]).with_columns(best=pl.lit(8.0)), ideal="best"),
        "25 % of the ideal at rank 2",
    ),
    "a line that ends before the others is ahead of none": (
        lambda: charts.dcg_curves(
            curve(a=[1, 2], b=[0, 1])
            .vstack(curve(c=[0.5, 9, 10]))
            .filter(pl.col("cg") < 9.5)
            .vstack(pl.DataFrame({"strategy": ["a"], "rank": [3], "cg": [3.0]}))
        ),
        "c is highest at rank 2, a at rank 1",
    ),
    "all lines are the same but for rounding": (
        lambda: charts.measure_agreement(
            pl.DataFrame({"x": [0.1 + 0.2, 0.5], "y": [0.3, 0.5]}), "x", "y", show="difference"
        ),
        "x and y are the same for both queries",
    ),
    "gradings that change nothing": (
        lambda: charts.grading_profile(
            pl.DataFrame(
                {
                    "grading": ["as given", "as given", "0+1, 2", "0+1, 2"],
                    "measure": "ap",
                    "strategy": ["a", "b"] * 2,
                    "mean": [0.5, 0.25, 0.75, 0.5],
                    "place": [1, 2] * 2,
                    "tau": 1.0,
                    "tau_ap": 1.0,
                    "lost": 0,
                    "gained": 0,
                    "reversed": 0,
                }
            )
        ),
        "ap: a leads under both gradings; the order is always the same",
    ),
    "differences that few samples contradict": (
        # In the last two of the classes the rate is below 0.05.
        lambda: charts.swap_rates(
            pl.DataFrame(
                {
                    "measure": "ap",
                    "queries": 8,
                    "difference_from": [0.0, 0.1, 0.2, 0.3],
                    "difference_to": [0.1, 0.2, 0.3, 0.4],
                    "comparisons": 100,
                    "swaps": [30, 6, 4, 0],
                    "swap_rate": [0.3, 0.06, 0.04, 0.0],
                }
            )
        ),
        "With 8 queries, less than 5 % of other samples contradict differences above 0.2",
    ),
    "differences of one size in both measures": (
        lambda: charts.swap_rates(
            pl.DataFrame(
                {
                    "measure": ["ap"] * 2 + ["ndcg"] * 2,
                    "queries": 8,
                    "difference_from": [0.0, 0.1] * 2,
                    "difference_to": [0.1, 0.2] * 2,
                    "comparisons": 100,
                    "swaps": [30, 4, 20, 0],
                    "swap_rate": [0.3, 0.04, 0.2, 0.0],
                }
            )
        ),
        (
            "With 8 queries, less than 5 % of other samples contradict differences above 0.1 in "
            "both measures"
        ),
    ),
    "the smallest difference that there was is not contradicted": (
        lambda: charts.swap_rates(
            pl.DataFrame(
                {
                    "measure": "ap",
                    "queries": 8,
                    "difference_from": [0.2, 0.3],
                    "difference_to": [0.3, 0.4],
                    "comparisons": 100,
                    "swaps": [1, 0],
                    "swap_rate": [0.01, 0.0],
                }
            )
        ),
        "With 8 queries, less than 5 % of other samples contradict any difference",
    ),
    "one who ranks a query best": (
        lambda: charts.rankings(
            pl.DataFrame(
                {"query": 7, "doc": ["x", "y"], "grade": [1, 0], "a": [2, 1], "b": [1, 2]}
            ),
            7,
            "reciprocal_rank",
            by=["a", "b"],
        ),
        "In query 7, a leads with reciprocal_rank 1, before b with 0.5",
    ),
    "queries that say nothing": (
        lambda: charts.overview(
            overview(
                pl.DataFrame(
                    {"query": [1, 2], "doc": ["x", "x"], "grade": [1, None], "score": [1.0, 2.0]}
                )
            )
        ),
        (
            "score has nothing judged for 1 of 2 queries; "
            "score has judged nothing irrelevant for 1 of 2 queries"
        ),
    ),
    "queries are counted": (
        lambda: charts.precision_histogram(
            per_query(a=[0.5, 0.5, 0.25, 1.0, 0.0], b=[0.5, 0.25, 0.5, 0.0, 0.0]), "ap", "b", "a"
        ),
        "a wins 2 of 5 queries, b 1, 2 ties",
    ),
    "as many queries each": (
        lambda: charts.precision_histogram(per_query(a=[1, 0, 0], b=[0, 1, 0]), "ap", "a", "b"),
        "a and b win 1 of 3 queries each, 1 tie",
    ),
    "every query is a tie": (
        lambda: charts.precision_histogram(per_query(a=[1, 0], b=[1, 0]), "ap", "a", "b"),
        "a and b tie in both queries",
    ),
    "explored are the same queries": (
        lambda: charts.explore(per_query(a=[1, 1, 0], b=[0, 0.5, 0.5]), "a", "b"),
        "a wins 2 of 3 queries, b 1",
    ),
    # Of the three pairs of points two are in one order and one is in the other: (2 - 1) / 3.
    "measures agree by Kendall's tau": (
        lambda: charts.measure_agreement(pl.DataFrame({"x": [1, 2, 3], "y": [1, 3, 2]}), "x", "y"),
        "x and y order 3 queries with τ = 0.33",
    ),
    "one measure is higher": (
        lambda: charts.measure_agreement(
            pl.DataFrame({"x": [1, 2, 3, 4], "y": [1, 3, 5, 2]}), "x", "y", show="difference"
        ),
        "y is higher for 2 of 4 queries, x for 1",
    ),
    "one mean is ahead": (
        lambda: charts.strategy_bars(means(a=0.5, b=0.375, c=0.25)),
        "a has the highest mean ap: 0.5, 0.125 above b",
    ),
    "the lowest mean is ahead": (
        lambda: charts.strategy_bars(means("e_measure@5", a=0.5, b=0.375)),
        "b has the lowest mean e_measure@5: 0.375, 0.125 below a",
    ),
    "strategies lead in different measures": (
        lambda: charts.strategy_bars(
            pl.concat([means(a=0.5, b=0.4), means("ndcg", a=0.5, b=0.6), means("rr", a=1, b=0)])
        ),
        "a has the best mean in 2 of 3 measures",
    ),
    "some differences are settled": (
        lambda: charts.comparison_forest(
            pairs(("a", "base", 0.25, 0.01), ("b", "base", -0.25, 0.5), ("c", "base", 0, None))
        ),
        "a leads; 1 of 3 differences is settled at 95 %",
    ),
    "the baseline leads": (
        lambda: charts.comparison_forest(
            pairs(("a", "base", -0.25, 0.011), ("b", "base", -0.5, 0.01)), confidence=0.99
        ),
        "base leads; 1 of 2 differences is settled at 99 %",
    ),
    "the one difference is of what is best where it is low": (
        lambda: charts.comparison_forest(pairs(("a", "base", -0.25, 0.01), measure="e_measure@5")),
        "a leads base by 0.25, settled at 95 %",
    ),
    "nothing is settled, and nobody is said to lead": (
        lambda: charts.comparison_forest(
            pairs(("a", "base", -0.25, 0.1), ("b", "base", -0.5, None))
        ),
        "None of 2 differences is settled at 95 %",
    ),
    "a pair alone": (
        lambda: charts.comparison_forest(pairs(("a", "b", -0.25, 0.3))),
        "b leads a by 0.25, not settled at 95 %",
    ),
    # a is before b and c, c before b.
    "all pairs": (
        lambda: charts.comparison_matrix(
            pairs(("a", "b", 0.3, 0.01), ("a", "c", 0.1, 0.2), ("b", "c", -0.2, 0.02))
        ),
        "a leads; 2 of 3 differences are settled at 95 %",
    ),
    "pairs that are not all of them say nothing of who leads": (
        lambda: charts.comparison_matrix(
            pairs(("a", "b", 0.3, 0.01), ("c", "d", 0.1, 0.02), ("a", "d", 0.1, 0.02))
        ),
        "All 3 differences are settled at 95 %",
    ),
    "a long name is cut": (
        lambda: charts.strategy_bars(means(**{LONG: 0.5, "b": 0.25})),
        "a name that is longer than anybody woul… has the highest mean ap: 0.5, 0.25 above b",
    ),
    "medians": (
        lambda: charts.sample_boxes(per_query(a=[0, 0.5, 1], b=[0, 0.25, 1]), "ap"),
        "a has the highest median ap: 0.5; the lowest is 0.25",
    ),
    "φ of scores that are all the same": (
        lambda: charts.relevance_function(pl.DataFrame({"s": [1, 1]}), "s"),
        "φ is undefined: all scores are the same",
    ),
    "what measures tell apart": (
        lambda: charts.significance_curves(
            pl.concat(
                pairs(("a", "b", 0, p), ("a", "c", 0, 0.01), ("b", "c", 0, 0.5), measure=measure)
                for measure, p in (("ap", 0.04), ("ndcg", 0.2))
            ).with_columns(place=pl.int_range(1, pl.len() + 1).over("measure"))
        ),
        "ap tells most pairs apart at corrected p ≤ 0.05, 2 of 3; ndcg the fewest, 1",
    ),
    "power at hand": (
        lambda: charts.power_curves(
            pl.DataFrame(
                {
                    "measure": ["ap", "ap", "ndcg", "ndcg"],
                    "queries": [10, 20, 10, 20],
                    "power": [0.5, 0.75, 0.25, 0.5],
                    "at_hand": [True, False] * 2,
                    "difference": 0.02,
                    "share_of_range": [0.1, 0.1, 0.25, 0.25],
                }
            )
        ),
        (
            "With 10 queries the power to find a difference of 0.02 (10 % to 25 % of the range of "
            "means) is highest for ap (0.50), lowest for ndcg (0.25)"
        ),
    ),
    "order from half of the queries": (
        lambda: charts.stability_curves(
            pl.DataFrame(
                {"measure": "ap", "queries": [2, 5, 9], "tau": [0.1, 0.6, 1.0]}
            ).with_columns(tau_low="tau", tau_high="tau")
        ),
        "With 5 of 9 queries τ is 0.60 for ap",
    ),
    "whiskers that overlap": (
        lambda: charts.unjudged_bounds(
            pl.DataFrame(
                {
                    "measure": "ap",
                    "strategy": ["a", "b", "c"],
                    "query": 1,
                    "value": [0.5, 0.25, 0.125],
                    "value_if_best": [0.75, 0.625, 0.1875],
                    "residual": [None] * 3,
                }
            )
        ),
        # b reaches 0.625, beyond the 0.5 of a; c reaches neither.
        (
            "From unjudged as irrelevant to all as best, the means of 1 of 3 pairs of strategies "
            "overlap"
        ),
    ),
}


@pytest.mark.parametrize("case", SAID)
def test_a_title_says_what_can_be_counted(case):
    chart, expected = SAID[case]
    assert said(chart()) == expected


@pytest.fixture(scope="module")
def results() -> pl.DataFrame:
    frame = datasets.example(12)
    names = ["strong", "fair", "weak"]
    return evaluate(frame, "ndcg@10", "r_precision", "dcg_curve@20", by=names)


def test_differences_that_are_settled_are_those_of_compare(results):
    comparison = compare(results.filter(pl.col("query") <= 6), "ndcg@10", "r_precision")
    settled = comparison.filter(pl.col("p_corrected") < 0.05).height
    assert 0 < settled < 6
    count = f"{settled} of 6 differences {'is' if settled == 1 else 'are'} settled at 95 %"
    count = f"{count} (paired t test, Holm)"
    assert said(charts.comparison_forest(comparison)).endswith(count)


def test_a_title_of_panels_stands_once_above_them(results):
    spec = charts.dcg_curves(results, panel="query").to_dict()
    assert spec["title"]["text"].startswith("strong ends highest in ")
    assert spec["title"]["text"].endswith(" of 12 panels")
    assert "title" not in spec["spec"]
    # Counted without the chart: the strategies with the highest DCG at rank 20, query by query.
    ends = results.with_columns(pl.col("dcg_curve@20").list.last().alias("end"))
    best = ends.filter(pl.col("end") == pl.col("end").max().over("query"))
    n = best.filter(strategy="strong").height
    assert f" {n} of 12 " in spec["title"]["text"]


def test_a_title_of_the_callers_own_replaces_it(results):
    chart = charts.dcg_curves(results)
    assert chart.properties(title="mine").to_dict()["title"] == "mine"
    assert said(chart) != "mine"
    over = chart + alt.Chart().mark_rule().encode(y=alt.datum(0.5))
    assert over.to_dict()["title"] == chart.to_dict()["title"]


@pytest.mark.parametrize("name", [LONG * 3, "x" * 300, "two\nlines", "", "<b>$x$</b>"])
def test_a_title_fits_whatever_strategies_are_called(name):
    """About seven pixels a letter leave room beside it in a cell of 700."""
    chart = charts.precision_histogram(
        per_query(**{name: [1, 0, 1], "b": [0, 1, 0]}), "ap", name, "b"
    )
    title = chart.to_dict()["title"]["text"]
    lines = [title] if isinstance(title, str) else title
    assert max(map(len, lines)) < 700 / 7
    assert all(line == line.strip() and "\n" not in line for line in lines)


def test_a_chart_is_called_as_altair_calls_it(results):
    assert repr(charts.dcg_curves(results)).startswith("alt.LayerChart(")
