"""A row for each chart function: the frame it takes, and how it is called."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from altair.utils import schemapi

from polars_graded import charts, compare, rank_strategies, summarise, trust

if TYPE_CHECKING:
    from collections.abc import Callable

DCG_20, IDEAL_20 = "dcg_curve@20", "ideal_dcg_curve@20"
MEASURES = ["mu_ap", "ndcg"]


@cache
def results(k: int, n: int, ranks: int = 20) -> pl.DataFrame:
    """What `evaluate` returns, of k strategies and n queries, with random numbers."""
    rng = np.random.default_rng(k + n)
    curve = f"dcg_curve@{ranks}"
    gain = np.cumsum(1 / np.log2(np.arange(ranks) + 2))
    parts = []
    for place in range(1, k + 1):
        ap = np.clip(rng.beta(2, 2, n) * 0.8 + 0.15 * place / k, 0, 1).round(2)
        columns = {
            "strategy": [f"s{place}"] * n,
            "query": range(1, n + 1),
            "mu_ap": ap,
            "ndcg": np.sqrt(ap),
            "r_precision": ap.round(1),
            curve: ap[:, None] * gain,
            f"ideal_{curve}": np.ones((n, 1)) * gain,
            "interpolated_precision": 1 - np.linspace(0, 1, 11) ** (ap[:, None] + 0.1),
            "panel": [f"panel {place % 3}"] * n,
        }
        arrays = {"strategy": pl.String, "query": pl.Int64, "panel": pl.String}
        parts.append(
            pl.DataFrame(columns, schema_overrides=arrays).with_columns(
                pl.col(curve, f"ideal_{curve}", "interpolated_precision").arr.to_list()
            )
        )
    return pl.concat(parts)


@cache
def scores_of(k: int, n: int) -> pl.DataFrame:
    """k queries of n scores."""
    scores = np.random.default_rng(k + n).lognormal(2, 1, (k, n))
    return pl.DataFrame({"query": np.repeat(np.arange(k), n), "popularity": scores.ravel()})


@cache
def summary_of(k: int, n: int) -> pl.DataFrame:
    return summarise(results(k, n), *MEASURES)


@cache
def comparison_of(k: int, n: int) -> pl.DataFrame:
    return compare(results(k, n), *MEASURES, baseline="s1")


@cache
def similarity_of(k: int, n: int) -> pl.DataFrame:
    """What `similarity` returns, of k strategies and n queries."""
    pairs = [(f"s{i}", f"s{j}") for i in range(1, k + 1) for j in range(i + 1, k + 1)]
    rows = pl.DataFrame(pairs, ["a", "b"], orient="row").join(
        pl.DataFrame({"query": range(1, n + 1)}), how="cross"
    )
    return rows.with_columns(
        pl.format("{} and {}", "a", "b").alias("strategy"),
        pl.Series("rbo", np.random.default_rng(k + n).random(rows.height)),
    )


@cache
def all_pairs_of(k: int, n: int) -> pl.DataFrame:
    return compare(results(k, n), *MEASURES)


def ranked(k: int, n: int) -> pl.DataFrame:
    ranks = rank_strategies(results(k, n), *MEASURES)
    return ranks.with_columns(pl.col("^rank.*$").cast(pl.Float64))


@cache
def power_of(k: int, n: int) -> pl.DataFrame:
    """What `power_curve` returns, of k numbers of queries where n are at hand."""
    rows = [
        (name, queries, 1 - math.exp(-queries / n / 2), queries == n, 0.02)
        for name in MEASURES
        for queries in sorted({*range(2, k + 2), n})
    ]
    columns = ["measure", "queries", "power", "at_hand", "difference"]
    return pl.DataFrame(rows, columns, orient="row")


@cache
def stability_of(k: int, n: int) -> pl.DataFrame:
    """What `order_stability` returns, of k numbers of queries up to n."""
    numbers = sorted({max(1, n * place // k) for place in range(1, k + 1)})
    rows = [
        (name, size, size / n, max(-1.0, size / n - 0.2), min(1.0, size / n + 0.1))
        for name in MEASURES
        for size in numbers
    ]
    return pl.DataFrame(rows, ["measure", "queries", "tau", "tau_low", "tau_high"], orient="row")


@cache
def measure_rankings(k: int, n: int) -> pl.DataFrame:
    """Rankings of n documents of query 1 by k strategies, of which each misses every fifth."""
    rng = np.random.default_rng(k + n)
    docs = pl.DataFrame(
        {"doc": [f"d{place}" for place in range(n)], "grade": rng.integers(0, 3, n)}
    )
    lines = pl.DataFrame({"query": 1, "strategy": [f"s{place}" for place in range(1, k + 1)]})
    rows = lines.join(docs, how="cross")
    return rows.with_columns(
        score=pl.when(pl.int_range(pl.len()) % 5 != 4).then(pl.Series(rng.random(rows.height)))
    )


@cache
def graded_of(k: int, n: int) -> pl.DataFrame:
    """Documents of n queries that people and a model graded, by k grades."""
    rng = np.random.default_rng(k + n)
    people, model = rng.integers(0, k + 1, (2, 3 * n))
    return pl.DataFrame({"query": np.arange(3 * n) // 3, "people": people, "model": model})


@cache
def results_of_graders(k: int, n: int) -> pl.DataFrame:
    """What `evaluate` returns of two graders, of whom one judged the first half of n queries."""
    model = results(k, n).select("strategy", "query", *MEASURES)
    people = model.filter(pl.col("query") <= max(1, n // 2)).with_columns(
        pl.col(MEASURES) * pl.col("mu_ap").sqrt()
    )
    graders = {"people": people, "model": model}
    return pl.concat(each.with_columns(grader=pl.lit(name)) for name, each in graders.items())


@cache
def summary_of_graders(k: int, n: int) -> pl.DataFrame:
    return summarise(results_of_graders(k, n))


@cache
def trusted_of(k: int, n: int) -> pl.DataFrame:
    return trust.prediction_powered_means(results_of_graders(k, n), trusted="people")


@cache
def trusted_pairs_of(k: int, n: int) -> pl.DataFrame:
    return trust.prediction_powered_differences(
        results_of_graders(k, n), trusted="people", baseline="s1"
    )


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


def spec_of(chart: Any, *, validate: bool = False) -> dict[str, Any]:
    """A chart as JSON, which Altair may check against its schema."""
    spec = chart.to_dict(validate=validate or schemapi.DEBUG_MODE)
    json.dumps(spec, allow_nan=False)
    return spec


@dataclass(frozen=True, eq=False)
class Row:
    function: Callable[..., Any]
    frame: Callable[[int, int], pl.DataFrame]
    columns: dict[str, str]
    """The keywords that name columns, and the columns they name."""
    options: dict[str, Any] = field(default_factory=dict)
    value: str = ""
    """The column of the numbers that are drawn."""
    fewest: int = 1
    """How many strategies it takes."""
    views: bool = False
    """Whether it is of several views, which stand beside others but cannot be layered."""

    def draw(self, frame: pl.DataFrame | pl.LazyFrame, **options: Any) -> Any:
        return self.function(frame, **(self.columns | self.options | options))

    @cache  # noqa: B019 (rows are there to the end)
    def of(self, k: int, n: int, **options: Any) -> Any:
        """Drawn once: what is made of a chart is made of a copy."""
        return self.draw(self.frame(k, n), **options)

    @cache  # noqa: B019 (rows are there to the end)
    def spec(self) -> dict[str, Any]:
        """The chart of three strategies and eight queries as JSON, which no test changes."""
        return spec_of(self.of(3, 8))


STRATEGY = {"strategy": "strategy"}
KEYS = {"query": "query", **STRATEGY}
AGREEMENT = {"x": "mu_ap", "y": "ndcg", **KEYS}
RECALL = "interpolated_precision"
PAIR = {"a": "s1", "b": "s2"}
DROPPED, BY_QUERY = {"missing": "drop", **PAIR}, {"missing": "zero", "order": "query", **PAIR}
MU_AP, R_PRECISION = {"measure": "mu_ap", **KEYS}, {"measure": "r_precision", **KEYS}
OF_TWO: dict[str, Any] = {"value": "difference", "fewest": 2}

ROWS = {
    "dcg_curves": Row(
        charts.dcg_curves, results, {"curve": DCG_20, "ideal": IDEAL_20, **KEYS}, value=DCG_20
    ),
    "dcg_curves with an interval": Row(
        charts.dcg_curves, results, {"curve": DCG_20, **KEYS}, {"confidence": 0.9}, DCG_20
    ),
    "recall_precision_curves": Row(
        charts.recall_precision_curves, results, {"curve": RECALL, **KEYS}, value=RECALL
    ),
    "precision_histogram": Row(
        charts.precision_histogram, results, R_PRECISION, DROPPED, "r_precision", fewest=2
    ),
    "precision_histogram by query": Row(
        charts.precision_histogram, results, MU_AP, BY_QUERY, "mu_ap", fewest=2
    ),
    "relevance_function": Row(
        charts.relevance_function, scores_of, {"score": "popularity", "panel": "query"}
    ),
    "measure_agreement": Row(charts.measure_agreement, results, AGREEMENT, value="mu_ap"),
    "similarity_matrix": Row(
        charts.similarity_matrix, similarity_of, {"measure": "rbo"}, value="rbo", fewest=2
    ),
    "strategy_bars": Row(charts.strategy_bars, summary_of, STRATEGY, value="mean"),
    "comparison_forest": Row(charts.comparison_forest, comparison_of, STRATEGY, **OF_TWO),
    "comparison_matrix": Row(charts.comparison_matrix, all_pairs_of, STRATEGY, **OF_TWO),
    "comparison_forest of trusted grades": Row(
        charts.comparison_forest, trusted_of, STRATEGY, value="mean"
    ),
    "comparison_forest of trusted pairs": Row(
        charts.comparison_forest, trusted_pairs_of, STRATEGY, **OF_TWO
    ),
    "grading_profile": Row(charts.grading_profile, summary_of_graders, STRATEGY, value="mean"),
    "strategy_ranks": Row(charts.strategy_ranks, ranked, STRATEGY, value="rank", fewest=2),
    "rankings": Row(
        charts.rankings, measure_rankings, {"doc": "doc", "grade": "grade", **STRATEGY}, {"of": 1}
    ),
    "explore": Row(charts.explore, results, MU_AP, DROPPED, "mu_ap", fewest=2, views=True),
    "comparison_forest of all pairs": Row(
        charts.comparison_forest, all_pairs_of, STRATEGY, **OF_TWO
    ),
    "sample_size_curves of power": Row(charts.sample_size_curves, power_of, {}, value="power"),
    "sample_size_curves of stability": Row(
        charts.sample_size_curves, stability_of, {}, value="tau"
    ),
    "grading_profile of places": Row(
        charts.grading_profile, summary_of_graders, STRATEGY, {"show": "places"}, "mean"
    ),
    "agreement": Row(charts.agreement, graded_of, {}, {"one": "people", "other": "model"}),
}
