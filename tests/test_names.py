"""Columns whose names Polars takes for patterns, or that the library gives columns of its own."""

from __future__ import annotations

import re

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_graded as pg
from polars_graded import charts

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


def evaluated(frame, **columns):
    return pg.evaluate(frame, "ap", ties="order", **({"strategy": None} | columns))


CALLS = {
    "evaluate by": lambda n: evaluated(RANKED.rename({"score": n}), by=n, strategy="strategy"),
    "evaluate measure": lambda n: pg.evaluate(RANKED, {n: "ap"}, **STACKED),
    "side_by_side query": lambda n: pg.side_by_side(
        RANKED.rename({"query": n}), "q1", query=n, strategy="strategy"
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
    "join_judgments query": lambda n: pg.join_judgments(
        RUN.rename({"query": n}), JUDGMENTS.rename({"query": n}), query=n, strategy="strategy"
    ),
    "paper_table strategy": lambda n: pg.paper_table(PER_QUERY.rename({"strategy": n}), "ap"),
    "summarise segments": lambda n: pg.summarise(
        PER_QUERY.with_columns(pl.lit("x").alias(n)), "ap", segments=n
    ),
    "summarise query": lambda n: pg.summarise(PER_QUERY.rename({"query": n}), "ap", query=n),
    "compare query": lambda n: pg.compare(PER_QUERY.rename({"query": n}), "ap", query=n),
    "phi_curve score": lambda n: pg.phi_curve(RANKED.rename({"score": n}), score=n),
    "rankings query": lambda n: charts.rankings(
        RANKED.rename({"query": n}), "q1", "ap", query=n, strategy="strategy"
    ),
    "explore measure": lambda n: charts.explore(PER_QUERY.rename({"ap": n}), "A", "B", {n: "ap"}),
    "precision_histogram measure": lambda n: charts.precision_histogram(
        PER_QUERY.rename({"ap": n}), {n: "ap"}, "A", "B"
    ),
    **{
        f"{function.__name__} {key}": lambda n, function=function, key=key, options=options: (
            function(THREE.rename({key: n}), "ap", **{key: n}, **options)
        )
        for key in ("query", "strategy")
        for function, options in (
            (pg.trust.order_stability, {"sizes": 1, "samples": 2}),
            (pg.trust.power_curve, {"queries": [5]}),
            (pg.trust.queries_needed, {}),
        )
    },
    "report query": lambda n: pg.report(PER_QUERY.rename({"query": n}), "page.html", query=n),
}


PATTERNS = ("*", "^.*r.*$", "")


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_column_that_polars_takes_for_a_pattern_is_refused(call, tmp_path, monkeypatch):
    """Polars would take columns beside it, or all of them."""
    monkeypatch.chdir(tmp_path)
    for pattern in PATTERNS:
        with pytest.raises(
            ValueError, match="is not a pattern in Polars, got " + re.escape(repr(pattern))
        ):
            call(pattern)


@pytest.mark.slow
@pytest.mark.usefixtures("charts_undrawn")
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_column_may_have_any_other_name(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("^q.*", "**$"):
        call(name)


# Names that the library gives to columns of its own, or that Polars gives.
TAKEN = [
    *("len", "count", "literal", "row", "index", "rank", "values", "value", "measures", "queries"),
    *("judged", "answered", "tied", "ranked", "grade", "doc"),
    *("judged_share_of_first_ten", "depends on ties", "depends_on_ties"),
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
    expected = pg.join_judgments(run, judgments, query="q", doc="d", grade="g", strategy="s")
    for argument, key in names.items():
        given = names | {argument: name}
        parts = [frame.rename({key: name}, strict=False) for frame in (run, judgments)]
        assert_frame_equal(pg.join_judgments(*parts, **given), expected.rename({key: name}))
        twice = pl.concat([parts[0], parts[0].head(1)])
        with pytest.raises(ValueError, match="got 1 more than once"):
            pg.join_judgments(twice, parts[1], **given)


@pytest.mark.parametrize("key", ["query", "strategy"])
@pytest.mark.parametrize("name", ["measure", "value", "residual"])
def test_a_key_with_the_name_of_a_column_of_the_result_is_refused(key, name):
    """Polars spoke of projections with duplicate output names."""
    renamed = RANKED.rename({key: name})
    with pytest.raises(ValueError, match=r"of the result.*\n\nHint: rename the column"):
        pg.trust.unjudged_bounds(renamed, "ap", **STACKED | {key: name})
