"""Clicks of a new ranking from an old ranker's log: slow loops, expectations and another tool."""

from __future__ import annotations

import itertools
import math
import warnings
from collections import Counter

import numpy as np
import polars as pl
import pytest
import scipy.stats
from book_numbers import assert_same_share, read_book_table, read_book_text
from helpers import log_of
from hypothesis import given, settings
from hypothesis import strategies as st

from polars_graded import DataWarning
from polars_graded.clicks import estimate_clicks
from polars_graded.datasets import _simulate_clicks, simulated_log

METHODS = ["list", "item_position", "cascade"]
every_method = pytest.mark.parametrize("method", METHODS)

LISTS = st.lists(
    st.tuples(
        st.sampled_from("qr"),
        st.permutations("abc"),
        st.lists(st.booleans(), min_size=3, max_size=3),
    ),
    min_size=2,
    max_size=20,
)


NEW = log_of([("q", "abc", [False] * 3), ("r", "bca", [False] * 3)]).select("query", "doc", "rank")


def matches(method, docs, new, rank):
    """Whether a list matches the new ranking for a rank, counted from 0."""
    if method == "list":
        return docs == new
    return (
        docs[rank] == new[rank]
        if method == "item_position"
        else docs[: rank + 1] == new[: rank + 1]
    )


def slow_estimate(lists, method, weights):
    new = {"q": list("abc"), "r": list("bca")}
    shown = [(query, list(docs), clicks) for query, docs, clicks in lists]
    of_query = Counter(query for query, *_ in shown)
    n = len(shown)
    value = 0.0
    for rank in range(3):
        rows = []
        for query, docs, clicks in shown:
            if matches(method, docs, new[query], rank):
                p = sum(q == query and matches(method, d, new[q], rank) for q, d, _ in shown)
                rows.append((of_query[query] / p, clicks[rank]))
        total = sum(w for w, _ in rows)
        if total:
            by = n if weights == "ips" else total
            value += sum(w * c for w, c in rows) / by
    return value


@every_method
@given(LISTS)
@settings(max_examples=8, deadline=None)
def test_estimates_equal_a_slow_sum(method, lists):
    log = log_of(lists)
    for weights in ("ips", "self_normalised"):
        expected = slow_estimate(lists, method, weights)
        with warnings.catch_warnings(action="ignore", category=DataWarning.support):
            try:
                table = estimate_clicks(log, NEW, method, weights=weights)
            except ValueError as error:
                assert "got none that matches" in str(error)  # noqa: PT017
                assert not expected
                continue
        row = table.row(0, named=True)
        assert row["estimate"] == pytest.approx(expected, abs=1e-12)
        assert row["lists"] == len(lists)
        assert row["logged_clicks"] == sum(sum(c) for *_, c in lists) / len(lists)


def margin_of(values):
    """Half the width of the interval of a mean, which is wide if few values decide."""
    n, squares = len(values), (values - values.mean()) ** 2
    freedom = min(n - 1, squares.sum() ** 2 / (squares**2).sum())
    return scipy.stats.t.ppf(0.975, freedom) * np.sqrt(squares.sum() / n / (n - 1))


def slow_interval(lists, method, weights, propensity):
    """The estimate and its interval, list by list; the ranking of r has two documents only."""
    new = {"q": list("abc"), "r": list("bc")}
    n = len(lists)
    of_query = Counter(query for query, *_ in lists)
    ranks = {query: range(len(docs)) for query, docs in new.items()}

    def is_match(query, docs, rank):
        if method == "list":
            return list(docs) == new[query]
        return matches(method, list(docs), new[query], rank)

    total = np.zeros(n)
    estimate = filled = unknown = 0.0
    for rank in range(3):
        has_rank = np.array([rank in ranks[query] for query, *_ in lists], dtype=float)
        cells = {
            query: [
                i for i, (q, docs, _) in enumerate(lists) if q == query and is_match(q, docs, rank)
            ]
            for query in of_query
            if rank in ranks[query]
        }
        w, c = np.zeros(n), np.array([clicks[rank] * 1.0 for *_, clicks in lists])
        for query, cell in cells.items():
            for i in cell:
                p = propensity or len(cell) / of_query[query]
                w[i] = 1 / p
        missing = sum(of_query[query] for query, cell in cells.items() if not cell)
        unknown += missing
        if not w.any():
            continue
        rate = (w @ c) / w.sum()
        s, center = (1.0, 0.0) if weights == "ips" else (has_rank.sum() / w.sum(), rate)
        estimate += s * (w @ c) / n
        filled += missing * center
        total += center * has_rank
        for query, cell in cells.items():
            is_exact = propensity is None and cell
            mean = c[cell].mean() if is_exact else center
            if cell:
                total += s * (mean - center) * np.array([q == query for q, *_ in lists])
            for i in cell:
                others = [j for j in cell if j != i]
                if is_exact:
                    residual = c[i] - (c[others].mean() if others else rate)
                else:
                    residual = c[i] - center
                total[i] += s * w[i] * residual
    if np.ptp(total) < 1e-12:
        return estimate, None, None
    margin = margin_of(total)
    low, high = estimate - margin, estimate + margin
    if propensity is None:
        low, high = low - filled / n, high + (unknown - filled) / n
    return estimate, max(low, 0), high


@every_method
@pytest.mark.parametrize("weights", ["ips", "self_normalised"])
@pytest.mark.parametrize("propensity", [None, 0.2])
def test_intervals_equal_a_slow_sum(method, weights, propensity):
    rng = np.random.default_rng(3)
    for size in (40, 80, 80, 150):
        lists = [
            ("q", rng.permutation(list("abc")), rng.random(3) < 0.4)
            if rng.random() < 0.7
            else ("r", rng.permutation(list("bc")), rng.random(2) < 0.4)
            for _ in range(size)
        ]
        log = log_of(lists).with_columns(p=0.2)
        new = NEW.filter((pl.col("query") == "q") | pl.col("doc").is_in(["b", "c"]))
        options = {"propensity": None if propensity is None else "p"}
        with warnings.catch_warnings(action="ignore", category=DataWarning.support):
            row = estimate_clicks(log, new, method, weights=weights, **options).row(0, named=True)
        padded = [(query, docs, [*clicks, 0][:3]) for query, docs, clicks in lists]
        estimate, low, high = slow_interval(padded, method, weights, propensity)
        assert row["estimate"] == pytest.approx(estimate)
        if row["effective_lists"] < 5:
            assert row["note"].startswith("an interval needs matches of 5 equally weighted lists")
            low = high = None
        assert (row["ci_low"], row["ci_high"]) == pytest.approx((low, high))


@pytest.mark.parametrize(
    ("lists", "note"),
    [
        (
            [("q", "abc", (1, 0, 1))],
            "an interval needs matches of 5 equally weighted lists at each",
        ),
        ([("q", "abc", (1, 0, 1))] * 4, "rank, and one rank has 4"),
        ([("q", "abc", (1, 0, 1))] * 5, "all lists have the same value, so there is no interval"),
    ],
)
def test_a_missing_interval_has_a_reason(lists, note):
    [row] = estimate_clicks(log_of(lists), NEW).rows(named=True)
    assert (row["estimate"], row["ci_low"], row["ci_high"]) == (2.0, None, None)
    assert note in row["note"]


def best_ranking(log):
    """The documents of each query by their true attractiveness."""
    return (
        log.select("query", "doc", "attractiveness")
        .unique()
        .sort("query", "attractiveness", descending=[False, True])
        .select("query", "doc", pl.int_range(1, pl.len() + 1).over("query").alias("rank"))
    )


LOGGED = simulated_log(
    5000, queries=10, documents=5, length=4, model="dbn", shuffled=1.0, seed=4
).with_columns(
    p_item=pl.lit(1 / 5),
    p_cascade=pl.col("rank").replace_strict({1: 1 / 5, 2: 1 / 20, 3: 1 / 60, 4: 1 / 120}),
    p_list=pl.lit(1 / 120),
)
BEST = best_ranking(LOGGED).filter(pl.col("rank") <= 4)


@pytest.mark.parametrize(
    ("method", "propensity", "value"),
    [("list", "p_list", 1.32), ("item_position", "p_item", 1.684), ("cascade", "p_cascade", 1.404)],
)
def test_estimates_are_those_of_open_bandit_pipeline(method, propensity, value):
    """obp 0.4.1: SlateStandardIPS, SlateIndependentIPS and SlateRewardInteractionIPS."""
    table = estimate_clicks(LOGGED, BEST, method, propensity=propensity)
    assert table["estimate"].item() == pytest.approx(value, abs=1e-12)


def test_the_interval_is_about_the_bootstrap_of_open_bandit_pipeline():
    """obp 0.4.1, 500 resamples: 1.25095 to 1.57005."""
    row = estimate_clicks(LOGGED, BEST, "cascade", propensity="p_cascade").row(0, named=True)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((1.25095, 1.57005), abs=0.02)


def expected_clicks(log, ranking, model):
    """The exact clicks per list of a ranking, by its user model, over the queries of the log."""
    truth = log.select("query", "doc", "attractiveness", "satisfaction").unique()
    shown = ranking.join(truth, on=["query", "doc"]).sort("query", "rank")
    clicks = {}
    for (query,), rows in shown.group_by("query"):
        reads, total = 1.0, 0.0
        for rank, (a, s) in enumerate(rows.select("attractiveness", "satisfaction").rows(), 1):
            if model == "pbm":
                total += a / rank
            else:
                total += reads * a
                reads *= 1 - a * s
        clicks[query] = total
    lists = log.filter(rank=1)["query"].value_counts()
    return sum(clicks[query] * n for query, n in lists.rows()) / lists["count"].sum()


RANDOM = {
    model: simulated_log(20_000, queries=5, documents=4, model=model, shuffled=1.0, seed=6)
    for model in ("pbm", "dbn")
}


@pytest.mark.parametrize(("model", "method"), [*itertools.product(RANDOM, METHODS)])
@pytest.mark.parametrize("weights", ["ips", "self_normalised"])
def test_the_clicks_of_a_ranking_that_was_hardly_shown_come_back(model, method, weights):
    """Within four standard errors, unless the method's assumption about users is wrong."""
    log = RANDOM[model]
    ranking = best_ranking(log)
    row = estimate_clicks(log, ranking, method, weights=weights).row(0, named=True)
    error = (row["ci_high"] - row["ci_low"]) / 2 / 1.96
    away = abs(row["estimate"] - expected_clicks(log, ranking, model)) / error
    if (model, method) == ("dbn", "item_position"):
        assert away > 4
    else:
        assert away < 4


def test_several_rankings_are_estimated_one_by_one():
    lists = [("q", "abc", [1, 0, 0]), ("q", "bac", [1, 1, 0])] * 3
    log = log_of(lists)
    both = pl.concat(
        log_of([("q", docs, [0] * 3)]).select(pl.lit(docs).alias("name"), "query", "doc", "rank")
        for docs in ("abc", "bac")
    )
    table = estimate_clicks(log, both, "list", strategy="name")
    assert table.select("name", "estimate").rows() == [("abc", 1.0), ("bac", 2.0)]


def test_missing_support_is_warned_of_and_none_is_refused():
    """Only two of three documents were shown where the new ranking shows them."""
    log = log_of([("q", "abc", [True, False, True]), ("q", "cba", [False] * 3)])
    new = log_of([("q", "acb", [False] * 3)]).select("query", "doc", "rank")
    with pytest.warns(DataWarning.support, match=r"the log shows 33\.3% of what the new ranking"):
        table = estimate_clicks(log, new)
    assert table["support"].item() == pytest.approx(1 / 3)
    none = log_of([("q", "bac", [False] * 3)]).select("query", "doc", "rank")
    with pytest.raises(ValueError, match="got none that matches\n\nHint: method='item_position'"):
        estimate_clicks(log, none, "cascade")


GOOD = log_of([("q", "abc", [True, False, True]), ("r", "bca", [True, False, True])])


@pytest.mark.parametrize(
    ("log", "ranking", "options", "text"),
    [
        (GOOD, NEW.filter(query="q"), {}, "got none for 1 of 2 queries"),
        (GOOD, pl.concat([NEW, NEW]), {}, "got 12 rows of repeated documents, "),
        (GOOD, NEW.clear(), {}, "`ranking` must not be empty"),
        (GOOD.clear(), NEW, {}, "`log` must not be empty"),
        (pl.concat([GOOD, GOOD]), NEW, {}, "must have each rank once in a list, got 6 rows of"),
        (
            GOOD.with_columns(p=pl.Series([0.5, 0, 2, None, 0.1, 1])),
            NEW,
            {"propensity": "p"},
            "'p' of `log` must be above 0 and at most 1, got another value in 3 rows",
        ),
        (GOOD.with_columns(rank=pl.col("rank") + 1), NEW, {}, "ranks must have no gaps"),
        (
            GOOD.filter(~((pl.col("rank") == 1) & (pl.col("query") == "q"))),
            NEW,
            {},
            "ranks must have no gaps",
        ),
    ],
)  # fmt: skip
def test_bad_data_are_refused(log, ranking, options, text):
    with pytest.raises((ValueError, TypeError, pl.exceptions.ColumnNotFoundError), match=text):
        estimate_clicks(log, ranking, **options)


def test_a_list_that_is_longer_than_its_ranking_is_no_complete_match():
    short = NEW.filter(pl.col("rank") < 3)
    with pytest.raises(ValueError, match="got fewer for 1 of 1 queries"):
        estimate_clicks(GOOD.filter(query="q"), short, method="list")
    estimate_clicks(GOOD.filter(query="q"), short, method="cascade")


# How often intervals hold the true value: what the book's table says.


QUERIES, DOCUMENTS = 5, 4

LENGTHS = {"item_position": 4, "cascade": 4, "list": 3}
"""How many documents a list has, by the method."""

MODELS = {"item_position": "pbm", "cascade": "dbn", "list": "dbn"}
"""The users of whom the assumption of a method is true."""

KINDS = {
    "estimated": {},
    "given": {"propensity": "p"},
    "given, self-normalised": {"propensity": "p", "weights": "self_normalised"},
}

REPEATS = 1000

TRUTH = np.random.default_rng(3)
ATTRACTIVENESS = TRUTH.random((QUERIES, DOCUMENTS)) ** 2
SATISFACTION = TRUTH.uniform(0.1, 0.9, (QUERIES, DOCUMENTS))
ORDER = np.argsort(-ATTRACTIVENESS, axis=1)
"""The new ranking, by attractiveness."""

TRAFFIC = 1 / np.arange(1, QUERIES + 1)
TRAFFIC /= TRAFFIC.sum()


def frame_of(query, docs, **columns):
    """Rows of lists."""
    n, length = docs.shape
    ranks = np.tile(np.arange(1, length + 1), n)
    query = np.repeat(query, length)
    return pl.DataFrame({"query": query, "doc": docs.ravel(), "rank": ranks, **columns})


def draw_log(method, lists, generator):
    """A log of lists in random order, with the true propensities."""
    length = LENGTHS[method]
    query = generator.choice(QUERIES, lists, p=TRAFFIC)
    docs = np.argsort(generator.random((lists, DOCUMENTS)), axis=1)[:, :length]
    a, s = ATTRACTIVENESS[query[:, None], docs], SATISFACTION[query[:, None], docs]
    clicked = _simulate_clicks(generator, a, s, MODELS[method], 1.0, 1.0)
    p = {
        "item_position": [1 / DOCUMENTS] * length,
        "cascade": [1 / math.perm(DOCUMENTS, rank) for rank in range(1, length + 1)],
        "list": [1 / math.perm(DOCUMENTS, length)] * length,
    }[method]
    session = np.repeat(np.arange(lists), length)
    p = np.tile(p, lists)
    return frame_of(query, docs, session=session, clicked=clicked.ravel(), p=p)


def compute_expected_clicks(method):
    """The exact clicks per list of the new ranking."""
    order = ORDER[:, : LENGTHS[method]]
    a, s = (np.take_along_axis(each, order, axis=1) for each in (ATTRACTIVENESS, SATISFACTION))
    if MODELS[method] == "pbm":
        examined = np.broadcast_to(1 / np.arange(1, a.shape[1] + 1), a.shape)
    else:
        stays = np.cumprod(1 - a * s, axis=1)
        examined = np.concatenate([np.ones((QUERIES, 1)), stays[:, :-1]], axis=1)
    return TRAFFIC @ (a * examined).sum(axis=1)


def simulate(method, kind, lists, repeats):
    """The coverage, the share of results with an interval, and of those with complete support."""
    generator, truth = np.random.default_rng(lists), compute_expected_clicks(method)
    order = ORDER[:, : LENGTHS[method]]
    rows = []
    for _ in range(repeats):
        log = draw_log(method, lists, generator)
        shown = frame_of(np.arange(QUERIES), order).filter(
            pl.col("query").is_in(log["query"].unique().implode())
        )
        with warnings.catch_warnings(action="ignore", category=DataWarning.support):
            try:
                [row] = estimate_clicks(log, shown, method, **KINDS[kind]).rows(named=True)
            except ValueError:  # nothing matches
                row = dict.fromkeys(("ci_low", "ci_high", "estimate"), None) | {"support": 0}
        rows.append([row[name] for name in ("ci_low", "ci_high", "estimate", "support")])
    low, high, estimate, support = np.array(rows, dtype=float).T
    there = ~np.isnan(low)
    held = (low <= truth) & (truth <= high)
    width = (high - low)[there].mean() / 2 / (1.96 * np.nanstd(estimate[there]))
    return held[there].mean(), there.mean(), (support == 1).mean(), width


TABLE = read_book_table("Clicks of a ranking that was not shown") if __name__ != "__main__" else {}


@pytest.mark.simulation
@pytest.mark.parametrize(("method", "kind", "lists"), TABLE)
def test_intervals_hold_the_true_clicks_as_often_as_is_printed(method, kind, lists):
    *printed, width = TABLE[method, kind, lists]
    *found, found_width = simulate(method.strip("`"), kind, int(lists), REPEATS)
    for share, expected, n in zip(
        found, printed, (REPEATS * max(printed[1], 0.01), REPEATS, REPEATS), strict=True
    ):
        assert_same_share(share, expected, n)
    assert found_width == pytest.approx(width, rel=4 / math.sqrt(REPEATS))


def test_the_book_states_the_lowest_and_the_highest_coverage():
    shares = [row[0] for row in TABLE.values() if row[1] > 0.05]
    stated = f"{100 * min(shares):.0f} to {100 * max(shares):.0f} % of the 95 % intervals"
    assert stated in read_book_text()


if __name__ == "__main__":
    for method in LENGTHS:
        for kind in KINDS:
            for lists in (100, 300, 1000):
                shares = simulate(method, kind, lists, REPEATS)
                cells = " | ".join(f"{each:.3f}" for each in shares)
                print(f"| `{method}` | {kind} | {lists} | {cells} |", flush=True)
