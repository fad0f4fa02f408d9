"""What other judgments would have said: values by hand, orders as rank_correlation has them."""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from results import close

from polars_graded import compare, evaluate
from polars_graded.datasets import example
from polars_graded.trust import rank_correlation, robustness_to_grading, unjudged_bounds

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


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:grades are stars from 1 to 4:UserWarning")
def test_each_grading_is_what_evaluate_gives_of_it():
    frame = example(40).with_columns(other=(pl.col("grade") + 1).clip(upper_bound=4))
    strict = pl.col("grade").replace({1: 0, 2: 0})
    gradings = {"other": "other", "half": pl.col("grade") // 2, "strict": strict}
    names = ["mu_ap", "ndcg@10"]
    result = robustness_to_grading(frame, *names, by=STRATEGIES, gradings=gradings)
    assert result["grading"].unique(maintain_order=True).to_list() == ["as given", *gradings]
    given = evaluate(frame, *names, by=STRATEGIES)
    graded = {
        "as given": pl.col("grade"),
        "other": pl.col("other"),
        "half": pl.col("grade") // 2,
        "strict": pl.when(pl.col("grade") > 2).then("grade").otherwise(0),
    }
    for grading, expr in graded.items():
        values = evaluate(frame.with_columns(grade=expr), *names, by=STRATEGIES)
        for name in names:
            part = result.filter(grading=grading, measure=name)
            means = values.group_by("strategy").agg(pl.col(name).mean())
            expected = dict(means.iter_rows())
            assert part["mean"].to_list() == close([expected[each] for each in part["strategy"]])
            order = sorted(expected, key=expected.get, reverse=True)
            assert part["place"].to_list() == [order.index(each) + 1 for each in part["strategy"]]
            both = pl.DataFrame(
                {
                    "strategy": values["strategy"],
                    "query": values["query"],
                    "then": values[name],
                    "now": given[name],
                }
            )
            for column, method in (("tau", "kendall"), ("tau_ap", "ap")):
                both_highest = {"then": "highest", "now": "highest"}
                tau = rank_correlation(both, both_highest, reference="now", method=method)
                assert part[column].to_list() == close(tau["tau"].to_list() * 3)
            believed = [
                compare(both, {which: "highest"}).select(
                    pl.when(pl.col("p_corrected") <= 0.05)
                    .then(pl.col("difference").sign())
                    .otherwise(0)
                )
                for which in ("now", "then")
            ]
            now, then = (each.to_series().to_numpy() for each in believed)
            assert part["lost"][0] == ((now != 0) & (then == 0)).sum()
            assert part["gained"][0] == ((now == 0) & (then != 0)).sum()
            assert part["reversed"][0] == (now * then < 0).sum()


@pytest.mark.parametrize("names", [("x", "y", "z"), (1, 2, 3)])
def test_which_differences_flip_stands_beside_how_many(names):
    """In grade 2 alone all three are alike; in `other` z is clearly the best."""
    x, y, z = names
    rows = [
        (query, strategy, grade, int(strategy == z and query > 0))
        for query in range(12)
        for strategy, grade in ((x, 2), (y, 2 if query % 2 else 0), (z, 2))
    ]
    schema = ["query", "run", "grade", "other"]
    frame = pl.DataFrame(rows, schema, orient="row").with_columns(
        doc=pl.col("run").cast(pl.String), score=1.0
    )
    result = robustness_to_grading(
        frame, "cg(gain=linear)", strategy="run", gradings={"other": "other"}
    )
    given = result.filter(grading="as given")
    assert given["flipped"].to_list() == [[], [], []]
    other = result.filter(grading="other")
    # As given y is worse than both; in the other one z better than both.
    assert dict(other.select("run", "flipped").rows()) == {x: [y, z], y: [x], z: [x]}
    assert other.select("lost", "gained", "reversed").row(0) == (1, 1, 0)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"confidence": 0}, "`confidence` must"),
        ({"grade": "y"}, "there must be 1 to 5 levels to merge them in every way, got 6"),
    ],
)
def test_what_cannot_be_graded_anew_is_refused(options, sentence):
    frame = FRAME.with_columns(pl.Series("y", [1, 2, 3, 4, 5, 6, 6]))
    with pytest.raises(ValueError, match=sentence):
        robustness_to_grading(frame, "ap", **{"by": ["x", "y"], **options})
    with pytest.raises(ValueError, match="grading 'odd' must give one grade per row"):
        robustness_to_grading(FRAME, "ap", by=["x", "y"], gradings={"odd": 3})
