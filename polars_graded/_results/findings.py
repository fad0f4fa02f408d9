"""Findings in tables of tests: what is significant, and by which tests, for charts and reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from polars_graded._results.measure_values import find_best_of_rows
from polars_graded._results.results import EFFECTIVE
from polars_graded._results.significance import CORRECTIONS, TESTS, CorrectionName, TestName
from polars_graded._sentences import format_count, name_interval
from polars_graded._sentences.verdicts import FindingCounts, Tested, write_untested


def is_significant(error_rate: float) -> pl.Expr:
    """Return an expression that is true for significant differences."""
    return (pl.col("p_corrected") <= error_rate).fill_null(value=False)


def name_tests(table: pl.DataFrame, *, alone: bool = False) -> str:
    """Return the names of the tests in a table, such as "paired t test, Holm"; "" without tests.

    With `alone`, the names of corrections are left out, since each pair is tested alone. If all
    results are those of a single query or cluster, the text is "only one query". If no difference
    behind ranks has a p value, the text is "not tested".
    """
    tests = _list_tests(table)
    if tests and (single := find_single_unit(table)) is not None:
        return f"only one {single}"
    if count_untested_pairs(table) and table["untested"].min() == table["strategy"].n_unique() - 1:
        return "not tested"
    # A test that needs no correction has only its own name.
    names = [
        TESTS[test].name
        if alone or TESTS[test].simultaneous
        else f"{TESTS[test].name}, {CORRECTIONS[correction].name}"
        for test, correction in tests
    ]
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
    """Return "p" if no p value of the table was corrected, else "corrected p".

    The only test of a measure is not corrected. If the table is a part of a larger one, its p value
    is.
    """
    tests = _list_tests(table)
    tested = table.drop_nulls("p_corrected")
    is_lone = tested["measure"].is_unique().all() and "p_value" in table.columns
    is_lone = is_lone and tested["p_value"].equals(tested["p_corrected"], check_names=False)
    is_uncorrected = {correction for _, correction in tests} == {"none"}
    return "p" if is_uncorrected or (tests and is_lone) else "corrected p"


def describe_agreement(table: pl.DataFrame) -> str:
    """Describe how the drawn intervals agree with the p values of the table."""
    if name_p(table) != "p":
        return "corrected as p is"
    is_joint = any(TESTS[test].simultaneous for test, _ in _list_tests(table))
    return "simultaneous, as p is" if is_joint else "not corrected, as p is"


def describe_rank_intervals(rank_table: pl.DataFrame, confidence: float | None) -> str:
    """Describe which intervals of ranks hold simultaneously, and what was not tested.

    `rank_table` is the result of `rank_strategies`. Pairs of a measure are corrected together, and
    Tukey's test covers the pairs of a segment.
    """
    single, tests = find_single_unit(rank_table), _list_tests(rank_table)
    if single is not None:
        return f"line: all ranks, since {write_untested(single)}"
    line = f"line: {name_interval(confidence)} of the rank"
    if not tests:
        return line
    n_untested = count_untested_pairs(rank_table)
    untested = f"; {format_count(n_untested, 'differences')} not tested" if n_untested else ""
    # Two strategies without segments are one pair, which needs no correction.
    by_measure = rank_table.group_by("measure").agg(
        pl.len().alias("rows"), pl.col("strategy").n_unique()
    )
    is_one_pair = by_measure["rows"].max() == 2  # noqa: PLR2004
    is_joint = all(
        is_one_pair or TESTS[test].simultaneous or CORRECTIONS[by].bounds_any_error
        for test, by in tests
    )
    if not is_joint:
        words = ", ".join(sorted({CORRECTIONS[by].words for _, by in tests}))
        line = f"line: ranks that the tests do not exclude{untested}"
        return f"{line}; {words}, so that the lines need not hold together"
    has_segments = (by_measure["rows"] > by_measure["strategy"]).any()
    families = ["measure"] if by_measure.height > 1 else []
    families += ["segment"] if has_segments and TESTS[tests[0][0]].simultaneous else []
    which = f"the intervals of each {' and '.join(families)}" if families else "all intervals"
    return f"{line}{untested}; {which} are simultaneous"


def count_untested_pairs(rank_table: pl.DataFrame) -> int:
    """Return the number of differences without a p value behind the ranks."""
    return int(rank_table["untested"].sum()) // 2 if "untested" in rank_table.columns else 0


def describe_test(
    test: TestName,
    correction: CorrectionName,
    baseline_index: int | None,
    n_pairs: int,
    single: str | None = None,
) -> Tested:
    """Describe in words the test that is used for all measures.

    `n_pairs` is the number of pairs of each measure. `single` is the unit of results that cannot be
    tested, since there is only one: "query".
    """
    is_simultaneous, has_several = TESTS[test].simultaneous, n_pairs > 1
    words = "none" if is_simultaneous or n_pairs == 0 else CORRECTIONS[correction].words
    if n_pairs == 1 and correction != "none":
        words = "none, since there is one pair"
    return Tested(
        test_words=TESTS[test].words,
        correction_words=words,
        is_corrected=correction != "none" and has_several,
        is_joint=has_several and (is_simultaneous or CORRECTIONS[correction].is_joint),
        baseline=baseline_index,
        n_pairs=n_pairs,
        single=single,
    )


def count_directions(comparison: pl.DataFrame, error_rate: float) -> FindingCounts:
    """Count the significant differences by direction, and all others by their kind."""
    better = worse = 0
    bests = set()
    for rows in comparison.partition_by("measure", maintain_order=True):
        best = find_best_of_rows(rows)
        bests.add(best)
        findings = rows.filter(is_significant(error_rate))["difference"]
        up, down = int((findings > 0).sum()), int((findings < 0).sum())
        better, worse = (
            (better + down, worse + up) if best == "lowest" else (better + up, worse + down)
        )
    equal = 0
    if "ties" in comparison.columns:
        is_equal = (pl.col("ties") == pl.col("queries")) & pl.col("p_corrected").is_not_null()
        equal = comparison.filter(is_equal).height
    sides = ("above", "below") if "none" in bests else ("better than", "worse than")
    untested = comparison["p_corrected"].null_count()
    undecided = comparison.height - better - worse - equal - untested
    # Queries of weight 0 are left out, and may differ.
    query = "weighted query" if EFFECTIVE in comparison.columns else "query"
    return FindingCounts(better, worse, undecided, equal, untested, sides, query)


def find_undefeated(n_strategies: int, pairs: Iterable[Mapping[str, Any]], best: str) -> list[int]:
    """Return the indices of strategies without a significant defeat."""
    # A strategy is defeated if a significant difference favours the other strategy of a pair.
    defeated = {
        pair["baseline"] if (pair["difference"] > 0) == (best == "highest") else pair["strategy"]
        for pair in pairs
        if pair["significant"]
    }
    return [index for index in range(n_strategies) if index not in defeated]
