"""Altair charts of what the other modules return: curves, differences, distributions, φ.

Every function takes a frame (a LazyFrame is collected) and returns a new chart that layers, facets
and concatenates like any other. Title, size and theme are the caller's: `.properties(...)`,
`alt.theme`. The frame that is drawn is `chart.data`: Polars makes it, with a few thousand rows at
most however many come in, under the column names that each function states. What is null, NaN or
infinite is not drawn, but where `differences` or φ refuse it; a strategy, query or panel that is
null is called so.

Up to ten strategies have colours that every kind of eye tells apart, the same in all charts that
show the same ones; a theme that has colours of its own for names is followed. Of more lines, the
ten that end highest have a colour, and the rest are grey; bars, and points without lines, of more
have one colour. Any two charts stand side by side: they share the colours of strategies, and
nothing else.

`panel` names a column whose values get a panel each, in the order in which they come. With one
value there is no need of panels, and a plain layered chart comes back, as it does with
`panel=None`: then `.properties(width=...)` and `.facet(...)` are the caller's, by any column of
`chart.data`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import altair as alt
import polars as pl

from polars_graded._checks import (
    check_choice,
    check_collected,
    check_columns,
    check_number,
    check_whole_number,
)
from polars_graded._drawing import marks, parts
from polars_graded._drawing import rows as chart_rows
from polars_graded._measuring.phi import ControlPoints, phi_control_points, phi_curve
from polars_graded._results.comparing import differences
from polars_graded._results.per_query import Missing, natural_order
from polars_graded.namespace import graded

if TYPE_CHECKING:
    from polars_graded._drawing.parts import Chart
    from polars_graded._drawing.rows import Frame

__all__ = [
    "comparison_forest",
    "comparison_matrix",
    "dcg_curves",
    "measure_agreement",
    "precision_histogram",
    "recall_precision_curves",
    "relevance_function",
    "robustness_curves",
    "sample_boxes",
    "strategy_bars",
    "threshold_profile",
]


def __dir__() -> list[str]:
    """The charts alone, for who looks for one."""
    return __all__


MOST_BARS = 300
"""How many bars stand side by side; with more queries, several share one."""

HALF = 0.5
"""From which relevance on a score is counted under the axis of φ."""

FEW_BANDS = 3
"""So many bands are seen one above the other."""

MOST_BINS = 40
"""How many bins a histogram has."""

MOST_THRESHOLDS = 30
"""How many thresholds stand under an axis."""


def dcg_curves(
    frame: Frame,
    curve: str | None = None,
    *,
    ideal: str | bool = False,
    baseline: Any = None,
    interval: float | None = None,
    panel: str | None = None,
    query: str = "query",
    strategy: str = "strategy",
    rank: str = "rank",
) -> Chart:
    r"""Draw a curve by rank, one line per strategy, its name at its end.

    Parameters
    ----------
    frame
        Either one row per strategy and rank and one column per curve, as `average_curves` returns
        it; or one row per strategy and query and one list per curve, as `evaluate` does, of which
        means are drawn.
    curve
        The column to draw: of CG, DCG, NDCG, precision, or one's own, such as a ratio of two. By
        default the only curve there is that is no ideal one.
    ideal
        The column of the ideal curve, which is drawn dashed. With True, for `cg_curve` and
        `dcg_curve`, the `ideal_dcg_curve` of the same gain, discount and cutoff, where the frame
        has it. Far above all curves, it leaves them little room.
    baseline
        A strategy. What is drawn are the differences of the others to it: the mean over queries of
        the differences within a query, with a band of 95 % or `interval`. Queries differ by more
        than strategies do, so that bands around means overlap where this one is clear of 0. It
        needs the lists of `evaluate`, and leaves out queries that one of the two lacks.
    interval
        The confidence of a band around each line, such as 0.95: Student's interval of the mean
        over queries, as in `summarise`. It needs the lists of `evaluate`.
    panel
        A column whose values get a panel each, such as the query.
    query, strategy, rank
        The columns that tell queries and strategies apart, and the ranks.

    Returns
    -------
    LayerChart or FacetChart
        Of rows with `strategy`, `rank`, `value`, and where they are drawn `ideal`, `ci_low`,
        `ci_high`, `panel`, and without panels `label_at`, the height of a name. Null, NaN and
        infinity count in no mean, and a rank without a value is left out. With more than 3000
        points, ranks in equal steps stand for all. A frame with ranks keeps its other columns, but
        for lists and the like.

    Raises
    ------
    ColumnNotFoundError
        If a column is not there.
    TypeError
        If a column is not of numbers or lists of them.
    ValueError
        If the frame has no value; if it has several curves and `curve` does not say which, or none;
        if lists differ in their length; if a query or a rank of a strategy comes twice and no
        other column sets them apart, or `interval` is given with ranks; if there are more than 60
        panels, or more lines than fit.

    References
    ----------
    Järvelin, Kekäläinen: Cumulated gain-based evaluation of IR techniques, 2002. Chen, B. Retrieval
    evaluation (slides), DCG curves.

    Examples
    --------
    >>> from polars_graded import average_curves
    >>> df = pl.DataFrame({"query": 1, "grade": [0, 1, 3], "score": [3, 2, 1]})
    >>> curves = average_curves(
    ...     df, "dcg_curve(gain=linear)@3", "ideal_dcg_curve(gain=linear)@3", by="score"
    ... )
    >>> curves.pipe(dcg_curves, ideal=True).data.drop("label_at")
    shape: (3, 4)
    ┌──────────┬──────┬─────────┬─────────┐
    │ strategy ┆ rank ┆ value   ┆ ideal   │
    │ ---      ┆ ---  ┆ ---     ┆ ---     │
    │ str      ┆ u32  ┆ f64     ┆ f64     │
    ╞══════════╪══════╪═════════╪═════════╡
    │ score    ┆ 1    ┆ 0.0     ┆ 3.0     │
    │ score    ┆ 2    ┆ 0.63093 ┆ 3.63093 │
    │ score    ┆ 3    ┆ 2.13093 ┆ 3.63093 │
    └──────────┴──────┴─────────┴─────────┘
    """
    frame = check_collected("frame", frame)
    if curve is None:
        keys = (query, strategy, rank, panel, ideal if isinstance(ideal, str) else None)
        others = ("ideal_dcg_curve", "interpolated_precision")
        curve = chart_rows.only_curve(frame, keys, lambda name: not name.startswith(others))
    if isinstance(ideal, bool):
        ideal_column = chart_rows.ideal_of(curve, frame.columns) if ideal else None
    else:
        ideal_column = ideal
    if baseline is not None:
        ideal_column, interval = None, 0.95 if interval is None else interval
    table = chart_rows.curve_points(
        frame,
        curve,
        ideal_column,
        at={"rank": rank},
        interval=interval,
        baseline=baseline,
        panel=panel,
        query=query,
        strategy=strategy,
    )
    x = marks.rank_axis(rank, max(map(int, table["rank"])))
    title = chart_rows.title_of(curve, frame, each_query=panel == query)
    if baseline is not None:
        title = f"{curve}: difference to {baseline}"
    # The baseline is not drawn, but the others have the colours that they have beside it.
    names = frame.select(chart_rows.text(strategy).unique()).to_series().to_list()
    best = chart_rows.best_lines(table, "rank", parts.MOST_COLOURS)
    several = chart_rows.panel_count(table, panel and "panel") > 1
    look = parts.strategy_look(names, strategy, matter=best, legends=several)
    facts = _curve_facts(table, "rank")
    if several:
        return parts.panels(marks.curves(x, title, look, **facts), table, panel)
    drawn = [name for name in ("value", "ideal", "ci_low", "ci_high") if name in table.columns]
    ends = chart_rows.round_ends(pl.concat([table[name].drop_nulls() for name in drawn]))
    named = names if len(names) <= parts.MOST_COLOURS else best
    table = chart_rows.with_labels(table, "rank", named, ends)
    layers = marks.curves(x, title, look, **facts, labels=True, ends=ends)
    if baseline is not None:
        layers.insert(0, parts.rule(y=0))
    return parts.panels(layers, table, panel)


def recall_precision_curves(
    frame: Frame,
    curve: str | None = None,
    *,
    interval: float | None = None,
    panel: str | None = None,
    query: str = "query",
    strategy: str = "strategy",
    recall: str = "recall",
) -> Chart:
    r"""Draw interpolated precision at levels of recall, a mean over queries, as lines.

    Parameters
    ----------
    frame
        Either one row per strategy and recall level and one column per curve, as `average_curves`
        returns it; or one row per strategy and query and one list per curve, as `evaluate` does, of
        which means are drawn.
    curve
        The column to draw; by default the only `interpolated_precision` there is.
    interval
        The confidence of a band around each line, such as 0.95, as for `dcg_curves`.
    panel
        A column whose values get a panel each, such as the query.
    query, strategy, recall
        The columns that tell queries and strategies apart, and the levels of recall.

    Returns
    -------
    LayerChart or FacetChart
        Of rows with `strategy`, `recall`, `value`, and where they are drawn `ci_low`, `ci_high` and
        `panel`; both axes from 0 to 1. Missing values are as for `dcg_curves`.

    Raises
    ------
    ColumnNotFoundError, TypeError, ValueError
        As `dcg_curves`.

    References
    ----------
    Chen, B. Retrieval evaluation (slides), average recall-precision graphs.

    Examples
    --------
    The slides' example 3.2, which finds the first of ten relevant documents at once:

    >>> from polars_graded import average_curves
    >>> from polars_graded.datasets import worked_example
    >>> slides = worked_example("chen").filter(query="example 3.2")
    >>> chart = average_curves(slides, "interpolated_precision").pipe(recall_precision_curves)
    >>> chart.data.head(3)
    shape: (3, 3)
    ┌──────────┬────────┬──────────┐
    │ strategy ┆ recall ┆ value    │
    │ ---      ┆ ---    ┆ ---      │
    │ str      ┆ f64    ┆ f64      │
    ╞══════════╪════════╪══════════╡
    │ score    ┆ 0.0    ┆ 1.0      │
    │ score    ┆ 0.1    ┆ 1.0      │
    │ score    ┆ 0.2    ┆ 0.666667 │
    └──────────┴────────┴──────────┘
    """
    frame = check_collected("frame", frame)
    if curve is None:
        keys = (query, strategy, recall, panel)
        curve = chart_rows.only_curve(
            frame, keys, lambda name: name.startswith("interpolated_precision")
        )
    table = chart_rows.curve_points(
        frame,
        curve,
        at={"recall": recall},
        interval=interval,
        panel=panel,
        query=query,
        strategy=strategy,
    )
    x = marks.recall_axis(recall)
    title = chart_rows.title_of(curve, frame, each_query=panel == query)
    best = chart_rows.best_lines(table, None, parts.MOST_COLOURS)
    look = parts.strategy_look(table["strategy"], strategy, matter=best)
    layers = marks.curves(x, title, look, **_curve_facts(table, "recall"))
    return parts.panels(layers, table, panel)


def _curve_facts(table: pl.DataFrame, at: str) -> dict[str, Any]:
    """What is to be known of points to draw their curves."""
    drawn = pl.concat([table[name] for name in ("value", "ideal") if name in table.columns])
    few = table["strategy"].n_unique() <= parts.MOST_COLOURS
    return {
        "unit": parts.is_unit(drawn),
        "few": few and table[at].n_unique() <= parts.FEW_POINTS,
        # The bands of many strategies lie above each other.
        "band": (0.2 if table["strategy"].n_unique() <= FEW_BANDS else 0.07)
        if "ci_low" in table.columns
        else 0,
        "ideal": "ideal" in table.columns,
    }


def precision_histogram(
    per_query: Frame,
    measure: str,
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

    Up to 60 queries have their names under their bars, up to 300 a bar each. Of more, several
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
        two). Ties have no bar; under the axis stands how many queries each strategy is better with.

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
    ties = n - sum(won)
    counts = f"{won[0]} better with {a}, {won[1]} with {b}, {ties} {'tie' if ties == 1 else 'ties'}"
    # Among all strategies, the two have the colours that they have in other charts.
    everyone = per_query.select(chart_rows.text(strategy).unique()).to_series().to_list()
    both = pl.DataFrame({"name": [a, b]}).select(chart_rows.text("name")).to_series().to_list()
    known = everyone if len(everyone) <= parts.MOST_COLOURS else both
    better = table["better"].drop_nulls().unique().to_list()
    colour = parts.strategy_look(known, strategy, field="better", drawn=better)["color"]
    y_title = f"{measure}: {a} - {b}"
    if n <= parts.MOST_NAMED:
        step, names = parts.name_step(n), rows["query"].to_list()
        axis = parts.names_axis(names, step, labelLimit=120, titleLimit=400)
        layers = marks.named_bars([query, counts], names, y_title, colour, axis)
        return parts.layered(layers, rows, apart=["color"], width=alt.Step(step))
    title = f"{query}, by falling difference" if order == "difference" else f"{query}, in order"
    if size > 1:
        title += f", {size} a bar"
    return parts.layered(
        marks.placed_bars([title, counts], n + 0.5, y_title, colour),
        rows,
        apart=["color", "stroke"],
    )


def threshold_profile(
    frame: Frame, *, panel: str | None = "grade", strategy: str = "strategy"
) -> Chart:
    """Draw average precision at each threshold beside measures that need none.

    Parameters
    ----------
    frame
        One row per strategy and measure with its mean, as `experiments.threshold_profile` returns
        it. AP at a threshold is what is called `ap(threshold=1)`.
    panel
        A column whose values get a panel each: the judge, or None.
    strategy
        The column that tells strategies apart.

    Returns
    -------
    LayerChart or FacetChart
        Of the rows as they came, with `strategy` as text and `at`, what stands under the axis: the
        thresholds, joined by a line, and then the other measures as points; `joined`, which is the
        mean at a threshold; `panel` where it is drawn. Of more than 30 thresholds, some in equal
        steps stand for all. A mean that is null, NaN or infinite is left out.

    Raises
    ------
    ColumnNotFoundError
        If a column is not there.
    TypeError
        If `mean` is not of numbers.
    ValueError
        If the frame has no mean; if there are more than 60 panels or 3000 rows to draw.

    References
    ----------
    Scheel, Lommatzsch, Albayrak: Performance measures for multi-graded relevance, 2011, figures 6
    to 8.

    See Also
    --------
    polars_graded.experiments.threshold_profile : The frame that is drawn here.

    Examples
    --------
    >>> from polars_graded import experiments
    >>> df = pl.DataFrame({"query": [1, 1], "grade": [1, 2], "score": [2, 1]})
    >>> profile = experiments.threshold_profile(df, by="score", measures="mu_ap")
    >>> profile.pipe(threshold_profile).data.drop("grade", "strategy")
    shape: (3, 4)
    ┌─────────────────┬──────┬───────┬────────┐
    │ measure         ┆ mean ┆ at    ┆ joined │
    │ ---             ┆ ---  ┆ ---   ┆ ---    │
    │ str             ┆ f64  ┆ str   ┆ f64    │
    ╞═════════════════╪══════╪═══════╪════════╡
    │ ap(threshold=1) ┆ 1.0  ┆ 1     ┆ 1.0    │
    │ ap(threshold=2) ┆ 0.5  ┆ 2     ┆ 0.5    │
    │ mu_ap           ┆ 0.75 ┆ mu_ap ┆ null   │
    └─────────────────┴──────┴───────┴────────┘
    """
    table = chart_rows.of_means(
        "frame", frame, ["mean"], texts=["measure"], strategy=strategy, panel=panel
    )
    names = table["measure"].unique(maintain_order=True).to_list()
    at = {name: t for name in names if (t := chart_rows.threshold_of(name)) is not None}
    thresholds = pl.Series(sorted(at, key=at.__getitem__), dtype=pl.String)
    thresholds = thresholds[chart_rows.equal_steps(len(thresholds), MOST_THRESHOLDS)]
    joined = [repr(at[name]).removesuffix(".0") for name in thresholds]
    others = [name for name in names if name not in at]
    under = dict(zip([*thresholds, *others], [*joined, *others], strict=True))
    table = table.filter(pl.col("measure").is_in(list(under))).with_columns(
        pl.col("measure").replace_strict(under, return_dtype=pl.String).alias("at"),
        pl.when(pl.col("measure").is_in(thresholds.implode())).then("mean").alias("joined"),
    )
    chart_rows.check_row_count("frame", table)
    step = parts.name_step(len(under))
    title = "AP at threshold, and measures without one" if joined else "measure"
    strategies = natural_order(table["strategy"].unique())
    unit = parts.is_unit(table["mean"])
    best = chart_rows.by_falling(table, "mean", "strategy")[: parts.MOST_COLOURS]
    look = parts.strategy_look(strategies, strategy, matter=best)
    layers = marks.profile(title, list(under.values()), step, strategies, look, unit=unit)
    return parts.panels(layers, table, panel, width=alt.Step(step, **{"for": "position"}))


def robustness_curves(
    frame: Frame,
    *,
    panel: str | None = "measure",
    levels: str = "levels",
    swaps: str = "swaps",
) -> Chart:
    """Draw how a measure falls as rankings go wrong, one line per number of relevance levels.

    Parameters
    ----------
    frame
        One row per measure, number of levels and number of swaps with its mean, as
        `experiments.robustness_to_levels` returns it.
    panel
        A column whose values get a panel each: the measure, or None.
    levels, swaps
        The columns of the numbers of levels and of swaps.

    Returns
    -------
    LayerChart or FacetChart
        Of the rows as they came, with `levels`, `swaps` and `mean`, and `panel` where it is drawn.
        With more than 3000, numbers of swaps in equal steps stand for all. A mean that is null, NaN
        or infinite is left out.

    Raises
    ------
    ColumnNotFoundError
        If a column is not there.
    TypeError
        If the means or the swaps are not numbers.
    ValueError
        If the frame has no mean; if there are more than 60 panels, or more lines than fit.

    References
    ----------
    Scheel, Lommatzsch, Albayrak: Performance measures for multi-graded relevance, 2011, figures 4
    and 5.

    Examples
    --------
    >>> from polars_graded import experiments
    >>> frame = experiments.robustness_to_levels([2, 50], [0, 5], measures="ndcg", runs=10)
    >>> chart = frame.pipe(robustness_curves)
    >>> chart.data.height, [layer["mark"]["type"] for layer in chart.to_dict()["layer"]]
    (4, ['line'])
    """
    texts = ["measure"] if panel == "measure" else []
    table = chart_rows.of_means(
        "frame", frame, ["mean"], texts=texts, others=[levels, swaps], panel=panel
    )
    chart_rows.check_numbers("frame", table, [swaps])
    table = table.with_columns(pl.col(levels).alias("levels"), pl.col(swaps).alias("swaps"))
    table = chart_rows.thinned(table.drop_nulls("swaps"), "swaps")
    numbers = table["levels"].unique().sort().to_list()
    layers = marks.robustness(
        "swapped pairs" if swaps == "swaps" else swaps,
        parts.mean_title(table),
        numbers,
        levels,
        unit=parts.is_unit(table["mean"]),
        few=table["swaps"].n_unique() <= parts.FEW_POINTS,
    )
    return parts.panels(layers, table, panel)


def relevance_function(
    frame: Frame,
    score: str,
    *,
    panel: str | None = None,
    control_points: ControlPoints | None = None,
    whisker: float = 1.5,
    scale: Literal["linear", "symlog"] | None = None,
) -> Chart:
    """Draw φ over the scores it is made of, with its control points and the scores themselves.

    Parameters
    ----------
    frame
        A row is a score, of a query where `panel` says so.
    score
        The column of scores.
    panel
        The column that tells queries apart: each has a φ of its own, in a panel. None if all rows
        are one query.
    control_points, whisker
        As in `Graded.phi_relevance`.
    scale
        How scores stand on their axis: `"linear"`, or `"symlog"`, which spreads the many low
        scores of a popularity. By default this where the highest score is more than 20 times
        the median.

    Returns
    -------
    LayerChart or FacetChart
        Of rows with `part` (what is drawn: `φ`, `score` or `control point`), `score` and
        `relevance`; `name`, what a control point is; `panel` where it is drawn. Under the axis
        stands how many scores have relevance 0, and how many at least 0.5. Of many scores, some at
        equal steps by rank stand for all, the lowest and the highest among them. A score that is
        null is left out, and a query without any.

    Raises
    ------
    ColumnNotFoundError
        If a column is not there.
    TypeError, ValueError
        As `phi_curve`, so if a score is NaN or infinite; also if the frame has no score, or there
        are more than 60 panels.

    References
    ----------
    Moniz, Torgo, Vinagre: Data-driven relevance judgments for ranking evaluation, 2016, figure 1.

    Examples
    --------
    >>> news = pl.DataFrame({"tweets": [10, 15, 20, 30, 100]})
    >>> relevance_function(news, "tweets").data.filter(part="control point").drop("part")
    shape: (4, 3)
    ┌───────┬───────────┬─────────┐
    │ score ┆ relevance ┆ name    │
    │ ---   ┆ ---       ┆ ---     │
    │ f64   ┆ f64       ┆ str     │
    ╞═══════╪═══════════╪═════════╡
    │ 10.0  ┆ 0.0       ┆ lowest  │
    │ 20.0  ┆ 0.0       ┆ median  │
    │ 30.0  ┆ 0.222222  ┆ whisker │
    │ 100.0 ┆ 1.0       ┆ highest │
    └───────┴───────────┴─────────┘
    """
    if scale is not None:
        check_choice("scale", scale, ("linear", "symlog"))
    frame = check_collected("frame", frame)
    check_columns("frame", [score] if panel is None else [panel, score], frame.columns)
    chart_rows.check_numbers("frame", frame, [score])
    # An error of φ names the column, which must not be called like another of the result.
    named = f"score {score}" if score in {"panel", "relevance"} else score
    keys = [] if panel is None else ["panel"]
    scores = frame.select(
        *([] if panel is None else [chart_rows.text(panel).alias("panel")]),
        pl.col(score).alias(named),
    ).drop_nulls(named)
    if scores.is_empty():
        msg = f"`frame` must have a score in {score!r}, got none"
        raise ValueError(msg)
    chart_rows.check_panels(scores, panel, "panel")
    n_panels = chart_rows.panel_count(scores, panel and "panel")
    most = max(2, chart_rows.MOST_ROWS // 3 // n_panels)
    phi = graded(named).phi_relevance(control_points, whisker)
    relevance = (phi.over("panel") if panel else phi).alias("relevance")
    chosen: dict[str, Any] = {"control_points": control_points, "whisker": whisker}
    chosen["query"] = "panel" if panel else None
    found = scores.with_columns(relevance)
    drawn = {
        "φ": phi_curve(scores, named, points=min(200, most), **chosen),
        "score": chart_rows.at_equal_steps(found, named, most, keys),
        "control point": phi_control_points(scores, named, **chosen),
    }
    table = pl.concat(
        part.select(
            *keys,
            pl.lit(name).alias("part"),
            pl.col(named).cast(pl.Float64).alias("score"),
            "relevance",
        )
        for name, part in drawn.items()
    )
    table = chart_rows.with_point_names(table, keys, own=control_points is not None)
    values = found[named].cast(pl.Float64)
    middle, top = values.median(), values.max()
    many_low = isinstance(middle, float) and isinstance(top, float) and top > 20 * middle > 0
    kind = scale or ("symlog" if many_low else "linear")
    irrelevant, relevant = found.select(
        (pl.col("relevance") == 0).mean(), high=(pl.col("relevance") >= HALF).mean()
    ).row(0)
    shares = f"φ is 0 for {irrelevant or 0:.1%} of scores, at least 0.5 for {relevant or 0:.1%}"
    layers = marks.phi([score, shares], alt.Scale(zero=False, type=kind))
    return parts.panels(layers, table, panel, "independent")


def measure_agreement(
    frame: Frame,
    x: str,
    y: str,
    *,
    show: Literal["agreement", "difference"] = "agreement",
    panel: str | None = None,
    query: str = "query",
    strategy: str = "strategy",
) -> Chart:
    """Draw one measure against another, one point per query, or the histogram of their difference.

    The two stand side by side as
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
        `"difference"`: how many queries have which difference x - y.
    panel
        A column whose values get a panel each, such as a cutoff.
    query, strategy
        The columns that tell queries and strategies apart; a frame without such columns will do.

    Returns
    -------
    LayerChart or FacetChart
        For `"agreement"`, rows with `strategy`, `query`, `x` and `y`; with more than 3000 rows, a
        point stands for the `queries` of a strategy near it, at their mean. For `"difference"`,
        rows with `strategy`, `low`, `high` and `queries`, of bins of equal width, 0 in the middle
        of one. `panel` where it is drawn. A row where a measure is null, NaN or infinite is left
        out. More than ten strategies have no colours, and are counted together.

        Both axes have the same ends, unless one measure spans ten times as much as the other: then
        each has its own, and there is no diagonal.

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
    check_choice("show", show, ("agreement", "difference"))
    frame = check_collected("frame", frame)
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
    n_groups = chart_rows.panel_count(table, panel and "panel")
    groups, colour = ["panel"] if panel else [], {}
    if "strategy" in keys and (n := table["strategy"].n_unique()) <= parts.MOST_COLOURS:
        groups, n_groups = [*groups, "strategy"], n_groups * n
        colour = parts.strategy_look(table["strategy"], strategy)
    most = chart_rows.most_points(n_groups)
    if show == "difference":
        bins = min(most - 2, MOST_BINS, 10 + math.isqrt(table.height // n_groups))
        table = chart_rows.counted(table, groups, bins)
        layers = marks.counts(f"{x} - {y}", colour)
    else:
        ends = chart_rows.axes_ends(table["x"], table["y"])
        if table.height > chart_rows.MOST_ROWS:
            table = chart_rows.gathered(table, groups, math.isqrt(most), *ends)
        most_queries: Any = table["queries"].max() if "queries" in table.columns else None
        named = [name for name in ("strategy", "query") if name in table.columns]
        layers = marks.points((x, y), ends, colour, named, most_queries)
    apart = ["size"] if show == "agreement" and "queries" in table.columns else []
    return parts.panels(layers, table, panel, apart=apart)


def sample_boxes(
    frame: Frame,
    value: str,
    *,
    group: str = "strategy",
    reference: str | float | None = None,
    panel: str | None = None,
) -> Chart:
    """Draw the distribution of a measure as one box per group, with a reference line across each.

    A box reaches from the lower to the upper quartile with the median in it, its whiskers to the
    last values within 1.5 times its length; what lies beyond is a point each. Boxes lie below each
    other, the one with the highest median at the top; in panels, that with the highest mean of its
    medians.

    Parameters
    ----------
    frame
        One row per sample, as `experiments.popularity_scenarios` returns it, or `evaluate`.
    value
        The column of the measure.
    group
        The column whose values get a box each.
    reference
        A column, whose mean of each group is drawn as a line across the box, or one number.
    panel
        A column whose values get a panel each.

    Returns
    -------
    LayerChart or FacetChart
        Of rows with `group`, `samples`, `whisker_low`, `q1`, `median`, `q3`, `whisker_high`,
        `reference` where there is one and `panel` where it is drawn; and a row for each point, with
        `outlier`. Of many points, some at equal steps stand for all, the first and last of them
        among them. A value that is null, NaN or infinite is left out.

    Raises
    ------
    ColumnNotFoundError
        If a column is not there.
    TypeError
        If a column is not of numbers, or `reference` is neither a column nor a number.
    ValueError
        If the column has no value; if there are more than 60 panels, or more groups than fit.

    References
    ----------
    Moniz, Torgo, Vinagre: Data-driven relevance judgments for ranking evaluation, 2016, figure 2.

    Examples
    --------
    >>> samples = pl.DataFrame({"strategy": "ours", "ap": [0.5, 0.5, 0.75, 1.0, 1.0]})
    >>> sample_boxes(samples, "ap", reference=0.7).data.select("group", "q1", "median", "q3")
    shape: (1, 4)
    ┌───────┬─────┬────────┬─────┐
    │ group ┆ q1  ┆ median ┆ q3  │
    │ ---   ┆ --- ┆ ---    ┆ --- │
    │ str   ┆ f64 ┆ f64    ┆ f64 │
    ╞═══════╪═════╪════════╪═════╡
    │ ours  ┆ 0.5 ┆ 0.75   ┆ 1.0 │
    └───────┴─────┴────────┴─────┘
    """
    frame = check_collected("frame", frame)
    keys = {"group": group} if panel is None else {"panel": panel, "group": group}
    columns = [value, reference] if isinstance(reference, str) else [value]
    check_columns("frame", [*keys.values(), *columns], frame.columns)
    chart_rows.check_numbers("frame", frame, columns)
    if isinstance(reference, str):
        line = chart_rows.number(reference)
    elif reference is not None:
        line = pl.lit(check_number("reference", reference))
    else:
        line = pl.lit(None, dtype=pl.Float64)
    samples = frame.select(
        *(chart_rows.text(column).alias(name) for name, column in keys.items()),
        chart_rows.number(value).alias("value"),
        line.alias("reference"),
    ).drop_nulls("value")
    chart_rows.check_not_empty("frame", samples, value)
    chart_rows.check_panels(samples, panel, "panel")
    table = chart_rows.boxes(samples, list(keys))
    medians = table.drop_nulls("median").group_by("group").agg(pl.col("median").mean())
    place = {name: place for place, name in enumerate(natural_order(medians["group"]))}
    ordered = medians.sort(
        "median", pl.col("group").replace_strict(place), descending=[True, False]
    )
    groups = ordered["group"].to_list()
    step = min(36, parts.name_step(len(groups)))
    ends = chart_rows.round_ends(pl.concat([samples["value"], table["reference"].drop_nulls()]))
    name = None
    if reference is not None:
        name = f"mean {reference}" if isinstance(reference, str) else f"{reference:g}"
    layers = marks.boxes((group, value), groups, ends, step, name)
    return parts.panels(layers, table, panel, height=alt.Step(step))


def strategy_bars(
    summary: Frame,
    *,
    show: Literal["points", "bars"] = "points",
    width: int | None = None,
    panel: str | None = "measure",
    strategy: str = "strategy",
) -> Chart:
    """Draw the mean of each strategy with its interval and its number, one panel per measure.

    Points have an axis of their own, on which differences are seen; bars have one from 0, which
    hides them, and shows what share of the whole they are.

    Parameters
    ----------
    summary
        One row per measure and strategy, as `summarise` returns it. `ci_low` and `ci_high` are
        drawn where they are there and not missing.
    show
        `"points"`, or `"bars"` from 0.
    width
        How wide each panel is, in pixels; by default such that panels, two side by side, fit into
        a cell of a notebook.
    panel
        A column whose values get a panel each: the measure, or None.
    strategy
        The column that tells strategies apart.

    Returns
    -------
    LayerChart or FacetChart
        Of the rows as they came, with `strategy` as text, and `panel` where it is drawn; the
        strategy with the highest mean of the first measure is at the top. A mean that is null, NaN
        or infinite is left out.

    Raises
    ------
    ColumnNotFoundError
        If a column is not there.
    TypeError
        If `mean` is not of numbers.
    ValueError
        If the frame has no mean; if a panel has a strategy twice; if there are more than 60 panels
        or 3000 rows.

    Examples
    --------
    >>> from polars_graded import summarise
    >>> per_query = pl.DataFrame(
    ...     {"strategy": ["bm25", "ours"] * 2, "query": [1, 1, 2, 2], "ap": [0.25, 0.5, 0.75, 1.0]}
    ... )
    >>> summarise(per_query).pipe(strategy_bars).data.select("strategy", "mean")
    shape: (2, 2)
    ┌──────────┬──────┐
    │ strategy ┆ mean │
    │ ---      ┆ ---  │
    │ str      ┆ f64  │
    ╞══════════╪══════╡
    │ bm25     ┆ 0.5  │
    │ ours     ┆ 0.75 │
    └──────────┴──────┘
    """
    check_choice("show", show, ("points", "bars"))
    if width is not None:
        check_whole_number("width", width)
    table = chart_rows.of_means(
        "summary", summary, ["mean"], texts=["measure"], strategy=strategy, panel=panel
    )
    chart_rows.check_row_count("summary", table)
    chart_rows.check_not_repeated("summary", table, "strategy", panel)
    names = chart_rows.by_falling(table, "mean", "strategy")
    few = len(names) <= parts.MOST_COLOURS
    colour = parts.strategy_look(names, strategy, legends=False) if few else {}
    intervals = {"ci_low", "ci_high"} <= set(table.columns)
    layers = marks.means(
        parts.mean_title(table), names, colour, intervals=intervals, bars=show == "bars"
    )
    several = chart_rows.panel_count(table, panel and "panel") > 1
    size = width or (200 if several else 300)
    axis = parts.measures_axis(table["mean"]) if show == "bars" else "independent"
    return parts.panels(layers, table, panel, axis, columns=2, width=size)


def comparison_forest(
    comparison: Frame,
    *,
    alpha: float = 0.05,
    panel: str | None = "measure",
    strategy: str = "strategy",
) -> Chart:
    """Draw differences to the baseline with their intervals, significant ones filled.

    All pairs of many strategies make a tall chart: those of 25 are 300. `comparison_matrix` shows
    them at a glance, as does a baseline, or a filter.

    Parameters
    ----------
    comparison
        One row per measure and pair, as `compare` returns it. An interval that is null is not
        drawn. Where there are `simultaneous_low` and `simultaneous_high`, these are drawn thin:
        they hold for all pairs together, as the corrected p does, while the interval of a single
        difference, drawn thick, can be clear of 0 where the corrected p is not below `alpha`.
    alpha
        The level of significance: a difference is significant if `p_corrected` is below it, and not
        if that is null.
    panel
        A column whose values get a panel each: the measure, or None.
    strategy
        The column that tells strategies apart.

    Returns
    -------
    LayerChart or FacetChart
        Of the rows as they came, with `pair` (the strategy, and its baseline where there are
        several), `significance`, and `panel` where it is drawn; the largest difference of the first
        measure is at the top. A difference that is null, NaN or infinite is left out.

    Raises
    ------
    ColumnNotFoundError
        If a column is not there.
    TypeError
        If `alpha` is not a number, or a column of them not of numbers.
    ValueError
        If `alpha` is not between 0 and 1; if the frame has no difference; if there are more than 60
        panels or 3000 rows.

    Examples
    --------
    >>> from polars_graded import compare
    >>> per_query = pl.DataFrame(
    ...     {
    ...         "strategy": ["bm25"] * 3 + ["ours"] * 3,
    ...         "query": ["a", "b", "c"] * 2,
    ...         "ap": [0.25, 0.5, 0.25, 0.75, 0.75, 1.0],
    ...     }
    ... )
    >>> comparison = compare(per_query, baseline="bm25")
    >>> comparison.pipe(comparison_forest, alpha=0.1).data.select("pair", "significance")
    shape: (1, 2)
    ┌──────┬───────────────────┐
    │ pair ┆ significance      │
    │ ---  ┆ ---               │
    │ str  ┆ str               │
    ╞══════╪═══════════════════╡
    │ ours ┆ corrected p < 0.1 │
    └──────┴───────────────────┘
    """
    alpha = check_number("alpha", alpha, above=0, below=1)
    numbers = ["difference", "ci_low", "ci_high", "p_corrected"]
    texts = ["measure", "baseline"]
    table = chart_rows.of_means(
        "comparison", comparison, numbers, texts=texts, strategy=strategy, panel=panel
    )
    chart_rows.check_row_count("comparison", table)
    several = table["baseline"].n_unique() > 1
    versus = [pl.lit(" - "), pl.col("baseline")] if several else []
    believed, doubted = f"corrected p < {alpha:g}", "not significant"
    significant = pl.when(pl.col("p_corrected") < alpha).then(pl.lit(believed))
    table = table.with_columns(
        pl.concat_str("strategy", *versus).alias("pair"),
        significant.otherwise(pl.lit(doubted)).alias("significance"),
    )
    chart_rows.check_not_repeated("comparison", table, "pair", panel)
    pairs = chart_rows.by_falling(table, "difference", "pair")
    many = len(pairs) > parts.MOST_NAMED
    title = parts.mean_title(table, "difference of ", "difference of means")
    if not several:
        title += f", to {table['baseline'][0]}"
    axis = alt.Axis(labelLimit=600, labelFontSize=8 if many else alt.Undefined)
    titles = [title, marks.significance_key(believed, doubted)]
    simultaneous = {"simultaneous_low", "simultaneous_high"} <= set(table.columns)
    if simultaneous:
        titles.append("thick: interval of one difference, thin: of all together")
    layers = marks.forest(
        titles, pairs, axis, believed, 40 if many else 60, simultaneous=simultaneous
    )
    height = {"height": alt.Step(10)} if many else {}
    return parts.panels(layers, table, panel, parts.measures_axis(table["difference"]), **height)


def comparison_matrix(
    comparison: Frame,
    *,
    alpha: float = 0.05,
    panel: str | None = "measure",
    strategy: str = "strategy",
) -> Chart:
    """Draw the differences of all pairs as fields of a square, significant ones marked.

    A field is the strategy of its row minus that of its column, blue where that is above 0 and
    orange below, with a dot where the corrected p is below `alpha`. Strategies stand in the order
    of their means in the first measure, the highest first.

    Parameters
    ----------
    comparison
        One row per measure and pair, as `compare` returns it without a baseline. Each pair is
        drawn from both sides.
    alpha
        The level of significance, as for `comparison_forest`.
    panel
        A column whose values get a panel each: the measure, or None.
    strategy
        The column that tells strategies apart.

    Returns
    -------
    LayerChart or FacetChart
        Of rows with `measure`, `strategy`, `baseline`, `difference`, `p_corrected`, `mark`, and
        `panel` where it is drawn. A difference that is null, NaN or infinite is left out.

    Raises
    ------
    ColumnNotFoundError, TypeError, ValueError
        As `comparison_forest`; there are at most 1500 pairs.

    See Also
    --------
    comparison_forest : The same with intervals, for few pairs.

    Examples
    --------
    >>> from polars_graded import compare
    >>> per_query = pl.DataFrame(
    ...     {
    ...         "strategy": ["bm25"] * 3 + ["ours"] * 3,
    ...         "query": ["a", "b", "c"] * 2,
    ...         "ap": [0.25, 0.5, 0.25, 0.75, 0.75, 1.0],
    ...     }
    ... )
    >>> compare(per_query).pipe(comparison_matrix, alpha=0.1).data.drop("measure", "p_corrected")
    shape: (2, 4)
    ┌──────────┬──────────┬────────────┬──────┐
    │ strategy ┆ baseline ┆ difference ┆ mark │
    │ ---      ┆ ---      ┆ ---        ┆ ---  │
    │ str      ┆ str      ┆ f64        ┆ str  │
    ╞══════════╪══════════╪════════════╪══════╡
    │ bm25     ┆ ours     ┆ -0.5       ┆ •    │
    │ ours     ┆ bm25     ┆ 0.5        ┆ •    │
    └──────────┴──────────┴────────────┴──────┘
    """
    alpha = check_number("alpha", alpha, above=0, below=1)
    numbers = ["difference", "p_corrected"]
    table = chart_rows.of_means(
        "comparison",
        comparison,
        numbers,
        texts=["measure", "baseline"],
        strategy=strategy,
        panel=panel,
    )
    table = chart_rows.both_sides(table).with_columns(
        pl.when(pl.col("p_corrected") < alpha).then(pl.lit("•")).otherwise(pl.lit("")).alias("mark")
    )
    chart_rows.check_row_count("comparison", table)
    pairs = table.select(pl.concat_list("strategy", "baseline").alias("pair"), "^panel$")
    chart_rows.check_not_repeated("comparison", pairs, "pair", panel)
    names = chart_rows.by_mean_difference(table)
    furthest: Any = table["difference"].abs().max()
    step = max(10, min(36, 400 // len(names)))
    marked = f"{strategy}, minus that above   • corrected p < {alpha:g}"
    layers = marks.matrix((marked, "baseline"), names, furthest or 1.0, step)
    size: dict[str, Any] = {"width": alt.Step(step), "height": alt.Step(step)}
    return parts.panels(layers, table, panel, columns=2, **size)
