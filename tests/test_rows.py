"""Which rows are of one ranking, however they stand."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from polars_graded import evaluate
from polars_graded._frames.rows import Groups

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


def as_found(frame, keys):
    """The numbers of the rows of each group that `Groups` finds, in their order."""
    groups = Groups.of(frame.with_row_index("row"), keys, ["row"])
    rows = groups.lists("row").flat.to_list()
    parts = [rows[a:b] for a, b in zip(groups.offsets, groups.offsets[1:], strict=False)]
    return dict(zip([str(row) for row in groups.keys.rows()], parts, strict=True))


@pytest.mark.parametrize("places", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("keys", KEYS.values(), ids=KEYS)
def test_rows_of_one_key_are_one_group_wherever_they_stand(keys, places):
    key = pl.Series("key", keys).gather(places)
    frame = pl.DataFrame([key, pl.Series("other", places) % 2])
    for names in (["key"], ["key", "other"]):
        assert as_found(frame, names) == groups_of(frame, names)


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
