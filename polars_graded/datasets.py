"""Return artificial rankings, click logs, and worked examples of papers.

Artificial queries and documents are numbered from 1. A higher score is a better rank. The same seed
gives the same data.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from polars_graded._checks import check_choice
from polars_graded._clicks.simulating import simulated_log
from polars_graded._measuring.keywords import checks_keywords
from polars_graded.experiments import reference_rankings, swapped_rankings

__all__ = ["example", "simulated_log", "worked_example"]


def __dir__() -> list[str]:
    """Return the names of the functions, for completion."""
    return __all__


STRATEGIES = {"strong": 5, "fair": 20, "weak": 60}
"""Number of swaps that turn the ideal order into the ranking of each strategy of `example`."""


@checks_keywords
def example(queries: int = 300, *, documents: int = 100, seed: int = 0) -> pl.DataFrame:
    """Return rankings of known quality: grades and three strategies.

    Parameters
    ----------
    queries
        Number of queries.
    documents
        Number of judged documents of each query. The number of documents with each grade differs
        between queries.
    seed
        The same seed gives the same frame.

    Returns
    -------
    DataFrame
        The rows of `experiments.reference_rankings`, with grades from 0 to 4, and a column of
        scores for each strategy. The rankings of `strong`, `fair` and `weak` are the ideal order
        after 5, 20 and 60 swaps of random pairs in each query.

    Examples
    --------
    >>> example(queries=1, documents=4)
    shape: (4, 6)
    ┌───────┬─────┬───────┬────────┬──────┬──────┐
    │ query ┆ doc ┆ grade ┆ strong ┆ fair ┆ weak │
    │ ---   ┆ --- ┆ ---   ┆ ---    ┆ ---  ┆ ---  │
    │ i64   ┆ i64 ┆ i64   ┆ f64    ┆ f64  ┆ f64  │
    ╞═══════╪═════╪═══════╪════════╪══════╪══════╡
    │ 1     ┆ 1   ┆ 4     ┆ 0.3    ┆ 0.2  ┆ 0.1  │
    │ 1     ┆ 2   ┆ 4     ┆ 0.4    ┆ 0.3  ┆ 0.3  │
    │ 1     ┆ 3   ┆ 3     ┆ 0.2    ┆ 0.1  ┆ 0.4  │
    │ 1     ┆ 4   ┆ 0     ┆ 0.1    ┆ 0.4  ┆ 0.2  │
    └───────┴─────┴───────┴────────┴──────┴──────┘
    """
    judged = reference_rankings(queries, documents=documents, uniform=False, seed=seed)
    return judged.with_columns(
        swapped_rankings(judged, swaps, seed=seed + swaps).get_column("score").alias(strategy)
        for strategy, swaps in STRATEGIES.items()
    )


@checks_keywords
def worked_example(paper: str) -> pl.DataFrame:
    """Return the example that a paper works out by hand.

    The binary examples in Chen's slides treat any grade above 0 as relevant.

    Parameters
    ----------
    paper
        `"scheel"`: the eight documents of tables 1 and 2 of Scheel and others 2011. `"moniz"`: the
        two days of five news items in table 1 of Moniz and others 2016. `"chen"`: two queries of
        Baeza-Yates and Ribeiro-Neto, with the vectors G1 and G2 of Chen's slides.

    Returns
    -------
    DataFrame
        `query`, `doc`, `grade` and `score`, in rank order. A relevant document that was not
        retrieved is below the others, with a null score. `"moniz"` has the final `popularity` in
        place of the grade, and the predicted popularity as `score`.

    Examples
    --------
    >>> worked_example("moniz").tail(4)
    shape: (4, 4)
    ┌───────┬─────┬────────────┬───────┐
    │ query ┆ doc ┆ popularity ┆ score │
    │ ---   ┆ --- ┆ ---        ┆ ---   │
    │ str   ┆ i64 ┆ i64        ┆ i64   │
    ╞═══════╪═════╪════════════╪═══════╡
    │ day 2 ┆ 2   ┆ 20         ┆ 50    │
    │ day 2 ┆ 3   ┆ 90         ┆ 40    │
    │ day 2 ┆ 4   ┆ 15         ┆ 15    │
    │ day 2 ┆ 5   ┆ 10         ┆ 10    │
    └───────┴─────┴────────────┴───────┘
    """
    return EXAMPLES[check_choice("paper", paper, EXAMPLES)]()


def _scheel() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "query": ["table 1"] * 8,
            "doc": list("ABCDEFGH"),
            "grade": [1, 0, 3, 3, 2, 0, 1, 4],
            "score": range(8, 0, -1),
        }
    )


def _moniz() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "query": ["day 1"] * 5 + ["day 2"] * 5,
            "doc": [*range(1, 6)] * 2,
            "popularity": [100, 80, 90, 15, 10, 100, 20, 90, 15, 10],
            "score": [70, 50, 40, 15, 10] * 2,
        }
    )


def _chen() -> pl.DataFrame:
    # fmt: off
    ranking = [
        "d123", "d84", "d56", "d6", "d8", "d9", "d511", "d129", "d187", "d25", "d38", "d48", "d250",
        "d113", "d3",
    ]
    judgments = {
        "example 3.2": {
            "d3": 3, "d5": 3, "d9": 3, "d25": 2, "d39": 2, "d44": 2, "d56": 1, "d71": 1, "d89": 1,
            "d123": 1,
        },
        "example 3.3": {"d3": 3, "d56": 2, "d129": 1},
    }
    # fmt: on
    scores = {doc: len(ranking) - index for index, doc in enumerate(ranking)}
    return pl.DataFrame(
        [
            (query, doc, grades.get(doc, 0), scores.get(doc))
            for query, grades in judgments.items()
            for doc in dict.fromkeys([*ranking, *grades])
        ],
        schema=["query", "doc", "grade", "score"],
        orient="row",
    )


EXAMPLES: dict[str, Callable[[], pl.DataFrame]] = {
    "scheel": _scheel,
    "moniz": _moniz,
    "chen": _chen,
}
