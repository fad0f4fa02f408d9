"""Charts of the reliability of results: power, stability and robustness."""

from __future__ import annotations

import re
from typing import Any, Literal

import altair as alt
import polars as pl

from polars_graded._checks import check_choice
from polars_graded._drawing import axis_ends, chart_checks, chart_rows, line_names, marks, style
from polars_graded._drawing.chart_rows import Frame
from polars_graded._drawing.style import Chart
from polars_graded._results.regrading import AS_GIVEN, compute_mean_bounds
from polars_graded._sentences import list_names, titles

MAX_MOVE = 1e-9
"""Maximum distance between a line and its name, if names are inside the chart.

If any name would be farther away, all names are at the ends of lines instead.
"""

SYMLOG_P = 0.001
"""Constant of the symlog axis of p, which is linear below this p and logarithmic above it."""

MIN_COMPARISONS_SHARE = 0.02
"""The classes of the largest differences are left out if together they contain less than this share
of a line's comparisons."""

MIN_COMPARISONS = 30
"""Minimum number of comparisons in a drawn class."""

SHADES = (("#a6c8e0", "#0c3964"), ("#4d7391", "#e4f1fb"))
"""Pairs of colours for a light and for a dark background. The first colour of a pair stands for the
fewest queries, the second for the most."""

NAMED_P = 0.6, 0.003
"""Values of p between which the names of lines are placed."""

MIN_VISIBLE_SHARE = 0.002
"""Thin lines of `unjudged_bounds` are drawn only if at least one of them extends beyond its thick
line by more than this share of the range of all thick lines."""

MIN_LOG_RATIO = 50
"""The axis of queries is logarithmic if the ratio of its largest to its smallest number is at least
this."""

MAX_SIZES = 4
"""Maximum number of sample sizes with a line of swap rates."""

MAX_FULL_HEIGHT_STRATEGIES = 20
"""Maximum number of strategies with rows of full height."""


def grading_profile(
    robustness: Frame,
    *,
    show: Literal["means", "differences", "places"] = "differences",
    panel: str | None = "measure",
    strategy: str = "strategy",
) -> Chart:
    """Draw the means of strategies under the original and other gradings.

    There is one line per strategy. Where lines cross, the gradings disagree about which strategy is
    better. Each grading except the original one has a text above it. The text shows Kendall's τ
    between two orders of strategies: under this grading, and under the original grades.

    Parameters
    ----------
    robustness
        One row per grading, measure and strategy, as `trust.robustness_to_grading` returns it.
    show
        The values to draw. `"means"` draws the mean of each strategy. `"differences"` draws this
        mean minus the average mean of all strategies under the same grading. `"places"` draws the
        places of strategies, with the best at the top. With differences, crossings stay visible
        even if one grading lowers the means of all strategies. Places show all crossings, but not
        the sizes of differences.
    panel, strategy
        The columns of panels and of strategies, as for every chart. `panel` may be None.

    Returns
    -------
    LayerChart or FacetChart
        The rows are those of `robustness`. `strategy` is text, and the column `correlation`
        contains the text above a grading. The rows contain `difference` if differences are drawn,
        and `panel` if panels are drawn. Without panels they contain `label_at`, the height of a
        name at the end of a line.

    Examples
    --------
    The better strategy depends on whether grade 1 is relevant:

    >>> from polars_graded.trust import robustness_to_grading
    >>> df = pl.DataFrame(
    ...     {"query": "a", "grade": [2, 1, 1, 0], "x": [4, 1, 2, 3], "y": [1, 4, 3, 2]}
    ... )
    >>> gradings = {"1 is 0": {1: 0}}
    >>> robustness = robustness_to_grading(df, "precision@2", by=["x", "y"], gradings=gradings)
    >>> drawn = grading_profile(robustness).data
    >>> drawn.select("grading", "strategy", "mean", "correlation")
    shape: (4, 4)
    ┌──────────┬──────────┬──────┬─────────────┐
    │ grading  ┆ strategy ┆ mean ┆ correlation │
    │ ---      ┆ ---      ┆ ---  ┆ ---         │
    │ str      ┆ str      ┆ f64  ┆ str         │
    ╞══════════╪══════════╪══════╪═════════════╡
    │ as given ┆ x        ┆ 0.5  ┆ null        │
    │ as given ┆ y        ┆ 1.0  ┆ null        │
    │ 1 is 0   ┆ x        ┆ 0.5  ┆ τ −1.00     │
    │ 1 is 0   ┆ y        ┆ 0.0  ┆ null        │
    └──────────┴──────────┴──────┴─────────────┘
    """
    check_choice("show", show, ("means", "differences", "places"))
    keys: dict[str, Any] = {"strategy": strategy, "panel": panel, "texts": ["measure", "grading"]}
    table = chart_rows.build_result_rows(
        "robustness", robustness, "mean", "tau", positions=["place"], **keys, draws_each_row=True
    )
    gradings = table["grading"].unique(maintain_order=True).to_list()
    reference = AS_GIVEN if AS_GIVEN in gradings else gradings[0]
    has_panels, lines = chart_rows.has_panels(table), _list_line_columns(table)
    # One row per grading contains the text. The reference grading has none.
    is_first = pl.col("strategy") == pl.col("strategy").min().over("grading", *lines)
    has_text = is_first & (pl.col("grading") != reference)
    tau = pl.Series(
        [
            None if tau is None else f"τ {tau:.2f}".replace("-", "\N{MINUS SIGN}")
            for tau in table["tau"]
        ],
        dtype=pl.String,
    )
    table = table.with_columns(correlation=pl.when(has_text).then(tau))
    names = table["strategy"].unique().to_list()
    ordered = table.filter(grading=reference).sort("place", "strategy")["strategy"]
    first = ordered.unique(maintain_order=True).head(style.MAX_COLOURS).to_list()
    look = style.choose_look(names, strategy, prioritised=first, legends=has_panels)
    y_field, title, y_axis = "mean", style.write_mean_title(table), alt.Axis()
    if show == "differences":
        mean = pl.col("mean").mean().over("grading", *lines)
        table = table.with_columns(difference=pl.col("mean") - mean)
        y_field, title = "difference", f"{title} minus the mean of all strategies"
    ends = axis_ends.choose_ends(table[y_field])
    if show == "places":
        y_field, title, ends = "place", "place", (0.5, max(2, len(names)) + 0.5)
        y_axis = alt.Axis(format="d", values=axis_ends.choose_rank_ticks(int(ends[1])))
    # The padding leaves room for texts above the lines. Measures have values of different sizes, so
    # each panel has its own ends.
    domain = alt.Undefined if has_panels and show != "places" else list(ends)
    scale = alt.Scale(domain=domain, nice=False, zero=False, padding=20, reverse=show == "places")
    width = 6 * max(len(name) for name in gradings)
    step = min(max(40, width + 6), max(40, (300 if has_panels else 480) // len(gradings)))
    grading_axis = style.order_axis(
        gradings, labelAngle=0 if width <= step else -40, labelLimit=200
    )
    x = alt.X("grading:N", title="grading", **grading_axis)
    y = alt.Y(f"{y_field}:Q", title=title, scale=scale, axis=y_axis)
    base = alt.Chart().encode(
        x=x, y=y, detail=[alt.Detail("strategy:N"), alt.Detail("measure:N")], **look
    )
    tooltip = style.list_tooltips(
        *("measure:N", "grading:N", "strategy:N", *style.format_decimals("mean"), "place:Q"),
        *(*style.format_decimals("tau", "tau_ap"), "lost:Q", "gained:Q", "reversed:Q"),
    )
    texts = alt.Chart().transform_filter("isValid(datum.correlation)")
    texts = texts.mark_text(baseline="top", fontSize=10, color=style.find_ink())
    texts = texts.encode(x=x, y=alt.value(3), text=alt.Text("correlation:N"))
    layers = [base.mark_line(), style.draw_dots(base, 40).encode(tooltip=tooltip), texts]
    if not has_panels:
        is_last = pl.col("grading") == gradings[-1]
        labelled = names if len(names) <= style.MAX_COLOURS else first
        table = line_names.add_labels(table, is_last, [y_field], ends, labelled)
        layers += marks.draw_line_names(
            x, title, "strategy", look["color"], end=y_field, names=names
        )
    notes = [
        *(["each minus the mean of all strategies"] if show == "differences" else []),
        *(["1+2: grades 1 and 2 count as one"] if any("+" in name for name in gradings) else []),
        *(
            f"{name}: random documents get the next higher or lower grade"
            for name in gradings
            if re.fullmatch(r"[\d.]+ % moved", name)
        ),
        f"τ: Kendall's, with the order under {'the grades ' * (reference == AS_GIVEN)}{reference}",
        *style.write_rest_note(names),
    ]
    notes += line_names.write_coinciding(table, "grading", y_field, [*lines[:-1], "strategy"])
    facts = chart_rows.collect_title_facts(table)
    what = {"places": "Places by mean"}.get(show, "Mean" if len(facts.measures) == 1 else "Means")
    headline = titles.title_strategies(what, facts) + f" under {len(gradings)} gradings"
    description = f"{show} of {len(names)} strategies under {len(gradings)} gradings"
    words = style.Words(headline, [*titles.write_subtitle(facts), *notes], description)
    chart = style.draw_panels(layers, table, panel, words, columns=2, width=alt.Step(step))
    return chart.resolve_scale(y=style.choose_panel_axis(table)) if has_panels else chart


def unjudged_bounds(
    bounds: Frame, *, panel: str | None = "measure", strategy: str = "strategy"
) -> Chart:
    """Draw means with unjudged documents as irrelevant or at the highest grade.

    The point is the mean with unjudged documents as irrelevant. The line ends at the mean with
    unjudged documents at the highest grade. For rank-biased precision, a thin line adds the maximum
    contribution of documents beyond the end of the rankings. Measures such as NDCG and average
    precision also depend on the number of relevant documents, which further judgments change. For
    these measures, values outside the line are possible, and the better strategy is unknown even if
    the lines do not overlap.

    Parameters
    ----------
    bounds
        One row per measure, strategy and query, as `trust.unjudged_bounds` returns it.
    panel, strategy
        The columns of panels and of strategies, as for every chart. `panel` may be None.

    Returns
    -------
    LayerChart or FacetChart
        The data have one row per measure and strategy (and panel). A row contains two means over
        queries: `mean` is the mean of `value`, and `if_best` is the mean of `value_if_best`. The
        smaller of the two is also in the column `low`, the larger in `high`. `queries` is the
        number of queries. `beyond` is the mean of min(`value`, `value_if_best`) + `residual`, or
        null if there is no residual. The strategy with the highest mean of the first measure is at
        the top. Means ignore a query if `value` or `value_if_best` is null, NaN or infinite.

    Examples
    --------
    >>> import polars_graded
    >>> df = pl.DataFrame({"query": "a", "grade": [1, None, 0], "score": [3, 2, 1]})
    >>> bounds = polars_graded.trust.unjudged_bounds(df, "precision@2", "rbp(p=0.5)")
    >>> unjudged_bounds(bounds).data.select("measure", "mean", "low", "high", "beyond")
    shape: (2, 5)
    ┌─────────────┬──────┬─────┬──────┬────────┐
    │ measure     ┆ mean ┆ low ┆ high ┆ beyond │
    │ ---         ┆ ---  ┆ --- ┆ ---  ┆ ---    │
    │ str         ┆ f64  ┆ f64 ┆ f64  ┆ f64    │
    ╞═════════════╪══════╪═════╪══════╪════════╡
    │ precision@2 ┆ 0.5  ┆ 0.5 ┆ 1.0  ┆ null   │
    │ rbp(p=0.5)  ┆ 0.5  ┆ 0.5 ┆ 0.75 ┆ 0.875  │
    └─────────────┴──────┴─────┴──────┴────────┘
    """
    numbers = ["value", "value_if_best", "residual"]
    table = chart_rows.build_result_rows("bounds", bounds, *numbers, strategy=strategy, panel=panel)
    table = table.drop_nulls("value_if_best")
    chart_checks.check_not_empty("bounds", table, "value_if_best")
    means = compute_mean_bounds(table, [*_list_line_columns(table), "strategy"])
    chart_checks.check_row_count("bounds", means)
    names = chart_rows.sort_names(means, "mean", "strategy")
    facts = chart_rows.collect_title_facts(means)
    title, notes = style.write_mean_title(means), titles.write_subtitle(facts)
    if (means["low"] != means["high"]).any():
        notes.append("dot: unjudged count as irrelevant; end of line: as best")
        notes += ["no line: both give the same mean"] * (means["low"] == means["high"]).any()
    base = alt.Chart().encode(
        y=style.build_names_axis("strategy", names),
        tooltip=style.list_tooltips(
            "measure:N",
            "strategy:N",
            *style.format_decimals("mean", "low", "high"),
            "queries:Q",
        ),
        **style.choose_few_colours(names, strategy),
    )
    scale = alt.Scale(zero=False, padding=style.INTERVAL_PADDING)
    x = alt.X("mean:Q", title=title, scale=scale, axis=style.build_means_axis())
    layers = [
        style.draw_interval(base, title, ("low", "high"), size=3, scale=scale),
        style.draw_dots(base, 70).encode(x=x),
    ]
    residual_length: Any = (means["beyond"] - means["high"]).max()
    extent: Any = means.select(pl.col("high").max() - pl.col("low").min()).item()
    if residual_length is not None and residual_length > MIN_VISIBLE_SHARE * extent:
        measures_with_residual = (
            means.drop_nulls("beyond")["measure"].unique(maintain_order=True).to_list()
        )
        measures_clause = (
            f" of {list_names(measures_with_residual)}"
            if len(measures_with_residual) < len(facts.measures)
            else ""
        )
        notes.append(
            f"thin line{measures_clause}: documents below the end of the rankings as best, too"
        )
        # Thin lines need an end even if a panel has no value of `beyond`. They then end at `high`.
        bars_beyond = base.transform_calculate(
            end="isValid(datum.beyond) ? datum.beyond : datum.high"
        )
        layers.insert(
            0, style.draw_interval(bars_beyond, title, ("low", "end"), size=1, scale=scale)
        )
    described = f"means of {len(names)} strategies with unjudged documents irrelevant, or best"
    heading = "Mean" if len(facts.measures) == 1 else "Means"
    headline = f"{titles.title_strategies(heading, facts)}, unjudged documents irrelevant or best"
    words = style.Words(headline, notes, described)
    size: dict[str, Any] = (
        {"height": alt.Step(12)} if len(names) > MAX_FULL_HEIGHT_STRATEGIES else {}
    )
    size["width"] = 240 if chart_rows.has_panels(means) else 300
    axis_sharing = style.choose_panel_axis(means)
    return style.draw_panels(layers, means, panel, words, axis_sharing, columns=2, **size)


def _list_line_columns(table: pl.DataFrame) -> list[str]:
    """List the columns that identify a line."""
    return ["panel", "measure"] if "panel" in table.columns else ["measure"]
