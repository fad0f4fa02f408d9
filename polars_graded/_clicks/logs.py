"""Click logs: their columns, checks of their rows, and counts of clicks.

All counts are sums of whole numbers. Such sums are exact, whatever the order of the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import signature
from typing import Any, Concatenate, NoReturn, ParamSpec, Protocol, overload

import polars as pl

from polars_graded._checks import (
    check_column_name,
    check_columns,
    check_comparable,
    check_frame,
    check_level,
    first_few,
)
from polars_graded._frames.sources import scan_frames

KEYS = ["query", "doc"]

LISTS = ["query", "session"]
"""Columns that identify a result list: the documents shown for one query in one session."""

COLUMNS = ("query", "doc", "rank", "clicked", "impressions", "session")
"""Arguments that name columns of a log. `Log.rows` uses the arguments as column names."""

FLAG = 1 << 32
"""Number that replaces each invalid value in a sum of counts. If the valid values add up to less
than `FLAG`, `sum % FLAG` is the sum of the valid values, and `sum // FLAG` is the number of invalid
values."""


class Collect(Protocol):
    """A function that collects lazy frames."""

    def __call__(self, *plans: pl.LazyFrame) -> list[pl.DataFrame]: ...


@dataclass(frozen=True)
class Log:
    """Rows of a click log, with the user's column names replaced.

    With `query="text"`, for example, the column "text" of the frame becomes "query" in `rows`.
    """

    rows: pl.LazyFrame
    is_lazy: bool
    names: dict[str, str]
    """The user's column names by argument, such as `{"query": "text"}`."""

    @classmethod
    def read(cls, log: Any, names: dict[str, str]) -> Log:
        """Check the columns of a frame of any kind, and return them as a log."""
        frame = check_frame("log", log)
        schema = frame.collect_schema()
        for argument, column in names.items():
            check_columns("log", [check_column_name(argument, column)], schema, argument=argument)
        columns = [*names.values()]
        check_comparable(columns, schema)
        if repeated := [each for each in columns if columns.count(each) > 1]:
            msg = f"each argument must name a different column of `log`, got {repeated[0]!r} twice"
            raise ValueError(msg)
        for argument in ("rank", "impressions"):
            if argument in names:
                check_whole_type(names[argument], schema)
        kind = schema[names["clicked"]]
        if not (kind == pl.Boolean or kind.is_numeric()):
            hint = f"log.with_columns(pl.col({names['clicked']!r}) == 'yes') converts texts"
            refuse(names["clicked"], "be Boolean, or 0 and 1", kind, hint, TypeError)
        others = [each for each in schema if each not in columns and each not in names]
        renamed = [pl.col(column).alias(name) for name, column in names.items()]
        return cls(frame.lazy().select(*renamed, *others), isinstance(frame, pl.LazyFrame), names)

    def find_names(self, columns: Sequence[str]) -> list[str]:
        """Translate the user's names of columns to the names in `rows`."""
        schema = self.rows.collect_schema()
        names_in_rows = {column: name for name, column in self.names.items()}
        for name in columns:
            if name not in self.names or name in names_in_rows:
                continue
            msg = (
                f"column {name!r} cannot be used, since {name}={self.names[name]!r} gives the name "
                f"{name!r} to another column\n\nHint: rename the column"
            )
            raise ValueError(msg)
        check_columns("log", columns, [self.names.get(each, each) for each in schema])
        names = [names_in_rows.get(each, each) for each in columns]
        check_comparable(names, schema)
        return names

    @property
    def impressions(self) -> pl.Expr:
        """Sum the impressions of a group; an invalid value counts as `FLAG`."""
        if "impressions" not in self.names:
            return pl.len().cast(pl.Int64).alias("impressions")
        return sum_checked(pl.col("impressions"), pl.col("impressions") >= 0, "impressions")

    @property
    def clicks(self) -> pl.Expr:
        """Sum the clicks of a group; an invalid value counts as `FLAG`."""
        clicked = pl.col("clicked")
        # The cast turns NaN into null, which is invalid.
        count = clicked.cast(pl.Int64, strict=False)
        is_valid = count.is_between(0, pl.col("impressions") if "impressions" in self.names else 1)
        if self.rows.collect_schema()["clicked"] != pl.Boolean:
            is_valid &= count == clicked
        return sum_checked(count, is_valid, "clicks")

    def count(self, *keys: str) -> pl.LazyFrame:
        """Return the impressions and clicks of each group of rows with equal keys."""
        return self.rows.group_by(keys).agg(self.impressions, self.clicks)

    def run(self, compute: Callable[[Collect], pl.DataFrame]) -> pl.DataFrame | pl.LazyFrame:
        """Return the result of `compute`, as a LazyFrame if the log is lazy.

        `compute` takes a function that collects plans. The result gets the user's column names.
        """

        def collect(*plans: pl.LazyFrame) -> list[pl.DataFrame]:
            return pl.collect_all(plans, engine="streaming")

        if not self.is_lazy:
            return self.rename(compute(collect))
        # The schema of a LazyFrame must be known before the data are collected. So `compute` first
        # gets a function that returns an empty frame for each plan. The result of this call is
        # empty too, and has the schema of the LazyFrame.
        schema = compute(lambda *plans: [each.collect_schema().to_frame() for each in plans])
        return scan_frames(
            self.rename(schema).schema, lambda *_: iter([self.rename(compute(collect))])
        )

    def rename(self, table: pl.DataFrame) -> pl.DataFrame:
        """Rename columns to the user's names; `impressions` keeps its name."""
        renamed = {
            name: new
            for name, new in self.names.items()
            if name in table.columns and name not in {new, "impressions"}
        }
        for new in renamed.values():
            if new in table.columns:
                msg = (
                    f"a column of `log` must not have the name of a result column, got {new!r}\n\n"
                    f"Hint: log.rename({{{new!r}: 'another name'}})"
                )
                raise ValueError(msg)
        return table.rename(renamed)

    def check_counts(self, table: pl.DataFrame, checked_by_rank: str | None = None) -> pl.DataFrame:
        """Return a table of counts, or raise if it contains invalid values.

        `checked_by_rank` names a column of sums, to which each invalid rank has added `FLAG`.
        """
        for name in ("query", "doc", "rank"):
            if name in table.columns and (nulls := table.filter(pl.col(name).is_null())).height:
                got = f"null in {_count_impressions(nulls)} {self._unit}"
                refuse(self.names[name], "not be null", got)
        if invalid := _count_flags(table, "impressions"):
            refuse(self.names["impressions"], "contain counts", f"another value in {invalid} rows")
        if invalid := _count_flags(table, "clicks"):
            rule, hint = "contain counts from 0 to the impressions of the row", ""
            if "impressions" not in self.names:
                rule = "be 0 or 1, or Boolean, and not null"
                hint = (
                    "fill_null(0) or fill_null(False) if null means no click; impressions= names "
                    "the column of impressions if rows are already summed"
                )
            refuse(self.names["clicked"], rule, f"another value in {invalid} rows", hint)
        if checked_by_rank is not None and (invalid := _count_flags(table, checked_by_rank)):
            refuse(self.names["rank"], "be at least 1", f"null or a rank below 1 in {invalid} rows")
        if "rank" in table.columns:
            if (low := table.filter(pl.col("rank") < 1)).height:
                got, column = first_few(low["rank"].unique().sort().to_list()), self.names["rank"]
                hint = f"log.with_columns(pl.col({column!r}) + 1) if ranks count from 0"
                refuse(
                    column,
                    "be at least 1",
                    f"{got} in {_count_impressions(low)} {self._unit}",
                    hint,
                )
            _check_no_gaps(table)
        return table

    @property
    def _unit(self) -> str:
        """Return the word for the counted unit in errors: impressions or rows."""
        return "impressions" if "impressions" in self.names else "rows"


P = ParamSpec("P")


class LogFunction(Protocol[P]):
    """A function of a log that returns a lazy frame for a lazy log."""

    @overload
    def __call__(self, log: pl.LazyFrame, *args: P.args, **options: P.kwargs) -> pl.LazyFrame: ...
    @overload
    def __call__(self, log: Any, *args: P.args, **options: P.kwargs) -> pl.DataFrame: ...


@overload
def takes_log(  # type: ignore[overload-overlap]
    function: Callable[Concatenate[Log, P], pl.DataFrame],
) -> Callable[Concatenate[Any, P], pl.DataFrame]: ...
@overload
def takes_log(
    function: Callable[Concatenate[Log, P], pl.DataFrame | pl.LazyFrame],
) -> LogFunction[P]: ...
def takes_log(function: Any) -> Any:
    """Decorate a function of a `Log` to take a frame and column names instead."""
    defaults = {name: value for name, value in function.__kwdefaults__.items() if name in COLUMNS}

    @wraps(function)
    def call(log: Any, *args: Any, **options: Any) -> Any:
        names = {name: options.get(name, default) for name, default in defaults.items()}
        if names.get("impressions", "") is None:
            del names["impressions"]
        return function(Log.read(log, names), *args, **options)

    declared = signature(function)
    first, *others = declared.parameters.values()
    call.__signature__ = declared.replace(parameters=[first.replace(annotation="Any"), *others])  # type: ignore[attr-defined]
    return call


def refuse(
    column: str, rule: str, got: object, hint: str = "", error: type[Exception] = ValueError
) -> NoReturn:
    """Raise an error for a column of the log that breaks a rule."""
    msg = f"column {column!r} of `log` must {rule}, got {got}"
    raise error(msg + (hint and f"\n\nHint: {hint}"))


def sum_checked(value: pl.Expr, is_valid: pl.Expr, name: str) -> pl.Expr:
    """Sum values; each invalid or null value counts as `FLAG`."""
    return pl.when(is_valid).then(value.cast(pl.Int64)).otherwise(FLAG).sum().alias(name)


def compute_interval(
    z: float, clicks: pl.Expr, exposure: pl.Expr, squares: pl.Expr
) -> list[pl.Expr]:
    r"""Return clicks over exposure, and the ends of the score interval.

    Let c be `clicks`, E be `exposure`, and Q be `squares`. An impression with propensity p adds p
    to E and p² to Q. Without propensities, p is 1. For an unknown rate :math:`\gamma`, c has the
    mean :math:`\gamma E` and the variance :math:`\gamma E - \gamma^2 Q`. The ends are the two
    solutions :math:`\gamma` of
    :math:`(c - \gamma E)^2 = z^2 (\gamma E - \gamma^2 Q)`. With E = Q = n this is the interval of
    Wilson (1927).

    Q is capped at :math:`E^2 / c`. A larger Q would give a negative variance at the estimate
    :math:`\gamma = c / E`.
    """
    c, e = clicks.cast(pl.Float64), exposure.cast(pl.Float64)
    q = pl.min_horizontal(squares.cast(pl.Float64), pl.when(c > 0).then(e**2 / c))
    center = e * (2 * c + z**2)
    spread = z * (4 * c * e**2 + z**2 * e**2 - 4 * c**2 * q).clip(0).sqrt()
    divisor = 2 * (e**2 + z**2 * q)
    # With 0 clicks, the lower end is 0. The formula could return another number due to rounding.
    low = pl.when(c > 0).then((center - spread) / divisor).otherwise(0.0)
    # With c = E = Q, the upper end is exactly 1.
    high = pl.when((c < e) | (q != e)).then((center + spread) / divisor).otherwise(1.0)
    values = {"estimate": c / e, "ci_low": low, "ci_high": high}
    return [pl.when(e > 0).then(value).alias(name) for name, value in values.items()]


def find_z(confidence: float) -> float:
    """Return the quantile of the normal distribution for two-sided intervals."""
    from scipy.special import ndtri

    return float(-ndtri(check_level(confidence) / 2))


def check_whole_type(column: str, schema: pl.Schema) -> None:
    """Raise if a column of ranks or counts does not hold whole numbers."""
    if not schema[column].is_integer():
        hint = f"log.with_columns(pl.col({column!r}).cast(pl.Int64))"
        refuse(column, "hold whole numbers", schema[column], hint, TypeError)


def _check_no_gaps(table: pl.DataFrame) -> None:
    """Raise if rank r has more impressions than rank r - 1.

    If lists have no gaps, a list with a document at rank 3 also has a document at rank 2. So rank 3
    cannot have more impressions than rank 2.
    """
    by_rank = dict(table.group_by("rank").agg(pl.col("impressions").sum()).sort("rank").rows())
    for rank, shown in by_rank.items():
        if rank > 1 and shown > (shown_above := by_rank.get(rank - 1, 0)):
            msg = (
                f"ranks must have no gaps, got {shown} impressions at rank {rank} and "
                f"{shown_above} at rank {rank - 1}\n\n"
                "Hint: a log has a row for each document shown, clicked or not"
            )
            raise ValueError(msg)


def _count_impressions(table: pl.DataFrame) -> int:
    """Return the number of impressions in a table of counts."""
    return int((table["impressions"] % FLAG).sum())


def _count_flags(table: pl.DataFrame, column: str) -> int:
    """Return the number of invalid values in a column of sums."""
    return int((table[column] // FLAG).sum())
