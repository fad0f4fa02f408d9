"""Decide which differences count as findings in tables and charts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl

from polars_graded._measuring.kernels.ragged import Mask
from polars_graded._results.pairs import Pairs
from polars_graded._results.per_query import find_direction_of_rows
from polars_graded._results.significance import (
    CORRECTIONS,
    RANK_COLUMN,
    TESTS,
    CorrectionName,
    Outcome,
    TestName,
    has_joint_intervals,
)
from polars_graded._sentences.verdicts import FindingCounts, Tested


def is_significant(columns: Collection[str], level: float) -> pl.Expr:
    """Return an expression that is true for significant differences.

    A test of ranks may favour one strategy although the other one has the better mean. Such a
    difference does not count as significant, since the test does not show which mean is better.
    """
    significant = pl.col("p_corrected") <= level
    if RANK_COLUMN in columns:
        significant &= pl.col(RANK_COLUMN).sign() == pl.col("difference").sign()
    return significant.fill_null(value=False)


def find_agreeing_pairs(pairs: Pairs, outcome: Outcome) -> Mask:
    """Return the mask of pairs whose test and means favour the same strategy.

    For a test of means, these are all pairs.
    """
    if outcome.rank_biserial is None:
        return np.ones(len(pairs), dtype=bool)
    has_same_sign: Mask = np.sign(outcome.rank_biserial) == np.sign(pairs.statistics.mean)
    return has_same_sign


def name_test(test: TestName, correction: CorrectionName) -> str:
    """Return the name of a test and its correction for a title.

    For example "paired t test, Holm". A test that needs no correction has only its own name.
    """
    name = TESTS[test].name
    return name if TESTS[test].simultaneous else f"{name}, {CORRECTIONS[correction].name}"


def name_tests(table: pl.DataFrame, *, alone: bool = False) -> str:
    """Return the names of the tests in a table, or "" if it has none.

    With `alone`, the names of corrections are left out, since each pair is tested alone.
    """
    if not {"test", "correction"} <= {*table.columns}:
        return ""
    tests = table.select("test", "correction").drop_nulls().unique(maintain_order=True)
    pairs = [row for row in tests.rows() if row[0] in TESTS and row[1] in CORRECTIONS]
    names = [TESTS[test].name if alone else name_test(test, by) for test, by in pairs]
    return "; ".join(dict.fromkeys(names))


def describe_test(
    test: TestName, correction: CorrectionName, baseline: int | None, pairs: int
) -> Tested:
    """Describe in words the test that is used for all measures.

    `baseline` is the index of the baseline, and `pairs` the number of pairs of each measure.
    """
    return Tested(
        name=TESTS[test].name if pairs == 1 else name_test(test, correction),
        test=TESTS[test].words,
        correction="none" if TESTS[test].simultaneous else CORRECTIONS[correction].words,
        is_corrected=correction != "none",
        is_joint=has_joint_intervals(test, correction),
        of_ranks=TESTS[test].of_ranks,
        baseline=baseline,
        pairs=pairs,
    )


def count_directions(pairs: pl.DataFrame, level: float) -> FindingCounts:
    """Count the significant differences by direction, and all others."""
    sign = pl.col("difference").sign()
    better = worse = 0
    bests = set()
    for rows in pairs.partition_by("measure", maintain_order=True):
        best = find_direction_of_rows(rows)
        bests.add(best)
        signs = rows.filter(is_significant(rows.columns, level)).select(sign).to_series()
        up, down = int((signs > 0).sum()), int((signs < 0).sum())
        better, worse = (
            (better + down, worse + up) if best == "lowest" else (better + up, worse + down)
        )
    sides = ("above", "below") if "none" in bests else ("better than", "worse than")
    return FindingCounts(better, worse, pairs.height - better - worse, sides)


def find_undefeated(n: int, pairs: Iterable[Mapping[str, Any]], best: str) -> list[int]:
    """Return the indices of strategies without a significant defeat."""
    # A strategy is defeated if a significant difference favours the other strategy of a pair.
    defeated = {
        pair["baseline"] if (pair["difference"] > 0) == (best == "highest") else pair["strategy"]
        for pair in pairs
        if pair["significant"]
    }
    return [place for place in range(n) if place not in defeated]
