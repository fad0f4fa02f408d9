"""Charts of means along ranks and recall."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import altair as alt
import polars as pl

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
from polars_graded._results.keys import Columns
from polars_graded._sentences import format_percent, shorten_name, titles

CURVE_WIDTH = 300
"""Width in pixels of a chart of curves with names beside the lines."""


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

    Returns
    -------
    LayerChart or FacetChart
        The rows of the data contain `strategy`, `rank` and `value`; if drawn, also `ideal`,
        `ci_low`, `ci_high` and `panel`; and if there are no panels, `label_at`, the height at which
        the name of a line is written. Means ignore null, NaN and infinity, and a rank without a
        value is left out. A frame with ranks keeps its other columns, except those that a chart
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
    if baseline is not None:
        ideal_column, confidence = None, 0.95 if confidence is None else confidence
    keys: dict[str, Any] = {"panel": panel, "query": query, "strategy": strategy}
    mean_options: dict[str, Any] = {"confidence": confidence, "baseline": baseline}
    table = curve_rows.build_curve_points(
        frame, curve, ideal_column, kind="rank", position=rank, **mean_options, **keys
    )
    x = marks.build_place_axis("rank:Q", rank, max(table["rank"]))
    title = curve_rows.write_curve_title(curve, frame, each_query=panel == query)
    facts = _collect_curve_facts(
        frame, table, curve, query=query, strategy=strategy, baseline=baseline
    )
    headline, background = titles.title_curves(curve, facts, rank, things), list[alt.Chart]()
    if baseline is not None:
        title = f"difference of {titles.write_axis_title(curve)} from {shorten_name(baseline)}"
        background = [style.draw_rule(y=0)]
        has_bands = not table["ci_low"].is_null().all()
        headline = titles.title_differences_of_curves(
            curve, facts, rank, baseline, confidence if has_bands else None
        )
    numbers = table.select("value", "^ideal$", "^ci_(low|high)$").get_columns()
    ends = axis_ends.choose_ends(pl.concat(numbers).drop_nulls())
    description = None if chart_rows.has_panels(table) else _describe_ends(table, "rank", title)
    # The names include the baseline, although it is not drawn, so that the other strategies have
    # the same colours as in charts that draw the baseline.
    names = chart_rows.find_names(frame, strategy)
    drawn = table["strategy"].unique().to_list()
    notes = [*_write_subtitle(facts, baseline, panel == query), *style.write_rest_note(drawn)]
    notes += _write_bands(table, confidence, is_named=baseline is not None)
    words = style.Words(headline, notes, description)
    return _draw_curves(table, panel, x, title, ends, names, strategy, words, background)


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
        `panel` if these are drawn. If there are no panels, they contain `label_at`, the height at
        which the name of a line is written. The labels of both axes reach from 0 to 1.

    Examples
    --------
    Example 3.2 of the slides has the first of ten relevant documents at rank 1:

    >>> from polars_graded import average_curves
    >>> from polars_graded.datasets import worked_example
    >>> slides = worked_example("chen").filter(query="example 3.2")
    >>> chart = average_curves(slides, "interpolated_precision").pipe(recall_precision_curves)
    >>> chart.data.drop("label_at").head(3)
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
    ends = _choose_unit_ends(table["value"])
    if chart_rows.has_panels(table):
        x = marks.build_recall_axis(recall)
        return _draw_curves(table, panel, x, title, ends, names, strategy, words)
    # Names that would overlap are moved up or down. All names are written on the same side of the
    # lines: on the side where the moves are smaller.
    min_recall, max_recall = table["recall"].min(), table["recall"].max()
    end_points = table.filter(pl.col("recall").is_in([min_recall, max_recall]))
    name_position = line_names.choose_place(end_points, "recall", "value", ends)
    name_side = -1 if name_position == min_recall != max_recall else 1
    name_width = marks.estimate_name_width(names) if name_side < 0 else 0.0
    x = marks.build_recall_axis(recall, -name_width / CURVE_WIDTH)
    width = CURVE_WIDTH + name_width
    return _draw_curves(
        table, panel, x, title, ends, names, strategy, words, named_at=name_side, width=width
    )


def _draw_curves(
    table: pl.DataFrame,
    panel: str | None,
    x: alt.X,
    title: str,
    ends: AxisEnds,
    names: Collection[str],
    strategy: str,
    words: style.Words,
    background: Sequence[alt.Chart] = (),
    *,
    named_at: int = 1,
    **size: Any,
) -> Chart:
    """Draw curves with names beside them, or with panels and a legend."""
    position = x.shorthand.removesuffix(":Q")
    named_lines = line_names.find_best_lines(
        table, position if position == "rank" else None, style.MAX_COLOURS
    )
    has_panels = chart_rows.has_panels(table)
    look = style.choose_look(names, strategy, prioritised=named_lines, legends=has_panels)
    n, numbers = table["strategy"].n_unique(), pl.concat(table.select("value", "^ideal$"))
    has_points = n <= style.MAX_COLOURS and table[position].n_unique() <= style.MAX_MARKED_POINTS
    n_bands = n if "ci_low" in table.columns else 0
    facts: dict[str, Any] = {
        "is_unit": style.is_unit(numbers),
        "show_points": has_points,
        "n_bands": n_bands,
    }
    facts |= {
        "ideal": "ideal" in table.columns,
        "selections": _build_selections(table, legend=has_panels),
    }
    lines = ["panel", "strategy"] if has_panels else ["strategy"]
    notes = [*words.notes, *line_names.write_coinciding(table, position, "value", lines)]
    described = words.described or f"{title} by {x['title']}, {n} strategies"
    if not has_panels:
        end_position = pl.col(position).min() if named_at < 0 else pl.col(position).max()
        is_named = pl.col(position) == end_position.over("strategy")
        # Rounding makes almost equal means equal. Equal means are sorted by strategy.
        height = pl.col("value").round(12)
        table = line_names.add_labels(table, is_named, [height], ends, named_lines)
        facts |= {"named_at": named_at, "ends": ends, "names": table["strategy"].unique()}
    layers = [*([] if has_panels else background), *marks.draw_curves(x, title, look, **facts)]
    return style.draw_panels(
        layers, table, panel, words._replace(notes=notes, described=described), **size
    )


def _choose_unit_ends(values: pl.Series) -> AxisEnds:
    """Return 0 and 1 if all values lie between them, or else round numbers."""
    return (0.0, 1.0) if style.is_unit(values) else axis_ends.choose_ends(values)


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
