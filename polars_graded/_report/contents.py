"""Build the measures, curves, pairs and segments of the report's page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from polars_graded._drawing import bins, curve_rows
from polars_graded._measuring.kernels.ragged import Floats, Integers, Mask
from polars_graded._report.packing import (
    check_size,
    format_cell,
    pack_points,
    pack_values,
    round_numbers,
)
from polars_graded._report.payload import (
    Comparison,
    Curve,
    PageMeasure,
    Pair,
    PairNumbers,
    Segment,
    Segments,
    SegmentsOfMeasure,
)
from polars_graded._report.words import explain_measure
from polars_graded._results.comparing import compare_grid, summarise_grid
from polars_graded._results.findings import is_significant
from polars_graded._results.keys import check_segment_columns
from polars_graded._results.per_query import Grid, check_per_query, find_best_places
from polars_graded._results.segments import compute_interactions
from polars_graded._results.significance import Options
from polars_graded._sentences import format_count, format_p, format_part, format_percent, list_names
from polars_graded._sentences.titles import write_axis_title
from polars_graded._sentences.verdicts import ALPHA, Tested, write_untested

MAX_PAGE_POINTS = 1_200_000
"""Maximum total number of points of the per-query curves in a page."""

MAX_PAGE_VALUES = 640_000
"""Maximum number of per-query values in a page."""

MAX_SHOWN_QUERIES = 5000
"""Maximum number of queries that the page shows one by one."""

MIN_POINTS = 20
"""Minimum number of points to which a long curve is reduced to fit in the page. With many
strategies, a curve may have fewer points, because the number of points in one chart is limited,
too."""


def describe_data(n_strategies: int, n_queries: int, n_shown: int, drawn: list[Curve]) -> str:
    """Describe the data of the page, and the numbers of shown queries."""
    sentence = f"{format_count(n_strategies, 'strategies')}, {format_count(n_queries, 'queries')}."
    lengths = [len(curve["inspected"]) for curve in drawn if curve["inspected"]]
    with_curves = min(lengths, default=n_shown)
    if n_shown < n_queries:
        sentence += f" {n_shown:,} of them, evenly spaced, are shown one by one"
        sentence += f", {with_curves:,} with their curves" if with_curves < n_shown else ""
    elif with_curves < n_shown:
        sentence += f" Curves are shown for {with_curves:,} of them, evenly spaced"
    else:
        return sentence
    return f"{sentence}; means, intervals and tests cover all queries."


def choose_queries(n_queries: int, n_values: int) -> Integers:
    """Return the indices of the queries to show, evenly spaced if not all fit.

    `n_values` is the number of values per query.
    """
    max_queries = min(MAX_SHOWN_QUERIES, MAX_PAGE_VALUES // max(1, n_values))
    return curve_rows.choose_equal_steps(n_queries, max(2, max_queries)).to_numpy()


# Measures


def build_measures(grid: Grid, shown: Integers) -> list[PageMeasure]:
    """Return each measure of the page, with means and packed per-query values."""
    result: list[PageMeasure] = []
    for name, best in grid.get_directions(grid.measures).items():
        rows = summarise_grid(grid, 1 - ALPHA, name)
        sort_keys = rows["mean"].round(12).to_numpy() * (1 if best == "lowest" else -1)
        values = grid.get_values(name)
        check_size(name, values)
        result.append(
            {
                "name": name,
                "about": explain_measure(name, grid.formulas.get(name)),
                "best": best,
                "queries": rows["queries"][0],
                "means": round_numbers(rows["mean"]),
                "margins": round_numbers(rows["ci_high"] - rows["mean"]),
                "best_strategies": find_best_places(rows["mean"], best),
                "order": np.argsort(sort_keys, kind="stable").tolist(),
                "values": pack_values(values[:, shown]),
                "bin": _choose_bin_width(values[:, shown]),
                # Values are packed as 32-bit floats, so differences up to this number may be
                # rounding errors and count as ties.
                "rounding": 2**-22 * float(np.abs(np.nan_to_num(values)).max(initial=0)),
                "verdict": [],
            }
        )
    return result


def _choose_bin_width(values: Floats) -> float:
    """Return a bin width for per-query differences, the same for all pairs."""
    complete = values[:, np.isfinite(values).all(axis=0)]
    furthest = np.ptp(complete, axis=0).max() if complete.size else 0.0
    _, width = bins.choose_difference_bins(pl.Series([0.0, furthest]), complete.shape[1])
    return width


# Curves


def build_curves(grid: Grid, shown: Integers) -> list[Curve]:
    """Return each curve of the page, with its chart, means and packed values.

    The grid must contain only curves. A curve without any value is left out.
    """
    from polars_graded._drawing.style import MAX_COLOURS, MAX_MARKED_POINTS
    from polars_graded._report import specs

    names = grid.measures
    result: list[Curve] = []
    kinds = _find_kinds(names)
    for name, kind in kinds.items():
        ideal = curve_rows.find_ideal(name, names) if kind == "rank" else None
        both = [name] if ideal is None else [name, ideal]
        length = grid.check_curve_length(*both)
        lines, *ideal_lines = (grid.get_curve(each, length) for each in both)
        for each, values in zip(both, (lines, *ideal_lines), strict=True):
            check_size(each, values)
        if np.isnan(lines).all():
            continue
        # An ideal curve that all strategies share is stored once.
        ideal_lines = [
            values[: 1 if _is_shared(values) else None]
            for values in ideal_lines
            if not np.isnan(values).all()
        ]
        n_lines = sum(map(len, (lines, *ideal_lines))) * len(kinds)
        kept, with_curve = _choose_points(lines, kind, n_lines, len(shown))
        positions = curve_rows.find_positions(name, kind, length).to_numpy()
        is_complete = np.asarray(np.isfinite(lines).all(axis=(0, 2)))
        drawn = [values[:, :, kept] for values in (lines, *ideal_lines)]
        packed, *ideal_packed = (
            pack_points(points[:, shown[with_curve]], _average_points(points, is_complete))
            for points in drawn
        )
        result.append(
            {
                "name": name,
                "about": explain_measure(name, grid.formulas.get(name)),
                "kind": kind,
                "at": positions[kept].tolist(),
                "unit": all(
                    bool(np.nanmin(points) >= 0 and np.nanmax(points) <= 1) for points in drawn
                ),
                "queries": int(is_complete.sum()),
                "inspected": None if len(with_curve) == len(shown) else with_curve.tolist(),
                "packed": packed,
                "ideal": ideal_packed[0] if ideal_lines else None,
                "specs": specs.build_curve_specs(
                    write_axis_title(name),
                    kind,
                    int(positions[-1]),
                    show_points=len(kept) <= MAX_MARKED_POINTS and len(lines) <= MAX_COLOURS,
                    ideal=bool(ideal_lines),
                ),
            }
        )
    return result


def _choose_points(
    lines: Floats, kind: str, n_lines: int, n_shown: int
) -> tuple[Integers, Integers]:
    """Choose the points of a curve, and the queries whose own curve is stored.

    The page stores the curves of all chosen queries, so all their points must fit in the page. One
    chart draws the mean curves of all strategies, so all points of these curves must fit in the
    chart.
    """
    n_strategies, _, length = lines.shape
    kept = np.arange(length)
    if kind == "rank":
        max_points = max(MIN_POINTS, MAX_PAGE_POINTS // (n_lines * n_shown))
        max_points = min(max_points, curve_rows.compute_max_points(n_strategies))
        kept = curve_rows.choose_equal_steps(length, max_points).to_numpy()
    # If the points of all shown queries still do not fit, fewer queries have a curve.
    max_queries = max(2, MAX_PAGE_POINTS // (n_lines * max(1, len(kept))))
    return kept, curve_rows.choose_equal_steps(n_shown, max_queries).to_numpy()


def explain_missing_curves(names: list[str], drawn: list[Curve]) -> dict[str, str]:
    """Return a note for each kind of curve that has no value to draw."""
    kinds = _find_kinds(names)
    empty = set(kinds.values()) - {curve["kind"] for curve in drawn}
    return {
        kind: (
            f"No query has a value of {' or '.join(name for name in kinds if kinds[name] == kind)}."
        )
        for kind in empty
    }


def _find_kinds(names: list[str]) -> dict[str, str]:
    """Return the kind of each curve, "rank" or "recall"; skip ideal curves."""
    return {name: kind for name in names if (kind := curve_rows.find_curve_kind(name))}


def _is_shared(lines: Floats) -> bool:
    """Return whether, in each query, all strategies have the same line."""
    return np.array_equal(lines, np.broadcast_to(lines[:1], lines.shape), equal_nan=True)


def _average_points(points: Floats, is_complete: Mask) -> list[list[float | None]]:
    """Average each strategy's points over the complete queries.

    In a complete query, all strategies have all points. Without complete queries, all averages are
    None.
    """
    used = points[:, is_complete]
    means = (
        used.mean(axis=1) if is_complete.any() else np.full((len(points), points.shape[2]), np.nan)
    )
    return [round_numbers(row) for row in means]


# Comparisons


def build_pairs(grid: Grid, options: Options, baseline: Any) -> list[list[Pair]]:
    """Return the pairs of each measure, with rounded numbers and p values as text."""
    result = compare_grid(grid, options, baseline)
    result = result.with_columns(is_significant(result.columns, ALPHA).alias("significant"))
    index = {name: i for i, name in enumerate(grid.strategies.to_list())}

    def build_pair(row: Mapping[str, Any]) -> Pair:
        numbers: Any = {name: format_cell(row[name]) for name in PairNumbers.__annotations__}
        indices: Any = {
            "strategy": index[row[grid.strategies.name]],
            "baseline": index[row["baseline"]],
        }
        return (
            indices
            | numbers
            | {"p": format_p(row["p_corrected"]), "significant": row["significant"]}
        )

    return [
        [*map(build_pair, result.filter(measure=name).iter_rows(named=True))]
        for name in grid.measures
    ]


def build_comparison(pairs: list[list[Pair]], tested: Tested) -> Comparison:
    """Return the comparison of the page: its pairs, and how they were tested."""
    all_pairs = [pair for of_measure in pairs for pair in of_measure]
    if not all_pairs:
        return {
            "baseline": tested.baseline,
            "rows": [],
            "columns": [],
            "note": "",
            "interval_note": "",
        }
    note = (
        "Means of one strategy minus those of another over the same queries, tested by "
        f"{tested.words}. p values of at most {ALPHA:g} are set in bold, and the points of these "
        "differences are filled in the chart"
        f"{', unless ranks and means disagree' if tested.of_ranks else ''}."
    )
    if tested.single is not None:
        note = f"Values of one strategy minus those of another; {write_untested(tested.single)}."
    return {
        "baseline": tested.baseline,
        "columns": [*all_pairs[0]],
        "rows": [[[*pair.values()] for pair in of_measure] for of_measure in pairs],
        "note": note,
        "interval_note": (
            f"{format_percent(1 - ALPHA)} interval {_describe_intervals(all_pairs, tested)}"
        ),
    }


def _describe_intervals(pairs: list[Pair], tested: Tested) -> str:
    """Describe what an interval covers, and its agreement with p values."""
    if tested.single is not None:
        return f"is missing, since {write_untested(tested.single)}"
    if all(pair["simultaneous_low"] is None for pair in pairs):
        return "of each difference alone; the interval need not agree with p"
    if tested.covers_several:
        scope = format_part(tested.pairs, tested.pairs, "differences")
        return f"simultaneous for {scope}, which agrees with p"
    same = all(
        pair["ci_low"] == pair["simultaneous_low"] and pair["ci_high"] == pair["simultaneous_high"]
        for pair in pairs
    )
    return "of one difference" if same else f"{tested.correction_in_words}, as p is"


def build_segments(
    per_query: pl.DataFrame, grid: Grid, segments: Any, keys: Mapping[str, Any]
) -> Segments | None:
    """Return means by segment, and notes on differences that vary by segment.

    Return None if no segments are requested or the grid has no measures.
    """
    own = check_segment_columns(segments)
    if not own or not grid.measures:
        return None
    strategies = grid.strategies.to_list()
    parts = check_per_query(per_query, [grid.get_directions(grid.measures)], segments, **keys)
    means = summarise_grid(parts, 1 - ALPHA)
    interactions = None if len(strategies) < 2 else compute_interactions(parts)  # noqa: PLR2004
    measures: list[SegmentsOfMeasure] = []
    for name in grid.measures:
        rows = []
        for part, of_it in means.filter(measure=name).group_by(own, maintain_order=True):
            at = dict(of_it.select(keys["strategy"], "mean").iter_rows())
            values = pl.Series([at[strategy] for strategy in strategies], dtype=pl.Float64)
            best = find_best_places(values, grid.best[name])
            rows.append(
                Segment(
                    name=", ".join(map(str, part)),
                    queries=of_it["queries"][0],
                    means=round_numbers(values),
                    best_strategies=best,
                )
            )
        measures.append(
            {
                "rows": rows,
                "note": ""
                if interactions is None
                else _describe_interactions(interactions, name, keys),
            }
        )
    return {"title": ", ".join(own), "measures": measures}


def _describe_interactions(interactions: pl.DataFrame, name: str, keys: Mapping[str, Any]) -> str:
    """Name the pairs whose difference varies between segments."""
    rows = interactions.filter(pl.col("measure") == name, pl.col("p_corrected") <= ALPHA)
    pairs = rows.sort("p_corrected").select(keys["strategy"], "baseline").iter_rows()
    varying = (
        list_names([f"{one} \N{MINUS SIGN} {other}" for one, other in pairs])
        if rows.height
        else "none"
    )
    return (
        f"Differences that vary significantly between segments: {varying} (Welch's analysis of "
        f"variance of the per-query differences; p at most {ALPHA:g} after Holm's correction)."
    )
