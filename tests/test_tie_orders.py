"""Tied runs give each tool's own number under the tool's name, and one order by default."""

from __future__ import annotations

import math
import warnings
from typing import Any

import polars as pl
import pytest
from helpers import needed
from polars.testing import assert_frame_equal
from results import rng

import polars_graded as pg

pytestmark = pytest.mark.filterwarnings("ignore:the judged share of the first ten")
"""A quarter of the documents is unjudged."""

IR_MEASURES = {
    "P@10": "precision@10",
    "P(rel=2)@5": "precision(threshold=2)@5",
    "RR": "reciprocal_rank",
    "RR@10": "reciprocal_rank@10",
    "RR@3": "reciprocal_rank@3",
    "AP": "ap",
    "AP@10": "ap@10",
    "Rprec": "r_precision",
    "Bpref": "bpref",
    "Success@1": "success@1",
    "nDCG@10": "ndcg(gain=linear)@10",
    "Judged@10": "judged@10",
    "RBP(rel=1,p=0.8)": "rbp",
}
GDEVAL = {"ERR@20": "err@20", "nDCG(dcg='exp-log2')@10": "ndcg@10"}
RANX = {
    "precision@10": "precision@10",
    "mrr@10": "reciprocal_rank@10",
    "map": "ap",
    "ndcg@10": "ndcg(gain=linear)@10",
    "ndcg_burges@10": "ndcg@10",
    "hit_rate@3": "success@3",
}
TREC_EVAL = {
    "map": "ap",
    "P_5": "precision@5",
    "recip_rank": "reciprocal_rank",
    "Rprec": "r_precision",
    "bpref": "bpref",
    "ndcg_cut_10": "ndcg(gain=linear)@10",
}


@pytest.fixture(scope="module", params=["f4", "f12"])
def tied(request, data):
    """A heavily tied run of OHSUMED in an order of its own, and the judgments of three quarters."""
    frame = pg.read_letor([data / f"ohsumed/fold{fold}.testset.txt.gz" for fold in range(1, 6)])
    frame = frame.select("query", "doc", "grade", score=pl.col(request.param))
    run = (
        frame.filter(pl.col("doc").hash(seed=3) % 9 != 0)
        .drop("grade")
        .sample(fraction=1, shuffle=True, seed=7)
    )
    judgments = frame.drop("score").filter(pl.col("doc").hash(seed=1) % 4 != 0)
    relevant = judgments.filter((pl.col("grade") > 0).any().over("query"))
    return run.join(relevant.select("query").unique(), on="query", how="semi"), relevant


def nested(frame: pl.DataFrame, column: str) -> dict[str, dict[str, Any]]:
    result: dict[str, dict[str, Any]] = {}
    for query, doc, value in frame.select("query", "doc", column).iter_rows():
        result.setdefault(query, {})[doc] = value
    return result


def ours(tied, measure: str, ties: Any, **options: Any) -> dict[str, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pg.DataWarning.ties)
        values = pg.evaluate(pg.join_judgments(*tied), {"value": measure}, ties=ties, **options)
    return dict(values.select("query", "value").iter_rows())


def differing(theirs: dict[str, float], found: dict[str, float], within: float = 1e-9) -> int:
    assert set(theirs) == set(found)
    return sum(abs(theirs[query] - found[query]) > within for query in theirs)


def of_ir_measures(tied, name: str) -> dict[str, float]:
    ir_measures = needed("ir_measures", ".[peers]")
    run, judgments = tied
    measures = [ir_measures.parse_measure(name)]
    values = ir_measures.iter_calc(measures, nested(judgments, "grade"), nested(run, "score"))
    return {each.query_id: each.value for each in values}


@pytest.mark.parametrize("name", IR_MEASURES)
def test_ir_measures_on_tied_runs(tied, name):
    theirs = of_ir_measures(tied, name)
    assert differing(theirs, ours(tied, IR_MEASURES[name], "ir_measures")) == 0


def test_measures_of_one_call_have_the_order_that_ir_measures_has_for_each(tied):
    judged, names = pg.join_judgments(*tied), list(IR_MEASURES.values())
    together = pg.evaluate(judged, *names, ties="ir_measures")
    for name in names:
        assert_frame_equal(
            together.select(
                "strategy", "query", pg.evaluate(judged, name, ties="order").columns[2]
            ),
            pg.evaluate(judged, name, ties="ir_measures"),
        )
    # The names matter: no one order gives all of these numbers.
    for one in ("doc", "order"):
        theirs = {name: of_ir_measures(tied, name) for name in ("RR", "RR@10", "RBP(rel=1,p=0.8)")}
        assert any(differing(theirs[name], ours(tied, IR_MEASURES[name], one)) for name in theirs)


@pytest.mark.parametrize("name", GDEVAL)
def test_gdeval_on_tied_runs(tied, name):
    needed("ir_measures", ".[peers]")
    theirs = of_ir_measures(tied, name)
    found = ours(tied, GDEVAL[name], "ir_measures", max_grade=4)
    assert differing(theirs, found, within=1e-5) == 0  # it prints five decimals


def test_sdcg_of_ir_measures_keeps_the_order_of_rows(tied):
    theirs = of_ir_measures(tied, "SDCG(max_rel=2)@10")
    most = 2 * sum(1 / math.log2(rank + 1) for rank in range(1, 11))
    found = ours(tied, "dcg(gain=linear)@10", "ir_measures")
    assert differing(theirs, {query: value / most for query, value in found.items()}) == 0


@pytest.mark.parametrize("name", RANX)
def test_ranx_on_tied_runs(tied, name):
    ranx = needed("ranx", ".[peers]")
    run, judgments = tied
    qrels, ranked = ranx.Qrels(nested(judgments, "grade")), ranx.Run(nested(run, "score"))
    values = ranx.evaluate(qrels, ranked, name, return_mean=False)
    theirs = dict(zip(sorted(judgments["query"].unique()), values, strict=True))
    assert differing(theirs, ours(tied, RANX[name], "ranx")) == 0
    assert differing(theirs, ours(tied, RANX[name], "doc")) > 0


@pytest.mark.parametrize("name", TREC_EVAL)
def test_pytrec_eval_on_tied_runs_with_scores_that_differ_beyond_32_bits(tied, name):
    pytrec_eval = needed("pytrec_eval", ".[peers]")
    run, judgments = tied
    # No two scores of a query are equal now; in 32 bits most of the ties are there again.
    row = pl.int_range(pl.len()).over("query")
    run = run.with_columns(score=1 + pl.col("score") + row * 1e-12)
    assert not run.select(pl.struct("query", "score").is_duplicated().any()).item()
    single = run.with_columns(pl.col("score").cast(pl.Float32))
    assert single.select(pl.struct("query", "score").is_duplicated().mean()).item() > 0.5
    asked = {name.replace("P_", "P.").replace("cut_", "cut.")}
    evaluator = pytrec_eval.RelevanceEvaluator(nested(judgments, "grade"), asked)
    theirs = {
        query: values[name] for query, values in evaluator.evaluate(nested(run, "score")).items()
    }
    assert differing(theirs, ours((run, judgments), TREC_EVAL[name], "pytrec_eval")) == 0
    assert differing(theirs, ours((run, judgments), TREC_EVAL[name], "doc")) > 0
    assert differing(theirs, ours((run, judgments), TREC_EVAL[name], "trec_eval")) > 0


def test_default_order_is_that_of_the_document_as_text_whatever_the_order_of_rows(tied):
    run, judgments = tied
    names = ["ap", "precision@10", "ndcg@10"]
    with pytest.warns(pg.DataWarning.ties, match="and 'doc' decides which comes first"):
        by_default = pg.evaluate(pg.join_judgments(run, judgments), names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pg.DataWarning.ties)
        shuffled = pg.join_judgments(run.sample(fraction=1, shuffle=True, seed=1), judgments)
        assert_frame_equal(pg.evaluate(shuffled, names), by_default)
        assert_frame_equal(pg.evaluate(shuffled.lazy(), names).collect(), by_default)
        apart = shuffled.sample(fraction=1, shuffle=True, seed=2)
        assert_frame_equal(pg.evaluate(apart, names), by_default)
        # Documents that are numbers are compared as text, as the command reads them.
        number = pl.col("doc").cast(pl.Int64)
        assert_frame_equal(pg.evaluate(shuffled.with_columns(number), names), by_default)
    assert_frame_equal(pg.evaluate(shuffled, names, ties="doc"), by_default)
    with warnings.catch_warnings():
        warnings.simplefilter("error", pg.DataWarning.ties)
        by_row = pg.evaluate(pg.join_judgments(run, judgments), names, ties="order")
    assert (by_row["ap"] - by_default["ap"]).abs().max() > 0.01


def test_warning_names_the_strategies_that_ties_change_most(data):
    frame = pg.read_letor([data / f"ohsumed/fold{fold}.testset.txt.gz" for fold in range(1, 6)])
    features = ["f6", "f25", "f10", "f4", "f1"]
    with pytest.warns(pg.DataWarning.ties) as caught:
        pg.evaluate(frame, "precision@10", by=features)
    [sentence] = [str(each.message) for each in caught]
    changes = {}
    for name in features:
        ends = (f"precision(ties={way})@10" for way in ("pessimistic", "optimistic"))
        low, high = (pg.evaluate(frame, end, by=name)[:, -1] for end in ends)
        changes[name] = (high - low > 1e-9).sum()
    most = sorted(changes, key=lambda name: -changes[name])
    named = ", ".join(f"{name!r} in {changes[name]}" for name in most[:3])
    affected = sum(map(bool, changes.values()))
    more = f" and {affected - 3} more strategies" if affected > 3 else ""
    assert f"({named}{more}), and 'doc' decides" in sentence
    assert most[:3] != features[:3]


def test_measures_that_average_over_ties_do_so_whatever_orders_tied_documents():
    frame = pl.DataFrame({"query": 1, "doc": ["a", "b"], "grade": [1, 0], "score": [1.0, 1.0]})
    for ties in (None, "trec_eval", "pytrec_eval", "ir_measures", "order"):
        found = pg.evaluate(frame, "precision(ties=average)@1", "roc_auc", ties=ties)
        assert found.row(0)[2:] == (0.5, 0.5)
    with pytest.warns(pg.DataWarning.ties):
        assert pg.evaluate(frame, "precision@1")["precision@1"].item() == 0


def test_column_of_documents_of_a_tool_is_named():
    frame = pl.DataFrame({"query": 1, "item": ["a", "b"], "grade": [0, 1], "score": [1.0, 1.0]})
    found = pg.evaluate(frame, "success@1", ties={"trec_eval": "item"})
    assert found["success@1"].item() == 1
    assert pg.evaluate(frame, "success@1", ties="trec_eval").equals(found)
    with pytest.raises(ValueError, match="ties='trec_eval' needs the column of documents, got no"):
        pg.evaluate(frame.rename({"item": "thing"}), "success@1", ties="trec_eval")
    with pytest.raises(
        ValueError, match="`ties` must map one of trec_eval, pytrec_eval, ir_measures"
    ):
        pg.evaluate(frame, "success@1", ties={"ndeval": "item"})
    with pytest.raises(ValueError, match="'pytrec_eval' to show documents by rank, got 'ranx'"):
        pg.side_by_side(frame, 1, doc="item", ties="ranx")
    shown = pg.side_by_side(frame, 1, doc="item", ties={"trec_eval": "item"})
    assert shown["score"].to_list() == ["b", "a"]


@pytest.mark.parametrize(
    ("scores", "by_64", "by_32"),
    [
        ([1.00000001, 1.0], 1, 0),
        ([1e-50, 1e-60], 1, 0),  # both are 0 in 32 bits
        ([2**53 + 1, 2**53], 0, 0),  # doubles, too, are equal
        ([2**30 + 1, 2**30], 1, 0),
        ([1.5, 1.0], 1, 1),
        ([1.0, 1.0], 0, 0),
    ],
)
def test_trec_eval_10_compares_doubles_and_pytrec_eval_floats(scores, by_64, by_32):
    """The values are those that the two versions print for this run."""
    frame = pl.DataFrame({"query": 1, "doc": ["a", "b"], "grade": [1, 0], "score": scores})
    for ties, expected in (("trec_eval", by_64), ("pytrec_eval", by_32), ("ir_measures", by_32)):
        for rows in (frame, frame.reverse(), frame.lazy()):
            found = pg.evaluate(rows, "success@1", ties=ties).lazy().collect()
            assert found["success@1"].item() == expected
        if ties != "ir_measures":
            first = pg.side_by_side(frame, 1, ties=ties)["score"][0]
            assert first == ("a" if expected else "b")
            similar = pg.similarity(
                frame.with_columns(order=pl.Series([2, 1])),
                "jaccard@1",
                by=["score", "order"],
                ties=ties,
            )
            assert similar["jaccard@1"].item() == expected


MANY = [
    *("ap", "mu_ap", "gap", "bpref", "r_precision", "reciprocal_rank", "rbp", "err"),
    *("ndcg@10", "ndcng@5", "precision@3", "judged@10", "q_measure", "generalized_recall@4"),
    *("interpolated_precision", "dcg_curve@6", "ndcg(gain=linear)@2"),
]
TIED = ["roc_auc", "ndcg(ties=average)@7", "precision(ties=average)@2", "ap(ties=optimistic)"]
"""What leaves documents of one score tied."""


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("condensed", [False, True])
def test_documents_of_one_score_and_grade_need_no_order(seed, condensed):
    """Every value is that of all tied documents in order, which a column of `ties` puts there."""
    draw = rng(seed)
    n = 3_000
    frame = pl.DataFrame(
        {
            "query": draw.integers(0, 60, n),
            "doc": [f"d{number}" if number % 9 else None for number in draw.permutation(n)],
            "grade": [None if grade > 3 else grade for grade in draw.integers(0, 5, n).tolist()],
            "score": [None if s == 0 else s / 2 for s in draw.integers(0, 5, n).tolist()],
        },
        schema_overrides={"grade": pl.Int64, "score": pl.Float64},
    )
    options = {"condensed": condensed, "max_grade": 3}
    with warnings.catch_warnings(action="ignore"):
        found = pg.evaluate(frame, *MANY, *TIED, **options)
        ordered = pg.evaluate(frame, *MANY, ties="doc", **options)
        rows = pg.evaluate(frame, *MANY, *TIED, ties="order", **options)
    assert_frame_equal(found.drop(TIED), ordered, rel_tol=1e-12)
    assert_frame_equal(found.select(TIED), rows.select(TIED), rel_tol=1e-12)
    assert not found["ap"].equals(rows["ap"])


def test_ranx_orders_by_the_lowest_value_if_it_is_the_best():
    needed("numba", ".[peers]")
    frame = pl.DataFrame({"query": [1] * 3, "grade": [1, 0, 0], "cost": [0.1, 0.5, 0.9]})
    values = pg.evaluate(frame, "reciprocal_rank", by="cost", descending=False, ties="ranx")
    assert values["reciprocal_rank"].to_list() == [1.0]
