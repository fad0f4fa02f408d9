"""Any frame comes in at one door, and the same values come out."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from helpers import needed
from polars.testing import assert_frame_equal

from polars_graded import compare, count_retrieved, evaluate, join_judgments, summarise
from polars_graded._checks import check_frame
from polars_graded.datasets import example

RUN = pl.DataFrame(
    {
        "query": ["q1", "q1", "q1", "q2", "q2"],
        "doc": ["a", "b", "c", "a", "c"],
        "score": [3.0, 2.0, 1.0, 5.0, 4.0],
    }
)
JUDGMENTS = pl.DataFrame(
    {"query": ["q1", "q1", "q2", "q2"], "doc": ["b", "d", "a", "c"], "grade": [2, 1, 0, 3]}
)
MEASURES = ("mu_ap", "ndcg@10", "recall@2")


def of_pandas(frame: pl.DataFrame):
    pandas = needed("pandas")
    return pandas.DataFrame(frame.to_dict(as_series=False))


def of_pyarrow(frame: pl.DataFrame):
    needed("pyarrow")
    return frame.to_arrow()


def of_duckdb(frame: pl.DataFrame):
    import duckdb

    return duckdb.from_arrow(frame.to_arrow()).order("query, doc")


def of_capsules(frame: pl.DataFrame):
    """What speaks Arrow's PyCapsule interface and nothing else."""

    class Capsules:
        def __arrow_c_stream__(self, requested_schema=None):
            return frame.__arrow_c_stream__(requested_schema)

    return Capsules()


def of_narwhals(frame: pl.DataFrame):
    return needed("narwhals", "narwhals").from_native(frame)


def of_narwhals_lazily(frame: pl.DataFrame):
    return needed("narwhals", "narwhals").from_native(of_duckdb(frame)).lazy()


FRAMES = pytest.mark.parametrize(
    "of",
    [of_pandas, of_pyarrow, of_capsules, of_narwhals],
    ids=["pandas", "pyarrow", "capsules", "narwhals"],
)


@FRAMES
def test_the_same_evaluation_from_any_frame(of):
    expected = evaluate(join_judgments(RUN, JUDGMENTS), *MEASURES)
    judged = join_judgments(of(RUN), of(JUDGMENTS))
    assert type(judged) is pl.DataFrame
    assert_frame_equal(evaluate(judged, *MEASURES), expected)
    assert_frame_equal(evaluate(of(join_judgments(RUN, JUDGMENTS)), *MEASURES), expected)


def test_the_same_evaluation_from_mappings():
    run = {"q1": {"a": 3.0, "b": 2.0, "c": 1.0}, "q2": {"a": 5.0, "c": 4.0}}
    judgments = {"q1": {"b": 2, "d": 1}, "q2": {"a": 0, "c": 3}}
    expected = evaluate(join_judgments(RUN, JUDGMENTS), *MEASURES)
    assert_frame_equal(evaluate(join_judgments(run, judgments), *MEASURES), expected)


@FRAMES
def test_results_come_in_at_the_same_door(of):
    table = count_retrieved(of(join_judgments(RUN, JUDGMENTS)))
    assert table.row(0) == ("score", 2, 5, 3, 2)


IN_DUCKDB = """
import test_any_frame as tests

for of in (tests.of_duckdb, tests.of_narwhals_lazily):
    tests.test_the_same_evaluation_from_any_frame(of)
    tests.test_results_come_in_at_the_same_door(of)
print("the same")
"""


@pytest.mark.slow
def test_the_same_from_relations_of_duckdb():
    """In a process of its own: DuckDB 2 tells at its end what Polars still holds of it."""
    for name in ("duckdb", "pyarrow", "narwhals"):
        needed(name)
    run = subprocess.run(  # noqa: S603 of our own making
        [sys.executable, "-c", IN_DUCKDB],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parent,
    )
    assert (run.returncode, run.stdout) == (0, "the same\n"), run.stderr


def test_what_pandas_calls_missing_is_null():
    pandas = needed("pandas")
    # A left join of pandas has NaN for what was not judged, and makes grades of it floats.
    frame = pandas.DataFrame(RUN.to_dict(as_series=False)).merge(
        pandas.DataFrame(JUDGMENTS.to_dict(as_series=False)), on=["query", "doc"], how="outer"
    )
    assert frame["score"].isna().sum() == 1
    assert frame["grade"].isna().sum() == 2
    found = check_frame("frame", frame)
    assert found.null_count().row(0) == (0, 0, 1, 2)
    assert_frame_equal(
        evaluate(frame, *MEASURES), evaluate(join_judgments(RUN, JUDGMENTS), *MEASURES)
    )
    infinite = frame.assign(score=math.inf)
    with pytest.raises(ValueError, match="score 'score' must be finite, got NaN or infinity in 2"):
        evaluate(infinite, "ap")


def test_a_named_index_of_pandas_counts_as_columns():
    pandas = needed("pandas")
    frame = pandas.DataFrame(RUN.to_dict(as_series=False))
    assert check_frame("frame", frame).columns == ["query", "doc", "score"]
    indexed = check_frame("frame", frame.set_index(["query", "doc"]))
    assert_frame_equal(indexed, RUN)
    twice = frame.set_index("doc", drop=False)
    assert check_frame("frame", twice).columns == ["query", "doc", "score"]
    with pytest.raises(TypeError, match="`frame` must have columns named by strings, got 3"):
        check_frame("frame", frame.rename(columns={"doc": 3}))


def test_pandas_without_pyarrow(monkeypatch):
    pandas = needed("pandas")
    frame = pandas.DataFrame(
        {
            "text": ["a", None, "b"],
            "float": [1.5, math.nan, 2.0],
            "whole": [1, 2, 3],
            "nullable": pandas.array([1, None, 3], dtype="Int64"),
            "flag": [True, False, True],
            "kind": pandas.Categorical(["x", None, "y"]),
        }
    )

    def missing(*_, **__):
        raise ModuleNotFoundError

    monkeypatch.setattr(pl, "from_pandas", missing)
    assert check_frame("frame", frame).rows() == [
        ("a", 1.5, 1, 1, True, "x"),
        (None, None, 2, None, False, None),
        ("b", 2.0, 3, 3, True, "y"),
    ]


@pytest.mark.parametrize("given", [None, {"query": []}, pl.Series([1])])
def test_what_is_no_frame_is_refused_by_its_name(given):
    sentence = r"`frame` must be a data frame \(of Polars, pandas, pyarrow, DuckDB or another that "
    for call in (evaluate, count_retrieved):
        with pytest.raises(TypeError, match=sentence):
            call(given, "ap") if call is evaluate else call(given)


def test_no_other_library_is_loaded_for_frames_of_polars():
    code = (
        "import sys, polars as pl, polars_graded as pg\n"
        "pg.evaluate(pl.DataFrame({'query': [1], 'grade': [1], 'score': [1]}), 'ap')\n"
        "print({'narwhals', 'pandas', 'pyarrow', 'duckdb', 'altair', 'scipy'} & set(sys.modules))"
    )
    result = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "set()"


def test_results_of_other_libraries_are_compared():
    frame = evaluate(example(), "ap", by=["strong", "weak"])
    for of in (of_pandas, of_pyarrow):
        assert_frame_equal(compare(of(frame), "ap"), compare(frame, "ap"))
        assert_frame_equal(summarise(of(frame), "ap"), summarise(frame, "ap"))


def test_a_column_of_pandas_that_is_of_several_kinds_is_named():
    pandas = needed("pandas")
    frame = pandas.DataFrame({"query": ["a", "a"], "grade": [1, 0], "score": [2.0, 1.0]})
    with pytest.raises(TypeError, match=r"^column 'meta' of `frame` must hold values of one kind"):
        evaluate(frame.assign(meta=[1, "x"]), "ap")
    with pytest.raises(ValueError, match="must have each column once, got 'score' more than once"):
        evaluate(pandas.concat([frame, frame[["score"]]], axis=1), "ap")
