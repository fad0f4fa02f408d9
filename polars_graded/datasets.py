"""Return artificial rankings, click logs, and worked examples of papers.

Artificial queries and documents are numbered from 1. A higher score is a better rank. The same seed
gives the same data. The papers are Scheel, Lommatzsch, Albayrak: Performance measures for
multi-graded relevance, 2011; and Moniz, Torgo, Vinagre: Data-driven relevance judgments for ranking
evaluation, 2016.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import polars as pl

from polars_graded._checks import (
    check_choice,
    check_collected,
    check_column,
    check_column_names,
    check_columns,
    check_increasing,
    check_number,
    check_whole_number,
)
from polars_graded._frames.arguments import Columns
from polars_graded._measuring.column_checks import check_grade
from polars_graded._measuring.kernels.phi import find_median_and_upper_whisker
from polars_graded._measuring.kernels.ragged import Floats, Integers, Mask, Ragged
from polars_graded._measuring.keywords import checks_call

__all__ = [
    "ad_hoc_grade",
    "example",
    "popularity_rankings",
    "reference_rankings",
    "simulated_log",
    "swapped_rankings",
    "worked_example",
]


def __dir__() -> list[str]:
    """Return the names of the functions, for completion."""
    return __all__


UserModel: TypeAlias = Literal["pbm", "dbn", "dcm"]

SCORES_PER_UNIT = 10
"""Divisor of scores. Scores fall by 0.1 from rank to rank, since whole numbers could be mistaken
for ranks."""

SWAPPED_RANK = 10
"""Rank in the scenarios of Moniz, Torgo and Vinagre: scenario 1 swaps the documents at this rank
and the next, and scenario 2 inverts the order of the documents from rank 1 to this rank."""

STRATEGIES = {"strong": 5, "fair": 20, "weak": 60}
"""Number of swaps that turn the ideal order into the ranking of each strategy of `example`."""


@checks_call
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
        The rows of `reference_rankings`, with grades from 0 to 4, and a column of
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


@checks_call
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


@checks_call
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
        If True, the numbers of documents of the levels differ by at most 1. If False, each query
        draws the probabilities of its levels (all that add up to 1 are equally likely), and the
        level of each document. A query without a relevant document is drawn again.
    seed
        The same seed gives the same rankings.

    Returns
    -------
    DataFrame
        `query`, `doc` and `grade`, ordered by query and descending grade.

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
        """Draw numbers of documents per level, highest level first, n times."""
        return rng.multinomial(n_documents, rng.dirichlet(np.ones(n_levels), n))

    if uniform:
        counts = np.tile(np.diff(np.arange(n_levels + 1) * n_documents // n_levels), (n_queries, 1))
        counts = counts[:, ::-1]
    else:
        counts = _draw_accepted(n_queries, draw, lambda counts: counts[:, -1] < n_documents)
    grades = np.repeat(np.tile(np.arange(n_levels)[::-1], n_queries), counts.ravel())
    return _number_rankings(n_queries, n_documents).with_columns(pl.Series("grade", grades))


@checks_call
def swapped_rankings(
    rankings: pl.DataFrame,
    swaps: int | Iterable[int],
    *,
    query: Columns = "query",
    grade: str = "grade",
    seed: int = 0,
) -> pl.DataFrame:
    """Return worse rankings: the ideal order with random pairs swapped.

    A swap exchanges the ranks of two documents of a query. All pairs of documents are equally
    likely. Each ranking starts from the ideal order: by descending grade, and for equal grades in
    row order. A ranking with 0 swaps is therefore perfect. Source: Scheel, Lommatzsch, Albayrak
    (2011), section 2.1 and figure 1.

    Parameters
    ----------
    rankings
        One row per document of a query, with its grade.
    swaps
        Number of swaps. With several numbers, each query gets one ranking per number.
    query
        The columns that identify queries.
    grade
        The column of relevance grades.
    seed
        The same seed gives the same swaps.

    Returns
    -------
    DataFrame
        The rows of `rankings`, in ideal order, once for each number of swaps. `swaps` is a new
        first column, and `score` a new last column. Columns of `rankings` with these names are left
        out. For n documents, the scores fall from n / 10 at the first rank to 0.1 at the last, so
        that they are not mistaken for ranks.

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
    keys = check_column_names("query", query)
    check_columns("rankings", [*keys, grade], rankings.columns)
    if taken := {"swaps", "score"} & {*keys, grade}:
        msg = f"`query` and `grade` must not be new columns of the result, got {', '.join(taken)}"
        raise ValueError(msg)
    check_grade(f"grade {grade!r}", rankings.schema[grade])
    if not rankings[grade].cast(pl.Float64).is_finite().all():
        msg = f"grade {grade!r} must be finite, got NaN or infinity"
        raise ValueError(msg)
    last = [False] * len(keys) + [True]
    ideal = rankings.sort(*keys, grade, descending=last, nulls_last=last, maintain_order=True)
    lengths = ideal.select(pl.struct(keys).rle().struct.field("len")).to_series().to_numpy()
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
    """Return the scores of all rankings in one array, after random swaps."""
    starts = np.cumsum(lengths) - lengths
    scores = np.repeat(starts + lengths, lengths) - np.arange(lengths.sum())
    for number in range(swaps.max(initial=0)):
        chosen = np.flatnonzero((swaps > number) & (lengths > 1))
        offsets, n = starts[chosen], lengths[chosen]
        i = rng.integers(n)
        j = (i + rng.integers(1, n)) % n
        scores[offsets + i], scores[offsets + j] = scores[offsets + j], scores[offsets + i]
    return scores


@checks_call
def popularity_rankings(
    queries: int = 1000, *, documents: int = 100, imbalance: float = 0.0, seed: int = 0
) -> pl.DataFrame:
    """Return documents with popularity, ad-hoc grades, and two bad rankings.

    Source: Moniz, Torgo, Vinagre (2016), section 4.1.

    If `imbalance` is 0, popularity is uniform from 1 to 1000. Otherwise popular documents (at least
    one) are uniform from 500 to 1000, and the others from 1 to 500. The sample is then drawn again
    until its highest popularity is above the upper whisker of its box plot.

    Parameters
    ----------
    queries
        Number of random samples of documents. Each sample is a query of the result.
    documents
        Number of documents of each sample, at least 11.
    imbalance
        Share of popular documents, from 0 to 0.2. The paper states 0.1, but its authors' runs used
        0.2.
    seed
        The same seed gives the same samples.

    Returns
    -------
    DataFrame
        `query`, `doc`, `popularity`, `grade` (from `ad_hoc_grade`), and two columns of scores. The
        scores `scenario_1` swap the documents at ranks 10 and 11 of the ideal order. The scores
        `scenario_2` invert the order of the first 10 documents. (The paper states that the order of
        all documents is inverted, but then the first 10 of 100 documents would be irrelevant, and
        NDCG@10 would be 0.) Rows are sorted by query and descending popularity.

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
    n_documents = check_whole_number("documents", documents, at_least=SWAPPED_RANK + 1)
    share = check_number("imbalance", imbalance, at_least=0, at_most=0.2)
    n_high = max(1, round(share * n_documents))
    rng = _make_generator(seed)

    def imbalanced(n: int) -> Floats:
        low = rng.uniform(1, 500, (n, n_documents - n_high))
        return np.concatenate([low, rng.uniform(500, 1000, (n, n_high))], axis=1)

    if share:
        popularity = _draw_accepted(n_queries, imbalanced, _have_outliers)
    else:
        popularity = rng.uniform(1, 1000, (n_queries, n_documents))

    ideal = np.arange(n_documents, 0, -1) / SCORES_PER_UNIT
    swapped, inverted = ideal.copy(), ideal.copy()
    swapped[[SWAPPED_RANK - 1, SWAPPED_RANK]] = ideal[[SWAPPED_RANK, SWAPPED_RANK - 1]]
    inverted[:SWAPPED_RANK] = ideal[:SWAPPED_RANK][::-1]
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


def _have_outliers(scores: Floats) -> Mask:
    """Return the mask of rows with a score above the upper whisker."""
    n_samples, n = scores.shape
    ascending = Ragged(np.sort(scores, axis=1).ravel(), np.arange(n_samples + 1) * n)
    return ascending.last_values() > find_median_and_upper_whisker(ascending, 1.5)[1]


@checks_call
def ad_hoc_grade(score: str | pl.Expr, cuts: Iterable[int] = (10, 25, 50)) -> pl.Expr:
    """Return grades from ranks: for rank r, the number of cuts that are >= r.

    By default the 10 highest scores get grade 3, the scores at ranks 11 to 25 grade 2, the scores
    at ranks 26 to 50 grade 1, and the others 0. Unlike in `phi_relevance`, distances between scores
    do not matter. Add `.over("query")` to rank each query separately. Source: Moniz, Torgo, Vinagre
    (2016), section 3.

    Parameters
    ----------
    score
        A column, or an expression of scores. Equal scores are ranked in row order.
    cuts
        Ranks of at least 1, in increasing order.

    Returns
    -------
    Expr
        `grade`, Int64 from 0 to the number of cuts; null where the score is null or NaN.

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
    scores = check_column("score", score).cast(pl.Float64).fill_nan(None)
    rank = scores.rank("ordinal", descending=True)
    return pl.sum_horizontal(
        ((rank <= cut).cast(pl.Int64) for cut in ranks), ignore_nulls=False
    ).alias("grade")


@checks_call
def simulated_log(
    lists: int = 10_000,
    *,
    queries: int = 20,
    documents: int = 10,
    length: int | None = None,
    rankers: Mapping[str, float] | None = None,
    shuffled: float = 0.0,
    model: UserModel = "pbm",
    decay: float = 1.0,
    continuation: float = 1.0,
    seed: int = 0,
) -> pl.DataFrame:
    r"""Return a click log of users with known behaviour.

    Each result list belongs to a random query and shows the ranking of a random ranker. Each
    document of a query has an attractiveness :math:`a`: the probability that a user who examines
    the document clicks it. It also has a satisfaction :math:`s`: the probability that a click
    satisfies the user. Both are random and independent: :math:`a` is the square of a uniform number
    from 0 to 1, and :math:`s` is uniform from 0.1 to 0.9.

    - `"pbm"`: the user examines rank r with the probability :math:`r^{-\text{decay}}`, independent
      of other ranks, and clicks an examined document with the probability a.
    - `"dbn"`: the user reads from the top and clicks an examined document with the probability a. A
      click satisfies the user with the probability s, and a satisfied user stops. A user who is not
      satisfied yet reads on with the probability `continuation`. With `continuation=1`, this is the
      simplified dynamic Bayesian network, in which a document's relevance is the product of a and
      s.
    - `"dcm"`: the dependent click model. The user reads from the top and clicks with the
      probability a. After a click at rank r the user reads on with the probability
      :math:`1 - r^{-\text{decay}} / 2`. Without a click the user always reads on.

    Parameters
    ----------
    lists
        Number of result lists.
    queries
        Number of queries.
    documents
        Number of documents of each query.
    length
        Number of documents in a list, by default all.
    rankers
        A mapping from the name of each ranker to a standard deviation of at least 0. A ranker sorts
        documents by attractiveness plus normal noise with this standard deviation. The noise is
        drawn once for each ranker, query and document. The default is `{"old": 0.5, "new": 0.1}`.
    shuffled
        The probability, from 0 to 1, that a list shows random documents in random order instead of
        a ranker's ranking.
    model
        The behaviour of users: `"pbm"`, `"dbn"` or `"dcm"`, as above.
    decay, continuation
        Parameters of the models. `"pbm"` and `"dcm"` use `decay`, which is at least 0. `"dbn"` uses
        `continuation`, which is from 0 to 1.
    seed
        The same seed gives the same frame.

    Returns
    -------
    DataFrame
        One row per document shown, list by list in the order of ranks: `session`, `query`, `doc`
        and `rank` (Int64, from 1), `ranker` (String, null for a shuffled list), `clicked`
        (Boolean), and the true `attractiveness` and `satisfaction` of the document (Float64).

    See Also
    --------
    polars_graded.clicks.estimate_pbm, polars_graded.clicks.estimate_sdbn : Estimators to test.

    References
    ----------
    Craswell, Zoeter, Taylor, Ramsey: An experimental comparison of click position-bias models,
    2008. Chapelle, Zhang: A dynamic Bayesian network click model for web search ranking, 2009. Guo,
    Liu, Wang: Efficient multiple-click models in web search, 2009 (the dependent click model).

    Examples
    --------
    >>> log = simulated_log(lists=2, documents=2, queries=1)
    >>> log.select("session", "query", "rank")
    shape: (4, 3)
    ┌─────────┬───────┬──────┐
    │ session ┆ query ┆ rank │
    │ ---     ┆ ---   ┆ ---  │
    │ i64     ┆ i64   ┆ i64  │
    ╞═════════╪═══════╪══════╡
    │ 1       ┆ 1     ┆ 1    │
    │ 1       ┆ 1     ┆ 2    │
    │ 2       ┆ 1     ┆ 1    │
    │ 2       ┆ 1     ┆ 2    │
    └─────────┴───────┴──────┘
    """
    for name, number in {"lists": lists, "queries": queries, "documents": documents}.items():
        check_whole_number(name, number)
    n_shown = (
        documents if length is None else check_whole_number("length", length, at_most=documents)
    )
    check_choice("model", model, get_args(UserModel))
    check_number("shuffled", shuffled, at_least=0, at_most=1)
    decay = float(check_number("decay", decay, at_least=0))
    check_number("continuation", continuation, at_least=0, at_most=1)
    noises: Any = {"old": 0.5, "new": 0.1} if rankers is None else rankers
    if not (isinstance(noises, Mapping) and noises):
        msg = f"`rankers` must map at least one name to its noise, got {rankers!r}"
        raise TypeError(msg)
    for noise in noises.values():
        check_number("rankers", noise, at_least=0)
    rng = _make_generator(seed)
    attractiveness = rng.random((queries, documents)) ** 2
    satisfaction = rng.uniform(0.1, 0.9, (queries, documents))
    # One ranking per ranker and query: documents by descending attractiveness with noise.
    orders = np.stack(
        [
            np.argsort(-attractiveness - noise * rng.normal(size=(queries, documents)))[:, :n_shown]
            for noise in noises.values()
        ]
    )
    query = rng.integers(queries, size=lists)
    ranker = rng.integers(len(noises), size=lists)
    docs = orders[ranker, query]
    is_shuffled = rng.random(lists) < shuffled
    docs[is_shuffled] = np.argsort(rng.random((is_shuffled.sum(), documents)))[:, :n_shown]
    queries_of_lists = query[:, np.newaxis]
    a, s = attractiveness[queries_of_lists, docs], satisfaction[queries_of_lists, docs]
    clicked = _simulate_clicks(rng, a, s, model, decay, continuation)
    ranker_names = pl.Series("ranker", [*noises]).gather(ranker).set(pl.Series(is_shuffled), None)
    return pl.DataFrame(
        {
            "session": np.repeat(np.arange(1, lists + 1), n_shown),
            "query": np.repeat(query + 1, n_shown),
            "doc": docs.ravel() + 1,
            "rank": np.tile(np.arange(1, n_shown + 1), lists),
            "ranker": ranker_names.gather(np.repeat(np.arange(lists), n_shown)),
            "clicked": clicked.ravel(),
            "attractiveness": a.ravel(),
            "satisfaction": s.ravel(),
        }
    )


def _simulate_clicks(
    rng: np.random.Generator, a: Floats, s: Floats, model: str, decay: float, continuation: float
) -> Mask:
    """Simulate the clicks, given attractiveness `a` and satisfaction `s`."""
    ranks = np.arange(1, a.shape[1] + 1)
    is_attracted = rng.random(a.shape) < a
    if model == "pbm":
        is_clicked: Mask = is_attracted & (rng.random(a.shape) < ranks**-decay)
        return is_clicked
    if model == "dbn":
        is_stop = is_attracted & (rng.random(a.shape) < s) | (rng.random(a.shape) >= continuation)
    else:
        is_stop = is_attracted & (rng.random(a.shape) < ranks**-decay / 2)
    # The user examines all ranks up to and including the first stop.
    is_examined: Mask = np.cumsum(is_stop, axis=1) - is_stop == 0
    return is_attracted & is_examined


def _make_generator(seed: int) -> np.random.Generator:
    """Return a generator of random numbers with a seed."""
    return np.random.default_rng(check_whole_number("seed", seed, at_least=0))


def _number_rankings(n_queries: int, n_documents: int) -> pl.DataFrame:
    """Return a row per document of each query; both are numbered from 1."""
    return pl.DataFrame(
        {
            "query": np.repeat(np.arange(1, n_queries + 1), n_documents),
            "doc": np.tile(np.arange(1, n_documents + 1), n_queries),
        }
    )


def _draw_accepted(n: int, draw: Callable[[int], Any], accept: Callable[[Any], Mask]) -> Any:
    """Return `n` accepted rows of an array from `draw`; rejected rows are drawn again."""
    rows = draw(n)
    while (rejected := ~accept(rows)).any():
        rows[rejected] = draw(rejected.sum())
    return rows
