"""Calls with frames and keywords of every kind: a result, or an error that is one sentence."""

from __future__ import annotations

import datetime as dt
import inspect
import re
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest
from helpers import needed
from hypothesis import example, given, settings
from hypothesis import strategies as st

import polars_graded as pg
from polars_graded import charts, clicks, trust

RESULTS = pl.DataFrame(
    {
        "grader": ["people"] * 6 + ["model"] * 6,
        "strategy": ["a", "a", "b", "b", "c", "c"] * 2,
        "query": [1, 2] * 6,
        "country": ["x", "y"] * 6,
        "ap": [0.5, 0.25, 0.75, 0.5, 0.1, 0.2] * 2,
        "ndcg@2": [0.5, 0.75, 1.0, 0.5, 0.25, 0.125] * 2,
    }
)
RANKED = pl.DataFrame(
    {
        "strategy": ["a"] * 4 + ["b"] * 4,
        "query": [1, 1, 2, 2] * 2,
        "doc": ["u", "v"] * 4,
        "grade": [1, 0, 2, None] * 2,
        "score": [2.0, 1.0, 1.5, 0.5, 1.0, 2.0, 0.25, 0.75],
        "grader": ["people", "model"] * 4,
    }
)
FOLDER = tempfile.TemporaryDirectory()
"""Where reports are written; it is gone when the tests end."""

OF_RESULTS = {
    "report": lambda f, **o: pg.report(f, Path(FOLDER.name) / "page.html", **o),
    "compare": pg.compare,
    "summarise": pg.summarise,
    "rank_strategies": pg.rank_strategies,
    "paper_table": pg.paper_table,
    "differences": lambda f, **o: pg.differences(f, "ap", "a", "b", **o),
    "compare_segments": lambda f, **o: pg.compare_segments(f, segments="country", **o),
    "gate": lambda f, **o: pg.gate(f, baseline="a", margin=0.1, **o),
    "queries_needed": trust.queries_needed,
    "power_curve": trust.power_curve,
    "order_stability": trust.order_stability,
    "rank_correlation": trust.rank_correlation,
    "precision_histogram": lambda f, **o: charts.precision_histogram(f, "ap", "a", "b", **o),
    "comparison_forest": lambda f, **o: charts.comparison_forest(pg.compare(f, **o)),
    "comparison_matrix": lambda f, **o: charts.comparison_matrix(pg.compare(f, **o)),
    "strategy_bars": lambda f, **o: charts.strategy_bars(pg.summarise(f, **o)),
    "strategy_ranks": lambda f, **o: charts.strategy_ranks(pg.rank_strategies(f, **o)),
}
OF_RANKINGS = {
    "evaluate": lambda f, **o: pg.evaluate(f, "ap", "ndcg@2", **o),
    "overview": pg.overview,
    "unjudged_bounds": lambda f, **o: trust.unjudged_bounds(f, "ap", **o),
    "agreement": lambda f, **o: pg.agreement(
        f, **{name: value for name, value in o.items() if name in ("query", "grade")}
    ),
    "side_by_side": lambda f, **o: pg.side_by_side(f, 1, **o),
    "similarity": lambda f, **o: pg.similarity(
        f, "rbo", "kendall_tau", "jaccard@2", **{"strategy": "strategy", **o}
    ),
    "fuse": lambda f, **o: pg.fuse(f, **{"by": ["score", "grade"], "doc": None, **o}),
}
LOG = pl.DataFrame(
    {
        "session": [1, 1, 2, 2, 3, 3] * 2,
        "query": [1] * 6 + [2] * 6,
        "doc": ["u", "v", "v", "u", "u", "v"] * 2,
        "rank": [1, 2] * 6,
        "clicked": [1, 0, 1, 1, 0, 1, 1, 1, 0, 1, 1, 0],
        "n": [1, 2] * 6,
        "team": ["a", "b", "b", "a"] * 3,
    }
)
RANKING = pl.DataFrame({"query": [1, 1, 2, 2], "doc": ["v", "u"] * 2, "rank": [1, 2] * 2})
OF_LOGS = {
    "describe_log": clicks.describe_log,
    "count_clicks": clicks.count_clicks,
    "estimate_ctr": clicks.estimate_ctr,
    "estimate_sdbn": clicks.estimate_sdbn,
    "estimate_pbm": clicks.estimate_pbm,
    "estimate_propensities": clicks.estimate_propensities,
    "estimate_clicks": lambda f, **o: clicks.estimate_clicks(f, RANKING, **o),
    "compare_interleaved": clicks.compare_interleaved,
}
COLUMNS = {
    "as it is": None,
    "structs": pl.struct(pl.lit(1)),
    "lists": pl.concat_list(pl.lit("people")),
    "nulls": pl.lit(None, pl.String),
    "numbers": pl.lit(1),
    "fractions": pl.lit(0.5),
    "dates": pl.lit(dt.date(2024, 2, 29)),
    "durations": pl.lit(dt.timedelta(days=1)),
    "bytes": pl.lit(b"people"),
    "texts": pl.lit(""),
    "truths": pl.lit(value=True),
}
KEYWORDS = {
    "query": ["query", "doc", "country", "none", ["query", "country"], 1, None, []],
    "strategy": ["strategy", "query", "grader", "none", 2],
    "grader": ["people", "nobody", 1, None],
    "confidence": [0.95, 0.999999, 1 - 1e-12, 1e-9, 1, "0.95"],
    "missing": ["drop", "zero", "error", None],
    "grade": ["grade", "doc", ["grade", "score"], 3],
    "by": ["score", "doc", [], {"s": "score"}],
}
OPTIONS_OF_LOGS = {
    "query": ["query", "doc", "none", 1, None, []],
    "doc": ["doc", "query", "none", None],
    "rank": ["rank", "doc", "n", None, 2],
    "clicked": ["clicked", "n", "doc", None],
    "session": ["session", "query", ["session"], None],
    "impressions": ["n", "rank", "none", None, 3],
    "confidence": [0.95, 1 - 1e-12, 1e-9, 1, "0.95", None],
    "prior": [(1, 2), (1,), (0, 1), "ab", None, [1, None]],
    "propensities": ["em", {1: 1.0, 2: 0.5}, {1: 1.0}, {"a": 1}, {}, 1],
    "propensity": ["n", "clicked", "none", None, 1],
    "weights": ["ips", "self_normalised", None],
    "method": ["list", "cascade", "item_position", None],
    "team": ["team", "doc", "none", None],
    "unit": ["list", "query", None],
    "segments": ["team", "query", "none", []],
    "cluster": ["session", "n", "none", 1],
}


def said(error):
    """What an error says first, in a line."""
    return str(error).partition("\n\nHint")[0]


def is_a_sentence(error):
    """Whether it is one of the package's own: named columns and arguments, no traces of Polars."""
    kinds = (ValueError, TypeError, pl.exceptions.ColumnNotFoundError)
    raw = r"cannot concat|unhashable|unable to find column|expression|StopIteration|NoneType|solver"
    return (
        isinstance(error, kinds)
        and "\n" not in said(error)
        and len(said(error)) > 20
        and not re.search(raw, said(error))
    )


def called(call, frame, options):
    """The error of a call, None where it has a result."""
    try:
        with warnings.catch_warnings(action="ignore"):
            call(frame, **options)
    except BaseException as error:  # a panic is none of Exception
        if isinstance(error, KeyboardInterrupt):
            raise
        return error
    return None


def changed(frame, column, kind, rows):
    """The frame with another kind of values in a column, or without it, and with fewer rows."""
    if kind == "left out":
        frame = frame.drop(column, strict=False)
    elif COLUMNS[kind] is not None:
        frame = frame.with_columns(COLUMNS[kind].alias(column))
    return frame.head(rows)


def supported(call, options):
    """The keywords that a function takes, as its signature says."""
    calls = OF_RESULTS | OF_RANKINGS | OF_LOGS
    name = next(name for name, each in calls.items() if each is call)
    function = next(
        found
        for room in (pg, trust, charts, clicks)
        if (found := getattr(room, name, None)) is not None
    )
    if name in ("comparison_forest", "comparison_matrix"):
        function = pg.compare
    known = inspect.signature(function).parameters
    return {key: value for key, value in options.items() if key in known}


def assert_result_or_sentence(call, frame, options):
    error = called(call, frame, supported(call, options))
    assert error is None or is_a_sentence(error), f"{type(error).__name__}: {error}"


ROWS = st.sampled_from([0, 1, 2, 6, 12])
KINDS = st.sampled_from([*COLUMNS, "left out"])
OPTIONS = st.fixed_dictionaries(
    {}, optional={name: st.sampled_from(of) for name, of in KEYWORDS.items()}
)


@settings(deadline=None)
@given(st.sampled_from([*OF_RESULTS]), st.sampled_from(RESULTS.columns), KINDS, ROWS, OPTIONS)
@example("compare", "grader", "as it is", 0, {})
@example("report", "grader", "as it is", 0, {})
@example("report", "ap", "lists", 12, {"grader": "people"})
@example("paper_table", "grader", "as it is", 0, {})
@example("compare", "query", "left out", 12, {})
@example("summarise", "grader", "structs", 12, {})
@example("summarise", "grader", "lists", 12, {})
@example("summarise", "grader", "nulls", 12, {})
@example("summarise", "grader", "numbers", 12, {})
@example("queries_needed", "ap", "as it is", 6, {"confidence": 0.999999})
def test_calls_of_results_end_in_a_result_or_a_sentence(name, column, kind, rows, options):
    assert_result_or_sentence(OF_RESULTS[name], changed(RESULTS, column, kind, rows), options)


@settings(deadline=None)
@given(st.sampled_from([*OF_RANKINGS]), st.sampled_from(RANKED.columns), KINDS, ROWS, OPTIONS)
@example("agreement", "grader", "numbers", 8, {})
@example("agreement", "grader", "lists", 8, {})
@example("agreement", "strategy", "as it is", 0, {"query": "doc"})
def test_calls_of_rankings_end_in_a_result_or_a_sentence(name, column, kind, rows, options):
    assert_result_or_sentence(OF_RANKINGS[name], changed(RANKED, column, kind, rows), options)


KEYWORDS_OF_LOGS = st.fixed_dictionaries(
    {}, optional={name: st.sampled_from(of) for name, of in OPTIONS_OF_LOGS.items()}
)


@settings(deadline=None)
@given(st.sampled_from([*OF_LOGS]), st.sampled_from(LOG.columns), KINDS, ROWS, KEYWORDS_OF_LOGS)
@example("estimate_pbm", "doc", "as it is", 12, {"propensities": {"a": 1}})
@example("compare_interleaved", "team", "lists", 12, {})
def test_calls_of_logs_end_in_a_result_or_a_sentence(name, column, kind, rows, options):
    assert_result_or_sentence(OF_LOGS[name], changed(LOG, column, kind, rows), options)


def test_null_names_of_graders_are_no_grader():
    some = pl.when(pl.int_range(pl.len()) > 0).then("grader").alias("grader")
    with pytest.raises(
        ValueError, match=r"'grader' of `per_query` must hold .* got 1 null in 12 r"
    ):
        pg.summarise(RESULTS.with_columns(some))


def test_intervals_of_duckdb_are_refused_in_a_sentence():
    duckdb = needed("duckdb")
    table = duckdb.sql("select 1 as query, 1 as grade, 1.0 as score, interval 1 day as age")
    with pytest.raises(TypeError, match=r"column 'age' of `frame` must .* got INTERVAL"):
        pg.evaluate(table, "ap")
    with suppress(ImportError):
        import pyarrow as pa

        months = pa.array([pa.MonthDayNano([1, 2, 3])])
        arrow = pa.table({"query": [1], "grade": [1], "score": [1.0], "age": months})
        with pytest.raises(TypeError, match=r"column 'age' of `frame` must .* got .*interval"):
            pg.evaluate(arrow, "ap")
