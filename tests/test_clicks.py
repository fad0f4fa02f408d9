"""Click logs: descriptions, estimators and their intervals, against slow loops and by hand."""

from __future__ import annotations

import math
import warnings
from collections import defaultdict
from functools import partial

import numpy as np
import polars as pl
import pytest
import scipy.optimize
import scipy.special
import scipy.stats
from book_numbers import read_book_table
from helpers import log_of, simulated
from hypothesis import example, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from statsmodels.stats.proportion import proportion_confint

from polars_graded import DataWarning, clicks
from polars_graded._clicks import estimating
from polars_graded.datasets import simulated_log

Z = 1.959963984540054

LISTS = st.lists(
    st.tuples(
        st.sampled_from("qr"),
        st.permutations("abcd"),
        st.lists(st.booleans(), min_size=1, max_size=4),
    ),
    min_size=1,
    max_size=12,
)
"""Result lists: a query, and the documents at ranks 1, 2, … with their clicks."""


def rows_of(log: pl.DataFrame) -> list[tuple]:
    return list(log.select("session", "query", "doc", "rank", "clicked").iter_rows())


def values_of(table: pl.DataFrame, column: str) -> dict:
    return {
        (query, doc): value for query, doc, value in table.select("query", "doc", column).rows()
    }


# Describing a log


def test_a_description_counts_what_is_wrong():
    """Session 1 repeats a document, 2 has a gap, 3 has ranks 0 and null, one of them clicked."""
    log = pl.DataFrame(
        {
            "session": [1, 1, 1, 2, 2, 3, 3, 4],
            "query": ["q"] * 8,
            "doc": ["a", "b", "a", "a", "b", "a", "b", "b"],
            "rank": [1, 2, 3, 1, 3, 0, None, 1],
            "clicked": [1, 0, 0, 0, 0, 1, None, 0],
        }
    )
    [row] = clicks.describe_log(log).rows(named=True)
    assert row == {
        "lists": 4,
        "sessions": 4,
        "queries": 1,
        "documents": 2,
        "impressions": 8,
        "clicks": 2,
        "click_rate": 2 / 8,
        "movable_share": 1.0,
        "lists_without_click": 2,
        "duplicate_rows": 1,
        "gap_lists": 1,
        "repeated_ranks": 0,
        "invalid_ranks": 2,
        "hidden_clicks": 1,
        "invalid_clicks": 1,
        "max_session_clicks": 1,
    }


@given(LISTS)
@settings(max_examples=6, deadline=None)
def test_a_description_equals_a_slow_count(lists):
    log = log_of(lists)
    places = defaultdict(set)
    for _, query, doc, rank, _ in rows_of(log):
        places[query, doc].add(rank)
    with warnings.catch_warnings(action="ignore", category=DataWarning.positions):
        [row] = clicks.describe_log(log).rows(named=True)
        lazily = clicks.describe_log(log.lazy())
        assert lazily.rows(named=True) == [row]
    shown = [clicks_of[:4] for _, _, clicks_of in lists]
    assert row["lists"] == row["sessions"] == len(lists)
    assert row["documents"] == len(places)
    assert row["clicks"] == sum(map(sum, shown))
    assert row["lists_without_click"] == sum(not any(each) for each in shown)
    assert row["max_session_clicks"] == max(map(sum, shown))
    assert row["movable_share"] == sum(len(each) > 1 for each in places.values()) / len(places)
    wrong = ["duplicate_rows", "gap_lists", "repeated_ranks", "invalid_ranks", "hidden_clicks"]
    assert not any(row[name] for name in (*wrong, "invalid_clicks"))
    twice = pl.concat([log, log.filter(pl.col("rank") == 1).with_columns(doc=pl.lit("z"))])
    with warnings.catch_warnings(action="ignore", category=DataWarning.positions):
        assert clicks.describe_log(twice)["repeated_ranks"].item() == len(lists)


def test_one_rank_per_document_and_bots_are_warned_of():
    alone = log_of([("q", "ab", [True, False])] * 3)
    with pytest.warns(DataWarning.positions, match="shown at one rank only"):
        clicks.describe_log(alone)
    bot = pl.DataFrame(
        {
            "session": ["bot"] * 10_000 + ["person"] * 2,
            "query": [*range(10_000), 1, 1],
            "doc": ["a"] * 10_001 + ["b"],
            "rank": [1] * 10_001 + [2],
            "clicked": [1] * 10_000 + [0, 1],
        }
    ).with_columns(pl.col("query") % 5000)
    moved = bot.with_columns(rank=pl.when(pl.int_range(pl.len()) == 0).then(2).otherwise("rank"))
    told = r"sessions with more than 1000 clicks are .* 1 of them, with up to 10000 clicks: 'bot'"
    with pytest.warns(DataWarning.bots, match=told):
        clicks.describe_log(moved)


# Estimators against slow loops


def slow_interval(c, e, q):
    """The values γ with (c - γE)² ≤ z² (γE - γ²Q), found by bisection from c / E."""
    q = min(q, e * e / c) if c else q

    def excess(value):
        return (c - value * e) ** 2 - Z**2 * (value * e - value**2 * q)

    def bisect(inside, outside):
        for _ in range(70):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if excess(middle) <= 0 else (inside, middle)
        return inside

    if not c:
        # Both ends are solutions: 0 and z² / (E + z² Q / E).
        return 0.0, Z**2 / (e + Z**2 * q / e)
    return bisect(c / e, 0.0), bisect(c / e, 1e6)


@given(LISTS)
@settings(max_examples=6, deadline=None)
def test_click_through_rates_equal_a_slow_count(lists):
    log = log_of(lists)
    table = clicks.estimate_ctr(log)
    shown, clicked = defaultdict(int), defaultdict(int)
    for _, query, doc, _, click in rows_of(log):
        shown[query, doc] += 1
        clicked[query, doc] += click
    assert table.select("query", "doc").rows() == sorted(shown)
    assert values_of(table, "impressions") == shown
    assert values_of(table, "clicks") == clicked
    for key, (low, high) in {
        (query, doc): ends
        for query, doc, *ends in table.select("query", "doc", "ci_low", "ci_high").rows()
    }.items():
        assert values_of(table, "estimate")[key] == clicked[key] / shown[key]
        ends = proportion_confint(clicked[key], shown[key], 0.05, "wilson")
        assert (low, high) == pytest.approx(ends, abs=1e-9)
    assert_frame_equal(clicks.estimate_ctr(log.lazy()), table)


@given(LISTS)
@settings(max_examples=6, deadline=None)
def test_the_simplified_network_equals_the_loop_of_the_paper(lists):
    """Chapelle and Zhang 2009, algorithm 1."""
    log = log_of(lists)
    examined, clicked, last = defaultdict(int), defaultdict(int), defaultdict(int)
    for query, docs, clicks_of in lists:
        shown = list(zip(docs, clicks_of, strict=False))
        places = [place for place, (_, click) in enumerate(shown) if click]
        for place, (doc, click) in enumerate(shown):
            if places and place <= places[-1]:
                examined[query, doc] += 1
                clicked[query, doc] += click
        if places:
            last[query, shown[places[-1]][0]] += 1
    table = clicks.estimate_sdbn(log)
    for row in table.rows(named=True):
        key = row["query"], row["doc"]
        e, c, s = examined[key], clicked[key], last[key]
        assert (row["examined"], row["clicks"], row["last_clicks"]) == (e, c, s)
        assert row["attractiveness"] == (c / e if e else None)
        assert row["satisfaction"] == (s / c if c else None)
        assert row["estimate"] == (s / e if e else None)
        if e:
            assert row["estimate"] == pytest.approx(
                row["attractiveness"] * (row["satisfaction"] or 0)
            )
    # An interval of last clicks among examined impressions is none of the relevance a s.
    assert {"ci_low", "ci_high"}.isdisjoint(table.columns)
    assert_frame_equal(clicks.estimate_sdbn(log.lazy()), table)
    others = log.with_columns(last=7, clicked_query=7, examined=7)
    assert_frame_equal(clicks.estimate_sdbn(others), table)
    # A session may show one list of each query.
    shared = log.with_columns(pl.col("session").rank("dense").over("query"))
    assert_frame_equal(clicks.estimate_sdbn(shared), table)


@given(LISTS)
@settings(max_examples=6, deadline=None)
def test_the_position_based_model_equals_a_slow_sum(lists):
    log = log_of(lists)
    given_values = {1: 1.0, 2: 0.6, 3: 0.5, 4: 0.1}
    exposure, squares = defaultdict(float), defaultdict(float)
    for _, query, doc, rank, _ in rows_of(log):
        exposure[query, doc] += given_values[rank]
        squares[query, doc] += given_values[rank] ** 2
    table = clicks.estimate_pbm(log, propensities=given_values)
    for query, doc, _, c, e, estimate, low, high, _ in table.rows():
        assert e == pytest.approx(exposure[query, doc])
        assert estimate == pytest.approx(c / exposure[query, doc])
        ends = slow_interval(c, exposure[query, doc], squares[query, doc])
        assert (low, high) == pytest.approx(ends, rel=1e-6, abs=1e-9)
    frame = pl.DataFrame({"rank": [1, 2, 3, 4], "propensity": [1.0, 0.6, 0.5, 0.1]})
    assert_frame_equal(clicks.estimate_pbm(log.lazy(), propensities=frame), table)


SUMMED = simulated_log(400, queries=3, documents=4, shuffled=0.5)


@pytest.mark.parametrize(
    "estimate", [clicks.estimate_ctr, clicks.estimate_sdbn, clicks.estimate_pbm]
)
def test_estimates_are_equal_to_the_last_bit_in_any_order_of_rows(estimate):
    assert estimate(SUMMED.sample(fraction=1, shuffle=True, seed=1)).equals(estimate(SUMMED))


# Shrunk values


def test_a_given_beta_prior_gives_the_posterior_mean():
    log = log_of([("q", "a", [True]), ("q", "a", [False]), ("q", "b", [True])])
    table = clicks.estimate_ctr(log, prior=(2, 3))
    assert table["shrunk"].to_list() == [(1 + 2) / (2 + 5), (1 + 2) / (1 + 5)]


def test_the_method_of_moments_by_hand():
    """Rates 1/4 and 3/4 of four impressions each, with the mean m = 1/2.

    Σ n (p - m)² is 4/16 + 4/16 = 1/2. Chance alone expects (1 - 1/2) m (1 - m) twice, which is 1/4.
    The variance of the true rates is therefore (1/2 - 1/4) / (2 (1 - 1/2) (4 - 1)) = 1/12, and the
    strength m (1 - m) / variance - 1 is 3 - 1 = 2.
    """
    log = pl.DataFrame({"query": "q", "doc": ["a", "b"], "n": [4, 4], "c": [1, 3]})
    table = clicks.estimate_ctr(log, clicked="c", impressions="n")
    assert table["shrunk"].to_list() == pytest.approx(
        [(1 + 2 / 2) / (4 + 2), (3 + 2 / 2) / (4 + 2)]
    )


def test_a_document_without_exposure_has_the_mean_and_no_probability_exceeds_1():
    log = pl.DataFrame({"query": "q", "doc": list("abc"), "clicked": [5, 0, 0], "n": [5, 5, 0]})
    # Rates of 1 and 0 leave the prior without any strength.
    assert clicks.estimate_ctr(log, impressions="n")["shrunk"].to_list() == [1, 0, 0.5]
    clicked = pl.DataFrame({"query": ["q"], "doc": ["a"], "rank": [1], "clicked": [1]})
    pbm = clicks.estimate_pbm(clicked, propensities={1: 0.1})
    assert (pbm["estimate"].item(), pbm["shrunk"].item()) == (10, 1)


# Propensities


def log_likelihood(cells: pl.DataFrame, theta: dict, gamma: dict) -> float:
    return sum(
        c * math.log(p) + (n - c) * math.log1p(-p)
        for query, doc, rank, n, c in cells.rows()
        for p in [min(max(theta[rank] * gamma[query, doc], 1e-12), 1 - 1e-12)]
    )


@pytest.mark.parametrize("seed", range(3))
def test_the_em_algorithm_finds_the_highest_likelihood(seed):
    """An independent optimiser of the same likelihood comes to the same propensities."""
    log = simulated_log(4000, queries=2, documents=4, seed=seed, shuffled=0.5)
    cells = (
        log.group_by("query", "doc", "rank")
        .agg(n=pl.len(), c=pl.col("clicked").sum())
        .sort("query", "doc", "rank")
    )
    truth = log.select("query", "doc", "attractiveness").unique().sort("query", "doc")
    keys = truth.select("query", "doc").rows()

    def negative(x):
        p = scipy.special.expit(x)
        theta = dict(zip([2, 3, 4], p[:3], strict=True)) | {1: 1.0}
        return -log_likelihood(cells, theta, dict(zip(keys, p[3:], strict=True)))

    start = scipy.special.logit([1 / 2, 1 / 3, 1 / 4, *truth["attractiveness"]])
    best = scipy.optimize.minimize(negative, start, method="BFGS")
    theta = clicks.estimate_propensities(log)["propensity"].to_list()
    assert theta[1:] == pytest.approx(scipy.special.expit(best.x[:3]), abs=1e-4)


def test_sums_are_counted_as_the_rows_that_they_sum():
    log = simulated_log(2000, queries=5, shuffled=0.2)
    counts = log.group_by("query", "doc", "rank").agg(n=pl.len(), c=pl.col("clicked").sum())
    columns = {"clicked": "c", "impressions": "n"}
    for estimate in (clicks.count_clicks, clicks.estimate_ctr, clicks.estimate_pbm):
        assert_frame_equal(estimate(counts, **columns), estimate(log), check_exact=True)
    with pytest.raises(ValueError, match="impressions= names the column"):
        clicks.estimate_sdbn(counts.with_columns(session=1), clicked="c")


def test_ranks_with_few_clicks_share_a_propensity():
    """Ranks 2 and 3 have 30 clicks each, rank 4 has 60, and rank 5 has 20."""
    counts = pl.DataFrame(
        {
            "query": "q",
            "doc": [*"aaaaabbbbb"],
            "rank": [1, 2, 3, 4, 5] * 2,
            "n": [200] * 10,
            "c": [100, 15, 15, 30, 10] * 2,
        }
    )
    table = clicks.estimate_propensities(counts, clicked="c", impressions="n")
    first, *others = table["propensity"].to_list()
    assert first == 1
    assert others == pytest.approx([60 / 800 / 0.5] * 2 + [80 / 800 / 0.5] * 2, rel=1e-4)
    assert table["clicks"].to_list() == [200, 30, 30, 60, 20]


def test_propensities_are_refused_where_ranks_are_not_linked():
    """Documents a and b swap ranks 1 and 2; c and d swap ranks 3 and 4."""
    swapped = log_of([("q", "abcd", [True] * 4), ("q", "badc", [True] * 4)])
    with pytest.raises(
        ValueError, match=r"no link from rank 1 to rank 3 \(2 unlinked ranks in all\)"
    ):
        clicks.estimate_propensities(swapped)
    alone = log_of([("q", "ab", [True, False])] * 2)
    with pytest.raises(ValueError, match="each document of `log` was shown at one rank only"):
        clicks.estimate_pbm(alone)
    silent = log_of([("q", "ab", [False, True]), ("q", "ba", [False, True])])
    with pytest.raises(ValueError, match="must have clicks at the first rank, got none"):
        clicks.estimate_propensities(silent)


# Recovery of the truth


def errors_of(estimate, lists, model, **options):
    """The estimates beside the truth of a simulated log."""
    log = simulated_log(lists, queries=20, shuffled=0.5, model=model, seed=lists, **options)
    truth = log.select("query", "doc", a="attractiveness", s="satisfaction").unique()
    return estimate(log).join(truth, on=["query", "doc"])


@pytest.mark.parametrize("lists", [1000, 10_000, *simulated(100_000)])
def test_the_position_based_model_finds_its_parameters(lists):
    """95 % of the intervals contain the truth, up to five standard errors of 200 documents."""
    table = errors_of(clicks.estimate_pbm, lists, "pbm", decay=0.7)
    inside = (pl.col("ci_low") <= pl.col("a")) & (pl.col("a") <= pl.col("ci_high"))
    assert table.select(inside.mean()).item() > 0.95 - 5 * math.sqrt(0.95 * 0.05 / 200)
    # With the true propensities, Var(c / E) is (γ E - γ² Q) / E²; estimating them adds a little.
    log = simulated_log(lists, queries=20, shuffled=0.5, decay=0.7, seed=lists)
    theta = pl.col("rank") ** -0.7
    sums = log.group_by("query", "doc").agg(e=theta.sum(), q=(theta**2).sum())
    scored = table.join(sums, on=["query", "doc"]).filter(pl.col("a") > 0.01)
    variance = pl.col("a") / pl.col("e") - pl.col("a") ** 2 * pl.col("q") / pl.col("e") ** 2
    score = scored.select((((pl.col("estimate") - pl.col("a")) ** 2 / variance).mean()).sqrt())
    assert 0.85 < score.item() < 1.25


@pytest.mark.parametrize("lists", [10_000, *simulated(100_000)])
def test_propensities_come_back(lists):
    log = simulated_log(lists, queries=20, documents=5, shuffled=1.0, decay=0.7, seed=2)
    table = clicks.estimate_propensities(log)
    truth = table["rank"].to_numpy() ** -0.7
    assert table["propensity"].to_numpy() == pytest.approx(truth, abs=6 / math.sqrt(lists))


def expected_sdbn(a, s):
    """The expected counts of one list, over all clicks that the model allows."""
    examined, clicked, last = (np.zeros(len(a)) for _ in range(3))

    def read(place, probability, clicks_so_far):
        if place == len(a):
            count(probability, clicks_so_far)
            return
        read(place + 1, probability * (1 - a[place]), clicks_so_far)
        here = [*clicks_so_far, place]
        count(probability * a[place] * s[place], here)
        read(place + 1, probability * a[place] * (1 - s[place]), here)

    def count(probability, places):
        if places:
            examined[: places[-1] + 1] += probability
            clicked[places] += probability
            last[places[-1]] += probability

    read(0, 1.0, [])
    return examined, clicked, last


EXPECTED_SDBN = read_book_table("The simplified dynamic Bayesian network")


@pytest.mark.parametrize("key", EXPECTED_SDBN, ids=str)
def test_the_expected_estimates_of_equal_documents_are_those_of_the_book(key):
    (a, s), printed = map(float, key), EXPECTED_SDBN[key]
    examined, clicked, last = (
        counts.sum() for counts in expected_sdbn(np.full(10, a), np.full(10, s))
    )
    exact = [a * s, clicked / examined, last / clicked, last / examined]
    assert printed == pytest.approx(exact, abs=0.0005 + 1e-9)


@given(st.lists(st.tuples(*[st.floats(0.01, 1)] * 2), min_size=1, max_size=5))
@example([(1.0, 1.0), (1.0, 1.0)])  # nobody examines the second document
@settings(max_examples=25, deadline=None)
def test_expected_estimates_of_sdbn_are_never_below_the_true_values(documents):
    a, s = np.array(documents).T
    examined, clicked, last = expected_sdbn(a, s)
    for part, whole, truth in ((clicked, examined, a), (last, clicked, s), (last, examined, a * s)):
        assert (part >= whole * truth * (1 - 1e-9)).all()


@pytest.mark.parametrize("model", ["pbm", "dbn", "dcm"])
def test_a_simulated_log_has_the_stated_behaviour(model):
    log = simulated_log(
        20_000, queries=1, documents=3, model=model, shuffled=1.0, decay=1.0, seed=7
    )
    first = (
        log.filter(rank=1)
        .group_by("doc")
        .agg(pl.col("clicked").mean(), pl.col("attractiveness").first(), n=pl.len())
    )
    for _, rate, a, n in first.rows():
        assert abs(rate - a) < 5 * math.sqrt(a * (1 - a) / n)
    pairs = (
        log.filter(pl.col("rank") <= 2)
        .sort("session", "rank")
        .group_by("session", maintain_order=True)
        .agg("clicked", "attractiveness", "satisfaction")
    )
    clicked, a, s = (np.array(pairs[name].to_list(), float) for name in pairs.columns[1:])
    reads_on = {
        "pbm": np.full(len(a), 0.5),
        "dbn": 1 - clicked[:, 0] * s[:, 0],
        "dcm": 1 - clicked[:, 0] / 2,
    }[model]
    expected = reads_on * a[:, 1]
    assert abs(clicked[:, 1].mean() - expected.mean()) < 5 * 0.5 / math.sqrt(len(a))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"rankers": {}}, "`rankers` must"),
        ({"rankers": ["a"]}, "`rankers` must"),
        ({"model": "ubm"}, "`model` must"),
    ],
)
def test_wrong_arguments_of_a_simulation_are_refused(options, text):
    with pytest.raises((ValueError, TypeError), match=text):
        simulated_log(10, **options)


# Bad logs

GOOD = log_of([("q", "ab", [True, False]), ("q", "ba", [True, False])])
ESTIMATORS = [
    *(clicks.count_clicks, clicks.estimate_ctr),
    *(clicks.estimate_sdbn, clicks.estimate_pbm, clicks.estimate_propensities),
]
RANKED = [each for each in ESTIMATORS if each is not clicks.estimate_ctr]


def refused(call, log, text, error=ValueError):
    with pytest.raises(error, match=text):
        call(log)
    with pytest.raises(error, match=text):
        call(log.lazy())


@pytest.mark.parametrize("call", ESTIMATORS)
def test_clicks_that_are_none_are_refused(call):
    nulls = GOOD.with_columns(clicked=pl.when(pl.int_range(4) > 0).then("clicked"))
    refused(
        call,
        nulls,
        r"'clicked' of `log` must be 0 .* not null, got another value in 1 rows\n\nHint",
    )
    counts = GOOD.with_columns(clicked=pl.Series([5, 2, 1, 0]))
    refused(
        call,
        counts,
        r"'clicked' of `log` must be 0 or 1, or Boolean.* got another value in 2 rows\n\nHint: f",
    )
    texts = GOOD.with_columns(clicked=pl.lit("yes"))
    refused(call, texts, "must be Boolean, or 0 and 1, got String", TypeError)
    nan = GOOD.with_columns(clicked=pl.Series([1.0, 0.0, math.nan, 0.5]))
    refused(call, nan, "must be 0 or 1, or Boolean, and not null, got another value in 2 rows")


@pytest.mark.parametrize("call", RANKED)
def test_ranks_that_do_not_count_from_1_are_refused(call):
    low, nulls = (
        GOOD.with_columns(pl.col("rank") - 1),
        GOOD.with_columns(rank=pl.when(pl.int_range(4) > 0).then("rank")),
    )
    hint = r"\n\nHint: log.with_columns\(pl.col\('rank'\) \+ 1\) if ranks count from 0"
    refused(call, low, f"'rank' of `log` must be at least 1, got a lower rank in 2 rows{hint}")
    refused(call, nulls, "'rank' of `log` must not be null, got null in 1 rows$")
    floats = GOOD.with_columns(pl.col("rank").cast(pl.Float64))
    refused(call, floats, "'rank' of `log` must hold whole numbers, got Float64", TypeError)


@pytest.mark.parametrize("call", [each for each in RANKED if each is not clicks.estimate_sdbn])
def test_ranks_with_gaps_are_refused(call):
    """A log of clicked documents alone has gaps."""
    text = "ranks must have no gaps, got 2 impressions at rank 3 and 0 at rank 2"
    refused(call, GOOD.with_columns(rank=pl.col("rank") * 2 - 1), text)


def test_a_sample_of_impressions_has_a_click_rate_at_each_rank():
    """As in the Open Bandit Dataset, in which each row is one impression of one of three places."""
    shown = {1: 3284, 2: 3388, 3: 3328}
    log = pl.DataFrame({"rank": [rank for rank, n in shown.items() for _ in range(n)]})
    log = log.with_columns(
        session=pl.int_range(pl.len()),
        query=pl.lit("q"),
        doc=pl.int_range(pl.len()) % 7,
        clicked=pl.int_range(pl.len()) % (pl.col("rank") * 5) == 0,
    )
    rates = clicks.count_clicks(log)
    assert dict(rates.select("rank", "impressions").rows()) == shown
    expected = [n // (rank * 5) / n for rank, n in shown.items()]
    assert rates["click_rate"].to_list() == pytest.approx(expected, abs=1 / 3000)
    propensities = clicks.estimate_propensities(log)
    assert propensities["propensity"].to_list() == pytest.approx([1, 1 / 2, 1 / 3], abs=0.02)
    estimates = clicks.estimate_pbm(log, propensities={1: 1, 2: 1 / 2, 3: 1 / 3})
    assert estimates["impressions"].sum() == 10_000


def test_gaps_and_duplicates_above_the_last_click_are_refused():
    gap = log_of([("q", "abc", [False, False, True])]).filter(pl.col("rank") != 2)
    text = "ranks without gaps, got 2 documents at the 3 ranks at or above the last click"
    refused(clicks.estimate_sdbn, gap, text)
    double = log_of([("q", "ab", [True, True])] * 2).with_columns(session=1)
    text = "ranks with one document at each rank, got 4 documents at the 2 ranks at or above"
    refused(clicks.estimate_sdbn, double, text)


def test_counts_must_be_counts():
    log = pl.DataFrame({"query": "q", "doc": ["a", "b"], "n": [4, -1], "c": [5, 0]})
    with pytest.raises(
        ValueError, match=r"'n' of `log` must contain counts, got another value in 1 rows$"
    ):
        clicks.estimate_ctr(log, clicked="c", impressions="n")
    with pytest.raises(ValueError, match=r"from 0 to the impressions of the row, got .* 1 rows$"):
        clicks.estimate_ctr(log.head(1), clicked="c", impressions="n")


TWICE = pl.DataFrame({"rank": [1, 1, 2], "propensity": [1.0, 0.5, 0.5]})


@pytest.mark.parametrize(
    ("call", "options", "text"),
    [
        (clicks.estimate_ctr, {"doc": "document"}, "`log` has no column 'document'"),
        (clicks.estimate_ctr, {"doc": "query"}, "name a different column .* got 'query' twice"),
        (clicks.estimate_ctr, {"confidence": 1}, "`confidence` must"),
        (clicks.estimate_ctr, {"prior": (0, 2)}, "`prior` must"),
        (clicks.estimate_pbm, {"propensities": {1: 1.0}}, "`propensities` must"),
        (clicks.estimate_pbm, {"propensities": TWICE}, "`propensities` must"),
        (clicks.estimate_pbm, {"propensities": {1: 1.0, 2: 1.5}}, "`propensities` must"),
    ],
)
def test_wrong_arguments_are_refused(call, options, text):
    with pytest.raises((ValueError, pl.exceptions.ColumnNotFoundError), match=text):
        call(GOOD, **options)


def test_columns_keep_the_names_of_the_user():
    named = GOOD.rename({"query": "term", "doc": "sku", "rank": "place"})
    table = clicks.estimate_sdbn(named, query="term", doc="sku", rank="place")
    assert table.columns[:2] == ["term", "sku"]
    assert clicks.count_clicks(named, rank="place").columns[0] == "place"


@pytest.mark.parametrize("call", ESTIMATORS)
def test_a_log_without_rows_gives_a_table_without_rows(call):
    empty = call(GOOD.clear())
    assert empty.height == 0
    assert empty.schema == call(GOOD).schema


def test_an_em_algorithm_that_has_not_converged_says_so(monkeypatch):
    log = simulated_log(lists=500, documents=4, shuffled=1)
    monkeypatch.setattr(estimating, "MAX_STEPS", 1)
    with pytest.warns(DataWarning.positions, match="have not converged in 1 steps of the EM algo"):
        clicks.estimate_propensities(log)


def test_a_click_without_a_session_is_refused_by_sdbn():
    log = pl.DataFrame({"session": None, "query": "q", "doc": ["a", "b"], "rank": [1, 2]})
    log = log.with_columns(clicked=pl.Series([0, 1]), session=pl.lit(None, pl.Int64))
    with pytest.raises(ValueError, match="column 'session' of `log` must not be null, got null in"):
        clicks.estimate_sdbn(log)


def test_counts_above_2_to_the_32_are_exact():
    big = pl.DataFrame({"query": "q", "doc": "a", "rank": 1, "n": [2**40, 2**40 + 1]})
    big = big.with_columns(clicks=pl.Series([2**39, 1]))
    for estimate in (clicks.estimate_ctr, partial(clicks.estimate_pbm, propensities={1: 1.0})):
        table = estimate(big, clicked="clicks", impressions="n")
        assert table.select("impressions", "clicks").rows() == [(2**41 + 1, 2**39 + 1)]


def test_clicks_by_rank_have_the_interval_of_statsmodels():
    log = simulated_log(300, documents=5)
    table = clicks.count_clicks(log, confidence=0.9)
    for rank, shown, clicked, _, rate, low, high in table.rows():
        rows = log.filter(rank=rank)
        assert (shown, clicked) == (rows.height, rows["clicked"].sum())
        assert rate == clicked / shown
        ends = proportion_confint(clicked, shown, 0.1, "wilson")
        assert (low, high) == pytest.approx(ends, abs=1e-12)
