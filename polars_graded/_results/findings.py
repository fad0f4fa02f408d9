"""Decide which differences count as findings in tables and charts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from polars_graded._results.measure_values import find_best_of_rows
from polars_graded._results.significance import (
    CORRECTIONS,
    TESTS,
    CorrectionName,
    TestName,
    has_joint_intervals,
)
from polars_graded._sentences.verdicts import FindingCounts, RankCoverage, Tested, write_untested


def is_significant(level: float) -> pl.Expr:
    """Return an expression that is true for significant differences."""
    return (pl.col("p_corrected") <= level).fill_null(value=False)


def name_test(test: TestName, correction: CorrectionName) -> str:
    """Return the name of a test and its correction for a title.

    For example "paired t test, Holm". A test that needs no correction has only its own name.
    """
    name = TESTS[test].name
    return name if TESTS[test].simultaneous else f"{name}, {CORRECTIONS[correction].name}"


def name_tests(table: pl.DataFrame, *, alone: bool = False) -> str:
    """Return the names of the tests in a table, or "" if it has none.

    With `alone`, the names of corrections are left out, since each pair is tested alone. If all
    results are those of a single query or cluster, the text states that it cannot be tested.
    """
    pairs = _list_tests(table)
    if pairs and (single := find_single_unit(table)) is not None:
        return write_untested(single)
    names = [TESTS[test].name if alone else name_test(test, by) for test, by in pairs]
    return "; ".join(dict.fromkeys(names))


def _list_tests(table: pl.DataFrame) -> list[tuple[TestName, CorrectionName]]:
    """Return the known tests in a table, each with its correction."""
    if not {"test", "correction"} <= {*table.columns}:
        return []
    tests = table.select("test", "correction").drop_nulls().unique(maintain_order=True)
    return [row for row in tests.rows() if row[0] in TESTS and row[1] in CORRECTIONS]


def find_single_unit(table: pl.DataFrame) -> str | None:
    """Return "query" or "cluster" if no row has more than one of them, else None."""
    for column, unit in (("clusters", "cluster"), ("queries", "query")):
        if column in table.columns and table[column].max() == 1:
            return unit
    return None


def name_p(table: pl.DataFrame) -> str:
    """Return "p" if the table states that no p value was corrected, else "corrected p"."""
    corrections = {correction for _, correction in _list_tests(table)}
    return "p" if corrections == {"none"} else "corrected p"


def describe_agreement(table: pl.DataFrame) -> str:
    """Describe how the drawn intervals agree with the p values of the table."""
    if name_p(table) != "p":
        return "corrected as p is"
    is_joint = any(TESTS[test].simultaneous for test, _ in _list_tests(table))
    return "simultaneous, as p is" if is_joint else "not corrected, as p is"


def find_rank_coverage(ranks: pl.DataFrame) -> RankCoverage:
    """Find which intervals of ranks hold simultaneously.

    `ranks` has one row per strategy, measure and segment, as `rank_strategies` returns it. Pairs of
    a measure are corrected together, and Tukey's test covers the pairs of a segment.
    """
    single, tests = find_single_unit(ranks), _list_tests(ranks)
    if single is not None or not tests:
        return RankCoverage(single, None, None)
    # Two strategies without segments are one pair, which needs no correction.
    by_measure = ranks.group_by("measure").agg(
        pl.len().alias("rows"), pl.col("strategy").n_unique()
    )
    is_one_pair = by_measure["rows"].max() == 2  # noqa: PLR2004
    is_joint = all(
        is_one_pair or TESTS[test].simultaneous or CORRECTIONS[by].bounds_any_error
        for test, by in tests
    )
    if not is_joint:
        words = {CORRECTIONS[by].words for _, by in tests}
        return RankCoverage(None, None, ", ".join(sorted(words)))
    has_segments = (by_measure["rows"] > by_measure["strategy"]).any()
    families = ["measure"] if by_measure.height > 1 else []
    families += ["segment"] if has_segments and TESTS[tests[0][0]].simultaneous else []
    return RankCoverage(None, families, None)


def describe_test(
    test: TestName,
    correction: CorrectionName,
    baseline: int | None,
    pairs: int,
    single: str | None = None,
) -> Tested:
    """Describe in words the test that is used for all measures.

    `baseline` is the index of the baseline, and `pairs` the number of pairs of each measure.
    `single` is the unit of results that cannot be tested, since there is only one: "query".
    """
    return Tested(
        test=TESTS[test].words,
        correction="none" if TESTS[test].simultaneous else CORRECTIONS[correction].words,
        is_corrected=correction != "none",
        is_joint=has_joint_intervals(test, correction),
        baseline=baseline,
        pairs=pairs,
        single=single,
    )


def count_directions(pairs: pl.DataFrame, level: float) -> FindingCounts:
    """Count the significant differences by direction, and all others."""
    sign = pl.col("difference").sign()
    better = worse = 0
    bests = set()
    for rows in pairs.partition_by("measure", maintain_order=True):
        best = find_best_of_rows(rows)
        bests.add(best)
        signs = rows.filter(is_significant(level)).select(sign).to_series()
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
