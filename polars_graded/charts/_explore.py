"""Draw linked views of queries.

A selection in one view applies to the other views and to the means.
"""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from polars_graded._checks import check_columns, check_number
from polars_graded._drawing import (
    axis_ends,
    bins,
    chart_rows,
    curve_rows,
    query_views,
    style,
    tiles,
)
from polars_graded._drawing.chart_rows import Frame
from polars_graded._results.keys import Columns, run_one_grader, takes_results
from polars_graded._results.per_query import (
    MeasureColumns,
    Missing,
    check_list_length,
    find_measures_and_curves,
    list_named_columns,
)
from polars_graded._sentences import format_count, shorten_names, titles
from polars_graded.charts._queries import build_compared_queries, choose_pair_look, describe_wins

MAX_EXPLORED_QUERIES = 5000
"""Maximum number of queries, since Altair embeds at most 5000 rows in a page."""

MAX_AXIS_NAME_LETTERS = 20
"""Maximum length of a name in the title of an axis or above an interval, in letters."""

MAX_CURVE_RANKS = 20
"""Maximum number of ranks at which the differences of a curve are drawn."""


@takes_results(run_one_grader)
def explore(
    per_query: Frame,
    a: Any,
    b: Any,
    measure: MeasureColumns | None = None,
    *,
    curve: str | None = None,
    colour: str | None = None,
    confidence: float = 0.95,
    query: Columns = "query",
    strategy: str = "strategy",
    missing: Missing = "error",
    grader: str | None = None,  # noqa: ARG001 takes_results selects it
) -> alt.VConcatChart:
    r"""Draw two strategies query by query, with means of selected queries.

    Three views show each query: as a point (one strategy against the other), as a cell of a
    histogram of differences, and as a bar, in order of descending difference. A rectangle drawn in
    any of these views selects queries, and a click outside the rectangle selects all queries. With
    `colour`, a click in the legend selects queries too. The browser computes the means of both
    strategies and of their difference over the selected queries. For all queries, or all queries of
    one colour, it also computes Student's interval:

    .. math:: \bar{d} \pm t_{n-1} \, s / \sqrt{n}

    As text: ``mean ± t(n - 1) s / sqrt(n)``

    A rectangle chooses queries by their values. These queries are not a random sample, so their
    means have no interval.

    Parameters
    ----------
    per_query
        One row per strategy and query with one column per measure, as `evaluate` returns it, for at
        most 5000 queries.
    a, b
        The two strategies; a difference is the value of `a` minus the value of `b`.
    measure
        The column to compare; by default the only measure in the frame.
    curve
        A column of lists with a value per rank. In place of the bars, the chart then shows the mean
        difference at up to 20 ranks. A band around it shows an interval at each rank, unless a
        rectangle selects queries. By default, a curve is used if the frame has
        exactly one curve by rank, without counting ideal curves. Otherwise the chart shows bars.
    colour
        A column with an attribute of the query, such as its country, which must be the same in all
        rows of the query. If there are more than ten different names, the nine most frequent names
        are kept, and the other names become "others". More than ten different numbers become at
        most four ranges with about the same number of queries each.
    confidence
        The confidence of the intervals.
    query, strategy, missing, grader
        As for `differences`.

    Returns
    -------
    VConcatChart
        A chart whose `data` has one row per query, with the columns `query`, `value_a`, `value_b`,
        `difference`, `better` (the better strategy, null for a tie), `position` (by descending
        difference), `middle` (the middle of the query's bin in the histogram) and `place` (the
        number of the query in this bin, from 1). With `colour`, the column `group` holds the value
        of the `colour` column, "others" or a range. With a curve, the columns `rank_1` and so on
        hold the difference at each of up to 20 evenly spaced ranks.

    See Also
    --------
    polars_graded.compare : The numbers for all queries, with a test.

    Examples
    --------
    >>> per_query = pl.DataFrame(
    ...     {
    ...         "strategy": ["bm25"] * 3 + ["ours"] * 3,
    ...         "query": ["a", "b", "c"] * 2,
    ...         "ap": [0.5, 1.0, 0.25, 0.5, 0.75, 0.75],
    ...     }
    ... )
    >>> explore(per_query, "ours", "bm25").data.drop("position", "middle", "place")
    shape: (3, 5)
    ┌───────┬─────────┬─────────┬────────────┬────────┐
    │ query ┆ value_a ┆ value_b ┆ difference ┆ better │
    │ ---   ┆ ---     ┆ ---     ┆ ---        ┆ ---    │
    │ str   ┆ f64     ┆ f64     ┆ f64        ┆ str    │
    ╞═══════╪═════════╪═════════╪════════════╪════════╡
    │ c     ┆ 0.75    ┆ 0.25    ┆ 0.5        ┆ ours   │
    │ a     ┆ 0.5     ┆ 0.5     ┆ 0.0        ┆ null   │
    │ b     ┆ 0.75    ┆ 1.0     ┆ -0.25      ┆ bm25   │
    └───────┴─────────┴─────────┴────────────┴────────┘
    """
    per_query, query = chart_rows.join_query_columns("per_query", per_query, query, strategy)
    confidence = check_number("confidence", confidence, above=0, below=1)
    colour_columns = [] if colour is None else [colour]
    check_columns("per_query", colour_columns, per_query.columns, argument="colour")
    measures = [] if measure is None else [measure]
    others = per_query.drop({*colour_columns} - {*list_named_columns(measures)})
    numbers, curves = find_measures_and_curves(
        others, measures, query=query, strategy=strategy, curves=True
    )
    if measure is None:
        if len(numbers) != 1:
            msg = f"`measure` must name the column to compare, got {', '.join(numbers) or 'none'}"
            raise ValueError(msg)
        [measure] = numbers
    table, names_of_pair, measure = build_compared_queries(
        per_query, measure, a, b, query, strategy=strategy, missing=missing
    )
    if table.height > MAX_EXPLORED_QUERIES:
        rule = f"at most {MAX_EXPLORED_QUERIES} queries can be explored"
        msg = f"{rule}, got {table.height}; filter the frame"
        raise ValueError(msg)
    ranks: dict[str, int] = {}
    if (drawn_curve := curve or _find_only_rank_curve(curves)) is not None:
        table, ranks = _add_ranks(table, per_query, drawn_curve, a, b, query, strategy)
    if colour is not None:
        table = _add_group(table, per_query, colour, query)
    # The axis of the histogram always includes the difference 0.
    differences = table["difference"].append(pl.Series([0.0]))
    ends, width = bins.choose_difference_bins(differences, table.height)
    middle = (pl.col("difference") / width).round() * width
    # Within a bin, queries of the same colour are neighbours.
    place = pl.col("difference" if colour is None else "group").rank("ordinal").over("middle")
    table = table.with_columns(middle.alias("middle"))
    table = table.with_columns(place.cast(pl.UInt32).alias("place"))
    query_columns = ["query", "value_a", "value_b", "difference", "better", "position"]
    table = table.select(*query_columns, "middle", "place", "^group$", *ranks)
    if colour is None:
        look = choose_pair_look(table, per_query, names_of_pair, strategy=strategy, legends=True)
    else:
        look = style.choose_look(table["group"], colour, field="group")
    short_a, short_b = shorten_names(names_of_pair, MAX_AXIS_NAME_LETTERS)
    queries = query_views.ExploredQueries(
        name=chart_rows.build_selection_name(f"{measure}", table)[-10:],
        a=short_a,
        b=short_b,
        measure=measure,
        total=table.height,
        values=axis_ends.choose_ends(pl.concat([table["value_a"], table["value_b"]])),
        differences=ends,
        bin=width,
        highest_bin_count=table["place"].max(),
        colour=look,
        attribute=colour,
        confidence=confidence,
    )
    chart = query_views.draw_views(queries, query, ranks, drawn_curve)
    chart.data = table
    means = table.select(pl.col("value_a", "value_b", "difference").mean()).row(0)
    labels = [*names_of_pair, queries.difference_name]
    headline = titles.title_query_by_query(measure, names_of_pair)
    described = describe_wins(names_of_pair, table)
    curve_note = "; below: their mean difference at each rank" if ranks else ""
    notes = [
        described,
        f"{'each point and each cell' if ranks else 'each point, cell and bar'} is one query",
        f"middle: means of the selected queries{curve_note}",
        "all are selected; on a web page, drag to select some",
    ]
    chart.title = style.build_title(headline, notes)
    described = f"mean {measure} of {table.height} queries"
    values = style.list_values(described, zip(labels, means, strict=True))
    chart.description = f"{headline}. {values}"
    return style.escape_chart(chart)


def _find_only_rank_curve(curves: list[str]) -> str | None:
    """Return the only curve by rank that is not an ideal curve.

    Return None if there is no such curve, or more than one.
    """
    by_rank = [name for name in curves if curve_rows.find_curve_kind(name) == "rank"]
    return by_rank[0] if len(by_rank) == 1 else None


def _add_ranks(
    table: pl.DataFrame,
    per_query: pl.DataFrame,
    curve: str,
    a: Any,
    b: Any,
    query: str,
    strategy: str,
) -> tuple[pl.DataFrame, dict[str, int]]:
    """Add a column for each drawn rank, with differences of `a` and `b`.

    Return the queries with these columns, and a mapping from the name of each column to its rank.
    """
    check_columns("per_query", [curve], per_query.columns, argument="curve")
    if curve_rows.find_curve_kind(curve) == "recall":
        msg = f"`curve` must have a value per rank, got {curve!r}, with a value per level of recall"
        raise ValueError(msg)
    dtype = per_query.schema[curve]
    if not isinstance(dtype, pl.List):
        msg = f"`curve` must be a column of lists, one per query, got {dtype} in {curve!r}"
        raise TypeError(msg)
    for name, compared in (("list_a", a), ("list_b", b)):
        lists = per_query.filter(pl.col(strategy) == compared)
        values = pl.col(curve).cast(pl.List(pl.Float64)).alias(name)
        lists = lists.select(pl.col(query).alias("key"), values)
        table = table.join(lists, on="key", how="left", nulls_equal=True, maintain_order="left")
    n = check_list_length(table, ["list_a", "list_b"], repr(curve))
    positions = curve_rows.find_positions(curve, "rank", n)
    ranks = {
        f"rank_{positions[index]}": index
        for index in curve_rows.choose_equal_steps(n, MAX_CURVE_RANKS)
    }
    difference = pl.col("list_a") - pl.col("list_b")
    table = table.with_columns(
        # Rounding halves the size of a page with many queries; further digits would be invisible.
        chart_rows.build_number_column(difference.list.get(index)).round_sig_figs(6).alias(name)
        for name, index in ranks.items()
    )
    return table, {name: int(positions[index]) for name, index in ranks.items()}


def _add_group(
    table: pl.DataFrame, per_query: pl.DataFrame, colour: str, query: str
) -> pl.DataFrame:
    """Return the queries with a column `group`, made from the column `colour`.

    `group` has at most ten distinct names.
    """
    groups = per_query.select(key=query, value=colour).unique()
    groups = groups.join(table, on="key", how="semi", nulls_equal=True)
    if n_ambiguous := groups.filter(pl.col("key").is_duplicated())["key"].n_unique():
        msg = (
            f"`colour` must have one value for each {query}, got several in {colour!r} for "
            f"{format_count(n_ambiguous, 'queries')}"
        )
        raise ValueError(msg)
    values = groups["value"]
    if values.dtype.is_numeric() and values.n_unique() > style.MAX_COLOURS:
        groups = groups.with_columns(_name_ranges(values).alias("group"))
    else:
        groups = groups.with_columns(chart_rows.build_name_column("value").alias("group"))
        counts = groups["group"].value_counts().sort("count", "group", descending=[True, False])
        if counts.height > style.MAX_COLOURS:
            is_kept = pl.col("group").is_in(counts["group"].head(style.MAX_COLOURS - 1).implode())
            label = pl.when(is_kept).then("group").otherwise(pl.lit("others"))
            groups = groups.with_columns(label.alias("group"))
    groups = groups.select("key", "group")
    return table.join(groups, on="key", how="left", nulls_equal=True, maintain_order="left")


def _name_ranges(values: pl.Series) -> pl.Series:
    """Return for each number the range of its quarter, such as "3 to 7".

    Each quarter contains about the same number of values.
    """
    quarters = (values.rank("min") - 1) * 4 // values.count()
    numbers = quarters.drop_nulls().unique().sort().to_list()
    parts = [values.filter(quarters == number) for number in numbers]
    ends: list[Any] = sorted({end for part in parts for end in (part.min(), part.max())})
    texts = dict(zip(ends, tiles.format_distinct(ends), strict=True))
    names = {
        number: " to ".join(dict.fromkeys((texts[part.min()], texts[part.max()])))
        for number, part in zip(numbers, parts, strict=True)
    }
    return quarters.replace_strict(names, default="null", return_dtype=pl.String).alias("group")
