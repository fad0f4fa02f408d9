"""Results per query: their key columns, their measures, and their checked values.

`open_results` is the way in for every function of results. It finds the key columns and the
measures of a frame, and splits the frame by grader.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import polars as pl
import polars.selectors as cs

from polars_graded._checks import (
    HINT,
    check_choice,
    check_column_name,
    check_column_names,
    check_columns,
    check_comparable,
    first_few,
    hint_at_maker,
)
from polars_graded._frames.arguments import Columns
from polars_graded._frames.request import DOCUMENTS, JUDGMENTS, SETTINGS
from polars_graded._frames.strategies import in_order
from polars_graded._frames.tables import GRADER, check_graders_named
from polars_graded._measuring.definitions import Best
from polars_graded._measuring.kernels.ragged import Floats, Integers, Mask
from polars_graded._measuring.measures import Measure
from polars_graded._results.keys import (
    CLUSTER,
    WEIGHT,
    Dependence,
    Keys,
    PassedKeys,
    check_independence,
    check_named_once,
    read_units,
)
from polars_graded._results.measure_values import (
    MeasureColumns,
    MeasureValues,
    check_best,
    find_best,
    list_named_columns,
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

    by_grader: Mapping[str | None, Results]
    """The results of each grader by name; the only key is None if the results have no graders."""

    def stack(self, function: Callable[[Results], pl.DataFrame]) -> pl.DataFrame:
        """Call a function for each grader, and stack its frames.

        If there are several graders, the result gets a column of graders.
        """
        __tracebackhide__ = True
        if len(self.by_grader) == 1:
            return function(self.only)
        tables = [
            function(each).select(pl.lit(name).alias(GRADER), "*")
            for name, each in self.by_grader.items()
        ]
        return pl.concat(tables, how="vertical_relaxed")

    def stack_measures(self, function: Callable[[MeasureValues], pl.DataFrame]) -> pl.DataFrame:
        """Call a function for the values of each measure of each grader, and stack its frames.

        Raise if there are too few strategies or queries.
        """
        return self.stack(lambda each: pl.concat(map(function, each.list_results())))

    @property
    def only(self) -> Results:
        """Return the results of the only grader; raise if there are several."""
        hint = "grader={!r} selects the results of one grader"
        check_one_grader("per_query", [*self.by_grader], hint)
        return next(iter(self.by_grader.values()))


def open_results(
    per_query: pl.DataFrame | pl.LazyFrame,
    measures: Sequence[MeasureColumns],
    passed_keys: PassedKeys,
    missing: Missing = "error",
    grader: str | None = None,
    dependence: Dependence = "warn",
    *,
    with_curves: bool = False,
) -> ResultsByGrader:
    """Find the key columns and the measures of a frame of results, and split it by grader.

    `passed_keys.segments` names columns other than the strategy and the query, with one exception:
    if several columns form the query, it may also name some of them, but not all.
    """
    __tracebackhide__ = True
    check_choice("missing", missing, get_args(Missing))
    rows = per_query.lazy().collect()
    keys = passed_keys.find(rows, measures)
    parts = split_by_grader(rows, keys, list_named_columns(measures))
    columns = find_measures(rows.schema, keys, measures, with_curves=with_curves)
    if grader is not None:
        check_grader("grader", grader, parts)
        parts = {grader: parts[grader]}
    results = {name: Results(part, columns, keys, missing) for name, part in parts.items()}
    for part in parts.values():
        check_independence(part, keys, dependence)
    return ResultsByGrader(results)


def split_by_grader(
    rows: pl.DataFrame, keys: Keys, measures: Sequence[str] = ()
) -> dict[str | None, pl.DataFrame]:
    """Return each grader's rows, for the queries that this grader judged.

    A query counts as judged if any strategy has any value for it. A query in two segments counts as
    two queries. If the column "grader" is the strategy, the query or a segment, the rows are not
    split.
    """
    if GRADER not in rows.columns or GRADER in {keys.strategy, *keys.identity}:
        return {None: rows}
    if rows.is_empty():
        msg = "`per_query` must have a row per grader, strategy and query, got none"
        raise ValueError(msg)
    check_graders_named(rows, "per_query")
    values = [name for name in rows.columns if name in measures or Measure.try_parse(name)]
    check_columns("per_query", keys.queries, rows.columns, argument="query")
    has_value = pl.any_horizontal(pl.col(values).is_not_null()) if values else pl.lit(value=True)
    # Segments may have queries of the same name.
    identity = [name for name in keys.identity if name in rows.columns]
    return {
        str(name): part.filter(has_value.any().over(identity)).drop(GRADER)
        for (name,), part in rows.partition_by(GRADER, as_dict=True).items()
    }


def check_grader(argument: str, grader: str, by_grader: Mapping[str | None, Any]) -> None:
    """Raise if there are no results of a grader."""
    if None in by_grader:
        msg = (
            f"`per_query` must have a column {GRADER!r} to distinguish graders\n\n"
            "Hint: evaluate(..., grade={'people': 'grade_1', 'model': 'grade_2'}) adds it"
        )
        raise ValueError(msg)
    check_choice(argument, grader, [str(each) for each in by_grader])


def check_one_grader(argument: str, graders: Sequence[Any], hint: str) -> None:
    """Raise if a frame has the results of several graders."""
    if len(graders) > 1:
        msg = (
            f"`{argument}` must have the results of one grader, got {first_few(graders)}\n\n"
            f"Hint: {hint.format(graders[0])}"
        )
        raise ValueError(msg)


# Columns of measures


@dataclass(frozen=True)
class ResultColumns:
    """The columns of measures and of curves that are read, and what the caller passed."""

    numbers: Sequence[str]
    curves: Sequence[str]
    requested: Mapping[str, str | None]
    """The columns that the caller named, with the measure or the best value that was passed."""

    @property
    def best(self) -> dict[str, Best | None]:
        """Return which value of each column is best; None if unknown."""
        texts = {name: self.requested.get(name) for name in (*self.numbers, *self.curves)}
        return {name: parse_best(text) if text else find_best(name) for name, text in texts.items()}

    @property
    def formulas(self) -> dict[str, str]:
        """Return the measures that the caller passed, such as `{"E": "e_measure@10"}`."""
        declared = {name: text for name, text in self.requested.items() if text}
        return {name: text for name, text in declared.items() if text not in get_args(Best)}


def find_measures(
    schema: pl.Schema, keys: Keys, measures: Sequence[MeasureColumns], *, with_curves: bool = False
) -> ResultColumns:
    """Find the columns of measures, and the columns of curves.

    If `measures` names no column of numbers, every column of numbers with the name of a measure is
    returned. Other columns of numbers are left out, since they may describe a query. If `measures`
    names no curve, every list of numbers is returned as a curve. A Boolean column is a measure only
    if `measures` names the column.

    Raise if there is no column of a measure; with curves, a curve is enough. Without curves, also
    raise if `measures` names a curve.
    """
    key_columns, requested = _check_keys(schema, keys), list_named_columns(measures)
    check_columns("per_query", requested, schema)
    check_named_once([*key_columns, *requested])
    for name in requested:
        kind = _find_kind(schema[name], is_requested=True)
        if kind is None or (kind == "curve" and not with_curves):
            rule = "a number or a list of them" if with_curves else "one number per query"
            hint = "\n\nHint: name the measure at one rank instead of its curve" if kind else ""
            msg = f"measure {name!r} must be {rule}, got {schema[name]}{hint}"
            raise TypeError(msg)
    kinds = {
        name: _find_kind(dtype, is_requested=name in requested)
        for name, dtype in schema.items()
        if name not in key_columns
    }
    numbers, lists = (
        [name for name, kind in kinds.items() if kind == wanted] for wanted in ("number", "curve")
    )
    own = [name for name in numbers if Measure.try_parse(name)]
    if own and not requested:
        _warn_of_ignored([name for name in numbers if name not in {*own, keys.weights}], schema)
    chosen = [name for name in requested if name in numbers] or own
    curves = [name for name in requested if name in lists] or lists if with_curves else []
    if not chosen and not curves:
        _refuse_no_measure(schema, numbers)
    declared = [each if isinstance(each, Mapping) else {each: None} for each in measures]
    texts = {name: text for each in declared for name, text in each.items()}
    return ResultColumns(chosen, curves, texts)


def _check_keys(schema: pl.Schema, keys: Keys) -> list[str]:
    """Return the key columns; raise if one is missing or of a wrong type.

    If several columns form the query, segments may be some of them, but not all.
    """
    shared = keys.queries if {*keys.queries} - {*keys.segments} else []
    segments = [name for name in keys.segments if name not in shared]
    identity = [check_column_name("strategy", keys.strategy), *keys.queries]
    columns = [*identity, *segments]
    check_columns("per_query", columns, schema)
    check_comparable(columns, schema)
    for name in identity:
        dtype = schema[name]
        if isinstance(dtype, pl.List | pl.Array) or (name == keys.strategy and dtype.is_nested()):
            msg = f"column {name!r} must hold single values that distinguish rows, got {dtype}"
            raise TypeError(msg)
    return columns


def _find_kind(dtype: pl.DataType, *, is_requested: bool) -> str | None:
    """Return "number" or "curve", the kind of measure that a column may hold; otherwise None."""
    if dtype.is_numeric() or (dtype == pl.Boolean and is_requested):
        return "number"
    inner = getattr(dtype, "inner", None)
    return "curve" if isinstance(dtype, pl.List) and inner and inner.is_numeric() else None


def _warn_of_ignored(columns: Sequence[str], schema: pl.Schema) -> None:
    """Warn of columns of numbers with fractions that are no measures."""
    ignored = [name for name in columns if schema[name].is_float()]
    if ignored:
        warn_the_caller(
            DataWarning.measures,
            f"columns of numbers are ignored, since their names are not those of measures: "
            f"{', '.join(map(repr, ignored))}\n\n"
            f"Hint: pass the columns with their best values, such as {{{ignored[0]!r}: "
            "'highest'}; or drop them",
        )


def _refuse_no_measure(schema: pl.Schema, numbers: Sequence[str]) -> None:
    """Raise, since no column has the name of a measure."""
    if not numbers:
        msg = f"`per_query` must have a column of numbers, got {', '.join(schema)}"
        raise ValueError(msg)
    example = f"{{{numbers[0]!r}: 'highest'}}"
    beginning = f"{HINT} pass each column with its best value, such as {example}"
    msg = (
        "`per_query` must have a column with the name of a measure, unless `measures` names "
        f"columns, got {first_few(numbers)}{hint_at_maker('per_query', beginning)}"
    )
    raise ValueError(msg)


# Values


class Results:
    """Results of one grader: values of all strategies for all queries, null if missing.

    A query in two segments counts as two queries. Each segment has all strategies. Queries of
    weight 0 are left out.
    """

    def __init__(
        self, rows: pl.DataFrame, columns: ResultColumns, keys: Keys, missing: Missing = "error"
    ) -> None:
        self.rows, self.columns, self.keys, self.missing = rows, columns, keys, missing
        self.measures, self.best, self.formulas = columns.numbers, columns.best, columns.formulas
        _check_equal_judgments(rows, keys)
        values = _select_rows(rows, [*columns.numbers, *columns.curves], keys)
        units = read_units(rows, keys)
        queries = units.select(values.columns[1 : 2 + len(keys.segments)])
        self.queries = queries.to_series()
        self.clusters, self.weights = (
            units[name].to_numpy() if name in units.columns else None for name in (CLUSTER, WEIGHT)
        )
        """The number of the cluster and the weight of each query; None without them."""
        self.strategies = order_strategies(values[keys.strategy])
        pairs = self.strategies.to_frame().join(queries, how="cross")
        on = pairs.columns
        # Frames of `evaluate` usually have the rows of `pairs` in this order, and need no join.
        self.frame = (
            values
            if pairs.equals(values.select(on))
            else pairs.join(values, on=on, how="left", nulls_equal=True, maintain_order="left")
        )
        self.segments = _find_segments(queries, keys.segments)
        """A pair for each segment: the key as a frame of one row, and the indices of queries."""

    def replace(self, **changes: Any) -> Results:
        """Return the results with other rows, columns, keys or missing values."""
        parts = {name: getattr(self, name) for name in ("rows", "columns", "keys", "missing")}
        return Results(**parts | changes)

    def with_best_values(self) -> Results:
        """Return the results; unless measures were passed, those for which a value is best.

        The number of relevant documents, for example, does not show which strategy is better.
        """
        names = [name for name in self.measures if self.best[name] in ("highest", "lowest")]
        if self.columns.requested or names in ([], self.measures):
            return self
        return self.replace(columns=replace(self.columns, numbers=names))

    @property
    def shape(self) -> tuple[int, int]:
        """Return the numbers of strategies and queries."""
        return len(self.strategies), len(self.queries)

    def get_results(self, measure: str) -> MeasureValues:
        """Return a measure's values, without queries that have a missing value."""
        results, is_complete = self._read_values(measure)
        return results.select(np.flatnonzero(is_complete))

    def split_segments(self, measure: str) -> list[tuple[pl.DataFrame, MeasureValues]]:
        """Return the key of each segment, and the values of its queries.

        A query is left out if a strategy has no value for the query.
        """
        results, is_complete = self._read_values(measure)
        return [(key, results.select(places[is_complete[places]])) for key, places in self.segments]

    def get_given_values(self, measure: str) -> MeasureValues:
        """Return the values of all queries as they are given; NaN if missing."""
        values = self.frame[measure].cast(pl.Float64).to_numpy().reshape(self.shape)
        best = self.best[measure]
        return MeasureValues(measure, self.queries, values, best, self.clusters, self.weights)

    def _read_values(self, measure: str) -> tuple[MeasureValues, Mask]:
        """Return the checked values of a measure, and the mask of queries without a missing one.

        Missing values are 0 with `missing="zero"`.
        """
        given = self.get_given_values(measure)
        values = self._fill_missing(given.values, measure)
        name = f"measure {measure!r}"
        self._check(np.isinf(values), name, "must be finite, got infinity")
        rule = f"must be within {MAX_VALUE:g} of 0, since it is squared, got a larger value"
        self._check(np.abs(values) > MAX_VALUE, name, rule)
        is_missing = np.isnan(values)
        self._check_present(is_missing, measure, name)
        return replace(given, values=values), np.logical_not(is_missing.any(axis=0))

    def list_results(self) -> Iterator[MeasureValues]:
        """Yield the values of each measure; raise if there are too few strategies or queries."""
        if len(self.strategies) < 2:  # noqa: PLR2004
            msg = f"there must be at least 2 strategies, got {len(self.strategies)}"
            raise ValueError(msg)
        for measure in self.measures:
            results = self.get_results(measure)
            if (n := len(results.cluster_sizes)) < 2:  # noqa: PLR2004
                units = "queries" if self.clusters is None else "clusters"
                msg = f"measure {measure!r} must have at least 2 {units}, got {n}"
                raise ValueError(msg)
            yield results

    def find_queries_with_curve(self, curve: str) -> Mask:
        """Return the mask of the queries for which all strategies have a whole curve."""
        numbers = self.frame[curve].cast(pl.List(pl.Float64)).list
        is_whole = numbers.eval(pl.element().is_finite()).list.all().fill_null(value=False)
        is_missing = is_whole.not_().to_numpy().reshape(self.shape)
        self._check_present(is_missing, curve, f"curve {curve!r}")
        return np.logical_not(is_missing.any(axis=0)) | (self.missing == "zero")

    def _fill_missing(self, values: Floats, measure: str) -> Floats:
        """Fill missing values with 0 if `missing` is "zero".

        With "zero", missing values raise an error if the lowest value is best, since 0 would be a
        good value. They also raise an error if it is unknown which value is best.
        """
        if self.missing != "zero" or not np.isnan(values).any():
            return values
        if check_best(measure, self.best[measure]) == "lowest":
            msg = (
                f"`missing` must be 'error' or 'drop' for {measure!r}, whose lowest value is best, "
                "got 'zero'"
            )
            raise ValueError(msg)
        return np.nan_to_num(values, posinf=np.inf, neginf=-np.inf)

    def _check_present(self, is_missing: Mask, column: str, name: str) -> None:
        """Raise if a required value is missing.

        A query with null for all strategies is accepted, because `evaluate` writes null if the
        measure is undefined for the query.
        """
        if self.missing == "error":
            is_undefined = _find_nulls(self.frame[column]).reshape(self.shape).all(axis=0)
            rule = "must have a value for each strategy and query, got no row, null or NaN"
            hint = (
                "missing='drop' leaves such a query out for all strategies, missing='zero' counts "
                "the value as 0"
            )
            self._check(is_missing.reshape(self.shape) & ~is_undefined, name, rule, hint)

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
    counts = rows.group_by(keys.identity).agg(pl.col(fingerprints).drop_nulls().n_unique())
    if n := counts.filter(pl.any_horizontal(pl.col(fingerprints) > 1)).height:
        msg = (
            f"`per_query` must have the same judgments for all strategies, got other judgments in "
            f"{n} of {format_count(counts.height, 'queries')}\n\n"
            "Hint: evaluate all strategies with the same judgments; "
            f".drop({', '.join(map(repr, sorted(fingerprints)))}) compares them nevertheless"
        )
        raise ValueError(msg)


def _select_rows(rows: pl.DataFrame, columns: Sequence[str], keys: Keys) -> pl.DataFrame:
    """Return strategy, query and segment columns, followed by `columns`.

    Several query columns become one struct. Raise if a strategy is null, or has a query twice in a
    segment.
    """
    names = rows.select(keys.strategy, keys.one, *keys.segments)
    if nulls := names[keys.strategy].null_count():
        msg = f"strategy {keys.strategy!r} must not be null, got {nulls} nulls"
        raise ValueError(msg)
    if names.n_unique() < names.height:
        again = names.filter(names.is_duplicated()).unique().sort(names.columns)
        occur = conjugate(again.height, "occur")
        msg = (
            f"each strategy must have each query once, but {again.height} {occur} several times: "
            f"{_format_first_keys(again)}{hint_at_maker('per_query')}"
        )
        raise ValueError(msg)
    return names.hstack(rows.select(columns))


def order_strategies(strategies: pl.Series) -> pl.Series:
    """Return each strategy once.

    Strategies keep the order of rows if the rows of each strategy are adjacent; otherwise they are
    sorted.
    """
    runs = strategies.rle().struct.field("value").alias(strategies.name)
    return runs if runs.n_unique() == len(runs) else in_order(strategies)


def _format_first_keys(keys: pl.DataFrame) -> str:
    """Return the first few strategies and queries in words."""
    listed = keys.head(MAX_NAMED_KEYS).iter_rows()
    texts = [f"query {query!r} of {strategy!r}" for strategy, query, *_ in listed]
    return ", ".join(texts if keys.height <= MAX_NAMED_KEYS else [*texts, "..."])


def check_same_strategies(grader: str, other: str, own: pl.Series, others: pl.Series) -> list[int]:
    """Return the index in `others` of each strategy in `own`.

    Raise if the two graders do not have the same strategies.
    """
    if not own.sort().equals(others.sort(), check_names=False):
        msg = f"{grader!r} and {other!r} must have results of the same strategies"
        raise ValueError(msg)
    indices = {name: index for index, name in enumerate(others.to_list())}
    return [indices[name] for name in own.to_list()]


def _find_nulls(values: pl.Series) -> Mask:
    """Return the mask of nulls, and of lists with a null."""
    are_null = values.is_null()
    if isinstance(values.dtype, pl.List):
        are_null |= values.list.len() > values.list.drop_nulls().list.len()
    return are_null.to_numpy()


def _find_segments(
    queries: pl.DataFrame, segments: Sequence[str]
) -> list[tuple[pl.DataFrame, Integers]]:
    """Return the key of each segment, and the indices of its queries."""
    indices = np.arange(queries.height)
    if not segments:
        return [(ALL_QUERIES, indices)]
    parts = queries.select(segments).partition_by(segments) or [queries.select(segments)]
    ends = np.cumsum([part.height for part in parts])
    return [*zip((part.head(1) for part in parts), np.split(indices, ends[:-1]), strict=True)]


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
    segment: pl.DataFrame,
    names: Sequence[pl.Series],
    statistics: Mapping[str, Any],
    **dtypes: pl.DataType,
) -> pl.DataFrame:
    """Return the statistics of a measure in a segment, preceded by key columns."""
    strategy, *others = (each.name for each in names)
    reserved = ["measure", *others, *statistics]
    check_free_names(reserved, strategy=strategy, segments=segment.columns or None)
    columns = make_table(statistics, **dtypes)
    first = segment.select(pl.lit(measure).alias("measure"), *segment.columns)
    repeated = first[[0] * columns.height].get_columns()
    return pl.DataFrame([*repeated, *names, *columns])


def count_units(results: MeasureValues, length: int) -> dict[str, Any]:
    """Return the columns `clusters` and `effective_queries` of a table with `length` rows.

    Without clusters or weights, the column is left out.
    """
    counts: dict[str, Any] = {}
    if results.clusters is not None:
        counts["clusters"] = np.full(length, len(results.cluster_sizes))
    if results.weights is not None:
        counts[EFFECTIVE] = np.full(length, float(results.effective_number))
    return counts
