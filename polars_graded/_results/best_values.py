"""Best values of measures: the highest, the lowest, or none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, get_args

import numpy as np
import polars as pl

from polars_graded._checks import check_column_name
from polars_graded._measuring.definitions import Best
from polars_graded._measuring.names import ALL_DEFINITIONS, Measure

MeasureColumns: TypeAlias = "str | Mapping[str, str]"
"""The name of a column, or a mapping with the measure or the best value of each column. An example
of a mapping is `{"E": "e_measure@10", "seconds": "lowest"}`."""

ROUNDING = 1e-12
"""Maximum relative distance of two values that count as equal."""


def find_direction(column: str) -> Best | None:
    """Return which value of a column is best; None if the column is not a measure."""
    parsed = Measure.parsed(column)
    return None if parsed is None else parsed.definition.best


def find_direction_of_rows(rows: pl.DataFrame) -> Best:
    """Return which value is best for rows of one measure.

    If there is a column `best`, it states which value is best, and null means "none". Otherwise,
    the name of the measure determines the best value. If no measure has this name, the highest
    value is best.
    """
    if "best" in rows.columns:
        return rows["best"][0] or "none"
    return find_direction(rows["measure"][0]) or "highest"


def list_named_columns(measures: Sequence[MeasureColumns]) -> list[str]:
    """Return the columns that `measures` names."""
    name_lists = [[*each] if isinstance(each, Mapping) else [each] for each in measures]
    return [check_column_name("measures", name) for names in name_lists for name in names]


def list_declared_measures(measures: Sequence[MeasureColumns]) -> dict[str, str]:
    """Return the measures and directions that the caller passed, by column.

    A direction states which value is best. Columns that are passed by name alone are left out.
    """
    return {
        column: text
        for each in measures
        if isinstance(each, Mapping)
        for column, text in each.items()
    }


def parse_direction(text: str) -> Best:
    """Convert a measure to its direction; return a direction unchanged.

    A direction is "highest", "lowest" or "none". For example, "ndcg@10" becomes "highest", and
    "lowest" stays "lowest".
    """
    values: dict[str, Best] = {best: best for best in get_args(Best)}
    return values.get(text) or Measure.parse(text, ALL_DEFINITIONS).definition.best


def check_direction(column: str, best: Best | None) -> Best:
    """Return which value of a column is best; raise if that is unknown."""
    if best is None:
        msg = (
            f"`measures` must specify the best value of {column!r}, since no measure has this name"
            f"\n\nHint: pass the best value: {{{column!r}: 'highest'}} or {{{column!r}: 'lowest'}}"
        )
        raise ValueError(msg)
    return best


def check_has_best(column: str, best: Best | None, why: str) -> None:
    """Raise if neither the highest nor the lowest value of a column is best."""
    if best not in ("highest", "lowest"):
        msg = f"the best value of measure {column!r} must be 'highest' or 'lowest' to {why}"
        raise ValueError(msg)


def find_places(numbers: pl.Series) -> pl.Series:
    """Return the place of each number in ascending order, from 0.

    Numbers that differ only by rounding errors share a place. A null has none.
    """
    values = numbers.cast(pl.Float64).fill_null(float("nan")).to_numpy()
    order = np.argsort(values)  # NaN is last
    ascending = values[order]
    magnitudes = np.abs(ascending)
    floor = min(1.0, float(np.nanmax(magnitudes, initial=0)))
    scale = np.maximum(np.maximum(magnitudes[1:], magnitudes[:-1]), floor)
    places = np.empty(len(values))
    places[order] = np.append(0, np.cumsum(np.diff(ascending) > ROUNDING * scale))[: len(values)]
    places[np.isnan(values)] = np.nan
    return pl.Series(numbers.name, places).fill_nan(None)


def find_best_places(means: pl.Series, which: Best | None) -> list[int]:
    """Return the indices of the best means, including ties up to rounding.

    The list is empty if neither the highest nor the lowest mean is best.
    """
    places = find_places(means)
    top = {"highest": places.max(), "lowest": places.min()}.get(which or "none")
    return [] if top is None else (places == top).fill_null(value=False).arg_true().to_list()
