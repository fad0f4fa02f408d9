"""Frames as `evaluate` returns them, to compare strategies with."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from polars_graded import compare


def frame_of(values, measure="ap"):
    """A frame of one measure from a mapping of strategies to their results, query by query."""
    return pl.concat(
        pl.DataFrame({"strategy": name, "query": range(len(row)), measure: row}).cast(
            {measure: pl.Float64}
        )
        for name, row in values.items()
    )


def drawn(n_queries, n_strategies=2, seed=0, decimals=15):
    """Random results of strategies that are a little better one than the other."""
    rng = np.random.default_rng(seed)
    hardness = rng.random(n_queries)
    return {
        f"s{i}": np.round(
            hardness + 0.1 * i + 0.3 * rng.standard_normal(n_queries), decimals
        ).tolist()
        for i in range(n_strategies)
    }


def shop():
    """Results of terms in two markets on two devices, with traffic and a curve."""
    rng = np.random.default_rng(3)
    keys = pl.DataFrame({"term": [f"t{n}" for n in range(30)]})
    for name, values in (("market", ["DE", "FR"]), ("device", ["desktop", "phone"])):
        keys = keys.join(pl.DataFrame({name: values}), how="cross")
    keys = keys.with_columns(searches=pl.Series(rng.integers(1, 1000, keys.height)))
    frame = pl.DataFrame({"strategy": ["new", "old"]}).join(keys, how="cross")
    curves = rng.random((frame.height, 3)).cumsum(axis=1)
    return frame.with_columns(
        pl.Series("ap", rng.random(frame.height)) + 0.1 * (pl.col("strategy") == "new"),
        pl.Series("dcg_curve@3", curves.tolist()),
        pl.Series("ndcg@10", rng.random(frame.height)),
    )


def compared(values, **options):
    """The rows of a comparison of one measure."""
    if options.get("test") == "randomised_tukey":
        options["correction"] = "none"
    return compare(frame_of(values), **options).rows(named=True)


def close(value):
    return pytest.approx(value, rel=1e-12, abs=1e-15)


def rng(seed):
    return np.random.default_rng(seed)


FRAME = frame_of(drawn(5, 3)).with_columns(curve=pl.concat_list("ap", "ap"), note=pl.lit("x"))
"""Three strategies and five queries, with columns that are no measure."""

of_few = pytest.mark.filterwarnings(
    "ignore:no difference, however large", "ignore:.*the same in every query of"
)
"""Of so few queries no test finds a thing, which is told."""
