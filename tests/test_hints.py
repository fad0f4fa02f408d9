"""Hints that change data or arguments: each is followed, and must lead to the right number."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import polars as pl
import pytest
from helpers import catch_messages
from results import rng

from polars_graded import DataWarning, evaluate, join_judgments, summarise, trust


def rows(queries: int = 20, documents: int = 10) -> pl.DataFrame:
    """Graded documents with scores, as they should be."""
    draw, n = rng(0), queries * documents
    return pl.DataFrame(
        {
            "query": [number // documents for number in range(n)],
            "doc": [f"d{number % documents}" for number in range(n)],
            "grade": draw.integers(0, 4, n),
            "score": draw.normal(size=n),
        }
    )


ROWS = rows()


def mean(frame: Any, *measures: str, **options: Any) -> float:
    """Mean of the first measure, without warnings."""
    with warnings.catch_warnings(action="ignore"):
        values = evaluate(frame, *(measures or ["ndcg@10"]), **options)
    return float(values[values.columns[-1]].mean())


class Case(NamedTuple):
    """A mistake, a pattern with the hint's code as its group, and the numbers to compare."""

    mistake: Callable[[], Any]
    pattern: str
    follow: Callable[[str], float]
    expected: Callable[[], float]


def evaluated(frame: pl.DataFrame, **options: Any) -> Callable[[], Any]:
    return lambda: evaluate(frame, "ndcg@10", **options)


NAN = ROWS.with_columns(score=pl.when(pl.col("doc") == "d3").then(float("nan")).otherwise("score"))
NAN_GRADE = ROWS.with_columns(
    grade=pl.when(pl.col("doc") == "d3").then(float("nan")).otherwise("grade")
)
NO_QUERY = pl.concat([ROWS, ROWS.head(10).with_columns(query=pl.lit(None, pl.Int64))])
TEXT = ROWS.with_columns(pl.col("score").cast(pl.String))
STARS = ROWS.with_columns(pl.col("grade") + pl.col("query") % 2 + 1)
BELOW = ROWS.with_columns(grade=pl.when(pl.col("grade") == 0).then(-2).otherwise("grade"))
LEVELS = ROWS.with_columns(
    grade=pl.when(pl.col("query") % 2 == 0).then(pl.col("grade").clip(0, 2)).otherwise("grade")
)
REVENUE = pl.DataFrame(
    {"strategy": ["a", "b"] * 9, "query": [n // 2 for n in range(18)], "revenue@10": [1.0, 3.0] * 9}
)
TYPO = {"ndcg10": "ndcg@10", "NDCG@10": "ndcg@10", "ndgc@10": "ndcg@10"}

CASES = {
    "NaN among scores": Case(
        evaluated(NAN),
        r"Hint: \.(fill_nan\(None\)) makes NaN null, which means not retrieved",
        lambda code: mean(NAN.with_columns(eval(f"pl.col('score').{code}"))),
        lambda: mean(ROWS.with_columns(score=pl.when(pl.col("doc") != "d3").then("score"))),
    ),
    "NaN among grades": Case(
        evaluated(NAN_GRADE),
        r"Hint: \.(fill_nan\(None\)) makes NaN null, which means unjudged",
        lambda code: mean(NAN_GRADE.with_columns(eval(f"pl.col('grade').{code}"))),
        lambda: mean(ROWS.with_columns(grade=pl.when(pl.col("doc") != "d3").then("grade"))),
    ),
    "a null query": Case(
        evaluated(NO_QUERY),
        r"Hint: \.(drop_nulls\('query'\)) leaves such rows out",
        lambda code: mean(eval(f"NO_QUERY.{code}")),
        lambda: mean(ROWS),
    ),
    "scores that are texts": Case(
        evaluated(TEXT),
        r"cast them: (pl\.col\('score'\)\.cast\(pl\.Float64\))",
        lambda code: mean(TEXT.with_columns(eval(code))),
        lambda: mean(ROWS),
    ),
    "stars": Case(
        evaluated(STARS),
        r"Hint: (irrelevant=1) makes 1 irrelevant",
        lambda code: mean(STARS, **eval(f"dict({code})")),
        lambda: mean(STARS.with_columns(pl.col("grade") - 1)),
    ),
    "grades below 0": Case(
        lambda: evaluate(BELOW, "judged"),
        r"so does (pl\.when.*?); relevant_from=",
        lambda code: mean(BELOW.with_columns(eval(code).alias("grade")), "judged"),
        lambda: mean(
            BELOW.with_columns(grade=pl.when(pl.col("grade") > 0).then("grade")), "judged"
        ),
    ),
    "several scales": Case(
        lambda: evaluate(LEVELS, "err@10"),
        r"Hint: (max_grade=3) measures all queries by one scale",
        lambda code: mean(LEVELS, "err@10", **eval(f"dict({code})")),
        lambda: mean(LEVELS, "err@10", max_grade=3),
    ),
    "a Series of grades": Case(
        evaluated(ROWS, grade=ROWS["grade"]),
        r"Hint: (grade='grade')",
        lambda code: mean(ROWS, **eval(f"dict({code})")),
        lambda: mean(ROWS),
    ),
    "a column that is no measure": Case(
        lambda: summarise(REVENUE),
        r"such as (\{'revenue@10': 'highest'\})",
        lambda code: summarise(REVENUE, eval(code))["mean"].max(),
        lambda: 3.0,
    ),
    **{
        f"the name {name}": Case(
            lambda name=name: evaluate(ROWS, name),
            r"(?:did you mean|'[^']*' of [\w ]* is) ('[^']+')",
            lambda code: mean(ROWS, eval(code)),
            lambda name=name: mean(ROWS, TYPO[name]),
        )
        for name in TYPO
    },
}


@pytest.mark.parametrize("name", CASES)
def test_a_hint_leads_to_the_right_number(name):
    case = CASES[name]
    with warnings.catch_warnings(record=True, action="always") as caught:
        try:
            case.mistake()
            message = "\n".join(str(each.message) for each in caught)
        except (ValueError, TypeError) as error:
            message = str(error)
    found = re.search(case.pattern, message)
    assert found is not None, message
    assert case.follow(found[1]) == pytest.approx(case.expected(), abs=1e-12)


def test_hints_of_a_left_join_lead_to_the_means_of_join_judgments():
    run = ROWS.filter(pl.col("doc") != "d3").select("query", "doc", "score")
    judgments = ROWS.filter(pl.col("query") > 3).select("query", "doc", "grade")
    lost = run.join(judgments, on=["query", "doc"], how="left")
    with pytest.warns(DataWarning.unjudged, match=r"Hint: join_judgments\(run, judgments\)"):
        evaluate(lost, "ndcg@10")
    with pytest.warns(DataWarning.topics, match="queries without any judgment are left out"):
        joined = join_judgments(run, judgments)
    truth = ROWS.filter(pl.col("query") > 3).with_columns(
        score=pl.when(pl.col("doc") != "d3").then("score")
    )
    assert mean(joined) == pytest.approx(mean(truth))


RUN = ROWS.select("doc", text=pl.col("query") // 2, device=pl.col("query") % 2, score="score")
JUDGED = ROWS.select("doc", text=pl.col("query") // 2, device=pl.col("query") % 2, grade="grade")
KEY = ["text", "device"]


@pytest.mark.parametrize(
    "columns",
    [
        {"score": pl.col("score")},
        # No column is complete, and each row has a value in one of them.
        {
            "old": pl.when(pl.col("doc") != "d3").then("score"),
            "new": pl.when(pl.col("doc") != "d4").then("score"),
        },
    ],
)
def test_a_hint_keeps_the_queries_that_the_run_answered(columns):
    run = RUN.filter(pl.col("text") > 2).select(*KEY, "doc", **columns)
    joined, message = catch_messages(lambda: join_judgments(run, JUDGED, query=KEY))
    code = re.search(r"if they were not run, (\.filter\(.*\)) keeps those", message)[1]
    judged = JUDGED.filter(pl.col("text") > 2)
    expected = mean(join_judgments(run, judged, query=KEY), query=KEY, by=[*columns])
    assert mean(eval(f"joined{code}"), query=KEY, by=[*columns]) == expected
    assert mean(joined, query=KEY, by=[*columns]) < expected


def test_a_hint_keeps_the_queries_that_all_strategies_answered():
    runs = {"a": RUN.filter(pl.col("text") > 2), "b": RUN.filter(pl.col("text") < 7), "c": RUN}
    joined, message = catch_messages(lambda: join_judgments(runs, JUDGED, query=KEY))
    code = re.search(r"different queries, \.(filter\(.*\)) keeps those", message)[1]
    kept = eval(f"joined.{code}", {"pl": pl, "joined": joined})
    assert kept["text"].unique().sort().to_list() == [3, 4, 5, 6]
    assert mean(kept, query=KEY, strategy="strategy") == mean(
        ROWS.filter(pl.col("query").is_between(6, 13))
    )


def positives(n_irrelevant: int = 0) -> pl.DataFrame:
    """One relevant document in each of 20 queries, at the first rank of "good", the last of "bad".

    In addition, `n_irrelevant` documents of each query are judged irrelevant.
    """
    return pl.DataFrame(
        [
            (query, doc, grade, -doc / 4, doc / 4 or -1.0)
            for query in range(20)
            for doc in range(100)
            for grade in [1 if doc == 0 else 0 if doc <= n_irrelevant else None]
        ],
        schema=["query", "doc", "grade", "good", "bad"],
        orient="row",
    )


MEASURES = ("reciprocal_rank@10", "precision@10")


@pytest.mark.parametrize(
    ("frame", "options", "is_hinted"),
    [
        (positives(), {}, False),
        (positives(3), {}, True),
        (positives(3).with_columns(pl.col("grade") + 1), {}, False),
        (positives(3).with_columns(pl.col("grade") + 1), {"irrelevant": 1}, True),
        (positives(3).with_columns(pl.col("grade") + 1), {"relevant_from": 2}, True),
    ],
)
@pytest.mark.parametrize("by", ["bad", ["good", "bad"]])
def test_condensed_rankings_are_recommended_only_if_a_judged_document_is_irrelevant(
    frame, options, is_hinted, by
):
    call = {"by": by, "ties": "order", **options}
    _, message = catch_messages(lambda: evaluate(frame, *MEASURES, **call))
    assert "count as irrelevant" in message
    assert ("condensed=True" in message) == is_hinted
    assert "trust.unjudged_bounds(frame, ...)" in message
    _, message = catch_messages(lambda: evaluate(frame, *MEASURES, condensed=True, **call))
    assert "count as irrelevant" not in message
    assert "condensed=True leaves" not in message
    assert ("the rankings contain only relevant documents" in message) != is_hinted


def test_a_threshold_makes_judged_documents_irrelevant():
    frame = positives(3).with_columns(pl.col("grade") + 1)
    _, message = catch_messages(lambda: evaluate(frame, "precision(threshold=2)@10", by="bad"))
    assert "condensed=True leaves unjudged documents out" in message


def test_the_hint_of_a_low_judged_share_leads_to_bounds_of_the_true_value():
    frame = positives()
    true = frame.with_columns(grade=pl.when(pl.col("doc") % 7 == 0).then(1).otherwise(0))
    bounds, _ = catch_messages(lambda: trust.unjudged_bounds(frame, "precision@10", by="bad"))
    low, high = bounds.select("low", "high").mean().row(0)
    assert low < mean(true, "precision@10", by="bad") < high


def test_condensed_rankings_of_relevant_documents_are_all_perfect():
    # The claim of the warning: only relevant documents remain, so even the worst ranking is ideal.
    frame = positives()
    assert mean(frame, "reciprocal_rank@10", by="bad") == 0
    assert mean(frame, "reciprocal_rank@10", by="bad", condensed=True) == 1
    assert mean(frame, "precision@1", by="bad", condensed=True) == 1
