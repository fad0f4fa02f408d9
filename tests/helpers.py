"""Queries to test with, frames of them, and comparing what comes out."""

from __future__ import annotations

import importlib
import math
import random
import warnings
from itertools import cycle
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl
import pytest
import reference
from polars.testing import assert_series_equal
from registry import FURTHER, WORTH, Row

from polars_graded import charts, evaluate, graded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


COLLECTED = (ValueError, pl.exceptions.ComputeError)
"""The errors of rows of a lazy frame: before Polars 2 they come within one of its own."""

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

FURTHER_TYPES = {column.name: column.dtype for column in FURTHER.values()}
FURTHER_VALUES = [column.values for column in FURTHER.values()]

GRADED = graded("grade").ranked_by("score", descending=True)

WAYS = {
    "eager": lambda frame, **options: evaluate(frame, "ndcg@10", **options),
    "lazy": lambda frame, **options: evaluate(frame.lazy(), "ndcg@10", **options).collect(),
    "streaming": lambda frame, **options: evaluate(
        frame.sort("query", maintain_order=True).lazy(), "ndcg@10", consecutive=True, **options
    ).collect(engine="streaming"),
}
"""The ways in which `evaluate` measures a frame."""


def frame_of(queries: Sequence[Query], dtype: Any = pl.Float64) -> pl.DataFrame:
    """One row per document, queries numbered from 0, grades of a data type."""
    rows = [row for query in queries for row in query]
    columns = {
        "query": [number for number, query in enumerate(queries) for _ in query],
        "score": [score for score, _ in rows],
        "grade": [grade for _, grade in rows],
        **{
            name: [
                value for query in queries for value, _ in zip(cycle(given), query, strict=False)
            ]
            for name, given in zip(FURTHER_TYPES, FURTHER_VALUES, strict=True)
        },
    }
    schema = {"query": pl.Int64, "score": pl.Float64, "grade": pl.Float64, **FURTHER_TYPES}
    return pl.DataFrame(columns, schema).cast({"grade": dtype})


def grouped(frame: pl.DataFrame, *exprs: pl.Expr) -> pl.DataFrame:
    """One row per query, in the order of the frame."""
    return frame.group_by("query", maintain_order=True).agg(*exprs)


def values(expr: pl.Expr, frame: pl.DataFrame) -> list[Any]:
    """The value of each query of a frame."""
    return grouped(frame, expr.alias("value"))["value"].to_list()


def values_of_each(rows, g, frame, aggregated=grouped, *, apart=False):
    """The values of many measures by name: all of one ranking, or each by its own expression.

    An error says which measure it is of.
    """

    def computed(rows: Sequence[Row]) -> pl.DataFrame:
        if apart:
            return aggregated(frame, *(row.of(g) for row in rows))
        columns = {name: column for row in rows for name, column in row.columns.items()}
        expr = g.measures(*(row.name for row in rows), **columns)
        return aggregated(frame, expr).unnest("measures")

    chosen = list({row.name: row for row in rows}.values())
    try:
        result = computed(chosen)
    except Exception:
        for row in chosen:
            try:
                computed([row])
            except Exception as error:
                error.add_note(f"This is of {row.name}.")
                raise
        raise
    return result.to_dict(as_series=False)


def lists_of(query: Query, *, condensed: bool = False) -> reference.Lists:
    """What the slow loops see of a query in a frame ranked by score."""
    rows = [
        reference.Row((score,), grade, *further)
        for (score, grade), *further in zip(query, *map(cycle, FURTHER_VALUES), strict=False)
    ]
    return reference.lists(rows, [True], condensed=condensed)


def twins_of_each(rows, queries, scale=reference.PLAIN, *, condensed=False):
    """What the slow loops say of each query, by the name of the measure."""
    lists = [lists_of(query, condensed=condensed) for query in queries]
    return {row.name: [row.twin(each, scale) for each in lists] for row in rows}


def click_log(lists, columns):
    """A log of lists, each a query and the values of `columns` for the document at each rank."""
    rows = [
        (session, query, rank, *row)
        for session, (query, shown) in enumerate(lists)
        for rank, row in enumerate(shown, 1)
    ]
    return pl.DataFrame(rows, ["session", "query", "rank", *columns], orient="row")


def log_of(lists: Iterable[tuple[str, Iterable[Any], Iterable[Any]]]) -> pl.DataFrame:
    """A log of lists, each a query, its documents and whether they were clicked."""
    shown = ((query, zip(docs, clicked, strict=False)) for query, docs, clicked in lists)
    return click_log(shown, ["doc", "clicked"])


def random_queries(seed, count, grades=GRADES, *, ties=True):
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


def needed(name: str, package: str = ".[test]") -> Any:
    """A module that tests need, or a skip that says which package brings it.

    What it warns of when it is imported is its own.
    """
    reason = f'{name} is not installed: pip install "{package}"'
    with warnings.catch_warnings(action="ignore"):
        pytest.importorskip(name.partition(".")[0], reason=reason)
        return importlib.import_module(name)


def catch_messages(call: Callable[[], Any]) -> tuple[Any, str]:
    """Return the result of a call, and its warnings as one text."""
    with warnings.catch_warnings(record=True, action="always") as caught:
        result = call()
    return result, "\n".join(str(each.message) for each in caught)


def alike(value: Any, expected: Any) -> bool:
    """Whether two values, or two curves, are equal up to rounding."""
    if value == expected:
        return True
    if value is None or expected is None:
        return False
    if isinstance(expected, list):
        return len(value) == len(expected) and all(map(alike, value, expected))
    return math.isclose(value, expected, rel_tol=1e-9, abs_tol=1e-12)


def numbers(value: Any) -> list[float | None]:
    """The numbers of a value: one, or those of a curve."""
    return value if isinstance(value, list) else [value]


def difference(got, expected, queries=None):
    """The first query that does not have the value expected, if there is one."""
    if len(got) != len(expected):
        return f"{len(got)} values, not {len(expected)}"
    for number, (value, right) in enumerate(zip(got, expected, strict=True)):
        if not alike(value, right):
            query = "" if queries is None else f": {queries[number]}"
            return f"query {number}: {value}, not {right}{query}"
    return None


def assert_alike(got, expected, queries=None):
    """Every query has the value expected; the first that has not is shown."""
    found = difference(got, expected, queries)
    assert found is None, found


def assert_each_alike(got, expected, queries=None):
    """Every measure has the values expected; of each that has not, the first is shown."""
    assert_none(
        f"{name}, {found}"
        for name, values in expected.items()
        if (found := difference(got[name], values, queries))
    )


def simulated(*cases: Any) -> list[Any]:
    """Cases with very many repetitions or examples, which run each week, beside a few."""
    return [pytest.param(case, marks=pytest.mark.simulation) for case in cases]


LEVELS_OF_ALL_QUERIES = ("mu_ap", "gap")
"""A level that other queries use splits a sum in two: the last bit depends on who else is there."""


def assert_same_columns(found: pl.DataFrame, expected: pl.DataFrame) -> None:
    """Two frames of measures are equal to the last bit; every column that is not is named."""
    assert found.schema == expected.schema
    wrong = []
    for name in expected.columns:
        exact = not name.startswith(LEVELS_OF_ALL_QUERIES)
        try:
            assert_series_equal(
                found[name], expected[name], check_exact=exact, rel_tol=1e-14, abs_tol=0
            )
        except AssertionError as error:
            wrong.append(f"{name}: {error}")
    assert_none(wrong)


def assert_none(wrong: Iterable[str]) -> None:
    """Nothing is wrong; what is, is shown line by line."""
    lines = list(wrong)
    assert not lines, "\n".join([f"{len(lines)} are wrong:", *lines])


def mean_curves(frame: Any, *curves: str) -> pl.DataFrame:
    """The mean of each curve over queries, at each rank, as the chart draws it."""
    values = evaluate(frame.lazy().collect(), *curves)
    drawn = {curve: charts.dcg_curves(values, curve).data for curve in curves}
    means = next(iter(drawn.values())).select("strategy", "rank")
    return means.with_columns(data["value"].alias(curve) for curve, data in drawn.items())
