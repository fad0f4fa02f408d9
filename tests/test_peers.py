"""Which call gives which number of which other tool, and where the two differ on purpose.

A line of a table is what the other tool calls its number, and our call. Where ours is an
expression, it is one over the columns that `evaluate` gives.
"""

from __future__ import annotations

import gzip
import math
import warnings
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from helpers import needed

from polars_graded import evaluate, join_judgments, read_qrels, read_run, summarise
from polars_graded._measuring.measures import Measure

if TYPE_CHECKING:
    from collections.abc import Mapping


def of(name: str) -> pl.Expr:
    """The column of a measure."""
    return pl.col(Measure.parse(name).name)


@dataclass(frozen=True)
class Ours:
    """A call that is more than the name of a measure."""

    value: pl.Expr | str
    grade: pl.Expr = field(default_factory=lambda: pl.col("grade"))
    options: Mapping[str, Any] = field(default_factory=dict)
    """The keywords of `evaluate`."""

    @property
    def expr(self) -> pl.Expr:
        """The value, over the columns of `evaluate`."""
        return of(self.value) if isinstance(self.value, str) else self.value


def at_highest(highest: float, value: pl.Expr | str) -> Ours:
    """A measure that looks at the highest grade of the scale."""
    return Ours(value, options={"max_grade": highest})


R = of("n_relevant").cast(pl.Float64)
RETRIEVED = of("n_retrieved").cast(pl.Float64)
HITS = of("n_relevant_retrieved").cast(pl.Float64)
RELEVANT = pl.col("grade") >= 1
UNJUDGED = pl.col("grade").is_null()
DISCOUNTS_TO_10 = sum(1 / math.log2(rank + 1) for rank in range(1, 11))
"""The DCG of ten documents of gain 1."""


def or_0(ratio: pl.Expr) -> pl.Expr:
    """0 where there was nothing to divide by."""
    return ratio.fill_nan(0.0)


# trec_eval, and pytrec_eval, which is its code: `ranked_by("score", "doc")`, and `threshold=2`
# where it is called with `-l2`.

CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
RECALL_LEVELS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
DEPTHS = {f"{m:.2f}": (m * R + 0.9).floor() for m in (0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.4, 1.6, 1.8, 2)}
"""Multiples of R, rounded as trec_eval does it."""

TREC_EVAL = {
    "num_ret": RETRIEVED,
    "num_rel": R,
    "num_rel_ret": HITS,
    "num_nonrel_judged_ret": of("judged") * RETRIEVED - HITS,
    "map": "ap",
    "Rprec": "r_precision",
    "bpref": "bpref",
    "recip_rank": "reciprocal_rank",
    "ndcg": "ndcg(gain=linear)",
    "set_P": "precision",
    "set_recall": "recall",
    "set_F": "f_measure",
    "set_map": of("precision") * of("recall"),
    "set_relative_P": or_0(HITS / pl.min_horizontal(RETRIEVED, R)),
    "utility": 2 * HITS - RETRIEVED,
    **{f"P_{n}": f"precision@{n}" for n in CUTOFFS},
    **{f"recall_{n}": f"recall@{n}" for n in CUTOFFS},
    **{f"map_cut_{n}": f"ap@{n}" for n in CUTOFFS},
    **{f"ndcg_cut_{n}": f"ndcg(gain=linear)@{n}" for n in CUTOFFS},
    **{f"success_{n}": f"success@{n}" for n in (1, 5, 10)},
    **{f"relative_P_{n}": f"recall(over=cutoff)@{n}" for n in CUTOFFS},
    **{
        f"Rprec_mult_{m}": or_0(of("recall_curve@1000").list.get(depth.cast(int) - 1) * R / depth)
        for m, depth in DEPTHS.items()
    },
}
TREC_EVAL_ALONE = {
    "rbp": "rbp(p=0.9, graded=True)",
    "rbp_resid": Ours(
        pl.when(of("rbp(p=0.9, graded=True)") > 0)
        .then(of("rbp(p=0.9, graded=True)") + 0.9**RETRIEVED)
        .otherwise(0.0),
        grade=UNJUDGED,
    ),
    **{
        f"unj_{n}": (1 - of(f"judged@{n}")) * pl.min_horizontal(n, RETRIEVED) / n
        for n in (5, 10, 20)
    },
}
"""What trec_eval 9, and so pytrec_eval, does not have."""
GEOMETRIC_MEANS = {"gm_map": "ap", "gm_bpref": "bpref"}

# ranx, whose `-l2` is our `threshold=2`.

RANX_GRADED = {
    "dcg": "dcg(gain=linear)",
    "dcg@10": "dcg(gain=linear)@10",
    "dcg_burges": "dcg",
    "dcg_burges@10": "dcg@10",
    "ndcg": "ndcg(gain=linear)",
    "ndcg@10": "ndcg(gain=linear)@10",
    "ndcg_burges": "ndcg",
    "ndcg_burges@10": "ndcg@10",
    # Its gains are grades, not parts of the highest one.
    "rbp.80": at_highest(2, 2 * of("rbp(graded=True)")),
    "rbp.50": at_highest(2, 2 * of("rbp(p=0.5, graded=True)")),
}

# scikit-learn: a function, its keywords, and the lowest relevant grade where it takes labels.

TIED = [
    ("ndcg_score", {}, None, "ndcg(gain=linear, ties=average)"),
    ("ndcg_score", {"k": 10}, None, "ndcg(gain=linear, ties=average)@10"),
    ("dcg_score", {"k": 10}, None, "dcg(gain=linear, ties=average)@10"),
    ("dcg_score", {"log_base": 10}, None, "dcg(gain=linear, base=10, ties=average)"),
    ("roc_auc_score", {}, 1, "roc_auc"),
    ("roc_auc_score", {}, 2, "roc_auc(threshold=2)"),
]
UNTIED = [
    ("ndcg_score", {"k": 10, "ignore_ties": True}, None, "ndcg(gain=linear)@10"),
    ("dcg_score", {"ignore_ties": True}, None, "dcg(gain=linear)"),
    ("average_precision_score", {}, 1, "ap"),
    ("average_precision_score", {}, 2, "ap(threshold=2)"),
    ("label_ranking_average_precision_score", {}, 1, "ap"),
    ("label_ranking_loss", {}, 1, 1 - of("roc_auc")),
]
OF_ROWS_OF_QUERIES = ("ndcg_score", "dcg_score", "label_ranking")

# pyNTCIREVAL: a metric, of which x says how many documents have each grade.

LOG2_OF_1_MORE = {grade: math.log2(1 + grade) for grade in (0, 1, 2)}
NTCIREVAL = {
    "RR()": "reciprocal_rank",
    "Hit(5)": "success@5",
    "Precision(5)": "precision@5",
    "AP(x, [1, 2])": "ap",
    "AP(x, [1, 2], 10)": "ap(over=cutoff)@10",
    "QMeasure(x, [1, 2], 1)": "q_measure",
    "QMeasure(x, [1, 3], 0.1)": "q_measure(beta=0.1, gain=exp2)",
    "QMeasure(x, [1, 2], 1, 10)": "q_measure(over=cutoff)@10",
    "MSnDCG(x, [1, 3], 10)": "ndcg@10",
    "MSnDCG(x, [1, 2], 10)": "ndcg(gain=linear)@10",
    "nDCG(x, [1, 3], 2, 10)": "ndcg(discount=jarvelin)@10",
    "nDCG(x, [1, 2], 5, 100)": "ndcg(gain=linear, discount=jarvelin, base=5)@100",
    "ERR(x, [1, 3])": at_highest(2, "err"),
    "nERR(x, [1, 3], 10)": at_highest(2, "nerr@10"),
    # Its grades take the place of 2^g - 1, so ours have to be log2(1 + g).
    "ERR(x, [1, 2])": Ours(
        "err", pl.col("grade").replace_strict(LOG2_OF_1_MORE), {"max_grade": math.log2(3)}
    ),
    "RBP(x, [1, 2], 0.8)": at_highest(2, "rbp(graded=True)"),
    "RBP(x, [1, 3], 0.8)": Ours("rbp(graded=True)", 2 ** pl.col("grade") - 1, {"max_grade": 3}),
}

# cwl-eval: a metric, its argument, and whether its gains are grades over the highest or 0 and 1.

CWL_EVAL = [
    ("Precision", [10], False, "precision@10"),
    ("Precision", [10], True, at_highest(2, "generalized_precision@10")),
    ("RR", [], False, "reciprocal_rank"),
    ("AP", [], False, "ap(over=retrieved)"),
    ("RBP", [0.5], False, "rbp(p=0.5)"),
    ("RBP", [0.8], True, at_highest(2, "rbp(graded=True)")),
    ("NDCG", [10], True, of("dcg(gain=linear)@10") / (2 * DISCOUNTS_TO_10)),
]
CWL_DEPTH = 400
"""Lists are filled up to this length; none is longer."""

# Recommenders: a metric and its keywords. What a user interacted with is relevant, ungraded.

RECTOOLS = [
    ("Precision", {"k": 10}, "precision@10"),
    ("Precision", {"k": 100}, "precision@100"),
    ("Precision", {"k": 10, "r_precision": True}, "recall(over=cutoff)@10"),
    ("Recall", {"k": 10}, "recall@10"),
    ("HitRate", {"k": 10}, "success@10"),
    ("F1Beta", {"k": 10}, "f_measure@10"),
    ("F1Beta", {"k": 10, "beta": 2}, "f_measure(beta=2)@10"),
    ("MRR", {"k": 10}, "reciprocal_rank@10"),
    ("MAP", {"k": 10}, "ap@10"),
    ("MAP", {"k": 10, "divide_by_k": True}, of("ap@10") * R / 10),
    ("NDCG", {"k": 10}, Ours(of("dcg@10") / DISCOUNTS_TO_10, RELEVANT)),
    ("NDCG", {"k": 10, "divide_by_achievable": True}, Ours("ndcg@10", RELEVANT)),
]


# Measuring and comparing.


def line_of(ours: Ours | pl.Expr | str) -> Ours:
    """Our side of a line of a table."""
    return ours if isinstance(ours, Ours) else Ours(ours)


def at_level(name: str, level: int | None) -> str:
    """The measure with relevant documents from a grade on, where it tells them apart."""
    measure = Measure.parse(name)
    if level is None or "threshold" not in measure.options or measure.options.get("graded"):
        return name
    return replace(
        measure, options={**measure.options, "threshold": level}, name_as_written=None
    ).name


def values(frame, ours, level=None, by=(("score", "doc"),), **options):
    """Our value of every query, where it is defined."""
    line = line_of(ours)
    graded = frame.with_columns(grade=line.grade)
    [found] = values_of_each(graded, [line.expr], level, by=by, **{**line.options, **options})
    return found


def values_of_each(frame, exprs, level=None, **options):
    """The values of several expressions over measures, of one ranking."""
    exprs = list(exprs)
    roots = dict.fromkeys(name for expr in exprs for name in expr.meta.root_names())
    levels = {name: at_level(name, level) for name in roots}
    per_query = evaluate(frame, *dict.fromkeys(levels.values()), **options)
    measured = per_query.select("query", **{name: pl.col(at) for name, at in levels.items()})
    queries = measured["query"].to_list()
    return [
        {
            query: value
            for query, value in zip(
                queries, measured.select(expr).to_series().to_list(), strict=True
            )
            if value is not None
        }
        for expr in exprs
    ]


def assert_same(theirs, ours, name="", within=1e-09):
    """Every query has one value, and it is the same."""
    assert theirs, name
    assert set(theirs) == set(ours), name
    differ = {
        query: (value, ours[query])
        for query, value in theirs.items()
        if not abs(value - ours[query]) <= within
    }
    assert not differ, (
        f"{name} {len(differ)} of {len(theirs)} queries differ, (theirs, ours): {differ}"
    )


SOURCES = {"lightgbm": ".[references]", "xgboost": ".[references]"}
SOURCES |= {"rectools": "rectools", "replay": "replay-rec"}
"""What to install for packages outside the extra `peers`: some are large, some need NumPy 1."""


def peer(name: str) -> Any:
    """Import another tool, or skip the test where it is not installed."""
    return needed(name, SOURCES.get(name.partition(".")[0], ".[peers]"))


# What is measured.


def ranked(ohsumed: pl.DataFrame, feature: str) -> pl.DataFrame:
    """Ranked by a feature, without ties, since tools break them in ways of their own."""
    rank = pl.col(feature).rank("ordinal", descending=True).over("query")
    return ohsumed.select("query", "doc", "grade", score=-rank.cast(pl.Float64))


def pooled(frame: pl.DataFrame) -> pl.DataFrame:
    """What is left of a ranking at depth 60, every seventh document without a judgment."""
    return frame.with_row_index().select(
        "query",
        "doc",
        score=pl.when(pl.col("score") >= -60).then("score"),
        grade=pl.when(pl.col("index") % 7 != 0).then("grade"),
    )


@pytest.fixture(scope="session", params=[("f1", 0), ("f21", 1), ("f21 pooled", 0)])
def frame(request, ohsumed):
    """The rankings of every second query, since other tools are slow."""
    ranking, first = request.param
    feature, _, shape = ranking.partition(" ")
    half = ranked(ohsumed, feature).filter(pl.col("query").rank("dense") % 2 == first)
    return pooled(half) if shape else half


def with_a_document_of(grade: float, frame: pl.DataFrame) -> pl.DataFrame:
    """The queries for which tools are defined that refuse or leave out the others."""
    return frame.filter((pl.col("grade") >= grade).any().over("query"))


@pytest.fixture(scope="session")
def with_relevant(frame):
    return with_a_document_of(1, frame)


def judgments_of(frame: pl.DataFrame) -> dict[str, dict[str, int]]:
    """Grades by query and document; of a frame that several tests have, they are made once."""
    return nested(Same(frame), "grade")


def run_of(frame: pl.DataFrame) -> dict[str, dict[str, float]]:
    """Scores by query and document."""
    return nested(Same(frame), "score")


@dataclass(frozen=True)
class Same:
    """A frame that is equal to itself alone."""

    frame: pl.DataFrame

    def __hash__(self) -> int:
        return id(self.frame)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.frame is other.frame


@lru_cache(maxsize=8)
def nested(of: Same, column: str) -> dict[str, dict[str, Any]]:
    """A column by query and document; none of the tools changes it."""
    result: dict[str, dict[str, Any]] = {}
    for query, doc, value in of.frame.select("query", "doc", column).drop_nulls().iter_rows():
        result.setdefault(query, {})[doc] = value
    return result


# trec_eval's own test files and the answers that it printed for them.

CASES = {
    "-q qrels.test results.test": ("aq", None),
    "-q -c qrels.test results.trunc": ("aqc", None),
    "-q -l2 qrels.rel_level results.test": ("aql", 2),
}
"""The end of the file of answers, and the lowest relevant grade."""
EVERY_CASE = pytest.mark.parametrize("case", CASES)
ALL_JUDGED = pytest.mark.parametrize("case", list(CASES)[:2])


@pytest.fixture(scope="session")
def trec(data):
    """The judged run of a case, the level of relevance, and what was printed."""
    folder = data / "trec_eval"

    @cache
    def of_case(case: str) -> tuple[pl.DataFrame, int | None, dict[tuple[str, str], str]]:
        (answers, level), (*_, qrels, results) = CASES[case], case.split()
        # trec_eval takes a grade below 0 for "in the pool, not judged".
        judgments = read_qrels(folder / f"{qrels}.gz").filter(pl.col("grade") >= 0)
        lines = (
            gzip.decompress((folder / f"out.test.{answers}.gz").read_bytes()).decode().splitlines()
        )
        rows = [line.split() for line in lines]
        printed = {(name, topic): value for name, topic, value in rows}
        with warnings.catch_warnings():
            # The truncated run answers two of three topics, which is what `-c` is about.
            warnings.filterwarnings(
                "ignore", "judged queries without a row in `run` count as failures: 1 of 3"
            )
            return join_judgments(read_run(folder / f"{results}.gz"), judgments), level, printed

    return of_case


def assert_printed(printed, name, by_topic):
    """The value of every topic, and their mean, or sum of counts, rounds to what is printed."""
    total = sum(by_topic.values())
    if not name.startswith("num_"):
        total /= len(by_topic)
    for topic, value in {**by_topic, "all": total}.items():
        text = printed[name, topic]
        decimals = len(text.partition(".")[2])
        assert abs(value - float(text)) <= 0.5 * 10**-decimals + 1e-9, (name, topic, text, value)


@pytest.mark.filterwarnings("ignore:.* uses the highest grade of each query")  # as its rbp does
@EVERY_CASE
def test_trec_eval(trec, case):
    frame, level, printed = trec(case)
    exprs = [line_of(ours).expr for ours in TREC_EVAL.values()]
    by_name = dict(
        zip(TREC_EVAL, values_of_each(frame, exprs, level, by=[["score", "doc"]]), strict=True)
    )
    by_name |= {name: values(frame, ours, level) for name, ours in TREC_EVAL_ALONE.items()}
    for name, by_topic in by_name.items():
        assert_printed(printed, name, by_topic)


@EVERY_CASE
def test_trec_eval_geometric_means_count_nothing_less_than_1e_5(trec, case):
    frame, level, printed = trec(case)
    for name, ours in GEOMETRIC_MEANS.items():
        by_topic = values(frame, ours, level)
        per_query = pl.DataFrame(
            {"strategy": "run", "query": [*by_topic], "value": [*by_topic.values()]}
        )
        mean = summarise(per_query, {"value": "ap"})["geometric_mean"].item()
        assert f"{mean:.4f}" == printed[name, "all"]


@EVERY_CASE
def test_trec_eval_counts_are_a_summary_table(trec, case):
    frame, level, printed = trec(case)
    threshold = "" if level is None else f"(threshold={level})"
    names = ("n_retrieved", f"n_relevant{threshold}", f"n_relevant_retrieved{threshold}")
    counts = evaluate(frame, *names, by=[["score", "doc"]])
    sums = counts.height, *counts.drop("strategy", "query").sum().row(0)
    trec_names = ("num_q", "num_ret", "num_rel", "num_rel_ret")
    assert sums == tuple(int(printed[name, "all"]) for name in trec_names)


def by_hits(frame: pl.DataFrame, level: int | None = None) -> dict[str, list[float]]:
    """The interpolated precision of every query at 0, 1 … R relevant documents found."""
    hits = {q: max(int(n_relevant), 1) for q, n_relevant in values(frame, R, level).items()}
    levels = sorted(set(hits.values()))
    exprs = [of(f"interpolated_precision(recall_levels={n_hits + 1})") for n_hits in levels]
    found = values_of_each(frame, exprs, level, by=[["score", "doc"]])
    curves = dict(zip(levels, found, strict=True))
    return {query: curves[n_hits][query] for query, n_hits in hits.items()}


def nearest(documents: float) -> int:
    """trec_eval 10: lround."""
    return math.floor(documents + 0.5)


def at_levels(curves: Mapping[str, list[float]], rounded: Any) -> dict[str, list[float]]:
    """The values at levels of recall, each rounded to a number of documents."""
    return {
        query: [curve[rounded(level * (len(curve) - 1))] for level in RECALL_LEVELS]
        for query, curve in curves.items()
    }


@EVERY_CASE
def test_trec_eval_rounds_a_level_of_recall_to_the_nearest_number_of_documents(trec, case):
    frame, level, printed = trec(case)
    theirs = at_levels(by_hits(frame, level), nearest)
    for place, recall in enumerate(RECALL_LEVELS):
        name = f"iprec_at_recall_{recall:.2f}"
        assert_printed(printed, name, {query: curve[place] for query, curve in theirs.items()})
    means = {query: sum(curve) / len(curve) for query, curve in theirs.items()}
    assert_printed(printed, "11pt_avg", means)


@ALL_JUDGED
def test_trec_eval_infers_average_precision_where_all_that_was_pooled_is_judged(trec, case):
    frame, _, printed = trec(case)
    assert_printed(printed, "infAP", values(frame, "ap"))


@pytest.fixture(scope="session")
def tied(ohsumed):
    """Ranked by a feature with nine levels; trec_eval breaks ties by document, descending."""
    return ohsumed.select("query", "doc", "grade", score="f1")


def pytrec_eval_of(frame: pl.DataFrame, level: int, *, judged_only: bool) -> dict[str, Any]:
    """All that pytrec_eval has, by query."""
    pytrec_eval = peer("pytrec_eval")
    evaluator = pytrec_eval.RelevanceEvaluator(
        judgments_of(frame),
        pytrec_eval.supported_measures,
        relevance_level=level,
        judged_docs_only_flag=judged_only,
    )
    return evaluator.evaluate(run_of(frame))


def assert_same_as_pytrec_eval(frame: pl.DataFrame, level: int, *, judged_only: bool):
    theirs = pytrec_eval_of(frame, level, judged_only=judged_only)
    exprs = [line_of(ours).expr for ours in TREC_EVAL.values()]
    by = [["score", "doc"]]
    ours = values_of_each(frame, exprs, level, by=by, condensed=judged_only)
    for name, of_measure in zip(TREC_EVAL, ours, strict=True):
        assert_same({query: of_query[name] for query, of_query in theirs.items()}, of_measure, name)


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("judged_only", [False, True])
def test_pytrec_eval(frame, level, judged_only):
    assert_same_as_pytrec_eval(frame, level, judged_only=judged_only)


@pytest.mark.parametrize("level", [1, 2])
def test_pytrec_eval_breaks_ties_by_document(tied, level):
    assert_same_as_pytrec_eval(tied, level, judged_only=False)


def ranx_of(frame: pl.DataFrame, name: str) -> dict[str, float]:
    qrels, run = ranx_data(Same(frame))
    found = peer("ranx").evaluate(qrels, run, name, return_mean=False)
    return dict(zip(qrels.keys(), found.tolist(), strict=True))


@lru_cache(maxsize=2)
def ranx_data(of: Same) -> tuple[Any, Any]:
    ranx = peer("ranx")
    return ranx.Qrels(judgments_of(of.frame)), ranx.Run(run_of(of.frame))


def every_third_query(frame: pl.DataFrame) -> pl.DataFrame:
    """Fewer queries, for tools that take long."""
    return frame.filter(pl.col("query").rank("dense") % 3 == 0)


def test_ranx_of_grades(frame):
    frame = every_third_query(frame)
    for name, ours in RANX_GRADED.items():
        assert_same(ranx_of(frame, name), values(frame, ours), name)


def test_ranx_rank_biased_precision_of_binary_judgments(frame):
    binary = frame.with_columns(grade=RELEVANT.cast(int))
    assert_same(ranx_of(binary, "rbp.80"), values(frame, "rbp"))


@pytest.mark.parametrize("level", [1, 2])
def test_ranx_bpref_of_queries_with_a_relevant_document(frame, level):
    # One without divides by 0, and those after it in its chunk stay 0.
    defined = with_a_document_of(level, frame)
    assert_same(ranx_of(defined, f"bpref-l{level}"), values(defined, "bpref", level))


def sklearn_of(frame: pl.DataFrame, name: str, keywords: dict[str, Any], level: int | None) -> Any:
    function = getattr(peer("sklearn.metrics"), name)
    found = {}
    for (query,), part in frame.group_by("query"):
        truth = part["grade"].to_numpy() if level is None else (part["grade"] >= level).to_numpy()
        score = part["score"].to_numpy()
        rows = ([truth], [score]) if name.startswith(OF_ROWS_OF_QUERIES) else (truth, score)
        found[query] = function(*rows, **keywords)
    return found


@pytest.mark.parametrize("feature", ["f1", "f21"])
def test_scikit_learn_of_ties(ohsumed, feature):
    for name, keywords, level, ours in TIED:
        frame = ohsumed.select("query", "grade", score=feature)
        frame = frame if level is None else with_a_document_of(level, frame)
        assert frame.group_by("query").agg(pl.col("score").is_duplicated().any())["score"].any()
        theirs = sklearn_of(frame, name, keywords, level)
        assert_same(theirs, values(frame, ours, by="score"), f"{name} {keywords}")


@pytest.mark.parametrize("feature", ["f1", "f21"])
def test_scikit_learn_without_ties(ohsumed, feature):
    for name, keywords, level, ours in UNTIED:
        frame = ranked(ohsumed, feature)
        frame = frame if level is None else with_a_document_of(level, frame)
        theirs = sklearn_of(frame, name, keywords, level)
        assert_same(theirs, values(frame, ours), f"{name} {keywords}")


def test_pyntcireval(with_relevant):
    labeler = peer("pyNTCIREVAL").Labeler
    metrics = peer("pyNTCIREVAL.metrics")
    with_relevant = every_third_query(with_relevant)
    judgments = judgments_of(with_relevant)
    for call, ours in NTCIREVAL.items():
        found = {}
        for query, scores in run_of(with_relevant).items():
            labels = labeler(judgments[query])
            names = {"metrics": metrics, "x": labels.compute_per_level_doc_num(3)}
            metric = eval(f"metrics.{call}", names)  # noqa: S307 of the table above
            in_order = sorted(scores, key=lambda doc: -scores[doc])
            found[query] = metric.compute(labels.label(in_order))
        assert_same(found, values(with_relevant, ours), call)


def test_cwl_eval(frame):
    frame = every_third_query(frame)
    ruler, ranking = peer("cwl.ruler.cwl_ruler"), peer("cwl.ruler.ranking")
    for kind, arguments, of_grades, ours in CWL_EVAL:
        metric = getattr(ruler, f"{kind}CWLMetric")(*arguments)
        gain = pl.col("grade") / 2 if of_grades else RELEVANT.cast(pl.Float64)
        found = {}
        for (query,), part in frame.group_by("query"):
            in_order = part.drop_nulls("score").sort("score", descending=True)
            gains = in_order.select(gain.fill_null(math.nan)).to_series().to_list()
            costs = [1.0] * len(gains)
            found[query] = metric.measure(ranking.Ranking(query, gains, costs, max_n=CWL_DEPTH))
        assert_same(found, values(frame, ours), f"{kind} {arguments} of grades: {of_grades}")


def test_rectools(with_relevant):
    metrics, pandas = peer("rectools.metrics"), peer("pandas")
    user_and_item = [pl.col("query").alias("user_id"), pl.col("doc").alias("item_id")]
    retrieved = with_relevant.drop_nulls("score")
    recommended = retrieved.select(*user_and_item, rank=-pl.col("score").cast(int))
    interactions = with_relevant.filter(RELEVANT).select(user_and_item)
    parts = [pandas.DataFrame(p.to_dict(as_series=False)) for p in (recommended, interactions)]
    for metric, keywords, ours in RECTOOLS:
        found = getattr(metrics, metric)(**keywords).calc_per_user(*parts)
        assert_same(found.to_dict(), values(with_relevant, ours), f"{metric} {keywords}")


# What learns to rank, and measures a score before it has learned anything.

BOOSTED = {"ndcg@3": "ndcg@3", "ndcg@10": "ndcg@10"}
BOOSTED |= {"map@3": "ap(over=cutoff)@3", "map@10": "ap(over=cutoff)@10"}


@pytest.fixture(scope="module")
def to_learn() -> pl.DataFrame:
    """Sixty queries of 25 documents, relevant or not, five queries without a relevant one."""
    rng = np.random.default_rng(0)
    query = np.repeat(np.arange(60), 25)
    return pl.DataFrame(
        {
            "query": query,
            "grade": rng.integers(0, 2, len(query)) * (query >= 5),
            "score": rng.permutation(len(query)) / 100,
        }
    )


def test_lightgbm(to_learn):
    lightgbm = peer("lightgbm")
    rows = to_learn.select("grade", "score").to_numpy()
    data = lightgbm.Dataset(
        rows, label=rows[:, 0], group=[25] * 60, init_score=rows[:, 1], free_raw_data=False
    )
    found: dict[str, Any] = {}
    options = {"objective": "lambdarank", "metric": ["ndcg", "map"], "eval_at": [3, 10]}
    lightgbm.train(
        options | {"learning_rate": 1e-14, "verbosity": -1, "num_threads": 1},
        data,
        1,
        valid_sets=[data],
        valid_names=["it"],
        callbacks=[lightgbm.record_evaluation(found)],
    )
    ours = evaluate(to_learn, BOOSTED, undefined_as=1)
    for name, (value,) in found["it"].items():
        assert value == pytest.approx(ours[name].mean(), abs=1e-12)


@pytest.mark.parametrize(("minus", "undefined"), [("", 1), ("-", 0)])
def test_xgboost(to_learn, minus, undefined):
    xgboost = peer("xgboost")
    rows = to_learn.select("grade", "score").to_numpy()
    data = xgboost.DMatrix(
        rows, label=rows[:, 0], qid=to_learn["query"].to_numpy(), base_margin=rows[:, 1]
    )
    found: dict[str, Any] = {}
    options = {"objective": "rank:ndcg", "eta": 0.0, "nthread": 1}
    names = [f"{name}{minus}" for name in BOOSTED]
    options |= {"eval_metric": names}
    xgboost.train(options, data, 1, evals=[(data, "it")], evals_result=found, verbose_eval=False)
    ours = evaluate(to_learn, BOOSTED, undefined_as=undefined)
    for name in BOOSTED:
        assert found["it"][f"{name}{minus}"][0] == pytest.approx(ours[name].mean(), abs=1e-12)


UNJUDGED_AS_0 = pl.when(pl.col("score").is_not_null()).then(pl.col("grade").fill_null(0))
"""Grades of what was retrieved, 0 where it is unjudged; what was not retrieved is ignored."""
REPLAY = [
    ("Precision", 10, "precision@10"),
    ("Precision", 100, "precision@100"),
    ("Recall", 10, "recall@10"),
    ("HitRate", 10, "success@10"),
    ("MRR", 10, "reciprocal_rank@10"),
    ("MAP", 10, "ap(over=cutoff)@10"),
    ("NDCG", 10, Ours("ndcg@10", RELEVANT)),
    ("RocAuc", 1000, Ours("roc_auc", UNJUDGED_AS_0)),
]


def test_replay(with_relevant):
    metrics = peer("replay.metrics")
    recommended = {query: list(docs.items()) for query, docs in run_of(with_relevant).items()}
    relevant = judgments_of(with_relevant.filter(RELEVANT))
    interactions = {query: list(docs) for query, docs in relevant.items()}
    for metric, k, ours in REPLAY:
        by_user = getattr(metrics, metric)(k, mode=metrics.PerUser())(recommended, interactions)
        theirs, expected = by_user[f"{metric}-PerUser@{k}"], values(with_relevant, ours)
        # RePlay has 0 or 1 where no pair exists to be in the right order, and our AUC is undefined.
        without_pairs = [theirs.pop(query) for query in theirs.keys() - expected.keys()]
        assert metric == "RocAuc" or not without_pairs
        assert set(without_pairs) <= {0, 1}
        assert_same(theirs, expected, f"{metric} {k}")


@pytest.mark.filterwarnings("ignore:.* below 0 count")
def test_a_grade_below_0_is_a_judgment_here_and_none_for_trec_eval(trec, data):
    _, level, printed = trec(list(CASES)[2])
    run = read_run(data / "trec_eval/results.test.gz")
    judgments = read_qrels(data / "trec_eval/qrels.rel_level.gz")
    without = judgments.filter(pl.col("grade") >= 0)
    kept, dropped = (
        join_judgments(run, frame, unjudged_below=-1).filter(query="303")
        for frame in (judgments, without)
    )
    assert printed["unj_20", "303"] == "0.5000"
    assert values(dropped, "judged@20", level) == {"303": 0.5}
    assert values(kept, "judged@20", level) == {"303": 1.0}


def test_pytrec_eval_ranks_by_scores_of_32_bits():
    evaluator = peer("pytrec_eval").RelevanceEvaluator({"q": {"a": 1, "b": 0}}, {"recip_rank"})
    first, second = (
        evaluator.evaluate({"q": {"a": score, "b": 1.0}})["q"]["recip_rank"]
        for score in (1.00000001, 1.0001)
    )
    assert (first, second) == (0.5, 1)  # tied, b comes first: it is the later name
