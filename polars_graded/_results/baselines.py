"""Pair strategies with their baselines for `gate`, and check that both were measured alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from polars_graded._checks import check_columns, check_frame, first_few
from polars_graded._frames.request import DOCUMENTS, JUDGMENTS
from polars_graded._frames.strategies import find_index
from polars_graded._frames.tables import GRADER
from polars_graded._measuring.kernels.ragged import Integers
from polars_graded._measuring.measures import Measure
from polars_graded._results.measure_values import name_pairs
from polars_graded._results.result_files import cast_measures, read_results, read_settings
from polars_graded._results.results import Results, check_one_grader, order_strategies
from polars_graded._sentences import format_count

SCALE = ("irrelevant", "max_grade", "relevant_from", "undefined_as", "condensed")
"""Settings that may differ with `gate(scale="changed")`. The order of ties may then differ, too."""

Settings: TypeAlias = list[dict[str, Any]]
"""The distinct settings of some results."""


class Matched(NamedTuple):
    """Pairs of a strategy and its baseline, with the results of all strategies."""

    results: Results
    a: Integers
    """Indices of the strategies in the results."""
    b: Integers
    """Indices of their baselines."""
    pair_columns: Sequence[pl.Series]
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
    # Strategies in one frame were measured together, so that nothing is noted as not checked.
    mismatches = (each for each in compare_conditions(*both, results) if each.argument is not None)
    b = np.full(len(a), index)
    pair_columns = name_pairs(strategies, a, b)
    return Matched(results, a, b, pair_columns, check_conditions(mismatches, changes))


def _pair_with_results(
    results: Results, older: pl.DataFrame, changes: Mapping[str, str]
) -> Matched:
    """Return each strategy with its baseline in older results.

    If the older results contain one strategy, all new strategies are compared with this strategy.
    Otherwise each new strategy is compared with the older strategy of the same name.
    """
    keys, rows, strategies = results.keys, results.rows, results.strategies
    name, identity = keys.strategy, keys.identity
    key_columns = [*dict.fromkeys([name, *identity, *keys.unit_columns])]
    check_columns("baseline", [name, *identity], older.schema)
    rows, older = unify_keys(rows, older, [name, *identity])
    older = _join_query_columns(older, rows, identity, keys.unit_columns)
    older = cast_measures(older, {name: name for name in results.measures}, key_columns)
    if GRADER in older.columns and GRADER not in key_columns:
        hint = ".filter(grader={!r}) of the frame selects the results of one grader"
        check_one_grader("baseline", older[GRADER].unique(maintain_order=True).to_list(), hint)
    check_columns("baseline", results.measures, older.schema)
    new_names, older_names = strategies.cast(rows.schema[name]), order_strategies(older[name])
    _check_same_names(new_names, older_names)
    baselines = older_names[[0] * len(new_names)] if len(older_names) == 1 else new_names
    baselines = baselines.alias("baseline")
    older = older.filter(pl.col(name).is_in(baselines.implode()))
    conditions = compare_conditions(rows, older, results)
    queries = compare_coverage(rows, older, keys.query_columns)
    notes = check_conditions(chain(conditions, queries), changes)
    as_text = pl.col(name).cast(pl.String)
    columns = [*dict.fromkeys([*key_columns, *results.measures])]
    both = [
        rows.select(columns).with_columns(as_text),
        older.select(columns).with_columns(as_text + BASELINE_SUFFIX),
    ]
    together = replace(results, rows=pl.concat(both, how="vertical_relaxed"))
    a, b = (
        np.array([find_index(together.strategies, each) for each in names])
        for names in (new_names.cast(pl.String), baselines.cast(pl.String) + BASELINE_SUFFIX)
    )
    return Matched(together, a, b, [strategies, baselines], notes)


def _join_query_columns(
    older: pl.DataFrame, rows: pl.DataFrame, identity: Sequence[str], columns: Sequence[str]
) -> pl.DataFrame:
    """Return older results with the clusters and weights of the new results.

    A query that only the older results have keeps its older values.
    """
    added = [name for name in columns if name not in identity]
    if not added:
        return older
    own = [
        pl.col(name).cast(rows.schema[name], strict=False)
        for name in added
        if name in older.columns
    ]
    frames = [rows.select(*identity, *added), older.select(*identity, *own)]
    both = pl.concat(frames, how="diagonal")
    by_query = both.unique(identity, keep="first", maintain_order=True)
    on: Any = {"on": identity, "how": "left", "nulls_equal": True, "maintain_order": "left"}
    return older.drop(added, strict=False).join(by_query, **on)


BASELINE_SUFFIX = " of the baseline"
"""Suffix that distinguishes older strategies from new strategies with the same names."""


def _check_same_names(new_names: pl.Series, older_names: pl.Series) -> None:
    """Raise if a new strategy lacks an older strategy of the same name.

    A single older strategy may have any name, because all new strategies are compared with it.
    """
    name, names = older_names.name, older_names.to_list()
    unmatched = [each for each in new_names if each not in names]
    if len(names) > 1 and unmatched:
        msg = (
            "`baseline` must have one strategy, or all compared strategies under the same names, "
            f"got {first_few(names)}, but not {first_few(unmatched)}\n\n"
            f"Hint: baseline=older.filter(pl.col({name!r}) == {names[0]!r}) has one strategy"
        )
        raise ValueError(msg)


# Conditions of measuring


class Mismatch(NamedTuple):
    """Difference between two results in how they were measured."""

    argument: str | None
    """Argument of `gate` that allows it; None for a condition that the results do not record."""
    text: str


def check_conditions(mismatches: Iterable[Mismatch], changes: Mapping[str, str]) -> str:
    """Return allowed differences and unrecorded conditions as text, or "".

    Raise if no argument allows a difference. `changes` contains the arguments of `gate` by name.
    """
    allowed, unchecked = [], []
    for argument, text in mismatches:
        if argument is None:
            unchecked.append(text)
        elif changes[argument] in ("same", "error"):
            value = "drop" if argument == "missing" else "changed"
            msg = (
                f"`per_query` and `baseline` must not differ: {text}\n\n"
                f"Hint: {argument}={value!r} allows it, and the sentence of the verdict reports it"
            )
            raise ValueError(msg)
        else:
            allowed.append(text)
    notes = {"allowed": allowed, "not checked, since the results do not record them": unchecked}
    return "; ".join(f"{words}: {', '.join(texts)}" for words, texts in notes.items() if texts)


def compare_conditions(
    rows: pl.DataFrame, older: pl.DataFrame, results: Results
) -> Iterator[Mismatch]:
    """Yield differences in judgments, formulas, scale and order of ties.

    `results` has the keys and the measures of both frames.
    """
    formulas = {name: results.formulas.get(name, name) for name in results.measures}
    yield from _compare_judgments(rows, older, results.keys.identity, formulas)
    both = read_settings(rows), read_settings(older)
    for column, formula in formulas.items():
        texts = [_find_formulas(column, formula, settings) for settings in both]
        if formula != column:
            texts[0] |= _parse_formulas(formula)
        yield from _compare_texts("formulas", repr(column), *texts)
    if not all(both):
        yield Mismatch(None, "formulas, scale and tie order")
        return
    for name in (*SCALE, "ties"):
        texts = [{repr(each.get(name)) for each in settings} for settings in both]
        yield from _compare_texts("scale", f"`{name}`", *texts)


def _compare_texts(argument: str, name: str, new: set[str], old: set[str]) -> Iterator[Mismatch]:
    """Yield a difference if two results, or the rows of one, have different settings."""
    if len(new | old) > 1:
        new_text, old_text = (" and ".join(sorted(texts)) for texts in (new, old))
        yield Mismatch(
            argument, f"{name} is {new_text} in `per_query` and {old_text} in `baseline`"
        )


def _compare_judgments(
    rows: pl.DataFrame, older: pl.DataFrame, on: Sequence[str], formulas: Mapping[str, str]
) -> Iterator[Mismatch]:
    """Yield a difference in the judgments of queries.

    If a measure needs further columns of documents, such as subtopics, these are compared too.
    """
    compared = {JUDGMENTS: "judgments"}
    measures = [Measure.try_parse(each) for each in formulas.values()]
    if any(measure is not None and measure.definition.input_names for measure in measures):
        compared[DOCUMENTS] = "documents or columns of documents"
    for column, noun in compared.items():
        if column not in rows.columns or column not in older.columns:
            yield Mismatch(None, noun)
            continue
        new, old = (frame.select(*on, column).unique() for frame in (rows, older))
        joined = new.join(old, on=on, nulls_equal=True, suffix=BASELINE_SUFFIX)
        differs = pl.col(column).ne_missing(pl.col(column + BASELINE_SUFFIX))
        if changed := joined.filter(differs).n_unique(on):
            of = format_count(joined.n_unique(on), "queries")
            yield Mismatch("judgments", f"other {noun} in {changed:,} of {of}")


def _find_formulas(column: str, formula: str, settings: Settings) -> set[str]:
    """Return the recorded formulas of a column.

    Results without a recorded formula are assumed to have the formula that the caller passed, or
    else the formula that the name of the column means.
    """
    recorded = {each["measures"].get(column) for each in settings if "measures" in each} - {None}
    return recorded or _parse_formulas(formula) or _parse_formulas(column)


def _parse_formulas(text: str) -> set[str]:
    """Return the full formula of a measure; nothing if the text names no measure."""
    measure = Measure.try_parse(text)
    return set() if measure is None else {measure.formula}


def compare_coverage(
    rows: pl.DataFrame, older: pl.DataFrame, on: Sequence[str]
) -> Iterator[Mismatch]:
    """Yield the queries that one of two results lacks; raise if they have no query in common."""
    both = {"per_query": rows, "baseline": older}
    queries = {name: frame.select(on).unique(maintain_order=True) for name, frame in both.items()}
    for name, other in (("per_query", "baseline"), ("baseline", "per_query")):
        own, others = queries[name], queries[other]
        lost = own.join(others, on=on, how="anti", nulls_equal=True, maintain_order="left")
        if lost.height == own.height:
            got = (
                f"{'no rows' if each.is_empty() else first_few(each.rows())} in `{key}`"
                for key, each in queries.items()
            )
            msg = (
                "`baseline` must have queries in common with `per_query`, got none: "
                f"{' and '.join(got)}"
            )
            raise ValueError(msg)
        if lost.height:
            count = f"{lost.height:,} of the {format_count(own.height, 'queries')}"
            few = first_few(lost.rows())
            few = few if lost.width > 1 else f"({few})"  # several keys of a query have parentheses
            yield Mismatch("missing", f"`{other}` lacks {count} of `{name}` {few}")


def unify_keys(
    rows: pl.DataFrame, older: pl.DataFrame, key_columns: Sequence[str]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Cast key columns to one type if they have another type in the other results.

    Integers become Int64, or Int128 if one of them is UInt64. All others become text, since all
    keys in a CSV file are text.
    """
    types = {key: (rows.schema[key], older.schema[key]) for key in key_columns}
    casts = [pl.col(key).cast(_find_common_type(*both)) for key, both in types.items()]
    return rows.with_columns(casts), older.with_columns(casts)


def _find_common_type(new: pl.DataType, old: pl.DataType) -> pl.DataType:
    """Return the type to which `unify_keys` casts a key column."""
    if new == old:
        return new
    if new.is_integer() and old.is_integer():
        return pl.Int128() if pl.UInt64 in (new, old) else pl.Int64()
    return pl.String()
