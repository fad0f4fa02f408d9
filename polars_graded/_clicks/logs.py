"""Click logs: their columns, checks of their rows, descriptions and counts of clicks.

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
    MAX_SHOWN_VALUES,
    check_column_name,
    check_column_names,
    check_columns,
    check_comparable,
    check_confidence,
    check_frame,
    first_few,
    pack_query,
)
from polars_graded._measuring.keywords import checks_call
from polars_graded._results.keys import collect_column_names
from polars_graded._warnings import DataWarning, warn_the_caller

KEYS = ["query", "doc"]

LISTS = ["query", "session"]
"""Columns that identify a result list: the documents shown for one query in one session."""

LOG_COLUMNS = ("query", "doc", "rank", "clicked", "impressions", "session")
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
                dtype = schema[names[argument]]
                refuse(names[argument], "hold whole numbers", dtype, hint, TypeError)
        dtype = schema[names["clicked"]]
        if not (dtype == pl.Boolean or dtype.is_numeric()):
            hint = f"log.with_columns(pl.col({names['clicked']!r}) == 'yes') converts texts"
            refuse(names["clicked"], "be Boolean, or 0 and 1", dtype, hint, TypeError)
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

    def count(self, *keys: str, are_lists_whole: bool = False) -> pl.DataFrame:
        """Return the impressions and clicks of each group of rows with equal keys.

        Raise if a key, impressions or clicks are invalid, or if ranks have gaps.
        `are_lists_whole` is explained in `_check_no_gaps`.
        """
        table = self.collect(self.rows.group_by(keys).agg(self.impressions, self.clicks), *keys)
        if "rank" in keys:
            _check_no_gaps(table, are_lists_whole=are_lists_whole)
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
            hint = "describe_log(log) counts repeated ranks; session= distinguishes lists"
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
        if name in LOG_COLUMNS
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

    return float(-ndtri(check_confidence(confidence) / 2))


def _check_no_gaps(table: pl.DataFrame, *, are_lists_whole: bool) -> None:
    """Raise if rank r has impressions, but rank r - 1 has none.

    If `are_lists_whole`, a list with a document at rank 3 also has a document at rank 2. So rank 3
    must not have more impressions than rank 2. A sample of impressions need not have whole lists.
    """
    by_rank = dict(table.group_by("rank").agg(pl.col("impressions").sum()).sort("rank").rows())
    for rank, shown in by_rank.items():
        shown_above = by_rank.get(rank - 1, 0)
        is_gap = shown > shown_above and (are_lists_whole or not shown_above)
        if rank > 1 and is_gap:
            msg = (
                f"ranks must have no gaps, got {shown} impressions at rank {rank} and "
                f"{shown_above} at rank {rank - 1}\n\n"
                "Hint: a log has a row for each document shown, clicked or not"
            )
            raise ValueError(msg)


# Descriptions

MAX_SESSION_CLICKS = 1000
"""Maximum number of clicks of a session that is not reported as a bot."""

VALID_RANK = pl.when(pl.col("rank") >= 1).then("rank")
"""Rank of a row, or null if it is below 1."""


@takes_log
def describe_log(
    log: Log,
    *,
    query: str | Sequence[str] = "query",
    doc: str = "doc",
    rank: str = "rank",
    clicked: str = "clicked",
    session: str = "session",
) -> pl.DataFrame:
    """Describe a click log: what was shown, what was clicked, and what is wrong.

    This function counts invalid rows. Other functions raise an error for invalid values in a column
    that they use. A result list contains the documents shown for one query in one session.

    Parameters
    ----------
    log
        Any data frame, with one row per document shown, clicked or not. The rows of a LazyFrame are
        streamed.
    query, doc
        The columns of queries and of documents. All queries with a null count as one.
    rank
        The column of ranks, whole numbers from 1.
    clicked
        The column that states whether the document was clicked: Boolean, or 0 and 1.
    session
        The column that distinguishes result lists of the same query.

    Returns
    -------
    DataFrame
        One row. All columns are Int64, except `click_rate` and `movable_share` (Float64):

        - the numbers of `lists` (pairs of a session and a query), `sessions`, `queries`,
          `documents` (pairs of a query and a document), `impressions` (rows) and `clicks`;
        - `click_rate`: clicks over impressions, or null if there are no rows;
        - `movable_share`: the share of documents that were shown at two or more different ranks.
          Documents without a rank are left out. The share is null if no document has a rank. With
          a share of 0, the quality of documents cannot be separated from their ranks;
        - `lists_without_click`;
        - `duplicate_rows`: rows that repeat a document of a list;
        - `gap_lists`: lists in which some rank from 1 to the last rank has no document;
        - `repeated_ranks`: rows that repeat a rank of a list;
        - `invalid_ranks`: rows whose rank is null or below 1;
        - `hidden_clicks`: clicks in rows with an invalid rank. Example: after a full join of clicks
          and shown documents, a click on a document that was not shown has no rank;
        - `invalid_clicks`: rows whose `clicked` is null or another value than 0 and 1;
        - `max_session_clicks`: the largest number of clicks of a session.

    Raises
    ------
    ValueError
        If a session is null, since its rows belong to no list.

    Warns
    -----
    DataWarning.positions
        If `movable_share` is 0.
    DataWarning.bots
        If a session has more than 1000 clicks.

    See Also
    --------
    count_clicks : Clicks by rank.

    Examples
    --------
    Documents a and b were shown at ranks 1 and 2, and c only at rank 3. The second list has no
    click:

    >>> log = pl.DataFrame(
    ...     {
    ...         "session": [1, 1, 1, 2, 2],
    ...         "query": ["q"] * 5,
    ...         "doc": ["a", "b", "c", "b", "a"],
    ...         "rank": [1, 2, 3, 1, 2],
    ...         "clicked": [True, False, True, False, False],
    ...     }
    ... )
    >>> described = describe_log(log)
    >>> described.select("lists", "documents", "clicks", "movable_share", "lists_without_click")
    shape: (1, 5)
    ┌───────┬───────────┬────────┬───────────────┬─────────────────────┐
    │ lists ┆ documents ┆ clicks ┆ movable_share ┆ lists_without_click │
    │ ---   ┆ ---       ┆ ---    ┆ ---           ┆ ---                 │
    │ i64   ┆ i64       ┆ i64    ┆ f64           ┆ i64                 │
    ╞═══════╪═══════════╪════════╪═══════════════╪═════════════════════╡
    │ 2     ┆ 3         ┆ 2      ┆ 0.666667      ┆ 1                   │
    └───────┴───────────┴────────┴───────────────┴─────────────────────┘
    """
    if nulls := log.rows.select(pl.col("session").null_count()).collect().item():
        refuse(log.names["session"], "not be null", f"null in {nulls} rows")
    documents = (
        log.rows.group_by(KEYS)
        .agg((VALID_RANK.min() < VALID_RANK.max()).alias("is_moved"))
        .select(
            pl.len().alias("documents"),
            pl.col("query").n_unique().alias("queries"),
            pl.col("is_moved").mean().alias("movable_share"),
        )
    )
    is_click, valid_rank = pl.col("clicked") == 1, pl.col("valid_rank")
    n_valid_ranks = valid_rank.n_unique() - (valid_rank.null_count() > 0)
    lists = (
        log.rows.with_columns(VALID_RANK.alias("valid_rank"))
        .with_columns((valid_rank.is_null() & is_click).alias("hidden_clicks"))
        .group_by(LISTS)
        .agg(
            log.impressions,
            is_click.sum().cast(pl.Int64).alias("clicks"),
            log.is_invalid_click.sum().alias("invalid_clicks"),
            (pl.len() - pl.col("doc").n_unique()).alias("duplicate_rows"),
            valid_rank.null_count().alias("invalid_ranks"),
            (valid_rank.max() > n_valid_ranks).alias("gap_lists"),
            (valid_rank.count() - n_valid_ranks).alias("repeated_ranks"),
            pl.col("hidden_clicks").sum(),
        )
    )
    sessions = lists.group_by("session").agg(
        pl.len().alias("lists"),
        (pl.col("clicks") == 0).sum().alias("lists_without_click"),
        pl.exclude("query").sum(),
    )
    is_bot = pl.col("clicks") > MAX_SESSION_CLICKS
    bots = pl.col("session").filter(is_bot).sort().head(MAX_SHOWN_VALUES + 1).implode()
    counts = sessions.select(
        pl.len().alias("sessions"),
        pl.col("clicks").max().fill_null(0).alias("max_session_clicks"),
        is_bot.sum().alias("n_bots"),
        bots.alias("bots"),
        pl.exclude("session").sum(),
    )
    row = pl.concat(pl.collect_all([counts, documents], engine="streaming"), how="horizontal")
    _warn(row)
    return row.select(
        pl.col("lists", "sessions", "queries", "documents", "impressions", "clicks").cast(pl.Int64),
        (pl.col("clicks") / pl.col("impressions")).fill_nan(None).alias("click_rate"),
        "movable_share",
        pl.col(
            *("lists_without_click", "duplicate_rows", "gap_lists", "repeated_ranks"),
            *("invalid_ranks", "hidden_clicks", "invalid_clicks", "max_session_clicks"),
        ).cast(pl.Int64),
    )


def _warn(row: pl.DataFrame) -> None:
    """Warn of sessions with very many clicks, and of fixed ranks."""
    if n_bots := row["n_bots"].item():
        warn_the_caller(
            DataWarning.bots,
            f"sessions with more than {MAX_SESSION_CLICKS} clicks are usually bots; the log has "
            f"{n_bots} of them, with up to {row['max_session_clicks'].item()} clicks: "
            f"{first_few(row['bots'].item().to_list())}\n\nHint: drop their rows",
        )
    if row["movable_share"].item() == 0:
        warn_the_caller(
            DataWarning.positions,
            "each document was shown at one rank only, so the quality of documents cannot be "
            "separated from their ranks\n\nHint: show some lists in another order",
        )


@takes_log
def count_clicks(
    log: Log,
    *,
    rank: str = "rank",
    clicked: str = "clicked",
    impressions: str | None = None,
    confidence: float = 0.95,
) -> pl.DataFrame:
    r"""Count impressions and clicks by rank.

    For c clicks in n impressions, the click rate is :math:`p = c / n`. Its interval is Wilson's,
    with the normal quantile z:

    .. math:: \frac{p + z^2 / 2n \pm z \sqrt{p (1 - p) / n + z^2 / 4n^2}}{1 + z^2 / n}

    As text: ``(p + z² / 2n ± z sqrt(p (1 - p) / n + z² / 4n²)) / (1 + z² / n)``

    If the documents of each list are in random order, click rates are proportional to the
    probabilities that the ranks are examined (propensities). If rankers put relevant documents near
    the top, click rates fall faster from rank to rank than propensities.

    Parameters
    ----------
    log, rank, clicked
        As for `describe_log`.
    impressions
        A column with the number of impressions of each row. With this column, `clicked` contains
        the number of clicks of each row. By default, each row is one impression.
    confidence
        The confidence of the intervals, between 0 and 1. The intervals assume independent
        impressions.

    Returns
    -------
    DataFrame
        One row per rank, with these columns in this order: the rank, with the column name and type
        of the log; `impressions` and `clicks` (Int64); the `confidence`; and `click_rate`, `ci_low`
        and `ci_high` (Float64, from 0 to 1, or null at a rank with 0 impressions).

    Raises
    ------
    ValueError
        If a rank is null or below 1, or if a rank above the last one has no impressions. Without
        `impressions`, if `clicked` is null or neither 0 nor 1. With `impressions`, if a row has
        null or fewer than 0 impressions; or if the row has null clicks, fewer than 0 clicks, or
        more clicks than impressions.

    See Also
    --------
    estimate_propensities : Probabilities that a rank is examined.

    References
    ----------
    Wilson: Probable inference, the law of succession, and statistical inference, 1927.

    Examples
    --------
    >>> log = pl.DataFrame({"rank": [1, 2, 1, 2], "clicked": [1, 0, 1, 1]})
    >>> count_clicks(log).drop("confidence")
    shape: (2, 6)
    ┌──────┬─────────────┬────────┬────────────┬──────────┬──────────┐
    │ rank ┆ impressions ┆ clicks ┆ click_rate ┆ ci_low   ┆ ci_high  │
    │ ---  ┆ ---         ┆ ---    ┆ ---        ┆ ---      ┆ ---      │
    │ i64  ┆ i64         ┆ i64    ┆ f64        ┆ f64      ┆ f64      │
    ╞══════╪═════════════╪════════╪════════════╪══════════╪══════════╡
    │ 1    ┆ 2           ┆ 2      ┆ 1.0        ┆ 0.34238  ┆ 1.0      │
    │ 2    ┆ 2           ┆ 1      ┆ 0.5        ┆ 0.094531 ┆ 0.905469 │
    └──────┴─────────────┴────────┴────────────┴──────────┴──────────┘
    """
    exposure = pl.col("impressions")
    rate, *ends = compute_interval(find_z(confidence), pl.col("clicks"), exposure, exposure)
    confidence_column = pl.lit(float(confidence)).alias("confidence")
    counts = log.count("rank").sort("rank")
    return log.rename(counts.with_columns(confidence_column, rate.alias("click_rate"), *ends))
