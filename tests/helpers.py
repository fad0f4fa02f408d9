"""Queries to test with, frames of them, and comparing what comes out."""

from __future__ import annotations

import math
import random
from itertools import cycle
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl
import reference
from registry import KNOWN, WORTH, Row

from polars_graded import graded

if TYPE_CHECKING:
    from collections.abc import Sequence

Query: TypeAlias = "list[tuple[float | None, float | None]]"
"""The rows of a query: a score, None if not retrieved, and a grade, None if unjudged."""

GRADES = [-1, *WORTH]

ODD_QUERIES: dict[str, Query] = {
    "one document": [(1, 2)],
    "one irrelevant document": [(1, 0)],
    "one unjudged document": [(1, None)],
    "one document not retrieved": [(None, 2)],
    "nothing known of the only document": [(None, None)],
    "all zero": [(3, 0), (2, 0), (1, 0)],
    "all below zero": [(2, -1), (1, -1)],
    "all unjudged": [(3, None), (2, None), (1, None)],
    "none retrieved": [(None, 1), (None, 4), (None, 0)],
    "none retrieved, none relevant": [(None, 0), (None, 0)],
    "unjudged retrieved, relevant not": [(2, None), (1, None), (None, 3)],
    "all scores equal": [(1, 0), (1, 3), (1, None), (1, 1)],
    "all grades equal": [(3, 2), (2, 2), (1, 2)],
}

GRADED = graded("grade").ranked_by("score")


def frame_of(queries: Sequence[Query], dtype: Any = pl.Float64) -> pl.DataFrame:
    """A row a document, queries numbered from 0, grades of a data type."""
    rows = [
        (number, *row, known)
        for number, query in enumerate(queries)
        for row, known in zip(query, cycle(KNOWN))
    ]
    schema = {"query": pl.Int64, "score": pl.Float64, "grade": pl.Float64, "known": pl.Boolean}
    return pl.DataFrame(rows, schema, orient="row").cast({"grade": dtype})


def values(expr: pl.Expr, frame: pl.DataFrame) -> list[Any]:
    """The value of each query of a frame."""
    result = frame.group_by("query", maintain_order=True).agg(value=expr)
    return result["value"].to_list()


def lists_of(query: Query, *, condensed: bool = False) -> reference.Lists:
    """What the slow loops see of a query in a frame ranked by score."""
    rows = [
        reference.Row((score,), grade, known) for (score, grade), known in zip(query, cycle(KNOWN))
    ]
    return reference.lists(rows, [True], condensed=condensed)


def twins(
    row: Row,
    queries: Sequence[Query],
    scale: reference.Scale = reference.PLAIN,
    *,
    condensed: bool = False,
) -> list[Any]:
    """What the slow loop says of each query."""
    return [row.twin(lists_of(query, condensed=condensed), scale) for query in queries]


def random_queries(
    seed: int, count: int, grades: Sequence[float] = GRADES, *, ties: bool = True
) -> list[Query]:
    """Queries of 1 to 12 documents, some without a score, some without a grade."""
    rng = random.Random(seed)

    def query() -> Query:
        length = rng.randint(1, 12)
        scores = rng.choices(range(5), k=length) if ties else rng.sample(range(100), length)
        missing = rng.choice([0, 0.3])
        return [
            (
                None if rng.random() < missing else score,
                None if rng.random() < missing else rng.choice(grades),
            )
            for score in scores
        ]

    return [query() for _ in range(count)]


def alike(value: Any, expected: Any) -> bool:
    """Whether two values, or two curves, are equal up to rounding."""
    if value is None or expected is None:
        return value is expected
    if isinstance(expected, list):
        return len(value) == len(expected) and all(map(alike, value, expected))
    return math.isclose(value, expected, rel_tol=1e-9, abs_tol=1e-12)


def numbers(value: Any) -> list[float | None]:
    """The numbers of a value: one, or those of a curve."""
    return value if isinstance(value, list) else [value]


def assert_alike(
    got: Sequence[Any], expected: Sequence[Any], queries: Sequence[Any] | None = None
) -> None:
    """Every query has the value expected; the first that has not is shown."""
    assert len(got) == len(expected)
    for number, (value, right) in enumerate(zip(got, expected, strict=True)):
        query = "" if queries is None else f": {queries[number]}"
        assert alike(value, right), f"query {number}: {value}, not {right}{query}"
