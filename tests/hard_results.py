"""Results that are hard to draw: long names, close means, ties, many strategies, few queries."""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl

LONG_NAMES = [
    f"elasticsearch-8.11-bm25-k1=1.{i}-b=0.75-rerank-cross-encoder-v{i}" for i in range(9)
]


@cache
def hard_results(names: tuple[str, ...], n: int) -> pl.DataFrame:
    """Results like those of real runs: means close together, the values of a query alike."""
    rng = np.random.default_rng(len(names))
    level = rng.beta(2, 3, n)
    frames = []
    for place, name in enumerate(names):
        values = np.clip(level + 0.03 * min(place, 6) + rng.normal(0, 0.12, n), 0, 1)
        gains = np.sort(rng.random((n, 20)), axis=1)[:, ::-1] * values[:, np.newaxis]
        frames.append(
            pl.DataFrame(
                {
                    "strategy": name,
                    "query": np.arange(n),
                    "ndcg": values,
                    "ap": np.clip(values + rng.normal(0, 0.1, n), 0, 1),
                    "dcg_curve@20": gains.cumsum(axis=1).tolist(),
                }
            )
        )
    return pl.concat(frames)


def graded_twice(frame: pl.DataFrame) -> pl.DataFrame:
    """Results by a model's grades, and for half of the queries by the grades of people."""
    people = frame.filter(pl.col("query") % 2 == 0).with_columns(grader=pl.lit("people"))
    model = frame.with_columns(ndcg=0.9 * pl.col("ndcg"), grader=pl.lit("model"))
    return pl.concat([people, model])


def scores_of_documents(names: list[str]) -> pl.DataFrame:
    """Thirty documents of a query, each with a score of every strategy; half of them are tied."""
    rng = np.random.default_rng(0)
    scores = {name: rng.permutation(30).clip(15) for name in names}
    doc = [f"document-{number}" for number in range(30)]
    return pl.DataFrame({"query": 1, "doc": doc, "grade": rng.integers(0, 4, 30), **scores})
