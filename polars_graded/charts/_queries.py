"""Charts of single queries: compare two strategies or two measures, and find hard queries."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import EllipsisType
from typing import Any, Literal

import altair as alt
import polars as pl

from polars_graded._checks import check_choice
from polars_graded._drawing import (
    axis_ends,
    bins,
    chart_checks,
    chart_rows,
    curve_rows,
    marks,
    pair_rows,
    style,
)
from polars_graded._drawing.chart_rows import Frame
from polars_graded._drawing.style import Chart
from polars_graded._results.comparing import differences
from polars_graded._results.keys import Columns, run_one_grader, takes_results
from polars_graded._results.per_query import (
    MeasureColumns,
    Missing,
    check_per_query,
    compute_mean_interval,
    list_named_columns,
)
from polars_graded._sentences import (
    format_count,
    format_number,
    join_words,
    shorten_name,
    shorten_names,
    titles,
)

N_RELEVANT = "n_relevant"
"""The measure that counts the relevant documents of a query."""

MAX_EXTREMES = 3
"""Maximum number of queries named at each end of the bars if there is no room for all names."""

HISTOGRAM_SIZE: dict[str, Any] = {"width": 600, "height": 280}
"""Size of a precision histogram in pixels, for any number of queries."""

MAX_HEATMAP_ROWS = 150
"""Maximum number of visible rows of a heat map."""

MAX_HEATMAP_STRATEGIES = 1000
"""Maximum number of strategies in a heat map."""

MAX_OPAQUE_POINTS = 300
"""Maximum number of points that are nearly opaque and of full size."""

LARGE_POINT = 30
"""Size of a point if there are at most `MAX_OPAQUE_POINTS`, in square pixels."""

MAX_STACKED_HISTOGRAMS = 6
"""Maximum number of histograms in one column."""


@takes_results(run_one_grader)
def precision_histogram(
    per_query: Frame,
    measure: MeasureColumns,
    a: Any,
    b: Any,
    *,
    order: Literal["difference", "query"] = "difference",
    query: Columns = "query",
    strategy: str = "strategy",
    missing: Missing = "error",
    grader: str | None = None,  # noqa: ARG001 takes_results selects it
    colours: Mapping[str, str] | None = None,
    highlight: Any = None,
) -> alt.LayerChart:
    r"""Draw the difference between two strategies, one bar per query.

    .. math:: RP_{A/B}(q) = RP_A(q) - RP_B(q)

    As text: ``RP(A/B, q) = RP(A, q) - RP(B, q)``, where RP(A, q) is the R-precision of strategy A
    for query q. Any other measure is drawn in the same way.

    With up to 60 queries, each bar has the name of its query below it. With more queries, the
    queries with the largest differences are named at their bars. Source: Chen, B. Retrieval
    evaluation (slides), method 3.

    Parameters
    ----------
    per_query
        One row per strategy and query with one column per measure, as `evaluate` returns it.
    measure
        The column to compare. With `"r_precision"`, the chart is the precision histogram of the
        source.
    a, b
        The two strategies; bars above the axis are queries where `a` has the higher value.
    order
        The order of the bars: by descending `"difference"`, or by `"query"`.
    query, strategy, missing, grader
        As for `differences`.
    colours
        The colours of the strategies by name, such as `{"ours": "#c00"}`. By default, `a` and `b`
        have the first two colours of the theme, which are blue and orange in Vega.
    highlight
        The strategy whose bars have a colour; the other bars are grey.

    Returns
    -------
    LayerChart
        Each row is the bar of a query, with `position` (from 1), `query`, `difference`, `better`
        (the better strategy, null for a tie) and `label` (a text at the bar, null for most bars). A
        tie is a dot at 0. With more than 3000 queries, 3000 of them are drawn, at equal steps. The
        dot to the right is the mean difference of all queries, and its bar is Student's 95 %
        interval, which needs two queries.

    Examples
    --------
    >>> per_query = pl.DataFrame(
    ...     {
    ...         "strategy": ["bm25"] * 3 + ["ours"] * 3,
    ...         "query": ["a", "b", "c"] * 2,
    ...         "r_precision": [0.5, 1.0, 0.25, 0.5, 0.75, 0.75],
    ...     }
    ... )
    >>> chart = precision_histogram(per_query, "r_precision", "ours", "bm25")
    >>> chart.data.drop("label")
    shape: (3, 4)
    ┌──────────┬───────┬────────────┬────────┐
    │ position ┆ query ┆ difference ┆ better │
    │ ---      ┆ ---   ┆ ---        ┆ ---    │
    │ u32      ┆ str   ┆ f64        ┆ str    │
    ╞══════════╪═══════╪════════════╪════════╡
    │ 1        ┆ c     ┆ 0.5        ┆ ours   │
    │ 2        ┆ a     ┆ 0.0        ┆ null   │
    │ 3        ┆ b     ┆ -0.25      ┆ bm25   │
    └──────────┴───────┴────────────┴────────┘
    """
    per_query, query = chart_rows.join_query_columns("per_query", per_query, query, strategy)
    table, both, measure = build_compared_queries(
        per_query, measure, a, b, query, strategy=strategy, missing=missing, order=order
    )
    wins = [table.filter(better=name).height for name in both]
    mean = compute_mean_interval(table["difference"].to_numpy())
    finding = titles.title_wins(both, wins, table.height)
    notes = titles.write_mean_difference(*mean)
    has_names = table.height <= style.MAX_NAMED_MARKS
    rows = _label_extremes(table, 0 if has_names else MAX_EXTREMES, order)
    kept = curve_rows.choose_equal_steps(rows.height, chart_checks.MAX_DRAWN_ROWS)
    if len(kept) < rows.height:
        notes += [f"{len(kept):,} of {format_count(rows.height, 'queries')} are drawn"]
        rows = rows[kept]
    names = rows["query"].to_list()
    step = HISTOGRAM_SIZE["width"] // len(names)
    axis: dict[str, Any] = {"labels": has_names or order == "query", "ticks": has_names}
    overlap = {"labelOverlap": "greedy", "labelSeparation": -3} if has_names else {}
    axis |= {"labelOverlap": True, "labelLimit": 120, "titleLimit": 400} | overlap
    title = "queries, sorted by difference" if order == "difference" else query
    x = alt.X(title=title, **style.order_axis(names, **style.fit_name_axis(names, step, **axis)))
    y_title = f"{titles.name_measure(measure)}: {' − '.join(shorten_names(both, 16))}"
    y = alt.Y(title=y_title, axis=alt.Axis(titleLimit=300), scale=alt.Scale(padding=18))
    # A legend with the words "better" needs no title.
    legend = alt.Legend(
        orient="top",
        title=None,
        labelLimit=300,
        labelExpr=f"({style.write_short_label('datum.label', both)}) + ' better'",
    )
    colour = style.encode_names(
        both,
        f"better {strategy}",
        field="better",
        colours=colours,
        highlight=highlight,
        legend=legend,
    )
    words = style.Words(finding, notes, f"{y_title} by {title}")
    layers = [*_draw_differences(table.height), *_draw_mean(*mean)]
    shared = alt.Encoding(x=x, y=y, color=colour)
    return style.draw_layers(
        layers, rows, words, independent=["color"], encoding=shared, **HISTOGRAM_SIZE
    )


def _label_extremes(table: pl.DataFrame, n: int, order: str) -> pl.DataFrame:
    """Return the rows of bars with the column `label`, the text at a bar.

    Sorted bars with the largest differences are neighbours, so the first and the last bar have the
    names of up to `n` queries. In the order of queries, a name is at its own bar, and each
    direction has one.
    """
    labels: dict[int, str] = {}
    for sign in (pl.col("difference") > 0, pl.col("difference") < 0):
        largest = table.filter(sign).sort(
            pl.col("difference").abs(), descending=True, maintain_order=True
        )
        largest = largest.head(n if order == "difference" else min(n, 1))
        if not largest.is_empty():
            name = join_words([*map(shorten_name, largest["query"])])
            labels[largest["position"][0]] = name
    label = pl.col("position").replace_strict(labels, default=None, return_dtype=pl.String)
    return table.select("position", "query", "difference", "better", label.alias("label"))


def _draw_differences(n: int) -> list[alt.Chart]:
    """Draw a bar for each query, a dot for each tie, and the names of extreme queries."""
    base = alt.Chart().encode(x=alt.X("query:N"), y=alt.Y("difference:Q"))
    tooltip = style.list_tooltips("query:N", *style.format_decimals("difference"), "better:N")
    ties = base.transform_filter("!isValid(datum.better)")
    # Marks at the left end start at their bars, and marks at the right end stop there.
    is_above, is_first = "datum.difference > 0", f"datum.position <= {n / 2}"
    texts = base.transform_filter("isValid(datum.label)").mark_text(
        align=alt.ExprRef(f"{is_first} ? 'left' : 'right'"),
        dx=alt.ExprRef(f"{is_first} ? 2 : -2"),
        dy=alt.ExprRef(f"{is_above} ? -8 : 8"),
        limit=400,
        clip=False,
    )
    return [
        base.mark_bar(minBandSize=1).encode(y=alt.Y("difference:Q", stack=None), tooltip=tooltip),
        marks.draw_zero("difference"),
        ties.mark_point(filled=True, size=9, opacity=1).encode(
            color=alt.value(style.DOUBT), tooltip=tooltip[:2]
        ),
        texts.encode(text="label:N", color=alt.value(style.find_ink())),
    ]


def _draw_mean(mean: float, low: float | None, high: float | None) -> list[alt.Chart]:
    """Draw a mean difference as a dot to the right of the bars, and its interval as a line."""
    words = [f"mean difference {format_number(mean)}"]
    base = style.build_one_row()
    look: dict[str, Any] = {"x": alt.value("width"), "y": alt.Y("difference:Q")}
    look["color"] = alt.value(style.find_ink())
    line = []
    if low is not None and high is not None:
        words.append(f"95 % interval {format_number(low)} to {format_number(high)}")
        # With the field of the bars for both ends, the axis needs no further title.
        ends = base.transform_calculate(low=repr(low), high=repr(high))
        ends = ends.transform_fold(["low", "high"], as_=["end", "difference"])
        line = [ends.mark_line(xOffset=14, strokeWidth=3, clip=False).encode(**look)]
    base = base.transform_calculate(difference=repr(mean))
    base = base.encode(**look, tooltip=alt.value(", ".join(words)))
    return [
        *line,
        base.mark_point(xOffset=14, filled=True, opacity=1, size=30, clip=False),
        base.mark_text(align="left", dx=22, clip=False).encode(text=alt.value("mean")),
    ]


def describe_wins(both: list[str], table: pl.DataFrame) -> str:
    """Describe in how many of the queries each of the two strategies is better."""
    wins_a, wins_b = (table.filter(better=name).height for name in both)
    return titles.write_wins(both, wins_a, wins_b, table.height)


def build_compared_queries(
    per_query: pl.DataFrame, measure: MeasureColumns, a: Any, b: Any, query: str, **options: Any
) -> tuple[pl.DataFrame, list[str], str]:
    """Return the compared queries, and the names of strategies and measure.

    Each row is a query with its two values. The column `key` contains the query in its original
    type. The original name of the query column is not used, since it could be the name of another
    column of the result, such as `position`.
    """
    table = differences(per_query, measure, a, b, query=query, **options)
    [name] = list_named_columns([measure])
    if table.is_empty():
        msg = f"{a!r} and {b!r} must have a query with a value of {name}, got none"
        raise ValueError(msg)
    is_won = pl.col("winner").is_not_null()
    table = table.select(
        pl.col(query).alias("key"),
        chart_rows.build_name_column(query).alias("query"),
        *("value_a", "value_b", "difference"),
        pl.when(is_won).then(chart_rows.build_name_column("winner")).alias("better"),
    )
    return table.with_row_index("position", offset=1), chart_rows.format_names([a, b]), name


def choose_pair_look(
    table: pl.DataFrame,
    per_query: pl.DataFrame,
    both: list[str],
    *,
    strategy: str,
    legends: bool = False,
) -> dict[str, Any]:
    """Return the colours of two strategies.

    If `per_query` has at most ten strategies, each strategy has the same colour as in charts that
    show all strategies.
    """
    all_names = chart_rows.find_names(per_query, strategy)
    domain = all_names if len(all_names) <= style.MAX_COLOURS else both
    better = table["better"].drop_nulls().unique().to_list()
    return style.choose_look(
        domain, f"better {strategy}", field="better", drawn_names=better, legends=legends
    )


@takes_results(run_one_grader)
def query_heatmap(
    per_query: Frame,
    measure: MeasureColumns,
    *,
    query: Columns = "query",
    strategy: str = "strategy",
    missing: Missing = "error",
    grader: str | None = None,  # noqa: ARG001 takes_results selects it
) -> alt.LayerChart:
    """Draw the value of each query for each strategy as a heat map.

    Each row is a query, the hardest (with the worst mean over strategies) at the top. Each column
    is a strategy, the best at the left. In a row of one colour, all strategies are equal. Up to 60
    queries have names. If there are too many queries for one row each, a row shows the means of
    several neighbouring queries. If the frame has the column `n_relevant`, queries without a
    relevant document are left out, since their values do not show how hard these queries are. The
    subtitle states how many queries are left out. A heat map of `n_relevant` itself contains all
    queries.

    Parameters
    ----------
    per_query
        One row per strategy and query with one column per measure, as `evaluate` returns it.
    measure
        The column to draw.
    query, strategy, missing, grader
        As for `compare`.

    Returns
    -------
    LayerChart
        Each row is a cell, with `strategy`, `position` and `last` (the positions of its first and
        last query, from 1), `query` (the name of its query, or the names of its first and last
        query), `queries` (the number of queries) and `value` (the mean over these queries). The
        heat map has at most 150 rows, 3000 cells and 1000 strategies.

    See Also
    --------
    precision_histogram : Two strategies query by query.
    comparison_matrix : The differences of all pairs of strategies.

    Examples
    --------
    >>> per_query = pl.DataFrame(
    ...     {"strategy": ["bm25", "ours"] * 2, "query": [*"aabb"], "ap": [0.5, 1.0, 0.25, 0.25]}
    ... )
    >>> query_heatmap(per_query, "ap").data.select("strategy", "query", "value")
    shape: (4, 3)
    ┌──────────┬───────┬───────┐
    │ strategy ┆ query ┆ value │
    │ ---      ┆ ---   ┆ ---   │
    │ str      ┆ str   ┆ f64   │
    ╞══════════╪═══════╪═══════╡
    │ ours     ┆ b     ┆ 0.25  │
    │ bm25     ┆ b     ┆ 0.25  │
    │ ours     ┆ a     ┆ 1.0   │
    │ bm25     ┆ a     ┆ 0.5   │
    └──────────┴───────┴───────┘
    """
    per_query = chart_rows.collect_one_grader("per_query", per_query, query, strategy)
    per_query, query = chart_rows.join_query_columns("per_query", per_query, query, strategy)
    n_undefined = 0
    if list_named_columns([measure]) != [N_RELEVANT]:
        per_query, n_undefined = drop_undefined(per_query, query)
    grid = check_per_query(per_query, [measure], query=query, strategy=strategy, missing=missing)
    [measure] = list_named_columns([measure])
    results = grid.get_results(measure)
    chart_checks.check_not_empty("per_query", results.queries.to_frame(), measure)
    chart_checks.check_count("strategies", len(results.values), MAX_HEATMAP_STRATEGIES)
    names = (
        grid.strategies.to_frame("name").select(chart_rows.build_name_column("name")).to_series()
    )
    table, queries = bins.build_heatmap_rows(results, names, MAX_HEATMAP_ROWS)
    order = table["strategy"].unique(maintain_order=True).to_list()
    n, n_rows, row_size = len(queries), table["position"].n_unique(), table["queries"][0]
    facts = titles.Drawn([measure], len(order), 0, [n])
    row_note = "a row is one query" if row_size == 1 else f"a row is the mean of {row_size} queries"
    notes = [*titles.write_subtitle(facts, ""), f"{row_note}, hardest first; columns: best first"]
    if n_undefined:
        notes.append(titles.write_left_out(n_undefined))
    has_names, base = n <= style.MAX_NAMED_MARKS, alt.Chart()
    if has_names:
        field, axis = "query:N", style.order_axis(queries, labelLimit=120)
    else:
        ends = 0.5, n_rows * row_size + 0.5
        field, axis = "start:Q", style.bound_axis(ends, reverse=True, format=",d", tickCount=6)
        base = base.transform_calculate(**marks.BAR_ENDS).encode(y2=alt.Y2("end:Q"))
    column_width = max(8, min(40, 500 // len(order)))
    names_above = style.fit_name_axis(order, column_width, orient="top", labelOverlap=False)
    # The fill shows values, since `color` encodes strategies in all charts. One hue is legible in
    # grey print.
    domain = [0, 1] if style.is_unit(table["value"]) else alt.Undefined
    shades = alt.Scale(scheme="blues", domain=domain)
    cells = base.mark_rect().encode(
        x=alt.X("strategy:N", title=strategy, **style.order_axis(order, **names_above)),
        y=alt.Y(field, title=query, **axis),
        fill=alt.Fill("value:Q", title=measure, scale=shades),
        tooltip=style.list_tooltips(
            "strategy:N", "query:N", "queries:Q", *style.format_decimals("value")
        ),
    )
    # The height of a row is a whole number of pixels. Otherwise gaps between rows would look like
    # stripes.
    height = alt.Step(max(10, min(20, 400 // n))) if has_names else round(400 / n_rows) * n_rows
    description = f"{measure} of {n:,} queries for {len(order)} strategies"
    words = style.Words(
        f"{titles.title_strategies('Values of', facts)}, query by query", notes, description
    )
    width = alt.Step(column_width)
    return style.draw_layers(
        [cells], table, words, independent=["fill"], width=width, height=height
    )


def drop_undefined(per_query: pl.DataFrame, query: str) -> tuple[pl.DataFrame, int]:
    """Drop queries whose `n_relevant` is 0 in all rows, and count the dropped queries."""
    if N_RELEVANT not in per_query.columns or not per_query.schema[N_RELEVANT].is_numeric():
        return per_query, 0
    is_undefined = (pl.col(N_RELEVANT) == 0).fill_null(value=False).all().over(query)
    n_undefined = per_query.filter(is_undefined)[query].n_unique()
    return per_query.filter(~is_undefined), n_undefined


def measure_agreement(
    frame: Frame,
    x: str,
    y: str,
    *,
    show: Literal["agreement", "difference", "difference_by_x"] = "agreement",
    panel: str | EllipsisType | None = ...,
    query: Columns = "query",
    strategy: str = "strategy",
) -> Chart:
    """Draw one measure against another, or the difference of two measures.

    Source: Moniz, Torgo and Vinagre (2016), figures 3 and 4.

    Parameters
    ----------
    frame
        One row per strategy and query with one column per measure, as `evaluate` and
        `experiments.ndcg_by_relevance` return it.
    x, y
        The columns of the two measures.
    show
        `"agreement"`: points, and the diagonal on which both measures are equal. `"difference"`:
        histograms of the difference x - y over queries, one for each strategy.
        `"difference_by_x"`: points of the difference x - y against x, which show whether the
        measures disagree if x is high.
    panel
        A column whose values get a panel each, such as a cutoff. With None, there are no panels,
        and the histograms of several strategies are stacked. By default, points have no panels, and
        histograms of two to ten strategies have one panel per strategy.
    query, strategy
        The columns of queries and of strategies. The frame may lack the default columns.

    Returns
    -------
    LayerChart or FacetChart
        For `"agreement"` and `"difference_by_x"`, each row is a point with `x` and `y`. The rows
        also contain `strategy` and `query` if the frame has these columns. For `"difference_by_x"`,
        `y` is the difference. For `"difference"`, each row is a bin with `strategy`, `low`, `high`
        and `queries`. Bins have equal widths, and 0 is in the middle of a bin. With more than ten
        strategies, there are no colours, a histogram counts all strategies together, and its rows
        do not contain `strategy`.

        Both axes of `"agreement"` normally have the same ends. Let r be the range of all values of
        x and y together, and m the smaller of the ranges of x and of y. If m is above 0 and r is
        more than 10 times m, each axis has its own ends, and there is no diagonal.

    Examples
    --------
    >>> per_query = pl.DataFrame(
    ...     {"strategy": "bm25", "query": [1, 2, 3], "ndcg": [0.75, 0.5, 1], "phi": [0.25, 0.5, 1]}
    ... )
    >>> measure_agreement(per_query, "ndcg", "phi", show="difference").data
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
    has_strategy_panels = panel is ... and show == "difference"
    points = _Points.of(
        frame, {"x": x, "y": y}, panel, query, strategy, has_strategy_panels=has_strategy_panels
    )
    table, difference = points.table, f"{x} \N{MINUS SIGN} {y}"
    subject = f"{shorten_name(y)} against {shorten_name(x)}" if show == "agreement" else difference
    headline = f"{subject}, {format_count(table.height, points.row_word)}"
    if show == "difference":
        points.table = table.with_columns((pl.col("x") - pl.col("y")).alias("value"))
        words = style.Words(headline, [], f"how many queries have which difference {difference}")
        return _draw_bins(points, difference, words, centred=True)
    is_by_x = show == "difference_by_x"
    if is_by_x:
        points.table = table = table.with_columns((pl.col("x") - pl.col("y")).alias("y"))
        ends = axis_ends.choose_ends(table["x"]), axis_ends.choose_ends(table["y"], 10)
    else:
        ends = axis_ends.choose_ends_of_axes(table["x"], table["y"])
    has_diagonal = not is_by_x and ends[0] == ends[1]
    notes = ["on the line both measures are equal"] if has_diagonal else []
    notes += [f"above 0: {shorten_name(x)} is higher"] if is_by_x else []
    y_title = difference if is_by_x else y
    lines = (
        [style.draw_rule(y=0)]
        if is_by_x
        else [marks.draw_diagonal(ends[0])]
        if has_diagonal
        else []
    )
    return _draw_points(points, (x, y_title), ends, headline, notes, lines)


@dataclass
class _Points:
    """Rows to draw, one per query and strategy, with their groups and colours."""

    table: pl.DataFrame
    panel: str | None
    groups: list[str]
    colour: dict[str, Any]
    row_word: str
    """The word for rows: "queries", or "results" if a query has several rows."""
    has_strategy_panels: bool
    """True if each strategy has a panel for its histogram."""

    @classmethod
    def of(
        cls,
        frame: Frame,
        numbers: Mapping[str, str],
        panel: str | EllipsisType | None,
        query: Columns,
        strategy: str,
        *,
        has_strategy_panels: bool,
    ) -> _Points:
        """Return the rows of a frame, which may lack the default key columns."""
        frame, query = chart_rows.join_query_columns(
            "frame",
            chart_rows.collect_one_grader("frame", frame, query, strategy, panel),
            query,
            strategy,
        )
        frame = pair_rows.shorten_pair_names(frame, strategy)
        has_strategy_panels = has_strategy_panels and _has_few_strategies(frame, strategy)
        panel = strategy if has_strategy_panels else None if panel is ... else panel
        keys = {} if panel is None else {"panel": panel}
        # The columns "strategy" and "query" are optional. If `strategy` or `query` has another
        # name, the caller has chosen it, so the frame must have this column.
        keys |= {
            name: column
            for name, column in (("strategy", strategy), ("query", query))
            if column != name or column in frame.columns
        }
        table = chart_rows.build_query_rows(frame, keys, numbers)
        groups, colour = ["panel"] if panel else [], {}
        if "strategy" in keys and table["strategy"].n_unique() <= style.MAX_COLOURS:
            groups = [*groups, "strategy"]
            colour = style.choose_look(table["strategy"], strategy, legends=not has_strategy_panels)
        has_one_strategy = "strategy" not in keys or table["strategy"].n_unique() == 1
        is_query = has_one_strategy and not (
            "query" in keys and table["query"].is_duplicated().any()
        )
        return cls(
            table,
            panel,
            groups,
            colour,
            "queries" if is_query else "results",
            has_strategy_panels,
        )

    @property
    def n_groups(self) -> int:
        """Return the number of groups into which the drawn rows are divided."""
        return self.table.n_unique(self.groups) if self.groups else 1

    @property
    def max_points(self) -> int:
        """Return the maximum number of rows that a chart draws per group."""
        return curve_rows.compute_max_points(self.n_groups)


def _draw_bins(points: _Points, title: str, words: style.Words, *, centred: bool) -> Chart:
    """Draw a histogram of the values of each group."""
    n_groups = points.n_groups
    max_range_in_bins = min(
        points.max_points - 2,
        bins.MAX_RANGE_IN_BINS,
        10 + math.isqrt(points.table.height // n_groups),
    )
    table = bins.count_by_bin(points.table, points.groups, max_range_in_bins, centred=centred)
    row_word = "queries" if points.has_strategy_panels else points.row_word
    size: dict[str, Any] = {"height": 90} if points.has_strategy_panels else {}
    if points.has_strategy_panels:
        # A few histograms are stacked vertically, so that positions are easy to compare.
        size |= (
            {"columns": 1} if n_groups <= MAX_STACKED_HISTOGRAMS else {"columns": 3, "width": 200}
        )
    tooltip_names = style.list_tooltips("strategy:N") if points.colour else []
    bars = alt.Chart().mark_bar()
    bars = bars.encode(
        x=alt.X("low:Q", title=title, bin="binned", axis=alt.Axis(**style.UNFLUSHED_LABELS)),
        x2=alt.X2("high:Q"),
        y=alt.Y("queries:Q", title=row_word, axis=alt.Axis(format=",d", tickMinStep=1)),
        tooltip=style.list_tooltips(
            *tooltip_names, *style.format_decimals("low", "high"), "queries:Q"
        ),
        **points.colour,
    )
    lines = [style.draw_rule(x=0)] if centred or (table["low"] < 0).any() else []
    return style.draw_panels([bars, *lines], table, points.panel, words, **size)


def _draw_points(
    points: _Points,
    titles_of_axes: tuple[str, str],
    ends: tuple[axis_ends.AxisEnds, axis_ends.AxisEnds],
    headline: str,
    notes: Sequence[str],
    lines: Sequence[alt.Chart],
) -> Chart:
    """Draw one point per row, in front of lines."""
    table, (x, y) = points.table, titles_of_axes
    meaning = [f"point: a query{' and a strategy' if points.row_word == 'results' else ''}"]
    if (n := table.height) > chart_checks.MAX_DRAWN_ROWS:
        table = curve_rows.thin_by_value(table, "x", points.max_points, points.groups)
        meaning.append(f"{table.height:,} of {n:,} points are drawn")
    tooltip_names = [
        alt.Tooltip(f"{name}:N") for name in ("strategy", "query") if name in table.columns
    ]
    # Few points keep the colours of the legend; many are translucent, since they overlap.
    look: dict[str, Any] = {"opacity": 0.9}
    if table.height > MAX_OPAQUE_POINTS:
        # A screen reader reads the title and the description, and not each of many points.
        look = {
            "opacity": 0.6,
            "aria": False,
            "size": LARGE_POINT * math.sqrt(MAX_OPAQUE_POINTS / table.height),
        }
        # In a random order, the points of the last strategy do not cover all other points.
        table = table.sort(pl.int_range(pl.len()).shuffle(seed=0))
    layer = alt.Chart().mark_point(filled=True, **look)
    layer = layer.encode(
        x=alt.X("x:Q", title=x, **style.bound_axis(ends[0])),
        y=alt.Y("y:Q", title=y, **style.bound_axis(ends[1])),
        tooltip=[
            *tooltip_names,
            *(
                alt.Tooltip(f"{field}:Q", title=title, format=".4f")
                for field, title in (("x", x), ("y", y))
            ),
        ],
        **points.colour,
    )
    described = f"{y} against {x} for {table.height} points"
    words = style.Words(headline, [*meaning, *notes], described)
    return style.draw_panels([*lines, layer], table, points.panel, words)


def gain_by_similarity(
    frame: Frame,
    x: str,
    y: str = "difference",
    *,
    panel: str | None = None,
    query: Columns = "query",
    strategy: str = "strategy",
) -> Chart:
    """Draw the difference of a measure against the similarity, as points.

    The chart shows whether queries whose rankings changed most have gained or lost.

    Parameters
    ----------
    frame
        One row per query, or per pair and query, with both numbers, such as
        `differences(per_query, "ndcg@10", "ours", "bm25").join(similar, on="query")`.
    x
        The column of the similarity measure, such as `"rbo"`.
    y
        The column of the difference.
    panel
        A column whose values get a panel each. By default, there are no panels.
    query, strategy
        The columns of queries and of pairs. The frame may lack the default columns.

    Returns
    -------
    LayerChart or FacetChart
        Each row is a point with `x` and `y`. The rows also contain `strategy` and `query` if the
        frame has these columns. A grey line marks the difference 0.

    Examples
    --------
    >>> both = pl.DataFrame({"query": [1, 2], "rbo": [0.5, 1.0], "difference": [0.25, 0.0]})
    >>> gain_by_similarity(both, "rbo").data
    shape: (2, 3)
    ┌───────┬─────┬──────┐
    │ query ┆ x   ┆ y    │
    │ ---   ┆ --- ┆ ---  │
    │ str   ┆ f64 ┆ f64  │
    ╞═══════╪═════╪══════╡
    │ 1     ┆ 0.5 ┆ 0.25 │
    │ 2     ┆ 1.0 ┆ 0.0  │
    └───────┴─────┴──────┘
    """
    points = _Points.of(frame, {"x": x, "y": y}, panel, query, strategy, has_strategy_panels=False)
    ends = axis_ends.choose_ends(points.table["x"]), axis_ends.choose_ends(points.table["y"], 10)
    count = format_count(points.table.height, points.row_word)
    headline = f"{shorten_name(y)} against {shorten_name(x)}, {count}"
    return _draw_points(points, (x, y), ends, headline, [], [style.draw_rule(y=0)])


def _has_few_strategies(frame: pl.DataFrame, strategy: str) -> bool:
    """Return whether there are several strategies, but few enough for separate histograms."""
    return strategy in frame.columns and 1 < frame[strategy].n_unique() <= style.MAX_COLOURS
