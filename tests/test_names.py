"""Columns whose names Polars takes for patterns, or that the library gives columns of its own."""

from __future__ import annotations

import re

import polars as pl
import polars.selectors as cs
import pytest
from polars.testing import assert_frame_equal

import polars_graded as pg
from polars_graded import charts, datasets, experiments

RANKED = pl.DataFrame(
    {
        "query": ["q1", "q1", "q1", "q2", "q2", "q2"] * 2,
        "doc": ["a", "b", "c", "a", "b", "c"] * 2,
        "grade": [2, 0, 1, 0, 1, 0] * 2,
        "score": [3.0, 2.0, 1.0, 3.0, 2.0, 1.0, 1.0, 2.0, 3.0, 1.0, 3.0, 2.0],
        "strategy": ["A"] * 6 + ["B"] * 6,
    }
)
RUN = RANKED.drop("grade")
JUDGMENTS = RANKED.head(6).select("query", "doc", "grade")
STACKED = {"strategy": "strategy", "ties": "order"}
PER_QUERY = pg.evaluate(RANKED, "ap", "ndcg@2", "dcg_curve@2", "interpolated_precision", **STACKED)
THREE = pl.concat([PER_QUERY, PER_QUERY.head(2).with_columns(strategy=pl.lit("C"), ap=pl.lit(0.1))])
WIDE = RANKED.head(6).rename({"score": "f1"}).with_columns(f2=pl.col("f1") * -1)
ROBUSTNESS = pl.DataFrame({"measure": "ap", "levels": [2, 2], "swaps": [0, 1], "mean": [1.0, 0.5]})


def evaluated(frame, **columns):
    return pg.evaluate(frame, "ap", ties="order", **({"strategy": None} | columns))


CALLS = {
    "evaluate query": lambda n: evaluated(
        RANKED.rename({"query": n}), query=n, strategy="strategy"
    ),
    "evaluate strategy": lambda n: evaluated(RANKED.rename({"strategy": n}), strategy=n),
    "evaluate grade": lambda n: evaluated(
        RANKED.rename({"grade": n}), grade=n, strategy="strategy"
    ),
    "evaluate by": lambda n: evaluated(RANKED.rename({"score": n}), by=n, strategy="strategy"),
    "evaluate tie": lambda n: evaluated(
        RANKED.rename({"doc": n}), by=[["score", n]], strategy="strategy"
    ),
    "ranked_by": lambda n: (
        RANKED.rename({"score": n})
        .group_by("query", "strategy")
        .agg(pl.col("grade").graded.ranked_by(n).ap())
    ),
    "graded": lambda n: (
        RANKED.rename({"grade": n})
        .group_by("query", "strategy")
        .agg(value=pg.graded(n).ranked_by("score").ap())
    ),
    "judge query": lambda n: pg.judge(
        RUN.rename({"query": n}), JUDGMENTS.rename({"query": n}), query=n, strategy="strategy"
    ),
    "judge doc": lambda n: pg.judge(
        RUN.rename({"doc": n}), JUDGMENTS.rename({"doc": n}), doc=n, strategy="strategy"
    ),
    "judge strategy": lambda n: pg.judge(RUN.rename({"strategy": n}), JUDGMENTS, strategy=n),
    "judge grade": lambda n: pg.judge(
        RUN, JUDGMENTS.rename({"grade": n}), grade=n, strategy="strategy"
    ),
    "summary_table query": lambda n: pg.summary_table(
        RANKED.rename({"query": n}), query=n, strategy="strategy"
    ),
    "average_curves grade": lambda n: pg.average_curves(
        RANKED.rename({"grade": n}), "dcg_curve@2", grade=n, strategy="strategy", ties="order"
    ),
    "summarise query": lambda n: pg.summarise(PER_QUERY.rename({"query": n}), "ap", query=n),
    "summarise strategy": lambda n: pg.summarise(
        PER_QUERY.rename({"strategy": n}), "ap", strategy=n
    ),
    "summarise measure": lambda n: pg.summarise(PER_QUERY.rename({"ap": n}), n),
    "compare query": lambda n: pg.compare(PER_QUERY.rename({"query": n}), "ap", query=n),
    "compare measure": lambda n: pg.compare(PER_QUERY.rename({"ap": n}), n),
    "differences strategy": lambda n: pg.differences(
        PER_QUERY.rename({"strategy": n}), "ap", "A", "B", strategy=n
    ),
    "rank_correlation strategy": lambda n: pg.rank_correlation(
        PER_QUERY.rename({"strategy": n}), "ap", "ndcg@2", strategy=n
    ),
    "phi_curve score": lambda n: pg.phi_curve(RANKED.rename({"score": n}), score=n),
    "phi_control_points query": lambda n: pg.phi_control_points(
        RANKED.rename({"query": n}), score="score", query=n
    ),
    "dcg_curves strategy": lambda n: charts.dcg_curves(
        PER_QUERY.rename({"strategy": n}), strategy=n
    ),
    "recall_precision_curves query": lambda n: charts.recall_precision_curves(
        PER_QUERY.rename({"query": n}), query=n
    ),
    "precision_histogram measure": lambda n: charts.precision_histogram(
        PER_QUERY.rename({"ap": n}), n, "A", "B"
    ),
    "strategy_bars strategy": lambda n: charts.strategy_bars(
        pg.summarise(PER_QUERY, "ap").rename({"strategy": n}), strategy=n
    ),
    "comparison_forest strategy": lambda n: charts.comparison_forest(
        pg.compare(PER_QUERY, "ap").rename({"strategy": n}), strategy=n
    ),
    "measure_agreement x": lambda n: charts.measure_agreement(
        PER_QUERY.rename({"ap": n}), n, "ndcg@2"
    ),
    "sample_boxes value": lambda n: charts.sample_boxes(PER_QUERY.rename({"ap": n}), n),
    "relevance_function score": lambda n: charts.relevance_function(
        RANKED.rename({"score": n}), score=n
    ),
    "threshold_profile grade": lambda n: experiments.threshold_profile(
        WIDE.rename({"grade": n}), grade=n, by=["f1", "f2"]
    ),
    "robustness_curves levels": lambda n: charts.robustness_curves(
        ROBUSTNESS.rename({"levels": n}), levels=n
    ),
    "ndcg_by_relevance popularity": lambda n: experiments.ndcg_by_relevance(
        WIDE.with_columns(pl.col("grade").alias(n)), by=["f1", "f2"], popularity=n
    ),
    "swapped_rankings query": lambda n: datasets.swapped_rankings(
        datasets.reference_rankings(2).rename({"query": n}), 1, query=n
    ),
    "ad_hoc_grade score": lambda n: RANKED.rename({"score": n}).select(
        datasets.ad_hoc_grade(n, cuts=(1, 2)).over("query", "strategy")
    ),
    "unjudged_bounds grade": lambda n: pg.unjudged_bounds(
        RANKED.rename({"grade": n}), "ap", grade=n, **STACKED
    ),
    "robustness_to_grading grade": lambda n: pg.robustness_to_grading(
        RANKED.rename({"grade": n}), "ap", grade=n, **STACKED
    ),
    **{
        f"{function.__name__} {key}": lambda n, function=function, key=key, options=options: (
            function(THREE.rename({key: n}), "ap", **{key: n}, **options)
        )
        for key in ("query", "strategy")
        for function, options in (
            (pg.discriminative_power, {"test": "t"}),
            (pg.significance_levels, {"test": "t"}),
            (pg.order_stability, {"sizes": 1, "samples": 2}),
            (pg.swap_rate, {"sizes": 1, "samples": 2}),
            (pg.power_curve, {"queries": [5]}),
            (pg.queries_needed, {}),
        )
    },
    "report query": lambda n: pg.report(PER_QUERY.rename({"query": n}), "page.html", query=n),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("pattern", ["^q$", "^.*r.*$", "*"])
def test_a_column_named_like_a_pattern_is_no_other_column(call, pattern, tmp_path, monkeypatch):
    """`^q$` beside `q` was `q` in silence."""
    monkeypatch.chdir(tmp_path)
    sentence = f"a column must not have the name of a pattern, which {pattern!r} is to Polars"
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}\n\nHint: rename the column$"):
        call(pattern)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("name", ["a name", "^q", "q$", "ü.*", "**", "$^"])
def test_a_column_may_have_any_other_name(call, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call(name)


def test_a_pattern_beside_what_is_named_does_no_harm():
    beside = RANKED.with_columns(pl.lit(1).alias("^query$"), pl.lit(2).alias("*"))
    expected = evaluated(RANKED, strategy="strategy")
    assert_frame_equal(evaluated(beside, strategy="strategy"), expected)
    run = RUN.with_columns(pl.lit(1).alias("^query$"))
    judged = pg.judge(run, JUDGMENTS, strategy="strategy")
    assert_frame_equal(
        judged.drop(cs.by_name("^query$")), pg.judge(RUN, JUDGMENTS, strategy="strategy")
    )


# Names that the library gives, or gave, to columns of its own.
TAKEN = [
    *("len", "number of rows", "measures", "values", "value", "notes", "judged", "answered"),
    *("tied", "counts_up", "judged_at_the_top", "queries", "unusable", "place", "row", "index"),
    *("count", "ranked", "grade", "doc", "literal", "count_up", "rank"),
]


@pytest.mark.parametrize("name", TAKEN)
def test_a_key_may_have_the_name_of_a_column_of_the_library(name):
    frame = RANKED.rename({"grade": "g", "doc": "d"})
    frame = frame.with_columns(score=pl.col("score") * 1.5)  # one document unlike others
    columns = {"grade": "g", "ties": "d"}
    expected = pg.evaluate(frame, "ap", strategy="strategy", **columns)
    for key in ("query", "strategy"):
        renamed = {"strategy": "strategy", "query": "query"} | {key: name}
        values = pg.evaluate(frame.rename({key: name}), "ap", **columns, **renamed)
        assert_frame_equal(values, expected.rename({key: name}))


@pytest.mark.parametrize("name", TAKEN)
def test_what_is_judged_may_have_the_name_of_a_column_of_the_library(name):
    names = {"query": "q", "doc": "d", "grade": "g", "strategy": "s"}
    run, judgments = RUN.rename(names, strict=False), JUDGMENTS.rename(names, strict=False)
    expected = pg.judge(run, judgments, query="q", doc="d", grade="g", strategy="s")
    for argument, key in names.items():
        given = names | {argument: name}
        parts = [frame.rename({key: name}, strict=False) for frame in (run, judgments)]
        assert_frame_equal(pg.judge(*parts, **given), expected.rename({key: name}))
        twice = pl.concat([parts[0], parts[0].head(1)])
        with pytest.raises(ValueError, match="got 1 more than once"):
            pg.judge(twice, parts[1], **given)


def test_swapped_rankings_may_have_a_query_of_any_name():
    rankings = datasets.reference_rankings(2)
    expected = datasets.swapped_rankings(rankings, 1)
    renamed = rankings.rename({"query": "len"})
    swapped = datasets.swapped_rankings(renamed, 1, query="len")
    assert_frame_equal(swapped, expected.rename({"query": "len"}))


def test_there_may_be_more_keys_than_a_byte_can_count():
    """The first unusable one was called by its number in one byte."""
    keys = {f"key {number}": pl.lit(0.0) for number in range(300)}
    frame = RANKED.head(6).with_columns(**keys)
    expression = pl.col("grade").graded.ranked_by("score", *keys).ap()
    expected = (
        RANKED.head(6)
        .group_by("query", maintain_order=True)
        .agg(pl.col("grade").graded.ranked_by("score").ap())
    )
    assert_frame_equal(frame.group_by("query", maintain_order=True).agg(expression), expected)
    wrong = frame.with_columns(pl.lit(float("nan")).alias("key 280"))
    with pytest.raises(ValueError, match="score 'key 280' must be finite, got NaN or infinity"):
        wrong.group_by("query").agg(expression)
