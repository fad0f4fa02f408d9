"""Charts of single queries: where one strategy gains on another, and how two measures agree."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import altair as alt
import polars as pl

from polars_graded._checks import (
    check_choice,
    check_collected,
    check_columns,
)
from polars_graded._drawing import findings, marks, parts
from polars_graded._drawing import rows as chart_rows
from polars_graded._results.comparing import differences
from polars_graded._results.per_query import columns_named

if TYPE_CHECKING:
    from types import EllipsisType

    from polars_graded._drawing.parts import Chart
    from polars_graded._drawing.rows import Frame
    from polars_graded._results.per_query import Missing, Named


MOST_BARS = 300
"""How many bars stand side by side; with more queries, several share one."""

MOST_EXTREMES = 3
"""How many queries are named on either side where there is no room for all names."""

MOST_LANES = 6
"""So many histograms stand below each other."""

MOST_BINS = 40
"""How many bins a histogram has."""


@chart_rows.draws_any_name
def precision_histogram(
    per_query: Frame,
    measure: Named,
    a: Any,
    b: Any,
    *,
    order: Literal["difference", "query"] = "difference",
    query: str = "query",
    strategy: str = "strategy",
    missing: Missing = "error",
) -> alt.LayerChart:
    r"""Draw by how much one strategy is better than another, one bar per query.

    .. math:: RP_{A/B}(q) = RP_A(q) - RP_B(q)

    As text: ``RP(A/B, q) = RP(A, q) - RP(B, q)``

    Up to 60 queries have their names under their bars; of more, the three that differ most in
    either direction have theirs beside them. Up to 300 have one bar each. Of more, several
    neighbours share a bar, which above the axis is what A is better by and below it what B is, each
    summed over the queries and divided by their number.

    Parameters
    ----------
    per_query
        One row per strategy and query with one column per measure, as `evaluate` returns it.
    measure
        The column to compare; for a precision histogram `"r_precision"`.
    a, b
        The two strategies; bars above the axis are queries where `a` has more.
    order
        Whether bars come by falling `"difference"`, or by `"query"`.
    query, strategy, missing
        As for `differences`: where a value is missing, that is an error, or the query is dropped,
        or the value is zero.

    Returns
    -------
    LayerChart
        Of rows with `position` (of the first query of a bar, from 1), `last`, `query` (its name, or
        those of its first and last), `queries` (how many), `difference`, `better` (which of the
        two), and with more than 60 queries `name` and `name_at`, the names of those that differ
        most and where they stand. Ties have no bar; the title says how many queries each strategy
        is better with.

    Raises
    ------
    ColumnNotFoundError, TypeError, ValueError
        As `differences`; also if no query is left.

    References
    ----------
    Chen, B. Retrieval evaluation (slides), method 3, precision histograms.

    Examples
    --------
    >>> per_query = pl.DataFrame(
    ...     {
    ...         "strategy": ["bm25"] * 3 + ["ours"] * 3,
    ...         "query": ["a", "b", "c"] * 2,
    ...         "r_precision": [0.5, 1.0, 0.25, 0.5, 0.75, 0.75],
    ...     }
    ... )
    >>> precision_histogram(per_query, "r_precision", "ours", "bm25").data
    shape: (3, 6)
    ┌──────────┬──────┬───────┬─────────┬────────────┬────────┐
    │ position ┆ last ┆ query ┆ queries ┆ difference ┆ better │
    │ ---      ┆ ---  ┆ ---   ┆ ---     ┆ ---        ┆ ---    │
    │ i64      ┆ i64  ┆ str   ┆ u32     ┆ f64        ┆ str    │
    ╞══════════╪══════╪═══════╪═════════╪════════════╪════════╡
    │ 1        ┆ 1    ┆ c     ┆ 1       ┆ 0.5        ┆ ours   │
    │ 2        ┆ 2    ┆ a     ┆ 1       ┆ 0.0        ┆ null   │
    │ 3        ┆ 3    ┆ b     ┆ 1       ┆ -0.25      ┆ bm25   │
    └──────────┴──────┴───────┴─────────┴────────────┴────────┘
    """
    per_query = check_collected("per_query", per_query)
    table = differences(
        per_query, measure, a, b, query=query, strategy=strategy, missing=missing, order=order
    )
    [measure] = columns_named([measure])
    n = table.height
    if not n:
        msg = f"{a!r} and {b!r} must have a query with a value of {measure}, got none"
        raise ValueError(msg)
    winner = pl.col("winner")
    won = [table.select((winner == pl.lit(name)).sum()).item() for name in (a, b)]
    # The column of queries could be called like one that is drawn.
    table = table.select(
        chart_rows.text(query).alias("query"),
        "difference",
        pl.when(winner.is_not_null()).then(chart_rows.text("winner")).alias("better"),
    ).with_row_index("position", offset=1)
    size = -(-n // MOST_BARS)
    rows = chart_rows.shared_bars(table, size)
    both = pl.DataFrame({"name": [a, b]}).select(chart_rows.text("name")).to_series().to_list()
    # Among all strategies, the two have the colours that they have in other charts.
    everyone = per_query.select(chart_rows.text(strategy).unique()).to_series().to_list()
    known = everyone if len(everyone) <= parts.MOST_COLOURS else both
    better = table["better"].drop_nulls().unique().to_list()
    colour = parts.strategy_look(known, strategy, field="better", drawn=better)["color"]
    y_title = f"{measure}: {both[0]} - {both[1]}"
    finding = findings.wins(both, won, n)
    if n <= parts.MOST_NAMED:
        step, names = parts.name_step(n), rows["query"].to_list()
        axis = parts.names_axis(names, step, labelLimit=120, titleLimit=400)
        layers = marks.named_bars(query, names, y_title, colour, axis)
        width = alt.Step(step)
        return parts.layered(layers, rows, apart=["color"], finding=finding, width=width)
    title = f"{query}, by falling difference" if order == "difference" else f"{query}, in order"
    if size > 1:
        title += f", {size} in a bar"
    falling = order == "difference"
    rows = chart_rows.with_extremes(rows, table, size, MOST_EXTREMES, falling=falling)
    layers = marks.placed_bars(title, n + 0.5, y_title, colour)
    layers += marks.extremes(title, y_title, falling=falling)
    return parts.layered(layers, rows, apart=["color", "stroke"], finding=finding)


@chart_rows.draws_any_name
def measure_agreement(
    frame: Frame,
    x: str,
    y: str,
    *,
    show: Literal["agreement", "difference", "difference_by_x"] = "agreement",
    panel: str | EllipsisType | None = ...,
    query: str = "query",
    strategy: str = "strategy",
) -> Chart:
    """Draw one measure against another, one point per query, or how their difference lies.

    They stand side by side as
    ``measure_agreement(frame, x, y) | measure_agreement(frame, x, y, show="difference")``.

    Parameters
    ----------
    frame
        One row per strategy and query with one column per measure, as `evaluate` and
        `experiments.ndcg_by_relevance` return it.
    x, y
        The columns of the two measures.
    show
        `"agreement"`: points, and the diagonal on which both measures are the same.
        `"difference"`: how many queries have which difference x - y, a histogram for each strategy,
        below each other. `"difference_by_x"`: points of the difference against x, which show
        whether the measures part where x is high.
    panel
        A column whose values get a panel each, such as a cutoff; None for none, which stacks the
        histograms of several strategies. By default it is the strategy of histograms, and none of
        points.
    query, strategy
        The columns that tell queries and strategies apart; a frame without such columns will do.

    Returns
    -------
    LayerChart or FacetChart
        For `"agreement"`, rows with `strategy`, `query`, `x` and `y`, which for
        `"difference_by_x"` is the difference; with more than 3000 rows, a point stands for the
        `queries` of a strategy near it, at their mean. For `"difference"`,
        rows with `strategy`, `low`, `high` and `queries`, of bins of equal width, 0 in the middle
        of one. `panel` where it is drawn. A row where a measure is null, NaN or infinite is left
        out. More than ten strategies have no colours, and are counted together.

        Both axes of `"agreement"` have the same ends, unless one measure spans ten times as much as
        the other: then each has its own, and there is no diagonal.

    Raises
    ------
    ColumnNotFoundError
        If a column is not there.
    TypeError
        If a measure is not one number per query.
    ValueError
        If no row has both measures; if there are more than 60 panels.

    References
    ----------
    Moniz, Torgo, Vinagre: Data-driven relevance judgments for ranking evaluation, 2016, figures 3
    and 4.

    Examples
    --------
    >>> per_query = pl.DataFrame(
    ...     {
    ...         "strategy": "bm25",
    ...         "query": ["a", "b", "c"],
    ...         "ndcg": [0.75, 0.5, 1.0],
    ...         "ndcg_phi": [0.25, 0.5, 1.0],
    ...     }
    ... )
    >>> measure_agreement(per_query, "ndcg", "ndcg_phi", show="difference").data
    shape: (2, 4)
    ┌──────────┬────────┬───────┬─────────┐
    │ strategy ┆ low    ┆ high  ┆ queries │
    │ ---      ┆ ---    ┆ ---   ┆ ---     │
    │ str      ┆ f64    ┆ f64   ┆ u32     │
    ╞══════════╪════════╪═══════╪═════════╡
    │ bm25     ┆ -0.025 ┆ 0.025 ┆ 2       │
    │ bm25     ┆ 0.475  ┆ 0.525 ┆ 1       │
    └──────────┴────────┴───────┴─────────┘
    """
    check_choice("show", show, ("agreement", "difference", "difference_by_x"))
    frame = check_collected("frame", frame)
    lanes = panel is ... and show == "difference" and _are_few(frame, strategy)
    panel = strategy if lanes else None if panel is ... else panel
    keys = {name: column for name, column in [("panel", panel)] if column is not None}
    # A frame may do without strategies or queries, but not without a column that is named.
    keys |= {
        name: column
        for name, column in (("strategy", strategy), ("query", query))
        if column != name or column in frame.columns
    }
    check_columns("frame", [x, y, *keys.values()], frame.columns)
    chart_rows.check_numbers("frame", frame, [x, y])
    table = frame.select(
        *(chart_rows.text(column).alias(name) for name, column in keys.items()),
        chart_rows.number(x).alias("x"),
        chart_rows.number(y).alias("y"),
    ).drop_nulls(["x", "y"])
    if table.is_empty():
        msg = f"`frame` must have a row with both {x!r} and {y!r}, got none"
        raise ValueError(msg)
    chart_rows.check_panels(table, panel, "panel")
    groups, colour = ["panel"] if panel else [], {}
    if "strategy" in keys and table["strategy"].n_unique() <= parts.MOST_COLOURS:
        groups = [*groups, "strategy"]
        colour = parts.strategy_look(table["strategy"], strategy, legends=not lanes)
    things = "queries" if "strategy" not in keys or _of_one(table) else "results"
    if show == "agreement":
        finding = findings.agreement(x, y, table, things)
    else:
        finding = findings.which_is_higher(x, y, table["x"] - table["y"], things)
    n_groups = table.n_unique(groups) if groups else 1
    most = chart_rows.most_points(n_groups)
    if show == "difference":
        bins = min(most - 2, MOST_BINS, 10 + math.isqrt(table.height // n_groups))
        table = chart_rows.counted(table, groups, bins)
        # Below each other, it is seen how far each lies to the side.
        few = {"columns": 1, "height": 90}
        many = {"columns": 3, "height": 90, "width": 200}
        size: dict[str, Any] = (few if n_groups <= MOST_LANES else many) if lanes else {}
        counts = marks.counts(f"{x} - {y}", colour)
        described = f"how many queries have which difference {x} - {y}"
        size |= {"finding": finding, "description": described}
        return parts.panels(counts, table, panel, **size)
    by_x = show == "difference_by_x"
    if by_x:
        table = table.with_columns((pl.col("x") - pl.col("y")).alias("y"))
        ends = chart_rows.round_ends(table["x"]), chart_rows.round_ends(table["y"], 10)
    else:
        ends = chart_rows.axes_ends(table["x"], table["y"])
    if table.height > chart_rows.MOST_ROWS:
        table = chart_rows.gathered(table, groups, math.isqrt(most), *ends)
    most_queries: Any = table["queries"].max() if "queries" in table.columns else None
    named = [name for name in ("strategy", "query") if name in table.columns]
    titles = (x, f"{x} - {y}" if by_x else y)
    points = marks.points(titles, ends, colour, named, most_queries)
    same = [parts.rule(y=0)] if by_x else [marks.diagonal(ends[0])] if ends[0] == ends[1] else []
    apart = [] if most_queries is None else ["size"]
    described = f"{titles[1]} against {x} for {table.height} points"
    said: dict[str, Any] = {"finding": finding, "description": described}
    return parts.panels([*same, points], table, panel, apart=apart, **said)


def _of_one(table: pl.DataFrame) -> bool:
    """Whether all points are of one strategy."""
    return table["strategy"].n_unique() == 1


def _are_few(frame: pl.DataFrame, strategy: str) -> bool:
    """Whether there are several strategies, of which each can have a histogram."""
    return strategy in frame.columns and 1 < frame[strategy].n_unique() <= parts.MOST_COLOURS
