"""Charts of pairs of strategies as matrices: their differences, and their similarities."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from polars_graded._checks import check_collected, check_level
from polars_graded._drawing import axes, chart_rows, panels, style
from polars_graded._drawing.chart_rows import Frame
from polars_graded._drawing.panels import Chart
from polars_graded._frames.arguments import Columns
from polars_graded._measuring.keywords import checks_call
from polars_graded._measuring.names import Measure
from polars_graded._results.significance import is_significant, name_p
from polars_graded._sentences import titles
from polars_graded.charts._strategies import write_finding

MINUS_SIGN = "\u2212"
"""The mark of a significant difference below 0."""

UNDECIDED_OPACITY = 0.25
"""Opacity of differences that are not significant."""


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
    level = check_level(confidence)
    frame = check_collected("comparison", comparison)
    texts = ["measure", "baseline"]
    rows = chart_rows.build_result_rows(
        "comparison",
        frame,
        "difference",
        "p_corrected",
        texts=texts,
        strategy=strategy,
        panel=panel,
    )
    headline, kind = write_finding(rows, level), name_p(rows)
    facts = chart_rows.collect_title_facts(rows)
    table = _add_other_sides(rows, chart_rows.find_segments(frame, strategy), level)
    chart_rows.check_count("cells", table.height)
    if panel is not None:
        keys = ["strategy", "baseline", "panel"]
        chart_rows.check_unique("comparison", table, keys, "pair of a panel")
    means = table.group_by("measure", "strategy", maintain_order=True).agg(pl.mean("difference"))
    names = chart_rows.sort_names(means, "difference", "strategy")
    base, p = axes.add_p(alt.Chart().encode(x="baseline:N", y="strategy:N"), kind)
    numbers = axes.format_decimals("difference")
    tooltip = axes.list_tooltips("measure:N", "strategy:N", "baseline:N", *numbers, p)
    highest: Any = table["difference"].abs().max() or 1.0
    cell_pixels = max(10, min(36, 400 // len(names)))
    opacity = style.choose_value(alt.FillOpacityValue, "datum.mark !== ''", 1, UNDECIDED_OPACITY)
    cells = base.mark_rect().encode(fill=alt.Fill("difference:Q"), fillOpacity=opacity)
    signs = style.write_on_cells(base, "mark", "difference", highest, max(12, cell_pixels * 0.7))
    title = ["row minus column", f"+ and {MINUS_SIGN}: {kind} ≤ {level:g}"]
    legend = alt.Legend(values=[-highest, 0, highest], format=".3~g", titleLimit=300)
    scale = style.build_cell_scale(highest, diverging=True)
    shared = _encode_cells(
        names,
        {"shorthand": "baseline:N", "title": "column: baseline"},
        {"shorthand": "strategy:N", "title": f"row: {strategy}"},
        alt.Fill("difference:Q", title=title, scale=scale, legend=legend),
    )
    notes = titles.write_subtitle(facts, "difference of mean")
    size: dict[str, Any] = dict.fromkeys(("width", "height"), alt.Step(cell_pixels))
    layers = [cells.encode(tooltip=tooltip), signs]
    return panels.draw_panels(layers, table, panel, headline, notes, encoding=shared, **size)


def _add_other_sides(pairs: pl.DataFrame, segments: list[str], level: float) -> pl.DataFrame:
    """Return two cells for each pair, with the mark of a significant difference.

    Measures, segments and panels keep their order.
    """
    keys = [name for name in ("measure", *segments, "panel") if name in pairs.columns]
    significant = is_significant(level).alias("significant")
    one = pairs.with_columns(significant)
    one = one.select(*keys, "strategy", "baseline", "difference", "p_corrected", "significant")
    other = one.with_columns(
        strategy="baseline", baseline="strategy", difference=-pl.col("difference")
    )
    both = pl.concat([one, other]).sort("strategy", "baseline", maintain_order=True)
    groups = one.select(keys).unique(maintain_order=True)
    both = groups.join(both, on=keys, nulls_equal=True, maintain_order="left_right")
    sign = pl.when(pl.col("difference") < 0).then(pl.lit(MINUS_SIGN)).otherwise(pl.lit("+"))
    mark = pl.when("significant").then(sign).otherwise(pl.lit(""))
    return both.with_columns(mark.alias("mark")).drop("significant")


def _encode_cells(
    names: list[str], x: dict[str, Any], y: dict[str, Any], fill: alt.Fill
) -> alt.Encoding:
    """Return the encoding of a matrix whose rows and columns have the same names."""
    # By default, the title of an axis is over labels that are longer than 200 pixels.
    look: dict[str, Any] = {"labelLimit": 250, "maxExtent": 300}
    columns, rows = axes.order_axis(names, labelAngle=-90, **look), axes.order_axis(names, **look)
    return alt.Encoding(x=alt.X(**x, **columns), y=alt.Y(**y, **rows), fill=fill)


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
    rows = chart_rows.collect_one_grader("frame", frame, "a", "b")
    rows = chart_rows.build_query_rows(rows, {"a": "a", "b": "b"}, {"mean": measure})
    table = rows.group_by("a", "b", maintain_order=True).agg(pl.mean("mean"), queries=pl.len())
    n_pairs, names = table.height, _order_by_similarity(table)
    is_clustered = len(names) > 2 and 2 * n_pairs == len(names) * (len(names) - 1)  # noqa: PLR2004
    # It is unknown whether a measure of another name is symmetric.
    parsed = Measure.parsed(measure)
    if parsed is not None and parsed.definition.is_symmetric:
        table = _add_mirrored(table)
    chart_rows.check_count("cells", table.height)
    low, high = float(table["mean"].min()), float(table["mean"].max())  # type: ignore[arg-type]
    highest = max(1.0, high, -low)
    cell_pixels = max(20, min(48, 480 // len(names)))
    base = alt.Chart().encode(x="b:N", y="a:N")
    # Numbers up to 1 have no 0 before the decimal point, so that they fit into small cells.
    number = (
        "replace(format(datum.mean, '.2f'), '0.', '.')"
        if highest == 1
        else "format(datum.mean, '.2~s')"
    )
    numbers = style.write_on_cells(base, "number", "mean", highest, min(12, cell_pixels * 0.42))
    tooltip = axes.list_tooltips("a:N", "b:N", *axes.format_decimals("mean"), "queries:Q")
    layers = [
        base.mark_rect().encode(fill=alt.Fill("mean:Q"), tooltip=tooltip),
        numbers.transform_calculate(number=number),
    ]
    facts = titles.Drawn([measure], len(names), 0, table["queries"].unique().sort().to_list())
    headline = titles.title_strategies("Mean", facts, pairs=n_pairs)
    notes = [titles.count_queries(facts)]
    notes += ["similar strategies side by side"] if is_clustered else []
    scale = style.build_cell_scale(highest, diverging=low < 0)
    fill = alt.Fill("mean:Q", title=f"mean {titles.name_measure(measure)}", scale=scale)
    shared = _encode_cells(
        names, {"shorthand": "b:N", "title": None}, {"shorthand": "a:N", "title": None}, fill
    )
    size: dict[str, Any] = dict.fromkeys(("width", "height"), alt.Step(cell_pixels))
    return panels.draw_layers(
        layers, table, headline, notes, independent=["fill"], encoding=shared, **size
    )


def _add_mirrored(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs, followed by the same pairs with `a` and `b` exchanged."""
    return pl.concat([pairs, pairs.rename({"a": "b", "b": "a"}).select(pairs.columns)])


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
    # The similarity of a strategy to itself depends on the measure and is not used. Instead, a cell
    # on the diagonal gets the mean similarity of the strategy to the others.
    diagonal = strategy_means.select("a", b="a", mean="mean")
    indices = pl.col("a", "b").replace_strict(names, range(len(names)), return_dtype=pl.Int64)
    matrix = (
        pl.concat([both.select(diagonal.columns), diagonal])
        .sort(indices)
        .get_column("mean")
        .to_numpy()
    )
    square = matrix.reshape(len(names), len(names))
    order = leaves_list(linkage(pdist(square), "average", optimal_ordering=True))
    return [names[index] for index in order]
