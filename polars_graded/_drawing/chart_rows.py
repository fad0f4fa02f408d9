"""Convert a frame of results or of queries to the rows that a chart draws, and check them.

In these rows, names are text, and the numbers to draw are Float64. JSON has neither NaN nor
infinity, so they become null. Columns of types that no chart can show, such as lists, are left out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import polars as pl
import polars.selectors as cs

from polars_graded._checks import check_collected, check_column_names, check_columns
from polars_graded._frames.arguments import Columns
from polars_graded._frames.inputs import GRADER
from polars_graded._frames.sorting import sort_naturally
from polars_graded._results.keys import can_be_key, collect_column_names
from polars_graded._results.results import EFFECTIVE, check_one_grader
from polars_graded._sentences import format_count
from polars_graded._sentences.titles import Drawn

Frame: TypeAlias = pl.DataFrame | pl.LazyFrame

MAX_DRAWN_ROWS = 3000
"""Maximum number of rows that a chart can draw."""

MAX_PANELS = 60
"""Maximum number of panels of a chart."""

UNNAMED_DTYPES = (pl.List, pl.Array, pl.Struct, pl.Object, pl.Duration, pl.Binary)
"""Types of columns whose values cannot be written as names."""

REPLACEMENTS = {chr(code): chr(0x2400 + code) for code in range(32) if chr(code) not in "\t\n\r"}
REPLACEMENTS |= dict.fromkeys("\u2028\u2029", "\u2424") | dict.fromkeys("\ufffe\uffff", "\ufffd")
"""Characters that an SVG file or a script cannot contain, with their replacements. Programs that
convert an SVG file fail if it contains one of them."""

# "</" could end the script of a page, and "<!--" could hide the end of the script. A zero-width
# space splits both.
REPLACEMENTS |= {"</": "<\u200b/", "<!--": "<\u200b!--"}

OBJECT_PROPERTY_NAMES = (
    *("__proto__", "constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable"),
    *("toLocaleString", "toString", "valueOf", "__defineGetter__", "__defineSetter__"),
    *("__lookupGetter__", "__lookupSetter__"),
)
"""Names of properties that every JavaScript object has."""


# Checks


def check_numbers(
    argument: str, frame: pl.DataFrame, columns: Iterable[str], *, lists: bool = False
) -> None:
    """Raise if a column has a type other than numbers, Boolean or Null.

    With `lists`, lists of these types are allowed, too.
    """
    for column in columns:
        dtype: Any = frame.schema[column]
        inner = dtype.inner if lists and isinstance(dtype, pl.List) else dtype
        if not (inner.is_numeric() or inner in (pl.Boolean, pl.Null)):
            msg = f"`{argument}` must have numbers in {column!r}, got {dtype}"
            raise TypeError(msg)


def check_names(frame: pl.DataFrame, columns: Iterable[str]) -> None:
    """Raise if the values of a column cannot be written as names.

    A column that does not exist is ignored.
    """
    for column in columns:
        if isinstance(dtype := frame.schema.get(column), UNNAMED_DTYPES):
            msg = f"column {column!r} must hold texts, numbers or dates to be shown, got {dtype}"
            raise TypeError(msg)


def check_unique(argument: str, table: pl.DataFrame, keys: Sequence[str], what: str) -> None:
    """Raise if two rows have the same keys, since a chart would draw them as one."""
    if repeated := table.height - table.n_unique(keys):
        msg = (
            f"`{argument}` must have each {what} once, got {format_count(repeated, 'rows')} too "
            "many; `panel` names the columns that distinguish repeated rows"
        )
        raise ValueError(msg)


def check_count(what: str, n: int, maximum: int = MAX_DRAWN_ROWS) -> None:
    """Raise if there are more than `maximum` things to draw."""
    if n > maximum:
        msg = f"at most {maximum} {what} can be drawn, got {n}; filter the frame"
        raise ValueError(msg)


def check_not_empty(argument: str, table: pl.DataFrame, *values: str) -> None:
    """Raise if there is no row to draw."""
    if table.is_empty():
        quantifier = "both " if len(values) > 1 else "a value in "
        names = " and ".join(map(repr, values))
        msg = f"`{argument}` must have a row with {quantifier}{names}, got none"
        raise ValueError(msg)


def check_panels(table: pl.DataFrame, panel: str | None) -> None:
    """Raise if there are too many panels."""
    if panel is not None:
        check_count("panels", table["panel"].n_unique(), MAX_PANELS)


# Columns


def select_drawable(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the columns that a chart can show.

    Texts are escaped, and NaN and infinity become null.
    """
    names = cs.by_dtype(pl.Categorical, pl.Enum)
    drawable = cs.numeric() | cs.string() | cs.boolean() | cs.date() | cs.datetime() | names
    frame = frame.select(drawable).with_columns(
        cs.decimal().cast(pl.Float64), names.cast(pl.String)
    )
    finite_numbers = pl.when(cs.float().is_finite()).then(cs.float())
    return frame.with_columns(_escape(cs.string()), finite_numbers)


def _escape(texts: pl.Expr) -> pl.Expr:
    """Replace what a picture or the script of a page cannot contain."""
    return texts.str.replace_many(list(REPLACEMENTS), list(REPLACEMENTS.values()))


def build_name_column(column: str) -> pl.Expr:
    """Return an expression that converts a column to names as they are drawn.

    Vega stores marks by name in JavaScript objects, and confuses a name such as "constructor" with
    a property of these objects. Such a name gets a zero-width space at its end.
    """
    replacements = {name: f"{name}\u200b" for name in OBJECT_PROPERTY_NAMES}
    names = pl.col(column).cast(pl.String).fill_null("null").replace(replacements)
    return _escape(names)


def build_name_columns(names: Mapping[str, str]) -> list[pl.Expr]:
    """Return one expression per column of names.

    `names` maps the name of each new column to the existing column that contains the names.
    """
    return [build_name_column(column).alias(name) for name, column in names.items()]


def format_names(values: Iterable[Any]) -> list[str]:
    """Convert each value to the name that a chart draws."""
    names = pl.DataFrame({"name": list(values)}).select(build_name_column("name"))
    return names["name"].to_list()


def find_names(frame: pl.DataFrame, column: str) -> list[str]:
    """Return the unique names of a column, as they are drawn."""
    return frame.select(build_name_column(column).unique()).to_series().to_list()


def build_number_column(column: str) -> pl.Expr:
    """Return an expression that converts a column to Float64.

    NaN and infinity become null.
    """
    number = pl.col(column).cast(pl.Float64)
    return pl.when(number.is_finite()).then(number)


def build_columns(
    argument: str,
    frame: pl.DataFrame,
    names: Mapping[str, str],
    numbers: Mapping[str, str],
    positions: Sequence[str] = (),
) -> list[pl.Expr]:
    """Return expressions of names and numbers; raise if they cannot be drawn."""
    check_columns(argument, [*names.values(), *positions, *numbers.values()], frame.columns)
    check_numbers(argument, frame, [*numbers.values(), *positions])
    check_names(frame, names.values())
    return [
        *build_name_columns(names),
        *(build_number_column(column).alias(name) for name, column in numbers.items()),
    ]


# Rows


def collect_one_grader(argument: str, frame: Frame, *separating: Any) -> pl.DataFrame:
    """Return the collected frame; raise if the chart would mix graders.

    The chart separates rows that differ in a column of `separating`. If the column of graders is
    one of these columns, several graders are allowed.
    """
    collected = check_collected(argument, frame)
    if GRADER in collected.columns and GRADER not in collect_column_names(*separating):
        check_names(collected, [GRADER])
        check_one_grader(
            argument,
            sort_naturally(find_names(collected, GRADER)),
            ".filter(grader={!r}) selects the results of one grader. In charts with panels, "
            "panel='grader' draws one panel for each",
        )
    return collected


def build_result_rows(
    argument: str,
    frame: Frame,
    *numbers: str,
    texts: Sequence[str] = ("measure",),
    positions: Sequence[str] = (),
    strategy: str | None = None,
    panel: Columns | None = None,
    unique: str | None = None,
) -> pl.DataFrame:
    """Return the rows of results that can be drawn.

    Rows are left out if they lack a number in the first column of `numbers` or in any column of
    `positions`. The columns `strategy` and `panel` of the result contain the names of strategies
    and panels as text. If `unique` is passed, each row is drawn, and the values of this column must
    not repeat in a panel.
    """
    frame = collect_one_grader(argument, frame, panel, *texts)
    frame, panel = join_panel_columns(argument, frame, panel, strategy)
    keys = {name: c for name, c in (("strategy", strategy), ("panel", panel)) if c is not None}
    names = keys | {name: name for name in texts}
    expressions = build_columns(
        argument, frame, names, dict(zip(numbers, numbers, strict=True)), positions
    )
    frame = frame.with_columns(expressions)
    check_panels(frame, panel)
    drawable = select_drawable(frame)
    needed = [numbers[0], *positions]
    empty = next((each for each in needed if drawable[each].is_null().all()), numbers[0])
    frame = drawable.drop_nulls(needed)
    ends = pl.col("^ci_(low|high)$")
    if {"ci_low", "ci_high"} <= set(frame.columns):
        # If one end of an interval is null, the other becomes null, too.
        frame = frame.with_columns(pl.when(~pl.any_horizontal(ends.is_null())).then(ends))
    check_not_empty(argument, frame, empty)
    if unique is not None:
        check_count("rows", frame.height)
        if panel is not None:
            check_unique(argument, frame, [unique, "panel"], f"{unique} of a panel")
    return frame


def build_query_rows(
    frame: pl.DataFrame, keys: Mapping[str, str], numbers: Mapping[str, str]
) -> pl.DataFrame:
    """Select and rename columns; drop rows that lack a number.

    The mappings go from the new name of a column to its name in `frame`. The columns of `keys`
    contain names, the others contain numbers.
    """
    table = frame.select(build_columns("frame", frame, keys, numbers))
    table = table.drop_nulls(list(numbers))
    check_not_empty("frame", table, *numbers.values())
    check_panels(table, keys.get("panel"))
    return table


# Columns that are joined


def join_columns(
    argument: str, frame: pl.DataFrame, columns: Sequence[str]
) -> tuple[pl.DataFrame, str]:
    """Join columns into one; return the frame and the name of the column.

    The joined column is an Enum. Its values sort as the columns do: if the first column has whole
    numbers, "2, x" comes before "10, x".
    """
    if len(columns) == 1:
        return frame, columns[0]
    check_columns(argument, columns, frame.columns)
    name = ", ".join(columns)
    texts = pl.concat_str([build_name_column(column) for column in columns], separator=", ").alias(
        name
    )
    keys = frame.select(columns).unique().sort(columns).with_columns(texts)
    # Values such as ("x, y", "z") and ("x", "y, z") would have the same text.
    if keys[name].is_duplicated().any():
        number = pl.int_range(1, pl.len() + 1)
        keys = keys.with_columns(pl.format("{} ({})", name, number).alias(name))
    frame = frame.drop(name, strict=False).join(
        keys, on=columns, how="left", nulls_equal=True, maintain_order="left"
    )
    return frame.with_columns(pl.col(name).cast(pl.Enum(keys[name]))), name


def join_query_columns(
    argument: str, frame: Frame, query: Columns, strategy: str
) -> tuple[pl.DataFrame, str]:
    """Join several query columns into one; return the frame and the name of the column."""
    frame = check_collected(argument, frame)
    check_names(frame, [*check_column_names("query", query), strategy])
    return join_columns(argument, frame, check_column_names("query", query))


def add_query_columns(table: pl.DataFrame, per_query: pl.DataFrame, query: str) -> pl.DataFrame:
    """Add the columns of results that have one value per query, as text, for facets.

    These are the columns of a joined query and other properties of queries, such as their market.
    The column "query" of `table` contains the names of queries. Other names that `table` has are
    left out.
    """
    columns = [
        name
        for name, dtype in per_query.schema.items()
        if can_be_key(name, dtype) and not isinstance(dtype, UNNAMED_DTYPES) and name != query
    ]
    queries = per_query.select(query, *columns).unique()
    n_queries = queries[query].n_unique()
    kept = [
        name
        for name in columns
        if name not in table.columns and queries.select(query, name).n_unique() == n_queries
    ]
    names = build_name_columns({"query": query} | {name: name for name in kept})
    texts = queries.select(names).unique("query")
    return table.join(texts, on="query", how="left", maintain_order="left")


def join_panel_columns(
    argument: str, frame: pl.DataFrame, panel: Columns | None, strategy: str | None = None
) -> tuple[pl.DataFrame, str | None]:
    """Join the columns of panels into one; return the frame and the name of the column.

    Results by segment have a panel per segment instead of one per measure. With several measures,
    each measure of each segment has a panel.
    """
    if panel is None:
        return frame, None
    columns = check_column_names("panel", panel)
    segments = find_segments(frame, strategy)
    if columns == ["measure"] and segments:
        columns = segments if frame["measure"].n_unique() == 1 else ["measure", *segments]
    check_names(frame, columns)
    return join_columns(argument, frame, columns)


def find_segments(results: pl.DataFrame, strategy: str | None) -> list[str]:
    """Return the columns of segments: those between the measure and the strategy."""
    names = results.columns
    if strategy not in names or "measure" not in names:
        return []
    return names[names.index("measure") + 1 : names.index(strategy)]


# Facts about rows


def has_panels(table: pl.DataFrame) -> bool:
    """Return whether there are several panels."""
    return "panel" in table.columns and table["panel"].n_unique() > 1


def collect_title_facts(table: pl.DataFrame) -> Drawn:
    """Return measures, counts and the confidence, for the title of a chart."""
    columns = {*table.columns}
    measures = (
        table["measure"].unique(maintain_order=True).to_list() if "measure" in columns else []
    )
    # Panels that are measures are not counted, because a title already lists the measures.
    has_own_panels = "panel" in columns and not (
        "measure" in columns and (table["panel"] == table["measure"]).all()
    )
    queries, clusters = (
        table[name].drop_nulls().unique().sort().to_list() if name in columns else []
        for name in ("queries", "clusters")
    )
    strategies = table["strategy"].n_unique() if "strategy" in columns else 0
    panels = table["panel"].n_unique() if has_own_panels else 0
    numbers = strategies, panels, queries, find_confidence(table), clusters
    return Drawn(measures, *numbers, EFFECTIVE in columns)


def sort_names(table: pl.DataFrame, value: str, name: str) -> list[str]:
    """Sort names by their values of the first measure, highest first.

    Names without a row of this measure follow.
    """
    is_first = (pl.col("measure") == pl.col("measure").first()).alias("is_first")
    ordered = table.sort(is_first, value, descending=True, maintain_order=True)
    return ordered[name].unique(maintain_order=True).to_list()


def find_confidence(comparison: pl.DataFrame) -> float | None:
    """Return the confidence if all intervals have the same one, else None."""
    has_column = "confidence" in comparison.columns
    levels = comparison["confidence"].unique().to_list() if has_column else []
    return levels[0] if len(levels) == 1 else None


def build_selection_name(what: str, table: pl.DataFrame) -> str:
    """Return `what` with a hash of the rows, as the name of a selection."""
    return f"{what}_{hashlib.sha1(table.write_json().encode()).hexdigest()[:10]}"  # noqa: S324
