"""Experiments of two papers, as frames with the data of their figures.

Scheel, Lommatzsch, Albayrak: Performance measures for multi-graded relevance, 2011. Moniz, Torgo,
Vinagre: Data-driven relevance judgments for ranking evaluation, 2016.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from polars_graded._checks import (
    check_collected,
    check_column_name,
    check_columns,
    check_increasing,
    check_list,
    check_whole_number,
)
from polars_graded._frames.evaluating import evaluate
from polars_graded._frames.request import Ties, parse_scalar_measures
from polars_graded._measuring.names import Measure
from polars_graded.datasets import popularity_rankings, reference_rankings, swapped_rankings
from polars_graded.namespace import graded

__all__ = ["ndcg_by_relevance", "popularity_scenarios", "robustness_to_levels", "threshold_profile"]


def __dir__() -> list[str]:
    """Return the names of the functions, for completion."""
    return __all__


MAX_LEVELS = 20
"""Maximum number of levels in a table without `thresholds`."""

NDCG_COLUMNS = ("strategy", "n", "ndcg", "ndcg_phi", "difference")
"""Columns of `ndcg_by_relevance` beside the query."""


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
    """Measure equally bad rankings on scales with several numbers of levels.

    A measure that depends on the number of levels gives curves that lie apart. Source: Scheel,
    Lommatzsch, Albayrak (2011), figures 4 and 5.

    Parameters
    ----------
    levels
        The numbers of levels of relevance.
    swaps
        The numbers of pairs to swap in the ideal order.
    measures
        Measures, as for `evaluate`.
    runs
        Number of rankings to average over.
    documents
        Number of documents in a ranking.
    uniform
        Whether all levels have about the same number of documents, or random ones (figure 5).
    seed
        The same seed gives the same rankings.

    Returns
    -------
    DataFrame
        `levels`, `swaps`, `measure` and `mean`, sorted by measure, levels and swaps.

    Examples
    --------
    The ranking that is not swapped at all is perfect on every scale:

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
    names, numbers = parse_scalar_measures([measures]), check_list("swaps", swaps)
    queries = check_whole_number("runs", runs)
    parts = []
    for count in check_list("levels", levels):
        reference = reference_rankings(
            queries, documents=documents, levels=count, uniform=uniform, seed=seed
        )
        ranked = swapped_rankings(reference, numbers, seed=seed)
        means = _compute_means(evaluate(ranked, *names, strategy="swaps"), "swaps")
        parts.append(means.select(pl.lit(count, pl.Int64).alias("levels"), pl.all()))
    return pl.concat(parts).sort("measure", "levels", "swaps")


def threshold_profile(
    frame: pl.DataFrame | pl.LazyFrame,
    *,
    by: str | Sequence[str | Sequence[str]],
    grade: str | Sequence[str] = "grade",
    query: str = "query",
    thresholds: float | Iterable[float] | None = None,
    measures: str | Sequence[str] = ("mu_ap", "ndcg", "ndcng"),
    ties: Ties = None,
) -> pl.DataFrame:
    """Compute AP at each threshold beside measures that need no threshold.

    Source: Scheel, Lommatzsch, Albayrak (2011), figures 6 to 8.

    Parameters
    ----------
    frame
        A row is a document of a query. A LazyFrame is collected.
    by
        The column of scores, or several, each a strategy; as for `evaluate`.
    grade
        The column of relevance grades, or several, each a judge of its own. A column of scores can
        stand in as a judge; a strategy that is its own judge scores 1.
    query
        The column that identifies queries.
    thresholds
        The grades from which on a document is relevant; by default every grade above 0, of
        which there may be 20.
    measures
        Measures beside `ap` at the thresholds, as for `evaluate`.
    ties
        What breaks ties, as for `evaluate`, which warns where that decides a value.

    Returns
    -------
    DataFrame
        `grade`, `strategy`, `measure` and `mean`, the mean over queries, sorted by them in turn.

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
    wanted = [check_column_name("query", query), *judges]
    check_columns("frame", wanted, frame.columns)
    chosen = thresholds
    if chosen is not None:
        chosen = check_increasing("thresholds", check_list("thresholds", thresholds))
    parts = []
    for judge in judges:
        at = _find_levels(frame.get_column(judge)) if chosen is None else chosen
        precisions = [Measure.of("ap", threshold=threshold).name for threshold in at]
        names = parse_scalar_measures([precisions, measures])
        per_query = evaluate(frame, *names, query=query, grade=judge, by=by, ties=ties)
        means = _compute_means(per_query.drop(query), "strategy")
        parts.append(means.select(pl.lit(judge).alias("grade"), pl.all()))
    return pl.concat(parts).sort("grade", "strategy", maintain_order=True)


def ndcg_by_relevance(
    frame: pl.DataFrame | pl.LazyFrame,
    *,
    by: str | Sequence[str | Sequence[str]],
    popularity: str = "popularity",
    grade: str = "grade",
    query: str = "query",
    cutoffs: int | Iterable[int] = (10,),
    ties: Ties = None,
) -> pl.DataFrame:
    """Compute NDCG by given grades beside NDCG^φ, by grades from scores.

    Source: Moniz, Torgo, Vinagre (2016), figures 3 and 4.

    Parameters
    ----------
    frame
        A row is a document of a query. A LazyFrame is collected.
    by
        The column of scores, or several, each a strategy; as for `evaluate`.
    popularity
        The column of scores that φ turns into relevance.
    grade
        The column of ad-hoc grades.
    query
        The column that identifies queries.
    cutoffs
        The cutoffs n of NDCG@n.
    ties
        What breaks ties, as for `evaluate`, which warns where that decides a value.

    Returns
    -------
    DataFrame
        `strategy`, the query, `n`, `ndcg`, `ndcg_phi` and `difference`, which is `ndcg` -
        `ndcg_phi`; sorted by strategy, query and n.

    Examples
    --------
    The same two documents are swapped on both days; on the second they are far apart:

    >>> from polars_graded.datasets import ad_hoc_grade, worked_example
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
    frame = check_collected("frame", frame)
    for argument, name in (("query", query), ("popularity", popularity), ("grade", grade)):
        check_column_name(argument, name)
    check_columns("frame", [query, popularity, grade], frame.columns)
    if query in NDCG_COLUMNS:
        msg = f"`query` must not be the name of another column of the result, got {query!r}"
        raise ValueError(msg)
    phi = f"φ of {' '.join(frame.columns)}"  # no column's name
    judged = frame.with_columns(graded(popularity).phi_relevance().over(query).alias(phi))
    parts = []
    for cutoff in check_list("cutoffs", cutoffs):
        n = check_whole_number("cutoffs", cutoff)
        by_grade, by_phi = (
            evaluate(judged, f"ndcg@{n}", query=query, grade=judge, by=by, ties=ties)
            for judge in (grade, phi)
        )
        values = by_grade.to_series(2), by_phi.to_series(2)
        part = by_grade.select(
            "strategy",
            query,
            pl.lit(n, pl.Int64).alias("n"),
            values[0].alias("ndcg"),
            values[1].alias("ndcg_phi"),
            (values[0] - values[1]).alias("difference"),
        )
        parts.append(part)
    return pl.concat(parts).sort("strategy", query, "n")


def popularity_scenarios(
    samples: int = 1000,
    *,
    imbalances: float | Iterable[float] = (0.0, 0.2),
    n: int = 10,
    seed: int = 0,
) -> pl.DataFrame:
    """Compute NDCG and NDCG^φ of two ordering errors, in drawn samples.

    NDCG is the same in every sample; NDCG^φ depends on how far apart the wrong documents are.
    Source: Moniz, Torgo, Vinagre (2016), figure 2.

    Parameters
    ----------
    samples
        Number of samples of each kind.
    imbalances
        Kinds of samples, as for `popularity_rankings`.
    n
        The cutoff of NDCG@n.
    seed
        The same seed gives the same samples.

    Returns
    -------
    DataFrame
        `imbalance`, `strategy` (the scenario), `query` (the sample), `n`, `ndcg`, `ndcg_phi` and
        `difference`, one row per sample and scenario.

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
        both = ndcg_by_relevance(rankings, by=scenarios, cutoffs=cutoff)
        parts.append(both.select(pl.lit(float(imbalance)).alias("imbalance"), pl.all()))
    return pl.concat(parts)


def _compute_means(per_query: pl.DataFrame, strategy: str) -> pl.DataFrame:
    """Return the mean of each measure per strategy, one row each."""
    measures = [name for name in per_query.columns if name not in (strategy, "query")]
    means = per_query.group_by(strategy, maintain_order=True).agg(pl.col(measures).mean())
    return means.unpivot(measures, index=strategy, variable_name="measure", value_name="mean").sort(
        strategy, maintain_order=True
    )


def _find_levels(grades: pl.Series) -> tuple[float, ...]:
    """Return the grades above 0 in a column."""
    numbers = grades.cast(pl.Float64)
    levels = numbers.filter(numbers > 0).unique().sort()
    if len(levels) > MAX_LEVELS:
        msg = (
            f"{grades.name!r} must have at most {MAX_LEVELS} grades above 0, got {len(levels)}"
            "\n\nHint: pass `thresholds` to choose some of them"
        )
        raise ValueError(msg)
    return tuple(levels)
