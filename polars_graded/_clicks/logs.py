"""Click logs: their columns, checks of their rows, and counts of clicks.

All counts are sums of whole numbers. Such sums are exact, whatever the order of the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import signature
from typing import Any, Concatenate, NamedTuple, NoReturn, ParamSpec

import polars as pl

from polars_graded._checks import (
    check_column_name,
    check_column_names,
    check_columns,
    check_comparable,
    check_frame,
    check_level,
    pack_query,
)
from polars_graded._measuring.keywords import checks_call
from polars_graded._results.keys import collect_column_names

KEYS = ["query", "doc"]

LISTS = ["query", "session"]
"""Columns that identify a result list: the documents shown for one query in one session."""

COLUMNS = ("query", "doc", "rank", "clicked", "impressions", "session")
"""Arguments that name columns of a log. `Log.rows` uses the arguments as column names."""


class Rule(NamedTuple):
    """A rule for the values of a column, and the texts of its error."""

    column: str
    is_broken: pl.Expr
    rule: str
    got: str
    hint: str = ""


@dataclass(frozen=True)
class Log:
    """Rows of a click log, with the user's column names replaced.

    With `query="text"`, for example, the column "text" of the frame becomes "query" in `rows`.
    """

    rows: pl.LazyFrame
    names: dict[str, str]
    """The user's column names by argument, such as `{"query": "text"}`."""

    @classmethod
    def read(cls, log: Any, names: dict[str, str]) -> Log:
        """Check the columns of a frame of any kind, and return them as a log."""
        frame = check_frame("log", log).lazy()
        schema = frame.collect_schema()
        for argument, column in names.items():
            check_columns("log", [check_column_name(argument, column)], schema, argument=argument)
        columns = [*names.values()]
        check_comparable(columns, schema)
        if repeated := [each for each in columns if columns.count(each) > 1]:
            msg = f"each argument must name a different column of `log`, got {repeated[0]!r} twice"
            raise ValueError(msg)
        for argument in {"rank", "impressions"} & {*names}:
            if not schema[names[argument]].is_integer():
                hint = f"log.with_columns(pl.col({names[argument]!r}).cast(pl.Int64))"
                kind = schema[names[argument]]
                refuse(names[argument], "hold whole numbers", kind, hint, TypeError)
        kind = schema[names["clicked"]]
        if not (kind == pl.Boolean or kind.is_numeric()):
            hint = f"log.with_columns(pl.col({names['clicked']!r}) == 'yes') converts texts"
            refuse(names["clicked"], "be Boolean, or 0 and 1", kind, hint, TypeError)
        others = [each for each in schema if each not in columns and each not in names]
        renamed = [pl.col(column).alias(name) for name, column in names.items()]
        return cls(frame.select(*renamed, *others), names)

    def find_names(self, columns: Sequence[str]) -> list[str]:
        """Translate the user's names of columns to the names in `rows`."""
        schema = self.rows.collect_schema()
        check_columns("log", columns, [self.names.get(each, each) for each in schema])
        names_in_rows = {column: name for name, column in self.names.items()}
        names = [names_in_rows.get(each, each) for each in columns]
        check_comparable(names, schema)
        return names

    @property
    def impressions(self) -> pl.Expr:
        """Sum the impressions of a group. Without their column, each row is one impression."""
        total = pl.col("impressions").cast(pl.Int64).sum() if self.is_summed else pl.len()
        return total.cast(pl.Int64).alias("impressions")

    @property
    def clicks(self) -> pl.Expr:
        """Sum the clicks of a group.

        Invalid values raise an error in `collect`, not here.
        """
        return pl.col("clicked").cast(pl.Int64, strict=False).sum().alias("clicks")

    @property
    def is_summed(self) -> bool:
        """Return whether the log has a column of impressions."""
        return "impressions" in self.names

    @property
    def is_invalid_click(self) -> pl.Expr:
        """Return the mask of rows with an invalid number of clicks."""
        clicked = pl.col("clicked")
        # The cast turns NaN into null, which is invalid.
        count = clicked.cast(pl.Int64, strict=False)
        is_valid = count.is_between(0, pl.col("impressions") if self.is_summed else 1)
        if self.rows.collect_schema()["clicked"] != pl.Boolean:
            is_valid &= count == clicked
        return ~is_valid.fill_null(value=False)

    def _list_rules(self, keys: Sequence[str]) -> list[Rule]:
        """List the rules for the columns of keys, impressions and clicks."""
        rules = [Rule(each, pl.col(each).is_null(), "not be null", "null") for each in keys]
        rule, hint = "contain counts from 0 to the impressions of the row", ""
        if self.is_summed:
            is_count = (pl.col("impressions") >= 0).fill_null(value=False)
            rules.append(Rule("impressions", ~is_count, "contain counts", "another value"))
        else:
            rule = "be 0 or 1, or Boolean, and not null"
            hint = (
                "fill_null(0) or fill_null(False) if null means no click; impressions= names the "
                "column of impressions if rows are sums, where the function takes it"
            )
        rules.append(Rule("clicked", self.is_invalid_click, rule, "another value", hint))
        if "rank" in keys:
            hint = f"log.with_columns(pl.col({self.names['rank']!r}) + 1) if ranks count from 0"
            is_low = pl.col("rank") < 1
            rules.append(Rule("rank", is_low, "be at least 1", "a lower rank", hint))
        return rules

    def collect(self, plan: pl.LazyFrame, *keys: str) -> pl.DataFrame:
        """Collect a plan over the rows; raise if a key, impressions or clicks are invalid."""
        rules = self._list_rules(keys)
        invalid = self.rows.select(
            each.is_broken.sum().alias(str(n)) for n, each in enumerate(rules)
        )
        table, counts = pl.collect_all([plan, invalid], engine="streaming")
        for each, n in zip(rules, counts.row(0), strict=True):
            if n:
                got = f"{each.got} in {n} rows"
                refuse(self.names[each.column], each.rule, got, each.hint)
        return table

    def count(self, *keys: str) -> pl.DataFrame:
        """Return the impressions and clicks of each group of rows with equal keys.

        Raise if a key, impressions or clicks are invalid, or if ranks have gaps.
        """
        table = self.collect(self.rows.group_by(keys).agg(self.impressions, self.clicks), *keys)
        if "rank" in keys:
            _check_no_gaps(table)
        return table

    def count_lists(self, constant_columns: Sequence[str] = ()) -> pl.DataFrame:
        """Return the number of lists of each query; raise if a list is invalid.

        A list must have one row per rank, and one value in each column of `constant_columns`.
        """
        ranks = pl.col("rank")
        several = [pl.col(each).n_unique() > 1 for each in constant_columns]
        lists = self.rows.group_by(LISTS).agg(
            (ranks.count() - ranks.drop_nulls().n_unique()).alias("repeated"),
            *(is_several.alias(f"several_{n}") for n, is_several in enumerate(several)),
        )
        counts = lists.group_by("query").agg(
            pl.len().cast(pl.Int64).alias("lists"), pl.exclude("session").sum()
        )
        table = self.collect(counts, *LISTS)
        repeated, *varying = table.select(pl.exclude("query", "lists").sum()).row(0)
        for name, n in zip(constant_columns, varying, strict=True):
            if n:
                column = self.names.get(name, name)
                refuse(column, "have one value in each list", f"several in {n} lists")
        if repeated:
            rule = f"have each rank once in a list, got {repeated} rows of repeated ranks"
            hint = "describe_log(log) counts repeated documents; session= distinguishes lists"
            msg = f"column {self.names['rank']!r} of `log` must {rule}\n\nHint: {hint}"
            raise ValueError(msg)
        if table.is_empty():
            msg = "`log` must not be empty"
            raise ValueError(msg)
        return table.select("query", "lists")

    def rename(self, table: pl.DataFrame) -> pl.DataFrame:
        """Rename columns to the user's names; `impressions` keeps its name."""
        names = {name: new for name, new in self.names.items() if name != "impressions"}
        return table.rename(names, strict=False)


P = ParamSpec("P")


def takes_log(
    function: Callable[Concatenate[Log, P], pl.DataFrame],
) -> Callable[Concatenate[Any, P], pl.DataFrame]:
    """Decorate a function of a `Log` to take a frame and column names instead.

    If several columns name a query, the function gets them as one column of structs, and the caller
    gets them back.
    """
    defaults = {
        name: each.default
        for name, each in signature(function).parameters.items()
        if name in COLUMNS
    }

    @wraps(function)
    def call(log: Any, *args: Any, **options: Any) -> Any:
        columns = check_column_names("query", options.get("query", "query"))
        if len(columns) > 1:
            query = ", ".join(columns)
            # A part of the query may be a segment or a cluster as well.
            kept = collect_column_names(options.get("segments"), options.get("cluster"))
            rows = pack_query("log", log, columns, query, kept)
            if args and isinstance(args[0], pl.DataFrame | pl.LazyFrame):
                args = (pack_query("ranking", args[0], columns, query), *args[1:])
            result = call(rows, *args, **(options | {"query": query}))
            return result.unnest(query) if query in result.columns else result
        names = {name: options.get(name, default) for name, default in defaults.items()}
        if names.get("impressions", "") is None:
            del names["impressions"]
        return function(Log.read(log, names), *args, **options)

    declared = signature(function)
    first, *others = declared.parameters.values()
    call.__signature__ = declared.replace(parameters=[first.replace(annotation="Any"), *others])  # type: ignore[attr-defined]
    decorated: Any = call
    return checks_call(decorated)


def refuse(
    column: str, rule: str, got: object, hint: str = "", error: type[Exception] = ValueError
) -> NoReturn:
    """Raise an error for a column of the log that breaks a rule."""
    msg = f"column {column!r} of `log` must {rule}, got {got}"
    raise error(msg + (hint and f"\n\nHint: {hint}"))


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
