"""The frame that `evaluate` returns: one row per strategy and query, one column per measure.

Every statistic, chart and page asks here what such a frame must be, which of its columns are
measures, what each strategy has for each query, what becomes of missing values, which value is
best, and how far a mean is to be trusted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
import polars as pl
import polars.selectors as cs

from polars_graded._checks import (
    check_choice,
    check_column_name,
    check_columns,
    check_comparable,
    check_frame,
    check_list,
    did_you_mean,
    made_by,
)
from polars_graded._frames import sorting
from polars_graded._frames.noticing import warn_the_caller
from polars_graded._measuring.names import Measure

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from polars_graded._measuring.definitions import Best
    from polars_graded._measuring.kernels.ragged import Floats, Integers, Mask

Missing: TypeAlias = Literal["error", "drop", "zero"]

ROUNDING = 1e-12
"""Values that are closer than this share of the larger are the same but for rounding."""

LARGEST = 1e150
"""How far from 0 a value may be: beyond, its square is no number."""

SHOWN = 3
"""The most keys that an error names."""


# What a frame must be


def check_per_query(
    per_query: pl.DataFrame | pl.LazyFrame,
    measures: Sequence[str],
    *,
    query: str,
    strategy: str,
    missing: Missing = "error",
) -> Grid:
    """The measures that are named, or all that there are, of each strategy for each query."""
    found = check_segments(
        per_query, measures, query=query, strategy=strategy, segments=None, missing=missing
    )
    return found[0][1]


def check_segments(
    per_query: pl.DataFrame | pl.LazyFrame,
    measures: Sequence[str],
    *,
    query: str,
    strategy: str,
    segments: str | Sequence[str] | None,
    missing: Missing = "error",
) -> list[tuple[pl.DataFrame, Grid]]:
    """As `check_per_query`, for the queries of each segment: a row of its key, and its grid.

    All have the same strategies. Without segments it is one, whose key has no column.
    """
    check_choice("missing", missing, get_args(Missing))
    keys = segments_of(segments)
    if not keys:
        numbers, _ = measures_and_curves(per_query, measures, query=query, strategy=strategy)
        rows = collected_keys(per_query, numbers, query=query, strategy=strategy)
        return [(pl.DataFrame(height=1), Grid(rows, missing))]
    schema = check_frame("per_query", per_query).collect_schema()
    check_columns("per_query", keys, schema)
    wanted = [strategy, query, *keys, *measures]
    if len(set(wanted)) < len(wanted):
        msg = f"each column must be named once, got {', '.join(wanted)}"
        raise ValueError(msg)
    numbers, _ = measures_and_curves(per_query.drop(keys), measures, query=query, strategy=strategy)
    frame = per_query.lazy().select(strategy, query, *keys, *numbers).collect()
    parts = frame.partition_by(keys) or [frame]
    strategies = as_they_come(frame[strategy])
    found = []
    for part in parts:
        rows = collected_keys(part, numbers, query=query, strategy=strategy)
        found.append((part.select(keys).head(1), Grid(rows, missing, strategies)))
    if frame.is_empty():
        return found
    rising = pl.concat([key for key, _ in found]).select(pl.struct(keys).arg_sort()).to_series()
    return [found[place] for place in rising]


def segments_of(segments: str | Sequence[str] | None) -> list[str]:
    """The columns that tell segments apart."""
    if segments is None:
        return []
    return [check_column_name("segments", name) for name in check_list("segments", segments)]


def check_free_names(taken: Iterable[str], **keys: str | Sequence[str] | None) -> None:
    """Raise where a key, which an argument names, has the name of another column of the result."""
    columns = {*taken}
    for argument, named in keys.items():
        for name in segments_of(named):
            if name in columns:
                msg = (
                    f"`{argument}` must not have the name of a column of the result, got {name!r}"
                    "\n\nHint: rename the column"
                )
                raise ValueError(msg)


def measures_and_curves(
    per_query: pl.DataFrame | pl.LazyFrame,
    named: Sequence[str],
    *,
    query: str,
    strategy: str,
    curves: bool = False,
) -> tuple[list[str], list[str]]:
    """The columns of measures, and of curves where these are wanted too.

    Of either kind it is those that are named, or else all. A Boolean column has to be named.
    """
    schema = check_frame("per_query", per_query).collect_schema()
    keys = [strategy, query]
    for argument, name in (("query", query), ("strategy", strategy)):
        check_column_name(argument, name)
    for name in named:
        check_column_name("measures", name)
    check_columns("per_query", [*keys, *named], schema)
    check_comparable(keys, schema)
    if len({*keys, *named}) < len([*keys, *named]):
        msg = f"each column must be named once, got {', '.join([*keys, *named])}"
        raise ValueError(msg)

    def kind(name: str) -> str | None:
        dtype = schema[name]
        if dtype.is_numeric() or (dtype == pl.Boolean and name in named):
            return "number"
        inner = getattr(dtype, "inner", None)
        return "curve" if isinstance(dtype, pl.List) and inner and inner.is_numeric() else None

    wanted = ("number", "curve") if curves else ("number",)
    for name in named:
        if kind(name) not in wanted:
            rule = "a number or a list of them" if curves else "one number per query"
            hint = "\n\nHint: name the measure at one rank instead of its curve"
            msg = f"measure {name!r} must be {rule}, got {schema[name]}"
            raise TypeError(msg + hint if schema[name].is_nested() and not curves else msg)
    # Numbers beside measures, such as what is known of a query, are none unless they are named.
    numbers = [name for name in schema if name not in keys and kind(name) == "number"]
    lists = [name for name in schema if name not in keys and kind(name) == "curve"]
    measured = [name for name in numbers if Measure.parsed(name)]
    found = [name for name in named if name in numbers] or measured or numbers
    found_curves = [name for name in named if name in lists] or lists
    left = [name for name in numbers if name not in found and schema[name].is_float()]
    if left and not named:
        warn_the_caller(
            f"numbers whose column is not called like a measure are left out: "
            f"{', '.join(map(repr, left))}\n\n"
            f"Hint: name the measures that are meant, as in {left[0]!r}, or drop the column"
        )
    check_columns("per_query", [*found, *found_curves], schema)
    if not (found or (curves and found_curves)):
        msg = f"`per_query` must have a column of numbers, got {', '.join(schema)}"
        raise ValueError(msg)
    return found, found_curves


def collected_keys(
    per_query: pl.DataFrame | pl.LazyFrame, columns: Sequence[str], *, query: str, strategy: str
) -> pl.DataFrame:
    """The strategy, the query and some columns, each strategy with each query once."""
    keys = [strategy, query]
    frame = per_query.lazy().select(*keys, *columns).collect()
    if nulls := frame[strategy].null_count():
        msg = f"strategy {strategy!r} must not be null, got {nulls} nulls"
        raise ValueError(msg)
    if frame.select(pl.struct(keys).n_unique()).item() < frame.height:
        again = frame.filter(frame.select(keys).is_duplicated()).select(keys).unique().sort(keys)
        msg = (
            f"each strategy must have each query once, got {again.height} more often: "
            f"{_first(again)}{made_by('per_query')}"
        )
        raise ValueError(msg)
    return frame


def place_of(strategies: pl.Series, name: Any) -> int:
    """Where a strategy stands among them."""
    known = strategies.to_list()
    if name in known:
        return known.index(name)
    texts = [str(each) for each in known]
    meant = isinstance(name, str) and name not in texts
    hint = did_you_mean(name, texts) if meant else ""
    msg = f"there is no strategy {name!r}; there are {listed(strategies)}{hint}"
    raise ValueError(msg)


def listed(strategies: pl.Series) -> str:
    """The names of strategies in a sentence."""
    return ", ".join(map(repr, strategies.to_list())) or "none"


natural_order = sorting.natural_order


def as_they_come(strategies: pl.Series) -> pl.Series:
    """Each strategy once, in the order of rows where those of each are together, else sorted.

    They are together as `evaluate` returns them, in the order that strategies are named in.
    """
    together = strategies.rle().struct.field("value").alias(strategies.name)
    return together if together.n_unique() == len(together) else sorting.in_order(strategies)


def _first(keys: pl.DataFrame) -> str:
    """The first few strategies and queries."""
    shown = [f"query {query!r} of {strategy!r}" for strategy, query in keys.head(SHOWN).iter_rows()]
    return ", ".join(shown if keys.height <= SHOWN else [*shown, "..."])


# Each strategy beside each query


class Grid:
    """A frame with a row for each strategy and query, also where it had none."""

    def __init__(
        self, frame: pl.DataFrame, missing: Missing, strategies: pl.Series | None = None
    ) -> None:
        strategy, query, *self.measures = frame.columns
        self.strategies = as_they_come(frame[strategy]) if strategies is None else strategies
        self.queries = frame[query].unique().sort()
        self.missing = missing
        keys = self.strategies.to_frame().join(self.queries.to_frame(), how="cross")
        # What `evaluate` returns mostly is such a grid already.
        self.frame = (
            frame
            if keys.equals(frame.select(strategy, query))
            else keys.join(
                frame, on=[strategy, query], how="left", nulls_equal=True, maintain_order="left"
            )
        )

    @property
    def shape(self) -> tuple[int, int]:
        """How many strategies and queries there are."""
        return len(self.strategies), len(self.queries)

    def values(self, measure: str) -> Floats:
        """A row per strategy and a column per query; NaN where a value is missing."""
        values = self.frame[measure].cast(pl.Float64).to_numpy()
        return self._counted(values).reshape(self.shape)

    def results(self, measure: str) -> Results:
        """The values of a measure for the queries that count."""
        values = self.values(measure)
        name = f"measure {measure!r}"
        self._check(np.isinf(values), name, "must be finite, got infinity")
        rule = f"must be within {LARGEST:g} of 0, since it is squared, got a larger value"
        self._check(np.abs(values) > LARGEST, name, rule)
        absent = np.isnan(values)
        self._check_present(absent, name)
        whole = ~absent.any(axis=0)
        return Results(measure, self.queries.filter(pl.Series(whole)), values[:, whole])

    def several(self, strategies: int = 2) -> Iterator[Results]:
        """The values of each measure, of at least this many strategies and two queries."""
        if len(self.strategies) < strategies:
            msg = f"there must be at least {strategies} strategies, got {len(self.strategies)}"
            raise ValueError(msg)
        for measure in self.measures:
            results = self.results(measure)
            if results.n < 2:  # noqa: PLR2004
                msg = f"measure {measure!r} must have at least 2 queries, got {results.n}"
                raise ValueError(msg)
            yield results

    def curve_length(self, *curves: str) -> int:
        """How long the lists of curves are, 0 where there is none."""
        every = [self.frame[curve].list.len().drop_nulls() for curve in curves]
        lengths = pl.concat(every).unique().sort()
        if len(lengths) > 1:
            msg = (
                f"the lists of {' and '.join(map(repr, curves))} must have one length, as those "
                f"of a curve with a cutoff have, got {lengths[0]} to {lengths[-1]}"
            )
            raise ValueError(msg)
        return lengths[0] if len(lengths) else 0

    def curve(self, curve: str, length: int) -> Floats:
        """The values of a curve, as those of a measure with a third axis for its points."""
        lists = self.frame[curve]
        there = lists.is_not_null().to_numpy()
        rows = lists.drop_nulls().cast(pl.List(pl.Float64))
        points = np.full((len(lists), length), np.nan)
        flat = rows.explode(empty_as_null=False).fill_null(np.nan).to_numpy()
        points[there] = flat.reshape(-1, length) if length else flat.reshape(len(rows), 0)
        name = f"curve {curve!r}"
        self._check(np.isinf(points).any(axis=1), name, "must be finite, got infinity")
        self._check_present(np.isnan(points).any(axis=1), name)
        return self._counted(points).reshape(*self.shape, length)

    def _counted(self, values: Floats) -> Floats:
        """Values as they count: a missing one may be 0."""
        return (
            np.nan_to_num(values, posinf=np.inf, neginf=-np.inf)
            if self.missing == "zero"
            else values
        )

    def _check_present(self, absent: Mask, name: str) -> None:
        """Raise where a value is missing and must not be."""
        if self.missing == "error":
            rule = "must have a value for each strategy and query, got none, null or NaN"
            self._check(absent, name, rule, "missing='drop' or missing='zero' allows it")

    def _check(self, wrong: Mask, name: str, rule: str, hint: str = "") -> None:
        """Raise where a value is wrong, with how many queries have one and some of them."""
        if wrong.any():
            rows = self.frame[:, :2].filter(pl.Series(wrong.ravel()))
            count = f"{rows.to_series(1).n_unique()} of {len(self.queries)} queries"
            msg = f"{name} {rule} in {count}: {_first(rows)}"
            raise ValueError(f"{msg}\n\nHint: {hint}" if hint else msg)


@dataclass(frozen=True)
class Results:
    """The values of one measure: a row per strategy and a column per query."""

    measure: str
    queries: pl.Series
    values: Floats

    @property
    def n(self) -> int:
        """How many queries there are."""
        return len(self.queries)

    @cached_property
    def floor(self) -> float:
        """What a smaller value counts as where its rounding is judged.

        A 0 that is the difference of 1 and 1 is rounded as a 1 is.
        """
        return min(1.0, float(np.abs(self.values).max(initial=0)))

    @cached_property
    def rounding(self) -> Floats:
        """How far apart two values of a query can at most be that are the same."""
        largest: Floats = np.abs(self.values).max(axis=0, initial=0)
        return np.multiply(ROUNDING, np.maximum(self.floor, largest))

    @property
    def higher_is_better(self) -> bool:
        """Whether a higher value is better."""
        return best_of(self.measure) != "lowest"

    @property
    def order(self) -> Floats:
        """Where the means put the strategies, the best highest; ties in spite of rounding."""
        count = len(self.values)
        if not count or not self.n:
            return np.full(count, np.nan)
        # As far as they differ from one of them: what they share, however large, rounds nothing.
        every, first = np.arange(count), np.zeros(count, dtype=np.int64)
        means = self.differences(every, first).mean(axis=1)
        rounding = self.tolerances(every, first).mean(axis=1)
        rising = np.argsort(means)
        higher = np.diff(means[rising]) > np.maximum(rounding[rising[1:]], rounding[rising[:-1]])
        places = np.empty(count)
        places[rising] = np.concatenate([[0], np.cumsum(higher)])
        return places if self.higher_is_better else -places

    def tolerances(self, a: Integers, b: Integers) -> Floats:
        """How far off differences between strategies can be by rounding: a row per pair.

        It is 0 where the two values are the same but for rounding.
        """
        x, y = self.values[a], self.values[b]
        size = np.maximum(np.maximum(np.abs(x), np.abs(y)), self.floor)
        tolerances: Floats = np.multiply(ROUNDING, size)
        tolerances[np.abs(x - y) <= tolerances] = 0
        return tolerances

    def differences(self, a: Integers, b: Integers) -> Floats:
        """The differences between strategies, a row per pair; 0 where that is rounding."""
        differences: Floats = self.values[a] - self.values[b]
        doubtful = (np.abs(differences) <= self.rounding) & (differences != 0)
        rows = np.flatnonzero(doubtful.any(axis=1))
        if len(rows):
            same = self.tolerances(a[rows], b[rows]) == 0
            differences[rows] = np.where(same, 0, differences[rows])
        return differences


# Which value is best


def best_of(measure: str) -> Best:
    """Which value of a measure is best: the highest, of all that are not known to differ."""
    parsed = Measure.parsed(measure)
    return "highest" if parsed is None else parsed.definition.best


def bests(means: pl.Series, which: Best) -> list[int]:
    """The places of the best means, of all that are the same but for rounding."""
    rounded = means.round(12)
    top = {"highest": rounded.max(), "lowest": rounded.min(), "none": None}[which]
    return [] if top is None else (rounded == top).fill_null(value=False).arg_true().to_list()


# What comes out


def table(
    statistics: Mapping[str, Any] | Sequence[Mapping[str, Any]], **dtypes: pl.DataType
) -> pl.DataFrame:
    """Statistics in columns or in rows as a frame: counts are UInt32, and what is NaN is null.

    Counts that may be larger have another type.
    """
    frame = pl.DataFrame(statistics, schema_overrides=dtypes, infer_schema_length=None)
    return frame.with_columns(cs.signed_integer().cast(pl.UInt32), cs.float().fill_nan(None))


# Means


def mean_of(values: Floats) -> float:
    """The mean, NaN of no value."""
    return float(values.mean()) if len(values) else np.nan


def mean_margin(std: Any, n: Any, confidence: float) -> Any:
    """How far Student's interval of the mean of n values reaches to either side of it."""
    from scipy.special import stdtrit

    return stdtrit(n - 1, (1 + confidence) / 2) * std / np.sqrt(n)


def confidence_of(margin: Any, std: Any, n: Any) -> Any:
    """The confidence of Student's interval with this margin: the inverse of `mean_margin`."""
    from scipy.special import stdtr

    return 2 * stdtr(n - 1, margin * np.sqrt(n) / std) - 1


def curve_means(
    curves: pl.LazyFrame, columns: Sequence[str], positions: pl.Series, keys: Sequence[str]
) -> pl.LazyFrame:
    """The means of curves, lists of one length, over queries: one row per key and position.

    Beside each it has how many values it is the mean of and their standard deviation, in the
    columns "queries of …" and "std of …".
    """
    at = pl.lit(positions).implode().alias(positions.name)
    points = curves.select(*keys, at, *columns).explode(
        positions.name, *columns, empty_as_null=False
    )
    values = pl.col(columns)
    return points.group_by(*keys, positions.name, maintain_order=True).agg(
        values.mean(),
        values.count().name.prefix("queries of "),
        values.std().name.prefix("std of "),
    )
