"""Pairs of a comparison, from the side that is drawn."""

from __future__ import annotations

import polars as pl

from polars_graded._results.significance import RANKS

AGREEING_ENDS = "simultaneous_low", "simultaneous_high"
"""The ends of the intervals that agree with corrected p values."""

SIDES = (
    *(("strategy", "baseline"), ("mean", "baseline_mean"), ("wins", "losses")),
    ("probability_better", "probability_worse"),
)
"""What a pair has of one and of the other."""


def choose_interval_ends(comparison: pl.DataFrame) -> tuple[str, str]:
    """Return the ends of the intervals to draw: those that agree with p, if there are any."""
    agree = (
        set(AGREEING_ENDS) <= set(comparison.columns)
        and comparison[AGREEING_ENDS].drop_nulls().height
    )
    return AGREEING_ENDS if agree else ("ci_low", "ci_high")


def put_higher_first(pairs: pl.DataFrame) -> pl.DataFrame:
    """Each pair from the side of the one that has the higher mean, in all its columns."""
    return _turn_pairs(pairs, pl.col("difference") < 0)


def _turn_pairs(pairs: pl.DataFrame, which: pl.Expr) -> pl.DataFrame:
    """Return some pairs from their other side, in all columns."""
    turned = {name: -pl.col(name) for name in ("difference", "d_z", RANKS)}
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
    """Return the name of a pair: its strategy, and the baseline where it is needed."""
    difference = pl.format("{} \N{MINUS SIGN} {}", "strategy", "baseline")
    return difference if versus else pl.col("strategy")


def add_other_sides(pairs: pl.DataFrame) -> pl.DataFrame:
    """Each pair as it is, and as its other side has it."""
    keys = [name for name in ("measure", "panel") if name in pairs.columns]
    one = pairs.select(*keys, "strategy", "baseline", "difference", "p_corrected", "significant")
    other = _turn_pairs(one, pl.lit(value=True))
    return pl.concat([one, other]).sort(*keys, "strategy", "baseline", maintain_order=True)
