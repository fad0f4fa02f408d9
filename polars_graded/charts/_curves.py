"""Charts of means along ranks and recall."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

import altair as alt
import polars as pl

from polars_graded._checks import check_choice
from polars_graded._drawing import (
    axis_ends,
    chart_rows,
    curve_rows,
    line_names,
    marks,
    pair_rows,
    style,
)
from polars_graded._drawing.axis_ends import AxisEnds
from polars_graded._drawing.chart_rows import Frame
from polars_graded._drawing.style import Chart
from polars_graded._measuring.names import Measure
from polars_graded._results.keys import Columns
from polars_graded._results.per_query import sort_naturally
from polars_graded._sentences import format_percent, shorten_name, shorten_names, titles


def dcg_curves(
    frame: Frame,
    curve: str | None = None,
    *,
    ideal: str | bool = False,
    baseline: Any = None,
    confidence: float | None = None,
    panel: str | None = None,
    query: Columns = "query",
    strategy: str = "strategy",
    rank: str = "rank",
    show: Literal["curves", "differences"] = "curves",
    colours: Mapping[str, str] | None = None,
    highlight: Any = None,
) -> Chart:
    r"""Draw a curve by rank, with one named line per strategy.

    On a web page, the line next to the pointer stays and the others fade. In a chart with panels, a
    click on a name in the legend has the same effect.

    Parameters
    ----------
    frame
        Either one row per strategy and rank with one column per curve, as `average_curves` returns
        it, or one row per strategy and query with one list per curve, as `evaluate` returns it.
        For lists, the chart shows means over queries. `overlap_curve@n` of `similarity` has one
        line per pair of strategies.
    curve
        The column to draw: CG, DCG, NDCG, precision, or a column of your own, such as the ratio of
        two curves. By default, it is the only curve by rank in the frame, apart from ideal curves.
    ideal
        The column of the ideal curve, which is dashed. For `dcg_curve`, True selects the
        `ideal_dcg_curve` with the same gain, discount, base and cutoff, if the frame contains it.
        For `cg_curve`, True selects the `ideal_dcg_curve` with `discount=none`.
    baseline
        A strategy with which the others are compared. The chart then shows each other strategy's
        curve minus that of the baseline, as the mean over queries, without an ideal curve. Each
        difference has a band. Its `confidence` is 0.95 by default. The band of a difference may
        exclude 0 although the bands around the two means overlap. The frame must have the lists of
        `evaluate`. Queries that one of the two strategies lacks are left out.
    confidence
        The confidence of a band around each line, such as 0.95. The band is Student's interval of
        the mean over queries, as in `summarise`. The frame must have the lists of `evaluate`.
    panel
        A column whose values get a panel each, such as the query. If a strategy has a curve for
        each of several segments, as with `average_curves(segments=)`, each segment gets a panel by
        default.
    query, strategy, rank
        The columns of queries, of strategies, and of the ranks.
    show
        With `"differences"` and without `baseline`, the baseline is the strategy whose curve ends
        highest. Curves that nearly coincide can then be distinguished.
    colours
        The colours of strategies by name, such as `{"ours": "#c00"}`. By default, the colours are
        those of the theme; in Vega, they are those of Tableau 10.
    highlight
        The strategy whose curve has a colour; the other curves are grey.

    Returns
    -------
    LayerChart or FacetChart
        The rows of the data contain `strategy`, `rank` and `value`; if drawn, also `ideal`,
        `ci_low`, `ci_high` and `panel`; and if there are no panels, `label`, the name at the end of
        a line. A curve of cumulated gain that does not rise after half of the ranks or earlier has
        a note at its name. Means ignore null, NaN and infinity, and a rank without a value is left
        out. The axis ends enclose the drawn marks; bands are drawn for up to three strategies. A frame with ranks keeps its other columns, except those that a chart
        cannot show, such as lists.

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
    frame, query = chart_rows.join_query_columns("frame", frame, query, strategy)
    things = "pairs of strategies" if pair_rows.has_pairs(frame, strategy) else "strategies"
    if baseline is None:
        frame = pair_rows.shorten_pair_names(frame, strategy)
    ideal_column = None if isinstance(ideal, bool) else ideal
    if curve is None:
        excluded = (query, strategy, rank, panel, ideal_column)
        curve = curve_rows.find_only_curve(frame, "rank", rank, excluded)
    panel = curve_rows.find_panel(frame, curve, panel, strategy, rank)
    if ideal is True:
        ideal_column = curve_rows.find_ideal(curve, frame.columns)
    keys: dict[str, Any] = {"panel": panel, "query": query, "strategy": strategy}
    points: dict[str, Any] = {"kind": "rank", "position": rank, **keys}
    check_choice("show", show, ("curves", "differences"))
    if baseline is None and show == "differences":
        table = curve_rows.build_curve_points(frame, curve, confidence=None, **points)
        [baseline] = line_names.find_best_lines(table, "rank", 1)
    if baseline is not None:
        ideal_column, confidence = None, 0.95 if confidence is None else confidence
    mean_options: dict[str, Any] = {"confidence": confidence, "baseline": baseline}
    table = curve_rows.build_curve_points(frame, curve, ideal_column, **mean_options, **points)
    x = marks.build_place_axis("rank:Q", rank, max(table["rank"]))
    title = curve_rows.write_curve_title(curve, frame, each_query=panel == query)
    facts = _collect_curve_facts(
        frame, table, curve, query=query, strategy=strategy, baseline=baseline
    )
    headline = titles.title_curves(curve, facts, rank, things)
    if baseline is not None:
        title = f"difference of {titles.write_axis_title(curve)} from {shorten_name(baseline)}"
        has_bands = not table["ci_low"].is_null().all()
        headline = titles.title_differences_of_curves(
            curve, facts, rank, baseline, confidence if has_bands else None
        )
    is_cumulated = baseline is None and _is_cumulated(curve)
    description = None if chart_rows.has_panels(table) else _describe_ends(table, "rank", title)
    # The names include the baseline, although it is not drawn, so that the other strategies have
    # the same colours as in charts that draw the baseline.
    names = chart_rows.find_names(frame, strategy)
    drawn = table["strategy"].unique().to_list()
    notes = [*_write_subtitle(facts, baseline, panel == query), *style.write_rest_note(drawn)]
    notes += _write_bands(table, confidence, is_named=baseline is not None)
    words = style.Words(headline, notes, description)
    chosen: dict[str, Any] = {"colours": colours, "highlight": highlight}
    return _draw_curves(
        table, panel, x, title, names, strategy, words, is_cumulated=is_cumulated, **chosen
    )


def _collect_curve_facts(
    frame: pl.DataFrame,
    table: pl.DataFrame,
    curve: str,
    *,
    query: str,
    strategy: str,
    baseline: Any = None,
) -> titles.Drawn:
    """Return the curve and the numbers of lines, panels and queries.

    The numbers of queries are known only if the frame has one list per strategy and query. They are
    those of the drawn lists, in ascending order.
    """
    queries: list[int] = []
    if isinstance(frame.schema[curve], pl.List):
        rows = frame.filter(pl.col(curve).list.eval(pl.element().is_finite()).list.all())
        if baseline is not None:
            [name] = chart_rows.format_names([baseline])
            is_baseline = chart_rows.build_name_column(strategy) == name
            queries_of_baseline = rows.filter(is_baseline).select(query).unique()
            rows = rows.filter(~is_baseline).join(queries_of_baseline, on=query, how="semi")
        counts = rows.group_by(strategy).agg(pl.col(query).n_unique())
        queries = counts[query].unique().sort().to_list()
    panels = table["panel"].n_unique() if "panel" in table.columns else 0
    return titles.Drawn([curve], table["strategy"].n_unique(), panels, queries)


def _write_subtitle(facts: titles.Drawn, baseline: Any, each_query: bool) -> list[str]:  # noqa: FBT001
    """Write the measure in words, and the number of queries."""
    if each_query:
        return titles.write_subtitle(facts._replace(queries=[]), "")
    return titles.write_subtitle(facts, "mean" if baseline is None else "mean difference of")


def _write_bands(table: pl.DataFrame, confidence: float | None, *, is_named: bool) -> list[str]:
    """Write a note that explains the bands and states which of them are drawn.

    If `is_named` is true, the title explains the bands, and the note states only which bands are
    drawn.
    """
    if confidence is None or table["ci_low"].is_null().all():
        return []
    are_many = table["strategy"].n_unique() > style.MAX_BANDS
    clause = " of the line under the pointer" if are_many else ""
    share = f"{format_percent(confidence)} interval of the mean"
    if is_named:
        return [f"band: only{clause}"] if are_many else []
    return [f"band: {share}{clause}"]


def recall_precision_curves(
    frame: Frame,
    curve: str | None = None,
    *,
    confidence: float | None = None,
    panel: str | None = None,
    query: Columns = "query",
    strategy: str = "strategy",
    recall: str = "recall",
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
        A column whose values get a panel each, as for `dcg_curves`.
    query, strategy, recall
        The columns of queries, of strategies, and of the levels of recall.

    Returns
    -------
    LayerChart or FacetChart
        The rows contain `strategy`, `recall` and `value`. They also contain `ci_low`, `ci_high` and
        `panel` if these are drawn. If there are no panels, they contain `label`, the name at the
        end of a line. The labels of both axes reach from 0 to 1.

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
    frame, query = chart_rows.join_query_columns("frame", frame, query, strategy)
    if curve is None:
        curve = curve_rows.find_only_curve(
            frame, "recall", recall, (query, strategy, recall, panel)
        )
    panel = curve_rows.find_panel(frame, curve, panel, strategy, recall)
    keys: dict[str, Any] = {"panel": panel, "query": query, "strategy": strategy}
    table = curve_rows.build_curve_points(
        frame, curve, kind="recall", position=recall, confidence=confidence, **keys
    )
    title = curve_rows.write_curve_title(curve, frame, each_query=panel == query)
    names = table["strategy"].unique().to_list()
    facts = _collect_curve_facts(frame, table, curve, query=query, strategy=strategy)
    notes = [*_write_subtitle(facts, None, panel == query), *style.write_rest_note(names)]
    notes += _write_bands(table, confidence, is_named=False)
    words = style.Words(titles.title_curves(curve, facts, recall), notes)
    x = marks.build_recall_axis(recall)
    return _draw_curves(table, panel, x, title, names, strategy, words)


def _is_cumulated(curve: str) -> bool:
    """Return whether a curve is CG or DCG, or a column that is no known measure."""
    measure = Measure.parsed(curve)
    return measure is None or measure.function in ("cg_curve", "dcg_curve")


def _draw_curves(
    table: pl.DataFrame,
    panel: str | None,
    x: alt.X,
    title: str,
    names: Collection[str],
    strategy: str,
    words: style.Words,
    *,
    is_cumulated: bool = False,
    colours: Mapping[str, str] | None = None,
    highlight: Any = None,
) -> Chart:
    """Draw curves with names at their ends, or with panels and a legend."""
    position = x.shorthand.removesuffix(":Q")
    has_panels = chart_rows.has_panels(table)
    at_end = position if position == "rank" else None
    best = line_names.find_best_lines(table, at_end, table["strategy"].n_unique())
    first = [*dict.fromkeys(map(str, [*(colours or ()), *([highlight] if highlight is not None else []), *best]))]
    named_lines = first[: style.MAX_COLOURS]
    look: dict[str, Any] = {"colours": colours, "highlight": highlight, "legend": has_panels}
    colour = style.encode_names(sort_naturally(names), strategy, prioritised=best, **look)
    n = table["strategy"].n_unique()
    bands = ["ci_low", "ci_high"] if "ci_low" in table.columns and n <= style.MAX_BANDS else []
    numbers = table.select("value", "^ideal$", *bands).get_columns()
    ends = _choose_curve_ends(pl.concat(numbers).drop_nulls(), table["value"], is_cumulated)
    lines = ["panel", "strategy"] if has_panels else ["strategy"]
    notes = [*words.notes, *line_names.write_coinciding(table, position, "value", lines)]
    described = words.described or f"{title} by {x['title']}, {n} strategies"
    if not has_panels:
        table = _label_lines(table, position, named_lines, is_cumulated=is_cumulated)
    has_points = n <= style.MAX_COLOURS and table[position].n_unique() <= style.MAX_MARKED_POINTS
    selections = _build_selections(table, legend=has_panels)
    layers = _draw_lines(table, position, selections, show_points=has_points)
    y = alt.Y("value:Q", title=title, **style.bound_axis(ends))
    shared = alt.Encoding(x=x, y=y, color=colour)
    words = words._replace(notes=notes, described=described)
    if has_panels:
        return style.draw_panels(layers, table, panel, words, encoding=shared)
    layers += line_names.draw_names(position, "value", ends, selections)
    width = line_names.estimate_width(table["label"])
    chart = style.draw_layers(layers, table, words, encoding=shared)
    return line_names.reserve_width(chart, width)


def _choose_curve_ends(drawn: pl.Series, values: pl.Series, is_cumulated: bool) -> AxisEnds:  # noqa: FBT001
    """Return ends that enclose the drawn numbers.

    Cumulated curves start at 0. If no value is negative, the axis has no negative part.
    """
    low, high = axis_ends.choose_ends(drawn, 10)
    if (values >= 0).all():
        low = 0.0 if is_cumulated else max(0.0, low)
    return low, high


def _label_lines(
    table: pl.DataFrame, position: str, named_lines: Sequence[str], *, is_cumulated: bool
) -> pl.DataFrame:
    """Add the column `label`: the name of a line in its last row, null in other rows."""
    at, value = pl.col(position), pl.col("value")
    flat_from = at.filter(value < value.max() - 1e-12).max() + 1
    ends = table.group_by("strategy").agg(at.max(), flat_from.alias("flat_from"))
    short = shorten_names(ends["strategy"].to_list(), style.MAX_LABEL_LETTERS)
    is_flat = (pl.col("flat_from") <= at / 2) & pl.lit(is_cumulated)
    note = pl.when(is_flat).then(pl.format(" (flat from {} {})", pl.lit(position), "flat_from"))
    label = pl.Series("label", short, dtype=pl.String) + note.fill_null("")
    ends = ends.select("strategy", position, label.alias("label"))
    ends = ends.filter(pl.col("strategy").is_in([*named_lines]))
    return table.join(ends, on=["strategy", position], how="left", maintain_order="left")


def _draw_lines(
    table: pl.DataFrame, position: str, selections: Sequence[alt.Parameter], *, show_points: bool
) -> list[alt.Chart]:
    """Draw bands, an ideal curve, lines, and points with tooltips."""
    base = alt.Chart().encode(
        x=alt.X(f"{position}:Q"), y=alt.Y("value:Q"), detail=alt.Detail("strategy:N")
    )
    layers = []
    # With a selection, a tooltip shows a text only if a function such as toString formats it.
    name: Any = alt.Tooltip("strategy:N", format="", formatType="toString")
    tooltip = style.list_tooltips(
        name if selections else "strategy:N", f"{position}:Q", *style.format_decimals("value")
    )
    points = base
    if "ci_low" in table.columns:
        points, interval = style.add_interval(points, "ci_low", "ci_high")
        tooltip.append(interval)
        area = base.mark_area(opacity=marks.BAND_OPACITY, clip=True)
        area = area.encode(y=alt.Y("ci_low:Q"), y2="ci_high:Q")
        if table["strategy"].n_unique() <= style.MAX_BANDS:
            layers.append(area.encode(**marks.fade_others(selections, marks.BAND_OPACITY)))
        else:
            shown, hidden = alt.value(marks.BAND_OPACITY), alt.value(0)
            is_shown = alt.condition(selections[0], shown, hidden, empty=False)
            layers.append(area.encode(opacity=is_shown))
    if "ideal" in table.columns:
        grey = alt.value("gray")
        ideal = base.mark_line(strokeDash=marks.IDEAL_DASH).encode(y=alt.Y("ideal:Q"), color=grey)
        end = alt.Chart().transform_filter("isValid(datum.ideal)")
        end = end.transform_joinaggregate(last=f"max({position})", groupby=[])
        end = end.transform_filter(f"datum.{position} === datum.last")
        end = end.transform_aggregate(ideal="max(ideal)", groupby=[position])
        text = end.mark_text(align="right", dy=-7, clip=False).encode(
            x=alt.X(f"{position}:Q"), y=alt.Y("ideal:Q"), text=alt.value("ideal"), color=grey
        )
        layers += [ideal, text]
    if table["value"].min() < 0:  # type: ignore[operator]
        layers.append(marks.draw_zero("value"))
    layers.append(base.mark_line().encode(**marks.fade_others(selections, 1)))
    opacity = 1 if show_points else 0
    points = points.mark_point(filled=True, opacity=opacity)
    points = points.encode(tooltip=tooltip, **marks.fade_others(selections, opacity))
    # Without a selection, points are in front, since lines would hide their tooltips. With a
    # selection, points must be the first layer, at the back: if a chart with panels is beside
    # another chart, Altair looks for the selection in the first layer. The tooltips still work:
    # if a chart has a selection, Vega-Lite ignores the pointer on layers that have neither a
    # selection nor a tooltip, such as the lines.
    if selections:
        return [style.add_selection(points, *selections), *layers]
    return [*layers, points]


def _describe_ends(table: pl.DataFrame, position: str, title: str) -> str:
    """Write the values of lines at the last position, the highest first."""
    end_points = table.filter(pl.col(position) == pl.col(position).max()).sort(
        "value", descending=True
    )
    heading = f"{title} at {position} {end_points[position][0]}"
    return style.list_values(heading, end_points.select("strategy", "value").iter_rows())


def _build_selections(table: pl.DataFrame, *, legend: bool) -> list[alt.Parameter]:
    """Return the selections of lines: by the pointer, and by a legend.

    A single line has no selection. More than ten lines cannot be selected by the legend.
    """
    n = table["strategy"].n_unique()
    if n == 1:
        return []
    name = chart_rows.build_selection_name("line", table)
    selections = [style.build_pointer(name, "strategy", nearest=True)]
    if legend and n <= style.MAX_COLOURS:
        name = f"legend_{name}"
        selections.append(alt.selection_point(name=name, fields=["strategy"], bind="legend"))
    return selections
