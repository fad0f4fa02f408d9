"""Which rows are of one ranking, however they stand."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from polars_graded import evaluate
from polars_graded._frames.grouping import Groups
from polars_graded._frames.ties import with_ties_broken

KEYS = {
    "numbers": [3, 1, 2],
    "numbers and null": [3, None, 2],
    "texts": ["q10", "a text that is longer than twelve bytes", ""],
    "texts and null": ["b", None, "a"],
    "floats": [0.0, float("nan"), -1.5],
    "Booleans": [True, None, False],
    "days": [dt.date(2020, 1, 2), dt.date(2019, 1, 1), None],
    "durations": [dt.timedelta(1), dt.timedelta(0), dt.timedelta(2)],
    "Enum": pl.Series(["b", "a", "c"], dtype=pl.Enum(["c", "b", "a"])),
    "Categorical": pl.Series(["b", "a", "c"], dtype=pl.Categorical),
    "lists": [[1], [], [1, 2]],
}
PLACES = {
    "together": [0, 0, 0, 1, 2, 2],
    "in turn": [0, 1, 2, 0, 1, 2],
    "in runs": [0, 0, 1, 1, 0, 0, 2, 2, 1, 1],
    "of one row each": [2, 0, 1],
    "two by two": [1, 1, 0, 0, 2, 2],
}


def groups_of(frame, keys):
    """The numbers of the rows of each group by its keys, as a reader would find them."""
    found = {}
    for number, row in enumerate(frame.select(keys).rows()):
        found.setdefault(str(row), []).append(number)
    return found


def as_found(groups, numbers):
    lists = groups.lists(numbers).in_order().to_list()
    parts = [lists[a:b] for a, b in zip(groups.offsets, groups.offsets[1:], strict=False)]
    return dict(zip([str(row) for row in groups.keys.rows()], parts, strict=True))


@pytest.mark.parametrize("places", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("keys", KEYS.values(), ids=KEYS)
def test_rows_of_one_key_are_one_group_wherever_they_stand(keys, places):
    key = pl.Series("key", keys).gather(places)
    frame = pl.DataFrame([key, pl.Series("other", places) % 2])
    numbers = pl.int_range(len(places), eager=True)
    for names in (["key"], ["key", "other"]):
        assert as_found(Groups.of(frame, names), numbers) == groups_of(frame, names)


@pytest.mark.parametrize("places", PLACES.values(), ids=PLACES)
def test_keys_that_are_not_sorted_as_was_said_are_grouped_all_the_same(places):
    frame = pl.DataFrame({"key": places, "other": [place % 2 for place in places]})
    frame = frame.with_columns(pl.all().set_sorted())
    numbers = pl.int_range(len(places), eager=True)
    for names in (["key"], ["key", "other"]):
        assert as_found(Groups.of(frame, names), numbers) == groups_of(frame, names)


def test_zero_has_one_key_whatever_its_sign():
    frame = pl.DataFrame({"key": [0.0, -0.0, 1.0, -0.0]})
    assert sorted(np.diff(Groups.of(frame, ["key"]).offsets)) == [1, 3]


@pytest.mark.parametrize("keys", [["key"], ["key", "other"]])
def test_a_frame_without_rows_has_no_groups(keys):
    frame = pl.DataFrame(schema={"key": pl.Int64, "other": pl.String})
    groups = Groups.of(frame, keys)
    assert groups.n == 0
    assert groups.any(pl.Series([], dtype=pl.Boolean)).tolist() == []


def test_rows_that_stand_together_are_not_moved():
    frame = pl.DataFrame({"key": [2, 2, 2, 1, 1, 3], "other": [1] * 6})
    assert Groups.of(frame, ["key"]).rows is None
    assert Groups.of(frame, ["key", "other"]).rows is None
    assert Groups.of(frame[::2], ["key"]).rows is None


@pytest.mark.parametrize("n_runs", [4, 40])
def test_of_any_row_and_of_all(n_runs):
    rng = np.random.default_rng(n_runs)
    frame = pl.DataFrame({"key": np.repeat(rng.integers(0, 5, n_runs), rng.integers(1, 4, n_runs))})
    groups = Groups.of(frame, ["key"])
    for share in (0.0, 0.3, 1.0):
        mask = pl.Series("so", rng.random(frame.height) < share)
        mask = mask.set(pl.Series(rng.random(frame.height) < share / 4), None)
        expected = frame.with_columns(mask).group_by("key").agg(pl.col("so").any())
        found = groups.keys.with_columns(so=groups.any(mask))
        assert_frame_equal(found.sort("key"), expected.sort("key"))


def test_only_tied_rows_move_and_nulls_come_last():
    frame = pl.DataFrame(
        {
            "query": ["a", "a", "b", "a", "a", "b"],
            "score": [2.0, 1.0, 5.0, 2.0, 2.0, 5.0],
            "doc": ["y", "x", "z", None, "x", "z"],
        }
    )
    groups = Groups.of(frame, ["query"])
    scores = groups.lists(frame.get_column("score"))
    broken, numbers = with_ties_broken(groups, scores, [frame.get_column("doc")], [False])
    docs = as_found(broken, frame.get_column("doc"))
    assert docs == {"('a',)": ["x", "x", "y", None], "('b',)": ["z", "z"]}
    # The two of b are equal in all that they are ranked by; no others are.
    flat = numbers.in_order().to_list()
    of_b = list(groups.keys.get_column("query")).index("b")
    pair = flat[groups.offsets[of_b] : groups.offsets[of_b + 1]]
    assert len(set(pair)) == 1
    assert len(set(flat)) == 5


def test_strategies_are_measured_together_as_alone():
    """Ties of one strategy are broken in rows that all of them share."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "query": rng.integers(0, 9, 400),
            "grade": rng.integers(0, 4, 400),
            "doc": rng.permutation(400),
            **{
                name: rng.integers(0, levels, 400)
                for name, levels in zip("abc", (2, 400, 9), strict=True)
            },
        }
    )
    measures = ["ap", "ndcg", "mu_ap", "roc_auc", "ndcg(ties=average)", "precision@3"]
    for ties in ("order", "doc"):
        together = evaluate(frame, measures, by=["a", "b", "c"], ties=ties)
        alone = [evaluate(frame, measures, by=name, ties=ties) for name in "abc"]
        assert_frame_equal(together, pl.concat(alone), abs_tol=1e-12)
