"""Charts that are matrices: of pairs of strategies, and of the grades of two graders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl
import polars.selectors as cs

from polars_graded._checks import check_collected, check_confidence
from polars_graded._drawing import chart_rows, panels, style
from polars_graded._drawing.panels import Chart
from polars_graded._frames.arguments import Columns
from polars_graded._frames.tables import GRADER, Frame
from polars_graded._measuring.document_columns import DEFAULT_DOC
from polars_graded._measuring.keywords import checks_call
from polars_graded._measuring.measures import Measure
from polars_graded._results.agreement import collect_grades
from polars_graded._results.findings import is_significant, name_p
from polars_graded._sentences import format_count, shorten_name, titles
from polars_graded.charts._strategies import write_finding

MINUS_SIGN = "\u2212"
"""The mark of a significant difference below 0."""

UNDECIDED_OPACITY = 0.25
"""Opacity of differences that are not significant."""

MAX_AGREEMENT_GRADES = 30
"""Maximum number of grades in a chart of agreement; with more, printed shares are illegible."""


@checks_call
def comparison_matrix(
    comparison: Frame,
    *,
    confidence: float = 0.95,
    panel: Columns | None = "measure",
    strategy: str = "strategy",
) -> Chart:
    """Draw the differences of all pairs as a matrix, with significant differences marked.

    A cell shows the mean of the strategy in its row minus the mean of the strategy in its column.
    Differences above 0 are blue, and differences below 0 are orange. The cell contains a sign if
    the difference is significant, and is pale otherwise. Strategies are in the order of their means
    in the first measure, the highest first.

    Parameters
    ----------
    comparison
        One row per measure and pair, as `compare` returns it without a baseline. Each pair has two
        cells.
    confidence
        As for `comparison_forest`.
    panel, strategy
        The columns of panels and of strategies, as for every chart. `panel` may be None.

    Returns
    -------
    LayerChart or FacetChart
        The rows contain `measure`, segments, `strategy`, `baseline`, `difference`, `p_corrected`,
        `mark`, and `panel` if panels are drawn. More than 1500 pairs over all measures raise an
        error.

    See Also
    --------
    comparison_forest : The same differences with intervals, for few pairs.

    Examples
    --------
    >>> from polars_graded import compare
    >>> per_query = pl.DataFrame(
    ...     {"strategy": ["bm25", "ours"] * 2, "query": [1, 1, 2, 2], "ap": [0.25, 0.5, 0.5, 0.8]}
    ... )
    >>> matrix = compare(per_query).pipe(comparison_matrix, confidence=0.9)
    >>> matrix.data.drop("measure", "p_corrected")
    shape: (2, 4)
    ┌──────────┬──────────┬────────────┬──────┐
    │ strategy ┆ baseline ┆ difference ┆ mark │
    │ ---      ┆ ---      ┆ ---        ┆ ---  │
    │ str      ┆ str      ┆ f64        ┆ str  │
    ╞══════════╪══════════╪════════════╪══════╡
    │ bm25     ┆ ours     ┆ -0.275     ┆ −    │
    │ ours     ┆ bm25     ┆ 0.275      ┆ +    │
    └──────────┴──────────┴────────────┴──────┘
    """
    error_rate = check_confidence(confidence)
    frame = check_collected("comparison", comparison)
    number_columns = ["difference", "p_corrected"]
    pairs = chart_rows.build_rows(
        "comparison",
        frame,
        *number_columns,
        text_columns=["measure", "baseline"],
        strategy=strategy,
        panel=panel,
        unique=["strategy", "baseline"],
    )
    headline, p_name = write_finding(pairs, error_rate), name_p(pairs)
    facts = chart_rows.collect_title_facts(pairs)
    other_sides = pairs.with_columns(
        strategy="baseline", baseline="strategy", difference=-pl.col("difference")
    )
    sign = pl.when(pl.col("difference") < 0).then(pl.lit(MINUS_SIGN)).otherwise(pl.lit("+"))
    mark = pl.when(is_significant(error_rate)).then(sign).otherwise(pl.lit(""))
    segments = chart_rows.find_segment_columns(frame, strategy)
    kept = [GRADER, "measure", *segments, "strategy", "baseline", *number_columns, "panel"]
    table = pl.concat([pairs, other_sides]).select(cs.by_name(*kept, require_all=False), mark=mark)
    chart_rows.check_count("cells", table.height)
    means = table.group_by("measure", "strategy", maintain_order=True).agg(pl.mean("difference"))
    names = chart_rows.sort_names(means, "difference", "strategy")
    base, p = style.add_p(alt.Chart().encode(x="baseline:N", y="strategy:N"), p_name)
    tooltip = ["measure:N", "strategy:N", "baseline:N", *style.format_decimals("difference"), p]
    highest: Any = table["difference"].abs().max() or 1.0
    pixels = max(10, min(36, 400 // len(names)))
    opacity = style.choose_value(alt.FillOpacityValue, "datum.mark !== ''", 1, UNDECIDED_OPACITY)
    cells = base.mark_rect().encode(fillOpacity=opacity, tooltip=style.list_tooltips(*tooltip))
    signs = style.write_on_cells(base, "mark", "difference", highest, max(12, pixels * 0.7))
    measure = style.write_mean_title(table, "", "difference of means")
    title = [f"{measure}, row minus column", f"+ and {MINUS_SIGN}: {p_name} ≤ {error_rate:g}"]
    legend = alt.Legend(values=[-highest, 0, highest], format=".3~g", titleLimit=300)
    scale = style.build_cell_scale(highest, diverging=True)
    return _draw_cells(
        [cells, signs],
        table,
        panel,
        headline,
        titles.count_queries(facts),
        x=alt.X("baseline:N", title="column: baseline", **_order_names(names, labelAngle=-90)),
        y=alt.Y("strategy:N", title=f"row: {strategy}", **_order_names(names)),
        fill=alt.Fill("difference:Q", title=title, scale=scale, legend=legend),
        pixels=pixels,
    )


def _draw_cells(
    layers: list[alt.Chart],
    table: pl.DataFrame,
    panel: Columns | None,
    headline: str,
    notes: list[str],
    *,
    pixels: float,
    **channels: Any,
) -> Chart:
    """Draw a matrix, of which the first layer is the cells, with its shared x, y and fill."""
    fill = channels["fill"]
    layers[0] = layers[0].encode(fill=alt.Fill(fill.shorthand))
    size: dict[str, Any] = dict.fromkeys(("width", "height"), alt.Step(pixels))
    # Without panels, a matrix beside this one has its own scale.
    independent = ["fill"] if panel is None else []
    size["encoding"] = alt.Encoding(**channels)
    return panels.draw_panels(
        layers, table, panel, headline, notes, independent=independent, **size
    )


def _order_names(names: list[str], **axis: Any) -> dict[str, Any]:
    """Return the settings of a side of a matrix, whose title is beside long labels."""
    # By default, the title of an axis is over labels that are longer than 200 pixels.
    return style.order_axis(names, labelLimit=250, maxExtent=300, **axis)


@checks_call
def similarity_matrix(frame: Frame, measure: str) -> Chart:
    """Draw the mean similarity of each pair of strategies as a matrix.

    Similar strategies are side by side. If all strategies were compared with one baseline, the
    baseline comes first, and the others follow in descending order of their `mean`.

    Parameters
    ----------
    frame
        One row per pair and query, as `similarity` returns it, with the strategies `a` and `b`.
    measure
        The column of the similarity measure.

    Returns
    -------
    LayerChart or FacetChart
        `chart.data` has one row per cell: `a` names the row of the matrix, `b` its column, `mean`
        is the mean, and `queries` the number of queries with a value. Each pair has two cells if
        the measure is symmetric and has its own name. With another measure, such as `tau_ap` or
        `relevant_entered@10`, only the cell of row `a` and column `b` is drawn. More than 3000
        cells raise an error.

    See Also
    --------
    comparison_matrix : The differences of all pairs, for measures that need judgments.

    Examples
    --------
    >>> similar = pl.DataFrame({"a": "bm25", "b": "ours", "query": [1, 2], "rbo": [0.5, 1.0]})
    >>> similarity_matrix(similar, "rbo").data
    shape: (2, 4)
    ┌──────┬──────┬──────┬─────────┐
    │ a    ┆ b    ┆ mean ┆ queries │
    │ ---  ┆ ---  ┆ ---  ┆ ---     │
    │ str  ┆ str  ┆ f64  ┆ u32     │
    ╞══════╪══════╪══════╪═════════╡
    │ bm25 ┆ ours ┆ 0.75 ┆ 2       │
    │ ours ┆ bm25 ┆ 0.75 ┆ 2       │
    └──────┴──────┴──────┴─────────┘
    """
    pairs = chart_rows.build_rows("frame", frame, measure, text_columns=["a", "b"])
    table = pairs.group_by("a", "b", maintain_order=True).agg(
        mean=pl.mean(measure), queries=pl.len()
    )
    n_pairs, names = table.height, _order_by_similarity(table)
    is_clustered = len(names) > 2 and 2 * n_pairs == len(names) * (len(names) - 1)  # noqa: PLR2004
    # It is unknown whether a measure of another name is symmetric.
    parsed = Measure.try_parse(measure)
    if parsed is not None and parsed.definition.is_symmetric:
        table = _add_mirrored(table)
    chart_rows.check_count("cells", table.height)
    low, high = float(table["mean"].min()), float(table["mean"].max())  # type: ignore[arg-type]
    highest = max(1.0, high, -low)
    pixels = max(20, min(48, 480 // len(names)))
    base = alt.Chart().encode(x="b:N", y="a:N")
    # Numbers up to 1 have no 0 before the decimal point, so that they fit into small cells.
    number = (
        "replace(format(datum.mean, '.2f'), '0.', '.')"
        if highest == 1
        else "format(datum.mean, '.2~s')"
    )
    numbers = style.write_on_cells(base, "number", "mean", highest, min(12, pixels * 0.42))
    tooltip = style.list_tooltips("a:N", "b:N", *style.format_decimals("mean"), "queries:Q")
    facts = titles.TitleFacts([measure], len(names), 0, table["queries"].unique().sort().to_list())
    notes = titles.count_queries(facts)
    notes += ["similar strategies side by side"] if is_clustered else []
    scale = style.build_cell_scale(highest, diverging=low < 0)
    return _draw_cells(
        [base.mark_rect().encode(tooltip=tooltip), numbers.transform_calculate(number=number)],
        table,
        None,
        titles.title_means(facts, n_pairs=n_pairs),
        notes,
        x=alt.X("b:N", title=None, **_order_names(names, labelAngle=-90)),
        y=alt.Y("a:N", title=None, **_order_names(names)),
        fill=alt.Fill("mean:Q", title=f"mean {titles.name_measure(measure)}", scale=scale),
        pixels=pixels,
    )


def _add_mirrored(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs, followed by the same pairs with `a` and `b` exchanged."""
    return pl.concat([pairs, pairs.with_columns(a="b", b="a")])


def _order_by_similarity(pairs: pl.DataFrame) -> list[str]:
    """Return the strategies in an order that puts similar ones side by side.

    Each row of `pairs` has two strategies, `a` and `b`, and their mean similarity, `mean`. Each
    strategy is described by its similarities to all strategies, and strategies with similar
    descriptions are side by side. If a pair is missing, or if there are at most two strategies, the
    strategies are sorted by their number of pairs, then by their mean similarity, both descending.
    """
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import pdist

    both = _add_mirrored(pairs).unique(["a", "b"], keep="first", maintain_order=True)
    strategy_means = both.group_by("a").agg(pl.col("mean").mean(), pl.len().alias("others"))
    strategy_means = strategy_means.sort("others", "mean", "a", descending=[True, True, False])
    names = strategy_means["a"].to_list()
    if len(both) < len(names) * (len(names) - 1) or len(names) <= 2:  # noqa: PLR2004
        return names
    wide = both.with_columns(pl.format("b: {}", "b")).pivot("b", index="a", values="mean")
    wide = strategy_means.select("a").join(wide, on="a", maintain_order="left")
    wide = wide.select(f"b: {name}" for name in names)
    # The similarity of a strategy to itself depends on the measure and is not used. Instead, a cell
    # on the diagonal gets the mean similarity of the strategy to the others.
    square = wide.with_columns(pl.all().fill_null(pl.mean_horizontal(pl.all())))
    order = leaves_list(linkage(pdist(square.to_numpy()), "average", optimal_ordering=True))
    return [names[index] for index in order]


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
    sides = all_grades.to_frame("one").join(all_grades.to_frame("other"), how="cross")
    counts = both.group_by("one", "other").agg(pl.len().alias("documents"))
    table = sides.join(counts, on=["one", "other"], how="left", maintain_order="left")
    table = table.with_columns(pl.col("documents").fill_null(0))
    row_total = pl.col("documents").sum().over("one")
    table = table.filter(row_total > 0).with_columns(
        pl.col("one", "other").map_elements("{:.15g}".format, pl.String),
        share=pl.col("documents") / row_total,
        same=pl.col("one") == pl.col("other"),
    )
    grades = [f"{value:.15g}" for value in all_grades]
    tooltip = style.list_tooltips(
        alt.Tooltip("one:N", title=f"grade of {one}"),
        alt.Tooltip("other:N", title=f"grade of {other}"),
        "documents:Q",
        alt.Tooltip("share:Q", title="share of the row", format=".1%"),
    )
    base = alt.Chart().encode(x="other:N", y="one:N")
    texts = style.write_on_cells(base, "percent", "share", 1)
    texts = texts.transform_filter("datum.documents > 0")
    texts = texts.transform_calculate(percent="format(100 * datum.share, '.0f') + ' %'")
    frames = base.transform_filter("datum.same").mark_rect(stroke=style.TEXT_COLOUR, strokeWidth=2)
    frames = frames.encode(fill=alt.FillValue("transparent"))
    legend, scale = alt.Legend(labelExpr=style.PERCENT_LABEL), style.build_cell_scale(1)
    documents = format_count(both.height, "documents")
    return _draw_cells(
        [base.mark_rect().encode(tooltip=tooltip), frames, texts],
        table,
        None,
        f"Grades of {shorten_name(other)} by grade of {shorten_name(one)}, {documents}",
        ["each row adds up to 100 %"],
        x=alt.X("other:N", title=f"grade of {other}", **style.order_axis(grades, labelAngle=0)),
        y=alt.Y("one:N", title=f"grade of {one}", **style.order_axis(grades[::-1])),
        fill=alt.Fill("share:Q", title="share of the row", scale=scale, legend=legend),
        pixels=max(26, min(48, 360 // len(grades))),
    )
