"""Interleaved rankers: who wins a list, against slow loops, and what is tested."""

from __future__ import annotations

import itertools
import math

import numpy as np
import polars as pl
import pytest
from helpers import click_log
from hypothesis import given, settings
from hypothesis import strategies as st

from polars_graded.clicks import compare_interleaved

pytestmark = pytest.mark.filterwarnings("ignore::polars_graded.DataWarning")


def log_of(lists) -> pl.DataFrame:
    """A log of lists, with `r` as the query of even sessions and `q` of odd ones."""
    return click_log(zip(itertools.cycle("rq"), lists, strict=False), ["team", "clicked"])


TEAMS = st.lists(
    st.lists(
        st.tuples(st.sampled_from(["old", "new", None]), st.booleans()), min_size=1, max_size=5
    ),
    min_size=2,
    max_size=20,
)


@given(TEAMS)
@settings(max_examples=8, deadline=None)
def test_a_click_counts_for_the_team_of_its_document(lists):
    lists = [*lists, [("old", False), ("new", False)]]
    signs = [
        np.sign(sum((team == "new") - (team == "old") for team, click in shown if click))
        for shown in lists
    ]
    [row] = compare_interleaved(log_of(lists), baseline="old").rows(named=True)
    assert [row[name] for name in ("wins", "ties", "losses")] == [
        signs.count(s) for s in (1, 0, -1)
    ]
    assert row["difference"] == pytest.approx(sum(signs) / len(signs) / 2, abs=1e-12)
    assert row["queries"] == len(lists)


TEAM_LOG = log_of(
    [[("new", True), ("old", False)]] * 6 + [[("new", False), ("old", True)]] * 2
).with_columns(
    user=pl.col("session") // 2,
    country=pl.when(pl.col("session") < 4).then(pl.lit("DE")).otherwise(pl.lit("FR")),
)


def test_delta_has_the_interval_and_the_test_of_the_mean_preference():
    table = compare_interleaved(TEAM_LOG, baseline="old")
    preference = np.array([1.0] * 6 + [0.0] * 2)
    mean, error = preference.mean(), preference.std(ddof=1) / math.sqrt(8)
    t = 2.3646242515927849  # the quantile 0.975 of Student's distribution with 7 degrees of freedom
    row = table.row(0, named=True)
    assert row["difference"] == pytest.approx(mean - 0.5)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(
        (mean - 0.5 - t * error, mean - 0.5 + t * error)
    )
    assert (row["mean"], row["baseline_mean"]) == (0.75, 0.5)


def test_users_are_clusters_and_segments_are_apart():
    table = compare_interleaved(TEAM_LOG, baseline="old", cluster="user", test="permutation")
    assert table["clusters"].item() == 4
    # Three users with two wins each against one with two losses: all 16 signs, 8 as far from 0.
    assert table["p_value"].item() == 10 / 16
    parts = compare_interleaved(TEAM_LOG, baseline="old", segments="country", test="permutation")
    assert parts.select("country", "difference").rows() == [("DE", 0.5), ("FR", 0.0)]


TEAM_DRAFT = pl.DataFrame(
    {
        "session": [1, 1, 2, 2, 3, 3, 4, 4],
        "query": "q",
        "rank": [1, 2] * 4,
        "team": ["new", "old", "old", "new"] * 2,
        "clicked": [1, 0, 0, 1, 0, 1, 1, 1],
        "category": ["news", "shop"] * 4,
    }
)


NO_SESSION = TEAM_DRAFT.with_columns(session=pl.lit(None, pl.Int64))
REPEATED = pl.concat([TEAM_DRAFT, TEAM_DRAFT.head(2)])
NAMED = TEAM_DRAFT.rename({"category": "preference"})
EIGHT_TEAMS = TEAM_LOG.with_columns(team=pl.col("session").cast(pl.String))


@pytest.mark.parametrize(
    ("log", "options", "sentence"),
    [
        (TEAM_LOG, {"team": "ranker"}, "`log` has no column 'ranker'"),
        (TEAM_LOG, {"unit": "user"}, "`unit` must"),
        (EIGHT_TEAMS, {}, "'team' must name two rankers, got 8: '0', '1', '2'"),
        (TEAM_DRAFT, {"segments": "category"}, "'category' of `log` must have one value in each l"),
        (NO_SESSION, {}, "'session' of `log` must not be null, got null in 8 rows"),
        (REPEATED, {}, "must have each rank once in a list, got 2 rows of repeated ranks"),
        (NAMED, {"segments": "preference"}, "`segments` must"),
    ],
)
def test_arguments_and_lists_that_are_not_clear_are_refused(log, options, sentence):
    with pytest.raises((ValueError, pl.exceptions.ColumnNotFoundError), match=sentence):
        compare_interleaved(log, **options)
