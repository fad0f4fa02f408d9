"""Results that say of themselves what their nulls mean, and which columns tell queries apart."""

from __future__ import annotations

import math

import polars as pl
import pytest
from polars.testing import assert_frame_equal
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
    "swap_rate": trust.swap_rate,
    "order_stability": trust.order_stability,
    "discriminative_power": trust.discriminative_power,
    "significance_levels": trust.significance_levels,
    "queries_needed": trust.queries_needed,
    "power_curve": trust.power_curve,
    "precision_histogram": lambda frame, **keys: (
        charts.precision_histogram(frame, "ap", "x", "y", **keys).data
    ),
    "query_heatmap": lambda frame, **keys: charts.query_heatmap(frame, "ap", **keys).data,
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


def test_a_report_says_what_is_left_out(tmp_path):
    pages = []
    for options in ({}, WHOLE):
        file = tmp_path / "page.html"
        pg.report(RESULTS, file, **options)
        pages.append(file.read_text())
    said = "If a measure is undefined for a query, the query is left out of that measure."
    assert said in pages[0]
    other = (
        "If a strategy lacks the value of a measure for a query, "
        "the query is left out of that measure."
    )
    assert pages[0].replace(said, other) == pages[1]


def test_a_file_keeps_keys_and_nulls(tmp_path):
    pg.write_results(RESULTS, tmp_path / "results.parquet")
    read = pg.read_results(tmp_path / "results.parquet")
    assert_frame_equal(pg.summarise(read), pg.summarise(RESULTS, **WHOLE))
    old, new = (RESULTS.filter(strategy=name) for name in ("x", "y"))
    pg.write_results(old, tmp_path / "old.csv")
    [sentence] = pg.gate(
        new.with_columns(pl.col(KEYS).cast(pl.String)),
        "ap",
        baseline=tmp_path / "old.csv",
        cluster=KEYS,
    )["sentence"]
    assert "40 queries; 40 independent clusters; 8 queries without a value on either" in sentence


def test_counts_say_how_many_queries_are_left():
    assert pg.summarise(RESULTS, "ap")["queries"].to_list() == [40] * 3
    assert pg.gate(RESULTS, "ap", baseline="x", cluster="user")["undefined"].to_list() == [8] * 2
    assert "Means of 40 queries" in pg.paper_table(RESULTS)


def test_a_null_of_some_strategies_is_refused():
    """It may be a query that a strategy did not answer."""
    hole = (pl.col("strategy") == "x") & (pl.col("user") == 1) & (pl.col("session") == 0)
    holes = RESULTS.with_columns(pl.when(~hole).then("ap").alias("ap"))
    sentence = "measure 'ap' must have a value .* in 1 of 48 queries: .*\n\nHint: missing='drop'"
    for name in ("summarise", "compare", "rank_strategies", "paper_table", "query_heatmap"):
        with pytest.raises(ValueError, match=sentence):
            CALLS[name](holes)
    lost = RESULTS.filter(~hole)
    with pytest.raises(ValueError, match="must have a value"):
        pg.summarise(lost, query=KEYS)


def test_nan_is_refused_also_where_all_have_it():
    nan = RESULTS.with_columns(pl.col("ap").fill_null(math.nan))
    with pytest.raises(ValueError, match="in 8 of 48 queries"):
        pg.summarise(nan)


def test_a_column_called_query_may_be_one_of_several():
    frame = RESULTS.rename({"session": "query"})
    found = pg.compare(frame)
    assert_frame_equal(found, pg.compare(frame, query=["user", "query"], missing="drop"))
    # Where it tells queries apart alone, others are what is known of a query.
    alone = RESULTS.with_columns(query=pl.format("{} {}", *KEYS))
    assert pg.differences(alone, "ap", "x", "y").columns[0] == "query"


def test_columns_that_pair_no_rows_are_asked_for_with_a_call_to_paste():
    """A number that differs between strategies is no part of a key."""
    frame = RESULTS.drop("dcg_curve@5").with_columns(size=pl.int_range(pl.len()))
    for call in (pg.summarise, pg.compare, pg.rank_strategies, pg.paper_table):
        with pytest.raises(ValueError, match=r"several columns .*\n\nHint: query=\[...\] names"):
            call(frame)
    named = RESULTS.drop("dcg_curve@5").rename({"strategy": "system"})
    # A call to paste would guess which of the columns holds the strategies.
    with pytest.raises(
        ValueError, match=r"got system, user, session\n\nHint: strategy=\.\.\., query="
    ):
        pg.summarise(named)
    found = pg.summarise(named, strategy="system", query=["user", "session"])
    assert_frame_equal(found, pg.summarise(named, strategy="system"))


@pytest.mark.parametrize("seed", range(20))
def test_any_reading_of_columns_that_are_taken_as_the_key_pairs_the_same_rows(seed):
    """Of random frames none is read in a way that another valid reading contradicts."""
    draw = rng(seed)
    keys = [(a, b, c) for a in range(3) for b in range(3) for c in range(2)]
    chosen = [keys[place] for place in draw.choice(len(keys), size=6, replace=False)]
    rows = []
    for name in "pq":
        changed = [(a, b, int(draw.integers(2)) if seed % 2 else c) for a, b, c in chosen]
        order = draw.permutation(6)
        rows += [(name, *changed[place], float(draw.random())) for place in order]
    frame = pl.DataFrame(rows, schema=["strategy", "a", "b", "c", "ap"], orient="row")
    try:
        found = pg.compare(frame)
    except ValueError:
        return
    for reading in ("a", "b", "c", ["a", "b"], ["a", "c"], ["b", "c"]):
        columns = [reading] if isinstance(reading, str) else reading
        each = frame.select("strategy", *columns)
        if each.n_unique() == 12 and each.select(columns).n_unique() == 6:
            assert_frame_equal(found, pg.compare(frame, query=reading))


def test_rows_that_a_join_repeated_are_no_further_queries():
    values = pg.evaluate(pg.datasets.example(), "ap", "dcg_curve@3", by=["strong", "weak"])
    tags = pl.DataFrame({"tag": ["a", "b", "c"]})
    twice = pl.DataFrame({"query": [1, 1, *range(2, 301)], "title": ["t", "T", *["u"] * 299]})
    for joined, column, n in (
        (values.join(tags, how="cross"), "tag", "1,200 rows"),
        (values.rename({"query": "user"}).join(tags, how="cross"), "tag", "1,200 rows"),
        (values.join(twice, on="query"), "title", "2 rows"),
    ):
        for function in (pg.summarise, pg.compare, pg.paper_table, pg.rank_strategies):
            with pytest.raises(ValueError, match=f"got {n} too many, .* differ only in '{column}'"):
                function(joined, "ap")
        query = ["query" if "query" in joined.columns else "user", column]
        assert (
            pg.summarise(joined, "ap", query=query)["queries"].to_list() == [joined.height // 2] * 2
        )
    titles = values.join(twice.unique("query", keep="first"), on="query")
    assert pg.compare(titles, "ap").equals(pg.compare(values, "ap"))
    with pytest.raises(ValueError, match="each strategy must have each query once"):
        pg.summarise(
            pg.long_form(values.drop("dcg_curve@3")).vstack(
                pg.long_form(values.drop("dcg_curve@3")).with_columns(measure=pl.lit("rr"))
            ),
            {"value": "highest"},
        )
