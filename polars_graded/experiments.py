"""Generate the rankings and repeat the experiments of two papers.

Queries and documents are numbered from 1. The document with the highest score is at rank 1. The
same seed gives the same rankings. The papers are Scheel, Lommatzsch, Albayrak: Performance measures
for multi-graded relevance, 2011; and Moniz, Torgo, Vinagre: Data-driven relevance judgments for
ranking evaluation, 2016.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_graded._checks import (
    check_collected,
    check_column,
    check_column_name,
    check_column_names,
    check_columns,
    check_increasing,
    check_list,
    check_number,
    check_whole_number,
)
from polars_graded._frames.arguments import Columns, Measures, parse_scalar_measures
from polars_graded._frames.evaluating import evaluate
from polars_graded._measuring.kernels.phi import find_median_and_upper_whisker
from polars_graded._measuring.kernels.ragged import Floats, Integers, Ragged
from polars_graded._measuring.keywords import checks_keywords
from polars_graded._measuring.names import Measure
from polars_graded._measuring.ranking import check_grade
from polars_graded._measuring.ties import TiesArgument
from polars_graded.namespace import graded

__all__ = [
    "ad_hoc_grade",
    "ndcg_by_relevance",
    "popularity_rankings",
    "popularity_scenarios",
    "reference_rankings",
    "robustness_to_levels",
    "swapped_rankings",
    "threshold_profile",
]


def __dir__() -> list[str]:
    """Return the names of the functions, for completion."""
    return __all__


DrawnNumber = TypeVar("DrawnNumber", np.int64, np.float64)

SCORES_PER_UNIT = 10
"""Divisor of scores. Scores fall by 0.1 from rank to rank, since whole numbers could be mistaken
for ranks."""

SWAPPED_RANK = 10
"""Rank in the scenarios of Moniz, Torgo and Vinagre: scenario 1 swaps the documents at this rank
and the next, and scenario 2 inverts the order of the documents from rank 1 to this rank."""


# Rankings


@checks_keywords
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
        counts = _draw_rows(n_queries, draw, lambda counts: counts[:, -1] < n_documents)
    grades = np.repeat(np.tile(np.arange(n_levels)[::-1], n_queries), counts.ravel())
    return _number_rankings(n_queries, n_documents).with_columns(pl.Series("grade", grades))


@checks_keywords
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


@checks_keywords
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
        popularity = _draw_rows(n_queries, imbalanced, _have_outliers)
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


def _have_outliers(scores: Floats) -> npt.NDArray[np.bool_]:
    """Return the mask of rows with a score above the upper whisker."""
    rows, n = scores.shape
    ascending = Ragged(np.sort(scores, axis=1).ravel(), np.arange(rows + 1) * n)
    return ascending.last_values() > find_median_and_upper_whisker(ascending, 1.5)[1]


@checks_keywords
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
        `grade`, Int64 from 0 to the number of cuts; null where the score is null.

    Raises
    ------
    TypeError
        If scores are texts.
    ValueError
        If a score is NaN.

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
    scores = check_column("score", score)
    are_checked = scores.map_batches(_check_scores, return_dtype=pl.Boolean, is_elementwise=True)
    rank = pl.when(are_checked).then(scores.rank("ordinal", descending=True))
    return pl.sum_horizontal(
        ((rank <= cut).cast(pl.Int64) for cut in ranks), ignore_nulls=False
    ).alias("grade")


def _check_scores(scores: pl.Series) -> pl.Series:
    """Return True for each score; raise if the scores are texts, or if one is NaN."""
    dtype = scores.dtype
    if not (dtype.is_numeric() or dtype.is_temporal() or dtype in (pl.Boolean, pl.Null)):
        msg = f"score {scores.name!r} must be a number, got {dtype}"
        raise TypeError(msg)
    if dtype.is_float() and (n := int(scores.is_nan().sum())):
        msg = f"score {scores.name!r} must not be NaN, got {n} NaN"
        raise ValueError(msg)
    return pl.repeat(True, len(scores), dtype=pl.Boolean, eager=True)  # noqa: FBT003


# Experiments


@checks_keywords
def robustness_to_levels(
    levels: int | Iterable[int] = (2, 10, 20, 50),
    swaps: int | Iterable[int] = range(100),
    *,
    measures: str | Sequence[str] = ("mu_ap", "ndcg", "ndcng"),
    runs: int = 100,
    documents: int = 100,
    uniform: bool = True,
    seed: int = 0,
) -> pl.DataFrame:
    """Evaluate equally bad rankings on scales with few and many levels.

    The result shows whether a measure depends on the number of levels. If it does, its means for
    the same number of swaps differ between scales. Source: Scheel, Lommatzsch, Albayrak (2011),
    figures 4 and 5.

    Parameters
    ----------
    levels
        The numbers of levels of relevance.
    swaps
        The numbers of pairs to swap in the ideal order.
    measures
        Measures, as for `evaluate`.
    runs
        Number of rankings in each mean.
    documents
        Number of documents in a ranking.
    uniform
        If True, all levels have about the same number of documents; if False, the numbers are
        random (figure 5).
    seed
        The same seed gives the same rankings.

    Returns
    -------
    DataFrame
        `levels`, `swaps`, `measure` and `mean`, sorted by measure, levels and swaps.

    Examples
    --------
    A ranking without swaps is perfect on every scale:

    >>> robustness_to_levels([2, 50], [0, 5], measures=["ndcg"], runs=10).filter(swaps=0)
    shape: (2, 4)
    ┌────────┬───────┬─────────┬──────┐
    │ levels ┆ swaps ┆ measure ┆ mean │
    │ ---    ┆ ---   ┆ ---     ┆ ---  │
    │ i64    ┆ i64   ┆ str     ┆ f64  │
    ╞════════╪═══════╪═════════╪══════╡
    │ 2      ┆ 0     ┆ ndcg    ┆ 1.0  │
    │ 50     ┆ 0     ┆ ndcg    ┆ 1.0  │
    └────────┴───────┴─────────┴──────┘
    """
    measured, numbers = _write_options([measures]), check_list("swaps", swaps)
    queries = check_whole_number("runs", runs)
    parts = []
    for count in check_list("levels", levels):
        reference = reference_rankings(
            queries, documents=documents, levels=count, uniform=uniform, seed=seed
        )
        ranked = swapped_rankings(reference, numbers, seed=seed)
        means = _compute_means(evaluate(ranked, measured, strategy="swaps"), "swaps", measured)
        parts.append(means.select(pl.lit(count, pl.Int64).alias("levels"), pl.all()))
    return pl.concat(parts).sort("measure", "levels", "swaps")


@checks_keywords
def threshold_profile(
    frame: pl.DataFrame | pl.LazyFrame,
    *,
    by: str | Sequence[str | Sequence[str]],
    grade: str | Sequence[str] = "grade",
    query: Columns = "query",
    thresholds: float | Iterable[float] | None = None,
    measures: str | Sequence[str] = ("mu_ap", "ndcg", "ndcng"),
    ties: TiesArgument = None,
) -> pl.DataFrame:
    """Compute AP at each threshold, and measures that need no threshold.

    Source: Scheel, Lommatzsch, Albayrak (2011), figures 6 to 8.

    Parameters
    ----------
    frame
        A row is a document of a query. A LazyFrame is collected.
    by
        The column of scores, or several columns, as for `evaluate`. Each column is a strategy.
    grade
        The column of relevance grades, or several columns, one per judge. A column of scores can
        serve as a judge. The ranking by this column is then perfect for this judge.
    query
        The columns that identify queries.
    thresholds
        Thresholds of `ap`. At threshold t, documents with a grade of at least t are relevant. By
        default, every grade above 0 is a threshold.
    measures
        Measures to compute in addition to `ap` at the thresholds, as for `evaluate`.
    ties
        The order of tied documents, as for `evaluate`. If `ties` is not passed and the order
        changes a value, there is a warning.

    Returns
    -------
    DataFrame
        `grade`, `strategy`, `measure` and `mean`, the mean over queries; sorted by grade and
        strategy.

    Examples
    --------
    >>> df = pl.DataFrame({"query": [1, 1], "grade": [1, 2], "score": [2, 1]})
    >>> threshold_profile(df, by=["score"], measures=["mu_ap"])
    shape: (3, 4)
    ┌───────┬──────────┬─────────────────┬──────┐
    │ grade ┆ strategy ┆ measure         ┆ mean │
    │ ---   ┆ ---      ┆ ---             ┆ ---  │
    │ str   ┆ str      ┆ str             ┆ f64  │
    ╞═══════╪══════════╪═════════════════╪══════╡
    │ grade ┆ score    ┆ ap(threshold=1) ┆ 1.0  │
    │ grade ┆ score    ┆ ap(threshold=2) ┆ 0.5  │
    │ grade ┆ score    ┆ mu_ap           ┆ 0.75 │
    └───────┴──────────┴─────────────────┴──────┘
    """
    frame = check_collected("frame", frame)
    judges = [check_column_name("grade", judge) for judge in check_list("grade", grade)]
    check_columns("frame", judges, frame.columns)
    parts = []
    for judge in judges:
        levels = thresholds
        if levels is None:
            grades = frame[judge].cast(pl.Float64, strict=False)
            levels = grades.filter(grades.is_finite() & (grades > 0)).unique().sort()
        precisions = [Measure.of("ap", threshold=each).name for each in check_list("", levels)]
        measured = _write_options([precisions, measures])
        per_query = evaluate(frame, measured, query=query, grade=judge, by=by, ties=ties)
        means = _compute_means(per_query, "strategy", measured)
        parts.append(means.select(pl.lit(judge).alias("grade"), pl.all()))
    return pl.concat(parts).sort("grade", "strategy", maintain_order=True)


@checks_keywords
def ndcg_by_relevance(
    frame: pl.DataFrame | pl.LazyFrame,
    *,
    by: str | Sequence[str | Sequence[str]],
    popularity: str = "popularity",
    grade: str = "grade",
    query: Columns = "query",
    cutoffs: int | Iterable[int] = (10,),
    ties: TiesArgument = None,
) -> pl.DataFrame:
    """Compute NDCG of ad-hoc grades, and NDCG^φ of relevance from popularity.

    Source: Moniz, Torgo, Vinagre (2016), figures 3 and 4.

    Parameters
    ----------
    frame
        A row is a document of a query. A LazyFrame is collected.
    by
        The column of scores, or several columns, as for `evaluate`. Each column is a strategy.
    popularity
        The column of popularity, which φ turns into relevance.
    grade
        The column of ad-hoc grades.
    query
        The columns that identify queries.
    cutoffs
        The cutoffs n of NDCG@n.
    ties
        The order of tied documents, as for `evaluate`. If `ties` is not passed and the order
        changes a value, there is a warning.

    Returns
    -------
    DataFrame
        `strategy`, the query, `n`, `ndcg`, `ndcg_phi` and `difference`, which is `ndcg` -
        `ndcg_phi`; sorted by strategy, query and n. If all documents of a query have the same
        popularity, φ is undefined, so `ndcg_phi` and `difference` are null.

    Examples
    --------
    The same two documents are swapped on both days. On the second day their popularity differs
    more:

    >>> from polars_graded.datasets import worked_example
    >>> grade = ad_hoc_grade("popularity", cuts=[1, 2, 3]).over("query")
    >>> days = worked_example("moniz").with_columns(grade)
    >>> ndcg_by_relevance(days, by="score", cutoffs=[5]).select(
    ...     "query", pl.col("ndcg", "ndcg_phi").round(3)
    ... )
    shape: (2, 3)
    ┌───────┬───────┬──────────┐
    │ query ┆ ndcg  ┆ ndcg_phi │
    │ ---   ┆ ---   ┆ ---      │
    │ str   ┆ f64   ┆ f64      │
    ╞═══════╪═══════╪══════════╡
    │ day 1 ┆ 0.972 ┆ 0.97     │
    │ day 2 ┆ 0.972 ┆ 0.936    │
    └───────┴───────┴──────────┘
    """
    frame, keys = check_collected("frame", frame), check_column_names("query", query)
    check_columns("frame", [*keys, check_column_name("popularity", popularity)], frame.columns)
    phi = f"φ of {' '.join(frame.columns)}"  # differs from all column names
    judged = frame.with_columns(graded(popularity).phi_relevance().over(keys).alias(phi))
    defined = judged.filter(pl.col(phi).is_not_null().any().over(keys))
    options: dict[str, Any] = {"query": query, "by": by, "ties": ties}
    parts = []
    for cutoff in check_list("cutoffs", cutoffs):
        n = check_whole_number("cutoffs", cutoff)
        measure = f"ndcg(gain=exp2)@{n}"
        values = evaluate(judged, {"ndcg": measure}, grade=grade, **options).join(
            evaluate(defined, {"ndcg_phi": measure}, grade=phi, **options),
            on=["strategy", *keys],
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )
        difference = (pl.col("ndcg") - pl.col("ndcg_phi")).alias("difference")
        number = pl.lit(n, pl.Int64).alias("n")
        parts.append(values.select("strategy", *keys, number, "ndcg", "ndcg_phi", difference))
    return pl.concat(parts).sort("strategy", *keys, "n")


@checks_keywords
def popularity_scenarios(
    samples: int = 1000,
    *,
    imbalances: float | Iterable[float] = (0.0, 0.2),
    n: int = 10,
    seed: int = 0,
) -> pl.DataFrame:
    """Compute NDCG and NDCG^φ of two ordering errors in random samples.

    Scenario 1 swaps the documents at ranks 10 and 11 of the ideal order. Scenario 2 inverts the
    order of the first 10 documents. In each scenario, NDCG is the same for every sample, while
    NDCG^φ depends on the popularity of the misplaced documents. Source: Moniz, Torgo, Vinagre
    (2016), figure 2.

    Parameters
    ----------
    samples
        Number of samples for each imbalance.
    imbalances
        One or more values of `imbalance`, as for `popularity_rankings`.
    n
        The cutoff of NDCG@n.
    seed
        The same seed gives the same samples.

    Returns
    -------
    DataFrame
        `imbalance`, `strategy` (the scenario), `query` (the sample), `n`, `ndcg`, `ndcg_phi` and
        `difference`, one row per imbalance, sample and scenario.

    Examples
    --------
    >>> popularity_scenarios(samples=100).group_by("strategy", maintain_order=True).agg(
    ...     pl.col("ndcg").mean().round(4), lower=(pl.col("ndcg_phi") < pl.col("ndcg")).mean()
    ... )
    shape: (2, 3)
    ┌────────────┬────────┬───────┐
    │ strategy   ┆ ndcg   ┆ lower │
    │ ---        ┆ ---    ┆ ---   │
    │ str        ┆ f64    ┆ f64   │
    ╞════════════╪════════╪═══════╡
    │ scenario_1 ┆ 0.9636 ┆ 0.0   │
    │ scenario_2 ┆ 1.0    ┆ 1.0   │
    └────────────┴────────┴───────┘
    """
    scenarios = ["scenario_1", "scenario_2"]
    queries, cutoff = check_whole_number("samples", samples), check_whole_number("n", n)
    parts = []
    for imbalance in check_list("imbalances", imbalances):
        rankings = popularity_rankings(queries, imbalance=imbalance, seed=seed)
        scenario_rows = ndcg_by_relevance(rankings, by=scenarios, cutoffs=cutoff)
        parts.append(scenario_rows.select(pl.lit(float(imbalance)).alias("imbalance"), pl.all()))
    return pl.concat(parts)


def _write_options(measures: Sequence[Measures]) -> dict[str, str]:
    """Return the formula of each measure, by name.

    A formula states all options. `evaluate` warns of gains that nobody chose, but here they are
    those of the papers.
    """
    return {name: each.formula for name, each in parse_scalar_measures(measures).items()}


def _compute_means(
    per_query: pl.DataFrame, strategy: str, measures: Mapping[str, str]
) -> pl.DataFrame:
    """Return the mean of each measure, one row per strategy and measure."""
    means = per_query.group_by(strategy, maintain_order=True).agg(pl.col(*measures).mean())
    return means.unpivot(
        [*measures], index=strategy, variable_name="measure", value_name="mean"
    ).sort(strategy, maintain_order=True)


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


def _draw_rows(
    n: int,
    draw: Callable[[int], npt.NDArray[DrawnNumber]],
    accept: Callable[[npt.NDArray[DrawnNumber]], npt.NDArray[np.bool_]],
) -> npt.NDArray[DrawnNumber]:
    """Return `n` accepted rows from `draw`; rejected rows are drawn again."""
    rows = draw(n)
    while (rejected := ~accept(rows)).any():
        rows[rejected] = draw(rejected.sum())
    return rows
