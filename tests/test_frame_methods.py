"""Test the functions of this package as methods of frames."""

from __future__ import annotations

import inspect

import altair as alt
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_graded as pg
from polars_graded import charts, datasets
from polars_graded._frame_methods import METHODS


def test_a_chain_has_the_results_of_the_functions():
    df = datasets.example(12)
    by = ["weak", "strong"]
    chained = df.graded.evaluate("ndcg@10", by=by).graded.compare(baseline="weak")
    assert_frame_equal(chained, pg.compare(pg.evaluate(df, "ndcg@10", by=by), baseline="weak"))
    lazy = df.lazy().graded.evaluate("ndcg@10", by=by)
    assert_frame_equal(lazy.lazy().collect(), pg.evaluate(df, "ndcg@10", by=by))
    verdicts = lazy.graded.gate("ndcg@10", baseline="weak", margin=0.01)
    assert_frame_equal(verdicts, pg.gate(lazy, "ndcg@10", baseline="weak", margin=0.01))


def test_charts_are_methods():
    values = datasets.example(12).graded.evaluate("ap", by=["weak", "strong"])
    chart = values.graded.charts.precision_histogram("ap", "strong", "weak")
    assert isinstance(chart, alt.LayerChart)
    assert chart.data.equals(charts.precision_histogram(values, "ap", "strong", "weak").data)
    drawn = values.graded.summarise().graded.charts.strategy_bars()
    assert drawn.data.equals(charts.strategy_bars(pg.summarise(values)).data)


def test_every_function_of_a_frame_is_a_method():
    frames = {"frame", "per_query", "run"}
    functions = {
        name: getattr(pg, name) for name in pg.__all__ if inspect.isfunction(getattr(pg, name))
    }
    takes_frames = {
        name
        for name, function in functions.items()
        if next(iter(inspect.signature(function).parameters), "") in frames
    }
    # Expressions do the same: `pl.col(...).graded.phi_relevance()`.
    assert takes_frames - {"phi_control_points", "phi_curve"} == {*METHODS}
    assert all(METHODS[name] is functions[name] for name in METHODS)


def test_a_method_has_the_help_and_the_signature_of_its_function():
    graded = pl.DataFrame().graded
    assert graded.evaluate.__doc__ == pg.evaluate.__doc__
    parameters = [*inspect.signature(pg.evaluate).parameters]
    assert [*inspect.signature(graded.evaluate).parameters] == parameters[1:]
    assert {*dir(graded)} == {*METHODS, "charts"}
    assert "dcg_curves" in dir(graded.charts)


def test_a_typo_is_answered_with_the_name():
    with pytest.raises(
        AttributeError, match=r"no method 'sumarise'(.|\n)*did you mean 'summarise'"
    ):
        pl.DataFrame().graded.sumarise  # noqa: B018
    with pytest.raises(AttributeError, match=r"\.graded\.charts has no method 'dcg_curve'"):
        pl.DataFrame().graded.charts.dcg_curve  # noqa: B018
