"""Gate: verdicts on whether a strategy is worse than a baseline."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from polars_graded._checks import (
    check_choice,
    check_column_name,
    check_column_names,
    check_columns,
    check_frame,
    check_number,
    first_few,
    nearest,
)
from polars_graded._frames.arguments import Columns
from polars_graded._frames.strategies import find_index
from polars_graded._measuring.kernels.ragged import Floats, Integers
from polars_graded._measuring.keywords import checks_keywords
from polars_graded._measuring.names import Measure
from polars_graded._results.best_values import (
    ROUNDING,
    MeasureColumns,
    check_has_best,
    list_declared_measures,
)
from polars_graded._results.careful_intervals import (
    MIN_CHANGED_QUERIES,
    compute_careful_intervals,
    compute_skewness,
    count_deciding_queries,
)
from polars_graded._results.comparability import (
    Change,
    check_queries,
    check_same_conditions,
    unify_keys,
)
from polars_graded._results.grid import Grid, Missing, Results, order_strategies
from polars_graded._results.means import divide
from polars_graded._results.pairs import Pairs, name_pairs
from polars_graded._results.result_files import cast_measures, read_results, read_settings
from polars_graded._results.result_sets import (
    ResultSet,
    check_one_grader,
    open_results,
    split_by_grader,
)
from polars_graded._results.significance import TESTS, Options, TestName
from polars_graded._results.tables import EFFECTIVE, make_measure_table
from polars_graded._results.units import check_independence
from polars_graded._sentences.gates import (
    BEYOND,
    EFFECTIVE_CHANGED,
    UNCHANGED,
    WITHIN,
    write_failure,
    write_sentence,
)

__all__ = ["assert_no_worse", "gate"]

GATE_TESTS: tuple[TestName, ...] = ("t", "permutation", "bootstrap")
"""Tests that `gate` accepts. Each has an interval of the mean difference that agrees with its p
value."""

FAILING_VERDICTS = ("worse", BEYOND, "undecided")
"""Verdicts that do not pass, the worst first."""

PASSING_VERDICTS = ("better", UNCHANGED, "no worse", WITHIN)
OPEN_VERDICTS = (BEYOND, "undecided")
"""Verdicts that more queries could change."""

DEFAULT_MARGIN = 0.01
"""Default margin: the largest accepted loss of a mean, in the unit of the measure."""


@checks_keywords
def gate(
    per_query: pl.DataFrame | pl.LazyFrame,
    *measures: MeasureColumns,
    baseline: Any,
    margin: float | Mapping[str, float] = DEFAULT_MARGIN,
    segments: str | Sequence[str] | None = None,
    test: TestName = "t",
    confidence: float = 0.95,
    seed: int = 0,
    resamples: int = 10_000,
    judgments: Change = "same",
    formulas: Change = "same",
    scale: Change = "same",
    cluster: Columns | None = None,
    weights: str | None = None,
    query: Columns | None = None,
    strategy: str | None = None,
    missing: Missing = "error",
    grader: str | None = None,
) -> pl.DataFrame:
    r"""Decide for each strategy whether it is better, no worse or worse.

    Each strategy is compared with the baseline. The verdict depends on the interval of the mean
    difference, strategy minus baseline, and on the margin :math:`\delta` by which a strategy may be
    worse. These verdicts pass: **better** (the interval is above 0), **unchanged** (no query
    changed), **no worse** (it is above :math:`-\delta` and includes 0), and **worse, by less than
    the margin** (it is between). These do not: **worse, perhaps by more than the margin**,
    **worse** (below :math:`-\delta`) and **undecided**.

    If the lowest value of a measure is best, all signs are reversed. All verdicts of a call are
    right simultaneously with the probability `confidence` (Bonferroni), except if rare queries
    change much more than the others. The page "Gate a change" of the documentation has all rules.

    Parameters
    ----------
    per_query, *measures, query, strategy, missing, grader, segments
        As for `compare`, but if there are several graders, `grader` is required.
    baseline
        The strategy with which all others are compared; or earlier results, as a frame or the
        `Path` of a Parquet or CSV file that `write_results` wrote. If they contain several
        strategies, each strategy is compared with the older strategy of the same name.
    margin
        The largest loss of the mean that you accept, at least 0 and less than the range of the
        measure; or a mapping with the margin of each measure: `{"ap": 0.01, "ndcg@10": 0.02}`.
    test
        The test of the intervals: `"t"`, `"permutation"` or `"bootstrap"`, as in `compare`.
    confidence
        Probability that all verdicts are right simultaneously, between 0 and 1.
    seed, resamples
        As for `compare`.
    cluster
        The columns of clusters, as for `compare`. If several columns identify a query and none does
        so alone, pass the column of independent units or all columns of `query`.
    weights
        The column of weights, as for `summarise`. If the baseline is another frame or file, the
        weights of `per_query` count for both.
    judgments, formulas, scale
        With `"changed"`, the baseline may have other judgments or columns that measures need, other
        formulas under the same name, or another scale or order of ties. Differences are detected if
        `evaluate(..., fingerprint=...)` made the results.

    Returns
    -------
    DataFrame
        One row per measure, segment and strategy, in this order. Columns are Float64 unless stated:

        - `measure` (String), the segments, the strategy (under the name of its column), `baseline`;
        - numbers of queries (UInt32): `queries` (compared), `strategy_queries` and
          `baseline_queries` (with a value), `lost` (with a value on one side), `undefined` (on
          neither), `changed` (with a difference);
        - `best` (String), `baseline_mean`, `mean`;
        - `more_queries` (UInt64): the number of further queries that would decide an undecided
          verdict in 80 % of cases if the difference stayed the same. Null if it is unknown, or more
          than 100 times the given number, and with `weights`;
        - with `cluster`: `clusters` and `changed_clusters` (UInt32), and `more_clusters` in place
          of `more_queries`;
        - with `weights`: `effective_queries` and `effective_changed`, the effective numbers of
          queries and of queries with a difference;
        - `confidence`, and `level`, the error rate of this interval alone;
        - `margin`, `difference` (strategy minus baseline), and its interval, `low` to `high`;
        - `verdict` (String), `passes` (Boolean), `notes` (String) on what was allowed or not
          checked, and `sentence` (String), which states the row in words.

    Raises
    ------
    ValueError
        In the same cases as for `compare`. If the two results differ in queries, judgments,
        formulas or scale, and no argument allows this.

    See Also
    --------
    assert_no_worse : Raise an error in a test if a verdict does not pass.

    References
    ----------
    Piaggio, Elbourne, Pocock, Evans, Altman: Reporting of noninferiority and equivalence randomized
    trials, 2012.

    Examples
    --------
    >>> per_query = pl.DataFrame(
    ...     {
    ...         "strategy": ["main"] * 40 + ["new"] * 40,
    ...         "query": [*range(40)] * 2,
    ...         "ap": [0.5] * 40 + [0.48, 0.52, 0.47, 0.51] * 10,
    ...     }
    ... )
    >>> verdicts = gate(per_query, "ap", baseline="main", margin=0.05)
    >>> verdicts.select("strategy", "difference", "low", "high", "verdict")
    shape: (1, 5)
    ┌──────────┬────────────┬───────────┬──────────┬──────────┐
    │ strategy ┆ difference ┆ low       ┆ high     ┆ verdict  │
    │ ---      ┆ ---        ┆ ---       ┆ ---      ┆ ---      │
    │ str      ┆ f64        ┆ f64       ┆ f64      ┆ str      │
    ╞══════════╪════════════╪═══════════╪══════════╪══════════╡
    │ new      ┆ -0.005     ┆ -0.011677 ┆ 0.001677 ┆ no worse │
    └──────────┴────────────┴───────────┴──────────┴──────────┘
    """
    options = Options(test, "none", confidence=confidence, seed=seed, resamples=resamples)
    changes: dict[str, str] = {"judgments": judgments, "formulas": formulas, "scale": scale}
    changes["missing"] = missing
    results = open_results(
        per_query,
        measures,
        query=query,
        strategy=strategy,
        segments=segments,
        cluster=cluster,
        weights=weights,
        missing=missing,
        grader=grader,
    )
    return decide_verdicts(
        pair_with_baseline(results.only.with_best_values(), baseline, changes), margin, options
    )


def decide_verdicts(
    matched: Matched, margin: float | Mapping[str, float], options: Options
) -> pl.DataFrame:
    """Return the verdicts of `gate` on strategies and their baselines."""
    check_choice("test", options.test, GATE_TESTS)
    grid = matched.grid
    # Bonferroni: all verdicts are right together at the requested confidence.
    n_verdicts = len(matched.a) * len(grid.segments) * len(grid.measures)
    level = options.level / n_verdicts
    _check_resamples(options, level, n_verdicts)
    tables = []
    for measure in grid.measures:
        check_has_best(measure, grid.best[measure], "decide which strategy is worse")
        values = grid.get_given_values(measure)
        maximum = find_maximum(measure, matched.formulas.get(measure), values)
        inputs = VerdictInputs(_check_margin(measure, margin, maximum), options, level, maximum)
        segments = zip(grid.split_segments(measure), grid.segments, strict=True)
        for (segment, results), (_, columns) in segments:
            pairs = Pairs(results, matched.a, matched.b)
            with_missing = replace(results, queries=grid.queries, values=values)
            with_missing = replace(with_missing, clusters=grid.clusters, weights=grid.weights)
            with_missing = with_missing.select(columns)
            verdicts = _compute_verdicts(pairs, with_missing, inputs)
            dtypes = dict.fromkeys({"more_queries", "more_clusters"} & {*verdicts}, pl.UInt64())
            tables.append(make_measure_table(measure, segment, matched.names, verdicts, **dtypes))
    table = pl.concat(tables).with_columns(
        pl.col("verdict").is_in(PASSING_VERDICTS).alias("passes"),
        pl.lit(matched.notes).alias("notes"),
    )
    strategy = matched.names[0].name
    sentences = [
        write_sentence(row, strategy, grid.segment_columns, options.confidence, MIN_CHANGED_QUERIES)
        for row in table.rows(named=True)
    ]
    return table.with_columns(pl.Series("sentence", sentences, dtype=pl.String))


@partial(checks_keywords, forwarded_to=gate)
def assert_no_worse(
    per_query: Any,
    *measures: MeasureColumns,
    baseline: Any,
    margin: float | Mapping[str, float] = DEFAULT_MARGIN,
    undecided: bool = False,
    **options: Any,
) -> None:
    """Raise an error if a strategy may be worse by more than a margin.

    Call this function in a test, for example with pytest.

    Parameters
    ----------
    per_query, *measures, baseline, margin, **options
        As for `gate`.
    undecided
        If True, the verdict "undecided" passes too. The verdict "worse, perhaps by more than
        the margin" still fails.

    Raises
    ------
    AssertionError
        If a verdict does not pass. The message has a sentence for each such verdict, in lines that
        fit a terminal.

    Examples
    --------
    >>> per_query = pl.DataFrame(
    ...     {"strategy": ["main"] * 40 + ["new"] * 40, "query": [*range(40)] * 2,
    ...      "ap": [0.5] * 40 + [0.3, 0.4] * 20}
    ... )
    >>> assert_no_worse(per_query, "ap", baseline="main", margin=0.05)
    Traceback (most recent call last):
    AssertionError: ap: new is worse than main by 0.15 (-0.166 to -0.134), beyond the margin ...
    """
    __tracebackhide__ = True
    verdicts = gate(per_query, *measures, baseline=baseline, margin=margin, **options)
    bad = verdicts.filter(pl.col("verdict").is_in(FAILING_VERDICTS[: 2 if undecided else 3]))
    if bad.height:
        raise AssertionError(write_failure(bad))


# Strategies and their baselines


class Matched(NamedTuple):
    """Pairs of a strategy and its baseline, with the grid of all values."""

    grid: Grid
    a: Integers
    """Indices of the strategies in the grid."""
    b: Integers
    """Indices of their baselines."""
    names: Sequence[pl.Series]
    """Names of the strategies, and names of their baselines, as in the given results."""
    formulas: Mapping[str, str]
    """Known formulas by measure column. The caller passed them, or the results record them."""
    notes: str
    """Differences that an argument allowed, and conditions that could not be checked."""


def pair_with_baseline(results: ResultSet, baseline: Any, changes: Mapping[str, str]) -> Matched:
    """Return each strategy with its baseline.

    The baseline is another strategy of the same results, or comes from other results. Raise if
    queries probably depend on each other and `cluster` is not passed.
    """
    rows = results.rows.lazy().collect()
    results = replace(results, rows=rows)
    if _are_results(baseline):
        return _pair_with_results(results, rows, baseline, changes)
    grid = results.read_grid("refuse")
    baseline_index = find_index(grid.strategies, baseline)
    a = np.array([place for place in range(len(grid.strategies)) if place != baseline_index])
    if not len(a):
        msg = f"there must be a strategy to compare with the baseline {baseline!r}, got none"
        raise ValueError(msg)
    declared = list_declared_measures(results.measures)
    formulas = {name: declared.get(name) for name in grid.measures}
    is_baseline = pl.col(results.keys.strategy) == pl.lit(baseline)
    both = rows.filter(~is_baseline), rows.filter(is_baseline)
    comparable = check_same_conditions(
        *both, results.keys.identity, formulas, changes, is_other_file=False
    )
    b = np.full(len(a), baseline_index)
    names = name_pairs(grid.strategies, a, b)
    return Matched(grid, a, b, names, _collect_formulas(rows, formulas), comparable.notes)


def _collect_formulas(rows: pl.DataFrame, declared: Mapping[str, str | None]) -> dict[str, str]:
    """Return the known formulas by column, from the caller or the results."""
    formulas = {name: text for name, text in declared.items() if text and Measure.parsed(text)}
    for settings in read_settings(rows):
        formulas |= {
            name: text for name, text in settings["measures"].items() if name not in formulas
        }
    return formulas


def _pair_with_results(
    results: ResultSet, rows: pl.DataFrame, baseline: Any, changes: Mapping[str, str]
) -> Matched:
    """Return each strategy with its baseline in older results.

    If the older results contain one strategy, all new strategies are compared with this strategy.
    Otherwise each new strategy is compared with the older strategy of the same name. `rows` are the
    collected rows of the new results.
    """
    keys = results.keys
    name, queries, identity = keys.strategy, keys.queries, keys.identity
    check_independence(rows, keys, keys.segments, decides=True)
    weight_columns = [] if keys.weights is None else [check_column_name("weights", keys.weights)]
    measure_columns, _ = results.find_measures()
    clusters = [] if keys.cluster is None else check_column_names("cluster", keys.cluster)
    check_columns("per_query", clusters, rows.schema, argument="cluster")
    check_columns("per_query", weight_columns, rows.schema, argument="weights")
    key_columns = [*dict.fromkeys([name, *identity, *clusters])]
    columns = [*dict.fromkeys([*key_columns, *weight_columns, *measure_columns])]
    older = _add_clusters(_read_baseline(baseline), rows, identity, clusters)
    rows, older = _unify_weights(rows, older, identity, weight_columns)
    older = cast_measures(
        older,
        measure_columns,
        key_columns,
    )
    graders = [*split_by_grader(older, keys, measure_columns)]
    check_one_grader(
        "baseline", graders, ".filter(grader={!r}) of the frame selects the results of one grader"
    )
    check_columns("baseline", columns, older.schema)
    strategies = order_strategies(rows[name])
    rows, older = unify_keys(rows, older, key_columns)
    cast_strategies, older_strategies = (
        strategies.cast(rows.schema[name]),
        order_strategies(older[name]),
    )
    _check_same_names(cast_strategies, older_strategies)
    places = [
        0 if len(older_strategies) == 1 else find_index(older_strategies, each)
        for each in cast_strategies
    ]
    baselines = older_strategies[places].alias("baseline")
    older = older.filter(pl.col(name).is_in(baselines.implode()))
    declared = list_declared_measures(results.measures)
    formulas = {name: declared.get(name) for name in measure_columns}
    comparable = check_same_conditions(rows, older, identity, formulas, changes, is_other_file=True)
    check_queries(comparable, rows, older, queries)
    names_of_new, suffix = cast_strategies.cast(pl.String), BASELINE_SUFFIX
    # Lengthen the suffix until every baseline with the suffix differs from all new strategies.
    while names_of_new.is_in((baselines.cast(pl.String) + suffix).implode()).any():
        suffix += BASELINE_SUFFIX
    text = pl.col(name).cast(pl.String)
    both = [
        rows.select(columns).with_columns(text),
        older.select(columns).with_columns(text + suffix),
    ]
    together = pl.concat(both, how="vertical_relaxed")
    grid = replace(results, rows=together).read_grid("ignore")
    a, b = (
        np.array([find_index(grid.strategies, each) for each in names])
        for names in (names_of_new, baselines.cast(pl.String) + suffix)
    )
    names = [strategies, baselines]
    return Matched(
        grid,
        a,
        b,
        names,
        _collect_formulas(older, formulas) | _collect_formulas(rows, formulas),
        comparable.notes,
    )


def _add_clusters(
    older: pl.DataFrame, rows: pl.DataFrame, identity: Sequence[str], clusters: Sequence[str]
) -> pl.DataFrame:
    """Return older results with the columns of clusters that only the new results have."""
    new = [name for name in clusters if name not in older.columns]
    if not new or not {*identity} <= {*older.columns}:
        return older
    by_query, older = unify_keys(rows.select(*identity, *new).unique(), older, identity)
    return older.join(by_query, on=identity, how="left", nulls_equal=True, maintain_order="left")


def _unify_weights(
    rows: pl.DataFrame, older: pl.DataFrame, identity: Sequence[str], weights: Sequence[str]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return both results with the weights of the new results as Float64.

    A query that only the older results have keeps its older weight.
    """
    if not weights or not {*identity} <= {*older.columns}:
        return rows, older
    [weight], number = weights, pl.col(weights).cast(pl.Float64)
    rows = rows.with_columns(number)
    by_query, unified = unify_keys(rows.select(*identity, weight).unique(), older, identity)
    by_query = by_query.rename({weight: "new weight"})
    joined = unified.join(
        by_query, on=identity, how="left", nulls_equal=True, maintain_order="left"
    )
    given = [weight] if weight in older.columns else []
    new = pl.coalesce("new weight", *given).cast(pl.Float64).alias(weight)
    return rows, joined.with_columns(new).drop("new weight")


BASELINE_SUFFIX = " of the baseline"
"""Suffix that distinguishes older strategies from new strategies with the same names."""


def _check_same_names(strategies: pl.Series, older: pl.Series) -> None:
    """Raise if a new strategy lacks an older strategy of the same name.

    A single older strategy may have any name, because all new strategies are compared with it.
    """
    unmatched = [each for each in strategies if each not in older.to_list()]
    if len(older) > 1 and unmatched:
        msg = (
            "`baseline` must have one strategy, or all compared strategies under the same names, "
            f"got {first_few(older.to_list())}, but not {first_few(unmatched)}\n\n"
            f"Hint: baseline=older.filter(pl.col({older.name!r}) == {older[0]!r}) has one strategy"
        )
        raise ValueError(msg)


def _are_results(baseline: Any) -> bool:
    """Return whether a baseline is a file or a frame, and not a name."""
    return isinstance(baseline, Path) or hasattr(baseline, "columns")


def _read_baseline(baseline: Any) -> pl.DataFrame:
    """Return the results of the baseline, read from its file or frame."""
    if isinstance(baseline, Path):
        return read_results(baseline)
    return check_frame("baseline", baseline).lazy().collect()


# Verdicts


def _check_resamples(options: Options, level: float, n_verdicts: int) -> None:
    """Raise if no number of queries could lead to a verdict, since there are few resamples."""
    many_queries = 10**6
    if TESTS[options.test].compute_min_p(many_queries, 2, options.resamples) > level:
        msg = (
            f"`resamples` must be at least {math.ceil(1 / level)} for {n_verdicts} verdicts at a "
            f"confidence of {options.confidence}, got {options.resamples}\n\n"
            "Hint: test='t' needs no resamples"
        )
        raise ValueError(msg)


def _hint_at_key(measure: str, margin: Mapping[str, float]) -> str:
    """Return a hint with the key of a mapping that probably means the measure, or ""."""
    key = nearest(measure, margin)
    return "" if key is None else f"\n\nHint: did you mean {measure!r} by {key!r}?"


def _check_margin(
    measure: str, margin: float | Mapping[str, float], maximum: float | None
) -> float:
    """Return the margin of a measure; raise unless it is below the range."""
    if isinstance(margin, Mapping):
        if measure not in margin:
            msg = (
                f"`margin` must have a margin for {measure!r}, got margins for {', '.join(margin)}"
                f"{_hint_at_key(measure, margin)}"
            )
            raise ValueError(msg)
        margin = margin[measure]
    margin = check_number("margin", margin, at_least=0)
    if maximum is not None and margin >= maximum:
        msg = (
            f"`margin` must be less than {maximum:g}, the range of {measure!r}, got {margin:g}: "
            "no change could exceed it"
        )
        raise ValueError(msg)
    return margin


def find_maximum(measure: str, formula: str | None, values: Floats) -> float | None:
    """Return 1 if a measure ranges from 0 to 1, and None otherwise.

    The result is also None if the range of the measure is unknown, or if any of `values` is below 0
    or above 1.
    """
    parsed = Measure.parsed(formula or measure)
    if parsed is None or parsed.is_curve or not parsed.definition.is_bounded:
        return None
    numbers = values[~np.isnan(values)]
    return 1.0 if ((numbers >= 0) & (numbers <= 1)).all() else None


class VerdictInputs(NamedTuple):
    """Margin, options, level and maximum of the verdicts on a measure."""

    margin: float
    options: Options
    level: float
    """Error rate of each interval."""
    maximum: float | None
    """Largest possible value of the measure; None if unknown."""


def _compute_verdicts(pairs: Pairs, with_missing: Results, inputs: VerdictInputs) -> dict[str, Any]:
    """Return statistics and verdicts of pairs of strategy and baseline."""
    mean, _, higher, lower = pairs.statistics
    low, high, changed, verdict = decide_pairs(pairs, inputs)
    has_value = ~np.isnan(with_missing.values)
    lost = (has_value[pairs.a] != has_value[pairs.b]).sum(axis=1)
    # If one side of a pair lacks a query, the missing value is replaced by the least favourable
    # value. The pair passes only if it also passes with these values.
    is_overturned = np.zeros(len(pairs), bool)
    for place in np.flatnonzero((lost > 0) & np.isin(verdict, PASSING_VERDICTS)).tolist():
        *_, [verdict_with_worst] = decide_pairs(
            _fill_with_worst(pairs, with_missing, place, inputs.maximum), inputs
        )
        is_overturned[place] = verdict_with_worst not in PASSING_VERDICTS
    verdict[is_overturned] = "undecided"
    distance = np.abs(mean * pairs.results.sign + inputs.margin)
    means, baseline_means = pairs.means
    is_open_verdict = np.isin(verdict, OPEN_VERDICTS) & ~is_overturned
    skewness_of_pairs = (
        _compute_adverse_skewness(pairs, inputs) if pairs.n else np.zeros(len(pairs))
    )
    # Further queries may have other weights, and the given ones do not show how precise they are.
    is_open_verdict &= pairs.results.weights is None
    more = [
        _compute_more_queries(effect, skewness, n_changed, pairs.units.n, inputs.level)
        if is_open
        else None
        for is_open, effect, skewness, n_changed in zip(
            is_open_verdict,
            divide(distance, pairs.units.statistics.std),
            skewness_of_pairs,
            pairs.changed_units,
            strict=True,
        )
    ]
    counts: dict[str, Any] = {"more_queries": more}
    if pairs.results.clusters is not None:
        counts = {
            "clusters": np.full(len(pairs), pairs.units.n),
            "changed_clusters": changed,
            "more_clusters": more,
        }
    if pairs.results.weights is not None:
        counts |= {
            EFFECTIVE: np.full(len(pairs), float(pairs.results.effective_number)),
            EFFECTIVE_CHANGED: pairs.count_effective_changes(),
        }
    return {
        "queries": np.full(len(pairs), pairs.n),
        "strategy_queries": has_value[pairs.a].sum(axis=1),
        "baseline_queries": has_value[pairs.b].sum(axis=1),
        "lost": lost,
        "undefined": (~has_value[pairs.a] & ~has_value[pairs.b]).sum(axis=1),
        "changed": higher + lower,
        "best": pairs.results.best,
        "baseline_mean": baseline_means,
        "mean": means,
        **counts,
        "confidence": inputs.options.confidence,
        "level": inputs.level,
        "margin": inputs.margin,
        "difference": mean,
        "low": low,
        "high": high,
        "verdict": verdict,
    }


def decide_pairs(pairs: Pairs, inputs: VerdictInputs) -> tuple[Floats, Floats, Integers, Any]:
    """Return each pair's interval, number of changed queries, and verdict."""
    intervals = compute_careful_intervals(pairs, inputs.options, inputs.level, inputs.maximum)
    low, high = intervals.low, intervals.high
    lowest_gain, highest_gain = (low, high) if pairs.results.higher_is_better else (-high, -low)
    # A loss of exactly the margin may exceed it by a rounding error, as 0.8 - 0.7 exceeds 0.1.
    rounding = ROUNDING * max(inputs.margin, pairs.results.floor)
    verdicts = {
        UNCHANGED: (intervals.changed == 0) & (pairs.n > 0),
        "better": lowest_gain > 0,
        "worse": highest_gain < -inputs.margin - rounding,
        WITHIN: (highest_gain < 0) & (lowest_gain > -inputs.margin + rounding),
        BEYOND: highest_gain < 0,
        "no worse": lowest_gain > -inputs.margin + rounding,
    }
    verdict = np.select([*verdicts.values()], [*verdicts], "undecided").astype(object)
    return low, high, intervals.changed, verdict


def _fill_with_worst(
    pairs: Pairs, with_missing: Results, place: int, maximum: float | None
) -> Pairs:
    """Return a pair whose missing values are filled unfavourably.

    Missing values of the strategy become the worst value, and those of the baseline the best.
    Queries that both sides lack are left out.
    """
    values = with_missing.values[[pairs.a[place], pairs.b[place]]]
    has_value = ~np.isnan(values)
    has_either = has_value.any(axis=0)
    value_range = (
        (0.0, maximum)
        if maximum is not None
        else (np.nanmin(with_missing.values), np.nanmax(with_missing.values))
    )
    worst, best = value_range if pairs.results.higher_is_better else value_range[::-1]
    filled = np.where(has_value, values, [[worst], [best]])[:, has_either]
    results = with_missing.select(np.flatnonzero(has_either))
    return Pairs(replace(results, values=filled), np.array([0]), np.array([1]))


MAX_QUERIES_RATIO = 100
"""If given and further queries together are more than this many times the given queries,
`more_queries` is null."""


def _compute_adverse_skewness(pairs: Pairs, inputs: VerdictInputs) -> Floats:
    """Return each pair's absolute skewness, if it is adverse, and 0 otherwise.

    One end of the interval lies on the same side of the mean as `-margin`. Skewness is adverse if
    it moves this end away from the mean.
    """
    pairs = pairs.units
    mean_gain = pairs.statistics.mean * pairs.results.sign
    skewness = [compute_skewness(pairs.compute_differences(part)) for part in pairs.split(pairs.n)]
    skewness_of_gain = np.concatenate(skewness) * pairs.results.sign
    return np.maximum(np.where(mean_gain > -inputs.margin, -skewness_of_gain, skewness_of_gain), 0)


def _compute_more_queries(
    effect: float, skewness: float, changed: float, n: int, level: float
) -> int | None:
    """Return the number of further queries, or clusters, that would decide an open verdict.

    Return None if the number is unknown, or if given and further queries together would be more
    than `MAX_QUERIES_RATIO` times the given queries.
    """
    needed = count_deciding_queries(effect, level, skewness, changed / n) if n else None
    if needed is None or needed > MAX_QUERIES_RATIO * n:
        return None
    return max(1, needed - n)
