"""Draw charts of graders and gradings: their agreement, and the orders of strategies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import altair as alt
import polars as pl

from polars_graded._checks import check_choice, check_collected
from polars_graded._drawing import axes, chart_rows, lines, panels, style
from polars_graded._drawing.chart_rows import Frame
from polars_graded._drawing.panels import Chart
from polars_graded._frames.arguments import Columns
from polars_graded._frames.inputs import GRADER
from polars_graded._measuring.document_columns import DEFAULT_DOC
from polars_graded._measuring.keywords import checks_call
from polars_graded._results.agreement import collect_grades
from polars_graded._sentences import format_count, shorten_name, titles

MAX_AGREEMENT_GRADES = 30
"""Maximum number of grades in a chart of agreement; with more, printed shares are illegible."""


@checks_call
def agreement(
    frame: Frame,
    one: str,
    other: str,
    *,
    query: str | Sequence[str] = "query",
    doc: str | None = DEFAULT_DOC,
) -> Chart:
    """Draw a heat map of the grades of two graders.

    A row of the chart is a grade of `one`. A cell shows the share of the row's documents to which
    `other` gave the grade of the column. The shares of a row add up to 1. In the framed cells of
    the diagonal, both graders give the same grade.

    Parameters
    ----------
    frame
        A column of grades per grader, as for `polars_graded.agreement`.
    one, other
        The columns of two graders; if one is trusted, pass it first.
    query, doc
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
    both = collect_grades(frame, [one, other], query, doc).select(one=one, other=other).drop_nulls()
    chart_rows.check_not_empty("frame", both, "one")
    all_grades = pl.concat([both["one"], both["other"]]).unique().sort()
    chart_rows.check_count("grades", len(all_grades), MAX_AGREEMENT_GRADES)
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
    tooltip = axes.list_tooltips(
        alt.Tooltip("one:N", title=f"grade of {one}"),
        alt.Tooltip("other:N", title=f"grade of {other}"),
        "documents:Q",
        alt.Tooltip("share:Q", title="share of the row", format=".1%"),
    )
    base = alt.Chart().encode(x="other:N", y="one:N")
    texts = style.write_on_cells(base, "percent", "share", 1).transform_filter(
        "datum.documents > 0"
    )
    texts = texts.transform_calculate(percent="format(100 * datum.share, '.0f') + ' %'")
    frames = base.transform_filter("datum.same").mark_rect(stroke=style.TEXT_COLOUR, strokeWidth=2)
    frames = frames.encode(fill=alt.FillValue("transparent"))
    cells = base.mark_rect().encode(fill=alt.Fill("share:Q"), tooltip=tooltip)
    layers = [cells, frames, texts]
    legend = alt.Legend(labelExpr=axes.PERCENT_LABEL)
    scale = style.build_cell_scale(1)
    shared = alt.Encoding(
        x=alt.X("other:N", title=f"grade of {other}", **axes.order_axis(grades, labelAngle=0)),
        y=alt.Y("one:N", title=f"grade of {one}", **axes.order_axis(grades[::-1])),
        fill=alt.Fill("share:Q", title="share of the row", scale=scale, legend=legend),
    )
    documents = format_count(both.height, "documents")
    headline = f"Grades of {shorten_name(other)} by grade of {shorten_name(one)}, {documents}"
    size = dict.fromkeys(("width", "height"), alt.Step(max(26, min(48, 360 // len(grades)))))
    notes = ["each row adds up to 100 %"]
    return panels.draw_layers(
        layers, table, headline, notes, independent=["fill"], encoding=shared, **size
    )


@checks_call
def grading_profile(
    summary: Frame,
    *,
    show: Literal["means", "differences", "places"] = "differences",
    panel: Columns | None = "measure",
    strategy: str = "strategy",
    colours: Mapping[str, str] | None = None,
    highlight: Any = None,
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
    highlight
        The strategy whose line has a colour; the other lines are grey.

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
    frame = check_collected("summary", summary)
    table = chart_rows.build_result_rows(
        "summary", frame, "mean", texts=["measure", GRADER], strategy=strategy, panel=panel
    )
    chart_rows.check_count("rows", table.height)
    graders = table[GRADER].unique(maintain_order=True).to_list()
    group = ["measure" if panel is None else "panel", GRADER]
    chart_rows.check_unique("summary", table, ["strategy", *group], f"{GRADER} of a line")
    table = _add_places(table, group)
    names = table["strategy"].unique().to_list()
    first = table.filter(pl.col(GRADER) == graders[0]).sort("place", "strategy")["strategy"]
    y_field, title = "mean", axes.write_mean_title(table)
    if show == "differences":
        mean = pl.col("mean").mean().over(group)
        table = table.with_columns(difference=pl.col("mean") - mean)
        y_field, title = "difference", f"{title} minus the mean of all strategies"
    elif show == "places":
        y_field, title = "place", "place"
    ends = axes.choose_ends(table[y_field])
    axis = alt.Axis(titleLimit=300)
    if show == "places":
        # The best place is at the top.
        ends = max(2, len(names)) + 0.5, 0.5
        axis = alt.Axis(format="d", values=axes.choose_rank_ticks(len(names)))
    # Each measure has values of another size, so each panel has its own ends.
    has_panels = chart_rows.has_panels(table)
    domain = alt.Undefined if has_panels and show != "places" else [*ends]
    scale = alt.Scale(domain=domain, nice=False, zero=False, padding=20)
    width = 270 if has_panels else min(480, max(240, 110 * len(graders)))
    facts = chart_rows.collect_title_facts(table)
    what = "Mean" if len(facts.measures) == 1 else "Means"
    headline = titles.title_strategies("Places by mean" if show == "places" else what, facts)
    headline += f" under {format_count(len(graders), 'graders')}"
    tooltips = ["measure:N", *axes.format_decimals("mean"), "place:Q"]
    tooltips += ["queries:Q"] * ("queries" in table.columns)
    chart = lines.draw_lines(
        table,
        panel,
        headline,
        titles.write_subtitle(facts),
        x=_build_graders_axis(graders, width),
        y=alt.Y(f"{y_field}:Q", title=title, scale=scale, axis=axis),
        ends=ends,
        names=names,
        best=first.unique(maintain_order=True).to_list(),
        title=strategy,
        tooltips=tooltips,
        colours=colours,
        highlight=highlight,
    )
    if not has_panels:
        return chart.properties(width=width)
    return chart.resolve_scale(y="shared" if show == "places" else axes.choose_panel_axis(table))


def _build_graders_axis(graders: list[str], width: int) -> alt.X:
    """Return the axis of graders, whose names are horizontal if they fit."""
    fits = 6 * max(map(len, graders)) <= width / len(graders)
    look: dict[str, Any] = {"labelLimit": 200, "labelOverlap": "greedy", "titleLimit": 300}
    axis = axes.order_axis(graders, labelAngle=0 if fits else -40, **look)
    axis["scale"].padding = 0.1
    return alt.X(f"{GRADER}:N", title=GRADER, **axis)


def _add_places(table: pl.DataFrame, group: list[str]) -> pl.DataFrame:
    """Return the rows in the order of graders, with the column `place`."""
    graders = table[GRADER].unique(maintain_order=True)
    order = pl.col(GRADER).replace_strict(graders, range(len(graders)))
    table = table.sort(order, maintain_order=True)
    is_lowest_best = pl.col("best") == "lowest" if "best" in table.columns else pl.lit(value=False)
    goodness = pl.when(is_lowest_best).then(-pl.col("mean")).otherwise("mean").round(12)
    return table.with_columns(place=goodness.rank("average", descending=True).over(group))
