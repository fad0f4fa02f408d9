"""The titles of charts: sentences whose numbers can be counted by hand."""

from __future__ import annotations

import re
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from results import of_few

from polars_graded import (
    charts,
    compare,
    datasets,
    evaluate,
    rank_strategies,
    similarity,
    summarise,
)


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


TESTED = [[0.75, 0.5, 1.0, 0.75], [0.5, 0.25, 0.75, 0.5], [0.25, 0.0, 0.25, 0.25]]
"""The first differs from the second by a quarter in every query, which the t test cannot test."""


def counted(words: str, n: int, total: int, title: str) -> bool:
    """Whether a title states that n of `total` differences are as in the words."""
    shares = {f"{n} of {total}": True, "Both": n == total == 2, f"All {total}": n == total}
    shares |= {"None of": n == 0 < total, "No": n == 0, "The": n == total == 1}
    return any(
        is_right and re.search(f"^{share}\\b.*{words}", title) for share, is_right in shares.items()
    )


@of_few
@given(
    st.lists(
        st.lists(st.integers(0, 4).map(lambda q: q / 4), min_size=4, max_size=4),
        min_size=3,
        max_size=4,
    ),
    st.booleans(),
)
@example(TESTED, False)
@example(TESTED, True)
@example([TESTED[0], TESTED[1], [0.5, 0.25, 0.75, 0.5]], True)
def test_a_title_counts_the_differences_that_compare_tested(values, has_baseline):
    names = "abcd"[: len(values)]
    frame = per_query(**dict(zip(names, values, strict=True)))
    comparison = compare(frame, baseline="b" if has_baseline else None)
    tested = comparison.drop_nulls("p_corrected")
    significant = tested.filter(pl.col("p_corrected") <= 0.05)
    better = significant.filter(pl.col("difference") > 0).height
    untested = comparison.height - tested.height
    title = said(charts.comparison_forest(comparison))
    assert title == said(charts.comparison_matrix(comparison))
    assert title.endswith(" (paired t test, Holm)")
    assert re.findall(r"(\d) not tested", title) == [str(untested)] * (
        0 < untested < comparison.height
    )
    if tested.is_empty():
        assert title.startswith(f"None of {untested} differences")
        assert "is tested" in title
    elif has_baseline:
        worse = significant.height - better
        words, n = ("worse than b", worse) if worse > better == 0 else ("better than b", better)
        assert counted(words, n, tested.height, title)
    else:
        assert counted("significant", significant.height, tested.height, title)
    equal = tested.filter(pl.col("ties") == pl.col("queries")).height
    assert re.findall(r"(\d) equal in every query", title) == ([str(equal)] if equal else [])
    undecided = tested.height - significant.height - equal
    shown = re.findall(r"(\d) undecided", title)
    assert shown in ([[str(undecided)]] if undecided and has_baseline else [[], [str(undecided)]])


def test_strategies_that_are_equal_in_every_query_are_not_undecided():
    frame = per_query(a=TESTED[0], b=TESTED[0])
    comparison = compare(frame, baseline="a")
    title = said(charts.comparison_forest(comparison))
    assert title == "b equals a in every query (paired t test)"


@pytest.mark.filterwarnings("ignore:.* the same in every query")
def test_ranks_say_which_differences_were_not_tested():
    """The differences from b are a quarter in every query, and a and c are equal."""
    ranks = rank_strategies(per_query(a=TESTED[0], b=TESTED[1], c=TESTED[0]))
    assert dict(ranks.select("strategy", "untested").rows()) == {"a": 1, "c": 1, "b": 2}
    chart = charts.strategy_ranks(ranks).to_dict()
    assert "2 differences not tested" in " ".join(chart["title"]["subtitle"])
    assert "same letter: not significant or not tested" in str(chart)
    title = said(charts.strategy_ranks(rank_strategies(per_query(a=TESTED[0], b=TESTED[1]))))
    assert title == "No strategy is clearly first, both may be: a and b (not tested)"


def test_the_strategies_of_similarities_are_pairs():
    frame = datasets.example(6)
    means = summarise(similarity(frame, "rbo", by=["strong", "fair", "weak"]))
    title = said(charts.strategy_bars(means))
    assert title == "Mean rank-biased overlap of 3 pairs of strategies"


@pytest.mark.parametrize(
    ("n", "n_strategies", "key"),
    [(1, 3, "○ not tested"), (9, 2, "● p ≤ 0.05 ○"), (9, 3, "● corrected p ≤ 0.05 ○")],
)
def test_a_legend_names_the_p_that_is_drawn(n, n_strategies, key):
    values = {
        name: [(7 * place * q + place) % 5 / 5 for q in range(n)]
        for place, name in enumerate("abc"[:n_strategies])
    }
    comparison = compare(per_query(**values))
    text = str(charts.comparison_forest(comparison).to_dict()).replace("\\xa0", " ")
    assert key in text
    assert ("● " in text) == (n > 1)
    if n_strategies > 2 and n > 1:  # a part of a larger table stays corrected
        part = str(charts.comparison_forest(comparison.sort("p_value").head(1)).to_dict())
        assert "corrected" in part
        assert "Holm" in part


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


@pytest.mark.parametrize("name", ["b", "bm25", "dense-v2", "a ranker with a name of any length"])
def test_no_line_of_a_title_ends_inside_of_parentheses(name):
    frame = per_query(**{name: [0, 1, 2], "c": [3, 1, 1], "d": [0, 0, 1]})
    lines = []
    for baseline in (None, name):
        title = charts.comparison_forest(compare(frame, baseline=baseline)).title["text"]
        lines += title if isinstance(title, list) else [title]
    assert sum(line.endswith("(paired t test, Holm)") for line in lines) == 2
