"""What other judgments would have said: values by hand, orders as rank_correlation has them."""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from results import close

from polars_graded import evaluate
from polars_graded.datasets import example
from polars_graded.trust import rank_correlation, unjudged_bounds

FRAME = pl.DataFrame(
    {
        "query": ["a"] * 4 + ["b"] * 3,
        "doc": ["1", "2", "3", "4", "1", "2", "3"],
        "grade": [2, None, 0, None, None, 1, 2],
        "x": [4.0, 3.0, 2.0, 1.0, 3.0, 2.0, None],
        "y": [1.0, None, 3.0, 2.0, 1.0, 2.0, 3.0],
    }
)
"""Grades in the order of x: 2, ?, 0, ? and ?, 1; in that of y: 0, ?, 2 and 2, 1, ?."""


# Unjudged documents.


def test_bounds_by_hand():
    result = unjudged_bounds(FRAME, "precision@2", by=["x", "y"])
    bounds = ["value", "value_if_best", "low", "high", "exact", "residual"]
    assert result.columns == ["measure", "strategy", "query", *bounds]
    assert result.drop("measure", "value_if_best", "exact", "residual").rows() == [
        ("x", "a", 0.5, 0.5, 1.0),
        ("x", "b", 0.5, 0.5, 1.0),
        ("y", "a", 0.0, 0.0, 0.5),
        ("y", "b", 1.0, 1.0, 1.0),
    ]
    assert result["residual"].to_list() == [None] * 4


def test_the_residual_of_moffat_and_zobel_by_hand():
    """Unjudged weights (1 - p) p^(i - 1), and p^d of all that lies beyond d documents."""
    p = 0.8
    result = unjudged_bounds(FRAME, "rbp", "rbp(p=0.5)@2", by=["x", "y"])
    low = [0.2, 0.2 * p, 0.2 * p**2, 0.2 * (1 + p)]
    unjudged = [0.2 * (p + p**3), 0.2, 0.2 * p, 0.2 * p**2]
    depth = [4, 2, 3, 3]
    part = result.filter(measure="rbp")
    assert part["low"].to_list() == close(low)
    assert part["high"].to_list() == close([a + b for a, b in zip(low, unjudged, strict=True)])
    residual = [u + p**d for u, d in zip(unjudged, depth, strict=True)]
    assert part["residual"].to_list() == close(residual)
    cut = result.filter(measure="rbp(p=0.5)@2")
    assert cut["residual"].to_list() == close([0.25 + 0.25, 0.5 + 0.25, 0.25 + 0.25, 0.25])


def short_rankings(count):
    """Rankings of four documents, one relevant and one unjudged, and all judgments of them."""
    generator = np.random.default_rng(0)
    given, judged = [], []
    for query in range(count):
        while True:
            grades = generator.choice([0, 1, 2, None], 4).tolist()
            if None in grades and {1, 2} & {*grades}:
                break
        given += [(query, grade, -rank) for rank, grade in enumerate(grades)]
        open_to = [[0, 1, 2] if grade is None else [grade] for grade in grades]
        for way, filled in enumerate(itertools.product(*open_to)):
            judged += [(query, way, grade, -rank) for rank, grade in enumerate(filled)]
    columns = ("query", "grade", "score")
    return (
        pl.DataFrame(given, schema=columns, orient="row").cast(pl.Int64),
        pl.DataFrame(judged, schema=[columns[0], "way", *columns[1:]], orient="row"),
    )


BOUNDED = ["precision@2", "success@2", "reciprocal_rank", "rbp", "cg", "dcg@3", "precision_at_hit"]
OF_A_SCALE = ["err", "generalized_precision@3", "rbp(graded=True)"]
UNBOUNDED = [
    *("bpref", "q_measure", "gap", "ndcng", "ndcg", "nerr", "roc_auc", "mu_ap", "recall@2"),
    *("ap", "r_precision"),
]


@pytest.mark.parametrize("highest", [None, 2])
def test_bounds_are_those_of_all_judgments_where_they_are_said_to_be(highest):
    """By brute force, which also finds what leads out of those that are none."""
    given_rows, judged = short_rankings(300)
    names = [*BOUNDED, *OF_A_SCALE, *UNBOUNDED]
    with warnings.catch_warnings(action="ignore"):  # of scales, which is the point
        bounds = unjudged_bounds(given_rows, *names, max_grade=highest)
        every = evaluate(judged, *names, query=["query", "way"], max_grade=highest)
    for name in names:
        of_it = bounds.filter(measure=name)
        ways = every.select("query", pl.col(name).alias("then")).join(of_it, on="query")
        outside = (pl.col("then") < pl.col("low") - 1e-9) | (pl.col("then") > pl.col("high") + 1e-9)
        escapes = ways.filter(outside)["query"].n_unique()
        is_exact = name in BOUNDED or (name in OF_A_SCALE and highest is not None)
        assert of_it["exact"].unique().to_list() == [is_exact], name
        assert (escapes == 0) == is_exact, name
        if is_exact:
            ends = ways.group_by("query").agg(
                (pl.col("then").min() - pl.col("low").first()).abs().alias("below"),
                (pl.col("then").max() - pl.col("high").first()).abs().alias("above"),
            )
            assert max(ends["below"].max(), ends["above"].max()) < 1e-9, name


def test_the_table_of_what_leads_out_is_what_brute_force_finds():
    given_rows, judged = short_rankings(1000)
    with warnings.catch_warnings(action="ignore"):
        bounds = unjudged_bounds(given_rows, *UNBOUNDED)
        every = evaluate(judged, *UNBOUNDED, query=["query", "way"])
    page = Path(__file__).parents[1] / "notebooks" / "book" / "rows.md"
    lines = [line.strip("| ").split(" | ") for line in page.read_text("utf-8").splitlines()]
    [names] = [place for place, line in enumerate(lines) if line[:2] == UNBOUNDED[:2]]
    table = dict(zip(lines[names], map(float, lines[names + 2]), strict=True))
    assert [*table] == UNBOUNDED
    for name, printed in table.items():
        ways = every.select("query", then=name).join(bounds.filter(measure=name), on="query")
        outside = (pl.col("then") < pl.col("low") - 1e-9) | (pl.col("then") > pl.col("high") + 1e-9)
        assert ways.filter(outside)["query"].n_unique() / 1000 == printed


def test_what_has_no_bounds_is_refused():
    with pytest.raises(ValueError, match=r"`condensed` must be False, because .*, got True"):
        unjudged_bounds(FRAME, "ap", by="x", condensed=True)
    with pytest.raises(ValueError, match="`measures` must have one value per query, got the curve"):
        unjudged_bounds(FRAME, "dcg_curve@3", by="x")
    with pytest.raises(ValueError, match="name at least one measure"):
        unjudged_bounds(FRAME, by="x")
    with pytest.raises(ValueError, match="each measure must be named once, got ap more than once"):
        unjudged_bounds(FRAME, "ap", "ap", by="x")


# Other gradings.

STRATEGIES = ["strong", "fair", "weak"]


@pytest.mark.filterwarnings("ignore:.*grades are stars from 1 to 4:UserWarning")
def test_gradings_are_graders():
    frame = example(40).with_columns(other=(pl.col("grade") + 1).clip(upper_bound=4))
    gradings = {"as given": "grade", "other": "other", "half": pl.col("grade") // 2}
    result = evaluate(frame, "mu_ap", by=STRATEGIES, grade=gradings)
    values = {
        name: evaluate(frame.with_columns(grade=grade), "mu_ap", by=STRATEGIES)["mu_ap"]
        for name, grade in gradings.items()
    }
    for name, expected in values.items():
        assert result.filter(grader=name)["mu_ap"].to_list() == close(expected.to_list())
    given = evaluate(frame, "mu_ap", by=STRATEGIES).rename({"mu_ap": "as given"})
    correlated = rank_correlation(result, reference="as given")
    for name in ("other", "half"):
        both = given.with_columns(values[name].alias(name))
        best = dict.fromkeys(("as given", name), "highest")
        [tau] = rank_correlation(both, best, reference="as given")["tau"]
        assert correlated.filter(grader=name)["tau"].to_list() == close([tau])
