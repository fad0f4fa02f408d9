"""What measures share that stand side by side in one query: the work, and never other data."""

from __future__ import annotations

import gc
import pickle
import random
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import polars as pl
import pytest
from helpers import frame_of, random_queries
from polars.testing import assert_frame_equal
from registry import ROWS

from polars_graded import graded
from polars_graded._measuring import expression, shared

FEW = [
    row for row in ROWS if not row.name.startswith(("coverage", "novelty", "relative", "recall_e"))
]
"""All but those that look at known documents, which have lists of their own."""


def ranked(*by):
    return graded("grade").ranked_by(*(by or ("score",)))


def measured(expr):
    return [row.of(expr) for row in FEW]


def alone(frame, keys="query"):
    """The values of each measure in a query of its own."""
    each = [frame.group_by(keys, maintain_order=True).agg(row.of(ranked())) for row in FEW]
    return pl.concat([each[0], *(one.drop(keys) for one in each[1:])], how="horizontal")


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_one_ranking_is_ranked_once_however_many_measures_ask_for_it(calls, engine):
    lazy = frame_of(random_queries(6, 500)).lazy().group_by("query").agg(measured(ranked()))
    lazy.collect(engine=engine)
    assert calls == [500]
    lazy.collect(engine=engine)
    assert calls == [500, 500]


def test_side_by_side_they_are_what_they_are_alone_to_the_last_bit():
    frame = frame_of(random_queries(3, 300))
    expected = alone(frame)
    for ask in (
        lambda exprs: frame.group_by("query", maintain_order=True).agg(exprs),
        lambda exprs: frame.select("query", *(e.over("query") for e in exprs)).unique(
            "query", keep="first", maintain_order=True
        ),
        lambda exprs: frame.lazy().group_by("query", maintain_order=True).agg(exprs).collect(),
    ):
        assert_frame_equal(ask(measured(ranked())), expected, check_exact=True)


def test_of_other_rows_each_measure_sees_its_own():
    """One ranking over two ways to group, and filtered, in one query."""
    frame = frame_of(random_queries(5, 60)).with_columns(half=pl.col("query") % 2)
    g = ranked()
    found = frame.select(
        a=g.ap().over("query"),
        b=g.ap().over("half"),
        c=g.ndcg(5).over("half"),
        d=g.ndcg(5).over("query"),
    )
    for name, key in (("a", "query"), ("b", "half"), ("c", "half"), ("d", "query")):
        expr = ranked().ap() if name in "ab" else ranked().ndcg(5)
        assert found[name].to_list() == frame.select(expr.over(key)).to_series().to_list()


def test_the_same_expressions_serve_one_frame_after_the_other():
    g = ranked()
    exprs = [g.ap(), g.ndcg(5), g.mu_ap()]
    for seed in range(3):
        frame = frame_of(random_queries(seed, 50))
        found = frame.group_by("query", maintain_order=True).agg(exprs)
        for column, expr in (("ap", ranked().ap()), ("mu_ap", ranked().mu_ap())):
            own = frame.group_by("query", maintain_order=True).agg(expr)
            assert found[column].to_list() == own[column].to_list()


def test_grades_alone_tell_two_frames_apart():
    """Scores are equal, so that only the grades can say that the values are of another frame."""
    g, frame = ranked(), frame_of(random_queries(8, 40))
    exprs = [g.ap(), g.ndcg(5)]
    other = frame.with_columns(pl.col("grade").reverse())
    lazy = [
        each.lazy().group_by("query", maintain_order=True).agg(exprs) for each in (frame, other)
    ]
    for found, rows in zip(pl.collect_all(lazy), (frame, other), strict=True):
        own = rows.group_by("query", maintain_order=True).agg(ranked().ap(), ranked().ndcg(5))
        assert_frame_equal(found, own, check_exact=True)


def test_threads_that_share_expressions_get_their_own_values():
    g = ranked()
    exprs = [g.ap(), g.ndcg(5), g.precision(3), g.measures("mu_ap", "err")]
    frames = [frame_of(random_queries(seed, 80)) for seed in range(8)]

    def ask(frame, exprs=exprs):
        return frame.group_by("query", maintain_order=True).agg(exprs)

    expected = [ask(frame, [ranked().ap(), ranked().ndcg(5)]) for frame in frames]
    turns = [random.Random(1).randrange(len(frames)) for _ in range(60)]
    with ThreadPoolExecutor(4) as pool:
        for turn, found in zip(turns, pool.map(lambda turn: ask(frames[turn]), turns), strict=True):
            assert_frame_equal(found.select("query", "ap", "ndcg@5"), expected[turn])


def test_nothing_is_kept_once_a_query_has_run(monkeypatch):
    seen, of = [], expression._documents

    def noted(ranking, lists):
        seen.extend(map(weakref.ref, lists))
        return of(ranking, lists)

    monkeypatch.setattr(expression, "_documents", noted)
    g = ranked()
    exprs = measured(g)
    frame_of(random_queries(2, 50)).group_by("query").agg(exprs)
    gc.collect()
    assert seen
    assert not any(each() for each in seen)


def test_who_is_no_part_of_a_query_is_not_computed_with_it_twice(calls, monkeypatch):
    measured, of = [], expression.computed

    def noted(measures, *others, **options):
        measured.append([each.name for each in measures])
        return of(measures, *others, **options)

    monkeypatch.setattr(expression, "computed", noted)
    g, frames = ranked(), [frame_of(random_queries(seed, 20)) for seed in range(4)]
    ap, ndcg = g.ap(), g.ndcg(5)
    frames[0].group_by("query").agg(ap)
    frames[1].group_by("query").agg(ap)
    assert measured == [["ap", "ndcg@5"], ["ap"]]
    assert g._shared._waiting is None
    for frame in frames[2:]:
        measured.clear()
        frame.group_by("query").agg(ap, ndcg)
    assert sorted(map(sorted, measured)) == [["ap", "ndcg@5"]]
    assert len(calls) == 2 + 2 + 1  # the first time they meet again each is measured alone


def test_what_nobody_asks_for_is_let_go(monkeypatch):
    monkeypatch.setattr(shared, "MANY", 0)
    monkeypatch.setattr(shared, "PATIENCE", 0.01)
    g, frame = ranked(), frame_of(random_queries(2, 50))
    exprs = [g.ap(), g.ndcg(5)]
    frame.group_by("query").agg(exprs[0])
    for _ in range(500):
        if g._shared._waiting is None:
            break
        time.sleep(0.01)
    assert g._shared._waiting is None


def test_what_one_measure_cannot_take_is_not_said_of_another():
    g = ranked()
    other, run = g.dcg(5), g.ap()
    frame = pl.DataFrame({"query": [1, 1], "grade": [2000, 1], "score": [2, 1]})
    assert frame.group_by("query").agg(run)["ap"].to_list() == [1.0]
    with pytest.raises(ValueError, match="grade 'grade'"):
        frame.group_by("query").agg(run, other)


def test_an_expression_serves_on_after_a_frame_that_it_refused():
    expr = ranked().ap()
    good = frame_of(random_queries(2, 5))
    bad = good.with_columns(pl.col("grade").cast(pl.String))
    for _ in range(2):
        with pytest.raises(
            (TypeError, pl.exceptions.PolarsError), match=r"^grade 'grade' must be a number"
        ):
            bad.group_by("query").agg(expr)
        assert good.group_by("query").agg(expr).height == 5


def test_batches_in_turn_are_told_apart():
    g, frames = ranked(), [frame_of(random_queries(seed, 20)) for seed in range(6)]
    exprs = [g.ap(), g.ndcg(5)]
    parts = [frame.lazy().group_by("query", maintain_order=True).agg(exprs) for frame in frames]
    found = pl.concat(parts).collect()
    own = pl.concat(
        [frame.group_by("query", maintain_order=True).agg(ranked().ap()) for frame in frames]
    )
    assert found["ap"].to_list() == own["ap"].to_list()


def test_ties_broken_by_text_are_shared_too():
    frame = frame_of(random_queries(4, 30)).with_columns(
        doc=pl.int_range(pl.len()).cast(pl.String), score=pl.col("score").round(0)
    )
    g = ranked("score", "doc")
    found = frame.group_by("query", maintain_order=True).agg(g.ap(), g.mu_ap())
    own = frame.group_by("query", maintain_order=True).agg(
        ranked("score", "doc").ap(), ranked("score", "doc").mu_ap()
    )
    assert_frame_equal(found, own, check_exact=True)


def test_an_expression_can_be_sent_elsewhere():
    g = ranked()
    g.ap()
    sent = pickle.loads(pickle.dumps(g._shared))  # noqa: S301, made here
    assert sent._waiting is None
