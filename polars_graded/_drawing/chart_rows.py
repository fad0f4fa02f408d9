"""Convert a frame of results or of queries to the rows that a chart draws, and check them.

In these rows, names are text, and the numbers to draw are Float64. JSON has neither NaN nor
infinity, so they become null. Columns of types that no chart can show, such as lists, are left out.
If there are more points than a chart can draw, evenly spaced points are kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl
import polars.selectors as cs

from polars_graded._checks import (
    check_collected,
    check_column_names,
    check_columns,
    check_confidence,
)
from polars_graded._frames.arguments import Columns
from polars_graded._frames.strategies import sort_naturally
from polars_graded._frames.tables import GRADER, Frame
from polars_graded._measuring.measures import Measure
from polars_graded._results.keys import CLUSTER, Keys, add_units, check_independence
from polars_graded._results.measure_values import average_points
from polars_graded._results.results import EFFECTIVE, check_one_grader
from polars_graded._sentences import format_count
from polars_graded._sentences.titles import TitleFacts

MAX_DRAWN_ROWS = 3000
"""Maximum number of rows that a chart can draw."""

MAX_PANELS = 60
"""Maximum number of panels of a chart."""


# Checks


def check_drawn_numbers(argument: str, frame: pl.DataFrame, columns: Iterable[str]) -> None:
    """Raise if a column has a type other than numbers, Boolean or Null, or lists of these types."""
    for column in columns:
        dtype: Any = frame.schema[column]
        inner = dtype.inner if isinstance(dtype, pl.List) else dtype
        if not (inner.is_numeric() or inner in (pl.Boolean, pl.Null)):
            msg = f"`{argument}` must have numbers in {column!r}, got {dtype}"
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


def check_not_empty(argument: str, table: pl.DataFrame, column: str) -> None:
    """Raise if there is no row to draw."""
    if table.is_empty():
        msg = f"`{argument}` must have a row with a value in {column!r}, got none"
        raise ValueError(msg)


# Names and numbers


def build_name_column(column: str) -> pl.Expr:
    """Return an expression that converts a column to names as they are drawn."""
    return _make_safe(pl.col(column).cast(pl.String).fill_null("null"))


def _make_safe(texts: pl.Expr) -> pl.Expr:
    """Replace what an SVG file cannot contain, and what could end the script of a page."""
    without_control = texts.str.replace_all(r"[\p{Cc}\p{Zl}\p{Zp}\x{FFFE}\x{FFFF}]", " ")
    # Users write queries. Altair copies them into a script, which "</" could end and "<!--" could
    # hide. A zero-width space separates the characters.
    return without_control.str.replace_all("<([/!])", "<\u200b$1")


def format_names(values: Iterable[Any]) -> list[str]:
    """Convert each value to the name that a chart draws."""
    names = pl.DataFrame({"name": list(values)}).select(build_name_column("name"))
    return names["name"].to_list()


def select_drawable(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the columns that a chart can show; NaN and infinity become null."""
    names = cs.by_dtype(pl.Categorical, pl.Enum)
    drawable = cs.numeric() | cs.string() | cs.boolean() | cs.date() | cs.datetime() | names
    frame = frame.select(drawable).with_columns(
        cs.decimal().cast(pl.Float64), names.cast(pl.String)
    )
    finite_numbers = pl.when(cs.float().is_finite()).then(cs.float())
    return frame.with_columns(_make_safe(cs.string()), finite_numbers)


# Rows


def build_rows(
    argument: str,
    frame: Frame,
    *number_columns: str,
    text_columns: Sequence[str] = ("measure",),
    position_columns: Sequence[str] = (),
    strategy: str | None = None,
    panel: Columns | None = None,
    unique: Sequence[str] = (),
) -> pl.DataFrame:
    """Return the rows that can be drawn, with all columns that a chart can show.

    Rows are left out if they lack a number in the first of `number_columns` or in any column of
    `position_columns`. The columns `strategy` and `panel` of the result contain the names of
    strategies and panels. If `unique` is passed, all rows are drawn, and in a panel, no two of them
    have the same values in these columns.
    """
    frame, panel_column = join_panel_columns(argument, frame, panel, strategy, text_columns)
    if panel is None:
        frame = frame.drop("panel", strict=False)
    by_name = {"strategy": strategy, "panel": panel_column} | {name: name for name in text_columns}
    passed = {name: column for name, column in by_name.items() if column is not None}
    check_columns(argument, [*passed.values(), *position_columns, *number_columns], frame.columns)
    check_drawn_numbers(argument, frame, [*number_columns, *position_columns])
    name_columns = [build_name_column(column).alias(name) for name, column in passed.items()]
    rows = select_drawable(
        frame.with_columns(*name_columns, pl.col(*number_columns).cast(pl.Float64))
    )
    needed = [number_columns[0], *position_columns]
    empty = next((each for each in needed if rows[each].is_null().all()), number_columns[0])
    rows = rows.drop_nulls(needed)
    check_not_empty(argument, rows, empty)
    ends = pl.col("^ci_(low|high)$")
    if {"ci_low", "ci_high"} <= set(rows.columns):
        # If one end of an interval is null, the other becomes null, too.
        rows = rows.with_columns(pl.when(~pl.any_horizontal(ends.is_null())).then(ends))
    if unique:
        check_count("rows", rows.height)
        if panel is not None:
            check_unique(argument, rows, [*unique, "panel"], f"{' and '.join(unique)} of a panel")
    return rows


# Columns that are joined


def join_columns(argument: str, frame: Frame, columns: Sequence[str]) -> tuple[pl.DataFrame, str]:
    """Join columns into one; return the frame and the name of the column.

    The joined column is an Enum. Its values sort as the columns do: if the first column has whole
    numbers, "2, x" comes before "10, x".
    """
    frame = check_collected(argument, frame)
    if len(columns) == 1:
        return frame, columns[0]
    check_columns(argument, columns, frame.columns)
    name = ", ".join(columns)
    texts = pl.concat_str([build_name_column(column) for column in columns], separator=", ")
    keys = frame.select(columns).unique().sort(columns).with_columns(texts.alias(name))
    # Values such as ("x, y", "z") and ("x", "y, z") would have the same text.
    if keys[name].is_duplicated().any():
        number = pl.int_range(1, pl.len() + 1)
        keys = keys.with_columns(pl.format("{} ({})", name, number).alias(name))
    frame = frame.drop(name, strict=False).join(
        keys, on=columns, how="left", nulls_equal=True, maintain_order="left"
    )
    return frame.with_columns(pl.col(name).cast(pl.Enum(keys[name]))), name


def join_panel_columns(
    argument: str,
    frame: Frame,
    panel: Columns | None,
    strategy: str | None = None,
    text_columns: Sequence[str] = (),
) -> tuple[pl.DataFrame, str | None]:
    """Join the columns of panels into one; return the frame and the name of the column.

    Instead of one panel per measure, results of several graders have a panel per grader, and
    results by segment have one per segment. With several measures, each measure has its own. A
    chart that separates graders by their names in `text_columns` needs no panels for them.
    """
    frame = check_collected(argument, frame)
    columns = [] if panel is None else check_column_names("panel", panel)
    has_graders = GRADER in frame.columns and frame[GRADER].n_unique() > 1
    if columns == ["measure"] and "measure" in frame.columns:
        graders = [GRADER] if has_graders and GRADER not in text_columns else []
        groups = [*graders, *find_segment_columns(frame, strategy)]
        columns = groups if groups and frame["measure"].n_unique() == 1 else ["measure", *groups]
    if has_graders and GRADER not in {*columns, *text_columns}:
        graders = sort_naturally(frame[GRADER].cast(pl.String).unique().drop_nulls())
        hint = ".filter(grader={!r}) selects the results of one grader"
        check_one_grader(argument, graders, hint)
    if not columns:
        return frame, None
    frame, name = join_columns(argument, frame, columns)
    check_columns(argument, columns, frame.columns)
    check_count("panels", frame[name].n_unique(), MAX_PANELS)
    return frame, name


def find_segment_columns(results: pl.DataFrame, strategy: str | None) -> list[str]:
    """Return the columns of segments: those between the measure and the strategy."""
    names = results.columns
    if strategy not in names or "measure" not in names:
        return []
    return names[names.index("measure") + 1 : names.index(strategy)]


# Facts about rows


def has_panels(table: pl.DataFrame) -> bool:
    """Return whether there are several panels."""
    return "panel" in table.columns and table["panel"].n_unique() > 1


def collect_title_facts(table: pl.DataFrame) -> TitleFacts:
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
    confidence = find_confidence(table)
    is_weighted = EFFECTIVE in columns
    return TitleFacts(measures, strategies, panels, queries, confidence, clusters, is_weighted)


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
    confidences = comparison["confidence"].unique().to_list() if has_column else []
    return confidences[0] if len(confidences) == 1 else None


def build_selection_name(what: str, table: pl.DataFrame) -> str:
    """Return `what` with a hash of the rows, as the name of a selection."""
    return f"{what}_{hashlib.sha1(table.write_json().encode()).hexdigest()[:10]}"  # noqa: S324


# Points of curves


CurveKind: TypeAlias = Literal["rank", "recall"]
"""The x axis of a curve."""

EXAMPLE_CURVES = {"rank": "dcg_curve@10", "recall": "interpolated_precision"}
"""An example of a curve for each x axis, for hints."""


def find_curve_kind(curve: str) -> CurveKind | None:
    """Return the x axis of a curve: "rank", "recall" or None.

    The x axis of interpolated precision is "recall". Ideal DCG has None, since it is drawn beside
    another curve. All other columns have "rank".
    """
    if curve.startswith("interpolated_precision"):
        return "recall"
    return None if curve.startswith("ideal_dcg_curve") else "rank"


def find_only_curve(frame: pl.DataFrame, kind: CurveKind) -> str:
    """Return the only column of lists that is a curve of a kind."""
    lists = frame.select(cs.list() | cs.array()).columns
    names = [name for name in lists if find_curve_kind(name) == kind]
    if len(names) != 1:
        columns = ", ".join(lists) or f"no column of lists among {', '.join(frame.columns)}"
        msg = (
            f"`curve` must name the column to draw, unless exactly one is a curve by {kind}, got "
            f"{' and '.join(names) or columns}\n\n"
            f"Hint: evaluate(frame, {EXAMPLE_CURVES[kind]!r}) returns a curve"
        )
        raise ValueError(msg)
    return names[0]


def find_ideal(curve: str, columns: Iterable[str]) -> str | None:
    """Return the column of the ideal CG or DCG curve; None if there is none."""
    measure = Measure.try_parse(curve)
    if measure is None or measure.function not in ("cg_curve", "dcg_curve"):
        return None
    options = {"discount": "none", "base": 2.0, **measure.options}
    options.pop("ties", None)  # ties do not matter in the ideal order
    ideal = "ideal_dcg_curve", measure.n, options
    for name in columns:
        other = Measure.try_parse(name)
        if other is not None and (other.function, other.n, other.options) == ideal:
            return name
    return None


def average_lists(
    frame: pl.DataFrame,
    curves: dict[str, str],
    kind: CurveKind,
    keys: Keys,
    panel: Columns | None,
    confidence: float | None,
) -> pl.DataFrame:
    """Return the means of lists over queries at each rank, or level of recall.

    `curves` maps "value" and "ideal" to their columns. If `confidence` is passed, each mean has an
    interval. `queries` counts the values of a mean, and `clusters` the clusters of a curve. If each
    query has a panel, the points are those of the lists, without `queries`.
    """
    frame, panel_column = join_panel_columns("frame", frame, panel)
    frame, query = join_columns("frame", frame, keys.query_columns)
    by_name = {"strategy": keys.strategy}
    if panel_column is not None:
        by_name["panel"] = panel_column
    check_columns("frame", [*by_name.values(), query], frame.columns)
    check_drawn_numbers("frame", frame, curves.values())
    segments = [] if panel_column in (None, query) else [panel_column]
    frame = add_units(frame, replace(keys, query=query, segments=segments))
    if confidence is not None:
        check_confidence(confidence)
        check_independence(frame, replace(keys, segments=segments))
    frame = frame.with_columns(
        build_name_column(each).alias(name) for name, each in by_name.items()
    )
    check_unique("frame", frame, [*by_name, query], f"{query} of a {keys.strategy}")
    curve = curves["value"]
    frame = frame.drop_nulls(curve)
    check_not_empty("frame", frame, curve)
    n = check_list_length(frame, [*curves.values()])
    positions = list_positions(curve, kind, n)
    kept = choose_equal_steps(n, compute_max_points(frame.n_unique([*by_name])))
    lines = []
    for rows in frame.partition_by([*by_name], maintain_order=True):
        columns: dict[str, pl.Series] = {kind: positions[kept]}
        for name, column in curves.items():
            array = rows[column].cast(pl.List(pl.Float64)).list.to_array(n).to_numpy()
            points = array[:, kept.to_numpy()].T
            points[np.isinf(points)] = np.nan
            mean, low, high = average_points(points, rows, confidence)
            columns[name] = pl.Series(mean)
            if name == "value":
                columns["queries"] = pl.Series(np.isfinite(points).sum(axis=1), dtype=pl.UInt32)
            if name == "value" and confidence is not None:
                columns |= {"ci_low": pl.Series(low), "ci_high": pl.Series(high)}
        clusters = [pl.col(CLUSTER).n_unique().alias("clusters")] if CLUSTER in rows.columns else []
        line = rows.select(pl.col(*by_name).first(), *clusters)
        lines.append(line.join(pl.DataFrame(columns).fill_nan(None), how="cross"))
    means = pl.concat(lines).drop_nulls("value")
    check_not_empty("frame", means, curve)
    return means.drop("queries") if panel_column == query else means


def list_positions(curve: str, kind: CurveKind, n: int) -> pl.Series:
    """Return the rank or the recall of each value in a list of length n."""
    measure = Measure.try_parse(curve)
    if measure is not None and measure.positions is not None and len(measure.positions[1]) == n:
        return pl.Series(measure.positions[1])
    ranks = pl.int_range(1, n + 1, eager=True)
    return ranks if kind == "rank" else (ranks - 1) / max(1, n - 1)


def compute_max_points(n_lines: int) -> int:
    """Return the maximum number of points per line; raise for too many lines."""
    check_count("lines", n_lines, MAX_DRAWN_ROWS // 2)
    return MAX_DRAWN_ROWS // n_lines


def choose_equal_steps(n: int, maximum: int) -> pl.Series:
    """Return up to `maximum` evenly spaced whole numbers from 0 to n - 1."""
    n_kept = min(n, maximum)
    return (pl.int_range(n_kept, eager=True) * (n - 1) / max(1, n_kept - 1)).round().cast(pl.Int64)


def check_list_length(frame: pl.DataFrame, columns: Sequence[str]) -> int:
    """Return the common length of the lists in columns; 0 without lists."""
    lengths: Any = pl.concat([frame[column].list.len().drop_nulls() for column in columns])
    if lengths.n_unique() > 1:
        msg = (
            f"the lists of {' and '.join(columns)} must all have the same length, as for a curve "
            f"with a cutoff, got {lengths.min()} to {lengths.max()}"
        )
        raise ValueError(msg)
    return lengths.max() or 0
