"""What other judgments would have said: values by hand, orders as rank_correlation has them."""

from __future__ import annotations

import itertools
import re
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from helpers import simulated
from results import close

from polars_graded import evaluate
from polars_graded._measuring.definitions import DEFINITIONS
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


def judge_all_ways(count, names, **options):
    """The bounds of measures, and by measure their values for each way to judge, beside them."""
    given_rows, judged = short_rankings(count)
    with warnings.catch_warnings(action="ignore"):  # of scales, which is the point
        bounds = unjudged_bounds(given_rows, *names, **options)
        every = evaluate(judged, *names, query=["query", "way"], **options)
    return {
        name: every.select("query", then=name)
        .join(bounds.filter(measure=name), on="query")
        .with_columns(
            escapes=~pl.col("then").is_between(pl.col("low") - 1e-9, pl.col("high") + 1e-9)
        )
        for name in names
    }


@pytest.mark.parametrize("highest", [None, 2])
def test_bounds_are_those_of_all_judgments_where_they_are_said_to_be(highest):
    """By brute force, which also finds what leads out of those that are none."""
    names = [*BOUNDED, *OF_A_SCALE, *UNBOUNDED]
    for name, ways in judge_all_ways(300, names, max_grade=highest).items():
        escapes = ways["escapes"].sum()
        is_exact = name in BOUNDED or (name in OF_A_SCALE and highest is not None)
        assert ways["exact"].unique().to_list() == [is_exact], name
        assert (escapes == 0) == is_exact, name
        if is_exact:
            ends = ways.group_by("query").agg(
                (pl.col("then").min() - pl.col("low").first()).abs().alias("below"),
                (pl.col("then").max() - pl.col("high").first()).abs().alias("above"),
            )
            assert max(ends["below"].max(), ends["above"].max()) < 1e-9, name


def test_the_table_of_what_leads_out_is_what_brute_force_finds():
    ways = judge_all_ways(1000, UNBOUNDED)
    page = Path(__file__).parents[1] / "notebooks" / "book" / "rows.md"
    lines = [line.strip("| ").split(" | ") for line in page.read_text("utf-8").splitlines()]
    [names] = [place for place, line in enumerate(lines) if line[:2] == UNBOUNDED[:2]]
    table = dict(zip(lines[names], map(float, lines[names + 2]), strict=True))
    assert [*table] == UNBOUNDED
    for name, printed in table.items():
        assert ways[name].filter("escapes")["query"].n_unique() / 1000 == printed


def test_what_has_no_bounds_is_refused():
    with pytest.raises(ValueError, match=r"`condensed` must be False, because .*, got True"):
        unjudged_bounds(FRAME, "ap", by="x", condensed=True)
    with pytest.raises(ValueError, match="`measures` must have one value per query, got the curve"):
        unjudged_bounds(FRAME, "dcg_curve@3", by="x")
    with pytest.raises(ValueError, match="name at least one measure"):
        unjudged_bounds(FRAME, by="x")
    with pytest.raises(ValueError, match="each measure must be named once, got ap more than once"):
        unjudged_bounds(FRAME, "ap", "ap", by="x")


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


# Bounds of tiny queries with options, beside all gradings.


WITH_OPTIONS = [
    *("precision(threshold=2)@2", "success(threshold=1)@1", "rbp(graded=True)", "rbp(threshold=2)"),
    *("dcg(gain=linear)@3", "dcg(discount=zipf)", "cg(gain={1: 1, 2: 5, 3: 6, 4: 7, 5: 8})@2"),
    *("precision(ties=pessimistic)@2", "precision(ties=average)@1", "dcg(ties=average)@2"),
    *("reciprocal_rank(ties=optimistic)", "precision_at_hit(k=2)", "recall(over=cutoff)@2"),
    *("ap(over=retrieved)", "generalized_precision@2", "judged@2", "err@2"),
]
NAMES = [
    *(
        name
        for name, definition in DEFINITIONS.items()
        if definition.dtype != pl.List(pl.Float64) and not definition.input_names
    ),
    *WITH_OPTIONS,
]
OPTIONS = {
    "irrelevant": [0.0, 0.0, 1.0],
    "relevant_from": [None, None, 2.0, 4.0],
    "max_grade": [None, None, 4.0, 5.0],
    "undefined_as": ["default", None, 0.0, 0.5, -0.5],
}


def tiny(rng):
    """A query of a few documents, ranked by two scores with ties and gaps, some unjudged."""
    n = int(rng.integers(1, 5))
    grades = rng.choice([0, 1, 2, 3, None], n, p=[0.25, 0.15, 0.1, 0.1, 0.4]).tolist()
    scores = [
        [None if rng.random() < 0.15 else float(rng.integers(0, 4)) for _ in grades]
        for _ in range(2)
    ]
    schema = {"grade": pl.Int64, "x": pl.Float64, "y": pl.Float64}
    return pl.DataFrame([grades, *scores], schema=schema).with_columns(
        query=pl.lit("q"), doc=pl.int_range(pl.len())
    )


def all_gradings(frame, levels):
    """The frame once for each way to grade its unjudged documents."""
    open_to = [levels if grade is None else [grade] for grade in frame["grade"]]
    return pl.concat(
        frame.with_columns(grade=pl.Series(way, dtype=pl.Int64), way=pl.lit(place))
        for place, way in enumerate(itertools.product(*open_to))
    )


def held(rng, count):
    """How many bounds are exact by `count` queries, and those out of which a grading leads."""
    checked, wrong = 0, []
    for place in range(count):
        frame = tiny(rng)
        options = {name: of[rng.integers(len(of))] for name, of in OPTIONS.items()}
        options |= {"by": ["x", "y"], "ties": "doc", "descending": True}
        top = options["max_grade"] or frame["grade"].max()
        levels = [*range(int(top) + 1)] if top is not None else [0, 1, 2]
        lowest = max(options["irrelevant"] + 1, options["relevant_from"] or 0)
        thresholds = {name: re.search(r"threshold=([0-9.]+)", name) for name in NAMES}
        names = [name for name, each in thresholds.items() if not each or float(each[1]) >= lowest]
        with warnings.catch_warnings(action="ignore"):
            bounds = unjudged_bounds(frame, *names, **options)
            ways = all_gradings(frame, levels)
            then = evaluate(ways, *names, query=["query", "way"], **options)
        for name in names:
            for row in bounds.filter(pl.col("exact"), measure=name).iter_rows(named=True):
                values = then.filter(strategy=row["strategy"])[name]
                within = values.is_between(row["low"] - 1e-9, row["high"] + 1e-9)
                checked += 1
                if values.null_count() or not within.all():
                    wrong.append((place, name, row, options, values.to_list()))
    return checked, wrong


@pytest.mark.slow
@pytest.mark.parametrize("count", [25, *simulated(100)])
def test_no_grading_leads_out_of_bounds_that_are_exact(count):
    """Every option of `evaluate` and of measures, two strategies, ties and gaps."""
    checked, wrong = held(np.random.default_rng(40), count)
    assert not wrong, wrong[0]
    assert checked > 10 * count


def one(grades, scores=None, **options):
    frame = pl.DataFrame(
        {"query": "q", "grade": grades, "score": scores or [*range(len(grades), 0, -1)]},
        schema_overrides={"grade": pl.Int64},
    )
    with warnings.catch_warnings(action="ignore"):
        names = options.pop("names", ["precision@2"])
        return unjudged_bounds(frame, *names, **options)


def test_a_query_that_may_be_undefined_has_no_bounds():
    [row] = one([0, None], undefined_as=None, max_grade=1).rows(named=True)
    assert (row["value"], row["value_if_best"]) == (None, 0.5)
    assert (row["low"], row["high"], row["exact"]) == (None, None, False)


def test_a_grade_from_which_on_documents_are_relevant_is_not_reached():
    """As with the threshold of a measure, which says the same."""
    by_scale = one([3, None], relevant_from=4)
    by_measure = one([3, None], names=["precision(threshold=4)@2"])
    for found in (by_scale, by_measure):
        assert found.select("low", "high", "exact").row(0) == (0, 0, False)
    assert one([3, None], relevant_from=4, max_grade=4)["exact"].to_list() == [True]
