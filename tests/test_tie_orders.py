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


def ours(tied, measures: dict[str, str], ties: Any, **options: Any) -> pl.DataFrame:
    """Our values, in columns with the names of the other tool."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pg.DataWarning.ties)
        return pg.evaluate(pg.join_judgments(*tied), measures, ties=ties, **options)


def differing(theirs: dict[str, dict[str, float]], found: pl.DataFrame) -> dict[str, int]:
    """The number of queries whose value differs, by the name of the measure."""
    values = found.rows_by_key("query", named=True, unique=True)
    assert all(set(by_query) == set(values) for by_query in theirs.values())
    within = {name: 1e-5 if name in GDEVAL else 1e-9 for name in theirs}  # it prints five decimals
    return {
        name: sum(abs(by_query[query] - values[query][name]) > within[name] for query in by_query)
        for name, by_query in theirs.items()
    }


def test_ir_measures_on_tied_runs(tied):
    ir_measures = needed("ir_measures", ".[peers]")
    run, judgments = tied
    names = {str(ir_measures.parse_measure(name)): name for name in IR_MEASURES | GDEVAL}
    measures = map(ir_measures.parse_measure, IR_MEASURES | GDEVAL)
    theirs: dict[str, dict[str, float]] = {name: {} for name in names.values()}
    for each in ir_measures.iter_calc(measures, nested(judgments, "grade"), nested(run, "score")):
        theirs[names[str(each.measure)]][each.query_id] = each.value
    of_gdeval = {name: theirs.pop(name) for name in GDEVAL}
    found = differing(theirs, ours(tied, IR_MEASURES, "pytrec_eval"))
    assert found == dict.fromkeys(IR_MEASURES, 0)
    found = differing(of_gdeval, ours(tied, GDEVAL, "trec_eval", max_grade=4))
    assert found == dict.fromkeys(GDEVAL, 0)


def test_pytrec_eval_on_tied_runs_with_scores_that_differ_beyond_32_bits(tied):
    pytrec_eval = needed("pytrec_eval", ".[peers]")
    run, judgments = tied
    # No two scores of a query are equal now; in 32 bits most of the ties are there again.
    row = pl.int_range(pl.len()).over("query")
    run = run.with_columns(score=1 + pl.col("score") + row * 1e-12)
    assert not run.select(pl.struct("query", "score").is_duplicated().any()).item()
    single = run.with_columns(pl.col("score").cast(pl.Float32))
    assert single.select(pl.struct("query", "score").is_duplicated().mean()).item() > 0.5
    asked = {name.replace("P_", "P.").replace("cut_", "cut.") for name in TREC_EVAL}
    evaluator = pytrec_eval.RelevanceEvaluator(nested(judgments, "grade"), asked)
    values = evaluator.evaluate(nested(run, "score"))
    theirs = {name: {query: found[name] for query, found in values.items()} for name in TREC_EVAL}
    of_ties = {
        ties: differing(theirs, ours((run, judgments), TREC_EVAL, ties))
        for ties in ("pytrec_eval", "doc", "trec_eval")
    }
    assert of_ties["pytrec_eval"] == dict.fromkeys(TREC_EVAL, 0)
    assert all(of_ties["doc"].values())
    assert all(of_ties["trec_eval"].values())


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
