"""`charts.rankings`: what each document adds, and where it stands, beside values made by hand."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import polars as pl
import pytest
from helpers import needed

from polars_graded import charts, evaluate, side_by_side
from polars_graded._measuring.definitions import DEFINITIONS

SUMS = [name for name, definition in DEFINITIONS.items() if definition.is_sum]

# What bm25 has first is of grade 1, what ours has first of grade 2; z is unjudged.
SMALL = pl.DataFrame(
    {
        "query": ["q1", "q1", "q1"],
        "doc": ["x", "y", "z"],
        "grade": [1, 2, None],
        "title": ["on x", "on y", None],
        "bm25": [3.0, None, 1.0],
        "ours": [0.1, 0.9, None],
    }
)
BOTH = ["bm25", "ours"]
IDEAL = 3 + 1 / math.log2(3)


def documents(chart: Any) -> pl.DataFrame:
    return chart.data.filter(part="document")


def added(frame, of, measure=None, **options):
    """What is added at each rank, a list for each strategy."""
    rows = documents(charts.rankings(frame, of, measure, **options)).drop_nulls("adds")
    return {name: rows.filter(strategy=name)["adds"].to_list() for name in rows["strategy"]}


def random_query(seed: int, n: int = 12) -> pl.DataFrame:
    """A query with ties, unjudged documents, grades of -1 and documents that were not retrieved."""
    rng = np.random.default_rng(seed)
    grade = rng.choice([-1, 0, 1, 2, 4], n).tolist()
    return pl.DataFrame(
        {
            "query": 7,
            "doc": [f"d{place}" for place in range(n)],
            "grade": [value if rng.random() > 0.2 else None for value in grade],
            "score": [float(rng.integers(0, 5)) if rng.random() > 0.2 else None for _ in range(n)],
        }
    )


@pytest.mark.parametrize(
    ("measure", "bm25", "ours"),
    [
        (None, [1 / IDEAL, 0], [3 / IDEAL, 1 / math.log2(3) / IDEAL]),
        ("dcg", [1, 0], [3, 1 / math.log2(3)]),
        ("ap", [1 / 2, 0], [1 / 2, 1 / 2]),
        # Equation 4: of both levels, that of 1 has two relevant documents, that of 2 one.
        ("mu_ap", [1 / 4, 0], [(1 / 2 + 1) / 2, 1 / 4]),
        ("reciprocal_rank", [1, 0], [1, 0]),
        ("rbp(p=0.5)", [1 / 2, 0], [1 / 2, 1 / 4]),
        ("recall@1", [1 / 2, 0], [1 / 2, 0]),
    ],
)
def test_a_document_adds_what_its_term_of_the_sum_is(measure, bm25, ours):
    got = added(SMALL, "q1", measure, by=BOTH)
    assert got["bm25"] == pytest.approx(bm25)
    assert got["ours"] == pytest.approx(ours)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* below 0 count")
@pytest.mark.parametrize("function", [f"{each}@12" if each == "sdcg" else each for each in SUMS])
@pytest.mark.parametrize("seed", range(2))
def test_what_is_added_sums_up_to_the_value(function, seed):
    frame = random_query(seed)
    chart = charts.rankings(frame, 7, function, n=12)
    [expected] = evaluate(frame, function, ties="doc")[function]
    assert chart.data.filter(part="strategy")["value"].to_list() == [expected]
    rows = documents(chart)
    assert rows["adds"].sum() == pytest.approx(expected)
    if expected > 0:
        assert rows["share"].sum() == pytest.approx(1)


REFUSED = [
    *(name for name, each in DEFINITIONS.items() if not each.input_names and name not in SUMS),
    *("ap(over=retrieved)", "ndcg(ties=average)", "mu_ap(ties=optimistic)", "sdcg"),
]


@pytest.mark.parametrize("measure", REFUSED)
def test_what_is_no_sum_over_ranks_is_refused(measure):
    with pytest.raises(
        ValueError, match=r"`measure` must (be a sum over ranks|leave tied|have a cutoff)"
    ):
        charts.rankings(SMALL, "q1", measure, by=BOTH)


@pytest.mark.parametrize(
    ("options", "highest"), [({}, 2), ({"max_grade": 4}, 4), ({"max_grade": 2.5}, 2.5)]
)
def test_the_darkest_tile_has_the_highest_grade_of_the_scale(options, highest):
    spec = charts.rankings(SMALL, "q1", by=BOTH, **options).to_dict()
    [fill] = [
        layer["encoding"]["fill"]
        for layer in spec["layer"]
        if "shade" in str(layer) and "scale" in layer["encoding"].get("fill", {})
    ]
    assert fill["scale"]["domain"] == [0, highest]
    assert fill["legend"]["values"] == [*range(math.ceil(highest - 0.5)), highest]


@pytest.mark.parametrize("n", [1, 2])
def test_the_subtitle_explains_dashes_only_if_there_are_any(n):
    frame = SMALL.select("query", "doc", "grade", score=pl.Series([3, 2, 1]))
    frame = frame.with_columns(grade=pl.Series([1, None, 2]))
    chart = charts.rankings(frame, "q1", n=n)
    assert ("dashed: unjudged" in chart.description) == (n == 2)


@pytest.mark.parametrize("n", [3, 6])
def test_the_subtitle_explains_numbers_only_if_there_are_any(n):
    frame = SMALL.with_columns(pl.lit(1.0).alias(f"s{place}") for place in range(n))
    chart = charts.rankings(frame, "q1", by=[f"s{place}" for place in range(n)], ties="doc")
    assert ("+: what a document adds" in chart.description) == (n == 3)


@pytest.mark.parametrize("seed", range(3))
def test_documents_stand_where_side_by_side_has_them(seed):
    frame = random_query(seed, 30)
    rows = documents(charts.rankings(frame, 7, n=10)).filter(pl.col("rank") <= 10)
    table = side_by_side(frame, 7, n=10)
    assert rows.sort("rank")["doc"].to_list() == table["score"].to_list()
    assert rows.sort("rank")["grade"].to_list() == table["grade of score"].to_list()


@pytest.mark.parametrize(("width", "texts"), [(None, "cut"), (1400, "whole")])
def test_ids_that_begin_alike_differ_on_their_tiles(width, texts):
    vl_convert = needed("vl_convert")
    ids = [f"clueweb09-enwp01-{n:05d}-{n * 7:05d}" for n in range(6)]
    scores = {name: range(6, 0, -1) for name in BOTH}
    frame = pl.DataFrame({"query": "q", "doc": ids, "grade": 1, **scores})
    chart = charts.rankings(frame, "q", by=BOTH, n=6)
    chart = chart if width is None else chart.properties(width=width)
    svg = vl_convert.vegalite_to_svg(chart.to_dict())
    drawn = {text for text in re.findall(r"<text[^>]*>([^<]*)<", svg) if "clueweb" in text}
    assert len(drawn) == len(ids)
    assert all(("…" in text) == (texts == "cut") for text in drawn)


def test_relevant_documents_that_were_missed_stand_below_the_line():
    frame = pl.DataFrame(
        {
            "query": 1,
            "doc": [f"d{place}" for place in range(40)],
            "grade": [1] * 20 + [0] * 20,
            "score": [float(40 - place) if place < 18 else None for place in range(40)],
            "other": [float(place) if place > 14 else None for place in range(40)],
        }
    )
    chart = charts.rankings(frame, 1, by=["score", "other"], n=5)
    below = documents(chart).filter((pl.col("rank") > 5) | pl.col("rank").is_null())
    assert below.group_by("strategy").len()["len"].to_list() == [10, 10]
    # First those that the other strategy has in its first five, then by rank.
    other = below.filter(strategy="other").sort("y")
    assert other["doc"].to_list()[-5:] == ["d0", "d1", "d2", "d3", "d4"]
    assert other["label"].to_list()[-5:] == ["no rank"] * 5
    score = below.filter(strategy="score").sort("y")
    assert score["label"].to_list() == [f"rank {rank}" for rank in range(6, 16)]
    assert score["adds"].null_count() == 10
    assert score["y"].to_list() == [6.5 + place for place in range(10)]


@pytest.mark.parametrize(
    ("change", "of", "options", "sentence"),
    [
        (None, "q2", {}, "`frame` must"),
        (
            pl.lit("x").alias("doc"),
            "q1",
            {},
            "'doc' must name each document of a query once, got 2 repeated",
        ),
        (pl.lit(math.nan).alias("bm25"), "q1", {}, "score 'bm25' must be finite"),
        (
            [
                pl.lit(None, pl.Int64).alias("grade"),
                *(pl.lit(None, pl.Float64).alias(name) for name in BOTH),
            ],
            "q1",
            {},
            "the query must have a document with a score or a grade, got none",
        ),
    ],
)
def test_a_wrong_value_is_an_error_that_says_what_is_wrong(change, of, options, sentence):
    frame = SMALL if change is None else SMALL.with_columns(change)
    with pytest.raises(ValueError) as error:  # noqa: PT011
        charts.rankings(frame, of, by=BOTH, **options)
    assert sentence in str(error.value)


def test_the_docstring_names_all_measures_that_are_sums():
    sentence = charts.rankings.__doc__.partition("Such measures are")[2].partition("Other")[0]
    assert sorted(re.findall(r"`(\w+)`", sentence)) == sorted(SUMS)
