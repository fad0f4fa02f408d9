"""Artificial rankings of two papers, and their worked examples.

Queries and documents are numbered from 1. A higher score is a better rank. The same seed gives the
same rankings. The papers are Scheel, Lommatzsch, Albayrak: Performance measures for multi-graded
relevance, 2011; and Moniz, Torgo, Vinagre: Data-driven relevance judgments for ranking evaluation,
2016.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_graded._checks import (
    check_choice,
    check_collected,
    check_column,
    check_columns,
    check_increasing,
    check_number,
    check_whole_number,
)
from polars_graded._measuring.kernels.phi import find_median_and_upper_whisker
from polars_graded._measuring.kernels.ragged import Floats, Integers, Ragged

__all__ = [
    "ad_hoc_grade",
    "example",
    "popularity_rankings",
    "reference_rankings",
    "swapped_rankings",
    "worked_example",
]


def __dir__() -> list[str]:
    """Return the names of the functions, for completion."""
    return __all__


Number = TypeVar("Number", np.int64, np.float64)

STRATEGIES = {"strong": 5, "fair": 20, "weak": 60}
"""Number of pairs that each strategy of `example` swaps."""

SCORES_PER_UNIT = 10
"""Scores of neighbouring ranks in each unit of scores, whose fractions no rank has."""

TOP = 10
"""Rank that scenario 1 of Moniz, Torgo and Vinagre swaps with the next; 2 inverts down to it."""


def reference_rankings(
    queries: int = 1, *, documents: int = 100, levels: int = 5, uniform: bool = True, seed: int = 0
) -> pl.DataFrame:
    """Return judged documents in ideal order, with any number of levels.

    Source: Scheel, Lommatzsch, Albayrak (2011), section 2.1 and figures 2 and 3.

    Parameters
    ----------
    queries
        Number of rankings.
    documents
        Number of documents of each ranking.
    levels
        Number of levels of relevance, at least 2: the grades are 0 to `levels - 1`.
    uniform
        Whether each level has the same number of documents, or nearly so where they do not divide.
        Else each query draws a probability for every level, all combinations of probabilities
        being equally likely, and then its documents; some levels may have none. A query without
        any relevant document is drawn again.
    seed
        The same seed gives the same rankings.

    Returns
    -------
    DataFrame
        `query`, `doc` and `grade`, by query and falling grade.

    See Also
    --------
    swapped_rankings : Worse rankings of the same documents.

    Examples
    --------
    >>> reference_rankings(documents=4, levels=3)
    shape: (4, 3)
    ┌───────┬─────┬───────┐
    │ query ┆ doc ┆ grade │
    │ ---   ┆ --- ┆ ---   │
    │ i64   ┆ i64 ┆ i64   │
    ╞═══════╪═════╪═══════╡
    │ 1     ┆ 1   ┆ 2     │
    │ 1     ┆ 2   ┆ 2     │
    │ 1     ┆ 3   ┆ 1     │
    │ 1     ┆ 4   ┆ 0     │
    └───────┴─────┴───────┘
    """
    n_queries = check_whole_number("queries", queries)
    n_documents = check_whole_number("documents", documents)
    n_levels = check_whole_number("levels", levels, at_least=2)
    rng = _make_generator(seed)

    def draw(n: int) -> Integers:
        """Return the documents per level, the highest first, of `n` queries."""
        return rng.multinomial(n_documents, rng.dirichlet(np.ones(n_levels), n))

    if uniform:
        counts = np.tile(np.diff(np.arange(n_levels + 1) * n_documents // n_levels), (n_queries, 1))
        counts = counts[:, ::-1]
    else:
        counts = _draw_rows(n_queries, draw, lambda counts: counts[:, -1] < n_documents)
    grades = np.repeat(np.tile(np.arange(n_levels)[::-1], n_queries), counts.ravel())
    return _number_rankings(n_queries, n_documents).with_columns(pl.Series("grade", grades))


def swapped_rankings(
    rankings: pl.DataFrame,
    swaps: int | Iterable[int],
    *,
    query: str = "query",
    grade: str = "grade",
    seed: int = 0,
) -> pl.DataFrame:
    """Return worse and worse rankings: random pairs of the ideal order swapped.

    A swap exchanges the ranks of two documents of a query, any two with the same probability. Each
    number of swaps starts anew from the ideal order, which is by falling grade and, within it, by
    row; so with 0 swaps a ranking is perfect. Source: Scheel, Lommatzsch, Albayrak (2011), section
    2.1 and figure 1.

    Parameters
    ----------
    rankings
        A row is a document of a query; its grade is its relevance.
    swaps
        Number of swaps; several numbers return that many rankings of each query.
    query
        The column that identifies queries.
    grade
        The column of relevance grades.
    seed
        The same seed gives the same swaps.

    Returns
    -------
    DataFrame
        The rows of `rankings` for each number of swaps, in ideal order, between columns `swaps`
        and `score`. Scores are n / 10 for the first rank down to 0.1 for the last of n documents,
        so that they are not mistaken for ranks.

    Examples
    --------
    >>> swapped_rankings(reference_rankings(documents=2, levels=2), [0, 1])
    shape: (4, 5)
    ┌───────┬───────┬─────┬───────┬───────┐
    │ swaps ┆ query ┆ doc ┆ grade ┆ score │
    │ ---   ┆ ---   ┆ --- ┆ ---   ┆ ---   │
    │ i64   ┆ i64   ┆ i64 ┆ i64   ┆ f64   │
    ╞═══════╪═══════╪═════╪═══════╪═══════╡
    │ 0     ┆ 1     ┆ 1   ┆ 1     ┆ 0.2   │
    │ 0     ┆ 1     ┆ 2   ┆ 0     ┆ 0.1   │
    │ 1     ┆ 1     ┆ 1   ┆ 1     ┆ 0.1   │
    │ 1     ┆ 1     ┆ 2   ┆ 0     ┆ 0.2   │
    └───────┴───────┴─────┴───────┴───────┘
    """
    rankings = check_collected("rankings", rankings)
    numbers = [
        check_whole_number("swaps", number, at_least=0)
        for number in (swaps if isinstance(swaps, Iterable) else [swaps])
    ]
    if len(set(numbers)) < len(numbers):
        msg = f"`swaps` must name each number once, got {numbers}"
        raise ValueError(msg)
    check_columns("rankings", [query, grade], rankings.columns)
    ideal = rankings.sort(
        query, grade, descending=[False, True], nulls_last=True, maintain_order=True
    )
    lengths = ideal.group_by(query, maintain_order=True).len(f"not {query}").to_series(1).to_numpy()
    scores = _swap_scores(
        np.tile(lengths.astype(np.int64), len(numbers)),
        np.repeat(np.array(numbers, np.int64), len(lengths)),
        _make_generator(seed),
    )
    copies = ideal[np.tile(np.arange(ideal.height), len(numbers))]
    return copies.select(
        pl.Series("swaps", np.repeat(np.array(numbers, np.int64), ideal.height)),
        pl.exclude("swaps", "score"),
        pl.Series("score", scores / SCORES_PER_UNIT),
    )


def _swap_scores(lengths: Integers, swaps: Integers, rng: np.random.Generator) -> Integers:
    """Return the scores of rankings end to end, after swaps of random pairs."""
    start = np.cumsum(lengths) - lengths
    scores = np.repeat(start + lengths, lengths) - np.arange(lengths.sum())
    for number in range(swaps.max(initial=0)):
        chosen = np.flatnonzero((swaps > number) & (lengths > 1))
        first, n = start[chosen], lengths[chosen]
        one = rng.integers(n)
        other = (one + rng.integers(1, n)) % n
        scores[first + one], scores[first + other] = scores[first + other], scores[first + one]
    return scores


def example(queries: int = 300, *, documents: int = 100, seed: int = 0) -> pl.DataFrame:
    """Return rankings of known quality: grades, and ever worse strategies.

    Parameters
    ----------
    queries
        Number of queries.
    documents
        Number of judged documents of each query; the counts of grades differ between queries.
    seed
        The same seed gives the same frame.

    Returns
    -------
    DataFrame
        The `reference_rankings`, of grades from 0 to 4, and a column of scores for each strategy:
        `strong`, `fair` and `weak` swap 5, 20 and 60 random pairs of the ideal order.

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


def popularity_rankings(
    queries: int = 1000, *, documents: int = 100, imbalance: float = 0.0, seed: int = 0
) -> pl.DataFrame:
    """Return documents with popularity, ad-hoc grades, and two bad rankings.

    Source: Moniz, Torgo, Vinagre (2016), section 4.1.

    Parameters
    ----------
    queries
        Number of samples.
    documents
        Number of documents of each sample, at least 11.
    imbalance
        Share of the documents, from 0 to 0.2, that are far more popular than the others. 0 is the
        balanced case: popularity is uniform from 1 to 1000. Else that share, at least one document,
        is uniform from 500 to 1000 and the others from 1 to 500; samples are drawn again until one
        has an outlier by the box plot's rule. The paper prints 0.1, its authors' runs used 0.2.
    seed
        The same seed gives the same samples.

    Returns
    -------
    DataFrame
        `query`, `doc`, `popularity`, `grade` as `ad_hoc_grade` makes it, and two columns of scores:
        in `scenario_1` the documents at ranks 10 and 11 of the ideal order are swapped, in
        `scenario_2` its first 10 are inverted (the paper prints that all are inverted, which
        would make every measure 0). By query and falling popularity.

    Examples
    --------
    >>> popularity_rankings(queries=1, documents=11).tail(3)
    shape: (3, 6)
    ┌───────┬─────┬────────────┬───────┬────────────┬────────────┐
    │ query ┆ doc ┆ popularity ┆ grade ┆ scenario_1 ┆ scenario_2 │
    │ ---   ┆ --- ┆ ---        ┆ ---   ┆ ---        ┆ ---        │
    │ i64   ┆ i64 ┆ f64        ┆ i64   ┆ f64        ┆ f64        │
    ╞═══════╪═════╪════════════╪═══════╪════════════╪════════════╡
    │ 1     ┆ 9   ┆ 270.516927 ┆ 3     ┆ 0.3        ┆ 1.0        │
    │ 1     ┆ 10  ┆ 41.93255   ┆ 3     ┆ 0.1        ┆ 1.1        │
    │ 1     ┆ 11  ┆ 17.511108  ┆ 2     ┆ 0.2        ┆ 0.1        │
    └───────┴─────┴────────────┴───────┴────────────┴────────────┘
    """
    n_queries = check_whole_number("queries", queries)
    n_documents = check_whole_number("documents", documents, at_least=TOP + 1)
    share = check_number("imbalance", imbalance, at_least=0, at_most=0.2)
    n_high = max(1, round(share * n_documents))
    rng = _make_generator(seed)

    def imbalanced(n: int) -> Floats:
        low = rng.uniform(1, 500, (n, n_documents - n_high))
        return np.concatenate([low, rng.uniform(500, 1000, (n, n_high))], axis=1)

    if share:
        popularity = _draw_rows(n_queries, imbalanced, _have_outliers)
    else:
        popularity = rng.uniform(1, 1000, (n_queries, n_documents))

    ideal = np.arange(n_documents, 0, -1) / SCORES_PER_UNIT
    swapped, inverted = ideal.copy(), ideal.copy()
    swapped[[TOP - 1, TOP]] = ideal[[TOP, TOP - 1]]
    inverted[:TOP] = ideal[:TOP][::-1]
    return (
        _number_rankings(n_queries, n_documents)
        .with_columns(
            pl.Series("popularity", -np.sort(-popularity, axis=1).ravel()),
            pl.Series("scenario_1", np.tile(swapped, n_queries)),
            pl.Series("scenario_2", np.tile(inverted, n_queries)),
        )
        .select(
            "query",
            "doc",
            "popularity",
            ad_hoc_grade("popularity").over("query"),
            pl.col("^scenario.*$"),
        )
    )


def _have_outliers(scores: Floats) -> npt.NDArray[np.bool_]:
    """Return the mask of rows with a score beyond the upper whisker."""
    rows, n = scores.shape
    ascending = Ragged(np.sort(scores, axis=1).ravel(), np.arange(rows + 1) * n)
    return ascending.last() > find_median_and_upper_whisker(ascending, 1.5)[1]


def ad_hoc_grade(score: str | pl.Expr, cuts: Iterable[int] = (10, 25, 50)) -> pl.Expr:
    """Return grades by rank alone: the number of cuts that reach down to it.

    By default the 10 highest scores of a query get grade 3, those to rank 25 grade 2, those to
    rank 50 grade 1 and the others 0, however far apart the scores are; `phi_relevance` minds that.
    Source: Moniz, Torgo, Vinagre (2016), section 3.

    Parameters
    ----------
    score
        A column, or an expression of scores. Of equal scores the first row ranks first.
    cuts
        Ranks from 1 on, rising.

    Returns
    -------
    Expr
        `grade`, Int64 from 0 to the number of cuts; null where the score is null.

    Examples
    --------
    >>> df = pl.DataFrame({"day": [1, 1, 1, 2], "popularity": [70, 90, None, 20]})
    >>> df.with_columns(ad_hoc_grade("popularity", cuts=[1, 2]).over("day"))
    shape: (4, 3)
    ┌─────┬────────────┬───────┐
    │ day ┆ popularity ┆ grade │
    │ --- ┆ ---        ┆ ---   │
    │ i64 ┆ i64        ┆ i64   │
    ╞═════╪════════════╪═══════╡
    │ 1   ┆ 70         ┆ 1     │
    │ 1   ┆ 90         ┆ 2     │
    │ 1   ┆ null       ┆ null  │
    │ 2   ┆ 20         ┆ 2     │
    └─────┴────────────┴───────┘
    """
    ranks = check_increasing("cuts", cuts)
    check_number("cuts", ranks[0], at_least=1)
    rank = check_column("score", score).rank("ordinal", descending=True)
    return pl.sum_horizontal(
        ((rank <= cut).cast(pl.Int64) for cut in ranks), ignore_nulls=False
    ).alias("grade")


def worked_example(paper: str) -> pl.DataFrame:
    """Return the example that a paper works out by hand.

    Parameters
    ----------
    paper
        `"scheel"`: table 1 (and 2) of Scheel, Lommatzsch and Albayrak 2011, one ranking of eight
        documents. `"moniz"`: table 1 of Moniz, Torgo and Vinagre 2016, two days of five news each,
        with predicted and final popularity. `"chen"`: the two queries of Chen's slides, after
        Baeza-Yates and Ribeiro-Neto, with the grades behind their vectors G1 and G2; any grade
        above 0 is what the slides' binary examples call relevant.

    Returns
    -------
    DataFrame
        `query`, `doc`, `grade` and `score`, in rank order; a relevant document that was not
        retrieved has no score. `"moniz"` has `popularity` in place of the grade.

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
    scores = {doc: len(ranking) - place for place, doc in enumerate(ranking)}
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


def _make_generator(seed: int) -> np.random.Generator:
    return np.random.default_rng(check_whole_number("seed", seed, at_least=0))


def _number_rankings(n_queries: int, n_documents: int) -> pl.DataFrame:
    """Return the numbers of queries and of their documents."""
    return pl.DataFrame(
        {
            "query": np.repeat(np.arange(1, n_queries + 1), n_documents),
            "doc": np.tile(np.arange(1, n_documents + 1), n_queries),
        }
    )


def _draw_rows(
    n: int,
    draw: Callable[[int], npt.NDArray[Number]],
    accept: Callable[[npt.NDArray[Number]], npt.NDArray[np.bool_]],
) -> npt.NDArray[Number]:
    """Return `n` rows from `draw`, each drawn again until it is accepted."""
    rows = draw(n)
    while (rejected := ~accept(rows)).any():
        rows[rejected] = draw(rejected.sum())
    return rows
