"""Check that the two results that `gate` compares were measured alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

import polars as pl

from polars_graded._checks import TEXT_TYPES, check_choice
from polars_graded._frames.request import DOCUMENTS, JUDGMENTS
from polars_graded._measuring.definitions import NOTHING
from polars_graded._measuring.names import Measure
from polars_graded._results.result_files import read_settings
from polars_graded._sentences import format_count

Change: TypeAlias = Literal["same", "changed"]

CHANGES = ("judgments", "formulas", "scale")
"""Arguments of `gate` that allow a difference in how the two results were measured."""

SCALE = ("irrelevant", "max_grade", "relevant_from", "undefined_as", "condensed")
"""Settings that may differ with `gate(scale="changed")`. The order of ties may then differ, too."""

MAX_NAMED_QUERIES = 3
"""Maximum number of queries that an error names."""


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
    shared = [each for each in rows.columns if each in older.columns]
    columns = [JUDGMENTS] if JUDGMENTS in shared else []
    if not columns:
        # Without fingerprints, only measures that depend on judgments alone can show differences
        # in judgments, for example `n_relevant`.
        comparability.unchecked.append("judgments")
        columns = [each for each in shared if _is_of_judgments(each)]
    measures = (Measure.parsed(formula or column) for column, formula in formulas.items())
    if any(measure is not None and measure.definition.inputs for measure in measures):
        if DOCUMENTS in shared:
            columns.append(DOCUMENTS)
        else:
            comparability.unchecked.append("further columns of documents")
    for column in columns:
        # The same gains, summed in another order, may differ by a rounding error.
        value = pl.col(column).round(9) if rows.schema[column].is_float() else pl.col(column)
        now, then = (
            frame.select(*queries, value).unique(maintain_order=True) for frame in (rows, older)
        )
        joined = now.join(then, on=queries, nulls_equal=True, suffix=" then")
        differs = pl.col(column).ne_missing(pl.col(f"{column} then"))
        n, changed = (each.select(queries).n_unique() for each in (joined, joined.filter(differs)))
        if changed:
            what = "documents or columns of documents" if column == DOCUMENTS else "judgments"
            evidence = "" if column in (JUDGMENTS, DOCUMENTS) else f", as {column!r} shows"
            difference = f"other {what} in {changed:,} of {format_count(n, 'queries')}{evidence}"
            comparability.refuse_or_allow("judgments", difference)


def _is_of_judgments(column: str) -> bool:
    """Return whether a column is a measure that depends on judgments only."""
    parsed = Measure.parsed(column)
    return parsed is not None and parsed.definition.depth == NOTHING


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
