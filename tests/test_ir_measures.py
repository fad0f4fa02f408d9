"""Every measure that ir_measures lists has a call here that gives its number for each query."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from helpers import needed, simulated

import polars_graded as pg
from polars_graded._measuring.measures import Measure

ir_measures = needed("ir_measures", ".[test,peers]")
needed("pyndeval", ".[test,peers]")

MAX_GRADE = 4
CALLS: dict[str, Any] = {
    "AP": "ap",
    "AP(rel=2)@20": "ap(threshold=2)@20",
    "AP_IA": "ap_ia",
    "Accuracy": "pairwise_accuracy",
    "Accuracy(rel=2)@30": "pairwise_accuracy(threshold=2)@30",
    "BPM(T=1.0,max_rel=4)@10": "bpm@10",
    "BPM(T=2.5,max_rel=4)@50": "bpm(target=2.5)@50",
    "Bpref": "bpref",
    "Compat(p=0.95)": "compat",
    "Compat(p=0.8,normalize=False)": "compat(p=0.8, normalised=False)",
    "ERR@10": "err@10",
    "ERR_IA@10": "err_ia@10",
    "INSQ(T=1.0,max_rel=4)": "insq@1000",
    "INSQ(T=3.0,max_rel=4)": "insq(target=3)@1000",
    "INST(T=1.0,max_rel=4)": "inst@1000",
    "INST(T=3.0,max_rel=4)": "inst(target=3)@1000",
    "IPrec@0.0": pl.col("interpolated_precision").list.first(),
    "IPrec@1.0": pl.col("interpolated_precision").list.last(),
    "Judged@10": "judged@10",
    "NERR8(max_rel=4)@10": "nerr8@10",
    "NERR8(max_rel=4)@600": "nerr8@600",
    "NERR9(max_rel=4)@10": "nerr9@10",
    "NERR9(max_rel=4)@600": "nerr9@600",
    "NERR10(p=0.9,max_rel=4)": "nerr10@1000",
    "NERR11(T=2.0,max_rel=4)": "nerr11(target=2)@1000",
    "NRBP": "nrbp",
    "NRBP(alpha=0.3,beta=0.8)": "nrbp(alpha=0.3, beta=0.8)",
    "NumQ": pl.lit(1),
    "NumRel": "n_relevant",
    "NumRelRet": "n_relevant_retrieved",
    "NumRet": "n_retrieved",
    "P@5": "precision@5",
    "P_IA@5": "precision_ia@5",
    "R@20": "recall@20",
    "RBP(rel=1,p=0.8)": "rbp@1000",
    "RR": "reciprocal_rank",
    "RR@10": "reciprocal_rank@10",
    "Rprec": "r_precision",
    "SDCG(max_rel=4)@10": "sdcg@10",
    "SDCG(max_rel=4)@600": "sdcg@600",
    "SetAP": pl.col("precision") * pl.col("recall"),
    "SetF": "f_measure",
    "SetP": "precision",
    "SetR": "recall",
    "SetRelP": pl.col("n_relevant_retrieved")
    / pl.min_horizontal("n_retrieved", pl.max_horizontal("n_relevant", 1)),
    "StRecall@5": "subtopic_recall@5",
    "Success@5": "success@5",
    "alpha_DCG@10": "alpha_dcg@10",
    "alpha_nDCG@10": "alpha_ndcg@10",
    "alpha_nDCG(alpha=0.3)@20": "alpha_ndcg(alpha=0.3)@20",
    "infAP": "infap",
    "nDCG": "ndcg(gain=linear)",
    "nDCG@10": "ndcg(gain=linear)@10",
    "nDCG(dcg='exp-log2')@10": "ndcg@10",
    "nERR_IA@10": "nerr_ia@10",
    "nNRBP": "nnrbp",
    "nNRBP(alpha=0.3,beta=0.8)": "nnrbp(alpha=0.3, beta=0.8)",
}
"""The calls here by those there, or what to compute of columns here."""

PRINTED = {"ERR@10": 1e-5, "nDCG(dcg='exp-log2')@10": 1e-5}
"""What gdeval prints with five decimals; all others agree to 1e-9."""

ORDERS: dict[str, Any] = {
    "as pytrec_eval": {"ties": "pytrec_eval", "descending": True},
    "as gdeval": {"ties": "trec_eval", "descending": True},
    "by document, ascending": {"by": [["score", "doc"]], "descending": [[True, False]]},
    "by row": {"ties": "order", "descending": True},
}
"""How ir_measures orders tied documents, as `evaluate` does."""


def order_of(name: str) -> str:
    """The order in which the library behind a measure has tied documents."""
    measure = Measure.parse(name)
    if measure.function == "err" or measure.options.get("gain") == "exp2":
        return "as gdeval"
    is_rr_at_k = measure.function == "reciprocal_rank" and measure.n is not None
    if is_rr_at_k or measure.function in ("judged", "compat") or measure.definition.input_names:
        return "by document, ascending"
    by_row = ("rbp", "pairwise_accuracy", "sdcg", "insq", "inst", "bpm")
    is_by_row = measure.function in by_row or measure.function.startswith("nerr1")
    return "by row" if is_by_row or measure.function in ("nerr8", "nerr9") else "as pytrec_eval"


COUNTED_BELOW_0 = ("infap", "judged@10")
"""Measures for which a grade below 0 is not as if there were none."""


def test_every_measure_of_the_registry_has_a_row():
    names = {ir_measures.parse_measure(call).NAME for call in CALLS}
    assert names == {measure.NAME for measure in ir_measures.measures.registry.values()}


def test_the_page_of_calls_has_a_row_for_every_measure():
    page = Path(__file__).parent.parent / "notebooks" / "book" / "how-to" / "tools.md"
    section = (
        page.read_text(encoding="utf-8")
        .split("## Every measure of ir_measures")[1]
        .split("\n## ")[0]
    )
    rows = re.findall(r"^\| (\w+)(?:@[kr])?(?:, \w+@k)? \| (.+?) \|", section, re.MULTILINE)
    calls = {name: re.findall(r"`(\w+)", call) for name, call in rows}
    here = {call.partition("@")[0].partition("(")[0]: each for call, each in CALLS.items()}
    assert calls.keys() - {"argument", "measure"} == here.keys()
    for name, call in here.items():
        if isinstance(call, str):
            assert Measure.parse(call).function in calls[name], name


class Collection:
    """Runs and judgments of documents and of their subtopics."""

    def __init__(self, run: pl.DataFrame, judgments: pl.DataFrame) -> None:
        # Compat orders what is equal by the order of judgments, here by document.
        self.judgments = judgments.sort("query", "doc")
        self.run = run
        # A document is judged for some of three subtopics, with its grade or as irrelevant.
        number = pl.col("doc").hash(3) % 7
        self.by_subtopic = pl.concat(
            judgments.with_columns(
                subtopic=pl.lit(name), grade=pl.when(number >= least).then("grade").otherwise(0)
            ).filter(number != 6 - least)
            for name, least in (("a", 0), ("b", 2), ("c", 4))
        )

    def theirs(self, calls: list[str], *, by_subtopic: bool) -> dict[str, dict[str, float]]:
        """The value of each query, by the measure as ir_measures writes it."""
        names = {"query_id": "query", "doc_id": "doc"}
        run = self.run.select(**names, score="score").to_pandas()
        judgments = self.by_subtopic if by_subtopic else self.judgments
        columns = (
            names | {"relevance": "grade"} | ({"iteration": "subtopic"} if by_subtopic else {})
        )
        qrels = judgments.select(**columns).to_pandas()
        measures = {ir_measures.parse_measure(call): call for call in calls}
        values: dict[str, dict[str, float]] = {call: {} for call in calls}
        # Of measures of subtopics with unlike options in one call, it computes only the first.
        for some in [[each] for each in measures] if by_subtopic else [[*measures]]:
            for each in ir_measures.iter_calc(some, qrels, run):
                values[measures[each.measure]][each.query_id] = each.value
        return values

    def ours(self, names, *, by_subtopic, unjudged_below):
        frame = pg.join_judgments(
            self.run,
            self.by_subtopic if by_subtopic else self.judgments,
            subtopic="subtopic" if by_subtopic else None,
            unjudged_below=unjudged_below,
        )
        options: dict[str, Any] = {"max_grade": MAX_GRADE, "undefined_as": 0}
        parts = []
        for order, ties in ORDERS.items():
            some = {column: name for column, name in names.items() if order_of(name) == order}
            if some:
                needs = any(Measure.parse(name).definition.input_names for name in some.values())
                inputs = {"subtopics": "subtopics"} if needs else {}
                parts.append(pg.evaluate(frame, some, **ties, **inputs, **options))
        first, *others = parts
        others = [each.drop("strategy", "query") for each in others]
        return pl.concat([first, *others], how="horizontal")


def make_collection(_: Path | None) -> Collection:
    """Queries of 1 to 60 documents with many ties, of which some are unjudged or missed."""
    numbers = random.Random(5)
    run, judgments = [], []
    for query in map(str, range(30)):
        docs = [f"d{number:02}" for number in range(numbers.choice([1, 3, 20, 60]))]
        grades = {
            doc: numbers.choice([-1, 0, 0, 1, 2, 4]) for doc in docs if numbers.random() < 0.8
        }
        grades["d00"] = numbers.choice([1, 2])  # pytrec_eval crashes if all grades are below 0
        judgments += [(query, doc, grade) for doc, grade in grades.items()]
        run += [(query, "u0", 2.0), (query, "u1", 0.5)]
        run += [
            (query, doc, numbers.choice([1.0, 2.0, 3.5])) for doc in docs if numbers.random() < 0.8
        ]
    return Collection(
        pl.DataFrame(run, ["query", "doc", "score"], orient="row"),
        pl.DataFrame(judgments, ["query", "doc", "grade"], orient="row"),
    )


def read_trec_eval(data: Path) -> Collection:
    """Three topics of 500 documents with tied scores, and grades from -1 to 4."""
    folder = data / "trec_eval"
    run, judgments = folder / "results.test.gz", folder / "qrels.rel_level.gz"
    return Collection(pg.read_run(run).select("query", "doc", "score"), pg.read_qrels(judgments))


def read_ohsumed(data: Path) -> Collection:
    """106 queries of 35 to 320 documents, ranked by a feature with ties."""
    rows = pg.read_letor(str(data / "ohsumed" / "*.gz"))
    rows = rows.filter(pl.col("grade").max().over("query") > 0)
    return Collection(rows.select("query", "doc", score="f5"), rows.select("query", "doc", "grade"))


@pytest.fixture(params=[make_collection, read_trec_eval, *simulated(read_ohsumed)])
def collection(request: pytest.FixtureRequest) -> Collection:
    read = request.param
    return read(None if read is make_collection else request.getfixturevalue("data"))


def kind_of(here: Any) -> str:
    """The judgments that a call needs."""
    if not isinstance(here, str):
        return "judged"
    if here in COUNTED_BELOW_0:
        return "below 0"
    return "subtopics" if Measure.parse(here).definition.input_names else "judged"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_every_call_gives_the_number_of_each_query(collection):
    curve = {"interpolated_precision": "interpolated_precision(recall_levels=11)"}
    wrong = []
    for kind in ("judged", "below 0", "subtopics"):
        calls = {call: here for call, here in CALLS.items() if kind_of(here) == kind}
        by_subtopic = kind == "subtopics"
        names = curve | {each: each for each in calls.values() if isinstance(each, str)}
        frame = collection.ours(
            names, by_subtopic=by_subtopic, unjudged_below=0 if kind == "judged" else None
        )
        theirs = collection.theirs([*calls], by_subtopic=by_subtopic)
        for call, here in calls.items():
            column = pl.col(here) if isinstance(here, str) else here
            values = dict(frame.select("query", value=column).iter_rows())
            assert theirs[call], call
            wrong += [
                f"{call} of {query}: {values[query]}, not {value}"
                for query, value in theirs[call].items()
                if values[query] is None or abs(values[query] - value) > PRINTED.get(call, 1e-9)
            ]
    assert wrong == []
