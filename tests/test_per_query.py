"""The frame of one row per strategy and query: what it must be, and what may be missing."""

from __future__ import annotations

import math

import polars as pl
import pytest
from results import FRAME, frame_of, of_few

import polars_graded as pg
from polars_graded import compare, differences, summarise
from polars_graded._results.best_values import find_best_places, find_places
from polars_graded.trust import rank_correlation

# Missing.

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


def test_many_missing_results_are_counted():
    frame = frame_of({"a": [0.5] * 9, "b": [None] * 9})
    with pytest.raises(
        ValueError,
        match=r"in 9 of 9 queries: query 0 of 'b', query 1 of 'b', query 2 of 'b', \.\.\.",
    ):
        compare(frame)


@of_few
def test_missing_results_are_dropped_for_all_strategies_measure_by_measure():
    result = compare(WITH_HOLES, missing="drop")
    assert result["queries"].to_list() == [2, 2]
    assert result["mean"].to_list() == [0.625, 0.625]
    assert result["baseline_mean"].to_list() == [0.375, 0.75]
    third = WITH_HOLES.vstack(WITH_HOLES[:2].with_columns(strategy=pl.lit("c")))
    assert summarise(third, "ap", missing="drop")["queries"].to_list() == [2, 2, 2]
    of_two = differences(third, "ap", "a", "b", missing="drop", order="query")
    assert of_two["query"].to_list() == [1, 2]


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
    for ask in (
        compare,
        summarise,
        rank_correlation,
        pg.trust.order_stability,
        pg.trust.discriminative_power,
    ):
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
    sentence = (
        "^`measures` must specify the best value of 'E', since no measure has this name"
        r"\n\nHint: pass the best value: {'E': 'highest'} or {'E': 'lowest'}"
    )
    for ask in (compare, pg.paper_table, pg.trust.order_stability):
        with pytest.raises(ValueError, match=sentence):
            ask(own, "E")
    with pytest.raises(ValueError, match=sentence):
        rank_correlation(own, "E", "nDCG")
    with pytest.raises(ValueError, match=sentence):
        differences(own, "E", "strong", "weak")
    for ask in (
        summarise,
        pg.trust.discriminative_power,
        pg.trust.queries_needed,
        pg.trust.swap_rate,
    ):
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


def test_what_is_missing_is_not_perfect():
    holes = pl.DataFrame(
        {"strategy": [*"aabb"], "query": [1, 2, 1, 2], "e_measure": [0.5, None, 0.25, 0.5]}
    )
    sentence = "^`missing` must be 'error' or 'drop' for 'e_measure', whose lowest .* got 'zero'$"
    for ask in (compare, summarise, pg.paper_table):
        with pytest.raises(ValueError, match=sentence):
            ask(holes, missing="zero")
        ask(holes.drop_nulls(), missing="drop")
    with pytest.raises(ValueError, match="must specify the best value of 'E'"):
        summarise(holes.rename({"e_measure": "E"}), "E", missing="zero")
    whole = holes.fill_null(1.0)
    assert compare(whole, missing="zero").equals(compare(whole))


# Several columns of queries.

DEVICES = pl.DataFrame(
    [(s, d, q) for s in ("a", "b") for d in ("desk", "phone") for q in (1, 2, None)],
    schema=["strategy", "device", "query"],
    orient="row",
).with_columns(
    ap=pl.Series([0.5, 0.25, 1.0, 0.75, 0.5, 0.5, 0.25, 0.5, 0.5, 0.25, 1.0, 0.25]),
    ndcg=pl.Series([0.5, 0.75, 1.0, 0.5, 0.5, 0.25, 0.5, 0.5, 0.25, 0.5, 0.75, 0.5]),
)


@pytest.mark.filterwarnings("ignore:queries are tested as independent")
def test_several_columns_may_tell_queries_apart():
    both = {"query": ["device", "query"]}
    joined = DEVICES.with_columns(query=pl.format("{}-{}", "device", pl.col("query").fill_null(0)))
    one = joined.drop("device")
    for ask in (
        *(compare, summarise, rank_correlation, pg.paper_table, pg.trust.queries_needed),
        *(pg.trust.power_curve, pg.trust.swap_rate, pg.trust.order_stability),
    ):
        found, expected = ask(DEVICES, **both), ask(one)
        assert found == expected if isinstance(found, str) else found.equals(expected)
    by_query = differences(DEVICES, "ap", "a", "b", **both)
    assert by_query.columns == ["device", "query", "value_a", "value_b", "difference", "winner"]
    assert (
        by_query["difference"].to_list() == differences(one, "ap", "a", "b")["difference"].to_list()
    )
    assert pg.long_form(DEVICES, **both).columns[:3] == ["strategy", "device", "query"]
    # One of them may tell segments apart.
    apart = DEVICES.with_columns(device_too="device")
    by_device = compare(DEVICES, segments="device", **both)
    expected = compare(apart, segments="device_too", **both).rename({"device_too": "device"})
    assert by_device["queries"].to_list() == [3] * 4
    assert by_device.equals(expected)
    with pytest.raises(
        ValueError, match=r"but 12 occur several times: query \{'device': 'desk', 'qu"
    ):
        compare(pl.concat([DEVICES, DEVICES]), **both)


# Refusals.

ColumnNotFound = pl.exceptions.ColumnNotFoundError

ERRORS = [
    (["app"], {}, ColumnNotFound, r"no column 'app'; it has .*\n\nHint: did you mean 'ap'"),
    ([3], {}, TypeError, "`measures` must be the name of a column, got 3"),
    ([], {"query": "topic"}, ColumnNotFound, "no column 'topic'; it has"),
    (
        ["curve"],
        {},
        TypeError,
        r"'curve' must be one number per query, got List.*\n\nHint: name the measure at",
    ),
    (["note"], {}, TypeError, "measure 'note' must be one number per query, got String$"),
    (["ap", "ap"], {}, ValueError, "each column must be named once, got strategy, query, ap, ap"),
    ([], {"missing": "skip"}, ValueError, "`missing` must be one of 'error', 'drop', 'zero', got"),
]


@pytest.mark.parametrize("call", [summarise, rank_correlation])
@pytest.mark.parametrize(("measures", "options", "exception", "sentence"), ERRORS)
def test_the_others_refuse_the_same(call, measures, options, exception, sentence):
    with pytest.raises(exception, match=sentence):
        call(FRAME, *measures, **options)


@pytest.mark.parametrize("call", [compare, summarise, rank_correlation])
def test_frames_that_are_none(call):
    with pytest.raises(TypeError, match=r"`per_query` must be a data frame .*, got dict"):
        call({"ap": []})
    with pytest.raises(ValueError, match="must have a column of numbers, got strategy"):
        call(FRAME.drop("ap"))
    with pytest.raises(
        ValueError, match=r"have each query once, but 15 occur several times: query 0 of 's0', "
    ):
        call(pl.concat([FRAME, FRAME]))
    with pytest.raises(ValueError, match="strategy 'strategy' must not be null, got 5 nulls"):
        call(FRAME.with_columns(pl.col("strategy").replace("s1", None)))


# What a value may be.


def test_values_whose_squares_are_no_numbers_are_refused():
    frame = frame_of({"a": [1e308, -1e308, 1e308], "b": [-1e308, 1e308, 0.5]})
    rule = (
        r"'ap' must be within 1e\+150 of 0, since it is squared, got a larger value in 3 of 3 quer"
    )
    for call in (compare, summarise):
        with pytest.raises(ValueError, match=rule):
            call(frame)


def test_one_large_value_makes_no_ties_elsewhere():
    a = [1e13, *range(1, 22)]
    b = [1e13, *range(22)][:22]
    frame = frame_of({"a": a, "b": b})
    [row] = compare(frame).rows(named=True)
    assert (row["wins"], row["ties"], row["losses"]) == (21, 1, 0)
    third = pl.concat([frame, frame_of({"c": [1e13] * 22})])
    of_three = compare(third, "ap").filter(strategy="a", baseline="b")
    assert of_three["wins"].item() == 21
    by_query = differences(frame, "ap", "a", "b")
    assert by_query["winner"].to_list() == ["a"] * 21 + [None]


def test_one_large_value_leaves_tests_and_orders_as_they_are():
    """Both have the large one, so nothing changes but the means."""
    plain = {"a": [1.0, 2, 3, 4, 5, 6], "b": [0.5, 1.5, 3.5, 3, 4, 4]}
    large = {name: [*row, 1e13] for name, row in plain.items()}
    tied = {name: [*row, 1.0] for name, row in plain.items()}
    for test in ("t", "wilcoxon", "permutation", "bootstrap"):
        of_large, of_tied = (
            compare(frame_of(values), test=test)["p_value"].item() for values in (large, tied)
        )
        assert of_large == pytest.approx(of_tied, rel=1e-9)
    means = frame_of({"x": [1e13, 1.0], "y": [1e13, 3.0]}).with_columns(
        ndcg=pl.Series([0.0, 1.0, 0.0, 3.0])
    )
    assert rank_correlation(means, "ap", "ndcg")["tau"].to_list() == [1]


@of_few
def test_small_values_are_compared_as_large_ones_are():
    """What is a power of 2 smaller has the same digits."""
    values = {"a": [0.5, 0.25, 0.75, 0.5], "b": [0.25, 0.5, 0.25, 0.125]}
    small = {name: [v * 2.0**-600 for v in row] for name, row in values.items()}
    for test in ("t", "wilcoxon", "permutation", "bootstrap"):
        columns = ["p_value", "d_z", "wins", "ties", "losses"]
        found = compare(frame_of(small), test=test).select(columns)
        assert found.equals(compare(frame_of(values), test=test).select(columns))


def test_a_measure_under_a_name_of_ones_own_is_not_left_out_in_silence():
    """Beside a column that is called like a measure, others are what is known of queries."""
    own = {"nDCG@10": "ndcg(gain=linear)@10"}
    per_query = pg.evaluate(pg.datasets.example(12), "ap", own, by=["strong", "fair", "weak"])
    for ask in (pg.summarise, pg.compare, pg.paper_table, pg.trust.discriminative_power):
        with pytest.warns(UserWarning, match="measures: 'nDCG@10'\n\nHint: pass the columns"):
            ask(per_query)
        ask(per_query, "ap", own)
        # With no name to go by it is asked for: a column may be what is known of queries.
        with pytest.raises(
            ValueError, match=r"with the name of a measure, .* got 'AP', 'nDCG@10'\n\nHint"
        ):
            ask(per_query.rename({"ap": "AP"}))
    assert pg.summarise(per_query, own)["measure"].unique().to_list() == ["nDCG@10"]


def test_places_are_equal_up_to_rounding_only():
    numbers = pl.Series([3.0, 1.0, 1.0 + 1e-14, None, 1e15, 2.0])
    assert find_places(numbers).to_list() == [2, 0, 0, None, 3, 1]
    assert find_best_places(pl.Series([-1e15, 1.0, 2.0]), "highest") == [2]
    assert find_best_places(pl.Series([], dtype=pl.Float64), "highest") == []
