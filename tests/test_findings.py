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


def pairs(*rows: tuple[str, str, float, float | None], measure: str = "ap") -> pl.DataFrame:
    """What `compare` has of each pair: its difference and its corrected p."""
    columns = {"strategy": pl.String, "baseline": pl.String}
    columns |= {"difference": pl.Float64, "p_corrected": pl.Float64}
    frame = pl.DataFrame(rows, columns, orient="row")
    return frame.with_columns(measure=pl.lit(measure), ci_low=None, ci_high=None)


def stacked(*frames: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of results of several measures."""
    return pl.concat(frames)


LONG = "a name that is longer than anybody would give to a strategy"

SAID = {
    "two strategies": (
        lambda: charts.precision_histogram(per_query(a=[1, 0, 0], b=[0, 1, 0]), "ap", "a", "b"),
        "a and b each win in 1 of 3 queries",
    ),
    # What a test found is stated with its direction.
    "better, worse and undecided": (
        lambda: charts.comparison_forest(
            pairs(
                *(("a", "base", 0.25, 0.01), ("b", "base", -0.25, 0.01)),
                *(("c", "base", 0, None), ("d", "base", -0.5, 0.02)),
            )
        ),
        "1 of 4 is better than base, 2 are worse, 1 undecided",
    ),
    "none is better": (
        lambda: charts.comparison_forest(
            pairs(("a", "base", -0.25, 0.011), ("b", "base", -0.5, 0.01)), confidence=0.99
        ),
        "None of 2 is better than base, 1 is worse, 1 undecided",
    ),
    "all are better": (
        lambda: charts.comparison_forest(pairs(("a", "base", 0.2, 0.01), ("b", "base", 0.1, 0.01))),
        "Both are better than base",
    ),
    "better where the lowest is best": (
        lambda: charts.comparison_forest(pairs(("a", "base", -0.25, 0.01), measure="e_measure@5")),
        "a is better than base",
    ),
    "one is worse": (
        lambda: charts.comparison_forest(pairs(("a", "b", -0.25, 0.01))),
        "a is worse than b",
    ),
    "one is undecided": (
        lambda: charts.comparison_forest(pairs(("a", "b", -0.25, 0.3))),
        "Undecided whether a is better than b",
    ),
    "a count is above or below": (
        lambda: charts.comparison_forest(
            pairs(
                ("a", "b", -1, 0.01),
                ("c", "b", 2, 0.01),
                ("d", "b", 3, 0.01),
                measure="n_retrieved",
            )
        ),
        "2 of 3 are above b, 1 is below",
    ),
    "two measures beside a baseline": (
        lambda: charts.comparison_forest(
            stacked(
                pairs(("a", "base", 0.25, 0.01), ("b", "base", 0.2, 0.5)),
                pairs(("a", "base", 0.25, 0.01), ("b", "base", -0.2, 0.01), measure="e_measure@5"),
            )
        ),
        "Better than base in 2 of 4 comparisons, worse in 1, undecided in 1",
    ),
    "all pairs": (
        lambda: charts.comparison_matrix(
            pairs(("a", "b", 0.3, 0.01), ("a", "c", 0.1, 0.2), ("b", "c", -0.2, 0.02))
        ),
        "2 of 3 differences are significant, 1 undecided",
    ),
    "no pair": (
        lambda: charts.comparison_matrix(
            pairs(("a", "b", 0.3, 0.1), ("a", "c", 0.1, 0.2), ("b", "c", -0.2, 0.2))
        ),
        "None of 3 differences is significant",
    ),
    "gaps and ties": (
        lambda: charts.overview(
            overview(
                pl.DataFrame(
                    {
                        "query": [1, 1, 2],
                        "doc": ["x", "y", "x"],
                        "grade": [1, 0, None],
                        "score": 1.0,
                    }
                )
            )
        ),
        "67 % of the scores of score are tied; 1 of 2 queries has no judged document",
    ),
}


@pytest.mark.parametrize("case", SAID)
def test_a_title_says_what_is_drawn_or_what_a_test_found(case):
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
    count = f"{settled} of 6 differences {'is' if settled == 1 else 'are'} significant"
    count = f"{count}, {6 - settled} undecided (paired t test, Holm)"
    assert said(charts.comparison_forest(comparison)) == count


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
