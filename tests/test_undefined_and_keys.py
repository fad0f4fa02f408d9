"""Results that say of themselves what their nulls mean, and which columns tell queries apart."""

from __future__ import annotations

import polars as pl
import pytest
from results import rng

import polars_graded as pg
from polars_graded import charts, trust

pytestmark = pytest.mark.filterwarnings("ignore:queries are tested as independent")

KEYS = ["user", "session"]


def logged(n_users=24):
    """Rankings of sessions of users, of whom each seventh has no relevant document."""
    draw = rng(1)
    grades = [
        0 if user % 7 == 0 else int(draw.integers(0, 3))
        for user in range(n_users)
        for _ in range(2 * 8)
    ]
    n = len(grades)
    return pl.DataFrame(
        {
            "user": [place // 16 for place in range(n)],
            "session": [place // 8 % 2 for place in range(n)],
            "doc": [f"d{place % 8}" for place in range(n)],
            "grade": grades,
            "x": draw.normal(size=n) + grades,
            "y": draw.normal(size=n) + 0.5 * pl.Series(grades).to_numpy(),
            "z": draw.normal(size=n),
        }
    )


MEASURES = "ndcg@5", "ap", "dcg_curve@5"
RESULTS = pg.evaluate(logged(), *MEASURES, query=KEYS, by=["x", "y", "z"], undefined_as=None)
WHOLE = {"query": KEYS, "missing": "drop"}
"""What each call had to be given."""

CALLS = {
    "summarise": pg.summarise,
    "compare": pg.compare,
    "clusters": lambda frame, **keys: pg.compare(frame, "ap", cluster="user", **keys),
    "segments": lambda frame, **keys: pg.summarise(frame, segments="session", **keys),
    "compare_segments": lambda frame, **keys: pg.compare_segments(
        frame, "ap", segments="session", **keys
    ),
    "differences": lambda frame, **keys: pg.differences(frame, "ap", "x", "y", **keys),
    "rank_strategies": pg.rank_strategies,
    "gate": lambda frame, **keys: pg.gate(frame, "ndcg@5", baseline="x", cluster="user", **keys),
    "paper_table": pg.paper_table,
    "rank_correlation": trust.rank_correlation,
    "order_stability": trust.order_stability,
    "queries_needed": trust.queries_needed,
    "power_curve": trust.power_curve,
    "precision_histogram": lambda frame, **keys: (
        charts.precision_histogram(frame, "ap", "x", "y", **keys).data
    ),
    "explore": lambda frame, **keys: charts.explore(frame, "x", "y", "ap", **keys).data,
}


def as_text(found):
    return found.write_csv() if isinstance(found, pl.DataFrame) else str(found)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("kind", ["as it came", "lazy", "other order"])
def test_results_carry_their_keys_and_what_their_nulls_mean(name, kind):
    """Each call gives what it gives with both arguments written out."""
    frame = {
        "as it came": RESULTS,
        "lazy": RESULTS.lazy(),
        "other order": RESULTS.select("ap", "ndcg@5", "user", "strategy", "session", "dcg_curve@5"),
    }[kind]
    assert RESULTS["ap"].null_count() == 3 * 8
    found = as_text(CALLS[name](frame))
    # A page of several columns has them in the order of the frame.
    assert found == as_text(CALLS[name](frame, **WHOLE))


def test_rows_that_a_join_repeated_are_dependent_queries():
    values = pg.evaluate(pg.datasets.example(), "ap", "dcg_curve@3", by=["strong", "weak"])
    tags = pl.DataFrame({"tag": ["a", "b", "c"]})
    twice = pl.DataFrame({"query": [1, 1, *range(2, 301)], "title": ["t", "T", *["u"] * 299]})
    for joined, column in (
        (values.join(tags, how="cross"), "query"),
        (values.rename({"query": "user"}).join(tags, how="cross"), "user"),
        (values.join(twice, on="query"), "query"),
    ):
        for function in (pg.summarise, pg.compare, pg.paper_table, pg.rank_strategies):
            with pytest.warns(pg.DataWarning.clusters, match=f"values of '{column}' for"):
                function(joined, "ap")
    titles = values.join(twice.unique("query", keep="first"), on="query")
    assert pg.compare(titles, "ap").equals(pg.compare(values, "ap"))
