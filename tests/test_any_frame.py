"""Any frame comes in at one door, and the same values come out."""

from __future__ import annotations

import math
import subprocess
import sys

import polars as pl
import pytest
from helpers import needed
from polars.testing import assert_frame_equal

from polars_graded import evaluate, join_judgments
from polars_graded._checks import check_frame

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


def of_capsules(frame: pl.DataFrame):
    """What speaks Arrow's PyCapsule interface and nothing else."""

    class Capsules:
        def __arrow_c_stream__(self, requested_schema=None):
            return frame.__arrow_c_stream__(requested_schema)

    return Capsules()


def of_narwhals(frame: pl.DataFrame):
    return needed("narwhals", "narwhals").from_native(frame)


@pytest.mark.parametrize("of", [of_pandas, of_pyarrow, of_capsules, of_narwhals])
def test_the_same_evaluation_from_any_frame(of):
    expected = evaluate(join_judgments(RUN, JUDGMENTS), *MEASURES)
    judged = join_judgments(of(RUN), of(JUDGMENTS))
    assert type(judged) is pl.DataFrame
    assert_frame_equal(evaluate(judged, *MEASURES), expected)
    assert_frame_equal(evaluate(of(join_judgments(RUN, JUDGMENTS)), *MEASURES), expected)


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
    with pytest.raises(TypeError, match=sentence):
        evaluate(given, "ap")


def test_no_other_library_is_loaded_for_frames_of_polars():
    code = (
        "import sys, polars as pl, polars_graded as pg\n"
        "frame = pl.DataFrame({'query': [1], 'grade': [1], 'score': [1]})\n"
        "pg.evaluate(frame, 'ap'), dir(frame.graded)\n"
        "print({'narwhals', 'pandas', 'pyarrow', 'duckdb', 'altair', 'scipy'} & set(sys.modules))"
    )
    result = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "set()"


def test_a_column_of_pandas_that_is_of_several_kinds_is_named():
    pandas = needed("pandas")
    frame = pandas.DataFrame({"query": ["a", "a"], "grade": [1, 0], "score": [2.0, 1.0]})
    with pytest.raises(TypeError, match=r"^column 'meta' of `frame` must hold values of one kind"):
        evaluate(frame.assign(meta=[1, "x"]), "ap")
    with pytest.raises(ValueError, match="must have each column once, got 'score' more than once"):
        evaluate(pandas.concat([frame, frame[["score"]]], axis=1), "ap")
