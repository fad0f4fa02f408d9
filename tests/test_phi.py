"""φ: against SciPy on control points computed here, at its edges, and wherever Polars runs it."""

from __future__ import annotations

import math
import statistics
from itertools import pairwise

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from scipy.interpolate import PchipInterpolator

from polars_graded import graded, phi_control_points, phi_curve

TOLERANCE = 1e-12


def phi_relevance(expr, *points, **options):
    """φ of an expression."""
    return graded(expr).phi_relevance(*points, **options)


def phi(scores, control_points=None, whisker=1.5, **options):
    """φ of one query."""
    column = pl.Series("score", scores, dtype=pl.Float64, strict=False)
    expr = phi_relevance(pl.lit(column), control_points, whisker, **options)
    return pl.select(expr).to_series().to_list()


# The definition, on plain lists


def hinges(scores):
    """Tukey's: the medians of both halves, which share the middle score."""
    half = (len(scores) + 1) // 2
    return statistics.median(sorted(scores)[:half]), statistics.median(sorted(scores)[-half:])


def expected_control_points(scores, whisker=1.5):
    """Score → relevance."""
    if len(set(scores)) < 2:
        return {}
    lower, upper = hinges(scores)
    lowest, median, highest = min(scores), statistics.median(scores), max(scores)
    end = max(score for score in scores if score <= upper + whisker * (upper - lower))
    points = {lowest: 0.0, median: 0.0}
    if median < end < highest:
        points[end] = 1 - (highest - end) / (highest - lowest)
    return points | {highest: 1.0}


def expected(scores, whisker=1.5):
    """φ by SciPy, which knows no step."""
    points = expected_control_points(scores, whisker)
    if not points:
        return [None] * len(scores)
    if statistics.median(scores) == max(scores):
        return [float(score == max(scores)) for score in scores]
    return PchipInterpolator(list(points), list(points.values()))(scores).tolist()


TIED = st.integers(-3, 3)
SPREAD = st.integers(-(10**9), 10**9)
FINE = st.integers(-(10**6), 10**6).map(lambda n: n / 1000)
SKEWED = st.floats(-5, 5).map(lambda x: round(10**x, 6))
QUERY = st.one_of(
    *(st.lists(score, min_size=1, max_size=30) for score in (TIED, SPREAD, FINE, SKEWED)),
    st.tuples(st.lists(TIED, min_size=1, max_size=20), st.lists(SPREAD, max_size=3)).map(
        lambda parts: parts[0] + parts[1]
    ),
)
WHISKER = st.sampled_from([0, 0.5, 1, 1.5, 3])


@settings(deadline=None)
@given(st.lists(QUERY, min_size=1, max_size=5), WHISKER)
def test_phi_is_scipy_on_the_box_plots_control_points(queries, whisker):
    frame = pl.DataFrame(
        {
            "query": [number for number, scores in enumerate(queries) for _ in scores],
            "score": [float(score) for scores in queries for score in scores],
        }
    )
    got = frame.select(phi_relevance(pl.col("score"), whisker=whisker).over("query")).to_series()
    want = [value for scores in queries for value in expected(scores, whisker)]
    assert_close(got.to_list(), want)


def assert_close(got, want):
    assert [value is None for value in got] == [value is None for value in want]
    known = [[value for value in values if value is not None] for values in (got, want)]
    assert known[0] == pytest.approx(known[1], abs=TOLERANCE, rel=0)


@settings(deadline=None)
@given(QUERY, WHISKER)
def test_control_points_are_the_box_plots(scores, whisker):
    frame = pl.DataFrame({"score": [float(score) for score in scores]})
    got = phi_control_points(frame, "score", whisker=whisker).rows()
    want = sorted(expected_control_points(scores, whisker).items())
    if want and statistics.median(scores) == max(scores):
        want.insert(-1, (max(scores), 0.0))
    assert [x for point in got for x in point] == pytest.approx(
        [x for point in want for x in point], abs=TOLERANCE, rel=TOLERANCE
    )


@settings(deadline=None)
@given(
    st.lists(st.tuples(FINE, st.floats(0, 1)), min_size=2, max_size=12, unique_by=lambda p: p[0]),
    st.lists(FINE, min_size=1, max_size=30),
)
def test_given_control_points_are_interpolated_by_scipy(points, scores):
    xs = sorted(x for x, _ in points)
    ys = [round(y, 6) for _, y in sorted(points)]  # which may fall and rise
    inside = [min(max(score, xs[0]), xs[-1]) for score in scores]
    want = PchipInterpolator(xs, ys)(inside).tolist()
    got = phi(scores, list(zip(xs, ys, strict=True)))
    assert got == pytest.approx(want, abs=TOLERANCE, rel=0)


ANY = st.floats(allow_nan=False, allow_infinity=False)
TINY = st.integers(-3, 3).map(lambda n: n * 5e-324)


@settings(max_examples=100, deadline=None)
@given(
    st.one_of(st.lists(ANY, min_size=1), st.lists(st.one_of(TINY, TIED), min_size=1), QUERY),
    st.one_of(WHISKER, st.floats(0, 1e308)),
)
def test_phi_is_within_bounds_monotone_0_below_the_median_and_1_at_the_maximum(scores, whisker):
    ordered = sorted(float(score) for score in scores)
    values = phi(ordered, whisker=whisker)
    if ordered[0] == ordered[-1]:
        assert values == [None] * len(ordered)
        return
    assert all(0 <= value <= 1 for value in values)
    assert all(after >= before - TOLERANCE for before, after in pairwise(values))
    middle = ordered[(len(ordered) - 1) // 2]
    assert all(v == 0 for s, v in zip(ordered, values, strict=True) if s < middle)
    assert all(v == 1 for s, v in zip(ordered, values, strict=True) if s == ordered[-1])


@settings(deadline=None)
@given(QUERY, st.integers(-40, 40), st.randoms(use_true_random=False))
def test_phi_depends_neither_on_the_unit_of_the_scores_nor_on_their_order(scores, power, random):
    scores = [float(score) for score in scores]
    shuffled = random.sample(range(len(scores)), len(scores))
    values, again = phi(scores), phi([scores[i] * 2.0**power for i in shuffled])
    assert again == [values[i] for i in shuffled]


def test_outliers_add_a_point_at_the_whisker_by_equation_2():
    # Hinges 15 and 30, so the whisker ends at 30, the highest score up to 30 + 1.5 · 15 = 52.5.
    alpha = (100 - 30) / (100 - 10)
    assert phi([10, 15, 20, 30, 100])[3] == pytest.approx(1 - alpha, abs=TOLERANCE)
    # The whisker ends above 100 from (100 - 30) / 15 on.
    assert phi_control_points(
        pl.DataFrame({"score": [10, 15, 20, 30, 100]}), "score", whisker=70 / 15
    ).rows() == [(10, 0), (20, 0), (100, 1)]


@pytest.mark.parametrize(
    ("scores", "values"),
    [
        ([], []),
        ([None], [None]),
        ([7], [None]),
        ([7, None], [None, None]),
        ([7, 7, 7], [None, None, None]),
        ([0, 0], [None, None]),
        ([3, 5], [0, 1]),
        ([1, 2, 5, 5, 5], [0, 0, 1, 1, 1]),  # median = max
        ([1, 1, 1, 1, 9], [0, 0, 0, 0, 1]),  # median = min = whisker
        ([1, 5, 5, 5, 9], [0, 0, 0, 0, 1]),  # whisker = median
        ([-9, -7, -5], [0, 0, 1]),
        ([None, 2, None, 4, None], [None, 0, None, 1, None]),
        ([-1.7e308, 1.7e308], [0, 1]),
        ([0.0, 5e-324], [0, 1]),
    ],
)
def test_edges(scores, values):
    got = phi(scores)
    assert [v is None for v in got] == [v is None for v in values]
    known = [v for v in got if v is not None]
    assert known == pytest.approx([v for v in values if v is not None], abs=1e-3)


# Contexts

FRAME = pl.DataFrame(
    {
        "query": [3, 1, 3, 1, 3, 2, 3, 1],
        "popularity": [5.0, 1.0, None, 2.0, 9.0, None, 6.0, 8.0],
        "score": [1, 2, 3, 4, 5, 6, 7, 8],
    }
)
PHI = phi_relevance(pl.col("popularity"))
OF_QUERY = {
    query: phi(FRAME.filter(pl.col("query") == query)["popularity"].to_list())
    for query in (1, 2, 3)
}
ENGINES = pytest.mark.parametrize("engine", ["eager", "in-memory", "streaming"])


def run(build, engine):
    """What `build` makes of the frame, by an engine."""
    return build(FRAME) if engine == "eager" else build(FRAME.lazy()).collect(engine=engine)


@ENGINES
def test_a_whole_column_is_one_query(engine):
    expr = phi_relevance(pl.col("popularity"))
    want = phi(FRAME["popularity"].to_list())
    got = run(lambda frame: frame.with_columns(expr), engine)
    assert got.columns == FRAME.columns
    assert got["popularity"].to_list() == want
    assert run(lambda frame: frame.select(expr), engine)["popularity"].to_list() == want


@ENGINES
def test_over_keeps_every_row_in_place(engine):
    expr = phi_relevance(pl.col("popularity")).over("query").alias("relevance")
    got = run(lambda frame: frame.with_columns(expr), engine)
    assert got.drop("relevance").equals(FRAME)
    for query, values in OF_QUERY.items():
        assert got.filter(pl.col("query") == query)["relevance"].to_list() == values


@ENGINES
def test_it_chains_into_a_measure(engine):
    ndcg = graded(PHI).ranked_by("score").ndcg(2)
    got = run(lambda frame: frame.group_by("query").agg(ndcg), engine).sort("query")
    as_column = FRAME.with_columns(PHI.over("query"))
    plain = graded("popularity").ranked_by("score").ndcg(2)
    assert_frame_equal(got, as_column.group_by("query").agg(plain).sort("query"))
    assert got["ndcg@2"].to_list()[1] == 0


# Errors


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_scores_that_are_not_finite_are_refused_with_how_many_queries(bad):
    frame = FRAME.with_columns(
        pl.when(pl.col("score").is_in([1, 3, 8]))
        .then(bad)
        .otherwise("popularity")
        .alias("popularity")
    )
    sentence = r"score 'popularity' must be finite, got NaN or infinity in {} queries"
    with pytest.raises(ValueError, match=sentence.format("2 of 3")):
        frame.group_by("query").agg(PHI)
    with pytest.raises(ValueError, match=sentence.format("2 of 3")):
        frame.with_columns(PHI.over("query"))
    with pytest.raises(ValueError, match=sentence.format("1 of 1")):
        frame.select(PHI)
    with pytest.raises(ValueError, match=sentence.format("2 of 3")):
        phi_curve(frame, "popularity", query="query")
    with pytest.raises(ValueError, match=sentence.format("2 of 3")):
        phi_control_points(frame, "popularity", query="query")


@pytest.mark.parametrize("dtype", [pl.String, pl.Date, pl.Duration, pl.Time])
def test_scores_that_are_no_numbers_are_refused_when_planned(dtype):
    frame = pl.LazyFrame({"score": []}, schema={"score": dtype})
    sentence = r"^score 'score' must be a number(\n|$)"
    with pytest.raises(pl.exceptions.StructFieldNotFoundError, match=sentence):
        frame.select(phi_relevance(pl.col("score"))).collect_schema()


@pytest.mark.parametrize(
    ("control_points", "error", "sentence"),
    [
        ([1, 2], TypeError, "`control_points` must"),
        ([("a", 0), (2, 1)], TypeError, "must be a number, got 'a'"),
        ([(1, 0)], ValueError, "`control_points` must"),
        ([(1, 0), (1, 1)], ValueError, "must increase, got 1 after 1"),
        ([(0, 0), (1, 500)], ValueError, "must be at most 1, got 500"),
        ([(0, -1), (1, 1)], ValueError, "must be at least 0, got -1"),
        ([(0, 0), (1, math.nan)], ValueError, "must be finite, got nan"),
    ],
)
def test_control_points_are_checked_when_the_expression_is_built(control_points, error, sentence):
    for function in (
        lambda points: phi_relevance(pl.col("score"), points),
        lambda points: phi_curve(FRAME, "score", control_points=points),
        lambda points: phi_control_points(FRAME, "score", control_points=points),
    ):
        with pytest.raises(error, match=sentence):
            function(control_points)


@pytest.mark.parametrize("lazy", [False, True])
def test_the_curve_runs_over_the_range_of_each_query(lazy):
    frame = FRAME.lazy() if lazy else FRAME
    curve = phi_curve(frame, "popularity", query="query", points=5)
    assert curve.schema == {"query": pl.Int64, "popularity": pl.Float64, "relevance": pl.Float64}
    assert curve["query"].to_list() == [3] * 5 + [1] * 5  # no score of query 2 is known
    assert curve["popularity"].to_list() == [5, 6, 7, 8, 9, 1, 2.75, 4.5, 6.25, 8]
    assert curve["relevance"].to_list() == [
        *phi([5, 6, 7, 8, 9], [(5, 0), (6, 0), (9, 1)]),
        *phi([1, 2.75, 4.5, 6.25, 8], [(1, 0), (2, 0), (8, 1)]),
    ]


def test_equal_scores_have_what_is_said_of_the_undefined():
    frame = pl.DataFrame({"query": [1, 1, 2, 2, 2], "score": [7, 7, 3, None, 5], "rank": range(5)})
    g = pl.col("score").graded
    assert frame.select(g.phi_relevance().over("query"))["score"].to_list() == (
        [None, None, 0, None, 1]
    )
    said = frame.select(g.undefined_as(0.5).phi_relevance().over("query"))
    assert said["score"].to_list() == [0.5, 0.5, 0, None, 1]
    # With relevance 1 for all of them, any ranking would have NDCG 1.
    ndcg = frame.group_by("query").agg(g.phi_relevance().graded.undefined_as(None).ndcg())
    assert sorted(ndcg["ndcg"].to_list(), key=str) == [pytest.approx(1 / math.log2(4)), None]


def test_a_floor_keeps_news_that_nobody_shared_out_of_the_quartiles():
    # Without it the median is 0, and the whisker ends at 0: a straight line from 0 to 100.
    shares = [0, 0, 0, 0, 0, 10, 15, 20, 30, 100]
    assert phi(shares)[-2] == pytest.approx(30 / 100)
    # Above 0 it is the box plot of 10, 15, 20, 30, 100, but for α, whose minimum is the floor.
    alpha = (100 - 30) / (100 - 0)
    points = [(0, 0), (20, 0), (30, 1 - alpha), (100, 1)]
    frame = pl.DataFrame({"shares": shares})
    found = phi_control_points(frame, "shares", floor=0).rows()
    assert found == [(x, pytest.approx(y, abs=TOLERANCE)) for x, y in points]
    assert phi(shares, floor=0) == pytest.approx(
        PchipInterpolator(*zip(*points, strict=True))(shares).tolist(), abs=TOLERANCE
    )
    assert phi([3, 4], floor=5) == [None, None]


@settings(deadline=None)
@given(QUERY, WHISKER)
@example([1.0, 0.1, 0.1], 0)
def test_low_scores_are_relevant_as_high_ones_turned_round(scores, whisker):
    turned = phi([-score for score in scores], whisker=whisker)
    assert_close(phi(scores, whisker=whisker, direction="low"), turned)


def test_both_extremes_fall_and_rise_again():
    # Hinges 30 and 70: the whiskers end within 60 of them, at 10 and 90.
    scores = [-100, 10, 30, 40, 50, 60, 70, 90, 300]
    below, above = (10 - -100) / 400, (300 - 90) / 400
    points = [(-100, 1), (10, 1 - below), (50, 0), (90, 1 - above), (300, 1)]
    found = phi_control_points(pl.DataFrame({"s": scores}), "s", direction="both").rows()
    assert found == [(x, pytest.approx(y, abs=TOLERANCE)) for x, y in points]
    grid = [*range(-100, 301, 7)]
    assert phi([*scores, None], direction="both")[:-1] == pytest.approx(
        PchipInterpolator(*zip(*points, strict=True))(scores).tolist(), abs=TOLERANCE
    )
    assert phi(grid, points) == pytest.approx(
        PchipInterpolator(*zip(*points, strict=True))(grid).tolist(), abs=TOLERANCE
    )


@pytest.mark.parametrize(
    ("scores", "values"),
    [
        ([1, 5, 5, 5], [1, 0, 0, 0]),  # the highest is the median
        ([5, 5, 5, 8], [0, 0, 0, 1]),  # the lowest is the median
        ([1, 3], [1, 1]),
        ([4, 4], [None, None]),
        ([1, 2, 3], [1, 0, 1]),
    ],
)
def test_edges_of_both_extremes(scores, values):
    assert phi(scores, direction="both") == values


@settings(deadline=None)
@given(st.lists(QUERY, min_size=2, max_size=4), WHISKER)
def test_queries_do_not_mix_in_any_direction(queries, whisker):
    rows = [(number, float(score)) for number, scores in enumerate(queries) for score in scores]
    frame = pl.DataFrame(rows, schema=["query", "score"], orient="row")
    for options in ({"direction": "both"}, {"direction": "low"}, {"floor": 0.0}):
        expr = phi_relevance(pl.col("score"), whisker=whisker, **options)
        want = [value for scores in queries for value in phi(scores, None, whisker, **options)]
        assert_close(frame.select(expr.over("query"))["score"].to_list(), want)


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        ({"direction": "up"}, ValueError, "`direction` must"),
        ({"direction": "low", "floor": 0}, ValueError, "`floor` is"),
    ],
)
def test_floor_and_direction_are_checked(options, error, sentence):
    with pytest.raises(error, match=sentence):
        phi_relevance(pl.col("score"), **options)
