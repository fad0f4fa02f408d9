"""Click logs: their columns, checks of their rows, and counts of clicks.

All counts are sums of whole numbers, so that they are exact in any order of the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import polars as pl

from polars_graded._checks import (
    check_column_name,
    check_columns,
    check_comparable,
    check_frame,
    check_number,
    first_few,
)
from polars_graded._frames.sources import scan_frames

KEYS = ["query", "doc"]

FLAG = 1 << 32
"""Amount that each invalid value adds to a sum of clicks, in place of a click."""


class SessionOptions(TypedDict, total=False):
    """Columns of a log with one row per document shown."""

    query: str
    doc: str
    rank: str
    clicked: str
    session: str


class RankOptions(TypedDict, total=False):
    """Columns of clicks by rank, and the confidence of intervals."""

    rank: str
    clicked: str
    impressions: str | None
    confidence: float


class LogOptions(TypedDict, total=False):
    """Columns of estimators that read no ranks, and their options."""

    query: str
    doc: str
    clicked: str
    impressions: str | None
    confidence: float
    prior: tuple[float, float] | None


class RankedLogOptions(LogOptions, total=False):
    """Columns of estimators that read ranks, and their options."""

    rank: str


class SessionLogOptions(SessionOptions, total=False):
    """Columns of estimators that read whole lists, and their options."""

    confidence: float
    prior: tuple[float, float] | None


@dataclass(frozen=True)
class Log:
    """Rows of a click log under fixed column names."""

    rows: pl.LazyFrame
    is_lazy: bool
    names: dict[str, str]
    """The user's name of each column."""
    counted: bool
    """True if a row stands for several impressions."""

    @classmethod
    def read(
        cls,
        log: Any,
        others: Sequence[str] = (),
        *,
        impressions: str | None = None,
        **columns: str,
    ) -> Log:
        """Return the log in a frame of any kind, with `columns` by their argument.

        `others` are further columns, which keep their names.
        """
        frame = check_frame("log", log)
        schema = frame.collect_schema()
        if impressions is not None:
            columns["impressions"] = impressions
        for argument, column in columns.items():
            check_columns("log", [check_column_name(argument, column)], schema, argument=argument)
        check_columns("log", others, schema)
        further = [each for each in dict.fromkeys(others) if each not in columns.values()]
        for name in {*further} & columns.keys():
            msg = f"a column of `log` must not be called {name!r} beside {columns[name]!r}"
            raise ValueError(msg)
        check_comparable([*columns.values(), *further], schema)
        twice = [each for each in columns.values() if list(columns.values()).count(each) > 1]
        if twice:
            msg = f"each argument must name another column of `log`, got {twice[0]!r} twice"
            raise ValueError(msg)
        for argument in {"rank", "impressions"} & columns.keys():
            check_whole_type(columns[argument], schema)
        kind = "clicked" in columns and schema[columns["clicked"]]
        if not (kind is False or kind == pl.Boolean or kind.is_numeric()):
            msg = (
                f"column {columns['clicked']!r} of `log` must be Boolean, or 0 and 1, got "
                f"{kind}\n\n"
                "Hint: log.with_columns(pl.col('clicked') == 'yes') converts texts"
            )
            raise TypeError(msg)
        renamed = (pl.col(column).alias(name) for name, column in columns.items())
        rows = frame.lazy().select(*renamed, *further)
        names = {name: column for name, column in columns.items() if name != column}
        return cls(rows, isinstance(frame, pl.LazyFrame), names, impressions is not None)

    def find_name(self, column: str) -> str:
        """Return the fixed name of a column of the user, or the column itself."""
        return next((name for name, own in self.names.items() if own == column), column)

    @property
    def impressions(self) -> pl.Expr:
        """Number of impressions in a group of rows."""
        if not self.counted:
            return pl.len().cast(pl.Int64).alias("impressions")
        return sum_checked(pl.col("impressions"), pl.col("impressions") >= 0, "impressions")

    @property
    def clicks(self) -> pl.Expr:
        """Number of clicks in a group of rows, plus `FLAG` for each invalid value."""
        clicked, kind = pl.col("clicked"), self.rows.collect_schema()["clicked"]
        if kind == pl.Boolean:
            return sum_checked(clicked, clicked.is_not_null(), "clicks")
        if self.counted:
            valid = (clicked >= 0) & (clicked <= pl.col("impressions"))
            return sum_checked(clicked, valid & (clicked == clicked.floor()), "clicks")
        return sum_checked(clicked, (clicked == 0) | (clicked == 1), "clicks")

    def count(self, *keys: str) -> pl.LazyFrame:
        """Return the impressions and clicks of each group of rows."""
        return self.rows.group_by(keys).agg(self.impressions, self.clicks)

    def run(
        self, plans: Sequence[pl.LazyFrame], finish: Callable[..., pl.DataFrame]
    ) -> pl.DataFrame | pl.LazyFrame:
        """Return `finish` of the collected plans, lazily for a lazy log."""

        def collect() -> pl.DataFrame:
            tables = finish(*pl.collect_all(plans, engine="streaming"))
            return self.rename(tables)

        if not self.is_lazy:
            return collect()
        empty = (plan.collect_schema().to_frame() for plan in plans)
        return scan_frames(self.rename(finish(*empty)).schema, lambda *_: iter([collect()]))

    def rename(self, table: pl.DataFrame) -> pl.DataFrame:
        """Return a result with the user's names of columns."""
        keys = {"query", "doc", "rank"} & {*table.columns}
        renamed = {name: new for name, new in self.names.items() if name in keys}
        for new in renamed.values():
            if new in table.columns:
                msg = (
                    f"a column of `log` must not have a name of the result, got {new!r}\n\n"
                    f"Hint: log.rename({{{new!r}: 'another name'}})"
                )
                raise ValueError(msg)
        return table.rename(renamed)

    def check_counts(self, table: pl.DataFrame, by_rank: str | None = None) -> pl.DataFrame:
        """Return a table of counts, or raise if it contains invalid values.

        `by_rank` is a sum in which each invalid rank counts as `FLAG`.
        """
        for name in {"query", "doc", "rank"} & {*table.columns}:
            if rows := _sum_rows(table.filter(pl.col(name).is_null())):
                column = self.names.get(name, name)
                msg = f"column {column!r} of `log` must not be null, got null in {rows} rows"
                raise ValueError(msg)
        if invalid := int((table["impressions"] // FLAG).sum()):
            column = self.names.get("impressions", "impressions")
            msg = f"column {column!r} of `log` must contain counts, got {invalid} rows without one"
            raise ValueError(msg)
        if invalid := int((table["clicks"] // FLAG).sum()):
            self._refuse_clicks(invalid)
        if by_rank is not None and (invalid := int((table[by_rank] // FLAG).sum())):
            column = self.names.get("rank", "rank")
            msg = (
                f"column {column!r} of `log` must count from 1, got another value in {invalid} rows"
            )
            raise ValueError(msg)
        if "rank" in table.columns and (low := table.filter(pl.col("rank") < 1)).height:
            column = self.names.get("rank", "rank")
            msg = (
                f"column {column!r} of `log` must count from 1, got "
                f"{first_few(low['rank'].unique().sort().to_list())} in {_sum_rows(low)} rows\n\n"
                f"Hint: log.with_columns(pl.col({column!r}) + 1) if ranks count from 0"
            )
            raise ValueError(msg)
        return table

    def _refuse_clicks(self, invalid: int) -> None:
        column, kind = self.names.get("clicked", "clicked"), self.rows.collect_schema()["clicked"]
        if self.counted:
            rule = "contain counts from 0 to the impressions of the row"
            hint = ""
        elif kind == pl.Boolean:
            rule = "not be null"
            hint = (
                f"\n\nHint: log.with_columns(pl.col({column!r}).fill_null(False)) if null means "
                "that there was no click"
            )
        else:
            rule = "be 0 or 1"
            hint = (
                "\n\nHint: impressions= names the column of impressions if rows are already summed;"
                " fill_null(0) if null means that there was no click"
            )
        msg = f"column {column!r} of `log` must {rule}, got another value in {invalid} rows{hint}"
        raise ValueError(msg)


def sum_checked(value: pl.Expr, valid: pl.Expr, name: str) -> pl.Expr:
    """Return the sum of values, in which each invalid or null value counts as `FLAG`."""
    return pl.when(valid).then(value.cast(pl.Int64)).otherwise(FLAG).sum().alias(name)


def check_no_gaps(table: pl.DataFrame) -> None:
    """Raise if a rank was shown more often than the rank above it.

    A list with a document at rank 3 has one at rank 2, so without gaps the impressions never
    increase from one rank to the next.
    """
    by_rank = table.group_by("rank").agg(pl.col("impressions").sum()).sort("rank")
    above = pl.when(pl.col("rank").shift() == pl.col("rank") - 1).then(
        pl.col("impressions").shift()
    )
    gaps = by_rank.with_columns(above=above.fill_null(0)).filter(
        (pl.col("impressions") > pl.col("above")) & (pl.col("rank") > 1)
    )
    if gaps.height:
        rank, shown, above_shown = gaps.row(0)
        msg = (
            f"ranks must have no gaps, got {shown} impressions at rank {rank} and {above_shown} at "
            f"rank {rank - 1}\n\nHint: a log has a row for each document shown, clicked or not"
        )
        raise ValueError(msg)


def find_z(confidence: float) -> float:
    """Return the quantile of the normal distribution for two-sided intervals."""
    from scipy.special import ndtri

    level = 1 - check_number("confidence", confidence, above=0, below=1)
    return float(-ndtri(level / 2))


def compute_interval(
    z: float, clicks: pl.Expr, exposure: pl.Expr, squares: pl.Expr
) -> tuple[pl.Expr, pl.Expr]:
    r"""Return the ends of the score interval of a rate of clicks.

    If the clicks :math:`c` have the mean :math:`\gamma E` and the variance
    :math:`\gamma E - \gamma^2 Q`, the ends are the solutions of
    :math:`(c - \gamma E)^2 = z^2 (\gamma E - \gamma^2 Q)`. With E = Q = n this is the interval of
    Wilson (1927). Q is at most :math:`E^2 / c`, so that the variance is at least 0 at
    :math:`c / E`.
    """
    c, e = clicks.cast(pl.Float64), exposure.cast(pl.Float64)
    # Q c <= E², for the clicks of a document that exceed what the model allows.
    q = pl.min_horizontal(squares.cast(pl.Float64), pl.when(c > 0).then(e**2 / c))
    center = e * (2 * c + z**2)
    spread = z * (4 * c * e**2 + z**2 * e**2 - 4 * c**2 * q).clip(0).sqrt()
    width = 2 * (e**2 + z**2 * q)
    ends = [(center + sign * spread) / width for sign in (-1, 1)]
    low, high = (pl.when(e > 0).then(end) for end in ends)
    # Rounding must not move an end of 0 clicks away from 0.
    return pl.when(c > 0).then(low).when(e > 0).then(0.0).alias("ci_low"), high.alias("ci_high")


def check_whole_type(column: str, schema: pl.Schema) -> None:
    """Raise if a column of ranks or counts does not hold whole numbers."""
    if not schema[column].is_integer():
        msg = (
            f"column {column!r} of `log` must hold whole numbers, got {schema[column]}\n\n"
            f"Hint: log.with_columns(pl.col({column!r}).cast(pl.Int64))"
        )
        raise TypeError(msg)


def _sum_rows(table: pl.DataFrame) -> int:
    return int((table["impressions"] % FLAG).sum())
