"""Scores that may be ranks: refused unless a direction is passed, wherever they are ranked."""

from __future__ import annotations

import random
import warnings
from collections.abc import Sequence
from itertools import combinations, product

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
    join_judgments,
    overview,
    read_letor,
    read_run,
    side_by_side,
)
from polars_graded._frames.engines.arrow import Worker, build_result_schema
from polars_graded._frames.request import Request
from polars_graded._measuring import rank_columns
from polars_graded._measuring.batches import Lists
from polars_graded._measuring.rank_columns import RankEvidence
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


def test_the_direction_of_one_strategy_does_not_turn_another():
    """One Boolean for both, as a hint had it, gives the wrong sign."""
    means = evaluate(LOG, "ndcg@10", by=["old_rank", "model"], descending=[False, True])
    old, model = means.group_by("strategy", maintain_order=True).agg(pl.col("ndcg@10").mean())[
        "ndcg@10"
    ]
    both = evaluate(LOG, "ndcg@10", by=["old_rank", "model"], descending=[False, False])
    alone = evaluate(LOG, "ndcg@10", by="model")["ndcg@10"].mean()
    assert model == pytest.approx(alone)
    turned = both.filter(strategy="model")["ndcg@10"].mean()
    assert (model - old) * (turned - old) < 0


@WAY
def test_one_false_for_scores_beside_ranks_is_refused(way):
    with pytest.raises(COLLECTED, match="must not cover scores and ranks alike") as caught:
        WAYS[way](LOG, by=["old_rank", "model"], descending=False)
    hint = str(caught.value).partition("Hint: ")[2]
    assert hint.startswith("descending={'old_rank': False} reverses 'old_rank' alone; ")
    assert "descending={'old_rank': False, 'model': False} ranks the lowest" in hint
    WAYS[way](LOG, by=["old_rank", "model"], descending=[False, False])
    distances = LOG.select("query", "doc", "grade", far=pl.col("model"), near=pl.col("model") * 2)
    WAYS[way](distances, by=["far", "near"], descending=False)  # nothing looks like ranks
    ranks = LOG.with_columns(other=pl.col("old_rank"))
    WAYS[way](ranks, by=["old_rank", "other"], descending=False)


def test_one_false_for_stacked_scores_beside_ranks_is_refused():
    stacked = pl.concat(
        LOG.select("query", "doc", "grade", score=pl.col(name).cast(pl.Float64), run=pl.lit(name))
        for name in ("old_rank", "model")
    )
    with pytest.raises(ValueError, match="must not cover scores and ranks alike") as caught:
        evaluate(stacked, "ndcg@10", strategy="run", descending=False)
    call = str(caught.value).partition("Hint: by=")[2].partition(" reverses")[0]
    values = evaluate(stacked, "ndcg@10", strategy="run", by=eval(call))  # noqa: S307
    beside = evaluate(LOG, "ndcg@10", by=["old_rank", "model"], descending=[False, True])
    assert_frame_equal(values.rename({"run": "strategy"}), beside, check_row_order=False)
    evaluate(stacked, "ndcg@10", strategy="run", descending=[False])


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
    assert "descending=False ranks the lowest value first" in str(caught.value)
    with pytest.raises(COLLECTED, match=REFUSED.format("old_rank")):
        LOG.select(g.ranked_by("old_rank").ap().over("query"))
    with pytest.raises(COLLECTED, match=r"descending=\[True, False\] ranks the lowest"):
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
        evaluate(join_judgments(runs, judgments), "ndcg@10")
    lists = {query: sorted(ranked, key=ranked.get) for query, ranked in runs.items()}
    judged = join_judgments(lists, judgments)
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
    hint = str(caught.value).partition("Hint: by=")[2].partition(" reverses")[0]
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
        Worker(request, build_result_schema(request, table.schema))(
            table.select(request.input_columns)
        )
    computed = Request.of(["ap"], by={"old": -pl.col("old_rank")})
    rows = table.select(computed.input_columns)
    values = pl.DataFrame(Worker(computed, build_result_schema(computed, table.schema))(rows))
    expected = evaluate(LOG, "ap", by={"old": "old_rank"}, descending=False)
    assert_frame_equal(values.sort("query"), expected, check_dtypes=False)


# What is no rank.


def evidence_of(queries: list[list[float | None]]) -> RankEvidence:
    return RankEvidence.of(Lists.of(pl.Series(queries, dtype=pl.List(pl.Float64))))


def count_pairs(numbers: Sequence[float]) -> int:
    return sum(one == other for one, other in combinations(numbers, 2))


def slow_evidence(queries: list[list[float | None]]) -> RankEvidence:
    """Expected pairs by listing all numbers between the lowest and highest that take both."""
    evidence = RankEvidence()
    top = max((each for query in queries for each in query if (each or 0) >= 1), default=0)
    for query in queries:
        every = sorted(each for each in query if each is not None)
        if not every:
            continue
        low = [each for each in every if each < 1]
        high = [each for each in every if each == top >= 1]
        high = high if len(high) > 1 else []
        numbers = [each for each in every if each >= 1 and not (high and each == top)]
        halves = all(2 * number % 1 == 0 for number in every)
        n, up = len(numbers), numbers == [*range(1, len(numbers) + 1)]
        numbers = [number // 1 for number in numbers]
        slots = numbers[-1] - numbers[0] + 1 if numbers else 0
        spread = n > 0 and halves and slots <= 50 * n
        first, slots = (numbers[0], slots) if spread else (0, 0)
        tied, expected, informative = 0, 0.0, spread and n > 2 and slots > 1
        if informative:
            tied = count_pairs(numbers)
            lists = [
                each
                for each in product(range(int(slots)), repeat=n)
                if min(each) == 0 and max(each) == slots - 1
            ]
            expected = sum(map(count_pairs, lists)) / len(lists)
        counts = up and spread
        evidence += RankEvidence(
            *(1, counts, counts and n > 1, spread, first, slots, informative, tied, expected),
            *(len(low) if len(low) > 1 else 0, len(high)),
        )
    return evidence


number = st.one_of(st.none(), st.integers(-1, 4).map(float), st.sampled_from([0.5, 1.5, 1e300]))


@pytest.mark.slow
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
def test_evidence_is_counted_as_a_loop_counts_it(queries):
    assert vars(evidence_of(queries)) == pytest.approx(vars(slow_evidence(queries)))


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
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
        for scores in (pl.col(name) / 8, -pl.col(name), pl.col(name) ** 8):
            evaluate(frame.with_columns(scores), "ap", by=[name, "scored"])
    assert_frame_equal(passed, expected)


@pytest.mark.parametrize("code", [0, -1])
def test_codes_below_1_among_ranks_are_not_ranked_first(code):
    shown = pl.when(pl.col("old_rank") < 6).then("old_rank")
    coded = LOG.with_columns(old_rank=shown.otherwise(code))
    with pytest.raises(
        ValueError, match=r"REFUSED".replace("REFUSED", REFUSED.format("old_rank"))
    ) as caught:
        evaluate(coded, "ap", by=["old_rank", "model"])
    assert " numbers below 1; if they mean not retrieved, make them null" in str(caught.value)
    with pytest.raises(
        ValueError, match="numbers below 1 among ranks, which `descending="
    ) as caught:
        evaluate(coded, "ap", by=["old_rank", "model"], descending={"old_rank": False})
    call = str(caught.value).partition("Hint: by=")[2].partition(" makes them null")[0]
    by = eval(call) | {"model": "model"}  # noqa: S307
    values = evaluate(coded, "ap", by=by, descending={"old_rank": False})
    nulls = LOG.with_columns(shown.alias("old_rank"))
    ranked = evaluate(nulls, "ap", by=["old_rank", "model"], descending={"old_rank": False})
    assert_frame_equal(values, ranked)


def test_few_queries_flags_and_single_documents_are_no_evidence():
    two = LOG.filter(pl.col("query") < 2).rename({"old_rank": "old"})
    evaluate(two, "ap", by="old")
    single = pl.DataFrame({"query": range(50), "grade": 1, "score": 1})
    evaluate(single, "ap")
    pairs = pl.DataFrame({"query": [*range(50)] * 2, "grade": [1, 0] * 50})
    evaluate(pairs.with_columns(score=pl.int_range(100) // 50), "ap")  # 0 and 1: chosen or not
    third = LOG.with_columns(
        pl.when(pl.col("query") % 3 == 0).then(pl.col("old_rank") * 0.3).otherwise("old_rank")
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
        assert not RankEvidence.of(scores).is_conclusive


@pytest.mark.parametrize("share", [0, 0.85, 0.95, 1])
@pytest.mark.parametrize("order", ["ranks first", "ranks last", "shuffled"])
def test_a_look_at_some_queries_decides_as_a_look_at_all(monkeypatch, share, order):
    n = 4000
    of_ranks = [query < round(share * n) for query in range(n)]
    if order != "ranks first":
        of_ranks = of_ranks[::-1] if order == "ranks last" else rng(0).permutation(of_ranks)
    queries = [[1.0, 2.0, 3.0, 4.0] if each else [3.5, 3.7, 0.1] for each in of_ranks]
    every = evidence_of(queries)
    monkeypatch.setattr(rank_columns, "MAX_ROWS", 11_000)
    some = evidence_of(queries)
    assert some.queries < n / 3
    assert some.is_conclusive == every.is_conclusive == (share >= 0.9)


DAMAGES = {
    "complete": lambda log: log,
    "5 % of rows lost": lambda log: log.filter(rng(1).random(log.height) >= 0.05),
    "45 % of rows lost": lambda log: log.filter(rng(1).random(log.height) >= 0.45),
    "80 % of rows lost": lambda log: log.filter(rng(1).random(log.height) >= 0.8),
    "a row twice in 30 % of queries": lambda log: pl.concat(
        [log, log.filter(pl.col("query") % 10 < 3).unique("query", maintain_order=True)]
    ),
    "10 % of rows twice": lambda log: pl.concat([log, log.filter(rng(1).random(log.height) < 0.1)]),
    "from 0": lambda log: log.with_columns(pl.col("control") - 1),
    "the second page": lambda log: log.with_columns(pl.col("control") + 20),
    "two on a rank": lambda log: log.with_columns((pl.col("control") + 1) // 2),
    "averages of tied ranks": lambda log: log.with_columns(
        (pl.col("control") * 0.8).floor().rank().over("query")
    ),
    "some tied, the next left out": lambda log: log.with_columns(
        (pl.col("control") * 0.8).floor().rank("min").over("query")
    ),
    "every tenth only": lambda log: log.with_columns(pl.col("control") * 10),
    "0 for what was not shown": lambda log: log.with_columns(
        control=pl.when(pl.col("control") < 13).then("control").otherwise(0)
    ),
    "-1 for what was not shown": lambda log: log.with_columns(
        control=pl.when(pl.col("control") < 13).then("control").otherwise(-1)
    ),
    "999 for what was not shown": lambda log: log.with_columns(
        control=pl.when(pl.col("control") < 13).then("control").otherwise(999)
    ),
    "three on a rank": lambda log: log.with_columns((pl.col("control") + 2) // 3),
    "five queries": lambda log: log.filter(pl.col("query") < 5),
    "unretrieved": lambda log: log.with_columns(
        control=pl.when(pl.col("control") < 13).then("control")
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("dtype", [pl.Int32, pl.Float64])
def test_ranks_are_refused_whatever_happened_to_the_rows(damage, dtype):
    numbers = rng(0)
    n = numbers.integers(10, 21, 300)
    log = pl.DataFrame(
        {
            "query": np.repeat(np.arange(300), n),
            "grade": numbers.integers(0, 4, n.sum()),
            "control": np.concatenate([numbers.permutation(each) + 1 for each in n]),
        }
    ).with_columns(model=pl.Series(numbers.normal(size=n.sum())))
    log = DAMAGES[damage](log).sample(fraction=1, shuffle=True, seed=1)
    if damage != "averages of tied ranks":
        log = log.with_columns(pl.col("control").cast(dtype))
    with pytest.raises(ValueError, match=REFUSED.format("control")):
        evaluate(log, "ndcg@10", by=["control", "model"], doc=None, ties="order")
    with pytest.raises(COLLECTED, match="`descending` must be passed"):
        log.group_by("query").agg(pl.col("grade").graded.ranked_by("control").ndcg(10))


def test_a_fixed_number_less_the_rank_is_a_score():
    runs = [[100.0 - rank for rank in range(25)], [1000.0 - rank for rank in range(100)]] * 20
    assert not evidence_of(runs).is_conclusive
    assert evidence_of([[1000.0 - rank for rank in range(1000)]] * 20).is_conclusive


UNRELATED = {
    "even": lambda numbers, spread, n: numbers.integers(0, spread, n),
    "counts": lambda numbers, spread, n: numbers.poisson(spread / 3, n),
    "clicks": lambda numbers, spread, n: numbers.geometric(1 / (1 + spread / 4), n) - 1,
    "popularity": lambda numbers, _, n: np.minimum(numbers.zipf(1.6, n), 10**6),
    "half stars": lambda numbers, _, n: numbers.integers(1, 11, n) / 2,
    "rounded": lambda numbers, spread, n: np.abs(np.round(numbers.normal(spread, spread / 3, n))),
    "prices": lambda numbers, spread, n: np.floor(numbers.lognormal(np.log(spread), 1, n)),
    "the best of many": lambda numbers, spread, n: np.sort(numbers.poisson(spread, 9 * n))[-n:],
    "half chosen": lambda numbers, _, n: numbers.permutation(np.arange(n) % 2),
    "ids": lambda numbers, _, n: numbers.choice(10**6, n),
}


@pytest.mark.parametrize("kind", UNRELATED)
@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from([2, 3, 5, 10, 30, 100, 1000]),
    st.sampled_from([2, 3, 5, 10, 30]),
    st.integers(10, 200),
)
def test_whole_numbers_that_are_unrelated_are_not_refused(kind, seed, spread, longest, queries):
    numbers = rng(seed)
    lengths = numbers.integers(2, longest + 1, queries)
    drawn = [UNRELATED[kind](numbers, spread, n).astype(float).tolist() for n in lengths]
    assert not evidence_of(drawn).has_few_repeats


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
