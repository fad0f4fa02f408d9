"""What holds of every measure: each contract once, over every row of the registry."""

from __future__ import annotations

import inspect
import math
import random
import re
from functools import cache
from itertools import accumulate, combinations, product

import polars as pl
import pytest
import reference
from helpers import (
    GRADED,
    GRADES,
    ODD_QUERIES,
    Query,
    assert_alike,
    frame_of,
    lists_of,
    numbers,
    random_queries,
    twins,
    values,
)
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from registry import KNOWN, ROWS

from polars_graded import Graded, evaluate, graded
from polars_graded._measuring import batches, expression
from polars_graded._measuring.definitions import DEFINITIONS
from polars_graded._measuring.kernels import average_precision
from polars_graded._measuring.names import Measure

CHAINED = {"ranked_by", "scaled", "undefined_as", "condensed"}
NO_ONE_MEASURE = {"measures", "phi_relevance"}

QUERIES = [*ODD_QUERIES.values(), *random_queries(0, 150)]
UNTIED = random_queries(1, 100, ties=False)
FRAME = frame_of(QUERIES)


def over(rows):
    return pytest.mark.parametrize("row", rows, ids=lambda row: row.name)


over_rows = over(ROWS)
over_functions = over({row.function: row for row in reversed(ROWS)}.values())
over_named = over([row for row in ROWS if not row.columns])
over_cutoffs = over([row for row in ROWS if row.takes_cutoff and not row.is_curve])
over_curves = over([row for row in ROWS if row.takes_cutoff and row.is_curve])
over_averages = over([row for row in ROWS if row.averages_ties])


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


@over_functions
def test_arguments_of_a_method_are_those_of_its_definition(row):
    definition = DEFINITIONS[row.function]
    _, *parameters = inspect.signature(getattr(Graded, row.function)).parameters.values()
    cutoff = [("n", None, "positional or keyword")] if definition.has_cutoff else []
    columns = [(name, inspect.Parameter.empty, "keyword-only") for name in row.columns]
    options = [(name, o.default, "keyword-only") for name, o in definition.options.items()]
    assert [(p.name, p.default, p.kind.description) for p in parameters] == (
        cutoff + columns + options
    )


@over_named
def test_the_best_value_is_known(row):
    assert DEFINITIONS[row.function].best == row.best


# What a value may be.


def every_value(rows, g, frame):
    """The values of many measures at once, by name."""
    exprs = [row.of(g) for row in rows]
    return frame.group_by("query", maintain_order=True).agg(exprs).to_dict(as_series=False)


@over_rows
def test_stays_within_its_bounds_whatever_is_missing(row):
    low, high = row.bounds
    for value, query in zip(values(row.of(GRADED), FRAME), QUERIES, strict=True):
        assert all(low <= number <= high for number in numbers(value)), query


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
def test_stays_within_its_bounds_on_real_numbers(queries):
    rows = [row for row in ROWS if row.takes_any_grade]
    found = every_value(rows, GRADED, frame_of(queries))
    for row in rows:
        low, high = row.bounds
        for value, query in zip(found[row.name], queries, strict=True):
            assert all(low <= number <= high for number in numbers(value)), (row.name, query)


@over([row for row in ROWS if row.takes_any_grade])
def test_stays_within_its_bounds_where_sums_are_rounded(row):
    rng = random.Random(11)
    in_rank_order = [[rng.randint(1, 9) / 10 for _ in range(rng.randint(2, 9))] for _ in range(300)]
    best_first = [sorted(grades, reverse=True) for grades in in_rank_order]
    queries = [[(-r, g) for r, g in enumerate(grades)] for grades in in_rank_order + best_first]
    low, high = row.bounds
    for value, query in zip(values(row.of(GRADED), frame_of(queries)), queries, strict=True):
        assert all(low <= number <= high for number in numbers(value)), (value, query)


@over_rows
def test_the_ideal_order_has_its_stated_value(row):
    rng = random.Random(2)
    best_first = [
        sorted([rng.choice([2, 3, 4]), *rng.choices(GRADES, k=more)], reverse=True)
        for more in [*range(12)] * 5
    ]
    frame = frame_of([[(-rank, g) for rank, g in enumerate(grades)] for grades in best_first])
    expected = [row.ideal(grades) if callable(row.ideal) else row.ideal for grades in best_first]
    assert_alike(values(row.of(GRADED), frame), expected, best_first)


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


@over_rows
def test_a_better_document_further_up_never_makes_it_worse(row):
    pairs = swaps(judged=row.skips_unjudged)
    before, after = (values(row.of(GRADED), frame_of(q)) for q in zip(*pairs, strict=True))
    sign = -1 if row.best == "lowest" else 1
    falls = [
        f"{query} has {value}, {swapped} {other}"
        for (query, swapped), value, other in zip(pairs, before, after, strict=True)
        if any(
            sign * (new - old) < -1e-12
            for old, new in zip(numbers(value), numbers(other), strict=True)
        )
    ]
    # Where the registry makes an exception, there has to be a case for it.
    assert not falls if row.never_falls else falls, falls[:1]


# What it does not depend on.


SCORE = pl.col("score")
RESCALED = {
    "linear": SCORE * 3 - 700,
    "exponential": (SCORE / 10).exp(),
    "Int8": SCORE.cast(pl.Int8),
    "Decimal": SCORE.cast(pl.Decimal(10, 3)),
    "Date": SCORE.cast(pl.Int32).cast(pl.Date),
    "number from the worst": SCORE.rank("dense").over("query"),
}


@over_rows
def test_only_the_order_of_scores_matters(row):
    expected = values(row.of(GRADED), FRAME)
    for score in RESCALED.values():
        assert_alike(values(row.of(GRADED), FRAME.with_columns(score=score)), expected, QUERIES)


@over_rows
def test_ranks_from_the_best_are_scores_turned_round(row):
    rank = pl.col("score").rank("min", descending=True).over("query")
    by_rank = graded("grade").ranked_by(rank, descending=False)
    assert_alike(values(row.of(by_rank), FRAME), values(row.of(GRADED), FRAME), QUERIES)


@over_rows
def test_the_order_of_rows_does_not_matter_where_scores_differ(row):
    frame = frame_of(UNTIED)
    expected = values(row.of(GRADED), frame)
    for seed in range(3):
        shuffled = frame.sample(fraction=1, shuffle=True, seed=seed)
        result = shuffled.group_by("query").agg(value=row.of(GRADED)).sort("query")
        assert_alike(result["value"].to_list(), expected, UNTIED)


@over_rows
@pytest.mark.parametrize("condensed", [False, True])
def test_rows_stand_in_rank_order_without_a_column_to_rank_by(row, condensed):
    retrieved = frame_of(UNTIED).drop_nulls("score")
    frame = retrieved.sort("query", "score", descending=[False, True])
    ranked, unranked = GRADED, graded("grade")
    if condensed:
        ranked, unranked = ranked.condensed(), unranked.condensed()
    assert_alike(values(row.of(unranked), frame), values(row.of(ranked), frame))


@over_cutoffs
def test_a_cutoff_beyond_the_list_is_none_unless_it_is_divided_by(row):
    whole = values(row.cut(None).of(GRADED), FRAME)
    if row.ends_with_the_list:
        for n in (12, 13, 10**6, 2**40):
            assert_alike(values(row.cut(n).of(GRADED), FRAME), whole, QUERIES)
    else:
        assert values(row.cut(13).of(GRADED), FRAME) != whole


DTYPES = [
    *(pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.Int128),
    *(pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64),
    *(pl.Float32, pl.Float64, pl.Decimal(10, 2)),
]


@over_rows
def test_the_data_type_of_grades_does_not_matter(row):
    queries = [*random_queries(4, 40, [0, 1, 2, 3, 4]), ODD_QUERIES["all unjudged"]]
    expected = twins(row, queries)
    for dtype in DTYPES:
        assert_alike(values(row.of(GRADED), frame_of(queries, dtype)), expected, queries)


@over_rows
def test_true_and_false_are_one_and_zero(row):
    queries = random_queries(5, 40, [0, 1])
    boolean = frame_of(queries, pl.Boolean)
    assert_alike(values(row.of(GRADED), boolean), twins(row, queries), queries)


@over_rows
def test_a_column_without_any_grade_is_all_unjudged(row):
    queries = [ODD_QUERIES["all unjudged"]]
    frame = frame_of(queries).with_columns(grade=pl.lit(None))
    assert frame.schema["grade"] == pl.Null
    assert_alike(values(row.of(GRADED), frame), twins(row, queries))


# Curves.


@over_curves
def test_a_curve_has_the_value_of_its_measure_at_every_rank(row):
    curves = values(row.cut(14).of(GRADED), FRAME)
    assert {len(curve) for curve in curves} == {14}
    for k in range(1, 15):
        at_k = values(row.at_a_rank.cut(k).of(GRADED), FRAME)
        assert_alike([curve[k - 1] for curve in curves], at_k, QUERIES)


@over_curves
def test_a_curve_without_a_cutoff_ends_with_its_list(row):
    whole, beyond = (values(row.cut(n).of(GRADED), FRAME) for n in (None, 14))
    assert_alike(whole, [b[: len(w)] for b, w in zip(beyond, whole, strict=True)], QUERIES)


# Ties.


def tied_queries() -> list[Query]:
    """Every pattern of ties of up to 7 documents, beside some that were not retrieved."""
    rng = random.Random(10)
    queries = []
    for length in range(1, 8):
        for steps in product((0, 1), repeat=length - 1):
            scores = [*accumulate(steps, lambda score, step: score - step, initial=0)]
            missed = [None] * rng.randint(0, 2)
            grades = rng.choices([None, *GRADES], k=length + len(missed))
            queries.append(list(zip([*scores, *missed], grades, strict=True)))
    return queries


TIED = tied_queries()


def test_there_is_every_pattern_of_ties():
    assert len(TIED) == sum(2 ** (length - 1) for length in range(1, 8))


@over_averages
@pytest.mark.parametrize("n", [None, 1, 3, 9])
def test_averaged_ties_are_the_mean_over_all_orders(row, n):
    in_order = row.cut(n).without("ties")
    expected = [reference.expected(in_order.twin, lists_of(query)) for query in TIED]
    assert_alike(values(row.cut(n).of(GRADED), frame_of(TIED)), expected, TIED)


@over_averages
def test_averaged_ties_do_not_depend_on_the_order_of_rows(row):
    expected = values(row.of(GRADED), FRAME)
    shuffled = FRAME.sample(fraction=1, shuffle=True, seed=0)
    result = shuffled.group_by("query").agg(value=row.of(GRADED)).sort("query")
    assert_alike(result["value"].to_list(), expected, QUERIES)


@over_averages
def test_there_is_nothing_to_average_without_ties(row):
    in_order = row.without("ties")
    untied, place = frame_of(UNTIED), pl.int_range(pl.len())
    for g, frame in [
        (GRADED, untied),
        (graded("grade"), FRAME),
        (graded("grade").ranked_by("score", place), FRAME),
        (graded("grade").ranked_by("score", place, descending=[True, False]), FRAME),
    ]:
        assert_alike(values(row.of(g), frame), values(in_order.of(g), frame))


# Unjudged documents.


@over_rows
def test_condensed_drops_the_unjudged_from_the_ranking(row):
    expected = twins(row, QUERIES, condensed=True)
    assert_alike(values(row.of(GRADED.condensed()), FRAME), expected, QUERIES)


@over([row for row in ROWS if row.skips_unjudged])
def test_there_is_nothing_to_condense_where_the_unjudged_do_not_count(row):
    assert_alike(values(row.of(GRADED.condensed()), FRAME), values(row.of(GRADED), FRAME), QUERIES)


# Where it is computed.


def grouped(frame, expr):
    return frame.group_by("query").agg(value=expr).sort("query")


def windowed(frame, expr):
    return frame.select("query", value=expr.over("query")).unique().sort("query")


def one_by_one(frame, expr):
    parts = frame.partition_by("query", maintain_order=True)
    return pl.concat([part.select(pl.first("query"), value=expr) for part in parts])


def in_pieces(frame):
    return pl.concat([frame[start : start + 9] for start in range(0, frame.height, 9)])


CONTEXTS = {
    "select": one_by_one,
    "agg of a frame in pieces": lambda frame, expr: grouped(in_pieces(frame), expr),
    "agg": grouped,
    "over": windowed,
    "lazy agg": lambda frame, expr: grouped(frame.lazy(), expr).collect(),
    "lazy over": lambda frame, expr: windowed(frame.lazy(), expr).collect(),
    "streaming agg": lambda f, expr: grouped(f.lazy(), expr).collect(engine="streaming"),
    "streaming over": lambda f, expr: windowed(f.lazy(), expr).collect(engine="streaming"),
}
GROUPED_CONTEXTS = [name for name in CONTEXTS if name != "select"]


@over_rows
@pytest.mark.parametrize("context", CONTEXTS)
def test_every_context_gives_the_same(row, context):
    queries = QUERIES[:30]
    result = CONTEXTS[context](frame_of(queries), row.of(GRADED))
    assert result["query"].to_list() == list(range(30))
    assert_alike(result["value"].to_list(), twins(row, queries), queries)


def test_a_hundred_thousand_queries_have_the_values_of_one():
    copies = pl.DataFrame({"copy": range(1000)})
    frame = frame_of(random_queries(9, 100))
    many = frame.join(copies, how="cross").group_by("copy", "query")
    expr = GRADED.measures("mu_ap", "ndcg@10", "ap", "precision@3")
    result = many.agg(value=expr).sort("copy", "query").select("query", "value")
    assert_frame_equal(result, pl.concat([grouped(frame, expr)] * 1000), rel_tol=1e-12)


@over_named
def test_measures_gives_the_same(row):
    expected = values(row.of(GRADED), FRAME)
    for others in ([], ["ndcg@1"], ["n_relevant(threshold=3)"], ["precision@1", "ndcg@5"]):
        structs = values(GRADED.measures(*others, row.name), FRAME)
        assert_alike([struct[row.name] for struct in structs], expected, QUERIES)


@over_named
def test_evaluate_gives_the_same(row):
    found = evaluate(FRAME, row.name)[row.name].to_list()
    assert_alike(found, values(row.of(GRADED), FRAME), QUERIES)


@over_named
def test_a_query_may_not_have_the_name_of_what_is_evaluated(row):
    frame = FRAME.rename({"query": row.name})
    with pytest.raises(ValueError, match=f"`query` must not .*, got {re.escape(repr(row.name))}"):
        evaluate(frame, row.name, query=row.name)
    stacked = FRAME.with_columns(pl.lit("x").alias(row.name))
    with pytest.raises(ValueError, match="`strategy` must not have the name of a measure, got"):
        evaluate(stacked, row.name, strategy=row.name)


def test_all_measures_share_one_ranking():
    rows = [row for row in ROWS if not row.columns]
    names = [row.name for row in rows]
    together = FRAME.group_by("query", maintain_order=True).agg(GRADED.measures(*names))
    fields = together.unnest("measures")
    assert fields.columns == ["query", *names]
    for row in rows:
        assert fields.schema[row.name] == row.dtype
        assert_alike(fields[row.name].to_list(), values(row.of(GRADED), FRAME), QUERIES)


@pytest.fixture
def calls(monkeypatch):
    """How many queries each call of a kernel was given."""
    counted, run = [], batches.run

    def counting(columns, kernel, **options):
        counted.append(len(columns[0]))
        return run(columns, kernel, **options)

    monkeypatch.setattr(batches, "run", counting)
    return counted


@pytest.mark.parametrize("context", GROUPED_CONTEXTS)
@pytest.mark.parametrize("expr", [GRADED.mu_ap(), GRADED.measures("mu_ap", "ndcg@10")])
def test_a_kernel_is_called_once_for_all_queries(calls, context, expr):
    queries = random_queries(6, 1000)
    CONTEXTS[context](frame_of(queries), expr)
    assert calls == [1000]


def test_a_kernel_is_called_once_an_expression(calls):
    exprs = [row.of(GRADED) for row in ROWS]
    frame_of(random_queries(6, 1000)).group_by("query").agg(exprs)
    assert calls == [1000] * len(ROWS)


@over_rows
def test_chunks_do_not_show(monkeypatch, row):
    expected = values(row.of(GRADED), FRAME)
    for chunk_rows in (1, 40):
        monkeypatch.setattr(batches, "CHUNK_ROWS", chunk_rows)
        assert_alike(values(row.of(GRADED), FRAME), expected, QUERIES)


@over([row for row in ROWS if row.is_curve])
def test_a_chunk_makes_few_values_however_short_the_lists(monkeypatch, row):
    made, of_chunk = [], expression._values

    def recorded(*arguments):
        values = of_chunk(*arguments)
        made.append(len(values.values))
        return values

    monkeypatch.setattr(expression, "_values", recorded)
    monkeypatch.setattr(batches, "CHUNK_ROWS", 200)
    if row.takes_cutoff:
        row = row.cut(50)
    assert sum(map(len, values(row.of(GRADED), FRAME))) == sum(made)
    assert max(made) <= 200 + 50


@pytest.mark.parametrize("name", ["ndcg", "ndcng"])
def test_an_area_far_beyond_the_lists_is_the_end_of_its_curve(name):
    areas, ends = (values(GRADED.measures(each), FRAME) for each in (f"{name}_area@{2**40}", name))
    found = [struct[f"{name}_area@{2**40}"] for struct in areas]
    assert found == pytest.approx([struct[name] for struct in ends], abs=1e-10)


# Where there is little or nothing to measure.


@over_rows
def test_an_empty_frame_has_no_query(row):
    frame = FRAME.clear()
    assert frame.group_by("query").agg(row.of(GRADED)).schema[row.name] == row.dtype
    assert frame.group_by("query").agg(row.of(GRADED)).height == 0
    assert frame.select(row.of(GRADED).over("query")).height == 0


@over_named
def test_an_empty_frame_has_no_query_to_evaluate(row):
    assert evaluate(FRAME.clear(), row.name).height == 0


@over_rows
def test_an_empty_frame_is_one_query_where_none_are_told_apart(row):
    for g in (graded("grade"), GRADED):
        one = FRAME.clear().select(row.of(g))
        assert_alike(one[row.name].to_list(), twins(row, [[]]))
        assert one.schema[row.name] == row.dtype


@over_rows
def test_odd_queries_are_measured_by_the_same_loop(row):
    queries = list(ODD_QUERIES.values())
    assert_alike(values(row.of(GRADED), frame_of(queries)), twins(row, queries), queries)


WITHOUT_A_RELEVANT_DOCUMENT = [
    query for query in ODD_QUERIES.values() if not any(grade and grade > 0 for _, grade in query)
]


@over_rows
@pytest.mark.parametrize("value", [0.0, 0.25, -1, None])
def test_a_query_without_a_relevant_document_gets_what_is_said(row, value):
    frame = frame_of(WITHOUT_A_RELEVANT_DOCUMENT)
    found = values(row.of(GRADED.undefined_as(value)), frame)
    if row.undefined is None:
        assert found == values(row.of(GRADED), frame)
    else:
        said = {number for each in found for number in numbers(each)}
        assert said == {row.undefined(value)}


@over_rows
@pytest.mark.parametrize("value", [0.25, None])
def test_every_other_query_gets_its_measure(row, value):
    expected = twins(row, QUERIES, reference.Scale(undefined=value))
    assert_alike(values(row.of(GRADED.undefined_as(value)), FRAME), expected, QUERIES)


# What its column is called.


@over_rows
def test_name_and_data_type_are_as_documented(row):
    lazy = FRAME.lazy().group_by("query", maintain_order=True).agg(row.of(GRADED))
    assert lazy.collect_schema() == {"query": pl.Int64, row.name: row.dtype}
    assert lazy.collect().schema == lazy.collect_schema()
    assert FRAME.select(row.of(GRADED)).schema == {row.name: row.dtype}


@over_rows
def test_a_column_may_be_called_otherwise(row):
    expr = row.of(GRADED)
    assert FRAME.select(expr.alias("other")).columns == ["other"]
    assert FRAME.select(other=expr).columns == ["other"]
    assert FRAME.select(expr.name.keep()).columns == ["grade"]
    assert FRAME.group_by("query").agg(other=expr).columns == ["query", "other"]


@over_rows
def test_a_name_is_read_back(row):
    measure = Measure.parse(row.name)
    assert measure.name == row.name
    assert measure == Measure.of(row.function, row.n, **row.options)


# What it is worth.

NUMBERS = st.none() | st.integers(0, 4)
TEXTS = st.none() | st.sampled_from("abc")
DRAWN_GRADES = st.none() | st.sampled_from(GRADES)
DRAWN_ANY_GRADES = DRAWN_GRADES | st.integers(-2000, 7000).map(lambda grade: grade / 1000)
SCALES = st.builds(
    reference.Scale,
    irrelevant=st.sampled_from([0, 0, 0.5, -1, 1]),
    highest=st.sampled_from([None, 7.5]),
    undefined=st.sampled_from([0, None, 0.25]),
)


KEYS = {"score": pl.Int64, "text": pl.String, "number": pl.Float64}


def drawn_queries(grades):
    row = st.builds(
        reference.Row, st.tuples(NUMBERS, TEXTS, NUMBERS), grades, st.sampled_from(KNOWN)
    )
    return st.lists(st.lists(row, min_size=1, max_size=12), min_size=1, max_size=6)


@given(
    queries=drawn_queries(DRAWN_GRADES) | drawn_queries(DRAWN_ANY_GRADES),
    descending=st.lists(st.booleans(), min_size=1, max_size=3),
    scale=SCALES,
    condensed=st.booleans(),
)
def test_equals_the_slow_twin(queries, descending, scale, condensed):
    frame = pl.DataFrame(
        [
            (number, *row.keys, row.grade, row.known)
            for number, q in enumerate(queries)
            for row in q
        ],
        {"query": pl.Int64, **KEYS, "grade": pl.Float64, "known": pl.Boolean},
        orient="row",
    )
    g = graded("grade").ranked_by(*list(KEYS)[: len(descending)], descending=descending)
    g = g.scaled(scale.irrelevant, scale.highest).undefined_as(scale.undefined)
    drawn = {row.grade for query in queries for row in query}
    rows = [row for row in ROWS if row.takes_any_grade or drawn <= {None, *GRADES}]
    found = every_value(rows, g.condensed() if condensed else g, frame)
    lists = [reference.lists(query, descending, condensed=condensed) for query in queries]
    for row in rows:
        expected = [row.twin(each, scale) for each in lists]
        assert_alike(found[row.name], expected, [(row.name, query) for query in queries])


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


@pytest.mark.parametrize("few_levels", [0, 10**9], ids=["bit by bit", "level by level"])
@pytest.mark.parametrize("chunk_rows", [1000, batches.CHUNK_ROWS])
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
def test_both_algorithms_of_mu_ap_are_equation_4(
    monkeypatch, few_levels, chunk_rows, irrelevant, arguments
):
    monkeypatch.setattr(average_precision, "FEW_LEVELS", few_levels)
    monkeypatch.setattr(batches, "CHUNK_ROWS", chunk_rows)
    queries, scale = queries_of_many_magnitudes(), reference.Scale(irrelevant)
    expected = [reference.mu_ap(lists_of(query), **arguments, scale=scale) for query in queries]
    expr = GRADED.scaled(irrelevant).mu_ap(**arguments)
    assert_alike(values(expr, frame_of(queries)), expected, queries)


def test_many_levels_of_one_query_are_equation_4():
    rng = random.Random(8)
    query = [(score, rng.random()) for score in range(300)]
    expected = reference.mu_ap(lists_of(query))
    assert_alike(values(GRADED.mu_ap(), frame_of([query])), [expected])
    assert math.isclose(values(GRADED.mu_ap(), frame_of([sorted(query)]))[0], expected)
