"""Exchange the two strategies of pairs of a comparison."""

from __future__ import annotations

import polars as pl

from polars_graded._results.significance import RANK_COLUMN

AGREEING_ENDS = "simultaneous_low", "simultaneous_high"
"""The ends of the intervals that agree with corrected p values."""

SIDES = (
    *(("strategy", "baseline"), ("mean", "baseline_mean"), ("wins", "losses")),
    ("probability_better", "probability_worse"),
)
"""Columns of the strategy, and the columns of the baseline with the same meaning."""


def choose_interval_ends(comparison: pl.DataFrame) -> tuple[str, str]:
    """Return the columns of the intervals to draw: those that agree with p, if they have values."""
    agree = (
        set(AGREEING_ENDS) <= set(comparison.columns)
        and comparison[AGREEING_ENDS].drop_nulls().height
    )
    return AGREEING_ENDS if agree else ("ci_low", "ci_high")


def put_higher_first(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs with the strategy that has the higher mean first, in all columns."""
    return _turn_pairs(pairs, pl.col("difference") < 0)


def _turn_pairs(pairs: pl.DataFrame, which: pl.Expr) -> pl.DataFrame:
    """Return the pairs, with both strategies exchanged in all columns if `which` is true."""
    turned = {name: -pl.col(name) for name in ("difference", "d_z", RANK_COLUMN)}
    turned["relative_difference"] = -pl.col("difference") / pl.col("mean")
    for one, other in (("ci_low", "ci_high"), AGREEING_ENDS):
        turned |= {one: -pl.col(other), other: -pl.col(one)}
    for one, other in SIDES:
        turned |= {one: pl.col(other), other: pl.col(one)}
    return pairs.with_columns(
        pl.when(which).then(value).otherwise(name).alias(name)
        for name, value in turned.items()
        if {name, *value.meta.root_names()} <= set(pairs.columns)
    )


def build_pair_name(*, versus: bool) -> pl.Expr:
    """Return an expression of the name of a pair: its strategy, and with `versus` the baseline."""
    difference = pl.format("{} \N{MINUS SIGN} {}", "strategy", "baseline")
    return difference if versus else pl.col("strategy")


def add_other_sides(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return each pair twice: as it is, and with both strategies exchanged."""
    keys = [name for name in ("measure", "panel") if name in pairs.columns]
    one = pairs.select(*keys, "strategy", "baseline", "difference", "p_corrected", "significant")
    other = _turn_pairs(one, pl.lit(value=True))
    return pl.concat([one, other]).sort(*keys, "strategy", "baseline", maintain_order=True)
