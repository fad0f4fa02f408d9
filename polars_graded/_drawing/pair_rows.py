"""Name and order pairs of strategies, or exchange a pair's strategies."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from polars_graded._results.significance import RANK_COLUMN
from polars_graded._sentences import MAX_NAME_LETTERS, shorten_names

AGREEING_ENDS = "simultaneous_low", "simultaneous_high"
"""Columns of the lower and the upper end of simultaneous intervals. These intervals agree with the
corrected p values."""

MAX_PAIRED_NAME_LETTERS = (MAX_NAME_LETTERS - len(" and ")) // 2
"""Maximum number of letters of each strategy in the name of a pair."""

SIDES = (
    *(("strategy", "baseline"), ("mean", "baseline_mean"), ("wins", "losses")),
    ("probability_better", "probability_worse"),
)
"""Pairs of columns with the same meaning. The first column of a pair is about the strategy, and the
second is about the baseline."""


def choose_interval_ends(comparison: pl.DataFrame) -> tuple[str, str]:
    """Return the columns of the ends of the intervals to draw.

    If any pair has a simultaneous interval, the simultaneous intervals are drawn. Otherwise the
    intervals from `ci_low` to `ci_high` are drawn.
    """
    has_values = (
        set(AGREEING_ENDS) <= set(comparison.columns)
        and comparison[AGREEING_ENDS].drop_nulls().height
    )
    return AGREEING_ENDS if has_values else ("ci_low", "ci_high")


def put_higher_first(pairs: pl.DataFrame) -> pl.DataFrame:
    """Exchange the strategies of pairs whose baseline has the higher mean."""
    return _exchange_strategies(pairs, pl.col("difference") < 0)


def has_pairs(frame: pl.DataFrame, strategy: str) -> bool:
    """Return whether a column contains names of pairs, as in `similarity`.

    The name of a pair is "x and y", where x and y are its strategies in the columns `a` and `b`.
    """
    if not {"a", "b", strategy} <= set(frame.columns):
        return False
    name = pl.format("{} and {}", "a", "b")
    return bool(frame.select((pl.col(strategy).cast(pl.String) == name).all()).item())


def shorten_pair_names(frame: pl.DataFrame, strategy: str) -> pl.DataFrame:
    """Return the frame with shortened names of pairs, if any name is too long.

    In the name of a pair, the name of each strategy is shortened separately.
    """
    if not has_pairs(frame, strategy):
        return frame
    lengths = frame[strategy].cast(pl.String).str.len_chars()
    if not (lengths > MAX_NAME_LETTERS).any():
        return frame
    return frame.with_columns(
        shorten_pairs(frame).select(pl.format("{} and {}", "a", "b")).to_series().alias(strategy)
    )


def shorten_pairs(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with shortened names of strategies in its columns `a` and `b`."""
    both = pl.col("a", "b").cast(pl.String)
    names = pl.concat(frame.select(both).get_columns()).unique().sort()
    short = shorten_names(names.to_list(), MAX_PAIRED_NAME_LETTERS)
    return frame.with_columns(both.replace_strict(names, short))


def add_mirrored(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs, followed by the same pairs with `a` and `b` exchanged."""
    return pl.concat([pairs, pairs.rename({"a": "b", "b": "a"}).select(pairs.columns)])


def order_by_similarity(pairs: pl.DataFrame) -> list[str]:
    """Return the strategies in an order that puts similar ones side by side.

    Each row of `pairs` has two strategies, `a` and `b`, and their mean similarity, `mean`. Each
    strategy is described by its similarities to all strategies, and strategies with similar
    descriptions are side by side. If a pair is missing, or if there are at most two strategies, the
    strategies are sorted by their number of pairs, then by their mean similarity, both descending.
    """
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import pdist

    both = add_mirrored(pairs).unique(["a", "b"], keep="first", maintain_order=True)
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


def _exchange_strategies(pairs: pl.DataFrame, condition: pl.Expr) -> pl.DataFrame:
    """Exchange the two strategies of the pairs for which a condition holds."""
    exchanged = {name: -pl.col(name) for name in ("difference", "d_z", RANK_COLUMN)}
    ratio = -pl.col("difference") / pl.col("mean")
    exchanged["relative_difference"] = pl.when(pl.col("mean") != 0).then(ratio)
    for one, other in (("ci_low", "ci_high"), AGREEING_ENDS):
        exchanged |= {one: -pl.col(other), other: -pl.col(one)}
    for one, other in SIDES:
        exchanged |= {one: pl.col(other), other: pl.col(one)}
    return pairs.with_columns(
        pl.when(condition).then(value).otherwise(name).alias(name)
        for name, value in exchanged.items()
        if {name, *value.meta.root_names()} <= set(pairs.columns)
    )


def build_pair_name(*, versus: bool) -> pl.Expr:
    """Return the name of a pair of a strategy and its baseline.

    If `versus`, the name contains both. Otherwise it is the name of the strategy.
    """
    difference = pl.format("{} \N{MINUS SIGN} {}", "strategy", "baseline")
    return difference if versus else pl.col("strategy")


def add_other_sides(pairs: pl.DataFrame, segments: Sequence[str] = ()) -> pl.DataFrame:
    """Return each pair twice: as it is, and with both strategies exchanged."""
    keys = [name for name in ("measure", *segments, "panel") if name in pairs.columns]
    one = pairs.select(*keys, "strategy", "baseline", "difference", "p_corrected", "significant")
    other = _exchange_strategies(one, pl.lit(value=True))
    both = pl.concat([one, other]).sort("strategy", "baseline", maintain_order=True)
    if not keys:
        return both
    # Measures and panels keep their order.
    return (
        one.select(keys)
        .unique(maintain_order=True)
        .join(both, on=keys, nulls_equal=True, maintain_order="left_right")
    )


def compare_all_with(pairs: pl.DataFrame, strategy: str) -> pl.DataFrame:
    """Return the pairs of one strategy, which becomes the baseline of each."""
    is_first = pl.col("strategy") == strategy
    return _exchange_strategies(pairs.filter(is_first | (pl.col("baseline") == strategy)), is_first)
