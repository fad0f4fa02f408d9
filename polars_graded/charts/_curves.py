"""Charts of means along ranks and recall."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Literal

import altair as alt
import polars as pl

from polars_graded._checks import check_choice, check_collected, check_column_names
from polars_graded._drawing import axis_ends, chart_rows, curve_rows, lines, marks, pair_rows, style
from polars_graded._drawing.chart_rows import Frame
from polars_graded._drawing.style import Chart
from polars_graded._frames.arguments import Columns
from polars_graded._measuring.keywords import checks_keywords
from polars_graded._measuring.names import Measure
from polars_graded._results.keys import Keys, collect_column_names, find_keys
from polars_graded._results.mean_intervals import CLUSTER, WEIGHT
from polars_graded._results.units import check_independence
from polars_graded._sentences import format_percent, shorten_name, titles

IDEAL_DASH = [4, 3]
"""Dashes of an ideal curve, in pixels."""


@checks_keywords
def dcg_curves(
    frame: Frame,
    curve: str | None = None,
    *,
    ideal: str | bool = False,
    baseline: Any = None,
    confidence: float | None = None,
    panel: Columns | None = None,
    query: Columns | None = None,
    strategy: str = "strategy",
    rank: str = "rank",
    show: Literal["curves", "differences"] = "curves",
    cluster: Columns | None = None,
    weights: str | None = None,
    colours: Mapping[str, str] | None = None,
    highlight: Any = None,
) -> Chart:
    r"""Draw a curve by rank, with one named line per strategy.

    On a web page, the line next to the pointer stays and the others fade. In a chart with panels, a
    click on a name in the legend has the same effect.

    The band of a difference may exclude 0 although the bands around the two means overlap.

    Parameters
    ----------
    frame
        One row per strategy and rank with one column per curve, as `average_curves` returns it; or
        one row per strategy and query with one list per curve, as `evaluate` and (with a line per
        pair of strategies) `similarity` return it: then the chart shows means over queries.
    curve
        The column to draw: CG, DCG, NDCG, precision, or a column of your own, such as the ratio of
        two curves. By default, it is the only curve by rank in the frame, apart from ideal curves.
    ideal
        The column of the ideal curve, which is dashed. For `dcg_curve`, True selects the
        `ideal_dcg_curve` with the same gain, discount, base and cutoff, if the frame contains it.
        For `cg_curve`, True selects the `ideal_dcg_curve` with `discount=none`.
    baseline
        A strategy: the chart shows the other strategies' curves minus its curve, over the queries
        that both have, with a band of `confidence` (0.95 by default) and without an ideal curve.
        The frame must have the lists of `evaluate`.
    confidence
        The confidence of a band around each line, such as 0.95, or with four lines or more, around
        the line at the pointer. The band is Student's interval of the mean over queries, as in
        `summarise`. The frame must have the lists of `evaluate`.
    panel
        A column whose values get a panel each, such as the query, or several columns. If a strategy
        has a curve for each of several segments, as with `average_curves(segments=)`, each segment
        gets a panel by default.
    query, strategy, rank
        The columns of queries, of strategies, and of the ranks. If each query has a list, the
        columns of queries are found as by `summarise`.
    show
        With `"differences"` and without `baseline`, the baseline is the strategy whose curve ends
        highest. Curves that nearly coincide can then be distinguished.
    cluster, weights
        The columns of clusters and of weights of queries, as for `summarise`, in a frame with the
        lists of `evaluate`. With weights, the curves are weighted means.
    colours
        The colours of strategies by name, such as `{"ours": "#c00"}`. By default, the colours are
        those of Okabe and Ito, or those of the theme.
    highlight
        The strategy whose curve has a colour; the other curves are grey.

    Returns
    -------
    LayerChart or FacetChart
        The rows of the data contain `strategy`, `rank` and `value`; if drawn, also `ideal`,
        `ci_low`, `ci_high` and `panel`; and if there are no panels, `label`, the name at the end of
        a line. A curve of cumulated gain that does not rise after half of the ranks or earlier has
        a note at its name. Means ignore null, NaN and infinity, and a rank without a value is left
        out. Bands are drawn for up to three strategies and for a highlighted one; on a web page,
        the pointer shows others. A frame with ranks keeps its other columns, except those that a
        chart cannot show, such as lists.

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
    >>> curves.pipe(dcg_curves, ideal=True).data.drop("label")
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
    frame, query, query_columns = _collect_curves(frame, query, strategy, weights)
    things = "pairs of strategies" if pair_rows.has_pairs(frame, strategy) else "strategies"
    if baseline is None:
        frame = pair_rows.shorten_pair_names(frame, strategy)
    ideal_column = None if isinstance(ideal, bool) else ideal
    if curve is None:
        excluded = {query, strategy, rank, ideal_column, *collect_column_names(panel)}
        curve = curve_rows.find_only_curve(frame, "rank", rank, excluded)
    panel = curve_rows.find_panels(frame, curve, panel, strategy, rank)
    frame, panel = chart_rows.join_panel_columns("frame", frame, panel)
    frame = curve_rows.add_curve_units(frame, curve, panel, query, cluster=cluster, weights=weights)
    if ideal is True:
        ideal_column = curve_rows.find_ideal(curve, frame.columns)
    keys: dict[str, Any] = {"panel": panel, "query": query, "strategy": strategy}
    points: dict[str, Any] = {"kind": "rank", "position": rank, **keys}
    check_choice("show", show, ("curves", "differences"))
    if baseline is None and show == "differences":
        table = curve_rows.build_curve_points(frame, curve, confidence=None, **points)
        baseline = lines.find_best_lines(table, "rank")[0]
    if baseline is not None:
        ideal_column, confidence = None, 0.95 if confidence is None else confidence
    if confidence is not None:
        _warn_of_dependence(frame, curve, query_columns, strategy, panel, cluster)
    mean_options: dict[str, Any] = {"confidence": confidence, "baseline": baseline}
    table = curve_rows.build_curve_points(frame, curve, ideal_column, **mean_options, **points)
    x = marks.build_place_axis("rank:Q", rank, max(table["rank"]))
    title = curve_rows.write_curve_title(curve, frame, each_query=panel == query)
    facts = _collect_curve_facts(
        frame, table, curve, query=query, strategy=strategy, panel=panel, baseline=baseline
    )
    headline = titles.title_curves(curve, facts, rank, things)
    if baseline is not None:
        title = f"difference of {titles.write_axis_title(curve)} from {shorten_name(baseline)}"
        headline = titles.title_differences_of_curves(curve, facts, rank, baseline)
    is_cumulated = baseline is None and _is_cumulated(curve)
    description = None if chart_rows.has_panels(table) else _describe_ends(table, "rank", title)
    # The names include the baseline, although it is not drawn, so that the other strategies have
    # the same colours as in charts that draw the baseline.
    names = chart_rows.find_names(frame, strategy)
    notes = _write_notes(facts, table, confidence)
    words = style.Words(headline, notes, description)
    chosen: dict[str, Any] = {"colours": colours, "highlight": highlight}
    return _draw_curves(
        *(table, panel, x, title, names, strategy, words),
        is_cumulated=is_cumulated,
        are_differences=baseline is not None,
        **chosen,
    )


def _collect_curves(
    frame: Frame, query: Columns | None, strategy: str, weights: str | None
) -> tuple[pl.DataFrame, str, list[str]]:
    """Return the frame, its column of queries, and the columns that were joined into it.

    If each query has a list and `query` is not passed, the columns of queries are found as by
    `summarise`.
    """
    frame = check_collected("frame", frame)
    has_lists = any(isinstance(dtype, pl.List) for dtype in frame.schema.values())
    if query is None and has_lists and strategy in frame.columns:
        query, _ = find_keys(frame, strategy=strategy, weights=weights)
    columns = check_column_names("query", "query" if query is None else query)
    return *chart_rows.join_query_columns("frame", frame, columns, strategy), columns


def _warn_of_dependence(
    frame: pl.DataFrame,
    curve: str,
    query: list[str],
    strategy: str,
    panel: str | None,
    cluster: Columns | None,
) -> None:
    """Warn if bands are drawn for queries that probably depend on each other."""
    if isinstance(frame.schema[curve], pl.List):
        keys = Keys(query, strategy, cluster=cluster)
        check_independence(frame, keys, [] if panel is None else [panel])


def _collect_curve_facts(
    frame: pl.DataFrame,
    table: pl.DataFrame,
    curve: str,
    *,
    query: str,
    strategy: str,
    panel: Columns | None,
    baseline: Any = None,
) -> titles.Drawn:
    """Return the curve and the numbers of lines, panels, queries and clusters.

    The numbers of queries and clusters are known only if the frame has one list per strategy and
    query, and no panel for each query. They are those of the drawn lists, in ascending order.
    """
    queries, clusters = list[int](), list[int]()
    if isinstance(frame.schema[curve], pl.List) and panel != query:
        rows = frame.filter(pl.col(curve).list.eval(pl.element().is_finite()).list.all())
        if baseline is not None:
            [name] = chart_rows.format_names([baseline])
            is_baseline = chart_rows.build_name_column(strategy) == name
            queries_of_baseline = rows.filter(is_baseline).select(query).unique()
            rows = rows.filter(~is_baseline).join(queries_of_baseline, on=query, how="semi")
        lines_ = [strategy] if panel is None else [panel, strategy]
        counts = rows.group_by(lines_).agg(pl.col(query, f"^{CLUSTER}$").n_unique())
        queries = counts[query].unique().sort().to_list()
        if CLUSTER in counts.columns:
            clusters = counts[CLUSTER].unique().sort().to_list()
    panels = table["panel"].n_unique() if "panel" in table.columns else 0
    n_strategies, are_weighted = table["strategy"].n_unique(), WEIGHT in frame.columns
    return titles.Drawn([curve], n_strategies, panels, queries, None, clusters, are_weighted)


def _write_notes(facts: titles.Drawn, table: pl.DataFrame, confidence: float | None) -> list[str]:
    """Write the number of queries, and the meaning of the bands."""
    notes = [counted] if (counted := titles.count_queries(facts)) else []
    if confidence is not None and not table["ci_low"].is_null().all():
        are_many = table["strategy"].n_unique() > lines.MAX_BANDS
        where = ", at the pointer" if are_many else ""
        notes.append(f"band: pointwise {format_percent(confidence)} interval of the mean{where}")
    return notes


@checks_keywords
def recall_precision_curves(
    frame: Frame,
    curve: str | None = None,
    *,
    confidence: float | None = None,
    panel: Columns | None = None,
    query: Columns | None = None,
    strategy: str = "strategy",
    recall: str = "recall",
    cluster: Columns | None = None,
    weights: str | None = None,
    colours: Mapping[str, str] | None = None,
    highlight: Any = None,
) -> Chart:
    r"""Draw mean interpolated precision at levels of recall as lines.

    Source: Chen, B. Retrieval evaluation (slides), average recall-precision graphs.

    Parameters
    ----------
    frame
        As for `dcg_curves`, with levels of recall in place of ranks.
    curve
        The column to draw; by default the only `interpolated_precision` in the frame.
    confidence
        The confidence of a band around each line, such as 0.95, as for `dcg_curves`.
    panel
        The columns of panels, as for `dcg_curves`.
    query, strategy, recall
        The columns of queries, of strategies, and of the levels of recall.
    cluster, weights, colours, highlight
        As for `dcg_curves`.

    Returns
    -------
    LayerChart or FacetChart
        The rows contain `strategy`, `recall` and `value`. They also contain `ci_low`, `ci_high` and
        `panel` if these are drawn. If there are no panels, they contain `label`, the name at the
        end of a line.

    Examples
    --------
    Example 3.2 of the slides has the first of ten relevant documents at rank 1:

    >>> from polars_graded import average_curves
    >>> from polars_graded.datasets import worked_example
    >>> slides = worked_example("chen").filter(query="example 3.2")
    >>> chart = average_curves(slides, "interpolated_precision").pipe(recall_precision_curves)
    >>> chart.data.drop("label").head(3)
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
    frame, query, query_columns = _collect_curves(frame, query, strategy, weights)
    if curve is None:
        curve = curve_rows.find_only_curve(
            frame, "recall", recall, {query, strategy, recall, *collect_column_names(panel)}
        )
    panel = curve_rows.find_panels(frame, curve, panel, strategy, recall)
    frame, panel = chart_rows.join_panel_columns("frame", frame, panel)
    frame = curve_rows.add_curve_units(frame, curve, panel, query, cluster=cluster, weights=weights)
    if confidence is not None:
        _warn_of_dependence(frame, curve, query_columns, strategy, panel, cluster)
    keys: dict[str, Any] = {"panel": panel, "query": query, "strategy": strategy}
    table = curve_rows.build_curve_points(
        frame, curve, kind="recall", position=recall, confidence=confidence, **keys
    )
    title = curve_rows.write_curve_title(curve, frame, each_query=panel == query)
    names = table["strategy"].unique().to_list()
    facts = _collect_curve_facts(frame, table, curve, query=query, strategy=strategy, panel=panel)
    notes = _write_notes(facts, table, confidence)
    words = style.Words(titles.title_curves(curve, facts, recall), notes)
    x = marks.build_recall_axis(recall)
    chosen: dict[str, Any] = {"colours": colours, "highlight": highlight}
    return _draw_curves(table, panel, x, title, names, strategy, words, **chosen)


def _is_cumulated(curve: str) -> bool:
    """Return whether a curve is CG or DCG, or a column that is no known measure."""
    measure = Measure.parsed(curve)
    return measure is None or measure.function in ("cg_curve", "dcg_curve")


def _draw_curves(
    table: pl.DataFrame,
    panel: Columns | None,
    x: alt.X,
    title: str,
    names: Collection[str],
    strategy: str,
    words: style.Words,
    *,
    is_cumulated: bool = False,
    are_differences: bool = False,
    colours: Mapping[str, str] | None = None,
    highlight: Any = None,
) -> Chart:
    """Draw curves with names at their ends, or with panels and a legend."""
    position, n = x.shorthand.removesuffix(":Q"), table["strategy"].n_unique()
    band = ("ci_low", "ci_high") if "ci_low" in table.columns else None
    drawn = table.select("value", "^ideal$")
    if band is not None and (n <= lines.MAX_BANDS or highlight is not None):
        is_shown = (pl.col("strategy") == str(highlight)) | (n <= lines.MAX_BANDS)
        drawn = table.select("value", "^ideal$", pl.when(is_shown).then(pl.col(*band)))
    numbers = pl.concat(drawn.get_columns()).drop_nulls()
    ends = axis_ends.choose_ends(numbers, 10)
    # Without negative values, an axis has no negative part. Cumulated curves start at 0.
    if not are_differences and (table["value"] >= 0).all():
        ends = (0.0 if is_cumulated else max(0.0, ends[0])), ends[1]
    best = lines.find_best_lines(table, position if position == "rank" else None)
    described = words.described or f"{title} by {x['title']}, {n} strategies"
    return lines.draw_lines(
        table,
        panel,
        words._replace(described=described),
        x=x,
        y=alt.Y("value:Q", title=title, **style.bound_axis(ends)),
        ends=ends,
        names=names,
        best=best,
        title=strategy,
        labels=_note_flat_lines(table, position) if is_cumulated else None,
        band=band,
        tooltips=style.format_decimals("value"),
        under=_draw_background(table, position),
        colours=colours,
        highlight=highlight,
    )


def _draw_background(table: pl.DataFrame, position: str) -> list[alt.Chart]:
    """Draw the ideal curve with its name, and a line at 0 if there are negative values."""
    layers = []
    grey = alt.ColorValue("gray")
    if "ideal" in table.columns:
        base = alt.Chart().encode(x=alt.X(f"{position}:Q"), y=alt.Y("ideal:Q"), color=grey)
        end = base.transform_filter("isValid(datum.ideal)")
        end = end.transform_joinaggregate(last=f"max({position})", groupby=[])
        end = end.transform_filter(f"datum['{position}'] === datum.last")
        end = end.transform_aggregate(ideal="max(ideal)", groupby=[position])
        text = end.mark_text(align="right", dy=-7, clip=False).encode(
            text=alt.TextValue("ideal"), color=style.draw_ink()
        )
        layers = [base.mark_line(strokeDash=IDEAL_DASH).encode(detail="strategy:N"), text]
    if table["value"].min() < 0:  # type: ignore[operator]
        layers.append(marks.draw_level("value"))
    return layers


def _note_flat_lines(table: pl.DataFrame, position: str) -> dict[str, str]:
    """Write the names of lines, with a note if a line is flat from half of its length on."""
    at, value = pl.col(position), pl.col("value")
    flat_from = at.filter(value < value.max() - 1e-12).max() + 1
    lines_ = table.group_by("strategy").agg(at.max(), flat_from.alias("flat_from"))
    flat = lines_.filter(pl.col("flat_from") <= at / 2).select("strategy", "flat_from")
    return {
        name: f"{shorten_name(name)} (flat from {position} {start})" for name, start in flat.rows()
    }


def _describe_ends(table: pl.DataFrame, position: str, title: str) -> str:
    """Write the values of lines at the last position, the highest first."""
    end_points = table.filter(pl.col(position) == pl.col(position).max()).sort(
        "value", descending=True
    )
    heading = f"{title} at {position} {end_points[position][0]}"
    return style.list_values(heading, end_points.select("strategy", "value").iter_rows())
