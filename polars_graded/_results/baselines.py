"""Pair strategies with their baselines for `gate`, and check that both were measured alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import polars as pl

from polars_graded._checks import (
    TEXT_TYPES,
    check_choice,
    check_column_names,
    check_columns,
    check_frame,
    first_few,
)
from polars_graded._frames.request import DOCUMENTS, JUDGMENTS
from polars_graded._frames.strategies import find_index
from polars_graded._frames.tables import GRADER
from polars_graded._measuring.kernels.ragged import Integers
from polars_graded._measuring.measures import Measure
from polars_graded._results.measure_values import name_pairs
from polars_graded._results.result_files import cast_measures, read_results, read_settings
from polars_graded._results.results import Results, check_one_grader, order_strategies
from polars_graded._sentences import format_count

Change: TypeAlias = Literal["same", "changed"]

CHANGES = ("judgments", "formulas", "scale")
"""Arguments of `gate` that allow a difference in how the two results were measured."""

SCALE = ("irrelevant", "max_grade", "relevant_from", "undefined_as", "condensed")
"""Settings that may differ with `gate(scale="changed")`. The order of ties may then differ, too."""

MAX_NAMED_QUERIES = 3
"""Maximum number of queries that an error names."""

Settings: TypeAlias = list[dict[str, Any]]
"""The distinct settings of some results."""


class Matched(NamedTuple):
    """Pairs of a strategy and its baseline, with the results of all strategies."""

    results: Results
    a: Integers
    """Indices of the strategies in the results."""
    b: Integers
    """Indices of their baselines."""
    names: Sequence[pl.Series]
    """Names of the strategies, and names of their baselines, as in the given results."""
    notes: str
    """Differences that an argument allowed, and conditions that could not be checked."""


def pair_with_baseline(results: Results, baseline: Any, changes: Mapping[str, str]) -> Matched:
    """Return each strategy with its baseline.

    The baseline is another strategy of the same results, or comes from other results.
    """
    if isinstance(baseline, Path):
        return _pair_with_results(results, read_results(baseline), changes)
    if hasattr(baseline, "columns"):
        older = check_frame("baseline", baseline).lazy().collect()
        return _pair_with_results(results, older, changes)
    strategies = results.strategies
    index = find_index(strategies, baseline)
    a = np.delete(np.arange(len(strategies)), index)
    if not len(a):
        msg = f"there must be a strategy to compare with the baseline {baseline!r}, got none"
        raise ValueError(msg)
    is_baseline = pl.col(results.keys.strategy) == pl.lit(baseline)
    both = results.rows.filter(~is_baseline), results.rows.filter(is_baseline)
    conditions = Conditions(*both, results, changes)
    conditions.check()
    # Strategies in one frame were measured together, so that nothing is noted as not checked.
    conditions.unchecked.clear()
    b = np.full(len(a), index)
    return Matched(results, a, b, name_pairs(strategies, a, b), conditions.notes)


def _pair_with_results(
    results: Results, older: pl.DataFrame, changes: Mapping[str, str]
) -> Matched:
    """Return each strategy with its baseline in older results.

    If the older results contain one strategy, all new strategies are compared with this strategy.
    Otherwise each new strategy is compared with the older strategy of the same name.
    """
    keys, rows, strategies = results.keys, results.rows, results.strategies
    name, identity = keys.strategy, keys.identity
    clusters = [] if keys.cluster is None else check_column_names("cluster", keys.cluster)
    weights = [] if keys.weights is None else [keys.weights]
    key_columns = [*dict.fromkeys([name, *identity, *clusters])]
    columns = [*dict.fromkeys([*key_columns, *weights, *results.measures])]
    older = _join_query_columns(older, rows, identity, [*clusters, *weights])
    older = cast_measures(older, results.measures, key_columns)
    if GRADER in older.columns and GRADER not in key_columns:
        hint = ".filter(grader={!r}) of the frame selects the results of one grader"
        check_one_grader("baseline", older[GRADER].unique(maintain_order=True).to_list(), hint)
    check_columns("baseline", columns, older.schema)
    rows, older = unify_keys(rows, older, key_columns)
    new_names, older_names = strategies.cast(rows.schema[name]), order_strategies(older[name])
    _check_same_names(new_names, older_names)
    is_only = len(older_names) == 1
    places = [0 if is_only else find_index(older_names, each) for each in new_names]
    baselines = older_names[places].alias("baseline")
    older = older.filter(pl.col(name).is_in(baselines.implode()))
    conditions = Conditions(rows, older, results, changes)
    conditions.check()
    conditions.check_queries()
    text = pl.col(name).cast(pl.String)
    both = [
        rows.select(columns).with_columns(text),
        older.select(columns).with_columns(text + BASELINE_SUFFIX),
    ]
    together = results.replace(rows=pl.concat(both, how="vertical_relaxed"))
    a, b = (
        np.array([find_index(together.strategies, each) for each in names])
        for names in (new_names.cast(pl.String), baselines.cast(pl.String) + BASELINE_SUFFIX)
    )
    return Matched(together, a, b, [strategies, baselines], conditions.notes)


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
    on: Any = {"on": identity, "how": "left", "nulls_equal": True, "maintain_order": "left"}
    joined = older.join(by_query, **on, suffix=" new")
    both = {name: f"{name} new" for name in stated if name in older.columns}
    values = [
        pl.coalesce(new, pl.col(name).cast(rows.schema[name], strict=False)).alias(name)
        for name, new in both.items()
    ]
    return joined.with_columns(values).drop(both.values())


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
class Conditions:
    """Compare how two results were measured: judgments, formulas, scale, ties and queries.

    A difference that no argument allows raises an error.
    """

    rows: pl.DataFrame
    older: pl.DataFrame
    results: Results
    """The new results, whose keys and measures hold for both frames."""
    changes: Mapping[str, str]
    """Arguments of `gate` by name: `{"scale": "changed"}` allows a difference in scale."""
    allowed: list[str] = field(default_factory=list)
    """Differences that an argument allowed."""
    unchecked: list[str] = field(default_factory=list)
    """Conditions that the results do not record."""

    @property
    def notes(self) -> str:
        """Return allowed differences and unchecked conditions as text, or ""."""
        parts = [f"allowed: {', '.join(self.allowed)}"] if self.allowed else []
        if self.unchecked:
            parts.append(
                f"not checked, since the results do not record them: {', '.join(self.unchecked)}"
            )
        return "; ".join(parts)

    def check(self) -> None:
        """Check that judgments, formulas, scale and ties of both results agree."""
        for name in CHANGES:
            check_choice(name, self.changes[name], get_args(Change))
        settings = read_settings(self.rows), read_settings(self.older)
        self._check_judgments()
        self._check_formulas(*settings)
        self._check_scale(*settings)

    def _refuse_or_allow(self, argument: str, difference: str) -> None:
        """Raise an error for a difference, or note that an argument allows it."""
        if self.changes[argument] in ("same", "error"):
            value = "drop" if argument == "missing" else "changed"
            msg = (
                f"`per_query` and `baseline` must not differ: {difference}\n\n"
                f"Hint: {argument}={value!r} allows it, and the sentence of the verdict reports it"
            )
            raise ValueError(msg)
        self.allowed.append(difference)

    def check_queries(self) -> None:
        """Raise if one of two results lacks queries, unless that is allowed.

        Results without a common query raise an error in any case.
        """
        on = self.results.keys.queries
        rows, older = (
            frame.select(on).unique(maintain_order=True) for frame in (self.rows, self.older)
        )
        for name, queries in (("per_query", rows), ("baseline", older)):
            if queries.is_empty():
                msg = f"`{name}` must have at least one query, got none"
                raise ValueError(msg)
        for queries, others, lacks in (
            (rows, older, "`baseline` lacks {} of `per_query`"),
            (older, rows, "`per_query` lacks {} of `baseline`"),
        ):
            lost = queries.join(others, on=on, how="anti", nulls_equal=True, maintain_order="left")
            if lost.height == queries.height:
                msg = (
                    "`baseline` must have queries in common with `per_query`, got none: "
                    f"`per_query` has {format_count(rows.height, 'queries')}, such as "
                    f"{rows.row(0)}, and `baseline` has {older.height:,}, such as {older.row(0)}"
                )
                raise ValueError(msg)
            if lost.height:
                names = [", ".join(map(str, key)) for key in lost.head(MAX_NAMED_QUERIES).rows()]
                more = [] if lost.height <= MAX_NAMED_QUERIES else ["..."]
                count = f"{lost.height:,} of the {format_count(queries.height, 'queries')}"
                difference = f"{lacks.format(count)} ({', '.join([*names, *more])})"
                self._refuse_or_allow("missing", difference)

    def _check_judgments(self) -> None:
        """Raise if the judgments of two results differ, unless that is allowed.

        If a measure needs further columns of documents, such as subtopics, these are compared too.
        """
        on = self.results.keys.identity
        compared = {JUDGMENTS: "judgments"}
        measures = (Measure.try_parse(each) for each in self._list_formulas().values())
        if any(measure is not None and measure.definition.inputs for measure in measures):
            compared[DOCUMENTS] = "documents or columns of documents"
        for column, noun in compared.items():
            if column not in self.rows.columns or column not in self.older.columns:
                self.unchecked.append(noun)
                continue
            now, then = (frame.select(*on, column).unique() for frame in (self.rows, self.older))
            joined = now.join(then, on=on, nulls_equal=True, suffix=" then")
            differs = pl.col(column).ne_missing(pl.col(f"{column} then"))
            if changed := joined.filter(differs).n_unique(on):
                of = format_count(joined.n_unique(on), "queries")
                self._refuse_or_allow("judgments", f"other {noun} in {changed:,} of {of}")

    def _list_formulas(self) -> dict[str, str]:
        """Return the measure that the caller passed for each column, or its name."""
        passed = self.results.columns.requested
        return {name: passed.get(name) or name for name in self.results.measures}

    def _check_formulas(self, new: Settings, older: Settings) -> None:
        """Raise if the formulas of two results differ, unless that is allowed."""
        if not (new and older):
            self.unchecked.append("formulas")
        for column, passed in self._list_formulas().items():
            now, then = (
                {texts["measures"].get(column) for texts in side if "measures" in texts} - {None}
                for side in (new, older)
            )
            # Results without a recorded formula are assumed to have the formula that the caller
            # passed, or else the formula that the name of the column means.
            formula = _parse_formula(passed) or _parse_formula(column)
            if passed != column and _parse_formula(passed):
                now |= {formula}
            now, then = now or {formula}, then or {formula}
            if len((now | then) - {None}) > 1:
                texts = [" and ".join(sorted(filter(None, side))) for side in (now, then)]
                difference = f"{column!r} is {texts[0]} in `per_query` and {texts[1]} in `baseline`"
                self._refuse_or_allow("formulas", difference)

    def _check_scale(self, new: Settings, older: Settings) -> None:
        """Raise if two results differ in scale or order of ties, unless allowed."""
        if not (new and older):
            self.unchecked.append("scale and tie order")
            return
        for name in (*SCALE, "ties"):
            now, then = ([each.get(name) for each in side] for side in (new, older))
            if any(each != now[0] for each in [*now, *then]):
                other = next((each for each in then if each != now[0]), then[0])
                difference = f"`{name}` is {now[0]!r} in `per_query` and {other!r} in `baseline`"
                self._refuse_or_allow("scale", difference)


def _parse_formula(text: str) -> str | None:
    """Return the full formula of a measure; None if the text names no measure."""
    measure = Measure.try_parse(text)
    return None if measure is None else measure.formula


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
