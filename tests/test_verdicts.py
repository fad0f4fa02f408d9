"""What a report says beside the numbers that it speaks of, for any results."""

from __future__ import annotations

import math
import re
import tempfile
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import scipy.stats
from helpers import needed
from hypothesis import example, given
from hypothesis import strategies as st
from report_page import Report, Section, number
from results import frame_of, of_few

from polars_graded import compare, compare_segments, report
from polars_graded._sentences.titles import name_measure

pytestmark = [of_few, pytest.mark.usefixtures("charts_undrawn")]

needed("vl_convert")

NAMES = "abcd"
SHAPES = st.tuples(st.integers(2, 4), st.integers(2, 8))
RESULTS = SHAPES.flatmap(
    lambda shape: st.lists(
        st.lists(st.integers(0, 4).map(lambda q: q / 4), min_size=shape[1], max_size=shape[1]),
        min_size=shape[0],
        max_size=shape[0],
    )
)
"""Values of some strategies, quarters, so that they tie and their sums are exact."""
NUMBER = r"(\N{MINUS SIGN}?[\d.]+)".replace("\\N{MINUS SIGN}", "\N{MINUS SIGN}")


def read_section(frame: pl.DataFrame, **options) -> Section:
    """Return the section of the only measure of a report."""
    with tempfile.TemporaryDirectory() as folder:
        [section] = Report(report(frame, Path(folder) / "page.html", **options)).sections
    return section


def corrected(values, pairs) -> dict[tuple[int, int], float]:
    """Holm's p of the paired t test of some pairs; none where all differences are the same."""
    p = {}
    for i, j in pairs:
        differences = np.array(values[i]) - np.array(values[j])
        if np.ptp(differences):
            p[i, j] = scipy.stats.ttest_1samp(differences, 0).pvalue
        elif not differences[0]:
            p[i, j] = 1.0
    adjusted, largest = {}, 0.0
    for rank, pair in enumerate(sorted(p, key=p.__getitem__)):
        largest = max(largest, (len(p) - rank) * p[pair])
        adjusted[pair] = min(largest, 1.0)
    return adjusted


def near(found: str, expected: float) -> bool:
    return math.isclose(number(found), expected, abs_tol=5.1e-5)


def check_verdict(values, measure: str, baseline: int | None) -> None:
    sign = -1 if measure == "e_measure@5" else 1
    n, count = len(values[0]), len(values)
    options = {} if baseline is None else {"baseline": NAMES[baseline]}
    frame = frame_of(dict(zip(NAMES, values, strict=False)), measure)
    headline = read_section(frame, **options).headline
    means = [sum(map(Fraction, row)) / n for row in values]
    best = max(sign * mean for mean in means)
    leaders = [place for place in range(count) if sign * means[place] == best]
    name = re.escape(name_measure(measure))
    if len(leaders) > 1:
        assert headline.startswith("No strategy is clearly first: ") == (baseline is None)
        found = re.search(
            rf"(?:: |^)(.*) share the best mean {name}, ([\d.]+) over {n} queries\.$", headline
        )
        assert near(found[2], float(means[leaders[0]]))
        assert set(re.findall(r"\b[a-d]\b", found[1])) == {NAMES[place] for place in leaders[:3]}
        return
    [leader] = leaders
    pattern = (
        rf"(?P<answer>.*?)(?:: its mean| has the best mean) {name}, {NUMBER} over (\d+) queries,"
        rf"(?: is)? {NUMBER} (above|below)(?: that of (\w))?"
        rf"(?: \(95 % interval {NUMBER} to {NUMBER}(, .+?)?\)"
        rf"| \(the difference cannot be tested\))?\."
    )
    answer, mean, queries, gap, side, other, low, high, held = re.fullmatch(
        pattern, headline
    ).groups()
    assert int(queries) == n
    assert side == ("below" if sign < 0 else "above")
    assert near(mean, float(means[leader]))
    beside = baseline if other is None else NAMES.index(other)
    assert near(gap, float(abs(means[leader] - means[beside])))
    if baseline in (None, leader):
        others = [place for place in range(count) if place != leader]
        assert sign * means[beside] == max(sign * means[place] for place in others)
    else:
        assert beside == baseline
    is_tested = "cannot be tested" not in headline
    interval = low, high, held, is_tested
    check_tested(values, sign, (leader, beside), baseline, interval, answer)


def check_tested(values, sign, both, baseline, interval, answer) -> None:
    """The answer, and the interval of the lead, which agrees with the test."""
    (leader, beside), (low, high, held, is_tested) = both, interval
    n, count = len(values[0]), len(values)
    means = [sum(map(Fraction, row)) / n for row in values]
    gap = float(abs(means[leader] - means[beside]))
    pairs = [*combinations(range(count), 2)]
    if baseline is not None:
        pairs = [(place, baseline) for place in range(count) if place != baseline]
    p = corrected(values, pairs)

    def p_of(one: int, two: int) -> float | None:
        return p.get((one, two), p.get((two, one)))

    def settled(one: int, two: int) -> bool:
        value = p_of(one, two)
        return value is not None and value <= 0.05

    value = p_of(leader, beside)
    assert is_tested == (value is not None)
    if value is None:
        assert low is None
    else:
        # The interval that agrees with p is clear of 0 where it is settled, and holds the gap.
        assert number(low) - 1e-4 <= gap <= number(high) + 1e-4
        if abs(value - 0.05) > 1e-6:
            assert (number(low) > -5e-5) >= settled(leader, beside)
            assert settled(leader, beside) or number(low) <= 5e-5
        assert (held is None) == (len(pairs) == 1)
    if len(pairs) == 1:
        assert "corrected" not in answer
    all_tested = all(p_of(*pair) is not None for pair in pairs)
    tested = pairs, settled, value is not None, all_tested
    check_answer(values, sign, (leader, beside), baseline, tested, answer)


def check_answer(values, sign, both, baseline, tested, answer) -> None:
    """Check the first words: who is first, or whether the leader is better than the baseline."""
    (leader, beside), (pairs, settled, is_tested, all_tested) = both, tested
    means = [sign * sum(map(Fraction, row)) for row in values]
    who = NAMES[leader]
    if baseline is None:
        losers = {min(pair, key=lambda place: means[place]) for pair in pairs if settled(*pair)}
        is_first = len(losers) == len(values) - 1
        # A difference that is not tested leaves open which strategy is first.
        undecided = f"No strategy is clearly first: {who}" if all_tested else who
        assert answer == (f"{who} is clearly first" if is_first else undecided)
    elif leader == baseline:
        assert answer == f"The baseline {who}"
    elif not is_tested:
        assert answer == who
    else:
        found = f"{who} is better than the baseline {NAMES[beside]}"
        assert answer == (found if settled(*both) else f"Undecided whether {found}")


CLEAR = [
    [1.0, 0.75, 1.0, 0.75, 1.0, 1.0],
    [0.5, 0.25, 0.25, 0.5, 0.25, 0.5],
    [0.0, 0.0, 0.25, 0.0, 0.0, 0.0],
]


EQUAL = [[0.75, 0.5, 1.0, 0.75], [0.5, 0.25, 0.75, 0.5], [0.0, 0.25, 0.0, 0.0]]
"""The first two differ by a quarter in every query, which the t test cannot test."""


@given(RESULTS, st.sampled_from(["ap", "e_measure@5"]))
@example(EQUAL, "ap")
@example(EQUAL[:2], "e_measure@5")
@example(CLEAR, "ap")
@example(CLEAR, "e_measure@5")
def test_a_verdict_is_what_its_numbers_say(values, measure):
    check_verdict(values, measure, None)


@given(RESULTS, st.sampled_from(["ap", "e_measure@5"]), st.integers(0, 1))
@example(EQUAL, "ap", 1)
@example(EQUAL, "e_measure@5", 0)
@example(CLEAR, "ap", 1)
@example(CLEAR, "e_measure@5", 1)
def test_a_verdict_beside_a_baseline_is_what_its_numbers_say(values, measure, baseline):
    check_verdict(values, measure, baseline)


def test_a_p_of_just_alpha_settles_a_lead():
    """Six signs that all agree have p = 2 / 64, and five of eight such have 8/5 of it: 0.05."""
    ahead = {f"s{i}": [0.5 + 0.05 * i + 0.01 * q for q in range(6)] for i in range(5)}
    alike = {f"t{i}": [0.25 * (-1) ** (q + i) + 0.01 * i for q in range(6)] for i in range(3)}
    frame = frame_of({"base": [0.0] * 6} | ahead | alike)
    options = {"baseline": "base", "test": "permutation", "correction": "benjamini_hochberg"}
    settled = compare(frame, **options).filter(pl.col("p_corrected") <= 0.05)
    assert settled["p_corrected"].to_list() == [0.05] * 5
    section = read_section(frame, **options)
    assert set(section.tables["Differences of ap from base"].column("corrected p").values()) >= {
        "0.0500"
    }
    assert section.headline.startswith("s4 is better than the baseline base: ")


def write_variation(pairs: pl.DataFrame) -> str:
    """What a page must say about rows of `compare_segments`."""
    tested = pairs.drop_nulls("p_corrected").sort("p_corrected")
    if tested.is_empty():
        return ""
    first, p = tested.row(0, named=True), "corrected p" if pairs.height > 1 else "p"
    smallest = first["p_corrected"]
    shown = "< 0.001" if smallest < 0.001 else "= 1" if smallest > 0.99995 else f"= {smallest:.4f}"
    n = tested.filter(pl.col("p_corrected") <= 0.05).height
    both = f"{first['strategy']} and {first['baseline']}"
    if n == 0:
        return f"No difference varies significantly between segments (smallest {p} {shown})."
    if n == 1:
        return f"The difference of {both} varies between segments ({p} {shown})."
    which = {pairs.height: f"All {n}", 2: f"2 of {pairs.height}"}.get(n, f"{n} of {pairs.height}")
    which = "Both" if n == pairs.height == 2 else which
    differences = f"{which} differences vary between segments"
    return f"{differences}, most clearly that of {both} ({p} {shown})."


@given(
    st.integers(0, 99),
    st.integers(2, 4),
    st.integers(1, 3),
    st.floats(0, 1),
    st.sampled_from("ab-"),
)
@example(0, 2, 2, 0.0, "b")
@example(0, 2, 2, 1.0, "b")
@example(0, 4, 3, 1.0, "-")
def test_a_page_says_that_a_difference_varies_if_the_test_of_segments_shows_it(
    seed, n_strategies, n_segments, effect, baseline
):
    # The effect of a strategy grows with the segment, unless it is 0.
    rng = np.random.default_rng(seed)
    rows = [
        (NAMES[place], query, f"s{query % n_segments}", rng.integers(0, 5) / 4 + shift)
        for query in range(12)
        for place in range(n_strategies)
        for shift in [effect * place * (query % n_segments)]
    ]
    frame = pl.DataFrame(rows, schema=["strategy", "query", "market", "cg@5"], orient="row")
    options = {"segments": "market", "baseline": None if baseline == "-" else baseline}
    expected = write_variation(compare_segments(frame, **options))
    assert read_section(frame, **options).segments == expected


def test_a_page_claims_nothing_about_segments_that_cannot_be_tested():
    frame = pl.DataFrame({"strategy": ["a", "b"] * 4, "query": [1, 1, 2, 2, 3, 3, 4, 4]})
    frame = frame.with_columns(ap=pl.Series([0.25, 0.5] * 4), market=pl.col("query") // 3)
    assert compare_segments(frame, segments="market")["p_value"].to_list() == [None]
    assert read_section(frame, segments="market").segments == ""
