"""Which differences count as found, and by which test: the same for tables, charts and pages."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import polars as pl

from polars_graded._measuring.kernels.ragged import Mask
from polars_graded._results.pairs import Pairs
from polars_graded._results.significance import (
    CORRECTIONS,
    RANKS,
    TESTS,
    CorrectionName,
    Outcome,
    TestName,
)


def is_found(columns: Collection[str], level: float) -> pl.Expr:
    """Return whether p is at most the level and its direction is that of the mean difference.

    A test of ranks may find a difference whose mean lies on the other side: no statement about
    which mean is higher follows from it.
    """
    found = pl.col("p_corrected") <= level
    if RANKS in columns:
        found &= pl.col(RANKS).sign() == pl.col("difference").sign()
    return found.fill_null(value=False)


def agrees_with_means(pairs: Pairs, outcome: Outcome) -> Mask:
    """Return whether what a test finds of each pair has the direction of the mean difference."""
    if outcome.rank_biserial is None:
        return np.ones(len(pairs), dtype=bool)
    same: Mask = np.sign(outcome.rank_biserial) == np.sign(pairs.statistics.mean)
    return same


def name_of_test(test: TestName, correction: CorrectionName) -> str:
    """Name a test and its correction, as a title does: "paired t test, Holm"."""
    name = TESTS[test].name
    return name if TESTS[test].simultaneous else f"{name}, {CORRECTIONS[correction].name}"


def names_of_tests(table: pl.DataFrame) -> str:
    """Name the tests and corrections that rows of comparisons are of; nothing if unknown."""
    if not {"test", "correction"} <= {*table.columns}:
        return ""
    every = table.select("test", "correction").drop_nulls().unique(maintain_order=True)
    known = [row for row in every.rows() if row[0] in TESTS and row[1] in CORRECTIONS]
    return "; ".join(name_of_test(*row) for row in known)
