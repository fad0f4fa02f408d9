"""Charts of lines: over ranks, recall, numbers of queries, and graders."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import altair as alt
import polars as pl

from polars_graded._checks import check_choice, check_collected, check_columns, check_number
from polars_graded._drawing import chart_rows, lines, style
from polars_graded._drawing.chart_rows import CurveKind
from polars_graded._drawing.panels import Chart
from polars_graded._frames.arguments import Columns
from polars_graded._frames.tables import GRADER, Frame
from polars_graded._measuring.keywords import checks_call
from polars_graded._measuring.measures import Measure
from polars_graded._results.keys import PassedKeys
from polars_graded._results.results import EFFECTIVE
from polars_graded._sentences import format_count, format_percent, titles

IDEAL_DASH = [4, 3]
"""Dashes of an ideal curve, in pixels."""

UNITS = {"queries": "queries", "clusters": "clusters", EFFECTIVE: "effective queries"}
"""Words for the columns of numbers that `sample_size_curves` draws."""


@checks_call
def dcg_curves(
    frame: Frame,
    curve: str | None = None,
    *,
    ideal: str | bool = False,
    confidence: float | None = None,
    panel: Columns | None = None,
    query: Columns | None = None,
    strategy: str = "strategy",
    cluster: Columns | None = None,
    weights: str | None = None,
    colours: Mapping[str, str] | None = None,
) -> Chart:
    """Draw a curve by rank, with one named line per strategy.

    On a web page, the line next to the pointer stays and the others fade.

    The difference of two strategies may be significant although the bands around their means
    overlap: `compare` tests it.

    Parameters
    ----------
    frame
        One row per strategy and query with one list per curve, as `evaluate` and (with a line per
        pair of strategies) `similarity` return it. The chart shows means over queries.
    curve
        The column to draw: CG, DCG, NDCG, precision, or a column of your own with a list per query.
        By default, it is the only curve by rank in the frame, apart from ideal curves.
    ideal
        The column of the ideal curve, which is dashed. For `dcg_curve`, True selects the
        `ideal_dcg_curve` with the same gain, discount, base and cutoff, if the frame contains it.
        For `cg_curve`, True selects the `ideal_dcg_curve` with `discount=none`.
    confidence
        The confidence of a band around each line, such as 0.95. The band is Student's interval of
        the mean over queries, as in `summarise`.
    panel
        A column whose values get a panel each, such as the query or a segment, or several columns.
    query, strategy
        The columns of queries, found as by `summarise`, and of strategies.
    cluster, weights
        The columns of clusters and of weights of queries, as for `summarise`. With weights, the
        curves are weighted means.
    colours
        The colours of strategies by name, such as `{"ours": "#c00"}`. By default, the colours are
        those of Okabe and Ito, or those of the theme.

    Returns
    -------
    LayerChart or FacetChart
        The rows of the data contain `strategy`, `rank` and `value`; if drawn, also `ideal`,
        `ci_low`, `ci_high` and `panel`; and if there are no panels, `label`, the name at the end of
        a line. Means ignore null, NaN and infinity, and a rank without a value is left out;
        `queries` counts the values of each mean.

    References
    ----------
    Järvelin, Kekäläinen: Cumulated gain-based evaluation of IR techniques, 2002. Chen, B. Retrieval
    evaluation (slides), DCG curves.

    Examples
    --------
    >>> from polars_graded import evaluate
    >>> df = pl.DataFrame({"query": 1, "grade": [0, 1, 3], "score": [3, 2, 1]})
    >>> curves = evaluate(
    ...     df, "dcg_curve(gain=linear)@3", "ideal_dcg_curve(gain=linear)@3", by="score"
    ... )
    >>> curves.pipe(dcg_curves, ideal=True).data.drop("label", "queries")
    shape: (3, 4)
    ┌──────────┬──────┬─────────┬─────────┐
    │ strategy ┆ rank ┆ value   ┆ ideal   │
    │ ---      ┆ ---  ┆ ---     ┆ ---     │
    │ str      ┆ i64  ┆ f64     ┆ f64     │
    ╞══════════╪══════╪═════════╪═════════╡
    │ score    ┆ 1    ┆ 0.0     ┆ 3.0     │
    │ score    ┆ 2    ┆ 0.63093 ┆ 3.63093 │
    │ score    ┆ 3    ┆ 2.13093 ┆ 3.63093 │
    └──────────┴──────┴─────────┴─────────┘
    """
    keys = PassedKeys(query, strategy, cluster=cluster, weights=weights)
    return _draw_curves(frame, curve, "rank", keys, panel, confidence, colours, ideal=ideal)


@checks_call
def recall_precision_curves(
    frame: Frame,
    curve: str | None = None,
    *,
    confidence: float | None = None,
    panel: Columns | None = None,
    query: Columns | None = None,
    strategy: str = "strategy",
    cluster: Columns | None = None,
    weights: str | None = None,
    colours: Mapping[str, str] | None = None,
) -> Chart:
    """Draw mean interpolated precision at levels of recall as lines.

    Source: Chen, B. Retrieval evaluation (slides), average recall-precision graphs.

    Parameters
    ----------
    frame
        As for `dcg_curves`.
    curve
        The column to draw; by default the only `interpolated_precision` in the frame.
    confidence
        The confidence of a band around each line, such as 0.95, as for `dcg_curves`.
    panel
        The columns of panels, as for `dcg_curves`.
    query, strategy, cluster, weights, colours
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

    >>> from polars_graded import evaluate
    >>> from polars_graded.datasets import worked_example
    >>> slides = worked_example("chen").filter(query="example 3.2")
    >>> chart = evaluate(slides, "interpolated_precision").pipe(recall_precision_curves)
    >>> chart.data.drop("label", "queries").head(3)
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
    keys = PassedKeys(query, strategy, cluster=cluster, weights=weights)
    return _draw_curves(frame, curve, "recall", keys, panel, confidence, colours)


def _draw_curves(
    frame: Frame,
    curve: str | None,
    kind: CurveKind,
    passed_keys: PassedKeys,
    panel: Columns | None,
    confidence: float | None,
    colours: Mapping[str, str] | None,
    *,
    ideal: str | bool = False,
) -> Chart:
    """Draw curves of one kind."""
    frame, strategy = check_collected("frame", frame), passed_keys.strategy or "strategy"
    curve = chart_rows.find_only_curve(frame, kind) if curve is None else curve
    column = chart_rows.find_ideal(curve, frame.columns) if ideal is True else ideal or None
    curves = {"value": curve} | ({} if column is None else {"ideal": column})
    check_columns("frame", [*curves.values(), strategy], frame.columns)
    for name in curves.values():
        if isinstance(dtype := frame.schema[name], pl.Array):
            frame = frame.with_columns(pl.col(name).arr.to_list())
        elif not isinstance(dtype, pl.List | pl.Null):
            msg = f"{name!r} must have a list per query, as evaluate() returns it, got {dtype}"
            raise TypeError(msg)
    keys = passed_keys.find(frame)
    table = chart_rows.average_lists(frame, curves, kind, keys, panel, confidence)
    title = f"{'mean ' * ('queries' in table.columns)}{titles.name_measure(curve)}"
    facts = chart_rows.collect_title_facts(table)._replace(
        are_weighted=passed_keys.weights is not None
    )
    things = "pairs of strategies" if {"a", "b"} <= {*frame.columns} else "strategies"
    notes, band = titles.count_queries(facts), None
    if confidence is not None and table["ci_low"].count():
        band = "ci_low", "ci_high"
        notes.append(f"band: pointwise {format_percent(confidence)} interval of the mean")
    heights = pl.concat(table.select("value", "^ideal$", "^ci_.*$").get_columns()).drop_nulls()
    ends = style.choose_ends(heights, 10)
    # Without negative values, an axis has no negative part. Cumulated curves start at 0.
    if (table["value"] >= 0).all():
        ends = (0.0 if _is_cumulated(curve) else max(0.0, ends[0])), ends[1]
    x = alt.X("recall:Q", title="recall", **style.bound_axis((0, 1), tickCount=11))
    if kind == "rank":
        x = style.build_rank_axis(max(table["rank"]))
    return lines.draw_lines(
        table,
        panel,
        titles.title_curves(curve, facts, kind, things),
        notes,
        x=x,
        y=alt.Y("value:Q", title=title, **style.bound_axis(ends)),
        ends=ends,
        prioritised=lines.sort_lines(table, "rank" if kind == "rank" else None),
        title=strategy,
        band=band,
        tooltips=style.format_decimals("value"),
        under=_draw_background(table, kind),
        colours=colours,
    )


def _is_cumulated(curve: str) -> bool:
    """Return whether a curve is CG or DCG, or a column that is no known measure."""
    measure = Measure.try_parse(curve)
    return measure is None or measure.function in ("cg_curve", "dcg_curve")


def _draw_background(table: pl.DataFrame, position: str) -> list[alt.Chart]:
    """Draw the ideal curve with its name, and a line at 0 if there are negative values."""
    layers = []
    if "ideal" in table.columns:
        grey = alt.ColorValue("gray")
        base = alt.Chart().encode(x=alt.X(f"{position}:Q"), y=alt.Y("ideal:Q"), color=grey)
        at_last: Any = alt.ArgmaxDef(argmax=position)
        end = base.transform_filter("isValid(datum.ideal)").encode(
            x=alt.X(f"{position}:Q", aggregate="max"), y=alt.Y("ideal:Q", aggregate=at_last)
        )
        text = end.mark_text(align="right", dy=-7, clip=False)
        text = text.encode(text=alt.TextValue("ideal"), color=style.draw_ink())
        layers = [base.mark_line(strokeDash=IDEAL_DASH).encode(detail="strategy:N"), text]
    if table["value"].min() < 0:  # type: ignore[operator]
        layers.append(style.draw_rule("y", "value"))
    return layers


@checks_call
def sample_size_curves(curve: Frame, *, power: float = 0.8, panel: Columns | None = None) -> Chart:
    """Draw what more queries are worth: power, or a stable order of strategies.

    Each measure has a line over the number of queries. The rows determine what the line shows:

    - Rows of `trust.power_curve`: the power to find a difference, which the title states. The large
      point marks the number of queries in the data. The line reaches the dashed target at the
      number of queries that `trust.queries_needed` computes.
    - Rows of `trust.order_stability`: the mean rank correlation τ between the order of strategies
      from a sample of queries and the order from all queries. A band contains τ of most samples.


    Parameters
    ----------
    curve
        One row per measure and number of queries, of clusters, or of effective queries.
    power
        The target power, drawn as a dashed line.
    panel
        The columns of panels, such as `"measure"`. None draws a single panel.

    Returns
    -------
    LayerChart or FacetChart
        The rows are those of `curve`, with `label`, the name at the end of a line, if there are no
        panels.

    Examples
    --------
    >>> from polars_graded.trust import power_curve
    >>> per_query = pl.DataFrame(
    ...     {
    ...         "strategy": ["bm25"] * 4 + ["ours"] * 4,
    ...         "query": ["a", "b", "c", "d"] * 2,
    ...         "ap": [0.25, 0.5, 0.5, 0.75, 0.5, 0.75, 0.5, 1.0],
    ...     }
    ... )
    >>> curve = power_curve(per_query, "ap", queries=[34], difference=0.0625)
    >>> drawn = sample_size_curves(curve).data
    >>> drawn.select("queries", pl.col("power").round(4), "at_hand", "label")
    shape: (2, 4)
    ┌─────────┬────────┬─────────┬───────────────────┐
    │ queries ┆ power  ┆ at_hand ┆ label             │
    │ ---     ┆ ---    ┆ ---     ┆ ---               │
    │ u64     ┆ f64    ┆ bool    ┆ str               │
    ╞═════════╪════════╪═════════╪═══════════════════╡
    │ 4       ┆ 0.1113 ┆ true    ┆ null              │
    │ 34      ┆ 0.8078 ┆ false   ┆ average precision │
    └─────────┴────────┴─────────┴───────────────────┘
    """
    power = check_number("power", power, above=0, below=1)
    curve = check_collected("curve", curve)
    units = next((name for name in UNITS if name in curve.columns), "queries")
    has_tau = "tau" in curve.columns
    number_columns = ["tau", "tau_low", "tau_high"] if has_tau else ["power", "difference"]
    position_columns = [units] if has_tau else [units, "at_hand"]
    table = chart_rows.build_rows(
        "curve", curve, *number_columns, position_columns=position_columns, panel=panel
    )
    chart_rows.check_count("rows", table.height)
    keys = ["measure"] if panel is None else ["panel", "measure"]
    chart_rows.check_unique("curve", table, [*keys, units], f"number of {units} of a line")
    table = table.sort(pl.int_range(pl.len()).min().over(keys), units)
    line_options: dict[str, Any] = {}
    if has_tau:
        lowest: Any = table.select("tau", "tau_low").min_horizontal().min()
        ends = min(0.9, math.floor(10 * lowest) / 10), 1.0
        confidence = chart_rows.find_confidence(table)
        share = "most" if confidence is None else format_percent(confidence)
        n: Any = table[units].max()
        headline = f"How closely fewer {units} order strategies as all {n:,g} do"
        note = f"line: mean of samples; band: {share} of samples"
        y = alt.Y("tau:Q", title=f"τ to the order from all {units}", **style.bound_axis(ends))
        line_options = {"band": ("tau_low", "tau_high"), "tooltips": style.format_decimals("tau")}
    else:
        table, ends = table.with_columns(pl.col("at_hand").cast(pl.Boolean)), (0.0, 1.0)
        amounts = table.filter("at_hand")["difference"].drop_nulls().to_list()
        headline = f"Power to find {titles.write_target(amounts)}"
        note = f"● the {UNITS[units]} at hand; dashed: power {power:g}"
        y = alt.Y("power:Q", title="power", **style.bound_axis(ends))
        at_hand = alt.Chart().transform_filter("datum.at_hand")
        at_hand = style.draw_dots(at_hand, 90).encode(x=alt.X(f"{units}:Q"), y=alt.Y("power:Q"))
        dashed = style.draw_rule("y", "power", power, style.DOUBT, strokeDash=IDEAL_DASH)
        line_options = {
            "under": [dashed, at_hand],
            "tooltips": style.format_decimals(*number_columns),
        }
    highest: Any = table[units].max()
    x_axis = style.bound_axis((0, highest), format=",d", tickMinStep=1)
    measures = table["measure"].unique(maintain_order=True).to_list()
    return lines.draw_lines(
        table,
        panel,
        headline,
        [note],
        x=alt.X(f"{units}:Q", title=UNITS[units], **x_axis),
        y=y,
        ends=ends,
        prioritised=measures,
        title="measure",
        field="measure",
        **line_options,
    )


@checks_call
def grading_profile(
    summary: Frame,
    *,
    show: Literal["means", "differences", "places"] = "differences",
    panel: Columns | None = "measure",
    strategy: str = "strategy",
    colours: Mapping[str, str] | None = None,
) -> Chart:
    """Draw the means of strategies under several graders or gradings.

    There is one line per strategy. Where lines cross, the graders disagree about which strategy is
    better. A grading, such as merged levels, is a grader too: `evaluate(grade={...})` takes
    expressions.

    With differences, crossings stay visible even if one grader lowers the means of all strategies.
    Places show all crossings, but not the sizes of differences.

    Parameters
    ----------
    summary
        One row per grader, measure and strategy, as `summarise` returns it for results of several
        graders. Each mean is over the queries that the grader judged.
    show
        `"means"` draws the mean of each strategy; `"differences"`, this mean minus the average of
        all strategies under the grader; `"places"`, the places of strategies, with the best at the
        top.
    panel, strategy
        The columns of panels and of strategies, as for every chart. `panel` may be None.
    colours
        The colours of strategies by name, such as `{"ours": "#c00"}`. By default, the colours are
        those of the theme.

    Returns
    -------
    LayerChart or FacetChart
        The rows are those of `summary`. `strategy` is text, and `place` is the place by mean, from
        1 for the best. Equal means share the mean of their places. The rows contain `difference` if
        differences are drawn, `panel` if panels are drawn, and otherwise `label`, the name at the
        end of a line.

    See Also
    --------
    trust.rank_correlation : The correlation between the orders of several graders.

    Examples
    --------
    The better strategy depends on whether grade 1 is relevant:

    >>> from polars_graded import evaluate, summarise
    >>> df = pl.DataFrame(
    ...     {"query": "a", "grade": [2, 1, 1, 0], "x": [4, 1, 2, 3], "y": [1, 4, 3, 2]}
    ... )
    >>> gradings = {"as given": "grade", "1 is 0": pl.col("grade").replace({1: 0})}
    >>> per_query = evaluate(df, "precision@2", by=["x", "y"], grade=gradings)
    >>> drawn = grading_profile(summarise(per_query)).data
    >>> drawn.select("grader", "strategy", "mean", "place")
    shape: (4, 4)
    ┌──────────┬──────────┬──────┬───────┐
    │ grader   ┆ strategy ┆ mean ┆ place │
    │ ---      ┆ ---      ┆ ---  ┆ ---   │
    │ str      ┆ str      ┆ f64  ┆ f64   │
    ╞══════════╪══════════╪══════╪═══════╡
    │ as given ┆ x        ┆ 0.5  ┆ 2.0   │
    │ as given ┆ y        ┆ 1.0  ┆ 1.0   │
    │ 1 is 0   ┆ x        ┆ 0.5  ┆ 1.0   │
    │ 1 is 0   ┆ y        ┆ 0.0  ┆ 2.0   │
    └──────────┴──────────┴──────┴───────┘
    """
    check_choice("show", show, ("means", "differences", "places"))
    summary = check_collected("summary", summary)
    if GRADER not in summary.columns:
        msg = (
            "`summary` must have the means of several graders, got those of one\n\n"
            "Hint: evaluate(..., grade=['people', 'model']) has several graders"
        )
        raise ValueError(msg)
    table = chart_rows.build_rows(
        "summary", summary, "mean", text_columns=["measure", GRADER], strategy=strategy, panel=panel
    )
    chart_rows.check_count("rows", table.height)
    graders = table[GRADER].unique(maintain_order=True).to_list()
    panel_keys = ["measure" if panel is None else "panel", GRADER]
    chart_rows.check_unique("summary", table, ["strategy", *panel_keys], f"{GRADER} of a line")
    table = _add_places(table, panel_keys)
    names = table["strategy"].unique().to_list()
    first = table.filter(pl.col(GRADER) == graders[0]).sort("place", "strategy")["strategy"]
    y_field, y_title = "mean", [style.write_mean_title(table)]
    if show == "differences":
        mean = pl.col("mean").mean().over(panel_keys)
        table = table.with_columns(difference=pl.col("mean") - mean)
        y_field, y_title = "difference", [f"{y_title[0]} minus", "mean of all strategies"]
    elif show == "places":
        y_field, y_title = "place", ["place"]
    ends = style.choose_ends(table[y_field])
    axis = alt.Axis(titleLimit=300)
    if show == "places":
        # The best place is at the top.
        ends = max(2, len(names)) + 0.5, 0.5
        axis = alt.Axis(format="d", values=style.choose_rank_ticks(len(names)))
    # Each measure has values of another size, so each panel has its own ends.
    has_panels = chart_rows.has_panels(table)
    domain = alt.Undefined if has_panels and show != "places" else [*ends]
    scale = alt.Scale(domain=domain, nice=False, zero=False, padding=20)
    width = 270 if has_panels else min(480, max(240, 110 * len(graders)))
    facts = chart_rows.collect_title_facts(table)
    headline = f"{titles.title_means(facts)} under {format_count(len(graders), 'graders')}"
    if show == "places":
        headline = f"Places by {headline[0].lower()}{headline[1:]}"
    tooltips = ["measure:N", *style.format_decimals("mean"), "place:Q"]
    tooltips += ["queries:Q"] * ("queries" in table.columns)
    chart = lines.draw_lines(
        table,
        panel,
        headline,
        titles.count_queries(facts),
        x=_build_graders_axis(graders, width),
        y=alt.Y(f"{y_field}:Q", title=y_title, scale=scale, axis=axis),
        ends=ends,
        prioritised=first.unique(maintain_order=True).to_list(),
        title=strategy,
        tooltips=tooltips,
        colours=colours,
    )
    if not has_panels:
        return chart.properties(width=width)
    return chart.resolve_scale(y="shared" if show == "places" else style.choose_panel_axis(table))


def _build_graders_axis(graders: list[str], width: int) -> alt.X:
    """Return the axis of graders, whose names are horizontal if they fit."""
    fits = 6 * max(map(len, graders)) <= width / len(graders)
    look: dict[str, Any] = {"labelLimit": 200, "labelOverlap": "greedy", "titleLimit": 300}
    axis = style.order_axis(graders, labelAngle=0 if fits else -40, **look)
    axis["scale"].padding = 0.1
    return alt.X(f"{GRADER}:N", title=GRADER, **axis)


def _add_places(table: pl.DataFrame, panel_keys: list[str]) -> pl.DataFrame:
    """Return the rows in the order of graders, with the column `place`."""
    graders = table[GRADER].unique(maintain_order=True)
    order = pl.col(GRADER).replace_strict(graders, range(len(graders)))
    table = table.sort(order, maintain_order=True)
    is_lowest_best = pl.col("best") == "lowest" if "best" in table.columns else pl.lit(value=False)
    goodness = pl.when(is_lowest_best).then(-pl.col("mean")).otherwise("mean").round(12)
    return table.with_columns(place=goodness.rank("average", descending=True).over(panel_keys))
