"""Values of all short rankings against exact fractions, where a rounded sum may miss a bound."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product
from statistics import median

import polars as pl
import pytest
import reference
from helpers import assert_alike, assert_none, difference, simulated
from registry import ROWS

from polars_graded import graded, phi_control_points

SEQUENCES = [grades for length in range(1, 6) for grades in product(range(4), repeat=length)]
"""All rankings of one to five documents with grades from 0 to 3."""
SHORT = [grades for grades in SEQUENCES if len(grades) <= 4]

UNITS = (Fraction(1), Fraction(1, 10), Fraction(7, 100))
"""Steps between grades: whole grades, and decimals that a double cannot represent."""

TARGETS = [Fraction(text) for text in ("1", "2", "0.3", "0.7", "1.4")] + [
    Fraction(number, 3) for number in (1, 2, 4, 7)
]


def frame_of(sequences, unit):
    """One row per document in rank order, with grades in steps of a unit."""
    frame = pl.DataFrame({"query": range(len(sequences)), "grade": [list(s) for s in sequences]})
    steps = {step: float(step * unit) for step in range(4)}
    return frame.explode("grade").with_columns(
        pl.col("grade").replace_strict(steps, return_dtype=pl.Float64)
    )


def values_of(expr, frame):
    return frame.group_by("query", maintain_order=True).agg(expr.alias("v"))["v"].to_list()


def exact_bpm(steps, n, best, target):
    """The mean gain down to the rank at which the total gain reaches the target."""
    total = 0
    for rank, step in enumerate(steps[:n], 1):
        total += step
        if total >= target * best:
            return Fraction(total, rank * best)
    return Fraction(total, (n or len(steps)) * best)


@pytest.mark.slow
@pytest.mark.parametrize("unit", [UNITS[0], *simulated(*UNITS[1:])], ids=str)
@pytest.mark.parametrize("best", [3, *simulated(5, 6, 7)])
def test_bpm_stops_exactly_at_its_target(unit, best):
    frame, g = frame_of(SEQUENCES, unit), graded("grade").scaled(max_grade=float(best * unit))
    wrong = []
    for target, n in product(TARGETS, (None, 2, 4)):
        expected = [float(exact_bpm(steps, n, best, target)) for steps in SEQUENCES]
        got = values_of(g.bpm(n, target=float(target)), frame)
        if found := difference(got, expected, SEQUENCES):
            wrong.append(f"target {target}, n={n}: {found}")
    assert_none(wrong)


EXACT_ROWS = [row for row in ROWS if not row.columns]


@pytest.mark.slow
@pytest.mark.parametrize("unit", [UNITS[0], *simulated(UNITS[1])], ids=str)
def test_every_measure_is_right_for_all_short_rankings(unit):
    # The reference implementations get fractions, so their sums are exact.
    frame = frame_of(SHORT, unit)
    rows = [row for row in EXACT_ROWS if unit == 1 or row.takes_any_grade]
    got = frame.group_by("query", maintain_order=True).agg(
        graded("grade").measures(*(row.name for row in rows))
    )
    got = got.unnest("measures")
    queries = []
    for steps in SHORT:
        grades = [step * unit if unit != 1 else step for step in steps]
        documents = [reference.Row((), grade) for grade in grades]
        queries.append(reference.Lists(grades, grades, range(len(grades)), documents, documents))
    assert_none(
        f"{row.name}: {found}"
        for row in rows
        if (found := difference(got[row.name].to_list(), [row.twin(q) for q in queries], SHORT))
    )


def exact_whisker(scores, whisker):
    """The highest score up to the upper hinge + whisker × (upper hinge − lower hinge)."""
    half = (len(scores) + 1) // 2
    lower, upper = median(scores[:half]), median(scores[-half:])
    return max(score for score in scores if score <= upper + whisker * (upper - lower))


@pytest.mark.parametrize("unit", [*UNITS, Fraction(1, 3)], ids=str)
@pytest.mark.parametrize("whisker", [Fraction("1.5"), Fraction("0.7"), Fraction(3)], ids=str)
def test_the_whisker_of_phi_ends_at_a_score_that_equals_its_limit(unit, whisker):
    sequences = [
        [Fraction(number) for number in numbers]
        for length in (4, 5)
        for numbers in product(range(8), repeat=length)
        if numbers[0] < numbers[-1] and all(a <= b for a, b in pairwise(numbers))
    ]
    frame = pl.DataFrame(
        {
            "query": range(len(sequences)),
            "score": [[float(each * unit) for each in scores] for scores in sequences],
        }
    )
    points = phi_control_points(
        frame.explode("score"), "score", query="query", whisker=float(whisker)
    )
    got = points.group_by("query", maintain_order=True).agg("relevance")["relevance"].to_list()
    expected = []
    for scores in sequences:
        end, lowest, highest = exact_whisker(scores, whisker), scores[0], scores[-1]
        is_kept = median(scores) < end < highest
        # The relevance of the whisker is 1 - (max - whisker) / (max - min).
        at_whisker = [float(1 - (highest - end) / (highest - lowest))] if is_kept else []
        at_lowest = [0.0] if lowest < median(scores) else []
        expected.append([*at_lowest, 0.0, *at_whisker, 1.0])
    assert_alike(got, expected, sequences)
