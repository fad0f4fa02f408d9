"""Scores that may be ranks: refused unless a direction is passed, wherever they are ranked."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

import helpers
import numpy as np
import polars as pl
import pytest
from helpers import COLLECTED
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from results import rng

from polars_graded import evaluate, graded, overview, read_letor, read_run
from polars_graded._measuring.list_columns import Lists
from polars_graded._measuring.rank_columns import collect_rank_facts, find_rank_strategies
from polars_graded.trust import unjudged_bounds

BOOK = Path(__file__).parents[1] / "notebooks" / "book"
REFUSED = "`descending` must be passed for score '{}'"


def shop_log(name: str = "old_rank", queries: int = 60, seed: int = 0) -> pl.DataFrame:
    """Rows of a shop in any order: an old rank from 1 beside the score of a new model."""
    rng = random.Random(seed)
    rows = []
    for query in range(queries):
        ranks = [*range(1, rng.randint(2, 12) + 1)]
        for rank in ranks:
            grade = max(0, min(3, round(3 - rank / 3 + rng.gauss(0, 1))))
            rows.append((query, f"p{rank}", grade, rank, grade + rng.gauss(0, 0.3)))
    rng.shuffle(rows)
    return pl.DataFrame(rows, schema=["query", "doc", "grade", name, "model"], orient="row")


LOG = shop_log()

WAYS = helpers.WAYS | {
    "bounds": lambda frame, **options: unjudged_bounds(frame, "ndcg@10", **options),
    "overview": overview,
}
WAY = pytest.mark.parametrize("way", WAYS)


@WAY
@pytest.mark.parametrize("name", ["old_rank", "score"])
def test_an_old_rank_beside_a_new_score_is_refused_whatever_it_is_called(way, name):
    with pytest.raises(COLLECTED, match=REFUSED.format(name)) as caught:
        WAYS[way](LOG.rename({"old_rank": name}), by=[name, "model"])
    message = str(caught.value)
    assert "in 60 of 60 queries" in message
    assert f"descending={{'{name}': False}} ranks the lowest value first" in message
    assert f"descending={{'{name}': True}} ranks the highest value first" in message


@WAY
def test_each_way_to_pass_the_direction_gives_the_same(way):
    truth = WAYS[way](LOG.with_columns(old_rank=-pl.col("old_rank")), by=["old_rank", "model"])
    for options in (
        {"by": ["old_rank", "model"], "descending": {"old_rank": False}},
        {"by": ["old_rank", "model"], "descending": {"old_rank": [False], "model": True}},
        {"by": ["old_rank", "model"], "descending": [False, True]},
        {"by": {"old_rank": -pl.col("old_rank"), "model": "model"}},
        {"by": [-pl.col("old_rank"), pl.col("model")]},
    ):
        assert_frame_equal(WAYS[way](LOG, **options), truth)
    turned = WAYS[way](LOG, by=["old_rank", "model"], descending=True)
    assert turned.equals(truth) == (way == "overview")  # which counts what is in no order


STACKED = pl.concat(
    LOG.select("query", "doc", "grade", score=pl.col(name).cast(pl.Float64), strategy=pl.lit(name))
    for name in ("old_rank", "model")
).sample(fraction=1, shuffle=True, seed=1)


@WAY
@pytest.mark.parametrize("given", [None, False])
def test_ranks_of_one_stacked_strategy_are_refused_and_the_hint_turns_it_alone(way, given):
    message = "ranks and scores alike" if given is False else "of strategy 'old_rank', which looks"
    with pytest.raises(COLLECTED, match=message) as caught:
        WAYS[way](STACKED, strategy="strategy", descending=given)
    call = str(caught.value).partition("Hint: descending=")[2].partition(" ranks the lowest")[0]
    followed = WAYS[way](STACKED, strategy="strategy", descending=eval(call))  # noqa: S307
    right = WAYS[way](LOG, by=["model", "old_rank"], descending=[True, False])
    assert_frame_equal(followed, right)
    everything = {"old_rank": False, "model": False}
    lowest_first = WAYS[way](STACKED, strategy="strategy", descending=everything)
    assert_frame_equal(
        lowest_first, WAYS[way](LOG, by=["model", "old_rank"], descending=[False, False])
    )
    with pytest.raises(COLLECTED, match=r"must name strategies of 'strategy'.*got 'old'"):
        WAYS[way](STACKED, strategy="strategy", descending={"old_rank": False, "old": True})


WITHIN = {
    False: lambda expr, _: LOG.group_by("query").agg(expr),
    True: lambda expr, engine: LOG.lazy().group_by("query").agg(expr).collect(engine=engine),
}


@pytest.mark.parametrize("lazily", [False, True])
@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_expressions_refuse_ranks_as_whole_frames_do(lazily, engine):
    g = pl.col("grade").graded
    with pytest.raises(COLLECTED, match=REFUSED.format("old_rank")) as caught:
        WITHIN[lazily](g.ranked_by("old_rank").ndcg(10), engine)
    assert "descending=False ranks the lowest value first" in str(caught.value)
    with pytest.raises(COLLECTED, match=REFUSED.format("old_rank")):
        LOG.select(g.ranked_by("old_rank").ap().over("query"))
    with pytest.raises(COLLECTED, match=r"descending=\[True, False\] ranks the lowest"):
        LOG.group_by("query").agg(g.ranked_by("grade", "old_rank").measures("ap", "ndcg@10"))
    for flag in (False, True):
        LOG.group_by("query").agg(graded("grade").ranked_by("old_rank", descending=flag).ap())
    LOG.filter(pl.col("query") < 9).group_by("query").agg(g.ranked_by("old_rank").ap())  # few
    LOG.group_by("query").agg(g.ranked_by("grade", pl.int_range(pl.len())).ap())


@pytest.mark.parametrize("dtype", [pl.Float64, pl.Float32, pl.Int8, pl.UInt32, pl.Decimal(9, 2)])
@pytest.mark.parametrize("first", [0, 1])
def test_ranks_of_any_type_count_from_0_or_1(dtype, first):
    frame = LOG.with_columns((pl.col("old_rank") - 1 + first).cast(dtype))
    with pytest.raises(ValueError, match=REFUSED.format("old_rank")):
        evaluate(frame, "ap", by="old_rank")


def test_no_column_of_real_runs_is_refused(data):
    """125 features of 106 queries, and the runs of trec_eval."""
    n_features = 0
    for path in sorted(data.glob("ohsumed/*.gz")):
        rows = read_letor(path)
        features = [name for name in rows.columns if name.startswith("f")]
        evaluate(rows, "ndcg@10", by=features, ties="order")
        n_features += len(features)
    assert n_features == 125
    for path in data.glob("trec_eval/results.*.gz"):
        assert not looks_like_ranks(read_run(path).group_by("query").agg("score")["score"])


# The rule, and how often it is wrong


def looks_like_ranks(queries: pl.Series | list[np.ndarray]) -> bool:
    lists = queries if isinstance(queries, pl.Series) else pl.Series([*map(list, queries)])
    return bool(find_rank_strategies([collect_rank_facts(Lists.of(lists))]))


def follows_rule(queries: list[list[float]]) -> bool:
    """The two sentences of the rule, as a loop."""
    above_zero = [[value for value in query if value > 0] for query in queries]
    values = [value for query in above_zero for value in query]
    several = [query for query in above_zero if len(query) > 1]
    different = [query for query in several if len({*query}) == len(query)]
    falls = [b < a for query in several for a, b in pairwise(query)]
    return (
        len(several) >= 10
        and all(value == int(value) for value in values)
        and min(values) == 1
        and max(values) <= 4 * max(map(len, above_zero))
        and len(several) - len(different) <= 0.02 * len(several) + 1e-9
        and sum(falls) < 0.98 * len(falls)
    )


@settings(max_examples=100, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from([1, 2, 3, 5, 12]),
    st.integers(8, 60),
    st.sampled_from(["ranks", "reversed", "integers", "one repeated", "halves", "with zeros"]),
)
def test_the_rule_is_what_its_sentences_say(seed, longest, n_queries, kind):
    numbers = rng(seed)
    queries = [numbers.permutation(n) + 1.0 for n in numbers.integers(1, longest + 1, n_queries)]
    if kind == "reversed":
        queries = [np.sort(query)[::-1] for query in queries]
    elif kind == "integers":
        queries = [numbers.integers(0, 5 * longest, len(query)) for query in queries]
    elif kind == "one repeated":
        queries[0] = np.append(queries[0], queries[0][:1])
    elif kind == "halves":
        queries[-1] = queries[-1] / 2
    elif kind == "with zeros":
        queries = [np.append(query, [0, -1, 0]) for query in queries]
    lists = [list(map(float, query)) for query in queries]
    expected = follows_rule(lists)
    assert looks_like_ranks(pl.Series(lists)) == expected
    # The parts of a frame give the same evidence.
    halves = [Lists.of(pl.Series(part)) for part in (lists[::2], lists[1::2])]
    facts = [collect_rank_facts(half, are_all=False) for half in halves]
    assert bool(find_rank_strategies(facts)) == expected


def keep(share: float):
    return lambda numbers, ranks: ranks[numbers.random(len(ranks)) < share]


def click(numbers: np.random.Generator, ranks: np.ndarray) -> np.ndarray:
    return ranks[numbers.random(len(ranks)) < 1 / (0.5 + ranks)]


FORGOTTEN = {
    "complete": lambda _, ranks: ranks,
    "from 0": lambda _, ranks: ranks - 1,
    "10 % of the rows lost": keep(0.9),
    "half of the rows lost": keep(0.5),
    "a sample of 30 %": keep(0.3),
    "clicked rows only": click,
    "0 or -1 for documents not shown": lambda numbers, ranks: np.append(
        ranks, numbers.integers(-1, 1, 3)
    ),
    "in the order of the ranks": lambda _, ranks: np.sort(ranks),
}
"""Real ranks whose direction was forgotten, which must be refused."""

UNNOTICED = {
    "only the second page": lambda _, ranks: ranks + 20,
    "two documents on each rank": lambda _, ranks: (ranks + 1) // 2,
    "999 for documents not shown": lambda _, ranks: np.append(ranks, [999, 999]),
}
"""Ranks that the rule does not recognise."""

LEGITIMATE = {
    "reversed ranks in order": lambda _, n: np.arange(n, 0, -1),
    "a fixed number minus the rank": lambda numbers, n: 1000 - numbers.permutation(n),
    "integers up to 10": lambda numbers, n: numbers.integers(1, 11, n),
    "integers up to 100": lambda numbers, n: numbers.integers(1, 101, n),
    "integers up to 1000": lambda numbers, n: numbers.integers(1, 1001, n),
    "stars": lambda numbers, n: numbers.integers(1, 6, n),
    "half stars": lambda numbers, n: numbers.integers(1, 11, n) / 2,
    "counts": lambda numbers, n: numbers.poisson(4, n),
    "popularity": lambda numbers, n: np.minimum(numbers.zipf(1.6, n), 10**6),
    "prices": lambda numbers, n: np.floor(numbers.lognormal(3, 1, n)) + 1,
    "years": lambda numbers, n: numbers.integers(1990, 2027, n),
    "days since publication": lambda numbers, n: numbers.integers(1, 366, n),
    "ids": lambda numbers, n: numbers.choice(10**5, n) + 1,
    "codes": lambda numbers, n: numbers.choice([1, 2, 3, 9, 99], n),
    "rounded scores": lambda numbers, n: np.abs(np.round(numbers.gamma(3, 5, n))),
    "the preferred of two": lambda numbers, n: (numbers.permutation(n) == 0) * 1,
}
"""Scores whose highest value is the best, which must pass."""

AMBIGUOUS = {"reversed ranks in no order": lambda numbers, n: numbers.permutation(n) + 1}
"""Scores that nothing but a further column distinguishes from ranks."""

LENGTHS = {
    "2": lambda _, queries: np.full(queries, 2),
    "2 to 12": lambda numbers, queries: numbers.integers(2, 13, queries),
    "10": lambda _, queries: np.full(queries, 10),
    "100": lambda _, queries: np.full(queries, 100),
    "1 to 500, mostly few": lambda numbers, queries: np.clip(
        numbers.lognormal(1.5, 1.2, queries).astype(int) + 1, 1, 500
    ),
}


def measure_rate(kind: str, lengths: str, queries: int, draws: int) -> float:
    """Share of random columns that the rule takes for ranks."""
    refused = 0
    for seed in range(draws):
        numbers = rng(seed)
        columns = []
        for n in LENGTHS[lengths](numbers, queries):
            if make := LEGITIMATE.get(kind) or AMBIGUOUS.get(kind):
                columns.append(make(numbers, int(n)))
            else:
                ranks = numbers.permutation(int(n)) + 1
                columns.append((FORGOTTEN | UNNOTICED)[kind](numbers, ranks))
        refused += looks_like_ranks([column.astype(float) for column in columns])
    return refused / draws


@pytest.mark.parametrize("lengths", ["2 to 12", "10"])
@pytest.mark.parametrize("kind", FORGOTTEN)
def test_no_forgotten_direction_of_real_ranks_passes(kind, lengths):
    assert measure_rate(kind, lengths, 60, 20) == 1


@pytest.mark.slow
@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("kind", LEGITIMATE)
def test_no_legitimate_score_is_refused(kind, lengths):
    """Two documents per query show least: there, up to one column of 20 may look like ranks."""
    rate = measure_rate(kind, lengths, 60, {"2": 20, "100": 5}.get(lengths, 10))
    assert rate <= (0.05 if lengths == "2" else 0)


@pytest.mark.simulation
def test_the_rates_of_both_errors_are_those_of_the_book():
    """`-s` prints the table of rows.md: refused columns in percent, by number of queries."""
    rows = {}
    for kind in (*FORGOTTEN, *UNNOTICED, *AMBIGUOUS, *LEGITIMATE):
        rates = [
            [measure_rate(kind, lengths, queries, 60) for lengths in LENGTHS]
            for queries in (5, 12, 30, 100)
        ]
        rows[kind] = [f"{100 * np.mean(each):.0f}" for each in rates]
        print(f"| {kind} | {' | '.join(rows[kind])} |")
    book = (BOOK / "testing.md").read_text(encoding="utf-8")
    for kind, rates in rows.items():
        assert f"| {kind} | {' | '.join(rates)} |" in book


@pytest.mark.parametrize("name", ["rank", "Rank", "RANK"])
def test_one_query_suffices_for_a_column_that_is_called_rank(name):
    frame = pl.DataFrame({"query": [1, 1, 1], "grade": [2, 1, 0], name: [1, 2, 3]})
    with pytest.raises(ValueError, match="`descending` must be passed"):
        evaluate(frame, "ndcg", by=name)
    evaluate(frame.rename({name: "score"}), "ndcg")
    groups, by_score = frame.group_by("query"), graded("grade").ranked_by(pl.col(name) * 1)
    with pytest.raises(COLLECTED, match="`descending` must be passed for score"):
        groups.agg(graded("grade").ranked_by(name).ndcg())
    ascending = groups.agg(graded("grade").ranked_by(name, descending=False).ndcg())
    assert ascending["ndcg"].to_list() == [1]
    groups.agg(by_score.ndcg())
    frame = frame.with_columns(score=1.0)
    frame.group_by("query").agg(graded("grade").ranked_by("score", name).ndcg())


STACKED_RANKS = pl.DataFrame(
    {
        "strategy": ["a"] * 3 + ["b"] * 3,
        "query": 1,
        "doc": [*"xyz"] * 2,
        "grade": [2, 1, 0] * 2,
        "rank": [1, 2, 3] * 2,
    }
)


@pytest.mark.parametrize("flag", [False, True])
def test_the_hint_for_the_other_strategy_keeps_the_direction_of_the_first(flag):
    """Ranks of b were read as scores if the direction of a alone was passed."""
    options = {"by": "rank", "strategy": "strategy"}
    sentence = rf"score 'rank' of strategy 'b', .*\n\nHint: descending={{'a': {flag}, 'b': False}} "
    with pytest.raises(ValueError, match=sentence):
        evaluate(STACKED_RANKS, "ndcg", descending={"a": flag}, **options)
    values = evaluate(STACKED_RANKS, "ndcg", descending={"a": flag, "b": False}, **options)
    assert values["ndcg"].to_list() == [pytest.approx(0.5868826714) if flag else 1, 1]


@pytest.mark.parametrize("dtype", [pl.Enum(["1", "2", "3"]), pl.Date, pl.Decimal(3, 1), pl.UInt8])
def test_scores_of_any_type_have_a_direction_for_each_strategy(dtype):
    frame = STACKED_RANKS.rename({"rank": "value"}).with_columns(
        pl.col("value").cast(pl.String if dtype == pl.Enum else pl.Int32).cast(dtype)
    )
    options = {"strategy": "strategy", "descending": {"a": True, "b": False}}
    for by in ("value", {"computed": pl.col("value")}):
        values = evaluate(frame, "reciprocal_rank(threshold=2)", by=by, **options)
        assert values.to_series(2).to_list() == [pytest.approx(1 / 3), 1]


def test_texts_are_no_scores_in_any_direction():
    frame = STACKED_RANKS.cast({"rank": pl.String})
    for flag in (False, True):
        with pytest.raises(TypeError, match="score 'rank' must be a number to rank by, got String"):
            evaluate(frame, "ap", by="rank", strategy="strategy", descending={"a": flag, "b": flag})
