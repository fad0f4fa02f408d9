"""Scores that may be ranks: refused unless a direction is passed, wherever they are ranked."""

from __future__ import annotations

import random
import warnings

import numpy as np
import polars as pl
import pytest
from helpers import COLLECTED
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from results import rng

from polars_graded import (
    charts,
    evaluate,
    graded,
    judge,
    overview,
    read_letor,
    read_run,
    side_by_side,
)
from polars_graded._frames.engines.arrow import Worker, checked_schema
from polars_graded._frames.request import Request
from polars_graded._measuring.batches import Lists
from polars_graded._measuring.rank_columns import RankEvidence, RankLists
from polars_graded.trust import unjudged_bounds

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

WAYS = {
    "eager": lambda frame, **options: evaluate(frame, "ndcg@10", **options),
    "lazy": lambda frame, **options: evaluate(frame.lazy(), "ndcg@10", **options).collect(),
    "streaming": lambda frame, **options: evaluate(
        frame.sort("query", maintain_order=True).lazy(), "ndcg@10", parts="sorted", **options
    ).collect(engine="streaming"),
    "passes": lambda frame, **options: evaluate(frame, "ndcg@10", parts=3, **options),
    "scratch": lambda frame, **options: evaluate(frame, "ndcg@10", parts="scratch", **options),
    "bounds": lambda frame, **options: unjudged_bounds(frame, "ndcg@10", **options),
    "overview": overview,
}
WAY = pytest.mark.parametrize("way", WAYS)


@WAY
@pytest.mark.parametrize("name", ["old_rank", "control", "slot", "old", "oldrank", "score"])
def test_an_old_rank_beside_a_new_score_is_refused_whatever_it_is_called(way, name):
    with pytest.raises(COLLECTED, match=REFUSED.format(name)) as caught:
        WAYS[way](LOG.rename({"old_rank": name}), by=[name, "model"])
    message = str(caught.value)
    assert "in 60 of 60 queries" in message
    assert f"descending={{'{name}': False}} ranks its lowest value first" in message
    assert f"descending={{'{name}': True}} ranks its highest value first" in message


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


def test_the_direction_of_one_strategy_does_not_turn_another():
    """One Boolean for both, as a hint had it, gives the wrong sign."""
    means = evaluate(LOG, "ndcg@10", by=["old_rank", "model"], descending=[False, True])
    old, model = means.group_by("strategy", maintain_order=True).agg(pl.col("ndcg@10").mean())[
        "ndcg@10"
    ]
    both = evaluate(LOG, "ndcg@10", by=["old_rank", "model"], descending=False)
    alone = evaluate(LOG, "ndcg@10", by="model")["ndcg@10"].mean()
    assert model == pytest.approx(alone)
    turned = both.filter(strategy="model")["ndcg@10"].mean()
    assert (model - old) * (turned - old) < 0


def test_a_column_that_breaks_ties_is_looked_at_too():
    frame = LOG.with_columns(coarse=pl.col("model") > 1)
    with pytest.raises(ValueError, match=REFUSED.format("old_rank")) as caught:
        evaluate(frame, "ap", by=[["coarse", "old_rank"]])
    assert "descending={'coarse': [True, False]}" in str(caught.value)
    by_flags = evaluate(
        frame, "ap", by=[["coarse", "old_rank"]], descending={"coarse": [True, False]}
    )
    negated = frame.with_columns(old_rank=-pl.col("old_rank"))
    assert_frame_equal(by_flags, evaluate(negated, "ap", by=[["coarse", "old_rank"]]))
    numbered = frame.with_columns(doc="old_rank")  # ids of documents have no direction
    evaluate(numbered, "ap", by=[["coarse", "doc"]], ties="order")


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
    assert "descending=False ranks its lowest value first" in str(caught.value)
    with pytest.raises(COLLECTED, match=REFUSED.format("old_rank")):
        LOG.select(g.ranked_by("old_rank").ap().over("query"))
    with pytest.raises(COLLECTED, match=r"descending=\[True, False\] ranks its lowest"):
        LOG.group_by("query").agg(g.ranked_by("grade", "old_rank").measures("ap", "ndcg@10"))
    for flag in (False, True):
        LOG.group_by("query").agg(graded("grade").ranked_by("old_rank", descending=flag).ap())
    LOG.filter(pl.col("query") < 9).group_by("query").agg(g.ranked_by("old_rank").ap())
    LOG.group_by("query").agg(g.ranked_by("grade", pl.int_range(pl.len())).ap())


def test_what_judge_makes_is_refused_where_it_is_ranked():
    """Judged documents without a rank hide nothing; lists of ids have a score beside the rank."""
    runs = {
        str(query): dict(rows)
        for (query,), part in LOG.group_by("query")
        for rows in [part.select("doc", "old_rank").rows()]
    }
    judgments = LOG.select(pl.col("query").cast(pl.String), "doc", "grade")
    judgments = pl.concat([judgments, judgments.with_columns(doc=pl.lit("x")).unique("query")])
    with pytest.raises(ValueError, match=REFUSED.format("score")):
        evaluate(judge(runs, judgments), "ndcg@10")
    lists = {query: sorted(ranked, key=ranked.get) for query, ranked in runs.items()}
    judged = judge(lists, judgments)
    values = evaluate(judged, "ndcg@10")
    with pytest.raises(ValueError, match=REFUSED.format("rank")):
        evaluate(judged, "ndcg@10", by="rank")
    by_rank = evaluate(judged, "ndcg@10", by={"score": "rank"}, descending=False)
    assert_frame_equal(by_rank, values)


def test_the_ranks_of_one_stacked_strategy_among_scores_are_refused():
    stacked = pl.concat(
        LOG.select("query", "doc", "grade", score=pl.col(name).cast(pl.Float64), run=pl.lit(name))
        for name in ("old_rank", "model")
    ).sample(fraction=1, shuffle=True, seed=1)
    message = REFUSED.format("score") + " of strategy 'old_rank', whose values"
    with pytest.raises(ValueError, match=message) as caught:
        evaluate(stacked, "ndcg@10", strategy="run")
    hint = str(caught.value).partition("pass by=")[2]
    assert hint.startswith("{'score': pl.when(")
    values = evaluate(stacked, "ndcg@10", strategy="run", by=eval(hint))  # noqa: S307
    beside = evaluate(LOG, "ndcg@10", by=["model", "old_rank"], descending=[True, False])
    assert_frame_equal(values.rename({"run": "strategy"}), beside)


@pytest.mark.parametrize("dtype", [pl.Float64, pl.Float32, pl.Int8, pl.UInt32, pl.Decimal(9, 2)])
@pytest.mark.parametrize("first", [0, 1])
def test_ranks_of_any_type_count_from_0_or_1(dtype, first):
    frame = LOG.with_columns((pl.col("old_rank") - 1 + first).cast(dtype))
    with pytest.raises(ValueError, match=REFUSED.format("old_rank")):
        evaluate(frame, "ap", by="old_rank")


def test_engines_refuse_the_ranks_of_a_bucket():
    pytest.importorskip("pyarrow")
    table = LOG.to_arrow()
    request = Request.of(["ap"], by=["old_rank", "model"])
    with pytest.raises(ValueError, match=REFUSED.format("old_rank")):
        Worker(request, checked_schema(request, table.schema))(table.select(request.input_columns))
    computed = Request.of(["ap"], by={"old": -pl.col("old_rank")})
    rows = table.select(computed.input_columns)
    values = pl.DataFrame(Worker(computed, checked_schema(computed, table.schema))(rows))
    expected = evaluate(LOG, "ap", by={"old": "old_rank"}, descending=False)
    assert_frame_equal(values.sort("query"), expected, check_dtypes=False)


# What is no rank.


def counts(queries: list[list[float | None]]) -> RankEvidence:
    return RankLists.of(Lists.of(pl.Series(queries, dtype=pl.List(pl.Float64)))).evidence()


def slow_counts(queries: list[list[float | None]]) -> RankEvidence:
    found = [sorted(each for each in query if each is not None) for query in queries]
    found = [query for query in found if query]
    one = [query == [*range(1, len(query) + 1)] for query in found]
    zero = [query == [*range(len(query))] for query in found]
    long = [
        (up and len(query) > 1) or (down and len(query) > 2)
        for query, up, down in zip(found, one, zero, strict=True)
    ]
    either = [up or down for up, down in zip(one, zero, strict=True)]
    return RankEvidence(len(found), sum(either), sum(long))


number = st.one_of(st.none(), st.integers(-1, 4).map(float), st.sampled_from([0.5, 1.5, 1e300]))


@settings(max_examples=200)
@given(
    st.lists(
        st.one_of(
            st.lists(number, max_size=5),
            st.integers(0, 6).flatmap(
                lambda n: st.permutations([*map(float, range(1, n + 1)), None][: n + 1])
            ),
        ),
        max_size=20,
    )
)
def test_ranks_are_counted_as_a_loop_counts_them(queries):
    assert counts(queries) == slow_counts(queries)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_ranks_of_a_random_log_pass_and_no_other_scores_are_refused(data):
    """Names, order of rows, gaps of retrieval and a few broken queries do not matter."""
    seed = data.draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    queries = data.draw(st.integers(10, 40))
    broken = data.draw(st.integers(0, min(queries // 10, queries - 10)))
    name = data.draw(st.sampled_from(["control", "x", "score", "position", "Rang", "1"]))
    frames = []
    for query in range(queries):
        n = int(rng.integers(2, 9))
        ranks = rng.permutation(n) + 1.0
        if query < broken:
            ranks[ranks == n] = n + 3  # a document was removed
        missed = int(rng.integers(0, 3))
        frames.append(
            pl.DataFrame(
                {
                    "query": query,
                    "doc": [*range(n + missed)],
                    "grade": rng.integers(0, 3, n + missed),
                    name: [*ranks.tolist(), *[None] * missed],
                    "scored": [*rng.normal(size=n).tolist(), *[None] * missed],
                }
            )
        )
    frame = pl.concat(frames).sample(fraction=1, shuffle=True, seed=seed)
    with pytest.raises(ValueError, match=REFUSED.format(name)):
        evaluate(frame, "ap", by=[name, "scored"])
    with warnings.catch_warnings(action="ignore"):
        passed = evaluate(frame, "ap", by=[name, "scored"], descending={name: False})
        expected = evaluate(frame.with_columns(-pl.col(name)), "ap", by=[name, "scored"])
        for scores in (pl.col(name) * 2, pl.col(name) + 1, pl.col(name) / 8, -pl.col(name)):
            evaluate(frame.with_columns(scores), "ap", by=[name, "scored"])
    assert_frame_equal(passed, expected)


def test_few_queries_flags_and_single_documents_are_no_evidence():
    nine = LOG.filter(pl.col("query") < 9).rename({"old_rank": "old"})
    evaluate(nine, "ap", by="old")
    single = pl.DataFrame({"query": range(50), "grade": 1, "score": 1})
    evaluate(single, "ap")
    pairs = pl.DataFrame({"query": [*range(50)] * 2, "grade": [1, 0] * 50})
    evaluate(pairs.with_columns(score=pl.int_range(100) // 50), "ap")  # 0 and 1: chosen or not
    third = LOG.with_columns(
        pl.when(pl.col("query") % 3 == 0).then(pl.col("old_rank") * 2).otherwise("old_rank")
    )
    evaluate(third.rename({"old_rank": "old"}), "ap", by="old")


def test_no_column_of_real_runs_is_taken_for_ranks(data):
    """The rate of false refusals: 125 features of 106 queries, and the runs of trec_eval."""
    looked_at = 0
    for path in sorted(data.glob("ohsumed/*.gz")):
        rows = read_letor(path)
        features = [name for name in rows.columns if name.startswith("f")]
        evaluate(rows, "ndcg@10", by=features, ties="order")
        looked_at += len(features)
    assert looked_at == 125
    for path in data.glob("trec_eval/results.*.gz"):
        run = read_run(path)
        scores = Lists.of(run.group_by("query").agg("score")["score"])
        assert RankLists.of(scores).evidence().counting == 0


@pytest.mark.parametrize("share", [0, 0.8, 0.89, 0.9, 0.91, 1])
@pytest.mark.parametrize("order", ["ranks first", "ranks last", "shuffled"])
def test_a_look_at_some_queries_decides_as_a_look_at_all(share, order):
    """The check of a column stops only once too few queries can be left."""
    n = 400
    of_ranks = [query < round(share * n) for query in range(n)]
    if order != "ranks first":
        of_ranks = of_ranks[::-1] if order == "ranks last" else rng(0).permutation(of_ranks)
    ranks = [[1, 2, 3, 4] if each else [3, 3, 1, 2] for each in of_ranks]
    lists = Lists.of(pl.Series([*ranks, [], []], dtype=pl.List(pl.Int64)))
    every, some = RankLists.of(lists).evidence(), RankEvidence.of_all(lists)
    assert some.is_conclusive == every.is_conclusive == (share >= 0.9)
    assert some.queries == every.queries == n
    assert some == every if every.is_conclusive else some.counting >= every.counting


def test_one_query_side_by_side_has_the_direction_that_is_passed():
    with pytest.raises(ValueError, match=REFUSED.format("old_rank")):
        side_by_side(LOG, 3, by=["old_rank", "model"])
    with pytest.raises(ValueError, match=REFUSED.format("old_rank")):
        charts.rankings(LOG, 3, by=["old_rank", "model"])
    with pytest.raises(ValueError, match=REFUSED.format("old_rank")):
        side_by_side(LOG.lazy(), 3, by=["old_rank", "model"])
    options = {"by": ["old_rank", "model"], "descending": {"old_rank": False}, "ties": "order"}
    table = side_by_side(LOG, 3, **options)
    assert table["old_rank"].to_list() == [f"p{rank + 1}" for rank in range(table.height)][:10]


# Expressions of grades.


@WAY
def test_an_expression_of_the_grade_is_per_query_by_construction(way):
    """φ over the whole column would be another."""
    frame = LOG.with_columns(popularity=pl.col("grade") ** 2 + pl.col("old_rank") / 7)
    phi = pl.col("popularity").graded.phi_relevance()
    values = WAYS[way](frame, grade=phi, by="model", doc="doc")
    per_query = frame.with_columns(phi.over("query").alias("relevance"))
    assert_frame_equal(values, WAYS[way](per_query, grade="relevance", by="model"))
    if way != "overview":
        whole = frame.with_columns(phi.alias("relevance"))
        assert not values.equals(WAYS[way](whole, grade="relevance", by="model"))


def test_expressions_of_several_graders_and_of_stacked_strategies():
    phi = pl.col("old_rank").graded.phi_relevance()
    both = evaluate(LOG, "ap", grade={"people": "grade", "phi": phi}, by="model")
    alone = evaluate(LOG, "ap", grade=phi, by="model")
    assert_frame_equal(both.filter(grader="phi").drop("grader"), alone)
    stacked = pl.concat([LOG.with_columns(run=pl.lit(name)) for name in ("a", "b")])
    values = evaluate(stacked, "ap", grade=phi, by="model", strategy="run")
    assert values.filter(run="b")["ap"].to_list() == alone["ap"].to_list()
