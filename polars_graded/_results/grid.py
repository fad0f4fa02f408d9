"""Values of results as arrays: one row per strategy, one column per query."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import polars as pl
import polars.selectors as cs

from polars_graded._checks import check_choice, check_column_names
from polars_graded._frames import sorting
from polars_graded._frames.arguments import Columns
from polars_graded._measuring.definitions import Best
from polars_graded._measuring.kernels.ragged import Floats, Integers, Mask
from polars_graded._results.keys import number_clusters
from polars_graded._results.measure_values import (
    MeasureColumns,
    MeasureValues,
    check_best,
    find_best,
    list_declared_measures,
    parse_best,
)

Missing: TypeAlias = Literal["error", "drop", "zero"]

MAX_VALUE = 1e150
"""Maximum magnitude of a value, so that sums of squares do not overflow."""


ALL_QUERIES = pl.DataFrame(height=1)
"""Key of the only segment if the caller names no segments: a frame of one row without columns."""


MAX_NAMED_KEYS = 3
"""Maximum number of pairs of a strategy and a query that an error lists."""


def check_same_strategies(grader: str, other: str, own: pl.Series, others: pl.Series) -> list[int]:
    """Return the index in `others` of each strategy in `own`.

    Raise if the two graders do not have the same strategies.
    """
    if not own.sort().equals(others.sort(), check_names=False):
        msg = f"{grader!r} and {other!r} must have results of the same strategies"
        raise ValueError(msg)
    indices = {name: index for index, name in enumerate(others.to_list())}
    return [indices[name] for name in own.to_list()]


def order_strategies(strategies: pl.Series) -> pl.Series:
    """Return each strategy once.

    Strategies keep the order of rows if the rows of each strategy are adjacent; otherwise they are
    sorted.
    """
    runs = strategies.rle().struct.field("value").alias(strategies.name)
    return runs if runs.n_unique() == len(runs) else sorting.in_order(strategies)


def format_first_keys(keys: pl.DataFrame) -> str:
    """Return the first few strategies and queries in words."""
    listed = keys.head(MAX_NAMED_KEYS).iter_rows()
    texts = [f"query {query!r} of {strategy!r}" for strategy, query, *_ in listed]
    return ", ".join(texts if keys.height <= MAX_NAMED_KEYS else [*texts, "..."])


class Grid:
    """Values of all strategies for all queries, with null for missing ones.

    A query in two segments counts as two queries. Each segment has all strategies.
    """

    def __init__(
        self,
        frame: pl.DataFrame,
        missing: Missing,
        strategies: pl.Series | None = None,
        measures: Sequence[MeasureColumns] = (),
        segments: Sequence[str] = (),
        clusters: pl.DataFrame | None = None,
        weights: pl.DataFrame | None = None,
    ) -> None:
        check_choice("missing", missing, get_args(Missing))
        strategy, query, *others = frame.columns
        # The frame has the columns strategy, query, segments and measures, in this order.
        self.segment_columns, self.measures = [*segments], others[len(segments) :]
        declared = list_declared_measures(measures)
        self.best = {name: find_best(name) for name in self.measures}
        self.best |= {name: parse_best(text) for name, text in declared.items()}
        self.formulas = {
            name: text for name, text in declared.items() if text not in get_args(Best)
        }
        """Measures that the caller passed by column, such as `{"E": "e_measure@10"}`."""
        self.strategies = order_strategies(frame[strategy]) if strategies is None else strategies
        queries = frame.select(query, *segments).unique().sort(*segments, query)
        self.queries = queries[query]
        self.clusters = None if clusters is None else number_clusters(queries, clusters)
        """The number of the cluster of each query; None without clusters."""
        self.weights = None
        """The weight of each query; None without weights."""
        if weights is not None:
            on = queries.columns
            joined = queries.join(
                weights, on=on, how="left", nulls_equal=True, maintain_order="left"
            )
            self.weights = joined.to_series(-1).to_numpy()
        self.missing = missing
        keys = self.strategies.to_frame().join(queries, how="cross")
        on = keys.columns
        # Frames of `evaluate` usually have the rows of `keys` in this order, and need no join.
        self.frame = (
            frame
            if keys.equals(frame.select(on))
            else keys.join(frame, on=on, how="left", nulls_equal=True, maintain_order="left")
        )
        self.segments = _find_segments(queries, segments)
        """A pair for each segment: the key as a frame of one row, and the indices of queries."""

    @property
    def shape(self) -> tuple[int, int]:
        """Return the numbers of strategies and queries."""
        return len(self.strategies), len(self.queries)

    def get_given_values(self, measure: str) -> Floats:
        """Return an array of one row per strategy and one column per query; NaN if missing."""
        return self.frame[measure].cast(pl.Float64).to_numpy().reshape(self.shape)

    def get_values(self, measure: str) -> Floats:
        """Return the values; missing values are 0 with `missing="zero"`."""
        return self._fill_missing(self.get_given_values(measure), measure)

    def get_results(self, measure: str) -> MeasureValues:
        """Return a measure's values, without queries that have a missing value."""
        results, is_complete = self._get_all_values(measure)
        return results.select(np.flatnonzero(is_complete))

    def split_segments(self, measure: str) -> list[tuple[pl.DataFrame, MeasureValues]]:
        """Return the key of each segment, and the values of its queries.

        A query is left out if a strategy has no value for the query.
        """
        results, is_complete = self._get_all_values(measure)
        return [(key, results.select(places[is_complete[places]])) for key, places in self.segments]

    def _get_all_values(self, measure: str) -> tuple[MeasureValues, Mask]:
        """Return the values of a measure, and the mask of queries without a missing value."""
        values = self.get_values(measure)
        name = f"measure {measure!r}"
        self._check(np.isinf(values), name, "must be finite, got infinity")
        rule = f"must be within {MAX_VALUE:g} of 0, since it is squared, got a larger value"
        self._check(np.abs(values) > MAX_VALUE, name, rule)
        is_missing = np.isnan(values)
        self._check_present(is_missing, measure, name)
        is_complete = np.logical_not(is_missing.any(axis=0))
        best, clusters, weights = self.best[measure], self.clusters, self.weights
        results = MeasureValues(measure, self.queries, values, best, clusters, weights)
        return results, is_complete

    def get_best_values(self, measures: Sequence[str]) -> dict[str, Best]:
        """Return which value of each measure is best; raise if that is unknown."""
        return {name: check_best(name, self.best[name]) for name in measures}

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

    def check_curve_length(self, *curves: str) -> int:
        """Return the length of the lists of curves; 0 if all lists are missing."""
        return check_list_length(self.frame, curves, " and ".join(map(repr, curves)))

    def get_curve(self, curve: str, length: int) -> Floats:
        """Return the values of a curve, with a third axis for its points."""
        points = spread_lists(self.frame[curve], length)
        name = f"curve {curve!r}"
        self._check(np.isinf(points).any(axis=1), name, "must be finite, got infinity")
        self._check_present(np.isnan(points).any(axis=1), curve, name)
        return self._fill_missing(points, curve).reshape(*self.shape, length)

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
            msg = f"{name} {rule} in {count}: {format_first_keys(rows)}"
            raise ValueError(f"{msg}\n\nHint: {hint}" if hint else msg)


def check_list_length(frame: pl.DataFrame, columns: Sequence[str], argument: str) -> int:
    """Return the common length of the lists in columns; 0 without lists."""
    lengths: Any = pl.concat([frame[column].list.len().drop_nulls() for column in columns])
    if lengths.n_unique() > 1:
        msg = (
            f"the lists of {argument} must all have the same length, as for a curve with a cutoff, "
            f"got {lengths.min()} to {lengths.max()}"
        )
        raise ValueError(msg)
    return lengths.max() or 0


def spread_lists(lists: pl.Series, length: int) -> Any:
    """Return lists of one length as rows of an array; NaN for null, and for a missing list."""
    has_list = lists.is_not_null().to_numpy()
    rows = lists.drop_nulls().cast(pl.List(pl.Float64))
    points = np.full((len(lists), length), np.nan)
    flat = rows.explode(empty_as_null=False).fill_null(np.nan).to_numpy()
    points[has_list] = flat.reshape(-1, length) if length else flat.reshape(len(rows), 0)
    return points


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


TEXTS = dict.fromkeys(("best", "verdict", "note", "test", "correction"), pl.String())
"""Types of text columns of statistics. Polars cannot infer these types if all values are null."""


def make_table(
    statistics: Mapping[str, Any] | Sequence[Mapping[str, Any]], **dtypes: pl.DataType
) -> pl.DataFrame:
    """Return statistics as a frame, with UInt32 counts and null for NaN.

    `dtypes` specifies the types of columns that are not in `TEXTS`.
    """
    frame = pl.DataFrame(statistics, schema_overrides={**TEXTS, **dtypes}, infer_schema_length=None)
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
