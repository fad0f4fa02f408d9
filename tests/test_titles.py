"""Titles of charts beside the numbers that they speak of, for any results."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import combinations

import numpy as np
import polars as pl
import pytest
import scipy.stats
from helpers import needed
from hypothesis import given
from hypothesis import strategies as st

from polars_graded import charts, compare, discriminative_power, significance_levels, summarise
from polars_graded.charts import unjudged_bounds

NAMES = "abcd"
QUARTERS = st.integers(0, 4).map(lambda q: q / 4)


def results(fewest: int = 1, most: int = 4) -> st.SearchStrategy[list[list[float]]]:
    """Values of some strategies, query by query: they tie, and their sums are exact."""
    shapes = st.tuples(st.integers(fewest, most), st.integers(2, 6))
    return shapes.flatmap(
        lambda shape: st.lists(
            st.lists(QUARTERS, min_size=shape[1], max_size=shape[1]),
            min_size=shape[0],
            max_size=shape[0],
        )
    )


MEASURES = st.sampled_from(["ap", "e_measure@5", "n_retrieved"])


def said(chart) -> str:
    """The title of a chart in one line."""
    title = chart.to_dict().get("title", {"text": ""})["text"]
    return title if isinstance(title, str) else " ".join(title)


def per_query(values, measure="ap") -> pl.DataFrame:
    return pl.concat(
        pl.DataFrame({"strategy": name, "query": range(len(row)), measure: row})
        for name, row in zip(NAMES, values, strict=False)
    )


def sign(measure: str) -> int:
    return {"e_measure@5": -1, "n_retrieved": 0}.get(measure, 1)


def names(text: str) -> set[str]:
    return set(re.split(", | and ", text))


def means_of(values) -> dict[str, Fraction]:
    return {
        name: sum(map(Fraction, row)) / len(row) for name, row in zip(NAMES, values, strict=False)
    }


def leaders_of(means, sign=1) -> set[str]:
    """Who is best; nobody where all are."""
    top = max(sign * mean for mean in means.values())
    found = {name for name, mean in means.items() if sign * mean == top}
    return set() if len(found) == len(means) or not sign else found


@given(results(), MEASURES)
def test_who_has_the_best_mean(values, measure):
    title = said(charts.strategy_bars(summarise(per_query(values, measure), measure)))
    means = means_of(values)
    leaders = leaders_of(means, sign(measure))
    if not leaders:
        assert title == ""
        return
    pattern = r"(.+) (has|have) the (\w+) mean (\S+): (\S+), (\S+) (above|below) (\w)"
    who, verb, which, named, best, gap, side, second = re.fullmatch(pattern, title).groups()
    assert (names(who), named) == (leaders, measure)
    assert verb == ("has" if len(leaders) == 1 else "have")
    assert (which, side) == (("highest", "above") if sign(measure) > 0 else ("lowest", "below"))
    top = means[min(leaders)]
    rest = {name: mean for name, mean in means.items() if name not in leaders}
    next_best = min(rest.values(), key=lambda mean: abs(mean - top))
    assert float(best) == pytest.approx(float(top), rel=5e-3)
    assert float(gap) == pytest.approx(float(abs(top - next_best)), rel=5e-3)
    assert means[second] == next_best


@given(results(2), st.randoms(use_true_random=False))
def test_in_how_many_measures_who_leads(first, random):
    second = [[random.randint(0, 4) / 4 for _ in row] for row in first]
    frame = per_query(first).with_columns(per_query(second, "ndcg")["ndcg"])
    title = said(charts.strategy_bars(summarise(frame)))
    leaders = [leaders_of(means_of(values)) for values in (first, second)]
    counts = {name: sum(name in each for each in leaders) for name in NAMES}
    most = max(counts.values())
    if not most:
        assert title == ""
        return
    who, verb, where = re.fullmatch(r"(.+?) (leads?) in (.+)", title).groups()
    assert names(who) == {name for name, count in counts.items() if count == most}
    several = len(names(who)) > 1
    assert verb == ("lead" if several else "leads")
    each = " each" if several and most == 1 else ""
    assert where == ("both measures" if most == 2 else f"1 of 2 measures{each}")


@given(results(2), MEASURES)
def test_what_is_settled_and_who_leads(values, measure):
    needed("statsmodels")
    from statsmodels.stats.multitest import multipletests

    title = said(charts.comparison_forest(compare(per_query(values, measure), measure)))
    pairs = [*combinations(range(len(values)), 2)]
    p = []
    for i, j in pairs:
        differences = [x - y for x, y in zip(values[i], values[j], strict=True)]
        constant = len(set(differences)) == 1
        p.append(
            (1.0 if not differences[0] else None)
            if constant
            else scipy.stats.ttest_1samp(differences, 0).pvalue
        )
    known = [each for each in p if each is not None]
    corrected = multipletests(known, method="holm")[1] if known else []
    settled = sum(each <= 0.05 for each in corrected)
    means = means_of(values)
    leaders = leaders_of(means, sign(measure) or 1)
    if len(pairs) == 1:
        if not leaders:
            assert title == f"a and b have the same mean {measure}"
        else:
            assert title.endswith(f", {'' if settled else 'not '}settled at 95 %")
            one, other = re.match(r"(\w) (?:leads|is \S+ \w+) (\w)\b", title).groups()
            gap = float(abs(means["a"] - means["b"]))
            assert {one, other} == {"a", "b"}
            assert float(re.search(r"(?:by|is) ([\d.e-]+)", title)[1]) == pytest.approx(
                gap, rel=5e-3
            )
            if sign(measure):
                assert one in leaders
                assert " leads " in title
            else:
                assert f"{one} is " in title
                assert ("above" in title) == (means[one] > means[other])
        return
    if not settled:
        assert title == f"None of {len(pairs)} differences is settled at 95 %"
        return
    count = "all" if settled == len(pairs) else str(settled)
    claim, _, lead = title.rpartition("; ")[::-1]
    assert re.match(rf"{count} ", claim, re.IGNORECASE)
    assert f"{len(pairs)} differences" in claim
    assert claim.endswith("settled at 95 %")
    expected = leaders_of(means, sign(measure))
    assert (names(re.match(r"(.+) leads?$", lead)[1]) if lead else set()) == expected


@given(results(2, 2))
def test_who_wins_query_by_query(values):
    title = said(charts.precision_histogram(per_query(values), "ap", "a", "b"))
    both = [*zip(*values, strict=True)]
    wins = {"a": sum(x > y for x, y in both), "b": sum(y > x for x, y in both)}
    ties = len(both) - wins["a"] - wins["b"]
    found = {"a": 0, "b": 0, "tie": 0}
    n = len(both)
    of_all = "both" if n == 2 else f"all {n}"
    if title == f"a and b tie in {of_all} queries":
        found["tie"] = n
    elif each := re.fullmatch(rf"a and b win (\d) of {n} queries each(?:, (\d) ties?)?", title):
        found |= {"a": int(each[1]), "b": int(each[1]), "tie": int(each[2] or 0)}
    else:
        pattern = rf"(\w) wins (\d of {n}|{of_all}) queries(?:, (\w) (\d))?(?:, (\d) ties?)?"
        who, most, other, fewer, tied = re.fullmatch(pattern, title).groups()
        found[who] = int(most[0]) if most[0].isdigit() else n
        found["tie"] = int(tied or 0)
        if other:
            found[other] = int(fewer)
    assert found == wins | {"tie": ties}


@given(results())
def test_whose_line_is_highest(values):
    curves = pl.concat(
        pl.DataFrame({"strategy": name, "rank": range(1, len(row) + 1), "cg": row})
        for name, row in zip(NAMES, values, strict=False)
    )
    title = said(charts.dcg_curves(curves))
    at = [
        leaders_of(dict(zip(NAMES, column, strict=False))) for column in zip(*values, strict=True)
    ]
    if len(values) == 1 or not at[-1]:
        assert title == ""
        return
    pattern = r"(.+?) (is|are) highest at (?:(every rank)|rank (\d)(?:, (.+) at rank 1)?)"
    who, verb, every, end, first = re.fullmatch(pattern, title).groups()
    assert names(who) == at[-1]
    assert verb == ("is" if len(at[-1]) == 1 else "are")
    assert bool(every) == all(each == at[-1] for each in at)
    assert every or int(end) == len(at)
    if not every:
        assert (names(first) if first else set()) == at[0] - at[-1]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=8))
def test_how_alike_two_measures_are_and_which_is_higher(points):
    frame = pl.DataFrame(points, ["x", "y"], orient="row")
    title = said(charts.measure_agreement(frame, "x", "y"))
    tau = scipy.stats.kendalltau(*zip(*points, strict=True)).statistic
    if np.isnan(tau):  # all points have one value of a measure
        assert title == ""
    else:
        n, found = re.search(r"order (\d) .+ with τ = (-?[\d.]+)$", title).groups()
        assert (int(n), float(found)) == (len(points), pytest.approx(tau, abs=0.00501))
    title = said(charts.measure_agreement(frame, "x", "y", show="difference"))
    higher = {"x": sum(x > y for x, y in points), "y": sum(y > x for x, y in points)}
    if not any(higher.values()):
        assert " are the same for " in title
        return
    pattern = r"(\w) is higher for (\d) of (\d) \w+(?:, (\w) for (\d))?"
    one, most, n, other, fewer = re.fullmatch(pattern, title).groups()
    said_of = {"x": 0, "y": 0} | {one: int(most)} | ({other: int(fewer)} if other else {})
    assert (said_of, int(n)) == (higher, len(points))
    assert int(most) == max(higher.values())


@given(results(3))
def test_how_many_pairs_a_measure_tells_apart(values):
    frame = per_query(values)
    levels = significance_levels(frame, resamples=200)
    title = said(charts.significance_curves(levels))
    told = levels.filter(pl.col("p_corrected") <= 0.05).height
    assert told == discriminative_power(frame, resamples=200)["told_apart"][0]
    assert title == f"ap tells {told} of {levels.height} pairs apart"


@given(
    st.lists(
        st.tuples(*[st.integers(0, 4).map(lambda q: q / 4)] * 3).map(sorted), min_size=2, max_size=4
    )
)
def test_how_many_pairs_what_is_unjudged_could_turn(bounds):
    """A pair turns where the one behind could be ahead, however small the chance."""
    table = pl.DataFrame(
        {
            "measure": "ap",
            "strategy": [*NAMES[: len(bounds)]],
            "query": 1,
            "value": [value for _, value, _ in bounds],
            "low": [low for low, *_ in bounds],
            "high": [high for *_, high in bounds],
            "residual": [None] * len(bounds),
        }
    )
    title = said(unjudged_bounds(table))
    ahead = [
        (low_of_first, high_of_second)
        for (low_of_first, first, _) in bounds
        for (_, second, high_of_second) in bounds
        if first > second
    ]
    turned = sum(high > low for low, high in ahead)
    if not ahead:
        assert title == ""
    elif not turned:
        assert title == "No judgment that is missing could change the order"
    else:
        n = len(ahead)
        of_all = {1: "the pair", 2: "both pairs"}.get(n, f"all {n} pairs")
        count = of_all if turned == n else f"{turned} of {n} pairs"
        assert title == f"What is unjudged could change the order of {count} of strategies"


@given(results(2))
def test_which_group_has_the_highest_median(values):
    frame = per_query(values)
    title = said(charts.sample_boxes(frame, "ap"))
    medians = {
        name: float(pl.Series(row).median()) for name, row in zip(NAMES, values, strict=False)
    }
    leaders = leaders_of(medians)
    if not leaders:
        assert title == ""
        return
    pattern = r"(.+) (has|have) the highest median ap: (\S+); the lowest is (\S+)"
    who, verb, top, low = re.fullmatch(pattern, title).groups()
    assert names(who) == leaders
    assert verb == ("has" if len(leaders) == 1 else "have")
    assert (float(top), float(low)) == pytest.approx(
        (max(medians.values()), min(medians.values())), abs=5e-4
    )


def test_a_p_of_just_alpha_is_settled():
    """Six signs that all agree have p = 2 / 64, and five of eight such have 8/5 of it: 0.05."""
    ahead = {f"s{i}": [0.5 + 0.05 * i + 0.01 * q for q in range(6)] for i in range(5)}
    alike = {f"t{i}": [0.25 * (-1) ** (q + i) + 0.01 * i for q in range(6)] for i in range(3)}
    frame = pl.concat(
        pl.DataFrame({"strategy": name, "query": range(6), "ap": values})
        for name, values in ({"base": [0.0] * 6} | ahead | alike).items()
    )
    options = {"test": "permutation", "correction": "benjamini_hochberg"}
    comparison = compare(frame, baseline="base", **options)
    assert comparison["p_corrected"].sort().head(5).to_list() == [0.05] * 5
    title = said(charts.comparison_forest(comparison))
    assert title == "s4 leads; 5 of 8 differences are settled at 95 %"


def test_what_only_rounding_parts_leads_together():
    summary = summarise(per_query([[0.1 + 0.2, 0.0], [0.3, 0.0], [0.0, 0.0]]))
    assert summary["mean"][0] > summary["mean"][1]
    title = said(charts.strategy_bars(summary))
    assert title == "a and b have the highest mean ap: 0.15, 0.15 above c"
