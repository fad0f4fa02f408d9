"""The titles of charts: sentences whose numbers can be counted by hand."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from polars_graded import charts, compare, datasets, evaluate


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


LONG = "a name that is longer than anybody would give to a strategy"


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
