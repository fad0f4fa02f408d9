"""Write titles and subtitles that state what a chart draws.

For charts of test results, `verdicts` writes titles that state what the tests found.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from polars_graded._measuring.definitions import DEFINITIONS
from polars_graded._measuring.measures import Measure
from polars_graded._sentences import (
    capitalise,
    format_count,
    format_number,
    format_part,
    format_range,
    format_short,
    shorten_name,
    shorten_names,
)

ACRONYMS = ("ap", "bpm", "cg", "dcg", "gap", "insq", "inst", "ncg", "ndcg", "ndcng", "nrbp")
"""Words that titles write in capitals, such as "NDCG" for `ndcg`."""

IN_WORDS = {
    "alpha_dcg": "α-DCG",
    "alpha_ndcg": "α-NDCG",
    "ap": "average precision",
    "ap_ia": "AP-IA",
    "bpref": "bpref",
    "compat": "compatibility",
    "e_measure": "E-measure",
    "err": "expected reciprocal rank",
    "err_ia": "ERR-IA",
    "f_measure": "F-measure",
    "gap": "graded average precision",
    "infap": "inferred average precision",
    "judged": "share of judged documents",
    "kendall_tau": "Kendall's τ",
    "max_f_measure": "highest F-measure",
    "mu_ap": "μAP",
    "n_relevant": "number of relevant documents",
    "n_relevant_retrieved": "number of relevant documents retrieved",
    "n_retrieved": "number of documents retrieved",
    "nerr": "normalised expected reciprocal rank",
    "nerr_ia": "nERR-IA",
    "nnrbp": "nNRBP",
    "precision_ia": "precision-IA",
    "q_measure": "Q-measure",
    "r_precision": "R-precision",
    "rbo": "rank-biased overlap",
    "rbp": "rank-biased precision",
    "roc_auc": "area under the ROC curve",
    "sdcg": "scaled DCG",
    "spearman": "Spearman's correlation",
    "tau_ap": "τ of average precision",
}
"""Words for measures whose names stay unclear when spaces replace the underscores."""


class TitleFacts(NamedTuple):
    """Facts of a chart for its title: names of measures, and numbers."""

    measures: Sequence[str]
    n_strategies: int
    n_panels: int
    """Number of panels; 0 if there are no panels, or if each panel is a measure."""
    query_counts: Sequence[int]
    """Distinct numbers of queries, ascending. They are [40, 50] if some drawn values were computed
    over 40 queries and others over 50. Empty if unknown."""
    confidence: float | None = None
    """Confidence of all intervals; None if there are none, or several."""
    cluster_counts: Sequence[int] = ()
    """Distinct numbers of clusters of queries, ascending; empty without clusters."""
    are_weighted: bool = False
    """True if queries have weights."""


# Measures


def name_measure(name: str) -> str:
    """Return a short name for readers, such as "R-precision" or "NDCG@10"; "DCG" for a curve.

    The name of a measure with options stays as it is.
    """
    measure = Measure.try_parse(name)
    if measure is None or measure != Measure.of(measure.function, measure.n):
        return shorten_name(name)
    function = measure.function.removesuffix("_curve")
    words = " ".join(word.upper() if word in ACRONYMS else word for word in function.split("_"))
    words = words if measure.is_curve else IN_WORDS.get(function, words)
    return words if measure.n is None or measure.is_curve else f"{words}@{measure.n}"


def count_queries(facts: TitleFacts) -> list[str]:
    """Return a note such as "50 queries", "40 to 50 queries" or "50 queries in 9 clusters".

    There is no note if the number is unknown.

    For the results of `clicks.compare_interleaved`, the noun is "comparisons", since each list or
    query compares two rankers.
    """
    if not facts.query_counts:
        return []
    unit = "comparisons" if [*facts.measures] == ["preference"] else "queries"
    unit = f"weighted {unit}" if facts.are_weighted else unit
    text = format_range(facts.query_counts, unit)
    if not facts.cluster_counts or [*facts.cluster_counts] == [*facts.query_counts]:
        return [text]
    return [f"{text} in {format_range(facts.cluster_counts, 'clusters')}"]


# Titles


def title_means(facts: TitleFacts, *, n_pairs: int = 0) -> str:
    """Return a title such as "Mean NDCG of 3 strategies" or "Means of 3 strategies by 2 measures".

    With `n_pairs=6`, the title contains "6 pairs" in place of the number of strategies. The
    strategies of similarities are pairs.
    """
    measures = [Measure.try_parse(name) for name in facts.measures]
    are_pairs = bool(measures) and all(
        measure is not None and measure.function not in DEFINITIONS for measure in measures
    )
    noun = "pairs of strategies" if are_pairs else "strategies"
    things = format_count(*((n_pairs, "pairs") if n_pairs else (facts.n_strategies, noun)))
    if len(facts.measures) == 1:
        text = f"Mean {name_measure(facts.measures[0])} of {things}"
    else:
        text = f"Means of {things} by {format_count(len(facts.measures), 'measures')}"
    return f"{text} in {facts.n_panels:,} panels" if facts.n_panels > 1 else text


def title_curves(curve: str, facts: TitleFacts, at: str, things: str = "strategies") -> str:
    """Return a title such as "NDCG of 3 strategies by rank, 2 panels".

    `things` is the noun for the curves.
    """
    name = name_measure(curve)
    name = name if name == curve else capitalise(name)
    panels = f", {facts.n_panels:,} panels" if facts.n_panels > 1 else ""
    return f"{name} of {format_count(facts.n_strategies, things)} by {at}{panels}"


def title_wins(both: Sequence[str], wins: Sequence[int], n: int) -> str:
    """Return a title such as "ours beats bm25 in 6 of 9 queries, loses in 2".

    The strategy with more wins is first. The title counts queries and states no test.
    """
    (most, one), (fewest, other) = sorted(
        zip(wins, shorten_names(both), strict=True), key=lambda side: -side[0]
    )
    if most == 0:
        queries = "the only query" if n == 1 else format_part(n, n, "queries")
        return f"{one} and {other} are equal in {queries}"
    if n == 1:
        return f"{one} beats {other} in the only query"
    if most == fewest:
        return f"{one} and {other} each win in {most:,} of {n:,} queries"
    return f"{one} beats {other} in {most:,} of {n:,} queries, loses in {fewest:,}"


def write_mean_difference(
    mean: float,
    low: float | None,
    high: float | None,
    *,
    interval_name: str = "95 % interval",
    is_weighted: bool = False,
) -> str:
    """Return a note on the mean difference and its interval."""
    note = f"{'weighted ' * is_weighted}mean difference {format_number(mean)}"
    if low is None or high is None:
        return note
    return f"{note}, {interval_name} {format_number(low)} to {format_number(high)}"


def write_correlations(tau: float, r: float) -> str:
    """Return a note such as "τ 0.81, r 0.93"; "" if there is no correlation."""
    return "" if math.isnan(tau) else f"τ {tau:.2f}, r {r:.2f}".replace("-", "\N{MINUS SIGN}")


def write_target(amounts: Sequence[float]) -> str:
    """Return words to complete the title "Power to find …": "a difference of 0.02"."""
    texts = [*dict.fromkeys(format_short(amount) for amount in sorted(amounts))]
    if len(texts) > 1:
        return f"differences of {texts[0]} to {texts[-1]}"
    return f"a difference of {texts[0]}" if texts else "a difference"
