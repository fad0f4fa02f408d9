"""What holds of every measure: each contract once, over every row of the registry.

A contract is one test that measures all rows at once and names those for which it does not hold.
"""

from __future__ import annotations

import inspect
import math
import random
import re
from functools import cache
from itertools import accumulate, combinations, product
from unittest import mock

import polars as pl
import pytest
import reference
from helpers import (
    FURTHER_TYPES,
    FURTHER_VALUES,
    GRADED,
    GRADES,
    ODD_QUERIES,
    Query,
    alike,
    assert_alike,
    assert_each_alike,
    assert_none,
    frame_of,
    grouped,
    lists_of,
    numbers,
    random_queries,
    simulated,
    twins_of_each,
    values,
    values_of_each,
)
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from registry import BOUNDS_OF_TIES, FURTHER, ROWS

from polars_graded import Graded, evaluate, graded
from polars_graded._measuring import chunks
from polars_graded._measuring.definitions import DEFINITIONS
from polars_graded._measuring.kernels import ragged
from polars_graded._measuring.measures import Measure

CHAINED = {"ranked_by", "scaled", "undefined_as", "only_grade", "condensed", "where"}
NO_ONE_MEASURE = {"measures", "phi_relevance", "rank"}

QUERIES = [*ODD_QUERIES.values(), *random_queries(0, 100)]
UNTIED = random_queries(1, 100, ties=False)
FRAME = frame_of(QUERIES)


TAKING_ANY_GRADE = [row for row in ROWS if row.takes_any_grade]
CURVES = [row for row in ROWS if row.takes_cutoff and row.is_curve]
AVERAGES = [row for row in ROWS if row.averages_ties]


UNSHRUNK = [Phase.explicit, Phase.reuse, Phase.generate, Phase.target]
"""An example of all measures takes long enough that hypothesis would shrink it for minutes; the
message has the one query that matters."""


def sorted_by_query(frame, *exprs):
    return frame.group_by("query").agg(*exprs).sort("query")


@cache
def plain():
    """The values of all measures on the queries that most contracts are about."""
    return values_of_each(ROWS, GRADED, FRAME)


# The registry is complete, and methods take what their definitions take.


def test_every_measure_has_a_method_and_a_row():
    methods = {name for name in vars(Graded) if not name.startswith("_")} - CHAINED - NO_ONE_MEASURE
    assert methods == set(DEFINITIONS)
    assert {row.function for row in ROWS} == set(DEFINITIONS)


def test_every_option_and_every_cutoff_has_a_row():
    for function, definition in DEFINITIONS.items():
        rows = [row for row in ROWS if row.function == function]
        assert {option for row in rows for option in row.options} == set(definition.options)
        assert {row.n is None for row in rows} == {True} | {not definition.has_cutoff}


def test_arguments_of_a_method_are_those_of_its_definition():
    for row in ROWS:
        definition = DEFINITIONS[row.function]
        _, *parameters = inspect.signature(getattr(Graded, row.function)).parameters.values()
        cutoff = [("n", None, "positional or keyword")] if definition.has_cutoff else []
        columns = [(name, inspect.Parameter.empty, "keyword-only") for name in row.columns]
        options = [(name, o.default, "keyword-only") for name, o in definition.options.items()]
        found = [(p.name, p.default, p.kind.description) for p in parameters]
        assert found == cutoff + columns + options, row.name


def test_bounded_measures_lie_between_0_and_1():
    bounded = {row.name: DEFINITIONS[row.function].is_bounded for row in ROWS}
    assert bounded == {row.name: row.bounds[1] <= 1 for row in ROWS}


def test_the_best_value_is_known():
    known = {row.name: DEFINITIONS[row.function].best for row in ROWS}
    assert known == {row.name: row.best for row in ROWS}


# What a value may be.


def assert_within_bounds(rows, found, queries):
    assert_none(
        f"{row.name}: {value} of {query}"
        for row in rows
        for value, query in zip(found[row.name], queries, strict=True)
        if not (value is None and (row.is_null_by_default or row.is_null_without_documents))
        and not all(row.bounds[0] <= number <= row.bounds[1] for number in numbers(value))
    )


def test_stays_within_its_bounds_whatever_is_missing():
    assert_within_bounds(ROWS, plain(), QUERIES)


@pytest.mark.slow
@given(
    st.lists(
        st.lists(
            st.tuples(
                st.none() | st.floats(allow_nan=False, allow_infinity=False),
                st.none() | st.floats(-1e300, 1000),
            ),
            min_size=1,
        ),
        min_size=1,
    )
)
@settings(phases=UNSHRUNK)
def test_stays_within_its_bounds_on_real_numbers(queries):
    found = values_of_each(TAKING_ANY_GRADE, GRADED, frame_of(queries))
    assert_within_bounds(TAKING_ANY_GRADE, found, queries)


def test_stays_within_its_bounds_where_sums_are_rounded():
    rng = random.Random(11)
    in_rank_order = [[rng.randint(1, 9) / 10 for _ in range(rng.randint(2, 9))] for _ in range(300)]
    best_first = [sorted(grades, reverse=True) for grades in in_rank_order]
    queries = [[(-r, g) for r, g in enumerate(grades)] for grades in in_rank_order + best_first]
    found = values_of_each(TAKING_ANY_GRADE, GRADED, frame_of(queries))
    assert_within_bounds(TAKING_ANY_GRADE, found, queries)


def test_the_ideal_order_has_its_stated_value():
    rng = random.Random(2)
    best_first = [
        sorted([rng.choice([2, 3, 4]), *rng.choices(GRADES, k=more)], reverse=True)
        for more in [*range(12)] * 5
    ]
    queries = [[(-rank, g) for rank, g in enumerate(grades)] for grades in best_first]
    found = values_of_each(ROWS, GRADED, frame_of(queries))
    assert_each_alike(found, twins_of_each(ROWS, queries), queries)
    assert_none(
        f"{row.name}: {value} of {grades}"
        for row in ROWS
        for value, grades in zip(found[row.name], best_first, strict=True)
        if row.ideal is not None and not (value is None and row.is_null_by_default)
        if not all(alike(number, row.ideal) for number in numbers(value))
    )
    assert sum(row.ideal is not None for row in ROWS) > len(ROWS) / 3


@cache
def swaps(*, judged: bool) -> list[tuple[Query, Query]]:
    """Queries, and what becomes of them where a better document changes places with a worse.

    An unjudged document is worse than a judged one, or where all are `judged` left alone.
    """
    pairs = []
    for query in random_queries(3, 60, ties=False):
        retrieved = [place for place, (score, _) in enumerate(query) if score is not None]
        best_first = sorted(retrieved, key=lambda place: query[place][0], reverse=True)
        for upper, lower in combinations(best_first, 2):
            (high, worse), (low, better) = query[upper], query[lower]
            if better is not None and (not judged if worse is None else worse < better):
                swapped = list(query)
                swapped[upper], swapped[lower] = (low, worse), (high, better)
                pairs.append((query, swapped))
    return pairs


@pytest.mark.parametrize("judged", [False, True])
def test_a_better_document_further_up_never_makes_it_worse(judged):
    rows = [row for row in ROWS if row.skips_unjudged == judged]
    pairs = swaps(judged=judged)
    before, after = (values_of_each(rows, GRADED, frame_of(q)) for q in zip(*pairs, strict=True))
    for row in rows:
        sign = -1 if row.best == "lowest" else 1
        falls = [
            f"{row.name}: {query} has {value}, {swapped} {other}"
            for (query, swapped), value, other in zip(
                pairs, before[row.name], after[row.name], strict=True
            )
            if not (row.is_null_by_default and None in (value, other))
            and any(
                sign * (new - old) < -1e-12
                for old, new in zip(numbers(value), numbers(other), strict=True)
            )
        ]
        # Where the registry makes an exception, there has to be a case for it.
        assert bool(falls) != row.never_falls, falls[:1] or f"{row.name} never falls"


# What it does not depend on.


SCORE = pl.col("score")
WHOLE = SCORE.cast(pl.Int64)
RESCALED = {
    "linear": SCORE * 3 - 700,
    "exponential": (SCORE / 10).exp(),
    "Int8": SCORE.cast(pl.Int8),
    "Decimal": SCORE.cast(pl.Decimal(10, 3)),
    "Date": SCORE.cast(pl.Int32).cast(pl.Date),
    "Enum": WHOLE.cast(pl.String).cast(pl.Enum(map(str, range(-20, 120)))),
    # Beyond 2^53 one double stands for many whole numbers.
    "Int64": WHOLE + 2**60,
    "UInt64": WHOLE.cast(pl.UInt64) + 2**63,
    "Int128": WHOLE.cast(pl.Int128) * 3 - pl.lit(10**30, pl.Int128),
    "digits of a Decimal": SCORE.cast(pl.Decimal(38, 3)) + pl.lit("1" * 20).cast(pl.Decimal(38, 3)),
    "nanoseconds": (WHOLE + 17 * 10**17).cast(pl.Datetime("ns")),
    "number from the worst": SCORE.rank("dense").over("query"),
}


@pytest.mark.parametrize("rescaled", RESCALED)
def test_only_the_order_of_scores_matters(rescaled):
    frame = FRAME.with_columns(score=RESCALED[rescaled])
    assert_each_alike(values_of_each(ROWS, GRADED, frame), plain(), QUERIES)


def test_the_order_of_rows_does_not_matter_where_scores_differ():
    frame = frame_of(UNTIED)
    expected = values_of_each(ROWS, GRADED, frame)
    for seed in range(3):
        shuffled = frame.sample(fraction=1, shuffle=True, seed=seed)
        found = values_of_each(ROWS, GRADED, shuffled, sorted_by_query)
        assert_each_alike(found, expected, UNTIED)


@pytest.mark.parametrize("condensed", [False, True])
def test_rows_stand_in_rank_order_without_a_column_to_rank_by(condensed):
    retrieved = frame_of(UNTIED).drop_nulls("score")
    frame = retrieved.sort("query", "score", descending=[False, True])
    ranked, unranked = GRADED, graded("grade")
    if condensed:
        ranked, unranked = ranked.condensed(), unranked.condensed()
    assert_each_alike(values_of_each(ROWS, unranked, frame), values_of_each(ROWS, ranked, frame))


def test_a_cutoff_beyond_the_list_is_none_unless_it_is_divided_by():
    rows = [row for row in ROWS if row.takes_cutoff and not row.is_curve]
    whole = values_of_each([row.cut(None) for row in rows], GRADED, FRAME)
    for n in (12, 13, 10**6, 2**40):
        end = [row for row in rows if row.ends_with_the_list]
        found = values_of_each([row.cut(n) for row in end], GRADED, FRAME)
        expected = {row.cut(n).name: whole[row.cut(None).name] for row in end}
        assert_each_alike(found, expected, QUERIES)
    divided = [row for row in rows if not row.ends_with_the_list]
    found = values_of_each([row.cut(13) for row in divided], GRADED, FRAME)
    assert_none(row.name for row in divided if found[row.cut(13).name] == whole[row.cut(None).name])


DTYPES = [
    *(pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.Int128),
    *(pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64),
    *(pl.Float32, pl.Float64, pl.Decimal(10, 2)),
]


def test_the_data_type_of_grades_does_not_matter():
    queries = [*random_queries(4, 40, [0, 1, 2, 3, 4]), ODD_QUERIES["all unjudged"]]
    expected = twins_of_each(ROWS, queries)
    for dtype in DTYPES:
        found = values_of_each(ROWS, GRADED, frame_of(queries, dtype))
        assert_each_alike(found, expected, queries)


def test_a_column_without_any_grade_is_all_unjudged():
    queries = [ODD_QUERIES["all unjudged"]]
    frame = frame_of(queries).with_columns(grade=pl.lit(None))
    assert frame.schema["grade"] == pl.Null
    assert_each_alike(values_of_each(ROWS, GRADED, frame), twins_of_each(ROWS, queries))


def test_a_curve_has_the_value_of_its_measure_at_every_rank():
    curves = values_of_each([row.cut(14) for row in CURVES], GRADED, FRAME)
    measures = {row.cut(14).name: row.at_a_rank for row in CURVES}
    assert {len(curve) for name in measures for curve in curves[name]} == {14}
    for k in range(1, 15):
        at_k = values_of_each([row.cut(k) for row in measures.values()], GRADED, FRAME)
        found = {name: [curve[k - 1] for curve in curves[name]] for name in measures}
        expected = {name: at_k[row.cut(k).name] for name, row in measures.items()}
        assert_each_alike(found, expected, QUERIES)


def test_a_curve_without_a_cutoff_ends_with_its_list():
    whole, beyond = (
        values_of_each([row.cut(n) for row in CURVES], GRADED, FRAME) for n in (None, 14)
    )
    expected = {
        row.cut(None).name: [
            b[: len(w)]
            for b, w in zip(beyond[row.cut(14).name], whole[row.cut(None).name], strict=True)
        ]
        for row in CURVES
    }
    assert_each_alike(whole, expected, QUERIES)


# Ties.


def tied_queries() -> list[Query]:
    """Every pattern of ties of up to 6 documents, beside some that were not retrieved."""
    rng = random.Random(10)
    queries = []
    for length in range(1, 7):
        for steps in product((0, 1), repeat=length - 1):
            scores = [*accumulate(steps, lambda score, step: score - step, initial=0)]
            missed = [None] * rng.randint(0, 2)
            grades = rng.choices([None, *GRADES], k=length + len(missed))
            queries.append(list(zip([*scores, *missed], grades, strict=True)))
    return queries


TIED = tied_queries()


@pytest.mark.slow
@pytest.mark.parametrize("n", [3, *simulated(1, None, 9)])
def test_averaged_ties_are_the_mean_over_all_orders(n):
    rows = {row.name: row for row in (r.cut(n) if r.takes_cutoff else r for r in AVERAGES)}.values()
    lists = [lists_of(query) for query in TIED]
    expected = {
        row.name: [reference.expected(row.without("ties").twin, each) for each in lists]
        for row in rows
    }
    assert_each_alike(values_of_each(rows, GRADED, frame_of(TIED)), expected, TIED)


BOUNDS = [row for row in ROWS if row.options.get("ties") in BOUNDS_OF_TIES and row.never_falls]


def bound(found, least):
    """The least or the most of values, or of the values of curves at every rank."""
    choose = min if least else max
    if isinstance(found[0], list):
        return [choose(at_rank) for at_rank in zip(*found, strict=True)]
    return None if found[0] is None else choose(found)


@pytest.mark.simulation
def test_pessimistic_and_optimistic_ties_are_the_bounds_over_all_orders():
    orders = [list(reference.orders(lists_of(query))) for query in TIED]
    expected = {}
    for row in BOUNDS:
        # An order leaves no ties, where else each pair of them would count half.
        in_order = row.without("ties").twin
        untied = [[o._replace(tied=range(len(o.ranked))) for o in each] for each in orders]
        least = (row.options["ties"] == "pessimistic") == (row.best != "lowest")
        expected[row.name] = [bound([in_order(o) for o in each], least) for each in untied]
    assert_each_alike(values_of_each(BOUNDS, GRADED, frame_of(TIED)), expected, TIED)


def test_there_is_nothing_to_average_without_ties():
    untied, place = frame_of(UNTIED), pl.int_range(pl.len())
    for g, frame in [
        (GRADED, untied),
        (graded("grade"), FRAME),
        (graded("grade").ranked_by("score", place), FRAME),
        (graded("grade").ranked_by("score", place, descending=[True, False]), FRAME),
    ]:
        in_order = values_of_each([row.without("ties") for row in AVERAGES], g, frame)
        expected = {row.name: in_order[row.without("ties").name] for row in AVERAGES}
        assert_each_alike(values_of_each(AVERAGES, g, frame), expected)


@pytest.mark.slow
def test_condensed_drops_the_unjudged_from_the_ranking():
    expected = twins_of_each(ROWS, QUERIES, condensed=True)
    found = values_of_each(ROWS, GRADED.condensed(), FRAME, apart=True)
    assert_each_alike(found, expected, QUERIES)


# Where it is computed.


def windowed(frame, *exprs):
    return frame.select("query", *(expr.over("query") for expr in exprs)).unique("query")


def in_pieces(frame):
    return pl.concat([frame[start : start + 9] for start in range(0, frame.height, 9)])


def streamed(frame):
    return frame.collect(engine="streaming")


CONTEXTS = {
    "agg of a frame in pieces": lambda frame, *exprs: grouped(in_pieces(frame), *exprs),
    "agg": grouped,
    "over": windowed,
    "lazy agg": lambda frame, *exprs: grouped(frame.lazy(), *exprs).collect(),
    "lazy over": lambda frame, *exprs: windowed(frame.lazy(), *exprs).collect(),
    "streaming agg": lambda frame, *exprs: streamed(grouped(frame.lazy(), *exprs)),
    "streaming over": lambda frame, *exprs: streamed(windowed(frame.lazy(), *exprs)),
}
FIRST = QUERIES[:30]
ONE_OF_EACH = {row.function: row for row in ROWS}.values()
"""A row of each measure, where its options make no difference."""


@cache
def first_twins():
    return twins_of_each(ROWS, FIRST)


def assert_same_in(context, rows):
    """Each measure, by an expression of its own, has its values in a context."""
    found = values_of_each(rows, GRADED, frame_of(FIRST), context, apart=True)
    assert found["query"] == list(range(30))
    assert_each_alike(found, {row.name: first_twins()[row.name] for row in rows}, FIRST)


@pytest.mark.parametrize("context", CONTEXTS)
def test_every_context_gives_the_same(context):
    rows = ROWS if context in ("agg", "over") else ONE_OF_EACH
    assert_same_in(lambda frame, *exprs: CONTEXTS[context](frame, *exprs).sort("query"), rows)


def test_a_frame_of_one_query_gives_the_same():
    def one_by_one(frame, *exprs):
        parts = frame.partition_by("query", maintain_order=True)
        return pl.concat([part.select(pl.first("query"), *exprs) for part in parts])

    found = values_of_each(ROWS, GRADED, frame_of(FIRST), one_by_one)
    assert found["query"] == list(range(30))
    assert_each_alike(found, first_twins(), FIRST)


@pytest.mark.parametrize(
    "others", [["precision@1", "ndcg@5"], *simulated([], ["ndcg@1"], ["n_relevant(threshold=3)"])]
)
def test_measures_gives_the_same(others):
    """Whatever it is asked for beside: a ranking is as deep as the deepest needs it."""
    found = {}
    for row in ROWS:
        structs = values(GRADED.measures(*others, row.name, **row.columns), FRAME)
        found[row.name] = [struct[row.name] for struct in structs]
    assert_each_alike(values_of_each(ROWS, GRADED, FRAME, apart=True), found, QUERIES)


@pytest.mark.filterwarnings(
    "ignore:no document is judged",
    "ignore:.* the highest grade of each query",
    "ignore:.* below 0 count",
)
def test_evaluate_gives_the_same():
    columns = {name: column for row in ROWS for name, column in row.columns.items()}
    found = evaluate(FRAME, [*dict.fromkeys(row.name for row in ROWS)], ties="order", **columns)
    found = found.to_dict(as_series=False)
    assert_each_alike(found, plain(), QUERIES)


def test_a_query_may_not_have_the_name_of_what_is_evaluated():
    for row in ROWS:
        name = row.name
        frame = FRAME.rename({"query": name})
        with pytest.raises(ValueError, match=f"`query` must not .*, got {re.escape(repr(name))}"):
            evaluate(frame, name, query=name, **row.columns)
        stacked = FRAME.with_columns(pl.lit("x").alias(name))
        with pytest.raises(ValueError, match="`strategy` must not have the name of a measure, got"):
            evaluate(stacked, name, strategy=name, **row.columns)


@pytest.mark.slow
def test_chunks_do_not_show(monkeypatch):
    expected = plain()
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 20)
    assert_each_alike(values_of_each(ROWS, GRADED, FRAME), expected, QUERIES)


@pytest.mark.parametrize("name", ["ndcg", "ndcng"])
def test_an_area_far_beyond_the_lists_is_the_end_of_its_curve(name):
    areas, ends = (values(GRADED.measures(each), FRAME) for each in (f"{name}_area@{2**40}", name))
    found = [struct[f"{name}_area@{2**40}"] for struct in areas]
    assert found == pytest.approx([struct[name] for struct in ends], abs=1e-10)


# Where there is little or nothing to measure.


def test_an_empty_frame_has_no_query():
    frame, exprs = FRAME.clear(), [row.of(GRADED) for row in ROWS]
    result = frame.group_by("query").agg(*exprs)
    assert result.schema == {"query": pl.Int64, **{row.name: row.dtype for row in ROWS}}
    assert result.height == 0
    assert frame.select(expr.over("query") for expr in exprs).height == 0


@pytest.mark.parametrize("g", [graded("grade"), GRADED], ids=["in order", "by score"])
def test_an_empty_frame_is_one_query_where_none_are_told_apart(g):
    one = FRAME.clear().select(row.of(g) for row in ROWS)
    assert one.schema == {row.name: row.dtype for row in ROWS}
    assert_each_alike(one.to_dict(as_series=False), twins_of_each(ROWS, [[]]))


WITHOUT_A_RELEVANT_DOCUMENT = [
    query for query in ODD_QUERIES.values() if not any(grade and grade > 0 for _, grade in query)
]


@pytest.mark.parametrize("value", [0.0, 0.25, -1, None])
def test_a_query_without_a_relevant_document_gets_what_is_said(value):
    frame = frame_of(WITHOUT_A_RELEVANT_DOCUMENT)
    found = values_of_each(ROWS, GRADED.undefined_as(value), frame)
    unsaid = values_of_each(ROWS, GRADED, frame)
    for row in ROWS:
        if row.undefined is None:
            assert found[row.name] == unsaid[row.name], row.name
        else:
            said = {number for each in found[row.name] for number in numbers(each)}
            assert said == {row.undefined(value)}, row.name


@pytest.mark.slow
@pytest.mark.parametrize("value", [0.25, *simulated(None)])
def test_every_other_query_gets_its_measure(value):
    expected = twins_of_each(
        ROWS, QUERIES, reference.Scale(undefined=value, undefined_is_passed=True)
    )
    found = values_of_each(ROWS, GRADED.undefined_as(value), FRAME)
    assert_each_alike(found, expected, QUERIES)


SIX_SCALES = [
    reference.Scale(irrelevant=0.5, undefined_is_passed=True),
    reference.Scale(max_grade=7.5, undefined_is_passed=True),
    reference.Scale(irrelevant=-1, max_grade=4, undefined_is_passed=True),
    reference.Scale(irrelevant=1, max_grade=4.5, undefined=0.25, undefined_is_passed=True),
    reference.Scale(relevant_from=2, undefined_is_passed=True),
    reference.Scale(irrelevant=-1, max_grade=4, relevant_from=0.75, undefined_is_passed=True),
]


@pytest.mark.parametrize("scale", SIX_SCALES, ids=str)
def test_grades_stand_on_their_scale(scale):
    g = GRADED.scaled(scale.irrelevant, scale.max_grade, scale.relevant_from).undefined_as(
        scale.undefined
    )
    rows = [row for row in ROWS if row.is_on(scale)]
    found = values_of_each(rows, g, frame_of(FIRST))
    assert_each_alike(found, twins_of_each(rows, FIRST, scale), FIRST)


def test_name_and_data_type_are_as_documented():
    exprs = [row.of(GRADED) for row in ROWS]
    dtypes = {row.name: row.dtype for row in ROWS}
    lazy = grouped(FRAME.lazy(), *exprs)
    assert lazy.collect_schema() == {"query": pl.Int64, **dtypes}
    assert lazy.collect().schema == lazy.collect_schema()
    assert FRAME.select(exprs).schema == dtypes


def test_a_name_is_read_back():
    for row in ROWS:
        measure = Measure.parse(row.name)
        assert measure.name == row.name
        assert measure == Measure.of(row.function, row.n, **row.options)


NUMBERS = st.none() | st.integers(0, 4)
TEXTS = st.none() | st.sampled_from("abc")
DRAWN_GRADES = st.none() | st.sampled_from(GRADES)
DRAWN_ANY_GRADES = DRAWN_GRADES | st.integers(-2000, 7000).map(lambda grade: grade / 1000)
SCALES = st.builds(
    reference.Scale,
    irrelevant=st.sampled_from([0, 0, 0.5, -1, 1]),
    max_grade=st.sampled_from([None, 7.5]),
    relevant_from=st.sampled_from([None, None, 1.5, 3]),
    undefined=st.sampled_from([0, None, 0.25]),
    undefined_is_passed=st.just(value=True),
)


KEYS = {"score": pl.Int64, "text": pl.String, "number": pl.Float64}


def drawn_queries(grades):
    row = st.builds(
        reference.Row,
        st.tuples(NUMBERS, TEXTS, NUMBERS),
        grades,
        *map(st.sampled_from, FURTHER_VALUES),
    )
    return st.lists(st.lists(row, min_size=1, max_size=12), min_size=1, max_size=6)


@given(
    queries=drawn_queries(DRAWN_GRADES) | drawn_queries(DRAWN_ANY_GRADES),
    descending=st.lists(st.booleans(), min_size=1, max_size=3),
    scale=SCALES,
    condensed=st.booleans(),
    apart=st.booleans(),
    counted=st.booleans(),
)
@settings(phases=UNSHRUNK)
def test_equals_the_slow_twin(queries, descending, scale, condensed, apart, counted):
    """Few levels are counted, many sorted; here either way has few."""
    frame = pl.DataFrame(
        [(number, *row.keys, *row[1:]) for number, q in enumerate(queries) for row in q],
        {"query": pl.Int64, **KEYS, "grade": pl.Float64, **FURTHER_TYPES},
        orient="row",
    )
    g = graded("grade").ranked_by(*list(KEYS)[: len(descending)], descending=descending)
    g = g.scaled(scale.irrelevant, scale.max_grade, scale.relevant_from).undefined_as(
        scale.undefined
    )
    drawn = {row.grade for query in queries for row in query}
    rows = [row for row in ROWS if row.takes_any_grade or drawn <= {None, *GRADES}]
    rows = [row for row in rows if row.is_on(scale)]
    with mock.patch.object(ragged, "MAX_COUNTED_LEVELS", 64 if counted else 0):
        found = values_of_each(rows, g.condensed() if condensed else g, frame, apart=apart)
    lists = [reference.lists(query, descending, condensed=condensed) for query in queries]
    expected = {row.name: [row.twin(each, scale) for each in lists] for row in rows}
    assert_each_alike(found, expected, queries)


# μAP has one algorithm for few levels and one for many.


def queries_of_many_magnitudes() -> list[Query]:
    """Each query has its own unit, from 1e-9 to 1e9, and up to 40 levels."""
    rng = random.Random(7)
    queries = list(ODD_QUERIES.values())
    for _ in range(150):
        unit = 10.0 ** rng.randint(-9, 9)
        levels = [0, *(rng.random() * unit for _ in range(rng.randint(1, 40))), None]
        length = rng.randint(1, 60)
        scores = [*range(20), None]
        queries.append([(rng.choice(scores), rng.choice(levels)) for _ in range(length)])
    return queries


@pytest.mark.parametrize("irrelevant", [0, 0.5])
@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"n": 5},
        {"levels": (0.25, 0.5, 3)},
        {"n": 5, "levels": (0, 1e-8, 1e-3, 1, 1e6)},
        {"levels": [-1]},
    ],
)
def test_both_algorithms_of_mu_ap_are_equation_4(monkeypatch, irrelevant, arguments):
    """Bit by bit and level by level, in small chunks and in one."""
    queries, scale = queries_of_many_magnitudes(), reference.Scale(irrelevant)
    expected = [reference.mu_ap(lists_of(query), **arguments, scale=scale) for query in queries]
    frame, expr = frame_of(queries), GRADED.scaled(irrelevant).mu_ap(**arguments)
    for counted_levels, chunk_rows in product([0, 10**4], [1000, chunks.CHUNK_ROWS]):
        monkeypatch.setattr(ragged, "MAX_COUNTED_LEVELS", counted_levels)
        monkeypatch.setattr(chunks, "CHUNK_ROWS", chunk_rows)
        assert_alike(values(expr, frame), expected, queries)


@pytest.mark.slow
@pytest.mark.parametrize("magnitude", [1e-12, *simulated(1e-9, 1e-300)])
@pytest.mark.parametrize("name", ["mu_ap", "gap@20", *simulated("gap", "mu_ap@20")])
def test_real_valued_grades_are_measured_alike_whatever_other_queries_there_are(magnitude, name):
    rng = random.Random(12)
    # What was retrieved is next to nothing beside the best document, which was missed.
    small = [*((rank + 0.25, rng.random() * magnitude) for rank in range(40)), (None, 1.0)]
    others = [[(rank + 0.25, rng.random()) for rank in range(30)] for _ in range(2000)]
    expr = GRADED.measures(name)
    (alone,) = values(expr, frame_of([small]))
    among = values(expr, frame_of([*others, small, *others]))[len(others)]
    assert among[name] == pytest.approx(alone[name], rel=1e-13)
    function, _, n = name.partition("@")
    of_loop = getattr(reference, function)(lists_of(small), int(n) if n else None)
    assert among[name] == pytest.approx(of_loop, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("magnitude", [1e300, *simulated(1e-300, 1e200, 1.7e308)])
def test_grades_of_any_size_have_finite_values_or_are_refused(magnitude):
    """Sums, products and powers of such grades are not numbers."""
    queries = random_queries(6, 30, [0, 0.1 * magnitude, 0.5 * magnitude, magnitude])
    frame, finite = frame_of(queries), 0
    for row in (row for row in ROWS if not isinstance(row.options.get("gain"), dict)):
        try:
            got = values(row.of(GRADED), frame)
        except ValueError as error:
            refused = r"takes relevance up to 1000|must not be more than 1e\+300"
            assert re.search(refused, str(error))  # noqa: PT017
            continue
        flat = [one for value in got for one in (value if isinstance(value, list) else [value])]
        assert all(one is None or math.isfinite(one) for one in flat), row.name
        finite += 1
    assert finite > 40 or magnitude > 1e300


over_functions = pytest.mark.parametrize(
    "row", {row.function: row for row in reversed(ROWS)}.values(), ids=lambda row: row.function
)
RANGE = re.compile(r"from 0 to 1|not below 0|0 or 1|one count per query", re.IGNORECASE)
SAYS = {
    (0.0, 1.0): {"from 0 to 1", "0 or 1"},
    (0.0, math.inf): {"not below 0", "one count per query"},
}


@over_functions
def test_the_documented_range_is_that_of_the_registry(row):
    docstring = inspect.getdoc(getattr(Graded, row.function))
    *_, sentence = re.split(r"(?:Parameters|See Also)\n---", docstring)[0].strip().split("\n\n")
    said = RANGE.findall(" ".join(sentence.split()))
    assert {each.lower() for each in said} & SAYS[row.bounds], sentence


KINDS = {
    "n": ("2", "`n` must be a whole number"),
    "k": (1.5, "`k` must be a whole number"),
    "threshold": ("1", "`threshold` must be a number"),
    "ties": (1, "`ties` must be one of"),
    "over": (1, "`over` must be one of"),
    "beta": ("1", "`beta` must be a number"),
    "b": ("1", "`b` must be a number"),
    "levels": (1, "`levels` must be a sequence"),
    "gain": (1, "`gain` must be one of"),
    "discount": (1, "`discount` must be one of"),
    "base": ("2", "`base` must be a number"),
    "p": ("1", "`p` must be a number"),
    "graded": (1, "`graded` must"),
    "recall_levels": ("1", "`recall_levels` must be"),
    "alpha": ("1", "`alpha` must be a number"),
    "target": ("1", "`target` must be a number"),
    "normalised": (1, "`normalised` must"),
    **{keyword: (1, f"`{keyword}` must be") for keyword in FURTHER},
}


@over_functions
def test_a_wrong_kind_of_argument_is_a_type_error(row):
    method = getattr(Graded, row.function)
    _, *parameters = inspect.signature(method).parameters
    for name in parameters:
        wrong, sentence = KINDS[name]
        with pytest.raises(TypeError, match=sentence):
            method(GRADED, **{**row.columns, name: wrong})
