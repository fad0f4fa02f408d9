"""Draw charts of graders: agreement, orders of strategies, and estimates."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from polars_graded._checks import check_collected
from polars_graded._drawing import chart_checks, chart_rows, pair_rows, style
from polars_graded._drawing.chart_rows import Frame
from polars_graded._drawing.style import Chart
from polars_graded._frames.document_columns import DEFAULT_DOC
from polars_graded._results.agreement import collect_grades
from polars_graded._results.trusting import compute_median_width_change
from polars_graded._sentences import format_count, shorten_name, shorten_names, titles

SOURCES = {"trusted": "trusted alone", "model": "model alone", "ci": "both"}
"""Names of the grades that an estimate uses. Each key is a prefix of columns.

For example, `trusted_low` and `trusted_high` hold the interval from trusted grades.
"""

NAMES_PADDING = 0.1
"""Space at both ends of the axis of graders, divided by the space between two graders."""

MAX_AGREEMENT_GRADES = 30
"""Maximum number of grades in a chart of agreement; with more, printed shares are illegible."""


def agreement(
    frame: Frame,
    one: str,
    other: str,
    *,
    query: str | Sequence[str] = "query",
    doc: str | None = DEFAULT_DOC,
    grader: str | None = None,
    grade: str = "grade",
) -> Chart:
    """Draw a heat map of the grades of two graders.

    A row of the chart is a grade of `one`. A cell shows the share of the row's documents to which
    `other` gave the grade of the column. The shares of a row add up to 1. In the framed cells of
    the diagonal, both graders give the same grade.

    Parameters
    ----------
    frame
        A wide or a long frame, as for `polars_graded.agreement`.
    one, other
        Two graders; if one is trusted, pass it first.
    query, doc, grader, grade
        As for `polars_graded.agreement`.

    Returns
    -------
    LayerChart
        `chart.data` has one row per cell: `one` and `other` (the grades, as text, at most 30
        different ones), the number of `documents`, their `share` of the documents in the row of the
        chart, and `same` (whether both grades are equal).

    See Also
    --------
    polars_graded.agreement : The coefficients.

    Examples
    --------
    >>> df = pl.DataFrame({"query": [1, 1, 1], "people": [0, 0, 1], "model": [0, 1, 1]})
    >>> agreement(df, "people", "model").data
    shape: (4, 5)
    ┌─────┬───────┬───────────┬───────┬───────┐
    │ one ┆ other ┆ documents ┆ share ┆ same  │
    │ --- ┆ ---   ┆ ---       ┆ ---   ┆ ---   │
    │ str ┆ str   ┆ u32       ┆ f64   ┆ bool  │
    ╞═════╪═══════╪═══════════╪═══════╪═══════╡
    │ 0   ┆ 0     ┆ 1         ┆ 0.5   ┆ true  │
    │ 0   ┆ 1     ┆ 1         ┆ 0.5   ┆ false │
    │ 1   ┆ 0     ┆ 0         ┆ 0.0   ┆ false │
    │ 1   ┆ 1     ┆ 1         ┆ 1.0   ┆ true  │
    └─────┴───────┴───────────┴───────┴───────┘
    """
    rows, names = collect_grades(frame, [one, other], query, doc, grader, grade)
    both = rows.select(one=names[0], other=names[1]).drop_nulls()
    chart_checks.check_not_empty("frame", both, "one")
    all_grades = pl.concat([both["one"], both["other"]]).unique().sort()
    chart_checks.check_count("grades", len(all_grades), MAX_AGREEMENT_GRADES)
    cells = pl.DataFrame({"one": all_grades}).join(pl.DataFrame({"other": all_grades}), how="cross")
    counts = both.group_by("one", "other").agg(pl.len().alias("documents"))
    row_total = pl.col("documents").sum().over("one")
    table = (
        cells.join(counts, on=["one", "other"], how="left", maintain_order="left")
        .with_columns(pl.col("documents").fill_null(0))
        .filter(row_total > 0)
        .with_columns(share=pl.col("documents") / row_total, same=pl.col("one") == pl.col("other"))
        .with_columns(pl.col("one", "other").map_elements("{:.15g}".format, pl.String))
    )
    grades = [f"{value:.15g}" for value in all_grades]
    step = max(18, min(48, 360 // len(grades)))
    base = alt.Chart().encode(
        x=alt.X("other:N", title=f"grade of {other}", **style.order_axis(grades, labelAngle=0)),
        y=alt.Y("one:N", title=f"grade of {one}", **style.order_axis(grades[::-1])),
        tooltip=style.list_tooltips(
            "one:N", "other:N", "documents:Q", alt.Tooltip("share:Q", format=".1%")
        ),
    )
    colours = style.build_cell_colours(1)
    legend = style.build_legend(labelExpr=style.PERCENT_LABEL)
    fill = alt.Fill("share:Q", title="share of the row", scale=colours.scale, legend=legend)
    written = colours.choose_text_colour("datum.share")
    texts = base.transform_filter("datum.documents > 0")
    texts = texts.transform_calculate(percent="format(100 * datum.share, '.0f') + ' %'")
    diagonal = base.transform_filter("datum.same")
    layers = [
        base.mark_rect(stroke=style.FAINT).encode(fill=fill),
        diagonal.mark_rect(fillOpacity=0, strokeWidth=2, stroke=style.find_ink()),
        texts.mark_text().encode(text=alt.Text("percent:N"), color=written),
    ]
    documents = format_count(both.height, "documents")
    headline = f"Grades of {shorten_name(other)} by grade of {shorten_name(one)}, {documents}"
    described = f"grades of {other} for {both.height:,} documents by their grade of {one}"
    words = style.Words(headline, ["each row adds up to 100 %"], described)
    cell_size = alt.Step(step)
    return style.draw_layers(
        layers, table, words, independent=["fill"], width=cell_size, height=cell_size
    )


def grader_orders(
    summary: Frame, *, panel: str | None = "measure", strategy: str = "strategy"
) -> Chart:
    """Draw the place of each strategy by grader, with a line per strategy.

    Two lines cross if two graders order the two strategies differently.

    Parameters
    ----------
    summary
        One row per grader, measure and strategy, as `summarise` returns it for results of several
        graders. Each mean is over the queries that the grader judged.
    panel, strategy
        The column of panels, or None, and the column of strategies, as for every chart.

    Returns
    -------
    LayerChart or FacetChart
        `chart.data` has the rows of `summary`, with a column `place`. The best mean has place 1.
        Equal means share the mean of their places: two best means both have place 1.5.

    See Also
    --------
    trust.rank_correlation : The correlation between the orders.

    Examples
    --------
    >>> summary = pl.DataFrame(
    ...     {
    ...         "grader": ["people", "people", "model", "model"],
    ...         "measure": "ap",
    ...         "strategy": ["bm25", "ours"] * 2,
    ...         "mean": [0.25, 0.5, 0.75, 0.5],
    ...     }
    ... )
    >>> grader_orders(summary).data.select("grader", "strategy", "place")
    shape: (4, 3)
    ┌────────┬──────────┬───────┐
    │ grader ┆ strategy ┆ place │
    │ ---    ┆ ---      ┆ ---   │
    │ str    ┆ str      ┆ f64   │
    ╞════════╪══════════╪═══════╡
    │ people ┆ bm25     ┆ 2.0   │
    │ people ┆ ours     ┆ 1.0   │
    │ model  ┆ bm25     ┆ 1.0   │
    │ model  ┆ ours     ┆ 2.0   │
    └────────┴──────────┴───────┘
    """
    keys: dict[str, Any] = {"texts": ["measure", "grader"], "strategy": strategy, "panel": panel}
    table = chart_rows.build_result_rows("summary", summary, "mean", **keys, draws_each_row=True)
    chart_checks.check_not_repeated("summary", table, "pair", panel, ["strategy", "grader"])
    is_lowest_best = pl.col("best") == "lowest" if "best" in table.columns else pl.lit(value=False)
    goodness = pl.when(is_lowest_best).then(-pl.col("mean")).otherwise("mean").round(12)
    group = ["grader", "panel" if panel else "measure"]
    table = table.with_columns(place=goodness.rank("average", descending=True).over(group))
    graders = table["grader"].unique(maintain_order=True).to_list()
    names = table["strategy"].unique().to_list()
    first_order = (
        table.filter(grader=graders[0]).sort("place")["strategy"].unique(maintain_order=True)
    )
    colour = style.choose_look(names, strategy, prioritised=first_order, legends=False)
    grader_axis = style.order_axis(
        graders, labelAngle=0, labelLimit=120, labelExpr=_write_grader_labels(table)
    )
    # With a small padding, the last points are near the right edge of the panel. The names of
    # strategies are written to the right of these points, outside the panel.
    grader_axis["scale"].padding = NAMES_PADDING
    x = alt.X("grader:N", title="grader", **grader_axis)
    place_scale = alt.Scale(reverse=True, zero=False, domain=[0.5, len(names) + 0.5], nice=False)
    # A grid line would cross out names.
    axis = alt.Axis(tickMinStep=1, format="d", grid=False, values=[*range(1, len(names) + 1)])
    y = alt.Y("place:Q", title="place by mean", scale=place_scale, axis=axis)
    tooltip = style.list_tooltips(
        "grader:N", "measure:N", "strategy:N", "place:Q", *style.format_decimals("mean")
    )
    base = alt.Chart().encode(x=x, y=y, tooltip=tooltip, detail=alt.Detail("strategy:N"), **colour)
    last_points = base.transform_filter(alt.datum.grader == graders[-1])
    last_points = last_points.transform_calculate(
        shown=style.write_short_label("datum.strategy", names)
    )
    layers = [
        base.mark_line(strokeWidth=2),
        style.draw_dots(base, 60),
        last_points.mark_text(align="left", dx=18, limit=250).encode(
            text=alt.Text("shown:N"), **style.darken_rest(colour)
        ),
    ]
    description = f"place of {len(names)} strategies under {', '.join(graders)}"
    facts = chart_rows.collect_title_facts(table)
    headline = f"{titles.title_strategies('Places by mean', facts)} under {len(graders)} graders"
    # The number of queries is written below each grader.
    words = style.Words(headline, titles.write_subtitle(facts._replace(queries=[])), description)
    size: dict[str, Any] = {"width": alt.Step(110), "height": min(360, max(120, 24 * len(names)))}
    return style.draw_panels(layers, table, panel, words, columns=2, **size)


def _write_grader_labels(summary: pl.DataFrame) -> str:
    """Write a Vega expression for labels of a grader and a query count."""
    if "queries" not in summary.columns:
        return "datum.label"
    facts = summary.partition_by("grader", as_dict=True)
    counts = {
        grader: titles.count_queries(chart_rows.collect_title_facts(rows))
        for (grader,), rows in facts.items()
    }
    return f"[datum.label, {json.dumps(counts)}[datum.label]]"


def trusted_forest(
    estimates: Frame, *, panel: str | None = "measure", strategy: str = "strategy"
) -> Chart:
    """Draw the estimates from trusted grades, a model's grades, and both.

    The distance between the estimates "model alone" and "both" shows the bias of the model. If the
    interval of "both" is shorter than that of "trusted alone", the difference in length shows what
    the model contributes.

    Parameters
    ----------
    estimates
        The result of `summarise` or `compare` with `trusted`. For several models, pass the rows of
        one measure, and `panel="grader"` to draw one panel per model.
    panel, strategy
        The column of panels, or None, and the column of strategies, as for every chart.

    Returns
    -------
    LayerChart or FacetChart
        `chart.data` has three rows for each row of `estimates`. `source` is "trusted alone", "model
        alone" or "both". `name` is the strategy, or the pair if there are several baselines. The
        estimate is `value`, with the interval from `low` to `high`.

    Examples
    --------
    >>> estimates = pl.DataFrame(
    ...     {
    ...         "measure": ["ap"],
    ...         "strategy": ["ours"],
    ...         **{"trusted_mean": [0.5], "trusted_low": [0.25], "trusted_high": [0.75]},
    ...         **{"model_mean": [0.75], "model_low": [0.625], "model_high": [0.875]},
    ...         **{"mean": [0.5], "ci_low": [0.375], "ci_high": [0.625]},
    ...     }
    ... )
    >>> trusted_forest(estimates).data.select("name", "source", "value", "low", "high")
    shape: (3, 5)
    ┌──────┬───────────────┬───────┬───────┬───────┐
    │ name ┆ source        ┆ value ┆ low   ┆ high  │
    │ ---  ┆ ---           ┆ ---   ┆ ---   ┆ ---   │
    │ str  ┆ str           ┆ f64   ┆ f64   ┆ f64   │
    ╞══════╪═══════════════╪═══════╪═══════╪═══════╡
    │ ours ┆ trusted alone ┆ 0.5   ┆ 0.25  ┆ 0.75  │
    │ ours ┆ model alone   ┆ 0.75  ┆ 0.625 ┆ 0.875 │
    │ ours ┆ both          ┆ 0.5   ┆ 0.375 ┆ 0.625 │
    └──────┴───────────────┴───────┴───────┴───────┘
    """
    frame = check_collected("estimates", estimates)
    value = "difference" if "trusted_difference" in frame.columns else "mean"
    estimate_columns = {"trusted": f"trusted_{value}", "model": f"model_{value}", "ci": value}
    numbers = [
        value,
        *estimate_columns.values(),
        *(f"{key}_{end}" for key in estimate_columns for end in ("low", "high")),
    ]
    are_pairs = value == "difference"
    has_several_baselines = are_pairs and frame["baseline"].n_unique() > 1
    keys: dict[str, Any] = {"strategy": strategy, "panel": panel}
    keys["texts"] = ["measure", *(["baseline"] if are_pairs else [])]
    wide = chart_rows.build_result_rows("estimates", frame, *dict.fromkeys(numbers), **keys)
    wide = wide.with_columns(pair_rows.build_pair_name(versus=has_several_baselines).alias("name"))
    chart_checks.check_not_repeated("estimates", wide, "name", panel)
    kept = ["name", "measure", "strategy", *(["panel"] if panel else [])]
    table = pl.concat(
        wide.select(
            *kept,
            source=pl.lit(source),
            value=estimate_columns[key],
            low=f"{key}_low",
            high=f"{key}_high",
        )
        for key, source in SOURCES.items()
    )
    chart_checks.check_row_count("estimates", table)
    names = chart_rows.sort_names(wide, value, "name")
    sources = [*SOURCES.values()]
    title = style.write_mean_title(table, f"{value} of " if are_pairs else "mean ", value)
    # The colours are constants. Charts side by side would share a colour scale, so their colours
    # could change.
    is_trusted, is_model = (
        alt.FieldEqualPredicate(field="source", equal=name) for name in sources[:2]
    )
    colours = (style.DOUBT, style.PALETTE[1], style.find_ink())
    trusted_colour, model_colour, both_colour = map(alt.value, colours)
    stroke = (
        alt.when(is_trusted)
        .then(trusted_colour)
        .when(is_model)
        .then(model_colour)
        .otherwise(both_colour)
    )
    colour_by_source = json.dumps(dict(zip(sources, colours, strict=True)))
    symbols = alt.ExprRef(f"{colour_by_source}[datum.value]")
    key = style.build_legend(symbolStrokeColor=symbols, symbolFillColor="transparent")
    shapes = alt.Scale(domain=sources, range=["circle", "diamond", "square"])
    shape = alt.Shape("source:N", title="grades", scale=shapes, legend=key)
    y = style.build_names_axis("name", names)
    if are_pairs:
        y["axis"] = style.build_pairs_axis(wide, "name")
    base = alt.Chart().encode(
        y=y,
        yOffset=alt.YOffset("source:N", **style.order_axis(sources)),
        tooltip=style.list_tooltips(
            "measure:N", "name:N", "source:N", *style.format_decimals("value", "low", "high")
        ),
        stroke=stroke,
    )
    scale = alt.Scale(zero=False, padding=style.INTERVAL_PADDING)
    step, dot = (16, 45) if len(names) <= style.MAX_COLOURS else (8, 25)
    low, estimate_x = (alt.X(f"{name}:Q", title=title, scale=scale) for name in ("low", "value"))
    layers = [
        base.mark_rule(strokeWidth=2).encode(x=low, x2=alt.X2("high:Q")),
        base.mark_point(size=dot, strokeWidth=2, opacity=1).encode(x=estimate_x, shape=shape),
    ]
    layers = [style.draw_rule(x=0), *layers] if are_pairs else layers
    facts = chart_rows.collect_title_facts(wide)
    one, several = (
        ("Difference of mean", "Differences of means") if are_pairs else ("Mean", "Means")
    )
    heading = one if len(facts.measures) == 1 else several
    baseline = None
    if are_pairs and not has_several_baselines:
        *_, baseline = shorten_names([*wide["strategy"].unique(), wide["baseline"][0]])
    n_pairs = len(names) if has_several_baselines else 0
    headline = titles.title_strategies(heading, facts, baseline, pairs=n_pairs, intervals=True)
    width_change = titles.write_width_change(compute_median_width_change(wide))
    notes = [*titles.write_subtitle(facts._replace(queries=[]), heading.lower()), *width_change]
    notes += [*_write_trusted_queries(wide), "both: the model's, corrected by the trusted grades"]
    words = style.Words(headline, notes)
    shared = style.choose_panel_axis(table, "value")
    size: dict[str, Any] = {"width": 260, "height": alt.Step(step)}
    return style.draw_panels(layers, table, panel, words, shared, columns=2, **size)


def _write_trusted_queries(estimates: pl.DataFrame) -> list[str]:
    """Write the numbers of queries with and without trusted grades.

    The queries without trusted grades have only the grades of a model.
    """
    facts = chart_rows.collect_title_facts(estimates)
    note = [f"{queries} with trusted grades"] if (queries := titles.count_queries(facts)) else []
    if note and "model_queries" in estimates.columns:
        model_counts = estimates["model_queries"].drop_nulls().unique().sort().to_list()
        more_queries = titles.count_queries(facts._replace(queries=model_counts)).partition(
            " quer"
        )[0]
        note += [f"{more_queries} more with the model's only"] if more_queries else []
    return [", ".join(note)] if note else []
