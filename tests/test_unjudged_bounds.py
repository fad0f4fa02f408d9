"""Bounds of unjudged documents, held against all gradings of tiny queries by brute force."""

from __future__ import annotations

import itertools
import re
import warnings

import numpy as np
import polars as pl
import pytest

from polars_graded import evaluate
from polars_graded._measuring.definitions import DEFINITIONS
from polars_graded.trust import unjudged_bounds

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
        if definition.dtype != pl.List(pl.Float64) and not definition.inputs
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
def test_no_grading_leads_out_of_bounds_that_are_exact():
    """Every option of `evaluate` and of measures, two strategies, ties and gaps."""
    checked, wrong = held(np.random.default_rng(40), 25)
    assert not wrong, wrong[0]
    assert checked > 250


@pytest.mark.simulation
def test_no_grading_leads_out_of_bounds_that_are_exact_in_many_queries():
    checked, wrong = held(np.random.default_rng(41), 100)
    assert not wrong, wrong[0]
    assert checked > 1_250


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
