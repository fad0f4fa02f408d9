"""Results per query: their key columns, their measures, and their checked values.

`open_results` is the way in for every function of results. It finds the key columns and the
measures of a frame, and splits the frame by grader.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import polars as pl
import polars.selectors as cs

from polars_graded._checks import HINT, check_choice, check_column_names, first_few, hint_at_maker
from polars_graded._frames.arguments import Columns
from polars_graded._frames.request import DOCUMENTS, JUDGMENTS, SETTINGS
from polars_graded._frames.strategies import in_order
from polars_graded._frames.tables import GRADER
from polars_graded._measuring.definitions import Best
from polars_graded._measuring.kernels.ragged import Floats, Integers, Mask
from polars_graded._results.keys import (
    CLUSTER,
    NUMBER,
    WEIGHT,
    Dependence,
    Keys,
    PassedKeys,
    check_independence,
    check_keys,
    list_columns,
    read_units,
)
from polars_graded._results.measure_values import (
    MeasureColumns,
    MeasureMatrix,
    check_best,
    collect_measures,
    find_best,
    parse_best,
)
from polars_graded._sentences import conjugate, format_count
from polars_graded._warnings import DataWarning, warn_the_caller

Missing: TypeAlias = Literal["error", "drop", "zero"]

MAX_VALUE = 1e150
"""Maximum magnitude of a value, so that sums of squares do not overflow."""

ALL_QUERIES = pl.DataFrame(height=1)
"""Key of the only segment if the caller names no segments: a frame of one row without columns."""

MAX_NAMED_KEYS = 3
"""Maximum number of pairs of a strategy and a query that an error lists."""


# The way in


@dataclass(frozen=True)
class ResultsByGrader:
    """Results of one or several graders."""

    by_name: Mapping[str | None, Results]
    """The results of each grader by name; the only key is None if the results have no graders."""

    def stack(self, function: Callable[[Results], pl.DataFrame]) -> pl.DataFrame:
        """Call a function for each grader, and stack its frames.

        If there are several graders, the result gets a column of graders.
        """
        __tracebackhide__ = True
        if len(self.by_name) == 1:
            return function(self.only)
        tables = [
            function(results).select(pl.lit(name).alias(GRADER), "*")
            for name, results in self.by_name.items()
        ]
        return pl.concat(tables, how="vertical_relaxed")

    def stack_measures(self, function: Callable[[MeasureMatrix], pl.DataFrame]) -> pl.DataFrame:
        """Call a function for the values of each measure of each grader, and stack its frames.

        Raise if there are too few strategies or queries.
        """
        return self.stack(lambda results: pl.concat(map(function, results.list_matrices())))

    def get(self, grader: str | int, argument: str = "grader") -> Results:
        """Return the results of a grader; raise if there are none."""
        if None in self.by_name:
            msg = (
                f"`per_query` must have a column {GRADER!r} to distinguish graders\n\n"
                "Hint: evaluate(..., grade={'people': 'grade_1', 'model': 'grade_2'}) adds it"
            )
            raise ValueError(msg)
        name = str(grader) if isinstance(grader, int) else grader  # numbers may name graders
        return self.by_name[check_choice(argument, name, map(str, self.by_name))]

    @property
    def only(self) -> Results:
        """Return the results of the only grader; raise if there are several."""
        check_one_grader(
            "per_query", [*self.by_name], "grader={!r} selects the results of one grader"
        )
        return next(iter(self.by_name.values()))


def open_results(
    per_query: pl.DataFrame | pl.LazyFrame,
    measures: Sequence[MeasureColumns],
    passed: PassedKeys,
    missing: Missing = "error",
    grader: str | None = None,
    dependence: Dependence = "warn",
    *,
    with_curves: bool = False,
) -> ResultsByGrader:
    """Find and check the columns of a frame of results, and split it by grader.

    `passed.segments` names columns other than the strategy and the query, with one exception: if
    several columns form the query, it may also name some of them, but not all.
    """
    __tracebackhide__ = True
    check_choice("missing", missing, get_args(Missing))
    rows, requested = per_query.lazy().collect(), collect_measures(measures)
    keys = passed.find(rows, requested)
    check_keys(rows.schema, keys, requested)
    columns = find_measures(rows.schema, keys, requested, with_curves=with_curves)
    _check_equal_judgments(rows, keys)
    by_grader = ResultsByGrader(
        {
            name: Results(part, keys, *columns, requested, missing)
            for name, part in split_by_grader(rows, keys, [*chain(*columns)]).items()
        }
    )
    if grader is not None:
        by_grader = ResultsByGrader({str(grader): by_grader.get(grader)})
    for results in by_grader.by_name.values():
        check_independence(results.rows, keys, dependence)
    return by_grader


def split_by_grader(
    rows: pl.DataFrame, keys: Keys, value_columns: Collection[str]
) -> dict[str | None, pl.DataFrame]:
    """Return each grader's rows, for the queries that this grader judged.

    A query counts as judged if any strategy has a value of any measure. A query in two segments
    counts as two queries.
    """
    if keys.grader is None:
        return {None: rows}
    if (nulls := rows[keys.grader].null_count()) or rows.is_empty():
        got = f"{format_count(nulls, 'nulls')} in {format_count(rows.height, 'rows')}"
        got = "no rows" if rows.is_empty() else got
        msg = (
            f"column {keys.grader!r} of `per_query` must hold the name of a grader in each row, "
            f"got {got}"
        )
        raise ValueError(msg)
    values = {*value_columns, *filter(find_best, rows.columns)}
    is_judged = pl.any_horizontal(pl.col(values).is_not_null()).any().over(keys.identity)
    return {
        str(name): part.filter(is_judged).drop(keys.grader)
        for (name,), part in rows.partition_by(keys.grader, as_dict=True).items()
    }


def check_one_grader(argument: str, graders: Sequence[Any], hint: str) -> None:
    """Raise if a frame has the results of several graders."""
    if len(graders) > 1:
        msg = (
            f"`{argument}` must have the results of one grader, got {first_few(graders)}\n\n"
            f"Hint: {hint.format(graders[0])}"
        )
        raise ValueError(msg)


# Columns of measures


def find_measures(
    schema: pl.Schema,
    keys: Keys,
    requested: Mapping[str, str | None],
    *,
    with_curves: bool = False,
) -> tuple[list[str], list[str]]:
    """Return the columns of measures, and the columns of curves.

    If the caller requested no column of numbers, every column of numbers with the name of a measure
    is returned. Other columns of numbers are left out, since they may describe a query. If the
    caller requested no curve, every list of numbers is returned as a curve. A Boolean column is a
    measure only if it is requested.

    Raise if there is no column of a measure; with curves, a curve is enough. Without curves, also
    raise if a curve is requested.
    """
    others = {name: schema[name] for name in schema if name not in (keys.strategy, *keys.identity)}
    numbers = [
        name
        for name, dtype in others.items()
        if dtype.is_numeric() or (dtype == pl.Boolean and name in requested)
    ]
    lists = [
        name
        for name, dtype in others.items()
        if isinstance(dtype, pl.List) and dtype.inner.is_numeric()
    ]
    curves = lists if with_curves else []
    for name in requested:
        if name not in (*numbers, *curves):
            rule = "a number or a list of them" if with_curves else "one number per query"
            is_curve = "\n\nHint: name the measure at one rank instead of its curve"
            msg = f"measure {name!r} must be {rule}, got {schema[name]}"
            raise TypeError(msg + is_curve if name in lists else msg)
    own = [*filter(find_best, numbers)]
    ignored = [name for name in numbers if name not in (*own, keys.weights)]
    ignored = [name for name in ignored if schema[name].is_float()]
    if own and ignored and not requested:
        warn_the_caller(
            DataWarning.measures,
            "columns of numbers are ignored, since their names are not those of measures: "
            f"{', '.join(map(repr, ignored))}\n\nHint: pass the columns with their best values, "
            f"such as {{{ignored[0]!r}: 'highest'}}; or drop them",
        )
    chosen = [name for name in requested if name in numbers] or own
    curves = [name for name in requested if name in curves] or curves
    if not chosen and not curves:
        hint = ""
        if numbers:
            example = f"{{{numbers[0]!r}: 'highest'}}"
            hint = f"{HINT} pass each column with its best value, such as {example}"
        got = ", ".join(map(repr, numbers or schema))
        msg = (
            "`per_query` must have a column with the name of a measure, unless `measures` names "
            f"columns of numbers, got {got}{hint_at_maker('per_query', hint)}"
        )
        raise ValueError(msg)
    return chosen, curves


# Values


@dataclass(frozen=True)
class Results:
    """Results of one grader: values of all strategies for all queries, null if missing.

    A query in two segments counts as two queries. Each segment has all strategies. Queries of
    weight 0 are left out.
    """

    rows: pl.DataFrame
    keys: Keys
    measures: Sequence[str]
    """The columns of measures that are read."""
    curves: Sequence[str]
    """The columns of curves that are read."""
    requested: Mapping[str, str | None]
    """The columns that the caller named, with the measure or the best value that was passed."""
    missing: Missing

    @cached_property
    def best(self) -> dict[str, Best | None]:
        """Return which value of each measure is best; None if unknown."""
        texts = {name: self.requested.get(name) for name in self.measures}
        return {name: parse_best(text) if text else find_best(name) for name, text in texts.items()}

    @property
    def formulas(self) -> dict[str, str]:
        """Return the measures that the caller passed, such as `{"E": "e_measure@10"}`."""
        texts = {name: text for name, text in self.requested.items() if text}
        return {name: text for name, text in texts.items() if text not in get_args(Best)}

    @cached_property
    def _values(self) -> pl.DataFrame:
        return _select_rows(self.rows, [*self.measures, *self.curves], self.keys)

    @cached_property
    def _units(self) -> pl.DataFrame:
        return read_units(self.rows, self.keys)

    @cached_property
    def strategies(self) -> pl.Series:
        """Return each strategy once."""
        return order_strategies(self._values[self.keys.strategy])

    @property
    def queries(self) -> pl.Series:
        """Return the query of each column of values."""
        return self._units.to_series()

    @property
    def clusters(self) -> Integers | None:
        """Return the number of the cluster of each query; None without clusters."""
        return self._units[CLUSTER].to_numpy() if CLUSTER in self._units.columns else None

    @property
    def weights(self) -> Floats | None:
        """Return the weight of each query; None without weights."""
        return self._units[WEIGHT].to_numpy() if WEIGHT in self._units.columns else None

    @cached_property
    def frame(self) -> pl.DataFrame:
        """Return the values of each strategy, in the order of strategies and queries."""
        queries = self._units.drop(CLUSTER, WEIGHT, strict=False)
        grid = self.strategies.to_frame().join(queries, how="cross")
        on = grid.columns
        # Frames of `evaluate` usually have the rows of `grid` in this order, and need no join.
        if grid.equals(self._values.select(on)):
            return self._values
        return grid.join(self._values, on=on, how="left", nulls_equal=True, maintain_order="left")

    @cached_property
    def segment_indices(self) -> list[tuple[pl.DataFrame, Integers]]:
        """Return the key of each segment, as a frame of one row, and the indices of its queries."""
        names, numbers = self.keys.segments, np.arange(len(self.queries))
        if not names:
            return [(ALL_QUERIES, numbers)]
        numbered = self._units.select(*names, pl.Series(NUMBER, numbers))
        parts = numbered.partition_by(names) or [numbered]
        return [(part.select(names).head(1), part[NUMBER].to_numpy()) for part in parts]

    def with_best_values(self) -> Results:
        """Return the results; unless measures were passed, those for which a value is best.

        The number of relevant documents, for example, does not show which strategy is better.
        """
        names = [name for name in self.measures if self.best[name] in ("highest", "lowest")]
        return self if self.requested or not names else replace(self, measures=names)

    @property
    def shape(self) -> tuple[int, int]:
        """Return the numbers of strategies and queries."""
        return len(self.strategies), len(self.queries)

    def get_matrix(self, measure: str) -> MeasureMatrix:
        """Return a measure's values, without queries that have a missing value."""
        matrix, is_complete = self._read_values(measure)
        return matrix.select(np.flatnonzero(is_complete))

    def split_segments(self, measure: str) -> list[tuple[pl.DataFrame, MeasureMatrix]]:
        """Return the key of each segment, and the values of its queries.

        A query is left out if a strategy has no value for the query.
        """
        matrix, is_complete = self._read_values(measure)
        return [
            (key, matrix.select(indices[is_complete[indices]]))
            for key, indices in self.segment_indices
        ]

    def list_matrices(self) -> Iterator[MeasureMatrix]:
        """Yield the values of each measure; raise if there are too few strategies or queries."""
        if len(self.strategies) < 2:  # noqa: PLR2004
            msg = f"there must be at least 2 strategies, got {len(self.strategies)}"
            raise ValueError(msg)
        for measure in self.measures:
            matrix = self.get_matrix(measure)
            if (n := len(matrix.cluster_sizes)) < 2:  # noqa: PLR2004
                msg = f"measure {measure!r} must have at least 2 {matrix.unit_name}, got {n}"
                raise ValueError(msg)
            yield matrix

    def get_all_values(self, measure: str) -> MeasureMatrix:
        """Return the values of all queries, unchecked; NaN if missing."""
        values = self.frame[measure].cast(pl.Float64).to_numpy().reshape(self.shape)
        best = self.best[measure]
        return MeasureMatrix(measure, self.queries, values, best, self.clusters, self.weights)

    def _read_values(self, measure: str) -> tuple[MeasureMatrix, Mask]:
        """Return the checked values of a measure, and the mask of queries without a missing one.

        With `missing="zero"`, missing values are 0. This is an error if the lowest value is best,
        since 0 would be a good value, or if it is unknown which value is best.
        """
        matrix = self.get_all_values(measure)
        is_missing = np.isnan(matrix.values)
        name = f"measure {measure!r}"
        self._check(np.isinf(matrix.values), name, "must be finite, got infinity")
        rule = f"must be within {MAX_VALUE:g} of 0, since it is squared, got a larger value"
        self._check(np.abs(matrix.values) > MAX_VALUE, name, rule)
        if self.missing == "zero" and is_missing.any():
            if check_best(measure, matrix.best) == "lowest":
                msg = (
                    f"`missing` must be 'error' or 'drop' for {measure!r}, whose lowest value is "
                    "best, got 'zero'"
                )
                raise ValueError(msg)
            return replace(matrix, values=np.nan_to_num(matrix.values)), np.ones(matrix.n, bool)
        self._check_present(is_missing, self.frame[measure].is_null(), name)
        return matrix, np.logical_not(is_missing.any(axis=0))

    def find_queries_with_curve(self, curve: str) -> Mask:
        """Return the mask of the queries for which all strategies have a whole curve."""
        numbers = self.frame[curve].cast(pl.List(pl.Float64)).list
        is_whole = numbers.eval(pl.element().is_finite()).list.all().fill_null(value=False)
        is_missing = ~is_whole.to_numpy().reshape(self.shape)
        is_null = (numbers.len() > numbers.drop_nulls().list.len()).fill_null(value=True)
        self._check_present(is_missing, is_null, f"curve {curve!r}")
        return np.logical_not(is_missing.any(axis=0)) | (self.missing == "zero")

    def _check_present(self, is_missing: Mask, is_null: pl.Series, name: str) -> None:
        """Raise if a required value is missing.

        A query with null for all strategies is accepted, because `evaluate` writes null if the
        measure is undefined for the query.
        """
        if self.missing == "error":
            is_undefined = is_null.to_numpy().reshape(self.shape).all(axis=0)
            rule = "must have a value for each strategy and query, got no row, null or NaN"
            hint = (
                "missing='drop' leaves such a query out for all strategies, missing='zero' counts "
                "the value as 0"
            )
            self._check(is_missing & ~is_undefined, name, rule, hint)

    def _check(self, is_wrong: Mask, name: str, rule: str, hint: str = "") -> None:
        """Raise if values are wrong; the error counts the queries and names a few."""
        if is_wrong.any():
            rows = self.frame[:, :2].filter(pl.Series(is_wrong.ravel())).unique(maintain_order=True)
            count = f"{rows.to_series(1).n_unique()} of {self.queries.n_unique()} queries"
            msg = f"{name} {rule} in {count}: {_format_first_keys(rows)}"
            raise ValueError(f"{msg}\n\nHint: {hint}" if hint else msg)


def _check_equal_judgments(rows: pl.DataFrame, keys: Keys) -> None:
    """Raise if the judgments of a query differ between strategies.

    The fingerprints of `evaluate` differ if the judgments do.
    """
    names = {JUDGMENTS, DOCUMENTS} - {keys.strategy, *keys.identity}
    fingerprints = [name for name in names if rows.schema.get(name) == pl.String]
    if SETTINGS not in rows.columns or not fingerprints:
        return
    by_query = rows.group_by(*keys.identity, *list_columns(keys.grader))
    counts = by_query.agg(pl.col(fingerprints).drop_nulls().n_unique())
    if n := counts.filter(pl.any_horizontal(pl.col(fingerprints) > 1)).n_unique(keys.identity):
        msg = (
            f"`per_query` must have the same judgments for all strategies, got other judgments in "
            f"{n} of {format_count(counts.n_unique(keys.identity), 'queries')}\n\n"
            "Hint: evaluate all strategies with the same judgments; "
            f".drop({', '.join(map(repr, sorted(fingerprints)))}) compares them nevertheless"
        )
        raise ValueError(msg)


def _select_rows(rows: pl.DataFrame, columns: Sequence[str], keys: Keys) -> pl.DataFrame:
    """Return strategy, query and segment columns, followed by `columns`.

    Several query columns become one struct. Raise if a strategy is null, or has a query twice in a
    segment.
    """
    key_rows = rows.select(keys.strategy, keys.one, *keys.segments)
    if nulls := key_rows[keys.strategy].null_count():
        msg = f"strategy {keys.strategy!r} must not be null, got {nulls} nulls"
        raise ValueError(msg)
    if key_rows.n_unique() < key_rows.height:
        again = key_rows.filter(key_rows.is_duplicated()).unique().sort(key_rows.columns)
        occur = conjugate(again.height, "occur")
        msg = (
            f"each strategy must have each query once, but {again.height} {occur} several times: "
            f"{_format_first_keys(again)}{hint_at_maker('per_query')}"
        )
        raise ValueError(msg)
    return key_rows.hstack(rows.select(columns))


def order_strategies(strategies: pl.Series) -> pl.Series:
    """Return each strategy once.

    Strategies keep the order of rows if the rows of each strategy are adjacent; otherwise they are
    sorted.
    """
    runs = strategies.rle().struct.field("value").alias(strategies.name)
    return runs if runs.n_unique() == len(runs) else in_order(strategies)


def _format_first_keys(rows: pl.DataFrame) -> str:
    """Return the first few strategies and queries in words."""
    listed = rows.head(MAX_NAMED_KEYS).iter_rows()
    texts = [f"query {query!r} of {strategy!r}" for strategy, query, *_ in listed]
    return ", ".join(texts if rows.height <= MAX_NAMED_KEYS else [*texts, "..."])


def check_same_strategies(grader: str, other: str, own: pl.Series, others: pl.Series) -> list[int]:
    """Return the index in `others` of each strategy in `own`.

    Raise if the two graders do not have the same strategies.
    """
    if not own.sort().equals(others.sort(), check_names=False):
        msg = f"{grader!r} and {other!r} must have results of the same strategies"
        raise ValueError(msg)
    indices = {name: index for index, name in enumerate(others.to_list())}
    return [indices[name] for name in own.to_list()]


# Tables of statistics


EFFECTIVE = "effective_queries"
"""Column of the effective number of weighted queries, or of weighted clusters."""


def check_free_names(reserved: Iterable[str], **keys: Columns | None) -> None:
    """Raise if a key column has the name of another column of the result."""
    columns = {*reserved}
    for argument, key_columns in keys.items():
        for name in [] if key_columns is None else check_column_names(argument, key_columns):
            if name in columns:
                msg = (
                    f"`{argument}` must not have the name of a column of the result, got {name!r}"
                    "\n\nHint: rename the column"
                )
                raise ValueError(msg)


TEXT_COLUMNS = dict.fromkeys(("best", "verdict", "note", "test", "correction"), pl.String())
"""Types of text columns of statistics. Polars cannot infer these types if all values are null."""


def make_table(
    statistics: Mapping[str, Any] | Sequence[Mapping[str, Any]], **dtypes: pl.DataType
) -> pl.DataFrame:
    """Return statistics as a frame, with UInt32 counts and null for NaN.

    `dtypes` specifies the types of columns that are not in `TEXT_COLUMNS`.
    """
    frame = pl.DataFrame(
        statistics, schema_overrides={**TEXT_COLUMNS, **dtypes}, infer_schema_length=None
    )
    return frame.with_columns(cs.signed_integer().cast(pl.UInt32), cs.float().fill_nan(None))


def make_measure_table(
    measure: str,
    strategy_columns: Sequence[pl.Series],
    segment: pl.DataFrame,
    statistics: Mapping[str, Any],
) -> pl.DataFrame:
    """Return the statistics of a measure in a segment, preceded by key columns.

    A statistic is an array, or one value for all rows.
    """
    strategy, *others = (each.name for each in strategy_columns)
    reserved = ["measure", *others, *statistics]
    check_free_names(reserved, strategy=strategy, segments=segment.columns or None)
    height = len(strategy_columns[0])
    columns = {
        name: pl.repeat(value, height, eager=True) if np.ndim(value) == 0 else value
        for name, value in statistics.items()
    }
    first = segment.select(pl.lit(measure).alias("measure"), *segment.columns)
    return pl.DataFrame([*first[[0] * height], *strategy_columns, *make_table(columns)])


def count_units(matrix: MeasureMatrix) -> dict[str, float]:
    """Return the columns `clusters` and `effective_queries` of a table.

    Without clusters or weights, the column is left out.
    """
    counts: dict[str, float] = {}
    if matrix.clusters is not None:
        counts["clusters"] = len(matrix.cluster_sizes)
    if matrix.weights is not None:
        counts[EFFECTIVE] = float(matrix.effective_number)
    return counts
