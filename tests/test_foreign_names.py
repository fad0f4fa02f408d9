"""What other tools call their measures is answered with the call that gives the same number."""

from __future__ import annotations

import math
import random
import re
from functools import cache

import polars as pl
import pytest
from helpers import frame_of, needed
from registry import FURTHER_COLUMNS

from polars_graded import evaluate, join_judgments
from polars_graded._measuring.definitions import DEFINITIONS
from polars_graded._measuring.foreign_names import _read_tables, translate_foreign_name
from polars_graded._measuring.measures import Measure

TREC_EVAL = {
    "map": "ap",
    "map_cut_10": "ap@10",
    "map_cut.5": "ap@5",
    "P_5": "precision@5",
    "P.10": "precision@10",
    "recall_5": "recall@5",
    "recall_30": "recall@30",
    "success_1": "success@1",
    "relative_P_5": "recall(over=cutoff)@5",
    "ndcg_cut_10": "ndcg(gain=linear)@10",
    "ndcg_cut.5": "ndcg(gain=linear)@5",
    "recip_rank": "reciprocal_rank",
    "Rprec": "r_precision",
    "set_P": "precision",
    "set_recall": "recall",
    "set_F": "f_measure",
    "num_ret": "n_retrieved",
    "num_rel": "n_relevant",
    "num_rel_ret": "n_relevant_retrieved",
    "iprec_at_recall_0.00": "interpolated_precision(recall_levels=[0.00])",
    "iprec_at_recall_1.00": "interpolated_precision(recall_levels=[1.00])",
}
IR_MEASURES = {
    "AP": "ap",
    "AP@10": "ap@10",
    "AP(rel=2)": "ap(threshold=2)",
    "AP(rel=2)@100": "ap(threshold=2)@100",
    "Bpref": "bpref",
    "Bpref(rel=2)": "bpref(threshold=2)",
    "Judged@10": "judged@10",
    "NumRel": "n_relevant",
    "NumRelRet": "n_relevant_retrieved",
    "NumRet": "n_retrieved",
    "NumRet(rel=2)": "n_relevant_retrieved(threshold=2)",
    "P@5": "precision@5",
    "P(rel=2)@5": "precision(threshold=2)@5",
    "R@20": "recall@20",
    "R(rel=2)@20": "recall(threshold=2)@20",
    "RBP(rel=1,p=0.8)": "rbp(threshold=1,p=0.8)",
    "RBP(rel=2, p=0.5)": "rbp(threshold=2, p=0.5)",
    "RR": "reciprocal_rank",
    "RR@3": "reciprocal_rank@3",
    "RR(rel=2)": "reciprocal_rank(threshold=2)",
    "Rprec(rel=2)": "r_precision(threshold=2)",
    "SetF": "f_measure",
    "SetP": "precision",
    "SetR": "recall",
    "Success@5": "success@5",
    "nDCG": "ndcg(gain=linear)",
    "nDCG@10": "ndcg(gain=linear)@10",
    "IPrec@0.0": "interpolated_precision(recall_levels=[0.0])",
    "IPrec@1.0": "interpolated_precision(recall_levels=[1.0])",
}
RANX = {
    "hits": "n_relevant_retrieved",
    "hits@5": "n_relevant_retrieved@5",
    "hit_rate": "success",
    "hit_rate@5": "success@5",
    "f1": "f_measure",
    "f1@5": "f_measure@5",
    "mrr": "reciprocal_rank",
    "mrr@3": "reciprocal_rank@3",
    "map@10": "ap@10",
    "r-precision": "r_precision",
    "dcg_burges@10": "dcg@10",
    "ndcg_burges": "ndcg",
    "ndcg_burges@10": "ndcg@10",
}
SCIKIT_LEARN = {
    "average_precision": "ap",
    "average_precision_score": "ap",
    "label_ranking_average_precision_score": "ap",
    "roc_auc_score": "roc_auc",
    "ndcg_score": "ndcg(gain=linear, ties=average)",
    "ndcg_score(k=10)": "ndcg(gain=linear, ties=average)@10",
    "dcg_score(k=5)": "dcg(gain=linear, ties=average)@5",
}

random_numbers = random.Random(7)
JUDGMENTS = {
    f"q{q}": {"d0": 2, "d1": 0}
    | {f"d{d}": random_numbers.choice([0, 0, 1, 2, 3]) for d in range(2, 30)}
    for q in range(8)
}
RUN = {
    f"q{q}": dict(
        zip(
            [f"d{d}" for d in random_numbers.sample(range(40), 25)],
            map(float, random_numbers.sample(range(1000), 25)),
            strict=True,
        )
    )
    for q in range(8)
}


@cache
def ours(call: str) -> dict[str, float]:
    per_query = evaluate(join_judgments(RUN, JUDGMENTS), call)
    values = per_query.to_series(2)
    if isinstance(values.dtype, pl.List):
        values = values.list.first()
    return dict(zip(per_query["query"], values, strict=True))


def assert_same(name: str, call: str, theirs: dict[str, float]) -> None:
    (here,) = {found.measure for found in translate_foreign_name(name) if found.measure == call}
    found = ours(here)
    assert found.keys() == theirs.keys()
    for query, value in theirs.items():
        assert math.isclose(found[query], value, rel_tol=1e-6, abs_tol=1e-9), (name, query)


@pytest.mark.parametrize(("name", "call"), TREC_EVAL.items())
def test_trec_eval(name, call):
    pytrec_eval = needed("pytrec_eval", ".[peers]")
    family, _, parameter = name.rpartition("_")
    plain = name.replace("_5", ".5").replace("_1", ".1").replace("_30", ".30")
    asked = f"{family}.{parameter}" if parameter[:1].isdigit() else plain
    found = pytrec_eval.RelevanceEvaluator(JUDGMENTS, {asked}).evaluate(RUN)
    key = asked.replace(".", "_", 1)
    assert_same(name, call, {query: values[key] for query, values in found.items()})


@pytest.mark.parametrize(("name", "call"), IR_MEASURES.items())
def test_ir_measures(name, call):
    ir_measures = needed("ir_measures", ".[peers]")
    measure = ir_measures.parse_measure(name)
    found = ir_measures.iter_calc([measure], JUDGMENTS, RUN)
    theirs = {metric.query_id: metric.value for metric in found}
    assert_same(name, call, theirs)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "call"), RANX.items())
def test_ranx(name, call):
    ranx = needed("ranx", ".[peers]")
    qrels, run = ranx.Qrels(JUDGMENTS), ranx.Run(RUN)
    found = ranx.evaluate(qrels, run, name, return_mean=False, make_comparable=True)
    assert_same(name, call, dict(zip(qrels.keys(), map(float, found), strict=True)))


@pytest.mark.parametrize(("name", "call"), SCIKIT_LEARN.items())
def test_scikit_learn(name, call):
    metrics = needed("sklearn.metrics", ".[peers]")
    function, _, k = name.removesuffix(")").partition("(k=")
    function = function if function.endswith("_score") else f"{function}_score"
    binary = function.startswith(("average", "roc", "label"))
    # It knows of no document without a score or without a grade.
    judged = join_judgments(RUN, JUDGMENTS).drop_nulls()
    found = {}
    for (query,), group in judged.group_by("query"):
        grades = group["grade"].to_numpy()
        grades, scores = (grades > 0 if binary else grades), group["score"].to_numpy()
        in_rows = not function.startswith(("average", "roc"))
        options = {"k": int(k)} if k else {}
        value = getattr(metrics, function)(
            *([grades], [scores]) if in_rows else (grades, scores), **options
        )
        found[query] = float(value)
    here = next(each.measure for each in translate_foreign_name(name))
    assert here == call
    values = evaluate(judged, here)
    for query, value in values.select("query", pl.nth(2)).iter_rows():
        assert math.isclose(value, found[query], rel_tol=1e-9), (name, query)


def test_lightgbm_and_xgboost_count_queries_without_a_relevant_document_otherwise():
    # Their documentation: ndcg of a query without gain is 1 for both, and 0 with XGBoost's "-".
    assert translate_foreign_name("nDCG(dcg='exp-log2')@10") == [("ir_measures", "ndcg@10", "")]
    assert translate_foreign_name("ndcg@10-") == [("XGBoost", "ndcg@10", "")]
    assert translate_foreign_name("map@10-") == [("XGBoost", "ap(over=cutoff)@10", "")]
    assert ("LightGBM", "ap(over=cutoff)@5", " with undefined_as=1") in translate_foreign_name(
        "map@5"
    )
    frame = pl.DataFrame({"query": [1, 1], "grade": [0, 0], "score": [2, 1]})
    assert evaluate(frame, "ndcg@10")["ndcg@10"].item() == 0
    assert evaluate(frame, "ndcg@10", undefined_as=1)["ndcg@10"].item() == 1


@pytest.mark.parametrize(
    ("name", "tool"), [("IPrec@0.5", "ir_measures"), ("iprec_at_recall_0.50", "trec_eval")]
)
def test_a_number_that_is_a_list_here_is_answered_with_how_to_get_it(name, tool):
    frame = pl.DataFrame({"query": [1, 1], "grade": [0, 1], "score": [2.0, 1.0]})
    with pytest.raises(
        ValueError, match=f"of {tool} is '(.*)' here, with (.*) of its column$"
    ) as error:
        evaluate(frame, name)
    call, how = re.search("is '(.*)' here, with (.*) of its column", str(error.value)).groups()
    values = evaluate(frame, call).get_column(call)
    assert how == ".list.first()"
    assert values.list.first().to_list() == [1 / 2]


FALSE_FRIENDS = {
    "coverage@10": "in the table of pg.catalogue.*'coverage_ratio' is about relevant documents",
    "entropy@10": "in the table of pg.catalogue",
    "item_novelty": "is 'novelty' of a column of popularity",
    "EPC@10": "by rank and relevance, which polars_graded does not have",
    "ILD@10": "'ILD@10' of RecTools is 'diversity@10' here",
    "aggregate_diversity@10": "compares the lists of all users, which polars_graded does not have",
    "hit@10": "'hit@10' of recommenders is 'success@10' here",
    "accuracy@10": "'accuracy@10' of Sentence Transformers is 'success@10' here",
    "Accuracy@10": "'Accuracy@10' of ir_measures is 'pairwise_accuracy@10' here; .*success@10",
}


@pytest.mark.parametrize("name", FALSE_FRIENDS)
def test_false_friends_are_answered_with_what_is_meant_or_that_there_is_none(name):
    with pytest.raises(ValueError, match=f"there is no measure '{name}'\n\nHint: ") as caught:
        Measure.parse(name)
    assert re.search(FALSE_FRIENDS[name], str(caught.value))
    assert "did you mean" not in str(caught.value)


def test_every_alias_and_definition_is_a_measure():
    tables = _read_tables()
    assert list(tables["aliases"]) == sorted(tables["aliases"])
    for name, measure in tables["aliases"].items():
        assert name not in DEFINITIONS
        assert Measure.try_parse(measure)
    for name, calls in tables["definitions"].items():
        cutoff = name.partition("@")[1] and "@10"
        assert all(Measure.try_parse(measure + cutoff) for measure, _ in calls)


def test_the_measures_that_are_listed_can_be_named():
    with pytest.raises(
        ValueError, match="there is no measure 'goodman_gamma'; there are "
    ) as caught:
        Measure.parse("goodman_gamma")
    row = frame_of([[(1.0, 1.0)]])
    for name in str(caught.value).partition("there are ")[2].split(", "):
        evaluate(
            row, name, **{each: FURTHER_COLUMNS[each] for each in DEFINITIONS[name].input_names}
        )
