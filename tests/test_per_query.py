"""The frame of one row per strategy and query: what it must be, and what it says of itself."""

from __future__ import annotations

import math

import polars as pl
import pytest
from results import FRAME, frame_of, of_few, rng

import polars_graded as pg
from polars_graded import charts, compare, differences, summarise, trust
from polars_graded.trust import rank_correlation

WITH_HOLES = pl.DataFrame(
    {
        "strategy": ["a", "a", "a", "a", "b", "b", "b"],
        "query": [1, 2, 3, 4, 1, 2, 3],
        "ap": [0.5, 0.75, None, 0.25, 0.25, 0.5, 1.0],
        "ndcg": [0.5, 0.75, 0.5, 0.25, math.nan, 0.5, 1.0],
    }
)


def test_missing_results_are_an_error_that_names_them():
    rule = (
        "must have a value for each strategy and query, got no row, null or NaN in 2 of 4 queries"
    )
    hint = (
        "\n\nHint: missing='drop' leaves such a query out for all strategies, "
        "missing='zero' counts the value as 0"
    )
    for call in (compare, summarise, rank_correlation):
        with pytest.raises(
            ValueError, match=f"^measure 'ap' {rule}: query 3 of 'a', query 4 of 'b'{hint}$"
        ):
            call(WITH_HOLES)
        with pytest.raises(
            ValueError, match=f"'ndcg' {rule}: query 1 of 'b', query 4 of 'b'{hint}"
        ):
            call(WITH_HOLES.drop("ap"))
    with pytest.raises(ValueError, match=f"'ap' {rule}"):
        differences(WITH_HOLES, "ap", "a", "b")


@of_few
def test_missing_results_are_dropped_for_all_strategies_measure_by_measure():
    result = compare(WITH_HOLES, missing="drop")
    assert result["queries"].to_list() == [2, 2]
    assert result["mean"].to_list() == [0.625, 0.625]
    assert result["baseline_mean"].to_list() == [0.375, 0.75]
    third = WITH_HOLES.vstack(WITH_HOLES[:2].with_columns(strategy=pl.lit("c")))
    assert summarise(third, "ap", missing="drop")["queries"].to_list() == [2, 2, 2]
    of_two = differences(third, "ap", "a", "b", missing="drop")
    assert of_two["query"].sort().to_list() == [1, 2]


def test_missing_results_are_zero():
    result = compare(WITH_HOLES, missing="zero")
    assert result["queries"].to_list() == [4, 4]
    assert result["mean"].to_list() == [0.375, 0.5]
    assert result["baseline_mean"].to_list() == [1.75 / 4, 1.5 / 4]


@pytest.mark.parametrize("missing", ["error", "drop", "zero"])
def test_infinity_is_refused(missing):
    frame = frame_of({"a": [0.5, math.inf], "b": [0.5, 0.5]})
    sentence = "'ap' must be finite, got infinity in 1 of 2 queries: query 1 of 'a'$"
    with pytest.raises(ValueError, match=sentence):
        compare(frame, missing=missing)


# What a column measures.

OWN = {"E": "e_measure(b=2)@10", "nDCG": "ndcg@10"}


def with_own_names():
    """The same results under names of one's own and under those of the measures."""
    by = ["strong", "fair", "weak"]
    own = pg.evaluate(pg.datasets.example(30), OWN, by=by).with_columns(year=pl.lit(1.5))
    return own, own.drop("year").rename(OWN)


def test_what_a_renamed_column_measures_is_told_as_it_was_to_evaluate():
    own, plain = with_own_names()
    renamed = {measure: name for name, measure in OWN.items()}
    for ask in (compare, summarise, rank_correlation, pg.trust.order_stability):
        expected = ask(plain).with_columns(pl.col("^measure|reference$").replace(renamed))
        assert ask(own, OWN).equals(expected)
    assert compare(own, {"E": "lowest"})["best"].unique().to_list() == ["lowest"]
    e = compare(own, OWN, baseline="weak").filter(measure="E", strategy="strong").row(0, named=True)
    assert e["wins"] > e["losses"]
    assert e["difference"] < 0
    winners = differences(own, {"E": "e_measure@10"}, "strong", "weak")["winner"]
    assert winners.equals(differences(plain, OWN["E"], "strong", "weak")["winner"])
    table = pg.paper_table(own, OWN)
    for name, measure in OWN.items():
        table = table.replace(f" {name} ", f" {measure} ")
    assert table == pg.paper_table(plain)


def test_a_direction_that_nobody_said_is_asked_for_where_it_matters():
    own, _ = with_own_names()
    sentence = "^`measures` must specify the best value of 'E', since no measure has this name"
    for ask in (compare, pg.paper_table, pg.trust.order_stability):
        with pytest.raises(ValueError, match=sentence):
            ask(own, "E")
    with pytest.raises(ValueError, match=sentence):
        rank_correlation(own, "E", "nDCG")
    with pytest.raises(ValueError, match=sentence):
        differences(own, "E", "strong", "weak")
    for ask in (summarise, pg.trust.queries_needed):
        ask(own, "E")  # which say nothing of better and worse
    assert summarise(own, "E")["best"].unique().to_list() == [None]
    with pytest.raises(ValueError, match="there is no measure 'low'"):
        compare(own, {"E": "low"})


def test_a_number_that_is_no_measure_is_not_compared_unless_it_is_named():
    own, _ = with_own_names()
    with pytest.raises(
        ValueError, match=r"with the name of a measure, .* got 'E', 'nDCG', 'year'\n\nHint:"
    ):
        compare(own)
    with pytest.warns(UserWarning, match="are ignored, since .*: 'E', 'year'"):
        found = compare(own.rename({"nDCG": "ndcg@10"}))
    assert set(found["measure"]) == {"ndcg@10"}


@pytest.mark.parametrize("call", [compare, summarise, rank_correlation])
def test_frames_that_are_none(call):
    with pytest.raises(TypeError, match=r"`per_query` must be a data frame .*, got dict"):
        call({"ap": []})
    with pytest.raises(ValueError, match=r"must have a column with .* got 'strategy'"):
        call(FRAME.drop("ap"))
    with pytest.raises(ValueError, match="got 'strategy', 'query'\n\nHint: `per_query` is what"):
        call(FRAME.select("strategy", pl.col("query").cast(pl.String)))
    with pytest.raises(
        ValueError, match=r"have each query once, but 15 occur several times: query 0 of 's0', "
    ):
        call(pl.concat([FRAME, FRAME]))
    with pytest.raises(ValueError, match="strategy 'strategy' must not be null, got 5 nulls"):
        call(FRAME.with_columns(pl.col("strategy").replace("s1", None)))


def test_values_whose_squares_exceed_a_double_are_refused():
    rows = {"strategy": ["a", "b"] * 3, "query": [1, 1, 2, 2, 3, 3], "dcg@5": [1.0, 2, 3, 1, 5, 4]}
    frame = pl.DataFrame(rows).with_columns(pl.col("dcg@5") * 1e151)
    for function in (compare, summarise):
        with pytest.raises(ValueError, match=r"within 1e\+150 of 0.* in 3 of 3 queries"):
            function(frame)


# What results say of themselves: what their nulls mean, and which columns are a query.


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


@pytest.mark.filterwarnings("ignore:queries are tested as independent")
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
