"""Tied runs give each tool's own number under the tool's name, and one order by default."""

from __future__ import annotations

import warnings
from typing import Any

import polars as pl
import pytest
from helpers import needed
from polars.testing import assert_frame_equal

import polars_graded as pg

pytestmark = pytest.mark.filterwarnings("ignore:the judged share of the first ten")
"""A quarter of the documents is unjudged."""

IR_MEASURES = {
    "P@10": "precision@10",
    "P(rel=2)@5": "precision(threshold=2)@5",
    "RR": "reciprocal_rank",
    "AP": "ap",
    "AP@10": "ap@10",
    "Rprec": "r_precision",
    "Bpref": "bpref",
    "Success@1": "success@1",
    "nDCG@10": "ndcg(gain=linear)@10",
}
GDEVAL = {"ERR@20": "err@20", "nDCG(dcg='exp-log2')@10": "ndcg@10"}
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
    assert differing(theirs, ours(tied, IR_MEASURES[name], "pytrec_eval")) == 0


@pytest.mark.parametrize("name", GDEVAL)
def test_gdeval_on_tied_runs(tied, name):
    needed("ir_measures", ".[peers]")
    theirs = of_ir_measures(tied, name)
    found = ours(tied, GDEVAL[name], "trec_eval", max_grade=4)
    assert differing(theirs, found, within=1e-5) == 0  # it prints five decimals


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


def test_column_of_documents_of_a_tool_is_named():
    frame = pl.DataFrame({"query": 1, "item": ["a", "b"], "grade": [0, 1], "score": [1.0, 1.0]})
    found = pg.evaluate(frame, "success@1", ties={"trec_eval": "item"})
    assert found["success@1"].item() == 1
    assert pg.evaluate(frame, "success@1", ties="trec_eval").equals(found)
    with pytest.raises(ValueError, match="ties='trec_eval' needs the column of documents, got no"):
        pg.evaluate(frame.rename({"item": "thing"}), "success@1", ties="trec_eval")
    with pytest.raises(ValueError, match="`ties` must map one of trec_eval or pytrec_eval"):
        pg.evaluate(frame, "success@1", ties={"ndeval": "item"})
    shown = pg.side_by_side(frame, 1, doc="item", ties={"trec_eval": "item"})
    assert shown["score"].to_list() == ["b", "a"]
