"""Pair strategies with their baselines for `gate`, and check that both were measured alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import polars as pl

from polars_graded._checks import (
    TEXT_TYPES,
    check_choice,
    check_column_name,
    check_column_names,
    check_columns,
    check_frame,
    first_few,
)
from polars_graded._frames.request import DOCUMENTS, JUDGMENTS
from polars_graded._frames.strategies import find_index
from polars_graded._measuring.kernels.ragged import Integers
from polars_graded._measuring.names import Measure
from polars_graded._results.grid import Grid, order_strategies
from polars_graded._results.keys import check_independence
from polars_graded._results.measure_values import list_declared_measures, name_pairs
from polars_graded._results.result_files import cast_measures, read_results, read_settings
from polars_graded._results.result_sets import ResultSet, check_one_grader, split_by_grader
from polars_graded._sentences import format_count

Change: TypeAlias = Literal["same", "changed"]

CHANGES = ("judgments", "formulas", "scale")
"""Arguments of `gate` that allow a difference in how the two results were measured."""

SCALE = ("irrelevant", "max_grade", "relevant_from", "undefined_as", "condensed")
"""Settings that may differ with `gate(scale="changed")`. The order of ties may then differ, too."""

MAX_NAMED_QUERIES = 3
"""Maximum number of queries that an error names."""


class Matched(NamedTuple):
    """Pairs of a strategy and its baseline, with the grid of all values."""

    grid: Grid
    a: Integers
    """Indices of the strategies in the grid."""
    b: Integers
    """Indices of their baselines."""
    names: Sequence[pl.Series]
    """Names of the strategies, and names of their baselines, as in the given results."""
    notes: str
    """Differences that an argument allowed, and conditions that could not be checked."""


def pair_with_baseline(results: ResultSet, baseline: Any, changes: Mapping[str, str]) -> Matched:
    """Return each strategy with its baseline.

    The baseline is another strategy of the same results, or comes from other results. Raise if
    queries probably depend on each other and `cluster` is not passed.
    """
    rows = results.rows.lazy().collect()
    results = replace(results, rows=rows)
    if isinstance(baseline, Path):
        return _pair_with_results(results, rows, read_results(baseline), changes)
    if hasattr(baseline, "columns"):
        older = check_frame("baseline", baseline).lazy().collect()
        return _pair_with_results(results, rows, older, changes)
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
    return Matched(grid, a, b, names, comparable.notes)


def _pair_with_results(
    results: ResultSet, rows: pl.DataFrame, older: pl.DataFrame, changes: Mapping[str, str]
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
    older = _join_query_columns(older, rows, identity, [*clusters, *weight_columns])
    older = cast_measures(older, measure_columns, key_columns)
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
    text = pl.col(name).cast(pl.String)
    both = [
        rows.select(columns).with_columns(text),
        older.select(columns).with_columns(text + BASELINE_SUFFIX),
    ]
    together = pl.concat(both, how="vertical_relaxed")
    grid = replace(results, rows=together).read_grid("ignore")
    a, b = (
        np.array([find_index(grid.strategies, each) for each in names])
        for names in (
            cast_strategies.cast(pl.String),
            baselines.cast(pl.String) + BASELINE_SUFFIX,
        )
    )
    return Matched(grid, a, b, [strategies, baselines], comparable.notes)


def _join_query_columns(
    older: pl.DataFrame, rows: pl.DataFrame, identity: Sequence[str], columns: Sequence[str]
) -> pl.DataFrame:
    """Return older results with the clusters and weights of the new results.

    A query that only the older results have keeps its older values.
    """
    stated = [name for name in columns if name not in identity]
    if not stated or not {*identity} <= {*older.columns}:
        return older
    by_query, older = unify_keys(rows.select(*identity, *stated).unique(), older, identity)
    by_query = by_query.rename({name: f"new {name}" for name in stated})
    joined = older.join(by_query, on=identity, how="left", nulls_equal=True, maintain_order="left")
    values = [
        pl.coalesce(
            f"new {name}",
            *([pl.col(name).cast(rows.schema[name], strict=False)] if name in older else []),
        ).alias(name)
        for name in stated
    ]
    return joined.with_columns(values).drop(by_query.columns[len(identity) :])


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


# Conditions of measuring


@dataclass
class Comparability:
    """Allowed differences between two results, and conditions not checked."""

    changes: Mapping[str, str]
    """Arguments of `gate` by name: `{"scale": "changed"}` allows a difference in scale."""
    allowed: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)

    @property
    def notes(self) -> str:
        """Return allowed differences and unchecked conditions as text, or ""."""
        parts = [f"allowed: {', '.join(self.allowed)}"] if self.allowed else []
        if self.unchecked:
            parts.append(
                f"not checked, since the results do not record them: {', '.join(self.unchecked)}"
            )
        return "; ".join(parts)

    def refuse_or_allow(self, argument: str, difference: str) -> None:
        """Raise an error for a difference, or note that an argument allows it."""
        if self.changes.get(argument, "same") in ("same", "error"):
            value = "drop" if argument == "missing" else "changed"
            msg = (
                f"`per_query` and `baseline` must not differ: {difference}\n\n"
                f"Hint: {argument}={value!r} allows it, and the sentence of the verdict reports it"
            )
            raise ValueError(msg)
        self.allowed.append(difference)


def check_same_conditions(
    rows: pl.DataFrame,
    older: pl.DataFrame,
    queries: Sequence[str],
    formulas: Mapping[str, str | None],
    changes: Mapping[str, str],
    *,
    is_other_file: bool,
) -> Comparability:
    """Check that judgments, formulas, scale and ties of two results agree.

    A difference that no argument allows raises an error.

    The keys of `formulas` are the compared columns. The values are the measures that the caller
    passed for these columns, or None. `is_other_file` states that the older results were measured
    separately. In this case, a condition that the results do not record is noted as not checked.
    Strategies in one frame are assumed to be measured together, so that nothing is noted.
    """
    for name in CHANGES:
        check_choice(name, changes.get(name, "same"), get_args(Change))
    comparability = Comparability(changes)
    settings = read_settings(rows), read_settings(older)
    _check_judgments(comparability, rows, older, queries, formulas)
    _check_formulas(comparability, settings, formulas)
    _check_scale(comparability, settings)
    if not is_other_file:
        comparability.unchecked.clear()
    return comparability


def check_queries(
    comparability: Comparability,
    rows: pl.DataFrame,
    older: pl.DataFrame,
    queries: Sequence[str],
) -> None:
    """Raise if one of two results lacks queries, unless that is allowed.

    Results without a common query raise an error in any case.
    """
    n_rows, n_older = (frame.select(queries).n_unique() for frame in (rows, older))
    for name, n in (("per_query", n_rows), ("baseline", n_older)):
        if not n:
            msg = f"`{name}` must have at least one query, got none"
            raise ValueError(msg)
    for frame, other, name, whose, n in (
        (older, rows, "`baseline`", "`per_query`", n_rows),
        (rows, older, "`per_query`", "`baseline`", n_older),
    ):
        lost = other.join(frame, on=queries, how="anti", nulls_equal=True)
        count = lost.select(queries).n_unique()
        if count == n:
            msg = (
                "`baseline` must have queries in common with `per_query`, got none: `per_query` "
                f"has {format_count(n_rows, 'queries')}, such as {rows.select(queries).row(0)}, "
                f"and `baseline` has {n_older:,}, such as {older.select(queries).row(0)}"
            )
            raise ValueError(msg)
        if count:
            keys = lost.select(queries).unique(maintain_order=True).head(MAX_NAMED_QUERIES).rows()
            names = ", ".join(", ".join(map(str, key)) for key in keys)
            more = ", ..." if count > len(keys) else ""
            lacks = f"{name} lacks {count:,} of the {format_count(n, 'queries')} of {whose}"
            comparability.refuse_or_allow("missing", f"{lacks} ({names}{more})")


def unify_keys(
    rows: pl.DataFrame, older: pl.DataFrame, keys: Sequence[str]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Cast each key column to one type in both results.

    Different integer types become Int64, or Int128 if one of them is UInt64. If one side is text,
    the other side becomes text too. Raise if types differ otherwise.
    """
    casts: list[pl.Expr] = []
    for key in keys:
        now, then = rows.schema[key], older.schema[key]
        if now == then:
            continue
        if now.is_integer() and then.is_integer():
            casts.append(pl.col(key).cast(pl.Int128 if pl.UInt64 in (now, then) else pl.Int64))
        elif now in TEXT_TYPES or then in TEXT_TYPES:
            casts.append(pl.col(key).cast(pl.String))
        else:
            msg = (
                f"column {key!r} must have one type in `per_query` and `baseline`, "
                f"got {now} and {then}"
            )
            raise ValueError(msg)
    return rows.with_columns(casts), older.with_columns(casts)


def _check_judgments(
    comparability: Comparability,
    rows: pl.DataFrame,
    older: pl.DataFrame,
    queries: Sequence[str],
    formulas: Mapping[str, str | None],
) -> None:
    """Raise if the judgments of two results differ, unless that is allowed.

    If a measure needs further columns of documents, such as subtopics, these are compared too.
    """
    needs_documents = any(
        measure is not None and measure.definition.inputs
        for measure in map(Measure.parsed, (text or column for column, text in formulas.items()))
    )
    compared = {JUDGMENTS: "judgments"}
    if needs_documents:
        compared[DOCUMENTS] = "documents or columns of documents"
    for column, noun in compared.items():
        if column not in rows.columns or column not in older.columns:
            comparability.unchecked.append(noun)
            continue
        now, then = (
            frame.select(*queries, column).unique(maintain_order=True) for frame in (rows, older)
        )
        joined = now.join(then, on=queries, nulls_equal=True, suffix=" then")
        differs = pl.col(column).ne_missing(pl.col(f"{column} then"))
        n, changed = (each.select(queries).n_unique() for each in (joined, joined.filter(differs)))
        if changed:
            difference = f"other {noun} in {changed:,} of {format_count(n, 'queries')}"
            comparability.refuse_or_allow("judgments", difference)


Settings: TypeAlias = tuple[list[dict[str, Any]], list[dict[str, Any]]]


def _check_formulas(
    comparability: Comparability,
    settings: Settings,
    formulas: Mapping[str, str | None],
) -> None:
    """Raise if the formulas of two results differ, unless that is allowed."""
    if not all(settings):
        comparability.unchecked.append("formulas")
    for column, declared in formulas.items():
        now, then = (
            {texts["measures"].get(column) for texts in side if "measures" in texts} - {None}
            for side in settings
        )
        # Results without a recorded formula are assumed to have the formula that the caller passed,
        # or else the formula that the name of the column means.
        formula = _parse_formula(declared or column) or _parse_formula(column)
        if declared is not None and _parse_formula(declared):
            now |= {formula}
        now, then = now or {formula}, then or {formula}
        if len((now | then) - {None}) > 1:
            texts = [" and ".join(sorted(filter(None, side))) for side in (now, then)]
            difference = f"{column!r} is {texts[0]} in `per_query` and {texts[1]} in `baseline`"
            comparability.refuse_or_allow("formulas", difference)


def _parse_formula(text: str) -> str | None:
    """Return the full formula of a measure; None if the text names no measure."""
    measure = Measure.parsed(text)
    return None if measure is None else measure.formula


def _check_scale(comparability: Comparability, settings: Settings) -> None:
    """Raise if two results differ in scale or order of ties, unless allowed."""
    if not all(settings):
        comparability.unchecked.append("scale and tie order")
        return
    for name in (*SCALE, "ties"):
        now, then = ([each.get(name) for each in side] for side in settings)
        if any(each != now[0] for each in [*now, *then]):
            other = next((each for each in then if each != now[0]), then[0])
            difference = f"`{name}` is {now[0]!r} in `per_query` and {other!r} in `baseline`"
            comparability.refuse_or_allow("scale", difference)
