"""Click logs: their columns, checks of their rows, and counts of clicks.

All counts are sums of whole numbers. Such sums are exact, whatever the order of the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import signature
from typing import Any, Concatenate, NamedTuple, NoReturn, ParamSpec, Protocol, overload

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
from polars_graded._frames.rows import scan_frames
from polars_graded._measuring.keywords import checks_keywords
from polars_graded._results.keys import collect_column_names

KEYS = ["query", "doc"]

LISTS = ["query", "session"]
"""Columns that identify a result list: the documents shown for one query in one session."""

COLUMNS = ("query", "doc", "rank", "clicked", "impressions", "session")
"""Arguments that name columns of a log. `Log.rows` uses the arguments as column names."""


class Collect(Protocol):
    """A function that collects lazy frames, such as `collect_streaming`."""

    def __call__(self, *plans: pl.LazyFrame) -> list[pl.DataFrame]: ...


def collect_streaming(*plans: pl.LazyFrame) -> list[pl.DataFrame]:
    """Collect lazy frames together, with the streaming engine."""
    return pl.collect_all(plans, engine="streaming")


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
    is_lazy: bool
    names: dict[str, str]
    """The user's column names by argument, such as `{"query": "text"}`."""
    takes_sums: bool
    """True if the function that reads the log takes a column of impressions."""

    @classmethod
    def read(cls, log: Any, names: dict[str, str], takes_sums: bool) -> Log:  # noqa: FBT001
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
        rows = frame.lazy().select(*renamed, *others)
        return cls(rows, isinstance(frame, pl.LazyFrame), names, takes_sums)

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
        """Sum the impressions of a group."""
        total = pl.col("impressions").cast(pl.Int64).sum() if self.is_summed else pl.len()
        return total.cast(pl.Int64).alias("impressions")

    @property
    def clicks(self) -> pl.Expr:
        """Sum the clicks of a group.

        Invalid values raise an error in `check`, not here.
        """
        return pl.col("clicked").cast(pl.Int64, strict=False).sum().alias("clicks")

    @property
    def is_summed(self) -> bool:
        """Return whether the log has a column of impressions.

        Without this column, each row is one impression.
        """
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
            hint = "fill_null(0) or fill_null(False) if null means no click; "
            hint += (
                "impressions= names the column of impressions if rows are already summed"
                if self.takes_sums
                else "this function needs one row per document of each list, not sums over lists"
            )
        rules.append(Rule("clicked", self.is_invalid_click, rule, "another value", hint))
        if "rank" in keys:
            hint = f"log.with_columns(pl.col({self.names['rank']!r}) + 1) if ranks count from 0"
            is_low = pl.col("rank") < 1
            rules.append(Rule("rank", is_low, "be at least 1", "a lower rank", hint))
        return rules

    def count_invalid(self, *keys: str) -> pl.LazyFrame:
        """Return the number of rows that break each rule, for `check`."""
        masks = [each.is_broken for each in self._list_rules(keys)]
        return self.rows.select(mask.sum().alias(f"{n}") for n, mask in enumerate(masks))

    def check(self, invalid: pl.DataFrame, *keys: str) -> None:
        """Raise if a count of `count_invalid` is above 0."""
        for each, n in zip(self._list_rules(keys), invalid.sum().row(0), strict=True):
            if n:
                got = f"{each.got} in {n} rows"
                refuse(self.names[each.column], each.rule, got, each.hint)

    def count(self, collect: Collect, *keys: str) -> pl.DataFrame:
        """Return the impressions and clicks of each group of rows with equal keys.

        Raise if a key, impressions or clicks are invalid, or if ranks have gaps.
        """
        counts = self.rows.group_by(keys).agg(self.impressions, self.clicks)
        table, invalid = collect(counts, self.count_invalid(*keys))
        self.check(invalid, *keys)
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
        table, invalid = collect_streaming(counts, self.count_invalid(*LISTS))
        self.check(invalid, *LISTS)
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

    def run(self, compute: Callable[[Collect], pl.DataFrame]) -> pl.DataFrame | pl.LazyFrame:
        """Return the result of `compute`, as a LazyFrame if the log is lazy.

        `compute` takes a function that collects plans. The result gets the user's column names.
        """
        if not self.is_lazy:
            return self.rename(compute(collect_streaming))
        # The schema of a LazyFrame must be known before the data are collected. So `compute` first
        # gets a function that returns an empty frame for each plan. The result of this call is
        # empty too, and has the schema of the LazyFrame.
        schema = compute(lambda *plans: [each.collect_schema().to_frame() for each in plans])
        return scan_frames(
            self.rename(schema).schema, lambda *_: iter([self.rename(compute(collect_streaming))])
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
    """Decorate a function of a `Log` to take a frame and column names instead.

    If several columns name a query, the function gets them as one column of structs, and the caller
    gets them back.
    """
    defaults = {name: value for name, value in function.__kwdefaults__.items() if name in COLUMNS}

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
            has_queries = query in result.collect_schema()
            return result.unnest(query) if has_queries else result
        names = {name: options.get(name, default) for name, default in defaults.items()}
        if names.get("impressions", "") is None:
            del names["impressions"]
        elif "impressions" in names:
            names.pop("session", None)  # summed rows belong to many lists
        return function(Log.read(log, names, "impressions" in defaults), *args, **options)

    declared = signature(function)
    first, *others = declared.parameters.values()
    call.__signature__ = declared.replace(parameters=[first.replace(annotation="Any"), *others])  # type: ignore[attr-defined]
    return checks_keywords(call)


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
