"""Open frames of results: find their keys, split them by grader, and check their columns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

import polars as pl

from polars_graded._checks import (
    HINT,
    check_choice,
    check_column_name,
    check_columns,
    check_comparable,
    first_few,
    hint_at_maker,
)
from polars_graded._frames.inputs import GRADER, check_graders_named
from polars_graded._frames.request import DOCUMENTS, JUDGMENTS, SETTINGS
from polars_graded._measuring.names import Measure
from polars_graded._results.grid import Grid, Missing, format_first_keys
from polars_graded._results.keys import (
    Keys,
    PassedKeys,
    check_independence,
    check_named_once,
    collect_column_names,
    read_clusters,
    read_weights,
)
from polars_graded._results.measure_values import MeasureColumns, find_best, list_named_columns
from polars_graded._sentences import conjugate, format_count
from polars_graded._warnings import DataWarning, warn_the_caller

Dependence: TypeAlias = Literal["warn", "refuse", "ignore"]
"""Treatment of queries that probably depend on each other, if `cluster` is not passed."""


@dataclass(frozen=True)
class ResultSet:
    """Results of one grader: their rows, the measures that are read, and their key columns."""

    rows: pl.DataFrame | pl.LazyFrame
    measures: Sequence[MeasureColumns]
    keys: Keys
    missing: Missing = "error"

    def read_grid(self, dependence: Dependence = "warn", *, apart: bool = True) -> Grid:
        """Return the checked values of the measures, with their clusters and weights.

        If segments are not kept `apart`, queries of different segments may depend on each other as
        well. Queries of weight 0 are left out.
        """
        keys = self.keys
        numbers, _ = self.find_measures()
        names = collect_column_names(keys.query, keys.strategy, keys.segments)
        fingerprints = _find_fingerprints(self.rows.collect_schema(), names)
        rows = collect_rows(self.rows, [*numbers, *fingerprints], keys)
        _check_equal_judgments(rows.drop(keys.strategy, *numbers), fingerprints)
        clusters = None if keys.cluster is None else read_clusters(self.rows, keys)
        weights = None if keys.weights is None else read_weights(self.rows, keys)
        if weights is not None:
            on = weights.columns[:-1]
            rows = rows.join(weights, on=on, how="semi", nulls_equal=True, maintain_order="left")
        grid = Grid(
            rows.drop(fingerprints),
            self.missing,
            measures=self.measures,
            segments=keys.segments,
            clusters=clusters,
            weights=weights,
        )
        if dependence != "ignore":
            within = keys.segments if apart else ()
            check_independence(self.rows, keys, within, decides=dependence == "refuse")
        return grid

    def with_best_values(self) -> ResultSet:
        """Return the results; unless measures were passed, those for which a value is best.

        The number of relevant documents, for example, does not show which strategy is better.
        """
        if self.measures:
            return self
        numbers, _ = self.find_measures()
        chosen = [name for name in numbers if find_best(name) in ("highest", "lowest")]
        return replace(self, measures=chosen or numbers)

    def restrict(self, other: ResultSet) -> ResultSet:
        """Return the results of the queries that `other` has too."""
        queries = other.rows.lazy().select(self.keys.queries).unique()
        rows = self.rows.lazy().join(queries, on=self.keys.queries, how="semi", nulls_equal=True)
        return replace(self, rows=rows.collect())

    def find_measures(self, *, curves: bool = False) -> tuple[list[str], list[str]]:
        """Return the columns of measures, and the columns of curves.

        If `measures` names no column of numbers, every column of numbers with the name of a measure
        is returned. Other columns of numbers are left out, since they may describe a query. If
        `measures` names no curve, every list of numbers is returned as a curve. A Boolean column is
        a measure only if `measures` names the column.

        Raise if there is no column of a measure; with `curves`, a curve is enough. Without
        `curves`, also raise if `measures` names a curve.
        """
        schema, keys = self.rows.collect_schema(), self._check_keys()
        requested = list_named_columns(self.measures)
        check_columns("per_query", requested, schema)
        check_named_once([*keys, *requested])
        kinds = ("number", "curve") if curves else ("number",)
        for name in requested:
            if _find_kind(schema[name], is_requested=True) not in kinds:
                rule = "a number or a list of them" if curves else "one number per query"
                hint = "\n\nHint: name the measure at one rank instead of its curve"
                msg = f"measure {name!r} must be {rule}, got {schema[name]}"
                raise TypeError(msg + hint if schema[name].is_nested() and not curves else msg)
        columns = {
            name: _find_kind(dtype, is_requested=name in requested)
            for name, dtype in schema.items()
            if name not in keys
        }
        numbers, lists = (
            [name for name in columns if columns[name] == kind] for kind in ("number", "curve")
        )
        measure_columns = [name for name in numbers if Measure.parsed(name)]
        chosen = [name for name in requested if name in numbers] or measure_columns
        chosen_curves = [name for name in requested if name in lists] or lists
        if measure_columns and not requested:
            ignored = {*numbers} - {*chosen, self.keys.weights}
            _warn_of_ignored([name for name in numbers if name in ignored], schema)
        check_columns("per_query", [*chosen, *chosen_curves], schema)
        if chosen or (curves and chosen_curves):
            return chosen, chosen_curves
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

    def _check_keys(self) -> list[str]:
        """Return the key columns; raise if one is missing or of a wrong type.

        If several columns form the query, segments may be some of them, but not all.
        """
        schema, queries = self.rows.collect_schema(), self.keys.queries
        shared = queries if {*queries} - {*self.keys.segments} else []
        segments = [name for name in self.keys.segments if name not in shared]
        identity = [check_column_name("strategy", self.keys.strategy), *queries]
        keys = [*identity, *segments]
        check_columns("per_query", keys, schema)
        check_comparable(keys, schema)
        for name in identity:
            dtype = schema[name]
            if isinstance(dtype, pl.List | pl.Array) or (name == keys[0] and dtype.is_nested()):
                msg = f"column {name!r} must hold single values that distinguish rows, got {dtype}"
                raise TypeError(msg)
        return keys


@dataclass(frozen=True)
class ResultSets:
    """Results of one or several graders."""

    by_grader: Mapping[str | None, ResultSet]
    """The results of each grader by name; the only key is None if the results have no graders."""

    def stack(self, function: Callable[[ResultSet], pl.DataFrame]) -> pl.DataFrame:
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

    @property
    def only(self) -> ResultSet:
        """Return the results of the only grader; raise if there are several."""
        hint = "grader={!r} selects the results of one grader"
        check_one_grader("per_query", [*self.by_grader], hint)
        return next(iter(self.by_grader.values()))

    def select(self, grader: str | None) -> ResultSets:
        """Return the results of one grader; all of them if `grader` is None."""
        if grader is None:
            return self
        self.check_grader("grader", grader)
        return replace(self, by_grader={grader: self.by_grader[grader]})

    def check_grader(self, argument: str, grader: str) -> None:
        """Raise if there are no results of a grader."""
        if None in self.by_grader:
            msg = (
                f"`per_query` must have a column {GRADER!r} to distinguish graders\n\n"
                "Hint: evaluate(..., grade={'people': 'grade_1', 'model': 'grade_2'}) adds it"
            )
            raise ValueError(msg)
        check_choice(argument, grader, [str(each) for each in self.by_grader])


def open_results(
    rows: pl.DataFrame | pl.LazyFrame,
    measures: Sequence[MeasureColumns],
    keys: PassedKeys,
    missing: Missing = "error",
    grader: str | None = None,
) -> ResultSets:
    """Find the key columns of a frame of results, and split it by grader.

    `keys.segments` names columns other than the strategy and the query, with one exception: if
    several columns form the query, it may also name some of them, but not all.
    """
    __tracebackhide__ = True
    check_choice("missing", missing, get_args(Missing))
    found_keys = keys.find(rows, measures)
    results = {
        name: ResultSet(part, measures, found_keys, missing)
        for name, part in split_by_grader(rows, found_keys, collect_column_names(*measures)).items()
    }
    return ResultSets(results).select(grader)


def split_by_grader(
    frame: pl.DataFrame | pl.LazyFrame, keys: Keys, measures: Collection[str] = ()
) -> dict[str | None, Any]:
    """Return each grader's rows, for the queries that this grader judged.

    A query counts as judged if any strategy has any value for it. A query in two segments counts as
    two queries. If the column "grader" is the strategy, the query or a segment, the rows are not
    split.
    """
    others = {keys.strategy, *keys.queries, *keys.segments}
    if GRADER not in frame.collect_schema() or GRADER in others:
        return {None: frame}
    frame = frame.lazy().collect()
    if frame.is_empty():
        msg = "`per_query` must have a row per grader, strategy and query, got none"
        raise ValueError(msg)
    check_graders_named(frame, "per_query")
    values = [name for name in frame.columns if name in measures or Measure.parsed(name)]
    check_columns("per_query", keys.queries, frame.columns, argument="query")
    has_value = pl.any_horizontal(pl.col(values).is_not_null()) if values else pl.lit(value=True)
    # Segments may have queries of the same name.
    identity = [name for name in keys.identity if name in frame.columns]
    return {
        str(name): rows.filter(has_value.any().over(identity)).drop(GRADER)
        for (name,), rows in frame.partition_by(GRADER, as_dict=True).items()
    }


def check_one_grader(argument: str, graders: Sequence[Any], hint: str) -> None:
    """Raise if a frame has the results of several graders."""
    if len(graders) > 1:
        msg = (
            f"`{argument}` must have the results of one grader, got {first_few(graders)}\n\n"
            f"Hint: {hint.format(graders[0])}"
        )
        raise ValueError(msg)


# Checks of a frame


def _find_kind(dtype: pl.DataType, *, is_requested: bool) -> str | None:
    """Return "number" or "curve", the kind of measure that a column may hold; otherwise None."""
    if dtype.is_numeric() or (dtype == pl.Boolean and is_requested):
        return "number"
    inner = getattr(dtype, "inner", None)
    return "curve" if isinstance(dtype, pl.List) and inner and inner.is_numeric() else None


def _warn_of_ignored(columns: Sequence[str], schema: Mapping[str, pl.DataType]) -> None:
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


def _find_fingerprints(schema: pl.Schema, keys: Collection[str]) -> list[str]:
    """Return the fingerprint columns of `evaluate`, except key columns."""
    if SETTINGS not in schema:
        return []
    names = (JUDGMENTS, DOCUMENTS)
    return [each for each in names if schema.get(each) == pl.String and each not in keys]


def _check_equal_judgments(rows: pl.DataFrame, fingerprints: Sequence[str]) -> None:
    """Raise if the judgments of a query differ between strategies.

    Different fingerprints mean different judgments. `rows` has the columns of queries, segments and
    fingerprints.
    """
    if not fingerprints:
        return
    keys = [each for each in rows.columns if each not in fingerprints]
    counts = rows.group_by(keys).agg(pl.col(fingerprints).drop_nulls().n_unique())
    if n := counts.filter(pl.any_horizontal(pl.col(fingerprints) > 1)).height:
        msg = (
            f"`per_query` must have the same judgments for all strategies, got other judgments in "
            f"{n} of {format_count(counts.height, 'queries')}\n\n"
            "Hint: evaluate all strategies with the same judgments; "
            f".drop({', '.join(map(repr, fingerprints))}) compares them nevertheless"
        )
        raise ValueError(msg)


def collect_rows(
    per_query: pl.DataFrame | pl.LazyFrame, columns: Sequence[str], keys: Keys
) -> pl.DataFrame:
    """Collect strategy, query and segment columns, followed by `columns`.

    Several query columns become one struct. Raise if a strategy is null, or has a query twice in a
    segment.
    """
    frame = per_query.lazy().select(keys.strategy, keys.one, *keys.segments, *columns).collect()
    names = frame.columns[: 2 + len(keys.segments)]
    if nulls := frame[keys.strategy].null_count():
        msg = f"strategy {keys.strategy!r} must not be null, got {nulls} nulls"
        raise ValueError(msg)
    rows = frame.select(names)
    if rows.n_unique() < rows.height:
        again = rows.filter(rows.is_duplicated()).unique().sort(names)
        occur = conjugate(again.height, "occur")
        msg = (
            f"each strategy must have each query once, but {again.height} {occur} several times: "
            f"{format_first_keys(again)}{hint_at_maker('per_query')}"
        )
        raise ValueError(msg)
    return frame
